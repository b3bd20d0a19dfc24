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
#include "sweeper/warm_up.h"

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
    const struct point *running;  /* what the server runs with; NULL: not known */
    int64_t restart_count;        /* of servers, by trials; and how long they took */
    int64_t restart_ns;
    int64_t spared_count; /* trials that needed no restart */
    double *debts_pct;    /* of the baseline, by condition: the largest; NAN: none is known */
};

struct trial_counters {
    struct counter *rows;
    size_t count;
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
    bool is_restarted;      /* the server was, for this trial */
    int64_t restarts_at_ns; /* when its stop began */
    struct warm_up warm_up;
    bool ended_warm;   /* it ended because it was steady */
    int64_t next_look; /* at the log's position, while it lasts */
    struct trial_counters at_go;
    struct trial_counters at_start; /* of the window */
    struct trial_counters at_end;
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

/* Whether the server is to be restarted for this trial (trial_restart.c): by the sweep file always,
 * or because a knob that changes since the trial before needs it, or nobody knows what the server
 * runs with. */
bool trial_must_restart(const struct trial *trial);
/* Reloads what changed since the trial before and waits until it reads back. *out_has_taken false:
 * a restart is due. */
bool trial_reload_changed(struct trial *trial, bool *out_has_taken) MUST_USE;

/* The server's counters now; none where it has none, or does not tell them in time. */
void trial_take_counters(struct trial *trial, int64_t timeout_ms, struct trial_counters *out);
/* Whether the warm-up may end: it is steady, and the log was written once around where its size is
 * swept. For struct load_progress; context is the trial. */
bool trial_is_warm(void *context);
/* Adds figures about the run to the row's metrics, and says as words what is to be held against
 * it: "not-steady", "few-cycles", "debt", "log-not-wrapped", "not-restarted", and those of
 * load_result_flags. */
bool trial_judge(struct trial *trial, struct store_result *row, const char **out_flags,
                 struct err *err) MUST_USE;

/* The key of the point under its effective values, for merging equal ones: "" unknown. */
const char *trial_effective_key(const struct trial *trial, struct arena *arena);

#endif
