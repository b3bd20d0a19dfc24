/*
 * The commands that speak to a target: run and restore.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"
#include "sweeper/commands.h"
#include "sweeper/plan.h"
#include "sweeper/run.h"

int command_fail_target(struct err *err)
{
    if (err->class == ERR_POINT) {
        err_reclass(err, ERR_TARGET);
        if (err->hint[0] == '\0') {
            err_hint(err, "does the server run, and does target.connect reach it?");
        }
    }
    return command_fail(err);
}

int command_run(const struct cli *cli)
{
    struct err err;
    int64_t failed = 0;
    err_clear(&err);
    struct run_options options = {.sweep_file = cli->operands[0],
                                  .fresh = cli_has(cli, "--fresh"),
                                  .until = cli_text(cli, "--until")};
    if ((cli_has(cli, "--budget") && !cli_duration_ms(cli, "--budget", &options.budget_ms, &err)) ||
        (cli_has(cli, "--limit") && !cli_integer(cli, "--limit", &options.trial_limit, &err))) {
        return command_fail(&err);
    }
    if (!sweep_run(&options, &failed, &err)) {
        if (err.class == ERR_STOP) {
            log_line(LOG_INFO, "stopped: %s; the baseline is back; run again to go on", err.text);
            return err_exit_status(ERR_STOP);
        }
        return command_fail_target(&err);
    }
    log_line(LOG_INFO,
             failed == 1  ? "finished; %lld trial failed"
             : failed > 1 ? "finished; %lld trials failed"
                          : "finished",
             (long long)failed);
    return failed > 0 ? 1 : 0;
}

/* ---- restore ---- */

static bool is_store(const char *path)
{
    char head[16] = {0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_database = file >= 0 && read(file, head, sizeof head) == (ssize_t)sizeof head &&
                       memcmp(head, "SQLite format 3", 16) == 0;
    if (file >= 0) {
        close(file);
    }
    return is_database;
}

/* The store holds the sweep file as it was run: its text is all that a restore needs. */
static bool read_from_store(struct plan *plan, const char *path, struct store_sweep *kept,
                            struct err *err)
{
    memset(plan, 0, sizeof *plan);
    arena_open(&plan->arena, 256u << 20);
    if (!store_open(path, STORE_WRITE, &plan->store, err) ||
        !store_sweep_latest(plan->store, &plan->arena, kept, err)) {
        return false;
    }
    return sweepfile_parse(path, kept->file_text, &plan->arena, &plan->sweep, err) ||
           err_while(err, "reading the sweep file kept in the store");
}

/* A store that is not there was moved, or lost, or there never was one: what stands beside the
 * target tells. */
static bool fail_without_store(struct plan *plan, struct err *err)
{
    struct target_traces traces = {.store = NULL};
    struct err unseen;
    err_clear(&unseen);
    if (!target_open(&plan->target, &plan->sweep, &plan->arena, &unseen) ||
        !target_probe(&plan->target, &unseen)) {
        log_err(LOG_INFO, &unseen); /* a lock may stand beside what is known without it */
        err_clear(&unseen);
    }
    if (plan->target.is_open && !target_find_traces(&plan->target, &traces, &unseen)) {
        log_err(LOG_WARN, &unseen);
    }
    err_set(err, ERR_CODE_not_found, "the sweep's store %s does not exist%s",
            plan->sweep.store_path,
            traces.store != NULL || traces.copy_path != NULL
                ? ", but an interrupted sweep left its traces"
                : "");
    if (traces.store != NULL && traces.store[0] != '\0' && access(traces.store, F_OK) == 0) {
        return err_hint(err, "run `dbsweep restore %s`", traces.store);
    }
    if (traces.copy_path != NULL) {
        return err_hint(err,
                        "restore from where the store is now; if it is lost, copy %s over the "
                        "configuration and restart the server",
                        traces.copy_path);
    }
    return err_hint(err, "%s",
                    traces.store != NULL || !traces.is_known
                        ? "if it was moved, restore from where it is now"
                        : "no lock and no copy of a sweep are there: there is nothing to restore");
}

static bool read_from_file(struct plan *plan, const char *path, struct store_sweep *kept,
                           struct err *err)
{
    if (!plan_read(plan, path, err)) {
        return false;
    }
    if (access(plan->sweep.store_path, F_OK) != 0) {
        return fail_without_store(plan, err);
    }
    return store_open(plan->sweep.store_path, STORE_WRITE, &plan->store, err) &&
           store_sweep_latest(plan->store, &plan->arena, kept, err);
}

enum restored { NOTHING_KEPT, WAS_IN_PLACE, PUT_BACK };

static bool restore_plan(struct plan *plan, const struct store_sweep *kept, enum restored *out,
                         struct err *err)
{
    bool found = false;
    if (!target_open(&plan->target, &plan->sweep, &plan->arena, err) ||
        !target_recall(&plan->target, plan->store, kept, &found, err)) {
        return false;
    }
    *out = !found ? NOTHING_KEPT : plan->target.is_touched ? PUT_BACK : WAS_IN_PLACE;
    if (!found) {
        return true;
    }
    /* Even an untouched target is proved: the DBA who asks wants to know. */
    plan->target.is_touched = true;
    return target_lock(&plan->target, store_path(plan->store), err) &&
           target_restore(&plan->target, err) && target_tidy(&plan->target, err);
}

int command_restore(const struct cli *cli)
{
    struct plan plan = {0};
    struct store_sweep kept;
    struct err err;
    enum restored restored = NOTHING_KEPT;
    static const char *const said[] = {
        [NOTHING_KEPT] = ("the store holds no baseline, so its sweep changed no setting; nothing "
                          "was done, and nothing is proved"),
        [WAS_IN_PLACE] = "the baseline was in place and is proved",
        [PUT_BACK] = "the baseline is back: file, server and every swept knob are as found"};
    const char *path = cli->operands[0];
    err_clear(&err);
    bool ok = is_store(path) ? read_from_store(&plan, path, &kept, &err)
                             : read_from_file(&plan, path, &kept, &err);
    ok = ok && restore_plan(&plan, &kept, &restored, &err);
    if (ok) {
        log_line(LOG_INFO, "%s", said[restored]);
    }
    int status = ok ? 0 : command_fail_target(&err);
    plan_close(&plan);
    return status;
}
