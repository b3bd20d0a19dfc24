/*
 * Rates of an insert run.
 */
#include "sweeper/load/insert/insert_rates.h"

void insert_curve_open(struct insert_curve *curve, int64_t begin_ns)
{
    curve->count = 0;
    curve->stride = 1;
    curve->pending = 0;
    curve->begin_ns = begin_ns;
    curve->last_ns = begin_ns;
    curve->rows = 0;
    curve->stall_ns = 0;
}

/* What is left are the ends of pairs, so that each point is that of twice as many statements. */
static void halve(struct insert_curve *curve)
{
    curve->count /= 2;
    for (size_t i = 0; i < curve->count; i++) {
        curve->points[i] = curve->points[2 * i + 1];
    }
    curve->stride *= 2;
}

void insert_curve_add(struct insert_curve *curve, int64_t at_ns, int64_t rows)
{
    int64_t stall_ns = at_ns - curve->last_ns;
    curve->stall_ns = stall_ns > curve->stall_ns ? stall_ns : curve->stall_ns;
    curve->last_ns = at_ns;
    curve->rows += rows;
    if (++curve->pending < curve->stride) {
        return;
    }
    if (curve->count == INSERT_POINTS) {
        halve(curve);
        if (curve->pending < curve->stride) {
            return;
        }
    }
    curve->pending = 0;
    curve->points[curve->count++] = (struct insert_point){.at_ns = at_ns, .rows = curve->rows};
}

/* The first point at or after so many rows; count: none. */
static size_t find_point(const struct insert_curve *curve, int64_t rows)
{
    size_t low = 0;
    size_t high = curve->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->points[middle].rows < rows) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int64_t insert_curve_time_ns(const struct insert_curve *curve, int64_t rows)
{
    size_t at = find_point(curve, rows);
    struct insert_point before = {.at_ns = curve->begin_ns};
    struct insert_point after = {.at_ns = curve->last_ns, .rows = curve->rows};
    if (at > 0) {
        before = curve->points[at - 1];
    }
    if (at < curve->count) {
        after = curve->points[at];
    }
    if (after.rows == before.rows) {
        return before.at_ns;
    }
    double share = (double)(rows - before.rows) / (double)(after.rows - before.rows);
    return before.at_ns + (int64_t)(share * (double)(after.at_ns - before.at_ns));
}

static double rate_per_s(int64_t rows, int64_t time_ns)
{
    return (double)rows / ((double)time_ns / 1e9);
}

/* Rows `from` to `to`; the last of all count until the end. */
static double rate_between(const struct insert_curve *curve, int64_t from, int64_t to,
                           int64_t end_ns)
{
    int64_t until_ns = to == curve->rows ? end_ns : insert_curve_time_ns(curve, to);
    return rate_per_s(to - from, until_ns - insert_curve_time_ns(curve, from));
}

/* 1 % of the rows, within its bounds. */
static int64_t edge_of(int64_t rows, int64_t least_edge)
{
    int64_t edge = rows / 100 > least_edge ? rows / 100 : least_edge;
    edge = edge < rows / INSERT_DECILES ? edge : rows / INSERT_DECILES;
    edge = edge < INSERT_EDGE_ROWS ? edge : INSERT_EDGE_ROWS;
    return edge > 0 ? edge : 1;
}

struct insert_rates insert_curve_rates(const struct insert_curve *curve, int64_t least_edge,
                                       int64_t end_ns)
{
    int64_t rows = curve->rows;
    int64_t edge = edge_of(rows, least_edge);
    int64_t stall_ns = end_ns - curve->last_ns;
    struct insert_rates rates = {
        .rows_per_s = rate_per_s(rows, end_ns - curve->begin_ns),
        .longest_stall_ms =
            (double)(stall_ns > curve->stall_ns ? stall_ns : curve->stall_ns) / 1e6};
    if (rows == 0) {
        return rates;
    }
    rates.initial_rows_per_s = rate_between(curve, 0, edge, end_ns);
    rates.terminal_rows_per_s = rate_between(curve, rows - edge, rows, end_ns);
    for (int i = 0; i < INSERT_DECILES; i++) {
        int64_t from = (int64_t)((double)rows * i / INSERT_DECILES);
        int64_t to = (int64_t)((double)rows * (i + 1) / INSERT_DECILES);
        rates.deciles_rows_per_s[i] =
            rate_between(curve, from, i + 1 == INSERT_DECILES ? rows : to, end_ns);
    }
    return rates;
}
