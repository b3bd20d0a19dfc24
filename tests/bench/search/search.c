/*
 * Strategies against grids whose truth is known, in memory: the figures of `make bench-search`
 * and whether they reach their targets. run.sh puts those of peers beside them.
 *
 *   search PART SEEDS [FOLDER]   PART: search stop confirm own alike failing speed dump
 *
 * FOLDER holds measured grids (sets.h says in which form); made-up ones are always there. A regret
 * is how much worse the recommended point truly is than the best one; means over grids are
 * geometric, and a mean below 0.05 % counts as that.
 */
#include <time.h>

#include "sweeper/search/space.h"
#include "tests/bench/search/sets.h"
#include "tests/support/search_judge.h"

#define REGRET_LEAST 0.0005

static struct arena arena;
static struct arena scratch;
static struct search_set sets[SETS_MOST];
static size_t set_count;
static size_t measured_count; /* of sets: those of the folder, which come first */
static int seeds;
static struct search_sim sim;

static void print_target(const char *what, double figure, const char *relation, double target,
                         bool is_met)
{
    printf("  %-7s %s: %.2f (target: %s %.2f)\n", is_met ? "met" : "NOT MET", what, figure,
           relation, target);
}

static void at_most(const char *what, double figure, double target)
{
    print_target(what, figure, "at most", target, figure <= target + 1e-9);
}

static void at_least(const char *what, double figure, double target)
{
    print_target(what, figure, "at least", target, figure >= target - 1e-9);
}

static double log_mean(double sum, int count)
{
    double mean = sum / count;
    return log(mean > REGRET_LEAST ? mean : REGRET_LEAST);
}

/* ---- search alone ---- */

struct search_figures {
    double at_20; /* sums of regrets */
    double at_40;
    double at_60;
    int within_5;
    int within_1;
};

static void search_once(const struct search_set *set, const struct search_noise *noise,
                        const char *kind, int seed, struct search_figures *sum)
{
    bool within_5 = false;
    bool within_1 = false;
    sim_open(&sim, set, noise, kind, seed);
    sim.spec.smallest_gain = 0; /* no stop */
    while (sim.count < 60 && sim_step(&sim, &scratch)) {
        double regret = sim_regret(set, sim_recommend(&sim, &scratch));
        within_5 = within_5 || regret <= 0.05;
        within_1 = within_1 || regret <= 0.01;
        sum->at_20 += sim.count == 20 ? regret : 0;
        sum->at_40 += sim.count == 40 ? regret : 0;
        sum->at_60 += sim.count == 60 ? regret : 0;
    }
    /* A grid that is smaller than that was known whole. */
    double last = sim_regret(set, sim_recommend(&sim, &scratch));
    sum->at_40 += sim.count < 40 ? last : 0;
    sum->at_60 += sim.count < 60 ? last : 0;
    sum->within_5 += within_5;
    sum->within_1 += within_1;
}

static void print_row(const char *name, const struct search_figures *sum, int count)
{
    printf("  %-28s %6.2f %6.2f %6.2f %8.2f %8.2f\n", name, 100 * sum->at_20 / count,
           100 * sum->at_40 / count, 100 * sum->at_60 / count, (double)sum->within_5 / count,
           (double)sum->within_1 / count);
}

static void search_kind(const char *kind, size_t first, size_t end, bool has_targets)
{
    const struct search_noise noise = {.name = "N2", .sigma = 0.02};
    double logs[3] = {0};
    double hits[2] = {0};
    double count = (double)(end - first);
    for (size_t i = first; i < end; i++) {
        struct search_figures sum = {.at_20 = 0};
        for (int seed = 0; seed < seeds; seed++)
            search_once(&sets[i], &noise, kind, seed, &sum);
        if (has_targets)
            print_row(sets[i].name, &sum, seeds);
        logs[0] += log_mean(sum.at_20, seeds) / count;
        logs[1] += log_mean(sum.at_40, seeds) / count;
        logs[2] += log_mean(sum.at_60, seeds) / count;
        hits[0] += (double)sum.within_5 / seeds / count;
        hits[1] += (double)sum.within_1 / seeds / count;
    }
    printf("  = %-26s %6.2f %6.2f %6.2f %8.2f %8.2f\n", kind, 100 * exp(logs[0]),
           100 * exp(logs[1]), 100 * exp(logs[2]), hits[0], hits[1]);
    if (has_targets) {
        at_most("regret after 40 runs, %", 100 * exp(logs[1]), 1.6);
        at_least("within 5 % by run 60", hits[0], 0.95);
        at_least("within 1 % by run 60", hits[1], 0.70);
    }
    fflush(stdout);
}

static void part_search(void)
{
    static const char *const kinds[] = {"random", "lhs", "coord", "race", "gp"};
    for (int made = 0; made <= 1; made++) {
        size_t first = made ? measured_count : 0;
        size_t end = made ? set_count : measured_count;
        if (first == end)
            continue;
        printf("search alone, noise 2 %%, %s grids, %d seeds: regret %% after 20, 40, 60 runs, "
               "share within 5 %%, 1 %%\n",
               made ? "made-up" : "measured", seeds);
        for (size_t k = 0; k < COUNT_OF(kinds); k++)
            search_kind(kinds[k], first, end, strcmp(kinds[k], "gp") == 0);
    }
}

/* ---- the stop rule ---- */

static void part_stop(void)
{
    const struct search_noise noise = {.name = "N1", .sigma = 0.01};
    double runs = 0;
    double regrets = 0;
    printf("the stop rule, noise 1 %%, %d seeds: search runs, regret %%\n", seeds);
    for (size_t i = 0; i < set_count; i++) {
        double set_runs = 0;
        double set_regrets = 0;
        for (int seed = 0; seed < seeds; seed++) {
            sim_open(&sim, &sets[i], &noise, "gp", seed);
            while (sim.count < 150 && sim_step(&sim, &scratch) &&
                   sim.trials[sim.count - 1].purpose != PURPOSE_CONFIRM)
                continue;
            sim.count -= sim.trials[sim.count - 1].purpose == PURPOSE_CONFIRM;
            set_runs += (double)sim.count / seeds;
            set_regrets += sim_regret(&sets[i], sim_recommend(&sim, &scratch)) / seeds;
        }
        printf("  %-28s %6.1f %6.2f\n", sets[i].name, set_runs, 100 * set_regrets);
        runs += set_runs / (double)set_count;
        regrets += set_regrets / (double)set_count;
    }
    at_most("search runs", runs, 35);
    at_most("regret, %", 100 * regrets, 1.3);
}

/* ---- confirmation ---- */

static const struct search_noise noises[] = {
    {.name = "1 %", .sigma = 0.01},
    {.name = "2 %", .sigma = 0.02},
    {.name = "3 %", .sigma = 0.03},
    {.name = "1 %, walking 0.5 % a run", .sigma = 0.01, .walk = 0.005},
    {.name = "1 %, sinking by 10 %", .sigma = 0.01, .line = -0.10},
    {.name = "1 %, 5 % of runs at -20 %", .sigma = 0.01, .outlier_rate = 0.05},
};

struct confirm_figures {
    double count;
    double regret;
    double covered; /* the best arm is in the tied set */
    double falsely; /* one winner alone, and it is not the best arm */
    double tied;
    double gains; /* sweeps with a claim */
    double bias;  /* of the claimed gain, in logarithms */
    double held;  /* claims whose interval holds the truth */
};

static void confirm_once(const struct search_set *set, const struct search_noise *noise, int seed,
                         struct confirm_figures *sum)
{
    struct judgement judged;
    sim_open(&sim, set, noise, "gp", seed);
    sim.spec.budget_trials = 60;
    while (sim_step(&sim, &scratch))
        continue;
    sim_judge(&sim, &judged);
    if (judged.winner == SIZE_MAX)
        return;
    double gain = set->truth[judged.winner] - set->truth[0];
    double gap = set->truth[judged.best_arm] - set->truth[judged.winner];
    sum->count++;
    sum->regret += sim_regret(set, judged.winner);
    sum->covered += judged.is_best_arm_tied;
    sum->falsely += judged.tied_count == 1 && gap > 1e-9;
    sum->tied += (double)judged.tied_count;
    if (judged.has_gain) {
        sum->gains++;
        sum->bias += judged.gain.difference - gain;
        sum->held += judged.gain.low <= gain && gain <= judged.gain.high;
    }
}

static void part_confirm(void)
{
    struct confirm_figures all = {.count = 0};
    printf("confirmed, 60 runs in all, %d seeds: regret %%, best arm in the tied set, false single "
           "winner, tied of 5, bias of the claimed gain %%, its interval holds\n",
           seeds);
    for (size_t n = 0; n < COUNT_OF(noises); n++) {
        struct confirm_figures sum = {.count = 0};
        for (size_t i = 0; i < set_count; i++) {
            for (int seed = 0; seed < seeds; seed++)
                confirm_once(&sets[i], &noises[n], seed, &sum);
        }
        printf("  %-28s %6.2f %6.3f %6.3f %6.2f %6.2f %6.3f\n", noises[n].name,
               100 * sum.regret / sum.count, sum.covered / sum.count, sum.falsely / sum.count,
               sum.tied / sum.count, 100 * sum.bias / sum.gains, sum.held / sum.gains);
        if (noises[n].walk > 0 || noises[n].line < 0 || noises[n].outlier_rate > 0 || n < 3) {
            all.count += sum.count;
            all.covered += sum.covered;
            all.falsely += sum.falsely;
        }
        if (n < 3) {
            at_most("bias of the gain, in deviations of a run",
                    fabs(sum.bias / sum.gains) / noises[n].sigma, 0.3);
            at_least("the gain's interval holds", sum.held / sum.gains, 0.93);
        }
        fflush(stdout);
    }
    at_least("best arm in the tied set", all.covered / all.count, 0.95);
    at_most("false single winner, %", 100 * all.falsely / all.count, 1);
}

/* ---- each point's own deviation ---- */

struct own_figures {
    double median; /* of the regret */
    double high;   /* its 90th percentile */
    double over;   /* median of what is claimed too much */
    double runs;
};

static struct own_figures own_figures_of(const struct search_set *set,
                                         const struct search_noise *noise)
{
    static double regrets[1000];
    static double overclaims[1000];
    struct own_figures figures = {.runs = 0};
    int count = seeds < 1000 ? seeds : 1000;
    for (int seed = 0; seed < count; seed++) {
        struct judgement judged;
        sim_open(&sim, set, noise, "gp", seed);
        sim.spec.budget_trials = 80;
        sim.budget = 80;
        while (sim_step(&sim, &scratch))
            continue;
        sim_judge(&sim, &judged);
        figures.runs += (double)sim.count / count;
        regrets[seed] = sim_regret(set, judged.winner);
        overclaims[seed] =
            judged.winner == SIZE_MAX ? 0 : exp(judged.mean - set->truth[judged.winner]) - 1;
    }
    qsort(regrets, (size_t)count, sizeof *regrets, sim_compare_reals);
    qsort(overclaims, (size_t)count, sizeof *overclaims, sim_compare_reals);
    figures.median = regrets[count / 2];
    figures.high = regrets[count * 9 / 10];
    figures.over = overclaims[count / 2];
    return figures;
}

static void print_own(const char *name, const struct own_figures *figures)
{
    printf("  %-28s %6.2f %6.2f %6.2f %6.1f\n", name, 100 * figures->median, 100 * figures->high,
           100 * figures->over, figures->runs);
    fflush(stdout);
}

/* Then the same with failures and drift. Grids without deviations of their own have 2 %. */
static void part_own(void)
{
    struct own_figures plain = {.runs = 0};
    struct own_figures bad = {.runs = 0};
    bool has_own = measured_count > 0 && sets[measured_count - 1].deviation[1] > 0;
    printf(
        "each point's own deviation, 80 runs in all, %d seeds: median and 90th percentile of the "
        "regret %%, median overclaim %%, runs; then with 10 %% random failures and 3 %% drift\n",
        seeds);
    for (size_t i = 0; i < set_count; i++) {
        bool is_own = sets[i].deviation[1] > 0;
        if (has_own && !is_own)
            continue;
        struct search_noise noise = {.name = "own", .own_deviation = is_own, .sigma = 0.02};
        struct own_figures figures = own_figures_of(&sets[i], &noise);
        print_own(sets[i].name, &figures);
        if (is_own) {
            at_most("median regret, %", 100 * figures.median, 2.5);
            at_most("90th percentile, %", 100 * figures.high, 8);
            at_most("median overclaim, %", 100 * figures.over, 2);
        }
        plain.median += figures.median;
        plain.high += figures.high;
        noise.fail_rate = 0.10;
        noise.line = -0.03;
        figures = own_figures_of(&sets[i], &noise);
        print_own("  on a bad night", &figures);
        bad.median += figures.median;
        bad.high += figures.high;
    }
    at_most("times the plain median on bad nights", bad.median / plain.median, 1.3);
    at_most("times the plain 90th percentile", bad.high / plain.high, 1.3);
}

/* ---- points that are all alike ---- */

/* Any point whose gain over the baseline is above zero for all at once, as the ranking says it. */
static bool declares_any(const struct search_sim *of)
{
    static struct judged judged;
    struct compare_noise noise;
    judge_arms(of, &judged);
    compare_pool(judged.arms, judged.count, NULL, &noise);
    size_t baseline = 0;
    while (judged.points[baseline] != 0)
        baseline++;
    for (size_t i = 0; i < judged.count; i++) {
        double half = compare_difference_half(&judged.arms[i], &judged.arms[baseline], 0.95,
                                              judged.count - 1);
        if (i != baseline && judged.arms[i].mean - judged.arms[baseline].mean > half)
            return true;
    }
    return false;
}

static void part_alike(void)
{
    static const size_t levels[] = {10, 5};
    const struct search_noise noise = {.name = "5 %", .sigma = 0.05};
    struct search_set alike;
    int quiet = 0;
    search_product(&alike, "alike", levels, COUNT_OF(levels), &arena);
    sim_choose_baseline(&alike, &arena);
    sim_close_set(&alike);
    for (int seed = 0; seed < 1000; seed++) {
        sim_open(&sim, &alike, &noise, "grid", seed);
        sim.spec.repeats = 3;
        while (sim_step(&sim, &scratch))
            continue;
        quiet += !declares_any(&sim);
    }
    printf("50 points that are all alike, 3 runs each, noise 5 %%, 1,000 sweeps\n");
    at_least("none is declared better than the baseline, %", quiet / 10.0, 95);
}

/* ---- failures ---- */

/* Where two settings together are at their ends, as far as 4 to 26 % of the points are. */
static void fail_corner(struct search_set *set)
{
    struct space space;
    struct strategy_spec spec = {.baseline_values = set->baseline_values};
    struct err err;
    err_clear(&err);
    if (!space_open(&spec, &set->grid, &arena, &space, &err))
        return;
    for (size_t a = 0; a < space.candidate_count; a++) {
        for (size_t b = a + 1; b < space.candidate_count; b++) {
            size_t count = 0;
            for (size_t i = 1; i < set->grid.point_count; i++) {
                const uint16_t *at = space_point(&space, i);
                set->is_failing[i] = at[a] >= SPACE_STEPS && at[b] >= SPACE_STEPS;
                count += set->is_failing[i];
            }
            double share = (double)count / (double)set->grid.point_count;
            if (share > 0.04 && share < 0.26 && !set->is_failing[set->baseline_row]) {
                sim_close_set(set);
                return;
            }
        }
    }
    memset(set->is_failing, 0, set->grid.point_count * sizeof *set->is_failing);
}

static void part_failing(void)
{
    const struct search_noise noise = {.name = "N7", .sigma = 0.01};
    double picks = 0;
    double failed = 0;
    for (size_t i = 0; i < set_count; i++) {
        fail_corner(&sets[i]);
        for (int seed = 0; seed < seeds; seed++) {
            sim_open(&sim, &sets[i], &noise, "gp", seed);
            sim.spec.smallest_gain = 0;
            while (sim.count < 60 && sim_step(&sim, &scratch))
                continue;
            for (size_t t = 15; t < sim.count; t++) {
                picks += sim.trials[t].purpose == PURPOSE_EXPLORE;
                failed += sim.trials[t].state == TRIAL_FAILED;
            }
        }
    }
    printf("a corner that fails, noise 1 %%, %d seeds\n", seeds);
    at_most("picks that fail after run 15, %", 100 * failed / picks, 5);
}

/* ---- speed ---- */

static void part_speed(void)
{
    static const size_t levels[] = {5, 5, 5, 5, 4, 4};
    const struct search_noise noise = {.name = "2 %", .sigma = 0.02};
    struct search_set large;
    search_product(&large, "large", levels, COUNT_OF(levels), &arena); /* 10,000 points */
    for (size_t i = 1; i < large.grid.point_count; i++) {
        for (size_t j = 0; j < COUNT_OF(levels); j++)
            large.truth[i] += 0.1 * sim_normal(5, j, (uint64_t)search_level(&large, i, j));
    }
    sim_choose_baseline(&large, &arena);
    sim_close_set(&large);
    sim_open(&sim, &large, &noise, "gp", 1);
    sim.spec.smallest_gain = 0;
    while (sim.count < 100 && sim_step(&sim, &scratch))
        continue;
    clock_t begin = clock();
    for (size_t i = 0; i < 10; i++) {
        (void)sim_step(&sim, &scratch);
        sim.count = 100;
    }
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC / 10;
    printf("one suggestion after 100 runs among 10,000 points\n");
    print_target("seconds", seconds, "below", 0.2, seconds < 0.2);
}

/* ---- for the peers ---- */

/* One file a set: the baseline's row, then a line of truth, own deviation and coordinates. */
static bool dump(const char *folder)
{
    for (size_t i = 0; i < set_count; i++) {
        const struct search_set *set = &sets[i];
        struct space space;
        struct strategy_spec spec = {.baseline_values = set->baseline_values};
        struct err err;
        err_clear(&err);
        const char *path =
            arena_printf(&arena, "%s/%c-%s.txt", folder, i < measured_count ? 'a' : 'b', set->name);
        FILE *file = fopen(path, "w");
        if (file == NULL || !space_open(&spec, &set->grid, &arena, &space, &err))
            return false;
        fprintf(file, "%zu\n", set->baseline_row);
        for (size_t p = 0; p < set->grid.point_count; p++) {
            fprintf(file, "%.17g %.17g %d", set->truth[p], set->deviation[p], set->is_failing[p]);
            for (size_t f = 0; f < space.candidate_count; f++)
                fprintf(file, " %u", (unsigned)space_point(&space, p)[f]);
            fputc('\n', file);
        }
        if (fclose(file) != 0)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"search", part_search}, {"stop", part_stop},   {"confirm", part_confirm},
                 {"own", part_own},       {"alike", part_alike}, {"failing", part_failing},
                 {"speed", part_speed}};
    arena_open(&arena, SIZE_MAX / 2);
    arena_open(&scratch, SIZE_MAX / 2);
    seeds = argc > 2 ? atoi(argv[2]) : 0;
    if (seeds < 1) {
        fputs("usage: search PART SEEDS [FOLDER]\n", stderr);
        return 2;
    }
    measured_count = read_folder(argc > 3 ? argv[3] : NULL, sets, SETS_MOST - 6, &arena);
    set_count = measured_count + make_sets(&sets[measured_count], &arena);
    if (strcmp(argv[1], "dump") == 0 && argc > 4)
        return dump(argv[4]) ? 0 : 1;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (strcmp(parts[i].name, argv[1]) == 0) {
            parts[i].run();
            return 0;
        }
    }
    fprintf(stderr, "no part \"%s\"\n", argv[1]);
    return 2;
}
