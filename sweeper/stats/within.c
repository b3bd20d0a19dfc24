/*
 * Intervals from within a run. The lag-1 correlation is corrected for its bias (1 + 4 r) / n, which
 * matters most where it is high and the run short.
 */
#include "sweeper/stats/within.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "sweeper/stats/summary.h"

enum { LEAST_EFFECTIVE = 3 };
#define MOST_CORRELATION 0.99

static double half_width(double sd, double count, double confidence)
{
    return summary_t_quantile(0.5 + confidence / 2, count - 1) * sd / sqrt(count);
}

static double effective_count(const double *samples, size_t count, const struct summary *all)
{
    if (!(all->sd > 0)) {
        return (double)count;
    }
    double products = 0;
    for (size_t i = 1; i < count; i++) {
        products += (samples[i] - all->mean) * (samples[i - 1] - all->mean);
    }
    double seen = products / (all->sd * all->sd * (double)(count - 1));
    double correlation = fmax(0, fmin(MOST_CORRELATION, seen + (1 + 4 * seen) / (double)count));
    return fmax(LEAST_EFFECTIVE, (double)count * (1 - correlation) / (1 + correlation));
}

/* What does not divide by ten is left out at the beginning. */
static double batch_half(const double *samples, size_t count, double confidence)
{
    double means[WITHIN_BATCHES];
    struct summary of_means;
    size_t each = count / WITHIN_BATCHES;
    if (each == 0) {
        return NAN;
    }
    const double *at = samples + (count - each * WITHIN_BATCHES);
    for (size_t i = 0; i < WITHIN_BATCHES; i++) {
        means[i] = gsl_stats_mean(at + i * each, 1, each);
    }
    summary_of(means, WITHIN_BATCHES, &of_means);
    return half_width(of_means.sd, WITHIN_BATCHES, confidence);
}

struct within within_of(const double *samples, size_t count, double confidence)
{
    struct summary all;
    struct within out = {
        .effective_count = NAN, .effective_half = NAN, .batch_half = NAN, .half = NAN};
    summary_of(samples, count, &all);
    out.mean = all.mean;
    if (count < LEAST_EFFECTIVE) {
        return out;
    }
    out.effective_count = effective_count(samples, count, &all);
    out.effective_half = half_width(all.sd, out.effective_count, confidence);
    out.batch_half = batch_half(samples, count, confidence);
    out.half = fmax(out.effective_half, out.batch_half); /* of a NAN and a number, the number */
    return out;
}

struct within_percentile within_percentile_of(const struct histogram *batches, size_t batch_count,
                                              double pct, double confidence)
{
    struct histogram all;
    double values[WITHIN_BATCHES];
    struct summary of_values;
    struct within_percentile out = {.low_ns = NAN, .high_ns = NAN};
    bool is_full = batch_count >= 2;
    assert(batch_count <= WITHIN_BATCHES);
    histogram_clear(&all);
    for (size_t i = 0; i < batch_count; i++) {
        histogram_merge(&all, &batches[i]);
        values[i] = histogram_percentile_ns(&batches[i], pct);
        is_full = is_full && batches[i].count > 0;
    }
    out.value_ns = histogram_percentile_ns(&all, pct);
    if (!is_full) {
        return out;
    }
    summary_of(values, batch_count, &of_values);
    double half = half_width(of_values.sd, (double)batch_count, confidence);
    out.low_ns = fmax(0, out.value_ns - half);
    out.high_ns = out.value_ns + half;
    return out;
}
