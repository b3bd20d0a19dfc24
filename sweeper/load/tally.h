/*
 * What a loop thread counts, with no lock on the way: histograms per transaction and statement,
 * error counts, and the second under way. Folded together once a second and at the end.
 */
#ifndef SWEEPER_LOAD_TALLY_H
#define SWEEPER_LOAD_TALLY_H

#include <pthread.h>

#include "sweeper/load/workload.h"

#define TALLY_ERROR_ROWS 64
#define TALLY_RING 16

enum tally_extra { TALLY_BEGIN, TALLY_COMMIT, TALLY_ROLLBACK, TALLY_EXTRAS };

struct tally {
    size_t transaction_count;
    size_t statement_count;
    struct histogram *transactions; /* [transaction_count] */
    uint64_t *transaction_errors;
    uint64_t *retries;
    struct histogram *statements; /* [statement_count + TALLY_EXTRAS] */
    uint64_t *statement_errors;
    struct histogram second; /* completions of the second under way */
    uint64_t second_errors;
    int64_t second_index; /* since go; -1 before the first */
};

bool tally_open(struct tally *tally, size_t transaction_count, size_t statement_count,
                struct arena *arena, struct err *err) MUST_USE;
void tally_merge(struct tally *into, const struct tally *from);

/* Seconds of all loops. */
struct tally_seconds {
    pthread_mutex_t mutex;
    struct histogram ring[TALLY_RING];
    uint64_t ring_errors[TALLY_RING];
    int64_t reported; /* seconds before this one are out */
};
void tally_seconds_open(struct tally_seconds *seconds);
void tally_seconds_close(struct tally_seconds *seconds);
/* Hands the tally's second over when `index` is another one. */
void tally_publish(struct tally *tally, struct tally_seconds *seconds, int64_t index);
/* Takes second `index` out of the ring. */
void tally_take(struct tally_seconds *seconds, int64_t index, struct load_second *out);

/* Errors by transaction and code, over all loops. */
struct tally_errors {
    pthread_mutex_t mutex;
    struct load_error_row rows[TALLY_ERROR_ROWS];
    char codes[TALLY_ERROR_ROWS][24];
    char texts[TALLY_ERROR_ROWS][256];
    size_t count;
};
void tally_error(struct tally_errors *errors, const char *transaction, const struct err *err);

#endif
