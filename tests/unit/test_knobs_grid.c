/*
 * Grids: the product, duplicates, exact points, size. What rules and guards prune:
 * test_knobs_prune.c
 */
#include "tests/support/grid_plan.h"

static void add_exact(struct plan *plan, size_t swept, const char *value)
{
    plan->exact[plan->grid.exact_count++] =
        choice_of(swept, parsed(plan->swept[swept].knob, value));
}

/* keys: separated by a blank; the baseline's is "-" */
static void expect_points(const struct plan *plan, const char *keys)
{
    struct text all;
    text_open(&all, &arena);
    for (size_t i = 0; i < plan->grid.point_count; i++) {
        const struct point *point = &plan->grid.points[i];
        assert_int_equal(point->baseline, point->key[0] == '\0');
        text_add(&all, i > 0 ? " " : "");
        text_add(&all, point->baseline ? "-" : point->key);
    }
    assert_string_equal(text_done(&all), keys);
}

/* --- the product --- */

static void test_product_order(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "2G|4G");
    add_axis(&plan, SWEPT_HOST, &dirty_ratio, "10|40");
    add_axis(&plan, SWEPT_WORKLOAD, &clients, "8|32|128");
    build(&plan);
    expect_points(&plan, "- shared_buffers=2147483648;vm.dirty_ratio=10 "
                         "shared_buffers=2147483648;vm.dirty_ratio=40 "
                         "shared_buffers=4294967296;vm.dirty_ratio=10 "
                         "shared_buffers=4294967296;vm.dirty_ratio=40");
    assert_int_equal(plan.grid.condition_count, 3);
    assert_string_equal(plan.grid.conditions[0].key, "clients=8");
    assert_string_equal(plan.grid.conditions[2].key, "clients=128");
    assert_int_equal(plan.grid.kept_count, 15);
    assert_int_equal(plan.grid.pruned_count, 0);
    assert_true(grid_value(&plan.grid, 1, 2, 2)->integer == 128);
    assert_true(grid_value(&plan.grid, 1, 2, 0)->integer == 2 * G);
    assert_int_equal(grid_value(&plan.grid, 0, 0, 1)->kind, VALUE_BASELINE);
    assert_int_equal(plan.grid.points[1].values[2].kind, VALUE_BASELINE);
    assert_int_equal(plan.grid.conditions[1].values[0].kind, VALUE_BASELINE);
    assert_string_equal(plan.grid.points[1].values[0].asked, "2G");
    assert_string_equal(plan.grid.points[0].values[0].asked, "baseline");
}

static void test_duplicates(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "8G|1048576|8192M|baseline|unset|unset");
    add_axis(&plan, SWEPT_WORKLOAD, &clients, "8|8|9");
    build(&plan);
    expect_points(&plan, "- shared_buffers=8589934592 shared_buffers=unset");
    assert_int_equal(plan.grid.condition_count, 2);
}

static void test_exact_points(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "2G");
    size_t commit = add_swept(&plan, SWEPT_KNOB, &commit_knob);
    add_exact(&plan, commit, "off");
    add_exact(&plan, 0, "2048M");
    add_exact(&plan, commit, "baseline");
    add_exact(&plan, 0, "4G");
    build(&plan);
    expect_points(&plan, "- shared_buffers=2147483648 commit=off shared_buffers=4294967296");
}

/* Points instead of axes: the empty product must not sneak the baseline in. */
static void test_only_exact_points(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    plan.grid.with_baseline = false;
    size_t swept = add_swept(&plan, SWEPT_KNOB, &buffers);
    add_exact(&plan, swept, "2G");
    add_axis(&plan, SWEPT_WORKLOAD, &clients, "8|9");
    build(&plan);
    expect_points(&plan, "shared_buffers=2147483648");
    assert_int_equal(plan.grid.kept_count, 2);
}

static void test_only_conditions(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_WORKLOAD, &clients, "8|9");
    build(&plan);
    expect_points(&plan, "-");
    assert_int_equal(plan.grid.kept_count, 2);
    plan.grid.with_baseline = false;
    assert_non_null(strstr(refused(&plan, ERR_CODE_grid).hint, "baseline"));
}

static void test_nothing_swept(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    build(&plan);
    expect_points(&plan, "-");
    assert_int_equal(plan.grid.condition_count, 1);
    assert_string_equal(plan.grid.conditions[0].key, "");
    assert_int_equal(plan.grid.kept_count, 1);
}

/* Without the baseline asked for, a point that sets nothing is still the baseline's configuration.
 */
static void test_baseline_by_value(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    plan.grid.with_baseline = false;
    add_axis(&plan, SWEPT_KNOB, &buffers, "baseline|2G");
    build(&plan);
    expect_points(&plan, "- shared_buffers=2147483648");
}

static void test_joined_axis(void **state)
{
    (void)state;
    struct plan plan;
    struct axis_set low[2] = {{0, parsed(&workers, "1")}, {1, parsed(&target, "0.5")}};
    struct axis_set high[1] = {{0, parsed(&workers, "9")}};
    struct axis_choice choices[2] = {{low, 2}, {high, 1}};
    begin(&plan);
    add_swept(&plan, SWEPT_KNOB, &workers);
    add_swept(&plan, SWEPT_KNOB, &target);
    plan.axes[plan.grid.axis_count++] = (struct axis){
        .name = "workers+target", .kind = SWEPT_KNOB, .choices = choices, .choice_count = 2};
    build(&plan);
    expect_points(&plan, "- workers=1;target=0.5 workers=9");
}

/* A value that holds the separators must not look like another point. */
static void test_keys_are_unambiguous(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &command, "a|a;workers=1|a\\");
    add_axis(&plan, SWEPT_KNOB, &workers, "baseline|1");
    build(&plan);
    expect_points(&plan, "- command=a command=a;workers=1 command=a\\;workers=1 "
                         "command=a\\;workers=1;workers=1 command=a\\\\ command=a\\\\;workers=1");
}

static void test_find(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_swept(&plan, SWEPT_KNOB, &workers);
    add_swept(&plan, SWEPT_HOST, &dirty_ratio);
    assert_int_equal(grid_swept_find(&plan.grid, "VM.Dirty_Ratio"), 1);
    assert_true(grid_swept_find(&plan.grid, "dirty_ratio") == SIZE_MAX);
}

static void test_grid_errors(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &workers, "");
    struct err err = refused(&plan, ERR_CODE_grid);
    assert_non_null(strstr(err.text, "'workers' has no values"));
    assert_string_equal(err.origin, "n.cfg:7");

    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &workers, "1|2");
    plan.axes[1] = plan.axes[0];
    plan.axes[1].name = "again";
    plan.grid.axis_count = 2;
    err = refused(&plan, ERR_CODE_grid);
    assert_non_null(strstr(err.text, "again"));
    assert_string_equal(err.origin, "n.cfg:7");

    begin(&plan);
    add_axis(&plan, SWEPT_WORKLOAD, &clients, "8");
    add_exact(&plan, 0, "9");
    err = refused(&plan, ERR_CODE_grid);
    assert_non_null(strstr(err.text, "clients"));
}

static void test_too_large(void **state)
{
    (void)state;
    static const struct knob *const knobs[] = {&workers, &target, &dirty_ratio, &log_size, &wal};
    struct plan plan;
    begin(&plan);
    for (size_t i = 0; i < COUNT_OF(knobs); i++) {
        add_axis(&plan, SWEPT_KNOB, knobs[i], "unset");
        for (; plan.axes[i].choice_count < 64; plan.axes[i].choice_count++)
            plan.axes[i].choices[plan.axes[i].choice_count] = plan.axes[i].choices[0];
    }
    struct err err = refused(&plan, ERR_CODE_grid);
    assert_non_null(strstr(err.text, "10000000"));
}

/* --- size and memory --- */

static void test_large_grid(void **state)
{
    (void)state;
    struct plan plan;
    struct arena large;
    struct err err;
    struct value *values = NULL;
    static const struct knob *const knobs[] = {&workers, &target, &log_size};
    static const char *const ends[] = {"100", "1", "100"};
    err_clear(&err);
    arena_open(&large, (size_t)1 << 30);
    begin(&plan);
    for (size_t i = 0; i < COUNT_OF(knobs); i++) {
        struct axis *axis = &plan.axes[plan.grid.axis_count++];
        size_t swept = add_swept(&plan, SWEPT_KNOB, knobs[i]);
        *axis = (struct axis){.name = knobs[i]->name, .kind = SWEPT_KNOB};
        assert_true(grid_range(knobs[i], "0", ends[i], 51, false, &facts, &large, &values,
                               &axis->choice_count, &err));
        axis->choices = ARENA_ARRAY(&arena, struct axis_choice, axis->choice_count);
        assert_non_null(axis->choices);
        for (size_t v = 0; v < axis->choice_count; v++)
            axis->choices[v] = choice_of(swept, values[v]);
    }
    add_rule(&plan, "workers + log_size <= 100");
    assert_true(grid_build(&plan.grid, plan.found, &facts, 0, &large, &err));
    assert_int_equal(plan.grid.point_count, 51 * 51 * 51 + 1);
    /* the triangle of 51 * 52 / 2 pairs */
    assert_int_equal(plan.grid.kept_count, 51 * (51 * 52 / 2) + 1);
    arena_close(&large);
}

static void test_memory_ends(void **state)
{
    (void)state;
    struct plan plan;
    size_t failures = 0;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "2G|4G|8G");
    add_axis(&plan, SWEPT_WORKLOAD, &clients, "8|32");
    add_rule(&plan, "shared_buffers < 8G");
    for (size_t limit = 1; limit < 1000000; limit += limit / 4 + 1) {
        struct arena small;
        struct err err;
        err_clear(&err);
        arena_open(&small, limit);
        if (!grid_build(&plan.grid, plan.found, &facts, 0, &small, &err)) {
            assert_int_equal(err.code, ERR_CODE_memory);
            failures++;
        }
        arena_close(&small);
    }
    assert_in_range(failures, 1, 1000);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product_order),        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_exact_points),         cmocka_unit_test(test_only_exact_points),
        cmocka_unit_test(test_only_conditions),      cmocka_unit_test(test_nothing_swept),
        cmocka_unit_test(test_baseline_by_value),    cmocka_unit_test(test_joined_axis),
        cmocka_unit_test(test_keys_are_unambiguous), cmocka_unit_test(test_find),
        cmocka_unit_test(test_grid_errors),          cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_large_grid),           cmocka_unit_test(test_memory_ends),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
