/*
 * Lines of comma-separated values, as RFC 4180 has them.
 */
#include <string.h>

#include "backends/replay/table.h"
#include "sweeper/base/text.h"

static bool fail(int line, const char *what, struct err *err)
{
    err_set(err, ERR_CODE_config_syntax, "line %d: %s", line, what);
    return err_native(err, line, "line");
}

static void drop(struct bytes *rest, size_t count)
{
    rest->data += count;
    rest->size -= count;
}

/* Behind the opening quote; to behind the closing one. */
static bool read_quoted(struct bytes *rest, int *line, struct text *out, struct err *err)
{
    int first = *line;
    while (rest->size > 0) {
        char byte = rest->data[0];
        bool is_double = byte == '"' && rest->size > 1 && rest->data[1] == '"';
        drop(rest, is_double ? 2 : 1);
        if (byte == '"' && !is_double) {
            return true;
        }
        *line += byte == '\n';
        text_add_char(out, byte);
    }
    return fail(first, "a quote is not closed", err);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

static void read_plain(struct bytes *rest, struct text *out)
{
    size_t size = 0;
    while (size < rest->size && rest->data[size] != ',' && rest->data[size] != '\n') {
        size++;
    }
    size_t used = size;
    while (used > 0 && is_blank(rest->data[used - 1])) {
        used--;
    }
    text_add_bytes(out, rest->data, used);
    drop(rest, size);
}

static void skip_blanks(struct bytes *rest)
{
    while (rest->size > 0 && is_blank(rest->data[0])) {
        drop(rest, 1);
    }
}

/* One field and what ends it; *out_last at the end of the line. */
static bool read_field(struct bytes *rest, int *line, struct arena *arena, const char **out,
                       bool *out_last, struct err *err)
{
    struct text text;
    text_open(&text, arena);
    skip_blanks(rest);
    if (rest->size > 0 && rest->data[0] == '"') {
        drop(rest, 1);
        if (!read_quoted(rest, line, &text, err)) {
            return false;
        }
        skip_blanks(rest);
    } else {
        read_plain(rest, &text);
    }
    *out = text_done(&text);
    if (*out == NULL) {
        return err_memory(err);
    }
    if (strlen(*out) != text.size) {
        return fail(*line, "a field holds a byte of zero", err);
    }
    if (rest->size > 0 && rest->data[0] != ',' && rest->data[0] != '\n') {
        return fail(*line, "something stands behind a closing quote", err);
    }
    *out_last = rest->size == 0 || rest->data[0] == '\n';
    if (rest->size > 0) {
        drop(rest, 1);
    }
    return true;
}

bool table_fields(struct bytes *rest, int *line, struct arena *arena, const char **out,
                  size_t limit, size_t *out_count, struct err *err)
{
    *out_count = 0;
    while (rest->size > 0) {
        bool is_last = false;
        int first = ++*line;
        while (!is_last) {
            if (*out_count == limit) {
                return fail(first, "there are too many columns", err);
            }
            if (!read_field(rest, line, arena, &out[*out_count], &is_last, err)) {
                return false;
            }
            ++*out_count;
        }
        if (*out_count > 1 || out[0][0] != '\0') {
            return true;
        }
        *out_count = 0; /* an empty line */
    }
    return true;
}
