/*
 * Trials: begun, stage by stage, and everything that was measured.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/sql.h"
#include "sweeper/base/clock.h"
#include "sweeper/base/text.h"

enum { SERIES_LIMIT = 3600, RESULT_ARENA_BYTES = 64 << 20 };

static const char *word(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- begin and stages ---- */

static bool add_trial(struct store *store, const struct store_trial_begin *trial, int64_t *out_id,
                      struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_trial_add, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, trial->sweep_id);
    sql_int(statement, 2, trial->call_id);
    sql_int(statement, 3, trial->point_id);
    sql_int(statement, 4, trial->condition_id);
    sql_text(statement, 5, trial->purpose);
    sql_int(statement, 6, clock_wall_us());
    if (!sql_run(store, statement, err)) {
        return false;
    }
    *out_id = sqlite3_last_insert_rowid(store->database);
    return true;
}

bool store_trial_begin(struct store *store, const struct store_trial_begin *trial, int64_t *out_id,
                       struct err *err)
{
    return sql_begin(store, err) && sql_end(store, add_trial(store, trial, out_id, err), err);
}

static bool add_stage(struct store *store, int64_t trial_id, const char *stage, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_stage_add, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, trial_id);
    sql_text(statement, 2, stage);
    sql_int(statement, 3, clock_wall_us());
    return sql_run(store, statement, err);
}

bool store_stage_begin(struct store *store, int64_t trial_id, const char *stage, struct err *err)
{
    return sql_begin(store, err) && sql_end(store, add_stage(store, trial_id, stage, err), err);
}

static bool end_stage(struct store *store, int64_t trial_id, const char *outcome, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_stage_end, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, trial_id);
    sql_int(statement, 2, clock_wall_us());
    sql_text(statement, 3, outcome);
    return sql_run_one(store, statement, "stage under way in trial", trial_id, err);
}

bool store_stage_end(struct store *store, int64_t trial_id, const char *outcome, struct err *err)
{
    return sql_begin(store, err) && sql_end(store, end_stage(store, trial_id, outcome, err), err);
}

/* ---- what was read back ---- */

static bool add_values(struct store *store, int64_t trial_id,
                       const struct store_trial_value *values, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct store_trial_value *value = &values[i];
        sqlite3_stmt *statement = sql_use(store, SQL_trial_value_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, trial_id);
        sql_text(statement, 2, value->name);
        sql_text(statement, 3, word(value->asked));
        sql_text(statement, 4, value->effective);
        sql_text(statement, 5, value->effective_display);
        if (value->has_number) {
            sql_real(statement, 6, value->number);
        }
        sql_text(statement, 7, value->verdict);
        sql_text(statement, 8, word(value->source));
        sql_text(statement, 9, word(value->detail));
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

bool store_trial_values(struct store *store, int64_t trial_id,
                        const struct store_trial_value *values, size_t count, struct err *err)
{
    return count == 0 || (sql_begin(store, err) &&
                          sql_end(store, add_values(store, trial_id, values, count, err), err));
}

/* ---- what was measured ---- */

static void put_sample(struct text *blob, double value)
{
    uint64_t bits = 0;
    unsigned char bytes[sizeof bits];
    memcpy(&bits, &value, sizeof bits);
    for (size_t i = 0; i < sizeof bits; i++) {
        bytes[i] = (unsigned char)(bits >> (8 * i));
    }
    text_add_bytes(blob, bytes, sizeof bytes);
}

/* Long series keep min, mean and max of each bucket: a spike must not be averaged away. */
static size_t encode_series(const struct store_series *series, struct text *blob)
{
    size_t bucket = (series->count + SERIES_LIMIT - 1) / SERIES_LIMIT;
    if (bucket <= 1) {
        for (size_t i = 0; i < series->count; i++) {
            put_sample(blob, series->samples[i]);
        }
        return 1;
    }
    for (size_t first = 0; first < series->count; first += bucket) {
        double min = INFINITY;
        double max = -INFINITY;
        double sum = 0;
        size_t seen = 0;
        for (size_t i = first; i < first + bucket && i < series->count; i++) {
            if (!isnan(series->samples[i])) {
                min = fmin(min, series->samples[i]);
                max = fmax(max, series->samples[i]);
                sum += series->samples[i];
                seen++;
            }
        }
        put_sample(blob, seen > 0 ? min : NAN);
        put_sample(blob, seen > 0 ? sum / (double)seen : NAN);
        put_sample(blob, seen > 0 ? max : NAN);
    }
    return bucket;
}

static bool add_series(struct store *store, int64_t trial_id, const struct store_series *series,
                       struct err *err)
{
    struct arena arena;
    struct text blob;
    sqlite3_stmt *statement = sql_use(store, SQL_series_add, err);
    if (statement == NULL) {
        return false;
    }
    arena_open(&arena, RESULT_ARENA_BYTES);
    text_open(&blob, &arena);
    size_t thinned = encode_series(series, &blob);
    const char *data = text_done(&blob);
    sql_int(statement, 1, trial_id);
    sql_text(statement, 2, series->group);
    sql_text(statement, 3, series->name);
    sql_real(statement, 4, series->interval_s);
    sql_int(statement, 5, (int64_t)thinned);
    sql_blob(statement, 6, (struct bytes){.data = data, .size = blob.size});
    bool ok = data != NULL ? sql_run(store, statement, err) : err_memory(err);
    arena_close(&arena);
    return ok;
}

static bool add_metrics(struct store *store, int64_t trial_id, const struct store_result *result,
                        struct err *err)
{
    for (size_t i = 0; i < result->metric_count; i++) {
        sqlite3_stmt *statement = sql_use(store, SQL_metric_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, trial_id);
        sql_text(statement, 2, result->metrics[i].name);
        sql_real(statement, 3, result->metrics[i].value);
        sql_text(statement, 4, result->metrics[i].better);
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

static bool add_statements(struct store *store, int64_t trial_id, const struct store_result *result,
                           struct err *err)
{
    for (size_t i = 0; i < result->statement_count; i++) {
        const struct store_statement *row = &result->statements[i];
        const double seconds[] = {row->total_s, row->min_s, row->avg_s, row->max_s,
                                  row->p50_s,   row->p95_s, row->p99_s, row->p999_s};
        sqlite3_stmt *statement = sql_use(store, SQL_statement_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, trial_id);
        sql_int(statement, 2, (int64_t)i);
        sql_text(statement, 3, row->transaction);
        sql_text(statement, 4, word(row->statement));
        sql_int(statement, 5, (int64_t)row->count);
        sql_int(statement, 6, (int64_t)row->error_count);
        sql_int(statement, 7, (int64_t)row->retry_count);
        for (size_t j = 0; j < COUNT_OF(seconds); j++) {
            sql_real(statement, (int)j + 8, seconds[j]);
        }
        sql_blob(statement, 16, row->histogram);
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

static bool add_counters(struct store *store, int64_t trial_id, const struct store_result *result,
                         struct err *err)
{
    for (size_t i = 0; i < result->counter_count; i++) {
        sqlite3_stmt *statement = sql_use(store, SQL_counter_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, trial_id);
        sql_text(statement, 2, result->counters[i].name);
        sql_real(statement, 3, result->counters[i].start);
        sql_real(statement, 4, result->counters[i].end);
        sql_int(statement, 5, result->counters[i].gauge ? 1 : 0);
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

static bool add_errors(struct store *store, int64_t trial_id, const struct store_result *result,
                       struct err *err)
{
    for (size_t i = 0; i < result->error_row_count; i++) {
        const struct store_error_row *row = &result->errors[i];
        sqlite3_stmt *statement = sql_use(store, SQL_error_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, trial_id);
        sql_int(statement, 2, (int64_t)i);
        sql_text(statement, 3, row->transaction);
        sql_text(statement, 4, row->code);
        sql_text(statement, 5, row->text);
        sql_int(statement, 6, (int64_t)row->count);
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

static void bind_size(sqlite3_stmt *statement, int at, int64_t size_bytes)
{
    if (size_bytes >= 0) {
        sql_int(statement, at, size_bytes);
    }
}

static bool add_result(struct store *store, int64_t trial_id, const struct store_result *result,
                       struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_trial_measured, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, trial_id);
    sql_real(statement, 2, result->measured_s);
    sql_real(statement, 3, result->warm_up_s);
    bind_size(statement, 4, result->size_before_bytes);
    bind_size(statement, 5, result->size_after_bytes);
    sql_text(statement, 6, word(result->output));
    if (!sql_run_one(store, statement, "trial", trial_id, err)) {
        return false;
    }
    for (size_t i = 0; i < result->series_count; i++) {
        if (!add_series(store, trial_id, &result->series[i], err)) {
            return false;
        }
    }
    return add_metrics(store, trial_id, result, err) &&
           add_statements(store, trial_id, result, err) &&
           add_counters(store, trial_id, result, err) && add_errors(store, trial_id, result, err);
}

bool store_trial_result(struct store *store, int64_t trial_id, const struct store_result *result,
                        struct err *err)
{
    return sql_begin(store, err) && sql_end(store, add_result(store, trial_id, result, err), err);
}

/* ---- the end ---- */

static const char *context_text(const struct err *why, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < why->context_count && used < size; i++) {
        int added = snprintf(buffer + used, size - used, "%swhile %s", used > 0 ? "\n" : "",
                             why->context[i]);
        used += added > 0 ? (size_t)added : 0;
    }
    return buffer;
}

static void bind_why(sqlite3_stmt *statement, const struct err *why)
{
    char native[40];
    char context[640];
    if (why == NULL) {
        return;
    }
    snprintf(native, sizeof native, "%s %d", why->native_text, why->native);
    sql_text(statement, 4, err_class_name(why->class));
    sql_text(statement, 5, err_code_name(why->code));
    sql_text(statement, 6, why->text);
    sql_text(statement, 7, why->hint[0] != '\0' ? why->hint : NULL);
    sql_text(statement, 8, context_text(why, context, sizeof context));
    sql_text(statement, 9, why->native_text[0] != '\0' ? native : NULL);
}

static bool end_trial(struct store *store, int64_t trial_id, const char *status,
                      const struct err *why, const char *log_tail, const char *effective_key,
                      const char *flags, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_trial_end, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, trial_id);
    sql_text(statement, 2, status);
    sql_int(statement, 3, clock_wall_us());
    bind_why(statement, why);
    sql_text(statement, 10, word(log_tail));
    sql_text(statement, 11, word(effective_key));
    sql_text(statement, 12, word(flags));
    return sql_run_one(store, statement, "trial", trial_id, err);
}

bool store_trial_end(struct store *store, int64_t trial_id, const char *status,
                     const struct err *why, const char *log_tail, const char *effective_key,
                     const char *flags, struct err *err)
{
    return sql_begin(store, err) &&
           sql_end(store,
                   end_trial(store, trial_id, status, why, log_tail, effective_key, flags, err),
                   err);
}

/* ---- history ---- */

struct history_block { /* rows come one by one: grown by doubling, copied once each */
    struct store_history *rows;
    size_t count;
    size_t capacity;
};

static bool grow(struct history_block *block, struct arena *arena, struct err *err)
{
    if (block->count < block->capacity) {
        return true;
    }
    size_t capacity = block->capacity > 0 ? block->capacity * 2 : 256;
    struct store_history *rows = ARENA_ARRAY(arena, struct store_history, capacity);
    if (rows == NULL) {
        return err_memory(err);
    }
    if (block->count > 0) {
        memcpy(rows, block->rows, block->count * sizeof *rows);
    }
    block->rows = rows;
    block->capacity = capacity;
    return true;
}

static bool read_history(sqlite3_stmt *row, struct arena *arena, struct store_history *out)
{
    *out = (struct store_history){.trial_id = sqlite3_column_int64(row, 0),
                                  .call_id = sqlite3_column_int64(row, 1),
                                  .point_key = sql_column_text(row, 2, arena),
                                  .baseline = sqlite3_column_int64(row, 3) != 0,
                                  .condition_key = sql_column_text(row, 4, arena),
                                  .purpose = sql_column_text(row, 5, arena),
                                  .status = sql_column_text(row, 6, arena),
                                  .class = sql_column_text(row, 7, arena),
                                  .value = sql_column_real(row, 8),
                                  .started_us = sqlite3_column_int64(row, 9),
                                  .ended_us = sqlite3_column_int64(row, 10),
                                  .failed_start = sqlite3_column_int64(row, 11) != 0,
                                  .flags = sql_column_text(row, 12, arena),
                                  .throughput = sql_column_real(row, 13)};
    if (sqlite3_column_type(row, 10) == SQLITE_NULL) {
        out->ended_us = out->started_us; /* it never ended: no duration is known */
    }
    return out->point_key != NULL && out->condition_key != NULL && out->purpose != NULL &&
           out->status != NULL && out->class != NULL && out->flags != NULL;
}

bool store_history_load(struct store *store, int64_t sweep_id, struct arena *arena,
                        struct store_history **out, size_t *out_count, struct err *err)
{
    struct history_block block = {0};
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_history, err);
    if (row == NULL || !grow(&block, arena, err)) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            *out = block.rows;
            *out_count = block.count;
            return true;
        }
        if (!grow(&block, arena, err) || !read_history(row, arena, &block.rows[block.count++])) {
            sqlite3_reset(row);
            return err_memory(err);
        }
    }
    return false;
}

bool store_saved(struct store *store, int64_t sweep_id, int64_t *out_count, double *out_s,
                 struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_status_saved, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    if (!sql_next(store, row, &has_row, err)) {
        return false;
    }
    *out_count = has_row ? sqlite3_column_int64(row, 0) : 0;
    *out_s = has_row ? sql_column_real(row, 1) : 0;
    sqlite3_reset(row);
    return true;
}
