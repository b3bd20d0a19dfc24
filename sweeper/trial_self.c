/*
 * Where a backend measures by itself, what it says takes the form of a drive's result, so that all
 * that comes after (flags, figures, rows of the store) is the same for it.
 */
#include "sweeper/trial_self.h"

#include <string.h>

enum { METRIC_COUNT = 2 };

static bool tell_second(void *context, const struct measured_second *second)
{
    const struct load_progress *progress = context;
    const struct load_second told = {.phase = second->is_warm_up ? LOAD_PHASE_WARM_UP
                                                                 : LOAD_PHASE_MEASURE,
                                     .index = second->index,
                                     .throughput_per_s = second->throughput_per_s,
                                     .p99_ms = second->p99_ms};
    progress->second(progress->context, &told);
    return !progress->is_over(progress->context);
}

static bool list_conditions(const struct trial *trial, struct setting **out, size_t *out_count)
{
    const struct grid *grid = &trial->setup->plan->grid;
    const struct condition *condition = &grid->conditions[trial->condition];
    *out = ARENA_ARRAY(trial->arena, struct setting, grid->swept_count + 1);
    *out_count = 0;
    for (size_t i = 0; *out != NULL && i < grid->swept_count; i++) {
        if (grid->swept[i].kind == SWEPT_WORKLOAD && condition->values[i].kind != VALUE_BASELINE) {
            (*out)[(*out_count)++] =
                (struct setting){.knob = grid->swept[i].knob, .value = condition->values[i]};
        }
    }
    return *out != NULL;
}

static bool fill_result(struct trial *trial, const struct measured *measured)
{
    struct load_result *result = &trial->result;
    struct load_transaction *transaction = ARENA_NEW(trial->arena, struct load_transaction);
    struct load_second *seconds =
        ARENA_ARRAY(trial->arena, struct load_second, measured->second_count + 1);
    struct load_metric *metrics = ARENA_ARRAY(trial->arena, struct load_metric, METRIC_COUNT);
    if (transaction == NULL || seconds == NULL || metrics == NULL) {
        return false;
    }
    for (size_t i = 0; i < measured->second_count; i++) {
        seconds[i] = (struct load_second){.phase = LOAD_PHASE_MEASURE,
                                          .index = measured->seconds[i].index,
                                          .throughput_per_s = measured->seconds[i].throughput_per_s,
                                          .p99_ms = measured->seconds[i].p99_ms};
    }
    *transaction = (struct load_transaction){.name = "replay", .latency = measured->latency};
    metrics[0] = (struct load_metric){
        .name = "throughput_per_s", .value = measured->throughput_per_s, .better = "higher"};
    metrics[1] = (struct load_metric){.name = measured->metric,
                                      .value = measured->value,
                                      .better = measured->lower_is_better ? "lower" : "higher"};
    bool is_named = strcmp(measured->metric, metrics[0].name) != 0;
    *result = (struct load_result){.warm_up_ns = measured->warm_up_ms * NS_PER_MS,
                                   .measured_ns = measured->measured_ms * NS_PER_MS,
                                   .client_count = (uint32_t)trial->job.workload.clients,
                                   .transactions = transaction,
                                   .transaction_count = 1,
                                   .seconds = seconds,
                                   .second_count = measured->second_count,
                                   .series_interval_s = 1,
                                   .metrics = metrics,
                                   .metric_count = is_named ? METRIC_COUNT : 1,
                                   .output = "",
                                   .distribution = ""};
    return true;
}

bool trial_self_measure(struct trial *trial, const struct load_progress *progress)
{
    struct plan *plan = trial->setup->plan;
    struct load_progress told = *progress;
    struct measured measured = {.second_count = 0};
    struct setting *conditions = NULL;
    struct measure_spec spec = {.client_count = trial->job.workload.clients,
                                .warm_up_ms = trial->job.workload.warm_up_ms,
                                .measure_ms = trial->job.workload.measure_ms,
                                .trial_number = trial->number,
                                .repeat_number = trial->repeat_number,
                                .context = &told,
                                .second = tell_second};
    if (!list_conditions(trial, &conditions, &spec.condition_count)) {
        return err_memory(&trial->err);
    }
    spec.conditions = conditions;
    return plan->sweep.backend->measure(&plan->target.server, &spec, trial->arena, &measured,
                                        &trial->err) &&
           (fill_result(trial, &measured) || err_memory(&trial->err));
}
