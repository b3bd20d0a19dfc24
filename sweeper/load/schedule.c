/*
 * The schedule of an open loop.
 */
#include "sweeper/load/schedule.h"

#include <math.h>
#include <string.h>

enum { DRAWS_LIMIT = 1 << 20 };

/* Streams of clients count from 1. */
#define STREAM_OF_SCHEDULES UINT64_C(0x5c4ed01e00000000)

static void advance(struct schedule *schedule)
{
    double gaps = schedule->is_random ? -log1p(-random_unit(&schedule->random)) : 1;
    schedule->next += gaps * schedule->gap_ns;
}

static int64_t due_ns(const struct schedule *schedule)
{
    return schedule->base_ns + (int64_t)schedule->next;
}

/* Constant gaps: the loops' starts are spread over one gap, so that together they are even too. */
static void begin_at(struct schedule *schedule, int64_t base_ns, double first)
{
    schedule->base_ns = base_ns;
    schedule->next = first;
    if (schedule->is_random) {
        schedule->next = 0;
        advance(schedule);
    }
}

void schedule_open(struct schedule *schedule, const struct workload_spec *workload, size_t first,
                   size_t client_count, size_t all_clients, int64_t go_ns)
{
    *schedule = (struct schedule){
        .gap_ns = (double)all_clients / (double)client_count / workload->rate_per_s * 1e9,
        .is_random = workload->arrivals != NULL && strcmp(workload->arrivals, "poisson") == 0,
        .idle_ns = go_ns};
    schedule->first = schedule->gap_ns * (double)first / (double)all_clients;
    random_seed(&schedule->random, (uint64_t)workload->seed, STREAM_OF_SCHEDULES + first);
    histogram_clear(&schedule->lag);
    begin_at(schedule, go_ns, schedule->first);
}

int64_t schedule_due_ns(struct schedule *schedule, const struct schedule_window *window,
                        int64_t now)
{
    if (!schedule->has_met_window && now >= window->measure_ns) {
        schedule->has_met_window = true;
        if (due_ns(schedule) < window->measure_ns) {
            begin_at(schedule, window->measure_ns, schedule->first);
        }
    }
    return due_ns(schedule);
}

int64_t schedule_take(struct schedule *schedule, const struct schedule_window *window, int64_t now)
{
    int64_t intended = due_ns(schedule);
    int64_t could_ns = intended > schedule->idle_ns ? intended : schedule->idle_ns;
    advance(schedule);
    if (now < window->measure_ns) {
        return now;
    }
    schedule->due_count++;
    histogram_record(&schedule->lag, (uint64_t)(now > could_ns ? now - could_ns : 0));
    return intended;
}

void schedule_end(struct schedule *schedule, const struct schedule_window *window)
{
    int64_t left_ns = window->end_ns - schedule_due_ns(schedule, window, window->end_ns);
    if (left_ns <= 0) {
        return;
    }
    /* Of many the mean is as good as a draw, and ends. */
    uint64_t count = (uint64_t)((double)left_ns / schedule->gap_ns);
    if (count < DRAWS_LIMIT) {
        for (count = 0; due_ns(schedule) < window->end_ns; count++) {
            advance(schedule);
        }
    }
    schedule->oldest_ns = left_ns;
    schedule->missed_count = count;
    schedule->due_count += count;
}
