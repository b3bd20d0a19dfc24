/*
 * What a trial under way is measured against: the incumbent and the noise of runs, from the history
 * alone.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sweeper/run_history.h"

enum { POINTS = 4, CONDITIONS = 2, TRIAL_LIMIT = 16 };

static struct past_trial trials[TRIAL_LIMIT];
static double throughputs[TRIAL_LIMIT];
static struct run_history past;
static struct point points[POINTS];
static struct condition conditions[CONDITIONS];
static struct plan plan;

static int set_up(void **state)
{
    (void)state;
    past = (struct run_history){.history = {.trials = trials}, .throughputs = throughputs};
    memset(&plan, 0, sizeof plan);
    plan.sweep.rank.durability = "any";
    plan.grid.points = points;
    plan.grid.point_count = POINTS;
    plan.grid.conditions = conditions;
    plan.grid.condition_count = CONDITIONS;
    return 0;
}

static struct past_trial *add(size_t point, size_t condition, double throughput)
{
    struct past_trial *trial = &trials[past.history.count];
    *trial = (struct past_trial){.point = point,
                                 .condition = condition,
                                 .state = TRIAL_DONE,
                                 .value = throughput,
                                 .higher_is_better = true};
    throughputs[past.history.count++] = throughput;
    return trial;
}

static struct run_incumbent find(size_t condition)
{
    struct run_incumbent out;
    run_history_incumbent(&plan, &past, condition, &out);
    return out;
}

static void without_trials_there_is_none(void **state)
{
    (void)state;
    struct run_incumbent none = find(0);
    assert_true(none.point == SIZE_MAX && none.count == 0);
    assert_true(isnan(none.sd) && none.degrees == 0);
}

static void the_best_mean_leads(void **state)
{
    (void)state;
    add(1, 0, 90);
    add(2, 0, 100); /* one lucky run, and one that was not */
    add(2, 0, 64);
    add(1, 0, 110);
    struct run_incumbent found = find(0);
    assert_int_equal(found.point, 1);
    assert_int_equal(found.count, 2);
    assert_true(fabs(found.throughput - sqrt(90.0 * 110)) < 1e-9);
    double squares = pow(log(110.0 / 90), 2) / 2 + pow(log(100.0 / 64), 2) / 2;
    assert_true(found.degrees == 2);
    assert_true(fabs(found.sd - sqrt(squares / 2)) < 1e-12);
}

static void conditions_have_their_own(void **state)
{
    (void)state;
    add(1, 0, 100);
    add(2, 1, 500);
    add(2, 1, 510);
    assert_int_equal(find(0).point, 1);
    assert_int_equal(find(1).point, 2);
    assert_true(find(0).degrees == 1); /* noise is pooled over both */
}

static void what_did_not_end_counts_for_nothing(void **state)
{
    (void)state;
    add(1, 0, 100);
    add(2, 0, 200)->is_censored = true;
    add(3, 0, 300)->state = TRIAL_FAILED;
    add(3, 0, 300)->state = TRIAL_RUNNING;
    add(SIZE_MAX, 0, 400); /* of a point that left the grid */
    add(2, 0, NAN);
    struct run_incumbent found = find(0);
    assert_int_equal(found.point, 1);
    assert_true(found.degrees == 0 && isnan(found.sd));
}

static void trials_are_counted(void **state)
{
    (void)state;
    int64_t number = -1;
    int64_t repeats = -1;
    add(1, 0, 100);
    add(1, 1, 100);
    add(1, 0, 100)->state = TRIAL_FAILED;
    add(1, 0, 100)->state = TRIAL_VOID;
    add(2, 0, 100);
    run_history_count(&past, &(struct proposal){.point = 1, .condition = 0}, &number, &repeats);
    assert_int_equal(number, 4);
    assert_int_equal(repeats, 2);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_trials_there_is_none, set_up),
        cmocka_unit_test_setup(the_best_mean_leads, set_up),
        cmocka_unit_test_setup(conditions_have_their_own, set_up),
        cmocka_unit_test_setup(what_did_not_end_counts_for_nothing, set_up),
        cmocka_unit_test_setup(trials_are_counted, set_up),
    };
    return cmocka_run_group_tests_name("run_history", tests, NULL, NULL);
}
