/*
 * The noise of the baseline's runs, and what follows for the sweep that is planned.
 */
#include "store/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/layout.h"
#include "store/rank_work.h"
#include "sweeper/base/json.h"
#include "sweeper/stats/compare.h"
#include "sweeper/stats/drift.h"

enum { MOST_WANTED = 500 }; /* runs of one point that anybody would make */

static const double US_PER_HOUR = 3.6e9;
/* within_pct is half an interval by ten batches or more independent samples: t(0.975; 9). */
static const double WITHIN_QUANTILE = 2.262;

/* ---- reading ---- */

struct series { /* one condition's runs, in the order of time */
    const struct rank_trial **trials;
    double *hours;
    double *logs;
    double *scratch;
    size_t count;
};

static int compare_starts(const void *a, const void *b)
{
    const struct rank_trial *left = *(const struct rank_trial *const *)a;
    const struct rank_trial *right = *(const struct rank_trial *const *)b;
    if (left->started_us != right->started_us) {
        return left->started_us < right->started_us ? -1 : 1;
    }
    return (left->trial_id > right->trial_id) - (left->trial_id < right->trial_id);
}

struct reading {
    struct store *store;
    struct arena *arena;
    struct rank_data data;
    size_t metric;
    size_t within;    /* SIZE_MAX: no trial has it */
    int64_t call_id;  /* 0: all */
    struct series at; /* the condition at hand */
    double squares;   /* over conditions */
    double within_sum;
    double measured_sum;
    double overhead_sum;
    size_t within_count;
    size_t timed_count;
};

/* Whether it stands for the baseline, in the call that is asked for. */
static bool is_ours(const struct reading *reading, const struct rank_trial *trial)
{
    return trial->is_baseline && (reading->call_id == 0 || trial->call_id == reading->call_id);
}

static void add_costs(struct reading *reading, const struct rank_trial *trial)
{
    double within = reading->within != SIZE_MAX ? trial->metrics[reading->within] : (double)NAN;
    if (within >= 0) {
        reading->within_sum += within / 100 / WITHIN_QUANTILE;
        reading->within_count++;
    }
    if (trial->measured_s > 0 && trial->elapsed_s >= trial->measured_s) {
        reading->measured_sum += trial->measured_s;
        reading->overhead_sum += trial->elapsed_s - trial->measured_s;
        reading->timed_count++;
    }
}

static void collect(struct reading *reading, size_t first, size_t end, struct noise_condition *out)
{
    struct series *series = &reading->at;
    series->count = 0;
    for (size_t i = first; i < end; i++) {
        const struct rank_trial *trial = &reading->data.trials[i];
        double value = reading->metric != SIZE_MAX ? trial->metrics[reading->metric] : (double)NAN;
        if (!is_ours(reading, trial)) {
            continue;
        }
        out->failed += !trial->is_done;
        if (trial->is_done && !trial->is_killed && value > 0 && !isinf(value)) {
            series->trials[series->count++] = trial;
            out->unsteady += rank_has_word(trial->flags, "not-steady");
            add_costs(reading, trial);
        }
    }
    qsort(series->trials, series->count, sizeof(const struct rank_trial *), compare_starts);
    for (size_t i = 0; i < series->count; i++) {
        series->hours[i] = (double)series->trials[i]->started_us / US_PER_HOUR;
        series->logs[i] = log(series->trials[i]->metrics[reading->metric]);
    }
}

static bool label_of(struct reading *reading, int64_t point, int64_t condition, const char **out,
                     struct err *err)
{
    struct rank_row row = {.rank = 0};
    const struct rank_arm arm = {.point_id = point, .condition_id = condition};
    if (!rank_data_pairs(reading->store, &reading->data, &arm, reading->arena, &row, err)) {
        return false;
    }
    const char *label = rank_condition_text(reading->arena, &row);
    *out = label != NULL ? layout_line(reading->arena, label, SIZE_MAX) : NULL;
    return *out != NULL || err_memory(err);
}

static bool read_condition(struct reading *reading, size_t first, size_t end, struct noise *noise,
                           struct err *err)
{
    struct noise_condition *out = &noise->conditions[noise->condition_count];
    struct compare_arm arm;
    struct drift drift;
    *out = (struct noise_condition){.sd = NAN};
    collect(reading, first, end, out);
    const struct series *series = &reading->at;
    if (series->count == 0 && out->failed == 0) {
        return true; /* no baseline here */
    }
    compare_arm_of(series->logs, series->count, &arm);
    drift_test(series->logs, series->hours, series->count, series->scratch, &drift);
    out->runs = series->count;
    out->mean = exp(arm.mean);
    out->is_testable = drift.is_testable;
    out->has_drift = drift.is_significant;
    out->drift_p = drift.is_testable ? drift.p : (double)NAN;
    out->slope_pct_per_h = 100 * expm1(drift.slope);
    out->change_pct =
        series->count > 1
            ? 100 * expm1(drift.slope * (series->hours[series->count - 1] - series->hours[0]))
            : (double)NAN;
    if (series->count > 1) {
        out->sd = sqrt(arm.squares / (double)(series->count - 1));
        reading->squares += arm.squares;
        noise->degrees += (double)(series->count - 1);
    }
    noise->runs += series->count;
    noise->condition_count++;
    const struct rank_trial *trial = &reading->data.trials[first];
    return label_of(reading, trial->point_id, trial->condition_id, &out->label, err);
}

static bool open_reading(struct reading *reading, bool latest_call, struct err *err)
{
    struct rank_data *data = &reading->data;
    if (!rank_data_load(reading->store, 0, reading->arena, data, err)) {
        return false;
    }
    for (size_t i = 0; latest_call && i < data->trial_count; i++) {
        int64_t call_id = data->trials[i].call_id;
        reading->call_id = call_id > reading->call_id ? call_id : reading->call_id;
    }
    size_t room = data->trial_count + 1;
    reading->metric = rank_data_metric(data, data->sweep.rank_by);
    reading->within = rank_data_metric(data, "within_pct");
    reading->at.trials = ARENA_ARRAY(reading->arena, const struct rank_trial *, room);
    reading->at.hours = ARENA_ARRAY(reading->arena, double, room);
    reading->at.logs = ARENA_ARRAY(reading->arena, double, room);
    reading->at.scratch = ARENA_ARRAY(reading->arena, double, room);
    return (reading->at.trials != NULL && reading->at.hours != NULL && reading->at.logs != NULL &&
            reading->at.scratch != NULL) ||
           err_memory(err);
}

static double mean_of(double sum, size_t count)
{
    return count > 0 ? sum / (double)count : (double)NAN;
}

bool noise_load(struct store *store, bool latest_call, struct arena *arena, struct noise *out,
                struct err *err)
{
    struct reading reading = {.store = store, .arena = arena};
    *out = (struct noise){.sd = NAN, .sd_low = NAN, .sd_high = NAN};
    if (!open_reading(&reading, latest_call, err)) {
        return false;
    }
    const struct rank_data *data = &reading.data;
    out->by = data->sweep.rank_by;
    out->confidence = data->sweep.rank_confidence;
    out->conditions = ARENA_ARRAY(arena, struct noise_condition, data->trial_count + 1);
    if (out->conditions == NULL) {
        return err_memory(err);
    }
    for (size_t first = 0; first < data->trial_count;) {
        size_t end = first;
        while (end < data->trial_count &&
               data->trials[end].condition_id == data->trials[first].condition_id) {
            end++;
        }
        if (!read_condition(&reading, first, end, out, err)) {
            return false;
        }
        first = end;
    }
    out->within_sd = mean_of(reading.within_sum, reading.within_count);
    out->measured_s = mean_of(reading.measured_sum, reading.timed_count);
    out->overhead_s = mean_of(reading.overhead_sum, reading.timed_count);
    if (out->degrees > 0) {
        out->sd = sqrt(reading.squares / out->degrees);
        compare_deviation_interval(out->sd, out->degrees, out->confidence, &out->sd_low,
                                   &out->sd_high);
    }
    return true;
}

/* ---- what follows ---- */

struct noise_power noise_power_of(const struct noise *noise, size_t points, size_t repeats)
{
    struct noise_power power = {
        .points = points, .repeats = repeats, .pair_pct = NAN, .any_pct = NAN};
    if (isnan(noise->sd) || points == 0 || repeats == 0) {
        return power;
    }
    /* The sweep's own repeats will add to what is known of the noise. */
    double degrees = noise->degrees + (double)(points * (repeats - 1));
    double pair = compare_detectable(noise->sd, degrees, repeats, repeats, noise->confidence, 1);
    double any =
        compare_detectable(noise->sd, degrees, repeats, repeats, noise->confidence, points);
    power.pair_pct = 100 * expm1(pair);
    power.any_pct = 100 * expm1(any);
    return power;
}

struct noise_advice noise_advise(const struct noise *noise)
{
    struct noise_advice advice = {.between_sd = NAN, .length_s = NAN};
    if (isnan(noise->sd) || isnan(noise->within_sd) || isnan(noise->measured_s)) {
        return advice;
    }
    double within = noise->within_sd * noise->within_sd;
    double between = fmax(0, noise->sd * noise->sd - within);
    advice.is_known = true;
    advice.between_sd = sqrt(between);
    advice.length_s = compare_run_length(noise->overhead_s, within * noise->measured_s, between);
    return advice;
}

/* ---- words ---- */

struct number {
    char text[LAYOUT_NUMBER_SIZE];
};

static struct number figure(double value)
{
    struct number number = {.text = ""};
    layout_figure(value, number.text);
    return number;
}

static struct number signed_figure(double value)
{
    struct number number = {.text = ""};
    layout_signed(value, 2, number.text);
    return number;
}

static void put_condition(const struct noise *noise, const struct noise_condition *condition,
                          struct text *out)
{
    text_addf(out, "baseline:   %s%s%zu %s, %s %s", condition->label,
              condition->label[0] != '\0' ? ": " : "", condition->runs,
              condition->runs == 1 ? "run" : "runs", figure(condition->mean).text, noise->by);
    if (!isnan(condition->sd)) {
        text_addf(out, ", which differ by %s %% (standard deviation)",
                  figure(100 * condition->sd).text);
    }
    text_add_char(out, '\n');
    if (condition->is_testable) {
        text_addf(out, "drift:      %s, p %s; %s %% from first to last\n",
                  condition->has_drift ? "the machine moved" : "none found",
                  figure(condition->drift_p).text, signed_figure(condition->change_pct).text);
    } else {
        text_addf(out, "drift:      not testable below 8 runs; %s %% from first to last\n",
                  signed_figure(condition->change_pct).text);
    }
    text_addf(out, "steadiness: %zu of %zu runs flagged not-steady\n", condition->unsteady,
              condition->runs);
    if (condition->failed > 0) {
        text_addf(out, "failed:     %zu runs of the baseline\n", condition->failed);
    }
}

/* A fifth more or less is all the same: the noise is not known as well as that. */
static void put_length(const struct noise *noise, const struct noise_advice *advice,
                       struct text *out)
{
    const char *cycles = "whole checkpoint cycles in any case";
    if (isinf(advice->length_s)) {
        text_add(out, "            longer windows pay: runs differ by what is within them\n");
    } else if (advice->length_s > 1.2 * noise->measured_s) {
        text_addf(out, "            longer windows pay, up to %s s; beyond that repeats do (%s)\n",
                  figure(advice->length_s).text, cycles);
    } else if (advice->length_s < noise->measured_s / 1.2) {
        text_addf(out,
                  "            windows of %s s would do: repeats pay better than length (%s)\n",
                  figure(advice->length_s).text, cycles);
    } else {
        text_add(out, "            the window is about as long as pays; beyond it repeats do\n");
    }
}

static void put_advice(const struct noise *noise, const struct noise_power *power, struct text *out)
{
    struct noise_advice advice = noise_advise(noise);
    if (!advice.is_known) {
        text_add(out, "run length: no advice: how far a run knows its own mean was not measured\n");
        return;
    }
    text_addf(
        out,
        "run length: a run of %s s costs %s s beside its window; of the noise %s %% is within "
        "runs, %s %% between them\n",
        figure(noise->measured_s).text, figure(noise->overhead_s).text,
        figure(100 * noise->within_sd).text, figure(100 * advice.between_sd).text);
    put_length(noise, &advice, out);
    double wanted = ceil((double)power->repeats * power->pair_pct * power->pair_pct);
    if (power->pair_pct > 1 && wanted <= MOST_WANTED) {
        text_addf(out, "            for differences of 1 %%: about %.0f runs of a point\n", wanted);
    } else if (power->pair_pct > 1) {
        text_add(out, "            differences of 1 % are out of reach of repeats\n");
    }
}

void noise_put_detectable(const struct noise *noise, const struct noise_power *power,
                          struct text *out)
{
    if (isnan(power->pair_pct)) {
        text_add(out, "detectable: not known: `dbsweep aa FILE` measures the baseline's noise\n");
        return;
    }
    text_addf(out,
              "detectable: %s %% between two points of %zu %s each, %s %% as a gain over the "
              "baseline among %zu (noise %s %% by %zu runs of the baseline, 80 %% power)\n",
              figure(power->pair_pct).text, power->repeats, power->repeats == 1 ? "run" : "runs",
              figure(power->any_pct).text, power->points, figure(100 * noise->sd).text,
              noise->runs);
}

void noise_put_text(const struct noise *noise, const struct noise_power *power, struct text *out)
{
    for (size_t i = 0; i < noise->condition_count; i++) {
        put_condition(noise, &noise->conditions[i], out);
    }
    if (!isnan(noise->sd)) {
        text_addf(out, "noise:      %s %% (%s to %s)\n", figure(100 * noise->sd).text,
                  figure(100 * noise->sd_low).text, figure(100 * noise->sd_high).text);
    }
    noise_put_detectable(noise, power, out);
    put_advice(noise, power, out);
}

/* ---- JSON ---- */

static void put_real(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_real(json, value);
}

static void put_json_condition(const struct noise_condition *condition, struct json *json)
{
    json_object_begin(json);
    json_key(json, "condition");
    json_string(json, condition->label);
    json_key(json, "runs");
    json_int(json, (int64_t)condition->runs);
    json_key(json, "failed");
    json_int(json, (int64_t)condition->failed);
    json_key(json, "not_steady");
    json_int(json, (int64_t)condition->unsteady);
    put_real(json, "mean", condition->mean);
    put_real(json, "sigma_pct", 100 * condition->sd);
    json_key(json, "drift");
    json_object_begin(json);
    json_key(json, "testable");
    json_bool(json, condition->is_testable);
    json_key(json, "significant");
    json_bool(json, condition->has_drift);
    put_real(json, "p", condition->drift_p);
    put_real(json, "slope_pct_per_h", condition->slope_pct_per_h);
    put_real(json, "change_pct", condition->change_pct);
    json_object_end(json);
    json_object_end(json);
}

void noise_put_json(const struct noise *noise, const struct noise_power *power, double limit_pct,
                    struct text *out)
{
    struct json json;
    struct noise_advice advice = noise_advise(noise);
    json_open(&json, out);
    json_object_begin(&json);
    json_key(&json, "metric");
    json_string(&json, noise->by);
    json_key(&json, "runs");
    json_int(&json, (int64_t)noise->runs);
    put_real(&json, "sigma_pct", 100 * noise->sd);
    put_real(&json, "sigma_low_pct", 100 * noise->sd_low);
    put_real(&json, "sigma_high_pct", 100 * noise->sd_high);
    json_key(&json, "degrees");
    json_int(&json, (int64_t)noise->degrees);
    put_real(&json, "limit_pct", limit_pct);
    json_key(&json, "refused");
    json_bool(&json, 100 * noise->sd > limit_pct);
    json_key(&json, "conditions");
    json_array_begin(&json);
    for (size_t i = 0; i < noise->condition_count; i++) {
        put_json_condition(&noise->conditions[i], &json);
    }
    json_array_end(&json);
    json_key(&json, "planned");
    json_object_begin(&json);
    json_key(&json, "points");
    json_int(&json, (int64_t)power->points);
    json_key(&json, "repeats");
    json_int(&json, (int64_t)power->repeats);
    put_real(&json, "detectable_pct", power->pair_pct);
    put_real(&json, "detectable_gain_pct", power->any_pct);
    json_object_end(&json);
    json_key(&json, "advice");
    json_object_begin(&json);
    put_real(&json, "measured_s", noise->measured_s);
    put_real(&json, "overhead_s", noise->overhead_s);
    put_real(&json, "within_pct", 100 * noise->within_sd);
    put_real(&json, "between_pct", 100 * advice.between_sd);
    put_real(&json, "measure_s", advice.length_s);
    json_object_end(&json);
    json_object_end(&json);
    text_add_char(out, '\n');
}
