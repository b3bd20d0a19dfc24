/*
 * The clients of the oltp workload: sysbench 1.0's eight OLTP scripts as step functions.
 */
#include "sweeper/load/oltp/oltp.h"
#include "sweeper/load/dialect.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SLOT_LIMIT = 256, TEXT_BYTES = 512 };

#define POINTS_10                                                                                  \
    OLTP_POINT_SELECT, OLTP_POINT_SELECT, OLTP_POINT_SELECT, OLTP_POINT_SELECT, OLTP_POINT_SELECT, \
        OLTP_POINT_SELECT, OLTP_POINT_SELECT, OLTP_POINT_SELECT, OLTP_POINT_SELECT,                \
        OLTP_POINT_SELECT
#define RANGES OLTP_SIMPLE_RANGE, OLTP_SUM_RANGE, OLTP_ORDER_RANGE, OLTP_DISTINCT_RANGE
#define WRITES OLTP_INDEX_UPDATE, OLTP_NON_INDEX_UPDATE, OLTP_DELETE, OLTP_INSERT

static const enum oltp_statement read_only_steps[] = {POINTS_10, RANGES};
static const enum oltp_statement read_write_steps[] = {POINTS_10, RANGES, WRITES};
static const enum oltp_statement write_only_steps[] = {WRITES};
static const enum oltp_statement point_select_steps[] = {OLTP_POINT_SELECT};
static const enum oltp_statement update_index_steps[] = {OLTP_INDEX_UPDATE};
static const enum oltp_statement update_non_index_steps[] = {OLTP_NON_INDEX_UPDATE};
static const enum oltp_statement insert_steps[] = {OLTP_INSERT_SERIAL};
static const enum oltp_statement delete_steps[] = {OLTP_DELETE};

static const struct oltp_mix mixes[] = {
    {"read_only", read_only_steps, COUNT_OF(read_only_steps), true},
    {"read_write", read_write_steps, COUNT_OF(read_write_steps), true},
    {"write_only", write_only_steps, COUNT_OF(write_only_steps), true},
    {"point_select", point_select_steps, COUNT_OF(point_select_steps), false},
    {"update_index", update_index_steps, COUNT_OF(update_index_steps), false},
    {"update_non_index", update_non_index_steps, COUNT_OF(update_non_index_steps), false},
    {"insert", insert_steps, COUNT_OF(insert_steps), false},
    {"delete", delete_steps, COUNT_OF(delete_steps), false},
};

static const struct {
    const char *name;
    const char *sql; /* a pattern of dialect_sql */
    enum param_type types[4];
    size_t type_count;
} statement_rows[OLTP_STATEMENTS] = {
    [OLTP_POINT_SELECT] = {"point_select", "SELECT c FROM {table} WHERE id=?", {PARAM_INT}, 1},
    [OLTP_SIMPLE_RANGE] = {"simple_range",
                           "SELECT c FROM {table} WHERE id BETWEEN ? AND ?",
                           {PARAM_INT, PARAM_INT},
                           2},
    [OLTP_SUM_RANGE] = {"sum_range",
                        "SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?",
                        {PARAM_INT, PARAM_INT},
                        2},
    [OLTP_ORDER_RANGE] = {"order_range",
                          "SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c",
                          {PARAM_INT, PARAM_INT},
                          2},
    [OLTP_DISTINCT_RANGE] = {"distinct_range",
                             "SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? "
                             "ORDER BY c",
                             {PARAM_INT, PARAM_INT},
                             2},
    [OLTP_INDEX_UPDATE] = {"index_update", "UPDATE {table} SET k=k+1 WHERE id=?", {PARAM_INT}, 1},
    [OLTP_NON_INDEX_UPDATE] = {"non_index_update",
                               "UPDATE {table} SET c=? WHERE id=?",
                               {PARAM_TEXT, PARAM_INT},
                               2},
    [OLTP_DELETE] = {"delete", "DELETE FROM {table} WHERE id=?", {PARAM_INT}, 1},
    [OLTP_INSERT] = {"insert",
                     "INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)",
                     {PARAM_INT, PARAM_INT, PARAM_TEXT, PARAM_TEXT},
                     4},
    [OLTP_INSERT_SERIAL] = {"insert",
                            "INSERT INTO {table} (k, c, pad) VALUES (?, ?, ?)",
                            {PARAM_INT, PARAM_TEXT, PARAM_TEXT},
                            3},
};

struct oltp_state {
    struct random first_try; /* a retry draws the same again */
    int64_t table;           /* of the group of statements under way */
    int64_t deleted_id;      /* the insert puts back what the delete took */
    char c[OLTP_C_BYTES + 1];
    char pad[OLTP_PAD_BYTES + 1];
    char sql[TEXT_BYTES];
};

void oltp_digits(struct random *random, size_t groups, char *out)
{
    for (size_t i = 0; i < groups; i++) {
        uint64_t digits = random_next(random);
        for (size_t j = 0; j < 11; j++) {
            *out++ = (char)('0' + digits % 10);
            digits /= 10;
        }
        *out++ = '-';
    }
    out[-1] = '\0';
}

/* ---- plan ---- */

static bool add_statements(struct oltp_plan *plan, enum oltp_statement kind, struct arena *arena,
                           struct err *err)
{
    if (plan->first_slot[kind] != UINT_MAX) {
        return true;
    }
    plan->first_slot[kind] = (unsigned)plan->statement_count;
    for (int64_t table = 1; table <= plan->spec->tables; table++) {
        struct workload_statement *statement = &plan->statements[plan->statement_count++];
        *statement = (struct workload_statement){.transaction = 0,
                                                 .name = statement_rows[kind].name,
                                                 .type_count = statement_rows[kind].type_count};
        char sql[TEXT_BYTES];
        char name[32];
        snprintf(name, sizeof name, "sbtest%lld", (long long)table);
        dialect_sql(sql, sizeof sql, statement_rows[kind].sql, name, "", "");
        statement->sql = arena_strdup(arena, sql);
        memcpy(statement->types, statement_rows[kind].types, sizeof statement_rows[kind].types);
        if (statement->sql == NULL) {
            return err_memory(err);
        }
    }
    return true;
}

static bool oltp_plan_make(const struct workload_spec *spec, enum dialect dialect,
                           struct arena *arena, const void **out, struct err *err)
{
    (void)dialect;
    struct oltp_plan *plan = ARENA_NEW(arena, struct oltp_plan);
    if (plan == NULL) {
        return err_memory(err);
    }
    plan->spec = spec;
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        if (strcmp(mixes[i].name, spec->mix) == 0) {
            plan->mix = &mixes[i];
        }
    }
    if (plan->mix == NULL ||
        !distribution_open(spec->distribution, spec->rows, &plan->distribution)) {
        return err_set(err, ERR_CODE_unsupported, "mix \"%s\" or distribution \"%s\" is unknown",
                       spec->mix, spec->distribution);
    }
    plan->use_transaction = plan->mix->is_transaction && !spec->skip_trx;
    plan->statements =
        ARENA_ARRAY(arena, struct workload_statement, (size_t)spec->tables * OLTP_STATEMENTS);
    if (plan->statements == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < OLTP_STATEMENTS; i++) {
        plan->first_slot[i] = UINT_MAX;
    }
    for (size_t i = 0; i < plan->mix->step_count; i++) {
        if (!add_statements(plan, plan->mix->steps[i], arena, err)) {
            return false;
        }
    }
    *out = plan;
    return !spec->prepared || plan->statement_count <= SLOT_LIMIT ||
           err_set(err, ERR_CODE_unsupported,
                   "%zu statements to prepare are more than %d: use prepared = false",
                   plan->statement_count, SLOT_LIMIT);
}

static size_t oltp_transactions(const void *data, const char *const **out_names)
{
    const struct oltp_plan *plan = data;
    *out_names = &plan->mix->name;
    return 1;
}

static size_t oltp_statements(const void *data, const struct workload_statement **out)
{
    const struct oltp_plan *plan = data;
    *out = plan->statements;
    return plan->statement_count;
}

/* ---- steps ---- */

static struct param int_param(int64_t value)
{
    return (struct param){.type = PARAM_INT, .integer = value};
}

static struct param text_param(const char *text, size_t size)
{
    return (struct param){.type = PARAM_TEXT, .text = {.data = text, .size = size}};
}

static void fill_params(const struct oltp_plan *plan, struct client *client,
                        enum oltp_statement kind, struct call *out)
{
    struct oltp_state *state = client->state;
    struct random *random = &client->random;
    int64_t id = distribution_draw(&plan->distribution, random);
    struct param *params = out->params;
    switch (kind) {
    case OLTP_SIMPLE_RANGE:
    case OLTP_SUM_RANGE:
    case OLTP_ORDER_RANGE:
    case OLTP_DISTINCT_RANGE:
        params[0] = int_param(id);
        params[1] = int_param(id + plan->spec->range_size - 1);
        break;
    case OLTP_NON_INDEX_UPDATE:
        oltp_digits(random, 10, state->c);
        params[0] = text_param(state->c, OLTP_C_BYTES);
        params[1] = int_param(id);
        break;
    case OLTP_INSERT:
    case OLTP_INSERT_SERIAL:
        oltp_digits(random, 10, state->c);
        oltp_digits(random, 5, state->pad);
        params[0] = int_param(kind == OLTP_INSERT ? state->deleted_id : id);
        params[1] = kind == OLTP_INSERT ? int_param(id) : text_param(state->c, OLTP_C_BYTES);
        params[2] = kind == OLTP_INSERT ? text_param(state->c, OLTP_C_BYTES)
                                        : text_param(state->pad, OLTP_PAD_BYTES);
        params[3] = text_param(state->pad, OLTP_PAD_BYTES);
        break;
    case OLTP_DELETE:
        state->deleted_id = id;
        params[0] = int_param(id);
        break;
    case OLTP_POINT_SELECT:
    case OLTP_INDEX_UPDATE:
    case OLTP_STATEMENTS:
        params[0] = int_param(id);
        break;
    }
    out->param_count = statement_rows[kind].type_count;
}

/* Without prepared statements the values stand in the text; they are numbers and digits only. */
static void make_text(const struct oltp_plan *plan, struct oltp_state *state, struct call *call)
{
    const char *sql = plan->statements[call->slot].sql;
    size_t at = 0;
    size_t param = 0;
    for (; *sql != '\0' && at < sizeof state->sql - 1; sql++) {
        size_t room = sizeof state->sql - at;
        if (*sql != '?') {
            state->sql[at++] = *sql;
            continue;
        }
        const struct param *value = &call->params[param++];
        int size = value->type == PARAM_INT
                       ? snprintf(state->sql + at, room, "%lld", (long long)value->integer)
                       : snprintf(state->sql + at, room, "'%.*s'", (int)value->text.size,
                                  value->text.data);
        at += (size_t)size < room ? (size_t)size : room - 1;
    }
    state->sql[at] = '\0';
    call->kind = CALL_TEXT;
    call->sql = state->sql;
}

static unsigned oltp_choose(struct client *client)
{
    (void)client;
    return 0;
}

/* As in oltp_common.lua, statements of one kind that follow each other go to one table, and so do
 * the delete and the insert that puts its row back. */
static bool begins_group(const struct oltp_mix *mix, size_t at)
{
    return at == 0 || (mix->steps[at] != mix->steps[at - 1] && mix->steps[at] != OLTP_INSERT);
}

static bool oltp_step(struct client *client, bool is_retry, struct call *out, struct err *err)
{
    (void)err;
    const struct oltp_plan *plan = client->plan;
    struct oltp_state *state = client->state;
    unsigned lead = plan->use_transaction ? 1 : 0;
    if (client->step == 0) {
        if (is_retry) {
            client->random = state->first_try;
        }
        state->first_try = client->random;
    }
    if (client->step < lead) {
        out->kind = CALL_BEGIN;
        return true;
    }
    size_t at = client->step - lead;
    if (at >= plan->mix->step_count) {
        out->kind = at == plan->mix->step_count && plan->use_transaction ? CALL_COMMIT : CALL_END;
        return true;
    }
    enum oltp_statement kind = plan->mix->steps[at];
    if (begins_group(plan->mix, at)) {
        state->table = random_between(&client->random, 1, plan->spec->tables);
    }
    out->kind = CALL_STATEMENT;
    out->slot = plan->first_slot[kind] + (unsigned)(state->table - 1);
    fill_params(plan, client, kind, out);
    if (!plan->spec->prepared) {
        make_text(plan, state, out);
    }
    return true;
}

/* Two clients may delete and insert the same row: the second insert finds it there. sysbench
 * ignores that error and starts the transaction again, and so do we. */
static bool oltp_retries(const struct err *err)
{
    enum { MYSQL_DUPLICATE_KEY = 1062, SQLITE_CONSTRAINT_PRIMARY_KEY = 1555 };
    return strstr(err->native_text, "23505") != NULL || err->native == MYSQL_DUPLICATE_KEY ||
           (strcmp(err->native_text, "SQLITE") == 0 &&
            err->native == SQLITE_CONSTRAINT_PRIMARY_KEY);
}

const struct workload workload_oltp = {.kind = "oltp",
                                       .plan = oltp_plan_make,
                                       .client_size = sizeof(struct oltp_state),
                                       .transactions = oltp_transactions,
                                       .statements = oltp_statements,
                                       .choose = oltp_choose,
                                       .step = oltp_step,
                                       .retries = oltp_retries,
                                       .begin_drive = oltp_spoil,
                                       .prepare = oltp_prepare,
                                       .reset = oltp_prepare,
                                       .check = oltp_check,
                                       .cleanup = oltp_cleanup};
