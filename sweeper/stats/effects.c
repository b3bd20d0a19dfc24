/*
 * Functional ANOVA over cells, of measured values or of a ridge regression. Intervals come from
 * refits of values drawn anew around mu with the noise that is known (a parametric bootstrap).
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_statistics_double.h>

#include "sweeper/stats/effects_work.h"

enum { REFITS = 100, SEED = 30 };

size_t effects_pair(size_t axis_count, size_t j, size_t k)
{
    return j * axis_count - j * (j + 1) / 2 + k - j - 1;
}

/* ---- ANOVA ---- */

static void add_axis(struct work *work, size_t axis, double mean)
{
    const struct effects_design *design = work->design;
    double *means = &work->axis_means[work->offsets[axis]];
    double *cells = &work->axis_cells[work->offsets[axis]];
    double squares = 0;
    for (size_t v = 0; v < design->level_counts[axis]; v++) {
        means[v] = cells[v] = 0;
    }
    for (size_t i = 0; i < design->cell_count; i++) {
        means[level_of(design, i, axis)] += work->mu[i] - mean;
        cells[level_of(design, i, axis)]++;
    }
    for (size_t v = 0; v < design->level_counts[axis]; v++) {
        means[v] /= cells[v] > 0 ? cells[v] : 1;
        squares += cells[v] * means[v] * means[v];
    }
    work->axis_shares[axis] = squares / (double)design->cell_count;
}

static void add_pair(struct work *work, size_t j, size_t k, double mean)
{
    const struct effects_design *design = work->design;
    size_t width = design->level_counts[k];
    size_t count = design->level_counts[j] * width;
    double squares = 0;
    for (size_t v = 0; v < count; v++) {
        work->table[v] = work->table_cells[v] = 0;
    }
    for (size_t i = 0; i < design->cell_count; i++) {
        size_t at = level_of(design, i, j) * width + level_of(design, i, k);
        work->table[at] += work->mu[i] - mean;
        work->table_cells[at]++;
    }
    for (size_t v = 0; v < count; v++) {
        squares +=
            work->table_cells[v] > 0 ? work->table[v] * work->table[v] / work->table_cells[v] : 0;
    }
    work->pair_shares[effects_pair(design->axis_count, j, k)] =
        squares / (double)design->cell_count - work->axis_shares[j] - work->axis_shares[k];
}

/* Variances of all terms of mu; noise is what a cell's value has of it (0: none is taken off). */
static void analyse(struct work *work, double noise)
{
    const struct effects_design *design = work->design;
    double cells = (double)design->cell_count;
    double mean = gsl_stats_mean(work->mu, 1, design->cell_count);
    work->variance = gsl_stats_tss_m(work->mu, 1, design->cell_count, mean) / cells -
                     noise * (cells - 1) / cells;
    for (size_t j = 0; j < design->axis_count; j++) {
        add_axis(work, j, mean);
    }
    for (size_t j = 0; j < design->axis_count; j++) {
        for (size_t k = j + 1; k < design->axis_count; k++) {
            double degrees =
                ((double)design->level_counts[j] - 1) * ((double)design->level_counts[k] - 1);
            add_pair(work, j, k, mean);
            work->pair_shares[effects_pair(design->axis_count, j, k)] -= noise * degrees / cells;
        }
    }
    for (size_t j = 0; j < design->axis_count; j++) {
        work->axis_shares[j] -= noise * ((double)design->level_counts[j] - 1) / cells;
    }
}

/* ---- how sure ---- */

struct spread { /* sums over refits */
    double sum;
    double squares;
};

struct refits {
    struct spread *axes;
    struct spread *pairs;
    struct spread *levels; /* as work.axis_means */
    double *centre;        /* mu that values are drawn around */
    double *deviations;    /* of a cell's value */
    gsl_rng *generator;
};

static void count_in(struct spread *spread, double value)
{
    spread->sum += value;
    spread->squares += value * value;
}

static double deviation_of(const struct spread *spread)
{
    double mean = spread->sum / REFITS;
    return sqrt(fmax(0, (spread->squares - REFITS * mean * mean) / (REFITS - 1)));
}

static bool refits_open(const struct work *work, const struct ridge *ridge, struct refits *out,
                        struct err *err)
{
    const struct effects_design *design = work->design;
    *out = (struct refits){.axes = ARENA_ARRAY(work->arena, struct spread, design->axis_count + 1),
                           .pairs = ARENA_ARRAY(work->arena, struct spread, work->pair_count + 1),
                           .levels = ARENA_ARRAY(work->arena, struct spread, work->level_total + 1),
                           .centre = ARENA_ARRAY(work->arena, double, design->cell_count + 1),
                           .deviations = ARENA_ARRAY(work->arena, double, design->cell_count + 1)};
    if (out->axes == NULL || out->pairs == NULL || out->levels == NULL || out->centre == NULL ||
        out->deviations == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < design->axis_count; i++) {
        out->axes[i] = (struct spread){0};
    }
    for (size_t i = 0; i < work->pair_count; i++) {
        out->pairs[i] = (struct spread){0};
    }
    for (size_t i = 0; i < work->level_total; i++) {
        out->levels[i] = (struct spread){0};
    }
    for (size_t i = 0; i < design->cell_count; i++) {
        out->centre[i] = work->mu[i];
        out->deviations[i] =
            sqrt(ridge != NULL ? ridge->residual : design->noise_variance / design->runs[i]);
    }
    out->generator = gsl_rng_alloc(gsl_rng_mt19937);
    if (out->generator == NULL) {
        return err_memory(err);
    }
    gsl_rng_set(out->generator, SEED);
    return true;
}

/* Values drawn around mu, and mu anew. */
static void redraw(struct work *work, struct ridge *ridge, const struct refits *refits,
                   size_t *columns)
{
    const struct effects_design *design = work->design;
    if (ridge == NULL) {
        for (size_t i = 0; i < design->cell_count; i++) {
            work->mu[i] = refits->centre[i] +
                          gsl_ran_gaussian_ziggurat(refits->generator, refits->deviations[i]);
        }
        return;
    }
    for (size_t i = 0; i < ridge->row_count; i++) {
        size_t cell = ridge->cells[i];
        ridge->values[i] = refits->centre[cell] +
                           gsl_ran_gaussian_ziggurat(refits->generator, refits->deviations[cell]);
    }
    effects_ridge_refit(work, ridge, columns);
}

static void set_interval(const struct spread *spread, double confidence, struct effect *out)
{
    double half = gsl_cdf_ugaussian_Qinv((1 - confidence) / 2) * deviation_of(spread);
    out->low = fmax(0, out->share - half);
    out->high = fmin(1, out->share + half);
}

/* Noise is drawn on top of noise: of measured values twice as much is taken off. */
static bool refit(struct work *work, struct ridge *ridge, double noise, size_t *columns,
                  struct effects *out, struct err *err)
{
    const struct effects_design *design = work->design;
    struct refits refits;
    if (!refits_open(work, ridge, &refits, err)) {
        return false;
    }
    for (int r = 0; r < REFITS; r++) {
        redraw(work, ridge, &refits, columns);
        analyse(work, 2 * noise);
        double variance = work->variance > 0 ? work->variance : INFINITY;
        for (size_t i = 0; i < design->axis_count; i++) {
            count_in(&refits.axes[i], work->axis_shares[i] / variance);
        }
        for (size_t i = 0; i < work->pair_count; i++) {
            count_in(&refits.pairs[i], work->pair_shares[i] / variance);
        }
        for (size_t i = 0; i < work->level_total; i++) {
            count_in(&refits.levels[i], work->axis_means[i]);
        }
    }
    gsl_rng_free(refits.generator);
    double quantile = gsl_cdf_ugaussian_Qinv((1 - design->confidence) / 2);
    for (size_t j = 0; j < design->axis_count; j++) {
        set_interval(&refits.axes[j], design->confidence, &out->axes[j]);
        for (size_t v = 0; v < design->level_counts[j]; v++) {
            out->levels[j][v].half = quantile * deviation_of(&refits.levels[work->offsets[j] + v]);
        }
    }
    for (size_t i = 0; i < work->pair_count; i++) {
        set_interval(&refits.pairs[i], design->confidence, &out->pairs[i]);
    }
    return true;
}

/* ---- all of it ---- */

static double test_by_f(const struct work *work, double variance, double degrees, double noise)
{
    const struct effects_design *design = work->design;
    if (!(noise > 0) || !(design->noise_degrees > 0) || !(degrees > 0)) {
        return NAN;
    }
    double cells = (double)design->cell_count;
    double ratio = (variance + noise * degrees / cells) * cells / degrees / noise;
    return gsl_cdf_fdist_Q(fmax(0, ratio), degrees, design->noise_degrees);
}

/* What `analyse` left in work becomes the answer. */
static void fill_effects(const struct work *work, double noise, struct effects *out)
{
    const struct effects_design *design = work->design;
    double variance = work->variance;
    out->variance = fmax(0, variance);
    for (size_t j = 0; j < design->axis_count; j++) {
        double degrees = (double)design->level_counts[j] - 1;
        double share = variance > 0 ? work->axis_shares[j] / variance : 0;
        out->axes[j] = (struct effect){.share = fmax(0, share), .low = NAN, .high = NAN, .p = NAN};
        if (out->is_exact) {
            out->axes[j].p = test_by_f(work, work->axis_shares[j], degrees, noise);
        }
        for (size_t v = 0; v < design->level_counts[j]; v++) {
            out->levels[j][v] =
                (struct effect_level){.value = work->axis_means[work->offsets[j] + v], .half = NAN};
        }
        for (size_t k = j + 1; k < design->axis_count; k++) {
            struct effect *pair = &out->pairs[effects_pair(design->axis_count, j, k)];
            double of_pair = work->pair_shares[effects_pair(design->axis_count, j, k)];
            share = variance > 0 ? of_pair / variance : 0;
            *pair = (struct effect){.share = fmax(0, share), .low = NAN, .high = NAN, .p = NAN};
            if (out->is_exact) {
                pair->p = test_by_f(work, of_pair, degrees * ((double)design->level_counts[k] - 1),
                                    noise);
            }
        }
    }
}

static bool work_open(const struct effects_design *design, struct arena *arena, struct work *out,
                      struct err *err)
{
    size_t axes = design->axis_count;
    size_t widest = 1;
    *out = (struct work){.design = design, .arena = arena, .pair_count = axes * (axes - 1) / 2};
    out->offsets = ARENA_ARRAY(arena, size_t, axes + 1);
    if (out->offsets == NULL) {
        return err_memory(err);
    }
    for (size_t j = 0; j < axes; j++) {
        out->offsets[j] = out->level_total;
        out->level_total += design->level_counts[j];
        widest = design->level_counts[j] > widest ? design->level_counts[j] : widest;
    }
    out->axis_means = ARENA_ARRAY(arena, double, out->level_total + 1);
    out->axis_cells = ARENA_ARRAY(arena, double, out->level_total + 1);
    out->axis_shares = ARENA_ARRAY(arena, double, axes + 1);
    out->pair_shares = ARENA_ARRAY(arena, double, out->pair_count + 1);
    out->table = ARENA_ARRAY(arena, double, widest *widest);
    out->table_cells = ARENA_ARRAY(arena, double, widest *widest);
    out->mu = ARENA_ARRAY(arena, double, design->cell_count + 1);
    return (out->axis_means != NULL && out->axis_cells != NULL && out->axis_shares != NULL &&
            out->pair_shares != NULL && out->table != NULL && out->table_cells != NULL &&
            out->mu != NULL) ||
           err_memory(err);
}

static bool effects_open(const struct work *work, struct effects *out, struct err *err)
{
    const struct effects_design *design = work->design;
    out->axes = ARENA_ARRAY(work->arena, struct effect, design->axis_count + 1);
    out->pairs = ARENA_ARRAY(work->arena, struct effect, work->pair_count + 1);
    out->levels = ARENA_ARRAY(work->arena, struct effect_level *, design->axis_count + 1);
    if (out->axes == NULL || out->pairs == NULL || out->levels == NULL) {
        return err_memory(err);
    }
    for (size_t j = 0; j < design->axis_count; j++) {
        out->levels[j] = ARENA_ARRAY(work->arena, struct effect_level, design->level_counts[j]);
        if (out->levels[j] == NULL) {
            return err_memory(err);
        }
    }
    return true;
}

/* Every combination is a cell, or not; every cell is measured, or not. */
static bool survey(const struct effects_design *design, struct effects *out, struct err *err)
{
    double combinations = 1;
    bool is_varied = false;
    for (size_t j = 0; j < design->axis_count; j++) {
        combinations *= (double)design->level_counts[j];
        is_varied = is_varied || design->level_counts[j] > 1;
    }
    for (size_t i = 0; i < design->cell_count; i++) {
        out->measured += is_measured(design, i);
    }
    out->is_constrained = (double)design->cell_count < combinations;
    out->is_exact = !out->is_constrained && out->measured == design->cell_count;
    out->has_pairs = true;
    if (!is_varied || out->measured < 2) {
        return err_set(err, ERR_CODE_not_found, "%s",
                       is_varied ? "fewer than two points were measured"
                                 : "no axis has two values among what was measured");
    }
    return true;
}

/* What noise is in a cell's value; 0 where it is not known. */
static double noise_of_cells(const struct effects_design *design)
{
    double sum = 0;
    for (size_t i = 0; i < design->cell_count && !isnan(design->noise_variance); i++) {
        sum += design->noise_variance / design->runs[i];
    }
    return sum / (double)design->cell_count;
}

static bool effects_exact(struct work *work, struct effects *out, struct err *err)
{
    const struct effects_design *design = work->design;
    double cells = (double)design->cell_count;
    double noise = noise_of_cells(design);
    for (size_t i = 0; i < design->cell_count; i++) {
        work->mu[i] = design->values[i];
    }
    double all = gsl_stats_tss(work->mu, 1, design->cell_count) / cells;
    analyse(work, noise);
    fill_effects(work, noise, out);
    out->r2 = isnan(design->noise_variance) || !(all > 0) ? (double)NAN
                                                          : 1 - noise * (cells - 1) / cells / all;
    return isnan(design->noise_variance) || refit(work, NULL, noise, NULL, out, err);
}

bool effects_of(const struct effects_design *design, struct arena *arena, struct effects *out,
                struct err *err)
{
    struct work work;
    struct ridge ridge;
    size_t *columns = NULL;
    *out = (struct effects){.r2 = NAN};
    if (!survey(design, out, err) || !work_open(design, arena, &work, err) ||
        !effects_open(&work, out, err)) {
        return false;
    }
    if (out->is_exact) {
        return effects_exact(&work, out, err);
    }
    if (!effects_ridge_open(&work, &ridge, &columns, err) ||
        !effects_ridge_fit(&work, &ridge, columns, err)) {
        return false;
    }
    out->has_pairs = ridge.has_pairs;
    out->r2 = ridge.r2;
    analyse(&work, 0);
    fill_effects(&work, 0, out);
    return refit(&work, &ridge, 0, columns, out, err);
}
