/*
 * The controlling side of a drive: opens the gate, keeps the time and never touches the network,
 * so that a server that stops answering cannot stop the clock. Reports each second once it is
 * complete, and gives up early where the errors can no longer come back under their budget.
 */
#include <math.h>
#include <sys/resource.h>

#include "sweeper/load/driver.h"
#include "sweeper/load/series.h"

enum {
    STEP_MS = 100,
    DRAIN_STEP_MS = 1,
    CANCEL_GRACE_MS = 3000,
    REPORT_DELAY_MS = 250,  /* loops publish a second at most a tick late */
    LEAST_SECONDS = 5,      /* before a drive is called hopeless */
    LEAST_SHARE_OF_A_S = 2, /* a part of a second at the window's end counts from half of one */
    NOTICE_MS = 150, /* above what a loop waits at most before it looks at the window again */
    TEXT_BYTES = 256
};

/* The window and what follows from where it begins, which lies ahead. */
static void place_window(struct driver *driver, int64_t measure_ns)
{
    const struct workload_spec *workload = &driver->job->workload;
    int64_t end_ns = measure_ns + load_window_ms(workload) * NS_PER_MS;
    driver->window.measure_ns = measure_ns;
    driver->window.end_ns = end_ns;
    driver->drain_ns = end_ns + workload->drain_ms * NS_PER_MS;
    if (driver->workload->open_window != NULL) {
        driver->workload->open_window(driver->plan, measure_ns, end_ns);
    }
}

static void open_gate(struct driver *driver)
{
    const struct workload_spec *workload = &driver->job->workload;
    int64_t warm_up_ms = load_warm_up_limit_ms(workload);
    int64_t warm_up_s = (warm_up_ms + 999) / 1000;
    pthread_mutex_lock(&driver->gate_mutex);
    driver->window.go_ns = clock_now_ns();
    place_window(driver, driver->window.go_ns + warm_up_ms * NS_PER_MS);
    driver->origin_ns = driver->window.measure_ns - warm_up_s * NS_PER_S;
    driver->is_go = true;
    pthread_cond_broadcast(&driver->gate);
    pthread_mutex_unlock(&driver->gate_mutex);
}

/* With the next whole second that leaves every loop the time to hear of it. */
static void end_warm_up(struct driver *driver, int64_t now)
{
    int64_t earliest_ns = now + NOTICE_MS * NS_PER_MS;
    int64_t second = (earliest_ns - driver->origin_ns + NS_PER_S - 1) / NS_PER_S;
    int64_t measure_ns = driver->origin_ns + second * NS_PER_S;
    if (measure_ns < driver->window.measure_ns) {
        place_window(driver, measure_ns);
    }
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* ---- seconds ---- */

struct report {
    struct driver *driver;
    const struct driver_watch *watch;
    int64_t next;                /* second since the origin that is reported next */
    struct second_series series; /* of the window */
    uint32_t second_count;       /* seconds that are in it */
    uint64_t done;               /* over the seconds of the window */
    uint64_t failed;
    struct histogram lag;
    double cpu_start_s;
    double cpu_s;
    struct loop_time *times; /* of each loop at the window's beginning */
    double busy_pct;
    double wait_pct;
    struct histogram *batches; /* [WITHIN_BATCHES]; NULL: the window is too short */
    bool is_warm;
    bool is_measuring;
    bool is_over;
    bool is_cancelled;
    bool is_hopeless;
    int64_t aborted_ns; /* CLOCK_NEVER: it was not */
};

/* A second belongs to the phase that it begins in, and ends with the window at the latest. */
static int64_t ends_at(const struct driver *driver, int64_t begins_ns)
{
    int64_t ends_ns = begins_ns + NS_PER_S;
    return begins_ns < driver->window.end_ns && ends_ns > driver->window.end_ns
               ? driver->window.end_ns
               : ends_ns;
}

static void keep_second(struct report *report, struct load_second *second, uint64_t done,
                        int64_t length_ns)
{
    second->index = report->second_count;
    report->done += done;
    report->failed += second->error_count;
    if (length_ns >= NS_PER_S / LEAST_SHARE_OF_A_S) {
        second_series_add(&report->series, second);
        report->second_count++;
    }
}

/* The first second of a warm-up may begin before it, the last one of the window ends with it: what
 * was counted in part of a second is a rate over that part. */
static int64_t length_of(const struct driver *driver, int64_t begins_ns, int64_t ends_ns)
{
    return ends_ns - (begins_ns > driver->window.go_ns ? begins_ns : driver->window.go_ns);
}

/* The part of the window that a second of it belongs to. */
static struct histogram *batch_of(const struct report *report, int64_t begins_ns)
{
    const struct driver *driver = report->driver;
    int64_t since_ns = begins_ns - driver->window.measure_ns;
    int64_t length_ns = driver->window.end_ns - driver->window.measure_ns;
    if (report->batches == NULL || since_ns < 0 || since_ns >= length_ns) {
        return NULL;
    }
    return &report->batches[since_ns / NS_PER_S * WITHIN_BATCHES * NS_PER_S / length_ns];
}

/* Reports the seconds that are complete. */
static void report_seconds(struct report *report, int64_t now)
{
    struct driver *driver = report->driver;
    int64_t begins_ns = driver->origin_ns + report->next * NS_PER_S;
    int64_t ends_ns = ends_at(driver, begins_ns);
    while (ends_ns + REPORT_DELAY_MS * NS_PER_MS <= now) {
        struct load_second second = {.index = (uint32_t)report->next};
        int64_t length_ns = length_of(driver, begins_ns, ends_ns);
        meter_take(&driver->seconds, report->next, batch_of(report, begins_ns), &second);
        uint64_t done = (uint64_t)second.throughput_per_s;
        second.throughput_per_s *= (double)NS_PER_S / (double)length_ns;
        second.phase = begins_ns < driver->window.measure_ns ? LOAD_PHASE_WARM_UP
                       : begins_ns < driver->window.end_ns   ? LOAD_PHASE_MEASURE
                                                             : LOAD_PHASE_DRAIN;
        if (second.phase == LOAD_PHASE_MEASURE) {
            keep_second(report, &second, done, length_ns);
        }
        report->watch->second(report->watch->context, &second);
        report->next++;
        begins_ns = driver->origin_ns + report->next * NS_PER_S;
        ends_ns = ends_at(driver, begins_ns);
    }
}

/* Even twice as many transactions as the rate so far promises would not be enough to forgive. Where
 * the work ends by completion nobody knows when, and nothing is promised. */
static bool is_hopeless(const struct report *report)
{
    const struct workload_spec *workload = &report->driver->job->workload;
    if (report->second_count < LEAST_SECONDS || report->failed == 0) {
        return false;
    }
    double expected = (double)(report->done + report->failed);
    if (!load_ends_complete(workload)) {
        expected *= (double)workload->measure_ms / 1000 / report->second_count;
    }
    return (double)report->failed > workload->error_budget_pct / 100 * 2 * expected;
}

/* ---- how busy the loops are ---- */

static void begin_times(struct report *report)
{
    for (size_t i = 0; i < report->driver->loop_count; i++) {
        report->times[i] = loop_time_of(&report->driver->loops[i]);
    }
}

/* Loops of sessions without a socket do the server's work as well, which says nothing of them. */
static void take_times(struct report *report)
{
    const struct driver *driver = report->driver;
    double window_ns = (double)(driver->window.end_ns - driver->window.measure_ns);
    for (size_t i = 0; driver->has_sockets && i < driver->loop_count; i++) {
        struct loop_time time = driver->loops[i].end_time;
        double busy_pct = 100 * (double)(time.cpu_ns - report->times[i].cpu_ns) / window_ns;
        double wait_pct = 100 * (double)(time.wait_ns - report->times[i].wait_ns) / window_ns;
        report->busy_pct = fmax(report->busy_pct, busy_pct);
        report->wait_pct = fmax(report->wait_pct, wait_pct);
    }
}

/* ---- the clock ---- */

/* What begins or ends with the window is taken as near to its edge as this thread wakes. */
static void meet_edges(struct report *report, int64_t now)
{
    struct driver *driver = report->driver;
    if (!report->is_measuring && !report->is_warm &&
        report->watch->is_warm(report->watch->context)) {
        report->is_warm = true;
        end_warm_up(driver, now);
    }
    if (!report->is_measuring && now >= driver->window.measure_ns) {
        report->is_measuring = true;
        report->cpu_start_s = cpu_seconds();
        begin_times(report);
        report->watch->measuring(report->watch->context);
    }
    if (!report->is_over && now >= driver->window.end_ns) {
        report->is_over = true;
        report->cpu_s = cpu_seconds() - report->cpu_start_s;
    }
}

/* The next step, or the next edge of the window where that comes first; close steps once the window
 * is over, when nothing is disturbed and the trial waits for this. */
static int64_t next_look(const struct driver *driver, int64_t now)
{
    int64_t look = now + (now < driver->window.end_ns ? STEP_MS : DRAIN_STEP_MS) * NS_PER_MS;
    look = driver->window.measure_ns > now && driver->window.measure_ns < look
               ? driver->window.measure_ns
               : look;
    return driver->window.end_ns > now && driver->window.end_ns < look ? driver->window.end_ns
                                                                       : look;
}

/* When a loop that has not ended by itself is helped, and when it is given up. */
static int64_t cancel_time(const struct driver *driver, int64_t aborted_ns)
{
    return (aborted_ns < driver->drain_ns ? aborted_ns : driver->drain_ns) +
           2 * STEP_MS * NS_PER_MS;
}

static bool watch(struct report *report, struct err *err)
{
    struct driver *driver = report->driver;
    int64_t now = clock_now_ns();
    report->aborted_ns = CLOCK_NEVER;
    meet_edges(report, now);
    while (!driver_has_ended(driver)) {
        int64_t wanted = next_look(driver, now);
        clock_pause_until(wanted);
        now = clock_now_ns();
        if (wanted <= driver->window.end_ns) {
            histogram_record(&report->lag, (uint64_t)(now - wanted));
        }
        meet_edges(report, now);
        report_seconds(report, now);
        if (!report->is_hopeless && is_hopeless(report)) {
            report->is_hopeless = true;
            atomic_store(&driver->is_aborted, true);
        }
        if (report->aborted_ns == CLOCK_NEVER && atomic_load(&driver->is_aborted)) {
            report->aborted_ns = now;
        }
        if (!report->is_cancelled && now >= cancel_time(driver, report->aborted_ns)) {
            report->is_cancelled = true;
            driver_cancel(driver);
        }
        if (now >= cancel_time(driver, report->aborted_ns) + CANCEL_GRACE_MS * NS_PER_MS) {
            return err_set(err, ERR_CODE_timeout,
                           "the server did not answer and its connections did not end");
        }
    }
    if (report->aborted_ns == CLOCK_NEVER && atomic_load(&driver->is_aborted)) {
        report->aborted_ns = clock_now_ns(); /* all had ended by the first look */
    }
    return true;
}

/* ---- all of it ---- */

static bool open_report(struct report *report, struct driver *driver,
                        const struct driver_watch *watched, struct err *err)
{
    *report = (struct report){.driver = driver, .watch = watched};
    const struct workload_spec *workload = &driver->job->workload;
    report->times = ARENA_ARRAY(driver->arena, struct loop_time, driver->loop_count);
    histogram_clear(&report->lag);
    if (!load_ends_complete(workload) && workload->measure_ms >= WITHIN_BATCHES * 1000) {
        report->batches = ARENA_ARRAY(driver->arena, struct histogram, WITHIN_BATCHES);
        for (size_t i = 0; report->batches != NULL && i < WITHIN_BATCHES; i++) {
            histogram_clear(&report->batches[i]);
        }
        if (report->batches == NULL) {
            return err_memory(err);
        }
    }
    return report->times != NULL
               ? second_series_open(&report->series, load_window_ms(workload) / 1000 + 1,
                                    driver->arena, err)
               : err_memory(err);
}

static void fill_result(const struct driver *driver, const struct report *report,
                        struct load_result *out)
{
    const char *distribution = driver->workload->distribution != NULL
                                   ? driver->workload->distribution
                                   : driver->job->workload.distribution;
    *out = (struct load_result){.warm_up_ns = driver->window.measure_ns - driver->window.go_ns,
                                .measured_ns = driver->window.end_ns - driver->window.measure_ns,
                                .client_count = (uint32_t)driver->client_count,
                                .seconds = report->series.points,
                                .second_count = report->series.count,
                                .batches = report->batches,
                                .batch_count = report->batches != NULL ? WITHIN_BATCHES : 0,
                                .series_interval_s = report->series.interval_s,
                                .driver_cpu_s = report->cpu_s,
                                .busy_pct = report->busy_pct,
                                .wait_pct = report->wait_pct,
                                .ceiling_per_s = driver->job->ceiling_per_s,
                                .p99_lag_ms = histogram_percentile_ns(&report->lag, 99) / 1e6,
                                .output = "",
                                .distribution = distribution != NULL ? distribution : ""};
}

/* Every loop has ended. Work that was complete before the window's end ended it. */
static bool close_window(struct driver *driver, struct load_metric **out, size_t *out_count,
                         struct err *err)
{
    const struct workload *workload = driver->workload;
    int64_t end_ns = driver->window.end_ns;
    if (workload->close_window != NULL &&
        !workload->close_window(driver->plan, driver->arena, &end_ns, out, out_count, err)) {
        return false;
    }
    driver->window.end_ns = end_ns;
    return true;
}

static bool give_up(struct driver *driver, const struct report *report, struct err *err)
{
    char first[TEXT_BYTES];
    driver_first_error(driver, first, sizeof first);
    err_set(err, ERR_CODE_workload,
            "%llu of %llu transactions failed within %u s, which cannot come back under %g %%: %s",
            (unsigned long long)report->failed, (unsigned long long)(report->failed + report->done),
            report->second_count, driver->job->workload.error_budget_pct, first);
    return err_hint(err, "see workload.error_budget");
}

/* Of what was broken off the time until then was measured; no loop reads the window any more. */
static void cut_window(struct driver *driver, struct report *report)
{
    if (!report->is_over) {
        report->cpu_s = cpu_seconds() - report->cpu_start_s;
    }
    if (report->aborted_ns < driver->window.end_ns) {
        driver->window.end_ns = report->aborted_ns;
    }
}

/* Every loop has ended. False: the result is there and not to be believed, or there is none. */
static bool conclude(struct driver *driver, struct report *report, struct load_result *out,
                     struct err *err)
{
    struct load_metric *metrics = NULL;
    size_t metric_count = 0;
    struct err failure;
    err_clear(&failure);
    bool has_failed = driver_failure(driver, &failure);
    if (has_failed && !report->is_measuring) {
        *err = failure;
        return false;
    }
    cut_window(driver, report);
    if (!has_failed && !report->is_hopeless) {
        has_failed = !close_window(driver, &metrics, &metric_count, &failure);
    }
    report_seconds(report, driver->window.end_ns + REPORT_DELAY_MS * NS_PER_MS);
    take_times(report);
    fill_result(driver, report, out);
    out->metrics = metrics;
    out->metric_count = metric_count;
    if (!driver_collect(driver, out, err)) {
        return false;
    }
    if (has_failed) {
        *err = failure;
        return false;
    }
    return report->is_hopeless ? give_up(driver, report, err) : driver_judge(driver, out, err);
}

bool driver_run(struct driver *driver, const struct driver_watch *watched, struct load_result *out,
                struct err *err)
{
    struct report report;
    if (!open_report(&report, driver, watched, err)) {
        return false;
    }
    open_gate(driver);
    return watch(&report, err) && conclude(driver, &report, out, err);
}
