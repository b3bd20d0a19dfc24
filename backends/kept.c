/*
 * Rows of a finished call, kept until they are asked for.
 */
#include "backends/kept.h"

#include <string.h>

enum { COLUMN_LIMIT = 128 };

void kept_clear(struct kept_rows *rows)
{
    rows->size = 0;
    rows->column_count = 0;
}

bool kept_reserve(struct kept_rows *rows, size_t size, char **out)
{
    size_t needed = rows->size + sizeof(int32_t) + size;
    if (needed > rows->capacity) {
        char *bytes = arena_alloc(rows->arena, needed * 2);
        if (bytes == NULL) {
            return false;
        }
        if (rows->capacity > 0) {
            memcpy(bytes, rows->bytes, rows->capacity);
        }
        rows->bytes = bytes;
        rows->capacity = needed * 2;
    }
    *out = rows->bytes + rows->size + sizeof(int32_t);
    return true;
}

void kept_end(struct kept_rows *rows, int32_t size)
{
    memcpy(rows->bytes + rows->size, &size, sizeof size);
    rows->size += sizeof size + (size > 0 ? (size_t)size : 0);
}

static size_t read_value(const char *at, struct bytes *out)
{
    int32_t size = 0;
    memcpy(&size, at, sizeof size);
    *out = (struct bytes){.data = size < 0 ? NULL : at + sizeof size,
                          .size = size < 0 ? 0 : (size_t)size};
    return sizeof size + out->size;
}

bool kept_visit(const struct kept_rows *rows, row_visitor visit, void *context, struct err *err)
{
    struct bytes columns[COLUMN_LIMIT];
    if (rows->column_count > COLUMN_LIMIT) {
        return err_set(err, ERR_CODE_unsupported, "a row of %zu columns is more than %d",
                       rows->column_count, COLUMN_LIMIT);
    }
    size_t at = 0;
    while (at < rows->size) {
        for (size_t i = 0; i < rows->column_count; i++) {
            at += read_value(rows->bytes + at, &columns[i]);
        }
        const struct row row = {.column_count = rows->column_count, .columns = columns};
        if (!visit(context, &row)) {
            break;
        }
    }
    return true;
}
