/*
 * Steadiness of made-up series: where a start-up ends, what is flagged, and how often noise alone
 * is.
 *
 * not under valgrind: thousands of series are drawn to see a share of 1 %.
 */
#include "sweeper/stats/steady.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "tests/support/noise.h"

enum { SECONDS = 900, RUNS = 400 };

static double samples[2 * SECONDS];

static struct steady judge(size_t count, size_t warm_up_count)
{
    struct arena scratch;
    struct err err;
    struct steady steady;
    err_clear(&err);
    arena_open(&scratch, 1u << 20);
    assert_true(steady_judge(samples, count, warm_up_count, 1, &scratch, &steady, &err));
    arena_close(&scratch);
    return steady;
}

static bool is_warm(size_t count)
{
    struct arena scratch;
    struct err err;
    bool warm = false;
    err_clear(&err);
    arena_open(&scratch, 1u << 20);
    assert_true(steady_is_warm(samples, count, &scratch, &warm, &err));
    arena_close(&scratch);
    return warm;
}

/* ---- the cut ---- */

/* Batches 0 0 9 9 9 9 9 9 9 9: with both zeros left out nothing varies. */
static void cut_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < 50; i++)
        samples[i] = i < 10 ? 0 : 9;
    struct steady_cut cut = steady_mser5(samples, 50);
    assert_int_equal(cut.samples, 10);
    assert_true(cut.is_found);
    for (size_t i = 0; i < 50; i++)
        samples[i] = 4;
    cut = steady_mser5(samples, 50);
    assert_int_equal(cut.samples, 0); /* of cuts as good as each other the first */
    assert_true(cut.is_found);
    cut = steady_mser5(samples, STEADY_LEAST_SAMPLES - 1);
    assert_false(cut.is_found);
}

/* A climb without an end is best cut at the end of the search. */
static void no_end_is_found_of_a_climb(void **state)
{
    (void)state;
    for (size_t i = 0; i < 100; i++)
        samples[i] = (double)i;
    struct steady_cut cut = steady_mser5(samples, 100);
    assert_int_equal(cut.samples, 50);
    assert_false(cut.is_found);
}

/* A pool that fills: the cut lies where little is missing, and grows with the time it takes. */
static void cut_follows_the_start_up(void **state)
{
    (void)state;
    size_t before = 0;
    for (size_t fill_s = 10; fill_s <= 80; fill_s *= 2) {
        struct noise noise = {.state = fill_s};
        noise_series(&noise, 1000, 20, 0.5, samples, SECONDS);
        for (size_t i = 0; i < SECONDS; i++)
            samples[i] -= 600 * exp(-(double)i / (double)fill_s);
        struct steady_cut cut = steady_mser5(samples, SECONDS);
        print_message("filled within %zu s: %zu s are cut\n", fill_s, cut.samples);
        assert_true(cut.is_found && cut.samples > before);
        assert_true(cut.samples >= fill_s && cut.samples <= 6 * fill_s);
        before = cut.samples;
    }
}

/* ---- thirds ---- */

static void thirds_by_hand(void **state)
{
    (void)state;
    for (size_t i = 0; i < 60; i++)
        samples[i] = 100 + (double)(i % 2) + (i >= 40 ? 5 : 0);
    /* batches of two: 100.5 each, and 105.5: no deviation at all */
    struct steady_thirds thirds = steady_thirds(samples, 60);
    assert_true(fabs(thirds.difference_pct - 500 / (100.5 + 5.0 / 3)) < 1e-9);
    assert_true(thirds.probability <= 0);
    assert_true(thirds.is_moving);
    /* nine batches of 100 and one of 110: sd 10 / sqrt(10), twice; differences of 1 and of 0 */
    for (size_t i = 0; i < 60; i++)
        samples[i] = i / 2 == 3 || i / 2 == 24 ? 110 : 100;
    thirds = steady_thirds(samples, 60);
    assert_true(thirds.difference_pct <= 0 && thirds.probability >= 1);
    for (size_t i = 0; i < 20; i++)
        samples[40 + i] += 10;
    thirds = steady_thirds(samples, 60);
    /* t = 10 / sqrt(2) with 18 degrees: below 1e-5; printed tables: 3.922 is 0.001 */
    assert_true(thirds.probability < 1e-5 && thirds.probability > 1e-7);
    assert_true(isnan(steady_thirds(samples, STEADY_LEAST_SAMPLES - 1).probability));
}

/* 1 % is sure and does not matter; 4 % matters. */
static void small_differences_do_not_matter(void **state)
{
    (void)state;
    struct noise noise = {.state = 3};
    noise_series(&noise, 1000, 5, 0, samples, SECONDS);
    for (size_t i = 600; i < SECONDS; i++)
        samples[i] += 10;
    struct steady_thirds thirds = steady_thirds(samples, SECONDS);
    assert_true(thirds.probability < 0.001 && !thirds.is_moving);
    for (size_t i = 600; i < SECONDS; i++)
        samples[i] += 30;
    assert_true(steady_thirds(samples, SECONDS).is_moving);
}

/* ---- levels ---- */

static struct steady_level last_level(size_t count)
{
    struct arena scratch;
    struct err err;
    struct steady_level level;
    err_clear(&err);
    arena_open(&scratch, 1u << 20);
    assert_true(steady_last_level(samples, count, 10, &scratch, &level, &err));
    arena_close(&scratch);
    return level;
}

static void the_last_level_begins_where_it_changed(void **state)
{
    (void)state;
    struct noise noise = {.state = 5};
    noise_series(&noise, 1000, 30, 0.5, samples, SECONDS);
    assert_int_equal(last_level(SECONDS).first, 0);
    for (size_t i = 600; i < SECONDS; i++)
        samples[i] += 100;
    struct steady_level level = last_level(SECONDS);
    assert_int_equal(level.first, 600);
    assert_true(fabs(level.share_pct - 100.0 / 3) < 0.1);
    assert_true(level.difference_pct > 8 && level.difference_pct < 11);
    assert_true(level.is_new);
    for (size_t i = 300; i < 600; i++)
        samples[i] += 100;
    level = last_level(SECONDS);
    assert_int_equal(level.first, 300);
    assert_false(level.is_new); /* more than half of the window is on it */
}

/* Three cycles, each with a dip in its last third: where the window ends in a dip, its level is
 * none that was not there before. */
static void a_cycle_has_no_new_level(void **state)
{
    (void)state;
    struct noise noise = {.state = 6};
    noise_series(&noise, 1000, 20, 0.5, samples, SECONDS);
    for (size_t i = 0; i < SECONDS; i++)
        samples[i] -= i % 300 >= 200 ? 200 : 0;
    struct steady_level level = last_level(SECONDS);
    assert_int_equal(level.first, 800);
    assert_true(fabs(level.difference_pct) < 1);
    assert_false(level.is_new);
    assert_int_equal(judge(SECONDS, 0).verdict, STEADY_YES);
}

static void one_outlier_is_no_level(void **state)
{
    (void)state;
    struct noise noise = {.state = 8};
    noise_series(&noise, 1000, 20, 0, samples, SECONDS);
    for (size_t i = 890; i < SECONDS; i++)
        samples[i] = 100;
    assert_false(last_level(SECONDS).is_new && last_level(SECONDS).share_pct < 3);
    for (size_t i = 0; i < SECONDS; i++)
        samples[i] = 1000;
    assert_int_equal(last_level(SECONDS).first, 0); /* without any noise */
    for (size_t i = 700; i < SECONDS; i++)
        samples[i] = 1100;
    assert_int_equal(last_level(SECONDS).first, 700);
}

/* ---- the verdict ---- */

static void a_warm_up_that_was_long_enough(void **state)
{
    (void)state;
    struct noise noise = {.state = 9};
    noise_series(&noise, 1000, 30, 0.5, samples, 1200);
    for (size_t i = 0; i < 1200; i++)
        samples[i] -= 600 * exp(-(double)i / 40);
    struct steady steady = judge(1200, 300);
    assert_int_equal(steady.verdict, STEADY_YES);
    assert_string_equal(steady.reason, "");
    assert_true(steady.cut.is_found && steady.cut.samples <= 300);
    /* the same without one: its mean is less by 2.7 % */
    steady = judge(SECONDS, 0);
    assert_int_equal(steady.verdict, STEADY_NO);
    assert_string_equal(steady.reason, "the start-up reaches into the window");
}

static void what_never_settles(void **state)
{
    (void)state;
    struct noise noise = {.state = 10};
    noise_series(&noise, 1000, 10, 0.5, samples, SECONDS);
    for (size_t i = 0; i < SECONDS; i++)
        samples[i] += 0.3 * (double)i;
    struct steady steady = judge(SECONDS, 0);
    assert_int_equal(steady.verdict, STEADY_NO);
    assert_string_equal(steady.reason, "no end of the start-up was found");
    /* rows pile up and all becomes slower, behind a warm-up as long as the window */
    for (size_t i = 0; i < SECONDS; i++)
        samples[SECONDS + i] = samples[i];
    noise_series(&noise, 1400, 10, 0.5, samples, SECONDS);
    steady = judge(2 * SECONDS, SECONDS);
    assert_int_equal(steady.verdict, STEADY_NO);
    assert_string_equal(steady.reason, "the last third differs from the first");
}

static void short_windows_are_not_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < 100; i++)
        samples[i] = (double)i;
    assert_int_equal(judge(STEADY_LEAST_SAMPLES - 1, 0).verdict, STEADY_UNKNOWN);
    assert_int_equal(judge(70 + STEADY_LEAST_SAMPLES - 1, 70).verdict, STEADY_UNKNOWN);
    assert_int_equal(judge(STEADY_LEAST_SAMPLES, 0).verdict, STEADY_NO);
    assert_int_equal(judge(0, 0).verdict, STEADY_UNKNOWN);
}

/* Series that have one level, as noisy and as slow as servers' are: how many are said to move. */
static void noise_alone_is_steady(void **state)
{
    (void)state;
    static const struct {
        double sd;
        double correlation;
        size_t most; /* of RUNS */
    } rows[] = {{50, 0, 8}, {100, 0.5, 12}, {30, 0.9, 20}, {100, 0.9, 40}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct noise noise = {.state = 100 + i};
        size_t moving = 0;
        for (size_t j = 0; j < RUNS; j++) {
            noise_series(&noise, 1000, rows[i].sd, rows[i].correlation, samples, SECONDS);
            moving += judge(SECONDS, 0).verdict != STEADY_YES;
        }
        print_message("sd %g %%, r %.1f: %zu of %d steady series are called moving\n",
                      rows[i].sd / 10, rows[i].correlation, moving, RUNS);
        assert_true(moving <= rows[i].most);
    }
}

/* ---- a warm-up under way ---- */

static void a_warm_up_ends_once_it_is_steady(void **state)
{
    (void)state;
    for (size_t run = 0; run < 20; run++) {
        struct noise noise = {.state = 200 + run};
        noise_series(&noise, 1000, 30, 0.5, samples, SECONDS);
        for (size_t i = 0; i < SECONDS; i++)
            samples[i] -= 600 * exp(-(double)i / 30);
        size_t at = STEADY_LEAST_SAMPLES;
        while (at < SECONDS && !(is_warm(at) && is_warm(at - 5)))
            at += 5;
        /* at 100 s 2 % are missing, which is within the noise */
        assert_true(at >= 100 && at <= 400);
    }
}

static void a_climb_is_never_warm(void **state)
{
    (void)state;
    struct noise noise = {.state = 11};
    noise_series(&noise, 1000, 10, 0.5, samples, SECONDS);
    for (size_t i = 0; i < SECONDS; i++)
        samples[i] += (double)i;
    for (size_t at = STEADY_LEAST_SAMPLES; at < SECONDS; at += 5)
        assert_false(is_warm(at));
    assert_false(is_warm(STEADY_LEAST_SAMPLES - 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_by_hand),
        cmocka_unit_test(no_end_is_found_of_a_climb),
        cmocka_unit_test(cut_follows_the_start_up),
        cmocka_unit_test(thirds_by_hand),
        cmocka_unit_test(small_differences_do_not_matter),
        cmocka_unit_test(the_last_level_begins_where_it_changed),
        cmocka_unit_test(a_cycle_has_no_new_level),
        cmocka_unit_test(one_outlier_is_no_level),
        cmocka_unit_test(a_warm_up_that_was_long_enough),
        cmocka_unit_test(what_never_settles),
        cmocka_unit_test(short_windows_are_not_judged),
        cmocka_unit_test(noise_alone_is_steady),
        cmocka_unit_test(a_warm_up_ends_once_it_is_steady),
        cmocka_unit_test(a_climb_is_never_warm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
