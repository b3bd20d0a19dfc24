/*
 * Values of knobs: from text to the canonical form that is compared, and back.
 *
 * The sweep file, the live server's answers and the store all come through value_parse, so that
 * "8GB", "1048576" (pages) and 8589934592 are one value and never three points. Nothing here
 * knows a database: what differs between systems stands in the knob's row.
 */
#include "knobs/value.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/base/text.h"

/* Between -2^63 and this every whole double fits an int64_t. */
#define INT64_BOUND 9223372036854774784.0
#define WHOLE_BOUND 1e15
#define REAL_DIGITS 12
#define REAL_TOLERANCE 1e-9

bool value_truth_word(const char *word, bool *out)
{
    static const char *const words[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (text_equal_nocase(word, words[i])) {
            *out = i % 2 == 1;
            return true;
        }
    }
    return false;
}

/* Errors of units.h speak of the number alone; the user must see whose number it was. */
static bool fail_number(const struct knob *knob, const struct err *inner, struct err *err)
{
    err_set(err, inner->code, "%s: %.400s", knob->name, inner->text);
    if (inner->hint[0] != '\0')
        err_hint(err, "%s", inner->hint);
    return false;
}

static bool is_special(const struct knob *knob, double number)
{
    struct bytes rest = knob_list(knob->specials);
    struct bytes piece;
    while (knob_list_next(&rest, '|', &piece)) {
        char copy[32];
        double special = 0;
        struct err ignored;
        snprintf(copy, sizeof(copy), "%.*s", (int)piece.size, piece.data);
        if (units_parse_real(copy, &special, &ignored) && special == number)
            return true;
    }
    return false;
}

static void set_integer(struct value *out, int64_t integer)
{
    out->kind = VALUE_INTEGER;
    out->integer = integer;
}

static void set_real(struct value *out, double real)
{
    out->kind = VALUE_REAL;
    out->real = real == 0 ? 0 : real; /* no negative zero */
}

static bool set_text(struct value *out, struct bytes text, struct arena *arena, struct err *err)
{
    out->kind = VALUE_TEXT;
    out->text = arena_strndup(arena, text.data, text.size);
    return out->text != NULL || err_memory(err);
}

/* A whole number with a unit, or a fraction that the unit makes whole. */
static bool parse_with_unit(const struct knob *knob, const char *text, int64_t *out,
                            struct err *err)
{
    int64_t bare = llabs(knob->bare);
    bool has_unit = true;
    struct err inner;
    err_clear(&inner);
    bool parsed = false;
    if (knob->unit == UNIT_BYTES)
        parsed = units_parse_size(text, bare, out, &has_unit, &inner);
    else if (knob->unit == UNIT_US)
        parsed = units_parse_duration(text, bare, out, &has_unit, &inner);
    else
        parsed = units_parse_int(text, out, &inner);
    if (!parsed)
        return fail_number(knob, &inner, err);
    if (!has_unit && knob->bare < 0)
        return err_set(err, ERR_CODE_knob_value, "%s: '%.80s' needs a unit", knob->name, text);
    return true;
}

static bool scale_bare(const struct knob *knob, int64_t number, int64_t *out, struct err *err)
{
    if (knob->bare < 0 && number > 0) {
        err_set(err, ERR_CODE_knob_value, "%s: the bare number %" PRId64 " has no fixed size",
                knob->name, number);
        return err_hint(err, "write it with a unit, such as 64M");
    }
    if (__builtin_mul_overflow(number, knob->bare, out))
        return err_set(err, ERR_CODE_number, "%s: %" PRId64 " does not fit 64 bits", knob->name,
                       number);
    return true;
}

static bool parse_percent(const struct knob *knob, const char *text, double *out, struct err *err)
{
    struct err inner;
    err_clear(&inner);
    return units_parse_percent(text, out, &inner) || fail_number(knob, &inner, err);
}

static bool parse_whole_percent(const struct knob *knob, const char *text, int64_t *out,
                                struct err *err)
{
    double percent = 0;
    if (!parse_percent(knob, text, &percent, err))
        return false;
    if (percent != floor(percent) || fabs(percent) > INT64_BOUND)
        return err_set(err, ERR_CODE_number, "%s: '%.80s' is not a whole percentage", knob->name,
                       text);
    *out = (int64_t)percent;
    return true;
}

static bool parse_integer(const struct knob *knob, const char *text, struct value *out,
                          struct err *err)
{
    int64_t number = 0;
    struct err ignored;
    bool is_bare = units_parse_int(text, &number, &ignored);
    if (is_bare && is_special(knob, (double)number)) {
        set_integer(out, number);
        return true;
    }
    bool parsed = is_bare                      ? scale_bare(knob, number, &number, err)
                  : knob->unit == UNIT_PERCENT ? parse_whole_percent(knob, text, &number, err)
                                               : parse_with_unit(knob, text, &number, err);
    if (parsed)
        set_integer(out, number);
    return parsed;
}

/* "1.5ms" of a real knob: unlike a whole one it may be any fraction of its canonical unit. */
static bool parse_real_with_unit(const struct knob *knob, const char *text, double *out,
                                 struct err *err)
{
    char number[64];
    char one[16]; /* the unit, as one of it */
    double factor = 0;
    int64_t whole = 0;
    struct err ignored;
    size_t size = strlen(text);
    while (size > 0 && strchr("0123456789.", text[size - 1]) == NULL)
        size--;
    snprintf(number, sizeof(number), "%.*s", (int)(size < sizeof(number) ? size : 0), text);
    snprintf(one, sizeof(one), "1%.14s", text + size);
    bool known = strlen(text + size) < sizeof(one) - 1 &&
                 (knob->unit == UNIT_BYTES ? units_parse_size(one, 1, &whole, NULL, &ignored)
                                           : units_parse_duration(one, 1, &whole, NULL, &ignored));
    if (!known || !units_parse_real(number, &factor, &ignored))
        return err_set(err, ERR_CODE_number, "%s: '%.80s' is not a number with a known unit",
                       knob->name, text);
    *out = factor * (double)whole;
    return true;
}

static bool parse_real(const struct knob *knob, const char *text, struct value *out,
                       struct err *err)
{
    double number = 0;
    struct err inner;
    err_clear(&inner);
    if (knob->unit == UNIT_PERCENT) {
        if (!parse_percent(knob, text, &number, err))
            return false;
    } else if (units_parse_real(text, &number, &inner)) {
        if (!is_special(knob, number))
            number *= (double)knob->bare;
    } else if (knob->unit == UNIT_NONE) {
        return fail_number(knob, &inner, err);
    } else if (!parse_real_with_unit(knob, text, &number, err)) {
        return false;
    }
    if (!isfinite(number))
        return err_set(err, ERR_CODE_number, "%s: '%.80s' is too large", knob->name, text);
    set_real(out, number);
    return true;
}

static bool parse_bool(const struct knob *knob, const char *text, struct value *out,
                       struct err *err)
{
    bool truth = false;
    if (!value_truth_word(text, &truth)) {
        err_set(err, ERR_CODE_knob_value, "%s: '%.80s' is neither on nor off", knob->name, text);
        return err_hint(err, "write \"on\" or \"off\"");
    }
    set_integer(out, truth);
    return true;
}

/* The catalogue's spelling of a choice that is given in any of its spellings. */
static bool find_choice(const struct knob *knob, const char *text, struct bytes *out)
{
    struct bytes choices = knob_list(knob->choices);
    struct bytes choice;
    while (knob_list_next(&choices, '|', &choice)) {
        struct bytes spelling;
        struct bytes spellings = choice;
        bool first = true;
        while (knob_list_next(&spellings, ',', &spelling)) {
            if (first)
                *out = spelling;
            first = false;
            if (bytes_are_nocase(spelling, text))
                return true;
        }
    }
    return false;
}

static bool fail_choice(const struct knob *knob, const char *text, struct err *err)
{
    err_set(err, ERR_CODE_knob_value, "%s: there is no value '%.80s'", knob->name, text);
    return err_hint(err, "one of %.280s", knob->choices);
}

static bool parse_enum(const struct knob *knob, const char *text, struct arena *arena,
                       struct value *out, struct err *err)
{
    struct bytes choice;
    bool truth = false;
    bool found = find_choice(knob, text, &choice);
    if (!found && value_truth_word(text, &truth))
        found = find_choice(knob, truth ? "on" : "off", &choice);
    return found ? set_text(out, choice, arena, err) : fail_choice(knob, text, err);
}

/* A control character would end the line of a configuration file or steer a terminal. */
static bool has_control(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    for (; *byte != '\0'; byte++) {
        if (*byte < 0x20 || *byte == 0x7f)
            return true;
        if (byte[0] == 0xc2 && byte[1] >= 0x80 && byte[1] <= 0x9f)
            return true;
    }
    return false;
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* "host.memory" of "25% of host.memory"; NULL where the text is no share. */
static const char *share_source(const char *text)
{
    const char *percent = strchr(text, '%');
    if (percent == NULL)
        return NULL;
    const char *of = skip_blanks(percent + 1);
    if (strncmp(of, "of", 2) != 0 || (of[2] != ' ' && of[2] != '\t'))
        return NULL;
    return skip_blanks(of + 2);
}

static bool share_total(const struct knob *knob, const char *source,
                        const struct value_facts *facts, int64_t *out, struct err *err)
{
    static const char *const sources[] = {"host.memory", "host.cpus"};
    bool memory = strcmp(source, sources[0]) == 0;
    if (!memory && strcmp(source, sources[1]) != 0) {
        err_set(err, ERR_CODE_knob_value, "%s: there is no '%.80s' to take a share of", knob->name,
                source);
        return err_hint(err, "host.memory or host.cpus");
    }
    if (knob->unit != (memory ? UNIT_BYTES : UNIT_NONE))
        return err_set(err, ERR_CODE_knob_value, "%s: its values are not %s", knob->name,
                       memory ? "sizes, so a share of host.memory does not fit"
                              : "counts, so a share of host.cpus does not fit");
    *out = facts == NULL ? 0 : memory ? facts->host_memory_bytes : facts->host_cpu_count;
    if (*out <= 0) {
        err_set(err, ERR_CODE_knob_value, "%s: %s is not known", knob->name, source);
        return err_hint(err, "write the value itself");
    }
    return true;
}

static bool parse_share(const struct knob *knob, const char *text, const char *source,
                        const struct value_facts *facts, struct value *out, struct err *err)
{
    char share[64];
    double percent = 0;
    int64_t total = 0;
    size_t size = strcspn(text, "%") + 1;
    if (size >= sizeof(share))
        return err_set(err, ERR_CODE_number, "%s: '%.80s' is too long", knob->name, text);
    memcpy(share, text, size);
    share[size] = '\0';
    if (!parse_percent(knob, share, &percent, err) ||
        !share_total(knob, source, facts, &total, err))
        return false;
    double step = llabs(knob->bare) > 1 ? (double)llabs(knob->bare) : 1;
    /* 33.3 is a little less than 33.3 in binary: a whole result must not lose its last unit. */
    double steps = floor((double)total * percent / 100 / step * (1 + 4 * DBL_EPSILON));
    double number = steps * step;
    if (!(fabs(number) < INT64_BOUND))
        return err_set(err, ERR_CODE_number, "%s: '%.80s' is too large", knob->name, text);
    if (knob->type == KNOB_REAL)
        set_real(out, number);
    else
        set_integer(out, (int64_t)number);
    return true;
}

/* A bound for people; the arena running out only makes the message poorer. */
static const char *bound_text(const struct knob *knob, double bound, struct arena *arena)
{
    struct value value = {.kind = VALUE_REAL, .real = bound};
    if (knob->type == KNOB_INTEGER && fabs(bound) < INT64_BOUND)
        value = (struct value){.kind = VALUE_INTEGER, .integer = (int64_t)bound};
    const char *text = value_display(knob, &value, arena);
    return text == NULL ? "?" : text;
}

static bool fail_range(const struct knob *knob, const char *text, struct arena *arena,
                       struct err *err)
{
    if (isinf(knob->max))
        err_set(err, ERR_CODE_knob_value, "%s: %.80s is below %s", knob->name, text,
                bound_text(knob, knob->min, arena));
    else if (isinf(knob->min))
        err_set(err, ERR_CODE_knob_value, "%s: %.80s is above %s", knob->name, text,
                bound_text(knob, knob->max, arena));
    else
        err_set(err, ERR_CODE_knob_value, "%s: %.80s is outside %s .. %s", knob->name, text,
                bound_text(knob, knob->min, arena), bound_text(knob, knob->max, arena));
    bool has_unit = knob->bare > 0 && (knob->unit == UNIT_BYTES || knob->unit == UNIT_US);
    size_t size = strlen(text);
    if (knob->specials[0] != '\0')
        err_hint(err, "special values: %.280s", knob->specials);
    else if (has_unit && size > 0 && text[size - 1] >= '0' && text[size - 1] <= '9')
        err_hint(err, "a number without a unit counts in %lld %s: write one, such as \"64%s\"",
                 (long long)knob->bare, knob->unit == UNIT_BYTES ? "bytes" : "us",
                 knob->unit == UNIT_BYTES ? "MB" : "ms");
    return false;
}

static bool check_number(const struct knob *knob, const struct value *value, const char *text,
                         struct arena *arena, struct err *err)
{
    double number = 0;
    struct bytes choice;
    char canonical[32];
    if (!value_number(value, &number))
        return true;
    if (is_special(knob, number))
        return true;
    if (number < knob->min || number > knob->max)
        return fail_range(knob, text, arena, err);
    if (knob->choices[0] == '\0')
        return true;
    if (value->kind == VALUE_REAL)
        units_format_real(value_round_real(value->real), canonical, sizeof(canonical));
    else
        snprintf(canonical, sizeof(canonical), "%" PRId64, value->integer);
    return find_choice(knob, canonical, &choice) || fail_choice(knob, text, err);
}

static bool parse_text(const struct knob *knob, const char *text, struct arena *arena,
                       struct value *out, struct err *err)
{
    if (has_control(text))
        return err_set(err, ERR_CODE_knob_value, "%s: the value holds a control character",
                       knob->name);
    return set_text(out, knob_list(text), arena, err);
}

static bool parse_literal(const struct knob *knob, const char *text,
                          const struct value_facts *facts, struct arena *arena, struct value *out,
                          struct err *err)
{
    bool numeric = knob->type == KNOB_INTEGER || knob->type == KNOB_REAL;
    const char *source = numeric ? share_source(text) : NULL;
    if (source != NULL)
        return parse_share(knob, text, source, facts, out, err) &&
               check_number(knob, out, text, arena, err);
    switch (knob->type) {
    case KNOB_INTEGER:
        return parse_integer(knob, text, out, err) && check_number(knob, out, text, arena, err);
    case KNOB_REAL:
        return parse_real(knob, text, out, err) && check_number(knob, out, text, arena, err);
    case KNOB_BOOL:
        return parse_bool(knob, text, out, err);
    case KNOB_ENUM:
        return parse_enum(knob, text, arena, out, err);
    case KNOB_TEXT:
        break;
    }
    return parse_text(knob, text, arena, out, err);
}

static char *trimmed(const char *text, struct arena *arena)
{
    const char *start = skip_blanks(text);
    size_t size = strlen(start);
    while (size > 0 && (start[size - 1] == ' ' || start[size - 1] == '\t'))
        size--;
    return arena_strndup(arena, start, size);
}

bool value_parse(const struct knob *knob, const char *text, const struct value_facts *facts,
                 struct arena *arena, struct value *out, struct err *err)
{
    *out = (struct value){.asked = arena_strdup(arena, text)};
    const char *word = knob->type == KNOB_TEXT ? out->asked : trimmed(text, arena);
    if (out->asked == NULL || word == NULL)
        return err_memory(err);
    if (strcmp(word, "baseline") == 0)
        return true;
    if (strcmp(word, "unset") == 0) {
        out->kind = VALUE_UNSET;
        return true;
    }
    if (knob->type != KNOB_TEXT && word[0] == '\0')
        return err_set(err, ERR_CODE_knob_value, "%s: the value is empty", knob->name);
    return parse_literal(knob, word, facts, arena, out, err);
}

static bool reals_equal(double a, double b)
{
    return fabs(a - b) <= REAL_TOLERANCE * fmax(fabs(a), fabs(b));
}

bool value_equal(const struct knob *knob, const struct value *a, const struct value *b)
{
    double number_a = 0;
    double number_b = 0;
    if (a->kind == VALUE_INTEGER && b->kind == VALUE_INTEGER)
        return a->integer == b->integer;
    if (value_number(a, &number_a) && value_number(b, &number_b))
        return reals_equal(number_a, number_b);
    if (a->kind != b->kind)
        return false;
    if (a->kind != VALUE_TEXT)
        return true;
    return knob->type == KNOB_ENUM ? text_equal_nocase(a->text, b->text)
                                   : strcmp(a->text, b->text) == 0;
}

bool value_number(const struct value *value, double *out)
{
    if (value->kind != VALUE_INTEGER && value->kind != VALUE_REAL)
        return false;
    *out = value->kind == VALUE_REAL ? value->real : (double)value->integer;
    return true;
}

/* printf and strtod share the locale's decimal point, so it does not matter which one it is. */
double value_round_real(double real)
{
    char digits[64];
    snprintf(digits, sizeof(digits), "%.*e", REAL_DIGITS - 1, real);
    double rounded = strtod(digits, NULL);
    return rounded == 0 ? 0 : rounded;
}

static const char *real_text(double real, struct arena *arena)
{
    char buffer[64];
    double rounded = value_round_real(real);
    /* Nobody writes 500 as 5e+02, however short it is. */
    if (rounded == floor(rounded) && fabs(rounded) < WHOLE_BOUND)
        return arena_printf(arena, "%" PRId64, (int64_t)rounded);
    /* The largest doubles round to infinity. */
    units_format_real(isfinite(rounded) ? rounded : real, buffer, sizeof(buffer));
    return arena_strdup(arena, buffer);
}

const char *value_canonical(const struct knob *knob, const struct value *value, struct arena *arena)
{
    switch (value->kind) {
    case VALUE_BASELINE:
        return "baseline";
    case VALUE_UNSET:
        return "unset";
    case VALUE_INTEGER:
        if (knob->type == KNOB_BOOL)
            return value->integer != 0 ? "on" : "off";
        return arena_printf(arena, "%" PRId64, value->integer);
    case VALUE_REAL:
        return real_text(value->real, arena);
    case VALUE_TEXT:
        break;
    }
    return arena_strdup(arena, value->text);
}

const char *value_display(const struct knob *knob, const struct value *value, struct arena *arena)
{
    double number = 0;
    const char *plain = value_canonical(knob, value, arena);
    if (plain == NULL || knob->type == KNOB_BOOL || !value_number(value, &number) ||
        is_special(knob, number))
        return plain;
    bool whole = number == floor(number) && number >= 0 && number < INT64_BOUND;
    int64_t count = value->kind == VALUE_INTEGER ? value->integer : whole ? (int64_t)number : 0;
    switch (knob->unit) {
    case UNIT_BYTES:
        return whole ? units_format_size(arena, count) : arena_printf(arena, "%sB", plain);
    case UNIT_US:
        return whole ? units_format_duration(arena, count) : arena_printf(arena, "%sus", plain);
    case UNIT_PERCENT:
        return arena_printf(arena, "%s%%", plain);
    case UNIT_NONE:
        break;
    }
    return plain;
}

static bool piece_names(const struct knob *knob, struct bytes piece, const struct value *value)
{
    char copy[64];
    double named = 0;
    double number = 0;
    bool truth = false;
    struct err ignored;
    snprintf(copy, sizeof(copy), "%.*s", (int)piece.size, piece.data);
    if (value->kind == VALUE_TEXT)
        return bytes_are_nocase(piece, value->text);
    if (!value_number(value, &number))
        return false;
    if (knob->type == KNOB_BOOL)
        return value_truth_word(copy, &truth) && truth == (number != 0);
    return units_parse_real(copy, &named, &ignored) && reals_equal(named, number);
}

int value_durability(const struct knob *knob, const struct value *value)
{
    int rank = 0;
    int other = -1;
    struct bytes order = knob_list(knob->durability);
    struct bytes group;
    if (value->kind == VALUE_BASELINE)
        return 0;
    for (; knob_list_next(&order, '|', &group); rank++) {
        struct bytes piece;
        while (knob_list_next(&group, ',', &piece)) {
            if (piece.size == 1 && piece.data[0] == '*')
                other = rank;
            else if (piece_names(knob, piece, value))
                return rank;
        }
    }
    return other >= 0 ? other : rank;
}
