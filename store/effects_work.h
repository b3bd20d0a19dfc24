/*
 * Effects while they are computed: what effects.c, effects_data.c and effects_format.c share.
 * Inside store/ only.
 */
#ifndef STORE_EFFECTS_WORK_H
#define STORE_EFFECTS_WORK_H

#include "store/rank_work.h"
#include "sweeper/stats/effects.h"

struct effects_level_name {
    const char *canonical;
    const char *display;
    bool has_number;
    double number;
};
/* One axis: knobs that always change together are one. */
struct effects_axis {
    const char *name;                  /* "shared_buffers", "min + max" */
    struct effects_level_name *levels; /* by number, else as they came */
    size_t level_count;
};
struct effects_cell {
    int64_t point_id;
    bool is_baseline;
    const char *display; /* "work_mem=4M", as pruned cells are named */
    size_t *levels;      /* [axis_count] */
};
struct effects_pruned {
    const char *point;
    const char *condition;
};
struct effects_data {
    struct effects_axis *axes;
    size_t axis_count;
    struct effects_cell *cells; /* by point_id */
    size_t cell_count;
    struct effects_pruned *pruned; /* sorted */
    size_t pruned_count;
};

/* Axes, cells and what was pruned of them. */
bool effects_data_load(struct store *store, int64_t sweep_id, struct arena *arena,
                       struct effects_data *out, struct err *err) MUST_USE;
bool effects_is_pruned(const struct effects_data *data, const struct effects_cell *cell,
                       const char *condition);

/* The answer under one condition. */
struct effects_result {
    const char *condition; /* "clients=8"; "" */
    const struct rank_pair *pairs;
    size_t pair_count;
    size_t cell_count;
    struct effects effects;
    const char *missing; /* why there is no answer; NULL where there is */
};
struct effects_table {
    const char *by;
    bool higher;
    double noise_pct; /* NAN: not known */
    double confidence;
    const struct effects_data *data;
    struct effects_result *results;
    size_t count;
};
void effects_put_text(const struct effects_table *table, struct text *out);
void effects_put_json(const struct effects_table *table, struct text *out);

#endif
