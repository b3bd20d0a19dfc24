/*
 * Rules: grammar and precedence, units, three truths, and errors that point at their column.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "knobs/rule.h"
#include "sweeper/base/text.h"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 64u << 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

/* a = 1, b = 2, zero = 0, memory = 16G, on/off truths, mode = "wal", and "nothing": unknown. */
static bool lookup(void *context, const char *name, struct rule_value *out, struct err *err)
{
    static const struct {
        const char *name;
        struct rule_value value;
    } names[] = {
        {"a", {.kind = RULE_NUMBER, .number = 1}},
        {"b", {.kind = RULE_NUMBER, .number = 2}},
        {"zero", {.kind = RULE_NUMBER, .number = 0}},
        {"host.memory", {.kind = RULE_NUMBER, .number = 17179869184.0}},
        {"BUFFERPOOL[size=2k, x].lrus", {.kind = RULE_NUMBER, .number = 8}},
        {"$SIZE_mb", {.kind = RULE_NUMBER, .number = 512}},
        {"order", {.kind = RULE_NUMBER, .number = 7}},
        {"yes_it_is", {.kind = RULE_BOOL, .truth = true}},
        {"no_it_is_not", {.kind = RULE_BOOL, .truth = false}},
        {"mode", {.kind = RULE_TEXT, .text = "wal"}},
        {"nothing", {.kind = RULE_UNKNOWN}},
        {"null_text", {.kind = RULE_TEXT, .text = NULL}},
    };
    if (context != NULL)
        (*(int *)context)++;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i].name, name) == 0) {
            *out = names[i].value;
            return true;
        }
    }
    return err_set(err, ERR_CODE_rule, "no name '%s'", name);
}

static struct rule *parsed(const char *text)
{
    struct rule *rule = NULL;
    struct err err;
    err_clear(&err);
    if (!rule_parse(text, &arena, &rule, &err))
        fail_msg("'%s' was refused: %s", text, err.text);
    return rule;
}

static void expect_truth(const char *text, int expected)
{
    int truth = -2;
    struct err err;
    err_clear(&err);
    if (!rule_truth(parsed(text), lookup, NULL, &truth, &err))
        fail_msg("'%s' failed: %s", text, err.text);
    if (truth != expected)
        fail_msg("'%s' is %d, not %d", text, truth, expected);
}

static void expect_number(const char *text, double expected)
{
    double number = 0;
    struct err err;
    err_clear(&err);
    if (!rule_number(parsed(text), lookup, NULL, &number, &err))
        fail_msg("'%s' failed: %s", text, err.text);
    if (number != expected)
        fail_msg("'%s' is %.17g, not %.17g", text, number, expected);
}

static struct err unparsable(const char *text)
{
    struct rule *rule = NULL;
    struct err err;
    err_clear(&err);
    if (rule_parse(text, &arena, &rule, &err))
        fail_msg("'%s' was accepted", text);
    assert_int_equal(err.code, ERR_CODE_rule);
    return err;
}

static void expect_error_at(const char *text, int column)
{
    char expected[32];
    struct err err = unparsable(text);
    snprintf(expected, sizeof(expected), "column %d of", column);
    if (strstr(err.text, expected) == NULL)
        fail_msg("'%s': no '%s' in '%s'", text, expected, err.text);
}

static void expect_failure_at(const char *text, int column, const char *what)
{
    char expected[32];
    int truth = -2;
    struct err err;
    err_clear(&err);
    if (rule_truth(parsed(text), lookup, NULL, &truth, &err))
        fail_msg("'%s' is %d", text, truth);
    assert_int_equal(err.code, ERR_CODE_rule);
    snprintf(expected, sizeof(expected), "column %d of", column);
    if (strstr(err.text, expected) == NULL || strstr(err.text, what) == NULL)
        fail_msg("'%s': no '%s' and '%s' in '%s'", text, expected, what, err.text);
}

static void test_arithmetic(void **state)
{
    (void)state;
    expect_number("1 + 2 * 3", 7);
    expect_number("(1 + 2) * 3", 9);
    expect_number("10 - 4 - 3", 3);
    expect_number("100 / 10 / 2", 5);
    expect_number("2 * -3", -6);
    expect_number("- - 3", 3);
    expect_number("-(1 + 2)", -3);
    expect_number("1-1", 0);
    expect_number("a+b", 3);
    expect_number("0.9 * host.memory", 0.9 * 17179869184.0);
    expect_number("1e3 + .5 + 2.", 1002.5);
    expect_number("1e-3", 0.001);
    expect_number("BUFFERPOOL[size=2k, x].lrus * 2", 16);
    expect_number("$SIZE_mb", 512);
}

static void test_units(void **state)
{
    (void)state;
    expect_number("64M", 67108864);
    expect_number("64 MB", 67108864);
    expect_number("64mib", 67108864);
    expect_number("1.5G", 1610612736);
    expect_number("4k*2", 8192);
    expect_number("2T - 1B", 2199023255551.0);
    expect_number("90s", 90e6);
    expect_number("5 min", 300e6);
    expect_number("250us + 1ms", 1250);
    expect_number("2h", 7200e6);
    expect_number("1d", 86400e6);
    expect_number("25%", 0.25);
    expect_number("25 % * 4", 1);
    struct err err = unparsable("a < 64m");
    assert_non_null(strstr(err.hint, "min"));
    expect_error_at("a < 64m", 5);
    expect_error_at("a < 64Q", 5);
    expect_error_at("5x", 1);
    expect_error_at("0.3B > 1", 1);
    expect_error_at("a > 99999999999T", 5);
    expect_error_at("1 < 5 MIN", 7);
    /* a word that stands apart and is no unit belongs to the grammar */
    expect_truth("a < 10 and b < 10", 1);
    expect_truth("a > 10 or b < 10", 1);
}

static void test_compare(void **state)
{
    (void)state;
    expect_truth("a < b", 1);
    expect_truth("b < a", 0);
    expect_truth("a <= 1", 1);
    expect_truth("a >= 1", 1);
    expect_truth("a > 1", 0);
    expect_truth("a == 1", 1);
    expect_truth("a=1", 1);
    expect_truth("a != 1", 0);
    expect_truth("a + 1 == b", 1);
    expect_truth("8G <= 0.75 * host.memory", 1);
    expect_truth("13G <= 0.75 * host.memory", 0);
    expect_error_at("a < b < 3", 7);
}

static void test_texts(void **state)
{
    (void)state;
    expect_truth("mode == 'wal'", 1);
    expect_truth("mode == \"WAL\"", 1);
    expect_truth("mode != 'delete'", 1);
    expect_truth("'it is \"so\"' == \"it is 'so'\"", 0);
    expect_failure_at("mode == 1", 6, "text");
    expect_failure_at("mode < 'wal'", 6, "order");
    expect_failure_at("mode + 1 == 2", 1, "not a number");
    expect_error_at("mode == 'wal", 9);
}

static void test_truths(void **state)
{
    (void)state;
    expect_truth("true", 1);
    expect_truth("FALSE", 0);
    expect_truth("yes_it_is", 1);
    expect_truth("yes_it_is == true", 1);
    expect_truth("yes_it_is == 'on'", 1);
    expect_truth("'off' == no_it_is_not", 1);
    expect_truth("yes_it_is = 1", 1);
    expect_truth("yes_it_is != 0", 1);
    expect_failure_at("yes_it_is == 2", 11, "truth");
    expect_failure_at("yes_it_is == 'wal'", 11, "truth");
    expect_failure_at("yes_it_is < true", 11, "order");
    expect_failure_at("a", 1, "neither");
    expect_failure_at("a + b", 3, "neither");
    expect_failure_at("not mode", 5, "neither");
    expect_failure_at("a < b and mode", 11, "neither");
}

static void test_logic_precedence(void **state)
{
    (void)state;
    expect_truth("true or false and false", 1);
    expect_truth("(true or false) and false", 0);
    expect_truth("not false and false", 0);
    expect_truth("not (false and false)", 1);
    expect_truth("not a > b", 1);
    expect_truth("not not true", 1);
    expect_truth("!true || !false && true", 1);
    expect_truth("a < b && b < 3 || false", 1);
    expect_truth("TRUE AND NOT FALSE", 1);
    /* names that begin like keywords */
    expect_truth("order == 7", 1);
}

static void test_three_truths(void **state)
{
    (void)state;
    expect_truth("nothing < 1", -1);
    expect_truth("nothing == nothing", -1);
    expect_truth("nothing + 1 > 0", -1);
    expect_truth("-nothing > 0", -1);
    expect_truth("null_text == 'x'", -1);
    expect_truth("nothing", -1);
    expect_truth("not nothing", -1);
    expect_truth("nothing and true", -1);
    expect_truth("nothing and false", 0);
    expect_truth("false and nothing", 0);
    expect_truth("true and nothing", -1);
    expect_truth("nothing or true", 1);
    expect_truth("true or nothing", 1);
    expect_truth("nothing or false", -1);
    expect_truth("false or nothing", -1);
    expect_truth("nothing or nothing", -1);
    /* an unknown operand of another kind is no type error */
    expect_truth("nothing == 'text'", -1);
    expect_truth("1 / nothing > 2", -1);
}

static void test_short_circuit(void **state)
{
    (void)state;
    expect_truth("zero != 0 and a / zero > 1", 0);
    expect_truth("zero == 0 or a / zero > 1", 1);
    expect_failure_at("a / zero > 1", 3, "division by zero");
    expect_failure_at("nothing / 0 > 1", 9, "division by zero");
    expect_failure_at("nothing and a / zero > 1", 15, "division by zero");
    expect_failure_at("1e308 * 10 > 1", 7, "too large");
}

static void test_errors_in_names(void **state)
{
    (void)state;
    int truth = -2;
    struct err err;
    err_clear(&err);
    assert_false(rule_truth(parsed("missing < 1"), lookup, NULL, &truth, &err));
    assert_non_null(strstr(err.text, "missing"));
    assert_int_equal(err.context_count, 1);
    assert_non_null(strstr(err.context[0], "missing < 1"));
}

static void test_syntax_errors(void **state)
{
    (void)state;
    expect_error_at("", 1);
    expect_error_at("   ", 4);
    expect_error_at("a <", 4);
    expect_error_at("< a", 1);
    expect_error_at("(a < b", 7);
    expect_error_at("a < b)", 6);
    expect_error_at("a b", 3);
    expect_error_at("a < ? b", 5);
    expect_error_at("a & b", 3);
    expect_error_at("a | b", 3);
    expect_error_at("a < b and", 10);
    expect_error_at("or a", 1);
    expect_error_at("a == not b", 6);
    expect_error_at("x[1 < 2", 1);
    expect_error_at("a\x01", 2);
    expect_error_at("a < \x7f", 5);
    expect_error_at("a < \xff", 5);
    expect_error_at("1..2", 1);
    expect_error_at("5 5", 3);
    expect_error_at("()", 2);
    expect_error_at("]", 1);
}

static bool collect(void *context, const char *name, struct err *err)
{
    struct text *names = context;
    if (strcmp(name, "bad") == 0)
        return err_set(err, ERR_CODE_rule, "no 'bad'");
    text_addf(names, "%s;", name);
    return true;
}

static void test_names(void **state)
{
    (void)state;
    struct text names;
    text_open(&names, &arena);
    struct err err;
    err_clear(&err);
    const struct rule *rule = parsed("a < b and (b > a or mode == 'c') and x[y z].q != 1");
    assert_true(rule_names(rule, collect, &names, &err));
    assert_string_equal(text_done(&names), "a;b;mode;x[y z].q;");
    assert_false(rule_names(parsed("a < bad"), collect, &names, &err));
    assert_string_equal(rule_text(rule), "a < b and (b > a or mode == 'c') and x[y z].q != 1");
}

static void test_number_errors(void **state)
{
    (void)state;
    double number = 0;
    struct err err;
    err_clear(&err);
    assert_false(rule_number(parsed("a < b"), lookup, NULL, &number, &err));
    assert_non_null(strstr(err.text, "not a number"));
    assert_false(rule_number(parsed("0.9 * nothing"), lookup, NULL, &number, &err));
    assert_non_null(strstr(err.text, "not known"));
}

/* `open` count times, the core, `close` count times. */
static const char *nested(const char *open, int count, const char *core, const char *close)
{
    struct text text;
    text_open(&text, &arena);
    for (int i = 0; i < count; i++)
        text_add(&text, open);
    text_add(&text, core);
    for (int i = 0; i < count; i++)
        text_add(&text, close);
    return text_done(&text);
}

static void expect_too_much(const char *text, const char *what)
{
    assert_non_null(strstr(unparsable(text).text, what));
}

static void test_depth(void **state)
{
    (void)state;
    expect_truth(nested("(", RULE_LIMIT_DEPTH, "true", ")"), 1);
    expect_too_much(nested("(", RULE_LIMIT_DEPTH + 1, "true", ")"), "deep");
    expect_truth(nested("not ", RULE_LIMIT_DEPTH, "true", ""), 1);
    expect_too_much(nested("!", RULE_LIMIT_DEPTH + 1, "true", ""), "deep");
    expect_too_much(nested("-", RULE_LIMIT_DEPTH + 1, "1", ""), "deep");
    /* depth is nesting, not the number of parentheses */
    expect_truth(nested("(true) and ", 200, "true", ""), 1);
}

static void test_length(void **state)
{
    (void)state;
    const int pairs = RULE_LIMIT_BYTES / 2;
    expect_number(nested("1+", pairs - 1, "10", ""), pairs - 1 + 10);
    expect_too_much(nested("1+", pairs, "1", ""), "longer");
    expect_too_much(nested("(", 100000, "", ""), "longer");
    expect_too_much(nested("9", 3000, "", ""), "too long");
}

static void test_hostile(void **state)
{
    (void)state;
    assert_non_null(strstr(unparsable("%s%n == %n").text, "%s%n"));
    unparsable("a < \"%n");
    expect_truth("'%s%n%x' == '%S%N%X'", 1);
    expect_truth("a\t<\r\n b", 1);
}

/* Every sequence of a few tokens either parses or fails cleanly, and evaluates or fails cleanly. */
static void test_every_short_sequence(void **state)
{
    (void)state;
    static const char *const tokens[] = {"a",    "nothing", "1", "2G",  "50%", "'t'",
                                         "true", "(",       ")", "and", "or",  "not",
                                         "<",    "==",      "+", "-",   "/",   "yes_it_is"};
    const size_t kinds = COUNT_OF(tokens);
    size_t parsed_count = 0;
    struct arena local;
    arena_open(&local, 1u << 20);
    for (size_t n = 0; n < kinds * kinds * kinds * kinds; n++) {
        char text[64];
        struct rule *rule = NULL;
        struct err err;
        int truth = 0;
        err_clear(&err);
        snprintf(text, sizeof(text), "%s %s %s %s", tokens[n % kinds], tokens[n / kinds % kinds],
                 tokens[n / kinds / kinds % kinds], tokens[n / kinds / kinds / kinds]);
        if (rule_parse(text, &local, &rule, &err)) {
            parsed_count++;
            if (rule_truth(rule, lookup, NULL, &truth, &err))
                assert_in_range(truth + 1, 0, 2);
            else
                assert_int_equal(err.code, ERR_CODE_rule);
        } else {
            assert_int_equal(err.code, ERR_CODE_rule);
        }
        arena_reset(&local);
    }
    assert_in_range(parsed_count, 100, kinds * kinds * kinds * kinds / 2);
    arena_close(&local);
}

static void test_memory_ends(void **state)
{
    (void)state;
    size_t failures = 0;
    for (size_t limit = 1; limit < 100000; limit += limit / 4 + 1) {
        struct arena small;
        struct rule *rule = NULL;
        struct err err;
        err_clear(&err);
        arena_open(&small, limit);
        if (!rule_parse("a < b and not (mode == 'x' or -a * 2 > b)", &small, &rule, &err)) {
            assert_int_equal(err.code, ERR_CODE_memory);
            failures++;
        }
        arena_close(&small);
    }
    assert_in_range(failures, 1, 100);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),      cmocka_unit_test(test_units),
        cmocka_unit_test(test_compare),         cmocka_unit_test(test_texts),
        cmocka_unit_test(test_truths),          cmocka_unit_test(test_logic_precedence),
        cmocka_unit_test(test_three_truths),    cmocka_unit_test(test_short_circuit),
        cmocka_unit_test(test_errors_in_names), cmocka_unit_test(test_syntax_errors),
        cmocka_unit_test(test_names),           cmocka_unit_test(test_number_errors),
        cmocka_unit_test(test_depth),           cmocka_unit_test(test_length),
        cmocka_unit_test(test_hostile),         cmocka_unit_test(test_every_short_sequence),
        cmocka_unit_test(test_memory_ends),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
