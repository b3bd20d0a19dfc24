/*
 * Comparing configurations by their runs. An arm is what is compared, its values are logarithms, so
 * that differences are ratios, and higher is better (the caller negates what should be low). All
 * formulas are those of few, noisy, unequally often repeated runs; nothing here knows what was run.
 *
 * Noise: with r_i runs and the variance v_i within arm i, s_i^2 = (n0 s0^2 + (r_i - 1) v_i) / (n0 +
 * r_i - 1) on n0 + r_i - 1 degrees of freedom. s0^2 is pooled over the other arms, the arm's own
 * runs would count twice, and n0 = min(10, its degrees of freedom): with few repeats that is the
 * pooled variance, with many an arm that is noisier than others keeps its noise. Two arms are
 * compared on the fewer degrees of freedom of both. Only this folder includes GSL.
 */
#ifndef SWEEPER_STATS_COMPARE_H
#define SWEEPER_STATS_COMPARE_H

#include "sweeper/base/base.h"

#define COMPARE_PRIOR_DEGREES 10
#define COMPARE_DRAWS 20000
#define COMPARE_DRAWN_ARMS 200

struct compare_arm {
    size_t count;    /* of runs; 0: takes no part in anything */
    double mean;     /* of ln(metric) */
    double squares;  /* sum of squared distances from the mean */
    double variance; /* s_i^2 of one run, after compare_pool; NAN: not known */
    double degrees;  /* of freedom of s_i^2 */
};

struct compare_noise {
    double variance; /* of one run, pooled within arms; NAN below 1 degree of freedom */
    double degrees;
};

/* Mean and squares of an arm; its variance is not known before compare_pool. */
void compare_arm_of(const double *values, size_t count, struct compare_arm *out);

/* Pools the noise over all arms and gives each its s_i^2. `known` (NULL: nothing) is noise that was
 * measured elsewhere, such as by `dbsweep aa`; it counts as one more arm's. */
void compare_pool(struct compare_arm *arms, size_t count, const struct compare_noise *known,
                  struct compare_noise *out);

/* Half of the two-sided interval of the arm's own mean. NAN: not known. */
double compare_half_width(const struct compare_arm *arm, double confidence);

/* Half of the two-sided interval of a's mean less b's which holds for that many comparisons at once
 * (Bonferroni); 1: for this one alone. NAN: not known. */
double compare_difference_half(const struct compare_arm *a, const struct compare_arm *b,
                               double confidence, size_t comparisons);

/* Multiple comparison with the best (Hsu, with Bonferroni's bound for Dunnett's quantile): arm i of
 * K is possibly best unless some arm lies above it by more than t(1 - a / max(2, K - 1)) times the
 * standard error of the difference, a = 1 - confidence. The 2 keeps two equal arms from being told
 * apart more often than a. Where noise is not known every arm is possibly best. scratch: count
 * numbers. Returns how many are possibly best. */
size_t compare_with_best(const struct compare_arm *arms, size_t count, double confidence,
                         double *scratch, bool *out_possibly_best);

/* The places that an arm may truly have: [1 + arms significantly better, K - arms significantly
 * worse], by Holm's procedure over its K - 1 comparisons; above 1,000 arms by the coarser bound of
 * Bonferroni with the largest standard error. Arms must be sorted by mean, best first, all with
 * runs. Where noise is not known: [1, K]. scratch: 3 * count numbers. */
void compare_rank_intervals(const struct compare_arm *arms, size_t count, double confidence,
                            double *scratch, int *out_low, int *out_high);

/* The chance that an arm is the best: the share of 20,000 draws s*^2 = n s^2 / chi^2(n), mean_i ~
 * N(mean_i, s*^2 / r_i) in which it is the highest. Drawn for arms whose interval reaches the
 * leader's, at most the 200 highest; 0 for others. The same seed gives the same answer. Where noise
 * is not known all are NAN. */
void compare_best_chances(const struct compare_arm *arms, size_t count, double confidence,
                          unsigned long seed, double *out);

/* Empirical Bayes: out[i] = m + B_i (mean_i - m), B_i = T / (T + s_i^2 / r_i), with the spread T
 * between arms by DerSimonian and Laird's moments: what to expect of an arm that was chosen because
 * it looked good. Where noise is not known, the means. Returns T. */
double compare_shrink(const struct compare_arm *arms, size_t count, double *out);

struct compare_welch {
    double difference; /* of means of logarithms: the ratio is exp of it */
    double low;        /* NAN: fewer than two runs on a side, or no spread at all */
    double high;
    double degrees;
    double p; /* two-sided */
};
/* Welch's t of two arms by their own variances alone. False where an arm has fewer than two runs:
 * only the difference is known then. */
bool compare_welch(const struct compare_arm *a, const struct compare_arm *b, double confidence,
                   struct compare_welch *out);

/* The difference of two arms' means (in logarithms) that is found with 80 % power, at that
 * confidence over so many comparisons, when one run's standard deviation is sd on that many degrees
 * of freedom (INFINITY: known). For n runs on both sides and 95 %: sd * sqrt(15.7 / n). */
double compare_detectable(double sd, double degrees, size_t runs_a, size_t runs_b,
                          double confidence, size_t comparisons);

/* The interval of a standard deviation on that many degrees of freedom, by chi squared. */
void compare_deviation_interval(double sd, double degrees, double confidence, double *out_low,
                                double *out_high);

/* The length of a run after which repeating it tells more than going on (Kalibera and Jones): a
 * run costs overhead_s and its length L, and its mean has the variance between + within_s / L:
 * sqrt(overhead_s within_s / between). INFINITY where runs do not differ but by what is in them. */
double compare_run_length(double overhead_s, double within_s, double between);

/* Flags runs further than 5 MAD from their arm's median, the MAD taken over the runs of all arms of
 * three and more (an arm's middle run left out where it is the median itself). arm_of[i] in 0 …
 * arm_count - 1, runs of one arm side by side. Nothing is flagged below 6 distances. scratch: 2 *
 * count numbers. Returns how many. */
size_t compare_outliers(const double *values, const size_t *arm_of, size_t count, double *scratch,
                        bool *out);

#endif
