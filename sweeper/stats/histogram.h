/*
 * Latency histogram: log-linear, 1 us to 1 h in nanoseconds, relative error of a percentile at
 * most 1 %, exact count, sum, minimum and maximum; merging is adding. Values below 1 us land in
 * finer or equal buckets, values above 1 h in the last.
 */
#ifndef SWEEPER_STATS_HISTOGRAM_H
#define SWEEPER_STATS_HISTOGRAM_H

#include "sweeper/base/text.h"

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_BUCKETS 2432

struct histogram {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t min_ns; /* UINT64_MAX while empty */
    uint64_t max_ns;
    uint32_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_clear(struct histogram *histogram);
void histogram_record(struct histogram *histogram, uint64_t value_ns);
/* The same value `count` times, at least once. */
void histogram_record_many(struct histogram *histogram, uint64_t value_ns, uint64_t count);
void histogram_merge(struct histogram *into, const struct histogram *from);
/* pct in 0…100; clamped to exact min and max; 0 while empty. Nanoseconds. */
double histogram_percentile_ns(const struct histogram *histogram, double pct);
double histogram_mean_ns(const struct histogram *histogram);
/* Compact blob (varints of gaps and counts) and back. decode returns false on malformed bytes. */
void histogram_encode(const struct histogram *histogram, struct text *out);
bool histogram_decode(struct histogram *histogram, struct bytes blob) MUST_USE;

#endif
