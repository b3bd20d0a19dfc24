/*
 * Statements are written with `?` for their parameters; PostgreSQL numbers them.
 */
#ifndef BACKENDS_POSTGRESQL_PLACEHOLDER_H
#define BACKENDS_POSTGRESQL_PLACEHOLDER_H

#include "sweeper/base/text.h"

/* Writes `sql` with each `?` outside of quotes and comments as $1, $2, ...; `??` becomes one `?`
 * (an operator of jsonb). Returns how many parameters it found. */
size_t placeholder_number(const char *sql, struct text *out);

#endif
