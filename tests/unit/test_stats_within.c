/*
 * Intervals from within a run: values computed by hand, and how often an interval of 95 % holds the
 * true mean of a series whose seconds are correlated.
 *
 * not under valgrind: hundreds of thousands of samples are drawn to see a share of 1 %.
 */
#include "sweeper/stats/within.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "sweeper/stats/summary.h"
#include "tests/support/noise.h"

enum { SECONDS = 900, RUNS = 3000 };

static void assert_near(double value, double expected, double close)
{
    if (!(fabs(value - expected) <= close))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* 1 2 1 2 ...: neighbours are as unlike as can be, which makes no sample worth more than one. */
static void values_by_hand(void **state)
{
    (void)state;
    double samples[20];
    for (size_t i = 0; i < 20; i++)
        samples[i] = i % 2 == 0 ? 1 : 2;
    struct within within = within_of(samples, 20, 0.95);
    double sd = sqrt(20 * 0.25 / 19);
    assert_near(within.mean, 1.5, 1e-12);
    assert_near(within.effective_count, 20, 1e-9);
    assert_near(within.effective_half, 2.093024 * sd / sqrt(20), 1e-5);
    assert_near(within.batch_half, 0, 1e-12); /* each pair has the same mean */
    assert_near(within.half, within.effective_half, 0);
    /* 1 … 10: deviations -4.5 … 4.5, squares 82.5, products of neighbours 57.75 */
    for (size_t i = 0; i < 10; i++)
        samples[i] = (double)i + 1;
    within = within_of(samples, 10, 0.95);
    double seen = 57.75 / 82.5;
    double correlation = seen + (1 + 4 * seen) / 10;
    assert_near(correlation, 1.08, 1e-9); /* which is taken for 0.99: three are the least */
    assert_near(within.effective_count, 3, 1e-12);
    assert_near(within.effective_half, 4.302653 * sqrt(82.5 / 9) / sqrt(3), 1e-4);
    assert_near(within.batch_half, 2.262157 * sqrt(82.5 / 9) / sqrt(10), 1e-4);
    assert_near(within.half, within.effective_half, 0);
}

/* What is left over by ten stands at the beginning. */
static void batches_end_with_the_series(void **state)
{
    (void)state;
    double samples[29];
    for (size_t i = 0; i < 29; i++)
        samples[i] = i < 9 ? 1000 : (double)((i - 9) / 2);
    struct within within = within_of(samples, 29, 0.95);
    assert_near(within.batch_half, 2.262157 * sqrt(82.5 / 9) / sqrt(10), 1e-4);
}

static void little_is_known_from_little(void **state)
{
    (void)state;
    const double samples[] = {5, 5, 5, 5, 5, 5, 5, 5, 5, 5};
    assert_true(isnan(within_of(samples, 0, 0.95).half));
    assert_true(isnan(within_of(samples, 2, 0.95).half));
    assert_near(within_of(samples, 2, 0.95).mean, 5, 0);
    assert_true(isnan(within_of(samples, 9, 0.95).batch_half));
    assert_near(within_of(samples, 9, 0.95).half, 0, 0);
    assert_near(within_of(samples, 10, 0.95).half, 0, 0);
}

struct coverage {
    double effective;
    double batches;
    double reported;
};

static struct coverage cover(double correlation)
{
    static double samples[SECONDS];
    struct noise noise = {.state = 20 + (uint64_t)(correlation * 100)};
    struct coverage covered = {0};
    for (size_t i = 0; i < RUNS; i++) {
        noise_series(&noise, 1000, 100, correlation, samples, SECONDS);
        struct within within = within_of(samples, SECONDS, 0.95);
        double off = fabs(within.mean - 1000);
        covered.effective += off <= within.effective_half ? 1.0 / RUNS : 0;
        covered.batches += off <= within.batch_half ? 1.0 / RUNS : 0;
        covered.reported += off <= within.half ? 1.0 / RUNS : 0;
    }
    print_message("r %.2f: effective sample size %.3f, batch means %.3f, the larger %.3f\n",
                  correlation, covered.effective, covered.batches, covered.reported);
    return covered;
}

/* What replays of the formulas gave; 1.5 % are four standard errors. */
static void intervals_hold_what_they_claim(void **state)
{
    (void)state;
    static const struct {
        double correlation;
        double effective;
        double batches;
    } rows[] = {
        {0, .958, .952}, {.5, .950, .954}, {.9, .949, .940}, {.95, .943, .914}, {.98, .938, .858}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct coverage covered = cover(rows[i].correlation);
        assert_near(covered.effective, rows[i].effective, 0.015);
        assert_near(covered.batches, rows[i].batches, 0.015);
        /* the larger of two is careful where the seconds tell little of each other */
        assert_true(covered.reported >= fmax(covered.effective, covered.batches));
        assert_true(covered.reported >= 0.93 && covered.reported <= 0.985);
        if (rows[i].correlation <= 0.95)
            assert_true(covered.effective >= 0.93 && covered.effective <= 0.97);
    }
}

/* ---- percentiles ---- */

static void fill(struct histogram *histogram, size_t count, uint64_t low_ns, uint64_t high_ns)
{
    histogram_clear(histogram);
    for (size_t i = 0; i < count; i++)
        histogram_record(histogram, low_ns + (high_ns - low_ns) * i / count);
}

/* One batch of ten stands still for a while: the mean of their p99s would say 1.9 ms, the p99 of
 * all latencies is that of the stall. */
static void percentiles_are_not_averaged(void **state)
{
    (void)state;
    static struct histogram batches[WITHIN_BATCHES];
    for (size_t i = 0; i < WITHIN_BATCHES; i++)
        fill(&batches[i], 1000, 1000000, 1000001);
    for (size_t i = 0; i < 200; i++)
        histogram_record(&batches[3], 10000000);
    struct within_percentile p99 = within_percentile_of(batches, WITHIN_BATCHES, 99, 0.95);
    assert_near(p99.value_ns, 1e7, 1e5);
    double sd = 9e6 / sqrt(10); /* of one 10 among nine 1 */
    assert_near(p99.high_ns - p99.value_ns, 2.262157 * sd / sqrt(10), 5e4);
    assert_near(p99.value_ns - p99.low_ns, 2.262157 * sd / sqrt(10), 5e4);
}

static void percentiles_need_batches(void **state)
{
    (void)state;
    static struct histogram batches[WITHIN_BATCHES];
    for (size_t i = 0; i < WITHIN_BATCHES; i++)
        fill(&batches[i], 100, 1000, 2000);
    assert_true(isnan(within_percentile_of(batches, 1, 99, 0.95).low_ns));
    assert_true(!isnan(within_percentile_of(batches, 2, 99, 0.95).low_ns));
    histogram_clear(&batches[7]);
    struct within_percentile p99 = within_percentile_of(batches, WITHIN_BATCHES, 99, 0.95);
    assert_true(isnan(p99.low_ns) && isnan(p99.high_ns));
    assert_near(p99.value_ns, 1990, 20);
}

/* Latencies of an exponential distribution with mean 1 ms: their p99 is ln 100 ms. */
static void percentile_intervals_hold_the_true_one(void **state)
{
    (void)state;
    static struct histogram batches[WITHIN_BATCHES];
    struct noise noise = {.state = 7};
    size_t held = 0;
    for (size_t i = 0; i < 300; i++) {
        for (size_t j = 0; j < WITHIN_BATCHES; j++) {
            histogram_clear(&batches[j]);
            for (size_t k = 0; k < 2000; k++)
                histogram_record(&batches[j], (uint64_t)(-1e6 * log(noise_uniform(&noise))));
        }
        struct within_percentile p99 = within_percentile_of(batches, WITHIN_BATCHES, 99, 0.95);
        held += p99.low_ns <= 1e6 * log(100) && p99.high_ns >= 1e6 * log(100);
    }
    print_message("the p99 lay within its interval in %zu of 300 runs\n", held);
    assert_true(held >= 273 && held <= 297); /* of 285, four standard errors below */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_by_hand),
        cmocka_unit_test(batches_end_with_the_series),
        cmocka_unit_test(little_is_known_from_little),
        cmocka_unit_test(intervals_hold_what_they_claim),
        cmocka_unit_test(percentiles_are_not_averaged),
        cmocka_unit_test(percentiles_need_batches),
        cmocka_unit_test(percentile_intervals_hold_the_true_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
