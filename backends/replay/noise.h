/*
 * Random numbers that are told by what they are for, not by when they are drawn: the same seed,
 * stream and index give the same number, whatever was drawn before. So a replay that was killed
 * goes on with the numbers that it would have had.
 */
#ifndef BACKENDS_REPLAY_NOISE_H
#define BACKENDS_REPLAY_NOISE_H

#include "sweeper/base/base.h"

struct noise {
    uint64_t key; /* of seed and stream */
};

/* What the numbers of one stream are for. */
enum noise_stream {
    NOISE_RUN,     /* a run's own factor */
    NOISE_SECONDS, /* the seconds of a run */
    NOISE_WALK,    /* steps of the random walk */
    NOISE_OUTLIER,
    NOISE_BROKEN, /* trials that fail */
    NOISE_REFUSED /* points that do not start */
};

struct noise noise_open(int64_t seed, enum noise_stream stream, uint64_t part);
double noise_unit(struct noise noise, uint64_t index);   /* [0, 1) */
double noise_normal(struct noise noise, uint64_t index); /* mean 0, deviation 1 */

#endif
