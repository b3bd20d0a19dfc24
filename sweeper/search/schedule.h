/*
 * Shared by the strategies: what is kept and done, and an order that does not change when points
 * are added. Not for others.
 */
#ifndef SWEEPER_SEARCH_SCHEDULE_H
#define SWEEPER_SEARCH_SCHEDULE_H

#include "sweeper/search/strategy.h"

extern const struct strategy strategy_auto;
extern const struct strategy strategy_grid;
extern const struct strategy strategy_random;

bool schedule_is_kept(const struct grid *grid, size_t point, size_t condition);
/* Trials of a cell that ended or are under way, baselines apart. */
int64_t schedule_done(const struct history *history, size_t point, size_t condition);

/* Finds the first cell that has fewer than its trials: block by block (all first trials before any
 * second), points in the order of a hash of seed, block and key, conditions of a point one after
 * the other. */
bool schedule_next(const struct strategy_spec *spec, const struct grid *grid,
                   const struct history *history, int64_t repeats, struct arena *scratch,
                   struct proposal *out, struct err *err) MUST_USE;

#endif
