/*
 * The confirmation: what the search found is measured again, beside the baseline and in blocks,
 * before anything is claimed of it. The best of many single runs was in part lucky; runs that were
 * not made to choose it tell what it is worth.
 *
 * The figures of a phase decide which arms go on. All of it follows from the history.
 */
#ifndef SWEEPER_SEARCH_CONFIRM_H
#define SWEEPER_SEARCH_CONFIRM_H

#include "sweeper/search/strategy.h"

/* Arms beside the baseline at most, blocks before one is dropped, blocks that the number of arms
 * leaves room for, and blocks at most (rank.repeats where that is more). */
#define CONFIRM_ARMS 5
#define CONFIRM_BLOCKS 3
#define CONFIRM_BLOCKS_PLANNED 5
#define CONFIRM_BLOCKS_MOST 6

/* What is kept for it out of `trial_count` trials before the search begins: a quarter, or three
 * runs of winner, runner-up and baseline under each condition, but no more than half. */
int64_t confirm_reserve(const struct grid *grid, int64_t trial_count);

/* The phase that the history ends with: everything behind the last trial of the search. */
struct confirm_span {
    size_t begin; /* index of its first trial; history.count where it has not begun */
    bool has_begun;
    bool has_search;     /* something was searched before it */
    int64_t trial_count; /* its trials, without void ones */
};
struct confirm_span confirm_find(const struct grid *grid, const struct history *history);

/* Begins a phase, or goes on with it until its blocks are full, one arm is left, its arms are equal
 * to within spec.smallest_gain, or `left` trials do not hold another block (INT64_MAX: no limit).
 * *out is what it measures next, or done. Errors: memory. */
bool confirm_next(const struct strategy_spec *spec, const struct grid *grid,
                  const struct history *history, int64_t left, struct arena *scratch,
                  struct proposal *out, struct err *err) MUST_USE;

#endif
