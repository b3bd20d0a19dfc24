/*
 * Arguments -> command -> exit status. Every command and option stands once in options.def; the
 * parser, --help, the manual page (`dbsweep help --man`), and shell completion
 * (`dbsweep help --completion`) come from it.
 */
#ifndef SWEEPER_CLI_H
#define SWEEPER_CLI_H

#include <stdio.h>

#include "sweeper/base/arena.h"
#include "sweeper/base/err.h"

enum cli_command_id {
    CLI_NONE,
#define COMMAND(id, name, arguments, sentence, text) CLI_COMMAND_##id,
#define OPTION(command, id, name, argument, type, fallback, sentence)
#include "sweeper/options.def"
#undef COMMAND
#undef OPTION
};

enum cli_option_type { CLI_FLAG, CLI_TEXT, CLI_INTEGER, CLI_DURATION };

/* A parsed command line. Options are asked for by name ("--format"); an option that no row
 * declares for this command asserts. */
struct cli {
    enum cli_command_id command;
    const char *const *operands;
    size_t operand_count;
    const struct cli_value *values;
    size_t value_count;
};
struct cli_value {
    const char *name; /* "--format"; a workload key: "warm_up" */
    const char *text; /* as given; "" for flags */
};

/* Errors: usage (PLAN), with the nearest known command or option in the hint. `--name=value` and
 * `--name value` are the same; `--` ends the options. --help and --version are commands too:
 * they parse as CLI_COMMAND_help / CLI_COMMAND_version with the command they stood behind as
 * operand. Values are checked against their rows (choices, numbers, times with a unit). The `load`
 * command takes every workload key as an option (sweepfile_keys): `--warm-up 5s` arrives in values
 * under the key's own name, "warm_up", unchecked, ready for workload_set. */
bool cli_parse(int argc, char *const *argv, struct arena *arena, struct cli *out,
               struct err *err) MUST_USE;

bool cli_has(const struct cli *cli, const char *name);
/* The text, or the declared fallback; NULL where neither is. */
const char *cli_text(const struct cli *cli, const char *name);
bool cli_integer(const struct cli *cli, const char *name, int64_t *out, struct err *err) MUST_USE;
/* Milliseconds. */
bool cli_duration_ms(const struct cli *cli, const char *name, int64_t *out,
                     struct err *err) MUST_USE;

void cli_print_help(FILE *out, const char *command); /* NULL: all commands */
void cli_print_man(FILE *out);                       /* dbsweep(1) in man(7) form */
void cli_print_completion(FILE *out);                /* bash */

#endif
