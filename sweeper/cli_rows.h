/*
 * The rows of options.def as tables, for cli.c (parser) and cli_help.c (help, manual, completion)
 * alone. What a command takes is asked here, so that both sides see the same options: its own,
 * the global ones, and for `load` every workload key of the sweep file.
 */
#ifndef SWEEPER_CLI_ROWS_H
#define SWEEPER_CLI_ROWS_H

#include "sweeper/cli.h"

struct cli_command_row {
    enum cli_command_id id;
    const char *name;
    const char *arguments; /* "FILE", "SYSTEM [NAME]", "" */
    const char *sentence;
    const char *text; /* "" where the sentence says it all */
};

struct cli_option_row {
    enum cli_command_id command; /* CLI_NONE: every command takes it */
    const char *name;
    const char *argument; /* "N", "table|csv|json"; "" for flags */
    enum cli_option_type type;
    const char *fallback;
    const char *sentence;
    const char *key; /* of the sweep file; NULL: a row of options.def */
};

extern const struct cli_command_row cli_commands[];
extern const size_t cli_command_count;
extern const struct cli_option_row cli_options[];
extern const size_t cli_option_count;

const struct cli_command_row *cli_find_command(const char *name); /* NULL: none */

#define CLI_KEY_OPTION_SIZE 64
/* A workload key as an option of `load`: its name ("--warm-up") and what it takes ("DURATION")
 * are written to the buffers, to which the row then points. */
struct cli_key_option {
    struct cli_option_row row;
    char name[CLI_KEY_OPTION_SIZE];
    char argument[CLI_KEY_OPTION_SIZE];
};
/* Visits rows one by one: first those of options.def for this command, then the global ones, then
 * the workload keys. `at` starts at 0. False at the end. */
bool cli_next_option(enum cli_command_id command, size_t *at, struct cli_key_option *out);

/* How many operands a pattern of arguments asks for; *out_most SIZE_MAX where it ends in "...". */
void cli_operand_limits(const char *arguments, size_t *out_least, size_t *out_most);
/* "table|csv|json" is a choice; "FILE|STORE" and "TEXT" are not. */
bool cli_is_choice(const char *argument);

#endif
