/*
 * One trial, all trials and progress, read from stores whose content is known: keys that scripts
 * read, totals computed by hand, and nothing that a terminal or a spreadsheet would obey.
 */
#include "store/views.h"

#include "store/csv.h"
#include "tests/support/other_locale.h"
#include "tests/support/store_fill.h"

static const struct store_swept swept[] = {
    {"work_mem", "knob", "integer", "bytes", "reload", "", ""},
    {"clients", "workload", "integer", "", "reload", "", ""},
};

static const struct store_statement statements[] = {
    {.transaction = "new_order",
     .statement = "",
     .count = 90,
     .total_s = 9,
     .min_s = 0.05,
     .avg_s = 0.1,
     .max_s = 0.5,
     .p95_s = 0.2},
    {.transaction = "new_order",
     .statement = "größte Bestellung",
     .count = 180,
     .error_count = 2,
     .total_s = 6.5,
     .min_s = 0.01,
     .avg_s = 0.036111,
     .max_s = 0.25,
     .p95_s = 0.1},
    {.transaction = "payment", .statement = "", .count = 60, .total_s = 3},
    {.transaction = "payment",
     .statement = "update\n\x1b[2Jdistrict",
     .count = 60,
     .total_s = 2.25,
     .min_s = 0.02,
     .avg_s = 0.0375,
     .max_s = 0.125,
     .p95_s = 0.0625},
};
static const double throughput[] = {10, NAN, 12.5};
static const double busy[] = {50, 75, 100};
static const struct store_series series[] = {
    {"throughput", "load", 1, throughput, 3},
    {"cpu_user_pct", "host", 2, busy, 3},
};
static const struct store_counter counters[] = {{"xact_commit", 100, 250, false}};
static const struct store_error_row errors[] = {{"new_order", "40001", "could not serialize", 2}};

static int64_t point;
static int64_t condition;

static void begin(void)
{
    struct store_sweep sweep = fill_sweep;
    struct store_value eight = number_value("clients", "8", 8);
    sweep.swept = swept;
    sweep.swept_count = 2;
    sweep.planned_trials = 10;
    begin_sweep(&sweep);
    point = add_point(number_value("work_mem", "8M", 8388608), true);
    condition = add_condition(&eight, 1);
}

static int64_t add_whole_trial(void)
{
    int64_t trial = begin_trial(point, condition);
    struct store_trial_value value = {.name = "work_mem",
                                      .asked = "8M",
                                      .effective = "8388608",
                                      .effective_display = "8M",
                                      .has_number = true,
                                      .number = 8388608,
                                      .verdict = "equal",
                                      .source = "config",
                                      .detail = "a.conf:\x1b[31m7"};
    struct store_metric metric = {"throughput_per_s", 2.5, "higher"};
    struct store_result result = {.metrics = &metric,
                                  .metric_count = 1,
                                  .statements = statements,
                                  .statement_count = COUNT_OF(statements),
                                  .series = series,
                                  .series_count = COUNT_OF(series),
                                  .counters = counters,
                                  .counter_count = 1,
                                  .errors = errors,
                                  .error_row_count = 1,
                                  .measured_s = 60,
                                  .size_before_bytes = 1000,
                                  .size_after_bytes = 1250,
                                  .output = ""};
    assert_ok(store_stage_begin(store, trial, "apply", &err));
    assert_ok(store_stage_end(store, trial, "done", &err));
    assert_ok(store_trial_values(store, trial, &value, 1, &err));
    assert_ok(store_trial_result(store, trial, &result, &err));
    assert_ok(
        store_trial_end(store, trial, "done", NULL, "a line", "work_mem=8388608", "cold", &err));
    return trial;
}

static const char *shown(int64_t trial, const char *format)
{
    struct text out;
    text_open(&out, &arena);
    assert_ok(view_show(store, trial, format, &arena, &out, &err));
    return text_done(&out);
}

static const char *exported(const char *format)
{
    struct text out;
    text_open(&out, &arena);
    assert_ok(view_export(store, format, &arena, &out, &err));
    return text_done(&out);
}

static const char *status(const char *format)
{
    struct text out;
    text_open(&out, &arena);
    assert_ok(view_status(store, format, &arena, &out, &err));
    return text_done(&out);
}

/* ---- show ---- */

static void show_has_the_keys_of_the_contract(void **state)
{
    (void)state;
    begin();
    const char *json = shown(add_whole_trial(), "json");
    assert_string_equal(
        jq(json, "[\"trial\",\"point\",\"status\",\"class\",\"reason\",\"stages\",\"asked\","
                 "\"effective\",\"source\",\"statements\",\"totals\",\"series\",\"host\","
                 "\"counters\",\"log_tail\",\"data\"] - keys"),
        "[]");
    assert_string_equal(jq(json, ".statements[0] | [\"transaction\",\"statement\",\"count\","
                                 "\"errors\",\"total_s\",\"min_s\",\"avg_s\",\"max_s\",\"p95_s\"]"
                                 " - keys"),
                        "[]");
    assert_string_equal(jq(json, ".stages[0] | [\"stage\",\"started\",\"elapsed_ms\"] - keys"),
                        "[]");
    assert_string_equal(jq(json, "[.status, .class, .reason, .log_tail]"),
                        "[\"done\",null,null,\"a line\"]");
    assert_string_equal(jq(json, "[.asked, .effective, .source]"),
                        "[{\"work_mem\":\"8M\"},{\"work_mem\":8388608},{\"work_mem\":\"config\"}]");
    assert_string_equal(jq(json, ".series"), "{\"interval_s\":1,\"throughput\":[10,null,12.5]}");
    assert_string_equal(jq(json, ".host"), "{\"interval_s\":2,\"cpu_user_pct\":[50,75,100]}");
    assert_string_equal(jq(json, ".counters"),
                        "{\"xact_commit\":{\"start\":100,\"end\":250,\"delta\":150}}");
    assert_string_equal(jq(json, ".data"), "{\"size_before_bytes\":1000,\"size_after_bytes\":1250,"
                                           "\"growth_pct\":25}");
    assert_string_equal(jq(json, ".stages[0].started | fromdateiso8601? // test(\"T.*Z$\")"),
                        "true");
}

/* 90 + 60 transactions and 180 + 60 statements in 60 seconds; only new orders are NOTPM. */
static void totals_are_those_of_the_window(void **state)
{
    (void)state;
    begin();
    int64_t trial = add_whole_trial();
    assert_string_equal(jq(shown(trial, "json"), ".totals"),
                        "{\"transactions\":150,\"statements\":240,\"total_s\":8.75,\"tpm\":150,"
                        "\"spm\":240,\"notpm\":90,\"elapsed_s\":60}");
    const char *text = shown(trial, "table");
    assert_non_null(strstr(text, "time: 60.000, total transactions: 150, TPM: 150.00, SPM: 240.00, "
                                 "NOTPM: 90.00\n"));
}

static void the_statement_table_is_aligned_and_printable(void **state)
{
    (void)state;
    begin();
    const char *text = shown(add_whole_trial(), "table");
    assert_non_null(strstr(
        text,
        "\n"
        "name                                      total          min          max          "
        "avg          num\n"
        "new_order.größte Bestellung            6.500000     0.010000     0.250000     "
        "0.036111          180\n"
        "payment.update \\x1b[2Jdistrict         2.250000     0.020000     0.125000     "
        "0.037500           60\n"
        "totals                                 8.750000            -            -            "
        "-          240\n"));
    assert_non_null(strstr(text, "equal, config: a.conf:\\x1b[31m7\n"));
    assert_non_null(strstr(text, "throughput_per_s 2.500\n"));
    assert_null(strchr(text, '\x1b'));
}

static void a_failure_shows_its_class_and_the_servers_words(void **state)
{
    (void)state;
    begin();
    int64_t trial = add_failure(point, condition, "it did not start\x1b[0m");
    const char *json = shown(trial, "json");
    assert_string_equal(jq(json, "[.status, .class, .reason, .log_tail, .statements]"),
                        "[\"failed\",\"POINT\",\"it did not start\\\\x1b[0m\","
                        "\"the log's last line\",[]]");
}

static void a_trial_under_way_is_shown(void **state)
{
    (void)state;
    begin();
    int64_t trial = begin_trial(point, condition);
    assert_ok(store_stage_begin(store, trial, "start", &err));
    assert_string_equal(jq(shown(trial, "json"), "[.status, .stages[0].elapsed_ms, .metrics]"),
                        "[\"running\",null,{}]");
    assert_non_null(strstr(shown(trial, "table"), "stages (ms): start -\n"));
}

static void no_trial_and_no_form_are_errors(void **state)
{
    struct text out;
    (void)state;
    begin();
    text_open(&out, &arena);
    assert_false(view_show(store, 99, "json", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
    assert_false(view_show(store, 99, "csv", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
    assert_false(view_export(store, "table", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
    assert_false(view_status(store, "xml", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
}

/* ---- export ---- */

static void export_has_a_row_for_every_trial(void **state)
{
    (void)state;
    begin();
    add_whole_trial();
    add_failure(point, condition, "@SUM(1)");
    begin_trial(point, condition);
    const char *json = exported("json");
    assert_string_equal(jq(json, "map(.status)"), "[\"done\",\"failed\",\"running\"]");
    assert_string_equal(jq(json, ".[0] | keys_unsorted"),
                        "[\"trial\",\"point\",\"purpose\",\"status\",\"class\",\"reason\","
                        "\"started\",\"elapsed_s\","
                        "\"measured_s\",\"flags\",\"asked.work_mem\",\"effective.work_mem\","
                        "\"condition.clients\",\"metric.throughput_per_s\"]");
    assert_string_equal(jq(json, ".[0] | [.[\"asked.work_mem\"], .[\"effective.work_mem\"], "
                                 ".[\"condition.clients\"], .[\"metric.throughput_per_s\"]]"),
                        "[\"8M\",8388608,8,2.5]");
    assert_string_equal(jq(json, ".[1][\"metric.throughput_per_s\"]"), "null");
    const char *csv = exported("csv");
    assert_true(text_starts_with(csv, "trial,point,purpose,status,class,reason,started,"));
    assert_non_null(strstr(csv, ",cold,8M,8388608,8,2.5\n"));
    assert_non_null(strstr(csv, ",POINT,'@SUM(1),"));
}

static void csv_texts_are_quoted_and_no_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *field;
    } cases[] = {
        {"plain", "plain"},
        {"", ""},
        {"a,b", "\"a,b\""},
        {"say \"no\"", "\"say \"\"no\"\"\""},
        {"two\nlines", "\"two\nlines\""},
        {"=1+1", "'=1+1"},
        {"+cmd", "'+cmd"},
        {"-1+2", "'-1+2"},
        {"@SUM", "'@SUM"},
        {"\tx", "'\tx"},
        {"\rx", "'\\x0dx"},
        {"\n=1", "\"'\n=1\""},
        {"=\"a\"", "\"'=\"\"a\"\"\""},
        {"-1", "-1"},
        {"+1.5", "+1.5"},
        {"-1e3", "-1e3"},
        {"größe\x1b\x7f\xc2\x9b", "größe\\x1b\\x7f\\xc2\\x9b"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct text out;
        text_open(&out, &arena);
        csv_text(&out, cases[i].text, ';');
        assert_string_equal(text_done(&out), arena_printf(&arena, "%s;", cases[i].field));
    }
    struct text out;
    text_open(&out, &arena);
    csv_number(&out, -0.1, ',');
    csv_number(&out, NAN, ',');
    csv_number(&out, INFINITY, '\n');
    assert_string_equal(text_done(&out), "-0.1,,\n");
}

/* ---- status ---- */

static void status_counts_and_names_what_happens(void **state)
{
    (void)state;
    begin();
    assert_string_equal(jq(status("json"), "[.trials_done, .trials_planned, .best, .eta_s, "
                                           ".running, .failures]"),
                        "[0,10,[],null,null,[]]");
    add_run(point, condition, 100);
    add_run(point, condition, 120);
    int64_t failed = add_failure(point, condition, "it fell\x1b[0m");
    int64_t running = begin_trial(point, condition);
    assert_ok(store_stage_begin(store, running, "measure", &err));
    assert_ok(store_touched_set(store, sweep_id, true, &err));
    const char *json = status("json");
    assert_string_equal(jq(json, "[.name, .trials_done, .trials_failed, .trials_interrupted, "
                                 ".touched, .running.stage, (.best | length), "
                                 "(.best[0].value * 100 | round), .best[0].by]"),
                        "[\"night\",2,1,0,true,\"measure\",1,10954,\"throughput_per_s\"]");
    assert_int_equal(strtoll(jq(json, ".running.trial"), NULL, 10), running);
    assert_int_equal(strtoll(jq(json, ".failures[0].trial"), NULL, 10), failed);
    const char *text = status("table");
    assert_non_null(strstr(text, "trials:  2 done, 1 failed, 10 planned\n"));
    assert_non_null(strstr(text, "best:    109.5 throughput_per_s, point 1: work_mem="));
    assert_non_null(strstr(text, "it fell\\x1b[0m\n"));
    assert_non_null(strstr(text, "needs `dbsweep restore`"));
    assert_non_null(strstr(status("csv"), "\nnight,2,1,10,true,"));
    assert_non_null(strstr(status("csv"), ",work_mem="));
}

static void status_of_a_lower_better_sweep(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.rank_by = "throughput_per_s";
    sweep.rank_better = "lower";
    begin_sweep(&sweep);
    int64_t here = add_condition(NULL, 0);
    int64_t found = add_point(text_value("work_mem", "baseline"), true);
    add_run(found, here, 7);
    add_run(found, here, 9);
    assert_string_equal(
        jq(status("json"), "[(.best[0].value * 1000 | round), .best[0].axes.work_mem, .touched]"),
        "[7937,\"baseline\",false]");
}

/* As in the ranking: a point less durable than the baseline is best only where that was asked. */
static void status_best_is_durable(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    for (int i = 0; i < 2; i++) {
        sweep.rank_durability = i == 0 ? "baseline" : "any";
        begin_sweep(&sweep);
        int64_t here = add_condition(NULL, 0);
        add_run(add_point(text_value("fsync", "baseline"), true), here, 7);
        add_run(add_point(text_value("fsync", "off"), false), here, 9);
        assert_string_equal(jq(status("json"), ".best[0].value | round"), i == 0 ? "7" : "9");
    }
}

/* Many clients beat few at any setting: what is best is best under its condition. And what is over
 * the limit is best nowhere. */
static void status_best_is_of_a_condition(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.rank_under = "throughput_per_s < 900";
    begin_sweep(&sweep);
    struct store_value few = number_value("clients", "1", 1);
    struct store_value many = number_value("clients", "64", 64);
    int64_t one = add_condition(&few, 1);
    int64_t crowd = add_condition(&many, 1);
    int64_t small = add_point(text_value("work_mem", "1"), true);
    int64_t large = add_point(text_value("work_mem", "2"), true);
    add_run(small, one, 100);
    add_run(large, one, 90);
    add_run(small, crowd, 500);
    add_run(large, crowd, 1000);
    assert_string_equal(jq(status("json"), "[.best[] | [.condition.clients, .axes.work_mem, "
                                           "(.value | round), .trials]]"),
                        "[[\"1\",\"1\",100,1],[\"64\",\"1\",500,1]]");
    assert_non_null(strstr(status("table"), ": work_mem=1 | clients=64 (1 run"));
}

static void no_sweep_is_said(void **state)
{
    struct text out;
    (void)state;
    text_open(&out, &arena);
    assert_false(view_status(store, "json", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
    assert_false(view_export(store, "json", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
}

/* ---- all ---- */

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    begin();
    int64_t trial = add_whole_trial();
    add_failure(point, condition, "no");
    bool was_enough = false;
    for (size_t limit = 1024; !was_enough; limit += 1024) {
        struct arena small;
        struct text out;
        arena_open(&small, limit);
        text_open(&out, &small);
        was_enough = view_show(store, trial, "json", &small, &out, &err) &&
                     view_show(store, trial, "table", &small, &out, &err) &&
                     view_export(store, "csv", &small, &out, &err) &&
                     view_status(store, "table", &small, &out, &err);
        if (!was_enough)
            assert_int_equal(err.code, ERR_CODE_memory);
        arena_close(&small);
        err_clear(&err);
    }
}

/* Last: the locale stays. */
static void numbers_are_the_same_under_every_locale(void **state)
{
    (void)state;
    if (!other_locale_set("de_DE", "UTF-8"))
        skip();
    begin();
    int64_t trial = add_whole_trial();
    const char *text = shown(trial, "table");
    assert_non_null(strstr(text, " 0.036111 "));
    assert_non_null(strstr(text, "time: 60.000, total transactions: 150, TPM: 150.00"));
    assert_string_equal(jq(shown(trial, "json"), ".totals.total_s"), "8.75");
    assert_non_null(strstr(exported("csv"), ",8,2.5\n"));
    assert_non_null(strstr(status("table"), "best:    2.500 "));
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(show_has_the_keys_of_the_contract),
        CASE(totals_are_those_of_the_window),
        CASE(the_statement_table_is_aligned_and_printable),
        CASE(a_failure_shows_its_class_and_the_servers_words),
        CASE(a_trial_under_way_is_shown),
        CASE(no_trial_and_no_form_are_errors),
        CASE(export_has_a_row_for_every_trial),
        CASE(csv_texts_are_quoted_and_no_formulas),
        CASE(status_counts_and_names_what_happens),
        CASE(status_of_a_lower_better_sweep),
        CASE(status_best_is_durable),
        CASE(status_best_is_of_a_condition),
        CASE(no_sweep_is_said),
        CASE(memory_may_end_anywhere),
        CASE(numbers_are_the_same_under_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
