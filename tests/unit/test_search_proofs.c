/*
 * What the strategies promise, in small: fixed seeds on made-up grids whose truth is known.
 * `make bench-search` has the whole. not under valgrind: some thousands of fits; ASan runs it
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/support/search_grids.h"
#include "tests/support/search_judge.h"

enum { SEEDS = 4 };

static struct arena arena;
static struct arena scratch;
static struct search_set set;
static struct search_sim sim;

static const struct search_noise common = {.name = "2 %", .sigma = 0.02};

/* The mean regret of what is recommended after so many runs of search. */
static double mean_regret(const char *kind, const struct search_noise *noise, size_t runs)
{
    double sum = 0;
    for (int64_t seed = 0; seed < SEEDS; seed++) {
        sim_open(&sim, &set, noise, kind, seed);
        sim.spec.smallest_gain = 0;
        while (sim.count < runs && sim_step(&sim, &scratch))
            continue;
        sum += sim_regret(&set, sim_recommend(&sim, &scratch)) / SEEDS;
    }
    return sum;
}

static void gp_finds_the_sum_and_its_pair(void **state)
{
    (void)state;
    for (uint64_t kind = 1; kind <= 3; kind++) {
        search_grid_additive(&set, kind, &arena);
        assert_true(mean_regret("gp", &common, 40) < 0.03);
    }
}

static void gp_finds_the_plateau(void **state)
{
    (void)state;
    search_grid_plateau(&set, &arena);
    assert_true(mean_regret("gp", &common, 30) < 0.01);
}

static void gp_finds_the_valley_of_branin(void **state)
{
    (void)state;
    search_grid_branin(&set, &arena);
    assert_true(mean_regret("gp", &common, 40) < 0.03);
}

static void gp_beats_chance_where_it_is_hard(void **state)
{
    (void)state;
    search_grid_hartmann(&set, &arena);
    assert_true(mean_regret("gp", &common, 60) < 0.5 * mean_regret("random", &common, 60));
}

/* A slope that leads away from the summit deceives a model at first, not for ever. */
static void gp_is_not_deceived_for_ever(void **state)
{
    (void)state;
    search_grid_valley(&set, &arena);
    assert_true(mean_regret("gp", &common, 120) < 0.10);
}

/* Of what fails little is tried when it is known where that is. */
static void gp_keeps_off_the_cliff(void **state)
{
    (void)state;
    size_t picks = 0;
    size_t failed = 0;
    search_grid_cliff(&set, &arena);
    for (int64_t seed = 0; seed < SEEDS; seed++) {
        sim_open(&sim, &set, &common, "gp", seed);
        sim.spec.smallest_gain = 0;
        while (sim.count < 60 && sim_step(&sim, &scratch))
            continue;
        for (size_t i = 15; i < sim.count; i++) {
            picks += sim.trials[i].purpose == PURPOSE_EXPLORE;
            failed += sim.trials[i].state == TRIAL_FAILED;
        }
    }
    assert_true(failed * 8 <= picks);
    assert_true(mean_regret("gp", &common, 40) < 0.05);
}

/* Blocks of the same restarted server drift; what is confirmed is compared within them. */
static void a_drifting_night_costs_little(void **state)
{
    (void)state;
    const struct search_noise drifting = {.sigma = 0.01, .line = -0.10};
    search_grid_additive(&set, 4, &arena);
    assert_true(mean_regret("gp", &drifting, 40) < 0.03);
}

/* The best of the confirmed is among those called possibly best, and what is claimed of the winner
 * is not much more than the truth. */
static void what_is_confirmed_is_true(void **state)
{
    (void)state;
    size_t covered = 0;
    size_t held = 0;
    size_t falsely = 0;
    double bias = 0;
    for (int64_t seed = 0; seed < 4 * SEEDS; seed++) {
        struct judgement judged;
        search_grid_additive(&set, 1 + (uint64_t)seed % 4, &arena);
        sim_open(&sim, &set, &common, "auto", seed);
        sim.spec.budget_trials = 48;
        sim.spec.repeats = 3;
        while (sim_step(&sim, &scratch))
            continue;
        sim_judge(&sim, &judged);
        assert_int_not_equal(judged.winner, SIZE_MAX);
        assert_true(judged.has_gain);
        double gain = set.truth[judged.winner] - set.truth[0];
        covered += judged.is_best_arm_tied;
        falsely += judged.tied_count == 1 && judged.winner != judged.best_arm;
        held += judged.gain.low <= gain && gain <= judged.gain.high;
        bias += (judged.gain.difference - gain) / (4 * SEEDS);
    }
    assert_true(covered >= 4 * SEEDS - 2);
    assert_true(held >= 4 * SEEDS - 3);
    assert_true(falsely <= 1);
    assert_true(fabs(bias) < 0.5 * common.sigma);
}

static int open_arenas(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)1 << 30);
    arena_open(&scratch, (size_t)1 << 30);
    return 0;
}

static int close_arenas(void **state)
{
    (void)state;
    arena_close(&arena);
    arena_close(&scratch);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(gp_finds_the_sum_and_its_pair),
        cmocka_unit_test(gp_finds_the_plateau),
        cmocka_unit_test(gp_finds_the_valley_of_branin),
        cmocka_unit_test(gp_beats_chance_where_it_is_hard),
        cmocka_unit_test(gp_is_not_deceived_for_ever),
        cmocka_unit_test(gp_keeps_off_the_cliff),
        cmocka_unit_test(a_drifting_night_costs_little),
        cmocka_unit_test(what_is_confirmed_is_true),
    };
    return cmocka_run_group_tests(tests, open_arenas, close_arenas);
}
