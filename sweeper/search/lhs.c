/*
 * A Latin hypercube: as many points as the budget holds with their repeats, spread so that each
 * value of each setting comes about equally often. What it finds depends on no luck in the order,
 * and its points suit the questions that are asked later (effects, models).
 */
#include "sweeper/search/budget.h"
#include "sweeper/search/confirm.h"
#include "sweeper/search/design.h"
#include "sweeper/search/grid.h"

enum { POINTS_PER_FEATURE = 10, BASELINE_EVERY = 10 };

/* Without a budget ten points for each feature. */
static size_t point_count(const struct strategy_spec *spec, const struct grid *grid,
                          const struct space *space, const struct history *history)
{
    int64_t trials = budget_trials(spec, history);
    if (trials == INT64_MAX) {
        return POINTS_PER_FEATURE * (space->candidate_count + 1);
    }
    trials -= confirm_reserve(grid, trials);
    trials -= grid->with_baseline ? (trials + BASELINE_EVERY - 1) / BASELINE_EVERY : 0;
    int64_t points = trials / (spec->repeats * (int64_t)grid->condition_count);
    return points > 1 ? (size_t)points : 1;
}

static bool next_cell(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    struct space space;
    struct tally *tallies = NULL;
    struct tally_best best = {.found = false};
    size_t *points = NULL;
    size_t count = 0;
    if (!tally_cells(grid, history, scratch, &tallies, err) ||
        !space_open(spec, grid, scratch, &space, err) ||
        !design_hypercube(spec, grid, &space, point_count(spec, grid, &space, history), scratch,
                          &points, &count, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        tally_consider(spec, grid, tallies, points[i], &best);
    }
    *out = tally_propose(&best);
    return true;
}

static int64_t extent(const struct strategy_spec *spec, const struct grid *grid)
{
    size_t features = grid->swept_count + 1;
    return (int64_t)(POINTS_PER_FEATURE * features * grid->condition_count) * spec->repeats;
}

const struct strategy strategy_lhs = {
    .name = "lhs",
    .sentence =
        "a Latin hypercube of as many points as the budget holds, all of them once, then all "
        "again until each has its repeats",
    .next = next_cell,
    .extent = extent,
    .confirms = CONFIRM_IN_BUDGET,
};
