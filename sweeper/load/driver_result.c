/*
 * What a drive came to: the loops' counts as one, and whether they are worth keeping.
 */
#include <stdio.h>

#include "sweeper/load/driver.h"

enum { TEXT_BYTES = 256 };

static void fill_transactions(const struct driver *driver, struct meter *all,
                              struct load_result *out)
{
    for (size_t i = 0; i < driver->transaction_count; i++) {
        out->transactions[i] =
            (struct load_transaction){.name = driver->transaction_names[i],
                                      .error_count = all->transaction_errors[i],
                                      .retry_count = all->retries[i],
                                      .latency = &all->transactions[i],
                                      .service = all->services != NULL ? &all->services[i] : NULL};
    }
    out->transaction_count = driver->transaction_count;
}

/* Rows of what never ran (the rollback of a run without errors) are left out. */
static void fill_statements(const struct driver *driver, struct meter *all, struct load_result *out)
{
    for (size_t i = 0; i < driver->row_count; i++) {
        if (all->statements[i].count == 0 && all->statement_errors[i] == 0) {
            continue;
        }
        out->statements[out->statement_count++] = (struct load_statement){
            .transaction = driver->transaction_names[driver->rows[i].transaction],
            .statement = driver->rows[i].statement,
            .error_count = all->statement_errors[i],
            .latency = &all->statements[i]};
    }
}

/* One schedule of all loops. */
static void fill_schedule(struct driver *driver, struct load_result *out)
{
    struct histogram *lag = &driver->loops[0].schedule.lag;
    if (driver->job->workload.rate_per_s <= 0) {
        return;
    }
    for (size_t i = 0; i < driver->loop_count; i++) {
        const struct schedule *schedule = &driver->loops[i].schedule;
        out->due_count += schedule->due_count;
        out->backlog_count += schedule->missed_count;
        out->backlog_ns =
            schedule->oldest_ns > out->backlog_ns ? schedule->oldest_ns : out->backlog_ns;
        if (i > 0) {
            histogram_merge(lag, &schedule->lag);
        }
    }
    out->p99_lag_ms = histogram_percentile_ns(lag, 99) / 1e6;
}

bool driver_collect(struct driver *driver, struct load_result *out, struct err *err)
{
    struct meter *all = &driver->loops[0].meter;
    for (size_t i = 0; i < driver->loop_count; i++) {
        if (i > 0) {
            meter_merge(all, &driver->loops[i].meter);
        }
        out->unfinished_count += driver->loops[i].unfinished;
    }
    out->transactions =
        ARENA_ARRAY(driver->arena, struct load_transaction, driver->transaction_count);
    out->statements = ARENA_ARRAY(driver->arena, struct load_statement, driver->row_count);
    if (out->transactions == NULL || out->statements == NULL) {
        return err_memory(err);
    }
    fill_transactions(driver, all, out);
    fill_statements(driver, all, out);
    fill_schedule(driver, out);
    out->errors = driver->errors.rows;
    out->error_row_count = driver->errors.count;
    return true;
}

void driver_first_error(struct driver *driver, char *buffer, size_t size)
{
    pthread_mutex_lock(&driver->errors.mutex);
    snprintf(buffer, size, "%s",
             driver->errors.count > 0 ? driver->errors.rows[0].text : driver->errors.conflict);
    pthread_mutex_unlock(&driver->errors.mutex);
}

/* A transaction that never came back would be missing among the latencies, where it is the worst of
 * all: such a run looks better than it was. */
static bool judge_unfinished(const struct driver *driver, const struct load_result *result,
                             struct err *err)
{
    if (result->unfinished_count == 0) {
        return true;
    }
    err_set(err, ERR_CODE_timeout,
            "%llu of %zu clients got no answer until %lld ms after the window",
            (unsigned long long)result->unfinished_count, driver->client_count,
            (long long)driver->job->workload.drain_ms);
    return err_hint(err, "the server stopped answering, or workload.drain is too short");
}

bool driver_judge(struct driver *driver, const struct load_result *result, struct err *err)
{
    uint64_t done = 0;
    uint64_t failed = 0;
    char first[TEXT_BYTES];
    double budget_pct = driver->job->workload.error_budget_pct;
    for (size_t i = 0; i < result->transaction_count; i++) {
        done += result->transactions[i].latency->count;
        failed += result->transactions[i].error_count;
    }
    driver_first_error(driver, first, sizeof first);
    if (!judge_unfinished(driver, result, err)) {
        return false;
    }
    if (done == 0) {
        return err_set(err, ERR_CODE_workload,
                       "no transaction completed within the window, %llu failed%s%s",
                       (unsigned long long)failed, first[0] != '\0' ? ": " : "", first);
    }
    if ((double)failed > budget_pct / 100 * (double)(done + failed)) {
        err_set(err, ERR_CODE_workload, "%llu of %llu transactions failed, over %g %%: %s",
                (unsigned long long)failed, (unsigned long long)(done + failed), budget_pct, first);
        return err_hint(err, "see workload.error_budget");
    }
    return true;
}
