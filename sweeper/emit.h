/*
 * The answer as lines for the server's own configuration file, with a comment that says where the
 * numbers come from.
 */
#ifndef SWEEPER_EMIT_H
#define SWEEPER_EMIT_H

#include "store/rank.h"

/* `which`: "best" or a point's number. Errors: not_found (no such point, nothing ranked). */
bool emit_point(struct store *store, const char *which, struct arena *arena, struct text *out,
                struct err *err) MUST_USE;

#endif
