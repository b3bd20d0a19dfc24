/*
 * The connection of the libssh2 driver: its socket, the host's key, which is judged before anything
 * of ours is offered, and the login. Nothing here waits beyond its caller's deadline.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "sweeper/base/text.h"
#include "sweeper/host/known_hosts.h"
#include "sweeper/host/local.h"
#include "sweeper/host/ssh.h"

enum { ALIVE_S = 15, SILENCE_MS = 30000, AGENT_MS = 5000 };

/* --- waiting ---------------------------------------------------------------------------------- */

void ssh_wait(const struct ssh *ssh, bool wants_send, int64_t until)
{
    struct pollfd event = {.fd = ssh->socket, .events = POLLIN};
    int directions = libssh2_session_block_directions(ssh->session);
    if ((directions & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0 ||
        (wants_send && (directions & LIBSSH2_SESSION_BLOCK_INBOUND) == 0)) {
        event.events |= POLLOUT;
    }
    (void)poll(&event, 1, clock_left_ms(until));
}

/* libssh2's own words for the last call that failed. */
void ssh_keep_why(struct ssh *ssh)
{
    char *text = NULL;
    int code = libssh2_session_last_error(ssh->session, &text, NULL, 0);
    snprintf(ssh->why, sizeof ssh->why, "%s (libssh2 error %d)",
             text != NULL && text[0] != '\0' ? text : "connection lost", code);
}

/* A step that the server refused leaves the connection, and other channels on it, as they were;
 * after any other nobody knows what is half sent: it is not used again. */
bool ssh_step_failed(struct ssh *ssh, int result, const char *what, struct err *err)
{
    bool is_refused =
        result == LIBSSH2_ERROR_CHANNEL_FAILURE || result == LIBSSH2_ERROR_CHANNEL_REQUEST_DENIED;
    if (result == LIBSSH2_ERROR_EAGAIN) {
        snprintf(ssh->why, sizeof ssh->why, "%s took too long", what);
        err_set(err, ERR_CODE_host, "%s", ssh->why);
    } else {
        ssh_keep_why(ssh);
        err_set(err, ERR_CODE_host, "%s failed: %s", what, ssh->why);
    }
    if (is_refused) {
        ssh->why[0] = '\0';
        err_hint(err, "see the server's own log; MaxSessions of its sshd_config is 10 by default");
    }
    err_native(err, result, "libssh2");
    return err_origin(err, "%s", ssh->remote.host.label);
}

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
    snprintf(port, sizeof port, "%d", ssh->remote.address.port);
    int failed = getaddrinfo(ssh->remote.address.name, port, &wanted, &list);
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
    if (!known_hosts_find(&ssh->remote.address, ssh->remote.known_hosts, deadline, arena, &known,
                          err) ||
        !prefer_known_types(ssh, &known, arena, err)) {
        return false;
    }
    SSH_UNTIL(ssh, deadline, result, libssh2_session_handshake(ssh->session, ssh->socket));
    if (result == LIBSSH2_ERROR_KEX_FAILURE || result == LIBSSH2_ERROR_KEY_EXCHANGE_FAILURE) {
        ssh_keep_why(ssh);
        err_set(err, ERR_CODE_host_key,
                "%s shows no key of a type that is on file in %s, or they have no algorithm in "
                "common: %s",
                known.name, known.file, ssh->why);
        err_native(err, result, "libssh2");
        return err_hint(err, "record its ed25519 key, or use host = { transport = \"openssh\"; }");
    }
    return result == 0 ? judge_key(ssh, &known, arena, err)
                       : ssh_step_failed(ssh, result, "the SSH handshake", err);
}

/* --- logging in ------------------------------------------------------------------------------- */

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
    bool is_rsa = false;
    if (!remote_identity_check(file, deadline, arena, &is_rsa, err)) {
        return err_origin(err, "%s", ssh->remote.host.label);
    }
    if (is_rsa) {
        return no_rsa(file, err);
    }
    SSH_UNTIL(ssh, deadline, result,
              libssh2_userauth_publickey_fromfile_ex(
                  ssh->session, ssh->user, (unsigned)strlen(ssh->user), NULL, file, NULL));
    if (result == 0) {
        return true;
    }
    if (result != LIBSSH2_ERROR_AUTHENTICATION_FAILED &&
        result != LIBSSH2_ERROR_PUBLICKEY_UNVERIFIED) {
        return ssh_step_failed(ssh, result, "logging in", err);
    }
    ssh_keep_why(ssh);
    err_set(err, ERR_CODE_host_login, "user %s cannot log in with the key '%s': %s", ssh->user,
            file, ssh->why);
    err_native(err, result, "libssh2");
    err_hint(err, "add the key's .pub line to ~/.ssh/authorized_keys of that user there");
    return err_origin(err, "%s", ssh->remote.host.label);
}

static bool is_refused_rsa(const struct libssh2_agent_publickey *key)
{
    static const char name[] = "ssh-rsa";
    return key->blob_len > 4 + strlen(name) && memcmp(key->blob + 4, name, strlen(name)) == 0;
}

/* libssh2 would wait forever for an agent that hangs: asked first whether it answers at all. */
static bool agent_answers(const char *path, int64_t deadline)
{
    static const char request_identities[] = {0, 0, 0, 1, 11};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char answer = 0;
    int64_t until = clock_deadline_ms(AGENT_MS);
    if (strlen(path) >= sizeof address.sun_path) {
        return false;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd event = {.fd = made, .events = POLLIN};
    bool ok = made >= 0 && connect(made, (const struct sockaddr *)&address, sizeof address) == 0 &&
              write(made, request_identities, sizeof request_identities) ==
                  (ssize_t)sizeof request_identities &&
              poll(&event, 1, clock_left_ms(until < deadline ? until : deadline)) == 1 &&
              read(made, &answer, 1) == 1;
    local_descriptor_close(&made);
    return ok;
}

/* True: logged in. The agent may hold keys that are of no use here. */
static bool try_agent(struct ssh *ssh, int64_t deadline)
{
    int result = LIBSSH2_ERROR_METHOD_NONE;
    struct libssh2_agent_publickey *previous = NULL;
    struct libssh2_agent_publickey *key = NULL;
    const char *path = getenv("SSH_AUTH_SOCK");
    if (path == NULL || !agent_answers(path, deadline)) {
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
                SSH_UNTIL(ssh, deadline, result, libssh2_agent_userauth(agent, ssh->user, key));
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
    if (ssh->remote.identity != NULL) {
        return try_file(ssh, ssh->remote.identity, deadline, arena, err);
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

void ssh_disconnect(struct ssh *ssh)
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

bool ssh_connect(struct ssh *ssh, int64_t deadline, struct err *err)
{
    if (!is_dead(ssh)) {
        return true;
    }
    ssh_disconnect(ssh);
    if (connect_all(ssh, deadline, err)) {
        return true;
    }
    ssh_disconnect(ssh);
    return err_origin(err, "%s", ssh->remote.host.label);
}
