/*
 * Strategies where not all goes well or not all can be had: trials that come to nothing, budgets,
 * what remains.
 */
#include "tests/support/sweep_sim.h"

/* ---- trials that come to nothing ---- */

static enum trial_state every_third_void(const struct sweep_sim *of, const struct proposal *next)
{
    (void)next;
    return of->count % 3 == 2 ? TRIAL_VOID : TRIAL_DONE;
}

static void void_trials_are_measured_again(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        make_sim(&sim, kinds[kind], 14, 2, true, 2);
        sim.outcome = every_third_void;
        assert_true(run_call(&sim, TRIAL_LIMIT));
        assert_complete(&sim);
        assert_spaced(&sim);
    }
}

static enum trial_state two_are_cursed(const struct sweep_sim *of, const struct proposal *next)
{
    (void)of;
    bool is_cursed = next->condition == 1 && (next->point == 3 || next->point == 0);
    return is_cursed ? TRIAL_VOID : TRIAL_DONE;
}

static size_t count_void(const struct sweep_sim *of, size_t point, size_t condition)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++)
        count += of->trials[i].point == point && of->trials[i].condition == condition &&
                 of->trials[i].state == TRIAL_VOID;
    return count;
}

/* Three times in a row: left alone for the rest of the call, and tried again in the next. */
static void what_stays_void_is_given_up(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        make_sim(&sim, kinds[kind], 8, 2, true, 2);
        sim.outcome = two_are_cursed;
        assert_true(run_call(&sim, TRIAL_LIMIT));
        assert_int_equal(count_void(&sim, 3, 1), 3);
        assert_int_equal(count_void(&sim, 0, 1), 3);
        assert_int_equal(count_cell(&sim, 3, 0), 2);
        assert_int_equal(remaining(&sim), 0);
        sim.call_id = 2;
        sim.outcome = NULL;
        assert_true(remaining(&sim) > 0);
        assert_true(run_call(&sim, TRIAL_LIMIT));
        assert_complete(&sim);
    }
}

static enum trial_state odd_fail(const struct sweep_sim *of, const struct proposal *next)
{
    (void)of;
    return next->point % 2 == 1 ? TRIAL_FAILED : TRIAL_DONE;
}

static void failed_trials_count(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 12, 2, true, 2);
    sim.outcome = odd_fail;
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_complete(&sim);
    assert_spaced(&sim);
}

static enum trial_state baseline_fails(const struct sweep_sim *of, const struct proposal *next)
{
    (void)of;
    return next->point == 0 ? TRIAL_FAILED : TRIAL_DONE;
}

static void a_baseline_that_fails_does_not_go_on_for_ever(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 5, 1, true, 1);
    sim.outcome = baseline_fails;
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(sim.count, 6);
}

/* ---- budgets ---- */

static size_t count_purpose(const struct sweep_sim *of, enum purpose purpose)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++)
        count += of->trials[i].purpose == purpose;
    return count;
}

static void a_budget_of_trials_is_kept(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        for (int64_t budget = 1; budget <= 90; budget++) {
            make_sim(&sim, kinds[kind], 14, 2, true, 3);
            sim.spec.budget_trials = budget;
            assert_true(run_call(&sim, TRIAL_LIMIT));
            assert_true((int64_t)sim.count <= budget);
            bool is_used = (int64_t)sim.count >= budget - 4 || budget < 5 || sim.count >= 86;
            assert_true(is_used || count_purpose(&sim, PURPOSE_CONFIRM) > 0);
            assert_spaced(&sim);
            sim.call_id = 2;
            assert_true(run_call(&sim, TRIAL_LIMIT));
            assert_true((int64_t)sim.count <= budget);
            assert_spaced(&sim);
        }
    }
}

static void a_budget_counts_over_all_calls(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 40, 1, true, 1);
    sim.spec.budget_trials = 20;
    while (!run_call(&sim, 4))
        sim.call_id++;
    assert_true(sim.count <= 20);
    assert_true(sim.call_id >= 5);
}

static void void_trials_cost_time_but_no_trials(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 30, 1, true, 1);
    sim.spec.budget_trials = 20;
    sim.outcome = every_third_void;
    assert_true(run_call(&sim, TRIAL_LIMIT));
    size_t measured = 0;
    for (size_t i = 0; i < sim.count; i++)
        measured += sim.trials[i].state == TRIAL_DONE;
    assert_int_equal(measured, 20);
    make_sim(&sim, "grid", 30, 1, true, 1);
    sim.spec.budget_ms = 20 * TRIAL_MS;
    sim.outcome = every_third_void;
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_in_range(sim.count, 17, 20);
}

static void a_budget_of_time_is_kept(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        for (int64_t budget = 1; budget <= 60; budget++) {
            make_sim(&sim, kinds[kind], 14, 1, true, 3);
            sim.spec.budget_ms = budget * TRIAL_MS;
            assert_true(run_call(&sim, TRIAL_LIMIT));
            assert_true((int64_t)sim.count <= (budget > 1 ? budget : 2));
            bool is_used = (int64_t)sim.count >= budget - 3 || sim.count >= 43;
            assert_true(is_used || count_purpose(&sim, PURPOSE_CONFIRM) > 0);
            assert_spaced(&sim);
        }
    }
}

static void a_budget_without_a_baseline_is_used_up(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 30, 2, false, 1);
    sim.spec.budget_trials = 17;
    assert_int_equal(remaining(&sim), 17);
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(sim.count, 17);
}

/* ---- random and auto ---- */

/* Whenever it ends, few points lack repeats, and they are not the first ones of the file. */
static void random_finishes_what_it_draws(void **state)
{
    (void)state;
    make_sim(&sim, "random", 61, 1, true, 3);
    sim.spec.budget_trials = 80; /* 20 of them for the confirmation */
    assert_true(run_call(&sim, TRIAL_LIMIT));
    for (size_t i = sim.count; i > 0 && sim.trials[i - 1].purpose == PURPOSE_CONFIRM; i--)
        sim.count--;
    size_t whole = 0;
    size_t part = 0;
    size_t sum = 0;
    for (size_t i = 1; i < 61; i++) {
        size_t count = count_cell(&sim, i, 0);
        whole += count == 3;
        part += count > 0 && count < 3;
        sum += count > 0 ? i : 0;
    }
    assert_true(part <= 8);
    assert_true(whole >= 12);
    assert_true(sum / (whole + part) > 20);
}

static void auto_is_the_grid_where_it_fits(void **state)
{
    (void)state;
    for (int64_t budget = 0; budget <= 60; budget += 30) {
        make_sim(&sim, "auto", 14, 1, true, 3); /* 39 others, 6 baselines */
        make_sim(&other, budget == 30 ? "gp" : "grid", 14, 1, true, 3);
        sim.spec.budget_trials = budget;
        other.spec.budget_trials = budget;
        assert_true(run_call(&sim, TRIAL_LIMIT) && run_call(&other, TRIAL_LIMIT));
        assert_int_equal(sim.count, other.count);
        assert_memory_equal(sim.trials, other.trials, sim.count * sizeof *sim.trials);
    }
}

/* A model needs thirty trials; fewer are raced. */
static void auto_races_where_little_fits(void **state)
{
    (void)state;
    for (int64_t budget = 10; budget <= 40; budget += 5) {
        make_sim(&sim, "auto", 40, 1, true, 3);
        make_sim(&other, budget < 30 ? "race" : "gp", 40, 1, true, 3);
        sim.spec.budget_trials = budget;
        other.spec.budget_trials = budget;
        assert_true(run_call(&sim, TRIAL_LIMIT) && run_call(&other, TRIAL_LIMIT));
        assert_int_equal(sim.count, other.count);
        assert_memory_equal(sim.trials, other.trials, sim.count * sizeof *sim.trials);
    }
}

/* ---- what remains ---- */

static void what_remains_is_told_exactly(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        for (size_t conditions = 1; conditions <= 3; conditions++) {
            for (size_t points = 2; points <= 22; points += 5) {
                make_sim(&sim, kinds[kind], points, conditions, true, 3);
                assert_true(run_call(&sim, TRIAL_LIMIT));
                size_t whole = sim.count;
                for (sim.count = 0; sim.count <= whole; sim.count++)
                    assert_int_equal(remaining(&sim), whole - sim.count);
            }
        }
    }
}

static void what_remains_respects_the_budget(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 40, 1, true, 3);
    sim.spec.budget_trials = 25;
    assert_int_equal(remaining(&sim), 25);
    run_call(&sim, 5);
    assert_int_equal(remaining(&sim), 20);
    sim.spec.budget_trials = 3;
    assert_int_equal(remaining(&sim), 0);
    sim.spec.budget_trials = 0;
    sim.spec.budget_ms = 9 * TRIAL_MS;
    assert_int_equal(remaining(&sim), 4);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(void_trials_are_measured_again),
        cmocka_unit_test(what_stays_void_is_given_up),
        cmocka_unit_test(failed_trials_count),
        cmocka_unit_test(a_baseline_that_fails_does_not_go_on_for_ever),
        cmocka_unit_test(a_budget_of_trials_is_kept),
        cmocka_unit_test(a_budget_counts_over_all_calls),
        cmocka_unit_test(void_trials_cost_time_but_no_trials),
        cmocka_unit_test(a_budget_of_time_is_kept),
        cmocka_unit_test(a_budget_without_a_baseline_is_used_up),
        cmocka_unit_test(random_finishes_what_it_draws),
        cmocka_unit_test(auto_is_the_grid_where_it_fits),
        cmocka_unit_test(auto_races_where_little_fits),
        cmocka_unit_test(what_remains_is_told_exactly),
        cmocka_unit_test(what_remains_respects_the_budget),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
