/*
 * Knobs of every type and a sweep under construction, for the tests of grids.
 */
#ifndef TESTS_SUPPORT_GRID_PLAN_H
#define TESTS_SUPPORT_GRID_PLAN_H

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
    *plan = (struct plan){.grid = {.with_baseline = true, .file = "n.cfg"}};
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

#endif
