/*
 * A job, a result and seconds with every member filled, no two alike, and their frames: for the
 * tests of what travels between a worker and its parent.
 */
#ifndef TESTS_SUPPORT_LOAD_FRAMES_H
#define TESTS_SUPPORT_LOAD_FRAMES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/load/load.h"

enum { ARENA_BYTES = 16 << 20 };

static struct arena arena;
static struct err err;

static inline int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, ARENA_BYTES);
    err_clear(&err);
    return 0;
}

static inline int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

/* ---- a job with every member ---- */

static const struct knob work_mem = {.name = "work_mem",
                                     .type = KNOB_INTEGER,
                                     .unit = UNIT_BYTES,
                                     .bare = 1024,
                                     .min = 65536,
                                     .max = 1e12,
                                     .specials = "-1",
                                     .choices = "",
                                     .apply = KNOB_SESSION,
                                     .durability = "",
                                     .versions = "9.6-18",
                                     .sentence = "memory of a sort",
                                     .source = "manual",
                                     .danger = ""};
static const struct knob synchronous = {.name = "synchronous",
                                        .type = KNOB_ENUM,
                                        .unit = UNIT_NONE,
                                        .bare = 1,
                                        .specials = "",
                                        .choices = "OFF,0|NORMAL,1|FULL,2",
                                        .apply = KNOB_RELOAD,
                                        .durability = "FULL|NORMAL|OFF"};
static const struct knob page_cost = {.name = "page_cost",
                                      .type = KNOB_REAL,
                                      .unit = UNIT_PERCENT,
                                      .bare = -1024,
                                      .specials = "0|-2",
                                      .choices = "",
                                      .apply = KNOB_REBUILD,
                                      .durability = "*"};

static const struct setting settings[] = {
    {.knob = &work_mem, .value = {.kind = VALUE_INTEGER, .integer = 4194304, .asked = "4M"}},
    {.knob = &synchronous, .value = {.kind = VALUE_TEXT, .text = "FULL", .asked = "2"}},
    {.knob = &page_cost, .value = {.kind = VALUE_REAL, .real = 1.1, .asked = "1.1"}},
    {.knob = &work_mem, .value = {.kind = VALUE_UNSET, .asked = "unset"}},
};

static const char *const reset_command[] = {"sh", "-c", "restore \"$1\"", "", NULL};
static const char *const command[] = {"sysbench", "--threads={clients}", NULL};
static const char *const expect[] = {"^done$", NULL};
static const char *const script_files[] = {"a.sql@9", "dir/b.sql", NULL};
static const char *const variables[] = {"scale=10", NULL};
static struct load_script scripts[] = {
    {.name = "a", .path = "/x/a.sql", .weight = 9, .text = "select 1;\n\\set a 1\n"},
    {.name = "b", .path = "/x/dir/b.sql", .weight = 1, .text = ""}};
static struct load_metric_spec metric_specs[] = {
    {.name = "throughput_per_s", .regex = "tps = ([0-9.]+)", .better = "higher"},
    {.name = "stalls", .regex = "stalls: ([0-9]+)", .better = "lower"}};

/* No two members alike, so that none can stand for another. */
static const struct load_job full_job = {.operation = LOAD_DRIVE,
                                         .workload = {.kind = "oltp",
                                                      .clients = 101,
                                                      .threads = 102,
                                                      .rate_per_s = 103.5,
                                                      .arrivals = "poisson",
                                                      .warm_up_ms = 104,
                                                      .warm_up_max_ms = 204,
                                                      .measure_ms = 105,
                                                      .drain_ms = 106,
                                                      .prepare_timeout_ms = 107,
                                                      .seed = INT64_MAX,
                                                      .error_budget_pct = 0.25,
                                                      .reset = "command",
                                                      .reset_command = reset_command,
                                                      .mix = "read_write",
                                                      .tables = 108,
                                                      .rows = INT64_C(4000000000),
                                                      .range_size = 109,
                                                      .distribution = "zipfian",
                                                      .skip_trx = true,
                                                      .prepared = false,
                                                      .warehouses = 110,
                                                      .terminals = 111,
                                                      .rollback_pct = 1.5,
                                                      .payment_by_name_pct = 59.5,
                                                      .keying = 0.125,
                                                      .think = 0.5,
                                                      .script_files = script_files,
                                                      .variables = variables,
                                                      .think_time_ms = 112,
                                                      .setup = "/x/setup.sql",
                                                      .scripts = scripts,
                                                      .script_count = COUNT_OF(scripts),
                                                      .setup_script = {.name = "setup",
                                                                       .path = "/x/setup.sql",
                                                                       .weight = 1,
                                                                       .text = "create"},
                                                      .scripts_write = true,
                                                      .index_form = "2009",
                                                      .insert_rows = INT64_C(5000000000),
                                                      .complete_within_ms = 122,
                                                      .rows_per_insert = 123,
                                                      .secondary_indexes = 2,
                                                      .initial_rows = 124,
                                                      .query_clients = 125,
                                                      .delete_oldest = true,
                                                      .command = command,
                                                      .preset = "sysbench",
                                                      .metrics = metric_specs,
                                                      .metric_count = COUNT_OF(metric_specs),
                                                      .expect = expect},
                                         .backend = "postgresql",
                                         .ceiling_per_s = 1.75e6,
                                         .first_client = 31,
                                         .client_share = 17,
                                         .session = {.connect = "host=/tmp user=\"\xc3\xa4\"",
                                                     .password = "p'w",
                                                     .settings = settings,
                                                     .setting_count = COUNT_OF(settings),
                                                     .application = "dbsweep"}};

static inline struct bytes job_bytes(const struct load_job *job)
{
    struct text text;
    text_open(&text, &arena);
    assert_true(load_job_encode(job, &text, &err));
    assert_non_null(text_done(&text));
    return (struct bytes){.data = text.data, .size = text.size};
}

/* ---- a result with every member ---- */

static inline struct histogram *make_histogram(uint64_t from, uint64_t step, size_t count)
{
    struct histogram *histogram = ARENA_NEW(&arena, struct histogram);
    assert_non_null(histogram);
    histogram_clear(histogram);
    for (size_t i = 0; i < count; i++) {
        histogram_record(histogram, from + step * i);
    }
    return histogram;
}

static struct load_transaction transactions[2];
static struct load_statement statements[3];
static struct load_error_row errors[] = {
    {.transaction = "read_only", .code = "40P01", .text = "deadlock detected", .count = 7},
    {.transaction = "", .code = "57P01", .text = "", .count = UINT64_MAX}};
static struct load_second seconds[] = {
    {.phase = LOAD_PHASE_MEASURE,
     .index = 0,
     .throughput_per_s = 812.5,
     .mean_ms = 0.75,
     .p99_ms = 1.5},
    {.phase = LOAD_PHASE_MEASURE, .index = 1, .p99_ms = 0.1, .error_count = 3},
    {.phase = LOAD_PHASE_DRAIN, .index = UINT32_MAX, .throughput_per_s = 1e-300}};
static struct histogram batches[2];
static struct load_metric metrics[] = {{.name = "tps", .value = 0.1, .better = "higher"},
                                       {.name = "", .value = -1e300, .better = "lower"}};

static inline struct load_result full_result(void)
{
    transactions[0] = (struct load_transaction){.name = "read_only",
                                                .error_count = 11,
                                                .retry_count = 12,
                                                .latency = make_histogram(1000, 777, 500),
                                                .service = make_histogram(900, 333, 77)};
    transactions[1] =
        (struct load_transaction){.name = "write", .latency = make_histogram(0, 0, 0)};
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        statements[i] = (struct load_statement){.transaction = i == 0 ? "write" : "read_only",
                                                .statement = i == 2 ? "commit" : "select",
                                                .error_count = 20 + i,
                                                .latency = make_histogram(90, 1000, i)};
    }
    for (size_t i = 0; i < COUNT_OF(batches); i++) {
        batches[i] = *make_histogram(500 + i, 100, 9 + i);
    }
    return (struct load_result){.warm_up_ns = -1,
                                .measured_ns = INT64_C(300000000123),
                                .client_count = 64,
                                .transactions = transactions,
                                .transaction_count = COUNT_OF(transactions),
                                .statements = statements,
                                .statement_count = COUNT_OF(statements),
                                .errors = errors,
                                .error_row_count = COUNT_OF(errors),
                                .seconds = seconds,
                                .second_count = COUNT_OF(seconds),
                                .batches = batches,
                                .batch_count = COUNT_OF(batches),
                                .series_interval_s = 4,
                                .unfinished_count = 5,
                                .driver_cpu_s = 12.25,
                                .busy_pct = 61.5,
                                .wait_pct = 3.25,
                                .ceiling_per_s = 4.5e6,
                                .p99_lag_ms = 0.125,
                                .due_count = UINT64_MAX - 1,
                                .backlog_count = 8,
                                .backlog_ns = INT64_MAX - 9,
                                .metrics = metrics,
                                .metric_count = COUNT_OF(metrics),
                                .output = "two\nlines",
                                .distribution = "uniform"};
}

static inline struct bytes result_bytes(const struct load_result *result)
{
    struct text text;
    text_open(&text, &arena);
    assert_true(load_result_encode(result, &text, &err));
    assert_non_null(text_done(&text));
    return (struct bytes){.data = text.data, .size = text.size};
}

/* ---- seconds ---- */

static inline struct bytes second_bytes(const struct load_second *second)
{
    struct text text;
    text_open(&text, &arena);
    load_second_encode(second, &text);
    assert_non_null(text_done(&text));
    return (struct bytes){.data = text.data, .size = text.size};
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_arena, close_arena)

#endif
