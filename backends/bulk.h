/*
 * Rows of a bulk load gathered as text, for the drivers that send text: what they share. A driver's
 * own part is how a value is written and how the text is sent.
 */
#ifndef BACKENDS_BULK_H
#define BACKENDS_BULK_H

#include "backends/session.h"
#include "sweeper/base/text.h"

struct text_bulk {
    struct bulk base;
    struct arena arena; /* holds this struct */
    size_t column_count;
    int64_t deadline;
    size_t limit_bytes;     /* of what is sent at once, unless a single row is more */
    size_t row_limit_bytes; /* of a single row; 0: none */
    const char *sql;        /* before the rows */
    struct text rows;       /* emptied with each sending, with its memory kept */
};

/* An empty one; `before` and `after` stand around the table and its columns in its statement. */
bool text_bulk_open(struct session *session, const struct bulk_spec *spec, const char *before,
                    const char *after, int64_t deadline, struct text_bulk **out,
                    struct err *err) MUST_USE;
void text_bulk_free(struct text_bulk *bulk);
/* An integer, or a real with all its digits. */
void text_bulk_number(struct text *out, const struct param *value);

#endif
