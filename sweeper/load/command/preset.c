/*
 * What is known of other people's load drivers: one row per number, read from the output of
 * sysbench 1.0.20 and pgbench 15. Older and newer versions differ in single lines; where they do,
 * the pattern takes both.
 */
#include <string.h>

#include "sweeper/load/command/command.h"

#define NUMBER "([^ ]+)" /* whatever stands there: what is no number shall not go unnoticed */

static const struct command_row sysbench_rows[] = {
    {"mean_ms", "^ *avg: +" NUMBER "$", 1, "lower", true},
    {"max_ms", "^ *max: +" NUMBER "$", 1, "lower", true},
    {"p50_ms", "^ *50th percentile: +" NUMBER "$", 1, "lower", false},
    {"p95_ms", "^ *95th percentile: +" NUMBER "$", 1, "lower", false},
    {"p99_ms", "^ *99th percentile: +" NUMBER "$", 1, "lower", false},
    {"spm", "^ *queries: +[0-9]+ +\\(" NUMBER " per sec\\.\\)$", 60, "higher", true},
};

static const struct command_row pgbench_rows[] = {
    {"throughput_per_s", "^tps = " NUMBER " \\((without initial|excluding|including reconnection)",
     1, "higher", true},
    {"mean_ms", "^latency average = " NUMBER " ms", 1, "lower", true},
    {"stddev_ms", "^latency stddev = " NUMBER " ms", 1, "lower", false},
};

static const struct command_preset presets[] = {
    {.name = "none"},
    {.name = "time"},
    {.name = "sysbench",
     .rows = sysbench_rows,
     .row_count = COUNT_OF(sysbench_rows),
     .clients = "^Number of threads: ([0-9]+)$",
     .duration_s = "^ *t[a-z]+ [a-z]+: +" NUMBER "s$", /* 1.1: "time elapsed:" */
     .done = "^ *total number of events: +([0-9]+)$",
     .ignored = "^ *ignored errors: +([0-9]+) ",
     .lost = "^ *reconnects: +([0-9]+) ",
     .counted_word = "--events=",
     .aborted = "^FATAL: "},
    {.name = "pgbench",
     .rows = pgbench_rows,
     .row_count = COUNT_OF(pgbench_rows),
     .clients = "^number of clients: ([0-9]+)$",
     .done = "^number of transactions actually processed: ([0-9]+)",
     .failed = "^number of failed transactions: ([0-9]+)",
     .counted = "^number of transactions per client: ",
     .aborted = "^(pgbench: error: )?Run was aborted"},
};

const struct command_preset *command_preset_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(presets); i++) {
        if (strcmp(presets[i].name, name) == 0) {
            return &presets[i];
        }
    }
    return NULL;
}
