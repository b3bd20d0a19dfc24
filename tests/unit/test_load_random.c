/*
 * The clients' random numbers: the published values of their generator, uniform draws by
 * chi-square, streams that have nothing to do with each other, and the same again from one seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "sweeper/load/workload.h"

enum { DRAWS = 200000, CELL_LIMIT = 1024 };

/* Cells of equal chance; more than five standard deviations off is once in a million. */
static void assert_uniform(const uint32_t *cells, size_t count, const char *what)
{
    double total = 0;
    double chi_square = 0;
    double freedom = (double)count - 1;
    for (size_t i = 0; i < count; i++) {
        total += cells[i];
    }
    for (size_t i = 0; i < count; i++) {
        double wanted = total / (double)count;
        chi_square += (cells[i] - wanted) * (cells[i] - wanted) / wanted;
    }
    if (fabs(chi_square - freedom) > 5 * sqrt(2 * freedom) + 5) {
        fail_msg("%s: chi-square is %g with %g degrees of freedom", what, chi_square, freedom);
    }
}

/* xoshiro256** as its authors publish it, from the state 1, 2, 3, 4. */
static void generator_is_the_published_one(void **state)
{
    (void)state;
    static const uint64_t wanted[] = {11520,
                                      0,
                                      1509978240,
                                      UINT64_C(1215971899390074240),
                                      UINT64_C(1216172134540287360),
                                      UINT64_C(607988272756665600),
                                      UINT64_C(16172922978634559625),
                                      UINT64_C(8476171486693032832),
                                      UINT64_C(10595114339597558777),
                                      UINT64_C(2904607092377533576)};
    struct random random = {.state = {1, 2, 3, 4}};
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_true(random_next(&random) == wanted[i]);
    }
}

/* ---- uniform ---- */

static void check_span(int64_t low, int64_t span)
{
    static uint32_t cells[CELL_LIMIT];
    struct random random;
    memset(cells, 0, sizeof cells);
    random_seed(&random, 1, (uint64_t)span);
    for (int i = 0; i < DRAWS; i++) {
        int64_t value = random_between(&random, low, low + (span - 1));
        assert_true(value >= low && value - low < span);
        cells[value - low]++;
    }
    assert_uniform(cells, (size_t)span, "between");
}

static void draws_between_are_uniform(void **state)
{
    (void)state;
    static const int64_t spans[] = {2, 3, 5, 6, 7, 10, 64, 100, 255, 1000, 1024};
    for (size_t i = 0; i < COUNT_OF(spans); i++) {
        check_span(1, spans[i]);
        check_span(-spans[i] / 2, spans[i]);
        check_span(INT64_MIN, spans[i]);
        check_span(INT64_MAX - spans[i] + 1, spans[i]);
    }
}

/* Three quarters of all numbers: a remainder, or a multiplication without rejection, would give
 * one third of them twice the chance. */
static void wide_spans_are_not_biased(void **state)
{
    (void)state;
    uint32_t cells[3] = {0};
    struct random random;
    int64_t quarter = INT64_C(1) << 62;
    random_seed(&random, 3, 0);
    for (int i = 0; i < DRAWS; i++) {
        int64_t value = random_between(&random, INT64_MIN, quarter - 1);
        cells[((uint64_t)value - (uint64_t)INT64_MIN) / (uint64_t)quarter]++;
    }
    assert_uniform(cells, COUNT_OF(cells), "wide");
}

static void both_ends_are_in(void **state)
{
    (void)state;
    struct random random;
    bool is_negative = false;
    bool is_positive = false;
    random_seed(&random, 4, 0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(random_between(&random, 7, 7), 7);
        assert_true(random_between(&random, INT64_MAX, INT64_MAX) == INT64_MAX);
        assert_true(random_between(&random, INT64_MIN, INT64_MIN) == INT64_MIN);
        int64_t any = random_between(&random, INT64_MIN, INT64_MAX);
        is_negative = is_negative || any < 0;
        is_positive = is_positive || any > 0;
    }
    assert_true(is_negative && is_positive);
}

static void units_are_uniform_below_one(void **state)
{
    (void)state;
    uint32_t cells[64] = {0};
    double sum = 0;
    struct random random;
    random_seed(&random, 5, 0);
    for (int i = 0; i < DRAWS; i++) {
        double unit = random_unit(&random);
        assert_true(unit >= 0 && unit < 1);
        cells[(size_t)(unit * 64)]++;
        sum += unit;
    }
    assert_uniform(cells, COUNT_OF(cells), "unit");
    assert_true(fabs(sum / DRAWS - 0.5) < 5 * sqrt(1.0 / 12 / DRAWS));
}

/* Each bit is one half of the time one. */
static void bits_are_fair(void **state)
{
    (void)state;
    uint32_t ones[64] = {0};
    struct random random;
    random_seed(&random, 6, 0);
    for (int i = 0; i < DRAWS; i++) {
        uint64_t bits = random_next(&random);
        for (unsigned bit = 0; bit < 64; bit++) {
            ones[bit] += (uint32_t)(bits >> bit) & 1;
        }
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        assert_true(fabs(ones[bit] - DRAWS / 2.0) < 5 * sqrt(DRAWS / 4.0));
    }
}

/* ---- streams ---- */

/* Pairs of draws fall evenly into 16 x 16 cells, and do not go up and down together. */
static void assert_unrelated(struct random *left, struct random *right, const char *what)
{
    uint32_t cells[256] = {0};
    double product = 0;
    for (int i = 0; i < DRAWS; i++) {
        double a = random_unit(left);
        double b = random_unit(right);
        cells[(size_t)(a * 16) * 16 + (size_t)(b * 16)]++;
        product += (a - 0.5) * (b - 0.5);
    }
    assert_uniform(cells, COUNT_OF(cells), what);
    assert_true(fabs(12 * product / DRAWS) < 5 / sqrt(DRAWS));
}

static void check_pair(uint64_t seed_a, uint64_t stream_a, uint64_t seed_b, uint64_t stream_b)
{
    struct random left;
    struct random right;
    random_seed(&left, seed_a, stream_a);
    random_seed(&right, seed_b, stream_b);
    assert_memory_not_equal(&left, &right, sizeof left);
    assert_unrelated(&left, &right, "two streams");
}

static void streams_are_unrelated(void **state)
{
    (void)state;
    check_pair(1, 0, 1, 1);
    check_pair(1, 1, 1, 2);
    check_pair(1, 0, 2, 0);
    check_pair(1, 2, 2, 1);
    check_pair(0, 0, 0, 1);
    check_pair(0, 0, UINT64_MAX, 0);
    check_pair(1, 5, 1, 5 + (UINT64_C(1) << 32));
}

/* A draw and the one after it. */
static void successors_are_unrelated(void **state)
{
    (void)state;
    uint32_t cells[256] = {0};
    struct random random;
    random_seed(&random, 8, 0);
    for (int i = 0; i < DRAWS; i++) {
        size_t first = (size_t)random_between(&random, 0, 15);
        cells[first * 16 + (size_t)random_between(&random, 0, 15)]++;
    }
    assert_uniform(cells, COUNT_OF(cells), "successors");
}

/* Thousands of clients begin at once: their first choices must not be alike. */
static void first_draws_of_clients_are_uniform(void **state)
{
    (void)state;
    uint32_t of_streams[100] = {0};
    uint32_t of_seeds[100] = {0};
    for (uint64_t i = 0; i < 50000; i++) {
        struct random random;
        random_seed(&random, 1, i);
        of_streams[random_between(&random, 0, 99)]++;
        random_seed(&random, i, 0);
        of_seeds[random_between(&random, 0, 99)]++;
    }
    assert_uniform(of_streams, COUNT_OF(of_streams), "first draws of streams");
    assert_uniform(of_seeds, COUNT_OF(of_seeds), "first draws of seeds");
}

static void one_seed_gives_the_same_again(void **state)
{
    (void)state;
    struct random first;
    struct random again;
    memset(&again, 0xaa, sizeof again);
    random_seed(&first, 20, 30);
    random_seed(&again, 20, 30);
    for (int i = 0; i < 1000; i++) {
        assert_true(random_next(&first) == random_next(&again));
        assert_true(random_between(&first, 1, 10000) == random_between(&again, 1, 10000));
        assert_memory_equal(&first, &again, sizeof first);
    }
}

/* A state of zeros alone would give zeros for ever. */
static void no_seed_is_dead(void **state)
{
    (void)state;
    static const uint64_t odd[] = {0, 1, UINT64_MAX, UINT64_C(0x9e3779b97f4a7c15)};
    for (size_t i = 0; i < COUNT_OF(odd) * COUNT_OF(odd); i++) {
        struct random random;
        random_seed(&random, odd[i / COUNT_OF(odd)], odd[i % COUNT_OF(odd)]);
        assert_true((random.state[0] | random.state[1] | random.state[2] | random.state[3]) != 0);
        assert_true(random_next(&random) != random_next(&random));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generator_is_the_published_one),
        cmocka_unit_test(draws_between_are_uniform),
        cmocka_unit_test(wide_spans_are_not_biased),
        cmocka_unit_test(both_ends_are_in),
        cmocka_unit_test(units_are_uniform_below_one),
        cmocka_unit_test(bits_are_fair),
        cmocka_unit_test(streams_are_unrelated),
        cmocka_unit_test(successors_are_unrelated),
        cmocka_unit_test(first_draws_of_clients_are_uniform),
        cmocka_unit_test(one_seed_gives_the_same_again),
        cmocka_unit_test(no_seed_is_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
