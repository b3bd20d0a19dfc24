/*
 * What the limits of a sweep and of this call still hold, in trials.
 */
#ifndef SWEEPER_SEARCH_BUDGET_H
#define SWEEPER_SEARCH_BUDGET_H

#include "sweeper/search/strategy.h"

struct budget {
    const struct strategy_spec *spec;
    int64_t used_count; /* trials that measured something, of the whole sweep */
    int64_t used_ms;
    int64_t until_ms;   /* left of this call's own time; 0: no limit */
    int64_t typical_ms; /* of a trial; 0: not known */
    int64_t reserve;    /* trials that are kept for the confirmation; 0 without any limit */
};

struct budget budget_open(const struct strategy_spec *spec, const struct grid *grid,
                          const struct history *history);

/* False where neither the sweep nor this call has a limit. */
bool budget_is_bounded(const struct budget *budget);
/* Whether so many more trials are affordable. */
bool budget_holds(const struct budget *budget, int64_t trial_count);
/* How many are; INT64_MAX: no limit. Where nothing tells how long one takes: 1, until time is up.
 */
int64_t budget_left(const struct budget *budget);
/* Whether one last baseline may be measured: worth a little more time than was estimated, but no
 * trial too many. */
bool budget_has_last(const struct budget *budget);

/* What a trial took in the beginning of the sweep, or was planned to take. It does not change while
 * the sweep goes on, so that what is decided by it stays. 0: not known. */
int64_t budget_first_ms(const struct strategy_spec *spec, const struct history *history);
/* How many trials the sweep's own budget holds as it looked in the beginning; INT64_MAX: no
 * budget, or not known. */
int64_t budget_trials(const struct strategy_spec *spec, const struct history *history);

#endif
