/*
 * The history as figures to learn from: logarithms in which more is better, the time at which each
 * was taken, and the noise of a run as repeats of the same cell tell it.
 */
#ifndef SWEEPER_SEARCH_SAMPLE_H
#define SWEEPER_SEARCH_SAMPLE_H

#include "sweeper/search/strategy.h"

/* The variance of a trial that was ended early, as many times that of a whole one. */
#define SAMPLE_CENSORED_VARIANCE 4.0

struct observation {
    size_t point;
    size_t condition;
    size_t trial; /* index into history.trials */
    double y;     /* more is better; of a failed trial the worst that its condition has */
    double time;  /* measured trials before this one */
    bool is_failed;
    bool is_censored; /* ended early: a point that has no other trial is not known to be good */
    bool is_confirm;
    bool is_explore; /* or a repeat of one: neither baseline nor confirmation */
};

struct sample {
    struct observation *rows; /* oldest first; of cells in this grid */
    size_t count;
    size_t valid_count;   /* not failed */
    bool is_log;          /* y is ± ln(value); else, where values may be 0 or less, ± value */
    double unit;          /* what 100 % of gain is in y: 1 of logarithms */
    double sigma;         /* of one run, in y; NAN where no cell was measured twice */
    double sigma_degrees; /* of freedom */
};

/* Of the first `trial_count` trials of the history. Errors: memory. */
bool sample_take(const struct grid *grid, const struct history *history, size_t trial_count,
                 struct arena *arena, struct sample *out, struct err *err) MUST_USE;

/* Means over what a cell's trials gave. */
struct cell_mean {
    uint32_t count; /* valid ones that ran to their end */
    uint32_t failed_count;
    double mean; /* of y; NAN without valid ones */
};
/* One for each cell, row = point, as grid.kept. Errors: memory. */
bool sample_means(const struct grid *grid, const struct sample *sample, struct arena *arena,
                  struct cell_mean **out, struct err *err) MUST_USE;

/* True when the point may be the best: durable enough, and more often done than failed. */
bool sample_can_win(const struct strategy_spec *spec, const struct grid *grid,
                    const struct cell_mean *means, size_t point);

#endif
