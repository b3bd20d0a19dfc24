/*
 * What the rows of options.def and sweepfile.def look like to a reader: --help, the manual page
 * and the bash completion. Nothing is said here that a row could say; only the frame around the
 * rows (headings, exit statuses, examples) stands in this file.
 */
#include "sweeper/cli.h"

#include <string.h>

#include "sweeper/cli_rows.h"
#include "sweeper/search/strategy.h"
#include "sweeper/sweepfile.h"

#define HELP_WIDTH 80
#define HELP_INDENT 26 /* column where sentences begin */

static const struct {
    int status;
    const char *sentence;
} exit_rows[] = {
    {0, "done"},
    {1, "finished, but some trials failed"},
    {2, "bad input: command line, sweep file or plan"},
    {3, "stopped on request: a signal, --until or --budget"},
    {4, "target lost: it could not be reached or does not work on its baseline"},
    {5, "store lost: results could not be recorded"},
    {70, "internal error"},
};

/* ---- help ---- */

/* Prints words from `column` on, broken before HELP_WIDTH and continued at `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t column, size_t indent)
{
    bool line_begins = column <= indent;
    for (const char *word = text + strspn(text, " "); *word != '\0';) {
        size_t size = strcspn(word, " ");
        if (!line_begins && column + 1 + size > HELP_WIDTH) {
            fputc('\n', out);
            column = 0;
            line_begins = true;
        }
        for (; line_begins && column < indent; column++)
            fputc(' ', out);
        column += size + (line_begins ? 0 : 1);
        fprintf(out, "%s%.*s", line_begins ? "" : " ", (int)size, word);
        line_begins = false;
        word += size + strspn(word + size, " ");
    }
    fputc('\n', out);
}

/* "  LEFT        SENTENCE", on two lines where LEFT is too long. */
static void print_row(FILE *out, const char *left, const char *argument, const char *sentence,
                      const char *fallback)
{
    char text[640];
    bool has_fallback = fallback != NULL && fallback[0] != '\0';
    snprintf(text, sizeof(text), "%s%s%s%s", sentence, has_fallback ? " (default " : "",
             has_fallback ? fallback : "", has_fallback ? ")" : "");
    int column = fprintf(out, "  %s%s%s", left, argument[0] != '\0' ? " " : "", argument);
    if (column < 0)
        return;
    if ((size_t)column >= HELP_INDENT) {
        fputc('\n', out);
        column = 0;
    }
    print_wrapped(out, text, (size_t)column, HELP_INDENT);
}

static void print_options(FILE *out, enum cli_command_id command, bool global)
{
    struct cli_key_option option;
    for (size_t at = 0; cli_next_option(command, &at, &option);)
        if ((option.row.command == CLI_NONE) == global)
            print_row(out, option.row.name, option.row.argument, option.row.sentence,
                      option.row.fallback);
    if (global) {
        print_row(out, "--help", "", "help, of the command it stands behind", NULL);
        print_row(out, "--version", "", "versions of the program and its libraries", NULL);
    }
}

static bool has_own_option(enum cli_command_id command)
{
    size_t at = 0;
    struct cli_key_option option;
    return cli_next_option(command, &at, &option) && option.row.command == command;
}

static void print_command_help(FILE *out, const struct cli_command_row *command)
{
    fprintf(out, "usage: dbsweep %s%s%s%s\n\n", command->name,
            command->arguments[0] != '\0' ? " " : "", command->arguments,
            has_own_option(command->id) ? " [OPTION...]" : "");
    print_wrapped(out, command->text[0] != '\0' ? command->text : command->sentence, 0, 0);
    if (has_own_option(command->id)) {
        fputs("\noptions:\n", out);
        print_options(out, command->id, false);
    }
    fputs("\noptions of every command:\n", out);
    print_options(out, CLI_NONE, true);
}

void cli_print_help(FILE *out, const char *command)
{
    const struct cli_command_row *row = command != NULL ? cli_find_command(command) : NULL;
    assert(command == NULL || row != NULL);
    if (row != NULL) {
        print_command_help(out, row);
        return;
    }
    fputs("usage: dbsweep COMMAND [OPERAND...] [OPTION...]\n\n", out);
    print_wrapped(out,
                  "Measures a database server under every combination of settings that a sweep "
                  "file asks for, puts the server back as it was, and ranks what was measured.",
                  0, 0);
    fputs("\ncommands:\n", out);
    for (size_t i = 0; i < cli_command_count; i++)
        print_row(out, cli_commands[i].name, cli_commands[i].arguments, cli_commands[i].sentence,
                  NULL);
    fputs("\noptions of every command:\n", out);
    print_options(out, CLI_NONE, true);
    fputs("\nexit status:\n", out);
    for (size_t i = 0; i < COUNT_OF(exit_rows); i++) {
        char status[16];
        snprintf(status, sizeof(status), "%d", exit_rows[i].status);
        print_row(out, status, "", exit_rows[i].sentence, NULL);
    }
    fputs("\ndbsweep help COMMAND tells more about one; dbsweep help --man is the manual.\n", out);
}

/* ---- manual ---- */

/* Escaped for roff: backslashes, minus signs, and a control character that begins a line. */
static void man_text(FILE *out, const char *text)
{
    if (text[0] == '.' || text[0] == '\'')
        fputs("\\&", out);
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '|')
            fputs("|\\:", out); /* a list of choices may be longer than a line */
        else
            fputc(*text, out);
    }
}

static void man_tag(FILE *out, const char *name, const char *argument)
{
    fputs(".TP\n\\fB", out);
    man_text(out, name);
    fputs("\\fR", out);
    if (argument[0] != '\0') {
        fputs(" \\fI", out);
        man_text(out, argument);
        fputs("\\fR", out);
    }
    fputc('\n', out);
}

/* "Sentence (range; default X)." */
static void man_sentence(FILE *out, const char *sentence, const char *range, const char *fallback)
{
    bool has_range = range != NULL && range[0] != '\0';
    bool has_fallback = fallback != NULL && fallback[0] != '\0';
    man_text(out, sentence);
    if (has_range || has_fallback) {
        fputs(" (", out);
        man_text(out, has_range ? range : "");
        fputs(has_range && has_fallback ? "; " : "", out);
        fputs(has_fallback ? "default " : "", out);
        man_text(out, has_fallback ? fallback : "");
        fputs(")", out);
    }
    fputc('\n', out);
}

static void man_options(FILE *out, enum cli_command_id command, bool global)
{
    struct cli_key_option option;
    for (size_t at = 0; cli_next_option(command, &at, &option);) {
        if ((option.row.command == CLI_NONE) != global)
            continue;
        man_tag(out, option.row.name, option.row.argument);
        man_sentence(out, option.row.sentence, NULL, option.row.fallback);
    }
}

static void man_command(FILE *out, const struct cli_command_row *command)
{
    fputs(".SS \"", out);
    man_text(out, command->name);
    if (command->arguments[0] != '\0')
        fputc(' ', out);
    man_text(out, command->arguments);
    fputs("\"\n", out);
    man_text(out, command->text[0] != '\0' ? command->text : command->sentence);
    fputc('\n', out);
    man_options(out, command->id, false);
}

static void man_sweep_file(FILE *out)
{
    size_t count = 0;
    const struct sweepfile_key *keys = sweepfile_keys(&count);
    const char *section = NULL;
    fputs(".SH SWEEP FILE\nA sweep file is written in the language of libconfig. Its paths are "
          "relative to its own folder. An unknown key is an error.\n",
          out);
    for (size_t i = 0; i < count; i++) {
        if (section == NULL || strcmp(section, keys[i].section) != 0) {
            section = keys[i].section;
            fputs(".SS \"", out);
            man_text(out, section[0] != '\0' ? section : "top level");
            fputs("\"\n", out);
        }
        man_tag(out, keys[i].key, keys[i].type);
        man_sentence(out, keys[i].sentence, keys[i].range, keys[i].fallback);
    }
}

static void man_strategies(FILE *out)
{
    fputs(".SH STRATEGIES\n", out);
    for (size_t i = 0; i < strategy_count; i++) {
        man_tag(out, strategies[i]->name, "");
        man_sentence(out, strategies[i]->sentence, NULL, NULL);
    }
    fputs(
        ".PP\nEvery strategy but grid keeps a quarter of its budget, or of the time that "
        "\\-\\-until and \\-\\-budget give, nine trials at least and half of it at most, for the "
        "confirmation: up to five of the best points, as many as get five blocks, and the baseline "
        "are measured again in blocks of shuffled order. From the third block on, points that are "
        "significantly worse "
        "than the best one are left out; it ends when one is left, when those left are equal to "
        "within strategy.smallest_gain, after six blocks (or rank.repeats where that is more), or "
        "with the budget. gp confirms without a budget too.\n",
        out);
}

static void man_exit_status(FILE *out)
{
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < COUNT_OF(exit_rows); i++) {
        fprintf(out, ".TP\n%d\n", exit_rows[i].status);
        man_text(out, exit_rows[i].sentence);
        fputc('\n', out);
    }
}

void cli_print_man(FILE *out)
{
    fputs(".TH DBSWEEP 1 \"\" \"dbsweep " DBSWEEP_VERSION "\" \"User Commands\"\n.ad l\n.SH NAME\n"
          "dbsweep \\- measure a database server under every combination of settings\n"
          ".SH SYNOPSIS\n.B dbsweep\n\\fICOMMAND\\fR [\\fIOPERAND\\fR...] [\\fIOPTION\\fR...]\n"
          ".SH DESCRIPTION\n"
          "A sweep file names a server, the settings to vary and a workload. dbsweep applies each "
          "combination, restarts the server, reads back what the server really uses, drives the "
          "workload, records the result, and ends with the server as it was found.\n"
          "Results go to standard output, the log to standard error.\n.SH COMMANDS\n",
          out);
    for (size_t i = 0; i < cli_command_count; i++)
        man_command(out, &cli_commands[i]);
    fputs(".SH OPTIONS OF EVERY COMMAND\n", out);
    man_options(out, CLI_NONE, true);
    man_tag(out, "--help", "");
    man_sentence(out, "help, of the command it stands behind", NULL, NULL);
    man_tag(out, "--version", "");
    man_sentence(out, "versions of the program and its libraries", NULL, NULL);
    man_sweep_file(out);
    man_strategies(out);
    man_exit_status(out);
    fputs(".SH EXAMPLES\n.nf\ndbsweep check nightly.cfg\ndbsweep run nightly.cfg \\-\\-budget 8h\n"
          "dbsweep rank nightly.db \\-\\-under \\(aqp99_ms < 50\\(aq\n"
          "dbsweep emit nightly.db best\n.fi\n",
          out);
}

/* ---- completion ---- */

/* "table|csv|json" as words. */
static void completion_choices(FILE *out, const char *argument)
{
    for (; *argument != '\0'; argument++)
        fputc(*argument == '|' ? ' ' : *argument, out);
}

static void completion_names(FILE *out, enum cli_command_id command)
{
    struct cli_key_option option;
    for (size_t at = 0; cli_next_option(command, &at, &option);)
        fprintf(out, "%s ", option.row.name);
    fputs("--help", out);
}

/* A case of `$command:$previous` for each option with a value. */
static void completion_values(FILE *out, const struct cli_command_row *command)
{
    struct cli_key_option option;
    for (size_t at = 0; cli_next_option(command->id, &at, &option);) {
        if (option.row.type == CLI_FLAG)
            continue;
        fprintf(out, "    %s:%s) words=\"", command->name, option.row.name);
        if (cli_is_choice(option.row.argument))
            completion_choices(out, option.row.argument);
        fprintf(out, "\"; files=%s ;;\n", strcmp(option.row.argument, "PATH") == 0 ? "yes" : "");
    }
}

void cli_print_completion(FILE *out)
{
    fputs("# bash completion of dbsweep\n_dbsweep()\n{\n"
          "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
          "  local command=${COMP_WORDS[1]} words='' files=yes\n  COMPREPLY=()\n"
          "  if [[ $COMP_CWORD -eq 1 ]]; then\n    words='",
          out);
    for (size_t i = 0; i < cli_command_count; i++)
        fprintf(out, "%s ", cli_commands[i].name);
    completion_names(out, CLI_NONE);
    fputs("'; files=\n  elif [[ $current == -* ]]; then\n    files=\n    case $command in\n", out);
    for (size_t i = 0; i < cli_command_count; i++) {
        fprintf(out, "    %s) words='", cli_commands[i].name);
        completion_names(out, cli_commands[i].id);
        fputs("' ;;\n", out);
    }
    fputs("    esac\n  else\n    case $command:$previous in\n", out);
    for (size_t i = 0; i < cli_command_count; i++)
        completion_values(out, &cli_commands[i]);
    fputs("    esac\n  fi\n"
          "  [[ -n $words ]] && mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
          "  [[ -n $files ]] && mapfile -t -O ${#COMPREPLY[@]} COMPREPLY"
          " < <(compgen -f -- \"$current\")\n"
          "  return 0\n}\ncomplete -o filenames -F _dbsweep dbsweep\n",
          out);
}
