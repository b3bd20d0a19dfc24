/*
 * The ranking while it is computed: what rank.c, rank_filter.c and rank_across.c share. Inside
 * store/ only.
 */
#ifndef STORE_RANK_WORK_H
#define STORE_RANK_WORK_H

#include "store/rank_data.h"

/* Within arms, of the logarithms of one metric, pooled over all arms with repeats. */
struct rank_noise {
    double sd;      /* NAN: not known */
    double degrees; /* of freedom */
};

/* One line of the ranking. */
struct rank_candidate {
    const struct rank_arm *arm; /* of the first condition where several are joined */
    const char *key;            /* what is the same across conditions */
    struct rank_row row;
    double value;    /* mean of ln(metric), negated where lower is better: higher is better */
    double variance; /* of that mean in units of the pooled variance: 1/n, or joined; 0: no value */
    bool can_win;
    bool is_hidden; /* by --where; a hidden baseline still serves as the reference */
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
    struct rank_noise noise;
    struct rank_candidate *candidates; /* by condition */
    size_t count;
    struct rule *under;
    struct rule *where;
    const char *last_word; /* of a rule, in no setting of the row at hand; NULL none yet */
    enum rank_word last_word_is;
};

/* Half of the interval's width in logarithms for a mean of that variance: t(1 - (1 - confidence)
 * / 2; degrees) * sd * sqrt(variance). NAN: not known. */
double rank_half_width(const struct ranking *ranking, const struct rank_noise *noise,
                       double variance);

/* Hides what --where does not name. */
bool rank_apply_where(struct ranking *ranking, struct err *err) MUST_USE;
/* Durability and the limit take the right to win, not the place in the table. */
bool rank_disqualify(struct ranking *ranking, struct err *err) MUST_USE;
/* Arms that were measured in every condition become one, by their geometric mean. */
bool rank_join_conditions(struct ranking *ranking, struct err *err) MUST_USE;
/* The words of both, each once, parted by blanks. NULL where memory ends. */
const char *rank_join_words(struct arena *arena, const char *left, const char *right);

#endif
