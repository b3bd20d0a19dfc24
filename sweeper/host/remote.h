/*
 * What the hosts over SSH share. A command travels as data: the login shell gets one constant line
 * that any shell understands, /bin/sh reads a script of a stated length from standard input, and
 * what follows is the command's own input. The script says, between marks with a number nobody can
 * guess, where the command's output begins and ends and how it ended: that mark alone is success,
 * because an exit status over SSH may be missing or 0 for what was cut off (libssh2/libssh2#2515),
 * and what a login shell prints is told from what the command says.
 *
 * A transport moves bytes and knows nothing of this; sweeper/host/ssh.c and openssh.c are the two.
 */
#ifndef SWEEPER_HOST_REMOTE_H
#define SWEEPER_HOST_REMOTE_H

#include "sweeper/host/host.h"

enum remote_stream { REMOTE_OUTPUT, REMOTE_ERROR, REMOTE_STREAMS };

/* What read and send say instead of a count. */
enum { REMOTE_NOTHING = 0, REMOTE_END = -1, REMOTE_LOST = -2 };

struct remote_host;
struct remote_link; /* a transport's running command */

struct remote_transport {
    /* Connects if need be and runs the line: its input is open, nothing of it was read. */
    bool (*start)(struct remote_host *remote, const char *line, int64_t deadline,
                  struct remote_link **out, struct err *err);
    /* None of these waits. read: bytes, or one of the above. send: bytes taken, or one of them. */
    int64_t (*read)(struct remote_link *link, enum remote_stream stream, char *buffer, size_t size);
    int64_t (*send)(struct remote_link *link, const char *data, size_t size);
    void (*end_input)(struct remote_link *link);
    /* Until something may be read, or sent where that is wanted, or the time is over. */
    void (*wait)(struct remote_link *link, bool wants_send, int64_t until);
    /* Why the link was lost, for a message. */
    const char *(*why)(struct remote_link *link);
    int (*descriptor)(struct remote_link *link);
    void (*close)(struct remote_link *link);
};

/* "user@name:port", "name", "[2001:db8::1]:22". */
struct remote_address {
    const char *user; /* NULL: not said */
    const char *name;
    int port; /* 0: not said */
};

struct remote_host {
    struct host host; /* first */
    const struct remote_transport *transport;
    struct arena arena; /* holds the transport's struct */
    struct remote_address address;
    const char *identity;    /* key file; NULL: agent and defaults */
    const char *known_hosts; /* NULL: the usual files */
    bool sudo;
};

bool remote_address_parse(const char *text, struct arena *arena, struct remote_address *out,
                          struct err *err) MUST_USE;

/* What the sweep file says of a host, in the host's arena; its label is the address as written. */
bool remote_take_spec(struct remote_host *remote, const struct host_spec *spec,
                      struct err *err) MUST_USE;

/* A path with ~ at its beginning opened up; NULL where memory ended. */
const char *remote_path(const char *path, struct arena *arena) MUST_USE;

/* Whether a key file can be used without asking anybody: it is there, a file, this user's alone, a
 * private key, without a passphrase. *out_is_rsa may be NULL. Errors: host_login. */
bool remote_identity_check(const char *file, int64_t deadline, struct arena *arena,
                           bool *out_is_rsa, struct err *err) MUST_USE;

/* Proves that commands run there, through sudo too where it is asked for. */
bool remote_check(struct remote_host *remote, int64_t deadline, struct err *err) MUST_USE;

/* host_driver's functions, once for all transports. */
bool remote_spawn(struct host *host, const struct host_command *command, struct host_process **out,
                  struct err *err);
bool remote_read(struct host_process *process, void *buffer, size_t size, int64_t deadline,
                 int64_t *out, struct err *err);
bool remote_write(struct host_process *process, struct bytes data, int64_t deadline,
                  struct err *err);
bool remote_finish(struct host_process *process, int64_t deadline, struct arena *arena,
                   struct host_result *out, struct err *err);
int remote_descriptor(struct host_process *process);
bool remote_run(struct host *host, const struct host_command *command, struct arena *arena,
                struct host_result *out, struct err *err);
bool remote_facts(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                  struct host_facts *out, struct err *err);

extern const struct host_driver host_ssh;     /* "libssh2" */
extern const struct host_driver host_openssh; /* "openssh" */

/* --- parts, for remote.c and its tests ----------------------------------------------------------
 */

#define REMOTE_NONCE_BYTES 33 /* hexadecimal, with its NUL */

/* The script for one command, and the line that makes a shell read it. */
bool remote_script(const struct host_command *command, bool sudo, bool has_input, const char *nonce,
                   struct arena *arena, const char **out_line, struct bytes *out_script,
                   struct err *err) MUST_USE;

/* Cuts one stream between its marks, however it is sliced. */
struct remote_filter {
    char begin_mark[64];
    char end_mark[64];
    enum { FILTER_NOISE, FILTER_BEGIN, FILTER_BODY, FILTER_END, FILTER_DONE } stage;
    char held[128]; /* what may be the beginning of a mark, or a number after one */
    size_t held_size;
    size_t passed_size; /* of what is held: given away by remote_filter_release */
    char noise[200];    /* the last of what came before the first mark */
    size_t noise_size;
    long begin_number; /* the group, once FILTER_BODY; -1: what stood there was no number */
    long end_number;   /* the exit status, once FILTER_DONE; -1 likewise */
};
void remote_filter_open(struct remote_filter *filter, const char *nonce);
/* Gives what belongs to the command to `take`, in order, in pieces. */
void remote_filter_add(struct remote_filter *filter, const char *data, size_t size,
                       void (*take)(void *context, const char *data, size_t size), void *context);
/* Whether the end of what came is held back although it is hardly the beginning of a mark. */
bool remote_filter_holds(const struct remote_filter *filter);
/* Gives that to `take` too, for a reader who waits for it: nothing came after it for a while.
 * Should it be a mark after all, that is still found. */
void remote_filter_release(struct remote_filter *filter,
                           void (*take)(void *context, const char *data, size_t size),
                           void *context);

#endif
