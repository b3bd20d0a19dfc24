/*
 * The run loop. The line in run_stages is the road; around it, record_trial lets the error's class
 * decide, run_trials goes on until the strategy is done or a stop is asked, and sweep_run always
 * restores the baseline and proves it.
 */
#include "sweeper/run.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store/noise.h"
#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"
#include "sweeper/load/workload.h"
#include "sweeper/notify.h"
#include "sweeper/run_history.h"
#include "sweeper/trial_early.h"

enum { TARGET_TRIES = 3, TRIAL_ARENA_BYTES = 512 << 20, MARGIN_MS = 5000 };

struct run {
    const struct run_options *options;
    struct plan plan;
    struct console console;
    struct trial_setup setup;
    struct arena arena; /* the trial's */
    int64_t end_ns;     /* by then the baseline is back: --until, --budget */
    int64_t trials_this_call;
    int64_t failed_count; /* trials of this call */
    int target_failures;  /* in a row */
    bool is_begun;        /* plan_begin succeeded: a call row is open */
};

static bool run_stages(struct trial *t)
{
    return trial_stop(t) && trial_reset_files(t) && trial_apply(t) && trial_drop_caches(t) &&
           trial_start(t) && trial_reload(t) && trial_ready(t) && trial_verify(t) &&
           trial_reset_data(t) && trial_settle(t) && trial_prewarm(t) && trial_warm_up(t) &&
           trial_measure(t) && trial_verify_again(t) && trial_check(t);
}

/* ---- one trial ---- */

/* A point is blamed only if the baseline works: otherwise the target is at fault. */
static bool blame(struct run *run, struct trial *trial, struct err *err)
{
    struct err baseline;
    err_clear(&baseline);
    if (target_restore(&run->plan.target, &baseline)) {
        return true;
    }
    log_err(LOG_ERROR, &baseline);
    *err = trial->err;
    err_while(err, "the baseline does not work either: %.90s", baseline.text);
    err->code = ERR_CODE_baseline_failed;
    return err_reclass(err, ERR_TARGET);
}

/* Tells who waits; what is said of the trial is what is recorded of it. */
static void announce_end(struct run *run, const struct trial *trial, bool ok)
{
    const char *status = ok ? "done" : trial->err.class == ERR_STOP ? "dropped" : "failed";
    const char *point =
        plan_point_text(&run->plan, &run->plan.grid.points[trial->point], &run->arena);
    if (!ok) {
        log_err(trial->err.class == ERR_STOP ? LOG_INFO : LOG_WARN, &trial->err);
    }
    notify_trial(&run->plan, trial->id, point != NULL ? point : "?", status,
                 ok ? NULL : &trial->err);
}

/* Ends the row; what the error's class asks for comes after. */
static bool record_trial(struct run *run, const struct run_history *past,
                         const struct proposal *next, struct err *err)
{
    struct trial trial = {.setup = &run->setup,
                          .arena = &run->arena,
                          .point = next->point,
                          .condition = next->condition,
                          .purpose = next->purpose};
    run_history_count(past, next, &trial.number, &trial.repeat_number);
    if (!trial_begin(&trial, err) || !trial_early_arm(&trial, past, err)) {
        return false;
    }
    bool ok = run_stages(&trial);
    trial_close(&trial);
    run->setup.running = ok ? run->setup.running : NULL;
    if (!ok && trial.err.class == ERR_POINT && stop_asked() != 0) {
        /* Whatever broke off while everything was told to end proves nothing about the point. */
        err_while(&trial.err, "a stop was asked");
        err_reclass(&trial.err, ERR_STOP);
    }
    announce_end(run, &trial, ok);
    if (!ok && trial.err.class == ERR_POINT) {
        /* The log is read before the restore's own restart buries it. */
        struct err judged;
        err_clear(&judged);
        const char *tail = target_log_tail(&run->plan.target, &run->arena);
        if (!blame(run, &trial, &judged)) {
            trial.err = judged;
        }
        trial.log_tail = tail;
    }
    if (!trial_end(&trial, ok, err)) {
        return false;
    }
    run->trials_this_call++;
    if (ok || trial.err.class == ERR_POINT) {
        run->failed_count += !ok;
        run->target_failures = 0;
        return true;
    }
    *err = trial.err;
    return false;
}

/* ---- all trials ---- */

static bool time_is_up(const struct run *run, const struct run_history *past)
{
    const struct workload_spec *workload = &run->plan.sweep.workload;
    if (run->end_ns == CLOCK_NEVER) {
        return false;
    }
    int64_t trial_ms = past->typical_ms > 0
                           ? past->typical_ms
                           : load_warm_up_limit_ms(workload) + workload->measure_ms;
    return clock_now_ns() + (trial_ms + trial_ms / 10 + MARGIN_MS) * NS_PER_MS > run->end_ns;
}

static void announce_trial(struct run *run, const struct run_history *past,
                           const struct proposal *next, int64_t remaining)
{
    const struct plan *plan = &run->plan;
    const struct sweep *sweep = &plan->sweep;
    const char *point = plan_point_text(plan, &plan->grid.points[next->point], &run->arena);
    const char *condition =
        plan_condition_text(plan, &plan->grid.conditions[next->condition], &run->arena);
    char label[240];
    snprintf(label, sizeof label, "%s%s%s", point != NULL ? point : "?",
             condition != NULL && condition[0] != '\0' ? " | " : "",
             condition != NULL ? condition : "");
    console_trial(&run->console, past->finished_count + 1, past->finished_count + remaining, label,
                  past->typical_ms > 0 ? remaining * past->typical_ms : -1);
    double value = 0;
    size_t best_point = run_history_best(plan, past, next->condition, &value);
    if (best_point != SIZE_MAX) {
        const char *best = plan_point_text(plan, &plan->grid.points[best_point], &run->arena);
        char text[200];
        snprintf(text, sizeof text, "%s: %.6g %s", best != NULL ? best : "?", value,
                 sweep->rank.by);
        console_best(&run->console, text);
    }
}

/* It will not be there in five seconds either. */
static bool is_missing_program(const struct err *err)
{
    bool is_exit = strcmp(err->native_text, "exit") == 0;
    return err->code == ERR_CODE_command_failed &&
           (is_exit ? err->native == 126 || err->native == 127
                    : err->native == ENOENT || err->native == EACCES);
}

/* Target trouble: back off, put the baseline back, go on; give up after a few in a row. */
static bool survive(struct run *run, struct err *err)
{
    if (err->class != ERR_TARGET || is_missing_program(err) ||
        ++run->target_failures >= TARGET_TRIES) {
        return false;
    }
    log_err(LOG_WARN, err);
    log_line(LOG_WARN, "target trouble %d of %d: trying again in %d s", run->target_failures,
             TARGET_TRIES, 5 * run->target_failures);
    clock_sleep_until(clock_deadline_ms(5000LL * run->target_failures));
    err_clear(err);
    return stop_asked() != 0 ? err_set(err, ERR_CODE_stopped, "a stop was asked")
                             : target_restore(&run->plan.target, err);
}

/* What is left of this call's own time; 0: it has no limit. */
static int64_t time_left_ms(const struct run *run)
{
    int64_t left_ms = (run->end_ns - clock_now_ns()) / NS_PER_MS - MARGIN_MS;
    return run->end_ns == CLOCK_NEVER ? 0 : left_ms > 1 ? left_ms : 1;
}

/* Whether it was this call's time that ended the sweep: without it there would be more to do. */
static bool time_ended_it(struct run *run, const struct history *history, bool *out,
                          struct err *err)
{
    struct history timeless = *history;
    struct proposal next = {.done = true};
    timeless.until_ms = 0;
    bool ok = history->until_ms == 0 || strategy_next(&run->plan.sweep.strategy, &run->plan.grid,
                                                      &timeless, &run->arena, &next, err);
    *out = !next.done;
    return ok;
}

/* What the strategy says, or the baseline again. */
static bool choose_next(struct run *run, const struct run_history *past, struct proposal *out,
                        int64_t *out_remaining, struct err *err)
{
    const struct plan *plan = &run->plan;
    const struct strategy_spec *spec = &plan->sweep.strategy;
    if (run->options->baseline_runs > 0) {
        run_history_next_baseline(plan, past, run->options->baseline_runs, out, out_remaining);
        return true;
    }
    *out_remaining = strategy_remaining(spec, &plan->grid, &past->history);
    return strategy_next(spec, &plan->grid, &past->history, &run->arena, out, err);
}

static bool run_trials(struct run *run, struct err *err)
{
    static const char *const too_short = "the time left is too short for another trial";
    const struct plan *plan = &run->plan;
    while (true) {
        struct run_history past;
        struct proposal next;
        int64_t remaining = 0;
        arena_reset(&run->arena);
        if (stop_asked() != 0) {
            return err_set(err, ERR_CODE_stopped, "stopped by signal %d", stop_asked());
        }
        if (!run_history_load(plan, &run->arena, &past, err)) {
            return false;
        }
        past.history.until_ms = time_left_ms(run);
        if (!choose_next(run, &past, &next, &remaining, err)) {
            return false;
        }
        if (next.done) {
            bool by_time = false;
            return time_ended_it(run, &past.history, &by_time, err) &&
                   (!by_time || err_set(err, ERR_CODE_budget, "%s", too_short));
        }
        bool is_over =
            run->options->trial_limit > 0 && run->trials_this_call >= run->options->trial_limit;
        if (is_over || time_is_up(run, &past)) {
            return err_set(err, ERR_CODE_budget, "%s",
                           is_over ? "the trials asked for are done" : too_short);
        }
        announce_trial(run, &past, &next, remaining);
        if (!record_trial(run, &past, &next, err) && !survive(run, err)) {
            return false;
        }
    }
}

/* ---- before and after ---- */

/* Local HH:MM, the next one to come. */
static bool parse_until(const char *text, int64_t *out_ns, struct err *err)
{
    int hour = 0;
    int minute = 0;
    char rest = '\0';
    if (sscanf(text, "%2d:%2d%c", &hour, &minute, &rest) != 2 || hour < 0 || hour > 23 ||
        minute < 0 || minute > 59) {
        err_set(err, ERR_CODE_usage, "--until takes a local time such as 07:00, not \"%s\"", text);
        return err_hint(err, "give hours and minutes, 00:00 to 23:59");
    }
    time_t now = (time_t)(clock_wall_us() / 1000000);
    struct tm local;
    localtime_r(&now, &local);
    local.tm_hour = hour;
    local.tm_min = minute;
    local.tm_sec = 0;
    local.tm_isdst = -1;
    time_t then = mktime(&local);
    if (then <= now) {
        local.tm_mday++;
        local.tm_hour = hour;
        local.tm_min = minute;
        local.tm_isdst = -1;
        then = mktime(&local);
    }
    *out_ns = clock_now_ns() + (int64_t)(then - now) * NS_PER_S;
    return true;
}

static bool read_limits(struct run *run, struct err *err)
{
    run->end_ns = CLOCK_NEVER;
    if (run->options->until != NULL && !parse_until(run->options->until, &run->end_ns, err)) {
        return false;
    }
    if (run->options->budget_ms > 0) {
        int64_t by_budget = clock_deadline_ms(run->options->budget_ms);
        run->end_ns = by_budget < run->end_ns ? by_budget : run->end_ns;
    }
    return true;
}

/* "default": nothing for read-only work, a copy of the file for embedded databases, a reload for
 * servers, whose data directory may hold more than the workload's tables. */
static bool resolve_reset(struct run *run, struct err *err)
{
    const struct sweep *sweep = &run->plan.sweep;
    const char *asked = sweep->workload.reset;
    if (strcmp(asked, "default") == 0) {
        bool is_dirty = workload_writes(&sweep->workload);
        asked = !is_dirty ? "none" : sweep->backend->embedded ? "snapshot" : "reload";
    }
    if (strcmp(asked, "snapshot") == 0 && sweep->backend->snapshot == NULL) {
        err_set(err, ERR_CODE_unsupported, "backend %s cannot copy its data files",
                sweep->backend->name);
        return err_hint(err, "use workload.reset = \"reload\"");
    }
    run->setup.reset = asked;
    return true;
}

static void note_progress(void *context, const char *text)
{
    struct run *run = context;
    console_note(&run->console, text);
}

/* Loads the workload's data once, under the baseline. Refuses foreign tables before anything of
 * the target is changed. */
static bool prepare_data(struct run *run, struct err *err)
{
    struct plan *plan = &run->plan;
    const struct workload *workload = workload_find(plan->sweep.workload.kind);
    if (workload == NULL || workload->prepare == NULL) {
        return true;
    }
    bool is_dirty = strcmp(run->setup.reset, "snapshot") == 0;
    struct load_job job = {.operation = is_dirty ? LOAD_RESET : LOAD_PREPARE,
                           .workload = plan->sweep.workload,
                           .backend = plan->sweep.backend->name,
                           .session_name = plan->sweep.target.session,
                           .session = {.connect = sweepfile_session_connect(&plan->sweep),
                                       .password = plan->sweep.target.password,
                                       .application = "dbsweep"}};
    struct load_progress progress = {.context = run, .note = note_progress};
    console_stage(&run->console, "prepare", "loads the workload's data", 0);
    const struct load_place *first = &run->setup.load_hosts.places[0];
    if (!load_run(first->host, first->program, &job,
                  clock_deadline_ms(job.workload.prepare_timeout_ms), &progress, &run->arena, NULL,
                  err)) {
        return err_while(err, "preparing the workload's data");
    }
    return true;
}

static bool open_load_hosts(struct run *run, struct err *err)
{
    run->setup.ceilings_per_s =
        ARENA_ARRAY(&run->plan.arena, double, run->plan.grid.condition_count + 1);
    run->setup.debts_pct =
        ARENA_ARRAY(&run->plan.arena, double, run->plan.grid.condition_count + 1);
    if (run->setup.ceilings_per_s == NULL || run->setup.debts_pct == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < run->plan.grid.condition_count; i++) {
        run->setup.debts_pct[i] = NAN;
    }
    return load_hosts_open(&run->plan.sweep, &run->plan.arena, &run->setup.load_hosts, err);
}

static bool begin_run(struct run *run, struct err *err)
{
    struct plan *plan = &run->plan;
    return read_limits(run, err) && plan_read(plan, run->options->sweep_file, err) &&
           resolve_reset(run, err) && plan_recover(plan, err) && plan_probe(plan, false, err) &&
           plan_compare(plan, run->options->fresh, err) && open_load_hosts(run, err) &&
           plan_open_store(plan, err) && target_lock(&plan->target, plan->sweep.store_path, err) &&
           prepare_data(run, err) && plan_begin(plan, run->options->fresh, err);
}

/* Noise that aa would refuse is told to those who did not ask. */
static bool warn_of_noise(struct run *run, struct err *err)
{
    struct noise noise;
    if (run->options->baseline_runs > 0) {
        return true;
    }
    if (!noise_load(run->plan.store, false, &run->plan.arena, &noise, err)) {
        return false;
    }
    if (noise.runs >= NOISE_LEAST_RUNS && 100 * noise.sd > NOISE_LIMIT_PCT) {
        log_line(LOG_WARN,
                 "runs of the baseline differ by %.3g %% (standard deviation, %zu runs): small "
                 "gains will not be seen; `dbsweep aa` says more",
                 100 * noise.sd, noise.runs);
    }
    return true;
}

/* What ending trials early came to, over all calls. */
static void announce_saved(const struct plan *plan)
{
    struct err err;
    int64_t count = 0;
    double saved_s = 0;
    char span[CLOCK_SPAN_BYTES];
    err_clear(&err);
    if (!store_saved(plan->store, plan->sweep_id, &count, &saved_s, &err)) {
        log_err(LOG_WARN, &err); /* a missing figure must not hide how the sweep ended */
        return;
    }
    if (count > 0) {
        clock_format_span((int64_t)(saved_s * 1000), span, sizeof span);
        log_line(LOG_INFO, "%lld trials of this sweep were ended early, which saved %s",
                 (long long)count, span);
    }
}

/* The server as it was found runs with the baseline. */
static void know_running(struct run *run)
{
    const struct grid *grid = &run->plan.grid;
    bool is_found = grid->point_count > 0 && grid->points[0].baseline;
    run->setup.running = is_found && !run->plan.target.is_touched ? &grid->points[0] : NULL;
}

static void tell_spared(const struct run *run)
{
    const struct trial_setup *setup = &run->setup;
    if (setup->spared_count == 0) {
        return;
    }
    if (setup->restart_count == 0) {
        log_line(LOG_INFO, "%lld restarts were spared", (long long)setup->spared_count);
        return;
    }
    double minutes = (double)setup->spared_count * (double)setup->restart_ns /
                     (double)setup->restart_count / 60e9;
    log_line(LOG_INFO, "%lld restarts were spared, about %.1f minutes",
             (long long)setup->spared_count, minutes);
}

/* The restore comes first and is never skipped; its failure outweighs what ended the run. */
static bool end_run(struct run *run, bool ok, struct err *err)
{
    struct plan *plan = &run->plan;
    struct err back;
    err_clear(&back);
    stop_clear();
    stop_hold();
    if (run->is_begun) {
        console_stage(&run->console, "restore", "puts the baseline back and proves it", 0);
        bool is_back = target_restore(&plan->target, &back) && target_tidy(&plan->target, &back);
        if (!is_back) {
            log_err(LOG_ERROR, ok ? &back : err);
            *err = back;
            ok = false;
        }
        struct err lost;
        err_clear(&lost);
        const char *status = ok ? "done" : err->class == ERR_STOP ? "stopped" : "failed";
        if (!store_call_end(plan->store, plan->call_id, status, ok ? NULL : err, &lost) && ok) {
            *err = lost;
            ok = false;
        }
        notify_end(plan, status, ok ? NULL : err);
        announce_saved(plan);
        if (!is_back) {
            plan->target.is_locked = false; /* the lock stays until `dbsweep restore` worked */
        }
    }
    stop_release();
    return ok;
}

bool sweep_run(const struct run_options *options, int64_t *out_failed, struct err *err)
{
    struct run run = {.options = options};
    run.setup = (struct trial_setup){.plan = &run.plan, .console = &run.console};
    arena_open(&run.arena, TRIAL_ARENA_BYTES);
    console_open(&run.console);
    run.is_begun = begin_run(&run, err);
    if (options->baseline_runs > 0) {
        run.plan.sweep.between.restart = "always";
    }
    know_running(&run);
    bool ok = run.is_begun && warn_of_noise(&run, err) && run_trials(&run, err);
    tell_spared(&run);
    ok = end_run(&run, ok, err);
    *out_failed = run.failed_count;
    console_close(&run.console);
    load_hosts_close(&run.setup.load_hosts);
    plan_drop_store(&run.plan);
    plan_close(&run.plan);
    arena_close(&run.arena);
    return ok;
}
