/*
 * One event loop: clients step through their transactions as the server answers. Nothing here
 * allocates, locks (but once a second) or waits for anything except the server and the clock.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sweeper/load/driver.h"

enum { EVENTS = 64, TICK_MS = 100, TRY_LIMIT = 10 };

static int64_t since_go(const struct driver *driver, int64_t now)
{
    return (now - driver->go_ns) / NS_PER_S;
}

static bool in_window(const struct driver *driver, int64_t now)
{
    return now >= driver->measure_ns && now < driver->end_ns;
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
        if (!driver->sessions->prepare(client->client.session, (unsigned)i, statement->sql,
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
        if (atomic_load(&loop->driver->is_aborted) || !connect_client(loop, &loop->clients[i])) {
            err_while(&loop->err, "connecting client %u of %zu", loop->clients[i].client.number + 1,
                      loop->driver->client_count);
            return false;
        }
    }
    return true;
}

/* ---- the heap of idle clients of an open loop ---- */

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

/* ---- one client ---- */

static void watch_write(struct loop *loop, struct driver_client *client, bool wants_write)
{
    if (client->wants_write == wants_write) {
        return;
    }
    struct epoll_event event = {.events = EPOLLIN | (wants_write ? EPOLLOUT : 0u),
                                .data.ptr = client};
    int socket = loop->driver->sessions->socket(client->client.session);
    client->wants_write = wants_write;
    if (epoll_ctl(loop->epoll, EPOLL_CTL_MOD, socket, &event) != 0) {
        err_set_errno(&loop->err, ERR_CODE_workload, "cannot watch a connection");
        atomic_store(&loop->driver->is_aborted, true);
    }
}

static void lose(struct loop *loop, struct driver_client *client, const struct err *why)
{
    client->stage = CLIENT_LOST;
    if (clock_now_ns() < loop->driver->drain_ns && !atomic_load(&loop->driver->is_aborted)) {
        loop->err = *why;
        err_while(&loop->err, "client %u ran %s", client->client.number + 1,
                  loop->driver->transaction_names[client->client.transaction]);
        loop->err.class = ERR_POINT;
        atomic_store(&loop->driver->is_aborted, true);
    }
}

/* Idle again: a closed loop starts at once (see start_idle), an open one at its next time. */
static void rest(struct loop *loop, struct driver_client *client)
{
    client->stage = CLIENT_IDLE;
    loop->idle_count++;
    heap_push(loop, (size_t)(client - loop->clients));
}

static void count_transaction(struct loop *loop, struct driver_client *client, int64_t now)
{
    struct driver *driver = loop->driver;
    uint64_t latency = (uint64_t)(now - client->start_ns);
    meter_publish(&loop->meter, &driver->seconds, since_go(driver, now));
    if (now < driver->end_ns) {
        histogram_record(&loop->meter.second, latency);
    }
    if (in_window(driver, now)) {
        histogram_record(&loop->meter.transactions[client->client.transaction], latency);
        loop->meter.retries[client->client.transaction] += client->tries - 1;
    }
}

static void count_failure(struct loop *loop, struct driver_client *client, int64_t now)
{
    struct driver *driver = loop->driver;
    meter_publish(&loop->meter, &driver->seconds, since_go(driver, now));
    loop->meter.second_errors++;
    if (in_window(driver, now)) {
        loop->meter.transaction_errors[client->client.transaction]++;
        meter_error(&driver->errors, driver->transaction_names[client->client.transaction],
                    &client->failure);
    }
}

static bool send_call(struct loop *loop, struct driver_client *client, struct err *err)
{
    const struct session_driver *sessions = loop->driver->sessions;
    struct session *session = client->client.session;
    const struct call *call = &client->call;
    client->sent_ns = clock_now_ns();
    switch (call->kind) {
    case CALL_STATEMENT:
        client->call_row = call->slot;
        return sessions->send(session, call->slot, call->params, call->param_count, err);
    case CALL_TEXT:
        client->call_row = call->slot;
        return sessions->send_text(session, call->sql, err);
    case CALL_BEGIN:
        client->call_row = (unsigned)loop->driver->statement_count + METER_BEGIN;
        return sessions->begin(session, err);
    case CALL_COMMIT:
        client->call_row = (unsigned)loop->driver->statement_count + METER_COMMIT;
        return sessions->commit(session, err);
    case CALL_ROLLBACK:
        client->call_row = (unsigned)loop->driver->statement_count + METER_ROLLBACK;
        return sessions->rollback(session, err);
    case CALL_END:
    case CALL_END_ABORTED:
        break;
    }
    return err_set(err, ERR_CODE_bug, "a transaction that ended cannot be sent");
}

/* What follows from a failed call: roll back first where a transaction is open. True: a rollback
 * is under way, or a retry may start at once (stage IDLE is then not entered). */
static bool judge_failure(struct loop *loop, struct driver_client *client, struct err *err)
{
    const struct driver *driver = loop->driver;
    enum session_failure failure = driver->sessions->classify(client->client.session, err);
    bool is_retry = failure == SESSION_RETRY ||
                    (driver->workload->retries != NULL && driver->workload->retries(err));
    if (failure == SESSION_LOST || client->stage == CLIENT_ROLLING_BACK) {
        lose(loop, client, err); /* a rollback that is refused leaves nothing to go on with */
        return false;
    }
    client->failure = *err;
    client->is_retry = is_retry && client->tries < TRY_LIMIT;
    loop->meter.statement_errors[client->call_row]++;
    if (!client->in_transaction) {
        client->stage = CLIENT_WAITING;
        return true;
    }
    client->stage = CLIENT_ROLLING_BACK;
    client->call.kind = CALL_ROLLBACK;
    if (!send_call(loop, client, err)) {
        lose(loop, client, err);
        return false;
    }
    return true;
}

static bool begin_try(struct loop *loop, struct driver_client *client, struct err *err)
{
    client->client.step = 0;
    client->tries++;
    client->stage = CLIENT_WAITING;
    client->in_transaction = false;
    client->call = (struct call){0};
    return loop->driver->workload->step(&client->client, client->tries > 1, &client->call, err) &&
           (client->call.kind == CALL_END || send_call(loop, client, err));
}

/* After a failed try: again, or counted as an error. False: nothing is under way any more. */
static bool after_failure(struct loop *loop, struct driver_client *client, struct err *err)
{
    if (client->is_retry && clock_now_ns() < loop->driver->drain_ns) {
        client->is_retry = false;
        return begin_try(loop, client, err);
    }
    count_failure(loop, client, clock_now_ns());
    rest(loop, client);
    return false;
}

/* The call under way is done: the next one. False: the transaction is over. */
static bool next_call(struct loop *loop, struct driver_client *client, int64_t now, struct err *err)
{
    if (in_window(loop->driver, now)) {
        histogram_record(&loop->meter.statements[client->call_row],
                         (uint64_t)(now - client->sent_ns));
    }
    if (client->stage == CLIENT_ROLLING_BACK) {
        client->in_transaction = false;
        return after_failure(loop, client, err);
    }
    client->in_transaction = client->call.kind == CALL_BEGIN ||
                             (client->in_transaction && client->call.kind != CALL_COMMIT &&
                              client->call.kind != CALL_ROLLBACK);
    client->client.step++;
    if (!loop->driver->workload->step(&client->client, false, &client->call, err)) {
        return false;
    }
    if (client->call.kind != CALL_END && client->call.kind != CALL_END_ABORTED) {
        return send_call(loop, client, err);
    }
    count_transaction(loop, client, now);
    rest(loop, client);
    return false;
}

/* Goes on with a client until it must wait or its transaction is over. A function that returned
 * false with err filled failed; one that left err empty has nothing under way. */
static void advance(struct loop *loop, struct driver_client *client)
{
    const struct session_driver *sessions = loop->driver->sessions;
    struct err err;
    err_clear(&err);
    while (client->stage == CLIENT_WAITING || client->stage == CLIENT_ROLLING_BACK) {
        enum session_state state = sessions->pump(client->client.session, &err);
        if (state == SESSION_WANT_READ || state == SESSION_WANT_WRITE) {
            watch_write(loop, client, state == SESSION_WANT_WRITE);
            return;
        }
        if (client->wants_write) {
            watch_write(loop, client, false);
        }
        bool goes_on = state == SESSION_DONE ? next_call(loop, client, clock_now_ns(), &err)
                                             : judge_failure(loop, client, &err);
        if (goes_on && state == SESSION_FAILED && client->stage == CLIENT_WAITING) {
            err_clear(&err);
            goes_on = after_failure(loop, client, &err);
        }
        if (!goes_on && err.code != ERR_CODE_none && client->stage != CLIENT_LOST) {
            lose(loop, client, &err);
        }
        if (!goes_on) {
            return;
        }
        err_clear(&err);
    }
}

static void start(struct loop *loop, struct driver_client *client, int64_t start_ns)
{
    struct err err;
    err_clear(&err);
    loop->idle_count--;
    client->start_ns = start_ns;
    client->tries = 0;
    client->client.transaction = loop->driver->workload->choose(&client->client);
    if (!begin_try(loop, client, &err)) {
        lose(loop, client, &err);
        return;
    }
    advance(loop, client);
}

/* ---- the loop ---- */

/* The backlog of the warm-up does not leak into the measurement: at the edge, schedules that lie
 * behind begin anew. */
static int64_t intended_start(const struct driver *driver, struct driver_client *client,
                              int64_t now)
{
    double rate = driver->job->workload.rate_per_s;
    if (rate <= 0) {
        return now;
    }
    int64_t intended = client->next_ns;
    if (intended < driver->measure_ns && now >= driver->measure_ns) {
        intended = driver->measure_ns;
    }
    client->next_ns = intended + (int64_t)((double)driver->client_count / rate * 1e9);
    return intended;
}

static int64_t due_ns(const struct loop *loop, size_t client)
{
    return loop->driver->job->workload.rate_per_s > 0 ? loop->clients[client].next_ns : 0;
}

/* Every client that was idle when this began gets its turn once, so that answers are not starved
 * by clients that complete inside send. */
static void start_idle(struct loop *loop)
{
    size_t turns = loop->heap_count;
    while (turns-- > 0 && loop->heap_count > 0 && !atomic_load(&loop->driver->is_aborted)) {
        int64_t now = clock_now_ns();
        if (now >= loop->driver->end_ns || due_ns(loop, loop->heap[0]) > now) {
            return;
        }
        struct driver_client *client = &loop->clients[heap_pop(loop)];
        start(loop, client, intended_start(loop->driver, client, now));
    }
}

static int wait_ms(const struct loop *loop, int64_t now)
{
    if (loop->heap_count == 0 || now >= loop->driver->end_ns) {
        return TICK_MS;
    }
    int64_t left = due_ns(loop, loop->heap[0]) - now;
    if (left <= 0) {
        return 0;
    }
    int64_t left_ms = (left + NS_PER_MS - 1) / NS_PER_MS;
    return left_ms < TICK_MS ? (int)left_ms : TICK_MS;
}

static void drive(struct loop *loop)
{
    struct driver *driver = loop->driver;
    struct epoll_event events[EVENTS];
    while (!atomic_load(&driver->is_aborted)) {
        int64_t now = clock_now_ns();
        bool is_over = now >= driver->end_ns && loop->idle_count == loop->client_count;
        if (is_over || now >= driver->drain_ns) {
            break;
        }
        start_idle(loop);
        int count = epoll_wait(loop->epoll, events, EVENTS, wait_ms(loop, clock_now_ns()));
        for (int i = 0; i < count; i++) {
            advance(loop, events[i].data.ptr);
        }
        meter_publish(&loop->meter, &driver->seconds, since_go(driver, clock_now_ns()));
    }
    meter_publish(&loop->meter, &driver->seconds, since_go(driver, clock_now_ns()) + 1);
    atomic_store(&loop->unfinished, loop->client_count - loop->idle_count);
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
    if (!connect_all(loop)) {
        atomic_store(&loop->driver->is_aborted, true);
        atomic_store(&loop->is_ended, true);
        return NULL;
    }
    atomic_store(&loop->is_connected, true);
    if (wait_for_go(loop)) {
        double rate = loop->driver->job->workload.rate_per_s;
        for (size_t i = 0; i < loop->client_count; i++) {
            struct driver_client *client = &loop->clients[i];
            client->next_ns = loop->driver->go_ns +
                              (rate > 0 ? (int64_t)(client->client.number / rate * 1e9) : 0);
            rest(loop, client);
        }
        drive(loop);
    }
    atomic_store(&loop->is_ended, true);
    return NULL;
}
