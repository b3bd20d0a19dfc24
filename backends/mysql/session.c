/*
 * A session over the non-blocking calls of MariaDB Connector/C. Each of its operations is a step
 * that may stop where it would wait; pump goes on with the step and from one step to the next.
 * Prepared statements travel in binary form and come back as text (rows.c). A call that is
 * abandoned is killed over a connection of its own (kill.c); the socket is shut at once.
 */
#include <string.h>
#include <sys/socket.h>

#include "backends/mysql/call.h"
#include "backends/mysql/connection.h"
#include "backends/mysql/mysql.h"
#include "sweeper/base/text.h"

enum { SLOT_COUNT = 256, PARAM_LIMIT = 64, MEMORY_LIMIT_BYTES = 256 * 1024 * 1024 };
enum { LOCK_WAIT_TIMEOUT = 1205, DEADLOCK = 1213, RECORD_CHANGED = 1020, XA_DEADLOCK = 1614 };

enum step {
    STEP_NONE,
    STEP_QUERY,
    STEP_STORE,
    STEP_NEXT,
    STEP_PREPARE,
    STEP_EXECUTE,
    STEP_STORE_STATEMENT,
    STEP_NEXT_STATEMENT
};

/* A prepared statement with what its parameters are read from. */
struct slot {
    MYSQL_STMT *statement;
    size_t param_count;
    MYSQL_BIND *binds;
    struct param *values;
    unsigned long *lengths;
    my_bool *nulls;
    bool is_bound;
};

struct growing {
    char *data;
    size_t capacity;
};

struct my_session {
    struct session base;
    struct arena arena; /* holds this struct */
    MYSQL *mysql;
    int descriptor;
    const char *connect; /* for a connection that kills this one */
    const char *password;
    struct slot slots[SLOT_COUNT];
    struct slot *current; /* of the call under way or finished; NULL: a text */
    enum step step;
    int status; /* what the library waits for; 0: the step is over */
    int failed; /* what the step's function returned */
    MYSQL_RES *result;
    int64_t affected;
    struct growing sql;
    size_t sql_bytes;
    struct my_row_space *rows;
};

static struct my_session *my_of(struct session *session)
{
    return (struct my_session *)session;
}

static bool reserve(struct my_session *my, struct growing *growing, size_t size, struct err *err)
{
    if (size <= growing->capacity) {
        return true;
    }
    growing->data = arena_alloc(&my->arena, size * 2);
    growing->capacity = growing->data != NULL ? size * 2 : 0;
    return growing->data != NULL || err_memory(err);
}

static bool my_open(const struct session_spec *spec, int64_t deadline, struct session **out,
                    struct err *err)
{
    struct arena arena;
    arena_open(&arena, MEMORY_LIMIT_BYTES);
    struct my_session *my = ARENA_NEW(&arena, struct my_session);
    const char *connect = arena_strdup(&arena, spec->connect != NULL ? spec->connect : "");
    const char *password = spec->password != NULL ? arena_strdup(&arena, spec->password) : NULL;
    bool has_room = my != NULL && connect != NULL && (password != NULL || spec->password == NULL);
    if (!has_room || !my_connect(spec, deadline, &my->mysql, err)) {
        arena_close(&arena);
        return has_room ? false : err_memory(err);
    }
    my->base.driver = &mysql_session;
    my->descriptor = mysql_get_socket(my->mysql);
    my->connect = connect;
    my->password = password;
    my->arena = arena;
    *out = &my->base;
    return true;
}

/* ---- steps ---- */

static void start_step(struct my_session *my, enum step step)
{
    MYSQL_STMT *statement = my->current != NULL ? my->current->statement : NULL;
    my->step = step;
    switch (step) {
    case STEP_QUERY:
        my->status = mysql_real_query_start(&my->failed, my->mysql, my->sql.data,
                                            (unsigned long)my->sql_bytes);
        break;
    case STEP_STORE:
        my->status = mysql_store_result_start(&my->result, my->mysql);
        break;
    case STEP_NEXT:
        my->status = mysql_next_result_start(&my->failed, my->mysql);
        break;
    case STEP_PREPARE:
        my->status = mysql_stmt_prepare_start(&my->failed, statement, my->sql.data,
                                              (unsigned long)my->sql_bytes);
        break;
    case STEP_EXECUTE:
        my->status = mysql_stmt_execute_start(&my->failed, statement);
        break;
    case STEP_STORE_STATEMENT:
        my->status = mysql_stmt_store_result_start(&my->failed, statement);
        break;
    case STEP_NEXT_STATEMENT:
        my->status = mysql_stmt_next_result_start(&my->failed, statement);
        break;
    case STEP_NONE:
        break;
    }
}

/* The library tries what it waited for and says so where it must still wait: nothing is lost by
 * asking it too early. */
static void continue_step(struct my_session *my)
{
    MYSQL_STMT *statement = my->current != NULL ? my->current->statement : NULL;
    int came = my->status & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
    switch (my->step) {
    case STEP_QUERY:
        my->status = mysql_real_query_cont(&my->failed, my->mysql, came);
        break;
    case STEP_STORE:
        my->status = mysql_store_result_cont(&my->result, my->mysql, came);
        break;
    case STEP_NEXT:
        my->status = mysql_next_result_cont(&my->failed, my->mysql, came);
        break;
    case STEP_PREPARE:
        my->status = mysql_stmt_prepare_cont(&my->failed, statement, came);
        break;
    case STEP_EXECUTE:
        my->status = mysql_stmt_execute_cont(&my->failed, statement, came);
        break;
    case STEP_STORE_STATEMENT:
        my->status = mysql_stmt_store_result_cont(&my->failed, statement, came);
        break;
    case STEP_NEXT_STATEMENT:
        my->status = mysql_stmt_next_result_cont(&my->failed, statement, came);
        break;
    case STEP_NONE:
        break;
    }
}

static enum session_state fail_step(struct my_session *my, struct err *err)
{
    my->step = STEP_NONE;
    if (my->current != NULL) {
        my_statement_error(my->current->statement, ERR_CODE_statement, err);
    } else {
        my_error_of(my->mysql, ERR_CODE_statement, err);
    }
    return SESSION_FAILED;
}

/* The answer of a text is read: keeps the last result that has rows. */
static enum step after_answer(struct my_session *my)
{
    if (mysql_field_count(my->mysql) > 0) {
        mysql_free_result(my->result);
        my->result = NULL;
        my->affected = 0;
        return STEP_STORE;
    }
    my->affected = (int64_t)mysql_affected_rows(my->mysql);
    return mysql_more_results(my->mysql) ? STEP_NEXT : STEP_NONE;
}

static enum step after_statement(struct my_session *my)
{
    MYSQL_STMT *statement = my->current->statement;
    if (mysql_stmt_field_count(statement) > 0) {
        my->affected = 0;
        return STEP_STORE_STATEMENT;
    }
    my->affected = (int64_t)mysql_stmt_affected_rows(statement);
    return mysql_stmt_more_results(statement) ? STEP_NEXT_STATEMENT : STEP_NONE;
}

/* What follows the step that is over; STEP_NONE ends the call. */
static bool choose_next(struct my_session *my, enum step *out)
{
    switch (my->step) {
    case STEP_QUERY:
        *out = after_answer(my);
        return my->failed == 0;
    case STEP_NEXT:
        *out = my->failed == 0 ? after_answer(my) : STEP_NONE;
        return my->failed <= 0; /* -1: there was no further one */
    case STEP_STORE:
        *out = mysql_more_results(my->mysql) ? STEP_NEXT : STEP_NONE;
        return my->result != NULL;
    case STEP_EXECUTE:
        *out = my->failed == 0 ? after_statement(my) : STEP_NONE;
        return my->failed == 0;
    case STEP_NEXT_STATEMENT:
        *out = my->failed == 0 ? after_statement(my) : STEP_NONE;
        return my->failed <= 0;
    case STEP_STORE_STATEMENT:
        *out = mysql_stmt_more_results(my->current->statement) ? STEP_NEXT_STATEMENT : STEP_NONE;
        return my->failed == 0;
    case STEP_PREPARE:
    case STEP_NONE:
        break;
    }
    *out = STEP_NONE;
    return my->failed == 0;
}

static enum session_state my_pump(struct session *session, struct err *err)
{
    struct my_session *my = my_of(session);
    if (my->step != STEP_NONE && my->status != 0) {
        continue_step(my);
    }
    while (my->step != STEP_NONE) {
        enum step next = STEP_NONE;
        if (my->status != 0) {
            return (my->status & MYSQL_WAIT_WRITE) != 0 ? SESSION_WANT_WRITE : SESSION_WANT_READ;
        }
        if (!choose_next(my, &next)) {
            return fail_step(my, err);
        }
        start_step(my, next);
    }
    return SESSION_DONE;
}

static enum session_state my_sent(const struct session *session)
{
    const struct my_session *my = (const struct my_session *)session;
    bool only_reads =
        my->step != STEP_NONE && my->status != 0 && (my->status & MYSQL_WAIT_WRITE) == 0;
    return only_reads ? SESSION_WANT_READ : SESSION_DONE;
}

/* ---- calls ---- */

static void forget_result(struct my_session *my)
{
    mysql_free_result(my->result);
    my->result = NULL;
    my->affected = 0;
}

static bool keep_sql(struct my_session *my, struct bytes sql, struct err *err)
{
    if (!reserve(my, &my->sql, sql.size + 1, err)) {
        return false;
    }
    memcpy(my->sql.data, sql.data, sql.size);
    my->sql_bytes = sql.size;
    return true;
}

bool my_send_bytes(struct session *session, struct bytes sql, struct err *err)
{
    struct my_session *my = my_of(session);
    forget_result(my);
    my->current = NULL;
    if (!keep_sql(my, sql, err)) {
        return false;
    }
    start_step(my, STEP_QUERY);
    return true;
}

static bool my_send_text(struct session *session, const char *sql, struct err *err)
{
    return my_send_bytes(session, (struct bytes){.data = sql, .size = strlen(sql)}, err);
}

MYSQL *my_connection_of(struct session *session)
{
    return my_of(session)->mysql;
}

static bool my_begin(struct session *session, struct err *err)
{
    return my_send_text(session, "begin", err);
}

static bool my_commit(struct session *session, struct err *err)
{
    return my_send_text(session, "commit", err);
}

static bool my_session_rollback(struct session *session, struct err *err)
{
    return my_send_text(session, "rollback", err);
}

/* ---- prepared statements ---- */

static bool make_slot(struct my_session *my, struct slot *slot, size_t count, struct err *err)
{
    slot->binds = ARENA_ARRAY(&my->arena, MYSQL_BIND, count);
    slot->values = ARENA_ARRAY(&my->arena, struct param, count);
    slot->lengths = ARENA_ARRAY(&my->arena, unsigned long, count);
    slot->nulls = ARENA_ARRAY(&my->arena, my_bool, count);
    if (slot->binds == NULL || slot->values == NULL || slot->lengths == NULL ||
        slot->nulls == NULL) {
        return err_memory(err);
    }
    slot->param_count = count;
    slot->is_bound = false;
    return true;
}

static void bind_types(struct slot *slot, const enum param_type *types)
{
    for (size_t i = 0; i < slot->param_count; i++) {
        MYSQL_BIND *bind = &slot->binds[i];
        bind->is_null = &slot->nulls[i];
        bind->length = &slot->lengths[i];
        slot->values[i].type = types[i];
        switch (types[i]) {
        case PARAM_INT:
            bind->buffer_type = MYSQL_TYPE_LONGLONG;
            bind->buffer = &slot->values[i].integer;
            break;
        case PARAM_REAL:
            bind->buffer_type = MYSQL_TYPE_DOUBLE;
            bind->buffer = &slot->values[i].real;
            break;
        case PARAM_TEXT:
            bind->buffer_type = MYSQL_TYPE_STRING;
            break;
        }
    }
}

static bool my_prepare(struct session *session, unsigned number, const char *sql,
                       const enum param_type *types, size_t type_count, int64_t deadline,
                       struct err *err)
{
    struct my_session *my = my_of(session);
    assert(number < SLOT_COUNT && type_count <= PARAM_LIMIT);
    struct slot *slot = &my->slots[number];
    forget_result(my);
    if (slot->statement == NULL) {
        slot->statement = mysql_stmt_init(my->mysql);
    }
    if (slot->statement == NULL ||
        !keep_sql(my, (struct bytes){.data = sql, .size = strlen(sql)}, err) ||
        !make_slot(my, slot, type_count, err)) {
        return err_memory(err);
    }
    my->current = slot;
    start_step(my, STEP_PREPARE);
    if (!session_wait(session, deadline, err)) {
        return err_while(err, "preparing: %.100s", sql);
    }
    unsigned long found = mysql_stmt_param_count(slot->statement);
    if (found != type_count) {
        return err_set(err, ERR_CODE_bug, "%zu parameters given for %lu in: %.200s", type_count,
                       found, sql);
    }
    bind_types(slot, types);
    return true;
}

/* The library keeps the addresses; only texts change theirs. */
static void take_params(struct slot *slot, const struct param *params)
{
    for (size_t i = 0; i < slot->param_count; i++) {
        const struct param *param = &params[i];
        assert(param->type == slot->values[i].type);
        slot->values[i] = *param;
        if (param->type == PARAM_TEXT) {
            void *address = (void *)(uintptr_t)param->text.data;
            slot->nulls[i] = (my_bool)(param->text.data == NULL);
            slot->lengths[i] = (unsigned long)param->text.size;
            slot->is_bound = slot->is_bound && slot->binds[i].buffer == address;
            slot->binds[i].buffer = address;
            slot->binds[i].buffer_length = slot->lengths[i];
        }
    }
}

static bool my_send(struct session *session, unsigned number, const struct param *params,
                    size_t param_count, struct err *err)
{
    struct my_session *my = my_of(session);
    assert(number < SLOT_COUNT);
    struct slot *slot = &my->slots[number];
    assert(slot->statement != NULL && param_count == slot->param_count);
    (void)param_count;
    forget_result(my);
    my->current = slot;
    take_params(slot, params);
    if (!slot->is_bound && slot->param_count > 0 &&
        mysql_stmt_bind_param(slot->statement, slot->binds) != 0) {
        return my_statement_error(slot->statement, ERR_CODE_statement, err);
    }
    slot->is_bound = true;
    start_step(my, STEP_EXECUTE);
    return true;
}

/* ---- answers ---- */

static bool my_rows(struct session *session, row_visitor visit, void *context, struct err *err)
{
    struct my_session *my = my_of(session);
    if (my->current != NULL) {
        return my_statement_rows(my->current->statement, &my->rows, &my->arena, visit, context,
                                 err);
    }
    return my->result == NULL || my_text_rows(my->result, visit, context, err);
}

static int64_t my_affected(struct session *session)
{
    return my_of(session)->affected;
}

static enum session_failure my_classify(const struct session *session UNUSED, const struct err *err)
{
    switch (err->native) {
    case LOCK_WAIT_TIMEOUT:
    case DEADLOCK:
    case RECORD_CHANGED:
    case XA_DEADLOCK:
        return SESSION_RETRY;
    default:
        break;
    }
    bool is_lost = err->code == ERR_CODE_connection || err->code == ERR_CODE_timeout ||
                   my_error_is_lost(err->native);
    return is_lost ? SESSION_LOST : SESSION_WRONG;
}

static int my_descriptor(struct session *session)
{
    return my_of(session)->descriptor;
}

/* ---- ending ---- */

/* Leaves the fields of the session alone, for another thread may be pumping it. */
static void my_cancel(struct session *session)
{
    const struct my_session *my = my_of(session);
    my_kill(my->connect, my->password, mysql_thread_id(my->mysql));
    shutdown(my->descriptor, SHUT_RDWR);
}

/* With its socket shut, the step under way can only fail; it frees what it holds. */
static void end_step(struct my_session *my)
{
    enum { ROUND_LIMIT = 1 << 20 };
    for (int i = 0; i < ROUND_LIMIT && my->status != 0; i++) {
        continue_step(my);
    }
}

static void my_close(struct session *session)
{
    if (session == NULL) {
        return;
    }
    struct my_session *my = my_of(session);
    if (my->step != STEP_NONE) {
        my_kill(my->connect, my->password, mysql_thread_id(my->mysql));
        shutdown(my->descriptor, SHUT_RDWR);
        end_step(my);
    }
    forget_result(my);
    mysql_close(my->mysql);
    /* Behind the connection: nothing is sent for them any more. */
    for (size_t i = 0; i < SLOT_COUNT; i++) {
        if (my->slots[i].statement != NULL) {
            mysql_stmt_close(my->slots[i].statement);
        }
    }
    struct arena arena = my->arena;
    arena_close(&arena);
}

const struct session_driver mysql_session = {
    .dialect = DIALECT_MYSQL,
    .open = my_open,
    .close = my_close,
    .prepare = my_prepare,
    .send = my_send,
    .send_text = my_send_text,
    .begin = my_begin,
    .commit = my_commit,
    .rollback = my_session_rollback,
    .pump = my_pump,
    .sent = my_sent,
    .rows = my_rows,
    .affected = my_affected,
    .classify = my_classify,
    .socket = my_descriptor,
    .cancel = my_cancel,
    .bulk_open = my_bulk_open,
    .bulk_row = my_bulk_row,
    .bulk_close = my_bulk_close,
};
