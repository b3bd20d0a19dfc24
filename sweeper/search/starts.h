/*
 * What servers that did not start teach: which points are not tried any more.
 */
#ifndef SWEEPER_SEARCH_STARTS_H
#define SWEEPER_SEARCH_STARTS_H

#include "sweeper/search/strategy.h"

/* Marks the points that will not start either: for a setting that takes memory once (a pool), from
 * the least value with which a start failed on, provided that two points failed there, none
 * started, and something smaller did. `out` is [point_count]; others become false. */
void starts_forbid(const struct grid *grid, const struct history *history, bool *out);

#endif
