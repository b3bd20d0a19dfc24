/*
 * Histograms from a worker or from a store that somebody edited: refused, or the same again after
 * one more round.
 */
#include <stdlib.h>
#include <string.h>

#include "sweeper/stats/histogram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct histogram once;
    static struct histogram twice;
    struct arena arena;
    struct text text;
    arena_open(&arena, 1u << 20);
    histogram_clear(&once);
    if (histogram_decode(&once, (struct bytes){.data = (const char *)data, .size = size})) {
        text_open(&text, &arena);
        histogram_encode(&once, &text);
        histogram_clear(&twice);
        if (text_done(&text) == NULL ||
            !histogram_decode(&twice, (struct bytes){.data = text.data, .size = text.size}) ||
            memcmp(once.buckets, twice.buckets, sizeof(once.buckets)) != 0 ||
            once.count != twice.count || once.sum_ns != twice.sum_ns)
            abort();
        (void)histogram_percentile_ns(&once, 99.0);
        (void)histogram_mean_ns(&once);
    }
    arena_close(&arena);
    return 0;
}
