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
#include "sweeper/load/schedule.h"

struct driver;

enum client_stage { CLIENT_IDLE, CLIENT_WAITING, CLIENT_ROLLING_BACK, CLIENT_LOST };

struct driver_client {
    struct client client;
    enum client_stage stage;
    bool in_transaction;
    bool wants_write;
    bool is_retry;
    bool is_fresh;   /* its call was sent since the last look */
    bool has_paused; /* before the transaction that comes */
    unsigned tries;
    unsigned call_row; /* row of the meter that the call under way belongs to */
    struct call call;
    int64_t start_ns;   /* what the latency counts from: the intended start */
    int64_t begun_ns;   /* what the service time counts from */
    int64_t sent_ns;    /* of the call under way */
    int64_t next_ns;    /* closed loop: of the next start; open loop: idle since */
    struct err failure; /* why the try under way failed */
};

/* Nanoseconds; both 0 where the system does not say. */
struct loop_time {
    long long cpu_ns;
    long long wait_ns; /* runnable without a CPU */
};

struct loop {
    struct driver *driver;
    pthread_t thread;
    bool has_thread;
    atomic_int thread_id; /* the system's; 0 before it runs */
    int epoll;
    int timer;        /* wakes the loop when a transaction is due */
    int64_t alarm_ns; /* what it is set to */
    struct driver_client *clients;
    size_t client_count;
    struct schedule schedule; /* of an open loop */
    size_t *heap;             /* idle clients, by next_ns */
    size_t heap_count;
    size_t idle_count; /* clients not in a transaction */
    size_t done_count; /* of them, those with nothing more to start */
    struct meter meter;
    struct loop_time end_time; /* at the window's end */
    struct err err;            /* why this loop ended the drive; read by others once is_ended */
    atomic_size_t connected;
    atomic_bool is_ended;
    size_t unfinished; /* clients under way at the end; read by others once is_ended */
};

/* A row of the statement table: all tables of one statement are one. */
struct driver_row {
    unsigned transaction;
    const char *statement;
};

enum driver_control { DRIVER_BEGIN, DRIVER_COMMIT, DRIVER_ROLLBACK, DRIVER_CONTROLS };

struct driver {
    const struct load_job *job;
    const struct session_driver *sessions;
    const struct workload *workload;
    const void *plan;
    const char *const *transaction_names;
    size_t transaction_count;
    const struct workload_statement *statements;
    size_t statement_count;
    struct driver_row *rows; /* the workload's, then begin, commit, rollback by transaction */
    size_t row_count;
    size_t first_control; /* row */
    unsigned *row_of_slot;
    struct arena *arena;
    bool has_sockets;
    struct loop *loops;
    size_t loop_count;
    size_t client_count;
    struct meter_seconds seconds;
    struct meter_errors errors;
    pthread_mutex_t gate_mutex;
    pthread_cond_t gate;
    bool is_go;
    atomic_bool is_aborted; /* something failed: all end */
    int64_t origin_ns;      /* whole seconds count from here, so that one begins with the window */
    struct schedule_window window;
    _Atomic int64_t drain_ns; /* when unfinished work is given up */
    int64_t connect_deadline;
};

/* Opens, prepares and connects every client; false: fewer than asked, with the first reason. */
bool driver_open(struct driver *driver, const struct load_job *job, const struct workload *workload,
                 const void *plan, const struct session_driver *sessions, int64_t deadline,
                 struct arena *arena, struct err *err) MUST_USE;
/* Transactions per second that the loops of an open driver could drive at a server that took no
 * time: what the client itself costs, but for the connections. 0: not known. Takes 30 ms. */
double driver_calibrate(const struct driver *driver);
/* Sessions that answer at once: every result is one row of ones. */
extern const struct session_driver null_sessions;
/* Told by this thread as the drive goes on. */
struct driver_watch {
    void *context;
    bool (*is_warm)(void *context);   /* whether the warm-up may end */
    void (*measuring)(void *context); /* the window has begun */
    void (*second)(void *context, const struct load_second *second);
};
/* Opens the gate, keeps the time until every loop ended, and judges what came out. Where that is
 * not to be believed `out` has been filled nevertheless: it has transactions. */
bool driver_run(struct driver *driver, const struct driver_watch *watch, struct load_result *out,
                struct err *err) MUST_USE;
/* Asks the server over a session of its own whether it has what the clients did. After a run. */
bool driver_confirm(struct driver *driver, struct err *err) MUST_USE;
/* Ends all loops and closes the sessions, which cancels what still runs on the server. False: a
 * thread hangs in the server's silence and nothing was closed; only the end of the process helps.
 */
bool driver_close(struct driver *driver);

/* Between the parts of the driver. */
void *loop_main(void *loop);                            /* thread function (loop.c) */
struct loop_time loop_time_of(const struct loop *loop); /* of a thread that runs */
bool driver_has_ended(const struct driver *driver);
/* Shuts the connections of loops that have not ended. */
void driver_cancel(struct driver *driver);
/* Why the first loop that failed ended the drive; false: none did. Once a loop has ended. */
bool driver_failure(const struct driver *driver, struct err *out);
bool driver_collect(struct driver *driver, struct load_result *out, struct err *err) MUST_USE;
/* Errors over the budget, nothing completed, and work that never came back fail the trial. */
bool driver_judge(struct driver *driver, const struct load_result *result,
                  struct err *err) MUST_USE;
/* The first error that a client met, or conflict where none did, "" where nothing failed. */
void driver_first_error(struct driver *driver, char *buffer, size_t size);

#endif
