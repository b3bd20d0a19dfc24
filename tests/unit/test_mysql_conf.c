/*
 * Option files of MySQL and MariaDB: small files, one property each; whatever is not the asked
 * value's bytes stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/mysql/options.h"
#include "sweeper/base/text.h"

static struct arena arena;
static struct option_groups groups;

#define ROW(variable, name_, type_, unit_, bare_, specials_)                                       \
    static const struct knob variable = {.name = (name_),                                          \
                                         .type = KNOB_##type_,                                     \
                                         .unit = UNIT_##unit_,                                     \
                                         .bare = (bare_),                                          \
                                         .min = -INFINITY,                                         \
                                         .max = INFINITY,                                          \
                                         .specials = (specials_),                                  \
                                         .choices = ""}

ROW(pool, "innodb_buffer_pool_size", INTEGER, BYTES, 1, "");
ROW(connections, "max_connections", INTEGER, NONE, 1, "");
ROW(doublewrite, "innodb_doublewrite", BOOL, NONE, 1, "");
ROW(resolve, "skip_name_resolve", BOOL, NONE, 1, "");
ROW(lock_wait, "innodb_lock_wait_timeout", INTEGER, US, 1000000, "");
ROW(slow, "long_query_time", REAL, US, 1000000, "");
ROW(dirty, "innodb_max_dirty_pages_pct", REAL, PERCENT, 1, "");
ROW(isolation, "transaction_isolation", ENUM, NONE, 1, "");
ROW(mode, "sql_mode", TEXT, NONE, 1, "");
ROW(pages, "some_pages", INTEGER, BYTES, 16384, "-1");
ROW(bad_name, "max_connections = 1\n[client]\nx", INTEGER, NONE, 1, "");

static struct setting integer(const struct knob *knob, int64_t number)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_INTEGER, .integer = number}};
}

static struct setting real(const struct knob *knob, double number)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_REAL, .real = number}};
}

static struct setting word(const struct knob *knob, const char *text)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_TEXT, .text = text}};
}

static struct setting unset(const struct knob *knob)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_UNSET}};
}

static struct setting baseline(const struct knob *knob)
{
    return (struct setting){.knob = knob, .value = {.kind = VALUE_BASELINE}};
}

static struct bytes bytes_of(const char *text)
{
    return (struct bytes){.data = text, .size = strlen(text)};
}

static struct bytes render(struct bytes file, const struct setting *settings, size_t count)
{
    struct err err;
    struct bytes out = {0};
    err_clear(&err);
    if (!option_render(file, "/etc/my.cnf", &groups, settings, count, &arena, &out, &err))
        fail_msg("%s: %s", err.origin, err.text);
    return out;
}

static void expect(const char *file, const struct setting *settings, size_t count,
                   const char *wanted)
{
    struct bytes once = render(bytes_of(file), settings, count);
    assert_string_equal(once.data, wanted);
    assert_int_equal(once.size, strlen(wanted));
    /* Rendering what was rendered changes nothing more. */
    struct bytes twice = render(once, settings, count);
    assert_int_equal(twice.size, once.size);
    assert_memory_equal(twice.data, once.data, once.size);
}

static void expect_one(const char *file, struct setting setting, const char *wanted)
{
    expect(file, &setting, 1, wanted);
}

static void expect_error(struct bytes file, struct setting setting, enum err_code code,
                         const char *origin)
{
    struct err err;
    struct bytes out = {0};
    err_clear(&err);
    assert_false(option_render(file, "/etc/my.cnf", &groups, &setting, 1, &arena, &out, &err));
    assert_int_equal(err.code, code);
    assert_string_equal(err.origin, origin);
}

static void expect_bad_line(const char *file, const char *origin)
{
    expect_error(bytes_of(file), integer(&connections, 50), ERR_CODE_config_syntax, origin);
}

/* ---- bytes that stay ---- */

static void test_nothing_asked(void **state)
{
    (void)state;
    static const char file[] = "port = 1\n[ not even valid\0\xff\r\n";
    struct bytes bytes = {.data = file, .size = sizeof file - 1};
    struct bytes out = render(bytes, NULL, 0);
    assert_int_equal(out.size, bytes.size);
    assert_memory_equal(out.data, bytes.data, bytes.size);
    expect_one("[mysqld]\nmax_connections = 7 # mine", baseline(&connections),
               "[mysqld]\nmax_connections = 7 # mine");
}

static void test_value_bytes_only(void **state)
{
    (void)state;
    expect_one("# head\n[mysqld]\nmax_connections = 7\t# tail\nport=1\n", integer(&connections, 50),
               "# head\n[mysqld]\nmax_connections = 50\t# tail\nport=1\n");
    expect_one("[mysqld]\nmax_connections=7#tail\n", integer(&connections, 50),
               "[mysqld]\nmax_connections=50#tail\n");
    expect_one("[mysqld]\n\t max-Connections \t=\t 7 \t\n", integer(&connections, 50),
               "[mysqld]\n\t max-Connections \t=\t 50 \t\n");
    expect_one("[mysqld]\nmax_connections =\n", integer(&connections, 50),
               "[mysqld]\nmax_connections =50\n");
    expect_one("[mysqld]\nmax_connections = # none\n", integer(&connections, 50),
               "[mysqld]\nmax_connections = 50# none\n");
    expect_one("[mysqld]\nmax_connections = 5 ; x\n", integer(&connections, 50),
               "[mysqld]\nmax_connections = 50\n");
}

static void test_line_ends_stay(void **state)
{
    (void)state;
    expect_one("[mysqld]\r\nmax_connections = 7\r\nport=1\r\n", integer(&connections, 50),
               "[mysqld]\r\nmax_connections = 50\r\nport=1\r\n");
    expect_one("[mysqld]\r\nport=1\r\n", integer(&connections, 50),
               "[mysqld]\r\nport=1\r\nmax_connections = 50\r\n");
    expect_one("[mysqld]\nmax_connections = 7", integer(&connections, 50),
               "[mysqld]\nmax_connections = 50");
    expect_one("[mysqld]\nport = 1", integer(&connections, 50),
               "[mysqld]\nport = 1\nmax_connections = 50\n");
}

static void test_quotes_stay(void **state)
{
    (void)state;
    expect_one("[mysqld]\nmax_connections = '7' # x\n", integer(&connections, 50),
               "[mysqld]\nmax_connections = '50' # x\n");
    expect_one("[mysqld]\nsql_mode = \"A # B\" # x\n", word(&mode, "C"),
               "[mysqld]\nsql_mode = \"C\" # x\n");
    expect_one("[mysqld]\nsql_mode = 'A\\'#B' # x\n", word(&mode, "it's"),
               "[mysqld]\nsql_mode = 'it\\'s' # x\n");
    expect_one("[mysqld]\nsql_mode = 'A\n", word(&mode, "C"), "[mysqld]\nsql_mode = C\n");
}

static void test_quotes_come_where_needed(void **state)
{
    (void)state;
    expect_one("[mysqld]\nsql_mode = A\n", word(&mode, "B # C"),
               "[mysqld]\nsql_mode = \"B # C\"\n");
    expect_one("[mysqld]\nsql_mode = A\n", word(&mode, ""), "[mysqld]\nsql_mode = \"\"\n");
    expect_one("[mysqld]\nsql_mode = A\n", word(&mode, "a\\b \"c\""),
               "[mysqld]\nsql_mode = \"a\\\\b \\\"c\\\"\"\n");
    expect_one("[mysqld]\nsql_mode = A\n", word(&mode, "A,B C"), "[mysqld]\nsql_mode = A,B C\n");
}

/* ---- which line ---- */

static void test_last_one_wins(void **state)
{
    (void)state;
    expect_one("[mysqld]\nmax_connections = 1\nmax-connections = 2\n#max_connections = 3\n",
               integer(&connections, 50),
               "[mysqld]\nmax_connections = 1\nmax-connections = 50\n#max_connections = 3\n");
    expect_one("[mysqld]\nmax_connections = 1\n[mariadb-10.11]\nloose-max-connections=2\n"
               "[mariadb-10.6]\nmax_connections=3\n[mysqldump]\nmax_connections=4\n",
               integer(&connections, 50),
               "[mysqld]\nmax_connections = 1\n[mariadb-10.11]\nloose-max-connections=50\n"
               "[mariadb-10.6]\nmax_connections=3\n[mysqldump]\nmax_connections=4\n");
    expect_one("[mysqld]\nmax_connections = 1\n[client-server]\nmax_connections=2\n",
               integer(&connections, 50),
               "[mysqld]\nmax_connections = 1\n[client-server]\nmax_connections=50\n");
}

static void test_groups(void **state)
{
    (void)state;
    static const char *const read[] = {
        "mysqld",         "server",        "mariadb", "mariadbd", "mysqld-10.11", "mariadb-10.11",
        "mariadbd-10.11", "client-server", "galera",  "MySQLd",   "mysqld "};
    static const char *const other[] = {"mysqld-8.4", "mysql", "client", " mysqld", "mysqld2", ""};
    char file[128];
    char wanted[128];
    for (size_t i = 0; i < COUNT_OF(read); i++) {
        snprintf(file, sizeof file, "[%s] x\nmax_connections=1\n", read[i]);
        snprintf(wanted, sizeof wanted, "[%s] x\nmax_connections=50\n", read[i]);
        expect_one(file, integer(&connections, 50), wanted);
    }
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        snprintf(file, sizeof file, "[%s]\nmax_connections=1\n", other[i]);
        snprintf(wanted, sizeof wanted,
                 "[%s]\nmax_connections=1\n\n[mysqld]\nmax_connections = 50\n", other[i]);
        expect_one(file, integer(&connections, 50), wanted);
    }
    struct option_groups of_mysql;
    option_groups_of("MySQL", "8.4.3", "_two", &of_mysql);
    assert_true(option_groups_hold(&of_mysql, bytes_of("mysqld-8.4")));
    assert_true(option_groups_hold(&of_mysql, bytes_of("mysqld_two")));
    assert_true(option_groups_hold(&of_mysql, bytes_of("mysqld-8.4_two")));
    assert_false(option_groups_hold(&of_mysql, bytes_of("mariadb")));
    assert_false(option_groups_hold(&of_mysql, bytes_of("client-server")));
    option_groups_of("MySQL", "", NULL, &of_mysql);
    assert_true(option_groups_hold(&of_mysql, bytes_of("server")));
}

static void test_absent_is_added_to_the_servers_group(void **state)
{
    (void)state;
    expect_one("", integer(&connections, 50), "[mysqld]\nmax_connections = 50\n");
    expect_one("# only words\n", integer(&connections, 50),
               "# only words\n\n[mysqld]\nmax_connections = 50\n");
    expect_one("[mysqld]\nport=1\n\n# next\n[client]\nport=1\n", integer(&connections, 50),
               "[mysqld]\nport=1\nmax_connections = 50\n\n# next\n[client]\nport=1\n");
    expect_one("[mysqld]\n[mariadb]\nport=1\n[client]\n", integer(&connections, 50),
               "[mysqld]\nmax_connections = 50\n[mariadb]\nport=1\n[client]\n");
    expect_one("[mariadb]\nport=1\n[mysql]\n", integer(&connections, 50),
               "[mariadb]\nport=1\nmax_connections = 50\n[mysql]\n");
    /* Clients read [client-server] too, and would stop at an option they do not know. */
    expect_one("[client-server]\nsocket = s\n\n!includedir /etc/conf.d/\n",
               integer(&connections, 50),
               "[client-server]\nsocket = s\n\n!includedir /etc/conf.d/\n"
               "\n[mysqld]\nmax_connections = 50\n");
    expect_one("[mysqld]\nport=1\n!includedir /etc/conf.d/", integer(&connections, 50),
               "[mysqld]\nport=1\n!includedir /etc/conf.d/\nmax_connections = 50\n");
    const struct setting two[] = {integer(&connections, 50), integer(&pool, INT64_C(8) << 30)};
    expect("[mysqld]\n[client]\n", two, 2,
           "[mysqld]\nmax_connections = 50\ninnodb_buffer_pool_size = 8G\n[client]\n");
}

static void test_unset_removes_every_line(void **state)
{
    (void)state;
    expect_one("[mysqld]\nmax_connections = 1 # a\nport=1\n[server]\nMAX-connections=2",
               unset(&connections), "[mysqld]\nport=1\n[server]\n");
    expect_one("[mysqld]\nskip-innodb_doublewrite\ninnodb_doublewrite\n", unset(&doublewrite),
               "[mysqld]\n");
    expect_one("[mysql]\nmax_connections = 1\n", unset(&connections),
               "[mysql]\nmax_connections = 1\n");
    const struct setting two[] = {unset(&connections), integer(&lock_wait, 7000000)};
    expect("[mysqld]\nmax_connections = 1", two, 2, "[mysqld]\n\ninnodb_lock_wait_timeout = 7\n");
}

/* ---- prefixes, options without a value ---- */

static void test_options_without_value(void **state)
{
    (void)state;
    expect_one("[mysqld]\nskip-name-resolve # c\n", integer(&resolve, 0),
               "[mysqld]\nskip-name-resolve = OFF # c\n");
    expect_one("[mysqld]\ninnodb-doublewrite\n", integer(&doublewrite, 1),
               "[mysqld]\ninnodb-doublewrite = ON\n");
    expect_one("[mysqld]\nskip-innodb-doublewrite # c\n", integer(&doublewrite, 1),
               "[mysqld]\ninnodb_doublewrite = ON # c\n");
    expect_one("[mysqld]\ndisable_innodb_doublewrite=1\n", integer(&doublewrite, 0),
               "[mysqld]\ninnodb_doublewrite = OFF\n");
    expect_one("[mysqld]\nenable-innodb_doublewrite\n", integer(&doublewrite, 0),
               "[mysqld]\ninnodb_doublewrite = OFF\n");
    expect_one("[mysqld]\nloose_innodb_doublewrite = 0\n", integer(&doublewrite, 1),
               "[mysqld]\nloose_innodb_doublewrite = ON\n");
}

static void test_unclear_names_are_refused(void **state)
{
    (void)state;
    expect_bad_line("[mysqld]\n\nmax_connect=5\n", "/etc/my.cnf:3");
    expect_bad_line("[mysqld]\nmax_connections=5\nmaximum-max_connections=9\n", "/etc/my.cnf:3");
    expect_bad_line("[mysqld]\nloose-skip-max-connections\n", "/etc/my.cnf:2");
    expect_error(bytes_of("[mysqld]\nmax_connec=5\n"), unset(&connections), ERR_CODE_config_syntax,
                 "/etc/my.cnf:2");
    expect_one("[client]\nmax_connect=5\n[mysqld]\n", integer(&connections, 50),
               "[client]\nmax_connect=5\n[mysqld]\nmax_connections = 50\n");
    /* A whole option, although the names of others begin with it. */
    expect_one("[mysqld]\ninnodb=ON\n", integer(&pool, 1 << 20),
               "[mysqld]\ninnodb=ON\ninnodb_buffer_pool_size = 1M\n");
    expect_one("[mysqld]\nmax_connections_per_hour=5\n", integer(&connections, 50),
               "[mysqld]\nmax_connections_per_hour=5\nmax_connections = 50\n");
}

static void test_synonyms(void **state)
{
    (void)state;
    expect_one("[mysqld]\ntx-isolation = A\n", word(&isolation, "READ-COMMITTED"),
               "[mysqld]\ntx-isolation = READ-COMMITTED\n");
    expect_one("[mysqld]\nlog_slow_query_time=1\n", real(&slow, 250000),
               "[mysqld]\nlog_slow_query_time=0.25\n");
}

/* ---- values ---- */

static void expect_written(struct setting setting, const char *wanted)
{
    const char *text = NULL;
    struct err err;
    err_clear(&err);
    assert_true(option_value(setting.knob, &setting.value, &arena, &text, &err));
    assert_string_equal(text, wanted);
}

static void expect_unwritten(struct setting setting)
{
    const char *text = NULL;
    struct err err;
    err_clear(&err);
    assert_false(option_value(setting.knob, &setting.value, &arena, &text, &err));
    assert_int_equal(err.code, ERR_CODE_knob_value);
}

static void test_values(void **state)
{
    (void)state;
    expect_written(integer(&pool, 0), "0");
    expect_written(integer(&pool, 1023), "1023");
    expect_written(integer(&pool, 1024), "1K");
    expect_written(integer(&pool, INT64_C(1536) << 20), "1536M");
    expect_written(integer(&pool, INT64_C(900) << 30), "900G");
    expect_written(integer(&pool, INT64_C(10) << 40), "10240G");
    expect_written(integer(&connections, 1024), "1024");
    expect_written(integer(&doublewrite, 0), "OFF");
    expect_written(integer(&lock_wait, 90000000), "90");
    expect_written(real(&slow, 1500000), "1.5");
    expect_written(real(&dirty, 75.5), "75.5");
    expect_written(integer(&pages, 32768), "2");
    expect_written(integer(&pages, -1), "-1");
    expect_unwritten(integer(&pages, 1000));
    expect_unwritten(integer(&lock_wait, 1500000));
    expect_unwritten(word(&mode, "a\nb"));
    expect_error(bytes_of("[mysqld]\n"), integer(&bad_name, 1), ERR_CODE_knob_value, "");
}

/* ---- files that the server refuses ---- */

static void test_bad_files(void **state)
{
    (void)state;
    expect_bad_line("# c\nport = 1\n[mysqld]\n", "/etc/my.cnf:2");
    expect_bad_line("\xef\xbb\xbf[mysqld]\nport = 1\n", "/etc/my.cnf:1");
    expect_bad_line("[mysqld]\nport=1\n[mysql\n", "/etc/my.cnf:3");
    expect_bad_line("[mysqld]\n!include  \n", "/etc/my.cnf:2");
    expect_bad_line("[mysqld]\n = 5\n", "/etc/my.cnf:2");
    expect_bad_line("[mysqld]\r\n!include\nport = 1\n", "/etc/my.cnf:2");
    expect_bad_line("[mysqld]\nport = 1\n!includedir", "/etc/my.cnf:3");
    expect_error((struct bytes){.data = "[mysqld]\nport=\0\n", .size = 16},
                 integer(&connections, 50), ERR_CODE_config_syntax, "/etc/my.cnf:2");
    struct text text;
    text_open(&text, &arena);
    text_add(&text, "[mysqld]\nsql_mode=");
    for (int i = 0; i < 4100; i++)
        text_add_char(&text, 'x');
    expect_bad_line(text_done(&text), "/etc/my.cnf:2");
    expect_one("[mysqld]\n!unknown thing\n!includedirx\n", integer(&connections, 50),
               "[mysqld]\nmax_connections = 50\n!unknown thing\n!includedirx\n");
    expect_one("!includedir /none\n", integer(&connections, 50),
               "!includedir /none\n\n[mysqld]\nmax_connections = 50\n");
}

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 64u << 20);
    option_groups_of("MariaDB", "10.11.19", NULL, &groups);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_asked),
        cmocka_unit_test(test_value_bytes_only),
        cmocka_unit_test(test_line_ends_stay),
        cmocka_unit_test(test_quotes_stay),
        cmocka_unit_test(test_quotes_come_where_needed),
        cmocka_unit_test(test_last_one_wins),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_absent_is_added_to_the_servers_group),
        cmocka_unit_test(test_unset_removes_every_line),
        cmocka_unit_test(test_options_without_value),
        cmocka_unit_test(test_unclear_names_are_refused),
        cmocka_unit_test(test_synonyms),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_bad_files),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
