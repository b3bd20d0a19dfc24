/*
 * One call of an ODBC session from its beginning to its result, and what its errors mean.
 *
 * A deadline is watched by a thread, which asks the driver to end the call: what drivers make of
 * SQL_ATTR_QUERY_TIMEOUT costs requests of their own, or is nothing. It asks again while the call
 * lasts, as the thread of cancel does, because a request that comes before the statement has
 * reached the server does nothing.
 */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "backends/odbc/client.h"
#include "sweeper/base/text.h"

enum {
    FIRST_BYTES = 256, /* of a value, before its length is known */
    CANCEL_TRIES = 50,
    CANCEL_PAUSE_MS = 100
};

/* ---- errors ---- */

static bool has_code(int native, const int *codes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (codes[i] == native) {
            return true;
        }
    }
    return false;
}

/* Native codes mean something where the dialect tells whose they are. */
static bool is_retry(enum dialect dialect, const struct err *err)
{
    static const int mysql[] = {1205, 1213};
    static const int sqlite[] = {5, 6}; /* busy, locked */
    const char *state = odbc_sqlstate(err);
    return strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0 ||
           strcmp(state, "55P03") == 0 ||
           (dialect == DIALECT_MYSQL && has_code(err->native, mysql, COUNT_OF(mysql))) ||
           (dialect == DIALECT_SQLITE && has_code(err->native & 0xff, sqlite, COUNT_OF(sqlite)));
}

static bool is_lost(enum dialect dialect, const struct err *err)
{
    static const char *const states[] = {"08", "57P0", "HYT", "HY117"};
    static const int mysql[] = {1053, 1927, 2006, 2013, 2055, 4031, 5013, 5014};
    static const int sqlite[] = {9, 10, 11, 14, 26}; /* interrupted, or no file to work on */
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        if (text_starts_with(odbc_sqlstate(err), states[i])) {
            return true;
        }
    }
    return (dialect == DIALECT_MYSQL && has_code(err->native, mysql, COUNT_OF(mysql))) ||
           (dialect == DIALECT_SQLITE && has_code(err->native & 0xff, sqlite, COUNT_OF(sqlite)));
}

enum session_failure odbc_classify(const struct session *session, const struct err *err)
{
    enum dialect dialect = session->driver->dialect;
    if (err->code == ERR_CODE_connection || err->code == ERR_CODE_timeout) {
        return SESSION_LOST;
    }
    return is_retry(dialect, err)  ? SESSION_RETRY
           : is_lost(dialect, err) ? SESSION_LOST
                                   : SESSION_WRONG;
}

static bool is_cancelled(struct odbc_client *client)
{
    pthread_mutex_lock(&client->mutex);
    bool is = client->is_cancelled;
    pthread_mutex_unlock(&client->mutex);
    return is;
}

/* Errors come out of pump, as they do where the answer comes later. */
bool odbc_keep_failure(struct odbc_client *client, SQLSMALLINT type, SQLHANDLE handle)
{
    struct err *failure = &client->failure;
    err_clear(failure);
    odbc_error(type, handle, ERR_CODE_statement, failure);
    struct err said = *failure;
    bool is_late = client->deadline != 0 && clock_passed(client->deadline);
    if (is_late || is_cancelled(client) || is_lost(client->base.driver->dialect, &said)) {
        err_set(failure, is_late ? ERR_CODE_timeout : ERR_CODE_connection, "%s", said.text);
        err_native(failure, said.native, said.native_text);
    }
    client->has_failed = true;
    return false;
}

static bool keep_memory_failure(struct odbc_client *client)
{
    err_clear(&client->failure);
    err_set(&client->failure, ERR_CODE_statement, "the result does not fit %d MiB",
            ODBC_MEMORY_MIB);
    client->has_failed = true;
    return false;
}

/* ---- calls ---- */

static void wait_for_end(struct odbc_client *client, int64_t until)
{
    const struct timespec at = {.tv_sec = (time_t)(until / NS_PER_S),
                                .tv_nsec = (long)(until % NS_PER_S)};
    pthread_cond_timedwait(&client->has_ended, &client->mutex, &at);
}

/* Asks the driver to end the call that is under way. The mutex is held, but not while it asks;
 * handles live as long as the session. */
void odbc_keep_asking(struct odbc_client *client)
{
    for (int i = 0; client->running != NULL && i < CANCEL_TRIES; i++) {
        SQLHSTMT handle = client->running;
        pthread_mutex_unlock(&client->mutex);
        (void)SQLCancel(handle);
        pthread_mutex_lock(&client->mutex);
        if (client->running != NULL) {
            wait_for_end(client, clock_now_ns() + CANCEL_PAUSE_MS * NS_PER_MS);
        }
    }
}

static void *watch_deadline(void *context)
{
    struct odbc_client *client = context;
    pthread_mutex_lock(&client->mutex);
    while (client->running != NULL && !clock_passed(client->deadline)) {
        wait_for_end(client, client->deadline);
    }
    odbc_keep_asking(client);
    pthread_mutex_unlock(&client->mutex);
    return NULL;
}

static bool fail_before(struct odbc_client *client, enum err_code code, const char *text)
{
    err_clear(&client->failure);
    err_set(&client->failure, code, "%s", text);
    client->has_failed = true;
    client->deadline = 0;
    return false;
}

bool odbc_call_begin(struct odbc_client *client, SQLHSTMT handle)
{
    kept_clear(&client->rows);
    client->affected = 0;
    client->has_failed = false;
    pthread_mutex_lock(&client->mutex);
    bool is_refused = client->is_cancelled;
    client->running = is_refused ? NULL : handle;
    pthread_mutex_unlock(&client->mutex);
    if (is_refused) {
        return fail_before(client, ERR_CODE_connection, "the session was cancelled");
    }
    if (client->deadline != 0 &&
        pthread_create(&client->watch, NULL, watch_deadline, client) != 0) {
        return fail_before(client, ERR_CODE_workload, "cannot start a thread");
    }
    return true;
}

void odbc_call_end(struct odbc_client *client)
{
    pthread_mutex_lock(&client->mutex);
    client->running = NULL;
    pthread_cond_broadcast(&client->has_ended);
    pthread_mutex_unlock(&client->mutex);
    if (client->deadline != 0) {
        pthread_join(client->watch, NULL);
        client->deadline = 0;
    }
}

bool odbc_set_manual(struct odbc_client *client, bool is_manual)
{
    uintptr_t value = is_manual ? SQL_AUTOCOMMIT_OFF : SQL_AUTOCOMMIT_ON;
    if (is_manual == client->is_manual) {
        return true;
    }
    if (!SQL_SUCCEEDED(SQLSetConnectAttr(client->connection, SQL_ATTR_AUTOCOMMIT, (SQLPOINTER)value,
                                         SQL_IS_UINTEGER))) {
        return odbc_keep_failure(client, SQL_HANDLE_DBC, client->connection);
    }
    client->is_manual = is_manual;
    return true;
}

/* ---- results ---- */

/* One value, in as many pieces as it takes. */
static bool keep_value(struct odbc_client *client, SQLHSTMT handle, SQLUSMALLINT column)
{
    size_t used = 0;
    size_t room = FIRST_BYTES;
    while (room <= (size_t)ODBC_MEMORY_MIB * 1024 * 1024) {
        char *at = NULL;
        SQLLEN left = 0;
        if (!kept_reserve(&client->rows, room, &at)) {
            return keep_memory_failure(client);
        }
        if (!SQL_SUCCEEDED(
                SQLGetData(handle, column, SQL_C_CHAR, at + used, (SQLLEN)(room - used), &left))) {
            return odbc_keep_failure(client, SQL_HANDLE_STMT, handle);
        }
        if (left == SQL_NULL_DATA) {
            kept_end(&client->rows, -1);
            return true;
        }
        if (left >= 0 && (size_t)left < room - used) {
            kept_end(&client->rows, (int32_t)(used + (size_t)left));
            return true;
        }
        size_t whole = left >= 0 ? used + (size_t)left + 1 : 2 * room;
        used = room - 1; /* the last byte is a terminator */
        room = whole;
    }
    return keep_memory_failure(client);
}

static bool keep_rows(struct odbc_client *client, SQLHSTMT handle, SQLUSMALLINT column_count)
{
    SQLRETURN status = SQL_SUCCESS;
    kept_clear(&client->rows);
    client->rows.column_count = column_count;
    while (SQL_SUCCEEDED(status = SQLFetch(handle))) {
        for (SQLUSMALLINT i = 1; i <= column_count; i++) {
            if (!keep_value(client, handle, i)) {
                return false;
            }
        }
    }
    return status == SQL_NO_DATA || odbc_keep_failure(client, SQL_HANDLE_STMT, handle);
}

static bool keep_count(struct odbc_client *client, SQLHSTMT handle)
{
    SQLLEN count = 0;
    if (!SQL_SUCCEEDED(SQLRowCount(handle, &count))) {
        return odbc_keep_failure(client, SQL_HANDLE_STMT, handle);
    }
    client->affected = count > 0 ? count : 0;
    return true;
}

/* Of several statements the last one's rows are the result. */
static bool keep_results(struct odbc_client *client, SQLHSTMT handle)
{
    SQLRETURN status = SQL_SUCCESS;
    while (SQL_SUCCEEDED(status)) {
        SQLSMALLINT column_count = 0;
        if (!SQL_SUCCEEDED(SQLNumResultCols(handle, &column_count))) {
            return odbc_keep_failure(client, SQL_HANDLE_STMT, handle);
        }
        if (!(column_count > 0 ? keep_rows(client, handle, (SQLUSMALLINT)column_count)
                               : keep_count(client, handle))) {
            return false;
        }
        status = SQLMoreResults(handle);
    }
    return status == SQL_NO_DATA || odbc_keep_failure(client, SQL_HANDLE_STMT, handle);
}

static SQLRETURN execute(SQLHSTMT handle, const char *sql)
{
    union {
        const char *in;
        SQLCHAR *out;
    } text = {.in = sql}; /* ODBC does not know const */
    return sql != NULL ? SQLExecDirect(handle, text.out, SQL_NTS) : SQLExecute(handle);
}

void odbc_run(struct odbc_client *client, SQLHSTMT handle, const char *sql)
{
    if (odbc_call_begin(client, handle)) {
        /* Statements outside of begin and commit are on their own. */
        if (client->in_transaction || odbc_set_manual(client, false)) {
            SQLRETURN status = execute(handle, sql);
            if (SQL_SUCCEEDED(status)) {
                keep_results(client, handle);
            } else if (status != SQL_NO_DATA) { /* that is: no row was changed */
                odbc_keep_failure(client, SQL_HANDLE_STMT, handle);
            }
            (void)SQLFreeStmt(handle, SQL_CLOSE);
        }
        odbc_call_end(client);
    }
}
