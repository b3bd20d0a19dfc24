/*
 * What stands for the server itself: a small file that says whether it runs, how often it was
 * started, what is configured and what it runs with. A file that is not there is a server as found.
 */
#ifndef BACKENDS_REPLAY_STATE_H
#define BACKENDS_REPLAY_STATE_H

#include "backends/replay/table.h"

/* A column's choice as configured and as it was at the start; SIZE_MAX: the baseline's. */
struct state_setting {
    size_t configured;
    size_t running;
    bool is_adjusted; /* at the start, from what was configured */
};

struct state {
    const char *path;
    const struct table *table;
    struct state_setting *settings; /* one for each column */
    int64_t start_count;
    bool is_up;
    struct text *log; /* since the mark */
};

/* Reads the file. Errors: host_file; config_syntax where it is not such a file, or of another
 * source. */
bool state_read(struct state *state, struct arena *arena, struct err *err) MUST_USE;
/* Replaces it in one step. Errors: host_file. */
bool state_write(const struct state *state, struct arena *arena, struct err *err) MUST_USE;
/* The choice of a column that the server runs with, or would as configured. */
uint32_t state_running(const struct state *state, size_t column);
uint32_t state_configured(const struct state *state, size_t column);

#endif
