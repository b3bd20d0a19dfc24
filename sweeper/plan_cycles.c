/*
 * Whether a window can hold two cycles of the server where their length is swept: in a shorter one
 * the longest interval wins by putting off its work beyond the end.
 */
#include "sweeper/base/log.h"
#include "sweeper/plan.h"

enum { LEAST_CYCLES = 2 };

/* The longest that any point asks for, the baseline's among them; 0: none is known. */
static int64_t longest_us(const struct plan *plan, size_t at)
{
    int64_t longest = 0;
    for (size_t i = 0; i < plan->grid.point_count; i++) {
        const struct value *value = &plan->grid.points[i].values[at];
        if (value->kind == VALUE_BASELINE && plan->target.baseline_values != NULL) {
            value = &plan->target.baseline_values[at];
        }
        if (value->kind == VALUE_INTEGER && value->integer > longest) {
            longest = value->integer;
        }
    }
    return longest;
}

/* Of the conditions whose work writes; 0 where none does, or all end by being complete. */
static bool shortest_window_ms(struct plan *plan, int64_t *out_ms, struct err *err)
{
    struct workload_spec workload;
    *out_ms = 0;
    for (size_t i = 0; i < plan->grid.condition_count; i++) {
        if (!plan_workload(plan, &plan->grid.conditions[i], &plan->arena, &workload, err)) {
            return false;
        }
        workload.scripts_write = workload.scripts_write || plan->sweep.workload.scripts_write;
        if (workload_writes(&workload) && !load_ends_complete(&workload) &&
            (*out_ms == 0 || workload.measure_ms < *out_ms)) {
            *out_ms = workload.measure_ms;
        }
    }
    return true;
}

static bool refuse(const struct plan *plan, size_t at, int64_t interval_us, int64_t window_ms,
                   struct arena *arena, struct err *err)
{
    const char *interval = units_format_duration(arena, interval_us);
    const char *window = units_format_duration(arena, window_ms * 1000);
    const char *needed = units_format_duration(arena, LEAST_CYCLES * interval_us);
    if (interval == NULL || window == NULL || needed == NULL) {
        return err_memory(err);
    }
    if (!plan->sweep.guard.cycles) {
        log_line(LOG_WARN,
                 "%s is swept up to %s and a window of %s holds fewer than two such cycles: "
                 "guard.cycles is off, the trials are flagged",
                 plan->grid.swept[at].knob->name, interval, window);
        return true;
    }
    err_set(err, ERR_CODE_sweep_file,
            "%s is swept up to %s, and a window of %s cannot hold two such cycles: the longest "
            "would win by what it puts off",
            plan->grid.swept[at].knob->name, interval, window);
    err_origin(err, "%s:%d", plan->sweep.path, plan->grid.swept[at].line);
    return err_hint(err, "measure = \"%s\"; or guard = { cycles = false; }, with trials flagged",
                    needed);
}

bool plan_check_cycles(struct plan *plan, struct err *err)
{
    const char *const *names = plan->sweep.backend->interval_knobs;
    int64_t window_ms = 0;
    if (names == NULL) {
        return true;
    }
    if (!shortest_window_ms(plan, &window_ms, err)) {
        return false;
    }
    for (; window_ms > 0 && *names != NULL; names++) {
        size_t at = grid_swept_find(&plan->grid, *names);
        int64_t interval_us = at != SIZE_MAX ? longest_us(plan, at) : 0;
        if (interval_us > 0 && LEAST_CYCLES * interval_us > window_ms * 1000 &&
            !refuse(plan, at, interval_us, window_ms, &plan->arena, err)) {
            return false;
        }
    }
    return true;
}
