/*
 * The ranking, by the formulas of rank.h. Everything is compared in logarithms, so that
 * differences are ratios; the noise is the standard deviation within arms, pooled over all that
 * were measured more than once. Without such repeats no interval is claimed.
 */
#include "store/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/rank_work.h"
#include "sweeper/stats/summary.h"

enum { LEAST_DEGREES = 2 };

/* ---- options ---- */

static bool lower_is_better(const char *name)
{
    return (text_ends_with(name, "_ms") || text_ends_with(name, "_s") ||
            text_ends_with(name, "error_pct")) &&
           !text_ends_with(name, "per_s");
}

static bool choose_metric(struct ranking *ranking, struct err *err)
{
    const struct rank_options *options = ranking->options;
    struct rank_data *data = &ranking->data;
    ranking->by = options->by != NULL ? options->by : data->sweep.rank_by;
    ranking->metric = rank_data_metric(data, ranking->by);
    const char *better = options->better;
    if (better == NULL && strcmp(ranking->by, data->sweep.rank_by) == 0) {
        better = data->sweep.rank_better;
    }
    if (better == NULL && ranking->metric != SIZE_MAX) {
        better = data->metric_better[ranking->metric];
    }
    ranking->higher =
        better != NULL ? strcmp(better, "higher") == 0 : !lower_is_better(ranking->by);
    if (ranking->metric == SIZE_MAX && options->by != NULL && data->metric_count > 0) {
        const char *near = text_nearest(options->by, data->metric_names, data->metric_count);
        err_set(err, ERR_CODE_not_found, "no trial has a metric \"%s\"", options->by);
        return err_hint(err, near != NULL ? "did you mean \"%s\"?" : "`dbsweep export` lists %s",
                        near != NULL ? near : "them");
    }
    return true;
}

static bool parse_rules(struct ranking *ranking, struct err *err)
{
    const char *under =
        ranking->options->under != NULL ? ranking->options->under : ranking->data.sweep.rank_under;
    const char *where = ranking->options->where;
    return (under == NULL || under[0] == '\0' ||
            rule_parse(under, ranking->arena, &ranking->under, err)) &&
           (where == NULL || rule_parse(where, ranking->arena, &ranking->where, err));
}

/* ---- noise ---- */

/* Natural logarithms of one metric over the arm's runs; 0 where one has none. */
static size_t log_values(const struct ranking *ranking, const struct rank_arm *arm, size_t metric,
                         double *out)
{
    size_t count = rank_data_values(&ranking->data, arm, metric, out);
    for (size_t i = 0; i < count; i++) {
        if (!(out[i] > 0) || isinf(out[i])) {
            return 0;
        }
        out[i] = log(out[i]);
    }
    return count;
}

static void pool_noise(const struct ranking *ranking, size_t metric, double *scratch,
                       struct rank_noise *out)
{
    double squares = 0;
    *out = (struct rank_noise){.sd = NAN};
    for (size_t i = 0; i < ranking->data.arm_count; i++) {
        struct summary summary;
        size_t count = log_values(ranking, &ranking->data.arms[i], metric, scratch);
        if (count >= 2) {
            summary_of(scratch, count, &summary);
            squares += summary.sd * summary.sd * (double)(count - 1);
            out->degrees += (double)(count - 1);
        }
    }
    if (out->degrees >= LEAST_DEGREES) {
        out->sd = sqrt(squares / out->degrees);
    }
}

double rank_half_width(const struct ranking *ranking, const struct rank_noise *noise,
                       double variance)
{
    if (isnan(noise->sd)) {
        return NAN;
    }
    double probability = (1 + ranking->data.sweep.rank_confidence) / 2;
    return summary_t_quantile(probability, noise->degrees) * noise->sd * sqrt(variance);
}

/* ---- metrics of one arm ---- */

/* Geometric mean and interval; a metric that is zero somewhere (error_pct) gets its plain mean. */
static void summarise_metric(const struct ranking *ranking, const struct rank_noise *noise,
                             const double *values, size_t count, struct rank_metric *out)
{
    struct summary plain;
    double sum = 0;
    bool is_positive = true;
    summary_of(values, count, &plain);
    for (size_t i = 0; i < count; i++) {
        is_positive = is_positive && values[i] > 0;
        sum += is_positive ? log(values[i]) : 0;
    }
    out->cv_pct = plain.cv_pct;
    out->low = NAN;
    out->high = NAN;
    if (!is_positive) {
        out->mean = plain.mean;
        return;
    }
    double mean = sum / (double)count;
    /* Rounding must not carry it over a limit that all runs keep. */
    out->mean = fmin(fmax(exp(mean), plain.min), plain.max);
    double half = rank_half_width(ranking, noise, 1.0 / (double)count);
    out->low = out->mean * exp(-half);
    out->high = out->mean * exp(half);
}

static bool summarise(struct ranking *ranking, const struct rank_noise *noises,
                      struct rank_candidate *candidate, double *values, struct err *err)
{
    const struct rank_data *data = &ranking->data;
    struct rank_row *row = &candidate->row;
    row->metrics = ARENA_ARRAY(ranking->arena, struct rank_metric, data->metric_count + 1);
    if (row->metrics == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < data->metric_count; i++) {
        size_t count = rank_data_values(data, candidate->arm, i, values);
        if (count > 0) {
            struct rank_metric *metric = &row->metrics[row->metric_count++];
            metric->name = data->metric_names[i];
            summarise_metric(ranking, &noises[i], values, count, metric);
        }
    }
    return true;
}

/* ---- candidates ---- */

static bool has_word(const char *words, const char *word, size_t length)
{
    for (const char *at = words; *at != '\0'; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == length && strncmp(at, word, length) == 0) {
            return true;
        }
        at += here;
    }
    return false;
}

const char *rank_join_words(struct arena *arena, const char *left, const char *right)
{
    const char *words = left;
    for (const char *at = right; words != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (length > 0 && !has_word(words, at, length)) {
            words = arena_printf(arena, "%s%s%.*s", words, words[0] != '\0' ? " " : "", (int)length,
                                 at);
        }
        at += length;
    }
    return words;
}

/* Repeats that differ by more than a tenth and by more than five times the noise. */
static bool is_unstable(const struct ranking *ranking, const double *logs, size_t count)
{
    struct summary summary;
    if (count < 2 || isnan(ranking->noise.sd)) {
        return false;
    }
    summary_of(logs, count, &summary);
    return summary.max - summary.min > fmax(log1p(0.1), 5 * ranking->noise.sd);
}

/* `logs` are those of the ranked metric. */
static const char *collect_flags(struct ranking *ranking, const struct rank_arm *arm,
                                 const double *logs, size_t count)
{
    const char *flags = "";
    for (size_t i = arm->first; flags != NULL && i < arm->first + arm->count; i++) {
        flags = rank_join_words(ranking->arena, flags, ranking->data.trials[i].flags);
    }
    const char *own[] = {count == 1 && !isnan(ranking->noise.sd) ? "one-trial" : "",
                         is_unstable(ranking, logs, count) ? "unstable" : "",
                         arm->is_durable ? "" : "less-durable"};
    for (size_t i = 0; flags != NULL && i < COUNT_OF(own); i++) {
        flags = rank_join_words(ranking->arena, flags, own[i]);
    }
    return flags;
}

/* The arm's trials are in the order of trials: each point once, lowest first. */
static int64_t *collect_points(const struct ranking *ranking, const struct rank_arm *arm,
                               size_t *out_count)
{
    int64_t *points = ARENA_ARRAY(ranking->arena, int64_t, arm->count);
    size_t count = 0;
    for (size_t i = arm->first; points != NULL && i < arm->first + arm->count; i++) {
        int64_t point = ranking->data.trials[i].point_id;
        size_t at = count;
        bool is_known = false;
        for (size_t j = 0; j < count; j++) {
            is_known = is_known || points[j] == point;
        }
        for (; !is_known && at > 0 && points[at - 1] > point; at--) {
            points[at] = points[at - 1];
        }
        if (!is_known) {
            points[at] = point;
            count++;
        }
    }
    *out_count = count;
    return points;
}

static const char *last_reason(const struct rank_data *data, const struct rank_arm *arm)
{
    const char *reason = "no trial ended";
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        reason = data->trials[i].is_done ? reason : data->trials[i].reason;
    }
    return reason;
}

static bool fill_row(struct ranking *ranking, const struct rank_arm *arm,
                     struct rank_candidate *candidate, struct err *err)
{
    struct rank_row *row = &candidate->row;
    *row = (struct rank_row){.point_id = arm->point_id,
                             .baseline = arm->is_baseline,
                             .durable = arm->is_durable,
                             .trials = arm->done,
                             .failed = arm->failed,
                             .versus_low_pct = NAN,
                             .versus_high_pct = NAN};
    row->points = collect_points(ranking, arm, &row->point_count);
    return row->points != NULL
               ? rank_data_pairs(ranking->store, &ranking->data, arm, ranking->arena, row, err)
               : err_memory(err);
}

static bool make_candidate(struct ranking *ranking, const struct rank_arm *arm,
                           const struct rank_noise *noises, double *values,
                           struct rank_candidate *candidate, struct err *err)
{
    candidate->arm = arm;
    candidate->key = arm->key;
    if (!fill_row(ranking, arm, candidate, err) ||
        !summarise(ranking, noises, candidate, values, err)) {
        return false;
    }
    struct rank_row *row = &candidate->row;
    size_t count = log_values(ranking, arm, ranking->metric, values);
    candidate->can_win = count > 0;
    row->flags = collect_flags(ranking, arm, values, count);
    if (count == 0) {
        row->reason = arm->done > 0
                          ? arena_printf(ranking->arena, "it has no positive %s", ranking->by)
                          : last_reason(&ranking->data, arm);
        return (row->reason != NULL && row->flags != NULL) || err_memory(err);
    }
    struct summary summary;
    summary_of(values, count, &summary);
    candidate->value = ranking->higher ? summary.mean : -summary.mean;
    candidate->variance = 1.0 / (double)count;
    return row->flags != NULL || err_memory(err);
}

static bool make_candidates(struct ranking *ranking, struct err *err)
{
    struct rank_data *data = &ranking->data;
    double *values = ARENA_ARRAY(ranking->arena, double, data->trial_count + 1);
    struct rank_noise *noises =
        ARENA_ARRAY(ranking->arena, struct rank_noise, data->metric_count + 1);
    ranking->candidates = ARENA_ARRAY(ranking->arena, struct rank_candidate, data->arm_count + 1);
    if (values == NULL || noises == NULL || ranking->candidates == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < data->metric_count; i++) {
        pool_noise(ranking, i, values, &noises[i]);
    }
    ranking->noise =
        ranking->metric != SIZE_MAX ? noises[ranking->metric] : (struct rank_noise){.sd = NAN};
    for (; ranking->count < data->arm_count; ranking->count++) {
        if (!make_candidate(ranking, &data->arms[ranking->count], noises, values,
                            &ranking->candidates[ranking->count], err)) {
            return false;
        }
    }
    return true;
}

/* ---- order, ties, gain ---- */

static int64_t condition_of(const struct rank_candidate *candidate)
{
    return candidate->row.condition_count == 0 ? 0 : candidate->arm->condition_id;
}

enum standing { POSSIBLY_BEST, RANKED, UNRANKED, HIDDEN };

static enum standing standing_of(const struct rank_candidate *candidate)
{
    if (candidate->is_hidden) {
        return HIDDEN;
    }
    if (!candidate->can_win) {
        return UNRANKED;
    }
    return candidate->row.tied ? POSSIBLY_BEST : RANKED;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct rank_candidate *left = a;
    const struct rank_candidate *right = b;
    enum standing left_standing = standing_of(left);
    enum standing right_standing = standing_of(right);
    if (condition_of(left) != condition_of(right)) {
        return condition_of(left) < condition_of(right) ? -1 : 1;
    }
    if (left_standing != right_standing) {
        return left_standing < right_standing ? -1 : 1;
    }
    bool by_value = left_standing <= RANKED && left->value != right->value;
    if (by_value) {
        return left->value > right->value ? -1 : 1;
    }
    return (left->row.point_id > right->row.point_id) - (left->row.point_id < right->row.point_id);
}

/* Whether none of the winners lies above it by more than the noise of that many comparisons. A
 * better point with many runs may exclude what the best with one run cannot. */
static bool is_possibly_best(const struct ranking *ranking, const struct rank_candidate *winners,
                             size_t count, const struct rank_candidate *candidate)
{
    if (isnan(ranking->noise.sd) || count < 2) {
        return true;
    }
    double alpha = 1 - ranking->data.sweep.rank_confidence;
    double allowed = ranking->noise.sd *
                     summary_t_quantile(1 - alpha / (double)(count - 1), ranking->noise.degrees);
    for (size_t i = 0; i < count && winners[i].value > candidate->value; i++) {
        if (winners[i].value - candidate->value >
            allowed * sqrt(winners[i].variance + candidate->variance)) {
            return false;
        }
    }
    return true;
}

static void compare_with_baseline(const struct ranking *ranking,
                                  const struct rank_candidate *baseline,
                                  struct rank_candidate *candidate)
{
    struct rank_row *row = &candidate->row;
    if (baseline == NULL || candidate->variance == 0) {
        return;
    }
    double gain = candidate->value - baseline->value;
    row->has_versus = true;
    row->versus_mean_pct = 100 * expm1(gain);
    if (candidate == baseline) {
        return;
    }
    double half =
        rank_half_width(ranking, &ranking->noise, candidate->variance + baseline->variance);
    row->versus_low_pct = 100 * expm1(gain - half);
    row->versus_high_pct = 100 * expm1(gain + half);
}

static void tie(const struct ranking *ranking, struct rank_candidate *winners, size_t count)
{
    size_t tied = 0;
    for (size_t i = 0; i < count; i++) {
        winners[i].row.tied = is_possibly_best(ranking, winners, count, &winners[i]);
        tied += winners[i].row.tied;
    }
    /* The best alone is tied with nobody. */
    if (tied == 1) {
        winners[0].row.tied = false;
    }
    qsort(winners, count, sizeof *winners, compare_candidates);
    for (size_t i = 0; i < count; i++) {
        bool shares = winners[i].row.tied && !isnan(ranking->noise.sd);
        winners[i].row.rank = shares ? 1 : (int)i + 1;
    }
}

/* One condition's candidates, in order. */
static void place(const struct ranking *ranking, struct rank_candidate *candidates, size_t count)
{
    const struct rank_candidate *baseline = NULL;
    size_t winners = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_reference = candidates[i].row.baseline && candidates[i].variance > 0;
        winners += standing_of(&candidates[i]) <= RANKED;
        baseline = is_reference ? &candidates[i] : baseline;
    }
    for (size_t i = 0; i < count; i++) {
        compare_with_baseline(ranking, baseline, &candidates[i]);
    }
    tie(ranking, candidates, winners);
}

static bool finish(struct ranking *ranking, struct rank_table *out, struct err *err)
{
    size_t top = ranking->options->top > 0 ? ranking->options->top : SIZE_MAX;
    struct rank_row *unranked = ARENA_ARRAY(ranking->arena, struct rank_row, ranking->count + 1);
    size_t unranked_count = 0;
    out->rows = ARENA_ARRAY(ranking->arena, struct rank_row, ranking->count + 1);
    if (out->rows == NULL || unranked == NULL) {
        return err_memory(err);
    }
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, compare_candidates);
    for (size_t first = 0; first < ranking->count;) {
        struct rank_candidate *candidates = &ranking->candidates[first];
        size_t count = 1;
        while (first + count < ranking->count &&
               condition_of(&candidates[count]) == condition_of(&candidates[0])) {
            count++;
        }
        place(ranking, candidates, count);
        for (size_t i = 0; i < count && i < top && !candidates[i].is_hidden; i++) {
            if (candidates[i].row.rank > 0) {
                out->rows[out->row_count++] = candidates[i].row;
            } else {
                unranked[unranked_count++] = candidates[i].row;
            }
        }
        first += count;
    }
    /* One list, conditions in order; those without a rank come last of all. */
    memcpy(&out->rows[out->row_count], unranked, unranked_count * sizeof *unranked);
    out->row_count += unranked_count;
    return true;
}

static const char *note_of(const struct ranking *ranking, const struct rank_table *table)
{
    bool is_measured = false;
    for (size_t i = 0; i < ranking->count; i++) {
        is_measured = is_measured || ranking->candidates[i].row.trials > 0;
    }
    if (ranking->data.trial_count == 0) {
        return "nothing was measured yet";
    }
    if (table->row_count == 0) {
        return "no point is what --where asks for";
    }
    if (!is_measured) {
        return "every trial failed";
    }
    return !isnan(ranking->noise.sd)
               ? ""
               : "too few repeats to know the noise: no interval is claimed, and every rank may "
                 "be a tie; rank.repeats = 3 gives intervals";
}

static bool join_where_asked(struct ranking *ranking, struct err *err)
{
    const char *across = ranking->options->across != NULL ? ranking->options->across
                                                          : ranking->data.sweep.rank_across;
    if (strcmp(across, "geomean") == 0) {
        return rank_join_conditions(ranking, err);
    }
    if (strcmp(across, "each") != 0) {
        return err_set(err, ERR_CODE_usage, "--across takes each or geomean, not \"%s\"", across);
    }
    return true;
}

bool rank_compute(struct store *store, const struct rank_options *options, struct arena *arena,
                  struct rank_table *out, struct err *err)
{
    struct ranking ranking = {.store = store, .options = options, .arena = arena};
    *out = (struct rank_table){.rows = NULL};
    if (!rank_data_load(store, options->sweep_id, arena, &ranking.data, err) ||
        !choose_metric(&ranking, err) || !parse_rules(&ranking, err) ||
        !make_candidates(&ranking, err) || !rank_apply_where(&ranking, err) ||
        !rank_disqualify(&ranking, err) || !join_where_asked(&ranking, err) ||
        !finish(&ranking, out, err)) {
        return false;
    }
    out->by = ranking.by;
    out->better = ranking.higher ? "higher" : "lower";
    out->confidence = ranking.data.sweep.rank_confidence;
    out->noise_pct = 100 * ranking.noise.sd;
    out->degrees = (int)ranking.noise.degrees;
    out->note = note_of(&ranking, out);
    return true;
}
