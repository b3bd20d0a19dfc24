/*
 * TPC-C's random values: NURand against its exact distribution by chi-square, its constants, the
 * deck's exact mix, last names, and what terminals enter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/load/tpcc/tpcc.h"

enum { DRAWS = 400000, CELL_LIMIT = 3000, INPUTS = 20000 };

/* ---- NURand ---- */

/* How often each value comes of every pair (r, v) with r in 0 … a and v in low … high. */
static void count_exactly(int64_t a, int64_t low, int64_t high, int64_t constant, double *cells)
{
    int64_t span = high - low + 1;
    memset(cells, 0, CELL_LIMIT * sizeof *cells);
    for (int64_t r = 0; r <= a; r++) {
        for (int64_t v = low; v <= high; v++) {
            cells[((r | v) + constant) % span]++;
        }
    }
}

/* Rare cells are put together, so that chi-square is near normal: five standard deviations off is
 * less than once in a million. */
static void assert_fits(const double *wanted, double pairs, const uint32_t *seen, size_t count)
{
    double chi_square = 0;
    double freedom = -1;
    double expected = 0;
    double found = 0;
    for (size_t i = 0; i < count; i++) {
        expected += wanted[i] / pairs * DRAWS;
        found += seen[i];
        if (expected >= 20) {
            chi_square += (found - expected) * (found - expected) / expected;
            freedom++;
            expected = 0;
            found = 0;
        }
    }
    assert_true(freedom > 50);
    if (fabs(chi_square - freedom) > 5 * sqrt(2 * freedom) + 5) {
        fail_msg("chi-square is %g with %g degrees of freedom", chi_square, freedom);
    }
}

static void nurand_is_distributed_as_defined(void **state)
{
    (void)state;
    static double wanted[CELL_LIMIT];
    static uint32_t seen[CELL_LIMIT];
    static const struct {
        int64_t a, low, high, constant;
    } rows[] = {{255, 0, 999, 0},
                {255, 0, 999, 157},
                {255, 0, 999, 255},
                {1023, 1, 3000, 259},
                {1023, 1, 3000, 1023}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct random random;
        int64_t span = rows[i].high - rows[i].low + 1;
        random_seed(&random, 5, i);
        memset(seen, 0, sizeof seen);
        for (int j = 0; j < DRAWS; j++) {
            int64_t value =
                tpcc_nurand(&random, rows[i].a, rows[i].low, rows[i].high, rows[i].constant);
            assert_true(value >= rows[i].low && value <= rows[i].high);
            seen[value - rows[i].low]++;
        }
        count_exactly(rows[i].a, rows[i].low, rows[i].high, rows[i].constant, wanted);
        assert_fits(wanted, (double)((rows[i].a + 1) * span), seen, (size_t)span);
    }
}

static void items_stay_in_their_range(void **state)
{
    (void)state;
    struct random random;
    int64_t least = INT64_MAX;
    int64_t most = 0;
    random_seed(&random, 1, 1);
    for (int i = 0; i < DRAWS; i++) {
        int64_t item = tpcc_nurand(&random, 8191, 1, TPCC_ITEMS, 7911);
        least = item < least ? item : least;
        most = item > most ? item : most;
    }
    assert_in_range(least, 1, 100);
    assert_in_range(most, TPCC_ITEMS - 100, TPCC_ITEMS);
}

/* Clause 2.1.6.1, and every legal distance comes. */
static void constants_are_legal(void **state)
{
    (void)state;
    bool is_seen[256] = {false};
    size_t distances = 0;
    for (uint64_t seed = 0; seed < 20000; seed++) {
        struct tpcc_constants constants;
        tpcc_constants_draw(seed, &constants);
        int64_t distance = llabs(constants.last_name_load - constants.last_name_run);
        assert_in_range(distance, 65, 119);
        assert_true(distance != 96 && distance != 112);
        assert_in_range(constants.last_name_load, 0, 255);
        assert_in_range(constants.last_name_run, 0, 255);
        assert_in_range(constants.customer, 0, 1023);
        assert_in_range(constants.item, 0, 8191);
        distances += is_seen[distance] ? 0 : 1;
        is_seen[distance] = true;
    }
    assert_int_equal(distances, 119 - 65 + 1 - 2);
}

static void constants_follow_from_the_seed(void **state)
{
    (void)state;
    struct tpcc_constants first;
    struct tpcc_constants again;
    struct tpcc_constants other;
    tpcc_constants_draw(7, &first);
    tpcc_constants_draw(7, &again);
    tpcc_constants_draw(8, &other);
    assert_memory_equal(&first, &again, sizeof first);
    assert_memory_not_equal(&first, &other, sizeof first);
}

/* ---- names and letters ---- */

static void last_names_are_syllables(void **state)
{
    (void)state;
    static const struct {
        int64_t number;
        const char *name;
    } rows[] = {{0, "BARBARBAR"},         {371, "PRICALLYOUGHT"},   {40, "BARPRESBAR"},
                {777, "CALLYCALLYCALLY"}, {888, "ATIONATIONATION"}, {999, "EINGEINGEING"},
                {256, "ABLEESEANTI"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[TPCC_LAST_NAME_BYTES + 1];
        assert_int_equal(tpcc_last_name(rows[i].number, name), strlen(rows[i].name));
        assert_string_equal(name, rows[i].name);
    }
}

static void letters_have_any_length_of_their_range(void **state)
{
    (void)state;
    struct random random;
    size_t lengths[25] = {0};
    size_t bytes[256] = {0};
    random_seed(&random, 1, 1);
    for (int i = 0; i < 20000; i++) {
        char letters[25];
        size_t size = tpcc_letters(&random, 12, 24, letters);
        assert_int_equal(strlen(letters), size);
        lengths[size]++;
        for (size_t j = 0; j < size; j++) {
            bytes[(unsigned char)letters[j]]++;
        }
    }
    for (size_t size = 0; size < COUNT_OF(lengths); size++) {
        assert_true((lengths[size] > 0) == (size >= 12));
    }
    for (int byte = 0; byte < 256; byte++) {
        bool is_letter = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                         (byte >= 'a' && byte <= 'z');
        assert_true((bytes[byte] > 5000) == is_letter);
        assert_true(is_letter || bytes[byte] == 0);
    }
}

static void numbers_are_read_as_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned decimals;
        int64_t value;
    } rows[] = {{"12.34", 2, 1234},
                {"12.3", 2, 1230},
                {"12", 2, 1200},
                {"-0.05", 2, -5},
                {"12.3399999999999999", 2, 1234},
                {"12.335", 2, 1234},
                {"-10.00", 2, -1000},
                {"3001", 0, 3001},
                {"0.1999", 4, 1999},
                {"30000.0", 0, 30000},
                {"0", 2, 0},
                {"12.3400000000000001", 2, 1234}};
    static const char *const wrong[] = {"",       "-",  ".", "1e5",
                                        "12.3.4", " 1", "x", "99999999999999999999"};
    int64_t value = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bytes text = {.data = rows[i].text, .size = strlen(rows[i].text)};
        assert_true(tpcc_parse(text, rows[i].decimals, &value));
        assert_int_equal(value, rows[i].value);
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct bytes text = {.data = wrong[i], .size = strlen(wrong[i])};
        assert_false(tpcc_parse(text, 2, &value));
    }
    assert_false(tpcc_parse((struct bytes){0}, 2, &value));
}

/* ---- the deck ---- */

static void every_deck_has_the_exact_mix(void **state)
{
    (void)state;
    static const int wanted[TPCC_TRANSACTIONS] = {10, 10, 1, 1, 1};
    struct tpcc_deck deck = {.left = 0};
    struct random random;
    size_t first[TPCC_TRANSACTIONS] = {0};
    random_seed(&random, 3, 1);
    for (int i = 0; i < 4600; i++) {
        int seen[TPCC_TRANSACTIONS] = {0};
        for (int card = 0; card < TPCC_CARDS; card++) {
            enum tpcc_transaction drawn = tpcc_deck_draw(&deck, &random);
            seen[drawn]++;
            first[drawn] += card == 0 ? 1 : 0;
        }
        assert_memory_equal(seen, wanted, sizeof seen);
    }
    for (size_t i = 0; i < TPCC_TRANSACTIONS; i++) { /* shuffled: any card may lie on top */
        double expected = 4600.0 * wanted[i] / TPCC_CARDS;
        assert_true(fabs((double)first[i] - expected) < 6 * sqrt(expected));
    }
}

/* ---- what is entered ---- */

static struct workload_spec spec;
static struct tpcc_plan plan;
static struct tpcc_state terminal;

static struct client open_client(uint32_t number, int64_t warehouses)
{
    spec = (struct workload_spec){
        .warehouses = warehouses, .rollback_pct = 1, .payment_by_name_pct = 60};
    plan = (struct tpcc_plan){.spec = &spec};
    memset(&terminal, 0, sizeof terminal);
    tpcc_constants_draw(1, &plan.constants);
    struct client client = {.plan = &plan, .number = number, .state = &terminal};
    random_seed(&client.random, 1, number);
    return client;
}

static void draw(struct client *client, enum tpcc_transaction transaction)
{
    client->transaction = transaction;
    tpcc_input_draw(client);
}

/* Within six standard deviations. */
static void assert_share(size_t count, size_t of, double pct)
{
    double expected = (double)of * pct / 100;
    if (fabs((double)count - expected) > 6 * sqrt(expected * (1 - pct / 100)) + 1) {
        fail_msg("%zu of %zu are not %g %%", count, of, pct);
    }
}

static void new_orders_are_entered_as_the_standard_says(void **state)
{
    (void)state;
    struct client client = open_client(0, 10);
    const struct tpcc_input *input = &terminal.input;
    size_t lines = 0;
    size_t remote = 0;
    size_t aborted = 0;
    size_t districts[TPCC_DISTRICTS + 1] = {0};
    for (int i = 0; i < INPUTS; i++) {
        draw(&client, TPCC_NEW_ORDER);
        assert_in_range(input->line_count, 5, 15);
        assert_in_range(input->district, 1, 10);
        assert_in_range(input->customer, 1, 3000);
        districts[input->district]++;
        aborted += input->ends_aborted ? 1 : 0;
        for (size_t j = 0; j < input->line_count; j++) {
            bool is_unused = input->ends_aborted && j == input->line_count - 1;
            assert_in_range(input->lines[j].quantity, 1, 10);
            assert_in_range(input->lines[j].supply, 1, 10);
            assert_true((input->lines[j].item == TPCC_ITEMS + 1) == is_unused);
            remote += input->lines[j].supply != 1 ? 1 : 0;
        }
        lines += input->line_count;
    }
    assert_share(lines, (size_t)INPUTS * 15, 100.0 * 10 / 15);
    assert_share(remote, lines, 1);
    assert_share(aborted, INPUTS, 1);
    for (int district = 1; district <= TPCC_DISTRICTS; district++) {
        assert_share(districts[district], INPUTS, 10);
    }
}

static void payments_are_entered_as_the_standard_says(void **state)
{
    (void)state;
    struct client client = open_client(3, 10);
    const struct tpcc_input *input = &terminal.input;
    size_t remote = 0;
    size_t by_name = 0;
    int64_t warehouses[11] = {0};
    for (int i = 0; i < INPUTS; i++) {
        draw(&client, TPCC_PAYMENT);
        bool is_remote = input->customer_warehouse != 4;
        assert_in_range(input->amount_cents, 100, 500000);
        assert_true(is_remote || input->customer_district == input->district);
        remote += is_remote ? 1 : 0;
        by_name += input->customer == 0 ? 1 : 0;
        assert_in_range(input->customer_warehouse, 1, 10);
        warehouses[input->customer_warehouse]++;
    }
    assert_share(remote, INPUTS, 15);
    assert_share(by_name, INPUTS, 60);
    for (int i = 1; i <= 10; i++) {
        assert_share((size_t)warehouses[i], INPUTS, i == 4 ? 85 : 15.0 / 9);
    }
}

static void one_warehouse_has_nothing_remote(void **state)
{
    (void)state;
    struct client client = open_client(3, 1);
    for (int i = 0; i < 2000; i++) {
        draw(&client, i % 2 == 0 ? TPCC_NEW_ORDER : TPCC_PAYMENT);
        assert_int_equal(terminal.input.customer_warehouse, 1);
        for (size_t j = 0; i % 2 == 0 && j < terminal.input.line_count; j++) {
            assert_int_equal(terminal.input.lines[j].supply, 1);
        }
    }
}

static void settings_move_the_shares(void **state)
{
    (void)state;
    static const double shares[] = {0, 25, 100};
    for (size_t i = 0; i < COUNT_OF(shares); i++) {
        struct client client = open_client(0, 1);
        size_t aborted = 0;
        size_t by_name = 0;
        spec.rollback_pct = shares[i];
        spec.payment_by_name_pct = shares[i];
        for (int j = 0; j < INPUTS; j++) {
            draw(&client, TPCC_NEW_ORDER);
            aborted += terminal.input.ends_aborted ? 1 : 0;
            draw(&client, TPCC_ORDER_STATUS);
            by_name += terminal.input.customer == 0 ? 1 : 0;
        }
        assert_share(aborted, INPUTS, shares[i]);
        assert_share(by_name, INPUTS, shares[i]);
    }
}

/* Ten terminals of each warehouse, one of each of its districts; or spread evenly. */
static void terminals_have_homes(void **state)
{
    (void)state;
    for (int64_t terminals = 0; terminals <= 10; terminals += 10) {
        int homes[6][TPCC_DISTRICTS + 1] = {{0}};
        for (uint32_t number = 0; number < 50; number++) {
            struct client client = open_client(number, 5);
            spec.terminals = terminals;
            draw(&client, TPCC_STOCK_LEVEL);
            int64_t district = terminal.input.district;
            draw(&client, TPCC_STOCK_LEVEL);
            assert_int_equal(terminal.input.district, district);
            assert_in_range(terminal.input.threshold, 10, 20);
            assert_in_range(terminal.warehouse, 1, 5);
            homes[terminal.warehouse][district]++;
        }
        for (int warehouse = 1; warehouse <= 5; warehouse++) {
            for (int district = 1; district <= TPCC_DISTRICTS; district++) {
                assert_int_equal(homes[warehouse][district], 1);
            }
        }
    }
}

/* ---- rests ---- */

static void rests_are_those_of_the_transactions(void **state)
{
    (void)state;
    static const double keying_s[] = {18, 3, 2, 2, 2};
    static const double think_s[] = {12, 12, 10, 5, 5};
    double total_s[TPCC_TRANSACTIONS] = {0};
    double longest_s = 0;
    int counts[TPCC_TRANSACTIONS] = {0};
    struct client client = open_client(0, 1);
    assert_int_equal(tpcc_pause_ns(&client), 0);
    client.transaction = tpcc_choose(&client);
    spec.keying = 2;
    client.transaction = 0;
    for (int i = 0; i < 230; i++) {
        int64_t pause_ns = tpcc_pause_ns(&client);
        client.transaction = tpcc_choose(&client);
        assert_true(fabs((double)pause_ns / 1e9 - 2 * keying_s[client.transaction]) < 1e-6);
    }
    spec.keying = 0;
    spec.think = 1;
    for (int i = 0; i < 230000; i++) {
        unsigned last = client.transaction;
        double pause_s = (double)tpcc_pause_ns(&client) / 1e9;
        total_s[last] += pause_s;
        counts[last]++;
        longest_s = pause_s > longest_s ? pause_s : longest_s;
        client.transaction = tpcc_choose(&client);
    }
    for (size_t i = 0; i < TPCC_TRANSACTIONS; i++) {
        double mean_s = total_s[i] / counts[i];
        assert_true(fabs(mean_s - think_s[i]) < 6 * think_s[i] / sqrt(counts[i]));
    }
    assert_true(longest_s <= 120 && longest_s > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nurand_is_distributed_as_defined),
        cmocka_unit_test(items_stay_in_their_range),
        cmocka_unit_test(constants_are_legal),
        cmocka_unit_test(constants_follow_from_the_seed),
        cmocka_unit_test(last_names_are_syllables),
        cmocka_unit_test(letters_have_any_length_of_their_range),
        cmocka_unit_test(numbers_are_read_as_written),
        cmocka_unit_test(every_deck_has_the_exact_mix),
        cmocka_unit_test(new_orders_are_entered_as_the_standard_says),
        cmocka_unit_test(payments_are_entered_as_the_standard_says),
        cmocka_unit_test(one_warehouse_has_nothing_remote),
        cmocka_unit_test(settings_move_the_shares),
        cmocka_unit_test(terminals_have_homes),
        cmocka_unit_test(rests_are_those_of_the_transactions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
