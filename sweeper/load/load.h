/*
 * The load: what is driven at the server and what comes back. The driver always works in a child
 * process, `dbsweep load`, which speaks frames (base/wire.h) with its parent: one way for local
 * and remote workers, and a parent that can end what hangs.
 *
 *   parent                         worker
 *     spec  ->                       connects, prepares          (workload_spec, session_spec)
 *           <- ready                 every client connected, or error
 *     go    ->                       drives
 *           <- second*               one a second: phase, throughput, latencies
 *     measure ->                     (of a warm-up that may end early) begins with the next second
 *           <- measuring             the warm-up is over
 *           <- result | [rejected] error   and ends
 */
#ifndef SWEEPER_LOAD_LOAD_H
#define SWEEPER_LOAD_LOAD_H

#include "backends/backend.h"
#include "sweeper/base/wire.h"
#include "sweeper/stats/within.h"

/* A named metric that a command's output is searched for. */
struct load_metric_spec {
    const char *name;   /* "throughput_per_s" or the user's own */
    const char *regex;  /* POSIX extended, first group is the number */
    const char *better; /* "higher" | "lower" */
};

/* A file of SQL as it was read: it travels to the worker, and into the store. */
struct load_script {
    const char *name; /* of the transaction */
    const char *path; /* for messages */
    int64_t weight;   /* how often, beside the others */
    const char *text; /* NULL: there is none */
};

/* Every workload key of the sweep file; the rows that name them stand in sweeper/sweepfile.def.
 * Times in milliseconds. */
struct workload_spec {
    const char *kind; /* "oltp", "tpcc", "insert", "script", "command" */
    int64_t clients;
    int64_t threads;      /* of the worker: event loops, at most one per client, or loading
                             sessions; 0: one per CPU */
    double rate_per_s;    /* 0: closed loop */
    const char *arrivals; /* of an open loop: "constant" | "poisson" */
    int64_t warm_up_ms;
    int64_t warm_up_max_ms; /* above 0: it ends once it is steady, from warm_up_ms to this */
    int64_t measure_ms;
    int64_t drain_ms;           /* how long unfinished transactions may take after the window */
    int64_t prepare_timeout_ms; /* prepare, reset, check and cleanup */
    int64_t seed;
    double error_budget_pct; /* failed transactions above this share fail the trial */
    const char *reset;       /* "none" "reload" "snapshot" "command" "default" */
    const char *const *reset_command;
    /* oltp */
    const char *mix; /* read_only read_write write_only point_select update_index
                        update_non_index insert delete */
    int64_t tables;
    int64_t rows; /* per table */
    int64_t range_size;
    const char *distribution; /* "uniform" "gaussian" "pareto" "zipfian" "special" */
    bool skip_trx;
    bool prepared;
    /* tpcc */
    int64_t warehouses;
    int64_t terminals; /* clients of a warehouse; 0: clients are spread over all warehouses */
    double rollback_pct;
    double payment_by_name_pct; /* of Payment and Order-Status */
    double keying;              /* keying times as multiples of the standard's; 0: none */
    double think;               /* think times */
    /* script */
    const char *const *script_files; /* "PATH" or "PATH@WEIGHT" */
    const char *const *variables;    /* "NAME=VALUE" */
    int64_t think_time_ms;           /* mean rest of a client between two transactions */
    const char *setup;               /* paths; NULL: none */
    const char *teardown;
    struct load_script *scripts;
    size_t script_count;
    struct load_script setup_script;
    struct load_script teardown_script;
    bool scripts_write; /* see workload_examine */
    /* insert */
    const char *index_form;     /* "2009" "current" */
    int64_t insert_rows;        /* end the run; 0: it ends by time */
    int64_t complete_within_ms; /* and may take so long */
    int64_t rows_per_insert;
    int64_t secondary_indexes; /* 0 to 3 */
    int64_t initial_rows;      /* in the table before */
    int64_t query_clients;     /* of the clients, those that query instead */
    bool delete_oldest;        /* as many as each statement inserts */
    /* command */
    const char *const *command; /* argv; "{clients}", "{measure_s}", "{warm_up_s}", "{seed}" and any
                                   other workload key in braces are replaced */
    const char *preset;         /* "sysbench" "pgbench" "hammerdb" "benchbase" "time" "none" */
    struct load_metric_spec *metrics;
    size_t metric_count;
    const char *const *expect; /* lines (regular expressions) that must stand in the output */
};

/* LOAD_CHECK is for after each trial; LOAD_CHECK_ALL also asks what takes longer. */
enum load_operation {
    LOAD_PREPARE,
    LOAD_RESET,
    LOAD_DRIVE,
    LOAD_CHECK,
    LOAD_CLEANUP,
    LOAD_CHECK_ALL
};

/* Everything a worker must know. */
struct load_job {
    enum load_operation operation;
    struct workload_spec workload;
    const char *backend;      /* name; NULL for command workloads without a database */
    const char *session_name; /* see backend_session */
    struct session_spec session;
    double ceiling_per_s; /* what an earlier worker found of the same work; 0: to be found */
    /* Of a team's worker: its share of the workload's clients. share 0: all of them. */
    int64_t first_client;
    int64_t client_share;
};

/* How many clients this worker drives. */
static inline int64_t load_job_clients(const struct load_job *job)
{
    return job->client_share > 0 ? job->client_share : job->workload.clients;
}

enum load_frame {
    LOAD_FRAME_HELLO = 1, /* version string, both ways first */
    LOAD_FRAME_JOB,
    LOAD_FRAME_READY, /* u32 clients connected */
    LOAD_FRAME_GO,
    LOAD_FRAME_SECOND,    /* struct load_second */
    LOAD_FRAME_MEASURING, /* empty: the warm-up is over */
    LOAD_FRAME_PROGRESS,  /* string: "loading oltp, 4 tables: 40 %, 12s left" */
    LOAD_FRAME_RESULT,    /* struct load_result */
    LOAD_FRAME_ERROR,     /* struct err */
    LOAD_FRAME_REJECTED,  /* struct load_result of a drive that failed; its error follows */
    LOAD_FRAME_MEASURE    /* to the worker, empty: the warm-up may end */
};

enum load_phase { LOAD_PHASE_WARM_UP, LOAD_PHASE_MEASURE, LOAD_PHASE_DRAIN };

struct load_second {
    enum load_phase phase;
    uint32_t index; /* seconds since the phase began */
    double throughput_per_s;
    double mean_ms; /* of the latencies; 0 where nothing was completed */
    double p99_ms;
    uint64_t error_count;
};

/* One row of the per-statement table. */
struct load_statement {
    const char *transaction; /* "read_only" */
    const char *statement;   /* "point_select" */
    uint64_t error_count;
    struct histogram *latency; /* count, sum, min and max are the table's columns */
};

struct load_transaction {
    const char *name;
    uint64_t error_count;      /* ended in an error that was not retried away */
    uint64_t retry_count;      /* tries beyond the first */
    struct histogram *latency; /* spans all tries; completions inside the window only */
    struct histogram *service; /* the same from the start as it was; NULL: no schedule, no other */
};

struct load_error_row { /* errors are data */
    const char *transaction;
    const char *code; /* SQLSTATE, errno or exit status */
    const char *text; /* of the first one */
    uint64_t count;
};

struct load_metric {
    const char *name;
    double value;
    const char *better;
};

struct load_result {
    int64_t warm_up_ns;  /* as it was */
    int64_t measured_ns; /* actual window: what divides */
    uint32_t client_count;
    struct load_transaction *transactions;
    size_t transaction_count;
    struct load_statement *statements;
    size_t statement_count;
    struct load_error_row *errors;
    size_t error_row_count;
    struct load_second *seconds; /* of the measure window */
    size_t second_count;
    struct histogram *batches;  /* latencies of the window in equal parts: of each second in its */
    size_t batch_count;         /* part; 0 where it has fewer than WITHIN_BATCHES seconds */
    uint32_t series_interval_s; /* seconds that each of them stands for: more than 1 in long runs */
    uint64_t unfinished_count;  /* under way when the window closed and not done by its drain */
    double driver_cpu_s;        /* of the worker, in the window */
    double busy_pct;        /* CPU of its busiest loop, of one CPU; 0: sessions without socket */
    double wait_pct;        /* what its loops waited for a CPU at the most, of the window */
    double ceiling_per_s;   /* transactions, of a server that takes no time; 0: not known */
    double p99_lag_ms;      /* scheduling lag: of starts in an open loop, else of the clock */
    uint64_t due_count;     /* open loop: starts that were due in the window */
    uint64_t backlog_count; /* of those, not begun at its end */
    int64_t backlog_ns;     /* how long ago the first of these was due then */
    struct load_metric *metrics; /* of command workloads, else throughput_per_s etc. */
    size_t metric_count;
    const char *output;       /* of a command, tail; else "" */
    const char *distribution; /* as driven */
};

/* Encoders for the frames (sweeper/load/frames.c); a decoder treats its bytes as hostile and
 * copies into the arena. */
bool load_job_encode(const struct load_job *job, struct text *out, struct err *err) MUST_USE;
bool load_job_decode(struct bytes frame, struct arena *arena, struct load_job *out,
                     struct err *err) MUST_USE;
bool load_result_encode(const struct load_result *result, struct text *out,
                        struct err *err) MUST_USE;
bool load_result_decode(struct bytes frame, struct arena *arena, struct load_result *out,
                        struct err *err) MUST_USE;
void load_second_encode(const struct load_second *second, struct text *out);
bool load_second_decode(struct bytes frame, struct load_second *out) MUST_USE;

/* The worker's whole life on two descriptors; the exit status of its process. */
int load_worker_main(int input, int output);

/* ---- the parent's side ---- */
struct load_progress {
    void *context;
    /* Called as frames arrive; any may be NULL. */
    void (*second)(void *context, const struct load_second *second);
    void (*note)(void *context, const char *text);
    /* Asked after each second; true ends the work of a team with err `ended_early`. NULL: never. */
    bool (*is_over)(void *context);
    /* What was measured although the drive failed, encoded, before its error is known. */
    void (*rejected)(void *context, struct bytes result);
    /* Asked after each second of the warm-up whether it may end; then it does with the second under
     * way. NULL: it lasts as long as it may. */
    bool (*is_warm)(void *context);
};

/* A worker under way on a host; its program is `program` (argv[0]; NULL: this executable). */
struct load_worker;
bool load_worker_open(struct host *host, const char *program, const struct load_job *job,
                      int64_t deadline, struct load_worker **out, struct err *err) MUST_USE;
/* Waits for ready: every client connected and prepared. */
bool load_worker_ready(struct load_worker *worker, int64_t deadline,
                       const struct load_progress *progress, struct err *err) MUST_USE;
/* Says go and returns when the worker's measure phase begins (at once where there is no warm-up).
 * A stop request ends it with err `stopped`. */
bool load_worker_go(struct load_worker *worker, int64_t deadline,
                    const struct load_progress *progress, struct err *err) MUST_USE;
/* Says go if nobody has, and waits for the result until the deadline; a stop request (stop.h) ends
 * it with err `stopped`. `out` may be NULL for operations without a result. */
bool load_worker_finish(struct load_worker *worker, int64_t deadline,
                        const struct load_progress *progress, struct arena *arena,
                        struct load_result *out, struct err *err) MUST_USE;
/* Ends the worker's process group if it still lives. NULL is fine. */
void load_worker_close(struct load_worker *worker);
/* open, ready, go, result, close in one: prepare, reset, check, cleanup and simple drives. */
bool load_run(struct host *host, const char *program, const struct load_job *job, int64_t deadline,
              const struct load_progress *progress, struct arena *arena, struct load_result *out,
              struct err *err) MUST_USE;

/* ---- several workers as one ---- */
/* A host, and dbsweep there as for load_worker_open. */
struct load_place {
    struct host *host;
    const char *program;
};

/* Workers of one drive at several places, which share its clients: they begin together, and what
 * they measured becomes one result. One that fails or is lost fails all of them at once. */
struct load_team;
bool load_team_open(const struct load_place *places, size_t count, const struct load_job *job,
                    struct load_team **out, struct err *err) MUST_USE;
/* These are what load_worker_ready, _go and _finish are to one worker. A second is told once all
 * workers have; its p99 is that of the worst. */
bool load_team_ready(struct load_team *team, int64_t deadline, const struct load_progress *progress,
                     struct err *err) MUST_USE;
bool load_team_go(struct load_team *team, int64_t deadline, const struct load_progress *progress,
                  struct err *err) MUST_USE;
bool load_team_finish(struct load_team *team, int64_t deadline,
                      const struct load_progress *progress, struct arena *arena,
                      struct load_result *out, struct err *err) MUST_USE;
void load_team_close(struct load_team *team); /* NULL is fine */
/* Adds what another worker of the same drive measured; what is new comes from the arena.
 * Histograms and counts are added; the busiest, the latest and the worst stand for all. */
bool load_result_merge(struct load_result *into, const struct load_result *from,
                       struct arena *arena, struct err *err) MUST_USE;

/* How long a drive may take in all before its parent ends it: connect + warm-up + measure + drain
 * + margin, in milliseconds. */
int64_t load_drive_limit_ms(const struct workload_spec *workload);

/* How long the warm-up may last. */
int64_t load_warm_up_limit_ms(const struct workload_spec *workload);
/* True where the work ends by being complete, within a time that is a limit alone: no warm-up, no
 * early end. */
bool load_ends_complete(const struct workload_spec *workload);
/* How long the window is, or may be where the work ends by being complete. */
int64_t load_window_ms(const struct workload_spec *workload);

/* The metrics that a result gives, by name: throughput_per_s, p50_ms, p95_ms, p99_ms, p999_ms,
 * max_ms, mean_ms, of an open loop service_p50_ms and so on, offered_per_s and backlog, tpm, spm,
 * notpm where there are New-Orders, elapsed_s, error_pct and the named ones. In the arena. */
bool load_result_metrics(const struct load_result *result, struct arena *arena,
                         struct load_metric **out, size_t *out_count, struct err *err) MUST_USE;

/* What is to be held against a result, as words: "saturated" where an open loop's server fell
 * behind the schedule, "client-bound" where the driver was the narrow place. In the arena,
 * space-separated.
 */
const char *load_result_flags(const struct load_result *result, struct arena *arena);

/* True when the workload changes the data, so that a reset is due before each trial. */
bool workload_writes(const struct workload_spec *workload);
/* Checks the spec as far as it can be without a server ("mix" known, clients >= 1, ...). PLAN. */
bool workload_check_spec(const struct workload_spec *workload, struct err *err) MUST_USE;
/* Checks what depends on the system: scripts are read as its scanner would. Fills scripts_write.
 * Errors, all PLAN; a script's have their own PATH:LINE. After workload_check_spec. */
bool workload_examine(struct workload_spec *workload, enum dialect dialect,
                      struct err *err) MUST_USE;
/* The statement and transaction names that a kind can produce are data of its folder; these are
 * the kinds: "oltp", "tpcc", "insert", "script", "command". */
/* Whether drives of the (built-in) kind give a metric of that name; if not, *near is the nearest
 * that they give, or NULL. */
bool workload_gives_metric(const char *kind, const char *name, const char **near) MUST_USE;
const char *workload_nearest_kind(const char *name);
bool workload_kind_exists(const char *name);
/* Whether what several workers measure of it can be made one result. */
bool workload_can_be_shared(const char *kind);

#endif
