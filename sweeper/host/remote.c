/*
 * Processes on another machine: sent, drained, told from noise, and ended as a group. What moves
 * the bytes is the transport; what the script says is in remote_script.c.
 */
#include "sweeper/host/remote.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "sweeper/base/stop.h"
#include "sweeper/base/text.h"
#include "sweeper/host/capture.h"

#define PIECE_BYTES ((size_t)32 * 1024)
#define WAITING_BYTES ((size_t)256 * 1024) /* of output that nobody has read yet */
#define PIECES_AT_ONCE 16
#define TICK_NS (100 * NS_PER_MS)
#define BEGIN_NS (15 * NS_PER_S)  /* for a login shell to begin */
#define HELD_NS (100 * NS_PER_MS) /* for the rest of what may be a mark to come */
#define GRACE_NS (3 * NS_PER_S)   /* for a stream's end after the command's, and after KILL */
#define END_GROUP_MS 8000

struct host_process {
    struct arena arena; /* holds this struct */
    struct remote_host *remote;
    struct remote_link *link;
    bool is_root;   /* runs through sudo: signals go the same way */
    bool is_helper; /* ends others: not ended by another one in turn */
    struct remote_filter filters[REMOTE_STREAMS];
    struct capture captures[REMOTE_STREAMS];
    bool is_over[REMOTE_STREAMS]; /* the stream: its end, or the end mark */
    char *waiting;                /* output for `read` */
    size_t waiting_size;
    struct bytes unsent;
    bool closes_input;
    bool input_closed;
    bool until_stop;
    bool keeps_output; /* in the capture; else it waits for `read` */
    bool is_lost;
    bool timed_out;
    int64_t started_ns;
    int64_t ended_ns;
    char command[160]; /* for messages */
};

/* --- what comes in ---------------------------------------------------------------------------- */

static bool has_begun(const struct host_process *process)
{
    return process->filters[REMOTE_OUTPUT].stage >= FILTER_BODY;
}

static bool has_ended(const struct host_process *process)
{
    return process->filters[REMOTE_OUTPUT].stage == FILTER_DONE;
}

static void take_output(void *context, const char *data, size_t size)
{
    struct host_process *process = context;
    if (process->keeps_output) {
        capture_add(&process->captures[REMOTE_OUTPUT], data, size);
        return;
    }
    assert(process->waiting_size + size <= WAITING_BYTES);
    memcpy(process->waiting + process->waiting_size, data, size);
    process->waiting_size += size;
}

static void take_error(void *context, const char *data, size_t size)
{
    struct host_process *process = context;
    capture_add(&process->captures[REMOTE_ERROR], data, size);
}

static bool has_room(const struct host_process *process, enum remote_stream stream)
{
    return stream == REMOTE_ERROR || process->keeps_output ||
           process->waiting_size + PIECE_BYTES + sizeof process->filters[0].held <= WAITING_BYTES;
}

static void add_piece(struct host_process *process, enum remote_stream stream, const char *data,
                      size_t size)
{
    struct remote_filter *filter = &process->filters[stream];
    remote_filter_add(filter, data, size, stream == REMOTE_OUTPUT ? take_output : take_error,
                      process);
    if (filter->stage == FILTER_DONE) {
        process->is_over[stream] = true;
        process->ended_ns = process->ended_ns == 0 ? clock_now_ns() : process->ended_ns;
    }
}

/* Takes what is there, but lets the other stream and the deadline have their turn. */
static bool drain(struct host_process *process, enum remote_stream stream)
{
    const struct remote_transport *transport = process->remote->transport;
    char piece[PIECE_BYTES];
    bool has_moved = false;
    for (int i = 0; i < PIECES_AT_ONCE && !process->is_over[stream] && has_room(process, stream);
         i++) {
        int64_t got = transport->read(process->link, stream, piece, sizeof piece);
        if (got == REMOTE_NOTHING) {
            break;
        }
        has_moved = true;
        if (got < 0) {
            process->is_over[stream] = true;
            process->is_lost = process->is_lost || got == REMOTE_LOST;
            break;
        }
        add_piece(process, stream, piece, (size_t)got);
    }
    return has_moved;
}

/* --- what goes out ---------------------------------------------------------------------------- */

static void input_close(struct host_process *process)
{
    if (!process->input_closed) {
        process->input_closed = true;
        process->remote->transport->end_input(process->link);
    }
}

/* A command that reads no more is no error: how it ended says what happened. */
static bool send_some(struct host_process *process)
{
    bool has_moved = false;
    while (!process->input_closed && process->unsent.size > 0) {
        int64_t sent = process->remote->transport->send(process->link, process->unsent.data,
                                                        process->unsent.size);
        if (sent == REMOTE_NOTHING) {
            return has_moved;
        }
        if (sent < 0) {
            process->is_lost = process->is_lost || sent == REMOTE_LOST;
            process->input_closed = true;
            return true;
        }
        has_moved = true;
        process->unsent.data += sent;
        process->unsent.size -= (size_t)sent;
    }
    if (process->closes_input) {
        input_close(process);
    }
    return has_moved;
}

/* One turn: moves what can be moved, else waits. */
static void pump(struct host_process *process, int64_t until)
{
    bool wants_send = !process->input_closed && process->unsent.size > 0 && !has_ended(process);
    bool has_moved = wants_send && send_some(process);
    has_moved = drain(process, REMOTE_OUTPUT) || has_moved;
    has_moved = drain(process, REMOTE_ERROR) || has_moved;
    if (!has_moved && !clock_passed(until)) {
        int64_t tick = clock_now_ns() + TICK_NS;
        process->remote->transport->wait(process->link, wants_send, until < tick ? until : tick);
    }
}

static bool is_over(const struct host_process *process)
{
    return process->is_over[REMOTE_OUTPUT] && process->is_over[REMOTE_ERROR];
}

/* The output's stream ended without the mark. */
static bool is_cut_off(const struct host_process *process)
{
    return process->is_lost || (process->is_over[REMOTE_OUTPUT] && !has_ended(process));
}

/* What spoke before the mark is the login shell, or what stands in its place. That the command
 * never began is not proven: its mark may have been lost on the way. */
static bool not_begun_error(struct host_process *process, struct err *err)
{
    const char *why = process->remote->transport->why(process->link);
    char said[REMOTE_STREAMS][160];
    for (size_t i = 0; i < REMOTE_STREAMS; i++) {
        const struct remote_filter *filter = &process->filters[i];
        host_last_words(filter->noise, filter->noise_size, said[i], sizeof said[i]);
    }
    bool is_silent = said[REMOTE_OUTPUT][0] == '\0' && said[REMOTE_ERROR][0] == '\0';
    err_set(err, ERR_CODE_host, "%s was cut off before it said that it began%s%s%s%s%s%s",
            process->command, why[0] != '\0' ? ": " : "", why,
            is_silent ? "" : ": what ran there said: ", said[REMOTE_OUTPUT],
            said[REMOTE_OUTPUT][0] != '\0' && said[REMOTE_ERROR][0] != '\0' ? " " : "",
            said[REMOTE_ERROR]);
    err_origin(err, "%s", process->remote->host.label);
    return err_hint(err, "the user's login shell there, its start files and a ForceCommand must let"
                         " commands run: see what ssh with 'echo works' does");
}

static bool cut_off_error(struct host_process *process, struct err *err)
{
    const char *why = process->remote->transport->why(process->link);
    if (!has_begun(process) && !process->is_lost) {
        return not_begun_error(process, err);
    }
    err_set(err, ERR_CODE_host, "%s was cut off and nobody knows how it ended%s%.200s",
            process->command, why[0] != '\0' ? ": " : "", why);
    return err_origin(err, "%s", process->remote->host.label);
}

/* --- its end ---------------------------------------------------------------------------------- */

static bool run_helper(struct host *host, const struct host_command *command, struct arena *arena,
                       struct host_result *out, struct err *err);

/* TERM to the whole group, time to obey for each of its members, KILL; on the machine itself, so
 * that a slow line does not stretch it. */
static bool end_group(struct host_process *process, struct err *err)
{
    static const char script[] =
        "kill -s TERM -- \"$1\" 2>/dev/null; kill -s CONT -- \"$1\" 2>/dev/null; i=0\n"
        "while [ $i -lt 20 ]; do kill -s 0 -- \"$1\" 2>/dev/null || exit 0\n"
        "i=$((i + 1)); sleep 0.1; done; kill -s KILL -- \"$1\"; exit 0\n";
    char group[32];
    long number = process->filters[REMOTE_OUTPUT].begin_number;
    struct host_result result;
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    if (number <= 1) { /* 0: no /proc, or a leader outside this container; 1: everything */
        err_set(err, ERR_CODE_host, "%s did not end in time and its process group is not known",
                process->command);
        return err_origin(err, "%s", process->remote->host.label);
    }
    arena_open(&arena, (size_t)512 * 1024);
    snprintf(group, sizeof group, "-%ld", number);
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", group, NULL};
    const struct host_command command = {.argv = argv,
                                         .deadline = clock_deadline_ms(END_GROUP_MS),
                                         .output_limit_bytes = 4096,
                                         .as_is = !process->is_root};
    return run_helper(&process->remote->host, &command, &arena, &result, err);
}

static bool end_process(struct host_process *process, struct err *err)
{
    process->timed_out = true;
    int64_t begin_by = process->started_ns + BEGIN_NS;
    while (!has_begun(process) && !is_cut_off(process) && !clock_passed(begin_by)) {
        pump(process, begin_by);
    }
    if (is_cut_off(process)) {
        return cut_off_error(process, err);
    }
    if (!has_begun(process)) {
        err_set(err, ERR_CODE_host, "%s did not begin within %d s", process->command,
                (int)(BEGIN_NS / NS_PER_S));
        return err_origin(err, "%s", process->remote->host.label);
    }
    if (process->is_helper) {
        return err_set(err, ERR_CODE_timeout, "%s did not end in time", process->command);
    }
    /* a group's number may be given anew once all of it ended */
    if (!has_ended(process) && !end_group(process, err)) {
        process->is_lost = true; /* not tried again */
        return err_while(err, "ending a command that did not end in time");
    }
    int64_t deadline = clock_now_ns() + GRACE_NS;
    while (!is_over(process) && !process->is_lost && !clock_passed(deadline)) {
        pump(process, deadline);
    }
    if (process->is_over[REMOTE_OUTPUT]) {
        return true; /* by its mark, or by KILL, which takes the shell that would write it */
    }
    err_set(err, ERR_CODE_timeout, "%s did not end in time and could not be ended",
            process->command);
    return err_origin(err, "%s", process->remote->host.label);
}

/* Shells say a signal as 128 + its number (XCU 2.8.2); 64 is the last signal of Linux. */
static void put_end(const struct host_process *process, struct host_result *out)
{
    enum { SIGNAL_BASE = 128, SIGNAL_LAST = 64, SIGNAL_KILL = 9 };
    long said = process->filters[REMOTE_OUTPUT].end_number;
    out->exit_status = -1;
    out->signal_number = 0;
    if (!has_ended(process)) {
        out->signal_number = SIGNAL_KILL;
    } else if (said > SIGNAL_BASE && said <= SIGNAL_BASE + SIGNAL_LAST) {
        out->signal_number = (int)said - SIGNAL_BASE;
    } else {
        out->exit_status = (int)said;
    }
}

static bool report(struct host_process *process, struct arena *arena, struct host_result *out,
                   struct err *err)
{
    bool truncated = false;
    int64_t ended_ns = process->ended_ns != 0 ? process->ended_ns : clock_now_ns();
    *out = (struct host_result){.timed_out = process->timed_out,
                                .elapsed_ns = ended_ns - process->started_ns};
    put_end(process, out);
    if (!capture_done(&process->captures[REMOTE_OUTPUT], arena, &out->output, &out->output_size,
                      &truncated) ||
        !capture_done(&process->captures[REMOTE_ERROR], arena, &out->error_text, &out->error_size,
                      &truncated)) {
        return err_memory(err);
    }
    out->truncated = truncated;
    return true;
}

static void keep_output(struct host_process *process)
{
    process->keeps_output = true;
    capture_add(&process->captures[REMOTE_OUTPUT], process->waiting, process->waiting_size);
    process->waiting_size = 0;
}

static bool is_stopped(const struct host_process *process)
{
    return process->until_stop && stop_asked() != 0;
}

static bool complete(struct host_process *process, int64_t deadline, struct arena *arena,
                     struct host_result *out, struct err *err)
{
    keep_output(process);
    process->closes_input = true;
    if (process->unsent.size == 0) {
        input_close(process);
    }
    while (!has_ended(process) && !is_cut_off(process) && !clock_passed(deadline) &&
           !is_stopped(process)) {
        pump(process, deadline);
    }
    if (is_cut_off(process)) {
        return cut_off_error(process, err);
    }
    bool is_dropped = !has_ended(process) && is_stopped(process);
    if (!has_ended(process) && !end_process(process, err)) {
        return false;
    }
    if (is_dropped) {
        return err_set(err, ERR_CODE_stopped, "a stop was asked while a command ran");
    }
    int64_t linger = clock_now_ns() + GRACE_NS;
    while (!is_over(process) && !process->is_lost && !clock_passed(linger)) {
        pump(process, linger);
    }
    return report(process, arena, out, err);
}

/* Leaves nothing behind: a command that still runs here is one whose caller met an error. */
static void process_close(struct host_process **slot)
{
    struct host_process *process = *slot;
    struct err err;
    if (process == NULL) {
        return;
    }
    *slot = NULL;
    keep_output(process);
    if (process->link != NULL && !is_cut_off(process) && has_begun(process) &&
        !has_ended(process) && !process->is_helper) {
        err_clear(&err);
        (void)end_group(process, &err);
    }
    if (process->link != NULL) {
        process->remote->transport->close(process->link);
    }
    struct arena arena = process->arena;
    arena_close(&arena);
}

/* --- its beginning ---------------------------------------------------------------------------- */

static bool nonce_make(char nonce[REMOTE_NONCE_BYTES], struct err *err)
{
    unsigned char random[(REMOTE_NONCE_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        return err_set_errno(err, ERR_CODE_host, "no random bytes");
    }
    for (size_t i = 0; i < sizeof random; i++) {
        snprintf(nonce + 2 * i, 3, "%02x", random[i]);
    }
    return true;
}

static struct host_process *process_new(const struct host_command *command)
{
    struct arena arena;
    size_t kept =
        command->output_limit_bytes == 0 ? CAPTURE_DEFAULT_BYTES : command->output_limit_bytes;
    if (kept > CAPTURE_LIMIT_BYTES) {
        kept = CAPTURE_LIMIT_BYTES;
    }
    arena_open(&arena, 8 * kept + 4 * command->input.size + (size_t)16 * 1024 * 1024);
    struct host_process *process = ARENA_NEW(&arena, struct host_process);
    if (process == NULL) {
        return NULL;
    }
    process->arena = arena;
    process->waiting = arena_alloc(&process->arena, WAITING_BYTES);
    if (process->waiting == NULL) {
        arena = process->arena;
        arena_close(&arena);
        return NULL;
    }
    for (size_t i = 0; i < REMOTE_STREAMS; i++) {
        capture_open(&process->captures[i], &process->arena, kept);
    }
    return process;
}

static void name_command(struct host_process *process, const struct host_command *command)
{
    const char *line = host_quote(&process->arena, command->argv);
    snprintf(process->command, sizeof process->command, "%s", line != NULL ? line : "a command");
    for (char *at = process->command; *at != '\0'; at++) {
        *at = *at == '\n' ? ' ' : *at;
    }
}

/* The script and the command's own input as one, so that what is sent first stays first. */
static bool join_input(struct host_process *process, struct bytes script, struct bytes input,
                       struct err *err)
{
    char *all = arena_alloc(&process->arena, script.size + input.size + 1);
    if (all == NULL) {
        return err_memory(err);
    }
    memcpy(all, script.data, script.size);
    if (input.size > 0) {
        memcpy(all + script.size, input.data, input.size);
    }
    process->unsent = (struct bytes){.data = all, .size = script.size + input.size};
    return true;
}

static bool process_open(struct host *host, const struct host_command *command, bool has_input,
                         int64_t deadline, struct host_process **out, struct err *err)
{
    struct remote_host *remote = (struct remote_host *)host;
    char nonce[REMOTE_NONCE_BYTES];
    const char *line = NULL;
    struct bytes script = {0};
    struct host_process *process CLEANUP(process_close) = process_new(command);
    if (process == NULL) {
        return err_memory(err);
    }
    process->remote = remote;
    process->is_root = remote->sudo && !command->as_is;
    process->until_stop = command->until_stop;
    process->started_ns = clock_now_ns();
    name_command(process, command);
    if (!nonce_make(nonce, err) ||
        !remote_script(command, remote->sudo, has_input, nonce, &process->arena, &line, &script,
                       err) ||
        !join_input(process, script, command->input, err)) {
        return false;
    }
    for (size_t i = 0; i < REMOTE_STREAMS; i++) {
        remote_filter_open(&process->filters[i], nonce);
    }
    if (!remote->transport->start(remote, line, deadline, &process->link, err)) {
        return false;
    }
    *out = process;
    process = NULL;
    return true;
}

/* --- the driver's functions ------------------------------------------------------------------- */

static int64_t begin_deadline(void)
{
    return clock_now_ns() + BEGIN_NS;
}

static bool run_helper(struct host *host, const struct host_command *command, struct arena *arena,
                       struct host_result *out, struct err *err)
{
    struct host_process *process CLEANUP(process_close) = NULL;
    if (!process_open(host, command, false, begin_deadline(), &process, err)) {
        return false;
    }
    process->is_helper = true;
    return complete(process, command->deadline, arena, out, err);
}

bool remote_run(struct host *host, const struct host_command *command, struct arena *arena,
                struct host_result *out, struct err *err)
{
    struct host_process *process CLEANUP(process_close) = NULL;
    if (clock_passed(command->deadline)) { /* not begun at all */
        *out = (struct host_result){
            .exit_status = -1, .timed_out = true, .output = "", .error_text = ""};
        return true;
    }
    return process_open(host, command, command->input.size > 0, begin_deadline(), &process, err) &&
           complete(process, command->deadline, arena, out, err);
}

bool remote_spawn(struct host *host, const struct host_command *command, struct host_process **out,
                  struct err *err)
{
    if (!process_open(host, command, true, begin_deadline(), out, err)) {
        return false;
    }
    (void)send_some(*out);
    return true;
}

/* Output that ends as a mark begins ("...D") would be held back until more comes, and a process
 * that waits for an answer says no more: its reader gets it after a while. */
static void release_held(struct host_process *process)
{
    struct remote_filter *filter = &process->filters[REMOTE_OUTPUT];
    int64_t until = clock_now_ns() + HELD_NS;
    while (process->waiting_size == 0 && remote_filter_holds(filter) &&
           !process->is_over[REMOTE_OUTPUT] && !clock_passed(until)) {
        pump(process, until);
    }
    if (process->waiting_size == 0) {
        remote_filter_release(filter, take_output, process);
    }
}

/* What waits for a reader; -1 where nothing will come any more. */
static int64_t take_waiting(struct host_process *process, void *buffer, size_t size)
{
    size_t taken = process->waiting_size < size ? process->waiting_size : size;
    if (taken == 0) {
        return process->is_over[REMOTE_OUTPUT] ? -1 : 0;
    }
    memcpy(buffer, process->waiting, taken);
    process->waiting_size -= taken;
    memmove(process->waiting, process->waiting + taken, process->waiting_size);
    return (int64_t)taken;
}

bool remote_read(struct host_process *process, void *buffer, size_t size, int64_t deadline,
                 int64_t *out, struct err *err)
{
    for (bool is_last = false;; is_last = clock_passed(deadline)) {
        if (process->waiting_size == 0) {
            pump(process, is_last ? 0 : deadline);
            release_held(process);
        }
        *out = take_waiting(process, buffer, size);
        if (*out < 0 && is_cut_off(process)) {
            return cut_off_error(process, err);
        }
        if (*out != 0 || is_last) {
            return true;
        }
    }
}

static bool flush(struct host_process *process, int64_t deadline, struct err *err)
{
    while (process->unsent.size > 0) {
        if (is_cut_off(process)) {
            return cut_off_error(process, err);
        }
        if (process->input_closed || has_ended(process)) {
            return err_set(err, ERR_CODE_command_failed, "the process reads no more input");
        }
        if (clock_passed(deadline)) {
            return err_set(err, ERR_CODE_timeout, "the process did not read its input in time");
        }
        pump(process, deadline);
    }
    return true;
}

bool remote_write(struct host_process *process, struct bytes data, int64_t deadline,
                  struct err *err)
{
    if (!flush(process, deadline, err)) { /* what spawn was given comes first */
        return false;
    }
    process->unsent = data;
    bool is_sent = flush(process, deadline, err);
    process->unsent = (struct bytes){.data = NULL, .size = 0};
    return is_sent;
}

bool remote_finish(struct host_process *process, int64_t deadline, struct arena *arena,
                   struct host_result *out, struct err *err)
{
    struct host_process *owned CLEANUP(process_close) = process;
    return complete(owned, deadline, arena, out, err);
}

int remote_descriptor(struct host_process *process)
{
    return process->remote->transport->descriptor(process->link);
}
