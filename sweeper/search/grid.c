/*
 * Strategy grid: every point, in shuffled blocks of repeats.
 */
#include "sweeper/search/schedule.h"

static bool next(const struct strategy_spec *spec, const struct grid *grid,
                 const struct history *history, struct arena *scratch, struct proposal *out,
                 struct err *err)
{
    return schedule_next(spec, grid, history, spec->repeats, scratch, out, err);
}

const struct strategy strategy_grid = {
    .name = "grid", .sentence = "every point, in shuffled blocks of repeats", .next = next};

const struct strategy strategy_auto = {
    .name = "auto", .sentence = "in this version: as grid; the budget ends it", .next = next};
