/*
 * Random search: points are drawn without replacement until the budget ends.
 *
 * They are drawn by the wave. A wave gets all its repeats, in blocks, before the next is drawn:
 * whenever the budget ends, nearly every point that was measured has an interval. The grid would
 * by then have measured more points, but each too seldom to tell it from its neighbours; whoever
 * wants that sets rank.repeats = 1.
 */
#include <stdlib.h>

#include "sweeper/search/grid.h"
#include "sweeper/search/tally.h"

enum { WAVE_POINTS = 8 };

struct drawn {
    uint64_t hash;
    size_t point;
};

static int compare_drawn(const void *a, const void *b)
{
    const struct drawn *left = a;
    const struct drawn *right = b;
    if (left->hash != right->hash) {
        return left->hash < right->hash ? -1 : 1;
    }
    return (left->point > right->point) - (left->point < right->point);
}

/* All points in the order in which they are drawn: by a hash of its own, for those of the blocks
 * shuffle within a wave. */
static struct drawn *draw_points(const struct strategy_spec *spec, const struct grid *grid,
                                 struct arena *scratch)
{
    struct drawn *order = ARENA_ARRAY(scratch, struct drawn, grid->point_count);
    for (size_t i = 0; order != NULL && i < grid->point_count; i++) {
        uint64_t hash = tally_hash(spec->seed, grid->points[i].key, UINT64_MAX);
        order[i] = (struct drawn){.hash = hash, .point = i};
    }
    if (order != NULL && grid->point_count > 0) {
        qsort(order, grid->point_count, sizeof *order, compare_drawn);
    }
    return order;
}

static bool next_cell(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    struct tally *tallies = NULL;
    struct tally_best best = {.found = false};
    struct drawn *order = draw_points(spec, grid, scratch);
    if (order == NULL) {
        return err_memory(err);
    }
    if (!tally_cells(grid, history, scratch, &tallies, err)) {
        return false;
    }
    for (size_t i = 0; i < grid->point_count; i++) {
        if (i % WAVE_POINTS == 0 && best.found) {
            break;
        }
        tally_consider(spec, grid, tallies, order[i].point, &best);
    }
    *out = tally_propose(&best);
    return true;
}

const struct strategy strategy_random = {
    .name = "random",
    .sentence = "points drawn at random, never twice, a few at a time and each with its repeats, "
                "until the budget ends or is needed for the confirmation",
    .next = next_cell,
    .confirms = CONFIRM_IN_BUDGET,
};
