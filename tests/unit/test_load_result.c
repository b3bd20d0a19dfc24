/*
 * What a result comes to in numbers, on results made by hand, and which settings of a workload do
 * not go together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "sweeper/load/workload.h"

static struct arena arena;
static struct err err;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 16 << 20);
    err_clear(&err);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

/* ---- metrics ---- */

static struct load_metric *metrics;
static size_t metric_count;

static void measure(const struct load_result *result)
{
    assert_true(load_result_metrics(result, &arena, &metrics, &metric_count, &err));
    for (size_t i = 0; i < metric_count; i++) {
        assert_true(isfinite(metrics[i].value));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(metrics[i].name, metrics[j].name);
        }
    }
}

static const struct load_metric *metric(const char *name)
{
    for (size_t i = 0; i < metric_count; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            return &metrics[i];
        }
    }
    return NULL;
}

static void assert_metric(const char *name, double wanted, double relative, const char *better)
{
    const struct load_metric *found = metric(name);
    if (found == NULL) {
        fail_msg("%s is missing", name);
        return;
    }
    if (fabs(found->value - wanted) > relative * wanted) {
        fail_msg("%s is %.12g, not %.12g", name, found->value, wanted);
    }
    assert_string_equal(found->better, better);
}

/* Values of 1 to `count` times `unit_ns`. */
static struct histogram *make_histogram(uint64_t unit_ns, uint64_t from, uint64_t to)
{
    struct histogram *histogram = ARENA_NEW(&arena, struct histogram);
    assert_non_null(histogram);
    histogram_clear(histogram);
    for (uint64_t i = from; i <= to; i++) {
        histogram_record(histogram, i * unit_ns);
    }
    return histogram;
}

/* 1000 transactions of 1 to 1000 ms in 20 s, told apart by their latency. */
static struct load_result driven(void)
{
    static struct load_transaction transactions[3];
    static struct load_statement statements[2];
    transactions[0] = (struct load_transaction){
        .name = "fast", .error_count = 6, .latency = make_histogram(1000000, 1, 900)};
    transactions[1] = (struct load_transaction){
        .name = "slow", .error_count = 4, .latency = make_histogram(1000000, 901, 1000)};
    transactions[2] =
        (struct load_transaction){.name = "never", .latency = make_histogram(1, 1, 0)};
    statements[0] = (struct load_statement){
        .transaction = "fast", .statement = "select", .latency = make_histogram(1000, 1, 2700)};
    statements[1] = (struct load_statement){.transaction = "slow",
                                            .statement = "update",
                                            .error_count = 50,
                                            .latency = make_histogram(1000, 1, 300)};
    return (struct load_result){.measured_ns = 20 * INT64_C(1000000000),
                                .client_count = 8,
                                .transactions = transactions,
                                .transaction_count = COUNT_OF(transactions),
                                .statements = statements,
                                .statement_count = COUNT_OF(statements)};
}

static void rates_divide_by_the_measured_time(void **state)
{
    (void)state;
    struct load_result result = driven();
    measure(&result);
    assert_metric("throughput_per_s", 50, 1e-12, "higher");
    assert_metric("tpm", 3000, 1e-12, "higher");
    assert_metric("spm", 9000, 1e-12, "higher");
    assert_metric("elapsed_s", 20, 1e-12, "lower");
    assert_metric("error_pct", 100.0 * 10 / 1010, 1e-12, "lower");
    result.measured_ns *= 2; /* longer than asked counts, too */
    measure(&result);
    assert_metric("throughput_per_s", 25, 1e-12, "higher");
    assert_metric("tpm", 1500, 1e-12, "higher");
    assert_metric("spm", 4500, 1e-12, "higher");
    assert_metric("elapsed_s", 40, 1e-12, "lower");
}

/* The mean of the two transactions' 95th percentiles would be 925 ms. */
static void percentiles_are_of_all_transactions(void **state)
{
    (void)state;
    struct load_result result = driven();
    measure(&result);
    assert_metric("p50_ms", 500, 0.01, "lower");
    assert_metric("p95_ms", 950, 0.01, "lower");
    assert_metric("p99_ms", 990, 0.01, "lower");
    assert_metric("p999_ms", 999, 0.01, "lower");
    assert_metric("max_ms", 1000, 1e-12, "lower");
    assert_metric("mean_ms", 500.5, 1e-12, "lower");
}

static void nothing_completed_is_no_throughput(void **state)
{
    (void)state;
    struct load_result result = driven();
    result.transactions += 2; /* "never" */
    result.transaction_count = 1;
    measure(&result);
    assert_null(metric("throughput_per_s"));
    assert_null(metric("p99_ms"));
    assert_null(metric("error_pct"));
    assert_metric("elapsed_s", 20, 1e-12, "lower");
    result.transactions->error_count = 3;
    measure(&result);
    assert_null(metric("throughput_per_s"));
    assert_null(metric("mean_ms"));
    assert_metric("error_pct", 100, 1e-12, "lower");
}

static void no_time_gives_no_rate(void **state)
{
    (void)state;
    struct load_result result = driven();
    result.measured_ns = 0;
    measure(&result);
    assert_null(metric("throughput_per_s"));
    assert_null(metric("tpm"));
    assert_null(metric("spm"));
    result.measured_ns = -1;
    measure(&result);
    assert_null(metric("throughput_per_s"));
}

/* Responses wait for a client, services do not. */
static void a_schedule_tells_service_from_response(void **state)
{
    (void)state;
    struct load_result result = driven();
    measure(&result);
    assert_null(metric("service_p50_ms"));
    assert_null(metric("backlog"));
    assert_null(metric("offered_per_s"));
    for (size_t i = 0; i < result.transaction_count; i++) {
        result.transactions[i].service = make_histogram(10000, 1, i < 2 ? 500 : 0);
    }
    result.due_count = 1200;
    result.backlog_count = 190;
    measure(&result);
    assert_metric("p50_ms", 500, 0.01, "lower");
    assert_metric("service_p50_ms", 2.5, 0.01, "lower");
    assert_metric("service_p99_ms", 4.95, 0.01, "lower");
    assert_metric("service_max_ms", 5, 1e-12, "lower");
    assert_metric("offered_per_s", 60, 1e-12, "higher");
    assert_metric("backlog", 190, 1e-12, "lower");
}

static void the_driver_speaks_of_itself(void **state)
{
    (void)state;
    struct load_result result = driven();
    result.driver_cpu_s = 0.02;
    result.p99_lag_ms = 1.5;
    measure(&result);
    assert_metric("driver_us", 20, 1e-12, "lower");
    assert_metric("lag_p99_ms", 1.5, 1e-12, "lower");
    assert_null(metric("ceiling_per_s"));
    assert_null(metric("driver_busy_pct"));
    result.ceiling_per_s = 1e6;
    result.busy_pct = 12;
    result.wait_pct = 34;
    measure(&result);
    assert_metric("ceiling_per_s", 1e6, 1e-12, "higher");
    assert_metric("driver_busy_pct", 12, 1e-12, "lower");
    assert_metric("driver_wait_pct", 34, 1e-12, "lower");
}

static void assert_flags(const struct load_result *result, const char *wanted)
{
    const char *flags = load_result_flags(result, &arena);
    assert_non_null(flags);
    assert_string_equal(flags, wanted);
}

/* 20 s measured: a backlog may be 200 ms old. */
static void doubts_are_flagged(void **state)
{
    (void)state;
    struct load_result result = driven();
    assert_flags(&result, "");
    result.backlog_count = 10;
    result.backlog_ns = 200000000;
    assert_flags(&result, "");
    result.backlog_ns++;
    assert_flags(&result, "saturated");
    result.busy_pct = 80;
    assert_flags(&result, "saturated");
    result.busy_pct = 80.5;
    assert_flags(&result, "saturated client-bound");
    result.backlog_count = 0;
    assert_flags(&result, "client-bound");
    result.busy_pct = 0;
    result.ceiling_per_s = 63; /* 1000 in 20 s */
    assert_flags(&result, "");
    result.ceiling_per_s = 62;
    assert_flags(&result, "client-bound");
    /* a short window: a tenth of a second is always tolerated */
    result = driven();
    result.measured_ns = NS_PER_S;
    result.backlog_count = 1;
    result.backlog_ns = 100 * NS_PER_MS;
    assert_flags(&result, "");
    result.backlog_ns++;
    assert_flags(&result, "saturated");
}

static void a_command_brings_its_own(void **state)
{
    (void)state;
    struct load_metric own[] = {{.name = "throughput_per_s", .value = 812, .better = "higher"},
                                {.name = "stalls", .value = 3, .better = "lower"},
                                {.name = "broken", .value = NAN, .better = "higher"},
                                {.name = "endless", .value = INFINITY, .better = "higher"}};
    struct load_result result = {
        .measured_ns = INT64_C(1500000000), .metrics = own, .metric_count = COUNT_OF(own)};
    measure(&result);
    assert_int_equal(metric_count, 3);
    assert_metric("throughput_per_s", 812, 0, "higher");
    assert_metric("stalls", 3, 0, "lower");
    assert_metric("elapsed_s", 1.5, 1e-12, "lower");
}

static void a_command_may_say_how_long_it_took(void **state)
{
    (void)state;
    struct load_metric own[] = {{.name = "elapsed_s", .value = 1.25, .better = "lower"}};
    struct load_result result = {
        .measured_ns = INT64_C(1500000000), .metrics = own, .metric_count = COUNT_OF(own)};
    measure(&result);
    assert_int_equal(metric_count, 1);
    assert_metric("elapsed_s", 1.25, 0, "lower");
}

static void memory_that_ends_is_an_error(void **state)
{
    (void)state;
    struct load_result result = driven();
    for (size_t limit = 64; limit < 8192; limit += 512) {
        struct arena tight;
        arena_open(&tight, limit);
        assert_false(load_result_metrics(&result, &tight, &metrics, &metric_count, &err));
        assert_int_equal(err.code, ERR_CODE_memory);
        arena_close(&tight);
    }
}

/* ---- the spec ---- */

static const char *const sysbench[] = {"sysbench", "--threads={clients}", NULL};
static const char *const restore[] = {"./restore", NULL};

static struct workload_spec oltp(const char *mix)
{
    return (struct workload_spec){.kind = "oltp",
                                  .clients = 8,
                                  .warm_up_ms = 1000,
                                  .measure_ms = 10000,
                                  .drain_ms = 500,
                                  .reset = "default",
                                  .mix = mix,
                                  .tables = 1,
                                  .rows = 1000,
                                  .distribution = "uniform",
                                  .preset = "none",
                                  .prepared = true};
}

static struct workload_spec of_command(void)
{
    struct workload_spec spec = oltp("read_write");
    spec.kind = "command";
    spec.command = sysbench;
    spec.preset = "sysbench";
    return spec;
}

static void assert_fine(const struct workload_spec *spec)
{
    if (!workload_check_spec(spec, &err)) {
        fail_msg("%s", err.text);
    }
}

static void assert_refused(const struct workload_spec *spec, const char *text, const char *hint)
{
    err_clear(&err);
    assert_false(workload_check_spec(spec, &err));
    assert_int_equal(err.class, ERR_PLAN);
    if (strstr(err.text, text) == NULL || strstr(err.hint, hint) == NULL) {
        fail_msg("\"%s\"; \"%s\" does not say \"%s\"; \"%s\"", err.text, err.hint, text, hint);
    }
}

static void which_workloads_write(void **state)
{
    (void)state;
    static const struct {
        const char *mix;
        bool writes;
    } mixes[] = {{"read_only", false},       {"point_select", false},
                 {"read_write", true},       {"write_only", true},
                 {"update_non_index", true}, {"insert", true},
                 {"update_index", true},     {"delete", true}};
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        struct workload_spec spec = oltp(mixes[i].mix);
        assert_int_equal(workload_writes(&spec), mixes[i].writes);
        assert_fine(&spec);
    }
    struct workload_spec spec = of_command();
    assert_false(workload_writes(&spec));
    spec.reset = "none";
    assert_false(workload_writes(&spec));
    spec.reset = "snapshot";
    assert_true(workload_writes(&spec));
    spec.reset = "command";
    assert_true(workload_writes(&spec));
}

static void a_drive_has_time_for_all_its_phases(void **state)
{
    (void)state;
    struct workload_spec spec = oltp("read_only");
    int64_t limit_ms = load_drive_limit_ms(&spec);
    assert_true(limit_ms > 11500 + 10000 && limit_ms < 11500 + 300000);
    spec.measure_ms += 7;
    assert_int_equal(load_drive_limit_ms(&spec), limit_ms + 7);
    spec.warm_up_ms += 11;
    spec.drain_ms += 13;
    assert_int_equal(load_drive_limit_ms(&spec), limit_ms + 31);
}

static void kinds_are_known(void **state)
{
    (void)state;
    assert_true(workload_kind_exists("oltp"));
    assert_true(workload_kind_exists("command"));
    assert_false(workload_kind_exists("OLTP"));
    assert_false(workload_kind_exists(""));
    assert_string_equal(workload_nearest_kind("oltpp"), "oltp");
    assert_string_equal(workload_nearest_kind("comand"), "command");
    assert_null(workload_nearest_kind("something else"));
    for (size_t i = 0; i < workload_count; i++) {
        assert_ptr_equal(workload_find(workloads[i]->kind), workloads[i]);
    }
}

static void oltp_settings_must_fit(void **state)
{
    (void)state;
    struct workload_spec spec = oltp("read_write");
    spec.clients = 0;
    assert_refused(&spec, "clients", "");
    spec = oltp("read_write");
    spec.measure_ms = 0;
    assert_refused(&spec, "measure", "");
    spec = oltp("read_writes");
    assert_refused(&spec, "\"read_writes\" is unknown", "read_write");
    spec = oltp("nonsense at all");
    assert_refused(&spec, "is unknown", "");
    assert_string_equal(err.hint, "");
}

static void tpcc_settings_must_fit(void **state)
{
    (void)state;
    struct workload_spec spec = oltp("read_write");
    spec.kind = "tpcc";
    spec.warehouses = 4;
    assert_fine(&spec);
    assert_true(workload_writes(&spec));
    spec.mix = "read_only"; /* of oltp */
    assert_true(workload_writes(&spec));
    spec.terminals = 10;
    assert_refused(&spec, "8 clients are not 10 terminals in each of 4 warehouses",
                   "clients = 40;");
    spec.clients = 40;
    assert_fine(&spec);
    spec.think = 1;
    assert_fine(&spec);
    spec.rate_per_s = 100;
    assert_refused(&spec, "keying and think times", "leave out rate");
    spec.think = 0;
    assert_fine(&spec);
    spec.prepared = false;
    assert_refused(&spec, "always prepared", "leave prepared out");
}

/* A session has 256 slots; each statement takes one for every table. */
static void prepared_statements_must_fit(void **state)
{
    (void)state;
    static const struct {
        const char *mix;
        int64_t most_tables;
    } mixes[] = {{"read_only", 51}, {"read_write", 28}, {"write_only", 64}, {"point_select", 256}};
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        struct workload_spec spec = oltp(mixes[i].mix);
        spec.tables = mixes[i].most_tables;
        assert_fine(&spec);
        spec.tables++;
        assert_refused(&spec, "256", "prepared = false");
        spec.tables = INT64_MAX;
        assert_refused(&spec, "256", "prepared = false");
        spec.prepared = false;
        assert_fine(&spec);
    }
}

/* The plan of the workload itself must agree about how many slots it takes. */
static void the_workload_agrees_about_its_slots(void **state)
{
    (void)state;
    static const char *const mixes[] = {"read_only", "read_write", "write_only", "point_select",
                                        "insert"};
    const struct workload *workload = workload_find("oltp");
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        struct workload_spec spec = oltp(mixes[i]);
        const void *plan = NULL;
        const struct workload_statement *rows = NULL;
        spec.range_size = 100;
        for (spec.tables = 1; workload_check_spec(&spec, &err); spec.tables *= 2) {
            assert_true(workload->plan(&spec, DIALECT_POSTGRESQL, &arena, &plan, &err));
            assert_true(workload->statements(plan, &rows) <= LOAD_STATEMENT_LIMIT);
        }
    }
}

static void resets_need_their_command(void **state)
{
    (void)state;
    struct workload_spec spec = oltp("read_write");
    spec.reset = "command";
    assert_refused(&spec, "reset_command", "both or neither");
    spec.reset_command = restore;
    assert_fine(&spec);
    spec.reset = "reload";
    assert_refused(&spec, "reset_command", "both or neither");
    spec = of_command();
    spec.reset = "reload";
    assert_refused(&spec, "cannot be loaded again", "snapshot");
}

static void commands_must_be_whole(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL};
    struct workload_spec spec = of_command();
    assert_fine(&spec);
    spec.command = NULL;
    assert_refused(&spec, "needs its command", "command = [");
    spec.command = nothing;
    assert_refused(&spec, "needs its command", "command = [");
    spec = of_command();
    spec.rate_per_s = 100;
    assert_refused(&spec, "rate", "its own option");
    spec = of_command();
    spec.preset = "none";
    assert_refused(&spec, "nothing would be read", "preset = \"time\"");
    spec.preset = "time";
    assert_fine(&spec);
}

static void unknown_words_are_refused(void **state)
{
    (void)state;
    static const char *const near[] = {"sysbench", "--threads={client}", NULL};
    static const char *const far[] = {"sh", "-c", "echo {password}", NULL};
    struct workload_spec spec = of_command();
    spec.command = near;
    assert_refused(&spec, "{client}", "{clients}");
    spec.command = far;
    assert_refused(&spec, "{password}", "");
}

static void patterns_must_compile(void **state)
{
    (void)state;
    static const char *const bad_lines[] = {"fine", "(", NULL};
    struct load_metric_spec named[] = {{.name = "a", .regex = "a: ([0-9]+)", .better = "lower"},
                                       {.name = "b", .regex = "b: [0-9", .better = "lower"}};
    struct workload_spec spec = of_command();
    spec.preset = "none";
    spec.metrics = named;
    spec.metric_count = 1;
    assert_fine(&spec);
    spec.metric_count = 2;
    assert_refused(&spec, "\"b: [0-9\" is wrong", "");
    spec.metric_count = 1;
    spec.expect = bad_lines;
    assert_refused(&spec, "\"(\" is wrong", "");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, open_arena, close_arena)
    const struct CMUnitTest tests[] = {
        TEST(rates_divide_by_the_measured_time),
        TEST(percentiles_are_of_all_transactions),
        TEST(nothing_completed_is_no_throughput),
        TEST(no_time_gives_no_rate),
        TEST(a_schedule_tells_service_from_response),
        TEST(the_driver_speaks_of_itself),
        TEST(doubts_are_flagged),
        TEST(a_command_brings_its_own),
        TEST(a_command_may_say_how_long_it_took),
        TEST(memory_that_ends_is_an_error),
        TEST(which_workloads_write),
        TEST(a_drive_has_time_for_all_its_phases),
        TEST(kinds_are_known),
        TEST(oltp_settings_must_fit),
        TEST(tpcc_settings_must_fit),
        TEST(prepared_statements_must_fit),
        TEST(the_workload_agrees_about_its_slots),
        TEST(resets_need_their_command),
        TEST(commands_must_be_whole),
        TEST(unknown_words_are_refused),
        TEST(patterns_must_compile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
