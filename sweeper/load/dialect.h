/*
 * Where the SQL of the systems differs: one small table, nothing of it elsewhere.
 */
#ifndef SWEEPER_LOAD_DIALECT_H
#define SWEEPER_LOAD_DIALECT_H

#include "backends/session.h"

struct dialect_row {
    enum dialect dialect;
    const char *serial;     /* type of an integer key that numbers itself, before "primary key" */
    const char *big_serial; /* of one of 64 bits */
    /* Patterns for dialect_sql. The mark ({text}) is kept in the table itself, so that it goes when
     * the table goes. */
    const char *create_table;
    const char *comment_table; /* sets the mark afterwards; NULL: create_table did */
    /* One row if {table}, or anything else of that name, exists: for a table the text that holds
     * its mark, for all else ''. NULL: cannot be known. */
    const char *look_up;
    const char *marked; /* pattern: how the text of a table with our mark begins or, where
                           mark_is_inside, what stands in it */
    bool mark_is_inside;
    const char *lock_row; /* after a select: the row will be changed; "" where that is not said */
    const char *moment;   /* type of a date with its time */
    bool keys_later;      /* a primary key is an index as any other, best made after the load */
    const char *index_count; /* above 0 where {table} has the index {columns} */
    const char *refresh;     /* statistics of {table}; NULL: none */
    const char *serial_next; /* lets the key go on after the last id; NULL: not needed */
    const char *claim; /* 1 where this session alone may now change the workload's data, until it
                          ends; 0 where another one does. NULL: that cannot be said */
    /* One number: rows of {table} minus entries of its index k_…, named by {columns}. NULL: not
     * cheap. */
    const char *index_gap;
};

const struct dialect_row *dialect_of(enum dialect dialect);

/* Whether the table has an index of that name. */
bool dialect_has_index(struct session *session, const char *table, const char *index,
                       int64_t deadline, bool *out, struct err *err) MUST_USE;

/* Puts {table}, {columns} and {text} into a pattern. The parts come from code and numbers, never
 * from outside. Cut at size, always terminated. */
void dialect_sql(char *out, size_t size, const char *pattern, const char *table,
                 const char *columns, const char *text);

#endif
