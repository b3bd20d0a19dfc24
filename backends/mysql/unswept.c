/*
 * What no axis names, but a restart may change all the same: every variable that an option file can
 * set, and what became of it since the start. MariaDB alone tells its defaults in a form that the
 * running value can be compared with; of MySQL only the swept variables are known here.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/mysql/mysql.h"
#include "backends/mysql/server.h"
#include "knobs/catalogue.h"
#include "sweeper/base/text.h"

enum { UNSWEPT_LIMIT = 2000 };

/* The positions of replication outlive a restart. Statements of init_file are run at each start. */
static const char statement[] =
    "select lower(variable_name), global_value_origin = 'SQL' and not"
    " global_value <=> default_value and variable_name not like 'gtid%'"
    " and coalesce(@@global.init_file, '') = ''"
    " from information_schema.system_variables where global_value is not null"
    " and command_line_argument is not null";

struct names {
    const struct setting *swept;
    size_t swept_count;
    struct my_unswept *out;
    struct arena *arena;
    bool failed;
};

static const struct knob *knob_for(const char *name, struct arena *arena)
{
    size_t count = 0;
    const struct knob *rows = catalogue_knobs("mysql", &count);
    const struct knob *known = knob_find(rows, count, name);
    struct knob *made = known == NULL ? ARENA_NEW(arena, struct knob) : NULL;
    if (made != NULL) {
        *made = knob_unlisted(name, KNOB_TEXT, UNIT_NONE, "", "the server");
    }
    return known != NULL ? known : made;
}

static bool is_swept(const struct names *names, struct bytes name)
{
    for (size_t i = 0; i < names->swept_count; i++) {
        if (bytes_are_nocase(name, names->swept[i].knob->name)) {
            return true;
        }
    }
    return false;
}

static bool take_name(void *context, const struct row *row)
{
    struct names *names = context;
    struct my_unswept *out = names->out;
    struct bytes name = row->columns[0];
    if (is_swept(names, name) || out->count == UNSWEPT_LIMIT) {
        return true;
    }
    const char *text = arena_strndup(names->arena, name.data, name.size);
    const struct knob *knob = text != NULL ? knob_for(text, names->arena) : NULL;
    if (knob == NULL) {
        names->failed = true;
        return false;
    }
    out->items[out->count++] =
        (struct my_unswept_item){.knob = knob, .is_set_since = bytes_are(row->columns[1], "1")};
    return true;
}

/* Their types and values, as of those that are swept. */
static bool read_values(struct server *server, struct session *session, struct my_unswept *out,
                        size_t from, int64_t deadline, struct arena *arena, struct err *err)
{
    size_t count = out->count - from;
    const struct knob **knobs = ARENA_ARRAY(arena, const struct knob *, count + 1);
    const struct knob **completed = ARENA_ARRAY(arena, const struct knob *, count + 1);
    struct reading *readings = ARENA_ARRAY(arena, struct reading, count + 1);
    if (knobs == NULL || completed == NULL || readings == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        knobs[i] = out->items[from + i].knob;
    }
    if (!my_settings_read(server, session, knobs, count, deadline, arena, completed, readings,
                          err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        out->items[from + i].knob = completed[i];
        out->items[from + i].reading = readings[i];
    }
    return true;
}

bool my_unswept_read(struct server *server, struct session *session, const struct setting *settings,
                     const struct reading *readings, size_t count, int64_t deadline,
                     struct arena *arena, struct my_unswept *out, struct err *err)
{
    struct names names = {.swept = settings, .swept_count = count, .out = out, .arena = arena};
    out->items = ARENA_ARRAY(arena, struct my_unswept_item, count + UNSWEPT_LIMIT);
    if (out->items == NULL) {
        return err_memory(err);
    }
    if (my_state_of(server)->is_mariadb) {
        if (!session_execute(session, statement, take_name, &names, deadline, err)) {
            return err_while(err, "reading the names of the server's variables");
        }
        if (names.failed) {
            return err_memory(err);
        }
        if (!read_values(server, session, out, 0, deadline, arena, err)) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        out->items[out->count++] = (struct my_unswept_item){
            .knob = settings[i].knob, .reading = readings[i], .is_swept = true};
    }
    return true;
}

/* ---- the server's own opinion ---- */

/* $1: the process, $2 to $4 what of its environment says which files it reads. The program and the
 * words that the server was started with, so that it reads the same files; it prints its options
 * and ends, before it would open any data. */
static const char rehearse_script[] =
    "exe=$(readlink -- \"/proc/$1/exe\") || exit 0\n"
    "exe=${exe% (deleted)}\n"
    "[ -x \"$exe\" ] || exit 0\n"
    "unset HOME MYSQL_HOME MYSQL_GROUP_SUFFIX\n"
    "if [ -n \"$2\" ]; then HOME=$2; export HOME; fi\n"
    "if [ -n \"$3\" ]; then MYSQL_HOME=$3; export MYSQL_HOME; fi\n"
    "if [ -n \"$4\" ]; then MYSQL_GROUP_SUFFIX=$4; export MYSQL_GROUP_SUFFIX; fi\n"
    "xargs -0 sh -c 'exe=$1; shift 2; exec \"$exe\" \"$@\" --verbose --help' dbsweep \"$exe\""
    " <\"/proc/$1/cmdline\" 2>&1 >/dev/null\n";

/* A bad choice of InnoDB's costs it an engine, but not its exit status. */
static bool is_refusal(const struct host_result *result)
{
    return result->exit_status != 0 ||
           strstr(result->output, "[ERROR] Parsing options for plugin") != NULL;
}

bool my_start_rehearse(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    const struct my_state *state = my_state_of(server);
    struct my_process process = {0};
    struct host_result result;
    char pid[32];
    arena_open(&scratch, MY_SCRATCH_BYTES);
    if (!state->is_mariadb || !state->has_words) {
        return true;
    }
    if (!my_process_find(server, deadline, &process, err) || process.pid == 0) {
        return process.pid == 0 && err->code == ERR_CODE_none;
    }
    snprintf(pid, sizeof pid, "%ld", process.pid);
    const char *const argv[] = {"/bin/sh",
                                "-c",
                                rehearse_script,
                                "dbsweep",
                                pid,
                                state->home != NULL ? state->home : "",
                                state->mysql_home != NULL ? state->mysql_home : "",
                                state->group_suffix != NULL ? state->group_suffix : "",
                                NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline, .until_stop = true};
    if (!host_run(server->host, &command, &scratch, &result, err)) {
        return false;
    }
    if (result.timed_out || result.signal_number != 0) {
        return err_set(err, ERR_CODE_timeout,
                       "the server's program did not read its option files "
                       "in time");
    }
    if (!is_refusal(&result)) {
        return true;
    }
    my_start_error(result.output, result.output, err);
    err->code = ERR_CODE_foreign_edit;
    err->class = ERR_PLAN;
    err_while(err, "asking whether the server would start with its option files as they are");
    return err_hint(err, "the files were edited since the start, and the next one would fail: mend "
                         "them");
}
