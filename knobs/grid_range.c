/*
 * Ranges: the values of an axis that is given by its ends and a number of steps.
 *
 * Between the ends, values are rounded as the knob counts, so that a server takes them as they are
 * and no two steps ask for the same thing.
 */
#include "knobs/grid.h"

#include <math.h>
#include <stdlib.h>

struct range {
    const struct knob *knob;
    struct value from;
    struct value to;
    double first;
    double last;
    int64_t steps;
    bool log_scale;
};

static bool range_end(const struct knob *knob, const char *text, const struct value_facts *facts,
                      struct arena *arena, struct value *out, double *out_number, struct err *err)
{
    if (!value_parse(knob, text, facts, arena, out, err))
        return false;
    if (!value_number(out, out_number) || knob->type == KNOB_BOOL)
        return err_set(err, ERR_CODE_knob_value, "%s: '%.80s' cannot end a range", knob->name,
                       text);
    if (*out_number < knob->min || *out_number > knob->max)
        return err_set(err, ERR_CODE_knob_value, "%s: the special value %.80s cannot end a range",
                       knob->name, text);
    return true;
}

static bool check_range(const struct range *range, struct err *err)
{
    const char *name = range->knob->name;
    if (range->steps < 2 || range->steps > GRID_LIMIT_CELLS)
        return err_set(err, ERR_CODE_knob_value, "%s: a range needs 2 .. %d steps", name,
                       GRID_LIMIT_CELLS);
    if (range->first == range->last)
        return err_set(err, ERR_CODE_knob_value, "%s: both ends of the range are %.80s", name,
                       range->from.asked);
    if (range->log_scale && (range->first <= 0 || range->last <= 0)) {
        err_set(err, ERR_CODE_knob_value, "%s: a log range needs ends above 0", name);
        return err_hint(err, "list 0 as a value of its own, or use scale = \"linear\"");
    }
    return true;
}

/* The i-th value between the ends, rounded as the knob counts, never beyond an end. */
static struct value range_step(const struct range *range, int64_t i)
{
    double part = (double)i / (double)(range->steps - 1);
    double low = fmin(range->first, range->last);
    double high = fmax(range->first, range->last);
    double number = range->log_scale ? range->first * pow(range->last / range->first, part)
                                     : range->first * (1 - part) + range->last * part;
    if (range->knob->type == KNOB_REAL) {
        number = fmin(fmax(value_round_real(number), low), high);
        return (struct value){.kind = VALUE_REAL, .real = number};
    }
    int64_t step = llabs(range->knob->bare) > 1 ? llabs(range->knob->bare) : 1;
    number = round(number / (double)step) * (double)step;
    if (number <= low || number >= high)
        return (number <= low) == (range->first < range->last) ? range->from : range->to;
    return (struct value){.kind = VALUE_INTEGER, .integer = (int64_t)number};
}

/* A step between the ends is asked in words that would read back as the same value, and is
 * checked like them: an integer with choices has holes. */
static bool finish_step(const struct range *range, struct arena *arena, struct value *step,
                        struct err *err)
{
    if (step->asked != NULL)
        return true;
    struct value checked;
    const char *text = value_display(range->knob, step, arena);
    if (text == NULL)
        return err_memory(err);
    if (!value_parse(range->knob, text, NULL, arena, &checked, err))
        return err_while(err, "computing a range");
    step->asked = text;
    return true;
}

static bool fill_range(const struct range *range, struct arena *arena, struct value *values,
                       size_t *out_count, struct err *err)
{
    size_t count = 0;
    for (int64_t i = 0; i < range->steps; i++) {
        struct value step = i == 0                  ? range->from
                            : i == range->steps - 1 ? range->to
                                                    : range_step(range, i);
        if (count > 0 && value_equal(range->knob, &values[count - 1], &step))
            continue;
        if (!finish_step(range, arena, &step, err))
            return false;
        values[count++] = step;
    }
    *out_count = count;
    return true;
}

bool grid_range(const struct knob *knob, const char *from, const char *to, int64_t steps,
                bool log_scale, const struct value_facts *facts, struct arena *arena,
                struct value **out, size_t *out_count, struct err *err)
{
    struct range range = {.knob = knob, .steps = steps, .log_scale = log_scale};
    if (!range_end(knob, from, facts, arena, &range.from, &range.first, err) ||
        !range_end(knob, to, facts, arena, &range.to, &range.last, err) ||
        !check_range(&range, err))
        return false;
    *out = ARENA_ARRAY(arena, struct value, (size_t)steps);
    return *out == NULL ? err_memory(err) : fill_range(&range, arena, *out, out_count, err);
}
