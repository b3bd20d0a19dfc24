/*
 * Effects under each condition: the values of the grid's cells out of the trials, the noise of all
 * of them, and the analysis.
 */
#include "store/effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/effects_work.h"

struct study {
    struct ranking ranking;
    struct effects_data data;
    struct compare_noise noise;
    /* Of the condition at hand, for each of data.cells. */
    double *values;
    double *runs;
    /* The design of those of them that are valid. */
    struct effects_design design;
    size_t *level_counts;
    size_t *levels;
    double *design_values;
    double *design_runs;
};

/* ---- noise ---- */

static size_t logs_of(const struct rank_data *data, const struct rank_arm *arm, double *out)
{
    size_t count = 0;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        if (!isnan(data->trials[i].log)) {
            out[count++] = data->trials[i].log;
        }
    }
    return count;
}

static bool pool_noise(struct study *study, struct err *err)
{
    const struct rank_data *data = &study->ranking.data;
    struct arena *arena = study->ranking.arena;
    double *logs = ARENA_ARRAY(arena, double, data->trial_count + 1);
    struct compare_arm *arms = ARENA_ARRAY(arena, struct compare_arm, data->arm_count + 1);
    if (logs == NULL || arms == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < data->arm_count; i++) {
        compare_arm_of(logs, logs_of(data, &data->arms[i], logs), &arms[i]);
    }
    compare_pool(arms, data->arm_count, NULL, &study->noise);
    if (study->noise.degrees < RANK_LEAST_DEGREES) {
        study->noise.variance = NAN;
    }
    return true;
}

/* ---- values ---- */

static struct effects_cell *find_cell(const struct effects_data *data, int64_t point_id)
{
    size_t low = 0;
    size_t high = data->cell_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (data->cells[middle].point_id < point_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_found = low < data->cell_count && data->cells[low].point_id == point_id;
    return is_found ? &data->cells[low] : NULL;
}

/* Points that came out the same share what was measured of any of them. */
static void take_arm(struct study *study, const struct rank_arm *arm)
{
    const struct rank_data *data = &study->ranking.data;
    double sum = 0;
    double count = 0;
    for (size_t i = arm->first; i < arm->first + arm->count; i++) {
        if (!isnan(data->trials[i].log)) {
            sum += data->trials[i].log;
            count++;
        }
    }
    for (size_t i = arm->first; i < arm->first + arm->count && count > 0; i++) {
        const struct effects_cell *cell = find_cell(&study->data, data->trials[i].point_id);
        if (cell != NULL) {
            study->values[cell - study->data.cells] = sum / count;
            study->runs[cell - study->data.cells] = count;
        }
    }
}

/* Of valid cells: those that no rule pruned, and whatever was measured all the same. */
static void fill_design(struct study *study, const char *condition)
{
    const struct effects_data *data = &study->data;
    size_t count = 0;
    for (size_t i = 0; i < data->cell_count; i++) {
        if (isnan(study->values[i]) && effects_is_pruned(data, &data->cells[i], condition)) {
            continue;
        }
        for (size_t j = 0; j < data->axis_count; j++) {
            study->levels[count * data->axis_count + j] = data->cells[i].levels[j];
        }
        study->design_values[count] = study->values[i];
        study->design_runs[count++] = study->runs[i];
    }
    for (size_t j = 0; j < data->axis_count; j++) {
        study->level_counts[j] = data->axes[j].level_count;
    }
    study->design =
        (struct effects_design){.axis_count = data->axis_count,
                                .level_counts = study->level_counts,
                                .cell_count = count,
                                .levels = study->levels,
                                .values = study->design_values,
                                .runs = study->design_runs,
                                .noise_variance = study->noise.variance,
                                .noise_degrees = study->noise.degrees,
                                .confidence = study->ranking.data.sweep.rank_confidence};
}

static bool allocate(struct study *study, struct err *err)
{
    struct arena *arena = study->ranking.arena;
    size_t cells = study->data.cell_count + 1;
    study->values = ARENA_ARRAY(arena, double, cells);
    study->runs = ARENA_ARRAY(arena, double, cells);
    study->design_values = ARENA_ARRAY(arena, double, cells);
    study->design_runs = ARENA_ARRAY(arena, double, cells);
    study->levels = ARENA_ARRAY(arena, size_t, cells * (study->data.axis_count + 1));
    study->level_counts = ARENA_ARRAY(arena, size_t, study->data.axis_count + 1);
    return (study->values != NULL && study->runs != NULL && study->design_values != NULL &&
            study->design_runs != NULL && study->levels != NULL && study->level_counts != NULL) ||
           err_memory(err);
}

/* ---- one condition ---- */

/* What is missing for an answer is part of the answer; everything else ends it. */
static bool analyse(struct study *study, struct effects_result *out, struct err *err)
{
    struct arena *arena = study->ranking.arena;
    if (study->data.axis_count == 0 || study->data.cell_count == 0) {
        out->missing = "no axis has two values";
        return true;
    }
    fill_design(study, out->condition);
    out->cell_count = study->design.cell_count;
    if (effects_of(&study->design, arena, &out->effects, err)) {
        return true;
    }
    if (err->code != ERR_CODE_not_found) {
        return false;
    }
    out->missing = arena_strdup(arena, err->text);
    err_clear(err);
    return out->missing != NULL || err_memory(err);
}

static bool study_condition(struct study *study, size_t first, size_t end,
                            struct effects_result *out, struct err *err)
{
    const struct rank_data *data = &study->ranking.data;
    struct rank_row row = {.rank = 0};
    *out = (struct effects_result){.condition = ""};
    if (!rank_data_pairs(study->ranking.store, data, &data->arms[first], study->ranking.arena, &row,
                         err)) {
        return false;
    }
    out->pairs = row.condition;
    out->pair_count = row.condition_count;
    out->condition = rank_condition_text(study->ranking.arena, &row);
    if (out->condition == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < study->data.cell_count; i++) {
        study->values[i] = NAN;
        study->runs[i] = 0;
    }
    for (size_t i = first; i < end; i++) {
        take_arm(study, &data->arms[i]);
    }
    return analyse(study, out, err);
}

static bool study_all(struct study *study, struct effects_table *out, struct err *err)
{
    const struct rank_data *data = &study->ranking.data;
    out->results = ARENA_ARRAY(study->ranking.arena, struct effects_result, data->arm_count + 1);
    if (out->results == NULL) {
        return err_memory(err);
    }
    for (size_t first = 0; first < data->arm_count;) {
        size_t end = first;
        while (end < data->arm_count &&
               data->arms[end].condition_id == data->arms[first].condition_id) {
            end++;
        }
        if (!study_condition(study, first, end, &out->results[out->count++], err)) {
            return false;
        }
        first = end;
    }
    return true;
}

bool effects_view(struct store *store, const char *by, const char *format, struct arena *arena,
                  struct text *out, struct err *err)
{
    const struct rank_options options = {.by = by};
    struct study study = {.ranking = {.store = store, .options = &options, .arena = arena}};
    struct effects_table table = {.results = NULL};
    bool is_json = strcmp(format, "json") == 0;
    if (!is_json && strcmp(format, "table") != 0) {
        return err_set(err, ERR_CODE_usage, "there is no format \"%s\"", format);
    }
    if (!rank_open(&study.ranking, err) || !pool_noise(&study, err) ||
        !effects_data_load(store, study.ranking.data.sweep.sweep_id, arena, &study.data, err) ||
        !allocate(&study, err) || !study_all(&study, &table, err)) {
        return false;
    }
    table.by = study.ranking.by;
    table.higher = study.ranking.higher;
    table.noise_pct = 100 * sqrt(study.noise.variance);
    table.confidence = study.ranking.data.sweep.rank_confidence;
    table.data = &study.data;
    (is_json ? effects_put_json : effects_put_text)(&table, out);
    return !out->failed || err_memory(err);
}
