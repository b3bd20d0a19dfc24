/*
 * The row of MySQL and MariaDB in the array of backends. What each function does stands in the
 * file of its job; server.h lists them.
 */
#include <string.h>

#include "backends/mysql/connection.h"
#include "backends/mysql/mysql.h"
#include "backends/mysql/server.h"

static bool my_backend_open(struct server *server, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct connect_words words;
    const struct target_spec *spec = server->spec;
    const char *apply = spec->apply != NULL ? spec->apply : "edit";
    arena_open(&scratch, MY_SCRATCH_BYTES);
    if (strcmp(apply, "edit") != 0) {
        err_set(err, ERR_CODE_unsupported, "apply = \"%.40s\" is not possible with MySQL", apply);
        return err_hint(err, "apply = \"edit\" changes an option file");
    }
    if (spec->connect == NULL) {
        err_set(err, ERR_CODE_unsupported, "no connection is named");
        return err_hint(err, "connect = \"host=... user=... dbname=...\"");
    }
    if (!connect_words_parse(spec->connect, &scratch, &words, err)) {
        return false;
    }
    server->state = ARENA_NEW(server->arena, struct my_state);
    return server->state != NULL || err_memory(err);
}

static void my_backend_close(struct server *server)
{
    server->state = NULL;
}

/* A point is also emitted for a server that is not open. */
static bool my_render(const struct server *server, struct bytes baseline,
                      const struct setting *settings, size_t setting_count, struct arena *arena,
                      struct bytes *out, struct err *err)
{
    struct option_groups groups;
    if (server->state != NULL && my_state_of(server)->groups.count > 0) {
        groups = my_state_of(server)->groups;
    } else {
        option_groups_of(server->facts.product, server->facts.version, NULL, &groups);
    }
    return option_render(baseline, server->facts.config_path, &groups, settings, setting_count,
                         arena, out, err);
}

const struct backend mysql_backend = {
    .name = "mysql",
    .title = "MySQL and MariaDB",
    .system = "mysql",
    .open = my_backend_open,
    .close = my_backend_close,
    .probe = my_probe,
    .stop = my_stop,
    .start = my_start,
    .ready = my_ready,
    .read_back = my_read_back,
    .render = my_render,
    .overrides = my_overrides,
    .reload = my_reload,
    .slow_knobs = my_slow_knobs,
    .prewarm = my_prewarm,
    .counters = my_counters,
    .work = my_work,
    .log_knobs = my_log_knobs,
    .log_mark = my_log_mark,
    .log_tail = my_log_tail,
    .snapshot = my_snapshot,
    .rollback = my_rollback,
    .mend = my_snapshot_mend,
    .snapshot_drop = my_snapshot_drop,
    .data_size = my_data_size,
    .library = my_library,
    .session = &mysql_session,
};
