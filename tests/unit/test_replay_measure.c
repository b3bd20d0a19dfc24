/*
 * What a replay measures: true without noise, scattered as was asked with it, the same again for
 * the same seed, with cycles, a ramp, drift, outliers and failures.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/replay/noise.h"
#include "backends/replay/replay.h"
#include "sweeper/base/text.h"

static const char points[] = "pool,time,rsd\n1,10,0.02\n2,5,0.02\n4,,0\n";

static struct arena arena;
static struct host *host;
static struct err err;
static struct target_spec target;
static struct server server;
static char folder[] = "/tmp/dbsweep-replay.XXXXXX";

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)512 << 20);
    err_clear(&err);
    target = (struct target_spec){
        .source = "points.csv",
        .source_text = {.data = "pool,tps\n1,1000\n2,2000\n", .size = 23},
        .data_directory = arena_printf(&arena, "%s/state", folder),
        .replay = {.metric = "tps", .baseline_row = 1, .seed = 1, .outlier_drop_pct = 20}};
    assert_true(host_open(NULL, CLOCK_NEVER, &host, &err));
    server =
        (struct server){.backend = &replay_backend, .host = host, .spec = &target, .arena = &arena};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    replay_backend.close(&server);
    host_close(host);
    unlink(target.data_directory);
    arena_close(&arena);
    return 0;
}

static void open_server(void)
{
    if (!replay_backend.open(&server, &err))
        fail_msg("%s", err.text);
}

static struct measured measure(int64_t trial, int64_t repeat, int64_t measure_s)
{
    struct measured measured;
    const struct measure_spec spec = {.client_count = 10,
                                      .warm_up_ms = 60000,
                                      .measure_ms = measure_s * 1000,
                                      .trial_number = trial,
                                      .repeat_number = repeat};
    if (!replay_backend.measure(&server, &spec, &arena, &measured, &err))
        fail_msg("%s", err.text);
    return measured;
}

/* ---- random numbers ---- */

static void noise_is_normal_and_named(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    struct noise noise = noise_open(7, NOISE_RUN, 3);
    double sum = 0;
    double squares = 0;
    double products = 0;
    double before = 0;
    int beyond = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        double z = noise_normal(noise, i);
        sum += z;
        squares += z * z;
        products += z * before;
        beyond += fabs(z) > 1.96;
        before = z;
    }
    assert_true(fabs(sum / COUNT) < 0.01);
    assert_true(fabs(squares / COUNT - 1) < 0.02);
    assert_true(fabs(products / COUNT) < 0.01);
    assert_true(abs(beyond - COUNT / 20) < COUNT / 400);
    assert_true(noise_normal(noise, 5) == noise_normal(noise_open(7, NOISE_RUN, 3), 5));
    assert_true(noise_normal(noise, 5) != noise_normal(noise_open(8, NOISE_RUN, 3), 5));
    assert_true(noise_normal(noise, 5) != noise_normal(noise_open(7, NOISE_RUN, 4), 5));
    assert_true(noise_normal(noise, 5) != noise_normal(noise_open(7, NOISE_WALK, 3), 5));
}

/* ---- one run ---- */

static void without_noise_it_is_true(void **state)
{
    (void)state;
    target.replay.second_pct = 5;
    target.replay.correlation = 0.9;
    target.replay.ramp_ms = 30000;
    open_server();
    struct measured measured = measure(3, 2, 300);
    assert_true(fabs(measured.value - 1000) < 1e-6);
    assert_true(fabs(measured.throughput_per_s - 1000) < 1e-6);
    assert_string_equal(measured.metric, "tps");
    assert_true(llabs((long long)measured.latency->count - 300000) <= 300);
    /* ten clients, a thousand a second: ten milliseconds each */
    assert_true(fabs(histogram_mean_ns(measured.latency) / 1e7 - 1) < 0.02);
    double p99_ms = histogram_percentile_ns(measured.latency, 99) / 1e6;
    assert_true(p99_ms > 25 && p99_ms < 32);
}

static void seconds_scatter_as_asked(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    target.replay.second_pct = 10;
    target.replay.correlation = 0.8;
    open_server();
    struct measured measured = measure(0, 0, COUNT);
    double squares = 0;
    double products = 0;
    for (size_t i = 0; i < COUNT; i++) {
        double off = measured.seconds[i].throughput_per_s / 1000 - 1;
        squares += off * off;
        if (i > 0)
            products += off * (measured.seconds[i - 1].throughput_per_s / 1000 - 1);
    }
    assert_true(fabs(sqrt(squares / COUNT) - 0.1) < 0.01);
    assert_true(fabs(products / squares - 0.8) < 0.03);
}

static void a_lower_metric_is_a_longer_time(void **state)
{
    (void)state;
    target.source_text = (struct bytes){.data = "pool,time\n1,10\n2,5\n", .size = 19};
    target.replay.metric = "time";
    target.replay.lower_is_better = true;
    target.replay.second_pct = 5;
    target.replay.baseline_row = 2;
    open_server();
    struct measured measured = measure(0, 0, 60);
    assert_true(measured.lower_is_better);
    assert_true(fabs(measured.value - 5) < 1e-9);
}

static void cycles_dip_and_even_out(void **state)
{
    (void)state;
    target.replay.cycle_ms = 100000;
    target.replay.dip_pct = 20;
    open_server();
    struct measured measured = measure(0, 0, 300);
    assert_true(fabs(measured.value - 1000) < 1e-6);
    double low = INFINITY;
    double high = 0;
    size_t dips = 0;
    for (size_t i = 0; i < measured.second_count; i++) {
        double now = measured.seconds[i].throughput_per_s;
        low = now < low ? now : low;
        high = now > high ? now : high;
        dips += now < 1000;
    }
    assert_true(fabs(low / high - 0.8) < 1e-9);
    assert_int_equal(dips, 90);
}

static void a_ramp_ends(void **state)
{
    (void)state;
    target.replay.ramp_ms = 80000; /* the warm-up is 60 s */
    open_server();
    struct measured measured = measure(0, 0, 60);
    assert_true(fabs(measured.seconds[0].throughput_per_s - 875) < 1e-6);
    assert_true(measured.seconds[10].throughput_per_s < 1000);
    assert_true(fabs(measured.seconds[20].throughput_per_s - 1000) < 1e-6);
    assert_true(measured.value < 1000);
}

/* ---- runs ---- */

static double deviation_of_runs(int64_t count)
{
    double sum = 0;
    double squares = 0;
    for (int64_t i = 0; i < count; i++) {
        double off = log(measure(i, i, 2).value);
        sum += off;
        squares += off * off;
    }
    double mean = sum / (double)count;
    return sqrt(squares / (double)count - mean * mean);
}

static void runs_scatter_as_asked(void **state)
{
    (void)state;
    target.replay.noise_pct = 3;
    target.replay.second_pct = 20;
    open_server();
    double deviation = deviation_of_runs(2000);
    assert_true(fabs(deviation - 0.03) < 0.003);
    assert_true(measure(0, 4, 60).value == measure(9, 4, 60).value);
    assert_true(measure(0, 4, 60).value != measure(0, 5, 60).value);
}

static void the_source_says_how_much(void **state)
{
    (void)state;
    target.source_text = (struct bytes){.data = points, .size = sizeof points - 1};
    target.replay = (struct replay_spec){.metric = "time",
                                         .deviation = "rsd",
                                         .failure = NULL,
                                         .baseline_row = 1,
                                         .noise_pct = -1,
                                         .lower_is_better = true};
    assert_false(replay_backend.open(&server, &err)); /* an empty cell without a failure */
    assert_int_equal(err.code, ERR_CODE_config_syntax);
    target.source_text.size -= strlen("4,,0\n");
    err_clear(&err);
    open_server();
    assert_true(fabs(deviation_of_runs(2000) - 0.02) < 0.002);
}

static void drift_is_of_the_trial(void **state)
{
    (void)state;
    target.replay.drift_pct = -0.1;
    open_server();
    assert_true(fabs(measure(0, 0, 60).value - 1000) < 1e-6);
    assert_true(fabs(measure(50, 0, 60).value - 950) < 1e-6);
    target.replay.drift_pct = 0;
    target.replay.walk_pct = 1;
    double near = fabs(log(measure(11, 0, 60).value / measure(10, 0, 60).value));
    assert_true(near > 0 && near < 0.05);
    assert_true(measure(10, 0, 60).value == measure(10, 0, 60).value);
    double squares = 0;
    for (int64_t seed = 1; seed <= 400; seed++) {
        target.replay.seed = seed;
        squares += pow(log(measure(25, 0, 2).value / 1000), 2);
    }
    assert_true(fabs(sqrt(squares / 400) - 0.05) < 0.006); /* 25 steps of 1 % */
}

static void outliers_are_as_many_as_asked(void **state)
{
    (void)state;
    target.replay.outlier_pct = 5;
    open_server();
    int count = 0;
    for (int64_t i = 0; i < 2000; i++)
        count += fabs(measure(i, i, 2).value - 800) < 1e-6;
    assert_true(count > 70 && count < 130);
}

static void trials_break_off(void **state)
{
    (void)state;
    struct measured measured;
    int count = 0;
    target.replay.broken_pct = 10;
    open_server();
    for (int64_t i = 0; i < 2000; i++) {
        const struct measure_spec spec = {.client_count = 1, .measure_ms = 1000, .trial_number = i};
        err_clear(&err);
        bool ok = replay_backend.measure(&server, &spec, &arena, &measured, &err);
        assert_true(ok || err.code == ERR_CODE_workload);
        count += !ok;
    }
    assert_true(count > 160 && count < 240);
}

int main(void)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_normal_and_named),
        cmocka_unit_test_setup_teardown(without_noise_it_is_true, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seconds_scatter_as_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lower_metric_is_a_longer_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cycles_dip_and_even_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_ramp_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_scatter_as_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_source_says_how_much, set_up, tear_down),
        cmocka_unit_test_setup_teardown(drift_is_of_the_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outliers_are_as_many_as_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(trials_break_off, set_up, tear_down),
    };
    int failed = cmocka_run_group_tests_name("replay_measure", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
