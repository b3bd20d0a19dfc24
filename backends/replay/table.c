/*
 * Reads a replay's source into a table and finds points in it. Values are numbered within their
 * column, so that a point is a short list of numbers.
 */
#include "backends/replay/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/base/text.h"

/* What a field of a line is. */
enum role { ROLE_SETTING, ROLE_METRIC, ROLE_DEVIATION, ROLE_FAILURE, ROLE_IGNORED };

struct reading_table {
    const struct replay_spec *spec;
    const char *name;
    struct arena *arena;
    struct table *table;
    struct err *err;
    enum role roles[TABLE_COLUMN_LIMIT];
    size_t field_count;
    int line;
};

static bool fail(struct reading_table *reading, int line, const char *format, ...)
    PRINTF_LIKE(3, 4);
static bool fail(struct reading_table *reading, int line, const char *format, ...)
{
    char text[300];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(reading->err, ERR_CODE_config_syntax, "%s", text);
    return err_origin(reading->err, "%s:%d", reading->name, line);
}

/* ---- the head line ---- */

static bool is_word_of(const char *const *words, const char *name)
{
    for (; words != NULL && *words != NULL; words++) {
        if (text_equal_nocase(*words, name)) {
            return true;
        }
    }
    return false;
}

static bool is_named(const char *wanted, const char *name)
{
    return wanted != NULL && text_equal_nocase(wanted, name);
}

static enum role role_of(const struct replay_spec *spec, const char *name)
{
    return is_named(spec->metric, name)      ? ROLE_METRIC
           : is_named(spec->deviation, name) ? ROLE_DEVIATION
           : is_named(spec->failure, name)   ? ROLE_FAILURE
           : is_word_of(spec->ignore, name)  ? ROLE_IGNORED
                                             : ROLE_SETTING;
}

static bool fail_missing(struct reading_table *reading, const char *name, const char *const *names)
{
    const char *near = text_nearest(name, names, reading->field_count);
    err_set(reading->err, ERR_CODE_not_found, "%s has no column \"%.80s\"", reading->name, name);
    return near != NULL ? err_hint(reading->err, "did you mean \"%s\"?", near)
                        : err_hint(reading->err, "its first line names the columns");
}

static bool has_name(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal_nocase(names[i], name)) {
            return true;
        }
    }
    return false;
}

static bool check_named(struct reading_table *reading, const char *const *names)
{
    const struct replay_spec *spec = reading->spec;
    const char *const single[] = {spec->metric, spec->deviation, spec->failure};
    for (size_t i = 0; i < COUNT_OF(single); i++) {
        if (single[i] != NULL && !has_name(names, reading->field_count, single[i])) {
            return fail_missing(reading, single[i], names);
        }
    }
    for (const char *const *word = spec->ignore; word != NULL && *word != NULL; word++) {
        if (!has_name(names, reading->field_count, *word)) {
            return fail_missing(reading, *word, names);
        }
    }
    return true;
}

static bool read_head(struct reading_table *reading, struct bytes *rest)
{
    struct table *table = reading->table;
    const char *names[TABLE_COLUMN_LIMIT];
    if (!table_fields(rest, &reading->line, reading->arena, names, TABLE_COLUMN_LIMIT,
                      &reading->field_count, reading->err)) {
        return err_origin(reading->err, "%s:%d", reading->name, reading->line);
    }
    table->columns = ARENA_ARRAY(reading->arena, struct table_column, TABLE_COLUMN_LIMIT);
    if (table->columns == NULL) {
        return err_memory(reading->err);
    }
    for (size_t i = 0; i < reading->field_count; i++) {
        if (names[i][0] == '\0' || strpbrk(names[i], "\t\r\n") != NULL) {
            return fail(reading, reading->line, "a column has no name, or one over several lines");
        }
        if (has_name(names, i, names[i])) {
            return fail(reading, reading->line, "there are two columns %.80s", names[i]);
        }
        reading->roles[i] = role_of(reading->spec, names[i]);
        if (reading->roles[i] == ROLE_SETTING) {
            table->columns[table->column_count++].knob.name = names[i];
        }
    }
    return check_named(reading, names) &&
           (table->column_count > 0 || fail(reading, reading->line, "no column is a setting"));
}

/* ---- lines ---- */

/* Which choice of the column the text is; a new one is added. */
static bool choose(struct reading_table *reading, struct table_column *column, const char *text,
                   uint32_t *out)
{
    for (size_t i = 0; i < column->count; i++) {
        if (strcmp(column->texts[i], text) == 0) {
            *out = (uint32_t)i;
            return true;
        }
    }
    if (column->texts == NULL) {
        column->texts = ARENA_ARRAY(reading->arena, const char *, TABLE_CHOICE_LIMIT);
        if (column->texts == NULL) {
            return err_memory(reading->err);
        }
    }
    if (column->count == TABLE_CHOICE_LIMIT) {
        fail(reading, reading->line, "column %.80s has more than %d different values",
             column->knob.name, TABLE_CHOICE_LIMIT);
        return err_hint(reading->err, "if it is no setting, name it in target.replay.ignore");
    }
    *out = (uint32_t)column->count;
    column->texts[column->count++] = text;
    return true;
}

static bool read_number(struct reading_table *reading, const char *text, double *out)
{
    struct err ignored;
    return text[0] == '\0' || units_parse_real(text, out, &ignored) ||
           fail(reading, reading->line, "\"%.60s\" is no number", text);
}

static bool read_row(struct reading_table *reading, const char *const *fields,
                     struct table_row *row)
{
    struct table *table = reading->table;
    size_t column = 0;
    *row = (struct table_row){.value = NAN, .deviation = NAN, .failure = "", .run_count = 1};
    row->choices = ARENA_ARRAY(reading->arena, uint32_t, table->column_count);
    if (row->choices == NULL) {
        return err_memory(reading->err);
    }
    for (size_t i = 0; i < reading->field_count; i++) {
        bool ok = true;
        switch (reading->roles[i]) {
        case ROLE_SETTING:
            ok = choose(reading, &table->columns[column], fields[i], &row->choices[column]);
            column++;
            break;
        case ROLE_METRIC:
            ok = read_number(reading, fields[i], &row->value);
            break;
        case ROLE_DEVIATION:
            ok = read_number(reading, fields[i], &row->deviation);
            break;
        case ROLE_FAILURE:
            row->failure = fields[i];
            break;
        case ROLE_IGNORED:
            break;
        }
        if (!ok) {
            return false;
        }
    }
    if (!(row->value > 0) && row->failure[0] == '\0') {
        return fail(reading, reading->line, "%.80s is not above zero, and no failure is given",
                    reading->spec->metric);
    }
    return true;
}

static size_t count_lines(struct bytes text)
{
    size_t count = 1;
    for (size_t i = 0; i < text.size; i++) {
        count += text.data[i] == '\n';
    }
    return count;
}

static bool read_rows(struct reading_table *reading, struct bytes rest, size_t limit)
{
    struct table *table = reading->table;
    const char *fields[TABLE_COLUMN_LIMIT];
    table->rows = ARENA_ARRAY(reading->arena, struct table_row, limit);
    if (table->rows == NULL) {
        return err_memory(reading->err);
    }
    while (rest.size > 0) {
        size_t count = 0;
        if (!table_fields(&rest, &reading->line, reading->arena, fields, TABLE_COLUMN_LIMIT, &count,
                          reading->err)) {
            return err_origin(reading->err, "%s:%d", reading->name, reading->line);
        }
        if (count == 0) {
            break;
        }
        if (count != reading->field_count) {
            return fail(reading, reading->line, "there are %zu fields where the head has %zu",
                        count, reading->field_count);
        }
        if (!read_row(reading, fields, &table->rows[table->row_count])) {
            return false;
        }
        table->row_count++;
    }
    return table->row_count > 0 || fail(reading, reading->line, "there is no point");
}

/* ---- columns and points ---- */

/* Two spellings of one value are one choice, and "baseline" is the baseline's. */
static void unify(struct table *table, size_t at)
{
    struct table_column *column = &table->columns[at];
    uint32_t baseline = table->rows[table->baseline].choices[at];
    for (size_t i = 0; i < table->row_count; i++) {
        uint32_t *choice = &table->rows[i].choices[at];
        *choice = column->values[*choice].kind == VALUE_BASELINE ? baseline : *choice;
        *choice = (uint32_t)table_choice_find(column, &column->values[*choice]);
    }
}

static bool type_columns(struct reading_table *reading)
{
    struct table *table = reading->table;
    int64_t asked = reading->spec->baseline_row;
    if (asked > (int64_t)table->row_count) {
        err_set(reading->err, ERR_CODE_not_found, "%s has no row %lld, only %zu", reading->name,
                (long long)asked, table->row_count);
        return err_hint(reading->err, "target.replay.baseline_row counts from 1");
    }
    table->baseline = asked > 0 ? (size_t)asked - 1 : 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (!table_type_column(&table->columns[i], reading->arena, reading->err)) {
            return err_origin(reading->err, "%s", reading->name);
        }
        unify(table, i);
        const struct table_row *row = &table->rows[table->baseline];
        if (table->columns[i].values[row->choices[i]].kind == VALUE_BASELINE) {
            err_set(reading->err, ERR_CODE_config_syntax,
                    "%s of the baseline itself is \"baseline\", which says nothing",
                    table->columns[i].knob.name);
            return err_origin(reading->err, "%s", reading->name);
        }
    }
    return true;
}

static uint64_t hash_of(const uint32_t *choices, size_t count)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ choices[i]) * UINT64_C(1099511628211);
        hash ^= hash >> 29;
    }
    return hash;
}

/* The slot of these choices: it holds their row, or is empty. */
static size_t slot_of(const struct table *table, const uint32_t *choices)
{
    size_t slot = (size_t)(hash_of(choices, table->column_count) & (table->slot_count - 1));
    while (table->slots[slot] != 0 && memcmp(table->rows[table->slots[slot] - 1].choices, choices,
                                             table->column_count * sizeof *choices) != 0) {
        slot = (slot + 1) & (table->slot_count - 1);
    }
    return slot;
}

/* Another run of the same point: a running mean of logarithms, as the ranking has it, and its
 * squares (Welford). */
static void add_run(struct table_row *row, const struct table_row *more)
{
    if (isnan(more->value)) {
        return;
    }
    if (isnan(row->value)) {
        uint32_t *choices = row->choices;
        *row = *more;
        row->choices = choices;
        return;
    }
    double difference = log(more->value / row->value);
    row->run_count++;
    row->value *= exp(difference / (double)row->run_count);
    row->square_sum += difference * log(more->value / row->value);
}

static bool merge_rows(struct reading_table *reading)
{
    struct table *table = reading->table;
    size_t kept = 0;
    table->slot_count = 16;
    while (table->slot_count < 2 * table->row_count) {
        table->slot_count *= 2;
    }
    table->slots = ARENA_ARRAY(reading->arena, uint32_t, table->slot_count);
    if (table->slots == NULL) {
        return err_memory(reading->err);
    }
    size_t baseline = table->baseline;
    for (size_t i = 0; i < table->row_count; i++) {
        size_t slot = slot_of(table, table->rows[i].choices);
        if (table->slots[slot] == 0) {
            table->rows[kept] = table->rows[i];
            table->slots[slot] = (uint32_t)++kept;
        } else {
            add_run(&table->rows[table->slots[slot] - 1], &table->rows[i]);
        }
        if (i == baseline) {
            table->baseline = table->slots[slot] - 1;
        }
    }
    table->row_count = kept;
    return true;
}

/* Pooled over all points. */
static void pool_spread(struct table *table)
{
    double sum = 0;
    double degrees = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        const struct table_row *row = &table->rows[i];
        if (row->run_count > 1) {
            sum += row->square_sum;
            degrees += (double)(row->run_count - 1);
        }
    }
    table->spread = degrees > 0 ? sqrt(sum / degrees) : NAN;
}

bool table_read(const struct replay_spec *spec, const char *name, struct bytes text,
                struct arena *arena, struct table *out, struct err *err)
{
    struct reading_table reading = {
        .spec = spec, .name = name, .arena = arena, .table = out, .err = err};
    struct bytes rest = text;
    *out = (struct table){.row_count = 0};
    if (spec->metric == NULL) {
        err_set(err, ERR_CODE_sweep_file, "which column of %s was measured is not known", name);
        return err_hint(err, "name it: target = { replay = { metric = \"throughput\"; }; }");
    }
    if (!read_head(&reading, &rest) || !read_rows(&reading, rest, count_lines(text)) ||
        !type_columns(&reading) || !merge_rows(&reading)) {
        return false;
    }
    pool_spread(out);
    if (isnan(out->rows[out->baseline].value)) {
        err_set(err, ERR_CODE_config_syntax, "the baseline of %s, row %lld, was never measured",
                name, (long long)spec->baseline_row);
        return err_hint(err, "target.replay.baseline_row names another");
    }
    return true;
}

size_t table_column_find(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (text_equal_nocase(table->columns[i].knob.name, name)) {
            return i;
        }
    }
    return SIZE_MAX;
}

size_t table_choice_find(const struct table_column *column, const struct value *value)
{
    for (size_t i = 0; i < column->count; i++) {
        if (value_equal(&column->knob, &column->values[i], value)) {
            return i;
        }
    }
    return SIZE_MAX;
}

const struct table_row *table_row_find(const struct table *table, const uint32_t *choices)
{
    uint32_t row = table->slots[slot_of(table, choices)];
    return row != 0 ? &table->rows[row - 1] : NULL;
}
