/*
 * What servers' counters say of their work, under the names that each version gives them.
 */
#include "backends/work.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct server_work work_of(const char *backend, const struct counter *counters, size_t count)
{
    struct server_work work;
    backend_find(backend)->work(counters, count, &work);
    return work;
}

static void counters_are_found_by_name(void **state)
{
    (void)state;
    const struct counter counters[] = {{.name = "Innodb_lsn_current", .value = 7}};
    assert_true(counter_value(counters, 1, "innodb_lsn_current") == 7);
    assert_true(isnan(counter_value(counters, 1, "innodb_lsn")));
    assert_true(isnan(counter_value(counters, 0, "innodb_lsn_current")));
}

static void postgresql_until_16(void **state)
{
    (void)state;
    const struct counter counters[] = {
        {.name = "pg_stat_bgwriter.checkpoints_timed", .value = 3},
        {.name = "pg_stat_bgwriter.checkpoints_req", .value = 4},
        {.name = "pg_stat_bgwriter.buffers_checkpoint", .value = 10},
        {.name = "pg_stat_bgwriter.buffers_clean", .value = 20},
        {.name = "pg_stat_bgwriter.buffers_backend", .value = 30},
        {.name = "pg_control.checkpoint_age_bytes", .value = 500, .gauge = true},
        {.name = "pg_control.wal_bytes", .value = 1000},
        {.name = "pg_control.max_wal_size_bytes", .value = 1 << 30, .gauge = true}};
    struct server_work work = work_of("postgresql", counters, COUNT_OF(counters));
    assert_true(work.checkpoint_count == 7);
    assert_true(work.log_bytes == 1000 && work.checkpoint_age_bytes == 500);
    assert_true(work.log_capacity_bytes == 1 << 30);
    assert_true(work.written_bytes == 1000 + 60 * 8192);
    assert_true(isnan(work.dirty_bytes) && isnan(work.purge_backlog));
}

static void postgresql_from_17(void **state)
{
    (void)state;
    const struct counter counters[] = {{.name = "pg_stat_bgwriter.buffers_clean", .value = 20},
                                       {.name = "pg_stat_checkpointer.num_timed", .value = 5},
                                       {.name = "pg_stat_checkpointer.num_requested", .value = 6},
                                       {.name = "pg_stat_checkpointer.buffers_written", .value = 1},
                                       {.name = "pg_control.wal_bytes", .value = 0}};
    struct server_work work = work_of("postgresql", counters, COUNT_OF(counters));
    assert_true(work.checkpoint_count == 11);
    assert_true(work.written_bytes == 21 * 8192);
    /* the right to ask for the position was taken away */
    work = work_of("postgresql", counters, COUNT_OF(counters) - 1);
    assert_true(isnan(work.log_bytes) && isnan(work.written_bytes));
}

static void mariadb(void **state)
{
    (void)state;
    const struct counter counters[] = {
        {.name = "Innodb_lsn_current", .value = 9000},
        {.name = "Innodb_os_log_written", .value = 1},
        {.name = "Innodb_data_written", .value = 500},
        {.name = "Innodb_checkpoint_age", .value = 40, .gauge = true},
        {.name = "Innodb_checkpoint_max_age", .value = 80, .gauge = true},
        {.name = "Innodb_buffer_pool_bytes_dirty", .value = 16384, .gauge = true},
        {.name = "Innodb_history_list_length", .value = 12, .gauge = true}};
    struct server_work work = work_of("mysql", counters, COUNT_OF(counters));
    assert_true(work.log_bytes == 9000 && work.written_bytes == 9500);
    assert_true(work.log_capacity_bytes == 80 && work.checkpoint_age_bytes == 40);
    assert_true(work.dirty_bytes == 16384 && work.purge_backlog == 12);
    assert_true(isnan(work.checkpoint_count));
}

static void mysql(void **state)
{
    (void)state;
    const struct counter counters[] = {{.name = "Innodb_redo_log_current_lsn", .value = 9000},
                                       {.name = "Innodb_redo_log_checkpoint_lsn", .value = 8000},
                                       {.name = "Innodb_redo_log_capacity_resized", .value = 1e8},
                                       {.name = "Innodb_data_written", .value = 500}};
    struct server_work work = work_of("mysql", counters, COUNT_OF(counters));
    assert_true(work.log_bytes == 9000 && work.checkpoint_age_bytes == 1000);
    assert_true(work.log_capacity_bytes == 1e8);
    /* 5.7 has no position among its counters */
    const struct counter old[] = {{.name = "Innodb_os_log_written", .value = 77}};
    work = work_of("mysql", old, 1);
    assert_true(work.log_bytes == 77 && isnan(work.checkpoint_age_bytes));
    assert_true(isnan(work.log_capacity_bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_are_found_by_name),
        cmocka_unit_test(postgresql_until_16),
        cmocka_unit_test(postgresql_from_17),
        cmocka_unit_test(mariadb),
        cmocka_unit_test(mysql),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
