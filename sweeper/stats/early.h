/*
 * Whether a run under way can still become the best: a sequential test on its seconds against the
 * incumbent, the best point so far. It is asked at a few looks alone, and pays for each of them.
 *
 * At a look, with L seconds seen: the run is lost where
 *
 *   mean_L + q * SE < (1 - m) * incumbent * exp(-z * sd * sqrt(1 + 1 / n))
 *
 * SE is the larger of the standard errors by batch means and by the effective sample size
 * (within.h), q = t(1 - 0.01 / looks, 9), m = 3 %, sd and n the deviation of runs and the number of
 * the incumbent's; z = t(0.95) on the degrees of freedom that sd has, 1.645 where it is known well.
 */
#ifndef SWEEPER_STATS_EARLY_H
#define SWEEPER_STATS_EARLY_H

#include "sweeper/base/base.h"

#define EARLY_LOOK_LIMIT 16
#define EARLY_LEAST_DEGREES 2

struct early_rule {
    double incumbent;       /* its mean; higher is better */
    size_t incumbent_count; /* its runs */
    double sd;              /* of runs, of the logarithm */
    double degrees;         /* of freedom of sd, at least EARLY_LEAST_DEGREES; INFINITY: known */
    size_t look_count;      /* that are planned */
};

struct early_look {
    double mean;  /* of the seconds so far */
    double high;  /* what it may truly be at the most */
    double limit; /* what it would have to reach */
    bool is_lost;
};

/* Samples are one a second; fewer than ten are never enough. */
struct early_look early_look_at(const struct early_rule *rule, const double *samples, size_t count);

/* When to look, in seconds of the window, all before its end: at whole cycles where `cycle_s` is
 * above 0, else after `first_s` and 1.5, 2.5, 3.75 and 5 times that. Returns how many. */
size_t early_looks(size_t window_s, size_t first_s, size_t cycle_s, size_t out[EARLY_LOOK_LIMIT]);

#endif
