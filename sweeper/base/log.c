/*
 * One log stream on standard error.
 */
#include "sweeper/base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/base/clock.h"
#include "sweeper/base/json.h"

enum { LINE_BYTES = 4096, ARENA_BYTES = 256 * 1024 };

static enum log_level current_level = LOG_INFO;
static enum log_format current_format = LOG_TEXT;
static void (*hook_before)(void);
static void (*hook_after)(void);
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_configure(enum log_level level, enum log_format format)
{
    current_level = level;
    current_format = format;
}

enum log_format log_current_format(void)
{
    return current_format;
}

void log_set_hooks(void (*before)(void), void (*after)(void))
{
    hook_before = before;
    hook_after = after;
}

static void write_out(const char *text)
{
    pthread_mutex_lock(&log_mutex);
    if (hook_before != NULL) {
        hook_before();
    }
    fputs(text, stderr);
    fflush(stderr);
    if (hook_after != NULL) {
        hook_after();
    }
    pthread_mutex_unlock(&log_mutex);
}

static const char *printable(struct arena *arena, const char *text)
{
    const char *copy = text_printable(arena, text);
    return copy != NULL ? copy : "?";
}

static void json_head(struct json *json, enum log_level level)
{
    char now[40];
    clock_format_wall(clock_wall_us(), now, sizeof now);
    json_object_begin(json);
    json_key(json, "time");
    json_string(json, now);
    json_key(json, "level");
    json_string(json, level_names[level]);
}

static void finish(struct text *out)
{
    text_add_char(out, '\n');
    const char *line = text_done(out);
    write_out(line != NULL ? line : "(a log line did not fit)\n");
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level > current_level) {
        return;
    }
    char raw[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    struct arena arena;
    struct text out;
    arena_open(&arena, ARENA_BYTES);
    text_open(&out, &arena);
    const char *shown = printable(&arena, raw);
    if (current_format == LOG_JSON) {
        struct json json;
        json_open(&json, &out);
        json_head(&json, level);
        json_key(&json, "text");
        json_string(&json, shown);
        json_object_end(&json);
    } else {
        text_addf(&out, "dbsweep: %s%s", level <= LOG_WARN ? level_names[level] : "",
                  level <= LOG_WARN ? ": " : "");
        text_add(&out, shown);
    }
    finish(&out);
    arena_close(&arena);
}

static void err_as_json(const struct err *err, enum log_level level, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_head(&json, level);
    json_key(&json, "code");
    json_string(&json, err_code_name(err->code));
    json_key(&json, "class");
    json_string(&json, err_class_name(err->class));
    json_key(&json, "text");
    json_string(&json, err->text);
    json_key(&json, "hint");
    json_string(&json, err->hint[0] != '\0' ? err->hint : NULL);
    json_key(&json, "origin");
    json_string(&json, err->origin[0] != '\0' ? err->origin : NULL);
    json_key(&json, "native");
    json_string(&json, err->native_text[0] != '\0' ? err->native_text : NULL);
    json_key(&json, "native_code");
    json_int(&json, err->native);
    json_key(&json, "while");
    json_array_begin(&json);
    for (int i = 0; i < err->context_count; i++) {
        json_string(&json, err->context[i]);
    }
    json_array_end(&json);
    json_object_end(&json);
}

static void err_as_text(const struct err *err, enum log_level level, struct arena *arena,
                        struct text *out)
{
    const char *origin = err->origin[0] != '\0' ? err->origin : "dbsweep";
    text_addf(out, "%s: %s: ", printable(arena, origin), level_names[level]);
    text_add(out, printable(arena, err->text));
    if (err->native_text[0] != '\0' && strcmp(err->native_text, "errno") != 0) {
        text_addf(out, " [%s", printable(arena, err->native_text));
        if (err->native != 0) {
            text_addf(out, " %d", err->native);
        }
        text_add_char(out, ']');
    }
    for (int i = 0; i < err->context_count; i++) {
        text_addf(out, "\n  while %s", printable(arena, err->context[i]));
    }
    if (err->hint[0] != '\0') {
        text_addf(out, "\n  hint: %s", printable(arena, err->hint));
    }
}

void log_err(enum log_level level, const struct err *err)
{
    if (level > current_level) {
        return;
    }
    struct arena arena;
    struct text out;
    arena_open(&arena, ARENA_BYTES);
    text_open(&out, &arena);
    if (current_format == LOG_JSON) {
        err_as_json(err, level, &out);
    } else {
        err_as_text(err, level, &arena, &out);
    }
    finish(&out);
    arena_close(&arena);
}
