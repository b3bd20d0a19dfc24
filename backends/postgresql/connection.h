/*
 * What the session's calls and its opening share: the libpq connection, and libpq's errors as
 * error records.
 */
#ifndef BACKENDS_POSTGRESQL_CONNECTION_H
#define BACKENDS_POSTGRESQL_CONNECTION_H

#include <libpq-fe.h>

#include "backends/session.h"

/* Connects within the deadline without ever blocking longer (but for the resolver, which libpq
 * calls itself). The connection comes back non-blocking. Errors: connection, with the SQLSTATE
 * where the server itself refused; timeout; sweep_file where libpq cannot use the string. */
bool connection_open(const struct session_spec *spec, int64_t deadline, PGconn **out,
                     struct err *err);

/* Whether the connection string can be read, before anything is done with it. Errors: sweep_file.
 */
bool connection_check(const char *connect, struct err *err) MUST_USE;

/* Of a refused connection: whether no waiting can mend it. */
bool connection_is_final(const struct err *err);

/* What the server says of an error, "" and NULL where it says nothing. */
struct connection_words {
    const char *message;
    const char *detail;
    const char *hint;
    const char *sqlstate;
};
/* Fills the record: the server's words, its hint or detail, and "SQLSTATE xxxxx" as the native
 * code. Returns false. */
bool connection_words_error(const struct connection_words *words, enum err_code code,
                            struct err *err);
/* The same from an error result. Returns false. */
bool connection_result_error(const PGresult *result, enum err_code code, struct err *err);
/* The same from the connection's last message. Returns false. */
bool connection_error(const PGconn *conn, struct err *err);

/* A statement that asked for COPY, which no session drives: its connection is shut. Returns false.
 */
bool connection_refuse_copy(int socket, struct err *err);

/* The five characters of a record filled here, or "" where the server gave none. */
const char *connection_sqlstate(const struct err *err);

/* "libpq 15.18", as linked at run time. */
const char *connection_library(void);

#endif
