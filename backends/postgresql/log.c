/*
 * What the server wrote since a mark: its standard error, a file or the journal of its unit, which
 * takes everything up to the moment when the logging collector takes over, the log that the sweep
 * file or the probe named, and the collector's present file, which is a new one after most starts
 * (current_logfiles, manual 15, 20.8.1).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/postgresql/server.h"
#include "sweeper/base/text.h"

enum { TEXT_BYTES = 560, HINT_BYTES = 280 };

const char pg_start_log_name[] = "dbsweep-start.log";

/* ---- which files ---- */

/* "stderr log/postgresql-2026-12-01.log": the path behind the first blank of the first line. */
static bool collector_file(const struct server *server, int64_t deadline, struct arena *arena,
                           char *out, size_t size, struct err *err)
{
    const char *directory = pg_data_directory(server);
    const char *text = NULL;
    out[0] = '\0';
    if (directory == NULL) {
        return true;
    }
    const char *path = arena_printf(arena, "%s/current_logfiles", directory);
    const char *const argv[] = {"cat", "--", path, NULL};
    if (path == NULL) {
        return err_memory(err);
    }
    if (!host_ask(server->host, argv, deadline, arena, &text, err)) {
        return false;
    }
    const char *name = text != NULL ? strchr(text, ' ') : NULL;
    if (name != NULL) {
        name++;
        snprintf(out, size, "%s%s%.*s", name[0] == '/' ? "" : directory, name[0] == '/' ? "" : "/",
                 (int)strcspn(name, "\n"), name);
    }
    return true;
}

static void take_path(struct pg_log_mark *mark, const char *path)
{
    snprintf(mark->path, sizeof mark->path, "%s", path != NULL ? path : "");
}

/* Each file once: standard error first, because it is written first. */
static bool list_files(const struct server *server, int64_t deadline, struct arena *arena,
                       struct pg_log_mark marks[PG_LOG_COUNT], struct err *err)
{
    const char *directory = pg_data_directory(server);
    memset(marks, 0, PG_LOG_COUNT * sizeof *marks);
    take_path(&marks[0], pg_state_of(server)->start_log);
    if (directory != NULL) {
        snprintf(marks[1].path, sizeof marks[1].path, "%s/%s", directory, pg_start_log_name);
    }
    take_path(&marks[2], server->facts.log_path);
    if (!collector_file(server, deadline, arena, marks[3].path, sizeof marks[3].path, err)) {
        return false;
    }
    for (size_t i = 1; i < PG_LOG_COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(marks[i].path, marks[j].path) == 0) {
                marks[i].path[0] = '\0';
            }
        }
    }
    return true;
}

/* ---- mark and tail ---- */

static bool measure(const struct server *server, int64_t deadline, struct arena *arena,
                    struct pg_log_mark *mark, struct err *err)
{
    const char *const argv[] = {"stat", "-L", "-c", "%s", "--", mark->path, NULL};
    const char *text = NULL;
    if (mark->path[0] == '\0') {
        return true;
    }
    if (!host_ask(server->host, argv, deadline, arena, &text, err)) {
        return false;
    }
    mark->size_bytes = text != NULL ? strtoll(text, NULL, 10) : 0;
    return true;
}

/* Standard error goes there unless somebody sent it elsewhere. */
static bool is_in_journal(const struct pg_state *state)
{
    return state->unit != NULL && state->start_log == NULL;
}

bool pg_log_mark(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct pg_state *state = pg_state_of(server);
    arena_open(&scratch, PG_SCRATCH_BYTES);
    state->mark_since[0] = '\0';
    if (is_in_journal(state) && !unit_time(server->host, deadline, state->mark_since, err)) {
        return false;
    }
    if (!list_files(server, deadline, &scratch, state->marks, err)) {
        return false;
    }
    for (size_t i = 0; i < PG_LOG_COUNT; i++) {
        if (!measure(server, deadline, &scratch, &state->marks[i], err)) {
            return err_while(err, "marking the server's log");
        }
    }
    return true;
}

/* A file that had no mark is new since. */
static int64_t marked_size(const struct pg_state *state, const char *path)
{
    for (size_t i = 0; i < PG_LOG_COUNT; i++) {
        if (strcmp(state->marks[i].path, path) == 0) {
            return state->marks[i].size_bytes;
        }
    }
    return 0;
}

static bool add_tail(const struct server *server, const char *path, size_t limit_bytes,
                     int64_t deadline, struct arena *arena, struct text *text, struct err *err)
{
    static const char script[] = "tail -c \"+$2\" -- \"$1\" | tail -c \"$3\"";
    char from[32];
    char limit[32];
    snprintf(from, sizeof from, "%lld", (long long)marked_size(pg_state_of(server), path) + 1);
    snprintf(limit, sizeof limit, "%zu", limit_bytes);
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", path, from, limit, NULL};
    const struct host_command command = {
        .argv = argv, .deadline = deadline, .output_limit_bytes = limit_bytes + 1};
    struct host_result result;
    if (!host_run(server->host, &command, arena, &result, err)) {
        return false;
    }
    text_add_bytes(text, result.output, result.output_size);
    return true;
}

bool pg_log_tail(struct server *server, int64_t deadline, size_t limit_bytes, struct arena *arena,
                 const char **out, struct err *err)
{
    const struct pg_state *state = pg_state_of(server);
    struct pg_log_mark files[PG_LOG_COUNT];
    struct text text;
    const char *journal = "";
    text_open(&text, arena);
    if (is_in_journal(state) && state->mark_since[0] != '\0' &&
        !unit_journal(server->host, state->unit, state->mark_since, limit_bytes, deadline, arena,
                      &journal, err)) {
        return false;
    }
    text_add(&text, journal);
    if (!list_files(server, deadline, arena, files, err)) {
        return false;
    }
    for (size_t i = 0; i < PG_LOG_COUNT; i++) {
        if (files[i].path[0] != '\0' &&
            !add_tail(server, files[i].path, limit_bytes, deadline, arena, &text, err)) {
            return err_while(err, "reading the server's log");
        }
    }
    const char *all = text_done(&text);
    if (all == NULL) {
        return err_memory(err);
    }
    *out = text.size > limit_bytes ? all + (text.size - limit_bytes) : all;
    return true;
}

/* ---- why a start failed ---- */

/* Behind "FATAL:  ", or NULL where the line has another severity. */
static const char *said_as(const char *line, size_t size, const char *severity)
{
    size_t length = strlen(severity);
    for (size_t i = 0; i + length < size; i++) {
        if (memcmp(line + i, severity, length) == 0) {
            size_t skip = i + length;
            while (skip < size && line[skip] == ' ') {
                skip++;
            }
            return line + skip;
        }
    }
    return NULL;
}

static void append_line(char *out, size_t size, const char *from, const char *end)
{
    size_t used = strlen(out);
    size_t length = (size_t)(end - from);
    if (used + length + 3 > size) {
        return;
    }
    snprintf(out + used, size - used, "%s%.*s", used > 0 ? "; " : "", (int)length, from);
}

/* Adds every line of one of these severities; the last of them ends the list. */
static void gather(const char *log, const char *const *severities, char *out, size_t size)
{
    for (const char *line = log; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        for (size_t i = 0; severities[i] != NULL; i++) {
            const char *said = said_as(line, length, severities[i]);
            if (said != NULL) {
                append_line(out, size, said, line + length);
                break;
            }
        }
        line += length + (line[length] == '\n');
    }
}

static const char *last_lines(const char *text, size_t limit)
{
    size_t size = strlen(text);
    return size > limit ? text + (size - limit) : text;
}

bool pg_start_error(const char *log, const char *output, struct err *err)
{
    static const char *const fatal[] = {"FATAL:", "PANIC:", NULL};
    /* The reason for "configuration file contains errors" is only logged. */
    static const char *const reasons[] = {"LOG:", "ERROR:", "FATAL:", "PANIC:", NULL};
    static const char *const advice[] = {"HINT:", NULL};
    char text[TEXT_BYTES] = "";
    char hint[HINT_BYTES] = "";
    gather(log, fatal, text, sizeof text);
    if (strstr(text, "contains errors") != NULL) {
        text[0] = '\0';
        gather(log, reasons, text, sizeof text);
    }
    gather(log, advice, hint, sizeof hint);
    if (text[0] == '\0') {
        const char *end = log[0] != '\0' ? log : output;
        append_line(text, sizeof text, last_lines(end, TEXT_BYTES - 8), end + strlen(end));
    }
    for (char *at = strpbrk(text, "\n\t"); at != NULL; at = strpbrk(at, "\n\t")) {
        *at = ' ';
    }
    err_set(err, ERR_CODE_start_failed, "%s", text);
    return hint[0] != '\0' ? err_hint(err, "%s", hint) : false;
}
