/*
 * The measurement of a backend that measures by itself, as a drive's result.
 */
#ifndef SWEEPER_TRIAL_SELF_H
#define SWEEPER_TRIAL_SELF_H

#include "sweeper/trial.h"

/* Fills trial->result; the reason of a failure goes to trial->err. */
bool trial_self_measure(struct trial *trial, const struct load_progress *progress) MUST_USE;

#endif
