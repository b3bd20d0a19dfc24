/*
 * Waiting for the end of a server that was asked to end, with looks that a test decides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>

#include "backends/stop.h"
#include "sweeper/base/stop.h"

struct looks {
    int count;
    int gone_at;      /* the look that finds it gone; 0: none does */
    bool fails;       /* each look */
    int64_t least_ns; /* that a look was given */
};

static bool look(const struct stop_watch *watch, int64_t deadline, bool *out_gone, struct err *err)
{
    struct looks *looks = *(struct looks *const *)watch->context;
    int64_t given = deadline - clock_now_ns();
    looks->count++;
    looks->least_ns = looks->count == 1 || given < looks->least_ns ? given : looks->least_ns;
    *out_gone = looks->count == looks->gone_at;
    return !looks->fails || err_set(err, ERR_CODE_timeout, "no answer");
}

static bool await(struct looks *looks, long pid, const struct host_result *result, int64_t wait_ms,
                  struct err *err)
{
    static const struct server server;
    const struct stop_watch watch = {
        .server = &server, .pid = pid, .look = look, .context = &looks};
    err_clear(err);
    return stop_await(&watch, result, clock_deadline_ms(wait_ms), err);
}

static void test_waits_until_it_is_gone(void **state UNUSED)
{
    struct err err;
    struct looks looks = {.gone_at = 3};
    assert_true(await(&looks, 7, &(struct host_result){.exit_status = 0}, 60000, &err));
    assert_int_equal(looks.count, 3);
}

/* A stop command that took all the time: the server may be gone all the same, and the look that
 * finds out has time of its own. */
static void test_looks_once_more_after_the_deadline(void **state UNUSED)
{
    struct err err;
    const struct host_result result = {.exit_status = -1, .timed_out = true};
    struct looks gone = {.gone_at = 1};
    assert_true(await(&gone, 7, &result, 0, &err));
    assert_true(gone.least_ns > NS_PER_S);
    struct looks stays = {.gone_at = 0};
    assert_false(await(&stays, 7, &result, 0, &err));
    assert_int_equal(err.code, ERR_CODE_stop_failed);
    assert_non_null(strstr(err.text, "process 7"));
    assert_non_null(strstr(err.hint, "stop_timeout"));
    assert_true(stays.least_ns > NS_PER_S);
}

static void test_no_answer_is_not_gone(void **state UNUSED)
{
    struct err err;
    struct looks looks = {.fails = true};
    assert_false(await(&looks, 7, &(struct host_result){.exit_status = 0}, 60000, &err));
    assert_int_equal(err.code, ERR_CODE_timeout);
    assert_false(await(&looks, 7, &(struct host_result){.exit_status = 1}, 60000, &err));
    assert_int_equal(err.code, ERR_CODE_timeout);
}

static void test_a_command_that_fails(void **state UNUSED)
{
    struct err err;
    const struct host_result result = {
        .exit_status = 3, .output = "", .error_text = "not allowed\n", .error_size = 12};
    struct looks gone = {.gone_at = 1};
    assert_true(await(&gone, 7, &result, 60000, &err));
    struct looks stays = {.gone_at = 0};
    assert_false(await(&stays, 7, &result, 60000, &err));
    assert_int_equal(stays.count, 1);
    assert_int_equal(err.native, 3);
    assert_non_null(strstr(err.text, "not allowed"));
    assert_non_null(strstr(err.hint, "process 7"));
    struct looks unseen = {.gone_at = 0};
    assert_false(await(&unseen, 0, &result, 60000, &err));
    assert_non_null(strstr(err.hint, "target.stop"));
}

static void test_a_stop_request_ends_the_wait(void **state UNUSED)
{
    struct err err;
    struct looks looks = {.gone_at = 0};
    stop_ask(SIGTERM);
    bool ok = await(&looks, 7, &(struct host_result){.exit_status = 0}, 60000, &err);
    stop_clear();
    assert_false(ok);
    assert_int_equal(err.code, ERR_CODE_stopped);
}

static void test_one_command_restarts(void **state UNUSED)
{
    static const char *const words[] = {"x", NULL};
    struct target_spec spec = {.restart = words};
    const struct server server = {.spec = &spec};
    assert_true(stop_is_restart(&server));
    spec.stop = words;
    assert_true(stop_is_restart(&server));
    spec.start = words;
    assert_false(stop_is_restart(&server));
    spec.restart = NULL;
    assert_false(stop_is_restart(&server));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_until_it_is_gone),
        cmocka_unit_test(test_looks_once_more_after_the_deadline),
        cmocka_unit_test(test_no_answer_is_not_gone),
        cmocka_unit_test(test_a_command_that_fails),
        cmocka_unit_test(test_a_stop_request_ends_the_wait),
        cmocka_unit_test(test_one_command_restarts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
