/*
 * Points spread over the grid without regard to what was measured: Latin hypercubes, and the point
 * that is farthest from those measured.
 */
#ifndef SWEEPER_SEARCH_DESIGN_H
#define SWEEPER_SEARCH_DESIGN_H

#include "sweeper/search/space.h"
#include "sweeper/search/tally.h"

/* A Latin hypercube of up to `wanted` different points that some condition keeps, the baseline's
 * apart: each value of a setting comes about equally often, and of many such designs the one whose
 * points are farthest from each other is taken. Where rules pruned a point, the nearest that is
 * left stands in for it. The order is the design's own. Errors: memory. */
bool design_hypercube(const struct strategy_spec *spec, const struct grid *grid,
                      const struct space *space, size_t wanted, struct arena *scratch,
                      size_t **out_points, size_t *out_count, struct err *err) MUST_USE;

/* Of 64 points drawn from `is_open` [point_count] the one that is farthest from all measured ones;
 * `draw` makes it another draw. *out is SIZE_MAX where none is open. Errors: memory. */
bool design_farthest(const struct strategy_spec *spec, const struct grid *grid,
                     const struct space *space, const struct tally *tallies, const bool *is_open,
                     uint64_t draw, struct arena *scratch, size_t *out, struct err *err) MUST_USE;

#endif
