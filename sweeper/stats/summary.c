/*
 * Means, intervals and tests over runs: the distributions come from GSL, the rest is arithmetic
 * that is written so that it does not cancel. Nothing here knows what the numbers mean.
 */
#include "sweeper/stats/summary.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <gsl/gsl_version.h>
#include <math.h>
#include <stdio.h>

void summary_of(const double *values, size_t count, struct summary *out)
{
    *out = (struct summary){
        .count = count, .mean = NAN, .sd = NAN, .cv_pct = NAN, .min = NAN, .max = NAN};
    if (count == 0) {
        return;
    }
    out->mean = gsl_stats_mean(values, 1, count);
    gsl_stats_minmax(&out->min, &out->max, values, 1, count);
    if (count < 2) {
        return;
    }
    out->sd = gsl_stats_sd_m(values, 1, count, out->mean);
    if (fabs(out->mean) > 0) {
        out->cv_pct = 100 * out->sd / fabs(out->mean);
    }
}

double summary_t_quantile(double probability, double degrees)
{
    assert(degrees > 0);
    return gsl_cdf_tdist_Pinv(probability, degrees);
}

double summary_t_two_sided(double t, double degrees)
{
    assert(degrees > 0);
    return isnan(t) ? NAN : 2 * gsl_cdf_tdist_Q(fabs(t), degrees);
}

/* Sum of squared distances from the mean of the logarithms. */
static double ln_squares(const double *values, size_t count)
{
    double mean = 0;
    double squares = 0;
    for (size_t i = 0; i < count; i++) {
        double distance = log(values[i]) - mean;
        mean += distance / (double)(i + 1);
        squares += distance * (log(values[i]) - mean);
    }
    return squares;
}

double summary_pooled_ln_sd(const double *const *groups, const size_t *sizes, size_t group_count,
                            double *out_degrees)
{
    double squares = 0;
    double degrees = 0;
    for (size_t i = 0; i < group_count; i++) {
        if (sizes[i] >= 2) {
            squares += ln_squares(groups[i], sizes[i]);
            degrees += (double)(sizes[i] - 1);
        }
    }
    *out_degrees = degrees;
    return degrees > 0 ? sqrt(squares / degrees) : NAN;
}

const char *summary_library_version(void)
{
    static char version[32];
    snprintf(version, sizeof version, "GSL %s", gsl_version);
    return version;
}
