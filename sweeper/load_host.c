/*
 * Opening the load hosts. Versions are compared here, before anything is touched; the worker's own
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

static bool open_place(const struct load_host_spec *spec, struct arena *arena,
                       struct load_place *out, struct err *err)
{
    out->program = spec != NULL ? spec->program : NULL;
    if (!host_open(spec != NULL ? &spec->host : NULL, clock_deadline_ms(OPEN_MS), &out->host,
                   err)) {
        return err_while(err, "opening the load host");
    }
    const char *program = out->program != NULL ? out->program : "dbsweep";
    return out->host->is_local || check_version(out->host, program, arena, err);
}

bool load_hosts_open(const struct sweep *sweep, struct arena *arena, struct load_hosts *out,
                     struct err *err)
{
    size_t count = sweep->load_host_count > 0 ? sweep->load_host_count : 1;
    out->count = 0;
    out->places = ARENA_ARRAY(arena, struct load_place, count);
    if (out->places == NULL) {
        return err_memory(err);
    }
    out->count = count;
    for (size_t i = 0; i < count; i++) {
        const struct load_host_spec *spec =
            sweep->load_host_count > 0 ? &sweep->load_hosts[i] : NULL;
        if (!open_place(spec, arena, &out->places[i], err)) {
            load_hosts_close(out);
            return false;
        }
    }
    return true;
}

void load_hosts_close(struct load_hosts *hosts)
{
    for (size_t i = 0; i < hosts->count; i++) {
        host_close(hosts->places[i].host);
    }
    hosts->count = 0;
}
