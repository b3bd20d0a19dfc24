/*
 * The clock, real and replaced, and the stop flag as signals raise it.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/clock.h"
#include "sweeper/base/stop.h"

static int64_t pretended_ns;

static int64_t pretended_now(void)
{
    return pretended_ns;
}

static int64_t pretended_boot(void)
{
    return pretended_ns + 1;
}

static int64_t pretended_wall(void)
{
    return pretended_ns + 2;
}

static void pretended_sleep(int64_t deadline_ns)
{
    pretended_ns = deadline_ns;
}

static void pretended_pause(int64_t deadline_ns)
{
    pretended_ns = deadline_ns + 3;
}

static const struct clock_source pretended = {pretended_now, pretended_boot, pretended_wall,
                                              pretended_sleep, pretended_pause};

static int pretend(void **state)
{
    (void)state;
    pretended_ns = 100 * NS_PER_S;
    clock_replace(&pretended);
    return 0;
}

static int be_real(void **state)
{
    (void)state;
    clock_replace(NULL);
    stop_clear();
    return 0;
}

/* ---- the clock ---- */

static void every_source_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(clock_now_ns(), 100 * NS_PER_S);
    assert_int_equal(clock_boot_ns(), 100 * NS_PER_S + 1);
    assert_int_equal(clock_wall_us(), 100 * NS_PER_S + 2);
    clock_sleep_until(500 * NS_PER_S);
    assert_int_equal(clock_now_ns(), 500 * NS_PER_S);
    clock_pause_until(600 * NS_PER_S);
    assert_int_equal(clock_now_ns(), 600 * NS_PER_S + 3);
    clock_replace(NULL);
    assert_int_not_equal(clock_now_ns(), 600 * NS_PER_S + 3);
}

static void deadlines_saturate(void **state)
{
    (void)state;
    assert_int_equal(clock_deadline_ms(1500), 101500 * NS_PER_MS);
    assert_int_equal(clock_deadline_ms(0), 100 * NS_PER_S);
    assert_true(clock_deadline_ms(-1) == CLOCK_NEVER);
    assert_true(clock_deadline_ms(INT64_MIN) == CLOCK_NEVER);
    assert_true(clock_deadline_ms(INT64_MAX) == CLOCK_NEVER);
    assert_true(clock_deadline_ms(INT64_MAX / NS_PER_MS) == CLOCK_NEVER);
    pretended_ns = CLOCK_NEVER - 10 * NS_PER_MS;
    assert_true(clock_deadline_ms(10) == CLOCK_NEVER);
    assert_true(clock_deadline_ms(9) == CLOCK_NEVER - NS_PER_MS);
}

static void what_is_left_is_rounded_up(void **state)
{
    (void)state;
    const int64_t now = 100 * NS_PER_S;
    assert_int_equal(clock_left_ms(now + 1), 1);
    assert_int_equal(clock_left_ms(now + NS_PER_MS), 1);
    assert_int_equal(clock_left_ms(now + NS_PER_MS + 1), 2);
    assert_int_equal(clock_left_ms(now), 0);
    assert_int_equal(clock_left_ms(now - 1), 0);
    assert_int_equal(clock_left_ms(INT64_MIN), 0);
    assert_int_equal(clock_left_ms(CLOCK_NEVER), -1);
    assert_int_equal(clock_left_ms(CLOCK_NEVER - 1), INT_MAX);
    assert_true(clock_passed(now));
    assert_true(clock_passed(INT64_MIN));
    assert_false(clock_passed(now + 1));
    assert_false(clock_passed(CLOCK_NEVER));
}

static void the_real_clock_goes_on(void **state)
{
    (void)state;
    int64_t now = clock_now_ns();
    int64_t boot = clock_boot_ns();
    assert_true(now > 0);
    assert_true(clock_wall_us() > INT64_C(1500000000000000));
    clock_sleep_until(now + 20 * NS_PER_MS);
    assert_true(clock_now_ns() >= now + 20 * NS_PER_MS);
    assert_true(clock_boot_ns() > boot);
    now = clock_now_ns();
    clock_pause_until(now + 20 * NS_PER_MS);
    assert_true(clock_now_ns() >= now + 20 * NS_PER_MS);
    now = clock_now_ns();
    clock_sleep_until(now - 1);
    clock_sleep_until(INT64_MIN);
    clock_pause_until(0);
    assert_true(clock_now_ns() < now + 10 * NS_PER_S);
}

static void the_wall_clock_is_written_in_utc(void **state)
{
    (void)state;
    char buffer[32];
    setenv("TZ", "America/New_York", 1);
    clock_format_wall(0, buffer, sizeof buffer);
    assert_string_equal(buffer, "1970-01-01T00:00:00.000Z");
    clock_format_wall(INT64_C(1796088247123999), buffer, sizeof buffer);
    assert_string_equal(buffer, "2026-12-01T01:24:07.123Z");
    clock_format_wall(INT64_C(951782400000000), buffer, sizeof buffer);
    assert_string_equal(buffer, "2000-02-29T00:00:00.000Z");
    clock_format_wall(INT64_MAX, buffer, sizeof buffer);
    assert_true(strlen(buffer) < sizeof buffer);
    unsetenv("TZ");
}

/* ---- the stop flag ---- */

static bool is_awake(void)
{
    struct pollfd wake = {.fd = stop_descriptor(), .events = POLLIN};
    assert_true(wake.fd >= 0);
    return poll(&wake, 1, 0) == 1 && (wake.revents & POLLIN) != 0;
}

/* Stands first: there is no going back to a program without handlers. */
static void a_stop_before_the_handlers_is_not_lost(void **state)
{
    (void)state;
    assert_int_equal(stop_descriptor(), -1);
    assert_int_equal(stop_asked(), 0);
    stop_ask(SIGINT);
    assert_int_equal(stop_asked(), SIGINT);
    stop_install();
    assert_int_equal(stop_asked(), SIGINT);
    assert_true(is_awake());
}

static void each_signal_asks(void **state)
{
    (void)state;
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        assert_int_equal(stop_asked(), 0);
        assert_false(is_awake());
        errno = EDOM;
        raise(signals[i]);
        assert_int_equal(errno, EDOM);
        assert_int_equal(stop_asked(), signals[i]);
        assert_true(is_awake());
        assert_true(is_awake());
        stop_clear();
    }
}

static void further_signals_change_nothing(void **state)
{
    (void)state;
    raise(SIGTERM);
    for (int i = 0; i < 100; i++)
        raise(SIGINT);
    assert_int_equal(stop_asked(), SIGTERM);
    assert_true(is_awake());
    stop_clear();
    assert_int_equal(stop_asked(), 0);
    assert_false(is_awake());
}

static void a_held_stop_is_told_at_the_release(void **state)
{
    (void)state;
    raise(SIGTERM);
    stop_hold();
    assert_int_equal(stop_asked(), 0);
    assert_false(is_awake());
    stop_hold();
    stop_release();
    assert_int_equal(stop_asked(), 0);
    stop_release();
    assert_int_equal(stop_asked(), SIGTERM);
    assert_true(is_awake());
    stop_clear();
    stop_hold();
    raise(SIGINT);
    assert_int_equal(stop_asked(), 0);
    assert_false(is_awake());
    stop_release();
    assert_int_equal(stop_asked(), SIGINT);
    assert_true(is_awake());
    stop_clear();
}

static void handlers_can_be_installed_again(void **state)
{
    (void)state;
    int descriptor = stop_descriptor();
    stop_install();
    assert_int_equal(stop_descriptor(), descriptor);
    assert_false(is_awake());
}

static void a_broken_pipe_is_an_error_and_no_death(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    close(ends[1]);
    assert_int_equal(stop_asked(), 0);
}

static void a_stop_ends_a_sleep_and_no_pause(void **state)
{
    (void)state;
    raise(SIGTERM);
    int64_t began = clock_now_ns();
    clock_sleep_until(began + 600 * NS_PER_S);
    clock_sleep_until(CLOCK_NEVER);
    assert_true(clock_now_ns() < began + 60 * NS_PER_S);
    began = clock_now_ns();
    clock_pause_until(began + 20 * NS_PER_MS);
    assert_true(clock_now_ns() >= began + 20 * NS_PER_MS);
}

static void *ask_soon(void *nothing)
{
    clock_pause_until(clock_now_ns() + 50 * NS_PER_MS);
    stop_ask(SIGHUP);
    return nothing;
}

static void a_stop_wakes_who_sleeps_already(void **state)
{
    (void)state;
    pthread_t thread;
    int64_t began = clock_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, ask_soon, NULL), 0);
    clock_sleep_until(began + 600 * NS_PER_S);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(clock_now_ns() < began + 60 * NS_PER_S);
    assert_int_equal(stop_asked(), SIGHUP);
}

static void spans_are_short(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, "0s"},
                {1999, "1s"},
                {89999, "89s"},
                {90000, "2min"},
                {3600000, "60min"},
                {5400000, "1h30min"},
                {172800000, "2d00h"},
                {INT64_MAX, "106751991167d07h"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[CLOCK_SPAN_BYTES];
        clock_format_span(rows[i].ms, text, sizeof text);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_stop_before_the_handlers_is_not_lost, be_real),
        cmocka_unit_test_teardown(each_signal_asks, be_real),
        cmocka_unit_test_teardown(further_signals_change_nothing, be_real),
        cmocka_unit_test_teardown(a_held_stop_is_told_at_the_release, be_real),
        cmocka_unit_test_teardown(handlers_can_be_installed_again, be_real),
        cmocka_unit_test_teardown(a_broken_pipe_is_an_error_and_no_death, be_real),
        cmocka_unit_test_teardown(a_stop_ends_a_sleep_and_no_pause, be_real),
        cmocka_unit_test_teardown(a_stop_wakes_who_sleeps_already, be_real),
        cmocka_unit_test_setup_teardown(every_source_is_replaced, pretend, be_real),
        cmocka_unit_test_setup_teardown(deadlines_saturate, pretend, be_real),
        cmocka_unit_test_setup_teardown(what_is_left_is_rounded_up, pretend, be_real),
        cmocka_unit_test_teardown(the_real_clock_goes_on, be_real),
        cmocka_unit_test_teardown(the_wall_clock_is_written_in_utc, be_real),
        cmocka_unit_test(spans_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
