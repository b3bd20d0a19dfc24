/*
 * Strategies: every cell gets its repeats, the baseline stands between them, and a sweep goes on
 * from any point of its history, with more values too.
 */
#include "tests/support/sweep_sim.h"

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
    assert_int_equal(strategy_count, 7);
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
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
        cmocka_unit_test(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
