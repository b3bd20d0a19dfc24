/*
 * What is asked of a running server besides its settings: warm buffers, counters and size. Each
 * opens a session of its own as the load user and closes it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/mysql.h"
#include "backends/mysql/server.h"
#include "backends/work.h"
#include "sweeper/base/text.h"

enum { COUNTER_LIMIT = 320, SQL_BYTES = 1024, NAME_BYTES = 400 };

bool my_control_open(const struct server *server, int64_t deadline, struct session **out,
                     struct err *err)
{
    const struct session_spec spec = {.connect = server->spec->connect,
                                      .password = server->spec->password,
                                      .application = "dbsweep"};
    return mysql_session.open(&spec, deadline, out, err);
}

void my_control_close(struct session **session)
{
    mysql_session.close(*session);
    *session = NULL;
}

/* ---- warm buffers ---- */

struct table_names {
    struct arena *arena;
    struct text names; /* each ends with a NUL */
};

static bool keep_name(void *context, const struct row *row)
{
    struct table_names *tables = context;
    if (row->columns[0].data != NULL && row->columns[0].size < NAME_BYTES) {
        text_add_bytes(&tables->names, row->columns[0].data, row->columns[0].size);
        text_add_char(&tables->names, '\0');
    }
    return !tables->names.failed;
}

/* Names come quoted from the server. */
static bool scan_table(struct session *session, const char *name, int64_t deadline, struct err *err)
{
    char sql[SQL_BYTES];
    struct err ignored;
    err_clear(&ignored);
    snprintf(sql, sizeof sql, "select count(*) from %s force index (primary)", name);
    /* Without a primary key there is nothing to force. */
    bool scanned = session_execute(session, sql, NULL, NULL, deadline, &ignored);
    if (!scanned && mysql_session.classify(session, &ignored) == SESSION_LOST) {
        *err = ignored;
        return false;
    }
    snprintf(sql, sizeof sql, "select count(*) from %s", name);
    return session_execute(session, sql, NULL, NULL, deadline, err);
}

static const char table_statement[] =
    "select concat('`', replace(table_name, '`', '``'), '`') from information_schema.tables"
    " where table_schema = database() and table_type = 'BASE TABLE'"
    " order by data_length desc, table_name";

bool my_prewarm(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    CLEANUP(arena_close) struct arena scratch;
    struct table_names tables = {.arena = &scratch};
    arena_open(&scratch, MY_SCRATCH_BYTES);
    text_open(&tables.names, &scratch);
    if (!my_control_open(server, deadline, &session, err) ||
        !session_execute(session, table_statement, keep_name, &tables, deadline, err)) {
        return false;
    }
    if (tables.names.failed) {
        return err_memory(err);
    }
    for (size_t at = 0; at < tables.names.size; at += strlen(tables.names.data + at) + 1) {
        const char *name = tables.names.data + at;
        if (!scan_table(session, name, deadline, err)) {
            return err_while(err, "reading the table %s into memory", name);
        }
    }
    return true;
}

/* ---- counters ---- */

static const char counter_statement[] =
    "show global status where variable_name regexp "
    "'^(innodb_|handler_|bytes_|created_tmp|question|queries|select_|sort_|table_locks|table_open"
    "|threads_|open|aria_pagecache|key_|qcache_|connections|aborted_|slow_queries|binlog_|uptime"
    "|max_used_connections|memory_used|com_(begin|commit|rollback|select|insert|update|delete"
    "|stmt_execute|stmt_prepare)$)'";

struct counter_list {
    struct arena *arena;
    struct counter *items;
    size_t count;
};

/* Values that go up and down; all others only grow. */
static bool is_gauge(const char *name)
{
    static const char *const names[] = {"threads_cached",
                                        "threads_connected",
                                        "threads_running",
                                        "open_files",
                                        "open_streams",
                                        "open_table_definitions",
                                        "open_tables",
                                        "memory_used",
                                        "memory_used_initial",
                                        "max_used_connections",
                                        "innodb_history_list_length",
                                        "innodb_checkpoint_age",
                                        "innodb_checkpoint_max_age",
                                        "innodb_redo_log_capacity_resized",
                                        "innodb_redo_log_logical_size",
                                        "innodb_redo_log_physical_size",
                                        "innodb_row_lock_current_waits",
                                        "innodb_row_lock_time_avg",
                                        "innodb_row_lock_time_max",
                                        "innodb_buffer_pool_bytes_data",
                                        "innodb_buffer_pool_bytes_dirty",
                                        "innodb_page_size",
                                        "innodb_num_open_files",
                                        "innodb_os_log_pending_fsyncs",
                                        "innodb_os_log_pending_writes",
                                        "qcache_free_blocks",
                                        "qcache_free_memory",
                                        "qcache_queries_in_cache",
                                        "qcache_total_blocks",
                                        "key_blocks_not_flushed",
                                        "key_blocks_unused",
                                        "key_blocks_used"};
    static const char *const beginnings[] = {
        "innodb_buffer_pool_pages_", "innodb_ibuf_",          "innodb_mem_", "innodb_data_pending_",
        "innodb_undo_tablespaces_",  "aria_pagecache_blocks_"};
    if (text_equal_nocase(name, "innodb_buffer_pool_pages_flushed")) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (text_equal_nocase(name, names[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        char beginning[64];
        snprintf(beginning, sizeof beginning, "%.*s", (int)strlen(beginnings[i]), name);
        if (text_equal_nocase(beginning, beginnings[i])) {
            return true;
        }
    }
    return false;
}

static bool add_counter(void *context, const struct row *row)
{
    struct counter_list *list = context;
    struct bytes name = row->columns[0];
    struct bytes value = row->columns[1];
    char digits[64];
    char *end = NULL;
    if (list->count == COUNTER_LIMIT || value.data == NULL ||
        !bytes_text(value, digits, sizeof digits)) {
        return list->count < COUNTER_LIMIT;
    }
    double number = strtod(digits, &end);
    if (end == digits || *end != '\0') {
        return true; /* a word or a date */
    }
    struct counter *counter = &list->items[list->count];
    counter->name = arena_strndup(list->arena, name.data, name.size);
    if (counter->name == NULL) {
        return false;
    }
    counter->value = number;
    counter->gauge = is_gauge(counter->name);
    list->count++;
    return true;
}

bool my_counters(struct server *server, int64_t deadline, struct arena *arena, struct counter **out,
                 size_t *out_count, struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    struct counter_list list = {.arena = arena,
                                .items = ARENA_ARRAY(arena, struct counter, COUNTER_LIMIT)};
    if (list.items == NULL) {
        return err_memory(err);
    }
    if (!my_control_open(server, deadline, &session, err) ||
        !session_execute(session, counter_statement, add_counter, &list, deadline, err)) {
        return err_while(err, "reading the server's status");
    }
    *out = list.items;
    *out_count = list.count;
    return true;
}

/* ---- what they say of the server's work ---- */

const char *const my_log_knobs[] = {"innodb_log_file_size", "innodb_log_files_in_group",
                                    "innodb_redo_log_capacity", NULL};

/* The first of both that the server has: MariaDB's name, then that of MySQL 8.0.30. */
static double either(const struct counter *counters, size_t count, const char *mariadb,
                     const char *mysql)
{
    double value = counter_value(counters, count, mariadb);
    return isnan(value) ? counter_value(counters, count, mysql) : value;
}

/* InnoDB writes pages all the time and has no checkpoint that ends: a cycle is what the log holds.
 * Pages that are written twice, through the doublewrite buffer, are in innodb_data_written once
 * more, which is little beside what counts as much. */
void my_work(const struct counter *counters, size_t count, struct server_work *out)
{
    *out = server_work_unknown();
    out->log_bytes = either(counters, count, "innodb_lsn_current", "innodb_redo_log_current_lsn");
    out->log_capacity_bytes =
        either(counters, count, "innodb_checkpoint_max_age", "innodb_redo_log_capacity_resized");
    out->checkpoint_age_bytes = counter_value(counters, count, "innodb_checkpoint_age");
    if (isnan(out->checkpoint_age_bytes)) {
        out->checkpoint_age_bytes =
            out->log_bytes - counter_value(counters, count, "innodb_redo_log_checkpoint_lsn");
    }
    if (isnan(out->log_bytes)) {
        out->log_bytes = counter_value(counters, count, "innodb_os_log_written");
    }
    out->written_bytes = out->log_bytes + counter_value(counters, count, "innodb_data_written");
    out->dirty_bytes = counter_value(counters, count, "innodb_buffer_pool_bytes_dirty");
    out->purge_backlog = counter_value(counters, count, "innodb_history_list_length");
}

/* ---- size ---- */

/* Sizes of files where they may be seen (the PROCESS privilege), else the tables' statistics, which
 * lag behind. MariaDB, MySQL 8, whatever else. */
static const char *const size_statements[] = {
    "select coalesce(sum(file_size), 0) from information_schema.innodb_sys_tablespaces"
    " where left(name, char_length(database()) + 1) = concat(database(), '/')",
    "select coalesce(sum(file_size), 0) from information_schema.innodb_tablespaces"
    " where left(name, char_length(database()) + 1) = concat(database(), '/')",
    "select coalesce(sum(data_length + index_length), 0) from information_schema.tables"
    " where table_schema = database()"};

bool my_data_size(struct server *server, int64_t deadline, int64_t *out_bytes, struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    CLEANUP(arena_close) struct arena scratch;
    const char *bytes = NULL;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    if (!my_control_open(server, deadline, &session, err)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(size_statements); i++) {
        if (session_value(session, size_statements[i], deadline, &scratch, &bytes, err)) {
            return units_parse_int(bytes != NULL ? bytes : "", out_bytes, err);
        }
        if (i + 1 == COUNT_OF(size_statements) ||
            mysql_session.classify(session, err) == SESSION_LOST) {
            break;
        }
        err_clear(err);
    }
    return err_while(err, "asking for the size of the data");
}
