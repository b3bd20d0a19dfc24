/*
 * A drive's result as rows of the store: shared by trials, which keep them, and by `dbsweep load`,
 * which prints them.
 */
#include "sweeper/load_rows.h"

enum { LOAD_SERIES = 4 };

static void fill_latency(struct store_statement *row, const struct histogram *latency,
                         struct arena *arena)
{
    struct text blob;
    text_open(&blob, arena);
    histogram_encode(latency, &blob);
    row->count = latency->count;
    row->total_s = (double)latency->sum_ns / 1e9;
    row->min_s = latency->count > 0 ? (double)latency->min_ns / 1e9 : 0;
    row->avg_s = histogram_mean_ns(latency) / 1e9;
    row->max_s = (double)latency->max_ns / 1e9;
    row->p50_s = histogram_percentile_ns(latency, 50) / 1e9;
    row->p95_s = histogram_percentile_ns(latency, 95) / 1e9;
    row->p99_s = histogram_percentile_ns(latency, 99) / 1e9;
    row->p999_s = histogram_percentile_ns(latency, 99.9) / 1e9;
    row->histogram = (struct bytes){.data = text_done(&blob), .size = blob.size};
}

static bool fill_statements(const struct load_result *result, struct arena *arena,
                            struct store_result *out, struct err *err)
{
    size_t count = result->transaction_count + result->statement_count;
    struct store_statement *rows = ARENA_ARRAY(arena, struct store_statement, count + 1);
    if (rows == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < result->transaction_count; i++) {
        const struct load_transaction *transaction = &result->transactions[i];
        rows[i] = (struct store_statement){.transaction = transaction->name,
                                           .statement = "",
                                           .error_count = transaction->error_count,
                                           .retry_count = transaction->retry_count};
        fill_latency(&rows[i], transaction->latency, arena);
    }
    for (size_t i = 0; i < result->statement_count; i++) {
        const struct load_statement *statement = &result->statements[i];
        struct store_statement *row = &rows[result->transaction_count + i];
        *row = (struct store_statement){.transaction = statement->transaction,
                                        .statement = statement->statement,
                                        .error_count = statement->error_count};
        fill_latency(row, statement->latency, arena);
    }
    out->statements = rows;
    out->statement_count = count;
    return true;
}

static bool fill_series(const struct load_result *result, struct arena *arena,
                        struct store_result *out, struct err *err)
{
    size_t count = result->second_count;
    struct store_series *series = ARENA_ARRAY(arena, struct store_series, LOAD_SERIES);
    double *samples = ARENA_ARRAY(arena, double, LOAD_SERIES *count + 1);
    if (series == NULL || samples == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        samples[i] = result->seconds[i].throughput_per_s;
        samples[count + i] = result->seconds[i].p99_ms;
        samples[2 * count + i] = (double)result->seconds[i].error_count;
        samples[3 * count + i] = result->seconds[i].mean_ms;
    }
    static const char *const names[LOAD_SERIES] = {"throughput", "p99_ms", "errors", "mean_ms"};
    for (size_t i = 0; i < LOAD_SERIES; i++) {
        series[i] = (struct store_series){.name = names[i],
                                          .group = "load",
                                          .interval_s = result->series_interval_s,
                                          .samples = samples + i * count,
                                          .count = count};
    }
    out->series = series;
    out->series_count = count > 0 ? LOAD_SERIES : 0;
    return true;
}

static bool fill_metrics(const struct load_result *result, struct arena *arena,
                         struct store_result *out, struct err *err)
{
    struct load_metric *metrics = NULL;
    size_t count = 0;
    if (!load_result_metrics(result, arena, &metrics, &count, err)) {
        return false;
    }
    struct store_metric *rows = ARENA_ARRAY(arena, struct store_metric, count + 1);
    struct store_error_row *errors =
        ARENA_ARRAY(arena, struct store_error_row, result->error_row_count + 1);
    if (rows == NULL || errors == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct store_metric){
            .name = metrics[i].name, .value = metrics[i].value, .better = metrics[i].better};
    }
    for (size_t i = 0; i < result->error_row_count; i++) {
        const struct load_error_row *row = &result->errors[i];
        errors[i] = (struct store_error_row){.transaction = row->transaction,
                                             .code = row->code,
                                             .text = row->text,
                                             .count = row->count};
    }
    out->metrics = rows;
    out->metric_count = count;
    out->errors = errors;
    out->error_row_count = result->error_row_count;
    return true;
}

bool load_rows(const struct load_result *result, struct arena *arena, struct store_result *out,
               struct err *err)
{
    *out = (struct store_result){.measured_s = (double)result->measured_ns / 1e9,
                                 .warm_up_s = (double)result->warm_up_ns / 1e9,
                                 .size_before_bytes = -1,
                                 .size_after_bytes = -1,
                                 .output = result->output != NULL ? result->output : ""};
    return fill_metrics(result, arena, out, err) && fill_statements(result, arena, out, err) &&
           fill_series(result, arena, out, err);
}
