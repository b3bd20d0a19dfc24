/*
 * The insert workload as the driver sees it: its statements, its clients, and what they came to.
 */
#include "sweeper/load/insert/insert.h"

#include <stdio.h>
#include <string.h>

#include "sweeper/load/dialect.h"

enum { EDGE_STATEMENTS = 10 }; /* of each client, in the initial and the terminal rate */

/* The names of the indexes are iiBench's. */
static const struct insert_form forms[] = {
    {"2009",
     "float",
     true,
     {{"marketsegment", "price, customerid", "price", 500},
      {"registersegment", "cashregisterid, price, customerid", "cashregisterid", 1000},
      {"pdc", "price, dateandtime, customerid", "price", 500}}},
    {"current",
     "integer",
     false,
     {{"marketsegment", "productid, customerid, price", "productid", 10000},
      {"registersegment", "cashregisterid, customerid, price", "cashregisterid", 1000},
      {"pdc", "price, dateandtime, customerid", "price", 500}}},
};

/* ---- plan ---- */

static const struct insert_form *find_form(const char *name)
{
    size_t i = 0;
    while (i + 1 < COUNT_OF(forms) && strcmp(forms[i].name, name) != 0) {
        i++;
    }
    return &forms[i];
}

/* Of as many integers as the statement has marks. */
static bool add_statement(struct insert_plan *plan, enum insert_transaction transaction,
                          const char *name, const char *sql, struct arena *arena, struct err *err)
{
    struct workload_statement *statement = &plan->statements[plan->statement_count++];
    *statement = (struct workload_statement){.transaction = transaction,
                                             .name = arena_strdup(arena, name),
                                             .sql = arena_strdup(arena, sql)};
    for (const char *at = strchr(sql, '?'); at != NULL; at = strchr(at + 1, '?')) {
        statement->types[statement->type_count++] = PARAM_INT;
    }
    return (statement->name != NULL && statement->sql != NULL) || err_memory(err);
}

static bool add_statements(struct insert_plan *plan, struct arena *arena, struct err *err)
{
    plan->statements[plan->statement_count++] =
        (struct workload_statement){.transaction = INSERT_ROWS, .name = "insert"};
    if (!add_statement(plan, INSERT_ROWS, "delete",
                       "delete from " INSERT_TABLE
                       " where transactionid >= ? and transactionid < ?",
                       arena, err) ||
        !add_statement(plan, INSERT_QUERY, "query_by_key",
                       "select transactionid, productid, data from " INSERT_TABLE
                       " where transactionid in (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       arena, err)) {
        return false;
    }
    for (size_t i = 0; i < INSERT_INDEXES; i++) {
        char name[64];
        char sql[256];
        const char *columns = plan->form->indexes[i].columns;
        snprintf(name, sizeof name, "query_%s", plan->form->indexes[i].name);
        snprintf(sql, sizeof sql, "select %s from %s where %s >= ? order by %s limit %d", columns,
                 INSERT_TABLE, plan->form->indexes[i].first, columns, INSERT_QUERY_IDS);
        if (!add_statement(plan, INSERT_QUERY, name, sql, arena, err)) {
            return false;
        }
    }
    return true;
}

static bool make_plan(const struct workload_spec *spec, enum dialect dialect, struct arena *arena,
                      const void **out, struct err *err)
{
    struct insert_plan *plan = ARENA_NEW(arena, struct insert_plan);
    if (plan == NULL) {
        return err_memory(err);
    }
    *plan = (struct insert_plan){.spec = spec,
                                 .dialect = dialect,
                                 .form = find_form(spec->index_form),
                                 .shared = ARENA_NEW(arena, struct insert_shared),
                                 .text_bytes = insert_text_bytes(spec->rows_per_insert)};
    plan->texts = arena_alloc(arena, plan->text_bytes * (size_t)spec->clients);
    if (plan->shared == NULL || plan->texts == NULL) {
        return err_memory(err);
    }
    pthread_mutex_init(&plan->shared->mutex, NULL);
    plan->shared->left = INT64_MAX; /* until a drive knows better; the driver's own tests do not */
    *out = plan;
    return add_statements(plan, arena, err);
}

static size_t list_transactions(const void *data, const char *const **out_names)
{
    static const char *const names[] = {[INSERT_ROWS] = "insert", [INSERT_QUERY] = "query"};
    const struct insert_plan *plan = data;
    *out_names = names;
    return plan->spec->query_clients > 0 ? 2 : 1;
}

/* Those of queries come last, and only where clients query. */
static size_t list_statements(const void *data, const struct workload_statement **out)
{
    const struct insert_plan *plan = data;
    *out = plan->statements;
    return plan->spec->query_clients > 0
               ? INSERT_SQL_BY_INDEX + (size_t)plan->spec->secondary_indexes
               : INSERT_SQL_BY_KEY;
}

/* ---- clients ---- */

struct insert_state {
    int64_t row_count; /* taken and not in yet; 0: none */
    int64_t delete_id; /* the first that goes */
    int64_t delete_count;
    int64_t deleted;
    enum insert_statement query;
    int64_t query_params[INSERT_QUERY_IDS];
};

static bool does_query(const struct client *client)
{
    const struct insert_plan *plan = client->plan;
    return client->number >= plan->spec->clients - plan->spec->query_clients;
}

static void take_rows(struct client *client)
{
    const struct insert_plan *plan = client->plan;
    struct insert_shared *shared = plan->shared;
    struct insert_state *state = client->state;
    pthread_mutex_lock(&shared->mutex);
    int64_t first = shared->next_row;
    state->row_count =
        plan->spec->rows_per_insert < shared->left ? plan->spec->rows_per_insert : shared->left;
    state->delete_id = shared->next_delete_id;
    state->delete_count = state->row_count + shared->owed;
    shared->owed = 0;
    shared->left -= state->row_count;
    shared->under_way += state->row_count;
    shared->next_row += state->row_count;
    shared->next_delete_id += state->delete_count;
    pthread_mutex_unlock(&shared->mutex);
    insert_make_text(plan, first, state->row_count, plan->texts + plan->text_bytes * client->number,
                     plan->text_bytes);
}

static void draw_query(struct client *client)
{
    const struct insert_plan *plan = client->plan;
    struct insert_shared *shared = plan->shared;
    struct insert_state *state = client->state;
    pthread_mutex_lock(&shared->mutex);
    int64_t first = shared->first_id;
    int64_t last = shared->last_id;
    pthread_mutex_unlock(&shared->mutex);
    int64_t choice = random_between(&client->random, 0, plan->spec->secondary_indexes);
    state->query = (enum insert_statement)(INSERT_SQL_BY_KEY + choice);
    if (state->query == INSERT_SQL_BY_KEY) {
        for (size_t i = 0; i < INSERT_QUERY_IDS; i++) {
            state->query_params[i] =
                random_between(&client->random, first, last > first ? last : first);
        }
        return;
    }
    uint32_t range = plan->form->indexes[choice - 1].range;
    state->query_params[0] = random_between(&client->random, 0, range - 1);
}

/* Rows whose statement failed for good are still to be inserted, by the same client. */
static unsigned choose(struct client *client)
{
    struct insert_state *state = client->state;
    if (does_query(client)) {
        draw_query(client);
        return INSERT_QUERY;
    }
    if (state->row_count == 0) {
        take_rows(client);
    }
    return INSERT_ROWS;
}

static bool is_done(struct client *client)
{
    const struct insert_plan *plan = client->plan;
    struct insert_shared *shared = plan->shared;
    const struct insert_state *state = client->state;
    pthread_mutex_lock(&shared->mutex);
    bool nothing_left = shared->left == 0;
    bool is_all_in = nothing_left && shared->under_way == 0;
    pthread_mutex_unlock(&shared->mutex);
    return does_query(client) ? is_all_in : nothing_left && state->row_count == 0;
}

/* ---- steps ---- */

static void set_params(struct call *out, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out->params[i] = (struct param){.type = PARAM_INT, .integer = values[i]};
    }
    out->param_count = count;
}

static void rows_are_in(struct client *client)
{
    const struct insert_plan *plan = client->plan;
    struct insert_shared *shared = plan->shared;
    struct insert_state *state = client->state;
    pthread_mutex_lock(&shared->mutex);
    int64_t now = clock_now_ns(); /* under the mutex, so that times do not fall */
    shared->under_way -= state->row_count;
    shared->counts.inserted += state->row_count;
    shared->counts.deleted += state->deleted;
    shared->owed += plan->spec->delete_oldest ? state->delete_count - state->deleted : 0;
    shared->first_id = plan->spec->delete_oldest ? state->delete_id : shared->first_id;
    shared->last_id += state->row_count;
    if (now >= shared->begin_ns && now < shared->end_ns) {
        insert_curve_add(&shared->curve, now, state->row_count);
    }
    pthread_mutex_unlock(&shared->mutex);
    state->row_count = 0;
}

static void call_insert(const struct client *client, struct call *out)
{
    const struct insert_plan *plan = client->plan;
    out->kind = CALL_TEXT;
    out->slot = INSERT_SQL_INSERT;
    out->sql = plan->texts + plan->text_bytes * client->number;
}

static void step_insert(struct client *client, struct call *out)
{
    struct insert_state *state = client->state;
    if (client->step == 0) {
        state->deleted = 0;
        call_insert(client, out);
        return;
    }
    rows_are_in(client);
    out->kind = CALL_END;
}

/* The rows and the oldest that go for them are one transaction. */
static void step_insert_and_delete(struct client *client, struct call *out)
{
    struct insert_state *state = client->state;
    const int64_t range[] = {state->delete_id, state->delete_id + state->delete_count};
    switch (client->step) {
    case 0:
        out->kind = CALL_BEGIN;
        break;
    case 1:
        call_insert(client, out);
        break;
    case 2:
        out->kind = CALL_STATEMENT;
        out->slot = INSERT_SQL_DELETE;
        set_params(out, range, COUNT_OF(range));
        break;
    case 3:
        state->deleted = client->session->driver->affected(client->session);
        out->kind = CALL_COMMIT;
        break;
    default:
        rows_are_in(client);
        out->kind = CALL_END;
        break;
    }
}

static void step_query(struct client *client, struct call *out)
{
    const struct insert_plan *plan = client->plan;
    struct insert_shared *shared = plan->shared;
    struct insert_state *state = client->state;
    if (client->step == 0) {
        out->kind = CALL_STATEMENT;
        out->slot = state->query;
        set_params(out, state->query_params, plan->statements[state->query].type_count);
        return;
    }
    pthread_mutex_lock(&shared->mutex);
    int64_t now = clock_now_ns();
    shared->query_count += now >= shared->begin_ns && now < shared->end_ns ? 1 : 0;
    pthread_mutex_unlock(&shared->mutex);
    out->kind = CALL_END;
}

static bool take_step(struct client *client, bool is_retry, struct call *out, struct err *err)
{
    const struct insert_plan *plan = client->plan;
    (void)is_retry;
    (void)err;
    if (client->transaction == INSERT_QUERY) {
        step_query(client, out);
    } else if (plan->spec->delete_oldest) {
        step_insert_and_delete(client, out);
    } else {
        step_insert(client, out);
    }
    return true;
}

/* ---- before and after ---- */

static bool read_ids(const struct insert_plan *plan, struct session *session, int64_t deadline,
                     struct err *err)
{
    struct insert_shared *shared = plan->shared;
    bool ok = insert_read_number(session, "select min(transactionid) from " INSERT_TABLE, 1,
                                 deadline, &shared->first_id, err) &&
              insert_read_number(session, "select max(transactionid) from " INSERT_TABLE, 0,
                                 deadline, &shared->last_id, err);
    shared->next_delete_id = shared->first_id;
    return ok;
}

/* What a run that was cut off left behind is counted, for nobody else did. */
static bool count_rows(const struct insert_plan *plan, struct session *session, int64_t deadline,
                       struct err *err)
{
    struct insert_counts *counts = &plan->shared->counts;
    int64_t rows = 0;
    if (!insert_read_number(session, "select count(*) from " INSERT_TABLE, 0, deadline, &rows,
                            err)) {
        return false;
    }
    counts->inserted = plan->shared->last_id > rows ? plan->shared->last_id : rows;
    counts->deleted = counts->inserted - rows;
    return true;
}

static bool begin_drive(const struct load_job *job, const void *data, struct session *session,
                        int64_t deadline, struct err *err)
{
    const struct insert_plan *plan = data;
    struct insert_shared *shared = plan->shared;
    enum insert_data found = INSERT_DATA_NONE;
    if (!insert_data_look_up(plan, session, deadline, &found, &shared->counts, err)) {
        return false;
    }
    if (found == INSERT_DATA_NONE) {
        err_set(err, ERR_CODE_workload, "table " INSERT_TABLE " is not as this workload asks");
        return err_hint(err, "dbsweep load insert prepare makes it");
    }
    if (!read_ids(plan, session, deadline, err) ||
        (found == INSERT_DATA_DRIVEN && !count_rows(plan, session, deadline, err))) {
        return false;
    }
    shared->left = job->workload.insert_rows > 0 ? job->workload.insert_rows : INT64_MAX;
    shared->under_way = 0;
    shared->owed = 0;
    shared->next_row = shared->counts.inserted;
    shared->query_count = 0;
    return insert_data_note(plan, session, INSERT_DATA_DRIVEN, &shared->counts, deadline, err);
}

static void open_window(const void *data, int64_t begin_ns, int64_t end_ns)
{
    const struct insert_plan *plan = data;
    pthread_mutex_lock(&plan->shared->mutex);
    plan->shared->begin_ns = begin_ns;
    plan->shared->end_ns = end_ns;
    insert_curve_open(&plan->shared->curve, begin_ns);
    pthread_mutex_unlock(&plan->shared->mutex);
}

static bool end_drive(const struct load_job *job, const void *data, struct session *session,
                      int64_t deadline, struct err *err)
{
    const struct insert_plan *plan = data;
    (void)job;
    return insert_data_note(plan, session, INSERT_DATA_USED, &plan->shared->counts, deadline, err);
}

/* ---- metrics ---- */

static const char *const decile_names[INSERT_DECILES] = {
    "decile_1_rows_per_s", "decile_2_rows_per_s", "decile_3_rows_per_s", "decile_4_rows_per_s",
    "decile_5_rows_per_s", "decile_6_rows_per_s", "decile_7_rows_per_s", "decile_8_rows_per_s",
    "decile_9_rows_per_s", "decile_10_rows_per_s"};

static bool check_complete(const struct insert_plan *plan, struct err *err)
{
    const struct insert_shared *shared = plan->shared;
    int64_t asked = plan->spec->insert_rows;
    if (asked == 0 || shared->curve.rows == asked) {
        return true;
    }
    err_set(err, ERR_CODE_timeout, "%lld of %lld rows were inserted within %g s",
            (long long)shared->curve.rows, (long long)asked,
            (double)plan->spec->complete_within_ms / 1000);
    return err_hint(err, "see workload.complete_within");
}

static bool close_window(const void *data, struct arena *arena, int64_t *end_ns,
                         struct load_metric **out, size_t *out_count, struct err *err)
{
    const struct insert_plan *plan = data;
    const struct insert_curve *curve = &plan->shared->curve;
    struct load_metric *metrics = ARENA_ARRAY(arena, struct load_metric, INSERT_DECILES + 6);
    if (metrics == NULL) {
        return err_memory(err);
    }
    if (!check_complete(plan, err)) {
        return false;
    }
    if (plan->spec->insert_rows > 0) {
        *end_ns = curve->last_ns;
    }
    struct insert_rates rates = insert_curve_rates(
        curve, EDGE_STATEMENTS * plan->spec->rows_per_insert * plan->spec->clients, *end_ns);
    double seconds = (double)(*end_ns - curve->begin_ns) / 1e9;
    size_t count = 0;
    metrics[count++] = (struct load_metric){"rows_per_s", rates.rows_per_s, "higher"};
    metrics[count++] =
        (struct load_metric){"initial_rows_per_s", rates.initial_rows_per_s, "higher"};
    metrics[count++] =
        (struct load_metric){"terminal_rows_per_s", rates.terminal_rows_per_s, "higher"};
    for (size_t i = 0; i < INSERT_DECILES; i++) {
        metrics[count++] =
            (struct load_metric){decile_names[i], rates.deciles_rows_per_s[i], "higher"};
    }
    metrics[count++] = (struct load_metric){"longest_stall_ms", rates.longest_stall_ms, "lower"};
    metrics[count++] = (struct load_metric){"rows_inserted", (double)curve->rows, "higher"};
    if (plan->spec->query_clients > 0) {
        metrics[count++] = (struct load_metric){
            "queries_per_s", (double)plan->shared->query_count / seconds, "higher"};
    }
    *out = metrics;
    *out_count = count;
    return true;
}

const struct workload workload_insert = {.kind = "insert",
                                         .plan = make_plan,
                                         .client_size = sizeof(struct insert_state),
                                         .transactions = list_transactions,
                                         .statements = list_statements,
                                         .choose = choose,
                                         .step = take_step,
                                         .is_done = is_done,
                                         .open_window = open_window,
                                         .close_window = close_window,
                                         .distribution = "uniform",
                                         .begin_drive = begin_drive,
                                         .end_drive = end_drive,
                                         .prepare = insert_prepare,
                                         .reset = insert_prepare,
                                         .check = insert_check,
                                         .cleanup = insert_cleanup};
