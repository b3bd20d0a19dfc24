/*
 * The row of a trial: its beginning, and everything that was measured, read back and said when it
 * ends.
 */
#include <math.h>
#include <string.h>

#include "sweeper/base/log.h"
#include "sweeper/load_rows.h"
#include "sweeper/trial.h"

/* ---- begin ---- */

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
                                   .backend = plan->sweep.backend->name,
                                   .ceiling_per_s = trial->setup->ceilings_per_s[trial->condition],
                                   .session_name = plan->sweep.target.session,
                                   .session = {.connect = sweepfile_session_connect(&plan->sweep),
                                               .password = plan->sweep.target.password,
                                               .settings = trial->settings,
                                               .setting_count = trial->setting_count,
                                               .application = "dbsweep"}};
    struct store_trial_begin row = {.sweep_id = plan->sweep_id,
                                    .call_id = plan->call_id,
                                    .point_id = plan->point_ids[trial->point],
                                    .condition_id = plan->condition_ids[trial->condition],
                                    .purpose = purpose_name(trial->purpose)};
    return plan_workload(plan, &plan->grid.conditions[trial->condition], trial->arena,
                         &trial->job.workload, err) &&
           store_trial_begin(plan->store, &row, &trial->id, err);
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

static bool fill_counters(struct trial *trial, struct store_result *out, struct err *err)
{
    struct store_counter *rows =
        ARENA_ARRAY(trial->arena, struct store_counter, trial->at_start.count + 1);
    if (rows == NULL) {
        return err_memory(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < trial->at_start.count; i++) {
        const struct counter *start = &trial->at_start.rows[i];
        for (size_t j = 0; j < trial->at_end.count; j++) {
            if (strcmp(start->name, trial->at_end.rows[j].name) == 0) {
                rows[count++] = (struct store_counter){.name = start->name,
                                                       .start = start->value,
                                                       .end = trial->at_end.rows[j].value,
                                                       .gauge = start->gauge};
            }
        }
    }
    out->counters = rows;
    out->counter_count = count;
    return true;
}

static bool record_result(struct trial *trial, const char **out_flags, struct err *err)
{
    *out_flags = trial->early.is_lost ? "killed" : "";
    if (!trial->has_result) {
        return true;
    }
    struct store_result row;
    if (!load_rows(&trial->result, trial->arena, &row, err)) {
        return false;
    }
    row.size_before_bytes = trial->size_before_bytes;
    row.size_after_bytes = trial->size_after_bytes;
    return fill_counters(trial, &row, err) && trial_judge(trial, &row, out_flags, err) &&
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
    const char *flags = NULL;
    if (key == NULL) {
        return err_memory(err);
    }
    return record_values(trial, err) && record_result(trial, &flags, err) &&
           store_trial_end(plan->store, trial->id, status, ok ? NULL : &trial->err, log_tail, key,
                           flags, err);
}
