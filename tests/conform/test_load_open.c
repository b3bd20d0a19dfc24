/*
 * Open loops over every session: rates kept, latency that a stalled server cannot hide, overload
 * that is said; and what the driver knows of itself.
 */
#include "tests/support/load_suite.h"

static void assert_flags(struct subject *subject, const char *wanted)
{
    assert_string_equal(load_result_flags(&subject->result, &subject->arena), wanted);
}

static void keeps_an_open_loops_rate(struct subject *subject)
{
    subject->job.workload.mix = "point_select";
    subject->job.workload.rate_per_s = 100;
    subject->job.workload.warm_up_ms = 500;
    subject->job.workload.measure_ms = 2000;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_in_range(subject_done(subject), 150, 200 + 4);
    assert_in_range(subject->result.due_count, 199, 201);
    assert_in_range(subject->result.backlog_count, 0, 40);
    if (subject->result.backlog_count == 0) {
        assert_flags(subject, "");
    }
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        const struct load_transaction *transaction = &subject->result.transactions[i];
        assert_non_null(transaction->service);
        assert_true(transaction->service->count == transaction->latency->count);
        assert_true(transaction->service->sum_ns <= transaction->latency->sum_ns);
    }
}

/* 600 on average, with a standard deviation of 25. */
static void keeps_a_random_rate(struct subject *subject)
{
    subject->job.workload.mix = "point_select";
    subject->job.workload.rate_per_s = 300;
    subject->job.workload.arrivals = "poisson";
    subject->job.workload.measure_ms = 2000;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_in_range(subject->result.due_count, 600 - 120, 600 + 120);
    assert_true(subject->result.due_count != 600); /* not the even schedule */
    assert_in_range(subject_done(subject), subject->result.due_count - 60,
                    subject->result.due_count + 4);
}

/* ---- honest latency ---- */

enum { STALL_MS = 700 };

static void stall_once(struct subject *subject, const struct load_second *second)
{
    static const char *const locks[][2] = {
        {"begin exclusive", "commit"},
        {"begin; lock table sbtest1 in access exclusive mode", "commit"},
        {"lock tables sbtest1 write", "unlock tables"}};
    if (second->phase != LOAD_PHASE_MEASURE || second->index != 0) {
        return;
    }
    int at = strcmp(subject->backend, "sqlite") == 0       ? 0
             : strcmp(subject->backend, "postgresql") == 0 ? 1
                                                           : 2;
    subject_sql(subject, locks[at][0]);
    clock_pause_until(clock_deadline_ms(STALL_MS));
    subject_sql(subject, locks[at][1]);
}

/* A server that stands still for 0.7 of 3 s holds up a quarter of what was due, but only as many
 * transactions as there are clients: a driver that waits with it would call 99 % of them fast. */
static void a_stall_shows_in_the_response_times(struct subject *subject)
{
    subject->job.workload.mix = "point_select";
    subject->job.workload.tables = 1;
    subject->job.workload.clients = 2;
    subject->job.workload.rate_per_s = 200;
    subject->job.workload.measure_ms = 3000;
    MUST(subject_run(subject, LOAD_PREPARE));
    subject->on_second = stall_once;
    MUST(subject_run(subject, LOAD_DRIVE));
    struct histogram response;
    struct histogram service;
    histogram_clear(&response);
    histogram_clear(&service);
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        histogram_merge(&response, subject->result.transactions[i].latency);
        histogram_merge(&service, subject->result.transactions[i].service);
    }
    assert_in_range(response.count, 560, 604);
    assert_true(histogram_percentile_ns(&response, 99) > (STALL_MS - 150) * 1e6);
    assert_true(histogram_percentile_ns(&response, 85) > 100e6);
    assert_true(histogram_percentile_ns(&service, 99) < 100e6);
    assert_true(response.max_ns > (uint64_t)(STALL_MS - 100) * 1000000);
    assert_true(service.max_ns > (uint64_t)(STALL_MS - 100) * 1000000);
}

/* More than any server could do: it does what it can, and the rest is said. */
static void too_high_a_rate_ends_saturated(struct subject *subject)
{
    subject->job.workload.mix = "read_only";
    subject->job.workload.clients = 2;
    subject->job.workload.rate_per_s = 1000000;
    subject->job.workload.warm_up_ms = 300;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_true(subject_done(subject) > 0);
    assert_true(subject->result.due_count > 990000);
    assert_true(subject->result.backlog_count > 500000);
    assert_true(subject->result.backlog_ns > 100 * NS_PER_MS);
    assert_non_null(strstr(load_result_flags(&subject->result, &subject->arena), "saturated"));
    /* the warm-up's backlog would make even the fastest older than the window */
    uint64_t fastest_ns = UINT64_MAX;
    for (size_t i = 0; i < subject->result.transaction_count; i++) {
        uint64_t least = subject->result.transactions[i].latency->min_ns;
        fastest_ns = least < fastest_ns ? least : fastest_ns;
    }
    assert_true(fastest_ns < 200000000);
}

/* Half a second of warm-up, and three tenths at the end of the window. */
static void shows_the_rate_of_part_of_a_second(struct subject *subject)
{
    subject->job.workload.mix = "point_select";
    subject->job.workload.rate_per_s = 400;
    subject->job.workload.warm_up_ms = 500;
    subject->job.workload.measure_ms = 1300;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    for (int phase = LOAD_PHASE_WARM_UP; phase <= LOAD_PHASE_MEASURE; phase++) {
        assert_true(subject->rates_per_s[phase] > 280 && subject->rates_per_s[phase] < 520);
    }
}

/* What the driver could do at a server that takes no time is found once, and believed when told. */
static void knows_its_own_ceiling(struct subject *subject)
{
    subject->job.workload.measure_ms = 500;
    MUST(subject_run(subject, LOAD_PREPARE));
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_true(subject->result.ceiling_per_s > 1000);
    assert_true(subject->result.ceiling_per_s > (double)subject_done(subject) / 0.5);
    subject->job.ceiling_per_s = 2;
    MUST(subject_run(subject, LOAD_DRIVE));
    assert_true(subject->result.ceiling_per_s == 2);
    assert_non_null(strstr(load_result_flags(&subject->result, &subject->arena), "client-bound"));
}

static const struct load_test tests[] = {
    LOAD_TEST(keeps_an_open_loops_rate),
    LOAD_TEST(keeps_a_random_rate),
    LOAD_TEST(a_stall_shows_in_the_response_times),
    LOAD_TEST(too_high_a_rate_ends_saturated),
    LOAD_TEST(knows_its_own_ceiling),
    LOAD_TEST(shows_the_rate_of_part_of_a_second),
};

int main(int argc, char **argv)
{
    const struct load_suite suite = {
        .tests = tests, .test_count = COUNT_OF(tests), .begin = subject_begin, .end = subject_end};
    return suite_main(&suite, argc, argv);
}
