/*
 * What the tests of the ranking share: points of one knob, runs of known noise, and a look into
 * the table that was computed.
 */
#ifndef TESTS_SUPPORT_RANK_FILL_H
#define TESTS_SUPPORT_RANK_FILL_H

#include "store/rank.h"
#include "tests/support/store_fill.h"

#define T3 3.182446305 /* Student's t, 0.975, 3 degrees of freedom */
#define T4 2.776445105 /* Student's t, 0.975, 4 degrees of freedom */
#define S (0.01 * sqrt(2))
#define CLOSE 1e-6

static struct rank_table table;

static inline int64_t baseline(void)
{
    return add_point(text_value("work_mem", "baseline"), true);
}

static inline int64_t point_of(int megabytes)
{
    return add_point(
        number_value("work_mem", arena_printf(&arena, "%dM", megabytes), 1048576.0 * megabytes),
        true);
}

static inline int64_t anywhere(void)
{
    return add_condition(NULL, 0);
}

static inline int64_t clients(int count)
{
    struct store_value value =
        number_value("clients", arena_printf(&arena, "%d", count), (double)count);
    return add_condition(&value, 1);
}

/* Two runs whose logarithms lie 0.01 below and above. */
static inline void add_pair(int64_t point, int64_t condition, double throughput)
{
    add_run(point, condition, throughput * exp(-0.01));
    add_run(point, condition, throughput * exp(0.01));
}

/* Three runs whose squares are twice S^2: with the pairs the noise stays S. It takes so many of the
 * baseline to claim intervals. */
static inline void add_three(int64_t point, int64_t condition, double throughput)
{
    add_run(point, condition, throughput * exp(-S));
    add_run(point, condition, throughput);
    add_run(point, condition, throughput * exp(S));
}

static inline void compute(struct rank_options options)
{
    assert_ok(rank_compute(store, &options, &arena, &table, &err));
}

static inline const char *formatted(const char *format)
{
    struct text out;
    text_open(&out, &arena);
    assert_ok(rank_format(&table, format, &out, &err));
    return text_done(&out);
}

static inline const struct rank_row *row_of(int64_t point)
{
    static const struct rank_row none;
    for (size_t i = 0; i < table.row_count; i++) {
        if (table.rows[i].point_id == point)
            return &table.rows[i];
    }
    fail_msg("point %lld is not in the ranking", (long long)point);
    return &none;
}

static inline const struct rank_metric *metric(const struct rank_row *row, const char *name)
{
    static const struct rank_metric none;
    for (size_t i = 0; i < row->metric_count; i++) {
        if (strcmp(row->metrics[i].name, name) == 0)
            return &row->metrics[i];
    }
    fail_msg("no metric %s", name);
    return &none;
}

static inline void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= CLOSE * fmax(1, fabs(expected))))
        fail_msg("%.9g is not %.9g", value, expected);
}

static inline void assert_interval(const struct rank_metric *of, double mean, double half)
{
    assert_near(of->mean, mean);
    assert_near(of->low, mean * exp(-half));
    assert_near(of->high, mean * exp(half));
}

/* A run of throughput 100 with that p99 and share of errors. */
static inline void add_latencies(int64_t point, int64_t here, double p99_ms, double errors)
{
    struct measured measured = {.effective_key = "",
                                .metrics = {{"throughput_per_s", 100, "higher"},
                                            {"p99_ms", p99_ms, "lower"},
                                            {"error_pct", errors, "lower"}},
                                .metric_count = 3};
    add_measured(point, here, &measured);
}

#endif
