/*
 * The row of a trial: its beginning, and everything that was measured, read back and said when it
 * ends.
 */
#include <math.h>
#include <string.h>

#include "sweeper/base/log.h"
#include "sweeper/trial.h"

/* ---- begin ---- */

static bool set_condition(struct trial *trial, struct err *err)
{
    const struct plan *plan = trial->setup->plan;
    const struct condition *condition = &plan->grid.conditions[trial->condition];
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        const struct swept *swept = &plan->grid.swept[i];
        if (swept->kind != SWEPT_WORKLOAD || condition->values[i].kind == VALUE_BASELINE) {
            continue;
        }
        const char *text = value_display(swept->knob, &condition->values[i], trial->arena);
        if (text == NULL) {
            return err_memory(err);
        }
        if (!workload_set(&trial->job.workload, swept->knob->name, text, trial->arena, err)) {
            return err_while(err, "setting the workload of condition %s", condition->key);
        }
    }
    return true;
}

bool trial_begin(struct trial *trial, struct err *err)
{
    struct plan *plan = trial->setup->plan;
    err_clear(&trial->err);
    trial->size_before_bytes = -1;
    trial->size_after_bytes = -1;
    trial->verified = ARENA_ARRAY(trial->arena, struct verified, plan->grid.swept_count + 1);
    if (trial->verified == NULL) {
        return err_memory(err);
    }
    if (!target_settings(&plan->target, &plan->grid.points[trial->point], trial->arena,
                         &trial->settings, &trial->setting_count, err)) {
        return false;
    }
    trial->job = (struct load_job){.operation = LOAD_DRIVE,
                                   .workload = plan->sweep.workload,
                                   .backend = plan->sweep.backend->name,
                                   .session = {.connect = plan->sweep.target.connect,
                                               .password = plan->sweep.target.password,
                                               .settings = trial->settings,
                                               .setting_count = trial->setting_count,
                                               .application = "dbsweep"}};
    struct store_trial_begin row = {.sweep_id = plan->sweep_id,
                                    .call_id = plan->call_id,
                                    .point_id = plan->point_ids[trial->point],
                                    .condition_id = plan->condition_ids[trial->condition],
                                    .purpose = purpose_name(trial->purpose)};
    return set_condition(trial, err) && store_trial_begin(plan->store, &row, &trial->id, err);
}

/* ---- effective values ---- */

const char *trial_effective_key(const struct trial *trial, struct arena *arena)
{
    const struct grid *grid = &trial->setup->plan->grid;
    struct text text;
    text_open(&text, arena);
    for (size_t i = 0; i < grid->swept_count; i++) {
        if (grid->swept[i].kind != SWEPT_KNOB) {
            continue;
        }
        if (!trial->is_verified || !trial->verified[i].reading.known) {
            return "";
        }
        const char *value =
            value_canonical(grid->swept[i].knob, &trial->verified[i].reading.value, arena);
        text_addf(&text, "%s%s=%s", text.size > 0 ? ";" : "", grid->swept[i].knob->name,
                  value != NULL ? value : "?");
    }
    return text_done(&text);
}

static bool record_values(struct trial *trial, struct err *err)
{
    const struct grid *grid = &trial->setup->plan->grid;
    const struct point *point = &grid->points[trial->point];
    struct store_trial_value *rows =
        ARENA_ARRAY(trial->arena, struct store_trial_value, grid->swept_count + 1);
    size_t count = 0;
    if (rows == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < grid->swept_count; i++) {
        const struct knob *knob = grid->swept[i].knob;
        const struct verified *verified = &trial->verified[i];
        if (grid->swept[i].kind != SWEPT_KNOB || verified->reading.detail == NULL) {
            continue; /* never read back */
        }
        struct store_trial_value *row = &rows[count++];
        row->name = knob->name;
        row->asked = point->values[i].kind == VALUE_BASELINE ? "baseline" : point->values[i].asked;
        if (verified->reading.known) {
            row->effective = value_canonical(knob, &verified->reading.value, trial->arena);
            row->effective_display = value_display(knob, &verified->reading.value, trial->arena);
            row->has_number = value_number(&verified->reading.value, &row->number);
        }
        row->verdict = verdict_name(verified->verdict);
        row->source = source_kind_name(verified->reading.source);
        row->detail = verified->reading.detail;
    }
    return store_trial_values(trial->setup->plan->store, trial->id, rows, count, err);
}

/* ---- results ---- */

static void fill_latency(struct store_statement *row, const struct histogram *latency,
                         struct arena *arena)
{
    struct text blob;
    text_open(&blob, arena);
    histogram_encode(latency, &blob);
    row->count = latency->count;
    row->total_s = (double)latency->sum_ns / 1e9;
    row->min_s = latency->count > 0 ? (double)latency->min_ns / 1e9 : 0;
    row->avg_s = histogram_mean_ns(latency) / 1e9;
    row->max_s = (double)latency->max_ns / 1e9;
    row->p50_s = histogram_percentile_ns(latency, 50) / 1e9;
    row->p95_s = histogram_percentile_ns(latency, 95) / 1e9;
    row->p99_s = histogram_percentile_ns(latency, 99) / 1e9;
    row->p999_s = histogram_percentile_ns(latency, 99.9) / 1e9;
    row->histogram = (struct bytes){.data = text_done(&blob), .size = blob.size};
}

static bool fill_statements(struct trial *trial, struct store_result *out, struct err *err)
{
    const struct load_result *result = &trial->result;
    size_t count = result->transaction_count + result->statement_count;
    struct store_statement *rows = ARENA_ARRAY(trial->arena, struct store_statement, count + 1);
    if (rows == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < result->transaction_count; i++) {
        const struct load_transaction *transaction = &result->transactions[i];
        rows[i] = (struct store_statement){.transaction = transaction->name,
                                           .statement = "",
                                           .error_count = transaction->error_count,
                                           .retry_count = transaction->retry_count};
        fill_latency(&rows[i], transaction->latency, trial->arena);
    }
    for (size_t i = 0; i < result->statement_count; i++) {
        const struct load_statement *statement = &result->statements[i];
        struct store_statement *row = &rows[result->transaction_count + i];
        *row = (struct store_statement){.transaction = statement->transaction,
                                        .statement = statement->statement,
                                        .error_count = statement->error_count};
        fill_latency(row, statement->latency, trial->arena);
    }
    out->statements = rows;
    out->statement_count = count;
    return true;
}

static bool fill_series(struct trial *trial, struct store_result *out, struct err *err)
{
    const struct load_result *result = &trial->result;
    size_t count = result->second_count;
    struct store_series *series = ARENA_ARRAY(trial->arena, struct store_series, 3);
    double *samples = ARENA_ARRAY(trial->arena, double, 3 * count + 1);
    if (series == NULL || samples == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        samples[i] = result->seconds[i].throughput_per_s;
        samples[count + i] = result->seconds[i].p99_ms;
        samples[2 * count + i] = (double)result->seconds[i].error_count;
    }
    static const char *const names[] = {"throughput", "p99_ms", "errors"};
    for (size_t i = 0; i < 3; i++) {
        series[i] = (struct store_series){.name = names[i],
                                          .group = "load",
                                          .interval_s = 1,
                                          .samples = samples + i * count,
                                          .count = count};
    }
    out->series = series;
    out->series_count = count > 0 ? 3 : 0;
    return true;
}

static bool fill_counters(struct trial *trial, struct store_result *out, struct err *err)
{
    struct store_counter *rows =
        ARENA_ARRAY(trial->arena, struct store_counter, trial->counter_start_count + 1);
    if (rows == NULL) {
        return err_memory(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < trial->counter_start_count; i++) {
        const struct counter *start = &trial->counters_start[i];
        for (size_t j = 0; j < trial->counter_end_count; j++) {
            if (strcmp(start->name, trial->counters_end[j].name) == 0) {
                rows[count++] = (struct store_counter){.name = start->name,
                                                       .start = start->value,
                                                       .end = trial->counters_end[j].value,
                                                       .gauge = start->gauge};
            }
        }
    }
    out->counters = rows;
    out->counter_count = count;
    return true;
}

static bool fill_metrics(struct trial *trial, struct store_result *out, struct err *err)
{
    struct load_metric *metrics = NULL;
    size_t count = 0;
    if (!load_result_metrics(&trial->result, trial->arena, &metrics, &count, err)) {
        return false;
    }
    struct store_metric *rows = ARENA_ARRAY(trial->arena, struct store_metric, count + 1);
    struct store_error_row *errors =
        ARENA_ARRAY(trial->arena, struct store_error_row, trial->result.error_row_count + 1);
    if (rows == NULL || errors == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct store_metric){
            .name = metrics[i].name, .value = metrics[i].value, .better = metrics[i].better};
    }
    for (size_t i = 0; i < trial->result.error_row_count; i++) {
        const struct load_error_row *row = &trial->result.errors[i];
        errors[i] = (struct store_error_row){.transaction = row->transaction,
                                             .code = row->code,
                                             .text = row->text,
                                             .count = row->count};
    }
    out->metrics = rows;
    out->metric_count = count;
    out->errors = errors;
    out->error_row_count = trial->result.error_row_count;
    return true;
}

static bool record_result(struct trial *trial, struct err *err)
{
    if (!trial->has_result) {
        return true;
    }
    struct store_result row = {.measured_s = (double)trial->result.measured_ns / 1e9,
                               .warm_up_s = (double)trial->result.warm_up_ns / 1e9,
                               .size_before_bytes = trial->size_before_bytes,
                               .size_after_bytes = trial->size_after_bytes,
                               .output = trial->result.output != NULL ? trial->result.output : ""};
    return fill_metrics(trial, &row, err) && fill_statements(trial, &row, err) &&
           fill_series(trial, &row, err) && fill_counters(trial, &row, err) &&
           store_trial_result(trial->setup->plan->store, trial->id, &row, err);
}

bool trial_end(struct trial *trial, bool ok, struct err *err)
{
    struct plan *plan = trial->setup->plan;
    const char *status = ok ? "done" : trial->err.class == ERR_STOP ? "dropped" : "failed";
    const char *log_tail = trial->log_tail != NULL ? trial->log_tail
                           : ok                    ? ""
                                                   : target_log_tail(&plan->target, trial->arena);
    const char *key = trial_effective_key(trial, trial->arena);
    if (key == NULL) {
        return err_memory(err);
    }
    return record_values(trial, err) && record_result(trial, err) &&
           store_trial_end(plan->store, trial->id, status, ok ? NULL : &trial->err, log_tail, key,
                           "", err);
}
