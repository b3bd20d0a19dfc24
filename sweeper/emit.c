/*
 * Emits a point through the backend's own renderer, applied to an empty file: what is printed is
 * exactly what a trial wrote. Backends without a file print their settings as statements.
 */
#include "sweeper/emit.h"

#include <math.h>
#include <string.h>

#include "backends/backend.h"
#include "knobs/catalogue.h"
#include "sweeper/base/clock.h"

static bool choose_row(const struct rank_table *table, const char *which,
                       const struct rank_row **out, struct err *err)
{
    int64_t wanted = 0;
    bool is_best = strcmp(which, "best") == 0;
    if (!is_best && !units_parse_int(which, &wanted, err)) {
        return err_hint(err, "name a point by its number in `dbsweep rank`, or \"best\"");
    }
    for (size_t i = 0; i < table->row_count; i++) {
        const struct rank_row *row = &table->rows[i];
        if (is_best ? row->rank == 1 : row->point_id == wanted) {
            *out = row;
            return true;
        }
    }
    err_set(err, ERR_CODE_not_found, is_best ? "nothing is ranked yet" : "no point %s is ranked",
            which);
    return err_hint(err, "`dbsweep rank` and `dbsweep status` say what there is");
}

static const struct rank_metric *metric_of(const struct rank_row *row, const char *name)
{
    for (size_t i = 0; i < row->metric_count; i++) {
        if (strcmp(row->metrics[i].name, name) == 0) {
            return &row->metrics[i];
        }
    }
    return NULL;
}

static void add_provenance(const struct store_sweep *sweep, const struct rank_table *table,
                           const struct rank_row *row, const char *comment, struct text *out)
{
    char now[40];
    clock_format_wall(clock_wall_us(), now, sizeof now);
    text_addf(out, "%s sweep \"%s\" of %s, %s %s; point %lld, %d trials; written %s\n", comment,
              sweep->name, sweep->target_label, sweep->product, sweep->version,
              (long long)row->point_id, row->trials, now);
    const struct rank_metric *metric = metric_of(row, table->by);
    if (metric != NULL && isfinite(metric->low)) {
        text_addf(out, "%s %s: %.6g (%.6g to %.6g)", comment, table->by, metric->mean, metric->low,
                  metric->high);
    } else if (metric != NULL) {
        text_addf(out, "%s %s: %.6g (no interval is claimed)", comment, table->by, metric->mean);
    }
    if (row->has_versus) {
        text_addf(out, ", %+.1f %% against the baseline", row->versus_mean_pct);
    }
    text_addf(out, "%s\n", row->tied ? "; tied with others" : "");
}

static bool parse_settings(const struct store_sweep *sweep, const struct rank_row *row,
                           struct arena *arena, struct setting **out, size_t *out_count,
                           struct err *err)
{
    const struct backend *backend = backend_find(sweep->backend);
    size_t knob_count = 0;
    const struct knob *knobs =
        backend != NULL ? catalogue_knobs(backend->system, &knob_count) : NULL;
    struct setting *settings = ARENA_ARRAY(arena, struct setting, row->asked_count + 1);
    size_t count = 0;
    if (settings == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < row->asked_count; i++) {
        const char *text = row->asked[i].display;
        const struct knob *knob = knob_find(knobs, knob_count, row->asked[i].name);
        if (strcmp(text, "baseline") == 0) {
            continue;
        }
        if (knob == NULL) {
            return err_set(err, ERR_CODE_unsupported,
                           "%s is not in the catalogue: its line cannot be written",
                           row->asked[i].name);
        }
        settings[count].knob = knob;
        if (!value_parse(knob, text, &(struct value_facts){0}, arena, &settings[count].value,
                         err)) {
            return false;
        }
        count++;
    }
    *out = settings;
    *out_count = count;
    return true;
}

static bool add_lines(const struct store_sweep *sweep, const struct setting *settings, size_t count,
                      struct arena *arena, struct text *out, struct err *err)
{
    const struct backend *backend = backend_find(sweep->backend);
    struct server server = {
        .backend = backend, .arena = arena, .facts = {.config_path = "the emitted lines"}};
    struct bytes lines = {0};
    if (backend->render != NULL) {
        if (!backend->render(&server, (struct bytes){.data = "", .size = 0}, settings, count, arena,
                             &lines, err)) {
            return false;
        }
        text_add_bytes(out, lines.data, lines.size);
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        const char *value = value_display(settings[i].knob, &settings[i].value, arena);
        text_addf(out, "PRAGMA %s = %s;\n", settings[i].knob->name, value != NULL ? value : "?");
    }
    return true;
}

bool emit_point(struct store *store, const char *which, struct arena *arena, struct text *out,
                struct err *err)
{
    struct store_sweep sweep;
    struct rank_table table;
    const struct rank_row *row = NULL;
    struct setting *settings = NULL;
    size_t count = 0;
    struct rank_options options = {0};
    if (!store_sweep_latest(store, arena, &sweep, err) ||
        !rank_compute(store, &options, arena, &table, err) ||
        !choose_row(&table, which, &row, err) ||
        !parse_settings(&sweep, row, arena, &settings, &count, err)) {
        return false;
    }
    const struct backend *backend = backend_find(sweep.backend);
    const char *comment = backend->render != NULL ? "#" : "--";
    add_provenance(&sweep, &table, row, comment, out);
    if (count == 0) {
        text_addf(out, "%s the baseline: nothing to change\n", comment);
    }
    return add_lines(&sweep, settings, count, arena, out, err);
}
