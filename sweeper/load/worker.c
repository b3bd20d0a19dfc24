/*
 * The worker: a process of its own that connects, waits for go, drives, and answers in frames. It
 * ends when its parent's pipe closes, whatever it is doing, so that a killed parent leaves no load
 * behind; a command that it runs is ended first.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/stop.h"
#include "sweeper/load/driver.h"
#include "sweeper/load/mark.h"

enum {
    CONNECT_TIMEOUT_MS = 50000, /* the parent waits a little longer */
    SEND_TIMEOUT_MS = 60000,
    END_MS = 4000, /* for a command to end, before its parent kills us */
    STATUS_FAILED = 1,
    STATUS_ORPHANED = 3
};
#define ARENA_BYTES ((size_t)4 << 30) /* a bound, not a use: 10 KB a histogram */

struct worker {
    int input;
    int output;
    struct wire_inbox inbox;
    struct arena arena;
    struct load_job job;
    struct err err;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_go;
    atomic_bool is_warm; /* the warm-up may end */
    bool drives_itself;  /* hears of the end through the stop flag, and has END_MS for it */
};

static bool send_frame(struct worker *worker, enum load_frame kind, struct text *payload)
{
    const char *data = text_done(payload);
    if (data == NULL) {
        return err_memory(&worker->err);
    }
    return wire_send(worker->output, (uint8_t)kind,
                     (struct bytes){.data = data, .size = payload->size},
                     clock_deadline_ms(SEND_TIMEOUT_MS), &worker->err);
}

/* ---- what comes in ---- */

/* Blocks until one more frame is whole. False: the parent is gone, or spoke nonsense. */
static bool next_frame(struct worker *worker, uint8_t *out_kind, struct bytes *out_payload)
{
    char buffer[65536];
    while (!wire_inbox_peek(&worker->inbox, out_kind, out_payload)) {
        ssize_t got = read(worker->input, buffer, sizeof buffer);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
            struct pollfd wait = {.fd = worker->input, .events = POLLIN};
            (void)poll(&wait, 1, -1);
            continue;
        }
        if (got <= 0) {
            return err_set(&worker->err, ERR_CODE_connection, "the parent is gone");
        }
        if (!wire_inbox_add(&worker->inbox, buffer, (size_t)got, &worker->err)) {
            return false;
        }
    }
    return true;
}

static bool read_hello(struct worker *worker)
{
    uint8_t kind = 0;
    struct bytes payload = {0};
    struct wire wire;
    struct text mine;
    text_open(&mine, &worker->arena);
    wire_put_string(&mine, DBSWEEP_VERSION);
    if (!send_frame(worker, LOAD_FRAME_HELLO, &mine) || !next_frame(worker, &kind, &payload)) {
        return false;
    }
    wire_open(&wire, payload);
    const char *theirs = wire_string(&wire, &worker->arena);
    if (kind != LOAD_FRAME_HELLO || wire.failed || strcmp(theirs, DBSWEEP_VERSION) != 0) {
        return err_set(&worker->err, ERR_CODE_unsupported,
                       "the worker is version %s, its parent is %.40s", DBSWEEP_VERSION, theirs);
    }
    wire_inbox_drop(&worker->inbox);
    return true;
}

static bool read_job(struct worker *worker)
{
    uint8_t kind = 0;
    struct bytes payload = {0};
    if (!next_frame(worker, &kind, &payload)) {
        return false;
    }
    bool ok = kind == LOAD_FRAME_JOB
                  ? load_job_decode(payload, &worker->arena, &worker->job, &worker->err)
                  : err_set(&worker->err, ERR_CODE_bug, "a job was expected");
    wire_inbox_drop(&worker->inbox);
    return ok;
}

static void end_orphaned(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    bool drives_itself = worker->drives_itself;
    worker->is_go = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    if (drives_itself) {
        stop_ask(SIGTERM);
        clock_pause_until(clock_deadline_ms(END_MS));
    }
    _exit(STATUS_ORPHANED);
}

/* From the job on, a thread watches the parent: go opens the gate, an end ends everything. */
static void *watch_parent(void *data)
{
    struct worker *worker = data;
    struct worker seen = {.input = worker->input, .inbox = worker->inbox};
    uint8_t kind = 0;
    struct bytes payload = {0};
    while (next_frame(&seen, &kind, &payload)) {
        if (kind == LOAD_FRAME_GO) {
            pthread_mutex_lock(&worker->mutex);
            worker->is_go = true;
            pthread_cond_broadcast(&worker->changed);
            pthread_mutex_unlock(&worker->mutex);
        } else if (kind == LOAD_FRAME_MEASURE) {
            atomic_store(&worker->is_warm, true);
        }
        wire_inbox_drop(&seen.inbox);
    }
    end_orphaned(worker);
    return NULL;
}

static void wait_for_go(struct worker *worker)
{
    pthread_mutex_lock(&worker->mutex);
    while (!worker->is_go) {
        pthread_cond_wait(&worker->changed, &worker->mutex);
    }
    pthread_mutex_unlock(&worker->mutex);
}

/* ---- what goes out ---- */

static void send_second(void *context, const struct load_second *second)
{
    struct worker *worker = context;
    struct text payload;
    struct arena scratch;
    arena_open(&scratch, 1u << 16);
    text_open(&payload, &scratch);
    load_second_encode(second, &payload);
    (void)send_frame(worker, LOAD_FRAME_SECOND, &payload); /* a lost parent is noticed by reading */
    arena_close(&scratch);
}

static bool is_warm(void *context)
{
    struct worker *worker = context;
    return atomic_load(&worker->is_warm);
}

static void send_measuring(void *context)
{
    struct worker *worker = context;
    struct text nothing;
    text_open(&nothing, &worker->arena);
    (void)send_frame(worker, LOAD_FRAME_MEASURING, &nothing);
}

static void send_note(void *context, const char *text)
{
    struct worker *worker = context;
    struct text payload;
    struct arena scratch;
    arena_open(&scratch, 1u << 16);
    text_open(&payload, &scratch);
    wire_put_string(&payload, text);
    (void)send_frame(worker, LOAD_FRAME_PROGRESS, &payload);
    arena_close(&scratch);
}

static bool send_ready(struct worker *worker, uint32_t clients)
{
    struct text payload;
    text_open(&payload, &worker->arena);
    wire_put_u32(&payload, clients);
    return send_frame(worker, LOAD_FRAME_READY, &payload);
}

static bool send_result(struct worker *worker, const struct load_result *result)
{
    struct text payload;
    text_open(&payload, &worker->arena);
    return load_result_encode(result, &payload, &worker->err) &&
           send_frame(worker, LOAD_FRAME_RESULT, &payload);
}

/* What is not believed is told all the same: errors are counted in it, too. */
static void send_rejected(struct worker *worker, const struct load_result *result)
{
    struct text payload;
    struct err why = worker->err;
    text_open(&payload, &worker->arena);
    (void)(load_result_encode(result, &payload, &worker->err) &&
           send_frame(worker, LOAD_FRAME_REJECTED, &payload));
    worker->err = why;
}

/* ---- operations ---- */

static bool find_parts(struct worker *worker, const struct workload **workload,
                       const struct session_driver **sessions)
{
    const struct backend *backend =
        worker->job.backend[0] != '\0' ? backend_find(worker->job.backend) : NULL;
    *workload = workload_find(worker->job.workload.kind);
    *sessions = backend != NULL ? backend_session(backend, worker->job.session_name) : NULL;
    if (*workload == NULL) {
        return err_set(&worker->err, ERR_CODE_unsupported, "there is no workload \"%s\"",
                       worker->job.workload.kind);
    }
    if ((*workload)->drive == NULL && *sessions == NULL) {
        err_set(&worker->err, ERR_CODE_unsupported, "workload %s needs a database session",
                (*workload)->kind);
        return err_hint(&worker->err, "name a backend that has one: --backend postgresql");
    }
    return true;
}

static bool drive_clients(struct worker *worker, const struct workload *workload, const void *plan,
                          const struct session_driver *sessions)
{
    const struct driver_watch watch = {
        .context = worker, .is_warm = is_warm, .measuring = send_measuring, .second = send_second};
    struct load_result result = {0};
    /* Not on this stack: a thread that hangs outlives this call. */
    struct driver *driver = ARENA_NEW(&worker->arena, struct driver);
    if (driver == NULL) {
        return err_memory(&worker->err);
    }
    bool ok = driver_open(driver, &worker->job, workload, plan, sessions,
                          clock_deadline_ms(CONNECT_TIMEOUT_MS), &worker->arena, &worker->err);
    if (ok && worker->job.ceiling_per_s <= 0) {
        worker->job.ceiling_per_s = driver_calibrate(driver);
    }
    ok = ok && send_ready(worker, (uint32_t)load_job_clients(&worker->job));
    if (ok) {
        wait_for_go(worker);
        ok = driver_run(driver, &watch, &result, &worker->err) &&
             driver_confirm(driver, &worker->err) && send_result(worker, &result);
        if (!ok && result.transaction_count > 0) {
            send_rejected(worker, &result);
        }
    }
    driver_close(driver);
    return ok;
}

static bool drive_itself(struct worker *worker, const struct workload *workload)
{
    struct load_result result = {0};
    stop_install(); /* its group is asked to end before it is killed: so is the command then */
    pthread_mutex_lock(&worker->mutex);
    worker->drives_itself = true;
    pthread_mutex_unlock(&worker->mutex);
    if (!send_ready(worker, (uint32_t)load_job_clients(&worker->job))) {
        return false;
    }
    wait_for_go(worker);
    send_measuring(worker);
    return workload->drive(&worker->job, &worker->arena, &result, &worker->err) &&
           send_result(worker, &result);
}

static bool call_operation(struct worker *worker, const struct workload *workload, const void *plan,
                           struct session *session)
{
    const struct load_job *job = &worker->job;
    int64_t deadline = clock_deadline_ms(job->workload.prepare_timeout_ms);
    switch (job->operation) {
    case LOAD_PREPARE:
        return workload->prepare == NULL ||
               workload->prepare(job, plan, session, deadline, send_note, worker, &worker->err);
    case LOAD_RESET:
        return workload->reset == NULL ||
               workload->reset(job, plan, session, deadline, send_note, worker, &worker->err);
    case LOAD_CHECK:
    case LOAD_CHECK_ALL:
        return workload->check == NULL ||
               workload->check(job, plan, session, deadline, send_note, worker, &worker->err);
    case LOAD_CLEANUP:
        return workload->cleanup == NULL ||
               workload->cleanup(job, plan, session, deadline, &worker->err);
    case LOAD_DRIVE:
        break;
    }
    return err_set(&worker->err, ERR_CODE_bug, "a drive is no set-up operation");
}

static bool set_up(struct worker *worker, const struct workload *workload, const void *plan,
                   const struct session_driver *sessions)
{
    static const struct load_result nothing = {0};
    struct session *session = NULL;
    if (sessions != NULL &&
        !sessions->open(&worker->job.session, clock_deadline_ms(CONNECT_TIMEOUT_MS), &session,
                        &worker->err)) {
        return false;
    }
    bool changes = worker->job.operation == LOAD_PREPARE || worker->job.operation == LOAD_RESET ||
                   worker->job.operation == LOAD_CLEANUP;
    bool ok = (!changes || session == NULL ||
               mark_claim(session, clock_deadline_ms(worker->job.workload.prepare_timeout_ms),
                          send_note, worker, &worker->err)) &&
              call_operation(worker, workload, plan, session);
    if (sessions != NULL) {
        sessions->close(session);
    }
    return ok && send_ready(worker, 0) && send_result(worker, &nothing);
}

static bool work(struct worker *worker)
{
    const struct workload *workload = NULL;
    const struct session_driver *sessions = NULL;
    const void *plan = NULL;
    enum load_operation operation = worker->job.operation;
    worker->job.session.must_exist = operation != LOAD_PREPARE && operation != LOAD_RESET;
    if (!find_parts(worker, &workload, &sessions) || workload == NULL ||
        (workload->plan != NULL &&
         !workload->plan(&worker->job.workload,
                         sessions != NULL ? sessions->dialect : DIALECT_OTHER, &worker->arena,
                         &plan, &worker->err))) {
        return false;
    }
    if (worker->job.operation != LOAD_DRIVE) {
        return set_up(worker, workload, plan, workload->drive != NULL ? NULL : sessions);
    }
    return workload->drive != NULL ? drive_itself(worker, workload)
                                   : drive_clients(worker, workload, plan, sessions);
}

int load_worker_main(int input, int output)
{
    struct worker worker = {.input = input, .output = output};
    pthread_t watcher;
    arena_open(&worker.arena, ARENA_BYTES);
    pthread_mutex_init(&worker.mutex, NULL);
    pthread_cond_init(&worker.changed, NULL);
    signal(SIGPIPE, SIG_IGN);
    bool ok = read_hello(&worker) && read_job(&worker);
    if (ok && pthread_create(&watcher, NULL, watch_parent, &worker) != 0) {
        ok = err_set(&worker.err, ERR_CODE_workload, "cannot start a thread");
    }
    ok = ok && work(&worker);
    if (!ok) {
        struct text payload;
        struct err said = worker.err;
        text_open(&payload, &worker.arena);
        wire_put_err(&payload, &said);
        (void)send_frame(&worker, LOAD_FRAME_ERROR, &payload);
    }
    /* The watcher and, after a time-out, a loop may still be at work: the process ends as it is. */
    _exit(ok ? 0 : STATUS_FAILED);
}
