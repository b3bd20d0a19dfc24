/*
 * The server on its host: which process it is, whose it is, and how it was started. All of it is
 * read from files of the data directory that stay while the server is down, so that a restore
 * after a crash knows as much as the sweep did: postmaster.pid and postmaster.opts (manual 15,
 * 73.1 Database File Layout; what pg_ctl itself restarts from).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/postgresql/server.h"
#include "sweeper/base/text.h"

/* A command's words and the most that stands before them. */
enum { WORDS_BEFORE = 8 };

/* From "/", because the folder where dbsweep was called may be closed to the owner, and PostgreSQL
 * programs before 16 fail where they cannot return to it. */
bool pg_run_as_owner(const struct server *server, const char *const *words, size_t word_count,
                     bool daemon, int64_t deadline, struct arena *arena, struct host_result *out,
                     struct err *err)
{
    const struct pg_state *state = pg_state_of(server);
    const char *argv[WORDS_BEFORE + PG_WORD_LIMIT + 1] = {"/bin/sh", "-c", "cd / && exec \"$@\"",
                                                          "dbsweep"};
    size_t count = 4;
    if (state->owner != NULL) {
        argv[count++] = "runuser";
        argv[count++] = "-u";
        argv[count++] = state->owner;
        argv[count++] = "--";
    }
    assert(word_count <= PG_WORD_LIMIT);
    for (size_t i = 0; i < word_count; i++) {
        argv[count++] = words[i];
    }
    argv[count] = NULL;
    const struct host_command command = {
        .argv = argv, .deadline = deadline, .daemon = daemon, .until_stop = true};
    return host_run(server->host, &command, arena, out, err);
}

const char *pg_data_directory(const struct server *server)
{
    return server->facts.data_directory != NULL ? server->facts.data_directory
                                                : server->spec->data_directory;
}

static bool need_data_directory(const struct server *server, struct err *err)
{
    if (pg_data_directory(server) != NULL) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "the server's data directory is not known");
    return err_hint(err, "name it: target = { data_directory = \"/path\"; }, or grant "
                         "pg_read_all_settings to the load user");
}

/* A file of the data directory; NULL in *out where it does not exist. */
static bool read_file(const struct server *server, const char *name, int64_t deadline,
                      struct arena *arena, const char **out, struct err *err)
{
    struct bytes bytes = {0};
    struct host_file file;
    *out = NULL;
    const char *path = arena_printf(arena, "%s/%s", pg_data_directory(server), name);
    if (path == NULL) {
        return err_memory(err);
    }
    if (!host_get(server->host, path, deadline, arena, &bytes, &file, err)) {
        if (err->code != ERR_CODE_not_found) {
            return err_hint(err, "dbsweep must be the data directory's owner or root there: "
                                 "host = { sudo = true; }");
        }
        err_clear(err);
        return true;
    }
    *out = arena_strndup(arena, bytes.data, bytes.size);
    return *out != NULL || err_memory(err);
}

/* ---- the process ---- */

/* Of /proc/PID/stat: name, state and start time (proc(5), fields 2, 3 and 22). False: no such
 * process, or a zombie, which is gone but for whoever has to wait for it. */
static bool parse_stat(const char *stat, unsigned long long *out_ticks, bool *out_is_postgres)
{
    enum { FIELD_STATE = 3, FIELD_START = 22 };
    const char *name = strchr(stat, '(');
    const char *at = strrchr(stat, ')'); /* the name itself may hold blanks and brackets */
    if (name == NULL || at == NULL || at[1] != ' ') {
        return false;
    }
    at += 2;
    char state = at[0];
    for (int field = FIELD_STATE; field < FIELD_START; field++) {
        at = strchr(at, ' ');
        if (at == NULL) {
            return false;
        }
        at++;
    }
    *out_ticks = strtoull(at, NULL, 10);
    *out_is_postgres = text_starts_with(name, "(postgres") || text_starts_with(name, "(postmaster");
    return state != 'Z' && state != 'X';
}

static bool look_at(const struct server *server, long pid, int64_t deadline, struct pg_process *out,
                    struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    const char *stat = NULL;
    char path[64];
    bool is_postgres = false;
    arena_open(&scratch, PG_SCRATCH_BYTES);
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    const char *const argv[] = {"cat", path, NULL};
    *out = (struct pg_process){0};
    if (!host_ask(server->host, argv, deadline, &scratch, &stat, err)) {
        return false;
    }
    if (stat != NULL && parse_stat(stat, &out->start_ticks, &is_postgres) && is_postgres) {
        out->pid = pid;
    }
    return true;
}

bool pg_process_find(const struct server *server, int64_t deadline, struct pg_process *out,
                     struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    const char *text = NULL;
    arena_open(&scratch, PG_SCRATCH_BYTES);
    *out = (struct pg_process){0};
    if (!need_data_directory(server, err) ||
        !read_file(server, "postmaster.pid", deadline, &scratch, &text, err)) {
        return false;
    }
    long pid = text != NULL ? strtol(text, NULL, 10) : 0;
    return pid <= 0 || look_at(server, pid, deadline, out, err);
}

bool pg_process_lives(const struct server *server, const struct pg_process *process,
                      int64_t deadline, bool *out, struct err *err)
{
    struct pg_process now;
    if (!look_at(server, process->pid, deadline, &now, err)) {
        return false;
    }
    *out = now.pid == process->pid && now.start_ticks == process->start_ticks;
    return true;
}

/* ---- owner and start ---- */

static bool find_owner(struct server *server, int64_t deadline, struct arena *scratch,
                       struct err *err)
{
    const char *owner_argv[] = {"stat", "-L", "-c", "%U", "--", pg_data_directory(server), NULL};
    static const char *const user_argv[] = {"id", "-u", NULL};
    const char *owner = NULL;
    const char *user = NULL;
    if (!host_ask(server->host, owner_argv, deadline, scratch, &owner, err) ||
        !host_ask(server->host, user_argv, deadline, scratch, &user, err)) {
        return false;
    }
    if (owner == NULL || user == NULL) {
        return err_set(err, ERR_CODE_not_found, "the data directory %s cannot be examined",
                       pg_data_directory(server));
    }
    if (strcmp(user, "0") != 0 || strcmp(owner, "root") == 0) {
        return true; /* only root can become somebody else */
    }
    pg_state_of(server)->owner = arena_strdup(server->arena, owner);
    return pg_state_of(server)->owner != NULL || err_memory(err);
}

/* postmaster.opts is one line: PROGRAM "WORD" "WORD" ... without any escapes. */
static const char *next_word(const char **at, struct arena *arena)
{
    const char *start = strstr(*at, " \"");
    if (start == NULL) {
        return NULL;
    }
    start += 2;
    const char *end = strstr(start, "\" \"");
    if (end == NULL) {
        end = strrchr(start, '"');
    }
    if (end == NULL) {
        return NULL;
    }
    *at = end + 1;
    return arena_strndup(arena, start, (size_t)(end - start));
}

/* -D goes its own way: pg_ctl gives one again, and a server started so for a hundred trials would
 * end with a hundred of them. */
static bool parse_options(struct server *server, const char *line, struct err *err)
{
    struct pg_state *state = pg_state_of(server);
    const char **words = ARENA_ARRAY(server->arena, const char *, PG_WORD_LIMIT + 1);
    size_t count = 0;
    if (words == NULL) {
        return err_memory(err);
    }
    const char *directory = NULL;
    for (const char *word = next_word(&line, server->arena); word != NULL;
         word = next_word(&line, server->arena)) {
        if (strcmp(word, "-D") == 0) {
            directory = next_word(&line, server->arena);
        } else if (text_starts_with(word, "-D")) {
            directory = word + 2;
        } else if (count + WORDS_BEFORE < PG_WORD_LIMIT) {
            words[count++] = word;
        } else {
            return err_set(err, ERR_CODE_unsupported, "the server was started with too many words");
        }
    }
    state->options = words;
    state->config_directory = NULL;
    if (directory != NULL && strcmp(directory, pg_data_directory(server)) != 0) {
        state->config_directory = directory;
    }
    return true;
}

static bool find_start(struct server *server, int64_t deadline, struct arena *scratch,
                       struct err *err)
{
    const char *line = NULL;
    if (!read_file(server, "postmaster.opts", deadline, scratch, &line, err)) {
        return false;
    }
    if (line == NULL || line[0] != '/') {
        err_set(err, ERR_CODE_unsupported,
                "how the server was started is not known: no usable "
                "postmaster.opts in %s",
                pg_data_directory(server));
        return err_hint(err, "give target.stop and target.start");
    }
    size_t program = strcspn(line, "\n");
    const char *words = strstr(line, " \"");
    if (words != NULL) {
        program = (size_t)(words - line);
    }
    while (program > 1 && line[program - 1] != '/') {
        program--;
    }
    pg_state_of(server)->bin = arena_strndup(server->arena, line, program - 1);
    return pg_state_of(server)->bin != NULL ? parse_options(server, line, err) : err_memory(err);
}

bool pg_locate(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct pg_state *state = pg_state_of(server);
    arena_open(&scratch, PG_SCRATCH_BYTES);
    if (state->is_located) {
        return true;
    }
    state->is_located = need_data_directory(server, err) &&
                        find_owner(server, deadline, &scratch, err) &&
                        find_start(server, deadline, &scratch, err);
    return state->is_located;
}

/* ---- systemd ---- */

/* Debian's clusters: config_file=/etc/postgresql/15/main/postgresql.conf belongs to the unit
 * postgresql@15-main, and pg_ctlcluster starts it through systemd too. */
bool pg_unit_guess(struct server *server, int64_t deadline, struct err *err)
{
    struct pg_state *state = pg_state_of(server);
    char version[16];
    char name[64];
    bool is_loaded = false;
    for (size_t i = 0; state->options[i] != NULL; i++) {
        if (sscanf(state->options[i],
                   "config_file=/etc/postgresql/%15[0-9.]/%63[^/]/postgresql.conf", version,
                   name) != 2) {
            continue;
        }
        const char *unit = arena_printf(server->arena, "postgresql@%s-%s.service", version, name);
        if (unit == NULL) {
            return err_memory(err);
        }
        if (!unit_is_loaded(server->host, unit, deadline, &is_loaded, err)) {
            return false;
        }
        state->unit = is_loaded ? unit : NULL;
    }
    return true;
}
