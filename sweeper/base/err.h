/*
 * The error record: fixed size (works without memory), written once where the error happens,
 * enriched with "while ..." contexts on the way up, logged once by the loop or main, stored in
 * the trial's row. Every fallible function returns bool and takes `struct err *` last.
 */
#ifndef SWEEPER_BASE_ERR_H
#define SWEEPER_BASE_ERR_H

#include "sweeper/base/base.h"

enum err_class { ERR_PLAN, ERR_POINT, ERR_TARGET, ERR_STORE, ERR_STOP, ERR_BUG };

enum err_code {
#define ERROR(code, class, meaning) ERR_CODE_##code,
#include "sweeper/base/errors.def"
#undef ERROR
};

struct err {
    enum err_code code;
    enum err_class class;
    int native;           /* errno, exit status, SSH or client error number; 0 = none */
    char native_text[16]; /* SQLSTATE, "signal 9", "errno"; empty = none */
    char text[640];       /* lower case, no full stop */
    char hint[320];       /* advice; empty = none */
    char origin[96];      /* file:line, host, path or server the error speaks of; empty = none */
    char context[4][128]; /* "while ..." innermost first */
    int context_count;
};

/* Clears the record. */
void err_clear(struct err *err);

/* Fills the record; class comes from errors.def. Always returns false, so that a function can
 * `return err_set(...)`. */
bool err_set(struct err *err, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);

/* As err_set for a failed system call: appends ": " strerror(errno) and keeps errno in native. */
bool err_set_errno(struct err *err, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);

/* The arena or malloc had no room. Returns false. */
bool err_memory(struct err *err);

/* Adds advice to a record that is already filled; the last one given stays. Returns false. */
bool err_hint(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Names what the error speaks of ("nightly.cfg:12", "db1:/etc/my.cnf"); one that is too long loses
 * its beginning, never the line. Returns false. */
bool err_origin(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* Keeps the native code. `kind` is "errno", "exit", "signal", "SQLSTATE 42P01" cut to 15 bytes.
 * Returns false. */
bool err_native(struct err *err, int native, const char *kind);

/* Adds one "while ..." context (at most four; further ones are dropped). Returns false. */
bool err_while(struct err *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* The loop's judgement: same error, other class. Returns false. */
bool err_reclass(struct err *err, enum err_class class);

const char *err_class_name(enum err_class class); /* "PLAN", "POINT", ... */
const char *err_code_name(enum err_code code);    /* "knob_unknown", ... */

/* Exit status of the class: PLAN 2, POINT 1, TARGET 4, STORE 5, STOP 3, BUG 70. */
int err_exit_status(enum err_class class);

/* Formats "ORIGIN: text; hint" (without contexts) into buffer, always terminated. */
void err_format(const struct err *err, char *buffer, size_t size);

#endif
