/*
 * An sshd of a test's own, for tests of what goes wrong with one: started with lines of its
 * configuration, reached with either transport, its user's files written at will.
 */
#ifndef TESTS_SUPPORT_SSH_SERVER_H
#define TESTS_SUPPORT_SSH_SERVER_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/text.h"
#include "sweeper/host/host.h"

struct server {
    char directory[64];
    char root[96]; /* "name@127.0.0.1:port" of who runs the tests */
    char user[96]; /* of one who may use sudo; "" where the tests are not run by root */
    char user_name[64];
    char port[8];
};

static struct arena arena;
static struct host *here;
static struct host *there; /* what a test opened; closed after it */
static struct err err;
static struct server usual; /* for the tests that need no other */
static struct server own;   /* started by a test; stopped after it */

/* --- commands --------------------------------------------------------------------------------- */

/* A script on this machine that must succeed; what it said. */
static inline const char *do_here(const char *script, const char *first, const char *second)
{
    struct host_result result;
    const char *const argv[] = {"/bin/bash", "-c", script, "test", first, second, NULL};
    const struct host_command command = {.argv = argv, .deadline = clock_deadline_ms(60000)};
    if (!host_run_ok(here, &command, &arena, &result, &err))
        fail_msg("%s: %s", script, err.text);
    return result.output;
}

/* A script on the other machine; false: the connection failed, with its error in `err`. */
static inline bool do_there(const char *script, int64_t wait_ms, struct host_result *out)
{
    const char *const argv[] = {"/bin/sh", "-c", script, "test", NULL};
    const struct host_command command = {.argv = argv, .deadline = clock_deadline_ms(wait_ms)};
    err_clear(&err);
    return host_run(there, &command, &arena, out, &err);
}

static inline void assert_works(void)
{
    struct host_result result;
    if (!do_there("echo works; echo why >&2; exit 3", 20000, &result))
        fail_msg("%s: %s", err.origin, err.text);
    assert_string_equal(result.output, "works\n");
    assert_string_equal(result.error_text, "why\n");
    assert_int_equal(result.exit_status, 3);
    assert_int_equal(result.signal_number, 0);
}

/* --- servers ---------------------------------------------------------------------------------- */

static inline void take_word(const char *said, const char *name, char *out, size_t size)
{
    const char *key = arena_printf(&arena, "export DBSWEEP_TEST_SSH%s=", name);
    const char *at = strstr(said, key);
    if (at == NULL) {
        out[0] = '\0';
        return;
    }
    at += strlen(key);
    snprintf(out, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static inline void server_start(struct server *server, const char *lines)
{
    const char *said = do_here("mapfile -t lines < <(printf %s \"$1\")\n"
                               "tests/support/sshd.sh start \"${lines[@]}\"",
                               lines, NULL);
    take_word(said, "_DIR", server->directory, sizeof server->directory);
    take_word(said, "", server->root, sizeof server->root);
    take_word(said, "_USER", server->user, sizeof server->user);
    take_word(said, "_PORT", server->port, sizeof server->port);
    snprintf(server->user_name, sizeof server->user_name, "%.*s", (int)strcspn(server->user, "@"),
             server->user);
}

static inline void server_stop(struct server *server)
{
    if (server->directory[0] != '\0')
        do_here("tests/support/sshd.sh stop \"$1\"", server->directory, NULL);
    server->directory[0] = '\0';
}

static inline const char *in_server(const struct server *server, const char *name)
{
    const char *path = arena_printf(&arena, "%s/%s", server->directory, name);
    assert_non_null(path);
    return path;
}

static inline struct host_spec spec_of(const struct server *server, const char *transport)
{
    /* root's start files may be slow */
    return (struct host_spec){.ssh = server->user[0] != '\0' ? server->user : server->root,
                              .identity = in_server(server, "id"),
                              .known_hosts = in_server(server, "known_hosts"),
                              .transport = transport};
}

static inline bool is_libssh2(const char *transport)
{
    return strcmp(transport, "libssh2") == 0;
}

/* Who is let in may be written to: only where root made a user for it. */
static inline void need_user(void)
{
    if (usual.user[0] == '\0') {
        print_message("only root can make a user for the test\n");
        skip();
    }
}

/* --- opening ---------------------------------------------------------------------------------- */

static inline bool reach_within(const struct host_spec *spec, int64_t wait_ms)
{
    host_close(there);
    there = NULL;
    err_clear(&err);
    return host_open(spec, clock_deadline_ms(wait_ms), &there, &err);
}

static inline bool reach(const struct host_spec *spec)
{
    return reach_within(spec, 20000);
}

static inline void must_reach(const struct host_spec *spec)
{
    if (!reach(spec))
        fail_msg("%s: %s; %s", err.origin, err.text, err.hint);
    assert_works();
}

/* Refused with that code, words in the text and in the hint; "" where nothing is asked. */
static inline void must_refuse(const struct host_spec *spec, enum err_code code, const char *text,
                               const char *hint)
{
    if (reach(spec))
        fail_msg("it was let in");
    if (err.code != code || strstr(err.text, text) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("code %s, text '%s', hint '%s'; wanted %s, '%s', '%s'", err_code_name(err.code),
                 err.text, err.hint, err_code_name(code), text, hint);
    assert_true(err.class == (code == ERR_CODE_host ? ERR_TARGET : ERR_PLAN));
    assert_non_null(strstr(err.origin, usual.port));
    assert_true(strchr(err.text, '\n') == NULL && strchr(err.hint, '\n') == NULL);
}

/* --- the suite -------------------------------------------------------------------------------- */

static inline int suite_open(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)512 * 1024 * 1024);
    unsetenv("SSH_AUTH_SOCK");
    if (!host_open(NULL, clock_deadline_ms(1000), &here, &err))
        return -1;
    server_start(&usual, "");
    return usual.port[0] != '\0' ? 0 : -1;
}

static inline int suite_close(void **state)
{
    (void)state;
    server_stop(&usual);
    host_close(here);
    arena_close(&arena);
    return 0;
}

static inline int test_close(void **state)
{
    (void)state;
    host_close(there);
    there = NULL;
    server_stop(&own);
    return 0;
}

/* Every test with both transports; those alone whose names hold $DBSWEEP_TEST_ONLY, where set. */
static inline int suite_run(const struct CMUnitTest *tests, size_t test_count)
{
    const char *only = getenv("DBSWEEP_TEST_ONLY");
    static struct CMUnitTest all[128];
    static char names[128][100];
    static char transports[2][16] = {"libssh2", "openssh"};
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(transports); i++) {
        for (size_t j = 0; j < test_count; j++) {
            if (only != NULL && strstr(tests[j].name, only) == NULL)
                continue;
            assert(count < COUNT_OF(all));
            snprintf(names[count], sizeof names[0], "%s: %s", transports[i], tests[j].name);
            all[count] = (struct CMUnitTest){.name = names[count],
                                             .test_func = tests[j].test_func,
                                             .teardown_func = test_close,
                                             .initial_state = transports[i]};
            count++;
        }
    }
    return _cmocka_run_group_tests("ssh", all, count, suite_open, suite_close);
}

#endif
