/*
 * The consistency conditions of clause 3.3.2, each as a query that counts what breaks it. Money is
 * compared within half a cent: SQLite keeps it in binary. One to four are cheap and asked after
 * each trial; the others, and the cardinalities, where all is asked for.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/load/tpcc/tpcc.h"

/* {D}: the warehouse and district of a district are those of the row's table with this prefix. */
#define OF_DISTRICT(prefix) " where " prefix "_w_id = d_w_id and " prefix "_d_id = d_id"
#define OF_ORDER(prefix)                                                                           \
    prefix "_w_id = o_w_id and " prefix "_d_id = o_d_id and " prefix "_o_id = o_id"
#define OFF(left, right) "abs(" left " - " right ") > 0.005"
#define DELIVERED                                                                                  \
    " left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as amount from orders, order_line"  \
    " where " OF_ORDER("ol") " and ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id)"     \
                             " as delivered on o_w_id = c_w_id and o_d_id = c_d_id"                \
                             " and o_c_id = c_id"

enum { NOTE_BYTES = 200 };

enum when { ALWAYS, THOROUGHLY, WHILE_FRESH };

static const struct {
    int number;
    enum when when;
    const char *what;
    const char *sql;
} conditions[] = {
    {1, ALWAYS, "w_ytd is the sum of d_ytd",
     "select count(*) from warehouse where " OFF(
         "w_ytd", "coalesce((select sum(d_ytd) from district where d_w_id = w_id), 0)")},
    {2, ALWAYS, "d_next_o_id - 1 is the last o_id and the last no_o_id",
     "select count(*) from district where d_next_o_id - 1 <> coalesce((select max(o_id) from "
     "orders" OF_DISTRICT("o") "), 0) or d_next_o_id - 1 <> coalesce((select max(no_o_id) from "
                               "new_order" OF_DISTRICT("no") "), d_next_o_id - 1)"},
    {3, ALWAYS, "the no_o_id of a district have no gaps",
     "select count(*) from (select no_w_id, no_d_id from new_order group by no_w_id, no_d_id"
     " having max(no_o_id) - min(no_o_id) + 1 <> count(*)) as broken"},
    {4, ALWAYS, "a district has as many order lines as its orders say",
     "select count(*) from district where coalesce((select sum(o_ol_cnt) from orders" OF_DISTRICT(
         "o") "), 0) <> (select count(*) from order_line" OF_DISTRICT("ol") ")"},
    {5, THOROUGHLY, "an order without a carrier is a new order",
     "select (select count(*) from orders left join new_order on " OF_ORDER(
         "no") " where (o_carrier_id is null and no_o_id is null)"
               " or (o_carrier_id is not null and no_o_id is not null))"
               " + (select count(*) from new_order left join orders on " OF_ORDER(
                   "no") " where o_id is null)"},
    {6, THOROUGHLY, "an order has o_ol_cnt lines",
     "select count(*) from orders left join (select ol_w_id, ol_d_id, ol_o_id, count(*) as "
     "line_count"
     " from order_line group by ol_w_id, ol_d_id, ol_o_id) as counted on " OF_ORDER(
         "ol") " where o_ol_cnt <> coalesce(line_count, 0)"},
    {7, THOROUGHLY, "a line is delivered when its order has a carrier",
     "select count(*) from order_line left join orders on " OF_ORDER(
         "ol") " where o_id is null or (ol_delivery_d is null and o_carrier_id is not null)"
               " or (ol_delivery_d is not null and o_carrier_id is null)"},
    {8, THOROUGHLY, "w_ytd is the sum of h_amount",
     "select count(*) from warehouse left join (select h_w_id, sum(h_amount) as amount from history"
     " group by h_w_id) as paid on h_w_id = w_id where " OFF("w_ytd", "coalesce(amount, 0)")},
    {9, THOROUGHLY, "d_ytd is the sum of h_amount",
     "select count(*) from district left join (select h_w_id, h_d_id, sum(h_amount) as amount"
     " from history group by h_w_id, h_d_id) as paid on h_w_id = d_w_id and h_d_id = d_id"
     " where " OFF("d_ytd", "coalesce(amount, 0)")},
    {10, THOROUGHLY, "c_balance is what was delivered less what was paid",
     "select count(*) from customer" DELIVERED " left join (select h_c_w_id, h_c_d_id, h_c_id,"
     " sum(h_amount) as paid from history group by h_c_w_id, h_c_d_id, h_c_id) as payments"
     " on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id"
     " where " OFF("c_balance", "(coalesce(amount, 0) - coalesce(paid, 0))")},
    {11, WHILE_FRESH, "of the orders of a district 2100 are delivered",
     "select count(*) from district where (select count(*) from orders" OF_DISTRICT(
         "o") ") - (select count(*) from new_order" OF_DISTRICT("no") ") <> 2100"},
    {12, THOROUGHLY, "c_balance + c_ytd_payment is what was delivered",
     "select count(*) from customer" DELIVERED
     " where " OFF("(c_balance + c_ytd_payment)", "coalesce(amount, 0)")},
};

/* Rows that no transaction adds or takes. */
static const struct {
    enum tpcc_table table;
    int64_t once;
    int64_t rows_a_warehouse;
} cardinalities[] = {
    {TPCC_WAREHOUSE, 0, 1},
    {TPCC_DISTRICT, 0, TPCC_DISTRICTS},
    {TPCC_CUSTOMER, 0, TPCC_DISTRICTS *TPCC_CUSTOMERS},
    {TPCC_ITEM, TPCC_ITEMS, 0},
    {TPCC_STOCK, 0, TPCC_ITEMS},
};

static bool read_count(struct session *session, const char *sql, int64_t deadline, int64_t *out,
                       struct err *err)
{
    const char *text = NULL;
    struct arena arena;
    arena_open(&arena, 1u << 16);
    bool ok = session_value(session, sql, deadline, &arena, &text, err);
    if (ok) {
        ok = text != NULL && tpcc_parse((struct bytes){.data = text, .size = strlen(text)}, 0, out);
        ok = ok || err_set(err, ERR_CODE_workload_check, "a number was expected of: %.200s", sql);
    }
    arena_close(&arena);
    return ok;
}

bool tpcc_count_orders(struct session *session, int64_t deadline, int64_t *out, struct err *err)
{
    return read_count(session, "select sum(d_next_o_id) from district", deadline, out, err);
}

static bool count_broken(struct session *session, size_t index, int64_t deadline, int64_t *out,
                         struct err *err)
{
    return read_count(session, conditions[index].sql, deadline, out, err) ||
           err_while(err, "asking for consistency condition %d", conditions[index].number);
}

/* The first one that is broken is the error, the others are told behind it. */
static bool add_broken(size_t index, int64_t broken, struct err *err)
{
    const char *times = broken == 1 ? "" : "s";
    size_t used = strlen(err->text);
    if (err->code == ERR_CODE_none) {
        return err_set(err, ERR_CODE_workload_check,
                       "consistency condition %d of TPC-C is broken %lld time%s: %s",
                       conditions[index].number, (long long)broken, times, conditions[index].what);
    }
    snprintf(err->text + used, sizeof err->text - used, "; condition %d %lld time%s: %s",
             conditions[index].number, (long long)broken, times, conditions[index].what);
    return false;
}

static bool check_cardinalities(const struct tpcc_plan *plan, struct session *session,
                                int64_t deadline, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(cardinalities); i++) {
        const char *table = tpcc_table_names[cardinalities[i].table];
        int64_t wanted =
            cardinalities[i].once + cardinalities[i].rows_a_warehouse * plan->spec->warehouses;
        int64_t rows = 0;
        char sql[128];
        snprintf(sql, sizeof sql, "select count(*) from %s", table);
        if (!read_count(session, sql, deadline, &rows, err)) {
            return false;
        }
        if (rows != wanted) {
            return err_set(err, ERR_CODE_workload_check, "table %s has %lld rows, not %lld", table,
                           (long long)rows, (long long)wanted);
        }
    }
    return true;
}

static void note_condition(size_t index, bool was_asked, void (*note)(void *, const char *),
                           void *context)
{
    char text[NOTE_BYTES];
    snprintf(text, sizeof text, "consistency condition %d %s: %s", conditions[index].number,
             was_asked ? "holds" : "was not asked for, as it holds of fresh data alone",
             conditions[index].what);
    note(context, text);
}

bool tpcc_check(const struct load_job *job, const void *data, struct session *session,
                int64_t deadline, void (*note)(void *, const char *), void *context,
                struct err *err)
{
    const struct tpcc_plan *plan = data;
    bool is_thorough = job->operation == LOAD_CHECK_ALL;
    enum tpcc_data found = TPCC_DATA_NONE;
    if (!tpcc_data_look_up(plan, session, deadline, &found, err)) {
        return false;
    }
    if (found != TPCC_DATA_FRESH && found != TPCC_DATA_USED) {
        err_set(err, ERR_CODE_workload_check,
                "the TPC-C tables are not loaded as this workload asks");
        return err_hint(err, "dbsweep load tpcc prepare loads them");
    }
    if (is_thorough && !check_cardinalities(plan, session, deadline, err)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        int64_t broken = 0;
        bool is_due =
            conditions[i].when == ALWAYS ||
            (is_thorough && (conditions[i].when == THOROUGHLY || found == TPCC_DATA_FRESH));
        if (is_due && !count_broken(session, i, deadline, &broken, err)) {
            return false;
        }
        if (broken > 0) {
            add_broken(i, broken, err);
        } else if (is_thorough) {
            note_condition(i, is_due, note, context);
        }
    }
    return err->code == ERR_CODE_none;
}
