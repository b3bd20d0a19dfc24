/*
 * The source of a replay: lines, columns and their types, points of several runs, mistakes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backends/replay/table.h"
#include "sweeper/base/text.h"

static struct arena arena;
static struct err err;
static struct table table;

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, 64u << 20);
    err_clear(&err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static bool read_table(const struct replay_spec *spec, const char *text)
{
    err_clear(&err);
    return table_read(spec, "points.csv", (struct bytes){.data = text, .size = strlen(text)},
                      &arena, &table, &err);
}

static void must_read(const struct replay_spec *spec, const char *text)
{
    if (!read_table(spec, text))
        fail_msg("%s: %s", err.origin, err.text);
}

static const struct replay_spec tps = {.metric = "tps", .baseline_row = 1};

static const struct table_row *find(const uint32_t *choices)
{
    return table_row_find(&table, choices);
}

/* ---- lines ---- */

static void reads_quotes_and_line_ends(void **state)
{
    (void)state;
    must_read(&tps, "\"name, with comma\",mode,tps\r\n\r\n8M,\"a \"\"b\"\"\",1\r\n 16M , c d ,2");
    assert_int_equal(table.column_count, 2);
    assert_string_equal(table.columns[0].knob.name, "name, with comma");
    assert_int_equal(table.row_count, 2);
    assert_string_equal(table.columns[1].texts[0], "a \"b\"");
    assert_string_equal(table.columns[1].texts[1], "c d");
    assert_string_equal(table.columns[0].texts[1], "16M");
}

static void names_the_line_of_a_mistake(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err_code code;
        const char *origin; /* "" any */
    } cases[] = {
        {"a,tps\n1,\"2\n", ERR_CODE_config_syntax, "points.csv:3"},
        {"a,tps\n1,2\n1,2,3\n", ERR_CODE_config_syntax, "points.csv:3"},
        {"a,tps\n\n1,x\n", ERR_CODE_config_syntax, "points.csv:3"},
        {"a,tps\n1,0\n", ERR_CODE_config_syntax, "points.csv:2"},
        {"a,tps\n1,\n", ERR_CODE_config_syntax, "points.csv:2"},
        {"a,a,tps\n1,1,1\n", ERR_CODE_config_syntax, "points.csv:1"},
        {"a,,tps\n1,1,1\n", ERR_CODE_config_syntax, "points.csv:1"},
        {"tps\n1\n", ERR_CODE_config_syntax, "points.csv:1"},
        {"a,tps\n", ERR_CODE_config_syntax, "points.csv:1"},
        {"a,rate\n1,1\n", ERR_CODE_not_found, ""},
        {"a,tps\nx|y,1\n", ERR_CODE_config_syntax, ""},
        {"a,tps\n\"x\"y,1\n", ERR_CODE_config_syntax, "points.csv:2"},
        {"", ERR_CODE_not_found, ""},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (read_table(&tps, cases[i].text))
            fail_msg("case %zu was read", i);
        assert_int_equal(err.code, cases[i].code);
        if (cases[i].origin[0] != '\0')
            assert_string_equal(err.origin, cases[i].origin);
    }
    static const struct replay_spec late = {.metric = "tps", .baseline_row = 3};
    assert_false(read_table(&late, "a,tps\n1,2\n2,2\n"));
    assert_int_equal(err.code, ERR_CODE_not_found);
    static const struct replay_spec nameless = {.baseline_row = 1};
    assert_false(read_table(&nameless, "a,tps\n1,2\n"));
}

/* ---- columns ---- */

static void types_follow_from_the_values(void **state)
{
    (void)state;
    must_read(&tps, "whole,size,time,real,word,tps\n"
                    "1,8M,90s,0.5,on,1\n-2,512,1500ms,1e5,x y,1\n3,1G,0s,2,unset,1\n");
    const struct table_column *columns = table.columns;
    assert_int_equal(columns[0].knob.type, KNOB_INTEGER);
    assert_int_equal(columns[0].knob.unit, UNIT_NONE);
    assert_string_equal(columns[0].knob.choices, "1|-2|3");
    assert_int_equal(columns[1].knob.unit, UNIT_BYTES);
    assert_string_equal(columns[1].knob.choices, "8388608|512|1073741824");
    assert_int_equal(columns[2].knob.unit, UNIT_US);
    assert_int_equal(columns[3].knob.type, KNOB_REAL);
    assert_int_equal(columns[4].knob.type, KNOB_ENUM);
    assert_string_equal(columns[4].knob.choices, "on|x y");
    assert_int_equal(columns[4].values[2].kind, VALUE_UNSET);
}

static void values_of_others_are_refused(void **state)
{
    (void)state;
    must_read(&tps, "size,real,word,tps\n8M,0.5,on,1\n16M,1,off,1\n");
    struct value value;
    const struct table_column *columns = table.columns;
    assert_true(value_parse(&columns[0].knob, "16384K", NULL, &arena, &value, &err));
    assert_int_equal(table_choice_find(&columns[0], &value), 1);
    assert_true(value_parse(&columns[1].knob, "1.0", NULL, &arena, &value, &err));
    assert_int_equal(table_choice_find(&columns[1], &value), 1);
    assert_false(value_parse(&columns[0].knob, "32M", NULL, &arena, &value, &err));
    assert_false(value_parse(&columns[1].knob, "0.7", NULL, &arena, &value, &err));
    assert_false(value_parse(&columns[2].knob, "maybe", NULL, &arena, &value, &err));
    assert_int_equal(err.code, ERR_CODE_knob_value);
}

static void roles_are_no_settings(void **state)
{
    (void)state;
    static const char *const ignored[] = {"comment", "P50", NULL};
    const struct replay_spec spec = {.metric = "TPS",
                                     .deviation = "rsd",
                                     .failure = "fail",
                                     .ignore = ignored,
                                     .baseline_row = 2};
    must_read(&spec, "p50,a,comment,tps,rsd,fail\n1,x,\"\",5,0.25,\n2,y,k,6,,\n3,z,,,,start\n");
    assert_int_equal(table.column_count, 1);
    assert_int_equal(table.baseline, 1);
    assert_true(table.rows[0].deviation == 0.25);
    assert_true(isnan(table.rows[1].deviation));
    assert_true(isnan(table.rows[2].value));
    assert_string_equal(table.rows[2].failure, "start");
    static const struct replay_spec missing = {
        .metric = "tps", .deviation = "rdd", .baseline_row = 1};
    assert_false(read_table(&missing, "a,tps,rsd\n1,1,1\n"));
    assert_string_equal(err.hint, "did you mean \"rsd\"?");
}

/* ---- points ---- */

static void runs_of_a_point_are_one(void **state)
{
    (void)state;
    static const struct replay_spec spec = {.metric = "tps", .failure = "fail", .baseline_row = 4};
    must_read(&spec, "a,b,tps,fail\n1K,x,90,\n1024,x,110,\n2K,x,,measure\n2K,x,50,\n1K,y,10,\n");
    assert_int_equal(table.row_count, 3);
    uint32_t choices[2] = {0, 0};
    assert_true(fabs(find(choices)->value - sqrt(90.0 * 110)) < 1e-9);
    assert_int_equal(find(choices)->run_count, 2);
    choices[0] = 2;
    assert_true(find(choices)->value == 50);
    assert_string_equal(find(choices)->failure, "");
    assert_ptr_equal(find(choices), &table.rows[table.baseline]);
    choices[1] = 1;
    assert_null(find(choices));
    /* one degree of freedom */
    assert_true(fabs(table.spread - log(110.0 / 90) / sqrt(2)) < 1e-12);
}

static void many_points_are_found(void **state)
{
    (void)state;
    enum { SIDE = 40 };
    struct text text;
    text_open(&text, &arena);
    text_add(&text, "a,b,c,tps\n");
    for (int i = 0; i < SIDE * SIDE * 2; i++)
        text_addf(&text, "%d,%d,%d,%d\n", i / 2 / SIDE, i / 2 % SIDE, i % 2, i + 1);
    must_read(&tps, text_done(&text));
    assert_int_equal(table.row_count, SIDE * SIDE * 2);
    for (uint32_t i = 0; i < SIDE * SIDE * 2; i++) {
        const uint32_t choices[3] = {i / 2 / SIDE, i / 2 % SIDE, i % 2};
        assert_true(find(choices)->value == i + 1);
    }
    assert_true(isnan(table.spread));
}

static void a_baseline_must_be_measured(void **state)
{
    (void)state;
    static const struct replay_spec spec = {.metric = "tps", .failure = "fail", .baseline_row = 1};
    assert_false(read_table(&spec, "a,tps,fail\n1,,start\n2,2,\n"));
    assert_int_equal(err.code, ERR_CODE_config_syntax);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_quotes_and_line_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_the_line_of_a_mistake, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types_follow_from_the_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_of_others_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(roles_are_no_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_of_a_point_are_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_points_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_baseline_must_be_measured, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("replay_table", tests, NULL, NULL);
}
