/*
 * Kernel, factor and prediction. Matrices are full, row by row, and the inner loops run over
 * neighbours in memory without waiting for each other's sums.
 */
#include "sweeper/search/gp_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRIFT_TRIALS 15.0
#define JITTER 1e-6
/* Of the value that stands for a failure, in standardised y: one failure may have come by chance,
 * several beside each other did not. */
#define FAILURE_DOUBT 0.5
/* Two noises of a run are as far as anything differs for sure. */
#define SCALE_LEAST 1e-9

/* ---- the data ---- */

struct ordered {
    size_t row;
    double y;
};

static int compare_best_first(const void *a, const void *b)
{
    const struct ordered *left = a;
    const struct ordered *right = b;
    if (left->y < right->y || left->y > right->y) {
        return left->y > right->y ? -1 : 1;
    }
    return (left->row > right->row) - (left->row < right->row);
}

/* Marks the rows that are taken: the latest half of the limit, then the best of the others. */
static bool choose_rows(const struct sample *sample, struct arena *arena, bool *out_taken)
{
    size_t latest = sample->count > GP_LIMIT ? sample->count - GP_LIMIT / 2 : 0;
    struct ordered *order = ARENA_ARRAY(arena, struct ordered, sample->count + 1);
    if (order == NULL) {
        return false;
    }
    for (size_t i = 0; i < sample->count; i++) {
        order[i] = (struct ordered){.row = i, .y = sample->rows[i].y};
        out_taken[i] = i >= latest;
    }
    qsort(order, sample->count, sizeof *order, compare_best_first);
    size_t room = latest > 0 ? GP_LIMIT - GP_LIMIT / 2 : 0;
    for (size_t i = 0; i < sample->count && room > 0; i++) {
        room -= !out_taken[order[i].row];
        out_taken[order[i].row] = true;
    }
    return true;
}

/* Each condition about its own mean: clients and sizes may differ by orders of magnitude. */
static void standardise(struct gp *gp, const size_t *conditions, size_t condition_count)
{
    double squares = 0;
    for (size_t c = 0; c < condition_count; c++) {
        double count = 0;
        for (size_t i = 0; i < gp->count; i++) {
            if (conditions[i] == c) {
                gp->centers[c] += (gp->y[i] - gp->centers[c]) / ++count;
            }
        }
    }
    for (size_t i = 0; i < gp->count; i++) {
        gp->y[i] -= gp->centers[conditions[i]];
        squares += gp->y[i] * gp->y[i];
    }
    gp->scale = gp->count > 1 ? sqrt(squares / (double)(gp->count - 1)) : 1;
    gp->scale = gp->scale > SCALE_LEAST ? gp->scale : 1;
    for (size_t i = 0; i < gp->count; i++) {
        gp->y[i] /= gp->scale;
    }
}

static bool allocate(struct gp *gp, size_t condition_count, struct arena *arena)
{
    size_t room = gp->count + GP_PENDING;
    size_t features = gp->feature_count;
    gp->rows = ARENA_ARRAY(arena, uint16_t, room * features + 1);
    gp->times = ARENA_ARRAY(arena, double, room);
    gp->variances = ARENA_ARRAY(arena, double, room);
    gp->doubts = ARENA_ARRAY(arena, double, room);
    gp->y = ARENA_ARRAY(arena, double, room);
    gp->centers = ARENA_ARRAY(arena, double, condition_count);
    gp->at.length = ARENA_ARRAY(arena, double, features + 1);
    gp->near = ARENA_ARRAY(arena, double, features *(SPACE_STEPS + 1) + 1);
    gp->kernel = ARENA_ARRAY(arena, double, room *room);
    gp->drifts = ARENA_ARRAY(arena, double, room *room);
    gp->factor = ARENA_ARRAY(arena, double, room *room);
    gp->inverse = ARENA_ARRAY(arena, double, room *room);
    gp->weights = ARENA_ARRAY(arena, double, room);
    return gp->rows != NULL && gp->times != NULL && gp->variances != NULL && gp->doubts != NULL &&
           gp->y != NULL && gp->centers != NULL && gp->at.length != NULL && gp->near != NULL &&
           gp->kernel != NULL && gp->drifts != NULL && gp->factor != NULL && gp->inverse != NULL &&
           gp->weights != NULL;
}

static void fill_drifts(struct gp *gp)
{
    for (size_t i = 0; i < gp->count; i++) {
        for (size_t j = 0; j < gp->count; j++) {
            gp->drifts[i * gp->count + j] = exp(-fabs(gp->times[i] - gp->times[j]) / DRIFT_TRIALS);
        }
    }
}

bool gp_open(const struct space *space, const struct grid *grid, const struct sample *sample,
             struct arena *arena, struct gp *out, struct err *err)
{
    bool *taken = ARENA_ARRAY(arena, bool, sample->count + 1);
    size_t *conditions = ARENA_ARRAY(arena, size_t, sample->count + 1);
    size_t count = 0;
    *out = (struct gp){.space = space, .feature_count = space->feature_count};
    if (taken == NULL || conditions == NULL || !choose_rows(sample, arena, taken)) {
        return err_memory(err);
    }
    for (size_t i = 0; i < sample->count; i++) {
        out->count += taken[i];
    }
    if (!allocate(out, grid->condition_count, arena)) {
        return err_memory(err);
    }
    for (size_t i = 0; i < sample->count; i++) {
        const struct observation *row = &sample->rows[i];
        if (!taken[i]) {
            continue;
        }
        space_cell(space, row->point, row->condition, &out->rows[count * space->feature_count]);
        out->times[count] = row->time;
        out->variances[count] = row->is_censored ? SAMPLE_CENSORED_VARIANCE : 1;
        out->doubts[count] = row->is_failed ? FAILURE_DOUBT : 0;
        out->y[count] = row->y;
        conditions[count++] = row->condition;
    }
    standardise(out, conditions, grid->condition_count);
    out->sigma = sample->sigma / out->scale;
    out->sigma_degrees = sample->sigma_degrees;
    fill_drifts(out);
    return true;
}

/* ---- the kernel ---- */

static void fill_near(struct gp *gp)
{
    for (size_t j = 0; j < gp->feature_count; j++) {
        double length = exp(gp->at.length[j]);
        for (size_t k = 0; k <= SPACE_STEPS; k++) {
            gp->near[j * (SPACE_STEPS + 1) + k] = exp(-(double)k / SPACE_STEPS / length);
        }
    }
}

/* Of standardised y. Where nothing differs all cells are alike. */
static double kernel_of(const struct gp *gp, const uint16_t *a, const uint16_t *b, double signal)
{
    double sum = 0;
    double product = 1;
    const double *near = gp->near;
    for (size_t j = 0; j < gp->feature_count; j++, near += SPACE_STEPS + 1) {
        double value = near[space_steps(gp->space->is_name[j], a[j], b[j])];
        sum += value;
        product *= value;
    }
    double mean = gp->feature_count > 0 ? sum / (double)gp->feature_count : 1;
    return signal * (mean + product) / 2;
}

static void fill_kernel(struct gp *gp)
{
    double signal = exp(gp->at.signal);
    for (size_t i = 0; i < gp->count; i++) {
        for (size_t j = 0; j <= i; j++) {
            double value = kernel_of(gp, &gp->rows[i * gp->feature_count],
                                     &gp->rows[j * gp->feature_count], signal);
            gp->kernel[i * gp->count + j] = value;
            gp->kernel[j * gp->count + i] = value;
        }
    }
}

/* ---- linear algebra ---- */

/* Column by column; the column under way is copied beside so that the inner loop reads neighbours.
 */
static bool factorise(struct gp *gp, double *column)
{
    size_t n = gp->count;
    double *a = gp->factor;
    for (size_t k = 0; k < n; k++) {
        if (!(a[k * n + k] > 0)) {
            return false;
        }
        double pivot = sqrt(a[k * n + k]);
        a[k * n + k] = pivot;
        for (size_t i = k + 1; i < n; i++) {
            a[i * n + k] /= pivot;
            column[i] = a[i * n + k];
        }
        for (size_t i = k + 1; i < n; i++) {
            double scale = column[i];
            double *row = &a[i * n];
            for (size_t j = k + 1; j <= i; j++) {
                row[j] -= scale * column[j];
            }
        }
    }
    return true;
}

static void invert(struct gp *gp)
{
    size_t n = gp->count;
    memset(gp->inverse, 0, n * n * sizeof *gp->inverse);
    for (size_t i = 0; i < n; i++) {
        const double *factor = &gp->factor[i * n];
        double *row = &gp->inverse[i * n];
        for (size_t k = 0; k < i; k++) {
            double scale = factor[k];
            const double *above = &gp->inverse[k * n];
            for (size_t j = 0; j <= k; j++) {
                row[j] -= scale * above[j];
            }
        }
        for (size_t j = 0; j < i; j++) {
            row[j] /= factor[i];
        }
        row[i] = 1 / factor[i];
    }
}

/* K^-1 y = L^-T (L^-1 y), and with it the likelihood. `half` is room for the inner product. */
static void weigh(struct gp *gp, double *half)
{
    size_t n = gp->count;
    gp->log_likelihood = 0;
    memset(gp->weights, 0, n * sizeof *gp->weights);
    for (size_t i = 0; i < n; i++) {
        const double *row = &gp->inverse[i * n];
        half[i] = 0;
        for (size_t j = 0; j <= i; j++) {
            half[i] += row[j] * gp->y[j];
        }
        for (size_t j = 0; j <= i; j++) {
            gp->weights[j] += row[j] * half[i];
        }
        gp->log_likelihood -= half[i] * half[i] / 2 + log(gp->factor[i * n + i]);
    }
}

bool gp_compute(struct gp *gp, const struct gp_parameters *at)
{
    size_t n = gp->count;
    double spare[GP_LIMIT + GP_PENDING];
    assert(n <= COUNT_OF(spare));
    if (at != &gp->at) {
        memcpy(gp->at.length, at->length, gp->feature_count * sizeof *at->length);
        gp->at.signal = at->signal;
        gp->at.noise = at->noise;
        gp->at.drift = at->drift;
    }
    fill_near(gp);
    fill_kernel(gp);
    double noise = exp(gp->at.noise);
    double drift = exp(gp->at.drift);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            gp->factor[i * n + j] = gp->kernel[i * n + j] + drift * gp->drifts[i * n + j];
        }
        gp->factor[i * n + i] += gp->variances[i] * noise + gp->doubts[i] + JITTER;
    }
    if (!factorise(gp, spare)) {
        return false;
    }
    invert(gp);
    weigh(gp, spare);
    return true;
}

/* ---- prediction ---- */

/* What is left of the variance at each point of the batch: that of L^-1 k is explained. */
static void explain(const struct gp *gp, double (*near)[GP_BATCH], double *explained)
{
    size_t n = gp->count;
    for (size_t i = 0; i < n; i++) {
        double sum[GP_BATCH] = {0};
        const double *row = &gp->inverse[i * n];
        for (size_t j = 0; j <= i; j++) {
            double scale = row[j];
            for (size_t b = 0; b < GP_BATCH; b++) {
                sum[b] += scale * near[j][b];
            }
        }
        for (size_t b = 0; b < GP_BATCH; b++) {
            explained[b] += sum[b] * sum[b];
        }
    }
}

void gp_predict(const struct gp *gp, const size_t *points, size_t point_count, size_t condition,
                double *out_means, double *out_sds)
{
    double near[GP_LIMIT + GP_PENDING][GP_BATCH];
    double explained[GP_BATCH] = {0};
    uint16_t cell[512];
    double signal = exp(gp->at.signal);
    assert(point_count <= GP_BATCH && gp->feature_count <= COUNT_OF(cell));
    for (size_t b = 0; b < GP_BATCH; b++) {
        double mean = 0;
        if (b < point_count) {
            space_cell(gp->space, points[b], condition, cell);
        }
        for (size_t i = 0; i < gp->count; i++) {
            near[i][b] =
                b < point_count ? kernel_of(gp, &gp->rows[i * gp->feature_count], cell, signal) : 0;
            mean += near[i][b] * gp->weights[i];
        }
        if (b < point_count) {
            out_means[b] = gp->centers[condition] + gp->scale * mean;
        }
    }
    explain(gp, near, explained);
    for (size_t b = 0; b < point_count; b++) {
        double left = signal - explained[b];
        out_sds[b] = gp->scale * sqrt(left > 1e-12 ? left : 1e-12);
    }
}

void gp_believe(struct gp *gp, size_t point, size_t condition, double time)
{
    double mean = 0;
    double sd = 0;
    size_t n = gp->count;
    gp_predict(gp, &point, 1, condition, &mean, &sd);
    space_cell(gp->space, point, condition, &gp->rows[n * gp->feature_count]);
    gp->times[n] = time;
    gp->variances[n] = 1;
    gp->doubts[n] = 0;
    gp->y[n] = (mean - gp->centers[condition]) / gp->scale;
    gp->count++;
    fill_drifts(gp);
    struct gp_parameters at = gp->at;
    if (!gp_compute(gp, &at)) {
        gp->count--;
        fill_drifts(gp);
        (void)gp_compute(gp, &at);
    }
}
