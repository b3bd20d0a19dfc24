/*
 * How far a trial's figures can be trusted: whether it was steady, how many cycles of the server
 * its window held, what it put off beyond its end, and how well it knows its own mean. Figures
 * become metrics, doubts become flags; nobody is excluded here.
 */
#include <math.h>
#include <string.h>

#include "sweeper/base/log.h"
#include "sweeper/load/workload.h"
#include "sweeper/stats/steady.h"
#include "sweeper/trial.h"

enum {
    METRIC_LIMIT = 16,
    LEAST_CYCLES = 2,
    LEAST_DEBT_BYTES = 1 << 20, /* below nothing has been put off */
    LEAST_BACKLOG = 1000,
    LOOK_TIMEOUT_MS = 5000,
    LOOK_PAUSE_MS = 5000
};
#define TOLERATED_DEBT_PCT 5.0

/* What is collected for the row. */
struct quality {
    struct trial *trial;
    struct store_metric *metrics;
    size_t metric_count;
    struct text flags;
};

static void add(struct quality *quality, const char *name, double value, const char *better)
{
    if (isfinite(value)) {
        quality->metrics[quality->metric_count++] =
            (struct store_metric){.name = name, .value = value, .better = better};
    }
}

static void flag(struct quality *quality, const char *word)
{
    text_addf(&quality->flags, "%s%s", quality->flags.size > 0 ? " " : "", word);
}

/* ---- what the server's counters say ---- */

static const struct backend *backend_of(const struct trial *trial)
{
    return trial->setup->plan->sweep.backend;
}

static void digest(const struct trial *trial, const struct trial_counters *counters,
                   struct server_work *out)
{
    backend_of(trial)->work(counters->rows, counters->count, out);
}

static bool has_work(const struct trial *trial)
{
    return backend_of(trial)->work != NULL && workload_writes(&trial->job.workload);
}

/* A log that is swept must have been written once around before anything is measured: until then
 * the largest one looks best, because it has not been emptied yet. */
static bool must_wrap(const struct trial *trial)
{
    const struct grid *grid = &trial->setup->plan->grid;
    const char *const *names = backend_of(trial)->log_knobs;
    for (; has_work(trial) && names != NULL && *names != NULL; names++) {
        if (grid_swept_find(grid, *names) != SIZE_MAX) {
            return !load_ends_complete(&trial->job.workload);
        }
    }
    return false;
}

/* How often the log was written around since the load began; NAN where nobody can tell. */
static double count_wraps(const struct trial *trial, const struct trial_counters *now)
{
    struct server_work before;
    struct server_work after;
    digest(trial, &trial->at_go, &before);
    digest(trial, now, &after);
    return (after.log_bytes - before.log_bytes) / after.log_capacity_bytes;
}

/* Asked once in a while, since it costs the server a connection. */
static bool has_wrapped(struct trial *trial)
{
    struct trial_counters now = {0};
    if (!clock_passed(trial->next_look)) {
        return false;
    }
    trial->next_look = clock_deadline_ms(LOOK_PAUSE_MS);
    trial_take_counters(trial, LOOK_TIMEOUT_MS, &now);
    double wraps = count_wraps(trial, &now);
    return isnan(wraps) || wraps >= 1;
}

bool trial_is_warm(void *context)
{
    struct trial *trial = context;
    trial->ended_warm =
        trial->ended_warm || (trial->warm_up.is_warm && (!must_wrap(trial) || has_wrapped(trial)));
    return trial->ended_warm;
}

static void judge_cycles(struct quality *quality, const struct server_work *start,
                         const struct server_work *end)
{
    double log_bytes = end->log_bytes - start->log_bytes;
    double cycles = end->checkpoint_count - start->checkpoint_count;
    cycles = isnan(cycles) ? log_bytes / end->log_capacity_bytes : cycles;
    add(quality, "cycles", cycles, "higher");
    if (log_bytes > 0 && cycles < LEAST_CYCLES) {
        flag(quality, "few-cycles");
    }
}

/* Whether what is swept decides how long the server may put its work off. */
static bool is_paced(const struct trial *trial)
{
    const struct grid *grid = &trial->setup->plan->grid;
    const char *const *lists[] = {backend_of(trial)->log_knobs, backend_of(trial)->interval_knobs};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const char *const *name = lists[i]; name != NULL && *name != NULL; name++) {
            if (grid_swept_find(grid, *name) != SIZE_MAX) {
                return true;
            }
        }
    }
    return false;
}

/* Where nothing that paces the server is swept, all points put off what a window of this length
 * leaves them to, the baseline as well: only what goes beyond the baseline is debt. */
static bool is_debt(const struct trial *trial, double debt_pct)
{
    double *known = &trial->setup->debts_pct[trial->condition];
    if (is_paced(trial)) {
        return debt_pct > TOLERATED_DEBT_PCT;
    }
    if (trial->setup->plan->grid.points[trial->point].baseline) {
        *known = fmax(*known, debt_pct); /* of a NAN and a number, the number */
        return false;
    }
    return debt_pct > *known + TOLERATED_DEBT_PCT; /* false where it is not known */
}

static double growth(double start, double end)
{
    return isnan(end - start) ? 0 : end - start;
}

/* What is put off grows by this share of what was written, or of the transactions. */
static void judge_debt(struct quality *quality, const struct server_work *start,
                       const struct server_work *end)
{
    double written = end->written_bytes - start->written_bytes;
    double bytes = fmax(growth(start->checkpoint_age_bytes, end->checkpoint_age_bytes),
                        growth(start->dirty_bytes, end->dirty_bytes));
    double backlog = growth(start->purge_backlog, end->purge_backlog);
    double transactions = 0;
    for (size_t i = 0; i < quality->trial->result.transaction_count; i++) {
        transactions += (double)quality->trial->result.transactions[i].latency->count;
    }
    double bytes_pct = written > 0 && bytes > LEAST_DEBT_BYTES ? 100 * bytes / written : 0;
    double backlog_pct =
        transactions > 0 && backlog > LEAST_BACKLOG ? 100 * backlog / transactions : 0;
    double debt_pct = fmax(bytes_pct, backlog_pct);
    if (isnan(written)) {
        return;
    }
    add(quality, "debt_pct", debt_pct, "lower");
    if (is_debt(quality->trial, debt_pct)) {
        flag(quality, "debt");
    }
}

static void judge_work(struct quality *quality)
{
    const struct trial *trial = quality->trial;
    struct server_work start;
    struct server_work end;
    if (!has_work(trial)) {
        return;
    }
    digest(trial, &trial->at_start, &start);
    digest(trial, &trial->at_end, &end);
    judge_debt(quality, &start, &end);
    if (load_ends_complete(&trial->job.workload)) {
        return;
    }
    judge_cycles(quality, &start, &end);
    double wraps = count_wraps(trial, &trial->at_start);
    add(quality, "log_wraps", wraps, "higher");
    if (must_wrap(trial) && wraps < 1) {
        flag(quality, "log-not-wrapped");
    }
}

/* ---- what the seconds say ---- */

/* The warm-up's seconds and the window's as one series; of a run so long that its seconds were
 * joined, the window alone. */
static bool collect(const struct trial *trial, double **out, size_t *out_warm_up, size_t *out_count,
                    struct err *err)
{
    const struct load_result *result = &trial->result;
    size_t before = result->series_interval_s == 1 ? trial->warm_up.count : 0;
    double *samples = ARENA_ARRAY(trial->arena, double, before + result->second_count + 1);
    if (samples == NULL) {
        return err_memory(err);
    }
    if (before > 0) {
        memcpy(samples, trial->warm_up.samples, before * sizeof *samples);
    }
    for (size_t i = 0; i < result->second_count; i++) {
        samples[before + i] = warm_up_sample(&trial->job.workload, &result->seconds[i]);
    }
    *out = samples;
    *out_warm_up = before;
    *out_count = before + result->second_count;
    return true;
}

static bool judge_steadiness(struct quality *quality, struct err *err)
{
    struct trial *trial = quality->trial;
    struct steady steady;
    double *samples = NULL;
    size_t before = 0;
    size_t count = 0;
    bool is_late = trial->warm_up.is_adaptive && !trial->ended_warm;
    if (!collect(trial, &samples, &before, &count, err)) {
        return false;
    }
    double interval_s = (double)trial->result.series_interval_s;
    if (trial->result.second_count > 0 && interval_s > 0) {
        if (!steady_judge(samples, count, before, interval_s, trial->arena, &steady, err)) {
            return false;
        }
        if (steady.verdict != STEADY_UNKNOWN) {
            add(quality, "cut_s", (double)steady.cut.samples * interval_s, "lower");
            add(quality, "thirds_pct", fabs(steady.thirds.difference_pct), "lower");
            add(quality, "level_share_pct", steady.level.share_pct, "higher");
        }
        if (steady.verdict == STEADY_NO) {
            log_line(LOG_INFO, "trial %lld was not steady: %s", (long long)trial->id,
                     steady.reason);
        }
        is_late = is_late || steady.verdict == STEADY_NO;
    }
    if (is_late) {
        flag(quality, "not-steady");
    }
    return true;
}

static bool judge_precision(struct quality *quality, struct err *err)
{
    const struct load_result *result = &quality->trial->result;
    double confidence = quality->trial->setup->plan->sweep.rank.confidence;
    double *samples = ARENA_ARRAY(quality->trial->arena, double, result->second_count + 1);
    if (samples == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < result->second_count; i++) {
        samples[i] = result->seconds[i].throughput_per_s;
    }
    struct within within = within_of(samples, result->second_count, confidence);
    add(quality, "within_pct", 100 * within.half / within.mean, "lower");
    struct within_percentile p99 =
        within_percentile_of(result->batches, result->batch_count, 99, confidence);
    add(quality, "p99_low_ms", p99.low_ns / 1e6, "lower");
    add(quality, "p99_high_ms", p99.high_ns / 1e6, "lower");
    return true;
}

/* What led to the window, for who wants to see why it ended. */
static bool keep_warm_up(const struct trial *trial, struct store_result *row, struct err *err)
{
    struct store_series *series =
        ARENA_ARRAY(trial->arena, struct store_series, row->series_count + 1);
    if (series == NULL) {
        return err_memory(err);
    }
    if (row->series_count > 0) {
        memcpy(series, row->series, row->series_count * sizeof *series);
    }
    series[row->series_count] = (struct store_series){.name = "warm_up",
                                                      .group = "load",
                                                      .interval_s = 1,
                                                      .samples = trial->warm_up.samples,
                                                      .count = trial->warm_up.count};
    row->series_count += trial->warm_up.count > 0;
    row->series = series;
    return true;
}

/* ---- all of it ---- */

bool trial_judge(struct trial *trial, struct store_result *row, const char **out_flags,
                 struct err *err)
{
    struct quality quality = {
        .trial = trial,
        .metrics = ARENA_ARRAY(trial->arena, struct store_metric, row->metric_count + METRIC_LIMIT),
        .metric_count = row->metric_count};
    const char *of_load = load_result_flags(&trial->result, trial->arena);
    if (quality.metrics == NULL || of_load == NULL) {
        return err_memory(err);
    }
    text_open(&quality.flags, trial->arena);
    text_add(&quality.flags, of_load);
    if (row->metric_count > 0) {
        memcpy(quality.metrics, row->metrics, row->metric_count * sizeof *row->metrics);
    }
    if (!load_ends_complete(&trial->job.workload) &&
        (!judge_steadiness(&quality, err) || !judge_precision(&quality, err))) {
        return false;
    }
    if (!keep_warm_up(trial, row, err)) {
        return false;
    }
    judge_work(&quality);
    if (trial->early.is_lost) {
        flag(&quality, "killed");
    }
    if (!trial->is_restarted) {
        flag(&quality, "not-restarted");
    }
    row->metrics = quality.metrics;
    row->metric_count = quality.metric_count;
    *out_flags = text_done(&quality.flags);
    return *out_flags != NULL || err_memory(err);
}
