/*
 * Who is shown and who may win: limits, filters, durability, and conditions each for itself or
 * joined. Runs are chosen as in test_rank.c.
 */
#include "tests/support/rank_fill.h"

/* ---- limits and filters ---- */

static void the_limit_takes_the_rank_and_nothing_else(void **state)
{
    (void)state;
    struct store_sweep sweep = fill_sweep;
    sweep.rank_under = "p99_ms < 50";
    begin_sweep(&sweep);
    int64_t here = anywhere();
    int64_t found = baseline();
    int64_t slow = point_of(8);
    int64_t unknown = point_of(16);
    add_latencies(found, here, 49.9, 0);
    add_latencies(slow, here, 50, 0);
    add_run(unknown, here, 300);
    compute((struct rank_options){0});
    assert_int_equal(table.rows[0].point_id, found);
    assert_int_equal(table.rows[0].rank, 1);
    assert_false(table.rows[0].tied);
    assert_int_equal(row_of(slow)->rank, 0);
    assert_string_equal(row_of(slow)->reason, "it does not keep the limit p99_ms < 50");
    assert_true(row_of(slow)->has_versus);
    assert_string_equal(row_of(unknown)->reason, "it was not measured for the limit p99_ms < 50");
    compute((struct rank_options){.under = "p99_ms < 50.5"});
    assert_int_equal(row_of(slow)->rank, 2);
    compute((struct rank_options){.under = ""});
    assert_int_equal(row_of(unknown)->rank, 1);
    struct rank_options wrong = {.under = "p99ms < 50"};
    assert_false(rank_compute(store, &wrong, &arena, &table, &err));
    assert_int_equal(err.code, ERR_CODE_rule);
}

static void where_filters_and_keeps_the_baseline_as_reference(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t four = point_of(4);
    int64_t eight = point_of(8);
    add_run(baseline(), here, 100);
    add_run(four, here, 110);
    add_run(eight, here, 120);
    compute((struct rank_options){.where = "work_mem=4MB"});
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.rows[0].point_id, four);
    assert_int_equal(table.rows[0].rank, 1);
    assert_near(table.rows[0].versus_mean_pct, 10);
    compute((struct rank_options){.where = "throughput_per_s > 105 and trials = 1"});
    assert_int_equal(table.row_count, 2);
    compute((struct rank_options){.where = "baseline"});
    assert_int_equal(table.row_count, 1);
    compute((struct rank_options){.where = "work_mem > 1GB"});
    assert_int_equal(table.row_count, 0);
    assert_string_equal(table.note, "no point is what --where asks for");
    struct rank_options wrong = {.where = "wrk_mem=4MB"};
    assert_false(rank_compute(store, &wrong, &arena, &table, &err));
    assert_int_equal(err.code, ERR_CODE_rule);
}

/* The shell takes quotes away, and a value as found is no text that compares with numbers. */
static void where_takes_words_bare(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t wal = add_point(text_value("journal_mode", "wal"), true);
    add_run(add_point(text_value("journal_mode", "baseline"), true), here, 100);
    add_run(wal, here, 110);
    add_run(point_of(8), here, 120);
    compute((struct rank_options){.where = "journal_mode=WAL"});
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.rows[0].point_id, wal);
    struct rank_options wrong = {.where = "journal_mode=wall"};
    assert_false(rank_compute(store, &wrong, &arena, &table, &err));
    assert_int_equal(err.code, ERR_CODE_rule);
}

static void less_durable_points_cannot_win_unless_asked(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t here = anywhere();
    int64_t loose = add_point(text_value("fsync", "off"), false);
    add_run(add_point(text_value("fsync", "baseline"), true), here, 100);
    add_run(loose, here, 500);
    compute((struct rank_options){0});
    assert_true(table.rows[0].baseline);
    assert_int_equal(row_of(loose)->rank, 0);
    assert_false(row_of(loose)->durable);
    assert_string_equal(row_of(loose)->reason, "less durable than the baseline");
    assert_string_equal(row_of(loose)->flags, "less-durable");
    assert_near(row_of(loose)->versus_mean_pct, 400);
    compute((struct rank_options){.durability = "any"});
    assert_int_equal(row_of(loose)->rank, 1);
    assert_string_equal(row_of(loose)->flags, "less-durable unconfirmed");
    struct rank_options wrong = {.durability = "all"};
    assert_false(rank_compute(store, &wrong, &arena, &table, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
}

static void top_cuts_each_condition(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    for (int i = 1; i <= 4; i++) {
        add_run(point_of(i), clients(1), 100 * i);
        add_run(point_of(i), clients(2), 100 * i);
    }
    compute((struct rank_options){.top = 3});
    assert_int_equal(table.row_count, 6);
    assert_int_equal(table.rows[2].rank, 3);
    assert_int_equal(table.rows[3].rank, 1);
}

/* ---- conditions ---- */

static void conditions_are_ranked_apart(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t few = clients(1);
    int64_t many = clients(32);
    int64_t found = baseline();
    int64_t other = point_of(8);
    add_run(found, few, 100);
    add_run(other, few, 80);
    add_run(found, many, 1000);
    add_run(other, many, 1500);
    compute((struct rank_options){0});
    assert_int_equal(table.row_count, 4);
    assert_int_equal(table.rows[0].point_id, found);
    assert_string_equal(table.rows[0].condition[0].display, "1");
    assert_near(table.rows[1].versus_mean_pct, -20);
    assert_int_equal(table.rows[2].point_id, other);
    assert_int_equal(table.rows[2].rank, 1);
    assert_near(table.rows[2].versus_mean_pct, 50);
    assert_non_null(strstr(formatted("table"), "clients=32\n"));
    assert_string_equal(jq(formatted("json"), "[.[] | [.condition.clients, .rank]]"),
                        "[[1,1],[1,2],[32,1],[32,2]]");
    compute((struct rank_options){.where = "clients=32"});
    assert_int_equal(table.row_count, 2);
}

static void across_conditions_by_geometric_mean(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t few = clients(1);
    int64_t many = clients(32);
    int64_t found = baseline();
    int64_t other = point_of(8);
    int64_t partial = point_of(16);
    add_pair(found, few, 100);
    add_pair(other, few, 80);
    add_pair(found, many, 1000);
    add_pair(other, many, 1800);
    add_run(partial, many, 9000);
    compute((struct rank_options){.across = "geomean"});
    assert_int_equal(table.row_count, 3);
    assert_int_equal(table.rows[0].point_id, other);
    /* 4 degrees, s as before; the variance of the mean of two means of two runs is 1/4. */
    assert_interval(metric(&table.rows[0], "throughput_per_s"), sqrt(80 * 1800.0), T4 * S / 2);
    assert_near(table.rows[0].versus_mean_pct, 20);
    assert_near(table.rows[0].versus_low_pct, 100 * (1.2 * exp(-T4 * S / sqrt(2)) - 1));
    assert_int_equal(table.rows[0].trials, 4);
    assert_int_equal(table.rows[0].condition_count, 0);
    assert_int_equal(row_of(partial)->rank, 0);
    assert_string_equal(row_of(partial)->reason, "not measured in every condition");
    assert_false(row_of(partial)->has_versus);
    compute((struct rank_options){.across = "geomean", .where = "clients = 32"});
    assert_int_equal(row_of(partial)->rank, 1);
    assert_near(row_of(partial)->versus_mean_pct, 800);
    struct rank_options wrong = {.across = "all"};
    assert_false(rank_compute(store, &wrong, &arena, &table, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
}

/* A point that failed under one condition is one line, with the reason. */
static void across_conditions_a_failure_stays_with_its_point(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    int64_t few = clients(1);
    int64_t many = clients(32);
    struct measured measured = {.effective_key = "work_mem=8",
                                .flags = "slow",
                                .metrics = {{"throughput_per_s", 100, "higher"}},
                                .metric_count = 1};
    int64_t other = point_of(8);
    add_measured(other, few, &measured);
    add_failure(other, many, "too many clients");
    compute((struct rank_options){.across = "geomean"});
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.rows[0].rank, 0);
    assert_int_equal(table.rows[0].trials, 1);
    assert_int_equal(table.rows[0].failed, 1);
    assert_string_equal(table.rows[0].reason, "too many clients");
    assert_string_equal(table.rows[0].flags, "slow");
    /* Another point that came out the same stands in for it. */
    add_measured(point_of(9), many, &measured);
    compute((struct rank_options){.across = "geomean"});
    assert_int_equal(table.row_count, 1);
    assert_int_equal(table.rows[0].rank, 1);
    assert_int_equal(table.rows[0].failed, 1);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_limit_takes_the_rank_and_nothing_else),
        CASE(where_filters_and_keeps_the_baseline_as_reference),
        CASE(where_takes_words_bare),
        CASE(less_durable_points_cannot_win_unless_asked),
        CASE(top_cuts_each_condition),
        CASE(conditions_are_ranked_apart),
        CASE(across_conditions_by_geometric_mean),
        CASE(across_conditions_a_failure_stays_with_its_point),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
