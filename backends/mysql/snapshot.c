/*
 * Copies of the data directory (backends/copy.h): what of it is no data, and what lies outside.
 */
#include <string.h>

#include "backends/copy.h"
#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

static const char checks[] =
    "if [ -n \"$(find \"$data\" -mindepth 1 -maxdepth 2 -type l -print -quit)\" ]; then\n"
    "  refuse \"a symbolic link leads out of $data\"\n"
    "fi\n"
    "if [ -n \"$(find \"$data\" -mindepth 2 -maxdepth 2 -name '*.isl' -print -quit)\" ]; then\n"
    "  refuse \"tablespaces lie outside of $data\"\n"
    "fi\n";

static struct data_copy copy_of(const struct server *server)
{
    return (struct data_copy){.host = server->host,
                              .directory = my_data_directory(server),
                              .checks = checks,
                              .kept = "*.cnf *.cnf.* *.err *.pid *dbsweep*"};
}

static bool need_stopped(const struct server *server, int64_t deadline, struct err *err)
{
    struct my_process process;
    if (my_data_directory(server) == NULL) {
        err_set(err, ERR_CODE_unsupported, "the server's data directory is not known");
        return err_hint(err, "name it: target = { data_directory = \"/path\"; }");
    }
    if (!my_process_find(server, deadline, &process, err)) {
        return false;
    }
    if (process.pid == 0) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "the data of a running server cannot be copied");
    return err_hint(err, "give target.stop and target.start instead of target.restart");
}

/* Folders that belong to the data, as the server named them when it was probed. */
static bool need_all_inside(const struct server *server, struct err *err)
{
    const char *outside = my_state_of(server)->data_outside;
    if (outside == NULL) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "no copy of the data is possible: %s lies outside of %s",
            outside, my_data_directory(server));
    return err_hint(err, "workload.reset = \"reload\" or \"command\"");
}

bool my_snapshot(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    return need_stopped(server, deadline, err) && need_all_inside(server, err) &&
           data_copy_make(&copy, deadline, err);
}

bool my_rollback(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    const char *const kept[] = {server->facts.config_path, server->facts.log_path,
                                my_state_of(server)->start_log};
    return need_stopped(server, deadline, err) &&
           data_copy_put_back(&copy, kept, COUNT_OF(kept), deadline, err);
}

bool my_snapshot_mend(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    return copy.directory == NULL || data_copy_mend(&copy, deadline, err);
}

bool my_snapshot_drop(struct server *server, int64_t deadline, struct err *err)
{
    const struct data_copy copy = copy_of(server);
    return copy.directory == NULL || data_copy_drop(&copy, deadline, err);
}
