/*
 * Stopping and starting PostgreSQL: it comes back with the words it was started with, what it says
 * of a failed start is told, ready means ours, and copies of its data survive accidents.
 */
#include "tests/support/postgresql_subject.h"

/* ---- stop and start ---- */

static const char *start_words(struct subject *subject)
{
    return subject_says(subject, "cat \"$1/postmaster.opts\"", subject->server.facts.data_directory,
                        "");
}

static void comes_back_as_it_was_started(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    /* Started with words of its own, as a distribution's script would. */
    static const char script[] =
        AS_OWNER "as pg_ctl -D \"$1\" stop -m fast -w >/dev/null &&"
                 " as pg_ctl -D \"$1\" start -w -l \"$2\""
                 " -o \"-c work_mem=7MB -c cluster_name='a b'\" >/dev/null 2>&1";
    subject_says(subject, script, subject->server.facts.data_directory,
                 subject->server.facts.log_path);
    subject_ready(subject);
    subject_probe(subject);
    assert_int_equal(subject->found[1].source, SOURCE_COMMAND_LINE);
    subject_restart(subject);
    const char *words = start_words(subject);
    subject_restart(subject);
    assert_string_equal(start_words(subject), words);
    subject_probe(subject);
    assert_int_equal(subject->found[1].source, SOURCE_COMMAND_LINE);
    assert_int_equal(subject->found[1].value.integer, 7 << 20);
    assert_string_equal(subject_value(subject, "show cluster_name"), "a b");
    struct setting setting = {.knob = subject->rows[1], .value = subject->found[1].value};
    MUST_FAIL(subject->backend->overrides(&subject->server, &setting, 1, DEADLINE, &subject->err),
              ERR_CODE_overridden);
    assert_non_null(strstr(subject->err.text, "command line"));
    subject_says(subject, PLAIN_RESTART, subject->server.facts.data_directory,
                 subject->server.facts.log_path);
    subject_ready(subject);
}

/* After a crash of the sweeper: a new state, the server down, only kept facts. */
static void is_started_without_a_probe(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    const char *config = subject->server.facts.config_path;
    const char *log = subject->server.facts.log_path;
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    subject->backend->close(&subject->server);
    subject_open_server(subject);
    subject->server.facts =
        (struct server_facts){.data_directory = data, .config_path = config, .log_path = log};
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    subject_probe(subject);
    assert_string_equal(subject->server.facts.data_directory, data);
}

/* -D names a folder with postgresql.conf, which names the data directory. */
static void comes_back_from_a_configuration_folder(void **state)
{
    struct subject *subject = *state;
    static const char script[] =
        AS_OWNER "conf=$1.conf && mkdir \"$conf\" && cp -a \"$1\"/*.conf \"$conf\" &&"
                 " echo \"data_directory = '$1'\" >>\"$conf/postgresql.conf\" &&"
                 " echo 'work_mem = 11MB' >>\"$conf/postgresql.conf\" &&"
                 " chown \"$owner\" \"$conf\" &&"
                 " as pg_ctl -D \"$1\" stop -m fast -w >/dev/null &&"
                 " as pg_ctl -D \"$conf\" start -w -l \"$2\" >/dev/null 2>&1";
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    const char *log = subject->server.facts.log_path;
    subject_says(subject, script, data, log);
    subject_ready(subject);
    subject_probe(subject);
    assert_true(text_ends_with(subject->server.facts.config_path, ".conf/postgresql.conf"));
    assert_string_equal(subject->server.facts.data_directory, data);
    subject_restart(subject);
    const char *words = start_words(subject);
    subject_restart(subject);
    assert_string_equal(start_words(subject), words);
    assert_string_equal(subject_value(subject, "show work_mem"), "11MB");
    MUST(subject->backend->precheck(&subject->server, DEADLINE, &subject->err));
    subject_probe(subject);
    assert_int_equal(subject->found[1].source, SOURCE_CONFIG);
    subject_says(subject, PLAIN_RESTART " && rm -r \"$1.conf\"", data, log);
}

static void obeys_the_files_own_commands(void **state)
{
    struct subject *subject = *state;
    char before[128];
    begin(subject);
    const char *bin = subject_environment("DBSWEEP_TEST_PG_BIN");
    const char *log = subject_environment("DBSWEEP_TEST_PG_LOG");
    if (bin == NULL || log == NULL || geteuid() != 0)
        skip();
    const char *program = arena_printf(&subject->arena, "%s/pg_ctl", bin);
    const char *data = subject->server.facts.data_directory;
    const char *const restart[] = {"runuser", "-u", "postgres", "--", program,   "-D",
                                   data,      "-w", "-l",       log,  "restart", NULL};
    const char *const stop[] = {"runuser", "-u", "postgres", "--",   program, "-D",
                                data,      "-W", "-m",       "fast", "stop",  NULL};
    const char *const start[] = {"runuser", "-u", "postgres", "--", program, "-D",
                                 data,      "-w", "-l",       log,  "start", NULL};
    const char *const broken[] = {"sh", "-c", "echo 'no way' >&2; exit 3", NULL};
    static const char *const idle[] = {"true", NULL};
    snprintf(before, sizeof before, "%s", subject->server.facts.identity);
    subject->spec.restart = restart;
    subject_restart(subject);
    assert_string_not_equal(before, subject->server.facts.identity);
    MUST_FAIL(subject->backend->snapshot(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_unsupported);
    subject->spec.restart = NULL;
    /* -W does not wait: our stop does. */
    subject->spec.stop = stop;
    subject->spec.start = start;
    subject_restart(subject);
    subject->spec.stop = broken;
    MUST_FAIL(subject->backend->stop(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_stop_failed);
    assert_non_null(strstr(subject->err.text, "no way"));
    /* The deadline passes during a look at the process, or between two: it still runs. */
    subject->spec.stop = idle;
    for (int i = 0; i < 16; i++) {
        MUST_FAIL(
            subject->backend->stop(&subject->server, clock_deadline_ms(250 + 4 * i), &subject->err),
            ERR_CODE_stop_failed);
    }
    subject->spec.stop = stop;
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    subject->spec.start = broken;
    MUST_FAIL(subject->backend->start(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_start_failed);
    subject->spec.stop = NULL;
    subject->spec.start = NULL;
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
}

/* ---- failed starts ---- */

static void expect_start_error(struct subject *subject, const char *lines, const char *words,
                               const char *hint)
{
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    append(subject, lines);
    MUST(subject->backend->log_mark(&subject->server, DEADLINE, &subject->err));
    MUST_FAIL(subject->backend->start(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_start_failed);
    if (strstr(subject->err.text, words) == NULL || strstr(subject->err.hint, hint) == NULL)
        fail_msg("said: %s; hint: %s", subject->err.text, subject->err.hint);
    put(subject, subject->config);
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
}

static void tells_why_it_did_not_start(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    expect_start_error(subject, "shared_buffers = 900GB\n", "could not map anonymous shared memory",
                       "");
    expect_start_error(subject, "work_mem = 16mb\n",
                       "invalid value for parameter \"work_mem\": \"16mb\"", "Valid units");
    expect_start_error(subject, "checkpoint_timeout = 5s\n", "outside the valid range", "");
    expect_start_error(subject, "no_such_setting = 5\n",
                       "unrecognized configuration parameter \"no_such_setting\"", "");
    expect_start_error(subject, "wal_level = minimal\nmax_wal_senders = 5\n", "WAL streaming", "");
}

/* The logging collector begins a new file at every start. */
static void follows_the_collector(void **state)
{
    struct subject *subject = *state;
    const char *tail = NULL;
    begin(subject);
    append(subject, "logging_collector = on\nlog_filename = 'pg-%H-%M-%S.log'\n");
    subject_restart(subject);
    subject_probe(subject);
    assert_non_null(strstr(subject->server.facts.log_path, "/log/pg-"));
    for (int i = 0; i < 2; i++) {
        clock_sleep_until(clock_now_ns() + 1100 * NS_PER_MS);
        MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
        MUST(subject->backend->log_mark(&subject->server, DEADLINE, &subject->err));
        MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
        subject_ready(subject);
        MUST(subject->backend->log_tail(&subject->server, DEADLINE, 8192, &subject->arena, &tail,
                                        &subject->err));
        assert_non_null(strstr(tail, "redirecting log output"));
        assert_non_null(strstr(tail, "ready to accept connections"));
        assert_null(strstr(tail, "database system is shut down"));
    }
    put(subject, subject->config);
    subject_restart(subject);
    subject_says(subject, "rm -r \"$1/log\"", subject->server.facts.data_directory, "");
}

static void checks_before_a_start(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    MUST(subject->backend->precheck(&subject->server, DEADLINE, &subject->err));
    append(subject, "work_mem = 16mb\n");
    MUST_FAIL(subject->backend->precheck(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_not_applied);
    assert_non_null(strstr(subject->err.text, "16mb"));
    put(subject, subject->config);
}

/* ---- ready ---- */

static void waiting_mends_no_wrong_login(void **state)
{
    struct subject *subject = *state;
    const char *good = subject->spec.connect;
    bool is_ready = true;
    const char *why = NULL;
    begin(subject);
    static const char *const wrong[] = {"user=nobody_of_this_name", "dbname=no_such_database",
                                        "host=127.0.0.1 sslmode=require"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        subject->spec.connect = arena_printf(&subject->arena, "%s %s", good, wrong[i]);
        MUST_FAIL(
            subject->backend->ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err),
            ERR_CODE_connection);
        assert_false(is_ready);
    }
    subject->spec.connect = "host=127.0.0.1 port=1 user=x dbname=x";
    MUST(subject->backend->ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err));
    assert_false(is_ready);
    subject->spec.connect = good;
}

/* What is wrong with the login is a mistake of the sweep file, as long as nothing is touched. */
static void wrong_logins_are_bad_input(void **state)
{
    struct subject *subject = *state;
    static const struct {
        const char *connect;
        enum err_code code;
        const char *words;
        const char *hint;
    } cases[] = {
        {"bogus_option=1", ERR_CODE_sweep_file, "invalid connection option \"bogus_option\"",
         "target.connect"},
        {"dbname", ERR_CODE_sweep_file, "missing \"=\" after \"dbname\"", "target.connect"},
        {"host=127.0.0.1 keepalives_idle=soon", ERR_CODE_sweep_file, "keepalives_idle",
         "target.connect"},
        {"port=99999", ERR_CODE_sweep_file, "99999", "target.connect"},
        {"sslmode=maybe", ERR_CODE_sweep_file, "maybe", "target.connect"},
        {"service=nowhere", ERR_CODE_sweep_file, "nowhere", "target.connect"},
        {"user=nobody_of_this_name", ERR_CODE_unsupported, "nobody_of_this_name", "pg_hba.conf"},
        {"dbname=no_such_database", ERR_CODE_unsupported, "no_such_database", "dbname="},
        {"host=127.0.0.1 sslmode=require", ERR_CODE_unsupported, "SSL", "sslmode"},
        {"host=127.0.0.1 port=1", ERR_CODE_connection, "Connection refused", "does the server run"},
        {"host=no.such.host.invalid", ERR_CODE_connection, "no.such.host.invalid", "right host"},
    };
    begin(subject);
    const char *good = subject->spec.connect;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        subject->spec.connect = arena_printf(&subject->arena, "%s %s", good, cases[i].connect);
        MUST_FAIL(subject->backend->probe(&subject->server, NULL, 0, DEADLINE, &subject->arena,
                                          NULL, NULL, &subject->err),
                  cases[i].code);
        if (strstr(subject->err.text, cases[i].words) == NULL ||
            strstr(subject->err.hint, cases[i].hint) == NULL)
            fail_msg("%s: said: %s; hint: %s", cases[i].connect, subject->err.text,
                     subject->err.hint);
        bool is_plan = cases[i].code != ERR_CODE_connection;
        assert_int_equal(subject->err.class, is_plan ? ERR_PLAN : ERR_POINT);
    }
    static const char *const secrets[] = {"host=x password=half secret",
                                          "postgresql://bench:secret%zz@127.0.0.1/bench"};
    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        subject->spec.connect = secrets[i];
        MUST_FAIL(subject->backend->open(&subject->server, &subject->err), ERR_CODE_sweep_file);
        assert_null(strstr(subject->err.text, "secret"));
    }
    subject->spec.connect = good;
}

static void a_password_is_given_and_never_told(void **state)
{
    struct subject *subject = *state;
    static const char allow[] =
        "cp -p \"$1/pg_hba.conf\" \"$1/pg_hba.conf.kept\" &&"
        " { echo 'host all locked 127.0.0.1/32 scram-sha-256'; cat \"$1/pg_hba.conf.kept\"; }"
        " >\"$1/pg_hba.conf\"";
    static const char undo[] = "mv \"$1/pg_hba.conf.kept\" \"$1/pg_hba.conf\"";
    const char *tcp = subject_environment("DBSWEEP_TEST_PG_TCP_CONNECT");
    bool is_ready = false;
    const char *why = NULL;
    if (tcp == NULL)
        skip();
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    subject_sql(subject, "drop role if exists locked;"
                         " create role locked login password 'right-secret'");
    subject_says(subject, allow, data, "");
    reload(subject);
    subject->spec.connect = arena_printf(&subject->arena, "%s user=locked", tcp);
    static const char *const wrong[] = {NULL, "wrong-secret"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        subject->spec.password = wrong[i];
        MUST_FAIL(
            subject->backend->ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err),
            ERR_CODE_connection);
        assert_null(strstr(subject->err.text, "secret"));
        assert_non_null(strstr(subject->err.hint, "password"));
    }
    subject->spec.password = "right-secret";
    err_clear(&subject->err);
    subject_ready(subject);
    subject->spec.password = NULL;
    subject->spec.connect = usual_connect;
    subject_says(subject, undo, data, "");
    reload(subject);
    subject_sql(subject, "drop role locked");
}

static void another_server_is_not_ours(void **state)
{
    struct subject *subject = *state;
    bool is_ready = true;
    const char *why = NULL;
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    subject->server.facts.data_directory = "/somewhere/else";
    MUST(subject->backend->ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err));
    assert_false(is_ready);
    assert_non_null(strstr(why, data));
    subject->server.facts.data_directory = data;
}

/* ---- copies that died half way ---- */

/* A script goes on when dbsweep is killed: the next start waits for it. */
static void a_copy_under_way_is_waited_for(void **state)
{
    struct subject *subject = *state;
    static const char leave[] =
        "exec 9>>\"$1.dbsweep-busy\" && flock 9 && cp -a \"$1\" \"$1.dbsweep-new\" &&"
        " touch \"$1.dbsweep-new/from-the-copy\" && mv \"$1\" \"$1.dbsweep-old\" &&"
        " { (sleep 1; mv -T \"$1.dbsweep-new\" \"$1\") >/dev/null 2>&1 & }";
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    subject_says(subject, leave, data, "");
    MUST(subject->backend->mend(&subject->server, DEADLINE, &subject->err));
    subject_says(subject, "rm \"$1/from-the-copy\"", data, "");
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    MUST(subject->backend->snapshot_drop(&subject->server, DEADLINE, &subject->err));
    subject_says(subject, "! ls -d \"$1\".dbsweep-* 2>/dev/null", data, "");
}

static void a_copy_survives_its_accidents(void **state)
{
    struct subject *subject = *state;
    const struct backend *backend = subject->backend;
    static const char break_swap[] = "mv \"$1\" \"$1.dbsweep-old\" && mkdir \"$1.dbsweep-new\"";
    static const char unmark[] = "rm \"$1.dbsweep-snapshot.complete\"";
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    subject_sql(subject, "drop table if exists accident; create table accident (i int)");
    MUST(backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(backend->snapshot(&subject->server, DEADLINE, &subject->err));
    append(subject, "work_mem = 5MB\n"); /* the configuration is not part of the copy */
    subject_says(subject, break_swap, data, "");
    MUST(backend->rollback(&subject->server, DEADLINE, &subject->err));
    subject_says(subject, break_swap, data, "");
    MUST(backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    assert_string_equal(subject_value(subject, "show work_mem"), "5MB");
    assert_string_equal(subject_value(subject, "select count(*) from accident"), "0");
    MUST_FAIL(backend->rollback(&subject->server, DEADLINE, &subject->err), ERR_CODE_unsupported);
    MUST(backend->stop(&subject->server, DEADLINE, &subject->err));
    subject_says(subject, unmark, data, "");
    MUST_FAIL(backend->rollback(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_command_failed);
    MUST(backend->snapshot_drop(&subject->server, DEADLINE, &subject->err));
    subject_says(subject, "ln -s /tmp \"$1/pg_tblspc/99999\"", data, "");
    MUST_FAIL(backend->snapshot(&subject->server, DEADLINE, &subject->err), ERR_CODE_unsupported);
    subject_says(subject, "rm \"$1/pg_tblspc/99999\"", data, "");
    put(subject, subject->config);
    MUST(backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    subject_sql(subject, "drop table accident");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(comes_back_as_it_was_started, clean_up),
        cmocka_unit_test_teardown(is_started_without_a_probe, clean_up),
        cmocka_unit_test_teardown(comes_back_from_a_configuration_folder, clean_up),
        cmocka_unit_test_teardown(obeys_the_files_own_commands, clean_up),
        cmocka_unit_test_teardown(tells_why_it_did_not_start, clean_up),
        cmocka_unit_test_teardown(follows_the_collector, clean_up),
        cmocka_unit_test_teardown(checks_before_a_start, clean_up),
        cmocka_unit_test_teardown(waiting_mends_no_wrong_login, clean_up),
        cmocka_unit_test_teardown(wrong_logins_are_bad_input, clean_up),
        cmocka_unit_test_teardown(a_password_is_given_and_never_told, clean_up),
        cmocka_unit_test_teardown(another_server_is_not_ours, clean_up),
        cmocka_unit_test_teardown(a_copy_under_way_is_waited_for, clean_up),
        cmocka_unit_test_teardown(a_copy_survives_its_accidents, clean_up),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list("postgresql", tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("postgresql control", listed, count, subjects_open,
                                   subjects_close);
}
