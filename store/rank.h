/*
 * The answer: points ranked within each condition (or across them by geometric mean), with what
 * is known of their noise, ties and durability. Reads the store only.
 *
 * With y = ln(metric) and n_i runs of point i: the mean is exp(mean y_i); the noise s is pooled
 * within points, s^2 = sum (y_ij - mean y_i)^2 / d with d = sum (n_i - 1), at least 2 (else no
 * interval is claimed); the interval is exp(mean y_i -+ t(1 - a/2; d) s / sqrt(n_i)) with
 * a = 1 - confidence, and against the baseline exp(difference -+ t(1 - a/2; d) s sqrt(1/n_i +
 * 1/n_b)) - 1. Point i is possibly best, hence tied, unless some other point j of K lies above it
 * by more than t(1 - a/(K - 1); d) s sqrt(1/n_i + 1/n_j): multiple comparison with the best
 * (Hsu), with Bonferroni's bound for Dunnett's quantile.
 */
#ifndef STORE_RANK_H
#define STORE_RANK_H

#include "knobs/rule.h"
#include "store/store.h"
#include "sweeper/base/text.h"

struct rank_options {
    int64_t sweep_id;       /* 0: the newest */
    const char *by;         /* NULL: the sweep's own */
    const char *better;     /* NULL: by the metric: *_ms, *_s and error_pct lower, else higher */
    const char *under;      /* NULL: the sweep's own; "" none */
    const char *where;      /* NULL none: "work_mem=4MB and journal_mode=wal"; see knobs/rule.h */
    const char *durability; /* NULL: the sweep's own */
    const char *across;     /* NULL: the sweep's own */
    size_t top;             /* 0: all */
};

struct rank_metric {
    const char *name;
    double mean;
    double low; /* NAN: no interval is claimed */
    double high;
    double cv_pct;
};
struct rank_pair {
    const char *name;
    const char *display; /* as asked or effective, for people */
    const char *canonical;
    const char *type; /* of what was asked, as the sweep declared it (knob_type_name); else "" */
    const char *unit; /* unit_name */
    bool has_number;
    double number;
};
struct rank_row {
    /* 1 is best; what is tied with the first shares its rank wherever repeats tell the noise.
     * 0: all trials failed, or it cannot win (less durable, over the limit). */
    int rank;
    int64_t point_id;      /* the lowest of the points that came out the same */
    const int64_t *points; /* all of them */
    size_t point_count;
    struct rank_pair *condition;
    size_t condition_count;
    bool tied; /* it and another cannot be told from the best; always where noise is not known */
    bool baseline;
    bool durable;
    int trials; /* done, over all merged points */
    int failed;
    struct rank_pair *asked;
    size_t asked_count;
    struct rank_pair *effective;
    size_t effective_count;
    struct rank_metric *metrics;
    size_t metric_count;
    bool has_versus;
    double versus_mean_pct; /* against the baseline in the same condition; positive = better */
    double versus_low_pct;  /* NAN: no interval */
    double versus_high_pct;
    const char *reason; /* why it has no rank; NULL where it has */
    /* Space-separated: the trials' own, "one-trial" (its interval rests on the repeats of other
     * points), "unstable" (its repeats differ by more than 10 % and five times the noise),
     * "less-durable". */
    const char *flags;
};
struct rank_table {
    struct rank_row *rows; /* condition by condition, best first; those without rank last */
    size_t row_count;
    const char *by;
    const char *better;
    double confidence; /* of the intervals */
    double noise_pct;  /* standard deviation between runs of a point; NAN: not known */
    int degrees;       /* of freedom of that */
    const char *note;  /* why there is less to see than hoped; "" */
};

bool rank_compute(struct store *store, const struct rank_options *options, struct arena *arena,
                  struct rank_table *out, struct err *err) MUST_USE;

bool rank_same_condition(const struct rank_row *a, const struct rank_row *b);

/* format: "table" | "csv" | "json", into out. The JSON is the shape of interface section 4. */
bool rank_format(const struct rank_table *table, const char *format, struct text *out,
                 struct err *err) MUST_USE;

#endif
