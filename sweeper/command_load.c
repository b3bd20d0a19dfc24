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
#include "sweeper/warm_up.h"

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
    struct arena *arena;
    struct text holds;           /* a check's findings, each with a NUL behind it */
    struct load_result rejected; /* of a drive that failed */
    bool has_rejected;
    const struct workload_spec *workload;
    struct warm_up warm_up;
};

static void say_note(void *context, const char *text)
{
    struct teller *teller = context;
    if (teller->is_checking) {
        text_add_bytes(&teller->holds, text, strlen(text) + 1);
    } else {
        console_note(&teller->console, text);
    }
}

static void keep_rejected(void *context, struct bytes result)
{
    struct teller *teller = context;
    struct err ignored; /* it is told without figures then */
    err_clear(&ignored);
    teller->has_rejected = load_result_decode(result, teller->arena, &teller->rejected, &ignored);
}

static bool is_warm(void *context)
{
    const struct teller *teller = context;
    return teller->warm_up.is_warm;
}

static void say_second(void *context, const struct load_second *second)
{
    static const char *const phases[] = {"warm-up", "measure", "drain"};
    struct teller *teller = context;
    struct err err;
    err_clear(&err);
    if (!warm_up_add(&teller->warm_up, teller->workload, second, &err)) {
        log_err(LOG_WARN, &err);
    }
    log_line(LOG_INFO, "%s %u s: %.1f/s, p99 %.3f ms, %llu errors", phases[second->phase],
             second->index + 1, second->throughput_per_s, second->p99_ms,
             (unsigned long long)second->error_count);
}

static bool run_job(const struct load_job *job, struct teller *teller, struct arena *arena,
                    struct load_result *out, struct err *err)
{
    struct host *here = NULL;
    struct load_progress progress = {
        .context = teller, .note = say_note, .second = say_second, .rejected = keep_rejected};
    int64_t limit_ms = job->operation == LOAD_DRIVE ? load_drive_limit_ms(&job->workload)
                                                    : job->workload.prepare_timeout_ms;
    teller->workload = &job->workload;
    warm_up_open(&teller->warm_up, &job->workload, arena);
    progress.is_warm = teller->warm_up.is_adaptive ? is_warm : NULL;
    console_open(&teller->console);
    bool ok = host_open(NULL, CLOCK_NEVER, &here, err) &&
              load_run(here, NULL, job, clock_deadline_ms(limit_ms), &progress, arena, out, err);
    host_close(here);
    console_close(&teller->console);
    if (ok && teller->warm_up.is_adaptive && !teller->warm_up.is_warm) {
        log_line(LOG_WARN, "the warm-up ended before it was steady");
    }
    return ok;
}

/* ---- what is printed ---- */

static void put_findings(const struct teller *teller, struct json *json, struct text *out)
{
    const char *at = teller->holds.data;
    const char *end = at + teller->holds.size;
    for (; at < end; at += strlen(at) + 1) {
        if (json != NULL) {
            json_string(json, at);
        } else {
            text_addf(out, "%s\n", at);
        }
    }
}

/* Of all that is no drive, and of a drive without figures: how it went. */
static void report_outcome(const struct teller *teller, bool is_json, const struct err *why,
                           struct text *out)
{
    struct json json;
    if (!is_json) {
        put_findings(teller, NULL, out);
        return;
    }
    json_open(&json, out);
    json_object_begin(&json);
    load_report_outcome(why, &json);
    if (teller->is_checking) {
        json_key(&json, "holds");
        json_array_begin(&json);
        put_findings(teller, &json, out);
        json_array_end(&json);
    }
    json_object_end(&json);
    text_add_char(out, '\n');
}

/* why: NULL, or what failed; what is known by then is printed all the same. */
static bool report(const struct load_job *job, const char *format, const struct teller *teller,
                   const struct load_result *result, const struct err *why, struct arena *arena,
                   struct text *out, struct err *err)
{
    bool is_drive = job->operation == LOAD_DRIVE;
    if (is_drive && (why == NULL || teller->has_rejected)) {
        return load_report(why == NULL ? result : &teller->rejected, format, why, arena, out, err);
    }
    report_outcome(teller, strcmp(format, "json") == 0, why, out);
    return !out->failed || err_memory(err);
}

int command_load(const struct cli *cli)
{
    struct arena arena;
    struct text out;
    struct err err;
    struct err failure;
    struct load_job job = {0};
    struct load_result result = {0};
    struct teller teller = {.arena = &arena};
    err_clear(&err);
    err_clear(&failure);
    arena_open(&arena, ARENA_BYTES);
    text_open(&out, &arena);
    text_open(&teller.holds, &arena);
    bool is_read = read_job(cli, &job, &arena, &failure);
    teller.is_checking = is_read && job.operation == LOAD_CHECK_ALL;
    bool ok = is_read && run_job(&job, &teller, &arena, &result, &failure);
    bool is_told = report(&job, cli_text(cli, "--format"), &teller, &result, ok ? NULL : &failure,
                          &arena, &out, &err);
    const char *text = is_told ? text_done(&out) : NULL;
    if (is_told && text == NULL) {
        err_memory(&err);
    }
    int status = text != NULL ? command_print(text) : command_fail(&err);
    if (!ok) {
        status = command_fail(&failure);
    }
    arena_close(&arena);
    return status;
}
