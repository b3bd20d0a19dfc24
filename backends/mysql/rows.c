/*
 * Rows of finished calls. A column of a prepared statement is put into a place of its own, and
 * fetched again where it is longer.
 */
#include "backends/mysql/call.h"
#include "backends/mysql/connection.h"

enum { COLUMN_LIMIT = 128, COLUMN_BYTES = 256 };

/* Where rows of a prepared statement are put. */
struct my_row_space {
    MYSQL_BIND binds[COLUMN_LIMIT];
    unsigned long lengths[COLUMN_LIMIT];
    my_bool nulls[COLUMN_LIMIT];
    my_bool cut[COLUMN_LIMIT];
    char text[COLUMN_LIMIT][COLUMN_BYTES];
    char *long_text; /* of one row: columns that are longer */
    size_t long_capacity;
};

static bool fail_columns(size_t count, struct err *err)
{
    return err_set(err, ERR_CODE_unsupported, "a row of %zu columns is more than %d", count,
                   COLUMN_LIMIT);
}

bool my_text_rows(MYSQL_RES *result, row_visitor visit, void *context, struct err *err)
{
    struct bytes columns[COLUMN_LIMIT];
    size_t count = mysql_num_fields(result);
    if (count > COLUMN_LIMIT) {
        return fail_columns(count, err);
    }
    const struct row seen = {.column_count = count, .columns = columns};
    for (MYSQL_ROW row = mysql_fetch_row(result); row != NULL; row = mysql_fetch_row(result)) {
        const unsigned long *lengths = mysql_fetch_lengths(result);
        for (size_t i = 0; i < count; i++) {
            columns[i] = (struct bytes){.data = row[i], .size = row[i] != NULL ? lengths[i] : 0};
        }
        if (!visit(context, &seen)) {
            break;
        }
    }
    return true;
}

static bool bind_rows(struct my_row_space *space, MYSQL_STMT *statement, size_t count,
                      struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        space->binds[i] = (MYSQL_BIND){.buffer_type = MYSQL_TYPE_STRING,
                                       .buffer = space->text[i],
                                       .buffer_length = COLUMN_BYTES,
                                       .length = &space->lengths[i],
                                       .is_null = &space->nulls[i],
                                       .error = &space->cut[i]};
    }
    return mysql_stmt_bind_result(statement, space->binds) == 0 ||
           my_statement_error(statement, ERR_CODE_statement, err);
}

/* Columns that are longer than their place, whole and one behind the other. */
static bool fetch_long(struct my_row_space *space, struct arena *arena, MYSQL_STMT *statement,
                       struct bytes *columns, size_t count, struct err *err)
{
    size_t needed = 0;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        needed += columns[i].size > COLUMN_BYTES ? columns[i].size : 0;
    }
    if (needed == 0) {
        return true;
    }
    if (needed > space->long_capacity) {
        space->long_text = arena_alloc(arena, needed * 2);
        space->long_capacity = space->long_text != NULL ? needed * 2 : 0;
    }
    if (space->long_text == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (columns[i].size <= COLUMN_BYTES) {
            continue;
        }
        unsigned long length = 0;
        my_bool is_null = 0;
        my_bool is_cut = 0;
        MYSQL_BIND bind = {.buffer_type = MYSQL_TYPE_STRING,
                           .buffer = space->long_text + used,
                           .buffer_length = (unsigned long)columns[i].size,
                           .length = &length,
                           .is_null = &is_null,
                           .error = &is_cut};
        if (mysql_stmt_fetch_column(statement, &bind, (unsigned)i, 0) != 0) {
            return my_statement_error(statement, ERR_CODE_statement, err);
        }
        columns[i].data = bind.buffer;
        used += columns[i].size;
    }
    return true;
}

bool my_statement_rows(MYSQL_STMT *statement, struct my_row_space **space, struct arena *arena,
                       row_visitor visit, void *context, struct err *err)
{
    struct bytes columns[COLUMN_LIMIT];
    size_t count = mysql_stmt_field_count(statement);
    if (count > COLUMN_LIMIT) {
        return fail_columns(count, err);
    }
    if (count == 0) {
        return true;
    }
    if (*space == NULL) {
        *space = ARENA_NEW(arena, struct my_row_space);
    }
    if (*space == NULL) {
        return err_memory(err);
    }
    if (!bind_rows(*space, statement, count, err)) {
        return false;
    }
    const struct row seen = {.column_count = count, .columns = columns};
    int fetched = mysql_stmt_fetch(statement);
    for (; fetched == 0 || fetched == MYSQL_DATA_TRUNCATED; fetched = mysql_stmt_fetch(statement)) {
        for (size_t i = 0; i < count; i++) {
            bool is_null = (*space)->nulls[i] != 0;
            columns[i] = (struct bytes){.data = is_null ? NULL : (*space)->text[i],
                                        .size = is_null ? 0 : (*space)->lengths[i]};
        }
        if (!fetch_long(*space, arena, statement, columns, count, err)) {
            return false;
        }
        if (!visit(context, &seen)) {
            return true;
        }
    }
    return fetched == MYSQL_NO_DATA || my_statement_error(statement, ERR_CODE_statement, err);
}
