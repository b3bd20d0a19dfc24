/*
 * The answer: points ranked within each condition (or across them by geometric mean), with what
 * is known of their noise, ties and durability. Reads the store only.
 */
#ifndef STORE_RANK_H
#define STORE_RANK_H

#include "knobs/rule.h"
#include "store/store.h"
#include "sweeper/base/text.h"

struct rank_options {
    int64_t sweep_id;   /* 0: the newest */
    const char *by;     /* NULL: the sweep's own */
    const char *better; /* NULL: by the metric: *_ms, *_s and error_pct lower, else higher */
    const char *under;  /* NULL: the sweep's own; "" none */
    const char *where;  /* NULL none: "work_mem='4MB' and clients=32"; evaluated by knobs/rule */
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
    bool has_number;
    double number;
};
struct rank_row {
    int rank; /* 0: all trials failed, or it cannot win (less durable, over the limit) */
    int64_t point_id;
    struct rank_pair *condition;
    size_t condition_count;
    bool tied; /* not distinguishable from the first of its condition */
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
    const char *flags;  /* space-separated */
};
struct rank_table {
    struct rank_row *rows; /* condition by condition, best first; those without rank last */
    size_t row_count;
    const char *by;
    const char *better;
    const char *note; /* e.g. "fewer than 3 baseline trials: no interval is claimed"; "" */
};

bool rank_compute(struct store *store, const struct rank_options *options, struct arena *arena,
                  struct rank_table *out, struct err *err) MUST_USE;

/* "name=value name=value" without what stays as found; cut at size, always terminated. */
void rank_pairs_text(const struct rank_pair *pairs, size_t count, char *buffer, size_t size);

/* format: "table" | "csv" | "json", into out. The JSON is the shape of interface section 4. */
bool rank_format(const struct rank_table *table, const char *format, struct text *out,
                 struct err *err) MUST_USE;

#endif
