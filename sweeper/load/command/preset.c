/*
 * What is known of other people's load drivers: one row per number, read from the output of
 * sysbench 1.0.20 and pgbench 15, and from what the manuals of HammerDB 4 and 5 (10, Command Line
 * Interface) and BenchBase 2023 show of theirs. Older and newer versions differ in single lines;
 * where they do, the pattern takes both.
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

/* "System achieved 2779 NOPM from 6611 PostgreSQL TPM"; before version 4 "achieved 6611 PostgreSQL
 * TPM at 2779 NOPM". Its TPM counts what the whole server committed and rolled back. */
static const struct command_row hammerdb_rows[] = {
    {"notpm", "TEST RESULT : System achieve[^:]*[dt] " NUMBER " NOPM", 1, "higher", true},
    {"server_tpm", "TEST RESULT : .* NOPM from " NUMBER " .*TPM", 1, "higher", false},
    {"server_tpm", "TEST RESULT : System achieved " NUMBER " .*TPM at ", 1, "higher", false},
};

#define JSON_NUMBER "([^ ,}]+)"
/* Latencies stand in the summary, a file of JSON that the command may print behind its run. */
static const struct command_row benchbase_rows[] = {
    {"throughput_per_s", "Results\\([^)]*\\) = " NUMBER " requests/sec", 1, "higher", true},
    {"goodput_per_s", "\\(throughput\\), " NUMBER " requests/sec \\(goodput\\)", 1, "higher",
     false},
    {"mean_ms", "\"Average Latency \\(microseconds\\)\": *" JSON_NUMBER, 1e-3, "lower", false},
    {"p50_ms", "\"Median Latency \\(microseconds\\)\": *" JSON_NUMBER, 1e-3, "lower", false},
    {"p95_ms", "\"95th Percentile Latency \\(microseconds\\)\": *" JSON_NUMBER, 1e-3, "lower",
     false},
    {"p99_ms", "\"99th Percentile Latency \\(microseconds\\)\": *" JSON_NUMBER, 1e-3, "lower",
     false},
    {"max_ms", "\"Maximum Latency \\(microseconds\\)\": *" JSON_NUMBER, 1e-3, "lower", false},
};

static const struct command_preset presets[] = {
    {.name = "none"},
    {.name = "time"},
    {.name = "sysbench",
     .rows = sysbench_rows,
     .row_count = COUNT_OF(sysbench_rows),
     .clients = "^Number of threads: ([0-9]+)$",
     .duration = "^ *t[a-z]+ [a-z]+: +" NUMBER "s$", /* 1.1: "time elapsed:" */
     .duration_factor = 1,
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
    {.name = "hammerdb",
     .rows = hammerdb_rows,
     .row_count = COUNT_OF(hammerdb_rows),
     .clients = "([0-9]+) Active Virtual Users configured",
     .duration = "Timing test period of " NUMBER " in minutes",
     .duration_factor = 60,
     .aborted = "FINISHED FAILED|Error in Virtual User"},
    {.name = "benchbase",
     .rows = benchbase_rows,
     .row_count = COUNT_OF(benchbase_rows),
     .clients = "Creating ([0-9]+) virtual terminals",
     .duration = "Results\\(.*nanoSeconds=([0-9]+)",
     .duration_factor = 1e-9,
     .done = "measuredRequests=([0-9]+)",
     .failed_list = "Unexpected (SQL )?Errors:",
     .aborted = "Results\\(state=ERROR|Unexpected error when "},
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
