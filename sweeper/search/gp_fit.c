/*
 * The hyperparameters of greatest posterior density.
 *
 * iRprop- follows the signs of the gradient with a step of its own for each parameter; it needs no
 * line search and no scaling. The priors keep a dozen observations from proving too much:
 * ln l ~ N(ln sqrt(D), 1.2), ln s2 ~ N(0, 1), ln sn2 ~ N(2 ln sigma, 1), ln st2 the same with 1.5.
 */
#include <math.h>
#include <string.h>

#include "sweeper/search/gp_model.h"

#define STEPS 30
#define STEP_FIRST 0.1
#define STEP_LEAST 1e-4
#define STEP_MOST 1.0
#define LENGTH_LEAST (-4.0)
#define LENGTH_MOST 5.0
#define VARIANCE_LEAST (-14.0)
#define VARIANCE_MOST 4.0
/* Of a run where no repeats tell it yet: 2 % in logarithms is common, but the scale is y's own. */
#define SIGMA_UNKNOWN 0.2

/* Parameters in a row: lengths, then signal, noise, drift. */
struct fit {
    struct gp *gp;
    size_t count;
    double *at;
    double *mean; /* of the priors */
    double *sd;
    double *gradient; /* of minus the log posterior */
    double *last;     /* the gradient before */
    double *step;
    double *best;
    double *w; /* [n * n] K^-1 - a a' */
};

static bool fit_open(struct gp *gp, struct arena *arena, struct fit *out)
{
    size_t count = gp->feature_count + 3;
    *out = (struct fit){.gp = gp,
                        .count = count,
                        .at = ARENA_ARRAY(arena, double, count),
                        .mean = ARENA_ARRAY(arena, double, count),
                        .sd = ARENA_ARRAY(arena, double, count),
                        .gradient = ARENA_ARRAY(arena, double, count),
                        .last = ARENA_ARRAY(arena, double, count),
                        .step = ARENA_ARRAY(arena, double, count),
                        .best = ARENA_ARRAY(arena, double, count),
                        .w = ARENA_ARRAY(arena, double, gp->count * gp->count + 1)};
    return out->at != NULL && out->mean != NULL && out->sd != NULL && out->gradient != NULL &&
           out->last != NULL && out->step != NULL && out->best != NULL && out->w != NULL;
}

static void set_priors(struct fit *fit)
{
    size_t features = fit->gp->feature_count;
    bool is_known = !isnan(fit->gp->sigma) && fit->gp->sigma > 0;
    double noise = 2 * log(is_known ? fit->gp->sigma : SIGMA_UNKNOWN);
    double length = features > 0 ? 0.5 * log((double)features) : 0;
    noise = fmin(fmax(noise, VARIANCE_LEAST), 0);
    for (size_t i = 0; i < features; i++) {
        fit->mean[i] = length;
        fit->sd[i] = 1.2;
    }
    fit->mean[features] = 0;
    fit->sd[features] = 1;
    fit->mean[features + 1] = noise;
    fit->sd[features + 1] = is_known ? 1 : 1.5;
    fit->mean[features + 2] = noise;
    fit->sd[features + 2] = 1.5;
    for (size_t i = 0; i < fit->count; i++) {
        fit->at[i] = fit->mean[i];
        fit->step[i] = STEP_FIRST;
    }
}

static bool compute_at(const struct fit *fit, double *at)
{
    size_t features = fit->gp->feature_count;
    struct gp_parameters parameters = {
        .length = at, .signal = at[features], .noise = at[features + 1], .drift = at[features + 2]};
    return gp_compute(fit->gp, &parameters);
}

/* Minus the log posterior, without constants. */
static double loss_of(const struct fit *fit)
{
    double loss = -fit->gp->log_likelihood;
    for (size_t i = 0; i < fit->count; i++) {
        double off = (fit->at[i] - fit->mean[i]) / fit->sd[i];
        loss += off * off / 2;
    }
    return loss;
}

/* ---- the gradient ---- */

static void fill_w(struct fit *fit)
{
    size_t n = fit->gp->count;
    const double *a = fit->gp->weights;
    memset(fit->w, 0, n * n * sizeof *fit->w);
    for (size_t k = 0; k < n; k++) {
        const double *row = &fit->gp->inverse[k * n];
        for (size_t i = 0; i <= k; i++) {
            double scale = row[i];
            double *w = &fit->w[i * n];
            for (size_t j = 0; j <= i; j++) {
                w[j] += scale * row[j];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            fit->w[i * n + j] -= a[i] * a[j];
        }
    }
}

/* One pair's part in the gradient of each length: of tr(W dK) / 2 twice the half. */
static void add_pair(struct fit *fit, size_t i, size_t j, double weight)
{
    const struct gp *gp = fit->gp;
    const uint16_t *a = &gp->rows[i * gp->feature_count];
    const uint16_t *b = &gp->rows[j * gp->feature_count];
    size_t features = gp->feature_count;
    double product = 1;
    for (size_t f = 0; f < features; f++) {
        product *= gp->near[f * (SPACE_STEPS + 1) + space_steps(gp->space->is_name[f], a[f], b[f])];
    }
    for (size_t f = 0; f < features; f++) {
        unsigned steps = space_steps(gp->space->is_name[f], a[f], b[f]);
        if (steps > 0) {
            double near = gp->near[f * (SPACE_STEPS + 1) + steps];
            double far = (double)steps / SPACE_STEPS * exp(-gp->at.length[f]);
            fit->gradient[f] += weight * far * (near / (double)features + product) / 2;
        }
    }
}

static void fill_gradient(struct fit *fit)
{
    const struct gp *gp = fit->gp;
    size_t n = gp->count;
    size_t features = gp->feature_count;
    double signal = exp(gp->at.signal);
    double drift = exp(gp->at.drift);
    double by_signal = 0;
    double by_noise = 0;
    double by_drift = 0;
    fill_w(fit);
    memset(fit->gradient, 0, fit->count * sizeof *fit->gradient);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            double w = fit->w[i * n + j];
            by_signal += w * gp->kernel[i * n + j];
            by_drift += w * gp->drifts[i * n + j] * drift;
            add_pair(fit, i, j, w * signal);
        }
        double w = fit->w[i * n + i] / 2;
        by_signal += w * signal;
        by_drift += w * drift;
        by_noise += w * gp->variances[i] * exp(gp->at.noise);
    }
    fit->gradient[features] = by_signal;
    fit->gradient[features + 1] = by_noise;
    fit->gradient[features + 2] = by_drift;
    for (size_t i = 0; i < fit->count; i++) {
        fit->gradient[i] += (fit->at[i] - fit->mean[i]) / (fit->sd[i] * fit->sd[i]);
    }
}

/* ---- iRprop- ---- */

static double clamp_parameter(const struct fit *fit, size_t i, double value)
{
    bool is_length = i < fit->gp->feature_count;
    double least = is_length ? LENGTH_LEAST : VARIANCE_LEAST;
    double most = is_length ? LENGTH_MOST : VARIANCE_MOST;
    return fmin(fmax(value, least), most);
}

static void take_step(struct fit *fit)
{
    for (size_t i = 0; i < fit->count; i++) {
        double turn = fit->gradient[i] * fit->last[i];
        if (turn > 0) {
            fit->step[i] = fmin(fit->step[i] * 1.2, STEP_MOST);
        } else if (turn < 0) {
            fit->step[i] = fmax(fit->step[i] * 0.5, STEP_LEAST);
            fit->gradient[i] = 0;
        }
        double sign = (fit->gradient[i] > 0) - (fit->gradient[i] < 0);
        fit->at[i] = clamp_parameter(fit, i, fit->at[i] - sign * fit->step[i]);
        fit->last[i] = fit->gradient[i];
    }
}

bool gp_fit(struct gp *gp, struct arena *arena, struct err *err)
{
    struct fit fit;
    double least = INFINITY;
    if (!fit_open(gp, arena, &fit)) {
        return err_memory(err);
    }
    set_priors(&fit);
    memcpy(fit.best, fit.at, fit.count * sizeof *fit.best);
    for (size_t i = 0; i < STEPS && compute_at(&fit, fit.at); i++) {
        double loss = loss_of(&fit);
        if (loss < least) {
            least = loss;
            memcpy(fit.best, fit.at, fit.count * sizeof *fit.best);
        }
        if (i + 1 < STEPS) {
            fill_gradient(&fit);
            take_step(&fit);
        }
    }
    return compute_at(&fit, fit.best) ||
           err_set(err, ERR_CODE_bug, "the model's matrix cannot be factored");
}
