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
    log_line(LOG_INFO, failed > 0 ? "finished; %lld trials failed" : "finished", (long long)failed);
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

static bool read_from_file(struct plan *plan, const char *path, struct store_sweep *kept,
                           struct err *err)
{
    if (!plan_read(plan, path, err)) {
        return false;
    }
    if (access(plan->sweep.store_path, F_OK) != 0) {
        err_set(err, ERR_CODE_not_found, "the sweep's store %s does not exist",
                plan->sweep.store_path);
        return err_hint(err, "without a store nothing was ever changed by this sweep");
    }
    return store_open(plan->sweep.store_path, STORE_WRITE, &plan->store, err) &&
           store_sweep_latest(plan->store, &plan->arena, kept, err);
}

static bool restore_plan(struct plan *plan, const struct store_sweep *kept, bool *out_touched,
                         struct err *err)
{
    bool found = false;
    if (!target_open(&plan->target, &plan->sweep, &plan->arena, err) ||
        !target_recall(&plan->target, plan->store, kept, &found, err)) {
        return false;
    }
    *out_touched = found && plan->target.is_touched;
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
    bool was_touched = false;
    const char *path = cli->operands[0];
    err_clear(&err);
    bool ok = is_store(path) ? read_from_store(&plan, path, &kept, &err)
                             : read_from_file(&plan, path, &kept, &err);
    ok = ok && restore_plan(&plan, &kept, &was_touched, &err);
    if (ok) {
        log_line(LOG_INFO, was_touched ? "the baseline is back: file, server and every swept "
                                         "knob are as found"
                                       : "the baseline was in place and is proved");
    }
    int status = ok ? 0 : command_fail_target(&err);
    plan_close(&plan);
    return status;
}
