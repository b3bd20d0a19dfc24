/*
 * What was measured of every candidate: logarithms corrected for drift, noise pooled within arms,
 * means with their intervals, and what the runs themselves give cause to say.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/rank_work.h"
#include "sweeper/stats/drift.h"
#include "sweeper/stats/summary.h"

enum { LEAST_BASELINE_RUNS = 3, UNSTABLE_NOISES = 5 };

static const double UNSTABLE_SPREAD = 0.1;
static const double US_PER_HOUR = 3.6e9;

/* ---- drift ---- */

static size_t end_of_condition(const struct rank_data *data, size_t first)
{
    size_t end = first;
    while (end < data->trial_count &&
           data->trials[end].condition_id == data->trials[first].condition_id) {
        end++;
    }
    return end;
}

struct moment {
    double hour;
    double log;
    size_t trial;
};

static int compare_moments(const void *a, const void *b)
{
    const struct moment *left = a;
    const struct moment *right = b;
    if (left->trial == right->trial) {
        return 0;
    }
    if (left->hour < right->hour || left->hour > right->hour) {
        return left->hour < right->hour ? -1 : 1;
    }
    return left->trial < right->trial ? -1 : 1;
}

struct baselines {
    struct moment *moments;
    double *hours;
    double *logs;
    double *scratch;
    size_t count;
};

/* The baseline's runs of trials [first, end), in the order of time. */
static void find_baselines(const struct rank_data *data, size_t first, size_t end,
                           struct baselines *out)
{
    out->count = 0;
    for (size_t i = first; i < end; i++) {
        const struct rank_trial *trial = &data->trials[i];
        if (trial->is_baseline && !isnan(trial->raw_log)) {
            out->moments[out->count++] = (struct moment){
                .hour = (double)trial->started_us / US_PER_HOUR, .log = trial->raw_log, .trial = i};
        }
    }
    qsort(out->moments, out->count, sizeof *out->moments, compare_moments);
    for (size_t i = 0; i < out->count; i++) {
        out->hours[i] = out->moments[i].hour;
        out->logs[i] = out->moments[i].log;
    }
}

static void correct(struct rank_data *data, size_t first, size_t end,
                    const struct baselines *baselines)
{
    struct summary summary;
    summary_of(baselines->logs, baselines->count, &summary);
    for (size_t i = first; i < end; i++) {
        struct rank_trial *trial = &data->trials[i];
        size_t self = SIZE_MAX;
        for (size_t j = 0; j < baselines->count && trial->is_baseline; j++) {
            self = baselines->moments[j].trial == i ? j : self;
        }
        double level = drift_level_without(baselines->logs, baselines->hours, baselines->count,
                                           self, (double)trial->started_us / US_PER_HOUR);
        trial->log = trial->raw_log - (level - summary.mean);
    }
}

static struct rank_drift judge_drift(struct rank_data *data, size_t first, size_t end,
                                     struct baselines *baselines)
{
    struct drift drift;
    find_baselines(data, first, end, baselines);
    drift_test(baselines->logs, baselines->hours, baselines->count, baselines->scratch, &drift);
    if (drift.is_significant) {
        correct(data, first, end, baselines);
    }
    double hours =
        baselines->count > 0 ? baselines->hours[baselines->count - 1] - baselines->hours[0] : 0;
    return (struct rank_drift){.label = "",
                               .change_pct = 100 * expm1(drift.slope * hours),
                               .runs = drift.count,
                               .is_testable = drift.is_testable,
                               .is_corrected = drift.is_significant,
                               .p = drift.p,
                               .slope_pct_per_h = 100 * expm1(drift.slope)};
}

static void fill_raw_logs(struct ranking *ranking)
{
    struct rank_data *data = &ranking->data;
    for (size_t i = 0; i < data->arm_count; i++) {
        const struct rank_arm *arm = &data->arms[i];
        for (size_t j = arm->first; j < arm->first + arm->count; j++) {
            struct rank_trial *trial = &data->trials[j];
            double value =
                ranking->metric != SIZE_MAX ? trial->metrics[ranking->metric] : (double)NAN;
            bool is_usable = trial->is_done && !trial->is_killed && value > 0 && !isinf(value);
            trial->raw_log = is_usable ? log(value) : (double)NAN;
            trial->log = trial->raw_log;
            ranking->baseline_runs += is_usable && trial->is_baseline;
        }
    }
}

bool rank_fill_logs(struct ranking *ranking, struct err *err)
{
    struct rank_data *data = &ranking->data;
    size_t room = data->trial_count + 1;
    struct baselines baselines = {.moments = ARENA_ARRAY(ranking->arena, struct moment, room),
                                  .hours = ARENA_ARRAY(ranking->arena, double, room),
                                  .logs = ARENA_ARRAY(ranking->arena, double, room),
                                  .scratch = ARENA_ARRAY(ranking->arena, double, room)};
    ranking->drifts = ARENA_ARRAY(ranking->arena, struct rank_drift, room);
    if (baselines.moments == NULL || baselines.hours == NULL || baselines.logs == NULL ||
        baselines.scratch == NULL || ranking->drifts == NULL) {
        return err_memory(err);
    }
    fill_raw_logs(ranking);
    for (size_t first = 0; first < data->trial_count;) {
        size_t end = end_of_condition(data, first);
        ranking->drifts[ranking->drift_count++] = judge_drift(data, first, end, &baselines);
        first = end;
    }
    return true;
}

/* ---- values and noise ---- */

/* The arm's values of one metric; those of the ranked one come back from their logarithms. */
static size_t values_of(const struct ranking *ranking, const struct rank_arm *arm, size_t metric,
                        double *out)
{
    size_t count = 0;
    if (metric != ranking->metric) {
        return rank_data_values(&ranking->data, arm, metric, out);
    }
    for (size_t i = arm->first; metric != SIZE_MAX && i < arm->first + arm->count; i++) {
        const struct rank_trial *trial = &ranking->data.trials[i];
        bool is_corrected = trial->log < trial->raw_log || trial->log > trial->raw_log;
        if (rank_data_counts(arm, trial) && !isnan(trial->metrics[metric])) {
            out[count++] = is_corrected ? exp(trial->log) : trial->metrics[metric];
        }
    }
    return count;
}

/* Of logarithms; count 0 where one value has none. */
static void stat_of(const double *values, size_t count, double *logs, struct compare_arm *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!(values[i] > 0) || isinf(values[i])) {
            count = 0;
        } else {
            logs[i] = log(values[i]);
        }
    }
    compare_arm_of(logs, count, out);
}

/* With too little to tell the noise by, none is known. */
static void judge_noise(const struct ranking *ranking, struct compare_arm *arms, size_t count,
                        struct compare_noise *noise)
{
    bool is_enough = noise->degrees >= RANK_LEAST_DEGREES &&
                     (ranking->baseline_runs == 0 || ranking->baseline_runs >= LEAST_BASELINE_RUNS);
    for (size_t i = 0; i < count && !is_enough; i++) {
        arms[i].variance = NAN;
    }
    noise->variance = is_enough ? noise->variance : (double)NAN;
}

/* Geometric mean and interval; a metric that is zero somewhere (error_pct) gets its plain mean. */
static void summarise_metric(const struct ranking *ranking, const struct compare_arm *stat,
                             const double *values, size_t count, struct rank_metric *out)
{
    struct summary plain;
    summary_of(values, count, &plain);
    out->cv_pct = plain.cv_pct;
    out->low = NAN;
    out->high = NAN;
    if (stat->count == 0) {
        out->mean = plain.mean;
        return;
    }
    double half = compare_half_width(stat, ranking->data.sweep.rank_confidence);
    /* Rounding must not carry it over a limit that all runs keep. */
    out->mean = fmin(fmax(exp(stat->mean), plain.min), plain.max);
    out->low = out->mean * exp(-half);
    out->high = out->mean * exp(half);
}

struct work {
    double *values;
    double *logs;
    struct compare_arm *arms; /* of one metric */
};

static void negate(struct compare_arm *arm, bool is_higher_better)
{
    arm->mean = is_higher_better ? arm->mean : -arm->mean;
}

static void measure_metric(struct ranking *ranking, size_t metric, const struct work *work)
{
    struct compare_noise noise;
    for (size_t i = 0; i < ranking->count; i++) {
        size_t count = values_of(ranking, ranking->candidates[i].arm, metric, work->values);
        stat_of(work->values, count, work->logs, &work->arms[i]);
    }
    compare_pool(work->arms, ranking->count, NULL, &noise);
    judge_noise(ranking, work->arms, ranking->count, &noise);
    for (size_t i = 0; i < ranking->count; i++) {
        struct rank_candidate *candidate = &ranking->candidates[i];
        size_t count = values_of(ranking, candidate->arm, metric, work->values);
        if (count > 0) {
            struct rank_metric *out = &candidate->row.metrics[candidate->row.metric_count++];
            out->name = ranking->data.metric_names[metric];
            summarise_metric(ranking, &work->arms[i], work->values, count, out);
        }
        if (metric == ranking->metric) {
            candidate->stat = work->arms[i];
            negate(&candidate->stat, ranking->higher);
        }
        if (metric == ranking->second) {
            candidate->second = work->arms[i];
            negate(&candidate->second, ranking->second_is_higher);
        }
    }
    if (metric == ranking->metric) {
        ranking->noise = noise;
    }
}

static double raw_mean_of(const struct ranking *ranking, const struct rank_arm *arm)
{
    double sum = 0;
    int count = 0;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        const struct rank_trial *trial = &ranking->data.trials[i];
        if (rank_data_counts(arm, trial)) {
            sum += trial->raw_log;
            count++;
        }
    }
    return count > 0 ? sum / count : (double)NAN;
}

static double highest_killed(const struct ranking *ranking, const struct rank_arm *arm)
{
    double highest = NAN;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        const struct rank_trial *trial = &ranking->data.trials[i];
        if (trial->is_killed && ranking->metric != SIZE_MAX) {
            highest = fmax(highest, trial->metrics[ranking->metric]);
        }
    }
    return highest;
}

static const char *last_reason(const struct rank_data *data, const struct rank_arm *arm)
{
    const char *reason = "no trial ended";
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        reason = data->trials[i].is_done ? reason : data->trials[i].reason;
    }
    return reason;
}

static const char *reason_of(const struct ranking *ranking, const struct rank_arm *arm)
{
    if (arm->done > 0) {
        return arena_printf(ranking->arena, "it has no positive %s", ranking->by);
    }
    if (arm->killed == 0) {
        return last_reason(&ranking->data, arm);
    }
    double bound = highest_killed(ranking, arm);
    return isnan(bound) ? "stopped early: it was behind the best beyond doubt"
                        : arena_printf(ranking->arena,
                                       "stopped early at a %s of %.4g: it was behind the best "
                                       "beyond doubt",
                                       ranking->by, bound);
}

static bool settle_candidate(struct ranking *ranking, struct rank_candidate *candidate,
                             struct err *err)
{
    candidate->can_win = candidate->stat.count > 0;
    candidate->raw = raw_mean_of(ranking, candidate->arm);
    candidate->merit = candidate->stat.mean;
    candidate->row.confirmed = rank_data_is_confirmed(candidate->arm);
    candidate->row.confirming = candidate->row.confirmed ? candidate->arm->confirmed : 0;
    if (!candidate->can_win) {
        candidate->row.reason = reason_of(ranking, candidate->arm);
    }
    return candidate->can_win || candidate->row.reason != NULL || err_memory(err);
}

/* A second figure that matters beside the ranked one. */
static void choose_second(struct ranking *ranking)
{
    bool is_latency = text_ends_with(ranking->by, "_ms");
    ranking->second_is_higher = is_latency;
    ranking->second = rank_data_metric(&ranking->data, is_latency ? "throughput_per_s" : "p99_ms");
}

bool rank_measure(struct ranking *ranking, struct err *err)
{
    const struct rank_data *data = &ranking->data;
    struct work work = {.values = ARENA_ARRAY(ranking->arena, double, data->trial_count + 1),
                        .logs = ARENA_ARRAY(ranking->arena, double, data->trial_count + 1),
                        .arms =
                            ARENA_ARRAY(ranking->arena, struct compare_arm, ranking->count + 1)};
    if (work.values == NULL || work.logs == NULL || work.arms == NULL) {
        return err_memory(err);
    }
    ranking->noise = (struct compare_noise){.variance = NAN};
    choose_second(ranking);
    for (size_t i = 0; i < ranking->count; i++) {
        struct rank_row *row = &ranking->candidates[i].row;
        row->metrics = ARENA_ARRAY(ranking->arena, struct rank_metric, data->metric_count + 1);
        if (row->metrics == NULL) {
            return err_memory(err);
        }
    }
    for (size_t metric = 0; metric < data->metric_count; metric++) {
        measure_metric(ranking, metric, &work);
    }
    for (size_t i = 0; i < ranking->count; i++) {
        if (!settle_candidate(ranking, &ranking->candidates[i], err)) {
            return false;
        }
    }
    return true;
}

/* ---- what to say of it ---- */

/* Repeats that differ by more than a tenth and by more than five times the noise. */
static bool is_unstable(const struct ranking *ranking, const struct rank_arm *arm)
{
    double low = INFINITY;
    double high = -INFINITY;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        const struct rank_trial *trial = &ranking->data.trials[i];
        if (!isnan(trial->log)) {
            low = fmin(low, trial->log);
            high = fmax(high, trial->log);
        }
    }
    return high - low >
           fmax(log1p(UNSTABLE_SPREAD), UNSTABLE_NOISES * sqrt(ranking->noise.variance));
}

/* Those of all its runs, also of such as do not count. */
static bool find_outliers(const struct ranking *ranking, bool **out, struct err *err)
{
    const struct rank_data *data = &ranking->data;
    size_t room = data->trial_count + 1;
    double *logs = ARENA_ARRAY(ranking->arena, double, room);
    double *scratch = ARENA_ARRAY(ranking->arena, double, 2 * room);
    size_t *arms = ARENA_ARRAY(ranking->arena, size_t, room);
    size_t *trials = ARENA_ARRAY(ranking->arena, size_t, room);
    bool *is_out = ARENA_ARRAY(ranking->arena, bool, room);
    bool *by_arm = ARENA_ARRAY(ranking->arena, bool, data->arm_count + 1);
    size_t count = 0;
    if (logs == NULL || scratch == NULL || arms == NULL || trials == NULL || is_out == NULL ||
        by_arm == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < data->arm_count; i++) {
        const struct rank_arm *arm = &data->arms[i];
        by_arm[i] = false;
        for (size_t j = arm->first; j < arm->first + arm->count; j++) {
            if (!isnan(data->trials[j].log)) {
                logs[count] = data->trials[j].log;
                arms[count++] = i;
            }
        }
    }
    compare_outliers(logs, arms, count, scratch, is_out);
    for (size_t i = 0; i < count; i++) {
        by_arm[arms[i]] = by_arm[arms[i]] || is_out[i];
    }
    *out = by_arm;
    return true;
}

static const char *collect_flags(struct ranking *ranking, const struct rank_candidate *candidate,
                                 bool has_outlier)
{
    const struct rank_arm *arm = candidate->arm;
    const char *flags = "";
    for (size_t i = arm->first; flags != NULL && i < arm->first + arm->count; i++) {
        flags = rank_join_words(ranking->arena, flags, ranking->data.trials[i].flags);
    }
    bool is_known = !isnan(ranking->noise.variance);
    const char *own[] = {candidate->stat.count == 1 && is_known ? "one-trial" : "",
                         is_known && is_unstable(ranking, arm) ? "unstable" : "",
                         has_outlier ? "outlier" : "", arm->is_durable ? "" : "less-durable"};
    for (size_t i = 0; flags != NULL && i < COUNT_OF(own); i++) {
        flags = rank_join_words(ranking->arena, flags, own[i]);
    }
    return flags;
}

bool rank_flag(struct ranking *ranking, struct err *err)
{
    bool *has_outlier = NULL;
    if (!find_outliers(ranking, &has_outlier, err)) {
        return false;
    }
    for (size_t i = 0; i < ranking->count; i++) {
        struct rank_candidate *candidate = &ranking->candidates[i];
        size_t arm = (size_t)(candidate->arm - ranking->data.arms);
        candidate->row.flags = collect_flags(ranking, candidate, has_outlier[arm]);
        if (candidate->row.flags == NULL) {
            return err_memory(err);
        }
    }
    return true;
}

/* ---- claims ---- */

/* Runs that had no part in choosing; the baseline, which nobody chose, gives those since the
 * condition's first confirmation, and all where they are fewer than two. */
static void fresh_arm(const struct ranking *ranking, const struct rank_arm *arm, int64_t since_us,
                      double *logs, struct compare_arm *out)
{
    size_t count = 0;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        const struct rank_trial *trial = &ranking->data.trials[i];
        if (rank_data_counts(arm, trial) && !isnan(trial->log) && trial->started_us >= since_us) {
            logs[count++] = ranking->higher ? trial->log : -trial->log;
        }
    }
    compare_arm_of(logs, count, out);
}

static int64_t first_confirmation(const struct ranking *ranking, int64_t condition)
{
    int64_t first_us = INT64_MAX;
    for (size_t i = 0; i < ranking->data.trial_count; i++) {
        const struct rank_trial *trial = &ranking->data.trials[i];
        bool is_first = trial->condition_id == condition && trial->is_confirm &&
                        !isnan(trial->log) && trial->started_us < first_us;
        first_us = is_first ? trial->started_us : first_us;
    }
    return first_us;
}

/* One condition's candidates. */
static void claim_in_condition(const struct ranking *ranking, struct rank_candidate *candidates,
                               size_t count, double *logs)
{
    const struct rank_arm *baseline = NULL;
    bool has_confirmed = false;
    struct compare_arm reference;
    for (size_t i = 0; i < count; i++) {
        bool is_reference = candidates[i].row.baseline && candidates[i].stat.count > 0;
        baseline = is_reference ? candidates[i].arm : baseline;
        has_confirmed = has_confirmed || candidates[i].row.confirmed;
    }
    if (baseline == NULL || !has_confirmed) {
        return;
    }
    int64_t since_us = first_confirmation(ranking, baseline->condition_id);
    fresh_arm(ranking, baseline, since_us, logs, &reference);
    if (reference.count < 2) {
        fresh_arm(ranking, baseline, INT64_MIN, logs, &reference);
    }
    for (size_t i = 0; i < count; i++) {
        struct rank_candidate *candidate = &candidates[i];
        struct compare_arm fresh;
        struct compare_welch welch;
        fresh_arm(ranking, candidate->arm, INT64_MIN, logs, &fresh);
        if (candidate->row.confirmed &&
            compare_welch(&fresh, &reference, ranking->data.sweep.rank_confidence, &welch)) {
            candidate->has_claim = true;
            candidate->claim = welch.difference;
            candidate->claim_half = welch.high - welch.difference;
            candidate->row.baseline_runs = (int)reference.count;
        }
    }
}

bool rank_claim(struct ranking *ranking, struct err *err)
{
    double *logs = ARENA_ARRAY(ranking->arena, double, ranking->data.trial_count + 1);
    if (logs == NULL) {
        return err_memory(err);
    }
    for (size_t first = 0; first < ranking->count;) {
        size_t end = first;
        int64_t condition = ranking->candidates[first].arm->condition_id;
        while (end < ranking->count && ranking->candidates[end].arm->condition_id == condition) {
            end++;
        }
        claim_in_condition(ranking, &ranking->candidates[first], end - first, logs);
        first = end;
    }
    return true;
}
