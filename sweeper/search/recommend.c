/*
 * Ranks measured points by the model.
 */
#include "sweeper/search/recommend.h"

#include <math.h>
#include <stdlib.h>

#include "sweeper/search/gp_model.h"
#include "sweeper/search/tally.h"

static int compare_best_first(const void *a, const void *b)
{
    const struct recommended *left = a;
    const struct recommended *right = b;
    if (left->mean < right->mean || left->mean > right->mean) {
        return left->mean > right->mean ? -1 : 1;
    }
    return (left->point > right->point) - (left->point < right->point);
}

/* The raw mean over the conditions that count; NAN where one of them was not measured. */
static double raw_mean(const struct strategy_spec *spec, const struct grid *grid,
                       const struct cell_mean *means, size_t point, size_t condition)
{
    double sum = 0;
    if (!spec->is_geomean) {
        return means[point * grid->condition_count + condition].mean;
    }
    for (size_t i = 0; i < grid->condition_count; i++) {
        if (grid->kept[point * grid->condition_count + i]) {
            sum += means[point * grid->condition_count + i].mean;
        }
    }
    return sum;
}

static double model_mean(const struct strategy_spec *spec, const struct grid *grid,
                         const struct gp *gp, size_t point, size_t condition)
{
    double mean = 0;
    double sd = 0;
    double sum = 0;
    if (!spec->is_geomean) {
        gp_predict(gp, &point, 1, condition, &mean, &sd);
        return mean;
    }
    for (size_t i = 0; i < grid->condition_count; i++) {
        if (grid->kept[point * grid->condition_count + i]) {
            gp_predict(gp, &point, 1, i, &mean, &sd);
            sum += mean;
        }
    }
    return sum;
}

/* All that can be recommended, unsorted; *out_raw is the index of the best raw mean. */
static size_t collect(const struct strategy_spec *spec, const struct grid *grid,
                      const struct gp *gp, const struct cell_mean *means, size_t condition,
                      struct recommended *out, size_t *out_raw)
{
    size_t baseline = tally_baseline(grid);
    size_t count = 0;
    double best = -INFINITY;
    for (size_t i = 0; i < grid->point_count; i++) {
        double raw = raw_mean(spec, grid, means, i, condition);
        if (i == baseline || isnan(raw) || !sample_can_win(spec, grid, means, i)) {
            continue;
        }
        if (raw > best) {
            best = raw;
            *out_raw = i;
        }
        out[count++] =
            (struct recommended){.point = i, .mean = model_mean(spec, grid, gp, i, condition)};
    }
    return count;
}

bool recommend(const struct strategy_spec *spec, const struct grid *grid,
               const struct sample *sample, size_t condition, size_t limit, struct arena *scratch,
               struct recommended **out, size_t *out_count, struct err *err)
{
    struct space space;
    struct gp gp;
    struct cell_mean *means = NULL;
    size_t raw = SIZE_MAX;
    *out = ARENA_ARRAY(scratch, struct recommended, grid->point_count + 1);
    *out_count = 0;
    if (*out == NULL) {
        return err_memory(err);
    }
    if (sample->valid_count == 0 || limit == 0) {
        return true;
    }
    if (!space_open(spec, grid, scratch, &space, err) ||
        !sample_means(grid, sample, scratch, &means, err) ||
        !gp_open(&space, grid, sample, scratch, &gp, err) || !gp_fit(&gp, scratch, err)) {
        return false;
    }
    size_t count = collect(spec, grid, &gp, means, condition, *out, &raw);
    qsort(*out, count, sizeof **out, compare_best_first);
    for (size_t i = limit; i < count; i++) {
        if ((*out)[i].point == raw) {
            (*out)[limit - 1] = (*out)[i];
        }
    }
    *out_count = count < limit ? count : limit;
    return true;
}
