/*
 * Changing the file itself. page_size cannot change in WAL mode and both it and auto_vacuum need
 * a VACUUM (SQLite 3.40, PRAGMA page_size): leave WAL, set, VACUUM, enter the wanted mode. The
 * journal modes besides WAL are forgotten at close; sessions set them again.
 *
 * A copy is made under another name and renamed, so that one that died half way is never taken
 * for a copy; and the log and journal go before the file is put back, because they belong to the
 * file that is replaced.
 */
#include "backends/sqlite/file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/sqlite/pragma.h"
#include "sweeper/base/stop.h"
#include "sweeper/base/text.h"

enum { ANSWER_BYTES = 64, SCRATCH_BYTES = 1 << 20, STEPS_BETWEEN_LOOKS = 10000 };

/* The deadline of a VACUUM, or a stop. */
static int is_late(void *context)
{
    const int64_t *deadline = context;
    return clock_passed(*deadline) || stop_asked() != 0 ? 1 : 0;
}

/* What the file is to be; a kind BASELINE leaves that part alone. */
struct shape {
    struct setting page_size;
    struct setting auto_vacuum;
    struct setting journal_mode;
};

static struct setting *part_of(struct shape *shape, const struct knob *knob)
{
    if (text_equal_nocase(knob->name, "page_size")) {
        return &shape->page_size;
    }
    if (text_equal_nocase(knob->name, "auto_vacuum")) {
        return &shape->auto_vacuum;
    }
    return pragma_is_journal_mode(knob) ? &shape->journal_mode : NULL;
}

/* "unset" is what the library makes of a new file. */
static bool wanted_value(const struct knob *knob, const struct value *asked,
                         const struct value *baseline, struct arena *arena, struct value *out,
                         struct err *err)
{
    *out = asked->kind == VALUE_BASELINE ? *baseline : *asked;
    if (out->kind != VALUE_UNSET) {
        return true;
    }
    CLEANUP(pragma_close) sqlite3 *fresh = NULL;
    bool is_known = false;
    return pragma_open("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 0, &fresh, err) &&
           pragma_read(fresh, knob, arena, out, &is_known, err);
}

static bool make_shape(const struct setting *settings, const struct value *baseline, size_t count,
                       struct arena *arena, struct shape *out, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct setting *part = part_of(out, settings[i].knob);
        if (part == NULL) {
            continue;
        }
        part->knob = settings[i].knob;
        if (!wanted_value(part->knob, &settings[i].value, &baseline[i], arena, &part->value, err)) {
            return false;
        }
    }
    return true;
}

static bool differs(sqlite3 *db, const struct setting *part, struct arena *arena, bool *out,
                    struct err *err)
{
    struct value now;
    bool is_known = false;
    if (part->value.kind == VALUE_BASELINE) {
        return true;
    }
    if (!pragma_read(db, part->knob, arena, &now, &is_known, err)) {
        return false;
    }
    *out = *out || !value_equal(part->knob, &now, &part->value);
    return true;
}

/* The reply is the mode in force: the file stays in WAL while others have it open. */
static bool set_journal_mode(sqlite3 *db, const char *mode, struct err *err)
{
    char sql[ANSWER_BYTES];
    char reply[ANSWER_BYTES];
    sqlite3_snprintf(sizeof sql, sql, "pragma journal_mode = %Q", mode);
    if (!pragma_ask(db, sql, reply, sizeof reply, NULL, err)) {
        return err_while(err, "setting journal_mode to %s", mode);
    }
    if (!text_equal_nocase(reply, mode)) {
        err_set(err, ERR_CODE_not_applied, "journal_mode stays %s instead of %s", reply, mode);
        return err_hint(err, "does another process have the database open?");
    }
    return true;
}

/* "persist" and "truncate" leave a file behind that only a connection in one of them removes. */
static bool leave_no_journal(sqlite3 *db, const char *mode, struct err *err)
{
    bool keeps = text_equal_nocase(mode, "persist") || text_equal_nocase(mode, "truncate") ||
                 text_equal_nocase(mode, "wal");
    return keeps || set_journal_mode(db, "persist", err);
}

static bool rebuild(sqlite3 *db, const struct shape *shape, struct err *err)
{
    char ignored[ANSWER_BYTES];
    if (!set_journal_mode(db, "delete", err)) {
        return false;
    }
    const struct setting *parts[] = {&shape->page_size, &shape->auto_vacuum};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (parts[i]->value.kind != VALUE_BASELINE &&
            !pragma_write(db, parts[i]->knob, &parts[i]->value, err)) {
            return false;
        }
    }
    return pragma_ask(db, "vacuum", ignored, sizeof ignored, NULL, err) ||
           err_while(err, "rewriting the database (VACUUM)");
}

static bool reshape(sqlite3 *db, const struct shape *shape, struct arena *arena, struct err *err)
{
    char mode[ANSWER_BYTES];
    bool must_rebuild = false;
    if (!pragma_ask(db, "pragma journal_mode", mode, sizeof mode, NULL, err) ||
        !differs(db, &shape->page_size, arena, &must_rebuild, err) ||
        !differs(db, &shape->auto_vacuum, arena, &must_rebuild, err)) {
        return false;
    }
    if (must_rebuild && !rebuild(db, shape, err)) {
        return false;
    }
    const struct value *wanted = &shape->journal_mode.value;
    const char *last = wanted->kind == VALUE_TEXT ? wanted->text : mode;
    return leave_no_journal(db, last, err) && set_journal_mode(db, last, err);
}

bool file_apply(const char *path, const struct setting *settings, const struct value *baseline,
                size_t count, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    CLEANUP(pragma_close) sqlite3 *db = NULL;
    struct shape shape = {0};
    arena_open(&scratch, SCRATCH_BYTES);
    if (!make_shape(settings, baseline, count, &scratch, &shape, err) ||
        !pragma_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, clock_left_ms(deadline), &db,
                     err)) {
        return false;
    }
    sqlite3_progress_handler(db, STEPS_BETWEEN_LOOKS, is_late, &deadline);
    if (reshape(db, &shape, &scratch, err)) {
        return true;
    }
    int status = err->native & 0xff;
    if (status == SQLITE_INTERRUPT && stop_asked() != 0) {
        err_set(err, ERR_CODE_stopped, "a stop was asked while the database was rewritten");
    } else if (status == SQLITE_INTERRUPT) {
        err_set(err, ERR_CODE_timeout, "the database could not be rewritten in time");
    } else if (status == SQLITE_BUSY || status == SQLITE_LOCKED) {
        err_hint(err, "another process has %s open: end it", path);
    }
    return false;
}

/* ---- copies ---- */

static bool run_script(struct host *host, const char *script, const char *path, int64_t deadline,
                       struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    arena_open(&scratch, SCRATCH_BYTES);
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", path, NULL};
    /* As the user who opens the database here. */
    const struct host_command command = {
        .argv = argv, .deadline = deadline, .until_stop = true, .as_is = true};
    return host_run_ok(host, &command, &scratch, NULL, err);
}

bool file_snapshot(struct host *host, const char *path, int64_t deadline, struct err *err)
{
    static const char script[] =
        "set -eu\n"
        "[ ! -s \"$1-wal\" ] || { echo \"$1-wal is not empty: the database is in use\" >&2; exit "
        "1; }\n"
        "cp --preserve=mode,ownership,timestamps --reflink=auto -- \"$1\" \"$1.dbsweep-new\"\n"
        "sync -- \"$1.dbsweep-new\"\n"
        "mv -T -- \"$1.dbsweep-new\" \"$1.dbsweep-snapshot\"\n";
    return run_script(host, script, path, deadline, err) || err_while(err, "copying the database");
}

bool file_rollback(struct host *host, const char *path, int64_t deadline, struct err *err)
{
    static const char script[] =
        "set -eu\n"
        "cp --preserve=mode,ownership,timestamps --reflink=auto -- \"$1.dbsweep-snapshot\" "
        "\"$1.dbsweep-new\"\n"
        "sync -- \"$1.dbsweep-new\"\n"
        "rm -f -- \"$1-wal\" \"$1-shm\" \"$1-journal\"\n"
        "mv -T -- \"$1.dbsweep-new\" \"$1\"\n";
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s.dbsweep-snapshot", path);
    if (access(copy, F_OK) != 0) {
        return err_set(err, ERR_CODE_not_found, "there is no copy %s", copy);
    }
    return run_script(host, script, path, deadline, err) ||
           err_while(err, "putting the copy of the database back");
}

bool file_snapshot_drop(struct host *host, const char *path, int64_t deadline, struct err *err)
{
    static const char script[] = "rm -f -- \"$1.dbsweep-snapshot\" \"$1.dbsweep-new\"\n";
    return run_script(host, script, path, deadline, err) ||
           err_while(err, "removing the copy of the database");
}
