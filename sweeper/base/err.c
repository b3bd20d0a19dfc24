/*
 * The error record. Filled once where the error happens, enriched on the way up.
 */
#include "sweeper/base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    enum err_class class;
    const char *name;
} rows[] = {
#define ERROR(code, class, meaning) {ERR_##class, #code},
#include "sweeper/base/errors.def"
#undef ERROR
};

void err_clear(struct err *err)
{
    memset(err, 0, sizeof *err);
}

static void PRINTF_LIKE(3, 0)
    fill(struct err *err, enum err_code code, const char *format, va_list args)
{
    char text[sizeof err->text]; /* the arguments may stand in the record itself */
    assert((size_t)code < COUNT_OF(rows));
    vsnprintf(text, sizeof text, format, args);
    err_clear(err);
    err->code = code;
    err->class = rows[code].class;
    memcpy(err->text, text, sizeof text);
}

bool err_set(struct err *err, enum err_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    return false;
}

bool err_set_errno(struct err *err, enum err_code code, const char *format, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, format);
    fill(err, code, format, args);
    va_end(args);
    size_t used = strlen(err->text);
    char reason[128];
    const char *words = strerror_r(saved, reason, sizeof reason);
    snprintf(err->text + used, sizeof err->text - used, ": %s", words);
    errno = saved;
    return err_native(err, saved, "errno");
}

bool err_memory(struct err *err)
{
    err_set(err, ERR_CODE_memory, "memory is exhausted");
    return false;
}

bool err_hint(struct err *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return false;
}

bool err_origin(struct err *err, const char *format, ...)
{
    enum { KEPT = sizeof err->origin - sizeof "..." };
    char place[4352]; /* a path and its line */
    va_list args;
    va_start(args, format);
    vsnprintf(place, sizeof place, format, args);
    va_end(args);
    size_t size = strlen(place);
    if (size < sizeof err->origin) {
        memcpy(err->origin, place, size + 1);
        return false;
    }
    memcpy(err->origin, "...", 3);
    memcpy(err->origin + 3, place + size - KEPT, KEPT + 1);
    return false;
}

bool err_native(struct err *err, int native, const char *kind)
{
    err->native = native;
    snprintf(err->native_text, sizeof err->native_text, "%s", kind);
    return false;
}

bool err_while(struct err *err, const char *format, ...)
{
    if (err->context_count >= (int)COUNT_OF(err->context)) {
        return false;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(err->context[err->context_count], sizeof err->context[0], format, args);
    va_end(args);
    err->context_count++;
    return false;
}

bool err_reclass(struct err *err, enum err_class class)
{
    err->class = class;
    return false;
}

const char *err_class_name(enum err_class class)
{
    static const char *const names[] = {"PLAN", "POINT", "TARGET", "STORE", "STOP", "BUG"};
    return (size_t) class < COUNT_OF(names) ? names[class] : "BUG";
}

const char *err_code_name(enum err_code code)
{
    return (size_t)code < COUNT_OF(rows) ? rows[code].name : "bug";
}

int err_exit_status(enum err_class class)
{
    static const int statuses[] = {2, 1, 4, 5, 3, 70};
    return (size_t) class < COUNT_OF(statuses) ? statuses[class] : 70;
}

void err_format(const struct err *err, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s%s%s%s%s", err->origin, err->origin[0] != '\0' ? ": " : "", err->text,
             err->hint[0] != '\0' ? "; " : "", err->hint);
}
