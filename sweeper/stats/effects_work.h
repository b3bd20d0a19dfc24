/*
 * The analysis of effects while it is made: what effects.c and effects_ridge.c share. Inside
 * sweeper/stats only.
 */
#ifndef SWEEPER_STATS_EFFECTS_WORK_H
#define SWEEPER_STATS_EFFECTS_WORK_H

#include <math.h>

#include "sweeper/stats/effects.h"

struct work {
    const struct effects_design *design;
    struct arena *arena;
    size_t pair_count;
    size_t *offsets; /* of each axis' levels in one list of all */
    size_t level_total;
    double *axis_means;  /* [level_total] f_j(v) less the mean of mu */
    double *axis_cells;  /* [level_total] how many cells have the level */
    double *axis_shares; /* variances of the terms, of one fit */
    double *pair_shares;
    double *table; /* means of one pair's cells, and their counts */
    double *table_cells;
    double *mu;
    double variance; /* of mu, of the last fit */
};

/* A measured cell's row of indicators: 1, its level of each axis, its levels of each pair. */
struct ridge {
    size_t row_count;
    size_t column_count;
    bool has_pairs;
    size_t *cells;     /* of the rows */
    size_t *starts;    /* columns of each axis, then of each pair */
    double *penalties; /* of columns, in units of the penalty */
    double *moments;   /* X'X */
    double *factor;    /* Cholesky's, of X'X + penalty */
    double *vector;    /* [column_count] */
    double *values;    /* [row_count] */
    double *coefficients;
    double penalty;
    double r2;       /* by leaving one out */
    double residual; /* mean square of what is then left unexplained */
};

static inline size_t level_of(const struct effects_design *design, size_t cell, size_t axis)
{
    return design->levels[cell * design->axis_count + axis];
}

static inline bool is_measured(const struct effects_design *design, size_t cell)
{
    return !isnan(design->values[cell]);
}

/* The regression before it is fitted: rows, columns, and room for `columns` of one row. Without
 * pairs where there would be too many columns. */
bool effects_ridge_open(const struct work *work, struct ridge *out, size_t **columns,
                        struct err *err) MUST_USE;
/* Chooses the penalty by leaving one out, and fills work->mu. */
bool effects_ridge_fit(struct work *work, struct ridge *ridge, size_t *columns,
                       struct err *err) MUST_USE;
/* Coefficients of ridge->values under the penalty chosen; then work->mu. */
void effects_ridge_refit(struct work *work, struct ridge *ridge, size_t *columns);

#endif
