/*
 * Inside the grid: one cell as its rules see it, and errors at the lines of the sweep file.
 */
#ifndef KNOBS_GRID_CELL_H
#define KNOBS_GRID_CELL_H

#include "knobs/grid.h"

struct cell {
    const struct grid *grid;
    const struct value *baseline_values;
    const struct value_facts *facts;
    struct arena *arena;
    size_t point;
    size_t condition;
};

/* Names the place of an error that was already written; line 0: the file alone. False. */
bool grid_fail_at(const struct grid *grid, int line, struct err *err);
/* The same at the line of a rule. */
bool grid_fail_rule(const struct grid *grid, size_t rule, struct err *err);

/* A name that short-circuit evaluation would skip must not surface in the middle of a grid.
 * Errors: rule. */
bool cell_check_rules(struct cell *cell, struct err *err) MUST_USE;
/* The rule that forbids the cell, or rule_count where none is known to. Errors: rule. */
bool cell_forbidding(struct cell *cell, size_t *out, struct err *err) MUST_USE;
/* What the swept memory knobs take together. */
double cell_memory_bytes(const struct cell *cell);

#endif
