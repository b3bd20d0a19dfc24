/*
 * Canonical values in PostgreSQL's words (manual 15, 20.1.1): the largest unit that holds the
 * value exactly, since 1.5GB must be quoted and 16mb is refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backends/postgresql/conf.h"
#include "sweeper/base/text.h"

struct scale {
    const char *suffix;
    int64_t factor; /* canonical units in one */
};

/* Largest first. */
static const struct scale sizes[] = {
    {"TB", INT64_C(1) << 40},
    {"GB", INT64_C(1) << 30},
    {"MB", INT64_C(1) << 20},
    {"kB", INT64_C(1) << 10},
    {"B", 1},
};
static const struct scale durations[] = {
    {"d", INT64_C(86400000000)}, {"h", INT64_C(3600000000)}, {"min", INT64_C(60000000)},
    {"s", INT64_C(1000000)},     {"ms", INT64_C(1000)},      {"us", 1},
};

static bool is_special(const struct knob *knob, int64_t number)
{
    struct bytes rest = knob_list(knob->specials);
    struct bytes piece;
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%" PRId64, number);
    while (knob_list_next(&rest, '|', &piece)) {
        if (bytes_are(piece, wanted)) {
            return true;
        }
    }
    return false;
}

static bool with_unit(const struct knob *knob, int64_t number, const struct scale *scales,
                      size_t count, struct arena *arena, const char **out, struct err *err)
{
    if (number < 0) {
        err_set(err, ERR_CODE_knob_value, "%s: %" PRId64 " is below zero", knob->name, number);
        return err_hint(err, "special values: %s",
                        knob->specials[0] != '\0' ? knob->specials : "none");
    }
    size_t i = 0;
    while (i + 1 < count && number % scales[i].factor != 0) {
        i++;
    }
    *out = arena_printf(arena, "%" PRId64 "%s", number / scales[i].factor, scales[i].suffix);
    return *out != NULL || err_memory(err);
}

static bool write_integer(const struct knob *knob, int64_t number, struct arena *arena,
                          const char **out, struct err *err)
{
    if (knob->type == KNOB_BOOL) {
        *out = number != 0 ? "on" : "off";
        return true;
    }
    bool is_bare = number == 0 || is_special(knob, number);
    if (!is_bare && knob->unit == UNIT_BYTES) {
        return with_unit(knob, number, sizes, COUNT_OF(sizes), arena, out, err);
    }
    if (!is_bare && knob->unit == UNIT_US) {
        return with_unit(knob, number, durations, COUNT_OF(durations), arena, out, err);
    }
    *out = arena_printf(arena, "%" PRId64, number);
    return *out != NULL || err_memory(err);
}

/* A real with a unit is written in its smallest one, as decimals of "us" are understood too. */
static bool write_real(const struct knob *knob, double number, struct arena *arena,
                       const char **out, struct err *err)
{
    bool is_whole = number > -1e15 && number < 1e15 && number == (double)(int64_t)number;
    if (is_whole && knob->unit != UNIT_NONE && knob->unit != UNIT_PERCENT) {
        return write_integer(knob, (int64_t)number, arena, out, err);
    }
    char digits[32];
    units_format_real(number, digits, sizeof digits);
    const char *suffix = knob->unit == UNIT_BYTES ? "B" : knob->unit == UNIT_US ? "us" : "";
    *out = arena_printf(arena, "%s%s", digits, suffix);
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

bool conf_value(const struct knob *knob, const struct value *value, struct arena *arena,
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

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digits_set[] = "0123456789";

/* INTEGER with unit letters, or a REAL, as guc-file.l has them. */
static bool is_plain_number(const char *text)
{
    const char *at = text + (text[0] == '-' || text[0] == '+');
    size_t whole = strspn(at, digits_set);
    at += whole;
    if (*at != '.') {
        return whole > 0 && at[strspn(at, letters)] == '\0';
    }
    at++;
    size_t fraction = strspn(at, digits_set);
    return whole + fraction > 0 && at[fraction] == '\0';
}

/* "a.b" is a qualified name for the scanner, and no value. */
static bool is_plain_word(const char *text)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-:/";
    return (strspn(text, letters) > 0 || text[0] == '_') && text[strspn(text, inside)] == '\0';
}

bool conf_is_plain(const char *text)
{
    return is_plain_number(text) || is_plain_word(text);
}

const char *conf_quote(const char *text, struct arena *arena)
{
    struct text quoted;
    text_open(&quoted, arena);
    text_add_char(&quoted, '\'');
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '\'' || *at == '\\') {
            text_add_char(&quoted, *at);
        }
        text_add_char(&quoted, *at);
    }
    text_add_char(&quoted, '\'');
    return text_done(&quoted);
}
