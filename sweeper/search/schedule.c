/*
 * The shuffled order of blocks. A point's place follows from the seed, the block and its own key
 * alone, so that values added to the file later do not move what is already measured.
 */
#include "sweeper/search/schedule.h"

#include <stdlib.h>
#include <string.h>

struct place {
    uint64_t hash;
    size_t point;
};

static uint64_t mix(uint64_t value)
{
    value ^= value >> 30;
    value *= UINT64_C(0xbf58476d1ce4e5b9);
    value ^= value >> 27;
    value *= UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* FNV-1a over the key, then mixed with seed and block. */
static uint64_t place_hash(const char *key, int64_t seed, int64_t block)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *at = key; *at != '\0'; at++) {
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    }
    return mix(mix(hash ^ mix((uint64_t)seed + 1)) + (uint64_t)block);
}

static int compare_places(const void *a, const void *b)
{
    const struct place *left = a;
    const struct place *right = b;
    if (left->hash != right->hash) {
        return left->hash < right->hash ? -1 : 1;
    }
    return (left->point > right->point) - (left->point < right->point);
}

/* The cells' counts once, instead of a walk through the history for each. */
static int64_t *count_done(const struct grid *grid, const struct history *history,
                           struct arena *scratch)
{
    size_t cells = grid->point_count * grid->condition_count;
    int64_t *done = ARENA_ARRAY(scratch, int64_t, cells + 1);
    bool *is_counted = ARENA_ARRAY(scratch, bool, cells + 1);
    if (done == NULL || is_counted == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct past_trial *trial = &history->trials[i];
        if (trial->point == SIZE_MAX || trial->condition == SIZE_MAX) {
            continue;
        }
        size_t cell = trial->point * grid->condition_count + trial->condition;
        if (!is_counted[cell]) {
            is_counted[cell] = true;
            done[cell] = schedule_done(history, trial->point, trial->condition);
        }
    }
    return done;
}

static bool find_in_block(const struct grid *grid, const struct place *places, const int64_t *done,
                          int64_t block, struct proposal *out)
{
    for (size_t i = 0; i < grid->point_count; i++) {
        size_t point = places[i].point;
        for (size_t j = 0; j < grid->condition_count; j++) {
            size_t cell = point * grid->condition_count + j;
            if (!grid->points[point].baseline && grid->kept[cell] && done[cell] <= block) {
                *out = (struct proposal){.point = point,
                                         .condition = j,
                                         .purpose = block == 0 ? PURPOSE_EXPLORE : PURPOSE_REPEAT};
                return true;
            }
        }
    }
    return false;
}

bool schedule_next(const struct strategy_spec *spec, const struct grid *grid,
                   const struct history *history, int64_t repeats, struct arena *scratch,
                   struct proposal *out, struct err *err)
{
    struct place *places = ARENA_ARRAY(scratch, struct place, grid->point_count + 1);
    int64_t *done = count_done(grid, history, scratch);
    if (places == NULL || done == NULL) {
        return err_memory(err);
    }
    for (int64_t block = 0; block < repeats; block++) {
        for (size_t i = 0; i < grid->point_count; i++) {
            places[i] = (struct place){.hash = place_hash(grid->points[i].key, spec->seed, block),
                                       .point = i};
        }
        qsort(places, grid->point_count, sizeof *places, compare_places);
        if (find_in_block(grid, places, done, block, out)) {
            return true;
        }
    }
    *out = (struct proposal){.done = true};
    return true;
}
