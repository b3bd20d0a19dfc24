/*
 * The rows that oltp draws: by chi-square against what sysbench 1.0.20 itself drew of ten rows, and
 * against the laws where they are known in closed form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "sweeper/load/distribution.h"

enum { DRAWS = 400000, ROWS = 10, MANY_ROWS = 10000 };

static void draw(const char *name, int64_t count, uint32_t *cells)
{
    struct distribution distribution;
    struct random random;
    assert_true(distribution_open(name, count, &distribution));
    random_seed(&random, 5, 1);
    for (size_t i = 0; i < DRAWS; i++) {
        int64_t row = distribution_draw(&distribution, &random);
        assert_in_range(row, 1, count);
        cells[row - 1]++;
    }
}

/* Five standard deviations off is once in a million. */
static void assert_alike(const uint32_t *cells, const double *shares, size_t count,
                         const char *what)
{
    double total = 0;
    double chi_square = 0;
    double freedom = -1;
    for (size_t i = 0; i < count; i++) {
        total += shares[i];
    }
    for (size_t i = 0; i < count; i++) {
        double wanted = shares[i] / total * DRAWS;
        double off = (double)cells[i] - wanted;
        if (wanted > 0) {
            chi_square += off * off / wanted;
            freedom++;
        } else {
            assert_int_equal(cells[i], 0);
        }
    }
    if (chi_square > freedom + 5 * sqrt(2 * freedom) + 5) {
        fail_msg("%s: chi-square is %g with %g degrees of freedom", what, chi_square, freedom);
    }
}

/* sysbench.rand.*(1, 10), 4,000,000 draws each. */
static void ten_rows_are_drawn_as_by_sysbench(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double shares[ROWS];
    } peers[] = {
        {"gaussian", {0, 253, 29582, 435538, 1534939, 1532930, 436537, 29925, 296, 0}},
        {"special", {0, 281, 22066, 232405, 1491055, 2231673, 22248, 272, 0, 0}},
        {"pareto", {2905862, 294232, 185079, 137759, 111154, 92873, 80360, 71000, 63975, 57706}},
    };
    for (size_t i = 0; i < COUNT_OF(peers); i++) {
        uint32_t cells[ROWS] = {0};
        draw(peers[i].name, ROWS, cells);
        assert_alike(cells, peers[i].shares, ROWS, peers[i].name);
    }
}

/* 75 rows just above the middle have 1 % of all draws each, and no others nearly as many. */
static void special_rows_are_those_of_sysbench(void **state)
{
    (void)state;
    static uint32_t cells[MANY_ROWS];
    size_t hot = 0;
    memset(cells, 0, sizeof cells);
    draw("special", MANY_ROWS, cells);
    for (size_t i = 0; i < MANY_ROWS; i++) {
        if (cells[i] > DRAWS / 100 * 8 / 10) {
            hot++;
            assert_in_range(i + 1, 4976, 5050);
        }
    }
    assert_int_equal(hot, 75);
}

static void uniform_and_zipfian_follow_their_laws(void **state)
{
    (void)state;
    uint32_t even[ROWS] = {0};
    uint32_t zipfian[ROWS] = {0};
    double same[ROWS];
    double falling[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        same[i] = 1;
        falling[i] = pow((double)i + 1, -0.8);
    }
    draw("uniform", ROWS, even);
    draw("zipfian", ROWS, zipfian);
    assert_alike(even, same, ROWS, "uniform");
    assert_alike(zipfian, falling, ROWS, "zipfian");
}

/* The last row is drawn as well, however few there are. */
static void few_rows_are_all_drawn(void **state)
{
    (void)state;
    static const char *const names[] = {"uniform", "gaussian", "pareto", "zipfian", "special"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        uint32_t one[1] = {0};
        uint32_t two[2] = {0};
        draw(names[i], 1, one);
        draw(names[i], 2, two);
        assert_int_equal(one[0], DRAWS);
        assert_true(two[0] > 0 && two[1] > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_rows_are_drawn_as_by_sysbench),
        cmocka_unit_test(special_rows_are_those_of_sysbench),
        cmocka_unit_test(uniform_and_zipfian_follow_their_laws),
        cmocka_unit_test(few_rows_are_all_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
