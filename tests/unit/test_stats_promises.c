/*
 * What the ranking promises, over thousands of simulated sweeps with fixed seeds: how often equal
 * points are told apart, how often the true best is in the tied set, how often a lone winner is
 * the wrong one, and what the correction for drift is worth.
 *
 * not under valgrind: it simulates for seconds.
 */
#include "sweeper/stats/compare.h"
#include "sweeper/stats/drift.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_ARMS = 128, MOST_RUNS = 16 };

static uint64_t random_state;

/* xorshift64*: the tests' own, so that their figures do not hang on a library's version. */
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

static struct compare_arm arms[MOST_ARMS];
static bool is_possible[MOST_ARMS];
static double scratch[3 * MOST_ARMS];

static void measure(struct compare_arm *arm, double truth, double sigma, size_t runs)
{
    double values[MOST_RUNS];
    for (size_t i = 0; i < runs; i++)
        values[i] = truth + sigma * normal();
    compare_arm_of(values, runs, arm);
}

static void assert_share(const char *what, int count, int of, double least, double most)
{
    double share = (double)count / of;
    print_message("# %s: %d of %d\n", what, count, of);
    if (share < least || share > most)
        fail_msg("%s: %d of %d", what, count, of);
}

/* 50 points that are the baseline by another name, 3 runs each, noise 5 %. */
static void equal_points_are_not_declared_better(void **state)
{
    (void)state;
    enum { SWEEPS = 1000, COUNT = 51 };
    int declared = 0;
    int alone = 0;
    random_state = 50;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        struct compare_noise noise;
        bool is_declared = false;
        for (size_t i = 0; i < COUNT; i++)
            measure(&arms[i], 0, 0.05, 3);
        compare_pool(arms, COUNT, NULL, &noise);
        for (size_t i = 1; i < COUNT; i++) {
            double half = compare_difference_half(&arms[i], &arms[0], 0.95, COUNT - 1);
            is_declared = is_declared || arms[i].mean - arms[0].mean > half;
        }
        declared += is_declared;
        alone += compare_with_best(arms, COUNT, 0.95, scratch, is_possible) == 1;
    }
    assert_share("sweeps that declare one better", declared, SWEEPS, 0, 0.05);
    assert_share("sweeps with a lone winner", alone, SWEEPS, 0, 0.01);
}

static void the_same_twice_is_seldom_told_apart(void **state)
{
    (void)state;
    enum { SWEEPS = 4000 };
    int apart = 0;
    random_state = 2;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        struct compare_noise noise;
        measure(&arms[0], 0, 0.02, 5);
        measure(&arms[1], 0, 0.02, 5);
        compare_pool(arms, 2, NULL, &noise);
        apart += compare_with_best(arms, 2, 0.95, scratch, is_possible) == 1;
    }
    assert_share("A/A told apart", apart, SWEEPS, 0.035, 0.062);
}

/* As after a search: few close arms, unequally often repeated. */
static void the_tied_set_holds_the_best(void **state)
{
    (void)state;
    enum { SWEEPS = 3000, COUNT = 6 };
    int covered = 0;
    int wrong = 0;
    random_state = 95;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double truths[COUNT];
        size_t best = 0;
        struct compare_noise noise;
        for (size_t i = 0; i < COUNT; i++) {
            truths[i] = 0.02 * normal();
            best = truths[i] > truths[best] ? i : best;
            measure(&arms[i], truths[i], 0.02, 2 + i % 3);
        }
        compare_pool(arms, COUNT, NULL, &noise);
        size_t members = compare_with_best(arms, COUNT, 0.95, scratch, is_possible);
        covered += is_possible[best];
        wrong += members == 1 && !is_possible[best];
    }
    assert_share("tied sets with the true best", covered, SWEEPS, 0.95, 1);
    assert_share("lone winners that are wrong", wrong, SWEEPS, 0, 0.01);
}

/* The best of 40 single runs looks better than it is; the shrunken value is no promise too high. */
static void shrunken_values_undo_the_winners_curse(void **state)
{
    (void)state;
    enum { SWEEPS = 1000, COUNT = 40 };
    double raw_bias = 0;
    double bias = 0;
    random_state = 3;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double truths[COUNT];
        double expected[COUNT];
        size_t chosen = 0;
        struct compare_noise noise;
        for (size_t i = 0; i < COUNT; i++) {
            truths[i] = 0.04 * normal();
            measure(&arms[i], truths[i], 0.03, 1);
            chosen = arms[i].mean > arms[chosen].mean ? i : chosen;
        }
        measure(&arms[COUNT], 0, 0.03, 8);
        compare_pool(arms, COUNT + 1, NULL, &noise);
        compare_shrink(arms, COUNT, expected);
        raw_bias += (arms[chosen].mean - truths[chosen]) / SWEEPS;
        bias += (expected[chosen] - truths[chosen]) / SWEEPS;
    }
    print_message("# overclaimed: %.2f %%, shrunken %.2f %%\n", 100 * raw_bias, 100 * bias);
    assert_true(raw_bias > 0.03);
    assert_true(fabs(bias) < 0.3 * 0.03);
}

static void quiet_nights_seldom_drift(void **state)
{
    (void)state;
    enum { NIGHTS = 600 };
    const size_t counts[] = {8, 10};
    for (size_t k = 0; k < 2; k++) {
        int found = 0;
        random_state = 10 + k;
        for (int night = 0; night < NIGHTS; night++) {
            double values[MOST_RUNS];
            double times[MOST_RUNS];
            struct drift drift;
            for (size_t i = 0; i < counts[k]; i++) {
                values[i] = normal();
                times[i] = (double)i;
            }
            drift_test(values, times, counts[k], scratch, &drift);
            found += drift.is_significant;
        }
        assert_share("quiet nights that seem to drift", found, NIGHTS, 0.02, 0.08);
    }
}

struct night {
    double truths[96];
    double values[96];
    double times[96];
    double baselines[17];
    double baseline_times[17];
};

/* 96 points in random order, a baseline run before every 6th and at the end; 10 % are lost over the
 * night. */
static void fill_night(struct night *night)
{
    size_t run = 0;
    size_t baseline = 0;
    for (size_t i = 0; i <= 96; i++) {
        if (i % 6 == 0) {
            night->baseline_times[baseline] = (double)run;
            night->baselines[baseline++] = 0.01 * normal() - 0.1 * (double)run++ / 113;
        }
        if (i < 96) {
            night->truths[i] = 0.03 * normal();
            night->times[i] = (double)run;
            night->values[i] = night->truths[i] + 0.01 * normal() - 0.1 * (double)run++ / 113;
        }
    }
}

static double regret_of(const struct night *night, bool is_corrected)
{
    size_t chosen = 0;
    double highest = -INFINITY;
    double best = -INFINITY;
    for (size_t i = 0; i < 96; i++) {
        double level = drift_level(night->baselines, night->baseline_times, 17, night->times[i]);
        double value = night->values[i] - (is_corrected ? level : 0);
        chosen = value > highest ? i : chosen;
        highest = fmax(value, highest);
        best = fmax(night->truths[i], best);
    }
    return best - night->truths[chosen];
}

static void correction_finds_the_winner_of_a_drifting_night(void **state)
{
    (void)state;
    enum { NIGHTS = 300 };
    double raw = 0;
    double corrected = 0;
    int found = 0;
    random_state = 96;
    for (int night = 0; night < NIGHTS; night++) {
        struct night data;
        struct drift drift;
        fill_night(&data);
        drift_test(data.baselines, data.baseline_times, 17, scratch, &drift);
        found += drift.is_significant;
        raw += regret_of(&data, false) / NIGHTS;
        corrected += regret_of(&data, true) / NIGHTS;
    }
    print_message("# regret: %.2f %%, corrected %.2f %%\n", 100 * raw, 100 * corrected);
    assert_share("drifting nights that are found", found, NIGHTS, 0.99, 1);
    assert_true(corrected < 0.5 * raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_points_are_not_declared_better),
        cmocka_unit_test(the_same_twice_is_seldom_told_apart),
        cmocka_unit_test(the_tied_set_holds_the_best),
        cmocka_unit_test(shrunken_values_undo_the_winners_curse),
        cmocka_unit_test(quiet_nights_seldom_drift),
        cmocka_unit_test(correction_finds_the_winner_of_a_drifting_night),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
