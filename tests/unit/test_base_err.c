/*
 * The error record, and how the log shows it: as text and as JSON, with nothing in it that could
 * steer a terminal.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/clock.h"
#include "sweeper/base/err.h"
#include "sweeper/base/log.h"

static struct err err;

static int soil(void **state)
{
    (void)state;
    memset(&err, 0x5a, sizeof err);
    return 0;
}

/* ---- the record ---- */

static void a_record_is_written_whole(void **state)
{
    (void)state;
    assert_false(err_set(&err, ERR_CODE_knob_unknown, "no knob \"%s\"", "wrk_mem"));
    assert_int_equal(err.code, ERR_CODE_knob_unknown);
    assert_int_equal(err.class, ERR_PLAN);
    assert_string_equal(err.text, "no knob \"wrk_mem\"");
    assert_int_equal(err.native, 0);
    assert_string_equal(err.native_text, "");
    assert_string_equal(err.hint, "");
    assert_string_equal(err.origin, "");
    assert_int_equal(err.context_count, 0);
    assert_false(err_hint(&err, "try %s", "another"));
    assert_false(err_hint(&err, "did you mean %s?", "work_mem"));
    assert_false(err_origin(&err, "nightly.cfg:%d", 12));
    assert_false(err_native(&err, 7, "exit"));
    assert_string_equal(err.hint, "did you mean work_mem?");
    assert_string_equal(err.origin, "nightly.cfg:12");
    assert_int_equal(err.native, 7);
    assert_string_equal(err.native_text, "exit");
    err_clear(&err);
    struct err empty = {0};
    assert_memory_equal(&err, &empty, sizeof err);
}

static void each_code_has_its_class(void **state)
{
    (void)state;
    static const struct {
        enum err_code code;
        enum err_class class;
        const char *name;
    } rows[] = {
#define ERROR(code, class, meaning) {ERR_CODE_##code, ERR_##class, #code},
#include "sweeper/base/errors.def"
#undef ERROR
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(rows[i].code, i);
        assert_false(err_set(&err, rows[i].code, "x"));
        assert_int_equal(err.class, rows[i].class);
        assert_string_equal(err_code_name(rows[i].code), rows[i].name);
    }
}

static void each_class_has_its_status(void **state)
{
    (void)state;
    static const struct {
        enum err_class class;
        const char *name;
        int status;
    } rows[] = {{ERR_PLAN, "PLAN", 2},   {ERR_POINT, "POINT", 1}, {ERR_TARGET, "TARGET", 4},
                {ERR_STORE, "STORE", 5}, {ERR_STOP, "STOP", 3},   {ERR_BUG, "BUG", 70}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(err_class_name(rows[i].class), rows[i].name);
        assert_int_equal(err_exit_status(rows[i].class), rows[i].status);
    }
    assert_string_equal(err_class_name((enum err_class)99), "BUG");
    assert_int_equal(err_exit_status((enum err_class)99), 70);
    assert_string_equal(err_code_name((enum err_code)999), "bug");
}

static void a_failed_call_says_errno(void **state)
{
    (void)state;
    errno = ENOENT;
    assert_false(err_set_errno(&err, ERR_CODE_host_file, "cannot open %s", "/etc/my.cnf"));
    assert_int_equal(errno, ENOENT);
    assert_string_equal(err.text, "cannot open /etc/my.cnf: No such file or directory");
    assert_int_equal(err.native, ENOENT);
    assert_string_equal(err.native_text, "errno");
    assert_int_equal(err.class, ERR_TARGET);
}

static void memory_needs_no_memory(void **state)
{
    (void)state;
    assert_false(err_memory(&err));
    assert_int_equal(err.code, ERR_CODE_memory);
    assert_int_equal(err.class, ERR_BUG);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    err_set(&err, ERR_CODE_bug, "%s", text);
    err_hint(&err, "%s", text);
    err_origin(&err, "%s", text);
    err_while(&err, "%s", text);
    err_native(&err, 1, "SQLSTATE 42P01 and more");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
    assert_int_equal(strlen(err.origin), sizeof err.origin - 1);
    assert_int_equal(strlen(err.context[0]), sizeof err.context[0] - 1);
    assert_string_equal(err.native_text, "SQLSTATE 42P01 ");
    errno = EIO;
    err_set_errno(&err, ERR_CODE_bug, "%s", text);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void four_contexts_are_kept(void **state)
{
    (void)state;
    err_set(&err, ERR_CODE_bug, "x");
    for (int i = 0; i < 6; i++)
        assert_false(err_while(&err, "doing %d", i));
    assert_int_equal(err.context_count, 4);
    assert_string_equal(err.context[0], "doing 0");
    assert_string_equal(err.context[3], "doing 3");
}

static void the_loop_may_judge_otherwise(void **state)
{
    (void)state;
    err_set(&err, ERR_CODE_start_failed, "x");
    assert_int_equal(err.class, ERR_POINT);
    assert_false(err_reclass(&err, ERR_TARGET));
    assert_int_equal(err.class, ERR_TARGET);
    assert_int_equal(err.code, ERR_CODE_start_failed);
}

static void a_record_can_be_rewritten_from_itself(void **state)
{
    (void)state;
    err_set(&err, ERR_CODE_statement, "inner");
    err_hint(&err, "advice");
    err_set(&err, ERR_CODE_workload, "outer: %s (%s)", err.text, err.hint);
    assert_string_equal(err.text, "outer: inner (advice)");
    assert_string_equal(err.hint, "");
}

static void the_short_form_fits_any_buffer(void **state)
{
    (void)state;
    char buffer[64];
    char tiny[8];
    err_set(&err, ERR_CODE_bug, "text");
    err_format(&err, buffer, sizeof buffer);
    assert_string_equal(buffer, "text");
    err_hint(&err, "hint");
    err_format(&err, buffer, sizeof buffer);
    assert_string_equal(buffer, "text; hint");
    err_origin(&err, "a.cfg:3");
    err_while(&err, "not shown");
    err_format(&err, buffer, sizeof buffer);
    assert_string_equal(buffer, "a.cfg:3: text; hint");
    err_format(&err, tiny, sizeof tiny);
    assert_string_equal(tiny, "a.cfg:3");
    err_format(&err, tiny, 1);
    assert_string_equal(tiny, "");
}

/* ---- the log ---- */

static int saved_stderr = -1;
static FILE *caught;
static char line[16384];

static int catch_log(void **state)
{
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    caught = tmpfile();
    return soil(state) == 0 && caught != NULL && dup2(fileno(caught), STDERR_FILENO) >= 0 ? 0 : -1;
}

static int release_log(void **state)
{
    (void)state;
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    fclose(caught);
    log_configure(LOG_INFO, LOG_TEXT);
    log_set_hooks(NULL, NULL);
    clock_replace(NULL);
    return 0;
}

/* What was logged since the last time. */
static const char *logged(void)
{
    rewind(caught);
    size_t size = fread(line, 1, sizeof line - 1, caught);
    line[size] = '\0';
    assert_int_equal(ftruncate(fileno(caught), 0), 0);
    rewind(caught);
    return line;
}

static void fill_record(void)
{
    err_set(&err, ERR_CODE_statement, "relation \"x\" does not exist");
    err_native(&err, 0, "SQLSTATE 42P01");
    err_hint(&err, "create it");
    err_origin(&err, "db1");
    err_while(&err, "measuring point 3");
    err_while(&err, "running the sweep");
}

static void levels_are_held_back(void **state)
{
    (void)state;
    log_configure(LOG_WARN, LOG_TEXT);
    log_line(LOG_INFO, "info");
    log_line(LOG_DEBUG, "debug");
    fill_record();
    log_err(LOG_INFO, &err);
    assert_string_equal(logged(), "");
    log_line(LOG_WARN, "%d left", 3);
    assert_string_equal(logged(), "dbsweep: warn: 3 left\n");
    log_line(LOG_ERROR, "bad");
    assert_string_equal(logged(), "dbsweep: error: bad\n");
    log_configure(LOG_DEBUG, LOG_TEXT);
    log_line(LOG_INFO, "told");
    log_line(LOG_DEBUG, "told more");
    assert_string_equal(logged(), "dbsweep: told\ndbsweep: told more\n");
}

static void a_record_is_logged_whole(void **state)
{
    (void)state;
    fill_record();
    log_err(LOG_ERROR, &err);
    assert_string_equal(logged(), "db1: error: relation \"x\" does not exist [SQLSTATE 42P01]\n"
                                  "  while measuring point 3\n"
                                  "  while running the sweep\n"
                                  "  hint: create it\n");
    err_set(&err, ERR_CODE_command_failed, "systemctl failed");
    err_native(&err, 5, "exit");
    log_err(LOG_WARN, &err);
    assert_string_equal(logged(), "dbsweep: warn: systemctl failed [exit 5]\n");
    errno = EACCES;
    err_set_errno(&err, ERR_CODE_host_file, "cannot read");
    log_err(LOG_ERROR, &err);
    assert_string_equal(logged(), "dbsweep: error: cannot read: Permission denied\n");
}

static int64_t fixed_wall(void)
{
    return INT64_C(1796088247123000);
}

static void json_has_one_object_a_line(void **state)
{
    (void)state;
    static const struct clock_source fixed = {.wall_us = fixed_wall};
    clock_replace(&fixed);
    log_configure(LOG_INFO, LOG_JSON);
    assert_int_equal(log_current_format(), LOG_JSON);
    log_line(LOG_INFO, "a \"b\"");
    assert_string_equal(logged(), "{\"time\":\"2026-12-01T01:24:07.123Z\",\"level\":\"info\","
                                  "\"text\":\"a \\\"b\\\"\"}\n");
    fill_record();
    log_err(LOG_ERROR, &err);
    assert_string_equal(logged(),
                        "{\"time\":\"2026-12-01T01:24:07.123Z\",\"level\":\"error\","
                        "\"code\":\"statement\",\"class\":\"POINT\","
                        "\"text\":\"relation \\\"x\\\" does not exist\",\"hint\":\"create it\","
                        "\"origin\":\"db1\",\"native\":\"SQLSTATE 42P01\",\"native_code\":0,"
                        "\"while\":[\"measuring point 3\",\"running the sweep\"]}\n");
}

static void nothing_steers_the_terminal(void **state)
{
    (void)state;
    static const char hostile[] = "\x1b[2J\xc2\x9b"
                                  "1m\x07";
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        log_configure(LOG_INFO, (enum log_format)format);
        err_set(&err, ERR_CODE_bug, "%s", hostile);
        err_hint(&err, "%s", hostile);
        err_origin(&err, "%s", hostile);
        err_while(&err, "%s", hostile);
        err_native(&err, 1, hostile);
        log_err(LOG_ERROR, &err);
        log_line(LOG_ERROR, "%s", hostile);
        const char *text = logged();
        assert_true(strlen(text) > 0);
        assert_null(strchr(text, '\x1b'));
        assert_null(strchr(text, '\x07'));
        assert_null(strstr(text, "\xc2\x9b"));
    }
}

static void a_long_line_is_cut(void **state)
{
    (void)state;
    log_line(LOG_INFO, "%08000d", 1);
    size_t size = strlen(logged());
    assert_true(size > 4000 && size < 4200);
    assert_int_equal(line[size - 1], '\n');
}

static int before_count;
static int after_count;

static void before(void)
{
    assert_int_equal(before_count, after_count);
    before_count++;
}

static void after(void)
{
    after_count++;
    assert_int_equal(before_count, after_count);
}

static void hooks_stand_around_each_line(void **state)
{
    (void)state;
    log_set_hooks(before, after);
    log_line(LOG_INFO, "one");
    log_line(LOG_DEBUG, "not shown");
    fill_record();
    log_err(LOG_ERROR, &err);
    assert_int_equal(after_count, 2);
}

#define RECORD(test) cmocka_unit_test_setup(test, soil)
#define LOGGED(test) cmocka_unit_test_setup_teardown(test, catch_log, release_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORD(a_record_is_written_whole),
        RECORD(each_code_has_its_class),
        RECORD(each_class_has_its_status),
        RECORD(a_failed_call_says_errno),
        RECORD(memory_needs_no_memory),
        RECORD(long_texts_are_cut),
        RECORD(four_contexts_are_kept),
        RECORD(the_loop_may_judge_otherwise),
        RECORD(a_record_can_be_rewritten_from_itself),
        RECORD(the_short_form_fits_any_buffer),
        LOGGED(levels_are_held_back),
        LOGGED(a_record_is_logged_whole),
        LOGGED(json_has_one_object_a_line),
        LOGGED(nothing_steers_the_terminal),
        LOGGED(a_long_line_is_cut),
        LOGGED(hooks_stand_around_each_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
