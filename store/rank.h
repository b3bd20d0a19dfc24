/*
 * The answer: points ranked within each condition (or across them by geometric mean), with what
 * is known of their noise, ties and durability. Reads the store only.
 *
 * With y = ln(metric), everything is compared by the formulas of sweeper/stats/compare.h: noise
 * pooled within points (s_i of an arm), intervals exp(mean y -+ t s_i / sqrt(n_i)), the tied set by
 * multiple comparison with the best, the places that a point may have, its chance of being the
 * best. The noise must rest on 2 degrees of freedom and, where the baseline was measured at all, on
 * 3 runs of it: else no interval is claimed. Intervals against the baseline hold for all points of
 * the condition at once, since one looks at all of them.
 *
 * Where the baseline's runs of a condition drifted (sweeper/stats/drift.h), each value is corrected
 * by the level of the baseline at its time. A point that was confirmed stands by its confirmation
 * runs alone, which had no part in choosing it; it is compared with the baseline by Welch's t over
 * the runs that both had in the confirmation. Where some were confirmed, only they (and the
 * baseline) are possibly best, save a point that was not and is better than all of them beyond
 * doubt. Among the tied, those within 0.5 % of the best stand in the order of safety (durability),
 * nearness to the server as found (settings changed), and memory.
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
struct rank_drift {
    const char *label; /* of the condition; "" where there is none */
    size_t runs;       /* of the baseline */
    bool is_testable;
    bool is_corrected; /* it drifts: values are corrected */
    double p;
    double slope_pct_per_h;
    double change_pct; /* by that slope, from its first run to its last */
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
     * "outlier" (a run lies 5 MAD away; it counts all the same), "less-durable", "unconfirmed" (it
     * is first and no run confirms it). */
    const char *flags;
    int rank_low; /* the places it may truly have; 0: it has no rank */
    int rank_high;
    double chance;       /* of being the best of its condition; NAN not known */
    bool confirmed;      /* its figures come from confirmation runs */
    int confirming;      /* how many runs those are */
    int baseline_runs;   /* that they are compared with; 0: versus_* is by all runs */
    double expected;     /* of the ranked metric, shrunken by how much luck there may be; NAN */
    double expected_pct; /* the same against the baseline; NAN */
    double raw_mean;     /* of the ranked metric before correction for drift; NAN: not corrected */
    bool has_domination; /* there is a second objective: p99_ms, or throughput_per_s */
    bool nondominated;   /* nothing is as good in both and surely better in one */
    int changed;         /* settings that differ from the server as found */
    double memory_bytes; /* memory_allocated_mb, else what its settings of bytes add up to; NAN */
    const struct rank_drift *drift; /* of its condition; NULL where joined or without a baseline */
};
struct rank_table {
    struct rank_row *rows; /* condition by condition, best first; those without rank last */
    size_t row_count;
    const char *by;
    const char *better;
    double confidence; /* of the intervals */
    double noise_pct;  /* standard deviation between runs of a point; NAN: not known */
    int degrees;       /* of freedom of that */
    const struct rank_drift *drifts;
    size_t drift_count;
    const char *second; /* objective of the non-dominated set; NULL: none was measured */
    int baseline_runs;
    const char *note; /* why there is less to see than hoped; "" */
};

bool rank_compute(struct store *store, const struct rank_options *options, struct arena *arena,
                  struct rank_table *out, struct err *err) MUST_USE;

bool rank_same_condition(const struct rank_row *a, const struct rank_row *b);

/* Whether one of the words, parted by blanks, is that one. */
bool rank_has_word(const char *words, const char *word);

/* In words: why the first is first, and what is not known. */
bool rank_explain(const struct rank_table *table, struct text *out, struct err *err) MUST_USE;

/* format: "table" | "csv" | "json", into out. The JSON is the shape of interface section 4. */
bool rank_format(const struct rank_table *table, const char *format, struct text *out,
                 struct err *err) MUST_USE;

#endif
