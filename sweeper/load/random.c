/*
 * The clients' random numbers: xoshiro256**, seeded through splitmix64 so that clients of one seed
 * have unrelated streams. Public-domain algorithms by Blackman and Vigna, written anew.
 */
#include "sweeper/load/workload.h"

static uint64_t split_mix(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = *state;
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

void random_seed(struct random *random, uint64_t seed, uint64_t stream)
{
    uint64_t state = seed;
    state = split_mix(&state) ^ (stream * UINT64_C(0xd1342543de82ef95) + 1);
    for (size_t i = 0; i < 4; i++) {
        random->state[i] = split_mix(&state);
    }
}

static uint64_t rotate_left(uint64_t value, unsigned by)
{
    return (value << by) | (value >> (64 - by));
}

uint64_t random_next(struct random *random)
{
    uint64_t *state = random->state;
    uint64_t result = rotate_left(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate_left(state[3], 45);
    return result;
}

/* Multiply and shift with rejection: exactly uniform. */
int64_t random_between(struct random *random, int64_t low, int64_t high)
{
    uint64_t span = (uint64_t)high - (uint64_t)low + 1;
    if (span == 0) {
        return (int64_t)random_next(random);
    }
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)random_next(random) * span;
    if ((uint64_t)product < span) {
        uint64_t least = (0 - span) % span;
        while ((uint64_t)product < least) {
            product = (wide)random_next(random) * span;
        }
    }
    return (int64_t)((uint64_t)low + (uint64_t)(product >> 64));
}

double random_unit(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1.0p-53;
}
