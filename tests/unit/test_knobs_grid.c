/*
 * Grids: ranges and their rounding, the product, duplicates, rules, the memory guard.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "knobs/grid.h"

#define G INT64_C(1073741824)

static struct arena arena;

static const struct knob buffers = {.name = "shared_buffers",
                                    .type = KNOB_INTEGER,
                                    .unit = UNIT_BYTES,
                                    .bare = 8192,
                                    .min = 131072,
                                    .max = 8796093014016.0,
                                    .specials = "",
                                    .choices = "",
                                    .durability = "",
                                    .memory = KNOB_MEMORY_ONCE};
static const struct knob wal = {.name = "wal_buffers",
                                .type = KNOB_INTEGER,
                                .unit = UNIT_BYTES,
                                .bare = 8192,
                                .min = 32768,
                                .max = 2147475456.0,
                                .specials = "-1",
                                .choices = "",
                                .durability = "",
                                .memory = KNOB_MEMORY_ONCE};
static const struct knob log_size = {.name = "log_size",
                                     .type = KNOB_INTEGER,
                                     .unit = UNIT_BYTES,
                                     .bare = 1,
                                     .min = 0,
                                     .max = INFINITY,
                                     .specials = "",
                                     .choices = "",
                                     .durability = ""};
static const struct knob page_size = {.name = "page_size",
                                      .type = KNOB_INTEGER,
                                      .unit = UNIT_BYTES,
                                      .bare = 1,
                                      .min = 512,
                                      .max = 65536,
                                      .specials = "",
                                      .choices = "512|1024|2048|4096|8192|16384|32768|65536",
                                      .durability = ""};
static const struct knob workers = {.name = "workers",
                                    .type = KNOB_INTEGER,
                                    .unit = UNIT_NONE,
                                    .bare = 1,
                                    .min = 0,
                                    .max = 1024,
                                    .specials = "",
                                    .choices = "",
                                    .durability = ""};
static const struct knob target = {.name = "target",
                                   .type = KNOB_REAL,
                                   .unit = UNIT_NONE,
                                   .bare = 1,
                                   .min = 0,
                                   .max = 1,
                                   .specials = "",
                                   .choices = "",
                                   .durability = ""};
static const struct knob fsync_knob = {.name = "fsync",
                                       .type = KNOB_BOOL,
                                       .unit = UNIT_NONE,
                                       .bare = 1,
                                       .min = -INFINITY,
                                       .max = INFINITY,
                                       .specials = "",
                                       .choices = "",
                                       .durability = "on|off"};
static const struct knob commit_knob = {.name = "commit",
                                        .type = KNOB_ENUM,
                                        .unit = UNIT_NONE,
                                        .bare = 1,
                                        .min = -INFINITY,
                                        .max = INFINITY,
                                        .specials = "",
                                        .choices = "off|local|on",
                                        .durability = "on|local|off"};
static const struct knob flush_knob = {.name = "flush",
                                       .type = KNOB_ENUM,
                                       .unit = UNIT_NONE,
                                       .bare = 1,
                                       .min = -INFINITY,
                                       .max = INFINITY,
                                       .specials = "",
                                       .choices = "0|1|2",
                                       .durability = "1|2|0"};
static const struct knob command = {.name = "command",
                                    .type = KNOB_TEXT,
                                    .unit = UNIT_NONE,
                                    .bare = 1,
                                    .min = -INFINITY,
                                    .max = INFINITY,
                                    .specials = "",
                                    .choices = "",
                                    .durability = ""};
static const struct knob dirty_ratio = {.name = "vm.dirty_ratio",
                                        .type = KNOB_INTEGER,
                                        .unit = UNIT_PERCENT,
                                        .bare = 1,
                                        .min = 0,
                                        .max = 100,
                                        .specials = "",
                                        .choices = "",
                                        .durability = ""};
static const struct knob clients = {.name = "clients",
                                    .type = KNOB_INTEGER,
                                    .unit = UNIT_NONE,
                                    .bare = 1,
                                    .min = 1,
                                    .max = 100000,
                                    .specials = "",
                                    .choices = "",
                                    .durability = ""};

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
    char all[4096] = "";
    for (size_t i = 0; i < plan->grid.point_count; i++) {
        const struct point *point = &plan->grid.points[i];
        assert_int_equal(point->baseline, point->key[0] == '\0');
        strcat(all, i > 0 ? " " : "");
        strcat(all, point->baseline ? "-" : point->key);
    }
    assert_string_equal(all, keys);
}

static bool kept(const struct plan *plan, size_t point, size_t condition)
{
    return plan->grid.kept[point * plan->grid.condition_count + condition];
}

/* --- ranges --- */

static void expect_range(const struct knob *knob, const char *from, const char *to, int64_t steps,
                         bool log_scale, const char *canonical)
{
    struct value *values = NULL;
    size_t count = 0;
    struct err err;
    char all[4096] = "";
    err_clear(&err);
    if (!grid_range(knob, from, to, steps, log_scale, &facts, &arena, &values, &count, &err))
        fail_msg("%s; %s", err.text, err.hint);
    for (size_t i = 0; i < count; i++) {
        struct value again = parsed(knob, values[i].asked);
        assert_true(value_equal(knob, &again, &values[i]));
        strcat(all, i > 0 ? " " : "");
        strcat(all, value_canonical(knob, &values[i], &arena));
    }
    assert_string_equal(all, canonical);
}

static struct err refused_range(const struct knob *knob, const char *from, const char *to,
                                int64_t steps, bool log_scale)
{
    struct value *values = NULL;
    size_t count = 0;
    struct err err;
    err_clear(&err);
    if (grid_range(knob, from, to, steps, log_scale, &facts, &arena, &values, &count, &err))
        fail_msg("range %s .. %s was accepted", from, to);
    return err;
}

static void test_range_log(void **state)
{
    (void)state;
    expect_range(&log_size, "4M", "64M", 5, true, "4194304 8388608 16777216 33554432 67108864");
    expect_range(&log_size, "64M", "4M", 5, true, "67108864 33554432 16777216 8388608 4194304");
    expect_range(&page_size, "512", "64K", 8, true, "512 1024 2048 4096 8192 16384 32768 65536");
    expect_range(&workers, "1", "1000", 4, true, "1 10 100 1000");
    expect_range(&target, "0.01", "1", 3, true, "0.01 0.1 1");
}

static void test_range_linear(void **state)
{
    (void)state;
    expect_range(&target, "0.1", "0.5", 5, false, "0.1 0.2 0.3 0.4 0.5");
    expect_range(&target, "0", "1", 4, false, "0 0.333333333333 0.666666666667 1");
    expect_range(&workers, "0", "10", 3, false, "0 5 10");
    expect_range(&workers, "10", "0", 3, false, "10 5 0");
    expect_range(&workers, "1", "2", 2, false, "1 2");
    expect_range(&dirty_ratio, "10%", "40%", 4, false, "10 20 30 40");
    expect_range(&buffers, "25% of host.memory", "50% of host.memory", 3, false,
                 "4294967296 6442450944 8589934592");
}

static void test_range_rounding(void **state)
{
    (void)state;
    /* half away from zero: 2.5 is 3 */
    expect_range(&workers, "0", "5", 3, false, "0 3 5");
    /* whole pages between the ends, the ends as given */
    expect_range(&buffers, "131072", "262144", 2, false, "1073741824 2147483648");
    expect_range(&buffers, "131080B", "163840B", 4, false, "131080 139264 155648 163840");
    /* no step beyond an end though rounding would go there */
    expect_range(&buffers, "133120B", "137216B", 5, false, "133120 137216");
}

static void test_range_duplicates(void **state)
{
    (void)state;
    expect_range(&workers, "1", "3", 50, false, "1 2 3");
    expect_range(&workers, "3", "1", 50, false, "3 2 1");
    expect_range(&workers, "1", "4", 20, true, "1 2 3 4");
    expect_range(&buffers, "128K", "144K", 100, false, "131072 139264 147456");
}

static void test_range_errors(void **state)
{
    (void)state;
    assert_int_equal(refused_range(&workers, "1", "1", 2, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "1", "8", 1, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "1", "8", 0, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "1", "8", INT64_MIN, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "1", "8", INT64_MAX, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "0", "8", 4, true).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "1", "2000", 4, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "1", "many", 4, false).code, ERR_CODE_number);
    assert_int_equal(refused_range(&workers, "unset", "8", 4, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&workers, "1", "baseline", 4, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&wal, "-1", "16M", 4, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&fsync_knob, "off", "on", 2, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&commit_knob, "off", "on", 2, false).code, ERR_CODE_knob_value);
    /* 17 K is no page size */
    assert_int_equal(refused_range(&page_size, "1K", "33K", 3, false).code, ERR_CODE_knob_value);
    assert_int_equal(refused_range(&page_size, "1K", "64K", 3, false).code, ERR_CODE_knob_value);
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
    char all[1024] = "";
    for (size_t i = 1; i < plan.grid.point_count; i++) {
        if (kept(&plan, i, 0)) {
            strcat(all, plan.grid.points[i].key);
            strcat(all, " ");
        }
    }
    assert_string_equal(all, "fsync=on;commit=on;flush=0 fsync=on;commit=off;flush=0 "
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
        cmocka_unit_test(test_range_log),
        cmocka_unit_test(test_range_linear),
        cmocka_unit_test(test_range_rounding),
        cmocka_unit_test(test_range_duplicates),
        cmocka_unit_test(test_range_errors),
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
