/*
 * Other people's load drivers: the words that a command is filled with, and what is believed of
 * real and of altered output. A number from a run that went wrong must never be taken.
 */
#include "tests/support/captures.h"
#include "tests/support/command_belief.h"

/* ---- words in braces ---- */

static const char *filled(const char *word)
{
    const char *const argv[] = {word, NULL};
    const char *const *out = NULL;
    struct workload_spec spec = spec_of("none");
    spec.command = argv;
    if (!command_fill(&spec, &arena, &out, &err)) {
        return NULL;
    }
    assert_null(out[1]);
    return out[0];
}

static void every_setting_has_its_word(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const char *wanted;
    } rows[] = {
        {"{clients}", "2"},
        {"{threads}", "3"},
        {"{rate}", "12.5"},
        {"{warm_up_s}", "1.5"},
        {"{warm_up_ms}", "1500"},
        {"{measure_s}", "3"},
        {"{measure_ms}", "3000"},
        {"{measure_min}", "0.05"},
        {"{warm_up_min}", "0.025"},
        {"{drain_s}", "0.25"},
        {"{measure}", "3s"},
        {"{seed}", "42"},
        {"{error_budget}", "1"},
        {"{mix}", "read_only"},
        {"{tables}", "4"},
        {"{rows}", "100000"},
        {"{range_size}", "100"},
        {"{skip_trx}", "true"},
        {"{distribution}", "pareto"},
        {"{prepared}", "false"},
        {"{warehouses}", "20"},
        {"{terminals}", "10"},
        {"{rollback_pct}", "1"},
        {"{payment_by_name_pct}", "60"},
        {"{keying}", "0.5"},
        {"{think}", "2"},
        {"-c{clients}", "-c2"},
        {"{rows}{rows}", "100000100000"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *got = filled(rows[i].word);
        assert_non_null(got);
        assert_string_equal(got, rows[i].wanted);
    }
}

static void other_braces_are_the_commands_own(void **state)
{
    (void)state;
    static const char *const words[] = {
        "",         "{}",       "{ print $1 }", "${HOME}", "{\"clients\": 1}",
        "{clients", "clients}", "{1}",          "a{2,3}b", "{Clients}",
        "{",        "{{",       "}{",
    };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        const char *got = filled(words[i]);
        assert_non_null(got);
        assert_string_equal(got, words[i]);
    }
    assert_string_equal(filled("{{clients}}"), "{clients}");
    assert_string_equal(filled("{{nonsense}}={clients}"), "{nonsense}=2");
}

static void unknown_words_are_refused(void **state)
{
    (void)state;
    assert_null(filled("--threads={client}"));
    assert_int_equal(err.class, ERR_PLAN);
    assert_non_null(strstr(err.text, "{client}"));
    assert_non_null(strstr(err.hint, "{clients}"));
    assert_non_null(strstr(err.hint, "{{client}}"));
    assert_null(filled("{password}"));
    assert_non_null(strstr(err.text, "{password}"));
}

/* ---- whether a run is believed ---- */

static void sysbench_is_read(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("sysbench");
    assert_believed(&spec, sysbench_output);
    assert_metric("throughput_per_s", 1050 / 3.1854, "higher");
    assert_metric("spm", 60 * 6664.56, "higher");
    assert_metric("mean_ms", 6.05, "lower");
    assert_metric("max_ms", 1020.73, "lower");
    assert_metric("p95_ms", 11.65, "lower");
    assert_metric("elapsed_s", 3.2, "lower");
    assert_int_equal(result.measured_ns, 3185400000);
    assert_int_equal(result.error_row_count, 1);
    assert_int_equal(result.errors[0].count, 13);
    assert_string_equal(result.errors[0].code, "ignored");
    assert_believed(&spec, altered(sysbench_output, "13     (", "0      ("));
    assert_int_equal(result.error_row_count, 0);
    assert_believed(&spec, altered(sysbench_output, "95th", "99th"));
    assert_metric("p99_ms", 11.65, "lower");
}

static void pgbench_is_read(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("pgbench");
    assert_believed(&spec, pgbench_output);
    assert_metric("throughput_per_s", 488.569082, "higher");
    assert_metric("mean_ms", 4.094, "lower");
    assert_metric("error_pct", 0, "lower");
    assert_believed(&spec, pgbench_reconnecting);
    assert_metric("throughput_per_s", 296.135219, "higher");
    assert_metric("stddev_ms", 3.096, "lower");
}

/* A run that was to end by count has no time to keep. */
static void runs_by_count_take_their_time(void **state)
{
    (void)state;
    static const char *const counted[] = {"sysbench", "--events=1050", NULL};
    static const char *const timed[] = {"sysbench", "--events=0", NULL};
    struct workload_spec spec = spec_of("pgbench");
    spec.measure_ms = 60000;
    assert_believed(&spec, pgbench_counted);
    assert_metric("throughput_per_s", 354.598612, "higher");
    assert_refused(&spec, pgbench_output, "60 s were asked");
    spec = spec_of("sysbench");
    spec.measure_ms = 60000;
    spec.command = counted;
    assert_believed(&spec, sysbench_output);
    spec.command = timed;
    assert_refused(&spec, sysbench_output, "60 s were asked");
}

static void each_line_is_needed(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("sysbench");
    assert_refused(&spec, without(sysbench_output, "Number of threads"), "number of clients");
    assert_refused(&spec, without(sysbench_output, "total time"), "duration");
    assert_refused(&spec, without(sysbench_output, "number of events"), "transactions");
    assert_refused(&spec, without(sysbench_output, "avg: "), "mean_ms");
    assert_refused(&spec, without(sysbench_output, "max: "), "max_ms");
    assert_refused(&spec, without(sysbench_output, "ignored errors"), "errors");
    assert_refused(&spec, without(sysbench_output, "reconnects"), "connections");
    assert_refused(&spec, without(sysbench_output, "    queries: "), "spm");
    spec = spec_of("pgbench");
    assert_refused(&spec, without(pgbench_output, "number of clients"), "number of clients");
    assert_refused(&spec, without(pgbench_output, "actually processed"), "transactions");
    assert_refused(&spec, without(pgbench_output, "tps = "), "throughput_per_s");
    assert_refused(&spec, without(pgbench_output, "latency average"), "mean_ms");
    assert_believed(&spec, without(pgbench_output, "failed transactions")); /* before version 15 */
}

static void clients_must_be_as_asked(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("sysbench");
    spec.clients = 3;
    assert_refused(&spec, sysbench_output, "drove 2 clients, 3 were asked");
    assert_non_null(strstr(err.hint, "{clients}"));
    spec = spec_of("pgbench");
    spec.clients = 1;
    assert_refused(&spec, pgbench_output, "drove 2 clients, 1 were asked");
}

static void the_time_must_be_as_asked(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("sysbench");
    assert_refused(&spec, altered(sysbench_output, "3.1854s", "0.4101s"), "3 s were asked");
    assert_refused(&spec, altered(sysbench_output, "3.1854s", "9.1854s"), "it lived for 3.2 s");
    assert_refused(&spec, altered(sysbench_output, "3.1854s", "1e300s"), "it lived for 3.2 s");
    spec.measure_ms = 10000;
    assert_refused(&spec, sysbench_output, "10 s were asked");
    assert_non_null(strstr(err.hint, "{measure_s}"));
    spec = spec_of("pgbench");
    assert_refused(&spec, altered(pgbench_output, "488.569082", "4885690.82"), "3 s were asked");
    assert_refused(&spec, altered(pgbench_output, "488.569082", "1e-300"), "it lived for 3.2 s");
}

static void aborted_runs_are_refused(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("pgbench");
    assert_refused(&spec, pgbench_aborted, "aborted");
    assert_refused(&spec, arena_printf(&arena, "%sRun was aborted\n", pgbench_output), "aborted");
    spec.clients = 4;
    assert_refused(&spec, pgbench_failing, "4097 of 5994 transactions failed");
    spec.error_budget_pct = 70;
    assert_believed(&spec, pgbench_failing);
    assert_metric("error_pct", 100.0 * 4097 / 5994, "lower");
    spec = spec_of("sysbench");
    spec.clients = 1;
    assert_refused(&spec, sysbench_refused, "aborted");
    spec.clients = 2;
    assert_refused(&spec,
                   altered(sysbench_output, "reconnects:                          0",
                           "reconnects:                          2"),
                   "lost its connection 2 times");
}

/* Tuners have ranked a failed run first because it said -1 (MLOS issue 800). */
static void impossible_numbers_are_refused(void **state)
{
    (void)state;
    static const char *const odd[] = {"-1",    "NaN", "-nan", "inf", "Infinity", "0x10",
                                      "1e999", "abc", "12,5", "--",  "1.2.3"};
    struct workload_spec pgbench = spec_of("pgbench");
    struct workload_spec sysbench = spec_of("sysbench");
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        assert_refused(&pgbench, altered(pgbench_output, "488.569082", odd[i]), "throughput");
        assert_refused(&pgbench, altered(pgbench_output, "4.094", odd[i]), "mean_ms");
        assert_refused(&sysbench, altered(sysbench_output, "11.65", odd[i]), "p95_ms");
        assert_refused(&sysbench, altered(sysbench_output, "3.1854", odd[i]), "");
        assert_false(believe(&sysbench, altered(sysbench_output, "1050\n", odd[i])));
    }
    assert_refused(&pgbench, altered(pgbench_output, "488.569082", "0"), "throughput");
    assert_refused(&sysbench,
                   altered(sysbench_output, "events:              1050", "events:              0"),
                   "no transaction");
    /* A latency below half of the last digit is left out, not taken for zero. */
    assert_believed(&sysbench, altered(sysbench_output, "11.65", "0.00"));
    for (size_t i = 0; i < result.metric_count; i++) {
        assert_string_not_equal(result.metrics[i].name, "p95_ms");
    }
}

static void ends_other_than_zero_are_refused(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("pgbench");
    struct command_end end = {.output = pgbench_output,
                              .output_size = strlen(pgbench_output),
                              .elapsed_ns = INT64_C(3200000000),
                              .exit_status = 2};
    assert_false(command_believe(&spec, program, &end, &arena, &result, &err));
    assert_int_equal(err.code, ERR_CODE_command_failed);
    assert_int_equal(err.native, 2);
    assert_non_null(strstr(err.text, "status 2"));
    assert_non_null(strstr(err.text, "tps = 488"));
    end.exit_status = -1;
    end.signal_number = 11;
    assert_false(command_believe(&spec, program, &end, &arena, &result, &err));
    assert_int_equal(err.code, ERR_CODE_command_failed);
    assert_non_null(strstr(err.text, "signal 11"));
    end.timed_out = true;
    assert_false(command_believe(&spec, program, &end, &arena, &result, &err));
    assert_int_equal(err.code, ERR_CODE_timeout);
}

/* ---- the user's own numbers and lines ---- */

static void named_numbers_are_searched_for(void **state)
{
    (void)state;
    struct load_metric_spec named[] = {
        {.name = "throughput_per_s", .regex = "^NOPM: ([0-9]+)", .better = "higher"},
        {.name = "stalls", .regex = "[0-9.]+ s of (stalls|stops)", .better = "lower"}};
    struct workload_spec spec = spec_of("none");
    spec.metrics = named;
    spec.metric_count = 1;
    assert_believed(&spec, "warming up\nNOPM: 100 so far\r\nNOPM: 2500 in all\r\n");
    assert_metric("throughput_per_s", 2500, "higher");
    assert_metric("elapsed_s", 3.2, "lower");
    assert_int_equal(result.measured_ns, INT64_C(3200000000));
    assert_refused(&spec, "", "does not say its throughput_per_s");
    assert_refused(&spec, "nopm: 7\n x NOPM: 7\n", "does not say its throughput_per_s");
    assert_refused(&spec, "NOPM: 7\nNOPM: 0\n", "not above zero");
    spec.metric_count = 2;
    assert_refused(&spec, "NOPM: 7\n1.5 s of stops\n", "\"stops\", which is no number");
    named[1].regex = "^[0-9.]+";
    assert_believed(&spec, "NOPM: 7\n1.5 s of stops\n");
    assert_metric("stalls", 1.5, "lower");
}

/* sysbench's deviation between clients is 0.00 with one client. */
static void nothing_is_believed_only_where_less_is_better(void **state)
{
    (void)state;
    struct load_metric_spec named[] = {{.name = "fairness_stddev",
                                        .regex = "events \\(avg/stddev\\): +[0-9.]+/([0-9.-]+)",
                                        .better = "lower"}};
    struct workload_spec spec = spec_of("sysbench");
    spec.metrics = named;
    spec.metric_count = 1;
    const char *even = altered(sysbench_output, "/47.00", "/0.00");
    assert_believed(&spec, even);
    assert_metric("fairness_stddev", 0, "lower");
    assert_refused(&spec, altered(sysbench_output, "/47.00", "/-1.00"), "not above zero");
    named[0].better = "higher";
    assert_refused(&spec, even, "not above zero");
    named[0] = (struct load_metric_spec){
        .name = "throughput_per_s", .regex = "/([0-9.]+)$", .better = "lower"};
    assert_refused(&spec, altered(even, "/0.01", "/0.00"), "not above zero");
}

static void a_named_number_takes_the_presets_place(void **state)
{
    (void)state;
    struct load_metric_spec named[] = {{.name = "throughput_per_s",
                                        .regex = "transactions: .*\\(([0-9.]+) per sec",
                                        .better = "higher"}};
    struct workload_spec spec = spec_of("sysbench");
    spec.metrics = named;
    spec.metric_count = 1;
    assert_believed(&spec, sysbench_output);
    assert_metric("throughput_per_s", 329.59, "higher");
}

static void expected_lines_must_stand_there(void **state)
{
    (void)state;
    static const char *const both[] = {"^Threads started!$", "^checks: [0-9]+ passed$", NULL};
    struct workload_spec spec = spec_of("sysbench");
    spec.expect = both;
    assert_refused(&spec, sysbench_output, "\"^checks: [0-9]+ passed$\"");
    assert_believed(&spec, arena_printf(&arena, "%schecks: 12 passed\n", sysbench_output));
}

static void time_alone_needs_no_output(void **state)
{
    (void)state;
    struct workload_spec spec = spec_of("time");
    assert_believed(&spec, "");
    assert_int_equal(result.metric_count, 1);
    assert_metric("elapsed_s", 3.2, "lower");
}

/* A line of a megabyte, bytes that are no text, and a number of thousands of digits. */
static void strange_output_is_searched_like_any_other(void **state)
{
    (void)state;
    struct load_metric_spec named[] = {{.name = "n", .regex = "^n=(.*)$", .better = "higher"}};
    struct workload_spec spec = spec_of("none");
    char *output = arena_alloc(&arena, 1 << 20);
    assert_non_null(output);
    memset(output, '7', (1 << 20) - 1);
    spec.metrics = named;
    spec.metric_count = 1;
    memcpy(output, "n=", 2);
    assert_refused(&spec, output, "which is no number");
    memcpy(output + (1 << 19), "\nn=5\n", 5);
    assert_believed(&spec, output);
    assert_metric("n", 5, "higher");
    struct command_end end = {.output = "\x01\xff\0n=6\0\x80\xfe", .output_size = 9};
    end.elapsed_ns = 1;
    assert_true(command_believe(&spec, program, &end, &arena, &result, &err));
    assert_metric("n", 6, "higher");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_arena, close_arena)
    const struct CMUnitTest tests[] = {
        TEST(every_setting_has_its_word),
        TEST(other_braces_are_the_commands_own),
        TEST(unknown_words_are_refused),
        TEST(sysbench_is_read),
        TEST(pgbench_is_read),
        TEST(runs_by_count_take_their_time),
        TEST(each_line_is_needed),
        TEST(clients_must_be_as_asked),
        TEST(the_time_must_be_as_asked),
        TEST(aborted_runs_are_refused),
        TEST(impossible_numbers_are_refused),
        TEST(ends_other_than_zero_are_refused),
        TEST(named_numbers_are_searched_for),
        TEST(nothing_is_believed_only_where_less_is_better),
        TEST(a_named_number_takes_the_presets_place),
        TEST(expected_lines_must_stand_there),
        TEST(time_alone_needs_no_output),
        TEST(strange_output_is_searched_like_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
