/*
 * The catalogues: every row of every system is consistent, and rows that people rely on say what
 * the manuals say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "knobs/catalogue.h"
#include "knobs/value.h"
#include "sweeper/base/text.h"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 16u << 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static void each_knob(void (*check)(const struct knob *knob))
{
    const char *system = NULL;
    for (size_t i = 0; (system = catalogue_system(i)) != NULL; i++) {
        size_t count = 0;
        const struct knob *knobs = catalogue_knobs(system, &count);
        assert_non_null(knobs);
        for (size_t k = 0; k < count; k++)
            check(&knobs[k]);
    }
}

static const struct knob *knob_of(const char *system, const char *name)
{
    size_t count = 0;
    const struct knob *knobs = catalogue_knobs(system, &count);
    const struct knob *knob = knob_find(knobs, count, name);
    if (knob == NULL)
        fail_msg("%s has no %s", system, name);
    return knob;
}

static struct value parsed(const struct knob *knob, const char *text)
{
    struct value value;
    struct err err;
    err_clear(&err);
    if (!value_parse(knob, text, NULL, &arena, &value, &err))
        fail_msg("%s; %s", err.text, err.hint);
    return value;
}

static void check_fields(const struct knob *knob)
{
    const char *const filled[] = {knob->name, knob->sentence, knob->source};
    const char *const present[] = {knob->specials, knob->choices, knob->durability, knob->versions,
                                   knob->danger};
    for (size_t i = 0; i < COUNT_OF(filled); i++)
        assert_true(filled[i] != NULL && filled[i][0] != '\0');
    for (size_t i = 0; i < COUNT_OF(present); i++)
        assert_non_null(present[i]);
    assert_false(text_ends_with(knob->sentence, "."));
    assert_false(text_ends_with(knob->danger, "."));
    assert_int_not_equal(knob->bare, 0);
}

static void check_numbers(const struct knob *knob)
{
    bool number = knob->type == KNOB_INTEGER || knob->type == KNOB_REAL;
    if (!(number ? knob->min < knob->max : isinf(knob->min) && isinf(knob->max)))
        fail_msg("%s has wrong bounds", knob->name);
    if (!number)
        assert_true(knob->unit == UNIT_NONE && knob->specials[0] == '\0' && knob->bare == 1);
    if (knob->unit == UNIT_NONE || knob->unit == UNIT_PERCENT)
        assert_int_equal(knob->bare, 1);
    if (knob->memory == KNOB_MEMORY_ONCE)
        assert_int_equal(knob->unit, UNIT_BYTES);
    if (knob->type == KNOB_ENUM)
        assert_true(knob->choices[0] != '\0');
}

/* Bounds that fit 64 bits are values themselves. */
static void check_bounds_parse(const struct knob *knob)
{
    const double bounds[] = {knob->min, knob->max};
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        if (isinf(bounds[i]) || knob->type != KNOB_INTEGER)
            continue;
        struct value bound = {.kind = VALUE_INTEGER, .integer = (int64_t)bounds[i]};
        const char *text = value_display(knob, &bound, &arena);
        assert_non_null(text);
        struct value again = parsed(knob, text);
        assert_true(value_equal(knob, &bound, &again));
    }
}

static void check_list_parses(const struct knob *knob, const char *list)
{
    struct bytes rest = knob_list(list);
    struct bytes group;
    while (knob_list_next(&rest, '|', &group)) {
        struct bytes piece;
        while (knob_list_next(&group, ',', &piece)) {
            char *text = arena_strndup(&arena, piece.data, piece.size);
            assert_non_null(text);
            if (strcmp(text, "*") != 0)
                parsed(knob, text);
        }
    }
}

/* Every word of a row is a value of its knob. */
static void check_lists(const struct knob *knob)
{
    check_list_parses(knob, knob->specials);
    check_list_parses(knob, knob->choices);
    check_list_parses(knob, knob->durability);
}

/* An enum with a durability order ranks each of its choices, so that none is judged by default. */
static void check_durability(const struct knob *knob)
{
    struct bytes rest = knob_list(knob->choices);
    struct bytes choice;
    int last = 0;
    if (knob->durability[0] == '\0' || knob->type != KNOB_ENUM)
        return;
    for (const char *byte = knob->durability; *byte != '\0'; byte++)
        last += *byte == '|' ? 1 : 0;
    while (knob_list_next(&rest, '|', &choice)) {
        struct bytes spelling;
        assert_true(knob_list_next(&choice, ',', &spelling));
        char *text = arena_strndup(&arena, spelling.data, spelling.size);
        assert_non_null(text);
        struct value value = parsed(knob, text);
        assert_in_range(value_durability(knob, &value), 0, last);
    }
}

static void test_rows(void **state)
{
    (void)state;
    each_knob(check_fields);
    each_knob(check_numbers);
    each_knob(check_bounds_parse);
    each_knob(check_lists);
    each_knob(check_durability);
}

static void test_names_are_unique(void **state)
{
    (void)state;
    const char *system = NULL;
    for (size_t i = 0; (system = catalogue_system(i)) != NULL; i++) {
        size_t count = 0;
        const struct knob *knobs = catalogue_knobs(system, &count);
        for (size_t k = 0; k < count; k++)
            assert_ptr_equal(knob_find(knobs, count, knobs[k].name), &knobs[k]);
    }
}

static void test_systems(void **state)
{
    (void)state;
    size_t count = 1;
    assert_null(catalogue_knobs("oracle", &count));
    assert_int_equal(count, 0);
    assert_non_null(catalogue_knobs("postgresql", &count));
    assert_true(count >= 40);
    assert_non_null(catalogue_knobs("sqlite", &count));
    assert_true(count >= 12);
    assert_null(catalogue_system(1000));
}

static void test_look_up(void **state)
{
    (void)state;
    size_t count = 0;
    const struct knob *knobs = catalogue_knobs("postgresql", &count);
    assert_string_equal(knob_find(knobs, count, "Shared_Buffers")->name, "shared_buffers");
    assert_null(knob_find(knobs, count, "shared_buffer"));
    assert_string_equal(knob_nearest(knobs, count, "shared_bufers"), "shared_buffers");
    assert_string_equal(knob_nearest(knobs, count, "wrok_mem"), "work_mem");
    assert_null(knob_nearest(knobs, count, "innodb_buffer_pool_size"));
    assert_null(knob_nearest(knobs, 0, "work_mem"));
    assert_string_equal(knob_type_name(KNOB_ENUM), "enum");
    assert_string_equal(knob_type_name(KNOB_INTEGER), "integer");
    assert_string_equal(knob_apply_name(KNOB_REBUILD), "rebuild");
    assert_string_equal(knob_apply_name(KNOB_RELOAD), "reload");
}

static void test_lists(void **state)
{
    (void)state;
    struct bytes piece;
    struct bytes rest = knob_list("");
    assert_false(knob_list_next(&rest, '|', &piece));
    rest = knob_list("a||bc");
    assert_true(knob_list_next(&rest, '|', &piece) && piece.size == 1);
    assert_true(knob_list_next(&rest, '|', &piece) && piece.size == 0);
    assert_true(knob_list_next(&rest, '|', &piece) && piece.size == 2);
    assert_false(knob_list_next(&rest, '|', &piece));
}

static void expect(const char *system, const char *name, const char *text, const char *canonical)
{
    const struct knob *knob = knob_of(system, name);
    struct value value = parsed(knob, text);
    assert_string_equal(value_canonical(knob, &value, &arena), canonical);
}

static void test_postgresql(void **state)
{
    (void)state;
    expect("postgresql", "shared_buffers", "16384", "134217728");
    expect("postgresql", "shared_buffers", "128MB", "134217728");
    expect("postgresql", "wal_writer_delay", "200", "200000");
    expect("postgresql", "checkpoint_timeout", "300", "300000000");
    expect("postgresql", "commit_delay", "10", "10");
    expect("postgresql", "vacuum_cost_delay", "0.5", "500");
    expect("postgresql", "wal_buffers", "-1", "-1");
    expect("postgresql", "max_wal_size", "1024", "1073741824");
    expect("postgresql", "synchronous_commit", "TRUE", "on");
    expect("postgresql", "huge_pages", "try", "try");
    assert_int_equal(knob_of("postgresql", "shared_buffers")->apply, KNOB_RESTART);
    assert_int_equal(knob_of("postgresql", "shared_buffers")->memory, KNOB_MEMORY_ONCE);
    assert_int_equal(knob_of("postgresql", "work_mem")->memory, KNOB_MEMORY_NONE);
    assert_int_equal(knob_of("postgresql", "work_mem")->apply, KNOB_RELOAD);
    static const char *const dangerous[] = {"archive_command", "shared_preload_libraries",
                                            "data_directory", "listen_addresses",
                                            "zero_damaged_pages"};
    for (size_t i = 0; i < COUNT_OF(dangerous); i++)
        assert_true(knob_of("postgresql", dangerous[i])->danger[0] != '\0');
    assert_string_equal(knob_of("postgresql", "fsync")->danger, "");
}

/* What the pragmas answer is a spelling of what was asked. */
static void test_sqlite(void **state)
{
    (void)state;
    expect("sqlite", "synchronous", "2", "FULL");
    expect("sqlite", "synchronous", "normal", "NORMAL");
    expect("sqlite", "auto_vacuum", "2", "incremental");
    expect("sqlite", "temp_store", "MEMORY", "memory");
    expect("sqlite", "journal_mode", "WAL", "wal");
    expect("sqlite", "secure_delete", "1", "on");
    expect("sqlite", "secure_delete", "fast", "fast");
    expect("sqlite", "cache_size", "64M", "67108864");
    expect("sqlite", "cache_size", "-2000", "2048000");
    expect("sqlite", "page_size", "4K", "4096");
    expect("sqlite", "locking_mode", "EXCLUSIVE", "exclusive");
    assert_int_equal(knob_of("sqlite", "page_size")->apply, KNOB_REBUILD);
    assert_int_equal(knob_of("sqlite", "auto_vacuum")->apply, KNOB_REBUILD);
    assert_int_equal(knob_of("sqlite", "journal_mode")->apply, KNOB_SESSION);
}

static void test_mysql(void **state)
{
    (void)state;
    expect("mysql", "innodb_buffer_pool_size", "8G", "8589934592");
    expect("mysql", "innodb_lock_wait_timeout", "50", "50000000");
    expect("mysql", "long_query_time", "0.25", "250000");
    expect("mysql", "innodb_old_blocks_time", "1000", "1000000");
    /* Out of the server's range, which it clamps to. */
    expect("mysql", "max_connections", "5", "5");
    expect("mysql", "max_connections", "999999", "999999");
    expect("mysql", "innodb_flush_method", "o_direct", "O_DIRECT");
    assert_int_equal(knob_of("mysql", "innodb_buffer_pool_size")->memory, KNOB_MEMORY_ONCE);
    assert_int_equal(knob_of("mysql", "innodb_log_buffer_size")->memory, KNOB_MEMORY_ONCE);
    assert_true(knob_of("mysql", "innodb_page_size")->danger[0] != '\0');
    static const char *const commits[] = {"1", "2", "0"};
    const struct knob *commit = knob_of("mysql", "innodb_flush_log_at_trx_commit");
    for (int i = 0; i < 3; i++) {
        struct value value = parsed(commit, commits[i]);
        assert_int_equal(value_durability(commit, &value), i);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),    cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_systems), cmocka_unit_test(test_look_up),
        cmocka_unit_test(test_lists),   cmocka_unit_test(test_postgresql),
        cmocka_unit_test(test_sqlite),  cmocka_unit_test(test_mysql),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
