/*
 * Parameters into calls, and numbers and texts out of their replies.
 */
#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/load/tpcc/tpcc.h"

enum { BAD_CREDIT = 0x8000 };

void tpcc_call_control(enum call_kind kind, struct call *out)
{
    out->kind = kind;
    out->param_count = 0;
}

void tpcc_call(const struct client *client, enum tpcc_statement statement, struct call *out)
{
    const struct tpcc_plan *plan = client->plan;
    out->kind = CALL_STATEMENT;
    out->slot = plan->first_slot[statement];
    out->param_count = 0;
}

void tpcc_add_int(struct call *call, int64_t value)
{
    call->params[call->param_count++] = (struct param){.type = PARAM_INT, .integer = value};
}

void tpcc_add_money(struct call *call, int64_t cents)
{
    call->params[call->param_count++] =
        (struct param){.type = PARAM_REAL, .real = (double)cents / 100};
}

void tpcc_add_text(struct call *call, const char *text, size_t size)
{
    call->params[call->param_count++] =
        (struct param){.type = PARAM_TEXT, .text = {.data = text, .size = size}};
}

/* ---- replies ---- */

/* One digit more than wanted decides how the last is rounded. */
bool tpcc_parse(struct bytes text, unsigned decimals, int64_t *out)
{
    bool is_negative = text.size > 0 && text.data[0] == '-';
    bool has_digits = false;
    bool has_point = false;
    int64_t value = 0;
    unsigned after = 0;
    for (size_t i = is_negative ? 1 : 0; text.data != NULL && i < text.size; i++) {
        char byte = text.data[i];
        if (byte == '.' && !has_point) {
            has_point = true;
            continue;
        }
        if (byte < '0' || byte > '9' || value > INT64_MAX / 1000) {
            return false;
        }
        has_digits = true;
        if (!has_point || after <= decimals) {
            value = value * 10 + (byte - '0');
            after += has_point ? 1 : 0;
        }
    }
    for (; after < decimals + 1; after++) {
        value *= 10;
    }
    value = (value + 5) / 10;
    *out = is_negative ? -value : value;
    return has_digits;
}

static bool fail_reply(struct client *client, const char *what, struct err *err)
{
    const struct tpcc_state *state = client->state;
    return err_set(err, ERR_CODE_workload_check, "%s in warehouse %lld, district %lld", what,
                   (long long)state->warehouse, (long long)state->input.district);
}

struct number {
    unsigned decimals;
    bool is_found;
    bool is_read;
    int64_t value;
};

static bool see_number(void *context, const struct row *row)
{
    struct number *number = context;
    number->is_found = true;
    number->is_read =
        row->column_count > 0 && tpcc_parse(row->columns[0], number->decimals, &number->value);
    return false;
}

bool tpcc_read_number(struct client *client, unsigned decimals, int64_t *out, bool *out_found,
                      struct err *err)
{
    struct number number = {.decimals = decimals};
    if (!client->session->driver->rows(client->session, see_number, &number, err)) {
        return false;
    }
    if (out_found != NULL) {
        *out_found = number.is_found;
    }
    if (number.is_found && !number.is_read) {
        return fail_reply(client, "a number was expected", err);
    }
    if (!number.is_found && out_found == NULL) {
        return fail_reply(client, "a row is missing", err);
    }
    *out = number.value;
    return true;
}

struct copy {
    size_t column;
    char *out;
    size_t size;
    size_t *out_size;
    int64_t *out_number;
    bool is_read;
};

static bool see_text(void *context, const struct row *row)
{
    struct copy *copy = context;
    if (copy->out_number != NULL && !tpcc_parse(row->columns[0], 0, copy->out_number)) {
        return false;
    }
    if (copy->column < row->column_count && row->columns[copy->column].data != NULL) {
        const struct bytes *text = &row->columns[copy->column];
        bytes_text(*text, copy->out, copy->size);
        *copy->out_size = strlen(copy->out);
        copy->is_read = true;
    }
    return false;
}

static bool read_text(struct client *client, struct copy *copy, struct err *err)
{
    if (!client->session->driver->rows(client->session, see_text, copy, err)) {
        return false;
    }
    return copy->is_read || fail_reply(client, "a value is missing", err);
}

bool tpcc_read_text(struct client *client, size_t column, char *out, size_t size, size_t *out_size,
                    struct err *err)
{
    struct copy copy = {.column = column, .out = out, .size = size, .out_size = out_size};
    return read_text(client, &copy, err);
}

bool tpcc_read_stock(struct client *client, int64_t *out_quantity, struct err *err)
{
    struct tpcc_state *state = client->state;
    struct copy copy = {.column = 1,
                        .out = state->text,
                        .size = TPCC_DIST_BYTES + 1,
                        .out_size = &state->text_size,
                        .out_number = out_quantity};
    return read_text(client, &copy, err);
}

struct customers {
    uint16_t *found;
    size_t count;
    bool is_wrong;
};

static bool see_customer(void *context, const struct row *row)
{
    struct customers *customers = context;
    int64_t number = 0;
    customers->is_wrong = row->column_count < 2 || !tpcc_parse(row->columns[0], 0, &number) ||
                          number < 1 || number > TPCC_CUSTOMERS ||
                          customers->count == TPCC_CUSTOMERS || row->columns[1].data == NULL;
    if (customers->is_wrong) {
        return false;
    }
    bool is_bad = row->columns[1].size == 2 && memcmp(row->columns[1].data, "BC", 2) == 0;
    customers->found[customers->count++] = (uint16_t)(number | (is_bad ? BAD_CREDIT : 0));
    return true;
}

bool tpcc_read_customer(struct client *client, struct err *err)
{
    struct tpcc_state *state = client->state;
    struct customers customers = {.found = state->found};
    if (!client->session->driver->rows(client->session, see_customer, &customers, err)) {
        return false;
    }
    if (customers.count == 0 || customers.is_wrong) {
        return fail_reply(client, "a customer is missing", err);
    }
    uint16_t chosen = customers.found[(customers.count + 1) / 2 - 1];
    state->customer = chosen & ~BAD_CREDIT;
    state->has_bad_credit = (chosen & BAD_CREDIT) != 0;
    return true;
}
