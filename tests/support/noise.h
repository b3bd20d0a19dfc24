/*
 * Noise for the tests of statistics: normal deviates, and series of the first order whose
 * neighbours have a given correlation, from a seed.
 */
#ifndef TESTS_SUPPORT_NOISE_H
#define TESTS_SUPPORT_NOISE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

struct noise {
    uint64_t state;
};

/* Uniform in (0, 1): SplitMix64 (Steele, Lea and Flood 2014). */
static inline double noise_uniform(struct noise *noise)
{
    uint64_t mixed = noise->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31;
    return ((double)(mixed >> 11) + 0.5) / 9007199254740992.0;
}

static inline double noise_normal(struct noise *noise)
{
    double radius = sqrt(-2 * log(noise_uniform(noise)));
    return radius * cos(6.283185307179586 * noise_uniform(noise));
}

/* Around `mean` with deviation `sd`, each sample correlated with the last by `correlation`. */
static inline void noise_series(struct noise *noise, double mean, double sd, double correlation,
                                double *out, size_t count)
{
    double at = noise_normal(noise);
    for (size_t i = 0; i < count; i++) {
        out[i] = mean + sd * at;
        at = correlation * at + sqrt(1 - correlation * correlation) * noise_normal(noise);
    }
}

#endif
