/*
 * What a session's calls need beyond the session itself: their rows, and an end from outside.
 */
#ifndef BACKENDS_MYSQL_CALL_H
#define BACKENDS_MYSQL_CALL_H

#include <mysql.h>

#include "backends/session.h"

/* ---- rows.c ---- */
/* The rows of a stored result. */
bool my_text_rows(MYSQL_RES *result, row_visitor visit, void *context, struct err *err) MUST_USE;
/* The rows of an executed statement, as text. *space is made in the arena on first use. */
struct my_row_space;
bool my_statement_rows(MYSQL_STMT *statement, struct my_row_space **space, struct arena *arena,
                       row_visitor visit, void *context, struct err *err) MUST_USE;

/* ---- bulk.c: the driver's functions, as session.h has them ---- */
bool my_bulk_open(struct session *session, const struct bulk_spec *spec, int64_t deadline,
                  struct bulk **out, struct err *err) MUST_USE;
bool my_bulk_row(struct bulk *bulk, const struct param *values, struct err *err) MUST_USE;
bool my_bulk_close(struct bulk *bulk, bool is_whole, struct err *err) MUST_USE;

/* ---- session.c, for bulk.c ---- */
MYSQL *my_connection_of(struct session *session);
/* As send_text, for a statement that may hold any byte. */
bool my_send_bytes(struct session *session, struct bytes sql, struct err *err) MUST_USE;

/* ---- kill.c ---- */
/* Has the server end a connection, by a thread and a connection of its own; never waits, and
 * nobody is told whether it worked. */
void my_kill(const char *connect, const char *password, unsigned long id);

#endif
