/*
 * What is asked before a sweep touches anything: whether the programs that its file names are
 * there, and whether other layers of configuration beat the file that is edited.
 */
#include <string.h>

#include "sweeper/load_host.h"
#include "sweeper/target.h"

enum { ASK_TIMEOUT_MS = 30000 };

static bool check_layers(struct target *target, struct err *err)
{
    const struct backend *backend = target->sweep->backend;
    if (backend->overrides == NULL) {
        return true;
    }
    struct setting *settings = ARENA_ARRAY(target->arena, struct setting, target->row_count + 1);
    if (settings == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < target->row_count; i++) {
        settings[i] =
            (struct setting){.knob = target->rows[i].knob, .value = target->found[i].value};
    }
    return backend->overrides(&target->server, settings, target->row_count,
                              clock_deadline_ms(ASK_TIMEOUT_MS), err);
}

/* A program that is not there would fail every point, one by one. */
static bool check_program(const struct target *target, struct host *host, const char *section,
                          const char *key, const char *const *argv, struct err *err)
{
    static const char script[] = "case $1 in\n"
                                 "*/*) [ -f \"$1\" ] && [ -x \"$1\" ] ;;\n"
                                 "*) command -v \"$1\" >/dev/null ;;\n"
                                 "esac\n";
    struct host_result result = {0};
    if (argv == NULL || strchr(argv[0], '{') != NULL) { /* a placeholder is known later */
        return true;
    }
    const char *const words[] = {"/bin/sh", "-c", script, "dbsweep", argv[0], NULL};
    const struct host_command command = {
        .argv = words, .deadline = clock_deadline_ms(ASK_TIMEOUT_MS), .until_stop = true};
    if (!host_run(host, &command, target->arena, &result, err)) {
        return false;
    }
    if (result.exit_status == 0 || result.timed_out) {
        return true;
    }
    err_set(err, ERR_CODE_not_found, "%s.%s: there is no program %.300s on %s", section, key,
            argv[0], host->is_local ? "this machine" : host->label);
    err_origin(err, "%s:%d", target->sweep->path, sweepfile_line(target->sweep, section, key));
    return err_hint(err, "give its whole path, or install it");
}

static bool check_server_programs(const struct target *target, struct err *err)
{
    const struct target_spec *spec = &target->sweep->target;
    return target->sweep->backend->embedded ||
           (check_program(target, target->host, "target", "stop", spec->stop, err) &&
            check_program(target, target->host, "target", "start", spec->start, err) &&
            check_program(target, target->host, "target", "restart", spec->restart, err));
}

/* These run where dbsweep does. */
static bool check_load_programs(const struct target *target, struct err *err)
{
    const struct workload_spec *workload = &target->sweep->workload;
    struct load_hosts hosts = {0};
    if (!load_hosts_open(target->sweep, target->arena, &hosts, err)) {
        return false;
    }
    struct host *first = hosts.places[0].host;
    bool ok =
        check_program(target, first, "workload", "command", workload->command, err) &&
        check_program(target, first, "workload", "reset_command", workload->reset_command, err);
    load_hosts_close(&hosts);
    return ok;
}

bool target_preflight(struct target *target, struct err *err)
{
    return check_server_programs(target, err) && check_load_programs(target, err) &&
           check_layers(target, err);
}
