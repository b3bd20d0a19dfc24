/*
 * The ranking as JSON, CSV and text: keys that scripts read, nothing that a spreadsheet or a
 * terminal would obey, and columns that stand under each other.
 */
#include "tests/support/other_locale.h"
#include "tests/support/rank_fill.h"

static void json_has_the_keys_of_the_contract(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    add_three(baseline(), clients(32), 100);
    add_pair(point_of(8), clients(32), 120.5);
    add_failure(point_of(9), clients(32), "a \"quoted\" reason");
    compute((struct rank_options){0});
    const char *json = formatted("json");
    assert_string_equal(
        jq(json, "map(keys_unsorted) | unique | .[0] | join(\" \")"),
        "rank point points condition tied baseline durable trials failed axes "
        "effective metrics versus_baseline_pct flags rank_interval p_best confirmed "
        "confirming_trials expected nondominated drift");
    assert_string_equal(jq(json, ".[2] | keys_unsorted | last"), "reason");
    assert_string_equal(jq(json, ".[2].reason"), "a \"quoted\" reason");
    assert_string_equal(jq(json, ".[0].metrics.throughput_per_s | keys_unsorted | join(\" \")"),
                        "mean low high cv_pct");
    assert_string_equal(jq(json, ".[0].versus_baseline_pct | keys_unsorted | join(\" \")"),
                        "mean low high");
    assert_string_equal(
        jq(json, ".[0] | [.rank,.condition,.tied,.baseline,.durable,.trials,"
                 ".failed,.axes,.flags]"),
        "[1,{\"clients\":32},false,false,true,2,0,{\"work_mem\":\"8M\"},[\"unconfirmed\"]]");
}

static void csv_is_one_line_a_row_and_no_formula(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    add_run(baseline(), here, 100.25);
    add_run(add_point(text_value("application_name", "a,\"b\""), true), here, 100.25);
    add_failure(add_point(text_value("application_name", "c"), true), here, "=cmd|'/C calc'!A0");
    compute((struct rank_options){0});
    assert_string_equal(
        formatted("csv"),
        "rank,point,condition,tied,baseline,durable,trials,failed,settings,metric,mean,low,high,"
        "cv_pct,versus_baseline_pct,versus_low_pct,versus_high_pct,p99_ms,flags,reason,"
        "rank_low,rank_high,p_best,confirmed,expected,expected_pct,raw_mean\n"
        "1,1,,true,true,true,1,0,baseline,throughput_per_s,100.25,,,,0,,,,,,1,2,,false,,,\n"
        "2,2,,true,false,true,1,0,\"application_name=a,\"\"b\"\"\",throughput_per_s,100.25,,,,0,,,,"
        ",,1,2,,false,,,\n"
        ",3,,false,false,true,0,1,application_name=c,throughput_per_s,,,,,,,,,,'=cmd|'/C "
        "calc'!A0,,,,false,,,\n");
}

static void tables_are_aligned_by_what_is_seen(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.rank_by = "Vorgänge_je_Sekunde_und_Köpfe";
    begin_sweep(&sweep);
    struct measured measured = {
        .effective_key = "", .metrics = {{sweep.rank_by, 1234567.8, "higher"}}, .metric_count = 1};
    add_measured(add_point(text_value("name", "größe\n\x1b[2J"), true), anywhere(), &measured);
    compute((struct rank_options){0});
    const char *text = formatted("table");
    assert_string_equal(
        text, "rank  point  Vorgänge_je_Sekunde_und_Köpfe  p99_ms  n  against the baseline  "
              "settings\n"
              "   1      1                        1234568       -  1                        "
              "name=größe \\x1b[2J  [unconfirmed]\n\n"
              "note: too few repeats to know the noise: no interval is claimed, and every rank "
              "may be a tie; rank.repeats = 3 gives intervals\n");
}

static void an_unknown_form_is_refused(void **state)
{
    (void)state;
    struct text out;
    begin_sweep(&fill_sweep);
    compute((struct rank_options){0});
    text_open(&out, &arena);
    assert_false(rank_format(&table, "xml", &out, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
}

/* Wherever memory ends, that is the error, and nothing else happens. */
static void memory_may_end_anywhere(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    for (int i = 1; i <= 3; i++) {
        add_pair(point_of(i), clients(1), 100 * i);
        add_pair(point_of(i), clients(2), 100 * i);
    }
    add_failure(baseline(), clients(1), "no");
    bool was_enough = false;
    const char *const formats[] = {"table", "csv", "json"};
    for (size_t limit = 4096; !was_enough; limit += 4096) {
        struct arena small;
        struct text out;
        struct rank_options options = {.across = limit % 8192 == 0 ? "geomean" : "each"};
        arena_open(&small, limit);
        bool ok = rank_compute(store, &options, &small, &table, &err);
        was_enough = ok;
        for (size_t i = 0; ok && i < 3; i++) {
            text_open(&out, &small);
            ok = rank_format(&table, formats[i], &out, &err);
            was_enough = was_enough && ok;
        }
        if (!ok)
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
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    add_three(baseline(), here, 2.5);
    add_pair(point_of(8), here, 0.0625);
    compute((struct rank_options){0});
    const char *text = formatted("table");
    assert_non_null(strstr(text, " 2.500 (2.436 to 2.566)"));
    assert_non_null(strstr(text, " 0.0625 (0.06054 to 0.06452)"));
    assert_non_null(strstr(text, "-97.5% (-97.6 to -97.4)"));
    assert_null(strchr(formatted("json"), ';'));
    assert_string_equal(jq(formatted("json"), "[.[].metrics.throughput_per_s.low < 2.5]"),
                        "[true,true]");
    assert_non_null(strstr(formatted("csv"), ",throughput_per_s,2.5"));
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(json_has_the_keys_of_the_contract),
        CASE(csv_is_one_line_a_row_and_no_formula),
        CASE(tables_are_aligned_by_what_is_seen),
        CASE(an_unknown_form_is_refused),
        CASE(memory_may_end_anywhere),
        CASE(numbers_are_the_same_under_every_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
