/*
 * What the rules and the memory guard see of one cell: its settings as numbers, texts and truths.
 * Which cells there are, and what becomes of them, is decided in grid.c.
 */
#include "knobs/grid_cell.h"

#include "sweeper/base/text.h"

bool grid_fail_at(const struct grid *grid, int line, struct err *err)
{
    if (grid->file == NULL)
        return false;
    return line > 0 ? err_origin(err, "%s:%d", grid->file, line)
                    : err_origin(err, "%s", grid->file);
}

static bool fail_name(const struct cell *cell, const char *name, struct err *err)
{
    const struct grid *grid = cell->grid;
    size_t count = grid->swept_count + 2;
    const char **names = ARENA_ARRAY(cell->arena, const char *, count);
    if (names == NULL)
        return err_memory(err);
    names[0] = "host.memory";
    names[1] = "host.cpus";
    for (size_t i = 0; i < grid->swept_count; i++)
        names[i + 2] = grid->swept[i].knob->name;
    const char *nearest = text_nearest(name, names, count);
    err_set(err, ERR_CODE_rule, "'%.120s' is not swept", name);
    if (nearest != NULL)
        return err_hint(err, "did you mean '%.120s'?", nearest);
    return err_hint(err, "rules know what is swept, host.memory and host.cpus; quote texts");
}

static bool lookup_fact(const struct cell *cell, const char *name, struct rule_value *out)
{
    bool memory = text_equal_nocase(name, "host.memory");
    if (!memory && !text_equal_nocase(name, "host.cpus"))
        return false;
    int64_t fact = cell->facts == NULL ? 0
                   : memory            ? cell->facts->host_memory_bytes
                                       : cell->facts->host_cpu_count;
    *out =
        (struct rule_value){.kind = fact > 0 ? RULE_NUMBER : RULE_UNKNOWN, .number = (double)fact};
    return true;
}

/* An enum such as "0|1|2" is text to the server and a number to everybody else. */
static struct rule_value text_value(const struct knob *knob, const char *text)
{
    int64_t number = 0;
    struct err ignored;
    if (knob->type == KNOB_ENUM && units_parse_int(text, &number, &ignored))
        return (struct rule_value){.kind = RULE_NUMBER, .number = (double)number};
    return (struct rule_value){.kind = RULE_TEXT, .text = text};
}

static struct rule_value as_rule_value(const struct knob *knob, const struct value *value)
{
    double number = 0;
    if (value->kind == VALUE_TEXT)
        return text_value(knob, value->text);
    if (!value_number(value, &number))
        return (struct rule_value){.kind = RULE_UNKNOWN};
    if (knob->type == KNOB_BOOL)
        return (struct rule_value){.kind = RULE_BOOL, .truth = number != 0};
    return (struct rule_value){.kind = RULE_NUMBER, .number = number};
}

static const struct value *cell_value(const struct cell *cell, size_t swept)
{
    const struct value *value = grid_value(cell->grid, cell->point, cell->condition, swept);
    return value->kind == VALUE_BASELINE ? &cell->baseline_values[swept] : value;
}

static bool lookup_name(void *context, const char *name, struct rule_value *out, struct err *err)
{
    const struct cell *cell = context;
    size_t swept = grid_swept_find(cell->grid, name);
    if (swept == SIZE_MAX)
        return lookup_fact(cell, name, out) || fail_name(cell, name, err);
    *out = as_rule_value(cell->grid->swept[swept].knob, cell_value(cell, swept));
    return true;
}

static bool visit_name(void *context, const char *name, struct err *err)
{
    struct rule_value ignored;
    return lookup_name(context, name, &ignored, err);
}

bool grid_fail_rule(const struct grid *grid, size_t rule, struct err *err)
{
    return grid_fail_at(grid, grid->rule_lines != NULL ? grid->rule_lines[rule] : 0, err);
}

bool cell_check_rules(struct cell *cell, struct err *err)
{
    for (size_t i = 0; i < cell->grid->rule_count; i++) {
        if (!rule_names(cell->grid->rules[i], visit_name, cell, err))
            return grid_fail_rule(cell->grid, i, err);
    }
    return true;
}

bool cell_forbidding(struct cell *cell, size_t *out, struct err *err)
{
    const struct grid *grid = cell->grid;
    for (*out = 0; *out < grid->rule_count; (*out)++) {
        int truth = -1;
        if (!rule_truth(grid->rules[*out], lookup_name, cell, &truth, err))
            return grid_fail_rule(grid, *out, err);
        if (truth == 0)
            return true;
    }
    return true;
}

double cell_memory_bytes(const struct cell *cell)
{
    const struct grid *grid = cell->grid;
    double sum = 0;
    for (size_t i = 0; i < grid->swept_count; i++) {
        const struct swept *swept = &grid->swept[i];
        double number = 0;
        if (swept->kind != SWEPT_KNOB || swept->knob->memory != KNOB_MEMORY_ONCE)
            continue;
        /* A special such as -1, "the server decides", is no size. */
        if (value_number(cell_value(cell, i), &number) && number > 0)
            sum += number;
    }
    return sum;
}
