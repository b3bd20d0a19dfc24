/*
 * The ranking's promise about points that are the baseline by another name, asked of whole stores:
 * 50 of them, 3 runs each, noise of 5 %. What the formulas alone promise is in
 * test_stats_promises.c, over more sweeps.
 *
 * not under valgrind: it ranks 150 sweeps.
 */
#include "tests/support/rank_fill.h"

enum { SWEEPS = 150, POINTS = 51, RUNS = 3 };

static uint64_t random_state = 7;

static double uniform(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)((random_state * UINT64_C(2685821657736338717)) >> 11) * 0x1p-53;
}

static double normal(void)
{
    double radius = sqrt(-2 * log(1 - uniform()));
    return radius * cos(6.283185307179586 * uniform());
}

/* Rows past the store's own functions, which make each durable: that would take minutes. */
static void put_sweep(FILE *sql, int64_t sweep, int64_t call)
{
    static int64_t id = 0;
    fprintf(sql, "INSERT INTO condition VALUES (%lld, %lld, '');\n", (long long)sweep,
            (long long)sweep);
    for (int point = 0; point < POINTS; point++) {
        long long point_id = (long long)(sweep * POINTS + point);
        fprintf(sql, "INSERT INTO point VALUES (%lld, %lld, '%d', %d, 1);\n", point_id,
                (long long)sweep, point, point == 0);
        for (int run = 0; run < RUNS; run++) {
            id++;
            fprintf(sql,
                    "INSERT INTO trial (trial_id, sweep_id, call_id, point_id, condition_id, "
                    "purpose, status, started_us, ended_us) VALUES (%lld, %lld, %lld, %lld, %lld, "
                    "'explore', 'done', %lld, %lld);\n"
                    "INSERT INTO metric VALUES (%lld, 'throughput_per_s', %.17g, 'higher');\n",
                    (long long)id, (long long)sweep, (long long)call, point_id, (long long)sweep,
                    (long long)id * 1000000, (long long)id * 1000000 + 1, (long long)id,
                    1000 * exp(0.05 * normal()));
        }
    }
}

static void fill_sweeps(int64_t *sweeps)
{
    char file[128];
    char command[320];
    snprintf(file, sizeof file, "%s/rows.sql", folder);
    FILE *sql = fopen(file, "w");
    assert_non_null(sql);
    fputs("BEGIN;\n", sql);
    for (int i = 0; i < SWEEPS; i++) {
        begin_sweep(&fill_sweep);
        sweeps[i] = sweep_id;
        put_sweep(sql, sweep_id, call_id);
    }
    fputs("COMMIT;\n", sql);
    assert_int_equal(fclose(sql), 0);
    snprintf(command, sizeof command, "sqlite3 -bail %s <%s", path, file);
    assert_int_equal(system(command), 0);
}

static void equal_points_are_not_crowned(void **state)
{
    (void)state;
    static int64_t sweeps[SWEEPS];
    int better = 0;
    int alone = 0;
    int promised = 0;
    fill_sweeps(sweeps);
    for (int i = 0; i < SWEEPS; i++) {
        bool is_better = false;
        struct arena own;
        arena_open(&own, FILL_ARENA_BYTES);
        struct rank_options options = {.sweep_id = sweeps[i]};
        assert_ok(rank_compute(store, &options, &own, &table, &err));
        assert_int_equal(table.row_count, POINTS);
        assert_true(table.degrees == POINTS * (RUNS - 1));
        for (size_t j = 0; j < table.row_count; j++) {
            const struct rank_row *row = &table.rows[j];
            is_better = is_better || (!row->baseline && row->versus_low_pct > 0);
        }
        better += is_better;
        alone += !table.rows[0].tied && !table.rows[0].baseline;
        promised += table.rows[0].expected_pct > 5;
        arena_close(&own);
    }
    print_message("# of %d sweeps: %d show one better than the baseline, %d have a lone winner, %d "
                  "promise more than 5 %%\n",
                  SWEEPS, better, alone, promised);
    assert_true(better <= SWEEPS / 20);
    assert_true(alone <= SWEEPS / 100);
    assert_true(promised <= SWEEPS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_points_are_not_crowned, fill_open, fill_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
