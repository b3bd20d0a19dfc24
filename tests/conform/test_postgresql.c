/*
 * What only PostgreSQL does with settings: its own parser agrees with the rendered file, layers
 * above the file are named, and pg_settings completes our rows. Stopping and starting stand in
 * test_postgresql_control.c.
 */
#include "tests/support/postgresql_subject.h"

/* ---- the server's parser ---- */

static const char *value_by_server(struct subject *subject, const char *name)
{
    static const char script[] = AS_OWNER "as postgres -D \"$1\" -C \"$2\" 2>&1";
    return subject_says(subject, script, subject->server.facts.data_directory, name);
}

/* Every value of the list in every style of line, read by `postgres -C`. */
static void renders_what_the_server_reads(void **state)
{
    struct subject *subject = *state;
    static const struct {
        const char *name;
        const char *text;
        const char *shown; /* as -C shows it: base units */
    } values[] = {{"work_mem", "64kB", "64"},
                  {"work_mem", "3G", "3145728"},
                  {"shared_buffers", "1G", "131072"},
                  {"wal_buffers", "-1", "-1"},
                  {"checkpoint_timeout", "90s", "90"},
                  {"checkpoint_timeout", "1d", "86400"},
                  {"vacuum_cost_delay", "250us", "0.25"},
                  {"vacuum_cost_delay", "2.5ms", "2.5"},
                  {"random_page_cost", "1.1", "1.1"},
                  {"seq_page_cost", "1e-7", "1e-07"},
                  {"synchronous_commit", "remote_apply", "remote_apply"},
                  {"fsync", "off", "off"},
                  {"log_line_prefix", "it's \\ %m # [x] ", "it's \\ %m # [x] "},
                  {"search_path", "\"$user\", public", "\"$user\", public"},
                  {"cluster_name", "", ""}};
    /* What stands before and behind the name in the file that is rendered. */
    static const char *const styles[][2] = {
        {"# ", ""}, {"", " = 1\n"}, {"", " '1' # tail\n"}, {"work_mem=99\n", "=1"}};
    begin(subject);
    size_t count = 0;
    const struct knob *knobs = catalogue_knobs("postgresql", &count);
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        struct knob row = {
            .name = values[i].name, .type = KNOB_TEXT, .bare = 1, .specials = "", .choices = ""};
        const struct knob *known = knob_find(knobs, count, values[i].name);
        const struct knob *asked[] = {known != NULL ? known : &row};
        const struct knob *completed[1];
        struct reading found;
        MUST(subject->backend->probe(&subject->server, asked, 1, DEADLINE, &subject->arena,
                                     completed, &found, &subject->err));
        struct setting setting = {.knob = completed[0]};
        MUST(value_parse(setting.knob, values[i].text, NULL, &subject->arena, &setting.value,
                         &subject->err));
        for (size_t j = 0; j < COUNT_OF(styles); j++) {
            const char *before =
                arena_printf(&subject->arena, "%.*s\n%s%s%s", (int)subject->config.size,
                             subject->config.data, styles[j][0], values[i].name, styles[j][1]);
            struct bytes rendered;
            MUST(subject->backend->render(&subject->server,
                                          (struct bytes){.data = before, .size = strlen(before)},
                                          &setting, 1, &subject->arena, &rendered, &subject->err));
            put(subject, rendered);
            const char *shown = value_by_server(subject, values[i].name);
            char wanted[200];
            snprintf(wanted, sizeof wanted, "%s\n", values[i].shown);
            assert_string_equal(shown, wanted);
        }
    }
    put(subject, subject->config);
}

/* ---- layers ---- */

static bool overrides(struct subject *subject)
{
    struct setting setting = {.knob = subject->rows[1], .value = subject->found[1].value};
    return subject->backend->overrides(&subject->server, &setting, 1, DEADLINE, &subject->err);
}

static void expect_override(struct subject *subject, const char *culprit, const char *remedy)
{
    MUST_FAIL(overrides(subject), ERR_CODE_overridden);
    if (strstr(subject->err.text, culprit) == NULL || strstr(subject->err.hint, remedy) == NULL)
        fail_msg("said: %s; hint: %s", subject->err.text, subject->err.hint);
    assert_non_null(strstr(subject->err.text, "work_mem"));
}

static void names_alter_system(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    MUST(overrides(subject));
    subject_sql(subject, "alter system set work_mem = '9MB'");
    expect_override(subject, "postgresql.auto.conf:", "ALTER SYSTEM RESET work_mem");
    reload(subject);
    subject_probe(subject);
    assert_int_equal(subject->found[1].source, SOURCE_SQL);
    assert_non_null(strstr(subject->found[1].detail, "postgresql.auto.conf:"));
    subject_sql(subject, "alter system reset work_mem");
    reload(subject);
    MUST(overrides(subject));
}

static void names_alter_database_and_role(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    const char *database = subject_value(subject, "select quote_ident(current_database())");
    const char *user = subject_value(subject, "select quote_ident(current_user)");
    subject_sql(subject,
                arena_printf(&subject->arena, "alter database %s set work_mem = '9MB'", database));
    expect_override(subject, "ALTER DATABASE bench", "reset it there");
    subject_sql(subject,
                arena_printf(&subject->arena, "alter database %s reset work_mem", database));
    subject_sql(subject, arena_printf(&subject->arena, "alter role %s set work_mem = '9MB'", user));
    expect_override(subject, "ALTER ROLE bench", "reset it there");
    subject_probe(subject);
    assert_int_equal(subject->found[1].source, SOURCE_SQL);
    subject_sql(subject, arena_printf(&subject->arena, "alter role %s reset work_mem", user));
    subject_sql(subject, "alter role all set work_mem = '9MB'");
    expect_override(subject, "ALTER ROLE ALL", "reset it there");
    subject_sql(subject, "alter role all reset work_mem");
    const char *both =
        arena_printf(&subject->arena, "alter role %s in database %s", user, database);
    subject_sql(subject, arena_printf(&subject->arena, "%s set work_mem = '9MB'", both));
    expect_override(subject, "ALTER ROLE bench IN DATABASE bench", "reset it there");
    subject_sql(subject, arena_printf(&subject->arena, "%s reset work_mem", both));
    MUST(overrides(subject));
}

static void names_later_includes(void **state)
{
    struct subject *subject = *state;
    static const char write_include[] =
        "printf 'work_mem = 6MB\\n' >\"$1/later.conf\" && chown \"$(stat -c %u:%g \"$1\")\""
        " \"$1/later.conf\"";
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    subject_says(subject, write_include, data, "");
    append(subject, "include 'later.conf'\nfsync = on\n");
    reload(subject);
    MUST(overrides(subject)); /* ours would be appended behind it */
    append(subject, "work_mem = 5MB\ninclude 'later.conf'\n");
    expect_override(subject, "later.conf:1", "later.conf:1");
    reload(subject);
    subject_probe(subject);
    assert_int_equal(subject->found[1].source, SOURCE_OTHER_FILE);
    append(subject, "include 'later.conf'\nwork_mem = 5MB\n");
    MUST_FAIL(overrides(subject), ERR_CODE_foreign_edit); /* not read yet */
    assert_non_null(strstr(subject->err.text, "work_mem is 6M"));
    reload(subject);
    MUST(overrides(subject));
    put(subject, subject->config);
    subject_says(subject, "rm \"$1/later.conf\"", data, "");
    reload(subject);
}

/* Files of a supervisor alone come with a copy of the data; together with its process they tell
 * that it is at work. */
static void leaves_supervised_servers_alone(void **state)
{
    struct subject *subject = *state;
    static const struct {
        const char *program;
        const char *file;
        const char *name;
    } supervisors[] = {{"patroni", "patroni.dynamic.json", "in the hands of Patroni"},
                       {"pg_autoctl", "postgresql-auto-failover.conf", "of pg_auto_failover"}};
    static const char run[] = "cp \"$(command -v sleep)\" \"$1/$2\" &&"
                              " { \"$1/$2\" 60 >/dev/null 2>&1 & } && echo $! >\"$1/$2.pid\"";
    static const char end[] = "kill \"$(cat \"$1/$2.pid\")\" && rm \"$1/$2\" \"$1/$2.pid\"";
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    for (size_t i = 0; i < COUNT_OF(supervisors); i++) {
        const char *program = supervisors[i].program;
        subject_says(subject, ": >\"$1/$2\"", data, supervisors[i].file);
        MUST(overrides(subject));
        subject_says(subject, run, data, program);
        bool passed = overrides(subject);
        subject_says(subject, end, data, program);
        subject_says(subject, "rm \"$1/$2\"", data, supervisors[i].file);
        assert_false(passed);
        assert_int_equal(subject->err.code, ERR_CODE_unsupported);
        assert_non_null(strstr(subject->err.text, supervisors[i].name));
        err_clear(&subject->err);
    }
}

static bool probe_with(struct subject *subject, const char *config)
{
    subject->spec.config = config;
    return subject->backend->probe(&subject->server, NULL, 0, DEADLINE, &subject->arena, NULL, NULL,
                                   &subject->err);
}

/* The file to edit must be one that the server reads, however it is spelled. */
static void edits_only_what_the_server_reads(void **state)
{
    struct subject *subject = *state;
    static const char make[] =
        "printf 'work_mem = 6MB\\n' >\"$1/read.conf\" && cp \"$1/read.conf\" \"$1/unread.conf\" &&"
        " ln -s \"$1\" \"$1/itself\" && chown -h \"$(stat -c %u:%g \"$1\")\" \"$1\"/*read.conf";
    static const char remove[] = "rm \"$1/read.conf\" \"$1/unread.conf\" \"$1/itself\"";
    begin(subject);
    const char *data = subject->server.facts.data_directory;
    const char *config = subject->server.facts.config_path;
    struct arena *arena = &subject->arena;
    subject_says(subject, make, data, "");
    append(subject, "include 'read.conf'\n");
    reload(subject);
    MUST_FAIL(probe_with(subject, "/etc/postgresql.conf.not"), ERR_CODE_not_found);
    assert_non_null(strstr(subject->err.text, "/etc/postgresql.conf.not does not exist"));
    assert_non_null(strstr(subject->err.text, config));
    MUST_FAIL(probe_with(subject, arena_printf(arena, "%s/unread.conf", data)),
              ERR_CODE_unsupported);
    assert_non_null(strstr(subject->err.text, "does not read"));
    assert_non_null(strstr(subject->err.text, config));
    MUST(probe_with(subject, arena_printf(arena, "%s/itself/read.conf", data)));
    assert_string_equal(subject->server.facts.config_path,
                        arena_printf(arena, "%s/read.conf", data));
    MUST(probe_with(subject, arena_printf(arena, "%s/itself/postgresql.conf", data)));
    assert_string_equal(subject->server.facts.config_path, config);
    subject->spec.config = NULL;
    put(subject, subject->config);
    subject_says(subject, remove, data, "");
    reload(subject);
}

static void names_connection_options(void **state)
{
    struct subject *subject = *state;
    const char *good = subject->spec.connect;
    begin(subject);
    subject->spec.connect = arena_printf(&subject->arena, "%s options='-c work_mem=3MB'", good);
    expect_override(subject, "the connection's own options", "target.connect");
    subject->spec.connect = good;
    assert_int_equal(setenv("PGOPTIONS", "-c work_mem=3MB", 1), 0);
    bool passed = overrides(subject);
    assert_int_equal(unsetenv("PGOPTIONS"), 0);
    assert_false(passed);
    assert_non_null(strstr(subject->err.text, "work_mem is set by the connection's own options"));
    assert_non_null(strstr(subject->err.hint, "PGOPTIONS"));
    err_clear(&subject->err);
    MUST(overrides(subject));
}

static void edits_the_file_of_alter_system(void **state)
{
    struct subject *subject = *state;
    struct reading reading;
    struct bytes file;
    struct host_file as;
    struct bytes rendered;
    begin(subject);
    subject->spec.apply = "sql";
    subject_probe(subject);
    assert_true(text_ends_with(subject->server.facts.config_path, "/postgresql.auto.conf"));
    struct setting setting = {.knob = subject->rows[1],
                              .value = {.kind = VALUE_INTEGER, .integer = 9 << 20}};
    MUST(host_get(subject->host, subject->server.facts.config_path, DEADLINE, &subject->arena,
                  &file, &as, &subject->err));
    MUST(subject->backend->render(&subject->server, file, &setting, 1, &subject->arena, &rendered,
                                  &subject->err));
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(host_put(subject->host, subject->server.facts.config_path, rendered, &as, false, DEADLINE,
                  &subject->err));
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    MUST(subject->backend->read_back(&subject->server, &setting, 1, DEADLINE, &subject->arena,
                                     &reading, &subject->err));
    assert_int_equal(reading.value.integer, 9 << 20);
    assert_int_equal(reading.source, SOURCE_CONFIG);
    MUST(overrides(subject));
    MUST(host_put(subject->host, subject->server.facts.config_path, file, &as, false, DEADLINE,
                  &subject->err));
    subject->spec.apply = NULL;
    reload(subject);
    subject_probe(subject);
    assert_int_not_equal(subject->found[1].source, SOURCE_SQL);
}

/* ---- readings ---- */

static void tells_what_waits_for_a_restart(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    append(subject, "shared_buffers = 40MB\nwork_mem = 5MB\n");
    reload(subject);
    subject_probe(subject);
    assert_true(subject->found[0].pending_restart);
    assert_false(subject->found[1].pending_restart);
    assert_int_equal(subject->found[1].value.integer, 5 << 20);
    assert_int_equal(subject->found[1].source, SOURCE_CONFIG);
    char wanted[300];
    snprintf(wanted, sizeof wanted, "%s:", subject->server.facts.config_path);
    assert_true(text_starts_with(subject->found[1].detail, wanted));
    put(subject, subject->config);
    reload(subject);
}

static void completes_rows_from_the_server(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    static const struct knob asked_rows[] = {
        {.name = "Deadlock_Timeout",
         .type = KNOB_TEXT,
         .bare = 1,
         .specials = "",
         .choices = "",
         .durability = "d",
         .danger = "x",
         .sentence = "ours"},
        {.name = "log_temp_files", .type = KNOB_TEXT, .bare = 1, .specials = "", .choices = ""},
        {.name = "bytea_output", .type = KNOB_TEXT, .bare = 1, .specials = "", .choices = ""},
        {.name = "wal_buffers", .type = KNOB_TEXT, .bare = 1, .specials = "", .choices = ""}};
    const struct knob *asked[COUNT_OF(asked_rows)];
    const struct knob *rows[COUNT_OF(asked_rows)];
    struct reading readings[COUNT_OF(asked_rows)];
    for (size_t i = 0; i < COUNT_OF(asked_rows); i++)
        asked[i] = &asked_rows[i];
    MUST(subject->backend->probe(&subject->server, asked, COUNT_OF(asked_rows), DEADLINE,
                                 &subject->arena, rows, readings, &subject->err));
    assert_string_equal(rows[0]->name, "deadlock_timeout");
    assert_int_equal(rows[0]->type, KNOB_INTEGER);
    assert_int_equal(rows[0]->unit, UNIT_US);
    assert_int_equal(rows[0]->bare, 1000);
    assert_true(rows[0]->min == 1000);
    assert_string_equal(rows[0]->durability, "d");
    assert_string_equal(rows[0]->danger, "x");
    assert_int_equal(readings[0].value.integer, 1000000);
    assert_int_equal(readings[0].source, SOURCE_DEFAULT);
    assert_string_equal(rows[1]->specials, "-1");
    assert_true(rows[1]->min == 0);
    assert_int_equal(readings[1].value.integer, -1);
    assert_string_equal(rows[2]->choices, "escape|hex");
    assert_string_equal(readings[2].value.text, "hex");
    assert_int_equal(rows[3]->bare, 8192);
    assert_int_equal(readings[3].source, SOURCE_AUTO);
    assert_true(readings[3].value.integer > 0);
    static const struct knob internal = {
        .name = "block_size", .type = KNOB_TEXT, .bare = 1, .specials = "", .choices = ""};
    asked[0] = &internal;
    MUST_FAIL(subject->backend->probe(&subject->server, asked, 1, DEADLINE, &subject->arena, rows,
                                      readings, &subject->err),
              ERR_CODE_unsupported);
}

static bool has_counter(const struct counter *counters, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(counters[i].name, name) == 0)
            return true;
    }
    return false;
}

static void counts_transactions(void **state)
{
    struct subject *subject = *state;
    struct counter *counters = NULL;
    size_t count = 0;
    begin(subject);
    MUST(subject->backend->counters(&subject->server, DEADLINE, &subject->arena, &counters, &count,
                                    &subject->err));
    assert_true(has_counter(counters, count, "pg_stat_database.xact_commit"));
    assert_true(has_counter(counters, count, "pg_stat_database.blks_hit"));
    assert_true(has_counter(counters, count, "pg_stat_bgwriter.buffers_alloc"));
    assert_false(has_counter(counters, count, "pg_stat_database.datid"));
}

static void warms_with_its_extension(void **state)
{
    struct subject *subject = *state;
    begin(subject);
    if (strcmp(subject_value(subject, "select count(*) from pg_available_extensions"
                                      " where name = 'pg_prewarm'"),
               "1") != 0)
        skip();
    subject_sql(subject, "create schema \"Ext s\"; create extension pg_prewarm schema \"Ext s\"");
    subject_sql(subject, "create table warm_big as select i, repeat('x', 500) as t"
                         " from generate_series(1, 30000) i");
    subject_sql(subject, "create index on warm_big (i)");
    subject_restart(subject);
    MUST(subject->backend->prewarm(&subject->server, DEADLINE, &subject->err));
    subject_sql(subject, "create extension if not exists pg_buffercache");
    const char *warm = subject_value(
        subject, "select count(*) * 10 > max(pg_relation_size('warm_big')) / 8192 * 9"
                 " from pg_buffercache where relfilenode = pg_relation_filenode('warm_big')");
    assert_string_equal(warm, "t");
    subject_sql(subject,
                "drop table warm_big; drop extension pg_buffercache; drop extension pg_prewarm;"
                " drop schema \"Ext s\"");
}

/* ---- a user who may not see everything ---- */

static void says_what_a_plain_user_lacks(void **state)
{
    struct subject *subject = *state;
    const char *good = subject->spec.connect;
    const char *data = NULL;
    begin(subject);
    data = subject->server.facts.data_directory;
    subject_sql(subject, "drop role if exists plain_user; create role plain_user login");
    subject->spec.connect = arena_printf(&subject->arena, "%s user=plain_user", good);
    subject->backend->close(&subject->server);
    subject_open_server(subject);
    subject->server.facts = (struct server_facts){0};
    const struct knob *rows[1];
    struct reading reading;
    const struct knob *asked[] = {subject->rows[1]};
    MUST_FAIL(subject->backend->probe(&subject->server, asked, 1, DEADLINE, &subject->arena, rows,
                                      &reading, &subject->err),
              ERR_CODE_unsupported);
    assert_non_null(strstr(subject->err.hint, "data_directory"));
    subject->spec.data_directory = data;
    err_clear(&subject->err);
    MUST(subject->backend->probe(&subject->server, asked, 1, DEADLINE, &subject->arena, rows,
                                 &reading, &subject->err));
    assert_true(reading.known);
    MUST(overrides(subject));
    MUST_FAIL(subject->backend->settle(&subject->server, DEADLINE, &subject->err),
              ERR_CODE_statement);
    assert_non_null(strstr(subject->err.hint, "pg_checkpoint"));
    subject->spec.data_directory = NULL;
    subject->spec.connect = good;
    subject_sql(subject, "drop role plain_user");
    subject->backend->close(&subject->server);
    subject_open_server(subject);
    subject_probe(subject);
}

/* ---- sessions ---- */

static void integers_use_the_index(void **state)
{
    struct subject *subject = *state;
    struct session *session = NULL;
    const char *plan = NULL;
    static const enum param_type types[] = {PARAM_INT, PARAM_TEXT};
    const struct session_spec spec = {.connect = subject->spec.connect, .application = "test"};
    begin(subject);
    subject_sql(subject,
                "drop table if exists index_test; create table index_test as select i::int as id,"
                " i::text::char(10) as c from generate_series(1, 20000) i;"
                " create index on index_test (id); create index on index_test (c);"
                " analyze index_test");
    MUST(subject->backend->session->open(&spec, DEADLINE, &session, &subject->err));
    static const char *const sqls[] = {"select 1 from index_test where id = ? and ?::text <> ''",
                                       "select 1 from index_test where id < ? and c = ?"};
    for (unsigned i = 0; i < 2; i++) {
        char explain[80];
        MUST(session->driver->prepare(session, i, sqls[i], types, 2, DEADLINE, &subject->err));
        MUST(session_execute(session, "set plan_cache_mode = force_generic_plan", NULL, NULL,
                             DEADLINE, &subject->err));
        snprintf(explain, sizeof explain, "explain (format json) execute s%u(5, 'x')", i);
        MUST(session_value(session, explain, DEADLINE, &subject->arena, &plan, &subject->err));
        assert_null(strstr(plan, "Seq Scan"));
    }
    session->driver->close(session);
    subject_sql(subject, "drop table index_test");
}

static void nothing_goes_on_after_a_cancel(void **state)
{
    struct subject *subject = *state;
    struct session *session = NULL;
    const struct session_spec spec = {.connect = subject->spec.connect, .application = "sleeper"};
    begin(subject);
    for (int i = 0; i < 2; i++) {
        MUST(subject->backend->session->open(&spec, DEADLINE, &session, &subject->err));
        MUST(session->driver->send_text(session, "select pg_sleep(600)", &subject->err));
        assert_int_equal(session->driver->pump(session, &subject->err), SESSION_WANT_READ);
        clock_sleep_until(clock_now_ns() + 50 * NS_PER_MS);
        if (i == 0)
            session->driver->cancel(session);
        session->driver->close(session);
    }
    const char *left = "2";
    for (int i = 0; i < 200 && strcmp(left, "0") != 0; i++) {
        clock_sleep_until(clock_now_ns() + 50 * NS_PER_MS);
        left = subject_value(subject, "select count(*) from pg_stat_activity"
                                      " where application_name = 'sleeper'");
    }
    assert_string_equal(left, "0");
}

static void a_lost_server_is_told(void **state)
{
    struct subject *subject = *state;
    struct session *session = NULL;
    const struct session_spec spec = {.connect = subject->spec.connect, .application = "victim"};
    begin(subject);
    MUST(subject->backend->session->open(&spec, DEADLINE, &session, &subject->err));
    subject_sql(subject, "select pg_terminate_backend(pid) from pg_stat_activity"
                         " where application_name = 'victim'");
    MUST_FAIL(session_execute(session, "select 1", NULL, NULL, DEADLINE, &subject->err),
              ERR_CODE_connection);
    assert_int_equal(session->driver->classify(session, &subject->err), SESSION_LOST);
    MUST_FAIL(session_execute(session, "select 1", NULL, NULL, DEADLINE, &subject->err),
              ERR_CODE_connection);
    session->driver->close(session);
    MUST(subject->backend->session->open(&spec, DEADLINE, &session, &subject->err));
    MUST_FAIL(
        session_execute(session, "copy (select 1) to stdout", NULL, NULL, DEADLINE, &subject->err),
        ERR_CODE_statement);
    session->driver->close(session);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(renders_what_the_server_reads, clean_up),
        cmocka_unit_test_teardown(names_alter_system, clean_up),
        cmocka_unit_test_teardown(names_alter_database_and_role, clean_up),
        cmocka_unit_test_teardown(names_later_includes, clean_up),
        cmocka_unit_test_teardown(leaves_supervised_servers_alone, clean_up),
        cmocka_unit_test_teardown(edits_only_what_the_server_reads, clean_up),
        cmocka_unit_test_teardown(names_connection_options, clean_up),
        cmocka_unit_test_teardown(edits_the_file_of_alter_system, clean_up),
        cmocka_unit_test_teardown(tells_what_waits_for_a_restart, clean_up),
        cmocka_unit_test_teardown(completes_rows_from_the_server, clean_up),
        cmocka_unit_test_teardown(counts_transactions, clean_up),
        cmocka_unit_test_teardown(warms_with_its_extension, clean_up),
        cmocka_unit_test_teardown(says_what_a_plain_user_lacks, clean_up),
        cmocka_unit_test_teardown(integers_use_the_index, clean_up),
        cmocka_unit_test_teardown(nothing_goes_on_after_a_cancel, clean_up),
        cmocka_unit_test_teardown(a_lost_server_is_told, clean_up),
    };
    static struct CMUnitTest listed[SUBJECT_TEST_LIMIT];
    size_t count = subjects_list("postgresql", tests, COUNT_OF(tests), listed);
    return _cmocka_run_group_tests("postgresql", listed, count, subjects_open, subjects_close);
}
