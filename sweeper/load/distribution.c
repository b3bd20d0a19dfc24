/*
 * Draws by sysbench's distributions.
 */
#include "sweeper/load/distribution.h"

#include <math.h>
#include <string.h>

#define ZIPF_EXPONENT 0.8
enum { GAUSSIAN_DRAWS = 12, SPECIAL_PCT = 1, SPECIAL_SHARE_PCT = 75 };

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

static int64_t draw_gaussian(int64_t low, int64_t high, struct random *random)
{
    double sum = 0;
    for (int i = 0; i < GAUSSIAN_DRAWS; i++) {
        sum += random_unit(random);
    }
    int64_t drawn = low + (int64_t)((double)(high - low + 1) * sum / GAUSSIAN_DRAWS);
    return drawn > high ? high : drawn;
}

static int64_t draw_special(int64_t count, struct random *random)
{
    int64_t width = count * SPECIAL_PCT / 100;
    int64_t first = 1 + (count - width) / 2;
    if (width > 0 && random_between(random, 1, 100) <= SPECIAL_SHARE_PCT) {
        return random_between(random, first, first + width - 1);
    }
    return draw_gaussian(1, count, random);
}

int64_t distribution_draw(const struct distribution *distribution, struct random *random)
{
    int64_t count = distribution->count;
    switch (distribution->kind) {
    case DISTRIBUTION_GAUSSIAN:
        return draw_gaussian(1, count, random);
    case DISTRIBUTION_PARETO:
        return 1 + (int64_t)((double)(count - 1) * pow(random_unit(random), pareto_power));
    case DISTRIBUTION_ZIPFIAN:
        return (int64_t)zipf_draw(&distribution->zipf, random);
    case DISTRIBUTION_SPECIAL:
        return draw_special(count, random);
    case DISTRIBUTION_UNIFORM:
        break;
    }
    return random_between(random, 1, count);
}
