/*
 * The threads of a load, what they take, and what they say.
 */
#include "sweeper/load/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/load/mark.h"

enum { SESSION_LIMIT = 64, SESSIONS_UNASKED = 8, CONNECT_TIMEOUT_MS = 50000, NAME_BYTES = 64 };

/* A stage under way; what changes belongs to the threads under the mutex. */
struct stage_run {
    const struct loader *loader;
    const struct loader_stage *stage;
    const struct session_driver *sessions;
    int64_t begun_ns;
    pthread_mutex_t mutex;
    size_t next;
    size_t finished; /* those that were there before among them */
    size_t worked;   /* by this run */
    bool has_failed;
    struct err err;
};

/* ---- pieces ---- */

static bool take_piece(struct stage_run *run, size_t *out)
{
    const struct loader_stage *stage = run->stage;
    pthread_mutex_lock(&run->mutex);
    while (stage->done != NULL && run->next < stage->count && stage->done[run->next]) {
        run->next++;
    }
    bool is_left = run->next < stage->count && !run->has_failed;
    *out = run->next;
    run->next += is_left ? 1 : 0;
    pthread_mutex_unlock(&run->mutex);
    return is_left;
}

static size_t count_done(const struct loader_stage *stage)
{
    size_t count = 0;
    for (size_t i = 0; stage->done != NULL && i < stage->count; i++) {
        count += stage->done[i] ? 1 : 0;
    }
    return count;
}

/* Pieces of one stage are about as long as each other, or come by turns. */
static void say(const struct stage_run *run)
{
    const struct loader *loader = run->loader;
    size_t finished = run->finished;
    size_t left = run->stage->count - finished;
    char text[160];
    int used = snprintf(text, sizeof text, "%s %s: %zu %%", run->stage->doing, loader->what,
                        100 * finished / run->stage->count);
    if (left > 0 && used > 0 && (size_t)used < sizeof text) {
        char span[CLOCK_SPAN_BYTES];
        double elapsed_ms = (double)(clock_now_ns() - run->begun_ns) / (double)NS_PER_MS;
        clock_format_span((int64_t)(elapsed_ms / (double)run->worked * (double)left), span,
                          sizeof span);
        snprintf(text + used, sizeof text - (size_t)used, ", %s left", span);
    }
    loader->note(loader->context, text);
}

/* One note at a time, and the first error alone. */
static void end_piece(struct stage_run *run, bool ok, const struct err *err)
{
    pthread_mutex_lock(&run->mutex);
    run->finished += ok ? 1 : 0;
    run->worked += ok ? 1 : 0;
    if (!ok && !run->has_failed) {
        run->has_failed = true;
        run->err = *err;
    }
    if (ok && run->loader->note != NULL) {
        say(run);
    }
    pthread_mutex_unlock(&run->mutex);
}

static bool run_piece(const struct stage_run *run, size_t piece, struct session *session,
                      struct err *err)
{
    int64_t deadline = run->loader->deadline;
    if (clock_passed(deadline)) {
        return err_set(err, ERR_CODE_timeout, "%s %s did not end in time", run->stage->doing,
                       run->loader->what);
    }
    return run->stage->run(run->loader->plan, piece, session, deadline, err);
}

static void work(struct stage_run *run, struct session *session)
{
    size_t piece = 0;
    bool ok = true;
    while (ok && take_piece(run, &piece)) {
        struct err err;
        err_clear(&err);
        ok = run_piece(run, piece, session, &err);
        end_piece(run, ok, &err);
    }
}

static void *work_alone(void *data)
{
    struct stage_run *run = data;
    struct session *session = NULL;
    struct err err;
    err_clear(&err);
    if (run->sessions->open(&run->loader->job->session, clock_deadline_ms(CONNECT_TIMEOUT_MS),
                            &session, &err)) {
        work(run, session);
        run->sessions->close(session);
    } else {
        end_piece(run, false, &err);
    }
    return NULL;
}

/* ---- stages ---- */

/* An embedded database has one writer. */
static size_t choose_session_count(const struct stage_run *run, struct session *session,
                                   size_t pieces)
{
    int64_t count = run->loader->job->workload.threads;
    if (run->sessions->socket(session) < 0) {
        return 1;
    }
    if (count == 0) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        count = cpus < 1 ? 1 : cpus < SESSIONS_UNASKED ? cpus : SESSIONS_UNASKED;
    }
    count = count < SESSION_LIMIT ? count : SESSION_LIMIT;
    return (size_t)count < pieces ? (size_t)count : pieces;
}

/* This thread works as well; fewer threads than wanted only take longer. */
static void run_threads(struct stage_run *run, size_t wanted, struct session *session)
{
    pthread_t threads[SESSION_LIMIT];
    size_t started = 0;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work_alone, run) == 0) {
        started++;
    }
    work(run, session);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

bool loader_run(const struct loader *loader, const struct loader_stage *stage,
                struct session *session, struct err *err)
{
    struct stage_run run = {.loader = loader,
                            .stage = stage,
                            .sessions = session->driver,
                            .begun_ns = clock_now_ns(),
                            .finished = count_done(stage)};
    size_t left = stage->count - run.finished;
    pthread_mutex_init(&run.mutex, NULL);
    run_threads(&run, choose_session_count(&run, session, left), session);
    pthread_mutex_destroy(&run.mutex);
    if (run.has_failed) {
        *err = run.err;
    }
    return !run.has_failed;
}

/* ---- notes of pieces ---- */

bool loader_begin(struct session *session, int64_t deadline, struct err *err)
{
    return session_execute(session, "begin", NULL, NULL, deadline, err);
}

bool loader_commit(struct session *session, const char *prefix, size_t piece, int64_t deadline,
                   struct err *err)
{
    char sql[256];
    snprintf(sql, sizeof sql, "insert into %s (name, value) values ('%s%zu', 'loaded')", MARK_META,
             prefix, piece);
    return session_execute(session, sql, NULL, NULL, deadline, err) &&
           session_execute(session, "commit", NULL, NULL, deadline, err);
}

struct done_pieces {
    size_t prefix_size;
    bool *done;
    size_t count;
};

static bool see_piece(void *context, const struct row *row)
{
    struct done_pieces *found = context;
    char name[NAME_BYTES] = "";
    int64_t piece = -1;
    struct err ignored;
    if (row->columns[0].size < sizeof name && row->columns[0].size > found->prefix_size) {
        memcpy(name, row->columns[0].data, row->columns[0].size);
    }
    if (units_parse_int(name[0] != '\0' ? name + found->prefix_size : "", &piece, &ignored) &&
        piece >= 0 && (size_t)piece < found->count) {
        found->done[piece] = true;
    }
    return true;
}

bool loader_find_done(struct session *session, const char *prefix, int64_t deadline, bool *done,
                      size_t count, struct err *err)
{
    struct done_pieces found = {.prefix_size = strlen(prefix), .done = done, .count = count};
    char sql[256];
    snprintf(sql, sizeof sql, "select name from %s where name like '%s%%'", MARK_META, prefix);
    return session_execute(session, sql, see_piece, &found, deadline, err) ||
           err_while(err, "reading %s", MARK_META);
}
