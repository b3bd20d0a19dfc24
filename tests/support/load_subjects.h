/*
 * What tests of the load share: the databases that they drive (SQLite in a file of its own, and the
 * private PostgreSQL and MariaDB servers of tests/run.sh), jobs of a modest size, and a session to
 * look at what they did. The worker is the test program itself, started again.
 */
#ifndef TESTS_SUPPORT_LOAD_SUBJECTS_H
#define TESTS_SUPPORT_LOAD_SUBJECTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/stop.h"
#include "sweeper/load/mark.h"
#include "sweeper/load/workload.h"

#define DEADLINE clock_deadline_ms(60000)

struct subject {
    const char *backend;
    const char *absent; /* why it cannot be tested; NULL: it can */
    char directory[64];
    char connect[512];
    struct host *host;
    struct arena arena;
    struct err err;
    struct load_job job;
    struct load_result result;
    struct session *session; /* to look with */
    size_t note_count;
    size_t second_count;
    void (*on_second)(struct subject *subject, const struct load_second *second); /* or NULL */
    double rates_per_s[LOAD_PHASE_DRAIN + 1]; /* of the last second of each phase */
};

static inline void subject_must(struct subject *subject, bool ok, const char *what, int line)
{
    char text[1500];
    if (ok) {
        return;
    }
    err_format(&subject->err, text, sizeof text);
    fail_msg("line %d: %s: %s: %s", line, what, err_code_name(subject->err.code), text);
}
/* A call that must succeed; its error is shown where it does not. */
#define MUST(call) subject_must(subject, (call), #call, __LINE__)
/* A call that must fail with this code. */
#define MUST_FAIL(call, code_)                                                                     \
    do {                                                                                           \
        err_clear(&subject->err);                                                                  \
        assert_false(call);                                                                        \
        if (subject->err.code != (code_)) {                                                        \
            fail_msg("line %d: %s: %s: %s", __LINE__, #call, err_code_name(subject->err.code),     \
                     subject->err.text);                                                           \
        }                                                                                          \
    } while (0)
#define HOLDS(text, part)                                                                          \
    do {                                                                                           \
        if (strstr((text), (part)) == NULL) {                                                      \
            fail_msg("line %d: \"%s\" does not hold \"%s\"", __LINE__, (text), (part));            \
        }                                                                                          \
    } while (0)

static inline struct workload_spec subject_workload(void)
{
    return (struct workload_spec){.kind = "oltp",
                                  .clients = 4,
                                  .measure_ms = 1000,
                                  .drain_ms = 5000,
                                  .prepare_timeout_ms = 60000,
                                  .seed = 1,
                                  .error_budget_pct = 1,
                                  .reset = "default",
                                  .mix = "read_write",
                                  .tables = 2,
                                  .rows = 1200,
                                  .range_size = 10,
                                  .distribution = "uniform",
                                  .prepared = true,
                                  .preset = "none"};
}

/* ---- looking at the database ---- */

static inline void subject_sql(struct subject *subject, const char *sql)
{
    MUST(session_execute(subject->session, sql, NULL, NULL, DEADLINE, &subject->err));
}

static inline int64_t subject_number(struct subject *subject, const char *sql)
{
    const char *text = NULL;
    int64_t number = 0;
    MUST(session_value(subject->session, sql, DEADLINE, &subject->arena, &text, &subject->err));
    if (text == NULL) {
        return -1;
    }
    MUST(units_parse_int(text, &number, &subject->err));
    return number;
}

static inline enum mark_state subject_state(struct subject *subject, const char *table)
{
    enum mark_state state = MARK_ABSENT;
    MUST(mark_look_up(subject->session, table, DEADLINE, &state, &subject->err));
    return state;
}

/* ---- driving ---- */

static inline void subject_note(void *context, const char *text)
{
    struct subject *subject = context;
    (void)text;
    subject->note_count++;
}

static inline void subject_second(void *context, const struct load_second *second)
{
    struct subject *subject = context;
    subject->rates_per_s[second->phase] = second->throughput_per_s;
    if (subject->on_second != NULL) {
        subject->on_second(subject, second);
    }
    subject->second_count++;
}

static inline bool subject_run(struct subject *subject, enum load_operation operation)
{
    const struct load_progress progress = {
        .context = subject, .note = subject_note, .second = subject_second};
    subject->job.operation = operation;
    subject->note_count = 0;
    subject->second_count = 0;
    return load_run(subject->host, NULL, &subject->job, DEADLINE, &progress, &subject->arena,
                    operation == LOAD_DRIVE ? &subject->result : NULL, &subject->err);
}

static inline uint64_t subject_done(const struct subject *subject)
{
    uint64_t done = 0;
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        done += subject->result.transactions[i].latency->count;
    }
    return done;
}

/* ---- opening ---- */

static inline void subject_open_session(struct subject *subject)
{
    const struct session_spec spec = {.connect = subject->connect, .application = "dbsweep-test"};
    MUST(backend_find(subject->backend)
             ->session->open(&spec, DEADLINE, &subject->session, &subject->err));
}

static inline void subject_close_session(struct subject *subject)
{
    if (subject->session != NULL) {
        subject->session->driver->close(subject->session);
        subject->session = NULL;
    }
}

/* A fresh job, no tables of a test before. */
static inline void subject_begin(struct subject *subject)
{
    err_clear(&subject->err);
    arena_reset(&subject->arena);
    subject->job = (struct load_job){
        .workload = subject_workload(),
        .backend = subject->backend,
        .session = {.connect = subject->connect, .application = "dbsweep-test-load"}};
    subject->result = (struct load_result){0};
    subject->on_second = NULL;
    subject_open_session(subject);
}

static inline void subject_end(struct subject *subject)
{
    static const char *const kinds[] = {"view", "table"};
    static const char *const names[] = {"sbtest1", "sbtest2", "sbtest3", "dbsweep_meta"};
    char sql[128];
    struct err ignored;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        for (size_t j = 0; j < COUNT_OF(kinds); j++) {
            snprintf(sql, sizeof sql, "drop %s if exists %s", kinds[j], names[i]);
            (void)!session_execute(subject->session, sql, NULL, NULL, DEADLINE, &ignored);
        }
    }
    subject_close_session(subject);
}

static inline void subject_find(struct subject *subject, const char *backend)
{
    bool is_mysql = strcmp(backend, "mysql") == 0;
    const char *variable = is_mysql ? "DBSWEEP_TEST_MY_CONNECT" : "DBSWEEP_TEST_PG_CONNECT";
    const char *connect = getenv(variable);
    *subject = (struct subject){.backend = backend};
    if (backend_find(backend) == NULL || backend_find(backend)->session == NULL) {
        subject->absent = "this build has no such session";
        return;
    }
    snprintf(subject->directory, sizeof subject->directory, "/tmp/dbsweep-load.XXXXXX");
    if (strcmp(backend, "sqlite") != 0) {
        subject->directory[0] = '\0';
        subject->absent = connect == NULL ? "no server is named in the environment" : NULL;
        snprintf(subject->connect, sizeof subject->connect, "%s", connect != NULL ? connect : "");
    } else if (mkdtemp(subject->directory) == NULL) {
        subject->absent = "no temporary directory can be made";
    } else {
        snprintf(subject->connect, sizeof subject->connect, "%s/bench.db", subject->directory);
    }
    arena_open(&subject->arena, (size_t)256 << 20);
    if (!host_open(NULL, DEADLINE, &subject->host, &subject->err)) {
        subject->absent = "this machine cannot be opened as a host";
    }
}

static inline void subject_forget(struct subject *subject)
{
    char command[128];
    host_close(subject->host);
    arena_close(&subject->arena);
    if (subject->directory[0] != '\0') {
        snprintf(command, sizeof command, "rm -rf '%s'", subject->directory);
        (void)!system(command);
    }
}

/* The worker of a test is the test's own program. */
static inline void subject_serve(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "load") == 0 && strcmp(argv[2], "--worker") == 0) {
        _exit(load_worker_main(0, 1));
    }
}

#endif
