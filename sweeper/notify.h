/*
 * Tells the user's `notify` command of events: one JSON line on its standard input. A failing
 * command is logged and costs nothing else.
 */
#ifndef SWEEPER_NOTIFY_H
#define SWEEPER_NOTIFY_H

#include "sweeper/plan.h"

void notify_trial(const struct plan *plan, int64_t trial_id, const char *point, const char *status,
                  const struct err *why);
void notify_end(const struct plan *plan, const char *status, const struct err *why);

#endif
