/*
 * Strategy random: points in a seeded random order, each once, until the budget ends. Where a grid
 * does not fit into the night, a random part of it says more than its first rows.
 */
#include "sweeper/search/schedule.h"

static bool next(const struct strategy_spec *spec, const struct grid *grid,
                 const struct history *history, struct arena *scratch, struct proposal *out,
                 struct err *err)
{
    return schedule_next(spec, grid, history, 1, scratch, out, err);
}

const struct strategy strategy_random = {
    .name = "random",
    .sentence = "points in a seeded random order, once each, until the budget ends",
    .next = next};
