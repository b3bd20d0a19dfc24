/*
 * Axes, exact points and rules as they are written. An axis as a member of a group and one in a
 * list come out the same. What their values mean is known only with the rows of the knobs:
 * sweepfile_grid.c.
 */
#include <string.h>

#include "sweeper/sweepfile_node.h"

/* ---- combinations and values ---- */

static bool read_choice(const struct reader *reader, const struct node *group,
                        struct sweep_choice *out)
{
    if (!node_is_group(reader, group)) {
        return false;
    }
    out->line = group->line;
    out->assignments = ARENA_ARRAY(reader->arena, struct sweep_assignment, group->child_count);
    if (out->assignments == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < group->child_count; i++) {
        const struct node *node = &group->children[i];
        if (!node_is_text(reader, node)) {
            return false;
        }
        out->assignments[out->count++] =
            (struct sweep_assignment){.name = node->name, .text = node->text, .line = node->line};
    }
    return true;
}

/* Names with dots or brackets are no names to libconfig: in their place a combination is a list
 * of groups that name a knob and its value. */
static bool read_choice_list(const struct reader *reader, const struct node *list,
                             struct sweep_choice *out)
{
    out->line = list->line;
    out->assignments = ARENA_ARRAY(reader->arena, struct sweep_assignment, list->child_count);
    if (out->assignments == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < list->child_count; i++) {
        const struct node *group = &list->children[i];
        const struct node *name = node_find(group, "name");
        const struct node *value = node_find(group, "value");
        if (group->kind != NODE_GROUP || name == NULL || value == NULL || group->child_count != 2 ||
            name->text == NULL || value->text == NULL) {
            reader_fail(reader, group->line, "in a list, a setting is a name and a value");
            return err_hint(reader->err, "( { name = \"a.b\"; value = 1; }, ... )");
        }
        out->assignments[out->count++] =
            (struct sweep_assignment){.name = name->text, .text = value->text, .line = group->line};
    }
    return true;
}

static bool read_choices(const struct reader *reader, const struct node *list,
                         struct sweep_choice **out, size_t *out_count)
{
    if (!node_is_list(reader, list)) {
        return false;
    }
    *out = ARENA_ARRAY(reader->arena, struct sweep_choice, list->child_count);
    if (*out == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < list->child_count; i++) {
        const struct node *node = &list->children[i];
        bool is_read = node->kind == NODE_LIST ? read_choice_list(reader, node, &(*out)[i])
                                               : read_choice(reader, node, &(*out)[i]);
        if (!is_read) {
            return false;
        }
        if ((*out)[i].count == 0) {
            return reader_fail(reader, node->line, "%.120s holds an empty combination",
                               list->where);
        }
    }
    *out_count = list->child_count;
    return list->child_count > 0 || reader_fail(reader, list->line, "%.120s is empty", list->where);
}

static bool read_values(const struct reader *reader, const struct node *node,
                        struct sweep_axis *axis)
{
    bool is_one = node->text != NULL;
    size_t count = is_one ? 1 : node->child_count;
    if (!is_one && !node_is_list(reader, node)) {
        return false;
    }
    if (count == 0) {
        reader_fail(reader, node->line, "%.120s has no values", node->where);
        return err_hint(reader->err, "leave the axis out, or give it at least one value");
    }
    axis->choices = ARENA_ARRAY(reader->arena, struct sweep_choice, count);
    struct sweep_assignment *all = ARENA_ARRAY(reader->arena, struct sweep_assignment, count);
    if (axis->choices == NULL || all == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct node *value = is_one ? node : &node->children[i];
        if (!node_is_text(reader, value)) {
            return false;
        }
        all[i] =
            (struct sweep_assignment){.name = axis->name, .text = value->text, .line = value->line};
        axis->choices[i] =
            (struct sweep_choice){.assignments = &all[i], .count = 1, .line = value->line};
    }
    axis->choice_count = count;
    return true;
}

/* ---- an axis ---- */

static bool read_steps(const struct reader *reader, const struct node *node, int64_t *out)
{
    enum { STEP_LIMIT = 10000 };
    struct err ignored;
    if (!node_is_text(reader, node)) {
        return false;
    }
    return (units_parse_int(node->text, out, &ignored) && *out >= 2 && *out <= STEP_LIMIT) ||
           reader_fail(reader, node->line, "steps is a whole number of 2..%d, not \"%.60s\"",
                       STEP_LIMIT, node->text);
}

static bool read_scale(const struct reader *reader, const struct node *node, bool *out_log)
{
    if (node == NULL) {
        return true;
    }
    if (!node_is_text(reader, node)) {
        return false;
    }
    *out_log = strcmp(node->text, "log") == 0;
    return *out_log || strcmp(node->text, "linear") == 0 ||
           reader_fail(reader, node->line, "scale is linear or log, not \"%.60s\"", node->text);
}

static bool read_range(const struct reader *reader, const struct node *group,
                       struct sweep_axis *axis)
{
    const struct node *from = node_find(group, "from");
    const struct node *to = node_find(group, "to");
    const struct node *steps = node_find(group, "steps");
    if (from == NULL || to == NULL || steps == NULL) {
        reader_fail(reader, group->line,
                    from == NULL && to == NULL && steps == NULL
                        ? "this axis has neither values nor a range"
                        : "a range has from, to and steps");
        return err_hint(reader->err,
                        "{ from = \"4M\"; to = \"64M\"; steps = 5; scale = \"log\"; }");
    }
    if (!node_is_text(reader, from) || !node_is_text(reader, to)) {
        return false;
    }
    axis->from = from->text;
    axis->to = to->text;
    return read_steps(reader, steps, &axis->steps) &&
           read_scale(reader, node_find(group, "scale"), &axis->log_scale);
}

/* Keys that mean nothing beside another would be a misunderstanding. */
static bool check_form(const struct reader *reader, const struct node *group, const char *form)
{
    static const char *const strangers[][8] = {
        {"set", "values", "from", "to", "steps", "scale", "type", "unit"},
        {"values", "from", "to", "steps", "scale"}};
    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        for (size_t j = 1; strcmp(strangers[i][0], form) == 0 && j < COUNT_OF(strangers[i]) &&
                           strangers[i][j] != NULL;
             j++) {
            const struct node *stranger = node_find(group, strangers[i][j]);
            if (stranger != NULL) {
                return reader_fail(reader, stranger->line, "%s means nothing beside %s",
                                   stranger->name, form);
            }
        }
    }
    return true;
}

static bool read_word(const struct reader *reader, const struct node *node, const char **out)
{
    if (node == NULL) {
        return true;
    }
    if (!node_is_text(reader, node)) {
        return false;
    }
    *out = node->text;
    return node->text[0] != '\0' || reader_fail(reader, node->line, "%s is empty", node->name);
}

/* In a list an axis has a name; in a group its name stands before it. */
static bool read_name(const struct reader *reader, const struct node *group,
                      struct sweep_axis *axis)
{
    const struct node *name = node_find(group, "name");
    if (name != NULL && axis->name != NULL) {
        reader_fail(reader, name->line, "the name of this axis is %.60s already", axis->name);
        return err_hint(reader->err, "axes with a name of their own stand in a list ( ... )");
    }
    return read_word(reader, name, &axis->name);
}

static bool read_axis_group(const struct reader *reader, const struct node *group,
                            struct sweep_axis *axis)
{
    const struct node *set = node_find(group, "set");
    const struct node *values = node_find(group, "values");
    if (!check_keys(reader, "axis", group) || !read_name(reader, group, axis) ||
        !read_word(reader, node_find(group, "type"), &axis->type) ||
        !read_word(reader, node_find(group, "unit"), &axis->unit)) {
        return false;
    }
    if (set != NULL) {
        axis->name = NULL; /* whatever it was called: its settings name it */
        return check_form(reader, group, "set") &&
               read_choices(reader, set, &axis->choices, &axis->choice_count);
    }
    if (axis->name == NULL) {
        reader_fail(reader, group->line, "this axis has no name");
        return err_hint(reader->err, "{ name = \"work_mem\"; values = [ \"4MB\", \"64MB\" ]; }");
    }
    return values != NULL ? check_form(reader, group, "values") && read_values(reader, values, axis)
                          : read_range(reader, group, axis);
}

static bool read_axis(const struct reader *reader, const struct node *node, enum swept_kind kind,
                      struct sweep_axis *axis)
{
    *axis = (struct sweep_axis){
        .kind = kind, .name = node->name[0] != '\0' ? node->name : NULL, .line = node->line};
    if (node->kind == NODE_GROUP) {
        return read_axis_group(reader, node, axis);
    }
    if (axis->name == NULL) {
        reader_fail(reader, node->line, "in a list, an axis is a group with a name");
        return err_hint(reader->err, "{ name = \"work_mem\"; values = [ \"4MB\", \"64MB\" ]; }");
    }
    return read_values(reader, node, axis);
}

/* ---- all of them ---- */

static bool read_axes_of(const struct reader *reader, const struct node *node, enum swept_kind kind)
{
    struct sweep *sweep = reader->sweep;
    if (node == NULL) {
        return true;
    }
    if (node->kind != NODE_GROUP && !node_is_list(reader, node)) {
        return false;
    }
    for (size_t i = 0; i < node->child_count; i++) {
        if (!read_axis(reader, &node->children[i], kind, &sweep->axes[sweep->axis_count])) {
            return false;
        }
        sweep->axis_count++;
    }
    return true;
}

static bool read_product(const struct reader *reader, const struct node *axes)
{
    size_t capacity = 0;
    if (axes == NULL) {
        return true;
    }
    if (!node_is_group(reader, axes) || !check_keys(reader, "axes", axes)) {
        return false;
    }
    for (size_t i = 0; i < axes->child_count; i++) {
        capacity += axes->children[i].child_count;
    }
    reader->sweep->axes = ARENA_ARRAY(reader->arena, struct sweep_axis, capacity);
    if (reader->sweep->axes == NULL) {
        return err_memory(reader->err);
    }
    return read_axes_of(reader, node_find(axes, "knobs"), SWEPT_KNOB) &&
           read_axes_of(reader, node_find(axes, "workload"), SWEPT_WORKLOAD);
}

static bool read_rules(const struct reader *reader, const struct node *list)
{
    struct sweep *sweep = reader->sweep;
    if (list == NULL) {
        return true;
    }
    if (!node_is_list(reader, list)) {
        return false;
    }
    sweep->rules = ARENA_ARRAY(reader->arena, struct sweep_rule, list->child_count);
    if (sweep->rules == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < list->child_count; i++) {
        const struct node *node = &list->children[i];
        struct rule *rule = NULL;
        if (!node_is_text(reader, node)) {
            return false;
        }
        if (!rule_parse(node->text, reader->arena, &rule, reader->err)) {
            return reader_at(reader, node->line);
        }
        sweep->rules[sweep->rule_count++] =
            (struct sweep_rule){.text = node->text, .line = node->line};
    }
    return true;
}

bool read_axes(const struct reader *reader, const struct node *root)
{
    struct sweep *sweep = reader->sweep;
    const struct node *points = node_find(root, "points");
    if (!read_product(reader, node_find(root, "axes")) ||
        (points != NULL && !read_choices(reader, points, &sweep->exact, &sweep->exact_count)) ||
        !read_rules(reader, node_find(root, "rules"))) {
        return false;
    }
    if (sweep->axis_count == 0 && sweep->exact_count == 0 && !sweep->baseline) {
        reader_fail(reader, 1, "nothing is measured: no axes, no points, no baseline");
        return err_hint(reader->err, "axes = { knobs = { work_mem = [ \"4MB\", \"64MB\" ]; }; };");
    }
    return true;
}
