/*
 * Comparisons of arms, by the formulas of compare.h. Quantiles of Student's t are asked for once
 * for each arm: of two arms the one with fewer degrees of freedom has the larger quantile.
 */
#include "sweeper/stats/compare.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

enum { HOLM_ARMS = 1000, LEAST_DISTANCES = 6, OUTLIER_MADS = 5, OUTLIER_RUNS = 3 };

static const double POWER = 0.8;

/* ---- noise ---- */

void compare_arm_of(const double *values, size_t count, struct compare_arm *out)
{
    *out = (struct compare_arm){.count = count, .mean = NAN, .variance = NAN};
    if (count > 0) {
        out->mean = gsl_stats_mean(values, 1, count);
        out->squares = gsl_stats_tss_m(values, 1, count, out->mean);
    }
}

static double own_degrees(const struct compare_arm *arm)
{
    return arm->count > 1 ? (double)(arm->count - 1) : 0;
}

void compare_pool(struct compare_arm *arms, size_t count, const struct compare_noise *known,
                  struct compare_noise *out)
{
    const struct compare_noise nothing = {.variance = 0};
    known = known != NULL ? known : &nothing;
    double degrees = known->degrees;
    double squares = degrees > 0 ? known->variance * degrees : 0;
    for (size_t i = 0; i < count; i++) {
        degrees += own_degrees(&arms[i]);
        squares += own_degrees(&arms[i]) > 0 ? arms[i].squares : 0;
    }
    for (size_t i = 0; i < count; i++) {
        double own = own_degrees(&arms[i]);
        double own_squares = own > 0 ? arms[i].squares : 0;
        double others = degrees - own;
        double prior = fmin(COMPARE_PRIOR_DEGREES, others);
        double pooled = others > 0 ? fmax(0, squares - own_squares) / others : 0;
        arms[i].degrees = prior + own;
        arms[i].variance =
            prior + own > 0 ? (prior * pooled + own_squares) / (prior + own) : (double)NAN;
    }
    *out = (struct compare_noise){.variance = degrees > 0 ? squares / degrees : (double)NAN,
                                  .degrees = degrees};
}

static bool is_known(const struct compare_arm *arm)
{
    return arm->count > 0 && !isnan(arm->variance);
}

static double square_error(const struct compare_arm *arm)
{
    return arm->variance / (double)arm->count;
}

static double error_between(const struct compare_arm *a, const struct compare_arm *b)
{
    return sqrt(square_error(a) + square_error(b));
}

double compare_half_width(const struct compare_arm *arm, double confidence)
{
    if (!is_known(arm)) {
        return NAN;
    }
    return gsl_cdf_tdist_Qinv((1 - confidence) / 2, arm->degrees) * sqrt(square_error(arm));
}

double compare_difference_half(const struct compare_arm *a, const struct compare_arm *b,
                               double confidence, size_t comparisons)
{
    if (!is_known(a) || !is_known(b)) {
        return NAN;
    }
    double share = (1 - confidence) / (2 * (double)(comparisons > 1 ? comparisons : 1));
    return gsl_cdf_tdist_Qinv(share, fmin(a->degrees, b->degrees)) * error_between(a, b);
}

/* Upper quantiles of every arm; neighbours mostly have the same degrees of freedom. */
static void quantiles(const struct compare_arm *arms, size_t count, double share, double *out)
{
    for (size_t i = 0; i < count; i++) {
        bool is_same = i > 0 && is_known(&arms[i - 1]) && is_known(&arms[i]) &&
                       !(arms[i].degrees > arms[i - 1].degrees) &&
                       !(arms[i].degrees < arms[i - 1].degrees);
        if (is_same) {
            out[i] = out[i - 1];
        } else {
            out[i] = is_known(&arms[i]) ? gsl_cdf_tdist_Qinv(share, arms[i].degrees) : (double)NAN;
        }
    }
}

/* ---- with the best ---- */

size_t compare_with_best(const struct compare_arm *arms, size_t count, double confidence,
                         double *scratch, bool *out_possibly_best)
{
    size_t members = 0;
    size_t taking_part = 0;
    for (size_t i = 0; i < count; i++) {
        taking_part += arms[i].count > 0;
    }
    double comparisons = taking_part > 3 ? (double)(taking_part - 1) : 2;
    quantiles(arms, count, (1 - confidence) / comparisons, scratch);
    for (size_t i = 0; i < count; i++) {
        out_possibly_best[i] = arms[i].count > 0;
        for (size_t j = 0; j < count && out_possibly_best[i]; j++) {
            bool is_compared = is_known(&arms[i]) && is_known(&arms[j]);
            out_possibly_best[i] =
                !is_compared || !(arms[j].mean - arms[i].mean >
                                  fmax(scratch[i], scratch[j]) * error_between(&arms[i], &arms[j]));
        }
        members += out_possibly_best[i];
    }
    return members;
}

/* ---- places ---- */

static int compare_sizes(const void *a, const void *b)
{
    double left = fabs(*(const double *)a);
    double right = fabs(*(const double *)b);
    return (left > right) - (left < right);
}

struct places {
    const struct compare_arm *arms;
    size_t count;
    double alpha;
    const double *surely; /* quantiles at which a comparison holds among all */
    const double *maybe;  /* at which it holds alone */
    double *chances;      /* of what lies between, negative where the other arm is better */
};

/* Holm: chances that are small enough for the first step are so for every step; the rest is taken
 * in order until one is too large. */
static void place_by_holm(const struct places *all, size_t at, int *out_low, int *out_high)
{
    const struct compare_arm *arm = &all->arms[at];
    size_t between = 0;
    size_t better = 0;
    size_t worse = 0;
    for (size_t j = 0; j < all->count; j++) {
        const struct compare_arm *other = &all->arms[j];
        double error = error_between(arm, other);
        double distance = fabs(other->mean - arm->mean);
        bool is_better = other->mean > arm->mean;
        if (j == at || !(distance > fmax(all->maybe[at], all->maybe[j]) * error)) {
            continue;
        }
        if (distance > fmax(all->surely[at], all->surely[j]) * error) {
            better += is_better;
            worse += !is_better;
            continue;
        }
        double chance = 2 * gsl_cdf_tdist_Q(distance / error, fmin(arm->degrees, other->degrees));
        all->chances[between++] = is_better ? -chance : chance;
    }
    qsort(all->chances, between, sizeof *all->chances, compare_sizes);
    size_t left = all->count - 1 - better - worse;
    for (size_t k = 0; k < between && fabs(all->chances[k]) <= all->alpha / (double)left; k++) {
        better += all->chances[k] < 0;
        worse += !(all->chances[k] < 0);
        left--;
    }
    *out_low = 1 + (int)better;
    *out_high = (int)(all->count - worse);
}

/* Of very many arms: one distance for all pairs, so that the order of means does. */
static void place_coarsely(const struct compare_arm *arms, size_t count, const double *surely,
                           int *out_low, int *out_high)
{
    double quantile = 0;
    double error = 0;
    size_t better = 0;
    size_t worse_from = 0;
    for (size_t i = 0; i < count; i++) {
        quantile = fmax(quantile, surely[i]);
        error = fmax(error, square_error(&arms[i]));
    }
    double distance = quantile * sqrt(2 * error);
    for (size_t i = 0; i < count; i++) {
        while (better < i && arms[better].mean - arms[i].mean > distance) {
            better++;
        }
        while (worse_from < count && !(arms[i].mean - arms[worse_from].mean > distance)) {
            worse_from++;
        }
        out_low[i] = 1 + (int)better;
        out_high[i] = (int)worse_from;
    }
}

void compare_rank_intervals(const struct compare_arm *arms, size_t count, double confidence,
                            double *scratch, int *out_low, int *out_high)
{
    double alpha = 1 - confidence;
    bool all_known = count > 1;
    for (size_t i = 0; i < count; i++) {
        all_known = all_known && is_known(&arms[i]);
        out_low[i] = 1;
        out_high[i] = (int)count;
    }
    if (!all_known) {
        return;
    }
    struct places all = {.arms = arms,
                         .count = count,
                         .alpha = alpha,
                         .surely = scratch,
                         .maybe = scratch + count,
                         .chances = scratch + 2 * count};
    quantiles(arms, count, alpha / (2 * (double)(count - 1)), scratch);
    if (count > HOLM_ARMS) {
        place_coarsely(arms, count, scratch, out_low, out_high);
        return;
    }
    quantiles(arms, count, alpha / 2, scratch + count);
    for (size_t i = 0; i < count; i++) {
        place_by_holm(&all, i, &out_low[i], &out_high[i]);
    }
}

/* ---- chances ---- */

static size_t lowest_of(const struct compare_arm *arms, const size_t *chosen, size_t count)
{
    size_t lowest = 0;
    for (size_t k = 1; k < count; k++) {
        lowest = arms[chosen[k]].mean < arms[chosen[lowest]].mean ? k : lowest;
    }
    return lowest;
}

static double upper_end(const struct compare_arm *arm, double confidence)
{
    return arm->mean + compare_half_width(arm, confidence);
}

/* Which arms are drawn: those that reach the leader, the highest where they are too many. */
static size_t choose_drawn(const struct compare_arm *arms, size_t count, double confidence,
                           size_t *out)
{
    const struct compare_arm *leader = NULL;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        bool leads = is_known(&arms[i]) && (leader == NULL || arms[i].mean > leader->mean);
        leader = leads ? &arms[i] : leader;
    }
    double least = leader != NULL ? leader->mean - compare_half_width(leader, confidence) : 0;
    for (size_t i = 0; leader != NULL && i < count; i++) {
        if (!is_known(&arms[i]) || upper_end(&arms[i], confidence) < least) {
            continue;
        }
        if (chosen < COMPARE_DRAWN_ARMS) {
            out[chosen++] = i;
            continue;
        }
        size_t lowest = lowest_of(arms, out, chosen);
        if (arms[i].mean > arms[out[lowest]].mean) {
            out[lowest] = i;
        }
    }
    return chosen;
}

static void draw(const struct compare_arm *arms, const size_t *drawn, size_t count,
                 gsl_rng *generator, double *out)
{
    double degrees = arms[drawn[0]].degrees;
    for (size_t k = 1; k < count; k++) {
        degrees = fmin(degrees, arms[drawn[k]].degrees);
    }
    for (int i = 0; i < COMPARE_DRAWS; i++) {
        double stretch = sqrt(degrees / gsl_ran_chisq(generator, degrees));
        double highest = -INFINITY;
        size_t best = 0;
        for (size_t k = 0; k < count; k++) {
            const struct compare_arm *arm = &arms[drawn[k]];
            double value =
                arm->mean + gsl_ran_gaussian_ziggurat(generator, stretch * sqrt(square_error(arm)));
            best = value > highest ? k : best;
            highest = fmax(value, highest);
        }
        out[drawn[best]] += 1.0 / COMPARE_DRAWS;
    }
}

void compare_best_chances(const struct compare_arm *arms, size_t count, double confidence,
                          unsigned long seed, double *out)
{
    size_t drawn[COMPARE_DRAWN_ARMS];
    size_t drawn_count = choose_drawn(arms, count, confidence, drawn);
    gsl_rng *generator = drawn_count > 0 ? gsl_rng_alloc(gsl_rng_mt19937) : NULL;
    for (size_t i = 0; i < count; i++) {
        out[i] = generator != NULL ? 0 : NAN;
    }
    if (generator == NULL) {
        return;
    }
    gsl_rng_set(generator, seed);
    draw(arms, drawn, drawn_count, generator, out);
    gsl_rng_free(generator);
}

/* ---- what to expect ---- */

struct sums {
    double weights;
    double squared_weights;
    double values; /* weighted */
    double squares;
    size_t count;
};

static struct sums add_up(const struct compare_arm *arms, size_t count, double spread)
{
    struct sums sums = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        if (!is_known(&arms[i]) || !(square_error(&arms[i]) + spread > 0)) {
            continue;
        }
        double weight = 1 / (square_error(&arms[i]) + spread);
        sums.count++;
        sums.weights += weight;
        sums.squared_weights += weight * weight;
        sums.values += weight * arms[i].mean;
        sums.squares += weight * arms[i].mean * arms[i].mean;
    }
    return sums;
}

double compare_shrink(const struct compare_arm *arms, size_t count, double *out)
{
    struct sums sums = add_up(arms, count, 0);
    double spread = 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = arms[i].mean;
    }
    if (sums.count < 2) {
        return NAN;
    }
    double centre = sums.values / sums.weights;
    double distances = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_known(&arms[i]) && square_error(&arms[i]) > 0) {
            distances += (arms[i].mean - centre) * (arms[i].mean - centre) / square_error(&arms[i]);
        }
    }
    double surplus = distances - (double)(sums.count - 1);
    spread = fmax(0, surplus / (sums.weights - sums.squared_weights / sums.weights));
    sums = add_up(arms, count, spread);
    centre = sums.values / sums.weights;
    for (size_t i = 0; i < count; i++) {
        if (is_known(&arms[i]) && square_error(&arms[i]) > 0) {
            double share = spread / (spread + square_error(&arms[i]));
            out[i] = centre + share * (arms[i].mean - centre);
        }
    }
    return spread;
}

/* ---- two arms ---- */

bool compare_welch(const struct compare_arm *a, const struct compare_arm *b, double confidence,
                   struct compare_welch *out)
{
    *out = (struct compare_welch){
        .difference = a->mean - b->mean, .low = NAN, .high = NAN, .degrees = NAN, .p = NAN};
    if (a->count < 2 || b->count < 2) {
        return false;
    }
    double of_a = a->squares / own_degrees(a) / (double)a->count;
    double of_b = b->squares / own_degrees(b) / (double)b->count;
    double error = sqrt(of_a + of_b);
    if (!(error > 0)) {
        return false;
    }
    out->degrees = (of_a + of_b) * (of_a + of_b) /
                   (of_a * of_a / own_degrees(a) + of_b * of_b / own_degrees(b));
    double half = gsl_cdf_tdist_Qinv((1 - confidence) / 2, out->degrees) * error;
    out->low = out->difference - half;
    out->high = out->difference + half;
    out->p = 2 * gsl_cdf_tdist_Q(fabs(out->difference) / error, out->degrees);
    return true;
}

double compare_detectable(double sd, double degrees, size_t runs_a, size_t runs_b,
                          double confidence, size_t comparisons)
{
    double share = (1 - confidence) / (2 * (double)(comparisons > 1 ? comparisons : 1));
    double quantile = isinf(degrees)
                          ? gsl_cdf_ugaussian_Qinv(share) + gsl_cdf_ugaussian_Pinv(POWER)
                          : gsl_cdf_tdist_Qinv(share, degrees) + gsl_cdf_tdist_Pinv(POWER, degrees);
    return quantile * sd * sqrt(1 / (double)runs_a + 1 / (double)runs_b);
}

void compare_deviation_interval(double sd, double degrees, double confidence, double *out_low,
                                double *out_high)
{
    double share = (1 - confidence) / 2;
    *out_low = degrees > 0 ? sd * sqrt(degrees / gsl_cdf_chisq_Qinv(share, degrees)) : (double)NAN;
    *out_high = degrees > 0 ? sd * sqrt(degrees / gsl_cdf_chisq_Pinv(share, degrees)) : (double)NAN;
}

double compare_run_length(double overhead_s, double within_s, double between)
{
    return between > 0 ? sqrt(overhead_s * within_s / between) : (double)INFINITY;
}

/* ---- outliers ---- */

static int compare_numbers(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* scratch is overwritten. */
static double median_of(const double *values, size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++) {
        scratch[i] = values[i];
    }
    qsort(scratch, count, sizeof *scratch, compare_numbers);
    return gsl_stats_median_from_sorted_data(scratch, 1, count);
}

static size_t end_of_arm(const size_t *arm_of, size_t count, size_t first)
{
    size_t end = first;
    while (end < count && arm_of[end] == arm_of[first]) {
        end++;
    }
    return end;
}

/* Distances of one arm's runs from their median; `pool` has room for them. Returns how many went
 * into the pool: the run in the middle of an odd number lies at no distance by construction. */
static size_t pool_distances(const double *values, size_t count, double *out, double *pool)
{
    double median = median_of(values, count, pool);
    bool is_middle_left = count % 2 == 1;
    size_t pooled = 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = fabs(values[i] - median);
        if (is_middle_left && !(out[i] > 0)) {
            is_middle_left = false;
        } else {
            pool[pooled++] = out[i];
        }
    }
    return pooled;
}

size_t compare_outliers(const double *values, const size_t *arm_of, size_t count, double *scratch,
                        bool *out)
{
    double *pool = scratch + count;
    size_t pooled = 0;
    size_t found = 0;
    for (size_t first = 0; first < count;) {
        size_t end = end_of_arm(arm_of, count, first);
        if (end - first >= OUTLIER_RUNS) {
            pooled += pool_distances(&values[first], end - first, &scratch[first], &pool[pooled]);
        }
        for (bool is_small = end - first < OUTLIER_RUNS; first < end; first++) {
            scratch[first] = is_small ? 0 : scratch[first];
        }
    }
    qsort(pool, pooled, sizeof *pool, compare_numbers);
    double mad = pooled >= LEAST_DISTANCES ? gsl_stats_median_from_sorted_data(pool, 1, pooled) : 0;
    for (size_t i = 0; i < count; i++) {
        out[i] = mad > 0 && scratch[i] > OUTLIER_MADS * mad;
        found += out[i];
    }
    return found;
}
