/*
 * Sweep files that are right: every key, its default and its forms; numbers; files, folders and
 * secrets.
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
#include "tests/support/other_locale.h"

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
    arena_open(&arena, 1u << 28);
    err_clear(&err);
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

static const char *in_folder(const char *name)
{
    const char *path = arena_printf(&arena, "%s/%s", folder, name);
    assert_non_null(path);
    return path;
}

static const char *write_file(const char *name, const char *text, mode_t mode)
{
    const char *path = in_folder(name);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(file, mode), 0);
    close(file);
    return path;
}

static void parse(const char *text)
{
    char all[1200];
    err_clear(&err);
    if (!sweepfile_parse("/etc/dbsweep/nightly.cfg", text, &arena, &sweep, &err)) {
        err_format(&err, all, sizeof all);
        fail_msg("%s", all);
    }
}

/* What stands beside a plain target and workload. */
static void parse_top(const char *text)
{
    parse(arena_printf(&arena, TARGET WORKLOAD "%s", text));
}

static void parse_target(const char *text)
{
    parse(arena_printf(&arena, "target = { backend = \"postgresql\"; %s };\n" WORKLOAD, text));
}

static void parse_workload(const char *text)
{
    parse(arena_printf(&arena, TARGET "workload = { kind = \"oltp\"; %s };\n", text));
}

static void parse_command(const char *text)
{
    parse(arena_printf(
        &arena, TARGET "workload = { kind = \"command\"; command = [ \"true\" ]; %s };\n", text));
}

static void assert_words(const char *const *words, const char *joined)
{
    struct text text;
    text_open(&text, &arena);
    for (; *words != NULL; words++)
        text_addf(&text, "%s%s", text.size > 0 ? "|" : "", *words);
    assert_string_equal(text_done(&text), joined);
}

/* ---- defaults ---- */

static void a_short_file_has_defaults(void **state)
{
    (void)state;
    parse(TARGET WORKLOAD);
    assert_string_equal(sweep.path, "/etc/dbsweep/nightly.cfg");
    assert_string_equal(sweep.file_text, TARGET WORKLOAD);
    assert_string_equal(sweep.name, "nightly");
    assert_string_equal(sweep.store_path, "/etc/dbsweep/nightly.db");
    assert_false(sweep.has_host);
    assert_true(sweep.baseline);
    assert_null(sweep.notify);
    assert_int_equal(sweep.label_count + sweep.axis_count + sweep.exact_count + sweep.rule_count,
                     0);
    assert_string_equal(sweep.backend->name, "sqlite");
    assert_string_equal(sweep.target.backend, "sqlite");
    assert_string_equal(sweep.target.connect, "/data/x.db");
    assert_string_equal(sweep.target.apply, "edit");
    assert_null(sweep.target.password);
    assert_null(sweep.target.config);
    assert_null(sweep.target.stop);
    assert_null(sweep.target.start);
    assert_null(sweep.target.restart);
    assert_null(sweep.target.data_directory);
    assert_null(sweep.target.log);
    assert_string_equal(sweep.target.session, "native");
    assert_int_equal(sweep.target.ready_timeout_ms, 120000);
    assert_int_equal(sweep.target.stop_timeout_ms, 300000);
    assert_string_equal(sweep.between.restart, "always");
    assert_false(sweep.between.drop_caches || sweep.between.prewarm);
    assert_int_equal(sweep.between.settle_ms, 0);
    assert_string_equal(sweep.guard.memory, "0.9 * host.memory");
}

static void the_workload_has_defaults(void **state)
{
    (void)state;
    parse(TARGET WORKLOAD);
    assert_string_equal(sweep.workload.kind, "oltp");
    assert_int_equal(sweep.workload.clients, 1);
    assert_int_equal(sweep.workload.threads, 0);
    assert_true(sweep.workload.rate_per_s == 0);
    assert_int_equal(sweep.workload.warm_up_ms, 60000);
    assert_int_equal(sweep.workload.measure_ms, 300000);
    assert_int_equal(sweep.workload.drain_ms, 10000);
    assert_int_equal(sweep.workload.prepare_timeout_ms, 4 * 3600000);
    assert_int_equal(sweep.workload.seed, 1);
    assert_true(sweep.workload.error_budget_pct == 1);
    assert_string_equal(sweep.workload.reset, "default");
    assert_null(sweep.workload.reset_command);
    assert_string_equal(sweep.workload.mix, "read_write");
    assert_int_equal(sweep.workload.tables, 1);
    assert_int_equal(sweep.workload.rows, 10000);
    assert_int_equal(sweep.workload.range_size, 100);
    assert_string_equal(sweep.workload.distribution, "uniform");
    assert_false(sweep.workload.skip_trx);
    assert_true(sweep.workload.prepared);
    assert_int_equal(sweep.workload.warehouses, 1);
    assert_int_equal(sweep.workload.terminals, 0);
    assert_true(sweep.workload.rollback_pct == 1);
    assert_true(sweep.workload.payment_by_name_pct == 60);
    assert_true(sweep.workload.keying == 0 && sweep.workload.think == 0);
    assert_null(sweep.workload.command);
    assert_string_equal(sweep.workload.preset, "none");
    assert_int_equal(sweep.workload.metric_count, 0);
    assert_null(sweep.workload.expect);
}

static void strategy_and_rank_have_defaults(void **state)
{
    (void)state;
    parse(TARGET WORKLOAD);
    assert_string_equal(sweep.strategy.kind, "auto");
    assert_int_equal(sweep.strategy.seed, 1);
    assert_int_equal(sweep.strategy.budget_ms, 0);
    assert_int_equal(sweep.strategy.budget_trials, 0);
    assert_int_equal(sweep.strategy.repeats, 3);
    assert_string_equal(sweep.rank.by, "throughput_per_s");
    assert_string_equal(sweep.rank.under, "");
    assert_true(sweep.rank.confidence == 0.95);
    assert_string_equal(sweep.rank.across, "each");
    assert_string_equal(sweep.rank.durability, "baseline");
    assert_string_equal(sweep.rank.better, "higher");
}

/* ---- keys ---- */

static void top_level_keys(void **state)
{
    (void)state;
    parse_top(
        "points = ( { threads = 1; } ); name = \"weekly\"; store = \"results/w.db\"; baseline = "
        "false;\n"
        "notify = [ \"sh\", \"-c\", \"cat >> events\" ];\n"
        "labels = { kernel = \"6.1\"; disks = \"2 x NVMe RAID 1\"; cpus = 16; fast = true; };");
    assert_string_equal(sweep.name, "weekly");
    assert_string_equal(sweep.store_path, "/etc/dbsweep/results/w.db");
    assert_false(sweep.baseline);
    assert_words(sweep.notify, "sh|-c|cat >> events");
    assert_int_equal(sweep.exact_count, 1);
    assert_int_equal(sweep.label_count, 4);
    assert_string_equal(sweep.labels[1].name, "disks");
    assert_string_equal(sweep.labels[1].value, "2 x NVMe RAID 1");
    assert_string_equal(sweep.labels[2].value, "16");
    assert_string_equal(sweep.labels[3].value, "true");
}

static void target_keys(void **state)
{
    (void)state;
    parse_target(
        "connect = \"host=db1 user=sweep dbname=bench\"; config = \"/etc/pg.conf\";\n"
        "apply = \"sql\"; stop = [ \"pg_ctl\", \"stop\" ]; start = ( \"pg_ctl\", 5 );\n"
        "ready_timeout = \"2min\"; stop_timeout = \"1.5h\"; data_directory = \"/srv/pg\";\n"
        "log = \"logs/pg.log\";");
    assert_string_equal(sweep.backend->name, "postgresql");
    assert_string_equal(sweep.target.connect, "host=db1 user=sweep dbname=bench");
    assert_string_equal(sweep.target.config, "/etc/pg.conf");
    assert_string_equal(sweep.target.apply, "sql");
    assert_words(sweep.target.stop, "pg_ctl|stop");
    assert_words(sweep.target.start, "pg_ctl|5");
    assert_int_equal(sweep.target.ready_timeout_ms, 120000);
    assert_int_equal(sweep.target.stop_timeout_ms, 5400000);
    assert_string_equal(sweep.target.data_directory, "/srv/pg");
    assert_string_equal(sweep.target.log, "/etc/dbsweep/logs/pg.log");
    parse_target("connect = \"host=db1\"; restart = [ \"systemctl\", \"restart\", "
                 "\"postgresql@15-main\" ];");
    assert_words(sweep.target.restart, "systemctl|restart|postgresql@15-main");
    assert_string_equal(sweepfile_session_connect(&sweep), "host=db1");
    parse_target("connect = \"host=db1\"; session = \"odbc\"; session_connect = \"DSN=x\";");
    assert_string_equal(sweep.target.session, "odbc");
    assert_string_equal(sweep.target.connect, "host=db1");
    assert_string_equal(sweepfile_session_connect(&sweep), "DSN=x");
}

static void host_keys(void **state)
{
    (void)state;
    parse_target("host = { ssh = \"dba@db1.example:22\"; identity = \"keys/id\";\n"
                 "known_hosts = \"/k\"; sudo = true; transport = \"openssh\"; };");
    assert_true(sweep.has_host);
    assert_string_equal(sweep.host.ssh, "dba@db1.example:22");
    assert_string_equal(sweep.host.identity, "/etc/dbsweep/keys/id");
    assert_string_equal(sweep.host.known_hosts, "/k");
    assert_true(sweep.host.sudo);
    assert_string_equal(sweep.host.transport, "openssh");
    parse_target("host = { };");
    assert_true(sweep.has_host);
    assert_null(sweep.host.ssh);
    assert_false(sweep.host.sudo);
    assert_string_equal(sweep.host.transport, "libssh2");
}

static void workload_keys(void **state)
{
    (void)state;
    parse_workload(
        "clients = 64; threads = 4; rate = 500.5; warm_up = \"5m\"; measure = \"250ms\";\n"
        "drain = \"0s\"; prepare_timeout = \"1d\"; seed = 0x10; error_budget = \"2.5%\";\n"
        "reset = \"command\"; reset_command = [ \"./reset\", \"all\" ]; mix = \"delete\";\n"
        "tables = 8; rows = 4000000000; range_size = 5; distribution = \"zipfian\";\n"
        "skip_trx = true; prepared = false; warehouses = 20; terminals = 10; rollback_pct = 0.5;\n"
        "payment_by_name_pct = 0; keying = 1; think = 0.25;");
    assert_int_equal(sweep.workload.clients, 64);
    assert_int_equal(sweep.workload.threads, 4);
    assert_true(sweep.workload.rate_per_s == 500.5);
    assert_int_equal(sweep.workload.warm_up_ms, 300000);
    assert_int_equal(sweep.workload.measure_ms, 250);
    assert_int_equal(sweep.workload.drain_ms, 0);
    assert_int_equal(sweep.workload.prepare_timeout_ms, 86400000);
    assert_int_equal(sweep.workload.seed, 16);
    assert_true(sweep.workload.error_budget_pct == 2.5);
    assert_string_equal(sweep.workload.reset, "command");
    assert_words(sweep.workload.reset_command, "./reset|all");
    assert_string_equal(sweep.workload.mix, "delete");
    assert_int_equal(sweep.workload.tables, 8);
    assert_int_equal(sweep.workload.rows, INT64_C(4000000000));
    assert_int_equal(sweep.workload.range_size, 5);
    assert_string_equal(sweep.workload.distribution, "zipfian");
    assert_true(sweep.workload.skip_trx);
    assert_false(sweep.workload.prepared);
    assert_int_equal(sweep.workload.warehouses, 20);
    assert_int_equal(sweep.workload.terminals, 10);
    assert_true(sweep.workload.rollback_pct == 0.5);
    assert_true(sweep.workload.payment_by_name_pct == 0);
    assert_true(sweep.workload.keying == 1 && sweep.workload.think == 0.25);
    assert_int_equal(sweep.workload.warm_up_max_ms, 0);
    parse_workload("warm_up = { max = \"10m\"; min = \"90s\"; };");
    assert_int_equal(sweep.workload.warm_up_ms, 90000);
    assert_int_equal(sweep.workload.warm_up_max_ms, 600000);
    assert_int_equal(load_warm_up_limit_ms(&sweep.workload), 600000);
}

static void command_keys(void **state)
{
    (void)state;
    parse_command(
        "preset = \"sysbench\"; expect = [ \"^ok$\", \"tps: [0-9]+\" ];\n"
        "metrics = ( { name = \"lag\"; regex = \"lag ([0-9.]+)\"; better = \"lower\"; },\n"
        "            { name = \"tps\"; regex = \"tps ([0-9.]+)\"; better = \"higher\"; } );");
    assert_words(sweep.workload.command, "true");
    assert_string_equal(sweep.workload.preset, "sysbench");
    assert_words(sweep.workload.expect, "^ok$|tps: [0-9]+");
    assert_int_equal(sweep.workload.metric_count, 2);
    assert_string_equal(sweep.workload.metrics[0].name, "lag");
    assert_string_equal(sweep.workload.metrics[0].regex, "lag ([0-9.]+)");
    assert_string_equal(sweep.workload.metrics[0].better, "lower");
}

static void between_strategy_and_guard_keys(void **state)
{
    (void)state;
    parse_top("between = { restart = \"when-needed\"; drop_caches = true; prewarm = true;\n"
              "            settle = \"1500ms\"; };\n"
              "strategy = { kind = \"random\"; budget = \"9h\"; trials = 80; seed = 7; };\n"
              "guard = { memory = \"8G\"; cycles = false; };");
    assert_string_equal(sweep.between.restart, "when-needed");
    assert_true(sweep.between.drop_caches && sweep.between.prewarm);
    assert_int_equal(sweep.between.settle_ms, 1500);
    assert_string_equal(sweep.strategy.kind, "random");
    assert_int_equal(sweep.strategy.budget_ms, 9 * 3600000);
    assert_int_equal(sweep.strategy.budget_trials, 80);
    assert_int_equal(sweep.strategy.seed, 7);
    assert_string_equal(sweep.guard.memory, "8G");
    assert_false(sweep.guard.cycles);
    parse_top("strategy = \"grid\";");
    assert_string_equal(sweep.strategy.kind, "grid");
    assert_int_equal(sweep.strategy.seed, 1);
    assert_true(sweep.guard.cycles);
    parse_top("guard = { memory = false; };");
    assert_string_equal(sweep.guard.memory, "off");
}

static void rank_keys(void **state)
{
    (void)state;
    parse_top(
        "rank = { by = \"p99_ms\"; under = \"error_pct < 1 and max_ms < 2000\"; repeats = 5;\n"
        "confidence = 0.9; across = \"geomean\"; durability = \"any\"; better = \"higher\"; };");
    assert_string_equal(sweep.rank.by, "p99_ms");
    assert_string_equal(sweep.rank.under, "error_pct < 1 and max_ms < 2000");
    assert_int_equal(sweep.strategy.repeats, 5);
    assert_true(sweep.rank.confidence == 0.9);
    assert_string_equal(sweep.rank.across, "geomean");
    assert_string_equal(sweep.rank.durability, "any");
    assert_string_equal(sweep.rank.better, "higher");
}

static void the_better_direction_follows_the_metric(void **state)
{
    (void)state;
    static const char *const costs[] = {"p99_ms", "mean_ms", "elapsed_s", "error_pct"};
    static const char *const gains[] = {"throughput_per_s", "tpm", "spm"};
    for (size_t i = 0; i < COUNT_OF(costs); i++) {
        parse_top(arena_printf(&arena, "rank = { by = \"%s\"; };", costs[i]));
        assert_string_equal(sweep.rank.better, "lower");
    }
    for (size_t i = 0; i < COUNT_OF(gains); i++) {
        parse_top(arena_printf(&arena, "rank = { by = \"%s\"; };", gains[i]));
        assert_string_equal(sweep.rank.better, "higher");
    }
}

static void a_command_is_ranked_by_what_it_gives(void **state)
{
    (void)state;
    static const char metrics[] =
        "metrics = ( { name = \"stall_ms\"; regex = \"(1)\"; better = \"higher\"; } );";
    parse_command("preset = \"time\";");
    assert_string_equal(sweep.rank.by, "elapsed_s");
    assert_string_equal(sweep.rank.better, "lower");
    parse_command("preset = \"hammerdb\";");
    assert_string_equal(sweep.rank.by, "notpm");
    assert_string_equal(sweep.rank.better, "higher");
    parse_command("preset = \"pgbench\";");
    assert_string_equal(sweep.rank.by, "throughput_per_s");
    assert_string_equal(sweep.rank.better, "higher");
    parse_command(metrics);
    assert_string_equal(sweep.rank.by, "stall_ms");
    assert_string_equal(sweep.rank.better, "higher");
    parse(arena_printf(&arena,
                       TARGET "workload = { kind = \"command\"; command = [ \"x\" ]; %s };\n"
                              "rank = { by = \"elapsed_s\"; };",
                       metrics));
    assert_string_equal(sweep.rank.by, "elapsed_s");
    assert_string_equal(sweep.rank.better, "lower");
}

/* ---- numbers and the language ---- */

static const char *label(const char *number)
{
    parse_top(arena_printf(&arena, "labels = { n = %s; };", number));
    return sweep.labels[0].value;
}

static void numbers_are_exact(void **state)
{
    (void)state;
    assert_string_equal(label("4294967296"), "4294967296");
    assert_string_equal(label("10737418240"), "10737418240");
    assert_string_equal(label("4294967296L"), "4294967296");
    assert_string_equal(label("4294967296LL"), "4294967296");
    assert_string_equal(label("9223372036854775807"), "9223372036854775807");
    assert_string_equal(label("-9223372036854775808"), "-9223372036854775808");
    assert_string_equal(label("0x10"), "16");
    assert_string_equal(label("0XfF"), "255");
    assert_string_equal(label("0x7fffffffffffffffL"), "9223372036854775807");
    assert_string_equal(label("007"), "007");
    assert_string_equal(label("-5"), "-5");
    assert_string_equal(label("+5"), "5");
    assert_string_equal(label("1e3"), "1e3");
    assert_string_equal(label("1.50"), "1.50");
    assert_string_equal(label(".5"), ".5");
    assert_string_equal(label("-2.5E-3"), "-2.5E-3");
    assert_string_equal(label("0.1"), "0.1");
}

static void numbers_ignore_the_locale(void **state)
{
    (void)state;
    if (!other_locale_set("de_DE", "UTF-8"))
        skip();
    parse_top("rank = { confidence = 0.9; }; labels = { n = 1.5; };\n"
              "axes = { knobs = { cache_size = [ \"1.5M\" ]; }; };");
    setlocale(LC_ALL, "C");
    assert_true(sweep.rank.confidence == 0.9);
    assert_string_equal(sweep.labels[0].value, "1.5");
}

static void comments_and_texts_are_left_alone(void **state)
{
    (void)state;
    parse("# 1 2 3 \"\n// 0xzz {{{\n/* a = 1 a = 2\n \" */" TARGET WORKLOAD
          "labels = { a = \"1 2 # no comment // nor this /* or this */\"; b = \"x\\\"4G\\n\";\n"
          " c = \"con\" \"cat\" # 99999999999999999999\n \"enated\"; d : 5, e = 6 f = 7 /**/ ; };");
    assert_string_equal(sweep.labels[0].value, "1 2 # no comment // nor this /* or this */");
    assert_string_equal(sweep.labels[1].value, "x\"4G\n");
    assert_string_equal(sweep.labels[2].value, "concatenated");
    assert_string_equal(sweep.labels[3].value, "5");
    assert_string_equal(sweep.labels[5].value, "7");
}

static void utf8_is_kept(void **state)
{
    (void)state;
    parse("\xef\xbb\xbf" TARGET WORKLOAD "labels = { a = \"gr\xc3\xbc\xc3\x9f \xe2\x82\xac "
          "\xf0\x9f\x92\xbe\"; };");
    assert_string_equal(sweep.labels[0].value, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x92\xbe");
}

/* ---- files, folders ---- */

static void a_file_is_read(void **state)
{
    (void)state;
    const char *path = write_file("night.v2.cfg", "name = \"x\";\n" TARGET WORKLOAD, 0644);
    assert_true(sweepfile_read(path, &arena, &sweep, &err));
    assert_string_equal(sweep.name, "x");
    assert_string_equal(sweep.store_path, in_folder("x.db"));
    path = write_file("night.v2.cfg", TARGET WORKLOAD, 0644);
    assert_true(sweepfile_read(path, &arena, &sweep, &err));
    assert_string_equal(sweep.name, "night.v2");
}

/* From another folder the same file means the same. */
static void relative_paths_start_at_the_file(void **state)
{
    (void)state;
    char back[4096];
    assert_non_null(getcwd(back, sizeof back));
    write_file("n.cfg", "target = { backend = \"sqlite\"; connect = \"data/x.db\"; };\n" WORKLOAD,
               0644);
    assert_int_equal(chdir(folder), 0);
    bool ok = sweepfile_read("n.cfg", &arena, &sweep, &err);
    assert_int_equal(chdir(back), 0);
    assert_true(ok);
    assert_string_equal(sweep.path, "n.cfg");
    assert_string_equal(sweep.store_path, in_folder("n.db"));
    assert_string_equal(sweep.target.connect, in_folder("data/x.db"));
}

static void a_tilde_is_home(void **state)
{
    (void)state;
    const char *home = getenv("HOME");
    char *kept = home != NULL ? strdup(home) : NULL;
    setenv("HOME", "/home/dba", 1);
    parse("store = \"~/n.db\"; target = { backend = \"sqlite\"; connect = \"~/x.db\"; };" WORKLOAD);
    assert_string_equal(sweep.store_path, "/home/dba/n.db");
    assert_string_equal(sweep.target.connect, "/home/dba/x.db");
    parse("store = \"~other/n.db\";" TARGET WORKLOAD);
    assert_string_equal(sweep.store_path, "/etc/dbsweep/~other/n.db");
    if (kept != NULL)
        setenv("HOME", kept, 1);
    free(kept);
}

/* ---- secrets ---- */

static void a_password_comes_from_the_environment(void **state)
{
    (void)state;
    setenv("DBSWEEP_TEST_SECRET", "s3cret word", 1);
    parse_target("connect = \"host=db1\"; password_env = \"DBSWEEP_TEST_SECRET\";");
    unsetenv("DBSWEEP_TEST_SECRET");
    assert_string_equal(sweep.target.password, "s3cret word");
    assert_string_equal(sweep.password_env, "DBSWEEP_TEST_SECRET");
}

static void a_password_comes_from_a_private_file(void **state)
{
    (void)state;
    const char *path = write_file("secret", "s3cret word\r\nsecond line\n", 0600);
    parse_target(arena_printf(&arena, "password_file = \"%s\";", path));
    assert_string_equal(sweep.target.password, "s3cret word");
    write_file("secret", "no newline", 0400);
    parse_target(arena_printf(&arena, "password_file = \"%s\";", path));
    assert_string_equal(sweep.target.password, "no newline");
}

static void words_like_password_are_no_password(void **state)
{
    (void)state;
    parse_target("connect = \"host=db1 dbname=passwords passfile=/home/dba/.pgpass\";");
    parse_target("connect = \"postgresql://sweep@db1:5432/bench?application_name=a:b@c\";");
    parse("target = { backend = \"sqlite\"; connect = \"/data/password=x.db\"; };" WORKLOAD);
}

/* ---- the rows ---- */

static void every_row_is_complete(void **state)
{
    (void)state;
    size_t count = 0;
    const struct sweepfile_key *keys = sweepfile_keys(&count);
    assert_true(count > 80);
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(keys[i].key) > 0 && strlen(keys[i].sentence) > 5);
        assert_non_null(keys[i].range);
        for (size_t j = 0; j < i; j++)
            assert_true(strcmp(keys[i].key, keys[j].key) != 0 ||
                        strcmp(keys[i].section, keys[j].section) != 0);
        bool opens = i == 0 || strcmp(keys[i].section, keys[i - 1].section) != 0;
        for (size_t j = 0; opens && j < i; j++) /* the manual prints each section once */
            assert_string_not_equal(keys[j].section, keys[i].section);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_file_has_defaults),
        cmocka_unit_test(the_workload_has_defaults),
        cmocka_unit_test(strategy_and_rank_have_defaults),
        cmocka_unit_test(top_level_keys),
        cmocka_unit_test(target_keys),
        cmocka_unit_test(host_keys),
        cmocka_unit_test(workload_keys),
        cmocka_unit_test(command_keys),
        cmocka_unit_test(between_strategy_and_guard_keys),
        cmocka_unit_test(rank_keys),
        cmocka_unit_test(the_better_direction_follows_the_metric),
        cmocka_unit_test(a_command_is_ranked_by_what_it_gives),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(comments_and_texts_are_left_alone),
        cmocka_unit_test(utf8_is_kept),
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(relative_paths_start_at_the_file),
        cmocka_unit_test(a_tilde_is_home),
        cmocka_unit_test(a_password_comes_from_the_environment),
        cmocka_unit_test(a_password_comes_from_a_private_file),
        cmocka_unit_test(words_like_password_are_no_password),
        cmocka_unit_test(every_row_is_complete),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
