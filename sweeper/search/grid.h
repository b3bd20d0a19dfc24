/*
 * The strategies that strategy.c lists, each in a file of its own.
 */
#ifndef SWEEPER_SEARCH_GRID_H
#define SWEEPER_SEARCH_GRID_H

#include "sweeper/search/strategy.h"

extern const struct strategy strategy_grid;
extern const struct strategy strategy_random;
extern const struct strategy strategy_auto;
extern const struct strategy strategy_lhs;
extern const struct strategy strategy_coord;
extern const struct strategy strategy_race;
extern const struct strategy strategy_gp;

/* Trials of a grid from its beginning to its end, baselines among them; INT64_MAX where memory
 * ends. */
int64_t strategy_grid_extent(const struct strategy_spec *spec, const struct grid *grid,
                             struct arena *scratch);

#endif
