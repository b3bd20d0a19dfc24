/*
 * Statements of the store, prepared once each and bound by position. Inside store/ only.
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "store/store.h"

enum sql_id {
#define STATEMENT(name, text) SQL_##name,
#include "store/statements.def"
#undef STATEMENT
    SQL_COUNT
};

struct store {
    sqlite3 *database;
    char *path;
    enum store_mode mode;
    int lock;     /* -1: a reader */
    dev_t device; /* of the file as opened: a replaced file is noticed */
    ino_t inode;
    sqlite3_stmt *statements[SQL_COUNT];
};

const char *sql_text_of(enum sql_id id);

/* A statement ready for binding; NULL: err says why. */
sqlite3_stmt *sql_use(struct store *store, enum sql_id id, struct err *err) MUST_USE;
/* Binds; NULL text and NAN reals become null. Positions count from 1. */
void sql_text(sqlite3_stmt *statement, int at, const char *text);
void sql_int(sqlite3_stmt *statement, int at, int64_t value);
void sql_real(sqlite3_stmt *statement, int at, double value);
void sql_blob(sqlite3_stmt *statement, int at, struct bytes value);
/* Runs a statement without rows. */
bool sql_run(struct store *store, sqlite3_stmt *statement, struct err *err) MUST_USE;
/* Steps to the next row; *out_has_row false at the end, where the statement is reset. */
bool sql_next(struct store *store, sqlite3_stmt *statement, bool *out_has_row,
              struct err *err) MUST_USE;
/* Columns of the row, copied; "" for null. */
const char *sql_column_text(sqlite3_stmt *statement, int at, struct arena *arena);
double sql_column_real(sqlite3_stmt *statement, int at); /* NAN for null */

/* A transaction; sql_end commits when ok and rolls back otherwise, keeping err as it is. */
bool sql_begin(struct store *store, struct err *err) MUST_USE;
bool sql_end(struct store *store, bool ok, struct err *err) MUST_USE;

/* Fills err from the database's state. Returns false. */
bool sql_err(struct store *store, const char *what, struct err *err);

#endif
