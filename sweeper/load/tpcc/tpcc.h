/*
 * The tpcc workload: TPC-C 5.11's nine tables and five transactions. Shared between its loader, its
 * clients and its checks. Clause numbers in the sources are those of the specification.
 */
#ifndef SWEEPER_LOAD_TPCC_TPCC_H
#define SWEEPER_LOAD_TPCC_TPCC_H

#include <stdatomic.h>

#include "sweeper/load/workload.h"

/* Cardinalities (clause 1.2.1) and spans of values. */
enum {
    TPCC_ITEMS = 100000,
    TPCC_DISTRICTS = 10,   /* of a warehouse */
    TPCC_CUSTOMERS = 3000, /* of a district; as many orders */
    TPCC_FIRST_UNDELIVERED = 2101,
    TPCC_NAMES = 1000,
    TPCC_NAMES_ONCE = 1000, /* customers whose name follows from their number */
    TPCC_LINES_LEAST = 5,
    TPCC_LINES_MOST = 15,
    TPCC_LAST_NAME_BYTES = 16,
    TPCC_DIST_BYTES = 24,
    TPCC_CUSTOMER_DATA_BYTES = 500
};

enum tpcc_transaction {
    TPCC_NEW_ORDER,
    TPCC_PAYMENT,
    TPCC_ORDER_STATUS,
    TPCC_DELIVERY,
    TPCC_STOCK_LEVEL,
    TPCC_TRANSACTIONS
};

enum tpcc_statement {
#define STATEMENT(id, transaction, name, types, sql) TPCC_SQL_##id,
#include "sweeper/load/tpcc/statements.def"
    TPCC_STATEMENTS
};

/* ---- random values (tpcc_random.c) ---- */

/* The constants of NURand: each is drawn once from the seed (clause 2.1.6). */
struct tpcc_constants {
    int64_t last_name_load;
    int64_t last_name_run; /* differs from that of the load by 65 … 119, but 96 and 112 */
    int64_t customer;
    int64_t item;
};
void tpcc_constants_draw(uint64_t seed, struct tpcc_constants *out);
/* a is 255, 1023 or 8191; constant in 0 … a. */
int64_t tpcc_nurand(struct random *random, int64_t a, int64_t low, int64_t high, int64_t constant);
/* number in 0 … 999; the length of the name, without its NUL. */
size_t tpcc_last_name(int64_t number, char out[TPCC_LAST_NAME_BYTES + 1]);
/* Random letters and digits; the length, which is least … most. `out` has room for a NUL as well.
 */
size_t tpcc_letters(struct random *random, size_t least, size_t most, char *out);

/* A deck of 23 cards gives the mix exactly: ten New-Orders and Payments, one of each other (clause
 * 5.2.4.2). Zeroed: shuffled at the first draw. */
enum { TPCC_CARDS = 23 };
struct tpcc_deck {
    uint8_t cards[TPCC_CARDS];
    uint8_t left;
};
enum tpcc_transaction tpcc_deck_draw(struct tpcc_deck *deck, struct random *random);

/* ---- what all clients share ---- */

struct tpcc_shared {         /* changed while the workload runs */
    int64_t orders_before;   /* sum of d_next_o_id when the drive began */
    atomic_llong new_orders; /* committed since */
};

struct tpcc_plan {
    const struct workload_spec *spec;
    struct tpcc_constants constants;
    enum dialect dialect;
    struct workload_statement *statements;
    size_t statement_count;
    unsigned first_slot[TPCC_STATEMENTS]; /* of select_stock: that of district 1 */
    struct tpcc_shared *shared;
};

/* ---- one client ---- */

struct tpcc_line {
    int64_t item;
    int64_t supply; /* warehouse */
    int64_t quantity;
};

/* What a terminal enters; a retry enters the same again. */
struct tpcc_input {
    int64_t district;
    int64_t customer_warehouse; /* other than home: a remote customer */
    int64_t customer_district;
    int64_t customer; /* 0: chosen by last name */
    char last_name[TPCC_LAST_NAME_BYTES + 1];
    size_t last_name_size;
    int64_t amount_cents;
    int64_t carrier;
    int64_t threshold;
    bool ends_aborted; /* the last item is unused */
    size_t line_count;
    struct tpcc_line lines[TPCC_LINES_MOST];
};

struct tpcc_state {
    struct tpcc_deck deck;
    enum tpcc_transaction next;
    bool has_next;
    bool has_rested;   /* at least once */
    int64_t warehouse; /* home; 0: not yet known */
    int64_t stock_level_district;
    struct tpcc_input input;
    unsigned at;      /* which call of the transaction follows */
    size_t line;      /* of New-Order */
    unsigned tries;   /* Delivery: for the oldest order of this district */
    int64_t district; /* Delivery: under way */
    int64_t order;
    int64_t customer;
    bool has_bad_credit;
    int64_t price_cents;
    int64_t stock_quantity;
    size_t text_size;
    size_t names_size;
    char text[TPCC_CUSTOMER_DATA_BYTES + 1]; /* parameter of the call under way */
    char names[64];                          /* h_data: of the warehouse and of the district */
    uint16_t found[TPCC_CUSTOMERS];          /* by name: number, and BAD_CREDIT */
};

void tpcc_input_draw(struct client *client);
/* Keying and think time before the next transaction; draws which that is. */
int64_t tpcc_pause_ns(struct client *client);
unsigned tpcc_choose(struct client *client);

/* The step functions of the transactions; state->at is 0 at the start of a try. */
bool tpcc_new_order(struct client *client, struct call *out, struct err *err);
bool tpcc_payment(struct client *client, struct call *out, struct err *err);
bool tpcc_order_status(struct client *client, struct call *out, struct err *err);
bool tpcc_delivery(struct client *client, struct call *out, struct err *err);
bool tpcc_stock_level(struct client *client, struct call *out, struct err *err);

/* ---- calls and replies (tpcc_call.c) ---- */

void tpcc_call(const struct client *client, enum tpcc_statement statement, struct call *out);
void tpcc_call_control(enum call_kind kind, struct call *out);
void tpcc_add_int(struct call *call, int64_t value);
void tpcc_add_money(struct call *call, int64_t cents);
void tpcc_add_text(struct call *call, const char *text, size_t size);
/* A decimal number in units of 10^-decimals, rounded; false: it is none. */
bool tpcc_parse(struct bytes text, unsigned decimals, int64_t *out);
/* What follows may be called once for each reply. The first column of the first row. *out_found
 * NULL: a row must be there. */
bool tpcc_read_number(struct client *client, unsigned decimals, int64_t *out, bool *out_found,
                      struct err *err);
/* A column of the first row, which must be there; cut at size - 1, and terminated. */
bool tpcc_read_text(struct client *client, size_t column, char *out, size_t size, size_t *out_size,
                    struct err *err);
/* s_quantity, and the district's s_dist into state->text. */
bool tpcc_read_stock(struct client *client, int64_t *out_quantity, struct err *err);
/* Chooses the customer: the only row, or of those of one name the middle one (clause 2.5.2.2). */
bool tpcc_read_customer(struct client *client, struct err *err);

/* ---- tables ---- */

enum tpcc_table {
    TPCC_WAREHOUSE,
    TPCC_DISTRICT,
    TPCC_CUSTOMER,
    TPCC_HISTORY,
    TPCC_NEW_ORDER_TABLE,
    TPCC_ORDERS,
    TPCC_ORDER_LINE,
    TPCC_ITEM,
    TPCC_STOCK,
    TPCC_TABLES
};
extern const char *const tpcc_table_names[TPCC_TABLES];

/* What is in the tables, by the note "tpcc". */
enum tpcc_data {
    TPCC_DATA_NONE,    /* nothing, something else, or half of it */
    TPCC_DATA_LOADING, /* a part, and which parts stands in their own notes */
    TPCC_DATA_FRESH,   /* as loaded */
    TPCC_DATA_USED     /* loaded, and changed since */
};
/* Of data as this plan wants them. */
bool tpcc_data_look_up(const struct tpcc_plan *plan, struct session *session, int64_t deadline,
                       enum tpcc_data *out, struct err *err);
bool tpcc_data_note(const struct tpcc_plan *plan, struct session *session, enum tpcc_data data,
                    int64_t deadline, struct err *err);
/* Every name is ours or free: asked before the first write. */
bool tpcc_check_names(struct session *session, int64_t deadline, struct err *err);
bool tpcc_create_table(struct session *session, enum tpcc_table table, int64_t deadline,
                       struct err *err);
/* Index `index` of all, unless it is there; statistics are refreshed after the last of a table. */
size_t tpcc_index_count(void);
bool tpcc_create_index(struct session *session, size_t index, int64_t deadline, struct err *err);
bool tpcc_refresh(struct session *session, enum tpcc_table table, int64_t deadline,
                  struct err *err);

/* The rows come in units, each loaded by one transaction, which notes it. */
size_t tpcc_unit_count(const struct tpcc_plan *plan);
/* Its notes: the first units are those of the only table that no transaction changes. */
#define TPCC_ITEM_NOTES "tpcc item "
#define TPCC_PART_NOTES "tpcc part "
enum { TPCC_ITEM_UNITS = 10 };
bool tpcc_load_unit(const struct tpcc_plan *plan, size_t unit, struct session *session,
                    int64_t deadline, struct err *err);

bool tpcc_prepare(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err);
bool tpcc_check(const struct load_job *job, const void *plan, struct session *session,
                int64_t deadline, void (*note)(void *, const char *), void *context,
                struct err *err);
bool tpcc_cleanup(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, struct err *err);
/* Sum of d_next_o_id. */
bool tpcc_count_orders(struct session *session, int64_t deadline, int64_t *out, struct err *err);

#endif
