/*
 * Prepared statements, binding and transactions. A lost store is told apart: full disk, read-only,
 * damaged, removed or replaced are class STORE and final.
 */
#include "store/sql.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
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

/* What the system said to SQLite: it tells of it only in passing, or for the file asked for. */
static int system_errno(struct store *store)
{
    int code = sqlite3_system_errno(store->database);
    sqlite3_file *log = NULL;
    if (code == 0) {
        sqlite3_file_control(store->database, "main", SQLITE_FCNTL_LAST_ERRNO, &code);
    }
    if (code == 0 &&
        sqlite3_file_control(store->database, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) ==
            SQLITE_OK &&
        log != NULL && log->pMethods != NULL) {
        log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &code);
    }
    return code;
}

bool sql_err(struct store *store, const char *what, struct err *err)
{
    int code = sqlite3_extended_errcode(store->database);
    bool is_system = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
    int system = is_system ? system_errno(store) : 0;
    err_set(err, ERR_CODE_store, "%s: %s%s%s (%s)", what, sqlite3_errmsg(store->database),
            system != 0 ? ": " : "", system != 0 ? strerror(system) : "", store->path);
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
    case SQLITE_IOERR:
        return err_hint(err, "the disk of the store fails: see its quota and the kernel's log");
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

bool sql_each(struct store *store, enum sql_id id, int64_t number,
              bool (*take)(sqlite3_stmt *row, void *context, struct err *err), void *context,
              struct err *err)
{
    bool has_row = true;
    bool ok = true;
    sqlite3_stmt *row = sql_use(store, id, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, number);
    while (ok && has_row) {
        ok = sql_next(store, row, &has_row, err) && (!has_row || take(row, context, err));
    }
    sqlite3_reset(row);
    return ok;
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

bool sql_run_one(struct store *store, sqlite3_stmt *statement, const char *what, int64_t id,
                 struct err *err)
{
    if (!sql_run(store, statement, err)) {
        return false;
    }
    if (sqlite3_changes(store->database) == 1) {
        return true;
    }
    return err_set(err, ERR_CODE_store, "the store %s holds no %s %lld", store->path, what,
                   (long long)id);
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

static const struct {
    const char *ending;
    const char *what;
} file_rows[FILE_COUNT] = {[FILE_MAIN] = {"", "the store"},
                           [FILE_WAL] = {"-wal", "the log of the store,"},
                           [FILE_SHM] = {"-shm", "the index of the log of the store,"},
                           [FILE_LOCK] = {"-lock", "the lock of the store,"}};

static bool stat_file(const struct store *store, size_t at, struct stat *out)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof name, "%s%s", store->file, file_rows[at].ending);
    return stat(name, out) == 0;
}

bool sql_know_files(struct store *store, struct err *err)
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        struct stat now;
        if (!stat_file(store, i, &now)) {
            return err_set_errno(err, ERR_CODE_store, "the store %s lost a file while it opened",
                                 store->path);
        }
        store->files[i].device = now.st_dev;
        store->files[i].inode = now.st_ino;
    }
    return true;
}

/* SQLite would go on writing into a file that was removed or replaced under its name. */
static bool has_same_files(struct store *store, struct err *err)
{
    for (size_t i = 0; i < FILE_COUNT; i++) {
        struct stat now;
        if (!stat_file(store, i, &now) || now.st_ino != store->files[i].inode ||
            now.st_dev != store->files[i].device) {
            err_set(err, ERR_CODE_store, "%s %s%s was removed or replaced", file_rows[i].what,
                    store->path, file_rows[i].ending);
            return err_hint(err, "nothing more can be recorded; run again with a new store");
        }
    }
    return true;
}

static bool run_id(struct store *store, enum sql_id id, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, id, err);
    return statement != NULL && sql_run(store, statement, err);
}

bool sql_begin(struct store *store, struct err *err)
{
    return has_same_files(store, err) && run_id(store, SQL_begin, err);
}

bool sql_end(struct store *store, bool ok, struct err *err)
{
    if (ok && run_id(store, SQL_commit, err)) {
        return has_same_files(store, err); /* it may have gone since the beginning */
    }
    struct err ignored; /* what failed first is what matters */
    err_clear(&ignored);
    if (sqlite3_get_autocommit(store->database) == 0) {
        (void)run_id(store, SQL_rollback, &ignored);
    }
    return false;
}
