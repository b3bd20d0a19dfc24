/*
 * The JSON writer: commas and nesting, escapes, and bytes that are no UTF-8.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sweeper/base/json.h"
#include "tests/support/other_locale.h"

static struct arena arena;
static struct text out;
static struct json json;

static int open_json(void **state)
{
    (void)state;
    arena_open(&arena, 1 << 20);
    text_open(&out, &arena);
    json_open(&json, &out);
    return 0;
}

static int close_json(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static void assert_string_written(const char *value, const char *expected)
{
    text_open(&out, &arena);
    json_open(&json, &out);
    json_string(&json, value);
    assert_string_equal(text_done(&out), expected);
}

static void containers_nest_with_commas(void **state)
{
    (void)state;
    json_object_begin(&json);
    json_key(&json, "a");
    json_int(&json, 1);
    json_key(&json, "b");
    json_array_begin(&json);
    json_array_begin(&json);
    json_array_end(&json);
    json_object_begin(&json);
    json_object_end(&json);
    json_null(&json);
    json_bool(&json, true);
    json_bool(&json, false);
    json_raw(&json, "{\"x\":[]}");
    json_array_end(&json);
    json_key(&json, "c");
    json_object_begin(&json);
    json_key(&json, "d");
    json_string(&json, NULL);
    json_object_end(&json);
    json_key(&json, "e");
    json_string(&json, "f");
    json_object_end(&json);
    assert_string_equal(text_done(&out), "{\"a\":1,\"b\":[[],{},null,true,false,{\"x\":[]}],"
                                         "\"c\":{\"d\":null},\"e\":\"f\"}");
}

static void containers_nest_31_deep(void **state)
{
    (void)state;
    char expected[128] = "";
    size_t at = 0;
    for (int i = 0; i < 31; i++) {
        json_array_begin(&json);
        expected[at++] = '[';
    }
    json_int(&json, 1);
    json_int(&json, 2);
    memcpy(expected + at, "1,2", 3);
    at += 3;
    for (int i = 0; i < 31; i++) {
        json_array_end(&json);
        expected[at++] = ']';
    }
    assert_string_equal(text_done(&out), expected);
}

static void numbers_are_written_exactly(void **state)
{
    (void)state;
    json_array_begin(&json);
    json_int(&json, INT64_MIN);
    json_int(&json, INT64_MAX);
    json_real(&json, 0.1);
    json_real(&json, 1e300);
    json_real(&json, -0.0);
    json_real(&json, NAN);
    json_real(&json, INFINITY);
    json_real(&json, -INFINITY);
    json_array_end(&json);
    assert_string_equal(text_done(&out),
                        "[-9223372036854775808,9223372036854775807,0.1,1e+300,-0,null,null,null]");
}

static void control_characters_are_escaped(void **state)
{
    (void)state;
    assert_string_written("", "\"\"");
    assert_string_written("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    assert_string_written("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    assert_string_written("\x01\x1b\x1f\x7f", "\"\\u0001\\u001b\\u001f\\u007f\"");
    assert_string_written("\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\"\\u0080\\u009b\\u009f\xc2\xa0\"");
}

static void keys_are_escaped_too(void **state)
{
    (void)state;
    json_object_begin(&json);
    json_key(&json, "a\"b");
    json_null(&json);
    json_object_end(&json);
    assert_string_equal(text_done(&out), "{\"a\\\"b\":null}");
}

static void utf8_passes(void **state)
{
    (void)state;
    assert_string_written("\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80",
                          "\"\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80\"");
    assert_string_written("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\xe0\xa0\x80\xf0\x90\x80\x80",
                          "\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\xe0\xa0\x80\xf0\x90\x80"
                          "\x80\"");
}

#define BAD "\xef\xbf\xbd"

static void what_is_no_utf8_is_replaced(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *expected;
    } rows[] = {
        {"\x80", "\"" BAD "\""},                 /* a continuation alone */
        {"a\xff\xfe", "\"a" BAD BAD "\""},       /* never in UTF-8 */
        {"\xc3", "\"" BAD "\""},                 /* cut */
        {"\xe2\x82", "\"" BAD BAD "\""},         /* cut */
        {"\xf0\x9f\x98", "\"" BAD BAD BAD "\""}, /* cut */
        {"\xc3(", "\"" BAD "(\""},               /* another byte follows */
        {"\xc0\xaf", "\"" BAD BAD "\""},         /* overlong '/' */
        {"\xe0\x80\xaf", "\"" BAD BAD BAD "\""}, /* overlong */
        {"\xf0\x80\x80\xaf", "\"" BAD BAD BAD BAD "\""},
        {"\xed\xa0\x80", "\"" BAD BAD BAD "\""},         /* surrogate */
        {"\xf4\x90\x80\x80", "\"" BAD BAD BAD BAD "\""}, /* beyond U+10FFFF */
        {"\xf8\x88\x80\x80\x80", "\"" BAD BAD BAD BAD BAD "\""},
        {"\xc3\"", "\"" BAD "\\\"\""}, /* does not swallow a quote */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_written(rows[i].in, rows[i].expected);
}

static void a_comma_locale_changes_nothing(void **state)
{
    (void)state;
    if (!other_locale_set("de_DE", "UTF-8"))
        skip();
    json_real(&json, 1.5);
    setlocale(LC_ALL, "C");
    assert_string_equal(text_done(&out), "1.5");
}

static void memory_ends_quietly(void **state)
{
    (void)state;
    struct arena small;
    arena_open(&small, 300);
    text_open(&out, &small);
    json_open(&json, &out);
    json_array_begin(&json);
    for (int i = 0; i < 100; i++)
        json_string(&json, "0123456789");
    json_array_end(&json);
    assert_null(text_done(&out));
    arena_close(&small);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_json, close_json)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(containers_nest_with_commas), EACH(containers_nest_31_deep),
        EACH(numbers_are_written_exactly), EACH(control_characters_are_escaped),
        EACH(keys_are_escaped_too),        EACH(utf8_passes),
        EACH(what_is_no_utf8_is_replaced), EACH(a_comma_locale_changes_nothing),
        EACH(memory_ends_quietly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
