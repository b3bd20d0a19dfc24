/*
 * An ODBC session: every call completes inside send, so the driver gives each client a thread.
 *
 * A transaction is autocommit switched off until commit or rollback. It stays off from one to the
 * next, since some drivers ask the server for each switch; a statement that follows without begin
 * switches it on again. SQLite's driver would begin one that takes its write lock only when it
 * writes: two that both read first would each wait for the other. There it is begun by a text, as
 * by the backend's own session.
 *
 * cancel asks the driver on a thread of its own, because drivers connect for it. close rolls an
 * open transaction back, which waits as long as the driver does: ODBC ends no connection within
 * one.
 */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "backends/odbc/client.h"
#include "backends/odbc/odbc.h"
#include "sweeper/base/text.h"

enum { MEMORY_LIMIT_BYTES = ODBC_MEMORY_MIB * 1024 * 1024, CANCEL_STACK_BYTES = 256 * 1024 };

/* ---- opening and closing ---- */

/* UTF-8, whatever the driver makes of the locale. */
static bool set_up(struct odbc_client *client, int64_t deadline, struct err *err)
{
    return client->base.driver->dialect != DIALECT_POSTGRESQL ||
           session_execute(&client->base, "set client_encoding to 'UTF8'", NULL, NULL, deadline,
                           err);
}

static bool open_parts(struct odbc_client *client, const struct session_spec *spec,
                       int64_t deadline, struct err *err)
{
    if (!odbc_connect(spec, client->base.driver->dialect, deadline, &client->connection, err)) {
        return false;
    }
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, client->connection, &client->text))) {
        odbc_error(SQL_HANDLE_DBC, client->connection, ERR_CODE_connection, err);
        odbc_disconnect(client->connection);
        return false;
    }
    return true;
}

static void open_lock(struct odbc_client *client)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* that of deadlines */
    pthread_cond_init(&client->has_ended, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&client->mutex, NULL);
}

static bool open_client(const struct session_driver *driver, const struct session_spec *spec,
                        int64_t deadline, struct session **out, struct err *err)
{
    struct arena arena;
    if (driver->dialect == DIALECT_SQLITE && spec->setting_count > 0) {
        return err_set(err, ERR_CODE_unsupported,
                       "settings of a SQLite connection cannot be set through ODBC");
    }
    arena_open(&arena, MEMORY_LIMIT_BYTES);
    struct odbc_client *client = ARENA_NEW(&arena, struct odbc_client);
    if (client == NULL) {
        return err_memory(err);
    }
    client->base.driver = driver;
    if (!open_parts(client, spec, deadline, err)) {
        arena_close(&arena);
        return false;
    }
    client->arena = arena;
    client->rows.arena = &client->arena;
    client->user_count = 1;
    open_lock(client);
    if (!set_up(client, deadline, err)) {
        driver->close(&client->base);
        return false;
    }
    *out = &client->base;
    return true;
}

static void destroy(struct odbc_client *client)
{
    for (size_t i = 0; i < ODBC_SLOTS; i++) {
        if (client->slots[i] != NULL) {
            odbc_statement_close(client->slots[i]);
        }
    }
    (void)SQLFreeHandle(SQL_HANDLE_STMT, client->text);
    if (client->is_manual) {
        (void)SQLEndTran(SQL_HANDLE_DBC, client->connection, SQL_ROLLBACK);
    }
    odbc_disconnect(client->connection);
    pthread_cond_destroy(&client->has_ended);
    pthread_mutex_destroy(&client->mutex);
    struct arena arena = client->arena;
    arena_close(&arena);
}

/* The last user takes all with it. */
static void leave(struct odbc_client *client)
{
    pthread_mutex_lock(&client->mutex);
    bool is_last = --client->user_count == 0;
    pthread_mutex_unlock(&client->mutex);
    if (is_last) {
        destroy(client);
    }
}

static void client_close(struct session *session)
{
    if (session != NULL) {
        leave(odbc_client_of(session));
    }
}

/* ---- texts ---- */

static bool client_send_text(struct session *session, const char *sql, struct err *err UNUSED)
{
    struct odbc_client *client = odbc_client_of(session);
    odbc_run(client, client->text, sql);
    return true;
}

/* ---- transactions ---- */

static bool is_sqlite(const struct odbc_client *client)
{
    return client->base.driver->dialect == DIALECT_SQLITE;
}

static bool client_begin(struct session *session, struct err *err UNUSED)
{
    struct odbc_client *client = odbc_client_of(session);
    if (is_sqlite(client)) {
        odbc_run(client, client->text, client->writes ? "begin immediate" : "begin");
        client->in_transaction = !client->has_failed;
    } else if (odbc_call_begin(client, client->text)) {
        client->in_transaction = odbc_set_manual(client, true);
        odbc_call_end(client);
    }
    return true;
}

static void end_by_driver(struct odbc_client *client, SQLSMALLINT how)
{
    if (!odbc_call_begin(client, client->text)) {
        return;
    }
    if (!SQL_SUCCEEDED(SQLEndTran(SQL_HANDLE_DBC, client->connection, how))) {
        odbc_keep_failure(client, SQL_HANDLE_DBC, client->connection);
    }
    odbc_call_end(client);
}

/* A commit that was refused leaves something to roll back. Without a transaction there is nothing
 * to do. */
static bool end_transaction(struct session *session, SQLSMALLINT how)
{
    struct odbc_client *client = odbc_client_of(session);
    if (!client->in_transaction) {
        if (odbc_call_begin(client, client->text)) {
            odbc_call_end(client);
        }
        return true;
    }
    if (is_sqlite(client)) {
        odbc_run(client, client->text, how == SQL_COMMIT ? "commit" : "rollback");
    } else {
        end_by_driver(client, how);
    }
    client->in_transaction = how == SQL_COMMIT && client->has_failed;
    return true;
}

static bool client_commit(struct session *session, struct err *err UNUSED)
{
    return end_transaction(session, SQL_COMMIT);
}

static bool client_rollback(struct session *session, struct err *err UNUSED)
{
    return end_transaction(session, SQL_ROLLBACK);
}

/* ---- prepared statements ---- */

static SQLSMALLINT sql_type_of(enum param_type type, size_t size)
{
    enum { SHORT_BYTES = 4000 };
    return type == PARAM_INT     ? SQL_BIGINT
           : type == PARAM_REAL  ? SQL_DOUBLE
           : size <= SHORT_BYTES ? SQL_VARCHAR
                                 : SQL_LONGVARCHAR;
}

bool odbc_bind(struct odbc_statement *statement, size_t index, const struct param *param)
{
    static const SQLSMALLINT c_types[] = {
        [PARAM_INT] = SQL_C_SBIGINT, [PARAM_REAL] = SQL_C_DOUBLE, [PARAM_TEXT] = SQL_C_CHAR};
    union odbc_number *number = &statement->numbers[index];
    SQLLEN *length = &statement->lengths[index];
    union {
        const char *in;
        SQLPOINTER out;
    } text = {.in = param->text.data != NULL ? param->text.data : ""};
    bool is_text = param->type == PARAM_TEXT;
    SQLULEN size = is_text ? param->text.size : 0;
    *length = is_text && param->text.data == NULL ? SQL_NULL_DATA : (SQLLEN)size;
    if (param->type == PARAM_INT) {
        number->integer = param->integer;
    } else {
        number->real = param->real;
    }
    return SQL_SUCCEEDED(SQLBindParameter(statement->handle, (SQLUSMALLINT)(index + 1),
                                          SQL_PARAM_INPUT, c_types[param->type],
                                          sql_type_of(param->type, size), size > 0 ? size : 1, 0,
                                          is_text ? text.out : number, (SQLLEN)size, length));
}

bool odbc_statement_open(struct odbc_client *client, struct arena *arena, size_t param_count,
                         struct odbc_statement **out, struct err *err)
{
    struct odbc_statement *statement = ARENA_NEW(arena, struct odbc_statement);
    if (statement == NULL) {
        return err_memory(err);
    }
    statement->numbers = ARENA_ARRAY(arena, union odbc_number, param_count);
    statement->lengths = ARENA_ARRAY(arena, SQLLEN, param_count);
    if (statement->numbers == NULL || statement->lengths == NULL) {
        return err_memory(err);
    }
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_STMT, client->connection, &statement->handle))) {
        return odbc_error(SQL_HANDLE_DBC, client->connection, ERR_CODE_connection, err);
    }
    *out = statement;
    return true;
}

/* One that was prepared and never run has a result in some drivers, which only this frees. */
void odbc_statement_close(struct odbc_statement *statement)
{
    (void)SQLFreeStmt(statement->handle, SQL_CLOSE);
    (void)SQLFreeHandle(SQL_HANDLE_STMT, statement->handle);
}

/* Types are bound before the columns are asked for: that makes lazy drivers ask the server. */
bool odbc_statement_prepare(struct odbc_client *client, struct odbc_statement *statement,
                            const char *sql, const enum param_type *types, size_t type_count,
                            struct err *err)
{
    SQLSMALLINT found = 0;
    SQLSMALLINT column_count = 0;
    union {
        const char *in;
        SQLCHAR *out;
    } text = {.in = sql};
    (void)SQLFreeStmt(statement->handle, SQL_RESET_PARAMS);
    bool ok = SQL_SUCCEEDED(SQLPrepare(statement->handle, text.out, SQL_NTS)) &&
              SQL_SUCCEEDED(SQLNumParams(statement->handle, &found));
    if (ok && (size_t)found != type_count) {
        return err_set(err, ERR_CODE_bug, "%zu parameters given for %d in: %.200s", type_count,
                       found, sql);
    }
    for (size_t i = 0; ok && i < type_count; i++) {
        const struct param sample = {.type = types[i]};
        ok = odbc_bind(statement, i, &sample);
    }
    ok = ok && SQL_SUCCEEDED(SQLNumResultCols(statement->handle, &column_count));
    if (!ok) {
        odbc_keep_failure(client, SQL_HANDLE_STMT, statement->handle);
        *err = client->failure;
        return err_while(err, "preparing: %.100s", sql);
    }
    client->writes = client->writes || column_count == 0;
    return true;
}

static bool client_prepare(struct session *session, unsigned slot, const char *sql,
                           const enum param_type *types, size_t type_count, int64_t deadline,
                           struct err *err)
{
    struct odbc_client *client = odbc_client_of(session);
    assert(slot < ODBC_SLOTS && type_count <= ODBC_SLOT_PARAMS);
    if (client->slots[slot] == NULL &&
        !odbc_statement_open(client, &client->arena, ODBC_SLOT_PARAMS, &client->slots[slot], err)) {
        return false;
    }
    struct odbc_statement *statement = client->slots[slot];
    session->driver->bound(session, deadline);
    if (!odbc_call_begin(client, statement->handle)) {
        *err = client->failure;
        return false;
    }
    bool ok = odbc_statement_prepare(client, statement, sql, types, type_count, err);
    odbc_call_end(client);
    return ok;
}

static bool client_send(struct session *session, unsigned slot, const struct param *params,
                        size_t param_count, struct err *err UNUSED)
{
    struct odbc_client *client = odbc_client_of(session);
    assert(slot < ODBC_SLOTS && client->slots[slot] != NULL);
    struct odbc_statement *statement = client->slots[slot];
    for (size_t i = 0; i < param_count; i++) {
        if (!odbc_bind(statement, i, &params[i])) {
            odbc_keep_failure(client, SQL_HANDLE_STMT, statement->handle);
            return true;
        }
    }
    odbc_run(client, statement->handle, NULL);
    return true;
}

static void client_bound(struct session *session, int64_t deadline)
{
    odbc_client_of(session)->deadline = deadline == CLOCK_NEVER ? 0 : deadline;
}

static enum session_state client_pump(struct session *session, struct err *err)
{
    struct odbc_client *client = odbc_client_of(session);
    if (!client->has_failed) {
        return SESSION_DONE;
    }
    *err = client->failure;
    return SESSION_FAILED;
}

static bool client_rows(struct session *session, row_visitor visit, void *context, struct err *err)
{
    return kept_visit(&odbc_client_of(session)->rows, visit, context, err);
}

static int64_t client_affected(struct session *session)
{
    return odbc_client_of(session)->affected;
}

static int client_socket(struct session *session UNUSED)
{
    return -1;
}

/* ---- cancel ---- */

static void *ask_once_cancelled(void *context)
{
    struct odbc_client *client = context;
    pthread_mutex_lock(&client->mutex);
    odbc_keep_asking(client);
    pthread_mutex_unlock(&client->mutex);
    leave(client);
    return NULL;
}

static void start_asking(struct odbc_client *client)
{
    pthread_t thread;
    pthread_attr_t attributes;
    bool is_started = false;
    if (pthread_attr_init(&attributes) == 0) {
        is_started = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
                     pthread_attr_setstacksize(&attributes, CANCEL_STACK_BYTES) == 0 &&
                     pthread_create(&thread, &attributes, ask_once_cancelled, client) == 0;
        pthread_attr_destroy(&attributes);
    }
    if (!is_started) {
        leave(client);
    }
}

/* From any thread while the session is open. */
static void client_cancel(struct session *session)
{
    struct odbc_client *client = odbc_client_of(session);
    pthread_mutex_lock(&client->mutex);
    bool must_ask = !client->is_cancelled && client->running != NULL;
    client->is_cancelled = true;
    client->user_count += must_ask;
    pthread_mutex_unlock(&client->mutex);
    if (must_ask) {
        start_asking(client);
    }
}

/* ---- the tables ---- */

#define SESSION(name, dialect_)                                                                    \
    static bool open_##name(const struct session_spec *spec, int64_t deadline,                     \
                            struct session **out, struct err *err)                                 \
    {                                                                                              \
        return open_client(odbc_session(dialect_), spec, deadline, out, err);                      \
    }                                                                                              \
    static const struct session_driver name##_session = {.dialect = dialect_,                      \
                                                         .open = open_##name,                      \
                                                         .close = client_close,                    \
                                                         .prepare = client_prepare,                \
                                                         .send = client_send,                      \
                                                         .send_text = client_send_text,            \
                                                         .begin = client_begin,                    \
                                                         .commit = client_commit,                  \
                                                         .rollback = client_rollback,              \
                                                         .pump = client_pump,                      \
                                                         .bound = client_bound,                    \
                                                         .rows = client_rows,                      \
                                                         .affected = client_affected,              \
                                                         .classify = odbc_classify,                \
                                                         .socket = client_socket,                  \
                                                         .cancel = client_cancel,                  \
                                                         .bulk_open = odbc_bulk_open,              \
                                                         .bulk_row = odbc_bulk_row,                \
                                                         .bulk_close = odbc_bulk_close}

SESSION(postgresql, DIALECT_POSTGRESQL);
SESSION(mysql, DIALECT_MYSQL);
SESSION(sqlite, DIALECT_SQLITE);
SESSION(other, DIALECT_OTHER);

const struct session_driver *odbc_session(enum dialect dialect)
{
    switch (dialect) {
    case DIALECT_POSTGRESQL:
        return &postgresql_session;
    case DIALECT_MYSQL:
        return &mysql_session;
    case DIALECT_SQLITE:
        return &sqlite_session;
    case DIALECT_OTHER:
        break;
    }
    return &other_session;
}
