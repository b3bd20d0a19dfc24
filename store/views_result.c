/*
 * A result as the per-statement table of the published experiments, and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/layout.h"
#include "store/views.h"

enum { NAME_WIDTH = 32, NAME_LIMIT = 100 };

struct totals {
    uint64_t transactions;
    uint64_t statements;
    double total_s;
    uint64_t new_orders; /* of TPC-C: NOTPM counts them alone */
    bool has_new_orders;
};

static struct totals add_up(const struct store_statement *rows, size_t count)
{
    struct totals totals = {0};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].statement[0] != '\0') {
            totals.statements += rows[i].count;
            totals.total_s += rows[i].total_s;
            continue;
        }
        totals.transactions += rows[i].count;
        if (strcmp(rows[i].transaction, "new_order") == 0) {
            totals.new_orders += rows[i].count;
            totals.has_new_orders = true;
        }
    }
    return totals;
}

static double a_minute(uint64_t count, double elapsed_s)
{
    return elapsed_s > 0 ? 60 * (double)count / elapsed_s : 0;
}

static bool has_several(const struct store_statement *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (strcmp(rows[i].transaction, rows[0].transaction) != 0) {
            return true;
        }
    }
    return false;
}

enum { NUMBER_COUNT = 4, NUM_WIDTH = 12 };
static const size_t number_widths[NUMBER_COUNT] = {14, 12, 12, 12};

static void put_table_row(struct text *out, const char *name, size_t width, const double *numbers,
                          uint64_t num)
{
    layout_left(out, name, width);
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        char number[LAYOUT_NUMBER_SIZE];
        layout_fixed(numbers[i], 6, number);
        text_add_char(out, ' ');
        layout_right(out, number, number_widths[i]);
    }
    text_addf(out, " %*llu\n", NUM_WIDTH, (unsigned long long)num);
}

static void put_rates(const struct totals *totals, double elapsed_s, struct text *out)
{
    char elapsed[LAYOUT_NUMBER_SIZE];
    char tpm[LAYOUT_NUMBER_SIZE];
    char spm[LAYOUT_NUMBER_SIZE];
    layout_fixed(elapsed_s, 3, elapsed);
    layout_fixed(a_minute(totals->transactions, elapsed_s), 2, tpm);
    layout_fixed(a_minute(totals->statements, elapsed_s), 2, spm);
    text_addf(out, "time: %s, total transactions: %llu, TPM: %s, SPM: %s", elapsed,
              (unsigned long long)totals->transactions, tpm, spm);
    if (totals->has_new_orders) {
        layout_fixed(a_minute(totals->new_orders, elapsed_s), 2, tpm);
        text_addf(out, ", NOTPM: %s", tpm);
    }
    text_add_char(out, '\n');
}

static const char *name_row(const struct store_statement *row, bool with_transaction,
                            struct text *out)
{
    const char *whole = arena_printf(out->arena, "%s%s%s", with_transaction ? row->transaction : "",
                                     with_transaction ? "." : "", row->statement);
    const char *name = whole != NULL ? layout_line(out->arena, whole, NAME_LIMIT) : NULL;
    out->failed = out->failed || name == NULL;
    return name != NULL ? name : "";
}

static size_t widest_name(const struct store_statement *rows, size_t count, bool with_transaction,
                          struct text *out)
{
    size_t width = NAME_WIDTH;
    for (size_t i = 0; i < count; i++) {
        size_t size = layout_width(name_row(&rows[i], with_transaction, out));
        width = rows[i].statement[0] != '\0' && size > width ? size : width;
    }
    return width;
}

void view_statement_table(const struct store_statement *rows, size_t count, double elapsed_s,
                          struct text *out)
{
    struct totals totals = add_up(rows, count);
    bool with_transaction = has_several(rows, count);
    size_t width = widest_name(rows, count, with_transaction, out);
    text_addf(out, "%-*s %14s %12s %12s %12s %12s\n", (int)width, "name", "total", "min", "max",
              "avg", "num");
    for (size_t i = 0; i < count; i++) {
        const struct store_statement *row = &rows[i];
        const double numbers[] = {row->total_s, row->min_s, row->max_s, row->avg_s};
        if (row->statement[0] != '\0') {
            put_table_row(out, name_row(row, with_transaction, out), width, numbers, row->count);
        }
    }
    const double numbers[] = {totals.total_s, NAN, NAN, NAN};
    put_table_row(out, "totals", width, numbers, totals.statements);
    put_rates(&totals, elapsed_s, out);
}

/* ---- JSON ---- */

static void put_real(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_real(json, value);
}

static void put_statement(struct json *json, const struct store_statement *row)
{
    json_object_begin(json);
    json_key(json, "transaction");
    json_string(json, row->transaction);
    json_key(json, "statement");
    json_string(json, row->statement);
    json_key(json, "count");
    json_int(json, (int64_t)row->count);
    json_key(json, "errors");
    json_int(json, (int64_t)row->error_count);
    if (row->statement[0] == '\0') { /* tries are those of whole transactions */
        json_key(json, "retries");
        json_int(json, (int64_t)row->retry_count);
    }
    put_real(json, "total_s", row->total_s);
    put_real(json, "min_s", row->min_s);
    put_real(json, "avg_s", row->avg_s);
    put_real(json, "max_s", row->max_s);
    put_real(json, "p50_s", row->p50_s);
    put_real(json, "p95_s", row->p95_s);
    put_real(json, "p99_s", row->p99_s);
    json_object_end(json);
}

static void put_statements(struct json *json, const struct store_result *result)
{
    json_key(json, "statements");
    json_array_begin(json);
    for (size_t i = 0; i < result->statement_count; i++) {
        if (result->statements[i].statement[0] != '\0') {
            put_statement(json, &result->statements[i]);
        }
    }
    json_array_end(json);
    json_key(json, "transactions");
    json_array_begin(json);
    for (size_t i = 0; i < result->statement_count; i++) {
        if (result->statements[i].statement[0] == '\0') {
            put_statement(json, &result->statements[i]);
        }
    }
    json_array_end(json);
}

static void put_totals(struct json *json, const struct store_result *result)
{
    struct totals totals = add_up(result->statements, result->statement_count);
    double elapsed_s = result->measured_s;
    bool is_counted = result->statement_count > 0; /* not by a command of the user's */
    json_key(json, "totals");
    json_object_begin(json);
    json_key(json, "transactions");
    json_int(json, (int64_t)totals.transactions);
    json_key(json, "statements");
    json_int(json, (int64_t)totals.statements);
    put_real(json, "total_s", totals.total_s);
    put_real(json, "tpm", is_counted ? a_minute(totals.transactions, elapsed_s) : (double)NAN);
    put_real(json, "spm", is_counted ? a_minute(totals.statements, elapsed_s) : (double)NAN);
    put_real(json, "notpm",
             totals.has_new_orders ? a_minute(totals.new_orders, elapsed_s) : (double)NAN);
    put_real(json, "elapsed_s", elapsed_s);
    json_object_end(json);
}

static void put_series(struct json *json, const struct store_result *result, const char *group,
                       const char *key)
{
    bool has_interval = false;
    json_key(json, key);
    json_object_begin(json);
    for (size_t i = 0; i < result->series_count; i++) {
        const struct store_series *series = &result->series[i];
        if (strcmp(series->group, group) != 0) {
            continue;
        }
        if (!has_interval) {
            put_real(json, "interval_s", series->interval_s);
            has_interval = true;
        }
        json_key(json, series->name);
        json_array_begin(json);
        for (size_t j = 0; j < series->count; j++) {
            json_real(json, series->samples[j]);
        }
        json_array_end(json);
    }
    json_object_end(json);
}

static void put_metrics(struct json *json, const struct store_result *result)
{
    json_key(json, "metrics");
    json_object_begin(json);
    for (size_t i = 0; i < result->metric_count; i++) {
        put_real(json, result->metrics[i].name, result->metrics[i].value);
    }
    json_object_end(json);
}

void view_result_json(const struct store_result *result, struct json *json)
{
    put_statements(json, result);
    put_totals(json, result);
    put_series(json, result, "load", "series");
    put_series(json, result, "host", "host");
    put_metrics(json, result);
    json_key(json, "errors");
    json_array_begin(json);
    for (size_t i = 0; i < result->error_row_count; i++) {
        const struct store_error_row *row = &result->errors[i];
        json_object_begin(json);
        json_key(json, "transaction");
        json_string(json, row->transaction);
        json_key(json, "code");
        json_string(json, row->code);
        json_key(json, "text");
        json_string(json, row->text);
        json_key(json, "count");
        json_int(json, (int64_t)row->count);
        json_object_end(json);
    }
    json_array_end(json);
}
