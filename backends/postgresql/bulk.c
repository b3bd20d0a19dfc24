/*
 * A bulk load: rows in COPY's text form (the manual of PostgreSQL 15, COPY, File Formats), sent by
 * one COPY each time enough of them are there. A COPY that lasted until the end would keep the
 * session from all else, and tables that grow together are loaded together.
 */
#include "backends/postgresql/bulk.h"

#include <string.h>

#include "backends/bulk.h"

enum { SEND_BYTES = 256 << 10 };

bool pg_bulk_open(struct session *session, const struct bulk_spec *spec, int64_t deadline,
                  struct bulk **out, struct err *err)
{
    struct text_bulk *bulk = NULL;
    if (!text_bulk_open(session, spec, "copy ", " from stdin", deadline, &bulk, err)) {
        return false;
    }
    bulk->limit_bytes = SEND_BYTES;
    *out = &bulk->base;
    return true;
}

/* A backslash begins an escape; the others would end the value, the row, or, as a carriage return,
 * be taken for an end of lines. */
static void add_text(struct text *out, struct bytes text)
{
    size_t done = 0;
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        if (byte != '\\' && byte != '\t' && byte != '\n' && byte != '\r') {
            continue;
        }
        text_add_bytes(out, text.data + done, i - done);
        text_add(out, byte == '\\' ? "\\\\" : byte == '\t' ? "\\t" : byte == '\n' ? "\\n" : "\\r");
        done = i + 1;
    }
    text_add_bytes(out, text.data + done, text.size - done);
}

static bool send_rows(struct text_bulk *bulk, struct err *err)
{
    const char *rows = text_done(&bulk->rows);
    if (rows == NULL) {
        return err_memory(err);
    }
    struct bytes data = {.data = rows, .size = bulk->rows.size};
    bulk->rows.size = 0;
    return pg_send_copy(bulk->base.session, bulk->sql, data, err) &&
           session_wait(bulk->base.session, bulk->deadline, err);
}

bool pg_bulk_row(struct bulk *base, const struct param *values, struct err *err)
{
    struct text_bulk *bulk = (struct text_bulk *)base;
    for (size_t i = 0; i < bulk->column_count; i++) {
        if (i > 0) {
            text_add_char(&bulk->rows, '\t');
        }
        if (values[i].type != PARAM_TEXT) {
            text_bulk_number(&bulk->rows, &values[i]);
        } else if (values[i].text.data == NULL) {
            text_add(&bulk->rows, "\\N");
        } else {
            add_text(&bulk->rows, values[i].text);
        }
    }
    text_add_char(&bulk->rows, '\n');
    return bulk->rows.size < bulk->limit_bytes || send_rows(bulk, err);
}

bool pg_bulk_close(struct bulk *base, bool is_whole, struct err *err)
{
    struct text_bulk *bulk = (struct text_bulk *)base;
    bool ok = is_whole && (bulk->rows.size == 0 || send_rows(bulk, err));
    text_bulk_free(bulk);
    return ok;
}
