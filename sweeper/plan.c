/*
 * Builds what a sweep needs before its first trial, in an order in which bad input is found
 * before anything is touched: file, target, grid, layers above the file, and only then the store
 * and the lock. Keeping and comparing with the store is in plan_store.c.
 */
#include "sweeper/plan.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "knobs/catalogue.h"
#include "sweeper/base/log.h"
#include "sweeper/trial_early.h"

enum { ARENA_LIMIT_BYTES = 1 << 30, ADMIT_LIMIT = 256 };

static bool at_key(const struct plan *plan, const char *section, const char *key, struct err *err)
{
    int line = sweepfile_line(&plan->sweep, section, key);
    return line > 0 ? err_origin(err, "%s:%d", plan->sweep.path, line)
                    : err_origin(err, "%s", plan->sweep.path);
}

/* What the sweep file may say but this version cannot do is refused before anything is opened. */
static bool check_supported(const struct plan *plan, struct err *err)
{
    const struct sweep *sweep = &plan->sweep;
    if (strcmp(sweep->between.restart, "always") != 0 && sweep->between.drop_caches) {
        err_set(err, ERR_CODE_sweep_file,
                "trials without a restart keep the caches, which drop_caches would drop");
        at_key(plan, "between", "drop_caches", err);
        return err_hint(err, "use restart = \"always\" with it, or leave it out");
    }
    if (sweep->backend->measure != NULL && sweep->workload.warm_up_max_ms > 0) {
        err_set(err, ERR_CODE_unsupported,
                "backend %s measures by itself, after a warm-up of fixed length",
                sweep->backend->name);
        at_key(plan, "workload", "warm_up", err);
        return err_hint(err, "warm_up = \"60s\";");
    }
    bool only_restart =
        sweep->target.restart != NULL && sweep->target.stop == NULL && sweep->target.start == NULL;
    if (only_restart &&
        (sweep->between.drop_caches || strcmp(sweep->workload.reset, "snapshot") == 0)) {
        err_set(err, ERR_CODE_unsupported,
                "drop_caches and reset = \"snapshot\" need the server stopped in between");
        at_key(plan, sweep->between.drop_caches ? "between" : "workload",
               sweep->between.drop_caches ? "drop_caches" : "reset", err);
        return err_hint(err, "give target.stop and target.start instead of target.restart");
    }
    return true;
}

bool plan_read(struct plan *plan, const char *path, struct err *err)
{
    memset(plan, 0, sizeof *plan);
    arena_open(&plan->arena, ARENA_LIMIT_BYTES);
    return sweepfile_read(path, &plan->arena, &plan->sweep, err) && check_supported(plan, err) &&
           early_check(&plan->sweep, err);
}

void plan_close(struct plan *plan)
{
    target_unlock(&plan->target);
    target_close(&plan->target);
    store_close(plan->store);
    plan->store = NULL;
    arena_close(&plan->arena);
}

/* ---- guard ---- */

static bool guard_lookup(void *context, const char *name, struct rule_value *out, struct err *err)
{
    const struct value_facts *facts = context;
    if (strcmp(name, "host.memory") == 0) {
        *out = (struct rule_value){.kind = RULE_NUMBER, .number = (double)facts->host_memory_bytes};
        return true;
    }
    if (strcmp(name, "host.cpus") == 0) {
        *out = (struct rule_value){.kind = RULE_NUMBER, .number = (double)facts->host_cpu_count};
        return true;
    }
    err_set(err, ERR_CODE_rule, "\"%s\" has no meaning in guard.memory", name);
    return err_hint(err, "use host.memory: \"0.9 * host.memory\"");
}

static bool compute_guard(struct plan *plan, struct err *err)
{
    const char *text = plan->sweep.guard.memory;
    if (strcmp(text, "off") == 0 || plan->target.facts.host_memory_bytes == 0) {
        return true;
    }
    struct rule *rule = NULL;
    double bytes = 0;
    if (!rule_parse(text, &plan->arena, &rule, err) ||
        !rule_number(rule, guard_lookup, &plan->target.facts, &bytes, err)) {
        return err_while(err, "reading guard.memory");
    }
    if (!(bytes >= 1) || bytes > 9e18) {
        return err_set(err, ERR_CODE_rule, "guard.memory comes out as %g bytes", bytes);
    }
    plan->guard_bytes = (int64_t)bytes;
    return true;
}

/* ---- probe ---- */

/* Paths, commands and libraries are not for sweeping: a grid copied from somewhere must not run
 * code on the target. Free text that no catalogue row vouches for counts among them. */
static bool refuse_danger(const struct plan *plan, struct err *err)
{
    size_t count = 0;
    const struct knob *known = catalogue_knobs(plan->sweep.backend->system, &count);
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        const struct swept *swept = &plan->grid.swept[i];
        const struct knob *row = knob_find(known, count, swept->knob->name);
        const char *danger = row != NULL ? row->danger
                             : swept->kind == SWEPT_KNOB && swept->knob->type == KNOB_TEXT
                                 ? "it is free text that the catalogue does not know"
                                 : "";
        if (swept->kind == SWEPT_KNOB && danger[0] != '\0') {
            err_set(err, ERR_CODE_knob_value, "%s is never swept: %s", swept->knob->name, danger);
            err_origin(err, "%s:%d", plan->sweep.path, swept->line);
            return err_hint(err, "remove the axis; set it by hand before the sweep if needed");
        }
    }
    return true;
}

/* Every value of every axis is rendered once, so that one which the file cannot express is a plan
 * error and not a lost trial. */
static bool check_renders(const struct plan *plan, struct err *err)
{
    const struct backend *backend = plan->sweep.backend;
    struct arena scratch;
    struct bytes out = {0};
    bool ok = true;
    if (backend->render == NULL) {
        return true;
    }
    arena_open(&scratch, 64u << 20);
    for (size_t i = 0; ok && i < plan->grid.axis_count; i++) {
        const struct axis *axis = &plan->grid.axes[i];
        for (size_t j = 0; ok && axis->kind == SWEPT_KNOB && j < axis->choice_count; j++) {
            for (size_t k = 0; ok && k < axis->choices[j].set_count; k++) {
                const struct axis_set *set = &axis->choices[j].sets[k];
                struct setting setting = {.knob = plan->grid.swept[set->swept].knob,
                                          .value = set->value};
                ok = backend->render(&plan->target.server, (struct bytes){.data = "", .size = 0},
                                     &setting, 1, &scratch, &out, err);
                if (!ok) {
                    err_origin(err, "%s:%d", plan->sweep.path, axis->line);
                }
            }
            arena_reset(&scratch);
        }
    }
    arena_close(&scratch);
    return ok;
}

bool plan_workload(const struct plan *plan, const struct condition *condition, struct arena *arena,
                   struct workload_spec *out, struct err *err)
{
    *out = plan->sweep.workload;
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        const struct swept *swept = &plan->grid.swept[i];
        if (swept->kind != SWEPT_WORKLOAD || condition->values[i].kind == VALUE_BASELINE) {
            continue;
        }
        const char *text = value_display(swept->knob, &condition->values[i], arena);
        if (text == NULL) {
            return err_memory(err);
        }
        if (!workload_set(out, swept->knob->name, text, arena, err)) {
            return err_while(err, "setting the workload of condition %s", condition->key);
        }
    }
    return workload_check_spec(out, err);
}

static bool at_workload_axis(const struct plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->sweep.axis_count; i++) {
        if (plan->sweep.axes[i].kind == SWEPT_WORKLOAD) {
            return err_origin(err, "%s:%d", plan->sweep.path, plan->sweep.axes[i].line);
        }
    }
    return err_origin(err, "%s", plan->sweep.path);
}

/* Settings that are fine one by one may not be so together. */
static bool check_conditions(struct plan *plan, struct err *err)
{
    const struct session_driver *sessions = plan->sweep.backend->session;
    struct workload_spec ignored;
    for (size_t i = 0; i < plan->grid.condition_count; i++) {
        const struct condition *condition = &plan->grid.conditions[i];
        if (!plan_workload(plan, condition, &plan->arena, &ignored, err) ||
            (sessions != NULL && !workload_examine(&ignored, sessions->dialect, err))) {
            const char *text = plan_condition_text(plan, condition, &plan->arena);
            err_while(err, "combining %s", text != NULL ? text : "?");
            return err->origin[0] != '\0' ? false : at_workload_axis(plan, err);
        }
    }
    return true;
}

/* What axes span and the target cannot be is left out, and `check` says so. */
static bool admit_cell(void *context, size_t point, size_t condition, bool *out, struct err *err)
{
    struct plan *plan = context;
    struct setting settings[ADMIT_LIMIT];
    size_t count = 0;
    for (size_t i = 0; i < plan->grid.swept_count && count < ADMIT_LIMIT; i++) {
        const struct value *value = grid_value(&plan->grid, point, condition, i);
        if (value->kind != VALUE_BASELINE) {
            settings[count++] = (struct setting){.knob = plan->grid.swept[i].knob, .value = *value};
        }
    }
    return plan->sweep.backend->admits(&plan->target.server, settings, count, out, err);
}

static void use_admission(struct plan *plan)
{
    if (plan->sweep.backend->admits != NULL && plan->target.is_open &&
        plan->grid.swept_count <= ADMIT_LIMIT) {
        plan->grid.admits = admit_cell;
        plan->grid.context = plan;
    }
}

/* What strategies know of the server. Where nothing is durable enough to win, all is looked at. */
static bool inform_strategy(struct plan *plan, struct err *err)
{
    struct strategy_spec *spec = &plan->sweep.strategy;
    const struct value *found = plan->target.baseline_values;
    bool *can_win = ARENA_ARRAY(&plan->arena, bool, plan->grid.point_count + 1);
    bool any = false;
    spec->baseline_values = found;
    if (can_win == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < plan->grid.point_count; i++) {
        const struct point *point = &plan->grid.points[i];
        can_win[i] = strcmp(plan->sweep.rank.durability, "any") == 0 ||
                     grid_point_durable(&plan->grid, point->values, found);
        any = any || (can_win[i] && !point->baseline);
    }
    spec->can_win = any ? can_win : NULL;
    return true;
}

static bool build_grid(struct plan *plan, const struct sweep_knob_row *rows, size_t row_count,
                       struct err *err)
{
    if (!sweepfile_grid(&plan->sweep, rows, row_count, &plan->target.facts, &plan->arena,
                        &plan->grid, err)) {
        return false;
    }
    use_admission(plan);
    return refuse_danger(plan, err) && check_renders(plan, err) &&
           target_use_grid(&plan->target, &plan->grid, err) && compute_guard(plan, err) &&
           grid_build(&plan->grid, plan->target.baseline_values, &plan->target.facts,
                      plan->guard_bytes, &plan->arena, err) &&
           check_conditions(plan, err) && plan_check_cycles(plan, err) &&
           inform_strategy(plan, err);
}

/* Without the target only its host's facts are known, and those only when it is this one. */
static bool probe_offline(struct plan *plan, struct err *err)
{
    plan->target.sweep = &plan->sweep;
    plan->target.arena = &plan->arena;
    if (!plan->sweep.has_host && !target_open(&plan->target, &plan->sweep, &plan->arena, err)) {
        return false;
    }
    return build_grid(plan, NULL, 0, err);
}

/* The axes are read against our own catalogue before the server is asked: a typo is reported with
 * its line even when the server is down. Knobs that only the server knows wait for the probe. */
bool plan_probe(struct plan *plan, bool offline, struct err *err)
{
    /* There is nothing to connect to where the backend measures by itself. */
    if (offline && plan->sweep.backend->measure == NULL) {
        return probe_offline(plan, err);
    }
    if (!plan->target.is_open && !target_open(&plan->target, &plan->sweep, &plan->arena, err)) {
        return false;
    }
    if (!target_probe(&plan->target, err) ||
        !build_grid(plan, plan->target.rows, plan->target.row_count, err)) {
        return false;
    }
    plan->baseline_values = plan->target.baseline_values;
    return target_preflight(&plan->target, err);
}

/* ---- recovery ---- */

bool plan_recover(struct plan *plan, struct err *err)
{
    if (access(plan->sweep.store_path, F_OK) != 0) {
        return true;
    }
    struct store_sweep kept;
    bool has_baseline = false;
    if (!store_open(plan->sweep.store_path, STORE_WRITE, &plan->store, err)) {
        return false;
    }
    if (!store_sweep_latest(plan->store, &plan->arena, &kept, err)) {
        if (err->code != ERR_CODE_not_found) {
            return false;
        }
        err_clear(err);
        return true;
    }
    if (!target_open(&plan->target, &plan->sweep, &plan->arena, err) ||
        !store_touched_get(plan->store, kept.sweep_id, &plan->target.is_touched, err)) {
        return false;
    }
    if (!plan->target.is_touched) {
        return true;
    }
    log_line(LOG_WARN, "an earlier run was interrupted: putting the baseline back first");
    return target_recall(&plan->target, plan->store, &kept, &has_baseline, err) &&
           (!has_baseline ||
            (target_lock(&plan->target, plan->sweep.store_path, err) &&
             target_restore(&plan->target, err) && target_tidy(&plan->target, err)));
}

/* ---- texts ---- */

static const char *values_text(const struct plan *plan, const struct value *values,
                               const char *none, struct arena *arena)
{
    struct text text;
    text_open(&text, arena);
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        if (values[i].kind == VALUE_BASELINE) {
            continue;
        }
        const char *shown = value_display(plan->grid.swept[i].knob, &values[i], arena);
        text_addf(&text, "%s%s=%s", text.size > 0 ? " " : "", plan->grid.swept[i].knob->name,
                  shown != NULL ? shown : "?");
    }
    return text.size == 0 && !text.failed ? none : text_done(&text);
}

const char *plan_point_text(const struct plan *plan, const struct point *point, struct arena *arena)
{
    return values_text(plan, point->values, "baseline", arena);
}

const char *plan_condition_text(const struct plan *plan, const struct condition *condition,
                                struct arena *arena)
{
    return values_text(plan, condition->values, "", arena);
}

const char *plan_pruned_reason(const struct plan *plan, const struct pruned *pruned,
                               struct arena *arena)
{
    if (pruned->rule == PRUNED_ABSENT) {
        return "the source has no such point";
    }
    if (pruned->rule != PRUNED_GUARD) {
        return arena_printf(arena, "rule: %s", rule_text(plan->grid.rules[pruned->rule]));
    }
    const char *limit = units_format_size(arena, plan->guard_bytes);
    return arena_printf(arena, "memory guard: its buffers exceed %s (guard.memory = \"%s\")",
                        limit != NULL ? limit : "the limit", plan->sweep.guard.memory);
}
