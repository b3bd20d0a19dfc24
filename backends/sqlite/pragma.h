/*
 * Opening a database file, and knobs as pragmas: what the backend and its sessions share.
 */
#ifndef BACKENDS_SQLITE_PRAGMA_H
#define BACKENDS_SQLITE_PRAGMA_H

#include <sqlite3.h>

#include "knobs/value.h"
#include "sweeper/base/err.h"

/* The path in a connect text: "PATH" or "file=PATH". Refuses databases in memory and URIs.
 * Points into `connect`. Errors: unsupported. */
bool pragma_path(const char *connect, const char **out, struct err *err) MUST_USE;

/* `flags` as sqlite3_open_v2's; the connection must stay in one thread. Path "" is an empty
 * temporary database, which shows the library's defaults. Errors: connection. */
bool pragma_open(const char *path, int flags, int64_t busy_ms, sqlite3 **out,
                 struct err *err) MUST_USE;
void pragma_close(sqlite3 **db); /* for the cleanup attribute */

/* Fills the record from the connection's last error, the extended code as "SQLITE". Returns
 * false. */
bool pragma_error(sqlite3 *db, enum err_code code, struct err *err);

/* Runs one text and gives the first column of its first row in `out` ("" where there is none);
 * *out_has_row may be NULL. Errors: statement. */
bool pragma_ask(sqlite3 *db, const char *sql, char *out, size_t size, bool *out_has_row,
                struct err *err) MUST_USE;

/* What the pragma answers, in canonical form. *out_known false: the catalogue has no such pragma,
 * and it was not asked. */
bool pragma_read(sqlite3 *db, const struct knob *knob, struct arena *arena, struct value *out,
                 bool *out_known, struct err *err) MUST_USE;
/* Sets it; the answer is not believed, only a pragma_read is. Errors: knob_value, statement. */
bool pragma_write(sqlite3 *db, const struct knob *knob, const struct value *value,
                  struct err *err) MUST_USE;

/* "pragma NAME = VALUE" as it is run; "" for a value that is not written (baseline, unset).
 * Errors: knob_value, knob_unknown. */
bool pragma_text(const struct knob *knob, const struct value *value, char *out, size_t size,
                 struct err *err) MUST_USE;

/* page_size and auto_vacuum need the file rewritten; journal_mode is in between. */
bool pragma_is_in_file(const struct knob *knob);
bool pragma_is_journal_mode(const struct knob *knob);

/* Every setting of the point that lives in a connection. */
bool pragma_write_session(sqlite3 *db, const struct setting *settings, size_t count,
                          struct err *err) MUST_USE;

#endif
