/*
 * What the ranking knows beyond means: confirmation, drift, what cannot be the best, the order
 * among the tied, and the words for it. Runs are chosen as in test_rank.c; times are set by hand.
 */
#include "tests/support/rank_fill.h"

static void confirm_three(int64_t point, int64_t condition, double throughput)
{
    trial_purpose = "confirm";
    add_three(point, condition, throughput);
    trial_purpose = "explore";
}

static void add_flagged(int64_t point, int64_t condition, double throughput, const char *flags)
{
    add_measured(point, condition,
                 &(struct measured){.effective_key = "",
                                    .flags = flags,
                                    .metrics = {{"throughput_per_s", throughput, "higher"}},
                                    .metric_count = 1});
}

/* Trial n started at minute n. */
static void set_times(void)
{
    char command[256];
    snprintf(command, sizeof command,
             "sqlite3 %s 'UPDATE trial SET started_us = trial_id * 60000000'", path);
    assert_int_equal(system(command), 0);
}

static const char *explained(void)
{
    struct text out;
    text_open(&out, &arena);
    assert_ok(rank_explain(&table, &out, &err));
    return text_done(&out);
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

/* ---- confirmation ---- */

/* What a point was chosen by is left out: 130 of one run, against 120 in three. */
static void a_confirmed_point_stands_by_its_confirmation(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    int64_t lucky = point_of(16);
    int64_t solid = point_of(8);
    int64_t single = point_of(32);
    add_three(found, here, 100);
    add_run(lucky, here, 130);
    add_run(solid, here, 121);
    add_run(single, here, 121);
    confirm_three(lucky, here, 120);
    confirm_three(solid, here, 125);
    confirm_three(found, here, 101);
    set_times();
    compute((struct rank_options){0});
    const struct rank_row *first = &table.rows[0];
    assert_int_equal(first->point_id, solid);
    assert_int_equal(first->rank, 1);
    assert_true(first->confirmed);
    assert_int_equal(first->confirming, 3);
    assert_int_equal(first->baseline_runs, 3);
    assert_int_equal(first->trials, 4);
    assert_string_equal(first->flags, "");
    assert_near(metric(first, "throughput_per_s")->mean, 125);
    assert_near(metric(row_of(lucky), "throughput_per_s")->mean, 120);
    /* Welch of 3 against 3 of the same spread: 4 degrees. */
    assert_near(first->versus_mean_pct, 100 * (125.0 / 101 - 1));
    assert_near(first->versus_low_pct, 100 * (125.0 / 101 * exp(-T4 * S * sqrt(2.0 / 3)) - 1));
    assert_near(first->versus_high_pct, 100 * (125.0 / 101 * exp(T4 * S * sqrt(2.0 / 3)) - 1));
    /* A single run that lies between is no contender any more. */
    assert_false(row_of(single)->confirmed);
    assert_false(row_of(single)->tied);
    assert_near(row_of(single)->chance, 0);
    const char *words = explained();
    assert_says(words, "by 3 runs that confirm it and 3 of the baseline");
    assert_null(strstr(words, "unconfirmed"));
    assert_string_equal(jq(formatted("json"), ".[0] | [.confirmed, .confirming_trials]"),
                        "[true,3]");
    /* One that is better than all that were confirmed is first, and unconfirmed. */
    int64_t late = point_of(64);
    add_run(late, here, 200);
    compute((struct rank_options){0});
    assert_int_equal(table.rows[0].point_id, late);
    assert_string_equal(table.rows[0].flags, "one-trial unconfirmed");
}

/* 40 points that differ by nothing but noise: the best of them promises nothing. */
static void the_unconfirmed_best_shows_what_to_expect(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    add_three(baseline(), here, 100);
    for (int i = 1; i <= 40; i++) {
        add_pair(point_of(i), here, i == 40 ? 103 : 100 + 0.5 * (i % 2));
    }
    compute((struct rank_options){0});
    const struct rank_row *row = row_of(point_of(40));
    assert_near(metric(row, "throughput_per_s")->mean, 103);
    assert_true(row->expected < 102);
    assert_true(row->expected_pct < 2);
    assert_true(row->versus_low_pct < 0);
    /* All are within 0.5 % of each other, so that the server as found is first. */
    assert_true(table.rows[0].baseline);
    compute((struct rank_options){.where = "not baseline"});
    assert_string_equal(table.rows[0].flags, "unconfirmed");
    assert_says(formatted("table"), "% expected");
    assert_says(formatted("table"), "unconfirmed: chosen by the runs that measured it");
    assert_says(explained(), "It is unconfirmed");
}

/* ---- the order among the tied ---- */

static void the_tied_stand_by_safety(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.rank_durability = "any";
    begin_sweep(&sweep);
    int64_t here = anywhere();
    int64_t large = point_of(64);
    int64_t small = point_of(8);
    int64_t loose = add_point(text_value("fsync", "off"), false);
    int64_t lead = point_of(16);
    for (int i = 0; i < 2; i++) {
        add_three(baseline(), here, 90);
        add_three(large, here, 100.2);
        add_three(small, here, 100.1);
        add_three(loose, here, 100.4);
        add_three(lead, here, 102.5);
    }
    compute((struct rank_options){0});
    assert_int_equal(table.rows[0].point_id, lead); /* the others lie further below */
    compute((struct rank_options){.where = "throughput_per_s < 102"});
    /* Durable first; of the two that change one setting each, the smaller. Units are not declared
     * in this store, so that memory is not known and the value decides. */
    assert_int_equal(table.rows[0].point_id, large);
    assert_int_equal(table.rows[1].point_id, small);
    assert_int_equal(table.rows[2].point_id, loose);
    assert_true(table.rows[2].tied);
    assert_says(explained(), "It cannot be told from 2 others (points ");
    assert_says(explained(), "its value is the best of them");
    assert_int_equal(table.rows[0].changed, 1);
}

static void the_server_as_found_is_first_of_equals(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    add_three(baseline(), here, 100);
    add_three(point_of(8), here, 100.3);
    compute((struct rank_options){0});
    assert_true(table.rows[0].baseline);
    assert_true(table.rows[0].tied);
    assert_string_equal(table.rows[0].flags, "");
    assert_says(explained(), "nearer to the server as found (0 settings differ, 1 of point 2)");
}

/* ---- places and chances ---- */

static void places_and_chances_are_told(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    add_three(baseline(), here, 50);
    add_three(point_of(8), here, 100);
    add_three(point_of(16), here, 101.5);
    compute((struct rank_options){0});
    const struct rank_row *row = row_of(point_of(16));
    assert_int_equal(row->rank_low, 1);
    assert_int_equal(row->rank_high, 2);
    assert_int_equal(row_of(baseline())->rank_low, 3);
    assert_int_equal(row_of(baseline())->rank_high, 3);
    /* A difference of ln(1.015), square error 2 S^2 / 3, 6 degrees: t = 1.289, P = 0.877. */
    assert_true(fabs(row->chance - 0.877) < 0.01);
    assert_near(row->chance + row_of(point_of(8))->chance, 1);
    const char *json = formatted("json");
    assert_string_equal(jq(json, ".[] | select(.baseline) | .rank_interval"),
                        "{\"low\":3,\"high\":3}");
    assert_string_equal(jq(json, "[.[].p_best] | add | . * 1000 | round"), "1000");
    assert_says(formatted("table"), " 1-2 ");
    assert_says(explained(), "Its true place is between 1 and 2 of 3.");
}

/* Far points take Holm's first steps, so that the last one asks less than what tells the tied. */
static void the_tied_may_have_each_others_places(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    add_three(baseline(), here, 50);
    for (int i = 1; i <= 6; i++) {
        add_three(point_of(i), here, 50 + i);
    }
    add_three(point_of(8), here, 100);
    add_three(point_of(16), here, 100 * exp(2.4 * S * sqrt(2.0 / 3)));
    compute((struct rank_options){0});
    assert_int_equal(table.rows[0].point_id, point_of(16));
    for (size_t i = 0; i < 2; i++) {
        assert_true(table.rows[i].tied);
        assert_int_equal(table.rows[i].rank_low, 1);
        assert_int_equal(table.rows[i].rank_high, 2);
    }
    assert_int_equal(table.rows[2].rank_low, 3);
    assert_null(strstr(explained(), "beyond doubt"));
}

/* ---- drift ---- */

/* A baseline before each of eight points and after the last, each run slower than the one before
 * by a hundredth; the points are all the same. */
static void drifting_values_are_corrected_and_kept(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    for (int i = 0; i <= 16; i++)
        add_run(i % 2 == 0 ? found : point_of(i), here, (i % 2 == 0 ? 100 : 110) * exp(-0.01 * i));
    set_times();
    compute((struct rank_options){0});
    assert_int_equal(table.drift_count, 1);
    assert_true(table.drifts[0].is_corrected);
    assert_near(table.drifts[0].p, 1.0 / 10001);
    assert_near(table.drifts[0].slope_pct_per_h, 100 * (exp(-0.6) - 1)); /* 0.01 a minute */
    for (int i = 1; i <= 15; i += 2) {
        const struct rank_row *row = row_of(point_of(i));
        assert_near(metric(row, "throughput_per_s")->mean, 110 * exp(-0.08));
        assert_near(row->raw_mean, 110 * exp(-0.01 * i));
        assert_near(row->versus_mean_pct, 10);
    }
    const char *json = formatted("json");
    assert_string_equal(jq(json, "map(.drift.corrected) | unique"), "[true]");
    assert_says(formatted("table"),
                "-14.8 % from its first run to its last): values are corrected");
}

static void a_quiet_baseline_corrects_nothing(void **state)
{
    (void)state;
    const double noise[] = {0.3, -0.5, 0.6, -0.2, 0.1, -0.4, 0.5, -0.3};
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    for (int i = 0; i < 8; i++)
        add_run(baseline(), here, 100 * exp(0.01 * noise[i]));
    add_run(point_of(8), here, 110);
    set_times();
    compute((struct rank_options){0});
    assert_true(table.drifts[0].is_testable);
    assert_false(table.drifts[0].is_corrected);
    assert_true(isnan(row_of(point_of(8))->raw_mean));
    assert_near(metric(row_of(point_of(8)), "throughput_per_s")->mean, 110);
    assert_says(formatted("table"), "none found in 8 runs of the baseline");
}

static void few_baselines_are_not_testable(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    for (int i = 0; i < 7; i++)
        add_run(baseline(), here, 100 * exp(0.01 * i));
    compute((struct rank_options){0});
    assert_false(table.drifts[0].is_testable);
    assert_says(formatted("table"), "drift not testable: 7 runs of the baseline, 8 are needed");
    assert_string_equal(jq(formatted("json"), ".[0].drift | [.testable, .p, .baseline_trials]"),
                        "[false,null,7]");
}

/* ---- what cannot be the best ---- */

static void a_point_with_debt_cannot_be_the_best(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    int64_t greedy = point_of(8);
    add_three(found, here, 100);
    add_flagged(greedy, here, 200, "");
    add_flagged(greedy, here, 201, "debt");
    compute((struct rank_options){0});
    assert_int_equal(table.rows[0].point_id, found);
    assert_int_equal(row_of(greedy)->rank, 0);
    assert_says(row_of(greedy)->reason, "(debt)");
    assert_says(explained(), "cannot be the best\n  1 point: it left work undone");
}

/* A run that was stopped early measured nothing but a bound. */
static void killed_runs_are_no_measurement(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t loser = point_of(8);
    int64_t mixed = point_of(16);
    add_three(baseline(), here, 100);
    add_flagged(loser, here, 60, "killed");
    add_flagged(mixed, here, 90, "killed");
    add_flagged(mixed, here, 110, "");
    compute((struct rank_options){0});
    assert_int_equal(row_of(loser)->rank, 0);
    assert_int_equal(row_of(loser)->trials, 0);
    assert_says(row_of(loser)->reason, "stopped early at a throughput_per_s of 60");
    assert_near(metric(row_of(mixed), "throughput_per_s")->mean, 110);
    assert_int_equal(row_of(mixed)->trials, 1);
    assert_string_equal(row_of(mixed)->flags, "killed one-trial unconfirmed");
}

static void outliers_are_flagged_and_count(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    for (int i = 0; i < 3; i++)
        add_three(baseline(), here, 100);
    add_three(point_of(8), here, 100);
    add_run(point_of(8), here, 109);
    compute((struct rank_options){0});
    assert_true(rank_has_word(row_of(point_of(8))->flags, "outlier"));
    assert_false(rank_has_word(row_of(baseline())->flags, "outlier"));
    assert_near(metric(row_of(point_of(8)), "throughput_per_s")->mean, 100 * pow(1.09, 0.25));
    assert_says(formatted("table"), "outlier: a run lies far from the others");
}

/* ---- two objectives ---- */

static void add_both(int64_t point, int64_t here, double throughput, double p99_ms)
{
    for (int sign = -1; sign <= 1; sign++) {
        struct measured measured = {
            .effective_key = "",
            .metrics = {{"throughput_per_s", throughput * exp(0.01 * sign), "higher"},
                        {"p99_ms", p99_ms * exp(-0.01 * sign), "lower"}},
            .metric_count = 2};
        add_measured(point, here, &measured);
    }
}

static void domination_must_be_sure(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t fast = point_of(1);
    int64_t prompt = point_of(2);
    int64_t beaten = point_of(3);
    int64_t close = point_of(4);
    add_both(baseline(), here, 50, 40);
    add_both(fast, here, 200, 50);
    add_both(prompt, here, 100, 10);
    add_both(beaten, here, 90, 60);
    add_both(close, here, 199.5, 50.1);
    compute((struct rank_options){0});
    assert_string_equal(table.second, "p99_ms");
    assert_true(row_of(fast)->nondominated);
    assert_true(row_of(prompt)->nondominated);
    assert_true(row_of(close)->nondominated); /* worse in both, within the noise */
    assert_false(row_of(beaten)->nondominated);
    assert_true(row_of(beaten)->has_domination);
    assert_string_equal(jq(formatted("json"), "[.[] | select(.nondominated) | .point] | sort"),
                        "[1,2,4]");
    assert_says(explained(), "Nothing is as good in both throughput_per_s and p99_ms");
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_confirmed_point_stands_by_its_confirmation),
        CASE(the_unconfirmed_best_shows_what_to_expect),
        CASE(the_tied_stand_by_safety),
        CASE(the_server_as_found_is_first_of_equals),
        CASE(places_and_chances_are_told),
        CASE(the_tied_may_have_each_others_places),
        CASE(drifting_values_are_corrected_and_kept),
        CASE(a_quiet_baseline_corrects_nothing),
        CASE(few_baselines_are_not_testable),
        CASE(a_point_with_debt_cannot_be_the_best),
        CASE(killed_runs_are_no_measurement),
        CASE(outliers_are_flagged_and_count),
        CASE(domination_must_be_sure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
