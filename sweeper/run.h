/*
 * The run loop: grid -> points -> apply -> restart -> verify -> warm-up -> measure -> record.
 */
#ifndef SWEEPER_RUN_H
#define SWEEPER_RUN_H

#include "sweeper/base/err.h"

struct run_options {
    const char *sweep_file;
    bool fresh;
    const char *until;   /* "HH:MM" local time; NULL none */
    int64_t budget_ms;   /* of this call; 0 none */
    int64_t trial_limit; /* of this call; 0 none */
    /* Above 0: only the baseline, so often in each condition, each run with a restart of its own.
     */
    int64_t baseline_runs;
};

/* Measures what is undone and always restores. True: it ended as planned (*out_failed trials
 * failed); false: err says why, its class gives the exit status, and the baseline is back unless
 * the error is restore_failed. */
bool sweep_run(const struct run_options *options, int64_t *out_failed, struct err *err) MUST_USE;

#endif
