/*
 * What is asked of a running server besides its settings: checkpoint, warm buffers, counters and
 * size. Each opens a session of its own as the load user and closes it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/postgresql/postgresql.h"
#include "backends/postgresql/server.h"
#include "backends/work.h"
#include "sweeper/base/text.h"

enum { COUNTER_LIMIT = 256 };

bool pg_control_open(const struct server *server, int64_t deadline, struct session **out,
                     struct err *err)
{
    const struct session_spec spec = {.connect = server->spec->connect,
                                      .password = server->spec->password,
                                      .application = "dbsweep"};
    return postgresql_session.open(&spec, deadline, out, err);
}

void pg_control_close(struct session **session)
{
    postgresql_session.close(*session);
    *session = NULL;
}

/* What outlives our deadline must not go on in the server behind the measurement's back. */
static bool open_limited(const struct server *server, int64_t deadline, struct session **out,
                         struct err *err)
{
    char sql[64];
    int left_ms = clock_left_ms(deadline); /* -1: no deadline, which the server calls 0 */
    if (!pg_control_open(server, deadline, out, err)) {
        return false;
    }
    snprintf(sql, sizeof sql, "set statement_timeout = %d",
             left_ms < 0    ? 0
             : left_ms == 0 ? 1
                            : left_ms);
    return session_execute(*out, sql, NULL, NULL, deadline, err);
}

bool pg_settle(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    if (!open_limited(server, deadline, &session, err)) {
        return false;
    }
    if (session_execute(session, "checkpoint", NULL, NULL, deadline, err)) {
        return true;
    }
    if (strcmp(err->native_text, "SQLSTATE 42501") == 0) {
        err_hint(err, "since 15: grant pg_checkpoint to the load user; before: only a superuser "
                      "may; or set between.settle to nothing");
    }
    return err_while(err, "taking a checkpoint");
}

/* Whole relations from the largest down, the last one in part, until shared_buffers is full. */
static const char prewarm_blocks[] =
    "with pool as (select setting::bigint as blocks from pg_settings"
    "              where name = 'shared_buffers'),"
    " relation as (select c.oid, pg_relation_size(c.oid) / current_setting('block_size')::bigint"
    "              as blocks from pg_class c join pg_namespace n on n.oid = c.relnamespace"
    "              where c.relkind in ('r', 'm', 'i') and c.relpersistence <> 't'"
    "              and n.nspname not in ('pg_catalog', 'information_schema')"
    "              and n.nspname !~ '^pg_toast'),"
    " ordered as (select oid, blocks,"
    "             sum(blocks) over (order by blocks desc, oid) - blocks as before"
    "             from relation where blocks > 0)"
    " select sum(pg_prewarm(o.oid::regclass, 'buffer', 'main', 0,"
    "                       least(o.blocks, p.blocks - o.before)::bigint - 1))"
    " from ordered o, pool p where o.before < p.blocks";

/* One count(*) for every table. The server scans a table larger than a quarter of shared_buffers
 * through a small ring, which warms the system's cache but not its own. */
static const char prewarm_scans[] =
    "do $$ declare name text; begin"
    " for name in select c.oid::regclass::text from pg_class c"
    "   join pg_namespace n on n.oid = c.relnamespace where c.relkind in ('r', 'm')"
    "   and n.nspname not in ('pg_catalog', 'information_schema')"
    "   and n.nspname !~ '^pg_toast'"
    "   and has_table_privilege(c.oid, 'select')"
    "   order by pg_relation_size(c.oid) desc"
    " loop execute 'select count(*) from ' || name; end loop; end $$";

static bool find_extension(struct session *session, int64_t deadline, struct arena *arena,
                           const char **out_schema, struct err *err)
{
    return session_value(session,
                         "select quote_ident(n.nspname) from pg_extension e join pg_namespace n"
                         " on n.oid = e.extnamespace where e.extname = 'pg_prewarm'",
                         deadline, arena, out_schema, err);
}

/* Where the extension lies ready and may be created, it is, for as long as the transaction lasts:
 * what it read stays in memory, and it is gone with the session. False: the connection is lost. */
static bool lend_extension(struct session *session, int64_t deadline, struct arena *arena,
                           const char **out_schema, struct err *err)
{
    if (session_execute(session, "begin", NULL, NULL, deadline, err) &&
        session_execute(session, "create extension pg_prewarm", NULL, NULL, deadline, err)) {
        return find_extension(session, deadline, arena, out_schema, err);
    }
    if (postgresql_session.classify(session, err) == SESSION_LOST) {
        return false;
    }
    err_clear(err);
    return session_execute(session, "rollback", NULL, NULL, deadline, err);
}

bool pg_prewarm(struct server *server, int64_t deadline, struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    CLEANUP(arena_close) struct arena scratch;
    const char *schema = NULL;
    arena_open(&scratch, PG_SCRATCH_BYTES);
    if (!open_limited(server, deadline, &session, err) ||
        !find_extension(session, deadline, &scratch, &schema, err) ||
        (schema == NULL && !lend_extension(session, deadline, &scratch, &schema, err))) {
        return false;
    }
    if (schema == NULL) {
        return session_execute(session, prewarm_scans, NULL, NULL, deadline, err) ||
               err_while(err, "reading the tables into memory");
    }
    /* The extension's function is found wherever it was created. */
    const char *path = arena_printf(&scratch, "set search_path = pg_catalog, %s", schema);
    if (path == NULL) {
        return err_memory(err);
    }
    return (session_execute(session, path, NULL, NULL, deadline, err) &&
            session_execute(session, prewarm_blocks, NULL, NULL, deadline, err)) ||
           err_while(err, "warming shared_buffers with pg_prewarm");
}

/* ---- counters ---- */

#define AGE "pg_control.checkpoint_age_bytes"
#define WAL "pg_control.wal_bytes"
#define MAX_WAL "pg_control.max_wal_size_bytes"

/* Where the log is, and what of it a crash would replay. */
static const char log_statement[] =
    "select '" AGE "', to_jsonb(pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn))"
    "  from pg_control_checkpoint()"
    " union all select '" WAL "', to_jsonb(pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0'))"
    " union all select '" MAX_WAL "', to_jsonb(pg_size_bytes(current_setting('max_wal_size')))";

/* Whatever numbers this version's views have, by their column's name. */
static const char *const counter_views[] = {"pg_stat_database", "pg_stat_bgwriter",
                                            "pg_stat_checkpointer", "pg_stat_wal"};

struct counter_list {
    struct arena *arena;
    struct counter *items;
    size_t count;
};

static bool is_gauge(const char *name)
{
    return text_ends_with(name, ".numbackends") || strcmp(name, AGE) == 0 ||
           strcmp(name, MAX_WAL) == 0;
}

static bool add_counter(void *context, const struct row *row)
{
    struct counter_list *list = context;
    struct bytes name = row->columns[0];
    struct bytes value = row->columns[1];
    char digits[64];
    if (list->count == COUNTER_LIMIT || value.data == NULL ||
        !bytes_text(value, digits, sizeof digits)) {
        return list->count < COUNTER_LIMIT;
    }
    struct counter *counter = &list->items[list->count];
    counter->name = arena_strndup(list->arena, name.data, name.size);
    if (counter->name == NULL) {
        return false;
    }
    counter->value = strtod(digits, NULL);
    counter->gauge = is_gauge(counter->name);
    list->count++;
    return true;
}

static bool read_view(struct session *session, const char *view, int64_t deadline,
                      struct counter_list *list, struct err *err)
{
    char sql[512];
    bool is_database = strcmp(view, "pg_stat_database") == 0;
    snprintf(sql, sizeof sql,
             "select '%s.' || e.key, e.value from %s v, jsonb_each(to_jsonb(v)) e"
             " where jsonb_typeof(e.value) = 'number' and e.key <> 'datid' %s",
             view, view, is_database ? "and v.datname = current_database()" : "");
    return session_execute(session, sql, add_counter, list, deadline, err);
}

static bool view_exists(struct session *session, const char *view, int64_t deadline,
                        struct arena *arena, bool *out, struct err *err)
{
    char sql[128];
    const char *name = NULL;
    snprintf(sql, sizeof sql, "select to_regclass('pg_catalog.%s')::text", view);
    if (!session_value(session, sql, deadline, arena, &name, err)) {
        return false;
    }
    *out = name != NULL;
    return true;
}

/* Anybody may ask, unless somebody took that right away. */
static bool read_log_position(struct session *session, int64_t deadline, struct arena *arena,
                              struct counter_list *list, struct err *err)
{
    const char *may = NULL;
    return session_value(session,
                         "select case when has_function_privilege("
                         "'pg_catalog.pg_control_checkpoint()', 'execute') then 'yes' end",
                         deadline, arena, &may, err) &&
           (may == NULL ||
            session_execute(session, log_statement, add_counter, list, deadline, err));
}

bool pg_counters(struct server *server, int64_t deadline, struct arena *arena, struct counter **out,
                 size_t *out_count, struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    struct counter_list list = {.arena = arena,
                                .items = ARENA_ARRAY(arena, struct counter, COUNTER_LIMIT)};
    if (list.items == NULL) {
        return err_memory(err);
    }
    if (!pg_control_open(server, deadline, &session, err)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(counter_views); i++) {
        bool is_there = false;
        if (!view_exists(session, counter_views[i], deadline, arena, &is_there, err) ||
            (is_there && !read_view(session, counter_views[i], deadline, &list, err))) {
            return err_while(err, "reading %s", counter_views[i]);
        }
    }
    if (!read_log_position(session, deadline, arena, &list, err)) {
        return err_while(err, "reading the position of the log");
    }
    *out = list.items;
    *out_count = list.count;
    return true;
}

/* ---- what the counters say of the server's work ---- */

const char *const pg_log_knobs[] = {"max_wal_size", NULL};
const char *const pg_interval_knobs[] = {"checkpoint_timeout", NULL};

enum { BUFFER_BYTES = 8192 };

/* Until 16 pg_stat_bgwriter tells of checkpoints and of what backends write themselves; from 17 on
 * pg_stat_checkpointer does, and what backends write is in pg_stat_io (manual, section 27.2). */
void pg_work(const struct counter *counters, size_t count, struct server_work *out)
{
    static const char *const timed[] = {"pg_stat_bgwriter.checkpoints_timed",
                                        "pg_stat_checkpointer.num_timed"};
    static const char *const asked[] = {"pg_stat_bgwriter.checkpoints_req",
                                        "pg_stat_checkpointer.num_requested"};
    static const char *const pages[] = {
        "pg_stat_bgwriter.buffers_checkpoint", "pg_stat_bgwriter.buffers_clean",
        "pg_stat_bgwriter.buffers_backend", "pg_stat_checkpointer.buffers_written"};
    *out = server_work_unknown();
    out->log_bytes = counter_value(counters, count, WAL);
    out->log_capacity_bytes = counter_value(counters, count, MAX_WAL);
    out->checkpoint_age_bytes = counter_value(counters, count, AGE);
    for (size_t i = 0; i < COUNT_OF(timed); i++) {
        double both =
            counter_value(counters, count, timed[i]) + counter_value(counters, count, asked[i]);
        out->checkpoint_count = isnan(both) ? out->checkpoint_count : both;
    }
    out->written_bytes = out->log_bytes;
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        double written = counter_value(counters, count, pages[i]);
        out->written_bytes += isnan(written) ? 0 : written * BUFFER_BYTES;
    }
}

bool pg_data_size(struct server *server, int64_t deadline, int64_t *out_bytes, struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    CLEANUP(arena_close) struct arena scratch;
    const char *bytes = NULL;
    arena_open(&scratch, PG_SCRATCH_BYTES);
    if (!pg_control_open(server, deadline, &session, err) ||
        !session_value(session, "select pg_database_size(current_database())", deadline, &scratch,
                       &bytes, err)) {
        return false;
    }
    return units_parse_int(bytes != NULL ? bytes : "", out_bytes, err);
}
