/*
 * The warm-up as it goes on: its seconds, and whether it may end. One that is fixed is only kept.
 */
#ifndef SWEEPER_WARM_UP_H
#define SWEEPER_WARM_UP_H

#include "sweeper/load/load.h"

struct warm_up {
    struct arena *arena;
    double *samples; /* throughput by second; of an open loop, which keeps its rate, the latency */
    size_t count;
    size_t capacity;
    size_t least_count; /* seconds that it lasts at least */
    bool is_adaptive;
    bool was_warm; /* at the look before */
    bool is_warm;  /* at the last two: it may end */
};

/* Seconds come from the arena. */
void warm_up_open(struct warm_up *warm_up, const struct workload_spec *workload,
                  struct arena *arena);
/* The sample that a second gives: for the window as well, which is judged by the same. */
double warm_up_sample(const struct workload_spec *workload, const struct load_second *second);
/* Adds a second of the warm-up and looks, once in five, whether two looks in a row found it steady;
 * seconds of other phases are passed over. False: out of memory. */
bool warm_up_add(struct warm_up *warm_up, const struct workload_spec *workload,
                 const struct load_second *second, struct err *err) MUST_USE;

#endif
