/*
 * A session without a server, for the driver's calibration: each call is done as soon as it is
 * sent, and every result is one row of ones.
 */
#include <stdlib.h>

#include "sweeper/load/driver.h"

enum { COLUMNS = 32 };

static bool null_open(const struct session_spec *spec, int64_t deadline, struct session **out,
                      struct err *err)
{
    (void)spec;
    (void)deadline;
    (void)err;
    static struct session session = {.driver = &null_sessions};
    *out = &session;
    return true;
}

static void null_close(struct session *session)
{
    (void)session;
}

static bool null_prepare(struct session *session, unsigned slot, const char *sql,
                         const enum param_type *types, size_t type_count, int64_t deadline,
                         struct err *err)
{
    (void)session;
    (void)slot;
    (void)sql;
    (void)types;
    (void)type_count;
    (void)deadline;
    (void)err;
    return true;
}

static bool null_send(struct session *session, unsigned slot, const struct param *params,
                      size_t param_count, struct err *err)
{
    (void)session;
    (void)slot;
    (void)params;
    (void)param_count;
    (void)err;
    return true;
}

static bool null_send_text(struct session *session, const char *sql, struct err *err)
{
    (void)session;
    (void)sql;
    (void)err;
    return true;
}

static bool null_control(struct session *session, struct err *err)
{
    (void)session;
    (void)err;
    return true;
}

static enum session_state null_pump(struct session *session, struct err *err)
{
    (void)session;
    (void)err;
    return SESSION_DONE;
}

static bool null_rows(struct session *session, row_visitor visit, void *context, struct err *err)
{
    (void)session;
    (void)err;
    struct bytes columns[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        columns[i] = (struct bytes){.data = "1", .size = 1};
    }
    struct row row = {.column_count = COLUMNS, .columns = columns};
    (void)visit(context, &row);
    return true;
}

static int64_t null_affected(struct session *session)
{
    (void)session;
    return 1;
}

static enum session_failure null_classify(const struct session *session, const struct err *err)
{
    (void)session;
    (void)err;
    return SESSION_WRONG;
}

static int null_socket(struct session *session)
{
    (void)session;
    return -1;
}

static void null_cancel(struct session *session)
{
    (void)session;
}

const struct session_driver null_sessions = {
    .dialect = DIALECT_OTHER,
    .open = null_open,
    .close = null_close,
    .prepare = null_prepare,
    .send = null_send,
    .send_text = null_send_text,
    .begin = null_control,
    .commit = null_control,
    .rollback = null_control,
    .pump = null_pump,
    .rows = null_rows,
    .affected = null_affected,
    .classify = null_classify,
    .socket = null_socket,
    .cancel = null_cancel,
};
