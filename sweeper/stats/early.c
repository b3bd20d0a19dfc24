/*
 * The formula of early.h. Looks are few, so each may be as sure as one in a hundred parts of them.
 */
#include "sweeper/stats/early.h"

#include <math.h>

#include "sweeper/stats/summary.h"
#include "sweeper/stats/within.h"

static const double MARGIN = 0.03;
static const double RISK = 0.01; /* of all looks */
static const double SURE = 0.95; /* of the incumbent's next run */
static const double MANY = 1e6;

/* One standard error from a half-width on that many degrees of freedom. */
static double error_of(double half, double degrees)
{
    static const double confidence = 0.95;
    return half / summary_t_quantile(0.5 + confidence / 2, degrees);
}

struct early_look early_look_at(const struct early_rule *rule, const double *samples, size_t count)
{
    struct early_look look = {.mean = NAN, .high = INFINITY, .limit = 0};
    if (count < WITHIN_BATCHES || rule->degrees < EARLY_LEAST_DEGREES || isnan(rule->sd)) {
        return look;
    }
    struct within within = within_of(samples, count, 0.95);
    double error = fmax(error_of(within.effective_half, within.effective_count - 1),
                        error_of(within.batch_half, WITHIN_BATCHES - 1));
    double sureness = summary_t_quantile(1 - RISK / (double)rule->look_count, WITHIN_BATCHES - 1);
    double spread = rule->sd * sqrt(1 + 1 / (double)rule->incumbent_count);
    double wide = summary_t_quantile(SURE, fmin(rule->degrees, MANY));
    look.mean = within.mean;
    look.high = within.mean + sureness * error;
    look.limit = (1 - MARGIN) * rule->incumbent * exp(-wide * spread);
    look.is_lost = look.high < look.limit;
    return look;
}

size_t early_looks(size_t window_s, size_t first_s, size_t cycle_s, size_t out[EARLY_LOOK_LIMIT])
{
    static const double times[] = {1, 1.5, 2.5, 3.75, 5};
    size_t count = 0;
    for (size_t i = 0; i < EARLY_LOOK_LIMIT; i++) {
        bool is_beyond = cycle_s == 0 && i >= COUNT_OF(times);
        size_t at = is_beyond      ? window_s
                    : cycle_s == 0 ? (size_t)(times[i] * (double)first_s)
                                   : (i + 1) * cycle_s;
        if (at >= window_s) {
            break;
        }
        if (at >= WITHIN_BATCHES) {
            out[count++] = at;
        }
    }
    return count;
}
