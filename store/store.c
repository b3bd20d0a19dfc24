/*
 * Opening the store: who may write, what the file is, and in which mode SQLite keeps it. The
 * writer's lock is a side file held by flock, so that the kernel releases it when its holder dies.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* The file behind the name: one lock and one log for it, through whichever link it is reached. */
static bool resolve(struct store *store, struct err *err)
{
    char name[PATH_MAX];
    const char *slash = strrchr(store->path, '/');
    store->file = realpath(store->path, NULL);
    if (store->file != NULL) {
        return true;
    }
    if (errno != ENOENT || store->mode != STORE_CREATE) {
        err_set_errno(err, ERR_CODE_not_found, "there is no store %s", store->path);
        return err_hint(err, "`dbsweep run FILE` makes it");
    }
    snprintf(name, sizeof name, "%.*s", slash != NULL ? (int)(slash - store->path) + 1 : 1,
             slash != NULL ? store->path : ".");
    char *folder = realpath(name, NULL);
    if (folder == NULL) {
        err_set_errno(err, ERR_CODE_not_found, "the store's folder %s cannot be used", name);
        return err_hint(err, "make the folder, or name another store");
    }
    size_t size = strlen(folder) + strlen(store->path) + 2;
    store->file = malloc(size);
    if (store->file != NULL) {
        snprintf(store->file, size, "%s/%s", strcmp(folder, "/") != 0 ? folder : "",
                 slash != NULL ? slash + 1 : store->path);
    }
    free(folder);
    return store->file != NULL || err_memory(err);
}

/* WAL needs shared memory, which these file systems do not give: such stores get lost. */
static bool refuse_network(const struct store *store, struct err *err)
{
    static const struct {
        unsigned long type; /* linux/magic.h of Linux 6.1 */
        const char *name;
    } rows[] = {{0x6969, "NFS"},      {0x517b, "SMB"},      {0xff534d42, "CIFS"},
                {0xfe534d42, "SMB2"}, {0x65735546, "FUSE"}, {0x01021997, "9P"},
                {0x5346414f, "AFS"},  {0x6b414653, "AFS"},  {0x00c36400, "Ceph"},
                {0x73757245, "Coda"}, {0x7461636f, "OCFS2"}};
    char folder[PATH_MAX];
    struct statfs where;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(store->file, '/') - store->file) + 1,
             store->file);
    if (statfs(folder, &where) != 0) {
        err_set_errno(err, ERR_CODE_not_found, "the store's folder %s cannot be used", folder);
        return err_hint(err, "make the folder, or name another store");
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if ((unsigned long)where.f_type == rows[i].type) {
            err_set(err, ERR_CODE_store, "%s lies on a network file system (%s)", store->path,
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
    char name[PATH_MAX + 8];
    char holder[32] = "";
    snprintf(name, sizeof name, "%s-lock", store->file);
    store->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (store->lock < 0) {
        return err_set_errno(err, ERR_CODE_store, "cannot make the lock %s", name);
    }
    if (flock(store->lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return err_set_errno(err, ERR_CODE_store, "cannot take the lock %s", name);
        }
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

static bool check_version(const struct store *store, int64_t version, struct err *err)
{
    if (version == SCHEMA_VERSION) {
        return true;
    }
    err_set(err, ERR_CODE_store_foreign,
            "%s was written by %s version (schema %lld, this knows %d)", store->path,
            version > SCHEMA_VERSION ? "a newer" : "an unknown", (long long)version,
            SCHEMA_VERSION);
    return err_hint(err, "use that version of dbsweep");
}

/* *out_is_new: nothing is in it, be it that its making was interrupted. */
static bool check_identity(struct store *store, bool *out_is_new, struct err *err)
{
    int64_t application = 0;
    int64_t version = 0;
    int64_t tables = 0;
    *out_is_new = false;
    if (!pragma_int(store, "PRAGMA application_id", &application, err) ||
        !pragma_int(store, "PRAGMA user_version", &version, err)) {
        return false;
    }
    if (application == APPLICATION_ID) {
        return check_version(store, version, err);
    }
    if (!pragma_int(store, "SELECT count(*) FROM sqlite_schema", &tables, err)) {
        return false;
    }
    *out_is_new = application == 0 && version == 0 && tables == 0;
    if (*out_is_new) {
        return true;
    }
    err_set(err, ERR_CODE_store_foreign, "%s is not a store of dbsweep", store->path);
    return err_hint(err, "name another file");
}

/* ---- open and close ---- */

static bool configure(struct store *store, struct err *err)
{
    sqlite3_busy_timeout(store->database, BUSY_TIMEOUT_MS);
    sqlite3_db_config(store->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return execute(store, "PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = ON", err);
}

/* SQLite answers with the mode that it kept, and calls that no error. */
static bool use_log(struct store *store, struct err *err)
{
    sqlite3_stmt *statement = NULL;
    bool has_row = false;
    if (sqlite3_prepare_v2(store->database, "PRAGMA journal_mode = WAL", -1, &statement, NULL) !=
        SQLITE_OK) {
        return sql_err(store, "opening the store", err);
    }
    bool ok = sql_next(store, statement, &has_row, err);
    const char *mode = ok && has_row ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (ok && (mode == NULL || strcmp(mode, "wal") != 0)) {
        err_set(err, ERR_CODE_store, "the store %s cannot keep a log (WAL), only mode %s",
                store->path, mode != NULL ? mode : "?");
        ok = err_hint(err, "keep the store on another file system");
    }
    sqlite3_finalize(statement);
    return ok;
}

/* FULL: each commit is on the disk before it returns, and survives a power cut. */
static bool configure_writer(struct store *store, bool is_new, struct err *err)
{
    return use_log(store, err) && execute(store, "PRAGMA synchronous = FULL", err) &&
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

static bool open_database(struct store *store, const char *name, int flags, struct err *err)
{
    flags |= SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    return sqlite3_open_v2(name, &store->database, flags, NULL) == SQLITE_OK ||
           sql_err(store, "opening the store", err);
}

/* Opens the file alone, as it lies there: neither its log, nor a journal, nor locks are used. */
static bool open_still(struct store *store, struct err *err)
{
    char name[3 * PATH_MAX + 32] = "file:";
    size_t used = strlen(name);
    for (const char *at = store->file; *at != '\0'; at++) {
        bool is_plain = *at != '%' && *at != '?' && *at != '#';
        used += (size_t)snprintf(name + used, sizeof name - used, is_plain ? "%c" : "%%%02X", *at);
    }
    snprintf(name + used, sizeof name - used, "?immutable=1");
    return open_database(store, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, err);
}

/* Somebody else's file is refused before a lock is made beside it and before SQLite would tidy up
 * its log or its journal. */
static bool refuse_foreign(struct store *store, struct err *err)
{
    struct stat now;
    bool is_new = false;
    if (stat(store->file, &now) != 0) {
        return true; /* yet to be made */
    }
    if (!S_ISREG(now.st_mode)) {
        err_set(err, ERR_CODE_store_foreign, "%s is not a file", store->path);
        return err_hint(err, "name a file");
    }
    bool ok = open_still(store, err) && check_identity(store, &is_new, err);
    int native = ok ? SQLITE_OK : err->native & 0xff;
    sqlite3_close(store->database);
    store->database = NULL;
    if (native == SQLITE_NOTADB || now.st_size == 1) { /* SQLite takes one byte for an empty file */
        err_set(err, ERR_CODE_store_foreign, "%s is not a store of dbsweep, nor SQLite's",
                store->path);
        return err_hint(err, "name another file; if it was a store, go back to a copy of it");
    }
    if (native == SQLITE_CORRUPT) { /* or in the middle of a checkpoint: whole with its log alone */
        err_clear(err);
        return true;
    }
    return ok;
}

/* A store at rest is one file; SQLite could read it only where it may make two more beside it. */
static bool must_be_still(const struct store *store)
{
    char name[PATH_MAX + 8];
    snprintf(name, sizeof name, "%s-wal", store->file);
    if (access(name, F_OK) == 0) {
        return false;
    }
    *strrchr(name, '/') = '\0';
    return access(name[0] != '\0' ? name : "/", W_OK) != 0;
}

static bool open_reader(struct store *store, struct err *err)
{
    bool is_new = false;
    if (!(must_be_still(store) ? open_still(store, err)
                               : open_database(store, store->file, SQLITE_OPEN_READONLY, err)) ||
        !configure(store, err) || !check_identity(store, &is_new, err)) {
        return false;
    }
    if (is_new) {
        err_set(err, ERR_CODE_not_found, "the store %s is empty", store->path);
        return err_hint(err, "`dbsweep run FILE` fills it");
    }
    return true;
}

static bool make_file(struct store *store, struct err *err)
{
    int made = open(store->file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0 && errno != EEXIST) {
        return err_set_errno(err, ERR_CODE_store, "cannot make the store %s", store->path);
    }
    return made < 0 || close(made) == 0 ||
           err_set_errno(err, ERR_CODE_store, "cannot make the store %s", store->path);
}

static bool open_writer(struct store *store, struct err *err)
{
    bool is_new = false;
    if (!lock_writer(store, err) || (store->mode == STORE_CREATE && !make_file(store, err)) ||
        !open_database(store, store->file, SQLITE_OPEN_READWRITE, err)) {
        return false;
    }
    if (sqlite3_db_readonly(store->database, "main") == 1) { /* SQLite's silent second choice */
        err_set(err, ERR_CODE_store, "the store %s cannot be written", store->path);
        err_native(err, SQLITE_READONLY, "SQLite");
        return err_hint(err, "the store is read-only: check its file system and rights");
    }
    /* Until it is known to be ours, its log stays where it is. */
    sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (!configure(store, err) || !check_identity(store, &is_new, err)) {
        return false;
    }
    sqlite3_db_config(store->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return configure_writer(store, is_new, err) && sql_know_files(store, err) &&
           mark_interrupted(store, err);
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
    bool ok = (store->path != NULL || err_memory(err)) && resolve(store, err) &&
              refuse_network(store, err) && refuse_foreign(store, err) &&
              (mode == STORE_READ ? open_reader(store, err) : open_writer(store, err));
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
    free(store->file);
    free(store->path);
    free(store);
}

const char *store_path(const struct store *store)
{
    return store->path;
}

const char *store_library_version(void)
{
    static char name[32];
    snprintf(name, sizeof name, "SQLite %s", sqlite3_libversion());
    return name;
}
