/*
 * Stores filled by hand through the store's own functions, for the tests of what is read of them:
 * one sweep, its points and conditions, and trials whose results the test has chosen.
 */
#ifndef TESTS_SUPPORT_STORE_FILL_H
#define TESTS_SUPPORT_STORE_FILL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"
#include "sweeper/base/text.h"

#define FILL_ARENA_BYTES ((size_t)64 << 20)

static struct arena arena;
static struct err err;
static struct store *store;
static int64_t sweep_id;
static int64_t call_id;
static const char *trial_purpose = "explore"; /* of the trials that follow */
static char folder[64];
static char path[96];

#define assert_ok(expression)                                                                      \
    do {                                                                                           \
        if (!(expression))                                                                         \
            fail_msg("%s: %s; %s", #expression, err.text, err.hint);                               \
    } while (0)

static const struct store_sweep fill_sweep = {.name = "night",
                                              .file_text = "",
                                              .plan_hash = "",
                                              .plan_text = "",
                                              .backend = "postgresql",
                                              .product = "PostgreSQL",
                                              .version = "15.18",
                                              .target_label = "here:/etc/postgresql.conf",
                                              .data_directory = "",
                                              .log_path = "",
                                              .facts_json = "{}",
                                              .labels_json = "{}",
                                              .workload_json = "{}",
                                              .rank_by = "throughput_per_s",
                                              .rank_better = "higher",
                                              .rank_under = "",
                                              .rank_durability = "baseline",
                                              .rank_across = "each",
                                              .rank_confidence = 0.95};

static inline int fill_open(void **state)
{
    (void)state;
    trial_purpose = "explore";
    strcpy(folder, "/tmp/dbsweep-store-XXXXXX");
    arena_open(&arena, FILL_ARENA_BYTES);
    err_clear(&err);
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/night.db", folder);
    return store_open(path, STORE_CREATE, &store, &err) ? 0 : -1;
}

static inline int fill_close(void **state)
{
    char command[128];
    (void)state;
    store_close(store);
    store = NULL;
    arena_close(&arena);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static inline void begin_sweep(const struct store_sweep *sweep)
{
    assert_ok(store_sweep_begin(store, sweep, &sweep_id, &err));
    assert_ok(store_call_begin(store, sweep_id, &call_id, &err));
}

static inline struct store_value text_value(const char *name, const char *value)
{
    return (struct store_value){.name = name, .asked = value, .canonical = value, .display = value};
}

static inline struct store_value number_value(const char *name, const char *display, double number)
{
    char canonical[32];
    snprintf(canonical, sizeof canonical, "%.0f", number);
    return (struct store_value){.name = name,
                                .asked = display,
                                .canonical = arena_strdup(&arena, canonical),
                                .display = display,
                                .has_number = true,
                                .number = number};
}

/* A point of one knob; "baseline" makes it the baseline. */
static inline int64_t add_point(struct store_value value, bool durable)
{
    int64_t id = 0;
    bool baseline = strcmp(value.canonical, "baseline") == 0;
    const char *key = baseline ? "" : arena_printf(&arena, "%s=%s", value.name, value.canonical);
    assert_ok(store_point_put(store, sweep_id, key, baseline, durable, &value, 1, &id, &err));
    return id;
}

static inline int64_t add_condition(const struct store_value *values, size_t count)
{
    int64_t id = 0;
    const char *key = count == 0 ? "" : arena_printf(&arena, "%s", values[0].canonical);
    assert_ok(store_condition_put(store, sweep_id, key, values, count, &id, &err));
    return id;
}

static inline int64_t begin_trial(int64_t point, int64_t condition)
{
    int64_t id = 0;
    struct store_trial_begin trial = {.sweep_id = sweep_id,
                                      .call_id = call_id,
                                      .point_id = point,
                                      .condition_id = condition,
                                      .purpose = trial_purpose};
    assert_ok(store_trial_begin(store, &trial, &id, &err));
    return id;
}

struct measured {
    const char *effective_key; /* "" not read back */
    const char *flags;
    struct store_metric metrics[4];
    size_t metric_count;
};

static inline int64_t add_measured(int64_t point, int64_t condition,
                                   const struct measured *measured)
{
    int64_t id = begin_trial(point, condition);
    struct store_result result = {.metrics = measured->metrics,
                                  .metric_count = measured->metric_count,
                                  .measured_s = 10,
                                  .size_before_bytes = -1,
                                  .size_after_bytes = -1,
                                  .output = ""};
    assert_ok(store_trial_result(store, id, &result, &err));
    assert_ok(store_trial_end(store, id, "done", NULL, "", measured->effective_key,
                              measured->flags != NULL ? measured->flags : "", &err));
    return id;
}

/* A run with that throughput. */
static inline int64_t add_run(int64_t point, int64_t condition, double throughput)
{
    return add_measured(point, condition,
                        &(struct measured){.effective_key = "",
                                           .metrics = {{"throughput_per_s", throughput, "higher"}},
                                           .metric_count = 1});
}

static inline int64_t add_failure(int64_t point, int64_t condition, const char *reason)
{
    struct err why;
    int64_t id = begin_trial(point, condition);
    err_clear(&why);
    err_set(&why, ERR_CODE_start_failed, "%s", reason);
    assert_ok(store_trial_end(store, id, "failed", &why, "the log's last line", "", "", &err));
    return id;
}

/* What jq makes of a text, its last newline dropped; the test fails where jq does. */
static inline const char *jq(const char *json, const char *filter)
{
    static char answer[16384];
    char command[1024];
    char file[96];
    snprintf(file, sizeof file, "%s/text.json", folder);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    assert_true(fputs(json, out) >= 0);
    assert_int_equal(fclose(out), 0);
    snprintf(command, sizeof command, "jq -rc '%s' <%s", filter, file);
    FILE *in = popen(command, "r");
    assert_non_null(in);
    size_t size = fread(answer, 1, sizeof answer - 1, in);
    assert_int_equal(pclose(in), 0);
    answer[size] = '\0';
    if (size > 0 && answer[size - 1] == '\n')
        answer[size - 1] = '\0';
    return answer;
}

#endif
