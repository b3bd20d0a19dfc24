/*
 * Looking at a running server without changing anything: what it is, where its files are, how it
 * can be stopped and started, and what it makes of the knobs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/postgresql/connection.h"
#include "backends/postgresql/server.h"
#include "sweeper/base/text.h"

/* Text of a query, in the server's arena; NULL in *out where it is null. */
static bool ask(struct server *server, struct session *session, const char *sql, int64_t deadline,
                const char **out, struct err *err)
{
    return session_value(session, sql, deadline, server->arena, out, err);
}

/* current_setting fails where pg_settings just hides the row. */
static bool ask_setting(struct server *server, struct session *session, const char *name,
                        int64_t deadline, const char **out, struct err *err)
{
    char sql[160];
    snprintf(sql, sizeof sql, "select setting from pg_catalog.pg_settings where name = '%s'", name);
    return ask(server, session, sql, deadline, out, err);
}

static bool take_version(struct server *server, struct session *session, int64_t deadline,
                         struct err *err)
{
    enum { OLDEST = 12 };
    const char *version = NULL;
    if (!ask_setting(server, session, "server_version", deadline, &version, err)) {
        return false;
    }
    if (version == NULL) {
        return err_set(err, ERR_CODE_probe, "the server does not tell its version");
    }
    /* Packagers add words: "15.18 (Debian 15.18-0+deb12u1)". */
    server->facts.product = "PostgreSQL";
    server->facts.version = arena_strndup(server->arena, version, strcspn(version, " "));
    if (server->facts.version == NULL) {
        return err_memory(err);
    }
    if (strtol(version, NULL, 10) < OLDEST) {
        return err_set(err, ERR_CODE_unsupported, "PostgreSQL %s is older than %d", version,
                       OLDEST);
    }
    return true;
}

/* The server knows best; what it hides, the sweep file must say. */
static bool take_paths(struct server *server, struct session *session, int64_t deadline,
                       struct err *err)
{
    const char *config = NULL;
    const char *data = NULL;
    if (!ask_setting(server, session, "config_file", deadline, &config, err) ||
        !ask_setting(server, session, "data_directory", deadline, &data, err)) {
        return false;
    }
    server->facts.data_directory = data != NULL ? data : server->spec->data_directory;
    bool by_sql = server->spec->apply != NULL && strcmp(server->spec->apply, "sql") == 0;
    if (!by_sql || server->facts.data_directory == NULL) {
        return pg_config_take(server, session, config, deadline, err);
    }
    server->facts.config_path =
        arena_printf(server->arena, "%s/postgresql.auto.conf", server->facts.data_directory);
    return server->facts.config_path != NULL || err_memory(err);
}

/* ---- the log ---- */

static bool take_collector(struct server *server, struct session *session, int64_t deadline,
                           const char **out, struct err *err)
{
    const char *file = NULL;
    *out = NULL;
    if (!ask(server, session, "select pg_current_logfile()", deadline, &file, err)) {
        bool is_hidden = strcmp(err->native_text, "SQLSTATE 42501") == 0;
        err_clear(err);
        return is_hidden;
    }
    if (file == NULL || file[0] == '/') {
        *out = file;
        return true;
    }
    const char *data = server->facts.data_directory;
    *out = data != NULL ? arena_printf(server->arena, "%s/%s", data, file) : NULL;
    return *out != NULL || data == NULL || err_memory(err);
}

/* A file that the server's standard error goes to, as pg_ctl -l made it; else NULL. */
static bool find_start_log(struct server *server, const struct pg_process *process,
                           int64_t deadline, struct err *err)
{
    char path[64];
    const char *target = NULL;
    const char *const argv[] = {"readlink", path, NULL};
    snprintf(path, sizeof path, "/proc/%ld/fd/2", process->pid);
    if (!host_ask(server->host, argv, deadline, server->arena, &target, err)) {
        return false;
    }
    bool is_file = target != NULL && target[0] == '/' && !text_starts_with(target, "/dev/") &&
                   !text_ends_with(target, " (deleted)");
    pg_state_of(server)->start_log = is_file ? target : NULL;
    return true;
}

static bool take_log(struct server *server, struct session *session, int64_t deadline,
                     struct err *err)
{
    const char *collector = NULL;
    if (!take_collector(server, session, deadline, &collector, err)) {
        return false;
    }
    const char *start_log = pg_state_of(server)->start_log;
    server->facts.log_path = server->spec->log != NULL ? server->spec->log
                             : collector != NULL       ? collector
                                                       : start_log;
    return true;
}

/* ---- the process ---- */

static bool describe_start(struct server *server, struct err *err)
{
    const struct target_spec *spec = server->spec;
    const struct pg_state *state = pg_state_of(server);
    const char *text = "pg_ctl";
    if (spec->stop != NULL && spec->start != NULL) {
        text = "argv";
    } else if (spec->restart != NULL) {
        text = "restart argv";
    } else if (state->unit != NULL) {
        text = arena_printf(server->arena, "systemctl, unit %s", state->unit);
    } else if (state->owner != NULL) {
        text = arena_printf(server->arena, "pg_ctl as %s", state->owner);
    }
    server->facts.start_method = text;
    return text != NULL || err_memory(err);
}

static bool has_commands(const struct target_spec *spec)
{
    return (spec->stop != NULL && spec->start != NULL) || spec->restart != NULL;
}

/* What is only known of a running process. Where the host does not let us look, commands of the
 * sweep file make up for it. */
static bool examine(struct server *server, int64_t deadline, struct err *err)
{
    struct pg_process process = {0};
    struct pg_state *state = pg_state_of(server);
    state->is_located = false; /* somebody may have started it anew */
    state->is_probed = true;
    state->unit = NULL;
    if (server->facts.data_directory == NULL && has_commands(server->spec)) {
        return unit_refuse(server, 0, NULL, deadline, err);
    }
    bool examined =
        pg_process_find(server, deadline, &process, err) &&
        (process.pid == 0 ||
         (find_start_log(server, &process, deadline, err) &&
          unit_find(server->host, process.pid, deadline, server->arena, &state->unit, err))) &&
        (has_commands(server->spec) || state->unit != NULL || pg_locate(server, deadline, err));
    if (!examined && !has_commands(server->spec)) {
        return false;
    }
    err_clear(err);
    return unit_refuse(server, process.pid, state->unit, deadline, err);
}

/* The start time tells two processes apart; the pid is for people, and is not asked again while
 * the start time stays. */
static bool is_same_start(const char *identity, const char *started)
{
    const char *at = strchr(identity, '@');
    return at != NULL && strcmp(at + 1, started) == 0;
}

bool pg_identify(struct server *server, struct session *session, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct pg_state *state = pg_state_of(server);
    struct pg_process process = {0};
    struct err ignored;
    const char *started = NULL;
    arena_open(&scratch, PG_SCRATCH_BYTES);
    err_clear(&ignored);
    if (!session_value(session,
                       "select to_char(pg_postmaster_start_time() at time zone 'UTC',"
                       " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
                       deadline, &scratch, &started, err)) {
        return false;
    }
    if (started == NULL) {
        return err_set(err, ERR_CODE_probe, "the server does not tell when it started");
    }
    server->facts.identity = state->identity;
    if (is_same_start(state->identity, started)) {
        return true;
    }
    if (pg_data_directory(server) == NULL ||
        !pg_process_find(server, deadline, &process, &ignored)) {
        process.pid = 0;
    }
    snprintf(state->identity, sizeof state->identity, "%ld@%s", process.pid, started);
    return true;
}

/* Nothing is touched yet, and waiting would not mend it: then it is what was asked for. */
static bool open_session(const struct server *server, int64_t deadline, struct session **out,
                         struct err *err)
{
    if (pg_control_open(server, deadline, out, err)) {
        return true;
    }
    if (err->code == ERR_CODE_connection && connection_is_final(err)) {
        err->code = ERR_CODE_unsupported;
        err->class = ERR_PLAN;
    }
    return false;
}

bool pg_probe(struct server *server, const struct knob *const *knobs, size_t knob_count,
              int64_t deadline, struct arena *arena, const struct knob **out_knobs,
              struct reading *out, struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    return open_session(server, deadline, &session, err) &&
           take_version(server, session, deadline, err) &&
           take_paths(server, session, deadline, err) && examine(server, deadline, err) &&
           take_log(server, session, deadline, err) && describe_start(server, err) &&
           pg_identify(server, session, deadline, err) &&
           pg_settings_read(server, session, knobs, knob_count, deadline, arena, out_knobs, out,
                            err);
}
