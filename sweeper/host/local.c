/*
 * This machine: its processes. Each runs in its own process group, with nothing of ours but its
 * three streams, so that a deadline can end it whole and a Ctrl-C meant for the sweep does not
 * reach it. The end of the first process ends a command: a daemon that inherited a pipe does not
 * keep us waiting. A stop request ends a command only where its caller asks for that.
 * A process begins in local_spawn.c; files stand in local_file.c, facts in local_facts.c.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "sweeper/base/stop.h"
#include "sweeper/host/local_process.h"
#include "sweeper/host/shell_file.h"

#define LINGER_NS (200 * NS_PER_MS) /* for the end of streams after the end of the process */
#define GRACE_NS (2 * NS_PER_S)     /* between TERM and KILL, and after KILL */
#define PIECE_BYTES ((size_t)64 * 1024)
#define PIECES_AT_ONCE 16 /* of one stream before the others and the deadline get their turn */
#define ASK_MS 10         /* how often the end is asked for where it cannot be polled */

/* --- moving bytes ----------------------------------------------------------------------------- */

/* > 0 bytes, 0 nothing now, -1 the end (also of a stream that a file took). */
static int64_t stream_read(struct stream *stream, void *buffer, size_t size)
{
    if (stream->pipe < 0)
        return -1;
    ssize_t got = read(stream->pipe, buffer, size);
    if (got > 0)
        return got;
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    local_descriptor_close(&stream->pipe);
    return -1;
}

static void stream_drain(struct stream *stream)
{
    char buffer[PIECE_BYTES];
    for (int i = 0; i < PIECES_AT_ONCE; i++) {
        int64_t got = stream_read(stream, buffer, sizeof buffer);
        if (got <= 0)
            return;
        capture_add(&stream->capture, buffer, (size_t)got);
    }
}

/* A process that reads no more is not an error: its exit status says what happened. */
static void process_send(struct host_process *process)
{
    while (process->input >= 0 && process->unsent.size > 0) {
        ssize_t sent = write(process->input, process->unsent.data, process->unsent.size);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        if (sent < 0) {
            local_descriptor_close(&process->input);
            return;
        }
        process->unsent.data += sent;
        process->unsent.size -= (size_t)sent;
    }
    if (process->closes_input)
        local_descriptor_close(&process->input);
}

/* Notices the end and leaves it to be waited for, so that the group's number stays ours. */
static void process_look(struct host_process *process)
{
    siginfo_t info = {.si_pid = 0};
    if (process->has_ended ||
        waitid(P_PID, (id_t)process->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid == 0)
        return;
    process->has_ended = true;
    process->ended_ns = clock_now_ns();
}

static bool process_is_over(const struct host_process *process)
{
    return process->has_ended && process->streams[STREAM_OUTPUT].pipe < 0 &&
           process->streams[STREAM_ERROR].pipe < 0;
}

/* Waits until something can move or the deadline passes, and moves it. */
static bool process_pump(struct host_process *process, bool wants_output, int64_t deadline,
                         struct err *err)
{
    struct pollfd polls[] = {
        {.fd = process->unsent.size > 0 ? process->input : -1, .events = POLLOUT},
        {.fd = wants_output ? process->streams[STREAM_OUTPUT].pipe : -1, .events = POLLIN},
        {.fd = process->streams[STREAM_ERROR].pipe, .events = POLLIN},
        {.fd = process->has_ended ? -1 : process->end, .events = POLLIN},
        {.fd = process->until_stop && !process->timed_out && !process->has_ended ? stop_descriptor()
                                                                                 : -1,
         .events = POLLIN},
    };
    int wait_ms = clock_left_ms(deadline);
    if (!process->has_ended && process->end < 0 && (wait_ms < 0 || wait_ms > ASK_MS))
        wait_ms = ASK_MS;
    if (poll(polls, COUNT_OF(polls), wait_ms) < 0 && errno != EINTR)
        return err_set_errno(err, ERR_CODE_host, "cannot wait for a process");
    process_look(process); /* first: what it said before its end is then surely in the pipes */
    process_send(process);
    stream_drain(&process->streams[STREAM_ERROR]);
    if (process->keeps_output)
        stream_drain(&process->streams[STREAM_OUTPUT]);
    return true;
}

/* --- ending ----------------------------------------------------------------------------------- */

/* Whether the group has a living member beside its leader. */
static bool group_has_others(pid_t group)
{
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return true;
    bool found = false;
    for (struct dirent *entry = readdir(processes); entry != NULL && !found;
         entry = readdir(processes)) {
        char *rest = NULL;
        long pid = strtol(entry->d_name, &rest, 10);
        found = pid > 0 && *rest == '\0' && pid != group && getpgid((pid_t)pid) == group;
    }
    closedir(processes);
    return found;
}

static bool local_run(struct host *host, const struct host_command *command, struct arena *arena,
                      struct host_result *out, struct err *err);

static bool group_signal_as_root(pid_t group, const char *name)
{
    char target[32];
    snprintf(target, sizeof target, "-%ld", (long)group);
    const char *const argv[] = {
        "sudo",    "-n", "--",   "/bin/sh", "-c", "kill -s \"$1\" -- \"$2\"",
        "dbsweep", name, target, NULL};
    const struct host_command command = {.argv = argv,
                                         .deadline = clock_deadline_ms(2000),
                                         .output_limit_bytes = 4096,
                                         .as_is = true};
    struct local_host plain = {.sudo = false};
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    arena_open(&arena, (size_t)64 * 1024);
    struct host_result result;
    struct err err;
    return local_run(&plain.host, &command, &arena, &result, &err) && result.exit_status == 0;
}

/* Of a group started through sudo this user may signal some members and not others, and kill(2)
 * calls that a success. Whether a signal helped shows in whether the group ends. A sudo that gives
 * its command a terminal (use_pty) puts it into another group, and hands the signals on itself. */
static void group_signal(const struct host_process *process, int signal_number, const char *name)
{
    if (!process->is_root || !group_signal_as_root(process->pid, name))
        kill(-process->pid, signal_number);
}

/* After its end: what is still in its pipes, and their end if it comes soon. */
static bool process_linger(struct host_process *process, struct err *err)
{
    int64_t deadline = clock_now_ns() + LINGER_NS;
    while (!process_is_over(process) && !clock_passed(deadline)) {
        if (!process_pump(process, true, deadline, err))
            return false;
    }
    return true;
}

/* TERM to the whole group, time to obey for each of its members, KILL. */
static bool process_end(struct host_process *process, struct err *err)
{
    process->timed_out = true;
    group_signal(process, SIGTERM, "TERM");
    group_signal(process, SIGCONT, "CONT"); /* a stopped one would not see it */
    int64_t deadline = clock_now_ns() + GRACE_NS;
    while (!clock_passed(deadline) && !(process->has_ended && !group_has_others(process->pid))) {
        int64_t soon = clock_deadline_ms(ASK_MS);
        if (!process_pump(process, true, soon < deadline ? soon : deadline, err))
            return false;
    }
    if (!process->has_ended || group_has_others(process->pid))
        group_signal(process, SIGKILL, "KILL");
    deadline = clock_now_ns() + GRACE_NS;
    while (!process->has_ended && !clock_passed(deadline)) {
        if (!process_pump(process, true, deadline, err))
            return false;
    }
    if (!process->has_ended)
        return err_set(err, ERR_CODE_timeout,
                       "process %ld did not end in time and could not be ended",
                       (long)process->pid);
    return process_linger(process, err);
}

static void process_reap(struct host_process *process)
{
    while (!process->is_reaped && process->has_ended) {
        pid_t got = waitpid(process->pid, &process->status, WNOHANG);
        process->is_reaped = got == process->pid || (got < 0 && errno != EINTR);
    }
}

/* What a file took, up to its size now: a daemon may go on writing. */
static bool stream_load(struct stream *stream, struct err *err)
{
    struct stat facts;
    if (stream->file < 0)
        return true;
    if (fstat(stream->file, &facts) != 0)
        return err_set_errno(err, ERR_CODE_host, "cannot read what a command said");
    char buffer[PIECE_BYTES];
    for (off_t at = 0; at < facts.st_size;) {
        ssize_t got = pread(stream->file, buffer, sizeof buffer, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_errno(err, ERR_CODE_host, "cannot read what a command said");
        if (got == 0)
            break;
        capture_add(&stream->capture, buffer, (size_t)got);
        at += got;
    }
    return true;
}

static bool process_report(struct host_process *process, struct arena *arena,
                           struct host_result *out, struct err *err)
{
    struct stream *output = &process->streams[STREAM_OUTPUT];
    struct stream *error = &process->streams[STREAM_ERROR];
    bool truncated = false;
    *out = (struct host_result){
        .exit_status = WIFEXITED(process->status) ? WEXITSTATUS(process->status) : -1,
        .signal_number = WIFSIGNALED(process->status) ? WTERMSIG(process->status) : 0,
        .timed_out = process->timed_out,
        .elapsed_ns = process->ended_ns - process->started_ns,
    };
    if (!stream_load(output, err) || !stream_load(error, err))
        return false;
    if (!capture_done(&output->capture, arena, &out->output, &out->output_size, &truncated) ||
        !capture_done(&error->capture, arena, &out->error_text, &out->error_size, &truncated))
        return err_memory(err);
    out->truncated = truncated;
    return true;
}

static bool is_stopped(const struct host_process *process)
{
    return process->until_stop && stop_asked() != 0;
}

static bool process_complete(struct host_process *process, int64_t deadline, struct arena *arena,
                             struct host_result *out, struct err *err)
{
    process->closes_input = true;
    process->keeps_output = true;
    process_send(process);
    process_look(process);
    while (!process->has_ended && !clock_passed(deadline) && !is_stopped(process)) {
        if (!process_pump(process, true, deadline, err))
            return false;
    }
    bool is_dropped = !process->has_ended && is_stopped(process);
    if (!(process->has_ended ? process_linger(process, err) : process_end(process, err)))
        return false;
    process_reap(process);
    if (is_dropped)
        return err_set(err, ERR_CODE_stopped, "a stop was asked while a command ran");
    return process_report(process, arena, out, err);
}

/* Leaves nothing behind: a process that still runs here is one whose caller met an error. */
static void process_close(struct host_process **slot)
{
    struct host_process *process = *slot;
    if (process == NULL)
        return;
    *slot = NULL;
    if (process->pid > 0 && !process->is_reaped) {
        struct err err;
        process->keeps_output = true;
        group_signal(process, SIGKILL, "KILL");
        int64_t deadline = clock_now_ns() + GRACE_NS;
        while (!process->has_ended && !clock_passed(deadline)) {
            if (!process_pump(process, true, deadline, &err))
                break;
        }
        process_reap(process);
    }
    local_descriptor_close(&process->end);
    local_descriptor_close(&process->events);
    local_descriptor_close(&process->input);
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        local_descriptor_close(&process->streams[i].pipe);
        local_descriptor_close(&process->streams[i].file);
    }
    struct arena arena = process->arena;
    arena_close(&arena);
}

/* --- the driver's functions ------------------------------------------------------------------- */

static struct host_process *process_new(const struct host_command *command)
{
    size_t kept =
        command->output_limit_bytes == 0 ? CAPTURE_DEFAULT_BYTES : command->output_limit_bytes;
    if (kept > CAPTURE_LIMIT_BYTES)
        kept = CAPTURE_LIMIT_BYTES;
    struct arena arena;
    arena_open(&arena, 8 * kept + 2 * command->input.size + (size_t)8 * 1024 * 1024);
    struct host_process *process = ARENA_NEW(&arena, struct host_process);
    if (process == NULL)
        return NULL;
    process->arena = arena;
    process->end = process->events = process->input = -1;
    for (size_t i = 0; i < STREAM_COUNT; i++)
        process->streams[i] = (struct stream){.pipe = -1, .file = -1};
    return process;
}

static bool process_open(struct host *host, const struct host_command *command, bool has_input,
                         struct host_process **out, struct err *err)
{
    const struct local_host *local = (const struct local_host *)host;
    struct host_process *process CLEANUP(process_close) = process_new(command);
    if (process == NULL)
        return err_memory(err);
    process->is_root = local->sudo && !command->as_is;
    if (!process_begin(process, command, has_input, err))
        return false;
    *out = process;
    process = NULL;
    return true;
}

static bool local_run(struct host *host, const struct host_command *command, struct arena *arena,
                      struct host_result *out, struct err *err)
{
    struct host_process *process CLEANUP(process_close) = NULL;
    if (clock_passed(
            command->deadline)) { /* not begun at all: it might be done before it is ended */
        *out = (struct host_result){
            .exit_status = -1, .timed_out = true, .output = "", .error_text = ""};
        return true;
    }
    if (!process_open(host, command, command->input.size > 0, &process, err))
        return false;
    process->unsent = command->input;
    process->until_stop = command->until_stop;
    return process_complete(process, command->deadline, arena, out, err);
}

static bool local_spawn(struct host *host, const struct host_command *command,
                        struct host_process **out, struct err *err)
{
    struct host_process *process CLEANUP(process_close) = NULL;
    if (!process_open(host, command, true, &process, err))
        return false;
    size_t size = command->input.size;
    if (size > 0) { /* the caller's bytes need not outlive this call */
        char *copy = arena_alloc(&process->arena, size);
        if (copy == NULL)
            return err_memory(err);
        memcpy(copy, command->input.data, size);
        process->unsent = (struct bytes){.data = copy, .size = size};
        process_send(process);
    }
    *out = process;
    process = NULL;
    return true;
}

static bool local_read(struct host_process *process, void *buffer, size_t size, int64_t deadline,
                       int64_t *out, struct err *err)
{
    for (bool is_last = false;;) {
        *out = stream_read(&process->streams[STREAM_OUTPUT], buffer, size);
        if (*out != 0 || is_last)
            return true;
        int64_t until = deadline;
        if (process->has_ended) { /* and a daemon may hold the pipe for ever */
            int64_t end = process->ended_ns + LINGER_NS;
            if (clock_passed(end)) {
                *out = -1;
                return true;
            }
            until = end < deadline ? end : deadline;
        }
        is_last = clock_passed(deadline);
        if (!process_pump(process, true, until, err))
            return false;
    }
}

static bool process_flush(struct host_process *process, int64_t deadline, struct err *err)
{
    process_send(process);
    while (process->unsent.size > 0) {
        if (process->input < 0 || process->has_ended)
            return err_set(err, ERR_CODE_command_failed, "the process reads no more input");
        if (clock_passed(deadline))
            return err_set(err, ERR_CODE_timeout, "the process did not read its input in time");
        if (!process_pump(process, false, deadline, err))
            return false;
    }
    return true;
}

static bool local_write(struct host_process *process, struct bytes data, int64_t deadline,
                        struct err *err)
{
    if (!process_flush(process, deadline, err)) /* what spawn was given comes first */
        return false;
    process->unsent = data;
    bool is_sent = process_flush(process, deadline, err);
    process->unsent = (struct bytes){.data = NULL, .size = 0};
    return is_sent;
}

static bool local_finish(struct host_process *process, int64_t deadline, struct arena *arena,
                         struct host_result *out, struct err *err)
{
    struct host_process *owned CLEANUP(process_close) = process;
    return process_complete(owned, deadline, arena, out, err);
}

/* One descriptor for all that `read` must wake for: the error text too, or its pipe would fill and
 * stall a process whose output the caller waits for. */
static int local_descriptor(struct host_process *process)
{
    if (process->events >= 0)
        return process->events;
    const int watched[] = {process->streams[STREAM_OUTPUT].pipe,
                           process->streams[STREAM_ERROR].pipe, process->end};
    process->events = epoll_create1(EPOLL_CLOEXEC);
    for (size_t i = 0; i < COUNT_OF(watched) && process->events >= 0; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        if (watched[i] >= 0 && epoll_ctl(process->events, EPOLL_CTL_ADD, watched[i], &event) != 0)
            local_descriptor_close(&process->events);
    }
    return process->events;
}

static bool driver_get(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                       struct bytes *out, struct host_file *out_file, struct err *err)
{
    if (((const struct local_host *)host)->sudo)
        return shell_file_get(host, path, deadline, arena, out, out_file, err);
    return local_get(path, deadline, arena, out, out_file, err);
}

static bool driver_put(struct host *host, const char *path, struct bytes content,
                       const struct host_file *as, bool create, int64_t deadline, struct err *err)
{
    if (((const struct local_host *)host)->sudo)
        return shell_file_put(host, path, content, as, create, deadline, err);
    return local_put(path, content, as, create, deadline, err);
}

static bool driver_claim(struct host *host, const char *path, struct bytes content,
                         int64_t deadline, bool *out_created, struct err *err)
{
    if (((const struct local_host *)host)->sudo)
        return shell_file_claim(host, path, content, deadline, out_created, err);
    return local_claim(path, content, deadline, out_created, err);
}

static bool driver_remove(struct host *host, const char *path, int64_t deadline, struct err *err)
{
    if (((const struct local_host *)host)->sudo)
        return shell_file_remove(host, path, deadline, err);
    return local_remove(path, err);
}

static bool driver_facts(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                         struct host_facts *out, struct err *err)
{
    (void)host;
    (void)deadline; /* nothing here waits */
    return local_facts(path, arena, out, err);
}

static bool local_open(const struct host_spec *spec, int64_t deadline, struct host **out,
                       struct err *err)
{
    (void)deadline;
    struct arena arena;
    arena_open(&arena, (size_t)64 * 1024);
    struct local_host *local = ARENA_NEW(&arena, struct local_host);
    if (local == NULL)
        return err_memory(err);
    local->host = (struct host){.driver = &host_local, .label = "local", .is_local = true};
    local->arena = arena;
    /* a process that reads no more is an answer, also where nobody called stop_install */
    struct sigaction pipe_action;
    if (sigaction(SIGPIPE, NULL, &pipe_action) == 0 && pipe_action.sa_handler == SIG_DFL)
        signal(SIGPIPE, SIG_IGN);
    local->sudo = spec != NULL && spec->sudo && geteuid() != 0;
    *out = &local->host;
    return true;
}

static void local_close(struct host *host)
{
    struct arena arena = ((struct local_host *)host)->arena;
    arena_close(&arena);
}

const struct host_driver host_local = {
    .name = "local",
    .open = local_open,
    .close = local_close,
    .spawn = local_spawn,
    .read = local_read,
    .write = local_write,
    .finish = local_finish,
    .descriptor = local_descriptor,
    .run = local_run,
    .get = driver_get,
    .put = driver_put,
    .claim = driver_claim,
    .remove = driver_remove,
    .facts = driver_facts,
};
