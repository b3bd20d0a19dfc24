/*
 * What can be ranked by: the metrics of the built-in workloads by name.
 */
#include <string.h>

#include "sweeper/load/load.h"

static const struct {
    const char *name;
    const char *kind; /* that alone gives it; NULL: all do */
} rows[] = {
    {"throughput_per_s", NULL},
    {"p50_ms", NULL},
    {"p95_ms", NULL},
    {"p99_ms", NULL},
    {"p999_ms", NULL},
    {"max_ms", NULL},
    {"mean_ms", NULL},
    {"tpm", NULL},
    {"spm", NULL},
    {"elapsed_s", NULL},
    {"error_pct", NULL},
    {"notpm", "tpcc"},
    {"rows_per_s", "insert"},
    {"initial_rows_per_s", "insert"},
    {"terminal_rows_per_s", "insert"},
    {"decile_1_rows_per_s", "insert"},
    {"decile_2_rows_per_s", "insert"},
    {"decile_3_rows_per_s", "insert"},
    {"decile_4_rows_per_s", "insert"},
    {"decile_5_rows_per_s", "insert"},
    {"decile_6_rows_per_s", "insert"},
    {"decile_7_rows_per_s", "insert"},
    {"decile_8_rows_per_s", "insert"},
    {"decile_9_rows_per_s", "insert"},
    {"decile_10_rows_per_s", "insert"},
    {"longest_stall_ms", "insert"},
    {"rows_inserted", "insert"},
    {"queries_per_s", "insert"},
};

bool workload_gives_metric(const char *kind, const char *name, const char **near)
{
    const char *names[COUNT_OF(rows)];
    size_t count = 0;
    *near = NULL;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (rows[i].kind == NULL || strcmp(rows[i].kind, kind) == 0) {
            names[count++] = rows[i].name;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    *near = text_nearest(name, names, count);
    return false;
}
