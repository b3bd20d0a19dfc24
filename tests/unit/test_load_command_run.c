/*
 * Commands that really run: what they are given, and those that lie, fail, flood, die or hang.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/stop.h"
#include "sweeper/load/workload.h"
#include "tests/support/captures.h"

static struct arena arena;
static struct err err;
static struct load_result result;
static char directory[64];

static int open_all(void **state)
{
    (void)state;
    stop_install();
    snprintf(directory, sizeof directory, "/tmp/dbsweep-command.XXXXXX");
    return mkdtemp(directory) == NULL;
}

static int close_all(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command); /* NOLINT(cert-env33-c): a constant word and our own path */
}

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)64 << 20);
    err_clear(&err);
    memset(&result, 0, sizeof result);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    stop_clear();
    arena_close(&arena);
    return 0;
}

static struct load_metric_spec named[] = {
    {.name = "n", .regex = "^n=([^ ]*)$", .better = "higher"}};

/* Two clients for a tenth of a second. */
static bool drive(const char *preset, const char *script, const char *first, int64_t drain_ms)
{
    const char *const argv[] = {"sh", "-c", script, "script", first, NULL};
    bool is_named = strcmp(preset, "none") == 0;
    const struct load_job job = {.operation = LOAD_DRIVE,
                                 .workload = {.kind = "command",
                                              .clients = 2,
                                              .measure_ms = 100,
                                              .drain_ms = drain_ms,
                                              .seed = 7,
                                              .reset = "none",
                                              .command = argv,
                                              .preset = preset,
                                              .metrics = named,
                                              .metric_count = is_named ? 1 : 0}};
    return workload_find("command")->drive(&job, &arena, &result, &err);
}

static void assert_drives(const char *preset, const char *script, const char *first)
{
    if (!drive(preset, script, first, 0)) {
        fail_msg("%s", err.text);
    }
}

static void assert_fails(const char *preset, const char *script, const char *first,
                         enum err_code code, const char *why)
{
    err_clear(&err);
    assert_false(drive(preset, script, first, 0));
    assert_int_equal(err.class, ERR_POINT);
    if (err.code != code || strstr(err.text, why) == NULL) {
        fail_msg("%s: \"%s\" does not say \"%s\"", err_code_name(err.code), err.text, why);
    }
}

static double value_of(const char *name)
{
    for (size_t i = 0; i < result.metric_count; i++) {
        if (strcmp(result.metrics[i].name, name) == 0) {
            return result.metrics[i].value;
        }
    }
    return NAN;
}

/* ---- runs that are fine ---- */

static void a_command_is_run_with_its_words(void **state)
{
    (void)state;
    assert_drives("none", "echo \"clients $1\"; echo n=12.5; echo careful >&2",
                  "{clients} of seed {seed} for {measure_s} s");
    assert_true(value_of("n") == 12.5);
    assert_true(value_of("elapsed_s") > 0 && value_of("elapsed_s") < 30);
    assert_int_equal(result.client_count, 2);
    assert_true(result.measured_ns > 0);
    assert_int_equal(result.transaction_count, 0);
    assert_int_equal(result.statement_count, 0);
    assert_non_null(strstr(result.output, "clients 2 of seed 7 for 0.1 s\n"));
    assert_non_null(strstr(result.output, "careful\n")); /* standard error, too */
    assert_string_equal(result.distribution, "");
}

static void time_is_measured(void **state)
{
    (void)state;
    assert_drives("time", "sleep 0.3", "");
    assert_int_equal(result.metric_count, 1);
    assert_true(value_of("elapsed_s") >= 0.3 && value_of("elapsed_s") < 20);
}

/* Nothing of the terminal, and of the worker's own frames, is the command's to read. */
static void a_command_has_no_input(void **state)
{
    (void)state;
    assert_drives("none", "cat; echo n=1", "");
    assert_true(value_of("n") == 1);
}

#define FLOOD "head -c 5000000 /dev/zero | tr '\\0' 'x'; echo; "

static void a_flood_is_cut_in_its_middle(void **state)
{
    (void)state;
    assert_drives("none", FLOOD "echo n=3", "");
    assert_true(value_of("n") == 3);
    assert_true(strlen(result.output) < 100000);
    arena_reset(&arena);
    assert_fails("none", FLOOD, "", ERR_CODE_workload, "does not say its n");
    assert_true(strlen(result.output) < 100000);
    arena_reset(&arena);
    assert_drives("none", "yes 'line of a log' | head -n 400000; echo n=4", "");
    assert_true(value_of("n") == 4);
}

/* Memory that ends is an error like any other, also after the command ran. */
static void memory_that_ends_is_an_error(void **state)
{
    (void)state;
    for (size_t size_mib = 1; size_mib <= 24; size_mib *= 2) {
        arena_reset(&arena);
        arena_open(&arena, size_mib << 20);
        err_clear(&err);
        if (!drive("none", FLOOD "echo n=3", "", 0)) {
            assert_int_equal(err.code, ERR_CODE_memory);
        }
    }
}

/* ---- runs that are not ---- */

static void wrong_numbers_are_no_results(void **state)
{
    (void)state;
    assert_fails("none", "echo n=-1", "", ERR_CODE_workload, "n is -1");
    assert_fails("none", "echo n=NaN", "", ERR_CODE_workload, "\"NaN\", which is no number");
    assert_fails("none", "echo n=inf", "", ERR_CODE_workload, "\"inf\"");
    assert_fails("none", "echo n=0", "", ERR_CODE_workload, "n is 0");
    assert_fails("none", "echo n=", "", ERR_CODE_workload, "no number");
    assert_fails("none", "true", "", ERR_CODE_workload, "does not say its n");
    assert_fails("none", "head -c 10000 /dev/urandom | tr -d 'n'", "", ERR_CODE_workload, "n");
    assert_int_equal(result.transaction_count, 0);
}

static void a_bad_end_spoils_good_numbers(void **state)
{
    (void)state;
    assert_fails("none", "echo n=5; echo cannot go on >&2; exit 2", "", ERR_CODE_command_failed,
                 "status 2");
    assert_int_equal(err.native, 2);
    assert_non_null(strstr(err.text, "cannot go on"));
    assert_non_null(strstr(result.output, "n=5")); /* for the record */
    assert_fails("none", "echo n=5; kill -9 $$", "", ERR_CODE_command_failed, "signal 9");
    assert_fails("none", "echo n=5; kill -SEGV $$", "", ERR_CODE_command_failed, "signal 11");
    assert_fails("time", "exit 1", "", ERR_CODE_command_failed, "status 1");
}

static void a_command_that_is_not_there_fails(void **state)
{
    (void)state;
    const char *const argv[] = {"/nonexistent/load-driver", NULL};
    const struct load_job job = {
        .workload = {.clients = 1, .measure_ms = 100, .command = argv, .preset = "time"}};
    assert_false(workload_find("command")->drive(&job, &arena, &result, &err));
    if (strstr(err.text, "/nonexistent/load-driver") == NULL) {
        fail_msg("\"%s\" does not name the command", err.text);
    }
}

/* Output that is whole and true, but not of what was asked. */
static void another_run_is_not_this_one(void **state)
{
    (void)state;
    assert_fails("sysbench", "printf %s \"$1\"", sysbench_refused, ERR_CODE_workload, "aborted");
    assert_fails("pgbench", "printf %s \"$1\"", pgbench_failing, ERR_CODE_workload,
                 "drove 4 clients, 2 were asked");
    assert_fails("sysbench", "printf %s \"$1\"", sysbench_output, ERR_CODE_workload,
                 "it lived for");
    assert_fails("pgbench", "sleep 2.1; printf %s \"$1\"", pgbench_output, ERR_CODE_workload,
                 "0.1 s were asked");
}

/* ---- runs that do not end ---- */

/* Whether the process of that number file is gone, which may take it a moment. */
static bool is_gone(const char *path)
{
    char text[32] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    long number = strtol(text, NULL, 10);
    assert_true(number > 1);
    for (int i = 0; i < 100 && kill((pid_t)number, 0) == 0; i++) {
        clock_pause_until(clock_deadline_ms(50));
    }
    return kill((pid_t)number, 0) != 0 && errno == ESRCH;
}

/* The command's own margin is taken back by the drain, so that the test need not wait for it. */
static void a_command_that_hangs_is_ended_with_its_children(void **state)
{
    (void)state;
    const char *path = arena_printf(&arena, "%s/child", directory);
    assert_non_null(path);
    int64_t begin = clock_now_ns();
    assert_false(drive("none", "sleep 300 & echo $! >\"$1\"; echo n=1; wait", path, -29000));
    assert_int_equal(err.code, ERR_CODE_timeout);
    assert_int_equal(err.class, ERR_POINT);
    assert_true(clock_now_ns() - begin < 30 * NS_PER_S);
    assert_true(is_gone(path));
}

static void *ask_later(void *unused)
{
    (void)unused;
    clock_pause_until(clock_deadline_ms(300));
    stop_ask(SIGTERM);
    return NULL;
}

static void a_stop_ends_the_command(void **state)
{
    (void)state;
    pthread_t thread;
    const char *path = arena_printf(&arena, "%s/stopped", directory);
    assert_non_null(path);
    int64_t begin = clock_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, ask_later, NULL), 0);
    bool ok = drive("none", "sleep 300 & echo $! >\"$1\"; wait", path, 600000);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(ok);
    assert_int_equal(err.code, ERR_CODE_stopped);
    assert_int_equal(err.class, ERR_STOP);
    assert_true(clock_now_ns() - begin < 30 * NS_PER_S);
    assert_true(is_gone(path));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_arena, close_arena)
    const struct CMUnitTest tests[] = {
        TEST(a_command_is_run_with_its_words),
        TEST(time_is_measured),
        TEST(a_command_has_no_input),
        TEST(a_flood_is_cut_in_its_middle),
        TEST(memory_that_ends_is_an_error),
        TEST(wrong_numbers_are_no_results),
        TEST(a_bad_end_spoils_good_numbers),
        TEST(a_command_that_is_not_there_fails),
        TEST(another_run_is_not_this_one),
        TEST(a_command_that_hangs_is_ended_with_its_children),
        TEST(a_stop_ends_the_command),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
