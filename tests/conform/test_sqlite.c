/*
 * What only SQLite does: the file is rewritten, pragmas live in connections, and somebody else may
 * have the database open.
 */
#include <sqlite3.h>

#include "tests/support/backend_subjects.h"

static struct knob const *row(const char *name)
{
    size_t count = 0;
    const struct knob *knobs = catalogue_knobs("sqlite", &count);
    const struct knob *found = knob_find(knobs, count, name);
    assert_non_null(found);
    return found;
}

static struct setting setting_of(struct subject *subject, const char *name, const char *text)
{
    struct setting setting = {.knob = row(name)};
    MUST(value_parse(setting.knob, text, NULL, &subject->arena, &setting.value, &subject->err));
    return setting;
}

static bool apply(struct subject *subject, const struct setting *settings, size_t count,
                  int64_t deadline)
{
    struct value found[SUBJECT_KNOB_LIMIT];
    memset(found, 0, sizeof found);
    return subject->backend->apply(&subject->server, settings, found, count, deadline,
                                   &subject->err);
}

static void start_anew(struct subject *subject)
{
    static const char script[] = "rm -f \"$1\" \"$1\"-* \"$1\".dbsweep*";
    subject_says(subject, script, subject->spec.connect, "");
}

static void a_new_file_takes_its_page_size(void **state)
{
    struct subject *subject = *state;
    start_anew(subject);
    const struct setting settings[] = {setting_of(subject, "page_size", "16384"),
                                       setting_of(subject, "auto_vacuum", "incremental"),
                                       setting_of(subject, "journal_mode", "wal")};
    MUST(apply(subject, settings, 3, DEADLINE));
    subject_sql(subject, "create table t (i)");
    assert_string_equal(subject_value(subject, "pragma page_size"), "16384");
    assert_string_equal(subject_value(subject, "pragma auto_vacuum"), "2");
    assert_string_equal(subject_value(subject, "pragma journal_mode"), "wal");
}

static void page_size_changes_in_wal_mode(void **state)
{
    struct subject *subject = *state;
    start_anew(subject);
    subject_sql(subject, "pragma journal_mode = wal; create table t as select 'x' as x");
    const struct setting setting = setting_of(subject, "page_size", "1024");
    MUST(apply(subject, &setting, 1, DEADLINE));
    assert_string_equal(subject_value(subject, "pragma page_size"), "1024");
    assert_string_equal(subject_value(subject, "pragma journal_mode"), "wal");
    assert_string_equal(subject_value(subject, "select x from t"), "x");
}

static void without_settings_nothing_changes(void **state)
{
    struct subject *subject = *state;
    static const char sum[] = "sha256sum \"$1\"";
    start_anew(subject);
    subject_sql(subject, "create table t as select 'x' as x");
    const char *before = subject_says(subject, sum, subject->spec.connect, "");
    MUST(apply(subject, NULL, 0, DEADLINE));
    const struct setting settings[] = {setting_of(subject, "page_size", "baseline"),
                                       setting_of(subject, "cache_size", "1M")};
    MUST(apply(subject, settings, 2, DEADLINE));
    assert_string_equal(subject_says(subject, sum, subject->spec.connect, ""), before);
}

static void settings_reach_every_session(void **state)
{
    struct subject *subject = *state;
    struct session *session = NULL;
    const char *value = NULL;
    start_anew(subject);
    const struct setting settings[] = {
        setting_of(subject, "cache_size", "64M"), setting_of(subject, "synchronous", "OFF"),
        setting_of(subject, "journal_mode", "persist"), setting_of(subject, "temp_store", "memory"),
        setting_of(subject, "page_size", "8192")};
    const struct session_spec spec = {.connect = subject->spec.connect,
                                      .settings = settings,
                                      .setting_count = COUNT_OF(settings),
                                      .application = "test"};
    MUST(subject->backend->session->open(&spec, DEADLINE, &session, &subject->err));
    static const char *const pragmas[][2] = {{"pragma cache_size", "-65536"},
                                             {"pragma synchronous", "0"},
                                             {"pragma journal_mode", "persist"},
                                             {"pragma temp_store", "2"},
                                             {"pragma page_size", "4096"}};
    for (size_t i = 0; i < COUNT_OF(pragmas); i++) {
        MUST(session_value(session, pragmas[i][0], DEADLINE, &subject->arena, &value,
                           &subject->err));
        assert_string_equal(value, pragmas[i][1]);
    }
    session->driver->close(session);
}

static void inexact_values_are_refused(void **state)
{
    struct subject *subject = *state;
    struct reading reading;
    const struct setting setting = setting_of(subject, "cache_size", "1500B");
    MUST_FAIL(subject->backend->read_back(&subject->server, &setting, 1, DEADLINE, &subject->arena,
                                          &reading, &subject->err),
              ERR_CODE_knob_value);
}

/* Another process in the middle of a transaction. */
static sqlite3 *somebody(struct subject *subject, const char *sql)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(subject->spec.connect, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static void another_user_is_named(void **state)
{
    struct subject *subject = *state;
    bool is_ready = true;
    const char *why = NULL;
    start_anew(subject);
    subject_sql(subject, "pragma journal_mode = wal; create table t (i); insert into t values (1)");
    sqlite3 *reader = somebody(subject, "begin; select * from t");
    subject_sql(subject, "insert into t values (2)");
    MUST_FAIL(subject->backend->stop(&subject->server, clock_deadline_ms(300), &subject->err),
              ERR_CODE_stop_failed);
    MUST_FAIL(subject->backend->snapshot(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_command_failed);
    const struct setting setting = setting_of(subject, "page_size", "1024");
    MUST_FAIL(apply(subject, &setting, 1, clock_deadline_ms(300)), ERR_CODE_statement);
    assert_non_null(strstr(subject->err.hint, "another process"));
    sqlite3_close(reader);
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    subject_sql(subject, "pragma journal_mode = delete");
    sqlite3 *writer = somebody(subject, "begin exclusive; insert into t values (3)");
    MUST(subject->backend->ready(&subject->server, clock_deadline_ms(300), &is_ready, &why,
                                 &subject->err));
    assert_false(is_ready);
    assert_non_null(strstr(why, "locked"));
    sqlite3_close(writer);
    MUST(subject->backend->ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err));
    assert_true(is_ready);
}

static void rewriting_ends_at_its_deadline(void **state)
{
    struct subject *subject = *state;
    start_anew(subject);
    subject_sql(subject,
                "create table t as with recursive n(i) as (select 1 union all select i + 1 from n"
                " where i < 200000) select i, 'some text to fill a page' as t from n");
    const struct setting setting = setting_of(subject, "page_size", "512");
    MUST_FAIL(apply(subject, &setting, 1, clock_deadline_ms(1)), ERR_CODE_timeout);
    assert_string_equal(subject_value(subject, "pragma page_size"), "4096");
    assert_string_equal(subject_value(subject, "select count(*) from t"), "200000");
    start_anew(subject);
}

static void what_is_no_database_is_told(void **state)
{
    struct subject *subject = *state;
    bool is_ready = true;
    const char *why = NULL;
    start_anew(subject);
    subject_says(subject, "head -c 5000 /dev/zero | tr '\\0' x >\"$1\"", subject->spec.connect, "");
    err_clear(&subject->err);
    assert_false(
        subject->backend->ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err));
    assert_non_null(strstr(subject->err.text, "not a database"));
    start_anew(subject);
}

static void some_connects_are_refused(void **state)
{
    struct subject *subject = *state;
    static const char *const refused[] = {"", ":memory:", "file::memory:?cache=shared", "file:x.db",
                                          "file="};
    struct target_spec spec = {0};
    struct server server = {.backend = subject->backend,
                            .host = subject->host,
                            .spec = &spec,
                            .arena = &subject->arena};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        spec.connect = refused[i];
        MUST_FAIL(subject->backend->open(&server, &subject->err), ERR_CODE_unsupported);
    }
    spec.connect = NULL;
    MUST_FAIL(subject->backend->open(&server, &subject->err), ERR_CODE_unsupported);
    spec.connect = "/no/such/folder/bench.db";
    MUST_FAIL(subject->backend->open(&server, &subject->err), ERR_CODE_not_found);
    spec.connect = "file=bench.db";
    err_clear(&subject->err);
    MUST(subject->backend->open(&server, &subject->err));
    assert_true(text_ends_with(server.facts.data_directory, "/bench.db"));
    assert_int_equal(server.facts.data_directory[0], '/');
    struct host elsewhere = {.driver = subject->host->driver, .label = "db1"};
    server.host = &elsewhere;
    MUST_FAIL(subject->backend->open(&server, &subject->err), ERR_CODE_unsupported);
}

static void the_copy_keeps_mode_and_log(void **state)
{
    struct subject *subject = *state;
    start_anew(subject);
    subject_sql(subject, "pragma journal_mode = wal; create table t (i); insert into t values (1)");
    subject_says(subject, "chmod 640 \"$1\"", subject->spec.connect, "");
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->snapshot(&subject->server, DEADLINE, &subject->err));
    /* A log left behind by a crash belongs to the file that goes away. */
    subject_says(subject, "sqlite3 \"$1\" 'insert into t values (2)' && echo junk >\"$1-wal\"",
                 subject->spec.connect, "");
    MUST(subject->backend->rollback(&subject->server, DEADLINE, &subject->err));
    assert_string_equal(subject_value(subject, "select count(*) from t"), "1");
    assert_string_equal(subject_says(subject, "stat -c %a \"$1\"", subject->spec.connect, ""),
                        "640\n");
    MUST(subject->backend->snapshot_drop(&subject->server, DEADLINE, &subject->err));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_file_takes_its_page_size),
        cmocka_unit_test(page_size_changes_in_wal_mode),
        cmocka_unit_test(without_settings_nothing_changes),
        cmocka_unit_test(settings_reach_every_session),
        cmocka_unit_test(inexact_values_are_refused),
        cmocka_unit_test(another_user_is_named),
        cmocka_unit_test(rewriting_ends_at_its_deadline),
        cmocka_unit_test(what_is_no_database_is_told),
        cmocka_unit_test(some_connects_are_refused),
        cmocka_unit_test(the_copy_keeps_mode_and_log),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list("sqlite", tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("sqlite", listed, count, subjects_open, subjects_close);
}
