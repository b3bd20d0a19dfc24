/*
 * HammerDB's and BenchBase's output: what is read of it, each line that is needed, and what makes a
 * run worth nothing although it names a number.
 */
#include "tests/support/captures_made.h"
#include "tests/support/command_belief.h"

enum { MINUTES_3_MS = 180000 };

static struct workload_spec hammerdb(void)
{
    struct workload_spec spec = spec_of("hammerdb");
    spec.measure_ms = MINUTES_3_MS;
    return spec;
}

/* Of a run of four minutes. */
static bool believe_minutes(const struct workload_spec *spec, const char *output)
{
    const struct command_end end = {
        .output = output, .output_size = strlen(output), .elapsed_ns = INT64_C(241000000000)};
    memset(&result, 0, sizeof result);
    err_clear(&err);
    return command_believe(spec, spec->command, &end, &arena, &result, &err);
}

static void must_believe(const char *output)
{
    struct workload_spec spec = hammerdb();
    if (!believe_minutes(&spec, output)) {
        fail_msg("%s", err.text);
    }
}

static void must_refuse(const char *output, const char *why)
{
    struct workload_spec spec = hammerdb();
    assert_false(believe_minutes(&spec, output));
    assert_int_equal(err.class, ERR_POINT);
    if (strstr(err.text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    }
}

static void hammerdb_is_read(void **state)
{
    (void)state;
    must_believe(hammerdb_output);
    assert_metric("notpm", 12345, "higher");
    assert_metric("server_tpm", 28406, "higher");
    assert_metric("elapsed_s", 241, "lower");
    assert_int_equal(result.measured_ns, INT64_C(180000000000));
    assert_int_equal(result.client_count, 2);
    /* versions 2 and 3 */
    must_believe(altered(hammerdb_output, "12345 NOPM from 28406 PostgreSQL TPM",
                         "60501 SQL Server TPM at 13207 NOPM"));
    assert_metric("notpm", 13207, "higher");
    assert_metric("server_tpm", 60501, "higher");
    must_believe(altered(hammerdb_output, "PostgreSQL TPM", "SQL Server TPM"));
    assert_metric("notpm", 12345, "higher");
    assert_metric("server_tpm", 28406, "higher");
}

static void hammerdb_is_not_believed_blindly(void **state)
{
    (void)state;
    struct workload_spec spec = hammerdb();
    must_refuse(without(hammerdb_output, "TEST RESULT"), "does not say its notpm");
    must_refuse(without(hammerdb_output, "Active Virtual Users"), "number of clients");
    must_refuse(without(hammerdb_output, "Timing test period"), "duration");
    must_refuse(altered(hammerdb_output, "12345", "0"), "notpm is 0");
    must_refuse(altered(hammerdb_output, "12345", "-1"), "notpm is -1");
    must_refuse(altered(hammerdb_output, "12345", "NaN"), "notpm");
    must_refuse(altered(hammerdb_output, "1:2 Active", "1:20 Active"), "drove 20 clients");
    must_refuse(altered(hammerdb_output, "period of 3 in", "period of 1 in"), "180 s were asked");
    must_refuse(altered(hammerdb_output, "period of 3 in", "period of 5 in"), "it lived for 241 s");
    /* the figures look well, and a client was not there */
    must_refuse(altered(hammerdb_output, "Vuser 3:FINISHED SUCCESS", "Vuser 3:FINISHED FAILED"),
                "hammerdb says that the run was aborted");
    must_refuse(altered(hammerdb_output, "Vuser 2:RUNNING",
                        "Error in Virtual User 2: FATAL:  sorry, too many clients already"),
                "hammerdb says that the run was aborted");
    spec.clients = 3;
    assert_false(believe_minutes(&spec, hammerdb_output));
}

static void benchbase_is_read(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("benchbase");
    assert_believed(&spec, benchbase_output);
    assert_metric("throughput_per_s", 499.9964333587798, "higher");
    assert_metric("goodput_per_s", 501.32975718006, "higher");
    assert_metric("mean_ms", 3.99, "lower");
    assert_metric("p50_ms", 3.1, "lower");
    assert_metric("p95_ms", 9.1, "lower");
    assert_metric("p99_ms", 15.25, "lower");
    assert_metric("max_ms", 41.007, "lower");
    assert_metric("error_pct", 0, "lower");
    assert_int_equal(result.measured_ns, INT64_C(3000021400));
    /* without the summary there are no latencies, and that is all */
    const char *json = strstr(benchbase_output, "{\n    \"Benchmark");
    assert_believed(&spec,
                    arena_strndup(&arena, benchbase_output, (size_t)(json - benchbase_output)));
    for (size_t i = 0; i < result.metric_count; i++) {
        assert_false(text_ends_with(result.metrics[i].name, "_ms"));
    }
}

/* Its forerunner, OLTP-Bench, and what is made of that. */
static void older_benchbase_is_read(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("benchbase");
    assert_believed(&spec,
                    "02:24:40,072 (DBWorkload.java:849) INFO  - Creating 2 virtual terminals...\n"
                    "02:24:43,167 (DBWorkload.java:861) INFO  - Rate limited reqs/s: "
                    "Results(nanoSeconds=3000641400, measuredRequests=1235) = 4.115786798522343E2 "
                    "requests/sec\n"
                    "Unexpected Errors:\n<EMPTY>\n");
    assert_metric("throughput_per_s", 411.5786798522343, "higher");
}

static void benchbase_is_not_believed_blindly(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("benchbase");
    assert_refused(&spec, without(benchbase_output, "Rate limited reqs/s: Results"),
                   "throughput_per_s");
    assert_refused(&spec, without(benchbase_output, "virtual terminals"), "number of clients");
    assert_refused(&spec, without(benchbase_output, "Unexpected SQL"), "what failed");
    assert_refused(&spec, altered(benchbase_output, "= 499.9964333587798", "= NaN"), "throughput");
    assert_refused(&spec, altered(benchbase_output, "= 499.9964333587798", "= 0.0"), "throughput");
    assert_refused(&spec, altered(benchbase_output, "Requests=1500", "Requests=0"),
                   "no transaction");
    assert_refused(&spec, altered(benchbase_output, "Seconds=3000021400", "Seconds=1000021400"),
                   "3 s were asked");
    assert_refused(&spec, altered(benchbase_output, "state=EXIT", "state=ERROR"), "aborted");
    assert_refused(
        &spec,
        altered(benchbase_output, "Unexpected SQL Errors:\x1b[0;0m\n<EMPTY>\n",
                "Unexpected SQL Errors:\x1b[0;0m\n"
                "com.oltpbenchmark.benchmarks.tpcc.procedures.NewOrder/01  [  15] ***\n"
                "com.oltpbenchmark.benchmarks.tpcc.procedures.Payment/02   [1000] ***\n"),
        "1015 of 2515 transactions failed");
    spec.error_budget_pct = 50;
    assert_believed(&spec, altered(benchbase_output, "Unexpected SQL Errors:\x1b[0;0m\n<EMPTY>\n",
                                   "Unexpected SQL Errors:\n x/01 [  15] ***\n x/02 [1000] ***\n"));
    assert_metric("error_pct", 100.0 * 1015 / 2515, "lower");
    spec.clients = 4;
    assert_refused(&spec, benchbase_output, "drove 2 clients, 4 were asked");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_arena, close_arena)
    const struct CMUnitTest tests[] = {
        TEST(hammerdb_is_read),
        TEST(hammerdb_is_not_believed_blindly),
        TEST(benchbase_is_read),
        TEST(older_benchbase_is_read),
        TEST(benchbase_is_not_believed_blindly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
