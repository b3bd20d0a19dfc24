/*
 * Events for the user's command. It runs on this machine, never on the target, with a deadline.
 */
#include "sweeper/notify.h"

#include "sweeper/base/json.h"
#include "sweeper/base/log.h"

enum { NOTIFY_TIMEOUT_MS = 10000 };

static void send_line(const struct plan *plan, struct text *line, struct arena *arena)
{
    text_add_char(line, '\n');
    const char *text = text_done(line);
    struct host *here = NULL;
    struct err err;
    err_clear(&err);
    struct host_command command = {.argv = plan->sweep.notify,
                                   .input = {.data = text, .size = line->size},
                                   .deadline = clock_deadline_ms(NOTIFY_TIMEOUT_MS)};
    if (text == NULL) {
        return;
    }
    if (!host_open(NULL, CLOCK_NEVER, &here, &err) ||
        !host_run_ok(here, &command, arena, NULL, &err)) {
        err_while(&err, "running the notify command");
        log_err(LOG_WARN, &err);
    }
    host_close(here);
}

static void write_why(struct json *json, const struct err *why)
{
    json_key(json, "class");
    json_string(json, why != NULL ? err_class_name(why->class) : NULL);
    json_key(json, "reason");
    json_string(json, why != NULL ? why->text : NULL);
}

void notify_trial(const struct plan *plan, int64_t trial_id, const char *point, const char *status,
                  const struct err *why)
{
    if (plan->sweep.notify == NULL) {
        return;
    }
    struct arena arena;
    struct text line;
    struct json json;
    arena_open(&arena, 4u << 20);
    text_open(&line, &arena);
    json_open(&json, &line);
    json_object_begin(&json);
    json_key(&json, "event");
    json_string(&json, "trial");
    json_key(&json, "sweep");
    json_string(&json, plan->sweep.name);
    json_key(&json, "trial");
    json_int(&json, trial_id);
    json_key(&json, "point");
    json_string(&json, point);
    json_key(&json, "status");
    json_string(&json, status);
    write_why(&json, why);
    json_object_end(&json);
    send_line(plan, &line, &arena);
    arena_close(&arena);
}

void notify_end(const struct plan *plan, const char *status, const struct err *why)
{
    if (plan->sweep.notify == NULL) {
        return;
    }
    struct arena arena;
    struct text line;
    struct json json;
    arena_open(&arena, 4u << 20);
    text_open(&line, &arena);
    json_open(&json, &line);
    json_object_begin(&json);
    json_key(&json, "event");
    json_string(&json, "end");
    json_key(&json, "sweep");
    json_string(&json, plan->sweep.name);
    json_key(&json, "status");
    json_string(&json, status);
    write_why(&json, why);
    json_object_end(&json);
    send_line(plan, &line, &arena);
    arena_close(&arena);
}
