/*
 * What is common to all strategies: the array of them, the baseline between other trials, and the
 * budget.
 *
 * The baseline is the yardstick against drift. In each condition that still has something to
 * measure it comes first in each call, then again before every tenth trial at the latest, and
 * sooner where the condition has fewer than nine other cells, so that it gets as many repeats as
 * they do; and it comes last. Room for that last one is kept free in the budget.
 */
#include "sweeper/search/strategy.h"

#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/search/grid.h"
#include "sweeper/search/tally.h"

enum { OTHERS_BETWEEN_BASELINES = 9 };

const char *purpose_name(enum purpose purpose)
{
    static const char *const names[] = {"explore", "repeat", "confirm", "baseline"};
    assert((size_t)purpose < COUNT_OF(names));
    return names[purpose];
}

bool purpose_parse(const char *name, enum purpose *out)
{
    for (int i = PURPOSE_EXPLORE; i <= PURPOSE_BASELINE; i++) {
        if (strcmp(purpose_name((enum purpose)i), name) == 0) {
            *out = (enum purpose)i;
            return true;
        }
    }
    return false;
}

/* ---- the state of a sweep ---- */

/* One condition's. "Others" are all cells but the baseline's. */
struct state {
    bool has_baseline;      /* it is to be measured and was not given up in this call */
    bool is_begun;          /* the baseline was measured in this call */
    int64_t cell_count;     /* others: what one block measures */
    int64_t open_count;     /* trials of others still to come */
    int64_t since_count;    /* trials of others since the last baseline */
    int64_t baseline_count; /* measured so far */
};

struct view {
    const struct strategy_spec *spec;
    const struct grid *grid;
    size_t baseline;      /* SIZE_MAX: none */
    struct state *states; /* [grid.condition_count] */
    int64_t used_count;   /* trials that measured something, of the whole sweep */
    int64_t used_ms;
    int64_t typical_ms; /* 0: not known yet */
};

static void count_cells(const struct tally *tallies, struct view *view)
{
    const struct grid *grid = view->grid;
    for (size_t i = 0; i < grid->point_count * grid->condition_count; i++) {
        size_t point = i / grid->condition_count;
        struct state *state = &view->states[i % grid->condition_count];
        if (point == view->baseline) {
            state->has_baseline = grid->kept[i] && tallies[i].void_count < TALLY_VOID_LIMIT;
            continue;
        }
        state->cell_count += grid->kept[i];
        if (tally_open(view->spec, grid, tallies, point, i % grid->condition_count)) {
            state->open_count += view->spec->repeats - tallies[i].measured_count;
        }
    }
}

static void count_trials(const struct history *history, struct view *view)
{
    int64_t ended_count = 0;
    int64_t ended_ms = 0;
    for (size_t i = 0; i < history->count; i++) {
        const struct past_trial *trial = &history->trials[i];
        enum trial_state trial_state = tally_state(history, trial);
        view->used_ms += trial->elapsed_ms;
        if (trial_state == TRIAL_VOID) {
            continue;
        }
        view->used_count++;
        if (trial_state != TRIAL_RUNNING) {
            ended_count++;
            ended_ms += trial->elapsed_ms;
        }
        if (trial->condition >= view->grid->condition_count) {
            continue;
        }
        struct state *state = &view->states[trial->condition];
        if (trial->point == view->baseline && view->baseline != SIZE_MAX) {
            state->baseline_count++;
            state->since_count = 0;
            state->is_begun = state->is_begun || trial->call_id == history->call_id;
        } else {
            state->since_count++;
        }
    }
    view->typical_ms = ended_count > 0 ? ended_ms / ended_count : 0;
}

static bool view_open(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct view *out,
                      struct err *err)
{
    struct tally *tallies = NULL;
    *out = (struct view){.spec = spec, .grid = grid, .baseline = tally_baseline(grid)};
    out->states = ARENA_ARRAY(scratch, struct state, grid->condition_count);
    if (out->states == NULL) {
        return err_memory(err);
    }
    if (!tally_cells(grid, history, scratch, &tallies, err)) {
        return false;
    }
    count_cells(tallies, out);
    count_trials(history, out);
    return true;
}

/* ---- the baseline's turn ---- */

/* Others that may stand between two baselines. */
static int64_t interval_of(const struct state *state)
{
    return state->cell_count < OTHERS_BETWEEN_BASELINES ? state->cell_count
                                                        : OTHERS_BETWEEN_BASELINES;
}

static bool is_due(const struct state *state)
{
    return state->has_baseline && state->open_count > 0 &&
           (!state->is_begun || state->since_count >= interval_of(state));
}

/* The trials without which `next` should not begin: baselines that are due, itself, and the last
 * baseline of every condition. */
static int64_t needed_for(const struct view *view, const struct proposal *next)
{
    int64_t needed = 1;
    for (size_t i = 0; i < view->grid->condition_count; i++) {
        const struct state *state = &view->states[i];
        bool is_later = i == next->condition || (state->since_count > 0 && !is_due(state));
        needed += is_due(state) + (state->has_baseline && is_later);
    }
    return needed;
}

static bool fits_budget(const struct view *view, int64_t trial_count)
{
    const struct strategy_spec *spec = view->spec;
    bool in_trials =
        spec->budget_trials == 0 || view->used_count + trial_count <= spec->budget_trials;
    bool in_time = spec->budget_ms == 0 ||
                   (view->used_ms < spec->budget_ms &&
                    view->typical_ms <= (spec->budget_ms - view->used_ms) / trial_count);
    return in_trials && in_time;
}

/* One last baseline is worth a little more time than was estimated, but no trial too many. */
static bool fits_last(const struct view *view)
{
    const struct strategy_spec *spec = view->spec;
    return (spec->budget_trials == 0 || view->used_count < spec->budget_trials) &&
           (spec->budget_ms == 0 || view->used_ms < spec->budget_ms);
}

static void propose_baseline(const struct view *view, size_t condition, struct proposal *out)
{
    *out = (struct proposal){
        .point = view->baseline, .condition = condition, .purpose = PURPOSE_BASELINE};
}

/* Nothing else is left, or fits: what closes a condition, and what the baseline lacks in repeats
 * (all of them where nothing but the baseline is measured). */
static void propose_last(const struct view *view, bool is_complete, struct proposal *out)
{
    int64_t wanted = is_complete ? view->spec->repeats : 1;
    *out = (struct proposal){.done = true};
    for (size_t i = 0; i < view->grid->condition_count && out->done; i++) {
        const struct state *state = &view->states[i];
        bool is_missing = state->since_count > 0 || state->baseline_count < wanted;
        if (state->has_baseline && is_missing && fits_last(view)) {
            propose_baseline(view, i, out);
        }
    }
}

bool strategy_next(const struct strategy_spec *spec, const struct grid *grid,
                   const struct history *history, struct arena *scratch, struct proposal *out,
                   struct err *err)
{
    struct view view;
    const struct strategy *strategy = strategy_find(spec->kind);
    if (strategy == NULL) {
        return err_set(err, ERR_CODE_bug, "there is no strategy \"%.60s\"", spec->kind);
    }
    if (!view_open(spec, grid, history, scratch, &view, err) ||
        !strategy->next(spec, grid, history, scratch, out, err)) {
        return false;
    }
    if (out->done || !fits_budget(&view, needed_for(&view, out))) {
        propose_last(&view, out->done, out);
        return true;
    }
    for (size_t i = 0; i < grid->condition_count; i++) {
        if (is_due(&view.states[i])) {
            propose_baseline(&view, i, out);
            return true;
        }
    }
    return true;
}

/* ---- what is still to come ---- */

/* In one condition, without regard to the budget. */
static int64_t remaining_in(const struct view *view, const struct state *state)
{
    int64_t baselines = 0;
    int64_t since = state->since_count;
    if (!state->has_baseline) {
        return state->open_count;
    }
    if (state->open_count > 0 && !state->is_begun) {
        baselines++;
        since = 0;
    }
    if (state->open_count > 0) {
        baselines += (since + state->open_count - 1) / interval_of(state);
    }
    baselines += since + state->open_count > 0;
    int64_t missing = view->spec->repeats - state->baseline_count - baselines;
    return state->open_count + baselines + (missing > 0 ? missing : 0);
}

static int64_t remaining_in_budget(const struct view *view, int64_t remaining)
{
    const struct strategy_spec *spec = view->spec;
    int64_t left = spec->budget_trials - view->used_count;
    if (spec->budget_trials > 0 && left < remaining) {
        remaining = left;
    }
    left = spec->budget_ms - view->used_ms;
    if (spec->budget_ms > 0 && view->typical_ms > 0 && left / view->typical_ms < remaining) {
        remaining = left / view->typical_ms;
    }
    return remaining > 0 ? remaining : 0;
}

static int64_t remaining_without_budget(const struct view *view)
{
    int64_t remaining = 0;
    for (size_t i = 0; i < view->grid->condition_count; i++) {
        remaining += remaining_in(view, &view->states[i]);
    }
    return remaining;
}

int64_t strategy_remaining(const struct strategy_spec *spec, const struct grid *grid,
                           const struct history *history)
{
    CLEANUP(arena_close) struct arena scratch;
    struct view view;
    struct err ignored;
    arena_open(&scratch, SIZE_MAX / 2);
    return view_open(spec, grid, history, &scratch, &view, &ignored)
               ? remaining_in_budget(&view, remaining_without_budget(&view))
               : 0;
}

/* ---- auto, and the array ---- */

/* The grid, unless the budget will not hold it as far as can be told now. */
static bool next_auto(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct proposal *out,
                      struct err *err)
{
    struct view view;
    if (!view_open(spec, grid, history, scratch, &view, err)) {
        return false;
    }
    int64_t remaining = remaining_without_budget(&view);
    bool fits = remaining_in_budget(&view, remaining) == remaining;
    const struct strategy *strategy = fits ? &strategy_grid : &strategy_random;
    return strategy->next(spec, grid, history, scratch, out, err);
}

static const struct strategy strategy_auto = {
    .name = "auto",
    .sentence = "grid where there is no budget or the budget holds the whole grid, else random",
    .next = next_auto,
};

const struct strategy *const strategies[] = {&strategy_auto, &strategy_grid, &strategy_random};
const size_t strategy_count = COUNT_OF(strategies);

const struct strategy *strategy_find(const char *name)
{
    for (size_t i = 0; i < strategy_count; i++) {
        if (strcmp(strategies[i]->name, name) == 0) {
            return strategies[i];
        }
    }
    return NULL;
}

const char *strategy_nearest(const char *name)
{
    const char *names[COUNT_OF(strategies)];
    for (size_t i = 0; i < strategy_count; i++) {
        names[i] = strategies[i]->name;
    }
    return text_nearest(name, names, strategy_count);
}
