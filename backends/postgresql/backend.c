/*
 * PostgreSQL's row in the array of backends. What each function does stands in the file of its
 * job; server.h lists them.
 */
#include <string.h>

#include "backends/postgresql/conf.h"
#include "backends/postgresql/connection.h"
#include "backends/postgresql/postgresql.h"
#include "backends/postgresql/server.h"

static bool pg_backend_open(struct server *server, struct err *err)
{
    const struct target_spec *spec = server->spec;
    const char *apply = spec->apply != NULL ? spec->apply : "edit";
    if (strcmp(apply, "edit") != 0 && strcmp(apply, "sql") != 0) {
        err_set(err, ERR_CODE_unsupported, "apply = \"%.40s\" is not possible with PostgreSQL",
                apply);
        return err_hint(err, "apply = \"edit\" changes postgresql.conf, \"sql\" the file of "
                             "ALTER SYSTEM");
    }
    if (spec->connect == NULL) {
        err_set(err, ERR_CODE_unsupported, "no connection is named");
        return err_hint(err, "connect = \"host=... dbname=... user=...\"");
    }
    if (!connection_check(spec->connect, err)) {
        return false;
    }
    server->state = ARENA_NEW(server->arena, struct pg_state);
    return server->state != NULL || err_memory(err);
}

static void pg_backend_close(struct server *server)
{
    server->state = NULL;
}

static bool pg_render(const struct server *server, struct bytes baseline,
                      const struct setting *settings, size_t setting_count, struct arena *arena,
                      struct bytes *out, struct err *err)
{
    return conf_render(baseline, server->facts.config_path, settings, setting_count, arena, out,
                       err);
}

const struct backend postgresql_backend = {
    .name = "postgresql",
    .title = "PostgreSQL",
    .system = "postgresql",
    .open = pg_backend_open,
    .close = pg_backend_close,
    .probe = pg_probe,
    .stop = pg_stop,
    .start = pg_start,
    .ready = pg_ready,
    .read_back = pg_read_back,
    .render = pg_render,
    .overrides = pg_overrides,
    .reload = pg_reload,
    .precheck = pg_precheck,
    .settle = pg_settle,
    .prewarm = pg_prewarm,
    .counters = pg_counters,
    .work = pg_work,
    .log_knobs = pg_log_knobs,
    .interval_knobs = pg_interval_knobs,
    .log_mark = pg_log_mark,
    .log_tail = pg_log_tail,
    .snapshot = pg_snapshot,
    .rollback = pg_rollback,
    .mend = pg_snapshot_mend,
    .snapshot_drop = pg_snapshot_drop,
    .data_size = pg_data_size,
    .library = connection_library,
    .session = &postgresql_session,
};
