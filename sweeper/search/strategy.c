/*
 * What is common to all strategies: the array of them, the baseline between other trials, and when
 * the search ends for the confirmation or the budget.
 *
 * The baseline is the yardstick against drift. In each condition that still has something to
 * measure it comes first in each call, then again before every tenth trial at the latest, and
 * sooner where the condition has fewer than nine other cells, so that it gets as many repeats as
 * they do; and it comes last. Room for that last one is kept free in the budget.
 */
#include "sweeper/search/strategy.h"

#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/search/budget.h"
#include "sweeper/search/confirm.h"
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
    int64_t searched_count; /* trials of others that were no confirmation */
};

struct view {
    const struct strategy *strategy; /* never one that stands for another */
    const struct strategy_spec *spec;
    const struct grid *grid;
    size_t baseline;      /* SIZE_MAX: none */
    struct state *states; /* [grid.condition_count] */
    struct budget budget;
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
    for (size_t i = 0; i < history->count; i++) {
        const struct past_trial *trial = &history->trials[i];
        if (trial->condition >= view->grid->condition_count ||
            tally_state(history, trial) == TRIAL_VOID) {
            continue;
        }
        struct state *state = &view->states[trial->condition];
        if (trial->point == view->baseline && view->baseline != SIZE_MAX) {
            state->baseline_count++;
            state->since_count = 0;
            state->is_begun = state->is_begun || trial->call_id == history->call_id;
        } else {
            state->since_count += trial->purpose != PURPOSE_CONFIRM;
            state->searched_count += trial->purpose != PURPOSE_CONFIRM;
        }
    }
}

static bool view_open(const struct strategy_spec *spec, const struct grid *grid,
                      const struct history *history, struct arena *scratch, struct view *out,
                      struct err *err)
{
    struct tally *tallies = NULL;
    const struct strategy *strategy = strategy_find(spec->kind);
    *out = (struct view){.spec = spec, .grid = grid, .baseline = tally_baseline(grid)};
    if (strategy == NULL) {
        return err_set(err, ERR_CODE_bug, "there is no strategy \"%.60s\"", spec->kind);
    }
    out->strategy = strategy->resolve == NULL ? strategy : strategy->resolve(spec, grid, history);
    out->states = ARENA_ARRAY(scratch, struct state, grid->condition_count);
    if (out->states == NULL) {
        return err_memory(err);
    }
    if (!tally_cells(grid, history, scratch, &tallies, err)) {
        return false;
    }
    count_cells(tallies, out);
    count_trials(history, out);
    out->budget = budget_open(spec, grid, history);
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

/* The trials without which `next` should not begin: baselines that are due, itself, and, where no
 * confirmation has them, the last baseline of every condition. */
static int64_t needed_for(const struct view *view, const struct proposal *next, bool with_last)
{
    int64_t needed = 1;
    for (size_t i = 0; i < view->grid->condition_count; i++) {
        const struct state *state = &view->states[i];
        bool is_later = i == next->condition || (state->since_count > 0 && !is_due(state));
        needed += is_due(state) + (with_last && state->has_baseline && is_later);
    }
    return needed;
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
        if (state->has_baseline && is_missing && budget_has_last(&view->budget)) {
            propose_baseline(view, i, out);
        }
    }
}

/* The search's own trial, after the baselines that are due. */
static void propose_search(const struct view *view, struct proposal *out)
{
    for (size_t i = 0; i < view->grid->condition_count; i++) {
        if (is_due(&view->states[i])) {
            propose_baseline(view, i, out);
            return;
        }
    }
}

static bool view_confirms(const struct view *view)
{
    return view->strategy->confirms == CONFIRM_ALWAYS ||
           (view->strategy->confirms == CONFIRM_IN_BUDGET && budget_is_bounded(&view->budget));
}

/* Without a budget the confirmation takes what it wants. */
static int64_t reserve_of(const struct view *view)
{
    return view_confirms(view) ? view->budget.reserve : 0;
}

/* What the search would do next, and whether the budget holds it. */
static bool next_search(const struct view *view, const struct history *history,
                        struct arena *scratch, bool *out_fits, struct proposal *out,
                        struct err *err)
{
    if (!view->strategy->next(view->spec, view->grid, history, scratch, out, err)) {
        return false;
    }
    int64_t needed = out->done ? 0 : needed_for(view, out, !view_confirms(view));
    *out_fits = !out->done && budget_holds(&view->budget, needed + reserve_of(view));
    return true;
}

/* A confirmation that has begun goes on to its end, unless the budget was raised so far since then
 * that the search has room again. Whether the search had ended by itself is judged by what it knew
 * then. */
static bool goes_on(const struct view *view, const struct confirm_span *span, bool is_done)
{
    int64_t left = budget_left(&view->budget);
    return span->has_begun &&
           (is_done || !budget_is_bounded(&view->budget) || left > INT64_MAX / 2 ||
            left + span->trial_count < 2 * reserve_of(view));
}

/* The search behind a confirmation knows its figures, too. */
static bool search_on(const struct view *view, const struct history *history, bool has_begun,
                      struct arena *scratch, struct proposal *out, struct err *err)
{
    bool fits = true;
    if (has_begun && !next_search(view, history, scratch, &fits, out, err)) {
        return false;
    }
    if (fits) {
        propose_search(view, out);
    } else {
        propose_last(view, out->done, out);
    }
    return true;
}

static bool next_of(const struct view *view, const struct history *history, struct arena *scratch,
                    struct proposal *out, struct err *err)
{
    bool fits = false;
    bool confirms = view_confirms(view);
    struct proposal search;
    struct confirm_span span = confirm_find(view->grid, history);
    struct history past = *history;
    past.count = confirms ? span.begin : past.count;
    if (!next_search(view, &past, scratch, &fits, &search, err)) {
        return false;
    }
    *out = search;
    bool is_confirming = confirms && (!fits || goes_on(view, &span, search.done));
    if (is_confirming && !confirm_next(view->spec, view->grid, history, budget_left(&view->budget),
                                       scratch, out, err)) {
        return false;
    }
    if (is_confirming && !out->done) {
        return true;
    }
    if (fits) {
        *out = search;
        return search_on(view, history, confirms && span.has_begun, scratch, out, err);
    }
    propose_last(view, search.done, out);
    return true;
}

bool strategy_next(const struct strategy_spec *spec, const struct grid *grid,
                   const struct history *history, struct arena *scratch, struct proposal *out,
                   struct err *err)
{
    struct view view;
    *out = (struct proposal){.done = true};
    return view_open(spec, grid, history, scratch, &view, err) &&
           next_of(&view, history, scratch, out, err);
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

/* What a strategy of its own extent still wants, baselines among it; the rest of a grid where that
 * is less. */
static int64_t remaining_of(const struct view *view)
{
    int64_t remaining = 0;
    int64_t searched = 0;
    for (size_t i = 0; i < view->grid->condition_count; i++) {
        remaining += remaining_in(view, &view->states[i]);
        searched += view->states[i].searched_count;
    }
    if (view->strategy->extent == NULL) {
        return remaining;
    }
    int64_t wanted = view->strategy->extent(view->spec, view->grid) - searched;
    wanted = wanted > 0 ? wanted + wanted / OTHERS_BETWEEN_BASELINES + 1 : 1;
    return wanted < remaining ? wanted : remaining;
}

static int64_t confirm_extent(const struct view *view)
{
    int64_t arms = CONFIRM_ARMS + (view->baseline != SIZE_MAX);
    bool has_budget = budget_is_bounded(&view->budget);
    return !view_confirms(view) ? 0
           : has_budget         ? view->budget.reserve
                                : arms * CONFIRM_BLOCKS * (int64_t)view->grid->condition_count;
}

int64_t strategy_remaining(const struct strategy_spec *spec, const struct grid *grid,
                           const struct history *history)
{
    CLEANUP(arena_close) struct arena scratch;
    struct view view;
    struct proposal next = {.done = true};
    struct err ignored;
    err_clear(&ignored);
    arena_open(&scratch, SIZE_MAX / 2);
    if (!view_open(spec, grid, history, &scratch, &view, &ignored) ||
        !next_of(&view, history, &scratch, &next, &ignored) || next.done) {
        return 0;
    }
    int64_t left = budget_left(&view.budget);
    int64_t wanted = next.purpose == PURPOSE_CONFIRM ? confirm_extent(&view)
                                                     : remaining_of(&view) + confirm_extent(&view);
    return left < wanted ? left : wanted > 0 ? wanted : 1;
}

int64_t strategy_grid_extent(const struct strategy_spec *spec, const struct grid *grid,
                             struct arena *scratch)
{
    struct history empty = {.trials = NULL};
    struct strategy_spec plain = *spec;
    struct view view;
    struct err ignored;
    int64_t extent = 0;
    err_clear(&ignored);
    plain.kind = strategy_grid.name;
    if (!view_open(&plain, grid, &empty, scratch, &view, &ignored)) {
        return INT64_MAX;
    }
    for (size_t i = 0; i < grid->condition_count; i++) {
        extent += remaining_in(&view, &view.states[i]);
    }
    return extent;
}

/* ---- the array ---- */

const struct strategy *const strategies[] = {&strategy_auto, &strategy_grid,  &strategy_random,
                                             &strategy_lhs,  &strategy_coord, &strategy_race,
                                             &strategy_gp};
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
