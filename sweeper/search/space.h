/*
 * The grid as numbers between which distances have a meaning: what models and designs see of it.
 *
 * Each swept setting becomes one or two *features*. Values with an order lie by their rank in
 * 0..1, so that sizes that double are evenly spaced; names without an order are equal or not. A
 * value outside the order (off, unset, as found and not known) is told from all others by a second
 * feature. Settings with one value are left out.
 */
#ifndef SWEEPER_SEARCH_SPACE_H
#define SWEEPER_SEARCH_SPACE_H

#include "sweeper/search/strategy.h"

/* Coordinates are whole steps from 0 to SPACE_STEPS. */
#define SPACE_STEPS 240

struct space {
    size_t feature_count;   /* candidates' first, then conditions' */
    size_t candidate_count; /* features that are chosen; the others are conditions' */
    size_t row_size;        /* of `points`; candidate_count, at least 1 */
    bool *is_name;          /* [feature_count]: equal or not, without an order */
    size_t *setting;        /* [feature_count]: index into grid.swept */
    uint16_t *points;       /* [point_count * row_size] coordinates, of names their number */
    uint16_t *conditions;   /* [condition_count * feature_count], the candidates' left at 0 */
};

/* Values as found (spec.baseline_values) stand for BASELINE where they are known. Errors: memory.
 */
bool space_open(const struct strategy_spec *spec, const struct grid *grid, struct arena *arena,
                struct space *out, struct err *err) MUST_USE;

/* The steps between two coordinates of one feature, SPACE_STEPS between different names. */
static inline unsigned space_steps(bool is_name, uint16_t a, uint16_t b)
{
    if (is_name) {
        return a == b ? 0 : SPACE_STEPS;
    }
    return a > b ? (unsigned)(a - b) : (unsigned)(b - a);
}

/* The coordinates of a point's candidate features. */
static inline const uint16_t *space_point(const struct space *space, size_t point)
{
    return &space->points[point * space->row_size];
}

/* The sum over the candidate features, in whole ranges: 0 for equal points. */
double space_distance(const struct space *space, const uint16_t *a, const uint16_t *b);

/* All features of a cell, in the order of `is_name`. */
void space_cell(const struct space *space, size_t point, size_t condition, uint16_t *out);

#endif
