/*
 * Grids: the product, duplicates, exact points, rules, the memory guard, durability.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "knobs/grid.h"
#include "sweeper/base/text.h"

#define G INT64_C(1073741824)

static struct arena arena;

/* A row: variable, then the fields of struct knob that values depend on, in their order. */
#define ROW(variable, name_, type_, unit_, bare_, min_, max_, specials_, choices_, durability_,    \
            memory_)                                                                               \
    static const struct knob variable = {.name = (name_),                                          \
                                         .type = KNOB_##type_,                                     \
                                         .unit = UNIT_##unit_,                                     \
                                         .bare = (bare_),                                          \
                                         .min = (min_),                                            \
                                         .max = (max_),                                            \
                                         .specials = (specials_),                                  \
                                         .choices = (choices_),                                    \
                                         .durability = (durability_),                              \
                                         .memory = KNOB_MEMORY_##memory_}

ROW(buffers, "shared_buffers", INTEGER, BYTES, 8192, 131072, 8796093014016.0, "", "", "", ONCE);
ROW(wal, "wal_buffers", INTEGER, BYTES, 8192, 32768, 2147475456.0, "-1", "", "", ONCE);
ROW(log_size, "log_size", INTEGER, BYTES, 1, 0, INFINITY, "", "", "", NONE);
ROW(workers, "workers", INTEGER, NONE, 1, 0, 1024, "", "", "", NONE);
ROW(target, "target", REAL, NONE, 1, 0, 1, "", "", "", NONE);
ROW(fsync_knob, "fsync", BOOL, NONE, 1, -INFINITY, INFINITY, "", "", "on|off", NONE);
ROW(commit_knob, "commit", ENUM, NONE, 1, -INFINITY, INFINITY, "", "off|local|on", "on|local|off",
    NONE);
ROW(flush_knob, "flush", ENUM, NONE, 1, -INFINITY, INFINITY, "", "0|1|2", "1|2|0", NONE);
ROW(command, "command", TEXT, NONE, 1, -INFINITY, INFINITY, "", "", "", NONE);
ROW(dirty_ratio, "vm.dirty_ratio", INTEGER, PERCENT, 1, 0, 100, "", "", "", NONE);
ROW(clients, "clients", INTEGER, NONE, 1, 1, 100000, "", "", "", NONE);

static const struct value_facts facts = {.host_memory_bytes = 16 * G, .host_cpu_count = 8};

/* A sweep under construction. */
struct plan {
    struct grid grid;
    struct swept swept[8];
    struct axis axes[8];
    struct axis_choice exact[8];
    struct rule *rules[8];
    struct value found[8];
    int64_t guard_bytes;
};

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

static struct value parsed(const struct knob *knob, const char *text)
{
    struct value value;
    struct err err;
    err_clear(&err);
    if (!value_parse(knob, text, &facts, &arena, &value, &err))
        fail_msg("%s", err.text);
    return value;
}

static void begin(struct plan *plan)
{
    *plan = (struct plan){.grid.with_baseline = true};
    plan->grid.swept = plan->swept;
    plan->grid.axes = plan->axes;
    plan->grid.exact = plan->exact;
    plan->grid.rules = plan->rules;
}

static size_t add_swept(struct plan *plan, enum swept_kind kind, const struct knob *knob)
{
    size_t index = plan->grid.swept_count++;
    plan->swept[index] = (struct swept){.kind = kind, .knob = knob, .line = 1};
    return index;
}

static struct axis_choice choice_of(size_t swept, struct value value)
{
    struct axis_set *set = ARENA_NEW(&arena, struct axis_set);
    assert_non_null(set);
    *set = (struct axis_set){.swept = swept, .value = value};
    return (struct axis_choice){.sets = set, .set_count = 1};
}

/* values: separated by "|" */
static void add_axis(struct plan *plan, enum swept_kind kind, const struct knob *knob,
                     const char *values)
{
    struct axis *axis = &plan->axes[plan->grid.axis_count++];
    struct bytes rest = knob_list(values);
    struct bytes piece;
    size_t swept = add_swept(plan, kind, knob);
    *axis = (struct axis){.name = knob->name, .kind = kind, .line = 7};
    axis->choices = ARENA_ARRAY(&arena, struct axis_choice, 64);
    assert_non_null(axis->choices);
    while (knob_list_next(&rest, '|', &piece)) {
        char *text = arena_strndup(&arena, piece.data, piece.size);
        assert_non_null(text);
        axis->choices[axis->choice_count++] = choice_of(swept, parsed(knob, text));
    }
}

static void add_exact(struct plan *plan, size_t swept, const char *value)
{
    plan->exact[plan->grid.exact_count++] =
        choice_of(swept, parsed(plan->swept[swept].knob, value));
}

static void add_rule(struct plan *plan, const char *text)
{
    struct err err;
    err_clear(&err);
    if (!rule_parse(text, &arena, &plan->rules[plan->grid.rule_count++], &err))
        fail_msg("%s", err.text);
}

static void build(struct plan *plan)
{
    struct err err;
    err_clear(&err);
    if (!grid_build(&plan->grid, plan->found, &facts, plan->guard_bytes, &arena, &err))
        fail_msg("%s; %s", err.text, err.hint);
}

static struct err refused(struct plan *plan, enum err_code code)
{
    struct err err;
    err_clear(&err);
    assert_false(grid_build(&plan->grid, plan->found, &facts, plan->guard_bytes, &arena, &err));
    assert_int_equal(err.code, code);
    return err;
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

static bool kept(const struct plan *plan, size_t point, size_t condition)
{
    return plan->grid.kept[point * plan->grid.condition_count + condition];
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
    assert_non_null(strstr(err.text, "'workers' (line 7)"));

    begin(&plan);
    add_axis(&plan, SWEPT_KNOB, &workers, "1|2");
    plan.axes[1] = plan.axes[0];
    plan.axes[1].name = "again";
    plan.grid.axis_count = 2;
    err = refused(&plan, ERR_CODE_grid);
    assert_non_null(strstr(err.text, "again"));

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
        cmocka_unit_test(test_product_order),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_exact_points),
        cmocka_unit_test(test_only_exact_points),
        cmocka_unit_test(test_only_conditions),
        cmocka_unit_test(test_nothing_swept),
        cmocka_unit_test(test_baseline_by_value),
        cmocka_unit_test(test_joined_axis),
        cmocka_unit_test(test_keys_are_unambiguous),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_grid_errors),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_rules_prune),
        cmocka_unit_test(test_rules_know_kinds),
        cmocka_unit_test(test_unknown_is_kept),
        cmocka_unit_test(test_unknown_facts),
        cmocka_unit_test(test_rule_errors),
        cmocka_unit_test(test_everything_pruned),
        cmocka_unit_test(test_memory_guard),
        cmocka_unit_test(test_guard_prunes_everything),
        cmocka_unit_test(test_durable),
        cmocka_unit_test(test_large_grid),
        cmocka_unit_test(test_memory_ends),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
