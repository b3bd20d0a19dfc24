/*
 * What stands in the frames between a worker and its parent: every member there and back.
 */
#include "tests/support/load_frames.h"

static struct load_job job_again(const struct load_job *job)
{
    struct load_job back;
    memset(&back, 0x55, sizeof back);
    if (!load_job_decode(job_bytes(job), &arena, &back, &err)) {
        fail_msg("%s", err.text);
    }
    return back;
}

static void assert_list(const char *const *got, const char *const *wanted)
{
    size_t i = 0;
    assert_non_null(got);
    for (; wanted[i] != NULL; i++) {
        assert_non_null(got[i]);
        assert_string_equal(got[i], wanted[i]);
    }
    assert_null(got[i]);
}

static void assert_numbers(const struct workload_spec *got, const struct workload_spec *wanted)
{
    assert_int_equal(got->clients, wanted->clients);
    assert_int_equal(got->threads, wanted->threads);
    assert_true(got->rate_per_s == wanted->rate_per_s);
    assert_int_equal(got->warm_up_ms, wanted->warm_up_ms);
    assert_int_equal(got->warm_up_max_ms, wanted->warm_up_max_ms);
    assert_int_equal(got->measure_ms, wanted->measure_ms);
    assert_int_equal(got->drain_ms, wanted->drain_ms);
    assert_int_equal(got->prepare_timeout_ms, wanted->prepare_timeout_ms);
    assert_int_equal(got->seed, wanted->seed);
    assert_true(got->error_budget_pct == wanted->error_budget_pct);
    assert_int_equal(got->tables, wanted->tables);
    assert_int_equal(got->rows, wanted->rows);
    assert_int_equal(got->range_size, wanted->range_size);
    assert_int_equal(got->skip_trx, wanted->skip_trx);
    assert_int_equal(got->prepared, wanted->prepared);
    assert_int_equal(got->warehouses, wanted->warehouses);
    assert_int_equal(got->terminals, wanted->terminals);
    assert_true(got->rollback_pct == wanted->rollback_pct);
    assert_true(got->payment_by_name_pct == wanted->payment_by_name_pct);
    assert_true(got->keying == wanted->keying);
    assert_true(got->think == wanted->think);
    assert_int_equal(got->think_time_ms, wanted->think_time_ms);
    assert_int_equal(got->scripts_write, wanted->scripts_write);
}

static void assert_script(const struct load_script *got, const struct load_script *wanted)
{
    assert_string_equal(got->name, wanted->name);
    assert_string_equal(got->path, wanted->path);
    assert_int_equal(got->weight, wanted->weight);
    assert_string_equal(got->text, wanted->text);
}

static void assert_scripts(const struct workload_spec *got, const struct workload_spec *wanted)
{
    assert_list(got->script_files, script_files);
    assert_list(got->variables, variables);
    assert_string_equal(got->setup, wanted->setup);
    assert_null(got->teardown);
    assert_int_equal(got->script_count, wanted->script_count);
    for (size_t i = 0; i < wanted->script_count; i++) {
        assert_script(&got->scripts[i], &wanted->scripts[i]);
    }
    assert_script(&got->setup_script, &wanted->setup_script);
    assert_null(got->teardown_script.text);
}

/* A script without a name or with a weight of nothing would never end a choice. */
static void a_script_that_is_not_whole_is_refused(void **state)
{
    (void)state;
    static const struct load_script bad[] = {
        {.name = NULL, .path = "x", .weight = 1, .text = "select 1;"},
        {.name = "a", .path = NULL, .weight = 1, .text = "select 1;"},
        {.name = "a", .path = "x", .weight = 0, .text = "select 1;"},
        {.name = "a", .path = "x", .weight = 1, .text = NULL}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct load_script mine = bad[i];
        struct load_job job = full_job;
        struct load_job back;
        job.workload.scripts = &mine;
        job.workload.script_count = 1;
        err_clear(&err);
        assert_false(load_job_decode(job_bytes(&job), &arena, &back, &err));
        assert_int_equal(err.code, ERR_CODE_workload);
    }
}

static void every_member_of_a_workload_comes_back(void **state)
{
    (void)state;
    const struct workload_spec *wanted = &full_job.workload;
    struct load_job back = job_again(&full_job);
    assert_numbers(&back.workload, wanted);
    assert_string_equal(back.workload.kind, wanted->kind);
    assert_string_equal(back.workload.reset, wanted->reset);
    assert_string_equal(back.workload.mix, wanted->mix);
    assert_string_equal(back.workload.distribution, wanted->distribution);
    assert_string_equal(back.workload.arrivals, wanted->arrivals);
    assert_string_equal(back.workload.preset, wanted->preset);
    assert_list(back.workload.reset_command, reset_command);
    assert_list(back.workload.command, command);
    assert_list(back.workload.expect, expect);
    assert_scripts(&back.workload, wanted);
    assert_int_equal(back.workload.metric_count, COUNT_OF(metric_specs));
    for (size_t i = 0; i < COUNT_OF(metric_specs); i++) {
        assert_string_equal(back.workload.metrics[i].name, metric_specs[i].name);
        assert_string_equal(back.workload.metrics[i].regex, metric_specs[i].regex);
        assert_string_equal(back.workload.metrics[i].better, metric_specs[i].better);
    }
}

static void operations_and_truths_come_back(void **state)
{
    (void)state;
    struct load_job job = full_job;
    job.workload.skip_trx = false;
    job.workload.prepared = true;
    for (int operation = LOAD_PREPARE; operation <= LOAD_CHECK_ALL; operation++) {
        job.operation = (enum load_operation)operation;
        struct load_job back = job_again(&job);
        assert_int_equal(back.operation, operation);
        assert_false(back.workload.skip_trx);
        assert_true(back.workload.prepared);
    }
}

static void the_session_comes_back(void **state)
{
    (void)state;
    struct load_job back = job_again(&full_job);
    assert_string_equal(back.backend, "postgresql");
    assert_true(back.ceiling_per_s == 1.75e6);
    assert_int_equal(back.first_client, 31);
    assert_int_equal(back.client_share, 17);
    assert_string_equal(back.session.connect, full_job.session.connect);
    assert_string_equal(back.session.password, "p'w");
    assert_string_equal(back.session.application, "dbsweep");
    assert_int_equal(back.session.setting_count, COUNT_OF(settings));
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        const struct knob *got = back.session.settings[i].knob;
        const struct knob *wanted = settings[i].knob;
        const struct value *value = &back.session.settings[i].value;
        assert_string_equal(got->name, wanted->name);
        assert_int_equal(got->type, wanted->type);
        assert_int_equal(got->unit, wanted->unit);
        assert_int_equal(got->bare, wanted->bare);
        assert_int_equal(got->apply, wanted->apply);
        assert_string_equal(got->specials, wanted->specials);
        assert_string_equal(got->choices, wanted->choices);
        assert_string_equal(got->durability, wanted->durability);
        assert_true(got->min == -INFINITY && got->max == INFINITY);
        assert_true(value_equal(wanted, value, &settings[i].value));
        assert_int_equal(value->kind, settings[i].value.kind);
        assert_string_equal(value->asked, settings[i].value.asked);
        assert_int_equal(value->text == NULL, settings[i].value.text == NULL);
    }
}

/* An empty password is not the absence of one. */
static void null_is_not_empty(void **state)
{
    (void)state;
    static const char *const nothing[] = {NULL};
    struct load_job job = {.operation = LOAD_CHECK,
                           .workload = {.kind = "command", .mix = "", .command = nothing},
                           .session = {.password = ""}};
    struct load_job back = job_again(&job);
    assert_string_equal(back.workload.mix, "");
    assert_string_equal(back.session.password, "");
    assert_null(back.workload.reset);
    assert_null(back.workload.preset);
    assert_null(back.workload.distribution);
    assert_null(back.workload.reset_command);
    assert_null(back.workload.expect);
    assert_list(back.workload.command, nothing);
    assert_null(back.session.connect);
    assert_null(back.session.application);
    assert_int_equal(back.session.setting_count, 0);
    assert_int_equal(back.workload.metric_count, 0);
    job.session.password = NULL;
    assert_null(job_again(&job).session.password);
}

static struct load_result result_again(const struct load_result *result)
{
    struct load_result back;
    memset(&back, 0x55, sizeof back);
    if (!load_result_decode(result_bytes(result), &arena, &back, &err)) {
        fail_msg("%s", err.text);
    }
    return back;
}

static void every_figure_of_a_result_comes_back(void **state)
{
    (void)state;
    struct load_result wanted = full_result();
    struct load_result back = result_again(&wanted);
    assert_int_equal(back.warm_up_ns, -1);
    assert_int_equal(back.measured_ns, wanted.measured_ns);
    assert_int_equal(back.client_count, 64);
    assert_int_equal(back.unfinished_count, 5);
    assert_true(back.driver_cpu_s == 12.25 && back.p99_lag_ms == 0.125);
    assert_true(back.busy_pct == 61.5 && back.wait_pct == 3.25 && back.ceiling_per_s == 4.5e6);
    assert_true(back.due_count == UINT64_MAX - 1 && back.backlog_count == 8);
    assert_true(back.backlog_ns == INT64_MAX - 9);
    assert_string_equal(back.output, "two\nlines");
    assert_string_equal(back.distribution, "uniform");
    assert_int_equal(back.metric_count, COUNT_OF(metrics));
    for (size_t i = 0; i < COUNT_OF(metrics); i++) {
        assert_string_equal(back.metrics[i].name, metrics[i].name);
        assert_string_equal(back.metrics[i].better, metrics[i].better);
        assert_true(back.metrics[i].value == metrics[i].value);
    }
    assert_int_equal(back.error_row_count, COUNT_OF(errors));
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        assert_string_equal(back.errors[i].transaction, errors[i].transaction);
        assert_string_equal(back.errors[i].code, errors[i].code);
        assert_string_equal(back.errors[i].text, errors[i].text);
        assert_true(back.errors[i].count == errors[i].count);
    }
}

static void assert_second(const struct load_second *got, const struct load_second *wanted)
{
    assert_int_equal(got->phase, wanted->phase);
    assert_int_equal(got->index, wanted->index);
    assert_true(got->throughput_per_s == wanted->throughput_per_s);
    assert_true(got->mean_ms == wanted->mean_ms);
    assert_true(got->p99_ms == wanted->p99_ms);
    assert_int_equal(got->error_count, wanted->error_count);
}

static void every_row_of_a_result_comes_back(void **state)
{
    (void)state;
    struct load_result wanted = full_result();
    struct load_result back = result_again(&wanted);
    assert_int_equal(back.transaction_count, COUNT_OF(transactions));
    for (size_t i = 0; i < COUNT_OF(transactions); i++) {
        assert_string_equal(back.transactions[i].name, transactions[i].name);
        assert_int_equal(back.transactions[i].error_count, transactions[i].error_count);
        assert_int_equal(back.transactions[i].retry_count, transactions[i].retry_count);
        assert_memory_equal(back.transactions[i].latency, transactions[i].latency,
                            sizeof(struct histogram));
        assert_int_equal(back.transactions[i].service == NULL, transactions[i].service == NULL);
        if (transactions[i].service != NULL) {
            assert_memory_equal(back.transactions[i].service, transactions[i].service,
                                sizeof(struct histogram));
        }
    }
    assert_int_equal(back.statement_count, COUNT_OF(statements));
    for (size_t i = 0; i < COUNT_OF(statements); i++) {
        assert_string_equal(back.statements[i].transaction, statements[i].transaction);
        assert_string_equal(back.statements[i].statement, statements[i].statement);
        assert_int_equal(back.statements[i].error_count, statements[i].error_count);
        assert_memory_equal(back.statements[i].latency, statements[i].latency,
                            sizeof(struct histogram));
    }
    assert_int_equal(back.batch_count, COUNT_OF(batches));
    for (size_t i = 0; i < COUNT_OF(batches); i++) {
        assert_memory_equal(&back.batches[i], &batches[i], sizeof(struct histogram));
    }
    assert_int_equal(back.second_count, COUNT_OF(seconds));
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        assert_second(&back.seconds[i], &seconds[i]);
    }
}

static void an_empty_result_comes_back(void **state)
{
    (void)state;
    struct load_result back = result_again(&(struct load_result){.measured_ns = 1});
    assert_int_equal(back.transaction_count + back.statement_count + back.error_row_count, 0);
    assert_int_equal(back.second_count + back.metric_count + back.batch_count, 0);
    assert_string_equal(back.output, "");
    assert_string_equal(back.distribution, "");
}

/* ---- seconds ---- */

static void seconds_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(seconds); i++) {
        struct load_second back;
        assert_true(load_second_decode(second_bytes(&seconds[i]), &back));
        assert_second(&back, &seconds[i]);
    }
}

static void memory_that_ends_is_an_error(void **state)
{
    (void)state;
    struct load_result result = full_result();
    for (size_t limit = 1; limit < 4096; limit += 97) {
        struct arena tight;
        struct text text;
        struct load_result back;
        arena_open(&tight, limit);
        text_open(&text, &tight);
        if (!load_result_encode(&result, &text, &err)) {
            assert_int_equal(err.code, ERR_CODE_memory);
        }
        arena_reset(&tight);
        assert_false(load_result_decode(result_bytes(&result), &tight, &back, &err));
        arena_close(&tight);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_member_of_a_workload_comes_back),
        TEST(a_script_that_is_not_whole_is_refused),
        TEST(operations_and_truths_come_back),
        TEST(the_session_comes_back),
        TEST(null_is_not_empty),
        TEST(every_figure_of_a_result_comes_back),
        TEST(every_row_of_a_result_comes_back),
        TEST(an_empty_result_comes_back),
        TEST(seconds_come_back),
        TEST(memory_that_ends_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
