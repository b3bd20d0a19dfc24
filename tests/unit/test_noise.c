/*
 * The noise of the baseline's runs and what follows from it, against values computed by hand.
 */
#include "store/noise.h"
#include "tests/support/rank_fill.h"

static struct noise noise;

static void load(bool latest_call)
{
    assert_ok(noise_load(store, latest_call, &arena, &noise, &err));
}

/* A run whose window of 10 s is known to within_pct, and which took 40 s in all. */
static void add_known(int64_t point, int64_t condition, double throughput, double within_pct)
{
    char command[256];
    add_measured(point, condition,
                 &(struct measured){.effective_key = "",
                                    .metrics = {{"throughput_per_s", throughput, "higher"},
                                                {"within_pct", within_pct, "lower"}},
                                    .metric_count = 2});
    snprintf(command, sizeof command,
             "sqlite3 %s 'UPDATE trial SET started_us = trial_id * 60000000, "
             "ended_us = trial_id * 60000000 + 40000000'",
             path);
    assert_int_equal(system(command), 0);
}

static const char *words(const struct noise_power *power)
{
    struct text out;
    text_open(&out, &arena);
    noise_put_text(&noise, power, &out);
    return text_done(&out);
}

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void the_noise_is_pooled_over_conditions(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    add_three(baseline(), clients(1), 100);
    add_pair(baseline(), clients(8), 700);
    add_run(point_of(8), clients(8), 9999);
    add_failure(baseline(), clients(8), "no");
    load(false);
    assert_int_equal(noise.condition_count, 2);
    assert_int_equal(noise.runs, 5);
    assert_near(noise.sd, S);
    assert_near(noise.degrees, 3);
    /* chi squared on 3 degrees: 0.2157953 and 9.3484036 */
    assert_near(noise.sd_low, S * sqrt(3 / 9.3484036));
    assert_near(noise.sd_high, S * sqrt(3 / 0.2157953));
    assert_string_equal(noise.conditions[0].label, "clients=1");
    assert_int_equal(noise.conditions[1].runs, 2);
    assert_int_equal(noise.conditions[1].failed, 1);
    assert_near(noise.conditions[1].mean, 700);
    assert_near(noise.conditions[1].sd, S);
    assert_true(isnan(noise.within_sd));
}

static void a_call_may_be_asked_for_alone(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    add_three(baseline(), anywhere(), 100);
    assert_ok(store_call_begin(store, sweep_id, &call_id, &err));
    add_pair(baseline(), anywhere(), 130);
    load(true);
    assert_int_equal(noise.runs, 2);
    assert_near(noise.conditions[0].mean, 130);
    load(false);
    assert_int_equal(noise.runs, 5);
}

static void what_a_sweep_can_detect(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    add_three(baseline(), anywhere(), 100);
    load(false);
    /* 2 + 4 * (3 - 1) = 10 degrees: t(0.975) + t(0.8), and t(1 - 0.05 / 8) of four gains. */
    struct noise_power power = noise_power_of(&noise, 4, 3);
    assert_near(power.pair_pct, 100 * expm1((2.228138852 + 0.879057829) * S * sqrt(2.0 / 3)));
    assert_near(power.any_pct, 100 * expm1((3.038243334 + 0.879057829) * S * sqrt(2.0 / 3)));
    assert_true(isnan(noise_power_of(&noise, 0, 3).pair_pct));
    struct text out;
    text_open(&out, &arena);
    noise_put_detectable(&noise, &power, &out);
    assert_says(text_done(&out), "detectable: 3.653 % between two points of 3 runs each");
}

static void without_runs_nothing_is_known(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    load(true);
    assert_true(isnan(noise.sd));
    struct noise_power power = noise_power_of(&noise, 10, 3);
    assert_true(isnan(power.pair_pct));
    assert_says(words(&power), "detectable: not known: `dbsweep aa FILE`");
    add_run(baseline(), anywhere(), 100);
    load(false);
    assert_int_equal(noise.runs, 1);
    assert_true(isnan(noise.sd));
}

/* sd 2 S; of it 2.262 % / 2.262 = 1 % is within a run. Between: sqrt(8e-4 - 1e-4). The window has
 * 10 s, the rest of a run 30: sqrt(30 * 1e-4 * 10 / 7e-4). */
static void advice_weighs_length_against_repeats(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    for (int sign = -1; sign <= 1; sign++)
        add_known(baseline(), anywhere(), 100 * exp(2 * S * sign), 2.262);
    load(false);
    struct noise_advice advice = noise_advise(&noise);
    assert_true(advice.is_known);
    assert_near(noise.within_sd, 0.01);
    assert_near(noise.measured_s, 10);
    assert_near(noise.overhead_s, 30);
    assert_near(advice.between_sd, sqrt(7e-4));
    assert_near(advice.length_s, sqrt(30.0 / 0.7));
    struct noise_power power = noise_power_of(&noise, 4, 3);
    assert_says(words(&power), "windows of 6.547 s would do: repeats pay better than length");
    assert_says(words(&power), "a run of 10.00 s costs 30.00 s beside its window");
}

static void longer_runs_pay_where_all_noise_is_within(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    for (int sign = -1; sign <= 1; sign++)
        add_known(baseline(), anywhere(), 100 * exp(S * sign), 5);
    load(false);
    struct noise_advice advice = noise_advise(&noise);
    assert_true(isinf(advice.length_s));
    struct noise_power power = noise_power_of(&noise, 4, 1);
    assert_says(words(&power), "longer windows pay: runs differ by what is within them");
}

static void drift_and_unsteady_runs_are_told(void **state)
{
    (void)state;
    begin_sweep(&fill_sweep);
    for (int i = 0; i < 8; i++)
        add_known(baseline(), anywhere(), 100 * exp(-0.01 * i), 1);
    add_measured(baseline(), anywhere(),
                 &(struct measured){.effective_key = "",
                                    .flags = "not-steady",
                                    .metrics = {{"throughput_per_s", 92, "higher"}},
                                    .metric_count = 1});
    load(false);
    assert_true(noise.conditions[0].is_testable);
    assert_true(noise.conditions[0].has_drift);
    assert_int_equal(noise.conditions[0].unsteady, 1);
    struct noise_power power = noise_power_of(&noise, 4, 3);
    assert_says(words(&power), "drift:      the machine moved, p ");
    assert_says(words(&power), "steadiness: 1 of 9 runs flagged not-steady");
    struct text out;
    text_open(&out, &arena);
    noise_put_json(&noise, &power, 2, &out);
    const char *json = text_done(&out);
    assert_string_equal(jq(json, "[.refused, .runs, .limit_pct, .conditions[0].drift.significant, "
                                 ".conditions[0].not_steady]"),
                        "[true,9,2,true,1]");
    assert_string_equal(jq(json, "keys_unsorted | join(\" \")"),
                        "metric runs sigma_pct sigma_low_pct sigma_high_pct degrees limit_pct "
                        "refused conditions planned advice");
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_noise_is_pooled_over_conditions),
        CASE(a_call_may_be_asked_for_alone),
        CASE(what_a_sweep_can_detect),
        CASE(without_runs_nothing_is_known),
        CASE(advice_weighs_length_against_repeats),
        CASE(longer_runs_pay_where_all_noise_is_within),
        CASE(drift_and_unsteady_runs_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
