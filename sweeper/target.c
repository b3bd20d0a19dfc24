/*
 * Opening, probing and driving one target: what must be waited for stands here, the backend does
 * one thing once. The baseline and its way back are in target_baseline.c, the judgement of
 * read-back values in target_verify.c.
 */
#include "sweeper/target.h"

#include <string.h>

#include "knobs/catalogue.h"
#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"

enum { HOST_TIMEOUT_MS = 30000, PROBE_TIMEOUT_MS = 30000, POLL_MS = 50, LOOK_MS = 3000 };

static bool read_facts(struct target *target, const char *path, struct err *err)
{
    return target->host->driver->facts(target->host, path, clock_deadline_ms(HOST_TIMEOUT_MS),
                                       target->arena, &target->host_facts, err);
}

bool target_open(struct target *target, const struct sweep *sweep, struct arena *arena,
                 struct err *err)
{
    *target = (struct target){.sweep = sweep, .arena = arena};
    if (!host_open(sweep->has_host ? &sweep->host : NULL, clock_deadline_ms(HOST_TIMEOUT_MS),
                   &target->host, err)) {
        return err_while(err, "opening the target's host");
    }
    target->server = (struct server){
        .backend = sweep->backend, .host = target->host, .spec = &sweep->target, .arena = arena};
    if (!sweep->backend->open(&target->server, err)) {
        return false;
    }
    target->is_open = true;
    if (!read_facts(target, "/", err)) {
        return false;
    }
    target->facts = (struct value_facts){.host_memory_bytes = target->host_facts.memory_bytes,
                                         .host_cpu_count = target->host_facts.cpu_count};
    return true;
}

void target_close(struct target *target)
{
    if (target->is_open) {
        target->sweep->backend->close(&target->server);
        target->is_open = false;
    }
    host_close(target->host);
    target->host = NULL;
}

/* ---- probe ---- */

static bool row_known(const struct target *target, const char *name)
{
    for (size_t i = 0; i < target->row_count; i++) {
        if (text_equal_nocase(target->rows[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* A knob outside our catalogue still may be one that the server knows: it is asked for by name. */
static const struct knob *row_for(struct target *target, const char *name)
{
    size_t count = 0;
    const struct knob *knobs = catalogue_knobs(target->sweep->backend->system, &count);
    const struct knob *known = knob_find(knobs, count, name);
    if (known != NULL) {
        return known;
    }
    struct knob *made = ARENA_NEW(target->arena, struct knob);
    if (made != NULL) {
        *made = knob_unlisted(name, KNOB_TEXT, UNIT_NONE, "not in the catalogue", "the server");
    }
    return made;
}

static bool add_row(struct target *target, const char *name, int line, struct err *err)
{
    if (row_known(target, name)) {
        return true;
    }
    const struct knob *knob = row_for(target, name);
    if (knob == NULL) {
        return err_memory(err);
    }
    target->row_lines[target->row_count] = line;
    target->rows[target->row_count++] = (struct sweep_knob_row){.name = name, .knob = knob};
    return true;
}

static size_t count_assignments(const struct sweep *sweep)
{
    size_t count = sweep->axis_count;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        for (size_t j = 0; j < sweep->axes[i].choice_count; j++) {
            count += sweep->axes[i].choices[j].count;
        }
    }
    for (size_t i = 0; i < sweep->exact_count; i++) {
        count += sweep->exact[i].count;
    }
    return count;
}

static bool add_choice_rows(struct target *target, const struct sweep_choice *choice,
                            struct err *err)
{
    for (size_t i = 0; i < choice->count; i++) {
        const char *name = choice->assignments[i].name;
        if (workload_knob(name) == NULL &&
            !add_row(target, name, choice->assignments[i].line, err)) {
            return false;
        }
    }
    return true;
}

/* Every knob that an axis or an exact point names; workload settings are not the server's. */
static bool collect_rows(struct target *target, struct err *err)
{
    const struct sweep *sweep = target->sweep;
    target->row_count = 0;
    target->rows = ARENA_ARRAY(target->arena, struct sweep_knob_row, count_assignments(sweep) + 1);
    target->row_lines = ARENA_ARRAY(target->arena, int, count_assignments(sweep) + 1);
    if (target->rows == NULL || target->row_lines == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < sweep->axis_count; i++) {
        const struct sweep_axis *axis = &sweep->axes[i];
        if (axis->kind != SWEPT_KNOB) {
            continue;
        }
        if (axis->name != NULL && !add_row(target, axis->name, axis->line, err)) {
            return false;
        }
        for (size_t j = 0; j < axis->choice_count; j++) {
            if (!add_choice_rows(target, &axis->choices[j], err)) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < sweep->exact_count; i++) {
        if (!add_choice_rows(target, &sweep->exact[i], err)) {
            return false;
        }
    }
    return true;
}

/* A knob that the server does not know fails the plan, unless the file gave it a type itself. */
static bool check_known(const struct target *target, struct err *err)
{
    for (size_t i = 0; i < target->row_count; i++) {
        if (target->found[i].known) {
            continue;
        }
        const struct sweep *sweep = target->sweep;
        size_t count = 0;
        const struct knob *knobs = catalogue_knobs(sweep->backend->system, &count);
        const char *near = knob_nearest(knobs, count, target->rows[i].name);
        err_set(err, ERR_CODE_knob_unknown, "%s %s has no knob \"%s\"",
                target->server.facts.product, target->server.facts.version, target->rows[i].name);
        err_origin(err, "%s:%d", sweep->path, target->row_lines[i]);
        if (near != NULL && strcmp(near, target->rows[i].name) != 0) {
            return err_hint(err, "did you mean \"%s\"?", near);
        }
        return err_hint(err, "remove the axis, or see `dbsweep knobs %s`", sweep->backend->system);
    }
    return true;
}

/* A backend names the knob that it refuses; the user looks for it in the sweep file. */
static void place_knob(const struct target *target, struct err *err)
{
    for (size_t i = 0; i < target->row_count; i++) {
        if (text_equal_nocase(target->rows[i].name, err->origin)) {
            err_origin(err, "%s:%d", target->sweep->path, target->row_lines[i]);
            return;
        }
    }
}

bool target_probe(struct target *target, struct err *err)
{
    if (!collect_rows(target, err)) {
        return false;
    }
    size_t count = target->row_count;
    const struct knob **asked = ARENA_ARRAY(target->arena, const struct knob *, count + 1);
    const struct knob **completed = ARENA_ARRAY(target->arena, const struct knob *, count + 1);
    target->found = ARENA_ARRAY(target->arena, struct reading, count + 1);
    if (asked == NULL || completed == NULL || target->found == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        asked[i] = target->rows[i].knob;
    }
    if (!target->sweep->backend->probe(&target->server, asked, count,
                                       clock_deadline_ms(PROBE_TIMEOUT_MS), target->arena,
                                       completed, target->found, err)) {
        place_knob(target, err);
        return err_while(err, "probing the server");
    }
    for (size_t i = 0; i < count; i++) {
        target->rows[i].knob = completed[i];
    }
    target->has_file = target->sweep->backend->render != NULL;
    const char *path = target->server.facts.data_directory;
    return check_known(target, err) && (path == NULL || read_facts(target, path, err));
}

bool target_use_grid(struct target *target, const struct grid *grid, struct err *err)
{
    target->grid = grid;
    target->baseline_values = ARENA_ARRAY(target->arena, struct value, grid->swept_count + 1);
    if (target->baseline_values == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < grid->swept_count; i++) {
        for (size_t j = 0; j < target->row_count; j++) {
            if (grid->swept[i].kind == SWEPT_KNOB &&
                text_equal_nocase(target->rows[j].name, grid->swept[i].knob->name)) {
                target->baseline_values[i] = target->found[j].value;
            }
        }
    }
    return true;
}

/* ---- stages ---- */

/* Refuses when somebody else changed the configuration file since we last saw it. */
static bool check_unedited(struct target *target, struct err *err)
{
    const char *path = target->server.facts.config_path;
    struct bytes now = {0};
    struct host_file file = {0};
    struct arena scratch;
    if (!target->has_file || !target->has_baseline) {
        return true;
    }
    arena_open(&scratch, 256u << 20);
    bool ok = host_get(target->host, path, clock_deadline_ms(HOST_TIMEOUT_MS), &scratch, &now,
                       &file, err);
    if (ok && strcmp(file.sha256, target->last_sha256) != 0) {
        err_set(err, ERR_CODE_foreign_edit, "%s was changed by somebody else during the sweep",
                path);
        ok = err_hint(err, "the bytes found before the sweep are in %s", target->copy_path);
    }
    arena_close(&scratch);
    return ok;
}

/* From here on the target may be off its baseline, be it only that it is stopped: the store knows
 * before the target does. */
static bool touch(struct target *target, struct err *err)
{
    if (target->is_touched || target->store == NULL) {
        return true;
    }
    target->is_touched = store_touched_set(target->store, target->sweep_id, true, err);
    return target->is_touched;
}

/* A command that could not be run at all (a shell, runuser and sudo say 126 or 127) is no property
 * of a point. */
static bool judge_command(struct err *err)
{
    bool is_missing =
        err->code == ERR_CODE_command_failed ||
        (strcmp(err->native_text, "exit") == 0 && (err->native == 126 || err->native == 127));
    if (err->class == ERR_POINT && is_missing) {
        err->code = ERR_CODE_command_failed;
        return err_reclass(err, ERR_TARGET);
    }
    return false;
}

bool target_stop(struct target *target, struct err *err)
{
    const char *identity = target->server.facts.identity;
    /* Before the stop, so that an edit does not cost the server's time. */
    if (!check_unedited(target, err) || !touch(target, err)) {
        return false;
    }
    if (identity != NULL && identity[0] != '\0') {
        target->identity_before = arena_strdup(target->arena, identity);
    }
    if (!target->sweep->backend->stop(
            &target->server, clock_deadline_ms(target->sweep->target.stop_timeout_ms), err)) {
        return judge_command(err);
    }
    target->is_set_live = false;
    return true;
}

/* Writes bytes to the configuration file after the store knows their hash. */
static bool write_config(struct target *target, struct bytes content, struct err *err)
{
    const char *path = target->server.facts.config_path;
    char sha256[65];
    host_sha256(content, sha256);
    if (!check_unedited(target, err)) {
        return false;
    }
    if (strcmp(sha256, target->last_sha256) == 0) {
        return true;
    }
    if (!store_intent_add(target->store, target->sweep_id, path, sha256, err) ||
        !host_put(target->host, path, content, &target->baseline_file, false,
                  clock_deadline_ms(HOST_TIMEOUT_MS), err)) {
        return false;
    }
    memcpy(target->last_sha256, sha256, sizeof sha256);
    return true;
}

bool target_apply(struct target *target, const struct setting *settings, size_t count,
                  struct arena *arena, struct err *err)
{
    const struct backend *backend = target->sweep->backend;
    if (!touch(target, err)) {
        return false;
    }
    if (!target->has_file) {
        struct setting *all = ARENA_ARRAY(arena, struct setting, target->grid->swept_count + 1);
        struct value *found = ARENA_ARRAY(arena, struct value, target->grid->swept_count + 1);
        if (all == NULL || found == NULL) {
            return err_memory(err);
        }
        size_t used = 0;
        for (size_t i = 0; i < target->grid->swept_count; i++) {
            if (target->grid->swept[i].kind != SWEPT_KNOB) {
                continue;
            }
            all[used] = (struct setting){.knob = target->grid->swept[i].knob};
            for (size_t j = 0; j < count; j++) {
                if (settings[j].knob == all[used].knob) {
                    all[used].value = settings[j].value;
                }
            }
            found[used++] = target->baseline_values[i];
        }
        return backend->apply(&target->server, all, found, used,
                              clock_deadline_ms(target->sweep->workload.prepare_timeout_ms), err);
    }
    struct bytes rendered = {0};
    return backend->render(&target->server, target->baseline_bytes, settings, count, arena,
                           &rendered, err) &&
           write_config(target, rendered, err);
}

bool target_drop_caches(struct target *target, struct err *err)
{
    struct arena scratch;
    arena_open(&scratch, 4u << 20);
    static const char *const argv[] = {"sh", "-c", "sync; echo 3 > /proc/sys/vm/drop_caches", NULL};
    struct host_command command = {
        .argv = argv, .deadline = clock_deadline_ms(120000), .until_stop = true};
    bool ok = host_run_ok(target->host, &command, &scratch, NULL, err);
    arena_close(&scratch);
    if (ok || err->class == ERR_STOP) {
        return ok;
    }
    err_reclass(err, ERR_TARGET);
    return err_hint(err, "drop_caches needs root on the target");
}

bool target_start(struct target *target, struct err *err)
{
    const struct backend *backend = target->sweep->backend;
    int64_t deadline = clock_deadline_ms(target->sweep->target.ready_timeout_ms);
    if (backend->log_mark != NULL) {
        struct err mark;
        err_clear(&mark);
        if (!backend->log_mark(&target->server, clock_deadline_ms(HOST_TIMEOUT_MS), &mark)) {
            log_err(LOG_WARN, &mark); /* a missing log costs words, not the trial */
        }
    }
    return backend->start(&target->server, deadline, err) || judge_command(err);
}

static bool is_new_process(const struct target *target)
{
    if (target->sweep->backend->embedded || target->identity_before == NULL) {
        return true;
    }
    return strcmp(target->server.facts.identity, target->identity_before) != 0;
}

bool target_ready(struct target *target, struct err *err)
{
    int64_t deadline = clock_deadline_ms(target->sweep->target.ready_timeout_ms);
    const char *why = "no answer yet";
    while (true) {
        bool is_ready = false;
        /* A look has time of its own: the last one would say that it had none, and nothing else. */
        if (!target->sweep->backend->ready(&target->server, clock_deadline_ms(LOOK_MS), &is_ready,
                                           &why, err)) {
            return false;
        }
        if (is_ready && is_new_process(target)) {
            return true;
        }
        if (is_ready) {
            why = "it still is the process from before the restart";
        }
        if (clock_passed(deadline)) {
            err_set(err, ERR_CODE_not_ready, "the server was not ready within %lld s: %s",
                    (long long)(target->sweep->target.ready_timeout_ms / 1000),
                    why != NULL ? why : "no reason known");
            return err_hint(err, "give target.ready_timeout a longer time if it was recovering");
        }
        if (stop_asked() != 0) {
            return err_set(err, ERR_CODE_stopped, "a stop was asked while the server started");
        }
        clock_pause_until(clock_deadline_ms(POLL_MS));
    }
}

const char *target_log_tail(struct target *target, struct arena *arena)
{
    const struct backend *backend = target->sweep->backend;
    if (backend->log_tail == NULL) {
        return "";
    }
    const char *tail = "";
    struct err err;
    err_clear(&err);
    if (!backend->log_tail(&target->server, clock_deadline_ms(HOST_TIMEOUT_MS), 8192, arena, &tail,
                           &err)) {
        log_err(LOG_WARN, &err);
        return "";
    }
    const char *printable = text_printable(arena, tail);
    return printable != NULL ? printable : "";
}
