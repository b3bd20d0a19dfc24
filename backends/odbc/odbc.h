/*
 * SQL sessions through the ODBC driver manager (unixODBC), for systems without a client library
 * here. No backend: the sweep file's target.session, or `load --session odbc`, puts one in the
 * place of the backend's own. The driver is found by the connect string: "Driver=...;Server=...",
 * or "DSN=...".
 */
#ifndef BACKENDS_ODBC_ODBC_H
#define BACKENDS_ODBC_ODBC_H

#include "backends/session.h"

/* The session that speaks this dialect. */
const struct session_driver *odbc_session(enum dialect dialect);

#endif
