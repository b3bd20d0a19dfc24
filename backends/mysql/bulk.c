/*
 * A bulk load: INSERT with as many rows as fit the limit, which max_allowed_packet may lower. LOAD
 * DATA LOCAL is not used: MySQL's servers refuse it by default, and where they take it, a row that
 * is wrong or there twice is a warning and not an error (the manual of MySQL 8.4, LOAD DATA, Error
 * Handling: LOCAL has the effect of IGNORE).
 */
#include <string.h>

#include "backends/bulk.h"
#include "backends/mysql/call.h"
#include "backends/mysql/connection.h"
#include "knobs/value.h"

/* SPARE_BYTES: beside the statement itself, what the protocol needs of a packet. */
enum { SEND_BYTES = 256 << 10, SPARE_BYTES = 64 };

struct limit {
    int64_t bytes;
    bool is_read;
};

static bool read_limit(void *context, const struct row *row)
{
    struct limit *limit = context;
    char digits[32] = "";
    struct err ignored;
    if (row->columns[0].size < sizeof digits && row->columns[0].data != NULL) {
        memcpy(digits, row->columns[0].data, row->columns[0].size);
    }
    limit->is_read = units_parse_int(digits, &limit->bytes, &ignored) && limit->bytes > SPARE_BYTES;
    return false;
}

static bool find_limit(struct text_bulk *bulk, struct err *err)
{
    struct limit limit = {0};
    if (!session_execute(bulk->base.session, "select @@max_allowed_packet", read_limit, &limit,
                         bulk->deadline, err)) {
        return false;
    }
    if (!limit.is_read) {
        return err_set(err, ERR_CODE_statement, "the server does not tell its max_allowed_packet");
    }
    bulk->row_limit_bytes = (size_t)limit.bytes - SPARE_BYTES;
    bulk->limit_bytes = bulk->row_limit_bytes < SEND_BYTES ? bulk->row_limit_bytes : SEND_BYTES;
    return true;
}

bool my_bulk_open(struct session *session, const struct bulk_spec *spec, int64_t deadline,
                  struct bulk **out, struct err *err)
{
    struct text_bulk *bulk = NULL;
    if (!text_bulk_open(session, spec, "insert into ", " values ", deadline, &bulk, err)) {
        return false;
    }
    if (!find_limit(bulk, err)) {
        text_bulk_free(bulk);
        return false;
    }
    *out = &bulk->base;
    return true;
}

/* Whether it is written as it is in every character set and mode. */
static bool is_plain(struct bytes text)
{
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte < ' ' || byte > '~' || byte == '\'' || byte == '"' || byte == '\\') {
            return false;
        }
    }
    return true;
}

/* How a byte is written depends on the character set and the mode of the connection, which the
 * library knows. It wants room for each byte twice and an end: that is taken first, by the text
 * itself, and then written over. */
static void add_escaped(struct text *out, MYSQL *mysql, struct bytes text)
{
    size_t start = out->size;
    text_add_bytes(out, text.data, text.size);
    text_add_bytes(out, text.data, text.size);
    text_add_char(out, '\'');
    if (!out->failed) {
        out->size = start + mysql_real_escape_string(mysql, out->data + start, text.data,
                                                     (unsigned long)text.size);
    }
}

static void add_text(struct text *out, MYSQL *mysql, struct bytes text)
{
    text_add_char(out, '\'');
    if (is_plain(text)) {
        text_add_bytes(out, text.data, text.size);
    } else {
        add_escaped(out, mysql, text);
    }
    text_add_char(out, '\'');
}

static void add_row(struct text_bulk *bulk, const struct param *values)
{
    MYSQL *mysql = my_connection_of(bulk->base.session);
    for (size_t i = 0; i < bulk->column_count; i++) {
        text_add_char(&bulk->rows, i == 0 ? '(' : ',');
        if (values[i].type != PARAM_TEXT) {
            text_bulk_number(&bulk->rows, &values[i]);
        } else if (values[i].text.data == NULL) {
            text_add(&bulk->rows, "null");
        } else {
            add_text(&bulk->rows, mysql, values[i].text);
        }
    }
    text_add_char(&bulk->rows, ')');
}

static bool send_rows(struct text_bulk *bulk, size_t size, struct err *err)
{
    const struct bytes sql = {.data = bulk->rows.data, .size = size};
    return my_send_bytes(bulk->base.session, sql, err) &&
           session_wait(bulk->base.session, bulk->deadline, err);
}

static bool fail_row(const struct text_bulk *bulk, size_t size, struct err *err)
{
    err_set(err, ERR_CODE_statement, "a statement of one row has %zu bytes, more than %zu", size,
            bulk->row_limit_bytes);
    return err_hint(err, "raise max_allowed_packet");
}

/* The last row, which begins at `start`, is one too many for those before it: they are sent, and a
 * statement of its own begins with it. */
static bool part_rows(struct text_bulk *bulk, size_t start, struct err *err)
{
    struct text *rows = &bulk->rows;
    size_t before = strlen(bulk->sql);
    if (start > before) {
        if (!send_rows(bulk, start, err)) {
            return false;
        }
        start++; /* behind the comma */
        memmove(rows->data + before, rows->data + start, rows->size - start);
        rows->size -= start - before;
    }
    return rows->size <= bulk->row_limit_bytes || fail_row(bulk, rows->size, err);
}

bool my_bulk_row(struct bulk *base, const struct param *values, struct err *err)
{
    struct text_bulk *bulk = (struct text_bulk *)base;
    struct text *rows = &bulk->rows;
    if (rows->size == 0) {
        text_add(rows, bulk->sql);
    }
    size_t start = rows->size;
    if (start > strlen(bulk->sql)) {
        text_add_char(rows, ',');
    }
    add_row(bulk, values);
    if (text_done(rows) == NULL) {
        return err_memory(err);
    }
    return rows->size <= bulk->limit_bytes || part_rows(bulk, start, err);
}

bool my_bulk_close(struct bulk *base, bool is_whole, struct err *err)
{
    struct text_bulk *bulk = (struct text_bulk *)base;
    bool ok = is_whole && (bulk->rows.size == 0 || send_rows(bulk, bulk->rows.size, err));
    text_bulk_free(bulk);
    return ok;
}
