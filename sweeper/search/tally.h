/*
 * What strategies read out of the history: how often each cell was measured, and an order of
 * points that depends on nothing but the seed and their keys.
 */
#ifndef SWEEPER_SEARCH_TALLY_H
#define SWEEPER_SEARCH_TALLY_H

#include "sweeper/search/strategy.h"

/* A cell that came to nothing this often in a row is left alone for the rest of the call. */
#define TALLY_VOID_LIMIT 3

struct tally {
    uint32_t measured_count; /* done, failed or running */
    uint32_t void_count;     /* in this call, in a row */
    bool is_hopeless;        /* it will not start (starts.h) */
};

/* The state as strategies see it: a trial still running in an earlier call died with it. */
enum trial_state tally_state(const struct history *history, const struct past_trial *trial);

/* One for each cell, row = point, as grid.kept. */
bool tally_cells(const struct grid *grid, const struct history *history, struct arena *scratch,
                 struct tally **out, struct err *err) MUST_USE;

/* The point that stands for the server as found, or SIZE_MAX where it is not measured apart. */
size_t tally_baseline(const struct grid *grid);

/* True when the cell is one that a strategy may propose: kept, not the baseline's, not measured
 * often enough, not given up, not hopeless. */
bool tally_open(const struct strategy_spec *spec, const struct grid *grid,
                const struct tally *tallies, size_t point, size_t condition);

/* True when no trial of the point was measured and some cell of it is open. */
bool tally_unmeasured(const struct strategy_spec *spec, const struct grid *grid,
                      const struct tally *tallies, size_t point);
/* How many points were measured, the baseline apart. */
size_t tally_explored(const struct grid *grid, const struct tally *tallies);
/* Proposes the point's first open cell that was measured less than `times` times; false: none. */
bool tally_propose_cell(const struct strategy_spec *spec, const struct grid *grid,
                        const struct tally *tallies, size_t point, uint32_t times,
                        struct proposal *out);
/* Proposes a cell of a point that was measured under some condition and not yet under this one;
 * false where there is none. For strategies that choose points one after the other. */
bool tally_unfinished(const struct strategy_spec *spec, const struct grid *grid,
                      const struct tally *tallies, struct proposal *out);

/* The place of a key in a shuffled order: the same whatever other points there are. */
uint64_t tally_hash(int64_t seed, const char *key, uint64_t block);

/* The best cell so far of a search over points: of the lowest block (how often it was measured
 * before), the one whose point comes first in that block's shuffled order. */
struct tally_best {
    bool found;
    size_t point;
    size_t condition;
    uint32_t block;
    uint64_t hash;
};
/* Takes the point's least measured open cell if it is better. */
void tally_consider(const struct strategy_spec *spec, const struct grid *grid,
                    const struct tally *tallies, size_t point, struct tally_best *best);
struct proposal tally_propose(const struct tally_best *best);

#endif
