/*
 * A Gaussian process over the grid's cells: what is likely at a point that was not measured, and
 * how sure that is. Written for small grids and dozens of noisy runs: coordinates are whole steps,
 * so that a kernel is looked up and multiplied, and a run's noise and the drift of the night are
 * told from what the points differ by.
 *
 *   k = s2 (mean_j exp(-d_j / l_j) + prod_j exp(-d_j / l_j)) / 2     what points differ by
 *     + st2 exp(-|t - t'| / 15)                                     drift over trials
 *     + v_i sn2                                                     noise of one run
 *
 * Hyperparameters are found by gp_fit.c.
 */
#ifndef SWEEPER_SEARCH_GP_MODEL_H
#define SWEEPER_SEARCH_GP_MODEL_H

#include "sweeper/search/sample.h"
#include "sweeper/search/space.h"

/* Points are predicted by so many at once. */
#define GP_BATCH 8

/* Natural logarithms, of lengths in ranges of a feature and of variances of standardised y. */
struct gp_parameters {
    double *length; /* [feature_count] */
    double signal;
    double noise;
    double drift;
};

struct gp {
    const struct space *space;
    size_t count;         /* observations */
    size_t feature_count; /* of space */
    uint16_t *rows;       /* [count * feature_count] */
    double *times;        /* [count] */
    double *variances;    /* [count] of a run's noise, as many times the usual */
    double *doubts;       /* [count] variance beside the noise's, of standardised y */
    double *y;            /* [count] standardised: about the condition's mean, in units of scale */
    double *centers;      /* [condition_count] the means */
    double scale;
    double sigma;         /* of a run in standardised y, NAN: not known */
    double sigma_degrees; /* of freedom of sigma */

    struct gp_parameters at; /* what the rest was computed at */
    double *near;            /* [feature_count * (SPACE_STEPS + 1)] exp(-d / l) */
    double *kernel;          /* [count * count] of what points differ by, without noise */
    double *drifts;          /* [count * count] exp(-|t - t'| / 15) */
    double *factor;          /* [count * count] Cholesky's, lower */
    double *inverse;         /* [count * count] of the factor, lower */
    double *weights;         /* [count] K^-1 y */
    double log_likelihood;
};

/* Takes up the observations; of very many the best and the latest GP_LIMIT. Errors: memory. */
#define GP_LIMIT 300
bool gp_open(const struct space *space, const struct grid *grid, const struct sample *sample,
             struct arena *arena, struct gp *out, struct err *err) MUST_USE;

/* Computes everything at these parameters, which are copied; false where the matrix cannot be
 * factored. */
bool gp_compute(struct gp *gp, const struct gp_parameters *at);

/* Mean and standard deviation in y's own unit of up to GP_BATCH points under one condition,
 * without noise and drift. */
void gp_predict(const struct gp *gp, const size_t *points, size_t point_count, size_t condition,
                double *out_means, double *out_sds);

/* Adds a running trial as if it had given what is expected of it, so that no second one is sent to
 * the same place. There is room for GP_PENDING of them. */
#define GP_PENDING 16
void gp_believe(struct gp *gp, size_t point, size_t condition, double time);

/* ---- gp_fit.c ---- */

/* Finds the parameters of the greatest posterior density by iRprop-, starting at the prior's
 * means, and computes there. The noise's prior stands at gp.sigma. Errors: memory. */
bool gp_fit(struct gp *gp, struct arena *arena, struct err *err) MUST_USE;

#endif
