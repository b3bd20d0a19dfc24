/*
 * Values: what a user may write, what it becomes, and what is refused with which words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "knobs/value.h"

static struct arena arena;

/* A row: variable, then the fields of struct knob that values depend on, in their order. */
#define ROW(variable, name_, type_, unit_, bare_, min_, max_, specials_, choices_, durability_)    \
    static const struct knob variable = {.name = (name_),                                          \
                                         .type = KNOB_##type_,                                     \
                                         .unit = UNIT_##unit_,                                     \
                                         .bare = (bare_),                                          \
                                         .min = (min_),                                            \
                                         .max = (max_),                                            \
                                         .specials = (specials_),                                  \
                                         .choices = (choices_),                                    \
                                         .durability = (durability_)}

ROW(buffers, "shared_buffers", INTEGER, BYTES, 8192, 131072, 8796093014016.0, "", "", "");
ROW(wal_buffers, "wal_buffers", INTEGER, BYTES, 8192, 32768, 2147475456.0, "-1|0", "", "");
ROW(timeout, "checkpoint_timeout", INTEGER, US, 1000000, 30e6, 86400e6, "", "", "");
ROW(delay, "vacuum_cost_delay", REAL, US, 1000, 0, 100000, "-1", "", "");
ROW(target, "completion_target", REAL, NONE, 1, 0, 1, "", "", "");
ROW(dirty, "lru_max_dirty", REAL, PERCENT, 1, 0, 100, "", "", "");
ROW(ratio, "vm.dirty_ratio", INTEGER, PERCENT, 1, 0, 100, "", "", "");
ROW(workers, "max_workers", INTEGER, NONE, 1, 1, 1024, "", "", "");
ROW(unbounded, "anything", INTEGER, BYTES, 8192, -INFINITY, INFINITY, "", "", "");
ROW(cache, "cache_size", INTEGER, BYTES, -1024, 0, 2199023254528.0, "", "", "");
ROW(page_size, "page_size", INTEGER, BYTES, 1, 512, 65536, "", "512|1024|4096|65536", "");
ROW(fsync_knob, "fsync", BOOL, NONE, 1, -INFINITY, INFINITY, "", "", "on|off");
ROW(commit_knob, "synchronous_commit", ENUM, NONE, 1, -INFINITY, INFINITY, "",
    "off|local|remote_write|on|remote_apply", "on,remote_apply,remote_write,local|off");
ROW(synchronous, "synchronous", ENUM, NONE, 1, -INFINITY, INFINITY, "",
    "OFF,0|NORMAL,1|FULL,2|EXTRA,3", "EXTRA|FULL|NORMAL|OFF");
ROW(sync_binlog, "sync_binlog", INTEGER, NONE, 1, 0, 4294967295.0, "", "", "1|*|0");
ROW(command, "archive_command", TEXT, NONE, 1, -INFINITY, INFINITY, "", "", "");

static const struct value_facts facts = {.host_memory_bytes = INT64_C(17179869184) + 12345,
                                         .host_cpu_count = 6};

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 16u << 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static struct value parsed(const struct knob *knob, const char *text)
{
    struct value value;
    struct err err;
    err_clear(&err);
    if (!value_parse(knob, text, &facts, &arena, &value, &err))
        fail_msg("'%s' was refused: %s", text, err.text);
    assert_string_equal(value.asked, text);
    return value;
}

static struct err refused(const struct knob *knob, const char *text, enum err_code code)
{
    struct value value;
    struct err err;
    err_clear(&err);
    if (value_parse(knob, text, &facts, &arena, &value, &err))
        fail_msg("'%s' was accepted as %s", text, value_canonical(knob, &value, &arena));
    assert_int_equal(err.code, code);
    assert_int_equal(err.class, ERR_PLAN);
    assert_non_null(strstr(err.text, knob->name));
    return err;
}

static void expect_integer(const struct knob *knob, const char *text, int64_t expected)
{
    struct value value = parsed(knob, text);
    assert_int_equal(value.kind, VALUE_INTEGER);
    if (value.integer != expected)
        fail_msg("'%s' is %lld, not %lld", text, (long long)value.integer, (long long)expected);
}

static void expect_real(const struct knob *knob, const char *text, double expected)
{
    struct value value = parsed(knob, text);
    assert_int_equal(value.kind, VALUE_REAL);
    if (value.real != expected)
        fail_msg("'%s' is %.17g, not %.17g", text, value.real, expected);
}

static void expect_text(const struct knob *knob, const char *text, const char *expected)
{
    struct value value = parsed(knob, text);
    assert_int_equal(value.kind, VALUE_TEXT);
    assert_string_equal(value.text, expected);
}

static void test_sizes(void **state)
{
    (void)state;
    expect_integer(&buffers, "8G", INT64_C(8589934592));
    expect_integer(&buffers, "8GB", INT64_C(8589934592));
    expect_integer(&buffers, "8 GB", INT64_C(8589934592));
    expect_integer(&buffers, "1048576", INT64_C(8589934592));
    expect_integer(&buffers, "8589934592B", INT64_C(8589934592));
    expect_integer(&buffers, "1.5G", INT64_C(1610612736));
    expect_integer(&buffers, "  128k ", 131072);
    expect_integer(&buffers, "16", 131072);
    refused(&buffers, "8Q", ERR_CODE_number);
    refused(&buffers, "eight", ERR_CODE_number);
    refused(&buffers, "8G 4", ERR_CODE_number);
    refused(&buffers, "90s", ERR_CODE_number);
    refused(&buffers, "0.3B", ERR_CODE_number);
}

static void test_durations(void **state)
{
    (void)state;
    expect_integer(&timeout, "300", 300000000);
    expect_integer(&timeout, "5min", 300000000);
    expect_integer(&timeout, "300000 ms", 300000000);
    expect_integer(&timeout, "1d", INT64_C(86400000000));
    refused(&timeout, "5MIN", ERR_CODE_number);
    refused(&timeout, "64M", ERR_CODE_number);
    expect_real(&delay, "2", 2000);
    expect_real(&delay, "0.5", 500);
    expect_real(&delay, "1.5ms", 1500);
    expect_real(&delay, "20us", 20);
    expect_real(&delay, "-1", -1);
    expect_real(&delay, "0.5us", 0.5);
    expect_real(&delay, "333.25 us", 333.25);
    expect_real(&delay, "1e-2ms", 10);
    refused(&delay, "2 parsecs", ERR_CODE_number);
    refused(&delay, "us", ERR_CODE_number);
    refused(&delay, "5us                      x", ERR_CODE_number);
    refused(&delay, "1.2.3ms", ERR_CODE_number);
    refused(&delay, "1ms2", ERR_CODE_number);
    refused(&delay, "1s", ERR_CODE_knob_value);
}

static void test_reals_and_percentages(void **state)
{
    (void)state;
    expect_real(&target, "0.9", 0.9);
    expect_real(&target, "1", 1);
    expect_real(&target, "5e-1", 0.5);
    expect_real(&target, "-0", 0);
    assert_string_equal(
        value_canonical(&target, &(struct value){.kind = VALUE_REAL, .real = -0.0}, &arena), "0");
    refused(&target, "0,9", ERR_CODE_number);
    refused(&target, "nan", ERR_CODE_number);
    refused(&target, "inf", ERR_CODE_number);
    refused(&target, "1e999", ERR_CODE_number);
    refused(&target, "1.0001", ERR_CODE_knob_value);
    expect_real(&dirty, "60.5", 60.5);
    expect_real(&dirty, "60.5%", 60.5);
    expect_integer(&ratio, "40%", 40);
    expect_integer(&ratio, "40", 40);
    refused(&ratio, "40.5%", ERR_CODE_number);
    refused(&ratio, "101", ERR_CODE_knob_value);
}

static void test_bounds(void **state)
{
    (void)state;
    struct err err = refused(&buffers, "64K", ERR_CODE_knob_value);
    assert_non_null(strstr(err.text, "64K"));
    assert_non_null(strstr(err.text, "128K"));
    expect_integer(&workers, "1", 1);
    expect_integer(&workers, "1024", 1024);
    refused(&workers, "0", ERR_CODE_knob_value);
    refused(&workers, "1025", ERR_CODE_knob_value);
    refused(&workers, "-5", ERR_CODE_knob_value);
    refused(&workers, "1.5", ERR_CODE_number);
    refused(&workers, "4k", ERR_CODE_number);
    refused(&workers, "", ERR_CODE_knob_value);
    refused(&workers, "  \t", ERR_CODE_knob_value);
    refused(&workers, "99999999999999999999", ERR_CODE_number);
    refused(&unbounded, "9223372036854775807", ERR_CODE_number);
    refused(&unbounded, "-9223372036854775808", ERR_CODE_number);
    refused(&unbounded, "9000000000000 T", ERR_CODE_number);
    expect_integer(&unbounded, "-3", -24576);
}

static void test_specials(void **state)
{
    (void)state;
    expect_integer(&wal_buffers, "-1", -1);
    expect_integer(&wal_buffers, "0", 0);
    expect_integer(&wal_buffers, "16MB", 16777216);
    struct err err = refused(&wal_buffers, "-2", ERR_CODE_knob_value);
    assert_non_null(strstr(err.text, "-2"));
    assert_non_null(strstr(err.hint, "-1|0"));
    refused(&wal_buffers, "1", ERR_CODE_knob_value);
}

/* SQLite's -64000 is 64000 KiB; its 2000 pages have no fixed size. */
static void test_negative_bare(void **state)
{
    (void)state;
    expect_integer(&cache, "64M", 67108864);
    expect_integer(&cache, "-65536", 67108864);
    expect_integer(&cache, "0", 0);
    struct err err = refused(&cache, "2000", ERR_CODE_knob_value);
    assert_non_null(strstr(err.hint, "64M"));
    refused(&cache, "1.5", ERR_CODE_knob_value);
    refused(&cache, "-9223372036854775808", ERR_CODE_number);
    /* rendering is canonical / bare */
    assert_int_equal(parsed(&cache, "64M").integer / cache.bare, -65536);
}

static void test_integer_choices(void **state)
{
    (void)state;
    expect_integer(&page_size, "4K", 4096);
    expect_integer(&page_size, "65536", 65536);
    struct err err = refused(&page_size, "5000", ERR_CODE_knob_value);
    assert_non_null(strstr(err.hint, "4096"));
    refused(&page_size, "2K", ERR_CODE_knob_value);
    refused(&page_size, "256", ERR_CODE_knob_value);
}

static void test_bools(void **state)
{
    (void)state;
    static const char *const on[] = {"on", "ON", "true", "Yes", "1"};
    static const char *const off[] = {"off", "False", "no", "0"};
    for (size_t i = 0; i < COUNT_OF(on); i++)
        expect_integer(&fsync_knob, on[i], 1);
    for (size_t i = 0; i < COUNT_OF(off); i++)
        expect_integer(&fsync_knob, off[i], 0);
    refused(&fsync_knob, "maybe", ERR_CODE_knob_value);
    refused(&fsync_knob, "2", ERR_CODE_knob_value);
    refused(&fsync_knob, "50% of host.memory", ERR_CODE_knob_value);
}

static void test_enums(void **state)
{
    (void)state;
    expect_text(&commit_knob, "Remote_Write", "remote_write");
    expect_text(&commit_knob, "true", "on");
    expect_text(&commit_knob, "0", "off");
    expect_text(&synchronous, "full", "FULL");
    expect_text(&synchronous, "2", "FULL");
    expect_text(&synchronous, "3", "EXTRA");
    /* OFF has a word of its own; there is no ON that "yes" could mean */
    expect_text(&synchronous, "no", "OFF");
    refused(&synchronous, "yes", ERR_CODE_knob_value);
    refused(&synchronous, "4", ERR_CODE_knob_value);
    refused(&synchronous, "NORMAL,1", ERR_CODE_knob_value);
    refused(&synchronous, "OFF|NORMAL", ERR_CODE_knob_value);
    struct err err = refused(&commit_knob, "remote", ERR_CODE_knob_value);
    assert_non_null(strstr(err.hint, "remote_apply"));
}

static void test_texts(void **state)
{
    (void)state;
    expect_text(&command, "cp %p /archive/%f", "cp %p /archive/%f");
    expect_text(&command, " spaced ", " spaced ");
    expect_text(&command, "25% of host.memory", "25% of host.memory");
    expect_text(&command, "", "");
    expect_text(&command,
                "gr\xc3\xb6\xc3\x9f"
                "e",
                "gr\xc3\xb6\xc3\x9f"
                "e");
    refused(&command, "a\nb", ERR_CODE_knob_value);
    refused(&command, "a\tb", ERR_CODE_knob_value);
    refused(&command, "\x1b[2J", ERR_CODE_knob_value);
    refused(&command, "\x7f", ERR_CODE_knob_value);
    refused(&command,
            "\xc2\x9b"
            "31m",
            ERR_CODE_knob_value);
}

static void test_keywords(void **state)
{
    (void)state;
    assert_int_equal(parsed(&buffers, "unset").kind, VALUE_UNSET);
    assert_int_equal(parsed(&command, "unset").kind, VALUE_UNSET);
    assert_int_equal(parsed(&buffers, " baseline ").kind, VALUE_BASELINE);
    struct value zero = {0};
    assert_int_equal(zero.kind, VALUE_BASELINE);
}

static void test_shares(void **state)
{
    (void)state;
    /* 4294970382 rounded down to whole pages of 8192 */
    expect_integer(&buffers, "25% of host.memory", INT64_C(4294967296));
    expect_integer(&buffers, "25 %  of  host.memory", INT64_C(4294967296));
    expect_integer(&workers, "50% of host.cpus", 3);
    expect_integer(&workers, "25% of host.cpus", 1);
    expect_integer(&workers, "200% of host.cpus", 12);
    refused(&workers, "10% of host.cpus", ERR_CODE_knob_value);
    refused(&workers, "50% of host.memory", ERR_CODE_knob_value);
    refused(&buffers, "50% of host.cpus", ERR_CODE_knob_value);
    refused(&buffers, "50% of host.ram", ERR_CODE_knob_value);
    refused(&buffers, "x% of host.memory", ERR_CODE_number);
    refused(&buffers, "1e300% of host.memory", ERR_CODE_number);
    refused(&buffers, "-25% of host.memory", ERR_CODE_knob_value);
    refused(&buffers, "25%", ERR_CODE_number);
}

/* A third of a round number must not lose its last unit to binary fractions. */
static void test_share_is_exact(void **state)
{
    (void)state;
    struct knob bytes = unbounded;
    bytes.bare = 1;
    struct value_facts round_facts = {.host_memory_bytes = 1000};
    struct value value;
    struct err err;
    err_clear(&err);
    assert_true(value_parse(&bytes, "33.3% of host.memory", &round_facts, &arena, &value, &err));
    assert_int_equal(value.integer, 333);
    assert_true(value_parse(&bytes, "0.1% of host.memory", &round_facts, &arena, &value, &err));
    assert_int_equal(value.integer, 1);
    assert_true(value_parse(&bytes, "99.99% of host.memory", &round_facts, &arena, &value, &err));
    assert_int_equal(value.integer, 999);
}

static void test_share_unknown(void **state)
{
    (void)state;
    struct value value;
    struct value_facts unknown = {0};
    struct err err;
    err_clear(&err);
    assert_false(value_parse(&buffers, "25% of host.memory", NULL, &arena, &value, &err));
    assert_int_equal(err.code, ERR_CODE_knob_value);
    assert_false(value_parse(&buffers, "25% of host.memory", &unknown, &arena, &value, &err));
    assert_non_null(strstr(err.text, "not known"));
}

static void test_equal(void **state)
{
    (void)state;
    struct value a = parsed(&buffers, "8G");
    struct value b = parsed(&buffers, "1048576");
    assert_true(value_equal(&buffers, &a, &b));
    b = parsed(&buffers, "1048577");
    assert_false(value_equal(&buffers, &a, &b));
    struct value x = {.kind = VALUE_REAL, .real = 0.1 + 0.2};
    struct value y = {.kind = VALUE_REAL, .real = 0.3};
    assert_true(value_equal(&target, &x, &y));
    y.real = 0.3000001;
    assert_false(value_equal(&target, &x, &y));
    struct value one = {.kind = VALUE_INTEGER, .integer = 1};
    y.real = 1;
    assert_true(value_equal(&target, &one, &y));
    struct value unset = {.kind = VALUE_UNSET};
    struct value unset_too = {.kind = VALUE_UNSET, .asked = "unset"};
    struct value baseline = {0};
    assert_true(value_equal(&target, &unset, &unset_too));
    assert_false(value_equal(&target, &unset, &baseline));
    assert_false(value_equal(&target, &unset, &one));
    struct value upper = {.kind = VALUE_TEXT, .text = "FULL"};
    struct value lower = {.kind = VALUE_TEXT, .text = "full"};
    assert_true(value_equal(&synchronous, &upper, &lower));
    assert_false(value_equal(&command, &upper, &lower));
    /* neighbours above 2^53 differ though their doubles do not */
    struct value big = {.kind = VALUE_INTEGER, .integer = INT64_C(9007199254740993)};
    struct value big_too = {.kind = VALUE_INTEGER, .integer = INT64_C(9007199254740992)};
    assert_false(value_equal(&unbounded, &big, &big_too));
}

static void expect_words(const struct knob *knob, const char *text, const char *canonical,
                         const char *display)
{
    struct value value = parsed(knob, text);
    assert_string_equal(value_canonical(knob, &value, &arena), canonical);
    assert_string_equal(value_display(knob, &value, &arena), display);
}

static void test_words(void **state)
{
    (void)state;
    expect_words(&buffers, "8G", "8589934592", "8G");
    expect_words(&buffers, "unset", "unset", "unset");
    expect_words(&buffers, "baseline", "baseline", "baseline");
    expect_words(&timeout, "90", "90000000", "90s");
    expect_words(&wal_buffers, "-1", "-1", "-1");
    expect_words(&wal_buffers, "0", "0", "0");
    expect_words(&target, "0.50", "0.5", "0.5");
    expect_words(&dirty, "60.50", "60.5", "60.5%");
    expect_words(&ratio, "40", "40", "40%");
    expect_words(&fsync_knob, "1", "on", "on");
    expect_words(&fsync_knob, "no", "off", "off");
    expect_words(&synchronous, "2", "FULL", "FULL");
    expect_words(&command, "cp %p x", "cp %p x", "cp %p x");
    struct value sum = {.kind = VALUE_REAL, .real = 0.1 + 0.2};
    assert_string_equal(value_canonical(&target, &sum, &arena), "0.3");
    struct value huge = {.kind = VALUE_REAL, .real = 1.7976931348623157e308};
    assert_non_null(value_canonical(&target, &huge, &arena));
    struct value third = {.kind = VALUE_REAL, .real = 1000.0 / 3};
    assert_string_equal(value_display(&delay, &third, &arena), "333.333333333us");
}

/* What is displayed reads back as the same value. */
static void test_display_reads_back(void **state)
{
    (void)state;
    static const char *const sizes[] = {"131072B", "131073B", "1.5G", "3G", "20000"};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct value value = parsed(&buffers, sizes[i]);
        struct value again = parsed(&buffers, value_display(&buffers, &value, &arena));
        assert_true(value_equal(&buffers, &value, &again));
    }
    struct value third = {.kind = VALUE_REAL, .real = 1000.0 / 3};
    struct value again = parsed(&delay, value_display(&delay, &third, &arena));
    assert_true(value_equal(&delay, &third, &again));
}

static int durability(const struct knob *knob, const char *text)
{
    struct value value = parsed(knob, text);
    return value_durability(knob, &value);
}

static void test_durability(void **state)
{
    (void)state;
    assert_int_equal(durability(&fsync_knob, "on"), 0);
    assert_int_equal(durability(&fsync_knob, "0"), 1);
    assert_int_equal(durability(&commit_knob, "local"), 0);
    assert_int_equal(durability(&commit_knob, "remote_apply"), 0);
    assert_int_equal(durability(&commit_knob, "off"), 1);
    assert_int_equal(durability(&synchronous, "3"), 0);
    assert_int_equal(durability(&synchronous, "normal"), 2);
    assert_int_equal(durability(&sync_binlog, "1"), 0);
    assert_int_equal(durability(&sync_binlog, "100"), 1);
    assert_int_equal(durability(&sync_binlog, "0"), 2);
    assert_int_equal(durability(&buffers, "8G"), 0);
    assert_int_equal(durability(&buffers, "unset"), 0);
    assert_int_equal(durability(&fsync_knob, "baseline"), 0);
    assert_int_equal(durability(&fsync_knob, "unset"), 2);
    assert_int_equal(durability(&sync_binlog, "unset"), 1);
}

static void test_number(void **state)
{
    (void)state;
    double number = 0;
    struct value value = parsed(&buffers, "8G");
    assert_true(value_number(&value, &number));
    assert_true(number == 8589934592.0);
    value = parsed(&target, "0.5");
    assert_true(value_number(&value, &number));
    assert_true(number == 0.5);
    value = parsed(&target, "unset");
    assert_false(value_number(&value, &number));
    value = parsed(&commit_knob, "off");
    assert_false(value_number(&value, &number));
}

static void test_memory_ends(void **state)
{
    (void)state;
    struct arena small;
    struct value value;
    struct err err;
    char text[4096];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    arena_open(&small, 64);
    err_clear(&err);
    assert_false(value_parse(&command, text, NULL, &small, &value, &err));
    assert_int_equal(err.code, ERR_CODE_memory);
    arena_close(&small);
}

static void test_hostile_text(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "%s%n%s%n", "%",   "% of ", "%of host.memory", "--5", "+", "\xff\xfe", "0x10", "1e", ".",
        "1G1G",     "1;2", "\x01"};
    char endless[20000];
    memset(endless, '9', sizeof(endless) - 1);
    endless[sizeof(endless) - 1] = '\0';
    for (size_t i = 0; i < COUNT_OF(hostile); i++) {
        refused(&workers, hostile[i], ERR_CODE_number);
        refused(&target, hostile[i], ERR_CODE_number);
        refused(&fsync_knob, hostile[i], ERR_CODE_knob_value);
        refused(&commit_knob, hostile[i], ERR_CODE_knob_value);
    }
    refused(&workers, endless, ERR_CODE_number);
    refused(&buffers, endless, ERR_CODE_number);
    refused(&commit_knob, endless, ERR_CODE_knob_value);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_reals_and_percentages),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_specials),
        cmocka_unit_test(test_negative_bare),
        cmocka_unit_test(test_integer_choices),
        cmocka_unit_test(test_bools),
        cmocka_unit_test(test_enums),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_keywords),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_share_is_exact),
        cmocka_unit_test(test_share_unknown),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_display_reads_back),
        cmocka_unit_test(test_durability),
        cmocka_unit_test(test_number),
        cmocka_unit_test(test_memory_ends),
        cmocka_unit_test(test_hostile_text),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
