/*
 * The ridge regression of effects.h: indicators of every level and of every pair of levels, without
 * one left out as a reference, which the penalty makes possible. Rows are never stored: a cell's
 * row is a handful of ones.
 */
#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_statistics_double.h>

#include "sweeper/stats/effects_work.h"

enum { MOST_COLUMNS = 300, PENALTIES = 11, PAIR_PENALTY = 2 };

static const double SMALLEST_PENALTY = 1e-3;
static const double INTERCEPT_PENALTY = 1e-9;

static size_t term_count(const struct work *work, const struct ridge *ridge)
{
    return 1 + work->design->axis_count + (ridge->has_pairs ? work->pair_count : 0);
}

/* The columns that are 1 in a cell's row. */
static void columns_of(const struct work *work, const struct ridge *ridge, size_t cell, size_t *out)
{
    const struct effects_design *design = work->design;
    size_t at = 0;
    out[at++] = 0;
    for (size_t j = 0; j < design->axis_count; j++) {
        out[at++] = ridge->starts[j] + level_of(design, cell, j);
    }
    for (size_t j = 0; ridge->has_pairs && j < design->axis_count; j++) {
        for (size_t k = j + 1; k < design->axis_count; k++) {
            out[at++] = ridge->starts[design->axis_count + effects_pair(design->axis_count, j, k)] +
                        level_of(design, cell, j) * design->level_counts[k] +
                        level_of(design, cell, k);
        }
    }
}

static size_t place_columns(const struct work *work, struct ridge *ridge)
{
    const struct effects_design *design = work->design;
    size_t columns = 1;
    for (size_t j = 0; j < design->axis_count; j++) {
        ridge->starts[j] = columns;
        columns += design->level_counts[j];
    }
    for (size_t j = 0; ridge->has_pairs && j < design->axis_count; j++) {
        for (size_t k = j + 1; k < design->axis_count; k++) {
            ridge->starts[design->axis_count + effects_pair(design->axis_count, j, k)] = columns;
            columns += design->level_counts[j] * design->level_counts[k];
        }
    }
    return columns;
}

static bool allocate(const struct work *work, struct ridge *ridge, struct err *err)
{
    struct arena *arena = work->arena;
    size_t columns = ridge->column_count;
    ridge->penalties = ARENA_ARRAY(arena, double, columns);
    ridge->moments = ARENA_ARRAY(arena, double, columns *columns);
    ridge->factor = ARENA_ARRAY(arena, double, columns *columns);
    ridge->vector = ARENA_ARRAY(arena, double, columns);
    ridge->coefficients = ARENA_ARRAY(arena, double, columns);
    ridge->values = ARENA_ARRAY(arena, double, ridge->row_count + 1);
    return (ridge->penalties != NULL && ridge->moments != NULL && ridge->factor != NULL &&
            ridge->vector != NULL && ridge->coefficients != NULL && ridge->values != NULL) ||
           err_memory(err);
}

static void fill_moments(const struct work *work, struct ridge *ridge, size_t *columns)
{
    size_t terms = term_count(work, ridge);
    size_t first_pair = 1;
    for (size_t j = 0; j < work->design->axis_count; j++) {
        first_pair += work->design->level_counts[j];
    }
    for (size_t i = 0; i < ridge->column_count * ridge->column_count; i++) {
        ridge->moments[i] = 0;
    }
    for (size_t i = 0; i < ridge->column_count; i++) {
        ridge->penalties[i] = i == 0 ? INTERCEPT_PENALTY : i < first_pair ? 1 : PAIR_PENALTY;
    }
    for (size_t i = 0; i < ridge->row_count; i++) {
        columns_of(work, ridge, ridge->cells[i], columns);
        for (size_t a = 0; a < terms; a++) {
            for (size_t b = 0; b < terms; b++) {
                ridge->moments[columns[a] * ridge->column_count + columns[b]]++;
            }
        }
    }
}

static void factorise(struct ridge *ridge, double penalty)
{
    size_t count = ridge->column_count;
    gsl_matrix_view factor = gsl_matrix_view_array(ridge->factor, count, count);
    for (size_t i = 0; i < count * count; i++) {
        ridge->factor[i] = ridge->moments[i];
    }
    for (size_t i = 0; i < count; i++) {
        ridge->factor[i * count + i] += penalty * ridge->penalties[i] + INTERCEPT_PENALTY;
    }
    gsl_linalg_cholesky_decomp1(&factor.matrix);
    ridge->penalty = penalty;
}

/* Coefficients of ridge->values. */
static void solve(const struct work *work, struct ridge *ridge, size_t *columns)
{
    size_t count = ridge->column_count;
    size_t terms = term_count(work, ridge);
    gsl_matrix_view factor = gsl_matrix_view_array(ridge->factor, count, count);
    gsl_vector_view out = gsl_vector_view_array(ridge->coefficients, count);
    for (size_t i = 0; i < count; i++) {
        ridge->coefficients[i] = 0;
    }
    for (size_t i = 0; i < ridge->row_count; i++) {
        columns_of(work, ridge, ridge->cells[i], columns);
        for (size_t a = 0; a < terms; a++) {
            ridge->coefficients[columns[a]] += ridge->values[i];
        }
    }
    gsl_linalg_cholesky_svx(&factor.matrix, &out.vector);
}

static double fitted(const struct work *work, const struct ridge *ridge, size_t cell,
                     size_t *columns)
{
    double sum = 0;
    columns_of(work, ridge, cell, columns);
    for (size_t a = 0; a < term_count(work, ridge); a++) {
        sum += ridge->coefficients[columns[a]];
    }
    return sum;
}

/* x' (X'X + penalty)^-1 x by one triangular solution. */
static double leverage(const struct work *work, struct ridge *ridge, size_t cell, size_t *columns)
{
    size_t count = ridge->column_count;
    double sum = 0;
    gsl_matrix_view factor = gsl_matrix_view_array(ridge->factor, count, count);
    gsl_vector_view vector = gsl_vector_view_array(ridge->vector, count);
    for (size_t i = 0; i < count; i++) {
        ridge->vector[i] = 0;
    }
    columns_of(work, ridge, cell, columns);
    for (size_t a = 0; a < term_count(work, ridge); a++) {
        ridge->vector[columns[a]] = 1;
    }
    gsl_blas_dtrsv(CblasLower, CblasNoTrans, CblasNonUnit, &factor.matrix, &vector.vector);
    for (size_t i = 0; i < count; i++) {
        sum += ridge->vector[i] * ridge->vector[i];
    }
    return sum;
}

/* Against the mean of the others, which knows as little of the run left out. */
static double r2_left_out(const struct work *work, struct ridge *ridge, size_t *columns)
{
    double rows = (double)ridge->row_count;
    double mean = gsl_stats_mean(ridge->values, 1, ridge->row_count);
    double unexplained = 0;
    double all = 0;
    for (size_t i = 0; i < ridge->row_count; i++) {
        double hat = fmin(leverage(work, ridge, ridge->cells[i], columns), 1 - 1e-9);
        double residual =
            (ridge->values[i] - fitted(work, ridge, ridge->cells[i], columns)) / (1 - hat);
        double distance = (ridge->values[i] - mean) * rows / (rows - 1);
        unexplained += residual * residual;
        all += distance * distance;
    }
    ridge->residual = unexplained / rows;
    return all > 0 ? 1 - unexplained / all : (double)NAN;
}

void effects_ridge_refit(struct work *work, struct ridge *ridge, size_t *columns)
{
    solve(work, ridge, columns);
    for (size_t i = 0; i < work->design->cell_count; i++) {
        work->mu[i] = fitted(work, ridge, i, columns);
    }
}

bool effects_ridge_fit(struct work *work, struct ridge *ridge, size_t *columns, struct err *err)
{
    const struct effects_design *design = work->design;
    double best = NAN;
    double chosen = 1;
    double residual = 0;
    if (!allocate(work, ridge, err)) {
        return false;
    }
    for (size_t i = 0; i < ridge->row_count; i++) {
        ridge->values[i] = design->values[ridge->cells[i]];
    }
    fill_moments(work, ridge, columns);
    for (int i = 0; i < PENALTIES; i++) {
        factorise(ridge, SMALLEST_PENALTY * pow(10, 0.5 * i));
        solve(work, ridge, columns);
        double r2 = r2_left_out(work, ridge, columns);
        if (isnan(best) || r2 > best) {
            best = r2;
            chosen = ridge->penalty;
            residual = ridge->residual;
        }
    }
    factorise(ridge, chosen);
    ridge->r2 = best;
    ridge->residual = residual;
    effects_ridge_refit(work, ridge, columns);
    return true;
}

bool effects_ridge_open(const struct work *work, struct ridge *out, size_t **columns,
                        struct err *err)
{
    const struct effects_design *design = work->design;
    size_t terms = 1 + design->axis_count + work->pair_count;
    *out = (struct ridge){.has_pairs = true,
                          .cells = ARENA_ARRAY(work->arena, size_t, design->cell_count + 1),
                          .starts = ARENA_ARRAY(work->arena, size_t, terms)};
    *columns = ARENA_ARRAY(work->arena, size_t, terms);
    if (out->cells == NULL || out->starts == NULL || *columns == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < design->cell_count; i++) {
        if (is_measured(design, i)) {
            out->cells[out->row_count++] = i;
        }
    }
    out->column_count = place_columns(work, out);
    if (out->column_count > MOST_COLUMNS) {
        out->has_pairs = false;
        out->column_count = place_columns(work, out);
    }
    return true;
}
