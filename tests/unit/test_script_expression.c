/*
 * Expressions of scripts: values exact to the last bit, precedence, types, what overflows and what
 * divides by zero, what is refused with which words; and the shape of the distributions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/load/script/script.h"
#include "tests/support/other_locale.h"

static struct arena arena;
static struct err err;
static struct random generator;

static const struct script_variable rows[] = {{.name = "whole", .type = PARAM_INT},
                                              {.name = "real", .type = PARAM_REAL},
                                              {.name = "word", .type = PARAM_TEXT},
                                              {.name = "zero", .type = PARAM_INT}};
static const struct script_value values[] = {{.integer = 42}, {.real = 2.5}, {.integer = 0}, {0}};

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, 16u << 20);
    err_clear(&err);
    random_seed(&generator, 7, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static unsigned find(const void *context, const char *name, size_t size)
{
    (void)context;
    for (unsigned i = 0; i < COUNT_OF(rows); i++) {
        if (strlen(rows[i].name) == size && memcmp(rows[i].name, name, size) == 0) {
            return i;
        }
    }
    return SCRIPT_NONE;
}

static bool read_text(const char *text, struct script_expression *out)
{
    const struct script_names names = {.find = find, .rows = rows};
    err_clear(&err);
    return script_expression_read(text, &names, &arena, out, &err);
}

static struct script_value value_of(const char *text, enum param_type type)
{
    struct script_expression expression;
    struct script_value value = {0};
    if (!read_text(text, &expression) ||
        !script_evaluate(&expression, values, &generator, ERR_CODE_workload, &value, &err)) {
        fail_msg("%s: %s", text, err.text);
    }
    if (expression.type != type) {
        fail_msg("%s has type %d", text, (int)expression.type);
    }
    return value;
}

static void whole(const char *text, int64_t wanted)
{
    int64_t got = value_of(text, PARAM_INT).integer;
    if (got != wanted) {
        fail_msg("%s is %lld, not %lld", text, (long long)got, (long long)wanted);
    }
}

static void real(const char *text, double wanted)
{
    double got = value_of(text, PARAM_REAL).real;
    if (memcmp(&got, &wanted, sizeof got) != 0) {
        fail_msg("%s is %.17g, not %.17g", text, got, wanted);
    }
}

static void refuses(const char *text, const char *words)
{
    struct script_expression expression;
    if (read_text(text, &expression)) {
        fail_msg("%s was read", text);
    }
    assert_int_equal(err.class, ERR_PLAN);
    if (strstr(err.text, words) == NULL) {
        fail_msg("%s: \"%s\" does not hold \"%s\"", text, err.text, words);
    }
}

static void fails(const char *text, const char *words)
{
    struct script_expression expression;
    struct script_value value;
    if (!read_text(text, &expression)) {
        fail_msg("%s: %s", text, err.text);
    }
    if (script_evaluate(&expression, values, &generator, ERR_CODE_workload, &value, &err)) {
        fail_msg("%s has a value", text);
    }
    assert_int_equal(err.code, ERR_CODE_workload);
    if (strstr(err.text, words) == NULL) {
        fail_msg("%s: \"%s\" does not hold \"%s\"", text, err.text, words);
    }
}

static void whole_numbers_are_exact(void **state)
{
    (void)state;
    whole("0", 0);
    whole("9223372036854775807", INT64_MAX);
    whole("-9223372036854775808", INT64_MIN);
    whole("- 9223372036854775807 - 1", INT64_MIN);
    whole("9007199254740993 + 0", INT64_C(9007199254740993)); /* beyond a double */
    whole("9007199254740993 * 3", INT64_C(27021597764222979));
    whole("9223372036854775807 - 9223372036854775806", 1);
    whole("-9223372036854775808 % -1", 0);
    whole("3037000499 * 3037000499", INT64_C(9223372030926249001));
}

static void operators_have_their_precedence(void **state)
{
    (void)state;
    whole("1 + 2 * 3", 7);
    whole("(1 + 2) * 3", 9);
    whole("10 - 4 - 3", 3);
    whole("100 / 10 / 5", 2);
    whole("100 / (10 / 5)", 50);
    whole("7 / 2", 3);
    whole("-7 / 2", -3);
    whole("-7 % 3", -1);
    whole("7 % -3", 1);
    whole("2 * -3", -6);
    whole("- - 5", 5);
    whole("-(-5)", 5);
    whole("+5 - -5", 10);
    whole("-:whole + 2", -40);
    whole(":whole*2+1", 85);
    whole("1 -1", 0);
}

static void types_follow_the_operands(void **state)
{
    (void)state;
    real("1.5", 1.5);
    real(".5", 0.5);
    real("1e3", 1000);
    real("1 / 2.0", 0.5);
    real("1.0 + 2 * 3", 7);
    real(":whole * :real", 105);
    real("10 - :real", 7.5);
    real("-:real", -2.5);
    real("double(7) / 2", 3.5);
    real("0.1 + 0.2", 0.1 + 0.2);
    whole("int(2.5)", 2); /* to the nearest, ties to even, as pgbench does */
    whole("int(3.5)", 4);
    whole("int(-2.6)", -3);
    whole("int(:whole)", 42);
    whole("abs(-3)", 3);
    whole("ABS(:whole - 50)", 8);
    real("abs(-:real)", 2.5);
    whole("min(3, 1, 2)", 1);
    whole("greatest(3, 9, -2)", 9);
    whole("max(4)", 4);
    real("least(3, 1.5, 2)", 1.5);
    real("greatest(1, 2, 2.5)", 2.5);
    real("greatest(1.5, 7)", 7);
    whole("random(5, 5)", 5);
    whole("random(-9223372036854775808, -9223372036854775808)", INT64_MIN);
    whole("random_gaussian(9223372036854775807, 9223372036854775807, 2.5)", INT64_MAX);
    whole("random_zipfian(-3, -3, 1) + random_exponential(3, 3, 2)", 0);
}

static void what_does_not_fit_is_an_error(void **state)
{
    (void)state;
    fails("9223372036854775807 + 1", "overflows");
    fails("-9223372036854775808 - 1", "overflows");
    fails("-9223372036854775808 / -1", "overflows");
    fails("-(-9223372036854775808)", "overflows");
    fails("abs(-9223372036854775808)", "overflows");
    fails("3037000500 * 3037000500", "overflows");
    fails("int(1e19)", "overflows");
    fails("int(9223372036854775808.0)", "overflows");
    fails("1e308 * 10", "overflows");
    fails("1 / 0", "divides by zero");
    fails("1 % :zero", "divides by zero");
    fails("1.0 / 0", "divides by zero");
    fails("1 / (:whole - 42.0)", "divides by zero");
    fails("random(2, 1)", "from 2 to 1");
    fails("random_gaussian(1, 2, 1.9)", "random_gaussian is 1.9");
    fails("random_exponential(1, 2, 0)", "random_exponential is 0");
    fails("random_zipfian(1, 2, -1)", "random_zipfian is -1");
    fails("random_zipfian(1, 2, 1001)", "random_zipfian is 1001");
}

static void what_is_not_understood_is_named(void **state)
{
    (void)state;
    refuses("", "ends too early");
    refuses("1 +", "ends too early");
    refuses("(1", "ends too early");
    refuses("1 2", "\"2\" is not understood");
    refuses("1 < 2", "\"<\" is not understood");
    refuses("1 + 9223372036854775808", "9223372036854775808");
    refuses("0x10", "0x10");
    refuses("1.5.2", "1.5.2");
    refuses("1e400", "1e400");
    refuses(":gone + 1", "no variable :gone");
    assert_non_null(strstr(err.hint, "\\set it before"));
    refuses(":word", ":word is a text");
    refuses("whole", "\"whole\" is not understood");
    assert_string_equal(err.hint, "a variable has a colon: :whole");
    refuses("randon(1, 2)", "no function randon");
    assert_string_equal(err.hint, "did you mean random?");
    refuses("random(1)", "random has 2 arguments, not 1");
    refuses("random(1, 2, 3)", "random has 2 arguments, not 3");
    refuses("random_gaussian(1, 2)", "random_gaussian has 3 arguments, not 2");
    refuses("abs()", "abs has 1 argument, not 0");
    refuses("random(1, 2.5)", "whole numbers");
    refuses("1.5 % 2", "whole numbers");
    refuses("max(1,,2)", "\",2)\" is not understood");
    char deep[400];
    memset(deep, '(', 100);
    strcpy(deep + 100, "1");
    refuses(deep, "nested too deep");
    /* left to right needs two values, right to left one for each */
    char wide[2000] = "";
    for (int i = 0; i < 60; i++) {
        strcat(wide, "1 + (");
    }
    refuses(wide, "ends too early");
}

static void a_comma_is_nobodys_decimal_point(void **state)
{
    (void)state;
    if (!other_locale_set("de_DE", "UTF-8")) {
        skip();
    }
    real("1.5 + 1", 2.5);
    whole("int(2.75)", 3);
    setlocale(LC_ALL, "C");
}

/* ---- distributions ---- */

enum { BINS = 10, DRAWS = 60000 };

static void count_draws(const char *text, int64_t low, size_t bins, double *out)
{
    struct script_expression expression;
    struct script_value value;
    assert_true(read_text(text, &expression));
    memset(out, 0, bins * sizeof *out);
    for (int i = 0; i < DRAWS; i++) {
        assert_true(
            script_evaluate(&expression, values, &generator, ERR_CODE_workload, &value, &err));
        assert_true(value.integer >= low && value.integer < low + (int64_t)bins);
        out[value.integer - low]++;
    }
}

/* Chi-square with 9 degrees of freedom: 33.7 is passed by one seed of ten thousand, and the seed is
 * fixed. */
static void assert_shape(const double *counts, const double *shares, double sum)
{
    double chi_square = 0;
    for (size_t i = 0; i < BINS; i++) {
        double wanted = shares[i] / sum * DRAWS;
        chi_square += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
    }
    if (!(chi_square < 33.7)) {
        fail_msg("chi-square %g", chi_square);
    }
}

static double normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static void draws_have_their_shape(void **state)
{
    (void)state;
    double counts[BINS];
    double shares[BINS];
    double sum = 0;
    for (size_t i = 0; i < BINS; i++) {
        shares[i] = 1;
    }
    count_draws("random(-4, 5)", -4, BINS, counts);
    assert_shape(counts, shares, BINS);
    for (size_t i = 0; i < BINS; i++) {
        shares[i] = normal_below(2.5 * (2.0 * ((double)i + 1) / BINS - 1)) -
                    normal_below(2.5 * (2.0 * (double)i / BINS - 1));
        sum += shares[i];
    }
    count_draws("random_gaussian(1, 10, 2.5)", 1, BINS, counts);
    assert_shape(counts, shares, sum);
    for (size_t i = 0; i < BINS; i++) {
        shares[i] = exp(-3.0 * (double)i / BINS) - exp(-3.0 * ((double)i + 1) / BINS);
    }
    count_draws("random_exponential(100, 109, 3)", 100, BINS, counts);
    assert_shape(counts, shares, 1 - exp(-3.0));
    static const double exponents[] = {0.5, 1, 1.2, 3};
    for (size_t i = 0; i < COUNT_OF(exponents); i++) {
        char text[64];
        sum = 0;
        for (size_t j = 0; j < BINS; j++) {
            shares[j] = pow((double)j + 1, -exponents[i]);
            sum += shares[j];
        }
        snprintf(text, sizeof text, "random_zipfian(0, 9, %g)", exponents[i]);
        count_draws(text, 0, BINS, counts);
        assert_shape(counts, shares, sum);
    }
}

/* The whole of 64 bits, and parameters at their ends: within bounds, and not stuck. */
static void draws_stay_within_any_bounds(void **state)
{
    (void)state;
    static const char *const forms[] = {"random(%s)",
                                        "random_gaussian(%s, 2)",
                                        "random_gaussian(%s, 1e9)",
                                        "random_exponential(%s, 1e-9)",
                                        "random_exponential(%s, 1e9)",
                                        "random_zipfian(%s, 1e-9)",
                                        "random_zipfian(%s, 1000)"};
    static const char *const bounds[] = {"-9223372036854775808, 9223372036854775807",
                                         "0, 9223372036854775807", "-1, 0"};
    char text[128];
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        for (size_t j = 0; j < COUNT_OF(bounds); j++) {
            const char *hole = strstr(forms[i], "%s");
            snprintf(text, sizeof text, "%.*s%s%s", (int)(hole - forms[i]), forms[i], bounds[j],
                     hole + 2);
            for (int k = 0; k < 1000; k++) {
                int64_t value = value_of(text, PARAM_INT).integer;
                assert_true(j == 0 || (j == 1 && value >= 0) || value == -1 || value == 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_numbers_are_exact, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operators_have_their_precedence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(types_follow_the_operands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_understood_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_comma_is_nobodys_decimal_point, set_up, tear_down),
        cmocka_unit_test_setup_teardown(draws_have_their_shape, set_up, tear_down),
        cmocka_unit_test_setup_teardown(draws_stay_within_any_bounds, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
