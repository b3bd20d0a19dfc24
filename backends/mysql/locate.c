/*
 * The server on its host: which process it is, how it was started, and whose unit it is. A server
 * changes into its data directory at the start and stays there, so that its working directory
 * tells whose data it serves; pid files may lie anywhere and be stale. Who may not look there asks
 * the server for the thread that answers. Scripts are constant; what varies is passed as arguments.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

const char *my_data_directory(const struct server *server)
{
    return server->facts.data_directory != NULL ? server->facts.data_directory
                                                : server->spec->data_directory;
}

/* ---- the process ---- */

/* Of /proc/PID/stat, behind the name in brackets: the state is field 3, the start field 22. A
 * zombie is gone but for whoever has to wait for it. */
#define LOOK_AT                                                                                    \
    "look() {\n"                                                                                   \
    "  stat=$(cat \"/proc/$1/stat\" 2>/dev/null) || return 1\n"                                    \
    "  pid=$1\n"                                                                                   \
    "  set -- ${stat##*) }\n"                                                                      \
    "  case ${1:-Z} in Z | X) return 1 ;; esac\n"                                                  \
    "  echo \"$pid ${20}\"\n"                                                                      \
    "}\n"

static const char find_script[] =
    LOOK_AT "data=$(readlink -f -- \"$1\") || data=\n"
            "hint=$2\n"
            "is_server() {\n"
            "  { read -r name <\"/proc/$1/comm\"; } 2>/dev/null || return 1\n"
            "  case $name in mariadbd* | mysqld*) return 0 ;; esac\n"
            "  return 1\n"
            "}\n"
            "for process in /proc/[0-9]*; do\n"
            "  is_server \"${process#/proc/}\" || continue\n"
            "  [ \"$(readlink -- \"$process/cwd\" 2>/dev/null)\" = \"$data\" ] || continue\n"
            "  look \"${process#/proc/}\" && exit 0\n"
            "done\n"
            "if is_server \"$hint\" && ! readlink -- \"/proc/$hint/cwd\" >/dev/null 2>&1; then\n"
            "  look \"$hint\" && exit 0\n"
            "fi\n"
            "echo none\n";

static const char look_script[] = LOOK_AT "look \"$1\" || echo none\n";

static void parse_process(const char *said, struct my_process *out)
{
    char *end = NULL;
    long pid = strtol(said, &end, 10);
    *out = (struct my_process){0};
    if (pid > 0 && end != NULL && *end == ' ') {
        *out = (struct my_process){.pid = pid, .start_ticks = strtoull(end, NULL, 10)};
    }
}

bool my_process_find(const struct server *server, int64_t deadline, struct my_process *out,
                     struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    const char *said = NULL;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    *out = (struct my_process){0};
    if (my_data_directory(server) == NULL) {
        return true;
    }
    char hint[32];
    snprintf(hint, sizeof hint, "%ld", my_state_of(server)->pid_hint);
    const char *const argv[] = {"/bin/sh", "-c", find_script, "dbsweep", my_data_directory(server),
                                hint,      NULL};
    if (!host_ask(server->host, argv, deadline, &scratch, &said, err)) {
        return false;
    }
    parse_process(said != NULL ? said : "", out);
    return true;
}

bool my_process_lives(const struct server *server, const struct my_process *process,
                      int64_t deadline, bool *out, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct my_process now;
    char pid[32];
    const char *said = NULL;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    snprintf(pid, sizeof pid, "%ld", process->pid);
    const char *const argv[] = {"/bin/sh", "-c", look_script, "dbsweep", pid, NULL};
    if (!host_ask(server->host, argv, deadline, &scratch, &said, err)) {
        return false;
    }
    parse_process(said != NULL ? said : "", &now);
    *out = now.pid == process->pid && now.start_ticks == process->start_ticks;
    return true;
}

/* A thread's number leads to its process: /proc/TID is there, although it is not listed. */
static const char *const thread_statements[] = {
    "select tid from information_schema.processlist where id = connection_id()",
    "select thread_os_id from performance_schema.threads where processlist_id = connection_id()"};

bool my_process_ask(struct server *server, struct session *session, int64_t deadline,
                    struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct my_state *state = my_state_of(server);
    const char *thread = NULL;
    const char *pid = NULL;
    static const char script[] = "sed -n 's/^Tgid:[[:space:]]*//p' \"/proc/$1/status\"";
    arena_open(&scratch, MY_SCRATCH_BYTES);
    state->pid_hint = 0;
    const char *sql = thread_statements[state->is_mariadb ? 0 : 1];
    if (!session_value(session, sql, deadline, &scratch, &thread, err)) {
        if (session->driver->classify(session, err) != SESSION_WRONG) {
            return false;
        }
        err_clear(err); /* the server does not tell */
        return true;
    }
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", thread, NULL};
    if (thread == NULL || !host_ask(server->host, argv, deadline, &scratch, &pid, err)) {
        return thread == NULL;
    }
    state->pid_hint = pid != NULL ? strtol(pid, NULL, 10) : 0;
    return true;
}

/* ---- how it was started ---- */

/* The bytes of /proc/PID/NAME; empty where this user may not read them. */
static bool read_process_file(const struct server *server, long pid, const char *name,
                              int64_t deadline, struct arena *arena, struct bytes *out,
                              struct err *err)
{
    char path[64];
    struct host_result result;
    const char *const argv[] = {"cat", "--", path, NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
    if (!host_run(server->host, &command, arena, &result, err)) {
        return false;
    }
    if (result.timed_out) {
        return err_set(err, ERR_CODE_timeout, "%s could not be read in time", path);
    }
    *out = (struct bytes){.data = result.output,
                          .size = result.exit_status == 0 ? result.output_size : 0};
    return true;
}

/* The next of NUL-ended words; NULL behind the last. */
static const char *next_word(struct bytes *rest)
{
    const char *word = rest->data;
    const char *end = memchr(rest->data, '\0', rest->size);
    if (rest->size == 0 || end == NULL) {
        return NULL;
    }
    size_t used = (size_t)(end - word) + 1;
    *rest = (struct bytes){.data = rest->data + used, .size = rest->size - used};
    return word;
}

/* Of "--defaults-file=X": a copy of X; NULL where the word is another. */
static const char *value_of(const char *word, const char *name, struct arena *arena)
{
    size_t size = strlen(name);
    bool is_it = strncmp(word, name, size) == 0 && word[size] == '=';
    return is_it ? arena_strdup(arena, word + size + 1) : NULL;
}

static void take(const char **slot, const char *value)
{
    *slot = value != NULL ? value : *slot;
}

/* The options about option files come first, before all others. */
static void read_words(struct server *server, struct bytes words)
{
    struct my_state *state = my_state_of(server);
    state->group_suffix = NULL;
    state->defaults_file = NULL;
    state->defaults_extra_file = NULL;
    state->has_no_defaults = false;
    state->has_words = words.size > 0;
    for (const char *word = next_word(&words); word != NULL; word = next_word(&words)) {
        take(&state->defaults_file, value_of(word, "--defaults-file", server->arena));
        take(&state->defaults_extra_file, value_of(word, "--defaults-extra-file", server->arena));
        take(&state->group_suffix, value_of(word, "--defaults-group-suffix", server->arena));
        state->has_no_defaults = state->has_no_defaults || strcmp(word, "--no-defaults") == 0;
    }
}

static void read_environment(struct server *server, struct bytes words)
{
    struct my_state *state = my_state_of(server);
    const char *suffix = NULL;
    for (const char *word = next_word(&words); word != NULL; word = next_word(&words)) {
        take(&state->home, value_of(word, "HOME", server->arena));
        take(&state->mysql_home, value_of(word, "MYSQL_HOME", server->arena));
        take(&suffix, value_of(word, "MYSQL_GROUP_SUFFIX", server->arena));
    }
    if (state->group_suffix == NULL) { /* its command line goes first */
        state->group_suffix = suffix;
    }
}

/* A file that its standard error goes to, else NULL. */
static bool find_start_log(struct server *server, long pid, int64_t deadline, struct err *err)
{
    char path[64];
    const char *target = NULL;
    const char *const argv[] = {"readlink", path, NULL};
    snprintf(path, sizeof path, "/proc/%ld/fd/2", pid);
    if (!host_ask(server->host, argv, deadline, server->arena, &target, err)) {
        return false;
    }
    bool is_file = target != NULL && target[0] == '/' && !text_starts_with(target, "/dev/") &&
                   !text_ends_with(target, " (deleted)");
    my_state_of(server)->start_log = is_file ? target : NULL;
    return true;
}

bool my_process_examine(struct server *server, const struct my_process *process, int64_t deadline,
                        struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct bytes words = {0};
    struct bytes environment = {0};
    arena_open(&scratch, MY_SCRATCH_BYTES);
    if (!read_process_file(server, process->pid, "cmdline", deadline, &scratch, &words, err) ||
        !read_process_file(server, process->pid, "environ", deadline, &scratch, &environment,
                           err)) {
        return false;
    }
    read_words(server, words);
    read_environment(server, environment);
    option_groups_of(server->facts.product, server->facts.version,
                     my_state_of(server)->group_suffix, &my_state_of(server)->groups);
    return find_start_log(server, process->pid, deadline, err) &&
           unit_find(server->host, process->pid, deadline, server->arena,
                     &my_state_of(server)->unit, err);
}

bool my_unit_guess(struct server *server, int64_t deadline, struct err *err)
{
    static const char *const units[] = {"mariadb.service", "mysql.service", "mysqld.service"};
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        bool is_loaded = false;
        if (!unit_is_loaded(server->host, units[i], deadline, &is_loaded, err)) {
            return false;
        }
        if (is_loaded) {
            my_state_of(server)->unit = units[i];
            return true;
        }
    }
    return true;
}
