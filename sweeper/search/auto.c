/*
 * The default: what fits the budget best.
 *
 * Whatever it stands for is decided by the budget as it looked in the beginning, so that a trial
 * which takes a little longer does not change the strategy under way.
 */
#include "sweeper/search/budget.h"
#include "sweeper/search/grid.h"

enum { MODEL_TRIALS = 30 };

static const struct strategy *resolve(const struct strategy_spec *spec, const struct grid *grid,
                                      const struct history *history)
{
    CLEANUP(arena_close) struct arena scratch;
    int64_t trials = budget_trials(spec, history);
    arena_open(&scratch, SIZE_MAX / 2);
    if (trials == INT64_MAX || strategy_grid_extent(spec, grid, &scratch) <= trials) {
        return &strategy_grid;
    }
    return trials >= MODEL_TRIALS ? &strategy_gp : &strategy_race;
}

static bool next_cell(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    return resolve(spec, grid, history)->next(spec, grid, history, scratch, out, err);
}

const struct strategy strategy_auto = {
    .name = "auto",
    .sentence = "grid where there is no budget or the budget holds the whole grid with its "
                "repeats, else gp where it holds 30 trials, else race",
    .next = next_cell,
    .resolve = resolve,
};
