/*
 * Whether a series of equal intervals (throughput by second) has come to rest: where its start-up
 * ends (MSER-5), whether its last third differs from its first, and where its level changed last.
 * Says what it sees; what follows from that is decided by the caller.
 */
#ifndef SWEEPER_STATS_STEADY_H
#define SWEEPER_STATS_STEADY_H

#include "sweeper/base/arena.h"
#include "sweeper/base/err.h"

/* Below so many samples nothing is said: noise alone would look like anything. */
#define STEADY_LEAST_SAMPLES 30
/* Differences up to this share of the mean do not matter, however sure they are. */
#define STEADY_TOLERATED_PCT 2.0

/* MSER-5 (White; Hoad et al.): over means of five samples, the cut that makes the squared standard
 * error of what is left smallest, searched in the first half. */
struct steady_cut {
    size_t samples; /* to leave out, a multiple of five */
    bool is_found;  /* false: the best cut is the end of the search, or there are too few samples */
};
struct steady_cut steady_mser5(const double *samples, size_t count);

/* The last third against the first: Welch's test on ten batch means of each. */
struct steady_thirds {
    double difference_pct; /* of the mean of all; NAN where there are too few samples */
    double probability;    /* of a difference as large if there were none; NAN likewise */
    bool is_moving;        /* below 1 %, and larger than what is tolerated */
};
struct steady_thirds steady_thirds(const double *samples, size_t count);

/* The exact segmentation into levels of least cost: squared residuals over the variance of the
 * noise, and 3 ln n for each change, over means of `group` samples (of about ten seconds). */
struct steady_level {
    size_t first;          /* sample that the last level begins with; 0: there is one level */
    double share_pct;      /* of the series that it covers */
    double difference_pct; /* to the nearest earlier level, of the mean; 0 where there is none */
    bool is_new; /* it covers less than half, and no level before was like it: not a cycle */
};
bool steady_last_level(const double *samples, size_t count, size_t group, struct arena *scratch,
                       struct steady_level *out, struct err *err) MUST_USE;

enum steady_verdict { STEADY_UNKNOWN, STEADY_YES, STEADY_NO };

/* All of it over one run: `warm_up_count` samples before the window, then the window. A cut that
 * reaches into the window counts where it would change the window's mean by more than is
 * tolerated. */
struct steady {
    enum steady_verdict verdict; /* of the window */
    struct steady_cut cut;       /* of the whole series */
    struct steady_thirds thirds; /* of the window */
    struct steady_level level;   /* likewise */
    const char *reason;          /* in words; "" where there is nothing to say */
};
bool steady_judge(const double *samples, size_t count, size_t warm_up_count, double interval_s,
                  struct arena *scratch, struct steady *out, struct err *err) MUST_USE;

/* Whether a warm-up under way may end: the cut is found in the first half of what there is, and
 * what is left of it, which are enough samples to judge, neither moves nor is at a new level. */
bool steady_is_warm(const double *samples, size_t count, struct arena *scratch, bool *out,
                    struct err *err) MUST_USE;

#endif
