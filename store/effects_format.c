/*
 * Effects as text for people and as JSON.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/effects_work.h"
#include "store/layout.h"
#include "sweeper/base/json.h"

enum { SHOWN_PAIRS = 10, SHOWN_LEVELS = 16, NAME_WIDTH = 28, SHARE_WIDTH = 22 };

static const double LEAST_SHOWN_SHARE = 0.005;

struct number {
    char text[LAYOUT_NUMBER_SIZE];
};

static struct number fixed(double value, int decimals)
{
    struct number number = {.text = ""};
    layout_fixed(value, decimals, number.text);
    return number;
}

static struct number signed_pct(double logarithm)
{
    struct number number = {.text = ""};
    layout_signed(100 * expm1(logarithm), 1, number.text);
    return number;
}

/* Axes or pairs, the largest share first. */
struct entry {
    const struct effect *effect;
    size_t j;
    size_t k; /* the axis itself where it is no pair */
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    if (left->effect->share < right->effect->share || left->effect->share > right->effect->share) {
        return left->effect->share > right->effect->share ? -1 : 1;
    }
    return left->j != right->j ? (left->j > right->j) - (left->j < right->j)
                               : (left->k > right->k) - (left->k < right->k);
}

static struct entry *sorted_axes(const struct effects_result *result, size_t axes,
                                 struct arena *arena)
{
    struct entry *entries = ARENA_ARRAY(arena, struct entry, axes + 1);
    for (size_t j = 0; entries != NULL && j < axes; j++) {
        entries[j] = (struct entry){.effect = &result->effects.axes[j], .j = j, .k = j};
    }
    if (entries != NULL) {
        qsort(entries, axes, sizeof *entries, compare_entries);
    }
    return entries;
}

static struct entry *sorted_pairs(const struct effects_result *result, size_t axes,
                                  struct arena *arena)
{
    size_t count = axes * (axes - 1) / 2;
    struct entry *entries = ARENA_ARRAY(arena, struct entry, count + 1);
    for (size_t j = 0; entries != NULL && j < axes; j++) {
        for (size_t k = j + 1; k < axes; k++) {
            size_t at = effects_pair(axes, j, k);
            entries[at] = (struct entry){.effect = &result->effects.pairs[at], .j = j, .k = k};
        }
    }
    if (entries != NULL) {
        qsort(entries, count, sizeof *entries, compare_entries);
    }
    return entries;
}

/* ---- text ---- */

static void put_share(const struct effect *effect, struct text *out)
{
    const char *text =
        isnan(effect->low)
            ? arena_printf(out->arena, "%s %%", fixed(100 * effect->share, 1).text)
            : arena_printf(out->arena, "%s %% (%s to %s)", fixed(100 * effect->share, 1).text,
                           fixed(100 * effect->low, 1).text, fixed(100 * effect->high, 1).text);
    layout_right(out, text != NULL ? text : "", SHARE_WIDTH);
}

static void put_name(struct text *out, const char *name)
{
    const char *line = layout_line(out->arena, name, SIZE_MAX);
    layout_left(out, line != NULL ? line : "", NAME_WIDTH);
}

static void put_p(const struct effect *effect, struct text *out)
{
    if (!isnan(effect->p)) {
        text_addf(out, effect->p < 0.001 ? "  p < 0.001" : "  p %s", fixed(effect->p, 3).text);
    }
}

static void put_axis(const struct effects_table *table, const struct effects_result *result,
                     const struct entry *entry, struct text *out)
{
    const struct effects_axis *axis = &table->data->axes[entry->j];
    put_name(out, axis->name);
    put_share(entry->effect, out);
    for (size_t v = 0; v < axis->level_count && v < SHOWN_LEVELS; v++) {
        const struct effect_level *level = &result->effects.levels[entry->j][v];
        const char *display = layout_line(out->arena, axis->levels[v].display, SIZE_MAX);
        text_addf(out, "  %s %s%%", display != NULL ? display : "", signed_pct(level->value).text);
    }
    text_add(out, axis->level_count > SHOWN_LEVELS ? "  …" : "");
    put_p(entry->effect, out);
    text_add_char(out, '\n');
}

static void put_pairs(const struct effects_table *table, const struct effects_result *result,
                      struct text *out)
{
    size_t axes = table->data->axis_count;
    const struct entry *pairs = sorted_pairs(result, axes, out->arena);
    size_t shown = 0;
    for (size_t i = 0; pairs != NULL && i < axes * (axes - 1) / 2 && shown < SHOWN_PAIRS; i++) {
        if (pairs[i].effect->share < LEAST_SHOWN_SHARE) {
            break;
        }
        const char *name = arena_printf(out->arena, "%s x %s", table->data->axes[pairs[i].j].name,
                                        table->data->axes[pairs[i].k].name);
        put_name(out, name != NULL ? name : "");
        put_share(pairs[i].effect, out);
        put_p(pairs[i].effect, out);
        text_add_char(out, '\n');
        shown++;
    }
    if (shown == 0 && axes > 1) {
        text_add(out, result->effects.has_pairs ? "pairs: none has half a percent\n"
                                                : "pairs: too many levels to fit them\n");
    }
}

static void put_doubts(const struct effects_table *table, const struct effects_result *result,
                       struct text *out)
{
    const struct effects *effects = &result->effects;
    if (effects->is_exact) {
        text_add(out, "every combination was measured: the shares are those of the values");
        text_add(out, isnan(table->noise_pct) ? "; noise is not known, and in them\n"
                                              : ", less their noise\n");
    } else {
        text_addf(
            out,
            "%zu of %zu points were measured: the rest is by a regression, which leaves %s of "
            "the variance unexplained where it is asked for a point that it has not seen\n",
            effects->measured, result->cell_count, fixed(1 - effects->r2, 2).text);
    }
    if (effects->is_constrained) {
        text_add(out, "not every combination is valid: shares need not add up to 100 %\n");
    }
    if (effects->r2 < EFFECTS_LEAST_R2) {
        text_addf(out,
                  "importance unreliable: %s of what differs is explained (R2), less than %s\n",
                  fixed(effects->r2, 2).text, fixed(EFFECTS_LEAST_R2, 1).text);
    }
}

static void put_result(const struct effects_table *table, const struct effects_result *result,
                       struct text *out)
{
    size_t axes = table->data->axis_count;
    const char *condition = layout_line(out->arena, result->condition, SIZE_MAX);
    text_addf(out, "effects on %s%s%s\n", table->by, result->condition[0] != '\0' ? " under " : "",
              condition != NULL ? condition : "");
    if (result->missing != NULL) {
        text_addf(out, "none to tell: %s\n", result->missing);
        return;
    }
    const struct entry *entries = sorted_axes(result, axes, out->arena);
    layout_left(out, "axis", NAME_WIDTH);
    layout_right(out, "importance", SHARE_WIDTH);
    text_add(out, "  mean of each level against the mean of all\n");
    for (size_t j = 0; entries != NULL && j < axes; j++) {
        put_axis(table, result, &entries[j], out);
    }
    put_pairs(table, result, out);
    put_doubts(table, result, out);
}

void effects_put_text(const struct effects_table *table, struct text *out)
{
    if (table->count == 0) {
        text_add(out, "nothing was measured yet\n");
    }
    for (size_t i = 0; i < table->count; i++) {
        text_add(out, i > 0 ? "\n" : "");
        put_result(table, &table->results[i], out);
    }
}

/* ---- JSON ---- */

static void put_real(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_real(json, value);
}

static void put_effect(const struct effect *effect, struct json *json)
{
    put_real(json, "importance", effect->share);
    put_real(json, "low", effect->low);
    put_real(json, "high", effect->high);
    put_real(json, "p", effect->p);
}

static void put_json_axis(const struct effects_table *table, const struct effects_result *result,
                          size_t j, struct json *json)
{
    const struct effects_axis *axis = &table->data->axes[j];
    json_object_begin(json);
    json_key(json, "axis");
    json_string(json, axis->name);
    put_effect(&result->effects.axes[j], json);
    json_key(json, "levels");
    json_array_begin(json);
    for (size_t v = 0; v < axis->level_count; v++) {
        const struct effect_level *level = &result->effects.levels[j][v];
        json_object_begin(json);
        json_key(json, "value");
        json_string(json, axis->levels[v].display);
        put_real(json, "effect_pct", 100 * expm1(level->value));
        put_real(json, "low_pct", 100 * expm1(level->value - level->half));
        put_real(json, "high_pct", 100 * expm1(level->value + level->half));
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void put_json_pair(const struct effects_table *table, const struct entry *pair,
                          struct json *json)
{
    json_object_begin(json);
    json_key(json, "axes");
    json_array_begin(json);
    json_string(json, table->data->axes[pair->j].name);
    json_string(json, table->data->axes[pair->k].name);
    json_array_end(json);
    put_effect(pair->effect, json);
    json_object_end(json);
}

static void put_json_terms(const struct effects_table *table, const struct effects_result *result,
                           struct json *json)
{
    size_t axes = table->data->axis_count;
    const struct entry *mains = sorted_axes(result, axes, json->out->arena);
    const struct entry *pairs = sorted_pairs(result, axes, json->out->arena);
    json_key(json, "axes");
    json_array_begin(json);
    for (size_t j = 0; mains != NULL && j < axes; j++) {
        put_json_axis(table, result, mains[j].j, json);
    }
    json_array_end(json);
    json_key(json, "pairs");
    json_array_begin(json);
    for (size_t i = 0; pairs != NULL && i < axes * (axes - 1) / 2; i++) {
        put_json_pair(table, &pairs[i], json);
    }
    json_array_end(json);
    json->out->failed = json->out->failed || mains == NULL || pairs == NULL;
}

static void put_json_result(const struct effects_table *table, const struct effects_result *result,
                            struct json *json)
{
    const struct effects *effects = &result->effects;
    json_object_begin(json);
    json_key(json, "condition");
    json_object_begin(json);
    for (size_t i = 0; i < result->pair_count; i++) {
        const struct rank_pair *pair = &result->pairs[i];
        json_key(json, pair->name);
        if (pair->has_number) {
            json_real(json, pair->number);
        } else {
            json_string(json, pair->canonical);
        }
    }
    json_object_end(json);
    json_key(json, "metric");
    json_string(json, table->by);
    put_real(json, "noise_pct", table->noise_pct);
    json_key(json, "reason");
    json_string(json, result->missing);
    if (result->missing == NULL) {
        json_key(json, "points");
        json_int(json, (int64_t)result->cell_count);
        json_key(json, "measured");
        json_int(json, (int64_t)effects->measured);
        json_key(json, "exact");
        json_bool(json, effects->is_exact);
        json_key(json, "constrained");
        json_bool(json, effects->is_constrained);
        put_real(json, "r2", effects->r2);
        json_key(json, "reliable");
        if (isnan(effects->r2)) {
            json_null(json);
        } else {
            json_bool(json, effects->r2 >= EFFECTS_LEAST_R2);
        }
        put_json_terms(table, result, json);
    }
    json_object_end(json);
}

void effects_put_json(const struct effects_table *table, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < table->count; i++) {
        put_json_result(table, &table->results[i], &json);
    }
    json_array_end(&json);
    text_add_char(out, '\n');
}
