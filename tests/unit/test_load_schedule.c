/*
 * The schedule of an open loop: even and random gaps, shares of several loops, the window's edge,
 * what is late and what never began.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "sweeper/load/schedule.h"

#define GO (7 * NS_PER_S)
static const struct schedule_window window = {
    .go_ns = GO, .measure_ns = GO + 2 * NS_PER_S, .end_ns = GO + 12 * NS_PER_S};

static struct schedule schedule;

static void open_alone(double rate_per_s, const char *arrivals)
{
    struct workload_spec workload = {.rate_per_s = rate_per_s, .arrivals = arrivals, .seed = 1};
    schedule_open(&schedule, &workload, 0, 8, 8, GO);
}

static int64_t due(int64_t now)
{
    return schedule_due_ns(&schedule, &window, now);
}

/* Takes what is due as soon as it is, until `end_ns`; how many there were. */
static uint64_t keep_up(int64_t end_ns)
{
    uint64_t count = 0;
    for (int64_t at = due(GO); at < end_ns; at = due(at)) {
        assert_true(schedule_take(&schedule, &window, at) == at);
        count++;
    }
    return count;
}

static void constant_gaps_are_even(void **state)
{
    (void)state;
    open_alone(400, "constant");
    for (int64_t i = 0; i < (int64_t)12 * 400; i++) {
        int64_t at = due(GO);
        assert_in_range(at - GO, i * 2500000, i * 2500000 + 2);
        schedule_take(&schedule, &window, at);
        (void)due(at);
    }
}

/* Two loops of three and five clients: together the asked rate, without a start at one time. */
static void loops_share_the_rate(void **state)
{
    (void)state;
    struct workload_spec workload = {.rate_per_s = 800, .arrivals = "constant", .seed = 1};
    static const size_t first[] = {0, 3};
    static const size_t count[] = {3, 5};
    for (int i = 0; i < 2; i++) {
        schedule_open(&schedule, &workload, first[i], count[i], 8, GO);
        assert_true(fabs(schedule.gap_ns - 1e7 / (double)count[i]) < 1e-3);
        assert_true(fabs(schedule.next - schedule.gap_ns * (double)first[i] / 8) < 1e-3);
        assert_in_range(keep_up(window.end_ns), 12 * 100 * count[i] - 1, 12 * 100 * count[i] + 1);
    }
}

/* Gaps of a Poisson process are exponential: their distribution is compared at its deciles, where a
 * tenth of 60,000 must lie between each two; 4.5 standard deviations are allowed. */
static void random_gaps_are_exponential(void **state)
{
    (void)state;
    enum { DRAWS = 60000, PARTS = 10 };
    uint64_t parts[PARTS] = {0};
    double sum = 0;
    open_alone(1000, "poisson");
    double last = schedule.next;
    for (int i = 0; i < DRAWS; i++) {
        schedule_take(&schedule, &window, GO);
        double gap = schedule.next - last;
        last = schedule.next;
        sum += gap;
        int part = (int)(-expm1(-gap / 1e6) * PARTS);
        assert_in_range(part, 0, PARTS - 1);
        parts[part]++;
    }
    double allowed = 4.5 * sqrt(DRAWS * 0.1 * 0.9);
    for (int i = 0; i < PARTS; i++) {
        assert_true(fabs((double)parts[i] - DRAWS / 10.0) < allowed);
    }
    assert_true(fabs(sum / DRAWS - 1e6) < 4.5 * 1e6 / sqrt(DRAWS));
}

static void seeds_decide(void **state)
{
    (void)state;
    struct workload_spec workload = {.rate_per_s = 1000, .arrivals = "poisson", .seed = 5};
    double next[3];
    for (int i = 0; i < 3; i++) {
        workload.seed = i < 2 ? 5 : 6;
        schedule_open(&schedule, &workload, 0, 8, 8, GO);
        next[i] = schedule.next;
    }
    assert_true(next[0] == next[1] && next[0] != next[2]);
    workload.seed = 5;
    schedule_open(&schedule, &workload, 4, 4, 8, GO);
    assert_true(schedule.next != next[0]);
}

/* Half the rate is managed in the warm-up: a second lies behind at the edge, and is let go. */
static void the_window_begins_without_backlog(void **state)
{
    (void)state;
    open_alone(100, "constant");
    for (int i = 0; i < 100; i++) {
        int64_t now = GO + i * 20 * NS_PER_MS;
        assert_true(schedule_take(&schedule, &window, now) == now);
    }
    assert_true(due(window.measure_ns - 1) < GO + NS_PER_S + NS_PER_S / 50);
    assert_true(due(window.measure_ns) == window.measure_ns);
    assert_int_equal(schedule.due_count, 0);
    assert_true(keep_up(window.end_ns) == 1000);
    schedule_end(&schedule, &window);
    assert_true(schedule.due_count == 1000 && schedule.missed_count == 0);
    assert_true(schedule.oldest_ns == 0);
}

/* In time at the edge: nothing begins anew, and no start is lost or doubled. */
static void a_schedule_in_time_goes_on_over_the_edge(void **state)
{
    (void)state;
    open_alone(300, "constant");
    (void)keep_up(window.measure_ns - NS_PER_MS);
    int64_t before = due(window.measure_ns - NS_PER_MS);
    assert_true(before >= window.measure_ns - NS_PER_MS);
    if (before < window.measure_ns) {
        schedule_take(&schedule, &window, before);
    }
    int64_t first = due(window.measure_ns);
    assert_true(first >= window.measure_ns && first < window.measure_ns + 4 * NS_PER_MS);
}

/* What is late for want of a client counts as the server's time, not as the driver's lag. */
static void lag_is_what_an_idle_client_waited(void **state)
{
    (void)state;
    open_alone(100, "constant");
    (void)keep_up(window.measure_ns);
    int64_t at = due(window.measure_ns);
    assert_true(schedule_take(&schedule, &window, at + 3 * NS_PER_MS) == at);
    assert_true(schedule.lag.max_ns == 3 * NS_PER_MS);
    at = due(at);
    schedule.idle_ns = at + 500 * NS_PER_MS; /* all were busy until then */
    assert_true(schedule_take(&schedule, &window, at + 501 * NS_PER_MS) == at);
    assert_true(schedule.lag.count == 2 && schedule.lag.max_ns == 3 * NS_PER_MS);
    assert_true(schedule.lag.min_ns == NS_PER_MS);
}

static void what_never_began_is_the_backlog(void **state)
{
    (void)state;
    static const char *const kinds[] = {"constant", "poisson"};
    for (int i = 0; i < 2; i++) {
        open_alone(1000, kinds[i]);
        (void)keep_up(window.measure_ns);
        uint64_t begun = 0;
        while (due(window.measure_ns) < window.measure_ns + 4 * NS_PER_S) {
            (void)schedule_take(&schedule, &window, window.end_ns - 1);
            begun++;
        }
        schedule_end(&schedule, &window);
        assert_true(labs((long)begun - 4000) < 300);
        assert_true(labs((long)schedule.missed_count - 6000) < 360);
        assert_true(schedule.due_count == begun + schedule.missed_count);
        assert_true(llabs(schedule.oldest_ns - 6 * NS_PER_S) < 20 * NS_PER_MS);
    }
}

/* A rate that nobody could draw one by one. */
static void an_endless_backlog_ends(void **state)
{
    (void)state;
    open_alone(1e9, "poisson");
    (void)due(window.measure_ns);
    schedule_end(&schedule, &window);
    assert_true(fabs((double)schedule.missed_count - 1e10) < 1e6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_gaps_are_even),
        cmocka_unit_test(loops_share_the_rate),
        cmocka_unit_test(random_gaps_are_exponential),
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(the_window_begins_without_backlog),
        cmocka_unit_test(a_schedule_in_time_goes_on_over_the_edge),
        cmocka_unit_test(lag_is_what_an_idle_client_waited),
        cmocka_unit_test(what_never_began_is_the_backlog),
        cmocka_unit_test(an_endless_backlog_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
