/*
 * Option files read and rendered against my_print_defaults, which runs the server's own parser:
 * hundreds of made-up files, the same ones each time. not under valgrind: it starts a process for
 * each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/mysql/options.h"
#include "sweeper/base/text.h"

static struct arena arena;
static struct option_groups groups;

static const struct knob connections = {.name = "max_connections",
                                        .type = KNOB_INTEGER,
                                        .bare = 1,
                                        .min = -INFINITY,
                                        .max = INFINITY,
                                        .specials = "",
                                        .choices = ""};

static char oracle_path[64];

static uint64_t draw(uint64_t *seed, uint64_t count)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed % count;
}

/* A file of pieces that files are made of, in any order. */
static struct bytes make_file(uint64_t *seed)
{
    static const char *const pieces[] = {"[mysqld]",
                                         "[mysqld]\n",
                                         "[server]\n",
                                         "[mariadb-10.11]\n",
                                         "[client]\n",
                                         "[ mysqld]\n",
                                         "[mysqld ] x\n",
                                         "[MYSQLD]\r\n",
                                         "[mariadbd",
                                         "\n",
                                         "\n",
                                         "\r\n",
                                         "\n\n",
                                         " ",
                                         "\t",
                                         "\xa0",
                                         "# c\n",
                                         "; c\n",
                                         " #",
                                         ";",
                                         "max_connections",
                                         "max-connections",
                                         "MAX_Connections",
                                         "loose_max_connections",
                                         "skip-name-resolve\n",
                                         "port",
                                         "sql_mode",
                                         "=",
                                         "=",
                                         " = ",
                                         "=\t",
                                         "7",
                                         "16M",
                                         "'a b'",
                                         "\"a#b\"",
                                         "'",
                                         "\"",
                                         "\\",
                                         "\\n",
                                         "\\s",
                                         "\\q",
                                         "\\'",
                                         "\\\\",
                                         "x=y",
                                         "\xc3\xa0",
                                         "!include /nonexistent\n",
                                         "!includedirx\n",
                                         "!\n",
                                         "max_connections=5\n",
                                         "max_connections = 6 # six\n",
                                         "port=1\n",
                                         "\x0b",
                                         "\x0c"};
    struct text text;
    text_open(&text, &arena);
    text_add(&text, draw(seed, 8) == 0 ? "" : "[mysqld]\n");
    for (uint64_t i = draw(seed, 24); i > 0; i--)
        text_add(&text, pieces[draw(seed, COUNT_OF(pieces))]);
    return (struct bytes){.data = text_done(&text), .size = text.size};
}

/* What my_print_defaults reads of the file; NULL where it refuses it. */
static const char *ask_oracle(struct bytes file)
{
    char command[1024];
    char block[4096];
    struct text text;
    FILE *out = fopen(oracle_path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(file.data, 1, file.size, out), file.size);
    assert_int_equal(fclose(out), 0);
    int used =
        snprintf(command, sizeof command, "my_print_defaults --defaults-file=%s", oracle_path);
    for (size_t i = 0; i < groups.count; i++)
        used += snprintf(command + used, sizeof command - (size_t)used, " %s", groups.names[i]);
    snprintf(command + used, sizeof command - (size_t)used, " 2>/dev/null");
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text_open(&text, &arena);
    for (size_t size = fread(block, 1, sizeof block, pipe); size > 0;
         size = fread(block, 1, sizeof block, pipe))
        text_add_bytes(&text, block, size);
    return pclose(pipe) == 0 ? text_done(&text) : NULL;
}

static void add_unescaped(struct text *text, const char *value, size_t size)
{
    static const char from[] = "bntrs\\\"'";
    static const char to[] = "\b\n\t\r \\\"'";
    for (size_t i = 0; i < size; i++) {
        const char *known =
            value[i] == '\\' && i + 1 < size ? memchr(from, value[i + 1], sizeof from - 1) : NULL;
        text_add_char(text, known != NULL ? to[known - from] : value[i]);
        i += known != NULL;
    }
}

/* The same from our own reading; NULL where it is refused. *out_is_known: what theirs makes of it
 * is no accident (of an option without a name it is). */
static const char *read_ourselves(struct bytes file, bool *out_is_known)
{
    struct option_file parsed;
    struct err err;
    struct text text;
    err_clear(&err);
    bool is_read = option_file_parse(file, "x", &arena, &parsed, &err);
    *out_is_known = strcmp(err.text, "an option has no name") != 0;
    if (!is_read)
        return NULL;
    text_open(&text, &arena);
    for (size_t i = 0; i < parsed.count; i++) {
        const struct option_line *line = &parsed.lines[i];
        if (line->kind != OPTION_SETTING || !option_groups_hold(&groups, line->group))
            continue;
        text_addf(&text, "--%.*s", (int)line->name.size, line->name.data);
        if (line->has_value) {
            const char *value = file.data + line->value_start;
            size_t size = line->value_end - line->value_start;
            bool is_quoted =
                size > 1 && (value[0] == '\'' || value[0] == '"') && value[size - 1] == value[0];
            text_add_char(&text, '=');
            add_unescaped(&text, value + is_quoted, size - 2 * (size_t)is_quoted);
        }
        text_add_char(&text, '\n');
    }
    return text_done(&text);
}

static size_t accepted_count;

static void expect_agreement(struct bytes file)
{
    bool is_known = true;
    const char *theirs = ask_oracle(file);
    const char *ours = read_ourselves(file, &is_known);
    accepted_count += ours != NULL;
    if (!is_known)
        return;
    if ((theirs == NULL) != (ours == NULL) || (ours != NULL && strcmp(ours, theirs) != 0))
        fail_msg("file:\n%.*s\nours:\n%s\ntheirs:\n%s", (int)file.size, file.data,
                 ours != NULL ? ours : "refused", theirs != NULL ? theirs : "refused");
}

/* The last --max_connections in what the server reads. */
static const char *last_connections(const char *said)
{
    const char *last = NULL;
    for (const char *line = said; *line != '\0'; line += strcspn(line, "\n") + 1) {
        size_t size = strcspn(line, "=\n");
        struct bytes name = {.data = line + 2, .size = size > 2 ? size - 2 : 0};
        if (line[0] == '-' && option_match(name, "max_connections") == OPTION_SAME)
            last = line + size;
    }
    return last;
}

static void expect_rendering(struct bytes file)
{
    struct err err;
    struct bytes out;
    struct setting setting = {.knob = &connections,
                              .value = {.kind = VALUE_INTEGER, .integer = 4321}};
    err_clear(&err);
    if (!option_render(file, "x", &groups, &setting, 1, &arena, &out, &err))
        return;
    const char *said = ask_oracle(out);
    assert_non_null(said);
    const char *last = last_connections(said);
    assert_non_null(last);
    if (strncmp(last, "=4321\n", 6) != 0)
        fail_msg("file:\n%.*s\nrendered:\n%.*s\nread:\n%s", (int)file.size, file.data,
                 (int)out.size, out.data, said);
    setting.value = (struct value){.kind = VALUE_UNSET};
    assert_true(option_render(file, "x", &groups, &setting, 1, &arena, &out, &err));
    said = ask_oracle(out);
    assert_non_null(said);
    assert_null(last_connections(said));
}

static void test_against_my_print_defaults(void **state)
{
    enum { FILE_COUNT = 600 };
    (void)state;
    uint64_t seed = 20261201;
    if (system("my_print_defaults --help >/dev/null 2>&1") != 0) {
        print_message("# my_print_defaults is not installed\n");
        skip();
    }
    snprintf(oracle_path, sizeof oracle_path, "/tmp/dbsweep-oracle.%d", (int)getpid());
    for (int i = 0; i < FILE_COUNT; i++) {
        struct bytes file = make_file(&seed);
        expect_agreement(file);
        expect_rendering(file);
        arena_reset(&arena);
    }
    unlink(oracle_path);
    assert_in_range(accepted_count, FILE_COUNT / 3, FILE_COUNT - 1);
}

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 64u << 20);
    option_groups_of("MariaDB", "10.11.19", NULL, &groups);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_my_print_defaults)};
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
