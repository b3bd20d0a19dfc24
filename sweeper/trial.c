/*
 * The stages of one trial. Each one asks whether it is wanted, tells the store, touches the
 * server, and tells the store how it ended. What is recorded at the end is in trial_record.c.
 */
#include "sweeper/trial.h"

#include <string.h>

#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"
#include "sweeper/load/workload.h"
#include "sweeper/trial_early.h"
#include "sweeper/trial_self.h"

enum { SERVER_TIMEOUT_MS = 60000 };

static const struct {
    const char *name;
    const char *sentence;
} stage_rows[] = {
#define STAGE(name, sentence) {#name, sentence},
#include "sweeper/stages.def"
#undef STAGE
};

const char *stage_name(enum stage stage)
{
    return stage_rows[stage].name;
}

/* ---- beginning and ending a stage ---- */

static bool begin_stage(struct trial *trial, enum stage stage, int64_t expected_ms)
{
    if (stop_asked() != 0) {
        return err_set(&trial->err, ERR_CODE_stopped, "a stop was asked before stage %s",
                       stage_rows[stage].name);
    }
    trial->stage = stage;
    console_stage(trial->setup->console, stage_rows[stage].name, stage_rows[stage].sentence,
                  expected_ms);
    trial->in_stage = store_stage_begin(trial->setup->plan->store, trial->id,
                                        stage_rows[stage].name, &trial->err);
    return trial->in_stage;
}

/* Passes `ok` on; the stage's own error is kept when the store fails as well. */
static bool end_stage(struct trial *trial, bool ok)
{
    struct err lost;
    err_clear(&lost);
    trial->in_stage = false;
    if (!store_stage_end(trial->setup->plan->store, trial->id, ok ? "done" : "failed", &lost)) {
        if (ok || trial->err.class != ERR_STOP) {
            trial->err = lost;
        }
        return false;
    }
    if (!ok) {
        err_while(&trial->err, "in stage %s", stage_rows[trial->stage].name);
    }
    return ok;
}

static const struct backend *backend_of(const struct trial *trial)
{
    return trial->setup->plan->sweep.backend;
}

static struct target *target_of(const struct trial *trial)
{
    return &trial->setup->plan->target;
}

/* ---- before the load ---- */

/* What runs until here are the settings of the trial before: the point cannot be to blame. */
static bool stop_target(struct trial *trial)
{
    return target_stop(target_of(trial), &trial->err) || trial->err.class != ERR_POINT ||
           err_reclass(&trial->err, ERR_TARGET);
}

static bool stop_now(struct trial *trial)
{
    trial->is_restarted = true;
    trial->restarts_at_ns = clock_now_ns();
    trial->setup->running = NULL;
    return begin_stage(trial, STAGE_stop, 0) && end_stage(trial, stop_target(trial));
}

bool trial_stop(struct trial *trial)
{
    return !trial_must_restart(trial) || stop_now(trial);
}

bool trial_reset_files(struct trial *trial)
{
    return strcmp(trial->setup->reset, "snapshot") != 0 ||
           (begin_stage(trial, STAGE_reset_files, 0) &&
            end_stage(trial, target_reset_files(target_of(trial), &trial->err)));
}

bool trial_apply(struct trial *trial)
{
    return begin_stage(trial, STAGE_apply, 0) &&
           end_stage(trial, target_apply(target_of(trial), trial->settings, trial->setting_count,
                                         trial->arena, &trial->err));
}

bool trial_drop_caches(struct trial *trial)
{
    return !trial->setup->plan->sweep.between.drop_caches ||
           (begin_stage(trial, STAGE_drop_caches, 0) &&
            end_stage(trial, target_drop_caches(target_of(trial), &trial->err)));
}

static bool start_now(struct trial *trial)
{
    return begin_stage(trial, STAGE_start, 0) &&
           end_stage(trial, target_start(target_of(trial), &trial->err));
}

bool trial_start(struct trial *trial)
{
    return !trial->is_restarted || start_now(trial);
}

/* A reload that did not take effect is made up for by a restart. */
bool trial_reload(struct trial *trial)
{
    bool has_taken = false;
    if (trial->is_restarted) {
        return true;
    }
    if (!begin_stage(trial, STAGE_reload, 0) ||
        !end_stage(trial, trial_reload_changed(trial, &has_taken))) {
        return false;
    }
    return has_taken || (stop_now(trial) && start_now(trial));
}

bool trial_ready(struct trial *trial)
{
    struct trial_setup *setup = trial->setup;
    if (!begin_stage(trial, STAGE_ready, 0) ||
        !end_stage(trial, target_ready(target_of(trial), &trial->err))) {
        return false;
    }
    setup->restart_count += trial->is_restarted;
    setup->restart_ns += trial->is_restarted ? clock_now_ns() - trial->restarts_at_ns : 0;
    setup->spared_count += !trial->is_restarted;
    return true;
}

bool trial_verify(struct trial *trial)
{
    struct plan *plan = trial->setup->plan;
    if (!begin_stage(trial, STAGE_verify, 0)) {
        return false;
    }
    trial->identity = arena_strdup(trial->arena, plan->target.server.facts.identity);
    trial->is_verified =
        trial->identity != NULL && target_verify(&plan->target, &plan->grid.points[trial->point],
                                                 trial->arena, trial->verified, &trial->err);
    trial->setup->running = trial->is_verified ? &plan->grid.points[trial->point] : NULL;
    return end_stage(trial, trial->is_verified);
}

static void show_note(void *context, const char *text)
{
    struct trial *trial = context;
    console_note(trial->setup->console, text);
}

static void show_second(void *context, const struct load_second *second)
{
    struct trial *trial = context;
    struct err err;
    err_clear(&err);
    console_second(trial->setup->console, second->throughput_per_s, second->p99_ms);
    if (!warm_up_add(&trial->warm_up, &trial->job.workload, second, &err)) {
        log_err(LOG_WARN, &err); /* costs the judgement, not the trial */
    }
    trial_early_see(trial, second);
}

static bool is_over(void *context)
{
    const struct trial *trial = context;
    return trial->early.is_lost;
}

static bool run_operation(struct trial *trial, enum load_operation operation)
{
    struct load_job job = trial->job;
    struct load_progress progress = {.context = trial, .note = show_note};
    job.operation = operation;
    const struct load_place *first = &trial->setup->load_hosts.places[0];
    return load_run(first->host, first->program, &job,
                    clock_deadline_ms(job.workload.prepare_timeout_ms), &progress, trial->arena,
                    NULL, &trial->err);
}

static bool run_reset_command(struct trial *trial)
{
    struct host_command command = {.argv = trial->job.workload.reset_command,
                                   .until_stop = true,
                                   .deadline =
                                       clock_deadline_ms(trial->job.workload.prepare_timeout_ms)};
    return host_run_ok(trial->setup->load_hosts.places[0].host, &command, trial->arena, NULL,
                       &trial->err);
}

bool trial_reset_data(struct trial *trial)
{
    const struct workload *workload = workload_find(trial->job.workload.kind);
    bool is_reload = strcmp(trial->setup->reset, "reload") == 0;
    bool is_command = strcmp(trial->setup->reset, "command") == 0;
    /* Conditions may differ in the data (rows, tables): prepare loads what is not there yet. */
    bool is_varied = trial->setup->plan->grid.condition_count > 1 && workload != NULL &&
                     workload->prepare != NULL;
    if (!is_reload && !is_command && !is_varied) {
        return true;
    }
    return begin_stage(trial, STAGE_reset_data, 0) &&
           end_stage(trial, is_command  ? run_reset_command(trial)
                            : is_reload ? run_operation(trial, LOAD_RESET)
                                        : run_operation(trial, LOAD_PREPARE));
}

static bool rest(struct trial *trial, int64_t rest_ms)
{
    clock_sleep_until(clock_deadline_ms(rest_ms));
    return stop_asked() == 0 ||
           err_set(&trial->err, ERR_CODE_stopped, "a stop was asked while resting");
}

bool trial_settle(struct trial *trial)
{
    const struct backend *backend = backend_of(trial);
    int64_t rest_ms = trial->setup->plan->sweep.between.settle_ms;
    bool is_dirty = workload_writes(&trial->job.workload) && backend->settle != NULL;
    if (!is_dirty && rest_ms == 0) {
        return true;
    }
    return begin_stage(trial, STAGE_settle, rest_ms) &&
           end_stage(trial, (!is_dirty || backend->settle(&target_of(trial)->server,
                                                          clock_deadline_ms(SERVER_TIMEOUT_MS * 10),
                                                          &trial->err)) &&
                                rest(trial, rest_ms));
}

bool trial_prewarm(struct trial *trial)
{
    const struct backend *backend = backend_of(trial);
    if (!trial->setup->plan->sweep.between.prewarm || backend->prewarm == NULL) {
        return true;
    }
    return begin_stage(trial, STAGE_prewarm, 0) &&
           end_stage(trial,
                     backend->prewarm(&target_of(trial)->server,
                                      clock_deadline_ms(SERVER_TIMEOUT_MS * 30), &trial->err));
}

/* ---- the load ---- */

static void take_size(struct trial *trial, int64_t *out)
{
    const struct backend *backend = backend_of(trial);
    struct err err;
    err_clear(&err);
    *out = -1;
    if (backend->data_size != NULL &&
        !backend->data_size(&target_of(trial)->server, clock_deadline_ms(SERVER_TIMEOUT_MS), out,
                            &err)) {
        log_err(LOG_WARN, &err); /* a missing size costs a column, not the trial */
        *out = -1;
    }
}

void trial_take_counters(struct trial *trial, int64_t timeout_ms, struct trial_counters *out)
{
    const struct backend *backend = backend_of(trial);
    struct err err;
    err_clear(&err);
    *out = (struct trial_counters){0};
    if (backend->counters != NULL &&
        !backend->counters(&target_of(trial)->server, clock_deadline_ms(timeout_ms), trial->arena,
                           &out->rows, &out->count, &err)) {
        log_err(LOG_WARN, &err);
        out->count = 0;
    }
}

/* Clients connect and prepare before the barrier; sizes and counters are taken just before go. The
 * stage ends when the worker's first second of measuring begins. */
bool trial_warm_up(struct trial *trial)
{
    const struct workload_spec *workload = &trial->job.workload;
    warm_up_open(&trial->warm_up, workload, trial->arena);
    if (backend_of(trial)->measure != NULL) {
        return true; /* its measurement begins with a warm-up of its own */
    }
    struct load_progress progress = {.context = trial, .note = show_note, .second = show_second};
    if (!begin_stage(trial, STAGE_warm_up, load_warm_up_limit_ms(workload))) {
        return false;
    }
    progress.is_warm = trial->warm_up.is_adaptive ? trial_is_warm : NULL;
    int64_t limit_ms = load_drive_limit_ms(workload);
    const struct load_hosts *hosts = &trial->setup->load_hosts;
    bool ok =
        load_team_open(hosts->places, hosts->count, &trial->job, &trial->team, &trial->err) &&
        load_team_ready(trial->team, clock_deadline_ms(SERVER_TIMEOUT_MS), &progress, &trial->err);
    if (ok) {
        take_size(trial, &trial->size_before_bytes);
        trial_take_counters(trial, SERVER_TIMEOUT_MS, &trial->at_go);
    }
    return end_stage(trial, ok && load_team_go(trial->team, clock_deadline_ms(limit_ms), &progress,
                                               &trial->err));
}

/* A trial that was ended early has a result, too. */
static bool accept_early(struct trial *trial)
{
    if (!trial->has_result && trial->err.code != ERR_CODE_ended_early) {
        return false;
    }
    load_team_close(trial->team);
    trial->team = NULL;
    err_clear(&trial->err);
    return trial_early_conclude(trial, &trial->err);
}

bool trial_measure(struct trial *trial)
{
    const struct workload_spec *workload = &trial->job.workload;
    struct load_progress progress = {
        .context = trial, .note = show_note, .second = show_second, .is_over = is_over};
    if (!begin_stage(trial, STAGE_measure,
                     load_ends_complete(workload) ? 0 : workload->measure_ms)) {
        return false;
    }
    trial->at_start = trial->at_go;
    if (!backend_of(trial)->embedded) { /* whose file belongs to the clients now */
        trial_take_counters(trial, SERVER_TIMEOUT_MS, &trial->at_start);
    }
    trial->has_result =
        backend_of(trial)->measure != NULL
            ? trial_self_measure(trial, &progress)
            : load_team_finish(trial->team, clock_deadline_ms(load_drive_limit_ms(workload)),
                               &progress, trial->arena, &trial->result, &trial->err);
    if (trial->early.is_lost) {
        return end_stage(trial, accept_early(trial));
    }
    if (trial->has_result) {
        trial->setup->ceilings_per_s[trial->condition] = trial->result.ceiling_per_s;
        trial_take_counters(trial, SERVER_TIMEOUT_MS, &trial->at_end);
        take_size(trial, &trial->size_after_bytes);
    }
    return end_stage(trial, trial->has_result);
}

/* ---- after the load ---- */

static bool same_process(struct trial *trial)
{
    struct target *target = target_of(trial);
    bool is_ready = false;
    const char *why = NULL;
    if (!backend_of(trial)->ready(&target->server, clock_deadline_ms(SERVER_TIMEOUT_MS), &is_ready,
                                  &why, &trial->err)) {
        return false;
    }
    if (!is_ready) {
        return err_set(&trial->err, ERR_CODE_server_changed,
                       "the server no longer answers after the measurement: %s",
                       why != NULL ? why : "no reason known");
    }
    if (strcmp(target->server.facts.identity, trial->identity) != 0) {
        return err_set(&trial->err, ERR_CODE_server_changed,
                       "the server restarted during the trial: it was %s, it is %s",
                       trial->identity, target->server.facts.identity);
    }
    return true;
}

static bool same_values(struct trial *trial)
{
    struct plan *plan = trial->setup->plan;
    struct verified *again = ARENA_ARRAY(trial->arena, struct verified, plan->grid.swept_count + 1);
    if (again == NULL) {
        return err_memory(&trial->err);
    }
    if (!target_verify(&plan->target, &plan->grid.points[trial->point], trial->arena, again,
                       &trial->err)) {
        return false;
    }
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        const struct knob *knob = plan->grid.swept[i].knob;
        if (plan->grid.swept[i].kind == SWEPT_KNOB &&
            !value_equal(knob, &again[i].reading.value, &trial->verified[i].reading.value)) {
            return err_set(&trial->err, ERR_CODE_server_changed, "%s changed during the trial",
                           knob->name);
        }
    }
    return true;
}

static bool same_file(struct trial *trial)
{
    struct target *target = target_of(trial);
    struct bytes bytes = {0};
    struct host_file file = {0};
    if (!target->has_file) {
        return true;
    }
    if (!host_get(target->host, target->server.facts.config_path,
                  clock_deadline_ms(SERVER_TIMEOUT_MS), trial->arena, &bytes, &file, &trial->err)) {
        return false;
    }
    return strcmp(file.sha256, target->last_sha256) == 0 ||
           err_set(&trial->err, ERR_CODE_foreign_edit,
                   "%s was changed by somebody else during the trial",
                   target->server.facts.config_path);
}

bool trial_verify_again(struct trial *trial)
{
    return begin_stage(trial, STAGE_verify_again, 0) &&
           end_stage(trial, same_process(trial) && same_values(trial) && same_file(trial));
}

bool trial_check(struct trial *trial)
{
    const struct workload *workload = workload_find(trial->job.workload.kind);
    if (workload == NULL || workload->check == NULL || trial->early.is_lost) {
        return true;
    }
    return begin_stage(trial, STAGE_check, 0) && end_stage(trial, run_operation(trial, LOAD_CHECK));
}

void trial_close(struct trial *trial)
{
    load_team_close(trial->team);
    trial->team = NULL;
}
