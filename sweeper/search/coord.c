/*
 * One setting after the other, as by hand: all values of one axis around the best point so far; on
 * to a better one only where it is better by more than the noise of a run; where no axis helps any
 * more, again from another point drawn at random. It is weak where settings depend on each other,
 * and what many expect.
 *
 * The whole walk is played back over the history at each call: a point that was measured is passed,
 * the first one that was not is the next.
 */
#include <math.h>

#include "sweeper/search/design.h"
#include "sweeper/search/grid.h"
#include "sweeper/search/sample.h"

struct walk {
    const struct strategy_spec *spec;
    const struct grid *grid;
    struct space space;
    struct sample sample;
    struct tally *tallies;
    double
        *values; /* [point_count] mean y over what was explored; -INFINITY: it failed; NAN: none */
    size_t *group; /* [feature_count] the axis that a feature belongs to */
    size_t group_count;
    double noise;
};

static bool is_usable(const struct walk *walk, size_t point)
{
    return !(walk->grid->with_baseline && walk->grid->points[point].baseline) &&
           (walk->spec->can_win == NULL || walk->spec->can_win[point]) &&
           (!isnan(walk->values[point]) ||
            tally_unmeasured(walk->spec, walk->grid, walk->tallies, point));
}

/* Settings that one axis sets together are one group. */
static void group_features(struct walk *walk)
{
    const struct grid *grid = walk->grid;
    walk->group_count = grid->axis_count + grid->swept_count;
    for (size_t f = 0; f < walk->space.feature_count; f++) {
        size_t setting = walk->space.setting[f];
        walk->group[f] = grid->axis_count + setting;
        for (size_t a = 0; a < grid->axis_count; a++) {
            const struct axis_choice *first = &grid->axes[a].choices[0];
            for (size_t s = 0; s < first->set_count; s++) {
                walk->group[f] = first->sets[s].swept == setting ? a : walk->group[f];
            }
        }
    }
}

static void fill_values(struct walk *walk, double *counts)
{
    for (size_t i = 0; i < walk->grid->point_count; i++) {
        walk->values[i] = NAN;
    }
    for (size_t i = 0; i < walk->sample.count; i++) {
        const struct observation *row = &walk->sample.rows[i];
        double *value = &walk->values[row->point];
        if (!row->is_explore) {
            continue;
        }
        counts[row->point]++;
        double last = counts[row->point] > 1 ? *value : 0;
        *value = row->is_failed ? -INFINITY : last + (row->y - last) / counts[row->point];
    }
}

static bool walk_open(struct walk *walk, const struct history *history, struct arena *scratch,
                      struct err *err)
{
    const struct grid *grid = walk->grid;
    double *counts = ARENA_ARRAY(scratch, double, grid->point_count + 1);
    walk->values = ARENA_ARRAY(scratch, double, grid->point_count + 1);
    if (counts == NULL || walk->values == NULL) {
        return err_memory(err);
    }
    if (!space_open(walk->spec, grid, scratch, &walk->space, err) ||
        !tally_cells(grid, history, scratch, &walk->tallies, err) ||
        !sample_take(grid, history, history->count, scratch, &walk->sample, err)) {
        return false;
    }
    walk->group = ARENA_ARRAY(scratch, size_t, walk->space.feature_count + 1);
    if (walk->group == NULL) {
        return err_memory(err);
    }
    fill_values(walk, counts);
    group_features(walk);
    walk->noise = isnan(walk->sample.sigma) ? 0 : walk->sample.sigma;
    return true;
}

/* True when two points differ in this group of settings alone. */
static bool is_beside(const struct walk *walk, size_t a, size_t b, size_t group)
{
    bool differs = false;
    for (size_t f = 0; f < walk->space.candidate_count; f++) {
        bool is_equal = space_point(&walk->space, a)[f] == space_point(&walk->space, b)[f];
        if (!is_equal && walk->group[f] != group) {
            return false;
        }
        differs = differs || !is_equal;
    }
    return differs;
}

/* The first open point beside the incumbent, by hash, or SIZE_MAX where all were measured; then
 * *best is the best of them. */
static size_t look_around(const struct walk *walk, size_t incumbent, size_t group, size_t *best)
{
    size_t open = SIZE_MAX;
    uint64_t least = 0;
    *best = SIZE_MAX;
    for (size_t i = 0; i < walk->grid->point_count; i++) {
        if (!is_usable(walk, i) || !is_beside(walk, incumbent, i, group)) {
            continue;
        }
        if (!isnan(walk->values[i])) {
            *best = *best == SIZE_MAX || walk->values[i] > walk->values[*best] ? i : *best;
            continue;
        }
        uint64_t hash = tally_hash(walk->spec->seed, walk->grid->points[i].key, 0);
        if (open == SIZE_MAX || hash < least) {
            least = hash;
            open = i;
        }
    }
    return open;
}

/* From here until no axis helps; the point to measure next, or SIZE_MAX at a summit. Each move is
 * to a better point, so that it ends. */
static size_t climb(const struct walk *walk, size_t from)
{
    size_t incumbent = from;
    bool moved = true;
    if (isnan(walk->values[from])) {
        return from;
    }
    while (moved) {
        moved = false;
        for (size_t turn = 0; turn < walk->group_count; turn++) {
            size_t group = (turn + (uint64_t)walk->spec->seed) % walk->group_count;
            size_t best = SIZE_MAX;
            size_t open = look_around(walk, incumbent, group, &best);
            if (open != SIZE_MAX) {
                return open;
            }
            if (best != SIZE_MAX && walk->values[best] > walk->values[incumbent] + walk->noise) {
                incumbent = best;
                moved = true;
            }
        }
    }
    return SIZE_MAX;
}

/* The first walk starts beside the configuration as found, later ones at points by hash. */
static size_t start_of(const struct walk *walk, uint64_t restart)
{
    size_t start = SIZE_MAX;
    size_t baseline = tally_baseline(walk->grid);
    double least = INFINITY;
    for (size_t i = 0; i < walk->grid->point_count; i++) {
        bool is_first = restart == 0 && baseline != SIZE_MAX;
        if (!is_usable(walk, i)) {
            continue;
        }
        double order =
            is_first ? space_distance(&walk->space, space_point(&walk->space, baseline),
                                      space_point(&walk->space, i))
                     : (double)tally_hash(walk->spec->seed, walk->grid->points[i].key, restart);
        if (start == SIZE_MAX || order < least) {
            least = order;
            start = i;
        }
    }
    return start;
}

static size_t first_unmeasured(const struct walk *walk)
{
    size_t first = SIZE_MAX;
    uint64_t least = 0;
    for (size_t i = 0; i < walk->grid->point_count; i++) {
        uint64_t hash = tally_hash(walk->spec->seed, walk->grid->points[i].key, UINT64_MAX);
        if (isnan(walk->values[i]) && is_usable(walk, i) && (first == SIZE_MAX || hash < least)) {
            least = hash;
            first = i;
        }
    }
    return first;
}

static bool next_cell(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    enum { RESTARTS_MOST = 64 };
    struct walk walk = {.spec = spec, .grid = grid};
    size_t point = SIZE_MAX;
    if (!walk_open(&walk, history, scratch, err)) {
        return false;
    }
    if (tally_unfinished(spec, grid, walk.tallies, out)) {
        return true;
    }
    for (uint64_t restart = 0; point == SIZE_MAX && restart < RESTARTS_MOST; restart++) {
        size_t start = start_of(&walk, restart);
        point = start == SIZE_MAX ? SIZE_MAX : climb(&walk, start);
    }
    point = point != SIZE_MAX ? point : first_unmeasured(&walk);
    *out = (struct proposal){.done = true};
    if (point != SIZE_MAX) {
        (void)tally_propose_cell(spec, grid, walk.tallies, point, 1, out);
    }
    return true;
}

/* Two walks of all axes' values. */
static int64_t extent(const struct strategy_spec *spec, const struct grid *grid)
{
    int64_t values = 1;
    (void)spec;
    for (size_t i = 0; i < grid->axis_count; i++) {
        values +=
            grid->axes[i].kind == SWEPT_WORKLOAD ? 0 : (int64_t)grid->axes[i].choice_count - 1;
    }
    return 2 * values * (int64_t)grid->condition_count;
}

const struct strategy strategy_coord = {
    .name = "coord",
    .sentence =
        "all values of one axis after the other around the best point so far, and again from "
        "another point where none is better by more than the noise",
    .next = next_cell,
    .extent = extent,
    .confirms = CONFIRM_IN_BUDGET,
};
