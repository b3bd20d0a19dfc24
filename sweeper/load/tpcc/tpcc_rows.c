/*
 * The rows of a fresh load (clause 4.3.3.1), unit by unit. What a unit holds follows from the seed
 * and the unit alone, whoever loads it and in whatever order.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/load/mark.h"
#include "sweeper/load/tpcc/tpcc.h"

enum {
    ITEM_UNITS = 10,
    STOCK_UNITS = 10, /* of a warehouse */
    UNITS_A_WAREHOUSE = 1 + STOCK_UNITS + 2 * TPCC_DISTRICTS,
    ITEMS_A_UNIT = TPCC_ITEMS / ITEM_UNITS,
    FLUSH_BYTES = 256 << 10,
    BATCH_BYTES = 4 << 20,
    DATA_LEAST = 26,
    DATA_MOST = 50
};
#define UNIT_STREAMS (UINT64_C(1) << 40) /* above those of clients */
#define MOMENT "'2026-01-01 00:00:00'"

/* ---- batches of rows ---- */

struct batch {
    struct session *session;
    int64_t deadline;
    struct err *err;
    const char *table;
    struct arena arena;
    struct text sql;
    bool is_open;
};

static void batch_open(struct batch *batch, struct session *session, int64_t deadline,
                       const char *table, struct err *err)
{
    *batch = (struct batch){.session = session, .deadline = deadline, .err = err, .table = table};
    arena_open(&batch->arena, BATCH_BYTES);
}

static struct text *batch_row(struct batch *batch)
{
    if (!batch->is_open) {
        arena_reset(&batch->arena);
        text_open(&batch->sql, &batch->arena);
        text_addf(&batch->sql, "insert into %s values ", batch->table);
        batch->is_open = true;
    } else {
        text_add_char(&batch->sql, ',');
    }
    return &batch->sql;
}

static bool batch_flush(struct batch *batch)
{
    if (!batch->is_open) {
        return true;
    }
    const char *sql = text_done(&batch->sql);
    batch->is_open = false;
    return sql == NULL
               ? err_memory(batch->err)
               : session_execute(batch->session, sql, NULL, NULL, batch->deadline, batch->err) ||
                     err_while(batch->err, "loading table %s", batch->table);
}

/* After each row. */
static bool batch_go_on(struct batch *batch)
{
    return batch->sql.size < FLUSH_BYTES || batch_flush(batch);
}

static bool batch_close(struct batch *batch, bool ok)
{
    ok = ok && batch_flush(batch);
    arena_close(&batch->arena);
    return ok;
}

/* ---- values ---- */

static void add_letters(struct text *out, struct random *random, size_t least, size_t most)
{
    char letters[TPCC_CUSTOMER_DATA_BYTES + 1];
    size_t size = tpcc_letters(random, least, most, letters);
    text_add(out, ",'");
    text_add_bytes(out, letters, size);
    text_add_char(out, '\'');
}

static void add_digits(struct text *out, struct random *random, int count)
{
    text_add(out, ",'");
    for (int i = 0; i < count; i++) {
        text_add_char(out, (char)('0' + random_between(random, 0, 9)));
    }
    text_add_char(out, '\'');
}

/* Scaled by ten thousand or by a hundred; exact in every database. */
static void add_decimal(struct text *out, int64_t value, int decimals)
{
    int64_t unit = decimals == 4 ? 10000 : 100;
    text_addf(out, ",%lld.%0*lld", (long long)(value / unit), decimals, (long long)(value % unit));
}

/* Of one in ten, somewhere in it, ORIGINAL (clause 4.3.3.1). */
static void add_data(struct text *out, struct random *random)
{
    static const char original[] = "ORIGINAL";
    enum { ORIGINAL_BYTES = sizeof original - 1 };
    char data[DATA_MOST + 1];
    size_t size = tpcc_letters(random, DATA_LEAST, DATA_MOST, data);
    if (random_between(random, 1, 10) == 1) {
        int64_t at = random_between(random, 0, (int64_t)size - ORIGINAL_BYTES);
        memcpy(data + at, original, ORIGINAL_BYTES);
    }
    text_addf(out, ",'%s'", data);
}

static void add_address(struct text *out, struct random *random)
{
    add_letters(out, random, 10, 20);
    add_letters(out, random, 10, 20);
    add_letters(out, random, 10, 20);
    text_addf(out, ",'%c%c'", (char)('A' + random_between(random, 0, 25)),
              (char)('A' + random_between(random, 0, 25)));
    text_addf(out, ",'%04d11111'", (int)random_between(random, 0, 9999));
}

/* ---- units ---- */

struct part {
    const struct tpcc_plan *plan;
    struct session *session;
    int64_t deadline;
    struct random random;
    int64_t warehouse;
    int64_t part;
    struct err *err;
};

static bool load_items(struct part *unit)
{
    struct batch batch;
    bool ok = true;
    batch_open(&batch, unit->session, unit->deadline, "item", unit->err);
    for (int64_t i = 1; ok && i <= ITEMS_A_UNIT; i++) {
        struct text *row = batch_row(&batch);
        text_addf(row, "(%lld,%lld", (long long)(unit->part * ITEMS_A_UNIT + i),
                  (long long)random_between(&unit->random, 1, 10000));
        add_letters(row, &unit->random, 14, 24);
        add_decimal(row, random_between(&unit->random, 100, 10000), 2);
        add_data(row, &unit->random);
        text_add_char(row, ')');
        ok = batch_go_on(&batch);
    }
    return batch_close(&batch, ok);
}

static bool load_districts(struct part *unit)
{
    struct batch batch;
    batch_open(&batch, unit->session, unit->deadline, "district", unit->err);
    for (int district = 1; district <= TPCC_DISTRICTS; district++) {
        struct text *row = batch_row(&batch);
        text_addf(row, "(%d,%lld", district, (long long)unit->warehouse);
        add_letters(row, &unit->random, 6, 10);
        add_address(row, &unit->random);
        add_decimal(row, random_between(&unit->random, 0, 2000), 4);
        text_addf(row, ",30000.00,%d)", TPCC_CUSTOMERS + 1);
    }
    return batch_close(&batch, true);
}

static bool load_warehouse(struct part *unit)
{
    struct batch batch;
    batch_open(&batch, unit->session, unit->deadline, "warehouse", unit->err);
    struct text *row = batch_row(&batch);
    text_addf(row, "(%lld", (long long)unit->warehouse);
    add_letters(row, &unit->random, 6, 10);
    add_address(row, &unit->random);
    add_decimal(row, random_between(&unit->random, 0, 2000), 4);
    text_add(row, ",300000.00)");
    return batch_close(&batch, true) && load_districts(unit);
}

static bool load_stock(struct part *unit)
{
    struct batch batch;
    bool ok = true;
    batch_open(&batch, unit->session, unit->deadline, "stock", unit->err);
    for (int64_t i = 1; ok && i <= ITEMS_A_UNIT; i++) {
        struct text *row = batch_row(&batch);
        text_addf(row, "(%lld,%lld,%d", (long long)(unit->part * ITEMS_A_UNIT + i),
                  (long long)unit->warehouse, (int)random_between(&unit->random, 10, 100));
        for (int district = 1; district <= TPCC_DISTRICTS; district++) {
            add_letters(row, &unit->random, TPCC_DIST_BYTES, TPCC_DIST_BYTES);
        }
        text_add(row, ",0,0,0");
        add_data(row, &unit->random);
        text_add_char(row, ')');
        ok = batch_go_on(&batch);
    }
    return batch_close(&batch, ok);
}

static void add_customer(struct part *unit, int64_t customer, struct text *row)
{
    struct random *random = &unit->random;
    char last[TPCC_LAST_NAME_BYTES + 1];
    int64_t name = customer <= TPCC_NAMES_ONCE ? customer - 1
                                               : tpcc_nurand(random, 255, 0, TPCC_NAMES - 1,
                                                             unit->plan->constants.last_name_load);
    tpcc_last_name(name, last);
    text_addf(row, "(%lld,%lld,%lld", (long long)customer, (long long)unit->part,
              (long long)unit->warehouse);
    add_letters(row, random, 8, 16);
    text_addf(row, ",'OE','%s'", last);
    add_address(row, random);
    add_digits(row, random, 16);
    text_addf(row, "," MOMENT ",'%s',50000.00", random_between(random, 1, 10) == 1 ? "BC" : "GC");
    add_decimal(row, random_between(random, 0, 5000), 4);
    text_add(row, ",-10.00,10.00,1,0");
    add_letters(row, random, 300, TPCC_CUSTOMER_DATA_BYTES);
    text_add_char(row, ')');
}

static bool load_customers(struct part *unit)
{
    struct batch customers;
    struct batch history;
    bool ok = true;
    batch_open(&customers, unit->session, unit->deadline, "customer", unit->err);
    batch_open(&history, unit->session, unit->deadline, "history", unit->err);
    for (int64_t customer = 1; ok && customer <= TPCC_CUSTOMERS; customer++) {
        add_customer(unit, customer, batch_row(&customers));
        struct text *row = batch_row(&history);
        text_addf(row, "(%lld,%lld,%lld,%lld,%lld," MOMENT ",10.00", (long long)customer,
                  (long long)unit->part, (long long)unit->warehouse, (long long)unit->part,
                  (long long)unit->warehouse);
        add_letters(row, &unit->random, 12, 24);
        text_add_char(row, ')');
        ok = batch_go_on(&customers) && batch_go_on(&history);
    }
    ok = batch_close(&customers, ok);
    return batch_close(&history, ok);
}

/* ---- orders ---- */

static void shuffle_customers(struct random *random, uint16_t customers[TPCC_CUSTOMERS])
{
    for (size_t i = 0; i < TPCC_CUSTOMERS; i++) {
        customers[i] = (uint16_t)(i + 1);
    }
    for (size_t i = TPCC_CUSTOMERS - 1; i > 0; i--) {
        size_t other = (size_t)random_between(random, 0, (int64_t)i);
        uint16_t kept = customers[i];
        customers[i] = customers[other];
        customers[other] = kept;
    }
}

static bool add_lines(struct part *unit, int64_t order, int64_t count, struct batch *lines)
{
    bool is_delivered = order < TPCC_FIRST_UNDELIVERED;
    for (int64_t number = 1; number <= count; number++) {
        struct text *row = batch_row(lines);
        text_addf(row, "(%lld,%lld,%lld,%lld,%lld,%lld,%s,5", (long long)order,
                  (long long)unit->part, (long long)unit->warehouse, (long long)number,
                  (long long)random_between(&unit->random, 1, TPCC_ITEMS),
                  (long long)unit->warehouse, is_delivered ? MOMENT : "null");
        add_decimal(row, is_delivered ? 0 : random_between(&unit->random, 1, 999999), 2);
        add_letters(row, &unit->random, TPCC_DIST_BYTES, TPCC_DIST_BYTES);
        text_add_char(row, ')');
    }
    return batch_go_on(lines);
}

static bool add_order(struct part *unit, int64_t order, int64_t customer, struct batch *orders,
                      struct batch *lines, struct batch *new_orders)
{
    bool is_delivered = order < TPCC_FIRST_UNDELIVERED;
    int64_t count = random_between(&unit->random, TPCC_LINES_LEAST, TPCC_LINES_MOST);
    struct text *row = batch_row(orders);
    text_addf(row, "(%lld,%lld,%lld,%lld," MOMENT ",", (long long)order, (long long)unit->part,
              (long long)unit->warehouse, (long long)customer);
    if (is_delivered) {
        text_addf(row, "%d", (int)random_between(&unit->random, 1, 10));
    } else {
        text_add(row, "null");
        text_addf(batch_row(new_orders), "(%lld,%lld,%lld)", (long long)order,
                  (long long)unit->part, (long long)unit->warehouse);
    }
    text_addf(row, ",%lld,1)", (long long)count);
    return batch_go_on(orders) && (is_delivered || batch_go_on(new_orders)) &&
           add_lines(unit, order, count, lines);
}

static bool load_orders(struct part *unit)
{
    struct batch orders;
    struct batch lines;
    struct batch new_orders;
    uint16_t customers[TPCC_CUSTOMERS];
    bool ok = true;
    batch_open(&orders, unit->session, unit->deadline, "orders", unit->err);
    batch_open(&lines, unit->session, unit->deadline, "order_line", unit->err);
    batch_open(&new_orders, unit->session, unit->deadline, "new_order", unit->err);
    shuffle_customers(&unit->random, customers);
    for (int64_t order = 1; ok && order <= TPCC_CUSTOMERS; order++) {
        ok = add_order(unit, order, customers[order - 1], &orders, &lines, &new_orders);
    }
    ok = batch_close(&orders, ok);
    ok = batch_close(&lines, ok);
    return batch_close(&new_orders, ok);
}

/* ---- which unit is what ---- */

size_t tpcc_unit_count(const struct tpcc_plan *plan)
{
    return ITEM_UNITS + (size_t)plan->spec->warehouses * UNITS_A_WAREHOUSE;
}

static bool is_of_items(size_t unit)
{
    return unit < ITEM_UNITS;
}

void tpcc_unit_name(size_t unit, char out[TPCC_UNIT_NAME_BYTES])
{
    snprintf(out, TPCC_UNIT_NAME_BYTES, "%s %zu", is_of_items(unit) ? "tpcc item" : "tpcc part",
             unit);
}

static bool load_rows(struct part *unit, size_t number)
{
    if (is_of_items(number)) {
        unit->part = (int64_t)number;
        return load_items(unit);
    }
    int64_t part = (int64_t)((number - ITEM_UNITS) % UNITS_A_WAREHOUSE);
    unit->warehouse = (int64_t)((number - ITEM_UNITS) / UNITS_A_WAREHOUSE) + 1;
    if (part == 0) {
        return load_warehouse(unit);
    }
    if (part <= STOCK_UNITS) {
        unit->part = part - 1;
        return load_stock(unit);
    }
    part -= STOCK_UNITS + 1;
    unit->part = part % TPCC_DISTRICTS + 1;
    return part < TPCC_DISTRICTS ? load_customers(unit) : load_orders(unit);
}

/* The note of a unit and its rows are there together or not at all. */
bool tpcc_load_unit(const struct tpcc_plan *plan, size_t number, struct session *session,
                    int64_t deadline, struct err *err)
{
    struct part unit = {.plan = plan, .session = session, .deadline = deadline, .err = err};
    char note[128];
    char name[TPCC_UNIT_NAME_BYTES];
    tpcc_unit_name(number, name);
    random_seed(&unit.random, (uint64_t)plan->spec->seed, UNIT_STREAMS + number);
    snprintf(note, sizeof note, "insert into %s (name, value) values ('%s', 'loaded')", MARK_META,
             name);
    return session_execute(session, "begin", NULL, NULL, deadline, err) &&
           load_rows(&unit, number) && session_execute(session, note, NULL, NULL, deadline, err) &&
           session_execute(session, "commit", NULL, NULL, deadline, err);
}
