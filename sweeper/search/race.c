/*
 * A race: a Latin hypercube is measured once; the best third goes on and is measured again, and so
 * on until what is left has its repeats. For budgets that hold too few trials for a model.
 *
 * Who goes on after a round is judged by the means of the rounds before it, over all conditions
 * alike, so that the judgement stays while the next round is under way.
 */
#include <math.h>
#include <stdlib.h>

#include "sweeper/search/budget.h"
#include "sweeper/search/confirm.h"
#include "sweeper/search/design.h"
#include "sweeper/search/grid.h"
#include "sweeper/search/sample.h"

enum { KEPT_PART = 3, KEPT_LEAST = 5, POINTS_PER_FEATURE = 10, BASELINE_EVERY = 10 };

static size_t kept_of(size_t count)
{
    size_t kept = (count + KEPT_PART - 1) / KEPT_PART;
    kept = kept < KEPT_LEAST ? KEPT_LEAST : kept;
    return kept < count ? kept : count;
}

/* Trials of all rounds that begin with so many points. */
static int64_t cost_of(const struct strategy_spec *spec, size_t points)
{
    int64_t cost = 0;
    for (int64_t round = 0; round < spec->repeats; round++) {
        cost += (int64_t)points;
        points = kept_of(points);
    }
    return cost;
}

static size_t point_count(const struct strategy_spec *spec, const struct grid *grid,
                          const struct space *space, const struct history *history)
{
    int64_t trials = budget_trials(spec, history);
    size_t points = 1;
    if (trials == INT64_MAX) {
        return POINTS_PER_FEATURE * (space->candidate_count + 1);
    }
    trials -= confirm_reserve(grid, trials);
    trials -= grid->with_baseline ? (trials + BASELINE_EVERY - 1) / BASELINE_EVERY : 0;
    int64_t each = trials / (int64_t)grid->condition_count;
    while (points < grid->point_count && cost_of(spec, points + 1) <= each) {
        points++;
    }
    return points;
}

struct runner {
    size_t point;
    double sum; /* of y, over the rounds judged; -INFINITY: failed, or not measured */
};

static int compare_best_first(const void *a, const void *b)
{
    const struct runner *left = a;
    const struct runner *right = b;
    if (left->sum < right->sum || left->sum > right->sum) {
        return left->sum > right->sum ? -1 : 1;
    }
    return (left->point > right->point) - (left->point < right->point);
}

/* The sum of a point's first `rounds` trials under each condition. */
static double sum_of(const struct strategy_spec *spec, const struct grid *grid,
                     const struct sample *sample, size_t point, uint32_t rounds)
{
    double sum = 0;
    if (spec->can_win != NULL && !spec->can_win[point]) {
        return -INFINITY;
    }
    for (size_t c = 0; c < grid->condition_count; c++) {
        uint32_t count = 0;
        for (size_t i = 0; i < sample->count && count < rounds; i++) {
            const struct observation *row = &sample->rows[i];
            if (row->point == point && row->condition == c && row->is_explore) {
                sum += row->is_failed ? -INFINITY : row->y;
                count++;
            }
        }
        if (count < rounds && grid->kept[point * grid->condition_count + c]) {
            return -INFINITY;
        }
    }
    return sum;
}

/* Considers the open trials of one round; false where there is none. */
static bool consider_round(const struct strategy_spec *spec, const struct grid *grid,
                           const struct tally *tallies, const struct runner *runners, size_t count,
                           uint32_t round, struct proposal *out)
{
    struct tally_best best = {.found = false};
    for (size_t i = 0; i < count; i++) {
        struct proposal open;
        if (tally_propose_cell(spec, grid, tallies, runners[i].point, round + 1, &open)) {
            tally_consider(spec, grid, tallies, runners[i].point, &best);
        }
    }
    *out = tally_propose(&best);
    return best.found;
}

static bool next_cell(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    struct space space;
    struct sample sample;
    struct tally *tallies = NULL;
    size_t *points = NULL;
    size_t count = 0;
    if (!tally_cells(grid, history, scratch, &tallies, err) ||
        !space_open(spec, grid, scratch, &space, err) ||
        !sample_take(grid, history, history->count, scratch, &sample, err) ||
        !design_hypercube(spec, grid, &space, point_count(spec, grid, &space, history), scratch,
                          &points, &count, err)) {
        return false;
    }
    struct runner *runners = ARENA_ARRAY(scratch, struct runner, count + 1);
    if (runners == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        runners[i].point = points[i];
    }
    for (uint32_t round = 0; round < spec->repeats; round++) {
        if (consider_round(spec, grid, tallies, runners, count, round, out)) {
            return true;
        }
        for (size_t i = 0; i < count; i++) {
            runners[i].sum = sum_of(spec, grid, &sample, runners[i].point, round + 1);
        }
        qsort(runners, count, sizeof *runners, compare_best_first);
        count = kept_of(count);
        while (count > 0 && isinf(runners[count - 1].sum)) {
            count--;
        }
    }
    *out = (struct proposal){.done = true};
    return true;
}

static int64_t extent(const struct strategy_spec *spec, const struct grid *grid)
{
    size_t points = POINTS_PER_FEATURE * (grid->swept_count + 1);
    return cost_of(spec, points < grid->point_count ? points : grid->point_count) *
           (int64_t)grid->condition_count;
}

const struct strategy strategy_race = {
    .name = "race",
    .sentence =
        "a Latin hypercube measured once, its best third again (five points at least), and so "
        "on until what is left has its repeats",
    .next = next_cell,
    .extent = extent,
    .confirms = CONFIRM_IN_BUDGET,
};
