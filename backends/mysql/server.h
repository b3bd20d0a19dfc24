/*
 * What the files of this backend share: the state of one server, and one function per job.
 */
#ifndef BACKENDS_MYSQL_SERVER_H
#define BACKENDS_MYSQL_SERVER_H

#include "backends/backend.h"
#include "backends/mysql/options.h"
#include "backends/unit.h"

#define MY_SCRATCH_BYTES ((size_t)16 << 20)

/* A process and its start in clock ticks since boot: a pid alone may be somebody else's later. */
struct my_process {
    long pid; /* 0: none, or not to be seen */
    unsigned long long start_ticks;
};

/* Another spelling of a path, and whether it is the file that we edit. */
struct my_path {
    const char *path;
    bool is_config;
};
enum { MY_PATH_LIMIT = 32 };

struct my_state {
    bool is_probed;
    bool is_mariadb;
    struct option_groups groups;
    const char *unit;         /* the systemd unit whose main process it is; NULL: none */
    long pid_hint;            /* of the process that answered last; 0: not known */
    const char *data_outside; /* a folder of its data outside of the data directory; NULL: none */
    const char *start_log;    /* where its standard error goes; NULL: not known */
    /* Of the server's command line and environment; NULL: not given or not to be seen. */
    const char *defaults_file;
    const char *defaults_extra_file;
    bool has_no_defaults;
    bool has_words; /* its command line was read */
    const char *home;
    const char *mysql_home;
    const char *group_suffix; /* of the option groups, such as "_2"; NULL: none */

    struct my_path paths[MY_PATH_LIMIT];
    size_t path_count;
    struct { /* how far the log had been written */
        char path[1024];
        int64_t size_bytes;
        char since[UNIT_TIME_BYTES]; /* for the journal; "" none */
    } mark;
    int64_t started_s; /* wall clock; with the connection's number, where processes are hidden */
    int64_t connection_id;
    unsigned start_count;
    char identity[96];
    char why[640];
};

static inline struct my_state *my_state_of(const struct server *server)
{
    return server->state;
}

/* ---- work.c: sessions of our own, and what is asked through them ---- */
bool my_control_open(const struct server *server, int64_t deadline, struct session **out,
                     struct err *err) MUST_USE;
void my_control_close(struct session **session); /* for the cleanup attribute */
bool my_prewarm(struct server *server, int64_t deadline, struct err *err);
void my_work(const struct counter *counters, size_t count, struct server_work *out);
extern const char *const my_log_knobs[];
bool my_counters(struct server *server, int64_t deadline, struct arena *arena, struct counter **out,
                 size_t *out_count, struct err *err);
bool my_data_size(struct server *server, int64_t deadline, int64_t *out_bytes, struct err *err);

/* ---- live.c ---- */
bool my_reload(struct server *server, const struct setting *settings, const struct value *baseline,
               size_t setting_count, int64_t deadline, struct err *err);
extern const char *const my_slow_knobs[];

/* ---- settings.c: the server's own lists of variables as knobs and readings ---- */
/* One entry of `out` and, unless NULL, of out_knobs for each knob. */
bool my_settings_read(struct server *server, struct session *session,
                      const struct knob *const *knobs, size_t count, int64_t deadline,
                      struct arena *arena, const struct knob **out_knobs, struct reading *out,
                      struct err *err) MUST_USE;
bool my_read_back(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct arena *arena, struct reading *out, struct err *err);

/* ---- files.c: the option files that the server reads, in its order ---- */
struct my_file_line {
    const char *path;
    bool is_config;  /* the file that we edit */
    bool is_ignored; /* anybody may write it: the server does not read it */
    const struct option_file *file;
    const struct option_line *line; /* NULL: the file's end */
};
/* Called behind what a line includes. False ends the walk. */
typedef bool (*my_file_visitor)(void *context, const struct my_file_line *line);
bool my_files_walk(struct server *server, int64_t deadline, struct arena *arena,
                   my_file_visitor visit, void *context, struct err *err) MUST_USE;
/* Whether a path is another spelling of the file that we edit. */
bool my_is_config(struct server *server, const char *path, int64_t deadline, bool *out,
                  struct err *err) MUST_USE;
/* The file that the server reads last among those with a group of its own; NULL: none. */
bool my_find_config(struct server *server, int64_t deadline, const char **out,
                    struct err *err) MUST_USE;

/* ---- overrides.c ---- */
bool my_overrides(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct err *err);

/* ---- unswept.c ---- */
struct my_unswept_item {
    const struct knob *knob;
    struct reading reading;
    bool is_swept;
    bool is_set_since; /* by SET GLOBAL, to another value than its default */
};
struct my_unswept {
    struct my_unswept_item *items;
    size_t count;
};
/* The swept settings with their readings, and (MariaDB) every other variable of option files. */
bool my_unswept_read(struct server *server, struct session *session, const struct setting *settings,
                     const struct reading *readings, size_t count, int64_t deadline,
                     struct arena *arena, struct my_unswept *out, struct err *err) MUST_USE;
/* Whether the server's program (MariaDB) takes its option files as they are now; nothing is
 * started. Errors: foreign_edit with the program's own words. */
bool my_start_rehearse(struct server *server, int64_t deadline, struct err *err) MUST_USE;

/* ---- pending.c ---- */
/* Whether the server runs on its files as they are; `readings` are the settings' values now.
 * Errors: foreign_edit. */
bool my_pending_refuse(struct server *server, struct session *session,
                       const struct setting *settings, const struct reading *readings, size_t count,
                       int64_t deadline, struct arena *arena, struct err *err) MUST_USE;

/* ---- probe.c ---- */
/* "1764561600 17": when the server started, by its own clock, and the number of this connection. */
bool my_started(const struct server *server, struct session *session, int64_t deadline,
                struct arena *arena, const char **out, struct err *err) MUST_USE;
bool my_probe(struct server *server, const struct knob *const *knobs, size_t knob_count,
              int64_t deadline, struct arena *arena, const struct knob **out_knobs,
              struct reading *out, struct err *err);
/* Renews facts.identity over an open session. */
bool my_identify(struct server *server, struct session *session, int64_t deadline,
                 struct err *err) MUST_USE;

/* ---- locate.c: the server's process on its host ---- */
/* As probed or recalled, else as the sweep file says; NULL not known. */
const char *my_data_directory(const struct server *server);
/* The process whose working directory is the data directory; pid 0 where there is none, or none
 * that this user may look at. */
bool my_process_find(const struct server *server, int64_t deadline, struct my_process *out,
                     struct err *err) MUST_USE;
/* For a process that this user may not look at: which one answers, into state->pid_hint. */
bool my_process_ask(struct server *server, struct session *session, int64_t deadline,
                    struct err *err) MUST_USE;
bool my_process_lives(const struct server *server, const struct my_process *process,
                      int64_t deadline, bool *out, struct err *err) MUST_USE;
/* Its command line, environment, standard error and unit, into the state. */
bool my_process_examine(struct server *server, const struct my_process *process, int64_t deadline,
                        struct err *err) MUST_USE;
/* The unit of a server that is down: the one that packages install. */
bool my_unit_guess(struct server *server, int64_t deadline, struct err *err) MUST_USE;

/* ---- control.c ---- */
bool my_stop(struct server *server, int64_t deadline, struct err *err);
bool my_start(struct server *server, int64_t deadline, struct err *err);
bool my_ready(struct server *server, int64_t deadline, bool *out_ready, const char **out_why,
              struct err *err);

/* ---- snapshot.c ---- */
bool my_snapshot(struct server *server, int64_t deadline, struct err *err);
bool my_rollback(struct server *server, int64_t deadline, struct err *err);
bool my_snapshot_mend(struct server *server, int64_t deadline, struct err *err);
bool my_snapshot_drop(struct server *server, int64_t deadline, struct err *err);

/* ---- log.c ---- */
bool my_log_mark(struct server *server, int64_t deadline, struct err *err);
bool my_log_tail(struct server *server, int64_t deadline, size_t limit_bytes, struct arena *arena,
                 const char **out, struct err *err);
/* Fills err with what the server said about a start that failed: its error lines in `log`, or,
 * where there are none, the end of `output`. Returns false. */
bool my_start_error(const char *log, const char *output, struct err *err);

#endif
