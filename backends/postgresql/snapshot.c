/*
 * Copies of the data directory (backends/copy.h): what of it is no data, and what lies outside.
 */
#include "backends/copy.h"
#include "backends/postgresql/server.h"

static const char checks[] =
    "if [ -n \"$(find \"$data/pg_tblspc\" -mindepth 1 -print -quit)\" ]; then\n"
    "  refuse \"tablespaces lie outside of $data\"\n"
    "fi\n"
    "if [ -L \"$data/pg_wal\" ]; then refuse \"$data/pg_wal is a symbolic link\"; fi\n";

static struct data_copy copy_of(const struct server *server)
{
    return (struct data_copy){.host = server->host,
                              .directory = pg_data_directory(server),
                              .checks = checks,
                              .kept = "*.conf *.conf.* conf.d *dbsweep* log pg_log"};
}

static bool need_stopped(const struct server *server, int64_t deadline, struct err *err)
{
    struct pg_process process;
    if (!pg_process_find(server, deadline, &process, err)) {
        return false;
    }
    if (process.pid == 0) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "the data of a running server cannot be copied");
    return err_hint(err, "give target.stop and target.start instead of target.restart");
}

bool pg_snapshot_mend(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    return copy.directory == NULL || data_copy_mend(&copy, deadline, err);
}

bool pg_snapshot(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    return need_stopped(server, deadline, err) && data_copy_make(&copy, deadline, err);
}

bool pg_rollback(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    const char *const kept[] = {server->facts.config_path, server->facts.log_path,
                                pg_state_of(server)->start_log};
    return need_stopped(server, deadline, err) &&
           data_copy_put_back(&copy, kept, COUNT_OF(kept), deadline, err);
}

bool pg_snapshot_drop(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    return copy.directory == NULL || data_copy_drop(&copy, deadline, err);
}
