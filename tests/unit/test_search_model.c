/*
 * What strategies are made of: coordinates, noise out of repeats, designs, and the Gaussian process
 * against figures worked out by hand and against its own definition.
 */
#include "tests/support/sweep_sim.h"

#include <math.h>

#include "sweeper/search/design.h"
#include "sweeper/search/gp_model.h"
#include "sweeper/search/starts.h"
#include "tests/support/search_grids.h"

static struct search_set set;
static struct err err;

/* ---- coordinates ---- */

static struct knob size_knob(void)
{
    return (struct knob){.name = "size",
                         .type = KNOB_INTEGER,
                         .bare = 1,
                         .specials = "-1|0",
                         .choices = "",
                         .durability = ""};
}

static struct value integer(int64_t number)
{
    return (struct value){.kind = VALUE_INTEGER, .integer = number, .asked = "?"};
}

/* Four sizes that double, off, and as found. */
static void make_sizes(struct grid *grid, const struct knob *knob, struct swept *swept)
{
    static const int64_t sizes[] = {16, 32, 64, 128, 0};
    make_grid(grid, 6, 1, true);
    *swept = (struct swept){.kind = SWEPT_KNOB, .knob = knob};
    grid->swept = swept;
    grid->swept_count = 1;
    for (size_t i = 0; i < 6; i++) {
        grid->points[i].values = ARENA_ARRAY(&arena, struct value, 1);
        if (i > 0)
            grid->points[i].values[0] = integer(sizes[i - 1]);
    }
    grid->conditions[0].values = ARENA_ARRAY(&arena, struct value, 1);
}

static void sizes_that_double_are_evenly_spaced(void **state)
{
    (void)state;
    struct knob knob = size_knob();
    struct swept swept;
    struct grid grid;
    struct space space;
    struct value found = integer(64);
    struct strategy_spec spec = {.baseline_values = &found};
    make_sizes(&grid, &knob, &swept);
    assert_true(space_open(&spec, &grid, &arena, &space, &err));
    assert_int_equal(space.candidate_count, 2); /* the order, and what stands outside it */
    assert_false(space.is_name[0]);
    assert_true(space.is_name[1]);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(space_point(&space, i + 1)[0], i * SPACE_STEPS / 3);
    assert_int_equal(space_point(&space, 1)[1], space_point(&space, 4)[1]);
    assert_int_not_equal(space_point(&space, 1)[1], space_point(&space, 5)[1]); /* off */
    assert_memory_equal(space_point(&space, 0), space_point(&space, 3), 2 * sizeof(uint16_t));
    spec.baseline_values = NULL; /* as found and not known: apart from all */
    assert_true(space_open(&spec, &grid, &arena, &space, &err));
    for (size_t i = 1; i < 6; i++)
        assert_int_not_equal(space_point(&space, 0)[1], space_point(&space, i)[1]);
}

/* ---- noise ---- */

static void add_trial(struct sweep_sim *of, size_t point, double value)
{
    struct proposal next = {.point = point, .purpose = PURPOSE_EXPLORE};
    record(of, &next, isnan(value) ? TRIAL_FAILED : TRIAL_DONE);
    of->trials[of->count - 1].value = value;
}

static void take(const struct sweep_sim *of, struct sample *out)
{
    struct history history = {.trials = of->trials, .count = of->count, .call_id = of->call_id};
    assert_true(sample_take(&of->grid, &history, of->count, &arena, out, &err));
}

static void noise_comes_from_repeats_alone(void **state)
{
    (void)state;
    struct sample sample;
    make_sim(&sim, "gp", 4, 1, true, 1);
    add_trial(&sim, 0, 100);
    add_trial(&sim, 1, 300);
    take(&sim, &sample);
    assert_true(isnan(sample.sigma)); /* points that differ tell nothing */
    add_trial(&sim, 0, 100 * exp(0.02));
    take(&sim, &sample);
    assert_true(fabs(sample.sigma - 0.02 / sqrt(2)) < 1e-12);
    assert_true(fabs(sample.sigma_degrees - 1) < 1e-12);
    add_trial(&sim, 0, 100 * exp(0.04)); /* a drift of 2 % each time is no noise of 2 % */
    take(&sim, &sample);
    assert_true(fabs(sample.sigma - 0.02 / sqrt(2)) < 1e-12);
    add_trial(&sim, 1, 300 * exp(0.06)); /* squares 0.0018 on one degree more */
    take(&sim, &sample);
    double degrees = 8.0 / 5;
    double squares = 0.0002 * degrees + 2 * 0.03 * 0.03;
    assert_true(fabs(sample.sigma - sqrt(squares / (degrees + 1))) < 1e-12);
}

static void failures_count_as_the_worst_and_never_win(void **state)
{
    (void)state;
    struct sample sample;
    struct cell_mean *means = NULL;
    make_sim(&sim, "gp", 4, 1, true, 1);
    add_trial(&sim, 2, NAN);
    take(&sim, &sample);
    assert_int_equal(sample.count, 0); /* nothing to compare it with */
    add_trial(&sim, 0, 100);
    add_trial(&sim, 1, 50);
    take(&sim, &sample);
    assert_int_equal(sample.count, 3);
    assert_true(fabs(sample.rows[0].y - log(50)) < 1e-12);
    assert_true(sample_means(&sim.grid, &sample, &arena, &means, &err));
    assert_true(sample_can_win(&sim.spec, &sim.grid, means, 1));
    assert_false(sample_can_win(&sim.spec, &sim.grid, means, 2));
}

/* A trial that was ended early pushes the search away, and proves nothing good. */
static void what_was_ended_early_is_only_a_bound(void **state)
{
    (void)state;
    struct sample sample;
    struct cell_mean *means = NULL;
    make_sim(&sim, "gp", 4, 1, true, 1);
    add_trial(&sim, 0, 100);
    add_trial(&sim, 1, 60);
    add_trial(&sim, 1, 80);
    sim.trials[1].is_censored = sim.trials[2].is_censored = true;
    take(&sim, &sample);
    assert_int_equal(sample.count, 3);
    assert_true(sample.rows[1].is_censored);
    assert_true(isnan(sample.sigma)); /* bounds that differ are no noise */
    assert_true(sample_means(&sim.grid, &sample, &arena, &means, &err));
    assert_int_equal(means[1].count, 0);
    assert_int_equal(means[1].failed_count, 0);
}

static void values_at_zero_are_taken_as_they_are(void **state)
{
    (void)state;
    struct sample sample;
    make_sim(&sim, "gp", 4, 1, true, 1);
    add_trial(&sim, 1, 0);
    add_trial(&sim, 2, 8);
    sim.trials[0].higher_is_better = sim.trials[1].higher_is_better = false;
    take(&sim, &sample);
    assert_false(sample.is_log);
    assert_true(sample.rows[1].y <= -8 && sample.rows[1].y >= -8);
    assert_true(sample.unit >= 8 && sample.unit <= 8);
}

/* ---- the model ---- */

static void open_model(const struct sweep_sim *of, struct space *space, struct gp *gp)
{
    struct sample sample;
    take(of, &sample);
    assert_true(space_open(&of->spec, &of->grid, &arena, space, &err));
    assert_true(gp_open(space, &of->grid, &sample, &arena, gp, &err));
}

/* Two runs at both ends of one axis, and what is expected between them, by hand. */
static void two_runs_predict_what_the_formula_says(void **state)
{
    (void)state;
    struct knob knob = size_knob();
    struct swept swept;
    struct space space;
    struct gp gp;
    double lengths[] = {log(0.5), log(2)};
    struct gp_parameters at = {
        .length = lengths, .signal = log(0.8), .noise = log(0.1), .drift = log(0.05)};
    make_sim(&sim, "gp", 6, 1, true, 1);
    make_sizes(&sim.grid, &knob, &swept);
    sim.spec.baseline_values = NULL;
    add_trial(&sim, 1, exp(1.0));
    add_trial(&sim, 4, exp(3.0));
    open_model(&sim, &space, &gp);
    assert_true(gp_compute(&gp, &at));
    /* y standardised: mean 2, deviation sqrt(2), so -s and +s; K = [[v, c], [c, v]] */
    double s = 1 / sqrt(2);
    double v = 0.8 + 0.05 + 0.1 + 1e-6;
    double far = exp(-1 / 0.5);
    double c = 0.8 * ((far + 1) / 2 + far * 1) / 2 + 0.05 * exp(-1 / 15.0);
    double near_one = exp(-1.0 / 3 / 0.5); /* point 2 stands a third from the first */
    double near_two = exp(-2.0 / 3 / 0.5);
    double k1 = 0.8 * ((near_one + 1) / 2 + near_one) / 2;
    double k2 = 0.8 * ((near_two + 1) / 2 + near_two) / 2;
    double mean = (k2 - k1) * s / (v - c); /* K^-1 (-s, s) = (-s, s) / (v - c) */
    double left = 0.8 - (v * (k1 * k1 + k2 * k2) - 2 * c * k1 * k2) / (v * v - c * c);
    double got_mean = 0;
    double got_sd = 0;
    size_t point = 2;
    gp_predict(&gp, &point, 1, 0, &got_mean, &got_sd);
    assert_true(fabs(got_mean - (2 + sqrt(2) * mean)) < 1e-9);
    assert_true(fabs(got_sd - sqrt(2 * left)) < 1e-9);
}

static double posterior_of(struct gp *gp, const double *at)
{
    struct gp_parameters parameters = {.length = ARENA_ARRAY(&arena, double, gp->feature_count)};
    double loss = 0;
    double noise = 2 * log(gp->sigma);
    for (size_t i = 0; i < gp->feature_count; i++) {
        double off = (at[i] - 0.5 * log((double)gp->feature_count)) / 1.2;
        parameters.length[i] = at[i];
        loss += off * off / 2;
    }
    const double *rest = at + gp->feature_count;
    parameters.signal = rest[0];
    parameters.noise = rest[1];
    parameters.drift = rest[2];
    assert_true(gp_compute(gp, &parameters));
    return loss + rest[0] * rest[0] / 2 + (rest[1] - noise) * (rest[1] - noise) / 2 +
           (rest[2] - noise) * (rest[2] - noise) / 2 / 2.25 - gp->log_likelihood;
}

/* The fit stands where no parameter alone makes the posterior much greater: a wrong gradient would
 * stop it elsewhere. */
static void the_fit_finds_a_summit_of_the_posterior(void **state)
{
    (void)state;
    struct space space;
    struct gp gp;
    double at[16];
    search_grid_additive(&set, 3, &arena);
    memset(&sim, 0, sizeof sim);
    sim.grid = set.grid;
    sim.call_id = 1;
    sim.spec.baseline_values = set.baseline_values;
    for (size_t i = 0; i < 40; i++) {
        size_t point = i % 8 == 0 ? 0 : 1 + i * 37 % (set.grid.point_count - 1);
        add_trial(&sim, point, exp(set.truth[point] + 0.02 * sim_normal(9, point, i)));
    }
    open_model(&sim, &space, &gp);
    assert_true(gp_fit(&gp, &arena, &err));
    size_t count = gp.feature_count + 3;
    assert_true(count <= COUNT_OF(at));
    memcpy(at, gp.at.length, gp.feature_count * sizeof *at);
    at[count - 3] = gp.at.signal;
    at[count - 2] = gp.at.noise;
    at[count - 1] = gp.at.drift;
    double best = posterior_of(&gp, at);
    for (size_t i = 0; i < count; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            double kept = at[i];
            at[i] = kept + 0.3 * sign;
            assert_true(posterior_of(&gp, at) > best - 0.02);
            at[i] = kept;
        }
    }
}

/* A running trial is believed to give what is expected: nothing is left to learn there. */
static void what_runs_is_believed(void **state)
{
    (void)state;
    struct knob knob = size_knob();
    struct swept swept;
    struct space space;
    struct gp gp;
    size_t point = 2;
    double mean[2];
    double sd[2];
    make_sim(&sim, "gp", 6, 1, true, 1);
    make_sizes(&sim.grid, &knob, &swept);
    add_trial(&sim, 1, 100);
    add_trial(&sim, 4, 200);
    add_trial(&sim, 1, 101);
    open_model(&sim, &space, &gp);
    assert_true(gp_fit(&gp, &arena, &err));
    gp_predict(&gp, &point, 1, 0, &mean[0], &sd[0]);
    gp_believe(&gp, point, 0, 3);
    gp_predict(&gp, &point, 1, 0, &mean[1], &sd[1]);
    assert_true(fabs(mean[0] - mean[1]) < sd[0] / 4);
    assert_true(sd[1] < sd[0] / 2);
}

/* ---- designs ---- */

static void a_hypercube_holds_each_value_equally_often(void **state)
{
    (void)state;
    struct space space;
    struct strategy_spec spec = {.seed = 5};
    size_t *points = NULL;
    size_t count = 0;
    search_grid_additive(&set, 1, &arena); /* 4 x 4 x 3 x 3 x 2, whole */
    spec.baseline_values = set.baseline_values;
    assert_true(space_open(&spec, &set.grid, &arena, &space, &err));
    assert_true(design_hypercube(&spec, &set.grid, &space, 12, &arena, &points, &count, &err));
    assert_int_equal(count, 12);
    for (size_t f = 0; f < space.candidate_count; f++) {
        size_t counts[SPACE_STEPS + 1] = {0};
        for (size_t i = 0; i < count; i++) {
            assert_int_not_equal(points[i], 0);
            counts[space_point(&space, points[i])[f]]++;
        }
        size_t least = 12;
        size_t most = 0;
        for (size_t i = 0; i <= SPACE_STEPS; i++) {
            least = counts[i] > 0 && counts[i] < least ? counts[i] : least;
            most = counts[i] > most ? counts[i] : most;
        }
        assert_true(most - least <= 1);
    }
    /* More than there are: all, each once. */
    assert_true(design_hypercube(&spec, &set.grid, &space, 9999, &arena, &points, &count, &err));
    assert_int_equal(count, set.grid.point_count - 1);
}

/* ---- servers that do not start ---- */

static void larger_pools_are_not_tried_again(void **state)
{
    (void)state;
    struct knob knob = size_knob();
    struct swept swept;
    bool forbidden[6];
    make_sim(&sim, "gp", 6, 1, true, 1);
    make_sizes(&sim.grid, &knob, &swept);
    knob.memory = KNOB_MEMORY_ONCE;
    add_trial(&sim, 1, 100);
    add_trial(&sim, 3, NAN); /* 64 */
    add_trial(&sim, 4, NAN); /* 128 */
    struct history history = {.trials = sim.trials, .count = sim.count, .call_id = 1};
    starts_forbid(&sim.grid, &history, forbidden);
    for (size_t i = 0; i < 6; i++)
        assert_false(forbidden[i]); /* they failed for reasons of their own */
    sim.trials[1].failed_start = sim.trials[2].failed_start = true;
    starts_forbid(&sim.grid, &history, forbidden);
    static const bool wanted[] = {false, false, false, true, true, false};
    assert_memory_equal(forbidden, wanted, sizeof wanted);
    history.count = 2;
    starts_forbid(&sim.grid, &history, forbidden);
    assert_false(forbidden[4]); /* one failure proves nothing */
    history.count = 3;
    knob.memory = KNOB_MEMORY_NONE;
    starts_forbid(&sim.grid, &history, forbidden);
    assert_false(forbidden[4]);
    knob.memory = KNOB_MEMORY_ONCE;
    add_trial(&sim, 4, 100); /* it does start */
    history.count = 4;
    starts_forbid(&sim.grid, &history, forbidden);
    assert_false(forbidden[4]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_double_are_evenly_spaced),
        cmocka_unit_test(noise_comes_from_repeats_alone),
        cmocka_unit_test(failures_count_as_the_worst_and_never_win),
        cmocka_unit_test(what_was_ended_early_is_only_a_bound),
        cmocka_unit_test(values_at_zero_are_taken_as_they_are),
        cmocka_unit_test(two_runs_predict_what_the_formula_says),
        cmocka_unit_test(the_fit_finds_a_summit_of_the_posterior),
        cmocka_unit_test(what_runs_is_believed),
        cmocka_unit_test(a_hypercube_holds_each_value_equally_often),
        cmocka_unit_test(larger_pools_are_not_tried_again),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
