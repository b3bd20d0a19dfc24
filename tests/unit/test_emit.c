/*
 * A point as lines to keep: the server's own syntax, the right point, and comments that stay
 * comments whatever the store holds.
 */
#include "sweeper/emit.h"

#include <sqlite3.h>

#include "tests/support/store_fill.h"

static int64_t here;

static void begin(const char *backend)
{
    struct store_sweep sweep = fill_sweep;
    sweep.backend = backend;
    begin_sweep(&sweep);
    here = add_condition(NULL, 0);
}

static int64_t add_settings(const struct store_value *values, size_t count)
{
    int64_t id = 0;
    assert_ok(store_point_put(store, sweep_id,
                              arena_printf(&arena, "%s %zu", values[0].display, count), false, true,
                              values, count, &id, &err));
    return id;
}

static const char *emitted(const char *which)
{
    struct text out;
    text_open(&out, &arena);
    assert_ok(emit_point(store, which, &arena, &out, &err));
    return text_done(&out);
}

static const char *point_text(int64_t point)
{
    return emitted(arena_printf(&arena, "%lld", (long long)point));
}

/* What is left when comments are dropped. */
static const char *lines_of(const char *text, const char *comment)
{
    struct text out;
    text_open(&out, &arena);
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        length += at[length] == '\n';
        if (!text_starts_with(at, comment))
            text_add_bytes(&out, at, length);
        at += length;
    }
    return text_done(&out);
}

static int64_t baseline(void)
{
    return add_point(text_value("work_mem", "baseline"), true);
}

/* ---- lines ---- */

static void postgresql_gets_lines_of_its_file(void **state)
{
    (void)state;
    begin("postgresql");
    const struct store_value values[] = {
        number_value("shared_buffers", "2G", 2147483648.0),
        text_value("synchronous_commit", "remote_apply"),
        {.name = "random_page_cost",
         .asked = "1.1",
         .canonical = "1.1",
         .display = "1.1",
         .has_number = true,
         .number = 1.1},
        {.name = "enable_sort",
         .asked = "no",
         .canonical = "off",
         .display = "off",
         .has_number = true,
         .number = 0},
        text_value("search_path", "it's, \"x\""),
        text_value("work_mem", "baseline"),
    };
    int64_t point = add_settings(values, COUNT_OF(values));
    add_run(baseline(), here, 100);
    add_run(point, here, 150);
    const char *text = emitted("best");
    assert_string_equal(lines_of(text, "#"), "enable_sort = off\n"
                                             "random_page_cost = 1.1\n"
                                             "search_path = 'it''s, \"x\"'\n"
                                             "shared_buffers = 2GB\n"
                                             "synchronous_commit = remote_apply\n");
    assert_true(text_starts_with(
        text, "# sweep \"night\" of here:/etc/postgresql.conf, PostgreSQL 15.18; point 1; 1 "
              "trial; written "));
    assert_non_null(strstr(text, "# throughput_per_s: 150.0 (no interval is claimed), +50.0 % "
                                 "against the baseline; it cannot be told from others; "
                                 "unconfirmed\n"));
}

static void sqlite_gets_statements_that_it_understands(void **state)
{
    (void)state;
    begin("sqlite");
    const struct store_value values[] = {
        number_value("cache_size", "2M", 2097152),
        text_value("journal_mode", "wal"),
        number_value("page_size", "16K", 16384),
        text_value("synchronous", "NORMAL"),
    };
    add_run(add_settings(values, COUNT_OF(values)), here, 100);
    const char *text = emitted("best");
    assert_string_equal(lines_of(text, "--"), "pragma journal_mode = 'delete';\n"
                                              "pragma page_size = 16384;\n"
                                              "vacuum;\n"
                                              "pragma cache_size = -2048;\n"
                                              "pragma journal_mode = 'wal';\n"
                                              "pragma synchronous = 'NORMAL';\n");
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    assert_int_equal(sqlite3_open(arena_printf(&arena, "%s/kept.sqlite", folder), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "select page_size || ' ' || cache_size || ' ' || journal_mode || ' ' || "
                           "synchronous from pragma_page_size, pragma_cache_size, "
                           "pragma_journal_mode, pragma_synchronous",
                           -1, &row, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(row, 0), "16384 -2048 wal 1");
    sqlite3_finalize(row);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void what_is_unset_is_said(void **state)
{
    (void)state;
    begin("postgresql");
    add_run(add_point(text_value("work_mem", "unset"), true), here, 100);
    const char *text = emitted("best");
    assert_non_null(strstr(text, "# work_mem is unset: without a line of its own\n"));
    assert_string_equal(lines_of(text, "#"), "");
}

static void the_baseline_changes_nothing(void **state)
{
    (void)state;
    begin("postgresql");
    add_run(baseline(), here, 100);
    assert_non_null(strstr(emitted("best"), "# the baseline: nothing to change\n"));
    assert_string_equal(lines_of(emitted("best"), "#"), "");
}

/* An extension's knob, or one of a newer server: the sweep file declared its type and unit. */
static void a_knob_of_no_catalogue_is_written_as_declared(void **state)
{
    (void)state;
    static const struct store_swept swept[] = {
        {"ext.cache", "knob", "integer", "bytes", "restart", "", ""},
        {"ext.ratio", "knob", "real", "", "restart", "", ""},
    };
    struct store_sweep sweep = fill_sweep;
    sweep.swept = swept;
    sweep.swept_count = 2;
    begin_sweep(&sweep);
    here = add_condition(NULL, 0);
    const struct store_value values[] = {
        number_value("ext.cache", "64M", 67108864),
        {.name = "ext.ratio",
         .asked = "0.25",
         .canonical = "0.25",
         .display = "0.25",
         .has_number = true,
         .number = 0.25},
    };
    add_run(add_settings(values, 2), here, 100);
    assert_string_equal(lines_of(emitted("best"), "#"), "ext.cache = 64MB\next.ratio = 0.25\n");
}

/* ---- which point ---- */

static void each_condition_has_its_best(void **state)
{
    (void)state;
    struct store_value few = number_value("clients", "1", 1);
    struct store_value many = number_value("clients", "32", 32);
    begin("postgresql");
    int64_t small = add_point(number_value("work_mem", "1M", 1048576), true);
    int64_t large = add_point(number_value("work_mem", "64M", 67108864), true);
    int64_t one = add_condition(&few, 1);
    int64_t all = add_condition(&many, 1);
    add_run(small, one, 200);
    add_run(large, one, 100);
    add_run(small, all, 1000);
    add_run(large, all, 2000);
    const char *text = emitted("best");
    assert_string_equal(lines_of(text, "#"), "work_mem = 1MB\n");
    assert_non_null(strstr(text, "; point 1 under clients=1; 1 trial;"));
    assert_non_null(strstr(text, "# others may want another: under clients=32 the best is point "
                                 "2\n"));
    assert_string_equal(lines_of(point_text(large), "#"), "work_mem = 64MB\n");
}

/* Points that came out the same answer to each of their numbers. */
static void a_merged_point_is_found(void **state)
{
    (void)state;
    struct measured measured = {.effective_key = "work_mem=131072",
                                .metrics = {{"throughput_per_s", 100, "higher"}},
                                .metric_count = 1};
    begin("postgresql");
    int64_t first = add_point(number_value("work_mem", "100K", 102400), true);
    int64_t second = add_point(number_value("work_mem", "128K", 131072), true);
    add_measured(first, here, &measured);
    add_measured(second, here, &measured);
    assert_string_equal(lines_of(point_text(second), "#"), "work_mem = 100kB\n");
}

static void a_point_without_a_rank_says_why_on_one_line(void **state)
{
    (void)state;
    begin("postgresql");
    add_run(baseline(), here, 100);
    int64_t broken = add_point(number_value("work_mem", "1T", 1099511627776.0), true);
    add_failure(broken, here, "no memory\nfsync = off\r\x1b[2J");
    const char *text = point_text(broken);
    assert_non_null(strstr(text, "# it has no rank: no memory fsync = off\\x0d\\x1b[2J\n"));
    assert_string_equal(lines_of(text, "#"), "work_mem = 1TB\n");
}

static void names_cannot_leave_their_comment(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.name = "night\nfsync = off";
    sweep.target_label = "here\nfull_page_writes = off";
    sweep.rank_by = "throughput_per_s";
    begin_sweep(&sweep);
    here = add_condition(NULL, 0);
    add_run(baseline(), here, 100);
    assert_string_equal(lines_of(emitted("best"), "#"), "");
}

static void a_less_durable_point_is_not_the_best(void **state)
{
    (void)state;
    begin("postgresql");
    int64_t loose = add_point(text_value("fsync", "off"), false);
    add_run(loose, here, 500);
    add_run(baseline(), here, 100);
    assert_non_null(strstr(emitted("best"), "# the baseline: nothing to change\n"));
    assert_non_null(strstr(point_text(loose), "# it has no rank: less durable than the baseline"));
}

/* ---- errors ---- */

static void assert_refused(const char *which, enum err_code code)
{
    struct text out;
    text_open(&out, &arena);
    err_clear(&err);
    assert_false(emit_point(store, which, &arena, &out, &err));
    assert_int_equal(err.code, code);
}

static void what_cannot_be_emitted_is_an_error(void **state)
{
    (void)state;
    assert_refused("best", ERR_CODE_not_found);
    begin("postgresql");
    assert_refused("best", ERR_CODE_not_found);
    add_failure(baseline(), here, "no");
    assert_refused("best", ERR_CODE_not_found);
    assert_refused("77", ERR_CODE_not_found);
    assert_refused("bets", ERR_CODE_number);
    begin("oracle");
    add_run(baseline(), here, 100);
    assert_refused("best", ERR_CODE_unsupported);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    begin("postgresql");
    add_run(add_point(number_value("work_mem", "1M", 1048576), true), here, 100);
    add_run(add_point(text_value("work_mem", "unset"), true), here, 90);
    const char *const which[] = {"1", "2"};
    for (size_t i = 0; i < COUNT_OF(which); i++) {
        bool was_enough = false;
        for (size_t limit = 1024; !was_enough; limit += 512) {
            struct arena small;
            struct text out;
            arena_open(&small, limit);
            text_open(&out, &small);
            was_enough = emit_point(store, which[i], &small, &out, &err);
            if (!was_enough)
                assert_int_equal(err.code, ERR_CODE_memory);
            arena_close(&small);
            err_clear(&err);
        }
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(postgresql_gets_lines_of_its_file),
        CASE(sqlite_gets_statements_that_it_understands),
        CASE(what_is_unset_is_said),
        CASE(the_baseline_changes_nothing),
        CASE(a_knob_of_no_catalogue_is_written_as_declared),
        CASE(each_condition_has_its_best),
        CASE(a_merged_point_is_found),
        CASE(a_point_without_a_rank_says_why_on_one_line),
        CASE(names_cannot_leave_their_comment),
        CASE(a_less_durable_point_is_not_the_best),
        CASE(what_cannot_be_emitted_is_an_error),
        CASE(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
