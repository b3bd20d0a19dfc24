/*
 * What the measuring itself costs: recording one latency, reading a percentile, merging and
 * encoding a histogram. A point select takes about 6 us, so recording must be far below that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sweeper/base/clock.h"
#include "sweeper/stats/histogram.h"

#define RECORDS 50000000
#define ROUNDS 20000

static struct histogram one;
static struct histogram all;

static void print_cost(const char *what, int64_t began_ns, double count)
{
    printf("%-24s %10.1f ns\n", what, (double)(clock_now_ns() - began_ns) / count);
}

/* Latencies from 1 us to 16 ms, spread over the buckets as real ones are. */
static uint64_t next_latency_ns(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return UINT64_C(1000) << (*state >> 60) | (*state >> 54 & 1023);
}

static void bench_record(void)
{
    uint64_t state = 1;
    int64_t began_ns = clock_now_ns();
    for (int i = 0; i < RECORDS; i++)
        histogram_record(&one, next_latency_ns(&state));
    print_cost("record", began_ns, RECORDS);
}

static void bench_percentile(void)
{
    double sum = 0;
    int64_t began_ns = clock_now_ns();
    for (int i = 0; i < ROUNDS; i++)
        sum += histogram_percentile_ns(&one, 99.0 + 0.00001 * i);
    print_cost("percentile", began_ns, ROUNDS);
    if (sum < 0)
        exit(1); /* keeps the loop */
}

static void bench_merge(void)
{
    int64_t began_ns = clock_now_ns();
    for (int i = 0; i < ROUNDS; i++)
        histogram_merge(&all, &one);
    print_cost("merge", began_ns, ROUNDS);
}

static void bench_encode(void)
{
    struct arena arena;
    struct text text = {.size = 0};
    arena_open(&arena, 16u << 20);
    int64_t began_ns = clock_now_ns();
    for (int i = 0; i < ROUNDS; i++) {
        arena_reset(&arena);
        text_open(&text, &arena);
        histogram_encode(&one, &text);
    }
    print_cost("encode", began_ns, ROUNDS);
    printf("%-24s %10zu bytes\n", "encoded", text.size);
    arena_close(&arena);
}

int main(void)
{
    histogram_clear(&one);
    histogram_clear(&all);
    bench_record();
    bench_percentile();
    bench_merge();
    bench_encode();
    return 0;
}
