/*
 * The monotone rule: a server that has no room for a pool has none for a larger one.
 *
 * It is asked of settings that take memory alone. That all failures lie above some value says
 * nothing of a setting which merely happened to be there.
 */
#include "sweeper/search/starts.h"

#include <math.h>

struct start_limit {
    double least_failed; /* INFINITY: none failed */
    double most_started; /* -INFINITY: none started */
    size_t failed_points;
};

static struct start_limit limit_of(const struct grid *grid, const struct history *history,
                                   size_t setting)
{
    struct start_limit limit = {.least_failed = INFINITY, .most_started = -INFINITY};
    size_t last_failed = SIZE_MAX;
    for (size_t i = 0; i < history->count; i++) {
        const struct past_trial *trial = &history->trials[i];
        double number = 0;
        if (trial->point >= grid->point_count ||
            !value_number(&grid->points[trial->point].values[setting], &number)) {
            continue;
        }
        if (trial->state == TRIAL_DONE) {
            limit.most_started = fmax(limit.most_started, number);
        } else if (trial->state == TRIAL_FAILED && trial->failed_start) {
            limit.least_failed = fmin(limit.least_failed, number);
            limit.failed_points += trial->point != last_failed;
            last_failed = trial->point;
        }
    }
    return limit;
}

void starts_forbid(const struct grid *grid, const struct history *history, bool *out)
{
    for (size_t i = 0; i < grid->point_count; i++) {
        out[i] = false;
    }
    for (size_t j = 0; j < grid->swept_count; j++) {
        if (grid->swept[j].kind != SWEPT_KNOB || grid->swept[j].knob->memory != KNOB_MEMORY_ONCE) {
            continue;
        }
        struct start_limit limit = limit_of(grid, history, j);
        bool is_wall = limit.failed_points >= 2 && isfinite(limit.most_started) &&
                       limit.most_started < limit.least_failed;
        for (size_t i = 0; is_wall && i < grid->point_count; i++) {
            double number = 0;
            out[i] = out[i] || (value_number(&grid->points[i].values[j], &number) &&
                                number >= limit.least_failed);
        }
    }
}
