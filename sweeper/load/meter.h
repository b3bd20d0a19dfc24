/*
 * What a loop thread counts, with no lock on the way: histograms per transaction and statement,
 * error counts, and the second under way. Folded together once a second and at the end.
 */
#ifndef SWEEPER_LOAD_METER_H
#define SWEEPER_LOAD_METER_H

#include <pthread.h>
#include <stdatomic.h>

#include "sweeper/load/workload.h"

#define METER_ERROR_ROWS 64
#define METER_RING 16

struct meter {
    size_t transaction_count;
    size_t row_count;
    struct histogram *transactions; /* [transaction_count] */
    struct histogram *services;     /* likewise, from the start as it was; NULL: the same */
    uint64_t *transaction_errors;
    uint64_t *retries;
    struct histogram *statements; /* [row_count] */
    uint64_t *statement_errors;
    struct histogram second; /* completions of the second under way */
    uint64_t second_errors;
    int64_t second_index; /* since the drive's origin; -1 before the first */
};

bool meter_open(struct meter *meter, size_t transaction_count, size_t row_count, bool has_services,
                struct arena *arena, struct err *err) MUST_USE;
void meter_merge(struct meter *into, const struct meter *from);

/* Seconds of all loops. */
struct meter_seconds {
    pthread_mutex_t mutex;
    struct histogram ring[METER_RING];
    uint64_t ring_errors[METER_RING];
    int64_t reported; /* seconds before this one are out */
};
void meter_seconds_open(struct meter_seconds *seconds);
void meter_seconds_close(struct meter_seconds *seconds);
/* Hands the meter's second over when `index` is another one. */
void meter_publish(struct meter *meter, struct meter_seconds *seconds, int64_t index);
/* Takes second `index` out of the ring, and adds its latencies to `batch` where there is one. */
void meter_take(struct meter_seconds *seconds, int64_t index, struct histogram *batch,
                struct load_second *out);

/* Errors by transaction and code, over all loops. */
struct meter_errors {
    pthread_mutex_t mutex;
    struct load_error_row rows[METER_ERROR_ROWS];
    char codes[METER_ERROR_ROWS][24];
    char texts[METER_ERROR_ROWS][256];
    size_t count;
    char conflict[256]; /* the first failure that was tried again */
    atomic_bool has_conflict;
};
void meter_conflict(struct meter_errors *errors, const struct err *err);
void meter_error(struct meter_errors *errors, const char *transaction, const struct err *err);

#endif
