/*
 * The store's trials as strategies see them, and what follows for the clock: typical durations,
 * the ETA, whether one more trial fits.
 */
#ifndef SWEEPER_RUN_HISTORY_H
#define SWEEPER_RUN_HISTORY_H

#include "sweeper/plan.h"

struct run_history {
    struct history history;
    int64_t finished_count; /* done or failed, of points in this grid */
    int64_t typical_ms;     /* median of the last ended trials; 0 none yet */
    double best_value;      /* of rank.by over done trials; NAN none */
    size_t best_point;      /* SIZE_MAX none */
};

bool run_history_load(const struct plan *plan, struct arena *arena, struct run_history *out,
                      struct err *err) MUST_USE;

#endif
