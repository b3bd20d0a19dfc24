/*
 * The ranking as a table for people, as CSV and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/csv.h"
#include "store/rank.h"
#include "sweeper/base/json.h"

enum { POINT_WIDTH = 60 };

static const struct rank_metric *metric_of(const struct rank_row *row, const char *name)
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

/* ---- CSV ---- */

static void format_csv(const struct rank_table *table, struct text *out)
{
    text_add(out, "rank,point,condition,tied,baseline,durable,trials,failed,settings,metric,mean,"
                  "low,high,cv_pct,versus_baseline_pct,versus_low_pct,versus_high_pct,p99_ms,"
                  "flags,reason\n");
    for (size_t i = 0; i < table->row_count; i++) {
        const struct rank_row *row = &table->rows[i];
        const struct rank_metric *metric = metric_of(row, table->by);
        const struct rank_metric *p99 = metric_of(row, "p99_ms");
        char settings[2048];
        char condition[512];
        rank_pairs_text(row->asked, row->asked_count, settings, sizeof settings);
        rank_pairs_text(row->condition, row->condition_count, condition, sizeof condition);
        csv_number(out, row->rank > 0 ? (double)row->rank : (double)NAN, ',');
        csv_number(out, (double)row->point_id, ',');
        csv_text(out, condition, ',');
        csv_text(out, row->tied ? "true" : "false", ',');
        csv_text(out, row->baseline ? "true" : "false", ',');
        csv_text(out, row->durable ? "true" : "false", ',');
        csv_number(out, row->trials, ',');
        csv_number(out, row->failed, ',');
        csv_text(out, row->baseline ? "baseline" : settings, ',');
        csv_text(out, table->by, ',');
        csv_number(out, metric != NULL ? metric->mean : NAN, ',');
        csv_number(out, metric != NULL ? metric->low : NAN, ',');
        csv_number(out, metric != NULL ? metric->high : NAN, ',');
        csv_number(out, metric != NULL ? metric->cv_pct : NAN, ',');
        csv_number(out, row->has_versus ? row->versus_mean_pct : NAN, ',');
        csv_number(out, row->versus_low_pct, ',');
        csv_number(out, row->versus_high_pct, ',');
        csv_number(out, p99 != NULL ? p99->mean : NAN, ',');
        csv_text(out, row->flags, ',');
        csv_text(out, row->reason != NULL ? row->reason : "", '\n');
    }
}

/* ---- table ---- */

void rank_pairs_text(const struct rank_pair *pairs, size_t count, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < count && used < size; i++) {
        if (strcmp(pairs[i].display, "baseline") == 0) {
            continue;
        }
        int added = snprintf(buffer + used, size - used, "%s%s=%s", used > 0 ? " " : "",
                             pairs[i].name, pairs[i].display);
        used += added > 0 ? (size_t)added : 0;
    }
}

static void gain_text(const struct rank_row *row, char *buffer, size_t size)
{
    if (!row->has_versus || row->baseline) {
        snprintf(buffer, size, "%s", "");
    } else if (isnan(row->versus_low_pct)) {
        snprintf(buffer, size, "%+.1f%%", row->versus_mean_pct);
    } else {
        snprintf(buffer, size, "%+.1f%% (%+.1f to %+.1f)", row->versus_mean_pct,
                 row->versus_low_pct, row->versus_high_pct);
    }
}

static void interval_text(const struct rank_metric *metric, char *buffer, size_t size)
{
    if (metric == NULL) {
        snprintf(buffer, size, "%s", "-");
    } else if (isnan(metric->low)) {
        snprintf(buffer, size, "%.6g", metric->mean);
    } else {
        snprintf(buffer, size, "%.6g ±%.1f%%", metric->mean,
                 50 * (metric->high - metric->low) / metric->mean);
    }
}

static void put_line(const struct rank_table *table, const struct rank_row *row, struct text *out)
{
    const struct rank_metric *p99 = metric_of(row, "p99_ms");
    char settings[2048];
    char gain[64];
    char value[64];
    char rank[16] = "-";
    char tail[32] = "-";
    rank_pairs_text(row->asked, row->asked_count, settings, sizeof settings);
    gain_text(row, gain, sizeof gain);
    interval_text(metric_of(row, table->by), value, sizeof value);
    if (row->rank > 0) {
        snprintf(rank, sizeof rank, "%d%s", row->rank, row->tied ? "=" : "");
    }
    if (p99 != NULL) {
        snprintf(tail, sizeof tail, "%.4g", p99->mean);
    }
    /* ± is two bytes and one column. */
    int width = 22 + (strstr(value, "±") != NULL ? 1 : 0);
    text_addf(out, "%5s %6lld %*s %10s %3d  %-26s %s%s%s%s%s\n", rank, (long long)row->point_id,
              width, value, tail, row->trials, gain, row->baseline ? "baseline" : settings,
              row->flags[0] != '\0' ? "  [" : "", row->flags, row->flags[0] != '\0' ? "]" : "", "");
    if (row->reason != NULL) {
        text_addf(out, "%*s%.*s\n", 13, "", 200, row->reason);
    }
}

static bool same_condition(const struct rank_row *a, const struct rank_row *b)
{
    char left[512];
    char right[512];
    rank_pairs_text(a->condition, a->condition_count, left, sizeof left);
    rank_pairs_text(b->condition, b->condition_count, right, sizeof right);
    return strcmp(left, right) == 0;
}

static void format_table(const struct rank_table *table, struct text *out)
{
    char condition[512];
    for (size_t i = 0; i < table->row_count; i++) {
        const struct rank_row *row = &table->rows[i];
        const struct rank_row *before = i > 0 ? &table->rows[i - 1] : NULL;
        bool is_new =
            before == NULL || !same_condition(before, row) || (before->rank > 0) != (row->rank > 0);
        if (is_new) {
            rank_pairs_text(row->condition, row->condition_count, condition, sizeof condition);
            text_addf(out, "%s%s%s%s\n", before != NULL ? "\n" : "",
                      row->rank > 0 ? "" : "without a rank", condition[0] != '\0' ? "  " : "",
                      condition);
            text_addf(out, "%5s %6s %22s %10s %3s  %-26s %s\n", "rank", "point", table->by,
                      "p99_ms", "n", "against the baseline", "settings");
        }
        put_line(table, row, out);
    }
    if (table->note[0] != '\0') {
        text_addf(out, "%snote: %s\n", table->row_count > 0 ? "\n" : "", table->note);
    }
    bool has_tie = false;
    for (size_t i = 0; i < table->row_count; i++) {
        has_tie = has_tie || table->rows[i].tied;
    }
    if (has_tie) {
        text_add(out, "= cannot be told from the first\n");
    }
}

bool rank_format(const struct rank_table *table, const char *format, struct text *out,
                 struct err *err)
{
    if (strcmp(format, "json") == 0) {
        format_json(table, out);
    } else if (strcmp(format, "csv") == 0) {
        format_csv(table, out);
    } else if (strcmp(format, "table") == 0) {
        format_table(table, out);
    } else {
        err_set(err, ERR_CODE_usage, "there is no format \"%s\"", format);
        return err_hint(err, "table, csv or json");
    }
    return !out->failed || err_memory(err);
}
