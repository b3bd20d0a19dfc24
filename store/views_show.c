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
    out->result.warm_up_s = sql_column_real(row, 15);
    sqlite3_reset(row);
    return ok || err_memory(err);
}

/* ---- rows of the result ---- */

/* Rows of one kind, each read into the next item of an array. */
struct rows {
    struct arena *arena;
    char *items;
    size_t item_bytes;
    size_t count;
    size_t limit;
    bool (*read)(sqlite3_stmt *row, struct arena *arena, void *item);
};

static bool count_row(sqlite3_stmt *row UNUSED, void *context, struct err *err UNUSED)
{
    struct rows *rows = context;
    rows->limit++;
    return true;
}

/* A row that came since they were counted is left out. */
static bool take_row(sqlite3_stmt *row, void *context, struct err *err)
{
    struct rows *rows = context;
    if (rows->count == rows->limit) {
        return true;
    }
    if (!rows->read(row, rows->arena, rows->items + rows->count * rows->item_bytes)) {
        return err_memory(err);
    }
    rows->count++;
    return true;
}

/* How many rows a trial has in each table bounds what is allocated. */
static bool read_rows(struct store *store, enum sql_id id, int64_t trial_id, struct rows *rows,
                      struct err *err)
{
    if (!sql_each(store, id, trial_id, count_row, rows, err)) {
        return false;
    }
    rows->items = arena_alloc_array(rows->arena, rows->limit + 1, rows->item_bytes);
    return rows->items != NULL ? sql_each(store, id, trial_id, take_row, rows, err)
                               : err_memory(err);
}

static bool read_statement(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct store_statement *out = item;
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
    return out->transaction != NULL && out->statement != NULL;
}

static bool read_metric(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct store_metric *out = item;
    out->name = sql_column_text(row, 0, arena);
    out->value = sqlite3_column_double(row, 1);
    out->better = sql_column_text(row, 2, arena);
    return out->name != NULL && out->better != NULL;
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
static bool read_one_series(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct store_series *out = item;
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

static bool read_error(sqlite3_stmt *row, struct arena *arena, void *item)
{
    struct store_error_row *out = item;
    out->transaction = sql_column_text(row, 0, arena);
    out->code = printable_column(row, 1, arena);
    out->text = printable_column(row, 2, arena);
    out->count = (uint64_t)sqlite3_column_int64(row, 3);
    return out->transaction != NULL && out->code != NULL && out->text != NULL;
}

static bool read_result(struct store *store, int64_t trial_id, struct arena *arena,
                        struct store_result *out, struct err *err)
{
    struct rows statements = {.item_bytes = sizeof(struct store_statement), .read = read_statement};
    struct rows metrics = {.item_bytes = sizeof(struct store_metric), .read = read_metric};
    struct rows series = {.item_bytes = sizeof(struct store_series), .read = read_one_series};
    struct rows errors = {.item_bytes = sizeof(struct store_error_row), .read = read_error};
    statements.arena = metrics.arena = series.arena = errors.arena = arena;
    if (!read_rows(store, SQL_show_statements, trial_id, &statements, err) ||
        !read_rows(store, SQL_show_metrics, trial_id, &metrics, err) ||
        !read_rows(store, SQL_show_series, trial_id, &series, err) ||
        !read_rows(store, SQL_show_errors, trial_id, &errors, err)) {
        return false;
    }
    out->statements = (struct store_statement *)(void *)statements.items;
    out->statement_count = statements.count;
    out->metrics = (struct store_metric *)(void *)metrics.items;
    out->metric_count = metrics.count;
    out->series = (struct store_series *)(void *)series.items;
    out->series_count = series.count;
    out->errors = (struct store_error_row *)(void *)errors.items;
    out->error_row_count = errors.count;
    return true;
}

/* ---- JSON ---- */

static void put_text_or_null(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text[0] != '\0' ? text : NULL);
}

static bool put_stage(sqlite3_stmt *row, void *context, struct err *err UNUSED)
{
    struct json *json = context;
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
    return true;
}

static bool put_stages(struct store *store, int64_t trial_id, struct json *json, struct err *err)
{
    json_key(json, "stages");
    json_array_begin(json);
    bool ok = sql_each(store, SQL_show_stages, trial_id, put_stage, json, err);
    json_array_end(json);
    return ok;
}

struct value_column {
    struct json *json;
    int at;
};

static bool put_value(sqlite3_stmt *row, void *context, struct err *err UNUSED)
{
    const struct value_column *column = context;
    json_key(column->json, (const char *)sqlite3_column_text(row, 0));
    if (column->at == 2 && sqlite3_column_type(row, 3) != SQLITE_NULL) {
        json_real(column->json, sqlite3_column_double(row, 3));
    } else {
        json_string(column->json, (const char *)sqlite3_column_text(row, column->at));
    }
    return true;
}

/* One of the three objects over the swept knobs: column 1 asked, 2 effective, 4 source. */
static bool put_values(struct store *store, int64_t trial_id, const char *key, int column,
                       struct json *json, struct err *err)
{
    struct value_column context = {.json = json, .at = column};
    json_key(json, key);
    json_object_begin(json);
    bool ok = sql_each(store, SQL_show_values, trial_id, put_value, &context, err);
    json_object_end(json);
    return ok;
}

static bool put_counter(sqlite3_stmt *row, void *context, struct err *err UNUSED)
{
    struct json *json = context;
    json_key(json, (const char *)sqlite3_column_text(row, 0));
    json_object_begin(json);
    json_key(json, "start");
    json_real(json, sqlite3_column_double(row, 1));
    json_key(json, "end");
    json_real(json, sqlite3_column_double(row, 2));
    json_key(json, "delta");
    json_real(json, sqlite3_column_double(row, 2) - sqlite3_column_double(row, 1));
    json_object_end(json);
    return true;
}

static bool put_counters(struct store *store, int64_t trial_id, struct json *json, struct err *err)
{
    json_key(json, "counters");
    json_object_begin(json);
    bool ok = sql_each(store, SQL_show_counters, trial_id, put_counter, json, err);
    json_object_end(json);
    return ok;
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
    json_key(&json, "warm_up_s");
    json_real(&json, shown->result.warm_up_s);
    json_key(&json, "measured_s");
    json_real(&json, shown->result.measured_s);
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

static bool text_value(sqlite3_stmt *row, void *context, struct err *err)
{
    return put_value_line(row, context) || err_memory(err);
}

static bool text_stage(sqlite3_stmt *row, void *context, struct err *err UNUSED)
{
    struct text *out = context;
    char elapsed[LAYOUT_NUMBER_SIZE];
    layout_fixed(sql_column_real(row, 2) / 1000, 0, elapsed); /* "-": under way, or killed */
    text_addf(out, " %s %s", sqlite3_column_text(row, 0), elapsed);
    return true;
}

static bool text_stages(struct store *store, int64_t trial_id, struct text *out, struct err *err)
{
    text_add(out, "stages (ms):");
    bool ok = sql_each(store, SQL_show_stages, trial_id, text_stage, out, err);
    text_add_char(out, '\n');
    return ok;
}

/* How long was measured and warmed up before, and what is held against it. */
static void text_windows(const struct shown *shown, struct text *out)
{
    char measured[LAYOUT_NUMBER_SIZE];
    char warm_up[LAYOUT_NUMBER_SIZE];
    if (isnan(shown->result.measured_s)) {
        return;
    }
    layout_fixed(shown->result.measured_s, 1, measured);
    layout_fixed(shown->result.warm_up_s, 1, warm_up);
    text_addf(out, "measured: %s s, after a warm-up of %s s\n", measured, warm_up);
    if (shown->flags[0] != '\0') {
        text_addf(out, "flags: %s\n", shown->flags);
    }
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
    if (!sql_each(store, SQL_show_values, shown->trial_id, text_value, out, err) ||
        !text_stages(store, shown->trial_id, out, err)) {
        return false;
    }
    text_windows(shown, out);
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
        !read_result(store, trial_id, arena, &shown.result, err)) {
        return false;
    }
    bool ok = strcmp(format, "json") == 0 ? show_json(store, &shown, out, err)
                                          : show_text(store, &shown, out, err);
    return ok && (!out->failed || err_memory(err));
}
