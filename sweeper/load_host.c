/*
 * Opening the load host. Versions are compared here, before anything is touched; the worker's own
 * first frame compares them again each time.
 */
#include "sweeper/load_host.h"

#include <string.h>

#include "sweeper/base/text.h"

enum { OPEN_MS = 30000, VERSION_MS = 15000 };

static bool check_version(struct host *host, const char *program, struct arena *arena,
                          struct err *err)
{
    struct host_result result;
    const char *const argv[] = {program, "version", NULL};
    const struct host_command command = {
        .argv = argv, .deadline = clock_deadline_ms(VERSION_MS), .as_is = true};
    const char *wanted = "dbsweep " DBSWEEP_VERSION "\n";
    if (!host_run(host, &command, arena, &result, err)) {
        return false;
    }
    if (result.timed_out) {
        err_set(err, ERR_CODE_host, "`%s version` did not answer in time", program);
        err_origin(err, "%s", host->label);
        return err_hint(err, "see whether that program is dbsweep");
    }
    if (result.exit_status == 0 && text_starts_with(result.output, wanted)) {
        return true;
    }
    const char *said = result.exit_status == 0 ? result.output : result.error_text;
    err_set(err, ERR_CODE_unsupported, "the load host has no dbsweep %s: `%s version` says: %.*s",
            DBSWEEP_VERSION, program, (int)strcspn(said, "\n"), said);
    err_origin(err, "%s", host->label);
    return err_hint(err, "install this version there, or name it: load_hosts = ( { ssh = ...; "
                         "program = \"/opt/dbsweep/bin/dbsweep\"; } );");
}

bool load_host_open(const struct sweep *sweep, struct arena *arena, struct host **out,
                    struct err *err)
{
    struct host *host = NULL;
    if (!host_open(sweep->has_load_host ? &sweep->load_host : NULL, clock_deadline_ms(OPEN_MS),
                   &host, err)) {
        return err_while(err, "opening the load host");
    }
    const char *program = sweep->load_program != NULL ? sweep->load_program : "dbsweep";
    if (!host->is_local && !check_version(host, program, arena, err)) {
        host_close(host);
        return false;
    }
    *out = host;
    return true;
}
