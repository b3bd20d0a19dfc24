/*
 * The parser of the command line. It knows nothing of what commands do: names, operands, options
 * and their types are rows of options.def (and, for `load`, the workload keys of the sweep file).
 * A wrong command line is found here, whole, before anything else happens.
 */
#include "sweeper/cli.h"

#include <stdio.h>
#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/base/units.h"
#include "sweeper/cli_rows.h"
#include "sweeper/sweepfile.h"

/* Most options and commands that a proposal is searched among. */
#define NAME_LIMIT 256

enum { CLI_COMMAND_global = CLI_NONE };

const struct cli_command_row cli_commands[] = {
#define COMMAND(id, name, arguments, sentence, text)                                               \
    {CLI_COMMAND_##id, name, arguments, sentence, text},
#define OPTION(command, id, name, argument, type, fallback, sentence)
#include "sweeper/options.def"
#undef COMMAND
#undef OPTION
};
const size_t cli_command_count = COUNT_OF(cli_commands);

const struct cli_option_row cli_options[] = {
#define COMMAND(id, name, arguments, sentence, text)
#define OPTION(command, id, name, argument, type, fallback, sentence)                              \
    {(enum cli_command_id)CLI_COMMAND_##command, name, argument, type, fallback, sentence, NULL},
#include "sweeper/options.def"
#undef COMMAND
#undef OPTION
};
const size_t cli_option_count = COUNT_OF(cli_options);

/* ---- rows ---- */

const struct cli_command_row *cli_find_command(const char *name)
{
    for (size_t i = 0; i < cli_command_count; i++)
        if (strcmp(cli_commands[i].name, name) == 0)
            return &cli_commands[i];
    return NULL;
}

static const struct cli_command_row *command_of(enum cli_command_id id)
{
    for (size_t i = 0; i < cli_command_count; i++)
        if (cli_commands[i].id == id)
            return &cli_commands[i];
    return NULL;
}

/* "warm_up", a duration -> "--warm-up DURATION" */
static void key_option(const struct sweepfile_key *key, struct cli_key_option *out)
{
    int size = snprintf(out->name, sizeof(out->name), "--%s", key->key);
    assert(size > 0 && (size_t)size < sizeof(out->name));
    for (char *at = out->name; *at != '\0'; at++)
        if (*at == '_')
            *at = '-';
    size = snprintf(out->argument, sizeof(out->argument), "%s", key->type);
    assert(size > 0 && (size_t)size < sizeof(out->argument));
    for (char *at = out->argument; *at != '\0'; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    const char *argument = out->argument;
    if (strchr(key->range, '|') != NULL)
        argument = key->range;
    else if (strcmp(key->type, "bool") == 0)
        argument = "true|false";
    bool has_fallback = key->fallback != NULL && key->fallback[0] != '\0';
    out->row = (struct cli_option_row){.command = CLI_COMMAND_load,
                                       .name = out->name,
                                       .argument = argument,
                                       .type = CLI_TEXT,
                                       .fallback = has_fallback ? key->fallback : NULL,
                                       .sentence = key->sentence,
                                       .key = key->key};
}

/* `load` names its kind as an operand, and what has a shape of its own (a list of groups) is no
 * word of a command line. */
static bool is_key_option(const struct sweepfile_key *key)
{
    return strcmp(key->section, "workload") == 0 && strcmp(key->key, "kind") != 0 &&
           strcmp(key->type, "special") != 0;
}

bool cli_next_option(enum cli_command_id command, size_t *at, struct cli_key_option *out)
{
    for (; *at < 2 * cli_option_count; (*at)++) {
        bool global_turn = *at >= cli_option_count;
        const struct cli_option_row *row = &cli_options[*at % cli_option_count];
        if (row->command != (global_turn ? CLI_NONE : command))
            continue;
        if (global_turn && command == CLI_NONE)
            break; /* seen in the first turn */
        out->row = *row;
        (*at)++;
        return true;
    }
    size_t key_count = 0;
    const struct sweepfile_key *keys = sweepfile_keys(&key_count);
    if (command != CLI_COMMAND_load)
        return false;
    for (size_t i = *at - 2 * cli_option_count; i < key_count; i++) {
        *at = 2 * cli_option_count + i + 1;
        if (is_key_option(&keys[i])) {
            key_option(&keys[i], out);
            return true;
        }
    }
    return false;
}

/* An option by "--format", or a workload key by its own name. */
static bool find_option(enum cli_command_id command, const char *name, struct cli_key_option *out)
{
    for (size_t at = 0; cli_next_option(command, &at, out);)
        if (strcmp(out->row.name, name) == 0 ||
            (out->row.key != NULL && strcmp(out->row.key, name) == 0))
            return true;
    return false;
}

void cli_operand_limits(const char *arguments, size_t *out_least, size_t *out_most)
{
    *out_least = 0;
    *out_most = 0;
    for (const char *word = arguments; *word != '\0';) {
        size_t size = strcspn(word, " ");
        if (word[0] != '[')
            (*out_least)++;
        if (*out_most != SIZE_MAX)
            (*out_most)++;
        if (size > 3 && memcmp(word + size - 3, "...", 3) == 0)
            *out_most = SIZE_MAX;
        word += size + strspn(word + size, " ");
    }
}

bool cli_is_choice(const char *argument)
{
    return strchr(argument, '|') != NULL && (argument[0] < 'A' || argument[0] > 'Z');
}

/* ---- errors ---- */

static bool unknown_command(const char *name, struct err *err)
{
    const char *names[NAME_LIMIT];
    size_t count = 0;
    for (; count < cli_command_count && count < NAME_LIMIT; count++)
        names[count] = cli_commands[count].name;
    const char *nearest = text_nearest(name, names, count);
    err_set(err, ERR_CODE_usage, "unknown command '%s'", name);
    if (nearest != NULL)
        return err_hint(err, "did you mean '%s'?", nearest);
    return err_hint(err, "dbsweep help lists the commands");
}

/* The nearest name is copied into the hint at once, so each key's buffer may go. */
static bool unknown_option(const struct cli_command_row *command, const char *name,
                           struct arena *arena, struct err *err)
{
    enum cli_command_id id = command == NULL ? CLI_NONE : command->id;
    const char *names[NAME_LIMIT];
    size_t count = 0;
    struct cli_key_option option;
    names[count++] = "--help";
    names[count++] = "--version";
    for (size_t at = 0; count < NAME_LIMIT && cli_next_option(id, &at, &option);) {
        names[count] = arena_strdup(arena, option.row.name);
        if (names[count++] == NULL)
            return err_memory(err);
    }
    const char *nearest = text_nearest(name, names, count);
    err_set(err, ERR_CODE_usage, "unknown option '%s'%s%s", name, command ? " of " : "",
            command ? command->name : "");
    if (nearest != NULL)
        return err_hint(err, "did you mean '%s'?", nearest);
    if (command == NULL)
        return err_hint(err, "options of a command stand behind it; see dbsweep help");
    return err_hint(err, "see dbsweep help %s", command->name);
}

static bool wrong_operands(const struct cli_command_row *command, const char *what, struct err *err)
{
    err_set(err, ERR_CODE_usage, "%s: %s", command->name, what);
    return err_hint(err, "usage: dbsweep %s%s%s", command->name,
                    command->arguments[0] != '\0' ? " " : "", command->arguments);
}

/* ---- values ---- */

static bool check_choice(const struct cli_option_row *row, const char *text, struct err *err)
{
    size_t size = strlen(text);
    for (const char *at = row->argument; size > 0; at++) {
        size_t length = strcspn(at, "|");
        if (length == size && memcmp(at, text, size) == 0)
            return true;
        at += length;
        if (*at == '\0')
            break;
    }
    err_set(err, ERR_CODE_usage, "%s does not take '%s'", row->name, text);
    return err_hint(err, "it is one of %s", row->argument);
}

static bool read_integer(const char *name, const char *text, int64_t *out, struct err *err)
{
    if (units_parse_int(text, out, err) && *out >= 0)
        return true;
    err_set(err, ERR_CODE_usage, "%s does not take '%s'", name, text);
    return err_hint(err, "it is a whole number of 0 to 9223372036854775807");
}

static bool read_duration_ms(const char *name, const char *text, int64_t *out, struct err *err)
{
    int64_t us = 0;
    bool has_unit = false;
    if (units_parse_duration(text, 1, &us, &has_unit, err) && has_unit && us >= 0) {
        *out = us / 1000;
        return true;
    }
    err_set(err, ERR_CODE_usage, "%s does not take '%s'", name, text);
    return err_hint(err, "it is a time with its unit, below 292000 years: 90s, 15min, 8h, 1.5h");
}

/* Workload keys are checked by workload_set, which knows their ranges. */
static bool check_value(const struct cli_option_row *row, const char *text, struct err *err)
{
    int64_t number = 0;
    if (row->key != NULL || row->type == CLI_FLAG)
        return true;
    if (row->type == CLI_INTEGER)
        return read_integer(row->name, text, &number, err);
    if (row->type == CLI_DURATION)
        return read_duration_ms(row->name, text, &number, err);
    return !cli_is_choice(row->argument) || check_choice(row, text, err);
}

/* ---- parser ---- */

struct parser {
    int argc;
    char *const *argv;
    int at;
    const struct cli_command_row *command; /* NULL until it was seen */
    const char **operands;
    size_t operand_count;
    struct cli_value *values;
    size_t value_count;
    struct arena *arena;
};

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* What asks for help or the version, wherever it stands, as long as options are read. */
static enum cli_command_id asked_instead(int argc, char *const *argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return CLI_COMMAND_help;
        if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0)
            return CLI_COMMAND_version;
    }
    return CLI_NONE;
}

/* `dbsweep run --help` becomes `dbsweep help run`; the rest of the line does not matter. */
static bool parse_instead(struct parser *parser, enum cli_command_id instead, struct cli *out,
                          struct err *err)
{
    const char *subject = NULL;
    struct cli_key_option option;
    for (int i = 1; i < parser->argc && subject == NULL; i++) {
        const char *word = parser->argv[i];
        if (!is_option(word))
            subject = word;
        else if (find_option(CLI_NONE, word, &option) && option.row.type != CLI_FLAG)
            i++;
    }
    out->command = instead;
    if (subject == NULL)
        return true;
    if (cli_find_command(subject) == NULL)
        return unknown_command(subject, err);
    parser->operands[0] = subject;
    out->operands = parser->operands;
    out->operand_count = 1;
    return true;
}

static bool takes_no_value(const char *name, struct err *err)
{
    err_set(err, ERR_CODE_usage, "%s takes no value", name);
    return err_hint(err, "write %s alone", name);
}

/* Text of an option's value: behind '=', or the next word. */
static bool take_value(struct parser *parser, const struct cli_option_row *row, const char *equals,
                       const char **out, struct err *err)
{
    if (row->type == CLI_FLAG) {
        *out = "";
        if (equals == NULL)
            return true;
        return takes_no_value(row->name, err);
    }
    if (equals != NULL) {
        *out = equals + 1;
        return true;
    }
    const char *next = parser->at + 1 < parser->argc ? parser->argv[parser->at + 1] : NULL;
    if (next != NULL && !text_starts_with(next, "--")) {
        parser->at++;
        *out = next;
        return true;
    }
    err_set(err, ERR_CODE_usage, "%s needs a value: %s", row->name, row->argument);
    if (next != NULL && strcmp(next, "--") != 0)
        return err_hint(err, "a value that begins with -- is written %s=%s", row->name, next);
    return false;
}

static bool parse_option(struct parser *parser, struct err *err)
{
    const char *word = parser->argv[parser->at];
    const char *equals = strchr(word, '=');
    const char *name =
        equals == NULL ? word : arena_strndup(parser->arena, word, (size_t)(equals - word));
    if (name == NULL)
        return err_memory(err);
    enum cli_command_id id = parser->command == NULL ? CLI_NONE : parser->command->id;
    struct cli_key_option option;
    if (strcmp(name, "--help") == 0 || strcmp(name, "--version") == 0)
        return takes_no_value(name, err); /* without one, it never comes here */
    if (!text_starts_with(name, "--") || !find_option(id, name, &option))
        return unknown_option(parser->command, name, parser->arena, err);

    const char *text = NULL;
    if (!take_value(parser, &option.row, equals, &text, err) ||
        !check_value(&option.row, text, err))
        return false;
    const char *kept = option.row.key != NULL ? option.row.key : name;
    parser->values[parser->value_count++] = (struct cli_value){.name = kept, .text = text};
    return true;
}

static bool parse_operand(struct parser *parser, struct err *err)
{
    const char *word = parser->argv[parser->at];
    if (parser->command == NULL) {
        parser->command = cli_find_command(word);
        return parser->command != NULL || unknown_command(word, err);
    }
    parser->operands[parser->operand_count++] = word;
    return true;
}

static bool parse_words(struct parser *parser, struct err *err)
{
    bool options_end = false;
    for (parser->at = 1; parser->at < parser->argc; parser->at++) {
        const char *word = parser->argv[parser->at];
        if (!options_end && strcmp(word, "--") == 0)
            options_end = true;
        else if (!(!options_end && is_option(word) ? parse_option(parser, err)
                                                   : parse_operand(parser, err)))
            return false;
    }
    return true;
}

static bool check_operands(const struct parser *parser, struct err *err)
{
    const struct cli_command_row *command = parser->command;
    if (command == NULL) {
        err_set(err, ERR_CODE_usage, "no command given");
        return err_hint(err, "dbsweep help lists the commands");
    }
    size_t least = 0;
    size_t most = 0;
    cli_operand_limits(command->arguments, &least, &most);
    if (parser->operand_count < least)
        return wrong_operands(command, "an operand is missing", err);
    if (parser->operand_count > most)
        return wrong_operands(command, "too many operands", err);
    if (command->id == CLI_COMMAND_help && parser->operand_count == 1 &&
        cli_find_command(parser->operands[0]) == NULL)
        return unknown_command(parser->operands[0], err);
    return true;
}

bool cli_parse(int argc, char *const *argv, struct arena *arena, struct cli *out, struct err *err)
{
    *out = (struct cli){.command = CLI_NONE};
    size_t word_count = argc > 0 ? (size_t)argc : 1;
    struct parser parser = {.argc = argc, .argv = argv, .arena = arena};
    parser.operands = ARENA_ARRAY(arena, const char *, word_count);
    parser.values = ARENA_ARRAY(arena, struct cli_value, word_count);
    if (parser.operands == NULL || parser.values == NULL)
        return err_memory(err);

    enum cli_command_id instead = asked_instead(argc, argv);
    if (instead != CLI_NONE)
        return parse_instead(&parser, instead, out, err);
    if (!parse_words(&parser, err) || !check_operands(&parser, err))
        return false;
    *out = (struct cli){.command = parser.command->id,
                        .operands = parser.operands,
                        .operand_count = parser.operand_count,
                        .values = parser.values,
                        .value_count = parser.value_count};
    return true;
}

/* ---- what was given ---- */

/* The last one counts, so that an alias can be overridden. */
static const char *given(const struct cli *cli, const char *name)
{
    for (size_t i = cli->value_count; i > 0; i--)
        if (strcmp(cli->values[i - 1].name, name) == 0)
            return cli->values[i - 1].text;
    return NULL;
}

static const char *fallback_of(const struct cli *cli, const char *name)
{
    struct cli_key_option option;
    bool declared = find_option(cli->command, name, &option);
    assert(declared && command_of(cli->command) != NULL);
    return declared ? option.row.fallback : NULL;
}

bool cli_has(const struct cli *cli, const char *name)
{
    (void)fallback_of(cli, name); /* asserts that a row declares it */
    return given(cli, name) != NULL;
}

const char *cli_text(const struct cli *cli, const char *name)
{
    const char *fallback = fallback_of(cli, name);
    const char *text = given(cli, name);
    return text != NULL ? text : fallback;
}

bool cli_integer(const struct cli *cli, const char *name, int64_t *out, struct err *err)
{
    const char *text = cli_text(cli, name);
    if (text != NULL)
        return read_integer(name, text, out, err);
    return err_set(err, ERR_CODE_usage, "%s was not given", name);
}

bool cli_duration_ms(const struct cli *cli, const char *name, int64_t *out, struct err *err)
{
    const char *text = cli_text(cli, name);
    if (text != NULL)
        return read_duration_ms(name, text, out, err);
    return err_set(err, ERR_CODE_usage, "%s was not given", name);
}
