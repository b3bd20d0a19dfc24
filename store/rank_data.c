/*
 * Reads trials and metrics, and folds them into arms.
 */
#include "store/rank_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/sql.h"

enum { LEAST_CONFIRMING = 2 }; /* one run has no interval */

bool rank_has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == length && strncmp(at, word, length) == 0) {
            return true;
        }
        at += here;
    }
    return false;
}

/* ---- trials ---- */

static bool count_trials(struct store *store, int64_t sweep_id, size_t *out, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_rank_count, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    if (!sql_next(store, row, &has_row, err)) {
        return false;
    }
    *out = has_row ? (size_t)sqlite3_column_int64(row, 0) : 0;
    sqlite3_reset(row);
    return true;
}

static bool read_trial(sqlite3_stmt *row, struct arena *arena, struct rank_trial *out)
{
    const char *effective = sql_column_text(row, 6, arena);
    out->trial_id = sqlite3_column_int64(row, 0);
    out->point_id = sqlite3_column_int64(row, 1);
    out->condition_id = sqlite3_column_int64(row, 2);
    out->is_done = sqlite3_column_int64(row, 3) != 0;
    out->is_baseline = sqlite3_column_int64(row, 4) != 0;
    out->is_durable = sqlite3_column_int64(row, 5) != 0;
    out->reason = sql_column_text(row, 7, arena);
    out->flags = sql_column_text(row, 8, arena);
    out->is_confirm = sqlite3_column_int64(row, 9) != 0;
    out->started_us = sqlite3_column_int64(row, 10);
    out->call_id = sqlite3_column_int64(row, 12);
    out->elapsed_s = sql_column_real(row, 13);
    out->measured_s = sql_column_real(row, 14);
    out->raw_log = NAN;
    out->log = NAN;
    for (size_t i = 0; i < RANK_METRIC_LIMIT; i++) {
        out->metrics[i] = NAN;
    }
    if (effective == NULL || out->reason == NULL || out->flags == NULL) {
        return false;
    }
    out->is_killed = sqlite3_column_int64(row, 11) != 0 || rank_has_word(out->flags, "killed");
    out->key = out->is_done && effective[0] != '\0'
                   ? effective
                   : arena_printf(arena, "point %lld", (long long)out->point_id);
    return out->key != NULL;
}

static bool read_trials(struct store *store, int64_t sweep_id, struct arena *arena,
                        struct rank_data *out, struct err *err)
{
    size_t capacity = 0;
    bool has_row = false;
    if (!count_trials(store, sweep_id, &capacity, err)) {
        return false;
    }
    out->trials = ARENA_ARRAY(arena, struct rank_trial, capacity + 1);
    sqlite3_stmt *row = out->trials != NULL ? sql_use(store, SQL_rank_trials, err) : NULL;
    if (row == NULL) {
        return out->trials != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, sweep_id);
    while (out->trial_count < capacity) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        if (!read_trial(row, arena, &out->trials[out->trial_count++])) {
            return err_memory(err);
        }
    }
    sqlite3_reset(row);
    return true;
}

/* ---- metrics ---- */

size_t rank_data_metric(const struct rank_data *data, const char *name)
{
    for (size_t i = 0; i < data->metric_count; i++) {
        if (strcmp(data->metric_names[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static size_t metric_index(struct rank_data *data, const char *name, const char *better,
                           struct arena *arena)
{
    size_t found = rank_data_metric(data, name);
    if (found != SIZE_MAX || data->metric_count == RANK_METRIC_LIMIT) {
        return found;
    }
    const char *name_copy = arena_strdup(arena, name);
    const char *better_copy = arena_strdup(arena, better);
    if (name_copy == NULL || better_copy == NULL) {
        return SIZE_MAX;
    }
    data->metric_names[data->metric_count] = name_copy;
    data->metric_better[data->metric_count] = better_copy;
    return data->metric_count++;
}

/* Both lists are in the order of trial_id here: one pass. */
static bool read_metrics(struct store *store, int64_t sweep_id, struct arena *arena,
                         struct rank_data *data, struct err *err)
{
    bool has_row = false;
    size_t at = 0;
    sqlite3_stmt *row = sql_use(store, SQL_rank_metrics, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            return true;
        }
        int64_t trial_id = sqlite3_column_int64(row, 0);
        while (at < data->trial_count && data->trials[at].trial_id < trial_id) {
            at++;
        }
        if (at == data->trial_count || data->trials[at].trial_id != trial_id) {
            continue;
        }
        size_t metric = metric_index(data, (const char *)sqlite3_column_text(row, 1),
                                     (const char *)sqlite3_column_text(row, 3), arena);
        if (metric != SIZE_MAX) {
            data->trials[at].metrics[metric] = sqlite3_column_double(row, 2);
        }
    }
    return false;
}

/* ---- arms ---- */

static int compare_cells(const void *a, const void *b)
{
    const struct rank_trial *left = a;
    const struct rank_trial *right = b;
    if (left->condition_id != right->condition_id) {
        return left->condition_id < right->condition_id ? -1 : 1;
    }
    if (left->point_id != right->point_id) {
        return left->point_id < right->point_id ? -1 : 1;
    }
    if (left->is_done != right->is_done) {
        return left->is_done ? -1 : 1;
    }
    return (left->trial_id > right->trial_id) - (left->trial_id < right->trial_id);
}

static int compare_arms(const void *a, const void *b)
{
    const struct rank_trial *left = a;
    const struct rank_trial *right = b;
    if (left->condition_id != right->condition_id) {
        return left->condition_id < right->condition_id ? -1 : 1;
    }
    int keys = strcmp(left->key, right->key);
    return keys != 0 ? keys
                     : (left->trial_id > right->trial_id) - (left->trial_id < right->trial_id);
}

/* A failed trial belongs to the arm that its point's done trials are in. */
static void adopt_failures(struct rank_data *data)
{
    qsort(data->trials, data->trial_count, sizeof *data->trials, compare_cells);
    for (size_t i = 1; i < data->trial_count; i++) {
        struct rank_trial *trial = &data->trials[i];
        const struct rank_trial *before = &data->trials[i - 1];
        if (!trial->is_done && trial->point_id == before->point_id &&
            trial->condition_id == before->condition_id) {
            trial->key = before->key;
        }
    }
}

static bool fold(struct rank_data *data, struct arena *arena, struct err *err)
{
    adopt_failures(data);
    qsort(data->trials, data->trial_count, sizeof *data->trials, compare_arms);
    data->arms = ARENA_ARRAY(arena, struct rank_arm, data->trial_count + 1);
    if (data->arms == NULL) {
        return err_memory(err);
    }
    struct rank_arm *arm = NULL;
    for (size_t i = 0; i < data->trial_count; i++) {
        const struct rank_trial *trial = &data->trials[i];
        bool is_new = arm == NULL || arm->condition_id != trial->condition_id ||
                      strcmp(arm->key, trial->key) != 0;
        if (is_new) {
            arm = &data->arms[data->arm_count++];
            *arm = (struct rank_arm){.key = trial->key,
                                     .condition_id = trial->condition_id,
                                     .point_id = trial->point_id,
                                     .first = i};
        }
        arm->count++;
        arm->done += trial->is_done && !trial->is_killed;
        arm->killed += trial->is_done && trial->is_killed;
        arm->confirmed += trial->is_done && !trial->is_killed && trial->is_confirm;
        arm->failed += !trial->is_done;
        arm->point_id = trial->point_id < arm->point_id ? trial->point_id : arm->point_id;
        arm->is_baseline = arm->is_baseline || trial->is_baseline;
        arm->is_durable = arm->is_durable || trial->is_durable;
    }
    return true;
}

static bool find_sweep(struct store *store, int64_t sweep_id, struct arena *arena,
                       struct store_sweep *out, struct err *err)
{
    return (sweep_id == 0 ? store_sweep_latest(store, arena, out, err)
                          : store_sweep_get(store, sweep_id, arena, out, err));
}

bool rank_data_load(struct store *store, int64_t sweep_id, struct arena *arena,
                    struct rank_data *out, struct err *err)
{
    *out = (struct rank_data){.trials = NULL};
    return find_sweep(store, sweep_id, arena, &out->sweep, err) &&
           read_trials(store, out->sweep.sweep_id, arena, out, err) &&
           read_metrics(store, out->sweep.sweep_id, arena, out, err) && fold(out, arena, err);
}

bool rank_data_is_confirmed(const struct rank_arm *arm)
{
    return arm->confirmed >= LEAST_CONFIRMING && !arm->is_baseline;
}

bool rank_data_counts(const struct rank_arm *arm, const struct rank_trial *trial)
{
    return trial->is_done && !trial->is_killed &&
           (trial->is_confirm || !rank_data_is_confirmed(arm));
}

size_t rank_data_values(const struct rank_data *data, const struct rank_arm *arm, size_t metric,
                        double *out)
{
    size_t count = 0;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        const struct rank_trial *trial = &data->trials[i];
        if (metric != SIZE_MAX && rank_data_counts(arm, trial) && !isnan(trial->metrics[metric])) {
            out[count++] = trial->metrics[metric];
        }
    }
    return count;
}

/* ---- pairs ---- */

static bool count_pairs(struct store *store, enum sql_id id, int64_t owner, size_t *out,
                        struct err *err)
{
    bool has_row = true;
    sqlite3_stmt *row = sql_use(store, id, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, owner);
    for (*out = 0; has_row; *out += has_row) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
    }
    return true;
}

static bool read_pair(sqlite3_stmt *row, struct arena *arena, struct rank_pair *out)
{
    *out = (struct rank_pair){.name = sql_column_text(row, 0, arena),
                              .canonical = sql_column_text(row, 1, arena),
                              .display = sql_column_text(row, 2, arena),
                              .type = sql_column_text(row, 4, arena),
                              .unit = sql_column_text(row, 5, arena),
                              .has_number = sqlite3_column_type(row, 3) != SQLITE_NULL,
                              .number = sql_column_real(row, 3)};
    return out->name != NULL && out->canonical != NULL && out->display != NULL &&
           out->type != NULL && out->unit != NULL;
}

/* A reader sees one state of the store only within a statement: rows that came since are left. */
static bool read_pairs(struct store *store, enum sql_id id, int64_t owner, struct arena *arena,
                       struct rank_pair **out, size_t *out_count, struct err *err)
{
    size_t capacity = 0;
    bool has_row = true;
    if (!count_pairs(store, id, owner, &capacity, err)) {
        return false;
    }
    struct rank_pair *pairs = ARENA_ARRAY(arena, struct rank_pair, capacity + 1);
    sqlite3_stmt *row = pairs != NULL ? sql_use(store, id, err) : NULL;
    if (row == NULL) {
        return pairs != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, owner);
    for (*out_count = 0; *out_count < capacity && has_row; *out_count += has_row) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (has_row && !read_pair(row, arena, &pairs[*out_count])) {
            return err_memory(err);
        }
    }
    sqlite3_reset(row);
    *out = pairs;
    return true;
}

bool rank_data_pairs(struct store *store, const struct rank_data *data, const struct rank_arm *arm,
                     struct arena *arena, struct rank_row *out, struct err *err)
{
    int64_t done_trial = 0;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        if (data->trials[i].is_done && data->trials[i].point_id == arm->point_id) {
            done_trial = data->trials[i].trial_id;
        }
    }
    return read_pairs(store, SQL_rank_point, arm->point_id, arena, &out->asked, &out->asked_count,
                      err) &&
           read_pairs(store, SQL_rank_condition, arm->condition_id, arena, &out->condition,
                      &out->condition_count, err) &&
           read_pairs(store, SQL_rank_effective, done_trial, arena, &out->effective,
                      &out->effective_count, err);
}
