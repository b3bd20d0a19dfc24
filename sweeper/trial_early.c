/*
 * The incumbent is the point of the highest mean throughput under this condition, of those that may
 * win. Only points that nobody measured to the end are judged: repeats say how good a point is, and
 * one that ended early would leave its lucky runs alone.
 */
#include "sweeper/trial_early.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/base/log.h"

enum { S_PER_MIN = 60 };

/* ---- whether ---- */

/* What is ranked must follow from the throughput of each second. */
static bool is_throughput(const struct sweep *sweep)
{
    const char *by = sweep->rank.by;
    const char *replayed = sweep->target.replay.metric;
    return strcmp(by, "throughput_per_s") == 0 || strcmp(by, "tpm") == 0 ||
           (replayed != NULL && strcmp(by, replayed) == 0);
}

static const char *why_not(const struct sweep *sweep)
{
    return load_ends_complete(&sweep->workload) ? "the work ends by being complete"
           : strcmp(sweep->workload.kind, "command") == 0
               ? "a command does not tell its throughput while it runs"
           : !is_throughput(sweep)        ? "rank.by does not follow from the throughput"
           : sweep->rank.under[0] != '\0' ? "rank.under is judged at the end alone"
           : strcmp(sweep->rank.across, "geomean") == 0
               ? "points are ranked over all conditions together"
               : NULL;
}

bool early_check(const struct sweep *sweep, struct err *err)
{
    const char *why = why_not(sweep);
    if (strcmp(sweep->early.kill, "true") != 0 || why == NULL) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "early_kill = true has no meaning here: %s", why);
    err_origin(err, "%s:%d", sweep->path, sweepfile_line(sweep, "strategy", "early_kill"));
    return err_hint(err, "leave early_kill out");
}

/* Whether throughput may dip for a time of which nothing is known: a look in a dip would see a
 * loser where there is none. */
static bool has_unknown_cycle(const struct sweep *sweep)
{
    bool may_dip = workload_writes(&sweep->workload) || sweep->target.replay.cycle_ms > 0;
    return may_dip && sweep->early.cycle_ms == 0;
}

static bool is_default(const struct plan *plan, const struct history *history)
{
    const struct strategy_spec *spec = &plan->sweep.strategy;
    const struct strategy *strategy = strategy_find(spec->kind);
    if (strategy != NULL && strategy->resolve != NULL) {
        strategy = strategy->resolve(spec, &plan->grid, history);
    }
    return strategy != NULL && strcmp(strategy->name, "gp") == 0 &&
           !has_unknown_cycle(&plan->sweep);
}

bool early_is_asked(const struct plan *plan, const struct history *history)
{
    const struct sweep *sweep = &plan->sweep;
    bool is_wanted = strcmp(sweep->early.kill, "true") == 0 ||
                     (strcmp(sweep->early.kill, "default") == 0 && is_default(plan, history));
    return is_wanted && why_not(sweep) == NULL;
}

/* ---- against whom ---- */

/* True: a trial of it ran to its end. */
static bool is_known(const struct run_history *past, size_t point, size_t condition)
{
    for (size_t i = 0; i < past->history.count; i++) {
        const struct past_trial *trial = &past->history.trials[i];
        if (trial->point == point && trial->condition == condition && trial->state == TRIAL_DONE &&
            !trial->is_censored) {
            return true;
        }
    }
    return false;
}

static bool is_judged(const struct trial *trial, const struct run_history *past)
{
    const struct plan *plan = trial->setup->plan;
    return (trial->purpose == PURPOSE_EXPLORE || trial->purpose == PURPOSE_REPEAT) &&
           !plan->grid.points[trial->point].baseline && early_is_asked(plan, &past->history) &&
           !is_known(past, trial->point, trial->condition);
}

bool trial_early_arm(struct trial *trial, const struct run_history *past, struct err *err)
{
    const struct early_spec *spec = &trial->setup->plan->sweep.early;
    struct early *early = &trial->early;
    struct run_incumbent incumbent;
    size_t window_s = (size_t)(trial->job.workload.measure_ms / 1000);
    if (!is_judged(trial, past)) {
        return true;
    }
    run_history_incumbent(trial->setup->plan, past, trial->condition, &incumbent);
    size_t count = early_looks(window_s, (size_t)(spec->after_ms / 1000),
                               (size_t)(spec->cycle_ms / 1000), early->looks);
    if (count == 0 || incumbent.count == 0 || incumbent.degrees < EARLY_LEAST_DEGREES) {
        return true;
    }
    early->samples = ARENA_ARRAY(trial->arena, double, window_s + 1);
    early->seconds = ARENA_ARRAY(trial->arena, struct load_second, window_s + 1);
    if (early->samples == NULL || early->seconds == NULL) {
        return err_memory(err);
    }
    early->look_count = count;
    early->window_s = window_s;
    early->rule = (struct early_rule){.incumbent = incumbent.throughput,
                                      .incumbent_count = incumbent.count,
                                      .sd = incumbent.sd,
                                      .degrees = incumbent.degrees,
                                      .look_count = count};
    return true;
}

/* ---- looks ---- */

void trial_early_see(struct trial *trial, const struct load_second *second)
{
    struct early *early = &trial->early;
    if (early->look_count == 0 || early->is_lost || second->phase != LOAD_PHASE_MEASURE ||
        early->count == early->window_s) {
        return;
    }
    early->seconds[early->count] = *second;
    early->samples[early->count++] = second->throughput_per_s;
    for (size_t i = 0; i < early->look_count; i++) {
        if (early->looks[i] == early->count) {
            early->last = early_look_at(&early->rule, early->samples, early->count);
            early->is_lost = early->last.is_lost;
        }
    }
    if (early->is_lost) {
        log_line(LOG_INFO,
                 "trial ended early after %zu of %zu s: at the most %.6g transactions a second, "
                 "where it would take %.6g",
                 early->count, early->window_s, early->last.high, early->last.limit);
    }
}

/* ---- what is left of it ---- */

static bool from_seconds(struct trial *trial, struct err *err)
{
    const struct early *early = &trial->early;
    static const struct load_result nothing = {.series_interval_s = 1};
    struct load_metric *metrics = ARENA_ARRAY(trial->arena, struct load_metric, 2);
    if (metrics == NULL) {
        return err_memory(err);
    }
    metrics[0] = (struct load_metric){
        .name = "throughput_per_s", .value = early->last.mean, .better = "higher"};
    metrics[1] = (struct load_metric){
        .name = "tpm", .value = early->last.mean * S_PER_MIN, .better = "higher"};
    trial->result = nothing;
    trial->result.warm_up_ns = trial->warm_up.is_adaptive
                                   ? (int64_t)trial->warm_up.count * NS_PER_S
                                   : trial->job.workload.warm_up_ms * NS_PER_MS;
    trial->result.measured_ns = (int64_t)early->count * NS_PER_S;
    trial->result.client_count = (uint32_t)trial->job.workload.clients;
    trial->result.seconds = early->seconds;
    trial->result.second_count = early->count;
    trial->result.metrics = metrics;
    trial->result.metric_count = 2;
    trial->result.output = "";
    trial->result.distribution = "";
    trial->has_result = true;
    return true;
}

bool trial_early_conclude(struct trial *trial, struct err *err)
{
    const struct early *early = &trial->early;
    struct load_result *result = &trial->result;
    if (!early->is_lost || (!trial->has_result && !from_seconds(trial, err))) {
        return !early->is_lost;
    }
    struct load_metric *metrics =
        ARENA_ARRAY(trial->arena, struct load_metric, result->metric_count + 1);
    if (metrics == NULL) {
        return err_memory(err);
    }
    memcpy(metrics, result->metrics, result->metric_count * sizeof *metrics);
    metrics[result->metric_count] = (struct load_metric){
        .name = "saved_s", .value = (double)(early->window_s - early->count), .better = "higher"};
    result->metrics = metrics;
    result->metric_count++;
    return true;
}
