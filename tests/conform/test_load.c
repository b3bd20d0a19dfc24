/*
 * The oltp workload over every session there is, each through a real worker process: what is
 * loaded, what is refused, what is counted, and what is left behind.
 */
#include "tests/support/load_suite.h"

#include <math.h>
#include <signal.h>

/* ---- loading ---- */

struct checksum {
    uint64_t hash;
    int64_t rows;
};

/* FNV-1a over the values without the blanks that char(n) adds. */
static bool add_row(void *context, const struct row *row)
{
    struct checksum *sum = context;
    for (size_t i = 0; i < row->column_count; i++) {
        size_t size = row->columns[i].size;
        while (size > 0 && row->columns[i].data[size - 1] == ' ') {
            size--;
        }
        for (size_t j = 0; j <= size; j++) {
            unsigned char byte = j < size ? (unsigned char)row->columns[i].data[j] : 0;
            sum->hash = (sum->hash ^ byte) * UINT64_C(0x100000001b3);
        }
    }
    sum->rows++;
    return true;
}

static uint64_t table_hash(struct subject *subject, const char *table, int64_t rows)
{
    char sql[128];
    struct checksum sum = {.hash = UINT64_C(0xcbf29ce484222325)};
    snprintf(sql, sizeof sql, "select id, k, c, pad from %s order by id", table);
    MUST(session_execute(subject->session, sql, add_row, &sum, DEADLINE, &subject->err));
    assert_int_equal(sum.rows, rows);
    return sum.hash;
}

static void loads_what_sysbench_loads(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_true(subject->note_count > 0);
    assert_int_equal(subject_number(subject, "select count(*) from sbtest1"), 1200);
    assert_int_equal(subject_number(subject, "select min(id) from sbtest2"), 1);
    assert_int_equal(subject_number(subject, "select max(id) from sbtest2"), 1200);
    assert_int_equal(
        subject_number(subject, "select count(*) from sbtest1 where k < 1 or k > 1200"), 0);
    assert_int_equal(
        subject_number(subject, "select count(*) from sbtest1 where length(trim(c)) <> 119"
                                " or length(trim(pad)) <> 59 or c not like '%-%-%-%-%-%-%-%-%-%'"),
        0);
    assert_true(subject_number(subject, "select count(distinct c) from sbtest1") == 1200);
    assert_int_equal(subject_state(subject, "sbtest1"), MARK_OURS);
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_OURS);
}

/* The same data on every system, whatever happened before. */
static void loads_are_the_same(struct subject *subject)
{
    static uint64_t first;
    MUST(subject_run(subject, LOAD_PREPARE));
    uint64_t hash = table_hash(subject, "sbtest1", 1200);
    first = first == 0 ? hash : first;
    assert_true(hash == first);
    assert_true(hash != table_hash(subject, "sbtest2", 1200));
    MUST(subject_run(subject, LOAD_CLEANUP));
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_true(hash == table_hash(subject, "sbtest1", 1200));
    subject->job.workload.seed = 2;
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_true(hash != table_hash(subject, "sbtest1", 1200));
}

static void prepares_once(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_int_equal(subject->note_count, 0);
    subject->job.workload.rows = 700;
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_true(subject->note_count > 0);
    assert_int_equal(subject_number(subject, "select count(*) from sbtest2"), 700);
}

static void redoes_half_a_load(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_PREPARE));
    subject_sql(subject, "update dbsweep_meta set value = 'loading' where name = 'oltp'");
    subject_sql(subject, "delete from sbtest2 where id > 500");
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_int_equal(subject_number(subject, "select count(*) from sbtest2"), 1200);
    subject_sql(subject, "drop table sbtest1");
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_int_equal(subject_number(subject, "select count(*) from sbtest1"), 1200);
}

static void resets_what_was_changed(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_PREPARE));
    uint64_t hash = table_hash(subject, "sbtest1", 1200);
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_true(hash != table_hash(subject, "sbtest1", 1200));
    MUST(subject_run(subject, LOAD_RESET));
    assert_true(hash == table_hash(subject, "sbtest1", 1200));
    subject->job.workload.mix = "read_only";
    MUST(subject_run(subject, LOAD_DRIVE));
    MUST(subject_run(subject, LOAD_RESET));
    assert_int_equal(subject->note_count, 0);
}

static void cleans_up(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_CLEANUP)); /* nothing there */
    subject->job.workload.tables = 3;
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->job.workload.tables = 1;
    MUST(subject_run(subject, LOAD_CLEANUP));
    assert_int_equal(subject_state(subject, "sbtest1"), MARK_ABSENT);
    assert_int_equal(subject_state(subject, "sbtest3"), MARK_ABSENT);
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
}

/* ---- foreign data ---- */

static void refuses_all(struct subject *subject)
{
    MUST_FAIL(subject_run(subject, LOAD_PREPARE), ERR_CODE_foreign_data);
    assert_int_equal(subject->err.class, ERR_PLAN);
    MUST_FAIL(subject_run(subject, LOAD_RESET), ERR_CODE_foreign_data);
    MUST_FAIL(subject_run(subject, LOAD_CLEANUP), ERR_CODE_foreign_data);
}

static void leaves_a_foreign_table_alone(struct subject *subject)
{
    subject->job.workload.tables = 3;
    subject_sql(subject, "create table sbtest2 (id integer, note varchar(40))");
    subject_sql(subject, "insert into sbtest2 (id, note) values (7, 'dbsweep workload data')");
    refuses_all(subject);
    assert_int_equal(subject_number(subject, "select sum(id) from sbtest2"), 7);
    assert_int_equal(subject_state(subject, "sbtest1"), MARK_ABSENT);
    assert_int_equal(subject_state(subject, "sbtest3"), MARK_ABSENT);
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
    HOLDS(subject->err.text, "sbtest2");
}

static void leaves_a_view_alone(struct subject *subject)
{
    subject_sql(subject, "create view sbtest1 as select 7 as id /* dbsweep workload data */");
    refuses_all(subject);
    assert_int_equal(subject_number(subject, "select id from sbtest1"), 7);
}

static void leaves_foreign_notes_alone(struct subject *subject)
{
    subject_sql(subject, "create table dbsweep_meta (name varchar(64), value varchar(400))");
    subject_sql(subject, "insert into dbsweep_meta (name, value) values ('oltp', 'mine')");
    refuses_all(subject);
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_foreign_data);
    assert_int_equal(
        subject_number(subject, "select count(*) from dbsweep_meta where value = 'mine'"), 1);
    assert_int_equal(subject_state(subject, "sbtest1"), MARK_ABSENT);
}

/* A mark that merely stands somewhere in somebody's text is none. */
static void believes_only_the_mark_itself(struct subject *subject)
{
    if (strcmp(subject->backend, "sqlite") == 0) {
        subject_sql(subject, "create table sbtest1 (id integer primary key,"
                             " c text default 'dbsweep workload data')");
    } else if (strcmp(subject->backend, "mysql") == 0) {
        subject_sql(subject, "create table sbtest1 (id integer primary key)"
                             " comment = 'not dbsweep workload data'");
    } else {
        subject_sql(subject, "create table sbtest1 (id integer primary key)");
        subject_sql(subject, "comment on table sbtest1 is 'not dbsweep workload data'");
    }
    assert_int_equal(subject_state(subject, "sbtest1"), MARK_FOREIGN);
    refuses_all(subject);
}

/* ---- driving ---- */

static const struct load_statement *statement_of(const struct subject *subject, const char *name)
{
    for (size_t i = 0; i < subject->result.statement_count; i++) {
        if (strcmp(subject->result.statements[i].statement, name) == 0) {
            return &subject->result.statements[i];
        }
    }
    fail_msg("no statement %s", name);
    abort();
}

/* Clients may be anywhere in a transaction at either edge. */
static void assert_times(struct subject *subject, const char *name, uint64_t times)
{
    const struct load_statement *statement = statement_of(subject, name);
    int64_t slack = (int64_t)(times * (uint64_t)subject->job.workload.clients +
                              times * subject->result.transactions[0].retry_count);
    int64_t difference =
        (int64_t)statement->latency->count - (int64_t)(times * subject_done(subject));
    if (difference > slack || difference < -slack) {
        fail_msg("%s ran %llu times in %llu transactions", name,
                 (unsigned long long)statement->latency->count,
                 (unsigned long long)subject_done(subject));
    }
}

static void drives_every_mix(struct subject *subject)
{
    static const char *const mixes[] = {"read_only",    "read_write",   "write_only",
                                        "point_select", "update_index", "update_non_index",
                                        "insert",       "delete"};
    subject->job.workload.measure_ms = 600;
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        subject->job.workload.mix = mixes[i];
        for (int prepared = 0; prepared < 2; prepared++) {
            subject->job.workload.prepared = prepared == 1;
            subject->job.workload.skip_trx = i % 2 == 1 && prepared == 0;
            MUST(subject_run(subject, LOAD_RESET));
            MUST(subject_run(subject, LOAD_DRIVE));
            MUST(subject_run(subject, LOAD_CHECK));
            assert_int_equal(subject->result.transaction_count, 1);
            assert_string_equal(subject->result.transactions[0].name, mixes[i]);
            assert_int_equal(subject->result.error_row_count, 0);
            assert_true(subject_done(subject) > 0);
        }
    }
}

static void counts_statements(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->job.workload.measure_ms = 2000;
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_times(subject, "point_select", 10);
    assert_times(subject, "simple_range", 1);
    assert_times(subject, "distinct_range", 1);
    assert_times(subject, "index_update", 1);
    assert_times(subject, "delete", 1);
    assert_times(subject, "insert", 1);
    assert_times(subject, "begin", 1);
    assert_times(subject, "commit", 1);
    assert_true(subject->result.statement_count >= 11);
    assert_true(subject->result.measured_ns == 2 * NS_PER_S);
    assert_int_equal(subject->result.client_count, 4);
    assert_int_equal(subject->result.unfinished_count, 0);
    assert_true(subject->result.driver_cpu_s > 0);
    assert_string_equal(subject->result.distribution, "uniform");
}

/* Every second of the window, and nothing counted twice or lost. */
static void reports_every_second(struct subject *subject)
{
    double done = 0;
    subject->job.workload.mix = "point_select";
    subject->job.workload.warm_up_ms = 1300;
    subject->job.workload.measure_ms = 2500;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_int_equal(subject->result.second_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(subject->result.seconds[i].index, i);
        done += subject->result.seconds[i].throughput_per_s * (i == 2 ? 0.5 : 1);
    }
    assert_true(fabs(done - (double)subject_done(subject)) < 1);
    assert_true(subject->second_count >= 5);
    assert_true(subject->result.warm_up_ns == 1300 * NS_PER_MS);
}

/* What the client counts is what the server has: those that ended after the window are not
 * counted, and are there. */
static void counts_what_the_server_counts(struct subject *subject)
{
    subject->job.workload.mix = "insert";
    subject->job.workload.clients = 8;
    subject->job.workload.measure_ms = 2000;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    int64_t rows = subject_number(subject, "select (select count(*) from sbtest1)"
                                           " + (select count(*) from sbtest2)") -
                   2400;
    int64_t done = (int64_t)subject_done(subject);
    assert_in_range((LargestIntegralType)rows, (LargestIntegralType)done,
                    (LargestIntegralType)(done + 8));
    MUST(subject_run(subject, LOAD_CHECK));
}

/* ---- what goes wrong ---- */

static void make_some_updates_fail(struct subject *subject, const char *condition)
{
    char sql[256];
    if (strcmp(subject->backend, "sqlite") == 0) {
        snprintf(sql, sizeof sql,
                 "create trigger refuse before update on sbtest1 when %s begin"
                 " select raise(abort, 'not this row'); end",
                 condition);
        subject_sql(subject, sql);
        return;
    }
    if (strcmp(subject->backend, "mysql") == 0) {
        snprintf(sql, sizeof sql,
                 "create trigger refuse before update on sbtest1 for each row if %s then"
                 " signal sqlstate '45000' set message_text = 'not this row'; end if",
                 condition);
        subject_sql(subject, sql);
        return;
    }
    snprintf(sql, sizeof sql,
             "alter table sbtest1 add constraint refuse check (not (%s)) not valid", condition);
    for (char *at = strstr(sql, "new."); at != NULL; at = strstr(sql, "new.")) {
        memmove(at, at + 4, strlen(at + 4) + 1);
    }
    subject_sql(subject, sql);
}

static void fails_over_its_error_budget(struct subject *subject)
{
    subject->job.workload.mix = "update_index";
    subject->job.workload.tables = 1;
    MUST(subject_run(subject, LOAD_PREPARE));
    make_some_updates_fail(subject, "new.id % 5 = 0");
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "transactions failed, over 1 %");
    subject->job.workload.error_budget_pct = 90;
    MUST(subject_run(subject, LOAD_DRIVE));
    const struct load_transaction *transaction = &subject->result.transactions[0];
    assert_int_equal(subject->result.error_row_count, 1);
    assert_int_equal(subject->result.errors[0].count, transaction->error_count);
    double share = (double)transaction->error_count /
                   (double)(transaction->error_count + transaction->latency->count);
    assert_true(share > 0 && share < 0.6); /* about 0.2, of few on a slow disk */
    assert_true(statement_of(subject, "index_update")->error_count == transaction->error_count);
}

static void fails_where_nothing_completes(struct subject *subject)
{
    subject->job.workload.mix = "update_index";
    subject->job.workload.tables = 1;
    subject->job.workload.error_budget_pct = 100;
    MUST(subject_run(subject, LOAD_PREPARE));
    make_some_updates_fail(subject, "new.id > 0");
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "no transaction completed");
}

static void fails_early_where_it_is_hopeless(struct subject *subject)
{
    subject->job.workload.mix = "update_index";
    subject->job.workload.tables = 1;
    subject->job.workload.measure_ms = 50000;
    MUST(subject_run(subject, LOAD_PREPARE));
    make_some_updates_fail(subject, "new.id > 0");
    int64_t begun = clock_now_ns();
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "cannot come back");
    assert_true(clock_now_ns() - begun < 40 * NS_PER_S);
}

static void refuses_to_drive_what_is_not_loaded(struct subject *subject)
{
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "not loaded");
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->job.workload.rows = 1300;
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
}

static void finds_rows_missing(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_CHECK));
    subject_sql(subject, "delete from sbtest2 where id = 17");
    MUST_FAIL(subject_run(subject, LOAD_CHECK), ERR_CODE_workload_check);
    subject_sql(subject, "insert into sbtest2 (id, k, c, pad) values (1999, 1, '', '')");
    MUST_FAIL(subject_run(subject, LOAD_CHECK), ERR_CODE_workload_check);
}

/* Few rows and many writers: conflicts are retried, and nothing is lost by it. PostgreSQL looks for
 * deadlocks only after a time, MariaDB at once. */
static void retries_conflicts(struct subject *subject)
{
    char connect[600];
    bool has_deadlocks = strcmp(subject->backend, "sqlite") != 0;
    bool is_postgresql = strcmp(subject->backend, "postgresql") == 0;
    snprintf(connect, sizeof connect, "%s%s", subject->connect,
             is_postgresql ? " options='-c deadlock_timeout=5ms'" : "");
    subject->job.session.connect = connect;
    subject->job.workload.mix = "write_only";
    subject->job.workload.clients = 8;
    subject->job.workload.tables = 1;
    subject->job.workload.rows = 12;
    subject->job.workload.measure_ms = 2000;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_int_equal(subject_number(subject, "select count(*) from sbtest1"), 12);
    MUST(subject_run(subject, LOAD_CHECK));
    assert_true(!has_deadlocks || subject->result.transactions[0].retry_count > 0);
}

static void stop_at_once(void *context, const struct load_second *second)
{
    (void)second;
    subject_second(context, second);
    stop_ask(SIGINT);
}

static void ends_when_a_stop_is_asked(struct subject *subject)
{
    const struct load_progress progress = {.context = subject, .second = stop_at_once};
    subject->job.workload.measure_ms = 50000;
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->job.operation = LOAD_DRIVE;
    int64_t begun = clock_now_ns();
    MUST_FAIL(load_run(subject->host, NULL, &subject->job, DEADLINE, &progress, &subject->arena,
                       &subject->result, &subject->err),
              ERR_CODE_stopped);
    stop_clear();
    assert_true(clock_now_ns() - begun < 30 * NS_PER_S);
}

static void a_worker_that_does_not_run_is_no_points_fault(struct subject *subject)
{
    static const char *const programs[] = {"/nonexistent/dbsweep", "false"};
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        err_clear(&subject->err);
        assert_false(load_run(subject->host, programs[i], &subject->job, DEADLINE, NULL,
                              &subject->arena, &subject->result, &subject->err));
        assert_int_equal(subject->err.class, ERR_TARGET);
    }
}

static const struct load_test tests[] = {
    LOAD_TEST(loads_what_sysbench_loads),
    LOAD_TEST(loads_are_the_same),
    LOAD_TEST(prepares_once),
    LOAD_TEST(redoes_half_a_load),
    LOAD_TEST(resets_what_was_changed),
    LOAD_TEST(cleans_up),
    LOAD_TEST(leaves_a_foreign_table_alone),
    LOAD_TEST(leaves_a_view_alone),
    LOAD_TEST(leaves_foreign_notes_alone),
    LOAD_TEST(believes_only_the_mark_itself),
    LOAD_TEST(drives_every_mix),
    LOAD_TEST(counts_statements),
    LOAD_TEST(reports_every_second),
    LOAD_TEST(counts_what_the_server_counts),
    LOAD_TEST(fails_over_its_error_budget),
    LOAD_TEST(fails_where_nothing_completes),
    LOAD_TEST(a_worker_that_does_not_run_is_no_points_fault),
    LOAD_TEST(fails_early_where_it_is_hopeless),
    LOAD_TEST(refuses_to_drive_what_is_not_loaded),
    LOAD_TEST(finds_rows_missing),
    LOAD_TEST(retries_conflicts),
    LOAD_TEST(ends_when_a_stop_is_asked),
};

int main(int argc, char **argv)
{
    const struct load_suite suite = {
        .tests = tests, .test_count = COUNT_OF(tests), .begin = subject_begin, .end = subject_end};
    return suite_main(&suite, argc, argv);
}
