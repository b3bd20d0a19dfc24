/*
 * Ranges: their ends, their steps, how these are rounded, and what cannot be a range.
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

static struct arena arena;

/* A row: variable, then the fields of struct knob that values depend on, in their order. */
#define ROW(variable, name_, type_, unit_, bare_, min_, max_, specials_, choices_, durability_)    \
    static const struct knob variable = {.name = (name_),                                          \
                                         .type = KNOB_##type_,                                     \
                                         .unit = UNIT_##unit_,                                     \
                                         .bare = (bare_),                                          \
                                         .min = (min_),                                            \
                                         .max = (max_),                                            \
                                         .specials = (specials_),                                  \
                                         .choices = (choices_),                                    \
                                         .durability = (durability_)}

ROW(buffers, "shared_buffers", INTEGER, BYTES, 8192, 131072, 8796093014016.0, "", "", "");
ROW(wal, "wal_buffers", INTEGER, BYTES, 8192, 32768, 2147475456.0, "-1", "", "");
ROW(log_size, "log_size", INTEGER, BYTES, 1, 0, INFINITY, "", "", "");
ROW(page_size, "page_size", INTEGER, BYTES, 1, 512, 65536, "",
    "512|1024|2048|4096|8192|16384|32768|65536", "");
ROW(workers, "workers", INTEGER, NONE, 1, 0, 1024, "", "", "");
ROW(target, "target", REAL, NONE, 1, 0, 1, "", "", "");
ROW(delay, "delay", REAL, US, 1000, 0, 100000, "-1", "", "");
ROW(fsync_knob, "fsync", BOOL, NONE, 1, -INFINITY, INFINITY, "", "", "on|off");
ROW(commit_knob, "commit", ENUM, NONE, 1, -INFINITY, INFINITY, "", "off|local|on", "on|local|off");
ROW(dirty_ratio, "vm.dirty_ratio", INTEGER, PERCENT, 1, 0, 100, "", "", "");

static const struct value_facts facts = {.host_memory_bytes = INT64_C(17179869184),
                                         .host_cpu_count = 8};

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

static void expect_range(const struct knob *knob, const char *from, const char *to, int64_t steps,
                         bool log_scale, const char *canonical)
{
    struct value *values = NULL;
    size_t count = 0;
    struct err err;
    struct text all;
    text_open(&all, &arena);
    err_clear(&err);
    if (!grid_range(knob, from, to, steps, log_scale, &facts, &arena, &values, &count, &err))
        fail_msg("%s; %s", err.text, err.hint);
    for (size_t i = 0; i < count; i++) {
        struct value again = parsed(knob, values[i].asked);
        assert_true(value_equal(knob, &again, &values[i]));
        text_add(&all, i > 0 ? " " : "");
        text_add(&all, value_canonical(knob, &values[i], &arena));
    }
    assert_string_equal(text_done(&all), canonical);
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
    expect_range(&delay, "0", "2ms", 4, false, "0 666.666666667 1333.33333333 2000");
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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_range_log),      cmocka_unit_test(test_range_linear),
        cmocka_unit_test(test_range_rounding), cmocka_unit_test(test_range_duplicates),
        cmocka_unit_test(test_range_errors),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
