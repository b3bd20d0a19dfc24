/*
 * Making a drive: rows that are counted, loops, threads, and every client connected and prepared
 * before anything is measured; and ending it. No thread is ever cancelled: what hangs is reached
 * by shutting its connection down, and where that does not help the process ends.
 */
#include "sweeper/load/driver.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    LOOK_MS = 1,
    END_MS = 3000,
    CANCEL_MS = 300, /* for requests to cancel that are on their way */
    STACK_BYTES = 1 << 20,
    SPARE_DESCRIPTORS = 64,
    CALIBRATION_MS = 30
};

/* ---- what is counted ---- */

static unsigned find_row(const struct driver *driver, unsigned transaction, const char *statement)
{
    unsigned row = 0;
    while (row < driver->row_count && (driver->rows[row].transaction != transaction ||
                                       strcmp(driver->rows[row].statement, statement) != 0)) {
        row++;
    }
    return row;
}

static void add_row(struct driver *driver, unsigned transaction, const char *statement)
{
    driver->rows[driver->row_count++] =
        (struct driver_row){.transaction = transaction, .statement = statement};
}

/* Statements of one name are one row, however many tables they are prepared for. */
static bool open_rows(struct driver *driver, struct err *err)
{
    static const char *const controls[DRIVER_CONTROLS] = {"begin", "commit", "rollback"};
    driver->transaction_count =
        driver->workload->transactions(driver->plan, &driver->transaction_names);
    driver->statement_count = driver->workload->statements(driver->plan, &driver->statements);
    driver->rows =
        ARENA_ARRAY(driver->arena, struct driver_row,
                    driver->statement_count + driver->transaction_count * DRIVER_CONTROLS);
    driver->row_of_slot = ARENA_ARRAY(driver->arena, unsigned, driver->statement_count);
    if (driver->rows == NULL || driver->row_of_slot == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < driver->statement_count; i++) {
        const struct workload_statement *statement = &driver->statements[i];
        unsigned row = find_row(driver, statement->transaction, statement->name);
        if (row == driver->row_count) {
            add_row(driver, statement->transaction, statement->name);
        }
        driver->row_of_slot[i] = row;
    }
    driver->first_control = driver->row_count;
    for (unsigned i = 0; i < driver->transaction_count; i++) {
        for (size_t j = 0; j < DRIVER_CONTROLS; j++) {
            add_row(driver, i, controls[j]);
        }
    }
    return true;
}

/* ---- loops ---- */

static size_t cpu_count(void)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus > 0 ? (size_t)cpus : 1;
}

static size_t choose_loop_count(const struct driver *driver)
{
    int64_t threads = driver->job->workload.threads;
    if (!driver->has_sockets) {
        return driver->client_count;
    }
    size_t wanted = threads > 0 ? (size_t)threads : cpu_count();
    return wanted < driver->client_count ? wanted : driver->client_count;
}

static bool open_client(struct driver *driver, struct driver_client *client, uint32_t number,
                        struct err *err)
{
    client->client.plan = driver->plan;
    client->client.number = number;
    client->client.state = arena_alloc(driver->arena, driver->workload->client_size);
    random_seed(&client->client.random, (uint64_t)driver->job->workload.seed, number + 1);
    return client->client.state != NULL || err_memory(err);
}

static bool open_loop(struct driver *driver, size_t index, size_t first, size_t count,
                      struct err *err)
{
    struct loop *loop = &driver->loops[index];
    loop->driver = driver;
    loop->client_count = count;
    loop->clients = ARENA_ARRAY(driver->arena, struct driver_client, count);
    loop->heap = ARENA_ARRAY(driver->arena, size_t, count);
    if (loop->clients == NULL || loop->heap == NULL) {
        return err_memory(err);
    }
    struct epoll_event alarm = {.events = EPOLLIN};
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (loop->epoll < 0 || loop->timer < 0 ||
        epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->timer, &alarm) != 0) {
        return err_set_errno(err, ERR_CODE_workload, "cannot make an event loop");
    }
    for (size_t i = 0; i < count; i++) {
        if (!open_client(driver, &loop->clients[i],
                         (uint32_t)((size_t)driver->job->first_client + first + i), err)) {
            return false;
        }
    }
    return meter_open(&loop->meter, driver->transaction_count, driver->row_count,
                      driver->job->workload.rate_per_s > 0 || driver->workload->pause_ns != NULL,
                      driver->arena, err);
}

static bool open_loops(struct driver *driver, struct err *err)
{
    size_t first = 0;
    size_t loop_count = choose_loop_count(driver);
    driver->loops = ARENA_ARRAY(driver->arena, struct loop, loop_count);
    if (driver->loops == NULL) {
        return err_memory(err);
    }
    driver->loop_count = loop_count;
    for (size_t i = 0; i < loop_count; i++) {
        driver->loops[i].epoll = -1;
        driver->loops[i].timer = -1;
    }
    for (size_t i = 0; i < loop_count; i++) {
        size_t count = (driver->client_count - first) / (loop_count - i);
        if (!open_loop(driver, i, first, count, err)) {
            return false;
        }
        first += count;
    }
    return true;
}

static bool start_threads(struct driver *driver, struct err *err)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int failed = 0;
    for (size_t i = 0; failed == 0 && i < driver->loop_count; i++) {
        struct loop *loop = &driver->loops[i];
        failed = pthread_create(&loop->thread, &attributes, loop_main, loop);
        loop->has_thread = failed == 0;
    }
    pthread_attr_destroy(&attributes);
    return failed == 0 ||
           err_set(err, ERR_CODE_workload, "cannot start a thread: %s", strerror(failed));
}

/* ---- connecting ---- */

/* A descriptor a client, and two for its loop. */
static bool raise_descriptor_limit(size_t client_count, struct err *err)
{
    struct rlimit limit;
    rlim_t wanted = 3 * (rlim_t)client_count + SPARE_DESCRIPTORS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return true;
    }
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted) {
        return true;
    }
    err_set(err, ERR_CODE_workload, "%zu clients need %llu open files, %llu are allowed",
            client_count, (unsigned long long)wanted, (unsigned long long)limit.rlim_max);
    return err_hint(err, "raise the limit on open files (ulimit -n) of the load host");
}

static size_t count_connected(const struct driver *driver)
{
    size_t connected = 0;
    for (size_t i = 0; i < driver->loop_count; i++) {
        connected += atomic_load(&driver->loops[i].connected);
    }
    return connected;
}

/* What the server said stays; the text says how far it came. */
static bool too_few(const struct driver *driver, const struct err *why, struct err *err)
{
    err_set(err, ERR_CODE_workload, "%zu of %zu clients could connect%s: %.400s",
            count_connected(driver), driver->client_count,
            driver->job->workload.prepared ? " and prepare" : "", why->text);
    err_native(err, why->native, why->native_text);
    for (int i = 0; i < why->context_count; i++) {
        err_while(err, "%s", why->context[i]);
    }
    if (why->hint[0] != '\0') {
        return err_hint(err, "%s", why->hint);
    }
    return why->code == ERR_CODE_connection ? err_hint(err, "see the server's limit on connections")
                                            : false;
}

static bool wait_connected(struct driver *driver, struct err *err)
{
    struct err why;
    while (count_connected(driver) < driver->client_count) {
        if (driver_failure(driver, &why)) {
            return too_few(driver, &why, err);
        }
        if (clock_passed(driver->connect_deadline)) {
            err_set(&why, ERR_CODE_timeout, "the others did not in time");
            return too_few(driver, &why, err);
        }
        clock_pause_until(clock_deadline_ms(LOOK_MS));
    }
    return true;
}

/* Asks the server over a session of its own whether the data are there, before any client. */
static bool begin_drive(struct driver *driver, struct err *err)
{
    struct session *probe = NULL;
    const struct workload *workload = driver->workload;
    if (!driver->sessions->open(&driver->job->session, driver->connect_deadline, &probe, err)) {
        return false;
    }
    driver->has_sockets = driver->sessions->socket(probe) >= 0;
    bool ok =
        workload->begin_drive == NULL ||
        workload->begin_drive(driver->job, driver->plan, probe, driver->connect_deadline, err);
    driver->sessions->close(probe);
    return ok;
}

bool driver_confirm(struct driver *driver, struct err *err)
{
    struct session *probe = NULL;
    const struct workload *workload = driver->workload;
    int64_t deadline = clock_deadline_ms(driver->job->workload.prepare_timeout_ms);
    if (workload->end_drive == NULL) {
        return true;
    }
    if (!driver->sessions->open(&driver->job->session, deadline, &probe, err)) {
        return false;
    }
    bool ok = workload->end_drive(driver->job, driver->plan, probe, deadline, err);
    driver->sessions->close(probe);
    return ok;
}

static void set_up(struct driver *driver, const struct load_job *job,
                   const struct workload *workload, const void *plan,
                   const struct session_driver *sessions, struct arena *arena)
{
    *driver = (struct driver){.job = job,
                              .sessions = sessions,
                              .workload = workload,
                              .plan = plan,
                              .arena = arena,
                              .client_count = (size_t)load_job_clients(job)};
    pthread_mutex_init(&driver->gate_mutex, NULL);
    pthread_mutex_init(&driver->errors.mutex, NULL);
    pthread_cond_init(&driver->gate, NULL);
    meter_seconds_open(&driver->seconds);
}

bool driver_open(struct driver *driver, const struct load_job *job, const struct workload *workload,
                 const void *plan, const struct session_driver *sessions, int64_t deadline,
                 struct arena *arena, struct err *err)
{
    set_up(driver, job, workload, plan, sessions, arena);
    driver->connect_deadline = deadline;
    return open_rows(driver, err) && raise_descriptor_limit(driver->client_count, err) &&
           begin_drive(driver, err) && open_loops(driver, err) && start_threads(driver, err) &&
           wait_connected(driver, err);
}

/* ---- calibration ---- */

/* The same loop, with a session that answers at once; on this thread. */
static double calibrate_loop(struct driver *quick)
{
    struct loop *loop = &quick->loops[0];
    int64_t now = clock_now_ns();
    uint64_t count = 0;
    quick->origin_ns = now;
    quick->drain_ns = now + CALIBRATION_MS * NS_PER_MS;
    quick->window =
        (struct schedule_window){.go_ns = now, .measure_ns = now, .end_ns = quick->drain_ns};
    quick->is_go = true;
    loop_main(loop);
    for (size_t i = 0; i < quick->transaction_count; i++) {
        count += loop->meter.transactions[i].count;
    }
    return loop->err.code == ERR_CODE_none ? (double)count * 1e3 / CALIBRATION_MS : 0;
}

/* What rests between transactions or follows a schedule goes as fast as it can here. The plan is
 * one of its own, because workloads count in it. */
double driver_calibrate(const struct driver *driver)
{
    struct load_job job = *driver->job;
    struct workload workload = *driver->workload;
    const void *plan = NULL;
    struct driver *quick = ARENA_NEW(driver->arena, struct driver);
    double per_s = 0;
    struct err err;
    err_clear(&err);
    if (quick == NULL ||
        (workload.plan != NULL &&
         !workload.plan(&job.workload, driver->sessions->dialect, driver->arena, &plan, &err))) {
        return 0;
    }
    job.client_share = 1;
    job.workload.rate_per_s = 0;
    workload.pause_ns = NULL;
    set_up(quick, &job, &workload, plan, &null_sessions, driver->arena);
    if (open_rows(quick, &err) && open_loops(quick, &err)) {
        per_s = calibrate_loop(quick);
    }
    driver_close(quick);
    size_t cpus = cpu_count();
    return per_s * (double)(driver->loop_count < cpus ? driver->loop_count : cpus);
}

/* ---- ending ---- */

bool driver_has_ended(const struct driver *driver)
{
    for (size_t i = 0; i < driver->loop_count; i++) {
        if (driver->loops[i].has_thread && !atomic_load(&driver->loops[i].is_ended)) {
            return false;
        }
    }
    return true;
}

bool driver_failure(const struct driver *driver, struct err *out)
{
    for (size_t i = 0; i < driver->loop_count; i++) {
        const struct loop *loop = &driver->loops[i];
        if (loop->has_thread && atomic_load(&loop->is_ended) && loop->err.code != ERR_CODE_none) {
            *out = loop->err;
            return true;
        }
    }
    return false;
}

void driver_cancel(struct driver *driver)
{
    for (size_t i = 0; i < driver->loop_count; i++) {
        struct loop *loop = &driver->loops[i];
        size_t connected = atomic_load(&loop->connected);
        for (size_t j = 0; j < connected && !atomic_load(&loop->is_ended); j++) {
            driver->sessions->cancel(loop->clients[j].client.session);
        }
    }
}

static bool wait_ended(struct driver *driver)
{
    int64_t deadline = clock_deadline_ms(END_MS);
    bool is_cancelled = false;
    while (!driver_has_ended(driver)) {
        if (clock_passed(deadline)) {
            return false;
        }
        clock_pause_until(clock_deadline_ms(LOOK_MS));
        if (!is_cancelled && clock_passed(deadline - END_MS / 2 * NS_PER_MS)) {
            driver_cancel(driver);
            is_cancelled = true;
        }
    }
    return true;
}

static size_t close_loop(struct driver *driver, struct loop *loop)
{
    if (loop->has_thread) {
        pthread_join(loop->thread, NULL);
    }
    for (size_t i = 0; loop->clients != NULL && i < loop->client_count; i++) {
        driver->sessions->close(loop->clients[i].client.session);
    }
    if (loop->epoll >= 0) {
        close(loop->epoll);
    }
    if (loop->timer >= 0) {
        close(loop->timer);
    }
    return loop->unfinished;
}

bool driver_close(struct driver *driver)
{
    size_t unfinished = 0;
    pthread_mutex_lock(&driver->gate_mutex);
    atomic_store(&driver->is_aborted, true);
    pthread_cond_broadcast(&driver->gate);
    pthread_mutex_unlock(&driver->gate_mutex);
    if (!wait_ended(driver)) {
        return false;
    }
    for (size_t i = 0; i < driver->loop_count; i++) {
        unfinished += close_loop(driver, &driver->loops[i]);
    }
    if (unfinished > 0) {
        clock_pause_until(clock_deadline_ms(CANCEL_MS));
    }
    meter_seconds_close(&driver->seconds);
    pthread_mutex_destroy(&driver->gate_mutex);
    pthread_mutex_destroy(&driver->errors.mutex);
    pthread_cond_destroy(&driver->gate);
    return true;
}
