/*
 * Ranking over all conditions: an arm's lines of each condition become one, by the geometric mean.
 * Only what was measured in every condition can be compared: the mean over the easy ones alone
 * would win.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/rank_work.h"

/* ---- which conditions, which lines ---- */

/* Conditions that --where left nothing of are no part of the question. */
static size_t keep_conditions(struct ranking *ranking)
{
    size_t kept = 0;
    size_t conditions = 0;
    for (size_t first = 0; first < ranking->count;) {
        int64_t condition = ranking->candidates[first].arm->condition_id;
        size_t end = first;
        bool is_visible = false;
        for (; end < ranking->count && ranking->candidates[end].arm->condition_id == condition;
             end++) {
            is_visible = is_visible || !ranking->candidates[end].is_hidden;
        }
        for (; first < end; first++) {
            if (is_visible) {
                ranking->candidates[kept++] = ranking->candidates[first];
            }
        }
        conditions += is_visible;
    }
    ranking->count = kept;
    return conditions;
}

static int compare_points(const void *a, const void *b)
{
    const struct rank_candidate *left = a;
    const struct rank_candidate *right = b;
    if (left->row.point_id != right->row.point_id) {
        return left->row.point_id < right->row.point_id ? -1 : 1;
    }
    return (left->row.trials == 0) - (right->row.trials == 0);
}

/* A point that failed under this condition is the one that was measured under another. */
static void adopt_keys(struct ranking *ranking)
{
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, compare_points);
    for (size_t i = 1; i < ranking->count; i++) {
        struct rank_candidate *candidate = &ranking->candidates[i];
        const struct rank_candidate *before = &ranking->candidates[i - 1];
        if (candidate->row.trials == 0 && candidate->row.point_id == before->row.point_id) {
            candidate->key = before->key;
        }
    }
}

static int compare_keys(const void *a, const void *b)
{
    const struct rank_candidate *left = a;
    const struct rank_candidate *right = b;
    int keys = strcmp(left->key, right->key);
    if (keys != 0) {
        return keys;
    }
    if (left->arm->condition_id != right->arm->condition_id) {
        return left->arm->condition_id < right->arm->condition_id ? -1 : 1;
    }
    return (left->row.trials == 0) - (right->row.trials == 0);
}

/* Where another point came out the same under this condition, the failures are counted there. */
static void fold_failures(struct ranking *ranking)
{
    size_t kept = 0;
    for (size_t i = 0; i < ranking->count; i++) {
        const struct rank_candidate *candidate = &ranking->candidates[i];
        struct rank_candidate *before = kept > 0 ? &ranking->candidates[kept - 1] : NULL;
        if (before != NULL && strcmp(before->key, candidate->key) == 0 &&
            before->arm->condition_id == candidate->arm->condition_id) {
            before->row.failed += candidate->row.failed;
        } else {
            ranking->candidates[kept++] = *candidate;
        }
    }
    ranking->count = kept;
}

/* ---- one line of several ---- */

static const struct rank_metric *metric_of(const struct rank_row *row, const char *name)
{
    for (size_t i = 0; i < row->metric_count; i++) {
        if (strcmp(row->metrics[i].name, name) == 0) {
            return &row->metrics[i];
        }
    }
    return NULL;
}

/* Independent intervals add up in squares: half^2 = sum of half_i^2 / count^2, in logarithms. A
 * metric that is zero somewhere (error_pct) gets its plain mean. */
static void join_metric(const struct rank_candidate *parts, size_t count, struct rank_metric *out)
{
    double logs = 0;
    double squares = 0;
    double plain = 0;
    bool is_positive = true;
    for (size_t i = 0; i < count; i++) {
        const struct rank_metric *part = metric_of(&parts[i].row, out->name);
        double mean = part != NULL ? part->mean : (double)NAN;
        double half = part != NULL ? log(part->high / mean) : (double)NAN;
        is_positive = is_positive && !(mean <= 0);
        logs += is_positive ? log(mean) : 0;
        squares += half * half;
        plain += mean / (double)count;
    }
    double mean = logs / (double)count;
    double half = is_positive ? sqrt(squares) / (double)count : (double)NAN;
    out->mean = is_positive ? exp(mean) : plain;
    out->low = exp(mean - half);
    out->high = exp(mean + half);
    out->cv_pct = NAN;
}

/* Independent means: the joined one's square error is the sum of theirs over count^2, on the fewest
 * degrees of freedom of all. */
static void join_stat(const struct compare_arm *part, size_t count, struct compare_arm *into)
{
    double error = part->variance / (double)part->count;
    *into = (struct compare_arm){.count = 1,
                                 .mean = into->mean + part->mean / (double)count,
                                 .variance = into->variance + error / (double)(count * count),
                                 .degrees = fmin(into->degrees, part->degrees)};
}

static void join_claim(const struct rank_candidate *part, size_t count, struct rank_candidate *into)
{
    double half = part->claim_half / (double)count;
    into->has_claim = into->has_claim && part->has_claim;
    into->claim += part->claim / (double)count;
    into->claim_half = sqrt(into->claim_half * into->claim_half + half * half);
    into->row.baseline_runs += part->row.baseline_runs;
    into->row.confirmed = into->row.confirmed && part->row.confirmed;
    into->row.confirming += part->row.confirming;
}

static bool join_part(const struct rank_candidate *part, size_t count, struct arena *arena,
                      struct rank_candidate *into)
{
    join_stat(&part->stat, count, &into->stat);
    join_stat(&part->second, count, &into->second);
    join_claim(part, count, into);
    into->can_win = into->can_win && part->can_win;
    into->is_hidden = into->is_hidden || part->is_hidden;
    into->raw += part->raw / (double)count;
    into->row.reason = into->row.reason != NULL ? into->row.reason : part->row.reason;
    into->row.durable = into->row.durable && part->row.durable;
    into->row.trials += part->row.trials;
    into->row.failed += part->row.failed;
    into->row.memory_bytes = fmax(into->row.memory_bytes, part->row.memory_bytes);
    into->row.flags = rank_join_words(arena, into->row.flags, part->row.flags);
    return into->row.flags != NULL;
}

static bool join(const struct rank_candidate *parts, size_t count, size_t conditions,
                 struct arena *arena, struct rank_candidate *out)
{
    const struct compare_arm nothing = {.degrees = INFINITY};
    struct rank_candidate joined = parts[0];
    bool is_whole = count == conditions;
    bool has_second = true;
    joined.stat = joined.second = nothing;
    joined.has_claim = true;
    joined.raw = joined.claim = joined.claim_half = 0;
    joined.row.trials = joined.row.failed = 0;
    joined.row.baseline_runs = joined.row.confirming = 0;
    joined.row.drift = NULL;
    for (size_t i = 0; i < count; i++) {
        is_whole = is_whole && parts[i].stat.count > 0;
        has_second = has_second && parts[i].second.count > 0;
        if (!join_part(&parts[i], count, arena, &joined)) {
            return false;
        }
    }
    joined.merit = joined.stat.mean;
    if (!has_second) {
        joined.second.count = 0;
    }
    if (!is_whole) {
        joined.can_win = false;
        joined.has_claim = false;
        joined.row.confirmed = false;
        joined.stat.count = 0;
        joined.second.count = 0;
        joined.row.metric_count = 0;
        joined.row.reason =
            joined.row.reason != NULL ? joined.row.reason : "not measured in every condition";
    }
    joined.row.condition_count = 0;
    for (size_t i = 0; i < joined.row.metric_count; i++) {
        join_metric(parts, count, &joined.row.metrics[i]);
    }
    *out = joined;
    return true;
}

bool rank_join_conditions(struct ranking *ranking, struct err *err)
{
    size_t conditions = keep_conditions(ranking);
    size_t kept = 0;
    adopt_keys(ranking);
    qsort(ranking->candidates, ranking->count, sizeof *ranking->candidates, compare_keys);
    fold_failures(ranking);
    for (size_t first = 0; first < ranking->count;) {
        const struct rank_candidate *parts = &ranking->candidates[first];
        size_t count = 1;
        while (first + count < ranking->count && strcmp(parts[count].key, parts[0].key) == 0) {
            count++;
        }
        struct rank_candidate joined;
        if (!join(parts, count, conditions, ranking->arena, &joined)) {
            return err_memory(err);
        }
        ranking->candidates[kept++] = joined;
        first += count;
    }
    ranking->count = kept;
    return true;
}
