/*
 * The source of a replay as a table: each row is a measured point, each column a knob, the metric,
 * its deviation, or how the point fails. Rows of one point are one, with the mean of them.
 */
#ifndef BACKENDS_REPLAY_TABLE_H
#define BACKENDS_REPLAY_TABLE_H

#include "backends/backend.h"

enum { TABLE_COLUMN_LIMIT = 256, TABLE_CHOICE_LIMIT = 4096 };

/* A column of settings, with its values in the order in which they were met. */
struct table_column {
    struct knob knob; /* type, unit and choices follow from the values */
    const char **texts;
    struct value *values;
    size_t count;
};

struct table_row {
    uint32_t *choices;   /* one of each column */
    double value;        /* geometric mean of the metric; NAN where every run failed */
    double deviation;    /* of the source, as a share; NAN: it does not say */
    const char *failure; /* "" none; of a point that was never measured */
    size_t run_count;
    double square_sum; /* of the runs' differences from their mean, of logarithms */
};

struct table {
    struct table_column *columns;
    size_t column_count;
    struct table_row *rows; /* one for each point */
    size_t row_count;
    size_t baseline; /* the row that is the configuration as found */
    double spread;   /* of the runs of a point, as a share, over all; NAN: none was repeated */
    uint32_t *slots; /* from choices to row + 1 */
    size_t slot_count;
};

/* Reads a source's text, `name` for messages. Errors, PLAN: config_syntax with NAME:LINE,
 * not_found for a column that the spec names and nobody has. */
bool table_read(const struct replay_spec *spec, const char *name, struct bytes text,
                struct arena *arena, struct table *out, struct err *err) MUST_USE;
/* SIZE_MAX: none of that name (ASCII case ignored). */
size_t table_column_find(const struct table *table, const char *name);
/* The column's choice that equals the value; SIZE_MAX: none does. */
size_t table_choice_find(const struct table_column *column, const struct value *value);
/* The row with these choices, one for each column; NULL: that point was never measured. */
const struct table_row *table_row_find(const struct table *table, const uint32_t *choices);

/* ---- table_csv.c ---- */

/* The fields of the next line that is not empty (RFC 4180: quotes, doubled inside them, LF or
 * CRLF); blanks around what is not quoted are dropped. *out_count 0: the end. *line counts from 1
 * and starts as 0. Errors: config_syntax. */
bool table_fields(struct bytes *rest, int *line, struct arena *arena, const char **out,
                  size_t limit, size_t *out_count, struct err *err) MUST_USE;

/* ---- table_type.c ---- */

/* The column's row and its values from their texts. */
bool table_type_column(struct table_column *column, struct arena *arena, struct err *err) MUST_USE;

#endif
