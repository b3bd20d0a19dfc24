/*
 * Asking for the end is not the end: a server is waited for until it is gone, and never killed.
 */
#include "backends/stop.h"

#include "sweeper/base/stop.h"

enum { POLL_MS = 50, LOOK_MS = 3000 };

bool stop_is_restart(const struct server *server)
{
    const struct target_spec *spec = server->spec;
    return spec->restart != NULL && (spec->stop == NULL || spec->start == NULL);
}

/* A look gets time of its own: one whose deadline had passed would see nothing, and seeing nothing
 * is not seeing that it is gone. */
static bool look(const struct stop_watch *watch, bool *out_gone, struct err *err)
{
    *out_gone = false;
    return watch->look(watch, clock_deadline_ms(LOOK_MS), out_gone, err);
}

static bool wait_until_gone(const struct stop_watch *watch, int64_t deadline, struct err *err)
{
    while (true) {
        bool is_last = clock_passed(deadline);
        bool gone = false;
        if (!look(watch, &gone, err)) {
            return false;
        }
        if (gone) {
            return true;
        }
        if (stop_asked() != 0) {
            return err_set(err, ERR_CODE_stopped, "a stop was asked while the server ended");
        }
        if (is_last) {
            err_set(err, ERR_CODE_stop_failed, "the server (process %ld) still runs", watch->pid);
            return err_hint(err, "give target.stop_timeout more time; it is never killed");
        }
        clock_sleep_until(clock_now_ns() + POLL_MS * NS_PER_MS);
    }
}

/* Such as a server that is still starting: it lets nobody in who could ask it to end. */
static bool fail_stop(const struct stop_watch *watch, const struct host_result *result,
                      struct err *err)
{
    char said[400];
    if (result->error_size > 0) {
        host_last_words(result->error_text, result->error_size, said, sizeof said);
    } else {
        host_last_words(result->output, result->output_size, said, sizeof said);
    }
    err_set(err, ERR_CODE_stop_failed, "the stop command exited with status %d: %s",
            result->exit_status, said);
    err_native(err, result->exit_status, "exit");
    if (watch->pid == 0) {
        return err_hint(err, "see target.stop, and whether the server still runs");
    }
    return err_hint(err,
                    "the server (process %ld) still runs; if it never ends, end it by hand, "
                    "then `dbsweep restore`",
                    watch->pid);
}

bool stop_await(const struct stop_watch *watch, const struct host_result *result, int64_t deadline,
                struct err *err)
{
    bool gone = false;
    if (result->exit_status == 0 || result->timed_out) {
        return wait_until_gone(watch, deadline, err);
    }
    return look(watch, &gone, err) && (gone || fail_stop(watch, result, err));
}
