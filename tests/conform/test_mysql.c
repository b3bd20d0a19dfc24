/*
 * What only MySQL and MariaDB do, on the private server: connect strings, files that are not sent,
 * identity without sight of the process, and when a server that answers is not ready.
 */
#include "backends/mysql/connection.h"
#include "backends/mysql/mysql.h"
#include "backends/mysql/server.h"
#include "tests/support/backend_subjects.h"

static struct connect_words parse(struct subject *subject, const char *text)
{
    struct connect_words words;
    MUST(connect_words_parse(text, &subject->arena, &words, &subject->err));
    return words;
}

static void reads_connect_strings(void **state)
{
    struct subject *subject = *state;
    struct connect_words words = parse(subject, " host = db1  port=3307 user='a b' dbname=x\\'y ");
    assert_string_equal(words.host, "db1");
    assert_int_equal(words.port_number, 3307);
    assert_string_equal(words.user, "a b");
    assert_string_equal(words.dbname, "x'y");
    assert_null(words.socket);
    words = parse(subject, "socket='/tmp/it\\'s' database=''");
    assert_string_equal(words.socket, "/tmp/it's");
    assert_string_equal(words.dbname, "");
    assert_null(parse(subject, "").host);
    static const char *const wrong[] = {"host",       "host=a user",  "hots=a",  "port=0",
                                        "port=65536", "port=x",       "user='a", "=a",
                                        "password=x", "host=a pass=x"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        err_clear(&subject->err);
        assert_false(connect_words_parse(wrong[i], &subject->arena, &words, &subject->err));
        assert_int_equal(subject->err.class, ERR_PLAN);
    }
    err_clear(&subject->err);
    assert_false(connect_words_parse("hots=a", &subject->arena, &words, &subject->err));
    assert_string_equal(subject->err.hint, "did you mean \"host\"?");
}

static const char *connect_as(struct subject *subject, const char *user, const char *database)
{
    const char *text = arena_printf(&subject->arena, "socket=%s user=%s dbname=%s defaults_file=''",
                                    subject_environment("DBSWEEP_TEST_MY_SOCKET"), user, database);
    assert_non_null(text);
    return text;
}

static void says_what_refusals_mean(void **state)
{
    struct subject *subject = *state;
    struct session *session = NULL;
    struct session_spec spec = {.connect = connect_as(subject, "bench", "no_such_database")};
    MUST_FAIL(mysql_backend.session->open(&spec, DEADLINE, &session, &subject->err),
              ERR_CODE_connection);
    assert_int_equal(subject->err.native, 1049);
    assert_true(my_error_is_final(&subject->err));
    spec.connect = connect_as(subject, "nobody_here", "bench");
    MUST_FAIL(mysql_backend.session->open(&spec, DEADLINE, &session, &subject->err),
              ERR_CODE_connection);
    assert_string_equal(subject->err.native_text, "SQLSTATE 28000");
    assert_true(my_error_is_final(&subject->err));
    assert_non_null(strstr(subject->err.hint, "password_env"));
    spec.connect = "socket=/nonexistent/socket user=x";
    MUST_FAIL(mysql_backend.session->open(&spec, DEADLINE, &session, &subject->err),
              ERR_CODE_connection);
    assert_false(my_error_is_final(&subject->err));
}

/* A server may ask a client for any file of its machine. */
static void sends_no_files(void **state)
{
    struct subject *subject = *state;
    struct session *session = NULL;
    char options[128];
    char connect[512];
    snprintf(options, sizeof options, "%s/client.cnf", subject->directory);
    FILE *file = fopen(options, "w");
    assert_non_null(file);
    assert_true(fputs("[client]\nlocal-infile=1\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    snprintf(connect, sizeof connect, "%s defaults_file=%s", subject->spec.connect, options);
    const struct session_spec spec = {.connect = connect, .application = "test"};
    MUST(mysql_backend.session->open(&spec, DEADLINE, &session, &subject->err));
    MUST(session_execute(session, "create or replace table file_test (t text)", NULL, NULL,
                         DEADLINE, &subject->err));
    err_clear(&subject->err);
    assert_false(session_execute(session,
                                 "load data local infile '/etc/passwd' into table file_test", NULL,
                                 NULL, DEADLINE, &subject->err));
    session->driver->close(session);
    assert_string_equal(subject_value(subject, "select count(*) from file_test"), "0");
    subject_sql(subject, "drop table file_test");
}

/* As where the process runs on a machine that cannot be looked at. */
static void identifies_by_time(void **state)
{
    struct subject *subject = *state;
    char first[128];
    subject_probe(subject);
    const char *directory = subject->server.facts.data_directory;
    struct session *session = NULL;
    for (int round = 0; round < 2; round++) {
        subject->server.facts.data_directory = "/nonexistent";
        MUST(my_control_open(&subject->server, DEADLINE, &session, &subject->err));
        MUST(my_identify(&subject->server, session, DEADLINE, &subject->err));
        if (round == 1)
            assert_string_not_equal(first, subject->server.facts.identity);
        snprintf(first, sizeof first, "%s", subject->server.facts.identity);
        assert_int_equal(strncmp(first, "0@", 2), 0);
        my_control_close(&session);
        MUST(my_control_open(&subject->server, DEADLINE, &session, &subject->err));
        MUST(my_identify(&subject->server, session, DEADLINE, &subject->err));
        assert_string_equal(first, subject->server.facts.identity);
        my_control_close(&session);
        subject->server.facts.data_directory = directory;
        MUST(mysql_backend.stop(&subject->server, DEADLINE, &subject->err));
        MUST(mysql_backend.start(&subject->server, DEADLINE, &subject->err));
    }
    subject_ready(subject);
}

static void is_not_ready(struct subject *subject, const char *wanted)
{
    bool is_ready = true;
    const char *why = "";
    MUST(mysql_backend.ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err));
    assert_false(is_ready);
    if (strstr(why, wanted) == NULL)
        fail_msg("\"%s\" does not hold \"%s\"", why, wanted);
}

static void judges_who_answers(void **state)
{
    struct subject *subject = *state;
    subject_probe(subject);
    const char *directory = subject->server.facts.data_directory;
    subject_sql(subject, "set global read_only = 1");
    is_not_ready(subject, "read-only");
    subject_sql(subject, "set global read_only = 0");
    subject->server.facts.data_directory = "/var/lib/another";
    is_not_ready(subject, directory);
    subject->server.facts.data_directory = directory;
    subject_ready(subject);
}

/* Without a command of its own, the server is asked to end by SQL. */
static void stops_by_statement(void **state)
{
    struct subject *subject = *state;
    const char *const *stop = subject->spec.stop;
    subject_probe(subject);
    subject->spec.stop = NULL;
    MUST(mysql_backend.stop(&subject->server, DEADLINE, &subject->err));
    subject->spec.stop = stop;
    assert_string_equal(subject->server.facts.identity, "");
    is_not_ready(subject, "");
    MUST(mysql_backend.start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_connect_strings), cmocka_unit_test(says_what_refusals_mean),
        cmocka_unit_test(sends_no_files),        cmocka_unit_test(identifies_by_time),
        cmocka_unit_test(judges_who_answers),    cmocka_unit_test(stops_by_statement),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list("mysql", tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("mysql", listed, count, subjects_open, subjects_close);
}
