/*
 * Designs. All randomness comes from the seed by a counter, so that a design is the same whenever
 * it is asked for.
 */
#include "sweeper/search/design.h"

#include <math.h>
#include <string.h>

enum { DRAWN_MOST = 64, DESIGNS_MOST = 200, WORK_MOST = 20000000 };

/* ---- Latin hypercubes ---- */

struct random_source {
    int64_t seed;
    uint64_t count;
};

static uint64_t draw_below(struct random_source *source, uint64_t bound)
{
    return tally_hash(source->seed, "design", source->count++) % bound;
}

static void shuffle(struct random_source *source, uint16_t *values, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = draw_below(source, i);
        uint16_t kept = values[i - 1];
        values[i - 1] = values[other];
        values[other] = kept;
    }
}

/* The distinct coordinates of one feature among the points that may be measured. */
static size_t levels_of(const struct grid *grid, const struct space *space, const bool *usable,
                        size_t feature, uint16_t *out)
{
    bool seen[UINT16_MAX + 1] = {false};
    size_t count = 0;
    for (size_t i = 0; i < grid->point_count; i++) {
        if (usable[i]) {
            seen[space_point(space, i)[feature]] = true;
        }
    }
    for (size_t i = 0; i <= UINT16_MAX; i++) {
        if (seen[i]) {
            out[count++] = (uint16_t)i;
        }
    }
    return count;
}

struct cube {
    const struct space *space;
    size_t count;        /* rows */
    uint16_t **levels;   /* [candidate_count] distinct coordinates */
    size_t *level_count; /* [candidate_count] */
    uint16_t *rows;      /* [count * row_size] */
    uint16_t *column;    /* [count] room */
};

/* Balanced: each level count / levels times, what is left over at random. */
static void fill_cube(struct cube *cube, struct random_source *source)
{
    size_t row_size = cube->space->row_size;
    for (size_t f = 0; f < cube->space->candidate_count; f++) {
        size_t levels = cube->level_count[f];
        size_t first = draw_below(source, levels);
        for (size_t i = 0; i < cube->count; i++) {
            cube->column[i] = cube->levels[f][(first + i) % levels];
        }
        shuffle(source, cube->column, cube->count);
        for (size_t i = 0; i < cube->count; i++) {
            cube->rows[i * row_size + f] = cube->column[i];
        }
    }
}

static double least_distance(const struct cube *cube)
{
    double least = INFINITY;
    size_t row_size = cube->space->row_size;
    for (size_t i = 0; i < cube->count; i++) {
        for (size_t j = 0; j < i; j++) {
            least = fmin(least, space_distance(cube->space, &cube->rows[i * row_size],
                                               &cube->rows[j * row_size]));
        }
    }
    return least;
}

static bool open_cube(const struct grid *grid, const struct space *space, const bool *usable,
                      size_t count, struct arena *scratch, struct cube *out)
{
    size_t features = space->candidate_count;
    *out = (struct cube){.space = space,
                         .count = count,
                         .levels = ARENA_ARRAY(scratch, uint16_t *, features + 1),
                         .level_count = ARENA_ARRAY(scratch, size_t, features + 1),
                         .rows = ARENA_ARRAY(scratch, uint16_t, count * space->row_size),
                         .column = ARENA_ARRAY(scratch, uint16_t, count)};
    bool ok =
        out->levels != NULL && out->level_count != NULL && out->rows != NULL && out->column != NULL;
    for (size_t f = 0; ok && f < features; f++) {
        out->levels[f] = ARENA_ARRAY(scratch, uint16_t, grid->point_count + 1);
        ok = out->levels[f] != NULL;
        out->level_count[f] = ok ? levels_of(grid, space, usable, f, out->levels[f]) : 0;
    }
    return ok;
}

/* The best of many, as many as the work allows. */
static bool best_cube(const struct strategy_spec *spec, struct cube *cube, struct arena *scratch)
{
    size_t size = cube->count * cube->space->row_size;
    uint16_t *best = ARENA_ARRAY(scratch, uint16_t, size + 1);
    struct random_source source = {.seed = spec->seed};
    double work = (double)size * (double)cube->count / 2 + 1;
    size_t designs = (size_t)fmin(fmax(WORK_MOST / work, 1), DESIGNS_MOST);
    double farthest = -1;
    if (best == NULL) {
        return false;
    }
    for (size_t i = 0; i < designs; i++) {
        fill_cube(cube, &source);
        double least = least_distance(cube);
        if (least > farthest) {
            farthest = least;
            memcpy(best, cube->rows, size * sizeof *best);
        }
    }
    memcpy(cube->rows, best, size * sizeof *best);
    return true;
}

/* The free point nearest to a row; by hash among equals. */
static size_t nearest_point(const struct strategy_spec *spec, const struct grid *grid,
                            const struct space *space, const bool *free, const uint16_t *row)
{
    size_t nearest = SIZE_MAX;
    double least = INFINITY;
    for (size_t i = 0; i < grid->point_count; i++) {
        if (!free[i]) {
            continue;
        }
        double distance = space_distance(space, space_point(space, i), row);
        bool is_equal = nearest != SIZE_MAX && !(distance < least) && !(distance > least);
        if (distance < least ||
            (is_equal && tally_hash(spec->seed, grid->points[i].key, 0) <
                             tally_hash(spec->seed, grid->points[nearest].key, 0))) {
            least = distance;
            nearest = i;
        }
    }
    return nearest;
}

static size_t mark_usable(const struct grid *grid, bool *out)
{
    size_t count = 0;
    for (size_t i = 0; i < grid->point_count; i++) {
        bool is_kept = false;
        for (size_t j = 0; j < grid->condition_count; j++) {
            is_kept = is_kept || grid->kept[i * grid->condition_count + j];
        }
        out[i] = is_kept && !(grid->with_baseline && grid->points[i].baseline);
        count += out[i];
    }
    return count;
}

bool design_hypercube(const struct strategy_spec *spec, const struct grid *grid,
                      const struct space *space, size_t wanted, struct arena *scratch,
                      size_t **out_points, size_t *out_count, struct err *err)
{
    struct cube cube;
    bool *usable = ARENA_ARRAY(scratch, bool, grid->point_count + 1);
    *out_count = 0;
    if (usable == NULL) {
        return err_memory(err);
    }
    size_t usable_count = mark_usable(grid, usable);
    size_t count = wanted < usable_count ? wanted : usable_count;
    *out_points = ARENA_ARRAY(scratch, size_t, count + 1);
    if (*out_points == NULL || !open_cube(grid, space, usable, count + 1, scratch, &cube)) {
        return err_memory(err);
    }
    cube.count = count;
    if (count > 0 && !best_cube(spec, &cube, scratch)) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        size_t point = nearest_point(spec, grid, space, usable, &cube.rows[i * space->row_size]);
        usable[point] = false;
        (*out_points)[(*out_count)++] = point;
    }
    return true;
}

/* ---- the farthest ---- */

struct drawn {
    uint64_t hash;
    size_t point;
};

/* Keeps the DRAWN_MOST of least hash, in order. */
static void keep_drawn(struct drawn *drawn, size_t *count, struct drawn next)
{
    if (*count == DRAWN_MOST && next.hash >= drawn[*count - 1].hash) {
        return;
    }
    size_t at = *count < DRAWN_MOST ? (*count)++ : *count - 1;
    while (at > 0 && drawn[at - 1].hash > next.hash) {
        drawn[at] = drawn[at - 1];
        at--;
    }
    drawn[at] = next;
}

static double distance_to(const struct space *space, const size_t *measured, size_t count,
                          size_t point)
{
    double least = INFINITY;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, space_distance(space, space_point(space, measured[i]),
                                           space_point(space, point)));
    }
    return least;
}

bool design_farthest(const struct strategy_spec *spec, const struct grid *grid,
                     const struct space *space, const struct tally *tallies, const bool *is_open,
                     uint64_t draw, struct arena *scratch, size_t *out, struct err *err)
{
    struct drawn drawn[DRAWN_MOST];
    size_t drawn_count = 0;
    size_t measured_count = 0;
    double farthest = -1;
    size_t *measured = ARENA_ARRAY(scratch, size_t, grid->point_count + 1);
    *out = SIZE_MAX;
    if (measured == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < grid->point_count; i++) {
        bool is_measured = false;
        for (size_t j = 0; j < grid->condition_count; j++) {
            is_measured = is_measured || tallies[i * grid->condition_count + j].measured_count > 0;
        }
        if (is_measured) {
            measured[measured_count++] = i;
        }
        if (is_open[i]) {
            uint64_t hash = tally_hash(spec->seed, grid->points[i].key, ~draw);
            keep_drawn(drawn, &drawn_count, (struct drawn){.hash = hash, .point = i});
        }
    }
    for (size_t i = 0; i < drawn_count; i++) {
        double distance = distance_to(space, measured, measured_count, drawn[i].point);
        if (distance > farthest) {
            farthest = distance;
            *out = drawn[i].point;
        }
    }
    return true;
}
