/*
 * The script workload as the driver sees it: each file is a transaction. A client draws a file by
 * weight and walks over its items. A conflict sends it back to the last place where nothing was
 * uncommitted, with the same random numbers.
 */
#include "sweeper/load/script/script.h"

#include <math.h>
#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/host/host.h"

enum { SLOT_LIMIT = 256, REHEARSALS = 20, LONGEST_PAUSE = 10 };
#define TEXTS_LIMIT_BYTES ((size_t)1 << 30)

/* ---- what is prepared ---- */

static bool same_statement(const struct workload_statement *a, const struct workload_statement *b)
{
    return a->transaction == b->transaction && a->type_count == b->type_count &&
           strcmp(a->sql, b->sql) == 0 && strcmp(a->name, b->name) == 0 &&
           memcmp(a->types, b->types, a->type_count * sizeof a->types[0]) == 0;
}

static bool fail_statement(const struct script_file *file, const struct script_item *item,
                           struct err *err)
{
    return err_origin(err, "%s:%d", file->path, item->line);
}

/* Without a label, statements that begin alike are told apart by their lines. */
static bool name_statement(struct script_plan *plan, const struct script_item *item,
                           struct workload_statement *statement, struct arena *arena)
{
    for (size_t i = 0; item->label == NULL && i < plan->statement_count; i++) {
        const struct workload_statement *other = &plan->statements[i];
        if (other->transaction == statement->transaction &&
            strcmp(other->name, statement->name) == 0 && strcmp(other->sql, statement->sql) != 0) {
            statement->name = arena_printf(arena, "%s (line %d)", item->name, item->line);
            break;
        }
    }
    return statement->name != NULL;
}

static bool add_statement(struct script_plan *plan, unsigned transaction, struct script_item *item,
                          struct arena *arena, struct err *err)
{
    const struct script_file *file = &plan->files[transaction];
    struct workload_statement statement = {.transaction = transaction,
                                           .name = item->name,
                                           .sql = item->sql,
                                           .type_count = item->param_count};
    size_t count = 0;
    if (item->param_count > LOAD_PARAM_LIMIT) {
        err_set(err, ERR_CODE_sweep_file, "the statement has %zu variables, more than %d",
                item->param_count, LOAD_PARAM_LIMIT);
        return fail_statement(file, item, err);
    }
    for (size_t i = 0; i < item->piece_count; i++) {
        if (item->pieces[i].variable != SCRIPT_NONE) {
            statement.types[count++] = plan->variables.rows[item->pieces[i].variable].type;
        }
    }
    if (!name_statement(plan, item, &statement, arena)) {
        return err_memory(err);
    }
    for (unsigned slot = 0; slot < plan->statement_count; slot++) {
        if (same_statement(&plan->statements[slot], &statement)) {
            item->slot = slot;
            return true;
        }
    }
    if (plan->statement_count == SLOT_LIMIT) {
        err_set(err, ERR_CODE_sweep_file, "the scripts have more than %d statements", SLOT_LIMIT);
        return fail_statement(file, item, err);
    }
    item->slot = (unsigned)plan->statement_count;
    plan->statements[plan->statement_count++] = statement;
    return true;
}

static bool add_statements(struct script_plan *plan, struct arena *arena, struct err *err)
{
    for (unsigned i = 0; i < plan->file_count; i++) {
        struct script_file *file = &plan->files[i];
        struct script_item *items = ARENA_ARRAY(arena, struct script_item, file->item_count);
        if (items == NULL) {
            return err_memory(err);
        }
        memcpy(items, file->items, file->item_count * sizeof *items);
        file->items = items;
        for (size_t j = 0; j < file->item_count; j++) {
            if (items[j].kind == SCRIPT_STATEMENT &&
                !add_statement(plan, i, &items[j], arena, err)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- values ---- */

static bool set_variable(const struct script_plan *plan, const struct script_file *file,
                         const struct script_item *item, struct random *random,
                         struct script_value *values, enum err_code code, struct err *err)
{
    return script_evaluate(&item->expression, values, random, code, &values[item->variable], err) ||
           (err_origin(err, "%s:%d", file->path, item->line),
            err_while(err, "setting :%s", plan->variables.rows[item->variable].name));
}

/* What an expression cannot give is best known before anything is touched: some draws of the first
 * and of the last client. */
static bool rehearse(const struct script_plan *plan, const struct script_file *file,
                     struct err *err)
{
    struct script_value values[SCRIPT_VARIABLE_LIMIT];
    struct random random;
    for (int i = 0; i < REHEARSALS; i++) {
        int64_t client = i % 2 == 0 ? 0 : plan->spec->clients - 1;
        random_seed(&random, (uint64_t)plan->spec->seed, (uint64_t)i);
        script_variables_fill(&plan->variables, (uint32_t)client, values);
        for (size_t j = 0; j < file->item_count; j++) {
            const struct script_item *item = &file->items[j];
            if (item->kind == SCRIPT_SET &&
                !set_variable(plan, file, item, &random, values, ERR_CODE_sweep_file, err)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- plan ---- */

static bool uses(const struct script_file *file, unsigned variable)
{
    for (size_t i = 0; i < file->item_count; i++) {
        const struct script_item *item = &file->items[i];
        for (size_t j = 0; j < item->piece_count; j++) {
            if (item->pieces[j].variable == variable) {
                return true;
            }
        }
        for (size_t j = 0; j < item->expression.op_count; j++) {
            const struct script_op *op = &item->expression.ops[j];
            if (op->kind == SCRIPT_OP_VARIABLE && op->variable == variable) {
                return true;
            }
        }
    }
    return false;
}

/* What the setup makes: its text, and all that can change what it means. */
static bool hash_setup(struct script_plan *plan, struct arena *arena, struct err *err)
{
    const struct workload_spec *spec = plan->spec;
    struct text all;
    text_open(&all, arena);
    text_add(&all, spec->setup_script.text != NULL ? spec->setup_script.text : "");
    for (const char *const *word = spec->variables; word != NULL && *word != NULL; word++) {
        text_addf(&all, "\n%s", *word);
    }
    text_addf(&all, "\n%lld", (long long)spec->seed);
    if (uses(&plan->setup, plan->variables.clients)) {
        text_addf(&all, " %lld", (long long)spec->clients);
    }
    if (text_done(&all) == NULL) {
        return err_memory(err);
    }
    host_sha256((struct bytes){.data = all.data, .size = all.size}, plan->setup_hash);
    return true;
}

static bool read_setup(struct script_plan *plan, const struct load_script *script,
                       struct script_file *out, struct arena *arena, struct err *err)
{
    return script->text == NULL ||
           (script_read(script, plan->dialect, &plan->variables, arena, out, err) &&
            rehearse(plan, out, err));
}

static bool read_files(struct script_plan *plan, struct arena *arena, struct err *err)
{
    const struct workload_spec *spec = plan->spec;
    plan->files = ARENA_ARRAY(arena, struct script_file, spec->script_count + 1);
    plan->names = ARENA_ARRAY(arena, const char *, spec->script_count + 1);
    if (plan->files == NULL || plan->names == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < spec->script_count; i++) {
        struct script_file *file = &plan->files[plan->file_count++];
        if (!script_read(&spec->scripts[i], plan->dialect, &plan->variables, arena, file, err) ||
            !rehearse(plan, file, err)) {
            return false;
        }
        plan->names[i] = file->name;
        plan->weight_sum += file->weight;
    }
    return true;
}

/* Where nothing is prepared, each client has room for the longest statement. */
static bool make_texts(struct script_plan *plan, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < plan->file_count; i++) {
        for (size_t j = 0; j < plan->files[i].item_count; j++) {
            size_t size = script_text_bytes(&plan->files[i].items[j], &plan->variables);
            plan->text_bytes = size > plan->text_bytes ? size : plan->text_bytes;
        }
    }
    plan->text_limit = (size_t)plan->spec->clients;
    if (plan->spec->prepared) {
        return true;
    }
    if (plan->text_bytes > TEXTS_LIMIT_BYTES / plan->text_limit) {
        err_set(err, ERR_CODE_sweep_file, "%zu clients with statements of %zu bytes are too many",
                plan->text_limit, plan->text_bytes);
        return err_hint(err, "prepared = true; needs no room for them");
    }
    plan->texts = arena_alloc_array(arena, plan->text_limit, plan->text_bytes);
    return plan->texts != NULL || err_memory(err);
}

static bool make_plan(const struct workload_spec *spec, enum dialect dialect, struct arena *arena,
                      const void **out, struct err *err)
{
    struct script_plan *plan = ARENA_NEW(arena, struct script_plan);
    if (plan == NULL) {
        return err_memory(err);
    }
    plan->spec = spec;
    plan->dialect = dialect;
    plan->shared = ARENA_NEW(arena, struct script_shared);
    plan->statements = ARENA_ARRAY(arena, struct workload_statement, SLOT_LIMIT);
    if (plan->shared == NULL || plan->statements == NULL) {
        return err_memory(err);
    }
    *out = plan;
    return script_variables_open(spec, dialect, arena, &plan->variables, err) &&
           read_files(plan, arena, err) &&
           read_setup(plan, &spec->setup_script, &plan->setup, arena, err) &&
           read_setup(plan, &spec->teardown_script, &plan->teardown, arena, err) &&
           hash_setup(plan, arena, err) && add_statements(plan, arena, err) &&
           make_texts(plan, arena, err);
}

static size_t list_transactions(const void *data, const char *const **out_names)
{
    const struct script_plan *plan = data;
    *out_names = plan->names;
    return plan->file_count;
}

static size_t list_statements(const void *data, const struct workload_statement **out)
{
    const struct script_plan *plan = data;
    *out = plan->statements;
    return plan->statement_count;
}

static bool plan_writes(const void *data)
{
    const struct script_plan *plan = data;
    for (size_t i = 0; i < plan->file_count; i++) {
        if (plan->files[i].writes) {
            return true;
        }
    }
    return false;
}

/* ---- clients ---- */

static unsigned choose(struct client *client)
{
    const struct script_plan *plan = client->plan;
    int64_t drawn = random_between(&client->random, 1, plan->weight_sum);
    unsigned file = 0;
    while (drawn > plan->files[file].weight) {
        drawn -= plan->files[file++].weight;
    }
    return file;
}

/* Exponential around its mean, so that clients do not move in step, and never without end. */
static int64_t pause_ns(struct client *client)
{
    const struct script_plan *plan = client->plan;
    double mean_ns = (double)plan->spec->think_time_ms * 1e6;
    if (plan->spec->think_time_ms == 0) {
        return 0;
    }
    return (int64_t)(mean_ns * fmin(-log(1 - random_unit(&client->random)), LONGEST_PAUSE));
}

static bool open_state(struct client *client, struct err *err)
{
    const struct script_plan *plan = client->plan;
    struct script_state *state = client->state;
    script_variables_fill(&plan->variables, client->number, state->values);
    if (plan->texts != NULL) {
        size_t taken = atomic_fetch_add(&plan->shared->text_count, 1);
        if (taken >= plan->text_limit) {
            return err_set(err, ERR_CODE_bug, "more clients than %zu", plan->text_limit);
        }
        state->text = plan->texts + taken * plan->text_bytes;
    }
    state->is_open = true;
    return true;
}

/* All before this is done, and no retry may do it again. */
static void keep_place(const struct script_plan *plan, struct client *client)
{
    struct script_state *state = client->state;
    state->place.item = state->item;
    state->place.random = client->random;
    memcpy(state->place.values, state->values, plan->variables.count * sizeof state->values[0]);
}

static void go_back(const struct script_plan *plan, struct client *client)
{
    struct script_state *state = client->state;
    state->item = state->place.item;
    client->random = state->place.random;
    memcpy(state->values, state->place.values, plan->variables.count * sizeof state->values[0]);
    state->in_transaction = false;
}

static void fill_params(const struct script_plan *plan, const struct script_item *item,
                        const struct script_value *values, struct call *out)
{
    out->param_count = 0;
    for (size_t i = 0; i < item->piece_count; i++) {
        unsigned at = item->pieces[i].variable;
        if (at == SCRIPT_NONE) {
            continue;
        }
        const struct script_variable *variable = &plan->variables.rows[at];
        struct param *param = &out->params[out->param_count++];
        *param = (struct param){.type = variable->type, .text = variable->text};
        if (variable->type == PARAM_INT) {
            param->integer = values[at].integer;
        } else if (variable->type == PARAM_REAL) {
            param->real = values[at].real;
        }
    }
}

static void fill_call(const struct script_plan *plan, const struct script_item *item,
                      struct script_state *state, struct call *out)
{
    static const enum call_kind kinds[] = {[SCRIPT_STATEMENT] = CALL_STATEMENT,
                                           [SCRIPT_BEGIN] = CALL_BEGIN,
                                           [SCRIPT_COMMIT] = CALL_COMMIT,
                                           [SCRIPT_ROLLBACK] = CALL_ROLLBACK};
    out->kind = kinds[item->kind];
    if (item->kind != SCRIPT_STATEMENT) {
        state->in_transaction = item->kind == SCRIPT_BEGIN;
        return;
    }
    out->slot = item->slot;
    if (plan->texts == NULL) {
        fill_params(plan, item, state->values, out);
        return;
    }
    script_text_fill(item, &plan->variables, state->values, state->text);
    out->kind = CALL_TEXT;
    out->sql = state->text;
}

static bool take_step(struct client *client, bool is_retry, struct call *out, struct err *err)
{
    const struct script_plan *plan = client->plan;
    const struct script_file *file = &plan->files[client->transaction];
    struct script_state *state = client->state;
    if (!state->is_open && !open_state(client, err)) {
        return false;
    }
    if (client->step == 0 && is_retry) {
        go_back(plan, client);
    } else if (client->step == 0) {
        state->item = 0;
        state->in_transaction = false;
    }
    if (!state->in_transaction) {
        keep_place(plan, client);
    }
    for (; state->item < file->item_count; state->item++) {
        const struct script_item *item = &file->items[state->item];
        if (item->kind != SCRIPT_SET) {
            state->item++;
            fill_call(plan, item, state, out);
            return true;
        }
        if (!set_variable(plan, file, item, &client->random, state->values, ERR_CODE_workload,
                          err)) {
            return false;
        }
    }
    out->kind = CALL_END;
    return true;
}

const struct workload workload_script = {.kind = "script",
                                         .plan = make_plan,
                                         .client_size = sizeof(struct script_state),
                                         .transactions = list_transactions,
                                         .statements = list_statements,
                                         .writes = plan_writes,
                                         .choose = choose,
                                         .step = take_step,
                                         .pause_ns = pause_ns,
                                         .distribution = "as the scripts say",
                                         .begin_drive = script_begin_drive,
                                         .prepare = script_prepare,
                                         .reset = script_prepare,
                                         .cleanup = script_cleanup};
