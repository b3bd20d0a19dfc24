/*
 * Budgets of trials are exact. Budgets of time are turned into trials by what a trial took so far.
 */
#include "sweeper/search/budget.h"

#include "sweeper/search/confirm.h"
#include "sweeper/search/tally.h"

enum { FIRST_TRIALS = 3 };

int64_t budget_first_ms(const struct strategy_spec *spec, const struct history *history)
{
    int64_t sum_ms = 0;
    int64_t count = 0;
    for (size_t i = 0; i < history->count && count < FIRST_TRIALS; i++) {
        const struct past_trial *trial = &history->trials[i];
        enum trial_state state = tally_state(history, trial);
        if (state == TRIAL_DONE || state == TRIAL_FAILED) {
            sum_ms += trial->elapsed_ms;
            count++;
        }
    }
    return count > 0 ? sum_ms / count : spec->planned_ms;
}

int64_t budget_trials(const struct strategy_spec *spec, const struct history *history)
{
    int64_t trials = spec->budget_trials > 0 ? spec->budget_trials : INT64_MAX;
    int64_t first_ms = budget_first_ms(spec, history);
    if (spec->budget_ms > 0 && first_ms > 0 && spec->budget_ms / first_ms < trials) {
        trials = spec->budget_ms / first_ms;
    }
    return trials;
}

/* Of each limit its own part: whichever ends the search, the confirmation has room before it. The
 * time of this call began with its first trial. */
static int64_t reserve_of(const struct budget *budget, const struct grid *grid,
                          const struct history *history)
{
    int64_t reserve = 0;
    int64_t call_ms = budget->until_ms;
    for (size_t i = 0; i < history->count; i++) {
        call_ms +=
            history->trials[i].call_id == history->call_id ? history->trials[i].elapsed_ms : 0;
    }
    int64_t trials[] = {
        budget->spec->budget_trials,
        budget->typical_ms > 0 ? budget->spec->budget_ms / budget->typical_ms : 0,
        budget->typical_ms > 0 && budget->until_ms > 0 ? call_ms / budget->typical_ms : 0};
    for (size_t i = 0; i < COUNT_OF(trials); i++) {
        int64_t part = confirm_reserve(grid, trials[i]);
        bool is_tighter = trials[i] > 0 && (reserve == 0 || part < reserve);
        reserve = is_tighter ? part : reserve;
    }
    return reserve;
}

struct budget budget_open(const struct strategy_spec *spec, const struct grid *grid,
                          const struct history *history)
{
    struct budget budget = {.spec = spec, .until_ms = history->until_ms};
    int64_t ended_count = 0;
    int64_t ended_ms = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct past_trial *trial = &history->trials[i];
        enum trial_state state = tally_state(history, trial);
        budget.used_ms += trial->elapsed_ms;
        budget.used_count += state != TRIAL_VOID;
        if (state == TRIAL_DONE || state == TRIAL_FAILED) {
            ended_count++;
            ended_ms += trial->elapsed_ms;
        }
    }
    budget.typical_ms = ended_count > 0 ? ended_ms / ended_count : spec->planned_ms;
    budget.reserve = reserve_of(&budget, grid, history);
    return budget;
}

bool budget_is_bounded(const struct budget *budget)
{
    return budget->spec->budget_trials > 0 || budget->spec->budget_ms > 0 || budget->until_ms > 0;
}

static bool fits_time(int64_t left_ms, int64_t typical_ms, int64_t trial_count)
{
    return left_ms > 0 && (trial_count == 0 || typical_ms <= left_ms / trial_count);
}

bool budget_holds(const struct budget *budget, int64_t trial_count)
{
    const struct strategy_spec *spec = budget->spec;
    bool in_trials =
        spec->budget_trials == 0 || budget->used_count + trial_count <= spec->budget_trials;
    bool in_time = spec->budget_ms == 0 ||
                   fits_time(spec->budget_ms - budget->used_ms, budget->typical_ms, trial_count);
    bool in_call =
        budget->until_ms == 0 || fits_time(budget->until_ms, budget->typical_ms, trial_count);
    return in_trials && in_time && in_call;
}

static int64_t left_in(int64_t left_ms, int64_t typical_ms)
{
    int64_t trials = typical_ms > 0 ? left_ms / typical_ms : 1;
    return left_ms > 0 ? trials : 0;
}

int64_t budget_left(const struct budget *budget)
{
    const struct strategy_spec *spec = budget->spec;
    int64_t left = INT64_MAX;
    if (spec->budget_trials > 0) {
        left = spec->budget_trials - budget->used_count;
    }
    if (spec->budget_ms > 0) {
        int64_t in_time = left_in(spec->budget_ms - budget->used_ms, budget->typical_ms);
        left = in_time < left ? in_time : left;
    }
    if (budget->until_ms > 0) {
        int64_t in_call = left_in(budget->until_ms, budget->typical_ms);
        left = in_call < left ? in_call : left;
    }
    return left > 0 ? left : 0;
}

bool budget_has_last(const struct budget *budget)
{
    const struct strategy_spec *spec = budget->spec;
    return (spec->budget_trials == 0 || budget->used_count < spec->budget_trials) &&
           (spec->budget_ms == 0 || budget->used_ms < spec->budget_ms);
}
