/*
 * A strategy: which point is measured next. `next` is pure and deterministic given its seed: all
 * it knows is the history (running trials among it) and the budget, so that a sweep resumes from
 * the store alone. It chooses points, never conditions: a chosen point is measured in each.
 */
#ifndef SWEEPER_SEARCH_STRATEGY_H
#define SWEEPER_SEARCH_STRATEGY_H

#include "knobs/grid.h"

enum purpose { PURPOSE_EXPLORE, PURPOSE_REPEAT, PURPOSE_CONFIRM, PURPOSE_BASELINE };
const char *purpose_name(enum purpose purpose); /* "explore" "repeat" "confirm" "baseline" */
bool purpose_parse(const char *name, enum purpose *out) MUST_USE;

struct strategy_spec {
    const char *kind; /* the name of a strategy */
    int64_t seed;
    int64_t budget_trials; /* over all calls, without void trials; 0: none */
    int64_t budget_ms;     /* over all calls, with them; 0: none */
    int64_t repeats;       /* trials of each point, >= 1; of gp, coord and race of the last ones */
    int64_t planned_ms;    /* of a trial, until the history tells; 0: not known */
    double smallest_gain;  /* that matters, as a share: 0.01 */
    bool is_geomean;       /* points are chosen by the mean over all conditions, not within each */
    const bool *can_win;   /* [grid.point_count] may be the best; NULL: all */
    const struct value *baseline_values; /* [grid.swept_count] as found; NULL: not known */
};

enum trial_state { TRIAL_RUNNING, TRIAL_DONE, TRIAL_FAILED, TRIAL_VOID };

/* One trial as strategies see it; oldest first. VOID trials (interrupted, dropped, target
 * trouble) took time and measured nothing. */
struct past_trial {
    size_t point;     /* index into grid.points; SIZE_MAX: not in this grid any more */
    size_t condition; /* index into grid.conditions; SIZE_MAX likewise */
    int64_t call_id;
    enum purpose purpose;
    enum trial_state state;
    double value;     /* of rank.by; NAN where there is none */
    bool is_censored; /* it was ended early: its point is no better than about `value` */
    bool higher_is_better;
    bool failed_start; /* of FAILED: the server did not start */
    int64_t elapsed_ms;
};

struct history {
    const struct past_trial *trials;
    size_t count;
    int64_t call_id;  /* of this call */
    int64_t until_ms; /* what is left of this call's own time, > 0; 0: no limit */
};

struct proposal {
    bool done;
    size_t point;
    size_t condition;
    enum purpose purpose;
};

enum confirms { CONFIRM_NEVER, CONFIRM_IN_BUDGET, CONFIRM_ALWAYS };

struct strategy {
    const char *name;
    const char *sentence;
    bool (*next)(const struct strategy_spec *spec, const struct grid *grid,
                 const struct history *history, struct arena *scratch, struct proposal *out,
                 struct err *err);
    /* Trials that it asks for where no budget ends it, a guess for the ETA. NULL: every cell with
     * its repeats. */
    int64_t (*extent)(const struct strategy_spec *spec, const struct grid *grid);
    /* NULL but of "auto": the strategy that it stands for. */
    const struct strategy *(*resolve)(const struct strategy_spec *spec, const struct grid *grid,
                                      const struct history *history);
    enum confirms confirms; /* whether what it found is measured again in the end (confirm.h) */
};

extern const struct strategy *const strategies[];
extern const size_t strategy_count;
const struct strategy *strategy_find(const char *name);
const char *strategy_nearest(const char *name);

/* Calls the strategy after what is common to all: the baseline first in each call and condition
 * that has something left, again at least every tenth trial of the condition, and at the end; the
 * budget, which keeps room for that end, or for the confirmation, whose blocks hold the baseline.
 * Failed trials count as measured. Void ones are redone; a cell that is void three times in a row
 * is left alone for the rest of the call. Errors: memory. */
bool strategy_next(const struct strategy_spec *spec, const struct grid *grid,
                   const struct history *history, struct arena *scratch, struct proposal *out,
                   struct err *err) MUST_USE;

/* How many trials are still to come as far as can be told (for the ETA); includes baselines and
 * confirmations. */
int64_t strategy_remaining(const struct strategy_spec *spec, const struct grid *grid,
                           const struct history *history);

#endif
