/*
 * `dbsweep check`: what would be measured, what it takes, and what would be written. Changes
 * nothing, neither the target nor the store.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/noise.h"
#include "sweeper/base/log.h"
#include "sweeper/commands.h"
#include "sweeper/load/workload.h"
#include "sweeper/plan.h"
#include "sweeper/search/tally.h"

enum { SHOWN_PRUNED = 20 };

static void add_points(const struct plan *plan, struct arena *arena, struct text *out)
{
    const struct grid *grid = &plan->grid;
    text_add(out, "points:\n");
    for (size_t i = 0; i < grid->point_count; i++) {
        for (size_t j = 0; j < grid->condition_count; j++) {
            if (!grid->kept[i * grid->condition_count + j]) {
                continue;
            }
            const char *point = plan_point_text(plan, &grid->points[i], arena);
            const char *condition = plan_condition_text(plan, &grid->conditions[j], arena);
            text_addf(out, "  %s%s%s\n", point, condition[0] != '\0' ? " | " : "", condition);
        }
    }
}

static void add_pruned(const struct plan *plan, bool all, struct arena *arena, struct text *out)
{
    const struct grid *grid = &plan->grid;
    size_t shown = all || grid->pruned_count < SHOWN_PRUNED ? grid->pruned_count : SHOWN_PRUNED;
    if (grid->pruned_count == 0) {
        return;
    }
    text_addf(out, "pruned (%zu):\n", grid->pruned_count);
    for (size_t i = 0; i < shown; i++) {
        const struct pruned *pruned = &grid->pruned[i];
        const char *point = plan_point_text(plan, &grid->points[pruned->point], arena);
        const char *condition =
            plan_condition_text(plan, &grid->conditions[pruned->condition], arena);
        const char *reason = plan_pruned_reason(plan, pruned, arena);
        text_addf(out, "  %s%s%s: %s\n", point, condition[0] != '\0' ? " | " : "", condition,
                  reason != NULL ? reason : "?");
    }
    if (shown < grid->pruned_count) {
        text_addf(out, "  … and %zu more: --points lists them\n", grid->pruned_count - shown);
    }
}

/* As exact as a guess may look: whole seconds, from ten minutes on whole minutes. */
static const char *about(int64_t time_ms, struct arena *arena)
{
    int64_t step_ms = time_ms < 600000 ? 1000 : 60000;
    int64_t rounded_ms = (time_ms + step_ms - 1) / step_ms * step_ms;
    return units_format_duration(arena, rounded_ms * 1000);
}

static void add_cost(const struct plan *plan, struct arena *arena, struct text *out)
{
    const struct sweep *sweep = &plan->sweep;
    struct history empty = {.trials = NULL};
    int64_t trials = strategy_remaining(&sweep->strategy, &plan->grid, &empty);
    bool ends_early = load_ends_complete(&sweep->workload) || sweep->workload.warm_up_max_ms > 0;
    bool restarts = strcmp(sweep->between.restart, "always") == 0;
    bool is_instant = sweep->backend->measure != NULL;
    const char *length = about(trials * sweep->strategy.planned_ms, arena);
    text_addf(out, "trials:     %lld, the baseline's among them; restarts: %s%lld\n",
              (long long)trials, restarts ? "" : "at most ", (long long)trials);
    if (is_instant) {
        text_add(out, "time:       seconds: it measures by itself, in a time of its own\n");
        return;
    }
    text_addf(out, "time:       %s %s (windows, and %d s a trial for the restart)\n",
              ends_early ? "at most" : "about", length != NULL ? length : "?",
              SWEEP_RESTART_GUESS_MS / 1000);
}

static void add_found(const struct plan *plan, struct arena *arena, struct text *out)
{
    const struct target *target = &plan->target;
    text_add(out, "knobs as found:\n");
    for (size_t i = 0; i < target->row_count; i++) {
        const char *value = value_display(target->rows[i].knob, &target->found[i].value, arena);
        text_addf(out, "  %-32s %-16s %s%s%s\n", target->rows[i].name, value,
                  source_kind_name(target->found[i].source),
                  target->found[i].detail[0] != '\0' ? ", " : "", target->found[i].detail);
    }
}

/* ---- the rendered change ---- */

static size_t line_length(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline == NULL ? (size_t)(end - at) : (size_t)(newline - at) + 1;
}

static bool line_in(const char *line, size_t length, struct bytes where)
{
    const char *at = where.data;
    const char *end = where.data + where.size;
    while (at < end) {
        size_t other = line_length(at, end);
        if (other == length && memcmp(at, line, length) == 0) {
            return true;
        }
        at += other;
    }
    return false;
}

/* Only lines that differ are shown, so nothing else of the file (a password, say) ever is. */
static void add_lines_not_in(struct bytes from, struct bytes other, char sign, struct text *out)
{
    const char *at = from.data;
    const char *end = from.data + from.size;
    while (at < end) {
        size_t length = line_length(at, end);
        if (!line_in(at, length, other)) {
            bool has_newline = at[length - 1] == '\n';
            text_addf(out, "    %c %.*s\n", sign, (int)(length - has_newline), at);
        }
        at += length;
    }
}

static bool add_diff(const struct plan *plan, const struct point *point, struct arena *arena,
                     struct text *out, struct err *err)
{
    const struct target *target = &plan->target;
    struct bytes before = {0};
    struct bytes after = {0};
    struct host_file file = {0};
    struct setting *settings = NULL;
    size_t count = 0;
    if (!host_get(target->host, target->server.facts.config_path, clock_deadline_ms(30000), arena,
                  &before, &file, err) ||
        !target_settings(target, point, arena, &settings, &count, err) ||
        !plan->sweep.backend->render(&target->server, before, settings, count, arena, &after,
                                     err)) {
        return false;
    }
    text_addf(out, "  %s\n", plan_point_text(plan, point, arena));
    add_lines_not_in(before, after, '-', out);
    add_lines_not_in(after, before, '+', out);
    return true;
}

static bool add_diffs(const struct plan *plan, bool all, struct arena *arena, struct text *out,
                      struct err *err)
{
    const struct grid *grid = &plan->grid;
    if (plan->sweep.backend->render == NULL) {
        return true;
    }
    text_addf(out, "changes to %s%s:\n", plan->target.server.facts.config_path,
              all ? "" : ", first point (--points shows all)");
    for (size_t i = 0; i < grid->point_count; i++) {
        if (grid->points[i].baseline) {
            continue;
        }
        if (!add_diff(plan, &grid->points[i], arena, out, err)) {
            return false;
        }
        if (!all) {
            break;
        }
    }
    return true;
}

static bool describe(struct plan *plan, const struct cli *cli, struct text *out, struct err *err)
{
    struct arena *arena = &plan->arena;
    bool is_offline = cli_has(cli, "--offline");
    bool all = cli_has(cli, "--points");
    const struct server_facts *facts = &plan->target.server.facts;
    text_addf(out, "sweep:      %s (%s)\n", plan->sweep.name, plan->sweep.path);
    if (!is_offline) {
        text_addf(out, "target:     %s %s on %s\n", facts->product, facts->version,
                  plan->target.host->label);
        text_addf(out, "start:      %s\n", facts->start_method != NULL ? facts->start_method : "?");
    }
    text_addf(out, "store:      %s\n", plan->sweep.store_path);
    text_addf(out, "points:     %zu; conditions: %zu; measured combinations: %zu\n",
              plan->grid.point_count, plan->grid.condition_count, plan->grid.kept_count);
    add_cost(plan, arena, out);
    if (!is_offline) {
        add_found(plan, arena, out);
    }
    add_pruned(plan, all, arena, out);
    if (all) {
        add_points(plan, arena, out);
    }
    return is_offline || add_diffs(plan, all, arena, out, err);
}

/* What the sweep will be able to tell apart, by the baseline's runs that the store holds. */
static bool add_detectable(struct plan *plan, struct text *out, struct err *err)
{
    struct store *store = NULL;
    struct noise noise = {.sd = NAN};
    if (access(plan->sweep.store_path, F_OK) == 0) {
        bool ok = store_open(plan->sweep.store_path, STORE_READ, &store, err) &&
                  noise_load(store, false, &plan->arena, &noise, err);
        store_close(store);
        /* A store in which no sweep began yet tells nothing. */
        if (!ok && err->code != ERR_CODE_not_found) {
            return false;
        }
        err_clear(err);
    }
    struct noise_power power =
        noise_power_of(&noise,
                       tally_baseline(&plan->grid) != SIZE_MAX ? plan->grid.point_count - 1
                                                               : plan->grid.point_count,
                       (size_t)plan->sweep.strategy.repeats);
    noise_put_detectable(&noise, &power, out);
    return true;
}

int command_check(const struct cli *cli)
{
    struct plan plan = {0};
    struct err err;
    struct text text;
    err_clear(&err);
    text_open(&text, &plan.arena);
    bool ok = plan_read(&plan, cli->operands[0], &err) &&
              plan_probe(&plan, cli_has(cli, "--offline"), &err) &&
              describe(&plan, cli, &text, &err);
    bool is_touched = false;
    bool fits = ok && plan_foresee(&plan, cli_has(cli, "--offline"), &is_touched, &err);
    ok = ok && (!fits || add_detectable(&plan, &text, &err));
    if (is_touched) {
        text_add(&text, "an earlier run was interrupted: run puts the baseline back first\n");
    }
    const char *printed = ok ? text_done(&text) : NULL;
    if (ok && printed == NULL) {
        ok = err_memory(&err);
    }
    int status = ok ? command_print(printed) : 0;
    if (!ok || (status == 0 && !fits)) {
        status = command_fail_target(&err);
    }
    plan_close(&plan);
    return status;
}
