/*
 * Axes, exact points and rules: first as written, later, when the knobs' rows are known, as a
 * grid of typed values. Both spellings of an axis, as a group member and in the list form, mean
 * the same.
 */
#include <math.h>
#include <string.h>

#include "knobs/catalogue.h"
#include "sweeper/sweepfile_node.h"

/* ---- as written ---- */

static bool read_choice_group(const char *path, const struct node *group, struct arena *arena,
                              struct sweep_choice *out, struct err *err)
{
    if (!node_is_group(path, group, err)) {
        return false;
    }
    if (group->child_count == 0) {
        return node_err(path, group, err, "an empty combination sets nothing");
    }
    out->line = group->line;
    out->assignments = ARENA_ARRAY(arena, struct sweep_assignment, group->child_count);
    if (out->assignments == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < group->child_count; i++) {
        const struct node *node = &group->children[i];
        if (!node_is_scalar(path, node, err)) {
            return false;
        }
        out->assignments[out->count++] =
            (struct sweep_assignment){.name = node->name, .text = node->text, .line = node->line};
    }
    return true;
}

static bool read_choice_groups(const char *path, const struct node *list, struct arena *arena,
                               struct sweep_choice **out, size_t *out_count, struct err *err)
{
    if (!node_is_list(path, list, err)) {
        return false;
    }
    *out = ARENA_ARRAY(arena, struct sweep_choice, list->child_count + 1);
    *out_count = list->child_count;
    if (*out == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < list->child_count; i++) {
        if (!read_choice_group(path, &list->children[i], arena, &(*out)[i], err)) {
            return false;
        }
    }
    return list->child_count > 0 || node_err(path, list, err, "%s is empty", list->name);
}

static bool read_values(const char *path, const struct node *list, struct arena *arena,
                        struct sweep_axis *axis, struct err *err)
{
    const char *const *words = NULL;
    size_t count = 0;
    if (!sweepfile_words(path, list, arena, &words, err)) {
        return err_hint(err, "an axis needs at least one value");
    }
    while (words[count] != NULL) {
        count++;
    }
    axis->choices = ARENA_ARRAY(arena, struct sweep_choice, count);
    struct sweep_assignment *all = ARENA_ARRAY(arena, struct sweep_assignment, count);
    if (axis->choices == NULL || all == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        int line = list->child_count > i ? list->children[i].line : list->line;
        all[i] = (struct sweep_assignment){.name = axis->name, .text = words[i], .line = line};
        axis->choices[i] = (struct sweep_choice){.assignments = &all[i], .count = 1, .line = line};
    }
    axis->choice_count = count;
    return true;
}

static bool read_range(const char *path, const struct node *group, struct sweep_axis *axis,
                       struct err *err)
{
    const struct node *from = node_find(group, "from");
    const struct node *to = node_find(group, "to");
    const struct node *steps = node_find(group, "steps");
    const struct node *scale = node_find(group, "scale");
    if (from == NULL || to == NULL || steps == NULL) {
        node_err(path, group, err, "a range needs from, to and steps");
        return err_hint(err, "{ from = \"4M\"; to = \"64M\"; steps = 5; scale = \"log\"; }");
    }
    if (!node_is_scalar(path, from, err) || !node_is_scalar(path, to, err) ||
        !node_is_scalar(path, steps, err) || (scale != NULL && !node_is_scalar(path, scale, err))) {
        return false;
    }
    axis->from = from->text;
    axis->to = to->text;
    if (!units_parse_int(steps->text, &axis->steps, err) || axis->steps < 2 ||
        axis->steps > 10000) {
        return node_err(path, steps, err, "steps must be a whole number from 2 to 10000");
    }
    bool is_log = scale != NULL && strcmp(scale->text, "log") == 0;
    if (scale != NULL && !is_log && strcmp(scale->text, "linear") != 0) {
        return node_err(path, scale, err, "scale is \"linear\" or \"log\", not \"%s\"",
                        scale->text);
    }
    axis->log_scale = is_log;
    return true;
}

static bool check_axis_keys(const char *path, const struct node *group, struct err *err)
{
    static const char *const known[] = {"name",  "values", "from", "to",  "steps",
                                        "scale", "set",    "type", "unit"};
    for (size_t i = 0; i < group->child_count; i++) {
        const struct node *node = &group->children[i];
        bool found = false;
        for (size_t j = 0; j < COUNT_OF(known); j++) {
            found = found || strcmp(known[j], node->name) == 0;
        }
        if (!found) {
            const char *near = text_nearest(node->name, known, COUNT_OF(known));
            node_err(path, node, err, "an axis has no key \"%s\"", node->name);
            return near == NULL ? false : err_hint(err, "did you mean \"%s\"?", near);
        }
    }
    return true;
}

static bool read_text_key(const char *path, const struct node *group, const char *key,
                          const char **out, struct err *err)
{
    const struct node *node = node_find(group, key);
    if (node == NULL) {
        return true;
    }
    if (!node_is_scalar(path, node, err)) {
        return false;
    }
    *out = node->text;
    return true;
}

/* The body of an axis as a group: a range, values, or combinations. */
static bool read_axis_group(const char *path, const struct node *group, struct arena *arena,
                            struct sweep_axis *axis, struct err *err)
{
    const struct node *set = node_find(group, "set");
    const struct node *values = node_find(group, "values");
    if (!check_axis_keys(path, group, err) ||
        !read_text_key(path, group, "name", &axis->name, err) ||
        !read_text_key(path, group, "type", &axis->type, err) ||
        !read_text_key(path, group, "unit", &axis->unit, err)) {
        return false;
    }
    if (set != NULL) {
        axis->name = NULL;
        return read_choice_groups(path, set, arena, &axis->choices, &axis->choice_count, err);
    }
    if (axis->name == NULL) {
        return node_err(path, group, err, "this axis has no name");
    }
    return values != NULL ? read_values(path, values, arena, axis, err)
                          : read_range(path, group, axis, err);
}

static bool read_axis(const char *path, const struct node *node, enum swept_kind kind,
                      struct arena *arena, struct sweep_axis *axis, struct err *err)
{
    *axis = (struct sweep_axis){
        .kind = kind, .name = node->name[0] != '\0' ? node->name : NULL, .line = node->line};
    if (node->kind == NODE_GROUP) {
        return read_axis_group(path, node, arena, axis, err);
    }
    if (axis->name == NULL) {
        return node_err(path, node, err, "an axis in a list is a group with a name");
    }
    return read_values(path, node, arena, axis, err);
}

static bool read_axes_of(const char *path, const struct node *axes, const char *name,
                         enum swept_kind kind, struct sweep *sweep, struct arena *arena,
                         struct err *err)
{
    const struct node *node = node_find(axes, name);
    if (node == NULL) {
        return true;
    }
    if (kind == SWEPT_HOST) {
        node_err(path, node, err, "host axes are not available in this version");
        return err_hint(err, "remove axes.host; README.md lists what is not done yet");
    }
    if (node->kind != NODE_GROUP && node->kind != NODE_LIST) {
        return node_err(path, node, err, "%s must be a group or a list of axes", name);
    }
    for (size_t i = 0; i < node->child_count; i++) {
        if (!read_axis(path, &node->children[i], kind, arena, &sweep->axes[sweep->axis_count],
                       err)) {
            return false;
        }
        sweep->axis_count++;
    }
    return true;
}

static bool read_axes(const char *path, const struct node *axes, struct sweep *sweep,
                      struct arena *arena, struct err *err)
{
    size_t capacity = 1;
    if (!node_is_group(path, axes, err)) {
        return false;
    }
    for (size_t i = 0; i < axes->child_count; i++) {
        const struct node *node = &axes->children[i];
        if (strcmp(node->name, "knobs") != 0 && strcmp(node->name, "workload") != 0 &&
            strcmp(node->name, "host") != 0) {
            node_err(path, node, err, "axes has no part \"%s\"", node->name);
            return err_hint(err, "its parts are knobs, workload and host");
        }
        capacity += node->child_count;
    }
    sweep->axes = ARENA_ARRAY(arena, struct sweep_axis, capacity);
    if (sweep->axes == NULL) {
        return err_memory(err);
    }
    return read_axes_of(path, axes, "knobs", SWEPT_KNOB, sweep, arena, err) &&
           read_axes_of(path, axes, "workload", SWEPT_WORKLOAD, sweep, arena, err) &&
           read_axes_of(path, axes, "host", SWEPT_HOST, sweep, arena, err);
}

static bool read_rules(const char *path, const struct node *list, struct sweep *sweep,
                       struct arena *arena, struct err *err)
{
    const char *const *words = NULL;
    size_t count = 0;
    if (list->child_count == 0 && list->kind == NODE_LIST) {
        return true;
    }
    if (!sweepfile_words(path, list, arena, &words, err)) {
        return false;
    }
    while (words[count] != NULL) {
        count++;
    }
    sweep->rules = ARENA_ARRAY(arena, struct sweep_rule, count);
    if (sweep->rules == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        sweep->rules[i] = (struct sweep_rule){
            .text = words[i], .line = i < list->child_count ? list->children[i].line : list->line};
    }
    sweep->rule_count = count;
    return true;
}

/* Without the server, axes are already read against the catalogue, so that a typing error is
 * found even when the server is down. Knobs that only the server may know are left to the probe. */
bool sweepfile_axes(const char *path, const struct node *root, struct sweep *sweep,
                    struct arena *arena, struct err *err)
{
    const struct node *axes = node_find(root, "axes");
    const struct node *points = node_find(root, "points");
    const struct node *rules = node_find(root, "rules");
    if (axes != NULL && !read_axes(path, axes, sweep, arena, err)) {
        return false;
    }
    if (points != NULL &&
        !read_choice_groups(path, points, arena, &sweep->exact, &sweep->exact_count, err)) {
        return false;
    }
    if (rules != NULL && !read_rules(path, rules, sweep, arena, err)) {
        return false;
    }
    if (sweep->axis_count == 0 && sweep->exact_count == 0) {
        err_set(err, ERR_CODE_grid, "nothing is varied: there are neither axes nor points");
        err_origin(err, "%s", path);
        return err_hint(err, "axes = { knobs = { work_mem = [ \"4MB\", \"64MB\" ]; }; };");
    }
    return true;
}

/* ---- as a grid ---- */

struct grid_builder {
    const struct sweep *sweep;
    const struct sweep_knob_row *rows;
    size_t row_count;
    const struct value_facts *facts;
    struct arena *arena;
    struct grid *grid;
};

static bool at_line(const struct grid_builder *builder, int line, struct err *err)
{
    return err_origin(err, "%s:%d", builder->sweep->path, line);
}

/* The row that an explicit type and unit make for a knob outside every catalogue. */
static const struct knob *explicit_row(const struct grid_builder *builder,
                                       const struct sweep_axis *axis, struct err *err)
{
    static const struct {
        const char *name;
        enum knob_type type;
    } types[] = {{"integer", KNOB_INTEGER}, {"real", KNOB_REAL}, {"bool", KNOB_BOOL}};
    static const struct {
        const char *name;
        enum unit unit;
    } units[] = {
        {"none", UNIT_NONE}, {"bytes", UNIT_BYTES}, {"us", UNIT_US}, {"percent", UNIT_PERCENT}};
    struct knob *knob = ARENA_NEW(builder->arena, struct knob);
    size_t type = 0;
    size_t unit = 0;
    while (type < COUNT_OF(types) && strcmp(types[type].name, axis->type) != 0) {
        type++;
    }
    while (unit < COUNT_OF(units) && axis->unit != NULL &&
           strcmp(units[unit].name, axis->unit) != 0) {
        unit++;
    }
    if (knob == NULL || type == COUNT_OF(types) || unit == COUNT_OF(units)) {
        err_set(err, ERR_CODE_sweep_file, "type \"%s\" or unit \"%s\" is not known", axis->type,
                axis->unit != NULL ? axis->unit : "none");
        err_hint(err, "types: integer, real, bool; units: none, bytes, us, percent");
        at_line(builder, axis->line, err);
        return NULL;
    }
    *knob = (struct knob){.name = axis->name,
                          .type = types[type].type,
                          .unit = units[unit].unit,
                          .bare = 1,
                          .min = -INFINITY,
                          .max = INFINITY,
                          .specials = "",
                          .choices = "",
                          .apply = KNOB_RESTART,
                          .durability = "",
                          .versions = "",
                          .sentence = "declared in the sweep file",
                          .source = "the sweep file",
                          .danger = ""};
    return knob;
}

static const struct knob *find_knob(const struct grid_builder *builder, enum swept_kind kind,
                                    const char *name, const struct sweep_axis *axis, int line,
                                    struct err *err)
{
    const char *near = NULL;
    if (kind == SWEPT_WORKLOAD) {
        const struct knob *knob = workload_knob(name);
        if (knob == NULL) {
            err_set(err, ERR_CODE_knob_unknown, "the workload has no setting \"%s\"", name);
            at_line(builder, line, err);
        }
        return knob;
    }
    for (size_t i = 0; i < builder->row_count; i++) {
        if (text_equal_nocase(builder->rows[i].name, name)) {
            return builder->rows[i].knob;
        }
    }
    size_t count = 0;
    const struct knob *known = catalogue_knobs(builder->sweep->backend->system, &count);
    const struct knob *knob = knob_find(known, count, name);
    if (knob != NULL) {
        return knob;
    }
    if (axis != NULL && axis->type != NULL) {
        return explicit_row(builder, axis, err);
    }
    near = knob_nearest(known, count, name);
    err_set(err, ERR_CODE_knob_unknown, "%s has no knob \"%s\"", builder->sweep->backend->title,
            name);
    err_hint(err,
             near != NULL ? "did you mean \"%s\"?"
                          : "%s: give type and unit if the server knows it",
             near != NULL ? near : name);
    at_line(builder, line, err);
    return NULL;
}

/* Index of the swept setting, added when new. SIZE_MAX: err says why. */
static size_t swept_index(const struct grid_builder *builder, enum swept_kind kind,
                          const char *name, const struct sweep_axis *axis, int line,
                          struct err *err)
{
    struct grid *grid = builder->grid;
    const struct knob *knob = find_knob(builder, kind, name, axis, line, err);
    if (knob == NULL) {
        return SIZE_MAX;
    }
    size_t found = grid_swept_find(grid, knob->name);
    if (found != SIZE_MAX) {
        return found;
    }
    grid->swept[grid->swept_count] = (struct swept){.kind = kind, .knob = knob, .line = line};
    return grid->swept_count++;
}

static bool add_choice(const struct grid_builder *builder, enum swept_kind kind,
                       const struct sweep_axis *axis, const struct sweep_choice *choice,
                       struct axis_choice *out, struct err *err)
{
    out->sets = ARENA_ARRAY(builder->arena, struct axis_set, choice->count);
    if (out->sets == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < choice->count; i++) {
        const struct sweep_assignment *assignment = &choice->assignments[i];
        size_t at = swept_index(builder, kind, assignment->name, axis, assignment->line, err);
        if (at == SIZE_MAX) {
            return false;
        }
        out->sets[i].swept = at;
        if (!value_parse(builder->grid->swept[at].knob, assignment->text, builder->facts,
                         builder->arena, &out->sets[i].value, err)) {
            return at_line(builder, assignment->line, err);
        }
        out->set_count++;
    }
    return true;
}

static bool add_range(const struct grid_builder *builder, const struct sweep_axis *axis,
                      struct axis *out, struct err *err)
{
    struct value *values = NULL;
    size_t at = swept_index(builder, axis->kind, axis->name, axis, axis->line, err);
    if (at == SIZE_MAX) {
        return false;
    }
    if (!grid_range(builder->grid->swept[at].knob, axis->from, axis->to, axis->steps,
                    axis->log_scale, builder->facts, builder->arena, &values, &out->choice_count,
                    err)) {
        return at_line(builder, axis->line, err);
    }
    out->choices = ARENA_ARRAY(builder->arena, struct axis_choice, out->choice_count);
    struct axis_set *sets = ARENA_ARRAY(builder->arena, struct axis_set, out->choice_count);
    if (out->choices == NULL || sets == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < out->choice_count; i++) {
        sets[i] = (struct axis_set){.swept = at, .value = values[i]};
        out->choices[i] = (struct axis_choice){.sets = &sets[i], .set_count = 1};
    }
    return true;
}

static bool name_axis(const struct grid_builder *builder, const struct sweep_axis *axis,
                      struct axis *out, struct err *err)
{
    struct text name;
    out->name = axis->name;
    if (axis->name == NULL) {
        text_open(&name, builder->arena);
        for (size_t i = 0; i < axis->choices[0].count; i++) {
            text_addf(&name, "%s%s", i > 0 ? "+" : "", axis->choices[0].assignments[i].name);
        }
        out->name = text_done(&name);
    }
    return out->name != NULL || err_memory(err);
}

static bool add_axis(const struct grid_builder *builder, const struct sweep_axis *axis,
                     struct axis *out, struct err *err)
{
    *out = (struct axis){.kind = axis->kind, .line = axis->line};
    if (!name_axis(builder, axis, out, err)) {
        return false;
    }
    if (axis->choices == NULL) {
        return add_range(builder, axis, out, err);
    }
    out->choices = ARENA_ARRAY(builder->arena, struct axis_choice, axis->choice_count);
    if (out->choices == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < axis->choice_count; i++) {
        if (!add_choice(builder, axis->kind, axis, &axis->choices[i], &out->choices[i], err)) {
            return false;
        }
        out->choice_count++;
    }
    return true;
}

static size_t count_settings(const struct sweep *sweep)
{
    size_t count = sweep->axis_count + 1;
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

static bool add_rules(const struct grid_builder *builder, struct err *err)
{
    const struct sweep *sweep = builder->sweep;
    struct grid *grid = builder->grid;
    grid->rules = ARENA_ARRAY(builder->arena, struct rule *, sweep->rule_count + 1);
    if (grid->rules == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < sweep->rule_count; i++) {
        if (!rule_parse(sweep->rules[i].text, builder->arena, &grid->rules[i], err)) {
            return at_line(builder, sweep->rules[i].line, err);
        }
        grid->rule_count++;
    }
    return true;
}

bool sweepfile_grid(const struct sweep *sweep, const struct sweep_knob_row *rows, size_t row_count,
                    const struct value_facts *facts, struct arena *arena, struct grid *out,
                    struct err *err)
{
    *out = (struct grid){.with_baseline = sweep->baseline};
    struct grid_builder builder = {.sweep = sweep,
                                   .rows = rows,
                                   .row_count = row_count,
                                   .facts = facts,
                                   .arena = arena,
                                   .grid = out};
    out->swept = ARENA_ARRAY(arena, struct swept, count_settings(sweep));
    out->axes = ARENA_ARRAY(arena, struct axis, sweep->axis_count + 1);
    out->exact = ARENA_ARRAY(arena, struct axis_choice, sweep->exact_count + 1);
    if (out->swept == NULL || out->axes == NULL || out->exact == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < sweep->axis_count; i++) {
        if (!add_axis(&builder, &sweep->axes[i], &out->axes[i], err)) {
            return false;
        }
        out->axis_count++;
    }
    for (size_t i = 0; i < sweep->exact_count; i++) {
        if (!add_choice(&builder, SWEPT_KNOB, NULL, &sweep->exact[i], &out->exact[i], err)) {
            return false;
        }
        out->exact_count++;
    }
    return add_rules(&builder, err);
}
