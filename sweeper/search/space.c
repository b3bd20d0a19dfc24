/*
 * Turns values into coordinates, one swept setting after the other.
 */
#include "sweeper/search/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a value is within its setting. */
enum place {
    PLACE_ORDER,  /* a number among others */
    PLACE_OUTSIDE /* a special number, a text, unset, not known */
};

struct column {
    const struct value **values; /* [count]: of points, or of conditions */
    size_t count;
    const struct knob *knob;
    const struct value *found; /* stands for BASELINE; NULL: not known */
    double *numbers;           /* [count] distinct, ascending: those with an order */
    size_t number_count;
    const char **names; /* [count] distinct: what stands outside the order */
    size_t name_count;
    uint16_t *steps; /* [count] coordinates in the order */
    uint16_t *kinds; /* [count] 0 within the order, else the number of the name */
};

static const struct value *value_of(const struct column *column, size_t index)
{
    const struct value *value = column->values[index];
    bool is_known = column->found != NULL && column->found->kind != VALUE_BASELINE;
    return value->kind == VALUE_BASELINE && is_known ? column->found : value;
}

/* Is this one of "-1|0", which mean something of their own? */
static bool is_special(const struct knob *knob, double number)
{
    struct bytes rest = knob_list(knob->specials);
    struct bytes piece;
    while (knob_list_next(&rest, '|', &piece)) {
        char text[32];
        if (piece.size < sizeof text) {
            memcpy(text, piece.data, piece.size);
            text[piece.size] = '\0';
            char *end = text;
            double special = strtod(text, &end);
            if (end != text && fabs(special - number) <= 1e-9 * (1 + fabs(special))) {
                return true;
            }
        }
    }
    return false;
}

static enum place place_of(const struct column *column, const struct value *value, double *number)
{
    bool has_order = column->knob->type == KNOB_INTEGER || column->knob->type == KNOB_REAL;
    *number = 0;
    return has_order && value_number(value, number) && !is_special(column->knob, *number)
               ? PLACE_ORDER
               : PLACE_OUTSIDE;
}

/* Where the number stands, or would stand, among those collected. */
static size_t number_index(const struct column *column, double number)
{
    size_t low = 0;
    size_t high = column->number_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (column->numbers[middle] < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_number(struct column *column, double number)
{
    size_t at = number_index(column, number);
    if (at < column->number_count && column->numbers[at] <= number) {
        return;
    }
    memmove(&column->numbers[at + 1], &column->numbers[at],
            (column->number_count - at) * sizeof *column->numbers);
    column->numbers[at] = number;
    column->number_count++;
}

static size_t name_index(const struct column *column, const char *name)
{
    size_t at = 0;
    while (at < column->name_count && strcmp(column->names[at], name) != 0) {
        at++;
    }
    return at;
}

/* Fills the distinct numbers and names: points of a sweep repeat few values. */
static bool collect(struct column *column, struct arena *arena)
{
    column->number_count = 0;
    column->name_count = 0;
    for (size_t i = 0; i < column->count; i++) {
        const struct value *value = value_of(column, i);
        double number = 0;
        if (place_of(column, value, &number) == PLACE_ORDER) {
            add_number(column, number);
            continue;
        }
        const char *name = value_canonical(column->knob, value, arena);
        if (name == NULL) {
            return false;
        }
        if (name_index(column, name) == column->name_count) {
            column->names[column->name_count++] = name;
        }
    }
    return true;
}

/* The rank in steps. */
static uint16_t step_of(const struct column *column, double number)
{
    size_t last = column->number_count > 1 ? column->number_count - 1 : 1;
    return (uint16_t)((number_index(column, number) * SPACE_STEPS + last / 2) / last);
}

/* ---- features ---- */

struct features {
    struct space *space;
    uint16_t *rows; /* coordinates of all points or conditions */
    size_t row_size;
    size_t *count; /* features so far */
};

static bool add_feature(const struct features *to, size_t setting, bool is_name,
                        const uint16_t *coordinates, size_t count)
{
    size_t at = (*to->count)++;
    to->space->is_name[at] = is_name;
    to->space->setting[at] = setting;
    for (size_t i = 0; i < count; i++) {
        to->rows[i * to->row_size + at] = coordinates[i];
    }
    return true;
}

/* Values outside the order lie at its low end, where off and as found mostly belong; the second
 * feature tells them from what is there. */
static bool add_column(struct column *column, size_t setting, const struct features *to,
                       struct arena *arena)
{
    if (!collect(column, arena)) {
        return false;
    }
    for (size_t i = 0; i < column->count; i++) {
        const struct value *value = value_of(column, i);
        double number = 0;
        column->steps[i] = 0;
        column->kinds[i] = 0;
        if (place_of(column, value, &number) == PLACE_ORDER) {
            column->steps[i] = step_of(column, number);
            continue;
        }
        const char *name = value_canonical(column->knob, value, arena);
        if (name == NULL) {
            return false;
        }
        column->kinds[i] = (uint16_t)(1 + name_index(column, name));
    }
    bool has_order = column->number_count > 1;
    bool has_names = column->name_count + (column->number_count > 0) > 1;
    return (!has_order || add_feature(to, setting, false, column->steps, column->count)) &&
           (!has_names || add_feature(to, setting, true, column->kinds, column->count));
}

static bool is_condition(const struct grid *grid, size_t setting)
{
    return grid->swept[setting].kind == SWEPT_WORKLOAD;
}

/* All settings of points, or of conditions. */
static bool add_settings(const struct strategy_spec *spec, const struct grid *grid,
                         bool of_conditions, const struct features *to, struct arena *arena)
{
    size_t count = of_conditions ? grid->condition_count : grid->point_count;
    struct column column = {.values = ARENA_ARRAY(arena, const struct value *, count),
                            .count = count,
                            .numbers = ARENA_ARRAY(arena, double, count + 1),
                            .names = ARENA_ARRAY(arena, const char *, count + 1),
                            .steps = ARENA_ARRAY(arena, uint16_t, count),
                            .kinds = ARENA_ARRAY(arena, uint16_t, count)};
    if (column.values == NULL || column.numbers == NULL || column.names == NULL ||
        column.steps == NULL || column.kinds == NULL) {
        return false;
    }
    for (size_t i = 0; i < grid->swept_count; i++) {
        if (is_condition(grid, i) != of_conditions) {
            continue;
        }
        column.knob = grid->swept[i].knob;
        column.found = spec->baseline_values != NULL ? &spec->baseline_values[i] : NULL;
        for (size_t j = 0; j < count; j++) {
            column.values[j] =
                of_conditions ? &grid->conditions[j].values[i] : &grid->points[j].values[i];
        }
        if (!add_column(&column, i, to, arena)) {
            return false;
        }
    }
    return true;
}

bool space_open(const struct strategy_spec *spec, const struct grid *grid, struct arena *arena,
                struct space *out, struct err *err)
{
    size_t room = 2 * grid->swept_count + 1;
    *out = (struct space){.row_size = room,
                          .is_name = ARENA_ARRAY(arena, bool, room),
                          .setting = ARENA_ARRAY(arena, size_t, room),
                          .points = ARENA_ARRAY(arena, uint16_t, grid->point_count * room),
                          .conditions = ARENA_ARRAY(arena, uint16_t, grid->condition_count * room)};
    if (out->is_name == NULL || out->setting == NULL || out->points == NULL ||
        out->conditions == NULL) {
        return err_memory(err);
    }
    struct features points = {
        .space = out, .rows = out->points, .row_size = room, .count = &out->feature_count};
    struct features conditions = points;
    conditions.rows = out->conditions;
    if (!add_settings(spec, grid, false, &points, arena)) {
        return err_memory(err);
    }
    out->candidate_count = out->feature_count;
    return add_settings(spec, grid, true, &conditions, arena) || err_memory(err);
}

double space_distance(const struct space *space, const uint16_t *a, const uint16_t *b)
{
    unsigned sum = 0;
    for (size_t i = 0; i < space->candidate_count; i++) {
        sum += space_steps(space->is_name[i], a[i], b[i]);
    }
    return sum / (double)SPACE_STEPS;
}

void space_cell(const struct space *space, size_t point, size_t condition, uint16_t *out)
{
    for (size_t i = 0; i < space->feature_count; i++) {
        out[i] = i < space->candidate_count ? space->points[point * space->row_size + i]
                                            : space->conditions[condition * space->row_size + i];
    }
}
