/*
 * Drives of a server that fails under them: it stops answering, ends, refuses connections, holds
 * locks; and workers that lose their parent or are killed. Each ends in time, with a reason.
 */
#include "tests/support/load_subjects.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static struct subject the_subject;

#define CLIENTS "application_name = 'dbsweep-test-load'"

/* ---- something that happens in the middle of a drive ---- */

struct happening {
    struct subject *subject;
    void (*happen)(struct subject *subject);
    bool has_happened;
};

static void on_second(void *context, const struct load_second *second)
{
    struct happening *happening = context;
    if (second->phase == LOAD_PHASE_MEASURE && !happening->has_happened) {
        happening->has_happened = true;
        happening->happen(happening->subject);
    }
}

static bool drive_while(struct subject *subject, void (*happen)(struct subject *))
{
    struct happening happening = {.subject = subject, .happen = happen};
    const struct load_progress progress = {.context = &happening, .second = on_second};
    subject->job.operation = LOAD_DRIVE;
    bool ok = load_run(subject->host, NULL, &subject->job, DEADLINE, &progress, &subject->arena,
                       &subject->result, &subject->err);
    assert_true(happening.has_happened);
    return ok;
}

/* Waits until no client's connection is left on the server. */
static void wait_for_no_clients(struct subject *subject)
{
    int64_t deadline = clock_deadline_ms(20000);
    while (subject_number(subject, "select count(*) from pg_stat_activity where " CLIENTS) > 0) {
        if (clock_passed(deadline)) {
            fail_msg("connections of a drive that is over stay on the server");
        }
        clock_pause_until(clock_deadline_ms(50));
    }
}

static bool signal_backend(void *context, const struct row *row)
{
    const int *number = context;
    kill((pid_t)strtol(row->columns[0].data, NULL, 10), *number);
    return true;
}

static void signal_backends(struct subject *subject, int number)
{
    MUST(session_execute(subject->session, "select pid from pg_stat_activity where " CLIENTS,
                         signal_backend, &number, DEADLINE, &subject->err));
}

/* ---- the server ---- */

static void stop_backends(struct subject *subject)
{
    signal_backends(subject, SIGSTOP);
}

/* Only the clock can end this one: no client hears anything any more. */
static void a_server_that_stops_answering_ends_it(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.clients = 8;
    subject->job.workload.measure_ms = 3000;
    subject->job.workload.drain_ms = 1000;
    MUST(subject_run(subject, LOAD_PREPARE));
    int64_t begun = clock_now_ns();
    bool ok = drive_while(subject, stop_backends);
    int64_t elapsed = clock_now_ns() - begun;
    signal_backends(subject, SIGCONT);
    assert_false(ok);
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    assert_int_equal(subject->err.class, ERR_POINT);
    HOLDS(subject->err.text, "8 of 8 clients got no answer");
    assert_true(elapsed < 25 * NS_PER_S);
    wait_for_no_clients(subject);
}

static void restart_server(struct subject *subject)
{
    subject_close_session(subject);
    assert_int_equal(system(getenv("DBSWEEP_TEST_PG_STOP")), 0);
    assert_int_equal(system(getenv("DBSWEEP_TEST_PG_START")), 0);
    subject_open_session(subject);
}

static void a_server_that_restarts_ends_it(void **state)
{
    struct subject *subject = *state;
    if (getenv("DBSWEEP_TEST_PG_STOP") == NULL) {
        print_message("skipped: DBSWEEP_TEST_PG_STOP does not say how to stop the server\n");
        skip();
    }
    subject->job.workload.measure_ms = 20000;
    MUST(subject_run(subject, LOAD_PREPARE));
    int64_t begun = clock_now_ns();
    assert_false(drive_while(subject, restart_server));
    assert_int_equal(subject->err.code, ERR_CODE_connection);
    assert_int_equal(subject->err.class, ERR_POINT);
    /* Which of the two depends on whether the client was writing when the server went. */
    if (strstr(subject->err.text, "terminat") == NULL) {
        HOLDS(subject->err.text, "closed the connection");
    }
    HOLDS(subject->err.context[0], "client ");
    assert_true(clock_now_ns() - begun < 15 * NS_PER_S);
}

static void end_one(struct subject *subject)
{
    subject_sql(subject,
                "select pg_terminate_backend(pid) from pg_stat_activity where " CLIENTS " limit 1");
}

static void one_lost_client_ends_it(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.measure_ms = 20000;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST_FAIL(drive_while(subject, end_one), ERR_CODE_connection);
    HOLDS(subject->err.native_text, "57P01");
    wait_for_no_clients(subject);
}

static void fewer_clients_than_asked_are_an_error(void **state)
{
    struct subject *subject = *state;
    int64_t limit = subject_number(subject, "show max_connections");
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->job.workload.clients = limit + 50;
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    assert_int_equal(subject->err.class, ERR_POINT);
    HOLDS(subject->err.text, "clients could connect");
    HOLDS(subject->err.text, "too many clients");
    wait_for_no_clients(subject);
}

/* Many clients on one loop. */
static void a_loop_drives_many_clients(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.clients = 60;
    subject->job.workload.threads = 1;
    subject->job.workload.mix = "point_select";
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_int_equal(subject->result.client_count, 60);
    assert_true(subject_done(subject) > 60);
}

static void lock_a_table(struct subject *subject)
{
    subject_sql(subject, "begin");
    subject_sql(subject, "lock table sbtest1 in access exclusive mode");
}

/* What waits on the server is not left to wait there. */
static void work_that_never_ends_is_cancelled(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.tables = 1;
    subject->job.workload.measure_ms = 2000;
    subject->job.workload.drain_ms = 500;
    subject->job.workload.mix = "point_select";
    MUST(subject_run(subject, LOAD_PREPARE));
    bool ok = drive_while(subject, lock_a_table);
    wait_for_no_clients(subject); /* while the lock is still held */
    subject_sql(subject, "rollback");
    assert_false(ok);
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    HOLDS(subject->err.text, "4 of 4 clients got no answer until 500 ms after");
}

static void let_go_soon(struct subject *subject)
{
    lock_a_table(subject);
    subject_sql(subject, "select pg_sleep(2)");
    subject_sql(subject, "rollback");
}

/* What ends within the drain is no error, and is not counted. */
static void the_drain_lets_work_end(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.tables = 1;
    subject->job.workload.measure_ms = 2000;
    subject->job.workload.drain_ms = 15000;
    subject->job.workload.mix = "point_select";
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(drive_while(subject, let_go_soon));
    assert_true(subject->result.transactions[0].latency->max_ns < 2 * (uint64_t)NS_PER_S);
    assert_int_equal(subject->result.unfinished_count, 0);
}

static int64_t commits(struct subject *subject)
{
    return subject_number(subject, "select xact_commit from pg_stat_database"
                                   " where datname = current_database()");
}

/* Besides the clients the server counts connections, this session and its own helpers. */
static void transactions_are_those_of_the_server(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.clients = 8;
    subject->job.workload.measure_ms = 2000;
    subject->job.workload.mix = "read_only";
    MUST(subject_run(subject, LOAD_PREPARE));
    wait_for_no_clients(subject);
    int64_t before = commits(subject);
    MUST(subject_run(subject, LOAD_DRIVE));
    wait_for_no_clients(subject);
    int64_t done = (int64_t)subject_done(subject);
    int64_t deadline = clock_deadline_ms(10000);
    while (commits(subject) - before < done && !clock_passed(deadline)) {
        clock_pause_until(clock_deadline_ms(50)); /* counts arrive late */
    }
    int64_t delta = commits(subject) - before;
    if (delta < done || delta > done + done / 10 + 400) {
        fail_msg("%lld transactions counted, the server says %lld", (long long)done,
                 (long long)delta);
    }
}

static void all_that_has_the_name_is_foreign(void **state)
{
    struct subject *subject = *state;
    static const char *const rows[][2] = {
        {"create sequence sbtest1", "drop sequence sbtest1"},
        {"create table other (id int); create index sbtest1 on other (id)", "drop table other"},
        {"create materialized view sbtest1 as select 1 as id;"
         " comment on materialized view sbtest1 is 'dbsweep workload data'",
         "drop materialized view sbtest1"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        subject_sql(subject, rows[i][0]);
        bool prepared = subject_run(subject, LOAD_PREPARE);
        struct err why = subject->err;
        subject_sql(subject, rows[i][1]);
        assert_false(prepared);
        assert_int_equal(why.code, ERR_CODE_foreign_data);
    }
}

/* ---- processes ---- */

static void kill_child(struct subject *subject)
{
    char path[64];
    char text[256] = "";
    (void)subject;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_int_equal(kill((pid_t)strtol(text, NULL, 10), SIGKILL), 0);
}

static void a_killed_worker_is_an_error(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.measure_ms = 20000;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST_FAIL(drive_while(subject, kill_child), ERR_CODE_workload);
    HOLDS(subject->err.text, "signal 9");
    wait_for_no_clients(subject);
}

static void die(struct subject *subject)
{
    (void)subject;
    kill(getpid(), SIGKILL);
}

static void a_worker_ends_with_its_parent(void **state)
{
    struct subject *subject = *state;
    subject->job.workload.measure_ms = 50000;
    MUST(subject_run(subject, LOAD_PREPARE));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)drive_while(subject, die);
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    wait_for_no_clients(subject);
}

/* ---- all of them ---- */

static int begin_test(void **state)
{
    struct subject *subject = &the_subject;
    *state = subject;
    if (subject->absent == NULL) {
        subject_begin(subject);
    }
    return 0;
}

static int end_test(void **state)
{
    struct subject *subject = *state;
    if (subject->absent == NULL) {
        subject_end(subject);
    }
    return 0;
}

static void no_server(void **state)
{
    (void)state;
    print_message("skipped: %s\n", the_subject.absent);
    skip();
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)
    const struct CMUnitTest tests[] = {
        TEST(a_server_that_stops_answering_ends_it),
        TEST(a_server_that_restarts_ends_it),
        TEST(one_lost_client_ends_it),
        TEST(fewer_clients_than_asked_are_an_error),
        TEST(a_loop_drives_many_clients),
        TEST(work_that_never_ends_is_cancelled),
        TEST(the_drain_lets_work_end),
        TEST(transactions_are_those_of_the_server),
        TEST(all_that_has_the_name_is_foreign),
        TEST(a_killed_worker_is_an_error),
        TEST(a_worker_ends_with_its_parent),
    };
    const struct CMUnitTest absent[] = {cmocka_unit_test(no_server)};
    subject_serve(argc, argv);
    stop_install();
    subject_find(&the_subject, "postgresql");
    if (argc == 2) {
        cmocka_set_test_filter(argv[1]);
    }
    int failed = the_subject.absent == NULL ? cmocka_run_group_tests(tests, NULL, NULL)
                                            : cmocka_run_group_tests(absent, NULL, NULL);
    subject_forget(&the_subject);
    return failed;
}
