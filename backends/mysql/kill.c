/*
 * The protocol knows no cancel on the same connection, and a server that computes does not notice
 * that nobody waits any more: a connection of our own, made by a detached thread, kills the one
 * that was abandoned.
 */
#include <pthread.h>
#include <stdio.h>

#include "backends/mysql/call.h"
#include "backends/mysql/mysql.h"

enum { REQUEST_BYTES = 64 * 1024, KILL_STACK_BYTES = 512 * 1024, KILL_MS = 5000 };

struct kill_request {
    struct arena arena; /* holds this struct */
    struct session_spec spec;
    unsigned long id;
};

static void *send_kill(void *context)
{
    struct kill_request *request = context;
    struct arena arena = request->arena;
    struct session *session = NULL;
    struct err ignored;
    char sql[48];
    int64_t deadline = clock_deadline_ms(KILL_MS);
    err_clear(&ignored);
    snprintf(sql, sizeof sql, "kill %lu", request->id);
    if (mysql_session.open(&request->spec, deadline, &session, &ignored)) {
        /* Gone by itself meanwhile, or no answer: nobody is left to tell. */
        (void)!session_execute(session, sql, NULL, NULL, deadline, &ignored);
        mysql_session.close(session);
    }
    mysql_thread_end();
    arena_close(&arena);
    return NULL;
}

static struct kill_request *make_request(const char *connect, const char *password,
                                         unsigned long id)
{
    struct arena arena;
    arena_open(&arena, REQUEST_BYTES);
    struct kill_request *request = ARENA_NEW(&arena, struct kill_request);
    if (request == NULL) {
        return NULL;
    }
    request->id = id;
    request->spec =
        (struct session_spec){.connect = arena_strdup(&arena, connect),
                              .password = password != NULL ? arena_strdup(&arena, password) : NULL,
                              .application = "dbsweep-kill"};
    request->arena = arena;
    return request;
}

void my_kill(const char *connect, const char *password, unsigned long id)
{
    pthread_attr_t attributes;
    pthread_t thread;
    struct kill_request *request = make_request(connect, password, id);
    if (request == NULL) {
        return;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, KILL_STACK_BYTES);
    if (pthread_create(&thread, &attributes, send_kill, request) != 0) {
        struct arena arena = request->arena;
        arena_close(&arena);
    }
    pthread_attr_destroy(&attributes);
}
