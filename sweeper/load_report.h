/*
 * A drive's result for people and for scripts, as `dbsweep load` prints it.
 */
#ifndef SWEEPER_LOAD_REPORT_H
#define SWEEPER_LOAD_REPORT_H

#include "sweeper/load/load.h"

/* format: "table" | "json". */
bool load_report(const struct load_result *result, const char *format, struct arena *arena,
                 struct text *out, struct err *err) MUST_USE;

#endif
