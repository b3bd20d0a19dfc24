/*
 * Search by a Gaussian process: a few points far from each other, then always the one from which
 * most improvement is expected, until little more is expected or the budget is needed for the
 * confirmation.
 *
 * Every point is measured once: what a repeat would tell, the model takes from the neighbours. A
 * chosen point is measured under each condition before the next is chosen. Whatever is decided
 * follows from the history up to there, so that the stop rule can look back at earlier picks.
 */
#include <math.h>

#include "sweeper/search/design.h"
#include "sweeper/search/gp_model.h"
#include "sweeper/search/grid.h"
#include "sweeper/search/tally.h"

enum {
    FIRST_LEAST = 6,
    FIRST_MOST = 12,
    CONSIDERED_MOST = 20000,
    STOP_PICKS = 3,
    STOP_LEAST = 20,
    STRAY_EVERY = 16
};
#define STRAY_BLOCK (UINT64_MAX - 1)

/* One pick, as it looks after the first `trial_count` trials. */
struct pick {
    const struct strategy_spec *spec;
    const struct grid *grid;
    const struct space *space;
    const struct history *history;
    size_t trial_count;
    struct tally *tallies; /* of those trials */
    bool *is_open;         /* [point_count] may be chosen */
    size_t open_count;     /* of is_open */
    size_t explored_count; /* points that were measured, the baseline apart */
    size_t point;          /* chosen; SIZE_MAX: none */
    double improvement;    /* expected, in y; NAN where no model was asked */
    double unit;           /* of y */
};

static bool pick_open(struct pick *pick, struct arena *scratch, struct err *err)
{
    struct history past = *pick->history;
    past.count = pick->trial_count;
    pick->point = SIZE_MAX;
    pick->improvement = NAN;
    pick->is_open = ARENA_ARRAY(scratch, bool, pick->grid->point_count + 1);
    if (pick->is_open == NULL) {
        return err_memory(err);
    }
    if (!tally_cells(pick->grid, &past, scratch, &pick->tallies, err)) {
        return false;
    }
    for (size_t i = 0; i < pick->grid->point_count; i++) {
        bool can_win = pick->spec->can_win == NULL || pick->spec->can_win[i];
        pick->is_open[i] = can_win && tally_unmeasured(pick->spec, pick->grid, pick->tallies, i);
        pick->open_count += pick->is_open[i];
    }
    pick->explored_count = tally_explored(pick->grid, pick->tallies);
    return true;
}

/* ---- expected improvement ---- */

static double expected_improvement(double mean, double sd, double best)
{
    double z = (mean - best) / sd;
    double density = exp(-z * z / 2) / sqrt(2 * acos(-1.0));
    double below = erfc(-z / sqrt(2.0)) / 2;
    return sd * (z * below + density);
}

/* The greatest posterior mean among measured points that can win, per condition. */
static bool find_best(const struct pick *pick, const struct gp *gp, const struct sample *sample,
                      struct arena *scratch, double *best, struct err *err)
{
    const struct grid *grid = pick->grid;
    struct cell_mean *means = NULL;
    if (!sample_means(grid, sample, scratch, &means, err)) {
        return false;
    }
    for (size_t c = 0; c < grid->condition_count; c++) {
        best[c] = -INFINITY;
    }
    for (size_t i = 0; i < grid->point_count; i++) {
        for (size_t c = 0; c < grid->condition_count; c++) {
            double mean = 0;
            double sd = 0;
            if (means[i * grid->condition_count + c].count > 0 &&
                sample_can_win(pick->spec, grid, means, i)) {
                gp_predict(gp, &i, 1, c, &mean, &sd);
                best[c] = fmax(best[c], mean);
            }
        }
    }
    return true;
}

/* Of a huge grid a part, another one each time: every point's turn comes. */
static bool is_considered(const struct pick *pick, size_t point)
{
    uint64_t share = pick->open_count / CONSIDERED_MOST + 1;
    return pick->is_open[point] &&
           (share == 1 ||
            tally_hash(pick->spec->seed, pick->grid->points[point].key, pick->explored_count) %
                    share ==
                0);
}

/* Weighs one batch of points. A condition without any best yet says nothing. */
static void weigh_batch(struct pick *pick, const struct gp *gp, const double *best,
                        const size_t *points, size_t count, double *top)
{
    double means[GP_BATCH];
    double sds[GP_BATCH];
    double sums[GP_BATCH] = {0};
    size_t conditions = pick->grid->condition_count;
    for (size_t c = 0; c < conditions; c++) {
        gp_predict(gp, points, count, c, means, sds);
        for (size_t b = 0; b < count; b++) {
            sums[b] += isinf(best[c]) ? sds[b] : expected_improvement(means[b], sds[b], best[c]);
        }
    }
    for (size_t b = 0; b < count; b++) {
        double improvement = sums[b] / (double)conditions;
        if (improvement > *top || pick->point == SIZE_MAX) {
            *top = improvement;
            pick->point = points[b];
        }
    }
}

static void weigh_all(struct pick *pick, const struct gp *gp, const double *best)
{
    size_t points[GP_BATCH];
    size_t count = 0;
    double top = -INFINITY;
    for (size_t i = 0; i < pick->grid->point_count; i++) {
        if (is_considered(pick, i)) {
            points[count++] = i;
        }
        if (count == GP_BATCH) {
            weigh_batch(pick, gp, best, points, count, &top);
            count = 0;
        }
    }
    if (count > 0) {
        weigh_batch(pick, gp, best, points, count, &top);
    }
    pick->improvement = top;
}

static void believe_running(const struct pick *pick, struct gp *gp)
{
    size_t pending = 0;
    for (size_t i = 0; i < pick->trial_count && pending < GP_PENDING; i++) {
        const struct past_trial *trial = &pick->history->trials[i];
        if (tally_state(pick->history, trial) == TRIAL_RUNNING &&
            trial->point < pick->grid->point_count &&
            trial->condition < pick->grid->condition_count) {
            gp_believe(gp, trial->point, trial->condition, (double)i);
            pending++;
        }
    }
}

static bool ask_model(struct pick *pick, const struct sample *sample, struct arena *scratch,
                      struct err *err)
{
    struct gp gp;
    double *best = ARENA_ARRAY(scratch, double, pick->grid->condition_count);
    if (best == NULL) {
        return err_memory(err);
    }
    if (!gp_open(pick->space, pick->grid, sample, scratch, &gp, err) ||
        !gp_fit(&gp, scratch, err)) {
        return false;
    }
    believe_running(pick, &gp);
    if (!find_best(pick, &gp, sample, scratch, best, err)) {
        return false;
    }
    weigh_all(pick, &gp, best);
    return true;
}

/* ---- the pick ---- */

static size_t first_count(const struct space *space)
{
    size_t count = space->candidate_count + 1;
    return count < FIRST_LEAST ? FIRST_LEAST : count > FIRST_MOST ? FIRST_MOST : count;
}

/* A model of a dozen points that happen to be alike expects little of
 * anything, and has no need of strays yet. */
static size_t stop_least(const struct space *space)
{
    size_t count = 2 * first_count(space);
    return count < STOP_LEAST ? STOP_LEAST : count;
}

/* Now and then a point that the model has no reason to choose: where it is wrong, only that tells.
 * What improvement was expected elsewhere stays said. */
static void stray(struct pick *pick)
{
    uint64_t least = 0;
    pick->point = SIZE_MAX;
    for (size_t i = 0; i < pick->grid->point_count; i++) {
        uint64_t hash = tally_hash(pick->spec->seed, pick->grid->points[i].key, STRAY_BLOCK);
        if (pick->is_open[i] && (pick->point == SIZE_MAX || hash < least)) {
            least = hash;
            pick->point = i;
        }
    }
}

/* Chooses from what the first `trial_count` trials showed. */
static bool choose(struct pick *pick, struct arena *scratch, struct err *err)
{
    struct sample sample;
    if (!pick_open(pick, scratch, err) ||
        !sample_take(pick->grid, pick->history, pick->trial_count, scratch, &sample, err)) {
        return false;
    }
    pick->unit = sample.unit;
    if (pick->open_count == 0) {
        return true;
    }
    if (pick->explored_count < first_count(pick->space) || sample.valid_count < 2) {
        return design_farthest(pick->spec, pick->grid, pick->space, pick->tallies, pick->is_open,
                               pick->explored_count, scratch, &pick->point, err);
    }
    if (!ask_model(pick, &sample, scratch, err)) {
        return false;
    }
    if (pick->explored_count >= stop_least(pick->space) &&
        pick->explored_count % STRAY_EVERY == STRAY_EVERY - 1) {
        stray(pick);
    }
    return true;
}

/* The trial that first measured the point that was explored last before `trial_count`. */
static size_t last_pick(const struct pick *pick, size_t trial_count)
{
    const struct past_trial *trials = pick->history->trials;
    size_t first = SIZE_MAX;
    size_t point = SIZE_MAX;
    for (size_t i = trial_count; i > 0; i--) {
        const struct past_trial *trial = &trials[i - 1];
        if (trial->purpose != PURPOSE_EXPLORE || trial->point >= pick->grid->point_count) {
            continue;
        }
        point = point == SIZE_MAX ? trial->point : point;
        first = trial->point == point ? i - 1 : first;
    }
    return first;
}

/* Little was expected of the last picks either. */
static bool is_exhausted(const struct pick *now, struct arena *scratch, bool *out, struct err *err)
{
    struct pick earlier = *now;
    *out = false;
    if (now->explored_count < stop_least(now->space) && now->open_count > 0) {
        return true;
    }
    for (size_t i = 0; i < STOP_PICKS; i++) {
        if (isnan(earlier.improvement) ||
            earlier.improvement >= now->spec->smallest_gain / 2 * now->unit) {
            return true;
        }
        size_t before = last_pick(now, earlier.trial_count);
        if (i + 1 == STOP_PICKS) {
            break;
        }
        if (before == SIZE_MAX) {
            return true;
        }
        earlier = (struct pick){.spec = now->spec,
                                .grid = now->grid,
                                .space = now->space,
                                .history = now->history,
                                .trial_count = before};
        if (!choose(&earlier, scratch, err)) {
            return false;
        }
    }
    *out = true;
    return true;
}

static bool next_cell(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    struct space space;
    struct pick pick = {.spec = spec,
                        .grid = grid,
                        .space = &space,
                        .history = history,
                        .trial_count = history->count};
    bool is_over = false;
    struct tally *tallies = NULL;
    if (!tally_cells(grid, history, scratch, &tallies, err)) {
        return false;
    }
    if (tally_unfinished(spec, grid, tallies, out)) {
        return true;
    }
    if (!space_open(spec, grid, scratch, &space, err) || !choose(&pick, scratch, err) ||
        !is_exhausted(&pick, scratch, &is_over, err)) {
        return false;
    }
    *out = (struct proposal){.done = true};
    if (!is_over && pick.point != SIZE_MAX) {
        (void)tally_propose_cell(spec, grid, pick.tallies, pick.point, 1, out);
    }
    return true;
}

/* Without a budget the stop rule ends it, in most sweeps before so many points. */
static int64_t extent(const struct strategy_spec *spec, const struct grid *grid)
{
    (void)spec;
    return (int64_t)(60 * grid->condition_count);
}

const struct strategy strategy_gp = {
    .name = "gp",
    .sentence =
        "a Gaussian process chooses the point from which most improvement is expected, each "
        "measured once, until less than half of strategy.smallest_gain is expected or the "
        "confirmation is due",
    .next = next_cell,
    .extent = extent,
    .confirms = CONFIRM_ALWAYS,
};
