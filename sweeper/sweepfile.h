/*
 * The sweep file: libconfig text -> struct sweep. Every key stands once in sweepfile.def with its
 * type, unit, range, default and sentence; an unknown key, a duplicate, a number that libconfig
 * would misread, a wrong unit: exit 2 with FILE:LINE, what, and the nearest known name.
 */
#ifndef SWEEPER_SWEEPFILE_H
#define SWEEPER_SWEEPFILE_H

#include "backends/backend.h"
#include "knobs/grid.h"
#include "sweeper/host/host.h"
#include "sweeper/load/load.h"
#include "sweeper/search/strategy.h"

/* Of the time that a restart and its waits take, for estimates before the first one. */
#define SWEEP_RESTART_GUESS_MS 10000

struct between_spec {
    const char *restart; /* "always" | "when-needed" */
    bool drop_caches;
    bool prewarm;
    int64_t settle_ms;
};

struct rank_spec {
    const char *by;
    const char *under; /* "" none */
    double confidence;
    const char *across;     /* "each" | "geomean" */
    const char *durability; /* "baseline" | "any" */
    const char *better;     /* "higher" | "lower": of `by` */
};

/* Trials that cannot become the best are ended early (sweeper/stats/early.h). */
struct early_spec {
    const char *kill; /* "default" "true" "false" */
    int64_t after_ms; /* the first look, where there are no cycles */
    int64_t cycle_ms; /* looks are at whole cycles; 0: there are none */
};

struct guard_spec {
    const char *memory; /* expression, or "off" */
    bool cycles;        /* refuse windows shorter than two checkpoint intervals */
};

struct label {
    const char *name;
    const char *value;
};

struct load_host_spec {
    struct host_spec host;
    const char *program; /* dbsweep there; NULL: in its PATH */
};

struct sweep {
    const char *path;      /* of the sweep file */
    const char *file_text; /* as read */
    const char *name;
    const char *store_path;
    struct host_spec host;
    bool has_host;
    struct load_host_spec *load_hosts; /* where the workload is driven from */
    size_t load_host_count;            /* 0: this machine */
    struct host_spec
        load_host; /* the one being read; in the end the addresses of all, for the plan */
    const char *load_program;
    struct target_spec target;
    const struct backend *backend;
    struct workload_spec workload;
    struct between_spec between;
    struct strategy_spec strategy;
    struct early_spec early;
    struct rank_spec rank;
    struct guard_spec guard;
    const char *const *notify; /* argv or NULL */
    const char *password_env;  /* names only: the secret goes into target.password */
    const char *password_file;
    bool baseline;
    struct label *labels;
    size_t label_count;

    /* Axes as written: values stay text until the knobs' rows are completed by the probe. */
    struct sweep_axis *axes;
    size_t axis_count;
    struct sweep_choice *exact;
    size_t exact_count;
    struct sweep_rule *rules;
    size_t rule_count;
    int *key_lines; /* one for each row of sweepfile.def: see sweepfile_line */
};

struct sweep_assignment {
    const char *name;
    const char *text; /* value as written, numbers as their exact text */
    int line;
};
struct sweep_choice {
    struct sweep_assignment *assignments;
    size_t count;
    int line;
};
struct sweep_axis {
    enum swept_kind kind;
    const char *name;             /* NULL where choices set several knobs */
    struct sweep_choice *choices; /* NULL for a range */
    size_t choice_count;
    const char *from; /* range */
    const char *to;
    int64_t steps;
    bool log_scale;
    const char *type; /* explicit type and unit for a knob that no catalogue knows */
    const char *unit;
    int line;
};
struct sweep_rule {
    const char *text;
    int line;
};

/* Reads and checks the file as far as it can be checked without a server. Relative paths start at
 * the file's folder and become absolute, "~/" is home; an embedded backend's `connect` is such a
 * path. Secrets (password_env, password_file) are resolved into target.password. Errors, all PLAN,
 * with FILE:LINE as their origin: sweep_file, number, rule, unsupported; not_found for the file. */
bool sweepfile_read(const char *path, struct arena *arena, struct sweep *out,
                    struct err *err) MUST_USE;
/* The line that a key stands on, 0 where it does not: for errors that show only later. */
int sweepfile_line(const struct sweep *sweep, const char *section, const char *key);
/* The same from text; `path` is for messages and relative paths. */
bool sweepfile_parse(const char *path, const char *text, struct arena *arena, struct sweep *out,
                     struct err *err) MUST_USE;

/* Makes swept settings, axes, exact points and rules from what is written, for grid_build. A knob's
 * row is taken from `rows`, else from the catalogue, else from the type and unit that its axis
 * gives. Every value is parsed against its row, and every name in a rule is known. Errors, with
 * FILE:LINE: knob_unknown (with the nearest name), knob_value, number, rule, sweep_file. */
struct sweep_knob_row {
    const char *name;
    const struct knob *knob;
};
bool sweepfile_grid(const struct sweep *sweep, const struct sweep_knob_row *rows, size_t row_count,
                    const struct value_facts *facts, struct arena *arena, struct grid *out,
                    struct err *err) MUST_USE;

/* A workload key by its name in the sweep file ("clients"; dashes for underscores), from text with
 * units, checked against its row in sweepfile.def: for workload axes and for `load --clients`. A
 * command is split into words at blanks, quotes keep them together; lists take one word, which is
 * added. The nearest known name in the hint. */
bool workload_set(struct workload_spec *workload, const char *key, const char *text,
                  struct arena *arena, struct err *err) MUST_USE;
/* Reads the files that `scripts`, `setup` and `teardown` name; relative ones start at `folder`, ""
 * the working directory. Errors, PLAN: not_found, sweep_file; without a place where the file could
 * not be read, else with its own PATH:LINE. */
bool workload_read_scripts(struct workload_spec *workload, const char *folder, struct arena *arena,
                           struct err *err) MUST_USE;
/* All workload keys with their defaults. */
bool workload_defaults(struct workload_spec *workload, struct arena *arena,
                       struct err *err) MUST_USE;
/* The knob row that stands for a workload key as an axis ("clients": integer, >= 1); NULL where
 * there is no such key, or one that is decided for the whole sweep (kind, reset, commands). */
const struct knob *workload_knob(const char *key);
/* Every workload setting as one JSON object. */
bool workload_json(const struct workload_spec *workload, struct text *out) MUST_USE;

/* "libconfig 1.5.0" */
const char *sweepfile_library_version(void);

/* The rows of sweepfile.def, for help, the manual and `load` options. */
struct sweepfile_key {
    const char *section; /* "" top level, "target", "workload", ... */
    const char *key;
    const char *type;     /* "text", "path", "choice", "integer", "real", "percent", "duration",
                             "bool", "argv", "words"; "special": a shape of its own */
    const char *fallback; /* default as text; NULL none */
    const char *range;    /* "1..100000", "a|b|c", of a special one its shape, or "" */
    const char *sentence;
};
const struct sweepfile_key *sweepfile_keys(size_t *out_count);

/* The secret from the file (0600, first line) or the environment variable; NULL in *out where
 * neither is named. It never leaves the process but towards the server. */
bool sweepfile_password(const char *env_name, const char *file_path, struct arena *arena,
                        const char **out, struct err *err) MUST_USE;

/* How the workload's sessions log in: target.session_connect, or target.connect. */
const char *sweepfile_session_connect(const struct sweep *sweep);

/* What may not change between two runs without --fresh, one "key = value" line each: target,
 * backend, workload (less its swept keys) and windows. */
bool sweepfile_plan_text(const struct sweep *sweep, struct arena *arena, const char **out,
                         struct err *err) MUST_USE;

#endif
