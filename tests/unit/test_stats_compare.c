/*
 * Comparisons of arms against values computed by hand and from the printed tables of Student's t.
 */
#include "sweeper/stats/compare.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define T4 2.776445105    /* t(0.975; 4) */
#define T10 2.228138852   /* t(0.975; 10) */
#define T10_4 2.633766916 /* t(1 - 0.05 / 4; 10) */
#define CLOSE 1e-7

static void assert_near(double value, double expected, double close)
{
    if (!(fabs(value - expected) <= close))
        fail_msg("%.12g is not %.12g", value, expected);
}

static struct compare_arm arm_of(const double *values, size_t count)
{
    struct compare_arm arm;
    compare_arm_of(values, count, &arm);
    return arm;
}

/* Two runs with the variance 1 on 10 degrees of freedom: two such arms differ by a standard error
 * of 1. */
static struct compare_arm plain_arm(double mean)
{
    return (struct compare_arm){.count = 2, .mean = mean, .variance = 1, .degrees = 10};
}

/* ---- noise ---- */

static void few_repeats_share_the_pooled_variance(void **state)
{
    (void)state;
    struct compare_arm arms[] = {arm_of((const double[]){1, 2, 3}, 3),
                                 arm_of((const double[]){10, 14}, 2),
                                 arm_of((const double[]){5}, 1), arm_of(NULL, 0)};
    struct compare_noise noise;
    compare_pool(arms, 4, NULL, &noise);
    assert_near(noise.variance, 10.0 / 3, CLOSE); /* (2 + 8) / (2 + 1) */
    assert_near(noise.degrees, 3, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_near(arms[i].variance, 10.0 / 3, CLOSE);
        assert_near(arms[i].degrees, 3, 0);
    }
    assert_near(arms[0].mean, 2, CLOSE);
    assert_near(arms[0].squares, 2, CLOSE);
    assert_true(isnan(arms[3].mean));
    assert_near(compare_half_width(&arms[2], 0.95), 3.182446305 * sqrt(10.0 / 3), 1e-6);
}

/* 20 arms of two runs whose squares are 1, and one whose squares are 8. */
static void an_arm_noisier_than_many_others_keeps_its_noise(void **state)
{
    (void)state;
    struct compare_arm arms[21];
    struct compare_noise noise;
    const double half = sqrt(0.5);
    for (size_t i = 0; i < 20; i++)
        arms[i] = arm_of((const double[]){-half, half}, 2);
    arms[20] = arm_of((const double[]){-2, 2}, 2);
    compare_pool(arms, 21, NULL, &noise);
    assert_near(noise.variance, 28.0 / 21, CLOSE);
    assert_near(arms[20].variance, (10 * 1.0 + 8) / 11, CLOSE);
    assert_near(arms[20].degrees, 11, 0);
    assert_near(arms[0].variance, (10 * 27.0 / 20 + 1) / 11, CLOSE);
}

static void noise_measured_elsewhere_counts(void **state)
{
    (void)state;
    struct compare_arm arms[] = {arm_of((const double[]){5}, 1), arm_of((const double[]){7}, 1)};
    struct compare_noise noise;
    compare_pool(arms, 2, NULL, &noise);
    assert_true(isnan(noise.variance));
    assert_true(isnan(compare_half_width(&arms[0], 0.95)));
    assert_true(isnan(compare_difference_half(&arms[0], &arms[1], 0.95, 1)));
    compare_pool(arms, 2, &(struct compare_noise){.variance = 4, .degrees = 4}, &noise);
    assert_near(noise.variance, 4, CLOSE);
    assert_near(compare_half_width(&arms[0], 0.95), T4 * 2, 1e-6);
    assert_near(compare_difference_half(&arms[0], &arms[1], 0.95, 1), T4 * sqrt(8), 1e-6);
}

static void many_differences_at_once_are_wider(void **state)
{
    (void)state;
    const struct compare_arm a = plain_arm(1);
    struct compare_arm b = plain_arm(2);
    assert_near(compare_difference_half(&a, &b, 0.95, 1), T10, 1e-6);
    assert_near(compare_difference_half(&a, &b, 0.95, 2), T10_4, 1e-6);
    b.degrees = 4; /* the fewer count */
    assert_near(compare_difference_half(&a, &b, 0.95, 1), T4, 1e-6);
}

/* ---- the best ---- */

static void the_best_ties_with_what_is_near(void **state)
{
    (void)state;
    double scratch[5];
    bool is_possible[5];
    struct compare_arm arms[5] = {plain_arm(10), plain_arm(10 - T10 + 0.001),
                                  plain_arm(10 - T10 - 0.001)};
    assert_int_equal(compare_with_best(arms, 3, 0.95, scratch, is_possible), 2);
    assert_true(is_possible[0]);
    assert_true(is_possible[1]);
    assert_false(is_possible[2]);
    /* More arms, more doubt: t(1 - 0.05 / 4). */
    arms[3] = plain_arm(10 - T10_4 + 0.001);
    arms[4] = plain_arm(10 - T10_4 - 0.001);
    assert_int_equal(compare_with_best(arms, 5, 0.95, scratch, is_possible), 4);
    assert_true(is_possible[2]);
    assert_true(is_possible[3]);
    assert_false(is_possible[4]);
    /* Those without runs take no part. */
    arms[3].count = arms[4].count = 0;
    assert_int_equal(compare_with_best(arms, 5, 0.95, scratch, is_possible), 2);
    assert_false(is_possible[3]);
}

static void two_arms_are_compared_from_both_sides(void **state)
{
    (void)state;
    double scratch[2];
    bool is_possible[2];
    struct compare_arm arms[] = {plain_arm(10), plain_arm(10 - T10 + 0.001)};
    assert_int_equal(compare_with_best(arms, 2, 0.95, scratch, is_possible), 2);
    arms[1].mean -= 0.002;
    assert_int_equal(compare_with_best(arms, 2, 0.95, scratch, is_possible), 1);
}

static void without_noise_everything_is_possible(void **state)
{
    (void)state;
    struct compare_arm arms[] = {arm_of((const double[]){9}, 1), arm_of((const double[]){1}, 1)};
    struct compare_noise noise;
    double scratch[6];
    double chances[2];
    bool is_possible[2];
    int low[2];
    int high[2];
    compare_pool(arms, 2, NULL, &noise);
    assert_int_equal(compare_with_best(arms, 2, 0.95, scratch, is_possible), 2);
    compare_rank_intervals(arms, 2, 0.95, scratch, low, high);
    assert_int_equal(low[1], 1);
    assert_int_equal(high[0], 2);
    compare_best_chances(arms, 2, 0.95, 1, chances);
    assert_true(isnan(chances[0]));
    assert_true(isnan(compare_shrink(arms, 2, chances)));
    assert_near(chances[0], 9, 0);
}

/* ---- places ---- */

/* 2.5 apart: p = 0.031, too much for the first of two steps (0.025) and enough for the second. */
static void places_are_told_by_holm(void **state)
{
    (void)state;
    const struct compare_arm arms[] = {plain_arm(10), plain_arm(7.5), plain_arm(0)};
    double scratch[9];
    int low[3];
    int high[3];
    compare_rank_intervals(arms, 3, 0.95, scratch, low, high);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(low[i], i + 1);
        assert_int_equal(high[i], i + 1);
    }
    /* Without the far one it is a first step of one: 0.05. */
    const struct compare_arm close[] = {plain_arm(10), plain_arm(7.5), plain_arm(5)};
    compare_rank_intervals(close, 3, 0.95, scratch, low, high);
    assert_int_equal(high[0], 1); /* from 5: p = 0.0005, then 0.031 <= 0.05 */
    assert_int_equal(low[1], 1);  /* both neighbours 2.5 away: 0.031 > 0.025, at the first step */
    assert_int_equal(high[1], 3);
}

static void very_many_arms_are_placed_coarsely(void **state)
{
    (void)state;
    enum { MANY = 2400, GROUP = MANY / 4 };
    static struct compare_arm arms[MANY];
    static double scratch[3 * MANY];
    static int low[MANY];
    static int high[MANY];
    /* Four groups far apart; within a group nothing is told. */
    for (int i = 0; i < MANY; i++)
        arms[i] = plain_arm(-1000.0 * (i / GROUP));
    compare_rank_intervals(arms, MANY, 0.95, scratch, low, high);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(low[i], 1 + i / GROUP * GROUP);
        assert_int_equal(high[i], (i / GROUP + 1) * GROUP);
    }
}

/* ---- chances ---- */

/* The difference of two arms has Student's t: T10 apart the upper is the better with 0.975. */
static void chances_are_those_of_students_t(void **state)
{
    (void)state;
    const struct compare_arm arms[] = {plain_arm(T10), plain_arm(0), plain_arm(-100)};
    double chances[3];
    double again[3];
    compare_best_chances(arms, 3, 0.95, 7, chances);
    assert_near(chances[0], 0.975, 0.005);
    assert_near(chances[0] + chances[1], 1, 1e-9);
    assert_near(chances[2], 0, 0); /* out of reach: not drawn */
    compare_best_chances(arms, 3, 0.95, 7, again);
    assert_memory_equal(chances, again, sizeof chances);
}

static void the_200_highest_are_drawn(void **state)
{
    (void)state;
    static struct compare_arm arms[300];
    static double chances[300];
    size_t drawn = 0;
    double sum = 0;
    for (int i = 0; i < 300; i++)
        arms[i] = plain_arm(0.001 * i);
    compare_best_chances(arms, 300, 0.95, 1, chances);
    for (int i = 0; i < 300; i++) {
        sum += chances[i];
        drawn += chances[i] > 0;
        assert_true(i >= 100 || chances[i] == 0);
    }
    assert_near(sum, 1, 1e-9);
    assert_in_range(drawn, 190, 200);
}

/* ---- what to expect ---- */

/* Means 0 and 2 with the square error 1: distances add up to 2, so T = (2 - 1) / (2 - 1) = 1. */
static void values_shrink_by_moments(void **state)
{
    (void)state;
    struct compare_arm arms[] = {plain_arm(0), plain_arm(2)};
    double expected[2];
    arms[0].count = arms[1].count = 1;
    assert_near(compare_shrink(arms, 2, expected), 1, CLOSE);
    assert_near(expected[0], 0.5, CLOSE);
    assert_near(expected[1], 1.5, CLOSE);
    /* No further apart than noise would put them: nothing is left of it. */
    arms[1].mean = 1;
    assert_near(compare_shrink(arms, 2, expected), 0, CLOSE);
    assert_near(expected[0], 0.5, CLOSE);
    assert_near(expected[1], 0.5, CLOSE);
}

/* ---- two arms ---- */

static void welch_knows_only_the_two(void **state)
{
    (void)state;
    const struct compare_arm low = arm_of((const double[]){-1, 0, 1}, 3);
    const struct compare_arm high = arm_of((const double[]){4, 5, 6}, 3);
    struct compare_welch welch;
    assert_true(compare_welch(&high, &low, 0.95, &welch));
    assert_near(welch.difference, 5, CLOSE);
    assert_near(welch.degrees, 4, CLOSE);
    assert_near(welch.low, 5 - T4 * sqrt(2.0 / 3), 1e-6);
    assert_near(welch.high, 5 + T4 * sqrt(2.0 / 3), 1e-6);
    /* Unequal: 4 / ((1/3)^2 / 2 + (5/3)^2 / 3) = 216 / 53. */
    const struct compare_arm wide = arm_of((const double[]){2, 4, 6, 8}, 4);
    assert_true(compare_welch(&wide, &low, 0.95, &welch));
    assert_near(welch.degrees, 216.0 / 53, CLOSE);
    const struct compare_arm single = arm_of((const double[]){3}, 1);
    assert_false(compare_welch(&single, &low, 0.95, &welch));
    assert_near(welch.difference, 3, CLOSE);
    assert_true(isnan(welch.low));
    const struct compare_arm flat = arm_of((const double[]){3, 3}, 2);
    assert_false(compare_welch(&flat, &flat, 0.95, &welch));
}

/* n = 15.7 (sigma / d)^2 */
static void what_can_be_detected(void **state)
{
    (void)state;
    assert_near(compare_detectable(0.02, INFINITY, 4, 4, 0.95, 1), 0.02 * sqrt(15.7 / 4), 1e-5);
    assert_near(compare_detectable(0.02, INFINITY, 16, 16, 0.95, 1), 0.02, 2e-4);
    assert_true(compare_detectable(0.02, 4, 4, 4, 0.95, 1) >
                compare_detectable(0.02, INFINITY, 4, 4, 0.95, 1));
    /* t(0.975; 10) + t(0.8; 10) */
    assert_near(compare_detectable(1, 10, 2, 2, 0.95, 1), T10 + 0.879057829, 1e-6);
    assert_near(compare_detectable(1, 10, 2, 2, 0.95, 2), T10_4 + 0.879057829, 1e-6);
}

/* chi squared on 4 degrees: 0.484419 and 11.143287 */
static void a_deviation_has_an_interval(void **state)
{
    (void)state;
    double low = 0;
    double high = 0;
    compare_deviation_interval(2, 4, 0.95, &low, &high);
    assert_near(low, 2 * sqrt(4 / 11.143287), 1e-5);
    assert_near(high, 2 * sqrt(4 / 0.484419), 1e-5);
    compare_deviation_interval(2, 0, 0.95, &low, &high);
    assert_true(isnan(low) && isnan(high));
}

/* 330 s around a run, seconds of 10 % with a correlation of 0.9, 1.5 % between runs. */
static void runs_have_a_best_length(void **state)
{
    (void)state;
    double within = 0.1 * 0.1 * 1.9 / 0.1;
    assert_near(compare_run_length(330, within, 0.015 * 0.015), 527.9, 0.05);
    assert_true(isinf(compare_run_length(330, within, 0)));
}

/* ---- outliers ---- */

/* Distances but the middle one's: 1 1 2 2 of the first arm, 1 1 of the second, 1 9 of the third:
 * their median is 1, the limit 5. */
static void outliers_lie_five_mad_out(void **state)
{
    (void)state;
    const double values[] = {8, 9, 10, 11, 12, 1, 2, 3, 50, 60, 5, 4, 14};
    const size_t arm_of_run[] = {0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3};
    double scratch[26];
    bool is_out[13];
    assert_int_equal(compare_outliers(values, arm_of_run, 13, scratch, is_out), 1);
    for (int i = 0; i < 13; i++)
        assert_int_equal(is_out[i], i == 12);
    /* Too little to know: two arms of three give four distances. */
    assert_int_equal(compare_outliers(&values[10], &arm_of_run[10], 3, scratch, is_out), 0);
    assert_false(is_out[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_repeats_share_the_pooled_variance),
        cmocka_unit_test(an_arm_noisier_than_many_others_keeps_its_noise),
        cmocka_unit_test(noise_measured_elsewhere_counts),
        cmocka_unit_test(many_differences_at_once_are_wider),
        cmocka_unit_test(the_best_ties_with_what_is_near),
        cmocka_unit_test(two_arms_are_compared_from_both_sides),
        cmocka_unit_test(without_noise_everything_is_possible),
        cmocka_unit_test(places_are_told_by_holm),
        cmocka_unit_test(very_many_arms_are_placed_coarsely),
        cmocka_unit_test(chances_are_those_of_students_t),
        cmocka_unit_test(the_200_highest_are_drawn),
        cmocka_unit_test(values_shrink_by_moments),
        cmocka_unit_test(welch_knows_only_the_two),
        cmocka_unit_test(what_can_be_detected),
        cmocka_unit_test(a_deviation_has_an_interval),
        cmocka_unit_test(runs_have_a_best_length),
        cmocka_unit_test(outliers_lie_five_mad_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
