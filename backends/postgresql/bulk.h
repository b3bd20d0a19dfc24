/*
 * A bulk load by COPY FROM STDIN.
 */
#ifndef BACKENDS_POSTGRESQL_BULK_H
#define BACKENDS_POSTGRESQL_BULK_H

#include "backends/session.h"

/* The driver's functions, as session.h has them. */
bool pg_bulk_open(struct session *session, const struct bulk_spec *spec, int64_t deadline,
                  struct bulk **out, struct err *err) MUST_USE;
bool pg_bulk_row(struct bulk *bulk, const struct param *values, struct err *err) MUST_USE;
bool pg_bulk_close(struct bulk *bulk, bool is_whole, struct err *err) MUST_USE;

/* A call (session.c): `sql` is a COPY FROM STDIN, `rows` are its data in text form, which stay
 * where they are until the call is done. */
bool pg_send_copy(struct session *session, const char *sql, struct bytes rows,
                  struct err *err) MUST_USE;

#endif
