/*
 * The result store: one SQLite file that holds everything needed to explain a result. One writer,
 * WAL with synchronous=FULL; readers never block it. Every stage of a trial is committed before
 * the server is touched. All SQL stands in statements.def, the schema in schema.sql (generated
 * into a C string at build time).
 *
 * Units stand in column names; times are microseconds since 1970 UTC (`_us`) or durations in
 * microseconds (`elapsed_us`). Errors: store, store_foreign, locked, not_found, plan_changed.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "knobs/grid.h"
#include "sweeper/base/err.h"

struct store;

enum store_mode {
    STORE_CREATE, /* opens or creates, for writing: takes the writer's lock */
    STORE_WRITE,  /* must exist; takes the writer's lock (restore, prune) */
    STORE_READ    /* must exist; never blocks a writer */
};

/* Opens, checks application_id, user_version and `pragma quick_check` (writers). A store that
 * another process is writing: err `locked` naming its pid. Refuses network file systems, foreign
 * files (which are left as they are, with nothing beside them) and other schemas. New files are
 * 0600; one that is empty because its making was interrupted counts as new for writers and as
 * not_found for readers. Rows still `running` from a process that died become `interrupted`
 * (STORE_CREATE and STORE_WRITE). */
bool store_open(const char *path, enum store_mode mode, struct store **out,
                struct err *err) MUST_USE;
void store_close(struct store *store); /* NULL is fine */
const char *store_path(const struct store *store);
/* "SQLite 3.40.1", as linked at run time. */
const char *store_library_version(void);

/* ---- the sweep ---- */
struct store_swept {
    const char *name;
    const char *kind; /* "knob" "host" "workload" */
    const char *type; /* knob_type_name */
    const char *unit; /* canonical: unit_name */
    const char *apply;
    const char *durability;
    const char *sentence;
};
struct store_sweep {
    int64_t sweep_id;
    const char *name;
    const char *file_text; /* the sweep file as run */
    const char *plan_hash; /* of what may not change without --fresh: target, workload, windows */
    const char *plan_text; /* what was hashed, line by line, so that a change can be named */
    const char *backend;
    const char *product;
    const char *version;
    const char *target_label;        /* host and config path, or database file */
    const char *data_directory;      /* of the server; "" not known: a restore may find it down */
    const char *log_path;            /* of the server; "" not known */
    const char *facts_json;          /* host facts, server facts */
    const char *labels_json;         /* {"kernel":"6.1"} */
    const char *workload_json;       /* every workload setting */
    const char *rank_by;             /* "throughput_per_s" */
    const char *rank_better;         /* "higher" | "lower" */
    const char *rank_under;          /* "" none */
    const char *rank_durability;     /* "baseline" | "any" */
    const char *rank_across;         /* "each" | "geomean" */
    double rank_confidence;          /* 0.95 */
    int64_t planned_trials;          /* 0 unknown; for ETA */
    const struct store_swept *swept; /* not filled by store_sweep_latest */
    size_t swept_count;
};
/* Begins a sweep: all its rows in one transaction; out_id. */
bool store_sweep_begin(struct store *store, const struct store_sweep *sweep, int64_t *out_id,
                       struct err *err) MUST_USE;
/* The newest sweep of the store; err not_found where there is none. */
bool store_sweep_latest(struct store *store, struct arena *arena, struct store_sweep *out,
                        struct err *err) MUST_USE;
/* A sweep by its number; err not_found. */
bool store_sweep_get(struct store *store, int64_t sweep_id, struct arena *arena,
                     struct store_sweep *out, struct err *err) MUST_USE;
/* The file was changed in ways that resume allows: keeps the new text, swept settings added. */
bool store_sweep_update(struct store *store, const struct store_sweep *sweep,
                        struct err *err) MUST_USE;

/* One call of `dbsweep run`: a block. status: "running" "done" "stopped" "failed". */
bool store_call_begin(struct store *store, int64_t sweep_id, int64_t *out_id,
                      struct err *err) MUST_USE;
bool store_call_end(struct store *store, int64_t call_id, const char *status, const struct err *why,
                    struct err *err) MUST_USE;

/* ---- the baseline ---- */
struct store_baseline_file {
    const char *path;
    uint32_t mode;
    uint32_t uid;
    uint32_t gid;
    const char *selinux;
    const char *sha256;
    struct bytes content;
};
struct store_baseline_value {
    const char *name;
    const char *canonical; /* value_canonical; "unset" where the server has none */
    const char *display;
    const char *source; /* source_kind_name */
    const char *detail;
};
bool store_baseline_put(struct store *store, int64_t sweep_id,
                        const struct store_baseline_file *files, size_t file_count,
                        const struct store_baseline_value *values, size_t value_count,
                        struct err *err) MUST_USE;
/* *out_file_count and *out_value_count 0 where none was kept. */
bool store_baseline_get(struct store *store, int64_t sweep_id, struct arena *arena,
                        struct store_baseline_file **out_files, size_t *out_file_count,
                        struct store_baseline_value **out_values, size_t *out_value_count,
                        struct err *err) MUST_USE;

/* "About to write bytes of this hash to this path": committed before the target is touched. */
bool store_intent_add(struct store *store, int64_t sweep_id, const char *path, const char *sha256,
                      struct err *err) MUST_USE;
bool store_intent_known(struct store *store, int64_t sweep_id, const char *path, const char *sha256,
                        bool *out_known, struct err *err) MUST_USE;
/* Whether the target may be off its baseline: set before the first change, cleared after the
 * verified restore. */
bool store_touched_set(struct store *store, int64_t sweep_id, bool touched,
                       struct err *err) MUST_USE;
bool store_touched_get(struct store *store, int64_t sweep_id, bool *out_touched,
                       struct err *err) MUST_USE;

/* ---- points and conditions ---- */
/* Finds by key or inserts. `values` has one text triple per swept setting. */
struct store_value {
    const char *name;
    const char *asked;     /* as the sweep file wrote it */
    const char *canonical; /* value_canonical */
    const char *display;
    bool has_number;
    double number;
};
bool store_point_put(struct store *store, int64_t sweep_id, const char *key, bool baseline,
                     bool durable, const struct store_value *values, size_t value_count,
                     int64_t *out_id, struct err *err) MUST_USE;
bool store_condition_put(struct store *store, int64_t sweep_id, const char *key,
                         const struct store_value *values, size_t value_count, int64_t *out_id,
                         struct err *err) MUST_USE;
/* Pruned cells, for `status` and reports: replaces the sweep's list. */
struct store_pruned {
    const char *point_display; /* "shared_buffers=900GB" */
    const char *condition_display;
    const char *reason; /* the rule's text, or "memory guard: ..." */
};
bool store_pruned_put(struct store *store, int64_t sweep_id, const struct store_pruned *pruned,
                      size_t count, struct err *err) MUST_USE;

/* ---- trials ---- */
struct store_trial_begin {
    int64_t sweep_id;
    int64_t call_id;
    int64_t point_id;
    int64_t condition_id;
    const char *purpose; /* "explore" "repeat" "confirm" "baseline" */
};
bool store_trial_begin(struct store *store, const struct store_trial_begin *trial, int64_t *out_id,
                       struct err *err) MUST_USE;
/* Committed before the stage touches anything; position counts from 0. */
bool store_stage_begin(struct store *store, int64_t trial_id, const char *stage,
                       struct err *err) MUST_USE;
/* outcome: "done" "skipped" "failed". Ends the stage under way. */
bool store_stage_end(struct store *store, int64_t trial_id, const char *outcome,
                     struct err *err) MUST_USE;

struct store_trial_value { /* one per swept knob, after read-back */
    const char *name;
    const char *asked;
    const char *effective; /* canonical; NULL: not known */
    const char *effective_display;
    bool has_number;
    double number;
    const char *verdict; /* "equal" "adjusted" "not-applied" "baseline" */
    const char *source;
    const char *detail;
};
bool store_trial_values(struct store *store, int64_t trial_id,
                        const struct store_trial_value *values, size_t count,
                        struct err *err) MUST_USE;

struct store_metric {
    const char *name;
    double value;
    const char *better;
};
struct store_statement {
    const char *transaction;
    const char *statement; /* "" in a row of a whole transaction */
    uint64_t count;
    uint64_t error_count;
    uint64_t retry_count;
    double total_s, min_s, avg_s, max_s, p50_s, p95_s, p99_s, p999_s;
    struct bytes histogram; /* histogram_encode */
};
struct store_series {
    const char *name;  /* "throughput", "p99_ms", "errors"; monitors: "cpu_user_pct" */
    const char *group; /* "load" | "host" | "server" */
    double interval_s;
    const double *samples; /* NAN: gap */
    size_t count;
};
struct store_counter {
    const char *name;
    double start;
    double end;
    bool gauge;
};
struct store_error_row {
    const char *transaction;
    const char *code;
    const char *text;
    uint64_t count;
};
struct store_result {
    const struct store_metric *metrics;
    size_t metric_count;
    const struct store_statement *statements; /* transactions and statements */
    size_t statement_count;
    const struct store_series *series;
    size_t series_count;
    const struct store_counter *counters;
    size_t counter_count;
    const struct store_error_row *errors;
    size_t error_row_count;
    double measured_s;
    double warm_up_s;
    int64_t size_before_bytes; /* -1 not known */
    int64_t size_after_bytes;
    const char *output; /* of a command, "" else */
};
/* Everything that was measured, in one transaction, before the trial is ended. */
bool store_trial_result(struct store *store, int64_t trial_id, const struct store_result *result,
                        struct err *err) MUST_USE;
/* status: "done" "failed" "dropped" (a stop). `why` NULL when done. `effective_key` is the key of
 * the point under its effective values ("" unknown): equal keys are merged in the ranking.
 * `flags`: space-separated. */
bool store_trial_end(struct store *store, int64_t trial_id, const char *status,
                     const struct err *why, const char *log_tail, const char *effective_key,
                     const char *flags, struct err *err) MUST_USE;

/* What strategies decide from. */
struct store_history {
    int64_t trial_id;
    int64_t call_id;
    const char *point_key;
    bool baseline;
    const char *condition_key;
    const char *purpose;
    const char *status; /* "done" "failed" "running" "interrupted" "dropped" */
    const char *class;  /* "POINT", ... ; "" */
    double value;       /* of rank_by; NAN where there is none */
    double throughput;  /* throughput_per_s; NAN where there is none */
    const char *flags;
    int64_t started_us;
    int64_t ended_us;
    bool failed_start; /* a stage in which the server starts failed */
};
bool store_history_load(struct store *store, int64_t sweep_id, struct arena *arena,
                        struct store_history **out, size_t *out_count, struct err *err) MUST_USE;
/* Trials of a sweep that were ended early, and the time that this saved. */
bool store_saved(struct store *store, int64_t sweep_id, int64_t *out_count, double *out_s,
                 struct err *err) MUST_USE;

#endif
