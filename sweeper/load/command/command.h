/*
 * The command workload: a program that somebody else wrote, run as it is, and believed only where
 * everything it says fits what was asked. The parts stand apart so that each can be tested on
 * captured output.
 */
#ifndef SWEEPER_LOAD_COMMAND_COMMAND_H
#define SWEEPER_LOAD_COMMAND_COMMAND_H

#include "sweeper/load/workload.h"

/* Replaces "{clients}", "{measure_s}" and the like; `{{word}}` stands for `{word}`, and a brace
 * around anything but a small-letter word is left alone. Errors: sweep_file (an unknown word). */
bool command_fill(const struct workload_spec *spec, struct arena *arena,
                  const char *const **out_argv, struct err *err) MUST_USE;

/* A number that a program's output holds. */
struct command_row {
    const char *name;  /* of the metric */
    const char *regex; /* POSIX extended, over one line; first group */
    double factor;     /* from the program's unit to ours */
    const char *better;
    bool is_required;
};

/* What is known of a program whose output dbsweep can read. NULL: the program does not say. */
struct command_preset {
    const char *name;
    const struct command_row *rows;
    size_t row_count;
    const char *clients;      /* clients that ran, as the program counted them */
    const char *duration;     /* how long it ran; else done divided by throughput_per_s */
    double duration_factor;   /* from the program's unit to seconds */
    const char *done;         /* transactions */
    const char *failed;       /* transactions that failed */
    const char *failed_list;  /* a line: below it stand, up to a blank one, kinds of failures, each
                                 with its number in square brackets */
    const char *ignored;      /* errors after which it tried again */
    const char *lost;         /* connections that it lost and opened again */
    const char *counted;      /* a line: it was to end by count, not by time */
    const char *counted_word; /* a word of argv that says the same */
    const char *aborted;      /* a line: the result is worth nothing */
};

/* NULL: no preset of that name. */
const struct command_preset *command_preset_find(const char *name);

/* How a run of the program came out. */
struct command_end {
    const char *output; /* standard output and error, one after the other; NUL-terminated */
    size_t output_size;
    int exit_status;
    int signal_number;
    bool timed_out;
    int64_t elapsed_ns;
};

enum command_found {
    COMMAND_ABSENT, /* no line matches */
    COMMAND_FOUND,
    COMMAND_NO_NUMBER /* the last line that matches holds none; it is copied to `text` */
};

#define COMMAND_TEXT_BYTES 64

/* The number of the last line that matches: what is said at the end counts, not the progress
 * before it. A regex without a group finds the whole match. */
enum command_found command_find(const char *output, size_t size, const char *regex, double *out,
                                char text[COMMAND_TEXT_BYTES]);
/* The sum of the numbers in square brackets in the lines below the last one that matches, up to a
 * blank one. False: none matches. */
bool command_sum(const char *output, size_t size, const char *regex, double *out);
/* Whether a line matches. */
bool command_has_line(const char *output, size_t size, const char *regex);

/* Fills the result's metrics, errors, client count and measured time, or says why the run is worth
 * nothing. `argv` is as it was run. */
bool command_believe(const struct workload_spec *spec, const char *const *argv,
                     const struct command_end *end, struct arena *arena, struct load_result *out,
                     struct err *err) MUST_USE;

#endif
