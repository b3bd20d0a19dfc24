/*
 * The ranking, by the formulas of rank.h: what was asked for, one candidate for each arm, and the
 * table. What was measured is in rank_measure.c, who stands where in rank_place.c.
 */
#include "store/rank.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/layout.h"
#include "store/rank_work.h"

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

/* ---- candidates ---- */

const char *rank_join_words(struct arena *arena, const char *left, const char *right)
{
    const char *words = left;
    for (const char *at = right; words != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        const char *word = arena_printf(arena, "%.*s", (int)length, at);
        if (word == NULL) {
            return NULL;
        }
        if (length > 0 && !rank_has_word(words, word)) {
            words = arena_printf(arena, "%s%s%s", words, words[0] != '\0' ? " " : "", word);
        }
        at += length;
    }
    return words;
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

/* Settings that differ from the server as found, and the memory that they ask for. */
static void weigh(const struct ranking *ranking, const struct rank_arm *arm, struct rank_row *row)
{
    size_t memory = rank_data_metric(&ranking->data, "memory_allocated_mb");
    double asked_bytes = 0;
    for (size_t i = 0; i < row->asked_count; i++) {
        const struct rank_pair *pair = &row->asked[i];
        row->changed += !row->baseline && strcmp(pair->canonical, "baseline") != 0;
        asked_bytes += pair->has_number && strcmp(pair->unit, "bytes") == 0 ? pair->number : 0;
    }
    double allocated_mb = NAN;
    for (size_t i = arm->first; memory != SIZE_MAX && i < arm->first + arm->count; i++) {
        allocated_mb = fmax(allocated_mb, ranking->data.trials[i].metrics[memory]);
    }
    row->memory_bytes = isnan(allocated_mb) ? asked_bytes : allocated_mb * 1048576;
}

static bool fill_row(struct ranking *ranking, const struct rank_arm *arm,
                     const struct rank_drift *drift, struct rank_candidate *candidate,
                     struct err *err)
{
    struct rank_row *row = &candidate->row;
    *row = (struct rank_row){.point_id = arm->point_id,
                             .baseline = arm->is_baseline,
                             .durable = arm->is_durable,
                             .trials = arm->done,
                             .failed = arm->failed,
                             .versus_low_pct = NAN,
                             .versus_high_pct = NAN,
                             .chance = NAN,
                             .expected = NAN,
                             .expected_pct = NAN,
                             .raw_mean = NAN,
                             .drift = drift->runs > 0 ? drift : NULL};
    candidate->arm = arm;
    candidate->key = arm->key;
    row->points = collect_points(ranking, arm, &row->point_count);
    if (row->points == NULL) {
        return err_memory(err);
    }
    if (!rank_data_pairs(ranking->store, &ranking->data, arm, ranking->arena, row, err)) {
        return false;
    }
    weigh(ranking, arm, row);
    return true;
}

/* What its condition is called where drift is spoken of. */
static bool label_drift(struct ranking *ranking, const struct rank_row *row,
                        struct rank_drift *drift, struct err *err)
{
    const char *label = rank_condition_text(ranking->arena, row);
    drift->label = label != NULL ? layout_line(ranking->arena, label, SIZE_MAX) : NULL;
    return drift->label != NULL || err_memory(err);
}

static bool make_candidates(struct ranking *ranking, struct err *err)
{
    struct rank_data *data = &ranking->data;
    size_t condition = 0; /* arms and drifts are in the same order of conditions */
    ranking->candidates = ARENA_ARRAY(ranking->arena, struct rank_candidate, data->arm_count + 1);
    if (ranking->candidates == NULL) {
        return err_memory(err);
    }
    for (; ranking->count < data->arm_count; ranking->count++) {
        struct rank_candidate *candidate = &ranking->candidates[ranking->count];
        const struct rank_arm *arm = &data->arms[ranking->count];
        bool is_new = ranking->count == 0 || arm->condition_id != arm[-1].condition_id;
        condition += is_new && ranking->count > 0;
        struct rank_drift *drift = &ranking->drifts[condition];
        *candidate = (struct rank_candidate){.arm = NULL};
        if (!fill_row(ranking, arm, drift, candidate, err) ||
            (is_new && !label_drift(ranking, &candidate->row, drift, err))) {
            return false;
        }
    }
    return rank_measure(ranking, err) && rank_flag(ranking, err) && rank_claim(ranking, err);
}

/* ---- the table ---- */

static bool finish(struct ranking *ranking, struct rank_table *out, struct err *err)
{
    size_t top = ranking->options->top > 0 ? ranking->options->top : SIZE_MAX;
    struct rank_row *unranked = ARENA_ARRAY(ranking->arena, struct rank_row, ranking->count + 1);
    size_t unranked_count = 0;
    out->rows = ARENA_ARRAY(ranking->arena, struct rank_row, ranking->count + 1);
    if (out->rows == NULL || unranked == NULL) {
        return err_memory(err);
    }
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates,
          rank_compare_candidates);
    for (size_t first = 0; first < ranking->count;) {
        struct rank_candidate *candidates = &ranking->candidates[first];
        size_t count = 1;
        while (first + count < ranking->count &&
               rank_condition_of(&candidates[count]) == rank_condition_of(&candidates[0])) {
            count++;
        }
        if (!rank_place(ranking, candidates, count, err)) {
            return false;
        }
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
    if (!isnan(ranking->noise.variance)) {
        return "";
    }
    if (ranking->noise.degrees < RANK_LEAST_DEGREES) {
        return "too few repeats to know the noise: no interval is claimed, and every rank may "
               "be a tie; rank.repeats = 3 gives intervals";
    }
    return "fewer than 3 runs of the baseline: no interval is claimed, and every rank may be a "
           "tie; `dbsweep aa` measures the baseline";
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

bool rank_open(struct ranking *ranking, struct err *err)
{
    return rank_data_load(ranking->store, ranking->options->sweep_id, ranking->arena,
                          &ranking->data, err) &&
           choose_metric(ranking, err) && rank_fill_logs(ranking, err);
}

bool rank_compute(struct store *store, const struct rank_options *options, struct arena *arena,
                  struct rank_table *out, struct err *err)
{
    struct ranking ranking = {.store = store, .options = options, .arena = arena};
    *out = (struct rank_table){.rows = NULL};
    if (!rank_open(&ranking, err) || !parse_rules(&ranking, err) ||
        !make_candidates(&ranking, err) || !rank_apply_where(&ranking, err) ||
        !rank_disqualify(&ranking, err) || !join_where_asked(&ranking, err) ||
        !finish(&ranking, out, err)) {
        return false;
    }
    out->by = ranking.by;
    out->better = ranking.higher ? "higher" : "lower";
    out->confidence = ranking.data.sweep.rank_confidence;
    out->noise_pct = 100 * sqrt(ranking.noise.variance);
    out->degrees = (int)ranking.noise.degrees;
    out->drifts = ranking.drifts;
    out->drift_count = ranking.drift_count;
    out->second = ranking.second != SIZE_MAX ? ranking.data.metric_names[ranking.second] : NULL;
    out->baseline_runs = ranking.baseline_runs;
    out->note = note_of(&ranking, out);
    return true;
}
