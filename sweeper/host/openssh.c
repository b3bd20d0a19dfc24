/*
 * A host over SSH with the system's ssh client: its configuration, jump hosts, agents and kinds of
 * keys all work. One master connection is held by an ssh of our own that ends with its input, so
 * that a killed sweep leaves none behind; each command is a client of it. ssh itself judges the
 * host's key, strictly. What ssh's exit status says is not believed (255 may be the command's): the
 * end mark is.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sweeper/base/text.h"
#include "sweeper/host/local_process.h"
#include "sweeper/host/remote.h"
#include "sweeper/host/shell_file.h"

enum { WORD_LIMIT = 48, CLOSE_MS = 2000, SLICE_MS = 200, SSH_FAILED = 255 };

struct openssh {
    struct remote_host remote;   /* first */
    struct host *here;           /* this machine: where ssh runs */
    struct host_process *master; /* NULL: none */
    char folder[64];             /* of the control socket; its path is at most 108 bytes long */
    char socket[96];
};

struct remote_link {
    struct arena arena; /* holds this struct */
    struct host *here;
    struct host_process *ssh;
    char why[200];
};

/* --- ssh's words ------------------------------------------------------------------------------ */

struct words {
    const char *list[WORD_LIMIT];
    size_t count;
};

static void add_word(struct words *words, const char *word)
{
    assert(words->count < WORD_LIMIT - 1);
    words->list[words->count++] = word;
}

static void add_option(struct words *words, struct arena *arena, const char *name,
                       const char *value)
{
    const char *option = arena_printf(arena, "%s=%s", name, value);
    add_word(words, "-o");
    add_word(words, option != NULL ? option : "");
}

/* For the master and for its clients: should the master be gone, a client connects by itself, and
 * with the same care. */
static void add_common(struct words *words, const struct openssh *openssh, struct arena *arena)
{
    static const char *const options[][2] = {
        {"BatchMode", "yes"},     {"StrictHostKeyChecking", "yes"}, {"ForwardAgent", "no"},
        {"ForwardX11", "no"},     {"ClearAllForwardings", "yes"},   {"PermitLocalCommand", "no"},
        {"RequestTTY", "no"},     {"ServerAliveInterval", "5"},     {"ServerAliveCountMax", "6"},
        {"ConnectTimeout", "15"}, {"EscapeChar", "none"},           {"LogLevel", "ERROR"},
    };
    add_word(words, "ssh");
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        add_option(words, arena, options[i][0], options[i][1]);
    }
    add_option(words, arena, "ControlPath", openssh->socket);
    if (openssh->remote.known_hosts != NULL) {
        add_option(words, arena, "UserKnownHostsFile", openssh->remote.known_hosts);
        add_option(words, arena, "GlobalKnownHostsFile", "/dev/null");
    }
    if (openssh->remote.identity != NULL) {
        add_option(words, arena, "IdentitiesOnly", "yes");
        add_word(words, "-i");
        add_word(words, openssh->remote.identity);
    }
    if (openssh->remote.address.user != NULL) {
        add_word(words, "-l");
        add_word(words, openssh->remote.address.user);
    }
    if (openssh->remote.address.port != 0) {
        add_word(words, "-p");
        const char *port = arena_printf(arena, "%d", openssh->remote.address.port);
        add_word(words, port != NULL ? port : "");
    }
}

static void add_target(struct words *words, const struct openssh *openssh, const char *line)
{
    add_word(words, "--");
    add_word(words, openssh->remote.address.name);
    add_word(words, line);
}

/* --- what ssh says ---------------------------------------------------------------------------- */

/* What a refusal means, by words of ssh(1) that have been the same for decades. */
static const struct {
    const char *words;
    enum err_code code;
    const char *hint;
} refusals[] = {
    {"REMOTE HOST IDENTIFICATION HAS CHANGED", ERR_CODE_host_key,
     "either the machine was set up anew or somebody stands between: find out which; then remove "
     "its line with ssh-keygen -R and record the new key"},
    {"REVOKED HOST KEY DETECTED", ERR_CODE_host_key,
     "do not trust that machine until it has a new key"},
    {"Host key verification failed", ERR_CODE_host_key,
     "compare the host's fingerprint by another way and record it: ssh-keyscan HOST >> "
     "known_hosts"},
    {"Permission denied (", ERR_CODE_host_login,
     "add the key's .pub line to ~/.ssh/authorized_keys of that user there, or name another key "
     "with host = { identity = ...; }"},
    {"Could not resolve hostname", ERR_CODE_host, "see the host's name, or ssh_config"},
    {"Too many authentication failures", ERR_CODE_host_login,
     "name the key with host = { identity = ...; }"},
};

/* ssh(1) ends with what counts; above it stand frames of "@". */
static void last_lines(const char *text, size_t size, char *out, size_t capacity)
{
    int lines = 0;
    while (size > 0 && (text[size - 1] == '\n' || text[size - 1] == '\r')) {
        size--;
    }
    size_t at = size;
    while (at > 0 && (text[at - 1] != '\n' || ++lines < 2)) {
        at--;
    }
    host_last_words(text + at, size - at, out, capacity);
}

/* It was let in, and what stands there in the place of cat has ended. */
static bool shell_error(const struct openssh *openssh, const char *said, size_t said_size,
                        const struct host_result *result, struct err *err)
{
    char output[200];
    char errors[200];
    host_last_words(said, said_size, output, sizeof output);
    host_last_words(result->error_text, result->error_size, errors, sizeof errors);
    bool is_silent = output[0] == '\0' && errors[0] == '\0';
    err_set(err, ERR_CODE_host, "no command runs there%s%s%s%s",
            is_silent ? "" : ": what ran there said: ", output,
            output[0] != '\0' && errors[0] != '\0' ? " " : "", errors);
    err_origin(err, "%s", openssh->remote.host.label);
    return err_hint(err, "the user's login shell there, its start files and a ForceCommand must let"
                         " commands run: see what ssh with 'echo works' does");
}

static bool refusal(const struct openssh *openssh, const struct host_result *result,
                    struct arena *arena, struct err *err)
{
    char words[400];
    enum err_code code = ERR_CODE_host;
    const char *hint = "";
    last_lines(result->error_text, result->error_size, words, sizeof words);
    for (size_t i = 0; i < COUNT_OF(refusals) && hint[0] == '\0'; i++) {
        if (strstr(result->error_text, refusals[i].words) != NULL) {
            code = refusals[i].code;
            hint = refusals[i].hint;
        }
    }
    err_set(err, code, "ssh cannot connect: %s", words[0] != '\0' ? words : "it gave no reason");
    if (hint[0] != '\0') {
        err_hint(err, "%s", hint);
    }
    if (code == ERR_CODE_host_login && openssh->remote.identity != NULL) {
        struct err better; /* ssh does not say that a key has a passphrase */
        err_clear(&better);
        if (!remote_identity_check(openssh->remote.identity, clock_deadline_ms(CLOSE_MS), arena,
                                   NULL, &better)) {
            *err = better;
        }
    }
    return err_origin(err, "%s", openssh->remote.host.label);
}

/* --- the master connection -------------------------------------------------------------------- */

static void master_close(struct openssh *openssh)
{
    struct host_result result;
    struct err err;
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    if (openssh->master == NULL) {
        return;
    }
    arena_open(&arena, (size_t)4 * 1024 * 1024);
    err_clear(&err);
    /* its input ends, so cat ends there, so it ends */
    (void)openssh->here->driver->finish(openssh->master, clock_deadline_ms(CLOSE_MS), &arena,
                                        &result, &err);
    openssh->master = NULL;
}

/* The master's session is a cat: what it sends back proves that the connection stands. */
static bool master_answers(struct openssh *openssh, int64_t deadline, struct err *err)
{
    static const char mark[] = "DBSWEEP master\n";
    const struct host_driver *driver = openssh->here->driver;
    char said[4096];
    size_t size = 0;
    struct bytes ask = {.data = mark, .size = strlen(mark)};
    struct err ignored; /* an ssh that ended reads nothing: its own words come below */
    err_clear(&ignored);
    (void)driver->write(openssh->master, ask, deadline, &ignored);
    while (!clock_passed(deadline)) {
        int64_t got = 0;
        if (!driver->read(openssh->master, said + size, sizeof said - size, deadline, &got, err)) {
            return false;
        }
        if (got < 0) {
            break;
        }
        size += (size_t)got;
        if (memmem(said, size, mark, strlen(mark)) != NULL) {
            return true;
        }
        if (size == sizeof said) { /* noise of a login shell: only its end can hold the mark */
            memmove(said, said + size - strlen(mark), strlen(mark));
            size = strlen(mark);
        }
    }
    struct host_result result = {.error_text = ""};
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    struct host_process *master = openssh->master;
    openssh->master = NULL;
    arena_open(&arena, (size_t)4 * 1024 * 1024);
    if (!driver->finish(master, clock_deadline_ms(SLICE_MS), &arena, &result, err)) {
        return false;
    }
    if (result.timed_out) {
        err_set(err, ERR_CODE_host, "ssh did not connect in time");
        return err_origin(err, "%s", openssh->remote.host.label);
    }
    return result.exit_status == SSH_FAILED ? refusal(openssh, &result, &arena, err)
                                            : shell_error(openssh, said, size, &result, err);
}

static bool master_open(struct openssh *openssh, int64_t deadline, struct err *err)
{
    struct words words = {.count = 0};
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    arena_open(&arena, (size_t)256 * 1024);
    add_common(&words, openssh, &arena);
    add_option(&words, &arena, "ControlMaster", "yes");
    add_option(&words, &arena, "ControlPersist", "no");
    add_target(&words, openssh, "exec cat");
    const struct host_command command = {.argv = words.list, .as_is = true};
    if (!openssh->here->driver->spawn(openssh->here, &command, &openssh->master, err)) {
        return err_hint(err, "install the openssh-client package, or use transport = \"libssh2\"");
    }
    return master_answers(openssh, deadline, err);
}

/* Its output ends with it; its socket's file may outlive it. */
static bool master_stands(const struct openssh *openssh, struct err *err)
{
    char noise[256];
    int64_t got = 0;
    struct stat facts;
    return openssh->master != NULL && stat(openssh->socket, &facts) == 0 &&
           openssh->here->driver->read(openssh->master, noise, sizeof noise, 0, &got, err) &&
           got >= 0;
}

/* --- a command's client ----------------------------------------------------------------------- */

static bool link_start(struct remote_host *remote, const char *line, int64_t deadline,
                       struct remote_link **out, struct err *err)
{
    struct openssh *openssh = (struct openssh *)remote;
    struct words words = {.count = 0};
    struct arena arena;
    if (!master_stands(openssh, err)) {
        master_close(openssh);
        unlink(openssh->socket);
        if (!master_open(openssh, deadline, err)) {
            return false;
        }
    }
    arena_open(&arena, (size_t)256 * 1024);
    struct remote_link *link = ARENA_NEW(&arena, struct remote_link);
    if (link == NULL) {
        return err_memory(err);
    }
    link->here = openssh->here;
    add_common(&words, openssh, &arena);
    add_option(&words, &arena, "ControlMaster", "no");
    add_target(&words, openssh, line);
    const struct host_command command = {.argv = words.list, .as_is = true};
    bool ok = link->here->driver->spawn(link->here, &command, &link->ssh, err);
    link->arena = arena;
    *out = link;
    if (!ok) {
        arena_close(&arena);
    }
    return ok;
}

static int64_t link_read(struct remote_link *link, enum remote_stream stream, char *buffer,
                         size_t size)
{
    struct stream *from =
        &link->ssh->streams[stream == REMOTE_ERROR ? STREAM_ERROR : STREAM_OUTPUT];
    if (from->pipe < 0) {
        return REMOTE_END;
    }
    ssize_t got = read(from->pipe, buffer, size);
    if (got > 0) {
        return got;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return REMOTE_NOTHING;
    }
    local_descriptor_close(&from->pipe);
    return REMOTE_END;
}

static int64_t link_send(struct remote_link *link, const char *data, size_t size)
{
    if (link->ssh->input < 0) {
        return REMOTE_END;
    }
    ssize_t sent = write(link->ssh->input, data, size);
    if (sent >= 0) {
        return sent;
    }
    if (errno == EAGAIN || errno == EINTR) {
        return REMOTE_NOTHING;
    }
    local_descriptor_close(&link->ssh->input);
    return REMOTE_END;
}

static void link_end_input(struct remote_link *link)
{
    local_descriptor_close(&link->ssh->input);
}

static void link_wait(struct remote_link *link, bool wants_send, int64_t until)
{
    struct pollfd events[] = {
        {.fd = link->ssh->streams[STREAM_OUTPUT].pipe, .events = POLLIN},
        {.fd = link->ssh->streams[STREAM_ERROR].pipe, .events = POLLIN},
        {.fd = wants_send ? link->ssh->input : -1, .events = POLLOUT},
    };
    (void)poll(events, COUNT_OF(events), clock_left_ms(until));
}

static const char *link_why(struct remote_link *link)
{
    return link->why;
}

static int link_descriptor(struct remote_link *link)
{
    return link->here->driver->descriptor(link->ssh);
}

static void link_close(struct remote_link *link)
{
    struct host_result result;
    struct err err;
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    arena_open(&arena, (size_t)16 * 1024 * 1024);
    err_clear(&err);
    /* a client whose command ended waits for nothing but a daemon that holds its streams */
    (void)link->here->driver->finish(link->ssh, clock_deadline_ms(0), &arena, &result, &err);
    struct arena own = link->arena;
    arena_close(&own);
}

static const struct remote_transport transport = {
    .start = link_start,
    .read = link_read,
    .send = link_send,
    .end_input = link_end_input,
    .wait = link_wait,
    .why = link_why,
    .descriptor = link_descriptor,
    .close = link_close,
};

/* --- the driver ------------------------------------------------------------------------------- */

static void openssh_close(struct host *host)
{
    struct openssh *openssh = (struct openssh *)host;
    master_close(openssh);
    host_close(openssh->here);
    if (openssh->folder[0] != '\0') {
        unlink(openssh->socket);
        rmdir(openssh->folder);
    }
    struct arena arena = openssh->remote.arena;
    arena_close(&arena);
}

static bool make_folder(struct openssh *openssh, struct err *err)
{
    char path[] = "/tmp/dbsweep-ssh.XXXXXX";
    if (mkdtemp(path) == NULL) {
        return err_set_errno(err, ERR_CODE_host, "cannot make a folder in /tmp");
    }
    snprintf(openssh->folder, sizeof openssh->folder, "%s", path);
    snprintf(openssh->socket, sizeof openssh->socket, "%s/master", path);
    return true;
}

static bool openssh_open(const struct host_spec *spec, int64_t deadline, struct host **out,
                         struct err *err)
{
    struct arena arena;
    arena_open(&arena, (size_t)1024 * 1024);
    struct openssh *openssh = ARENA_NEW(&arena, struct openssh);
    if (openssh == NULL) {
        return err_memory(err);
    }
    openssh->remote.host.driver = &host_openssh;
    openssh->remote.transport = &transport;
    openssh->remote.arena = arena;
    if (remote_take_spec(&openssh->remote, spec, err) && make_folder(openssh, err) &&
        host_open(NULL, deadline, &openssh->here, err) && master_open(openssh, deadline, err) &&
        remote_check(&openssh->remote, deadline, err)) {
        *out = &openssh->remote.host;
        return true;
    }
    openssh_close(&openssh->remote.host);
    return false;
}

const struct host_driver host_openssh = {
    .name = "openssh",
    .open = openssh_open,
    .close = openssh_close,
    .spawn = remote_spawn,
    .read = remote_read,
    .write = remote_write,
    .finish = remote_finish,
    .descriptor = remote_descriptor,
    .run = remote_run,
    .get = shell_file_get,
    .put = shell_file_put,
    .claim = shell_file_claim,
    .remove = shell_file_remove,
    .facts = remote_facts,
};
