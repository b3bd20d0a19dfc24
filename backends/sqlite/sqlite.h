/*
 * SQLite: an embedded database file. Knobs are pragmas; some live in the file, the others in each
 * connection.
 */
#ifndef BACKENDS_SQLITE_SQLITE_H
#define BACKENDS_SQLITE_SQLITE_H

#include "backends/backend.h"

extern const struct backend sqlite_backend;
extern const struct session_driver sqlite_session;

#endif
