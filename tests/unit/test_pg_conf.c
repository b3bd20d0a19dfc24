/*
 * postgresql.conf: small files, one property each. Whatever is not the asked value's bytes stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/postgresql/conf.h"
#include "backends/postgresql/placeholder.h"

static struct arena arena;

#define ROW(variable, name_, type_, unit_, bare_, specials_)                                       \
    static const struct knob variable = {.name = (name_),                                          \
                                         .type = KNOB_##type_,                                     \
                                         .unit = UNIT_##unit_,                                     \
                                         .bare = (bare_),                                          \
                                         .min = -INFINITY,                                         \
                                         .max = INFINITY,                                          \
                                         .specials = (specials_),                                  \
                                         .choices = ""}

ROW(work_mem, "work_mem", INTEGER, BYTES, 1024, "");
ROW(wal_buffers, "wal_buffers", INTEGER, BYTES, 8192, "-1");
ROW(timeout, "checkpoint_timeout", INTEGER, US, 1000000, "");
ROW(delay, "vacuum_cost_delay", REAL, US, 1000, "-1");
ROW(cost, "random_page_cost", REAL, NONE, 1, "");
ROW(connections, "max_connections", INTEGER, NONE, 1, "");
ROW(fsync_knob, "fsync", BOOL, NONE, 1, "");
ROW(commit_knob, "synchronous_commit", ENUM, NONE, 1, "");
ROW(text_knob, "search_path", TEXT, NONE, 1, "");
ROW(dotted, "auto_explain.log_min_duration", INTEGER, US, 1000, "-1");
ROW(bad_name, "work_mem = 1\nfsync", BOOL, NONE, 1, "");

static struct setting integer(const struct knob *knob, int64_t number)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_INTEGER, .integer = number}};
}

static struct setting real(const struct knob *knob, double number)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_REAL, .real = number}};
}

static struct setting word(const struct knob *knob, const char *text)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_TEXT, .text = text}};
}

static struct setting unset(const struct knob *knob)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_UNSET}};
}

static struct setting baseline(const struct knob *knob)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_BASELINE}};
}

static struct bytes render(struct bytes file, const struct setting *settings, size_t count)
{
    struct err err;
    struct bytes out = {0};
    err_clear(&err);
    if (!conf_render(file, "/etc/postgresql.conf", settings, count, &arena, &out, &err)) {
        fail_msg("%s: %s", err.origin, err.text);
    }
    return out;
}

static void expect(const char *file, const struct setting *settings, size_t count,
                   const char *wanted)
{
    struct bytes once = render((struct bytes){.data = file, .size = strlen(file)}, settings, count);
    assert_string_equal(once.data, wanted);
    assert_int_equal(once.size, strlen(wanted));
    /* Rendering what was rendered changes nothing more. */
    struct bytes twice = render(once, settings, count);
    assert_int_equal(twice.size, once.size);
    assert_memory_equal(twice.data, once.data, once.size);
}

static void expect_one(const char *file, struct setting setting, const char *wanted)
{
    expect(file, &setting, 1, wanted);
}

static void expect_error(struct bytes file, struct setting setting, enum err_code code,
                         const char *origin)
{
    struct err err;
    struct bytes out = {0};
    err_clear(&err);
    assert_false(conf_render(file, "/etc/postgresql.conf", &setting, 1, &arena, &out, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.origin, origin);
}

static void expect_bad_line(const char *file, const char *origin)
{
    expect_error((struct bytes){.data = file, .size = strlen(file)}, integer(&work_mem, 1024),
                 ERR_CODE_config_syntax, origin);
}

static void test_nothing_asked(void **state)
{
    (void)state;
    static const char file[] = "a b c ' not even valid\0\xff\r\n";
    struct bytes bytes = {.data = file, .size = sizeof file - 1};
    struct bytes out = render(bytes, NULL, 0);
    assert_int_equal(out.size, bytes.size);
    assert_memory_equal(out.data, bytes.data, bytes.size);
    expect_one("work_mem = 4MB # mine\n", baseline(&work_mem), "work_mem = 4MB # mine\n");
    expect_one("work_mem = 4MB", baseline(&work_mem), "work_mem = 4MB");
}

static void test_value_bytes_only(void **state)
{
    (void)state;
    expect_one("# head\nwork_mem = 4MB\t# tail\nfsync = on\n", integer(&work_mem, 65536),
               "# head\nwork_mem = 64kB\t# tail\nfsync = on\n");
    expect_one("work_mem=4MB#tail\n", integer(&work_mem, 65536), "work_mem=64kB#tail\n");
    expect_one("\t work_mem \t=\t 4MB \t\n", integer(&work_mem, 65536),
               "\t work_mem \t=\t 64kB \t\n");
}

static void test_equals_sign_is_optional(void **state)
{
    (void)state;
    expect_one("work_mem 4MB\n", integer(&work_mem, 65536), "work_mem 64kB\n");
    expect_one("work_mem '4MB'\n", integer(&work_mem, 65536), "work_mem '64kB'\n");
    expect_one("work_mem'4MB'\n", integer(&work_mem, 65536), "work_mem'64kB'\n");
}

static void test_quotes_stay(void **state)
{
    (void)state;
    expect_one("work_mem = '4MB'\n", integer(&work_mem, 65536), "work_mem = '64kB'\n");
    expect_one("fsync = 'on' # x\n", integer(&fsync_knob, 0), "fsync = 'off' # x\n");
    expect_one("work_mem = '# no comment'\n", integer(&work_mem, 65536), "work_mem = '64kB'\n");
}

static void test_quotes_come_where_needed(void **state)
{
    (void)state;
    expect_one("search_path = public\n", word(&text_knob, "a, b"), "search_path = 'a, b'\n");
    expect_one("search_path = public\n", word(&text_knob, ""), "search_path = ''\n");
    expect_one("search_path = public\n", word(&text_knob, "it's \\ here"),
               "search_path = 'it''s \\\\ here'\n");
    expect_one("vacuum_cost_delay = 2\n", real(&delay, 1.5), "vacuum_cost_delay = '1.5us'\n");
    expect_one("random_page_cost = 4\n", real(&cost, 1e-7), "random_page_cost = '1e-07'\n");
}

static void test_escaped_quotes_are_read(void **state)
{
    (void)state;
    expect_one("search_path = 'a''b' # c\n", word(&text_knob, "x"), "search_path = 'x' # c\n");
    expect_one("search_path = 'a\\'b' # c\n", word(&text_knob, "x"), "search_path = 'x' # c\n");
    expect_one("search_path = 'a\\\\' # 'c'\n", word(&text_knob, "x"), "search_path = 'x' # 'c'\n");
}

static void test_last_one_wins(void **state)
{
    (void)state;
    expect_one("work_mem = 1MB\nfsync = on\nwork_mem = 2MB\n", integer(&work_mem, 65536),
               "work_mem = 1MB\nfsync = on\nwork_mem = 64kB\n");
    expect_one("work_mem = 1MB\nWORK_MEM = 2MB\n#work_mem = 3MB\n", integer(&work_mem, 65536),
               "work_mem = 1MB\nWORK_MEM = 64kB\n#work_mem = 3MB\n");
}

static void test_names_without_case(void **state)
{
    (void)state;
    expect_one("Work_Mem = 1MB\n", integer(&work_mem, 65536), "Work_Mem = 64kB\n");
}

static void test_similar_names_are_others(void **state)
{
    (void)state;
    expect_one("maintenance_work_mem = 1MB\nwork_mem_x = 2\n", integer(&work_mem, 65536),
               "maintenance_work_mem = 1MB\nwork_mem_x = 2\nwork_mem = 64kB\n");
}

static void test_comments_are_untouched(void **state)
{
    (void)state;
    expect_one("#work_mem = 4MB\t\t\t# min 64kB\n", integer(&work_mem, 65536),
               "#work_mem = 4MB\t\t\t# min 64kB\nwork_mem = 64kB\n");
    expect_one("  # work_mem = 4MB\n", integer(&work_mem, 65536),
               "  # work_mem = 4MB\nwork_mem = 64kB\n");
}

static void test_absent_is_appended(void **state)
{
    (void)state;
    expect_one("fsync = on\n", integer(&work_mem, 65536), "fsync = on\nwork_mem = 64kB\n");
    expect_one("", integer(&work_mem, 65536), "work_mem = 64kB\n");
}

static void test_final_newline_is_added_before_appending(void **state)
{
    (void)state;
    expect_one("fsync = on", integer(&work_mem, 65536), "fsync = on\nwork_mem = 64kB\n");
    expect_one("include_dir 'conf.d'", integer(&work_mem, 65536),
               "include_dir 'conf.d'\nwork_mem = 64kB\n");
    expect_one("fsync = on", integer(&fsync_knob, 0), "fsync = off");
}

static void test_appended_behind_includes(void **state)
{
    (void)state;
    static const char file[] = "include_dir = 'conf.d'\ninclude_if_exists 'x.conf'\ninclude a.b\n";
    char wanted[160];
    snprintf(wanted, sizeof wanted, "%swork_mem = 64kB\n", file);
    expect_one(file, integer(&work_mem, 65536), wanted);
}

static void test_carriage_returns_stay(void **state)
{
    (void)state;
    expect_one("work_mem = 4MB\r\nfsync = on\r\n", integer(&work_mem, 65536),
               "work_mem = 64kB\r\nfsync = on\r\n");
    expect_one("fsync = on\r\n", integer(&work_mem, 65536), "fsync = on\r\nwork_mem = 64kB\r\n");
    expect_one("a = 1\r\nfsync = on", integer(&work_mem, 65536),
               "a = 1\r\nfsync = on\r\nwork_mem = 64kB\r\n");
    expect_one("a = 1\r\nwork_mem = 1\r\nb = 2\r\n", unset(&work_mem), "a = 1\r\nb = 2\r\n");
}

static void test_unset_deletes_every_line(void **state)
{
    (void)state;
    expect_one("a = 1\nwork_mem = 1MB # one\n#work_mem = 3MB\nWORK_MEM 2MB\nb = 2",
               unset(&work_mem), "a = 1\n#work_mem = 3MB\nb = 2");
    expect_one("a = 1\nwork_mem = 1MB", unset(&work_mem), "a = 1\n");
    expect_one("work_mem = 1MB\n", unset(&work_mem), "");
    expect_one("a = 1", unset(&work_mem), "a = 1");
}

static void test_several_at_once(void **state)
{
    (void)state;
    const struct setting settings[] = {integer(&fsync_knob, 0), integer(&timeout, 90000000),
                                       unset(&commit_knob), integer(&work_mem, 1 << 20),
                                       baseline(&cost)};
    expect("random_page_cost = 4\nsynchronous_commit = off\nwork_mem = '4MB'\nfsync = on\n",
           settings, COUNT_OF(settings),
           "random_page_cost = 4\nwork_mem = '1MB'\nfsync = off\ncheckpoint_timeout = 90s\n");
}

static void test_sizes(void **state)
{
    (void)state;
    expect_one("", integer(&work_mem, INT64_C(8) << 30), "work_mem = 8GB\n");
    expect_one("", integer(&work_mem, INT64_C(3) << 40), "work_mem = 3TB\n");
    expect_one("", integer(&work_mem, 1536 << 20), "work_mem = 1536MB\n");
    expect_one("", integer(&work_mem, 1500), "work_mem = 1500B\n");
    expect_one("", integer(&work_mem, 0), "work_mem = 0\n");
    expect_one("", integer(&wal_buffers, -1), "wal_buffers = -1\n");
}

static void test_durations(void **state)
{
    (void)state;
    expect_one("", integer(&timeout, INT64_C(86400000000)), "checkpoint_timeout = 1d\n");
    expect_one("", integer(&timeout, 90000000), "checkpoint_timeout = 90s\n");
    expect_one("", integer(&timeout, 300000000), "checkpoint_timeout = 5min\n");
    expect_one("", integer(&timeout, 1500), "checkpoint_timeout = 1500us\n");
    expect_one("", real(&delay, 2500), "vacuum_cost_delay = 2500us\n");
    expect_one("", real(&delay, 2000), "vacuum_cost_delay = 2ms\n");
    expect_one("", real(&delay, -1), "vacuum_cost_delay = -1\n");
}

static void test_plain_numbers_and_words(void **state)
{
    (void)state;
    expect_one("", integer(&connections, 100), "max_connections = 100\n");
    expect_one("", real(&cost, 1.1), "random_page_cost = 1.1\n");
    expect_one("", real(&cost, 4), "random_page_cost = 4\n");
    expect_one("", integer(&fsync_knob, 1), "fsync = on\n");
    expect_one("", word(&commit_knob, "remote_apply"), "synchronous_commit = remote_apply\n");
    /* A qualified name to the server's scanner, not a word. */
    expect_one("", word(&text_knob, "pg_catalog.english"), "search_path = 'pg_catalog.english'\n");
    expect_one("search_path = x\n", word(&text_knob, "server.crt"), "search_path = 'server.crt'\n");
}

static void test_dotted_names(void **state)
{
    (void)state;
    expect_one("auto_explain.log_min_duration = 5\n", integer(&dotted, 10000),
               "auto_explain.log_min_duration = 10ms\n");
    expect_one("my.custom = 'x'\n", integer(&dotted, -1),
               "my.custom = 'x'\nauto_explain.log_min_duration = -1\n");
}

static void test_below_zero_is_refused(void **state)
{
    (void)state;
    expect_error((struct bytes){.data = "", .size = 0}, integer(&work_mem, -5), ERR_CODE_knob_value,
                 "");
}

static void test_control_characters_are_refused(void **state)
{
    (void)state;
    expect_error((struct bytes){.data = "", .size = 0}, word(&text_knob, "a\nfsync = off"),
                 ERR_CODE_knob_value, "");
}

static void test_names_cannot_break_out(void **state)
{
    (void)state;
    expect_error((struct bytes){.data = "", .size = 0}, integer(&bad_name, 0), ERR_CODE_knob_value,
                 "");
}

static void test_bad_lines_are_named(void **state)
{
    (void)state;
    expect_bad_line("a = 1\nb = 'open\n", "/etc/postgresql.conf:2");
    expect_bad_line("a = 1\n\n= 5\n", "/etc/postgresql.conf:3");
    expect_bad_line("work_mem\n", "/etc/postgresql.conf:1");
    expect_bad_line("work_mem =\n", "/etc/postgresql.conf:1");
    expect_bad_line("work_mem = # 5\n", "/etc/postgresql.conf:1");
    expect_bad_line("work_mem = 16 MB\n", "/etc/postgresql.conf:1");
    expect_bad_line("a = 'x'y\n", "/etc/postgresql.conf:1");
    expect_bad_line("1a = 5\n", "/etc/postgresql.conf:1");
    expect_bad_line("a. = 5\n", "/etc/postgresql.conf:1");
}

static void test_byte_order_mark_is_named(void **state)
{
    (void)state;
    expect_bad_line("\xef\xbb\xbf# head\n", "/etc/postgresql.conf:1");
    expect_bad_line("\xef\xbb\xbf"
                    "a = 1\n",
                    "/etc/postgresql.conf:1");
}

static void test_nul_is_named(void **state)
{
    (void)state;
    expect_error((struct bytes){.data = "a = 1\nb\0 = 2\n", .size = 13}, integer(&work_mem, 1024),
                 ERR_CODE_config_syntax, "/etc/postgresql.conf:2");
}

static void test_high_bytes_pass(void **state)
{
    (void)state;
    expect_one("# gr\xc3\xbc\xc3\x9f"
               "e \xff\nsearch_path = '\xc3\xa4' # \x80\n",
               integer(&work_mem, 65536),
               "# gr\xc3\xbc\xc3\x9f"
               "e \xff\nsearch_path = '\xc3\xa4' # \x80\nwork_mem = 64kB\n");
}

static void test_blank_lines_pass(void **state)
{
    (void)state;
    expect_one("\n\n \t\r\n\nwork_mem = 1MB\n\n", integer(&work_mem, 65536),
               "\n\n \t\r\n\nwork_mem = 64kB\n\n");
}

static void test_memory_ends(void **state)
{
    (void)state;
    struct arena small;
    struct err err;
    struct bytes out;
    struct setting setting = integer(&work_mem, 65536);
    static const char file[] = "work_mem = 1MB\nfsync = on\n";
    for (size_t limit = 1; limit < 4096; limit *= 2) {
        arena_open(&small, limit);
        err_clear(&err);
        if (!conf_render((struct bytes){.data = file, .size = sizeof file - 1}, NULL, &setting, 1,
                         &small, &out, &err)) {
            assert_int_equal(err.code, ERR_CODE_memory);
        }
        arena_close(&small);
    }
}

/* ---- placeholders ---- */

static void expect_numbered(const char *sql, size_t count, const char *wanted)
{
    struct text text;
    text_open(&text, &arena);
    assert_int_equal(placeholder_number(sql, &text), count);
    assert_string_equal(text_done(&text), wanted);
}

static void test_placeholders(void **state)
{
    (void)state;
    expect_numbered("select 1", 0, "select 1");
    expect_numbered("", 0, "");
    expect_numbered("a = ? and b in (?,?)", 3, "a = $1 and b in ($2,$3)");
    expect_numbered("'?' || '''?' || ?", 1, "'?' || '''?' || $1");
    expect_numbered("E'\\'?' || ?", 1, "E'\\'?' || $1");
    expect_numbered("like'\\' || ?", 1, "like'\\' || $1");
    expect_numbered("\"a?\" = ?", 1, "\"a?\" = $1");
    expect_numbered("? -- ?\n, ?", 2, "$1 -- ?\n, $2");
    expect_numbered("/* ? /* ? */ ? */ ?", 1, "/* ? /* ? */ ? */ $1");
    expect_numbered("$$?$$ $a$ ? $$ $a$ ?", 1, "$$?$$ $a$ ? $$ $a$ $1");
    expect_numbered("doc ?? 'k' and id = ?", 1, "doc ? 'k' and id = $1");
    expect_numbered("'open ?", 0, "'open ?");
}

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

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_asked),
        cmocka_unit_test(test_value_bytes_only),
        cmocka_unit_test(test_equals_sign_is_optional),
        cmocka_unit_test(test_quotes_stay),
        cmocka_unit_test(test_quotes_come_where_needed),
        cmocka_unit_test(test_escaped_quotes_are_read),
        cmocka_unit_test(test_last_one_wins),
        cmocka_unit_test(test_names_without_case),
        cmocka_unit_test(test_similar_names_are_others),
        cmocka_unit_test(test_comments_are_untouched),
        cmocka_unit_test(test_absent_is_appended),
        cmocka_unit_test(test_final_newline_is_added_before_appending),
        cmocka_unit_test(test_appended_behind_includes),
        cmocka_unit_test(test_carriage_returns_stay),
        cmocka_unit_test(test_unset_deletes_every_line),
        cmocka_unit_test(test_several_at_once),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_plain_numbers_and_words),
        cmocka_unit_test(test_dotted_names),
        cmocka_unit_test(test_below_zero_is_refused),
        cmocka_unit_test(test_control_characters_are_refused),
        cmocka_unit_test(test_names_cannot_break_out),
        cmocka_unit_test(test_bad_lines_are_named),
        cmocka_unit_test(test_byte_order_mark_is_named),
        cmocka_unit_test(test_nul_is_named),
        cmocka_unit_test(test_high_bytes_pass),
        cmocka_unit_test(test_blank_lines_pass),
        cmocka_unit_test(test_memory_ends),
        cmocka_unit_test(test_placeholders),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
