/*
 * Log-linear histogram: values below 128 ns each have a bucket, above that every power of two is
 * split into 64, so that a bucket is at most 1/64 of its value wide and its middle at most 0.8 %
 * off. The largest power kept is 2^42 ns, 73 minutes.
 */
#include "sweeper/stats/histogram.h"

#include <math.h>
#include <string.h>

enum { SUB_COUNT = 1 << HISTOGRAM_SUB_BITS, TOP_BUCKET = HISTOGRAM_BUCKETS - 1, VARINT_BYTES = 10 };

void histogram_clear(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
    histogram->min_ns = UINT64_MAX;
}

static size_t bucket_of(uint64_t value_ns)
{
    if (value_ns < 2 * SUB_COUNT) {
        return (size_t)value_ns;
    }
    unsigned shift = 63u - (unsigned)__builtin_clzll(value_ns) - HISTOGRAM_SUB_BITS;
    size_t bucket = (size_t)shift * SUB_COUNT + (size_t)(value_ns >> shift);
    return bucket < TOP_BUCKET ? bucket : TOP_BUCKET;
}

/* The middle of what falls into the bucket. */
static double bucket_middle(size_t bucket)
{
    if (bucket < 2 * SUB_COUNT) {
        return (double)bucket;
    }
    unsigned shift = (unsigned)(bucket / SUB_COUNT) - 1;
    uint64_t low = (uint64_t)(bucket - (size_t)shift * SUB_COUNT) << shift;
    return (double)low + (double)((UINT64_C(1) << shift) - 1) / 2;
}

void histogram_record(struct histogram *histogram, uint64_t value_ns)
{
    histogram_record_many(histogram, value_ns, 1);
}

void histogram_record_many(struct histogram *histogram, uint64_t value_ns, uint64_t count)
{
    histogram->count += count;
    histogram->sum_ns += value_ns * count;
    if (value_ns < histogram->min_ns) {
        histogram->min_ns = value_ns;
    }
    if (value_ns > histogram->max_ns) {
        histogram->max_ns = value_ns;
    }
    histogram->buckets[bucket_of(value_ns)] += (uint32_t)count;
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
    if (from->count == 0) {
        return;
    }
    into->count += from->count;
    into->sum_ns += from->sum_ns;
    into->min_ns = from->min_ns < into->min_ns ? from->min_ns : into->min_ns;
    into->max_ns = from->max_ns > into->max_ns ? from->max_ns : into->max_ns;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        into->buckets[i] += from->buckets[i];
    }
}

/* Nearest rank: the smallest value with at least pct percent of all at or below it. */
double histogram_percentile_ns(const struct histogram *histogram, double pct)
{
    if (histogram->count == 0) {
        return 0;
    }
    double exact = ceil(pct / 100 * (double)histogram->count);
    uint64_t rank = exact < 1 ? 1 : (uint64_t)exact;
    uint64_t seen = 0;
    if (rank >= histogram->count) {
        return (double)histogram->max_ns;
    }
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += histogram->buckets[i];
        if (seen >= rank) {
            double value = bucket_middle(i);
            value = value < (double)histogram->min_ns ? (double)histogram->min_ns : value;
            return value > (double)histogram->max_ns ? (double)histogram->max_ns : value;
        }
    }
    return (double)histogram->max_ns;
}

double histogram_mean_ns(const struct histogram *histogram)
{
    return histogram->count == 0 ? 0 : (double)histogram->sum_ns / (double)histogram->count;
}

/* ---- blob ---- */

static void put_varint(struct text *out, uint64_t value)
{
    while (value >= 0x80) {
        text_add_char(out, (char)(unsigned char)(value | 0x80));
        value >>= 7;
    }
    text_add_char(out, (char)(unsigned char)value);
}

static bool get_varint(struct bytes blob, size_t *at, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < VARINT_BYTES && *at < blob.size; i++) {
        unsigned char byte = (unsigned char)blob.data[(*at)++];
        *out |= (uint64_t)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0) {
            return i < VARINT_BYTES - 1 || byte <= 1;
        }
    }
    return false;
}

void histogram_encode(const struct histogram *histogram, struct text *out)
{
    size_t last = 0;
    put_varint(out, histogram->count);
    put_varint(out, histogram->sum_ns);
    put_varint(out, histogram->count > 0 ? histogram->min_ns : 0);
    put_varint(out, histogram->max_ns);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (histogram->buckets[i] > 0) {
            put_varint(out, i - last);
            put_varint(out, histogram->buckets[i]);
            last = i;
        }
    }
}

/* What cannot have been recorded is not believed: a percentile is clamped to min and max, so these
 * must lie in the first and the last bucket in use. */
static bool is_coherent(const struct histogram *histogram, size_t first, size_t last)
{
    double slack = 1e-9 * (double)histogram->max_ns;
    double mean = histogram_mean_ns(histogram);
    if (histogram->count == 0) {
        return histogram->sum_ns == 0 && histogram->min_ns == 0 && histogram->max_ns == 0;
    }
    return histogram->min_ns <= histogram->max_ns && histogram->max_ns < UINT64_MAX &&
           bucket_of(histogram->min_ns) == first && bucket_of(histogram->max_ns) == last &&
           mean >= (double)histogram->min_ns - slack && mean <= (double)histogram->max_ns + slack;
}

bool histogram_decode(struct histogram *histogram, struct bytes blob)
{
    size_t at = 0;
    size_t first = 0;
    size_t bucket = 0;
    uint64_t total = 0;
    histogram_clear(histogram);
    if (!get_varint(blob, &at, &histogram->count) || !get_varint(blob, &at, &histogram->sum_ns) ||
        !get_varint(blob, &at, &histogram->min_ns) || !get_varint(blob, &at, &histogram->max_ns)) {
        return false;
    }
    while (at < blob.size) {
        uint64_t gap = 0;
        uint64_t count = 0;
        if (!get_varint(blob, &at, &gap) || !get_varint(blob, &at, &count) ||
            gap >= HISTOGRAM_BUCKETS - bucket || (gap == 0 && total > 0) || count > UINT32_MAX ||
            count == 0) {
            return false;
        }
        bucket += (size_t)gap;
        first = total == 0 ? bucket : first;
        histogram->buckets[bucket] = (uint32_t)count;
        total += count;
    }
    if (total != histogram->count || !is_coherent(histogram, first, bucket)) {
        return false;
    }
    if (histogram->count == 0) {
        histogram->min_ns = UINT64_MAX;
    }
    return true;
}
