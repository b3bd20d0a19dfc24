/*
 * SQLite as a target: the library is the server, the file is its data, and there is no process to
 * stop; "stop" empties the write-ahead log and makes sure that nobody else is writing. The
 * database must be on this machine, where the library runs.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/sqlite/file.h"
#include "backends/sqlite/pragma.h"
#include "backends/sqlite/sqlite.h"
#include "sweeper/base/text.h"

enum {
    ANSWER_BYTES = 64,
    SQL_BYTES = 256,
    WHY_BYTES = 640,
    READY_BUSY_MS = 200,
    STOP_BUSY_MS = 5000
};

struct sqlite_state {
    const char *path; /* absolute, symbolic links resolved */
    char why[WHY_BYTES];
};

static struct sqlite_state *state_of(const struct server *server)
{
    return server->state;
}

/* A file that is not there yet has a folder that is. */
static const char *resolve(const char *path, struct arena *arena)
{
    char real[PATH_MAX];
    if (realpath(path, real) != NULL) {
        return arena_strdup(arena, real);
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    char folder[PATH_MAX];
    int size = (int)(name - path);
    snprintf(folder, sizeof folder, "%.*s", size > 0 ? size : 1, size > 0 ? path : ".");
    return realpath(folder, real) != NULL
               ? arena_printf(arena, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name)
               : NULL;
}

static bool sqlite_open(struct server *server, struct err *err)
{
    const char *path = NULL;
    if (!pragma_path(server->spec->connect, &path, err)) {
        return false;
    }
    if (!server->host->is_local) {
        err_set(err, ERR_CODE_unsupported,
                "a SQLite database is opened by dbsweep itself, and "
                "%s is another machine",
                server->host->label);
        return err_hint(err, "run dbsweep there");
    }
    struct sqlite_state *state = ARENA_NEW(server->arena, struct sqlite_state);
    if (state == NULL) {
        return err_memory(err);
    }
    state->path = resolve(path, server->arena);
    if (state->path == NULL) {
        err_set(err, ERR_CODE_not_found, "the folder of \"%.300s\" does not exist", path);
        return err_hint(err, "relative paths start where dbsweep was called");
    }
    server->state = state;
    server->facts.data_directory = state->path;
    return true;
}

static void sqlite_close(struct server *server)
{
    server->state = NULL;
}

static bool exists(const struct sqlite_state *state)
{
    return access(state->path, F_OK) == 0;
}

/* For reading. A database that is not there yet is like an empty temporary one. What a writer that
 * died left must be rolled back first, and SQLite does that only for who may write. */
static bool open_for_reading(const struct sqlite_state *state, int64_t deadline, sqlite3 **out,
                             struct err *err)
{
    int64_t busy_ms = clock_left_ms(deadline);
    return exists(state) ? pragma_open(state->path, SQLITE_OPEN_READWRITE, busy_ms, out, err)
                         : pragma_open("", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, 0, out, err);
}

static enum source_kind source_of(const struct setting *setting)
{
    if (pragma_is_in_file(setting->knob) || pragma_is_journal_mode(setting->knob)) {
        return SOURCE_DATA;
    }
    bool is_set = setting->value.kind != VALUE_BASELINE && setting->value.kind != VALUE_UNSET;
    return is_set ? SOURCE_SESSION : SOURCE_DEFAULT;
}

static bool read_all(sqlite3 *db, const struct setting *settings, size_t count, struct arena *arena,
                     struct reading *out, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct reading){.source = source_of(&settings[i]), .detail = ""};
        if (!pragma_read(db, settings[i].knob, arena, &out[i].value, &out[i].known, err)) {
            return false;
        }
    }
    return true;
}

static bool sqlite_probe(struct server *server, const struct knob *const *knobs, size_t knob_count,
                         int64_t deadline, struct arena *arena, const struct knob **out_knobs,
                         struct reading *out, struct err *err)
{
    CLEANUP(pragma_close) sqlite3 *db = NULL;
    struct setting *settings = ARENA_ARRAY(arena, struct setting, knob_count + 1);
    if (settings == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < knob_count; i++) {
        settings[i].knob = knobs[i];
        out_knobs[i] = knobs[i];
    }
    server->facts.product = "SQLite";
    server->facts.version = sqlite3_libversion();
    server->facts.start_method = "embedded";
    server->facts.identity = "embedded";
    return open_for_reading(state_of(server), deadline, &db, err) &&
           read_all(db, settings, knob_count, arena, out, err);
}

static bool sqlite_read_back(struct server *server, const struct setting *settings,
                             size_t setting_count, int64_t deadline, struct arena *arena,
                             struct reading *out, struct err *err)
{
    CLEANUP(pragma_close) sqlite3 *db = NULL;
    const struct sqlite_state *state = state_of(server);
    return pragma_open(state->path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                       clock_left_ms(deadline), &db, err) &&
           pragma_write_session(db, settings, setting_count, err) &&
           read_all(db, settings, setting_count, arena, out, err);
}

/* ---- stop, start, ready ---- */

static int64_t shorter_ms(int64_t deadline, int64_t limit_ms)
{
    int64_t left_ms = clock_left_ms(deadline);
    return left_ms < 0 || left_ms > limit_ms ? limit_ms : left_ms;
}

/* The answer's first column is 1 where a reader or writer is in the way. */
static bool empty_log(const struct sqlite_state *state, int64_t busy_ms, enum err_code code,
                      struct err *err)
{
    CLEANUP(pragma_close) sqlite3 *db = NULL;
    char busy[ANSWER_BYTES] = "";
    if (!exists(state)) {
        return true;
    }
    if (!pragma_open(state->path, SQLITE_OPEN_READWRITE, busy_ms, &db, err)) {
        return false;
    }
    /* The checkpoint alone would not look at the journal of a writer that died. */
    if (!pragma_ask(db, "pragma schema_version", busy, sizeof busy, NULL, err) ||
        !pragma_ask(db, "pragma wal_checkpoint(truncate)", busy, sizeof busy, NULL, err)) {
        err->code = code;
        return err_while(err, "emptying the write-ahead log of %s", state->path);
    }
    if (strcmp(busy, "1") == 0) {
        err_set(err, code, "another process is using %s", state->path);
        return err_hint(err, "end it: a swept database belongs to dbsweep for that time");
    }
    return true;
}

static bool sqlite_stop(struct server *server, int64_t deadline, struct err *err)
{
    return empty_log(state_of(server), shorter_ms(deadline, STOP_BUSY_MS), ERR_CODE_stop_failed,
                     err);
}

static bool sqlite_start(struct server *server UNUSED, int64_t deadline UNUSED,
                         struct err *err UNUSED)
{
    return true;
}

static bool sqlite_ready(struct server *server, int64_t deadline, bool *out_ready,
                         const char **out_why, struct err *err)
{
    CLEANUP(pragma_close) sqlite3 *db = NULL;
    struct sqlite_state *state = state_of(server);
    char answer[ANSWER_BYTES];
    if (!open_for_reading(state, deadline, &db, err)) {
        return false;
    }
    sqlite3_busy_timeout(db, (int)shorter_ms(deadline, READY_BUSY_MS));
    *out_ready = pragma_ask(db, "pragma schema_version", answer, sizeof answer, NULL, err);
    *out_why = "";
    if (*out_ready) {
        server->facts.identity = "embedded";
        return true;
    }
    bool is_busy = (err->native & 0xff) == SQLITE_BUSY;
    snprintf(state->why, sizeof state->why, "%s", err->text);
    *out_why = state->why;
    if (is_busy) {
        err_clear(err);
    }
    return is_busy;
}

static bool sqlite_apply(struct server *server, const struct setting *settings,
                         const struct value *baseline, size_t setting_count, int64_t deadline,
                         struct err *err)
{
    return file_apply(state_of(server)->path, settings, baseline, setting_count, deadline, err);
}

static bool sqlite_settle(struct server *server, int64_t deadline, struct err *err)
{
    return empty_log(state_of(server), clock_left_ms(deadline), ERR_CODE_statement, err);
}

/* ---- counters and data ---- */

static bool ask_number(sqlite3 *db, const char *sql, int64_t *out, struct err *err)
{
    char answer[ANSWER_BYTES];
    if (!pragma_ask(db, sql, answer, sizeof answer, NULL, err)) {
        return false;
    }
    *out = strtoll(answer, NULL, 10);
    return true;
}

static int64_t file_bytes(const char *path, const char *suffix)
{
    char full[PATH_MAX];
    struct stat found;
    snprintf(full, sizeof full, "%s%s", path, suffix);
    return stat(full, &found) == 0 ? found.st_size : 0;
}

static bool sqlite_counters(struct server *server, int64_t deadline, struct arena *arena,
                            struct counter **out, size_t *out_count, struct err *err)
{
    CLEANUP(pragma_close) sqlite3 *db = NULL;
    const struct sqlite_state *state = state_of(server);
    int64_t page_count = 0;
    int64_t free_count = 0;
    if (!open_for_reading(state, deadline, &db, err) ||
        !ask_number(db, "pragma page_count", &page_count, err) ||
        !ask_number(db, "pragma freelist_count", &free_count, err)) {
        return false;
    }
    const struct counter found[] = {
        {.name = "sqlite.page_count", .value = (double)page_count, .gauge = true},
        {.name = "sqlite.freelist_count", .value = (double)free_count, .gauge = true},
        {.name = "sqlite.file_bytes", .value = (double)file_bytes(state->path, ""), .gauge = true},
        {.name = "sqlite.wal_bytes",
         .value = (double)file_bytes(state->path, "-wal"),
         .gauge = true},
    };
    *out = ARENA_ARRAY(arena, struct counter, COUNT_OF(found));
    if (*out == NULL) {
        return err_memory(err);
    }
    memcpy(*out, found, sizeof found);
    *out_count = COUNT_OF(found);
    return true;
}

static bool sqlite_data_size(struct server *server, int64_t deadline, int64_t *out_bytes,
                             struct err *err)
{
    CLEANUP(pragma_close) sqlite3 *db = NULL;
    int64_t page_count = 0;
    int64_t page_bytes = 0;
    if (!open_for_reading(state_of(server), deadline, &db, err) ||
        !ask_number(db, "pragma page_count", &page_count, err) ||
        !ask_number(db, "pragma page_size", &page_bytes, err)) {
        return false;
    }
    *out_bytes = page_count * page_bytes;
    return true;
}

static bool sqlite_snapshot(struct server *server, int64_t deadline, struct err *err)
{
    return file_snapshot(server->host, state_of(server)->path, deadline, err);
}

static bool sqlite_rollback(struct server *server, int64_t deadline, struct err *err)
{
    return file_rollback(server->host, state_of(server)->path, deadline, err);
}

static bool sqlite_snapshot_drop(struct server *server, int64_t deadline, struct err *err)
{
    return file_snapshot_drop(server->host, state_of(server)->path, deadline, err);
}

/* Those of the file (or of the connections), one a line; *out_count says how many. */
static bool add_statements(const struct setting *settings, size_t count, bool in_file,
                           struct text *out, size_t *out_count, struct err *err)
{
    char sql[SQL_BYTES];
    *out_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (pragma_is_in_file(settings[i].knob) != in_file) {
            continue;
        }
        if (!pragma_text(settings[i].knob, &settings[i].value, sql, sizeof sql, err)) {
            return false;
        }
        if (sql[0] != '\0') {
            text_addf(out, "%s;\n", sql);
            ++*out_count;
        }
    }
    return true;
}

/* What lives in the file is written once, and not while the file is in WAL mode. */
static bool sqlite_statements(const struct setting *settings, size_t setting_count,
                              struct arena *arena, const char **out, struct err *err)
{
    struct text in_file;
    struct text in_connection;
    size_t file_count = 0;
    size_t connection_count = 0;
    text_open(&in_file, arena);
    text_open(&in_connection, arena);
    text_add(&in_file, "-- once, while nothing else has the file open; a mode of wal is to be set "
                       "again:\npragma journal_mode = 'delete';\n");
    text_add(&in_connection, "-- in every connection:\n");
    if (!add_statements(settings, setting_count, true, &in_file, &file_count, err) ||
        !add_statements(settings, setting_count, false, &in_connection, &connection_count, err)) {
        return false;
    }
    text_add(&in_file, "vacuum;\n");
    const char *file = file_count > 0 ? text_done(&in_file) : "";
    const char *connection = connection_count > 0 ? text_done(&in_connection) : "";
    *out =
        file != NULL && connection != NULL ? arena_printf(arena, "%s%s", file, connection) : NULL;
    return *out != NULL || err_memory(err);
}

static const char *sqlite_library(void)
{
    static char name[32];
    snprintf(name, sizeof name, "SQLite %s", sqlite3_libversion());
    return name;
}

const struct backend sqlite_backend = {
    .name = "sqlite",
    .title = "SQLite",
    .system = "sqlite",
    .embedded = true,
    .open = sqlite_open,
    .close = sqlite_close,
    .probe = sqlite_probe,
    .stop = sqlite_stop,
    .start = sqlite_start,
    .ready = sqlite_ready,
    .read_back = sqlite_read_back,
    .apply = sqlite_apply,
    .statements = sqlite_statements,
    .settle = sqlite_settle,
    .counters = sqlite_counters,
    .snapshot = sqlite_snapshot,
    .rollback = sqlite_rollback,
    .snapshot_drop = sqlite_snapshot_drop,
    .data_size = sqlite_data_size,
    .library = sqlite_library,
    .session = &sqlite_session,
};
