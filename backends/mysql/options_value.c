/*
 * Canonical values in the server's words: the largest of K, M and G that holds the value exactly
 * (every version knows these three; T, P and E are newer), durations in the variable's own unit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/mysql/options.h"
#include "sweeper/base/text.h"

static bool write_size(const struct knob *knob, int64_t number, struct arena *arena,
                       const char **out, struct err *err)
{
    static const char *const suffixes[] = {"", "K", "M", "G"};
    size_t i = 0;
    /* Variables that count pages or kilobytes take no suffix. */
    if (knob->bare == 1 && number > 0) {
        while (i + 1 < COUNT_OF(suffixes) && number % 1024 == 0) {
            number /= 1024;
            i++;
        }
    } else if (number > 0) {
        if (number % knob->bare != 0) {
            return err_set(err, ERR_CODE_knob_value,
                           "%s: %" PRId64 " bytes are no multiple of %" PRId64, knob->name, number,
                           knob->bare);
        }
        number /= knob->bare;
    }
    *out = arena_printf(arena, "%" PRId64 "%s", number, suffixes[i]);
    return *out != NULL || err_memory(err);
}

static bool write_duration(const struct knob *knob, int64_t number, struct arena *arena,
                           const char **out, struct err *err)
{
    if (number > 0 && number % knob->bare != 0) {
        return err_set(err, ERR_CODE_knob_value,
                       "%s: %" PRId64 " us are no multiple of %" PRId64 " us", knob->name, number,
                       knob->bare);
    }
    *out = arena_printf(arena, "%" PRId64, number > 0 ? number / knob->bare : number);
    return *out != NULL || err_memory(err);
}

static bool write_integer(const struct knob *knob, int64_t number, struct arena *arena,
                          const char **out, struct err *err)
{
    if (knob->type == KNOB_BOOL) {
        *out = number != 0 ? "ON" : "OFF";
        return true;
    }
    if (knob->unit == UNIT_BYTES) {
        return write_size(knob, number, arena, out, err);
    }
    if (knob->unit == UNIT_US) {
        return write_duration(knob, number, arena, out, err);
    }
    *out = arena_printf(arena, "%" PRId64, number);
    return *out != NULL || err_memory(err);
}

static bool write_real(const struct knob *knob, double number, struct arena *arena,
                       const char **out, struct err *err)
{
    char digits[32];
    bool is_scaled = knob->unit == UNIT_BYTES || knob->unit == UNIT_US;
    units_format_real(is_scaled ? number / (double)knob->bare : number, digits, sizeof digits);
    *out = arena_strdup(arena, digits);
    return *out != NULL || err_memory(err);
}

static bool write_text(const struct knob *knob, const char *text, const char **out, struct err *err)
{
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7f) {
            return err_set(err, ERR_CODE_knob_value, "%s: the value holds a control character",
                           knob->name);
        }
    }
    *out = text;
    return true;
}

bool option_value(const struct knob *knob, const struct value *value, struct arena *arena,
                  const char **out, struct err *err)
{
    switch (value->kind) {
    case VALUE_INTEGER:
        return write_integer(knob, value->integer, arena, out, err);
    case VALUE_REAL:
        return write_real(knob, value->real, arena, out, err);
    case VALUE_TEXT:
        return write_text(knob, value->text, out, err);
    case VALUE_BASELINE:
    case VALUE_UNSET:
        break;
    }
    return err_set(err, ERR_CODE_bug, "%s: there is no value to write", knob->name);
}

/* ---- quotes ---- */

bool option_is_plain(const char *text)
{
    size_t size = strlen(text);
    if (size == 0 || strpbrk(text, "#'\"\\") != NULL) {
        return false;
    }
    for (size_t i = 0; i<size; i += size> 1 ? size - 1 : 1) {
        if (text[i] == ' ' || (unsigned char)text[i] == 0xa0) {
            return false;
        }
    }
    return true;
}

const char *option_quote(const char *text, char quote, struct arena *arena)
{
    struct text quoted;
    text_open(&quoted, arena);
    text_add_char(&quoted, quote);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == quote || *at == '\\') {
            text_add_char(&quoted, '\\');
        }
        text_add_char(&quoted, *at);
    }
    text_add_char(&quoted, quote);
    return text_done(&quoted);
}
