/*
 * Trials without a restart. They save time and keep the caches of the trial before; a knob that
 * needs a restart is then measured over fewer starts than trials, which the flag "not-restarted"
 * says.
 */
#include <string.h>

#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"
#include "sweeper/trial.h"

enum { RELOAD_TIMEOUT_MS = 30000, TAKE_MS = 10000, POLL_MS = 50 };

static const struct value *value_of(const struct plan *plan, const struct point *point, size_t at)
{
    const struct value *value = &point->values[at];
    return value->kind == VALUE_BASELINE ? &plan->target.baseline_values[at] : value;
}

static bool has_changed(const struct trial *trial, size_t at)
{
    const struct plan *plan = trial->setup->plan;
    const struct point *next = &plan->grid.points[trial->point];
    const struct point *running = trial->setup->running;
    return plan->grid.swept[at].kind == SWEPT_KNOB &&
           !value_equal(plan->grid.swept[at].knob, value_of(plan, running, at),
                        value_of(plan, next, at));
}

static bool is_reloadable(const struct backend *backend, const struct knob *knob)
{
    const char *const *slow = backend->slow_knobs;
    for (; slow != NULL && *slow != NULL; slow++) {
        if (text_equal_nocase(*slow, knob->name)) {
            return false;
        }
    }
    return knob->apply == KNOB_RELOAD || knob->apply == KNOB_SESSION;
}

bool trial_must_restart(const struct trial *trial)
{
    const struct plan *plan = trial->setup->plan;
    const struct backend *backend = plan->sweep.backend;
    if (strcmp(plan->sweep.between.restart, "always") == 0 || backend->reload == NULL ||
        trial->setup->running == NULL || strcmp(trial->setup->reset, "snapshot") == 0) {
        return true;
    }
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        if (has_changed(trial, i) && !is_reloadable(backend, plan->grid.swept[i].knob)) {
            return true;
        }
    }
    return false;
}

/* Until every knob reads back as asked, or time is up. */
static bool wait_taken(struct trial *trial, bool *out_has_taken)
{
    struct plan *plan = trial->setup->plan;
    int64_t deadline = clock_deadline_ms(TAKE_MS);
    while (true) {
        struct err wrong;
        err_clear(&wrong);
        *out_has_taken = target_verify(&plan->target, &plan->grid.points[trial->point],
                                       trial->arena, trial->verified, &wrong);
        if (*out_has_taken || clock_passed(deadline)) {
            if (!*out_has_taken) {
                log_line(LOG_INFO, "the reload did not take effect, the server is restarted: %s",
                         wrong.text);
            }
            return true;
        }
        if (stop_asked() != 0) {
            return err_set(&trial->err, ERR_CODE_stopped, "a stop was asked during the reload");
        }
        clock_pause_until(clock_deadline_ms(POLL_MS));
    }
}

bool trial_reload_changed(struct trial *trial, bool *out_has_taken)
{
    struct plan *plan = trial->setup->plan;
    const struct point *next = &plan->grid.points[trial->point];
    size_t room = plan->grid.swept_count + 1;
    struct setting *settings = ARENA_ARRAY(trial->arena, struct setting, room);
    struct value *baseline = ARENA_ARRAY(trial->arena, struct value, room);
    size_t count = 0;
    struct err err;
    err_clear(&err);
    if (settings == NULL || baseline == NULL) {
        return err_memory(&trial->err);
    }
    for (size_t i = 0; i < plan->grid.swept_count; i++) {
        if (has_changed(trial, i)) {
            baseline[count] = plan->target.baseline_values[i];
            settings[count++] =
                (struct setting){.knob = plan->grid.swept[i].knob, .value = next->values[i]};
        }
    }
    *out_has_taken = count == 0;
    trial->setup->running = NULL; /* until it is verified */
    if (count == 0) {
        return true;
    }
    plan->target.is_set_live = true;
    if (!plan->sweep.backend->reload(&plan->target.server, settings, baseline, count,
                                     clock_deadline_ms(RELOAD_TIMEOUT_MS), &err)) {
        log_err(LOG_INFO, &err); /* a restart shows whether the point is to blame */
        return true;
    }
    return wait_taken(trial, out_has_taken);
}
