/*
 * Sweeps replayed in memory: grids whose truth is known, noise of several kinds on it, and a
 * strategy that sees only the history. What is recommended in the end is judged by the truth. For
 * the proofs of the strategies, in tests/unit and tests/bench/search.
 */
#ifndef TESTS_SUPPORT_SEARCH_SIM_H
#define TESTS_SUPPORT_SEARCH_SIM_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/search/confirm.h"
#include "sweeper/search/recommend.h"
#include "sweeper/search/tally.h"
#include "sweeper/stats/compare.h"

/* ---- random numbers: a counter through splitmix64, the same in peers.py ---- */

static inline uint64_t sim_mix(uint64_t bits)
{
    bits += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

static inline double sim_uniform(uint64_t seed, uint64_t a, uint64_t b)
{
    uint64_t bits = sim_mix(sim_mix(sim_mix(seed) + a) + b);
    return ((double)(bits >> 11) + 0.5) / 9007199254740992.0;
}

static inline double sim_normal(uint64_t seed, uint64_t a, uint64_t b)
{
    double u = sim_uniform(seed, a, 2 * b);
    double v = sim_uniform(seed, a, 2 * b + 1);
    return sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * v);
}

/* ---- a grid whose truth is known ---- */

struct search_set {
    const char *name;
    struct grid grid; /* point 0 is the baseline, point i + 1 row i */
    struct knob *knobs;
    struct value *baseline_values;
    double *truth;     /* [point_count] ln of what a run gives without noise, more is better */
    double *deviation; /* [point_count] of its own, 0: the noise's */
    bool *is_failing;  /* [point_count] */
    double best;       /* of truth, of points that do not fail */
    size_t baseline_row;
};

/* "8M" as a number; NAN for what is none. */
static inline double sim_number(const char *text)
{
    char *end = NULL;
    double number = strtod(text, &end);
    double scale = *end == 'K' ? 1024 : *end == 'M' ? 1048576 : *end == 'G' ? 1073741824 : 1;
    if (end == text || (*end != '\0' && (scale <= 1 || end[1] != '\0')))
        return NAN;
    return number * scale;
}

static inline struct value sim_value(const char *text)
{
    double number = sim_number(text);
    return isnan(number) ? (struct value){.kind = VALUE_TEXT, .text = text, .asked = text}
                         : (struct value){.kind = VALUE_REAL, .real = number, .asked = text};
}

static inline void sim_close_set(struct search_set *set)
{
    set->best = -INFINITY;
    for (size_t i = 1; i < set->grid.point_count; i++)
        set->best = set->is_failing[i] ? set->best : fmax(set->best, set->truth[i]);
}

static inline int sim_compare_reals(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The server as found is the row of median truth: neither bad nor good. */
static inline void sim_choose_baseline(struct search_set *set, struct arena *room)
{
    size_t count = set->grid.point_count - 1;
    double *sorted = ARENA_ARRAY(room, double, count);
    memcpy(sorted, set->truth + 1, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, sim_compare_reals);
    for (size_t i = 1; i <= count; i++) {
        if (set->truth[i] >= sorted[count / 2] && set->truth[i] <= sorted[count / 2])
            set->baseline_row = i;
    }
    memcpy(set->baseline_values, set->grid.points[set->baseline_row].values,
           set->grid.swept_count * sizeof(struct value));
    set->truth[0] = set->truth[set->baseline_row];
    set->deviation[0] = set->deviation[set->baseline_row];
    set->is_failing[set->baseline_row] = false;
}

/* `cells` are rows * columns texts; truth, deviation and is_failing are filled by the caller, then
 * sim_choose_baseline and sim_close_set. */
static inline void sim_make_set(struct search_set *set, const char *name, size_t rows,
                                size_t columns, const char *const *cells, struct arena *room)
{
    struct grid *grid = &set->grid;
    memset(set, 0, sizeof *set);
    set->name = name;
    set->knobs = ARENA_ARRAY(room, struct knob, columns);
    set->baseline_values = ARENA_ARRAY(room, struct value, columns);
    set->truth = ARENA_ARRAY(room, double, rows + 1);
    set->deviation = ARENA_ARRAY(room, double, rows + 1);
    set->is_failing = ARENA_ARRAY(room, bool, rows + 1);
    *grid = (struct grid){.swept = ARENA_ARRAY(room, struct swept, columns),
                          .swept_count = columns,
                          .with_baseline = true,
                          .points = ARENA_ARRAY(room, struct point, rows + 1),
                          .point_count = rows + 1,
                          .conditions = ARENA_ARRAY(room, struct condition, 1),
                          .condition_count = 1,
                          .kept = ARENA_ARRAY(room, bool, rows + 1)};
    for (size_t j = 0; j < columns; j++) {
        bool is_number = true;
        for (size_t i = 0; i < rows; i++)
            is_number = is_number && !isnan(sim_number(cells[i * columns + j]));
        set->knobs[j] = (struct knob){.name = arena_printf(room, "knob_%zu", j),
                                      .type = is_number ? KNOB_REAL : KNOB_ENUM,
                                      .bare = 1,
                                      .min = -INFINITY,
                                      .max = INFINITY,
                                      .specials = "",
                                      .choices = "",
                                      .durability = ""};
        grid->swept[j] = (struct swept){.kind = SWEPT_KNOB, .knob = &set->knobs[j]};
    }
    grid->conditions[0] =
        (struct condition){.values = ARENA_ARRAY(room, struct value, columns), .key = ""};
    memset(grid->kept, true, (rows + 1) * sizeof *grid->kept);
    for (size_t i = 0; i <= rows; i++) {
        struct point *point = &grid->points[i];
        point->values = ARENA_ARRAY(room, struct value, columns);
        point->baseline = i == 0;
        point->key = i == 0 ? "" : arena_printf(room, "row=%zu", i);
        for (size_t j = 0; i > 0 && j < columns; j++)
            point->values[j] = sim_value(cells[(i - 1) * columns + j]);
    }
}

/* ---- noise ---- */

struct search_noise {
    const char *name;
    double sigma;        /* of a run */
    double walk;         /* a random walk's step per run */
    double line;         /* a linear drift over the whole budget */
    double outlier_rate; /* of runs at -20 % */
    double fail_rate;    /* of runs that fail for no reason of their point */
    bool own_deviation;  /* each point's instead of sigma */
};

/* ---- one replayed sweep ---- */

enum { SIM_TRIALS_MOST = 2000 };

struct search_sim {
    const struct search_set *set;
    const struct search_noise *noise;
    struct strategy_spec spec;
    uint64_t noise_seed;
    double budget; /* over which the line drifts */
    struct past_trial trials[SIM_TRIALS_MOST];
    size_t count;
    double drift;
};

static inline void sim_open(struct search_sim *of, const struct search_set *set,
                            const struct search_noise *noise, const char *kind, int64_t seed)
{
    of->set = set;
    of->noise = noise;
    of->noise_seed = sim_mix((uint64_t)seed + 77);
    of->count = 0;
    of->drift = 0;
    of->budget = 60;
    of->spec = (struct strategy_spec){.kind = kind,
                                      .seed = seed,
                                      .repeats = 1,
                                      .smallest_gain = 0.01,
                                      .baseline_values = set->baseline_values};
}

static inline struct history sim_history(const struct search_sim *of)
{
    return (struct history){.trials = of->trials, .count = of->count, .call_id = 1};
}

/* What a run of this point gives now; noise belongs to the point and its how-manieth run, so that
 * strategies share it. */
static inline void sim_measure(struct search_sim *of, const struct proposal *next)
{
    const struct search_set *set = of->set;
    const struct search_noise *noise = of->noise;
    uint64_t run = 0;
    for (size_t i = 0; i < of->count; i++)
        run += of->trials[i].point == next->point;
    double sigma = noise->own_deviation ? set->deviation[next->point] : noise->sigma;
    double y =
        set->truth[next->point] + of->drift + sigma * sim_normal(of->noise_seed, next->point, run);
    if (sim_uniform(of->noise_seed + 1, next->point, run) < noise->outlier_rate)
        y += log(0.8);
    bool is_failed = set->is_failing[next->point] ||
                     sim_uniform(of->noise_seed + 2, next->point, run) < noise->fail_rate;
    bool is_done = !is_failed || next->point == 0;
    of->trials[of->count++] = (struct past_trial){.point = next->point,
                                                  .condition = next->condition,
                                                  .call_id = 1,
                                                  .purpose = next->purpose,
                                                  .state = is_done ? TRIAL_DONE : TRIAL_FAILED,
                                                  .value = is_done ? exp(y) : NAN,
                                                  .higher_is_better = true,
                                                  .elapsed_ms = 1000};
    of->drift +=
        noise->walk * sim_normal(of->noise_seed + 3, of->count, 0) + noise->line / of->budget;
}

/* One more trial; false where the strategy is done. */
static inline bool sim_step(struct search_sim *of, struct arena *scratch)
{
    struct history history = sim_history(of);
    struct proposal next;
    struct err err;
    err_clear(&err);
    arena_reset(scratch);
    if (!strategy_next(&of->spec, &of->set->grid, &history, scratch, &next, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    if (next.done || of->count == SIM_TRIALS_MOST)
        return false;
    sim_measure(of, &next);
    return true;
}

/* ---- what it found ---- */

/* The model's best measured point; SIZE_MAX: none. */
static inline size_t sim_recommend(const struct search_sim *of, struct arena *scratch)
{
    struct history history = sim_history(of);
    struct sample sample;
    struct recommended *points = NULL;
    size_t count = 0;
    struct err err;
    err_clear(&err);
    arena_reset(scratch);
    if (!sample_take(&of->set->grid, &history, of->count, scratch, &sample, &err) ||
        !recommend(&of->spec, &of->set->grid, &sample, 0, 1, scratch, &points, &count, &err)) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    return count > 0 ? points[0].point : SIZE_MAX;
}

/* How much worse a point truly is than the best one: 0.02 for 2 %. */
static inline double sim_regret(const struct search_set *set, size_t point)
{
    return point == SIZE_MAX ? 1 : exp(set->best - set->truth[point]) - 1;
}

#endif
