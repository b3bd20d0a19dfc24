/*
 * The rows of a fresh load (clause 4.3.3.1), unit by unit. What a unit holds follows from the seed
 * and the unit alone, whoever loads it and in whatever order.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/load/loader.h"
#include "sweeper/load/tpcc/tpcc.h"

enum {
    STOCK_UNITS = 10, /* of a warehouse */
    UNITS_A_WAREHOUSE = 1 + STOCK_UNITS + 2 * TPCC_DISTRICTS,
    ITEMS_A_UNIT = TPCC_ITEMS / TPCC_ITEM_UNITS,
    DATA_LEAST = 26,
    DATA_MOST = 50
};
#define UNIT_STREAMS (UINT64_C(1) << 40) /* above those of clients */
#define MOMENT "2026-01-01 00:00:00"

struct part {
    const struct tpcc_plan *plan;
    struct session *session;
    int64_t deadline;
    struct random random;
    int64_t warehouse;
    int64_t part;
    struct err *err;
};

/* ---- tables and rows ---- */

enum { COLUMNS_MOST = 21, TEXT_MOST = 1024 };

/* One table of a unit, and the row that is being made for it. */
struct rows {
    struct bulk *bulk;
    const char *table;
    struct err *err;
    size_t column_count;
    size_t size; /* columns of the row so far */
    struct param values[COLUMNS_MOST];
    size_t text_size;
    char text[TEXT_MOST];
};

static bool rows_open(struct rows *rows, const struct part *unit, const char *table,
                      size_t column_count)
{
    const struct bulk_spec spec = {.table = table, .column_count = column_count};
    rows->bulk = NULL;
    rows->table = table;
    rows->err = unit->err;
    rows->column_count = column_count;
    rows->size = 0;
    rows->text_size = 0;
    return unit->session->driver->bulk_open(unit->session, &spec, unit->deadline, &rows->bulk,
                                            unit->err) ||
           err_while(unit->err, "loading table %s", table);
}

/* The row is whole. */
static bool rows_add(struct rows *rows)
{
    assert(rows->size == rows->column_count);
    rows->size = 0;
    rows->text_size = 0;
    return rows->bulk->session->driver->bulk_row(rows->bulk, rows->values, rows->err) ||
           err_while(rows->err, "loading table %s", rows->table);
}

/* One that was never opened is as good as closed. */
static bool rows_close(struct rows *rows, bool ok)
{
    if (rows->bulk == NULL) {
        return false;
    }
    bool is_sent = rows->bulk->session->driver->bulk_close(rows->bulk, ok, rows->err);
    return is_sent || (ok && err_while(rows->err, "loading table %s", rows->table));
}

/* ---- values ---- */

static void add_int(struct rows *rows, int64_t value)
{
    assert(rows->size < rows->column_count);
    rows->values[rows->size++] = (struct param){.type = PARAM_INT, .integer = value};
}

/* Text that stays where it is until the row is whole; NULL: null. */
static void add_bytes(struct rows *rows, const char *data, size_t size)
{
    assert(rows->size < rows->column_count);
    rows->values[rows->size++] =
        (struct param){.type = PARAM_TEXT, .text = {.data = data, .size = size}};
}

static void add_text(struct rows *rows, const char *text)
{
    add_bytes(rows, text, text != NULL ? strlen(text) : 0);
}

/* Room in the row's own text, for at most `most` bytes and an end. */
static char *take_room(struct rows *rows, size_t most)
{
    assert(rows->text_size + most < sizeof rows->text);
    return rows->text + rows->text_size;
}

static void add_taken(struct rows *rows, size_t size)
{
    add_bytes(rows, rows->text + rows->text_size, size);
    rows->text_size += size;
}

static void add_letters(struct rows *rows, struct random *random, size_t least, size_t most)
{
    char *out = take_room(rows, most);
    add_taken(rows, tpcc_letters(random, least, most, out));
}

static void add_digits(struct rows *rows, struct random *random, size_t count)
{
    char *out = take_room(rows, count);
    for (size_t i = 0; i < count; i++) {
        out[i] = (char)('0' + random_between(random, 0, 9));
    }
    add_taken(rows, count);
}

/* Scaled by ten thousand or by a hundred; as text it is exact in every database. */
static void add_decimal(struct rows *rows, int64_t value, size_t decimals)
{
    enum { BYTES = 16 };
    char digits[BYTES];
    size_t at = BYTES;
    for (size_t i = 0; i < decimals || value > 0 || i == decimals; i++) {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
        if (i + 1 == decimals) {
            digits[--at] = '.';
        }
    }
    memcpy(take_room(rows, BYTES), digits + at, BYTES - at);
    add_taken(rows, BYTES - at);
}

/* Of one in ten, somewhere in it, ORIGINAL (clause 4.3.3.1). */
static void add_data(struct rows *rows, struct random *random)
{
    static const char original[] = "ORIGINAL";
    enum { ORIGINAL_BYTES = sizeof original - 1 };
    char *data = take_room(rows, DATA_MOST);
    size_t size = tpcc_letters(random, DATA_LEAST, DATA_MOST, data);
    if (random_between(random, 1, 10) == 1) {
        int64_t at = random_between(random, 0, (int64_t)size - ORIGINAL_BYTES);
        memcpy(data + at, original, ORIGINAL_BYTES);
    }
    add_taken(rows, size);
}

static void add_address(struct rows *rows, struct random *random)
{
    add_letters(rows, random, 10, 20);
    add_letters(rows, random, 10, 20);
    add_letters(rows, random, 10, 20);
    char *state = take_room(rows, 2);
    state[1] = (char)('A' + random_between(random, 0, 25));
    state[0] = (char)('A' + random_between(random, 0, 25));
    add_taken(rows, 2);
    char *zip = take_room(rows, 9);
    snprintf(zip, 10, "%04d11111", (int)random_between(random, 0, 9999));
    add_taken(rows, 9);
}

/* ---- units ---- */

static bool load_items(struct part *unit)
{
    struct rows items;
    bool ok = rows_open(&items, unit, "item", 5);
    for (int64_t i = 1; ok && i <= ITEMS_A_UNIT; i++) {
        add_int(&items, unit->part * ITEMS_A_UNIT + i);
        add_int(&items, random_between(&unit->random, 1, 10000));
        add_letters(&items, &unit->random, 14, 24);
        add_decimal(&items, random_between(&unit->random, 100, 10000), 2);
        add_data(&items, &unit->random);
        ok = rows_add(&items);
    }
    return rows_close(&items, ok);
}

static bool load_districts(struct part *unit)
{
    struct rows districts;
    bool ok = rows_open(&districts, unit, "district", 11);
    for (int district = 1; ok && district <= TPCC_DISTRICTS; district++) {
        add_int(&districts, district);
        add_int(&districts, unit->warehouse);
        add_letters(&districts, &unit->random, 6, 10);
        add_address(&districts, &unit->random);
        add_decimal(&districts, random_between(&unit->random, 0, 2000), 4);
        add_text(&districts, "30000.00");
        add_int(&districts, TPCC_CUSTOMERS + 1);
        ok = rows_add(&districts);
    }
    return rows_close(&districts, ok);
}

static bool load_warehouse(struct part *unit)
{
    struct rows warehouses;
    bool ok = rows_open(&warehouses, unit, "warehouse", 9);
    if (ok) {
        add_int(&warehouses, unit->warehouse);
        add_letters(&warehouses, &unit->random, 6, 10);
        add_address(&warehouses, &unit->random);
        add_decimal(&warehouses, random_between(&unit->random, 0, 2000), 4);
        add_text(&warehouses, "300000.00");
        ok = rows_add(&warehouses);
    }
    return rows_close(&warehouses, ok) && load_districts(unit);
}

static bool load_stock(struct part *unit)
{
    struct rows stock;
    bool ok = rows_open(&stock, unit, "stock", 17);
    for (int64_t i = 1; ok && i <= ITEMS_A_UNIT; i++) {
        add_int(&stock, unit->part * ITEMS_A_UNIT + i);
        add_int(&stock, unit->warehouse);
        add_int(&stock, random_between(&unit->random, 10, 100));
        for (int district = 1; district <= TPCC_DISTRICTS; district++) {
            add_letters(&stock, &unit->random, TPCC_DIST_BYTES, TPCC_DIST_BYTES);
        }
        add_int(&stock, 0);
        add_int(&stock, 0);
        add_int(&stock, 0);
        add_data(&stock, &unit->random);
        ok = rows_add(&stock);
    }
    return rows_close(&stock, ok);
}

static bool add_customer(struct part *unit, int64_t customer, struct rows *rows)
{
    struct random *random = &unit->random;
    char last[TPCC_LAST_NAME_BYTES + 1];
    int64_t name = customer <= TPCC_NAMES_ONCE ? customer - 1
                                               : tpcc_nurand(random, 255, 0, TPCC_NAMES - 1,
                                                             unit->plan->constants.last_name_load);
    size_t last_size = tpcc_last_name(name, last);
    add_int(rows, customer);
    add_int(rows, unit->part);
    add_int(rows, unit->warehouse);
    add_letters(rows, random, 8, 16);
    add_text(rows, "OE");
    add_bytes(rows, last, last_size);
    add_address(rows, random);
    add_digits(rows, random, 16);
    add_text(rows, MOMENT);
    add_text(rows, random_between(random, 1, 10) == 1 ? "BC" : "GC");
    add_text(rows, "50000.00");
    add_decimal(rows, random_between(random, 0, 5000), 4);
    add_text(rows, "-10.00");
    add_text(rows, "10.00");
    add_int(rows, 1);
    add_int(rows, 0);
    add_letters(rows, random, 300, TPCC_CUSTOMER_DATA_BYTES);
    return rows_add(rows);
}

static bool add_history(struct part *unit, int64_t customer, struct rows *rows)
{
    add_int(rows, customer);
    add_int(rows, unit->part);
    add_int(rows, unit->warehouse);
    add_int(rows, unit->part);
    add_int(rows, unit->warehouse);
    add_text(rows, MOMENT);
    add_text(rows, "10.00");
    add_letters(rows, &unit->random, 12, 24);
    return rows_add(rows);
}

static bool load_customers(struct part *unit)
{
    struct rows customers;
    struct rows history = {0};
    bool ok =
        rows_open(&customers, unit, "customer", 21) && rows_open(&history, unit, "history", 8);
    for (int64_t customer = 1; ok && customer <= TPCC_CUSTOMERS; customer++) {
        ok = add_customer(unit, customer, &customers) && add_history(unit, customer, &history);
    }
    ok = rows_close(&customers, ok);
    return rows_close(&history, ok);
}

/* ---- orders ---- */

struct order_rows {
    struct rows orders;
    struct rows lines;
    struct rows new_orders;
};

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

static void add_order_key(const struct part *unit, int64_t order, struct rows *rows)
{
    add_int(rows, order);
    add_int(rows, unit->part);
    add_int(rows, unit->warehouse);
}

static bool add_lines(struct part *unit, int64_t order, int64_t count, struct rows *lines)
{
    bool is_delivered = order < TPCC_FIRST_UNDELIVERED;
    bool ok = true;
    for (int64_t number = 1; ok && number <= count; number++) {
        add_order_key(unit, order, lines);
        add_int(lines, number);
        add_int(lines, random_between(&unit->random, 1, TPCC_ITEMS));
        add_int(lines, unit->warehouse);
        add_text(lines, is_delivered ? MOMENT : NULL);
        add_int(lines, 5);
        add_decimal(lines, is_delivered ? 0 : random_between(&unit->random, 1, 999999), 2);
        add_letters(lines, &unit->random, TPCC_DIST_BYTES, TPCC_DIST_BYTES);
        ok = rows_add(lines);
    }
    return ok;
}

static bool add_order(struct part *unit, int64_t order, int64_t customer, struct order_rows *out)
{
    bool is_delivered = order < TPCC_FIRST_UNDELIVERED;
    int64_t count = random_between(&unit->random, TPCC_LINES_LEAST, TPCC_LINES_MOST);
    add_order_key(unit, order, &out->orders);
    add_int(&out->orders, customer);
    add_text(&out->orders, MOMENT);
    if (is_delivered) {
        add_int(&out->orders, random_between(&unit->random, 1, 10));
    } else {
        add_text(&out->orders, NULL);
        add_order_key(unit, order, &out->new_orders);
    }
    add_int(&out->orders, count);
    add_int(&out->orders, 1);
    return rows_add(&out->orders) && (is_delivered || rows_add(&out->new_orders)) &&
           add_lines(unit, order, count, &out->lines);
}

static bool load_orders(struct part *unit)
{
    struct order_rows out = {0};
    uint16_t customers[TPCC_CUSTOMERS];
    bool ok = rows_open(&out.orders, unit, "orders", 8) &&
              rows_open(&out.lines, unit, "order_line", 10) &&
              rows_open(&out.new_orders, unit, "new_order", 3);
    shuffle_customers(&unit->random, customers);
    for (int64_t order = 1; ok && order <= TPCC_CUSTOMERS; order++) {
        ok = add_order(unit, order, customers[order - 1], &out);
    }
    ok = rows_close(&out.orders, ok);
    ok = rows_close(&out.lines, ok);
    return rows_close(&out.new_orders, ok);
}

/* ---- which unit is what ---- */

size_t tpcc_unit_count(const struct tpcc_plan *plan)
{
    return TPCC_ITEM_UNITS + (size_t)plan->spec->warehouses * UNITS_A_WAREHOUSE;
}

static bool is_of_items(size_t unit)
{
    return unit < TPCC_ITEM_UNITS;
}

static bool load_rows(struct part *unit, size_t number)
{
    if (is_of_items(number)) {
        unit->part = (int64_t)number;
        return load_items(unit);
    }
    int64_t part = (int64_t)((number - TPCC_ITEM_UNITS) % UNITS_A_WAREHOUSE);
    unit->warehouse = (int64_t)((number - TPCC_ITEM_UNITS) / UNITS_A_WAREHOUSE) + 1;
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

bool tpcc_load_unit(const struct tpcc_plan *plan, size_t number, struct session *session,
                    int64_t deadline, struct err *err)
{
    struct part unit = {.plan = plan, .session = session, .deadline = deadline, .err = err};
    random_seed(&unit.random, (uint64_t)plan->spec->seed, UNIT_STREAMS + number);
    return loader_begin(session, deadline, err) && load_rows(&unit, number) &&
           loader_commit(session, is_of_items(number) ? TPCC_ITEM_NOTES : TPCC_PART_NOTES, number,
                         deadline, err);
}
