/*
 * The same tables and keys as `dbsweep show`, from a result that no store holds.
 */
#include "sweeper/load_report.h"

#include <string.h>

#include "store/layout.h"
#include "store/views.h"
#include "sweeper/load_rows.h"

void load_report_outcome(const struct err *why, struct json *json)
{
    char reason[sizeof why->text + sizeof why->hint + sizeof why->origin];
    if (why != NULL) {
        err_format(why, reason, sizeof reason);
    }
    json_key(json, "status");
    json_string(json, why == NULL ? "done" : why->class == ERR_STOP ? "stopped" : "failed");
    json_key(json, "class");
    json_string(json, why != NULL ? err_class_name(why->class) : NULL);
    json_key(json, "reason");
    json_string(json, why != NULL ? reason : NULL);
}

static void report_json(const struct load_result *result, const struct store_result *rows,
                        const char *flags, const struct err *why, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_object_begin(&json);
    load_report_outcome(why, &json);
    view_result_json(rows, &json);
    json_key(&json, "clients");
    json_int(&json, result->client_count);
    json_key(&json, "distribution");
    json_string(&json, result->distribution);
    json_key(&json, "flags");
    json_string(&json, flags);
    json_key(&json, "driver_cpu_s");
    json_real(&json, result->driver_cpu_s);
    json_key(&json, "p99_lag_ms");
    json_real(&json, result->p99_lag_ms);
    json_object_end(&json);
    text_add_char(out, '\n');
}

/* ---- figures ---- */

/* What is read together stands together. */
static const struct figure {
    const char *line; /* NULL: on the line of the one before */
    const char *metric;
    const char *before;
    const char *after;
} figures[] = {
    {"throughput", "throughput_per_s", "", " per s"},
    {NULL, "offered_per_s", "offered ", " per s"},
    {NULL, "backlog", "backlog ", ""},
    {NULL, "tpm", "TPM ", ""},
    {NULL, "spm", "SPM ", ""},
    {NULL, "notpm", "NOTPM ", ""},
    {"rows", "rows_inserted", "", " inserted"},
    {NULL, "rows_per_s", "", " per s"},
    {NULL, "initial_rows_per_s", "initial ", " per s"},
    {NULL, "terminal_rows_per_s", "terminal ", " per s"},
    {"tenths, rows per s", "decile_1_rows_per_s", "", ""},
    {NULL, "decile_2_rows_per_s", "", ""},
    {NULL, "decile_3_rows_per_s", "", ""},
    {NULL, "decile_4_rows_per_s", "", ""},
    {NULL, "decile_5_rows_per_s", "", ""},
    {NULL, "decile_6_rows_per_s", "", ""},
    {NULL, "decile_7_rows_per_s", "", ""},
    {NULL, "decile_8_rows_per_s", "", ""},
    {NULL, "decile_9_rows_per_s", "", ""},
    {NULL, "decile_10_rows_per_s", "", ""},
    {"longest stall", "longest_stall_ms", "", " ms"},
    {"queries", "queries_per_s", "", " per s"},
    {"latency, ms", "p50_ms", "p50 ", ""},
    {NULL, "p95_ms", "p95 ", ""},
    {NULL, "p99_ms", "p99 ", ""},
    {NULL, "p999_ms", "p99.9 ", ""},
    {NULL, "max_ms", "max ", ""},
    {NULL, "mean_ms", "mean ", ""},
    {"service, ms", "service_p50_ms", "p50 ", ""},
    {NULL, "service_p95_ms", "p95 ", ""},
    {NULL, "service_p99_ms", "p99 ", ""},
    {NULL, "service_p999_ms", "p99.9 ", ""},
    {NULL, "service_max_ms", "max ", ""},
    {NULL, "service_mean_ms", "mean ", ""},
    {"errors", "error_pct", "", " %"},
    {"driver", "driver_us", "", " us of CPU a transaction"},
    {NULL, "driver_busy_pct", "busiest loop ", " %"},
    {NULL, "driver_wait_pct", "waited for a CPU ", " %"},
    {NULL, "lag_p99_ms", "late by ", " ms (p99)"},
    {NULL, "ceiling_per_s", "ceiling ", " per s"},
};

static const struct store_metric *find_metric(const struct store_result *rows, const char *name)
{
    for (size_t i = 0; i < rows->metric_count; i++) {
        if (strcmp(rows->metrics[i].name, name) == 0) {
            return &rows->metrics[i];
        }
    }
    return NULL;
}

static bool has_figure(const char *metric)
{
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        if (strcmp(figures[i].metric, metric) == 0) {
            return true;
        }
    }
    return false;
}

/* A line is written with its first figure that is there. */
static void report_metrics(const struct store_result *rows, struct text *out)
{
    char value[LAYOUT_NUMBER_SIZE];
    const char *line = "";
    bool is_begun = false;
    for (size_t i = 0; i < COUNT_OF(figures); i++) {
        const struct store_metric *metric = find_metric(rows, figures[i].metric);
        if (figures[i].line != NULL) {
            text_add(out, is_begun ? "\n" : "");
            line = figures[i].line;
            is_begun = false;
        }
        if (metric == NULL) {
            continue;
        }
        layout_figure(metric->value, value);
        if (!is_begun) {
            text_addf(out, "%s: ", line);
        }
        text_addf(out, "%s%s%s%s", is_begun ? ", " : "", figures[i].before, value,
                  figures[i].after);
        is_begun = true;
    }
    text_add(out, is_begun ? "\n" : "");
    for (size_t i = 0; i < rows->metric_count; i++) {
        if (!has_figure(rows->metrics[i].name)) {
            layout_figure(rows->metrics[i].value, value);
            text_addf(out, "%s: %s\n", rows->metrics[i].name, value);
        }
    }
}

/* Where there are several: how often each came, and how long it took. */
static void report_transactions(const struct store_result *rows, struct text *out)
{
    uint64_t total = 0;
    size_t several = 0;
    for (size_t i = 0; i < rows->statement_count; i++) {
        bool is_whole = rows->statements[i].statement[0] == '\0';
        total += is_whole ? rows->statements[i].count : 0;
        several += is_whole ? 1 : 0;
    }
    for (size_t i = 0; several > 1 && i < rows->statement_count; i++) {
        const struct store_statement *row = &rows->statements[i];
        if (row->statement[0] == '\0' && row->count > 0) {
            text_addf(out, "%s: %llu, %.2f %%, p50 %.3f, p95 %.3f, p99 %.3f, max %.3f ms\n",
                      row->transaction, (unsigned long long)row->count,
                      100 * (double)row->count / (double)total, 1e3 * row->p50_s, 1e3 * row->p95_s,
                      1e3 * row->p99_s, 1e3 * row->max_s);
        }
    }
}

static void report_retries(const struct store_result *rows, struct text *out)
{
    for (size_t i = 0; i < rows->statement_count; i++) {
        const struct store_statement *row = &rows->statements[i];
        if (row->retry_count > 0) {
            text_addf(out, "retries: %llu after conflicts in %s\n",
                      (unsigned long long)row->retry_count, row->transaction);
        }
    }
}

static void report_text(const struct load_result *result, const struct store_result *rows,
                        const char *flags, const struct err *why, struct text *out)
{
    if (rows->statement_count > 0) {
        view_statement_table(rows->statements, rows->statement_count, rows->measured_s, out);
    }
    report_metrics(rows, out);
    report_transactions(rows, out);
    text_addf(out, "%u client%s%s%s\n", result->client_count, result->client_count == 1 ? "" : "s",
              result->distribution[0] != '\0' ? "; rows drawn: " : "", result->distribution);
    if (flags[0] != '\0') {
        text_addf(out, "flags: %s\n", flags);
    }
    report_retries(rows, out);
    for (size_t i = 0; i < rows->error_row_count; i++) {
        text_addf(out, "errors: %llu x %s in %s: %s\n", (unsigned long long)rows->errors[i].count,
                  rows->errors[i].code, rows->errors[i].transaction, rows->errors[i].text);
    }
    if (why != NULL) {
        text_addf(out, "failed: %s\n", why->text);
    }
}

bool load_report(const struct load_result *result, const char *format, const struct err *why,
                 struct arena *arena, struct text *out, struct err *err)
{
    struct store_result rows;
    if (!load_rows(result, arena, &rows, err)) {
        return false;
    }
    const char *flags = load_result_flags(result, arena);
    if (flags == NULL) {
        return err_memory(err);
    }
    if (strcmp(format, "json") == 0) {
        report_json(result, &rows, flags, why, out);
    } else if (strcmp(format, "table") == 0) {
        report_text(result, &rows, flags, why, out);
    } else {
        err_set(err, ERR_CODE_usage, "there is no format \"%s\"", format);
        return err_hint(err, "table or json");
    }
    return !out->failed || err_memory(err);
}
