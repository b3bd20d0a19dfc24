/*
 * Loads the tables: several sessions take units, then keys and indexes, then statistics. A load
 * that was cut off goes on with the units that are missing; one that was used is loaded again, but
 * for the items, which no transaction changes.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/load/mark.h"
#include "sweeper/load/tpcc/tpcc.h"

enum { SESSION_LIMIT = 16, CONNECT_TIMEOUT_MS = 50000, ITEM_NOTES = 10 };

enum stage { STAGE_ROWS, STAGE_INDEXES, STAGE_STATISTICS };

/* What the loader's threads share; what changes is theirs under the mutex. */
struct loader {
    const struct load_job *job;
    const struct tpcc_plan *plan;
    const struct session_driver *sessions;
    int64_t deadline;
    void (*note)(void *, const char *);
    void *context;
    enum stage stage;
    size_t count;     /* pieces of the stage */
    const bool *done; /* before it began; NULL: none */
    pthread_mutex_t mutex;
    size_t next;
    size_t finished;
    bool has_failed;
    struct err err;
};

/* ---- the pieces of a stage ---- */

static bool load_piece(const struct loader *loader, size_t piece, struct session *session,
                       struct err *err)
{
    switch (loader->stage) {
    case STAGE_ROWS:
        return tpcc_load_unit(loader->plan, piece, session, loader->deadline, err);
    case STAGE_INDEXES:
        return tpcc_create_index(session, piece, loader->deadline, err);
    case STAGE_STATISTICS:
        break;
    }
    return tpcc_refresh(session, (enum tpcc_table)piece, loader->deadline, err);
}

static bool take_piece(struct loader *loader, size_t *out)
{
    pthread_mutex_lock(&loader->mutex);
    while (loader->done != NULL && loader->next < loader->count && loader->done[loader->next]) {
        loader->next++;
        loader->finished++;
    }
    bool is_left = loader->next < loader->count && !loader->has_failed;
    *out = loader->next;
    loader->next += is_left ? 1 : 0;
    pthread_mutex_unlock(&loader->mutex);
    return is_left;
}

static void say(const struct loader *loader)
{
    static const char *const names[] = {"loading", "indexing", "analyzing"};
    char text[96];
    snprintf(text, sizeof text, "%s tpcc, %lld warehouse%s: %zu %%", names[loader->stage],
             (long long)loader->plan->spec->warehouses,
             loader->plan->spec->warehouses == 1 ? "" : "s",
             100 * loader->finished / loader->count);
    loader->note(loader->context, text);
}

/* One note at a time, and the first error alone. */
static void end_piece(struct loader *loader, bool ok, const struct err *err)
{
    pthread_mutex_lock(&loader->mutex);
    loader->finished += ok ? 1 : 0;
    if (!ok && !loader->has_failed) {
        loader->has_failed = true;
        loader->err = *err;
    }
    if (ok && loader->note != NULL) {
        say(loader);
    }
    pthread_mutex_unlock(&loader->mutex);
}

static void work(struct loader *loader, struct session *session)
{
    size_t piece = 0;
    bool ok = true;
    while (ok && take_piece(loader, &piece)) {
        struct err err;
        err_clear(&err);
        ok = load_piece(loader, piece, session, &err);
        end_piece(loader, ok, &err);
    }
}

static void *work_alone(void *data)
{
    struct loader *loader = data;
    struct session *session = NULL;
    struct err err;
    err_clear(&err);
    if (loader->sessions->open(&loader->job->session, clock_deadline_ms(CONNECT_TIMEOUT_MS),
                               &session, &err)) {
        work(loader, session);
        loader->sessions->close(session);
    } else {
        end_piece(loader, false, &err);
    }
    return NULL;
}

/* ---- stages ---- */

/* An embedded database has one writer. */
static size_t choose_session_count(const struct loader *loader, struct session *session)
{
    int64_t count = loader->job->workload.threads;
    if (loader->sessions->socket(session) < 0) {
        return 1;
    }
    if (count == 0) {
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        count = cpus > 1 ? cpus : 2;
    }
    count = count < SESSION_LIMIT ? count : SESSION_LIMIT;
    return (size_t)count < loader->count ? (size_t)count : loader->count;
}

/* This thread works as well; fewer threads than wanted only take longer. */
static bool run_stage(struct loader *loader, enum stage stage, size_t count, const bool *done,
                      struct session *session, struct err *err)
{
    pthread_t threads[SESSION_LIMIT];
    size_t started = 0;
    loader->stage = stage;
    loader->count = count;
    loader->done = done;
    loader->next = 0;
    loader->finished = 0;
    size_t wanted = choose_session_count(loader, session) - 1;
    while (started < wanted && pthread_create(&threads[started], NULL, work_alone, loader) == 0) {
        started++;
    }
    work(loader, session);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    if (loader->has_failed) {
        *err = loader->err;
    }
    return !loader->has_failed;
}

/* ---- what is there ---- */

struct loaded {
    bool *done;
    size_t count;
    size_t item_count;
};

static bool see_unit(void *context, const struct row *row)
{
    struct loaded *loaded = context;
    char name[TPCC_UNIT_NAME_BYTES];
    char number[TPCC_UNIT_NAME_BYTES] = "";
    int64_t unit = -1;
    struct err ignored;
    snprintf(name, sizeof name, "%.*s", (int)row->columns[0].size, row->columns[0].data);
    if (sscanf(name, "tpcc %*s %39s", number) == 1 && units_parse_int(number, &unit, &ignored) &&
        unit >= 0 && (size_t)unit < loaded->count) {
        loaded->done[unit] = true;
        loaded->item_count += text_starts_with(name, "tpcc item") ? 1 : 0;
    }
    return true;
}

static bool read_units(struct loaded *loaded, struct session *session, int64_t deadline,
                       struct err *err)
{
    return session_execute(session, "select name from " MARK_META " where name like 'tpcc %'",
                           see_unit, loaded, deadline, err) ||
           err_while(err, "reading %s", MARK_META);
}

/* Whatever happens on the way, what is half done is known as such: the note goes first and comes
 * last. Items that are whole stay where all else is loaded again. */
static bool start_anew(const struct loader *loader, bool keeps_items, struct session *session,
                       struct err *err)
{
    bool ok = tpcc_data_note(loader->plan, session, TPCC_DATA_NONE, loader->deadline, err) &&
              mark_forget(session, keeps_items ? "tpcc part %" : "tpcc %", loader->deadline, err);
    for (unsigned i = 0; ok && i < TPCC_TABLES; i++) {
        ok = (keeps_items && i == TPCC_ITEM) ||
             tpcc_create_table(session, (enum tpcc_table)i, loader->deadline, err);
    }
    return ok && tpcc_data_note(loader->plan, session, TPCC_DATA_LOADING, loader->deadline, err);
}

static bool load_all(struct loader *loader, enum tpcc_data found, struct arena *arena,
                     struct session *session, struct err *err)
{
    struct loaded loaded = {.count = tpcc_unit_count(loader->plan)};
    loaded.done = ARENA_ARRAY(arena, bool, loaded.count);
    if (loaded.done == NULL) {
        return err_memory(err);
    }
    if (found != TPCC_DATA_NONE && !read_units(&loaded, session, loader->deadline, err)) {
        return false;
    }
    if (found != TPCC_DATA_LOADING) {
        bool keeps_items = found == TPCC_DATA_USED && loaded.item_count == ITEM_NOTES;
        if (!start_anew(loader, keeps_items, session, err)) {
            return false;
        }
        memset(loaded.done, 0, loaded.count);
        if (!read_units(&loaded, session, loader->deadline, err)) {
            return false;
        }
    }
    return run_stage(loader, STAGE_ROWS, loaded.count, loaded.done, session, err) &&
           run_stage(loader, STAGE_INDEXES, tpcc_index_count(), NULL, session, err) &&
           run_stage(loader, STAGE_STATISTICS, TPCC_TABLES, NULL, session, err) &&
           tpcc_data_note(loader->plan, session, TPCC_DATA_FRESH, loader->deadline, err);
}

bool tpcc_prepare(const struct load_job *job, const void *data, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err)
{
    struct loader loader = {.job = job,
                            .plan = data,
                            .sessions = session->driver,
                            .deadline = deadline,
                            .note = note,
                            .context = context};
    enum tpcc_data found = TPCC_DATA_NONE;
    struct arena arena;
    if (!tpcc_check_names(session, deadline, err) ||
        !tpcc_data_look_up(loader.plan, session, deadline, &found, err)) {
        return false;
    }
    if (found == TPCC_DATA_FRESH) {
        return true;
    }
    arena_open(&arena, (size_t)1 << 30);
    pthread_mutex_init(&loader.mutex, NULL);
    bool ok = load_all(&loader, found, &arena, session, err);
    pthread_mutex_destroy(&loader.mutex);
    arena_close(&arena);
    return ok;
}

bool tpcc_cleanup(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, struct err *err)
{
    (void)job;
    (void)plan;
    if (!tpcc_check_names(session, deadline, err)) {
        return false;
    }
    for (size_t i = 0; i < TPCC_TABLES; i++) {
        if (!mark_drop(session, tpcc_table_names[i], deadline, err)) {
            return false;
        }
    }
    return mark_forget(session, "tpcc%", deadline, err);
}
