/*
 * One trial, whole: what was asked and what came out, stage by stage, and what the server said.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/layout.h"
#include "store/sql.h"
#include "store/views.h"
#include "sweeper/base/clock.h"

enum { LINE_WIDTH = 300 };

struct shown {
    int64_t trial_id;
    int64_t point_id;
    const char *purpose;
    const char *status;
    const char *class;
    const char *reason;
    const char *hint;
    const char *context;
    const char *log_tail;
    const char *flags;
    const char *output;
    int64_t started_us;
    int64_t ended_us; /* 0: not yet */
    int64_t size_before_bytes;
    int64_t size_after_bytes;
    struct store_result result;
};

static const char *printable_column(sqlite3_stmt *row, int at, struct arena *arena)
{
    const char *text = (const char *)sqlite3_column_text(row, at);
    return text_printable(arena, text != NULL ? text : "");
}

static int64_t size_column(sqlite3_stmt *row, int at)
{
    return sqlite3_column_type(row, at) == SQLITE_NULL ? -1 : sqlite3_column_int64(row, at);
}

static bool read_head(struct store *store, int64_t trial_id, struct arena *arena, struct shown *out,
                      struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_show_trial, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, trial_id);
    if (!sql_next(store, row, &has_row, err)) {
        return false;
    }
    if (!has_row) {
        err_set(err, ERR_CODE_not_found, "the store holds no trial %lld", (long long)trial_id);
        return err_hint(err, "`dbsweep export` lists them");
    }
    const char **texts[] = {&out->purpose, &out->status,   &out->class, &out->reason, &out->hint,
                            &out->context, &out->log_tail, &out->flags, &out->output};
    bool ok = true;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        *texts[i] = printable_column(row, (int)i + 1, arena);
        ok = ok && *texts[i] != NULL;
    }
    out->trial_id = trial_id;
    out->point_id = sqlite3_column_int64(row, 0);
    out->started_us = sqlite3_column_int64(row, 10);
    out->ended_us = sqlite3_column_int64(row, 11);
    out->result.measured_s = sql_column_real(row, 12);
    out->size_before_bytes = size_column(row, 13);
    out->size_after_bytes = size_column(row, 14);
    sqlite3_reset(row);
    return ok || err_memory(err);
}

/* ---- rows of the result ---- */

/* How many rows a trial has in each table bounds what is allocated. */
static bool count_rows(struct store *store, enum sql_id id, int64_t trial_id, size_t *out,
                       struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, id, err);
    if (row == NULL) {
        return false;
    }
    *out = 0;
    sql_int(row, 1, trial_id);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            return true;
        }
        (*out)++;
    }
    return false;
}

static void read_statement(sqlite3_stmt *row, struct arena *arena, struct store_statement *out)
{
    double *seconds[] = {&out->total_s, &out->min_s, &out->avg_s, &out->max_s,
                         &out->p50_s,   &out->p95_s, &out->p99_s, &out->p999_s};
    out->transaction = sql_column_text(row, 0, arena);
    out->statement = sql_column_text(row, 1, arena);
    out->count = (uint64_t)sqlite3_column_int64(row, 2);
    out->error_count = (uint64_t)sqlite3_column_int64(row, 3);
    out->retry_count = (uint64_t)sqlite3_column_int64(row, 4);
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        *seconds[i] = sqlite3_column_double(row, (int)i + 5);
    }
}

static bool read_statements(struct store *store, int64_t trial_id, struct arena *arena,
                            struct store_result *out, struct err *err)
{
    size_t count = 0;
    bool has_row = false;
    if (!count_rows(store, SQL_show_statements, trial_id, &count, err)) {
        return false;
    }
    struct store_statement *rows = ARENA_ARRAY(arena, struct store_statement, count + 1);
    sqlite3_stmt *row = rows != NULL ? sql_use(store, SQL_show_statements, err) : NULL;
    if (row == NULL) {
        return rows != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, trial_id);
    for (size_t i = 0; i < count; i++) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        read_statement(row, arena, &rows[i]);
        if (rows[i].transaction == NULL || rows[i].statement == NULL) {
            return err_memory(err);
        }
        out->statement_count++;
    }
    sqlite3_reset(row);
    out->statements = rows;
    return true;
}

static bool read_metrics(struct store *store, int64_t trial_id, struct arena *arena,
                         struct store_result *out, struct err *err)
{
    size_t count = 0;
    bool has_row = false;
    if (!count_rows(store, SQL_show_metrics, trial_id, &count, err)) {
        return false;
    }
    struct store_metric *rows = ARENA_ARRAY(arena, struct store_metric, count + 1);
    sqlite3_stmt *row = rows != NULL ? sql_use(store, SQL_show_metrics, err) : NULL;
    if (row == NULL) {
        return rows != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, trial_id);
    for (size_t i = 0; i < count; i++) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        rows[i].name = sql_column_text(row, 0, arena);
        rows[i].value = sqlite3_column_double(row, 1);
        rows[i].better = sql_column_text(row, 2, arena);
        if (rows[i].name == NULL || rows[i].better == NULL) {
            return err_memory(err);
        }
        out->metric_count++;
    }
    sqlite3_reset(row);
    out->metrics = rows;
    return true;
}

static double get_sample(const unsigned char *bytes)
{
    uint64_t bits = 0;
    double sample = 0;
    for (size_t i = 0; i < sizeof bits; i++) {
        bits |= (uint64_t)bytes[i] << (8 * i);
    }
    memcpy(&sample, &bits, sizeof sample);
    return sample;
}

/* Of thinned series the mean of each bucket is shown; the interval grows accordingly. */
static bool decode_series(sqlite3_stmt *row, struct arena *arena, struct store_series *out)
{
    const unsigned char *blob = sqlite3_column_blob(row, 4);
    size_t count = (size_t)sqlite3_column_bytes(row, 4) / sizeof(double);
    int64_t thinned = sqlite3_column_int64(row, 3);
    size_t step = thinned > 1 ? 3 : 1;
    double *samples = ARENA_ARRAY(arena, double, count / step + 1);
    out->group = sql_column_text(row, 0, arena);
    out->name = sql_column_text(row, 1, arena);
    out->interval_s = sqlite3_column_double(row, 2) * (thinned > 1 ? (double)thinned : 1.0);
    if (samples == NULL || out->group == NULL || out->name == NULL) {
        return false;
    }
    for (size_t i = 0; i < count / step; i++) {
        samples[i] = get_sample(blob + sizeof(double) * (i * step + (step > 1 ? 1 : 0)));
    }
    out->samples = samples;
    out->count = count / step;
    return true;
}

static bool read_series(struct store *store, int64_t trial_id, struct arena *arena,
                        struct store_result *out, struct err *err)
{
    size_t count = 0;
    bool has_row = false;
    if (!count_rows(store, SQL_show_series, trial_id, &count, err)) {
        return false;
    }
    struct store_series *rows = ARENA_ARRAY(arena, struct store_series, count + 1);
    sqlite3_stmt *row = rows != NULL ? sql_use(store, SQL_show_series, err) : NULL;
    if (row == NULL) {
        return rows != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, trial_id);
    for (size_t i = 0; i < count; i++) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        if (!decode_series(row, arena, &rows[i])) {
            return err_memory(err);
        }
        out->series_count++;
    }
    sqlite3_reset(row);
    out->series = rows;
    return true;
}

static bool read_errors(struct store *store, int64_t trial_id, struct arena *arena,
                        struct store_result *out, struct err *err)
{
    size_t count = 0;
    bool has_row = false;
    if (!count_rows(store, SQL_show_errors, trial_id, &count, err)) {
        return false;
    }
    struct store_error_row *rows = ARENA_ARRAY(arena, struct store_error_row, count + 1);
    sqlite3_stmt *row = rows != NULL ? sql_use(store, SQL_show_errors, err) : NULL;
    if (row == NULL) {
        return rows != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, trial_id);
    for (size_t i = 0; i < count; i++) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        rows[i].transaction = sql_column_text(row, 0, arena);
        rows[i].code = printable_column(row, 1, arena);
        rows[i].text = printable_column(row, 2, arena);
        rows[i].count = (uint64_t)sqlite3_column_int64(row, 3);
        if (rows[i].transaction == NULL || rows[i].code == NULL || rows[i].text == NULL) {
            return err_memory(err);
        }
        out->error_row_count++;
    }
    sqlite3_reset(row);
    out->errors = rows;
    return true;
}

/* ---- JSON ---- */

static void put_text_or_null(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text[0] != '\0' ? text : NULL);
}

static bool put_stages(struct store *store, int64_t trial_id, struct json *json, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_show_stages, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, trial_id);
    json_key(json, "stages");
    json_array_begin(json);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            json_array_end(json);
            return true;
        }
        char started[40];
        clock_format_wall(sqlite3_column_int64(row, 1), started, sizeof started);
        json_object_begin(json);
        json_key(json, "stage");
        json_string(json, (const char *)sqlite3_column_text(row, 0));
        json_key(json, "started");
        json_string(json, started);
        json_key(json, "elapsed_ms");
        json_real(json, sql_column_real(row, 2) / 1000);
        json_key(json, "outcome");
        json_string(json, (const char *)sqlite3_column_text(row, 3));
        json_object_end(json);
    }
    return false;
}

/* One of the three objects over the swept knobs: column 1 asked, 2 effective, 4 source. */
static bool put_values(struct store *store, int64_t trial_id, const char *key, int column,
                       struct json *json, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_show_values, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, trial_id);
    json_key(json, key);
    json_object_begin(json);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            json_object_end(json);
            return true;
        }
        json_key(json, (const char *)sqlite3_column_text(row, 0));
        if (column == 2 && sqlite3_column_type(row, 3) != SQLITE_NULL) {
            json_real(json, sqlite3_column_double(row, 3));
        } else {
            json_string(json, (const char *)sqlite3_column_text(row, column));
        }
    }
    return false;
}

static bool put_counters(struct store *store, int64_t trial_id, struct json *json, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_show_counters, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, trial_id);
    json_key(json, "counters");
    json_object_begin(json);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            json_object_end(json);
            return true;
        }
        json_key(json, (const char *)sqlite3_column_text(row, 0));
        json_object_begin(json);
        json_key(json, "start");
        json_real(json, sqlite3_column_double(row, 1));
        json_key(json, "end");
        json_real(json, sqlite3_column_double(row, 2));
        json_key(json, "delta");
        json_real(json, sqlite3_column_double(row, 2) - sqlite3_column_double(row, 1));
        json_object_end(json);
    }
    return false;
}

static void put_data(const struct shown *shown, struct json *json)
{
    double before = (double)shown->size_before_bytes;
    double after = (double)shown->size_after_bytes;
    bool known = before >= 0 && after >= 0;
    json_key(json, "data");
    json_object_begin(json);
    json_key(json, "size_before_bytes");
    json_real(json, before >= 0 ? before : (double)NAN);
    json_key(json, "size_after_bytes");
    json_real(json, after >= 0 ? after : (double)NAN);
    json_key(json, "growth_pct");
    json_real(json, known && before > 0 ? 100 * (after - before) / before : (double)NAN);
    json_object_end(json);
}

static bool show_json(struct store *store, const struct shown *shown, struct text *out,
                      struct err *err)
{
    struct json json;
    json_open(&json, out);
    json_object_begin(&json);
    json_key(&json, "trial");
    json_int(&json, shown->trial_id);
    json_key(&json, "point");
    json_int(&json, shown->point_id);
    json_key(&json, "purpose");
    json_string(&json, shown->purpose);
    json_key(&json, "status");
    json_string(&json, shown->status);
    put_text_or_null(&json, "class", shown->class);
    put_text_or_null(&json, "reason", shown->reason);
    put_text_or_null(&json, "hint", shown->hint);
    put_text_or_null(&json, "context", shown->context);
    put_text_or_null(&json, "flags", shown->flags);
    if (!put_stages(store, shown->trial_id, &json, err) ||
        !put_values(store, shown->trial_id, "asked", 1, &json, err) ||
        !put_values(store, shown->trial_id, "effective", 2, &json, err) ||
        !put_values(store, shown->trial_id, "source", 4, &json, err) ||
        !put_values(store, shown->trial_id, "verdict", 5, &json, err)) {
        return false;
    }
    view_result_json(&shown->result, &json);
    put_data(shown, &json);
    if (!put_counters(store, shown->trial_id, &json, err)) {
        return false;
    }
    json_key(&json, "log_tail");
    json_string(&json, shown->log_tail);
    put_text_or_null(&json, "output", shown->output);
    json_object_end(&json);
    text_add_char(out, '\n');
    return true;
}

/* ---- text ---- */

/* name, asked, what it is, verdict, source and detail: much of it is the server's. */
static bool put_value_line(sqlite3_stmt *row, struct text *out)
{
    static const int columns[] = {0, 1, 6, 5, 4, 7};
    const char *cells[COUNT_OF(columns)];
    for (size_t i = 0; i < COUNT_OF(columns); i++) {
        const char *cell = (const char *)sqlite3_column_text(row, columns[i]);
        cells[i] = layout_line(out->arena, cell != NULL ? cell : "?", LINE_WIDTH);
        if (cells[i] == NULL) {
            return false;
        }
    }
    text_add(out, "  ");
    layout_left(out, cells[0], 32);
    text_add(out, " asked ");
    layout_left(out, cells[1], 14);
    text_add(out, " is ");
    layout_left(out, cells[2], 14);
    text_addf(out, " %s, %s%s%s\n", cells[3], cells[4], cells[5][0] != '\0' ? ": " : "", cells[5]);
    return true;
}

static bool text_values(struct store *store, int64_t trial_id, struct text *out, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_show_values, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, trial_id);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            return true;
        }
        if (!put_value_line(row, out)) {
            return err_memory(err);
        }
    }
    return false;
}

static bool text_stages(struct store *store, int64_t trial_id, struct text *out, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_show_stages, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, trial_id);
    text_add(out, "stages (ms):");
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            text_add_char(out, '\n');
            return true;
        }
        double elapsed_ms = sql_column_real(row, 2) / 1000;
        char elapsed[LAYOUT_NUMBER_SIZE];
        layout_fixed(elapsed_ms, 0, elapsed); /* "-": under way, or it was ended by a kill */
        text_addf(out, " %s %s", sqlite3_column_text(row, 0), elapsed);
    }
    return false;
}

static bool show_text(struct store *store, const struct shown *shown, struct text *out,
                      struct err *err)
{
    char started[40];
    clock_format_wall(shown->started_us, started, sizeof started);
    text_addf(out, "trial %lld: point %lld, %s, %s, begun %s\n", (long long)shown->trial_id,
              (long long)shown->point_id, shown->purpose, shown->status, started);
    if (shown->reason[0] != '\0') {
        text_addf(out, "%s: %s\n", shown->class, shown->reason);
        text_addf(out, "%s%s", shown->hint, shown->hint[0] != '\0' ? "\n" : "");
        text_addf(out, "%s%s", shown->context, shown->context[0] != '\0' ? "\n" : "");
    }
    if (!text_values(store, shown->trial_id, out, err) ||
        !text_stages(store, shown->trial_id, out, err)) {
        return false;
    }
    for (size_t i = 0; i < shown->result.metric_count; i++) {
        char value[LAYOUT_NUMBER_SIZE];
        const char *name = layout_line(out->arena, shown->result.metrics[i].name, LINE_WIDTH);
        layout_figure(shown->result.metrics[i].value, value);
        if (name == NULL) {
            return err_memory(err);
        }
        text_addf(out, "%s%s %s", i > 0 ? ", " : "", name, value);
    }
    text_add(out, shown->result.metric_count > 0 ? "\n\n" : "");
    if (shown->result.statement_count > 0) {
        view_statement_table(shown->result.statements, shown->result.statement_count,
                             shown->result.measured_s, out);
    }
    if (shown->output[0] != '\0') {
        text_addf(out, "\noutput:\n%s\n", shown->output);
    }
    if (shown->log_tail[0] != '\0') {
        text_addf(out, "\nthe server's log:\n%s\n", shown->log_tail);
    }
    return true;
}

bool view_show(struct store *store, int64_t trial_id, const char *format, struct arena *arena,
               struct text *out, struct err *err)
{
    struct shown shown = {0};
    if (strcmp(format, "json") != 0 && strcmp(format, "table") != 0) {
        err_set(err, ERR_CODE_usage, "there is no format \"%s\"", format);
        return err_hint(err, "table or json");
    }
    if (!read_head(store, trial_id, arena, &shown, err) ||
        !read_statements(store, trial_id, arena, &shown.result, err) ||
        !read_metrics(store, trial_id, arena, &shown.result, err) ||
        !read_series(store, trial_id, arena, &shown.result, err) ||
        !read_errors(store, trial_id, arena, &shown.result, err)) {
        return false;
    }
    bool ok = strcmp(format, "json") == 0 ? show_json(store, &shown, out, err)
                                          : show_text(store, &shown, out, err);
    return ok && (!out->failed || err_memory(err));
}
