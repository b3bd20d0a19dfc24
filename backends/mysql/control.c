/*
 * Stopping and starting: by the sweep file's own commands; else through systemd where the server
 * is a unit's main process. A server without either can still be stopped, by the SHUTDOWN
 * statement. Asking for the end is not the end: stop waits until the process is gone.
 */
#include <stdio.h>
#include <string.h>

#include "backends/mysql/connection.h"
#include "backends/mysql/mysql.h"
#include "backends/mysql/server.h"
#include "backends/stop.h"
#include "sweeper/base/text.h"

enum { CONNECT_MS = 3000, WORDS_BYTES = 16384 };

/* ---- stop ---- */

/* The server may cut the connection before it answers. */
static bool shut_down(const struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    if (!my_control_open(server, deadline, &session, err)) {
        return false;
    }
    if (session_execute(session, "shutdown", NULL, NULL, deadline, err) ||
        mysql_session.classify(session, err) == SESSION_LOST) {
        err_clear(err);
        return true;
    }
    err->code = ERR_CODE_stop_failed;
    return err_hint(err, "give target.stop, or grant SHUTDOWN to the load user");
}

static bool run_stop(struct server *server, int64_t deadline, struct arena *scratch,
                     struct host_result *out, struct err *err)
{
    const char *unit = my_state_of(server)->unit;
    const struct host_command command = {
        .argv = server->spec->stop, .deadline = deadline, .daemon = true, .until_stop = true};
    if (server->spec->stop != NULL) {
        return host_run(server->host, &command, scratch, out, err);
    }
    return unit != NULL ? unit_stop(server->host, unit, deadline, scratch, out, err)
                        : shut_down(server, deadline, err);
}

/* Whether something still answers, where the process cannot be looked at. */
static bool answers(const struct server *server)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    struct err err;
    err_clear(&err);
    bool opened = my_control_open(server, clock_deadline_ms(CONNECT_MS), &session, &err);
    /* A refusal by the server itself is an answer too. */
    bool is_refusal = err.native >= 1000 && err.native < 2000;
    return opened || is_refusal || err.code == ERR_CODE_timeout;
}

static bool is_gone(const struct stop_watch *watch, int64_t deadline, bool *out, struct err *err)
{
    bool lives = false;
    if (watch->pid == 0) {
        lives = answers(watch->server);
    } else if (!my_process_lives(watch->server, watch->context, deadline, &lives, err)) {
        return false;
    }
    *out = !lives;
    return true;
}

static bool stop_process(struct server *server, const struct my_process *process, int64_t deadline,
                         struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result result = {0};
    const struct stop_watch watch = {
        .server = server, .pid = process->pid, .look = is_gone, .context = process};
    arena_open(&scratch, MY_SCRATCH_BYTES);
    return run_stop(server, deadline, &scratch, &result, err) &&
           stop_await(&watch, &result, deadline, err);
}

/* A restore after a crash comes without a probe: what the process tells must be learnt before it
 * is gone. */
static bool learn(struct server *server, const struct my_process *process, int64_t deadline,
                  struct err *err)
{
    struct my_state *state = my_state_of(server);
    if (state->is_probed || process->pid == 0) {
        return true;
    }
    state->is_probed = my_process_examine(server, process, deadline, err);
    return state->is_probed;
}

bool my_stop(struct server *server, int64_t deadline, struct err *err)
{
    struct my_process process = {0};
    if (stop_is_restart(server)) {
        return true; /* start restarts; the configuration is in place by then */
    }
    if (!my_snapshot_mend(server, deadline, err) ||
        !my_process_find(server, deadline, &process, err) ||
        !learn(server, &process, deadline, err)) {
        return false;
    }
    /* Also where no process serves the directory: the server may see it by another path. */
    bool runs = process.pid != 0 || answers(server);
    bool stopped = (!runs && !unit_stops(server, my_state_of(server)->unit)) ||
                   stop_process(server, &process, deadline, err);
    if (stopped) {
        server->facts.identity = "";
    }
    return stopped;
}

/* ---- start ---- */

static bool run_start(struct server *server, int64_t deadline, struct arena *scratch,
                      struct host_result *out, struct err *err)
{
    const struct my_state *state = my_state_of(server);
    const char *const *argv = stop_is_restart(server) ? server->spec->restart : server->spec->start;
    if (!my_snapshot_mend(server, deadline, err)) {
        return false;
    }
    if (argv != NULL) {
        return unit_run(server->host, argv, deadline, scratch, out, err);
    }
    if (!state->is_probed && state->unit == NULL && !my_unit_guess(server, deadline, err)) {
        return false;
    }
    if (state->unit != NULL) {
        return unit_start(server->host, state->unit, deadline, scratch, out, err);
    }
    err_set(err, ERR_CODE_unsupported, "how the server is started is not known");
    return err_hint(err, "give target.stop and target.start");
}

static bool fail_start(struct server *server, const struct host_result *result,
                       struct arena *scratch, struct err *err)
{
    const char *log = "";
    struct err ignored;
    err_clear(&ignored);
    /* The log may be unreadable; then the command's own words must do. */
    if (!my_log_tail(server, clock_deadline_ms(CONNECT_MS), WORDS_BYTES, scratch, &log, &ignored)) {
        log = "";
    }
    my_start_error(log, result->error_size > 0 ? result->error_text : result->output, err);
    return err_native(err, result->timed_out ? 0 : result->exit_status, "exit");
}

bool my_start(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result result = {0};
    arena_open(&scratch, MY_SCRATCH_BYTES);
    if (!run_start(server, deadline, &scratch, &result, err)) {
        return false;
    }
    if (result.timed_out) {
        err_set(err, ERR_CODE_start_failed, "the start command did not end in time");
        return err_hint(err, "give target.ready_timeout more time if it was recovering");
    }
    return result.exit_status == 0 || fail_start(server, &result, &scratch, err);
}

/* ---- ready ---- */

static bool not_yet(struct my_state *state, const char **out_why, struct err *err)
{
    snprintf(state->why, sizeof state->why, "%s", err->text);
    *out_why = state->why;
    if (my_error_is_final(err) || err->class == ERR_TARGET) {
        return false; /* a host that does not answer says nothing about the server */
    }
    err_clear(err);
    return true;
}

/* The data directory may be a symbolic link, but it is always spelt the same by one server. */
static bool is_other_directory(const struct server *server, const char *directory)
{
    const char *ours = server->facts.data_directory;
    size_t size = strlen(directory);
    while (size > 1 && directory[size - 1] == '/') {
        size--;
    }
    return ours != NULL && (strlen(ours) != size || memcmp(ours, directory, size) != 0);
}

/* Another server may answer at that address: the data directory must be ours. */
static bool judge_answer(const struct server *server, struct session *session, int64_t deadline,
                         struct arena *arena, const char **out_why, struct err *err)
{
    const char *directory = NULL;
    const char *is_read_only = NULL;
    *out_why = NULL;
    if (!session_value(session, "select @@datadir", deadline, arena, &directory, err) ||
        !session_value(session, "select @@global.read_only", deadline, arena, &is_read_only, err)) {
        return false;
    }
    if (directory != NULL && is_other_directory(server, directory)) {
        *out_why =
            arena_printf(arena, "the server that answers has the data directory %s", directory);
    } else if (is_read_only != NULL && strcmp(is_read_only, "0") != 0) {
        *out_why = "it is read-only";
    }
    return true;
}

bool my_ready(struct server *server, int64_t deadline, bool *out_ready, const char **out_why,
              struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    CLEANUP(arena_close) struct arena scratch;
    struct my_state *state = my_state_of(server);
    const char *why = NULL;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    int64_t soon = clock_deadline_ms(CONNECT_MS);
    soon = soon > deadline ? deadline : soon;
    *out_ready = false;
    *out_why = "";
    if (!my_control_open(server, soon, &session, err) ||
        !judge_answer(server, session, soon, &scratch, &why, err)) {
        return not_yet(state, out_why, err);
    }
    if (why != NULL) {
        snprintf(state->why, sizeof state->why, "%s", why);
        *out_why = state->why;
        return true;
    }
    *out_ready = my_identify(server, session, soon, err);
    return *out_ready || not_yet(state, out_why, err);
}
