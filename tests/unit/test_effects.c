/*
 * Effects out of a store against values computed by hand: a full grid of two axes, and what becomes
 * of axes that change together, of the baseline, of rules, of failures and of conditions.
 */
#include "store/effects.h"
#include "tests/support/rank_fill.h"

static const struct store_swept two_axes[] = {{"work_mem", "knob", "size", "bytes", "", "", ""},
                                              {"method", "knob", "text", "", "", "", ""},
                                              {"clients", "workload", "integer", "", "", "", ""}};

static void begin_axes(void)
{
    struct store_sweep sweep = fill_sweep;
    sweep.swept = two_axes;
    sweep.swept_count = COUNT_OF(two_axes);
    begin_sweep(&sweep);
}

/* A point of both axes; "baseline" twice is the baseline. */
static int64_t cell(const char *memory, const char *method)
{
    int64_t id = 0;
    bool is_found = strcmp(memory, "baseline") == 0;
    bool is_baseline = is_found && strcmp(method, "baseline") == 0;
    struct store_value values[] = {is_found ? text_value("work_mem", memory)
                                            : number_value("work_mem", memory, atof(memory)),
                                   text_value("method", method)};
    const char *key = is_baseline ? "" : arena_printf(&arena, "%s %s", memory, method);
    assert_ok(store_point_put(store, sweep_id, key, is_baseline, true, values, 2, &id, &err));
    return id;
}

static const char *view(const char *format)
{
    struct text out;
    text_open(&out, &arena);
    assert_ok(effects_view(store, NULL, format, &arena, &out, &err));
    return text_done(&out);
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in:\n%s", words, text);
}

/* Logarithms 0.1 0.3 / 0.5 1.1: variances 9, 4 and 1 of 14 hundredths; levels -0.3 and 0.3, -0.2
 * and 0.2. */
static void fill_two_by_two(int64_t condition, double scale)
{
    add_run(cell("16M", "sync"), condition, scale * exp(1.1));
    add_run(cell("4M", "fsync"), condition, scale * exp(0.1));
    add_run(cell("4M", "sync"), condition, scale * exp(0.3));
    add_run(cell("16M", "fsync"), condition, scale * exp(0.5));
}

static void a_full_grid_by_hand(void **state)
{
    (void)state;
    begin_axes();
    int64_t here = anywhere();
    add_run(cell("baseline", "baseline"), here, 5); /* no cell: nothing else has its levels */
    fill_two_by_two(here, 1);
    const char *json = view("json");
    assert_string_equal(jq(json,
                           ".[0] | [.exact, .constrained, .points, .measured, .r2, .reliable, "
                           ".noise_pct, .metric]"),
                        "[true,false,4,4,null,null,null,\"throughput_per_s\"]");
    assert_string_equal(
        jq(json, "[.[0].axes[] | [.axis, (.importance * 14 * 1000 | round), .low]]"),
        "[[\"work_mem\",9000,null],[\"method\",4000,null]]");
    assert_string_equal(jq(json, "[.[0].pairs[] | [.axes, (.importance * 14 * 1000 | round)]]"),
                        "[[[\"work_mem\",\"method\"],1000]]");
    /* exp(-0.3) - 1 and exp(0.3) - 1, the smaller level first */
    assert_string_equal(jq(json, "[.[0].axes[0].levels[] | [.value, (.effect_pct * 100 | round)]]"),
                        "[[\"4M\",-2592],[\"16M\",3499]]");
    const char *text = view("table");
    assert_says(text, "effects on throughput_per_s\n");
    assert_says(text, "64.3 %  4M -25.9%  16M +35.0%\n");
    assert_says(text, "work_mem x method");
    assert_says(text,
                "every combination was measured: the shares are those of the values; noise is "
                "not known");
}

/* Each cell twice, apart by 0.02 in logarithms: noise of one run 2e-4 on 4 degrees. */
static void noise_gives_intervals_and_tests(void **state)
{
    (void)state;
    begin_axes();
    int64_t here = anywhere();
    add_pair(cell("4M", "fsync"), here, exp(0.1));
    add_pair(cell("4M", "sync"), here, exp(0.3));
    add_pair(cell("16M", "fsync"), here, exp(0.5));
    add_pair(cell("16M", "sync"), here, exp(1.1));
    const char *json = view("json");
    assert_string_equal(jq(json, ".[0] | [.exact, .reliable, (.noise_pct * 1000 | round)]"),
                        "[true,true,1414]");
    /* (9e-2 - 1e-4 / 4) / (14e-2 - 3e-4 / 4) */
    assert_string_equal(jq(json, ".[0].axes[0].importance * 1000000 | round"), "643023");
    assert_string_equal(jq(json, "[.[0].axes[] | .p < 0.001 and .low < .importance and .high > "
                                 ".importance and .low > 0] | all"),
                        "true");
    assert_says(view("table"), "p < 0.001");
}

static void the_baseline_is_a_cell_where_its_levels_are(void **state)
{
    (void)state;
    begin_axes();
    int64_t here = anywhere();
    add_run(cell("baseline", "baseline"), here, 1);
    add_run(cell("baseline", "sync"), here, 2);
    add_run(cell("4M", "baseline"), here, 2);
    add_run(cell("4M", "sync"), here, 4);
    assert_string_equal(jq(view("json"), ".[0] | [.exact, .points, (.axes[0].importance * 1000 | "
                                         "round), (.pairs[0].importance * 1000 | round)]"),
                        "[true,4,500,0]");
}

static void knobs_that_change_together_are_one_axis(void **state)
{
    (void)state;
    begin_axes();
    int64_t here = anywhere();
    add_run(cell("4M", "few"), here, 100);
    add_run(cell("8M", "some"), here, 110);
    add_run(cell("16M", "many"), here, 120);
    const char *json = view("json");
    assert_string_equal(jq(json, "[.[0].axes[] | [.axis, .importance * 1000, [.levels[].value]]]"),
                        "[[\"work_mem + method\",1000,[\"4M/few\",\"8M/some\",\"16M/many\"]]]");
    assert_string_equal(jq(json, ".[0].pairs"), "[]");
}

static void conditions_are_told_apart(void **state)
{
    (void)state;
    begin_axes();
    fill_two_by_two(clients(1), 10);
    add_run(cell("4M", "sync"), clients(32), 100);
    add_failure(cell("16M", "sync"), clients(32), "no");
    const char *json = view("json");
    assert_string_equal(jq(json, "[.[] | [.condition.clients, .exact, .reason]]"),
                        "[[1,true,null],[32,null,\"fewer than two points were measured\"]]");
    const char *text = view("table");
    assert_says(text, "effects on throughput_per_s under clients=1\n");
    assert_says(text, "under clients=32\nnone to tell: fewer than two points were measured\n");
}

/* What a rule took away is no cell; what failed is one that was not measured. */
static void rules_and_failures_leave_a_regression(void **state)
{
    (void)state;
    begin_axes();
    int64_t here = anywhere();
    const char *const methods[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) {
            const char *memory = arena_printf(&arena, "%dM", 1 << i);
            int64_t point = cell(memory, methods[j]);
            if (i == 3 && j == 3)
                continue;
            if (i == 3 && j == 2)
                add_failure(point, here, "no");
            else
                add_run(point, here, 100 * exp(0.1 * i + 0.02 * j));
        }
    }
    const struct store_pruned pruned = {"work_mem=8M method=d", "", "rule"};
    assert_ok(store_pruned_put(store, sweep_id, &pruned, 1, &err));
    const char *json = view("json");
    assert_string_equal(jq(json, ".[0] | [.exact, .constrained, .points, .measured, .reliable]"),
                        "[false,true,15,14,true]");
    assert_string_equal(jq(json, ".[0].axes[0] | [.axis, .importance > 0.8, .low != null, .p]"),
                        "[\"work_mem\",true,true,null]");
    const char *text = view("table");
    assert_says(text, "14 of 15 points were measured: the rest is by a regression");
    assert_says(text, "not every combination is valid: shares need not add up to 100 %");
    assert_null(strstr(text, "unreliable"));
}

/* Values that nothing in the grid explains. */
static void chance_is_unreliable(void **state)
{
    (void)state;
    begin_axes();
    int64_t here = anywhere();
    const double by_chance[] = {3, -9, 8, -2, 7, -6, 1, 9, -4, -8, 5};
    for (int i = 0; i < 11; i++) {
        const char *memory = arena_printf(&arena, "%dM", 1 << i % 4);
        add_run(cell(memory, i < 4   ? "a"
                             : i < 8 ? "b"
                                     : "c"),
                here, 100 * exp(0.01 * by_chance[i]));
    }
    cell("8M", "c");
    assert_says(view("table"), "importance unreliable: ");
    assert_string_equal(jq(view("json"), ".[0].reliable"), "false");
}

static void nothing_is_said_as_nothing(void **state)
{
    (void)state;
    struct text out;
    begin_axes();
    assert_string_equal(view("table"), "nothing was measured yet\n");
    assert_string_equal(view("json"), "[]\n");
    add_run(cell("4M", "a"), anywhere(), 1);
    assert_says(view("table"), "none to tell: no axis has two values\n");
    text_open(&out, &arena);
    assert_false(effects_view(store, NULL, "csv", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
    err_clear(&err);
    assert_false(effects_view(store, "nope", "json", &arena, &out, &err));
    assert_int_equal(err.code, ERR_CODE_not_found);
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    begin_axes();
    int64_t here = anywhere();
    fill_two_by_two(here, 1);
    add_run(cell("8M", "sync"), here, 2);
    bool was_enough = false;
    for (size_t limit = 4096; !was_enough; limit += 4096) {
        struct arena small;
        struct text out;
        arena_open(&small, limit);
        text_open(&out, &small);
        was_enough =
            effects_view(store, NULL, limit % 8192 == 0 ? "table" : "json", &small, &out, &err);
        if (!was_enough)
            assert_int_equal(err.code, ERR_CODE_memory);
        arena_close(&small);
        err_clear(&err);
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, fill_open, fill_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_full_grid_by_hand),
        CASE(noise_gives_intervals_and_tests),
        CASE(the_baseline_is_a_cell_where_its_levels_are),
        CASE(knobs_that_change_together_are_one_axis),
        CASE(conditions_are_told_apart),
        CASE(rules_and_failures_leave_a_regression),
        CASE(chance_is_unreliable),
        CASE(nothing_is_said_as_nothing),
        CASE(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
