/*
 * Prepared statements, binding and transactions. A lost store is told apart: full disk, read-only,
 * damaged, removed or replaced are class STORE and final.
 */
#include "store/sql.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const char *const texts[] = {
#define STATEMENT(name, text) text,
#include "store/statements.def"
#undef STATEMENT
};

const char *sql_text_of(enum sql_id id)
{
    return texts[id];
}

bool sql_err(struct store *store, const char *what, struct err *err)
{
    int code = sqlite3_extended_errcode(store->database);
    err_set(err, ERR_CODE_store, "%s: %s (%s)", what, sqlite3_errmsg(store->database), store->path);
    err_native(err, code, "SQLite");
    switch (code & 0xff) {
    case SQLITE_FULL:
        return err_hint(err, "the disk of the store is full: free space, then run again");
    case SQLITE_READONLY:
        return err_hint(err, "the store is read-only: check its file system and rights");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_hint(err, "the store is damaged: take a copy, and begin with a new file");
    case SQLITE_BUSY:
        return err_hint(err, "another program holds the store");
    default:
        return false;
    }
}

sqlite3_stmt *sql_use(struct store *store, enum sql_id id, struct err *err)
{
    sqlite3_stmt **slot = &store->statements[id];
    if (*slot == NULL && sqlite3_prepare_v3(store->database, texts[id], -1,
                                            SQLITE_PREPARE_PERSISTENT, slot, NULL) != SQLITE_OK) {
        sql_err(store, "preparing a statement", err);
        return NULL;
    }
    sqlite3_reset(*slot);
    sqlite3_clear_bindings(*slot);
    return *slot;
}

void sql_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

void sql_int(sqlite3_stmt *statement, int at, int64_t value)
{
    sqlite3_bind_int64(statement, at, value);
}

void sql_real(sqlite3_stmt *statement, int at, double value)
{
    if (isnan(value)) {
        sqlite3_bind_null(statement, at);
    } else {
        sqlite3_bind_double(statement, at, value);
    }
}

void sql_blob(sqlite3_stmt *statement, int at, struct bytes value)
{
    sqlite3_bind_blob64(statement, at, value.size > 0 ? value.data : "", value.size,
                        SQLITE_TRANSIENT);
}

bool sql_next(struct store *store, sqlite3_stmt *statement, bool *out_has_row, struct err *err)
{
    int result = sqlite3_step(statement);
    *out_has_row = result == SQLITE_ROW;
    if (result == SQLITE_ROW) {
        return true;
    }
    if (result != SQLITE_DONE) {
        sql_err(store, "using the store", err);
        sqlite3_reset(statement);
        return false;
    }
    sqlite3_reset(statement);
    return true;
}

bool sql_run(struct store *store, sqlite3_stmt *statement, struct err *err)
{
    bool has_row = false;
    if (!sql_next(store, statement, &has_row, err)) {
        return false;
    }
    sqlite3_reset(statement);
    return true;
}

const char *sql_column_text(sqlite3_stmt *statement, int at, struct arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(statement, at);
    const char *copy = arena_strdup(arena, text != NULL ? text : "");
    return copy;
}

double sql_column_real(sqlite3_stmt *statement, int at)
{
    return sqlite3_column_type(statement, at) == SQLITE_NULL ? NAN
                                                             : sqlite3_column_double(statement, at);
}

/* ---- transactions ---- */

/* SQLite would go on writing into a file that was removed or replaced under its name. */
static bool is_same_file(struct store *store, struct err *err)
{
    struct stat now;
    if (stat(store->path, &now) == 0 && now.st_ino == store->inode && now.st_dev == store->device) {
        return true;
    }
    err_set(err, ERR_CODE_store, "the store %s was removed or replaced", store->path);
    return err_hint(err, "nothing more can be recorded; run again with a new store");
}

static bool run_id(struct store *store, enum sql_id id, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, id, err);
    return statement != NULL && sql_run(store, statement, err);
}

bool sql_begin(struct store *store, struct err *err)
{
    return is_same_file(store, err) && run_id(store, SQL_begin, err);
}

bool sql_end(struct store *store, bool ok, struct err *err)
{
    if (ok && run_id(store, SQL_commit, err)) {
        return true;
    }
    struct err ignored; /* what failed first is what matters */
    err_clear(&ignored);
    if (sqlite3_get_autocommit(store->database) == 0) {
        (void)run_id(store, SQL_rollback, &ignored);
    }
    return false;
}
