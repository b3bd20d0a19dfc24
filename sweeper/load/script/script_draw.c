/*
 * Draws from a range by the distributions of scripts. The formulas are those of pgbench's manual
 * (PostgreSQL 15, pgbench, Random Functions), so that scripts keep their meaning.
 */
#include <math.h>

#include "sweeper/load/script/script.h"
#include "sweeper/load/zipf.h"

/* The value at this share (0 up to, but not, 1) of a range that may be all of 64 bits. */
static int64_t at_share(int64_t low, int64_t high, double share)
{
    uint64_t width = (uint64_t)high - (uint64_t)low;
    double offset = floor(share * ((double)width + 1));
    uint64_t whole = offset >= (double)width ? width : offset > 0 ? (uint64_t)offset : 0;
    return (int64_t)((uint64_t)low + whole);
}

int64_t script_draw_gaussian(struct random *random, int64_t low, int64_t high, double parameter)
{
    double drawn = parameter;
    while (!(drawn >= -parameter && drawn < parameter)) {
        double length = sqrt(-2 * log(1 - random_unit(random)));
        drawn = length * sin(2 * M_PI * random_unit(random));
    }
    return at_share(low, high, (drawn + parameter) / (2 * parameter));
}

int64_t script_draw_exponential(struct random *random, int64_t low, int64_t high, double parameter)
{
    return at_share(low, high, -log1p(expm1(-parameter) * random_unit(random)) / parameter);
}

int64_t script_draw_zipfian(struct random *random, int64_t low, int64_t high, double exponent)
{
    struct zipf zipf;
    uint64_t width = (uint64_t)high - (uint64_t)low;
    zipf_open(&zipf, exponent, (double)width + 1);
    double offset = zipf_draw(&zipf, random) - 1;
    uint64_t whole = offset >= (double)width ? width : (uint64_t)offset;
    return (int64_t)((uint64_t)low + whole);
}
