/*
 * The ranking while it is computed: what the files rank*.c share. Inside store/ only.
 */
#ifndef STORE_RANK_WORK_H
#define STORE_RANK_WORK_H

#include "store/rank_data.h"
#include "sweeper/stats/compare.h"

#define RANK_LEAST_DEGREES 2 /* of freedom, to speak of noise */

/* One line of the ranking. */
struct rank_candidate {
    const struct rank_arm *arm; /* of the first condition where several are joined */
    const char *key;            /* what is the same across conditions */
    struct rank_row row;
    /* Of ln(metric), negated where lower is better: higher is better. Joined arms are one run with
     * the variance of the joined mean. count 0: no value. */
    struct compare_arm stat;
    struct compare_arm second; /* the same of the second objective */
    double raw;                /* mean before correction */
    double merit;              /* what it is expected to be worth: the order among the tied */
    bool can_win;
    bool is_hidden; /* by --where; a hidden baseline still serves as the reference */
    bool is_contender;
    bool is_near;   /* within 0.5 % of the best of the tied */
    bool has_claim; /* by Welch on fresh runs */
    double claim;   /* in logarithms, with its half width */
    double claim_half;
};

enum rank_word { RANK_WORD_UNKNOWN, RANK_WORD_NAME, RANK_WORD_VALUE };

struct ranking {
    struct store *store;
    const struct rank_options *options;
    struct arena *arena;
    struct rank_data data;
    const char *by;
    bool higher;
    size_t metric; /* index of `by`; SIZE_MAX: no trial has it */
    size_t second; /* index of the second objective; SIZE_MAX none */
    bool second_is_higher;
    struct compare_noise noise; /* variance NAN: not known well enough */
    int baseline_runs;
    struct rank_drift *drifts;
    size_t drift_count;
    struct rank_candidate *candidates; /* by condition */
    size_t count;
    struct rule *under;
    struct rule *where;
    const char *last_word; /* of a rule, in no setting of the row at hand; NULL none yet */
    enum rank_word last_word_is;
};

/* Reads the sweep, chooses the metric and fills logarithms: what effects begin with too. */
bool rank_open(struct ranking *ranking, struct err *err) MUST_USE;
/* Logarithms of the ranked metric for every trial, corrected where the baseline drifts. */
bool rank_fill_logs(struct ranking *ranking, struct err *err) MUST_USE;
/* Metrics, noise, and the ranked value of every candidate. */
bool rank_measure(struct ranking *ranking, struct err *err) MUST_USE;
/* What the trials and their spread say of a candidate, in words; NULL where memory ends. */
bool rank_flag(struct ranking *ranking, struct err *err) MUST_USE;
/* Fresh runs against fresh runs of the baseline, condition by condition. */
bool rank_claim(struct ranking *ranking, struct err *err) MUST_USE;
/* One condition's candidates: gains, ties, places, chances; left in order. */
bool rank_place(const struct ranking *ranking, struct rank_candidate *candidates, size_t count,
                struct err *err) MUST_USE;
int64_t rank_condition_of(const struct rank_candidate *candidate);
/* By condition, the possibly best first, then others with a rank, then those without. */
int rank_compare_candidates(const void *a, const void *b);

/* Hides what --where does not name. */
bool rank_apply_where(struct ranking *ranking, struct err *err) MUST_USE;
/* Durability and the limit take the right to win, not the place in the table. */
bool rank_disqualify(struct ranking *ranking, struct err *err) MUST_USE;
/* Arms that were measured in every condition become one, by their geometric mean. */
bool rank_join_conditions(struct ranking *ranking, struct err *err) MUST_USE;
/* What stands below the table: the signs it uses, noise, drift, notes. */
void rank_put_footer(const struct rank_table *table, struct text *out);
/* "clients=32", "" where there is no condition; NULL where memory ends. */
const char *rank_condition_text(struct arena *arena, const struct rank_row *row);
/* "work_mem=4M (is 8M)", "baseline"; NULL where memory ends. */
const char *rank_settings_text(struct arena *arena, const struct rank_row *row);
const struct rank_metric *rank_row_metric(const struct rank_row *row, const char *name);
/* The words of both, each once, parted by blanks. NULL where memory ends. */
const char *rank_join_words(struct arena *arena, const char *left, const char *right);

#endif
