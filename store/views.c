/*
 * Progress of a sweep, and all its trials as a table of their own.
 */
#include "store/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/csv.h"
#include "store/layout.h"
#include "store/rank.h"
#include "store/sql.h"
#include "sweeper/base/clock.h"

enum { SHOWN_FAILURES = 5, RECENT = 5, COLUMN_LIMIT = 512 };

static bool bad_format(const char *format, const char *known, struct err *err)
{
    err_set(err, ERR_CODE_usage, "there is no format \"%s\"", format);
    return err_hint(err, "%s", known);
}

/* ---- status ---- */

struct failure {
    int64_t trial_id;
    const char *point;
    const char *class;
    const char *reason;
};

struct progress {
    struct store_sweep sweep;
    int64_t done;
    int64_t failed;
    int64_t interrupted;
    int64_t killed; /* ended early */
    double saved_s; /* by that */
    bool touched;
    int64_t running_trial; /* 0 none */
    const char *running_point;
    const char *running_stage;
    double eta_s;                  /* NAN not known */
    const struct rank_row **bests; /* by condition; each has the metric */
    size_t best_count;
    struct failure failures[SHOWN_FAILURES];
    size_t failure_count;
};

static bool take_count(sqlite3_stmt *row, void *context, struct err *err UNUSED)
{
    struct progress *out = context;
    const char *status = (const char *)sqlite3_column_text(row, 0);
    int64_t count = sqlite3_column_int64(row, 1);
    out->done += strcmp(status, "done") == 0 ? count : 0;
    out->failed += strcmp(status, "failed") == 0 ? count : 0;
    out->interrupted += strcmp(status, "interrupted") == 0 ? count : 0;
    return true;
}

static bool read_counts(struct store *store, struct progress *out, struct err *err)
{
    int64_t sweep_id = out->sweep.sweep_id;
    return sql_each(store, SQL_status_counts, sweep_id, take_count, out, err) &&
           store_saved(store, sweep_id, &out->killed, &out->saved_s, err) &&
           store_touched_get(store, sweep_id, &out->touched, err);
}

static bool read_running(struct store *store, struct arena *arena, struct progress *out,
                         struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_status_running, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, out->sweep.sweep_id);
    if (!sql_next(store, row, &has_row, err)) {
        return false;
    }
    if (has_row) {
        out->running_trial = sqlite3_column_int64(row, 0);
        out->running_point = sql_column_text(row, 1, arena);
        out->running_stage = sql_column_text(row, 2, arena);
    }
    sqlite3_reset(row);
    return !has_row || (out->running_point != NULL && out->running_stage != NULL) ||
           err_memory(err);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The median of the last durations times what is left of the plan. */
static bool read_eta(struct store *store, struct progress *out, struct err *err)
{
    double recent[RECENT];
    size_t count = 0;
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_status_recent, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, out->sweep.sweep_id);
    while (count < RECENT) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        recent[count++] = sqlite3_column_double(row, 0) / 1e6;
    }
    sqlite3_reset(row);
    int64_t left = out->sweep.planned_trials - out->done - out->failed;
    out->eta_s = NAN;
    if (count > 0 && out->sweep.planned_trials > 0) {
        qsort(recent, count, sizeof *recent, compare_doubles);
        out->eta_s = left > 0 ? recent[count / 2] * (double)left : 0;
    }
    return true;
}

/* NAN: there is none. */
static double mean_of(const struct rank_row *row, const char *metric)
{
    for (size_t i = 0; i < row->metric_count; i++) {
        if (strcmp(row->metrics[i].name, metric) == 0) {
            return row->metrics[i].mean;
        }
    }
    return NAN;
}

/* As the ranking has it, which leaves out what is over a limit, less durable or not applied, and
 * never compares over conditions here. */
static bool read_bests(struct store *store, struct arena *arena, struct progress *out,
                       struct err *err)
{
    const struct rank_options options = {.sweep_id = out->sweep.sweep_id, .across = "each"};
    struct rank_table table = {0};
    if (out->done == 0) {
        return true;
    }
    if (!rank_compute(store, &options, arena, &table, err)) {
        return false;
    }
    out->bests = ARENA_ARRAY(arena, const struct rank_row *, table.row_count + 1);
    if (out->bests == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < table.row_count; i++) {
        const struct rank_row *row = &table.rows[i];
        bool is_first = i == 0 || !rank_same_condition(row, &table.rows[i - 1]);
        if (is_first && row->rank > 0 && !isnan(mean_of(row, out->sweep.rank_by))) {
            out->bests[out->best_count++] = row;
        }
    }
    return true;
}

static bool read_failures(struct store *store, struct arena *arena, struct progress *out,
                          struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_status_failures, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, out->sweep.sweep_id);
    while (out->failure_count < SHOWN_FAILURES) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        struct failure *failure = &out->failures[out->failure_count++];
        const char *reason = sql_column_text(row, 3, arena);
        *failure =
            (struct failure){.trial_id = sqlite3_column_int64(row, 0),
                             .point = sql_column_text(row, 1, arena),
                             .class = sql_column_text(row, 2, arena),
                             .reason = reason != NULL ? text_printable(arena, reason) : NULL};
        if (failure->point == NULL || failure->class == NULL || failure->reason == NULL) {
            return err_memory(err);
        }
    }
    sqlite3_reset(row);
    return true;
}

static const char *or_baseline(const char *key)
{
    return key[0] != '\0' ? key : "baseline";
}

static void pairs_json(const struct rank_pair *pairs, size_t count, struct json *json)
{
    json_object_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_key(json, pairs[i].name);
        json_string(json, pairs[i].display);
    }
    json_object_end(json);
}

static void best_json(const struct rank_row *row, const char *by, struct json *json)
{
    json_object_begin(json);
    json_key(json, "point");
    json_int(json, row->point_id);
    json_key(json, "axes");
    pairs_json(row->asked, row->asked_count, json);
    json_key(json, "condition");
    pairs_json(row->condition, row->condition_count, json);
    json_key(json, "value");
    json_real(json, mean_of(row, by));
    json_key(json, "trials");
    json_int(json, row->trials);
    json_key(json, "by");
    json_string(json, by);
    json_object_end(json);
}

static void pairs_text(const struct rank_pair *pairs, size_t count, struct text *out)
{
    for (size_t i = 0; i < count; i++) {
        text_addf(out, "%s%s=%s", i > 0 ? " " : "", pairs[i].name, pairs[i].display);
    }
}

static void status_json(const struct progress *progress, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_object_begin(&json);
    json_key(&json, "name");
    json_string(&json, progress->sweep.name);
    json_key(&json, "target");
    json_string(&json, progress->sweep.target_label);
    json_key(&json, "trials_done");
    json_int(&json, progress->done);
    json_key(&json, "trials_failed");
    json_int(&json, progress->failed);
    json_key(&json, "trials_interrupted");
    json_int(&json, progress->interrupted);
    json_key(&json, "trials_planned");
    json_int(&json, progress->sweep.planned_trials);
    json_key(&json, "trials_killed");
    json_int(&json, progress->killed);
    json_key(&json, "saved_s");
    json_real(&json, progress->saved_s);
    json_key(&json, "touched");
    json_bool(&json, progress->touched);
    json_key(&json, "eta_s");
    json_real(&json, progress->eta_s);
    json_key(&json, "running");
    if (progress->running_trial > 0) {
        json_object_begin(&json);
        json_key(&json, "trial");
        json_int(&json, progress->running_trial);
        json_key(&json, "stage");
        json_string(&json, progress->running_stage);
        json_key(&json, "point");
        json_string(&json, or_baseline(progress->running_point));
        json_object_end(&json);
    } else {
        json_null(&json);
    }
    json_key(&json, "best");
    json_array_begin(&json);
    for (size_t i = 0; i < progress->best_count; i++) {
        best_json(progress->bests[i], progress->sweep.rank_by, &json);
    }
    json_array_end(&json);
    json_key(&json, "failures");
    json_array_begin(&json);
    for (size_t i = 0; i < progress->failure_count; i++) {
        json_object_begin(&json);
        json_key(&json, "trial");
        json_int(&json, progress->failures[i].trial_id);
        json_key(&json, "point");
        json_string(&json, or_baseline(progress->failures[i].point));
        json_key(&json, "class");
        json_string(&json, progress->failures[i].class);
        json_key(&json, "reason");
        json_string(&json, progress->failures[i].reason);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_object_end(&json);
    text_add_char(out, '\n');
}

static void status_csv(const struct progress *progress, struct text *out)
{
    /* One line; of several conditions the best of the first. */
    const struct rank_row *best = progress->best_count > 0 ? progress->bests[0] : NULL;
    struct text axes;
    text_open(&axes, out->arena);
    if (best != NULL) {
        pairs_text(best->asked, best->asked_count, &axes);
    }
    text_add(out, "name,trials_done,trials_failed,trials_planned,touched,eta_s,best,value\n");
    csv_text(out, progress->sweep.name, ',');
    csv_number(out, (double)progress->done, ',');
    csv_number(out, (double)progress->failed, ',');
    csv_number(out, (double)progress->sweep.planned_trials, ',');
    csv_text(out, progress->touched ? "true" : "false", ',');
    csv_number(out, progress->eta_s, ',');
    csv_text(out, axes.size > 0 ? text_done(&axes) : "", ',');
    csv_number(out, best != NULL ? mean_of(best, progress->sweep.rank_by) : (double)NAN, '\n');
}

static void best_text(const struct rank_row *row, const char *by, struct text *out)
{
    char value[LAYOUT_NUMBER_SIZE];
    layout_figure(mean_of(row, by), value);
    text_addf(out, "best:    %s %s, point %lld: ", value, by, (long long)row->point_id);
    pairs_text(row->asked, row->asked_count, out);
    text_add(out, row->condition_count > 0 ? " | " : "");
    pairs_text(row->condition, row->condition_count, out);
    text_addf(out, " (%d %s%s; `dbsweep rank` knows more)\n", row->trials,
              row->trials == 1 ? "run" : "runs", row->tied ? ", tied with others" : "");
}

static void status_table(const struct progress *progress, struct text *out)
{
    text_addf(out, "sweep:   %s on %s (%s %s)\n", progress->sweep.name,
              progress->sweep.target_label, progress->sweep.product, progress->sweep.version);
    text_addf(out, "trials:  %lld done, %lld failed, %lld planned%s\n", (long long)progress->done,
              (long long)progress->failed, (long long)progress->sweep.planned_trials,
              progress->interrupted > 0 ? " (some were interrupted)" : "");
    if (progress->killed > 0) {
        char saved[CLOCK_SPAN_BYTES];
        clock_format_span((int64_t)(progress->saved_s * 1000), saved, sizeof saved);
        text_addf(out, "killed:  %lld of them early, which saved %s\n", (long long)progress->killed,
                  saved);
    }
    if (progress->running_trial > 0) {
        text_addf(out, "running: trial %lld, %s: %s\n", (long long)progress->running_trial,
                  progress->running_stage, or_baseline(progress->running_point));
    }
    if (!isnan(progress->eta_s) && progress->running_trial > 0) {
        char left[LAYOUT_NUMBER_SIZE];
        layout_fixed(progress->eta_s, 0, left);
        text_addf(out, "left:    about %s s\n", left);
    }
    for (size_t i = 0; i < progress->best_count; i++) {
        best_text(progress->bests[i], progress->sweep.rank_by, out);
    }
    for (size_t i = 0; i < progress->failure_count; i++) {
        text_addf(out, "failed:  trial %lld, %s: %s\n", (long long)progress->failures[i].trial_id,
                  or_baseline(progress->failures[i].point), progress->failures[i].reason);
    }
    text_addf(out, "target:  %s\n",
              progress->touched
                  ? "may be off its baseline: it is being swept, or needs `dbsweep restore`"
                  : "on its baseline");
}

bool view_status(struct store *store, const char *format, struct arena *arena, struct text *out,
                 struct err *err)
{
    struct progress progress = {.running_trial = 0};
    if (!store_sweep_latest(store, arena, &progress.sweep, err) ||
        !read_counts(store, &progress, err) || !read_running(store, arena, &progress, err) ||
        !read_eta(store, &progress, err) || !read_bests(store, arena, &progress, err) ||
        !read_failures(store, arena, &progress, err)) {
        return false;
    }
    if (strcmp(format, "json") == 0) {
        status_json(&progress, out);
    } else if (strcmp(format, "csv") == 0) {
        status_csv(&progress, out);
    } else if (strcmp(format, "table") == 0) {
        status_table(&progress, out);
    } else {
        return bad_format(format, "table, csv or json", err);
    }
    return !out->failed || err_memory(err);
}

/* ---- export ---- */

/* Columns that depend on the sweep: asked and effective of every knob, conditions, metrics. */
enum column_kind { COLUMN_ASKED, COLUMN_EFFECTIVE, COLUMN_CONDITION, COLUMN_METRIC };
struct column {
    enum column_kind kind;
    const char *name;
};

struct exporter {
    struct store *store;
    struct arena *arena;
    struct text *out;
    struct json json;
    bool is_json;
    struct column columns[COLUMN_LIMIT];
    size_t column_count;
};

static bool add_columns(struct exporter *exporter, enum sql_id id, int64_t sweep_id,
                        enum column_kind kind, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(exporter->store, id, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    while (exporter->column_count < COLUMN_LIMIT) {
        if (!sql_next(exporter->store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        const char *name = sql_column_text(row, 0, exporter->arena);
        if (name == NULL) {
            return err_memory(err);
        }
        exporter->columns[exporter->column_count].kind = kind;
        exporter->columns[exporter->column_count++].name = name;
    }
    sqlite3_reset(row);
    return true;
}

static const char *const column_prefix[] = {"asked.", "effective.", "condition.", "metric."};
static const enum sql_id column_sql[] = {SQL_export_asked, SQL_export_effective,
                                         SQL_export_condition, SQL_export_metric};

static void put_cell(struct exporter *exporter, const char *key, sqlite3_stmt *row, int at,
                     bool is_last)
{
    int type = row != NULL ? sqlite3_column_type(row, at) : SQLITE_NULL;
    bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    const char *text = type == SQLITE_TEXT ? (const char *)sqlite3_column_text(row, at) : NULL;
    double number = is_number ? sqlite3_column_double(row, at) : (double)NAN;
    if (exporter->is_json) {
        json_key(&exporter->json, key);
        if (is_number) {
            json_real(&exporter->json, number);
        } else {
            json_string(&exporter->json, text);
        }
    } else if (is_number || text == NULL) {
        csv_number(exporter->out, number, is_last ? '\n' : ',');
    } else {
        csv_text(exporter->out, text, is_last ? '\n' : ',');
    }
}

static const char *const fixed_columns[] = {"trial",      "point",  "purpose", "status",
                                            "class",      "reason", "started", "elapsed_s",
                                            "measured_s", "flags"};

static bool put_trial(sqlite3_stmt *trial, void *context, struct err *err)
{
    struct exporter *exporter = context;
    int64_t trial_id = sqlite3_column_int64(trial, 0);
    if (exporter->is_json) {
        json_object_begin(&exporter->json);
    }
    for (size_t i = 0; i < COUNT_OF(fixed_columns); i++) {
        put_cell(exporter, fixed_columns[i], trial, (int)i,
                 i + 1 == COUNT_OF(fixed_columns) && exporter->column_count == 0);
    }
    for (size_t i = 0; i < exporter->column_count; i++) {
        const struct column *column = &exporter->columns[i];
        char key[160];
        bool has_row = false;
        sqlite3_stmt *cell = sql_use(exporter->store, column_sql[column->kind], err);
        if (cell == NULL) {
            return false;
        }
        sql_int(cell, 1, trial_id);
        sql_text(cell, 2, column->name);
        if (!sql_next(exporter->store, cell, &has_row, err)) {
            return false;
        }
        snprintf(key, sizeof key, "%s%s", column_prefix[column->kind], column->name);
        put_cell(exporter, key, has_row ? cell : NULL, 0, i + 1 == exporter->column_count);
        sqlite3_reset(cell);
    }
    if (exporter->is_json) {
        json_object_end(&exporter->json);
    }
    return true;
}

static void put_heading(struct exporter *exporter)
{
    for (size_t i = 0; i < COUNT_OF(fixed_columns); i++) {
        csv_text(exporter->out, fixed_columns[i],
                 i + 1 == COUNT_OF(fixed_columns) && exporter->column_count == 0 ? '\n' : ',');
    }
    for (size_t i = 0; i < exporter->column_count; i++) {
        char key[160];
        snprintf(key, sizeof key, "%s%s", column_prefix[exporter->columns[i].kind],
                 exporter->columns[i].name);
        csv_text(exporter->out, key, i + 1 == exporter->column_count ? '\n' : ',');
    }
}

bool view_export(struct store *store, const char *format, struct arena *arena, struct text *out,
                 struct err *err)
{
    struct store_sweep sweep;
    struct exporter *exporter = ARENA_NEW(arena, struct exporter);
    if (exporter == NULL) {
        return err_memory(err);
    }
    exporter->store = store;
    exporter->arena = arena;
    exporter->out = out;
    exporter->is_json = strcmp(format, "json") == 0;
    if (!exporter->is_json && strcmp(format, "csv") != 0) {
        return bad_format(format, "csv or json", err);
    }
    if (!store_sweep_latest(store, arena, &sweep, err) ||
        !add_columns(exporter, SQL_export_knobs, sweep.sweep_id, COLUMN_ASKED, err) ||
        !add_columns(exporter, SQL_export_knobs, sweep.sweep_id, COLUMN_EFFECTIVE, err) ||
        !add_columns(exporter, SQL_export_conditions, sweep.sweep_id, COLUMN_CONDITION, err) ||
        !add_columns(exporter, SQL_export_metrics, sweep.sweep_id, COLUMN_METRIC, err)) {
        return false;
    }
    if (exporter->is_json) {
        json_open(&exporter->json, out);
        json_array_begin(&exporter->json);
    } else {
        put_heading(exporter);
    }
    if (!sql_each(store, SQL_export_trials, sweep.sweep_id, put_trial, exporter, err)) {
        return false;
    }
    if (exporter->is_json) {
        json_array_end(&exporter->json);
        text_add_char(out, '\n');
    }
    return !out->failed || err_memory(err);
}
