/*
 * Seconds that become fewer as they become many.
 */
#include "sweeper/load/series.h"

bool second_series_open(struct second_series *series, int64_t second_count, struct arena *arena,
                        struct err *err)
{
    size_t limit = second_count < SERIES_POINTS ? (size_t)second_count : SERIES_POINTS;
    limit += limit % 2;
    *series = (struct second_series){
        .points = ARENA_ARRAY(arena, struct load_second, limit), .limit = limit, .interval_s = 1};
    return series->points != NULL || err_memory(err);
}

/* `weight` and `other` are how many seconds each stands for. */
static void merge(struct load_second *into, uint32_t weight, const struct load_second *from,
                  uint32_t other)
{
    double all = into->throughput_per_s * weight + from->throughput_per_s * other;
    into->mean_ms = all > 0 ? (into->mean_ms * into->throughput_per_s * weight +
                               from->mean_ms * from->throughput_per_s * other) /
                                  all
                            : 0;
    into->throughput_per_s =
        (into->throughput_per_s * weight + from->throughput_per_s * other) / (weight + other);
    into->p99_ms = from->p99_ms > into->p99_ms ? from->p99_ms : into->p99_ms;
    into->error_count += from->error_count;
}

/* All points are complete when the series is full, and there are as many as pairs need. */
static void halve(struct second_series *series)
{
    series->count /= 2;
    for (size_t i = 0; i < series->count; i++) {
        struct load_second *point = &series->points[i];
        *point = series->points[2 * i];
        point->index = (uint32_t)i;
        merge(point, 1, &series->points[2 * i + 1], 1);
    }
    series->interval_s *= 2;
    series->last_s = series->interval_s;
}

void second_series_add(struct second_series *series, const struct load_second *second)
{
    if (series->count > 0 && series->last_s < series->interval_s) {
        merge(&series->points[series->count - 1], series->last_s++, second, 1);
        return;
    }
    if (series->count == series->limit) {
        halve(series);
    }
    struct load_second *point = &series->points[series->count];
    *point = *second;
    point->index = (uint32_t)series->count++;
    series->last_s = 1;
}
