/*
 * Looking at a running server without changing anything: what it is, where its files are, how it
 * can be stopped and started, and what it makes of the knobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/connection.h"
#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

/* Text of a query, in the server's arena; NULL in *out where it is null. */
static bool ask(struct server *server, struct session *session, const char *sql, int64_t deadline,
                const char **out, struct err *err)
{
    return session_value(session, sql, deadline, server->arena, out, err);
}

/* "10.11.19-MariaDB-0+deb12u1", "8.4.3", "5.7.44-log"; old MariaDB says "5.5.5-10.3.39-MariaDB" to
 * clients, but not here. */
static bool take_version(struct server *server, struct session *session, int64_t deadline,
                         struct err *err)
{
    const char *version = NULL;
    struct my_state *state = my_state_of(server);
    if (!ask(server, session, "select @@version", deadline, &version, err)) {
        return false;
    }
    if (version == NULL || version[0] < '0' || version[0] > '9') {
        return err_set(err, ERR_CODE_probe, "the server does not tell its version");
    }
    state->is_mariadb = strstr(version, "MariaDB") != NULL;
    server->facts.product = state->is_mariadb ? "MariaDB" : "MySQL";
    server->facts.version = arena_strndup(server->arena, version, strspn(version, "0123456789."));
    if (server->facts.version == NULL) {
        return err_memory(err);
    }
    option_groups_of(server->facts.product, server->facts.version, NULL, &state->groups);
    long major = strtol(version, NULL, 10);
    if (major < (state->is_mariadb ? 10 : 5)) {
        return err_set(err, ERR_CODE_unsupported, "%s %s is too old", server->facts.product,
                       server->facts.version);
    }
    return true;
}

static bool take_directory(struct server *server, struct session *session, int64_t deadline,
                           struct err *err)
{
    const char *directory = NULL;
    if (!ask(server, session, "select @@datadir", deadline, &directory, err)) {
        return false;
    }
    if (directory == NULL || directory[0] != '/') {
        server->facts.data_directory = server->spec->data_directory;
        return true;
    }
    size_t size = strlen(directory);
    while (size > 1 && directory[size - 1] == '/') {
        size--;
    }
    server->facts.data_directory = arena_strndup(server->arena, directory, size);
    return server->facts.data_directory != NULL || err_memory(err);
}

/* Folders of data that may lie anywhere. A server that does not have one of them has none there. */
static bool take_outside(struct server *server, struct session *session, int64_t deadline,
                         struct err *err)
{
    static const char *const names[] = {"innodb_data_home_dir", "innodb_log_group_home_dir",
                                        "innodb_undo_directory", "aria_log_dir_path",
                                        "log_bin_basename"};
    const char *data = server->facts.data_directory;
    my_state_of(server)->data_outside = NULL;
    for (size_t i = 0; i < COUNT_OF(names) && data != NULL; i++) {
        char sql[64];
        const char *path = NULL;
        snprintf(sql, sizeof sql, "select @@global.%s", names[i]);
        if (!ask(server, session, sql, deadline, &path, err)) {
            if (session->driver->classify(session, err) != SESSION_WRONG) {
                return false;
            }
            err_clear(err);
        }
        size_t size = strlen(data);
        bool is_inside =
            path == NULL || path[0] != '/' ||
            (text_starts_with(path, data) && (path[size] == '/' || path[size] == '\0'));
        if (!is_inside) {
            my_state_of(server)->data_outside = path;
        }
    }
    return true;
}

/* By sight, or by what the server says of itself. */
static bool find_process(struct server *server, struct session *session, int64_t deadline,
                         struct my_process *out, struct err *err)
{
    if (!my_process_find(server, deadline, out, err)) {
        return false;
    }
    return out->pid != 0 ||
           (my_process_ask(server, session, deadline, err) &&
            (my_state_of(server)->pid_hint == 0 || my_process_find(server, deadline, out, err)));
}

static bool examine(struct server *server, struct session *session, int64_t deadline,
                    struct err *err)
{
    struct my_process process = {0};
    my_state_of(server)->is_probed = true;
    return find_process(server, session, deadline, &process, err) &&
           (process.pid == 0 || my_process_examine(server, &process, deadline, err)) &&
           unit_refuse(server, process.pid, my_state_of(server)->unit, deadline, err);
}

/* The sweep file may name the file by another path than the server does; its own is kept, because
 * readings are compared with the real file. */
static bool take_config(struct server *server, int64_t deadline, struct err *err)
{
    const char *asked = server->spec->config;
    const char *real = NULL;
    const char *const argv[] = {"readlink", "-e", "--", asked, NULL};
    my_state_of(server)->path_count = 0;
    server->facts.config_path = asked;
    if (asked != NULL) {
        if (!host_ask(server->host, argv, deadline, server->arena, &real, err)) {
            return false;
        }
        if (real == NULL) {
            err_set(err, ERR_CODE_not_found, "target.config: %s does not exist", asked);
            return err_hint(err, "leave config out: the server's last option file is found");
        }
        return true;
    }
    if (!my_find_config(server, deadline, &server->facts.config_path, err)) {
        return false;
    }
    if (server->facts.config_path != NULL) {
        return true;
    }
    err_set(err, ERR_CODE_probe, "no option file of the server was found");
    return err_hint(err, "name it: target = { config = \"/etc/mysql/my.cnf\"; }");
}

/* The server writes it with or without its folder. */
static bool take_log(struct server *server, struct session *session, int64_t deadline,
                     struct err *err)
{
    const char *file = NULL;
    const char *data = server->facts.data_directory;
    if (!ask(server, session, "select @@log_error", deadline, &file, err)) {
        return false;
    }
    server->facts.log_path = server->spec->log;
    if (server->spec->log != NULL || file == NULL || file[0] == '\0' ||
        strcmp(file, "stderr") == 0) {
        return true;
    }
    file += text_starts_with(file, "./") ? 2 : 0;
    server->facts.log_path = file[0] == '/' ? file
                             : data != NULL ? arena_printf(server->arena, "%s/%s", data, file)
                                            : NULL;
    return server->facts.log_path != NULL || data == NULL || err_memory(err);
}

static bool describe_start(struct server *server, struct err *err)
{
    const struct target_spec *spec = server->spec;
    const struct my_state *state = my_state_of(server);
    const char *text = NULL;
    if (spec->start != NULL) {
        text = spec->stop != NULL ? "argv" : "SHUTDOWN, argv";
    } else if (spec->restart != NULL) {
        text = "restart argv";
    } else if (state->unit != NULL) {
        text = arena_printf(server->arena, "systemctl, unit %s", state->unit);
    } else {
        err_set(err, ERR_CODE_unsupported,
                "the server is no unit of systemd: how it is started is not known");
        return err_hint(err, "give target.stop and target.start");
    }
    server->facts.start_method = text;
    return text != NULL || err_memory(err);
}

/* ---- identity ---- */

/* Without sight of the process: a start is the same as long as the clock says so within its
 * rounding and connections are numbered on. */
static bool is_same_start(const struct my_state *state, int64_t started_s, int64_t connection_id)
{
    int64_t apart_s = started_s - state->started_s;
    return state->identity[0] != '\0' && apart_s >= -1 && apart_s <= 1 &&
           connection_id > state->connection_id;
}

bool my_started(const struct server *server, struct session *session, int64_t deadline,
                struct arena *arena, const char **out, struct err *err)
{
    bool is_mariadb = my_state_of(server)->is_mariadb;
    const char *sql = arena_printf(arena,
                                   "select concat(cast(unix_timestamp() - variable_value as"
                                   " signed), ' ', connection_id()) from %s.global_status"
                                   " where variable_name = 'Uptime'",
                                   is_mariadb ? "information_schema" : "performance_schema");
    return sql != NULL ? session_value(session, sql, deadline, arena, out, err) : err_memory(err);
}

static bool identify_by_time(struct server *server, struct session *session, int64_t deadline,
                             struct err *err)
{
    enum { TEXT_BYTES = 16384 };
    CLEANUP(arena_close) struct arena scratch;
    struct my_state *state = my_state_of(server);
    const char *text = NULL;
    char *rest = NULL;
    arena_open(&scratch, TEXT_BYTES);
    if (!my_started(server, session, deadline, &scratch, &text, err)) {
        return false;
    }
    int64_t started_s = text != NULL ? strtoll(text, &rest, 10) : 0;
    if (started_s <= 0 || *rest != ' ') {
        return err_set(err, ERR_CODE_probe, "the server does not tell when it started");
    }
    int64_t connection_id = strtoll(rest, NULL, 10);
    if (!is_same_start(state, started_s, connection_id)) {
        state->started_s = started_s;
        state->start_count++;
        snprintf(state->identity, sizeof state->identity, "0@%lld.%u", (long long)started_s,
                 state->start_count);
    }
    state->connection_id = connection_id;
    return true;
}

bool my_identify(struct server *server, struct session *session, int64_t deadline, struct err *err)
{
    struct my_state *state = my_state_of(server);
    struct my_process process = {0};
    server->facts.identity = state->identity;
    /* No answer of the host is not the answer that the process cannot be seen. */
    if (!find_process(server, session, deadline, &process, err)) {
        return false;
    }
    if (process.pid != 0) {
        snprintf(state->identity, sizeof state->identity, "%ld@%llu", process.pid,
                 process.start_ticks);
        return true;
    }
    return identify_by_time(server, session, deadline, err);
}

/* Nothing is touched yet, and waiting would not mend it: then it is what was asked for. */
static bool open_session(const struct server *server, int64_t deadline, struct session **out,
                         struct err *err)
{
    if (my_control_open(server, deadline, out, err)) {
        return true;
    }
    if (my_error_is_final(err)) {
        err->code = ERR_CODE_unsupported;
        err->class = ERR_PLAN;
    }
    return false;
}

bool my_probe(struct server *server, const struct knob *const *knobs, size_t knob_count,
              int64_t deadline, struct arena *arena, const struct knob **out_knobs,
              struct reading *out, struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    return open_session(server, deadline, &session, err) &&
           take_version(server, session, deadline, err) &&
           take_directory(server, session, deadline, err) &&
           examine(server, session, deadline, err) &&
           take_outside(server, session, deadline, err) && take_config(server, deadline, err) &&
           take_log(server, session, deadline, err) && describe_start(server, err) &&
           my_identify(server, session, deadline, err) &&
           my_settings_read(server, session, knobs, knob_count, deadline, arena, out_knobs, out,
                            err);
}
