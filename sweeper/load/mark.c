/*
 * Marks on tables, and notes about what was loaded.
 */
#include "sweeper/load/mark.h"

#include <stdio.h>
#include <string.h>

#include "sweeper/load/dialect.h"

enum {
    SQL_BYTES = 2048,
    MARK_BYTES = 128,
    CLAIM_STEP_MS = 100,
    CLAIM_TELL_MS = 1000,
    CLAIM_ANSWER_MS = 10000
};

struct found {
    const struct dialect_row *dialect;
    bool exists;
    bool is_marked;
};

static bool holds_mark(const struct dialect_row *dialect, const struct bytes *text)
{
    char mark[MARK_BYTES];
    dialect_sql(mark, sizeof mark, dialect->marked, "", "", MARK_TEXT);
    size_t size = strlen(mark);
    if (text->data == NULL || text->size < size) {
        return false;
    }
    return dialect->mark_is_inside ? memmem(text->data, text->size, mark, size) != NULL
                                   : memcmp(text->data, mark, size) == 0;
}

static bool see_table(void *context, const struct row *row)
{
    struct found *found = context;
    found->exists = true;
    found->is_marked = row->column_count > 0 && holds_mark(found->dialect, &row->columns[0]);
    return false;
}

bool mark_look_up(struct session *session, const char *table, int64_t deadline,
                  enum mark_state *out, struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char sql[SQL_BYTES];
    struct found found = {.dialect = dialect};
    if (dialect->look_up == NULL) {
        return err_set(err, ERR_CODE_unsupported, "this database cannot say whose a table is");
    }
    dialect_sql(sql, sizeof sql, dialect->look_up, table, "", "");
    if (!session_execute(session, sql, see_table, &found, deadline, err)) {
        return err_while(err, "looking for table %s", table);
    }
    *out = !found.exists ? MARK_ABSENT : found.is_marked ? MARK_OURS : MARK_FOREIGN;
    return true;
}

bool mark_check(struct session *session, const char *table, int64_t deadline, struct err *err)
{
    enum mark_state state = MARK_ABSENT;
    if (!mark_look_up(session, table, deadline, &state, err)) {
        return false;
    }
    if (state == MARK_FOREIGN) {
        err_set(err, ERR_CODE_foreign_data, "a table or view %s exists that dbsweep did not make",
                table);
        return err_hint(err, "use a database of its own for the workload: nothing was touched");
    }
    return true;
}

/* The answer comes at once: it has a deadline of its own, so that what is waited for is what is
 * reported. */
static bool try_claim(struct session *session, const char *sql, bool *out, struct err *err)
{
    const char *answer = NULL;
    struct arena arena;
    arena_open(&arena, 1u << 16);
    bool ok = session_value(session, sql, clock_deadline_ms(CLAIM_ANSWER_MS), &arena, &answer, err);
    *out = ok && answer != NULL && strcmp(answer, "1") == 0;
    arena_close(&arena);
    return ok || err_while(err, "claiming the workload's data");
}

bool mark_claim(struct session *session, int64_t deadline, void (*note)(void *, const char *),
                void *context, struct err *err)
{
    const char *sql = dialect_of(session->driver->dialect)->claim;
    int64_t told = clock_deadline_ms(CLAIM_TELL_MS);
    bool is_told = note == NULL;
    bool is_claimed = sql == NULL;
    while (!is_claimed) {
        if (!try_claim(session, sql, &is_claimed, err)) {
            return false;
        }
        if (!is_claimed && clock_passed(deadline)) {
            err_set(err, ERR_CODE_timeout,
                    "another session of dbsweep loads or removes the workload's data here");
            return err_hint(err, "wait for its end, or give this workload a database of its own");
        }
        if (!is_claimed && !is_told && clock_passed(told)) {
            note(context, "waiting for another session of dbsweep that loads or removes data here");
            is_told = true;
        }
        if (!is_claimed) {
            clock_pause_until(clock_deadline_ms(CLAIM_STEP_MS));
        }
    }
    return true;
}

static bool run_sql(struct session *session, const char *sql, int64_t deadline, struct err *err)
{
    return session_execute(session, sql, NULL, NULL, deadline, err);
}

/* Where the mark is a second statement, both are one transaction: a table that was made and not
 * yet marked when its maker died would be foreign for ever. */
bool mark_create(struct session *session, const char *table, const char *columns, int64_t deadline,
                 struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char create[SQL_BYTES];
    char comment[SQL_BYTES];
    dialect_sql(create, sizeof create, dialect->create_table, table, columns, MARK_TEXT);
    if (dialect->comment_table == NULL) {
        return run_sql(session, create, deadline, err) ||
               err_while(err, "creating table %s", table);
    }
    dialect_sql(comment, sizeof comment, dialect->comment_table, table, "", MARK_TEXT);
    return (run_sql(session, "begin", deadline, err) && run_sql(session, create, deadline, err) &&
            run_sql(session, comment, deadline, err) &&
            run_sql(session, "commit", deadline, err)) ||
           err_while(err, "creating table %s", table);
}

bool mark_drop(struct session *session, const char *table, int64_t deadline, struct err *err)
{
    enum mark_state state = MARK_ABSENT;
    char sql[SQL_BYTES];
    if (!mark_check(session, table, deadline, err) ||
        !mark_look_up(session, table, deadline, &state, err)) {
        return false;
    }
    if (state == MARK_ABSENT) {
        return true;
    }
    snprintf(sql, sizeof sql, "drop table %s", table);
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "dropping table %s", table);
}

bool mark_get(struct session *session, const char *name, int64_t deadline, struct arena *arena,
              const char **out, struct err *err)
{
    enum mark_state state = MARK_ABSENT;
    char sql[SQL_BYTES];
    *out = NULL;
    if (!mark_check(session, MARK_META, deadline, err) ||
        !mark_look_up(session, MARK_META, deadline, &state, err)) {
        return false;
    }
    if (state == MARK_ABSENT) {
        return true;
    }
    snprintf(sql, sizeof sql, "select value from %s where name = '%s'", MARK_META, name);
    return session_value(session, sql, deadline, arena, out, err) ||
           err_while(err, "reading %s", MARK_META);
}

bool mark_set(struct session *session, const char *name, const char *value, int64_t deadline,
              struct err *err)
{
    enum mark_state state = MARK_ABSENT;
    char sql[SQL_BYTES];
    if (!mark_check(session, MARK_META, deadline, err) ||
        !mark_look_up(session, MARK_META, deadline, &state, err) ||
        (state == MARK_ABSENT &&
         !mark_create(session, MARK_META,
                      "name varchar(64) not null primary key, value varchar(400) not null",
                      deadline, err))) {
        return false;
    }
    snprintf(sql, sizeof sql, "delete from %s where name = '%s'", MARK_META, name);
    if (!session_execute(session, sql, NULL, NULL, deadline, err)) {
        return err_while(err, "writing %s", MARK_META);
    }
    snprintf(sql, sizeof sql, "insert into %s (name, value) values ('%s', '%s')", MARK_META, name,
             value);
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "writing %s", MARK_META);
}

bool mark_forget(struct session *session, const char *pattern, int64_t deadline, struct err *err)
{
    enum mark_state state = MARK_ABSENT;
    char sql[SQL_BYTES];
    const char *left = NULL;
    struct arena arena;
    if (!mark_check(session, MARK_META, deadline, err) ||
        !mark_look_up(session, MARK_META, deadline, &state, err)) {
        return false;
    }
    if (state == MARK_ABSENT) {
        return true;
    }
    snprintf(sql, sizeof sql, "delete from %s where name like '%s'", MARK_META, pattern);
    arena_open(&arena, 1u << 16);
    bool ok =
        session_execute(session, sql, NULL, NULL, deadline, err) &&
        session_value(session, "select count(*) from " MARK_META, deadline, &arena, &left, err);
    bool is_empty = ok && left != NULL && strcmp(left, "0") == 0;
    arena_close(&arena);
    return ok ? !is_empty || mark_drop(session, MARK_META, deadline, err)
              : err_while(err, "writing %s", MARK_META);
}
