/*
 * What the baseline's runs tell of the noise: how far runs of the same configuration differ, what
 * of that is within a run, whether the machine drifts, what a run costs beside its window. Reads
 * the store only; `dbsweep aa` and `dbsweep check` print it.
 */
#ifndef STORE_NOISE_H
#define STORE_NOISE_H

#include "store/store.h"
#include "sweeper/base/text.h"

#define NOISE_LIMIT_PCT 5.0 /* above, tuning is guessing: what aa refuses by default */
#define NOISE_LEAST_RUNS 5  /* of the baseline, before anybody is warned */

struct noise_condition {
    const char *label; /* "clients=32"; "" */
    size_t runs;
    size_t unsteady; /* of these, flagged not-steady */
    size_t failed;
    double mean; /* geometric, of the ranked metric */
    double sd;   /* between runs, of logarithms; NAN below 2 runs */
    bool is_testable;
    bool has_drift;
    double drift_p;
    double slope_pct_per_h; /* of a straight line; NAN below 2 runs */
    double change_pct;      /* by that line, from the first run to the last */
};
struct noise {
    const char *by;
    struct noise_condition *conditions;
    size_t condition_count;
    size_t runs;    /* over all conditions */
    double sd;      /* pooled over conditions; NAN: not known */
    double degrees; /* of freedom of it */
    double sd_low;  /* with the sweep's confidence */
    double sd_high;
    double confidence;
    double within_sd;  /* what a run's mean is uncertain by of itself (metric within_pct); NAN */
    double measured_s; /* the window, mean over runs; NAN */
    double overhead_s; /* of a run beside its window; NAN */
};

/* Runs of the baseline in the newest sweep; `latest_call`: of its newest call alone. Without a
 * sweep in the store: not_found. */
bool noise_load(struct store *store, bool latest_call, struct arena *arena, struct noise *out,
                struct err *err) MUST_USE;

/* What a sweep of so many points with so many runs each could detect, in percent: between two of
 * them, and as a gain over the baseline of any of them. NAN where the noise is not known. */
struct noise_power {
    size_t points; /* beside the baseline */
    size_t repeats;
    double pair_pct;
    double any_pct;
};
struct noise_power noise_power_of(const struct noise *noise, size_t points, size_t repeats);

/* How long to measure: see compare_run_length. */
struct noise_advice {
    bool is_known;
    double between_sd; /* what runs differ by beside within_sd */
    double length_s;   /* INFINITY: runs differ by what is within them alone */
};
struct noise_advice noise_advise(const struct noise *noise);

/* The words of aa: a line for each condition, noise, advice; `power` the planned sweep's. */
void noise_put_text(const struct noise *noise, const struct noise_power *power, struct text *out);
void noise_put_json(const struct noise *noise, const struct noise_power *power, double limit_pct,
                    struct text *out);
/* The one or two lines of check. */
void noise_put_detectable(const struct noise *noise, const struct noise_power *power,
                          struct text *out);

#endif
