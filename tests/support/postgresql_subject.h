/*
 * What the tests of the PostgreSQL backend share beyond backend_subjects.h: the configuration as it
 * was first found, put back after each test however it ended.
 */
#ifndef TESTS_SUPPORT_POSTGRESQL_SUBJECT_H
#define TESTS_SUPPORT_POSTGRESQL_SUBJECT_H

#include "tests/support/backend_subjects.h"

/* Before a script of which $1 is the data directory: `as PROGRAM ...` runs a program of that server
 * as its owner. */
#define AS_OWNER                                                                                   \
    "cd / && opts=$(cat \"$1/postmaster.opts\") && bin=${opts%%/postgres \\\"*} &&"                \
    " owner=$(stat -c %U \"$1\") && as() { program=$1; shift;"                                     \
    " if [ \"$(id -u)\" -ne 0 ]; then \"$bin/$program\" \"$@\"; else"                              \
    " runuser -u \"$owner\" -- \"$bin/$program\" \"$@\"; fi; } && "
/* Stops it and starts it without any words of its own; $2 is the log. */
#define PLAIN_RESTART                                                                              \
    AS_OWNER "as pg_ctl -D \"$1\" stop -m fast -w >/dev/null &&"                                   \
             " as pg_ctl -D \"$1\" start -w -l \"$2\" >/dev/null 2>&1"

static inline void reload(struct subject *subject)
{
    MUST(subject->backend->reload(&subject->server, NULL, NULL, 0, DEADLINE, &subject->err));
    clock_sleep_until(clock_now_ns() + 300 * NS_PER_MS);
}

static const char *usual_connect;
static struct bytes usual_config;

static inline void begin(struct subject *subject)
{
    subject_ready(subject);
    subject_probe(subject);
    subject_keep_config(subject);
    if (usual_connect == NULL) {
        usual_connect = subject->spec.connect;
        usual_config = subject->config;
    }
}

static inline void put(struct subject *subject, struct bytes content)
{
    MUST(host_put(subject->host, subject->server.facts.config_path, content, &subject->config_file,
                  false, DEADLINE, &subject->err));
}

/* However a test ended, the next one finds the server as the first one did. */
static inline int clean_up(void **state)
{
    struct subject *subject = *state;
    bool is_ready = false;
    const char *why = NULL;
    if (usual_connect == NULL)
        return 0;
    const char *log = subject->server.facts.log_path;
    subject->spec = (struct target_spec){.connect = usual_connect};
    subject->server.facts.config_path = subject_environment("DBSWEEP_TEST_PG_CONFIG");
    subject->server.facts.data_directory = subject_environment("DBSWEEP_TEST_PG_DATA");
    subject->server.facts.log_path = log != NULL ? log : subject_environment("DBSWEEP_TEST_PG_LOG");
    put(subject, usual_config);
    MUST(subject->backend->ready(&subject->server, DEADLINE, &is_ready, &why, &subject->err));
    if (!is_ready)
        MUST(subject->backend->start(&subject->server, DEADLINE, &subject->err));
    subject_ready(subject);
    return 0;
}

static inline void append(struct subject *subject, const char *lines)
{
    const char *all = arena_printf(&subject->arena, "%.*s\n%s", (int)subject->config.size,
                                   subject->config.data, lines);
    assert_non_null(all);
    put(subject, (struct bytes){.data = all, .size = strlen(all)});
}

#endif
