/*
 * The Delivery and Stock-Level transactions (clauses 2.7 and 2.8). A delivery is one transaction
 * over its ten districts, driven at once and not deferred.
 */
#include "sweeper/load/tpcc/tpcc.h"

enum { TRY_LIMIT = 5, RECENT_ORDERS = 20 };

/* ---- Delivery ---- */

enum delivery_at {
    DELIVERY_BEGIN,
    DELIVERY_OLDEST,
    DELIVERY_DELETE,
    DELIVERY_CARRIER,
    DELIVERY_ORDER,
    DELIVERY_LINES,
    DELIVERY_AMOUNT,
    DELIVERY_CUSTOMER,
    DELIVERY_COMMITTED
};

static bool call_oldest(struct client *client, struct call *out)
{
    struct tpcc_state *state = client->state;
    state->at = DELIVERY_OLDEST;
    state->tries++;
    tpcc_call(client, TPCC_SQL_DELIVERY_OLDEST, out);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, state->district);
    return true;
}

static bool next_district(struct client *client, struct call *out)
{
    struct tpcc_state *state = client->state;
    state->district++;
    state->tries = 0;
    if (state->district <= TPCC_DISTRICTS) {
        return call_oldest(client, out);
    }
    state->at = DELIVERY_COMMITTED;
    tpcc_call_control(CALL_COMMIT, out);
    return true;
}

static bool call_order(struct client *client, enum delivery_at at, enum tpcc_statement statement,
                       struct call *out)
{
    struct tpcc_state *state = client->state;
    state->at = at;
    tpcc_call(client, statement, out);
    if (statement == TPCC_SQL_DELIVERY_CARRIER) {
        tpcc_add_int(out, state->input.carrier);
    }
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, state->district);
    tpcc_add_int(out, state->order);
    return true;
}

/* A district without new orders is skipped (clause 2.7.4.2). PostgreSQL, which waited for a row
 * that another delivery took, gives none although there are others: there it is asked again. */
static bool after_oldest(struct client *client, struct call *out, struct err *err)
{
    const struct tpcc_plan *plan = client->plan;
    struct tpcc_state *state = client->state;
    bool is_found = false;
    if (!tpcc_read_number(client, 0, &state->order, &is_found, err)) {
        return false;
    }
    if (is_found) {
        return call_order(client, DELIVERY_DELETE, TPCC_SQL_DELIVERY_DELETE, out);
    }
    return plan->dialect == DIALECT_POSTGRESQL && state->tries < TRY_LIMIT
               ? call_oldest(client, out)
               : next_district(client, out);
}

/* Where a row cannot be locked by reading it, another delivery may have been quicker. */
static bool after_delete(struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    if (client->session->driver->affected(client->session) == 1) {
        return call_order(client, DELIVERY_CARRIER, TPCC_SQL_DELIVERY_CARRIER, out);
    }
    return state->tries < TRY_LIMIT ? call_oldest(client, out) : next_district(client, out);
}

static bool after_amount(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    int64_t cents = 0;
    if (!tpcc_read_number(client, 2, &cents, NULL, err)) {
        return false;
    }
    state->at = DELIVERY_CUSTOMER;
    tpcc_call(client, TPCC_SQL_DELIVERY_CUSTOMER, out);
    tpcc_add_money(out, cents);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, state->district);
    tpcc_add_int(out, state->customer);
    return true;
}

/* The order is changed before it is read: a snapshot that was taken before the order came then
 * shows it nevertheless. */
bool tpcc_delivery(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    if (client->step == 0) {
        state->at = DELIVERY_BEGIN;
        state->district = 0;
        tpcc_call_control(CALL_BEGIN, out);
        return true;
    }
    switch ((enum delivery_at)state->at) {
    case DELIVERY_BEGIN:
    case DELIVERY_CUSTOMER:
        return next_district(client, out);
    case DELIVERY_OLDEST:
        return after_oldest(client, out, err);
    case DELIVERY_DELETE:
        return after_delete(client, out);
    case DELIVERY_CARRIER:
        return call_order(client, DELIVERY_ORDER, TPCC_SQL_DELIVERY_ORDER, out);
    case DELIVERY_ORDER:
        return tpcc_read_number(client, 0, &state->customer, NULL, err) &&
               call_order(client, DELIVERY_LINES, TPCC_SQL_DELIVERY_LINES, out);
    case DELIVERY_LINES:
        return call_order(client, DELIVERY_AMOUNT, TPCC_SQL_DELIVERY_AMOUNT, out);
    case DELIVERY_AMOUNT:
        return after_amount(client, out, err);
    case DELIVERY_COMMITTED:
        tpcc_call_control(CALL_END, out);
        return true;
    }
    return err_set(err, ERR_CODE_bug, "no step of Delivery is %u", state->at);
}

/* ---- Stock-Level ---- */

enum level_at { LEVEL_BEGIN, LEVEL_DISTRICT, LEVEL_COUNT, LEVEL_COMMITTED };

static bool call_count(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    int64_t next = 0;
    if (!tpcc_read_number(client, 0, &next, NULL, err)) {
        return false;
    }
    tpcc_call(client, TPCC_SQL_STOCK_LEVEL_COUNT, out);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, state->input.district);
    tpcc_add_int(out, next);
    tpcc_add_int(out, next - RECENT_ORDERS);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_int(out, state->input.threshold);
    return true;
}

bool tpcc_stock_level(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    int64_t count = 0;
    if (client->step == 0) {
        state->at = LEVEL_BEGIN;
        tpcc_call_control(CALL_BEGIN, out);
        return true;
    }
    switch ((enum level_at)state->at++) {
    case LEVEL_BEGIN:
        tpcc_call(client, TPCC_SQL_STOCK_LEVEL_DISTRICT, out);
        tpcc_add_int(out, state->warehouse);
        tpcc_add_int(out, state->input.district);
        return true;
    case LEVEL_DISTRICT:
        return call_count(client, out, err);
    case LEVEL_COUNT:
        tpcc_call_control(CALL_COMMIT, out);
        return tpcc_read_number(client, 0, &count, NULL, err);
    case LEVEL_COMMITTED:
        tpcc_call_control(CALL_END, out);
        return true;
    }
    return err_set(err, ERR_CODE_bug, "no step of Stock-Level is %u", state->at);
}
