/*
 * Warm-ups that may end early, over every session and by several workers: the window begins with a
 * whole second after it was said, and is as long as it was asked for; the parts of a window.
 */
#include <math.h>

#include "tests/support/load_suite.h"

enum { PLACES = 2, WARM_AFTER = 2 };

static uint32_t warm_ups; /* seconds of warm-up that were told */

static void count_warm_up(struct subject *subject, const struct load_second *second)
{
    (void)subject;
    warm_ups += second->phase == LOAD_PHASE_WARM_UP;
}

static bool after_two_seconds(void *context)
{
    (void)context;
    return warm_ups >= WARM_AFTER;
}

static bool never(void *context)
{
    (void)context;
    return false;
}

static void prepare(struct subject *subject)
{
    subject->job.workload.mix = "point_select";
    subject->job.workload.warm_up_ms = 1000;
    subject->job.workload.warm_up_max_ms = 20000;
    subject->job.workload.measure_ms = 1500;
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->on_second = count_warm_up;
    subject->second_count = 0;
    warm_ups = 0;
}

static bool drive(struct subject *subject, size_t places, bool (*is_warm)(void *context))
{
    const struct load_progress progress = {
        .context = subject, .second = subject_second, .is_warm = is_warm};
    const struct load_place all[PLACES] = {{.host = subject->host}, {.host = subject->host}};
    struct load_team *team = NULL;
    subject->job.operation = LOAD_DRIVE;
    bool ok = load_team_open(all, places, &subject->job, &team, &subject->err) &&
              load_team_ready(team, DEADLINE, &progress, &subject->err) &&
              load_team_go(team, DEADLINE, &progress, &subject->err) &&
              load_team_finish(team, DEADLINE, &progress, &subject->arena, &subject->result,
                               &subject->err);
    load_team_close(team);
    return ok;
}

/* It was said after the second second, heard within the third, or later on a busy machine. */
static void assert_early(const struct subject *subject)
{
    const struct load_result *result = &subject->result;
    assert_true(result->warm_up_ns % NS_PER_S == 0);
    assert_true(result->warm_up_ns >= 3 * NS_PER_S && result->warm_up_ns < 15 * NS_PER_S);
    assert_true(result->measured_ns == 1500 * NS_PER_MS);
    assert_int_equal(result->second_count, 2);
    assert_int_equal(warm_ups, result->warm_up_ns / NS_PER_S);
}

static void ends_when_told(struct subject *subject)
{
    double done = 0;
    prepare(subject);
    MUST(drive(subject, 1, after_two_seconds));
    assert_early(subject);
    for (size_t i = 0; i < subject->result.second_count; i++) {
        assert_int_equal(subject->result.seconds[i].index, i);
        assert_true(subject->result.seconds[i].mean_ms > 0);
        done += subject->result.seconds[i].throughput_per_s * (i == 1 ? 0.5 : 1);
    }
    assert_true(fabs(done - (double)subject_done(subject)) < 1); /* no second lost or doubled */
}

static void several_workers_end_it_together(struct subject *subject)
{
    prepare(subject);
    MUST(drive(subject, PLACES, after_two_seconds));
    assert_early(subject);
    assert_int_equal(subject->result.client_count, 4);
}

/* A schedule goes on over the edge: what was due in the window is counted from there. */
static void an_open_loop_keeps_its_rate(struct subject *subject)
{
    prepare(subject);
    subject->job.workload.rate_per_s = 100;
    MUST(drive(subject, 1, after_two_seconds));
    assert_early(subject);
    assert_in_range(subject->result.due_count, 148, 152);
}

static void lasts_as_long_as_it_may(struct subject *subject)
{
    prepare(subject);
    subject->job.workload.warm_up_max_ms = 2300;
    MUST(drive(subject, 1, never));
    assert_true(subject->result.warm_up_ns == 2300 * NS_PER_MS);
    assert_true(subject->result.measured_ns == 1500 * NS_PER_MS);
    assert_int_equal(subject->result.batch_count, 0); /* too short for ten */
}

/* Every latency of the window is in one of its ten parts, which are as long as each other. */
static void a_window_has_ten_parts(struct subject *subject)
{
    uint64_t count = 0;
    prepare(subject);
    subject->job.workload.rate_per_s = 50;
    subject->job.workload.warm_up_ms = 300;
    subject->job.workload.warm_up_max_ms = 0;
    subject->job.workload.measure_ms = 10000;
    MUST(drive(subject, PLACES, NULL));
    assert_int_equal(subject->result.batch_count, WITHIN_BATCHES);
    for (size_t i = 0; i < subject->result.batch_count; i++) {
        assert_in_range(subject->result.batches[i].count, 30, 75);
        count += subject->result.batches[i].count;
    }
    assert_int_equal(count, subject_done(subject));
}

static const struct load_test tests[] = {
    LOAD_TEST(ends_when_told),
    LOAD_TEST(several_workers_end_it_together),
    LOAD_TEST(an_open_loop_keeps_its_rate),
    LOAD_TEST(lasts_as_long_as_it_may),
    LOAD_TEST(a_window_has_ten_parts),
};

int main(int argc, char **argv)
{
    const struct load_suite suite = {
        .tests = tests, .test_count = COUNT_OF(tests), .begin = subject_begin, .end = subject_end};
    return suite_main(&suite, argc, argv);
}
