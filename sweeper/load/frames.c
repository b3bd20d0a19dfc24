/*
 * What stands in the frames between a worker and its parent. A decoder believes nothing: counts
 * are bounded by what the frame can hold before anything is allocated.
 */
#include <math.h>
#include <string.h>

#include "sweeper/load/load.h"

enum member_type { MEMBER_INT, MEMBER_REAL, MEMBER_BOOL, MEMBER_TEXT, MEMBER_LIST };

/* Every member of the workload once; metrics are apart. */
static const struct {
    enum member_type type;
    size_t offset;
} members[] = {
#define MEMBER(type, name)                                                                         \
    {                                                                                              \
        MEMBER_##type, offsetof(struct workload_spec, name)                                        \
    }
    MEMBER(TEXT, kind),
    MEMBER(INT, clients),
    MEMBER(INT, threads),
    MEMBER(REAL, rate_per_s),
    MEMBER(TEXT, arrivals),
    MEMBER(INT, warm_up_ms),
    MEMBER(INT, warm_up_max_ms),
    MEMBER(INT, measure_ms),
    MEMBER(INT, drain_ms),
    MEMBER(INT, prepare_timeout_ms),
    MEMBER(INT, seed),
    MEMBER(REAL, error_budget_pct),
    MEMBER(TEXT, reset),
    MEMBER(LIST, reset_command),
    MEMBER(TEXT, mix),
    MEMBER(INT, tables),
    MEMBER(INT, rows),
    MEMBER(INT, range_size),
    MEMBER(TEXT, distribution),
    MEMBER(BOOL, skip_trx),
    MEMBER(BOOL, prepared),
    MEMBER(INT, warehouses),
    MEMBER(INT, terminals),
    MEMBER(REAL, rollback_pct),
    MEMBER(REAL, payment_by_name_pct),
    MEMBER(REAL, keying),
    MEMBER(REAL, think),
    MEMBER(LIST, script_files),
    MEMBER(LIST, variables),
    MEMBER(INT, think_time_ms),
    MEMBER(TEXT, setup),
    MEMBER(TEXT, teardown),
    MEMBER(BOOL, scripts_write),
    MEMBER(TEXT, index_form),
    MEMBER(INT, insert_rows),
    MEMBER(INT, complete_within_ms),
    MEMBER(INT, rows_per_insert),
    MEMBER(INT, secondary_indexes),
    MEMBER(INT, initial_rows),
    MEMBER(INT, query_clients),
    MEMBER(BOOL, delete_oldest),
    MEMBER(LIST, command),
    MEMBER(TEXT, preset),
    MEMBER(LIST, expect)
#undef MEMBER
};

static bool finish(struct wire *wire, const char *what, struct err *err)
{
    return (!wire->failed && wire->at == wire->size) ||
           err_set(err, ERR_CODE_workload, "a %s frame is malformed", what);
}

/* A count that the rest of the frame can hold, at `least` bytes an item. */
static size_t get_count(struct wire *wire, size_t least)
{
    uint32_t count = wire_u32(wire);
    if (count > (wire->size - wire->at) / least) {
        wire->failed = true;
        return 0;
    }
    return count;
}

/* Nothing more is worth room once a byte was wrong: a histogram takes far more than its bytes. */
static bool can_go_on(const struct wire *wire, const void *items)
{
    return items != NULL && !wire->failed;
}

/* ---- texts and lists, where NULL is not "" ---- */

static void put_text(struct text *out, const char *text)
{
    wire_put_u8(out, text != NULL);
    if (text != NULL) {
        wire_put_string(out, text);
    }
}

static const char *get_text(struct wire *wire, struct arena *arena)
{
    return wire_u8(wire) != 0 ? wire_string(wire, arena) : NULL;
}

static void put_list(struct text *out, const char *const *list)
{
    uint32_t count = 0;
    while (list != NULL && list[count] != NULL) {
        count++;
    }
    wire_put_u8(out, list != NULL);
    wire_put_u32(out, count);
    for (uint32_t i = 0; i < count; i++) {
        wire_put_string(out, list[i]);
    }
}

static const char *const *get_list(struct wire *wire, struct arena *arena)
{
    bool is_there = wire_u8(wire) != 0;
    size_t count = get_count(wire, 4);
    const char **list = ARENA_ARRAY(arena, const char *, count + 1);
    if (list == NULL) {
        wire->failed = true;
        return NULL;
    }
    for (size_t i = 0; can_go_on(wire, list) && i < count; i++) {
        list[i] = wire_string(wire, arena);
    }
    return is_there ? list : NULL;
}

/* ---- job ---- */

static void put_script(struct text *out, const struct load_script *script)
{
    put_text(out, script->name);
    put_text(out, script->path);
    wire_put_i64(out, script->weight);
    put_text(out, script->text);
}

static void get_script(struct wire *wire, struct arena *arena, struct load_script *out)
{
    out->name = get_text(wire, arena);
    out->path = get_text(wire, arena);
    out->weight = wire_i64(wire);
    out->text = get_text(wire, arena);
    bool is_whole = out->name != NULL && out->path != NULL && out->weight > 0;
    wire->failed = wire->failed || (out->text != NULL && !is_whole);
}

static void put_scripts(struct text *out, const struct workload_spec *workload)
{
    wire_put_u32(out, (uint32_t)workload->script_count);
    for (size_t i = 0; i < workload->script_count; i++) {
        put_script(out, &workload->scripts[i]);
    }
    put_script(out, &workload->setup_script);
    put_script(out, &workload->teardown_script);
}

static void get_scripts(struct wire *wire, struct arena *arena, struct workload_spec *out)
{
    out->script_count = get_count(wire, 11);
    out->scripts = ARENA_ARRAY(arena, struct load_script, out->script_count + 1);
    for (size_t i = 0; can_go_on(wire, out->scripts) && i < out->script_count; i++) {
        get_script(wire, arena, &out->scripts[i]);
        wire->failed = wire->failed || out->scripts[i].text == NULL;
    }
    get_script(wire, arena, &out->setup_script);
    get_script(wire, arena, &out->teardown_script);
    wire->failed = wire->failed || out->scripts == NULL;
}

static void put_workload(struct text *out, const struct workload_spec *workload)
{
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const void *member = (const char *)workload + members[i].offset;
        switch (members[i].type) {
        case MEMBER_INT:
            wire_put_i64(out, *(const int64_t *)member);
            break;
        case MEMBER_REAL:
            wire_put_f64(out, *(const double *)member);
            break;
        case MEMBER_BOOL:
            wire_put_u8(out, *(const bool *)member);
            break;
        case MEMBER_TEXT:
            put_text(out, *(const char *const *)member);
            break;
        case MEMBER_LIST:
            put_list(out, *(const char *const *const *)member);
            break;
        }
    }
    wire_put_u32(out, (uint32_t)workload->metric_count);
    for (size_t i = 0; i < workload->metric_count; i++) {
        wire_put_string(out, workload->metrics[i].name);
        wire_put_string(out, workload->metrics[i].regex);
        wire_put_string(out, workload->metrics[i].better);
    }
    put_scripts(out, workload);
}

static void get_workload(struct wire *wire, struct arena *arena, struct workload_spec *out)
{
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        void *member = (char *)out + members[i].offset;
        switch (members[i].type) {
        case MEMBER_INT:
            *(int64_t *)member = wire_i64(wire);
            break;
        case MEMBER_REAL:
            *(double *)member = wire_f64(wire);
            break;
        case MEMBER_BOOL:
            *(bool *)member = wire_u8(wire) != 0;
            break;
        case MEMBER_TEXT:
            *(const char **)member = get_text(wire, arena);
            break;
        case MEMBER_LIST:
            *(const char *const **)member = get_list(wire, arena);
            break;
        }
    }
    out->metric_count = get_count(wire, 12);
    out->metrics = ARENA_ARRAY(arena, struct load_metric_spec, out->metric_count + 1);
    for (size_t i = 0; can_go_on(wire, out->metrics) && i < out->metric_count; i++) {
        out->metrics[i].name = wire_string(wire, arena);
        out->metrics[i].regex = wire_string(wire, arena);
        out->metrics[i].better = wire_string(wire, arena);
    }
    get_scripts(wire, arena, out);
    wire->failed = wire->failed || out->metrics == NULL || out->kind == NULL;
}

static void put_setting(struct text *out, const struct setting *setting)
{
    const struct knob *knob = setting->knob;
    wire_put_string(out, knob->name);
    wire_put_u8(out, (uint8_t)knob->type);
    wire_put_u8(out, (uint8_t)knob->unit);
    wire_put_i64(out, knob->bare);
    wire_put_u8(out, (uint8_t)knob->apply);
    wire_put_string(out, knob->choices);
    wire_put_string(out, knob->specials);
    wire_put_string(out, knob->durability);
    wire_put_u8(out, (uint8_t)setting->value.kind);
    wire_put_i64(out, setting->value.integer);
    wire_put_f64(out, setting->value.real);
    put_text(out, setting->value.text);
    wire_put_string(out, setting->value.asked);
}

static void get_setting(struct wire *wire, struct arena *arena, struct setting *out)
{
    struct knob *knob = ARENA_NEW(arena, struct knob);
    if (knob == NULL) {
        wire->failed = true;
        return;
    }
    knob->name = wire_string(wire, arena);
    uint8_t type = wire_u8(wire);
    uint8_t unit = wire_u8(wire);
    knob->bare = wire_i64(wire);
    uint8_t apply = wire_u8(wire);
    knob->choices = wire_string(wire, arena);
    knob->specials = wire_string(wire, arena);
    knob->durability = wire_string(wire, arena);
    uint8_t kind = wire_u8(wire);
    wire->failed = wire->failed || type > KNOB_TEXT || unit > UNIT_PERCENT ||
                   apply > KNOB_REBUILD || kind > VALUE_TEXT;
    knob->type = wire->failed ? KNOB_TEXT : (enum knob_type)type;
    knob->unit = wire->failed ? UNIT_NONE : (enum unit)unit;
    knob->apply = wire->failed ? KNOB_RESTART : (enum knob_apply)apply;
    knob->min = -INFINITY;
    knob->max = INFINITY;
    knob->versions = knob->sentence = knob->source = knob->danger = "";
    out->knob = knob;
    out->value.kind = wire->failed ? VALUE_UNSET : (enum value_kind)kind;
    out->value.integer = wire_i64(wire);
    out->value.real = wire_f64(wire);
    out->value.text = get_text(wire, arena);
    out->value.asked = wire_string(wire, arena);
}

bool load_job_encode(const struct load_job *job, struct text *out, struct err *err)
{
    const struct session_spec *session = &job->session;
    wire_put_u8(out, (uint8_t)job->operation);
    put_workload(out, &job->workload);
    wire_put_string(out, job->backend);
    wire_put_f64(out, job->ceiling_per_s);
    wire_put_i64(out, job->first_client);
    wire_put_i64(out, job->client_share);
    put_text(out, job->session_name);
    put_text(out, session->connect);
    put_text(out, session->password);
    put_text(out, session->application);
    wire_put_u32(out, (uint32_t)session->setting_count);
    for (size_t i = 0; i < session->setting_count; i++) {
        put_setting(out, &session->settings[i]);
    }
    return !out->failed || err_memory(err);
}

bool load_job_decode(struct bytes frame, struct arena *arena, struct load_job *out, struct err *err)
{
    struct wire wire;
    wire_open(&wire, frame);
    *out = (struct load_job){0};
    uint8_t operation = wire_u8(&wire);
    wire.failed = wire.failed || operation > LOAD_CHECK_ALL;
    out->operation = wire.failed ? LOAD_CHECK : (enum load_operation)operation;
    get_workload(&wire, arena, &out->workload);
    out->backend = wire_string(&wire, arena);
    out->ceiling_per_s = wire_f64(&wire);
    out->first_client = wire_i64(&wire);
    out->client_share = wire_i64(&wire);
    out->session_name = get_text(&wire, arena);
    out->session.connect = get_text(&wire, arena);
    out->session.password = get_text(&wire, arena);
    out->session.application = get_text(&wire, arena);
    size_t count = get_count(&wire, 32);
    struct setting *settings = ARENA_ARRAY(arena, struct setting, count + 1);
    for (size_t i = 0; can_go_on(&wire, settings) && i < count; i++) {
        get_setting(&wire, arena, &settings[i]);
    }
    out->session.settings = settings;
    out->session.setting_count = count;
    return settings == NULL ? err_memory(err) : finish(&wire, "job", err);
}

/* ---- seconds ---- */

void load_second_encode(const struct load_second *second, struct text *out)
{
    wire_put_u8(out, (uint8_t)second->phase);
    wire_put_u32(out, second->index);
    wire_put_f64(out, second->throughput_per_s);
    wire_put_f64(out, second->mean_ms);
    wire_put_f64(out, second->p99_ms);
    wire_put_u64(out, second->error_count);
}

static void get_second(struct wire *wire, struct load_second *out)
{
    uint8_t phase = wire_u8(wire);
    wire->failed = wire->failed || phase > LOAD_PHASE_DRAIN;
    out->phase = wire->failed ? LOAD_PHASE_DRAIN : (enum load_phase)phase;
    out->index = wire_u32(wire);
    out->throughput_per_s = wire_f64(wire);
    out->mean_ms = wire_f64(wire);
    out->p99_ms = wire_f64(wire);
    out->error_count = wire_u64(wire);
}

bool load_second_decode(struct bytes frame, struct load_second *out)
{
    struct wire wire;
    wire_open(&wire, frame);
    get_second(&wire, out);
    return !wire.failed && wire.at == wire.size;
}

/* ---- result ---- */

static const size_t result_reals[] = {
    offsetof(struct load_result, driver_cpu_s), offsetof(struct load_result, busy_pct),
    offsetof(struct load_result, wait_pct), offsetof(struct load_result, ceiling_per_s),
    offsetof(struct load_result, p99_lag_ms)};

static void put_histogram(struct text *out, const struct histogram *histogram)
{
    struct text blob;
    text_open(&blob, out->arena);
    histogram_encode(histogram, &blob);
    const char *data = text_done(&blob);
    out->failed = out->failed || data == NULL;
    wire_put_bytes(out, (struct bytes){.data = data, .size = data != NULL ? blob.size : 0});
}

static struct histogram *get_histogram(struct wire *wire, struct arena *arena)
{
    struct histogram *histogram = ARENA_NEW(arena, struct histogram);
    struct bytes blob = wire_bytes(wire);
    if (histogram == NULL || !histogram_decode(histogram, blob)) {
        wire->failed = true;
    }
    return histogram;
}

static void put_rows(const struct load_result *result, struct text *out)
{
    wire_put_u32(out, (uint32_t)result->transaction_count);
    for (size_t i = 0; i < result->transaction_count; i++) {
        wire_put_string(out, result->transactions[i].name);
        wire_put_u64(out, result->transactions[i].error_count);
        wire_put_u64(out, result->transactions[i].retry_count);
        put_histogram(out, result->transactions[i].latency);
        wire_put_u8(out, result->transactions[i].service != NULL);
        if (result->transactions[i].service != NULL) {
            put_histogram(out, result->transactions[i].service);
        }
    }
    wire_put_u32(out, (uint32_t)result->statement_count);
    for (size_t i = 0; i < result->statement_count; i++) {
        wire_put_string(out, result->statements[i].transaction);
        wire_put_string(out, result->statements[i].statement);
        wire_put_u64(out, result->statements[i].error_count);
        put_histogram(out, result->statements[i].latency);
    }
    wire_put_u32(out, (uint32_t)result->error_row_count);
    for (size_t i = 0; i < result->error_row_count; i++) {
        wire_put_string(out, result->errors[i].transaction);
        wire_put_string(out, result->errors[i].code);
        wire_put_string(out, result->errors[i].text);
        wire_put_u64(out, result->errors[i].count);
    }
}

bool load_result_encode(const struct load_result *result, struct text *out, struct err *err)
{
    wire_put_i64(out, result->warm_up_ns);
    wire_put_i64(out, result->measured_ns);
    wire_put_u32(out, result->client_count);
    wire_put_u64(out, result->unfinished_count);
    for (size_t i = 0; i < COUNT_OF(result_reals); i++) {
        wire_put_f64(out, *(const double *)((const char *)result + result_reals[i]));
    }
    wire_put_u64(out, result->due_count);
    wire_put_u64(out, result->backlog_count);
    wire_put_i64(out, result->backlog_ns);
    wire_put_string(out, result->output);
    wire_put_string(out, result->distribution);
    put_rows(result, out);
    wire_put_u32(out, result->series_interval_s);
    wire_put_u32(out, (uint32_t)result->second_count);
    for (size_t i = 0; i < result->second_count; i++) {
        load_second_encode(&result->seconds[i], out);
    }
    wire_put_u32(out, (uint32_t)result->batch_count);
    for (size_t i = 0; i < result->batch_count; i++) {
        put_histogram(out, &result->batches[i]);
    }
    wire_put_u32(out, (uint32_t)result->metric_count);
    for (size_t i = 0; i < result->metric_count; i++) {
        wire_put_string(out, result->metrics[i].name);
        wire_put_f64(out, result->metrics[i].value);
        wire_put_string(out, result->metrics[i].better);
    }
    return !out->failed || err_memory(err);
}

static bool get_transactions(struct wire *wire, struct arena *arena, struct load_result *out)
{
    out->transaction_count = get_count(wire, 25);
    out->transactions = ARENA_ARRAY(arena, struct load_transaction, out->transaction_count + 1);
    for (size_t i = 0; can_go_on(wire, out->transactions) && i < out->transaction_count; i++) {
        out->transactions[i].name = wire_string(wire, arena);
        out->transactions[i].error_count = wire_u64(wire);
        out->transactions[i].retry_count = wire_u64(wire);
        out->transactions[i].latency = get_histogram(wire, arena);
        if (wire_u8(wire) != 0) {
            out->transactions[i].service = get_histogram(wire, arena);
        }
    }
    return out->transactions != NULL;
}

static bool get_statements(struct wire *wire, struct arena *arena, struct load_result *out)
{
    out->statement_count = get_count(wire, 20);
    out->statements = ARENA_ARRAY(arena, struct load_statement, out->statement_count + 1);
    for (size_t i = 0; can_go_on(wire, out->statements) && i < out->statement_count; i++) {
        out->statements[i].transaction = wire_string(wire, arena);
        out->statements[i].statement = wire_string(wire, arena);
        out->statements[i].error_count = wire_u64(wire);
        out->statements[i].latency = get_histogram(wire, arena);
    }
    return out->statements != NULL;
}

static bool get_errors(struct wire *wire, struct arena *arena, struct load_result *out)
{
    out->error_row_count = get_count(wire, 20);
    out->errors = ARENA_ARRAY(arena, struct load_error_row, out->error_row_count + 1);
    for (size_t i = 0; can_go_on(wire, out->errors) && i < out->error_row_count; i++) {
        out->errors[i].transaction = wire_string(wire, arena);
        out->errors[i].code = wire_string(wire, arena);
        out->errors[i].text = wire_string(wire, arena);
        out->errors[i].count = wire_u64(wire);
    }
    return out->errors != NULL;
}

static bool get_seconds(struct wire *wire, struct arena *arena, struct load_result *out)
{
    out->series_interval_s = wire_u32(wire);
    out->second_count = get_count(wire, 37);
    out->seconds = ARENA_ARRAY(arena, struct load_second, out->second_count + 1);
    for (size_t i = 0; can_go_on(wire, out->seconds) && i < out->second_count; i++) {
        get_second(wire, &out->seconds[i]);
    }
    return out->seconds != NULL;
}

static bool get_batches(struct wire *wire, struct arena *arena, struct load_result *out)
{
    out->batch_count = get_count(wire, 4);
    wire->failed = wire->failed || out->batch_count > WITHIN_BATCHES;
    out->batches = ARENA_ARRAY(arena, struct histogram, WITHIN_BATCHES);
    for (size_t i = 0; can_go_on(wire, out->batches) && i < out->batch_count; i++) {
        if (!histogram_decode(&out->batches[i], wire_bytes(wire))) {
            wire->failed = true;
        }
    }
    return out->batches != NULL;
}

static bool get_metrics(struct wire *wire, struct arena *arena, struct load_result *out)
{
    out->metric_count = get_count(wire, 16);
    out->metrics = ARENA_ARRAY(arena, struct load_metric, out->metric_count + 1);
    for (size_t i = 0; can_go_on(wire, out->metrics) && i < out->metric_count; i++) {
        out->metrics[i].name = wire_string(wire, arena);
        out->metrics[i].value = wire_f64(wire);
        out->metrics[i].better = wire_string(wire, arena);
    }
    return out->metrics != NULL;
}

bool load_result_decode(struct bytes frame, struct arena *arena, struct load_result *out,
                        struct err *err)
{
    struct wire wire;
    wire_open(&wire, frame);
    *out = (struct load_result){.warm_up_ns = wire_i64(&wire)};
    out->measured_ns = wire_i64(&wire);
    out->client_count = wire_u32(&wire);
    out->unfinished_count = wire_u64(&wire);
    for (size_t i = 0; i < COUNT_OF(result_reals); i++) {
        *(double *)((char *)out + result_reals[i]) = wire_f64(&wire);
    }
    out->due_count = wire_u64(&wire);
    out->backlog_count = wire_u64(&wire);
    out->backlog_ns = wire_i64(&wire);
    out->output = wire_string(&wire, arena);
    out->distribution = wire_string(&wire, arena);
    bool has_room = get_transactions(&wire, arena, out) && get_statements(&wire, arena, out) &&
                    get_errors(&wire, arena, out) && get_seconds(&wire, arena, out) &&
                    get_batches(&wire, arena, out) && get_metrics(&wire, arena, out);
    return has_room ? finish(&wire, "result", err) : err_memory(err);
}
