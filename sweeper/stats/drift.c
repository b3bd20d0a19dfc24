/*
 * Von Neumann's ratio and its permutation test. The denominator is the same for every order, so
 * only numerators are compared.
 */
#include "sweeper/stats/drift.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum { ALL_ORDERS = 8, SHUFFLES = 10000, SEED = 6 };

/* Of sums that differ by rounding alone; the order of addition differs between orders. */
static const double ROUNDING = 1 + 1e-9;

static double steps(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 1; i < count; i++) {
        sum += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
    }
    return sum;
}

/* Heap's algorithm: each order differs from the one before by one exchange. */
static double share_of_all_orders(double *values, size_t count, double observed)
{
    size_t turns[ALL_ORDERS] = {0};
    size_t as_small = steps(values, count) <= observed;
    size_t orders = 1;
    for (size_t i = 1; i < count;) {
        if (turns[i] < i) {
            size_t other = i % 2 == 0 ? 0 : turns[i];
            double kept = values[other];
            values[other] = values[i];
            values[i] = kept;
            as_small += steps(values, count) <= observed;
            orders++;
            turns[i]++;
            i = 1;
        } else {
            turns[i++] = 0;
        }
    }
    return (double)as_small / (double)orders;
}

static double share_of_shuffles(double *values, size_t count, double observed)
{
    gsl_rng *generator = gsl_rng_alloc(gsl_rng_mt19937);
    size_t as_small = 1;
    if (generator == NULL) {
        return 1; /* without memory nothing is found */
    }
    gsl_rng_set(generator, SEED);
    for (int i = 0; i < SHUFFLES; i++) {
        gsl_ran_shuffle(generator, values, count, sizeof *values);
        as_small += steps(values, count) <= observed;
    }
    gsl_rng_free(generator);
    return (double)as_small / (SHUFFLES + 1);
}

static double slope_of(const double *values, const double *times, size_t count)
{
    double above = 0;
    double below = 0;
    double time = gsl_stats_mean(times, 1, count);
    double value = gsl_stats_mean(values, 1, count);
    for (size_t i = 0; i < count; i++) {
        above += (times[i] - time) * (values[i] - value);
        below += (times[i] - time) * (times[i] - time);
    }
    return below > 0 ? above / below : NAN;
}

void drift_test(const double *values, const double *times, size_t count, double *scratch,
                struct drift *out)
{
    *out = (struct drift){.count = count, .ratio = NAN, .p = 1, .slope = NAN};
    if (count < 2) {
        return;
    }
    double squares = gsl_stats_tss(values, 1, count);
    out->slope = slope_of(values, times, count);
    if (!(squares > 0)) {
        return;
    }
    double observed = steps(values, count);
    out->ratio = observed / squares;
    out->is_testable = count >= DRIFT_LEAST_RUNS;
    if (out->is_testable) {
        memcpy(scratch, values, count * sizeof *values);
        out->p = count <= ALL_ORDERS ? share_of_all_orders(scratch, count, observed * ROUNDING)
                                     : share_of_shuffles(scratch, count, observed * ROUNDING);
        out->is_significant = out->p < DRIFT_LIMIT_P;
    }
}

static double between(double before, double before_time, double after, double after_time,
                      double time)
{
    if (!(after_time > before_time)) {
        return (before + after) / 2;
    }
    return before + (after - before) * (time - before_time) / (after_time - before_time);
}

double drift_level_without(const double *values, const double *times, size_t count, size_t skip,
                           double time)
{
    size_t before = SIZE_MAX;
    size_t after = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (i != skip && times[i] <= time) {
            before = i;
        }
        if (i != skip && times[i] > time && after == SIZE_MAX) {
            after = i;
        }
    }
    assert(before != SIZE_MAX || after != SIZE_MAX);
    if (before == SIZE_MAX || after == SIZE_MAX) {
        return values[before == SIZE_MAX ? after : before];
    }
    return between(values[before], times[before], values[after], times[after], time);
}

double drift_level(const double *values, const double *times, size_t count, double time)
{
    return drift_level_without(values, times, count, SIZE_MAX, time);
}
