/*
 * The noise comes from repeats alone, never from what points differ by. Of the baseline, which
 * stands between all other trials, neighbours are compared, so that a drift over the night is not
 * taken for noise; of other cells their spread about their mean.
 */
#include "sweeper/search/sample.h"

#include <math.h>

#include "sweeper/search/tally.h"

static bool has_value(const struct past_trial *trial)
{
    return trial->state == TRIAL_DONE && !isnan(trial->value);
}

static bool is_in_grid(const struct grid *grid, const struct past_trial *trial)
{
    return trial->point < grid->point_count && trial->condition < grid->condition_count;
}

static bool all_positive(const struct grid *grid, const struct history *history, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct past_trial *trial = &history->trials[i];
        if (is_in_grid(grid, trial) && has_value(trial) && trial->value <= 0) {
            return false;
        }
    }
    return true;
}

static double y_of(const struct past_trial *trial, bool is_log)
{
    double y = is_log ? log(trial->value) : trial->value;
    return trial->higher_is_better ? y : -y;
}

static void add_row(const struct past_trial *trial, size_t index, double time, struct sample *out)
{
    bool is_valid = has_value(trial);
    out->rows[out->count++] = (struct observation){
        .point = trial->point,
        .condition = trial->condition,
        .trial = index,
        .y = is_valid ? y_of(trial, out->is_log) : NAN,
        .time = time,
        .is_failed = !is_valid,
        .is_censored = is_valid && trial->is_censored,
        .is_confirm = trial->purpose == PURPOSE_CONFIRM,
        .is_explore = trial->purpose == PURPOSE_EXPLORE || trial->purpose == PURPOSE_REPEAT};
    out->valid_count += is_valid;
}

/* Failed trials get the worst y of their condition; of any where theirs has none. */
static void fill_failed(struct sample *out)
{
    for (size_t i = 0; i < out->count; i++) {
        if (!out->rows[i].is_failed) {
            continue;
        }
        double worst = INFINITY;
        double worst_here = INFINITY;
        for (size_t j = 0; j < out->count; j++) {
            const struct observation *row = &out->rows[j];
            if (!row->is_failed) {
                worst = fmin(worst, row->y);
                worst_here = row->condition == out->rows[i].condition ? fmin(worst_here, row->y)
                                                                      : worst_here;
            }
        }
        out->rows[i].y = isinf(worst_here) ? worst : worst_here;
    }
}

/* ---- noise ---- */

struct spread {
    double squares;
    double degrees;
};

/* Half the squared steps between neighbours. They overlap: (n - 1) of them are worth about two
 * thirds as many degrees of freedom (von Neumann 1941). */
static void add_neighbours(const struct sample *sample, size_t point, size_t condition,
                           struct spread *spread)
{
    double last = NAN;
    double squares = 0;
    double steps = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const struct observation *row = &sample->rows[i];
        if (row->point != point || row->condition != condition || row->is_failed ||
            row->is_censored) {
            continue;
        }
        if (!isnan(last)) {
            squares += (row->y - last) * (row->y - last) / 2;
            steps++;
        }
        last = row->y;
    }
    double degrees = steps > 0 ? 2 * steps * steps / (3 * steps - 1) : 0;
    spread->degrees += degrees;
    spread->squares += steps > 0 ? squares / steps * degrees : 0;
}

static bool add_repeats(const struct grid *grid, const struct sample *sample, size_t baseline,
                        struct arena *arena, struct spread *spread, struct err *err)
{
    struct cell_mean *means = NULL;
    if (!sample_means(grid, sample, arena, &means, err)) {
        return false;
    }
    for (size_t i = 0; i < sample->count; i++) {
        const struct observation *row = &sample->rows[i];
        const struct cell_mean *cell = &means[row->point * grid->condition_count + row->condition];
        if (row->is_failed || row->is_censored || row->point == baseline || cell->count < 2) {
            continue;
        }
        spread->squares += (row->y - cell->mean) * (row->y - cell->mean);
        spread->degrees += (cell->count - 1.0) / cell->count;
    }
    return true;
}

static bool estimate_noise(const struct grid *grid, struct arena *arena, struct sample *out,
                           struct err *err)
{
    struct spread spread = {.squares = 0};
    size_t baseline = tally_baseline(grid);
    for (size_t i = 0; baseline != SIZE_MAX && i < grid->condition_count; i++) {
        add_neighbours(out, baseline, i, &spread);
    }
    if (!add_repeats(grid, out, baseline, arena, &spread, err)) {
        return false;
    }
    out->sigma = spread.degrees > 0 ? sqrt(spread.squares / spread.degrees) : NAN;
    out->sigma_degrees = spread.degrees;
    return true;
}

/* ---- the whole ---- */

static double unit_of(const struct sample *sample)
{
    double largest = 0;
    for (size_t i = 0; i < sample->count; i++) {
        largest = fmax(largest, fabs(sample->rows[i].y));
    }
    return sample->is_log || largest <= 0 ? 1 : largest;
}

bool sample_take(const struct grid *grid, const struct history *history, size_t trial_count,
                 struct arena *arena, struct sample *out, struct err *err)
{
    double time = 0;
    *out = (struct sample){.rows = ARENA_ARRAY(arena, struct observation, trial_count + 1),
                           .is_log = all_positive(grid, history, trial_count)};
    if (out->rows == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < trial_count; i++) {
        const struct past_trial *trial = &history->trials[i];
        enum trial_state state = tally_state(history, trial);
        if (state == TRIAL_VOID) {
            continue;
        }
        if (is_in_grid(grid, trial) && state != TRIAL_RUNNING) {
            add_row(trial, i, time, out);
        }
        time++;
    }
    if (out->valid_count == 0) {
        out->count = 0; /* failures alone teach no figure */
    }
    fill_failed(out);
    out->unit = unit_of(out);
    return estimate_noise(grid, arena, out, err);
}

bool sample_means(const struct grid *grid, const struct sample *sample, struct arena *arena,
                  struct cell_mean **out, struct err *err)
{
    size_t cells = grid->point_count * grid->condition_count;
    *out = ARENA_ARRAY(arena, struct cell_mean, cells);
    if (*out == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < sample->count; i++) {
        const struct observation *row = &sample->rows[i];
        struct cell_mean *cell = &(*out)[row->point * grid->condition_count + row->condition];
        if (row->is_failed) {
            cell->failed_count++;
        } else if (!row->is_censored) {
            cell->count++;
            cell->mean += (row->y - cell->mean) / cell->count;
        }
    }
    for (size_t i = 0; i < cells; i++) {
        (*out)[i].mean = (*out)[i].count > 0 ? (*out)[i].mean : NAN;
    }
    return true;
}

bool sample_can_win(const struct strategy_spec *spec, const struct grid *grid,
                    const struct cell_mean *means, size_t point)
{
    for (size_t i = 0; i < grid->condition_count; i++) {
        const struct cell_mean *cell = &means[point * grid->condition_count + i];
        if (cell->failed_count > 0 && cell->failed_count >= cell->count) {
            return false;
        }
    }
    return spec->can_win == NULL || spec->can_win[point];
}
