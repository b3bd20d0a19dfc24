/*
 * Command lines, words split at newlines: accepted or refused with a usage error, and every
 * accepted value can be asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "sweeper/cli_rows.h"

#define WORD_LIMIT 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask_for_values(const struct cli *cli)
{
    struct err err;
    struct cli_key_option option;
    err_clear(&err);
    for (size_t at = 0; cli_next_option(cli->command, &at, &option);) {
        int64_t number = 0;
        const char *name = option.row.key != NULL ? option.row.key : option.row.name;
        if (cli_has(cli, name) && cli_text(cli, name) == NULL)
            abort();
        if (cli_has(cli, name) && option.row.type == CLI_INTEGER &&
            !cli_integer(cli, name, &number, &err))
            abort();
        if (cli_has(cli, name) && option.row.type == CLI_DURATION &&
            !cli_duration_ms(cli, name, &number, &err))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err;
    struct cli cli;
    char program[] = "dbsweep";
    char *words[WORD_LIMIT + 1] = {program};
    int count = 1;
    err_clear(&err);
    arena_open(&arena, 1u << 20);
    char *rest = arena_strndup(&arena, (const char *)data, size);
    for (char *word; rest != NULL && count < WORD_LIMIT && (word = strsep(&rest, "\n")) != NULL;)
        words[count++] = word;
    if (cli_parse(count, words, &arena, &cli, &err))
        ask_for_values(&cli);
    else if (err.code != ERR_CODE_usage)
        abort();
    arena_close(&arena);
    return 0;
}
