/*
 * A drive's result for people and for scripts, as `dbsweep load` prints it.
 */
#ifndef SWEEPER_LOAD_REPORT_H
#define SWEEPER_LOAD_REPORT_H

#include "sweeper/base/json.h"
#include "sweeper/load/load.h"

/* format: "table" | "json". why: the result is not to be believed for this reason; NULL: it is. */
bool load_report(const struct load_result *result, const char *format, const struct err *why,
                 struct arena *arena, struct text *out, struct err *err) MUST_USE;
/* Puts the keys "status", "class" and "reason", as of a trial, into the object under way. */
void load_report_outcome(const struct err *why, struct json *json);

#endif
