/*
 * What the session's calls and its opening share: the client library's connection, and its errors
 * as error records.
 */
#ifndef BACKENDS_MYSQL_CONNECTION_H
#define BACKENDS_MYSQL_CONNECTION_H

#include <mysql.h>

#include "backends/session.h"

/* The words of a connect string, "host=db1 port=3306 user=dba dbname=bench": blanks part them,
 * 'single quotes' hold blanks, a backslash takes the next byte as it is. NULL: not given, and
 * looked up in ~/.my.cnf ([client]) or by the library. */
struct connect_words {
    const char *host;
    const char *port;
    const char *user;
    const char *dbname;
    const char *socket;
    const char *ssl_ca;        /* asks for an encrypted connection to a server of this authority */
    const char *defaults_file; /* read instead of ~/.my.cnf; "" none at all */
    unsigned port_number;
};
/* Errors: usage for words that are not known or not finished. A password is refused: it would
 * stand in the sweep file. */
bool connect_words_parse(const char *connect, struct arena *arena, struct connect_words *out,
                         struct err *err) MUST_USE;

/* Connects within the deadline without blocking longer (but for the resolver, which the library
 * calls itself). Errors: connection, with SQLSTATE and number where the server refused, and advice;
 * timeout. */
bool my_connect(const struct session_spec *spec, int64_t deadline, MYSQL **out,
                struct err *err) MUST_USE;

/* Fills the record from the library's last error of a connection or statement: connection where
 * the connection is lost, else `code`. Returns false. */
bool my_error_of(MYSQL *mysql, enum err_code code, struct err *err);
bool my_statement_error(MYSQL_STMT *statement, enum err_code code, struct err *err);

/* Whether the number says that the connection is gone. */
bool my_error_is_lost(int number);

/* Whether opening failed for a reason that waiting cannot mend: a wrong password, user, database,
 * or connect string. */
bool my_error_is_final(const struct err *err);

/* "MariaDB Connector/C 3.3.19", as linked at run time. */
const char *my_library(void);

#endif
