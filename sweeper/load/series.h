/*
 * The seconds of a window, of which a run of days has too many to keep: when the series is full,
 * neighbours become one, and each point then stands for twice as many seconds.
 */
#ifndef SWEEPER_LOAD_SERIES_H
#define SWEEPER_LOAD_SERIES_H

#include "sweeper/load/load.h"

#define SERIES_POINTS 14400 /* four hours of seconds */

struct second_series {
    struct load_second *points; /* index counts from 0; the last one may not be complete */
    size_t count;
    size_t limit;        /* even */
    uint32_t interval_s; /* seconds that each point stands for: a power of two */
    uint32_t last_s;     /* seconds that are in the last point */
};

/* Room for `second_count` seconds, at most SERIES_POINTS of them apart. */
bool second_series_open(struct second_series *series, int64_t second_count, struct arena *arena,
                        struct err *err) MUST_USE;
/* Throughput and latency are the means of the seconds of a point, p99_ms the worst of theirs
 * (percentiles have no mean), error_count their sum. */
void second_series_add(struct second_series *series, const struct load_second *second);

#endif
