/*
 * What the ranking makes of a replayed sweep: the same rules over the same figures as
 * store/rank*.c, without a store. Where points were confirmed they stand by those runs alone; noise
 * is pooled over all arms; who may be the best is told by multiple comparison with the best; the
 * gain over the baseline is Welch's, fresh runs against fresh runs.
 */
#ifndef TESTS_SUPPORT_SEARCH_JUDGE_H
#define TESTS_SUPPORT_SEARCH_JUDGE_H

#include "tests/support/search_sim.h"

enum { JUDGED_MOST = 512, JUDGED_LEAST_RUNS = 2 };

struct judgement {
    size_t winner;    /* the highest of those confirmed; SIZE_MAX: nothing was */
    double mean;      /* its confirmed mean, ln */
    size_t arm_count; /* confirmed, the baseline apart */
    size_t tied_count;
    bool is_best_arm_tied; /* the truly best of the arms is possibly the best */
    size_t best_arm;
    struct compare_welch gain; /* of the winner over the baseline */
    bool has_gain;
    size_t search_count; /* trials before the first confirmation */
};

struct judged {
    size_t count;
    size_t points[JUDGED_MOST];
    struct compare_arm arms[JUDGED_MOST];
    bool is_confirmed[JUDGED_MOST];
};

static inline size_t judged_runs(const struct search_sim *of, size_t point, bool confirmed,
                                 double *out)
{
    size_t count = 0;
    for (size_t i = 0; i < of->count; i++) {
        const struct past_trial *trial = &of->trials[i];
        bool counts = !confirmed || trial->purpose == PURPOSE_CONFIRM;
        if (trial->point == point && trial->state == TRIAL_DONE && counts)
            out[count++] = log(trial->value);
    }
    return count;
}

/* Each point that was measured once, with the runs it stands by. */
static inline void judge_arms(const struct search_sim *of, struct judged *out)
{
    static double runs[SIM_TRIALS_MOST];
    out->count = 0;
    for (size_t i = 0; i < of->count && out->count < JUDGED_MOST; i++) {
        size_t point = of->trials[i].point;
        bool is_new = true;
        for (size_t j = 0; j < out->count; j++)
            is_new = is_new && out->points[j] != point;
        if (!is_new)
            continue;
        size_t fresh = judged_runs(of, point, true, runs);
        bool is_confirmed = point != 0 && fresh >= JUDGED_LEAST_RUNS;
        size_t count = is_confirmed ? fresh : judged_runs(of, point, false, runs);
        out->points[out->count] = point;
        out->is_confirmed[out->count] = is_confirmed;
        compare_arm_of(runs, count, &out->arms[out->count++]);
    }
}

static inline void judge_gain(const struct search_sim *of, struct judgement *out)
{
    static double runs[SIM_TRIALS_MOST];
    struct compare_arm winner;
    struct compare_arm baseline;
    compare_arm_of(runs, judged_runs(of, out->winner, true, runs), &winner);
    size_t count = judged_runs(of, 0, true, runs);
    compare_arm_of(runs, count, &baseline);
    out->has_gain = count >= 2 && compare_welch(&winner, &baseline, 0.95, &out->gain);
}

static inline void sim_judge(const struct search_sim *of, struct judgement *out)
{
    static struct judged judged;
    static bool possible[JUDGED_MOST];
    static double scratch[3 * JUDGED_MOST];
    struct compare_noise noise;
    *out = (struct judgement){.winner = SIZE_MAX, .best_arm = SIZE_MAX};
    judge_arms(of, &judged);
    compare_pool(judged.arms, judged.count, NULL, &noise);
    while (out->search_count < of->count &&
           of->trials[out->search_count].purpose != PURPOSE_CONFIRM)
        out->search_count++;
    for (size_t i = 0; i < judged.count; i++) {
        size_t point = judged.points[i];
        if (!judged.is_confirmed[i] && point != 0) {
            judged.arms[i].count = 0; /* no contender */
            continue;
        }
        if (point == 0)
            continue;
        out->arm_count++;
        if (out->winner == SIZE_MAX || judged.arms[i].mean > out->mean) {
            out->winner = point;
            out->mean = judged.arms[i].mean;
        }
        if (out->best_arm == SIZE_MAX || of->set->truth[point] > of->set->truth[out->best_arm])
            out->best_arm = point;
    }
    if (out->winner == SIZE_MAX)
        return;
    compare_with_best(judged.arms, judged.count, 0.95, scratch, possible);
    for (size_t i = 0; i < judged.count; i++) {
        bool is_tied = possible[i] && judged.arms[i].count > 0;
        out->tied_count += is_tied;
        out->is_best_arm_tied =
            out->is_best_arm_tied || (is_tied && judged.points[i] == out->best_arm);
    }
    judge_gain(of, out);
}

#endif
