/*
 * What the server wrote since a mark: into its error log where that is a file, else to its
 * standard error, which a file or the journal of its unit may hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

enum { TEXT_BYTES = 560 };

static const char *log_file(const struct server *server)
{
    return server->facts.log_path != NULL ? server->facts.log_path : my_state_of(server)->start_log;
}

bool my_log_mark(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct my_state *state = my_state_of(server);
    const char *path = log_file(server);
    const char *size = NULL;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    state->mark.since[0] = '\0';
    state->mark.size_bytes = 0;
    snprintf(state->mark.path, sizeof state->mark.path, "%s", path != NULL ? path : "");
    if (path == NULL) {
        return state->unit == NULL || unit_time(server->host, deadline, state->mark.since, err);
    }
    const char *const argv[] = {"stat", "-L", "-c", "%s", "--", path, NULL};
    if (!host_ask(server->host, argv, deadline, &scratch, &size, err)) {
        return err_while(err, "marking the server's log");
    }
    state->mark.size_bytes = size != NULL ? strtoll(size, NULL, 10) : 0;
    return true;
}

static bool run_tail(const struct server *server, const char *const *argv, size_t limit_bytes,
                     int64_t deadline, struct arena *arena, const char **out, struct err *err)
{
    const struct host_command command = {
        .argv = argv, .deadline = deadline, .output_limit_bytes = limit_bytes + 1};
    struct host_result result;
    if (!host_run(server->host, &command, arena, &result, err)) {
        return err_while(err, "reading the server's log");
    }
    *out = result.output;
    return true;
}

bool my_log_tail(struct server *server, int64_t deadline, size_t limit_bytes, struct arena *arena,
                 const char **out, struct err *err)
{
    static const char script[] = "tail -c \"+$2\" -- \"$1\" | tail -c \"$3\"";
    const struct my_state *state = my_state_of(server);
    const char *path = log_file(server);
    char from[32];
    char limit[32];
    *out = "";
    snprintf(limit, sizeof limit, "%zu", limit_bytes);
    if (path == NULL) {
        return state->unit == NULL || state->mark.since[0] == '\0' ||
               unit_journal(server->host, state->unit, state->mark.since, limit_bytes, deadline,
                            arena, out, err);
    }
    bool is_marked = strcmp(path, state->mark.path) == 0;
    snprintf(from, sizeof from, "%lld", (long long)(is_marked ? state->mark.size_bytes : 0) + 1);
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", path, from, limit, NULL};
    return run_tail(server, argv, limit_bytes, deadline, arena, out, err);
}

/* ---- why a start failed ---- */

/* Behind "[ERROR] " and MySQL's "[MY-012345] [InnoDB] ", or NULL where the line is no error. */
static const char *said_as_error(const char *line, size_t size)
{
    static const char mark[] = "[ERROR] ";
    const char *at = memmem(line, size, mark, sizeof mark - 1);
    if (at == NULL) {
        return NULL;
    }
    at += sizeof mark - 1;
    for (const char *end = line + size; at < end && *at == '[';) {
        const char *close = memchr(at, ']', (size_t)(end - at));
        if (close == NULL || close + 1 >= end || close[1] != ' ') {
            break;
        }
        at = close + 2;
    }
    return at;
}

/* What follows from the first error and says nothing of its own. */
static bool is_consequence(const char *said, size_t size)
{
    static const char *const words[] = {"Aborting",
                                        "Failed to initialize plugins.",
                                        "Unknown/unsupported storage engine",
                                        "InnoDB: Plugin initialization aborted",
                                        "Plugin initialization aborted",
                                        "Plugin 'InnoDB'",
                                        "Data Dictionary initialization failed"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t length = strlen(words[i]);
        if (size >= length && memcmp(said, words[i], length) == 0) {
            return true;
        }
    }
    return false;
}

static void append_piece(char *out, size_t size, const char *from, size_t length)
{
    size_t used = strlen(out);
    if (used + length + 3 <= size) {
        snprintf(out + used, size - used, "%s%.*s", used > 0 ? "; " : "", (int)length, from);
    }
}

static void gather(const char *log, bool with_consequences, char *out, size_t size)
{
    for (const char *line = log; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *said = said_as_error(line, length);
        size_t said_size = said != NULL ? length - (size_t)(said - line) : 0;
        if (said != NULL && (with_consequences || !is_consequence(said, said_size))) {
            append_piece(out, size, said, said_size);
        }
        line += length + (line[length] == '\n');
    }
}

bool my_start_error(const char *log, const char *output, struct err *err)
{
    char text[TEXT_BYTES] = "";
    gather(log, false, text, sizeof text);
    if (text[0] == '\0') {
        gather(log, true, text, sizeof text);
    }
    if (text[0] == '\0') {
        const char *end = log[0] != '\0' ? log : output;
        host_last_words(end, strlen(end), text, sizeof text);
    }
    for (char *at = strpbrk(text, "\n\t"); at != NULL; at = strpbrk(at, "\n\t")) {
        *at = ' ';
    }
    return err_set(err, ERR_CODE_start_failed, "%s",
                   text[0] != '\0' ? text : "the server did not start and said nothing");
}
