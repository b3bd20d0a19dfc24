/*
 * The grids of `make bench-search`: those of REPLAY_DATA, one CSV file each, and made-up ones.
 *
 * A column whose name ends with + or - is an objective (more or less is better), and so is
 * run_time_s; the first one counts, throughput always as more, since such files disagree about its
 * sign. rel_stddev is each point's own noise. All other columns are knobs.
 */
#ifndef TESTS_BENCH_SEARCH_SETS_H
#define TESTS_BENCH_SEARCH_SETS_H

#include <dirent.h>

#include "tests/support/search_grids.h"

enum { SETS_MOST = 64, CSV_COLUMNS_MOST = 128, CSV_ROWS_MOST = 20000, CSV_LINE_BYTES = 65536 };

struct csv_heads {
    size_t count;
    size_t objective;
    size_t deviation; /* SIZE_MAX: none */
    size_t knob_count;
    bool is_higher;
    bool is_knob[CSV_COLUMNS_MOST];
};

static bool is_objective(const char *head)
{
    size_t length = strlen(head);
    return length > 0 &&
           (head[length - 1] == '+' || head[length - 1] == '-' || strcmp(head, "run_time_s") == 0);
}

static char *next_cell(char **line)
{
    char *cell = strsep(line, ",");
    for (char *end = cell + strlen(cell); end > cell && strchr(" \r\n", end[-1]) != NULL;)
        *--end = '\0';
    return cell;
}

static void read_heads(char *line, struct csv_heads *out)
{
    *out = (struct csv_heads){.objective = SIZE_MAX, .deviation = SIZE_MAX};
    while (line != NULL && out->count < CSV_COLUMNS_MOST) {
        const char *head = next_cell(&line);
        bool is_result = is_objective(head);
        if (is_result && out->objective == SIZE_MAX) {
            out->objective = out->count;
            out->is_higher = head[strlen(head) - 1] == '+' || strncmp(head, "Throughput", 10) == 0;
        }
        bool is_deviation = strcmp(head, "rel_stddev") == 0;
        out->deviation = is_deviation ? out->count : out->deviation;
        out->is_knob[out->count] = !is_result && !is_deviation;
        out->knob_count += out->is_knob[out->count++];
    }
}

static bool read_set(const char *path, const char *name, struct search_set *out, struct arena *room)
{
    static char line[CSV_LINE_BYTES];
    struct csv_heads heads;
    size_t rows = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        return false;
    read_heads(line, &heads);
    const char **cells = ARENA_ARRAY(room, const char *, heads.knob_count *CSV_ROWS_MOST);
    double *values = ARENA_ARRAY(room, double, CSV_ROWS_MOST);
    double *deviations = ARENA_ARRAY(room, double, CSV_ROWS_MOST);
    while (fgets(line, sizeof line, file) != NULL && rows < CSV_ROWS_MOST) {
        char *rest = line;
        size_t knobs = 0;
        for (size_t i = 0; i < heads.count && rest != NULL; i++) {
            const char *cell = next_cell(&rest);
            if (heads.is_knob[i])
                cells[rows * heads.knob_count + knobs++] = arena_strdup(room, cell);
            if (i == heads.objective)
                values[rows] = strtod(cell, NULL);
            if (i == heads.deviation)
                deviations[rows] = strtod(cell, NULL);
        }
        rows += values[rows] > 0 && knobs == heads.knob_count;
    }
    fclose(file);
    if (heads.objective == SIZE_MAX || rows < 2)
        return false;
    sim_make_set(out, name, rows, heads.knob_count, cells, room);
    for (size_t i = 0; i < rows; i++) {
        out->truth[i + 1] = heads.is_higher ? log(values[i]) : -log(values[i]);
        out->deviation[i + 1] = deviations[i];
    }
    sim_choose_baseline(out, room);
    sim_close_set(out);
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The files of a folder in the order of their names. */
static size_t read_folder(const char *folder, struct search_set *sets, size_t most,
                          struct arena *room)
{
    const char *names[SETS_MOST];
    size_t count = 0;
    size_t used = 0;
    DIR *listing = folder != NULL ? opendir(folder) : NULL;
    if (listing == NULL)
        return 0;
    for (const struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        const char *end = strrchr(entry->d_name, '.');
        if (end != NULL && strcmp(end, ".csv") == 0 && count < SETS_MOST)
            names[count++] = arena_strdup(room, entry->d_name);
    }
    closedir(listing);
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count && used < most; i++) {
        const char *name = arena_strndup(room, names[i], strlen(names[i]) - 4);
        if (read_set(arena_printf(room, "%s/%s", folder, names[i]), name, &sets[used], room))
            used++;
        else
            fprintf(stderr, "%s: no grid with an objective\n", names[i]);
    }
    return used;
}

static size_t make_sets(struct search_set *sets, struct arena *room)
{
    search_grid_additive(&sets[0], 1, room);
    search_grid_plateau(&sets[1], room);
    search_grid_cliff(&sets[2], room);
    search_grid_valley(&sets[3], room);
    search_grid_branin(&sets[4], room);
    search_grid_hartmann(&sets[5], room);
    return 6;
}

#endif
