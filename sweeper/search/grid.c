/*
 * The grid: every cell, as often as asked.
 *
 * Repeats come in blocks, so that what drifts over a night (caches, other machines, heat) falls on
 * all points alike and a sweep that is stopped early knows every point about equally well. Each
 * block has a shuffled order of its own. A point's conditions follow each other.
 */
#include "sweeper/search/grid.h"
#include "sweeper/search/tally.h"

static bool next_cell(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    struct tally *tallies = NULL;
    struct tally_best best = {.found = false};
    if (!tally_cells(grid, history, scratch, &tallies, err)) {
        return false;
    }
    for (size_t i = 0; i < grid->point_count; i++) {
        tally_consider(spec, grid, tallies, i, &best);
    }
    *out = tally_propose(&best);
    return true;
}

const struct strategy strategy_grid = {
    .name = "grid",
    .sentence = "every point, in blocks: all of them once in shuffled order, then all again until "
                "each has its repeats",
    .next = next_cell,
};
