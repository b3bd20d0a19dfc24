/*
 * Strategies, by simulation: whole sweeps over made-up grids, of which only the history is kept
 * between two proposals, as it is between two runs of the program.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/search/strategy.h"

enum { TRIAL_LIMIT = 2000, POINT_LIMIT = 64, CONDITION_LIMIT = 16, TRIAL_MS = 1000 };

static struct arena arena;

/* ---- a sweep ---- */

struct sweep_sim {
    struct strategy_spec spec;
    struct grid grid;
    struct past_trial trials[TRIAL_LIMIT];
    size_t count;
    int64_t call_id;
    int64_t trial_ms;
    /* What becomes of a trial; NULL: it is done. */
    enum trial_state (*outcome)(const struct sweep_sim *sim, const struct proposal *next);
};

static struct sweep_sim sim;
static struct sweep_sim other;

/* A grid of `point_count` points, the baseline among them where asked, all cells kept. */
static void make_grid(struct grid *grid, size_t point_count, size_t condition_count, bool baseline)
{
    assert_true(point_count <= POINT_LIMIT && condition_count <= CONDITION_LIMIT);
    *grid = (struct grid){.with_baseline = baseline,
                          .points = ARENA_ARRAY(&arena, struct point, point_count),
                          .point_count = point_count,
                          .conditions = ARENA_ARRAY(&arena, struct condition, condition_count),
                          .condition_count = condition_count,
                          .kept = ARENA_ARRAY(&arena, bool, point_count *condition_count)};
    for (size_t i = 0; i < point_count; i++) {
        bool is_baseline = baseline && i == 0;
        grid->points[i] = (struct point){
            .key = is_baseline ? "" : arena_printf(&arena, "knob=%zu", i), .baseline = is_baseline};
    }
    for (size_t i = 0; i < condition_count; i++) {
        grid->conditions[i].key = arena_printf(&arena, "clients=%zu", i + 1);
    }
    memset(grid->kept, true, point_count * condition_count * sizeof *grid->kept);
}

static void make_sim(struct sweep_sim *out, const char *kind, size_t points, size_t conditions,
                     bool baseline, int64_t repeats)
{
    memset(out, 0, sizeof *out);
    out->spec = (struct strategy_spec){.kind = kind, .seed = 1, .repeats = repeats};
    out->call_id = 1;
    out->trial_ms = TRIAL_MS;
    make_grid(&out->grid, points, conditions, baseline);
}

static bool ask(const struct sweep_sim *of, struct proposal *out)
{
    struct history history = {.trials = of->trials, .count = of->count, .call_id = of->call_id};
    struct arena scratch;
    struct err err;
    err_clear(&err);
    arena_open(&scratch, 1u << 20);
    if (!strategy_next(&of->spec, &of->grid, &history, &scratch, out, &err))
        fail_msg("%s", err.text);
    arena_close(&scratch);
    return !out->done;
}

static void record(struct sweep_sim *of, const struct proposal *next, enum trial_state state)
{
    assert_true(of->count < TRIAL_LIMIT);
    of->trials[of->count++] = (struct past_trial){.point = next->point,
                                                  .condition = next->condition,
                                                  .call_id = of->call_id,
                                                  .purpose = next->purpose,
                                                  .state = state,
                                                  .value = 1,
                                                  .higher_is_better = true,
                                                  .elapsed_ms = of->trial_ms};
}

/* One call of `run`, ended after `limit` trials; true when the strategy said done. */
static bool run_call(struct sweep_sim *of, size_t limit)
{
    struct proposal next;
    for (size_t i = 0; i < limit; i++) {
        if (!ask(of, &next))
            return true;
        assert_true(next.point < of->grid.point_count);
        assert_true(next.condition < of->grid.condition_count);
        record(of, &next, of->outcome != NULL ? of->outcome(of, &next) : TRIAL_DONE);
    }
    return !ask(of, &next);
}

static int64_t remaining(const struct sweep_sim *of)
{
    struct history history = {.trials = of->trials, .count = of->count, .call_id = of->call_id};
    return strategy_remaining(&of->spec, &of->grid, &history);
}

/* ---- what is true of a history ---- */

static bool is_baseline(const struct sweep_sim *of, const struct past_trial *trial)
{
    return of->grid.with_baseline && trial->point == 0;
}

static size_t count_cell(const struct sweep_sim *of, size_t point, size_t condition)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++) {
        const struct past_trial *trial = &of->trials[i];
        count += trial->point == point && trial->condition == condition &&
                 (trial->state == TRIAL_DONE || trial->state == TRIAL_FAILED);
    }
    return count;
}

/* Every kept cell exactly `repeats` times, the baseline's at least as often. */
static void assert_complete(const struct sweep_sim *of)
{
    for (size_t i = 0; i < of->grid.point_count; i++) {
        for (size_t j = 0; j < of->grid.condition_count; j++) {
            size_t count = count_cell(of, i, j);
            size_t wanted =
                of->grid.kept[i * of->grid.condition_count + j] ? (size_t)of->spec.repeats : 0;
            if (of->grid.with_baseline && i == 0)
                assert_true(count >= wanted);
            else
                assert_int_equal(count, wanted);
        }
    }
}

/* In one condition at most nine trials stand between two baselines; the baseline is the first of
 * the condition in each call, and the last of all. */
static void assert_spaced(const struct sweep_sim *of)
{
    for (size_t j = 0; j < of->grid.condition_count; j++) {
        int since = 0;
        int64_t call_id = 0;
        for (size_t i = 0; i < of->count; i++) {
            const struct past_trial *trial = &of->trials[i];
            if (trial->condition != j || trial->state == TRIAL_VOID)
                continue;
            assert_true(is_baseline(of, trial) == (trial->purpose == PURPOSE_BASELINE));
            since = is_baseline(of, trial) ? 0 : since + 1;
            assert_true(trial->call_id == call_id || is_baseline(of, trial));
            assert_in_range(since, 0, 9);
            call_id = trial->call_id;
        }
        assert_int_equal(since, 0);
    }
}

/* Baselines apart, a point's conditions follow each other. */
static void assert_consecutive(const struct sweep_sim *of)
{
    size_t point = SIZE_MAX;
    size_t seen = of->grid.condition_count;
    for (size_t i = 0; i < of->count; i++) {
        if (is_baseline(of, &of->trials[i]))
            continue;
        if (seen == of->grid.condition_count) {
            point = of->trials[i].point;
            seen = 0;
        }
        assert_int_equal(of->trials[i].point, point);
        assert_int_equal(of->trials[i].condition, seen);
        seen++;
    }
}

static const char *const kinds[] = {"grid", "random", "auto"};

/* ---- names ---- */

static void purposes_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"explore", "repeat", "confirm", "baseline"};
    enum purpose purpose = PURPOSE_BASELINE;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_string_equal(purpose_name((enum purpose)i), names[i]);
        assert_true(purpose_parse(names[i], &purpose));
        assert_int_equal(purpose, i);
    }
    assert_false(purpose_parse("", &purpose));
    assert_false(purpose_parse("Explore", &purpose));
}

static void strategies_have_names_and_sentences(void **state)
{
    (void)state;
    assert_int_equal(strategy_count, 3);
    for (size_t i = 0; i < strategy_count; i++) {
        assert_ptr_equal(strategy_find(strategies[i]->name), strategies[i]);
        assert_true(strlen(strategies[i]->sentence) > 20);
        assert_non_null(strategies[i]->next);
    }
    assert_null(strategy_find("gird"));
    assert_string_equal(strategy_nearest("gird"), "grid");
    assert_null(strategy_nearest("something else"));
}

static void an_unknown_kind_is_a_bug(void **state)
{
    (void)state;
    struct proposal next;
    struct err err;
    struct history none = {.trials = NULL};
    make_sim(&sim, "no such", 2, 1, true, 1);
    err_clear(&err);
    assert_false(strategy_next(&sim.spec, &sim.grid, &none, &arena, &next, &err));
    assert_int_equal(err.class, ERR_BUG);
}

/* ---- whole sweeps ---- */

static void every_cell_gets_its_repeats(void **state)
{
    (void)state;
    static const size_t points[] = {2, 3, 9, 11, 40};
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        for (size_t i = 0; i < COUNT_OF(points); i++) {
            for (size_t conditions = 1; conditions <= 3; conditions++) {
                for (int64_t repeats = 1; repeats <= 4; repeats++) {
                    make_sim(&sim, kinds[kind], points[i], conditions, true, repeats);
                    assert_true(run_call(&sim, TRIAL_LIMIT));
                    assert_complete(&sim);
                    assert_spaced(&sim);
                    assert_consecutive(&sim);
                }
            }
        }
    }
}

/* The baseline is not measured much oftener than need be: a tenth of all, or its repeats. */
static void baselines_are_few(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 31, 1, true, 3); /* 90 others */
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(count_cell(&sim, 0, 0), 11);
    make_sim(&sim, "grid", 5, 1, true, 3); /* 12 others in blocks of 4 */
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(count_cell(&sim, 0, 0), 4);
    make_sim(&sim, "grid", 10, 1, true, 1); /* 9 others */
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(count_cell(&sim, 0, 0), 2);
}

static void purposes_follow_the_count(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 6, 2, true, 3);
    assert_true(run_call(&sim, TRIAL_LIMIT));
    for (size_t i = 0; i < sim.count; i++) {
        const struct past_trial *trial = &sim.trials[i];
        bool is_first = true;
        for (size_t j = 0; j < i; j++)
            is_first = is_first && !(sim.trials[j].point == trial->point &&
                                     sim.trials[j].condition == trial->condition);
        assert_int_equal(trial->purpose, trial->point == 0 ? PURPOSE_BASELINE
                                         : is_first        ? PURPOSE_EXPLORE
                                                           : PURPOSE_REPEAT);
    }
}

/* In the grid nothing is measured a second time before all is measured once. */
static void the_grid_goes_in_blocks(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 30, 2, true, 3);
    assert_true(run_call(&sim, TRIAL_LIMIT));
    size_t counts[POINT_LIMIT * 2] = {0};
    size_t block = 0;
    for (size_t i = 0; i < sim.count; i++) {
        size_t *count = &counts[sim.trials[i].point * 2 + sim.trials[i].condition];
        if (sim.trials[i].point == 0)
            continue;
        assert_true(*count >= block);
        block = *count;
        (*count)++;
    }
    assert_int_equal(block, 2);
}

/* The points of one block in their order. */
static size_t order_of(const struct sweep_sim *of, size_t block, size_t *points)
{
    size_t counts[POINT_LIMIT] = {0};
    size_t size = 0;
    for (size_t i = 0; i < of->count; i++) {
        size_t point = of->trials[i].point;
        if (!is_baseline(of, &of->trials[i]) && counts[point]++ == block)
            points[size++] = point;
    }
    return size;
}

static void blocks_and_seeds_shuffle_differently(void **state)
{
    (void)state;
    size_t first[POINT_LIMIT];
    size_t second[POINT_LIMIT];
    size_t again[POINT_LIMIT];
    size_t moved = 0;
    make_sim(&sim, "grid", 41, 1, true, 2);
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(order_of(&sim, 0, first), 40);
    assert_int_equal(order_of(&sim, 1, second), 40);
    for (size_t i = 0; i < 40; i++)
        moved += first[i] != i + 1;
    assert_true(moved > 30);
    assert_memory_not_equal(first, second, 40 * sizeof *first);
    make_sim(&other, "grid", 41, 1, true, 2);
    assert_true(run_call(&other, TRIAL_LIMIT));
    order_of(&other, 0, again);
    assert_memory_equal(first, again, 40 * sizeof *first);
    make_sim(&other, "grid", 41, 1, true, 2);
    other.spec.seed = 2;
    assert_true(run_call(&other, TRIAL_LIMIT));
    order_of(&other, 0, again);
    assert_memory_not_equal(first, again, 40 * sizeof *first);
}

static void pruned_cells_are_left_out(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        make_sim(&sim, kinds[kind], 12, 3, true, 2);
        for (size_t i = 1; i < 12; i++)
            sim.grid.kept[i * 3 + i % 3] = false;
        for (size_t i = 1; i < 12; i++)
            sim.grid.kept[i * 3 + 2] = false; /* nothing but the baseline is left of the third */
        assert_true(run_call(&sim, TRIAL_LIMIT));
        assert_complete(&sim);
        assert_spaced(&sim);
        assert_int_equal(count_cell(&sim, 0, 2), 2);
    }
}

static void without_a_baseline_none_is_measured(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        make_sim(&sim, kinds[kind], 12, 2, false, 2);
        sim.grid.points[0] = (struct point){.key = "", .baseline = true}; /* one of the axes' */
        assert_true(run_call(&sim, TRIAL_LIMIT));
        assert_complete(&sim);
        assert_int_equal(sim.count, 12 * 2 * 2);
        for (size_t i = 0; i < sim.count; i++)
            assert_int_not_equal(sim.trials[i].purpose, PURPOSE_BASELINE);
    }
}

static void a_baseline_alone_gets_its_repeats(void **state)
{
    (void)state;
    make_sim(&sim, "auto", 1, 2, true, 5);
    assert_int_equal(remaining(&sim), 10);
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(sim.count, 10);
    assert_int_equal(count_cell(&sim, 0, 0), 5);
}

static void a_finished_sweep_is_done_at_once(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 12, 2, true, 2);
    assert_true(run_call(&sim, TRIAL_LIMIT));
    size_t count = sim.count;
    sim.call_id = 2;
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_int_equal(sim.count, count);
    assert_int_equal(remaining(&sim), 0);
}

/* ---- interrupted sweeps ---- */

static void a_sweep_resumes_from_any_prefix(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        make_sim(&sim, kinds[kind], 12, 2, true, 2);
        assert_true(run_call(&sim, TRIAL_LIMIT));
        size_t whole = sim.count;
        for (size_t prefix = 0; prefix <= whole; prefix++) {
            make_sim(&other, kinds[kind], 12, 2, true, 2);
            run_call(&other, prefix);
            assert_memory_equal(other.trials, sim.trials, prefix * sizeof *sim.trials);
            other.call_id = 2;
            assert_true(run_call(&other, TRIAL_LIMIT));
            assert_complete(&other);
            assert_spaced(&other);
        }
    }
}

/* A call that ends after each third trial: nothing is lost, nothing is measured twice. */
static void many_short_calls_get_there_too(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 9, 1, true, 2);
    while (!run_call(&sim, 3))
        sim.call_id++;
    assert_complete(&sim);
    assert_spaced(&sim);
}

static void a_trial_of_a_dead_call_is_void(void **state)
{
    (void)state;
    struct proposal next;
    make_sim(&sim, "grid", 5, 1, true, 1);
    run_call(&sim, 2);
    assert_true(ask(&sim, &next));
    record(&sim, &next, TRIAL_RUNNING);
    struct proposal beside;
    assert_true(ask(&sim, &beside));
    assert_int_not_equal(beside.point, next.point); /* it runs: another one beside it */
    sim.call_id = 2;
    run_call(&sim, TRIAL_LIMIT);
    sim.trials[2].state = TRIAL_VOID;
    assert_complete(&sim);
}

/* Trials of points and conditions that the file no longer has are not in the way. */
static void strangers_in_the_history_are_passed_over(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 6, 2, true, 2);
    for (size_t i = 0; i < 20; i++) {
        struct proposal gone = {.point = i % 3 == 0 ? SIZE_MAX : 1,
                                .condition = i % 3 == 0 ? i % 2 : SIZE_MAX};
        record(&sim, &gone, TRIAL_DONE);
    }
    sim.call_id = 2;
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_complete(&sim);
}

/* The same sweep with more values in its file: keys stay, indices move. */
static void grow_grid(struct sweep_sim *of, size_t added)
{
    struct grid old = of->grid;
    make_grid(&of->grid, old.point_count + added, old.condition_count, true);
    for (size_t i = 0; i < added; i++)
        of->grid.points[1 + i].key = arena_printf(&arena, "new=%zu", i);
    for (size_t i = 1; i < old.point_count; i++)
        of->grid.points[added + i].key = old.points[i].key;
    for (size_t i = 0; i < of->count; i++)
        of->trials[i].point += of->trials[i].point == 0 ? 0 : added;
}

static void added_values_keep_what_is_finished(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        for (size_t prefix = 0; prefix < 60; prefix += 7) {
            make_sim(&sim, kinds[kind], 14, 2, true, 2);
            run_call(&sim, prefix);
            grow_grid(&sim, 9);
            sim.call_id = 2;
            assert_true(run_call(&sim, TRIAL_LIMIT));
            assert_complete(&sim);
            assert_spaced(&sim);
        }
    }
}

/* New points find places among the old ones, which keep theirs. */
static void added_values_move_nobody(void **state)
{
    (void)state;
    size_t before[POINT_LIMIT];
    size_t after[POINT_LIMIT];
    make_sim(&sim, "grid", 20, 1, true, 1);
    make_sim(&other, "grid", 20, 1, true, 1);
    grow_grid(&other, 7);
    assert_true(run_call(&sim, TRIAL_LIMIT) && run_call(&other, TRIAL_LIMIT));
    size_t count = order_of(&sim, 0, before);
    size_t all = order_of(&other, 0, after);
    size_t at = 0;
    for (size_t i = 0; i < all; i++)
        at += at < count && after[i] == before[at] + 7;
    assert_int_equal(at, count);
}

static void only_conditions_with_work_get_a_baseline(void **state)
{
    (void)state;
    make_sim(&sim, "grid", 6, 1, true, 1);
    assert_true(run_call(&sim, TRIAL_LIMIT));
    size_t count = sim.count;
    make_grid(&sim.grid, 6, 2, true); /* a second number of clients */
    sim.call_id = 2;
    assert_true(run_call(&sim, TRIAL_LIMIT));
    assert_complete(&sim);
    for (size_t i = count; i < sim.count; i++)
        assert_int_equal(sim.trials[i].condition, 1);
}

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

static void a_budget_of_trials_is_kept(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        for (int64_t budget = 1; budget <= 90; budget++) {
            make_sim(&sim, kinds[kind], 14, 2, true, 3);
            sim.spec.budget_trials = budget;
            assert_true(run_call(&sim, TRIAL_LIMIT));
            assert_true((int64_t)sim.count <= budget);
            assert_true((int64_t)sim.count >= budget - 4 || budget < 5 || sim.count >= 86);
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
            assert_true((int64_t)sim.count >= budget - 3 || sim.count >= 43);
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
    sim.spec.budget_trials = 60;
    assert_true(run_call(&sim, TRIAL_LIMIT));
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
        make_sim(&other, budget == 30 ? "random" : "grid", 14, 1, true, 3);
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

/* ---- memory ---- */

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    for (size_t kind = 0; kind < COUNT_OF(kinds); kind++) {
        bool has_room = false;
        make_sim(&sim, kinds[kind], 9, 2, true, 2);
        for (size_t limit = 16; !has_room; limit += 16) {
            struct history none = {.trials = NULL};
            struct proposal next;
            struct arena scratch;
            struct err err;
            err_clear(&err);
            arena_open(&scratch, limit);
            has_room = strategy_next(&sim.spec, &sim.grid, &none, &scratch, &next, &err);
            assert_true(has_room || err.code == ERR_CODE_memory);
            arena_close(&scratch);
        }
    }
}

/* ---- setup ---- */

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)1 << 30);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(purposes_have_names),
        cmocka_unit_test(strategies_have_names_and_sentences),
        cmocka_unit_test(an_unknown_kind_is_a_bug),
        cmocka_unit_test(every_cell_gets_its_repeats),
        cmocka_unit_test(baselines_are_few),
        cmocka_unit_test(purposes_follow_the_count),
        cmocka_unit_test(the_grid_goes_in_blocks),
        cmocka_unit_test(blocks_and_seeds_shuffle_differently),
        cmocka_unit_test(pruned_cells_are_left_out),
        cmocka_unit_test(without_a_baseline_none_is_measured),
        cmocka_unit_test(a_baseline_alone_gets_its_repeats),
        cmocka_unit_test(a_finished_sweep_is_done_at_once),
        cmocka_unit_test(a_sweep_resumes_from_any_prefix),
        cmocka_unit_test(many_short_calls_get_there_too),
        cmocka_unit_test(a_trial_of_a_dead_call_is_void),
        cmocka_unit_test(strangers_in_the_history_are_passed_over),
        cmocka_unit_test(added_values_keep_what_is_finished),
        cmocka_unit_test(added_values_move_nobody),
        cmocka_unit_test(only_conditions_with_work_get_a_baseline),
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
        cmocka_unit_test(what_remains_is_told_exactly),
        cmocka_unit_test(what_remains_respects_the_budget),
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
