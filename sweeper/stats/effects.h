/*
 * Which axes matter: functional ANOVA over the cells of a grid. mu is a value for each valid cell,
 * f_j(v) its mean over the cells with level v on axis j; an axis has the share Var(f_j) / Var(mu),
 * a pair Var(f_jk) / Var(mu) less the shares of its two axes, all weighted by how many cells have a
 * level.
 *
 * Where every combination of levels was measured, mu are the measured values: classical ANOVA, with
 * what noise alone adds taken off (s^2 (L - 1) / N of an axis) and F tests. Else mu is the fit of a
 * ridge regression on indicators of all levels and of all pairs of levels, its penalty chosen by
 * leaving one out. Constrained grids are not orthogonal: shares need not add up to 1.
 */
#ifndef SWEEPER_STATS_EFFECTS_H
#define SWEEPER_STATS_EFFECTS_H

#include "sweeper/base/arena.h"
#include "sweeper/base/err.h"

#define EFFECTS_LEAST_R2 0.3 /* below, importance is unreliable */

struct effects_design {
    size_t axis_count;
    const size_t *level_counts; /* [axis_count], each at least 1 */
    size_t cell_count;          /* all valid cells, each once */
    const size_t *levels;       /* [cell_count * axis_count], each below its axis' count */
    const double *values;       /* [cell_count], logarithms; NAN: not measured */
    const double *runs;         /* [cell_count]: how many runs a value is the mean of */
    double noise_variance;      /* of one run; NAN: not known */
    double noise_degrees;
    double confidence; /* of intervals */
};

struct effect {
    double share; /* of the variance over cells */
    double low;   /* NAN: not known */
    double high;
    double p; /* by F, where every combination was measured and noise is known; else NAN */
};
struct effect_level {
    double value; /* f_j(v) less the mean over all cells */
    double half;  /* half of its interval; NAN: not known */
};
struct effects {
    bool is_exact;       /* every combination was measured */
    bool is_constrained; /* not every combination is valid */
    bool has_pairs;      /* else there are too many to fit */
    size_t measured;
    double variance; /* of mu over cells, less noise */
    /* How much of what differs is no noise: by noise where exact, else by leaving one out. NAN: not
     * known. */
    double r2;
    struct effect *axes;          /* [axis_count] */
    struct effect *pairs;         /* by effects_pair */
    struct effect_level **levels; /* [axis_count][level] */
};

/* Where the pair of two axes stands, j < k. */
size_t effects_pair(size_t axis_count, size_t j, size_t k);

/* At least two cells measured and one axis with two levels; else err not_found, which says what is
 * missing. Results are in the arena. The same design gives the same answer. */
bool effects_of(const struct effects_design *design, struct arena *arena, struct effects *out,
                struct err *err) MUST_USE;

#endif
