/*
 * The ranking as a table for people, as CSV and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/csv.h"
#include "store/layout.h"
#include "store/rank_work.h"
#include "sweeper/base/json.h"
#include "sweeper/base/units.h"

enum {
    COLUMN_COUNT = 9,
    PLACES_COLUMN = 4, /* and the chance beside it: only where noise is known */
    CHANCE_COLUMN = 5,
    SETTINGS_COLUMN = COLUMN_COUNT - 1,
    REASON_WIDTH = 200
};

const struct rank_metric *rank_row_metric(const struct rank_row *row, const char *name)
{
    for (size_t i = 0; i < row->metric_count; i++) {
        if (strcmp(row->metrics[i].name, name) == 0) {
            return &row->metrics[i];
        }
    }
    return NULL;
}

/* ---- JSON ---- */

static void put_pair(struct json *json, const struct rank_pair *pair)
{
    json_key(json, pair->name);
    if (pair->has_number) {
        json_real(json, pair->number);
    } else {
        json_string(json, pair->canonical);
    }
}

static void put_interval(struct json *json, double mean, double low, double high)
{
    json_key(json, "mean");
    json_real(json, mean);
    json_key(json, "low");
    json_real(json, low);
    json_key(json, "high");
    json_real(json, high);
}

static void put_metrics(struct json *json, const struct rank_row *row)
{
    json_key(json, "metrics");
    json_object_begin(json);
    for (size_t i = 0; i < row->metric_count; i++) {
        const struct rank_metric *metric = &row->metrics[i];
        json_key(json, metric->name);
        json_object_begin(json);
        put_interval(json, metric->mean, metric->low, metric->high);
        json_key(json, "cv_pct");
        json_real(json, metric->cv_pct);
        json_object_end(json);
    }
    json_object_end(json);
}

static void put_flags(struct json *json, const char *flags)
{
    json_key(json, "flags");
    json_array_begin(json);
    while (*flags != '\0') {
        char word[64];
        size_t length = strcspn(flags, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, flags);
        json_string(json, word);
        flags += length + strspn(flags + length, " ");
    }
    json_array_end(json);
}

static void put_settings(struct json *json, const struct rank_row *row)
{
    json_key(json, "axes");
    json_object_begin(json);
    for (size_t i = 0; i < row->asked_count; i++) {
        json_key(json, row->asked[i].name);
        json_string(json, row->asked[i].display);
    }
    json_object_end(json);
    json_key(json, "effective");
    json_object_begin(json);
    for (size_t i = 0; i < row->effective_count; i++) {
        put_pair(json, &row->effective[i]);
    }
    json_object_end(json);
}

/* A number under a key; null where it is not known. */
static void put_real(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_real(json, value);
}

static void put_drift(struct json *json, const struct rank_row *row)
{
    json_key(json, "drift");
    if (row->drift == NULL) {
        json_null(json);
        return;
    }
    json_object_begin(json);
    json_key(json, "baseline_trials");
    json_int(json, (int64_t)row->drift->runs);
    json_key(json, "testable");
    json_bool(json, row->drift->is_testable);
    put_real(json, "p", row->drift->is_testable ? row->drift->p : (double)NAN);
    put_real(json, "slope_pct_per_h", row->drift->slope_pct_per_h);
    put_real(json, "change_pct", row->drift->change_pct);
    json_key(json, "corrected");
    json_bool(json, row->drift->is_corrected);
    put_real(json, "raw_mean", row->raw_mean);
    json_object_end(json);
}

/* What is known of its place, and what its figures rest on. */
static void put_standing(struct json *json, const struct rank_row *row)
{
    json_key(json, "rank_interval");
    if (row->rank_low > 0) {
        json_object_begin(json);
        json_key(json, "low");
        json_int(json, row->rank_low);
        json_key(json, "high");
        json_int(json, row->rank_high);
        json_object_end(json);
    } else {
        json_null(json);
    }
    put_real(json, "p_best", row->chance);
    json_key(json, "confirmed");
    json_bool(json, row->confirmed);
    json_key(json, "confirming_trials");
    json_int(json, row->confirming);
    json_key(json, "expected");
    json_object_begin(json);
    put_real(json, "mean", row->expected);
    put_real(json, "versus_baseline_pct", row->expected_pct);
    json_object_end(json);
    json_key(json, "nondominated");
    if (row->has_domination) {
        json_bool(json, row->nondominated);
    } else {
        json_null(json);
    }
    put_drift(json, row);
}

static void put_row(struct json *json, const struct rank_row *row)
{
    json_object_begin(json);
    json_key(json, "rank");
    if (row->rank > 0) {
        json_int(json, row->rank);
    } else {
        json_null(json);
    }
    json_key(json, "point");
    json_int(json, row->point_id);
    json_key(json, "points");
    json_array_begin(json);
    for (size_t i = 0; i < row->point_count; i++) {
        json_int(json, row->points[i]);
    }
    json_array_end(json);
    json_key(json, "condition");
    json_object_begin(json);
    for (size_t i = 0; i < row->condition_count; i++) {
        put_pair(json, &row->condition[i]);
    }
    json_object_end(json);
    json_key(json, "tied");
    json_bool(json, row->tied);
    json_key(json, "baseline");
    json_bool(json, row->baseline);
    json_key(json, "durable");
    json_bool(json, row->durable);
    json_key(json, "trials");
    json_int(json, row->trials);
    json_key(json, "failed");
    json_int(json, row->failed);
    put_settings(json, row);
    put_metrics(json, row);
    json_key(json, "versus_baseline_pct");
    if (row->has_versus) {
        json_object_begin(json);
        put_interval(json, row->versus_mean_pct, row->versus_low_pct, row->versus_high_pct);
        json_object_end(json);
    } else {
        json_null(json);
    }
    put_flags(json, row->flags);
    put_standing(json, row);
    if (row->reason != NULL) {
        json_key(json, "reason");
        json_string(json, row->reason);
    }
    json_object_end(json);
}

static void format_json(const struct rank_table *table, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < table->row_count; i++) {
        put_row(&json, &table->rows[i]);
    }
    json_array_end(&json);
    text_add_char(out, '\n');
}

/* ---- settings in words ---- */

static const struct rank_pair *pair_of(const struct rank_pair *pairs, size_t count,
                                       const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(pairs[i].name, name) == 0) {
            return &pairs[i];
        }
    }
    return NULL;
}

/* "name=value name=value" without what stays as found; what the server made of a value stands
 * behind it. NULL where memory ends. */
const char *rank_settings_text(struct arena *arena, const struct rank_row *row)
{
    struct text text;
    if (row->baseline) {
        return "baseline";
    }
    text_open(&text, arena);
    for (size_t i = 0; i < row->asked_count; i++) {
        const struct rank_pair *asked = &row->asked[i];
        const struct rank_pair *is = pair_of(row->effective, row->effective_count, asked->name);
        if (strcmp(asked->canonical, "baseline") == 0) {
            continue;
        }
        text_addf(&text, "%s%s=%s", text.size > 0 ? " " : "", asked->name, asked->display);
        bool is_adjusted = is != NULL && strcmp(asked->canonical, "unset") != 0 &&
                           strcmp(asked->canonical, is->canonical) != 0;
        if (is_adjusted) {
            text_addf(&text, " (is %s)", is->display);
        }
    }
    return text_done(&text);
}

const char *rank_condition_text(struct arena *arena, const struct rank_row *row)
{
    struct text text;
    text_open(&text, arena);
    for (size_t i = 0; i < row->condition_count; i++) {
        text_addf(&text, "%s%s=%s", i > 0 ? " " : "", row->condition[i].name,
                  row->condition[i].display);
    }
    return text_done(&text);
}

/* ---- CSV ---- */

static bool put_csv_row(const struct rank_table *table, const struct rank_row *row,
                        struct text *out)
{
    const struct rank_metric none = {.mean = NAN, .low = NAN, .high = NAN, .cv_pct = NAN};
    const struct rank_metric *metric = rank_row_metric(row, table->by);
    const struct rank_metric *p99 = rank_row_metric(row, "p99_ms");
    const char *settings = rank_settings_text(out->arena, row);
    const char *condition = rank_condition_text(out->arena, row);
    if (settings == NULL || condition == NULL) {
        return false;
    }
    metric = metric != NULL ? metric : &none;
    csv_number(out, row->rank > 0 ? (double)row->rank : (double)NAN, ',');
    csv_number(out, (double)row->point_id, ',');
    csv_text(out, condition, ',');
    csv_text(out, row->tied ? "true" : "false", ',');
    csv_text(out, row->baseline ? "true" : "false", ',');
    csv_text(out, row->durable ? "true" : "false", ',');
    csv_number(out, row->trials, ',');
    csv_number(out, row->failed, ',');
    csv_text(out, settings, ',');
    csv_text(out, table->by, ',');
    csv_number(out, metric->mean, ',');
    csv_number(out, metric->low, ',');
    csv_number(out, metric->high, ',');
    csv_number(out, metric->cv_pct, ',');
    csv_number(out, row->has_versus ? row->versus_mean_pct : (double)NAN, ',');
    csv_number(out, row->versus_low_pct, ',');
    csv_number(out, row->versus_high_pct, ',');
    csv_number(out, p99 != NULL ? p99->mean : (double)NAN, ',');
    csv_text(out, row->flags, ',');
    csv_text(out, row->reason != NULL ? row->reason : "", ',');
    csv_number(out, row->rank_low > 0 ? (double)row->rank_low : (double)NAN, ',');
    csv_number(out, row->rank_low > 0 ? (double)row->rank_high : (double)NAN, ',');
    csv_number(out, row->chance, ',');
    csv_text(out, row->confirmed ? "true" : "false", ',');
    csv_number(out, row->expected, ',');
    csv_number(out, row->expected_pct, ',');
    csv_number(out, row->raw_mean, '\n');
    return true;
}

static bool format_csv(const struct rank_table *table, struct text *out)
{
    text_add(out, "rank,point,condition,tied,baseline,durable,trials,failed,settings,metric,mean,"
                  "low,high,cv_pct,versus_baseline_pct,versus_low_pct,versus_high_pct,p99_ms,"
                  "flags,reason,rank_low,rank_high,p_best,confirmed,expected,expected_pct,"
                  "raw_mean\n");
    for (size_t i = 0; i < table->row_count; i++) {
        if (!put_csv_row(table, &table->rows[i], out)) {
            return false;
        }
    }
    return true;
}

/* ---- table ---- */

struct line {
    const char *cells[COLUMN_COUNT];
};

/* The interval is that of a ratio, longer above than below: its ends are named, not a half. */
static const char *interval_text(struct arena *arena, const struct rank_metric *metric)
{
    char mean[LAYOUT_NUMBER_SIZE];
    char low[LAYOUT_NUMBER_SIZE];
    char high[LAYOUT_NUMBER_SIZE];
    if (metric == NULL) {
        return "-";
    }
    layout_figure(metric->mean, mean);
    if (isnan(metric->low)) {
        return arena_strdup(arena, mean);
    }
    layout_figure(metric->low, low);
    layout_figure(metric->high, high);
    return arena_printf(arena, "%s (%s to %s)", mean, low, high);
}

static const char *gain_text(struct arena *arena, const struct rank_row *row)
{
    char mean[LAYOUT_NUMBER_SIZE];
    char low[LAYOUT_NUMBER_SIZE];
    char high[LAYOUT_NUMBER_SIZE];
    if (!row->has_versus || row->baseline) {
        return "";
    }
    bool is_promise = rank_has_word(row->flags, "unconfirmed") && !isnan(row->expected_pct);
    layout_signed(is_promise ? row->expected_pct : row->versus_mean_pct, 1, mean);
    if (is_promise) {
        return arena_printf(arena, "%s%% expected", mean);
    }
    if (isnan(row->versus_low_pct)) {
        return arena_printf(arena, "%s%%", mean);
    }
    layout_signed(row->versus_low_pct, 1, low);
    layout_signed(row->versus_high_pct, 1, high);
    return arena_printf(arena, "%s%% (%s to %s)", mean, low, high);
}

/* Settings, flags, and the other points that came out the same. */
static const char *description_text(struct arena *arena, const struct rank_row *row)
{
    struct text text;
    const char *settings = rank_settings_text(arena, row);
    if (settings == NULL) {
        return NULL;
    }
    text_open(&text, arena);
    text_add(&text, settings);
    if (row->flags[0] != '\0') {
        text_addf(&text, "  [%s]", row->flags);
    }
    for (size_t i = 1; i < row->point_count; i++) {
        text_addf(&text, "%s%lld", i == 1 ? "  = point " : ", ", (long long)row->points[i]);
    }
    const char *whole = text_done(&text);
    return whole != NULL ? layout_line(arena, whole, SIZE_MAX) : NULL;
}

static const char *places_text(struct arena *arena, const struct rank_row *row)
{
    if (row->rank_low == 0) {
        return "-";
    }
    return row->rank_low == row->rank_high
               ? arena_printf(arena, "%d", row->rank_low)
               : arena_printf(arena, "%d-%d", row->rank_low, row->rank_high);
}

static const char *chance_text(struct arena *arena, const struct rank_row *row)
{
    return isnan(row->chance) ? "-" : arena_printf(arena, "%.0f%%", 100 * row->chance);
}

static bool make_line(const struct rank_table *table, const struct rank_row *row,
                      struct arena *arena, struct line *out)
{
    char tail[LAYOUT_NUMBER_SIZE];
    const struct rank_metric *p99 = rank_row_metric(row, "p99_ms");
    layout_figure(p99 != NULL ? p99->mean : (double)NAN, tail);
    *out = (struct line){
        {row->rank > 0 ? arena_printf(arena, "%d%s", row->rank, row->tied ? "=" : "") : "-",
         arena_printf(arena, "%lld", (long long)row->point_id),
         interval_text(arena, rank_row_metric(row, table->by)), arena_strdup(arena, tail),
         places_text(arena, row), chance_text(arena, row), arena_printf(arena, "%d", row->trials),
         gain_text(arena, row), description_text(arena, row)}};
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (out->cells[i] == NULL) {
            return false;
        }
    }
    return true;
}

static void put_line(const struct line *line, const size_t *widths, bool has_noise,
                     struct text *out)
{
    for (size_t i = 0; i < SETTINGS_COLUMN; i++) {
        bool is_gain = i + 1 == SETTINGS_COLUMN;
        if (!has_noise && (i == PLACES_COLUMN || i == CHANCE_COLUMN)) {
            continue;
        }
        (is_gain ? layout_left : layout_right)(out, line->cells[i], widths[i]);
        text_add(out, "  ");
    }
    text_addf(out, "%s\n", line->cells[SETTINGS_COLUMN]);
}

/* lines[0] is the heading. */
static bool make_lines(const struct rank_table *table, struct arena *arena, struct line *lines,
                       size_t *widths)
{
    const char *by = layout_line(arena, table->by, SIZE_MAX);
    lines[0] = (struct line){
        {"rank", "point", by, "p99_ms", "places", "best", "n", "against the baseline", "settings"}};
    for (size_t i = 0; i < table->row_count; i++) {
        if (!make_line(table, &table->rows[i], arena, &lines[i + 1])) {
            return false;
        }
    }
    for (size_t i = 0; by != NULL && i <= table->row_count; i++) {
        for (size_t j = 0; j < COLUMN_COUNT; j++) {
            size_t width = layout_width(lines[i].cells[j]);
            widths[j] = width > widths[j] ? width : widths[j];
        }
    }
    return by != NULL;
}

bool rank_same_condition(const struct rank_row *a, const struct rank_row *b)
{
    for (size_t i = 0; i < a->condition_count && i < b->condition_count; i++) {
        if (strcmp(a->condition[i].name, b->condition[i].name) != 0 ||
            strcmp(a->condition[i].canonical, b->condition[i].canonical) != 0) {
            return false;
        }
    }
    return a->condition_count == b->condition_count;
}

static bool put_title(const struct rank_row *row, const struct rank_row *before, struct text *out)
{
    const char *words = rank_condition_text(out->arena, row);
    const char *condition = words != NULL ? layout_line(out->arena, words, SIZE_MAX) : NULL;
    if (condition == NULL) {
        return false;
    }
    const char *title = row->rank > 0 ? "" : "without a rank";
    const char *between = title[0] != '\0' && condition[0] != '\0' ? "  " : "";
    text_add(out, before != NULL ? "\n" : "");
    if (title[0] != '\0' || condition[0] != '\0') {
        text_addf(out, "%s%s%s\n", title, between, condition);
    }
    return true;
}

static bool format_table(const struct rank_table *table, struct text *out)
{
    size_t widths[COLUMN_COUNT] = {0};
    struct line *lines = ARENA_ARRAY(out->arena, struct line, table->row_count + 1);
    if (lines == NULL || !make_lines(table, out->arena, lines, widths)) {
        return false;
    }
    for (size_t i = 0; i < table->row_count; i++) {
        const struct rank_row *row = &table->rows[i];
        const struct rank_row *before = i > 0 ? &table->rows[i - 1] : NULL;
        bool is_new = before == NULL || !rank_same_condition(before, row) ||
                      (before->rank > 0) != (row->rank > 0);
        if (is_new) {
            if (!put_title(row, before, out)) {
                return false;
            }
            put_line(&lines[0], widths, !isnan(table->noise_pct), out);
        }
        put_line(&lines[i + 1], widths, !isnan(table->noise_pct), out);
        if (row->reason != NULL) {
            const char *reason = layout_line(out->arena, row->reason, REASON_WIDTH);
            text_addf(out, "%*s%s\n", (int)(widths[0] + widths[1]) + 4, "",
                      reason != NULL ? reason : "");
        }
    }
    rank_put_footer(table, out);
    return true;
}

bool rank_format(const struct rank_table *table, const char *format, struct text *out,
                 struct err *err)
{
    bool ok = true;
    if (strcmp(format, "json") == 0) {
        format_json(table, out);
    } else if (strcmp(format, "csv") == 0) {
        ok = format_csv(table, out);
    } else if (strcmp(format, "table") == 0) {
        ok = format_table(table, out);
    } else {
        err_set(err, ERR_CODE_usage, "there is no format \"%s\"", format);
        return err_hint(err, "table, csv or json");
    }
    return (ok && !out->failed) || err_memory(err);
}
