/*
 * Emits a point through the backend's own renderer, applied to an empty file, or as its own
 * statements: what is printed is exactly what a trial wrote. Every comment is one line, whatever
 * the names in it hold.
 */
#include "sweeper/emit.h"

#include <math.h>
#include <string.h>

#include "backends/backend.h"
#include "knobs/catalogue.h"
#include "store/layout.h"
#include "sweeper/base/clock.h"

enum { COMMENT_WIDTH = 400 };

struct emission {
    struct store_sweep sweep;
    struct rank_table table;
    const struct rank_row *row;
    const struct backend *backend;
    const char *comment; /* what begins one */
    struct arena *arena;
    struct text *out;
};

/* ---- which point ---- */

static bool stands_for(const struct rank_row *row, int64_t point)
{
    for (size_t i = 0; i < row->point_count; i++) {
        if (row->points[i] == point) {
            return true;
        }
    }
    return false;
}

static bool choose_row(struct emission *emission, const char *which, struct err *err)
{
    int64_t wanted = 0;
    bool is_best = strcmp(which, "best") == 0;
    if (!is_best && !units_parse_int(which, &wanted, err)) {
        return err_hint(err, "name a point by its number in `dbsweep rank`, or \"best\"");
    }
    for (size_t i = 0; i < emission->table.row_count; i++) {
        const struct rank_row *row = &emission->table.rows[i];
        if (is_best ? row->rank == 1 : stands_for(row, wanted)) {
            emission->row = row;
            return true;
        }
    }
    err_set(err, ERR_CODE_not_found, is_best ? "nothing is ranked yet" : "no point %s was measured",
            which);
    return err_hint(err, "`dbsweep rank` and `dbsweep status` say what there is");
}

/* ---- comments ---- */

static void add_comment(struct emission *emission, const struct text *words)
{
    const char *line =
        words->data != NULL ? layout_line(emission->arena, words->data, COMMENT_WIDTH) : "";
    emission->out->failed = emission->out->failed || words->failed || line == NULL;
    text_addf(emission->out, "%s %s\n", emission->comment, line != NULL ? line : "");
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

static void add_condition(struct text *words, const struct rank_row *row)
{
    for (size_t i = 0; i < row->condition_count; i++) {
        text_addf(words, "%s%s=%s", i > 0 ? " " : " under ", row->condition[i].name,
                  row->condition[i].display);
    }
}

static void add_origin(struct emission *emission)
{
    const struct store_sweep *sweep = &emission->sweep;
    struct text words;
    char now[40];
    clock_format_wall(clock_wall_us(), now, sizeof now);
    text_open(&words, emission->arena);
    text_addf(&words, "sweep \"%s\" of %s, %s %s; point %lld", sweep->name, sweep->target_label,
              sweep->product, sweep->version, (long long)emission->row->point_id);
    add_condition(&words, emission->row);
    text_addf(&words, "; %d trial%s; written %s", emission->row->trials,
              emission->row->trials == 1 ? "" : "s", now);
    add_comment(emission, &words);
}

static void add_result(struct emission *emission)
{
    const struct rank_row *row = emission->row;
    const struct rank_metric *metric = metric_of(row, emission->table.by);
    char mean[LAYOUT_NUMBER_SIZE];
    char low[LAYOUT_NUMBER_SIZE];
    char high[LAYOUT_NUMBER_SIZE];
    struct text words;
    text_open(&words, emission->arena);
    if (metric != NULL) {
        layout_figure(metric->mean, mean);
        layout_figure(metric->low, low);
        layout_figure(metric->high, high);
        text_addf(&words, "%s: %s", emission->table.by, mean);
        if (isfinite(metric->low)) {
            text_addf(&words, " (%s to %s)", low, high);
        } else {
            text_add(&words, " (no interval is claimed)");
        }
    }
    if (row->has_versus && !row->baseline) {
        bool is_expected = rank_has_word(row->flags, "unconfirmed") && isfinite(row->expected_pct);
        layout_signed(is_expected ? row->expected_pct : row->versus_mean_pct, 1, mean);
        text_addf(&words, ", %s %% against the baseline%s", mean,
                  is_expected ? " to be expected" : "");
    }
    text_add(&words, row->tied ? "; it cannot be told from others" : "");
    text_add(&words, rank_has_word(row->flags, "unconfirmed") ? "; unconfirmed" : "");
    if (words.size > 0) {
        add_comment(emission, &words);
    }
    if (row->reason != NULL) {
        text_open(&words, emission->arena);
        text_addf(&words, "it has no rank: %s", row->reason);
        add_comment(emission, &words);
    }
}

static bool same_condition(const struct rank_row *a, const struct rank_row *b)
{
    for (size_t i = 0; i < a->condition_count && i < b->condition_count; i++) {
        if (strcmp(a->condition[i].canonical, b->condition[i].canonical) != 0) {
            return false;
        }
    }
    return a->condition_count == b->condition_count;
}

/* "best" is that of the first condition: what is best under the others is said. */
static void add_other_best(struct emission *emission)
{
    for (size_t i = 1; i < emission->table.row_count; i++) {
        const struct rank_row *row = &emission->table.rows[i];
        if (row->rank == 1 && !same_condition(row, &row[-1])) {
            struct text words;
            text_open(&words, emission->arena);
            text_add(&words, "others may want another:");
            add_condition(&words, row);
            text_addf(&words, " the best is point %lld", (long long)row->point_id);
            add_comment(emission, &words);
        }
    }
}

static void add_unset(struct emission *emission, const struct setting *setting)
{
    struct text words;
    text_open(&words, emission->arena);
    text_addf(&words, "%s is unset: without a line of its own", setting->knob->name);
    add_comment(emission, &words);
}

/* ---- settings ---- */

/* A knob that our catalogue lacks is what the sweep declared it to be. */
static const struct knob *declared_knob(const struct rank_pair *asked, struct arena *arena)
{
    struct knob *knob = ARENA_NEW(arena, struct knob);
    if (knob == NULL) {
        return NULL;
    }
    *knob = (struct knob){.name = asked->name,
                          .type = asked->has_number ? KNOB_INTEGER : KNOB_TEXT,
                          .bare = 1,
                          .min = -INFINITY,
                          .max = INFINITY,
                          .specials = "",
                          .choices = "",
                          .durability = "",
                          .versions = "",
                          .sentence = "",
                          .source = "",
                          .danger = ""};
    for (int type = KNOB_INTEGER; type <= KNOB_TEXT; type++) {
        bool is_it = strcmp(knob_type_name((enum knob_type)type), asked->type) == 0;
        knob->type = is_it ? (enum knob_type)type : knob->type;
    }
    for (int unit = UNIT_NONE; unit <= UNIT_PERCENT; unit++) {
        bool is_it = strcmp(unit_name((enum unit)unit), asked->unit) == 0;
        knob->unit = is_it ? (enum unit)unit : knob->unit;
    }
    return knob;
}

/* From the canonical text, which needs no catalogue: a server's own may allow more than ours. */
static void set_value(const struct knob *knob, const struct rank_pair *asked, struct value *out)
{
    struct err err;
    err_clear(&err);
    *out = (struct value){.text = asked->canonical, .asked = asked->display};
    if (strcmp(asked->canonical, "unset") == 0) {
        out->kind = VALUE_UNSET;
    } else if (!asked->has_number || knob->type == KNOB_TEXT || knob->type == KNOB_ENUM) {
        out->kind = VALUE_TEXT;
    } else if (units_parse_int(asked->canonical, &out->integer, &err)) {
        out->kind = VALUE_INTEGER;
    } else if (knob->type == KNOB_BOOL) {
        out->kind = VALUE_INTEGER;
        out->integer = asked->number != 0;
    } else {
        out->kind = VALUE_REAL;
        out->real = asked->number;
    }
    out->text = out->kind == VALUE_TEXT ? out->text : NULL;
}

/* What stays as found is left out. */
static bool read_settings(struct emission *emission, struct setting **out, size_t *out_count,
                          struct err *err)
{
    const struct rank_row *row = emission->row;
    size_t knob_count = 0;
    const struct knob *knobs = catalogue_knobs(emission->backend->system, &knob_count);
    struct setting *settings = ARENA_ARRAY(emission->arena, struct setting, row->asked_count + 1);
    *out_count = 0;
    for (size_t i = 0; settings != NULL && i < row->asked_count; i++) {
        const struct rank_pair *asked = &row->asked[i];
        if (strcmp(asked->canonical, "baseline") == 0) {
            continue;
        }
        struct setting *setting = &settings[(*out_count)++];
        setting->knob = knob_find(knobs, knob_count, asked->name);
        if (setting->knob == NULL) {
            setting->knob = declared_knob(asked, emission->arena);
        }
        if (setting->knob == NULL) {
            return err_memory(err);
        }
        set_value(setting->knob, asked, &setting->value);
    }
    *out = settings;
    return settings != NULL || err_memory(err);
}

static bool add_lines(struct emission *emission, const struct setting *settings, size_t count,
                      struct err *err)
{
    const struct backend *backend = emission->backend;
    struct server server = {.backend = backend,
                            .arena = emission->arena,
                            .facts = {.config_path = "the emitted lines"}};
    struct bytes lines = {0};
    const char *statements = NULL;
    if (backend->render != NULL) {
        if (!backend->render(&server, (struct bytes){.data = "", .size = 0}, settings, count,
                             emission->arena, &lines, err)) {
            return false;
        }
        text_add_bytes(emission->out, lines.data, lines.size);
        return true;
    }
    if (backend->statements == NULL) {
        return err_set(err, ERR_CODE_unsupported, "points of %s cannot be emitted", backend->title);
    }
    if (!backend->statements(settings, count, emission->arena, &statements, err)) {
        return false;
    }
    text_add(emission->out, statements);
    return true;
}

bool emit_point(struct store *store, const char *which, struct arena *arena, struct text *out,
                struct err *err)
{
    struct emission emission = {.arena = arena, .out = out};
    struct setting *settings = NULL;
    size_t count = 0;
    struct rank_options options = {0};
    if (!store_sweep_latest(store, arena, &emission.sweep, err) ||
        !rank_compute(store, &options, arena, &emission.table, err) ||
        !choose_row(&emission, which, err)) {
        return false;
    }
    emission.backend = backend_find(emission.sweep.backend);
    if (emission.backend == NULL) {
        return err_set(err, ERR_CODE_unsupported, "this program has no backend \"%s\"",
                       emission.sweep.backend);
    }
    emission.comment = emission.backend->render != NULL ? "#" : "--";
    if (!read_settings(&emission, &settings, &count, err)) {
        return false;
    }
    add_origin(&emission);
    add_result(&emission);
    if (strcmp(which, "best") == 0) {
        add_other_best(&emission);
    }
    if (count == 0) {
        text_addf(out, "%s the baseline: nothing to change\n", emission.comment);
    }
    for (size_t i = 0; i < count; i++) {
        if (settings[i].value.kind == VALUE_UNSET) {
            add_unset(&emission, &settings[i]);
        }
    }
    return add_lines(&emission, settings, count, err) && (!out->failed || err_memory(err));
}
