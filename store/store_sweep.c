/*
 * Sweeps, calls, the baseline, intents, points and conditions.
 */
#include <string.h>
#include <unistd.h>

#include "store/sql.h"
#include "sweeper/base/clock.h"

static const char *word(const char *text)
{
    return text != NULL ? text : "";
}

/* ---- sweep ---- */

static bool put_swept(struct store *store, int64_t sweep_id, const struct store_sweep *sweep,
                      struct err *err)
{
    for (size_t i = 0; i < sweep->swept_count; i++) {
        const struct store_swept *row = &sweep->swept[i];
        sqlite3_stmt *statement = sql_use(store, SQL_swept_put, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, sweep_id);
        sql_int(statement, 2, (int64_t)i);
        sql_text(statement, 3, row->name);
        sql_text(statement, 4, row->kind);
        sql_text(statement, 5, row->type);
        sql_text(statement, 6, word(row->unit));
        sql_text(statement, 7, row->apply);
        sql_text(statement, 8, word(row->durability));
        sql_text(statement, 9, word(row->sentence));
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

static bool add_sweep(struct store *store, const struct store_sweep *sweep, int64_t *out_id,
                      struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_sweep_add, err);
    if (statement == NULL) {
        return false;
    }
    sql_text(statement, 1, sweep->name);
    sql_int(statement, 2, clock_wall_us());
    sql_text(statement, 3, sweep->file_text);
    sql_text(statement, 4, sweep->plan_hash);
    sql_text(statement, 5, sweep->plan_text);
    sql_text(statement, 6, sweep->backend);
    sql_text(statement, 7, word(sweep->product));
    sql_text(statement, 8, word(sweep->version));
    sql_text(statement, 9, word(sweep->target_label));
    sql_text(statement, 10, word(sweep->data_directory));
    sql_text(statement, 11, word(sweep->log_path));
    sql_text(statement, 12, word(sweep->facts_json));
    sql_text(statement, 13, word(sweep->labels_json));
    sql_text(statement, 14, word(sweep->workload_json));
    sql_text(statement, 15, sweep->rank_by);
    sql_text(statement, 16, sweep->rank_better);
    sql_text(statement, 17, word(sweep->rank_under));
    sql_text(statement, 18, sweep->rank_durability);
    sql_text(statement, 19, sweep->rank_across);
    sql_real(statement, 20, sweep->rank_confidence);
    sql_int(statement, 21, sweep->planned_trials);
    if (!sql_run(store, statement, err)) {
        return false;
    }
    *out_id = sqlite3_last_insert_rowid(store->database);
    return put_swept(store, *out_id, sweep, err);
}

bool store_sweep_begin(struct store *store, const struct store_sweep *sweep, int64_t *out_id,
                       struct err *err)
{
    return sql_begin(store, err) && sql_end(store, add_sweep(store, sweep, out_id, err), err);
}

static bool update_sweep(struct store *store, const struct store_sweep *sweep, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_sweep_update, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, sweep->sweep_id);
    sql_text(statement, 2, sweep->file_text);
    sql_text(statement, 3, word(sweep->product));
    sql_text(statement, 4, word(sweep->version));
    sql_text(statement, 5, word(sweep->facts_json));
    sql_text(statement, 6, word(sweep->labels_json));
    sql_text(statement, 7, sweep->rank_by);
    sql_text(statement, 8, sweep->rank_better);
    sql_text(statement, 9, word(sweep->rank_under));
    sql_text(statement, 10, sweep->rank_durability);
    sql_text(statement, 11, sweep->rank_across);
    sql_real(statement, 12, sweep->rank_confidence);
    sql_int(statement, 13, sweep->planned_trials);
    return sql_run_one(store, statement, "sweep", sweep->sweep_id, err) &&
           put_swept(store, sweep->sweep_id, sweep, err);
}

bool store_sweep_update(struct store *store, const struct store_sweep *sweep, struct err *err)
{
    return sql_begin(store, err) && sql_end(store, update_sweep(store, sweep, err), err);
}

static bool read_sweep(struct store *store, sqlite3_stmt *row, struct arena *arena,
                       struct store_sweep *out, struct err *err)
{
    bool has_row = false;
    if (!sql_next(store, row, &has_row, err)) {
        return false;
    }
    if (!has_row) {
        err_set(err, ERR_CODE_not_found, "the store %s does not hold that sweep", store->path);
        return err_hint(err, "`dbsweep run FILE` begins one");
    }
    const char **texts[] = {&out->name,          &out->file_text,       &out->plan_hash,
                            &out->plan_text,     &out->backend,         &out->product,
                            &out->version,       &out->target_label,    &out->data_directory,
                            &out->log_path,      &out->facts_json,      &out->labels_json,
                            &out->workload_json, &out->rank_by,         &out->rank_better,
                            &out->rank_under,    &out->rank_durability, &out->rank_across};
    *out = (struct store_sweep){.sweep_id = sqlite3_column_int64(row, 0)};
    bool ok = true;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        *texts[i] = sql_column_text(row, (int)i + 1, arena);
        ok = ok && *texts[i] != NULL;
    }
    out->rank_confidence = sqlite3_column_double(row, 19);
    out->planned_trials = sqlite3_column_int64(row, 20);
    sqlite3_reset(row);
    return ok || err_memory(err);
}

bool store_sweep_latest(struct store *store, struct arena *arena, struct store_sweep *out,
                        struct err *err)
{
    sqlite3_stmt *row = sql_use(store, SQL_sweep_latest, err);
    return row != NULL && read_sweep(store, row, arena, out, err);
}

bool store_sweep_get(struct store *store, int64_t sweep_id, struct arena *arena,
                     struct store_sweep *out, struct err *err)
{
    sqlite3_stmt *row = sql_use(store, SQL_sweep_by_id, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    return read_sweep(store, row, arena, out, err);
}

/* ---- calls ---- */

static bool add_call(struct store *store, int64_t sweep_id, int64_t *out_id, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_call_add, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, sweep_id);
    sql_int(statement, 2, clock_wall_us());
    sql_int(statement, 3, getpid());
    if (!sql_run(store, statement, err)) {
        return false;
    }
    *out_id = sqlite3_last_insert_rowid(store->database);
    return true;
}

bool store_call_begin(struct store *store, int64_t sweep_id, int64_t *out_id, struct err *err)
{
    return sql_begin(store, err) && sql_end(store, add_call(store, sweep_id, out_id, err), err);
}

static bool end_call(struct store *store, int64_t call_id, const char *status,
                     const struct err *why, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_call_end, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, call_id);
    sql_int(statement, 2, clock_wall_us());
    sql_text(statement, 3, status);
    sql_text(statement, 4, why != NULL ? why->text : NULL);
    return sql_run_one(store, statement, "call", call_id, err);
}

bool store_call_end(struct store *store, int64_t call_id, const char *status, const struct err *why,
                    struct err *err)
{
    return sql_begin(store, err) && sql_end(store, end_call(store, call_id, status, why, err), err);
}

/* ---- baseline ---- */

static bool put_baseline(struct store *store, int64_t sweep_id,
                         const struct store_baseline_file *files, size_t file_count,
                         const struct store_baseline_value *values, size_t value_count,
                         struct err *err)
{
    for (size_t i = 0; i < file_count; i++) {
        sqlite3_stmt *statement = sql_use(store, SQL_baseline_file_put, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, sweep_id);
        sql_text(statement, 2, files[i].path);
        sql_int(statement, 3, files[i].mode);
        sql_int(statement, 4, files[i].uid);
        sql_int(statement, 5, files[i].gid);
        sql_text(statement, 6, word(files[i].selinux));
        sql_text(statement, 7, files[i].sha256);
        sql_blob(statement, 8, files[i].content);
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    for (size_t i = 0; i < value_count; i++) {
        sqlite3_stmt *statement = sql_use(store, SQL_baseline_value_put, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, sweep_id);
        sql_text(statement, 2, values[i].name);
        sql_text(statement, 3, values[i].canonical);
        sql_text(statement, 4, values[i].display);
        sql_text(statement, 5, word(values[i].source));
        sql_text(statement, 6, word(values[i].detail));
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

bool store_baseline_put(struct store *store, int64_t sweep_id,
                        const struct store_baseline_file *files, size_t file_count,
                        const struct store_baseline_value *values, size_t value_count,
                        struct err *err)
{
    return sql_begin(store, err) &&
           sql_end(store,
                   put_baseline(store, sweep_id, files, file_count, values, value_count, err), err);
}

/* Both counts, so that nothing of a baseline is ever left out for want of room. */
static bool count_baseline(struct store *store, int64_t sweep_id, size_t *out_file_count,
                           size_t *out_value_count, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_baseline_counts, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    if (!sql_next(store, row, &has_row, err)) {
        return false;
    }
    *out_file_count = (size_t)sqlite3_column_int64(row, 0);
    *out_value_count = (size_t)sqlite3_column_int64(row, 1);
    sqlite3_reset(row);
    return true;
}

static bool read_file(sqlite3_stmt *row, struct arena *arena, struct store_baseline_file *out)
{
    const char *content = sqlite3_column_blob(row, 6); /* NULL: empty, or memory ended */
    size_t size = (size_t)sqlite3_column_bytes(row, 6);
    *out = (struct store_baseline_file){
        .path = sql_column_text(row, 0, arena),
        .mode = (uint32_t)sqlite3_column_int64(row, 1),
        .uid = (uint32_t)sqlite3_column_int64(row, 2),
        .gid = (uint32_t)sqlite3_column_int64(row, 3),
        .selinux = sql_column_text(row, 4, arena),
        .sha256 = sql_column_text(row, 5, arena),
        .content = {.data = content != NULL || size == 0
                                ? arena_strndup(arena, size > 0 ? content : "", size)
                                : NULL,
                    .size = size}};
    return out->path != NULL && out->selinux != NULL && out->sha256 != NULL &&
           out->content.data != NULL;
}

static bool read_value(sqlite3_stmt *row, struct arena *arena, struct store_baseline_value *out)
{
    *out = (struct store_baseline_value){.name = sql_column_text(row, 0, arena),
                                         .canonical = sql_column_text(row, 1, arena),
                                         .display = sql_column_text(row, 2, arena),
                                         .source = sql_column_text(row, 3, arena),
                                         .detail = sql_column_text(row, 4, arena)};
    return out->name != NULL && out->canonical != NULL && out->display != NULL &&
           out->source != NULL && out->detail != NULL;
}

/* Reads `count` rows into files, or where that is NULL into values. */
static bool get_rows(struct store *store, int64_t sweep_id, struct arena *arena,
                     struct store_baseline_file *files, struct store_baseline_value *values,
                     size_t count, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row =
        sql_use(store, files != NULL ? SQL_baseline_files : SQL_baseline_values, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    for (size_t i = 0; i < count; i++) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            return err_set(err, ERR_CODE_store, "the baseline in the store %s changed while read",
                           store->path);
        }
        if (!(files != NULL ? read_file(row, arena, &files[i])
                            : read_value(row, arena, &values[i]))) {
            sqlite3_reset(row);
            return err_memory(err);
        }
    }
    sqlite3_reset(row);
    return true;
}

bool store_baseline_get(struct store *store, int64_t sweep_id, struct arena *arena,
                        struct store_baseline_file **out_files, size_t *out_file_count,
                        struct store_baseline_value **out_values, size_t *out_value_count,
                        struct err *err)
{
    if (!count_baseline(store, sweep_id, out_file_count, out_value_count, err)) {
        return false;
    }
    *out_files = ARENA_ARRAY(arena, struct store_baseline_file, *out_file_count);
    *out_values = ARENA_ARRAY(arena, struct store_baseline_value, *out_value_count);
    if (*out_files == NULL || *out_values == NULL) {
        return err_memory(err);
    }
    return get_rows(store, sweep_id, arena, *out_files, NULL, *out_file_count, err) &&
           get_rows(store, sweep_id, arena, NULL, *out_values, *out_value_count, err);
}

/* ---- intents ---- */

static bool add_intent(struct store *store, int64_t sweep_id, const char *path, const char *sha256,
                       struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_intent_add, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, sweep_id);
    sql_text(statement, 2, path);
    sql_text(statement, 3, sha256);
    sql_int(statement, 4, clock_wall_us());
    return sql_run(store, statement, err);
}

bool store_intent_add(struct store *store, int64_t sweep_id, const char *path, const char *sha256,
                      struct err *err)
{
    return sql_begin(store, err) &&
           sql_end(store, add_intent(store, sweep_id, path, sha256, err), err);
}

bool store_intent_known(struct store *store, int64_t sweep_id, const char *path, const char *sha256,
                        bool *out_known, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_intent_find, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, sweep_id);
    sql_text(statement, 2, path);
    sql_text(statement, 3, sha256);
    bool ok = sql_next(store, statement, out_known, err);
    sqlite3_reset(statement);
    return ok;
}

static bool set_touched(struct store *store, int64_t sweep_id, bool touched, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, SQL_touched_set, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, sweep_id);
    sql_int(statement, 2, touched ? 1 : 0);
    return sql_run_one(store, statement, "sweep", sweep_id, err);
}

bool store_touched_set(struct store *store, int64_t sweep_id, bool touched, struct err *err)
{
    return sql_begin(store, err) && sql_end(store, set_touched(store, sweep_id, touched, err), err);
}

bool store_touched_get(struct store *store, int64_t sweep_id, bool *out_touched, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *statement = sql_use(store, SQL_touched_get, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, sweep_id);
    bool ok = sql_next(store, statement, &has_row, err);
    *out_touched = ok && has_row && sqlite3_column_int64(statement, 0) != 0;
    sqlite3_reset(statement);
    if (ok && !has_row) {
        return err_set(err, ERR_CODE_not_found, "the store %s holds no sweep %lld", store->path,
                       (long long)sweep_id);
    }
    return ok;
}

/* ---- points and conditions ---- */

static bool find_key(struct store *store, enum sql_id id, int64_t sweep_id, const char *key,
                     int64_t *out_id, bool *out_found, struct err *err)
{
    sqlite3_stmt *statement = sql_use(store, id, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, sweep_id);
    sql_text(statement, 2, key);
    bool ok = sql_next(store, statement, out_found, err);
    if (ok && *out_found) {
        *out_id = sqlite3_column_int64(statement, 0);
    }
    sqlite3_reset(statement);
    return ok;
}

static bool put_values(struct store *store, enum sql_id id, int64_t owner,
                       const struct store_value *values, size_t value_count, struct err *err)
{
    for (size_t i = 0; i < value_count; i++) {
        sqlite3_stmt *statement = sql_use(store, id, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, owner);
        sql_text(statement, 2, values[i].name);
        sql_text(statement, 3, word(values[i].asked));
        sql_text(statement, 4, values[i].canonical);
        sql_text(statement, 5, values[i].display);
        if (values[i].has_number) {
            sql_real(statement, 6, values[i].number);
        }
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

static bool put_point(struct store *store, int64_t sweep_id, const char *key, bool baseline,
                      bool durable, const struct store_value *values, size_t value_count,
                      int64_t *out_id, struct err *err)
{
    bool found = false;
    if (!find_key(store, SQL_point_find, sweep_id, key, out_id, &found, err)) {
        return false;
    }
    if (!found) {
        sqlite3_stmt *statement = sql_use(store, SQL_point_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, sweep_id);
        sql_text(statement, 2, key);
        sql_int(statement, 3, baseline ? 1 : 0);
        sql_int(statement, 4, durable ? 1 : 0);
        if (!sql_run(store, statement, err)) {
            return false;
        }
        *out_id = sqlite3_last_insert_rowid(store->database);
    }
    return put_values(store, SQL_point_value_put, *out_id, values, value_count, err);
}

bool store_point_put(struct store *store, int64_t sweep_id, const char *key, bool baseline,
                     bool durable, const struct store_value *values, size_t value_count,
                     int64_t *out_id, struct err *err)
{
    return sql_begin(store, err) && sql_end(store,
                                            put_point(store, sweep_id, key, baseline, durable,
                                                      values, value_count, out_id, err),
                                            err);
}

static bool put_condition(struct store *store, int64_t sweep_id, const char *key,
                          const struct store_value *values, size_t value_count, int64_t *out_id,
                          struct err *err)
{
    bool found = false;
    if (!find_key(store, SQL_condition_find, sweep_id, key, out_id, &found, err)) {
        return false;
    }
    if (!found) {
        sqlite3_stmt *statement = sql_use(store, SQL_condition_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, sweep_id);
        sql_text(statement, 2, key);
        if (!sql_run(store, statement, err)) {
            return false;
        }
        *out_id = sqlite3_last_insert_rowid(store->database);
    }
    return put_values(store, SQL_condition_value_put, *out_id, values, value_count, err);
}

bool store_condition_put(struct store *store, int64_t sweep_id, const char *key,
                         const struct store_value *values, size_t value_count, int64_t *out_id,
                         struct err *err)
{
    return sql_begin(store, err) &&
           sql_end(store, put_condition(store, sweep_id, key, values, value_count, out_id, err),
                   err);
}

static bool put_pruned(struct store *store, int64_t sweep_id, const struct store_pruned *pruned,
                       size_t count, struct err *err)
{
    sqlite3_stmt *clear = sql_use(store, SQL_pruned_clear, err);
    if (clear == NULL) {
        return false;
    }
    sql_int(clear, 1, sweep_id);
    if (!sql_run(store, clear, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        sqlite3_stmt *statement = sql_use(store, SQL_pruned_add, err);
        if (statement == NULL) {
            return false;
        }
        sql_int(statement, 1, sweep_id);
        sql_text(statement, 2, pruned[i].point_display);
        sql_text(statement, 3, pruned[i].condition_display);
        sql_text(statement, 4, pruned[i].reason);
        if (!sql_run(store, statement, err)) {
            return false;
        }
    }
    return true;
}

bool store_pruned_put(struct store *store, int64_t sweep_id, const struct store_pruned *pruned,
                      size_t count, struct err *err)
{
    return sql_begin(store, err) &&
           sql_end(store, put_pruned(store, sweep_id, pruned, count, err), err);
}
