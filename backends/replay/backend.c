/*
 * Replay as a target: a table of measured points is the server's truth, and a file of its own says
 * what it is set to, so that stop, apply, start, read-back and restore have something to do. It
 * measures by itself (measure.c), in no time.
 */
#include "backends/replay/replay.h"

#include <stdio.h>
#include <string.h>

#include "backends/replay/server.h"
#include "sweeper/base/text.h"

enum { SCRATCH_BYTES = 256 << 20 };

/* ---- open ---- */

static bool check_failures(const struct replay *replay, struct err *err)
{
    struct failure failure;
    for (size_t i = 0; i < replay->table.row_count; i++) {
        if (!replay_failure_parse(replay, replay->table.rows[i].failure, &failure, err)) {
            return false;
        }
    }
    return true;
}

static bool read_source(struct server *server, struct replay *replay, struct err *err)
{
    struct bytes text = server->spec->source_text;
    if (text.data == NULL && !host_get(server->host, server->spec->source, clock_deadline_ms(30000),
                                       server->arena, &text, NULL, err)) {
        return err_while(err, "reading the replayed source");
    }
    return table_read(replay->spec, replay->source, text, server->arena, &replay->table, err) &&
           check_failures(replay, err);
}

static bool replay_open(struct server *server, struct err *err)
{
    const struct target_spec *spec = server->spec;
    if (!server->host->is_local) {
        err_set(err, ERR_CODE_unsupported,
                "a replay works on files of this machine, and %s is "
                "another",
                server->host->label);
        return err_hint(err, "leave target.host out");
    }
    if (spec->source == NULL) {
        err_set(err, ERR_CODE_sweep_file, "a replay needs its source");
        return err_hint(err, "target = { source = \"points.csv\"; }; or a store of dbsweep");
    }
    struct replay *replay = ARENA_NEW(server->arena, struct replay);
    if (replay == NULL) {
        return err_memory(err);
    }
    const char *slash = strrchr(spec->source, '/');
    replay->spec = &spec->replay;
    replay->source = slash != NULL ? slash + 1 : spec->source;
    if (!read_source(server, replay, err)) {
        return false;
    }
    replay_prepare(replay);
    replay->state.table = &replay->table;
    replay->state.path = spec->data_directory != NULL
                             ? spec->data_directory
                             : arena_printf(server->arena, "%s.replay", spec->source);
    replay->state.settings =
        ARENA_ARRAY(server->arena, struct state_setting, replay->table.column_count);
    if (replay->state.path == NULL || replay->state.settings == NULL) {
        return err_memory(err);
    }
    server->state = replay;
    server->facts.data_directory = replay->state.path;
    return true;
}

static void replay_close(struct server *server)
{
    server->state = NULL;
}

/* ---- the state, read anew for each call and forgotten ---- */

struct visit {
    struct arena arena;
    struct replay *replay;
};

static void visit_close(struct visit *visit)
{
    arena_close(&visit->arena);
}

static bool visit_open(struct visit *visit, const struct server *server, struct err *err)
{
    arena_open(&visit->arena, SCRATCH_BYTES);
    visit->replay = replay_of(server);
    return state_read(&visit->replay->state, &visit->arena, err);
}

static bool set_identity(struct server *server, const struct replay *replay, struct err *err)
{
    server->facts.identity =
        replay->state.is_up
            ? arena_printf(server->arena, "start %lld", (long long)replay->state.start_count)
            : "";
    return server->facts.identity != NULL || err_memory(err);
}

/* ---- probe and read-back ---- */

static bool read_column(const struct replay *replay, size_t at, struct arena *arena,
                        struct reading *out, struct err *err)
{
    const struct state *state = &replay->state;
    const struct table_column *column = &replay->table.columns[at];
    const struct state_setting *setting = &state->settings[at];
    bool is_set = setting->running != SIZE_MAX;
    *out =
        (struct reading){.value = column->values[state_running(state, at)],
                         .source = !is_set                ? SOURCE_DEFAULT
                                   : setting->is_adjusted ? SOURCE_AUTO
                                                          : SOURCE_CONFIG,
                         .detail = is_set ? arena_strdup(arena, state->path) : "",
                         .pending_restart = !setting->is_adjusted &&
                                            state_configured(state, at) != state_running(state, at),
                         .known = true};
    return out->detail != NULL || err_memory(err);
}

static bool read_knob(const struct replay *replay, const struct knob *knob, struct arena *arena,
                      struct reading *out, struct err *err)
{
    size_t column = table_column_find(&replay->table, knob->name);
    if (column == SIZE_MAX) {
        *out = (struct reading){
            .value = {.kind = VALUE_UNSET, .asked = "unset"}, .detail = "", .known = false};
        return true;
    }
    return read_column(replay, column, arena, out, err);
}

/* A column that no axis names keeps the value as found, which is worth a word: it may be none. */
static bool describe_source(struct server *server, const struct replay *replay,
                            const struct knob *const *knobs, size_t knob_count, struct err *err)
{
    struct text text;
    size_t others = 0;
    text_open(&text, server->arena);
    text_addf(&text, "%zu points in %s", replay->table.row_count, replay->source);
    for (size_t i = 0; i < replay->table.column_count; i++) {
        const struct table_column *column = &replay->table.columns[i];
        bool is_asked = column->count < 2;
        for (size_t j = 0; j < knob_count && !is_asked; j++) {
            is_asked = text_equal_nocase(column->knob.name, knobs[j]->name);
        }
        if (!is_asked) {
            text_addf(&text, "%s%s", others++ == 0 ? " (no axis of knobs: " : ", ",
                      column->knob.name);
        }
    }
    text_add(&text, others > 0 ? ")" : "");
    server->facts.version = text_done(&text);
    return server->facts.version != NULL || err_memory(err);
}

static bool replay_probe(struct server *server, const struct knob *const *knobs, size_t knob_count,
                         int64_t deadline UNUSED, struct arena *arena,
                         const struct knob **out_knobs, struct reading *out, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    const struct replay *replay = visit.replay;
    for (size_t i = 0; i < knob_count; i++) {
        size_t column = table_column_find(&replay->table, knobs[i]->name);
        out_knobs[i] = column != SIZE_MAX ? &replay->table.columns[column].knob : knobs[i];
        if (!read_knob(replay, knobs[i], arena, &out[i], err)) {
            return false;
        }
    }
    server->facts.product = "replay of";
    server->facts.start_method = "a file of its own for state";
    return describe_source(server, replay, knobs, knob_count, err) &&
           set_identity(server, replay, err);
}

static bool replay_read_back(struct server *server, const struct setting *settings,
                             size_t setting_count, int64_t deadline UNUSED, struct arena *arena,
                             struct reading *out, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (!read_knob(visit.replay, settings[i].knob, arena, &out[i], err)) {
            return false;
        }
    }
    return true;
}

/* ---- stop, apply, start, ready ---- */

static bool replay_stop(struct server *server, int64_t deadline UNUSED, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    visit.replay->state.is_up = false;
    server->facts.identity = "";
    return state_write(&visit.replay->state, &visit.arena, err);
}

static bool configure(struct replay *replay, const struct setting *setting,
                      const struct value *baseline, struct err *err)
{
    const struct value *value = setting->value.kind == VALUE_BASELINE ? baseline : &setting->value;
    size_t column = table_column_find(&replay->table, setting->knob->name);
    if (column == SIZE_MAX) {
        err_set(err, ERR_CODE_knob_unknown, "%s has no column %s", replay->source,
                setting->knob->name);
        return err_origin(err, "%s", setting->knob->name);
    }
    size_t choice = table_choice_find(&replay->table.columns[column], value);
    if (choice == SIZE_MAX && value->kind != VALUE_UNSET && value->kind != VALUE_BASELINE) {
        return err_set(err, ERR_CODE_not_applied, "%s has no point with this value of %s",
                       replay->source, setting->knob->name);
    }
    /* What is as found leaves no line behind. */
    bool is_found = choice == replay->table.rows[replay->table.baseline].choices[column];
    replay->state.settings[column].configured = is_found ? SIZE_MAX : choice;
    return true;
}

static bool replay_apply(struct server *server, const struct setting *settings,
                         const struct value *baseline, size_t setting_count,
                         int64_t deadline UNUSED, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (!configure(visit.replay, &settings[i], &baseline[i], err)) {
            return false;
        }
    }
    return state_write(&visit.replay->state, &visit.arena, err);
}

/* The point that the server would run as configured; NULL: it was never measured. */
static const struct table_row *configured_row(const struct replay *replay, struct arena *arena)
{
    uint32_t *choices = ARENA_ARRAY(arena, uint32_t, replay->table.column_count);
    for (size_t i = 0; choices != NULL && i < replay->table.column_count; i++) {
        choices[i] = state_configured(&replay->state, i);
    }
    return choices != NULL ? table_row_find(&replay->table, choices) : NULL;
}

static void run_as_configured(struct state *state, const struct failure *failure)
{
    for (size_t i = 0; i < state->table->column_count; i++) {
        bool is_adjusted = failure->kind == FAILURE_ADJUST && failure->column == i;
        state->settings[i].running = is_adjusted ? failure->choice : state->settings[i].configured;
        state->settings[i].is_adjusted = is_adjusted;
    }
    state->start_count++;
    state->is_up = true;
    text_addf(state->log, "started for the %lld. time\n", (long long)state->start_count);
}

static bool replay_start(struct server *server, int64_t deadline UNUSED, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    struct state *state = &visit.replay->state;
    struct failure failure =
        replay_failure(visit.replay, configured_row(visit.replay, &visit.arena));
    bool is_refused = failure.kind == FAILURE_START;
    if (is_refused) {
        text_add(state->log, "fatal: these settings are refused, as the source says\n");
    } else {
        run_as_configured(state, &failure);
    }
    if (!state_write(state, &visit.arena, err)) {
        return false;
    }
    return !is_refused || err_set(err, ERR_CODE_start_failed, "the server refuses these settings");
}

static bool replay_ready(struct server *server, int64_t deadline UNUSED, bool *out_ready,
                         const char **out_why, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    struct replay *replay = visit.replay;
    struct failure failure = replay_failure(replay, configured_row(replay, &visit.arena));
    *out_ready = replay->state.is_up && failure.kind != FAILURE_READY;
    snprintf(replay->why, sizeof replay->why, "%s",
             !replay->state.is_up ? "it is down"
             : *out_ready         ? ""
                                  : "it never answers with these settings, as the source says");
    *out_why = replay->why;
    return set_identity(server, replay, err);
}

/* ---- its log ---- */

static bool replay_log_mark(struct server *server, int64_t deadline UNUSED, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    text_open(visit.replay->state.log, &visit.arena);
    return state_write(&visit.replay->state, &visit.arena, err);
}

static bool replay_log_tail(struct server *server, int64_t deadline UNUSED, size_t limit_bytes,
                            struct arena *arena, const char **out, struct err *err)
{
    CLEANUP(visit_close) struct visit visit = {.replay = NULL};
    if (!visit_open(&visit, server, err)) {
        return false;
    }
    const char *log = text_done(visit.replay->state.log);
    size_t size = log != NULL ? strlen(log) : 0;
    *out = log == NULL ? NULL
                       : arena_strdup(arena, log + (size > limit_bytes ? size - limit_bytes : 0));
    return *out != NULL || err_memory(err);
}

/* ---- what it knows ---- */

static bool replay_admits(struct server *server, const struct setting *settings,
                          size_t setting_count, bool *out, struct err *err UNUSED)
{
    struct arena scratch;
    size_t unknown = SIZE_MAX;
    arena_open(&scratch, 1u << 20);
    const struct table_row *row =
        replay_find(replay_of(server), settings, setting_count, false, &unknown, &scratch);
    arena_close(&scratch);
    *out = row != NULL;
    return true;
}

const struct backend replay_backend = {
    .name = "replay",
    .title = "a replay",
    .system = "replay",
    .open = replay_open,
    .close = replay_close,
    .probe = replay_probe,
    .stop = replay_stop,
    .start = replay_start,
    .ready = replay_ready,
    .read_back = replay_read_back,
    .apply = replay_apply,
    .log_mark = replay_log_mark,
    .log_tail = replay_log_tail,
    .admits = replay_admits,
    .measure = replay_measure,
};
