/*
 * The strategies that strategy.c lists. `grid` measures everything, `random` what the budget
 * allows; each in a file of its own.
 */
#ifndef SWEEPER_SEARCH_GRID_H
#define SWEEPER_SEARCH_GRID_H

#include "sweeper/search/strategy.h"

extern const struct strategy strategy_grid;
extern const struct strategy strategy_random;

#endif
