/*
 * The ranking against values computed by hand. Runs are chosen at mean * e^(+-0.01), so that the
 * noise of logarithms is known: any number of points of two such runs pool to s = 0.01 * sqrt(2)
 * with a degree of freedom each; the baseline's three runs have two and the same s.
 */
#include "tests/support/rank_fill.h"

/* ---- intervals ---- */

static void means_have_intervals_of_students_t(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    int64_t better = point_of(8);
    add_three(found, here, 100);
    add_pair(better, here, 200);
    compute((struct rank_options){0});
    assert_int_equal(table.row_count, 2);
    assert_string_equal(table.note, "");
    assert_near(table.noise_pct, 100 * S);
    assert_int_equal(table.degrees, 3);
    const struct rank_row *first = &table.rows[0];
    assert_int_equal(first->point_id, better);
    assert_int_equal(first->rank, 1);
    assert_false(first->tied); /* the best alone is tied with nobody */
    assert_interval(metric(first, "throughput_per_s"), 200, T3 * S / sqrt(2));
    /* 100 sd / mean of 200 e^-0.01 and 200 e^0.01 */
    assert_near(metric(first, "throughput_per_s")->cv_pct, 100 * sqrt(2) * tanh(0.01));
    assert_near(first->versus_mean_pct, 100);
    assert_near(first->versus_low_pct, 100 * (2 * exp(-T3 * S * sqrt(5.0 / 6)) - 1));
    assert_near(first->versus_high_pct, 100 * (2 * exp(T3 * S * sqrt(5.0 / 6)) - 1));
    const struct rank_row *second = &table.rows[1];
    assert_true(second->baseline);
    assert_int_equal(second->rank, 2);
    assert_false(second->tied);
    assert_true(second->has_versus);
    assert_near(second->versus_mean_pct, 0);
    assert_true(isnan(second->versus_low_pct));
}

static void the_confidence_is_the_sweeps(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.rank_confidence = 0.99;
    begin_sweep(&sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    add_three(found, here, 100);
    add_pair(point_of(8), here, 200);
    compute((struct rank_options){0});
    assert_interval(metric(row_of(found), "throughput_per_s"), 100, 5.840909310 * S / sqrt(3));
}

static void single_runs_claim_nothing(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    add_run(baseline(), here, 100);
    add_run(point_of(8), here, 150);
    compute((struct rank_options){0});
    assert_true(isnan(table.noise_pct));
    assert_non_null(strstr(table.note, "no interval is claimed"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(table.rows[i].rank, i + 1);
        assert_true(table.rows[i].tied);
        assert_true(isnan(metric(&table.rows[i], "throughput_per_s")->low));
        assert_true(isnan(metric(&table.rows[i], "throughput_per_s")->high));
        assert_true(isnan(metric(&table.rows[i], "throughput_per_s")->cv_pct));
    }
    assert_near(table.rows[0].versus_mean_pct, 50);
    assert_true(isnan(table.rows[0].versus_low_pct));
    const char *json = formatted("json");
    assert_string_equal(jq(json, ".[0].metrics.throughput_per_s"),
                        "{\"mean\":150,\"low\":null,\"high\":null,\"cv_pct\":null}");
    assert_string_equal(jq(json, ".[0].versus_baseline_pct | [.low, .high]"), "[null,null]");
    const char *text = formatted("table");
    assert_non_null(strstr(text, " 150.0 "));
    assert_non_null(strstr(text, "+50.0%  "));
    assert_null(strchr(text, '('));
}

/* Fewer than three runs of the baseline: whether the machine held still is anybody's guess. */
static void two_runs_of_the_baseline_are_too_few(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    add_pair(found, here, 100);
    add_pair(point_of(8), here, 150);
    add_pair(point_of(16), here, 160);
    compute((struct rank_options){0});
    assert_true(isnan(table.noise_pct));
    assert_true(isnan(metric(row_of(found), "throughput_per_s")->low));
    assert_non_null(strstr(table.note, "fewer than 3 runs of the baseline"));
    add_run(found, here, 100);
    compute((struct rank_options){0});
    assert_string_equal(table.note, "");
    assert_int_equal(table.degrees, 4);
}

/* Where the baseline is not measured at all, the points' own repeats tell the noise. */
static void without_a_baseline_repeats_do(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    add_pair(point_of(8), anywhere(), 150);
    add_pair(point_of(16), anywhere(), 160);
    compute((struct rank_options){0});
    assert_near(table.noise_pct, 100 * S);
}

/* One repeated point has one degree of freedom: not enough to speak of noise. */
static void one_degree_of_freedom_is_too_few(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    add_pair(found, here, 100);
    add_run(point_of(8), here, 150);
    compute((struct rank_options){0});
    assert_true(isnan(table.noise_pct));
    assert_true(isnan(metric(row_of(found), "throughput_per_s")->low));
}

static void a_single_run_borrows_the_noise_and_says_so(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t single = point_of(16);
    add_three(baseline(), here, 100);
    add_pair(point_of(8), here, 200);
    add_run(single, here, 150);
    compute((struct rank_options){0});
    const struct rank_row *row = row_of(single);
    assert_interval(metric(row, "throughput_per_s"), 150, T3 * S);
    assert_string_equal(row->flags, "one-trial");
    /* Of two gains at once: t(1 - 0.05 / 4; 3). */
    assert_near(row->versus_low_pct, 100 * (1.5 * exp(-4.176534846 * S * sqrt(4.0 / 3)) - 1));
    assert_string_equal(table.rows[0].flags, "unconfirmed");
    assert_non_null(strstr(formatted("table"), "one-trial: its interval rests on"));
}

static void the_interval_is_longer_above_than_below_and_is_shown_so(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    add_run(found, here, 1000);
    for (int sign = -1; sign <= 1; sign += 2) {
        add_run(found, here, 1000 * exp(sign * 0.1 * sqrt(2)));
        add_run(point_of(8), here, 2000 * exp(sign * 0.1));
    }
    compute((struct rank_options){0});
    /* half = T3 * 0.1 and T3 * 0.1 * sqrt(2 / 3) */
    const char *text = formatted("table");
    assert_non_null(strstr(text, "2000 (1455 to 2749)"));
    assert_non_null(strstr(text, "1000 (771.2 to 1297)"));
    assert_non_null(strstr(text, "(low to high): 95 % intervals; runs of a point differ by "
                                 "14.14 % (standard deviation, 3 degrees of freedom)"));
    assert_null(strstr(text, "±"));
}

/* ---- ties ---- */

/* Two of two runs and the baseline's three: 4 degrees; t(1 - 0.05 / 2; 4). */
static void ties_share_the_first_rank(void **state)
{
    (void)state;
    const double allowed = T4 * S;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t best = point_of(8);
    int64_t near = point_of(16);
    int64_t far = baseline();
    add_three(far, here, 200 * exp(-1.01 * allowed * sqrt(5.0 / 6)));
    add_pair(near, here, 200 * exp(-0.99 * allowed));
    add_pair(best, here, 200);
    compute((struct rank_options){0});
    assert_int_equal(table.rows[0].point_id, best);
    assert_int_equal(table.rows[1].point_id, near);
    assert_int_equal(table.rows[2].point_id, far);
    assert_int_equal(table.rows[0].rank, 1);
    assert_int_equal(table.rows[1].rank, 1);
    assert_int_equal(table.rows[2].rank, 3);
    assert_true(table.rows[0].tied);
    assert_true(table.rows[1].tied);
    assert_false(table.rows[2].tied);
    const char *text = formatted("table");
    assert_non_null(strstr(text, "1="));
    assert_non_null(strstr(text, "= cannot be told from the best"));
}

/* A lucky single run does not excuse what a well-known point beats. */
static void a_point_is_compared_with_all_that_lie_above(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t lucky = point_of(8);
    int64_t known = point_of(16);
    int64_t beaten = baseline();
    for (int i = 0; i < 8; i++) {
        add_pair(known, here, 200);
        add_pair(beaten, here, 197);
    }
    add_run(lucky, here, 201);
    compute((struct rank_options){0});
    assert_true(row_of(lucky)->tied);
    assert_true(row_of(known)->tied);
    assert_false(row_of(beaten)->tied);
    assert_int_equal(row_of(beaten)->rank, 3);
}

/* A single run further down may still be the best: it stands among the possibly best. */
static void the_possibly_best_come_first(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t best = point_of(8);
    int64_t beaten = baseline();
    int64_t single = point_of(16);
    for (int i = 0; i < 8; i++) {
        add_pair(best, here, 200);
        add_pair(beaten, here, 197);
    }
    add_run(single, here, 196);
    compute((struct rank_options){0});
    assert_int_equal(table.rows[1].point_id, single);
    assert_int_equal(table.rows[1].rank, 1);
    assert_int_equal(table.rows[2].point_id, beaten);
    assert_int_equal(table.rows[2].rank, 3);
}

static void equal_runs_are_ties(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    for (int i = 0; i < 3; i++) {
        add_run(baseline(), here, 100);
        add_run(point_of(8), here, 100);
        add_run(point_of(16), here, 99.9);
    }
    compute((struct rank_options){0});
    assert_near(table.noise_pct, 0);
    assert_int_equal(table.rows[0].rank, 1);
    assert_int_equal(table.rows[1].rank, 1);
    assert_int_equal(table.rows[2].rank, 3);
    assert_near(metric(&table.rows[0], "throughput_per_s")->high, 100);
}

static void unsteady_repeats_are_flagged(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t unstable = point_of(64);
    for (int i = 1; i <= 32; i++)
        add_pair(point_of(i), here, 100);
    add_pair(unstable, here, 100);
    add_run(unstable, here, 130);
    add_run(point_of(1), here, 108);
    compute((struct rank_options){0});
    assert_string_equal(row_of(unstable)->flags, "unstable");
    assert_string_equal(row_of(point_of(1))->flags, "unconfirmed");
    assert_int_equal(row_of(unstable)->rank, 0);
    assert_non_null(strstr(row_of(unstable)->reason, "(unstable)"));
}

/* ---- what is better ---- */

static void less_is_better_where_the_metric_says_so(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    int64_t fast = point_of(8);
    add_latencies(found, here, 20, 0);
    add_latencies(fast, here, 10, 0.5);
    compute((struct rank_options){.by = "p99_ms"});
    assert_string_equal(table.better, "lower");
    assert_int_equal(table.rows[0].point_id, fast);
    assert_near(table.rows[0].versus_mean_pct, 100); /* half the time is twice as fast */
    compute((struct rank_options){.by = "p99_ms", .better = "higher"});
    assert_int_equal(table.rows[0].point_id, found);
}

/* A metric that the sweep itself ranks by keeps the sweep's word. */
static void the_sweep_says_what_is_better(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.rank_by = "cost";
    sweep.rank_better = "lower";
    begin_sweep(&sweep);
    int64_t here = anywhere();
    int64_t cheap = point_of(8);
    struct measured measured = {
        .effective_key = "", .metrics = {{"cost", 7, "lower"}}, .metric_count = 1};
    add_measured(baseline(), here, &measured);
    measured.metrics[0].value = 5;
    add_measured(cheap, here, &measured);
    compute((struct rank_options){0});
    assert_string_equal(table.better, "lower");
    assert_int_equal(table.rows[0].point_id, cheap);
    assert_near(table.rows[0].versus_mean_pct, 40);
}

static void nothing_positive_has_no_rank(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t dead = point_of(8);
    add_latencies(baseline(), here, 20, 0);
    add_run(dead, here, 0);
    compute((struct rank_options){0});
    assert_int_equal(row_of(dead)->rank, 0);
    assert_string_equal(row_of(dead)->reason, "it has no positive throughput_per_s");
    assert_false(row_of(dead)->has_versus);
    assert_near(metric(row_of(dead), "throughput_per_s")->mean, 0);
}

static void an_unknown_metric_is_refused(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    add_run(baseline(), anywhere(), 100);
    struct rank_options options = {.by = "throughput_pers"};
    assert_false(rank_compute(store, &options, &arena, &table, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
    assert_string_equal(err.hint, "did you mean \"throughput_per_s\"?");
}

/* ---- arms ---- */

static int64_t add_adjusted(int64_t point, int64_t here, double throughput, const char *flags)
{
    struct measured measured = {.effective_key = "work_mem=131072",
                                .flags = flags,
                                .metrics = {{"throughput_per_s", throughput, "higher"}},
                                .metric_count = 1};
    int64_t trial = begin_trial(point, here);
    struct store_result result = {.metrics = measured.metrics, .metric_count = 1, .output = ""};
    struct store_trial_value value = {.name = "work_mem",
                                      .asked = "100K",
                                      .effective = "131072",
                                      .effective_display = "128K",
                                      .has_number = true,
                                      .number = 131072,
                                      .verdict = "adjusted",
                                      .source = "config",
                                      .detail = ""};
    assert_ok(store_trial_values(store, trial, &value, 1, &err));
    assert_ok(store_trial_result(store, trial, &result, &err));
    assert_ok(store_trial_end(store, trial, "done", NULL, "", measured.effective_key, flags, &err));
    return trial;
}

static void points_that_came_out_the_same_are_one(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    int64_t first = add_point(number_value("work_mem", "100K", 102400), true);
    int64_t second = add_point(number_value("work_mem", "128K", 131072), true);
    add_run(found, here, 50);
    add_adjusted(second, here, 100 * exp(0.01), "not-steady cold");
    add_adjusted(first, here, 100 * exp(-0.01), "cold");
    add_adjusted(first, here, 100, "steady");
    add_failure(second, here, "it fell over");
    compute((struct rank_options){0});
    assert_int_equal(table.row_count, 2);
    const struct rank_row *row = &table.rows[0];
    assert_int_equal(row->point_id, first);
    assert_int_equal(row->point_count, 2);
    assert_int_equal(row->points[0], first);
    assert_int_equal(row->points[1], second);
    assert_int_equal(row->trials, 3);
    assert_int_equal(row->failed, 1);
    assert_near(metric(row, "throughput_per_s")->mean, 100);
    assert_string_equal(row->flags,
                        "not-steady cold steady unconfirmed"); /* each once, whole words */
    assert_string_equal(jq(formatted("json"), ".[0] | [.axes, .effective, .points]"),
                        "[{\"work_mem\":\"100K\"},{\"work_mem\":131072},[2,3]]");
    const char *text = formatted("table");
    assert_non_null(
        strstr(text, "work_mem=100K (is 128K)  [not-steady cold steady unconfirmed]  = point 3"));
    compute((struct rank_options){.where = "work_mem=128K"});
    assert_int_equal(table.row_count, 1);
}

static void failures_are_listed_and_never_ranked(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t broken = point_of(999);
    int64_t shaky = point_of(8);
    add_run(baseline(), here, 100);
    add_failure(broken, here, "first reason");
    add_failure(broken, here, "could not map\nmemory\x1b[31m");
    add_failure(shaky, here, "once");
    add_run(shaky, here, 200);
    compute((struct rank_options){0});
    assert_int_equal(row_of(shaky)->rank, 1);
    assert_int_equal(row_of(shaky)->failed, 1);
    assert_null(row_of(shaky)->reason);
    const struct rank_row *row = row_of(broken);
    assert_ptr_equal(row, &table.rows[2]);
    assert_int_equal(row->rank, 0);
    assert_false(row->tied);
    assert_int_equal(row->failed, 2);
    assert_non_null(strstr(row->reason, "could not map"));
    assert_string_equal(jq(formatted("json"), ".[2] | [.rank, .versus_baseline_pct, .metrics]"),
                        "[null,null,{}]");
    const char *text = formatted("table");
    assert_non_null(strstr(text, "without a rank\n"));
    assert_non_null(strstr(text, "could not map memory\\x1b[31m\n"));
}

static void nothing_measured_is_said(void **state)
{
    (void)state;
    struct rank_options options = {0};
    assert_false(rank_compute(store, &options, &arena, &table, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
    begin_sweep(&fill_sweep);
    compute((struct rank_options){.by = "p99_ms"});
    assert_int_equal(table.row_count, 0);
    assert_string_equal(formatted("table"), "note: nothing was measured yet\n");
    assert_string_equal(formatted("json"), "[]\n");
    add_failure(baseline(), anywhere(), "no");
    compute((struct rank_options){.across = "geomean"});
    compute((struct rank_options){0});
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.rows[0].rank, 0);
    assert_string_equal(table.note, "every trial failed");
    begin_trial(baseline(), anywhere()); /* under way: no result yet */
    compute((struct rank_options){0});
    assert_int_equal(table.rows[0].failed, 1);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(means_have_intervals_of_students_t),
        CASE(the_confidence_is_the_sweeps),
        CASE(single_runs_claim_nothing),
        CASE(two_runs_of_the_baseline_are_too_few),
        CASE(without_a_baseline_repeats_do),
        CASE(one_degree_of_freedom_is_too_few),
        CASE(a_single_run_borrows_the_noise_and_says_so),
        CASE(the_interval_is_longer_above_than_below_and_is_shown_so),
        CASE(ties_share_the_first_rank),
        CASE(a_point_is_compared_with_all_that_lie_above),
        CASE(the_possibly_best_come_first),
        CASE(equal_runs_are_ties),
        CASE(unsteady_repeats_are_flagged),
        CASE(less_is_better_where_the_metric_says_so),
        CASE(the_sweep_says_what_is_better),
        CASE(nothing_positive_has_no_rank),
        CASE(an_unknown_metric_is_refused),
        CASE(points_that_came_out_the_same_are_one),
        CASE(failures_are_listed_and_never_ranked),
        CASE(nothing_measured_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
