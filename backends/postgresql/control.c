/*
 * Stopping and starting: by the sweep file's own commands; else through systemd where the server
 * is a unit's main process; else by pg_ctl as the data directory's owner, with the words the
 * server was started with before, so that it comes back as it was. Asking for the end is not the
 * end: stop waits until the process is gone.
 */
#include <stdio.h>
#include <string.h>

#include "backends/postgresql/connection.h"
#include "backends/postgresql/postgresql.h"
#include "backends/postgresql/server.h"
#include "backends/stop.h"
#include "sweeper/base/text.h"

enum { CONNECT_MS = 3000, WORDS_BYTES = 16384, SECONDS_WITHOUT_DEADLINE = 86400 };

struct seconds {
    char text[16];
};

/* As pg_ctl's -t takes it. */
static struct seconds seconds_left(int64_t deadline)
{
    struct seconds seconds;
    int left_ms = clock_left_ms(deadline);
    int whole = left_ms < 0 ? SECONDS_WITHOUT_DEADLINE : left_ms / 1000;
    snprintf(seconds.text, sizeof seconds.text, "%d", whole > 0 ? whole : 1);
    return seconds;
}

static size_t count_words(const char *const *argv)
{
    size_t count = 0;
    while (argv[count] != NULL) {
        count++;
    }
    return count;
}

/* ---- stop ---- */

static bool run_stop(struct server *server, int64_t deadline, struct arena *scratch,
                     struct host_result *out, struct err *err)
{
    struct pg_state *state = pg_state_of(server);
    if (server->spec->stop != NULL) {
        const struct host_command command = {
            .argv = server->spec->stop, .deadline = deadline, .daemon = true, .until_stop = true};
        return host_run(server->host, &command, scratch, out, err);
    }
    if (state->unit != NULL) {
        return unit_stop(server->host, state->unit, deadline, scratch, out, err);
    }
    if (!pg_locate(server, deadline, err)) {
        return false;
    }
    struct seconds wait = seconds_left(deadline);
    const char *program = arena_printf(scratch, "%s/pg_ctl", state->bin);
    if (program == NULL) {
        return err_memory(err);
    }
    /* fast: smart waits for any idle session. */
    const char *const words[] = {program, "stop", "-D",     pg_data_directory(server), "-m", "fast",
                                 "-w",    "-t",   wait.text};
    return pg_run_as_owner(server, words, COUNT_OF(words), false, deadline, scratch, out, err);
}

/* Whether something still answers, where the process cannot be looked at. */
static bool answers(const struct server *server)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    struct err err;
    err_clear(&err);
    bool opened = pg_control_open(server, clock_deadline_ms(CONNECT_MS), &session, &err);
    /* A refusal with an SQLSTATE is an answer too. */
    return opened || err.native_text[0] != '\0' || err.code == ERR_CODE_timeout;
}

static bool is_gone(const struct stop_watch *watch, int64_t deadline, bool *out, struct err *err)
{
    bool lives = false;
    if (watch->pid == 0) {
        lives = answers(watch->server);
    } else if (!pg_process_lives(watch->server, watch->context, deadline, &lives, err)) {
        return false;
    }
    *out = !lives;
    return true;
}

static bool stop_process(struct server *server, const struct pg_process *process, int64_t deadline,
                         struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result result = {0};
    const struct stop_watch watch = {
        .server = server, .pid = process->pid, .look = is_gone, .context = process};
    arena_open(&scratch, PG_SCRATCH_BYTES);
    return run_stop(server, deadline, &scratch, &result, err) &&
           stop_await(&watch, &result, deadline, err);
}

/* A restore after a crash comes without a probe. */
static bool learn_unit(struct server *server, const struct pg_process *process, int64_t deadline,
                       struct err *err)
{
    struct pg_state *state = pg_state_of(server);
    if (state->is_probed || process->pid == 0) {
        return true;
    }
    state->is_probed =
        unit_find(server->host, process->pid, deadline, server->arena, &state->unit, err);
    return state->is_probed;
}

/* Whether it runs, and as which process. Where the host does not let us look but the sweep file
 * has a command of its own, whoever answers at the address is taken for it. */
static bool find_running(struct server *server, int64_t deadline, struct pg_process *out,
                         bool *out_runs, struct err *err)
{
    struct err unseen;
    err_clear(&unseen);
    if (pg_data_directory(server) != NULL && pg_process_find(server, deadline, out, &unseen)) {
        *out_runs = out->pid != 0;
        return true;
    }
    if (pg_data_directory(server) != NULL && server->spec->stop == NULL) {
        *err = unseen;
        return false;
    }
    *out = (struct pg_process){0};
    *out_runs = answers(server);
    return true;
}

bool pg_stop(struct server *server, int64_t deadline, struct err *err)
{
    struct pg_process process = {0};
    bool runs = false;
    if (stop_is_restart(server)) {
        return true; /* start restarts; the configuration is in place by then */
    }
    if (!pg_snapshot_mend(server, deadline, err) ||
        !find_running(server, deadline, &process, &runs, err) ||
        !learn_unit(server, &process, deadline, err)) {
        return false;
    }
    bool stopped = (!runs && !unit_stops(server, pg_state_of(server)->unit)) ||
                   stop_process(server, &process, deadline, err);
    if (stopped) {
        server->facts.identity = "";
    }
    return stopped;
}

/* ---- start ---- */

/* The words behind -o are read by a shell. */
static const char *quoted_options(const struct pg_state *state, struct arena *arena)
{
    const char *words[PG_WORD_LIMIT + 3] = {0};
    size_t count = 0;
    for (size_t i = 0; state->options[i] != NULL; i++) {
        words[count++] = state->options[i];
    }
    if (state->config_directory != NULL) {
        words[count++] = "-D";
        words[count++] = state->config_directory;
    }
    return host_quote(arena, words);
}

/* Where its standard error went before, if the owner may write there, else where he surely may. */
static bool choose_start_log(struct server *server, int64_t deadline, struct arena *scratch,
                             struct err *err)
{
    struct pg_state *state = pg_state_of(server);
    const char *known = state->start_log != NULL ? state->start_log : server->facts.log_path;
    const char *const words[] = {"test", "-w", known};
    struct host_result result = {.exit_status = 1};
    if (known != NULL &&
        !pg_run_as_owner(server, words, COUNT_OF(words), false, deadline, scratch, &result, err)) {
        return false;
    }
    state->start_log = result.exit_status == 0 ? known
                                               : arena_printf(server->arena, "%s/dbsweep-start.log",
                                                              pg_data_directory(server));
    return state->start_log != NULL || err_memory(err);
}

static bool start_by_pg_ctl(struct server *server, int64_t deadline, struct arena *scratch,
                            struct host_result *out, struct err *err)
{
    struct pg_state *state = pg_state_of(server);
    if (!pg_locate(server, deadline, err) || !choose_start_log(server, deadline, scratch, err)) {
        return false;
    }
    const char *options = quoted_options(state, scratch);
    const char *program = arena_printf(scratch, "%s/pg_ctl", state->bin);
    if (options == NULL || program == NULL) {
        return err_memory(err);
    }
    struct seconds wait = seconds_left(deadline);
    const char *const words[] = {
        program,   "start", "-D",   pg_data_directory(server), "-l", state->start_log, "-w", "-t",
        wait.text, "-o",    options};
    return pg_run_as_owner(server, words, COUNT_OF(words), true, deadline, scratch, out, err);
}

static bool run_start(struct server *server, int64_t deadline, struct arena *scratch,
                      struct host_result *out, struct err *err)
{
    const struct pg_state *state = pg_state_of(server);
    const char *const *argv = stop_is_restart(server) ? server->spec->restart : server->spec->start;
    if (!pg_snapshot_mend(server, deadline, err)) {
        return false;
    }
    if (argv != NULL) {
        return unit_run(server->host, argv, deadline, scratch, out, err);
    }
    if (!state->is_probed &&
        !(pg_locate(server, deadline, err) && pg_unit_guess(server, deadline, err))) {
        return false;
    }
    return state->unit != NULL ? unit_start(server->host, state->unit, deadline, scratch, out, err)
                               : start_by_pg_ctl(server, deadline, scratch, out, err);
}

static bool fail_start(struct server *server, const struct host_result *result,
                       struct arena *scratch, struct err *err)
{
    const char *log = "";
    struct err ignored;
    err_clear(&ignored);
    /* The log may be unreadable; then the command's own words must do. */
    if (!pg_log_tail(server, clock_deadline_ms(CONNECT_MS), WORDS_BYTES, scratch, &log, &ignored)) {
        log = "";
    }
    pg_start_error(log, result->error_size > 0 ? result->error_text : result->output, err);
    return err_native(err, result->timed_out ? 0 : result->exit_status, "exit");
}

bool pg_start(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result result = {0};
    arena_open(&scratch, PG_SCRATCH_BYTES);
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

static bool not_yet(struct pg_state *state, const char **out_why, struct err *err)
{
    snprintf(state->why, sizeof state->why, "%s", err->text);
    *out_why = state->why;
    if (connection_is_final(err)) {
        return false;
    }
    err_clear(err);
    return true;
}

/* Another server may answer at that address: the data directory must be ours. It is hidden from
 * users without pg_read_all_settings, and then taken on trust. */
static const char ready_statement[] =
    "select case when pg_is_in_recovery() then 'it is in recovery' else"
    " coalesce((select 'the server that answers has the data directory ' || setting"
    "           from pg_catalog.pg_settings where name = 'data_directory' and setting <> %s),"
    " 'ready') end";

static const char *quote_literal(const char *text, struct arena *arena)
{
    struct text quoted;
    text_open(&quoted, arena);
    text_add(&quoted, "'");
    for (const char *at = text; *at != '\0'; at++) {
        text_add(&quoted, *at == '\'' ? "'" : "");
        text_add_char(&quoted, *at);
    }
    text_add(&quoted, "'");
    return text_done(&quoted);
}

static bool ask_ready(const struct server *server, struct session *session, int64_t deadline,
                      struct arena *arena, const char **out, struct err *err)
{
    const char *directory = pg_data_directory(server);
    const char *literal = directory != NULL ? quote_literal(directory, arena) : "setting";
    if (literal == NULL) {
        return err_memory(err);
    }
    const char *sql = arena_printf(arena, ready_statement, literal);
    return sql != NULL ? session_value(session, sql, deadline, arena, out, err) : err_memory(err);
}

bool pg_ready(struct server *server, int64_t deadline, bool *out_ready, const char **out_why,
              struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    CLEANUP(arena_close) struct arena scratch;
    struct pg_state *state = pg_state_of(server);
    const char *answer = NULL;
    arena_open(&scratch, PG_SCRATCH_BYTES);
    int64_t soon = clock_deadline_ms(CONNECT_MS);
    if (soon > deadline) {
        soon = deadline;
    }
    *out_ready = false;
    *out_why = "";
    if (!pg_control_open(server, soon, &session, err) ||
        !ask_ready(server, session, soon, &scratch, &answer, err)) {
        return not_yet(state, out_why, err);
    }
    if (answer == NULL || strcmp(answer, "ready") != 0) {
        snprintf(state->why, sizeof state->why, "%s", answer != NULL ? answer : "no answer");
        *out_why = state->why;
        return true;
    }
    *out_ready = pg_identify(server, session, soon, err);
    return *out_ready || not_yet(state, out_why, err);
}

/* ---- checks and reload ---- */

bool pg_precheck(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    const struct pg_state *state = pg_state_of(server);
    struct host_result result = {0};
    const char *words[PG_WORD_LIMIT] = {0};
    arena_open(&scratch, PG_SCRATCH_BYTES);
    if (!pg_locate(server, deadline, err)) {
        return false;
    }
    words[0] = arena_printf(&scratch, "%s/postgres", state->bin);
    if (words[0] == NULL) {
        return err_memory(err);
    }
    size_t count = 1;
    words[count++] = "-D";
    words[count++] =
        state->config_directory != NULL ? state->config_directory : pg_data_directory(server);
    size_t option_count = count_words(state->options);
    for (size_t i = 0; i < option_count; i++) {
        words[count++] = state->options[i];
    }
    words[count++] = "-C";
    words[count++] = "shared_buffers";
    if (!pg_run_as_owner(server, words, count, false, deadline, &scratch, &result, err)) {
        return false;
    }
    if (result.exit_status == 0) {
        return true;
    }
    pg_start_error(result.error_text, result.output, err);
    err->code = ERR_CODE_not_applied;
    return err_while(err, "checking the configuration with postgres -C");
}

/* All of the files at once. */
bool pg_reload(struct server *server, const struct setting *settings UNUSED,
               const struct value *baseline UNUSED, size_t setting_count UNUSED, int64_t deadline,
               struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    return (pg_control_open(server, deadline, &session, err) &&
            session_execute(session, "select pg_reload_conf()", NULL, NULL, deadline, err)) ||
           err_while(err, "reloading the configuration");
}
