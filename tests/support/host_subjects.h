/*
 * The hosts that the conformance tests run over: every entry of host_drivers, and this machine with
 * its files reached by commands (as with sudo, and as a transport without a file protocol does).
 *
 * A driver other than "local" is reached by what the environment says, and skipped, in one line
 * with the reason, where it says nothing:
 *   DBSWEEP_TEST_SSH              user@name:port of a machine that the tests may write to
 *   DBSWEEP_TEST_SSH_USER         the same for a user who may use sudo without a password
 *   DBSWEEP_TEST_SSH_IDENTITY     key file
 *   DBSWEEP_TEST_SSH_KNOWN_HOSTS  file with that machine's key
 *   DBSWEEP_TEST_LOCAL_ONLY       set: this machine alone, in a second run as another user
 */
#ifndef TESTS_SUPPORT_HOST_SUBJECTS_H
#define TESTS_SUPPORT_HOST_SUBJECTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/host/host.h"
#include "sweeper/host/shell_file.h"

#define SUBJECT_LIMIT 10
#define TEST_LIMIT 64
#define MIB ((size_t)1024 * 1024)
/* Far above what a loaded machine needs, far below what the tests' sleepers sleep. */
#define SOON_NS (6 * NS_PER_S)

struct subject {
    const char *name;
    struct host_spec spec;
    const char *absent; /* why it cannot be tested; NULL: it can */
    bool by_commands;   /* files through shell_file_* */
    struct host *host;
    struct arena arena;
    struct err err;
    char directory[128]; /* on that host, for the tests */
};

static struct subject subjects[SUBJECT_LIMIT];
static size_t subject_count;
static struct host_driver by_commands_driver;

/* --- what a test says ------------------------------------------------------------------------- */

static inline struct bytes bytes_of(const char *text)
{
    return (struct bytes){.data = text, .size = strlen(text)};
}

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

/* A command line of words, ended within ten seconds unless the fields say otherwise. */
#define COMMAND(...)                                                                               \
    .argv = (const char *const[]){__VA_ARGS__, NULL}, .deadline = clock_deadline_ms(10000)
#define RUN(result, ...)                                                                           \
    MUST(host_run(subject->host, &(const struct host_command){__VA_ARGS__}, &subject->arena,       \
                  (result), &subject->err))

/* Output of a command that must succeed, in the subject's arena. */
static inline const char *subject_says(struct subject *subject, const char *script)
{
    struct host_result result;
    const struct host_command command = {
        COMMAND("/bin/sh", "-c", script, "test", subject->directory)};
    MUST(host_run_ok(subject->host, &command, &subject->arena, &result, &subject->err));
    return result.output;
}

static inline bool subject_can(struct subject *subject, const char *script)
{
    struct host_result result;
    RUN(&result, COMMAND("/bin/sh", "-c", script, "test", subject->directory));
    return result.exit_status == 0;
}

static inline const char *path_in(struct subject *subject, const char *name)
{
    const char *path = arena_printf(&subject->arena, "%s/%s", subject->directory, name);
    assert_non_null(path);
    return path;
}

/* Bytes of every value, in no order that a test would miss. */
static inline struct bytes subject_pattern(struct arena *arena, size_t size)
{
    char *data = arena_alloc(arena, size);
    assert_non_null(data);
    uint32_t number = 1;
    for (size_t i = 0; i < size; i++) {
        number = number * 1664525u + 1013904223u;
        data[i] = (char)(number >> 24);
    }
    return (struct bytes){.data = data, .size = size};
}

static inline bool is_root(struct subject *subject)
{
    return strcmp(subject_says(subject, "id -u"), "0\n") == 0;
}

/* --- files -------------------------------------------------------------------------------------
 */

static inline int64_t soon(void)
{
    return clock_deadline_ms(20000);
}

static inline bool get(struct subject *subject, const char *path, struct bytes *out,
                       struct host_file *out_file)
{
    return host_get(subject->host, path, soon(), &subject->arena, out, out_file, &subject->err);
}

static inline void assert_holds(struct subject *subject, const char *path, struct bytes wanted)
{
    struct bytes content;
    struct host_file file;
    char sha256[65];
    MUST(get(subject, path, &content, &file));
    assert_int_equal(content.size, wanted.size);
    assert_memory_equal(content.data, wanted.data, wanted.size);
    assert_int_equal(file.size_bytes, (int64_t)wanted.size);
    host_sha256(wanted, sha256);
    assert_string_equal(file.sha256, sha256);
}

/* Hidden files too: no temporary may stay. */
static inline void assert_directory_lists(struct subject *subject, const char *names)
{
    assert_string_equal(subject_says(subject, "ls -A \"$1\""), names);
}

static inline void absent_here(const char *why)
{
    print_message("%s\n", why);
    skip();
}

/* --- opening and closing ---------------------------------------------------------------------- */

static inline int subject_open(void **state)
{
    struct subject *subject = *state;
    err_clear(&subject->err);
    arena_open(&subject->arena, (size_t)512 * 1024 * 1024);
    if (!host_open(&subject->spec, clock_deadline_ms(10000), &subject->host, &subject->err)) {
        print_error("%s: %s\n", subject->name, subject->err.text);
        return -1;
    }
    if (subject->by_commands)
        subject->host->driver = &by_commands_driver;
    snprintf(subject->directory, sizeof subject->directory, "/");
    const char *made = subject_says(subject, "mktemp -d /tmp/dbsweep-host.XXXXXX");
    snprintf(subject->directory, sizeof subject->directory, "%.*s", (int)strcspn(made, "\n"), made);
    return 0;
}

static inline int subject_close(void **state)
{
    struct subject *subject = *state;
    subject_says(subject, "case $1 in /tmp/dbsweep-host.*) rm -rf \"$1\";; esac");
    host_close(subject->host);
    arena_close(&subject->arena);
    return 0;
}

static inline void subject_is_absent(void **state)
{
    const struct subject *subject = *state;
    print_message("%s: %s\n", subject->name, subject->absent);
    skip();
}

static inline struct subject *subject_add(const char *name)
{
    assert(subject_count < SUBJECT_LIMIT);
    struct subject *subject = &subjects[subject_count++];
    subject->name = name;
    return subject;
}

/* The same machine as an ordinary user whose commands go through sudo. */
static inline void subject_with_sudo(const struct subject *plain)
{
    static char names[SUBJECT_LIMIT][64];
    char *name = names[subject_count];
    snprintf(name, sizeof names[0], "%s with sudo", plain->name);
    struct subject *subject = subject_add(name);
    subject->spec = plain->spec;
    subject->spec.ssh = getenv("DBSWEEP_TEST_SSH_USER");
    subject->spec.sudo = true;
    if (subject->spec.ssh == NULL)
        subject->absent = "DBSWEEP_TEST_SSH_USER names no user who may use sudo";
}

static inline void subjects_of_drivers(void)
{
    for (size_t i = 0; i < host_driver_count; i++) {
        struct subject *subject = subject_add(host_drivers[i]->name);
        if (strcmp(subject->name, "local") == 0)
            continue;
        if (getenv("DBSWEEP_TEST_LOCAL_ONLY") != NULL) {
            subject_count--;
            continue;
        }
        subject->spec = (struct host_spec){
            .ssh = getenv("DBSWEEP_TEST_SSH"),
            .identity = getenv("DBSWEEP_TEST_SSH_IDENTITY"),
            .known_hosts = getenv("DBSWEEP_TEST_SSH_KNOWN_HOSTS"),
            .transport = host_drivers[i]->name,
        };
        if (subject->spec.ssh == NULL)
            subject->absent = "DBSWEEP_TEST_SSH names no machine";
        subject_with_sudo(subject);
    }
}

static inline void subjects_of_this_machine(bool with_files)
{
    by_commands_driver = *host_drivers[0];
    by_commands_driver.get = shell_file_get;
    by_commands_driver.put = shell_file_put;
    by_commands_driver.claim = shell_file_claim;
    by_commands_driver.remove = shell_file_remove;
    if (with_files) /* its processes are those of "local" */
        subject_add("local by commands")->by_commands = true;
    struct subject *sudo = subject_add("local with sudo");
    sudo->spec.sudo = true;
    if (geteuid() == 0)
        sudo->absent = "root needs no sudo: run as another user to test it";
    else if (system("sudo -n true >/dev/null 2>&1") != 0) /* NOLINT(cert-env33-c) */
        sudo->absent = "sudo -n is not allowed to this user";
}

/* Every test over every subject, each with a fresh host and directory. */
static inline int subjects_run(const struct CMUnitTest *tests, size_t test_count, bool with_files)
{
    static struct CMUnitTest all[SUBJECT_LIMIT * TEST_LIMIT];
    static char names[SUBJECT_LIMIT * TEST_LIMIT][128];
    size_t count = 0;
    subjects_of_drivers();
    subjects_of_this_machine(with_files);
    for (size_t i = 0; i < subject_count; i++) {
        struct subject *subject = &subjects[i];
        size_t wanted = subject->absent == NULL ? test_count : 1;
        for (size_t j = 0; j < wanted; j++, count++) {
            snprintf(names[count], sizeof names[count], "%s: %s", subject->name,
                     subject->absent == NULL ? tests[j].name : subject->absent);
            all[count] = (struct CMUnitTest){
                .name = names[count], .test_func = subject_is_absent, .initial_state = subject};
            if (subject->absent == NULL) {
                all[count].test_func = tests[j].test_func;
                all[count].setup_func = subject_open;
                all[count].teardown_func = subject_close;
            }
        }
    }
    return _cmocka_run_group_tests("hosts", all, count, NULL, NULL);
}

#endif
