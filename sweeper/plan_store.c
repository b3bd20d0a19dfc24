/*
 * The plan and its store: begins a sweep or resumes one, after comparing what may not change
 * between two runs, and registers points and conditions.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/json.h"
#include "sweeper/base/log.h"
#include "sweeper/plan.h"

/* ---- what is kept of a sweep ---- */

static const char *facts_json(const struct plan *plan, struct arena *arena)
{
    const struct host_facts *host = &plan->target.host_facts;
    const struct server_facts *server = &plan->target.server.facts;
    struct text text;
    struct json json;
    text_open(&text, arena);
    json_open(&json, &text);
    json_object_begin(&json);
    json_key(&json, "host");
    json_object_begin(&json);
    json_key(&json, "name");
    json_string(&json, host->name);
    json_key(&json, "memory_bytes");
    json_int(&json, host->memory_bytes);
    json_key(&json, "cpu_count");
    json_int(&json, host->cpu_count);
    json_key(&json, "cpu_model");
    json_string(&json, host->cpu_model);
    json_key(&json, "kernel");
    json_string(&json, host->kernel);
    json_key(&json, "virtualisation");
    json_string(&json, host->virtualisation);
    json_key(&json, "governor");
    json_string(&json, host->governor);
    json_key(&json, "boot_id");
    json_string(&json, host->boot_id);
    json_key(&json, "filesystem");
    json_string(&json, host->filesystem);
    json_key(&json, "device");
    json_string(&json, host->device);
    json_object_end(&json);
    json_key(&json, "server");
    json_object_begin(&json);
    json_key(&json, "product");
    json_string(&json, server->product);
    json_key(&json, "version");
    json_string(&json, server->version);
    json_key(&json, "config_path");
    json_string(&json, server->config_path);
    json_key(&json, "data_directory");
    json_string(&json, server->data_directory);
    json_key(&json, "start_method");
    json_string(&json, server->start_method);
    json_object_end(&json);
    json_object_end(&json);
    return text_done(&text);
}

static const char *labels_json(const struct sweep *sweep, struct arena *arena)
{
    struct text text;
    struct json json;
    text_open(&text, arena);
    json_open(&json, &text);
    json_object_begin(&json);
    for (size_t i = 0; i < sweep->label_count; i++) {
        json_key(&json, sweep->labels[i].name);
        json_string(&json, sweep->labels[i].value);
    }
    json_object_end(&json);
    return text_done(&text);
}

static const struct store_swept *swept_rows(const struct plan *plan, struct arena *arena)
{
    static const char *const kinds[] = {"knob", "host", "workload"};
    struct store_swept *rows = ARENA_ARRAY(arena, struct store_swept, plan->grid.swept_count + 1);
    for (size_t i = 0; rows != NULL && i < plan->grid.swept_count; i++) {
        const struct knob *knob = plan->grid.swept[i].knob;
        rows[i] = (struct store_swept){.name = knob->name,
                                       .kind = kinds[plan->grid.swept[i].kind],
                                       .type = knob_type_name(knob->type),
                                       .unit = unit_name(knob->unit),
                                       .apply = knob_apply_name(knob->apply),
                                       .durability = knob->durability,
                                       .sentence = knob->sentence};
    }
    return rows;
}

static bool describe_sweep(struct plan *plan, struct store_sweep *out, struct err *err)
{
    struct arena *arena = &plan->arena;
    const struct sweep *sweep = &plan->sweep;
    const struct server_facts *facts = &plan->target.server.facts;
    struct text workload;
    const char *plan_text = NULL;
    text_open(&workload, arena);
    if (!sweepfile_plan_text(sweep, arena, &plan_text, err)) {
        return false;
    }
    char hash[65];
    host_sha256((struct bytes){.data = plan_text, .size = strlen(plan_text)}, hash);
    const char *at = facts->config_path != NULL ? facts->config_path : facts->data_directory;
    if (!workload_json(&sweep->workload, &workload)) {
        return err_memory(err);
    }
    *out = (struct store_sweep){
        .name = sweep->name,
        .file_text = sweep->file_text,
        .plan_hash = arena_strdup(arena, hash),
        .plan_text = plan_text,
        .backend = sweep->backend->name,
        .product = facts->product,
        .version = facts->version,
        .target_label =
            arena_printf(arena, "%s:%s", plan->target.host->label, at != NULL ? at : "?"),
        .data_directory = facts->data_directory != NULL ? facts->data_directory : "",
        .log_path = facts->log_path != NULL ? facts->log_path : "",
        .facts_json = facts_json(plan, arena),
        .labels_json = labels_json(sweep, arena),
        .workload_json = text_done(&workload),
        .rank_by = sweep->rank.by,
        .rank_better = sweep->rank.better,
        .rank_under = sweep->rank.under,
        .rank_durability = sweep->rank.durability,
        .rank_across = sweep->rank.across,
        .rank_confidence = sweep->rank.confidence,
        .planned_trials =
            strategy_remaining(&sweep->strategy, &plan->grid, &(struct history){.trials = NULL}),
        .swept = swept_rows(plan, arena),
        .swept_count = plan->grid.swept_count};
    bool ok = out->plan_hash != NULL && out->target_label != NULL && out->facts_json != NULL &&
              out->labels_json != NULL && out->workload_json != NULL && out->swept != NULL;
    return ok || err_memory(err);
}

/* ---- resume ---- */

/* The first line that differs, for the error. */
static void first_difference(const char *old, const char *new, char *buffer, size_t size)
{
    while (*old != '\0' && *new != '\0') {
        size_t old_length = strcspn(old, "\n");
        size_t new_length = strcspn(new, "\n");
        if (old_length != new_length || strncmp(old, new, old_length) != 0) {
            break;
        }
        old += old_length + (old[old_length] == '\n');
        new += new_length + (new[new_length] == '\n');
    }
    snprintf(buffer, size, "was \"%.*s\", is \"%.*s\"", (int)strcspn(old, "\n"), old,
             (int)strcspn(new, "\n"), new);
}

static bool compare_plan(const struct plan *plan, const struct store_sweep *kept,
                         const struct store_sweep *now, struct err *err)
{
    if (strcmp(kept->plan_hash, now->plan_hash) == 0) {
        return true;
    }
    char difference[400];
    first_difference(kept->plan_text, now->plan_text, difference, sizeof difference);
    err_set(err, ERR_CODE_plan_changed, "the sweep file changed what finished trials rest on: %s",
            difference);
    err_origin(err, "%s", plan->sweep.path);
    return err_hint(err, "undo the change, or begin a new sweep with --fresh");
}

static bool compare_baseline(struct plan *plan, int64_t sweep_id, struct err *err)
{
    struct store_baseline_file *files = NULL;
    struct store_baseline_value *values = NULL;
    size_t file_count = 0;
    size_t value_count = 0;
    if (!store_baseline_get(plan->store, sweep_id, &plan->arena, &files, &file_count, &values,
                            &value_count, err)) {
        return false;
    }
    struct bytes bytes = {0};
    struct host_file file = {0};
    if (file_count == 0 || !plan->target.has_file) {
        return true;
    }
    if (!host_get(plan->target.host, plan->target.server.facts.config_path,
                  clock_deadline_ms(30000), &plan->arena, &bytes, &file, err)) {
        return false;
    }
    if (strcmp(file.sha256, files[0].sha256) != 0) {
        err_set(err, ERR_CODE_plan_changed,
                "%s was changed since this sweep began: its trials would not compare",
                files[0].path);
        return err_hint(err, "put the old bytes back, or begin a new sweep with --fresh");
    }
    return true;
}

/* What needs no target. */
static bool compare_text(struct plan *plan, const struct store_sweep *kept, struct err *err)
{
    struct store_sweep now = {.plan_text = ""};
    char hash[65];
    if (!sweepfile_plan_text(&plan->sweep, &plan->arena, &now.plan_text, err)) {
        return false;
    }
    host_sha256((struct bytes){.data = now.plan_text, .size = strlen(now.plan_text)}, hash);
    now.plan_hash = hash;
    return compare_plan(plan, kept, &now, err);
}

/* A store that is not there yet needs a folder that takes it. */
static bool check_folder(const struct plan *plan, struct err *err)
{
    const char *path = plan->sweep.store_path;
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    int line = sweepfile_line(&plan->sweep, "", "store");
    snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
             slash == NULL ? "." : path);
    if (access(path, F_OK) == 0 || access(folder, W_OK | X_OK) == 0) {
        return true;
    }
    bool is_missing = errno == ENOENT || errno == ENOTDIR;
    err_set(err, is_missing ? ERR_CODE_not_found : ERR_CODE_unsupported,
            is_missing ? "the store's folder %.300s does not exist"
                       : "the store cannot be written to %.300s",
            folder);
    err_origin(err, line > 0 ? "%s:%d" : "%s", plan->sweep.path, line);
    return err_hint(err, "make it, or name another place: store = \"PATH\";");
}

bool plan_foresee(struct plan *plan, bool offline, bool *out_touched, struct err *err)
{
    struct store_sweep kept;
    *out_touched = false;
    if (access(plan->sweep.store_path, F_OK) != 0) {
        return check_folder(plan, err);
    }
    if (!store_open(plan->sweep.store_path, STORE_READ, &plan->store, err)) {
        return false;
    }
    if (!store_sweep_latest(plan->store, &plan->arena, &kept, err)) {
        bool is_new = err->code == ERR_CODE_not_found;
        if (is_new) {
            err_clear(err);
        }
        return is_new;
    }
    /* Where the baseline is not in place yet, run puts it there before it compares. */
    return store_touched_get(plan->store, kept.sweep_id, out_touched, err) &&
           compare_text(plan, &kept, err) &&
           (offline || *out_touched || compare_baseline(plan, kept.sweep_id, err));
}

bool plan_compare(struct plan *plan, bool fresh, struct err *err)
{
    struct store_sweep kept;
    if (plan->store == NULL || fresh) {
        return true;
    }
    if (!store_sweep_latest(plan->store, &plan->arena, &kept, err)) {
        bool is_new = err->code == ERR_CODE_not_found;
        if (is_new) {
            err_clear(err);
        }
        return is_new;
    }
    return compare_text(plan, &kept, err) && compare_baseline(plan, kept.sweep_id, err);
}

static bool begin_or_resume(struct plan *plan, bool fresh, const struct store_sweep *now,
                            struct err *err)
{
    struct store_sweep kept;
    bool found = store_sweep_latest(plan->store, &plan->arena, &kept, err);
    if (!found && err->code != ERR_CODE_not_found) {
        return false;
    }
    err_clear(err);
    if (!found || fresh) {
        return store_sweep_begin(plan->store, now, &plan->sweep_id, err);
    }
    struct store_sweep update = *now;
    update.sweep_id = kept.sweep_id;
    plan->sweep_id = kept.sweep_id;
    plan->is_resumed = true;
    return store_sweep_update(plan->store, &update, err);
}

/* ---- points ---- */

static bool fill_values(const struct plan *plan, const struct value *values, bool workload,
                        struct arena *arena, struct store_value *out, size_t *out_count,
                        struct err *err)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        const struct swept *swept = &plan->grid.swept[i];
        if ((swept->kind == SWEPT_WORKLOAD) != workload) {
            continue;
        }
        struct store_value *value = &out[count++];
        value->name = swept->knob->name;
        value->canonical = value_canonical(swept->knob, &values[i], arena);
        value->display = value_display(swept->knob, &values[i], arena);
        value->asked = values[i].kind == VALUE_BASELINE ? "baseline" : values[i].asked;
        value->has_number = value_number(&values[i], &value->number);
        if (value->canonical == NULL || value->display == NULL) {
            return err_memory(err);
        }
    }
    *out_count = count;
    return true;
}

static bool register_points(struct plan *plan, struct arena *scratch, struct err *err)
{
    struct grid *grid = &plan->grid;
    struct store_value *values =
        ARENA_ARRAY(&plan->arena, struct store_value, grid->swept_count + 1);
    plan->point_ids = ARENA_ARRAY(&plan->arena, int64_t, grid->point_count);
    plan->condition_ids = ARENA_ARRAY(&plan->arena, int64_t, grid->condition_count);
    size_t count = 0;
    if (values == NULL || plan->point_ids == NULL || plan->condition_ids == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < grid->point_count; i++) {
        const struct point *point = &grid->points[i];
        bool durable = grid_point_durable(grid, point->values, plan->target.baseline_values);
        arena_reset(scratch);
        if (!fill_values(plan, point->values, false, scratch, values, &count, err) ||
            !store_point_put(plan->store, plan->sweep_id, point->key, point->baseline, durable,
                             values, count, &plan->point_ids[i], err)) {
            return false;
        }
    }
    for (size_t i = 0; i < grid->condition_count; i++) {
        arena_reset(scratch);
        if (!fill_values(plan, grid->conditions[i].values, true, scratch, values, &count, err) ||
            !store_condition_put(plan->store, plan->sweep_id, grid->conditions[i].key, values,
                                 count, &plan->condition_ids[i], err)) {
            return false;
        }
    }
    return true;
}

static bool register_pruned(struct plan *plan, struct err *err)
{
    const struct grid *grid = &plan->grid;
    struct store_pruned *rows =
        ARENA_ARRAY(&plan->arena, struct store_pruned, grid->pruned_count + 1);
    if (rows == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < grid->pruned_count; i++) {
        const struct pruned *pruned = &grid->pruned[i];
        rows[i] = (struct store_pruned){
            .point_display = plan_point_text(plan, &grid->points[pruned->point], &plan->arena),
            .condition_display =
                plan_condition_text(plan, &grid->conditions[pruned->condition], &plan->arena),
            .reason = plan_pruned_reason(plan, pruned, &plan->arena)};
        if (rows[i].point_display == NULL || rows[i].condition_display == NULL ||
            rows[i].reason == NULL) {
            return err_memory(err);
        }
    }
    return store_pruned_put(plan->store, plan->sweep_id, rows, grid->pruned_count, err);
}

bool plan_open_store(struct plan *plan, struct err *err)
{
    if (plan->store != NULL) {
        return true;
    }
    plan->is_store_new = access(plan->sweep.store_path, F_OK) != 0;
    return check_folder(plan, err) &&
           store_open(plan->sweep.store_path, STORE_CREATE, &plan->store, err);
}

void plan_drop_store(struct plan *plan)
{
    if (plan->store == NULL || !plan->is_store_new || plan->sweep_id != 0) {
        return;
    }
    const char *lock = arena_printf(&plan->arena, "%s-lock", plan->sweep.store_path);
    if (lock != NULL) {
        (void)unlink(lock); /* while it is held */
    }
    store_close(plan->store);
    plan->store = NULL;
    if (unlink(plan->sweep.store_path) != 0) {
        log_line(LOG_WARN, "the empty store %s could not be removed", plan->sweep.store_path);
    }
}

bool plan_begin(struct plan *plan, bool fresh, struct err *err)
{
    struct store_sweep now;
    struct arena scratch;
    arena_open(&scratch, 16u << 20);
    bool ok = describe_sweep(plan, &now, err) && begin_or_resume(plan, fresh, &now, err) &&
              target_capture(&plan->target, plan->store, plan->sweep_id, err) &&
              register_points(plan, &scratch, err) && register_pruned(plan, err) &&
              store_call_begin(plan->store, plan->sweep_id, &plan->call_id, err);
    arena_close(&scratch);
    return ok;
}
