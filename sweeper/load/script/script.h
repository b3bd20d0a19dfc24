/*
 * The script workload: the user's own transactions, each an SQL file with variables. A file is read
 * once into items; a client walks over them. What a file means is decided while it is read, so that
 * all that can be wrong with it is found before anything is touched.
 *
 * README.md describes the language of the files.
 */
#ifndef SWEEPER_LOAD_SCRIPT_SCRIPT_H
#define SWEEPER_LOAD_SCRIPT_SCRIPT_H

#include <limits.h>
#include <stdatomic.h>

#include "sweeper/load/workload.h"

#define SCRIPT_VARIABLE_LIMIT 128 /* of all files together */
#define SCRIPT_STACK_LIMIT 64     /* values that an expression keeps at once */
#define SCRIPT_NONE UINT_MAX

/* ---- expressions ---- */

/* Whole numbers are exact in 64 bits; what is not whole is a double. Types are known when the file
 * is read. */
struct script_value {
    int64_t integer;
    double real;
};

enum script_op_kind {
    SCRIPT_OP_CONSTANT,
    SCRIPT_OP_VARIABLE,
    SCRIPT_OP_TO_REAL,
    SCRIPT_OP_TO_INT, /* rounds to the nearest */
    SCRIPT_OP_NEGATE,
    SCRIPT_OP_ABS,
    SCRIPT_OP_ADD,
    SCRIPT_OP_SUBTRACT,
    SCRIPT_OP_MULTIPLY,
    SCRIPT_OP_DIVIDE,
    SCRIPT_OP_REMAINDER,
    SCRIPT_OP_LEAST,
    SCRIPT_OP_GREATEST,
    SCRIPT_OP_RANDOM,
    SCRIPT_OP_GAUSSIAN,
    SCRIPT_OP_EXPONENTIAL,
    SCRIPT_OP_ZIPFIAN
};

struct script_op {
    enum script_op_kind kind;
    bool is_real;              /* works on doubles */
    bool converts_left;        /* of two operands, the first one is whole and becomes a double */
    unsigned variable;         /* of SCRIPT_OP_VARIABLE */
    struct script_value value; /* of SCRIPT_OP_CONSTANT */
};

/* In the order of a stack machine. */
struct script_expression {
    const struct script_op *ops;
    size_t op_count;
    enum param_type type; /* PARAM_INT or PARAM_REAL */
};

/* ---- files ---- */

struct script_variable {
    const char *name;
    enum param_type type;
    struct script_value initial;
    struct bytes text;   /* of PARAM_TEXT, which nothing changes */
    const char *literal; /* of PARAM_TEXT, as the dialect writes it */
    const char *path;    /* of the file that it belongs to; NULL: given, all share it */
    int line;            /* where that file sets it first */
};

/* A variable behind some text; SCRIPT_NONE at the end. */
struct script_piece {
    struct bytes text;
    unsigned variable;
    bool is_mark; /* no variable but a question mark that stays one */
};

enum script_item_kind {
    SCRIPT_SET,
    SCRIPT_STATEMENT,
    SCRIPT_BEGIN,
    SCRIPT_COMMIT,
    SCRIPT_ROLLBACK
};

struct script_item {
    enum script_item_kind kind;
    int line;
    unsigned variable; /* SCRIPT_SET */
    struct script_expression expression;
    const char *name;  /* SCRIPT_STATEMENT: label or text */
    const char *label; /* NULL: it has none */
    const char *sql;   /* with ? for variables */
    const struct script_piece *pieces;
    size_t piece_count;
    size_t param_count;
    unsigned slot;
};

struct script_file {
    const char *name;
    const char *path; /* for messages */
    int64_t weight;
    const struct script_item *items;
    size_t item_count;
    bool writes; /* has a statement that is no plain query */
};

struct script_variables {
    struct script_variable rows[SCRIPT_VARIABLE_LIMIT];
    size_t count;
    unsigned clients; /* rows of what the driver itself knows */
    unsigned client_id;
};

struct script_shared {
    atomic_size_t text_count; /* buffers that are taken */
};

struct script_plan {
    const struct workload_spec *spec;
    enum dialect dialect;
    struct script_variables variables;
    struct script_file *files;
    size_t file_count;
    int64_t weight_sum;
    const char **names; /* of the files */
    struct script_file setup;
    struct script_file teardown;
    struct workload_statement *statements;
    size_t statement_count;
    char *texts; /* a buffer for each client, where statements are not prepared */
    size_t text_bytes;
    size_t text_limit;
    struct script_shared *shared;
    char setup_hash[65]; /* of what the setup makes */
};

/* What a client goes back to when it must try again: all before it is done and committed. */
struct script_place {
    size_t item;
    struct random random;
    struct script_value values[SCRIPT_VARIABLE_LIMIT];
};

struct script_state {
    bool is_open;
    bool in_transaction;
    size_t item;
    struct script_value values[SCRIPT_VARIABLE_LIMIT];
    struct script_place place;
    char *text;
};

/* ---- script_sql.c ---- */

/* What the scanner of a system takes as one piece. */
enum script_token {
    SCRIPT_TOKEN_BYTE,
    SCRIPT_TOKEN_WORD,   /* letters, digits, _ and $ */
    SCRIPT_TOKEN_QUOTED, /* a string or a quoted name: no variable is in it */
    SCRIPT_TOKEN_COMMENT,
    SCRIPT_TOKEN_HINT,    /* a comment that the server reads */
    SCRIPT_TOKEN_VARIABLE /* :name */
};
/* The piece at `offset` of a terminated text: its size in *out_size, above 0 unless the text ends.
 * *out_is_closed, where it is a quote or a comment: its end is there. */
enum script_token script_token(const char *sql, size_t offset, enum dialect dialect,
                               size_t *out_size, bool *out_is_closed);
/* A text as the dialect writes it, quotes and all; NULL: no room. */
const char *script_literal(struct bytes text, enum dialect dialect, struct arena *arena);

/* ---- script_expression.c ---- */

/* Reads an expression; names of variables are looked up by `find`, which gives SCRIPT_NONE for
 * those that are not there or not set yet. Errors: sweep_file, without a place. */
struct script_names {
    const void *context;
    unsigned (*find)(const void *context, const char *name, size_t size);
    const struct script_variable *rows;
};
bool script_expression_read(const char *text, const struct script_names *names, struct arena *arena,
                            struct script_expression *out, struct err *err) MUST_USE;
/* (script_evaluate.c) Errors, with the code that is given and without a place: overflow, a division
 * by zero, bounds in the wrong order, parameters of a distribution out of their range. */
bool script_evaluate(const struct script_expression *expression, const struct script_value *values,
                     struct random *random, enum err_code code, struct script_value *out,
                     struct err *err) MUST_USE;

/* ---- script_draw.c ---- */

/* All draw from low … high, both ends in, low <= high. */
/* Normal around the middle, cut at `parameter` (2 or more) standard deviations. */
int64_t script_draw_gaussian(struct random *random, int64_t low, int64_t high, double parameter);
/* Falls by e^parameter from low to high; parameter above 0. */
int64_t script_draw_exponential(struct random *random, int64_t low, int64_t high, double parameter);
/* The k-th value in proportion to k^-exponent; 0 < exponent <= SCRIPT_ZIPF_LIMIT. */
#define SCRIPT_ZIPF_LIMIT 1000.0
int64_t script_draw_zipfian(struct random *random, int64_t low, int64_t high, double exponent);

/* ---- script_variable.c ---- */

bool script_variables_open(const struct workload_spec *spec, enum dialect dialect,
                           struct arena *arena, struct script_variables *out,
                           struct err *err) MUST_USE;
/* SCRIPT_NONE: there is none, or none for this file. */
unsigned script_variable_find(const struct script_variables *variables, const char *path,
                              const char *name, size_t size);
/* A file's own. Errors: sweep_file. */
bool script_variable_add(struct script_variables *variables, const char *path, int line,
                         const char *name, enum param_type type, unsigned *out,
                         struct err *err) MUST_USE;
/* The values that a client begins with. */
void script_variables_fill(const struct script_variables *variables, uint32_t client,
                           struct script_value *out);
/* The statement with its values in their places, in a buffer of at least script_text_bytes. */
size_t script_text_bytes(const struct script_item *item, const struct script_variables *variables);
void script_text_fill(const struct script_item *item, const struct script_variables *variables,
                      const struct script_value *values, char *out);

/* ---- script_read.c, script_statement.c ---- */

struct script_reader {
    const struct load_script *file;
    enum dialect dialect;
    struct script_variables *variables;
    struct arena *arena;
    struct err *err;
    const char *at;
    int line;
    struct script_item item; /* under way */
};

/* Reads a file into items. Errors: sweep_file, with PATH:LINE as their origin. */
bool script_read(const struct load_script *file, enum dialect dialect,
                 struct script_variables *variables, struct arena *arena, struct script_file *out,
                 struct err *err) MUST_USE;
/* An error at a line of the file; false. */
bool script_fail(const struct script_reader *reader, int line, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Reads the statement that begins at reader->at, its semicolon with it, into reader->item.
 * *out_writes, it may change data. */
bool script_statement_read(struct script_reader *reader, const char *label, bool *out_writes);

/* ---- script_setup.c ---- */

bool script_prepare(const struct load_job *job, const void *plan, struct session *session,
                    int64_t deadline, void (*note)(void *, const char *), void *context,
                    struct err *err);
bool script_cleanup(const struct load_job *job, const void *plan, struct session *session,
                    int64_t deadline, struct err *err);
/* Before clients: the setup was run, and its data will no longer be as it made them. */
bool script_begin_drive(const struct load_job *job, const void *plan, struct session *session,
                        int64_t deadline, struct err *err);

#endif
