/*
 * The nine tables, their keys and indexes, and the note that says what is in them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/load/dialect.h"
#include "sweeper/load/mark.h"
#include "sweeper/load/tpcc/tpcc.h"

enum { SQL_BYTES = 2048, NOTE_BYTES = 200, VERSION = 1 };

const char *const tpcc_table_names[TPCC_TABLES] = {[TPCC_WAREHOUSE] = "warehouse",
                                                   [TPCC_DISTRICT] = "district",
                                                   [TPCC_CUSTOMER] = "customer",
                                                   [TPCC_HISTORY] = "history",
                                                   [TPCC_NEW_ORDER_TABLE] = "new_order",
                                                   [TPCC_ORDERS] = "orders",
                                                   [TPCC_ORDER_LINE] = "order_line",
                                                   [TPCC_ITEM] = "item",
                                                   [TPCC_STOCK] = "stock"};

#define ADDRESS(prefix)                                                                            \
    prefix "_street_1 varchar(20) not null, " prefix "_street_2 varchar(20) not null, " prefix     \
           "_city varchar(20) not null, " prefix "_state char(2) not null, " prefix                \
           "_zip char(9) not null, "
#define DIST(number) "s_dist_" number " char(24) not null, "

/* {text}: the type of a moment. */
static const struct {
    const char *columns;
    const char *key; /* NULL: none */
} table_rows[TPCC_TABLES] = {
    [TPCC_WAREHOUSE] = {"w_id integer not null, w_name varchar(10) not null, " ADDRESS(
                            "w") "w_tax decimal(4,4) not null, w_ytd decimal(12,2) not null",
                        "w_id"},
    [TPCC_DISTRICT] = {"d_id integer not null, d_w_id integer not null,"
                       " d_name varchar(10) not null, " ADDRESS(
                           "d") "d_tax decimal(4,4) not null, d_ytd decimal(12,2) not null,"
                                " d_next_o_id integer not null",
                       "d_w_id, d_id"},
    [TPCC_CUSTOMER] =
        {"c_id integer not null, c_d_id integer not null, c_w_id integer not null,"
         " c_first varchar(16) not null, c_middle char(2) not null,"
         " c_last varchar(16) not null, " ADDRESS(
             "c") "c_phone char(16) not null, c_since {text} not null,"
                  " c_credit char(2) not null, c_credit_lim decimal(12,2) not null,"
                  " c_discount decimal(4,4) not null, c_balance decimal(12,2) not null,"
                  " c_ytd_payment decimal(12,2) not null, c_payment_cnt integer not null,"
                  " c_delivery_cnt integer not null, c_data varchar(500) not null",
         "c_w_id, c_d_id, c_id"},
    [TPCC_HISTORY] = {"h_c_id integer not null, h_c_d_id integer not null,"
                      " h_c_w_id integer not null, h_d_id integer not null,"
                      " h_w_id integer not null, h_date {text} not null,"
                      " h_amount decimal(6,2) not null, h_data varchar(24) not null",
                      NULL},
    [TPCC_NEW_ORDER_TABLE] = {"no_o_id integer not null, no_d_id integer not null,"
                              " no_w_id integer not null",
                              "no_w_id, no_d_id, no_o_id"},
    [TPCC_ORDERS] = {"o_id integer not null, o_d_id integer not null, o_w_id integer not null,"
                     " o_c_id integer not null, o_entry_d {text} not null, o_carrier_id integer,"
                     " o_ol_cnt integer not null, o_all_local integer not null",
                     "o_w_id, o_d_id, o_id"},
    [TPCC_ORDER_LINE] = {"ol_o_id integer not null, ol_d_id integer not null,"
                         " ol_w_id integer not null, ol_number integer not null,"
                         " ol_i_id integer not null, ol_supply_w_id integer not null,"
                         " ol_delivery_d {text} null, ol_quantity integer not null,"
                         " ol_amount decimal(6,2) not null, ol_dist_info char(24) not null",
                         "ol_w_id, ol_d_id, ol_o_id, ol_number"},
    [TPCC_ITEM] = {"i_id integer not null, i_im_id integer not null, i_name varchar(24) not null,"
                   " i_price decimal(5,2) not null, i_data varchar(50) not null",
                   "i_id"},
    [TPCC_STOCK] = {"s_i_id integer not null, s_w_id integer not null,"
                    " s_quantity integer not null, " DIST("01") DIST("02") DIST("03") DIST("04")
                        DIST("05") DIST("06") DIST("07") DIST("08") DIST("09") DIST(
                            "10") "s_ytd integer not null, s_order_cnt integer not null,"
                                  " s_remote_cnt integer not null, s_data varchar(50) not null",
                    "s_w_id, s_i_id"}};

static const struct {
    enum tpcc_table table;
    const char *name;
    const char *columns;
} index_rows[] = {
    {TPCC_CUSTOMER, "customer_name", "c_w_id, c_d_id, c_last, c_first"},
    {TPCC_ORDERS, "orders_customer", "o_w_id, o_d_id, o_c_id, o_id"},
};

/* ---- tables ---- */

bool tpcc_check_names(struct session *session, int64_t deadline, struct err *err)
{
    bool ok = mark_check(session, MARK_META, deadline, err);
    for (size_t i = 0; ok && i < TPCC_TABLES; i++) {
        ok = mark_check(session, tpcc_table_names[i], deadline, err);
    }
    return ok;
}

/* Where a table is not kept in the order of its key, the key is made after the load. */
bool tpcc_create_table(struct session *session, enum tpcc_table table, int64_t deadline,
                       struct err *err)
{
    const struct dialect_row *dialect = dialect_of(session->driver->dialect);
    char columns[SQL_BYTES];
    dialect_sql(columns, sizeof columns, table_rows[table].columns, "", "", dialect->moment);
    if (!dialect->keys_later && table_rows[table].key != NULL) {
        size_t size = strlen(columns);
        snprintf(columns + size, sizeof columns - size, ", primary key (%s)",
                 table_rows[table].key);
    }
    return mark_drop(session, tpcc_table_names[table], deadline, err) &&
           mark_create(session, tpcc_table_names[table], columns, deadline, err);
}

size_t tpcc_index_count(void)
{
    return TPCC_TABLES + COUNT_OF(index_rows);
}

/* The first TPCC_TABLES are the keys. */
bool tpcc_create_index(struct session *session, size_t index, int64_t deadline, struct err *err)
{
    bool is_key = index < TPCC_TABLES;
    const char *table =
        tpcc_table_names[is_key ? (enum tpcc_table)index : index_rows[index - TPCC_TABLES].table];
    char name[64];
    char sql[SQL_BYTES];
    bool is_there = false;
    if (is_key &&
        (table_rows[index].key == NULL || !dialect_of(session->driver->dialect)->keys_later)) {
        return true;
    }
    if (is_key) {
        snprintf(name, sizeof name, "%s_pkey", table);
        snprintf(sql, sizeof sql, "alter table %s add constraint %s primary key (%s)", table, name,
                 table_rows[index].key);
    } else {
        snprintf(name, sizeof name, "%s", index_rows[index - TPCC_TABLES].name);
        snprintf(sql, sizeof sql, "create index %s on %s (%s)", name, table,
                 index_rows[index - TPCC_TABLES].columns);
    }
    if (!dialect_has_index(session, table, name, deadline, &is_there, err)) {
        return false;
    }
    return is_there || session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "indexing table %s", table);
}

bool tpcc_refresh(struct session *session, enum tpcc_table table, int64_t deadline, struct err *err)
{
    const char *refresh = dialect_of(session->driver->dialect)->refresh;
    char sql[256];
    if (refresh == NULL) {
        return true;
    }
    dialect_sql(sql, sizeof sql, refresh, tpcc_table_names[table], "", "");
    return session_execute(session, sql, NULL, NULL, deadline, err) ||
           err_while(err, "refreshing statistics of %s", tpcc_table_names[table]);
}

/* ---- the note ---- */

static const char *const data_prefixes[] = {[TPCC_DATA_NONE] = "changing: ",
                                            [TPCC_DATA_LOADING] = "loading: ",
                                            [TPCC_DATA_FRESH] = "",
                                            [TPCC_DATA_USED] = "used: "};

/* The constant of the load stands among it (clause 2.1.6.1 binds that of the run to it). */
static void make_note(const struct tpcc_plan *plan, enum tpcc_data data, char *out, size_t size)
{
    snprintf(out, size, "%stpcc version=%d warehouses=%" PRId64 " seed=%" PRId64 " c_load=%" PRId64,
             data_prefixes[data], VERSION, plan->spec->warehouses, plan->spec->seed,
             plan->constants.last_name_load);
}

bool tpcc_data_note(const struct tpcc_plan *plan, struct session *session, enum tpcc_data data,
                    int64_t deadline, struct err *err)
{
    char note[NOTE_BYTES];
    make_note(plan, data, note, sizeof note);
    return mark_set(session, "tpcc", note, deadline, err);
}

static enum tpcc_data judge_note(const struct tpcc_plan *plan, const char *found)
{
    char note[NOTE_BYTES];
    for (int data = TPCC_DATA_LOADING; found != NULL && data <= TPCC_DATA_USED; data++) {
        make_note(plan, (enum tpcc_data)data, note, sizeof note);
        if (strcmp(note, found) == 0) {
            return (enum tpcc_data)data;
        }
    }
    return TPCC_DATA_NONE;
}

/* A note whose tables went is worth nothing. */
bool tpcc_data_look_up(const struct tpcc_plan *plan, struct session *session, int64_t deadline,
                       enum tpcc_data *out, struct err *err)
{
    const char *found = NULL;
    struct arena arena;
    arena_open(&arena, 1u << 20);
    bool ok = mark_get(session, "tpcc", deadline, &arena, &found, err);
    *out = ok ? judge_note(plan, found) : TPCC_DATA_NONE;
    arena_close(&arena);
    for (size_t i = 0; ok && *out != TPCC_DATA_NONE && i < TPCC_TABLES; i++) {
        enum mark_state state = MARK_ABSENT;
        ok = mark_look_up(session, tpcc_table_names[i], deadline, &state, err);
        *out = state == MARK_OURS ? *out : TPCC_DATA_NONE;
    }
    return ok;
}
