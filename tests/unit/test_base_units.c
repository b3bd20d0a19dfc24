/*
 * Numbers with units: exact or refused, at the edges of 64 bits and under any locale.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sweeper/base/units.h"
#include "tests/support/other_locale.h"

static struct arena arena;
static struct err err;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 1 << 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    setlocale(LC_ALL, "C");
    return 0;
}

static void assert_refused(bool taken, const char *text, const char *why)
{
    if (taken)
        fail_msg("\"%s\" was taken", text);
    assert_int_equal(err.code, ERR_CODE_number);
    assert_int_equal(err.class, ERR_PLAN);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\": %s, not %s", text, err.text, why);
}

static int64_t size_of(const char *text, int64_t bare)
{
    int64_t out = -77;
    if (!units_parse_size(text, bare, &out, NULL, &err))
        fail_msg("%s", err.text);
    return out;
}

static int64_t duration_of(const char *text, int64_t bare)
{
    int64_t out = -77;
    if (!units_parse_duration(text, bare, &out, NULL, &err))
        fail_msg("%s", err.text);
    return out;
}

static double real_of(const char *text)
{
    double out = NAN;
    if (!units_parse_real(text, &out, &err))
        fail_msg("%s", err.text);
    return out;
}

static void units_have_names(void **state)
{
    (void)state;
    assert_string_equal(unit_name(UNIT_NONE), "");
    assert_string_equal(unit_name(UNIT_BYTES), "bytes");
    assert_string_equal(unit_name(UNIT_US), "us");
    assert_string_equal(unit_name(UNIT_PERCENT), "percent");
}

static void integers_are_exact_in_64_bits(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"0", 0},
        {"-0", 0},
        {"+7", 7},
        {"-1", -1},
        {"007", 7},
        {"4294967296", INT64_C(4294967296)},
        {"9007199254740993", INT64_C(9007199254740993)},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"1000000000000000000", INT64_C(1000000000000000000)},
        {"0000000000000000000000000000000000000000000005", 5},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t out = -77;
        if (!units_parse_int(rows[i].text, &out, &err))
            fail_msg("%s", err.text);
        assert_int_equal(out, rows[i].value);
    }
}

static void what_is_no_integer_is_refused(void **state)
{
    (void)state;
    static const char *const malformed[] = {"",    " ",   "-",   "+",       "--1", "1 ",
                                            " 1",  "1.0", "1e3", "0x10",    "1,5", "8G",
                                            "1_0", "1\n", "NaN", "\xd9\xa1"};
    static const char *const large[] = {"9223372036854775808", "-9223372036854775809",
                                        "18446744073709551616",
                                        "340282366920938463463374607431768211456",
                                        "100000000000000000000000000000000000000000000000000"};
    int64_t out = -77;
    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        assert_refused(units_parse_int(malformed[i], &out, &err), malformed[i], "whole number");
    for (size_t i = 0; i < COUNT_OF(large); i++)
        assert_refused(units_parse_int(large[i], &out, &err), large[i], "");
    assert_int_equal(out, -77);
}

static void sizes_take_every_suffix(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        {"512B", 512},
        {"1k", 1024},
        {"1KB", 1024},
        {"1kB", 1024},
        {"1KiB", 1024},
        {"1kib", 1024},
        {"64 MB", 64 << 20},
        {"64MiB", 64 << 20},
        {"8G", INT64_C(8) << 30},
        {"8 GB", INT64_C(8) << 30},
        {" 8\tgib ", INT64_C(8) << 30},
        {"2T", INT64_C(2) << 40},
        {"2tb", INT64_C(2) << 40},
        {"2TiB", INT64_C(2) << 40},
        {"4294967296B", INT64_C(1) << 32},
        {"1e3k", 1024000},
        {"-4k", -4096},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(size_of(rows[i].text, 8192), rows[i].value);
}

static void a_bare_number_counts_the_knobs_unit(void **state)
{
    (void)state;
    bool has_unit = true;
    int64_t out = 0;
    assert_true(units_parse_size("512", 8192, &out, &has_unit, &err));
    assert_false(has_unit);
    assert_int_equal(out, 512 * 8192);
    assert_true(units_parse_size("512 B ", 8192, &out, &has_unit, &err));
    assert_true(has_unit);
    assert_int_equal(out, 512);
    assert_int_equal(size_of("1.5", 8192), 12288);
    assert_int_equal(size_of("1e3", 1), 1000);
    assert_int_equal(size_of("4294967296", 1), INT64_C(1) << 32);
    assert_int_equal(size_of("-1", 1), -1);
    assert_int_equal(size_of("0", 0), 0);
}

static void fractions_come_out_whole(void **state)
{
    (void)state;
    assert_int_equal(size_of("1.5G", 1), 1610612736);
    assert_int_equal(size_of("0.5k", 1), 512);
    assert_int_equal(size_of(".25M", 1), 262144);
    assert_int_equal(size_of("1.", 1), 1);
    assert_int_equal(size_of("2.50e1k", 1), 25600);
    assert_int_equal(size_of("5000e-3", 1), 5);
    /* 5^40 / 10^40 of 2^40: the product before division has 133 bits. */
    assert_int_equal(size_of("0.0000000000009094947017729282379150390625T", 1), 1);
    assert_int_equal(size_of("1.00000000000000000000000000000000000000000000000000T", 1),
                     INT64_C(1) << 40);
    assert_int_equal(size_of("0.0000000000000000000000000000000000000000000000000k", 1), 0);
    int64_t out = -77;
    static const char *const uneven[] = {"0.3B", "1.5B",
                                         "0.1k", "1.0000000001G",
                                         "1e-1", "0.00000000000090949470177292823791503906251T"};
    for (size_t i = 0; i < COUNT_OF(uneven); i++)
        assert_refused(units_parse_size(uneven[i], 1, &out, NULL, &err), uneven[i],
                       "does not come out as a whole number");
    assert_int_equal(out, -77);
}

static void a_size_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    int64_t out = -77;
    static const char *const large[] = {"8388608T",
                                        "9223372036854775808",
                                        "-9223372036854775809B",
                                        "9223372036854775807k",
                                        "1e19",
                                        "1e400",
                                        "-1e300T",
                                        "340282366920938463463374607431768211455T"};
    for (size_t i = 0; i < COUNT_OF(large); i++)
        assert_refused(units_parse_size(large[i], 1, &out, NULL, &err), large[i], "does not fit");
    assert_refused(units_parse_size("9223372036854775807", 2, &out, NULL, &err), "", "not fit");
    assert_refused(units_parse_size("1e401", 1, &out, NULL, &err), "1e401", "exponent");
    assert_refused(units_parse_size("1e99999999999999999999", 1, &out, NULL, &err), "", "exponent");
    assert_refused(
        units_parse_size("1111111111111111111111111111111111111111", 1, &out, NULL, &err), "",
        "too many digits");
    assert_int_equal(out, -77);
    assert_int_equal(size_of("8388607T", 1), INT64_C(8388607) << 40);
    assert_int_equal(size_of("9223372036854775807B", 1), INT64_MAX);
    assert_int_equal(size_of("-9223372036854775808B", 1), INT64_MIN);
    assert_int_equal(size_of("-8388608T", 1), INT64_MIN);
}

static void what_is_no_size_is_refused(void **state)
{
    (void)state;
    int64_t out = -77;
    static const char *const malformed[] = {"", " ", "G", ".", "-", "-G", ".G", "e3", "inf", "NaN"};
    static const char *const unit[] = {"1,5",   "1,5G", "8X",   "8GG",   "8 G B",       "1e",
                                       "1.5.2", "8G;",  "0x10", "8kbit", "8 gigabytes", "1e+"};
    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        assert_refused(units_parse_size(malformed[i], 1, &out, NULL, &err), malformed[i],
                       "is not a number");
    for (size_t i = 0; i < COUNT_OF(unit); i++) {
        assert_refused(units_parse_size(unit[i], 1, &out, NULL, &err), unit[i], "unknown unit");
        assert_non_null(strstr(err.hint, "powers of 1024"));
    }
    char many[1100];
    memset(many, '0', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_refused(units_parse_size(many, 1, &out, NULL, &err), "zeros", "is not a number");
    assert_int_equal(out, -77);
}

static void durations_are_microseconds(void **state)
{
    (void)state;
    assert_int_equal(duration_of("250us", 1000), 250);
    assert_int_equal(duration_of("250", 1000), 250000);
    assert_int_equal(duration_of("1.5ms", 1), 1500);
    assert_int_equal(duration_of("90s", 1), 90000000);
    assert_int_equal(duration_of("2 min", 1), 120000000);
    assert_int_equal(duration_of("2m", 1), 120000000);
    assert_int_equal(duration_of("1.5 h", 1), INT64_C(5400000000));
    assert_int_equal(duration_of("1d", 1), INT64_C(86400000000));
    assert_int_equal(duration_of("-1", 1000000), -1000000);
    int64_t out = -77;
    bool has_unit = false;
    assert_true(units_parse_duration("5 ms", 1, &out, &has_unit, &err));
    assert_true(has_unit);
    static const char *const unit[] = {"1S", "1M", "1H", "1MS", "1sec", "1 s s", "1,5s"};
    for (size_t i = 0; i < COUNT_OF(unit); i++)
        assert_refused(units_parse_duration(unit[i], 1, &out, NULL, &err), unit[i], "unknown unit");
    assert_refused(units_parse_duration("0.5us", 1, &out, NULL, &err), "0.5us", "whole");
    assert_refused(units_parse_duration("106751992d", 1, &out, NULL, &err), "", "does not fit");
    assert_refused(units_parse_duration("", 1, &out, NULL, &err), "", "is not a number");
}

static void percentages_may_leave_the_sign_out(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "%", "25%%", "25 percent", "1,5%", "%25"};
    double out = 0;
    assert_true(units_parse_percent("25%", &out, &err));
    assert_true(out == 25);
    assert_true(units_parse_percent(" 12.5 % ", &out, &err));
    assert_true(out == 12.5);
    assert_true(units_parse_percent("0", &out, &err));
    assert_true(out == 0);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(units_parse_percent(bad[i], &out, &err), bad[i], "is not a");
}

static void reals_read_as_strtod_does(void **state)
{
    (void)state;
    assert_true(real_of("0.1") == 0.1);
    assert_true(real_of("-2.5E-3") == -2.5e-3);
    assert_true(real_of(" 1e3 ") == 1000);
    assert_true(real_of(".5") == 0.5);
    assert_true(real_of("1.7976931348623157e308") == DBL_MAX);
    assert_true(real_of("4.9406564584124654e-324") > 0);
    assert_true(real_of("0.1000000000000000055511151231257827021181583404541015625") == 0.1);
    assert_true(signbit(real_of("-0")));
    double out = 0;
    static const char *const bad[] = {"",      "1,5", "nan", "inf", "0x1p3", "1e",
                                      "1.2.3", "--1", "1 2", "1_0", "five"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_refused(units_parse_real(bad[i], &out, &err), bad[i], "is not a number");
    assert_refused(units_parse_real("1e309", &out, &err), "1e309", "out of range");
    assert_refused(units_parse_real("1e4000", &out, &err), "1e4000", "exponent");
}

static void assert_written(const char *written, const char *expected)
{
    assert_non_null(written);
    assert_string_equal(written, expected);
}

static void sizes_are_written_in_the_largest_unit_that_divides(void **state)
{
    (void)state;
    assert_written(units_format_size(&arena, INT64_C(8589934592)), "8G");
    assert_written(units_format_size(&arena, 1500), "1500B");
    assert_written(units_format_size(&arena, 0), "0B");
    assert_written(units_format_size(&arena, -4096), "-4K");
    assert_written(units_format_size(&arena, 1610612736), "1536M");
    assert_written(units_format_size(&arena, INT64_MAX), "9223372036854775807B");
    assert_written(units_format_size(&arena, INT64_MIN), "-8388608T");
}

static void durations_are_written_in_the_largest_unit_that_divides(void **state)
{
    (void)state;
    assert_written(units_format_duration(&arena, 90000000), "90s");
    assert_written(units_format_duration(&arena, 0), "0s");
    assert_written(units_format_duration(&arena, 1500), "1500us");
    assert_written(units_format_duration(&arena, 2000), "2ms");
    assert_written(units_format_duration(&arena, INT64_C(600000000)), "10min");
    assert_written(units_format_duration(&arena, INT64_C(5400000000)), "90min");
    assert_written(units_format_duration(&arena, INT64_C(7200000000)), "2h");
    assert_written(units_format_duration(&arena, INT64_C(172800000000)), "2d");
    assert_written(units_format_duration(&arena, INT64_MAX), "9223372036854775807us");
}

static void what_is_written_reads_back(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 2000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        int64_t value = (int64_t)(random << (i % 64));
        const char *size = units_format_size(&arena, value);
        const char *duration = units_format_duration(&arena, value);
        assert_int_equal(size_of(size, 7), value);
        assert_int_equal(duration_of(duration, 7), value);
        arena_reset(&arena);
    }
}

static void formatting_ends_quietly_with_memory(void **state)
{
    (void)state;
    struct arena small;
    arena_open(&small, 1);
    assert_null(units_format_size(&small, 1));
    assert_null(units_format_duration(&small, 1));
    arena_close(&small);
}

static void assert_real(double value, const char *expected)
{
    char buffer[32];
    units_format_real(value, buffer, sizeof buffer);
    assert_string_equal(buffer, expected);
}

static void reals_are_written_shortest(void **state)
{
    (void)state;
    assert_real(0, "0");
    assert_real(0.1, "0.1");
    assert_real(0.1 + 0.2, "0.30000000000000004");
    assert_real(-1.5, "-1.5");
    assert_real(10, "10");
    assert_real(-120, "-120");
    assert_real(1e14, "100000000000000");
    assert_real(1e15, "1e+15");
    assert_real(1e-5, "1e-05");
    assert_real(1.0 / 3, "0.3333333333333333");
    assert_real(DBL_MAX, "1.7976931348623157e+308");
    assert_real(-DBL_MIN, "-2.2250738585072014e-308");
}

static void reals_read_back_as_the_same_bits(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < 2000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        double value;
        char buffer[32];
        memcpy(&value, &random, sizeof value);
        if (!isfinite(value))
            continue;
        units_format_real(value, buffer, sizeof buffer);
        double again = real_of(buffer);
        assert_memory_equal(&value, &again, sizeof value);
    }
}

static void a_comma_locale_changes_nothing(void **state)
{
    (void)state;
    char proof[16];
    if (!other_locale_set("de_DE", "UTF-8"))
        skip();
    snprintf(proof, sizeof proof, "%.1f", 1.5);
    assert_string_equal(proof, "1,5");
    double out = 0;
    assert_real(1.5, "1.5");
    assert_real(-2.5e-7, "-2.5e-07");
    assert_true(real_of("1.5") == 1.5);
    assert_refused(units_parse_real("1,5", &out, &err), "1,5", "is not a number");
    assert_true(units_parse_percent("12.5%", &out, &err));
    assert_true(out == 12.5);
    assert_int_equal(size_of("1.5G", 1), 1610612736);
    assert_written(units_format_size(&arena, 1610612736), "1536M");
    snprintf(proof, sizeof proof, "%.1f", 1.5);
    assert_string_equal(proof, "1,5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_have_names),
        cmocka_unit_test(integers_are_exact_in_64_bits),
        cmocka_unit_test(what_is_no_integer_is_refused),
        cmocka_unit_test(sizes_take_every_suffix),
        cmocka_unit_test(a_bare_number_counts_the_knobs_unit),
        cmocka_unit_test(fractions_come_out_whole),
        cmocka_unit_test(a_size_that_does_not_fit_is_refused),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(durations_are_microseconds),
        cmocka_unit_test(percentages_may_leave_the_sign_out),
        cmocka_unit_test(reals_read_as_strtod_does),
        cmocka_unit_test(sizes_are_written_in_the_largest_unit_that_divides),
        cmocka_unit_test(durations_are_written_in_the_largest_unit_that_divides),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(formatting_ends_quietly_with_memory),
        cmocka_unit_test(reals_are_written_shortest),
        cmocka_unit_test(reals_read_back_as_the_same_bits),
        cmocka_unit_test(a_comma_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
