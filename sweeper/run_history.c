/*
 * Maps the store's rows to the grid by their keys, so that a sweep goes on from the store alone.
 */
#include "sweeper/run_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/rank.h"
#include "sweeper/search/tally.h"

enum { TYPICAL_OF = 5 };

struct keyed {
    const char *key;
    size_t index;
};

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const struct keyed *)a)->key, ((const struct keyed *)b)->key);
}

static size_t find_key(const struct keyed *sorted, size_t count, const char *key)
{
    struct keyed wanted = {.key = key};
    const struct keyed *found = bsearch(&wanted, sorted, count, sizeof *sorted, compare_keys);
    return found != NULL ? found->index : SIZE_MAX;
}

static struct keyed *sort_points(const struct grid *grid, struct arena *arena)
{
    struct keyed *sorted = ARENA_ARRAY(arena, struct keyed, grid->point_count + 1);
    for (size_t i = 0; sorted != NULL && i < grid->point_count; i++) {
        sorted[i] = (struct keyed){.key = grid->points[i].key, .index = i};
    }
    if (sorted != NULL) {
        qsort(sorted, grid->point_count, sizeof *sorted, compare_keys);
    }
    return sorted;
}

static struct keyed *sort_conditions(const struct grid *grid, struct arena *arena)
{
    struct keyed *sorted = ARENA_ARRAY(arena, struct keyed, grid->condition_count + 1);
    for (size_t i = 0; sorted != NULL && i < grid->condition_count; i++) {
        sorted[i] = (struct keyed){.key = grid->conditions[i].key, .index = i};
    }
    if (sorted != NULL) {
        qsort(sorted, grid->condition_count, sizeof *sorted, compare_keys);
    }
    return sorted;
}

/* A failure of the target is no verdict on the point: it is tried again. */
static enum trial_state state_of(const struct store_history *row)
{
    if (strcmp(row->status, "done") == 0) {
        return TRIAL_DONE;
    }
    if (strcmp(row->status, "failed") == 0 && strcmp(row->class, "POINT") == 0) {
        return TRIAL_FAILED;
    }
    return strcmp(row->status, "running") == 0 ? TRIAL_RUNNING : TRIAL_VOID;
}

static int compare_durations(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static int64_t typical_duration(const struct past_trial *trials, size_t count)
{
    int64_t last[TYPICAL_OF] = {0};
    size_t used = 0;
    for (size_t i = count; i > 0 && used < TYPICAL_OF; i--) {
        if (trials[i - 1].state == TRIAL_DONE && !trials[i - 1].is_censored) {
            last[used++] = trials[i - 1].elapsed_ms;
        }
    }
    qsort(last, used, sizeof *last, compare_durations);
    return used > 0 ? last[used / 2] : 0;
}

bool run_history_load(const struct plan *plan, struct arena *arena, struct run_history *out,
                      struct err *err)
{
    struct store_history *rows = NULL;
    size_t count = 0;
    if (!store_history_load(plan->store, plan->sweep_id, arena, &rows, &count, err)) {
        return false;
    }
    struct keyed *points = sort_points(&plan->grid, arena);
    struct keyed *conditions = sort_conditions(&plan->grid, arena);
    struct past_trial *trials = ARENA_ARRAY(arena, struct past_trial, count + 1);
    double *throughputs = ARENA_ARRAY(arena, double, count + 1);
    if (points == NULL || conditions == NULL || trials == NULL || throughputs == NULL) {
        return err_memory(err);
    }
    *out = (struct run_history){0};
    for (size_t i = 0; i < count; i++) {
        struct past_trial *trial = &trials[i];
        trial->point = find_key(points, plan->grid.point_count, rows[i].point_key);
        trial->condition = find_key(conditions, plan->grid.condition_count, rows[i].condition_key);
        trial->call_id = rows[i].call_id;
        trial->state = state_of(&rows[i]);
        trial->failed_start = trial->state == TRIAL_FAILED && rows[i].failed_start;
        trial->value = rows[i].value;
        trial->is_censored = rank_has_word(rows[i].flags, "killed");
        throughputs[i] = rows[i].throughput;
        trial->higher_is_better = strcmp(plan->sweep.rank.better, "higher") == 0;
        trial->elapsed_ms = (rows[i].ended_us - rows[i].started_us) / 1000;
        if (!purpose_parse(rows[i].purpose, &trial->purpose)) {
            return err_set(err, ERR_CODE_store, "the store holds an unknown purpose \"%s\"",
                           rows[i].purpose);
        }
        bool is_ended = trial->state == TRIAL_DONE || trial->state == TRIAL_FAILED;
        out->finished_count += is_ended && trial->point != SIZE_MAX;
    }
    out->history = (struct history){.trials = trials, .count = count, .call_id = plan->call_id};
    out->throughputs = throughputs;
    out->typical_ms = typical_duration(trials, count);
    return true;
}

/* As in the ranking, what is less durable than the baseline is best only where that was asked. */
static bool can_be_best(const struct plan *plan, const struct past_trial *trial, size_t condition)
{
    return trial->state == TRIAL_DONE && !trial->is_censored && !isnan(trial->value) &&
           trial->point != SIZE_MAX && trial->condition == condition &&
           (strcmp(plan->sweep.rank.durability, "any") == 0 ||
            grid_point_durable(&plan->grid, plan->grid.points[trial->point].values,
                               plan->target.baseline_values));
}

size_t run_history_best(const struct plan *plan, const struct run_history *past, size_t condition,
                        double *out_value)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < past->history.count && plan->sweep.rank.under[0] == '\0'; i++) {
        const struct past_trial *trial = &past->history.trials[i];
        if (!can_be_best(plan, trial, condition)) {
            continue;
        }
        if (best == SIZE_MAX ||
            (trial->higher_is_better ? trial->value > *out_value : trial->value < *out_value)) {
            *out_value = trial->value;
            best = trial->point;
        }
    }
    return best;
}

static int64_t runs_in_call(const struct run_history *past, size_t point, size_t condition)
{
    int64_t count = 0;
    for (size_t i = 0; i < past->history.count; i++) {
        const struct past_trial *trial = &past->history.trials[i];
        bool is_ended = trial->state == TRIAL_DONE || trial->state == TRIAL_FAILED;
        count += is_ended && trial->point == point && trial->condition == condition &&
                 trial->call_id == past->history.call_id;
    }
    return count;
}

void run_history_next_baseline(const struct plan *plan, const struct run_history *past,
                               int64_t runs, struct proposal *out, int64_t *out_remaining)
{
    const struct grid *grid = &plan->grid;
    size_t baseline = tally_baseline(grid);
    int64_t fewest = runs;
    *out = (struct proposal){.done = true};
    *out_remaining = 0;
    for (size_t i = 0; baseline != SIZE_MAX && i < grid->condition_count; i++) {
        if (!grid->kept[baseline * grid->condition_count + i]) {
            continue;
        }
        int64_t count = runs_in_call(past, baseline, i);
        *out_remaining += count < runs ? runs - count : 0;
        if (count < fewest) {
            fewest = count;
            *out =
                (struct proposal){.point = baseline, .condition = i, .purpose = PURPOSE_BASELINE};
        }
    }
}

/* Mean and squares of the logarithms of one cell's throughput, over its trials that ran to their
 * end; false where the trial is not the first of them. */
static bool sum_cell(const struct run_history *past, size_t first, size_t *out_count,
                     double *out_mean, double *out_squares)
{
    const struct past_trial *trials = past->history.trials;
    *out_count = 0;
    *out_mean = 0;
    *out_squares = 0;
    for (size_t i = 0; i < past->history.count; i++) {
        bool is_of_it = trials[i].point == trials[first].point &&
                        trials[i].condition == trials[first].condition &&
                        trials[i].state == TRIAL_DONE && !trials[i].is_censored &&
                        past->throughputs[i] > 0;
        if (is_of_it && i < first) {
            return false;
        }
        if (is_of_it) {
            double difference = log(past->throughputs[i]) - *out_mean;
            *out_mean += difference / (double)++*out_count;
            *out_squares += difference * (log(past->throughputs[i]) - *out_mean);
        }
    }
    return *out_count > 0;
}

void run_history_incumbent(const struct plan *plan, const struct run_history *past,
                           size_t condition, struct run_incumbent *out)
{
    double squares = 0;
    double best = -INFINITY;
    *out = (struct run_incumbent){.point = SIZE_MAX, .sd = NAN};
    for (size_t i = 0; i < past->history.count; i++) {
        const struct past_trial *trial = &past->history.trials[i];
        size_t count = 0;
        double mean = 0;
        double own = 0;
        bool can_count = trial->state == TRIAL_DONE && !trial->is_censored &&
                         trial->point != SIZE_MAX && past->throughputs[i] > 0;
        if (!can_count || !sum_cell(past, i, &count, &mean, &own)) {
            continue;
        }
        squares += own;
        out->degrees += (double)(count - 1);
        if (mean > best && can_be_best(plan, trial, condition)) {
            best = mean;
            out->point = trial->point;
            out->count = count;
        }
    }
    out->throughput = exp(best);
    out->sd = out->degrees > 0 ? sqrt(squares / out->degrees) : NAN;
}

void run_history_count(const struct run_history *past, const struct proposal *next,
                       int64_t *out_number, int64_t *out_repeat_number)
{
    *out_number = 0;
    *out_repeat_number = 0;
    for (size_t i = 0; i < past->history.count; i++) {
        const struct past_trial *trial = &past->history.trials[i];
        bool is_ended = trial->state == TRIAL_DONE || trial->state == TRIAL_FAILED;
        bool is_same = trial->point == next->point && trial->condition == next->condition;
        *out_number += is_ended;
        *out_repeat_number += is_ended && is_same;
    }
}
