/*
 * One target: host, server and its baseline. Everything that must be waited for, retried or
 * judged about a server stands here; the backend below does one thing once.
 *
 * The baseline is captured before the first change: bytes, mode, owner and hash of the
 * configuration file (in the store and as a copy beside it) and the effective value of every
 * swept knob. Rendering always starts from it, and target_restore proves that it is back.
 */
#ifndef SWEEPER_TARGET_H
#define SWEEPER_TARGET_H

#include "store/store.h"
#include "sweeper/sweepfile.h"

enum verdict { VERDICT_EQUAL, VERDICT_BASELINE, VERDICT_ADJUSTED, VERDICT_NOT_APPLIED };
const char *verdict_name(enum verdict verdict); /* "equal" "baseline" "adjusted" "not-applied" */

/* A swept knob as found before the sweep: what the proof of a restore compares. */
struct baseline_value {
    const char *name;
    const char *canonical;
    const char *display;
};

struct target {
    const struct sweep *sweep;
    struct arena *arena; /* the sweep's */
    struct host *host;
    struct server server;
    bool is_open; /* the backend's state exists */
    struct host_facts host_facts;
    struct value_facts facts;

    /* Swept candidate knobs, in grid order once target_use_grid was called. */
    struct sweep_knob_row *rows; /* as completed by the probe */
    int *row_lines;              /* of the sweep file, where each is first named */
    size_t row_count;
    struct reading *found; /* [row_count] effective values as probed */

    const struct grid *grid;
    struct value *baseline_values; /* [grid->swept_count]; kind BASELINE where not known */

    bool has_file; /* a configuration file is edited */
    bool has_baseline;
    struct bytes baseline_bytes;
    struct host_file baseline_file;
    struct baseline_value *baseline; /* effective values as found, by name */
    size_t baseline_count;
    char last_sha256[65]; /* of the file as we last wrote or found it */

    struct store *store; /* NULL in dry runs */
    int64_t sweep_id;
    bool is_locked;
    bool is_touched;   /* may be off its baseline */
    bool is_set_live;  /* runs with values that it was given while it ran */
    bool has_snapshot; /* a copy of the data files may be put back */
    const char *lock_path;
    const char *data_lock_path; /* NULL: the data directory is not locked */
    bool is_other_config;       /* a lock found there is of a sweep of another file */
    const char *copy_path;
    const char *identity_before; /* of the server before the last stop */
};

/* Opens the host and the backend; reads host facts; touches nothing. Safe to close after any
 * failure. */
bool target_open(struct target *target, const struct sweep *sweep, struct arena *arena,
                 struct err *err) MUST_USE;
void target_close(struct target *target);

/* Probes the running server: facts, the completed row and effective value of every knob that the
 * sweep file names. Unknown knobs are errors with FILE:LINE. */
bool target_probe(struct target *target, struct err *err) MUST_USE;
/* Binds the grid: baseline_values from the probed readings. */
bool target_use_grid(struct target *target, const struct grid *grid, struct err *err) MUST_USE;
/* Asks whether the programs that the sweep file names are there, and whether other layers will beat
 * the edited file. Errors, PLAN: not_found, overridden. */
bool target_preflight(struct target *target, struct err *err) MUST_USE;

/* The target's locks: files beside the configuration and in a server's data directory (where this
 * user may write there) that name this process and its store. A lock of a dead process is taken
 * over when it belongs to the same store, also where that was moved, else err `locked` names the
 * store to restore from; it is the error too where an interrupted sweep's changes are still there
 * and this store does not hold their baseline. */
bool target_lock(struct target *target, const char *store_path, struct err *err) MUST_USE;
void target_unlock(struct target *target);
/* What an interrupted sweep left beside the configuration or the database, for who lost its store.
 * After a probe, or where the place is known without one. */
struct target_traces {
    const char *store;     /* that the lock names; "" a lock of nobody; NULL no lock */
    const char *copy_path; /* of the original; NULL none */
    bool is_known;         /* false: there was no place to look */
};
bool target_find_traces(struct target *target, struct target_traces *out, struct err *err) MUST_USE;

/* Reads the configuration file (if there is one) and keeps the baseline in the store and beside
 * the original. */
bool target_capture(struct target *target, struct store *store, int64_t sweep_id,
                    struct err *err) MUST_USE;
/* Takes baseline and server facts from the store instead, after an interrupted sweep; the server
 * need not run. *out_found false where the store has none. Errors: foreign_edit when the file is
 * neither the baseline nor one that this sweep wrote. */
bool target_recall(struct target *target, struct store *store, const struct store_sweep *kept,
                   bool *out_found, struct err *err) MUST_USE;

/* ---- stages; each does its part once ---- */
bool target_stop(struct target *target, struct err *err) MUST_USE;
bool target_reset_files(struct target *target, struct err *err) MUST_USE;
bool target_apply(struct target *target, const struct setting *settings, size_t count,
                  struct arena *arena, struct err *err) MUST_USE;
bool target_drop_caches(struct target *target, struct err *err) MUST_USE;
bool target_start(struct target *target, struct err *err) MUST_USE;
/* Polls until ready or the ready timeout; a stop request ends it. */
bool target_ready(struct target *target, struct err *err) MUST_USE;

struct verified {
    struct reading reading;
    enum verdict verdict;
};
/* Reads back and judges one verdict per swept knob: arrays of grid->swept_count (entries of
 * workload settings stay zero). Errors: not_applied naming every knob that did not take and what
 * overrides it; `out` is filled then too. */
bool target_verify(struct target *target, const struct point *point, struct arena *arena,
                   struct verified *out, struct err *err) MUST_USE;
/* The settings of a point: one for each candidate knob whose value is not BASELINE. */
bool target_settings(const struct target *target, const struct point *point, struct arena *arena,
                     struct setting **out, size_t *out_count, struct err *err) MUST_USE;

/* The server's log since the last start, at most 8 KiB, printable; "" where there is none. */
const char *target_log_tail(struct target *target, struct arena *arena);

/* Puts the baseline back and proves it: file bytes, mode and owner, the server up, every swept
 * knob at its baseline value. Restarts nothing when the proof holds already. Works without the
 * store (from memory) and is never interrupted by a stop request. Errors: restore_failed;
 * foreign_edit, with the file as it is and the server up. */
bool target_restore(struct target *target, struct err *err) MUST_USE;
/* After the last restore of a run: drops the snapshot and the copy beside the original. */
bool target_tidy(struct target *target, struct err *err) MUST_USE;

/* After a crash: an embedded database whose copy is there gets its bytes back from it, unless
 * somebody wrote to it later than the trial that died could have: their rows are worth more than
 * our exactness. */
bool target_judge_data(struct target *target, struct err *err) MUST_USE;
/* Puts the copy back where there is one; the values can be put back without it. */
void target_put_data(struct target *target);

/* Writes the baseline bytes to the configuration file unless they are there. */
bool target_put_baseline(struct target *target, struct err *err) MUST_USE;

#endif
