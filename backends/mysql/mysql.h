/*
 * MySQL and MariaDB: an option file is edited in place, the server is asked what it made of it
 * through information_schema.SYSTEM_VARIABLES or performance_schema.variables_info, and sessions
 * are the non-blocking calls of MariaDB Connector/C.
 */
#ifndef BACKENDS_MYSQL_MYSQL_H
#define BACKENDS_MYSQL_MYSQL_H

#include "backends/backend.h"

extern const struct backend mysql_backend;
extern const struct session_driver mysql_session;

#endif
