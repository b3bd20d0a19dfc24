/*
 * Foreign data are sacred: set-up work touches only tables that carry our mark. The mark stands in
 * the object itself (a comment), and what was loaded, and whether it is still as loaded, stands in
 * a marked table dbsweep_meta.
 */
#ifndef SWEEPER_LOAD_MARK_H
#define SWEEPER_LOAD_MARK_H

#include "backends/session.h"

#define MARK_TEXT "dbsweep workload data"
#define MARK_META "dbsweep_meta"

enum mark_state { MARK_ABSENT, MARK_OURS, MARK_FOREIGN };

/* Whose the table (or view) of that name is. */
bool mark_look_up(struct session *session, const char *table, int64_t deadline,
                  enum mark_state *out, struct err *err) MUST_USE;
/* Fails with foreign_data unless the table is absent or ours. */
bool mark_check(struct session *session, const char *table, int64_t deadline,
                struct err *err) MUST_USE;
/* Waits until no other session changes the workload's data in this database; none will while this
 * one lives. Two loads at once would spoil each other. Where the server knows no such locks
 * (SQLite) it claims nothing. note (may be NULL) is told of a wait. */
bool mark_claim(struct session *session, int64_t deadline, void (*note)(void *, const char *),
                void *context, struct err *err) MUST_USE;
/* Creates a marked table. */
bool mark_create(struct session *session, const char *table, const char *columns, int64_t deadline,
                 struct err *err) MUST_USE;
/* Drops the table if it is ours; absent is fine, foreign an error. */
bool mark_drop(struct session *session, const char *table, int64_t deadline,
               struct err *err) MUST_USE;

/* A note in dbsweep_meta: NULL in *out where there is none. Names and values come from code and
 * numbers, never from outside. */
bool mark_get(struct session *session, const char *name, int64_t deadline, struct arena *arena,
              const char **out, struct err *err) MUST_USE;
bool mark_set(struct session *session, const char *name, const char *value, int64_t deadline,
              struct err *err) MUST_USE;
/* Removes the notes whose names are like the SQL pattern, and the table of notes with the last one.
 */
bool mark_forget(struct session *session, const char *pattern, int64_t deadline,
                 struct err *err) MUST_USE;

#endif
