/*
 * What a result says in numbers, and what a workload's settings mean together.
 */
#include <math.h>
#include <regex.h>
#include <string.h>

#include "sweeper/load/command/command.h"

enum {
    CONNECT_MS = 60000,
    MARGIN_MS = 30000,
    METRIC_LIMIT = 32,
    SLOT_LIMIT = 256,
    BACKLOG_MS = 100,
    CLIENT_BOUND_PCT = 80,
    FILL_BYTES = 16 << 20, /* of a command with its words filled in */
    PLAN_BYTES = 1 << 30   /* a bound, not a use */
};

bool workload_writes(const struct workload_spec *workload)
{
    if (workload_find(workload->kind) == NULL) { /* the backend measures by itself */
        return false;
    }
    if (strcmp(workload->kind, "command") == 0) {
        return strcmp(workload->reset, "none") != 0 && strcmp(workload->reset, "default") != 0;
    }
    if (strcmp(workload->kind, "tpcc") == 0 || strcmp(workload->kind, "insert") == 0) {
        return true;
    }
    if (strcmp(workload->kind, "script") == 0) {
        return workload->scripts_write;
    }
    return strcmp(workload->mix, "read_only") != 0 && strcmp(workload->mix, "point_select") != 0;
}

int64_t load_drive_limit_ms(const struct workload_spec *workload)
{
    return CONNECT_MS + load_warm_up_limit_ms(workload) + load_window_ms(workload) +
           workload->drain_ms + MARGIN_MS;
}

int64_t load_warm_up_limit_ms(const struct workload_spec *workload)
{
    return workload->warm_up_max_ms > workload->warm_up_ms ? workload->warm_up_max_ms
                                                           : workload->warm_up_ms;
}

bool load_ends_complete(const struct workload_spec *workload)
{
    return strcmp(workload->kind, "insert") == 0 && workload->insert_rows > 0;
}

int64_t load_window_ms(const struct workload_spec *workload)
{
    return load_ends_complete(workload) ? workload->complete_within_ms : workload->measure_ms;
}

const char *workload_nearest_kind(const char *name)
{
    const char *names[8];
    size_t count = workload_count < COUNT_OF(names) ? workload_count : COUNT_OF(names);
    for (size_t i = 0; i < count; i++) {
        names[i] = workloads[i]->kind;
    }
    return text_nearest(name, names, count);
}

bool workload_kind_exists(const char *name)
{
    return workload_find(name) != NULL;
}

bool workload_can_be_shared(const char *kind)
{
    const struct workload *workload = workload_find(kind);
    return workload != NULL && workload->drive == NULL && workload->close_window == NULL;
}

/* ---- metrics ---- */

struct metric_list {
    struct load_metric *rows;
    size_t count;
};

static void add_metric(struct metric_list *list, const char *name, double value, const char *better)
{
    if (isfinite(value)) {
        list->rows[list->count++] =
            (struct load_metric){.name = name, .value = value, .better = better};
    }
}

enum { RESPONSE, SERVICE };

static void add_latencies(struct metric_list *list, const struct histogram *all, int which)
{
    static const struct {
        const char *names[2];
        double pct;
    } rows[] = {{{"p50_ms", "service_p50_ms"}, 50},
                {{"p95_ms", "service_p95_ms"}, 95},
                {{"p99_ms", "service_p99_ms"}, 99},
                {{"p999_ms", "service_p999_ms"}, 99.9}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        add_metric(list, rows[i].names[which], histogram_percentile_ns(all, rows[i].pct) / 1e6,
                   "lower");
    }
    add_metric(list, which == SERVICE ? "service_max_ms" : "max_ms", (double)all->max_ns / 1e6,
               "lower");
    add_metric(list, which == SERVICE ? "service_mean_ms" : "mean_ms", histogram_mean_ns(all) / 1e6,
               "lower");
}

/* Where a schedule says when transactions start, their service times too. */
static bool add_services(const struct load_result *result, struct arena *arena,
                         struct metric_list *list)
{
    struct histogram *all = ARENA_NEW(arena, struct histogram);
    if (all == NULL) {
        return false;
    }
    histogram_clear(all);
    for (size_t i = 0; i < result->transaction_count; i++) {
        if (result->transactions[i].service == NULL) {
            return true;
        }
        histogram_merge(all, result->transactions[i].service);
    }
    add_latencies(list, all, SERVICE);
    return true;
}

static void add_schedule(const struct load_result *result, double seconds, struct metric_list *list)
{
    if (result->due_count > 0) {
        add_metric(list, "offered_per_s", (double)result->due_count / seconds, "higher");
        add_metric(list, "backlog", (double)result->backlog_count, "lower");
    }
}

/* What the driver says of itself. */
static void add_driver(const struct load_result *result, uint64_t done, struct metric_list *list)
{
    add_metric(list, "driver_us", result->driver_cpu_s * 1e6 / (double)done, "lower");
    add_metric(list, "lag_p99_ms", result->p99_lag_ms, "lower");
    if (result->ceiling_per_s > 0) {
        add_metric(list, "ceiling_per_s", result->ceiling_per_s, "higher");
    }
    if (result->busy_pct > 0) {
        add_metric(list, "driver_busy_pct", result->busy_pct, "lower");
        add_metric(list, "driver_wait_pct", result->wait_pct, "lower");
    }
}

/* Percentiles come from the merged histogram of all transactions; they are never averaged. */
static bool add_driven(const struct load_result *result, struct arena *arena,
                       struct metric_list *list)
{
    struct histogram *all = ARENA_NEW(arena, struct histogram);
    double seconds = (double)result->measured_ns / 1e9;
    uint64_t failed = 0;
    uint64_t statements = 0;
    const struct load_transaction *new_order = NULL;
    if (all == NULL) {
        return false;
    }
    histogram_clear(all);
    for (size_t i = 0; i < result->transaction_count; i++) {
        histogram_merge(all, result->transactions[i].latency);
        failed += result->transactions[i].error_count;
        if (strcmp(result->transactions[i].name, "new_order") == 0) {
            new_order = &result->transactions[i];
        }
    }
    for (size_t i = 0; i < result->statement_count; i++) {
        statements += result->statements[i].latency->count;
    }
    if (all->count + failed == 0 || seconds <= 0) {
        return true;
    }
    add_metric(list, "error_pct", 100 * (double)failed / (double)(all->count + failed), "lower");
    if (all->count == 0) {
        return true;
    }
    add_metric(list, "throughput_per_s", (double)all->count / seconds, "higher");
    add_latencies(list, all, RESPONSE);
    add_metric(list, "tpm", 60 * (double)all->count / seconds, "higher");
    add_metric(list, "spm", 60 * (double)statements / seconds, "higher");
    add_schedule(result, seconds, list);
    add_driver(result, all->count, list);
    if (new_order != NULL) {
        add_metric(list, "notpm", 60 * (double)new_order->latency->count / seconds, "higher");
    }
    return add_services(result, arena, list);
}

/* A schedule is kept where its queue is short: the oldest start that waits for a client is no more
 * than a hundredth of the window old. */
static bool is_saturated(const struct load_result *result)
{
    int64_t tolerated_ns = result->measured_ns / 100;
    tolerated_ns = tolerated_ns < BACKLOG_MS * NS_PER_MS ? BACKLOG_MS * NS_PER_MS : tolerated_ns;
    return result->backlog_count > 0 && result->backlog_ns > tolerated_ns;
}

static bool is_client_bound(const struct load_result *result)
{
    uint64_t done = 0;
    for (size_t i = 0; i < result->transaction_count; i++) {
        done += result->transactions[i].latency->count;
    }
    double ceiling =
        result->ceiling_per_s * (double)result->measured_ns / 1e9 * CLIENT_BOUND_PCT / 100;
    return result->busy_pct > CLIENT_BOUND_PCT || (ceiling > 0 && (double)done > ceiling);
}

const char *load_result_flags(const struct load_result *result, struct arena *arena)
{
    struct text text;
    text_open(&text, arena);
    text_add(&text, is_saturated(result) ? "saturated" : "");
    if (is_client_bound(result)) {
        text_addf(&text, "%sclient-bound", text.size > 0 ? " " : "");
    }
    return text_done(&text);
}

/* What a result names itself counts before what is computed of its histograms. */
static void put_metric(struct metric_list *list, const struct load_metric *metric)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->rows[i].name, metric->name) == 0 && isfinite(metric->value)) {
            list->rows[i] = *metric;
            return;
        }
    }
    add_metric(list, metric->name, metric->value, metric->better);
}

bool load_result_metrics(const struct load_result *result, struct arena *arena,
                         struct load_metric **out, size_t *out_count, struct err *err)
{
    struct metric_list list = {
        .rows = ARENA_ARRAY(arena, struct load_metric, METRIC_LIMIT + result->metric_count)};
    if (list.rows == NULL || !add_driven(result, arena, &list)) {
        return err_memory(err);
    }
    bool has_elapsed = false;
    for (size_t i = 0; i < result->metric_count; i++) {
        put_metric(&list, &result->metrics[i]);
        has_elapsed = has_elapsed || strcmp(result->metrics[i].name, "elapsed_s") == 0;
    }
    if (!has_elapsed) {
        add_metric(&list, "elapsed_s", (double)result->measured_ns / 1e9, "lower");
    }
    *out = list.rows;
    *out_count = list.count;
    return true;
}

/* ---- what the settings mean together ---- */

static bool spec_err(struct err *err, const char *text, const char *hint)
{
    err_set(err, ERR_CODE_sweep_file, "%s", text);
    return err_hint(err, "%s", hint);
}

static bool check_regex(const char *pattern, struct err *err)
{
    regex_t regex;
    char why[128];
    int failed = regcomp(&regex, pattern, REG_EXTENDED);
    if (failed == 0) {
        regfree(&regex);
        return true;
    }
    regerror(failed, &regex, why, sizeof why);
    return err_set(err, ERR_CODE_sweep_file, "the regular expression \"%.200s\" is wrong: %s",
                   pattern, why);
}

static bool check_patterns(const struct workload_spec *workload, struct err *err)
{
    for (size_t i = 0; i < workload->metric_count; i++) {
        if (!check_regex(workload->metrics[i].regex, err)) {
            return false;
        }
    }
    for (const char *const *line = workload->expect; line != NULL && *line != NULL; line++) {
        if (!check_regex(*line, err)) {
            return false;
        }
    }
    return true;
}

/* A word in braces that names no setting would fail the first trial of the night. */
static bool check_words(const struct workload_spec *workload, struct err *err)
{
    struct arena arena;
    const char *const *argv = NULL;
    arena_open(&arena, FILL_BYTES);
    bool ok = command_fill(workload, &arena, &argv, err);
    arena_close(&arena);
    return ok;
}

static bool check_command(const struct workload_spec *workload, struct err *err)
{
    if (workload->command == NULL || workload->command[0] == NULL) {
        return spec_err(err, "a command workload needs its command",
                        "command = [ \"program\", \"argument\" ];");
    }
    if (workload->rate_per_s > 0) {
        return spec_err(err, "rate is not for command workloads",
                        "give the program its own option for the rate");
    }
    if (workload->warm_up_max_ms > 0) {
        return spec_err(err, "the warm-up of a command is its own: nobody can end it early",
                        "warm_up = \"60s\";");
    }
    if (strcmp(workload->reset, "reload") == 0) {
        return spec_err(err, "a command's data cannot be loaded again, dbsweep does not know them",
                        "reset = \"command\"; with a reset_command, or reset = \"snapshot\";");
    }
    if (strcmp(workload->preset, "none") == 0 && workload->metric_count == 0) {
        return spec_err(err, "nothing would be read from the command's output",
                        "give metrics or a preset; preset = \"time\" takes its duration");
    }
    return check_patterns(workload, err) && check_words(workload, err);
}

static const struct {
    const char *name;
    int64_t statement_count; /* each takes a slot a table */
} mixes[] = {
    {"read_only", 5},    {"read_write", 9},       {"write_only", 4}, {"point_select", 1},
    {"update_index", 1}, {"update_non_index", 1}, {"insert", 1},     {"delete", 1},
};

static bool unknown_mix(const char *mix, struct err *err)
{
    const char *names[COUNT_OF(mixes)];
    for (size_t i = 0; i < COUNT_OF(mixes); i++) {
        names[i] = mixes[i].name;
    }
    const char *near = text_nearest(mix, names, COUNT_OF(mixes));
    err_set(err, ERR_CODE_sweep_file, "mix \"%.60s\" is unknown", mix);
    return near != NULL ? err_hint(err, "did you mean \"%s\"?", near) : false;
}

static bool check_oltp(const struct workload_spec *workload, struct err *err)
{
    size_t mix = 0;
    while (mix < COUNT_OF(mixes) && strcmp(mixes[mix].name, workload->mix) != 0) {
        mix++;
    }
    if (mix == COUNT_OF(mixes)) {
        return unknown_mix(workload->mix, err);
    }
    if (workload->prepared && workload->tables > SLOT_LIMIT / mixes[mix].statement_count) {
        return spec_err(err, "the tables have more statements than can be prepared (256)",
                        "use fewer tables, or prepared = false");
    }
    return true;
}

static bool check_tpcc(const struct workload_spec *workload, struct err *err)
{
    if (!workload->prepared) {
        return spec_err(err, "the statements of tpcc are always prepared", "leave prepared out");
    }
    if (workload->rate_per_s > 0 && (workload->keying > 0 || workload->think > 0)) {
        return spec_err(err, "an open loop's clients have no keying and think times",
                        "leave out rate, or keying and think");
    }
    if (workload->terminals > 0 &&
        workload->clients != workload->terminals * workload->warehouses) {
        err_set(err, ERR_CODE_sweep_file,
                "%lld clients are not %lld terminals in each of %lld warehouses",
                (long long)workload->clients, (long long)workload->terminals,
                (long long)workload->warehouses);
        return err_hint(err, "clients = %lld;",
                        (long long)(workload->terminals * workload->warehouses));
    }
    return true;
}

static bool check_script(const struct workload_spec *workload, struct err *err)
{
    if (workload->script_count == 0) {
        return spec_err(err, "a script workload needs its scripts",
                        "scripts = [ \"transfer.sql@9\", \"report.sql@1\" ];");
    }
    if (workload->rate_per_s > 0 && workload->think_time_ms > 0) {
        return spec_err(err, "an open loop's clients have no think time",
                        "leave out rate or think_time");
    }
    if (workload->setup == NULL && strcmp(workload->reset, "reload") == 0) {
        return spec_err(err, "there is nothing to load again: the scripts have no setup",
                        "give one, setup = \"tables.sql\";, or reset = \"command\"");
    }
    return true;
}

static bool check_insert_rows(const struct workload_spec *workload, struct err *err)
{
    if (workload->insert_rows > 0 && load_warm_up_limit_ms(workload) > 0) {
        return spec_err(err, "a run that ends by its rows has no warm_up", "warm_up = \"0s\";");
    }
    if (workload->delete_oldest &&
        workload->initial_rows < workload->rows_per_insert * workload->clients) {
        err_set(err, ERR_CODE_sweep_file, "there are too few initial_rows for delete_oldest");
        return err_hint(err, "with %lld clients of %lld rows_per_insert, initial_rows = %lld;",
                        (long long)workload->clients, (long long)workload->rows_per_insert,
                        (long long)(workload->rows_per_insert * workload->clients));
    }
    return true;
}

bool workload_examine(struct workload_spec *workload, enum dialect dialect, struct err *err)
{
    struct arena arena;
    const void *plan = NULL;
    const struct workload *kind = workload_find(workload->kind);
    if (kind == NULL || kind->writes == NULL) {
        return true;
    }
    arena_open(&arena, PLAN_BYTES);
    bool ok = kind->plan(workload, dialect, &arena, &plan, err);
    workload->scripts_write = ok && kind->writes(plan);
    arena_close(&arena);
    return ok;
}

static bool check_insert(const struct workload_spec *workload, struct err *err)
{
    if (!workload->prepared) {
        return spec_err(err, "the queries of insert are always prepared", "leave prepared out");
    }
    if (workload->query_clients >= workload->clients) {
        return spec_err(err, "query_clients are some of the clients, not all of them",
                        "raise clients: the others insert");
    }
    if (workload->query_clients > 0 && workload->rate_per_s > 0) {
        return spec_err(err, "a rate would be that of inserts and queries alike",
                        "leave out rate, or query_clients");
    }
    return check_insert_rows(workload, err);
}

bool workload_check_spec(const struct workload_spec *workload, struct err *err)
{
    bool has_command = workload->reset_command != NULL;
    if (workload->clients < 1 || workload->measure_ms < 1) {
        return spec_err(err, "clients and measure must be above zero", "clients = 8;");
    }
    if (workload->warm_up_max_ms > 0 && workload->warm_up_max_ms < workload->warm_up_ms) {
        return spec_err(err, "the longest warm-up is shorter than the shortest",
                        "warm_up = { min = \"1m\"; max = \"10m\"; };");
    }
    if (has_command != (strcmp(workload->reset, "command") == 0)) {
        return spec_err(err, "reset = \"command\" and reset_command belong together",
                        "give both or neither");
    }
    return strcmp(workload->kind, "command") == 0  ? check_command(workload, err)
           : strcmp(workload->kind, "tpcc") == 0   ? check_tpcc(workload, err)
           : strcmp(workload->kind, "script") == 0 ? check_script(workload, err)
           : strcmp(workload->kind, "insert") == 0 ? check_insert(workload, err)
           : workload_find(workload->kind) == NULL ? true
                                                   : check_oltp(workload, err);
}
