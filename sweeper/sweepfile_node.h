/*
 * Inside the sweep file's reader: the file as a plain tree, in which every value is its exact text
 * with its line, the rows of sweepfile.def, and what the parts call of each other.
 */
#ifndef SWEEPER_SWEEPFILE_NODE_H
#define SWEEPER_SWEEPFILE_NODE_H

#include "sweeper/base/text.h"
#include "sweeper/sweepfile.h"

/* ---- the tree ---- */

enum node_kind { NODE_TEXT, NODE_BOOL, NODE_LIST, NODE_GROUP };

struct node {
    enum node_kind kind;
    const char *name;  /* "" in lists */
    const char *where; /* "workload.clients", for messages; of elements: that of their list */
    const char *text;  /* of texts, numbers and bools ("true", "false"); else NULL */
    int line;
    struct node *children;
    size_t child_count;
};

/* What every part of the reader carries along. */
struct reader {
    const char *path;   /* as messages name the file */
    bool is_file;       /* false: the text comes from elsewhere, a store for example */
    const char *folder; /* absolute, where its relative paths start; "" the working directory */
    struct arena *arena;
    struct sweep *sweep;
    struct err *err;
};

/* Errors at FILE:LINE; false. reader_at names the place of one that was already written. */
bool reader_fail(const struct reader *reader, int line, const char *format, ...) PRINTF_LIKE(3, 4);
bool reader_at(const struct reader *reader, int line);
/* The file as its errors name it, in the arena; NULL: no room. */
const char *reader_file(const struct reader *reader);
/* "did you mean ...?", unless near is NULL; false. */
bool reader_suggest(const struct reader *reader, const char *near);

const struct node *node_find(const struct node *group, const char *name); /* NULL: none */
/* Fails where the node is not what the caller wants to read. */
bool node_is_group(const struct reader *reader, const struct node *node) MUST_USE;
bool node_is_list(const struct reader *reader, const struct node *node) MUST_USE;
bool node_is_text(const struct reader *reader, const struct node *node) MUST_USE;
/* The list's elements, each a text, NULL-terminated; at least one. */
bool node_words(const struct reader *reader, const struct node *list,
                const char *const **out) MUST_USE;

/* ---- sweepfile_lex.c ---- */

/* The texts of a file's values, numbers as they are written (hexadecimal ones in decimal). */
struct lexed {
    const char **texts;
    size_t count;
};

/* Prepares the text for libconfig: each number and each text becomes its index in the list, on the
 * line it stands on. Refuses numbers that are malformed or do not fit 64 bits, values without a
 * separator, @include, settings given twice, nesting too deep, what is not closed, and what is
 * not UTF-8. */
bool sweepfile_lex(const struct reader *reader, const char *text, const char **out,
                   struct lexed *out_values) MUST_USE;

/* ---- sweepfile_keys.c ---- */

enum key_type {
    KEY_TEXT,
    KEY_PATH,
    KEY_CHOICE,
    KEY_INTEGER,
    KEY_REAL,
    KEY_PERCENT,
    KEY_DURATION,
    KEY_BOOL,
    KEY_ARGV,
    KEY_WORDS,
    KEY_SHAPE
};

struct key_row {
    const char *section;
    const char *key;
    enum key_type type;
    size_t offset; /* of its member in struct sweep; SIZE_MAX: none */
    const char *fallback;
    const char *range;
    double low; /* canonical: microseconds, percent */
    double high;
};

extern const struct key_row key_rows[];
extern const size_t key_row_count;

const struct key_row *key_find(const char *section, const char *key); /* NULL: none */
const char *key_nearest(const char *section, const char *key);        /* NULL: none near */
/* Reads a text as the row's type into *member; errors name the key, without a place. */
bool key_set(const struct key_row *row, const char *folder, const char *text, void *member,
             struct arena *arena, struct err *err) MUST_USE;
/* True: it has one value, which one word can say. */
bool key_is_word(const struct key_row *row);

/* The members of a section: defaults, then what stands in the group (NULL: nothing). Unknown keys
 * are errors. Keys with a shape of their own are left to the caller. */
bool read_section(const struct reader *reader, const char *section,
                  const struct node *group) MUST_USE;
/* Only the check of names. */
bool check_keys(const struct reader *reader, const char *section,
                const struct node *group) MUST_USE;

/* ---- sweepfile_parts.c ---- */

/* What several keys decide together: backend, passwords, workload, metrics, labels, strategy,
 * rank, guard. */
bool read_parts(const struct reader *reader, const struct node *root) MUST_USE;
/* "higher" | "lower": as the sweep file says of that metric, else by its name. */
const char *metric_better(const struct sweep *sweep, const char *name);

/* ---- sweepfile_hosts.c ---- */

/* workload.load_hosts; NULL: none. */
bool read_load_hosts(const struct reader *reader, const struct node *list) MUST_USE;
/* Whether the workload, read by now, can be driven by so many. */
bool check_load_hosts(const struct reader *reader, const struct node *list) MUST_USE;

/* ---- sweepfile_script.c ---- */

/* The files of a script workload, and what is wrong in them and with their settings. A text that is
 * not from a file, as when a baseline is put back from a store, needs no scripts. */
bool read_script_workload(const struct reader *reader, const struct node *group) MUST_USE;

/* ---- sweepfile_metrics.c ---- */

/* workload.metrics and workload.expect; NULL: none. */
bool read_metrics(const struct reader *reader, const struct node *list) MUST_USE;
bool check_expect(const struct reader *reader, const struct node *list) MUST_USE;

/* ---- sweepfile_replay.c ---- */

/* The source of a replay, and target.replay; for other backends nothing may stand there. */
bool read_replay(const struct reader *reader, const struct node *target) MUST_USE;
/* The windows of a backend that measures by itself; NULL: there is no workload group. */
bool read_replay_workload(const struct reader *reader, const struct node *group) MUST_USE;

/* ---- sweepfile_axes.c ---- */

/* Axes, points and rules, as written. */
bool read_axes(const struct reader *reader, const struct node *root) MUST_USE;

#endif
