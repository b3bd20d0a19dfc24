/*
 * When transactions start. An open loop has a schedule of its own, which no answer can hold up: a
 * transaction that is due takes the client that has been idle for longest, and waits, with its
 * intended start kept, while there is none. In a closed loop a client starts at once, or after its
 * pause.
 */
#ifndef SWEEPER_LOAD_SCHEDULE_H
#define SWEEPER_LOAD_SCHEDULE_H

#include "sweeper/load/workload.h"

struct schedule {
    double gap_ns;       /* mean time between two starts of this loop */
    bool is_random;      /* gaps are exponential: arrivals are a Poisson process */
    bool has_met_window; /* its edge is behind */
    struct random random;
    int64_t base_ns;       /* what `next` counts from */
    double first;          /* constant gaps: of the first start, nanoseconds since the base */
    double next;           /* intended start of the next, likewise */
    int64_t idle_ns;       /* since when some client has been idle */
    uint64_t due_count;    /* starts that were due inside the window, begun or not */
    uint64_t missed_count; /* of those, not begun when it ended: the backlog */
    int64_t oldest_ns;     /* how long ago the first of these was due then */
    struct histogram lag;  /* how late a start was that found a client idle, inside the window */
};

/* What a schedule is told about the drive. */
struct schedule_window {
    int64_t go_ns;
    _Atomic int64_t measure_ns; /* may come earlier while the warm-up lasts, and the end with it */
    _Atomic int64_t end_ns;
};

/* A loop of `client_count` clients of all, the first of them with number `first`, gets their share
 * of the rate. */
void schedule_open(struct schedule *schedule, const struct workload_spec *workload, size_t first,
                   size_t client_count, size_t all_clients, int64_t go_ns);
/* Intended start of the next transaction. The backlog of the warm-up does not leak into the window:
 * a schedule that lies behind at its edge begins anew there. */
int64_t schedule_due_ns(struct schedule *schedule, const struct schedule_window *window,
                        int64_t now);
/* Takes the start that is due; what its latency counts from: within the warm-up `now`, so that none
 * that ends in the window brings a backlog along. */
int64_t schedule_take(struct schedule *schedule, const struct schedule_window *window, int64_t now);
/* At the window's end: what was due and never began. */
void schedule_end(struct schedule *schedule, const struct schedule_window *window);

#endif
