/*
 * Rows of a bulk load gathered as text: their memory and their numbers.
 */
#include "backends/bulk.h"

#include <stdio.h>

enum { MEMORY_LIMIT_BYTES = 256 << 20 };

bool text_bulk_open(struct session *session, const struct bulk_spec *spec, const char *before,
                    const char *after, int64_t deadline, struct text_bulk **out, struct err *err)
{
    struct arena arena;
    assert(spec->column_count > 0 && spec->column_count <= SESSION_BULK_COLUMNS);
    arena_open(&arena, MEMORY_LIMIT_BYTES);
    struct text_bulk *bulk = ARENA_NEW(&arena, struct text_bulk);
    const char *sql =
        spec->columns == NULL
            ? arena_printf(&arena, "%s%s%s", before, spec->table, after)
            : arena_printf(&arena, "%s%s (%s)%s", before, spec->table, spec->columns, after);
    if (bulk == NULL || sql == NULL) {
        arena_close(&arena);
        return err_memory(err);
    }
    *bulk = (struct text_bulk){.base.session = session,
                               .arena = arena,
                               .column_count = spec->column_count,
                               .deadline = deadline,
                               .sql = sql};
    text_open(&bulk->rows, &bulk->arena);
    *out = bulk;
    return true;
}

void text_bulk_free(struct text_bulk *bulk)
{
    struct arena arena = bulk->arena;
    arena_close(&arena);
}

void text_bulk_number(struct text *out, const struct param *value)
{
    enum { DIGITS = 24 };
    char digits[DIGITS];
    size_t at = DIGITS;
    if (value->type == PARAM_REAL) {
        text_addf(out, "%.17g", value->real);
        return;
    }
    bool is_negative = value->integer < 0;
    uint64_t left = is_negative ? 0 - (uint64_t)value->integer : (uint64_t)value->integer;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (is_negative) {
        digits[--at] = '-';
    }
    text_add_bytes(out, digits + at, DIGITS - at);
}
