/*
 * Effects against values computed by hand on full factorials, and found again by a regression on
 * parts of grids whose truth is known.
 */
#include "sweeper/stats/effects.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_CELLS = 256, MOST_AXES = 6 };

static struct arena arena;
static struct err err;
static struct effects effects;

static size_t level_counts[MOST_AXES];
static size_t levels[MOST_CELLS * MOST_AXES];
static double values[MOST_CELLS];
static double runs[MOST_CELLS];
static struct effects_design design;

static void assert_near(double value, double expected, double close)
{
    if (!(fabs(value - expected) <= close))
        fail_msg("%.9g is not %.9g", value, expected);
}

/* All combinations, the last axis fastest. */
static void full_grid(size_t axes, const size_t *counts)
{
    size_t cells = 1;
    for (size_t j = 0; j < axes; j++) {
        level_counts[j] = counts[j];
        cells *= counts[j];
    }
    for (size_t i = 0; i < cells; i++) {
        size_t rest = i;
        for (size_t j = axes; j-- > 0;) {
            levels[i * axes + j] = rest % counts[j];
            rest /= counts[j];
        }
        values[i] = 0;
        runs[i] = 1;
    }
    design = (struct effects_design){.axis_count = axes,
                                     .level_counts = level_counts,
                                     .cell_count = cells,
                                     .levels = levels,
                                     .values = values,
                                     .runs = runs,
                                     .noise_variance = NAN,
                                     .confidence = 0.95};
}

static void compute(void)
{
    if (!effects_of(&design, &arena, &effects, &err))
        fail_msg("%s", err.text);
}

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)256 << 20);
    err_clear(&err);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static uint64_t random_state;

static double uniform(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)((random_state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-53;
}

static double normal(void)
{
    double radius = sqrt(-2 * log(1 - uniform()));
    return radius * cos(6.283185307179586 * uniform());
}

/* ---- exact ---- */

/* 1 3 / 5 11: mean 5; A -3 +3 (variance 9), B -2 +2 (4), the pair +1 -1 -1 +1 (1); in all 14. */
static void two_by_two_by_hand(void **state)
{
    (void)state;
    const double hand[] = {1, 3, 5, 11};
    full_grid(2, (const size_t[]){2, 2});
    memcpy(values, hand, sizeof hand);
    compute();
    assert_true(effects.is_exact);
    assert_false(effects.is_constrained);
    assert_int_equal(effects.measured, 4);
    assert_near(effects.variance, 14, 1e-12);
    assert_near(effects.axes[0].share, 9.0 / 14, 1e-12);
    assert_near(effects.axes[1].share, 4.0 / 14, 1e-12);
    assert_near(effects.pairs[0].share, 1.0 / 14, 1e-12);
    assert_near(effects.levels[0][0].value, -3, 1e-12);
    assert_near(effects.levels[0][1].value, 3, 1e-12);
    assert_near(effects.levels[1][1].value, 2, 1e-12);
    assert_true(isnan(effects.axes[0].p));
    assert_true(isnan(effects.axes[0].low));
    assert_true(isnan(effects.r2));
}

/* The same with a noise of 1.2 a run, two runs a cell: 0.6 of each cell's variance is noise. Of an
 * axis 0.6 / 4 is taken off, of all 0.6 * 3 / 4. F = 4 * 9 / 0.6 = 60 on 1 and 4 degrees: the root
 * is t = 7.746, p = 0.0015. */
static void noise_is_taken_off(void **state)
{
    (void)state;
    const double hand[] = {1, 3, 5, 11};
    full_grid(2, (const size_t[]){2, 2});
    memcpy(values, hand, sizeof hand);
    for (size_t i = 0; i < 4; i++)
        runs[i] = 2;
    design.noise_variance = 1.2;
    design.noise_degrees = 4;
    compute();
    assert_near(effects.variance, 14 - 0.45, 1e-12);
    assert_near(effects.axes[0].share, (9 - 0.15) / 13.55, 1e-12);
    assert_near(effects.pairs[0].share, (1 - 0.15) / 13.55, 1e-12);
    assert_near(effects.r2, 1 - 0.45 / 14, 1e-12);
    assert_near(effects.axes[0].p, 0.001494, 1e-5);
    assert_near(effects.axes[1].p, 0.006644, 1e-3);
    assert_true(effects.axes[0].low < effects.axes[0].share);
    assert_true(effects.axes[0].high > effects.axes[0].share);
    assert_true(effects.levels[0][0].half > 0);
}

/* Three axes of 2, 3 and 2: y = a + b + ab, and an axis that does nothing. */
static void an_idle_axis_has_no_share(void **state)
{
    (void)state;
    const double of_b[] = {-2, 0, 2};
    full_grid(3, (const size_t[]){2, 3, 2});
    for (size_t i = 0; i < 12; i++) {
        double a = levels[i * 3] == 0 ? -1 : 1;
        double b = of_b[levels[i * 3 + 1]];
        values[i] = 7 + a + b + a * b;
    }
    compute();
    /* Variances: 1, 8/3, 8/3. */
    assert_near(effects.variance, 1 + 16.0 / 3, 1e-12);
    assert_near(effects.axes[0].share, 3.0 / 19, 1e-12);
    assert_near(effects.axes[1].share, 8.0 / 19, 1e-12);
    assert_near(effects.axes[2].share, 0, 1e-12);
    assert_near(effects.pairs[effects_pair(3, 0, 1)].share, 8.0 / 19, 1e-12);
    assert_near(effects.pairs[effects_pair(3, 0, 2)].share, 0, 1e-12);
    assert_near(effects.pairs[effects_pair(3, 1, 2)].share, 0, 1e-12);
}

/* ---- by regression ---- */

static double truth_of(size_t cell)
{
    const double of_a[] = {-0.3, 0, 0.1, 0.2};
    const double of_b[] = {-0.1, 0, 0.1};
    const size_t *at = &levels[cell * 4];
    double pair = at[0] == 3 && at[1] == 2 ? 0.1 : 0;
    return 8 + of_a[at[0]] + of_b[at[1]] + pair;
}

static void parts_of_a_grid_tell_the_same(void **state)
{
    (void)state;
    double exact[4];
    full_grid(4, (const size_t[]){4, 3, 3, 2});
    for (size_t i = 0; i < design.cell_count; i++)
        values[i] = truth_of(i);
    compute();
    for (size_t j = 0; j < 4; j++)
        exact[j] = effects.axes[j].share;
    random_state = 4;
    for (size_t i = 0; i < design.cell_count; i++)
        values[i] = uniform() < 0.5 ? truth_of(i) + 0.01 * normal() : (double)NAN;
    compute();
    assert_false(effects.is_exact);
    assert_false(effects.is_constrained);
    assert_true(effects.has_pairs);
    assert_in_range(effects.measured, 28, 44);
    assert_true(effects.r2 > 0.9);
    for (size_t j = 0; j < 4; j++) {
        assert_near(effects.axes[j].share, exact[j], 0.1);
        assert_true(effects.axes[j].low <= effects.axes[j].share);
        assert_true(effects.axes[j].high >= effects.axes[j].share);
        assert_true(isnan(effects.axes[j].p));
    }
    assert_true(effects.axes[0].low > effects.axes[1].high);
    assert_near(effects.levels[0][0].value, -0.308, 0.05);
}

static void noise_alone_is_unreliable(void **state)
{
    (void)state;
    int unreliable = 0;
    random_state = 11;
    for (int night = 0; night < 20; night++) {
        full_grid(4, (const size_t[]){4, 3, 3, 2});
        for (size_t i = 0; i < design.cell_count; i++)
            values[i] = uniform() < 0.5 ? normal() : (double)NAN;
        compute();
        unreliable += effects.r2 < EFFECTS_LEAST_R2;
    }
    assert_true(unreliable >= 19);
}

/* Cells that a rule took away make a grid constrained, whatever was measured of it. */
static void constrained_grids_are_told(void **state)
{
    (void)state;
    full_grid(2, (const size_t[]){3, 3});
    for (size_t i = 0; i < 8; i++)
        values[i] = (double)levels[i * 2] + 0.1 * (double)levels[i * 2 + 1];
    design.cell_count = 8;
    compute();
    assert_true(effects.is_constrained);
    assert_false(effects.is_exact);
    assert_true(effects.axes[0].share > effects.axes[1].share);
}

static void the_same_design_gives_the_same_answer(void **state)
{
    (void)state;
    full_grid(3, (const size_t[]){3, 3, 2});
    random_state = 9;
    for (size_t i = 0; i < design.cell_count; i++)
        values[i] = i % 4 != 0 ? (double)levels[i * 3] + 0.1 * normal() : (double)NAN;
    compute();
    double low = effects.axes[0].low;
    compute();
    assert_true(effects.axes[0].low >= low && effects.axes[0].low <= low);
}

static void too_little_is_refused(void **state)
{
    (void)state;
    full_grid(2, (const size_t[]){2, 2});
    for (size_t i = 1; i < 4; i++)
        values[i] = NAN;
    assert_false(effects_of(&design, &arena, &effects, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
    err_clear(&err);
    full_grid(2, (const size_t[]){1, 1});
    assert_false(effects_of(&design, &arena, &effects, &err));
    assert_string_equal(err.text, "no axis has two values among what was measured");
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, open_arena, close_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(two_by_two_by_hand),
        CASE(noise_is_taken_off),
        CASE(an_idle_axis_has_no_share),
        CASE(parts_of_a_grid_tell_the_same),
        CASE(noise_alone_is_unreliable),
        CASE(constrained_grids_are_told),
        CASE(the_same_design_gives_the_same_answer),
        CASE(too_little_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
