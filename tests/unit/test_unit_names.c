/*
 * Which units the sweep file's own commands give to systemd. What systemd makes of them is tested
 * on a real one (tests/integ/systemd.sh).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "backends/unit.h"
#include "sweeper/base/text.h"

/* The units of a command of at most seven words, in one line. */
#define assert_units(wanted, ...)                                                                  \
    do {                                                                                           \
        const char *const argv[] = {__VA_ARGS__, NULL};                                            \
        assert_units_of(wanted, argv);                                                             \
    } while (0)

static void assert_units_of(const char *wanted, const char *const *argv)
{
    struct arena arena;
    struct err err;
    struct text text;
    const char *units[UNIT_LIMIT];
    size_t count = 0;
    arena_open(&arena, 1 << 20);
    err_clear(&err);
    text_open(&text, &arena);
    assert_true(unit_named(argv, &arena, units, &count, &err));
    for (size_t i = 0; i < count; i++) {
        text_addf(&text, "%s%s", i > 0 ? " " : "", units[i]);
    }
    assert_string_equal(text_done(&text), wanted);
    assert_int_equal(unit_is_named(argv), count > 0);
    arena_close(&arena);
}

static void test_systemctl(void **state UNUSED)
{
    assert_units("mariadb.service", "systemctl", "restart", "mariadb");
    assert_units("mariadb.service", "/usr/bin/systemctl", "-q", "start", "mariadb.service");
    assert_units("postgresql@15-main.service", "sudo", "-n", "systemctl", "stop",
                 "postgresql@15-main");
    assert_units("a.service b.target", "systemctl", "restart", "a", "b.target");
    assert_units("my.db.service", "systemctl", "restart", "my.db");
    assert_units("mysql.service", "/usr/sbin/service", "mysql", "restart");
}

static void test_not_ours_to_judge(void **state UNUSED)
{
    assert_units("", "systemctl", "--user", "restart", "mariadb");
    assert_units("", "systemctl", "-H", "db2", "restart", "mariadb");
    assert_units("", "systemctl", "daemon-reload");
    assert_units("", "systemctl");
    assert_units("", "pg_ctlcluster", "15", "main", "restart");
    assert_units("", "sh", "-c", "systemctl restart mariadb");
    assert_units("", "service", "mysql", "status");
    assert_units("", "service", "mysql");
    assert_false(unit_is_named(NULL));
}

static void test_at_most_so_many(void **state UNUSED)
{
    assert_units("1.service 2.service 3.service 4.service 5.service 6.service 7.service 8.service",
                 "systemctl", "restart", "1", "2", "3", "4", "5", "6", "7", "8", "9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_systemctl),
        cmocka_unit_test(test_not_ours_to_judge),
        cmocka_unit_test(test_at_most_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
