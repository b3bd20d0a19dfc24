/*
 * PostgreSQL 12 and later: postgresql.conf is edited in place, the server is asked what it made of
 * it through pg_settings, and sessions are libpq's non-blocking calls.
 */
#ifndef BACKENDS_POSTGRESQL_POSTGRESQL_H
#define BACKENDS_POSTGRESQL_POSTGRESQL_H

#include "backends/backend.h"

extern const struct backend postgresql_backend;
extern const struct session_driver postgresql_session;

#endif
