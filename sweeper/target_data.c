/*
 * The copy of the data files: taken by the first trial of a run, put back before each later one.
 * An embedded database gets its bytes back from it at the end too, since nothing else tells them
 * from before the sweep.
 */
#include <sys/stat.h>

#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"
#include "sweeper/load/load.h"
#include "sweeper/target.h"

enum { COPY_TIMEOUT_MS = 600000, MARGIN_MS = 60000 };

/* The first call of a sweep's run takes the copy, later ones put it back. A copy that cannot be
 * made (a full disk) is no point's fault. */
bool target_reset_files(struct target *target, struct err *err)
{
    const struct backend *backend = target->sweep->backend;
    int64_t deadline = clock_deadline_ms(target->sweep->workload.prepare_timeout_ms);
    bool ok = target->has_snapshot ? backend->rollback(&target->server, deadline, err)
                                   : backend->snapshot(&target->server, deadline, err);
    target->has_snapshot = target->has_snapshot || ok;
    return ok || err->class != ERR_POINT ? ok : err_reclass(err, ERR_TARGET);
}

bool target_judge_data(struct target *target, struct err *err)
{
    const struct sweep *sweep = target->sweep;
    const char *path = target->server.facts.data_directory;
    struct store_history *rows = NULL;
    struct stat found;
    size_t count = 0;
    if (!target->is_touched || !sweep->backend->embedded || sweep->backend->rollback == NULL ||
        path == NULL || stat(path, &found) != 0) {
        return true;
    }
    if (!store_history_load(target->store, target->sweep_id, target->arena, &rows, &count, err)) {
        return false;
    }
    int64_t longest_ms = load_drive_limit_ms(&sweep->workload) + sweep->target.stop_timeout_ms +
                         sweep->target.ready_timeout_ms + MARGIN_MS;
    target->has_snapshot =
        count > 0 &&
        (int64_t)found.st_mtime < rows[count - 1].started_us / 1000000 + longest_ms / 1000;
    if (!target->has_snapshot) {
        log_line(LOG_INFO, "%s was used since: its data are left as they are", path);
    }
    return true;
}

void target_put_data(struct target *target)
{
    struct err err;
    err_clear(&err);
    if (target->has_snapshot &&
        !target->sweep->backend->rollback(&target->server, clock_deadline_ms(COPY_TIMEOUT_MS),
                                          &err) &&
        err.code != ERR_CODE_not_found) {
        log_err(LOG_WARN, &err);
    }
}

bool target_tidy(struct target *target, struct err *err)
{
    const struct backend *backend = target->sweep->backend;
    stop_hold();
    bool ok = backend->snapshot_drop == NULL ||
              backend->snapshot_drop(&target->server, clock_deadline_ms(COPY_TIMEOUT_MS), err) ||
              err_while(err, "removing the copy of the data files");
    target->has_snapshot = target->has_snapshot && !ok;
    ok = ok && (target->copy_path == NULL ||
                target->host->driver->remove(target->host, target->copy_path,
                                             clock_deadline_ms(COPY_TIMEOUT_MS), err));
    stop_release();
    return ok;
}
