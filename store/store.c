/*
 * Opening the store: who may write, what the file is, and in which mode SQLite keeps it. The
 * writer's lock is a side file held by flock, so that the kernel releases it when its holder dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "store/schema.h"
#include "store/sql.h"

enum {
    APPLICATION_ID = 0x64627377, /* "dbsw" */
    SCHEMA_VERSION = 1,
    BUSY_TIMEOUT_MS = 10000
};

/* ---- where it lies ---- */

/* WAL needs shared memory, which these file systems do not give: such stores get lost. */
static bool refuse_network(const char *path, struct err *err)
{
    static const struct {
        unsigned long type;
        const char *name;
    } rows[] = {{0x6969, "NFS"},      {0x517b, "SMB"},      {0xff534d42, "CIFS"},
                {0xfe534d42, "SMB2"}, {0x65735546, "FUSE"}, {0x01021997, "9P"},
                {0x5346414f, "AFS"}};
    char folder[4096];
    struct statfs where;
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
             slash != NULL ? path : ".");
    if (statfs(folder, &where) != 0) {
        err_set_errno(err, ERR_CODE_not_found, "the store's folder %s cannot be used", folder);
        return err_hint(err, "make the folder, or name another store");
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((unsigned long)where.f_type == rows[i].type) {
            err_set(err, ERR_CODE_store, "%s lies on a network file system (%s)", path,
                    rows[i].name);
            err_reclass(err, ERR_PLAN);
            return err_hint(err, "keep the store on a local disk: WAL is not safe there");
        }
    }
    return true;
}

/* ---- the writer's lock ---- */

static bool lock_writer(struct store *store, struct err *err)
{
    char name[4200];
    char holder[32] = "";
    snprintf(name, sizeof name, "%s-lock", store->path);
    store->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (store->lock < 0) {
        return err_set_errno(err, ERR_CODE_store, "cannot make the lock %s", name);
    }
    if (flock(store->lock, LOCK_EX | LOCK_NB) != 0) {
        ssize_t size = pread(store->lock, holder, sizeof holder - 1, 0);
        holder[size > 0 ? size : 0] = '\0';
        holder[strcspn(holder, "\n")] = '\0';
        err_set(err, ERR_CODE_locked, "process %s is writing to the store %s",
                holder[0] != '\0' ? holder : "?", store->path);
        return err_hint(err, "wait for it, or stop it with SIGTERM: it restores the baseline");
    }
    int size = snprintf(holder, sizeof holder, "%ld\n", (long)getpid());
    if (ftruncate(store->lock, 0) != 0 || pwrite(store->lock, holder, (size_t)size, 0) != size) {
        return err_set_errno(err, ERR_CODE_store, "cannot write the lock %s", name);
    }
    return true;
}

/* ---- what it is ---- */

static bool pragma_int(struct store *store, const char *sql, int64_t *out, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    bool has_row = false;
    if (sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL) != SQLITE_OK) {
        return sql_err(store, "opening the store", err);
    }
    bool ok = sql_next(store, statement, &has_row, err);
    *out = ok && has_row ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return ok;
}

static bool quick_check(struct store *store, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    bool has_row = false;
    if (sqlite3_prepare_v2(store->database, "PRAGMA quick_check(1)", -1, &statement, NULL) !=
        SQLITE_OK) {
        return sql_err(store, "opening the store", err);
    }
    bool ok = sql_next(store, statement, &has_row, err);
    const char *said = ok && has_row ? (const char *)sqlite3_column_text(statement, 0) : "?";
    if (ok && (said == NULL || strcmp(said, "ok") != 0)) {
        err_set(err, ERR_CODE_store, "the store %s is damaged: %.200s", store->path,
                said != NULL ? said : "?");
        ok = err_hint(err, "take a copy, and begin with a new file");
    }
    sqlite3_finalize(statement);
    return ok;
}

static bool execute(struct store *store, const char *sql, struct err *err)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK ||
           sql_err(store, "opening the store", err);
}

static bool make_schema(struct store *store, struct err *err)
{
    char head[128];
    snprintf(head, sizeof head, "PRAGMA application_id = %d; PRAGMA user_version = %d;",
             APPLICATION_ID, SCHEMA_VERSION);
    return execute(store, "BEGIN IMMEDIATE", err) && execute(store, store_schema, err) &&
           execute(store, head, err) && execute(store, "COMMIT", err);
}

static bool check_identity(struct store *store, bool *out_is_new, struct err *err)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t tables = 0;
    if (!pragma_int(store, "PRAGMA application_id", &application, err) ||
        !pragma_int(store, "PRAGMA user_version", &version, err) ||
        !pragma_int(store, "SELECT count(*) FROM sqlite_schema", &tables, err)) {
        return false;
    }
    *out_is_new = application == 0 && version == 0 && tables == 0;
    if (*out_is_new && store->mode == STORE_CREATE) {
        return true;
    }
    if (application != APPLICATION_ID) {
        err_set(err, ERR_CODE_store_foreign, "%s is not a store of dbsweep", store->path);
        return err_hint(err, "name another file");
    }
    if (version > SCHEMA_VERSION) {
        err_set(err, ERR_CODE_store_foreign,
                "%s was written by a newer version (schema %lld, this knows %d)", store->path,
                (long long)version, SCHEMA_VERSION);
        return err_hint(err, "use that version of dbsweep");
    }
    return true;
}

/* ---- open and close ---- */

static bool configure(struct store *store, struct err *err)
{
    sqlite3_extended_result_codes(store->database, 1);
    sqlite3_busy_timeout(store->database, BUSY_TIMEOUT_MS);
    sqlite3_db_config(store->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return execute(store, "PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON", err);
}

static bool configure_writer(struct store *store, bool is_new, struct err *err)
{
    return execute(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", err) &&
           (!is_new || make_schema(store, err)) && quick_check(store, err);
}

/* Trials and calls of a process that died: only its lock's next holder may say so. */
static bool mark_interrupted(struct store *store, struct err *err)
{
    if (!sql_begin(store, err)) {
        return false;
    }
    sqlite3_stmt *trials = sql_use(store, SQL_interrupt_trials, err);
    bool ok = trials != NULL && sql_run(store, trials, err);
    sqlite3_stmt *calls = ok ? sql_use(store, SQL_interrupt_calls, err) : NULL;
    ok = calls != NULL && sql_run(store, calls, err);
    return sql_end(store, ok, err);
}

static bool open_database(struct store *store, struct err *err)
{
    int flags = store->mode == STORE_READ     ? SQLITE_OPEN_READONLY
                : store->mode == STORE_CREATE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                              : SQLITE_OPEN_READWRITE;
    if (sqlite3_open_v2(store->path, &store->database, flags | SQLITE_OPEN_NOMUTEX, NULL) !=
        SQLITE_OK) {
        return sql_err(store, "opening the store", err);
    }
    return true;
}

static bool open_file(struct store *store, struct err *err)
{
    struct stat stat_now;
    bool is_new = false;
    if (store->mode == STORE_CREATE) {
        int made = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (made < 0) {
            return err_set_errno(err, ERR_CODE_store, "cannot make the store %s", store->path);
        }
        close(made);
    }
    if (stat(store->path, &stat_now) != 0) {
        err_set_errno(err, ERR_CODE_not_found, "there is no store %s", store->path);
        return err_hint(err, "`dbsweep run FILE` makes it");
    }
    store->device = stat_now.st_dev;
    store->inode = stat_now.st_ino;
    return open_database(store, err) && configure(store, err) &&
           check_identity(store, &is_new, err) &&
           (store->mode == STORE_READ ||
            (configure_writer(store, is_new, err) && mark_interrupted(store, err)));
}

bool store_open(const char *path, enum store_mode mode, struct store **out, struct err *err)
{
    *out = NULL;
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL) {
        return err_memory(err);
    }
    store->mode = mode;
    store->lock = -1;
    store->path = strdup(path);
    bool ok = store->path != NULL ? refuse_network(path, err) : err_memory(err);
    ok = ok && (mode == STORE_READ || access(path, F_OK) == 0 || mode == STORE_CREATE ||
                open_file(store, err)); /* a missing store is said before a lock is made */
    ok = ok && (mode == STORE_READ || lock_writer(store, err)) &&
         (store->database != NULL || open_file(store, err));
    if (!ok) {
        store_close(store);
        return false;
    }
    *out = store;
    return true;
}

void store_close(struct store *store)
{
    if (store == NULL) {
        return;
    }
    for (size_t i = 0; i < SQL_COUNT; i++) {
        sqlite3_finalize(store->statements[i]);
    }
    sqlite3_close(store->database);
    if (store->lock >= 0) {
        close(store->lock);
    }
    free(store->path);
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

const char *store_library_version(void)
{
    return "SQLite " SQLITE_VERSION;
}
