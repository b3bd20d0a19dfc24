/*
 * Whose server it is. A sweep restarts its server again and again and changes its settings: not
 * one that follows another or that others follow, and not one whose supervisor would take each
 * stop for a failure and write the configuration anew. A supervisor is one that works now: its
 * files alone come along with every copy of the data.
 */
#include <string.h>

#include "backends/postgresql/server.h"
#include "sweeper/base/text.h"

/* Who may not see other users' rows sees them without a name. */
static const char role_statement[] =
    "select case"
    " when pg_is_in_recovery() then 'the server is a standby'"
    " when exists (select from pg_catalog.pg_stat_replication"
    "              where coalesce(application_name, '') !~ '^pg_basebackup')"
    " then 'other servers follow this one'"
    " else (select 'the server is in the hands of ' || application_name"
    "       from pg_catalog.pg_stat_activity"
    "       where application_name ~* '^(patroni|pg_auto_failover|repmgr|pgautofailover)' limit 1)"
    " end";

/* $1 is the data directory. Patroni keeps patroni.dynamic.json there, pg_auto_failover includes
 * postgresql-auto-failover.conf. A word of a command line is looked for, as Patroni runs in Python.
 */
static const char supervisor_script[] =
    "data=$1\n"
    "runs() { grep -qszx -e \"\\(.*/\\)\\{0,1\\}$1\" /proc/[0-9]*/cmdline; }\n"
    "if [ -e \"$data/patroni.dynamic.json\" ] && runs patroni; then\n"
    "  echo Patroni\n"
    "elif [ -e \"$data/postgresql-auto-failover.conf\" ] && runs pg_autoctl; then\n"
    "  echo pg_auto_failover\n"
    "fi\n";

static bool find_supervisor(const struct server *server, int64_t deadline, struct arena *arena,
                            const char **out, struct err *err)
{
    const char *said = NULL;
    const char *data = pg_data_directory(server);
    const char *const argv[] = {"/bin/sh", "-c", supervisor_script, "dbsweep", data, NULL};
    *out = NULL;
    if (data == NULL) {
        return true;
    }
    if (!host_ask(server->host, argv, deadline, arena, &said, err)) {
        return err_while(err, "looking for a supervisor of the server");
    }
    if (said != NULL && said[0] != '\0') {
        *out = arena_printf(arena, "the server is in the hands of %s", said);
        return *out != NULL || err_memory(err);
    }
    return true;
}

bool pg_role_refuse(const struct server *server, struct session *session, int64_t deadline,
                    struct arena *arena, struct err *err)
{
    const char *finding = NULL;
    if (!session_value(session, role_statement, deadline, arena, &finding, err)) {
        return err_while(err, "asking for the server's role");
    }
    if (finding == NULL && !find_supervisor(server, deadline, arena, &finding, err)) {
        return false;
    }
    if (finding == NULL) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "%s", finding);
    return err_hint(err, "sweep a server of its own, made from a copy of the data");
}
