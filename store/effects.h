/*
 * Which axes matter: main effects, pairs and importance of every axis, condition by condition, by
 * the formulas of sweeper/stats/effects.h. Reads the store only. Takes the values that the ranking
 * takes (corrected for drift); points that failed, were pruned or were stopped early have none.
 */
#ifndef STORE_EFFECTS_H
#define STORE_EFFECTS_H

#include "store/store.h"
#include "sweeper/base/text.h"

/* Of the newest sweep. by: NULL the sweep's own metric. format: "table" | "json". Errors: not_found
 * where nothing was measured that could be compared, usage. */
bool effects_view(struct store *store, const char *by, const char *format, struct arena *arena,
                  struct text *out, struct err *err) MUST_USE;

#endif
