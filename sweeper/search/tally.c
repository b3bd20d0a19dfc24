/*
 * Counts the history by cell, and orders points by hash.
 *
 * A shuffle by hash, unlike one by a generator's sequence, gives every point its place by itself:
 * values that are added to the sweep file later find places among the others and move none.
 */
#include "sweeper/search/tally.h"

#include "sweeper/search/starts.h"

enum trial_state tally_state(const struct history *history, const struct past_trial *trial)
{
    bool is_dead = trial->state == TRIAL_RUNNING && trial->call_id != history->call_id;
    return is_dead ? TRIAL_VOID : trial->state;
}

static void count_trial(const struct history *history, const struct past_trial *trial,
                        struct tally *tally)
{
    if (tally_state(history, trial) != TRIAL_VOID) {
        tally->measured_count++;
        tally->void_count = 0;
    } else if (trial->call_id == history->call_id) {
        tally->void_count++;
    }
}

bool tally_cells(const struct grid *grid, const struct history *history, struct arena *scratch,
                 struct tally **out, struct err *err)
{
    *out = ARENA_ARRAY(scratch, struct tally, grid->point_count * grid->condition_count);
    bool *hopeless = ARENA_ARRAY(scratch, bool, grid->point_count);
    if (*out == NULL || hopeless == NULL) {
        return err_memory(err);
    }
    starts_forbid(grid, history, hopeless);
    for (size_t i = 0; i < grid->point_count * grid->condition_count; i++) {
        (*out)[i].is_hopeless = hopeless[i / grid->condition_count];
    }
    for (size_t i = 0; i < history->count; i++) {
        const struct past_trial *trial = &history->trials[i];
        if (trial->point < grid->point_count && trial->condition < grid->condition_count) {
            size_t cell = trial->point * grid->condition_count + trial->condition;
            count_trial(history, trial, &(*out)[cell]);
        }
    }
    return true;
}

size_t tally_baseline(const struct grid *grid)
{
    for (size_t i = 0; grid->with_baseline && i < grid->point_count; i++) {
        if (grid->points[i].baseline) {
            return i;
        }
    }
    return SIZE_MAX;
}

bool tally_open(const struct strategy_spec *spec, const struct grid *grid,
                const struct tally *tallies, size_t point, size_t condition)
{
    size_t cell = point * grid->condition_count + condition;
    bool is_baseline = grid->with_baseline && grid->points[point].baseline;
    return grid->kept[cell] && !is_baseline && tallies[cell].measured_count < spec->repeats &&
           tallies[cell].void_count < TALLY_VOID_LIMIT && !tallies[cell].is_hopeless;
}

bool tally_unmeasured(const struct strategy_spec *spec, const struct grid *grid,
                      const struct tally *tallies, size_t point)
{
    bool any_open = false;
    for (size_t i = 0; i < grid->condition_count; i++) {
        if (tallies[point * grid->condition_count + i].measured_count > 0) {
            return false;
        }
        any_open = any_open || tally_open(spec, grid, tallies, point, i);
    }
    return any_open;
}

size_t tally_explored(const struct grid *grid, const struct tally *tallies)
{
    size_t count = 0;
    size_t baseline = tally_baseline(grid);
    for (size_t i = 0; i < grid->point_count; i++) {
        bool is_measured = false;
        for (size_t j = 0; j < grid->condition_count; j++) {
            is_measured = is_measured || tallies[i * grid->condition_count + j].measured_count > 0;
        }
        count += is_measured && i != baseline;
    }
    return count;
}

bool tally_propose_cell(const struct strategy_spec *spec, const struct grid *grid,
                        const struct tally *tallies, size_t point, uint32_t times,
                        struct proposal *out)
{
    for (size_t i = 0; i < grid->condition_count; i++) {
        uint32_t measured = tallies[point * grid->condition_count + i].measured_count;
        if (measured < times && tally_open(spec, grid, tallies, point, i)) {
            *out = (struct proposal){.point = point,
                                     .condition = i,
                                     .purpose = measured == 0 ? PURPOSE_EXPLORE : PURPOSE_REPEAT};
            return true;
        }
    }
    return false;
}

bool tally_unfinished(const struct strategy_spec *spec, const struct grid *grid,
                      const struct tally *tallies, struct proposal *out)
{
    for (size_t i = 0; i < grid->point_count; i++) {
        bool is_measured = false;
        for (size_t j = 0; j < grid->condition_count; j++) {
            is_measured = is_measured || tallies[i * grid->condition_count + j].measured_count > 0;
        }
        if (is_measured && tally_propose_cell(spec, grid, tallies, i, 1, out)) {
            return true;
        }
    }
    return false;
}

/* The finaliser of splitmix64: every bit of the input reaches every bit of the output. */
static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

uint64_t tally_hash(int64_t seed, const char *key, uint64_t block)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (const unsigned char *byte = (const unsigned char *)key; *byte != '\0'; byte++) {
        hash = (hash ^ *byte) * UINT64_C(1099511628211);
    }
    uint64_t salt = mix((uint64_t)seed + UINT64_C(0x9e3779b97f4a7c15)) + block;
    return mix(hash ^ mix(salt));
}

/* The point's least measured open cell; false where it has none. */
static bool next_condition(const struct strategy_spec *spec, const struct grid *grid,
                           const struct tally *tallies, size_t point, size_t *out_condition,
                           uint32_t *out_block)
{
    bool found = false;
    for (size_t i = 0; i < grid->condition_count; i++) {
        uint32_t measured = tallies[point * grid->condition_count + i].measured_count;
        if (tally_open(spec, grid, tallies, point, i) && (!found || measured < *out_block)) {
            *out_condition = i;
            *out_block = measured;
            found = true;
        }
    }
    return found;
}

void tally_consider(const struct strategy_spec *spec, const struct grid *grid,
                    const struct tally *tallies, size_t point, struct tally_best *best)
{
    size_t condition = 0;
    uint32_t block = 0;
    if (!next_condition(spec, grid, tallies, point, &condition, &block) ||
        (best->found && block > best->block)) {
        return;
    }
    uint64_t hash = tally_hash(spec->seed, grid->points[point].key, block);
    if (!best->found || block < best->block || hash < best->hash) {
        *best = (struct tally_best){
            .found = true, .point = point, .condition = condition, .block = block, .hash = hash};
    }
}

struct proposal tally_propose(const struct tally_best *best)
{
    return (struct proposal){.done = !best->found,
                             .point = best->point,
                             .condition = best->condition,
                             .purpose = best->block == 0 ? PURPOSE_EXPLORE : PURPOSE_REPEAT};
}
