/*
 * The test for drift against values computed by hand: of 8! orders of 1 … 8 two have the smallest
 * steps, the rising and the falling one.
 */
#include "sweeper/stats/drift.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const double steady_times[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

static void assert_near(double value, double expected, double close)
{
    if (!(fabs(value - expected) <= close))
        fail_msg("%.12g is not %.12g", value, expected);
}

static struct drift drift_of(const double *values, size_t count)
{
    double scratch[16];
    struct drift drift;
    drift_test(values, steady_times, count, scratch, &drift);
    return drift;
}

static void all_orders_of_eight_are_tried(void **state)
{
    (void)state;
    const double rising[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct drift drift = drift_of(rising, 8);
    assert_true(drift.is_testable);
    assert_true(drift.is_significant);
    assert_near(drift.ratio, 7.0 / 42, 1e-12); /* 7 steps of 1; squares from 4.5 add up to 42 */
    assert_near(drift.p, 2.0 / 40320, 1e-12);
    assert_near(drift.slope, 1, 1e-12);
    /* The largest steps there are: every order has steps as small. */
    const double wild[] = {5, 1, 7, 2, 8, 3, 6, 4};
    const double wildest[] = {4, 7, 2, 6, 1, 8, 3, 5};
    assert_true(drift_of(wild, 8).p > 0.9);
    assert_false(drift_of(wild, 8).is_significant);
    assert_true(drift_of(wildest, 8).p > 0.9);
}

/* Three of four at one level: a step is drift as well as a slope. */
static void a_step_is_found(void **state)
{
    (void)state;
    const double step[] = {10.1, 9.9, 10, 10.05, 12, 12.1, 11.9, 12.05};
    struct drift drift = drift_of(step, 8);
    assert_true(drift.is_significant);
    /* Any order that keeps both groups together is about as small: 2 * 4! * 4! of 8! and fewer. */
    assert_true(drift.p <= 2.0 * 24 * 24 / 40320);
}

static void fewer_than_eight_are_not_testable(void **state)
{
    (void)state;
    const double rising[] = {1, 2, 3, 4, 5, 6, 7};
    struct drift drift = drift_of(rising, 7);
    assert_false(drift.is_testable);
    assert_false(drift.is_significant);
    assert_near(drift.p, 1, 0);
    assert_near(drift.ratio, 6.0 / 28, 1e-12);
    assert_near(drift.slope, 1, 1e-12);
    drift = drift_of(rising, 1);
    assert_true(isnan(drift.ratio));
    assert_true(isnan(drift.slope));
    const double same[] = {3, 3, 3, 3, 3, 3, 3, 3};
    drift = drift_of(same, 8);
    assert_false(drift.is_testable);
    assert_near(drift.p, 1, 0);
}

static void more_are_shuffled_and_always_alike(void **state)
{
    (void)state;
    const double rising[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    assert_near(drift_of(rising, 12).p, 1.0 / 10001, 1e-9);
    const double mixed[] = {4, 3, 6, 1, 9, 2, 8, 5, 7, 10};
    double p = drift_of(mixed, 10).p;
    assert_near(drift_of(mixed, 10).p, p, 0);
    assert_true(p > 0.3 && p < 1);
}

static void levels_lie_between_neighbours(void **state)
{
    (void)state;
    const double values[] = {10, 20, 40};
    const double times[] = {100, 200, 400};
    assert_near(drift_level(values, times, 3, 50), 10, 0);
    assert_near(drift_level(values, times, 3, 100), 10, 0);
    assert_near(drift_level(values, times, 3, 150), 15, 1e-12);
    assert_near(drift_level(values, times, 3, 300), 30, 1e-12);
    assert_near(drift_level(values, times, 3, 999), 40, 0);
    /* Without itself: between 10 at 100 and 40 at 400. */
    assert_near(drift_level_without(values, times, 3, 1, 200), 20, 1e-12);
    assert_near(drift_level_without(values, times, 3, 0, 100), 20, 0);
    assert_near(drift_level_without(values, times, 3, 2, 400), 20, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_orders_of_eight_are_tried),
        cmocka_unit_test(a_step_is_found),
        cmocka_unit_test(fewer_than_eight_are_not_testable),
        cmocka_unit_test(more_are_shuffled_and_always_alike),
        cmocka_unit_test(levels_lie_between_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
