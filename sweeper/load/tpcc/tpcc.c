/*
 * The tpcc workload as the driver sees it: its statements in the dialect, its transactions, and
 * what is asked of the server before and after a drive.
 */
#include "sweeper/load/tpcc/tpcc.h"

#include <stdio.h>
#include <string.h>

#include "sweeper/load/dialect.h"

enum { SQL_BYTES = 1024, SLOT_LIMIT = 256 };

static const char *const transaction_names[TPCC_TRANSACTIONS] = {
    "new_order", "payment", "order_status", "delivery", "stock_level"};

static const struct {
    enum tpcc_transaction transaction;
    const char *name;
    const char *types;
    const char *sql;
} statement_rows[TPCC_STATEMENTS] = {
#define STATEMENT(id, transaction_, name_, types_, sql_)                                           \
    [TPCC_SQL_##id] = {TPCC_##transaction_, (name_), (types_), (sql_)},
#include "sweeper/load/tpcc/statements.def"
};

/* ---- plan ---- */

static enum param_type type_of(char letter)
{
    return letter == 'i' ? PARAM_INT : letter == 'r' ? PARAM_REAL : PARAM_TEXT;
}

static bool add_statement(struct tpcc_plan *plan, enum tpcc_statement id, int district,
                          struct arena *arena, struct err *err)
{
    struct workload_statement *statement = &plan->statements[plan->statement_count++];
    const char *types = statement_rows[id].types;
    char column[16];
    char sql[SQL_BYTES];
    snprintf(column, sizeof column, "s_dist_%02d", district);
    dialect_sql(sql, sizeof sql, statement_rows[id].sql, "", column,
                dialect_of(plan->dialect)->lock_row);
    *statement = (struct workload_statement){.transaction = statement_rows[id].transaction,
                                             .name = statement_rows[id].name,
                                             .sql = arena_strdup(arena, sql),
                                             .type_count = strlen(types)};
    assert(statement->type_count <= LOAD_PARAM_LIMIT && plan->statement_count <= SLOT_LIMIT);
    for (size_t i = 0; i < statement->type_count; i++) {
        statement->types[i] = type_of(types[i]);
    }
    return statement->sql != NULL || err_memory(err);
}

static bool make_plan(const struct workload_spec *spec, enum dialect dialect, struct arena *arena,
                      const void **out, struct err *err)
{
    struct tpcc_plan *plan = ARENA_NEW(arena, struct tpcc_plan);
    if (plan == NULL) {
        return err_memory(err);
    }
    plan->spec = spec;
    plan->dialect = dialect;
    plan->shared = ARENA_NEW(arena, struct tpcc_shared);
    plan->statements =
        ARENA_ARRAY(arena, struct workload_statement, TPCC_STATEMENTS + TPCC_DISTRICTS);
    if (plan->shared == NULL || plan->statements == NULL) {
        return err_memory(err);
    }
    tpcc_constants_draw((uint64_t)spec->seed, &plan->constants);
    for (unsigned id = 0; id < TPCC_STATEMENTS; id++) {
        int last = id == TPCC_SQL_NEW_ORDER_STOCK ? TPCC_DISTRICTS : 1;
        plan->first_slot[id] = (unsigned)plan->statement_count;
        for (int district = 1; district <= last; district++) {
            if (!add_statement(plan, (enum tpcc_statement)id, district, arena, err)) {
                return false;
            }
        }
    }
    *out = plan;
    return true;
}

static size_t list_transactions(const void *plan, const char *const **out_names)
{
    (void)plan;
    *out_names = transaction_names;
    return TPCC_TRANSACTIONS;
}

static size_t list_statements(const void *data, const struct workload_statement **out)
{
    const struct tpcc_plan *plan = data;
    *out = plan->statements;
    return plan->statement_count;
}

/* ---- steps ---- */

static bool take_step(struct client *client, bool is_retry, struct call *out, struct err *err)
{
    static bool (*const steps[TPCC_TRANSACTIONS])(struct client *, struct call *, struct err *) = {
        tpcc_new_order, tpcc_payment, tpcc_order_status, tpcc_delivery, tpcc_stock_level};
    if (client->step == 0 && !is_retry) {
        tpcc_input_draw(client);
    }
    return steps[client->transaction](client, out, err);
}

/* ---- before and after ---- */

static bool begin_drive(const struct load_job *job, const void *data, struct session *session,
                        int64_t deadline, struct err *err)
{
    const struct tpcc_plan *plan = data;
    enum tpcc_data found = TPCC_DATA_NONE;
    atomic_store(&plan->shared->new_orders, 0);
    if (job->first_client > 0) { /* the team's first worker looks for all */
        return tpcc_count_orders(session, deadline, &plan->shared->orders_before, err);
    }
    if (!tpcc_data_look_up(plan, session, deadline, &found, err)) {
        return false;
    }
    if (found != TPCC_DATA_FRESH && found != TPCC_DATA_USED) {
        err_set(err, ERR_CODE_workload, "the TPC-C tables are not loaded as this workload asks");
        return err_hint(err, "dbsweep load tpcc prepare loads them");
    }
    if (found == TPCC_DATA_FRESH && !tpcc_data_note(plan, session, TPCC_DATA_USED, deadline, err)) {
        return false;
    }
    return tpcc_count_orders(session, deadline, &plan->shared->orders_before, err);
}

/* What was answered as committed must be there, and nobody else may have ordered, but for the other
 * workers of a team. */
static bool end_drive(const struct load_job *job, const void *data, struct session *session,
                      int64_t deadline, struct err *err)
{
    bool is_alone = load_job_clients(job) == job->workload.clients;
    const struct tpcc_plan *plan = data;
    int64_t orders = 0;
    if (!tpcc_count_orders(session, deadline, &orders, err)) {
        return false;
    }
    int64_t grown = orders - plan->shared->orders_before;
    int64_t counted = atomic_load(&plan->shared->new_orders);
    if (is_alone ? grown == counted : grown >= counted) {
        return true;
    }
    err_set(err, ERR_CODE_workload_check,
            "%lld New-Orders were committed, and the sum of d_next_o_id grew by %lld",
            (long long)counted, (long long)grown);
    return grown > counted ? err_hint(err, "did something else drive the same tables?") : false;
}

const struct workload workload_tpcc = {.kind = "tpcc",
                                       .plan = make_plan,
                                       .client_size = sizeof(struct tpcc_state),
                                       .transactions = list_transactions,
                                       .statements = list_statements,
                                       .choose = tpcc_choose,
                                       .step = take_step,
                                       .pause_ns = tpcc_pause_ns,
                                       .distribution = "nurand",
                                       .begin_drive = begin_drive,
                                       .end_drive = end_drive,
                                       .prepare = tpcc_prepare,
                                       .reset = tpcc_prepare,
                                       .check = tpcc_check,
                                       .cleanup = tpcc_cleanup};
