/*
 * Strategies that search: what they choose follows from the history alone, the confirmation has its
 * room and its blocks, and what cannot win is never confirmed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h> /* not under valgrind: some thousands of fits; ASan runs it */

#include "tests/support/search_grids.h"

static struct arena arena;
static struct arena scratch;
static struct search_set set;
static struct search_sim sim;
static struct search_sim other;

static const struct search_noise quiet = {.name = "1 %", .sigma = 0.01};
static const char *const searching[] = {"random", "lhs", "coord", "race", "gp"};

static void run(struct search_sim *of, const char *kind, int64_t seed, int64_t budget)
{
    sim_open(of, &set, &quiet, kind, seed);
    of->spec.budget_trials = budget;
    while (sim_step(of, &scratch))
        continue;
}

static size_t count_purpose(const struct search_sim *of, enum purpose purpose)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++)
        count += of->trials[i].purpose == purpose;
    return count;
}

/* ---- history alone ---- */

/* Each proposal is that of a process which knows nothing but the trials before it. */
static void the_next_follows_from_the_history(void **state)
{
    (void)state;
    search_grid_additive(&set, 1, &arena);
    for (size_t kind = 0; kind < COUNT_OF(searching); kind++) {
        run(&sim, searching[kind], 3, 40);
        sim_open(&other, &set, &quiet, searching[kind], 3);
        other.spec.budget_trials = 40;
        memcpy(other.trials, sim.trials, sizeof sim.trials);
        for (size_t i = 0; i < sim.count; i++) {
            struct history history = {.trials = other.trials, .count = i, .call_id = 1};
            struct proposal next;
            struct err err;
            err_clear(&err);
            arena_reset(&scratch);
            assert_true(strategy_next(&other.spec, &set.grid, &history, &scratch, &next, &err));
            assert_false(next.done);
            assert_int_equal(next.point, sim.trials[i].point);
            assert_int_equal(next.purpose, sim.trials[i].purpose);
        }
        run(&other, searching[kind], 4, 40);
        bool is_same = sim.count == other.count;
        for (size_t i = 0; is_same && i < sim.count; i++)
            is_same = sim.trials[i].point == other.trials[i].point;
        assert_false(is_same);
    }
}

/* ---- budgets and confirmation ---- */

static void the_confirmation_has_its_room(void **state)
{
    (void)state;
    search_grid_additive(&set, 2, &arena);
    for (size_t kind = 0; kind < COUNT_OF(searching); kind++) {
        for (int64_t budget = 12; budget <= 84; budget += 12) {
            run(&sim, searching[kind], 1, budget);
            assert_true((int64_t)sim.count <= budget);
            size_t confirmed = count_purpose(&sim, PURPOSE_CONFIRM);
            int64_t reserve = confirm_reserve(&set.grid, budget);
            assert_true(reserve >= (budget >= 18 ? 9 : budget / 2) && reserve >= budget / 4);
            /* Complete blocks, so that of the reserve at most the part of one is left over. */
            assert_true((int64_t)confirmed >= reserve - 5 || sim.count < (size_t)budget);
            assert_true(confirmed >= 6);
        }
    }
    assert_int_equal(confirm_reserve(&set.grid, 24), 9);
    assert_int_equal(confirm_reserve(&set.grid, 80), 20);
    assert_int_equal(confirm_reserve(&set.grid, 12), 6);
}

/* All confirmations come last, in blocks that hold every arm once, the baseline among them. */
static void confirmations_come_in_whole_blocks(void **state)
{
    (void)state;
    search_grid_additive(&set, 4, &arena);
    for (int64_t seed = 0; seed < 6; seed++) {
        size_t expected = seed % 2 == 0 ? 4 : 3; /* five blocks of 4 in 20, of 3 in 15 */
        sim_open(&sim, &set, &quiet, "gp", seed);
        sim.spec.smallest_gain = 0;
        sim.spec.budget_trials = seed % 2 == 0 ? 80 : 60;
        while (sim_step(&sim, &scratch))
            continue;
        size_t begin = sim.count - count_purpose(&sim, PURPOSE_CONFIRM);
        size_t arms = 0;
        while (arms < expected) {
            for (size_t i = begin; i < begin + arms; i++)
                assert_int_not_equal(sim.trials[i].point, sim.trials[begin + arms].point);
            assert_int_equal(sim.trials[begin + arms].purpose, PURPOSE_CONFIRM);
            arms++;
        }
        assert_int_equal(sim.trials[begin + arms].purpose, PURPOSE_CONFIRM);
        for (size_t block = 0; block < CONFIRM_BLOCKS; block++) {
            size_t baselines = 0;
            for (size_t i = 0; i < arms; i++) {
                size_t at = begin + block * arms + i;
                size_t found = 0;
                for (size_t j = begin; j < begin + arms; j++)
                    found += sim.trials[j].point == sim.trials[at].point;
                assert_int_equal(found, 1);
                baselines += sim.trials[at].point == 0;
            }
            assert_int_equal(baselines, 1);
        }
    }
}

static enum purpose last_purpose(const struct search_sim *of)
{
    return of->trials[of->count - 1].purpose;
}

/* A sweep that is given more goes on searching, and confirms anew. */
static void a_larger_budget_searches_on(void **state)
{
    (void)state;
    search_grid_additive(&set, 5, &arena);
    run(&sim, "gp", 1, 30);
    sim.spec.smallest_gain = 0;
    size_t count = sim.count;
    assert_int_equal(last_purpose(&sim), PURPOSE_CONFIRM);
    assert_false(sim_step(&sim, &scratch)); /* it is done, and stays so */
    sim.spec.budget_trials = 70;
    assert_true(sim_step(&sim, &scratch));
    assert_int_equal(last_purpose(&sim), PURPOSE_EXPLORE);
    while (sim_step(&sim, &scratch))
        continue;
    assert_true(sim.count > count + 20 && sim.count <= 70);
    assert_int_equal(last_purpose(&sim), PURPOSE_CONFIRM);
}

/* What --until leaves is kept in the same way. */
static void the_time_of_a_call_keeps_room_too(void **state)
{
    (void)state;
    search_grid_additive(&set, 6, &arena);
    sim_open(&sim, &set, &quiet, "gp", 1);
    sim.spec.smallest_gain = 0;
    size_t confirmed = 0;
    for (int64_t left = 40; left > 0; left--) {
        struct history history = sim_history(&sim);
        struct proposal next;
        struct err err;
        err_clear(&err);
        arena_reset(&scratch);
        history.until_ms = left * 1000;
        assert_true(strategy_next(&sim.spec, &set.grid, &history, &scratch, &next, &err));
        if (next.done)
            break;
        assert_true(confirmed == 0 || next.purpose == PURPOSE_CONFIRM);
        confirmed += next.purpose == PURPOSE_CONFIRM;
        sim_measure(&sim, &next);
    }
    assert_in_range(confirmed, 9, 12);
    assert_true(sim.count >= 38);
}

/* Without a budget gp ends by itself; equal points end the confirmation early. */
static void gp_stops_where_nothing_is_expected(void **state)
{
    (void)state;
    search_grid_plateau(&set, &arena);
    run(&sim, "gp", 2, 0);
    assert_true(sim.count < 90);
    assert_true(count_purpose(&sim, PURPOSE_CONFIRM) >= 18);
    assert_true(sim_regret(&set, sim_recommend(&sim, &scratch)) < 0.02);
}

/* ---- conditions ---- */

static size_t count_of(size_t point, size_t condition, enum purpose purpose)
{
    size_t count = 0;
    for (size_t i = 0; i < sim.count; i++)
        count += sim.trials[i].point == point && sim.trials[i].condition == condition &&
                 sim.trials[i].purpose == purpose;
    return count;
}

/* A chosen point is measured under each condition; each condition confirms its own arms, beside its
 * own baseline. */
static void each_condition_is_searched_and_confirmed(void **state)
{
    (void)state;
    search_grid_additive(&set, 13, &arena);
    set.grid.condition_count = 2;
    set.grid.conditions = ARENA_ARRAY(&arena, struct condition, 2);
    set.grid.kept = ARENA_ARRAY(&arena, bool, 2 * set.grid.point_count);
    memset(set.grid.kept, true, 2 * set.grid.point_count * sizeof(bool));
    for (size_t c = 0; c < 2; c++)
        set.grid.conditions[c] =
            (struct condition){.key = c == 0 ? "clients=1" : "clients=8",
                               .values = ARENA_ARRAY(&arena, struct value, set.grid.swept_count)};
    for (size_t kind = 2; kind < COUNT_OF(searching); kind++) { /* coord, race, gp */
        run(&sim, searching[kind], 1, 90);
        size_t arms[2] = {0};
        size_t halves = 0; /* the budget may end between a point's conditions */
        for (size_t p = 1; p < set.grid.point_count; p++) {
            size_t first = count_of(p, 0, PURPOSE_EXPLORE);
            size_t second = count_of(p, 1, PURPOSE_EXPLORE);
            halves += first != second;
            for (size_t c = 0; c < 2; c++)
                arms[c] += count_of(p, c, PURPOSE_CONFIRM) > 0;
        }
        assert_true(halves <= 1);
        for (size_t c = 0; c < 2; c++) {
            assert_in_range(arms[c], 1, CONFIRM_ARMS);
            assert_true(count_of(0, c, PURPOSE_CONFIRM) >= CONFIRM_BLOCKS);
            assert_true(count_of(0, c, PURPOSE_BASELINE) >= 2);
        }
    }
}

/* ---- what cannot win ---- */

static void what_failed_is_never_confirmed(void **state)
{
    (void)state;
    search_grid_cliff(&set, &arena);
    for (size_t kind = 0; kind < COUNT_OF(searching); kind++) {
        run(&sim, searching[kind], 7, 60);
        for (size_t i = 0; i < sim.count; i++)
            assert_false(sim.trials[i].purpose == PURPOSE_CONFIRM &&
                         set.is_failing[sim.trials[i].point]);
    }
}

static void what_is_less_durable_is_never_confirmed(void **state)
{
    (void)state;
    search_grid_additive(&set, 8, &arena);
    bool *can_win = ARENA_ARRAY(&arena, bool, set.grid.point_count);
    for (size_t i = 0; i < set.grid.point_count; i++)
        can_win[i] = search_level(&set, i, 4) < 0.5;
    for (size_t kind = 0; kind < COUNT_OF(searching); kind++) {
        sim_open(&sim, &set, &quiet, searching[kind], 7);
        sim.spec.budget_trials = 48;
        sim.spec.can_win = can_win;
        while (sim_step(&sim, &scratch))
            continue;
        for (size_t i = 0; i < sim.count; i++)
            assert_true(sim.trials[i].purpose != PURPOSE_CONFIRM || can_win[sim.trials[i].point] ||
                        sim.trials[i].point == 0);
    }
}

static void a_sweep_where_all_fails_ends(void **state)
{
    (void)state;
    search_grid_additive(&set, 9, &arena);
    for (size_t i = 1; i < set.grid.point_count; i++)
        set.is_failing[i] = true;
    for (size_t kind = 0; kind < COUNT_OF(searching); kind++) {
        run(&sim, searching[kind], 1, 40);
        assert_true(sim.count <= 40);
        assert_int_equal(count_purpose(&sim, PURPOSE_CONFIRM), 0);
    }
}

/* ---- strategies apart ---- */

/* Beside the incumbent one axis alone differs. */
static void coord_goes_one_axis_at_a_time(void **state)
{
    (void)state;
    search_grid_additive(&set, 10, &arena);
    run(&sim, "coord", 1, 20);
    size_t explored = 0;
    for (size_t i = 0; i < sim.count; i++) {
        if (sim.trials[i].purpose != PURPOSE_EXPLORE)
            continue;
        size_t nearest = 5;
        for (size_t j = 0; j < i; j++) {
            size_t differs = 0;
            for (size_t c = 0; c < 5; c++)
                differs += fabs(search_level(&set, sim.trials[i].point, c) -
                                search_level(&set, sim.trials[j].point, c)) > 0.5;
            bool is_other = sim.trials[j].purpose == PURPOSE_EXPLORE;
            nearest = is_other && differs < nearest ? differs : nearest;
        }
        assert_true(explored == 0 || nearest == 1);
        explored++;
    }
    assert_true(explored >= 8);
}

/* A third goes on, five at least, and they are the best of the round before. */
static void race_repeats_the_best_third(void **state)
{
    (void)state;
    search_grid_additive(&set, 11, &arena);
    sim_open(&sim, &set, &quiet, "race", 1);
    sim.spec.budget_trials = 60;
    sim.spec.repeats = 3;
    while (sim_step(&sim, &scratch))
        continue;
    size_t once = 0;
    size_t more = 0;
    double worst_more = INFINITY;
    double best_once = -INFINITY;
    for (size_t p = 1; p < set.grid.point_count; p++) {
        size_t count = 0;
        for (size_t i = 0; i < sim.count; i++)
            count += sim.trials[i].point == p && sim.trials[i].purpose != PURPOSE_CONFIRM;
        once += count > 0;
        more += count > 1;
        worst_more = count > 1 ? fmin(worst_more, set.truth[p]) : worst_more;
        best_once = count == 1 ? fmax(best_once, set.truth[p]) : best_once;
    }
    assert_true(once >= 20);
    assert_int_equal(more, (once + 2) / 3);
    assert_true(worst_more > best_once - 0.05); /* up to the noise of a run */
}

static void lhs_measures_each_point_with_its_repeats(void **state)
{
    (void)state;
    search_grid_additive(&set, 12, &arena);
    sim_open(&sim, &set, &quiet, "lhs", 1);
    sim.spec.budget_trials = 60;
    sim.spec.repeats = 2;
    while (sim_step(&sim, &scratch))
        continue;
    size_t points = 0;
    for (size_t p = 1; p < set.grid.point_count; p++) {
        size_t count = 0;
        for (size_t i = 0; i < sim.count; i++)
            count += sim.trials[i].point == p && sim.trials[i].purpose != PURPOSE_CONFIRM;
        assert_true(count == 0 || count == 2);
        points += count > 0;
    }
    assert_in_range(points, 18, 22);
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
        cmocka_unit_test(the_next_follows_from_the_history),
        cmocka_unit_test(the_confirmation_has_its_room),
        cmocka_unit_test(confirmations_come_in_whole_blocks),
        cmocka_unit_test(a_larger_budget_searches_on),
        cmocka_unit_test(the_time_of_a_call_keeps_room_too),
        cmocka_unit_test(gp_stops_where_nothing_is_expected),
        cmocka_unit_test(each_condition_is_searched_and_confirmed),
        cmocka_unit_test(what_failed_is_never_confirmed),
        cmocka_unit_test(what_is_less_durable_is_never_confirmed),
        cmocka_unit_test(a_sweep_where_all_fails_ends),
        cmocka_unit_test(coord_goes_one_axis_at_a_time),
        cmocka_unit_test(race_repeats_the_best_third),
        cmocka_unit_test(lhs_measures_each_point_with_its_repeats),
    };
    return cmocka_run_group_tests(tests, open_arenas, close_arenas);
}
