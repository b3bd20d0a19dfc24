/*
 * One statement at a time over any session driver, waiting for its end: what set-up work, probes
 * and read-backs need. The measured loop pumps its sessions itself.
 */
#include "backends/session.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "sweeper/base/stop.h"

/* A server that writes a long answer may not read before it got rid of it: while we want to
 * write, what can be read counts too. */
static bool wait_for_socket(int descriptor, enum session_state state, int64_t deadline,
                            struct err *err)
{
    struct pollfd wanted[] = {{.fd = descriptor, .events = POLLIN},
                              {.fd = stop_descriptor(), .events = POLLIN}};
    if (state == SESSION_WANT_WRITE) {
        wanted[0].events = POLLIN | POLLOUT;
    }
    while (true) {
        int left_ms = clock_left_ms(deadline);
        if (stop_asked() != 0) {
            return err_set(err, ERR_CODE_stopped, "a stop was asked while the server worked");
        }
        int ready = poll(wanted, COUNT_OF(wanted), left_ms);
        if (ready > 0 && wanted[0].revents != 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            return err_set_errno(err, ERR_CODE_connection, "waiting for the server failed");
        }
        if (clock_passed(deadline)) {
            return err_set(err, ERR_CODE_timeout, "the server did not answer in time");
        }
    }
}

bool session_wait(struct session *session, int64_t deadline, struct err *err)
{
    const struct session_driver *driver = session->driver;
    while (true) {
        enum session_state state = driver->pump(session, err);
        if (state == SESSION_DONE || state == SESSION_FAILED) {
            return state == SESSION_DONE;
        }
        if (!wait_for_socket(driver->socket(session), state, deadline, err)) {
            return false;
        }
    }
}

bool session_execute(struct session *session, const char *sql, row_visitor visit, void *context,
                     int64_t deadline, struct err *err)
{
    const struct session_driver *driver = session->driver;
    if (driver->bound != NULL) {
        driver->bound(session, deadline);
    }
    if (!driver->send_text(session, sql, err) || !session_wait(session, deadline, err)) {
        return false;
    }
    return visit == NULL || driver->rows(session, visit, context, err);
}

struct first_value {
    struct arena *arena;
    const char *value;
    bool failed;
};

static bool take_first(void *context, const struct row *row)
{
    struct first_value *first = context;
    if (row->column_count > 0 && row->columns[0].data != NULL) {
        first->value = arena_strndup(first->arena, row->columns[0].data, row->columns[0].size);
        first->failed = first->value == NULL;
    }
    return false;
}

bool session_value(struct session *session, const char *sql, int64_t deadline, struct arena *arena,
                   const char **out, struct err *err)
{
    struct first_value first = {.arena = arena};
    if (!session_execute(session, sql, take_first, &first, deadline, err)) {
        return false;
    }
    *out = first.value;
    return !first.failed || err_memory(err);
}
