/*
 * What the ranking reads of the store: the sweep's trials with their metrics, folded into arms. An
 * arm is what is compared: all trials whose settings came out the same after read-back, under one
 * condition. Inside store/ only.
 */
#ifndef STORE_RANK_DATA_H
#define STORE_RANK_DATA_H

#include "store/rank.h"

#define RANK_METRIC_LIMIT 64

struct rank_trial {
    int64_t trial_id;
    int64_t point_id;
    int64_t condition_id;
    const char *key; /* of its arm */
    bool is_done;
    bool is_killed;  /* stopped early: it would not have passed what was measured of it */
    bool is_confirm; /* it had no part in choosing its point */
    bool is_baseline;
    bool is_durable;
    const char *reason; /* of a failure */
    const char *flags;
    int64_t started_us;
    int64_t call_id;
    double elapsed_s;                  /* all of it; NAN not known */
    double measured_s;                 /* its window; NAN not known */
    double raw_log;                    /* ln of the ranked metric; NAN: no such value */
    double log;                        /* the same, corrected for drift */
    double metrics[RANK_METRIC_LIMIT]; /* by rank_data.metric_names; NAN none */
};

struct rank_arm {
    const char *key;
    int64_t condition_id;
    int64_t point_id; /* the lowest */
    bool is_baseline;
    bool is_durable;
    size_t first; /* its trials are rank_data.trials[first … first + count) */
    size_t count;
    int done; /* to their end */
    int killed;
    int failed;
    int confirmed; /* of those done, runs that confirm */
};

struct rank_data {
    struct store_sweep sweep;
    struct rank_trial *trials; /* by condition, arm, trial */
    size_t trial_count;
    const char *metric_names[RANK_METRIC_LIMIT];
    const char *metric_better[RANK_METRIC_LIMIT];
    size_t metric_count;
    struct rank_arm *arms; /* by condition, then key */
    size_t arm_count;
};

bool rank_data_load(struct store *store, int64_t sweep_id, struct arena *arena,
                    struct rank_data *out, struct err *err) MUST_USE;
/* Index of the metric, SIZE_MAX: no trial has it. */
size_t rank_data_metric(const struct rank_data *data, const char *name);
/* Whether the trial is one of those that stand for its arm: measured to its end, and where the
 * arm's point was confirmed, a run that confirms (what it was chosen by flatters it). */
bool rank_data_counts(const struct rank_arm *arm, const struct rank_trial *trial);
/* Whether an arm's figures come from runs that had no part in choosing it. */
bool rank_data_is_confirmed(const struct rank_arm *arm);
/* The values of one metric over the trials that count; their number is returned. */
size_t rank_data_values(const struct rank_data *data, const struct rank_arm *arm, size_t metric,
                        double *out);
/* What was asked at the arm's point, what came out, and its condition. */
bool rank_data_pairs(struct store *store, const struct rank_data *data, const struct rank_arm *arm,
                     struct arena *arena, struct rank_row *out, struct err *err) MUST_USE;

#endif
