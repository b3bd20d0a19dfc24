/*
 * A drive's result as rows of the store.
 */
#ifndef SWEEPER_LOAD_ROWS_H
#define SWEEPER_LOAD_ROWS_H

#include "store/store.h"
#include "sweeper/load/load.h"

/* Metrics, per-transaction and per-statement rows, series and errors; counters and sizes are left
 * to the caller. In the arena. */
bool load_rows(const struct load_result *result, struct arena *arena, struct store_result *out,
               struct err *err) MUST_USE;

#endif
