/*
 * The command line, against its own rows: every command and option of options.def and every
 * workload key goes through the parser, the help, the manual page and the completion.
 */
#include "sweeper/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sweeper/cli_rows.h"
#include "sweeper/sweepfile.h"

#define WORD_LIMIT 16

static struct arena arena;
static struct err err;
static struct cli cli;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 1u << 20);
    err_clear(&err);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

/* A command line in pieces, split at blanks. */
struct words {
    int count;
    char *at[WORD_LIMIT];
    char text[256];
};

static void split(struct words *words, const char *line)
{
    snprintf(words->text, sizeof(words->text), "dbsweep %s", line);
    words->count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(words->text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(words->count < WORD_LIMIT);
        words->at[words->count++] = word;
    }
}

static bool parse(const char *line)
{
    static struct words words; /* the parsed line points into it */
    split(&words, line);
    err_clear(&err);
    return cli_parse(words.count, words.at, &arena, &cli, &err);
}

static void assert_usage(const char *line, const char *text, const char *hint)
{
    if (parse(line))
        fail_msg("accepted: %s", line);
    assert_int_equal(err.code, ERR_CODE_usage);
    assert_int_equal(err.class, ERR_PLAN);
    if (strstr(err.text, text) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("%s: '%s', hint '%s'; wanted '%s' and '%s'", line, err.text, err.hint, text, hint);
}

/* The command with the fewest operands it takes. */
static void with_operands(const struct cli_command_row *command, char *line, size_t size)
{
    size_t least = 0;
    size_t most = 0;
    cli_operand_limits(command->arguments, &least, &most);
    size_t used = (size_t)snprintf(line, size, "%s", command->name);
    for (size_t i = 0; i < least; i++)
        used += (size_t)snprintf(line + used, size - used, " operand%zu", i + 1);
}

static void every_command_takes_its_operands(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_command_count; i++) {
        char line[128];
        size_t least = 0;
        size_t most = 0;
        with_operands(&cli_commands[i], line, sizeof(line));
        cli_operand_limits(cli_commands[i].arguments, &least, &most);
        assert_true(parse(line));
        assert_int_equal(cli.command, cli_commands[i].id);
        assert_int_equal(cli.operand_count, least);
        if (least > 0)
            assert_string_equal(cli.operands[0], "operand1");
    }
}

static void a_missing_or_surplus_operand_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_command_count; i++) {
        char line[160];
        size_t least = 0;
        size_t most = 0;
        cli_operand_limits(cli_commands[i].arguments, &least, &most);
        if (least > 0)
            assert_usage(cli_commands[i].name, "operand is missing", cli_commands[i].arguments);
        if (most == SIZE_MAX)
            continue;
        with_operands(&cli_commands[i], line, sizeof(line));
        for (size_t n = least; n <= most; n++)
            strcat(line, " more");
        assert_usage(line, "too many", "usage: dbsweep");
    }
    assert_usage("", "no command", "dbsweep help");
    assert_usage("show x.db", "operand is missing", "dbsweep show STORE TRIAL");
}

static void operand_patterns_are_understood(void **state)
{
    (void)state;
    size_t least = 9;
    size_t most = 9;
    cli_operand_limits("", &least, &most);
    assert_true(least == 0 && most == 0);
    cli_operand_limits("SYSTEM [NAME]", &least, &most);
    assert_true(least == 1 && most == 2);
    cli_operand_limits("STORE POINT|best", &least, &most);
    assert_true(least == 2 && most == 2);
    cli_operand_limits("STORE...", &least, &most);
    assert_true(least == 1 && most == SIZE_MAX);
    cli_operand_limits("STORE... A B", &least, &most);
    assert_true(least == 3 && most == SIZE_MAX);
}

/* A value that the row accepts. */
static void sample(const struct cli_option_row *row, char *buffer, size_t size)
{
    if (row->type == CLI_INTEGER)
        snprintf(buffer, size, "42");
    else if (row->type == CLI_DURATION)
        snprintf(buffer, size, "90s");
    else
        snprintf(buffer, size, "%.*s", (int)strcspn(row->argument, "|"), row->argument);
}

static void try_option(const char *line, const struct cli_option_row *row)
{
    char value[64];
    char full[256];
    const char *name = row->key != NULL ? row->key : row->name;
    bool is_flag = row->type == CLI_FLAG;
    sample(row, value, sizeof(value));

    assert_true(parse(line));
    assert_false(cli_has(&cli, name));
    if (row->fallback != NULL)
        assert_string_equal(cli_text(&cli, name), row->fallback);
    else
        assert_null(cli_text(&cli, name));

    snprintf(full, sizeof(full), "%s %s %s", line, row->name, is_flag ? "" : value);
    if (!parse(full))
        fail_msg("%s: %s", full, err.text);
    assert_true(cli_has(&cli, name));
    assert_string_equal(cli_text(&cli, name), is_flag ? "" : value);

    snprintf(full, sizeof(full), "%s %s=%s", line, row->name, value);
    if (is_flag) {
        assert_usage(full, "takes no value", "");
        return;
    }
    assert_true(parse(full));
    assert_string_equal(cli_text(&cli, name), value);

    snprintf(full, sizeof(full), "%s %s", line, row->name);
    assert_usage(full, "needs a value", "");
    snprintf(full, sizeof(full), "%s %s --quiet", line, row->name);
    assert_usage(full, "needs a value", "=--quiet");
}

static void every_option_is_taken_by_its_command(void **state)
{
    (void)state;
    size_t tried = 0;
    for (size_t i = 0; i < cli_command_count; i++) {
        char line[128];
        struct cli_key_option option;
        with_operands(&cli_commands[i], line, sizeof(line));
        for (size_t at = 0; cli_next_option(cli_commands[i].id, &at, &option); tried++)
            try_option(line, &option.row);
    }
    assert_true(tried > cli_option_count);
}

static void every_workload_key_is_an_option_of_load(void **state)
{
    (void)state;
    size_t count = 0;
    size_t seen = 0;
    const struct sweepfile_key *keys = sweepfile_keys(&count);
    for (size_t i = 0; i < count; i++) {
        char line[160];
        if (strcmp(keys[i].section, "workload") != 0 || strcmp(keys[i].key, "kind") == 0 ||
            strcmp(keys[i].type, "special") == 0)
            continue;
        snprintf(line, sizeof(line), "load oltp run --%s 7", keys[i].key);
        for (char *at = strstr(line, "--"); *at != '\0'; at++)
            *at = *at == '_' ? '-' : *at;
        assert_true(parse(line));
        assert_int_equal(cli.value_count, 1);
        assert_string_equal(cli.values[0].name, keys[i].key);
        assert_string_equal(cli.values[0].text, "7");
        seen++;
    }
    assert_true(seen > 5);
    assert_usage("run x.cfg --clients 3", "unknown option '--clients'", "");
    assert_usage("load oltp run --kind 3", "unknown option '--kind'", "");
}

static void the_nearest_name_is_proposed(void **state)
{
    (void)state;
    assert_usage("rnu x.cfg", "unknown command 'rnu'", "'run'");
    assert_usage("rank x.db --fromat json", "unknown option '--fromat' of rank", "'--format'");
    assert_usage("run x.cfg --budgte=3h", "'--budgte'", "'--budget'");
    assert_usage("load oltp run --client 3", "'--client'", "'--clients'");
    assert_usage("rank x.db --wholly-different", "unknown option", "dbsweep help rank");
    assert_usage("wholly-different", "unknown command", "dbsweep help");
    assert_usage("--format json rank x.db", "unknown option", "stand behind");
    assert_usage("rank x.db -f", "unknown option '-f'", "");
    assert_usage("help rnu", "unknown command 'rnu'", "'run'");
    assert_usage("rnu --help", "unknown command 'rnu'", "'run'");
}

static void values_are_checked(void **state)
{
    (void)state;
    assert_usage("rank x.db --format xml", "--format does not take 'xml'", "table|csv|json");
    assert_usage("rank x.db --format=", "does not take ''", "table|csv|json");
    assert_usage("rank x.db --format=csv|json", "does not take", "table|csv|json");
    assert_usage("rank x.db --top -1", "--top does not take '-1'", "whole number");
    assert_usage("rank x.db --top 1.5", "does not take", "whole number");
    assert_usage("rank x.db --top 99999999999999999999", "does not take", "whole number");
    assert_usage("run x.cfg --budget 8", "--budget does not take '8'", "unit");
    assert_usage("run x.cfg --budget -8h", "does not take", "unit");
    assert_usage("run x.cfg --budget 8parsecs", "does not take", "unit");
}

static void numbers_and_times_come_out(void **state)
{
    (void)state;
    int64_t number = 0;
    assert_true(parse("run x.cfg --limit 17 --budget=1.5h"));
    assert_true(cli_integer(&cli, "--limit", &number, &err));
    assert_int_equal(number, 17);
    assert_true(cli_duration_ms(&cli, "--budget", &number, &err));
    assert_int_equal(number, 5400000);
    assert_true(parse("run x.cfg"));
    assert_false(cli_integer(&cli, "--limit", &number, &err));
    assert_false(cli_duration_ms(&cli, "--budget", &number, &err));
    assert_int_equal(err.code, ERR_CODE_usage);
}

static void the_last_of_two_counts(void **state)
{
    (void)state;
    assert_true(parse("rank x.db --format csv --format=json"));
    assert_string_equal(cli_text(&cli, "--format"), "json");
}

static void global_options_stand_anywhere(void **state)
{
    (void)state;
    assert_true(parse("--log json run --verbose x.cfg --quiet"));
    assert_string_equal(cli_text(&cli, "--log"), "json");
    assert_true(cli_has(&cli, "--verbose") && cli_has(&cli, "--quiet"));
    assert_int_equal(cli.command, CLI_COMMAND_run);
    assert_string_equal(cli.operands[0], "x.cfg");
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_true(parse("run -- --help"));
    assert_int_equal(cli.command, CLI_COMMAND_run);
    assert_string_equal(cli.operands[0], "--help");
    assert_true(parse("run --fresh -- --"));
    assert_string_equal(cli.operands[0], "--");
    assert_true(parse("-- run -x.cfg"));
    assert_string_equal(cli.operands[0], "-x.cfg");
    assert_true(parse("run -"));
    assert_string_equal(cli.operands[0], "-");
}

static void assert_help(const char *line, const char *subject)
{
    assert_true(parse(line));
    assert_int_equal(cli.command, CLI_COMMAND_help);
    assert_int_equal(cli.operand_count, subject != NULL);
    if (subject != NULL)
        assert_string_equal(cli.operands[0], subject);
    assert_false(cli_has(&cli, "--man"));
}

static void help_is_given_wherever_it_is_asked(void **state)
{
    (void)state;
    assert_help("--help", NULL);
    assert_help("-h", NULL);
    assert_help("help", NULL);
    assert_help("help run", "run");
    assert_help("help --help", "help");
    assert_help("run --help", "run");
    assert_help("--help run", "run");
    assert_help("--log json run --help", "run");
    assert_help("run x.cfg --budget nonsense --unknown -h", "run");
    assert_help("load oltp run --help", "load");
    for (size_t i = 1; i < cli_command_count; i++) {
        char line[64];
        if (cli_commands[i].id == CLI_COMMAND_help)
            continue;
        snprintf(line, sizeof(line), "%s --help", cli_commands[i].name);
        assert_help(line, cli_commands[i].name);
    }
    assert_true(parse("--version"));
    assert_int_equal(cli.command, CLI_COMMAND_version);
    assert_true(parse("rank --version"));
    assert_int_equal(cli.command, CLI_COMMAND_version);
    assert_string_equal(cli.operands[0], "rank");
}

/* ---- what is printed ---- */

static char *printed;
static size_t printed_size;

static FILE *catch_print(void)
{
    FILE *out = open_memstream(&printed, &printed_size);
    assert_non_null(out);
    return out;
}

static void drop_print(void)
{
    free(printed);
    printed = NULL;
}

static void assert_printed(const char *text)
{
    if (strstr(printed, text) == NULL)
        fail_msg("'%s' is missing", text);
}

static void help_tells_every_option(void **state)
{
    (void)state;
    FILE *out = catch_print();
    cli_print_help(out, NULL);
    fclose(out);
    for (size_t i = 0; i < cli_command_count; i++)
        assert_printed(cli_commands[i].name);
    assert_printed("exit status");
    drop_print();
    for (size_t i = 0; i < cli_command_count; i++) {
        struct cli_key_option option;
        out = catch_print();
        cli_print_help(out, cli_commands[i].name);
        fclose(out);
        for (size_t at = 0; cli_next_option(cli_commands[i].id, &at, &option);)
            assert_printed(option.row.name);
        assert_printed("--help");
        drop_print();
    }
}

/* Lists of choices may be longer; their sentence has a line of its own. */
static void help_fits_a_terminal(void **state)
{
    (void)state;
    for (size_t i = 0; i <= cli_command_count; i++) {
        FILE *out = catch_print();
        cli_print_help(out, i < cli_command_count ? cli_commands[i].name : NULL);
        fclose(out);
        for (char *line = strtok(printed, "\n"); line != NULL; line = strtok(NULL, "\n"))
            if (strlen(line) > 80 && strncmp(line, "  --", 4) != 0)
                fail_msg("too long: %s", line);
        drop_print();
    }
}

/* A name as roff wants it: "--format" is "\-\-format". */
static const char *escaped(const char *name)
{
    struct text text;
    text_open(&text, &arena);
    for (; *name != '\0'; name++) {
        if (*name == '-')
            text_add_char(&text, '\\');
        text_add_char(&text, *name);
    }
    return text_done(&text);
}

static void the_manual_holds_every_option_and_key(void **state)
{
    (void)state;
    size_t count = 0;
    const struct sweepfile_key *keys = sweepfile_keys(&count);
    FILE *out = catch_print();
    cli_print_man(out);
    fclose(out);
    assert_int_equal(strncmp(printed, ".TH DBSWEEP 1", 13), 0);
    for (size_t i = 0; i < cli_command_count; i++)
        assert_printed(escaped(cli_commands[i].name));
    for (size_t i = 0; i < cli_option_count; i++)
        assert_printed(escaped(cli_options[i].name));
    for (size_t i = 0; i < count; i++)
        assert_printed(keys[i].key);
    assert_printed(".SH EXIT STATUS");
    drop_print();
}

static void the_completion_is_bash_and_knows_every_option(void **state)
{
    (void)state;
    FILE *out = catch_print();
    cli_print_completion(out);
    fclose(out);
    for (size_t i = 0; i < cli_command_count; i++)
        assert_printed(cli_commands[i].name);
    for (size_t i = 0; i < cli_option_count; i++)
        assert_printed(cli_options[i].name);
    FILE *bash = popen("bash -n", "w");
    assert_non_null(bash);
    assert_int_equal(fwrite(printed, 1, printed_size, bash), printed_size);
    assert_int_equal(pclose(bash), 0);
    drop_print();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_arena, close_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_command_takes_its_operands),
        TEST(a_missing_or_surplus_operand_is_an_error),
        TEST(operand_patterns_are_understood),
        TEST(every_option_is_taken_by_its_command),
        TEST(every_workload_key_is_an_option_of_load),
        TEST(the_nearest_name_is_proposed),
        TEST(values_are_checked),
        TEST(numbers_and_times_come_out),
        TEST(the_last_of_two_counts),
        TEST(global_options_stand_anywhere),
        TEST(two_dashes_end_the_options),
        TEST(help_is_given_wherever_it_is_asked),
        TEST(help_tells_every_option),
        TEST(help_fits_a_terminal),
        TEST(the_manual_holds_every_option_and_key),
        TEST(the_completion_is_bash_and_knows_every_option),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
