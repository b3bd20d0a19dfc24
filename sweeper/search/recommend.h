/*
 * What the search found so far, best first: which points are worth confirming. Whatever strategy
 * chose them, measured points are judged by the model's mean, which shrinks the luck of a single
 * run towards what its neighbours gave.
 */
#ifndef SWEEPER_SEARCH_RECOMMEND_H
#define SWEEPER_SEARCH_RECOMMEND_H

#include "sweeper/search/sample.h"

struct recommended {
    size_t point;
    double mean; /* of the model, in y */
};

/* The `limit` best measured points under one condition, or, where spec.is_geomean, over all of
 * them; the one with the best raw mean is among them. The baseline is left out where it is measured
 * apart, and so is what cannot win. Errors: memory. */
bool recommend(const struct strategy_spec *spec, const struct grid *grid,
               const struct sample *sample, size_t condition, size_t limit, struct arena *scratch,
               struct recommended **out, size_t *out_count, struct err *err) MUST_USE;

#endif
