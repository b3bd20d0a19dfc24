/*
 * Sweep files that are wrong: each mistake is reported at its own line, in words that say what was
 * meant. And hostile ones: refused as mistakes, never anything else. It is long because each
 * mistake has a row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/sweepfile.h"

#define TARGET "target = { backend = \"sqlite\"; connect = \"/data/x.db\"; };\n"
#define WORKLOAD "workload = { kind = \"oltp\"; };\n"

static struct arena arena;
static struct err err;
static struct sweep sweep;
static char folder[64];

/* ---- setup ---- */

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, 1u << 30);
    snprintf(folder, sizeof folder, "/tmp/dbsweep-sweepfile.XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    arena_close(&arena);
    snprintf(command, sizeof command, "rm -rf '%s'", folder); /* a name of mkdtemp's */
    return system(command);
}

/* A text, and the whole message that it earns: "n.cfg:LINE: what; hint". */
struct mistake {
    const char *text;
    const char *message;
};

static void assert_message(const char *message, const char *about)
{
    char all[1200];
    err_format(&err, all, sizeof all);
    if (strcmp(all, message) != 0)
        fail_msg("%s\n  says:   %s\n  wanted: %s", about, all, message);
    assert_int_equal(err.class, ERR_PLAN);
}

static bool parse_and_build(const char *text)
{
    struct value_facts facts = {.host_memory_bytes = INT64_C(8) << 30, .host_cpu_count = 4};
    struct grid grid;
    err_clear(&err);
    return sweepfile_parse("n.cfg", text, &arena, &sweep, &err) &&
           sweepfile_grid(&sweep, NULL, 0, &facts, &arena, &grid, &err);
}

/* `before` and `after` stand around each text, on lines of their own. */
static void assert_mistakes(const char *before, const char *after, const struct mistake *mistakes,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = arena_printf(&arena, "%s\n%s\n%s", before, mistakes[i].text, after);
        if (parse_and_build(text))
            fail_msg("accepted: %s", mistakes[i].text);
        assert_message(mistakes[i].message, mistakes[i].text);
    }
}

#define ASSERT_MISTAKES(before, after, mistakes)                                                   \
    assert_mistakes(before, after, mistakes, COUNT_OF(mistakes))

/* ---- the language ---- */

static void lexical_mistakes(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"a = 9223372036854775808;", "n.cfg:2: 9223372036854775808 does not fit into 64 bits"},
        {"a = -9223372036854775809;", "n.cfg:2: -9223372036854775809 does not fit into 64 bits"},
        {"a = 99999999999999999999L;", "n.cfg:2: 99999999999999999999L does not fit into 64 bits"},
        {"a = 1_000;", "n.cfg:2: 1_000 is not a number"},
        {"a = 4G;", "n.cfg:2: 4G is not a number; write what has a unit as a text: \"4G\""},
        {"a = 25%;", "n.cfg:2: 25% is not a number; write what has a unit as a text: \"25%\""},
        {"a = 1.2.3;", "n.cfg:2: 1.2.3 is not a number"},
        {"a = 1.5L;", "n.cfg:2: 1.5L is not a number; write what has a unit as a text: \"1.5L\""},
        {"a = 1e999;", "n.cfg:2: 1e999 is not a number"},
        {"a = 0x;", "n.cfg:2: 0x is no hexadecimal number of 63 bits"},
        {"a = 0xfg;", "n.cfg:2: 0xfg is no hexadecimal number of 63 bits"},
        {"a = -0x10;", "n.cfg:2: -0x10 is no hexadecimal number of 63 bits"},
        {"a = 0x8000000000000000;",
         "n.cfg:2: 0x8000000000000000 is no hexadecimal number of 63 bits"},
        {"a = 0x00000000000000001;",
         "n.cfg:2: 0x00000000000000001 is no hexadecimal number of 63 bits"},
        {"a = [ 1\n 2 ];", "n.cfg:3: there is no separator between two values; put a comma "
                           "between them, or one pair of quotes around"},
        {"a = 5 \"MB\";", "n.cfg:2: there is no separator between two values; put a comma "
                          "between them, or one pair of quotes around"},
        {"a = \"x\" 5;", "n.cfg:2: there is no separator between two values; put a comma "
                         "between them, or one pair of quotes around"},
        {"a = 1-1;", "n.cfg:2: there is no separator between two values; put a comma "
                     "between them, or one pair of quotes around"},
        {"/* x\n\n", "n.cfg:2: this comment is never closed"},
        {"a = \"x\n\n", "n.cfg:2: this text is never closed"},
        {"a = \"x\\", "n.cfg:2: this text is never closed"},
        {"a = \"x\\x00y\";", "n.cfg:2: a text cannot hold a NUL byte"},
        {"@include \"other.cfg\"",
         "n.cfg:2: directives such as @include are not allowed; a sweep file is one file, which "
         "is kept with the results"},
        {"# ok\n# \xe4", "n.cfg:3: the byte 0xe4 is not UTF-8; save the file as UTF-8"},
        {"# \xc0\xaf", "n.cfg:2: the byte 0xc0 is not UTF-8; save the file as UTF-8"},
        {"# \xed\xa0\x80", "n.cfg:2: the byte 0xed is not UTF-8; save the file as UTF-8"},
        {"# \xf4\x90\x80\x80", "n.cfg:2: the byte 0xf4 is not UTF-8; save the file as UTF-8"},
        {"# \xe2\x82", "n.cfg:2: the byte 0xe2 is not UTF-8; save the file as UTF-8"},
    };
    ASSERT_MISTAKES("", "", mistakes);
}

static void grammatical_mistakes(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"name = \"x\" \"y\" =", "n.cfg:2: syntax error; here, or just before; a setting is "
                                 "name = value;"},
        {"name \"x\";", "n.cfg:2: syntax error; here, or just before; a setting is name = value;"},
        {"labels = { a = 1;",
         "n.cfg:3: syntax error; here, or just before; a setting is name = value;"},
        {"labels = { a = [ 1, true ]; };",
         "n.cfg:2: mismatched element type in array; only a list ( ... ) holds values of several "
         "kinds"},
        {"name = \"a\";\n\nname = \"b\";", "n.cfg:4: name is set twice, first in line 2"},
        {"labels = { a = 1; b = { a = 2; }; b\n= 3; };",
         "n.cfg:2: b is set twice, first in line 2"},
        {"labels = { /* a = 0; */ a = 1;\n# a = 2;\na = 3; };",
         "n.cfg:4: a is set twice, first in line 2"},
    };
    ASSERT_MISTAKES("", "", mistakes);
}

/* ---- keys ---- */

#define LIKE_A_FILE                                                                                \
    "; its store is named after it: up to 200 bytes, without / and control characters"

static void mistakes_at_top_level(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"nmae = \"x\";", "n.cfg:4: unknown key nmae; did you mean \"name\"?"},
        {"something_else = 1;",
         "n.cfg:4: unknown key something_else; dbsweep help --man lists the keys"},
        {"monitor = { interval = \"1s\"; };",
         "n.cfg:4: monitor is not available in this version; leave it out; README.md lists what "
         "is not done yet"},
        {"name = [ \"x\" ];", "n.cfg:4: name takes a single value, not a list"},
        {"name = \"\";", "n.cfg:4: a sweep cannot be named \"\"" LIKE_A_FILE},
        {"\n\nname = \"a/b\";", "n.cfg:6: a sweep cannot be named \"a/b\"" LIKE_A_FILE},
        {"name = \"a\033[2J\";", "n.cfg:4: a sweep cannot be named \"a\033[2J\"" LIKE_A_FILE},
        {"store = \"\";", "n.cfg:4: store is an empty path"},
        {"baseline = \"perhaps\";", "n.cfg:4: baseline is true or false, not \"perhaps\""},
        {"notify = \"cat >> x\";",
         "n.cfg:4: notify is a list of words, not a shell line; [ \"program\", \"argument\" ], or "
         "[ \"sh\", \"-c\", \"cat >> x\" ]"},
        {"notify = [ ];", "n.cfg:4: notify is empty"},
        {"notify = [ \"\", \"x\" ];", "n.cfg:4: notify has no program: its first word is empty"},
        {"notify = ( \"x\", { } );", "n.cfg:4: notify takes a single value, not a group"},
        {"notify = true;", "n.cfg:4: notify takes a list ( ... ) or [ ... ], not true or false"},
        {"labels = 5;", "n.cfg:4: labels takes a group { ... }, not a single value"},
        {"labels = { a = [ 1 ]; };", "n.cfg:4: labels.a takes a single value, not a list"},
    };
    ASSERT_MISTAKES(TARGET WORKLOAD, "", mistakes);
}

static void mistakes_in_the_target(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"target = { connect = \"x\"; };",
         "n.cfg:3: target.backend is missing; it is the kind of server: backend = "
         "\"postgresql\";"},
        {"target = {\nbackend = \"postgres\"; };",
         "n.cfg:4: there is no backend \"postgres\"; did you mean \"postgresql\"?"},
        {"target = { backend = \"xyz\"; };", "n.cfg:3: there is no backend \"xyz\""},
        {"target = { backend = \"informix\"; };",
         "n.cfg:3: backend \"informix\" is not available in this version; README.md lists what is "
         "not done yet"},
        {"target = { backend = \"sqlite\"; conect = \"x\"; };",
         "n.cfg:3: unknown key target.conect; did you mean \"connect\"?"},
        {"target = { backend = \"sqlite\"; session = \"odbc\"; };",
         "n.cfg:3: SQLite is set up by its own connection, not through ODBC; leave session out"},
        {"target = { backend = \"mysql\"; session = \"odbc\"; };",
         "n.cfg:3: session = \"odbc\" without session_connect; session_connect = "
         "\"Driver=...;Server=...\"; or \"DSN=...\""},
        {"target = { backend = \"mysql\"; session_connect = \"DSN=x\"; };",
         "n.cfg:3: session_connect without session = \"odbc\""},
        {"target = { backend = \"mysql\"; session = \"odbc\"; session_connect = \"pwd = y\"; };",
         "n.cfg:3: a password never stands in the sweep file; take it out of session_connect; use "
         "password_env, password_file or the client library's own file"},
        {"target = { backend = \"sqlite\"; apply = \"edti\"; };",
         "n.cfg:3: apply = \"edti\" is not one of edit|drop-in|sql; did you mean \"edit\"?"},
        {"target = { backend = \"sqlite\"; apply = \"drop-in\"; };",
         "n.cfg:3: apply = \"drop-in\" is not available in this version; use \"edit\""},
        {"target = { backend = \"sqlite\"; ready_timeout = 120; };",
         "n.cfg:3: ready_timeout = 120 lacks a unit; write \"120s\" for seconds, \"120min\" for "
         "minutes"},
        {"target = { backend = \"sqlite\"; ready_timeout = \"soon\"; };",
         "n.cfg:3: ready_timeout: \"soon\" is not a number; a duration has a unit: \"90s\", "
         "\"5min\", \"1.5h\""},
        {"target = { backend = \"sqlite\"; ready_timeout = \"2d\"; };",
         "n.cfg:3: ready_timeout = 2d is out of its range 1s..1d"},
        {"target = { backend = \"sqlite\"; restart = \"systemctl restart x\"; };",
         "n.cfg:3: target.restart is a list of words, not a shell line; [ \"program\", "
         "\"argument\" ], or [ \"sh\", \"-c\", \"systemctl restart x\" ]"},
        {"target = { backend = \"sqlite\";\nstop = [ \"x\" ]; };",
         "n.cfg:4: target.stop without target.start; give both, or target.restart alone"},
        {"target = { backend = \"sqlite\";\n\nstart = [ \"x\" ]; };",
         "n.cfg:5: target.start without target.stop; give both, or target.restart alone"},
        {"target = { backend = \"sqlite\"; host = { shs = \"x\"; }; };",
         "n.cfg:3: unknown key target.host.shs; did you mean \"ssh\"?"},
        {"target = { backend = \"sqlite\"; host = \"db1\"; };",
         "n.cfg:3: target.host takes a group { ... }, not a single value"},
        {"target = 5;", "n.cfg:3: target takes a group { ... }, not a single value"},
        {"", "n.cfg:1: target is missing; target = { backend = \"postgresql\"; connect = \"...\"; "
             "};"},
    };
    ASSERT_MISTAKES(WORKLOAD, "", mistakes);
}

static void passwords_in_the_file(void **state)
{
    (void)state;
    static const char *const connects[] = {
        "host=db1 password=x",     "PassWord = x",
        "host=db1 passwd=x",       "user=a;pwd=x",
        "sslpassword=x",           "postgresql://user:x@db1/bench",
        "mysql://user:@[::1]:3306"};
    for (size_t i = 0; i < COUNT_OF(connects); i++) {
        const char *text =
            arena_printf(&arena, "target = { backend = \"postgresql\";\nconnect = \"%s\"; };\n%s",
                         connects[i], WORKLOAD);
        assert_false(parse_and_build(text));
        assert_message("n.cfg:2: a password never stands in the sweep file; take it out of "
                       "connect; use password_env, password_file or the client library's own file",
                       connects[i]);
    }
    assert_false(parse_and_build("target = { backend = \"postgresql\";\n\npassword = \"x\"; };"));
    assert_message("n.cfg:3: a password never stands in the sweep file; name its environment "
                   "variable in password_env, or a file that only you can read in password_file",
                   "password");
}

static void assert_secret_refused(const char *key, const char *value, const char *message)
{
    const char *text = arena_printf(
        &arena, "target = { backend = \"postgresql\";\n%s = \"%s\"; };\n%s", key, value, WORKLOAD);
    assert_false(parse_and_build(text));
    assert_message(message, value);
}

static void secrets_that_cannot_be_had(void **state)
{
    (void)state;
    const char *path = arena_printf(&arena, "%s/secret", folder);
    unsetenv("DBSWEEP_NO_SUCH");
    assert_secret_refused("password_env", "DBSWEEP_NO_SUCH",
                          "n.cfg:2: the environment has no variable DBSWEEP_NO_SUCH; export the "
                          "password in it, or use password_file");
    assert_secret_refused(
        "password_file", path,
        arena_printf(&arena, "n.cfg:2: cannot read the password file %s: No such file or directory",
                     path));
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_secret_refused(
        "password_file", path,
        arena_printf(&arena, "n.cfg:2: the first line of the password file %s is empty", path));
    for (size_t i = 0; i < 4096; i++)
        assert_int_equal(write(file, "x", 1), 1);
    assert_secret_refused(
        "password_file", path,
        arena_printf(&arena, "n.cfg:2: the first line of the password file %s is too long", path));
    static const mode_t modes[] = {0640, 0604, 0620, 0602, 0610};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        assert_int_equal(fchmod(file, modes[i]), 0);
        assert_secret_refused(
            "password_file", path,
            arena_printf(&arena, "n.cfg:2: the password file %s is open to others; chmod 600 %s",
                         path, path));
    }
    close(file);
    assert_secret_refused(
        "password_file", folder,
        arena_printf(&arena, "n.cfg:2: the password file %s is not a file", folder));
    assert_false(parse_and_build("target = { backend = \"postgresql\"; password_env = \"A\";\n"
                                 "password_file = \"b\"; };" WORKLOAD));
    assert_message("n.cfg:2: both password_env and password_file are given", "both");
}

static void mistakes_in_the_workload(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"workload = { clients = 1; };", "n.cfg:3: workload.kind is missing; kind = \"oltp\"; or "
                                         "\"tpcc\", \"insert\", \"script\" or \"command\""},
        {"workload = { kind = \"otlp\"; };",
         "n.cfg:3: there is no workload \"otlp\"; did you mean \"oltp\"?"},
        {"workload = { kind = \"insert\"; insert_rows = 1000000; };",
         "n.cfg:3: a run that ends by its rows has no warm_up; warm_up = \"0s\";"},
        {"workload = { kind = \"insert\";\nindex_form = \"2010\"; };",
         "n.cfg:4: index_form = \"2010\" is not one of 2009|current; did you mean \"2009\"?"},
        {"workload = { kind = \"tpcc\";\nwarehouses = 0; };",
         "n.cfg:4: warehouses = 0 is out of its range 1..100000"},
        {"workload = { kind = \"tpcc\"; rollback_pct = 101; };",
         "n.cfg:3: rollback_pct = 101 is out of its range 0..100"},
        {"workload = { kind = \"tpcc\"; warehouses = 2; terminals = 10; clients = 8; };",
         "n.cfg:3: 8 clients are not 10 terminals in each of 2 warehouses; clients = 20;"},
        {"workload = { kind = \"oltp\";\nwarm_up = { min = \"1m\"; }; };",
         "n.cfg:4: workload.warm_up until steady has two keys, min and max; warm_up = { min = "
         "\"1m\"; max = \"10m\"; };"},
        {"workload = { kind = \"oltp\";\nwarm_up = { min = \"1m\"; max = \"9m\"; most = 1; }; };",
         "n.cfg:4: workload.warm_up until steady has two keys, min and max; warm_up = { min = "
         "\"1m\"; max = \"10m\"; };"},
        {"workload = { kind = \"oltp\";\nwarm_up = { min = \"1m\"; max = 600; }; };",
         "n.cfg:4: warm_up_max = 600 lacks a unit; write \"600s\" for seconds, \"600min\" for "
         "minutes"},
        {"workload = { kind = \"oltp\"; warm_up = { min = \"2m\"; max = \"1m\"; }; };",
         "n.cfg:3: the longest warm-up is shorter than the shortest; warm_up = { min = \"1m\"; max "
         "= \"10m\"; };"},
        {"workload = { kind = \"command\"; command = [ \"true\" ]; preset = \"time\";\n"
         "warm_up = { min = \"1s\"; max = \"2s\"; }; };",
         "n.cfg:3: the warm-up of a command is its own: nobody can end it early; warm_up = "
         "\"60s\";"},
        {"workload = { kind = \"oltp\"; client = 5; };",
         "n.cfg:3: unknown key workload.client; did you mean \"clients\"?"},
        {"workload = { kind = \"oltp\";\nclients = 0; };",
         "n.cfg:4: clients = 0 is out of its range 1..100000"},
        {"workload = { kind = \"oltp\"; clients = 1e3; };",
         "n.cfg:3: clients: \"1e3\" is not a whole number"},
        {"workload = { kind = \"oltp\"; clients = 4294967296; };",
         "n.cfg:3: clients = 4294967296 is out of its range 1..100000"},
        {"workload = { kind = \"oltp\"; clients = [ 5 ]; };",
         "n.cfg:3: workload.clients takes a single value, not a list"},
        {"workload = { kind = \"oltp\"; rate = -1; };",
         "n.cfg:3: rate = -1 is out of its range 0..1000000000"},
        {"workload = { kind = \"oltp\"; error_budget = \"101%\"; };",
         "n.cfg:3: error_budget = 101% is out of its range 0..100"},
        {"workload = { kind = \"oltp\"; measure = \"1ms\"; };",
         "n.cfg:3: measure = 1ms is out of its range 100ms..30d"},
        {"workload = { kind = \"oltp\"; measure = \"2.5 parsecs\"; };",
         "n.cfg:3: measure: \"2.5 parsecs\" has an unknown unit \"parsecs\"; a duration has a "
         "unit: \"90s\", "
         "\"5min\", \"1.5h\""},
        {"workload = { kind = \"oltp\"; mix = \"read-only\"; };",
         "n.cfg:3: mix = \"read-only\" is not one of read_only|read_write|write_only|point_select|"
         "update_index|update_non_index|insert|delete; did you mean \"read_only\"?"},
        {"", "n.cfg:1: workload is missing; workload = { kind = \"oltp\"; };"},
    };
    ASSERT_MISTAKES(TARGET, "", mistakes);
}

#define LIKE_A_METRIC "; rank.by and rank.under name it: letters, digits and _, a letter first"

static void mistakes_in_a_command(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"metrics = 5;", "n.cfg:4: workload.metrics takes a list ( ... ) or [ ... ], not a single "
                         "value"},
        {"metrics = ( \"x\" );", "n.cfg:4: workload.metrics takes a group { ... }, not a single "
                                 "value"},
        {"metrics = ( { name = \"x\"; } );",
         "n.cfg:4: a metric has a name, a regex and a better; { name = \"tps\"; regex = \"tps = "
         "([0-9.]+)\"; better = \"higher\"; }"},
        {"metrics = ( {\nname = \"\"; regex = \"(1)\"; better = \"lower\"; } );",
         "n.cfg:5: a metric cannot be named \"\"" LIKE_A_METRIC},
        {"metrics = ( {\nname = \"a b\"; regex = \"(1)\"; better = \"lower\"; } );",
         "n.cfg:5: a metric cannot be named \"a b\"" LIKE_A_METRIC},
        {"metrics = ( {\nname = 5; regex = \"(1)\"; better = \"lower\"; } );",
         "n.cfg:5: a metric cannot be named \"5\"" LIKE_A_METRIC},
        {"metrics = ( { name = \"x\"; regx = \"(1)\"; } );",
         "n.cfg:4: unknown key workload.metrics.regx; did you mean \"regex\"?"},
        {"metrics = ( { name = [ \"x\" ]; regex = \"(1)\"; better = \"lower\"; } );",
         "n.cfg:4: workload.metrics.name takes a single value, not a list"},
        {"metrics = ( { name = \"x\"; regex = \"(1)\";\nbetter = \"best\"; } );",
         "n.cfg:5: better is higher or lower, not \"best\""},
        {"metrics = ( { name = \"x\"; regex = \"(1\"; better = \"lower\"; } );",
         "n.cfg:4: \"(1\" is no regular expression: Unmatched ( or \\("},
        {"metrics = ( { name = \"x\"; regex = \"1\"; better = \"lower\"; } );",
         "n.cfg:4: \"1\" has no group for the number; put it into brackets: \"latency = "
         "([0-9.]+) ms\""},
        {"metrics = ( { name = \"x\"; regex = \"(1)\"; better = \"lower\"; },\n"
         "{ name = \"x\"; regex = \"(2)\"; better = \"lower\"; } );",
         "n.cfg:5: there are two metrics x"},
        {"expect = [ \"ok\",\n\"(\" ];",
         "n.cfg:5: \"(\" is no regular expression: Unmatched ( or \\("},
        {"expect = \"ok\";", "n.cfg:4: workload.expect takes a list ( ... ) or [ ... ], not a "
                             "single value"},
    };
    ASSERT_MISTAKES(TARGET "workload = { kind = \"command\"; command = [ \"x\" ];\n", "};",
                    mistakes);
}

#define LIKE_A_RULE "; a rule is like \"work_mem * clients <= 0.25 * host.memory\""
#define HAS_UNIT                                                                                   \
    "a number in rank.under has a unit; metrics are plain numbers in the unit that their name "    \
    "tells: p99_ms < 50"

static void mistakes_in_strategy_rank_and_guard(void **state)
{
    (void)state;
    static const struct mistake mistakes[] = {
        {"strategy = \"gird\";", "n.cfg:4: there is no strategy \"gird\"; did you mean \"grid\"?"},
        {"strategy = {\nkind = \"raze\"; };",
         "n.cfg:5: there is no strategy \"raze\"; did you mean \"race\"?"},
        {"strategy = { smallest_gain = 2; };",
         "n.cfg:4: smallest_gain = 2 is out of its range 0..1"},
        {"strategy = [ \"grid\" ];", "n.cfg:4: strategy takes a group { ... }, not a list"},
        {"strategy = { budget = 9; };",
         "n.cfg:4: budget = 9 lacks a unit; write \"9s\" for seconds, \"9min\" for minutes"},
        {"strategy = { trials = -1; };", "n.cfg:4: trials = -1 is out of its range 0..1000000000"},
        {"between = { settle = \"2 days\"; };", "n.cfg:4: settle: \"2 days\" has an unknown unit "
                                                "\"days\"; a duration has a unit: \"90s\", "
                                                "\"5min\", \"1.5h\""},
        {"rank = { by = \"p99_m\"; };",
         "n.cfg:4: the workload oltp gives no metric p99_m; did you mean \"p99_ms\"?"},
        {"rank = { by = \"notpm\"; };",
         "n.cfg:4: the workload oltp gives no metric notpm; did you mean \"tpm\"?"},
        {"rank = { by = \"happiness\"; };",
         "n.cfg:4: the workload oltp gives no metric happiness; it gives throughput_per_s, p99_ms "
         "and others"},
        {"rank = { repeats = 0; };", "n.cfg:4: repeats = 0 is out of its range 1..1000"},
        {"rank = { confidence = 95; };",
         "n.cfg:4: confidence = 95 is out of its range 0.5..0.9999"},
        {"rank = {\nunder = \"p99_ms <\"; };",
         "n.cfg:5: column 9 of rule 'p99_ms <': a name, a number or a quoted text is "
         "missing" LIKE_A_RULE},
        {"rank = {\nunder = \"p99_ms\"; };",
         "n.cfg:5: column 1 of rule 'p99_ms': this is neither true nor false" LIKE_A_RULE},
        {"rank = {\nunder = \"p99_ms < 'x'\"; };",
         "n.cfg:5: column 8 of rule 'p99_ms < 'x'': a text is compared with a number" LIKE_A_RULE},
        {"rank = {\nunder = \"p99_ms < 50ms\"; };", "n.cfg:5: " HAS_UNIT},
        {"rank = {\nunder = \"error_pct < 1%\"; };", "n.cfg:5: " HAS_UNIT},
        {"rank = {\nunder = \"p98_ms < 5\"; };",
         "n.cfg:5: the workload oltp gives no metric p98_ms; did you mean \"p95_ms\"?"},
        {"guard = { memory = \"lots of\"; };",
         "n.cfg:4: column 6 of rule 'lots of': the rule should end here" LIKE_A_RULE},
        {"guard = {\nmemory = \"much\"; };",
         "n.cfg:5: \"much\" has no meaning in guard.memory; a size, a share such as "
         "\"0.9 * host.memory\", or \"off\""},
        {"guard = { restore = \"on\"; };",
         "n.cfg:4: guard.restore is not available in this version; leave it out; README.md lists "
         "what is not done yet"},
    };
    ASSERT_MISTAKES(TARGET WORKLOAD, "", mistakes);
}

/* ---- hostile ---- */

static void hostile_texts_are_refused(void **state)
{
    (void)state;
    enum { MANY = 200000 };
    static const char *const openings[] = {"a={", "a=(", "a=[", "a=((", "a={b="};
    struct text text;
    for (size_t i = 0; i < COUNT_OF(openings); i++) {
        text_open(&text, &arena);
        for (size_t j = 0; j < MANY; j++)
            text_add(&text, openings[i]);
        assert_false(parse_and_build(text_done(&text)));
        assert_int_equal(err.class, ERR_PLAN);
    }
    text_open(&text, &arena);
    text_add(&text, "labels = {");
    for (int i = 0; i < MANY; i++)
        text_addf(&text, "a%d=1;\n", i);
    text_add(&text, "};");
    assert_false(parse_and_build(text_done(&text)));
    assert_message("n.cfg:4097: a group has more than 4096 settings", "many settings");
    text_open(&text, &arena);
    text_add(&text, TARGET WORKLOAD "axes = { knobs = { threads = [ 1");
    for (int i = 0; i < MANY; i++)
        text_add(&text, ",1");
    text_add(&text, "]; }; };");
    assert_false(parse_and_build(text_done(&text)));
    assert_message("n.cfg:3: a list has more than 65536 values", "many values");
    text_open(&text, &arena);
    for (int i = 0; i < MANY; i++)
        text_add(&text, "9");
    assert_false(parse_and_build(text_done(&text)));
    assert_int_equal(err.code, ERR_CODE_number);
}

/* Every prefix of a good file, and the file with each byte replaced. */
static void damaged_files_are_refused_or_read(void **state)
{
    (void)state;
    static const char good[] =
        TARGET "workload = { kind = \"oltp\"; clients = 4; };\n"
               "axes = { knobs = { cache_size = [ \"1M\", \"2M\" ]; }; workload = (\n"
               "{ name = \"rows\"; from = 10; to = 1e3; steps = 3; scale = \"log\"; } ); };\n"
               "rules = [ \"cache_size < 5M\" ]; # end\n";
    static const char bytes[] = "\"{([;=#\\9L@\n\x80";
    char copy[sizeof good];
    for (size_t i = 0; i < sizeof good; i++) {
        memcpy(copy, good, sizeof good);
        copy[i] = '\0';
        assert_true(parse_and_build(copy) || err.class == ERR_PLAN);
        for (size_t j = 0; j < sizeof bytes - 1 && good[i] != '\0'; j++) {
            copy[i] = bytes[j];
            assert_true(parse_and_build(copy) || err.class == ERR_PLAN);
        }
        arena_reset(&arena);
    }
}

/* With every limit of memory up to enough: an error, and nothing worse. */
static void memory_may_end_anywhere(void **state)
{
    (void)state;
    static const char text[] =
        TARGET "labels = { a = \"b\" \"c\"; };\n"
               "workload = { kind = \"command\"; command = [ \"x\" ]; expect = [ \"ok\" ];\n"
               "metrics = ( { name = \"m\"; regex = \"(1)\"; better = \"lower\"; } ); };\n"
               "axes = { knobs = ( { set = ( { mmap_size = 0; } ); } ); workload = { clients = {\n"
               "from = 1; to = 3; steps = 3; }; }; };\n"
               "points = ( { cache_size = \"1M\"; }, ( { name = \"threads\"; value = 1; } ) );\n"
               "rules = [ \"cache_size < 5M\" ];\n";
    bool has_room = false;
    for (size_t limit = 16; !has_room; limit += 16) {
        arena_close(&arena);
        arena_open(&arena, limit);
        has_room = parse_and_build(text);
        assert_true(has_room || err.code == ERR_CODE_memory);
        assert_true(limit < (1u << 20));
    }
    arena_close(&arena);
    arena_open(&arena, 1u << 30);
}

static void refuse_file(const char *path, const char *format)
{
    err_clear(&err);
    assert_false(sweepfile_read(path, &arena, &sweep, &err));
    assert_string_equal(err.text, arena_printf(&arena, "%s%s", path, format));
}

static void files_that_are_no_text(void **state)
{
    (void)state;
    const char *path = arena_printf(&arena, "%s/bad.cfg", folder);
    assert_false(sweepfile_read(path, &arena, &sweep, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
    assert_string_equal(err.hint, "give the path of a sweep file; examples/ has some");
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(file, 10 << 20), 0);
    refuse_file(path, " is larger than 4194304 bytes");
    assert_int_equal(ftruncate(file, 0), 0);
    assert_int_equal(write(file, "a = 1;\n# \0;\n", 12), 12);
    close(file);
    err_clear(&err);
    assert_false(sweepfile_read(path, &arena, &sweep, &err));
    assert_string_equal(err.text, "a NUL byte: this is not a text file");
    assert_true(strstr(err.origin, "bad.cfg:2") != NULL);
    refuse_file(folder, " is not a file");
    refuse_file("/dev/zero", " is not a file");
    path = arena_printf(&arena, "%s/fifo", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    refuse_file(path, " is not a file"); /* at once: nobody writes to it */
}

static void a_long_path_keeps_its_line(void **state)
{
    (void)state;
    struct text path;
    text_open(&path, &arena);
    for (int i = 0; i < 40; i++)
        text_addf(&path, "/folder%d", i);
    text_add(&path, "/nightly.cfg");
    err_clear(&err);
    assert_false(sweepfile_parse(text_done(&path), "\n\n\nname = 4G;", &arena, &sweep, &err));
    assert_int_equal(strncmp(err.origin, "...", 3), 0);
    assert_non_null(strstr(err.origin, "/folder39/nightly.cfg:4"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lexical_mistakes),
        cmocka_unit_test(grammatical_mistakes),
        cmocka_unit_test(mistakes_at_top_level),
        cmocka_unit_test(mistakes_in_the_target),
        cmocka_unit_test(passwords_in_the_file),
        cmocka_unit_test(secrets_that_cannot_be_had),
        cmocka_unit_test(mistakes_in_the_workload),
        cmocka_unit_test(mistakes_in_a_command),
        cmocka_unit_test(mistakes_in_strategy_rank_and_guard),
        cmocka_unit_test(hostile_texts_are_refused),
        cmocka_unit_test(damaged_files_are_refused_or_read),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(files_that_are_no_text),
        cmocka_unit_test(a_long_path_keeps_its_line),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
