/*
 * The floor: point selects by bare event loops on libpq, which measure nothing, know no deadlines
 * and end the program at the first error. What dbsweep's driver costs beyond this is the price of
 * its histograms, schedule and error handling; what this costs is libpq's and the kernel's, and no
 * client over libpq goes below it.
 *
 *   bare CONNECT LOOPS CLIENTS SECONDS ROWS: prints "transactions: N"
 */
#include <arpa/inet.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

enum { INT4_OID = 23, EVENTS = 64, WAIT_MS = 100 };

static const char *conninfo;
static int clients_each;
static double seconds;
static unsigned rows;
static atomic_long total;

static void fail(const char *what, PGconn *conn)
{
    fprintf(stderr, "bare: %s: %s\n", what, conn != NULL ? PQerrorMessage(conn) : "");
    exit(1);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static PGconn *connect_one(int epoll)
{
    const Oid types[] = {INT4_OID};
    PGconn *conn = PQconnectdb(conninfo);
    if (PQstatus(conn) != CONNECTION_OK) {
        fail("cannot connect", conn);
    }
    PGresult *prepared = PQprepare(conn, "s", "select c from sbtest1 where id = $1", 1, types);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    if (PQresultStatus(prepared) != PGRES_COMMAND_OK || PQsetnonblocking(conn, 1) != 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, PQsocket(conn), &event) != 0) {
        fail("cannot prepare", conn);
    }
    PQclear(prepared);
    return conn;
}

static void send_one(PGconn *conn, unsigned *state)
{
    uint32_t id = htonl(1 + (unsigned)rand_r(state) % rows);
    const char *const values[] = {(const char *)&id};
    const int lengths[] = {sizeof id};
    const int formats[] = {1};
    if (PQsendQueryPrepared(conn, "s", 1, values, lengths, formats, 0) != 1 || PQflush(conn) < 0) {
        fail("cannot send", conn);
    }
}

/* True when the answer is whole. */
static bool receive_one(PGconn *conn)
{
    if (PQconsumeInput(conn) != 1) {
        fail("lost", conn);
    }
    if (PQisBusy(conn)) {
        return false;
    }
    for (PGresult *result; (result = PQgetResult(conn)) != NULL; PQclear(result)) {
        if (PQresultStatus(result) != PGRES_TUPLES_OK) {
            fail("refused", conn);
        }
    }
    return true;
}

static void *loop(void *number)
{
    unsigned state = *(const unsigned *)number;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    long count = 0;
    struct epoll_event events[EVENTS];
    PGconn **conns = calloc((size_t)clients_each, sizeof *conns);
    if (epoll < 0 || conns == NULL) {
        fail("no memory", NULL);
    }
    for (int i = 0; i < clients_each; i++) {
        conns[i] = connect_one(epoll);
    }
    double end_s = now_s() + seconds;
    for (int i = 0; i < clients_each; i++) {
        send_one(conns[i], &state);
    }
    while (now_s() < end_s) {
        int ready = epoll_wait(epoll, events, EVENTS, WAIT_MS);
        for (int i = 0; i < ready; i++) {
            if (receive_one(events[i].data.ptr)) {
                count++;
                send_one(events[i].data.ptr, &state);
            }
        }
    }
    for (int i = 0; i < clients_each; i++) {
        PQfinish(conns[i]);
    }
    free(conns);
    atomic_fetch_add(&total, count);
    return NULL;
}

int main(int argc, char **argv)
{
    enum { LOOP_LIMIT = 64 };
    pthread_t threads[LOOP_LIMIT];
    unsigned numbers[LOOP_LIMIT];
    if (argc != 6 || atoi(argv[2]) < 1 || atoi(argv[2]) > LOOP_LIMIT) {
        fprintf(stderr, "usage: bare CONNECT LOOPS CLIENTS SECONDS ROWS\n");
        return 2;
    }
    int loops = atoi(argv[2]);
    conninfo = argv[1];
    clients_each = atoi(argv[3]) / loops;
    seconds = atof(argv[4]);
    rows = (unsigned)atoi(argv[5]);
    for (int i = 0; i < loops; i++) {
        numbers[i] = (unsigned)i + 1;
        if (pthread_create(&threads[i], NULL, loop, &numbers[i]) != 0) {
            fail("no thread", NULL);
        }
    }
    for (int i = 0; i < loops; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("transactions: %ld\n", atomic_load(&total));
    return 0;
}
