/*
 * Trials in the store: each stage on the disk before its call returns, and whatever was measured
 * or went wrong comes out as it went in, read through a second connection.
 */
#include "tests/support/store_subject.h"

#include <math.h>
#include <sys/syscall.h>

/* ---- what reaches the disk ---- */

static int log_syncs; /* of the log, "-wal", since it was last set to 0 */

/* SQLite's own: counted, then done. */
int fdatasync(int file)
{
    char link[64];
    char name[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, name, sizeof name - 1);
    name[size > 0 ? size : 0] = '\0';
    log_syncs += text_ends_with(name, "-wal") ? 1 : 0;
    return (int)syscall(SYS_fdatasync, file);
}

/* ---- trials ---- */

/* Each is on the disk, and seen by others, before the call returns. */
static void a_stage_is_committed_before_the_call_returns(void **state)
{
    (void)state;
    struct example at = begin_example();
    log_syncs = 0;
    must(store_stage_begin(store, at.trial_id, "apply", &err));
    assert_true(log_syncs >= 1);
    assert_stored("SELECT position, name, outcome, elapsed_us FROM stage", "0|apply|running|NULL");
    log_syncs = 0;
    must(store_stage_end(store, at.trial_id, "done", &err));
    assert_true(log_syncs >= 1);
    assert_stored("SELECT outcome, elapsed_us >= 0 FROM stage", "done|1");
    must(store_stage_begin(store, at.trial_id, "start", &err));
    must(store_stage_end(store, at.trial_id, "failed", &err));
    must(store_stage_begin(store, at.trial_id, "measure", &err));
    assert_stored("SELECT position, name, outcome FROM stage",
                  "0|apply|done\n1|start|failed\n2|measure|running");
    log_syncs = 0;
    must(store_touched_set(store, at.sweep_id, true, &err));
    assert_true(log_syncs >= 1);
    log_syncs = 0;
    must(store_intent_add(store, at.sweep_id, "/a", "11", &err));
    assert_true(log_syncs >= 1);
}

static void what_was_read_back_stands_beside_what_was_asked(void **state)
{
    (void)state;
    struct example at = begin_example();
    const struct store_trial_value values[] = {{.name = "a",
                                                .asked = "1GB",
                                                .effective = "1073741824",
                                                .effective_display = "1GB",
                                                .has_number = true,
                                                .number = 1073741824,
                                                .verdict = "equal",
                                                .source = "file",
                                                .detail = "/a.conf:3"},
                                               {.name = "b",
                                                .asked = "3",
                                                .effective = "4.1000000000000005",
                                                .effective_display = "4.1",
                                                .has_number = true,
                                                .number = 4.1000000000000005,
                                                .verdict = "adjusted"},
                                               {.name = "c", .verdict = "not-applied"}};
    must(store_trial_values(store, at.trial_id, NULL, 0, &err));
    must(store_trial_values(store, at.trial_id, values, COUNT_OF(values), &err));
    assert_stored("SELECT name, asked, effective, effective_display, number, verdict, source, "
                  "detail FROM trial_value ORDER BY name",
                  "a|1GB|1073741824|1GB|1073741824|equal|file|/a.conf:3\n"
                  "b|3|4.1000000000000005|4.1|4.1000000000000005|adjusted||\n"
                  "c||NULL|NULL|NULL|not-applied||");
}

/* ---- results ---- */

static double sample_at(const char *hex, size_t at)
{
    uint64_t bits = 0;
    double value = 0;
    for (size_t i = 0; i < sizeof bits; i++) {
        unsigned byte = 0;
        assert_int_equal(sscanf(hex + 2 * (at * sizeof bits + i), "%2x", &byte), 1);
        bits |= (uint64_t)byte << (8 * i);
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void put_series(const struct example *at, const double *samples, size_t count)
{
    const struct store_series series = {.name = "throughput",
                                        .group = "load",
                                        .interval_s = 0.1,
                                        .samples = samples,
                                        .count = count};
    const struct store_result result = {.series = &series, .series_count = 1};
    must(store_trial_result(store, at->trial_id, &result, &err));
}

/* A counter of bytes passes what 32 bits hold after 16 MB. */
static void seconds_lose_nothing(void **state)
{
    (void)state;
    struct example at = begin_example();
    const double samples[] = {0,        0.1,    16777217, NAN,     9007199254740991.0,
                              -1.5e300, 5e-324, 1.0 / 3,  INFINITY};
    put_series(&at, samples, COUNT_OF(samples));
    assert_stored("SELECT \"group\", name, interval_s, thinned, length(samples) FROM series",
                  "load|throughput|0.10000000000000001|1|72");
    const char *hex = ask("SELECT samples FROM series");
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        double is = sample_at(hex, i);
        assert_true(isnan(samples[i]) ? isnan(is) : is == samples[i]);
    }
}

enum { WEEK_SAMPLES = 3 * 3600 + 1, SPIKE_AT = 5000 };

static void a_long_series_keeps_its_spikes(void **state)
{
    (void)state;
    struct example at = begin_example();
    double *samples = ARENA_ARRAY(&arena, double, WEEK_SAMPLES);
    for (size_t i = 0; i < WEEK_SAMPLES; i++)
        samples[i] = i / 4 == 7 ? NAN : 10;
    samples[SPIKE_AT] = 1e6;
    put_series(&at, samples, WEEK_SAMPLES);
    assert_stored("SELECT thinned, length(samples) / 24 FROM series", "4|2701");
    const char *hex = ask("SELECT samples FROM series");
    size_t bucket = SPIKE_AT / 4;
    assert_true(sample_at(hex, 3 * bucket) == 10);
    assert_true(sample_at(hex, 3 * bucket + 1) == (30 + 1e6) / 4);
    assert_true(sample_at(hex, 3 * bucket + 2) == 1e6);
    assert_true(isnan(sample_at(hex, 3 * 7)) && isnan(sample_at(hex, 3 * 7 + 2)));
    assert_true(sample_at(hex, 3 * 2700 + 2) == 10);
}

static void all_that_was_measured_comes_back(void **state)
{
    (void)state;
    struct example at = begin_example();
    const struct store_metric metrics[] = {{"throughput_per_s", 1.0 / 3, "higher"},
                                           {"p99_ms", 12.75, "lower"}};
    const struct store_statement statements[] = {
        {"new_order", "", 10, 1, 2, 1.5, 0.1, 0.15, 0.7, 0.12, 0.3, 0.5, 0.6, {"\0\xff\x01", 3}},
        {"new_order", "select stock", 9007199254740993u, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, {"", 0}}};
    const struct store_counter counters[] = {{"buffers_clean", 1, 4503599627370497.0, false},
                                             {"connections", 3, 2.5, true}};
    const struct store_error_row errors[] = {{"payment", "40001", "serialisation \xe9", 7}};
    const struct store_result result = {.metrics = metrics,
                                        .metric_count = COUNT_OF(metrics),
                                        .statements = statements,
                                        .statement_count = COUNT_OF(statements),
                                        .counters = counters,
                                        .counter_count = COUNT_OF(counters),
                                        .errors = errors,
                                        .error_row_count = COUNT_OF(errors),
                                        .measured_s = 60.25,
                                        .warm_up_s = 0.1,
                                        .size_before_bytes = INT64_C(1) << 40,
                                        .size_after_bytes = -1,
                                        .output = "tps: 1\n"};
    must(store_trial_result(store, at.trial_id, &result, &err));
    assert_stored("SELECT name, value, better FROM metric",
                  "p99_ms|12.75|lower\nthroughput_per_s|0.33333333333333331|higher");
    assert_stored("SELECT position, \"transaction\", statement, count, error_count, retry_count, "
                  "total_s, min_s, avg_s, max_s, p50_s, p95_s, p99_s, p999_s, histogram "
                  "FROM statement_row",
                  "0|new_order||10|1|2|1.5|0.10000000000000001|0.14999999999999999|"
                  "0.69999999999999996|0.12|0.29999999999999999|0.5|0.59999999999999998|00ff01\n"
                  "1|new_order|select stock|9007199254740993|0|0|1|1|1|1|1|1|1|1|");
    assert_stored("SELECT name, start_value, end_value, is_gauge FROM counter",
                  "buffers_clean|1|4503599627370497|0\nconnections|3|2.5|1");
    assert_stored("SELECT position, \"transaction\", code, text, count FROM error_row",
                  "0|payment|40001|serialisation \xe9|7");
    assert_stored("SELECT measured_s, warm_up_s, size_before_bytes, size_after_bytes, output "
                  "FROM trial",
                  "60.25|0.10000000000000001|1099511627776|NULL|tps: 1\n");
}

/* All of a result or nothing, and the store works on. */
static void a_refused_result_leaves_nothing_behind(void **state)
{
    (void)state;
    struct example at = begin_example();
    const struct store_metric twice[] = {{"tps", 1, "higher"}, {"tps", 2, "higher"}};
    const struct store_metric nothing = {"tps", NAN, "higher"};
    const struct store_metric wrong = {"tps", 1, "best"};
    struct store_result result = {.metrics = twice, .metric_count = 2, .measured_s = 5};
    must_fail(store_trial_result(store, at.trial_id, &result, &err), store);
    assert_int_equal(err.class, ERR_STORE);
    assert_int_equal(err.native, SQLITE_CONSTRAINT_PRIMARYKEY);
    assert_string_equal(err.native_text, "SQLite");
    assert_idle();
    assert_stored("SELECT (SELECT count(*) FROM metric), measured_s FROM trial", "0|NULL");
    result = (struct store_result){.metrics = &nothing, .metric_count = 1};
    must_fail(store_trial_result(store, at.trial_id, &result, &err), store);
    assert_int_equal(err.native, SQLITE_CONSTRAINT_NOTNULL);
    result = (struct store_result){.metrics = &wrong, .metric_count = 1};
    must_fail(store_trial_result(store, at.trial_id, &result, &err), store);
    assert_int_equal(err.native, SQLITE_CONSTRAINT_CHECK);
    result.metric_count = 0;
    must(store_trial_result(store, at.trial_id, &result, &err));
}

/* ---- the end of a trial ---- */

static void a_failure_is_kept_whole(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct err why;
    err_clear(&why);
    err_set(&why, ERR_CODE_start_failed, "the server \xff did not start");
    err_native(&why, 53100, "SQLSTATE 53100");
    err_hint(&why, "see its log");
    for (int i = 0; i < 4; i++)
        err_while(&why, "%d %0120d", i, 0);
    must(store_trial_end(store, at.trial_id, "failed", &why, "FATAL: caf\xe9\n", "a=1", "slow",
                         &err));
    assert_stored(
        "SELECT status, class, code, reason, hint, native, log_tail, effective_key, flags "
        "FROM trial",
        "failed|POINT|start_failed|the server \xff did not start|see its log|"
        "SQLSTATE 53100 53100|FATAL: caf\xe9\n|a=1|slow");
    assert_string_equal(ask("SELECT context FROM trial"),
                        arena_printf(&arena, "while %s\nwhile %s\nwhile %s\nwhile %s",
                                     why.context[0], why.context[1], why.context[2],
                                     why.context[3]));
    assert_stored("SELECT trial_id, class, code FROM failures", "1|POINT|start_failed");
    begin_example_trial(&at);
    must(store_trial_end(store, at.trial_id, "done", NULL, NULL, NULL, NULL, &err));
    assert_stored("SELECT status, class, code, reason, hint, context, native, log_tail, "
                  "effective_key, flags, ended_us >= started_us FROM trial WHERE trial_id = 2",
                  "done|NULL|NULL|NULL|NULL|NULL|NULL||||1");
}

enum { MANY_TRIALS = 600 };

static void history_says_what_strategies_ask(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct store_history *rows = NULL;
    size_t count = 0;
    const struct store_metric metric = {"throughput_per_s", 1.0 / 3, "higher"};
    const struct store_result result = {.metrics = &metric, .metric_count = 1};
    must(store_history_load(store, at.sweep_id + 1, &arena, &rows, &count, &err));
    assert_int_equal(count, 0);
    must(store_trial_result(store, at.trial_id, &result, &err));
    must(store_trial_end(store, at.trial_id, "done", NULL, NULL, NULL, NULL, &err));
    for (int i = 1; i < MANY_TRIALS; i++)
        begin_example_trial(&at);
    must(store_history_load(store, at.sweep_id, &arena, &rows, &count, &err));
    assert_int_equal(count, MANY_TRIALS);
    assert_int_equal(rows[0].trial_id, 1);
    assert_int_equal(rows[0].call_id, at.call_id);
    assert_string_equal(rows[0].point_key, "shared_buffers=1GB");
    assert_string_equal(rows[0].condition_key, "clients=8");
    assert_string_equal(rows[0].purpose, "explore");
    assert_string_equal(rows[0].status, "done");
    assert_string_equal(rows[0].class, "");
    assert_true(rows[0].value == 1.0 / 3);
    assert_true(rows[0].ended_us >= rows[0].started_us);
    assert_string_equal(rows[MANY_TRIALS - 1].status, "running");
    assert_true(isnan(rows[MANY_TRIALS - 1].value));
    assert_int_equal(rows[MANY_TRIALS - 1].ended_us, rows[MANY_TRIALS - 1].started_us);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, subject_open_store, subject_close)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(a_stage_is_committed_before_the_call_returns),
                                       TEST(what_was_read_back_stands_beside_what_was_asked),
                                       TEST(seconds_lose_nothing),
                                       TEST(a_long_series_keeps_its_spikes),
                                       TEST(all_that_was_measured_comes_back),
                                       TEST(a_refused_result_leaves_nothing_behind),
                                       TEST(a_failure_is_kept_whole),
                                       TEST(history_says_what_strategies_ask)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
