/*
 * What people and scripts read of a store beside the ranking: one trial, all trials, progress.
 * Formats: "table" (text), "csv", "json". CSV text that starts with = + - @ tab or CR is prefixed
 * with ' while numbers stay raw; all text is made printable.
 */
#ifndef STORE_VIEWS_H
#define STORE_VIEWS_H

#include "store/store.h"
#include "sweeper/base/json.h"
#include "sweeper/base/text.h"

/* Everything about one trial. The text form prints the per-statement table (name, total, min,
 * max, avg, num; seconds with six decimals), a totals row and the line of time, total
 * transactions, TPM and SPM. Errors: not_found. */
bool view_show(struct store *store, int64_t trial_id, const char *format, struct arena *arena,
               struct text *out, struct err *err) MUST_USE;
/* One row per trial of the newest sweep: ids, status, asked and effective values, metrics. */
bool view_export(struct store *store, const char *format, struct arena *arena, struct text *out,
                 struct err *err) MUST_USE;
/* Progress: trials done, failed, running (with stage), planned; ETA from recent durations; best so
 * far; last failures; whether the target may be off its baseline. */
bool view_status(struct store *store, const char *format, struct arena *arena, struct text *out,
                 struct err *err) MUST_USE;

/* Shared with `dbsweep load`, which prints a result that no store holds. Rows whose statement is
 * "" are whole transactions: totals count them, the table leaves them out. */
void view_statement_table(const struct store_statement *rows, size_t count, double elapsed_s,
                          struct text *out);
/* Puts the keys "statements", "totals", "series" and "metrics" into the object under way. */
void view_result_json(const struct store_result *result, struct json *json);

#endif
