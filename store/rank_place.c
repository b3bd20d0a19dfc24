/*
 * Who stands where within one condition: gains against the baseline, the tied set, the order among
 * the tied, the places that each may truly have, and the chance of being the best.
 */
#include <math.h>
#include <stdlib.h>

#include "store/rank_work.h"

enum { SEED = 20000, DOMINATION_LIMIT = 2000 };

/* Half of the smallest gain that anybody cares about (1 %, strategy.smallest_gain): what is closer
 * to the best is chosen between by safety. */
static const double NEAR = 0.005;

/* ---- order ---- */

int64_t rank_condition_of(const struct rank_candidate *candidate)
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

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

/* Among those that make no difference: durable, near to the server as found, small. */
static int compare_safety(const struct rank_row *a, const struct rank_row *b)
{
    if (a->durable != b->durable) {
        return a->durable ? -1 : 1;
    }
    if (a->changed != b->changed) {
        return a->changed < b->changed ? -1 : 1;
    }
    return compare_numbers(a->memory_bytes, b->memory_bytes);
}

int rank_compare_candidates(const void *a, const void *b)
{
    const struct rank_candidate *left = a;
    const struct rank_candidate *right = b;
    enum standing left_standing = standing_of(left);
    enum standing right_standing = standing_of(right);
    int order = 0;
    if (rank_condition_of(left) != rank_condition_of(right)) {
        return rank_condition_of(left) < rank_condition_of(right) ? -1 : 1;
    }
    if (left_standing != right_standing) {
        return left_standing < right_standing ? -1 : 1;
    }
    if (left_standing == POSSIBLY_BEST && left->is_contender != right->is_contender) {
        return left->is_contender ? -1 : 1;
    }
    if (left_standing == POSSIBLY_BEST && left->is_near != right->is_near) {
        return left->is_near ? -1 : 1;
    }
    if (left_standing == POSSIBLY_BEST && left->is_near) {
        order = compare_safety(&left->row, &right->row);
    }
    if (order == 0 && left_standing == POSSIBLY_BEST) {
        order = -compare_numbers(left->merit, right->merit);
    }
    if (order == 0 && left_standing <= RANKED) {
        order = -compare_numbers(left->stat.mean, right->stat.mean);
    }
    return order != 0 ? order
                      : (left->row.point_id > right->row.point_id) -
                            (left->row.point_id < right->row.point_id);
}

/* ---- against the baseline ---- */

/* One looks at all gains of a condition and takes the largest: the intervals hold for all at once.
 * What was confirmed is one question, asked of runs that had no part in choosing it. */
static void compare_with_baseline(const struct ranking *ranking,
                                  const struct rank_candidate *baseline, size_t comparisons,
                                  struct rank_candidate *candidate)
{
    struct rank_row *row = &candidate->row;
    if (baseline == NULL || candidate->stat.count == 0) {
        return;
    }
    double gain =
        candidate->has_claim ? candidate->claim : candidate->stat.mean - baseline->stat.mean;
    row->has_versus = true;
    row->versus_mean_pct = 100 * expm1(gain);
    if (candidate == baseline) {
        return;
    }
    double half = candidate->has_claim
                      ? candidate->claim_half
                      : compare_difference_half(&candidate->stat, &baseline->stat,
                                                ranking->data.sweep.rank_confidence, comparisons);
    row->versus_low_pct = 100 * expm1(gain - half);
    row->versus_high_pct = 100 * expm1(gain + half);
}

static void compare_all_with_baseline(const struct ranking *ranking,
                                      struct rank_candidate *candidates, size_t count)
{
    const struct rank_candidate *baseline = NULL;
    size_t measured = 0;
    for (size_t i = 0; i < count; i++) {
        measured += candidates[i].stat.count > 0;
        bool is_reference = candidates[i].row.baseline && candidates[i].stat.count > 0;
        baseline = is_reference ? &candidates[i] : baseline;
    }
    for (size_t i = 0; i < count; i++) {
        compare_with_baseline(ranking, baseline, measured > 1 ? measured - 1 : 1, &candidates[i]);
    }
}

/* ---- the tied set ---- */

struct field {
    struct rank_candidate *winners; /* by value, best first */
    size_t count;
    struct compare_arm *arms; /* of those that are compared; count 0 for others */
    bool *is_possible;
    double *scratch; /* 3 * count */
    int *low;
    int *high;
    double baseline; /* its mean; NAN where it was not measured */
};

static bool field_open(const struct ranking *ranking, struct rank_candidate *winners, size_t count,
                       struct field *out, struct err *err)
{
    struct arena *arena = ranking->arena;
    *out = (struct field){.winners = winners,
                          .count = count,
                          .arms = ARENA_ARRAY(arena, struct compare_arm, count + 1),
                          .is_possible = ARENA_ARRAY(arena, bool, count + 1),
                          .scratch = ARENA_ARRAY(arena, double, 3 * count + 1),
                          .low = ARENA_ARRAY(arena, int, count + 1),
                          .high = ARENA_ARRAY(arena, int, count + 1)};
    return (out->arms != NULL && out->is_possible != NULL && out->scratch != NULL &&
            out->low != NULL && out->high != NULL) ||
           err_memory(err);
}

/* Who can be the best: all, or where some were confirmed those, the baseline, and what is better
 * than all of them beyond doubt. */
static void choose_contenders(const struct ranking *ranking, const struct field *field)
{
    const struct rank_candidate *leader = NULL;
    bool has_confirmed = false;
    for (size_t i = 0; i < field->count; i++) {
        has_confirmed = has_confirmed || field->winners[i].row.confirmed;
    }
    for (size_t i = 0; i < field->count; i++) {
        struct rank_candidate *winner = &field->winners[i];
        winner->is_contender = !has_confirmed || winner->row.confirmed || winner->row.baseline;
        bool leads = winner->is_contender && leader == NULL;
        leader = leads ? winner : leader;
    }
    for (size_t i = 0; i < field->count && leader != NULL; i++) {
        struct rank_candidate *winner = &field->winners[i];
        double half = compare_difference_half(&winner->stat, &leader->stat,
                                              ranking->data.sweep.rank_confidence, field->count);
        winner->is_contender = winner->is_contender || winner->stat.mean - leader->stat.mean > half;
    }
}

static void tie(const struct ranking *ranking, const struct field *field)
{
    double confidence = ranking->data.sweep.rank_confidence;
    choose_contenders(ranking, field);
    for (size_t i = 0; i < field->count; i++) {
        field->arms[i] = field->winners[i].stat;
        field->arms[i].count = field->winners[i].is_contender ? field->arms[i].count : 0;
    }
    compare_with_best(field->arms, field->count, confidence, field->scratch, field->is_possible);
    compare_best_chances(field->arms, field->count, confidence, SEED, field->scratch);
    for (size_t i = 0; i < field->count; i++) {
        field->winners[i].row.tied = field->is_possible[i];
        field->winners[i].row.chance = field->scratch[i];
    }
}

/* ---- places and order ---- */

/* Of two that cannot be told from the best either may be it, whatever Holm's steps say of them. */
static void find_places(const struct ranking *ranking, const struct field *field)
{
    int tied = 0;
    for (size_t i = 0; i < field->count; i++) {
        tied += field->winners[i].row.tied;
    }
    for (size_t i = 0; i < field->count; i++) {
        field->arms[i] = field->winners[i].stat;
    }
    compare_rank_intervals(field->arms, field->count, ranking->data.sweep.rank_confidence,
                           field->scratch, field->low, field->high);
    compare_shrink(field->arms, field->count, field->scratch);
    for (size_t i = 0; i < field->count; i++) {
        struct rank_candidate *winner = &field->winners[i];
        winner->row.rank_low = field->low[i];
        winner->row.rank_high = field->high[i];
        if (winner->row.tied) {
            winner->row.rank_low = 1;
            winner->row.rank_high = tied > field->high[i] ? tied : field->high[i];
        }
        bool was_chosen = !winner->row.confirmed && !winner->row.baseline;
        winner->merit = was_chosen ? field->scratch[i] : winner->stat.mean;
    }
}

static void find_near(const struct field *field)
{
    double best = -INFINITY;
    for (size_t i = 0; i < field->count; i++) {
        const struct rank_candidate *winner = &field->winners[i];
        if (winner->row.tied) {
            best = fmax(best, winner->merit);
        }
    }
    for (size_t i = 0; i < field->count; i++) {
        struct rank_candidate *winner = &field->winners[i];
        winner->is_near = winner->row.tied && winner->merit >= best - log1p(NEAR);
    }
}

/* Natural units again, of what a winner is expected to be worth. */
static void expect(const struct ranking *ranking, double baseline, struct rank_candidate *candidate)
{
    struct rank_row *row = &candidate->row;
    row->expected = exp(ranking->higher ? candidate->merit : -candidate->merit);
    double gain = candidate->has_claim ? candidate->claim : candidate->merit - baseline;
    row->expected_pct = 100 * expm1(gain);
}

static bool finish_winners(const struct ranking *ranking, const struct field *field,
                           struct err *err)
{
    bool is_known = !isnan(ranking->noise.variance);
    for (size_t i = 0; i < field->count; i++) {
        struct rank_candidate *winner = &field->winners[i];
        winner->row.rank = winner->row.tied && is_known ? 1 : (int)i + 1;
        if (is_known) {
            expect(ranking, field->baseline, winner);
        }
    }
    if (field->count > 0 && !field->winners[0].row.confirmed && !field->winners[0].row.baseline) {
        struct rank_row *first = &field->winners[0].row;
        first->flags = rank_join_words(ranking->arena, first->flags, "unconfirmed");
        return first->flags != NULL || err_memory(err);
    }
    return true;
}

/* ---- the second objective ---- */

static bool is_surely_better(const struct compare_arm *a, const struct compare_arm *b,
                             double confidence, size_t comparisons)
{
    return a->mean - b->mean > compare_difference_half(a, b, confidence, comparisons);
}

static bool dominates(const struct rank_candidate *a, const struct rank_candidate *b,
                      double confidence, size_t comparisons)
{
    return a->stat.mean >= b->stat.mean && a->second.mean >= b->second.mean &&
           (is_surely_better(&a->stat, &b->stat, confidence, comparisons) ||
            is_surely_better(&a->second, &b->second, confidence, comparisons));
}

/* Not of very many: each is compared with each. */
static void find_nondominated(const struct ranking *ranking, struct rank_candidate *candidates,
                              size_t count)
{
    if (ranking->second == SIZE_MAX || isnan(ranking->noise.variance) || count > DOMINATION_LIMIT) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct rank_candidate *candidate = &candidates[i];
        bool is_free = candidate->can_win && candidate->second.count > 0;
        candidate->row.has_domination = is_free;
        for (size_t j = 0; j < count && is_free; j++) {
            is_free = !candidates[j].can_win || candidates[j].second.count == 0 ||
                      !dominates(&candidates[j], candidate, ranking->data.sweep.rank_confidence,
                                 2 * (count - 1));
        }
        candidate->row.nondominated = is_free;
    }
}

bool rank_place(const struct ranking *ranking, struct rank_candidate *candidates, size_t count,
                struct err *err)
{
    struct field field;
    size_t winners = 0;
    double baseline = NAN;
    for (size_t i = 0; i < count; i++) {
        const struct rank_drift *drift = candidates[i].row.drift;
        winners += standing_of(&candidates[i]) <= RANKED;
        baseline = candidates[i].row.baseline ? candidates[i].stat.mean : baseline;
        if (drift != NULL && drift->is_corrected && candidates[i].stat.count > 0) {
            candidates[i].row.raw_mean = exp(candidates[i].raw);
        }
    }
    compare_all_with_baseline(ranking, candidates, count);
    if (!field_open(ranking, candidates, winners, &field, err)) {
        return false;
    }
    field.baseline = baseline;
    find_nondominated(ranking, candidates, winners);
    tie(ranking, &field);
    find_places(ranking, &field);
    if (!isnan(ranking->noise.variance)) {
        find_near(&field);
    }
    size_t tied = 0;
    for (size_t i = 0; i < winners; i++) {
        tied += candidates[i].row.tied;
    }
    qsort(candidates, winners, sizeof *candidates, rank_compare_candidates);
    if (tied == 1) {
        candidates[0].row.tied = false; /* the best alone is tied with nobody */
    }
    return finish_winners(ranking, &field, err);
}
