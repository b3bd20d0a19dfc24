/*
 * The bulk load of every backend's sessions: each value as it was given, many rows, several tables
 * at once, transactions, and rows that are refused.
 */
#include "tests/support/backend_subjects.h"

static struct session *open_session(struct subject *subject)
{
    struct session *session = NULL;
    const struct session_spec spec = {.connect = subject->spec.connect, .application = "test"};
    MUST(subject->sessions->open(&spec, DEADLINE, &session, &subject->err));
    return session;
}

static void execute(struct subject *subject, struct session *session, const char *sql)
{
    MUST(session_execute(session, sql, NULL, NULL, DEADLINE, &subject->err));
}

static struct session *open_with_tables(struct subject *subject)
{
    struct session *session = open_session(subject);
    char sql[160];
    for (int table = 1; table <= 2; table++) {
        snprintf(sql, sizeof sql, "drop table if exists bulk_test%d", table);
        execute(subject, session, sql);
        snprintf(sql, sizeof sql,
                 "create table bulk_test%d (id int primary key, big bigint, r double precision,"
                 " t %s)",
                 table, session->driver->dialect == DIALECT_MYSQL ? "longtext" : "text");
        execute(subject, session, sql);
    }
    return session;
}

static void close_with_tables(struct subject *subject, struct session *session)
{
    execute(subject, session, "drop table bulk_test1");
    execute(subject, session, "drop table bulk_test2");
    session->driver->close(session);
}

static struct bulk *open_bulk(struct subject *subject, struct session *session, const char *table)
{
    const struct bulk_spec spec = {.table = table, .column_count = 4};
    struct bulk *bulk = NULL;
    MUST(session->driver->bulk_open(session, &spec, DEADLINE, &bulk, &subject->err));
    assert_ptr_equal(bulk->session, session);
    return bulk;
}

static bool add(struct bulk *bulk, int64_t id, struct bytes text, struct err *err)
{
    const struct param values[] = {{.type = PARAM_INT, .integer = id},
                                   {.type = PARAM_INT, .integer = id % 2 == 0 ? INT64_MIN : id},
                                   {.type = PARAM_REAL, .real = -0.1 * (double)id},
                                   {.type = PARAM_TEXT, .text = text}};
    return bulk->session->driver->bulk_row(bulk, values, err);
}

static struct bytes bytes_of(const char *text)
{
    return (struct bytes){.data = text, .size = strlen(text)};
}

static bool end(struct bulk *bulk, struct err *err)
{
    return bulk->session->driver->bulk_close(bulk, true, err);
}

static void drop(struct bulk *bulk)
{
    struct err err;
    assert_false(bulk->session->driver->bulk_close(bulk, false, &err));
}

/* ---- values ---- */

/* Whatever means something to one of the systems' own forms of rows. */
static const char *const texts[] = {
    "plain",
    "",
    "it's \"quoted\" `so`",
    "tab\tnewline\nreturn\rboth\r\nend",
    "\\",
    "\\N",
    "\\.",
    "\\.\n\\.\n",
    "\\t\\n\\\\",
    "null",
    "'); drop table bulk_test1; --",
    "\\'",
    "\xc3\xa4\xe2\x82\xac \xf0\x9f\x90\x98",
    "\x01\x1a\b\v\f\x7f",
    "? $1 :a @b %s {text}",
};

static bool see_text(void *context, const struct row *row)
{
    size_t *count = context;
    const struct bytes *text = &row->columns[0];
    assert_true(*count <= COUNT_OF(texts));
    if (*count == COUNT_OF(texts)) {
        assert_null(text->data);
    } else {
        assert_non_null(text->data);
        assert_int_equal(text->size, strlen(texts[*count]));
        assert_memory_equal(text->data, texts[*count], text->size);
    }
    ++*count;
    return true;
}

static void see_all_texts(struct subject *subject, struct session *session)
{
    size_t count = 0;
    struct bulk *bulk = open_bulk(subject, session, "bulk_test1");
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        MUST(add(bulk, (int64_t)i + 1, bytes_of(texts[i]), &subject->err));
    }
    MUST(add(bulk, 100, (struct bytes){0}, &subject->err));
    MUST(end(bulk, &subject->err));
    MUST(session_execute(session, "select t from bulk_test1 order by id", see_text, &count,
                         DEADLINE, &subject->err));
    assert_int_equal(count, COUNT_OF(texts) + 1);
}

static void texts_come_back(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    bool is_native = session->driver == subject->backend->session; /* ODBC has utf8mb4 at once */
    if (is_native && session->driver->dialect == DIALECT_MYSQL) {
        execute(subject, session, "set names utf8mb4");
    }
    see_all_texts(subject, session);
    close_with_tables(subject, session);
}

/* There a backslash is a backslash, and a quote is written twice. */
static void texts_come_back_without_escapes(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    if (session->driver->dialect == DIALECT_MYSQL) {
        if (session->driver == subject->backend->session) {
            execute(subject, session, "set names utf8mb4");
        }
        execute(subject, session, "set sql_mode = 'NO_BACKSLASH_ESCAPES'");
        see_all_texts(subject, session);
    }
    if (session->driver->dialect == DIALECT_POSTGRESQL) {
        execute(subject, session, "set standard_conforming_strings = off");
        see_all_texts(subject, session);
    }
    close_with_tables(subject, session);
}

static void numbers_come_back(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    static const int64_t numbers[] = {0, 1, -1, 9, 10, 2147483647, INT64_MAX, INT64_MIN + 1};
    static const double reals[] = {0, -0.1, 1e300, 2.5e-300, 12345678.9, 1.0 / 3, -7, 1e15};
    struct bulk *bulk = open_bulk(subject, session, "bulk_test1");
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct param values[] = {{.type = PARAM_INT, .integer = (int64_t)i},
                                       {.type = PARAM_INT, .integer = numbers[i]},
                                       {.type = PARAM_REAL, .real = reals[i]},
                                       {.type = PARAM_TEXT}};
        MUST(session->driver->bulk_row(bulk, values, &subject->err));
    }
    MUST(end(bulk, &subject->err));
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        char sql[160];
        snprintf(sql, sizeof sql,
                 "select count(*) from bulk_test1 where id = %zu and big = %lld and r = %.16e", i,
                 (long long)numbers[i], reals[i]);
        if (strcmp(subject_value(subject, sql), "1") != 0) {
            fail_msg("not found: %s", sql);
        }
    }
    close_with_tables(subject, session);
}

/* ---- many ---- */

/* Two tables grow together, more than is sent at once, and calls come between. */
static void many_rows_into_two_tables(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    char text[101];
    memset(text, 'x', 100);
    text[100] = '\0';
    execute(subject, session, "begin");
    struct bulk *first = open_bulk(subject, session, "bulk_test1");
    struct bulk *second = open_bulk(subject, session, "bulk_test2");
    for (int64_t i = 1; i <= 20000; i++) {
        MUST(add(first, i, bytes_of(text), &subject->err));
        MUST(add(second, -i, bytes_of("y"), &subject->err));
        if (i % 7000 == 0) {
            execute(subject, session, "select 1");
        }
    }
    MUST(end(first, &subject->err));
    MUST(end(second, &subject->err));
    execute(subject, session, "commit");
    assert_string_equal(
        subject_value(subject, "select count(*) from bulk_test1 where length(t) = 100"), "20000");
    assert_string_equal(subject_value(subject, "select sum(id) from bulk_test1"), "200010000");
    assert_string_equal(subject_value(subject, "select sum(id) from bulk_test2"), "-200010000");
    close_with_tables(subject, session);
}

static void long_texts(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    enum { LENGTH = 1 << 20 };
    char *text = malloc(LENGTH + 1);
    assert_non_null(text);
    struct bulk *bulk = open_bulk(subject, session, "bulk_test1");
    for (int64_t i = 1; i <= 3; i++) {
        memset(text, i == 2 ? '\\' : 'x', LENGTH);
        MUST(add(bulk, 2 * i, (struct bytes){.data = text, .size = LENGTH}, &subject->err));
        MUST(add(bulk, 2 * i + 1, bytes_of("short"), &subject->err));
    }
    free(text);
    MUST(end(bulk, &subject->err));
    assert_string_equal(
        subject_value(subject, "select count(*) from bulk_test1 where length(t) = 1048576"), "3");
    assert_string_equal(subject_value(subject, "select sum(length(t)) from bulk_test1"), "3145743");
    close_with_tables(subject, session);
}

static void some_columns(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    const struct bulk_spec spec = {.table = "bulk_test1", .columns = "t, id", .column_count = 2};
    struct bulk *bulk = NULL;
    MUST(session->driver->bulk_open(session, &spec, DEADLINE, &bulk, &subject->err));
    const struct param values[] = {{.type = PARAM_TEXT, .text = bytes_of("seven")},
                                   {.type = PARAM_INT, .integer = 7}};
    MUST(session->driver->bulk_row(bulk, values, &subject->err));
    MUST(end(bulk, &subject->err));
    assert_string_equal(
        subject_value(subject, "select t from bulk_test1 where id = 7 and big is null"), "seven");
    struct bulk *nothing = NULL;
    MUST(session->driver->bulk_open(session, &spec, DEADLINE, &nothing, &subject->err));
    MUST(end(nothing, &subject->err)); /* of no rows at all */
    close_with_tables(subject, session);
}

/* ---- transactions and errors ---- */

static void rows_belong_to_the_transaction(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    execute(subject, session, "begin");
    struct bulk *bulk = open_bulk(subject, session, "bulk_test1");
    MUST(add(bulk, 1, bytes_of("gone"), &subject->err));
    MUST(end(bulk, &subject->err));
    execute(subject, session, "rollback");
    bulk = open_bulk(subject, session, "bulk_test1");
    MUST(add(bulk, 2, bytes_of("stays"), &subject->err));
    MUST(end(bulk, &subject->err));
    execute(subject, session, "begin");
    bulk = open_bulk(subject, session, "bulk_test1");
    MUST(add(bulk, 3, bytes_of("not whole"), &subject->err));
    drop(bulk);
    execute(subject, session, "rollback");
    assert_string_equal(subject_value(subject, "select min(id) + 10 * max(id) from bulk_test1"),
                        "22");
    close_with_tables(subject, session);
}

/* The error may come with a later row, at the latest with the end. */
static bool add_twice(struct subject *subject, struct session *session, struct err *err)
{
    struct bulk *bulk = open_bulk(subject, session, "bulk_test1");
    bool ok = add(bulk, 1, bytes_of("once"), err) && add(bulk, 1, bytes_of("twice"), err);
    for (int64_t i = 2; ok && i < 5000; i++) {
        ok = add(bulk, i, bytes_of("more"), err);
    }
    return session->driver->bulk_close(bulk, ok, err);
}

static void a_refused_row_leaves_the_session_usable(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    execute(subject, session, "begin");
    MUST_FAIL(add_twice(subject, session, &subject->err), ERR_CODE_statement);
    assert_int_equal(session->driver->classify(session, &subject->err), SESSION_WRONG);
    assert_true(subject->err.native_text[0] != '\0');
    execute(subject, session, "rollback");
    assert_string_equal(subject_value(subject, "select count(*) from bulk_test1"), "0");
    struct bulk *bulk = open_bulk(subject, session, "bulk_test1");
    MUST(add(bulk, 1, bytes_of("x"), &subject->err));
    MUST(end(bulk, &subject->err));
    close_with_tables(subject, session);
}

static bool fill_one(struct bulk *bulk, struct err *err)
{
    bool ok = add(bulk, 1, bytes_of("x"), err);
    return bulk->session->driver->bulk_close(bulk, ok, err);
}

static bool fill_nowhere(struct session *session, struct err *err)
{
    const struct bulk_spec spec = {.table = "bulk_test_nowhere", .column_count = 4};
    struct bulk *bulk = NULL;
    if (!session->driver->bulk_open(session, &spec, DEADLINE, &bulk, err)) {
        return false;
    }
    return fill_one(bulk, err);
}

static void a_table_that_is_not_there(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_session(subject);
    MUST_FAIL(fill_nowhere(session, &subject->err), ERR_CODE_statement);
    assert_non_null(strstr(subject->err.text, "bulk_test_nowhere"));
    execute(subject, session, "select 1");
    session->driver->close(session);
}

/* The deadline is that of the opening. Another session's row of the same key is in the way; an
 * embedded database waits for nobody, so there the deadline is over before. */
static void rows_end_at_their_deadline(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    struct session *other = open_session(subject);
    const struct bulk_spec spec = {.table = "bulk_test1", .column_count = 4};
    struct bulk *bulk = NULL;
    bool is_embedded = subject->backend->embedded;
    if (!is_embedded) {
        execute(subject, other, "begin");
        execute(subject, other, "insert into bulk_test1 (id) values (1)");
    }
    MUST(session->driver->bulk_open(session, &spec, clock_deadline_ms(300), &bulk, &subject->err));
    clock_pause_until(clock_deadline_ms(is_embedded ? 400 : 0));
    MUST_FAIL(fill_one(bulk, &subject->err), ERR_CODE_timeout);
    session->driver->close(session);
    other->driver->close(other);
    session = open_session(subject);
    close_with_tables(subject, session);
}

/* ---- MySQL's packets ---- */

static void fills_small_packets(struct subject *subject, struct session *session)
{
    char text[20001];
    memset(text, '\'', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct bulk *bulk = open_bulk(subject, session, "bulk_test1");
    for (int64_t i = 1; i <= 200; i++) {
        MUST(add(bulk, i, (struct bytes){.data = text, .size = (size_t)(i * 30)}, &subject->err));
    }
    MUST(end(bulk, &subject->err));
    bulk = open_bulk(subject, session, "bulk_test2");
    MUST_FAIL(add(bulk, 1, bytes_of(text), &subject->err), ERR_CODE_statement);
    assert_non_null(strstr(subject->err.hint, "max_allowed_packet"));
    drop(bulk);
    execute(subject, session, "select 1");
}

/* No statement is longer than the server takes; a row that is too long is refused before. */
static void packets_are_within_their_limit(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_tables(subject);
    bool is_native = session->driver == subject->backend->session;
    if (is_native && session->driver->dialect == DIALECT_MYSQL) {
        char back[80];
        snprintf(back, sizeof back, "set global max_allowed_packet = %s",
                 subject_value(subject, "select @@global.max_allowed_packet"));
        execute(subject, session, "set global max_allowed_packet = 16384");
        struct session *small = open_session(subject);
        fills_small_packets(subject, small);
        small->driver->close(small);
        execute(subject, session, back);
        assert_string_equal(subject_value(subject, "select sum(length(t)) from bulk_test1"),
                            "603000");
    }
    close_with_tables(subject, session);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(texts_come_back_without_escapes),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(many_rows_into_two_tables),
        cmocka_unit_test(long_texts),
        cmocka_unit_test(some_columns),
        cmocka_unit_test(rows_belong_to_the_transaction),
        cmocka_unit_test(a_refused_row_leaves_the_session_usable),
        cmocka_unit_test(a_table_that_is_not_there),
        cmocka_unit_test(rows_end_at_their_deadline),
        cmocka_unit_test(packets_are_within_their_limit),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list_sessions(tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("session bulk", listed, count, subjects_open, subjects_close);
}
