/*
 * Means and quantiles against values computed by hand and from the printed tables of Student's t.
 */
#include "sweeper/stats/summary.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_near(double value, double expected, double close)
{
    if (!(fabs(value - expected) <= close))
        fail_msg("%.12g is not %.12g", value, expected);
}

static void means_and_deviations(void **state)
{
    (void)state;
    const double values[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* squares from the mean add up to 32 */
    struct summary summary;
    summary_of(values, 8, &summary);
    assert_int_equal(summary.count, 8);
    assert_near(summary.mean, 5, 1e-12);
    assert_near(summary.sd, sqrt(32.0 / 7), 1e-12);
    assert_near(summary.cv_pct, 20 * sqrt(32.0 / 7), 1e-12);
    assert_near(summary.min, 2, 0);
    assert_near(summary.max, 9, 0);
}

static void too_few_values_have_no_deviation(void **state)
{
    (void)state;
    const double value = -3;
    struct summary summary;
    summary_of(&value, 1, &summary);
    assert_near(summary.mean, -3, 0);
    assert_near(summary.min, -3, 0);
    assert_near(summary.max, -3, 0);
    assert_true(isnan(summary.sd));
    assert_true(isnan(summary.cv_pct));
    summary_of(&value, 0, &summary);
    assert_int_equal(summary.count, 0);
    assert_true(isnan(summary.mean));
    assert_true(isnan(summary.min));
}

/* The mean is in the way of the variance only where squares are added up. */
static void large_values_do_not_cancel(void **state)
{
    (void)state;
    const double values[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
    struct summary summary;
    summary_of(values, 3, &summary);
    assert_near(summary.sd, 1, 1e-9);
}

static void a_mean_of_zero_has_no_share(void **state)
{
    (void)state;
    const double values[] = {-1, 1};
    struct summary summary;
    summary_of(values, 2, &summary);
    assert_near(summary.sd, sqrt(2), 1e-12);
    assert_true(isnan(summary.cv_pct));
    const double negative[] = {-10, -12};
    summary_of(negative, 2, &summary);
    assert_near(summary.cv_pct, 100 * sqrt(2) / 11, 1e-12);
}

static void quantiles_are_those_of_the_tables(void **state)
{
    (void)state;
    assert_near(summary_t_quantile(0.975, 1), 12.706, 5e-4);
    assert_near(summary_t_quantile(0.975, 2), 4.303, 5e-4);
    assert_near(summary_t_quantile(0.975, 9), 2.262, 5e-4);
    assert_near(summary_t_quantile(0.95, 30), 1.697, 5e-4);
    assert_near(summary_t_quantile(0.995, 4), 4.604, 5e-4);
    assert_near(summary_t_quantile(0.975, 1e6), 1.95996, 5e-5);
    assert_near(summary_t_quantile(0.5, 3), 0, 1e-12);
    assert_near(summary_t_quantile(0.025, 2), -4.303, 5e-4);
}

static void the_library_says_its_version(void **state)
{
    (void)state;
    assert_int_equal(strncmp(summary_library_version(), "GSL ", 4), 0);
    assert_true(summary_library_version()[4] >= '1' && summary_library_version()[4] <= '9');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_and_deviations),
        cmocka_unit_test(too_few_values_have_no_deviation),
        cmocka_unit_test(large_values_do_not_cancel),
        cmocka_unit_test(a_mean_of_zero_has_no_share),
        cmocka_unit_test(quantiles_are_those_of_the_tables),
        cmocka_unit_test(the_library_says_its_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
