/*
 * One call and its answer, spoken by hand on a connection that libpq has opened: what the measured
 * loop does a hundred thousand times a second. Unlike libpq it asks for no description of the
 * rows, whose shape nobody reads, makes no result objects and keeps no copies: the server and the
 * client both do less, and what is left is one send and one receive.
 *
 * Only for connections in the clear (exchange_suits). libpq must have no call under way, and none
 * may begin before exchange_settle. Source: PostgreSQL 15, Frontend/Backend Protocol, "Message
 * Formats" (53.7); version 3 of the protocol, 7.4 and later.
 */
#ifndef BACKENDS_POSTGRESQL_EXCHANGE_H
#define BACKENDS_POSTGRESQL_EXCHANGE_H

#include <libpq-fe.h>

#include "backends/session.h"

struct exchange {
    int socket;
    struct arena out_arena;
    char *out; /* what is sent */
    size_t out_size;
    size_t out_sent;
    size_t out_capacity;
    struct arena in_arena;
    char *in; /* all that came since the call began; rows are read from here */
    size_t in_size;
    size_t in_at; /* whole messages end here */
    size_t in_capacity;
    bool is_over; /* the server waits for the next call */
    bool has_failed;
    size_t failure_at; /* the first error's fields, in `in` */
    size_t failure_size;
    int64_t affected;
};

/* Whether the connection can be spoken on by hand: not encrypted, and of the protocol's version. */
bool exchange_suits(PGconn *conn);
void exchange_open(struct exchange *exchange, int socket);
void exchange_close(struct exchange *exchange);

/* Begins a call of the prepared statement of that name; values as session.h says, integers and
 * reals as binary int8 and float8, rows come as text. Errors: connection, memory. */
bool exchange_send(struct exchange *exchange, const char *statement, const struct param *params,
                   size_t param_count, struct err *err) MUST_USE;
/* Begins a call of one statement that gives no rows and takes no values ("begin"). */
bool exchange_send_text(struct exchange *exchange, const char *sql, struct err *err) MUST_USE;
/* True when all of the call is sent. */
bool exchange_is_sent(const struct exchange *exchange);
/* As session_driver.pump. Errors: statement, with the SQLSTATE; connection where it is lost. */
enum session_state exchange_pump(struct exchange *exchange, struct err *err);
/* Of the finished call. */
bool exchange_rows(const struct exchange *exchange, row_visitor visit, void *context,
                   struct err *err) MUST_USE;

/* Before libpq speaks again: nothing half read is left. Errors: connection. */
bool exchange_settle(struct exchange *exchange, struct err *err) MUST_USE;

#endif
