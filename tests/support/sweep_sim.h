/*
 * Whole sweeps over made-up grids, for the tests of strategies. Only the history is kept between
 * two proposals, as it is between two runs of the program.
 */
#ifndef TESTS_SUPPORT_SWEEP_SIM_H
#define TESTS_SUPPORT_SWEEP_SIM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "sweeper/search/strategy.h"

enum { TRIAL_LIMIT = 2000, POINT_LIMIT = 64, CONDITION_LIMIT = 16, TRIAL_MS = 1000 };

static struct arena arena;

/* ---- a sweep ---- */

struct sweep_sim {
    struct strategy_spec spec;
    struct grid grid;
    struct past_trial trials[TRIAL_LIMIT];
    size_t count;
    int64_t call_id;
    int64_t trial_ms;
    /* What becomes of a trial; NULL: it is done. */
    enum trial_state (*outcome)(const struct sweep_sim *sim, const struct proposal *next);
};

static struct sweep_sim sim;
static struct sweep_sim other UNUSED;

/* A grid of `point_count` points, the baseline among them where asked, all cells kept. */
static inline void make_grid(struct grid *grid, size_t point_count, size_t condition_count,
                             bool baseline)
{
    assert_true(point_count <= POINT_LIMIT && condition_count <= CONDITION_LIMIT);
    *grid = (struct grid){.with_baseline = baseline,
                          .points = ARENA_ARRAY(&arena, struct point, point_count),
                          .point_count = point_count,
                          .conditions = ARENA_ARRAY(&arena, struct condition, condition_count),
                          .condition_count = condition_count,
                          .kept = ARENA_ARRAY(&arena, bool, point_count *condition_count)};
    for (size_t i = 0; i < point_count; i++) {
        bool is_baseline = baseline && i == 0;
        grid->points[i] = (struct point){
            .key = is_baseline ? "" : arena_printf(&arena, "knob=%zu", i), .baseline = is_baseline};
    }
    for (size_t i = 0; i < condition_count; i++) {
        grid->conditions[i].key = arena_printf(&arena, "clients=%zu", i + 1);
    }
    memset(grid->kept, true, point_count * condition_count * sizeof *grid->kept);
}

static inline void make_sim(struct sweep_sim *out, const char *kind, size_t points,
                            size_t conditions, bool baseline, int64_t repeats)
{
    memset(out, 0, sizeof *out);
    out->spec = (struct strategy_spec){.kind = kind, .seed = 1, .repeats = repeats};
    out->call_id = 1;
    out->trial_ms = TRIAL_MS;
    make_grid(&out->grid, points, conditions, baseline);
}

static inline bool ask(const struct sweep_sim *of, struct proposal *out)
{
    struct history history = {.trials = of->trials, .count = of->count, .call_id = of->call_id};
    struct arena scratch;
    struct err err;
    err_clear(&err);
    arena_open(&scratch, 1u << 24);
    if (!strategy_next(&of->spec, &of->grid, &history, &scratch, out, &err))
        fail_msg("%s", err.text);
    arena_close(&scratch);
    return !out->done;
}

static inline void record(struct sweep_sim *of, const struct proposal *next, enum trial_state state)
{
    assert_true(of->count < TRIAL_LIMIT);
    of->trials[of->count++] = (struct past_trial){.point = next->point,
                                                  .condition = next->condition,
                                                  .call_id = of->call_id,
                                                  .purpose = next->purpose,
                                                  .state = state,
                                                  .value = 1,
                                                  .higher_is_better = true,
                                                  .elapsed_ms = of->trial_ms};
}

/* One call of `run`, ended after `limit` trials; true when the strategy said done. */
static inline bool run_call(struct sweep_sim *of, size_t limit)
{
    struct proposal next;
    for (size_t i = 0; i < limit; i++) {
        if (!ask(of, &next))
            return true;
        assert_true(next.point < of->grid.point_count);
        assert_true(next.condition < of->grid.condition_count);
        record(of, &next, of->outcome != NULL ? of->outcome(of, &next) : TRIAL_DONE);
    }
    return !ask(of, &next);
}

static inline int64_t remaining(const struct sweep_sim *of)
{
    struct history history = {.trials = of->trials, .count = of->count, .call_id = of->call_id};
    return strategy_remaining(&of->spec, &of->grid, &history);
}

/* ---- what is true of a history ---- */

static inline bool is_baseline(const struct sweep_sim *of, const struct past_trial *trial)
{
    return of->grid.with_baseline && trial->point == 0;
}

static inline size_t count_cell(const struct sweep_sim *of, size_t point, size_t condition)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++) {
        const struct past_trial *trial = &of->trials[i];
        count += trial->point == point && trial->condition == condition &&
                 (trial->state == TRIAL_DONE || trial->state == TRIAL_FAILED);
    }
    return count;
}

/* Every kept cell exactly `repeats` times, the baseline's at least as often. */
static inline void assert_complete(const struct sweep_sim *of)
{
    for (size_t i = 0; i < of->grid.point_count; i++) {
        for (size_t j = 0; j < of->grid.condition_count; j++) {
            size_t count = count_cell(of, i, j);
            size_t wanted =
                of->grid.kept[i * of->grid.condition_count + j] ? (size_t)of->spec.repeats : 0;
            if (of->grid.with_baseline && i == 0)
                assert_true(count >= wanted);
            else
                assert_int_equal(count, wanted);
        }
    }
}

/* In one condition at most nine trials stand between two baselines; the baseline is the first of
 * the condition in each call, and the last of all. Blocks of a confirmation hold their own. */
static inline void assert_spaced(const struct sweep_sim *of)
{
    for (size_t j = 0; j < of->grid.condition_count; j++) {
        int since = 0;
        int64_t call_id = 0;
        for (size_t i = 0; i < of->count; i++) {
            const struct past_trial *trial = &of->trials[i];
            if (trial->condition != j || trial->state == TRIAL_VOID)
                continue;
            bool is_confirm = trial->purpose == PURPOSE_CONFIRM;
            assert_true(is_confirm ||
                        is_baseline(of, trial) == (trial->purpose == PURPOSE_BASELINE));
            since = is_baseline(of, trial) ? 0 : since + !is_confirm;
            assert_true(trial->call_id == call_id || is_baseline(of, trial) || is_confirm);
            assert_in_range(since, 0, 9);
            call_id = trial->call_id;
        }
        assert_int_equal(since, 0);
    }
}

/* Baselines apart, a point's conditions follow each other. */
static inline void assert_consecutive(const struct sweep_sim *of)
{
    size_t point = SIZE_MAX;
    size_t seen = of->grid.condition_count;
    for (size_t i = 0; i < of->count; i++) {
        if (is_baseline(of, &of->trials[i]))
            continue;
        if (seen == of->grid.condition_count) {
            point = of->trials[i].point;
            seen = 0;
        }
        assert_int_equal(of->trials[i].point, point);
        assert_int_equal(of->trials[i].condition, seen);
        seen++;
    }
}

static const char *const kinds[] UNUSED = {"grid", "random", "auto"};

/* ---- setup ---- */

static inline int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)1 << 30);
    return 0;
}

static inline int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

#endif
