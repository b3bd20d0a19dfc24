/*
 * The end of a server that was asked to end, alike for every server that is a process.
 */
#ifndef BACKENDS_STOP_H
#define BACKENDS_STOP_H

#include "backends/backend.h"

/* Whether there is but one command, which restarts: then start does it, the configuration being in
 * place by then, and stop has nothing to do. */
bool stop_is_restart(const struct server *server);

/* How a server is looked at: `look` says whether it is gone, with time of its own for each look,
 * the last one after the deadline. `context` is the backend's. */
struct stop_watch {
    const struct server *server;
    long pid; /* 0: not to be seen */
    bool (*look)(const struct stop_watch *watch, int64_t deadline, bool *out_gone, struct err *err);
    const void *context;
};

/* Judges a stop command that ended, and waits until the server is gone. Errors: stop_failed;
 * stopped. */
bool stop_await(const struct stop_watch *watch, const struct host_result *result, int64_t deadline,
                struct err *err) MUST_USE;

#endif
