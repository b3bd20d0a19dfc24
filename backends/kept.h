/*
 * Rows of a finished call that are kept until they are asked for, by sessions that complete inside
 * send: for each value its length and its bytes, one after the other.
 */
#ifndef BACKENDS_KEPT_H
#define BACKENDS_KEPT_H

#include "backends/session.h"

struct kept_rows {
    struct arena *arena;
    char *bytes;
    size_t size;
    size_t capacity;
    size_t column_count;
};

/* No rows; the memory stays. */
void kept_clear(struct kept_rows *rows);
/* Room for a value of `size` bytes, to be written where *out points before kept_end. False: no
 * memory is left. May be called again with more: what was written of the value stays. */
bool kept_reserve(struct kept_rows *rows, size_t size, char **out) MUST_USE;
/* The value that was reserved last is this long; -1: SQL null. */
void kept_end(struct kept_rows *rows, int32_t size);
/* What the session's `rows` does. */
bool kept_visit(const struct kept_rows *rows, row_visitor visit, void *context,
                struct err *err) MUST_USE;

#endif
