/*
 * A host: where commands run and files live. Local now; transports over SSH fill the same table.
 * A driver does one thing once and says exactly what happened: no retries, no waits beyond the
 * caller's deadline. One connection per owner thread.
 */
#ifndef SWEEPER_HOST_HOST_H
#define SWEEPER_HOST_HOST_H

#include <sys/types.h>

#include "sweeper/base/arena.h"
#include "sweeper/base/clock.h"
#include "sweeper/base/err.h"

struct host;
struct host_process;

/* How to reach one, from the sweep file's `host = {...}`. */
struct host_spec {
    const char *ssh;         /* "user@name:port"; NULL: this machine */
    const char *identity;    /* key file; NULL: agent and defaults */
    const char *known_hosts; /* NULL: ~/.ssh/known_hosts */
    bool sudo;               /* run commands through `sudo -n` */
    const char *transport;   /* "libssh2" | "openssh"; NULL: libssh2 */
};

/* A command: argv, never a shell line. */
struct host_command {
    const char *const *argv;   /* NULL-terminated; argv[0] is looked up in PATH */
    struct bytes input;        /* standard input; empty: /dev/null */
    int64_t deadline;          /* then the process group gets TERM, after 2 s KILL */
    size_t output_limit_bytes; /* kept of each stream: head and tail; 0: 1 MiB */
    bool daemon;     /* it may leave a daemon behind that inherits its output: output goes to a file
                        and the command ends when its first process ends */
    bool until_stop; /* `run` ends it at a stop request too, as at its deadline: err stopped */
    bool as_is;      /* not through sudo even where the host asks for it */
};

struct host_result {
    int exit_status;    /* -1 when a signal ended it */
    int signal_number;  /* 0 when none */
    bool timed_out;     /* the deadline passed and it was ended */
    bool truncated;     /* output was longer than kept: "[... N bytes left out ...]" stands on a
                           line of its own where its middle is missing */
    const char *output; /* NUL-terminated; NULs inside are kept in *_size */
    size_t output_size;
    const char *error_text;
    size_t error_size;
    int64_t elapsed_ns;
};

struct host_file {
    mode_t mode; /* permission bits */
    uid_t uid;
    gid_t gid;
    int64_t size_bytes;
    const char *real_path; /* symbolic links resolved */
    const char *selinux;   /* label or "" */
    unsigned link_count;
    char sha256[65]; /* of the bytes, lower-case hexadecimal */
};

struct host_facts {
    int64_t memory_bytes;
    int64_t cpu_count;
    const char *name;   /* host name */
    const char *kernel; /* "Linux 6.1.0-32-amd64 x86_64" */
    const char *cpu_model;
    const char *virtualisation; /* "" unknown */
    const char *governor;       /* "" none */
    const char *boot_id;        /* changes with every boot */
    const char *filesystem;     /* of the asked path: "ext4 rw,relatime" */
    const char *device;         /* of the asked path */
};

struct host_driver {
    const char *name; /* "local" */
    /* required */
    bool (*open)(const struct host_spec *spec, int64_t deadline, struct host **out,
                 struct err *err);
    void (*close)(struct host *host);
    /* A running process with pipes to its standard input and output (its standard error is kept,
     * capped, and comes back from finish, as does what was not read). The command's input is sent
     * first; its deadline has no meaning here: each call below has its own. Must be finished. */
    bool (*spawn)(struct host *host, const struct host_command *command, struct host_process **out,
                  struct err *err);
    /* Reads at most `size` bytes of its output: 0 = nothing by the deadline, -1 in *out = end. */
    bool (*read)(struct host_process *process, void *buffer, size_t size, int64_t deadline,
                 int64_t *out, struct err *err);
    /* All of it or an error. Does not read meanwhile: a process that answers with more than a pipe
     * holds (64 KiB) before it has read all is stuck until the deadline. */
    bool (*write)(struct host_process *process, struct bytes data, int64_t deadline,
                  struct err *err);
    /* Ends its input; waits for its end until the deadline, then ends the group (TERM, KILL). The
     * process is gone in any case, also where this fails. */
    bool (*finish)(struct host_process *process, int64_t deadline, struct arena *arena,
                   struct host_result *out, struct err *err);
    /* A descriptor that becomes readable when `read` has something, and now and then for nothing;
     * -1: there is none. */
    int (*descriptor)(struct host_process *process);
    bool (*run)(struct host *host, const struct host_command *command, struct arena *arena,
                struct host_result *out, struct err *err);
    /* Bytes and facts (out_file may be NULL) of a regular file of at most 64 MiB; a NUL that is not
     * counted follows the bytes. A missing file: err code not_found. */
    bool (*get)(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                struct bytes *out, struct host_file *out_file, struct err *err);
    /* Replaces the file atomically: a temporary beside it (exclusive, 0600), the bytes, mode, owner
     * and label of `as` (NULL: of the file that is there, else 0600 of this user), fsync, rename,
     * directory fsync, read again and compare. Refuses hard links (> 1) and, unless create, a
     * missing file. Symbolic links are followed: the real file is replaced. */
    bool (*put)(struct host *host, const char *path, struct bytes content,
                const struct host_file *as, bool create, int64_t deadline, struct err *err);
    /* Creates the file with those bytes, 0600, only if it does not exist: *out_created false and
     * true returned where it does. */
    bool (*claim)(struct host *host, const char *path, struct bytes content, int64_t deadline,
                  bool *out_created, struct err *err);
    /* Removes a file; a missing one is fine. */
    bool (*remove)(struct host *host, const char *path, int64_t deadline, struct err *err);
    bool (*facts)(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                  struct host_facts *out, struct err *err);
};

/* First member of every driver's host; drivers embed it. */
struct host {
    const struct host_driver *driver;
    const char *label; /* "local", "dba@db1:22": for messages */
    bool is_local;
};

/* The visible array of all drivers. */
extern const struct host_driver *const host_drivers[];
extern const size_t host_driver_count;

/* Opens by spec: local where spec is NULL or has no ssh. */
bool host_open(const struct host_spec *spec, int64_t deadline, struct host **out,
               struct err *err) MUST_USE;
void host_close(struct host *host); /* NULL is fine */

/* Short names for the driver's functions. */
bool host_run(struct host *host, const struct host_command *command, struct arena *arena,
              struct host_result *out, struct err *err) MUST_USE;
bool host_get(struct host *host, const char *path, int64_t deadline, struct arena *arena,
              struct bytes *out, struct host_file *out_file, struct err *err) MUST_USE;
bool host_put(struct host *host, const char *path, struct bytes content, const struct host_file *as,
              bool create, int64_t deadline, struct err *err) MUST_USE;

/* A command whose success is exit status 0: anything else is err command_failed with the command,
 * status and the tail of its error text. `out` may be NULL. */
bool host_run_ok(struct host *host, const struct host_command *command, struct arena *arena,
                 struct host_result *out, struct err *err) MUST_USE;

/* What a short command says, without the newlines at its end; NULL in *out where it exits with
 * another status than 0. Errors: timeout where it did not end by itself, since no answer is not the
 * answer "no". */
bool host_ask(struct host *host, const char *const *argv, int64_t deadline, struct arena *arena,
              const char **out, struct err *err) MUST_USE;

/* The last bytes of what a command said, on one line, for a message: at most capacity - 1 bytes and
 * a NUL, blanks at the end dropped, control characters as blanks. capacity > 0. */
void host_last_words(const char *text, size_t size, char *buffer, size_t capacity);

/* "OpenSSL 3.0.17 ...", as linked at run time. */
const char *host_library_version(void);

/* SHA-256 of bytes as lower-case hexadecimal. */
void host_sha256(struct bytes content, char out_hex[65]);

/* Bytes (at most 1 GiB) in base64 with its padding; NULL where memory ended. */
const char *host_base64(struct bytes content, struct arena *arena) MUST_USE;

/* argv as one POSIX shell word list, each word quoted where it must be; any byte but NUL. NULL
 * where memory ends. (sweeper/host/quote.c; fuzzed against a real shell.) */
const char *host_quote(struct arena *arena, const char *const *argv) MUST_USE;

#endif
