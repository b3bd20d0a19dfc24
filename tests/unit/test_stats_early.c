/*
 * Ending a run early, by simulated series: a run that is as good as the incumbent goes on, one that
 * is a quarter slower ends soon. not under valgrind: thousands of long series are drawn.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sweeper/stats/early.h"

enum { WINDOW_S = 900, RUNS = 1500, FIRST_S = 120, CYCLE_S = 300 };
static const double CV = 0.1;
static const double CORRELATION = 0.9;
static const double SD = 0.015;

/* Small and repeatable; normal by twelve uniform ones would have no tails. */
static uint64_t drawn = 88172645463325252;

static double uniform(void)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return ((double)(drawn >> 11) + 0.5) * 0x1p-53;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * acos(-1) * uniform());
}

/* One run of 1 - gap times the incumbent's truth. */
static void draw_run(double gap, size_t cycle_s, double *out)
{
    double run = (1 - gap) * exp(SD * normal());
    double noise = normal();
    for (size_t i = 0; i < WINDOW_S; i++) {
        bool is_dip = cycle_s > 0 && i % cycle_s >= cycle_s * 7 / 10;
        double shape = cycle_s == 0 ? 1 : (is_dip ? 0.8 : 1) / (1 - 0.3 * 0.2);
        noise = CORRELATION * noise + sqrt(1 - CORRELATION * CORRELATION) * normal();
        out[i] = run * shape * (1 + CV * noise);
    }
}

struct outcome {
    double lost_pct;
    double mean_s;
};

static struct outcome simulate(double gap, size_t cycle_s, double degrees, int runs)
{
    size_t looks[EARLY_LOOK_LIMIT];
    double samples[WINDOW_S];
    struct outcome out = {0, 0};
    struct early_rule rule = {.incumbent_count = 2,
                              .sd = SD,
                              .degrees = degrees,
                              .look_count = early_looks(WINDOW_S, FIRST_S, cycle_s, looks)};
    for (int i = 0; i < runs; i++) {
        size_t ended = WINDOW_S;
        rule.incumbent = exp(SD * normal() / sqrt(2));
        draw_run(gap, cycle_s, samples);
        for (size_t j = 0; j < rule.look_count && ended == WINDOW_S; j++)
            if (early_look_at(&rule, samples, looks[j]).is_lost)
                ended = looks[j];
        out.lost_pct += 100.0 * (ended < WINDOW_S) / runs;
        out.mean_s += (double)ended / runs;
    }
    return out;
}

static void looks_are_before_the_end(void **state)
{
    (void)state;
    size_t looks[EARLY_LOOK_LIMIT];
    static const size_t wanted[] = {120, 180, 300, 450, 600};
    assert_int_equal(early_looks(900, 120, 0, looks), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(looks[i], wanted[i]);
    assert_int_equal(early_looks(300, 120, 0, looks), 2);
    assert_int_equal(early_looks(120, 120, 0, looks), 0);
    assert_int_equal(early_looks(900, 120, 300, looks), 2);
    assert_int_equal(looks[1], 600);
    assert_int_equal(early_looks(30, 4, 0, looks), 3); /* not with less than ten seconds */
    assert_int_equal(looks[0], 10);
    assert_int_equal(early_looks(100000, 120, 20, looks), EARLY_LOOK_LIMIT);
}

static void good_runs_go_on(void **state)
{
    (void)state;
    static const double gaps[] = {0, 0.02};
    for (size_t i = 0; i < COUNT_OF(gaps); i++) {
        struct outcome plain = simulate(gaps[i], 0, INFINITY, RUNS);
        struct outcome cycles = simulate(gaps[i], CYCLE_S, INFINITY, RUNS);
        print_message("# gap %g: %.2f %%, with cycles %.2f %%\n", gaps[i], plain.lost_pct,
                      cycles.lost_pct);
        assert_true(plain.lost_pct <= 0.5);
        assert_true(cycles.lost_pct <= 0.5);
    }
}

static void losers_end_soon(void **state)
{
    (void)state;
    struct outcome plain = simulate(0.25, 0, INFINITY, RUNS);
    struct outcome cycles = simulate(0.25, CYCLE_S, INFINITY, RUNS);
    print_message("# gap 0.25: %.2f %% after %.0f s, with cycles %.2f %% after %.0f s\n",
                  plain.lost_pct, plain.mean_s, cycles.lost_pct, cycles.mean_s);
    assert_true(plain.lost_pct >= 99);
    assert_true(plain.mean_s <= 150);
    assert_true(cycles.lost_pct >= 99);
    assert_true(cycles.mean_s <= 1.2 * CYCLE_S);
}

/* What the method's own replay gave. */
static void between_them_it_depends(void **state)
{
    (void)state;
    assert_true(simulate(0.05, 0, INFINITY, RUNS).lost_pct < 4);
    double ten_pct = simulate(0.10, 0, INFINITY, RUNS).lost_pct;
    assert_true(ten_pct > 15 && ten_pct < 45);
    double fifteen_pct = simulate(0.15, 0, INFINITY, RUNS).lost_pct;
    assert_true(fifteen_pct > 85);
    /* a deviation that is hardly known makes it more careful */
    assert_true(simulate(0.10, 0, 2, RUNS).lost_pct < ten_pct);
}

static void without_knowledge_nothing_ends(void **state)
{
    (void)state;
    double samples[100];
    struct early_rule rule = {
        .incumbent = 100, .incumbent_count = 1, .sd = 0.01, .degrees = 5, .look_count = 1};
    for (size_t i = 0; i < 100; i++)
        samples[i] = 1 + (double)(i % 2) * 0.01;
    assert_true(early_look_at(&rule, samples, 100).is_lost);
    assert_false(early_look_at(&rule, samples, 9).is_lost);
    rule.degrees = 1;
    assert_false(early_look_at(&rule, samples, 100).is_lost);
    rule.degrees = 5;
    rule.sd = NAN;
    assert_false(early_look_at(&rule, samples, 100).is_lost);
    rule.sd = 0.01;
    rule.incumbent = 1;
    assert_false(early_look_at(&rule, samples, 100).is_lost);
}

/* A stalled server has no spread at all. */
static void a_standstill_ends(void **state)
{
    (void)state;
    double samples[120] = {0};
    const struct early_rule rule = {
        .incumbent = 100, .incumbent_count = 2, .sd = 0.01, .degrees = 4, .look_count = 5};
    struct early_look look = early_look_at(&rule, samples, 120);
    assert_true(look.is_lost);
    assert_true(look.mean == 0 && look.high == 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_are_before_the_end),
        cmocka_unit_test(good_runs_go_on),
        cmocka_unit_test(losers_end_soon),
        cmocka_unit_test(between_them_it_depends),
        cmocka_unit_test(without_knowledge_nothing_ends),
        cmocka_unit_test(a_standstill_ends),
    };
    return cmocka_run_group_tests_name("stats_early", tests, NULL, NULL);
}
