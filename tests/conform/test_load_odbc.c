/*
 * A load through ODBC over every system that has a driver here: loaded, driven, counted and cleaned
 * up, each looked at by the backend's own session; and what cannot be opened.
 */
#include "tests/support/load_suite.h"
#include "tests/support/odbc_connect.h"

static void begin_odbc(struct subject *subject)
{
    subject_begin(subject);
    subject->job.session_name = "odbc";
    subject->job.session.connect =
        odbc_connect_of(&subject->arena, subject->backend, subject->connect);
    assert_non_null(subject->job.session.connect);
}

/* Every statement of it: prepared, within transactions that clients retry where they conflict. */
static void drives_read_write(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_int_equal(subject_number(subject, "select count(*) from sbtest1"), 1200);
    int64_t sum = subject_number(subject, "select sum(k) from sbtest1");
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_true(subject_done(subject) > 10);
    assert_int_equal(subject->result.error_row_count, 0);
    assert_true(subject_number(subject, "select sum(k) from sbtest1") != sum);
    assert_int_equal(subject_number(subject, "select count(*) from sbtest1"), 1200);
    MUST(subject_run(subject, LOAD_CLEANUP));
    assert_int_equal(subject_state(subject, "sbtest1"), MARK_ABSENT);
}

/* The same rows, whoever sends them. */
static void loads_what_the_own_session_loads(struct subject *subject)
{
    static const char sum_sql[] = "select sum(id * k) + sum(length(c)) from sbtest2";
    MUST(subject_run(subject, LOAD_PREPARE));
    int64_t sum = subject_number(subject, sum_sql);
    MUST(subject_run(subject, LOAD_CLEANUP));
    subject->job.session_name = NULL;
    subject->job.session.connect = subject->connect;
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_true(subject_number(subject, sum_sql) == sum);
}

static void a_driver_that_is_not_there(struct subject *subject)
{
    subject->job.session.connect = "Driver=no such driver;Server=x";
    MUST_FAIL(subject_run(subject, LOAD_PREPARE), ERR_CODE_unsupported);
    HOLDS(subject->err.hint, "odbcinst");
    subject->job.session.connect = "DSN=x; pwd = y";
    MUST_FAIL(subject_run(subject, LOAD_PREPARE), ERR_CODE_usage);
    subject->job.session.connect = "DSN=no such source";
    MUST_FAIL(subject_run(subject, LOAD_PREPARE), ERR_CODE_unsupported);
}

static const struct load_test tests[] = {
    LOAD_TEST(drives_read_write),
    LOAD_TEST(loads_what_the_own_session_loads),
    LOAD_TEST(a_driver_that_is_not_there),
};

int main(int argc, char **argv)
{
    const struct load_suite suite = {
        .tests = tests, .test_count = COUNT_OF(tests), .begin = begin_odbc, .end = subject_end};
    return suite_main(&suite, argc, argv);
}
