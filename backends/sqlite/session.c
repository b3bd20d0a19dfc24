/*
 * A SQLite session: every call completes inside send, so the driver gives each client a thread.
 *
 * A transaction takes its write lock at once (begin immediate) where any prepared statement
 * writes: two transactions that both read first and write later would each wait for the other,
 * and SQLite ends that with "busy" at the worst moment. A lock that stays taken for a second is
 * "busy" too, which means: roll back and try again. The close of the last connection checkpoints
 * the log.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "backends/kept.h"
#include "backends/sqlite/pragma.h"
#include "backends/sqlite/sqlite.h"
#include "sweeper/base/text.h"

enum {
    SLOT_COUNT = 256,
    MEMORY_LIMIT_BYTES = 128 * 1024 * 1024,
    BULK_BYTES = 64 * 1024,
    FIRST_PAUSE_NS = 50 * 1000,
    LONGEST_PAUSE_DOUBLINGS = 6
};
#define BUSY_LIMIT_NS NS_PER_S

struct sqlite_client {
    struct session base;
    struct arena arena; /* holds this struct */
    sqlite3 *db;
    sqlite3_stmt *slots[SLOT_COUNT];
    bool writes; /* a prepared statement does */
    atomic_bool is_cancelled;
    int64_t busy_until;
    struct kept_rows rows;
    int64_t affected;
    bool has_failed;
    struct err failure;
};

static struct sqlite_client *client_of(struct session *session)
{
    return (struct sqlite_client *)session;
}

/* Called by SQLite while another connection holds the lock; 0 gives up. */
static int wait_for_lock(void *context, int tries)
{
    struct sqlite_client *client = context;
    int64_t now = clock_now_ns();
    if (tries == 0) {
        client->busy_until = now + BUSY_LIMIT_NS;
    }
    if (now >= client->busy_until || atomic_load(&client->is_cancelled)) {
        return 0;
    }
    int doublings = tries < LONGEST_PAUSE_DOUBLINGS ? tries : LONGEST_PAUSE_DOUBLINGS;
    clock_sleep_until(now + ((int64_t)FIRST_PAUSE_NS << doublings));
    return 1;
}

static bool is_there(const char *path, struct err *err)
{
    if (access(path, F_OK) == 0) {
        return true;
    }
    err_set(err, ERR_CODE_not_found, "there is no database %.300s", path);
    return err_hint(err, "load its data first: prepare makes it");
}

static bool connect_client(struct sqlite_client *client, const struct session_spec *spec,
                           int64_t deadline, struct err *err)
{
    const char *path = NULL;
    if (!pragma_path(spec->connect, &path, err) || (spec->must_exist && !is_there(path, err)) ||
        !pragma_open(path, SQLITE_OPEN_READWRITE | (spec->must_exist ? 0 : SQLITE_OPEN_CREATE),
                     clock_left_ms(deadline), &client->db, err) ||
        !pragma_write_session(client->db, spec->settings, spec->setting_count, err)) {
        return false;
    }
    return sqlite3_busy_handler(client->db, wait_for_lock, client) == SQLITE_OK ||
           pragma_error(client->db, ERR_CODE_connection, err);
}

static bool client_open(const struct session_spec *spec, int64_t deadline, struct session **out,
                        struct err *err)
{
    struct arena arena;
    arena_open(&arena, MEMORY_LIMIT_BYTES);
    struct sqlite_client *client = ARENA_NEW(&arena, struct sqlite_client);
    if (client == NULL) {
        return err_memory(err);
    }
    if (!connect_client(client, spec, deadline, err)) {
        pragma_close(&client->db);
        arena_close(&arena);
        return false;
    }
    client->base.driver = &sqlite_session;
    client->arena = arena;
    client->rows.arena = &client->arena;
    *out = &client->base;
    return true;
}

static void client_close(struct session *session)
{
    if (session == NULL) {
        return;
    }
    struct sqlite_client *client = client_of(session);
    for (size_t i = 0; i < SLOT_COUNT; i++) {
        sqlite3_finalize(client->slots[i]);
    }
    pragma_close(&client->db);
    struct arena arena = client->arena;
    arena_close(&arena);
}

/* ---- results ---- */

static void forget_result(struct sqlite_client *client)
{
    kept_clear(&client->rows);
    client->affected = 0;
    client->has_failed = false;
}

/* Errors come out of pump, as they do where the answer comes later. */
static bool keep_failure(struct sqlite_client *client)
{
    err_clear(&client->failure);
    pragma_error(client->db, ERR_CODE_statement, &client->failure);
    client->has_failed = true;
    return false;
}

static bool keep_memory_failure(struct sqlite_client *client)
{
    err_clear(&client->failure);
    err_set(&client->failure, ERR_CODE_statement, "the result does not fit %d MiB",
            MEMORY_LIMIT_BYTES >> 20);
    client->has_failed = true;
    return false;
}

static bool keep_row(struct sqlite_client *client, sqlite3_stmt *statement)
{
    int count = sqlite3_column_count(statement);
    client->rows.column_count = (size_t)count;
    for (int i = 0; i < count; i++) {
        char *at = NULL;
        const unsigned char *text = sqlite3_column_text(statement, i);
        int size = text != NULL ? sqlite3_column_bytes(statement, i) : -1;
        if (!kept_reserve(&client->rows, size > 0 ? (size_t)size : 0, &at)) {
            return keep_memory_failure(client);
        }
        if (size > 0) {
            memcpy(at, text, (size_t)size);
        }
        kept_end(&client->rows, size);
    }
    return true;
}

static bool run_statement(struct sqlite_client *client, sqlite3_stmt *statement)
{
    int status = SQLITE_ROW;
    while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!keep_row(client, statement)) {
            return false;
        }
    }
    if (status != SQLITE_DONE) {
        return keep_failure(client);
    }
    client->affected = sqlite3_stmt_readonly(statement) ? 0 : sqlite3_changes(client->db);
    return true;
}

/* ---- calls ---- */

static bool client_send_text(struct session *session, const char *sql, struct err *err UNUSED)
{
    struct sqlite_client *client = client_of(session);
    bool has_run = true;
    forget_result(client);
    while (has_run && sql[0] != '\0') {
        sqlite3_stmt *statement = NULL;
        const char *rest = sql + strlen(sql);
        if (sqlite3_prepare_v2(client->db, sql, -1, &statement, &rest) != SQLITE_OK) {
            has_run = keep_failure(client);
        } else if (statement != NULL) {
            kept_clear(&client->rows); /* the last statement's rows are the result */
            has_run = run_statement(client, statement);
        }
        sqlite3_finalize(statement);
        sql = rest;
    }
    return true;
}

static bool client_begin(struct session *session, struct err *err)
{
    return client_send_text(session, client_of(session)->writes ? "begin immediate" : "begin", err);
}

static bool client_commit(struct session *session, struct err *err)
{
    return client_send_text(session, "commit", err);
}

/* Some errors roll back by themselves. */
static bool client_rollback(struct session *session, struct err *err)
{
    bool is_open = sqlite3_get_autocommit(client_of(session)->db) == 0;
    return client_send_text(session, is_open ? "rollback" : "", err);
}

static bool client_prepare(struct session *session, unsigned slot, const char *sql,
                           const enum param_type *types UNUSED, size_t type_count,
                           int64_t deadline UNUSED, struct err *err)
{
    struct sqlite_client *client = client_of(session);
    assert(slot < SLOT_COUNT);
    sqlite3_finalize(client->slots[slot]);
    client->slots[slot] = NULL;
    if (sqlite3_prepare_v3(client->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &client->slots[slot],
                           NULL) != SQLITE_OK) {
        pragma_error(client->db, ERR_CODE_statement, err);
        return err_while(err, "preparing: %.100s", sql);
    }
    int found = sqlite3_bind_parameter_count(client->slots[slot]);
    if (found != (int)type_count) {
        return err_set(err, ERR_CODE_bug, "%zu parameters given for %d in: %.200s", type_count,
                       found, sql);
    }
    client->writes = client->writes || sqlite3_stmt_readonly(client->slots[slot]) == 0;
    return true;
}

static int bind_param(sqlite3_stmt *statement, int index, const struct param *param)
{
    switch (param->type) {
    case PARAM_INT:
        return sqlite3_bind_int64(statement, index, param->integer);
    case PARAM_REAL:
        return sqlite3_bind_double(statement, index, param->real);
    case PARAM_TEXT:
        break;
    }
    return param->text.data == NULL ? sqlite3_bind_null(statement, index)
                                    : sqlite3_bind_text(statement, index, param->text.data,
                                                        (int)param->text.size, SQLITE_STATIC);
}

static bool client_send(struct session *session, unsigned slot, const struct param *params,
                        size_t param_count, struct err *err UNUSED)
{
    struct sqlite_client *client = client_of(session);
    assert(slot < SLOT_COUNT && client->slots[slot] != NULL);
    sqlite3_stmt *statement = client->slots[slot];
    bool is_bound = true;
    forget_result(client);
    for (size_t i = 0; is_bound && i < param_count; i++) {
        is_bound = bind_param(statement, (int)i + 1, &params[i]) == SQLITE_OK;
    }
    if (is_bound) {
        run_statement(client, statement);
    } else {
        keep_failure(client);
    }
    sqlite3_reset(statement); /* its error is the one that was kept */
    return true;
}

static enum session_state client_pump(struct session *session, struct err *err)
{
    struct sqlite_client *client = client_of(session);
    if (!client->has_failed) {
        return SESSION_DONE;
    }
    *err = client->failure;
    return SESSION_FAILED;
}

/* ---- answers ---- */

static bool client_rows(struct session *session, row_visitor visit, void *context, struct err *err)
{
    return kept_visit(&client_of(session)->rows, visit, context, err);
}

static int64_t client_affected(struct session *session)
{
    return client_of(session)->affected;
}

static enum session_failure client_classify(const struct session *session UNUSED,
                                            const struct err *err)
{
    if (strcmp(err->native_text, "SQLITE") != 0) {
        return err->code == ERR_CODE_connection ? SESSION_LOST : SESSION_WRONG;
    }
    switch (err->native & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SESSION_RETRY;
    case SQLITE_CANTOPEN:
    case SQLITE_CORRUPT:
    case SQLITE_INTERRUPT: /* a cancelled session stays cancelled */
    case SQLITE_IOERR:
    case SQLITE_NOTADB:
        return SESSION_LOST;
    default:
        return SESSION_WRONG;
    }
}

/* ---- bulk load ---- */

struct client_bulk {
    struct bulk base;
    struct arena arena; /* holds this struct */
    sqlite3_stmt *insert;
    int column_count;
    int64_t deadline;
};

static bool add_insert(struct text *out, const struct bulk_spec *spec)
{
    text_addf(out, "insert into %s ", spec->table);
    if (spec->columns != NULL) {
        text_addf(out, "(%s) ", spec->columns);
    }
    for (size_t i = 0; i < spec->column_count; i++) {
        text_add(out, i == 0 ? "values (?" : ",?");
    }
    text_add_char(out, ')');
    return text_done(out) != NULL;
}

/* A prepared row costs less here than a text of many, since nothing is sent anywhere. */
static bool client_bulk_open(struct session *session, const struct bulk_spec *spec,
                             int64_t deadline, struct bulk **out, struct err *err)
{
    struct sqlite_client *client = client_of(session);
    struct arena arena;
    struct text sql;
    assert(spec->column_count > 0 && spec->column_count <= SESSION_BULK_COLUMNS);
    arena_open(&arena, BULK_BYTES);
    text_open(&sql, &arena);
    struct client_bulk *bulk = ARENA_NEW(&arena, struct client_bulk);
    bool ok = (bulk != NULL && add_insert(&sql, spec)) || err_memory(err);
    ok = ok && (sqlite3_prepare_v2(client->db, sql.data, -1, &bulk->insert, NULL) == SQLITE_OK ||
                pragma_error(client->db, ERR_CODE_statement, err));
    if (!ok) {
        arena_close(&arena);
        return false;
    }
    bulk->base.session = session;
    bulk->column_count = (int)spec->column_count;
    bulk->deadline = deadline;
    bulk->arena = arena;
    *out = &bulk->base;
    return true;
}

static bool client_bulk_row(struct bulk *base, const struct param *values, struct err *err)
{
    struct client_bulk *bulk = (struct client_bulk *)base;
    struct sqlite_client *client = client_of(base->session);
    bool is_bound = true;
    if (clock_passed(bulk->deadline)) {
        return err_set(err, ERR_CODE_timeout, "the rows were not written in time");
    }
    for (int i = 0; is_bound && i < bulk->column_count; i++) {
        is_bound = bind_param(bulk->insert, i + 1, &values[i]) == SQLITE_OK;
    }
    bool ok = is_bound && sqlite3_step(bulk->insert) == SQLITE_DONE;
    if (!ok) {
        pragma_error(client->db, ERR_CODE_statement, err);
    }
    sqlite3_reset(bulk->insert); /* its error is the one that was kept */
    return ok;
}

static bool client_bulk_close(struct bulk *base, bool is_whole, struct err *err UNUSED)
{
    struct client_bulk *bulk = (struct client_bulk *)base;
    sqlite3_finalize(bulk->insert);
    struct arena arena = bulk->arena;
    arena_close(&arena);
    return is_whole;
}

static int client_socket(struct session *session UNUSED)
{
    return -1;
}

/* From any thread while the session is open. */
static void client_cancel(struct session *session)
{
    struct sqlite_client *client = client_of(session);
    atomic_store(&client->is_cancelled, true);
    sqlite3_interrupt(client->db);
}

const struct session_driver sqlite_session = {
    .dialect = DIALECT_SQLITE,
    .open = client_open,
    .close = client_close,
    .prepare = client_prepare,
    .send = client_send,
    .send_text = client_send_text,
    .begin = client_begin,
    .commit = client_commit,
    .rollback = client_rollback,
    .pump = client_pump,
    .rows = client_rows,
    .affected = client_affected,
    .classify = client_classify,
    .socket = client_socket,
    .cancel = client_cancel,
    .bulk_open = client_bulk_open,
    .bulk_row = client_bulk_row,
    .bulk_close = client_bulk_close,
};
