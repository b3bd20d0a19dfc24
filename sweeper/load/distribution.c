/*
 * Draws by sysbench's distributions.
 */
#include "sweeper/load/distribution.h"

#include <math.h>
#include <string.h>

#define ZIPF_EXPONENT 0.8
#define SPECIAL_WIDTH 0.01 /* of the rows */
#define SPECIAL_SHARE 0.75 /* of the draws */
enum { GAUSSIAN_DRAWS = 12 };

static const double pareto_power = 7.212567438; /* log(0.2) / log(0.8) */

bool distribution_open(const char *name, int64_t count, struct distribution *out)
{
    static const char *const names[] = {"uniform", "gaussian", "pareto", "zipfian", "special"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i], name) == 0) {
            *out = (struct distribution){.kind = (enum distribution_kind)i, .count = count};
            zipf_open(&out->zipf, ZIPF_EXPONENT, (double)count);
            return true;
        }
    }
    return false;
}

static double mean_of_draws(struct random *random)
{
    double sum = 0;
    for (int i = 0; i < GAUSSIAN_DRAWS; i++) {
        sum += random_unit(random);
    }
    return sum / GAUSSIAN_DRAWS;
}

/* As sysbench 1.0.20 draws, which is not quite what its manual says: the number that chooses
 * between the two parts also places the hot draws, so that they fall on the upper three quarters of
 * the window alone; the others span one row less than there are. */
static int64_t draw_special(int64_t count, struct random *random)
{
    double span = (double)(count - 1);
    double drawn = random_unit(random);
    if (drawn < 1 - SPECIAL_SHARE) {
        return 1 + (int64_t)(span * mean_of_draws(random));
    }
    double first = span / 2 - span * SPECIAL_WIDTH / 2;
    return 1 + (int64_t)(first + drawn * (span * SPECIAL_WIDTH + 1));
}

int64_t distribution_draw(const struct distribution *distribution, struct random *random)
{
    int64_t count = distribution->count;
    switch (distribution->kind) {
    case DISTRIBUTION_GAUSSIAN:
        return 1 + (int64_t)((double)count * mean_of_draws(random));
    case DISTRIBUTION_PARETO:
        return 1 + (int64_t)((double)count * pow(random_unit(random), pareto_power));
    case DISTRIBUTION_ZIPFIAN:
        return (int64_t)zipf_draw(&distribution->zipf, random);
    case DISTRIBUTION_SPECIAL:
        return draw_special(count, random);
    case DISTRIBUTION_UNIFORM:
        break;
    }
    return random_between(random, 1, count);
}
