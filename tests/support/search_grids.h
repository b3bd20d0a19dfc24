/*
 * Made-up grids for the proofs of strategies: sums of effects with a pair, a plateau, a cliff of
 * points that fail, a valley that deceives, and two well-known functions.
 */
#ifndef TESTS_SUPPORT_SEARCH_GRIDS_H
#define TESTS_SUPPORT_SEARCH_GRIDS_H

#include "tests/support/search_sim.h"

enum { SEARCH_COLUMNS_MOST = 8 };

/* The full product of so many levels, as texts "0", "1", ... */
static inline void search_product(struct search_set *set, const char *name, const size_t *levels,
                                  size_t columns, struct arena *room)
{
    size_t rows = 1;
    for (size_t j = 0; j < columns; j++)
        rows *= levels[j];
    const char **cells = ARENA_ARRAY(room, const char *, rows *columns);
    for (size_t i = 0; i < rows; i++) {
        size_t rest = i;
        for (size_t j = columns; j > 0; j--) {
            cells[i * columns + j - 1] = arena_printf(room, "%zu", rest % levels[j - 1]);
            rest /= levels[j - 1];
        }
    }
    sim_make_set(set, name, rows, columns, cells, room);
}

static inline double search_level(const struct search_set *set, size_t point, size_t column)
{
    return set->grid.points[point].values[column].real;
}

/* A coordinate in 0..1. */
static inline double search_at(const struct search_set *set, size_t point, size_t column,
                               size_t levels)
{
    return search_level(set, point, column) / (double)(levels - 1);
}

/* Effects of each value, and of each pair of values of the first two axes. */
static inline void search_grid_additive(struct search_set *set, uint64_t seed, struct arena *room)
{
    static const size_t levels[] = {4, 4, 3, 3, 2};
    search_product(set, "additive", levels, COUNT_OF(levels), room);
    for (size_t i = 1; i < set->grid.point_count; i++) {
        for (size_t j = 0; j < COUNT_OF(levels); j++)
            set->truth[i] += 0.08 * sim_normal(seed, j, (uint64_t)search_level(set, i, j));
        uint64_t pair = (uint64_t)(4 * search_level(set, i, 0) + search_level(set, i, 1));
        set->truth[i] += 0.08 * sim_normal(seed, 99, pair);
    }
    sim_choose_baseline(set, room);
    sim_close_set(set);
}

/* From a knee on nothing gets better: many points are the best. */
static inline void search_grid_plateau(struct search_set *set, struct arena *room)
{
    static const size_t levels[] = {6, 6, 4, 3};
    search_product(set, "plateau", levels, COUNT_OF(levels), room);
    for (size_t i = 1; i < set->grid.point_count; i++)
        set->truth[i] = -0.10 * fmax(0, 3 - search_level(set, i, 0)) -
                        0.06 * fmax(0, 2 - search_level(set, i, 1));
    sim_choose_baseline(set, room);
    sim_close_set(set);
}

/* The more of two axes the better, until both together are too much: then it fails. */
static inline void search_grid_cliff(struct search_set *set, struct arena *room)
{
    static const size_t levels[] = {8, 8, 4};
    search_product(set, "cliff", levels, COUNT_OF(levels), room);
    for (size_t i = 1; i < set->grid.point_count; i++) {
        set->truth[i] = 0.04 * search_level(set, i, 0) + 0.03 * search_level(set, i, 1) -
                        0.02 * fabs(search_level(set, i, 2) - 1);
        set->is_failing[i] = search_level(set, i, 0) + search_level(set, i, 1) >= 11;
    }
    sim_choose_baseline(set, room);
    sim_close_set(set);
}

/* A broad slope leads away from a narrow summit. */
static inline void search_grid_valley(struct search_set *set, struct arena *room)
{
    static const size_t levels[] = {9, 9, 3, 2};
    search_product(set, "valley", levels, COUNT_OF(levels), room);
    for (size_t i = 1; i < set->grid.point_count; i++) {
        double x = search_at(set, i, 0, 9);
        double y = search_at(set, i, 1, 9);
        double far = ((x - 0.125) * (x - 0.125) + (y - 0.25) * (y - 0.25)) / 0.03;
        set->truth[i] = 0.20 * (x + y) / 2 + 0.35 * exp(-far) + 0.02 * search_level(set, i, 2) -
                        0.03 * search_level(set, i, 3);
    }
    sim_choose_baseline(set, room);
    sim_close_set(set);
}

static inline void search_grid_branin(struct search_set *set, struct arena *room)
{
    static const size_t levels[] = {16, 16};
    const double pi = acos(-1.0);
    search_product(set, "Branin", levels, COUNT_OF(levels), room);
    for (size_t i = 1; i < set->grid.point_count; i++) {
        double x = -5 + 15 * search_at(set, i, 0, 16);
        double y = 15 * search_at(set, i, 1, 16);
        double bowl = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
        double value = bowl * bowl + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10;
        set->truth[i] = -value / 200;
    }
    sim_choose_baseline(set, room);
    sim_close_set(set);
}

static inline void search_grid_hartmann(struct search_set *set, struct arena *room)
{
    static const size_t levels[] = {4, 4, 4, 4, 4, 4};
    static const double weight[] = {1.0, 1.2, 3.0, 3.2};
    static const double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {0.05, 10, 17, 0.1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, 0.05, 10, 0.1, 14}};
    static const double p[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                   {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                   {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                   {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    search_product(set, "Hartmann", levels, COUNT_OF(levels), room);
    for (size_t i = 1; i < set->grid.point_count; i++) {
        double sum = 0;
        for (size_t k = 0; k < 4; k++) {
            double inner = 0;
            for (size_t j = 0; j < 6; j++) {
                double off = search_at(set, i, j, 4) - p[k][j];
                inner += a[k][j] * off * off;
            }
            sum += weight[k] * exp(-inner);
        }
        set->truth[i] = sum / 5;
    }
    sim_choose_baseline(set, room);
    sim_close_set(set);
}

#endif
