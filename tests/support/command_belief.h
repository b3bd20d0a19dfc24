/*
 * Whether a run of a program is believed: a workload of two clients for three seconds, and what its
 * output must give or why it is refused.
 */
#ifndef TESTS_SUPPORT_COMMAND_BELIEF_H
#define TESTS_SUPPORT_COMMAND_BELIEF_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "sweeper/load/command/command.h"

static struct arena arena;
static struct err err;
static struct load_result result;

static inline int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)64 << 20);
    err_clear(&err);
    return 0;
}

static inline int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static const char *const program[] = {"program", NULL};

static inline struct workload_spec spec_of(const char *preset)
{
    return (struct workload_spec){.kind = "command",
                                  .clients = 2,
                                  .threads = 3,
                                  .rate_per_s = 12.5,
                                  .warm_up_ms = 1500,
                                  .measure_ms = 3000,
                                  .drain_ms = 250,
                                  .seed = 42,
                                  .error_budget_pct = 1,
                                  .reset = "none",
                                  .mix = "read_only",
                                  .tables = 4,
                                  .rows = 100000,
                                  .range_size = 100,
                                  .distribution = "pareto",
                                  .skip_trx = true,
                                  .warehouses = 20,
                                  .terminals = 10,
                                  .rollback_pct = 1,
                                  .payment_by_name_pct = 60,
                                  .keying = 0.5,
                                  .think = 2,
                                  .preset = preset,
                                  .command = program};
}

/* ---- whether a run is believed ---- */

/* A run of 3.2 s that ended well. */
static inline bool believe(const struct workload_spec *spec, const char *output)
{
    const struct command_end end = {
        .output = output, .output_size = strlen(output), .elapsed_ns = INT64_C(3200000000)};
    memset(&result, 0, sizeof result);
    err_clear(&err);
    return command_believe(spec, spec->command, &end, &arena, &result, &err);
}

static inline void assert_believed(const struct workload_spec *spec, const char *output)
{
    if (!believe(spec, output)) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < result.metric_count; i++) {
        assert_true(isfinite(result.metrics[i].value));
    }
    assert_int_equal(result.client_count, spec->clients);
}

static inline void assert_refused(const struct workload_spec *spec, const char *output,
                                  const char *why)
{
    assert_false(believe(spec, output));
    assert_int_equal(err.class, ERR_POINT);
    if (strstr(err.text, why) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", err.text, why);
    }
}

static inline void assert_metric(const char *name, double wanted, const char *better)
{
    size_t at = 0;
    while (at < result.metric_count && strcmp(result.metrics[at].name, name) != 0) {
        at++;
    }
    if (at == result.metric_count) {
        fail_msg("%s is missing", name);
    }
    if (fabs(result.metrics[at].value - wanted) > 1e-9 * fabs(wanted)) {
        fail_msg("%s is %.12g, not %.12g", name, result.metrics[at].value, wanted);
    }
    assert_string_equal(result.metrics[at].better, better);
}

/* The text with the first `from` replaced. */
static inline const char *altered(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    assert_non_null(at);
    const char *out =
        arena_printf(&arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    assert_non_null(out);
    return out;
}

/* The text without the line that holds `part`. */
static inline const char *without(const char *text, const char *part)
{
    const char *begin = strstr(text, part);
    assert_non_null(begin);
    while (begin > text && begin[-1] != '\n') {
        begin--;
    }
    return arena_printf(&arena, "%.*s%s", (int)(begin - text), text, strchr(begin, '\n') + 1);
}

#endif
