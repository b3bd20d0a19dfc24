/*
 * `dbsweep load KIND OPERATION`: a workload alone against a running server, as a benchmark tool of
 * its own. The same worker, driver and frames as in a sweep.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/base/json.h"
#include "sweeper/base/log.h"
#include "sweeper/commands.h"
#include "sweeper/console.h"
#include "sweeper/load/workload.h"
#include "sweeper/load_report.h"
#include "sweeper/sweepfile.h"

enum { ARENA_BYTES = 256 << 20 };

static bool find_operation(const char *name, enum load_operation *out, struct err *err)
{
    static const struct {
        const char *name;
        enum load_operation operation;
    } rows[] = {{"prepare", LOAD_PREPARE},
                {"run", LOAD_DRIVE},
                {"check", LOAD_CHECK_ALL},
                {"cleanup", LOAD_CLEANUP}};
    const char *names[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            *out = rows[i].operation;
            return true;
        }
        names[i] = rows[i].name;
    }
    const char *near = text_nearest(name, names, COUNT_OF(names));
    err_set(err, ERR_CODE_usage, "there is no load operation \"%s\"", name);
    return near != NULL ? err_hint(err, "did you mean \"%s\"?", near)
                        : err_hint(err, "prepare, run, check or cleanup");
}

/* "warm_up" -> "--warm-up: ...", as it was given. */
static bool fail_key(const char *key, struct err *err)
{
    char option[64];
    snprintf(option, sizeof option, "--%s", key);
    for (char *at = option; *at != '\0'; at++) {
        *at = (char)(*at == '_' ? '-' : *at);
    }
    return err_origin(err, "%s", option);
}

static bool read_workload(const struct cli *cli, struct workload_spec *out, struct arena *arena,
                          struct err *err)
{
    const char *kind = cli->operands[0];
    if (!workload_kind_exists(kind)) {
        const char *near = workload_nearest_kind(kind);
        err_set(err, ERR_CODE_usage, "there is no workload \"%s\"", kind);
        return err_hint(err, near != NULL ? "did you mean \"%s\"?" : "%s",
                        near != NULL ? near : "oltp, tpcc, insert, script or command");
    }
    if (!workload_defaults(out, arena, err)) {
        return false;
    }
    out->kind = kind;
    for (size_t i = 0; i < cli->value_count; i++) {
        /* Workload keys arrive under their own names, the command's options with their dashes. */
        bool is_key = !text_starts_with(cli->values[i].name, "--");
        if (is_key && !workload_set(out, cli->values[i].name, cli->values[i].text, arena, err)) {
            return fail_key(cli->values[i].name, err);
        }
    }
    return (strcmp(kind, "script") != 0 || workload_read_scripts(out, "", arena, err)) &&
           workload_check_spec(out, err);
}

static bool read_job(const struct cli *cli, struct load_job *out, struct arena *arena,
                     struct err *err)
{
    const char *backend = cli_text(cli, "--backend");
    const char *session = cli_text(cli, "--session");
    if (!find_operation(cli->operands[1], &out->operation, err) ||
        !read_workload(cli, &out->workload, arena, err) ||
        !sweepfile_password(cli_text(cli, "--password-env"), cli_text(cli, "--password-file"),
                            arena, &out->session.password, err)) {
        return false;
    }
    out->session_name = session;
    out->backend = backend != NULL ? backend : "";
    out->session.connect = cli_text(cli, "--connect");
    out->session.application = "dbsweep";
    if (workload_find(out->workload.kind)->drive != NULL) {
        return true;
    }
    if (backend == NULL || backend_find(backend) == NULL) {
        const char *near = backend != NULL ? backend_nearest(backend) : NULL;
        err_set(err, ERR_CODE_usage,
                backend != NULL ? "there is no backend \"%s\"" : "--backend is missing%s",
                backend != NULL ? backend : "");
        return near != NULL ? err_hint(err, "did you mean \"%s\"?", near)
                            : err_hint(err, "--backend postgresql, mysql or sqlite");
    }
    if (out->session.connect == NULL) {
        err_set(err, ERR_CODE_usage, "--connect is missing");
        return err_hint(err, "--connect 'host=... dbname=...', or the path of an SQLite file");
    }
    const struct session_driver *sessions = backend_session(backend_find(backend), session);
    return sessions == NULL || workload_examine(&out->workload, sessions->dialect, err);
}

/* Where what the worker says goes: a check's findings are its result, all else is progress. */
struct teller {
    struct console console;
    bool is_checking;
    bool is_json;
    struct json json; /* an array that is open while is_checking && is_json */
    struct text *out;
};

static void say_note(void *context, const char *text)
{
    struct teller *teller = context;
    if (!teller->is_checking) {
        console_note(&teller->console, text);
    } else if (teller->is_json) {
        json_string(&teller->json, text);
    } else {
        text_addf(teller->out, "%s\n", text);
    }
}

static void open_teller(struct teller *teller, const struct load_job *job, const char *format,
                        struct text *out)
{
    *teller = (struct teller){.is_checking = job->operation == LOAD_CHECK_ALL,
                              .is_json = strcmp(format, "json") == 0,
                              .out = out};
    console_open(&teller->console);
    if (teller->is_checking && teller->is_json) {
        json_open(&teller->json, out);
        json_object_begin(&teller->json);
        json_key(&teller->json, "holds");
        json_array_begin(&teller->json);
    }
}

static void close_teller(struct teller *teller)
{
    if (teller->is_checking && teller->is_json) {
        json_array_end(&teller->json);
        json_object_end(&teller->json);
        text_add(teller->out, "\n");
    }
    console_close(&teller->console);
}

static void say_second(void *context, const struct load_second *second)
{
    static const char *const phases[] = {"warm-up", "measure", "drain"};
    (void)context;
    log_line(LOG_INFO, "%s %u s: %.1f/s, p99 %.3f ms, %llu errors", phases[second->phase],
             second->index + 1, second->throughput_per_s, second->p99_ms,
             (unsigned long long)second->error_count);
}

static bool run_job(const struct load_job *job, const char *format, struct arena *arena,
                    struct text *out, struct err *err)
{
    struct host *here = NULL;
    struct load_result result = {0};
    struct teller teller;
    struct load_progress progress = {.context = &teller, .note = say_note, .second = say_second};
    int64_t limit_ms = job->operation == LOAD_DRIVE ? load_drive_limit_ms(&job->workload)
                                                    : job->workload.prepare_timeout_ms;
    open_teller(&teller, job, format, out);
    bool ok =
        host_open(NULL, CLOCK_NEVER, &here, err) &&
        load_run(here, NULL, job, clock_deadline_ms(limit_ms), &progress, arena, &result, err);
    host_close(here);
    close_teller(&teller);
    return ok && (job->operation != LOAD_DRIVE || load_report(&result, format, arena, out, err));
}

int command_load(const struct cli *cli)
{
    struct arena arena;
    struct text out;
    struct err err;
    struct load_job job = {0};
    err_clear(&err);
    arena_open(&arena, ARENA_BYTES);
    text_open(&out, &arena);
    bool ok = read_job(cli, &job, &arena, &err) &&
              run_job(&job, cli_text(cli, "--format"), &arena, &out, &err);
    const char *text = ok ? text_done(&out) : NULL;
    if (ok && text == NULL) {
        ok = err_memory(&err);
    }
    int status = ok ? command_print(text) : command_fail(&err);
    arena_close(&arena);
    return status;
}
