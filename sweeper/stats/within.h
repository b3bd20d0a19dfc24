/*
 * How well one run knows its own mean: intervals from within a run, whose seconds are correlated.
 * What differs between runs is not in them.
 */
#ifndef SWEEPER_STATS_WITHIN_H
#define SWEEPER_STATS_WITHIN_H

#include "sweeper/stats/histogram.h"

#define WITHIN_BATCHES 10

/* Both half-widths, and the larger, which is reported. NAN where there are too few samples: three
 * for the effective sample size, ten for batches. */
struct within {
    double mean;
    double effective_count; /* independent samples that would know as much */
    double effective_half;  /* by the effective sample size, from the correlation of neighbours */
    double batch_half;      /* by ten batch means */
    double half;
};
struct within within_of(const double *samples, size_t count, double confidence);

/* A percentile and its interval, in nanoseconds: the percentile of all batches merged, and what the
 * percentiles of the batches say about it. NAN bounds where a batch is empty or there are fewer
 * than two. */
struct within_percentile {
    double value_ns;
    double low_ns;
    double high_ns;
};
struct within_percentile within_percentile_of(const struct histogram *batches, size_t batch_count,
                                              double pct, double confidence);

#endif
