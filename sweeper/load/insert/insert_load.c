/*
 * Makes, checks and removes the table of the insert workload. As in iiBench's own script, rows of
 * before the run go in bare and the secondary indexes are made over them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/load/dialect.h"
#include "sweeper/load/insert/insert.h"
#include "sweeper/load/mark.h"

enum {
    BATCH_ROWS = 1000,
    BATCHES_PER_TRANSACTION = 20,
    NAME_BYTES = 64,
    NUMBER_BYTES = 32,
    NOTE_BYTES = 200,
    SQL_BYTES = 512,
    VERSION = 1
};
#define NOTE_DATA "insert"
#define NOTE_ROWS "insert rows"

/* ---- notes ---- */

static const char *const data_prefixes[] = {[INSERT_DATA_NONE] = "loading: ",
                                            [INSERT_DATA_FRESH] = "",
                                            [INSERT_DATA_DRIVEN] = "driven: ",
                                            [INSERT_DATA_USED] = "used: "};

static void make_note(const struct insert_plan *plan, enum insert_data data, char *out, size_t size)
{
    snprintf(out, size,
             "%sinsert version=%d form=%s indexes=%" PRId64 " rows=%" PRId64 " seed=%" PRId64,
             data_prefixes[data], VERSION, plan->form->name, plan->spec->secondary_indexes,
             plan->spec->initial_rows, plan->spec->seed);
}

/* The count goes first: a run that dies between the two is one that nobody counted. */
bool insert_data_note(const struct insert_plan *plan, struct session *session,
                      enum insert_data data, const struct insert_counts *counts, int64_t deadline,
                      struct err *err)
{
    char note[NOTE_BYTES];
    char rows[NOTE_BYTES];
    make_note(plan, data, note, sizeof note);
    snprintf(rows, sizeof rows, "%" PRId64 " inserted %" PRId64 " deleted", counts->inserted,
             counts->deleted);
    return mark_set(session, NOTE_ROWS, rows, deadline, err) &&
           mark_set(session, NOTE_DATA, note, deadline, err);
}

static enum insert_data judge_note(const struct insert_plan *plan, const char *found)
{
    char note[NOTE_BYTES];
    for (int data = INSERT_DATA_FRESH; found != NULL && data <= INSERT_DATA_USED; data++) {
        make_note(plan, (enum insert_data)data, note, sizeof note);
        if (strcmp(note, found) == 0) {
            return (enum insert_data)data;
        }
    }
    return INSERT_DATA_NONE;
}

static bool read_counts(const char *text, struct insert_counts *out)
{
    char inserted[NUMBER_BYTES];
    char deleted[NUMBER_BYTES];
    struct err ignored;
    return text != NULL && sscanf(text, "%31s inserted %31s deleted", inserted, deleted) == 2 &&
           units_parse_int(inserted, &out->inserted, &ignored) &&
           units_parse_int(deleted, &out->deleted, &ignored);
}

/* A note whose table went is worth nothing. */
bool insert_data_look_up(const struct insert_plan *plan, struct session *session, int64_t deadline,
                         enum insert_data *out, struct insert_counts *out_counts, struct err *err)
{
    const char *data = NULL;
    const char *rows = NULL;
    enum mark_state state = MARK_ABSENT;
    struct arena arena;
    arena_open(&arena, 1u << 20);
    *out_counts = (struct insert_counts){0};
    bool ok = mark_get(session, NOTE_DATA, deadline, &arena, &data, err) &&
              mark_get(session, NOTE_ROWS, deadline, &arena, &rows, err) &&
              mark_look_up(session, INSERT_TABLE, deadline, &state, err);
    *out = ok && state == MARK_OURS && read_counts(rows, out_counts) ? judge_note(plan, data)
                                                                     : INSERT_DATA_NONE;
    arena_close(&arena);
    return ok;
}

bool insert_read_number(struct session *session, const char *sql, int64_t none_value,
                        int64_t deadline, int64_t *out, struct err *err)
{
    const char *text = NULL;
    struct arena arena;
    arena_open(&arena, 1u << 16);
    bool ok = session_value(session, sql, deadline, &arena, &text, err);
    *out = none_value;
    if (ok && text != NULL) {
        ok = units_parse_int(text, out, err);
    }
    arena_close(&arena);
    return ok;
}

/* ---- prepare ---- */

static bool check_names(struct session *session, int64_t deadline, struct err *err)
{
    return mark_check(session, MARK_META, deadline, err) &&
           mark_check(session, INSERT_TABLE, deadline, err);
}

static bool create_table(const struct insert_plan *plan, struct session *session, int64_t deadline,
                         struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char columns[SQL_BYTES];
    snprintf(columns, sizeof columns,
             "transactionid %s primary key, dateandtime %s, cashregisterid integer not null,"
             " customerid integer not null, productid integer not null, price %s not null,"
             " data varchar(4000)",
             dialect->big_serial, dialect->moment, plan->form->price_type);
    return mark_drop(session, INSERT_TABLE, deadline, err) &&
           mark_create(session, INSERT_TABLE, columns, deadline, err);
}

static void tell(void (*note)(void *, const char *), void *context, int64_t done, int64_t all)
{
    char text[96];
    if (note != NULL) {
        snprintf(text, sizeof text, "loading " INSERT_TABLE ": %" PRId64 " %%", 100 * done / all);
        note(context, text);
    }
}

static bool fill_table(const struct insert_plan *plan, struct session *session, int64_t deadline,
                       void (*note)(void *, const char *), void *context, struct err *err)
{
    struct arena scratch;
    size_t room = insert_text_bytes(BATCH_ROWS);
    int64_t all = plan->spec->initial_rows;
    arena_open(&scratch, 1u << 20);
    char *text = arena_alloc(&scratch, room);
    bool ok = text != NULL || err_memory(err);
    for (int64_t first = 0, batch = 0; ok && first < all; first += BATCH_ROWS, batch++) {
        int64_t count = all - first < BATCH_ROWS ? all - first : BATCH_ROWS;
        bool is_first = batch % BATCHES_PER_TRANSACTION == 0;
        bool is_last = (batch + 1) % BATCHES_PER_TRANSACTION == 0 || first + count == all;
        insert_make_text(plan, first, count, text, room);
        ok = (!is_first || session_execute(session, "begin", NULL, NULL, deadline, err)) &&
             session_execute(session, text, NULL, NULL, deadline, err) &&
             (!is_last || session_execute(session, "commit", NULL, NULL, deadline, err));
        if (is_last) {
            tell(note, context, first + count, all);
        }
    }
    arena_close(&scratch);
    return ok || err_while(err, "loading table " INSERT_TABLE);
}

static void name_index(const struct insert_plan *plan, size_t index, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, INSERT_TABLE "_%s", plan->form->indexes[index].name);
}

static bool create_indexes(const struct insert_plan *plan, struct session *session,
                           int64_t deadline, struct err *err)
{
    const char *refresh = dialect_of(session->driver->dialect)->refresh;
    char name[NAME_BYTES];
    char sql[SQL_BYTES];
    for (size_t i = 0; i < (size_t)plan->spec->secondary_indexes; i++) {
        name_index(plan, i, name);
        snprintf(sql, sizeof sql, "create index %s on " INSERT_TABLE " (%s)", name,
                 plan->form->indexes[i].columns);
        if (!session_execute(session, sql, NULL, NULL, deadline, err)) {
            return err_while(err, "making index %s", name);
        }
    }
    if (refresh == NULL) {
        return true;
    }
    dialect_sql(sql, sizeof sql, refresh, INSERT_TABLE, "", "");
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "refreshing statistics of " INSERT_TABLE);
}

bool insert_prepare(const struct load_job *job, const void *data, struct session *session,
                    int64_t deadline, void (*note)(void *, const char *), void *context,
                    struct err *err)
{
    const struct insert_plan *plan = data;
    enum insert_data found = INSERT_DATA_NONE;
    struct insert_counts counts = {0};
    (void)job;
    if (!check_names(session, deadline, err) ||
        !insert_data_look_up(plan, session, deadline, &found, &counts, err)) {
        return false;
    }
    if (found == INSERT_DATA_FRESH) {
        return true;
    }
    counts = (struct insert_counts){.inserted = plan->spec->initial_rows};
    return insert_data_note(plan, session, INSERT_DATA_NONE, &counts, deadline, err) &&
           create_table(plan, session, deadline, err) &&
           fill_table(plan, session, deadline, note, context, err) &&
           create_indexes(plan, session, deadline, err) &&
           insert_data_note(plan, session, INSERT_DATA_FRESH, &counts, deadline, err);
}

/* ---- check ---- */

static bool check_rows(const struct insert_counts *counts, struct session *session,
                       int64_t deadline, struct err *err)
{
    int64_t rows = 0;
    if (!insert_read_number(session, "select count(*) from " INSERT_TABLE, 0, deadline, &rows,
                            err)) {
        return false;
    }
    return rows == counts->inserted - counts->deleted ||
           err_set(err, ERR_CODE_workload_check,
                   INSERT_TABLE " holds %" PRId64 " rows, but %" PRId64
                                " were inserted and %" PRId64 " of them deleted",
                   rows, counts->inserted, counts->deleted);
}

static bool check_indexes(const struct insert_plan *plan, struct session *session, int64_t deadline,
                          struct err *err)
{
    char name[NAME_BYTES];
    bool is_there = false;
    for (size_t i = 0; i < (size_t)plan->spec->secondary_indexes; i++) {
        name_index(plan, i, name);
        if (!dialect_has_index(session, INSERT_TABLE, name, deadline, &is_there, err)) {
            return false;
        }
        if (!is_there) {
            return err_set(err, ERR_CODE_workload_check, "index %s is missing", name);
        }
    }
    return true;
}

static bool check_values(struct session *session, int64_t deadline, struct err *err)
{
    int64_t wrong = 0;
    if (!insert_read_number(session,
                            "select count(*) from " INSERT_TABLE
                            " where dateandtime is null or cashregisterid not between 0 and 999"
                            " or customerid not between 0 and 99999"
                            " or productid not between 0 and 9999 or price < 0 or price >= 500"
                            " or data is null or length(data) <> 10",
                            0, deadline, &wrong, err)) {
        return false;
    }
    return wrong == 0 ||
           err_set(err, ERR_CODE_workload_check,
                   "%" PRId64 " rows of " INSERT_TABLE " hold values that nobody inserted", wrong);
}

bool insert_check(const struct load_job *job, const void *data, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err)
{
    const struct insert_plan *plan = data;
    enum insert_data found = INSERT_DATA_NONE;
    struct insert_counts counts;
    if (!insert_data_look_up(plan, session, deadline, &found, &counts, err)) {
        return false;
    }
    if (found == INSERT_DATA_NONE || found == INSERT_DATA_DRIVEN) {
        err_set(err, ERR_CODE_workload_check,
                found == INSERT_DATA_NONE
                    ? "table " INSERT_TABLE " is not as this workload asks"
                    : "a run did not end, and how many rows it inserted is not known");
        return err_hint(err, "dbsweep load insert prepare makes the table anew");
    }
    if (!check_rows(&counts, session, deadline, err) ||
        !check_indexes(plan, session, deadline, err)) {
        return false;
    }
    if (job->operation != LOAD_CHECK_ALL) {
        return true;
    }
    if (!check_values(session, deadline, err)) {
        return false;
    }
    char text[NOTE_BYTES];
    snprintf(text, sizeof text,
             INSERT_TABLE ": %" PRId64 " rows, as many as were inserted less %" PRId64
                          " deleted; their values and the indexes are whole",
             counts.inserted - counts.deleted, counts.deleted);
    note(context, text);
    return true;
}

/* ---- cleanup ---- */

bool insert_cleanup(const struct load_job *job, const void *plan, struct session *session,
                    int64_t deadline, struct err *err)
{
    (void)job;
    (void)plan;
    return check_names(session, deadline, err) && mark_drop(session, INSERT_TABLE, deadline, err) &&
           mark_forget(session, NOTE_DATA "%", deadline, err);
}
