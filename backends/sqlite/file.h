/*
 * What lives in the database file: page_size, auto_vacuum, journal_mode; and copies of the file.
 */
#ifndef BACKENDS_SQLITE_FILE_H
#define BACKENDS_SQLITE_FILE_H

#include "backends/backend.h"

/* Brings the file to the settings; see backend.apply. */
bool file_apply(const char *path, const struct setting *settings, const struct value *baseline,
                size_t count, int64_t deadline, struct err *err);

/* Copies beside the file ("PATH.dbsweep-snapshot"), complete or not there at all. */
bool file_snapshot(struct host *host, const char *path, int64_t deadline, struct err *err);
bool file_rollback(struct host *host, const char *path, int64_t deadline, struct err *err);
bool file_snapshot_drop(struct host *host, const char *path, int64_t deadline, struct err *err);

#endif
