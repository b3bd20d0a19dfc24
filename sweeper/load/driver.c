/*
 * The controlling side of a drive: makes the loops, opens the gate, keeps the time and never
 * touches the network itself, so that a server that stops answering cannot stop the clock. What
 * hangs at the end is cancelled by shutting its connection down; no thread is ever cancelled.
 */
#include "sweeper/load/driver.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    STEP_MS = 100,
    CANCEL_GRACE_MS = 3000,
    REPORT_DELAY_MS = 250 /* loops publish a second at most TICK_MS late */
};

/* ---- making the loops ---- */

static size_t choose_loop_count(const struct load_job *job, bool has_sockets)
{
    int64_t clients = job->workload.clients;
    if (!has_sockets) {
        return (size_t)clients;
    }
    int64_t threads = job->workload.threads;
    if (threads == 0) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        threads = cpus > 0 ? cpus : 1;
    }
    return (size_t)(threads < clients ? threads : clients);
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
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->clients == NULL || loop->heap == NULL) {
        return err_memory(err);
    }
    if (loop->epoll < 0) {
        return err_set_errno(err, ERR_CODE_workload, "cannot make an event loop");
    }
    for (size_t i = 0; i < count; i++) {
        if (!open_client(driver, &loop->clients[i], (uint32_t)(first + i), err)) {
            return false;
        }
    }
    return meter_open(&loop->meter, driver->transaction_count, driver->statement_count,
                      driver->arena, err);
}

static bool open_loops(struct driver *driver, bool has_sockets, struct err *err)
{
    size_t first = 0;
    driver->loop_count = choose_loop_count(driver->job, has_sockets);
    driver->loops = ARENA_ARRAY(driver->arena, struct loop, driver->loop_count);
    if (driver->loops == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < driver->loop_count; i++) {
        driver->loops[i].epoll = -1;
    }
    for (size_t i = 0; i < driver->loop_count; i++) {
        size_t count = (driver->client_count - first) / (driver->loop_count - i);
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
    pthread_attr_setstacksize(&attributes, 1u << 20);
    bool ok = true;
    for (size_t i = 0; ok && i < driver->loop_count; i++) {
        struct loop *loop = &driver->loops[i];
        int failed = pthread_create(&loop->thread, &attributes, loop_main, loop);
        loop->has_thread = failed == 0;
        ok = failed == 0 ||
             err_set(err, ERR_CODE_workload, "cannot start a thread: %s", strerror(failed));
    }
    pthread_attr_destroy(&attributes);
    return ok;
}

static bool first_failure(struct driver *driver, struct err *err)
{
    for (size_t i = 0; i < driver->loop_count; i++) {
        if (driver->loops[i].err.code != ERR_CODE_none) {
            *err = driver->loops[i].err;
            return true;
        }
    }
    return false;
}

static bool all_connected(const struct driver *driver)
{
    for (size_t i = 0; i < driver->loop_count; i++) {
        if (!atomic_load(&driver->loops[i].is_connected)) {
            return false;
        }
    }
    return true;
}

static bool wait_connected(struct driver *driver, struct err *err)
{
    while (!all_connected(driver)) {
        if (atomic_load(&driver->is_aborted)) {
            clock_pause_until(clock_deadline_ms(1));
            if (first_failure(driver, err)) {
                err_reclass(err, ERR_POINT);
                return err_hint(err, "fewer clients than asked could connect: see the server's "
                                     "limit on connections");
            }
        }
        if (clock_passed(driver->connect_deadline)) {
            return err_set(err, ERR_CODE_workload,
                           "not all %zu clients could connect and prepare in time",
                           driver->client_count);
        }
        clock_pause_until(clock_deadline_ms(1));
    }
    return true;
}

bool driver_open(struct driver *driver, const struct load_job *job, const struct workload *workload,
                 const void *plan, const struct session_driver *sessions, int64_t deadline,
                 struct arena *arena, struct err *err)
{
    struct session *probe = NULL;
    *driver = (struct driver){.job = job,
                              .sessions = sessions,
                              .workload = workload,
                              .plan = plan,
                              .arena = arena,
                              .client_count = (size_t)job->workload.clients,
                              .connect_deadline = deadline};
    pthread_mutex_init(&driver->gate_mutex, NULL);
    pthread_mutex_init(&driver->errors.mutex, NULL);
    pthread_cond_init(&driver->gate, NULL);
    meter_seconds_open(&driver->seconds);
    driver->transaction_count = workload->transactions(plan, &driver->transaction_names);
    driver->statement_count = workload->statements(plan, &driver->statements);
    if (!sessions->open(&job->session, deadline, &probe, err)) {
        return false;
    }
    bool has_sockets = sessions->socket(probe) >= 0;
    bool ok =
        workload->begin_drive == NULL || workload->begin_drive(job, plan, probe, deadline, err);
    sessions->close(probe);
    return ok && open_loops(driver, has_sockets, err) && start_threads(driver, err) &&
           wait_connected(driver, err);
}

/* ---- driving ---- */

static void open_gate(struct driver *driver)
{
    const struct workload_spec *workload = &driver->job->workload;
    pthread_mutex_lock(&driver->gate_mutex);
    driver->go_ns = clock_now_ns();
    driver->measure_ns = driver->go_ns + workload->warm_up_ms * NS_PER_MS;
    driver->end_ns = driver->measure_ns + workload->measure_ms * NS_PER_MS;
    driver->drain_ns = driver->end_ns + workload->drain_ms * NS_PER_MS;
    driver->is_go = true;
    pthread_cond_broadcast(&driver->gate);
    pthread_mutex_unlock(&driver->gate_mutex);
}

static bool all_ended(const struct driver *driver)
{
    for (size_t i = 0; i < driver->loop_count; i++) {
        if (!atomic_load(&driver->loops[i].is_ended)) {
            return false;
        }
    }
    return true;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

struct report {
    struct driver *driver;
    const struct driver_watch *watch;
    int64_t next;                /* second since go that is reported next */
    struct load_second *seconds; /* of the window */
    size_t second_count;
    size_t second_limit;
    struct histogram lag;
};

/* Reports the seconds that are complete. The window begins at a whole second of its own where the
 * warm-up is not one; a second belongs to the phase in which it ends. */
static void report_seconds(struct report *report, int64_t now)
{
    struct driver *driver = report->driver;
    while (driver->go_ns + (report->next + 1) * NS_PER_S + REPORT_DELAY_MS * NS_PER_MS <= now) {
        struct load_second second = {0};
        int64_t ends_ns = driver->go_ns + (report->next + 1) * NS_PER_S;
        meter_take(&driver->seconds, report->next, &second);
        second.phase = ends_ns <= driver->measure_ns ? LOAD_PHASE_WARM_UP
                       : ends_ns <= driver->end_ns   ? LOAD_PHASE_MEASURE
                                                     : LOAD_PHASE_DRAIN;
        if (second.phase == LOAD_PHASE_MEASURE && report->second_count < report->second_limit) {
            second.index = (uint32_t)report->second_count;
            report->seconds[report->second_count++] = second;
        } else {
            second.index = (uint32_t)report->next;
        }
        report->watch->second(report->watch->context, &second);
        report->next++;
    }
}

/* The next step, or the next edge of the window where that comes first. */
static int64_t next_look(const struct driver *driver)
{
    int64_t now = clock_now_ns();
    int64_t look = now + STEP_MS * NS_PER_MS;
    look = driver->measure_ns > now && driver->measure_ns < look ? driver->measure_ns : look;
    return driver->end_ns > now && driver->end_ns < look ? driver->end_ns : look;
}

/* Until every loop ended; past the drain, what still runs is cancelled, and after that given up. */
static bool watch(struct driver *driver, struct report *report, double *out_cpu_s, struct err *err)
{
    bool is_cancelled = false;
    double cpu_start = 0;
    bool has_cpu_start = false;
    bool has_cpu_end = false;
    while (!all_ended(driver)) {
        int64_t wanted = next_look(driver);
        clock_pause_until(wanted);
        int64_t now = clock_now_ns();
        histogram_record(&report->lag, (uint64_t)(now - wanted));
        report_seconds(report, now);
        if (!has_cpu_start && now >= driver->measure_ns) {
            cpu_start = cpu_seconds();
            has_cpu_start = true;
            report->watch->measuring(report->watch->context);
        }
        if (!has_cpu_end && now >= driver->end_ns) {
            *out_cpu_s = cpu_seconds() - cpu_start;
            has_cpu_end = true;
        }
        if (!is_cancelled && now >= driver->drain_ns + STEP_MS * NS_PER_MS) {
            is_cancelled = true;
            for (size_t i = 0; i < driver->loop_count; i++) {
                for (size_t j = 0; j < driver->loops[i].client_count; j++) {
                    driver->sessions->cancel(driver->loops[i].clients[j].client.session);
                }
            }
        }
        if (now >= driver->drain_ns + CANCEL_GRACE_MS * NS_PER_MS) {
            return err_set(err, ERR_CODE_timeout,
                           "the server did not answer and its connections did not end");
        }
    }
    if (!has_cpu_end) {
        *out_cpu_s = cpu_seconds() - cpu_start;
    }
    return true;
}

/* ---- results ---- */

static bool add_statement(struct load_result *out, const char *transaction, const char *name,
                          struct histogram *latency, uint64_t errors)
{
    for (size_t i = 0; i < out->statement_count; i++) {
        if (strcmp(out->statements[i].statement, name) == 0 &&
            strcmp(out->statements[i].transaction, transaction) == 0) {
            histogram_merge(out->statements[i].latency, latency);
            out->statements[i].error_count += errors;
            return true;
        }
    }
    if (latency->count > 0 || errors > 0) {
        out->statements[out->statement_count++] =
            (struct load_statement){.transaction = transaction,
                                    .statement = name,
                                    .error_count = errors,
                                    .latency = latency};
    }
    return true;
}

static bool collect(struct driver *driver, struct load_result *out, struct err *err)
{
    static const char *const extras[] = {"begin", "commit", "rollback"};
    struct meter *all = &driver->loops[0].meter;
    for (size_t i = 1; i < driver->loop_count; i++) {
        meter_merge(all, &driver->loops[i].meter);
    }
    out->transactions =
        ARENA_ARRAY(driver->arena, struct load_transaction, driver->transaction_count);
    out->statements =
        ARENA_ARRAY(driver->arena, struct load_statement, driver->statement_count + METER_EXTRAS);
    if (out->transactions == NULL || out->statements == NULL) {
        return err_memory(err);
    }
    out->transaction_count = driver->transaction_count;
    for (size_t i = 0; i < driver->transaction_count; i++) {
        out->transactions[i] = (struct load_transaction){.name = driver->transaction_names[i],
                                                         .error_count = all->transaction_errors[i],
                                                         .retry_count = all->retries[i],
                                                         .latency = &all->transactions[i]};
    }
    for (size_t i = 0; i < driver->statement_count; i++) {
        const struct workload_statement *statement = &driver->statements[i];
        add_statement(out, driver->transaction_names[statement->transaction], statement->name,
                      &all->statements[i], all->statement_errors[i]);
    }
    for (size_t i = 0; i < METER_EXTRAS; i++) {
        add_statement(out, driver->transaction_names[0], extras[i],
                      &all->statements[driver->statement_count + i],
                      all->statement_errors[driver->statement_count + i]);
    }
    out->errors = driver->errors.rows;
    out->error_row_count = driver->errors.count;
    for (size_t i = 0; i < driver->loop_count; i++) {
        out->unfinished_count += atomic_load(&driver->loops[i].unfinished);
    }
    return true;
}

/* Errors over the budget, nothing completed, or work that never came back fail the trial. */
static bool judge(const struct driver *driver, const struct load_result *result, struct err *err)
{
    uint64_t done = 0;
    uint64_t failed = 0;
    for (size_t i = 0; i < result->transaction_count; i++) {
        done += result->transactions[i].latency->count;
        failed += result->transactions[i].error_count;
    }
    const char *first = result->error_row_count > 0 ? result->errors[0].text : "";
    double budget_pct = driver->job->workload.error_budget_pct;
    if (result->unfinished_count > 0) {
        err_set(err, ERR_CODE_timeout,
                "%llu of %zu clients got no answer until %lld ms after the window",
                (unsigned long long)result->unfinished_count, driver->client_count,
                (long long)driver->job->workload.drain_ms);
        return err_hint(err, "the server stopped answering, or workload.drain is too short");
    }
    if (done == 0) {
        return err_set(err, ERR_CODE_workload,
                       "no transaction completed within the window, %llu failed: %.300s",
                       (unsigned long long)failed, first);
    }
    if ((double)failed > budget_pct / 100 * (double)(done + failed)) {
        err_set(err, ERR_CODE_workload,
                "%llu of %llu transactions failed, over the budget of %g %%: %.300s",
                (unsigned long long)failed, (unsigned long long)(done + failed), budget_pct, first);
        return err_hint(err, "see workload.error_budget");
    }
    return true;
}

bool driver_run(struct driver *driver, const struct driver_watch *watched, struct load_result *out,
                struct err *err)
{
    const struct workload_spec *workload = &driver->job->workload;
    struct report report = {.driver = driver, .watch = watched};
    double cpu_s = 0;
    *out = (struct load_result){0};
    report.second_limit = (size_t)(workload->measure_ms / 1000 + 2);
    report.seconds = ARENA_ARRAY(driver->arena, struct load_second, report.second_limit);
    if (report.seconds == NULL) {
        return err_memory(err);
    }
    histogram_clear(&report.lag);
    open_gate(driver);
    if (!watch(driver, &report, &cpu_s, err)) {
        return false;
    }
    if (first_failure(driver, err)) {
        return false;
    }
    report_seconds(&report, driver->end_ns + REPORT_DELAY_MS * NS_PER_MS);
    out->warm_up_ns = driver->measure_ns - driver->go_ns;
    out->measured_ns = driver->end_ns - driver->measure_ns;
    out->client_count = (uint32_t)driver->client_count;
    out->seconds = report.seconds;
    out->second_count = report.second_count;
    out->driver_cpu_s = cpu_s;
    out->p99_lag_ms = histogram_percentile_ns(&report.lag, 99) / 1e6;
    out->output = "";
    out->distribution = workload->distribution != NULL ? workload->distribution : "";
    return collect(driver, out, err) && judge(driver, out, err);
}

void driver_close(struct driver *driver)
{
    pthread_mutex_lock(&driver->gate_mutex);
    atomic_store(&driver->is_aborted, true);
    pthread_cond_broadcast(&driver->gate);
    pthread_mutex_unlock(&driver->gate_mutex);
    for (size_t i = 0; i < driver->loop_count; i++) {
        struct loop *loop = &driver->loops[i];
        if (loop->has_thread) {
            pthread_join(loop->thread, NULL);
        }
        for (size_t j = 0; j < loop->client_count; j++) {
            driver->sessions->close(loop->clients[j].client.session);
        }
        if (loop->epoll >= 0) {
            close(loop->epoll);
        }
    }
    meter_seconds_close(&driver->seconds);
    pthread_mutex_destroy(&driver->gate_mutex);
    pthread_mutex_destroy(&driver->errors.mutex);
    pthread_cond_destroy(&driver->gate);
}
