/*
 * Loads, checks and removes the oltp workload's tables. A row follows from the seed, its table and
 * its number alone, so that every load gives the same data whatever the batch.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/load/dialect.h"
#include "sweeper/load/mark.h"
#include "sweeper/load/oltp/oltp.h"

enum {
    BATCH_ROWS = 500,
    BATCHES_PER_TRANSACTION = 20,
    NAME_BYTES = 32,
    NOTE_BYTES = 200,
    VERSION = 1
};
#define USED "used: " /* before the note of data that a drive has written to */

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

static void add_row(const struct oltp_plan *plan, int64_t table, int64_t id, struct text *sql)
{
    struct random random;
    char c[OLTP_C_BYTES + 1];
    char pad[OLTP_PAD_BYTES + 1];
    random_seed(&random, (uint64_t)plan->spec->seed, ((uint64_t)table << 40) + (uint64_t)id);
    int64_t k = distribution_draw(&plan->distribution, &random);
    oltp_digits(&random, 10, c);
    oltp_digits(&random, 5, pad);
    text_addf(sql, "(%" PRId64 ",%" PRId64 ",'%s','%s')", id, k, c, pad);
}

static bool insert_batch(const struct oltp_plan *plan, struct session *session, int64_t table,
                         int64_t first, int64_t last, int64_t deadline, struct arena *scratch,
                         struct err *err)
{
    struct text sql;
    text_open(&sql, scratch);
    text_addf(&sql, "insert into sbtest%" PRId64 " (id, k, c, pad) values ", table);
    for (int64_t id = first; id <= last; id++) {
        if (id > first) {
            text_add_char(&sql, ',');
        }
        add_row(plan, table, id, &sql);
    }
    const char *text = text_done(&sql);
    return text == NULL ? err_memory(err)
                        : session_execute(session, text, NULL, NULL, deadline, err);
}

static void tell(void (*note)(void *, const char *), void *context, const char *name, int64_t done,
                 int64_t all)
{
    char text[96];
    if (note != NULL) {
        snprintf(text, sizeof text, "loading %s: %" PRId64 " %%", name, 100 * done / all);
        note(context, text);
    }
}

static bool fill_table(const struct oltp_plan *plan, struct session *session, int64_t table,
                       int64_t deadline, void (*note)(void *, const char *), void *context,
                       struct err *err)
{
    char name[NAME_BYTES];
    struct arena scratch;
    bool ok = true;
    int64_t batch = 0;
    name_table(table, name);
    arena_open(&scratch, 16u << 20);
    for (int64_t first = 1; ok && first <= plan->spec->rows; first += BATCH_ROWS, batch++) {
        int64_t last = first + BATCH_ROWS - 1;
        last = last < plan->spec->rows ? last : plan->spec->rows;
        bool is_first = batch % BATCHES_PER_TRANSACTION == 0;
        bool is_last = batch % BATCHES_PER_TRANSACTION == BATCHES_PER_TRANSACTION - 1 ||
                       last == plan->spec->rows;
        arena_reset(&scratch);
        ok = (!is_first || session_execute(session, "begin", NULL, NULL, deadline, err)) &&
             insert_batch(plan, session, table, first, last, deadline, &scratch, err) &&
             (!is_last || session_execute(session, "commit", NULL, NULL, deadline, err));
        if (is_last) {
            tell(note, context, name, last, plan->spec->rows);
        }
    }
    arena_close(&scratch);
    return ok || err_while(err, "loading table %s", name);
}

static bool finish_table(struct session *session, int64_t table, int64_t deadline, struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char name[NAME_BYTES];
    char sql[256];
    name_table(table, name);
    snprintf(sql, sizeof sql, "create index k_%" PRId64 " on %s (k)", table, name);
    if (!session_execute(session, sql, NULL, NULL, deadline, err)) {
        return err_while(err, "indexing table %s", name);
    }
    if (dialect->serial_next != NULL) {
        dialect_sql(sql, sizeof sql, dialect->serial_next, name, "", "");
        if (!session_execute(session, sql, NULL, NULL, deadline, err)) {
            return err_while(err, "numbering table %s", name);
        }
    }
    if (dialect->refresh == NULL) {
        return true;
    }
    dialect_sql(sql, sizeof sql, dialect->refresh, name, "", "");
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "refreshing statistics of %s", name);
}

static bool load_table(const struct oltp_plan *plan, struct session *session, int64_t table,
                       int64_t deadline, void (*note)(void *, const char *), void *context,
                       struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char name[NAME_BYTES];
    char columns[256];
    name_table(table, name);
    snprintf(columns, sizeof columns,
             "id %s, k integer default 0 not null, c char(120) default '' not null, "
             "pad char(60) default '' not null",
             dialect->serial_key);
    return mark_drop(session, name, deadline, err) &&
           mark_create(session, name, columns, deadline, err) &&
           fill_table(plan, session, table, deadline, note, context, err) &&
           finish_table(session, table, deadline, err);
}

/* Whether the data are there as wanted, and as they were loaded: the note "oltp" says so, unless a
 * table went since. */
static bool is_loaded(const struct workload_spec *spec, const char *wanted, struct session *session,
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

bool oltp_prepare(const struct load_job *job, const void *data, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err)
{
    const struct oltp_plan *plan = data;
    char wanted[NOTE_BYTES];
    bool is_there = false;
    fingerprint(&job->workload, wanted, sizeof wanted);
    if (!check_names(&job->workload, session, deadline, err) ||
        !is_loaded(&job->workload, wanted, session, deadline, &is_there, err)) {
        return false;
    }
    if (is_there) {
        return true;
    }
    if (!mark_set(session, "oltp", "loading", deadline, err)) {
        return false;
    }
    for (int64_t table = 1; table <= job->workload.tables; table++) {
        if (!load_table(plan, session, table, deadline, note, context, err)) {
            return false;
        }
    }
    return mark_set(session, "oltp", wanted, deadline, err);
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
                int64_t deadline, struct err *err)
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
    return mark_forget(session, "oltp", deadline, err);
}
