/*
 * How many rows were in at which time, kept as a curve of bounded size, and the rates that follow
 * from it. A run of days has millions of statements: when the curve is full every second point
 * goes, and what lies between two points is taken as straight.
 */
#ifndef SWEEPER_LOAD_INSERT_INSERT_RATES_H
#define SWEEPER_LOAD_INSERT_INSERT_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSERT_POINTS 16384
#define INSERT_EDGE_ROWS INT64_C(10000000) /* of the initial and the terminal rate, at most */
#define INSERT_DECILES 10

struct insert_point {
    int64_t at_ns;
    int64_t rows; /* in all, then */
};

struct insert_curve {
    struct insert_point points[INSERT_POINTS];
    size_t count;
    uint64_t stride;  /* statements of each point: a power of two */
    uint64_t pending; /* statements since the last point */
    int64_t begin_ns;
    int64_t last_ns; /* of the last statement; begin_ns before the first */
    int64_t rows;
    int64_t stall_ns; /* longest time in which no statement was completed, between two */
};

/* Rates are not finite where the time is too short to be told from none. */
struct insert_rates {
    double rows_per_s;
    double initial_rows_per_s;                 /* the first 1 %, at most INSERT_EDGE_ROWS */
    double terminal_rows_per_s;                /* as many at the end */
    double deciles_rows_per_s[INSERT_DECILES]; /* each over a tenth of the rows */
    double longest_stall_ms;
};

void insert_curve_open(struct insert_curve *curve, int64_t begin_ns);
/* A statement of so many rows was completed. Times do not fall. */
void insert_curve_add(struct insert_curve *curve, int64_t at_ns, int64_t rows);
/* When so many rows were in. 0 <= rows <= curve->rows. */
int64_t insert_curve_time_ns(const struct insert_curve *curve, int64_t rows);
/* Of all rows until end_ns, which is not before the last statement. The initial and the terminal
 * rate are over least_edge rows where 1 % is less, as a few statements tell no rate, but over a
 * tenth of all rows at most. */
struct insert_rates insert_curve_rates(const struct insert_curve *curve, int64_t least_edge,
                                       int64_t end_ns);

#endif
