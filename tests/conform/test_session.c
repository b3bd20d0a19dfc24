/*
 * Sessions of every backend that has them: values there and back, transactions, errors and what
 * they mean, cancel and deadlines.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

#include "tests/support/backend_subjects.h"

static struct session *open_session(struct subject *subject)
{
    struct session *session = NULL;
    const struct session_spec spec = {.connect = subject->spec.connect, .application = "test"};
    MUST(subject->sessions->open(&spec, DEADLINE, &session, &subject->err));
    assert_ptr_equal(session->driver, subject->sessions);
    return session;
}

static void execute(struct subject *subject, struct session *session, const char *sql)
{
    MUST(session_execute(session, sql, NULL, NULL, DEADLINE, &subject->err));
}

/* A fresh table of one row per kind of value. */
static struct session *open_with_table(struct subject *subject)
{
    struct session *session = open_session(subject);
    char sql[160];
    execute(subject, session, "drop table if exists session_test");
    snprintf(sql, sizeof sql,
             "create table session_test (id int primary key, big bigint, r double precision,"
             " t %s, c char(10), k int)",
             session->driver->dialect == DIALECT_MYSQL ? "longtext" : "text");
    execute(subject, session, sql);
    execute(subject, session, "create index session_test_k on session_test (k)");
    return session;
}

static void close_with_table(struct subject *subject, struct session *session)
{
    execute(subject, session, "drop table session_test");
    session->driver->close(session);
}

static const enum param_type insert_types[] = {PARAM_INT, PARAM_INT, PARAM_REAL, PARAM_TEXT};
static const char insert_sql[] = "insert into session_test (id, big, r, t) values (?, ?, ?, ?)";

static void prepare_insert(struct subject *subject, struct session *session)
{
    MUST(
        session->driver->prepare(session, 0, insert_sql, insert_types, 4, DEADLINE, &subject->err));
}

static bool call(struct session *session, unsigned slot, const struct param *params, size_t count,
                 struct err *err)
{
    return session->driver->send(session, slot, params, count, err) &&
           session_wait(session, DEADLINE, err);
}

static struct param integer(int64_t number)
{
    return (struct param){.type = PARAM_INT, .integer = number};
}

static struct param text(const char *bytes, size_t size)
{
    return (struct param){.type = PARAM_TEXT, .text = {.data = bytes, .size = size}};
}

struct seen {
    size_t row_count;
    size_t column_count;
    char first[8][256];
    bool is_null[8];
};

static bool see(void *context, const struct row *row)
{
    struct seen *seen = context;
    seen->row_count++;
    seen->column_count = row->column_count;
    for (size_t i = 0; i < row->column_count && i < 8; i++) {
        seen->is_null[i] = row->columns[i].data == NULL;
        snprintf(seen->first[i], sizeof seen->first[i], "%.*s", (int)row->columns[i].size,
                 row->columns[i].data != NULL ? row->columns[i].data : "");
    }
    return true;
}

/* ---- values ---- */

static void values_come_back(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_table(subject);
    struct seen seen = {0};
    prepare_insert(subject, session);
    static const char words[] = "it's \xc3\xa4 \\ \"quoted\" ; -- no ? comment, cut here!";
    const struct param params[] = {integer(7),
                                   integer(INT64_MIN),
                                   {.type = PARAM_REAL, .real = -0.1},
                                   text(words, strlen(words) - 1)};
    MUST(call(session, 0, params, 4, &subject->err));
    assert_int_equal(session->driver->affected(session), 1);
    static const enum param_type types[] = {PARAM_INT};
    MUST(session->driver->prepare(session, 1,
                                  "select id, big, r, t, c from session_test"
                                  " where id = ?",
                                  types, 1, DEADLINE, &subject->err));
    MUST(call(session, 1, params, 1, &subject->err));
    assert_int_equal(session->driver->affected(session), 0);
    MUST(session->driver->rows(session, see, &seen, &subject->err));
    assert_int_equal(seen.row_count, 1);
    assert_int_equal(seen.column_count, 5);
    assert_string_equal(seen.first[0], "7");
    assert_string_equal(seen.first[1], "-9223372036854775808");
    assert_string_equal(seen.first[2], "-0.1");
    assert_int_equal(strlen(seen.first[3]), strlen(words) - 1);
    assert_memory_equal(seen.first[3], words, strlen(words) - 1);
    assert_true(seen.is_null[4]);
    close_with_table(subject, session);
}

static void empty_text_is_not_null(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_table(subject);
    struct seen seen = {0};
    prepare_insert(subject, session);
    struct param params[] = {integer(1), integer(1), {.type = PARAM_REAL, .real = 1}, text("", 0)};
    MUST(call(session, 0, params, 4, &subject->err));
    params[0] = integer(2);
    params[3] = text(NULL, 0);
    MUST(call(session, 0, params, 4, &subject->err));
    MUST(session_execute(session,
                         "select t is null, count(*) from session_test group by 1"
                         " order by 1",
                         see, &seen, DEADLINE, &subject->err));
    assert_int_equal(seen.row_count, 2);
    close_with_table(subject, session);
}

static bool stop_at_two(void *context, const struct row *row)
{
    int *count = context;
    (void)row;
    return ++*count < 2;
}

static void reading_can_end_early(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_table(subject);
    int count = 0;
    execute(subject, session, "insert into session_test (id) values (1), (2), (3)");
    assert_int_equal(session->driver->affected(session), 3);
    MUST(session_execute(session, "select id from session_test", stop_at_two, &count, DEADLINE,
                         &subject->err));
    assert_int_equal(count, 2);
    execute(subject, session, "update session_test set k = 1 where id > 1");
    assert_int_equal(session->driver->affected(session), 2);
    close_with_table(subject, session);
}

static void a_slot_can_be_prepared_again(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_session(subject);
    const char *value = NULL;
    struct seen seen = {0};
    MUST(session->driver->prepare(session, 255, "select 1", NULL, 0, DEADLINE, &subject->err));
    MUST(session->driver->prepare(session, 255, "select 2", NULL, 0, DEADLINE, &subject->err));
    MUST(call(session, 255, NULL, 0, &subject->err));
    MUST(session->driver->rows(session, see, &seen, &subject->err));
    assert_string_equal(seen.first[0], "2");
    MUST(session_value(session, "select null", DEADLINE, &subject->arena, &value, &subject->err));
    assert_null(value);
    MUST(session_value(session, "select 1 where 1 = 0", DEADLINE, &subject->arena, &value,
                       &subject->err));
    assert_null(value);
    session->driver->close(session);
}

/* ---- transactions ---- */

static bool transaction(struct session *session, bool (*step)(struct session *, struct err *),
                        struct err *err)
{
    return step(session, err) && session_wait(session, DEADLINE, err);
}

static void transactions_commit_and_roll_back(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_table(subject);
    const struct session_driver *driver = session->driver;
    prepare_insert(subject, session);
    struct param params[] = {integer(1), integer(1), {.type = PARAM_REAL, .real = 1}, text("x", 1)};
    MUST(transaction(session, driver->begin, &subject->err));
    MUST(call(session, 0, params, 4, &subject->err));
    MUST(transaction(session, driver->rollback, &subject->err));
    assert_string_equal(subject_value(subject, "select count(*) from session_test"), "0");
    MUST(transaction(session, driver->begin, &subject->err));
    MUST(call(session, 0, params, 4, &subject->err));
    MUST(transaction(session, driver->commit, &subject->err));
    assert_string_equal(subject_value(subject, "select count(*) from session_test"), "1");
    /* With no transaction open it is still no error. */
    MUST(transaction(session, driver->rollback, &subject->err));
    close_with_table(subject, session);
}

/* ---- errors ---- */

static void a_wrong_statement_leaves_the_session_usable(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_table(subject);
    const struct session_driver *driver = session->driver;
    prepare_insert(subject, session);
    const struct param params[] = {
        integer(1), integer(1), {.type = PARAM_REAL, .real = 1}, text("x", 1)};
    MUST(transaction(session, driver->begin, &subject->err));
    MUST(call(session, 0, params, 4, &subject->err));
    MUST_FAIL(call(session, 0, params, 4, &subject->err), ERR_CODE_statement);
    assert_int_equal(driver->classify(session, &subject->err), SESSION_WRONG);
    assert_true(subject->err.native_text[0] != '\0');
    MUST(transaction(session, driver->rollback, &subject->err));
    MUST(call(session, 0, params, 4, &subject->err));
    MUST_FAIL(session_execute(session, "selec 1", NULL, NULL, DEADLINE, &subject->err),
              ERR_CODE_statement);
    assert_int_equal(driver->classify(session, &subject->err), SESSION_WRONG);
    MUST_FAIL(
        driver->prepare(session, 9, "select no_such_column", NULL, 0, DEADLINE, &subject->err),
        ERR_CODE_statement);
    execute(subject, session, "select 1");
    close_with_table(subject, session);
}

static void parameters_are_counted(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_session(subject);
    MUST_FAIL(session->driver->prepare(session, 0, "select ?", NULL, 0, DEADLINE, &subject->err),
              ERR_CODE_bug);
    session->driver->close(session);
}

static void update_one(struct subject *subject, struct session *session, int id)
{
    char sql[64];
    snprintf(sql, sizeof sql, "update session_test set k = 1 where id = %d", id);
    execute(subject, session, sql);
}

static bool is_odbc(const struct subject *subject)
{
    return subject->sessions != subject->backend->session;
}

/* Of a session that completes inside send. */
static void *update_in_the_way(void *context)
{
    struct session *session = context;
    struct err ignored;
    (void)!session->driver->send_text(session, "update session_test set k = 2 where id = 2",
                                      &ignored);
    return NULL;
}

/* Both have a row that the other wants. */
static bool cross_over_odbc(struct subject *subject, struct session *first, struct session *second,
                            struct err *err)
{
    pthread_t thread;
    update_one(subject, first, 1);
    MUST(transaction(second, second->driver->begin, &subject->err));
    update_one(subject, second, 2);
    assert_int_equal(pthread_create(&thread, NULL, update_in_the_way, first), 0);
    bool ok = session_execute(second, "update session_test set k = 2 where id = 1", NULL, NULL,
                              DEADLINE, err);
    pthread_join(thread, NULL);
    return ok && session_wait(first, DEADLINE, err);
}

/* Two clients in each other's way: whatever the server calls it, it means "again". */
static void conflicts_mean_retry(void **state)
{
    struct subject *subject = *state;
    struct session *first = open_with_table(subject);
    struct session *second = open_session(subject);
    const struct session_driver *driver = first->driver;
    struct err err;
    execute(subject, first, "insert into session_test (id) values (1), (2)");
    prepare_insert(subject, first);
    prepare_insert(subject, second);
    err_clear(&err);
    MUST(transaction(first, driver->begin, &subject->err));
    if (subject->backend->embedded) {
        assert_false(transaction(second, driver->begin, &err));
    } else if (is_odbc(subject)) {
        assert_false(cross_over_odbc(subject, first, second, &err));
    } else {
        update_one(subject, first, 1);
        MUST(transaction(second, driver->begin, &subject->err));
        update_one(subject, second, 2);
        MUST(driver->send_text(first, "update session_test set k = 2 where id = 2", &subject->err));
        assert_int_equal(driver->pump(first, &subject->err), SESSION_WANT_READ);
        bool ended = session_execute(second, "update session_test set k = 2 where id = 1", NULL,
                                     NULL, DEADLINE, &err) &&
                     session_wait(first, DEADLINE, &err);
        assert_false(ended);
    }
    assert_int_equal(driver->classify(second, &err), SESSION_RETRY);
    MUST(transaction(second, driver->rollback, &subject->err));
    driver->close(second);
    driver->close(first);
    subject_sql(subject, "drop table session_test");
}

/* Ended by somebody else at the server. */
static void a_lost_connection_is_known(void **state)
{
    struct subject *subject = *state;
    if (subject->backend->embedded)
        return; /* there is no connection */
    struct session *session = open_session(subject);
    struct session *other = open_session(subject);
    bool is_mysql = session->driver->dialect == DIALECT_MYSQL;
    const char *id = NULL;
    char sql[80];
    MUST(session_value(session, is_mysql ? "select connection_id()" : "select pg_backend_pid()",
                       DEADLINE, &subject->arena, &id, &subject->err));
    snprintf(sql, sizeof sql, is_mysql ? "kill %s" : "select pg_terminate_backend(%s)", id);
    execute(subject, other, sql);
    clock_pause_until(clock_deadline_ms(200)); /* it takes the server a moment */
    MUST_FAIL(session_execute(session, "select 1", NULL, NULL, DEADLINE, &subject->err),
              ERR_CODE_connection);
    assert_int_equal(session->driver->classify(session, &subject->err), SESSION_LOST);
    session->driver->close(session);
    other->driver->close(other);
}

/* ---- cancel, deadlines ---- */

static const char endless_sql[] =
    "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n";

static void *cancel_soon(void *context)
{
    struct session *session = context;
    clock_sleep_until(clock_now_ns() + 100 * NS_PER_MS);
    session->driver->cancel(session);
    return NULL;
}

static void cancel_ends_a_call(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_session(subject);
    pthread_t thread;
    int64_t before = clock_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, session), 0);
    err_clear(&subject->err);
    assert_false(session_execute(session, endless_sql, NULL, NULL, DEADLINE, &subject->err));
    assert_int_equal(session->driver->classify(session, &subject->err), SESSION_LOST);
    pthread_join(thread, NULL);
    assert_true(clock_now_ns() - before < 20 * NS_PER_S);
    session->driver->close(session);
}

static void a_deadline_ends_the_wait(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_session(subject);
    if (!subject->backend->embedded) {
        MUST_FAIL(session_execute(session, endless_sql, NULL, NULL, clock_deadline_ms(100),
                                  &subject->err),
                  ERR_CODE_timeout);
        assert_int_equal(session->driver->classify(session, &subject->err), SESSION_LOST);
    }
    session->driver->close(session);
    subject->sessions->close(NULL);
}

/* A server that takes the connection and says nothing. */
static void opening_ends_at_its_deadline(void **state)
{
    struct subject *subject = *state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct session *session = NULL;
    char connect_text[128];
    if (subject->backend->embedded)
        return; /* not this backend's */
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    snprintf(connect_text, sizeof connect_text, "host=127.0.0.1 port=%d user=x dbname=x",
             ntohs(address.sin_port));
    const char *connect = connect_text;
    if (is_odbc(subject))
        connect = arena_printf(&subject->arena, "Driver=%s;Server=127.0.0.1;Port=%d;UID=x",
                               strcmp(subject->backend->name, "mysql") == 0 ? "MariaDB Unicode"
                                                                            : "PostgreSQL ANSI",
                               ntohs(address.sin_port));
    const struct session_spec spec = {.connect = connect, .application = "test"};
    int64_t before = clock_now_ns();
    MUST_FAIL(subject->sessions->open(&spec, clock_deadline_ms(200), &session, &subject->err),
              ERR_CODE_timeout);
    assert_true(clock_now_ns() - before < 10 * NS_PER_S);
    close(listener);
}

static void many_rows_and_long_texts(void **state)
{
    struct subject *subject = *state;
    struct session *session = open_with_table(subject);
    char *words = malloc(1u << 20);
    assert_non_null(words);
    memset(words, 'x', 1u << 20);
    prepare_insert(subject, session);
    const struct param params[] = {
        integer(1), integer(1), {.type = PARAM_REAL, .real = 1}, text(words, 1u << 20)};
    MUST(call(session, 0, params, 4, &subject->err));
    free(words);
    assert_string_equal(subject_value(subject, "select length(t) from session_test"), "1048576");
    struct seen seen = {0};
    MUST(session_execute(session,
                         "with recursive n(i) as (select 1 union all select i + 1 from n"
                         " where i < 50000) select i, 'some text' from n",
                         see, &seen, DEADLINE, &subject->err));
    assert_int_equal(seen.row_count, 50000);
    assert_string_equal(seen.first[0], "50000");
    close_with_table(subject, session);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(empty_text_is_not_null),
        cmocka_unit_test(reading_can_end_early),
        cmocka_unit_test(a_slot_can_be_prepared_again),
        cmocka_unit_test(transactions_commit_and_roll_back),
        cmocka_unit_test(a_wrong_statement_leaves_the_session_usable),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(conflicts_mean_retry),
        cmocka_unit_test(a_lost_connection_is_known),
        cmocka_unit_test(cancel_ends_a_call),
        cmocka_unit_test(a_deadline_ends_the_wait),
        cmocka_unit_test(opening_ends_at_its_deadline),
        cmocka_unit_test(many_rows_and_long_texts),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list_sessions(tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("session", listed, count, subjects_open, subjects_close);
}
