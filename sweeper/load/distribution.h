/*
 * Which rows are drawn: sysbench's distributions over 1 … n.
 */
#ifndef SWEEPER_LOAD_DISTRIBUTION_H
#define SWEEPER_LOAD_DISTRIBUTION_H

#include "sweeper/load/workload.h"
#include "sweeper/load/zipf.h"

enum distribution_kind {
    DISTRIBUTION_UNIFORM,
    DISTRIBUTION_GAUSSIAN, /* mean of 12 uniform draws */
    DISTRIBUTION_PARETO,   /* h = 0.2 */
    DISTRIBUTION_ZIPFIAN,  /* exponent 0.8 */
    DISTRIBUTION_SPECIAL   /* 1.0's default: 75 % of the draws within 1 % of the rows */
};

struct distribution {
    enum distribution_kind kind;
    int64_t count;
    struct zipf zipf;
};

bool distribution_open(const char *name, int64_t count, struct distribution *out) MUST_USE;
/* 1 … count */
int64_t distribution_draw(const struct distribution *distribution, struct random *random);

#endif
