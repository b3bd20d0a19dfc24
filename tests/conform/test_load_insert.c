/*
 * The insert workload over every session there is, each through a real worker process: the table in
 * both forms, runs that end by rows and by time, what is counted, what is found broken, and what is
 * reset.
 */
#include "tests/support/load_suite.h"

#include <math.h>

static void begin(struct subject *subject)
{
    subject_begin(subject);
    struct workload_spec *workload = &subject->job.workload;
    workload->kind = "insert";
    workload->clients = 2;
    workload->index_form = "current";
    workload->insert_rows = 10500;
    workload->complete_within_ms = 60000;
    workload->rows_per_insert = 1000;
    workload->secondary_indexes = 3;
    workload->drain_ms = 20000;
}

static void end(struct subject *subject)
{
    subject_close_session(subject);
}

static bool run(struct subject *subject, enum load_operation operation)
{
    return subject_run(subject, operation);
}

static void start_anew(struct subject *subject)
{
    MUST(run(subject, LOAD_CLEANUP));
    MUST(run(subject, LOAD_PREPARE));
}

static int64_t count_rows(struct subject *subject)
{
    return subject_number(subject, "select count(*) from purchases_index");
}

static const struct load_transaction *transaction_of(const struct subject *subject,
                                                     const char *name)
{
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        if (strcmp(subject->result.transactions[i].name, name) == 0) {
            return &subject->result.transactions[i];
        }
    }
    fail_msg("no transaction %s", name);
    abort();
}

static double metric(struct subject *subject, const char *name)
{
    struct load_metric *metrics = NULL;
    size_t count = 0;
    MUST(load_result_metrics(&subject->result, &subject->arena, &metrics, &count, &subject->err));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            return metrics[i].value;
        }
    }
    return NAN;
}

/* ---- foreign data ---- */

static void leaves_a_foreign_table_alone(struct subject *subject)
{
    static const enum load_operation operations[] = {LOAD_PREPARE, LOAD_RESET, LOAD_CLEANUP};
    MUST(run(subject, LOAD_CLEANUP));
    subject_sql(subject, "create table purchases_index (id integer)");
    subject_sql(subject, "insert into purchases_index (id) values (7)");
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        MUST_FAIL(run(subject, operations[i]), ERR_CODE_foreign_data);
        HOLDS(subject->err.text, "purchases_index");
    }
    assert_int_equal(subject_number(subject, "select sum(id) from purchases_index"), 7);
    subject_sql(subject, "drop table purchases_index");
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
    subject_sql(subject, "create table t (i integer)"); /* an SQLite file must be there */
    subject_sql(subject, "drop table t");
    MUST_FAIL(run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.hint, "load insert prepare");
    MUST_FAIL(run(subject, LOAD_CHECK), ERR_CODE_workload_check);
}

/* ---- the table ---- */

static int64_t count_index(struct subject *subject, const char *index, const char *columns)
{
    char sql[600];
    if (strcmp(subject->backend, "mysql") == 0) {
        snprintf(sql, sizeof sql,
                 "select count(*) from (select group_concat(column_name order by seq_in_index"
                 " separator ', ') as c from information_schema.statistics where table_schema ="
                 " database() and index_name = 'purchases_index_%s') i where c = '%s'",
                 index, columns);
    } else if (strcmp(subject->backend, "postgresql") == 0) {
        snprintf(sql, sizeof sql,
                 "select count(*) from pg_indexes where indexname = 'purchases_index_%s'"
                 " and indexdef like '%%(%s)'",
                 index, columns);
    } else {
        snprintf(sql, sizeof sql,
                 "select count(*) from sqlite_schema where type = 'index'"
                 " and name = 'purchases_index_%s' and sql like '%%(%s)'",
                 index, columns);
    }
    return subject_number(subject, sql);
}

static void has_both_forms(struct subject *subject)
{
    start_anew(subject);
    assert_int_equal(count_index(subject, "marketsegment", "productid, customerid, price"), 1);
    assert_int_equal(count_index(subject, "registersegment", "cashregisterid, customerid, price"),
                     1);
    assert_int_equal(count_index(subject, "pdc", "price, dateandtime, customerid"), 1);
    subject->job.workload.index_form = "2009";
    MUST_FAIL(run(subject, LOAD_DRIVE), ERR_CODE_workload);
    subject->job.workload.initial_rows = 2500;
    MUST(run(subject, LOAD_PREPARE));
    assert_int_equal(count_index(subject, "marketsegment", "price, customerid"), 1);
    assert_int_equal(count_index(subject, "registersegment", "cashregisterid, price, customerid"),
                     1);
    assert_int_equal(count_index(subject, "pdc", "price, dateandtime, customerid"), 1);
    assert_int_equal(subject_state(subject, "purchases_index"), MARK_OURS);
    assert_int_equal(count_rows(subject), 2500);
    assert_int_equal(subject_number(subject, "select count(*) from purchases_index"
                                             " where price <> round(price)") > 2000,
                     1);
    MUST(run(subject, LOAD_CHECK_ALL));
    subject->job.workload.secondary_indexes = 1;
    MUST(run(subject, LOAD_PREPARE));
    assert_int_equal(count_index(subject, "marketsegment", "price, customerid"), 1);
    assert_int_equal(count_index(subject, "pdc", "price, dateandtime, customerid"), 0);
}

/* ---- runs ---- */

/* The last statement is shorter. */
static void ends_by_rows(struct subject *subject)
{
    start_anew(subject);
    subject->job.workload.measure_ms = 1; /* is not asked */
    MUST(run(subject, LOAD_DRIVE));
    assert_int_equal(count_rows(subject), 10500);
    assert_int_equal(transaction_of(subject, "insert")->latency->count, 11);
    assert_int_equal(subject->result.transaction_count, 1);
    assert_true(metric(subject, "rows_inserted") == 10500);
    double elapsed_s = metric(subject, "elapsed_s");
    assert_true(elapsed_s > 0 && elapsed_s < 60);
    assert_true(fabs(metric(subject, "rows_per_s") * elapsed_s - 10500) < 1);
    double deciles_s = 0;
    for (int i = 1; i <= 10; i++) {
        char name[40];
        snprintf(name, sizeof name, "decile_%d_rows_per_s", i);
        deciles_s += 1050 / metric(subject, name);
    }
    assert_true(fabs(deciles_s - elapsed_s) < 1e-3 * elapsed_s);
    assert_true(metric(subject, "initial_rows_per_s") > 0);
    assert_true(metric(subject, "terminal_rows_per_s") > 0);
    assert_true(metric(subject, "longest_stall_ms") > 0 &&
                metric(subject, "longest_stall_ms") <= 1000 * elapsed_s);
    MUST(run(subject, LOAD_CHECK_ALL));
    MUST(run(subject, LOAD_DRIVE)); /* goes on, with other rows */
    assert_int_equal(count_rows(subject), 21000);
    assert_true(subject_number(subject,
                               "select count(*) from (select distinct customerid,"
                               " productid, cashregisterid from purchases_index) d") > 20900);
    MUST(run(subject, LOAD_CHECK));
}

/* What would have been due after the last row is no backlog. */
static void ends_by_rows_at_a_rate(struct subject *subject)
{
    start_anew(subject);
    subject->job.workload.insert_rows = 2000;
    subject->job.workload.rows_per_insert = 100;
    subject->job.workload.rate_per_s = 40;
    MUST(run(subject, LOAD_DRIVE));
    assert_int_equal(count_rows(subject), 2000);
    assert_int_equal(subject->result.due_count, 20);
    assert_int_equal(subject->result.backlog_count, 0);
    assert_true(metric(subject, "elapsed_s") > 0.4);
    MUST(run(subject, LOAD_CHECK));
}

/* The same rows, whoever inserts them, on every system. */
static void rows_are_the_same(struct subject *subject)
{
    static const char sum[] =
        "select sum(customerid % 1009 * (productid % 97) + cashregisterid * price)"
        " from purchases_index";
    static int64_t first_sum;
    for (int clients = 1; clients <= 3; clients += 2) {
        start_anew(subject);
        subject->job.workload.clients = clients;
        MUST(run(subject, LOAD_DRIVE));
        int64_t found = subject_number(subject, sum);
        first_sum = first_sum == 0 ? found : first_sum;
        assert_true(found == first_sum && found != 0);
    }
}

static void ends_by_time(struct subject *subject)
{
    start_anew(subject);
    subject->job.workload.insert_rows = 0;
    subject->job.workload.rows_per_insert = 50;
    subject->job.workload.warm_up_ms = 500;
    subject->job.workload.measure_ms = 1500;
    MUST(run(subject, LOAD_DRIVE));
    assert_int_equal(subject->result.measured_ns, INT64_C(1500000000));
    double counted = 50 * (double)transaction_of(subject, "insert")->latency->count;
    double inserted = metric(subject, "rows_inserted");
    assert_true(inserted > 0 && fabs(inserted - counted) <= 2 * 50);
    assert_true((double)count_rows(subject) > inserted); /* the warm-up's are there too */
    assert_true(fabs(metric(subject, "rows_per_s") - inserted / 1.5) < 1e-6 * inserted);
    MUST(run(subject, LOAD_CHECK_ALL));
}

static void fails_what_is_not_done_in_time(struct subject *subject)
{
    start_anew(subject);
    subject->job.workload.insert_rows = INT64_C(1000000000);
    subject->job.workload.complete_within_ms = 1000;
    MUST_FAIL(run(subject, LOAD_DRIVE), ERR_CODE_timeout);
    HOLDS(subject->err.text, "of 1000000000 rows were inserted within 1 s");
    HOLDS(subject->err.hint, "complete_within");
    MUST_FAIL(run(subject, LOAD_CHECK), ERR_CODE_workload_check);
    HOLDS(subject->err.text, "a run did not end");
    subject->job.workload.insert_rows = 3000; /* what is there is counted, and it goes on */
    subject->job.workload.complete_within_ms = 60000;
    int64_t before = count_rows(subject);
    MUST(run(subject, LOAD_DRIVE));
    assert_int_equal(count_rows(subject), before + 3000);
    MUST(run(subject, LOAD_CHECK));
}

static void queries_and_deletes_beside(struct subject *subject)
{
    static const char *const queries[] = {"query_by_key", "query_marketsegment",
                                          "query_registersegment", "query_pdc"};
    subject->job.workload.clients = 4;
    subject->job.workload.query_clients = 2;
    subject->job.workload.initial_rows = 8000;
    subject->job.workload.insert_rows = 20000;
    subject->job.workload.delete_oldest = true;
    start_anew(subject);
    /* 1501 ids without a row, as tries that failed leave them: as many rows more are to go later */
    subject_sql(subject, "update purchases_index set transactionid = -transactionid"
                         " where transactionid <= 1500");
    MUST(run(subject, LOAD_DRIVE));
    assert_in_range(count_rows(subject), 8000, 9000); /* the last tries may have failed, too */
    assert_true(subject_number(subject, "select min(transactionid) from purchases_index") >= 19000);
    assert_int_equal(transaction_of(subject, "insert")->latency->count, 20);
    const struct load_transaction *query = transaction_of(subject, "query");
    assert_true(query->latency->count > 0 && query->error_count == 0);
    assert_true(metric(subject, "queries_per_s") > 0);
    assert_int_equal(subject->result.error_row_count, 0);
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        bool is_there = false;
        for (size_t j = 0; j < subject->result.statement_count; j++) {
            is_there = is_there || strcmp(subject->result.statements[j].statement, queries[i]) == 0;
        }
        if (!is_there && query->latency->count > 50) {
            fail_msg("no %s among %llu queries", queries[i],
                     (unsigned long long)query->latency->count);
        }
    }
    MUST(run(subject, LOAD_CHECK_ALL));
}

/* Rows whose statement is refused are still to come: here until the budget of errors is used up. */
static void gives_up_what_is_refused(struct subject *subject)
{
    if (strcmp(subject->backend, "postgresql") != 0) {
        return; /* one system with checks that bind suffices */
    }
    start_anew(subject);
    subject_sql(subject, "alter table purchases_index add check (transactionid <= 5000)");
    MUST_FAIL(run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "transactions failed within");
    assert_in_range(count_rows(subject), 1000, 5000);
}

/* ---- check ---- */

static void finds_rows_that_are_missing(struct subject *subject)
{
    start_anew(subject);
    MUST(run(subject, LOAD_DRIVE));
    MUST(run(subject, LOAD_CHECK));
    subject_sql(subject, "delete from purchases_index where transactionid = 17");
    MUST_FAIL(run(subject, LOAD_CHECK), ERR_CODE_workload_check);
    HOLDS(subject->err.text, "holds 10499 rows, but 10500 were inserted and 0 of them deleted");
    subject_sql(subject, "insert into purchases_index (dateandtime, cashregisterid, customerid,"
                         " productid, price, data) values (current_timestamp, 1000, 1, 1, 1,"
                         " 'aaaaaaaaaa')");
    MUST(run(subject, LOAD_CHECK));
    MUST_FAIL(run(subject, LOAD_CHECK_ALL), ERR_CODE_workload_check);
    HOLDS(subject->err.text, "1 rows of purchases_index hold values that nobody inserted");
    subject_sql(subject, strcmp(subject->backend, "mysql") == 0
                             ? "drop index purchases_index_pdc on purchases_index"
                             : "drop index purchases_index_pdc");
    MUST_FAIL(run(subject, LOAD_CHECK), ERR_CODE_workload_check);
    HOLDS(subject->err.text, "index purchases_index_pdc is missing");
}

/* ---- reset and cleanup ---- */

static void resets_and_cleans_up(struct subject *subject)
{
    subject->job.workload.initial_rows = 1500;
    start_anew(subject);
    assert_true(subject->note_count > 0);
    MUST(run(subject, LOAD_PREPARE)); /* is there */
    assert_int_equal(subject->note_count, 0);
    MUST(run(subject, LOAD_DRIVE));
    MUST(run(subject, LOAD_RESET));
    assert_int_equal(count_rows(subject), 1500);
    MUST(run(subject, LOAD_CHECK_ALL));
    MUST(run(subject, LOAD_CLEANUP));
    assert_int_equal(subject_state(subject, "purchases_index"), MARK_ABSENT);
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
    MUST(run(subject, LOAD_CLEANUP));
}

static void leave(struct subject *subject)
{
    (void)!run(subject, LOAD_CLEANUP);
}

int main(int argc, char **argv)
{
    static const struct load_test tests[] = {
        LOAD_TEST(leaves_a_foreign_table_alone),
        LOAD_TEST(has_both_forms),
        LOAD_TEST(ends_by_rows),
        LOAD_TEST(ends_by_rows_at_a_rate),
        LOAD_TEST(rows_are_the_same),
        LOAD_TEST(ends_by_time),
        LOAD_TEST(fails_what_is_not_done_in_time),
        LOAD_TEST(queries_and_deletes_beside),
        LOAD_TEST(gives_up_what_is_refused),
        LOAD_TEST(finds_rows_that_are_missing),
        LOAD_TEST(resets_and_cleans_up),
    };
    static const struct load_suite suite = {
        .tests = tests, .test_count = COUNT_OF(tests), .begin = begin, .end = end, .leave = leave};
    return suite_main(&suite, argc, argv);
}
