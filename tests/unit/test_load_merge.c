/*
 * Results of several workers made one: everything is counted once, and percentiles are those of all
 * latencies.
 */
#include "tests/support/load_frames.h"

static struct load_result half(uint64_t from, const char *second_name)
{
    struct load_result result = full_result();
    struct load_transaction *rows = ARENA_ARRAY(&arena, struct load_transaction, 2);
    struct load_statement *both = ARENA_ARRAY(&arena, struct load_statement, 2);
    struct load_second *series = ARENA_ARRAY(&arena, struct load_second, 2);
    struct load_error_row *codes = ARENA_ARRAY(&arena, struct load_error_row, 2);
    rows[0] = (struct load_transaction){.name = "all",
                                        .error_count = 2,
                                        .retry_count = 3,
                                        .latency = make_histogram(from, 2000, 1000),
                                        .service = make_histogram(from, 1000, 1000)};
    rows[1] =
        (struct load_transaction){.name = second_name, .latency = make_histogram(from, 1, 10)};
    both[0] = (struct load_statement){.transaction = "all",
                                      .statement = "select",
                                      .error_count = 4,
                                      .latency = make_histogram(from, 10, 100)};
    both[1] = (struct load_statement){
        .transaction = second_name, .statement = "select", .latency = make_histogram(from, 10, 50)};
    for (uint32_t i = 0; i < 2; i++) {
        series[i] = (struct load_second){.phase = LOAD_PHASE_MEASURE,
                                         .index = i,
                                         .throughput_per_s = 100 + i,
                                         .p99_ms = (double)from + i,
                                         .error_count = 1};
        codes[i] = (struct load_error_row){
            .transaction = "all", .code = i == 0 ? "40P01" : second_name, .text = "t", .count = 5};
    }
    result.transactions = rows;
    result.transaction_count = 2;
    result.statements = both;
    result.statement_count = 2;
    result.seconds = series;
    result.second_count = 2;
    result.errors = codes;
    result.error_row_count = 2;
    result.metric_count = 0;
    return result;
}

static void counts_are_added(void **state)
{
    (void)state;
    struct load_result all = half(1000, "one");
    struct load_result more = half(2000, "two");
    assert_true(load_result_merge(&all, &more, &arena, &err));
    assert_int_equal(all.transaction_count, 3);
    assert_int_equal(all.transactions[0].error_count, 4);
    assert_int_equal(all.transactions[0].retry_count, 6);
    assert_int_equal(all.transactions[0].latency->count, 2000);
    assert_int_equal(all.transactions[0].service->count, 2000);
    assert_string_equal(all.transactions[1].name, "one");
    assert_string_equal(all.transactions[2].name, "two");
    assert_int_equal(all.transactions[2].latency->count, 10);
    assert_int_equal(all.statement_count, 3);
    assert_int_equal(all.statements[0].error_count, 8);
    assert_int_equal(all.statements[0].latency->count, 200);
    assert_int_equal(all.error_row_count, 3);
    assert_int_equal(all.errors[0].count, 10);
    assert_int_equal(all.errors[1].count, 5);
    assert_string_equal(all.errors[2].code, "two");
}

/* Latencies of 1 us to 2 ms, the odd and the even ones apart: any percentile of both is that of the
 * whole, though each half alone has every second value only. */
static void percentiles_are_of_all(void **state)
{
    (void)state;
    struct load_result all = half(1000, "one");
    struct load_result more = half(2000, "one");
    assert_true(load_result_merge(&all, &more, &arena, &err));
    const struct histogram *whole = make_histogram(1000, 1000, 2000);
    assert_memory_equal(all.transactions[0].latency, whole, sizeof *whole);
    assert_int_equal(all.transaction_count, 2);
    assert_int_equal(all.transactions[1].latency->count, 20);
}

static void seconds_are_one_series(void **state)
{
    (void)state;
    struct load_result all = half(1000, "one");
    struct load_result more = half(2000, "one");
    more.seconds[1].index = 2; /* one worker lost a second's report */
    assert_true(load_result_merge(&all, &more, &arena, &err));
    assert_int_equal(all.second_count, 3);
    assert_true(all.seconds[0].throughput_per_s == 200 && all.seconds[0].p99_ms == 2000);
    assert_int_equal(all.seconds[0].error_count, 2);
    assert_true(all.seconds[1].throughput_per_s == 101);
    assert_true(all.seconds[2].index == 2 && all.seconds[2].throughput_per_s == 101);
}

static void the_worst_stands_for_all(void **state)
{
    (void)state;
    struct load_result all = half(1000, "one");
    struct load_result more = half(2000, "one");
    more.busy_pct = 90;
    more.wait_pct = 1;
    more.p99_lag_ms = 7;
    more.backlog_ns = 5;
    more.due_count = 1;
    all.due_count = 10;
    all.backlog_ns = 4;
    assert_true(load_result_merge(&all, &more, &arena, &err));
    assert_int_equal(all.client_count, 128);
    assert_int_equal(all.unfinished_count, 10);
    assert_true(all.driver_cpu_s == 24.5 && all.busy_pct == 90 && all.wait_pct == 3.25);
    assert_true(all.p99_lag_ms == 7 && all.ceiling_per_s == 9e6);
    assert_true(all.due_count == 11 && all.backlog_count == 16 && all.backlog_ns == 5);
    more.ceiling_per_s = 0;
    assert_true(load_result_merge(&all, &more, &arena, &err));
    assert_true(all.ceiling_per_s == 0);
}

static void own_figures_are_not_added(void **state)
{
    (void)state;
    struct load_result all = half(1000, "one");
    struct load_result more = full_result();
    assert_false(load_result_merge(&all, &more, &arena, &err));
    assert_int_equal(err.code, ERR_CODE_bug);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_are_added),          TEST(percentiles_are_of_all),
        TEST(seconds_are_one_series),    TEST(the_worst_stands_for_all),
        TEST(own_figures_are_not_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
