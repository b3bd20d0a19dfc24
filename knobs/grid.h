/*
 * Axes, the points they span, and the conditions they are measured under.
 *
 * A *swept* setting is one knob, host setting or workload setting that some axis touches. A point
 * holds one value for each swept candidate setting (knobs and host settings); a condition holds
 * one for each swept workload setting. A *cell* is a point measured under a condition.
 */
#ifndef KNOBS_GRID_H
#define KNOBS_GRID_H

#include "knobs/rule.h"
#include "knobs/value.h"

enum swept_kind { SWEPT_KNOB, SWEPT_HOST, SWEPT_WORKLOAD };

struct swept {
    enum swept_kind kind;
    const struct knob *knob; /* for host and workload settings too: a row of their own catalogue */
    int line;                /* of the sweep file, for errors */
};

/* One choice of an axis sets one or more swept settings. */
struct axis_set {
    size_t swept; /* index into grid.swept */
    struct value value;
};
struct axis_choice {
    struct axis_set *sets;
    size_t set_count;
};
struct axis {
    const char *name; /* of its setting, or of all joined by "+" */
    enum swept_kind kind;
    struct axis_choice *choices;
    size_t choice_count;
    int line;
};

struct point {
    struct value *values; /* [grid.swept_count]; workload settings stay BASELINE here */
    bool baseline;        /* every candidate value is BASELINE */
    const char *key;      /* "name=canonical;…" in swept order, the same for equal points;
                             "" for the baseline */
};

struct condition {
    struct value *values; /* [grid.swept_count]; candidates stay BASELINE here */
    const char *key;      /* as point.key; "" where no workload setting is swept */
};

/* Why a cell is not measured. */
struct pruned {
    size_t point;
    size_t condition;
    size_t rule; /* index into grid.rules, or one of these */
};
#define PRUNED_GUARD SIZE_MAX        /* the memory guard */
#define PRUNED_ABSENT (SIZE_MAX - 1) /* the target cannot be had so: see grid.admits */

struct grid {
    struct swept *swept;
    size_t swept_count;
    struct axis *axes; /* product of these … */
    size_t axis_count;
    struct axis_choice *exact; /* … and these exact combinations (`points = (...)`) */
    size_t exact_count;
    struct rule **rules;
    size_t rule_count;
    bool with_baseline;
    const char *file; /* that it was read from, for errors; NULL: none */
    int *rule_lines;  /* [rule_count] in that file */
    /* Whether the target can be had as a cell wants it; NULL: as far as is known. */
    bool (*admits)(void *context, size_t point, size_t condition, bool *out, struct err *err);
    void *context; /* of admits */

    /* filled by grid_build */
    struct point *points; /* the baseline first, if asked; then the product in axis order with the
                             last axis fastest; then exact points; duplicates once */
    size_t point_count;
    struct condition *conditions; /* at least one */
    size_t condition_count;
    bool *kept;        /* [point_count * condition_count], row = point */
    size_t kept_count; /* cells to measure, the baseline's among them */
    struct pruned *pruned;
    size_t pruned_count;
};

#define GRID_LIMIT_CELLS 10000000

/* The index of the swept setting of that name (ASCII case ignored), or SIZE_MAX. */
size_t grid_swept_find(const struct grid *grid, const char *name);

/* A range axis' values: from, to, steps (>= 2), linear or log. Values are computed in double and
 * rounded half away from zero to a whole canonical unit for integer knobs (to a multiple of
 * knob->bare where |bare| > 1), and to 12 significant digits for real ones; both ends are exact;
 * values that become equal after rounding appear once. `from` may be the larger end. Errors:
 * number, knob_value (log with a bound <= 0, ends equal, out of range, a special as an end, a
 * knob without numbers). */
bool grid_range(const struct knob *knob, const char *from, const char *to, int64_t steps,
                bool log_scale, const struct value_facts *facts, struct arena *arena,
                struct value **out, size_t *out_count, struct err *err) MUST_USE;

/* Builds points, conditions and kept cells. `baseline_values[swept_count]` are the values as found
 * (kind BASELINE where unknown): BASELINE values in rules and the guard stand for them.
 * Rules may name swept settings, host.memory and host.cpus; a cell for which a rule's truth is
 * unknown (an "unset" or unknown value) is kept. Without knob or host axes the product is empty:
 * then the baseline and the exact points are all there is. A point that spells out the values as
 * found is not the baseline: point keys must not depend on what was found.
 * `guard_bytes`: cells whose swept KNOB_MEMORY_ONCE knobs sum above it are pruned; 0 = no guard.
 * The baseline is never pruned. Errors: grid (empty axis, a setting on two axes, a workload
 * setting in an exact point, everything but the baseline pruned, too large), rule. */
bool grid_build(struct grid *grid, const struct value *baseline_values,
                const struct value_facts *facts, int64_t guard_bytes, struct arena *arena,
                struct err *err) MUST_USE;

/* A cell's value of one swept setting: the condition's for workload settings, else the point's. */
const struct value *grid_value(const struct grid *grid, size_t point, size_t condition,
                               size_t swept);
/* True when every knob with a durability order is at least as durable as the baseline. Where the
 * baseline's value is not known, only the most durable value and BASELINE are. */
bool grid_point_durable(const struct grid *grid, const struct value *point_values,
                        const struct value *baseline_values);

#endif
