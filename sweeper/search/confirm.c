/*
 * Blocks of all arms and the baseline, each in an order of its own. From the third block on, arms
 * that are significantly worse than the best one go (Hsu's multiple comparison with the best, by
 * Bonferroni's inequality over arms and looks): what is left in the end is a set of equals, or one.
 *
 * The phase is played back from the history at each call: arms from what was known before its
 * first trial, then block after block, until a trial is missing.
 */
#include "sweeper/search/confirm.h"

#include <math.h>

#include "sweeper/search/recommend.h"
#include "sweeper/search/tally.h"
#include "sweeper/stats/summary.h"

enum { RESERVE_PART = 4, RESERVE_LEAST = 9, PRIOR_DEGREES_MOST = 10 };
/* One failure may have come by chance. */
#define FAILED_MOST 2
#define ALPHA 0.05

int64_t confirm_reserve(const struct grid *grid, int64_t trial_count)
{
    int64_t least = RESERVE_LEAST * (int64_t)grid->condition_count;
    int64_t part = (trial_count + RESERVE_PART - 1) / RESERVE_PART;
    int64_t reserve = part > least ? part : least;
    return reserve < trial_count / 2 ? reserve : trial_count / 2;
}

struct arm {
    size_t point;
    bool is_baseline;
    bool is_alive;
    uint32_t count;  /* trials of the phase: done, failed or running */
    uint32_t voids;  /* of this call, in a row */
    double *values;  /* [most] y of each; NAN: running or failed */
    uint32_t failed; /* of count */
};

struct arms { /* of one condition */
    struct arm *items;
    size_t count;
};

struct phase {
    const struct strategy_spec *spec;
    const struct grid *grid;
    const struct history *history;
    size_t begin;  /* index of its first trial; history.count: it has not begun */
    int64_t left;  /* trials that are affordable now */
    int64_t spent; /* trials of the phase */
    uint32_t most; /* blocks */
    struct sample before;
    struct sample all;
    struct arms *conditions;
};

/* ---- which trials are the phase's ---- */

static bool is_search(const struct grid *grid, const struct history *history,
                      const struct past_trial *trial)
{
    return (trial->purpose == PURPOSE_EXPLORE || trial->purpose == PURPOSE_REPEAT) &&
           trial->point < grid->point_count && tally_state(history, trial) != TRIAL_VOID;
}

struct confirm_span confirm_find(const struct grid *grid, const struct history *history)
{
    struct confirm_span span = {.begin = history->count};
    for (size_t i = history->count; i > 0 && !span.has_search; i--) {
        const struct past_trial *trial = &history->trials[i - 1];
        if (is_search(grid, history, trial)) {
            span.has_search = true;
        } else if (trial->purpose == PURPOSE_CONFIRM) {
            span.begin = i - 1;
            span.has_begun = true;
        }
    }
    for (size_t i = span.begin; i < history->count; i++) {
        span.trial_count += tally_state(history, &history->trials[i]) != TRIAL_VOID;
    }
    return span;
}

static void take_trial(struct phase *phase, const struct past_trial *trial, double y)
{
    enum trial_state state = tally_state(phase->history, trial);
    struct arms *arms = &phase->conditions[trial->condition];
    for (size_t i = 0; i < arms->count; i++) {
        struct arm *arm = &arms->items[i];
        if (arm->point != trial->point) {
            continue;
        }
        if (state == TRIAL_VOID) {
            arm->voids += trial->call_id == phase->history->call_id;
            continue;
        }
        arm->voids = 0;
        arm->failed += state == TRIAL_FAILED;
        if (arm->count < phase->most) {
            arm->values[arm->count++] = y;
        }
    }
}

static void take_trials(struct phase *phase)
{
    size_t row = 0;
    for (size_t i = phase->begin; i < phase->history->count; i++) {
        const struct past_trial *trial = &phase->history->trials[i];
        while (row < phase->all.count && phase->all.rows[row].trial < i) {
            row++;
        }
        bool has_row = row < phase->all.count && phase->all.rows[row].trial == i;
        double y = has_row && !phase->all.rows[row].is_failed ? phase->all.rows[row].y : NAN;
        if (trial->purpose == PURPOSE_CONFIRM && trial->point < phase->grid->point_count &&
            trial->condition < phase->grid->condition_count) {
            take_trial(phase, trial, y);
        }
    }
}

/* ---- arms ---- */

/* Few arms that are known well: as many as get five blocks out of what was left when the phase
 * began, two where that leaves them three blocks at least. Of the best of many arms with few runs
 * each too much would be claimed. */
static size_t arm_limit(const struct phase *phase)
{
    int64_t conditions = (int64_t)phase->grid->condition_count;
    bool has_baseline = tally_baseline(phase->grid) != SIZE_MAX;
    if (phase->left > INT64_MAX / 2) {
        return CONFIRM_ARMS;
    }
    int64_t room = (phase->left + phase->spent) / conditions;
    int64_t arms = room / CONFIRM_BLOCKS_PLANNED - has_baseline;
    if (arms < 2) {
        arms = room / CONFIRM_BLOCKS - has_baseline >= 2 ? 2 : 1;
    }
    return (size_t)(arms < CONFIRM_ARMS ? arms : CONFIRM_ARMS);
}

static bool add_arm(struct phase *phase, struct arms *arms, size_t point, bool is_baseline,
                    struct arena *scratch)
{
    struct arm *arm = &arms->items[arms->count++];
    *arm = (struct arm){.point = point,
                        .is_baseline = is_baseline,
                        .is_alive = true,
                        .values = ARENA_ARRAY(scratch, double, phase->most)};
    return arm->values != NULL;
}

static bool find_arms(struct phase *phase, size_t condition, size_t limit, struct arena *scratch,
                      struct err *err)
{
    const struct grid *grid = phase->grid;
    struct arms *arms = &phase->conditions[condition];
    struct recommended *points = NULL;
    size_t count = 0;
    size_t baseline = tally_baseline(grid);
    if (!recommend(phase->spec, grid, &phase->before, condition, limit, scratch, &points, &count,
                   err)) {
        return false;
    }
    arms->items = ARENA_ARRAY(scratch, struct arm, count + 1);
    if (arms->items == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        bool is_kept = grid->kept[points[i].point * grid->condition_count + condition];
        if (is_kept && !add_arm(phase, arms, points[i].point, false, scratch)) {
            return err_memory(err);
        }
    }
    bool with_baseline = arms->count > 0 && baseline != SIZE_MAX;
    return !with_baseline || add_arm(phase, arms, baseline, true, scratch) || err_memory(err);
}

static bool phase_open(struct phase *phase, struct arena *scratch, struct err *err)
{
    const struct grid *grid = phase->grid;
    bool wants_more = phase->spec->repeats > CONFIRM_BLOCKS_MOST;
    phase->most = wants_more ? (uint32_t)phase->spec->repeats : CONFIRM_BLOCKS_MOST;
    phase->conditions = ARENA_ARRAY(scratch, struct arms, grid->condition_count);
    if (phase->conditions == NULL) {
        return err_memory(err);
    }
    size_t limit = arm_limit(phase);
    if (!sample_take(grid, phase->history, phase->begin, scratch, &phase->before, err) ||
        !sample_take(grid, phase->history, phase->history->count, scratch, &phase->all, err)) {
        return false;
    }
    for (size_t i = 0; i < grid->condition_count; i++) {
        if (!find_arms(phase, i, limit, scratch, err)) {
            return false;
        }
    }
    take_trials(phase);
    return true;
}

/* ---- judging ---- */

/* The mean of an arm's first blocks. */
static double mean_of(const struct arm *arm, size_t blocks)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < blocks && i < arm->count; i++) {
        if (!isnan(arm->values[i])) {
            sum += arm->values[i];
            count++;
        }
    }
    return count > 0 ? sum / (double)count : -INFINITY;
}

static bool takes_part(const struct arm *arm)
{
    return arm->is_alive && arm->failed < FAILED_MOST && arm->voids < TALLY_VOID_LIMIT;
}

/* What blocks and arms do not explain, over the arms that had every block. */
static void add_residuals(const struct arms *arms, size_t blocks, double *squares, double *degrees)
{
    double grand = 0;
    size_t whole = 0;
    size_t kept = 0; /* blocks in which none failed */
    for (size_t i = 0; i < arms->count; i++) {
        const struct arm *arm = &arms->items[i];
        if (takes_part(arm) && arm->count >= blocks) {
            grand += mean_of(arm, blocks);
            whole++;
        }
    }
    if (whole < 2 || blocks < 2) {
        return;
    }
    grand /= (double)whole;
    for (size_t b = 0; b < blocks; b++) {
        double block = 0;
        for (size_t i = 0; i < arms->count; i++) {
            const struct arm *arm = &arms->items[i];
            block += takes_part(arm) && arm->count >= blocks ? arm->values[b] / (double)whole : 0;
        }
        for (size_t i = 0; i < arms->count; i++) {
            const struct arm *arm = &arms->items[i];
            if (takes_part(arm) && arm->count >= blocks) {
                double left = arm->values[b] - mean_of(arm, blocks) - block + grand;
                *squares += isnan(left) ? 0 : left * left;
            }
        }
        kept += isnan(block) ? 0 : 1;
    }
    *degrees += kept > 1 ? (double)((whole - 1) * (kept - 1)) : 0;
}

static size_t rival_count(const struct arms *arms)
{
    size_t count = 0;
    for (size_t i = 0; i < arms->count; i++) {
        count += !arms->items[i].is_baseline && takes_part(&arms->items[i]);
    }
    return count;
}

/* The least difference that is significant after so many blocks; what the sweep knew of the noise
 * before counts for up to ten degrees of freedom. INFINITY where nothing tells the noise. */
static double significant_difference(const struct phase *phase, const struct arms *arms,
                                     size_t blocks)
{
    double known = fmin(phase->before.sigma_degrees, PRIOR_DEGREES_MOST);
    double squares = known > 0 ? known * phase->before.sigma * phase->before.sigma : 0;
    double degrees = known;
    size_t rivals = rival_count(arms);
    double looks = (double)(phase->most - CONFIRM_BLOCKS);
    add_residuals(arms, blocks, &squares, &degrees);
    if (!(degrees > 0) || rivals < 2) {
        return INFINITY;
    }
    double t = summary_t_quantile(1 - ALPHA / looks / (double)(rivals - 1), degrees);
    return t * sqrt(squares / degrees * 2 / (double)blocks);
}

/* Before a block that is not one of the first: lets go what is worse. True when the condition is
 * decided: one arm is left, or those left are equal for all that matters. */
static bool decide(const struct phase *phase, struct arms *arms, size_t blocks)
{
    double least = significant_difference(phase, arms, blocks);
    double best = -INFINITY;
    for (size_t i = 0; i < arms->count; i++) {
        if (!arms->items[i].is_baseline && takes_part(&arms->items[i])) {
            best = fmax(best, mean_of(&arms->items[i], blocks));
        }
    }
    for (size_t i = 0; i < arms->count; i++) {
        struct arm *arm = &arms->items[i];
        arm->is_alive = arm->is_alive && (arm->is_baseline || mean_of(arm, blocks) >= best - least);
    }
    return rival_count(arms) <= 1 || least < phase->spec->smallest_gain * phase->all.unit;
}

/* ---- the next trial ---- */

/* How many rivals of a condition the block holds: all, or as many as the budget has trials for
 * beside the baseline. */
static size_t block_rivals(const struct phase *phase, size_t block)
{
    int64_t affordable = phase->left;
    int64_t conditions = 0;
    bool has_baseline = false;
    for (size_t c = 0; c < phase->grid->condition_count; c++) {
        const struct arms *arms = &phase->conditions[c];
        conditions += arms->count > 0;
        for (size_t i = 0; i < arms->count; i++) {
            has_baseline = has_baseline || arms->items[i].is_baseline;
            affordable += arms->items[i].count > block && phase->left < INT64_MAX / 2;
        }
    }
    int64_t rivals = conditions > 0 ? affordable / conditions - has_baseline : 0;
    return rivals > 0 ? (size_t)rivals : 0;
}

/* How many rivals of its condition are before this one. */
static size_t place_of(const struct arms *arms, const struct arm *arm, size_t block)
{
    size_t place = 0;
    for (size_t i = 0; i < arms->count; i++) {
        const struct arm *other = &arms->items[i];
        if (other->is_baseline || other == arm || !takes_part(other)) {
            continue;
        }
        double mine = mean_of(arm, block);
        double theirs = mean_of(other, block);
        bool is_equal = !(mine < theirs) && !(mine > theirs);
        place += theirs > mine || (is_equal && other < arm);
    }
    return place;
}

struct next_trial {
    bool found;
    uint64_t hash;
    struct proposal proposal;
};

/* Takes the block's first missing trial in its shuffled order. */
static void consider(const struct phase *phase, size_t condition, size_t block,
                     struct next_trial *next)
{
    const struct arms *arms = &phase->conditions[condition];
    size_t rivals = block_rivals(phase, block);
    for (size_t i = 0; rivals > 0 && i < arms->count; i++) {
        const struct arm *arm = &arms->items[i];
        bool is_in = takes_part(arm) && (arm->is_baseline || place_of(arms, arm, block) < rivals);
        uint64_t hash = tally_hash(phase->spec->seed, phase->grid->points[arm->point].key,
                                   (phase->begin << 16) + (block << 8) + condition);
        if (is_in && arm->count <= block && (!next->found || hash < next->hash)) {
            next->found = true;
            next->hash = hash;
            next->proposal = (struct proposal){
                .point = arm->point, .condition = condition, .purpose = PURPOSE_CONFIRM};
        }
    }
}

static void play_back(struct phase *phase, struct next_trial *next)
{
    bool decided_all = false;
    for (size_t block = 0; block < phase->most && !next->found && !decided_all; block++) {
        decided_all = true;
        for (size_t c = 0; c < phase->grid->condition_count; c++) {
            struct arms *arms = &phase->conditions[c];
            bool is_decided = block >= CONFIRM_BLOCKS && decide(phase, arms, block);
            if (rival_count(arms) == 0 || is_decided) {
                continue;
            }
            decided_all = false;
            consider(phase, c, block, next);
        }
    }
}

bool confirm_next(const struct strategy_spec *spec, const struct grid *grid,
                  const struct history *history, int64_t left, struct arena *scratch,
                  struct proposal *out, struct err *err)
{
    struct next_trial next = {.found = false};
    struct confirm_span span = confirm_find(grid, history);
    struct phase phase = {.spec = spec,
                          .grid = grid,
                          .history = history,
                          .begin = span.begin,
                          .left = left,
                          .spent = span.trial_count};
    *out = (struct proposal){.done = true};
    if (!span.has_search || left < 1) {
        return true;
    }
    if (!phase_open(&phase, scratch, err)) {
        return false;
    }
    play_back(&phase, &next);
    if (next.found) {
        *out = next.proposal;
    }
    return true;
}
