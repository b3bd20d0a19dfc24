/*
 * Means and quantiles over runs, by GSL. Nothing here knows what the numbers mean.
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

const char *summary_library_version(void)
{
    static char version[32];
    snprintf(version, sizeof version, "GSL %s", gsl_version);
    return version;
}
