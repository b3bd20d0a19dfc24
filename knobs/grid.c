/*
 * From axes to the cells that are measured: the product, duplicates, rules, the memory guard.
 *
 * Everything is built before the night begins and nothing changes afterwards. Point keys name only
 * what a point sets, so that a point keeps its key, and its finished trials, when the sweep file
 * grows another axis.
 */
#include "knobs/grid_cell.h"

#include <string.h>

#include "sweeper/base/text.h"

size_t grid_swept_find(const struct grid *grid, const char *name)
{
    for (size_t i = 0; i < grid->swept_count; i++) {
        if (text_equal_nocase(grid->swept[i].knob->name, name))
            return i;
    }
    return SIZE_MAX;
}

/* --- what is swept --- */

static const char *swept_name(const struct grid *grid, size_t swept)
{
    return grid->swept[swept].knob->name;
}

static bool is_condition(const struct grid *grid, size_t swept)
{
    return grid->swept[swept].kind == SWEPT_WORKLOAD;
}

static bool fail_twice(const struct grid *grid, const struct axis *axis, const struct axis *first,
                       size_t swept, struct err *err)
{
    err_set(err, ERR_CODE_grid, "axis '%.120s' sets '%.120s', which axis '%.120s' of line %d sets",
            axis->name, swept_name(grid, swept), first->name, first->line);
    err_hint(err, "give one axis all of its values");
    return grid_fail_at(grid, axis->line, err);
}

/* Marks what the axis sets with the axis' number + 1: a setting on two axes would silently take
 * the value of the later one. */
static bool claim_settings(const struct grid *grid, size_t axis_index, size_t *owners,
                           struct err *err)
{
    const struct axis *axis = &grid->axes[axis_index];
    for (size_t c = 0; c < axis->choice_count; c++) {
        for (size_t s = 0; s < axis->choices[c].set_count; s++) {
            size_t swept = axis->choices[c].sets[s].swept;
            assert(swept < grid->swept_count);
            if (owners[swept] != 0 && owners[swept] != axis_index + 1)
                return fail_twice(grid, axis, &grid->axes[owners[swept] - 1], swept, err);
            owners[swept] = axis_index + 1;
        }
    }
    return true;
}

static bool check_axes(const struct grid *grid, struct arena *arena, struct err *err)
{
    size_t *owners = ARENA_ARRAY(arena, size_t, grid->swept_count);
    if (owners == NULL)
        return err_memory(err);
    for (size_t i = 0; i < grid->axis_count; i++) {
        if (grid->axes[i].choice_count == 0) {
            err_set(err, ERR_CODE_grid, "axis '%.120s' has no values", grid->axes[i].name);
            return grid_fail_at(grid, grid->axes[i].line, err);
        }
        if (!claim_settings(grid, i, owners, err))
            return false;
    }
    return true;
}

static bool check_exact(const struct grid *grid, struct err *err)
{
    for (size_t i = 0; i < grid->exact_count; i++) {
        for (size_t s = 0; s < grid->exact[i].set_count; s++) {
            size_t swept = grid->exact[i].sets[s].swept;
            assert(swept < grid->swept_count);
            if (is_condition(grid, swept)) {
                err_set(err, ERR_CODE_grid, "exact point %zu sets the workload setting '%.120s'",
                        i + 1, swept_name(grid, swept));
                err_hint(err, "vary workload settings in axes.workload");
                return grid_fail_at(grid, grid->swept[swept].line, err);
            }
        }
    }
    return true;
}

/* --- building points and conditions --- */

#define KEY_LIMIT_BYTES ((size_t)16 * 1024 * 1024)

/* The keys seen so far: open addressing, never more than half full. */
struct key_set {
    const char **slots;
    size_t mask;
};

struct builder {
    struct grid *grid;
    struct arena *arena;
    struct err *err;
    struct key_set seen;
    size_t point_capacity;
    size_t condition_capacity;
};

static bool key_set_open(struct key_set *set, size_t capacity, struct arena *arena, struct err *err)
{
    size_t size = 16;
    while (size < 2 * capacity)
        size *= 2;
    set->slots = ARENA_ARRAY(arena, const char *, size);
    set->mask = size - 1;
    return set->slots != NULL || err_memory(err);
}

/* The slot that holds the key, or the free one where it belongs. FNV-1a. */
static const char **key_set_slot(const struct key_set *set, const char *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const unsigned char *byte = (const unsigned char *)key; *byte != '\0'; byte++)
        hash = (hash ^ *byte) * UINT64_C(1099511628211);
    size_t slot = (size_t)(hash ^ (hash >> 32)) & set->mask;
    while (set->slots[slot] != NULL && strcmp(set->slots[slot], key) != 0)
        slot = (slot + 1) & set->mask;
    return &set->slots[slot];
}

/* Values of text knobs may hold the key's own separators. */
static void add_escaped(struct text *key, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == ';' || *value == '\\')
            text_add_char(key, '\\');
        text_add_char(key, *value);
    }
}

/* NULL where memory ends. */
static const char *values_key(const struct grid *grid, const struct value *values,
                              struct arena *arena)
{
    struct text key;
    text_open(&key, arena);
    for (size_t i = 0; i < grid->swept_count; i++) {
        if (values[i].kind == VALUE_BASELINE)
            continue;
        const char *canonical = value_canonical(grid->swept[i].knob, &values[i], arena);
        if (canonical == NULL)
            return NULL;
        text_addf(&key, "%s%s=", key.size > 0 ? ";" : "", swept_name(grid, i));
        add_escaped(&key, canonical);
    }
    return text_done(&key);
}

/* Keeps the key of values that were not there before; *out is NULL for a duplicate. */
static bool keep_key(struct builder *builder, const struct value *values, const char **out)
{
    CLEANUP(arena_close) struct arena scratch;
    arena_open(&scratch, KEY_LIMIT_BYTES);
    const char *key = values_key(builder->grid, values, &scratch);
    if (key == NULL)
        return err_memory(builder->err);
    const char **slot = key_set_slot(&builder->seen, key);
    *out = NULL;
    if (*slot != NULL)
        return true;
    *out = arena_strdup(builder->arena, key);
    *slot = *out;
    return *out != NULL || err_memory(builder->err);
}

/* As keep_key, with a copy of the values. */
static bool keep_new(struct builder *builder, const struct value *values, const char **out_key,
                     struct value **out_values)
{
    size_t count = builder->grid->swept_count;
    if (!keep_key(builder, values, out_key))
        return false;
    if (*out_key == NULL)
        return true;
    *out_values = ARENA_ARRAY(builder->arena, struct value, count);
    if (*out_values == NULL)
        return err_memory(builder->err);
    if (count > 0)
        memcpy(*out_values, values, count * sizeof(*values));
    return true;
}

static bool add_point(struct builder *builder, const struct value *values)
{
    struct grid *grid = builder->grid;
    struct point point = {0};
    if (!keep_new(builder, values, &point.key, &point.values))
        return false;
    if (point.key == NULL)
        return true;
    assert(grid->point_count < builder->point_capacity);
    point.baseline = point.key[0] == '\0';
    grid->points[grid->point_count++] = point;
    return true;
}

static bool add_condition(struct builder *builder, const struct value *values)
{
    struct grid *grid = builder->grid;
    struct condition condition = {0};
    if (!keep_new(builder, values, &condition.key, &condition.values))
        return false;
    if (condition.key == NULL)
        return true;
    assert(grid->condition_count < builder->condition_capacity);
    grid->conditions[grid->condition_count++] = condition;
    return true;
}

static void apply_choice(const struct axis_choice *choice, struct value *values)
{
    for (size_t i = 0; i < choice->set_count; i++)
        values[choice->sets[i].swept] = choice->sets[i].value;
}

static void clear_values(const struct grid *grid, struct value *values)
{
    for (size_t i = 0; i < grid->swept_count; i++)
        values[i] = (struct value){.kind = VALUE_BASELINE, .asked = "baseline"};
}

/* Whether the axis belongs to the product of conditions or to that of points. */
static bool in_product(const struct axis *axis, bool conditions)
{
    return (axis->kind == SWEPT_WORKLOAD) == conditions;
}

/* Turns the odometer, its last digit fastest; false after the last combination. */
static bool turn(const struct grid *grid, bool conditions, size_t *digits)
{
    for (size_t i = grid->axis_count; i-- > 0;) {
        if (!in_product(&grid->axes[i], conditions))
            continue;
        if (++digits[i] < grid->axes[i].choice_count)
            return true;
        digits[i] = 0;
    }
    return false;
}

/* Every combination of the axes of one sort; where there is no such axis, one combination that
 * sets nothing. */
static bool add_product(struct builder *builder, bool conditions,
                        bool (*add)(struct builder *builder, const struct value *values))
{
    const struct grid *grid = builder->grid;
    size_t *digits = ARENA_ARRAY(builder->arena, size_t, grid->axis_count);
    struct value *values = ARENA_ARRAY(builder->arena, struct value, grid->swept_count);
    if (digits == NULL || values == NULL)
        return err_memory(builder->err);
    do {
        clear_values(grid, values);
        for (size_t i = 0; i < grid->axis_count; i++) {
            if (in_product(&grid->axes[i], conditions))
                apply_choice(&grid->axes[i].choices[digits[i]], values);
        }
        if (!add(builder, values))
            return false;
    } while (turn(grid, conditions, digits));
    return true;
}

static bool add_exact(struct builder *builder)
{
    const struct grid *grid = builder->grid;
    struct value *values = ARENA_ARRAY(builder->arena, struct value, grid->swept_count);
    if (values == NULL)
        return err_memory(builder->err);
    for (size_t i = 0; i < grid->exact_count; i++) {
        clear_values(grid, values);
        apply_choice(&grid->exact[i], values);
        if (!add_point(builder, values))
            return false;
    }
    return true;
}

static bool has_candidate_axis(const struct grid *grid)
{
    for (size_t i = 0; i < grid->axis_count; i++) {
        if (in_product(&grid->axes[i], false))
            return true;
    }
    return false;
}

static bool build_points(struct builder *builder)
{
    struct grid *grid = builder->grid;
    grid->points = ARENA_ARRAY(builder->arena, struct point, builder->point_capacity);
    struct value *values = ARENA_ARRAY(builder->arena, struct value, grid->swept_count);
    if (grid->points == NULL || values == NULL)
        return err_memory(builder->err);
    clear_values(grid, values);
    return key_set_open(&builder->seen, builder->point_capacity, builder->arena, builder->err) &&
           (!grid->with_baseline || add_point(builder, values)) &&
           (!has_candidate_axis(grid) || add_product(builder, false, add_point)) &&
           add_exact(builder);
}

static bool build_conditions(struct builder *builder)
{
    struct grid *grid = builder->grid;
    grid->conditions = ARENA_ARRAY(builder->arena, struct condition, builder->condition_capacity);
    if (grid->conditions == NULL)
        return err_memory(builder->err);
    return key_set_open(&builder->seen, builder->condition_capacity, builder->arena,
                        builder->err) &&
           add_product(builder, true, add_condition);
}

/* Saturates just above the limit, so that nothing can overflow. */
static size_t product_size(const struct grid *grid, bool conditions)
{
    size_t size = 1;
    for (size_t i = 0; i < grid->axis_count; i++) {
        if (!in_product(&grid->axes[i], conditions))
            continue;
        size_t count = grid->axes[i].choice_count;
        assert(count > 0);
        size = count > GRID_LIMIT_CELLS / size ? GRID_LIMIT_CELLS + 1 : size * count;
        if (size > GRID_LIMIT_CELLS)
            break;
    }
    return size;
}

static bool measure_grid(struct builder *builder)
{
    const struct grid *grid = builder->grid;
    size_t points = has_candidate_axis(grid) ? product_size(grid, false) : 0;
    size_t conditions = product_size(grid, true);
    points += grid->exact_count + (grid->with_baseline ? 1 : 0);
    if (points == 0) {
        err_set(builder->err, ERR_CODE_grid, "there is nothing to measure");
        err_hint(builder->err, "sweep a knob, list points or set baseline = true");
        return grid_fail_at(grid, 0, builder->err);
    }
    if (points > GRID_LIMIT_CELLS || conditions > GRID_LIMIT_CELLS / points) {
        err_set(builder->err, ERR_CODE_grid, "the grid has more than %d cells", GRID_LIMIT_CELLS);
        err_hint(builder->err, "give the axes fewer values");
        return grid_fail_at(grid, 0, builder->err);
    }
    builder->point_capacity = points;
    builder->condition_capacity = conditions;
    return true;
}

/* --- pruning --- */

static bool add_pruned(struct builder *builder, size_t *capacity, struct pruned pruned)
{
    struct grid *grid = builder->grid;
    if (grid->pruned_count == *capacity) {
        size_t larger = *capacity == 0 ? 64 : 2 * *capacity;
        struct pruned *grown = ARENA_ARRAY(builder->arena, struct pruned, larger);
        if (grown == NULL)
            return err_memory(builder->err);
        if (grid->pruned_count > 0)
            memcpy(grown, grid->pruned, grid->pruned_count * sizeof(*grown));
        grid->pruned = grown;
        *capacity = larger;
    }
    grid->pruned[grid->pruned_count++] = pruned;
    return true;
}

static bool admit_cell(const struct builder *builder, const struct cell *cell, size_t *rule)
{
    const struct grid *grid = builder->grid;
    bool is_admitted = true;
    if (grid->admits != NULL &&
        !grid->admits(grid->context, cell->point, cell->condition, &is_admitted, builder->err))
        return false;
    *rule = is_admitted ? *rule : PRUNED_ABSENT;
    return true;
}

static bool judge_cell(struct builder *builder, struct cell *cell, double guard_bytes,
                       size_t *capacity)
{
    struct grid *grid = builder->grid;
    size_t rule = grid->rule_count;
    if (!grid->points[cell->point].baseline) {
        if (!cell_forbidding(cell, &rule, builder->err))
            return false;
        if (rule == grid->rule_count && guard_bytes > 0 && cell_memory_bytes(cell) > guard_bytes)
            rule = PRUNED_GUARD;
        if (rule == grid->rule_count && !admit_cell(builder, cell, &rule))
            return false;
    }
    if (rule != grid->rule_count)
        return add_pruned(builder, capacity, (struct pruned){cell->point, cell->condition, rule});
    grid->kept[cell->point * grid->condition_count + cell->condition] = true;
    grid->kept_count++;
    return true;
}

static bool prune(struct builder *builder, struct cell *cell, double guard_bytes)
{
    struct grid *grid = builder->grid;
    size_t capacity = 0;
    grid->kept = ARENA_ARRAY(builder->arena, bool, grid->point_count * grid->condition_count);
    if (grid->kept == NULL)
        return err_memory(builder->err);
    for (cell->point = 0; cell->point < grid->point_count; cell->point++) {
        for (cell->condition = 0; cell->condition < grid->condition_count; cell->condition++) {
            if (!judge_cell(builder, cell, guard_bytes, &capacity))
                return false;
        }
    }
    return true;
}

/* The rule (or what else) that pruned the first cell, and how many cells it pruned: where
 * everything is pruned, that is nearly always the rule that is wrong. */
static bool check_left(const struct grid *grid, struct err *err)
{
    size_t others = 0;
    size_t count = 0;
    for (size_t i = 0; i < grid->point_count; i++)
        others += grid->points[i].baseline ? 0 : grid->condition_count;
    if (others == 0 || grid->pruned_count < others)
        return true;
    size_t rule = grid->pruned[0].rule;
    for (size_t i = 0; i < grid->pruned_count; i++)
        count += grid->pruned[i].rule == rule ? 1 : 0;
    err_set(err, ERR_CODE_grid, "every point is pruned");
    if (rule == PRUNED_GUARD || rule == PRUNED_ABSENT) {
        err_hint(err, "%s alone prunes %zu of %zu cells",
                 rule == PRUNED_GUARD ? "the memory guard" : "what the source does not have", count,
                 others);
        return grid_fail_at(grid, 0, err);
    }
    err_hint(err, "rule '%.200s' alone prunes %zu of %zu cells", rule_text(grid->rules[rule]),
             count, others);
    return grid_fail_rule(grid, rule, err);
}

bool grid_build(struct grid *grid, const struct value *baseline_values,
                const struct value_facts *facts, int64_t guard_bytes, struct arena *arena,
                struct err *err)
{
    struct builder builder = {.grid = grid, .arena = arena, .err = err};
    struct cell cell = {
        .grid = grid, .baseline_values = baseline_values, .facts = facts, .arena = arena};
    grid->point_count = 0;
    grid->condition_count = 0;
    grid->kept_count = 0;
    grid->pruned = NULL;
    grid->pruned_count = 0;
    return check_axes(grid, arena, err) && check_exact(grid, err) && measure_grid(&builder) &&
           build_conditions(&builder) && build_points(&builder) && cell_check_rules(&cell, err) &&
           prune(&builder, &cell, (double)guard_bytes) && check_left(grid, err);
}

const struct value *grid_value(const struct grid *grid, size_t point, size_t condition,
                               size_t swept)
{
    assert(point < grid->point_count && condition < grid->condition_count);
    assert(swept < grid->swept_count);
    return is_condition(grid, swept) ? &grid->conditions[condition].values[swept]
                                     : &grid->points[point].values[swept];
}

static bool value_durable(const struct knob *knob, const struct value *value,
                          const struct value *baseline)
{
    bool known = baseline->kind != VALUE_BASELINE && baseline->kind != VALUE_UNSET;
    if (knob->durability[0] == '\0' || value->kind == VALUE_BASELINE ||
        value_equal(knob, value, baseline))
        return true;
    return value_durability(knob, value) <= (known ? value_durability(knob, baseline) : 0);
}

bool grid_point_durable(const struct grid *grid, const struct value *point_values,
                        const struct value *baseline_values)
{
    for (size_t i = 0; i < grid->swept_count; i++) {
        if (grid->swept[i].kind != SWEPT_WORKLOAD &&
            !value_durable(grid->swept[i].knob, &point_values[i], &baseline_values[i]))
            return false;
    }
    return true;
}
