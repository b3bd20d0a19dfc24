/*
 * Exact numbers with units. A decimal literal is held as digits and a power of ten, so that
 * "1.5G" is exact and an overflow is noticed; nothing here asks the locale.
 */
#include "sweeper/base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/base/text.h"

enum { DIGIT_LIMIT = 1000, EXPONENT_LIMIT = 400 };

__extension__ typedef unsigned __int128 uint128;

/* digits * 10^exponent */
struct decimal {
    bool negative;
    bool is_long; /* more digits than fit: only strtod can read it */
    uint128 digits;
    int exponent;
    const char *rest; /* what stands after the number */
};

struct suffix {
    const char *name;
    int64_t factor;
};

const char *unit_name(enum unit unit)
{
    static const char *const names[] = {"", "bytes", "us", "percent"};
    return names[unit];
}

static bool bad_number(const char *text, const char *why, struct err *err)
{
    return err_set(err, ERR_CODE_number, "\"%.60s\" %s", text, why);
}

/* isspace() of the C locale, whatever the locale is. */
static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Zeros wait until another digit follows, so that trailing ones cost no precision. */
static void add_digit(struct decimal *number, unsigned digit, int *waiting_zeros)
{
    if (digit == 0) {
        (*waiting_zeros)++;
        return;
    }
    for (; *waiting_zeros >= 0; (*waiting_zeros)--) {
        number->is_long |= __builtin_mul_overflow(number->digits, (uint128)10, &number->digits);
    }
    number->is_long |= __builtin_add_overflow(number->digits, (uint128)digit, &number->digits);
    *waiting_zeros = 0;
}

/* Digits and fraction; NULL where there is no digit or where they do not end. */
static const char *parse_digits(const char *at, struct decimal *out)
{
    int waiting_zeros = 0;
    int digit_count = 0;
    bool in_fraction = false;
    for (; isdigit((unsigned char)*at) || (*at == '.' && !in_fraction); at++) {
        if (*at == '.') {
            in_fraction = true;
            continue;
        }
        digit_count++;
        if (digit_count > DIGIT_LIMIT) {
            return NULL;
        }
        out->exponent -= in_fraction;
        add_digit(out, (unsigned)(*at - '0'), &waiting_zeros);
    }
    out->exponent += waiting_zeros;
    return digit_count > 0 ? at : NULL;
}

/* What follows an 'e' that is no exponent is left standing: it may be a unit. */
static const char *parse_exponent(const char *at, long *out)
{
    char *end = NULL;
    *out = 0;
    size_t sign = at[0] != '\0' && (at[1] == '-' || at[1] == '+');
    if ((*at != 'e' && *at != 'E') || !isdigit((unsigned char)at[1 + sign])) {
        return at;
    }
    *out = strtol(at + 1, &end, 10);
    return end;
}

static bool parse_decimal(const char *text, struct decimal *out, struct err *err)
{
    const char *at = text;
    long exponent = 0;
    *out = (struct decimal){0};
    while (is_blank(*at)) {
        at++;
    }
    out->negative = *at == '-';
    at += *at == '-' || *at == '+';
    at = parse_digits(at, out);
    if (at == NULL) {
        return bad_number(text, "is not a number", err);
    }
    at = parse_exponent(at, &exponent);
    if (exponent < -EXPONENT_LIMIT || exponent > EXPONENT_LIMIT) {
        return bad_number(text, "has too large an exponent", err);
    }
    out->exponent += (int)exponent;
    while (is_blank(*at)) {
        at++;
    }
    out->rest = at;
    return true;
}

static bool divide_either(uint128 *a, uint128 *b, unsigned prime)
{
    uint128 *divisible = *a % prime == 0 ? a : b;
    if (*divisible % prime != 0) {
        return false;
    }
    *divisible /= prime;
    return true;
}

/* decimal * factor as a whole number of 64 bits. The tens of a fraction are taken out of the
 * factors before these are multiplied, so that only a result that is too large overflows. */
static bool scale(const char *text, const struct decimal *number, int64_t factor, int64_t *out,
                  struct err *err)
{
    static const char too_large[] = "does not fit into 64 bits";
    uint128 value = number->digits;
    uint128 times = (uint128)factor;
    if (number->is_long || factor < 0) {
        return bad_number(text, number->is_long ? "has too many digits" : too_large, err);
    }
    for (int i = number->exponent; i < 0 && value != 0; i++) {
        if (!divide_either(&value, &times, 2) || !divide_either(&value, &times, 5)) {
            return bad_number(text, "does not come out as a whole number", err);
        }
    }
    bool overflow = __builtin_mul_overflow(value, times, &value);
    for (int i = 0; i < number->exponent && value != 0 && !overflow; i++) {
        overflow = __builtin_mul_overflow(value, (uint128)10, &value);
    }
    if (overflow || value > (uint128)INT64_MAX + number->negative) {
        return bad_number(text, too_large, err);
    }
    *out = number->negative ? (int64_t)(0 - (uint64_t)value) : (int64_t)value;
    return true;
}

bool units_parse_int(const char *text, int64_t *out, struct err *err)
{
    const char *at = text + (*text == '-' || *text == '+');
    struct decimal number;
    if (*at == '\0' || at[strspn(at, "0123456789")] != '\0') {
        return bad_number(text, "is not a whole number", err);
    }
    return parse_decimal(text, &number, err) && scale(text, &number, 1, out, err);
}

static double to_double(const char *text)
{
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    double value = NAN;
    if (c_locale != (locale_t)0) {
        value = strtod_l(text, NULL, c_locale);
        freelocale(c_locale);
    }
    return value;
}

bool units_parse_real(const char *text, double *out, struct err *err)
{
    struct decimal number;
    if (!parse_decimal(text, &number, err)) {
        return false;
    }
    if (*number.rest != '\0') {
        return bad_number(text, "is not a number (decimal point is '.')", err);
    }
    *out = to_double(text);
    return isfinite(*out) || bad_number(text, "is out of range", err);
}

static const struct suffix *find_suffix(const struct suffix *rows, size_t count, const char *name,
                                        bool ignore_case)
{
    for (size_t i = 0; i < count; i++) {
        if (ignore_case ? text_equal_nocase(rows[i].name, name) : strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool parse_with(const char *text, const struct suffix *rows, size_t count, bool ignore_case,
                       const char *known, int64_t bare, int64_t *out, bool *has_unit,
                       struct err *err)
{
    struct decimal number;
    char name[8];
    if (!parse_decimal(text, &number, err)) {
        return false;
    }
    size_t length = strlen(number.rest);
    while (length > 0 && is_blank(number.rest[length - 1])) {
        length--;
    }
    if (has_unit != NULL) {
        *has_unit = length > 0;
    }
    if (length == 0) {
        return scale(text, &number, bare, out, err);
    }
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             number.rest);
    const struct suffix *suffix =
        length < sizeof name ? find_suffix(rows, count, name, ignore_case) : NULL;
    if (suffix == NULL) {
        err_set(err, ERR_CODE_number, "\"%.60s\" has an unknown unit \"%.20s\"", text, number.rest);
        return err_hint(err, "units are %s", known);
    }
    return scale(text, &number, suffix->factor, out, err);
}

bool units_parse_size(const char *text, int64_t bare, int64_t *out_bytes, bool *has_unit,
                      struct err *err)
{
    static const struct suffix rows[] = {{"B", 1},
                                         {"K", 1 << 10},
                                         {"KB", 1 << 10},
                                         {"KiB", 1 << 10},
                                         {"M", 1 << 20},
                                         {"MB", 1 << 20},
                                         {"MiB", 1 << 20},
                                         {"G", 1 << 30},
                                         {"GB", 1 << 30},
                                         {"GiB", 1 << 30},
                                         {"T", INT64_C(1) << 40},
                                         {"TB", INT64_C(1) << 40},
                                         {"TiB", INT64_C(1) << 40}};
    return parse_with(text, rows, COUNT_OF(rows), true, "B, K, M, G, T (powers of 1024)", bare,
                      out_bytes, has_unit, err);
}

bool units_parse_duration(const char *text, int64_t bare, int64_t *out_us, bool *has_unit,
                          struct err *err)
{
    static const struct suffix rows[] = {{"us", 1},
                                         {"ms", 1000},
                                         {"s", 1000000},
                                         {"min", 60000000},
                                         {"m", 60000000},
                                         {"h", INT64_C(3600000000)},
                                         {"d", INT64_C(86400000000)}};
    return parse_with(text, rows, COUNT_OF(rows), false, "us, ms, s, min, h, d", bare, out_us,
                      has_unit, err);
}

bool units_parse_percent(const char *text, double *out_pct, struct err *err)
{
    char copy[64];
    size_t length = strlen(text);
    while (length > 0 && is_blank(text[length - 1])) {
        length--;
    }
    length -= length > 0 && text[length - 1] == '%';
    if (length == 0 || length >= sizeof copy) {
        return bad_number(text, "is not a percentage", err);
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return units_parse_real(copy, out_pct, err);
}

static const char *format_with(struct arena *arena, int64_t value, const struct suffix *rows,
                               size_t count)
{
    for (size_t i = 0; i < count && value != 0; i++) {
        if (value % rows[i].factor == 0) {
            return arena_printf(arena, "%" PRId64 "%s", value / rows[i].factor, rows[i].name);
        }
    }
    return arena_printf(arena, "%" PRId64 "%s", value, rows[count - 1].name);
}

const char *units_format_size(struct arena *arena, int64_t size_bytes)
{
    static const struct suffix rows[] = {
        {"T", INT64_C(1) << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1}};
    return format_with(arena, size_bytes, rows, COUNT_OF(rows));
}

const char *units_format_duration(struct arena *arena, int64_t duration_us)
{
    static const struct suffix rows[] = {{"d", INT64_C(86400000000)},
                                         {"h", INT64_C(3600000000)},
                                         {"min", 60000000},
                                         {"s", 1000000},
                                         {"ms", 1000},
                                         {"us", 1}};
    int64_t minutes = duration_us / 60000000;
    if (duration_us % 1000000 == 0 && minutes < 10) {
        return arena_printf(arena, "%" PRId64 "s", duration_us / 1000000);
    }
    return format_with(arena, duration_us, rows, COUNT_OF(rows));
}

void units_format_real(double value, char *buffer, size_t size)
{
    assert(isfinite(value));
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = c_locale != (locale_t)0 ? uselocale(c_locale) : (locale_t)0;
    /* Whole numbers are written out: "10" is one for every reader, "1e+01" is not. */
    bool is_whole = fabs(value) < 1e15 && value == trunc(value);
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buffer, size, "%.*g", is_whole ? 15 : digits, value);
        if (strtod(buffer, NULL) == value) {
            break;
        }
    }
    if (c_locale != (locale_t)0) {
        uselocale(before);
        freelocale(c_locale);
    }
}
