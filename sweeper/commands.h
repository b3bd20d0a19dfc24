/*
 * The commands: each takes the parsed command line and returns the exit status.
 */
#ifndef SWEEPER_COMMANDS_H
#define SWEEPER_COMMANDS_H

#include "sweeper/cli.h"

int command_check(const struct cli *cli);
int command_run(const struct cli *cli);
int command_aa(const struct cli *cli);
int command_status(const struct cli *cli);
int command_rank(const struct cli *cli);
int command_effects(const struct cli *cli);
int command_show(const struct cli *cli);
int command_export(const struct cli *cli);
int command_emit(const struct cli *cli);
int command_restore(const struct cli *cli);
int command_knobs(const struct cli *cli);
int command_load(const struct cli *cli);
int command_help(const struct cli *cli);
int command_version(const struct cli *cli);

/* Logs the record and gives its exit status. */
int command_fail(const struct err *err);
/* The same of a command that speaks to a target: outside of trials there is no point to blame, so
 * that a server which is not there is a target lost. */
int command_fail_target(struct err *err);
/* Writes to standard output, whole; a full disk or a closed pipe is an error. */
int command_print(const char *text);
/* The same for what was written already; the exit status. */
int command_flush(void);

#endif
