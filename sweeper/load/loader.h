/*
 * Loading in pieces: what the loaders of all workloads share. A stage (rows, indexes, statistics)
 * is a number of pieces that do not depend on each other; several sessions take one after the
 * other, in order. What a piece holds follows from the seed and its number alone, so that the data
 * are the same whoever loads them, and a load that was cut off goes on with the pieces that are
 * missing.
 */
#ifndef SWEEPER_LOAD_LOADER_H
#define SWEEPER_LOAD_LOADER_H

#include "sweeper/load/workload.h"

/* What all stages of a load share. */
struct loader {
    const struct load_job *job;
    const void *plan; /* the workload's own */
    const char *what; /* "tpcc, 2 warehouses" */
    int64_t deadline;
    void (*note)(void *, const char *); /* NULL: nobody listens */
    void *context;
};

struct loader_stage {
    const char *doing; /* "loading" */
    size_t count;
    const bool *done; /* pieces that are there already; NULL: none */
    bool (*run)(const void *plan, size_t piece, struct session *session, int64_t deadline,
                struct err *err);
};

/* Runs a stage's pieces on `session` and, where it has a socket, on as many further ones as the
 * workload's threads say (0: one per CPU, at most 8 in all). After each piece a note says how far
 * it is, in per cent, and about how long it will still take. Ends with the first error. */
bool loader_run(const struct loader *loader, const struct loader_stage *stage,
                struct session *session, struct err *err) MUST_USE;

/* A piece of rows and the note of it in dbsweep_meta, "oltp part 7", are there together or not at
 * all: its rows stand between these two. */
bool loader_begin(struct session *session, int64_t deadline, struct err *err) MUST_USE;
bool loader_commit(struct session *session, const char *prefix, size_t piece, int64_t deadline,
                   struct err *err) MUST_USE;
/* Sets done[piece] for each piece below `count` that has a note of this prefix. The notes go with
 * mark_forget. */
bool loader_find_done(struct session *session, const char *prefix, int64_t deadline, bool *done,
                      size_t count, struct err *err) MUST_USE;

#endif
