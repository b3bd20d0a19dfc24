/*
 * Loads, checks and removes the oltp workload's tables. A row follows from the seed, its table and
 * its number alone, so that every load gives the same data whoever loads which part of it. A load
 * that was cut off goes on with the parts that are missing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/load/dialect.h"
#include "sweeper/load/loader.h"
#include "sweeper/load/mark.h"
#include "sweeper/load/oltp/oltp.h"

enum { PART_ROWS = 10000, NAME_BYTES = 32, NOTE_BYTES = 200, VERSION = 2 };
#define USED "used: "       /* before the note of data that a drive has written to */
#define LOADING "loading: " /* of data of which each part has a note of its own */
#define PART_NOTES "oltp part "

static void name_table(int64_t table, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "sbtest%" PRId64, table);
}

static void fingerprint(const struct workload_spec *spec, char *out, size_t size)
{
    snprintf(out, size,
             "oltp version=%d tables=%" PRId64 " rows=%" PRId64 " seed=%" PRId64 " distribution=%s",
             VERSION, spec->tables, spec->rows, spec->seed, spec->distribution);
}

/* Every name is checked before the first write. */
static bool check_names(const struct workload_spec *spec, struct session *session, int64_t deadline,
                        struct err *err)
{
    char name[NAME_BYTES];
    if (!mark_check(session, MARK_META, deadline, err)) {
        return false;
    }
    for (int64_t table = 1; table <= spec->tables; table++) {
        name_table(table, name);
        if (!mark_check(session, name, deadline, err)) {
            return false;
        }
    }
    return true;
}

/* ---- parts: so many rows of a table, by one transaction ---- */

static int64_t parts_a_table(const struct workload_spec *spec)
{
    return (spec->rows + PART_ROWS - 1) / PART_ROWS;
}

static bool add_row(const struct oltp_plan *plan, int64_t table, int64_t id, struct bulk *bulk,
                    struct err *err)
{
    struct random random;
    char c[OLTP_C_BYTES + 1];
    char pad[OLTP_PAD_BYTES + 1];
    random_seed(&random, (uint64_t)plan->spec->seed, ((uint64_t)table << 40) + (uint64_t)id);
    int64_t k = distribution_draw(&plan->distribution, &random);
    oltp_digits(&random, 10, c);
    oltp_digits(&random, 5, pad);
    const struct param values[] = {
        {.type = PARAM_INT, .integer = id},
        {.type = PARAM_INT, .integer = k},
        {.type = PARAM_TEXT, .text = {.data = c, .size = OLTP_C_BYTES}},
        {.type = PARAM_TEXT, .text = {.data = pad, .size = OLTP_PAD_BYTES}},
    };
    return bulk->session->driver->bulk_row(bulk, values, err);
}

static bool fill_part(const struct oltp_plan *plan, int64_t table, int64_t part,
                      struct session *session, int64_t deadline, struct err *err)
{
    char name[NAME_BYTES];
    const struct bulk_spec spec = {.table = name, .columns = "id, k, c, pad", .column_count = 4};
    struct bulk *bulk = NULL;
    int64_t last = (part + 1) * PART_ROWS;
    last = last < plan->spec->rows ? last : plan->spec->rows;
    name_table(table, name);
    if (!session->driver->bulk_open(session, &spec, deadline, &bulk, err)) {
        return err_while(err, "loading table %s", name);
    }
    bool ok = true;
    for (int64_t id = part * PART_ROWS + 1; ok && id <= last; id++) {
        ok = add_row(plan, table, id, bulk, err);
    }
    return session->driver->bulk_close(bulk, ok, err) || err_while(err, "loading table %s", name);
}

static bool load_part(const void *data, size_t piece, struct session *session, int64_t deadline,
                      struct err *err)
{
    const struct oltp_plan *plan = data;
    int64_t parts = parts_a_table(plan->spec);
    return loader_begin(session, deadline, err) &&
           fill_part(plan, (int64_t)piece / parts + 1, (int64_t)piece % parts, session, deadline,
                     err) &&
           loader_commit(session, PART_NOTES, piece, deadline, err);
}

/* ---- after the rows ---- */

static bool add_index(struct session *session, const char *table, const char *index,
                      const char *sql, int64_t deadline, struct err *err)
{
    bool is_there = false;
    return (dialect_has_index(session, table, index, deadline, &is_there, err) &&
            (is_there || session_execute(session, sql, NULL, NULL, deadline, err))) ||
           err_while(err, "indexing table %s", table);
}

static bool index_table(const void *plan, size_t piece, struct session *session, int64_t deadline,
                        struct err *err)
{
    (void)plan;
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char name[NAME_BYTES];
    char index[NAME_BYTES + 8];
    char sql[256];
    name_table((int64_t)piece + 1, name);
    if (dialect->keys_later) {
        snprintf(index, sizeof index, "%s_pkey", name);
        snprintf(sql, sizeof sql, "alter table %s add constraint %s primary key (id)", name, index);
        if (!add_index(session, name, index, sql, deadline, err)) {
            return false;
        }
    }
    snprintf(index, sizeof index, "k_%zu", piece + 1);
    snprintf(sql, sizeof sql, "create index %s on %s (k)", index, name);
    if (!add_index(session, name, index, sql, deadline, err)) {
        return false;
    }
    if (dialect->serial_next == NULL) {
        return true;
    }
    dialect_sql(sql, sizeof sql, dialect->serial_next, name, "", "");
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "numbering table %s", name);
}

static bool refresh_table(const void *plan, size_t piece, struct session *session, int64_t deadline,
                          struct err *err)
{
    (void)plan;
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char name[NAME_BYTES];
    char sql[256];
    if (dialect->refresh == NULL) {
        return true;
    }
    name_table((int64_t)piece + 1, name);
    dialect_sql(sql, sizeof sql, dialect->refresh, name, "", "");
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "refreshing statistics of %s", name);
}

/* ---- what is there ---- */

/* Where a table is not kept in the order of its key, the key is made after the rows. */
static bool create_table(struct session *session, int64_t table, int64_t deadline, struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char name[NAME_BYTES];
    char columns[256];
    name_table(table, name);
    snprintf(columns, sizeof columns,
             "id %s%s, k integer default 0 not null, c char(120) default '' not null, "
             "pad char(60) default '' not null",
             dialect->serial, dialect->keys_later ? "" : " primary key");
    return mark_drop(session, name, deadline, err) &&
           mark_create(session, name, columns, deadline, err);
}

/* Sets *out where the note "oltp" is `wanted`, unless a table went since. */
static bool has_note(const struct workload_spec *spec, const char *wanted, struct session *session,
                     int64_t deadline, bool *out, struct err *err)
{
    const char *loaded = NULL;
    struct arena arena;
    arena_open(&arena, 1u << 20);
    bool ok = mark_get(session, "oltp", deadline, &arena, &loaded, err);
    *out = ok && loaded != NULL && strcmp(loaded, wanted) == 0;
    arena_close(&arena);
    for (int64_t table = 1; ok && *out && table <= spec->tables; table++) {
        char name[NAME_BYTES];
        enum mark_state state = MARK_ABSENT;
        name_table(table, name);
        ok = mark_look_up(session, name, deadline, &state, err);
        *out = state == MARK_OURS;
    }
    return ok;
}

/* The note says "loading" once the tables are there and empty, and no part has a note. */
static bool start_anew(const struct loader *loader, const char *loading, struct session *session,
                       struct err *err)
{
    int64_t deadline = loader->deadline;
    bool ok = mark_set(session, "oltp", "changing", deadline, err) &&
              mark_forget(session, PART_NOTES "%", deadline, err);
    for (int64_t table = 1; ok && table <= loader->job->workload.tables; table++) {
        ok = create_table(session, table, deadline, err);
    }
    return ok && mark_set(session, "oltp", loading, deadline, err);
}

static bool load_all(const struct loader *loader, const char *wanted, struct arena *arena,
                     struct session *session, struct err *err)
{
    const struct workload_spec *spec = &loader->job->workload;
    size_t tables = (size_t)spec->tables;
    size_t count = tables * (size_t)parts_a_table(spec);
    bool *done = ARENA_ARRAY(arena, bool, count);
    char loading[NOTE_BYTES + sizeof LOADING];
    bool is_begun = false;
    snprintf(loading, sizeof loading, "%s%s", LOADING, wanted);
    if (done == NULL) {
        return err_memory(err);
    }
    if (!has_note(spec, loading, session, loader->deadline, &is_begun, err) ||
        (!is_begun && !start_anew(loader, loading, session, err)) ||
        !loader_find_done(session, PART_NOTES, loader->deadline, done, count, err)) {
        return false;
    }
    const struct loader_stage rows = {"loading", count, done, load_part};
    const struct loader_stage indexes = {"indexing", tables, NULL, index_table};
    const struct loader_stage statistics = {"analyzing", tables, NULL, refresh_table};
    return loader_run(loader, &rows, session, err) && loader_run(loader, &indexes, session, err) &&
           loader_run(loader, &statistics, session, err) &&
           mark_set(session, "oltp", wanted, loader->deadline, err);
}

bool oltp_prepare(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err)
{
    char wanted[NOTE_BYTES];
    char what[64];
    const struct loader loader = {.job = job,
                                  .plan = plan,
                                  .what = what,
                                  .deadline = deadline,
                                  .note = note,
                                  .context = context};
    bool is_there = false;
    struct arena arena;
    fingerprint(&job->workload, wanted, sizeof wanted);
    snprintf(what, sizeof what, "oltp, %" PRId64 " table%s", job->workload.tables,
             job->workload.tables == 1 ? "" : "s");
    if (!check_names(&job->workload, session, deadline, err) ||
        !has_note(&job->workload, wanted, session, deadline, &is_there, err)) {
        return false;
    }
    if (is_there) {
        return true;
    }
    arena_open(&arena, (size_t)1 << 30);
    bool ok = load_all(&loader, wanted, &arena, session, err);
    arena_close(&arena);
    return ok;
}

bool oltp_spoil(const struct load_job *job, const void *plan, struct session *session,
                int64_t deadline, struct err *err)
{
    (void)plan;
    const char *loaded = NULL;
    char wanted[NOTE_BYTES];
    struct arena arena;
    if (job->first_client > 0) {
        return true; /* the team's first worker does it for all */
    }
    fingerprint(&job->workload, wanted, sizeof wanted);
    arena_open(&arena, 1u << 20);
    bool ok = mark_get(session, "oltp", deadline, &arena, &loaded, err);
    bool is_used = ok && loaded != NULL && text_starts_with(loaded, USED);
    const char *data = is_used ? loaded + strlen(USED) : loaded;
    bool is_there = ok && loaded != NULL && strcmp(data, wanted) == 0;
    arena_close(&arena);
    if (ok && !is_there) {
        err_set(err, ERR_CODE_workload, "the oltp tables are not loaded as this workload asks");
        return err_hint(err, "dbsweep load oltp prepare loads them");
    }
    if (!ok || is_used || !workload_writes(&job->workload)) {
        return ok;
    }
    char used[NOTE_BYTES + sizeof USED];
    snprintf(used, sizeof used, "%s%s", USED, wanted);
    return mark_set(session, "oltp", used, deadline, err);
}

/* ---- check ---- */

struct extent {
    int64_t rows;
    int64_t first_id;
    int64_t last_id;
    bool is_read;
};

static bool read_extent(void *context, const struct row *row)
{
    struct extent *extent = context;
    int64_t *const fields[] = {&extent->rows, &extent->first_id, &extent->last_id};
    struct err ignored;
    extent->is_read = row->column_count == COUNT_OF(fields);
    for (size_t i = 0; extent->is_read && i < COUNT_OF(fields); i++) {
        char number[32] = "0"; /* the ids of an empty table are null */
        if (row->columns[i].data != NULL) {
            snprintf(number, sizeof number, "%.*s", (int)row->columns[i].size,
                     row->columns[i].data);
        }
        extent->is_read = units_parse_int(number, fields[i], &ignored);
    }
    return false;
}

static bool wrong_rows(const char *name, const struct extent *extent, int64_t expected,
                       struct err *err)
{
    return err_set(err, ERR_CODE_workload_check,
                   "%s holds %" PRId64 " rows with ids %" PRId64 " to %" PRId64 ", %" PRId64
                   " rows are expected",
                   name, extent->rows, extent->first_id, extent->last_id, expected);
}

/* Mixes other than insert and delete leave as many rows as they found; where the delete and the
 * insert that puts its row back commit apart, a client that was stopped between them leaves one
 * less. */
static bool check_rows(const struct workload_spec *spec, struct session *session, const char *name,
                       int64_t deadline, struct err *err)
{
    char sql[128];
    struct extent extent = {0};
    bool may_grow = strcmp(spec->mix, "insert") == 0;
    bool may_shrink = strcmp(spec->mix, "delete") == 0 || spec->skip_trx;
    snprintf(sql, sizeof sql, "select count(*), min(id), max(id) from %s", name);
    if (!session_execute(session, sql, read_extent, &extent, deadline, err)) {
        return false;
    }
    if (!extent.is_read) {
        return err_set(err, ERR_CODE_workload_check, "the rows of %s cannot be counted", name);
    }
    bool is_right =
        (extent.rows <= spec->rows || may_grow) && (extent.rows >= spec->rows || may_shrink) &&
        (extent.rows == 0 || extent.first_id >= 1) && (extent.last_id <= spec->rows || may_grow);
    return is_right || wrong_rows(name, &extent, spec->rows, err);
}

static bool check_index(struct session *session, int64_t table, const char *name, int64_t deadline,
                        struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char sql[256];
    char index[NAME_BYTES];
    const char *gap = NULL;
    struct arena arena;
    if (dialect->index_gap == NULL) {
        return true;
    }
    snprintf(index, sizeof index, "k_%" PRId64, table);
    dialect_sql(sql, sizeof sql, dialect->index_gap, name, index, "");
    arena_open(&arena, 1u << 16);
    bool ok = session_value(session, sql, deadline, &arena, &gap, err) &&
              ((gap != NULL && strcmp(gap, "0") == 0) ||
               err_set(err, ERR_CODE_workload_check, "index %s has %.20s entries less than %s rows",
                       index, gap != NULL ? gap : "?", name));
    arena_close(&arena);
    return ok;
}

bool oltp_check(const struct load_job *job, const void *plan, struct session *session,
                int64_t deadline, void (*note)(void *, const char *), void *context,
                struct err *err)
{
    (void)plan;
    for (int64_t table = 1; table <= job->workload.tables; table++) {
        char name[NAME_BYTES];
        name_table(table, name);
        if (!check_rows(&job->workload, session, name, deadline, err) ||
            !check_index(session, table, name, deadline, err)) {
            return err_while(err, "checking table %s", name);
        }
    }
    if (job->operation == LOAD_CHECK_ALL) {
        char text[NOTE_BYTES];
        snprintf(text, sizeof text, "%" PRId64 " table%s: the rows and the index are whole",
                 job->workload.tables, job->workload.tables == 1 ? "" : "s");
        note(context, text);
    }
    return true;
}

/* ---- cleanup ---- */

/* Tables of ours with higher numbers are from an earlier load of more. */
bool oltp_cleanup(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, struct err *err)
{
    (void)plan;
    char name[NAME_BYTES];
    if (!check_names(&job->workload, session, deadline, err)) {
        return false;
    }
    enum mark_state state = MARK_OURS;
    for (int64_t table = 1; state == MARK_OURS || table <= job->workload.tables; table++) {
        name_table(table, name);
        if (!mark_look_up(session, name, deadline, &state, err) ||
            (state == MARK_OURS && !mark_drop(session, name, deadline, err))) {
            return false;
        }
    }
    return mark_forget(session, "oltp%", deadline, err);
}
