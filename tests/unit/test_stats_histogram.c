/*
 * Histograms against exact sorts of the same values, sums of histograms, and blobs: there and
 * back, cut short, and written by somebody who means harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/stats/histogram.h"

enum { VALUES = 200000 };
#define HOUR_NS UINT64_C(3600000000000)

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)64 << 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

/* ---- values ---- */

static uint64_t random_state;

/* splitmix64: not the generator that the clients use. */
static uint64_t next_bits(void)
{
    random_state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = random_state;
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* (0, 1] */
static double next_unit(void)
{
    return ((double)(next_bits() >> 11) + 1) * 0x1.0p-53;
}

static double next_normal(void)
{
    return sqrt(-2 * log(next_unit())) * cos(2 * 3.14159265358979323846 * next_unit());
}

static uint64_t uniform(void)
{
    return 1000000 + (uint64_t)(99e6 * next_unit());
}

static uint64_t exponential(void)
{
    return 1000 + (uint64_t)(-5e6 * log(next_unit()));
}

static uint64_t lognormal(void)
{
    return (uint64_t)exp(14 + 2 * next_normal()) + 1000;
}

/* Hits in the cache, and one in twenty from a disk a thousand times slower. */
static uint64_t bimodal(void)
{
    double middle = next_unit() < 0.95 ? 20e3 : 20e6;
    return (uint64_t)(middle * exp(0.1 * next_normal()));
}

static uint64_t constant(void)
{
    return 123456789;
}

static uint64_t tiny(void)
{
    return next_bits() % 2000;
}

static uint64_t over_all(void)
{
    return (uint64_t)exp(log((double)HOUR_NS) * next_unit());
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* Nearest rank. */
static double exact_percentile(const uint64_t *sorted, size_t count, double pct)
{
    double rank = ceil(pct / 100 * (double)count);
    return (double)sorted[rank < 1 ? 0 : (size_t)rank - 1];
}

static void assert_near(double got, double wanted, double relative, const char *what)
{
    if (fabs(got - wanted) > relative * wanted) {
        fail_msg("%s: %.9g, wanted %.9g", what, got, wanted);
    }
}

/* ---- percentiles ---- */

static void compare_with_sort(const char *what, uint64_t (*draw)(void))
{
    static const double pcts[] = {0, 0.1, 1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100};
    static uint64_t values[VALUES];
    struct histogram histogram;
    uint64_t sum = 0;
    random_state = 42;
    histogram_clear(&histogram);
    for (size_t i = 0; i < VALUES; i++) {
        values[i] = draw();
        sum += values[i];
        histogram_record(&histogram, values[i]);
    }
    qsort(values, VALUES, sizeof values[0], compare);
    for (size_t i = 0; i < COUNT_OF(pcts); i++) {
        assert_near(histogram_percentile_ns(&histogram, pcts[i]),
                    exact_percentile(values, VALUES, pcts[i]), 0.01, what);
    }
    assert_int_equal(histogram.count, VALUES);
    assert_int_equal(histogram.sum_ns, sum);
    assert_int_equal(histogram.min_ns, values[0]);
    assert_int_equal(histogram.max_ns, values[VALUES - 1]);
    assert_near(histogram_mean_ns(&histogram), (double)sum / VALUES, 1e-12, what);
    assert_true(histogram_percentile_ns(&histogram, 100) == (double)values[VALUES - 1]);
    assert_true(histogram_percentile_ns(&histogram, 0) >= (double)values[0]);
}

static void percentiles_are_within_a_percent(void **state)
{
    (void)state;
    compare_with_sort("uniform", uniform);
    compare_with_sort("exponential", exponential);
    compare_with_sort("lognormal", lognormal);
    compare_with_sort("bimodal", bimodal);
    compare_with_sort("constant", constant);
    compare_with_sort("tiny", tiny);
    compare_with_sort("over all", over_all);
}

/* One percent holds for every single value, not only on average. */
static void each_value_is_within_a_percent(void **state)
{
    (void)state;
    struct histogram histogram;
    histogram_clear(&histogram);
    for (uint64_t value = 1; value <= HOUR_NS; value += value / 97 + 1) {
        memset(histogram.buckets, 0, sizeof histogram.buckets);
        histogram.count = 0;
        histogram_record(&histogram, value);
        histogram_record(&histogram, value);
        histogram.min_ns = 0; /* so that the bucket's own middle is what comes back */
        histogram.max_ns = UINT64_MAX - 1;
        assert_near(histogram_percentile_ns(&histogram, 1), (double)value, 0.01, "one value");
    }
}

static void nothing_recorded_is_zero(void **state)
{
    (void)state;
    struct histogram histogram;
    histogram_clear(&histogram);
    assert_int_equal(histogram.count, 0);
    assert_true(histogram.min_ns == UINT64_MAX);
    assert_true(histogram_percentile_ns(&histogram, 50) == 0);
    assert_true(histogram_percentile_ns(&histogram, 100) == 0);
    assert_true(histogram_mean_ns(&histogram) == 0);
}

/* Users of another driver were given percentiles above the maximum (sysbench issue 486). */
static void percentiles_stay_within_what_was_recorded(void **state)
{
    (void)state;
    struct histogram histogram;
    random_state = 7;
    for (int i = 0; i < 2000; i++) {
        histogram_clear(&histogram);
        size_t count = 1 + next_bits() % 5;
        for (size_t j = 0; j < count; j++) {
            histogram_record(&histogram, over_all());
        }
        double last = 0;
        for (double pct = 0; pct <= 100; pct += 2.5) {
            double value = histogram_percentile_ns(&histogram, pct);
            assert_true(value >= (double)histogram.min_ns && value <= (double)histogram.max_ns);
            assert_true(value >= last);
            last = value;
        }
    }
}

static void longer_than_an_hour_is_still_counted(void **state)
{
    (void)state;
    struct histogram histogram;
    histogram_clear(&histogram);
    histogram_record(&histogram, 5 * HOUR_NS);
    histogram_record(&histogram, UINT64_MAX / 4);
    histogram_record(&histogram, 1000);
    assert_int_equal(histogram.count, 3);
    assert_int_equal(histogram.max_ns, UINT64_MAX / 4);
    assert_true(histogram_percentile_ns(&histogram, 100) == (double)(UINT64_MAX / 4));
    assert_true(histogram_percentile_ns(&histogram, 34) > (double)HOUR_NS);
}

/* ---- merging ---- */

static void assert_same(const struct histogram *left, const struct histogram *right)
{
    assert_int_equal(left->count, right->count);
    assert_int_equal(left->sum_ns, right->sum_ns);
    assert_true(left->min_ns == right->min_ns);
    assert_true(left->max_ns == right->max_ns);
    assert_memory_equal(left->buckets, right->buckets, sizeof left->buckets);
}

static void merging_is_recording_all_in_one(void **state)
{
    (void)state;
    static struct histogram parts[4];
    struct histogram whole;
    struct histogram merged;
    random_state = 11;
    histogram_clear(&whole);
    histogram_clear(&merged);
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        histogram_clear(&parts[i]);
    }
    for (size_t i = 0; i < VALUES; i++) {
        uint64_t value = lognormal();
        histogram_record(&whole, value);
        histogram_record(&parts[i % 3], value); /* the last stays empty */
    }
    histogram_merge(&merged, &parts[3]);
    assert_true(merged.min_ns == UINT64_MAX);
    for (size_t i = COUNT_OF(parts); i-- > 0;) {
        histogram_merge(&merged, &parts[i]);
    }
    assert_same(&merged, &whole);
    histogram_merge(&merged, &parts[3]);
    assert_same(&merged, &whole);
}

/* ---- blobs ---- */

static struct bytes encoded(const struct histogram *histogram)
{
    struct text text;
    text_open(&text, &arena);
    histogram_encode(histogram, &text);
    assert_non_null(text_done(&text));
    return (struct bytes){.data = text.data, .size = text.size};
}

static void make(struct histogram *histogram, uint64_t (*draw)(void), size_t count)
{
    random_state = 5;
    histogram_clear(histogram);
    for (size_t i = 0; i < count; i++) {
        histogram_record(histogram, draw());
    }
}

static void assert_comes_back(const struct histogram *histogram)
{
    struct histogram back;
    memset(&back, 0x55, sizeof back);
    assert_true(histogram_decode(&back, encoded(histogram)));
    assert_same(&back, histogram);
}

static void blobs_come_back(void **state)
{
    (void)state;
    uint64_t (*const draws[])(void) = {uniform,  exponential, lognormal, bimodal,
                                       constant, tiny,        over_all};
    struct histogram histogram;
    histogram_clear(&histogram);
    assert_comes_back(&histogram);
    for (size_t i = 0; i < COUNT_OF(draws); i++) {
        make(&histogram, draws[i], 1);
        assert_comes_back(&histogram);
        make(&histogram, draws[i], 20000);
        assert_comes_back(&histogram);
    }
    histogram_record(&histogram, 0);
    histogram_record(&histogram, UINT64_MAX / 8);
    assert_comes_back(&histogram);
    make(&histogram, constant, 100000);
    assert_true(encoded(&histogram).size < 32); /* compact: one bucket costs a few bytes */
}

/* Bytes in memory of exactly their size, so that the sanitizer sees one read too many. */
static bool decodes(const void *data, size_t size)
{
    struct histogram histogram;
    char *copy = malloc(size + (size == 0));
    assert_non_null(copy);
    memcpy(copy, data, size);
    bool ok = histogram_decode(&histogram, (struct bytes){.data = copy, .size = size});
    free(copy);
    return ok;
}

static void cut_blobs_are_refused(void **state)
{
    (void)state;
    struct histogram histogram;
    make(&histogram, lognormal, 3000);
    struct bytes blob = encoded(&histogram);
    for (size_t size = 0; size < blob.size; size++) {
        assert_false(decodes(blob.data, size));
    }
    assert_true(decodes(blob.data, blob.size));
    char *longer = arena_alloc(&arena, blob.size + 2);
    assert_non_null(longer);
    memcpy(longer, blob.data, blob.size);
    longer[blob.size] = 1;
    longer[blob.size + 1] = 1;
    assert_false(decodes(longer, blob.size + 1));
    assert_false(decodes(longer, blob.size + 2));
}

/* count, sum, min, max, then gap and count of each bucket in use. */
#define REFUSED(...)                                                                               \
    assert_false(decodes((const unsigned char[]){__VA_ARGS__},                                     \
                         sizeof((const unsigned char[]){__VA_ARGS__})))
#define TAKEN(...)                                                                                 \
    assert_true(decodes((const unsigned char[]){__VA_ARGS__},                                      \
                        sizeof((const unsigned char[]){__VA_ARGS__})))
#define MOST_32 0xff, 0xff, 0xff, 0xff, 0x0f

static void forged_blobs_are_refused(void **state)
{
    (void)state;
    TAKEN(0, 0, 0, 0);
    TAKEN(2, 12, 5, 7, 5, 1, 2, 1);
    REFUSED(3, 12, 5, 7, 5, 1, 2, 1);   /* more than its buckets hold */
    REFUSED(1, 12, 5, 7, 5, 1, 2, 1);   /* fewer */
    REFUSED(2, 12, 5, 7, 5, 2, 2, 0);   /* a bucket of none */
    REFUSED(2, 12, 5, 7, 5, 1, 0, 1);   /* one bucket twice */
    REFUSED(1, 5, 5, 5, 0x80, 0x13, 1); /* behind the last bucket */
    REFUSED(1, 5, 5, 5, 5, 0x80);       /* a number that does not end */
    REFUSED(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 0); /* 71 bits */
    REFUSED(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0);       /* 65 bits */
    REFUSED(0x80, 0x80, 0x80, 0x80, 0x10, 5, 5, 5, 5, 0x80, 0x80, 0x80, 0x80, 0x10); /* 2^32 */
    /* Twice 2^32 - 1 into one bucket, which would wrap. */
    REFUSED(0xfe, 0xff, 0xff, 0xff, 0x1f, 5, 5, 5, 5, MOST_32, 0, MOST_32);
}

/* What comes from another machine must not give a percentile that nothing bounds. */
static void contradictions_are_refused(void **state)
{
    (void)state;
    REFUSED(2, 12, 7, 5, 5, 1, 2, 1);  /* least above most */
    REFUSED(2, 12, 4, 7, 5, 1, 2, 1);  /* the least is in no bucket */
    REFUSED(2, 12, 5, 90, 5, 1, 2, 1); /* the most is in no bucket */
    REFUSED(2, 99, 5, 7, 5, 1, 2, 1);  /* a mean above the most */
    REFUSED(2, 1, 5, 7, 5, 1, 2, 1);   /* below the least */
    REFUSED(0, 1, 0, 0);
    REFUSED(0, 0, 0, 9);
}

static void damaged_blobs_do_no_harm(void **state)
{
    (void)state;
    struct histogram histogram;
    make(&histogram, bimodal, 5000);
    struct bytes blob = encoded(&histogram);
    unsigned char *copy = arena_alloc(&arena, blob.size);
    assert_non_null(copy);
    random_state = 99;
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, blob.data, blob.size);
        for (uint64_t hits = 1 + next_bits() % 4; hits > 0; hits--) {
            copy[next_bits() % blob.size] = (unsigned char)next_bits();
        }
        (void)decodes(copy, next_bits() % 3 == 0 ? next_bits() % blob.size : blob.size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_within_a_percent),
        cmocka_unit_test(each_value_is_within_a_percent),
        cmocka_unit_test(nothing_recorded_is_zero),
        cmocka_unit_test(percentiles_stay_within_what_was_recorded),
        cmocka_unit_test(longer_than_an_hour_is_still_counted),
        cmocka_unit_test(merging_is_recording_all_in_one),
        cmocka_unit_test(blobs_come_back),
        cmocka_unit_test(cut_blobs_are_refused),
        cmocka_unit_test(forged_blobs_are_refused),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(damaged_blobs_do_no_harm),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
