/*
 * Whether the machine changed while a sweep ran, told by its baseline runs, which are the same
 * configuration again and again. Values are logarithms; times are of any one unit.
 */
#ifndef SWEEPER_STATS_DRIFT_H
#define SWEEPER_STATS_DRIFT_H

#include "sweeper/base/base.h"

#define DRIFT_LEAST_RUNS 8 /* below, a test would say nothing or too much */
#define DRIFT_LIMIT_P 0.05

struct drift {
    size_t count;
    bool is_testable; /* DRIFT_LEAST_RUNS runs, not all the same */
    double ratio;     /* von Neumann's: sum (b[i+1] - b[i])^2 / sum (b[i] - mean)^2; small: drift */
    double p;         /* of a ratio as small in another order of the runs; 1 where not testable */
    bool is_significant; /* testable and p < DRIFT_LIMIT_P */
    double slope;        /* of the straight line through them, per unit of time; NAN below 2 runs */
};

/* The permutation test of von Neumann's ratio: all orders of up to 8 runs, else 10,000 shuffles
 * which are always the same. values and times in the order of time. scratch: count numbers. */
void drift_test(const double *values, const double *times, size_t count, double *scratch,
                struct drift *out);

/* The baseline's level at a time: linear between the runs around it, level beyond the first and
 * last. count > 0. */
double drift_level(const double *values, const double *times, size_t count, double time);

/* The same without run `skip`: what corrects a baseline run must not be that run, which would then
 * seem to have no noise. count > 1. */
double drift_level_without(const double *values, const double *times, size_t count, size_t skip,
                           double time);

#endif
