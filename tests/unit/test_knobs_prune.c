/*
 * What rules and the memory guard prune from a grid, and which points are durable.
 */
#include "tests/support/grid_plan.h"

static bool kept(const struct plan *plan, size_t point, size_t condition)
{
    return plan->grid.kept[point * plan->grid.condition_count + condition];
}

/* --- rules --- */

static void test_rules_prune(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "2G|8G|14G");
    add_axis(&plan, SWEPT_WORKLOAD, &clients, "8|128");
    add_rule(&plan, "shared_buffers <= 0.75 * host.memory");
    add_rule(&plan, "clients < 100 or shared_buffers < 8G");
    build(&plan);
    assert_int_equal(plan.grid.kept_count, 5);
    assert_true(kept(&plan, 0, 0) && kept(&plan, 0, 1));
    assert_true(kept(&plan, 1, 0) && kept(&plan, 1, 1));
    assert_true(kept(&plan, 2, 0) && !kept(&plan, 2, 1));
    assert_true(!kept(&plan, 3, 0) && !kept(&plan, 3, 1));
    assert_int_equal(plan.grid.pruned_count, 3);
    assert_int_equal(plan.grid.pruned[0].point, 2);
    assert_int_equal(plan.grid.pruned[0].condition, 1);
    assert_int_equal(plan.grid.pruned[0].rule, 1);
    assert_int_equal(plan.grid.pruned[2].rule, 0);
}

static void test_rules_know_kinds(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &fsync_knob, "on|off");
    add_axis(&plan, SWEPT_KNOB, &commit_knob, "on|off");
    add_axis(&plan, SWEPT_KNOB, &flush_knob, "0|1");
    add_rule(&plan, "fsync or commit == 'OFF'");
    add_rule(&plan, "FSYNC == 'on' or flush == 0");
    add_rule(&plan, "not (host.cpus == 8 and flush == 1 and commit = 'on')");
    build(&plan);
    struct text all;
    text_open(&all, &arena);
    for (size_t i = 1; i < plan.grid.point_count; i++) {
        if (kept(&plan, i, 0)) {
            text_addf(&all, "%s ", plan.grid.points[i].key);
        }
    }
    assert_string_equal(text_done(&all),
                        "fsync=on;commit=on;flush=0 fsync=on;commit=off;flush=0 "
                        "fsync=on;commit=off;flush=1 fsync=off;commit=off;flush=0 ");
}

static void test_unknown_is_kept(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "unset|baseline|8G");
    add_axis(&plan, SWEPT_KNOB, &workers, "1|2");
    add_rule(&plan, "shared_buffers < 4G");
    build(&plan);
    /* as found, shared_buffers is not known: only the two points that say 8G go */
    assert_int_equal(plan.grid.point_count, 7);
    assert_int_equal(plan.grid.pruned_count, 2);
    /* found to be 6G, the points that keep it go too, but never the baseline itself */
    plan.found[0] = parsed(&buffers, "6G");
    build(&plan);
    assert_int_equal(plan.grid.pruned_count, 4);
    assert_true(kept(&plan, 0, 0));
    plan.found[0] = parsed(&buffers, "unset");
    build(&plan);
    assert_int_equal(plan.grid.pruned_count, 2);
}

static void test_unknown_facts(void **state)
{
    (void)state;
    struct plan plan;
    struct err err;
    err_clear(&err);
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "8G");
    add_rule(&plan, "shared_buffers < 0.1 * host.memory");
    assert_true(grid_build(&plan.grid, plan.found, NULL, 0, &arena, &err));
    assert_int_equal(plan.grid.pruned_count, 0);
}

static void test_rule_errors(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "8G");
    add_rule(&plan, "true or shared_bufers < 1G");
    struct err err = refused(&plan, ERR_CODE_rule);
    assert_non_null(strstr(err.text, "shared_bufers"));
    assert_non_null(strstr(err.hint, "'shared_buffers'"));

    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &commit_knob, "off");
    add_rule(&plan, "commit == elephant");
    err = refused(&plan, ERR_CODE_rule);
    assert_non_null(strstr(err.hint, "quote"));

    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &commit_knob, "off");
    add_rule(&plan, "commit > 5");
    refused(&plan, ERR_CODE_rule);

    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "8G");
    add_rule(&plan, "host.memry > 1G");
    err = refused(&plan, ERR_CODE_rule);
    assert_non_null(strstr(err.hint, "host.memory"));
}

static void test_everything_pruned(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "8G|9G");
    add_rule(&plan, "true");
    add_rule(&plan, "shared_buffers < 4G");
    struct err err = refused(&plan, ERR_CODE_grid);
    assert_non_null(strstr(err.hint, "shared_buffers < 4G"));
    assert_non_null(strstr(err.hint, "2 of 2"));
}

/* --- guard and durability --- */

static void test_memory_guard(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "baseline|8G|unset");
    add_axis(&plan, SWEPT_KNOB, &wal, "-1|1G");
    add_axis(&plan, SWEPT_KNOB, &log_size, "100G");
    plan.found[0] = parsed(&buffers, "9G");
    plan.guard_bytes = 9 * G;
    build(&plan);
    /* 9G + 1G as found and asked; 8G + 1G just fits; unset counts nothing; log_size is no memory */
    assert_int_equal(plan.grid.pruned_count, 1);
    assert_true(plan.grid.pruned[0].rule == SIZE_MAX);
    assert_string_equal(plan.grid.points[plan.grid.pruned[0].point].key,
                        "wal_buffers=1073741824;log_size=107374182400");
    plan.guard_bytes = 1;
    struct err err;
    err_clear(&err);
    assert_true(grid_build(&plan.grid, plan.found, &facts, 1, &arena, &err));
    assert_int_equal(plan.grid.pruned_count, 5); /* unset with -1 stays */
    plan.guard_bytes = 0;
    build(&plan);
    assert_int_equal(plan.grid.pruned_count, 0);
}

static void test_guard_prunes_everything(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &buffers, "8G|9G");
    plan.guard_bytes = G;
    assert_non_null(strstr(refused(&plan, ERR_CODE_grid).hint, "guard"));
}

static void test_durable(void **state)
{
    (void)state;
    struct plan plan;
    begin(&plan);
    add_swept(&plan, SWEPT_KNOB, &commit_knob);
    add_swept(&plan, SWEPT_KNOB, &buffers);
    struct value point[2] = {parsed(&commit_knob, "local"), parsed(&buffers, "1G")};
    struct value found[2] = {parsed(&commit_knob, "on"), parsed(&buffers, "2G")};
    assert_false(grid_point_durable(&plan.grid, point, found));
    found[0] = parsed(&commit_knob, "local");
    assert_true(grid_point_durable(&plan.grid, point, found));
    found[0] = parsed(&commit_knob, "off");
    assert_true(grid_point_durable(&plan.grid, point, found));
    /* not known what was found: only the most durable value is surely as durable */
    found[0] = (struct value){0};
    assert_false(grid_point_durable(&plan.grid, point, found));
    point[0] = parsed(&commit_knob, "on");
    assert_true(grid_point_durable(&plan.grid, point, found));
    point[0] = (struct value){0};
    assert_true(grid_point_durable(&plan.grid, point, found));
    /* the server's default is not known here */
    point[0] = parsed(&commit_knob, "unset");
    found[0] = parsed(&commit_knob, "off");
    assert_false(grid_point_durable(&plan.grid, point, found));
    found[0] = parsed(&commit_knob, "unset");
    assert_true(grid_point_durable(&plan.grid, point, found));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_prune),     cmocka_unit_test(test_rules_know_kinds),
        cmocka_unit_test(test_unknown_is_kept), cmocka_unit_test(test_unknown_facts),
        cmocka_unit_test(test_rule_errors),     cmocka_unit_test(test_everything_pruned),
        cmocka_unit_test(test_memory_guard),    cmocka_unit_test(test_guard_prunes_everything),
        cmocka_unit_test(test_durable),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
