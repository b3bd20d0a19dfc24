/*
 * A PostgreSQL session over libpq's non-blocking calls, and for prepared statements and control of
 * transactions, where the connection is not encrypted, without them (exchange.h). Integers and
 * reals travel as binary int8 and float8 (an int4 column compares with int8 through the same
 * index); texts travel with their type left to the server, so that char(n) columns keep their
 * index. Where a statement needs another type it says so: `?::int`.
 *
 * cancel asks the server on a connection of its own (libpq knows no other way, and before 17 only
 * one that waits), so a detached thread does the asking; the session's socket is shut at once. A
 * session that is closed in the middle of a call is cancelled first: the server would go on.
 */
#include <endian.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "backends/postgresql/bulk.h"
#include "backends/postgresql/connection.h"
#include "backends/postgresql/exchange.h"
#include "backends/postgresql/placeholder.h"
#include "backends/postgresql/postgresql.h"
#include "sweeper/base/text.h"

enum {
    SLOT_COUNT = 256,
    PARAM_LIMIT = 64,
    COLUMN_LIMIT = 128,
    NAME_BYTES = 8,
    MEMORY_LIMIT_BYTES = 64 * 1024 * 1024,
    CANCEL_STACK_BYTES = 256 * 1024
};
enum { OID_UNKNOWN = 0, OID_INT8 = 20, OID_FLOAT8 = 701 };

struct pg_session {
    struct session base;
    struct arena arena; /* holds this struct */
    PGconn *conn;
    PGresult *result;     /* of the finished call */
    PGresult *failure;    /* the first error of the call under way */
    struct err *farewell; /* what the server said before it closed the connection; NULL: nothing */
    bool is_busy;
    bool is_flushed;
    bool is_copying;   /* the statement asked for COPY */
    struct bytes rows; /* for it; data NULL: the caller has none, and does not speak COPY */
    bool is_prepared[SLOT_COUNT];
    char *texts; /* terminated copies of text parameters, for the length of a send */
    size_t text_capacity;
    struct exchange exchange; /* of calls spoken by hand */
    bool can_exchange;
    bool is_exchange; /* the last call was one */
};

static struct pg_session *pg_of(struct session *session)
{
    return (struct pg_session *)session;
}

static void forget_results(struct pg_session *pg)
{
    PQclear(pg->result);
    PQclear(pg->failure);
    pg->result = NULL;
    pg->failure = NULL;
}

/* A server that closes a connection on which no call is under way says why, and libpq takes that
 * for a notice. */
static void keep_farewell(void *context, const PGresult *notice)
{
    struct pg_session *pg = context;
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == NULL || (strcmp(severity, "FATAL") != 0 && strcmp(severity, "PANIC") != 0) ||
        pg->farewell != NULL) {
        return;
    }
    pg->farewell = ARENA_NEW(&pg->arena, struct err);
    if (pg->farewell != NULL) {
        connection_result_error(notice, ERR_CODE_connection, pg->farewell);
    }
}

static bool lose(struct pg_session *pg, struct err *err)
{
    pg->is_busy = false;
    if (pg->failure == NULL && pg->farewell != NULL) {
        *err = *pg->farewell;
        return false;
    }
    return pg->failure != NULL ? connection_result_error(pg->failure, ERR_CODE_connection, err)
                               : connection_error(pg->conn, err);
}

static bool pg_open(const struct session_spec *spec, int64_t deadline, struct session **out,
                    struct err *err)
{
    struct arena arena;
    arena_open(&arena, MEMORY_LIMIT_BYTES);
    struct pg_session *pg = ARENA_NEW(&arena, struct pg_session);
    if (pg == NULL) {
        return err_memory(err);
    }
    if (!connection_open(spec, deadline, &pg->conn, err)) {
        arena_close(&arena);
        return false;
    }
    pg->base.driver = &postgresql_session;
    pg->arena = arena;
    PQsetNoticeReceiver(pg->conn, keep_farewell, pg);
    pg->can_exchange = exchange_suits(pg->conn);
    exchange_open(&pg->exchange, PQsocket(pg->conn));
    *out = &pg->base;
    return true;
}

/* ---- calls ---- */

/* Before libpq is given a call. */
static bool give_to_libpq(struct pg_session *pg, struct err *err)
{
    forget_results(pg);
    pg->is_exchange = false;
    return exchange_settle(&pg->exchange, err);
}

static bool begin_exchange(struct pg_session *pg, bool ok)
{
    forget_results(pg);
    pg->is_exchange = true;
    pg->is_busy = ok;
    return ok;
}

/* Where a call of libpq begins or could not begin. */
static bool begin_call(struct pg_session *pg, int sent, struct err *err)
{
    if (sent != 1) {
        return lose(pg, err);
    }
    pg->is_busy = true;
    pg->is_flushed = PQflush(pg->conn) == 0;
    pg->rows = (struct bytes){0};
    return true;
}

static enum session_state pg_sent(const struct session *session)
{
    const struct pg_session *pg = (const struct pg_session *)session;
    bool is_sent = pg->is_exchange ? exchange_is_sent(&pg->exchange) : pg->is_flushed;
    return is_sent ? SESSION_WANT_READ : SESSION_DONE;
}

/* Of a connection that broke: what the server said last, if it said something. */
static enum session_state pump_lost(struct pg_session *pg, struct err *err)
{
    enum { RESULT_LIMIT = 8 };
    for (int i = 0; i < RESULT_LIMIT && pg->failure == NULL && !PQisBusy(pg->conn); i++) {
        PGresult *result = PQgetResult(pg->conn);
        if (PQresultErrorField(result, PG_DIAG_SQLSTATE) != NULL) {
            pg->failure = result;
        } else {
            PQclear(result);
        }
    }
    lose(pg, err);
    return SESSION_FAILED;
}

static enum session_state end_call(struct pg_session *pg, struct err *err)
{
    if (PQstatus(pg->conn) != CONNECTION_OK) {
        lose(pg, err);
        return SESSION_FAILED;
    }
    pg->is_busy = false;
    if (pg->failure != NULL) {
        connection_result_error(pg->failure, ERR_CODE_statement, err);
        return SESSION_FAILED;
    }
    return SESSION_DONE;
}

/* Keeps the last result and the first error; statements of a text come one after the other. */
static void keep_result(struct pg_session *pg, PGresult *result)
{
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        PQclear(pg->result);
        pg->result = result;
        return;
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
        pg->is_copying = true;
        PQclear(result);
        return;
    default:
        break;
    }
    if (pg->failure == NULL) {
        pg->failure = result;
    } else {
        PQclear(result);
    }
}

static enum session_state refuse_copy(struct pg_session *pg, struct err *err)
{
    pg->is_busy = false;
    connection_refuse_copy(PQsocket(pg->conn), err);
    return SESSION_FAILED;
}

/* The library takes all at once, in memory of its own, and sends it as it can. */
static enum session_state give_rows(struct pg_session *pg, struct err *err)
{
    if (pg->rows.data == NULL) {
        return refuse_copy(pg, err);
    }
    if (PQputCopyData(pg->conn, pg->rows.data, (int)pg->rows.size) != 1 ||
        PQputCopyEnd(pg->conn, NULL) != 1) {
        return pump_lost(pg, err);
    }
    pg->is_copying = false;
    pg->is_flushed = false;
    pg->rows = (struct bytes){0};
    return SESSION_WANT_WRITE;
}

/* Reads as far as it can; WANT_WRITE where rows of a COPY are to be sent now. */
static enum session_state read_results(struct pg_session *pg, struct err *err)
{
    while (!PQisBusy(pg->conn)) {
        PGresult *result = PQgetResult(pg->conn);
        if (result == NULL) {
            return end_call(pg, err);
        }
        keep_result(pg, result);
        if (pg->is_copying) {
            return give_rows(pg, err);
        }
    }
    return SESSION_WANT_READ;
}

static enum session_state pump_exchange(struct pg_session *pg, struct err *err)
{
    enum session_state state = exchange_pump(&pg->exchange, err);
    pg->is_busy = state == SESSION_WANT_READ || state == SESSION_WANT_WRITE;
    if (state == SESSION_FAILED && err->code == ERR_CODE_connection && pg->farewell != NULL &&
        !pg->exchange.has_failed) {
        *err = *pg->farewell;
    }
    return state;
}

static enum session_state pg_pump(struct session *session, struct err *err)
{
    struct pg_session *pg = pg_of(session);
    enum session_state state = SESSION_WANT_WRITE;
    if (!pg->is_busy) {
        return SESSION_DONE;
    }
    if (pg->is_exchange) {
        return pump_exchange(pg, err);
    }
    if (PQconsumeInput(pg->conn) == 0) {
        return pump_lost(pg, err);
    }
    while (state == SESSION_WANT_WRITE) {
        int unsent = pg->is_flushed ? 0 : PQflush(pg->conn);
        if (unsent < 0) {
            return pump_lost(pg, err);
        }
        if (unsent > 0) {
            return SESSION_WANT_WRITE;
        }
        pg->is_flushed = true;
        state = read_results(pg, err);
    }
    return state;
}

static bool pg_send_text(struct session *session, const char *sql, struct err *err)
{
    struct pg_session *pg = pg_of(session);
    return give_to_libpq(pg, err) && begin_call(pg, PQsendQuery(pg->conn, sql), err);
}

static bool send_control(struct session *session, const char *sql, struct err *err)
{
    struct pg_session *pg = pg_of(session);
    return pg->can_exchange ? begin_exchange(pg, exchange_send_text(&pg->exchange, sql, err))
                            : pg_send_text(session, sql, err);
}

bool pg_send_copy(struct session *session, const char *sql, struct bytes rows, struct err *err)
{
    struct pg_session *pg = pg_of(session);
    assert(rows.size <= INT_MAX);
    if (!pg_send_text(session, sql, err)) {
        return false;
    }
    pg->rows = rows;
    return true;
}

static bool pg_begin(struct session *session, struct err *err)
{
    return send_control(session, "begin", err);
}

static bool pg_commit(struct session *session, struct err *err)
{
    return send_control(session, "commit", err);
}

static bool pg_rollback(struct session *session, struct err *err)
{
    return send_control(session, "rollback", err);
}

/* ---- prepared statements ---- */

static void name_slot(unsigned slot, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "s%u", slot % SLOT_COUNT);
}

static bool free_slot(struct pg_session *pg, unsigned slot, const char *name, int64_t deadline,
                      struct err *err)
{
    char sql[32];
    if (!pg->is_prepared[slot]) {
        return true;
    }
    snprintf(sql, sizeof sql, "deallocate %s", name);
    pg->is_prepared[slot] = false;
    return session_execute(&pg->base, sql, NULL, NULL, deadline, err);
}

static bool pg_prepare(struct session *session, unsigned slot, const char *sql,
                       const enum param_type *types, size_t type_count, int64_t deadline,
                       struct err *err)
{
    struct pg_session *pg = pg_of(session);
    char name[NAME_BYTES];
    Oid oids[PARAM_LIMIT];
    struct text numbered;
    assert(slot < SLOT_COUNT && type_count <= PARAM_LIMIT);
    name_slot(slot, name);
    text_open(&numbered, &pg->arena);
    size_t found = placeholder_number(sql, &numbered);
    const char *text = text_done(&numbered);
    if (text == NULL) {
        return err_memory(err);
    }
    if (found != type_count) {
        return err_set(err, ERR_CODE_bug, "%zu parameters given for %zu in: %.200s", type_count,
                       found, sql);
    }
    for (size_t i = 0; i < type_count; i++) {
        oids[i] = types[i] == PARAM_INT    ? OID_INT8
                  : types[i] == PARAM_REAL ? OID_FLOAT8
                                           : OID_UNKNOWN;
    }
    if (!free_slot(pg, slot, name, deadline, err)) {
        return false;
    }
    if (!give_to_libpq(pg, err)) {
        return false;
    }
    int sent = PQsendPrepare(pg->conn, name, text, (int)type_count, oids);
    if (!begin_call(pg, sent, err) || !session_wait(session, deadline, err)) {
        return err_while(err, "preparing: %.100s", sql);
    }
    pg->is_prepared[slot] = true;
    return true;
}

struct wire_params {
    uint64_t numbers[PARAM_LIMIT];
    const char *values[PARAM_LIMIT];
    int lengths[PARAM_LIMIT];
    int formats[PARAM_LIMIT];
};

/* libpq wants texts with a terminator; ours are byte ranges. */
static bool reserve_texts(struct pg_session *pg, const struct param *params, size_t count,
                          struct err *err)
{
    size_t needed = 0;
    for (size_t i = 0; i < count; i++) {
        needed += params[i].type == PARAM_TEXT ? params[i].text.size + 1 : 0;
    }
    if (needed <= pg->text_capacity) {
        return true;
    }
    pg->texts = arena_alloc(&pg->arena, needed * 2);
    pg->text_capacity = pg->texts != NULL ? needed * 2 : 0;
    return pg->texts != NULL || err_memory(err);
}

static void encode_params(struct pg_session *pg, const struct param *params, size_t count,
                          struct wire_params *out)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct param *param = &params[i];
        out->formats[i] = param->type != PARAM_TEXT;
        out->lengths[i] = sizeof out->numbers[i];
        if (param->type != PARAM_TEXT) {
            uint64_t bits = (uint64_t)param->integer;
            if (param->type == PARAM_REAL) {
                memcpy(&bits, &param->real, sizeof bits);
            }
            out->numbers[i] = htobe64(bits);
            out->values[i] = (const char *)&out->numbers[i];
        } else if (param->text.data == NULL) {
            out->values[i] = NULL;
        } else {
            memcpy(pg->texts + used, param->text.data, param->text.size);
            pg->texts[used + param->text.size] = '\0';
            out->values[i] = pg->texts + used;
            used += param->text.size + 1;
        }
    }
}

static bool pg_send(struct session *session, unsigned slot, const struct param *params,
                    size_t param_count, struct err *err)
{
    struct pg_session *pg = pg_of(session);
    char name[NAME_BYTES];
    struct wire_params wire;
    assert(slot < SLOT_COUNT && param_count <= PARAM_LIMIT);
    name_slot(slot, name);
    if (pg->can_exchange) {
        return begin_exchange(pg, exchange_send(&pg->exchange, name, params, param_count, err));
    }
    if (!reserve_texts(pg, params, param_count, err)) {
        return false;
    }
    encode_params(pg, params, param_count, &wire);
    if (!give_to_libpq(pg, err)) {
        return false;
    }
    return begin_call(pg,
                      PQsendQueryPrepared(pg->conn, name, (int)param_count, wire.values,
                                          wire.lengths, wire.formats, 0),
                      err);
}

/* ---- answers ---- */

static bool pg_rows(struct session *session, row_visitor visit, void *context, struct err *err)
{
    struct pg_session *pg = pg_of(session);
    struct bytes columns[COLUMN_LIMIT];
    if (pg->is_exchange) {
        return exchange_rows(&pg->exchange, visit, context, err);
    }
    int column_count = PQnfields(pg->result);
    if (column_count > COLUMN_LIMIT) {
        return err_set(err, ERR_CODE_unsupported, "a row of %d columns is more than %d",
                       column_count, COLUMN_LIMIT);
    }
    for (int row = 0; row < PQntuples(pg->result); row++) {
        for (int i = 0; i < column_count; i++) {
            bool is_null = PQgetisnull(pg->result, row, i) == 1;
            columns[i] =
                (struct bytes){.data = is_null ? NULL : PQgetvalue(pg->result, row, i),
                               .size = is_null ? 0 : (size_t)PQgetlength(pg->result, row, i)};
        }
        const struct row seen = {.column_count = (size_t)column_count, .columns = columns};
        if (!visit(context, &seen)) {
            break;
        }
    }
    return true;
}

/* A SELECT reports the rows it read, which are no rows changed. */
static int64_t pg_affected(struct session *session)
{
    const struct pg_session *pg = pg_of(session);
    PGresult *result = pg->result;
    if (pg->is_exchange) {
        return pg->exchange.affected;
    }
    if (result == NULL || text_starts_with(PQcmdStatus(result), "SELECT")) {
        return 0;
    }
    return strtoll(PQcmdTuples(result), NULL, 10);
}

static enum session_failure pg_classify(const struct session *session, const struct err *err)
{
    static const char *const retried[] = {"40001", "40P01", "55P03"};
    static const char *const lost[] = {"08", "57P0"}; /* connection; shutdown, crash, start-up */
    const struct pg_session *pg = (const struct pg_session *)session;
    const char *sqlstate = connection_sqlstate(err);
    for (size_t i = 0; i < COUNT_OF(retried); i++) {
        if (strcmp(sqlstate, retried[i]) == 0) {
            return SESSION_RETRY;
        }
    }
    for (size_t i = 0; i < COUNT_OF(lost); i++) {
        if (text_starts_with(sqlstate, lost[i])) {
            return SESSION_LOST;
        }
    }
    bool is_lost = err->code == ERR_CODE_connection || err->code == ERR_CODE_timeout ||
                   pg->is_copying || PQstatus(pg->conn) != CONNECTION_OK;
    return is_lost ? SESSION_LOST : SESSION_WRONG;
}

static int pg_socket(struct session *session)
{
    return PQsocket(pg_of(session)->conn);
}

static void *ask_to_cancel(void *context)
{
    char ignored[256];
    PGcancel *request = context;
    PQcancel(request, ignored, sizeof ignored);
    PQfreeCancel(request);
    return NULL;
}

static void cancel_call(const struct pg_session *pg)
{
    pthread_attr_t attributes;
    pthread_t thread;
    PGcancel *request = PQgetCancel(pg->conn);
    if (request == NULL) {
        return;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, CANCEL_STACK_BYTES);
    if (pthread_create(&thread, &attributes, ask_to_cancel, request) != 0) {
        PQfreeCancel(request);
    }
    pthread_attr_destroy(&attributes);
}

/* Leaves the fields of the session alone, for another thread may be pumping it. */
static void pg_cancel(struct session *session)
{
    const struct pg_session *pg = pg_of(session);
    int descriptor = PQsocket(pg->conn);
    cancel_call(pg);
    if (descriptor >= 0) {
        shutdown(descriptor, SHUT_RDWR);
    }
}

static void pg_close(struct session *session)
{
    if (session == NULL) {
        return;
    }
    struct pg_session *pg = pg_of(session);
    if (pg->is_busy) {
        cancel_call(pg);
    }
    forget_results(pg);
    PQfinish(pg->conn);
    exchange_close(&pg->exchange);
    struct arena arena = pg->arena;
    arena_close(&arena);
}

const struct session_driver postgresql_session = {
    .dialect = DIALECT_POSTGRESQL,
    .open = pg_open,
    .close = pg_close,
    .prepare = pg_prepare,
    .send = pg_send,
    .send_text = pg_send_text,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .pump = pg_pump,
    .sent = pg_sent,
    .rows = pg_rows,
    .affected = pg_affected,
    .classify = pg_classify,
    .socket = pg_socket,
    .cancel = pg_cancel,
    .bulk_open = pg_bulk_open,
    .bulk_row = pg_bulk_row,
    .bulk_close = pg_bulk_close,
};
