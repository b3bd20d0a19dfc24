/*
 * A backend: how one kind of server is configured, restarted, read back and spoken to. One const
 * table per kind, all in the array of backends.c; one conformance suite runs over every entry.
 *
 * A backend does one thing once and says exactly what happened. Retries, waiting and judgement
 * (is this value good enough, is the point to blame) stand in sweeper/target.
 */
#ifndef BACKENDS_BACKEND_H
#define BACKENDS_BACKEND_H

#include "backends/session.h"
#include "knobs/value.h"
#include "sweeper/host/host.h"
#include "sweeper/stats/histogram.h"

/* The sweep file's `target.replay = {...}`: what the columns of a replay's source are, and what is
 * made of its points. */
struct replay_spec {
    const char *metric;        /* column that was measured; NULL: not known */
    const char *better;        /* "higher" | "lower"; NULL: by its name */
    bool lower_is_better;      /* what that came to */
    const char *deviation;     /* column of runs' deviations, as a share; NULL: none */
    const char *failure;       /* column of how points fail; NULL: none */
    const char *const *ignore; /* columns without meaning; NULL: none */
    int64_t baseline_row;      /* the point as found, from 1 */
    int64_t seed;
    double noise_pct; /* deviation of runs; below 0: as the source says */
    double drift_pct; /* each trial's, of the first one's throughput */
    double walk_pct;  /* deviation of a random walk's step, one each trial */
    double outlier_pct;
    double outlier_drop_pct;
    double refused_pct; /* points that do not start */
    double broken_pct;  /* trials that break off */
    double second_pct;  /* deviation of seconds */
    double correlation; /* of each second with the one before */
    int64_t cycle_ms;   /* from checkpoint to checkpoint; 0: none */
    double dip_pct;
    int64_t ramp_ms; /* until a started server is warm */
};

/* The sweep file's `target = {...}`, as far as backends read it. */
struct target_spec {
    const char *backend;
    const char *connect;
    const char *password;    /* resolved from password_env / password_file; NULL none */
    const char *config;      /* path; NULL: probed */
    const char *apply;       /* "edit" | "drop-in" | "sql" */
    const char *const *stop; /* argv; NULL: the backend's own way */
    const char *const *start;
    const char *const *restart;  /* used instead of stop and start where both are absent */
    const char *data_directory;  /* NULL: probed */
    const char *log;             /* the server's log file; NULL: probed */
    const char *session;         /* of the workload: "native" or "odbc" */
    const char *session_connect; /* its connection string; NULL: `connect` */
    const char *source;          /* file of points to replay; NULL: none */
    struct bytes source_text;    /* what stands for it, where it is no CSV file; data NULL: it is */
    struct replay_spec replay;
    int64_t ready_timeout_ms;
    int64_t stop_timeout_ms;
};

struct server_facts {
    const char *product;        /* "PostgreSQL" */
    const char *version;        /* "15.18" */
    const char *config_path;    /* the file that render edits; NULL: none */
    const char *data_directory; /* NULL: none */
    const char *log_path;       /* NULL: not known */
    const char *start_method;   /* in words: "pg_ctl as postgres", "argv" */
    /* Changes with every start of the server: "pid@start time". "" when it is not running. */
    const char *identity;
};

/* A server instance that a backend works on. Owned by sweeper/target. */
struct server {
    const struct backend *backend;
    struct host *host;
    const struct target_spec *spec;
    struct arena *arena;       /* lives as long as the server */
    void *state;               /* the backend's own, made by open */
    struct server_facts facts; /* filled by probe; identity renewed by ready */
};

/* Where an effective value comes from. */
enum source_kind {
    SOURCE_UNKNOWN,
    SOURCE_DEFAULT,    /* built in: nobody set it */
    SOURCE_CONFIG,     /* the file that we edit */
    SOURCE_OTHER_FILE, /* a file read beside or after it */
    SOURCE_SQL,        /* ALTER SYSTEM, SET PERSIST, ALTER DATABASE / ROLE */
    SOURCE_COMMAND_LINE,
    SOURCE_ENVIRONMENT,
    SOURCE_AUTO,    /* the server computed or adjusted it */
    SOURCE_SESSION, /* set on the connection */
    SOURCE_DATA     /* kept in the data file (SQLite page_size) */
};
const char *source_kind_name(enum source_kind kind); /* "config", "other-file", ... */

/* A knob as the running server has it. */
struct reading {
    struct value value; /* canonical; UNSET where the server does not know the knob */
    enum source_kind source;
    const char *detail; /* file:line, "ALTER DATABASE bench", ...; "" none */
    bool pending_restart;
    bool known; /* false: the server has no such knob */
};

struct counter {
    const char *name; /* "pg_stat_database.xact_commit" */
    double value;
    bool gauge; /* else monotone: a delta makes sense */
};

/* A second of a backend that measures by itself. */
struct measured_second {
    bool is_warm_up;
    uint32_t index; /* seconds since the phase began */
    double throughput_per_s;
    double p99_ms;
};

/* What such a backend is asked to measure: the point that the server runs with. */
struct measure_spec {
    const struct setting *conditions; /* of the workload, where an axis varies them */
    size_t condition_count;
    int64_t client_count;
    int64_t warm_up_ms;
    int64_t measure_ms;
    int64_t trial_number;  /* trials of the sweep that ended before */
    int64_t repeat_number; /* of those, trials of this point under these conditions */
    void *context;
    /* Told of each second; false ends the measurement with it. NULL: nobody asks. */
    bool (*second)(void *context, const struct measured_second *second);
};

struct measured {
    const char *metric; /* "throughput_per_s", or the source's own name */
    double value;
    bool lower_is_better;
    double throughput_per_s;
    struct measured_second *seconds; /* of the window */
    size_t second_count;
    struct histogram *latency; /* of the window */
    int64_t warm_up_ms;        /* in the time that was measured, however short it really took */
    int64_t measured_ms;
    bool is_ended; /* early, because `second` said so */
};

/* What has been written and what was put off; NAN where the server does not tell. */
struct server_work {
    double log_bytes;            /* written to the log (WAL, redo), since whenever */
    double written_bytes;        /* log and pages, likewise */
    double checkpoint_count;     /* cycles, likewise; NAN where none ends at a point of time */
    double log_capacity_bytes;   /* of the log that one cycle may take */
    double checkpoint_age_bytes; /* of the log that a crash would replay */
    double dirty_bytes;          /* changed pages in the server's memory */
    double purge_backlog;        /* transactions whose old versions are kept */
};

struct backend {
    const char *name;   /* "postgresql" */
    const char *title;  /* "PostgreSQL" */
    const char *system; /* catalogue name (knobs/catalogue.h); one without a catalogue leaves all
                           rows to probe */
    bool embedded;      /* no server process: stop, start and identity are formalities */

    /* ---- required ---- */
    /* Makes `state`; touches nothing. */
    bool (*open)(struct server *server, struct err *err);
    void (*close)(struct server *server);
    /* Read-only: fills facts; for each knob, what the running server has. The knob's row may be
     * completed from the live catalogue: *out_knobs[i] is the row to use from now on (unit,
     * range, choices from the server). Errors: probe, connection, knob_unknown; unsupported with
     * the knob's name as origin. */
    bool (*probe)(struct server *server, const struct knob *const *knobs, size_t knob_count,
                  int64_t deadline, struct arena *arena, const struct knob **out_knobs,
                  struct reading *out, struct err *err);
    /* Ends when the server process is gone (not only when asked). Errors: stop_failed. Stopping a
     * stopped server is fine. */
    bool (*stop)(struct server *server, int64_t deadline, struct err *err);
    /* Ends when the start command ended. Errors: start_failed with the server's own words. */
    bool (*start)(struct server *server, int64_t deadline, struct err *err);
    /* One poll: *out_ready true when a login works as the load user, it is not in recovery, and
     * facts.identity was renewed. Not being ready is no error; err only for what waiting cannot
     * mend (wrong password); *out_why says what is missing. */
    bool (*ready)(struct server *server, int64_t deadline, bool *out_ready, const char **out_why,
                  struct err *err);
    /* Effective values of the knobs, seen as the load user sees them. `settings` is what was
     * applied (per-connection settings are read back through a connection that set them). */
    bool (*read_back)(struct server *server, const struct setting *settings, size_t setting_count,
                      int64_t deadline, struct arena *arena, struct reading *out, struct err *err);

    /* ---- one of the two ---- */
    /* Pure: baseline bytes of facts.config_path + settings -> new bytes. Everything but the
     * changed values stays byte for byte; no settings: the same bytes; BASELINE values change
     * nothing; UNSET removes the line. Errors: config_syntax, knob_value. */
    bool (*render)(const struct server *server, struct bytes baseline,
                   const struct setting *settings, size_t setting_count, struct arena *arena,
                   struct bytes *out, struct err *err);
    /* Where there is no file: makes the settings effective from the next start. Called between
     * stop and start. BASELINE means the value of `baseline` (one for each setting). */
    bool (*apply)(struct server *server, const struct setting *settings,
                  const struct value *baseline, size_t setting_count, int64_t deadline,
                  struct err *err);

    /* ---- optional; NULL means what stands behind ---- */
    /* Where there is no file to render: the settings as statements for people to keep, in a working
     * order, with comments that begin with "--". BASELINE and UNSET values are left out. NULL: the
     * point cannot be emitted. Errors: knob_unknown, knob_value. */
    bool (*statements)(const struct setting *settings, size_t setting_count, struct arena *arena,
                       const char **out, struct err *err);
    /* Other layers that will beat the file for these knobs (preflight). NULL: nobody can. */
    bool (*overrides)(struct server *server, const struct setting *settings, size_t setting_count,
                      int64_t deadline, struct err *err);
    /* Makes these settings, which stand in the configuration already, effective without a restart;
     * it may take a moment. BASELINE means the value of `baseline` (one for each setting). NULL:
     * always restart. */
    bool (*reload)(struct server *server, const struct setting *settings,
                   const struct value *baseline, size_t setting_count, int64_t deadline,
                   struct err *err);
    /* Names of knobs that a reload changes in the background only, ends with NULL: they are changed
     * by a restart. NULL: there are none. */
    const char *const *slow_knobs;
    /* The server's own dry check of the configuration on disk. NULL: none. */
    bool (*precheck)(struct server *server, int64_t deadline, struct err *err);
    /* Checkpoint and flush, so that the measurement does not pay for what was before. NULL: none
     * needed. */
    bool (*settle)(struct server *server, int64_t deadline, struct err *err);
    /* Loads tables into the server's memory, bounded by its pool. NULL: not possible. */
    bool (*prewarm)(struct server *server, int64_t deadline, struct err *err);
    /* NULL: no counters. */
    bool (*counters)(struct server *server, int64_t deadline, struct arena *arena,
                     struct counter **out, size_t *out_count, struct err *err);
    /* What these counters say of the server's work. NULL: nothing. */
    void (*work)(const struct counter *counters, size_t count, struct server_work *out);
    /* Names of the knobs that bound the log of one cycle, and of those that are the time of one;
     * each list ends with NULL. NULL: there are none. */
    const char *const *log_knobs;
    const char *const *interval_knobs;
    /* The last bytes of the server's log since the mark that `log_mark` set (before a start).
     * NULL: no log. "" where nothing was written. */
    bool (*log_mark)(struct server *server, int64_t deadline, struct err *err);
    bool (*log_tail)(struct server *server, int64_t deadline, size_t limit_bytes,
                     struct arena *arena, const char **out, struct err *err);
    /* Copies the data files aside / puts that copy back, while the server is stopped; the
     * configuration inside the data directory is not touched by rollback. NULL: not possible.
     * Errors: not_found where there is no copy (embedded databases). */
    bool (*snapshot)(struct server *server, int64_t deadline, struct err *err);
    bool (*rollback)(struct server *server, int64_t deadline, struct err *err);
    /* After a crash of ours: waits for a copy that still runs, and makes data files whole that lie
     * half swapped. Called before any of them is looked at. NULL: rollback leaves no such state. */
    bool (*mend)(struct server *server, int64_t deadline, struct err *err);
    /* Removes the copy. */
    bool (*snapshot_drop)(struct server *server, int64_t deadline, struct err *err);
    /* Bytes of the load database's data; NULL: cannot tell. */
    bool (*data_size)(struct server *server, int64_t deadline, int64_t *out_bytes, struct err *err);
    /* Whether the server can be had with these settings of knobs and workload, all others as found.
     * NULL: as far as is known. */
    bool (*admits)(struct server *server, const struct setting *settings, size_t setting_count,
                   bool *out, struct err *err);
    /* Takes the workload's place: measures by itself what the server runs with. Errors: workload.
     * NULL: a workload is driven at it. */
    bool (*measure)(struct server *server, const struct measure_spec *spec, struct arena *arena,
                    struct measured *out, struct err *err);
    /* "libpq 15.18": the client library as linked. NULL: none. */
    const char *(*library)(void);
    /* NULL: the built-in SQL workloads are refused. */
    const struct session_driver *session;
};

extern const struct backend *const backends[];
extern const size_t backend_count;

const struct backend *backend_find(const char *name); /* NULL: none */
const char *backend_nearest(const char *name);        /* NULL: none near */
/* The session that speaks to its servers: NULL or "native" is the backend's own, "odbc" one through
 * ODBC that speaks the same dialect. NULL where there is none. */
const struct session_driver *backend_session(const struct backend *backend, const char *name);
/* Asserts that every required function is there; called once at start. */
void backends_check(void);

#endif
