/*
 * What the files of this backend share: the state of one server, and one function per job.
 */
#ifndef BACKENDS_POSTGRESQL_SERVER_H
#define BACKENDS_POSTGRESQL_SERVER_H

#include "backends/backend.h"
#include "backends/unit.h"

#define PG_SCRATCH_BYTES ((size_t)8 << 20)
#define PG_WORD_LIMIT 64 /* of a command */

/* A process and its start in clock ticks since boot: a pid alone may be somebody else's later. */
struct pg_process {
    long pid; /* 0: none */
    unsigned long long start_ticks;
};

/* How far a log had been written. */
struct pg_log_mark {
    char path[1024]; /* "" none */
    int64_t size_bytes;
};
enum { PG_LOG_COUNT = 4 };

struct pg_state {
    /* Found by locate; as long as is_located is false nothing of it is known. */
    bool is_located;
    const char *owner;            /* of the data directory, whom we must become; NULL: no need */
    const char *bin;              /* folder of postgres and pg_ctl */
    const char *const *options;   /* the server's words, as it was started, without -D */
    const char *config_directory; /* its -D where that is not the data directory; NULL */
    /* Found by probe while the server ran. */
    bool is_probed;
    bool edits_include;    /* the file that is edited is not the server's main one */
    const char *unit;      /* the systemd unit whose main process it is; NULL: none */
    const char *start_log; /* where its standard error goes; NULL: not known */

    struct pg_log_mark marks[PG_LOG_COUNT];
    char mark_since[UNIT_TIME_BYTES]; /* of the same moment, for the journal; "" none */
    char identity[96];
    char why[640];
};

static inline struct pg_state *pg_state_of(const struct server *server)
{
    return server->state;
}

/* ---- work.c: sessions of our own, and what is asked through them ---- */
bool pg_control_open(const struct server *server, int64_t deadline, struct session **out,
                     struct err *err) MUST_USE;
void pg_control_close(struct session **session); /* for the cleanup attribute */
bool pg_settle(struct server *server, int64_t deadline, struct err *err);
bool pg_prewarm(struct server *server, int64_t deadline, struct err *err);
void pg_work(const struct counter *counters, size_t count, struct server_work *out);
extern const char *const pg_log_knobs[];
extern const char *const pg_interval_knobs[];
bool pg_counters(struct server *server, int64_t deadline, struct arena *arena, struct counter **out,
                 size_t *out_count, struct err *err);
bool pg_data_size(struct server *server, int64_t deadline, int64_t *out_bytes, struct err *err);

/* ---- settings.c: pg_settings as knobs and readings ---- */
/* One entry of `out` and, unless NULL, of out_knobs for each knob. */
bool pg_settings_read(const struct server *server, struct session *session,
                      const struct knob *const *knobs, size_t count, int64_t deadline,
                      struct arena *arena, const struct knob **out_knobs, struct reading *out,
                      struct err *err) MUST_USE;
bool pg_read_back(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct arena *arena, struct reading *out, struct err *err);

/* ---- overrides.c ---- */
bool pg_overrides(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct err *err);

/* ---- role.c ---- */
/* Refuses a server that follows another, or that others follow, or that a supervisor runs.
 * Errors: unsupported. */
bool pg_role_refuse(const struct server *server, struct session *session, int64_t deadline,
                    struct arena *arena, struct err *err) MUST_USE;

/* ---- pending.c ---- */
/* Whether the server runs on its files as they are; `readings` are the settings' values now. Where
 * the load user may not see the files, it is taken on trust. Errors: foreign_edit. */
bool pg_pending_refuse(struct session *session, const struct setting *settings,
                       const struct reading *readings, size_t count, int64_t deadline,
                       struct arena *arena, struct err *err) MUST_USE;

/* ---- probe.c ---- */
bool pg_probe(struct server *server, const struct knob *const *knobs, size_t knob_count,
              int64_t deadline, struct arena *arena, const struct knob **out_knobs,
              struct reading *out, struct err *err);
/* Renews facts.identity over an open session. */
bool pg_identify(struct server *server, struct session *session, int64_t deadline,
                 struct err *err) MUST_USE;

/* ---- config_path.c ---- */
/* facts.config_path: the file that target.config names, which must be one that the server reads,
 * or else the server's own, `config` (NULL: hidden). Errors: not_found, unsupported. */
bool pg_config_take(struct server *server, struct session *session, const char *config,
                    int64_t deadline, struct err *err) MUST_USE;

/* ---- locate.c: the server's processes and files on its host ---- */
/* As probed or recalled, else as the sweep file says; NULL not known. */
const char *pg_data_directory(const struct server *server);
/* Owner, programs and start options of the data directory's server, running or not. */
bool pg_locate(struct server *server, int64_t deadline, struct err *err) MUST_USE;
/* The running postmaster of the data directory; pid 0 where none runs. */
bool pg_process_find(const struct server *server, int64_t deadline, struct pg_process *out,
                     struct err *err) MUST_USE;
bool pg_process_lives(const struct server *server, const struct pg_process *process,
                      int64_t deadline, bool *out, struct err *err) MUST_USE;
/* The unit of a server that is down, from its start options (after pg_locate): state->unit. */
bool pg_unit_guess(struct server *server, int64_t deadline, struct err *err) MUST_USE;
/* Runs words as the data directory's owner, from "/". */
bool pg_run_as_owner(const struct server *server, const char *const *words, size_t word_count,
                     bool daemon, int64_t deadline, struct arena *arena, struct host_result *out,
                     struct err *err) MUST_USE;

/* ---- control.c ---- */
bool pg_stop(struct server *server, int64_t deadline, struct err *err);
bool pg_start(struct server *server, int64_t deadline, struct err *err);
bool pg_ready(struct server *server, int64_t deadline, bool *out_ready, const char **out_why,
              struct err *err);
bool pg_precheck(struct server *server, int64_t deadline, struct err *err);
bool pg_reload(struct server *server, const struct setting *settings, const struct value *baseline,
               size_t setting_count, int64_t deadline, struct err *err);

/* ---- log.c ---- */
/* In the data directory: for a start whose standard error has no better place. */
extern const char pg_start_log_name[];
bool pg_log_mark(struct server *server, int64_t deadline, struct err *err);
bool pg_log_tail(struct server *server, int64_t deadline, size_t limit_bytes, struct arena *arena,
                 const char **out, struct err *err);
/* Fills err with what the server said about a start that failed: its fatal lines in `log`, or,
 * where there are none, the end of `output`. Returns false. */
bool pg_start_error(const char *log, const char *output, struct err *err);

/* ---- snapshot.c ---- */
bool pg_snapshot(struct server *server, int64_t deadline, struct err *err);
bool pg_rollback(struct server *server, int64_t deadline, struct err *err);
bool pg_snapshot_drop(struct server *server, int64_t deadline, struct err *err);
/* A swap that died between its two renames leaves no data directory: puts it back. One that goes
 * on without us is waited for. */
bool pg_snapshot_mend(struct server *server, int64_t deadline, struct err *err);

#endif
