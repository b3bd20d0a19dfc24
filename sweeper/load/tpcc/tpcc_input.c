/*
 * What a terminal does by itself: which transaction follows, how long it rests before, and what is
 * entered (clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1 and 5.2.5).
 */
#include <math.h>
#include <stdlib.h>

#include "sweeper/load/tpcc/tpcc.h"

enum { REMOTE_LINE_PCT = 1, REMOTE_PAYMENT_PCT = 15, THINK_LIMIT = 10 };

/* ---- rests ---- */

static const struct {
    double keying_s;
    double think_s; /* mean */
} times[TPCC_TRANSACTIONS] = {[TPCC_NEW_ORDER] = {18, 12},
                              [TPCC_PAYMENT] = {3, 12},
                              [TPCC_ORDER_STATUS] = {2, 10},
                              [TPCC_DELIVERY] = {2, 5},
                              [TPCC_STOCK_LEVEL] = {2, 5}};

/* Negative exponential, cut at ten times the mean. */
static double draw_think_s(struct random *random, double mean_s)
{
    double drawn = -log(1 - random_unit(random));
    return mean_s * (drawn < THINK_LIMIT ? drawn : THINK_LIMIT);
}

/* The first rest has a think time too, or all terminals would start as one. */
int64_t tpcc_pause_ns(struct client *client)
{
    const struct tpcc_plan *plan = client->plan;
    struct tpcc_state *state = client->state;
    const struct workload_spec *spec = plan->spec;
    state->next = tpcc_deck_draw(&state->deck, &client->random);
    state->has_next = true;
    if (spec->keying <= 0 && spec->think <= 0) {
        return 0;
    }
    unsigned last = state->has_rested ? client->transaction : state->next;
    state->has_rested = true;
    double rest_s = spec->think * draw_think_s(&client->random, times[last].think_s) +
                    spec->keying * times[state->next].keying_s;
    return (int64_t)(rest_s * 1e9);
}

unsigned tpcc_choose(struct client *client)
{
    struct tpcc_state *state = client->state;
    if (!state->has_next) {
        state->next = tpcc_deck_draw(&state->deck, &client->random);
    }
    state->has_next = false;
    return state->next;
}

/* ---- homes ---- */

/* A terminal belongs to one warehouse, and for Stock-Level to one of its districts. */
static void settle_down(const struct tpcc_plan *plan, struct client *client)
{
    struct tpcc_state *state = client->state;
    int64_t warehouses = plan->spec->warehouses;
    int64_t terminals = plan->spec->terminals;
    int64_t number = client->number;
    state->warehouse = (terminals > 0 ? number / terminals : number) % warehouses + 1;
    int64_t terminal = terminals > 0 ? number % terminals : number / warehouses;
    state->stock_level_district = terminal % TPCC_DISTRICTS + 1;
}

static int64_t draw_other(struct random *random, int64_t home, int64_t warehouses)
{
    int64_t other = random_between(random, 1, warehouses - 1);
    return other < home ? other : other + 1;
}

static bool draw_pct(struct random *random, double pct)
{
    return 100 * random_unit(random) < pct;
}

/* ---- inputs ---- */

static int compare_lines(const void *left, const void *right)
{
    const struct tpcc_line *a = left;
    const struct tpcc_line *b = right;
    if (a->supply != b->supply) {
        return a->supply < b->supply ? -1 : 1;
    }
    return (a->item > b->item) - (a->item < b->item);
}

/* Lines go in the order of their stock rows, so that two orders seldom wait for each other in a
 * ring; the unused item stays the last, since all before it must be undone. */
static void draw_lines(const struct tpcc_plan *plan, struct client *client)
{
    struct tpcc_state *state = client->state;
    struct tpcc_input *input = &state->input;
    struct random *random = &client->random;
    int64_t warehouses = plan->spec->warehouses;
    input->line_count = (size_t)random_between(random, TPCC_LINES_LEAST, TPCC_LINES_MOST);
    for (size_t i = 0; i < input->line_count; i++) {
        struct tpcc_line *line = &input->lines[i];
        bool is_remote = warehouses > 1 && random_between(random, 1, 100) <= REMOTE_LINE_PCT;
        line->item = tpcc_nurand(random, 8191, 1, TPCC_ITEMS, plan->constants.item);
        line->supply =
            is_remote ? draw_other(random, state->warehouse, warehouses) : state->warehouse;
        line->quantity = random_between(random, 1, 10);
    }
    qsort(input->lines, input->line_count, sizeof input->lines[0], compare_lines);
    if (input->ends_aborted) {
        input->lines[input->line_count - 1].item = TPCC_ITEMS + 1;
    }
}

static void draw_customer(const struct tpcc_plan *plan, struct client *client)
{
    struct tpcc_input *input = &((struct tpcc_state *)client->state)->input;
    struct random *random = &client->random;
    if (draw_pct(random, plan->spec->payment_by_name_pct)) {
        input->customer = 0;
        input->last_name_size = tpcc_last_name(
            tpcc_nurand(random, 255, 0, TPCC_NAMES - 1, plan->constants.last_name_run),
            input->last_name);
    } else {
        input->customer = tpcc_nurand(random, 1023, 1, TPCC_CUSTOMERS, plan->constants.customer);
    }
}

static void draw_payment(const struct tpcc_plan *plan, struct client *client)
{
    struct tpcc_state *state = client->state;
    struct tpcc_input *input = &state->input;
    int64_t warehouses = plan->spec->warehouses;
    if (warehouses > 1 && random_between(&client->random, 1, 100) <= REMOTE_PAYMENT_PCT) {
        input->customer_warehouse = draw_other(&client->random, state->warehouse, warehouses);
        input->customer_district = random_between(&client->random, 1, TPCC_DISTRICTS);
    }
    draw_customer(plan, client);
    input->amount_cents = random_between(&client->random, 100, 500000);
}

void tpcc_input_draw(struct client *client)
{
    const struct tpcc_plan *plan = client->plan;
    struct tpcc_state *state = client->state;
    struct tpcc_input *input = &state->input;
    struct random *random = &client->random;
    if (state->warehouse == 0) {
        settle_down(plan, client);
    }
    input->district = random_between(random, 1, TPCC_DISTRICTS);
    input->customer_warehouse = state->warehouse;
    input->customer_district = input->district;
    switch ((enum tpcc_transaction)client->transaction) {
    case TPCC_NEW_ORDER:
        input->customer = tpcc_nurand(random, 1023, 1, TPCC_CUSTOMERS, plan->constants.customer);
        input->ends_aborted = draw_pct(random, plan->spec->rollback_pct);
        draw_lines(plan, client);
        break;
    case TPCC_PAYMENT:
        draw_payment(plan, client);
        break;
    case TPCC_ORDER_STATUS:
        draw_customer(plan, client);
        break;
    case TPCC_DELIVERY:
        input->carrier = random_between(random, 1, 10);
        break;
    case TPCC_STOCK_LEVEL:
        input->district = state->stock_level_district;
        input->threshold = random_between(random, 10, 20);
        break;
    case TPCC_TRANSACTIONS:
        break;
    }
}
