/*
 * A sweep's trials as lines of CSV for the replay backend, which sees no store.
 */
#include "store/replay.h"

#include <math.h>
#include <string.h>

#include "store/csv.h"
#include "store/sql.h"
#include "sweeper/base/text.h"

const char store_replay_failure[] = "dbsweep_failure";

enum { NAME_LIMIT = 256 };

struct export
{
    struct store *store;
    struct arena *arena;
    struct text text;
    const char *metric;
    const char *names[NAME_LIMIT];
    size_t knob_count;
    size_t count;
    size_t measured_count;
    int64_t *trials;
    size_t trial_count;
};

static bool take_name(sqlite3_stmt *row, void *context, struct err *err)
{
    struct export *export = context;
    if (export->count == NAME_LIMIT) {
        return err_set(err, ERR_CODE_unsupported, "more than %d settings were swept", NAME_LIMIT);
    }
    export->names[export->count] = sql_column_text(row, 0, export->arena);
    return export->names[export->count++] != NULL || err_memory(err);
}

static bool take_trial(sqlite3_stmt *row, void *context, struct err *err)
{
    struct export *export = context;
    if ((export->trial_count & (export->trial_count + 1)) == 0) {
        int64_t *larger = ARENA_ARRAY(export->arena, int64_t, 2 * export->trial_count + 2);
        if (larger == NULL) {
            return err_memory(err);
        }
        if (export->trial_count > 0) {
            memcpy(larger, export->trials, export->trial_count * sizeof *larger);
        }
        export->trials = larger;
    }
    export->trials[export->trial_count++] = sqlite3_column_int64(row, 0);
    return true;
}

/* One value of a trial; *out "" where there is none. */
static bool ask(struct export *export, enum sql_id id, int64_t trial, const char *name,
                const char **out, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *statement = sql_use(export->store, id, err);
    if (statement == NULL) {
        return false;
    }
    sql_int(statement, 1, trial);
    sql_text(statement, 2, name);
    if (!sql_next(export->store, statement, &has_row, err)) {
        return false;
    }
    *out = has_row ? sql_column_text(statement, 0, export->arena) : "";
    sqlite3_reset(statement);
    return *out != NULL || err_memory(err);
}

static bool add_head(struct export *export)
{
    for (size_t i = 0; i < export->count; i++) {
        csv_text(&export->text, export->names[i], ',');
    }
    csv_text(&export->text, export->metric, ',');
    csv_text(&export->text, store_replay_failure, '\n');
    return !export->text.failed;
}

static bool add_trial(struct export *export, int64_t trial, struct err *err)
{
    const char *value = NULL;
    const char *failure = NULL;
    for (size_t i = 0; i < export->count; i++) {
        enum sql_id id = i < export->knob_count ? SQL_replay_knob : SQL_replay_condition;
        if (!ask(export, id, trial, export->names[i], &value, err)) {
            return false;
        }
        csv_text(&export->text, value, ',');
    }
    if (!ask(export, SQL_replay_metric, trial, export->metric, &value, err) ||
        !ask(export, SQL_replay_failure, trial, NULL, &failure, err)) {
        return false;
    }
    export->measured_count += value[0] != '\0';
    csv_text(&export->text, value, ',');
    csv_text(&export->text, value[0] != '\0' ? "" : failure, '\n');
    return !export->text.failed || err_memory(err);
}

bool store_replay(struct store *store, int64_t sweep_id, const char *metric, struct arena *arena,
                  struct bytes *out, struct err *err)
{
    struct export export = {.store = store, .arena = arena, .metric = metric};
    text_open(&export.text, arena);
    if (!sql_each(store, SQL_export_knobs, sweep_id, take_name, &export, err)) {
        return false;
    }
    export.knob_count = export.count;
    if (!sql_each(store, SQL_export_conditions, sweep_id, take_name, &export, err) ||
        !sql_each(store, SQL_replay_trials, sweep_id, take_trial, &export, err)) {
        return false;
    }
    if (!add_head(&export)) {
        return err_memory(err);
    }
    for (size_t i = 0; i < export.trial_count; i++) {
        if (!add_trial(&export, export.trials[i], err)) {
            return false;
        }
    }
    if (export.measured_count == 0) {
        return err_set(err, ERR_CODE_not_found, "no trial of %s measured %.80s", store_path(store),
                       metric);
    }
    *out = (struct bytes){.data = text_done(&export.text), .size = export.text.size};
    return out->data != NULL || err_memory(err);
}
