/*
 * Means over runs and the quantiles that their intervals need. The only includer of GSL.
 */
#ifndef SWEEPER_STATS_SUMMARY_H
#define SWEEPER_STATS_SUMMARY_H

#include "sweeper/base/base.h"

struct summary {
    size_t count;
    double mean;
    double sd;     /* sample standard deviation; NAN for count < 2 */
    double cv_pct; /* 100 sd / |mean|; NAN for count < 2 or mean 0 */
    double min;
    double max;
};
void summary_of(const double *values, size_t count, struct summary *out);

/* Quantile of Student's t: P(T <= t) = probability, degrees > 0. */
double summary_t_quantile(double probability, double degrees);

/* "GSL 2.7.1", as linked at run time. */
const char *summary_library_version(void);

#endif
