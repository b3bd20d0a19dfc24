/*
 * The Payment and Order-Status transactions (clauses 2.5 and 2.6), which choose their customers in
 * the same way.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/load/tpcc/tpcc.h"

enum { NAME_BYTES = 10 };

/* ---- customers ---- */

static bool call_choice(const struct client *client, enum tpcc_statement by_name,
                        enum tpcc_statement by_id, struct call *out)
{
    const struct tpcc_state *state = client->state;
    const struct tpcc_input *input = &state->input;
    tpcc_call(client, input->customer == 0 ? by_name : by_id, out);
    tpcc_add_int(out, input->customer_warehouse);
    tpcc_add_int(out, input->customer_district);
    if (input->customer == 0) {
        tpcc_add_text(out, input->last_name, input->last_name_size);
    } else {
        tpcc_add_int(out, input->customer);
    }
    return true;
}

static void add_customer(const struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_add_int(out, state->input.customer_warehouse);
    tpcc_add_int(out, state->input.customer_district);
    tpcc_add_int(out, state->customer);
}

/* ---- Payment ---- */

enum payment_at {
    PAYMENT_BEGIN,
    PAYMENT_WAREHOUSE_UPDATE,
    PAYMENT_WAREHOUSE,
    PAYMENT_DISTRICT_UPDATE,
    PAYMENT_DISTRICT,
    PAYMENT_CUSTOMER,
    PAYMENT_DATA,
    PAYMENT_UPDATE,
    PAYMENT_HISTORY,
    PAYMENT_COMMITTED
};

static bool call_place(const struct client *client, enum tpcc_statement statement, bool is_update,
                       bool is_district, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_call(client, statement, out);
    if (is_update) {
        tpcc_add_money(out, state->input.amount_cents);
    }
    tpcc_add_int(out, state->warehouse);
    if (is_district) {
        tpcc_add_int(out, state->input.district);
    }
    return true;
}

/* h_data: both names, four blanks between them. */
static bool keep_warehouse_name(struct client *client, struct err *err)
{
    struct tpcc_state *state = client->state;
    return tpcc_read_text(client, 0, state->names, NAME_BYTES + 1, &state->names_size, err);
}

static bool keep_district_name(struct client *client, struct err *err)
{
    struct tpcc_state *state = client->state;
    char *at = state->names + state->names_size;
    size_t size = 0;
    memcpy(at, "    ", 4);
    if (!tpcc_read_text(client, 0, at + 4, NAME_BYTES + 1, &size, err)) {
        return false;
    }
    state->names_size += 4 + size;
    return true;
}

static bool call_update(const struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_call(client,
              state->has_bad_credit ? TPCC_SQL_PAYMENT_DATA_UPDATE
                                    : TPCC_SQL_PAYMENT_CUSTOMER_UPDATE,
              out);
    tpcc_add_money(out, state->input.amount_cents);
    tpcc_add_money(out, state->input.amount_cents);
    if (state->has_bad_credit) {
        tpcc_add_text(out, state->text, state->text_size);
    }
    add_customer(client, out);
    return true;
}

static bool after_customer(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    if (!tpcc_read_customer(client, err)) {
        return false;
    }
    if (!state->has_bad_credit) {
        state->at = PAYMENT_UPDATE;
        return call_update(client, out);
    }
    state->at = PAYMENT_DATA;
    tpcc_call(client, TPCC_SQL_PAYMENT_DATA, out);
    add_customer(client, out);
    return true;
}

/* This payment stands before what was there, and all is cut at 500. */
static bool after_data(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    const struct tpcc_input *input = &state->input;
    char old[TPCC_CUSTOMER_DATA_BYTES + 1];
    size_t size = 0;
    if (!tpcc_read_text(client, 0, old, sizeof old, &size, err)) {
        return false;
    }
    int before = snprintf(state->text, sizeof state->text, "%lld %lld %lld %lld %lld %lld.%02lld ",
                          (long long)state->customer, (long long)input->customer_district,
                          (long long)input->customer_warehouse, (long long)input->district,
                          (long long)state->warehouse, (long long)(input->amount_cents / 100),
                          (long long)(input->amount_cents % 100));
    size_t room = TPCC_CUSTOMER_DATA_BYTES - (size_t)before;
    size = size < room ? size : room;
    memcpy(state->text + before, old, size);
    state->text_size = (size_t)before + size;
    return call_update(client, out);
}

static bool call_history(const struct client *client, struct call *out)
{
    const struct tpcc_state *state = client->state;
    tpcc_call(client, TPCC_SQL_PAYMENT_HISTORY, out);
    tpcc_add_int(out, state->customer);
    tpcc_add_int(out, state->input.customer_district);
    tpcc_add_int(out, state->input.customer_warehouse);
    tpcc_add_int(out, state->input.district);
    tpcc_add_int(out, state->warehouse);
    tpcc_add_money(out, state->input.amount_cents);
    tpcc_add_text(out, state->names, state->names_size);
    return true;
}

bool tpcc_payment(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    if (client->step == 0) {
        state->at = PAYMENT_BEGIN;
        tpcc_call_control(CALL_BEGIN, out);
        return true;
    }
    switch ((enum payment_at)state->at++) {
    case PAYMENT_BEGIN:
        return call_place(client, TPCC_SQL_PAYMENT_WAREHOUSE_UPDATE, true, false, out);
    case PAYMENT_WAREHOUSE_UPDATE:
        return call_place(client, TPCC_SQL_PAYMENT_WAREHOUSE, false, false, out);
    case PAYMENT_WAREHOUSE:
        return keep_warehouse_name(client, err) &&
               call_place(client, TPCC_SQL_PAYMENT_DISTRICT_UPDATE, true, true, out);
    case PAYMENT_DISTRICT_UPDATE:
        return call_place(client, TPCC_SQL_PAYMENT_DISTRICT, false, true, out);
    case PAYMENT_DISTRICT:
        return keep_district_name(client, err) &&
               call_choice(client, TPCC_SQL_PAYMENT_BY_NAME, TPCC_SQL_PAYMENT_BY_ID, out);
    case PAYMENT_CUSTOMER:
        return after_customer(client, out, err);
    case PAYMENT_DATA:
        return after_data(client, out, err);
    case PAYMENT_UPDATE:
        return call_history(client, out);
    case PAYMENT_HISTORY:
        tpcc_call_control(CALL_COMMIT, out);
        return true;
    case PAYMENT_COMMITTED:
        tpcc_call_control(CALL_END, out);
        return true;
    }
    return err_set(err, ERR_CODE_bug, "no step of Payment is %u", state->at);
}

/* ---- Order-Status ---- */

enum status_at { STATUS_BEGIN, STATUS_CUSTOMER, STATUS_ORDER, STATUS_LINES, STATUS_COMMITTED };

static bool call_last_order(struct client *client, struct call *out, struct err *err)
{
    if (!tpcc_read_customer(client, err)) {
        return false;
    }
    tpcc_call(client, TPCC_SQL_ORDER_STATUS_ORDER, out);
    add_customer(client, out);
    return true;
}

static bool call_lines(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    if (!tpcc_read_number(client, 0, &state->order, NULL, err)) {
        return false;
    }
    tpcc_call(client, TPCC_SQL_ORDER_STATUS_LINES, out);
    tpcc_add_int(out, state->input.customer_warehouse);
    tpcc_add_int(out, state->input.customer_district);
    tpcc_add_int(out, state->order);
    return true;
}

bool tpcc_order_status(struct client *client, struct call *out, struct err *err)
{
    struct tpcc_state *state = client->state;
    int64_t item = 0;
    if (client->step == 0) {
        state->at = STATUS_BEGIN;
        tpcc_call_control(CALL_BEGIN, out);
        return true;
    }
    switch ((enum status_at)state->at++) {
    case STATUS_BEGIN:
        return call_choice(client, TPCC_SQL_ORDER_STATUS_BY_NAME, TPCC_SQL_ORDER_STATUS_BY_ID, out);
    case STATUS_CUSTOMER:
        return call_last_order(client, out, err);
    case STATUS_ORDER:
        return call_lines(client, out, err);
    case STATUS_LINES:
        tpcc_call_control(CALL_COMMIT, out);
        return tpcc_read_number(client, 0, &item, NULL, err);
    case STATUS_COMMITTED:
        tpcc_call_control(CALL_END, out);
        return true;
    }
    return err_set(err, ERR_CODE_bug, "no step of Order-Status is %u", state->at);
}
