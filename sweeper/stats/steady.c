/*
 * Steadiness. The variance that changes of level are held against is that of the noise between
 * them, with its own correlation: a series that wanders about one level has one level.
 */
#include "sweeper/stats/steady.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort_double.h>
#include <math.h>

#include "sweeper/stats/summary.h"

enum { MSER_BATCH = 5, THIRD_BATCHES = 10, LEAST_SEGMENT = 3, MEANS_S = 10 };

static double mean_of(const double *samples, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += samples[i];
    }
    return count > 0 ? sum / (double)count : NAN;
}

/* `part` in percent of the size of `whole`; 0 where there is nothing to be a part of. */
static double share_pct(double part, double whole)
{
    return fabs(whole) > 0 ? 100 * part / fabs(whole) : 0;
}

/* ---- the cut ---- */

/* From the end to the beginning, so that each cut adds one batch to what is left. */
struct steady_cut steady_mser5(const double *samples, size_t count)
{
    size_t batches = count / MSER_BATCH;
    size_t last = batches / 2;
    struct steady_cut cut = {.samples = last * MSER_BATCH};
    double mean = 0;
    double squares = 0;
    double least = INFINITY;
    if (count < STEADY_LEAST_SAMPLES) {
        return (struct steady_cut){0};
    }
    for (size_t left = 1; left <= batches; left++) {
        double batch = mean_of(samples + (batches - left) * MSER_BATCH, MSER_BATCH);
        double step = batch - mean;
        mean += step / (double)left;
        squares += step * (batch - mean);
        double statistic = squares / ((double)left * (double)left);
        if (batches - left <= last && statistic <= least) {
            least = statistic;
            cut.samples = (batches - left) * MSER_BATCH;
        }
    }
    cut.is_found = cut.samples < last * MSER_BATCH;
    return cut;
}

/* ---- thirds ---- */

static void batch_means(const double *samples, size_t count, double *out)
{
    size_t each = count / THIRD_BATCHES;
    for (size_t i = 0; i < THIRD_BATCHES; i++) {
        out[i] = mean_of(samples + i * each, each);
    }
}

static double welch_probability(const struct summary *a, const struct summary *b)
{
    double of_a = a->sd * a->sd / (double)a->count;
    double of_b = b->sd * b->sd / (double)b->count;
    double error = sqrt(of_a + of_b);
    double difference = fabs(a->mean - b->mean);
    if (!(error > 0)) {
        return difference > 0 ? 0 : 1;
    }
    double degrees = (of_a + of_b) * (of_a + of_b) /
                     (of_a * of_a / (double)(a->count - 1) + of_b * of_b / (double)(b->count - 1));
    return 2 * gsl_cdf_tdist_Q(difference / error, degrees);
}

struct steady_thirds steady_thirds(const double *samples, size_t count)
{
    size_t third = count / 3;
    double first[THIRD_BATCHES];
    double last[THIRD_BATCHES];
    struct summary of_first;
    struct summary of_last;
    if (count < STEADY_LEAST_SAMPLES) {
        return (struct steady_thirds){.difference_pct = NAN, .probability = NAN};
    }
    batch_means(samples, third, first);
    batch_means(samples + count - third, third, last);
    summary_of(first, THIRD_BATCHES, &of_first);
    summary_of(last, THIRD_BATCHES, &of_last);
    struct steady_thirds thirds = {
        .difference_pct = share_pct(of_last.mean - of_first.mean, mean_of(samples, count)),
        .probability = welch_probability(&of_first, &of_last)};
    thirds.is_moving =
        thirds.probability < 0.01 && fabs(thirds.difference_pct) > STEADY_TOLERATED_PCT;
    return thirds;
}

/* ---- levels ---- */

struct levels {
    size_t count;    /* means */
    double *means;   /* from the mean of all */
    double *sums;    /* [count + 1], of means */
    double *squares; /* [count + 1], of their squares */
    double *costs;   /* [count + 1], of the best segmentation of the first so many */
    size_t *starts;  /* [count + 1], where its last segment begins */
    double *sorted;  /* scratch */
    double overall;  /* the mean of all */
    double variance; /* of the noise */
};

static bool open_levels(struct levels *levels, const double *samples, size_t count, size_t group,
                        struct arena *scratch, struct err *err)
{
    size_t means = count / group;
    size_t skipped = count - means * group; /* at the beginning: the end is what matters */
    *levels = (struct levels){.count = means,
                              .means = ARENA_ARRAY(scratch, double, means + 1),
                              .sums = ARENA_ARRAY(scratch, double, means + 1),
                              .squares = ARENA_ARRAY(scratch, double, means + 1),
                              .costs = ARENA_ARRAY(scratch, double, means + 1),
                              .starts = ARENA_ARRAY(scratch, size_t, means + 1),
                              .sorted = ARENA_ARRAY(scratch, double, means + 1),
                              .overall = mean_of(samples + skipped, means * group)};
    if (levels->means == NULL || levels->sums == NULL || levels->squares == NULL ||
        levels->costs == NULL || levels->starts == NULL || levels->sorted == NULL) {
        return err_memory(err);
    }
    levels->sums[0] = 0;
    levels->squares[0] = 0;
    for (size_t i = 0; i < means; i++) {
        double mean = mean_of(samples + skipped + i * group, group) - levels->overall;
        levels->means[i] = mean;
        levels->sums[i + 1] = levels->sums[i] + mean;
        levels->squares[i + 1] = levels->squares[i] + mean * mean;
    }
    return true;
}

/* Differences of neighbours know nothing of levels but for the few that a change lies between,
 * which are clipped. For a process of first order with correlation r, differences have variance
 * 2 (1 - r) of its own and correlation -(1 - r) / 2; the long-run variance is (1 + r) / (1 - r) of
 * its own. */
static void estimate_noise(struct levels *levels)
{
    double *steps = levels->sorted;
    size_t count = levels->count - 1;
    for (size_t i = 0; i < count; i++) {
        steps[i] = fabs(levels->means[i + 1] - levels->means[i]);
    }
    gsl_sort(steps, 1, count);
    double limit = 4 * 1.4826 * (steps[(count - 1) / 2] + steps[count / 2]) / 2;
    double variance = 0;
    double product = 0;
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        double step = fmax(-limit, fmin(limit, levels->means[i + 1] - levels->means[i]));
        variance += step * step / (double)count;
        product += i > 0 ? step * before / (double)count : 0;
        before = step;
    }
    double correlation = variance > 0 ? fmax(0, fmin(0.8, 1 + 2 * product / variance)) : 0;
    double own = variance / (2 * (1 - correlation));
    double least = levels->overall / 1000; /* what is smaller does not matter */
    levels->variance = fmax(own * (1 + correlation) / (1 - correlation), least * least);
}

static double cost_of(const struct levels *levels, size_t from, size_t to)
{
    double sum = levels->sums[to] - levels->sums[from];
    double squares = levels->squares[to] - levels->squares[from];
    double residuals = squares - sum * sum / (double)(to - from);
    return levels->variance > 0 ? fmax(0, residuals) / levels->variance : 0;
}

/* Exact: every beginning of the last segment is tried. A segment is at least LEAST_SEGMENT long, so
 * that one outlier is no level. */
static void segment(struct levels *levels)
{
    double penalty = 3 * log((double)levels->count);
    levels->costs[0] = 0;
    levels->starts[0] = 0;
    for (size_t to = 1; to <= levels->count; to++) {
        levels->costs[to] = to < LEAST_SEGMENT ? INFINITY : cost_of(levels, 0, to);
        levels->starts[to] = 0;
        for (size_t from = LEAST_SEGMENT; from + LEAST_SEGMENT <= to; from++) {
            double cost = levels->costs[from] + penalty + cost_of(levels, from, to);
            if (cost < levels->costs[to]) {
                levels->costs[to] = cost;
                levels->starts[to] = from;
            }
        }
    }
}

static double level_mean(const struct levels *levels, size_t from, size_t to)
{
    return (levels->sums[to] - levels->sums[from]) / (double)(to - from);
}

/* How far the last level is from the nearest one before. */
static double nearest_difference(const struct levels *levels, size_t first)
{
    double last = level_mean(levels, first, levels->count);
    double nearest = INFINITY;
    for (size_t to = first; to > 0; to = levels->starts[to]) {
        double difference = last - level_mean(levels, levels->starts[to], to);
        nearest = fabs(difference) < fabs(nearest) ? difference : nearest;
    }
    return nearest;
}

bool steady_last_level(const double *samples, size_t count, size_t group, struct arena *scratch,
                       struct steady_level *out, struct err *err)
{
    struct levels levels;
    assert(group > 0);
    *out = (struct steady_level){.share_pct = 100};
    if (count / group < 2 * LEAST_SEGMENT) {
        return true;
    }
    if (!open_levels(&levels, samples, count, group, scratch, err)) {
        return false;
    }
    estimate_noise(&levels);
    segment(&levels);
    size_t first = levels.starts[levels.count];
    if (first == 0) {
        return true;
    }
    out->first = count - (levels.count - first) * group;
    out->share_pct = 100 * (double)(levels.count - first) / (double)levels.count;
    out->difference_pct = share_pct(nearest_difference(&levels, first), levels.overall);
    out->is_new = out->share_pct < 50 && fabs(out->difference_pct) > STEADY_TOLERATED_PCT;
    return true;
}

/* ---- all of it ---- */

/* Leaving out what the cut leaves out would change the window's mean. */
static bool reaches_into(const double *window, size_t count, struct steady_cut cut,
                         size_t warm_up_count)
{
    if (cut.samples <= warm_up_count || cut.samples - warm_up_count >= count) {
        return false;
    }
    size_t inside = cut.samples - warm_up_count;
    double all = mean_of(window, count);
    return fabs(share_pct(mean_of(window + inside, count - inside) - all, all)) >
           STEADY_TOLERATED_PCT;
}

bool steady_judge(const double *samples, size_t count, size_t warm_up_count, double interval_s,
                  struct arena *scratch, struct steady *out, struct err *err)
{
    assert(warm_up_count <= count && interval_s > 0);
    const double *window = samples + warm_up_count;
    size_t window_count = count - warm_up_count;
    size_t group = interval_s < MEANS_S ? (size_t)(MEANS_S / interval_s) : 1;
    *out = (struct steady){.cut = steady_mser5(samples, count),
                           .thirds = steady_thirds(window, window_count),
                           .level = {.share_pct = 100},
                           .reason = ""};
    if (window_count < STEADY_LEAST_SAMPLES) {
        return true;
    }
    if (!steady_last_level(window, window_count, group, scratch, &out->level, err)) {
        return false;
    }
    if (reaches_into(window, window_count, out->cut, warm_up_count)) {
        out->reason = out->cut.is_found ? "the start-up reaches into the window"
                                        : "no end of the start-up was found";
    } else if (out->thirds.is_moving) {
        out->reason = "the last third differs from the first";
    } else if (out->level.is_new) {
        out->reason = "the level changed in the second half";
    }
    out->verdict = out->reason[0] == '\0' ? STEADY_YES : STEADY_NO;
    return true;
}

/* Stricter than with a window, which only flags: what is not sure yet waits for more samples. */
static bool still_moves(const double *samples, size_t count)
{
    struct steady_thirds thirds = steady_thirds(samples, count);
    return thirds.probability < 0.05 && fabs(thirds.difference_pct) > STEADY_TOLERATED_PCT / 2;
}

bool steady_is_warm(const double *samples, size_t count, struct arena *scratch, bool *out,
                    struct err *err)
{
    struct steady_cut cut = steady_mser5(samples, count);
    size_t left = count - cut.samples;
    struct steady_level level = {0};
    *out = false;
    if (!cut.is_found || left < STEADY_LEAST_SAMPLES || still_moves(samples + cut.samples, left)) {
        return true;
    }
    if (!steady_last_level(samples + cut.samples, left, MSER_BATCH, scratch, &level, err)) {
        return false;
    }
    *out = !level.is_new;
    return true;
}
