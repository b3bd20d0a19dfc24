/*
 * A host over SSH with libssh2: one connection, one channel a command. The host's key is judged
 * before anything of ours is offered. Nothing here blocks but for its caller's deadline. A call
 * that libssh2 could not finish writing is finished before another begins, as it demands.
 *
 * Keys of type RSA do not work with libssh2 1.10 and today's servers, and it has no ssh_config,
 * jump hosts or FIDO keys: the transport "openssh" has. A connection that was found dead is opened
 * anew by the next command; a command that was under way is lost.
 */
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sweeper/base/text.h"
#include "sweeper/host/local.h"
#include "sweeper/host/shell_file.h"
#include "sweeper/host/ssh.h"

enum { STUCK_MS = 30000, CLOSE_MS = 500, PLACE_MS = 1000 };

struct remote_link {
    struct arena arena; /* holds this struct */
    struct ssh *ssh;
    LIBSSH2_CHANNEL *channel;
    unsigned generation;
};

/* --- a command's channel ---------------------------------------------------------------------- */

static bool is_unsent(const struct ssh *ssh)
{
    return (libssh2_session_block_directions(ssh->session) & LIBSSH2_SESSION_BLOCK_OUTBOUND) != 0;
}

static bool is_gone(const struct remote_link *link)
{
    return link->channel == NULL || link->generation != link->ssh->generation ||
           link->ssh->why[0] != '\0';
}

static int open_channel(struct remote_link *link, int64_t deadline)
{
    struct ssh *ssh = link->ssh;
    int result = 0;
    do {
        link->channel = libssh2_channel_open_session(ssh->session);
        result = link->channel != NULL ? 0 : libssh2_session_last_errno(ssh->session);
        if (result == LIBSSH2_ERROR_EAGAIN) {
            ssh_wait(ssh, false, deadline);
        }
    } while (result == LIBSSH2_ERROR_EAGAIN && !clock_passed(deadline));
    return result;
}

/* sshd counts a session until its shell is reaped, which is after the end mark: where MaxSessions
 * is reached, the place of the command before may become free in a moment. */
static int open_channel_soon(struct remote_link *link, int64_t deadline)
{
    static const struct timespec pause = {.tv_nsec = 20 * NS_PER_MS};
    int64_t until = clock_deadline_ms(PLACE_MS);
    int result = open_channel(link, deadline);
    while (result == LIBSSH2_ERROR_CHANNEL_FAILURE && !clock_passed(until) &&
           !clock_passed(deadline)) {
        (void)nanosleep(&pause, NULL);
        result = open_channel(link, deadline);
    }
    return result;
}

static bool is_lost(int result)
{
    return result == LIBSSH2_ERROR_SOCKET_RECV || result == LIBSSH2_ERROR_SOCKET_SEND ||
           result == LIBSSH2_ERROR_SOCKET_DISCONNECT;
}

static bool run_line(struct remote_link *link, const char *line, bool is_used, int64_t deadline,
                     struct err *err)
{
    struct ssh *ssh = link->ssh;
    int result = open_channel_soon(link, deadline);
    if (is_used && is_lost(result)) { /* dropped while idle; nothing of the command was sent */
        ssh_keep_why(ssh);
        if (!ssh_connect(ssh, deadline, err)) {
            return false;
        }
        link->generation = ssh->generation;
        result = open_channel_soon(link, deadline);
    }
    if (result != 0) {
        return ssh_step_failed(ssh, result, "opening a channel", err);
    }
    SSH_UNTIL(
        ssh, deadline, result,
        libssh2_channel_process_startup(link->channel, "exec", 4, line, (unsigned)strlen(line)));
    return result == 0 || ssh_step_failed(ssh, result, "running a command", err);
}

/* Waits but briefly for the server's answer, but for what is half sent as long as any call does. */
static void free_channel(struct remote_link *link)
{
    struct ssh *ssh = link->ssh;
    int64_t answer_by = clock_deadline_ms(CLOSE_MS);
    int64_t sent_by = clock_deadline_ms(STUCK_MS);
    while (libssh2_channel_free(link->channel) == LIBSSH2_ERROR_EAGAIN) {
        int64_t until = is_unsent(ssh) ? sent_by : answer_by;
        if (clock_passed(until)) {
            break;
        }
        ssh_wait(ssh, false, until);
    }
    if (is_unsent(ssh)) {
        snprintf(ssh->why, sizeof ssh->why, "a channel could not be closed");
    }
}

static void link_close(struct remote_link *link)
{
    if (!is_gone(link)) {
        free_channel(link);
    }
    struct arena arena = link->arena;
    arena_close(&arena);
}

static bool link_start(struct remote_host *remote, const char *line, int64_t deadline,
                       struct remote_link **out, struct err *err)
{
    struct ssh *ssh = (struct ssh *)remote;
    struct arena arena;
    unsigned before = ssh->generation;
    if (!ssh_connect(ssh, deadline, err)) {
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
    if (!run_line(link, line, ssh->generation == before, deadline, err)) {
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
    ssh_wait(ssh, false, deadline);
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
        ssh_keep_why(ssh);
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
        ssh_keep_why(ssh);
    }
    return REMOTE_LOST;
}

static void link_end_input(struct remote_link *link)
{
    int64_t deadline = clock_deadline_ms(STUCK_MS);
    int result = 0;
    if (!is_gone(link)) {
        SSH_UNTIL(link->ssh, deadline, result, libssh2_channel_send_eof(link->channel));
    }
}

static void link_wait(struct remote_link *link, bool wants_send, int64_t until)
{
    if (!is_gone(link)) {
        ssh_wait(link->ssh, wants_send, until);
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
    ssh_disconnect(ssh);
    struct arena arena = ssh->remote.arena;
    arena_close(&arena);
}

static bool put_spec(struct ssh *ssh, const struct host_spec *spec, struct err *err)
{
    struct arena *arena = &ssh->remote.arena;
    if (!remote_take_spec(&ssh->remote, spec, err)) {
        return false;
    }
    struct remote_address *address = &ssh->remote.address;
    const struct passwd *me = address->user == NULL ? getpwuid(geteuid()) : NULL;
    ssh->user = address->user != NULL ? address->user
                : me != NULL          ? arena_strdup(arena, me->pw_name)
                                      : "";
    address->port = address->port != 0 ? address->port : SSH_PORT;
    ssh->remote.host.label = ssh->user == NULL ? NULL
                                               : arena_printf(arena, "%s@%s:%d", ssh->user,
                                                              address->name, address->port);
    return ssh->remote.host.label != NULL || err_memory(err);
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
    if (put_spec(ssh, spec, err) && ssh_connect(ssh, deadline, err) &&
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
