/*
 * From axes as written to a grid of typed values, once the rows of the knobs are known: those of
 * the live server, or for the first pass our catalogue's. Every error names the line that it is
 * about.
 */
#include <string.h>

#include "knobs/catalogue.h"
#include "sweeper/sweepfile_node.h"

struct builder {
    struct reader reader;
    const struct sweep *sweep;
    const struct sweep_knob_row *rows;
    size_t row_count;
    const struct value_facts *facts;
    struct grid *grid;
};

/* A setting as some axis or point names it; the axis may declare what its knob is. */
struct mention {
    enum swept_kind kind;
    const char *name;
    int line;
    const struct sweep_axis *axis; /* NULL: of an exact point */
};

static bool fail(const struct builder *builder, int line, enum err_code code)
{
    builder->reader.err->code = code;
    return reader_at(&builder->reader, line);
}

/* ---- rows ---- */

static bool find_type(const char *name, enum knob_type *out)
{
    static const enum knob_type types[] = {KNOB_INTEGER, KNOB_REAL, KNOB_BOOL};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(knob_type_name(types[i]), name) == 0) {
            *out = types[i];
            return true;
        }
    }
    return false;
}

static bool find_unit(const char *name, enum unit *out)
{
    static const enum unit units[] = {UNIT_BYTES, UNIT_US, UNIT_PERCENT};
    *out = UNIT_NONE;
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (strcmp(unit_name(units[i]), name) == 0) {
            *out = units[i];
            return true;
        }
    }
    return strcmp(name, "none") == 0;
}

/* The row of a knob outside every catalogue, by the type and unit that its axis gives. */
static const struct knob *declare_knob(const struct builder *builder, const struct sweep_axis *axis)
{
    const struct reader *reader = &builder->reader;
    enum knob_type type = KNOB_TEXT;
    enum unit unit = UNIT_NONE;
    if (!find_type(axis->type, &type)) {
        reader_fail(reader, axis->line, "%.60s: type is integer, real or bool, not \"%.60s\"",
                    axis->name, axis->type);
        return NULL;
    }
    if (axis->unit == NULL && type != KNOB_BOOL) {
        reader_fail(reader, axis->line, "%.60s has a type and no unit", axis->name);
        err_hint(reader->err, "unit = \"none\", \"bytes\", \"us\" or \"percent\"");
        return NULL;
    }
    if (axis->unit != NULL && !find_unit(axis->unit, &unit)) {
        reader_fail(reader, axis->line, "%.60s: unit is none, bytes, us or percent, not \"%.60s\"",
                    axis->name, axis->unit);
        return NULL;
    }
    struct knob *knob = ARENA_NEW(reader->arena, struct knob);
    if (knob == NULL) {
        err_memory(reader->err);
        return NULL;
    }
    *knob = knob_unlisted(axis->name, type, unit, "declared in the sweep file", "the sweep file");
    return knob;
}

static const struct knob *fail_knob(const struct builder *builder, const struct mention *mention)
{
    const struct reader *reader = &builder->reader;
    const struct backend *backend = builder->sweep->backend;
    size_t count = 0;
    const struct knob *known = catalogue_knobs(backend->system, &count);
    const char *near = knob_nearest(known, count, mention->name);
    reader_fail(reader, mention->line, "%s has no knob \"%.80s\"", backend->title, mention->name);
    fail(builder, mention->line, ERR_CODE_knob_unknown);
    if (workload_knob(mention->name) != NULL) {
        err_hint(reader->err, "it is a setting of the workload: those stand in axes.workload");
    } else if (near != NULL) {
        reader_suggest(reader, near);
    } else {
        err_hint(reader->err, "a knob that no catalogue knows needs a type and a unit on its axis");
    }
    return NULL;
}

static const struct knob *find_workload(const struct builder *builder,
                                        const struct mention *mention)
{
    const struct reader *reader = &builder->reader;
    const struct knob *knob = workload_knob(mention->name);
    if (knob != NULL) {
        return knob;
    }
    bool is_key = key_find("workload", mention->name) != NULL;
    reader_fail(reader, mention->line,
                is_key ? "workload.%.80s is one for the whole sweep and cannot be varied"
                       : "the workload has no setting \"%.80s\"",
                mention->name);
    fail(builder, mention->line, ERR_CODE_knob_unknown);
    if (!is_key) {
        reader_suggest(reader, key_nearest("workload", mention->name));
    }
    return NULL;
}

/* The server's own row comes first. What it takes for free text only because nobody knows better,
 * the axis may declare. */
static const struct knob *find_knob(const struct builder *builder, const struct mention *mention)
{
    const struct sweep_axis *axis = mention->axis;
    size_t count = 0;
    const struct knob *known = catalogue_knobs(builder->sweep->backend->system, &count);
    const struct knob *knob = knob_find(known, count, mention->name);
    bool is_declared = axis != NULL && axis->type != NULL && knob == NULL;
    for (size_t i = 0; i < builder->row_count; i++) {
        const struct sweep_knob_row *row = &builder->rows[i];
        if (text_equal_nocase(row->name, mention->name) &&
            !(is_declared && row->knob->type == KNOB_TEXT)) {
            return row->knob;
        }
    }
    if (knob != NULL) {
        return knob;
    }
    return is_declared ? declare_knob(builder, axis) : fail_knob(builder, mention);
}

/* Index of the swept setting, which is added where it is new. */
static bool sweep_setting(const struct builder *builder, const struct mention *mention, size_t *out)
{
    struct grid *grid = builder->grid;
    *out = grid_swept_find(grid, mention->name);
    if (*out == SIZE_MAX) {
        const struct knob *knob = mention->kind == SWEPT_WORKLOAD ? find_workload(builder, mention)
                                                                  : find_knob(builder, mention);
        if (knob == NULL) {
            return false;
        }
        *out = grid_swept_find(grid, knob->name);
        if (*out == SIZE_MAX) {
            *out = grid->swept_count++;
            grid->swept[*out] =
                (struct swept){.kind = mention->kind, .knob = knob, .line = mention->line};
        }
    }
    if (grid->swept[*out].kind != mention->kind) {
        reader_fail(&builder->reader, mention->line,
                    "%.80s is varied both as a knob and as a setting of the workload",
                    mention->name);
        return err_hint(builder->reader.err, "rules and rankings could not tell them apart");
    }
    return true;
}

/* ---- values ---- */

/* What a trial would refuse is refused now: the value goes to the workload as it will then. */
static bool check_workload_value(const struct builder *builder, const struct knob *knob,
                                 const struct value *value, int line)
{
    const struct reader *reader = &builder->reader;
    struct workload_spec ignored = {.kind = NULL};
    if (value->kind == VALUE_UNSET || value->kind == VALUE_BASELINE) {
        reader_fail(reader, line, "%s: \"%s\" is for knobs", knob->name, value->asked);
        return err_hint(reader->err, "write the value itself");
    }
    const char *text = value_display(knob, value, reader->arena);
    if (text == NULL) {
        return err_memory(reader->err);
    }
    return workload_set(&ignored, knob->name, text, reader->arena, reader->err) ||
           reader_at(reader, line);
}

/* A time without its unit, which a knob's row would count in microseconds. */
static bool lacks_unit(const struct knob *knob, const char *text)
{
    int64_t number = 0;
    struct err ignored;
    return knob->unit == UNIT_US && units_parse_int(text, &number, &ignored) && number != 0;
}

static bool read_value(const struct builder *builder, const struct mention *mention, size_t swept,
                       const char *text, struct value *out)
{
    const struct reader *reader = &builder->reader;
    const struct knob *knob = builder->grid->swept[swept].knob;
    if (mention->kind == SWEPT_WORKLOAD && lacks_unit(knob, text)) {
        reader_fail(reader, mention->line, "%s = %.60s lacks a unit", knob->name, text);
        fail(builder, mention->line, ERR_CODE_number);
        return err_hint(reader->err, "write \"%.40ss\" for seconds", text);
    }
    if (!value_parse(knob, text, builder->facts, reader->arena, out, reader->err)) {
        return reader_at(reader, mention->line);
    }
    return mention->kind != SWEPT_WORKLOAD ||
           check_workload_value(builder, knob, out, mention->line);
}

static bool add_set(const struct builder *builder, const struct mention *mention, const char *text,
                    struct axis_choice *out)
{
    struct axis_set *set = &out->sets[out->set_count];
    if (!sweep_setting(builder, mention, &set->swept)) {
        return false;
    }
    for (size_t i = 0; i < out->set_count; i++) {
        if (out->sets[i].swept == set->swept) {
            return reader_fail(&builder->reader, mention->line, "%.80s is set twice",
                               mention->name);
        }
    }
    out->set_count++;
    return read_value(builder, mention, set->swept, text, &set->value);
}

static bool add_choice(const struct builder *builder, enum swept_kind kind,
                       const struct sweep_axis *axis, const struct sweep_choice *choice,
                       struct axis_choice *out)
{
    out->sets = ARENA_ARRAY(builder->reader.arena, struct axis_set, choice->count);
    if (out->sets == NULL) {
        return err_memory(builder->reader.err);
    }
    for (size_t i = 0; i < choice->count; i++) {
        const struct sweep_assignment *assignment = &choice->assignments[i];
        struct mention mention = {
            .kind = kind, .name = assignment->name, .line = assignment->line, .axis = axis};
        if (!add_set(builder, &mention, assignment->text, out)) {
            return false;
        }
    }
    return true;
}

/* ---- axes ---- */

static bool add_range(const struct builder *builder, const struct sweep_axis *axis,
                      struct axis *out)
{
    const struct reader *reader = &builder->reader;
    struct mention mention = {
        .kind = axis->kind, .name = axis->name, .line = axis->line, .axis = axis};
    struct value *values = NULL;
    struct value ignored;
    size_t swept = 0;
    if (!sweep_setting(builder, &mention, &swept) ||
        !read_value(builder, &mention, swept, axis->from, &ignored) ||
        !read_value(builder, &mention, swept, axis->to, &ignored)) {
        return false;
    }
    const struct knob *knob = builder->grid->swept[swept].knob;
    if (!grid_range(knob, axis->from, axis->to, axis->steps, axis->log_scale, builder->facts,
                    reader->arena, &values, &out->choice_count, reader->err)) {
        return reader_at(reader, axis->line);
    }
    out->choices = ARENA_ARRAY(reader->arena, struct axis_choice, out->choice_count);
    struct axis_set *sets = ARENA_ARRAY(reader->arena, struct axis_set, out->choice_count);
    if (out->choices == NULL || sets == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < out->choice_count; i++) {
        sets[i] = (struct axis_set){.swept = swept, .value = values[i]};
        out->choices[i] = (struct axis_choice){.sets = &sets[i], .set_count = 1};
        if (axis->kind == SWEPT_WORKLOAD &&
            !check_workload_value(builder, knob, &values[i], axis->line)) {
            return false;
        }
    }
    return true;
}

static bool add_values(const struct builder *builder, const struct sweep_axis *axis,
                       struct axis *out)
{
    out->choices = ARENA_ARRAY(builder->reader.arena, struct axis_choice, axis->choice_count);
    if (out->choices == NULL) {
        return err_memory(builder->reader.err);
    }
    for (size_t i = 0; i < axis->choice_count; i++) {
        if (!add_choice(builder, axis->kind, axis, &axis->choices[i], &out->choices[i])) {
            return false;
        }
        out->choice_count++;
    }
    return true;
}

/* Its setting's name in the catalogue's spelling, or those of all that it sets. */
static bool name_axis(const struct builder *builder, struct axis *axis)
{
    struct text name;
    bool *is_named = ARENA_ARRAY(builder->reader.arena, bool, builder->grid->swept_count);
    text_open(&name, builder->reader.arena);
    for (size_t i = 0; is_named != NULL && i < axis->choice_count; i++) {
        for (size_t j = 0; j < axis->choices[i].set_count; j++) {
            size_t swept = axis->choices[i].sets[j].swept;
            if (!is_named[swept]) {
                text_addf(&name, "%s%s", name.size > 0 ? "+" : "",
                          builder->grid->swept[swept].knob->name);
                is_named[swept] = true;
            }
        }
    }
    axis->name = text_done(&name);
    return (is_named != NULL && axis->name != NULL) || err_memory(builder->reader.err);
}

static bool add_axis(const struct builder *builder, const struct sweep_axis *axis)
{
    struct axis *out = &builder->grid->axes[builder->grid->axis_count];
    *out = (struct axis){.kind = axis->kind, .line = axis->line};
    bool is_read =
        axis->choices != NULL ? add_values(builder, axis, out) : add_range(builder, axis, out);
    if (!is_read || !name_axis(builder, out)) {
        return false;
    }
    builder->grid->axis_count++;
    return true;
}

static bool add_exact(const struct builder *builder, const struct sweep_choice *choice)
{
    struct grid *grid = builder->grid;
    return add_choice(builder, SWEPT_KNOB, NULL, choice, &grid->exact[grid->exact_count++]);
}

/* ---- rules ---- */

static bool check_name(void *context, const char *name, struct err *err)
{
    const struct builder *builder = context;
    const struct grid *grid = builder->grid;
    if (text_equal_nocase(name, "host.memory") || text_equal_nocase(name, "host.cpus") ||
        grid_swept_find(grid, name) != SIZE_MAX) {
        return true;
    }
    const char **names = ARENA_ARRAY(builder->reader.arena, const char *, grid->swept_count + 2);
    if (names == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < grid->swept_count; i++) {
        names[i] = grid->swept[i].knob->name;
    }
    names[grid->swept_count] = "host.memory";
    names[grid->swept_count + 1] = "host.cpus";
    const char *near = text_nearest(name, names, grid->swept_count + 2);
    err_set(err, ERR_CODE_rule, "\"%.80s\" is not swept: the rule cannot know it", name);
    return near != NULL
               ? reader_suggest(&builder->reader, near)
               : err_hint(err, "rules know what is swept, host.memory and host.cpus; texts stand "
                               "in quotes");
}

static bool add_rules(struct builder *builder)
{
    const struct sweep *sweep = builder->sweep;
    const struct reader *reader = &builder->reader;
    struct grid *grid = builder->grid;
    grid->rules = ARENA_ARRAY(reader->arena, struct rule *, sweep->rule_count);
    grid->rule_lines = ARENA_ARRAY(reader->arena, int, sweep->rule_count);
    if (grid->rules == NULL || grid->rule_lines == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < sweep->rule_count; i++) {
        if (!rule_parse(sweep->rules[i].text, reader->arena, &grid->rules[i], reader->err) ||
            !rule_names(grid->rules[i], check_name, builder, reader->err)) {
            return reader_at(reader, sweep->rules[i].line);
        }
        grid->rule_lines[grid->rule_count++] = sweep->rules[i].line;
    }
    return true;
}

/* ---- the grid ---- */

/* No more settings than assignments and ranges. */
static size_t count_settings(const struct sweep *sweep)
{
    size_t count = sweep->axis_count;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        for (size_t j = 0; j < sweep->axes[i].choice_count; j++) {
            count += sweep->axes[i].choices[j].count;
        }
    }
    for (size_t i = 0; i < sweep->exact_count; i++) {
        count += sweep->exact[i].count;
    }
    return count;
}

static bool add_all(struct builder *builder)
{
    const struct sweep *sweep = builder->sweep;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (!add_axis(builder, &sweep->axes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < sweep->exact_count; i++) {
        if (!add_exact(builder, &sweep->exact[i])) {
            return false;
        }
    }
    return add_rules(builder);
}

bool sweepfile_grid(const struct sweep *sweep, const struct sweep_knob_row *rows, size_t row_count,
                    const struct value_facts *facts, struct arena *arena, struct grid *out,
                    struct err *err)
{
    *out = (struct grid){.with_baseline = sweep->baseline};
    struct builder builder = {.reader = {.path = sweep->path, .arena = arena, .err = err},
                              .sweep = sweep,
                              .rows = rows,
                              .row_count = row_count,
                              .facts = facts,
                              .grid = out};
    out->file = reader_file(&builder.reader);
    out->swept = ARENA_ARRAY(arena, struct swept, count_settings(sweep));
    out->axes = ARENA_ARRAY(arena, struct axis, sweep->axis_count);
    out->exact = ARENA_ARRAY(arena, struct axis_choice, sweep->exact_count);
    return out->file != NULL && out->swept != NULL && out->axes != NULL && out->exact != NULL
               ? add_all(&builder)
               : err_memory(err);
}
