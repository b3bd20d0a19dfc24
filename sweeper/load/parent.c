/*
 * The parent's side of a worker: starts it, follows its frames, and ends it when its time is up or
 * a stop is asked.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/stop.h"
#include "sweeper/load/parent.h"

enum { SHORT_MS = 5000, POLL_MS = 200, ARENA_BYTES = 64 << 20 };

static bool send_frame(struct load_worker *worker, enum load_frame kind, struct text *payload,
                       struct err *err)
{
    struct text frame;
    const char *data = text_done(payload);
    if (data == NULL) {
        return err_memory(err);
    }
    text_open(&frame, &worker->arena);
    wire_put_u32(&frame, (uint32_t)payload->size);
    wire_put_u8(&frame, (uint8_t)kind);
    text_add_bytes(&frame, data, payload->size);
    const char *bytes = text_done(&frame);
    if (bytes == NULL) {
        return err_memory(err);
    }
    return worker->host->driver->write(worker->process,
                                       (struct bytes){.data = bytes, .size = frame.size},
                                       clock_deadline_ms(SHORT_MS), err);
}

/* Returns false, as err_set does. */
static bool tell_end(struct load_worker *worker, struct err *err)
{
    struct host_result result = {0};
    struct err ended;
    err_clear(&ended);
    bool has_end = worker->host->driver->finish(worker->process, clock_deadline_ms(SHORT_MS),
                                                &worker->arena, &result, &ended);
    worker->process = NULL;
    if (!has_end) {
        return err_set(err, ERR_CODE_workload, "the load worker was lost: %s", ended.text);
    }
    const char *said = result.error_text != NULL ? result.error_text : "";
    const char *colon = said[0] != '\0' ? ": " : "";
    if (result.signal_number != 0) {
        err_set(err, ERR_CODE_workload, "the load worker was ended by signal %d%s%.300s",
                result.signal_number, colon, said);
        if (result.signal_number == SIGKILL) {
            err_hint(err, "the system's log says whether its memory ran out");
        }
        return err_native(err, result.signal_number, "signal");
    }
    err_set(err, ERR_CODE_workload, "the load worker ended with status %d%s%.300s",
            result.exit_status, colon, said);
    return err_native(err, result.exit_status, "exit");
}

/* One that never said hello did not run at all: no point is to blame for that. */
static bool died(struct load_worker *worker, struct err *err)
{
    tell_end(worker, err);
    return worker->is_up ? false : err_reclass(err, ERR_TARGET);
}

/* Waits for bytes or a stop request, whichever comes first. */
static void wait_for_bytes(struct load_worker *worker, int64_t deadline)
{
    int descriptor = worker->host->driver->descriptor(worker->process);
    struct pollfd events[2] = {{.fd = descriptor, .events = POLLIN},
                               {.fd = stop_descriptor(), .events = POLLIN}};
    int left = clock_left_ms(deadline);
    if (descriptor >= 0) {
        (void)poll(events, 2, left < 0 || left > POLL_MS ? POLL_MS : left);
    }
}

/* Reads what is there; false with err filled where the worker is lost. */
static bool read_more(struct load_worker *worker, struct err *err)
{
    char buffer[65536];
    int64_t got = 0;
    if (!worker->host->driver->read(worker->process, buffer, sizeof buffer, clock_deadline_ms(0),
                                    &got, err)) {
        return false;
    }
    if (got < 0) {
        return died(worker, err);
    }
    return wire_inbox_add(&worker->inbox, buffer, (size_t)got, err);
}

static bool check_hello(struct load_worker *worker, struct bytes payload, struct err *err)
{
    struct wire wire;
    wire_open(&wire, payload);
    const char *theirs = wire_string(&wire, &worker->arena);
    worker->is_up = !wire.failed && strcmp(theirs, DBSWEEP_VERSION) == 0;
    if (worker->is_up) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "the load worker on %s is version %.40s, this is %s",
            worker->host->label, theirs, DBSWEEP_VERSION);
    return err_hint(err, "install the same version there");
}

static bool check_ready(struct load_worker *worker, struct wire *wire, struct err *err)
{
    uint32_t clients = wire_u32(wire);
    worker->is_ready = !wire->failed && clients == worker->client_count;
    return worker->is_ready || err_set(err, ERR_CODE_workload, "%u of %u clients are ready",
                                       clients, worker->client_count);
}

static bool tell_second(struct load_worker *worker, const struct load_progress *progress,
                        const struct load_second *second, struct err *err)
{
    if (progress == NULL) {
        return true;
    }
    if (progress->second != NULL) {
        progress->second(progress->context, second);
    }
    return second->phase != LOAD_PHASE_WARM_UP || progress->is_warm == NULL ||
           !progress->is_warm(progress->context) || worker_say_measure(worker, err);
}

/* Handles one frame: progress goes to the caller's functions. The payload stays in the inbox for
 * FRAME_RESULT. */
static enum frame_answer answer(struct load_worker *worker, uint8_t kind, struct bytes payload,
                                const struct load_progress *progress, struct err *err)
{
    struct wire wire;
    struct load_second second;
    wire_open(&wire, payload);
    switch (kind) {
    case LOAD_FRAME_HELLO:
        return check_hello(worker, payload, err) ? FRAME_WENT_BY : FRAME_FAILED;
    case LOAD_FRAME_READY:
        return check_ready(worker, &wire, err) ? FRAME_READY : FRAME_FAILED;
    case LOAD_FRAME_SECOND:
        if (!load_second_decode(payload, &second)) {
            break;
        }
        return tell_second(worker, progress, &second, err) ? FRAME_WENT_BY : FRAME_FAILED;
    case LOAD_FRAME_MEASURING:
        return FRAME_MEASURE;
    case LOAD_FRAME_PROGRESS:
        if (progress != NULL && progress->note != NULL) {
            progress->note(progress->context, wire_string(&wire, &worker->arena));
        }
        return FRAME_WENT_BY;
    case LOAD_FRAME_RESULT:
        return FRAME_RESULT;
    case LOAD_FRAME_REJECTED:
        if (progress != NULL && progress->rejected != NULL) {
            progress->rejected(progress->context, payload);
        }
        return FRAME_WENT_BY;
    case LOAD_FRAME_ERROR:
        wire_err(&wire, err);
        return FRAME_FAILED;
    default:
        break;
    }
    err_set(err, ERR_CODE_workload, "the load worker sent a frame that is not understood");
    return FRAME_FAILED;
}

enum frame_answer worker_look(struct load_worker *worker, const struct load_progress *progress,
                              struct err *err)
{
    uint8_t kind = 0;
    struct bytes payload = {0};
    if (!wire_inbox_peek(&worker->inbox, &kind, &payload)) {
        if (!read_more(worker, err)) {
            return FRAME_FAILED;
        }
        if (!wire_inbox_peek(&worker->inbox, &kind, &payload)) {
            return FRAME_NONE;
        }
    }
    enum frame_answer got = answer(worker, kind, payload, progress, err);
    if (got != FRAME_RESULT) {
        wire_inbox_drop(&worker->inbox);
    }
    return got;
}

bool worker_may_wait(int64_t deadline, struct err *err)
{
    if (stop_asked() != 0) {
        return err_set(err, ERR_CODE_stopped, "a stop was asked while the workload ran");
    }
    return !clock_passed(deadline) ||
           err_set(err, ERR_CODE_timeout, "the load worker did not answer in time and was ended");
}

/* Until a frame with the wanted answer came, or the result, which stays in the inbox. */
static bool follow(struct load_worker *worker, int64_t deadline,
                   const struct load_progress *progress, enum frame_answer wanted, struct err *err)
{
    while (true) {
        if (!worker_may_wait(deadline, err)) {
            return false;
        }
        enum frame_answer got = worker_look(worker, progress, err);
        if (got == FRAME_NONE) {
            wait_for_bytes(worker, deadline);
        }
        if (got == FRAME_FAILED) {
            return false;
        }
        if (got == wanted || got == FRAME_RESULT) {
            return true;
        }
    }
}

/* ---- public ---- */

/* The very file that runs, also where an upgrade has replaced or removed it by now. */
static const char own_program[] = "/proc/self/exe";

static bool spawn(struct load_worker *worker, const char *program, const struct load_job *job,
                  struct err *err)
{
    struct text hello;
    struct text payload;
    const char *const argv[] = {program != NULL          ? program
                                : worker->host->is_local ? own_program
                                                         : "dbsweep",
                                "load", "--worker", NULL};
    struct host_command command = {.argv = argv, .deadline = CLOCK_NEVER, .as_is = true};
    text_open(&hello, &worker->arena);
    text_open(&payload, &worker->arena);
    wire_put_string(&hello, DBSWEEP_VERSION);
    return load_job_encode(job, &payload, err) &&
           worker->host->driver->spawn(worker->host, &command, &worker->process, err) &&
           send_frame(worker, LOAD_FRAME_HELLO, &hello, err) &&
           send_frame(worker, LOAD_FRAME_JOB, &payload, err);
}

bool load_worker_open(struct host *host, const char *program, const struct load_job *job,
                      int64_t deadline, struct load_worker **out, struct err *err)
{
    (void)deadline;
    struct arena arena;
    arena_open(&arena, ARENA_BYTES);
    struct load_worker *worker = ARENA_NEW(&arena, struct load_worker);
    if (worker == NULL) {
        arena_close(&arena);
        return err_memory(err);
    }
    worker->host = host;
    worker->arena = arena;
    worker->is_drive = job->operation == LOAD_DRIVE;
    worker->client_count = worker->is_drive ? (uint32_t)load_job_clients(job) : 0;
    *out = worker;
    if (spawn(worker, program, job, err)) {
        return true;
    }
    err_while(err, "starting the load worker");
    return err->class == ERR_POINT ? err_reclass(err, ERR_TARGET) : false;
}

bool load_worker_ready(struct load_worker *worker, int64_t deadline,
                       const struct load_progress *progress, struct err *err)
{
    return worker->is_ready || follow(worker, deadline, progress, FRAME_READY, err);
}

bool worker_say_go(struct load_worker *worker, struct err *err)
{
    struct text nothing;
    if (worker->is_go || !worker->is_drive) {
        return true;
    }
    worker->is_go = true;
    text_open(&nothing, &worker->arena);
    return send_frame(worker, LOAD_FRAME_GO, &nothing, err);
}

bool worker_say_measure(struct load_worker *worker, struct err *err)
{
    struct text nothing;
    if (worker->is_measure) {
        return true;
    }
    worker->is_measure = true;
    text_open(&nothing, &worker->arena);
    return send_frame(worker, LOAD_FRAME_MEASURE, &nothing, err);
}

bool load_worker_go(struct load_worker *worker, int64_t deadline,
                    const struct load_progress *progress, struct err *err)
{
    return worker_say_go(worker, err) && follow(worker, deadline, progress, FRAME_MEASURE, err);
}

bool worker_take_result(struct load_worker *worker, struct arena *arena, struct load_result *out,
                        struct err *err)
{
    uint8_t kind = 0;
    struct bytes payload = {0};
    if (!wire_inbox_peek(&worker->inbox, &kind, &payload)) {
        return err_set(err, ERR_CODE_bug, "a result was announced and is not there");
    }
    bool ok = out == NULL || load_result_decode(payload, arena, out, err);
    wire_inbox_drop(&worker->inbox);
    return ok;
}

bool load_worker_finish(struct load_worker *worker, int64_t deadline,
                        const struct load_progress *progress, struct arena *arena,
                        struct load_result *out, struct err *err)
{
    return worker_say_go(worker, err) && follow(worker, deadline, progress, FRAME_RESULT, err) &&
           worker_take_result(worker, arena, out, err);
}

void load_worker_close(struct load_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    struct arena arena = worker->arena;
    if (worker->process != NULL) {
        struct host_result result = {0};
        struct err err;
        err_clear(&err);
        /* Its input ends, and so does a worker, at once where it runs no command; one that does not
         * is killed with its group. */
        (void)worker->host->driver->finish(worker->process, clock_deadline_ms(SHORT_MS), &arena,
                                           &result, &err);
    }
    wire_inbox_close(&worker->inbox);
    arena_close(&arena);
}

bool load_run(struct host *host, const char *program, const struct load_job *job, int64_t deadline,
              const struct load_progress *progress, struct arena *arena, struct load_result *out,
              struct err *err)
{
    struct load_worker *worker = NULL;
    bool ok = load_worker_open(host, program, job, deadline, &worker, err) &&
              load_worker_ready(worker, deadline, progress, err) &&
              load_worker_finish(worker, deadline, progress, arena, out, err);
    load_worker_close(worker);
    return ok;
}
