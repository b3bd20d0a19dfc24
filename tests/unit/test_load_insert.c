/*
 * What an insert run comes to in numbers: rates of curves made by hand, curves and series that are
 * thinned, the text of rows, and settings that do not go together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/load/insert/insert.h"
#include "sweeper/load/series.h"

#define S INT64_C(1000000000)
#define BEGIN (77 * S)

static struct arena arena;
static struct err err;
static struct insert_curve curve;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 64 << 20);
    err_clear(&err);
    insert_curve_open(&curve, BEGIN);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

#define NEAR(value, wanted, relative)                                                              \
    do {                                                                                           \
        double found_ = (value);                                                                   \
        if (!(fabs(found_ - (wanted)) <= (relative) * (double)(wanted))) {                         \
            fail_msg("line %d: %s is %.12g, not %.12g", __LINE__, #value, found_,                  \
                     (double)(wanted));                                                            \
        }                                                                                          \
    } while (0)

/* ---- rates ---- */

/* Each tenth of a million rows takes a second longer than the one before. */
static void each_tenth_has_its_rate(void **state)
{
    (void)state;
    int64_t at = BEGIN;
    for (int decile = 1; decile <= 10; decile++) {
        for (int i = 0; i < 100; i++) {
            at += decile * S / 100;
            insert_curve_add(&curve, at, 1000);
        }
    }
    struct insert_rates rates = insert_curve_rates(&curve, 0, at);
    for (int i = 0; i < INSERT_DECILES; i++) {
        NEAR(rates.deciles_rows_per_s[i], 100000.0 / (i + 1), 1e-9);
    }
    NEAR(rates.rows_per_s, 1e6 / 55, 1e-9);
    NEAR(rates.initial_rows_per_s, 100000, 1e-9);
    NEAR(rates.terminal_rows_per_s, 10000, 1e-9);
    NEAR(rates.longest_stall_ms, 100, 1e-9);
}

/* Edges within a statement lie as far in its time as in its rows. */
static void edges_within_a_statement_are_shared(void **state)
{
    (void)state;
    insert_curve_add(&curve, BEGIN + 4 * S, 400);
    insert_curve_add(&curve, BEGIN + 5 * S, 600);
    assert_int_equal(insert_curve_time_ns(&curve, 0), BEGIN);
    assert_int_equal(insert_curve_time_ns(&curve, 100), BEGIN + S);
    assert_int_equal(insert_curve_time_ns(&curve, 400), BEGIN + 4 * S);
    assert_int_equal(insert_curve_time_ns(&curve, 700), BEGIN + 4 * S + S / 2);
    assert_int_equal(insert_curve_time_ns(&curve, 1000), BEGIN + 5 * S);
    struct insert_rates rates = insert_curve_rates(&curve, 0, BEGIN + 5 * S);
    NEAR(rates.initial_rows_per_s, 100, 1e-9);
    NEAR(rates.terminal_rows_per_s, 600, 1e-6);
}

static void initial_and_terminal_have_bounds(void **state)
{
    (void)state;
    for (int i = 1; i <= 2000; i++) { /* 2000 M rows: 1 % would be 20 M */
        insert_curve_add(&curve, BEGIN + i * S + (i > 10 ? 10 * S : 0), 1000000);
    }
    struct insert_rates rates = insert_curve_rates(&curve, 0, BEGIN + 2010 * S);
    NEAR(rates.initial_rows_per_s, 1e6, 1e-9); /* the stall after 10 M is not in it */
    insert_curve_open(&curve, BEGIN);
    for (int i = 1; i <= 100; i++) { /* 1 % is one statement, the tenth takes a second longer */
        insert_curve_add(&curve, BEGIN + i * S + (i >= 10 ? S : 0), 1000);
    }
    rates = insert_curve_rates(&curve, 5000, BEGIN + 101 * S);
    NEAR(rates.initial_rows_per_s, 1000, 1e-9);
    rates = insert_curve_rates(&curve, 50000, BEGIN + 101 * S); /* a tenth at most */
    NEAR(rates.initial_rows_per_s, 10000.0 / 11, 1e-9);
}

/* A run that ends by time counts what it waited for at the end. */
static void silence_at_the_end_counts(void **state)
{
    (void)state;
    for (int i = 1; i <= 10; i++) {
        insert_curve_add(&curve, BEGIN + i * S, 10);
    }
    struct insert_rates rates = insert_curve_rates(&curve, 0, BEGIN + 15 * S);
    NEAR(rates.longest_stall_ms, 5000, 1e-9);
    NEAR(rates.rows_per_s, 100.0 / 15, 1e-9);
    NEAR(rates.deciles_rows_per_s[8], 10, 1e-9);
    NEAR(rates.deciles_rows_per_s[9], 10.0 / 6, 1e-9);
    insert_curve_open(&curve, BEGIN);
    insert_curve_add(&curve, BEGIN + 3 * S, 10); /* and at the beginning */
    insert_curve_add(&curve, BEGIN + 4 * S, 10);
    NEAR(insert_curve_rates(&curve, 0, BEGIN + 4 * S).longest_stall_ms, 3000, 1e-9);
}

static void no_rows_are_no_rate(void **state)
{
    (void)state;
    struct insert_rates rates = insert_curve_rates(&curve, 0, BEGIN + S);
    assert_true(rates.rows_per_s == 0 && rates.initial_rows_per_s == 0);
    NEAR(rates.longest_stall_ms, 1000, 1e-9);
}

/* A million statements of which one hangs for 7 s: the points stay few, the rates what they are. */
static void long_curves_are_thinned(void **state)
{
    (void)state;
    int64_t at = BEGIN;
    for (int i = 0; i < 1000000; i++) {
        at += i == 654321 ? 7 * S : i < 500000 ? S / 1000 : S / 500;
        insert_curve_add(&curve, at, 100);
        assert_true(curve.count <= INSERT_POINTS);
    }
    assert_true(curve.count >= INSERT_POINTS / 2 && curve.stride == 64);
    assert_int_equal(curve.rows, 100000000);
    struct insert_rates rates = insert_curve_rates(&curve, 0, at);
    NEAR(rates.deciles_rows_per_s[0], 100000, 1e-3);
    NEAR(rates.deciles_rows_per_s[4], 100000, 1e-3);
    NEAR(rates.deciles_rows_per_s[6], 1e7 / 207, 1e-3);
    NEAR(rates.deciles_rows_per_s[9], 50000, 1e-3);
    NEAR(rates.initial_rows_per_s, 100000, 0.01);
    NEAR(rates.terminal_rows_per_s, 50000, 0.01);
    NEAR(rates.longest_stall_ms, 7000, 1e-9);
}

/* ---- series ---- */

static struct load_second second_of(int64_t i)
{
    return (struct load_second){.phase = LOAD_PHASE_MEASURE,
                                .index = (uint32_t)i,
                                .throughput_per_s = (double)i,
                                .p99_ms = i == 5000 ? 900 : 1,
                                .error_count = i % 2 == 0 ? 3 : 0};
}

static void short_series_are_kept(void **state)
{
    (void)state;
    struct second_series series;
    assert_true(second_series_open(&series, 31, &arena, &err));
    for (int i = 0; i < 31; i++) {
        struct load_second second = second_of(i);
        second_series_add(&series, &second);
    }
    assert_int_equal(series.count, 31);
    assert_int_equal(series.interval_s, 1);
    for (uint32_t i = 0; i < 31; i++) {
        assert_int_equal(series.points[i].index, i);
        assert_true(series.points[i].throughput_per_s == i);
    }
}

static void series_of_days_are_thinned(void **state)
{
    (void)state;
    enum { SECONDS = 30 * 86400 };
    struct second_series series;
    double total = 0;
    uint64_t errors = 0;
    double worst = 0;
    assert_true(second_series_open(&series, SECONDS, &arena, &err));
    for (int i = 0; i < SECONDS; i++) {
        struct load_second second = second_of(i);
        second_series_add(&series, &second);
    }
    assert_true(series.count <= SERIES_POINTS && series.count > SERIES_POINTS / 2 - 1);
    assert_int_equal(series.interval_s, 256);
    assert_int_equal(series.count, (SECONDS + 255) / 256);
    for (size_t i = 0; i < series.count; i++) {
        uint32_t length = i + 1 < series.count ? series.interval_s : series.last_s;
        assert_int_equal(series.points[i].index, i);
        total += series.points[i].throughput_per_s * length;
        errors += series.points[i].error_count;
        worst = fmax(worst, series.points[i].p99_ms);
    }
    NEAR(total, (double)SECONDS * (SECONDS - 1) / 2, 1e-9);
    NEAR(series.points[10].throughput_per_s, 10 * 256 + 127.5, 1e-9);
    assert_int_equal(errors, 3 * (SECONDS / 2));
    assert_true(worst == 900 && series.points[5000 / 256].p99_ms == 900);
}

/* ---- rows ---- */

static const char *make_text(int64_t first, int64_t count, int64_t seed, bool has_cents)
{
    struct workload_spec spec = {.seed = seed};
    struct insert_form form = {.name = "", .price_has_cents = has_cents};
    struct insert_plan plan = {.spec = &spec, .form = &form};
    size_t room = insert_text_bytes(count);
    char *text = arena_alloc(&arena, room);
    assert_non_null(text);
    insert_make_text(&plan, first, count, text, room);
    assert_true(strlen(text) < room);
    return text;
}

struct drawn {
    int count;
    int cash_register[2]; /* least and most */
    int customer[2];
    int product[2];
    double price[2];
};

static void widen(int range[2], int value, bool is_first)
{
    range[0] = is_first || value < range[0] ? value : range[0];
    range[1] = is_first || value > range[1] ? value : range[1];
}

static struct drawn read_rows(const char *text, const char *date)
{
    struct drawn drawn = {0};
    const char *at = strstr(text, "values ");
    assert_non_null(at);
    for (at += 7; *at != '\0'; drawn.count++) {
        int cash_register = 0;
        int customer = 0;
        int product = 0;
        double price = 0;
        char when[32];
        char data[32];
        int size = 0;
        int read = sscanf(at, "('%31[^']',%d,%d,%d,%lf,'%31[^']')%n", when, &cash_register,
                          &customer, &product, &price, data, &size);
        if (read != 6 || size == 0) {
            fail_msg("no row: %.80s", at);
        }
        assert_string_equal(when, date);
        assert_int_equal(strlen(data), 10);
        assert_memory_equal(data, "aaaaa", 5);
        widen(drawn.cash_register, cash_register, drawn.count == 0);
        widen(drawn.customer, customer, drawn.count == 0);
        widen(drawn.product, product, drawn.count == 0);
        drawn.price[0] = drawn.count == 0 ? price : fmin(drawn.price[0], price);
        drawn.price[1] = fmax(drawn.price[1], price);
        at += size;
        at += *at == ',' ? 1 : 0;
    }
    return drawn;
}

static void rows_cover_their_ranges(void **state)
{
    (void)state;
    struct drawn drawn = read_rows(make_text(86400000, 10000, 1, true), "2009-01-02 00:00:00");
    assert_int_equal(drawn.count, 10000);
    assert_true(drawn.cash_register[0] == 0 && drawn.cash_register[1] == 999);
    assert_in_range(drawn.customer[0], 0, 200);
    assert_in_range(drawn.customer[1], 99800, 99999);
    assert_in_range(drawn.product[0], 0, 20);
    assert_in_range(drawn.product[1], 9980, 9999);
    assert_true(drawn.price[0] >= 0 && drawn.price[0] < 1);
    assert_true(drawn.price[1] > 499 && drawn.price[1] < 500);
    assert_non_null(strchr(strstr(make_text(0, 1, 1, true), "values "), '.'));
    assert_null(strchr(strstr(make_text(0, 1, 1, false), "values "), '.'));
}

static void rows_follow_from_seed_and_number(void **state)
{
    (void)state;
    assert_string_equal(make_text(5000, 100, 7, false), make_text(5000, 100, 7, false));
    assert_string_not_equal(make_text(5000, 100, 7, false), make_text(5000, 100, 8, false));
    assert_string_not_equal(make_text(5000, 100, 7, false), make_text(5001, 100, 7, false));
}

/* ---- settings ---- */

static struct workload_spec good(void)
{
    return (struct workload_spec){.kind = "insert",
                                  .clients = 2,
                                  .measure_ms = 1000,
                                  .reset = "default",
                                  .prepared = true,
                                  .index_form = "2009",
                                  .insert_rows = 100000,
                                  .complete_within_ms = 86400000,
                                  .rows_per_insert = 1000,
                                  .secondary_indexes = 3};
}

static void refuse(struct workload_spec spec, const char *text, const char *hint)
{
    err_clear(&err);
    assert_false(workload_check_spec(&spec, &err));
    assert_int_equal(err.class, ERR_PLAN);
    if (strstr(err.text, text) == NULL || strstr(err.hint, hint) == NULL) {
        fail_msg("%s; %s", err.text, err.hint);
    }
}

static void settings_must_go_together(void **state)
{
    (void)state;
    struct workload_spec spec = good();
    assert_true(workload_check_spec(&spec, &err));
    assert_true(workload_writes(&spec) && load_ends_complete(&spec));
    assert_int_equal(load_window_ms(&spec), 86400000);
    spec.warm_up_ms = 1;
    refuse(spec, "has no warm_up", "warm_up = \"0s\";");
    spec.insert_rows = 0; /* by time there is one */
    assert_true(workload_check_spec(&spec, &err));
    assert_true(!load_ends_complete(&spec));
    assert_int_equal(load_window_ms(&spec), 1000);
    spec = good();
    spec.prepared = false;
    refuse(spec, "prepared", "leave prepared out");
    spec = good();
    spec.query_clients = 2;
    refuse(spec, "not all of them", "raise clients");
    spec.query_clients = 1;
    assert_true(workload_check_spec(&spec, &err));
    spec.rate_per_s = 10;
    refuse(spec, "rate", "query_clients");
    spec = good();
    spec.delete_oldest = true;
    spec.initial_rows = 1999;
    refuse(spec, "too few initial_rows", "initial_rows = 2000;");
    spec.initial_rows = 2000;
    assert_true(workload_check_spec(&spec, &err));
}

static void metrics_have_their_workload(void **state)
{
    (void)state;
    const char *near = NULL;
    assert_true(workload_gives_metric("insert", "terminal_rows_per_s", &near));
    assert_true(workload_gives_metric("insert", "decile_10_rows_per_s", &near));
    assert_true(workload_gives_metric("insert", "elapsed_s", &near));
    assert_true(workload_gives_metric("tpcc", "notpm", &near));
    assert_false(workload_gives_metric("insert", "notpm", &near));
    assert_false(workload_gives_metric("oltp", "rows_per_s", &near));
    assert_false(workload_gives_metric("insert", "inital_rows_per_s", &near));
    assert_string_equal(near, "initial_rows_per_s");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_arena, close_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_tenth_has_its_rate),
        TEST(edges_within_a_statement_are_shared),
        TEST(initial_and_terminal_have_bounds),
        TEST(silence_at_the_end_counts),
        TEST(no_rows_are_no_rate),
        TEST(long_curves_are_thinned),
        TEST(short_series_are_kept),
        TEST(series_of_days_are_thinned),
        TEST(rows_cover_their_ranges),
        TEST(rows_follow_from_seed_and_number),
        TEST(settings_must_go_together),
        TEST(metrics_have_their_workload),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
