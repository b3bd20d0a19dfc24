/*
 * Loads the tables: rows, then keys and indexes, then statistics. A load that was cut off goes on
 * with the units that are missing; one that was used is loaded again, but for the items, which no
 * transaction changes.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/load/loader.h"
#include "sweeper/load/mark.h"
#include "sweeper/load/tpcc/tpcc.h"

/* ---- the pieces of the stages ---- */

static bool load_unit(const void *plan, size_t piece, struct session *session, int64_t deadline,
                      struct err *err)
{
    return tpcc_load_unit(plan, piece, session, deadline, err);
}

static bool create_index(const void *plan, size_t piece, struct session *session, int64_t deadline,
                         struct err *err)
{
    (void)plan;
    return tpcc_create_index(session, piece, deadline, err);
}

static bool refresh(const void *plan, size_t piece, struct session *session, int64_t deadline,
                    struct err *err)
{
    (void)plan;
    return tpcc_refresh(session, (enum tpcc_table)piece, deadline, err);
}

/* ---- what is there ---- */

static bool read_units(bool *done, size_t count, struct session *session, int64_t deadline,
                       struct err *err)
{
    memset(done, 0, count);
    return loader_find_done(session, TPCC_ITEM_NOTES, deadline, done, count, err) &&
           loader_find_done(session, TPCC_PART_NOTES, deadline, done, count, err);
}

static bool has_all_items(const bool *done)
{
    for (size_t i = 0; i < TPCC_ITEM_UNITS; i++) {
        if (!done[i]) {
            return false;
        }
    }
    return true;
}

/* Whatever happens on the way, what is half done is known as such: the note goes first and comes
 * last. Items that are whole stay where all else is loaded again. */
static bool start_anew(const struct loader *loader, bool keeps_items, struct session *session,
                       struct err *err)
{
    bool ok =
        tpcc_data_note(loader->plan, session, TPCC_DATA_NONE, loader->deadline, err) &&
        mark_forget(session, keeps_items ? TPCC_PART_NOTES "%" : "tpcc %", loader->deadline, err);
    for (unsigned i = 0; ok && i < TPCC_TABLES; i++) {
        ok = (keeps_items && i == TPCC_ITEM) ||
             tpcc_create_table(session, (enum tpcc_table)i, loader->deadline, err);
    }
    return ok && tpcc_data_note(loader->plan, session, TPCC_DATA_LOADING, loader->deadline, err);
}

static bool load_all(const struct loader *loader, enum tpcc_data found, struct arena *arena,
                     struct session *session, struct err *err)
{
    size_t count = tpcc_unit_count(loader->plan);
    bool *done = ARENA_ARRAY(arena, bool, count);
    if (done == NULL) {
        return err_memory(err);
    }
    if (found != TPCC_DATA_NONE && !read_units(done, count, session, loader->deadline, err)) {
        return false;
    }
    if (found != TPCC_DATA_LOADING) {
        bool keeps_items = found == TPCC_DATA_USED && has_all_items(done);
        if (!start_anew(loader, keeps_items, session, err) ||
            !read_units(done, count, session, loader->deadline, err)) {
            return false;
        }
    }
    const struct loader_stage rows = {"loading", count, done, load_unit};
    const struct loader_stage indexes = {"indexing", tpcc_index_count(), NULL, create_index};
    const struct loader_stage statistics = {"analyzing", TPCC_TABLES, NULL, refresh};
    return loader_run(loader, &rows, session, err) && loader_run(loader, &indexes, session, err) &&
           loader_run(loader, &statistics, session, err) &&
           tpcc_data_note(loader->plan, session, TPCC_DATA_FRESH, loader->deadline, err);
}

bool tpcc_prepare(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err)
{
    char what[64];
    const struct loader loader = {.job = job,
                                  .plan = plan,
                                  .what = what,
                                  .deadline = deadline,
                                  .note = note,
                                  .context = context};
    enum tpcc_data found = TPCC_DATA_NONE;
    struct arena arena;
    snprintf(what, sizeof what, "tpcc, %lld warehouse%s", (long long)job->workload.warehouses,
             job->workload.warehouses == 1 ? "" : "s");
    if (!tpcc_check_names(session, deadline, err) ||
        !tpcc_data_look_up(plan, session, deadline, &found, err)) {
        return false;
    }
    if (found == TPCC_DATA_FRESH) {
        return true;
    }
    arena_open(&arena, (size_t)1 << 30);
    bool ok = load_all(&loader, found, &arena, session, err);
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
