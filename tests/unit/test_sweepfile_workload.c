/*
 * Workload keys by name, as axes and options set them; the workload as JSON; the text of what may
 * not change between two runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/sweepfile.h"

#define TARGET "target = { backend = \"sqlite\"; connect = \"/data/x.db\"; };\n"
#define WORKLOAD "workload = { kind = \"oltp\"; };\n"

static struct arena arena;
static struct err err;
static struct sweep sweep;

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, 1u << 28);
    err_clear(&err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
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

/* ---- load hosts ---- */

static void load_hosts_are_a_list(void **state)
{
    (void)state;
    parse(TARGET "workload = { kind = \"oltp\"; clients = 2; load_hosts = (\n"
                 "{ ssh = \"a@one\"; program = \"/opt/dbsweep\"; transport = \"openssh\"; },\n"
                 "{ ssh = \"two:2222\"; } ); };\n");
    assert_int_equal(sweep.load_host_count, 2);
    assert_string_equal(sweep.load_hosts[0].host.ssh, "a@one");
    assert_string_equal(sweep.load_hosts[0].host.transport, "openssh");
    assert_string_equal(sweep.load_hosts[0].program, "/opt/dbsweep");
    assert_string_equal(sweep.load_hosts[1].host.ssh, "two:2222");
    assert_string_equal(sweep.load_hosts[1].host.transport, "libssh2");
    assert_null(sweep.load_hosts[1].program);
    const char *plan = NULL;
    assert_true(sweepfile_plan_text(&sweep, &arena, &plan, &err));
    assert_non_null(strstr(plan, "a@one two:2222"));
    parse(TARGET "workload = { kind = \"oltp\"; };\n");
    assert_int_equal(sweep.load_host_count, 0);
}

static void load_hosts_that_cannot_be(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"kind = \"command\"; command = [ \"true\" ]; preset = \"time\";\n"
         "load_hosts = ( { ssh = \"a\"; }, { ssh = \"b\"; } );",
         "n.cfg:3: what several load hosts find of the workload command cannot be added up;"
         " name one load host"},
        {"kind = \"oltp\"; clients = 1; load_hosts = ( { ssh = \"a\"; },\n{ ssh = \"b\"; } );",
         "n.cfg:3: 1 clients are fewer than the 2 load hosts;"
         " each load host drives one client at least"},
        {"kind = \"oltp\"; load_hosts = ( { identity = \"id\"; } );",
         "n.cfg:2: a load host has an address; load_hosts = ( { ssh = \"user@name\"; } );"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char all[1200];
        err_clear(&err);
        const char *text = arena_printf(&arena, TARGET "workload = { %s };\n", cases[i][0]);
        assert_false(sweepfile_parse("n.cfg", text, &arena, &sweep, &err));
        err_format(&err, all, sizeof all);
        assert_string_equal(all, cases[i][1]);
    }
}

/* ---- workload keys by name ---- */

static void workload_set_takes_every_key_of_one_word(void **state)
{
    (void)state;
    static const char *const samples[][2] = {
        {"text", "oltp"},    {"choice", ""},   {"integer", "7"},  {"real", "7"},
        {"duration", "7s"},  {"bool", "true"}, {"percent", "7%"}, {"path", "x"},
        {"argv", "a 'b c'"}, {"words", "a b"}};
    size_t count = 0;
    const struct sweepfile_key *keys = sweepfile_keys(&count);
    struct workload_spec workload;
    assert_true(workload_defaults(&workload, &arena, &err));
    for (size_t i = 0; i < count; i++) {
        const char *text = NULL;
        for (size_t j = 0; j < COUNT_OF(samples); j++)
            text = strcmp(samples[j][0], keys[i].type) == 0 ? samples[j][1] : text;
        if (strcmp(keys[i].section, "workload") != 0 || text == NULL)
            continue;
        if (text[0] == '\0')
            text = arena_strndup(&arena, keys[i].range, strcspn(keys[i].range, "|"));
        if (strcmp(keys[i].range, "0..3") == 0)
            text = "3";
        if (!workload_set(&workload, keys[i].key, text, &arena, &err))
            fail_msg("%s = %s: %s", keys[i].key, text, err.text);
    }
    assert_int_equal(workload.clients, 7);
    assert_int_equal(workload.warm_up_ms, 7000);
    assert_words(workload.command, "a|b c");
    assert_words(workload.expect, "a b");
    assert_true(workload_set(&workload, "warm-up", "90s", &arena, &err));
    assert_int_equal(workload.warm_up_ms, 90000);
}

static void refuse_setting(const char *key, const char *text, const char *message, const char *hint)
{
    struct workload_spec workload = {.kind = NULL};
    err_clear(&err);
    assert_false(workload_set(&workload, key, text, &arena, &err));
    assert_string_equal(err.text, message);
    assert_string_equal(err.hint, hint);
    assert_int_equal(err.class, ERR_PLAN);
}

static void workload_set_refuses(void **state)
{
    (void)state;
    refuse_setting("client", "4", "client is no setting of the workload",
                   "did you mean \"clients\"?");
    refuse_setting("metrics", "4", "metrics is no setting of the workload that one word can say",
                   "");
    refuse_setting("clients", "0", "clients = 0 is out of its range 1..100000", "");
    refuse_setting("clients", "", "clients: \"\" is not a whole number", "");
    refuse_setting("measure", "5", "measure = 5 lacks a unit",
                   "write \"5s\" for seconds, \"5min\" for minutes");
    refuse_setting("measure", "99ms", "measure = 99ms is out of its range 100ms..30d", "");
    refuse_setting("measure", "1500us", "measure = 1500us is not a whole number of milliseconds",
                   "");
    refuse_setting("mix", "read_onyl",
                   "mix = \"read_onyl\" is not one of read_only|read_write|write_only|point_select|"
                   "update_index|update_non_index|insert|delete",
                   "did you mean \"read_only\"?");
    refuse_setting("prepared", "maybe", "prepared is true or false, not \"maybe\"", "");
    refuse_setting("command", "a 'b", "command: the quote at ''b' is not closed",
                   "words are split at blanks, outside of quotes");
    refuse_setting("command", "  ", "command is empty",
                   "give a program and its arguments in one argument: 'sleep 1'");
}

static void workload_knobs_agree_with_their_rows(void **state)
{
    (void)state;
    size_t count = 0;
    const struct sweepfile_key *keys = sweepfile_keys(&count);
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const struct knob *knob = workload_knob(keys[i].key);
        if (strcmp(keys[i].section, "workload") != 0 || knob == NULL)
            continue;
        found++;
        assert_string_equal(knob->name, keys[i].key);
        assert_string_equal(knob->sentence, keys[i].sentence);
        const char *dots = strstr(keys[i].range, "..");
        if (dots == NULL)
            continue;
        struct value low;
        struct value high;
        double number = 0;
        const char *first = arena_strndup(&arena, keys[i].range, (size_t)(dots - keys[i].range));
        assert_true(value_parse(knob, first, NULL, &arena, &low, &err));
        assert_true(value_number(&low, &number) && number == knob->min);
        assert_true(value_parse(knob, dots + 2, NULL, &arena, &high, &err));
        assert_true(value_number(&high, &number) && number == knob->max);
    }
    assert_int_equal(found, 32);
    assert_int_equal(workload_knob("clients")->type, KNOB_INTEGER);
    assert_int_equal(workload_knob("warm-up")->unit, UNIT_US);
    assert_string_equal(workload_knob("distribution")->choices,
                        "uniform|gaussian|pareto|zipfian|special");
    assert_null(workload_knob("kind"));
    assert_null(workload_knob("reset"));
    assert_null(workload_knob("metrics"));
    assert_null(workload_knob("no_such"));
}

static void a_workload_is_written_as_json(void **state)
{
    (void)state;
    struct text text;
    parse_command("error_budget = 0.1; metrics = ( { name = \"m\"; regex = \"(1)\"; better = "
                  "\"lower\"; } );");
    text_open(&text, &arena);
    assert_true(workload_json(&sweep.workload, &text));
    assert_string_equal(
        text_done(&text),
        "{\"kind\":\"command\",\"clients\":1,\"threads\":0,\"rate\":0,\"arrivals\":\"constant\","
        "\"warm_up_ms\":60000,\"warm_up_max_ms\":0,"
        "\"measure_ms\":300000,\"drain_ms\":10000,\"prepare_timeout_ms\":14400000,\"seed\":1,"
        "\"error_budget_pct\":0.1,\"reset\":\"default\",\"reset_command\":[],\"mix\":\"read_"
        "write\","
        "\"tables\":1,\"rows\":10000,\"range_size\":100,\"distribution\":\"uniform\","
        "\"skip_trx\":false,\"prepared\":true,"
        "\"warehouses\":1,\"terminals\":0,\"rollback_pct\":1,\"payment_by_name_pct\":60,"
        "\"keying\":0,\"think\":0,\"scripts\":[],\"variables\":[],\"think_time_ms\":0,"
        "\"setup\":null,\"teardown\":null,\"index_form\":\"current\",\"insert_rows\":0,"
        "\"complete_within_ms\":86400000,\"rows_per_insert\":1000,\"secondary_indexes\":3,"
        "\"initial_rows\":0,\"query_clients\":0,\"delete_oldest\":false,"
        "\"command\":[\"true\"],\"preset\":\"none\","
        "\"expect\":[],\"metrics\":[{\"name\":\"m\",\"regex\":\"(1)\",\"better\":\"lower\"}]}");
}

/* ---- what may not change ---- */

static const char *plan_of(const char *text)
{
    const char *plan = NULL;
    parse(text);
    assert_true(sweepfile_plan_text(&sweep, &arena, &plan, &err));
    return plan;
}

static void the_plan_holds_what_results_rest_on(void **state)
{
    (void)state;
    const char *plan = plan_of(TARGET WORKLOAD);
    assert_non_null(strstr(plan, "target.backend = \"sqlite\"\n"));
    assert_non_null(strstr(plan, "workload.measure_ms = 300000\n"));
    assert_non_null(strstr(plan, "between.settle_ms = 0\n"));
    assert_string_equal(plan, plan_of(TARGET WORKLOAD "rank = { repeats = 9; }; name = \"other\";\n"
                                                      "axes = { knobs = { threads = [ 1, 2 ]; }; };"
                                                      "strategy = { trials = 5; };"));
    assert_string_not_equal(plan, plan_of(TARGET "workload = { kind = \"oltp\"; rows = 5; };"));
    assert_string_not_equal(plan, plan_of(TARGET WORKLOAD "between = { drop_caches = true; };"));
}

static void the_plan_leaves_out_what_is_swept(void **state)
{
    (void)state;
    const char *plan = plan_of(TARGET WORKLOAD "axes = { workload = { clients = [ 1, 2 ]; }; };");
    assert_null(strstr(plan, "workload.clients"));
    assert_non_null(strstr(plan, "workload.rows = "));
    assert_string_equal(plan, plan_of(TARGET WORKLOAD
                                      "axes = { workload = ( { name = \"clients\"; from = 1; "
                                      "to = 9; steps = 3; } ); };"));
    plan = plan_of(TARGET WORKLOAD
                   "axes = { workload = ( { set = ( { clients = 1; rows = 10; } ); } ); };");
    assert_null(strstr(plan, "workload.clients"));
    assert_null(strstr(plan, "workload.rows = "));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(load_hosts_are_a_list),
        cmocka_unit_test(load_hosts_that_cannot_be),
        cmocka_unit_test(workload_set_takes_every_key_of_one_word),
        cmocka_unit_test(workload_set_refuses),
        cmocka_unit_test(workload_knobs_agree_with_their_rows),
        cmocka_unit_test(a_workload_is_written_as_json),
        cmocka_unit_test(the_plan_holds_what_results_rest_on),
        cmocka_unit_test(the_plan_leaves_out_what_is_swept),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
