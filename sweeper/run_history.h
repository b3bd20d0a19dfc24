/*
 * The store's trials as strategies see them, and what follows for the clock: typical durations,
 * the ETA, whether one more trial fits.
 */
#ifndef SWEEPER_RUN_HISTORY_H
#define SWEEPER_RUN_HISTORY_H

#include "sweeper/plan.h"

struct run_history {
    struct history history;
    const double *throughputs; /* [history.count] per second; NAN where there is none */
    int64_t finished_count;    /* done or failed, of points in this grid */
    int64_t typical_ms;        /* median of the last ended trials; 0 none yet */
};

bool run_history_load(const struct plan *plan, struct arena *arena, struct run_history *out,
                      struct err *err) MUST_USE;

/* The best single run so far under one condition; SIZE_MAX: none, or a limit (rank.under) decides,
 * which only the ranking looks at. */
size_t run_history_best(const struct plan *plan, const struct run_history *past, size_t condition,
                        double *out_value);

/* Measures the baseline alone until each condition has so many runs of it in this call, the
 * condition with the fewest first; *out_remaining with the one proposed. */
void run_history_next_baseline(const struct plan *plan, const struct run_history *past,
                               int64_t runs, struct proposal *out, int64_t *out_remaining);

/* Whom a trial under way is measured against: the point of the highest mean throughput under the
 * condition, of those that may win and ran to their end. */
struct run_incumbent {
    size_t point;      /* SIZE_MAX: none yet */
    double throughput; /* mean, of logarithms */
    size_t count;      /* of its runs; 0: none */
    double sd;         /* of runs of one point, of the logarithm, pooled over all; NAN: not known */
    double degrees;    /* of freedom */
};
void run_history_incumbent(const struct plan *plan, const struct run_history *past,
                           size_t condition, struct run_incumbent *out);

/* How many trials ended before this one, and how many of them were of its cell. */
void run_history_count(const struct run_history *past, const struct proposal *next,
                       int64_t *out_number, int64_t *out_repeat_number);

#endif
