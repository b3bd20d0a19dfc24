/*
 * One event loop: clients step through their transactions as the server answers. Nothing here
 * allocates, locks (but once a second, and for an error) or waits for anything except the server
 * and the clock.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sweeper/load/driver.h"

enum { EVENTS = 64, TICK_MS = 100, TRY_LIMIT = 10 };

static int64_t second_of(const struct driver *driver, int64_t now)
{
    return (now - driver->origin_ns) / NS_PER_S;
}

static bool in_window(const struct driver *driver, int64_t now)
{
    return now >= driver->window.measure_ns && now < driver->window.end_ns;
}

static bool is_open_loop(const struct driver *driver)
{
    return driver->job->workload.rate_per_s > 0;
}

/* ---- connecting ---- */

static bool connect_client(struct loop *loop, struct driver_client *client)
{
    struct driver *driver = loop->driver;
    if (!driver->sessions->open(&driver->job->session, driver->connect_deadline,
                                &client->client.session, &loop->err)) {
        return false;
    }
    for (size_t i = 0; driver->job->workload.prepared && i < driver->statement_count; i++) {
        const struct workload_statement *statement = &driver->statements[i];
        if (statement->sql != NULL &&
            !driver->sessions->prepare(client->client.session, (unsigned)i, statement->sql,
                                       statement->types, statement->type_count,
                                       driver->connect_deadline, &loop->err)) {
            return false;
        }
    }
    int socket = driver->sessions->socket(client->client.session);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    return socket < 0 || epoll_ctl(loop->epoll, EPOLL_CTL_ADD, socket, &event) == 0 ||
           err_set_errno(&loop->err, ERR_CODE_workload, "cannot watch a connection");
}

static bool connect_all(struct loop *loop)
{
    for (size_t i = 0; i < loop->client_count; i++) {
        if (atomic_load(&loop->driver->is_aborted)) {
            return false;
        }
        if (!connect_client(loop, &loop->clients[i])) {
            return err_while(&loop->err, "connecting client %u",
                             loop->clients[i].client.number + 1);
        }
        atomic_fetch_add(&loop->connected, 1);
    }
    return true;
}

/* ---- the heap of idle clients ---- */

static bool is_earlier(const struct loop *loop, size_t a, size_t b)
{
    return loop->clients[loop->heap[a]].next_ns < loop->clients[loop->heap[b]].next_ns;
}

static void heap_swap(struct loop *loop, size_t a, size_t b)
{
    size_t kept = loop->heap[a];
    loop->heap[a] = loop->heap[b];
    loop->heap[b] = kept;
}

static void heap_push(struct loop *loop, size_t client)
{
    size_t at = loop->heap_count++;
    loop->heap[at] = client;
    while (at > 0 && is_earlier(loop, at, (at - 1) / 2)) {
        heap_swap(loop, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

static size_t heap_pop(struct loop *loop)
{
    size_t first = loop->heap[0];
    size_t at = 0;
    loop->heap[0] = loop->heap[--loop->heap_count];
    while (2 * at + 1 < loop->heap_count) {
        size_t child = 2 * at + 1;
        child += child + 1 < loop->heap_count && is_earlier(loop, child + 1, child);
        if (!is_earlier(loop, child, at)) {
            break;
        }
        heap_swap(loop, at, child);
        at = child;
    }
    return first;
}

/* ---- when clients start ---- */

/* A client of a closed loop may rest first (keying and think times). */
static bool is_paused(const struct driver *driver)
{
    return !is_open_loop(driver) && driver->workload->pause_ns != NULL;
}

static bool is_timed(const struct driver *driver)
{
    return is_open_loop(driver) || driver->workload->pause_ns != NULL;
}

static void plan_next(const struct driver *driver, struct driver_client *client, int64_t now)
{
    client->next_ns = now;
    if (is_paused(driver)) {
        int64_t pause_ns = driver->workload->pause_ns(&client->client);
        client->next_ns += pause_ns;
        client->has_paused = pause_ns > 0;
    }
}

/* What the latency of the transaction that starts now counts from. */
static int64_t take_start(struct loop *loop, const struct driver_client *client, int64_t now)
{
    if (is_open_loop(loop->driver)) {
        return schedule_take(&loop->schedule, &loop->driver->window, now);
    }
    return client->has_paused ? client->next_ns : now;
}

/* When the next transaction of this loop is due; there is an idle client. */
static int64_t next_due_ns(struct loop *loop, int64_t now)
{
    if (is_open_loop(loop->driver)) {
        return schedule_due_ns(&loop->schedule, &loop->driver->window, now);
    }
    return is_paused(loop->driver) ? loop->clients[loop->heap[0]].next_ns : 0;
}

/* ---- counting ---- */

/* Idle again: a closed loop starts at once (see start_idle) unless it pauses, an open one when the
 * next is due. */
static void rest(struct loop *loop, struct driver_client *client, int64_t now)
{
    client->stage = CLIENT_IDLE;
    if (loop->heap_count == 0) {
        loop->schedule.idle_ns = now;
    }
    loop->idle_count++;
    plan_next(loop->driver, client, now);
    heap_push(loop, (size_t)(client - loop->clients));
}

static void count_transaction(struct loop *loop, struct driver_client *client, int64_t now)
{
    struct driver *driver = loop->driver;
    uint64_t latency = (uint64_t)(now - client->start_ns);
    meter_publish(&loop->meter, &driver->seconds, second_of(driver, now));
    if (now < driver->window.end_ns) {
        histogram_record(&loop->meter.second, latency);
    }
    if (in_window(driver, now)) {
        histogram_record(&loop->meter.transactions[client->client.transaction], latency);
        loop->meter.retries[client->client.transaction] += client->tries - 1;
        if (loop->meter.services != NULL) {
            histogram_record(&loop->meter.services[client->client.transaction],
                             (uint64_t)(now - client->begun_ns));
        }
    }
}

static void count_failure(struct loop *loop, struct driver_client *client, int64_t now)
{
    struct driver *driver = loop->driver;
    meter_publish(&loop->meter, &driver->seconds, second_of(driver, now));
    if (now < driver->window.end_ns) {
        loop->meter.second_errors++;
    }
    if (in_window(driver, now)) {
        loop->meter.transaction_errors[client->client.transaction]++;
        meter_error(&driver->errors, driver->transaction_names[client->client.transaction],
                    &client->failure);
    }
}

/* ---- one client ---- */

static bool watch_write(struct loop *loop, struct driver_client *client, bool wants_write,
                        struct err *err)
{
    if (client->wants_write == wants_write) {
        return true;
    }
    struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0u),
                                .data.ptr = client};
    int socket = loop->driver->sessions->socket(client->client.session);
    client->wants_write = wants_write;
    return epoll_ctl(loop->epoll, EPOLL_CTL_MOD, socket, &event) == 0 ||
           err_set_errno(err, ERR_CODE_workload, "cannot watch a connection");
}

/* One client that is lost ends the drive, unless the drive is over anyway. */
static void lose(struct loop *loop, struct driver_client *client, const struct err *why)
{
    client->stage = CLIENT_LOST;
    if (clock_now_ns() < loop->driver->drain_ns && !atomic_load(&loop->driver->is_aborted)) {
        loop->err = *why;
        err_while(&loop->err, "client %u ran %s", client->client.number + 1,
                  loop->driver->transaction_names[client->client.transaction]);
        err_reclass(&loop->err, ERR_POINT);
        atomic_store(&loop->driver->is_aborted, true);
    }
}

static unsigned control_row(const struct driver *driver, const struct driver_client *client,
                            enum driver_control control)
{
    return (unsigned)driver->first_control + client->client.transaction * DRIVER_CONTROLS + control;
}

static bool send_call(struct loop *loop, struct driver_client *client, struct err *err)
{
    const struct driver *driver = loop->driver;
    const struct session_driver *sessions = driver->sessions;
    struct session *session = client->client.session;
    const struct call *call = &client->call;
    client->sent_ns = clock_now_ns();
    client->is_fresh = true;
    switch (call->kind) {
    case CALL_STATEMENT:
        client->call_row = driver->row_of_slot[call->slot];
        return sessions->send(session, call->slot, call->params, call->param_count, err);
    case CALL_TEXT:
        client->call_row = driver->row_of_slot[call->slot];
        return sessions->send_text(session, call->sql, err);
    case CALL_BEGIN:
        client->call_row = control_row(driver, client, DRIVER_BEGIN);
        return sessions->begin(session, err);
    case CALL_COMMIT:
        client->call_row = control_row(driver, client, DRIVER_COMMIT);
        return sessions->commit(session, err);
    case CALL_ROLLBACK:
        client->call_row = control_row(driver, client, DRIVER_ROLLBACK);
        return sessions->rollback(session, err);
    case CALL_END:
    case CALL_END_ABORTED:
        break;
    }
    return err_set(err, ERR_CODE_bug, "a transaction that ended cannot be sent");
}

/* The functions below return false, with err filled, where the client is lost. They leave it
 * waiting for an answer, or idle. */

/* Asks the workload for the next call of this try. */
static bool step(struct loop *loop, struct driver_client *client, int64_t now, struct err *err)
{
    if (!loop->driver->workload->step(&client->client, client->tries > 1, &client->call, err)) {
        return false;
    }
    if (client->call.kind != CALL_END && client->call.kind != CALL_END_ABORTED) {
        return send_call(loop, client, err);
    }
    count_transaction(loop, client, now);
    rest(loop, client, now);
    return true;
}

static bool begin_try(struct loop *loop, struct driver_client *client, int64_t now, struct err *err)
{
    client->client.step = 0;
    client->tries++;
    client->stage = CLIENT_WAITING;
    client->in_transaction = false;
    client->is_retry = false;
    return step(loop, client, now, err);
}

/* Nothing of the failed try is left on the server: again, or counted as an error. */
static bool end_failed_try(struct loop *loop, struct driver_client *client, int64_t now,
                           struct err *err)
{
    if (client->is_retry && now < loop->driver->drain_ns) {
        return begin_try(loop, client, now, err);
    }
    count_failure(loop, client, now);
    rest(loop, client, now);
    return true;
}

static bool call_done(struct loop *loop, struct driver_client *client, struct err *err)
{
    int64_t now = clock_now_ns();
    if (in_window(loop->driver, now)) {
        histogram_record(&loop->meter.statements[client->call_row],
                         (uint64_t)(now - client->sent_ns));
    }
    if (client->stage == CLIENT_ROLLING_BACK) {
        client->in_transaction = false;
        return end_failed_try(loop, client, now, err);
    }
    enum call_kind kind = client->call.kind;
    client->in_transaction = kind == CALL_BEGIN || (client->in_transaction && kind != CALL_COMMIT &&
                                                    kind != CALL_ROLLBACK);
    client->client.step++;
    return step(loop, client, now, err);
}

/* Rolls back first where a transaction is open. A rollback that is refused leaves nothing to go on
 * with. */
static bool call_failed(struct loop *loop, struct driver_client *client, struct err *err)
{
    const struct driver *driver = loop->driver;
    int64_t now = clock_now_ns();
    enum session_failure failure = driver->sessions->classify(client->client.session, err);
    if (failure == SESSION_LOST || client->stage == CLIENT_ROLLING_BACK) {
        return false;
    }
    bool is_retry = failure == SESSION_RETRY ||
                    (driver->workload->retries != NULL && driver->workload->retries(err));
    client->failure = *err;
    client->is_retry = is_retry && client->tries < TRY_LIMIT;
    err_clear(err);
    if (client->is_retry) {
        meter_conflict(&loop->driver->errors, &client->failure);
    }
    loop->meter.statement_errors[client->call_row] += in_window(driver, now);
    if (!client->in_transaction) {
        return end_failed_try(loop, client, now, err);
    }
    client->stage = CLIENT_ROLLING_BACK;
    client->call.kind = CALL_ROLLBACK;
    return send_call(loop, client, err);
}

/* A call that was just sent has hardly been answered: looking at once would cost a call to the
 * system that mostly finds nothing. */
static enum session_state look(const struct session_driver *sessions, struct driver_client *client,
                               struct err *err)
{
    bool is_fresh = client->is_fresh;
    client->is_fresh = false;
    if (is_fresh && sessions->sent != NULL &&
        sessions->sent(client->client.session) == SESSION_WANT_READ) {
        return SESSION_WANT_READ;
    }
    return sessions->pump(client->client.session, err);
}

/* Goes on with a client until it must wait or is idle. */
static void advance(struct loop *loop, struct driver_client *client)
{
    const struct session_driver *sessions = loop->driver->sessions;
    struct err err;
    bool ok = true;
    err_clear(&err);
    while (ok && (client->stage == CLIENT_WAITING || client->stage == CLIENT_ROLLING_BACK)) {
        enum session_state state = look(sessions, client, &err);
        ok = watch_write(loop, client, state == SESSION_WANT_WRITE, &err);
        if (ok && (state == SESSION_WANT_READ || state == SESSION_WANT_WRITE)) {
            return;
        }
        ok = ok && (state == SESSION_DONE ? call_done(loop, client, &err)
                                          : call_failed(loop, client, &err));
    }
    if (!ok) {
        lose(loop, client, &err);
    }
}

static void start(struct loop *loop, struct driver_client *client, int64_t now)
{
    struct err err;
    const struct workload *workload = loop->driver->workload;
    if (workload->is_done != NULL && workload->is_done(&client->client)) {
        loop->done_count++; /* and rests for good: it is in the heap no more */
        return;
    }
    err_clear(&err);
    loop->idle_count--;
    client->start_ns = take_start(loop, client, now);
    client->begun_ns = now;
    client->tries = 0;
    client->client.transaction = workload->choose(&client->client);
    if (!begin_try(loop, client, now, &err)) {
        lose(loop, client, &err);
        return;
    }
    advance(loop, client);
}

/* ---- the loop ---- */

/* Every client that was idle when this began gets its turn once, so that answers are not starved
 * by clients that complete inside send. */
static void start_idle(struct loop *loop)
{
    size_t turns = loop->heap_count;
    while (turns-- > 0 && loop->heap_count > 0 && !atomic_load(&loop->driver->is_aborted)) {
        int64_t now = clock_now_ns();
        if (now >= loop->driver->window.end_ns || next_due_ns(loop, now) > now) {
            return;
        }
        start(loop, &loop->clients[heap_pop(loop)], now);
    }
}

/* When this loop must wake though no answer came: the next transaction is due, the window ends, or
 * a tick is over. */
static int64_t wake_ns(struct loop *loop, int64_t now)
{
    int64_t wake = now + TICK_MS * NS_PER_MS;
    if (now >= loop->driver->window.end_ns) {
        return wake;
    }
    wake = loop->driver->window.end_ns < wake ? loop->driver->window.end_ns : wake;
    if (loop->heap_count > 0 && next_due_ns(loop, now) < wake) {
        wake = next_due_ns(loop, now);
    }
    return wake;
}

/* epoll counts in milliseconds, which would be late for most of what is due: a timer is exact. */
static int set_alarm(struct loop *loop, int64_t wake, int64_t now)
{
    int left_ms = (int)((wake - now + NS_PER_MS - 1) / NS_PER_MS);
    if (!is_timed(loop->driver) || left_ms >= TICK_MS || loop->alarm_ns == wake) {
        return left_ms;
    }
    struct itimerspec at = {
        .it_value = {.tv_sec = wake / NS_PER_S, .tv_nsec = (long)(wake % NS_PER_S)}};
    if (timerfd_settime(loop->timer, TFD_TIMER_ABSTIME, &at, NULL) == 0) {
        loop->alarm_ns = wake;
    }
    return left_ms;
}

static void hear_alarm(struct loop *loop)
{
    uint64_t times = 0;
    loop->alarm_ns = 0;
    while (read(loop->timer, &times, sizeof times) < 0 && errno == EINTR) {
    }
}

static void answer(struct loop *loop, int64_t now)
{
    struct epoll_event events[EVENTS];
    int64_t wake = wake_ns(loop, now);
    if (wake <= now && !loop->driver->has_sockets) {
        return; /* nothing can be there, and asking would cost as much as a short statement */
    }
    int count =
        epoll_wait(loop->epoll, events, EVENTS, wake <= now ? 0 : set_alarm(loop, wake, now));
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == NULL) {
            hear_alarm(loop);
        } else {
            advance(loop, events[i].data.ptr);
        }
    }
}

struct loop_time loop_time_of(const struct loop *loop)
{
    struct loop_time time = {0};
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", atomic_load(&loop->thread_id));
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fscanf(file, "%lld %lld", &time.cpu_ns, &time.wait_ns) != 2) {
            time = (struct loop_time){0};
        }
        fclose(file);
    }
    return time;
}

static void drive(struct loop *loop)
{
    struct driver *driver = loop->driver;
    int64_t now = clock_now_ns();
    bool is_over = false;
    while (!atomic_load(&driver->is_aborted) && now < driver->drain_ns &&
           ((now < driver->window.end_ns && loop->done_count < loop->client_count) ||
            loop->idle_count < loop->client_count)) {
        start_idle(loop);
        answer(loop, clock_now_ns());
        now = clock_now_ns();
        meter_publish(&loop->meter, &driver->seconds, second_of(driver, now));
        if (!is_over && now >= driver->window.end_ns) {
            is_over = true;
            loop->end_time = loop_time_of(loop);
        }
    }
    meter_publish(&loop->meter, &driver->seconds, second_of(driver, now) + 1);
    if (!is_over) { /* the work was complete before */
        loop->end_time = loop_time_of(loop);
    }
    if (is_open_loop(driver) && loop->done_count < loop->client_count) {
        schedule_end(&loop->schedule, &driver->window);
    }
    loop->unfinished = loop->client_count - loop->idle_count;
}

static bool wait_for_go(struct loop *loop)
{
    struct driver *driver = loop->driver;
    pthread_mutex_lock(&driver->gate_mutex);
    while (!driver->is_go && !atomic_load(&driver->is_aborted)) {
        pthread_cond_wait(&driver->gate, &driver->gate_mutex);
    }
    bool is_go = driver->is_go;
    pthread_mutex_unlock(&driver->gate_mutex);
    return is_go;
}

void *loop_main(void *data)
{
    struct loop *loop = data;
    struct driver *driver = loop->driver;
    atomic_store(&loop->thread_id, gettid());
    bool is_connected = connect_all(loop);
    if (!is_connected) {
        atomic_store(&driver->is_aborted, true);
    } else if (wait_for_go(loop)) {
        if (is_open_loop(driver)) {
            schedule_open(&loop->schedule, &driver->job->workload, loop->clients[0].client.number,
                          loop->client_count, (size_t)driver->job->workload.clients,
                          driver->window.go_ns);
        }
        for (size_t i = 0; i < loop->client_count; i++) {
            rest(loop, &loop->clients[i], driver->window.go_ns);
        }
        drive(loop);
    }
    atomic_store(&loop->is_ended, true);
    return NULL;
}
