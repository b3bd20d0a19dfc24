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

/* The store is more than one file: losing any of them under a writer loses what it commits. */
enum { FILE_MAIN, FILE_WAL, FILE_SHM, FILE_LOCK, FILE_COUNT };

struct store {
    sqlite3 *database;
    char *path; /* as given: for messages */
    char *file; /* absolute, links followed */
    enum store_mode mode;
    int lock; /* -1: a reader */
    struct {
        dev_t device;
        ino_t inode;
    } files[FILE_COUNT]; /* as opened for writing: a removed or replaced file is noticed */
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
/* As sql_run, of a statement that changes one row, which is called `what` `id` where it is gone. */
bool sql_run_one(struct store *store, sqlite3_stmt *statement, const char *what, int64_t id,
                 struct err *err) MUST_USE;
/* Steps to the next row; *out_has_row false at the end, where the statement is reset. */
bool sql_next(struct store *store, sqlite3_stmt *statement, bool *out_has_row,
              struct err *err) MUST_USE;
/* Gives each row of a statement that is bound to one number to `take`, until there is none or it
 * fails; leaves the statement reset in any case. */
bool sql_each(struct store *store, enum sql_id id, int64_t number,
              bool (*take)(sqlite3_stmt *row, void *context, struct err *err), void *context,
              struct err *err) MUST_USE;
/* Columns of the row, copied; "" for null. */
const char *sql_column_text(sqlite3_stmt *statement, int at, struct arena *arena);
double sql_column_real(sqlite3_stmt *statement, int at); /* NAN for null */

/* Keeps which files the writer has open. */
bool sql_know_files(struct store *store, struct err *err) MUST_USE;
/* A transaction; sql_end commits when ok and rolls back otherwise, keeping err as it is. Both fail
 * where one of the store's files is no longer the one that was opened. */
bool sql_begin(struct store *store, struct err *err) MUST_USE;
bool sql_end(struct store *store, bool ok, struct err *err) MUST_USE;

/* Fills err from the database's state. Returns false. */
bool sql_err(struct store *store, const char *what, struct err *err);

#endif
