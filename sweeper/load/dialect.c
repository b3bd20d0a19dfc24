/*
 * The table of dialects.
 */
#include "sweeper/load/dialect.h"

#include <string.h>

enum { SQL_BYTES = 1024 };

static const struct dialect_row rows[] = {
    {.dialect = DIALECT_POSTGRESQL,
     .serial = "serial",
     .big_serial = "bigserial",
     .create_table = "create table {table} ({columns})",
     .comment_table = "comment on table {table} is '{text}'",
     .look_up = "select case when c.relkind = 'r'"
                " then coalesce(obj_description(c.oid, 'pg_class'), '') else '' end"
                " from pg_class c where c.oid = to_regclass('{table}')",
     .marked = "{text}",
     .lock_row = " for update",
     .moment = "timestamp",
     .keys_later = true,
     .index_count = "select count(*) from pg_index where indrelid = to_regclass('{table}')"
                    " and indexrelid = to_regclass('{columns}')",
     .refresh = "analyze {table}",
     .serial_next = "select setval(pg_get_serial_sequence('{table}', 'id'), max(id)) from {table}",
     .claim = "select case when pg_try_advisory_lock(25698, 29559) then 1 else 0 end"},
    {.dialect = DIALECT_MYSQL,
     .serial = "integer not null auto_increment",
     .big_serial = "bigint not null auto_increment",
     .create_table = "create table {table} ({columns}) comment = '{text}'",
     .look_up = "select case when table_type = 'BASE TABLE' then table_comment else '' end"
                " from information_schema.tables"
                " where table_schema = database() and table_name = '{table}'",
     .marked = "{text}",
     .lock_row = " for update",
     .moment = "datetime",
     .index_count = "select count(*) from information_schema.statistics"
                    " where table_schema = database() and table_name = '{table}'"
                    " and index_name = '{columns}'",
     .refresh = "analyze table {table}",
     .claim = "select get_lock(concat('dbsweep ', left(sha2(database(), 256), 40)), 0)"},
    {.dialect = DIALECT_SQLITE,
     .serial = "integer",
     .big_serial = "integer",
     .create_table = "create table {table} ({columns} /* {text} */)",
     .look_up = "select case when type = 'table' then sql else '' end"
                " from sqlite_schema where lower(name) = lower('{table}')",
     .marked = " /* {text} */)",
     .mark_is_inside = true,
     .lock_row = "",
     .moment = "timestamp",
     .index_count = "select count(*) from sqlite_schema where type = 'index'"
                    " and tbl_name = '{table}' and name = '{columns}'",
     .refresh = "analyze {table}",
     .index_gap = "select (select count(*) from {table} not indexed)"
                  " - (select count(*) from {table} indexed by {columns})"},
    {.dialect = DIALECT_OTHER,
     .serial = "integer not null",
     .big_serial = "bigint not null",
     .create_table = "create table {table} ({columns})",
     .look_up = NULL,
     .marked = NULL,
     .lock_row = "",
     .moment = "timestamp",
     .refresh = NULL},
};

const struct dialect_row *dialect_of(enum dialect dialect)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].dialect == dialect) {
            return &rows[i];
        }
    }
    return &rows[COUNT_OF(rows) - 1];
}

void dialect_sql(char *out, size_t size, const char *pattern, const char *table,
                 const char *columns, const char *text)
{
    const char *const names[] = {"{table}", "{columns}", "{text}"};
    const char *const values[] = {table, columns, text};
    size_t at = 0;
    while (*pattern != '\0' && at < size - 1) {
        const char *value = NULL;
        for (size_t i = 0; i < COUNT_OF(names) && value == NULL; i++) {
            if (strncmp(pattern, names[i], strlen(names[i])) == 0) {
                value = values[i];
                pattern += strlen(names[i]);
            }
        }
        if (value == NULL) {
            out[at++] = *pattern++;
            continue;
        }
        size_t length = strlen(value);
        length = length < size - 1 - at ? length : size - 1 - at;
        memcpy(out + at, value, length);
        at += length;
    }
    out[at] = '\0';
}

bool dialect_has_index(struct session *session, const char *table, const char *index,
                       int64_t deadline, bool *out, struct err *err)
{
    char sql[SQL_BYTES];
    const char *count = NULL;
    struct arena arena;
    dialect_sql(sql, sizeof sql, dialect_of(session->driver->dialect)->index_count, table, index,
                "");
    arena_open(&arena, 1u << 16);
    bool ok = session_value(session, sql, deadline, &arena, &count, err);
    *out = ok && count != NULL && strcmp(count, "0") != 0;
    arena_close(&arena);
    return ok || err_while(err, "looking for index %s", index);
}
