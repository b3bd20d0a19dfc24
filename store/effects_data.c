/*
 * Reads the grid back: points as levels of axes. Axes with one level are left out, and knobs that
 * always change together (an axis that sets several) are one axis.
 */
#include <stdlib.h>
#include <string.h>

#include "store/effects_work.h"
#include "store/sql.h"

/* ---- reading ---- */

struct counts {
    size_t points;
    size_t axes;
    size_t pruned;
};

static bool read_counts(struct store *store, int64_t sweep_id, struct counts *out, struct err *err)
{
    bool has_row = false;
    sqlite3_stmt *row = sql_use(store, SQL_effects_counts, err);
    if (row == NULL) {
        return false;
    }
    sql_int(row, 1, sweep_id);
    if (!sql_next(store, row, &has_row, err)) {
        return false;
    }
    *out = (struct counts){0};
    if (has_row) {
        out->points = (size_t)sqlite3_column_int64(row, 0);
        out->axes = (size_t)sqlite3_column_int64(row, 1);
        out->pruned = (size_t)sqlite3_column_int64(row, 2);
    }
    sqlite3_reset(row);
    return true;
}

static bool read_axes(struct store *store, int64_t sweep_id, const struct counts *counts,
                      struct arena *arena, struct effects_data *out, struct err *err)
{
    bool has_row = true;
    out->axes = ARENA_ARRAY(arena, struct effects_axis, counts->axes + 1);
    sqlite3_stmt *row = out->axes != NULL ? sql_use(store, SQL_effects_axes, err) : NULL;
    if (row == NULL) {
        return out->axes != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, sweep_id);
    while (out->axis_count < counts->axes) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        struct effects_axis *axis = &out->axes[out->axis_count++];
        *axis = (struct effects_axis){
            .name = sql_column_text(row, 0, arena),
            .levels = ARENA_ARRAY(arena, struct effects_level_name, counts->points + 1)};
        if (axis->name == NULL || axis->levels == NULL) {
            return err_memory(err);
        }
    }
    sqlite3_reset(row);
    return true;
}

static size_t axis_of(const struct effects_data *data, const char *name)
{
    for (size_t j = 0; j < data->axis_count; j++) {
        if (strcmp(data->axes[j].name, name) == 0) {
            return j;
        }
    }
    return SIZE_MAX;
}

/* The level with that value, a new one where there is none. */
static size_t level_of(struct effects_axis *axis, const struct effects_level_name *level)
{
    for (size_t v = 0; v < axis->level_count; v++) {
        if (strcmp(axis->levels[v].canonical, level->canonical) == 0) {
            return v;
        }
    }
    axis->levels[axis->level_count] = *level;
    return axis->level_count++;
}

static bool open_cell(struct effects_data *data, int64_t point_id, bool is_baseline,
                      struct arena *arena)
{
    struct effects_cell *cell = &data->cells[data->cell_count++];
    *cell = (struct effects_cell){.point_id = point_id,
                                  .is_baseline = is_baseline,
                                  .display = "",
                                  .levels = ARENA_ARRAY(arena, size_t, data->axis_count + 1)};
    for (size_t j = 0; cell->levels != NULL && j < data->axis_count; j++) {
        cell->levels[j] = SIZE_MAX;
    }
    return cell->levels != NULL;
}

static bool read_value(sqlite3_stmt *row, struct effects_data *data, struct arena *arena)
{
    struct effects_cell *cell = &data->cells[data->cell_count - 1];
    const char *name = sql_column_text(row, 2, arena);
    struct effects_level_name level = {.canonical = sql_column_text(row, 3, arena),
                                       .display = sql_column_text(row, 4, arena),
                                       .has_number = sqlite3_column_type(row, 5) != SQLITE_NULL,
                                       .number = sql_column_real(row, 5)};
    if (name == NULL || level.canonical == NULL || level.display == NULL) {
        return false;
    }
    size_t axis = axis_of(data, name);
    if (axis != SIZE_MAX) {
        cell->levels[axis] = level_of(&data->axes[axis], &level);
    }
    return true;
}

static bool read_cells(struct store *store, int64_t sweep_id, const struct counts *counts,
                       struct arena *arena, struct effects_data *out, struct err *err)
{
    bool has_row = true;
    int64_t last = 0;
    out->cells = ARENA_ARRAY(arena, struct effects_cell, counts->points + 1);
    sqlite3_stmt *row = out->cells != NULL ? sql_use(store, SQL_effects_points, err) : NULL;
    if (row == NULL) {
        return out->cells != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, sweep_id);
    while (sql_next(store, row, &has_row, err)) {
        if (!has_row) {
            return true;
        }
        int64_t point_id = sqlite3_column_int64(row, 0);
        bool is_new = out->cell_count == 0 || point_id != last;
        if (is_new && out->cell_count == counts->points) {
            sqlite3_reset(row); /* points that came since are left */
            return true;
        }
        last = point_id;
        if ((is_new && !open_cell(out, point_id, sqlite3_column_int64(row, 1) != 0, arena)) ||
            !read_value(row, out, arena)) {
            return err_memory(err);
        }
    }
    return false;
}

static bool read_pruned(struct store *store, int64_t sweep_id, const struct counts *counts,
                        struct arena *arena, struct effects_data *out, struct err *err)
{
    bool has_row = true;
    out->pruned = ARENA_ARRAY(arena, struct effects_pruned, counts->pruned + 1);
    sqlite3_stmt *row = out->pruned != NULL ? sql_use(store, SQL_effects_pruned, err) : NULL;
    if (row == NULL) {
        return out->pruned != NULL ? false : err_memory(err);
    }
    sql_int(row, 1, sweep_id);
    while (out->pruned_count < counts->pruned) {
        if (!sql_next(store, row, &has_row, err)) {
            return false;
        }
        if (!has_row) {
            break;
        }
        struct effects_pruned *pruned = &out->pruned[out->pruned_count++];
        pruned->point = sql_column_text(row, 0, arena);
        pruned->condition = sql_column_text(row, 1, arena);
        if (pruned->point == NULL || pruned->condition == NULL) {
            return err_memory(err);
        }
    }
    sqlite3_reset(row);
    return true;
}

static int compare_pruned(const void *a, const void *b)
{
    const struct effects_pruned *left = a;
    const struct effects_pruned *right = b;
    int points = strcmp(left->point, right->point);
    return points != 0 ? points : strcmp(left->condition, right->condition);
}

bool effects_is_pruned(const struct effects_data *data, const struct effects_cell *cell,
                       const char *condition)
{
    const struct effects_pruned wanted = {.point = cell->display, .condition = condition};
    return data->pruned_count > 0 && bsearch(&wanted, data->pruned, data->pruned_count,
                                             sizeof wanted, compare_pruned) != NULL;
}

/* ---- cells and axes ---- */

/* As the sweep's plan names a point. */
static bool display_cells(struct effects_data *data, struct arena *arena)
{
    for (size_t i = 0; i < data->cell_count; i++) {
        struct effects_cell *cell = &data->cells[i];
        struct text text;
        text_open(&text, arena);
        for (size_t j = 0; j < data->axis_count; j++) {
            const struct effects_axis *axis = &data->axes[j];
            if (cell->levels[j] != SIZE_MAX &&
                strcmp(axis->levels[cell->levels[j]].canonical, "baseline") != 0) {
                text_addf(&text, "%s%s=%s", text.size > 0 ? " " : "", axis->name,
                          axis->levels[cell->levels[j]].display);
            }
        }
        cell->display = text_done(&text);
        if (cell->display == NULL) {
            return false;
        }
    }
    return true;
}

/* The baseline is a cell of the grid only where other cells have its levels too. */
static bool belongs(const struct effects_data *data, size_t at)
{
    const struct effects_cell *cell = &data->cells[at];
    for (size_t j = 0; j < data->axis_count; j++) {
        bool is_shared = !cell->is_baseline;
        for (size_t i = 0; i < data->cell_count && !is_shared; i++) {
            is_shared = i != at && data->cells[i].levels[j] == cell->levels[j];
        }
        if (cell->levels[j] == SIZE_MAX || !is_shared) {
            return false;
        }
    }
    return true;
}

static void keep_cells(struct effects_data *data)
{
    size_t kept = 0;
    for (size_t i = 0; i < data->cell_count; i++) {
        if (belongs(data, i)) {
            data->cells[kept++] = data->cells[i];
        }
    }
    data->cell_count = kept;
}

struct sorted {
    struct effects_level_name level;
    size_t was;
};

static int compare_levels(const void *a, const void *b)
{
    const struct sorted *left = a;
    const struct sorted *right = b;
    bool by_number =
        left->level.has_number && right->level.has_number &&
        (left->level.number < right->level.number || left->level.number > right->level.number);
    if (by_number) {
        return left->level.number < right->level.number ? -1 : 1;
    }
    return (left->was > right->was) - (left->was < right->was);
}

/* Levels that are left, by number. */
static bool sort_levels(struct effects_data *data, size_t axis, struct arena *arena)
{
    struct effects_axis *at = &data->axes[axis];
    struct sorted *sorted = ARENA_ARRAY(arena, struct sorted, at->level_count + 1);
    size_t *place = ARENA_ARRAY(arena, size_t, at->level_count + 1);
    size_t kept = 0;
    if (sorted == NULL || place == NULL) {
        return false;
    }
    for (size_t v = 0; v < at->level_count; v++) {
        bool is_used = false;
        for (size_t i = 0; i < data->cell_count && !is_used; i++) {
            is_used = data->cells[i].levels[axis] == v;
        }
        if (is_used) {
            sorted[kept++] = (struct sorted){.level = at->levels[v], .was = v};
        }
    }
    qsort(sorted, kept, sizeof *sorted, compare_levels);
    for (size_t v = 0; v < kept; v++) {
        at->levels[v] = sorted[v].level;
        place[sorted[v].was] = v;
    }
    for (size_t i = 0; i < data->cell_count; i++) {
        data->cells[i].levels[axis] = place[data->cells[i].levels[axis]];
    }
    at->level_count = kept;
    return true;
}

/* Whether each level of one always comes with the same level of the other, and the other way. map
 * and back have room for the levels of both. */
static bool change_together(const struct effects_data *data, size_t j, size_t k, size_t *map,
                            size_t *back)
{
    size_t count = data->axes[j].level_count;
    if (count != data->axes[k].level_count) {
        return false;
    }
    for (size_t v = 0; v < count; v++) {
        map[v] = back[v] = SIZE_MAX;
    }
    for (size_t i = 0; i < data->cell_count; i++) {
        size_t of_j = data->cells[i].levels[j];
        size_t of_k = data->cells[i].levels[k];
        map[of_j] = map[of_j] == SIZE_MAX ? of_k : map[of_j];
        back[of_k] = back[of_k] == SIZE_MAX ? of_j : back[of_k];
        if (map[of_j] != of_k || back[of_k] != of_j) {
            return false;
        }
    }
    return true;
}

static void drop_axis(struct effects_data *data, size_t axis)
{
    data->axis_count--;
    for (size_t j = axis; j < data->axis_count; j++) {
        data->axes[j] = data->axes[j + 1];
    }
    for (size_t i = 0; i < data->cell_count; i++) {
        for (size_t j = axis; j < data->axis_count; j++) {
            data->cells[i].levels[j] = data->cells[i].levels[j + 1];
        }
    }
}

static bool join_names(struct effects_data *data, size_t j, size_t k, struct arena *arena)
{
    struct effects_axis *into = &data->axes[j];
    const struct effects_axis *from = &data->axes[k];
    into->name = arena_printf(arena, "%s + %s", into->name, from->name);
    for (size_t v = 0; into->name != NULL && v < into->level_count; v++) {
        for (size_t i = 0; i < data->cell_count; i++) {
            if (data->cells[i].levels[j] == v) {
                into->levels[v].display =
                    arena_printf(arena, "%s/%s", into->levels[v].display,
                                 from->levels[data->cells[i].levels[k]].display);
                break;
            }
        }
        if (into->levels[v].display == NULL) {
            return false;
        }
    }
    return into->name != NULL;
}

static bool settle_axes(struct effects_data *data, struct arena *arena)
{
    size_t *map = ARENA_ARRAY(arena, size_t, data->cell_count + 1);
    size_t *back = ARENA_ARRAY(arena, size_t, data->cell_count + 1);
    if (map == NULL || back == NULL) {
        return false;
    }
    for (size_t j = 0; j < data->axis_count; j++) {
        if (!sort_levels(data, j, arena)) {
            return false;
        }
    }
    for (size_t j = data->axis_count; j-- > 0;) {
        if (data->axes[j].level_count < 2) {
            drop_axis(data, j);
        }
    }
    for (size_t j = 0; j < data->axis_count; j++) {
        for (size_t k = data->axis_count; k-- > j + 1;) {
            if (change_together(data, j, k, map, back)) {
                if (!join_names(data, j, k, arena)) {
                    return false;
                }
                drop_axis(data, k);
            }
        }
    }
    return true;
}

bool effects_data_load(struct store *store, int64_t sweep_id, struct arena *arena,
                       struct effects_data *out, struct err *err)
{
    struct counts counts;
    *out = (struct effects_data){.axes = NULL};
    if (!read_counts(store, sweep_id, &counts, err) ||
        !read_axes(store, sweep_id, &counts, arena, out, err) ||
        !read_cells(store, sweep_id, &counts, arena, out, err) ||
        !read_pruned(store, sweep_id, &counts, arena, out, err)) {
        return false;
    }
    qsort(out->pruned, out->pruned_count, sizeof *out->pruned, compare_pruned);
    if (!display_cells(out, arena)) {
        return err_memory(err);
    }
    keep_cells(out);
    return settle_axes(out, arena) || err_memory(err);
}
