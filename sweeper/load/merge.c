/*
 * Results of several workers of one drive as one. Percentiles come from histograms that were added,
 * never from percentiles; the series of p99, which has none, keeps the worst.
 */
#include <string.h>

#include "sweeper/load/load.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* A copy with room for what the other brings. */
static void *widen(struct arena *arena, const void *rows, size_t count, size_t more, size_t size)
{
    void *wider = arena_alloc(arena, (count + more) * size);
    if (wider != NULL && count > 0) {
        memcpy(wider, rows, count * size);
    }
    return wider;
}

static void merge_transaction(struct load_result *into, const struct load_transaction *from)
{
    size_t at = 0;
    while (at < into->transaction_count && strcmp(into->transactions[at].name, from->name) != 0) {
        at++;
    }
    if (at == into->transaction_count) {
        into->transactions[into->transaction_count++] = *from;
        return;
    }
    struct load_transaction *to = &into->transactions[at];
    to->error_count += from->error_count;
    to->retry_count += from->retry_count;
    histogram_merge(to->latency, from->latency);
    if (to->service != NULL && from->service != NULL) {
        histogram_merge(to->service, from->service);
    }
}

static void merge_statement(struct load_result *into, const struct load_statement *from)
{
    for (size_t i = 0; i < into->statement_count; i++) {
        struct load_statement *to = &into->statements[i];
        if (strcmp(to->transaction, from->transaction) == 0 &&
            strcmp(to->statement, from->statement) == 0) {
            to->error_count += from->error_count;
            histogram_merge(to->latency, from->latency);
            return;
        }
    }
    into->statements[into->statement_count++] = *from;
}

static void merge_error(struct load_result *into, const struct load_error_row *from)
{
    for (size_t i = 0; i < into->error_row_count; i++) {
        struct load_error_row *to = &into->errors[i];
        if (strcmp(to->transaction, from->transaction) == 0 && strcmp(to->code, from->code) == 0) {
            to->count += from->count;
            return;
        }
    }
    into->errors[into->error_row_count++] = *from;
}

/* Windows begin together, so that seconds of one index are one second. */
static void merge_second(struct load_result *into, const struct load_second *from)
{
    for (size_t i = 0; i < into->second_count; i++) {
        struct load_second *to = &into->seconds[i];
        if (to->phase == from->phase && to->index == from->index) {
            double all = to->throughput_per_s + from->throughput_per_s;
            to->mean_ms = all > 0 ? (to->mean_ms * to->throughput_per_s +
                                     from->mean_ms * from->throughput_per_s) /
                                        all
                                  : 0;
            to->throughput_per_s = all;
            to->error_count += from->error_count;
            to->p99_ms = larger(to->p99_ms, from->p99_ms);
            return;
        }
    }
    into->seconds[into->second_count++] = *from;
}

/* Parts of one index are of one time. Where one worker has none there is none of all. */
static void merge_batches(struct load_result *into, const struct load_result *from)
{
    into->batch_count = into->batch_count == from->batch_count ? into->batch_count : 0;
    for (size_t i = 0; i < into->batch_count; i++) {
        histogram_merge(&into->batches[i], &from->batches[i]);
    }
}

static void merge_figures(struct load_result *into, const struct load_result *from)
{
    into->measured_ns =
        into->measured_ns > from->measured_ns ? into->measured_ns : from->measured_ns;
    into->client_count += from->client_count;
    into->unfinished_count += from->unfinished_count;
    into->driver_cpu_s += from->driver_cpu_s;
    into->busy_pct = larger(into->busy_pct, from->busy_pct);
    into->wait_pct = larger(into->wait_pct, from->wait_pct);
    into->p99_lag_ms = larger(into->p99_lag_ms, from->p99_lag_ms);
    into->due_count += from->due_count;
    into->backlog_count += from->backlog_count;
    into->backlog_ns = into->backlog_ns > from->backlog_ns ? into->backlog_ns : from->backlog_ns;
    bool are_known = into->ceiling_per_s > 0 && from->ceiling_per_s > 0;
    into->ceiling_per_s = are_known ? into->ceiling_per_s + from->ceiling_per_s : 0;
}

bool load_result_merge(struct load_result *into, const struct load_result *from,
                       struct arena *arena, struct err *err)
{
    if (into->metric_count + from->metric_count > 0) {
        return err_set(err, ERR_CODE_bug, "figures of a workload's own cannot be added up");
    }
#define WIDEN(rows, count) widen(arena, into->rows, into->count, from->count, sizeof *into->rows)
    into->transactions = WIDEN(transactions, transaction_count);
    into->statements = WIDEN(statements, statement_count);
    into->errors = WIDEN(errors, error_row_count);
    into->seconds = WIDEN(seconds, second_count);
#undef WIDEN
    if (into->transactions == NULL || into->statements == NULL || into->errors == NULL ||
        into->seconds == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < from->transaction_count; i++) {
        merge_transaction(into, &from->transactions[i]);
    }
    for (size_t i = 0; i < from->statement_count; i++) {
        merge_statement(into, &from->statements[i]);
    }
    for (size_t i = 0; i < from->error_row_count; i++) {
        merge_error(into, &from->errors[i]);
    }
    for (size_t i = 0; i < from->second_count; i++) {
        merge_second(into, &from->seconds[i]);
    }
    merge_batches(into, from);
    merge_figures(into, from);
    return true;
}
