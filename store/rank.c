/*
 * The ranking. Everything is compared in logarithms, so that differences are ratios; the noise is
 * the standard deviation within arms, pooled over all that were measured more than once. Without
 * such repeats no interval is claimed. Ties: multiple comparison with the best (Hsu; Bonferroni
 * for Dunnett's quantile).
 */
#include "store/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "knobs/rule.h"
#include "store/rank_data.h"
#include "sweeper/stats/summary.h"

enum { LEAST_DEGREES = 2 };

/* One line of the ranking while it is computed. */
struct candidate {
    const struct rank_arm *arm; /* of the first condition where several are joined */
    struct rank_row row;
    double value;    /* mean of ln(metric), negated where lower is better: higher is better */
    double variance; /* of that mean in units of the pooled variance: 1/n, or joined */
    bool can_win;
};

struct ranking {
    struct store *store;
    const struct rank_options *options;
    struct arena *arena;
    struct rank_data data;
    const char *by;
    bool higher;
    size_t metric; /* index of `by` */
    double sd;     /* pooled, of ln(by) */
    double degrees;
    bool has_noise;
    struct candidate *candidates;
    size_t count;
    struct rule *under;
    struct rule *where;
};

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

/* Natural logarithms of the arm's values; 0 where one is not positive. */
static size_t log_values(const struct ranking *ranking, const struct rank_arm *arm, double *out)
{
    size_t count = rank_data_values(&ranking->data, arm, ranking->metric, out);
    for (size_t i = 0; i < count; i++) {
        if (!(out[i] > 0)) {
            return 0;
        }
        out[i] = log(out[i]);
    }
    return count;
}

static bool pool_noise(struct ranking *ranking, struct err *err)
{
    double *values = ARENA_ARRAY(ranking->arena, double, ranking->data.trial_count + 1);
    double squares = 0;
    if (values == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < ranking->data.arm_count; i++) {
        struct summary summary;
        size_t count = log_values(ranking, &ranking->data.arms[i], values);
        if (count < 2) {
            continue;
        }
        summary_of(values, count, &summary);
        squares += summary.sd * summary.sd * (double)(count - 1);
        ranking->degrees += (double)(count - 1);
    }
    ranking->has_noise = ranking->degrees >= LEAST_DEGREES;
    ranking->sd = ranking->has_noise ? sqrt(squares / ranking->degrees) : NAN;
    return true;
}

static double half_width(const struct ranking *ranking, double variance)
{
    if (!ranking->has_noise) {
        return NAN;
    }
    double confidence = ranking->data.sweep.rank_confidence;
    return summary_t_quantile((1 + confidence) / 2, ranking->degrees) * ranking->sd *
           sqrt(variance);
}

/* ---- metrics of one arm ---- */

/* Within-arm noise of any metric is pooled for itself; of the ranked one it is ranking->sd. */
static double pooled_sd(const struct ranking *ranking, size_t metric, double *scratch,
                        double *out_degrees)
{
    double squares = 0;
    *out_degrees = 0;
    for (size_t i = 0; i < ranking->data.arm_count; i++) {
        struct summary summary;
        size_t count = rank_data_values(&ranking->data, &ranking->data.arms[i], metric, scratch);
        bool is_positive = true;
        for (size_t j = 0; j < count; j++) {
            is_positive = is_positive && scratch[j] > 0;
            scratch[j] = log(scratch[j]);
        }
        if (count < 2 || !is_positive) {
            continue;
        }
        summary_of(scratch, count, &summary);
        squares += summary.sd * summary.sd * (double)(count - 1);
        *out_degrees += (double)(count - 1);
    }
    return *out_degrees >= LEAST_DEGREES ? sqrt(squares / *out_degrees) : NAN;
}

struct noise {
    double sd;
    double degrees;
};

/* Geometric mean and interval; a metric that is zero somewhere (error_pct) gets its plain mean. */
static void summarise_metric(const struct ranking *ranking, const struct noise *noise,
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
    out->mean = exp(mean);
    if (!isnan(noise->sd)) {
        double half =
            summary_t_quantile((1 + ranking->data.sweep.rank_confidence) / 2, noise->degrees) *
            noise->sd / sqrt((double)count);
        out->low = exp(mean - half);
        out->high = exp(mean + half);
    }
}

static bool summarise(struct ranking *ranking, const struct noise *noises,
                      struct candidate *candidate, double *values, struct err *err)
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

static const char *collect_flags(struct ranking *ranking, const struct rank_arm *arm)
{
    struct text flags;
    text_open(&flags, ranking->arena);
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        const char *own = ranking->data.trials[i].flags;
        const char *so_far = text_done(&flags);
        if (own[0] != '\0' && (so_far == NULL || strstr(so_far, own) == NULL)) {
            text_addf(&flags, "%s%s", flags.size > 0 ? " " : "", own);
        }
    }
    if (!arm->is_durable) {
        text_addf(&flags, "%sless-durable", flags.size > 0 ? " " : "");
    }
    return text_done(&flags);
}

static const char *last_reason(const struct rank_data *data, const struct rank_arm *arm)
{
    const char *reason = "no trial ended";
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        reason = data->trials[i].is_done ? reason : data->trials[i].reason;
    }
    return reason;
}

static bool make_candidate(struct ranking *ranking, const struct rank_arm *arm,
                           const struct noise *noises, double *values, struct candidate *candidate,
                           struct err *err)
{
    candidate->arm = arm;
    candidate->row = (struct rank_row){.point_id = arm->point_id,
                                       .baseline = arm->is_baseline,
                                       .durable = arm->is_durable,
                                       .trials = arm->done,
                                       .failed = arm->failed,
                                       .versus_low_pct = NAN,
                                       .versus_high_pct = NAN,
                                       .flags = collect_flags(ranking, arm)};
    if (candidate->row.flags == NULL) {
        return err_memory(err);
    }
    if (!rank_data_pairs(ranking->store, &ranking->data, arm, ranking->arena, &candidate->row,
                         err) ||
        !summarise(ranking, noises, candidate, values, err)) {
        return false;
    }
    size_t count = log_values(ranking, arm, values);
    candidate->can_win = count > 0;
    if (count == 0) {
        candidate->row.reason =
            arm->done > 0 ? arena_printf(ranking->arena, "it has no positive %s", ranking->by)
                          : last_reason(&ranking->data, arm);
        return candidate->row.reason != NULL || err_memory(err);
    }
    struct summary summary;
    summary_of(values, count, &summary);
    candidate->value = ranking->higher ? summary.mean : -summary.mean;
    candidate->variance = 1.0 / (double)count;
    return true;
}

static bool make_candidates(struct ranking *ranking, struct err *err)
{
    struct rank_data *data = &ranking->data;
    double *values = ARENA_ARRAY(ranking->arena, double, data->trial_count + 1);
    struct noise *noises = ARENA_ARRAY(ranking->arena, struct noise, data->metric_count + 1);
    ranking->candidates = ARENA_ARRAY(ranking->arena, struct candidate, data->arm_count + 1);
    if (values == NULL || noises == NULL || ranking->candidates == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < data->metric_count; i++) {
        noises[i].sd = pooled_sd(ranking, i, values, &noises[i].degrees);
    }
    for (size_t i = 0; i < data->arm_count; i++) {
        if (!make_candidate(ranking, &data->arms[i], noises, values,
                            &ranking->candidates[ranking->count], err)) {
            return false;
        }
        ranking->count++;
    }
    return true;
}

/* ---- filters ---- */

struct lookup {
    const struct ranking *ranking;
    const struct rank_row *row;
};

static void pair_value(const struct rank_pair *pair, struct rule_value *out)
{
    bool is_truth = strcmp(pair->canonical, "on") == 0 || strcmp(pair->canonical, "off") == 0;
    if (strcmp(pair->canonical, "unset") == 0 || pair->canonical[0] == '\0') {
        out->kind = RULE_UNKNOWN;
    } else if (pair->has_number && is_truth) {
        *out = (struct rule_value){.kind = RULE_BOOL, .truth = pair->number != 0};
    } else if (pair->has_number) {
        *out = (struct rule_value){.kind = RULE_NUMBER, .number = pair->number};
    } else {
        *out = (struct rule_value){.kind = RULE_TEXT, .text = pair->canonical};
    }
}

static bool in_pairs(const struct rank_pair *pairs, size_t count, const char *name,
                     struct rule_value *out)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal_nocase(pairs[i].name, name)) {
            pair_value(&pairs[i], out);
            return true;
        }
    }
    return false;
}

static bool look_up(void *context, const char *name, struct rule_value *out, struct err *err)
{
    const struct lookup *lookup = context;
    const struct rank_row *row = lookup->row;
    *out = (struct rule_value){.kind = RULE_UNKNOWN};
    if (in_pairs(row->effective, row->effective_count, name, out) ||
        in_pairs(row->condition, row->condition_count, name, out) ||
        in_pairs(row->asked, row->asked_count, name, out)) {
        return true;
    }
    for (size_t i = 0; i < row->metric_count; i++) {
        if (strcmp(row->metrics[i].name, name) == 0) {
            *out = (struct rule_value){.kind = RULE_NUMBER, .number = row->metrics[i].mean};
            return true;
        }
    }
    if (rank_data_metric(&lookup->ranking->data, name) != SIZE_MAX) {
        return true; /* a metric that this arm has not */
    }
    if (strcmp(name, "trials") == 0 || strcmp(name, "failed") == 0) {
        *out = (struct rule_value){.kind = RULE_NUMBER,
                                   .number = name[0] == 't' ? row->trials : row->failed};
        return true;
    }
    if (strcmp(name, "baseline") == 0 || strcmp(name, "durable") == 0) {
        *out = (struct rule_value){.kind = RULE_BOOL,
                                   .truth = name[0] == 'b' ? row->baseline : row->durable};
        return true;
    }
    err_set(err, ERR_CODE_rule, "\"%s\" is no knob, condition or metric of this sweep", name);
    return err_hint(err, "`dbsweep rank STORE --format json` shows the names");
}

static bool apply_where(struct ranking *ranking, struct err *err)
{
    size_t kept = 0;
    for (size_t i = 0; ranking->where != NULL && i < ranking->count; i++) {
        struct lookup lookup = {.ranking = ranking, .row = &ranking->candidates[i].row};
        int truth = 0;
        if (!rule_truth(ranking->where, look_up, &lookup, &truth, err)) {
            return err_while(err, "evaluating --where");
        }
        if (truth == 1) {
            ranking->candidates[kept++] = ranking->candidates[i];
        }
    }
    ranking->count = ranking->where != NULL ? kept : ranking->count;
    return true;
}

/* Durability and the limit take the right to win, not the place in the table. */
static bool disqualify(struct ranking *ranking, struct err *err)
{
    const char *durability = ranking->options->durability != NULL
                                 ? ranking->options->durability
                                 : ranking->data.sweep.rank_durability;
    bool any = strcmp(durability, "any") == 0;
    if (!any && strcmp(durability, "baseline") != 0) {
        return err_set(err, ERR_CODE_usage, "durability is \"baseline\" or \"any\", not \"%s\"",
                       durability);
    }
    for (size_t i = 0; i < ranking->count; i++) {
        struct candidate *candidate = &ranking->candidates[i];
        struct lookup lookup = {.ranking = ranking, .row = &candidate->row};
        int truth = 1;
        if (candidate->can_win && ranking->under != NULL &&
            !rule_truth(ranking->under, look_up, &lookup, &truth, err)) {
            return err_while(err, "evaluating the limit");
        }
        if (candidate->can_win && truth != 1) {
            candidate->can_win = false;
            candidate->row.reason = arena_printf(ranking->arena, "it does not keep the limit %s",
                                                 rule_text(ranking->under));
        }
        if (candidate->can_win && !any && !candidate->row.durable) {
            candidate->can_win = false;
            candidate->row.reason = "less durable than the baseline";
        }
    }
    return true;
}

/* ---- across conditions ---- */

static size_t count_conditions(const struct ranking *ranking)
{
    size_t count = 0;
    for (size_t i = 0; i < ranking->data.arm_count; i++) {
        count +=
            i == 0 || ranking->data.arms[i].condition_id != ranking->data.arms[i - 1].condition_id;
    }
    return count;
}

static int compare_keys(const void *a, const void *b)
{
    const struct candidate *left = a;
    const struct candidate *right = b;
    int keys = strcmp(left->arm->key, right->arm->key);
    if (keys != 0) {
        return keys;
    }
    return (left->arm->condition_id > right->arm->condition_id) -
           (left->arm->condition_id < right->arm->condition_id);
}

static void join_metrics(const struct candidate *parts, size_t count, struct rank_row *row)
{
    for (size_t i = 0; i < row->metric_count; i++) {
        double sum = 0;
        size_t found = 0;
        for (size_t j = 0; j < count; j++) {
            for (size_t k = 0; k < parts[j].row.metric_count; k++) {
                if (strcmp(parts[j].row.metrics[k].name, row->metrics[i].name) == 0 &&
                    parts[j].row.metrics[k].mean > 0) {
                    sum += log(parts[j].row.metrics[k].mean);
                    found++;
                }
            }
        }
        row->metrics[i].mean = found == count ? exp(sum / (double)count) : NAN;
        row->metrics[i].low = NAN;
        row->metrics[i].high = NAN;
        row->metrics[i].cv_pct = NAN;
    }
}

/* Arms that were measured in every condition become one, by their geometric mean. */
static void join_conditions(struct ranking *ranking)
{
    size_t conditions = count_conditions(ranking);
    size_t kept = 0;
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, compare_keys);
    for (size_t first = 0; first < ranking->count;) {
        size_t count = 1;
        const char *key = ranking->candidates[first].arm->key;
        while (first + count < ranking->count &&
               strcmp(ranking->candidates[first + count].arm->key, key) == 0) {
            count++;
        }
        struct candidate joined = ranking->candidates[first];
        joined.value = 0;
        joined.variance = 0;
        joined.row.trials = 0;
        joined.row.failed = 0;
        for (size_t i = first; i < first + count; i++) {
            const struct candidate *part = &ranking->candidates[i];
            joined.can_win = joined.can_win && part->can_win;
            joined.row.reason = joined.row.reason != NULL ? joined.row.reason : part->row.reason;
            joined.value += part->value / (double)count;
            joined.variance += part->variance / (double)(count * count);
            joined.row.trials += part->row.trials;
            joined.row.failed += part->row.failed;
        }
        if (count < conditions && joined.can_win) {
            joined.can_win = false;
            joined.row.reason = "not measured in every condition";
        }
        join_metrics(&ranking->candidates[first], count, &joined.row);
        joined.row.condition_count = 0;
        ranking->candidates[kept++] = joined;
        first += count;
    }
    ranking->count = kept;
}

/* ---- order, ties, gain ---- */

static int64_t condition_of(const struct candidate *candidate)
{
    return candidate->row.condition_count == 0 ? 0 : candidate->arm->condition_id;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a;
    const struct candidate *right = b;
    if (condition_of(left) != condition_of(right)) {
        return condition_of(left) < condition_of(right) ? -1 : 1;
    }
    if (left->can_win != right->can_win) {
        return left->can_win ? -1 : 1;
    }
    if (left->can_win && left->value != right->value) {
        return left->value > right->value ? -1 : 1;
    }
    return (left->row.point_id > right->row.point_id) - (left->row.point_id < right->row.point_id);
}

/* Possibly best: not below the best by more than the noise of a comparison of that many. */
static bool is_tied(const struct ranking *ranking, const struct candidate *best,
                    const struct candidate *candidate, size_t winners)
{
    if (!ranking->has_noise || candidate == best || winners < 2) {
        return true;
    }
    double alpha = 1 - ranking->data.sweep.rank_confidence;
    double quantile = summary_t_quantile(1 - alpha / (double)(winners - 1), ranking->degrees);
    return best->value - candidate->value <=
           quantile * ranking->sd * sqrt(best->variance + candidate->variance);
}

static void compare_with_baseline(const struct ranking *ranking, const struct candidate *baseline,
                                  struct candidate *candidate)
{
    struct rank_row *row = &candidate->row;
    if (baseline == NULL || row->trials == 0 || candidate->variance == 0) {
        return;
    }
    double gain = candidate->value - baseline->value;
    row->has_versus = true;
    row->versus_mean_pct = 100 * expm1(gain);
    if (candidate == baseline) {
        return;
    }
    double half = half_width(ranking, candidate->variance + baseline->variance);
    row->versus_low_pct = 100 * expm1(gain - half);
    row->versus_high_pct = 100 * expm1(gain + half);
}

static void place(struct ranking *ranking, size_t first, size_t count)
{
    struct candidate *candidates = ranking->candidates + first;
    const struct candidate *baseline = NULL;
    size_t winners = 0;
    for (size_t i = 0; i < count; i++) {
        winners += candidates[i].can_win;
        baseline =
            candidates[i].row.baseline && candidates[i].variance > 0 ? &candidates[i] : baseline;
    }
    for (size_t i = 0; i < count; i++) {
        struct candidate *candidate = &candidates[i];
        compare_with_baseline(ranking, baseline, candidate);
        if (candidate->can_win) {
            candidate->row.rank = (int)i + 1;
            candidate->row.tied =
                winners > 1 && is_tied(ranking, &candidates[0], candidate, winners);
        }
    }
}

static bool finish(struct ranking *ranking, struct rank_table *out, struct err *err)
{
    out->rows = ARENA_ARRAY(ranking->arena, struct rank_row, ranking->count + 1);
    if (out->rows == NULL) {
        return err_memory(err);
    }
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, compare_candidates);
    for (size_t first = 0; first < ranking->count;) {
        size_t count = 1;
        while (first + count < ranking->count &&
               condition_of(&ranking->candidates[first + count]) ==
                   condition_of(&ranking->candidates[first])) {
            count++;
        }
        place(ranking, first, count);
        for (size_t i = 0; i < count; i++) {
            bool is_shown = ranking->options->top == 0 || i < ranking->options->top;
            if (is_shown) {
                out->rows[out->row_count++] = ranking->candidates[first + i].row;
            }
        }
        first += count;
    }
    /* One list, conditions in order; those without a rank come last of all. */
    struct rank_row *sorted = ARENA_ARRAY(ranking->arena, struct rank_row, out->row_count + 1);
    if (sorted == NULL) {
        return err_memory(err);
    }
    size_t used = 0;
    for (int unranked = 0; unranked < 2; unranked++) {
        for (size_t i = 0; i < out->row_count; i++) {
            if ((out->rows[i].rank == 0) == (unranked == 1)) {
                sorted[used++] = out->rows[i];
            }
        }
    }
    out->rows = sorted;
    return true;
}

static const char *note_of(const struct ranking *ranking)
{
    if (ranking->count == 0) {
        return "nothing was measured yet";
    }
    return ranking->has_noise
               ? ""
               : "too few repeats to know the noise: no interval is claimed, and every rank may "
                 "be a tie; rank.repeats = 3 gives intervals";
}

bool rank_compute(struct store *store, const struct rank_options *options, struct arena *arena,
                  struct rank_table *out, struct err *err)
{
    struct ranking ranking = {.store = store, .options = options, .arena = arena};
    *out = (struct rank_table){.rows = NULL};
    if (!rank_data_load(store, options->sweep_id, arena, &ranking.data, err) ||
        !choose_metric(&ranking, err) || !parse_rules(&ranking, err) ||
        !pool_noise(&ranking, err) || !make_candidates(&ranking, err) ||
        !apply_where(&ranking, err) || !disqualify(&ranking, err)) {
        return false;
    }
    const char *across = options->across != NULL ? options->across : ranking.data.sweep.rank_across;
    if (strcmp(across, "geomean") == 0) {
        join_conditions(&ranking);
    } else if (strcmp(across, "each") != 0) {
        return err_set(err, ERR_CODE_usage, "--across takes each or geomean, not \"%s\"", across);
    }
    out->by = ranking.by;
    out->better = ranking.higher ? "higher" : "lower";
    out->note = note_of(&ranking);
    return finish(&ranking, out, err);
}
