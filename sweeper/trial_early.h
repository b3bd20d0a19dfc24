/*
 * Ending a trial early that cannot become the best (sweeper/stats/early.h): who is judged, against
 * whom, and what is recorded of a trial that was ended so. It is done like any other, with the flag
 * "killed" and its mean so far, which its truth does not exceed by much; it can never be the best.
 */
#ifndef SWEEPER_TRIAL_EARLY_H
#define SWEEPER_TRIAL_EARLY_H

#include "sweeper/run_history.h"
#include "sweeper/trial.h"

/* Whether trials of this sweep may be ended early. */
bool early_is_asked(const struct plan *plan, const struct history *history);
/* Errors, PLAN: unsupported, where `early_kill = true` can have no meaning. */
bool early_check(const struct sweep *sweep, struct err *err) MUST_USE;

/* Before a trial: judged are those that explore a point of which nothing is known yet. */
bool trial_early_arm(struct trial *trial, const struct run_history *past, struct err *err) MUST_USE;
/* A second of its window. */
void trial_early_see(struct trial *trial, const struct load_second *second);
/* Makes trial->result of a trial that is lost: from its seconds where there is no other result. */
bool trial_early_conclude(struct trial *trial, struct err *err) MUST_USE;

#endif
