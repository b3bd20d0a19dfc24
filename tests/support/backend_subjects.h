/*
 * The servers that the conformance tests of backends run over: for every entry of `backends` a
 * real one, or a reason why not. SQLite gets a file of its own; PostgreSQL and MariaDB are the
 * private servers that tests/support/postgresql.sh and mariadb.sh made, by DBSWEEP_TEST_PG_* and
 * DBSWEEP_TEST_MY_*. A new backend gets a line in subject_describe.
 */
#ifndef TESTS_SUPPORT_BACKEND_SUBJECTS_H
#define TESTS_SUPPORT_BACKEND_SUBJECTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/backend.h"
#include "knobs/catalogue.h"
#include "sweeper/base/text.h"
#include "tests/support/odbc_connect.h"

#define SUBJECT_LIMIT 16
#define SUBJECT_TEST_LIMIT 256
#define SUBJECT_KNOB_LIMIT 8
#define DEADLINE clock_deadline_ms(30000)

/* A knob and two values that differ from each other and from the default. */
struct subject_knob {
    const char *name;
    const char *first;
    const char *second;
    enum source_kind source; /* of a value that was set */
};

struct subject {
    const struct backend *backend;
    const char *absent;                    /* why it cannot be tested; NULL: it can */
    const struct session_driver *sessions; /* under test: the backend's own, or over ODBC */
    struct target_spec spec;
    const struct subject_knob *knobs;
    size_t knob_count;
    struct host *host;
    struct server server;
    struct arena arena;
    struct err err;
    char directory[64];                          /* of the test's own */
    const struct knob *rows[SUBJECT_KNOB_LIMIT]; /* as completed by the probe */
    struct reading found[SUBJECT_KNOB_LIMIT];
    struct bytes config; /* as found, where there is a file */
    struct host_file config_file;
};

static struct subject subjects[SUBJECT_LIMIT];
static size_t subject_count;
static char subject_names[SUBJECT_TEST_LIMIT][96]; /* cmocka prints them after all is closed */

static inline void subject_must(struct subject *subject, bool ok, const char *what, int line)
{
    char text[1500];
    if (ok)
        return;
    err_format(&subject->err, text, sizeof text);
    fail_msg("line %d: %s: %s", line, what, text);
}
/* A call that must succeed; its error is shown where it does not. */
#define MUST(call) subject_must(subject, (call), #call, __LINE__)
/* A call that must fail with this code. */
#define MUST_FAIL(call, code_)                                                                     \
    do {                                                                                           \
        err_clear(&subject->err);                                                                  \
        assert_false(call);                                                                        \
        if (subject->err.code != (code_))                                                          \
            fail_msg("line %d: %s: %s: %s", __LINE__, #call, err_code_name(subject->err.code),     \
                     subject->err.text);                                                           \
    } while (0)

static inline const char *subject_environment(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* A command of blank-separated words; NULL where the variable is not set. */
static inline const char *const *subject_words(struct subject *subject, const char *name)
{
    enum { WORD_LIMIT = 16 };
    const char *text = subject_environment(name);
    const char **words = ARENA_ARRAY(&subject->arena, const char *, WORD_LIMIT + 1);
    char *rest = text != NULL ? arena_strdup(&subject->arena, text) : NULL;
    if (words == NULL || rest == NULL)
        return NULL;
    char *kept = NULL;
    size_t count = 0;
    for (char *word = strtok_r(rest, " ", &kept); word != NULL && count < WORD_LIMIT;
         word = strtok_r(NULL, " ", &kept))
        words[count++] = word;
    return words;
}

/* Every combination of these, so that all can be asked for. */
static inline void subject_write_source(const char *path)
{
    static const char *const pools[] = {"8M", "16M", "32M"};
    static const char *const modes[] = {"plain", "fast", "safe"};
    static const char *const factors[] = {"1", "0.5", "2"};
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("pool,mode,depth,factor,tps\n", file);
    for (int i = 0; i < 81; i++) {
        fprintf(file, "%s,%s,%d,%s,%d\n", pools[i / 27], modes[i / 9 % 3], 1 << (i / 3 % 3),
                factors[i % 3], 100 + i);
    }
    assert_int_equal(fclose(file), 0);
}

static inline void subject_describe(struct subject *subject)
{
    static const struct subject_knob sqlite_knobs[] = {
        {"page_size", "8192", "1024", SOURCE_DATA},
        {"auto_vacuum", "full", "incremental", SOURCE_DATA},
        {"journal_mode", "wal", "truncate", SOURCE_DATA},
        {"cache_size", "64M", "-4000", SOURCE_SESSION},
        {"synchronous", "OFF", "EXTRA", SOURCE_SESSION},
        {"mmap_size", "1M", "64M", SOURCE_SESSION},
        {"cache_spill", "off", "off", SOURCE_SESSION},
        {"wal_autocheckpoint", "10", "100", SOURCE_SESSION}};
    static const struct subject_knob postgresql_knobs[] = {
        {"shared_buffers", "32MB", "48M", SOURCE_CONFIG},
        {"work_mem", "1MB", "65kB", SOURCE_CONFIG},
        {"checkpoint_timeout", "90s", "20min", SOURCE_CONFIG},
        {"random_page_cost", "1.1", "2.5", SOURCE_CONFIG},
        {"synchronous_commit", "off", "local", SOURCE_CONFIG},
        {"wal_buffers", "1MB", "64kB", SOURCE_CONFIG},
        {"vacuum_cost_delay", "1.5ms", "250us", SOURCE_CONFIG},
        {"enable_seqscan", "off", "false", SOURCE_CONFIG}};
    static const struct subject_knob mysql_knobs[] = {
        {"innodb_buffer_pool_size", "32M", "48M", SOURCE_CONFIG},
        {"innodb_log_buffer_size", "4M", "8M", SOURCE_CONFIG},
        {"innodb_flush_log_at_trx_commit", "2", "0", SOURCE_CONFIG},
        {"innodb_doublewrite", "off", "0", SOURCE_CONFIG},
        {"innodb_lock_wait_timeout", "90s", "7s", SOURCE_CONFIG},
        {"innodb_max_dirty_pages_pct", "75.5", "50", SOURCE_CONFIG},
        {"long_query_time", "1.5s", "250ms", SOURCE_CONFIG},
        {"binlog_row_image", "minimal", "NOBLOB", SOURCE_CONFIG}};
    static const struct subject_knob replay_knobs[] = {{"pool", "16M", "32M", SOURCE_CONFIG},
                                                       {"mode", "fast", "safe", SOURCE_CONFIG},
                                                       {"depth", "2", "4", SOURCE_CONFIG},
                                                       {"factor", "0.5", "2", SOURCE_CONFIG}};
    const char *name = subject->backend->name;
    if (strcmp(name, "replay") == 0) {
        subject->spec.source = arena_printf(&subject->arena, "%s/points.csv", subject->directory);
        subject->spec.replay = (struct replay_spec){.metric = "tps", .baseline_row = 1};
        subject->knobs = replay_knobs;
        subject->knob_count = COUNT_OF(replay_knobs);
        subject_write_source(subject->spec.source);
    } else if (strcmp(name, "sqlite") == 0) {
        char path[96];
        snprintf(path, sizeof path, "%s/bench.db", subject->directory);
        subject->spec.connect = arena_strdup(&subject->arena, path);
        subject->knobs = sqlite_knobs;
        subject->knob_count = COUNT_OF(sqlite_knobs);
    } else if (strcmp(name, "postgresql") == 0) {
        subject->spec.connect = subject_environment("DBSWEEP_TEST_PG_CONNECT");
        subject->knobs = postgresql_knobs;
        subject->knob_count = COUNT_OF(postgresql_knobs);
        subject->absent =
            subject->spec.connect == NULL ? "DBSWEEP_TEST_PG_CONNECT is not set" : NULL;
    } else if (strcmp(name, "mysql") == 0) {
        subject->spec.connect = subject_environment("DBSWEEP_TEST_MY_CONNECT");
        subject->spec.stop = subject_words(subject, "DBSWEEP_TEST_MY_STOP");
        subject->spec.start = subject_words(subject, "DBSWEEP_TEST_MY_START");
        subject->knobs = mysql_knobs;
        subject->knob_count = COUNT_OF(mysql_knobs);
        subject->absent =
            subject->spec.connect == NULL ? "DBSWEEP_TEST_MY_CONNECT is not set" : NULL;
    } else {
        subject->absent = "no server of this kind is here";
    }
}

static inline void subject_open_server(struct subject *subject)
{
    subject->server = (struct server){.backend = subject->backend,
                                      .host = subject->host,
                                      .spec = &subject->spec,
                                      .arena = &subject->arena};
    MUST(subject->backend->open(&subject->server, &subject->err));
}

/* Where there is no catalogue every row is left to the probe. */
static inline const struct knob *subject_free_knob(struct subject *subject, const char *name)
{
    struct knob *knob = ARENA_NEW(&subject->arena, struct knob);
    assert_non_null(knob);
    *knob =
        (struct knob){.name = name, .type = KNOB_TEXT, .bare = 1, .specials = "", .choices = ""};
    return knob;
}

static inline void subject_probe(struct subject *subject)
{
    size_t count = 0;
    const struct knob *catalogue = catalogue_knobs(subject->backend->system, &count);
    const struct knob *asked[SUBJECT_KNOB_LIMIT];
    for (size_t i = 0; i < subject->knob_count; i++) {
        const char *name = subject->knobs[i].name;
        asked[i] = catalogue != NULL ? knob_find(catalogue, count, name)
                                     : subject_free_knob(subject, name);
        assert_non_null(asked[i]);
    }
    MUST(subject->backend->probe(&subject->server, asked, subject->knob_count, DEADLINE,
                                 &subject->arena, subject->rows, subject->found, &subject->err));
}

static inline int subject_setup(void **state)
{
    struct subject *subject = *state;
    if (subject->server.state == NULL) {
        MUST(host_open(NULL, DEADLINE, &subject->host, &subject->err));
        subject_open_server(subject);
    }
    err_clear(&subject->err);
    return 0;
}

static inline void subject_is_absent(void **state)
{
    struct subject *subject = *state;
    print_message("# %s: %s\n", subject->backend->name, subject->absent);
    skip();
}

/* The server runs, its baseline in place. */
static inline void subject_ready(struct subject *subject)
{
    int64_t deadline = DEADLINE;
    bool is_ready = false;
    const char *why = "";
    while (!is_ready) {
        MUST(subject->backend->ready(&subject->server, deadline, &is_ready, &why, &subject->err));
        if (!is_ready && clock_passed(deadline))
            fail_msg("not ready: %s", why);
        if (!is_ready)
            clock_sleep_until(clock_now_ns() + 20 * NS_PER_MS);
    }
}

static inline void subject_restart(struct subject *subject)
{
    MUST(subject->backend->stop(&subject->server, DEADLINE, &subject->err));
    MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
}

/* The settings in place while the server is down, from the baseline as probed. */
static inline void subject_apply(struct subject *subject, const struct setting *settings)
{
    const struct backend *backend = subject->backend;
    struct value baseline[SUBJECT_KNOB_LIMIT];
    struct bytes rendered;
    if (backend->render == NULL) {
        for (size_t i = 0; i < subject->knob_count; i++)
            baseline[i] = subject->found[i].value;
        MUST(backend->apply(&subject->server, settings, baseline, subject->knob_count, DEADLINE,
                            &subject->err));
        return;
    }
    MUST(backend->render(&subject->server, subject->config, settings, subject->knob_count,
                         &subject->arena, &rendered, &subject->err));
    MUST(host_put(subject->host, subject->server.facts.config_path, rendered, &subject->config_file,
                  false, DEADLINE, &subject->err));
}

static inline void subject_keep_config(struct subject *subject)
{
    if (subject->backend->render != NULL) {
        MUST(host_get(subject->host, subject->server.facts.config_path, DEADLINE, &subject->arena,
                      &subject->config, &subject->config_file, &subject->err));
    }
}

/* Runs a constant script with arguments $1... as the tests' user; its output. */
static inline const char *subject_says(struct subject *subject, const char *script,
                                       const char *first, const char *second)
{
    struct host_result result;
    const char *const argv[] = {"/bin/sh", "-c", script, "test", first, second, NULL};
    const struct host_command command = {.argv = argv, .deadline = DEADLINE};
    MUST(host_run_ok(subject->host, &command, &subject->arena, &result, &subject->err));
    return result.output;
}

static inline void subject_sql(struct subject *subject, const char *sql)
{
    struct session *session = NULL;
    const struct session_spec spec = {.connect = subject->spec.connect, .application = "test"};
    MUST(subject->sessions->open(&spec, DEADLINE, &session, &subject->err));
    MUST(session_execute(session, sql, NULL, NULL, DEADLINE, &subject->err));
    subject->sessions->close(session);
}

static inline const char *subject_value(struct subject *subject, const char *sql)
{
    struct session *session = NULL;
    const char *value = NULL;
    const struct session_spec spec = {.connect = subject->spec.connect, .application = "test"};
    MUST(subject->sessions->open(&spec, DEADLINE, &session, &subject->err));
    MUST(session_value(session, sql, DEADLINE, &subject->arena, &value, &subject->err));
    subject->sessions->close(session);
    return value != NULL ? value : "NULL";
}

static inline int subjects_open(void **state)
{
    (void)state;
    backends_check();
    return 0;
}

static inline int subjects_close(void **state)
{
    (void)state;
    for (size_t i = 0; i < subject_count; i++) {
        struct subject *subject = &subjects[i];
        if (subject->server.state != NULL)
            subject->backend->close(&subject->server);
        host_close(subject->host);
        char command[128];
        snprintf(command, sizeof command, "rm -rf '%s'", subject->directory);
        if (system(command) != 0)
            return 1;
        arena_close(&subject->arena);
    }
    return 0;
}

static inline void subject_list_one(struct subject *subject, const struct CMUnitTest *test,
                                    size_t at, struct CMUnitTest out[SUBJECT_TEST_LIMIT])
{
    snprintf(subject_names[at], sizeof subject_names[at], "%s%s: %s",
             subject->sessions != subject->backend->session ? "odbc " : "", subject->backend->name,
             test->name);
    out[at] = *test;
    out[at].name = subject_names[at];
    out[at].initial_state = subject;
}

static inline struct subject *subject_add(const struct backend *backend,
                                          const struct session_driver *sessions)
{
    assert_true(subject_count < SUBJECT_LIMIT);
    struct subject *subject = &subjects[subject_count++];
    subject->backend = backend;
    subject->sessions = sessions;
    arena_open(&subject->arena, (size_t)256 << 20);
    snprintf(subject->directory, sizeof subject->directory, "/tmp/dbsweep-back.XXXXXX");
    assert_non_null(mkdtemp(subject->directory));
    subject_describe(subject);
    return subject;
}

static inline size_t subject_list_all(struct subject *subject, const struct CMUnitTest *tests,
                                      size_t count, CMFixtureFunction setup, size_t used,
                                      struct CMUnitTest out[SUBJECT_TEST_LIMIT])
{
    if (subject->absent != NULL) {
        const struct CMUnitTest absent = {.name = "all", .test_func = subject_is_absent};
        subject_list_one(subject, &absent, used, out);
        return used + 1;
    }
    for (size_t j = 0; j < count && used < SUBJECT_TEST_LIMIT; j++) {
        subject_list_one(subject, &tests[j], used, out);
        out[used].setup_func = setup;
        used++;
    }
    return used;
}

/* Every test for every backend, or for the one of that name, as "sqlite: round trip". Returns the
 * count. */
static inline size_t subjects_list(const char *only, const struct CMUnitTest *tests, size_t count,
                                   struct CMUnitTest out[SUBJECT_TEST_LIMIT])
{
    size_t used = 0;
    for (size_t i = 0; i < backend_count; i++) {
        struct subject *subject = subject_add(backends[i], backends[i]->session);
        if (only == NULL || strcmp(only, backends[i]->name) == 0)
            used = subject_list_all(subject, tests, count, subject_setup, used, out);
    }
    return used;
}

/* The same for every backend that has sessions. */
static inline size_t subjects_list_native(const struct CMUnitTest *tests, size_t count,
                                          struct CMUnitTest out[SUBJECT_TEST_LIMIT])
{
    size_t used = 0;
    for (size_t i = 0; i < backend_count; i++)
        if (backends[i]->session != NULL)
            used = subject_list_all(subject_add(backends[i], backends[i]->session), tests, count,
                                    subject_setup, used, out);
    return used;
}

static inline int subject_setup_session(void **state)
{
    struct subject *subject = *state;
    err_clear(&subject->err);
    return 0;
}

/* Every test for every kind of session, as "odbc sqlite: values come back". */
static inline size_t subjects_list_sessions(const struct CMUnitTest *tests, size_t count,
                                            struct CMUnitTest out[SUBJECT_TEST_LIMIT])
{
    size_t used = subjects_list_native(tests, count, out);
    for (size_t i = 0; i < backend_count; i++) {
        if (backends[i]->session == NULL)
            continue;
        struct subject *subject = subject_add(backends[i], backend_session(backends[i], "odbc"));
        if (subject->spec.connect != NULL)
            subject->spec.connect =
                odbc_connect_of(&subject->arena, backends[i]->name, subject->spec.connect);
        used = subject_list_all(subject, tests, count, subject_setup_session, used, out);
    }
    return used;
}

#endif
