/*
 * One trial: its stages, each of which tells the store first and then touches the server, and the
 * row that says what came of it.
 */
#ifndef SWEEPER_TRIAL_H
#define SWEEPER_TRIAL_H

#include "sweeper/console.h"
#include "sweeper/load_host.h"
#include "sweeper/plan.h"
#include "sweeper/stats/early.h"

enum stage {
#define STAGE(name, sentence) STAGE_##name,
#include "sweeper/stages.def"
#undef STAGE
    STAGE_COUNT
};
const char *stage_name(enum stage stage);

/* A trial that may be ended early: see trial_early.h. */
struct early {
    size_t looks[EARLY_LOOK_LIMIT];
    size_t look_count; /* 0: it is not judged */
    struct early_rule rule;
    struct load_second *seconds; /* [window_s] of the window, so far */
    double *samples;             /* their throughput */
    size_t count;
    size_t window_s;
    struct early_look last;
    bool is_lost;
};

/* What all trials of a run share. */
struct trial_setup {
    struct plan *plan;
    struct console *console;
    struct load_hosts load_hosts; /* where the workers run */
    const char *reset;            /* "none" "reload" "snapshot" "command": resolved */
    double *ceilings_per_s;       /* of the driver, by condition; 0: not known yet */
};

struct trial {
    struct trial_setup *setup;
    struct arena *arena; /* reset by the loop after each trial */
    struct err err;      /* why it failed */
    int64_t id;
    size_t point;     /* index into grid.points */
    size_t condition; /* index into grid.conditions */
    enum purpose purpose;
    int64_t number;        /* trials of the sweep that ended before */
    int64_t repeat_number; /* of those, trials of this cell */
    enum stage stage;      /* under way or last */
    bool in_stage;

    struct setting *settings;
    size_t setting_count;
    struct load_job job;       /* with the condition's workload settings */
    struct verified *verified; /* [grid.swept_count] */
    bool is_verified;
    const char *identity; /* of the server that was verified */
    struct load_team *team;
    struct load_result result;
    bool has_result;
    struct early early;
    struct counter *counters_start;
    size_t counter_start_count;
    struct counter *counters_end;
    size_t counter_end_count;
    int64_t size_before_bytes;
    int64_t size_after_bytes;
    const char *log_tail; /* of the server since its start; NULL not read yet */
};

/* Prepares settings and job, and begins the row. */
bool trial_begin(struct trial *trial, struct err *err) MUST_USE;

/* The stages, in order; false leaves the reason in trial->err. A stage that the sweep does not ask
 * for passes at once and leaves no row. */
#define STAGE(name, sentence) bool trial_##name(struct trial *trial) MUST_USE;
#include "sweeper/stages.def"
#undef STAGE

/* Writes what was measured, read back and said by the server's log, and ends the row with the
 * status that follows from trial->err ("done" where ok). */
bool trial_end(struct trial *trial, bool ok, struct err *err) MUST_USE;
/* Ends a worker that still lives. */
void trial_close(struct trial *trial);

/* The key of the point under its effective values, for merging equal ones: "" unknown. */
const char *trial_effective_key(const struct trial *trial, struct arena *arena);

#endif
