/*
 * A bulk load: prepared INSERTs of many rows. What comes before the rows are enough, or at the
 * end, goes into one of fewer rows. Values are copied, since a row's are gone when the next comes.
 */
#include <string.h>

#include "backends/odbc/client.h"
#include "sweeper/base/text.h"

enum {
    BATCH_PARAMS = 256,
    BATCH_BYTES = 64 * 1024, /* of texts, unless a single row has more */
    MEMORY_LIMIT_BYTES = 256 * 1024 * 1024
};

struct odbc_bulk {
    struct bulk base;
    struct arena arena; /* holds this struct */
    const char *table;
    const char *columns;
    size_t column_count;
    int64_t deadline;
    size_t row_count; /* gathered */
    struct param values[BATCH_PARAMS];
    size_t text_at[BATCH_PARAMS]; /* of texts: where they begin */
    struct text texts;
    struct odbc_statement *statement;
    size_t prepared_rows; /* of the statement; 0: not prepared */
    enum param_type types[BATCH_PARAMS];
};

bool odbc_bulk_open(struct session *session, const struct bulk_spec *spec, int64_t deadline,
                    struct bulk **out, struct err *err)
{
    struct arena arena;
    assert(spec->column_count > 0 && spec->column_count <= SESSION_BULK_COLUMNS);
    arena_open(&arena, MEMORY_LIMIT_BYTES);
    struct odbc_bulk *bulk = ARENA_NEW(&arena, struct odbc_bulk);
    const char *table = arena_strdup(&arena, spec->table);
    const char *columns = arena_strdup(&arena, spec->columns != NULL ? spec->columns : "");
    bool ok = (bulk != NULL && table != NULL && columns != NULL) || err_memory(err);
    if (!ok || !odbc_statement_open(odbc_client_of(session), &arena, BATCH_PARAMS, &bulk->statement,
                                    err)) {
        arena_close(&arena);
        return false;
    }
    bulk->base.session = session;
    bulk->arena = arena;
    bulk->table = table;
    bulk->columns = columns;
    bulk->column_count = spec->column_count;
    bulk->deadline = deadline;
    text_open(&bulk->texts, &bulk->arena);
    *out = &bulk->base;
    return true;
}

static const char *write_insert(const struct odbc_bulk *bulk, struct arena *arena)
{
    struct text out;
    text_open(&out, arena);
    text_addf(&out, "insert into %s", bulk->table);
    if (bulk->columns[0] != '\0') {
        text_addf(&out, " (%s)", bulk->columns);
    }
    text_add(&out, " values ");
    for (size_t i = 0; i < bulk->row_count * bulk->column_count; i++) {
        bool is_first = i % bulk->column_count == 0;
        text_add(&out, i == 0 ? "(?" : is_first ? "),(?" : ",?");
    }
    text_add_char(&out, ')');
    return text_done(&out);
}

/* The types of a column are those of its first row; they stay the same. */
static bool prepare(struct odbc_bulk *bulk, struct err *err)
{
    struct arena arena;
    size_t count = bulk->row_count * bulk->column_count;
    for (size_t i = 0; i < count; i++) {
        bulk->types[i] = bulk->values[i].type;
    }
    arena_open(&arena, 1 << 20);
    const char *sql = write_insert(bulk, &arena);
    bool ok = sql != NULL ? odbc_statement_prepare(odbc_client_of(bulk->base.session),
                                                   bulk->statement, sql, bulk->types, count, err)
                          : err_memory(err);
    arena_close(&arena);
    bulk->prepared_rows = ok ? bulk->row_count : 0;
    return ok;
}

static bool bind_all(struct odbc_bulk *bulk, struct err *err)
{
    for (size_t i = 0; i < bulk->row_count * bulk->column_count; i++) {
        struct param *value = &bulk->values[i];
        if (value->text.data != NULL) {
            value->text.data = bulk->texts.data + bulk->text_at[i];
        }
        if (!odbc_bind(bulk->statement, i, value)) {
            return odbc_error(SQL_HANDLE_STMT, bulk->statement->handle, ERR_CODE_statement, err);
        }
    }
    return true;
}

static bool send_rows(struct odbc_bulk *bulk, struct err *err)
{
    struct session *session = bulk->base.session;
    if (clock_passed(bulk->deadline)) {
        return err_set(err, ERR_CODE_timeout, "the rows were not written in time");
    }
    if (text_done(&bulk->texts) == NULL) {
        return err_memory(err);
    }
    if ((bulk->prepared_rows != bulk->row_count && !prepare(bulk, err)) || !bind_all(bulk, err)) {
        return false;
    }
    session->driver->bound(session, bulk->deadline);
    odbc_run(odbc_client_of(session), bulk->statement->handle, NULL);
    bulk->row_count = 0;
    bulk->texts.size = 0;
    return session->driver->pump(session, err) == SESSION_DONE;
}

bool odbc_bulk_row(struct bulk *base, const struct param *values, struct err *err)
{
    struct odbc_bulk *bulk = (struct odbc_bulk *)base;
    size_t first = bulk->row_count * bulk->column_count;
    for (size_t i = 0; i < bulk->column_count; i++) {
        bulk->values[first + i] = values[i];
        bulk->text_at[first + i] = bulk->texts.size;
        if (values[i].type != PARAM_TEXT) {
            bulk->values[first + i].text.data = NULL;
        } else if (values[i].text.data != NULL) {
            text_add_bytes(&bulk->texts, values[i].text.data, values[i].text.size);
            text_add_char(&bulk->texts, '\0'); /* one that is empty has a place, too */
        }
    }
    bulk->row_count++;
    bool is_full = (bulk->row_count + 1) * bulk->column_count > BATCH_PARAMS ||
                   bulk->texts.size >= BATCH_BYTES;
    return !is_full || send_rows(bulk, err);
}

bool odbc_bulk_close(struct bulk *base, bool is_whole, struct err *err)
{
    struct odbc_bulk *bulk = (struct odbc_bulk *)base;
    bool ok = is_whole && (bulk->row_count == 0 || send_rows(bulk, err));
    odbc_statement_close(bulk->statement);
    struct arena arena = bulk->arena;
    arena_close(&arena);
    return ok;
}
