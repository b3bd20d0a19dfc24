/*
 * A sweep's trials as the source of a replay.
 */
#ifndef STORE_REPLAY_H
#define STORE_REPLAY_H

#include "store/store.h"

/* The name of the column that says how a trial failed. */
extern const char store_replay_failure[];

/* The trials of a sweep as lines of CSV, those of the baseline first: a column for each knob (as
 * the server had it) and each swept setting of the workload, one for the metric, and
 * store_replay_failure: "start" or "measure" where the trial failed. Errors: not_found where no
 * trial of it measured the metric. */
bool store_replay(struct store *store, int64_t sweep_id, const char *metric, struct arena *arena,
                  struct bytes *out, struct err *err) MUST_USE;

#endif
