/*
 * What a person sees while a sweep or a load runs: a progress bar on a terminal (trial, stage,
 * current throughput, ETA, best so far), one line per stage in a log. Speaks to standard error.
 */
#ifndef SWEEPER_CONSOLE_H
#define SWEEPER_CONSOLE_H

#include "sweeper/base/base.h"

struct console {
    bool is_terminal; /* standard error is one, TERM is not dumb, log format is text */
    int width;
    int64_t trial_number; /* of this sweep, from 1 */
    int64_t trial_count;  /* expected; 0 unknown */
    char point[160];      /* "shared_buffers=1G work_mem=4M" */
    char stage[32];
    double throughput_per_s; /* NAN none yet */
    double p99_ms;
    int64_t stage_started_ns;
    int64_t stage_length_ns; /* expected; 0 unknown */
    int64_t eta_ms;          /* of the whole; < 0 unknown */
    char best[200];          /* "shared_buffers=2G: 1234.5 throughput_per_s"; "" none */
    char note[100];          /* what a long stage is doing; "" none */
    int64_t noted_ns;        /* when a log last got a note; 0: not in this stage */
    bool drawn;
};

void console_open(struct console *console); /* one at a time: the log hooks need it */
void console_close(struct console *console);
void console_trial(struct console *console, int64_t number, int64_t count, const char *point,
                   int64_t eta_ms);
void console_stage(struct console *console, const char *stage, const char *sentence,
                   int64_t expected_ms);
void console_second(struct console *console, double throughput_per_s, double p99_ms);
/* What a long stage is doing: "loading oltp, 4 tables: 40 %, 12s left". A terminal shows each, in
 * its bar too where no trials are counted; a log has one in a while, and those that say 100 %. */
void console_note(struct console *console, const char *text);
void console_best(struct console *console, const char *text);

#endif
