/*
 * What stands before the first trial: the sweep file read, the target opened and probed, the grid
 * built and pruned, the store opened, an interrupted sweep put right first. Shared by `check`
 * (which stops before anything is written), `run` and `restore`.
 */
#ifndef SWEEPER_PLAN_H
#define SWEEPER_PLAN_H

#include "sweeper/target.h"

struct plan {
    struct arena arena; /* the sweep's */
    struct sweep sweep;
    struct target target;
    struct grid grid;
    struct value *baseline_values; /* [grid.swept_count] */
    int64_t guard_bytes;           /* 0: off */
    struct store *store;
    int64_t sweep_id;
    int64_t call_id;
    int64_t *point_ids;     /* [grid.point_count] */
    int64_t *condition_ids; /* [grid.condition_count] */
    bool is_resumed;
    bool is_store_new; /* by plan_open_store */
};

/* Reads the file. */
bool plan_read(struct plan *plan, const char *path, struct err *err) MUST_USE;
/* Opens and probes the target and builds the grid; writes nothing. With `offline`, rows come from
 * the catalogue and the target is left alone. */
bool plan_probe(struct plan *plan, bool offline, struct err *err) MUST_USE;
/* If the store exists and says that the target may be off its baseline, puts it back first. */
bool plan_recover(struct plan *plan, struct err *err) MUST_USE;
/* Whether this file and the configuration as found may go on with what the store holds; asked
 * before the workload's data are touched. Errors: plan_changed. */
bool plan_compare(struct plan *plan, bool fresh, struct err *err) MUST_USE;
/* The same question for `check`, which only reads: *out_touched, an earlier run was interrupted. */
bool plan_foresee(struct plan *plan, bool offline, bool *out_touched, struct err *err) MUST_USE;
/* Opens the store, or creates it: before anything of the target is touched. */
bool plan_open_store(struct plan *plan, struct err *err) MUST_USE;
/* Removes a store that plan_open_store created and in which no sweep began. */
void plan_drop_store(struct plan *plan);
/* Keeps the baseline, registers points and begins this call. With `fresh`, a new sweep begins in
 * the store. After plan_compare, plan_open_store and target_lock. */
bool plan_begin(struct plan *plan, bool fresh, struct err *err) MUST_USE;
/* Closes everything; safe after any failure. */
void plan_close(struct plan *plan);
/* The workload as a condition sets it; texts in the arena. Errors: those of workload_check_spec. */
bool plan_workload(const struct plan *plan, const struct condition *condition, struct arena *arena,
                   struct workload_spec *out, struct err *err) MUST_USE;

/* Whether the window holds two cycles of the longest interval that is swept. PLAN, unless
 * guard.cycles is off. After the grid was built; called by plan_probe. */
bool plan_check_cycles(struct plan *plan, struct err *err) MUST_USE;

/* "shared_buffers=1G work_mem=4M" for people, without what stays as found; "baseline" for the
 * baseline. NULL where memory ends. */
const char *plan_point_text(const struct plan *plan, const struct point *point,
                            struct arena *arena);
const char *plan_condition_text(const struct plan *plan, const struct condition *condition,
                                struct arena *arena);
/* Why a cell was pruned: the rule's text or the memory guard. */
const char *plan_pruned_reason(const struct plan *plan, const struct pruned *pruned,
                               struct arena *arena);

#endif
