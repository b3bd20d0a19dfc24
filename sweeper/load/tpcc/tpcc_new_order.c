/*
 * The New-Order transaction (clause 2.4): the backbone, 23 to 53 statements and their controls.
 * What a terminal only shows, the total with taxes and discount, is read and not computed.
 */
#include "sweeper/load/tpcc/tpcc.h"

enum at {
    AT_BEGIN,
    AT_WAREHOUSE,
    AT_CUSTOMER,
    AT_DISTRICT,
    AT_NEXT,
    AT_ORDERS,
    AT_NEW_ORDER,
    AT_ITEM,
    AT_STOCK,
    AT_STOCK_UPDATE,
    AT_LINE,
    AT_COMMITTED,
    AT_ROLLED_BACK
};

static int64_t count_remote(const struct tpcc_state *state)
{
    int64_t remote = 0;
    for (size_t i = 0; i < state->input.line_count; i++) {
        remote += state->input.lines[i].supply != state->warehouse ? 1 : 0;
    }
    return remote;
}

static bool call_district(struct client *client, enum tpcc_statement statement, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_call(client, statement, out);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, state->input.district);
    return true;
}

static bool call_customer(struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    call_district(client, TPCC_SQL_NEW_ORDER_CUSTOMER, out);
    tpcc_add_int(out, state->input.customer);
    return true;
}

static bool call_orders(struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_call(client, TPCC_SQL_NEW_ORDER_ORDERS, out);
    tpcc_add_int(out, state->order);
    tpcc_add_int(out, state->input.district);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, state->input.customer);
    tpcc_add_int(out, (int64_t)state->input.line_count);
    tpcc_add_int(out, count_remote(state) == 0 ? 1 : 0);
    return true;
}

static bool call_new_order(struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_call(client, TPCC_SQL_NEW_ORDER_NEW_ORDER, out);
    tpcc_add_int(out, state->order);
    tpcc_add_int(out, state->input.district);
    tpcc_add_int(out, state->warehouse);
    return true;
}

/* ---- lines ---- */

static bool call_item(struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_call(client, TPCC_SQL_NEW_ORDER_ITEM, out);
    tpcc_add_int(out, state->input.lines[state->line].item);
    return true;
}

/* An item that is not there is the terminal's mistake: all is undone, and that is the end. */
static bool after_item(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    const struct tpcc_line *line = &state->input.lines[state->line];
    bool is_found = false;
    if (!tpcc_read_number(client, 2, &state->price_cents, &is_found, err)) {
        return false;
    }
    if (!is_found && line->item <= TPCC_ITEMS) {
        return err_set(err, ERR_CODE_workload_check, "item %lld is missing", (long long)line->item);
    }
    if (!is_found) {
        tpcc_call_control(CALL_ROLLBACK, out);
        state->at = AT_ROLLED_BACK;
        return true;
    }
    tpcc_call(client, TPCC_SQL_NEW_ORDER_STOCK, out);
    out->slot += (unsigned)(state->input.district - 1);
    tpcc_add_int(out, line->supply);
    tpcc_add_int(out, line->item);
    state->at = AT_STOCK;
    return true;
}

static bool after_stock(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    const struct tpcc_line *line = &state->input.lines[state->line];
    int64_t quantity = 0;
    if (!tpcc_read_stock(client, &quantity, err)) {
        return false;
    }
    quantity -= line->quantity;
    tpcc_call(client, TPCC_SQL_NEW_ORDER_STOCK_UPDATE, out);
    tpcc_add_int(out, quantity >= 10 ? quantity : quantity + 91);
    tpcc_add_int(out, line->quantity);
    tpcc_add_int(out, line->supply != state->warehouse ? 1 : 0);
    tpcc_add_int(out, line->supply);
    tpcc_add_int(out, line->item);
    return true;
}

static bool call_line(struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    const struct tpcc_line *line = &state->input.lines[state->line];
    tpcc_call(client, TPCC_SQL_NEW_ORDER_LINE, out);
    tpcc_add_int(out, state->order);
    tpcc_add_int(out, state->input.district);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, (int64_t)state->line + 1);
    tpcc_add_int(out, line->item);
    tpcc_add_int(out, line->supply);
    tpcc_add_int(out, line->quantity);
    tpcc_add_money(out, line->quantity * state->price_cents);
    tpcc_add_text(out, state->text, state->text_size);
    return true;
}

static bool after_line(struct client *client, struct call *out)
{
    struct tpcc_state *state = client->state;
    state->line++;
    if (state->line < state->input.line_count) {
        state->at = AT_ITEM;
        return call_item(client, out);
    }
    tpcc_call_control(CALL_COMMIT, out);
    state->at = AT_COMMITTED;
    return true;
}

/* ---- all of it ---- */

static bool end(const struct client *client, bool is_committed, struct call *out)
{
    const struct tpcc_plan *plan = client->plan;
    if (is_committed) {
        atomic_fetch_add_explicit(&plan->shared->new_orders, 1, memory_order_relaxed);
    }
    tpcc_call_control(is_committed ? CALL_END : CALL_END_ABORTED, out);
    return true;
}

/* `at` names the call that was answered. */
bool tpcc_new_order(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    if (client->step == 0) {
        state->line = 0;
        state->at = AT_BEGIN;
        tpcc_call_control(CALL_BEGIN, out);
        return true;
    }
    switch ((enum at)state->at) {
    case AT_BEGIN:
        state->at = AT_WAREHOUSE;
        tpcc_call(client, TPCC_SQL_NEW_ORDER_WAREHOUSE, out);
        tpcc_add_int(out, state->warehouse);
        return true;
    case AT_WAREHOUSE:
        state->at = AT_CUSTOMER;
        return call_customer(client, out);
    case AT_CUSTOMER:
        state->at = AT_DISTRICT;
        return call_district(client, TPCC_SQL_NEW_ORDER_DISTRICT, out);
    case AT_DISTRICT:
        state->at = AT_NEXT;
        return tpcc_read_number(client, 0, &state->order, NULL, err) &&
               call_district(client, TPCC_SQL_NEW_ORDER_NEXT, out);
    case AT_NEXT:
        state->at = AT_ORDERS;
        return call_orders(client, out);
    case AT_ORDERS:
        state->at = AT_NEW_ORDER;
        return call_new_order(client, out);
    case AT_NEW_ORDER:
        state->at = AT_ITEM;
        return call_item(client, out);
    case AT_ITEM:
        return after_item(client, out, err);
    case AT_STOCK:
        state->at = AT_STOCK_UPDATE;
        return after_stock(client, out, err);
    case AT_STOCK_UPDATE:
        state->at = AT_LINE;
        return call_line(client, out);
    case AT_LINE:
        return after_line(client, out);
    case AT_COMMITTED:
    case AT_ROLLED_BACK:
        return end(client, state->at == AT_COMMITTED, out);
    }
    return err_set(err, ERR_CODE_bug, "no step of New-Order is %u", state->at);
}
