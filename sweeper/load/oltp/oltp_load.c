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

enum { BATCH_ROWS = 500, BATCHES_PER_TRANSACTION = 20, NAME_BYTES = 32, VERSION = 1 };

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

/* Loads unless the data are there as loaded: the note "oltp" then says which. */
bool oltp_prepare(const struct load_job *job, const void *data, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err)
{
    const struct oltp_plan *plan = data;
    const char *loaded = NULL;
    char wanted[200];
    struct arena arena;
    fingerprint(&job->workload, wanted, sizeof wanted);
    arena_open(&arena, 1u << 20);
    bool ok = check_names(&job->workload, session, deadline, err) &&
              mark_get(session, "oltp", deadline, &arena, &loaded, err);
    bool is_there = ok && loaded != NULL && strcmp(loaded, wanted) == 0;
    arena_close(&arena);
    if (!ok || is_there) {
        return ok;
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
    char wanted[200];
    struct arena arena;
    fingerprint(&job->workload, wanted, sizeof wanted);
    arena_open(&arena, 1u << 20);
    bool ok = mark_get(session, "oltp", deadline, &arena, &loaded, err);
    bool is_loaded =
        ok && loaded != NULL && (strcmp(loaded, wanted) == 0 || strncmp(loaded, "used: ", 6) == 0);
    arena_close(&arena);
    if (ok && !is_loaded) {
        err_set(err, ERR_CODE_workload, "the oltp tables are not loaded as this workload asks");
        return err_hint(err, "dbsweep load oltp prepare loads them");
    }
    if (!ok || !workload_writes(&job->workload)) {
        return ok;
    }
    char used[220];
    snprintf(used, sizeof used, "used: %s", wanted);
    return mark_set(session, "oltp", used, deadline, err);
}

static bool count_rows(struct session *session, const char *name, int64_t deadline, int64_t *out,
                       struct err *err)
{
    const char *text = NULL;
    char sql[96];
    struct arena arena;
    snprintf(sql, sizeof sql, "select count(*) from %s", name);
    arena_open(&arena, 1u << 16);
    bool ok = session_value(session, sql, deadline, &arena, &text, err) &&
              units_parse_int(text != NULL ? text : "", out, err);
    arena_close(&arena);
    return ok;
}

/* Every mix but insert and delete leaves as many rows as it found. */
bool oltp_check(const struct load_job *job, const void *plan, struct session *session,
                int64_t deadline, struct err *err)
{
    (void)plan;
    const struct workload_spec *spec = &job->workload;
    bool may_grow = strcmp(spec->mix, "insert") == 0;
    bool may_shrink = strcmp(spec->mix, "delete") == 0;
    for (int64_t table = 1; table <= spec->tables; table++) {
        char name[NAME_BYTES];
        int64_t rows = 0;
        name_table(table, name);
        if (!count_rows(session, name, deadline, &rows, err)) {
            return err_while(err, "checking table %s", name);
        }
        if ((rows > spec->rows && !may_grow) || (rows < spec->rows && !may_shrink)) {
            return err_set(err, ERR_CODE_workload_check,
                           "%s holds %" PRId64 " rows, %" PRId64 " are expected", name, rows,
                           spec->rows);
        }
    }
    return true;
}

bool oltp_cleanup(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, struct err *err)
{
    (void)plan;
    char name[NAME_BYTES];
    if (!check_names(&job->workload, session, deadline, err)) {
        return false;
    }
    for (int64_t table = 1; table <= job->workload.tables; table++) {
        name_table(table, name);
        if (!mark_drop(session, name, deadline, err)) {
            return false;
        }
    }
    return mark_drop(session, MARK_META, deadline, err);
}
