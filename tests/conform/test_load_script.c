/*
 * The script workload over every session there is, each through a real worker process: setup and
 * teardown, transactions with their statistics, values of each type, conflicts, rest, and what ends
 * a drive.
 */
#include "tests/support/load_suite.h"

#include <math.h>

static const char setup_text[] =
    "create table script_account (id integer primary key, balance integer not null);\n"
    "create table script_log (client integer, amount bigint, share double precision,"
    " who varchar(40));\n"
    "create table script_hot (id integer primary key, n integer not null);\n"
    "insert into script_hot values (1, 0);\n"
    "\\set first 1 - 1\n"
    "begin;\n"
    "insert into script_account (id, balance) select :first + 10 * a.n + b.n + 1, 0 from\n"
    " (select 0 as n union select 1 union select 2 union select 3 union select 4) a,\n"
    " (select 0 as n union select 1 union select 2 union select 3 union select 4 union select 5\n"
    "  union select 6 union select 7 union select 8 union select 9) b where a.n < :scale;\n"
    "commit;\n";
static const char teardown_text[] = "drop table if exists script_account;\n"
                                    "drop table if exists script_log;\n"
                                    "drop table if exists script_hot;\n";
static const char transfer_text[] = "\\set one random(1, 10 * :scale)\n"
                                    "\\set two random_zipfian(1, 10 * :scale, 1.1)\n"
                                    "\\set low min(:one, :two)\n"
                                    "\\set high max(:one, :two)\n"
                                    "\\set amount random_gaussian(1, 1000, 3)\n"
                                    "begin;\n"
                                    "-- name: take\n"
                                    "update script_account set balance = balance - :amount\n"
                                    " where id = :low;\n"
                                    "-- name: give\n"
                                    "update script_account set balance = balance + :amount\n"
                                    " where id = :high;\n"
                                    "insert into script_log (client, amount)\n"
                                    " values (:client_id, :amount);\n"
                                    "commit;\n";
static const char report_text[] = "select count(*), sum(balance) from script_account;\n";

static const char *const variables[] = {"scale=5", "share=0.25", "who=O'Hara", NULL};

/* ---- jobs ---- */

static void give(struct subject *subject, const char *name, int64_t weight, const char *text)
{
    struct workload_spec *workload = &subject->job.workload;
    enum dialect dialect = subject->session->driver->dialect;
    workload->scripts[workload->script_count++] =
        (struct load_script){.name = name, .path = "dir/x.sql", .weight = weight, .text = text};
    MUST(workload_check_spec(workload, &subject->err));
    MUST(workload_examine(workload, dialect, &subject->err));
}

static void begin(struct subject *subject)
{
    subject_begin(subject);
    struct workload_spec *workload = &subject->job.workload;
    workload->kind = "script";
    workload->reset = "none";
    workload->variables = variables;
    workload->setup_script = (struct load_script){
        .name = "setup", .path = "dir/setup.sql", .weight = 1, .text = setup_text};
    workload->teardown_script = (struct load_script){
        .name = "teardown", .path = "dir/teardown.sql", .weight = 1, .text = teardown_text};
    workload->scripts = ARENA_ARRAY(&subject->arena, struct load_script, 4);
    assert_non_null(workload->scripts);
}

static void end(struct subject *subject)
{
    subject_close_session(subject);
}

static void leave(struct subject *subject)
{
    give(subject, "report", 1, report_text);
    (void)!subject_run(subject, LOAD_CLEANUP);
}

/* As the setup makes it. */
static void anew(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_CLEANUP));
    MUST(subject_run(subject, LOAD_PREPARE));
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

static uint64_t count_of(const struct subject *subject, const char *statement)
{
    for (size_t i = 0; i < subject->result.statement_count; i++) {
        if (strcmp(subject->result.statements[i].statement, statement) == 0) {
            return subject->result.statements[i].latency->count;
        }
    }
    return 0;
}

/* ---- setup and teardown ---- */

static void sets_up_once_and_tears_down(struct subject *subject)
{
    static const char count[] = "select count(*) from script_account";
    give(subject, "transfer", 1, transfer_text);
    MUST(subject_run(subject, LOAD_CLEANUP));
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "the setup of the scripts was not run");
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_true(subject->note_count > 0);
    assert_int_equal(subject_number(subject, count), 50);
    subject_sql(subject, "delete from script_account where id = 1");
    MUST(subject_run(subject, LOAD_PREPARE)); /* it stands as this setup made it, by its note */
    assert_int_equal(subject->note_count, 0);
    assert_int_equal(subject_number(subject, count), 49);
    MUST(subject_run(subject, LOAD_DRIVE));
    MUST(subject_run(subject, LOAD_RESET)); /* it was used */
    assert_int_equal(subject_number(subject, count), 50);
    static const char *const other[] = {"scale=4", "share=0.25", "who=x", NULL};
    subject->job.workload.variables = other;
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "another setup than this one was run");
    MUST(subject_run(subject, LOAD_PREPARE));
    assert_int_equal(subject_number(subject, count), 40);
    MUST(subject_run(subject, LOAD_CLEANUP));
    MUST_FAIL(session_execute(subject->session, count, NULL, NULL, DEADLINE, &subject->err),
              ERR_CODE_statement);
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
}

/* A table of that name is not ours: nothing asks the teardown to drop it, and the setup fails where
 * it is made. A setup that broke off is run again from its beginning. */
static void goes_on_after_a_setup_that_broke_off(struct subject *subject)
{
    give(subject, "report", 1, report_text);
    MUST(subject_run(subject, LOAD_CLEANUP));
    subject_sql(subject, "create table script_hot (mine integer)");
    MUST(subject_run(subject, LOAD_CLEANUP));
    MUST_FAIL(subject_run(subject, LOAD_PREPARE), ERR_CODE_statement);
    assert_string_equal(subject->err.origin, "dir/setup.sql:3");
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    assert_int_equal(subject_number(subject, "select count(mine) from script_hot"), 0);
    subject_sql(subject, "drop table script_hot");
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    subject->job.workload.teardown_script.text = NULL;
    MUST_FAIL(subject_run(subject, LOAD_CLEANUP), ERR_CODE_unsupported);
    HOLDS(subject->err.hint, "teardown = ");
}

/* ---- driving ---- */

static void drive_transfers(struct subject *subject)
{
    MUST(subject_run(subject, LOAD_DRIVE));
    double transfers = (double)transaction_of(subject, "transfer")->latency->count;
    double reports = (double)transaction_of(subject, "report")->latency->count;
    double share = reports / (transfers + reports);
    double spread = 5 * sqrt(0.25 * 0.75 / (transfers + reports)) + 0.02;
    assert_true(transfers > 10);
    if (share < 0.25 - spread || share > 0.25 + spread) {
        fail_msg("%g transfers and %g reports", transfers, reports);
    }
    assert_int_equal(subject->result.error_row_count, 0);
    assert_string_equal(subject->result.distribution, "as the scripts say");
    /* Money moves and none is made; what was counted is there, with what began before the window
     * ended. */
    assert_int_equal(subject_number(subject, "select sum(balance) from script_account"), 0);
    double logged = (double)subject_number(subject, "select count(*) from script_log");
    assert_true(logged >= transfers && logged <= transfers + (double)subject->job.workload.clients);
    /* Where writers wait for one lock, none of them is promised a turn in so short a time. */
    int64_t writers = subject_number(subject, "select count(distinct client) from script_log");
    bool has_one_lock = strcmp(subject->job.backend, "sqlite") == 0;
    assert_in_range(writers, has_one_lock ? 1 : subject->job.workload.clients,
                    subject->job.workload.clients);
    double taken = (double)count_of(subject, "take");
    assert_true(taken >= transfers - 4 && taken <= transfers + 4);
    assert_true(count_of(subject, "give") > 0 && count_of(subject, "begin") > 0 &&
                count_of(subject, "commit") > 0);
    assert_true(
        count_of(subject, "insert into script_log (client, amount) values (:client_id,...") > 0);
    assert_int_equal(count_of(subject, "select count(*), sum(balance) from script_account"),
                     (uint64_t)reports);
}

static void drives_transactions_by_weight(struct subject *subject)
{
    give(subject, "transfer", 3, transfer_text);
    give(subject, "report", 1, report_text);
    anew(subject);
    drive_transfers(subject);
    subject->job.workload.prepared = false;
    anew(subject);
    drive_transfers(subject);
}

static const char values_text[] =
    "\\set big 9007199254740993\n"
    "\\set third double(1) / 4 + :share\n"
    "\\set less -:big\n"
    "insert into script_log values (:client_id, :big, :third, :who);\n"
    "insert into script_log values (:clients, :less, -:third, 'a:who?');\n";

static void values_arrive_as_they_are(struct subject *subject)
{
    give(subject, "values", 1, values_text);
    subject->job.workload.clients = 1;
    subject->job.workload.measure_ms = 300;
    for (int i = 0; i < 2; i++) {
        subject->job.workload.prepared = i == 0;
        anew(subject);
        MUST(subject_run(subject, LOAD_DRIVE));
        assert_true(subject_number(subject, "select count(*) from script_log") > 1);
        assert_int_equal(subject_number(subject,
                                        "select count(*) from script_log where not (client = 0 and"
                                        " amount = 9007199254740993 and share = 0.5 and"
                                        " who = 'O''Hara') and not (client = 1 and"
                                        " amount = -9007199254740993 and share = -0.5 and"
                                        " who = 'a:who?')"),
                         0);
    }
}

/* What commits by itself before a conflict is not done again with what is tried again. */
static const char hot_text[] = "insert into script_log (client) values (:client_id);\n"
                               "begin;\n"
                               "select n from script_hot;\n"
                               "update script_hot set n = n + 1 where id = 1;\n"
                               "commit;\n";

static void retries_only_what_failed(struct subject *subject)
{
    char connect[600];
    uint64_t retries = 0;
    uint64_t errors = 0;
    bool is_postgresql = strcmp(subject->backend, "postgresql") == 0;
    give(subject, "hot", 1, hot_text);
    anew(subject);
    snprintf(connect, sizeof connect, "%s%s", subject->connect,
             is_postgresql ? " options='-c default_transaction_isolation=serializable'" : "");
    subject->job.session.connect = connect;
    subject->job.workload.error_budget_pct = 90;
    MUST(subject_run(subject, LOAD_DRIVE));
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        retries += subject->result.transactions[i].retry_count;
        errors += subject->result.transactions[i].error_count;
    }
    int64_t logged = subject_number(subject, "select count(*) from script_log");
    int64_t counted = subject_number(subject, "select n from script_hot");
    int64_t lost = logged - counted;
    assert_true(!is_postgresql || retries > 20);
    assert_true(lost >= 0 && lost <= (int64_t)errors + 2 * subject->job.workload.clients);
}

static void rests_between_transactions(struct subject *subject)
{
    give(subject, "report", 1, report_text);
    anew(subject);
    subject->job.workload.clients = 2;
    subject->job.workload.measure_ms = 2000;
    subject->job.workload.think_time_ms = 100;
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_in_range(subject_done(subject), 10, 80); /* 40 are to be expected */
}

/* Three workers of two clients each: the setup is looked for once, each client has a number of its
 * own, and what they counted is there. A rate keeps them from starving each other. */
static void workers_share_the_clients(struct subject *subject)
{
    const struct load_place places[] = {
        {.host = subject->host}, {.host = subject->host}, {.host = subject->host}};
    struct load_team *team = NULL;
    give(subject, "transfer", 1, transfer_text);
    anew(subject);
    subject->job.operation = LOAD_DRIVE;
    subject->job.workload.clients = 6;
    subject->job.workload.rate_per_s = 30;
    subject->job.workload.measure_ms = 2000;
    bool ok =
        load_team_open(places, COUNT_OF(places), &subject->job, &team, &subject->err) &&
        load_team_ready(team, DEADLINE, NULL, &subject->err) &&
        load_team_go(team, DEADLINE, NULL, &subject->err) &&
        load_team_finish(team, DEADLINE, NULL, &subject->arena, &subject->result, &subject->err);
    load_team_close(team);
    MUST(ok);
    int64_t done = (int64_t)subject_done(subject);
    int64_t logged = subject_number(subject, "select count(*) from script_log");
    assert_true(done > 20 && logged >= done && logged <= done + 6);
    assert_int_equal(subject_number(subject, "select count(distinct client) from script_log"), 6);
    assert_int_equal(subject_number(subject, "select max(client) from script_log"), 5);
    assert_int_equal(subject_number(subject, "select sum(balance) from script_account"), 0);
    MUST(subject_run(subject, LOAD_RESET)); /* that it was used was noted */
    assert_true(subject->note_count > 0);
}

/* ---- what ends a drive ---- */

static void errors_name_their_place(struct subject *subject)
{
    static const char *const counters[] = {"scale=5", "share=0.25", "who=x", "n=0", NULL};
    subject->job.workload.variables = counters;
    give(subject, "count", 1,
         "select 1;\n\\set n :n + 1\n\\set left 1000 / (:n - 5)\nselect :left;\n");
    anew(subject);
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    assert_string_equal(subject->err.text, "the expression divides by zero");
    assert_string_equal(subject->err.origin, "dir/x.sql:3");
    assert_int_equal(subject->err.class, ERR_POINT);
    subject->job.workload.variables = variables;
    subject->job.workload.script_count = 0;
    anew(subject);
    give(subject, "wrong", 1, "select nothing_there from script_account;");
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "nothing_there");
    subject->job.workload.prepared = false;
    subject->job.workload.error_budget_pct = 1;
    MUST_FAIL(subject_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "nothing_there");
}

int main(int argc, char **argv)
{
    static const struct load_test tests[] = {
        LOAD_TEST(sets_up_once_and_tears_down),   LOAD_TEST(goes_on_after_a_setup_that_broke_off),
        LOAD_TEST(drives_transactions_by_weight), LOAD_TEST(values_arrive_as_they_are),
        LOAD_TEST(retries_only_what_failed),      LOAD_TEST(rests_between_transactions),
        LOAD_TEST(workers_share_the_clients),     LOAD_TEST(errors_name_their_place),
    };
    static const struct load_suite suite = {
        .tests = tests, .test_count = COUNT_OF(tests), .begin = begin, .end = end, .leave = leave};
    return suite_main(&suite, argc, argv);
}
