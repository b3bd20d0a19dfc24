/*
 * A host over SSH with libssh2: one connection, one channel a command. The host's key is judged
 * before anything of ours is offered. Nothing here blocks but for its caller's deadline. A call
 * that libssh2 could not finish writing is finished before another begins, as it demands.
 *
 * Keys of type RSA do not work with libssh2 1.10 and today's servers, and it has no ssh_config,
 * jump hosts or FIDO keys: the transport "openssh" has. A connection that was found dead is opened
 * anew by the next command; a command that was under way is lost.
 */
#include <errno.h>
#include <libssh2.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "sweeper/base/text.h"
#include "sweeper/host/known_hosts.h"
#include "sweeper/host/local.h"
#include "sweeper/host/remote.h"
#include "sweeper/host/shell_file.h"

enum { SSH_PORT = 22, ALIVE_S = 15, SILENCE_MS = 30000, STUCK_MS = 30000, CLOSE_MS = 500 };

struct ssh {
    struct remote_host remote; /* first */
    struct remote_address address;
    const char *user;
    const char *identity;    /* NULL: agent and defaults */
    const char *known_hosts; /* NULL: the usual files */
    int socket;
    LIBSSH2_SESSION *session;
    unsigned generation; /* of the connection: channels of an older one are gone */
    char why[200];       /* it was lost; "" while it is not */
};

struct remote_link {
    struct arena arena; /* holds this struct */
    struct ssh *ssh;
    LIBSSH2_CHANNEL *channel;
    unsigned generation;
};

/* --- waiting ---------------------------------------------------------------------------------- */

/* Until the socket lets the call that said "again" go on. */
static void wait_socket(const struct ssh *ssh, bool wants_send, int64_t until)
{
    struct pollfd event = {.fd = ssh->socket, .events = POLLIN};
    int directions = libssh2_session_block_directions(ssh->session);
    if ((directions & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0 ||
        (wants_send && (directions & LIBSSH2_SESSION_BLOCK_INBOUND) == 0)) {
        event.events |= POLLOUT;
    }
    (void)poll(&event, 1, clock_left_ms(until));
}

static bool is_unsent(const struct ssh *ssh)
{
    return (libssh2_session_block_directions(ssh->session) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

/* libssh2's own words for the last call that failed. */
static void keep_why(struct ssh *ssh)
{
    char *text = NULL;
    int code = libssh2_session_last_error(ssh->session, &text, NULL, 0);
    snprintf(ssh->why, sizeof ssh->why, "%s (libssh2 error %d)",
             text != NULL && text[0] != '\0' ? text : "connection lost", code);
}

/* What a step of connecting came to: 0 done, "again" until the deadline, else an error. */
static bool step_failed(struct ssh *ssh, int result, const char *what, struct err *err)
{
    if (result == LIBSSH2_ERROR_EAGAIN) {
        err_set(err, ERR_CODE_host, "%s took too long", what);
    } else {
        keep_why(ssh);
        err_set(err, ERR_CODE_host, "%s failed: %s", what, ssh->why);
    }
    err_native(err, result, "libssh2");
    return err_origin(err, "%s", ssh->remote.host.label);
}

/* Repeats `call` while it says "again" and the deadline lets it. */
#define UNTIL(ssh, deadline, result, call)                                                         \
    do {                                                                                           \
        (result) = (call);                                                                         \
        if ((result) != LIBSSH2_ERROR_EAGAIN || clock_passed(deadline))                            \
            break;                                                                                 \
        wait_socket((ssh), false, (deadline));                                                     \
    } while (true)

/* --- the socket ------------------------------------------------------------------------------- */

static void set_options(int socket)
{
    static const struct {
        int level;
        int name;
        int value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1}, /* without it each command waits 40 ms */
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, ALIVE_S},
        {IPPROTO_TCP, TCP_KEEPINTVL, ALIVE_S / 3},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, SILENCE_MS},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        (void)setsockopt(socket, options[i].level, options[i].name, &options[i].value,
                         sizeof options[i].value);
    }
}

static int connect_one(const struct addrinfo *address, int64_t deadline)
{
    int failed = 0;
    socklen_t size = sizeof failed;
    int made = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                      address->ai_protocol);
    if (made < 0) {
        return -1;
    }
    struct pollfd event = {.fd = made, .events = POLLOUT};
    if (connect(made, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS) {
        failed = errno;
    } else if (poll(&event, 1, clock_left_ms(deadline)) != 1) {
        failed = ETIMEDOUT;
    } else if (getsockopt(made, SOL_SOCKET, SO_ERROR, &failed, &size) != 0) {
        failed = errno;
    }
    if (failed == 0) {
        set_options(made);
        return made;
    }
    close(made);
    errno = failed;
    return -1;
}

static void addresses_close(struct addrinfo **list)
{
    if (*list != NULL) {
        freeaddrinfo(*list);
    }
}

static bool open_socket(struct ssh *ssh, int64_t deadline, struct err *err)
{
    char port[16];
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list CLEANUP(addresses_close) = NULL;
    snprintf(port, sizeof port, "%d", ssh->address.port);
    int failed = getaddrinfo(ssh->address.name, port, &wanted, &list);
    if (failed != 0) {
        list = NULL;
        err_set(err, ERR_CODE_host, "the host's name is not known: %s", gai_strerror(failed));
        return err_origin(err, "%s", ssh->remote.host.label);
    }
    for (const struct addrinfo *at = list; at != NULL && ssh->socket < 0; at = at->ai_next) {
        ssh->socket = connect_one(at, deadline);
    }
    if (ssh->socket >= 0) {
        return true;
    }
    err_set_errno(err, ERR_CODE_host, "cannot connect");
    return err_origin(err, "%s", ssh->remote.host.label);
}

/* --- the host's key --------------------------------------------------------------------------- */

/* Only types that are on file are asked for, or a server would offer one that is not. */
static bool prefer_known_types(struct ssh *ssh, const struct known_hosts *known,
                               struct arena *arena, struct err *err)
{
    static const char *const types[] = {"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                        "ecdsa-sha2-nistp521"};
    struct text list;
    text_open(&list, arena);
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        for (size_t j = 0; j < known->key_count; j++) {
            if (strcmp(known->keys[j].type, types[i]) == 0 && !known->keys[j].is_authority) {
                text_addf(&list, "%s%s", list.size > 0 ? "," : "", types[i]);
                break;
            }
        }
    }
    const char *wanted = text_done(&list);
    if (wanted == NULL) {
        return err_memory(err);
    }
    if (wanted[0] != '\0' &&
        libssh2_session_method_pref(ssh->session, LIBSSH2_METHOD_HOSTKEY, wanted) == 0) {
        return true;
    }
    err_set(err, ERR_CODE_host_key,
            "%s has no key on file in %s that libssh2 can check (it needs ed25519 or ecdsa)",
            known->name, known->file);
    return err_hint(err,
                    "record such a key of the host, or use host = { transport = \"openssh\"; }");
}

static bool judge_key(struct ssh *ssh, const struct known_hosts *known, struct arena *arena,
                      struct err *err)
{
    size_t size = 0;
    int type = 0;
    const char *key = libssh2_session_hostkey(ssh->session, &size, &type);
    if (key == NULL) {
        return err_set(err, ERR_CODE_host_key, "%s showed no key", known->name);
    }
    return known_hosts_judge(known, (struct bytes){.data = key, .size = size}, arena, err);
}

static bool shake_hands(struct ssh *ssh, int64_t deadline, struct arena *arena, struct err *err)
{
    int result = 0;
    struct known_hosts known;
    if (!known_hosts_find(&ssh->address, ssh->known_hosts, deadline, arena, &known, err) ||
        !prefer_known_types(ssh, &known, arena, err)) {
        return false;
    }
    UNTIL(ssh, deadline, result, libssh2_session_handshake(ssh->session, ssh->socket));
    if (result == LIBSSH2_ERROR_KEX_FAILURE || result == LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE) {
        keep_why(ssh);
        err_set(err, ERR_CODE_host_key,
                "%s shows no key of a type that is on file in %s, or they have no algorithm in "
                "common: %s",
                known.name, known.file, ssh->why);
        err_native(err, result, "libssh2");
        return err_hint(err, "record its ed25519 key, or use host = { transport = \"openssh\"; }");
    }
    return result == 0 ? judge_key(ssh, &known, arena, err)
                       : step_failed(ssh, result, "the SSH handshake", err);
}

/* --- logging in ------------------------------------------------------------------------------- */

static bool is_rsa(const char *file, int64_t deadline, struct arena *arena)
{
    struct host *host = NULL;
    struct host_result result = {.output = ""};
    struct err err;
    const char *const argv[] = {"ssh-keygen", "-l", "-f", file, NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    err_clear(&err);
    bool ok =
        host_open(NULL, deadline, &host, &err) && host_run(host, &command, arena, &result, &err);
    host_close(host);
    return ok && strstr(result.output, "(RSA)") != NULL;
}

static bool no_rsa(const char *file, struct err *err)
{
    err_set(err, ERR_CODE_host_login,
            "'%s' is an RSA key, which libssh2 1.10 cannot use with today's servers", file);
    return err_hint(err, "use an ed25519 key, or host = { transport = \"openssh\"; }");
}

static bool try_file(struct ssh *ssh, const char *file, int64_t deadline, struct arena *arena,
                     struct err *err)
{
    int result = 0;
    if (is_rsa(file, deadline, arena)) {
        return no_rsa(file, err);
    }
    UNTIL(ssh, deadline, result,
          libssh2_userauth_publickey_fromfile_ex(ssh->session, ssh->user,
                                                 (unsigned)strlen(ssh->user), NULL, file, NULL));
    if (result == 0) {
        return true;
    }
    keep_why(ssh);
    err_set(err, ERR_CODE_host_login, "user %s cannot log in with the key '%s': %s", ssh->user,
            file, ssh->why);
    err_native(err, result, "libssh2");
    err_hint(err, result == LIBSSH2_ERROR_FILE || result == LIBSSH2_ERROR_KEYFILE_AUTH_FAILED
                      ? "a key with a passphrase is used through ssh-agent: leave identity out"
                      : "add the key's .pub line to ~/.ssh/authorized_keys of that user there");
    return err_origin(err, "%s", ssh->remote.host.label);
}

static bool is_refused_rsa(const struct libssh2_agent_publickey *key)
{
    static const char name[] = "ssh-rsa";
    return key->blob_len > 4 + strlen(name) && memcmp(key->blob + 4, name, strlen(name)) == 0;
}

/* True: logged in. The agent may hold keys that are of no use here. */
static bool try_agent(struct ssh *ssh, int64_t deadline)
{
    int result = LIBSSH2_ERROR_METHOD_NONE;
    struct libssh2_agent_publickey *previous = NULL;
    struct libssh2_agent_publickey *key = NULL;
    if (getenv("SSH_AUTH_SOCK") == NULL) {
        return false;
    }
    LIBSSH2_AGENT *agent = libssh2_agent_init(ssh->session);
    if (agent == NULL) {
        return false;
    }
    if (libssh2_agent_connect(agent) == 0 && libssh2_agent_list_identities(agent) == 0) {
        while (result != 0 && libssh2_agent_get_identity(agent, &key, previous) == 0) {
            previous = key;
            if (!is_refused_rsa(key)) { /* each refused one counts as a failed attempt there */
                UNTIL(ssh, deadline, result, libssh2_agent_userauth(agent, ssh->user, key));
            }
        }
    }
    libssh2_agent_disconnect(agent);
    libssh2_agent_free(agent);
    return result == 0;
}

static bool log_in(struct ssh *ssh, int64_t deadline, struct arena *arena, struct err *err)
{
    static const char *const usual[] = {"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa"};
    bool is_tried = false;
    if (ssh->identity != NULL) {
        return try_file(ssh, ssh->identity, deadline, arena, err);
    }
    if (try_agent(ssh, deadline)) {
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(usual); i++) {
        const char *file = remote_path(usual[i], arena);
        if (file != NULL && access(file, R_OK) == 0) {
            is_tried = true;
            if (try_file(ssh, file, deadline, arena, err)) {
                return true;
            }
        }
    }
    if (is_tried) {
        return false;
    }
    err_set(err, ERR_CODE_host_login,
            "there is no key to log in with: no agent has one that fits, and there is no "
            "~/.ssh/id_ed25519 or id_ecdsa");
    err_hint(err, "name one: host = { identity = \"FILE\"; }");
    return err_origin(err, "%s", ssh->remote.host.label);
}

/* --- the connection --------------------------------------------------------------------------- */

static void disconnect(struct ssh *ssh)
{
    if (ssh->socket >= 0) {
        shutdown(ssh->socket, SHUT_RDWR); /* so that freeing what is unfinished cannot wait */
    }
    for (int i = 0; ssh->session != NULL && i < 100; i++) {
        if (libssh2_session_free(ssh->session) != LIBSSH2_ERROR_EAGAIN) {
            ssh->session = NULL;
        }
    }
    local_descriptor_close(&ssh->socket);
    ssh->session = NULL;
    ssh->generation++;
}

static bool connect_all(struct ssh *ssh, int64_t deadline, struct err *err)
{
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    arena_open(&arena, (size_t)8 * 1024 * 1024);
    ssh->why[0] = '\0';
    if (!open_socket(ssh, deadline, err)) {
        return false;
    }
    ssh->session = libssh2_session_init();
    if (ssh->session == NULL) {
        return err_memory(err);
    }
    libssh2_session_set_blocking(ssh->session, 0);
    return shake_hands(ssh, deadline, &arena, err) && log_in(ssh, deadline, &arena, err);
}

/* Nothing is under way that would have noticed. */
static bool is_dead(const struct ssh *ssh)
{
    struct pollfd event = {.fd = ssh->socket, .events = POLLRDHUP};
    return ssh->session == NULL || ssh->why[0] != '\0' ||
           (poll(&event, 1, 0) == 1 && (event.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
}

static bool ensure_connected(struct ssh *ssh, int64_t deadline, struct err *err)
{
    if (!is_dead(ssh)) {
        return true;
    }
    disconnect(ssh);
    if (connect_all(ssh, deadline, err)) {
        return true;
    }
    disconnect(ssh);
    return false;
}

/* --- a command's channel ---------------------------------------------------------------------- */

static bool is_gone(const struct remote_link *link)
{
    return link->channel == NULL || link->generation != link->ssh->generation ||
           link->ssh->why[0] != '\0';
}

static bool run_line(struct remote_link *link, const char *line, int64_t deadline, struct err *err)
{
    struct ssh *ssh = link->ssh;
    int result = 0;
    do {
        link->channel = libssh2_channel_open_session(ssh->session);
        result = link->channel != NULL ? 0 : libssh2_session_last_errno(ssh->session);
        if (result == LIBSSH2_ERROR_EAGAIN) {
            wait_socket(ssh, false, deadline);
        }
    } while (result == LIBSSH2_ERROR_EAGAIN && !clock_passed(deadline));
    if (result != 0) {
        return step_failed(ssh, result, "opening a channel", err);
    }
    UNTIL(ssh, deadline, result,
          libssh2_channel_process_startup(link->channel, "exec", 4, line, (unsigned)strlen(line)));
    return result == 0 || step_failed(ssh, result, "running a command", err);
}

static void link_close(struct remote_link *link)
{
    struct ssh *ssh = link->ssh;
    int64_t deadline = clock_deadline_ms(CLOSE_MS);
    int result = 0;
    if (!is_gone(link)) {
        UNTIL(ssh, deadline, result, libssh2_channel_free(link->channel));
        if (result == LIBSSH2_ERROR_EAGAIN && is_unsent(ssh)) {
            snprintf(ssh->why, sizeof ssh->why, "a channel could not be closed");
        }
    }
    struct arena arena = link->arena;
    arena_close(&arena);
}

static bool link_start(struct remote_host *remote, const char *line, int64_t deadline,
                       struct remote_link **out, struct err *err)
{
    struct ssh *ssh = (struct ssh *)remote;
    struct arena arena;
    if (!ensure_connected(ssh, deadline, err)) {
        return false;
    }
    arena_open(&arena, (size_t)16 * 1024);
    struct remote_link *link = ARENA_NEW(&arena, struct remote_link);
    if (link == NULL) {
        return err_memory(err);
    }
    link->arena = arena;
    link->ssh = ssh;
    link->generation = ssh->generation;
    if (!run_line(link, line, deadline, err)) {
        link_close(link);
        return false;
    }
    *out = link;
    return true;
}

/* What libssh2 began to write must go out before any other call. */
static bool finish_writing(struct ssh *ssh, int64_t *result, int64_t deadline)
{
    if (*result != LIBSSH2_ERROR_EAGAIN || !is_unsent(ssh)) {
        return false;
    }
    if (clock_passed(deadline)) {
        snprintf(ssh->why, sizeof ssh->why, "the connection took no bytes for %d s",
                 STUCK_MS / 1000);
        *result = LIBSSH2_ERROR_TIMEOUT;
        return false;
    }
    wait_socket(ssh, false, deadline);
    return true;
}

static int64_t link_read(struct remote_link *link, enum remote_stream stream, char *buffer,
                         size_t size)
{
    struct ssh *ssh = link->ssh;
    int64_t deadline = clock_deadline_ms(STUCK_MS);
    int64_t got = 0;
    if (is_gone(link)) {
        return REMOTE_LOST;
    }
    do {
        got = libssh2_channel_read_ex(
            link->channel, stream == REMOTE_ERROR ? SSH_EXTENDED_DATA_STDERR : 0, buffer, size);
    } while (finish_writing(ssh, &got, deadline));
    if (got > 0) {
        return got;
    }
    if (got == 0) {
        return libssh2_channel_eof(link->channel) == 1 ? REMOTE_END : REMOTE_NOTHING;
    }
    if (got == LIBSSH2_ERROR_EAGAIN) {
        return REMOTE_NOTHING;
    }
    if (ssh->why[0] == '\0') {
        keep_why(ssh);
    }
    return REMOTE_LOST;
}

static int64_t link_send(struct remote_link *link, const char *data, size_t size)
{
    struct ssh *ssh = link->ssh;
    int64_t deadline = clock_deadline_ms(STUCK_MS);
    int64_t sent = 0;
    if (is_gone(link)) {
        return REMOTE_LOST;
    }
    do {
        sent = libssh2_channel_write_ex(link->channel, 0, data, size);
    } while (finish_writing(ssh, &sent, deadline));
    if (sent >= 0) {
        return sent;
    }
    if (sent == LIBSSH2_ERROR_EAGAIN) {
        return REMOTE_NOTHING;
    }
    if (sent == LIBSSH2_ERROR_CHANNEL_CLOSED || sent == LIBSSH2_ERROR_CHANNEL_EOF_SENT) {
        return REMOTE_END;
    }
    if (ssh->why[0] == '\0') {
        keep_why(ssh);
    }
    return REMOTE_LOST;
}

static void link_end_input(struct remote_link *link)
{
    int64_t deadline = clock_deadline_ms(STUCK_MS);
    int result = 0;
    if (!is_gone(link)) {
        UNTIL(link->ssh, deadline, result, libssh2_channel_send_eof(link->channel));
    }
}

static void link_wait(struct remote_link *link, bool wants_send, int64_t until)
{
    if (!is_gone(link)) {
        wait_socket(link->ssh, wants_send, until);
    }
}

static const char *link_why(struct remote_link *link)
{
    return link->generation != link->ssh->generation ? "the connection was lost" : link->ssh->why;
}

static int link_descriptor(struct remote_link *link)
{
    return is_gone(link) ? -1 : link->ssh->socket;
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

static void ssh_close(struct host *host)
{
    struct ssh *ssh = (struct ssh *)host;
    disconnect(ssh);
    struct arena arena = ssh->remote.arena;
    arena_close(&arena);
}

static bool put_spec(struct ssh *ssh, const struct host_spec *spec, struct err *err)
{
    struct arena *arena = &ssh->remote.arena;
    if (!remote_address_parse(spec->ssh, arena, &ssh->address, err)) {
        return false;
    }
    if (ssh->address.port == 0) {
        ssh->address.port = SSH_PORT;
    }
    const struct passwd *me = ssh->address.user == NULL ? getpwuid(geteuid()) : NULL;
    const char *user = ssh->address.user;
    if (user == NULL) {
        user = me != NULL ? me->pw_name : "";
    }
    ssh->user = arena_strdup(arena, user);
    ssh->identity = spec->identity != NULL ? remote_path(spec->identity, arena) : NULL;
    ssh->known_hosts = spec->known_hosts != NULL ? remote_path(spec->known_hosts, arena) : NULL;
    ssh->remote.host.label =
        arena_printf(arena, "%s@%s:%d", user, ssh->address.name, ssh->address.port);
    ssh->remote.sudo = spec->sudo;
    return (ssh->user != NULL && ssh->remote.host.label != NULL &&
            (spec->identity == NULL || ssh->identity != NULL) &&
            (spec->known_hosts == NULL || ssh->known_hosts != NULL)) ||
           err_memory(err);
}

static bool ssh_open(const struct host_spec *spec, int64_t deadline, struct host **out,
                     struct err *err)
{
    struct arena arena;
    arena_open(&arena, (size_t)1024 * 1024);
    struct ssh *ssh = ARENA_NEW(&arena, struct ssh);
    if (ssh == NULL) {
        return err_memory(err);
    }
    ssh->remote.host.driver = &host_ssh;
    ssh->remote.transport = &transport;
    ssh->remote.arena = arena;
    ssh->socket = -1;
    if (put_spec(ssh, spec, err) && ensure_connected(ssh, deadline, err) &&
        remote_check(&ssh->remote, deadline, err)) {
        *out = &ssh->remote.host;
        return true;
    }
    ssh_close(&ssh->remote.host);
    return false;
}

const struct host_driver host_ssh = {
    .name = "libssh2",
    .open = ssh_open,
    .close = ssh_close,
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
