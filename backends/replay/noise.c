/*
 * The finaliser of splitmix64 (Steele, Lea, Flood 2014) over key and counter; normal numbers by Box
 * and Muller, two uniform ones for each.
 */
#include "backends/replay/noise.h"

#include <math.h>

static uint64_t mix(uint64_t bits)
{
    bits += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

struct noise noise_open(int64_t seed, enum noise_stream stream, uint64_t part)
{
    return (struct noise){.key = mix(mix(mix((uint64_t)seed) ^ (uint64_t)stream) ^ part)};
}

double noise_unit(struct noise noise, uint64_t index)
{
    return (double)(mix(noise.key ^ mix(index)) >> 11) * 0x1p-53;
}

double noise_normal(struct noise noise, uint64_t index)
{
    double radius = sqrt(-2 * log(1 - noise_unit(noise, 2 * index)));
    return radius * cos(2 * acos(-1) * noise_unit(noise, 2 * index + 1));
}
