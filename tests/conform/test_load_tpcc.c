/*
 * The tpcc workload over every session there is, each through a real worker process: what is
 * loaded, what is driven and counted, and what is reset. What its checks find is in
 * test_load_tpcc_check.c.
 */
#include "tests/support/tpcc_subject.h"

#include <math.h>

static const char *const tables[] = {"warehouse", "district",   "customer", "history", "new_order",
                                     "orders",    "order_line", "item",     "stock"};

static const char *value_of(struct subject *subject, const char *sql)
{
    const char *text = NULL;
    MUST(
        session_value(subject->session, sql, LONG_DEADLINE, &subject->arena, &text, &subject->err));
    return text != NULL ? text : "";
}

/* ---- hashes ---- */

struct checksum {
    uint64_t hash;
    int64_t rows;
};

/* FNV-1a over the values, without the blanks that char(n) adds. */
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

/* Without numbers that have a fraction, which systems write in different ways. */
static uint64_t data_hash(struct subject *subject)
{
    static const char *const queries[] = {
        "select w_id, w_name, w_street_1, w_zip from warehouse order by w_id",
        "select d_id, d_name, d_city, d_state, d_next_o_id from district order by d_id",
        "select c_d_id, c_id, c_first, c_last, c_phone, c_credit, c_data from customer"
        " where c_id % 29 = 0 order by c_d_id, c_id",
        "select h_d_id, h_c_id, h_data from history where h_c_id % 37 = 0 order by h_d_id, h_c_id",
        "select no_d_id, no_o_id from new_order order by no_d_id, no_o_id",
        "select o_d_id, o_id, o_c_id, o_carrier_id, o_ol_cnt from orders order by o_d_id, o_id",
        "select ol_d_id, ol_o_id, ol_number, ol_i_id, ol_quantity, ol_dist_info from order_line"
        " where ol_o_id % 31 = 0 order by ol_d_id, ol_o_id, ol_number",
        "select s_i_id, s_quantity, s_dist_01, s_dist_10, s_ytd, s_order_cnt, s_data from stock"
        " where s_i_id % 101 = 0 order by s_i_id"};
    struct checksum sum = {.hash = UINT64_C(0xcbf29ce484222325)};
    for (size_t i = 0; i < COUNT_OF(queries); i++) {
        MUST(session_execute(subject->session, queries[i], add_row, &sum, LONG_DEADLINE,
                             &subject->err));
    }
    assert_true(sum.rows > 40000);
    return sum.hash;
}

static uint64_t first_hash; /* of the first subject that was loaded */

static void assert_as_loaded(struct subject *subject)
{
    uint64_t hash = data_hash(subject);
    first_hash = first_hash == 0 ? hash : first_hash;
    assert_true(hash == first_hash);
}

/* ---- foreign data ---- */

static void refuses_all(struct subject *subject)
{
    MUST_FAIL(tpcc_run(subject, LOAD_PREPARE), ERR_CODE_foreign_data);
    assert_int_equal(subject->err.class, ERR_PLAN);
    MUST_FAIL(tpcc_run(subject, LOAD_RESET), ERR_CODE_foreign_data);
    MUST_FAIL(tpcc_run(subject, LOAD_CLEANUP), ERR_CODE_foreign_data);
}

static void leaves_foreign_tables_alone(struct subject *subject)
{
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    subject_sql(subject, "create table customer (id integer, note varchar(40))");
    subject_sql(subject, "insert into customer (id, note) values (7, 'dbsweep workload data')");
    refuses_all(subject);
    HOLDS(subject->err.text, "customer");
    assert_int_equal(subject_number(subject, "select sum(id) from customer"), 7);
    subject_sql(subject, "drop table customer");
    subject_sql(subject, "create view orders as select 7 as o_id /* dbsweep workload data */");
    refuses_all(subject);
    HOLDS(subject->err.text, "orders");
    assert_int_equal(subject_number(subject, "select o_id from orders"), 7);
    subject_sql(subject, "drop view orders");
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        assert_int_equal(subject_state(subject, tables[i]), MARK_ABSENT);
    }
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
}

static void refuses_to_drive_what_is_not_loaded(struct subject *subject)
{
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    subject_sql(subject, "create table t (i integer)"); /* an SQLite file must be there */
    subject_sql(subject, "drop table t");
    MUST_FAIL(tpcc_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "not loaded");
    MUST_FAIL(tpcc_run(subject, LOAD_CHECK), ERR_CODE_workload_check);
}

/* ---- what is loaded ---- */

static void loads_what_the_standard_says(struct subject *subject)
{
    static const struct {
        const char *sql;
        int64_t wanted;
    } rows[] = {
        {"select count(*) from warehouse", 1},
        {"select count(*) from district", 10},
        {"select count(*) from customer", 30000},
        {"select count(*) from history", 30000},
        {"select count(*) from orders", 30000},
        {"select count(*) from new_order", 9000},
        {"select count(*) from item", 100000},
        {"select count(*) from stock", 100000},
        {"select min(d_next_o_id) + max(d_next_o_id) from district", 6002},
        {"select count(*) from warehouse where w_ytd = 300000 and w_tax between 0 and 0.2", 1},
        {"select count(*) from district where d_ytd = 30000 and d_tax between 0 and 0.2", 10},
        {"select count(*) from customer where c_balance <> -10 or c_ytd_payment <> 10"
         " or c_payment_cnt <> 1 or c_delivery_cnt <> 0 or c_credit_lim <> 50000"
         " or c_middle <> 'OE' or c_discount < 0 or c_discount > 0.5"
         " or length(c_data) < 300 or length(c_data) > 500",
         0},
        {"select count(*) from customer where c_last = 'BARBARBAR' and c_id = 1", 10},
        {"select count(*) from customer where c_last = 'PRICALLYOUGHT' and c_id = 372", 10},
        {"select count(distinct c_last) from customer where c_id <= 1000", 1000},
        {"select count(*) from history where h_amount <> 10 or length(h_data) < 12", 0},
        {"select count(*) from orders where o_id < 2101 and o_carrier_id between 1 and 10", 21000},
        {"select count(*) from orders where o_id >= 2101 and o_carrier_id is null", 9000},
        {"select count(distinct o_c_id) from orders where o_d_id = 4", 3000},
        {"select count(*) from orders where o_ol_cnt not between 5 and 15 or o_all_local <> 1", 0},
        {"select min(no_o_id) from new_order", 2101},
        {"select count(*) from order_line where ol_quantity <> 5 or ol_i_id not between 1 and"
         " 100000 or length(ol_dist_info) <> 24",
         0},
        {"select count(*) from order_line where ol_o_id < 2101"
         " and (ol_amount <> 0 or ol_delivery_d is null)",
         0},
        {"select count(*) from order_line where ol_o_id >= 2101"
         " and (ol_amount < 0.01 or ol_amount > 9999.99 or ol_delivery_d is not null)",
         0},
        {"select count(*) from stock where s_quantity not between 10 and 100 or s_ytd <> 0"
         " or s_order_cnt <> 0 or s_remote_cnt <> 0 or length(s_dist_07) <> 24",
         0},
        {"select count(*) from item where i_price not between 1 and 100 or i_im_id not between"
         " 1 and 10000 or length(i_data) not between 26 and 50",
         0},
    };
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    MUST(tpcc_run(subject, LOAD_PREPARE));
    assert_true(subject->note_count > 40);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t found = subject_number(subject, rows[i].sql);
        if (found != rows[i].wanted) {
            fail_msg("%lld of: %s", (long long)found, rows[i].sql);
        }
    }
    assert_in_range(subject_number(subject, "select count(*) from order_line"), 290000, 310000);
    assert_in_range(subject_number(subject, "select count(*) from customer where c_credit = 'BC'"),
                    2600, 3400);
    assert_in_range(
        subject_number(subject, "select count(*) from stock where s_data like '%ORIGINAL%'"), 9300,
        10700);
    assert_in_range(
        subject_number(subject, "select count(*) from item where i_data like '%ORIGINAL%'"), 9300,
        10700);
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        assert_int_equal(subject_state(subject, tables[i]), MARK_OURS);
    }
}

/* The same data on every system; C_load is among the note. */
static void loads_are_the_same(struct subject *subject)
{
    tpcc_need_data(subject);
    if (text_starts_with(tpcc_note(subject), "used")) {
        MUST(tpcc_run(subject, LOAD_RESET));
    }
    assert_as_loaded(subject);
    HOLDS(tpcc_note(subject), "c_load=");
    MUST(tpcc_run(subject, LOAD_PREPARE));
    assert_int_equal(subject->note_count, 0);
}

/* What was lost with a connection in the middle: the note says loading, a unit and its note are not
 * there, nor is an index. Units that are there are not loaded again. */
static void goes_on_with_half_a_load(struct subject *subject)
{
    tpcc_need_data(subject);
    if (text_starts_with(tpcc_note(subject), "used")) {
        MUST(tpcc_run(subject, LOAD_RESET));
    }
    char sql[400];
    snprintf(sql, sizeof sql, "update dbsweep_meta set value = 'loading: %s' where name = 'tpcc'",
             tpcc_note(subject));
    subject_sql(subject, sql);
    /* Unit 10 is the warehouse, then ten of stock, ten of customers, ten of orders. */
    subject_sql(subject, "delete from dbsweep_meta where name in ('tpcc part 33', 'tpcc item 3')");
    subject_sql(subject, "delete from orders where o_d_id = 3");
    subject_sql(subject, "delete from order_line where ol_d_id = 3");
    subject_sql(subject, "delete from new_order where no_d_id = 3");
    subject_sql(subject, "delete from item where i_id between 30001 and 40000");
    subject_sql(subject, strcmp(subject->backend, "mysql") == 0
                             ? "drop index customer_name on customer"
                             : "drop index customer_name");
    MUST_FAIL(tpcc_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    MUST(tpcc_run(subject, LOAD_PREPARE));
    assert_in_range(subject->note_count, 2 + 11 + 9, 2 + 11 + 9);
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
    assert_as_loaded(subject);
    MUST_FAIL(session_execute(subject->session, "create index customer_name on customer (c_last)",
                              NULL, NULL, LONG_DEADLINE, &subject->err),
              ERR_CODE_statement);
}

/* ---- driving ---- */

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

static uint64_t count_of(const struct subject *subject, const char *transaction,
                         const char *statement)
{
    for (size_t i = 0; i < subject->result.statement_count; i++) {
        const struct load_statement *row = &subject->result.statements[i];
        if (strcmp(row->transaction, transaction) == 0 && strcmp(row->statement, statement) == 0) {
            return row->latency->count;
        }
    }
    return 0;
}

/* Of decks of 23, each client's last one may be begun, and another be at work at each edge. */
static void assert_mix(struct subject *subject)
{
    static const struct {
        const char *name;
        double cards;
    } rows[] = {{"new_order", 10},
                {"payment", 10},
                {"order_status", 1},
                {"delivery", 1},
                {"stock_level", 1}};
    double decks = (double)subject_done(subject) / 23;
    double clients = (double)subject->job.workload.clients;
    assert_int_equal(subject->result.transaction_count, COUNT_OF(rows));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct load_transaction *transaction = transaction_of(subject, rows[i].name);
        double count = (double)transaction->latency->count;
        if (count < 1 || fabs(count - decks * rows[i].cards) > 2 * clients * (rows[i].cards + 1)) {
            fail_msg("%g %s in %g decks", count, rows[i].name, decks);
        }
        assert_int_equal(transaction->error_count, 0);
    }
}

static void assert_notpm(struct subject *subject)
{
    struct load_metric *metrics = NULL;
    size_t count = 0;
    double wanted = (double)transaction_of(subject, "new_order")->latency->count * 60 /
                    ((double)subject->result.measured_ns / 1e9);
    MUST(load_result_metrics(&subject->result, &subject->arena, &metrics, &count, &subject->err));
    for (size_t i = 0; i < count; i++) {
        if (strcmp(metrics[i].name, "notpm") == 0) {
            assert_true(fabs(metrics[i].value - wanted) < 1e-6);
            return;
        }
    }
    fail_msg("no notpm");
}

static size_t count_statements(const struct subject *subject)
{
    size_t count = 0;
    for (size_t i = 0; i < subject->result.statement_count; i++) {
        const char *name = subject->result.statements[i].statement;
        count += strcmp(name, "begin") != 0 && strcmp(name, "commit") != 0 &&
                         strcmp(name, "rollback") != 0
                     ? 1
                     : 0;
    }
    return count;
}

static void drives_the_mix(struct subject *subject)
{
    tpcc_need_data(subject);
    subject->job.workload.measure_ms = 5000;
    MUST(tpcc_run(subject, LOAD_DRIVE));
    assert_mix(subject);
    assert_notpm(subject);
    assert_int_equal(count_statements(subject), 33);
    assert_int_equal(subject->result.error_row_count, 0);
    assert_string_equal(subject->result.distribution, "nurand");
    assert_true(subject->result.ceiling_per_s > 100);
    double orders = (double)transaction_of(subject, "new_order")->latency->count;
    double lines = (double)count_of(subject, "new_order", "insert_order_line");
    assert_true(lines > 8 * orders && lines < 12 * orders + 100);
    assert_true(text_starts_with(tpcc_note(subject), "used: "));
    MUST(tpcc_run(subject, LOAD_CHECK));
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
}

/* Two processes with half of the clients each, one after the other: what each counts is what it
 * did, although another worker's orders may be among the growth. */
static void drives_a_share(struct subject *subject)
{
    tpcc_need_data(subject);
    subject->job.client_share = subject->job.workload.clients / 2;
    for (int half = 0; half < 2; half++) {
        subject->job.first_client = half * subject->job.client_share;
        MUST(tpcc_run(subject, LOAD_DRIVE));
        assert_int_equal(subject->result.client_count, subject->job.client_share);
    }
    MUST(tpcc_run(subject, LOAD_CHECK));
}

/* All New-Orders end as they should, and nothing of them stays. */
static void rolls_back_and_chooses_as_told(struct subject *subject)
{
    static const char sum[] = "select sum(d_next_o_id) from district";
    tpcc_need_data(subject);
    int64_t before = subject_number(subject, sum);
    subject->job.workload.rollback_pct = 100;
    subject->job.workload.payment_by_name_pct = 0;
    MUST(tpcc_run(subject, LOAD_DRIVE));
    assert_int_equal(subject_number(subject, sum), before);
    assert_true(transaction_of(subject, "new_order")->latency->count > 0);
    assert_true(count_of(subject, "new_order", "rollback") > 0);
    assert_int_equal(count_of(subject, "new_order", "commit"), 0);
    assert_int_equal(count_of(subject, "payment", "select_customer_by_name"), 0);
    assert_true(count_of(subject, "payment", "select_customer_by_id") > 0);
    subject->job.workload.payment_by_name_pct = 100;
    subject->job.workload.rollback_pct = 0;
    MUST(tpcc_run(subject, LOAD_DRIVE));
    assert_true(subject_number(subject, sum) > before);
    assert_int_equal(count_of(subject, "new_order", "rollback"), 0);
    assert_int_equal(count_of(subject, "payment", "select_customer_by_id"), 0);
    assert_true(count_of(subject, "payment", "select_customer_by_name") > 0);
    MUST(tpcc_run(subject, LOAD_CHECK));
}

/* Two thirds of a second of rest between two transactions of a client, which are timed without. */
static void rests_between_transactions(struct subject *subject)
{
    tpcc_need_data(subject);
    subject->job.workload.keying = 0.01;
    subject->job.workload.think = 0.05;
    MUST(tpcc_run(subject, LOAD_DRIVE));
    uint64_t done = subject_done(subject);
    assert_in_range(done, 3, 60);
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        const struct histogram *latency = subject->result.transactions[i].latency;
        assert_true(latency->count == 0 || latency->min_ns < (uint64_t)NS_PER_S);
    }
}

/* ---- what is on the server and what was counted ---- */

struct meddler {
    struct subject *subject;
    bool has_meddled;
};

static void add_a_district(void *context, const struct load_second *second)
{
    struct meddler *meddler = context;
    struct subject *subject = meddler->subject;
    (void)second;
    /* Among busy clients an embedded database may stay locked for a while. */
    for (int tries = 0; !meddler->has_meddled && tries < 30; tries++) {
        err_clear(&subject->err);
        meddler->has_meddled = session_execute(
            subject->session,
            "insert into district select 11, d_w_id, d_name, d_street_1, d_street_2, d_city,"
            " d_state, d_zip, d_tax, d_ytd, 17 from district where d_id = 5",
            NULL, NULL, DEADLINE, &subject->err);
    }
}

/* An eleventh district holds orders that no client committed. */
static void misses_orders_that_nobody_committed(struct subject *subject)
{
    struct meddler meddler = {.subject = subject};
    const struct load_progress progress = {.context = &meddler, .second = add_a_district};
    tpcc_need_data(subject);
    subject->job.workload.measure_ms = 6000;
    subject->job.operation = LOAD_DRIVE;
    MUST_FAIL(load_run(subject->host, NULL, &subject->job, LONG_DEADLINE, &progress,
                       &subject->arena, &subject->result, &subject->err),
              ERR_CODE_workload_check);
    assert_true(meddler.has_meddled);
    HOLDS(subject->err.text, "New-Orders were committed, and the sum of d_next_o_id grew by");
    subject_sql(subject, "delete from district where d_id = 11");
    MUST(tpcc_run(subject, LOAD_DRIVE));
}

/* Under a serializable isolation conflicts are many: they are retried, and nothing is lost. */
static void retries_conflicts(struct subject *subject)
{
    char connect[600];
    uint64_t retries = 0;
    bool is_postgresql = strcmp(subject->backend, "postgresql") == 0;
    tpcc_need_data(subject);
    snprintf(connect, sizeof connect, "%s%s", subject->connect,
             is_postgresql ? " options='-c default_transaction_isolation=serializable'" : "");
    subject->job.session.connect = connect;
    subject->job.workload.clients = 3;
    subject->job.workload.error_budget_pct = 50;
    MUST(tpcc_run(subject, LOAD_DRIVE));
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        retries += subject->result.transactions[i].retry_count;
    }
    assert_true(!is_postgresql || retries > 0);
    for (size_t i = 0; i < subject->result.error_row_count; i++) {
        assert_true(is_postgresql);
        HOLDS(subject->result.errors[i].code, "40");
    }
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
}

/* ---- reset and cleanup ---- */

/* The items, which nothing changes, are kept; all else is as loaded. */
static void resets_what_was_changed(struct subject *subject)
{
    tpcc_need_data(subject);
    if (!text_starts_with(tpcc_note(subject), "used")) {
        MUST(tpcc_run(subject, LOAD_DRIVE));
    }
    const char *name = value_of(subject, "select i_name from item where i_id = 17");
    char mend[200];
    snprintf(mend, sizeof mend, "update item set i_name = '%s' where i_id = 17", name);
    subject_sql(subject, "update item set i_name = 'still mine' where i_id = 17");
    MUST(tpcc_run(subject, LOAD_RESET));
    assert_string_equal(value_of(subject, "select i_name from item where i_id = 17"), "still mine");
    subject_sql(subject, mend);
    assert_as_loaded(subject);
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
    MUST(tpcc_run(subject, LOAD_RESET));
    assert_int_equal(subject->note_count, 0);
}

static void cleans_up(struct subject *subject)
{
    tpcc_need_data(subject);
    subject->job.workload.kind = "oltp";
    MUST(tpcc_run(subject, LOAD_PREPARE));
    subject->job.workload.kind = "tpcc";
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        assert_int_equal(subject_state(subject, tables[i]), MARK_ABSENT);
    }
    subject->job.workload.kind = "oltp"; /* whose tables and note are still there */
    MUST(tpcc_run(subject, LOAD_PREPARE));
    assert_int_equal(subject->note_count, 0);
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
    subject->job.workload.kind = "tpcc";
    MUST(tpcc_run(subject, LOAD_CLEANUP)); /* nothing there */
}

static const struct load_test tests[] = {
    LOAD_TEST(leaves_foreign_tables_alone),
    LOAD_TEST(refuses_to_drive_what_is_not_loaded),
    LOAD_TEST(loads_what_the_standard_says),
    LOAD_TEST(loads_are_the_same),
    LOAD_TEST(goes_on_with_half_a_load),
    LOAD_TEST(drives_the_mix),
    LOAD_TEST(drives_a_share),
    LOAD_TEST(rolls_back_and_chooses_as_told),
    LOAD_TEST(rests_between_transactions),
    LOAD_TEST(misses_orders_that_nobody_committed),
    LOAD_TEST(retries_conflicts),
    LOAD_TEST(resets_what_was_changed),
    LOAD_TEST(cleans_up),
};

int main(int argc, char **argv)
{
    const struct load_suite suite = {.tests = tests,
                                     .test_count = COUNT_OF(tests),
                                     .begin = tpcc_begin,
                                     .end = tpcc_end,
                                     .leave = tpcc_leave};
    return suite_main(&suite, argc, argv);
}
