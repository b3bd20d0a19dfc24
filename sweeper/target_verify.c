/*
 * What counts as applied. Equal is fine; rounded or clamped by the server is "adjusted", recorded
 * and ranked under the effective value; overridden by another layer, ignored, or pending fails
 * the point, and the error names the layer.
 */
#include <math.h>
#include <string.h>

#include "sweeper/target.h"

enum { READ_TIMEOUT_MS = 30000 };

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"equal", "baseline", "adjusted", "not-applied"};
    return names[verdict];
}

bool target_settings(const struct target *target, const struct point *point, struct arena *arena,
                     struct setting **out, size_t *out_count, struct err *err)
{
    const struct grid *grid = target->grid;
    struct setting *settings = ARENA_ARRAY(arena, struct setting, grid->swept_count + 1);
    if (settings == NULL) {
        return err_memory(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < grid->swept_count; i++) {
        if (grid->swept[i].kind == SWEPT_KNOB && point->values[i].kind != VALUE_BASELINE) {
            settings[count++] =
                (struct setting){.knob = grid->swept[i].knob, .value = point->values[i]};
        }
    }
    *out = settings;
    *out_count = count;
    return true;
}

static bool is_elsewhere(enum source_kind source)
{
    return source == SOURCE_OTHER_FILE || source == SOURCE_SQL || source == SOURCE_COMMAND_LINE ||
           source == SOURCE_ENVIRONMENT;
}

/* The verdict on one knob. Only numbers can be rounded or clamped: another word than the one
 * asked is a refusal. A value from the built-in default was ignored. */
static enum verdict judge(const struct knob *knob, const struct value *asked,
                          const struct value *baseline, const struct reading *reading)
{
    if (!reading->known || reading->pending_restart) {
        return VERDICT_NOT_APPLIED;
    }
    if (asked->kind == VALUE_UNSET) {
        return is_elsewhere(reading->source) ? VERDICT_NOT_APPLIED : VERDICT_EQUAL;
    }
    if (asked->kind == VALUE_BASELINE) {
        return baseline->kind == VALUE_BASELINE || value_equal(knob, baseline, &reading->value)
                   ? VERDICT_BASELINE
                   : VERDICT_NOT_APPLIED;
    }
    if (value_equal(knob, asked, &reading->value)) {
        return VERDICT_EQUAL;
    }
    bool is_number = knob->type == KNOB_INTEGER || knob->type == KNOB_REAL;
    if (!is_number || is_elsewhere(reading->source) || reading->source == SOURCE_DEFAULT) {
        return VERDICT_NOT_APPLIED;
    }
    return VERDICT_ADJUSTED;
}

/* "shared_buffers is 128M, asked 1G (postgresql.auto.conf:3)" */
static void describe(struct text *text, const struct knob *knob, const struct value *asked,
                     const struct reading *reading, struct arena *arena)
{
    const char *wanted = value_display(knob, asked, arena);
    const char *has = value_display(knob, &reading->value, arena);
    text_addf(text, "%s%s ", text->size > 0 ? "; " : "", knob->name);
    if (!reading->known) {
        text_add(text, "is not known to the server");
        return;
    }
    text_addf(text, "is %s, asked %s", has != NULL ? has : "?", wanted != NULL ? wanted : "?");
    if (reading->pending_restart) {
        text_add(text, ", pending a restart");
    }
    const char *from = reading->detail != NULL && reading->detail[0] != '\0'
                           ? reading->detail
                           : source_kind_name(reading->source);
    text_addf(text, " (%s: %s)", is_elsewhere(reading->source) ? "overridden by" : "from", from);
}

static bool read_settings(struct target *target, const struct point *point, struct arena *arena,
                          struct reading *out, size_t *index, size_t *out_count, struct err *err)
{
    const struct grid *grid = target->grid;
    struct setting *all = ARENA_ARRAY(arena, struct setting, grid->swept_count + 1);
    if (all == NULL) {
        return err_memory(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < grid->swept_count; i++) {
        if (grid->swept[i].kind == SWEPT_KNOB) {
            index[count] = i;
            all[count++] = (struct setting){.knob = grid->swept[i].knob, .value = point->values[i]};
        }
    }
    *out_count = count;
    return target->sweep->backend->read_back(&target->server, all, count,
                                             clock_deadline_ms(READ_TIMEOUT_MS), arena, out, err);
}

bool target_verify(struct target *target, const struct point *point, struct arena *arena,
                   struct verified *out, struct err *err)
{
    const struct grid *grid = target->grid;
    struct reading *readings = ARENA_ARRAY(arena, struct reading, grid->swept_count + 1);
    size_t *index = ARENA_ARRAY(arena, size_t, grid->swept_count + 1);
    size_t count = 0;
    if (readings == NULL || index == NULL) {
        return err_memory(err);
    }
    if (!read_settings(target, point, arena, readings, index, &count, err)) {
        return err_while(err, "reading the swept knobs back");
    }
    struct text wrong;
    text_open(&wrong, arena);
    for (size_t i = 0; i < count; i++) {
        size_t at = index[i];
        const struct knob *knob = grid->swept[at].knob;
        const struct value *asked = &point->values[at];
        out[at].reading = readings[i];
        out[at].verdict = judge(knob, asked, &target->baseline_values[at], &readings[i]);
        if (out[at].verdict == VERDICT_NOT_APPLIED) {
            describe(&wrong, knob,
                     asked->kind == VALUE_BASELINE ? &target->baseline_values[at] : asked,
                     &readings[i], arena);
        }
    }
    if (wrong.size == 0) {
        return !wrong.failed || err_memory(err);
    }
    const char *text = text_done(&wrong);
    return text == NULL ? err_memory(err)
                        : err_set(err, ERR_CODE_not_applied, "not applied: %s", text);
}
