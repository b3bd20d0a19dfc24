/*
 * The driver: many clients over a few event loops. One loop implementation serves sessions with a
 * socket (thousands to a thread) and sessions without one (a thread each, complete in send).
 *
 * Phases have hard edges fixed at go: warm-up, measure, drain. A transaction counts when it
 * completes inside the measure window; its latency spans all tries, from its intended start.
 */
#ifndef SWEEPER_LOAD_DRIVER_H
#define SWEEPER_LOAD_DRIVER_H

#include <stdatomic.h>

#include "sweeper/load/meter.h"

struct driver;

enum client_stage { CLIENT_IDLE, CLIENT_WAITING, CLIENT_ROLLING_BACK, CLIENT_LOST };

struct driver_client {
    struct client client;
    enum client_stage stage;
    bool in_transaction;
    bool wants_write;
    bool is_retry;
    unsigned tries;
    unsigned call_row; /* statement row of the call under way */
    struct call call;
    int64_t start_ns;   /* intended start of the transaction */
    int64_t sent_ns;    /* of the call under way */
    int64_t next_ns;    /* open loop: intended start of the next */
    struct err failure; /* why the try under way failed */
};

struct loop {
    struct driver *driver;
    pthread_t thread;
    bool has_thread;
    int epoll;
    struct driver_client *clients;
    size_t client_count;
    size_t *heap; /* open loop: idle clients by next_ns */
    size_t heap_count;
    size_t idle_count; /* clients not in a transaction */
    struct meter meter;
    struct err err; /* why this loop ended the drive */
    atomic_bool is_connected;
    atomic_bool is_ended;
    atomic_size_t unfinished;
};

struct driver {
    const struct load_job *job;
    const struct session_driver *sessions;
    const struct workload *workload;
    const void *plan;
    const char *const *transaction_names;
    size_t transaction_count;
    const struct workload_statement *statements;
    size_t statement_count;
    struct arena *arena;
    struct loop *loops;
    size_t loop_count;
    size_t client_count;
    struct meter_seconds seconds;
    struct meter_errors errors;
    pthread_mutex_t gate_mutex;
    pthread_cond_t gate;
    bool is_go;
    atomic_bool is_aborted; /* a loop failed: all end */
    int64_t go_ns;
    int64_t measure_ns; /* when the window begins */
    int64_t end_ns;     /* when it ends */
    int64_t drain_ns;   /* when unfinished work is given up */
    int64_t connect_deadline;
};

/* Opens, prepares and connects every client; false: fewer than asked, with the first reason. */
bool driver_open(struct driver *driver, const struct load_job *job, const struct workload *workload,
                 const void *plan, const struct session_driver *sessions, int64_t deadline,
                 struct arena *arena, struct err *err) MUST_USE;
/* Told by this thread as the drive goes on. */
struct driver_watch {
    void *context;
    void (*measuring)(void *context); /* the window has begun */
    void (*second)(void *context, const struct load_second *second);
};
bool driver_run(struct driver *driver, const struct driver_watch *watch, struct load_result *out,
                struct err *err) MUST_USE;
/* Ends all loops (cancelling what still runs) and closes the sessions. */
void driver_close(struct driver *driver);

/* The thread function of one loop (loop.c). */
void *loop_main(void *loop);

#endif
