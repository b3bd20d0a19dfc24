/*
 * Whether a program's run is worth anything. One that failed, was cut short, drove fewer clients
 * than asked or printed something else than expected often looks faster than one that worked, so
 * everything it says must fit what was asked before a number of it is taken.
 */
#include <math.h>
#include <string.h>

#include "sweeper/load/command/command.h"

#define TOLERANCE_S 1.0 /* and at least this share of the window: */
#define TOLERANCE_SHARE 0.05
#define COUNT_LIMIT 1e15 /* more than anybody counts, and whole in a double */

struct belief {
    const struct workload_spec *spec;
    const struct command_preset *preset;
    const struct command_end *end;
    struct load_result *result;
    double throughput_per_s; /* as said; 0: not said */
    double done;             /* transactions; 0: not said */
};

/* ---- numbers ---- */

static bool find(const struct belief *belief, const char *regex, const char *what, bool is_required,
                 double *out, struct err *err)
{
    char text[COMMAND_TEXT_BYTES];
    *out = 0;
    switch (command_find(belief->end->output, belief->end->output_size, regex, out, text)) {
    case COMMAND_FOUND:
        return isfinite(*out) || err_set(err, ERR_CODE_workload, "%s is %s", what, text);
    case COMMAND_NO_NUMBER:
        return err_set(err, ERR_CODE_workload, "%s is \"%s\", which is no number", what, text);
    case COMMAND_ABSENT:
        break;
    }
    if (!is_required) {
        return true;
    }
    err_set(err, ERR_CODE_workload, "the command's output does not say its %s", what);
    return err_hint(err, "no line matches %.200s", regex);
}

/* A later metric of the same name takes the place of the earlier. */
static void add_metric(struct load_result *result, const char *name, double value,
                       const char *better)
{
    size_t at = 0;
    while (at < result->metric_count && strcmp(result->metrics[at].name, name) != 0) {
        at++;
    }
    result->metrics[at] = (struct load_metric){.name = name, .value = value, .better = better};
    result->metric_count += at == result->metric_count;
}

/* A latency that the program rounds to 0.00 is left out rather than believed. */
static bool take_preset_rows(struct belief *belief, struct err *err)
{
    for (size_t i = 0; i < belief->preset->row_count; i++) {
        const struct command_row *row = &belief->preset->rows[i];
        double value = 0;
        if (!find(belief, row->regex, row->name, row->is_required, &value, err)) {
            return false;
        }
        bool is_rate = strcmp(row->name, "throughput_per_s") == 0;
        bool is_work = row->is_required && strcmp(row->better, "higher") == 0;
        if (value < 0 || (is_work && value <= 0)) {
            return err_set(err, ERR_CODE_workload, "%s is %g, which no run can have", row->name,
                           value);
        }
        if (is_rate) {
            belief->throughput_per_s = value;
        }
        if (value > 0) {
            add_metric(belief->result, row->name, value * row->factor, row->better);
        }
    }
    return true;
}

/* Less than nothing is never measured; nothing at all only where less is better: no stalls, no
 * deviation. Of work it means that none was done. */
static bool is_possible(const struct load_metric_spec *metric, double value)
{
    return value > 0 || (value >= 0 && strcmp(metric->better, "lower") == 0 &&
                         strcmp(metric->name, "throughput_per_s") != 0);
}

static bool take_user_rows(struct belief *belief, struct err *err)
{
    for (size_t i = 0; i < belief->spec->metric_count; i++) {
        const struct load_metric_spec *metric = &belief->spec->metrics[i];
        double value = 0;
        if (!find(belief, metric->regex, metric->name, true, &value, err)) {
            return false;
        }
        if (!is_possible(metric, value)) {
            return err_set(err, ERR_CODE_workload, "%s is %g, which is not above zero",
                           metric->name, value);
        }
        add_metric(belief->result, metric->name, value, metric->better);
    }
    return true;
}

/* ---- whether it did what it was asked ---- */

static bool ended_well(const struct belief *belief, struct err *err)
{
    const struct command_end *end = belief->end;
    size_t tail = end->output_size < 300 ? end->output_size : 300;
    const char *said = end->output + end->output_size - tail;
    char words[301];
    host_last_words(said, tail, words, sizeof words);
    const char *colon = words[0] != '\0' ? ": " : "";
    if (end->timed_out) {
        err_set(err, ERR_CODE_timeout, "the command did not end in time and was ended%s%s", colon,
                words);
        return err_hint(err, "workload.measure and workload.drain bound how long it may take");
    }
    if (end->signal_number != 0) {
        err_set(err, ERR_CODE_command_failed, "the command was ended by signal %d%s%s",
                end->signal_number, colon, words);
        return err_native(err, end->signal_number, "signal");
    }
    if (end->exit_status != 0) {
        err_set(err, ERR_CODE_command_failed, "the command exited with status %d%s%s",
                end->exit_status, colon, words);
        return err_native(err, end->exit_status, "exit");
    }
    if (belief->preset->aborted != NULL &&
        command_has_line(end->output, end->output_size, belief->preset->aborted)) {
        return err_set(err, ERR_CODE_workload, "%s says that the run was aborted: %s",
                       belief->preset->name, words);
    }
    return true;
}

static bool said_what_is_expected(const struct belief *belief, struct err *err)
{
    const char *const *line = belief->spec->expect;
    for (; line != NULL && *line != NULL; line++) {
        if (!command_has_line(belief->end->output, belief->end->output_size, *line)) {
            return err_set(err, ERR_CODE_workload, "no line of the output matches \"%.200s\"",
                           *line);
        }
    }
    return true;
}

static bool has_all_clients(const struct belief *belief, struct err *err)
{
    double clients = 0;
    if (belief->preset->clients == NULL) {
        return true;
    }
    if (!find(belief, belief->preset->clients, "number of clients", true, &clients, err)) {
        return false;
    }
    if (clients < (double)belief->spec->clients || clients > (double)belief->spec->clients) {
        err_set(err, ERR_CODE_workload, "the command drove %g clients, %lld were asked", clients,
                (long long)belief->spec->clients);
        return err_hint(err, "{clients} in the command hands their number on");
    }
    return true;
}

static bool ends_by_count(const struct belief *belief, const char *const *argv)
{
    const struct command_preset *preset = belief->preset;
    for (; preset->counted_word != NULL && *argv != NULL; argv++) {
        const char *value = *argv + strlen(preset->counted_word);
        if (text_starts_with(*argv, preset->counted_word) && strcmp(value, "0") != 0) {
            return true;
        }
    }
    return preset->counted != NULL &&
           command_has_line(belief->end->output, belief->end->output_size, preset->counted);
}

/* How long the load ran: by the program's own words, where it has any, without its set-up. */
static bool take_duration(struct belief *belief, const char *const *argv, struct err *err)
{
    const struct command_preset *preset = belief->preset;
    double asked_s = (double)belief->spec->measure_ms / 1000;
    double duration_s = (double)belief->end->elapsed_ns / 1e9;
    if (preset->done != NULL &&
        !find(belief, preset->done, "number of transactions", true, &belief->done, err)) {
        return false;
    }
    if (preset->done != NULL && belief->done <= 0) {
        return err_set(err, ERR_CODE_workload, "no transaction completed");
    }
    if (preset->duration != NULL) {
        if (!find(belief, preset->duration, "duration", true, &duration_s, err)) {
            return false;
        }
        duration_s *= preset->duration_factor;
    } else if (belief->throughput_per_s > 0) {
        duration_s = belief->done / belief->throughput_per_s;
    }
    double tolerance_s = fmax(TOLERANCE_S, TOLERANCE_SHARE * asked_s);
    double lived_s = (double)belief->end->elapsed_ns / 1e9;
    if (duration_s <= 0 || duration_s > lived_s + TOLERANCE_S) {
        return err_set(err, ERR_CODE_workload,
                       "the command says that it drove its load for %g s; it lived for %g s",
                       duration_s, lived_s);
    }
    bool is_timed = preset->done != NULL || preset->duration != NULL;
    if (is_timed && fabs(duration_s - asked_s) > tolerance_s && !ends_by_count(belief, argv)) {
        err_set(err, ERR_CODE_workload, "the command drove its load for %.3f s, %g s were asked",
                duration_s, asked_s);
        return err_hint(err, "{measure_s} or {measure_min} in the command hands the time on");
    }
    belief->result->measured_ns = (int64_t)(duration_s * 1e9);
    if (preset->done != NULL && belief->throughput_per_s <= 0) {
        add_metric(belief->result, "throughput_per_s", belief->done / duration_s, "higher");
    }
    return true;
}

static bool within_budget(struct belief *belief, struct err *err)
{
    double failed = 0;
    double budget_pct = belief->spec->error_budget_pct;
    const struct command_preset *preset = belief->preset;
    if (preset->failed == NULL && preset->failed_list == NULL) {
        return true;
    }
    if (preset->failed_list != NULL &&
        !command_sum(belief->end->output, belief->end->output_size, preset->failed_list, &failed)) {
        return err_set(err, ERR_CODE_workload, "the command's output does not say what failed");
    }
    if (preset->failed != NULL &&
        !find(belief, preset->failed, "failed transactions", false, &failed, err)) {
        return false; /* absent before pgbench 15 */
    }
    if (failed > budget_pct / 100 * (failed + belief->done)) {
        err_set(err, ERR_CODE_workload, "%g of %g transactions failed, over the budget of %g %%",
                failed, failed + belief->done, budget_pct);
        return err_hint(err, "see workload.error_budget");
    }
    add_metric(belief->result, "error_pct", 100 * failed / (failed + belief->done), "lower");
    return true;
}

/* A connection lost is a trial lost: what was measured is partly a server that was not there. What
 * was tried again is data only. */
static bool take_errors(const struct belief *belief, struct arena *arena, struct err *err)
{
    const struct command_preset *preset = belief->preset;
    double lost = 0;
    double ignored = 0;
    if ((preset->lost != NULL &&
         !find(belief, preset->lost, "number of connections lost", true, &lost, err)) ||
        (preset->ignored != NULL &&
         !find(belief, preset->ignored, "number of errors", true, &ignored, err))) {
        return false;
    }
    if (lost > 0) {
        return err_set(err, ERR_CODE_workload, "the command lost its connection %g times", lost);
    }
    if (ignored > 0) {
        struct load_error_row *row = ARENA_NEW(arena, struct load_error_row);
        if (row == NULL) {
            return err_memory(err);
        }
        *row = (struct load_error_row){.transaction = preset->name,
                                       .code = "ignored",
                                       .text = "errors after which it tried again",
                                       .count = (uint64_t)fmin(ignored, COUNT_LIMIT)};
        belief->result->errors = row;
        belief->result->error_row_count = 1;
    }
    return true;
}

/* ---- all of it ---- */

static bool open_belief(struct belief *belief, struct arena *arena, struct err *err)
{
    enum { OWN_METRICS = 3 }; /* throughput_per_s, error_pct, elapsed_s */
    const char *name = belief->spec->preset != NULL ? belief->spec->preset : "none";
    belief->preset = command_preset_find(name);
    if (belief->preset == NULL) {
        return err_set(err, ERR_CODE_unsupported, "there is no preset \"%s\"", name);
    }
    belief->result->metric_count = 0;
    belief->result->metrics =
        ARENA_ARRAY(arena, struct load_metric,
                    belief->preset->row_count + belief->spec->metric_count + OWN_METRICS);
    return belief->result->metrics != NULL || err_memory(err);
}

bool command_believe(const struct workload_spec *spec, const char *const *argv,
                     const struct command_end *end, struct arena *arena, struct load_result *out,
                     struct err *err)
{
    struct belief belief = {.spec = spec, .end = end, .result = out};
    if (!open_belief(&belief, arena, err) || !ended_well(&belief, err) ||
        !said_what_is_expected(&belief, err) || !has_all_clients(&belief, err) ||
        !take_preset_rows(&belief, err) || !take_duration(&belief, argv, err) ||
        !within_budget(&belief, err) || !take_errors(&belief, arena, err)) {
        return false;
    }
    add_metric(out, "elapsed_s", (double)end->elapsed_ns / 1e9, "lower");
    out->client_count = (uint32_t)spec->clients;
    return take_user_rows(&belief, err);
}
