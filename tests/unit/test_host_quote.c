/*
 * Quoting, against real shells: words of random bytes go through every POSIX shell of this machine
 * and must come back as they were, in every place of a command line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/text.h"
#include "sweeper/host/host.h"

#define WORDS_AT_ONCE 200
#define WORD_BYTES 40

static struct arena arena;
static struct host *host;
static struct err err;

static int open_all(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)64 * 1024 * 1024);
    return host_open(NULL, clock_deadline_ms(1000), &host, &err) ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    host_close(host);
    arena_close(&arena);
    return 0;
}

static const char *quoted(const char *const *argv)
{
    const char *line = host_quote(&arena, argv);
    assert_non_null(line);
    return line;
}

/* What the shell makes of a script on its standard input. */
static struct host_result shell(const char *program, const char *script)
{
    struct host_result result;
    const char *const argv[] = {program, NULL};
    const struct host_command command = {.argv = argv,
                                         .input = {.data = script, .size = strlen(script)},
                                         .deadline = clock_deadline_ms(60000)};
    if (!host_run(host, &command, &arena, &result, &err))
        fail_msg("%s: %s", program, err.text);
    return result;
}

/* `printf '%s\0'` of the words, through the shell, against the words. */
static void assert_same(const char *program, const char *const *words, size_t count)
{
    const char *argv[WORDS_AT_ONCE + 3] = {"printf", "%s\\000"};
    struct text wanted;
    text_open(&wanted, &arena);
    for (size_t i = 0; i < count; i++) {
        argv[i + 2] = words[i];
        text_add_bytes(&wanted, words[i], strlen(words[i]) + 1);
    }
    struct host_result result = shell(program, quoted(argv));
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(result.output_size, wanted.size);
    assert_memory_equal(result.output, wanted.data, wanted.size);
}

static const char *const shells[] = {"/bin/sh",  "/bin/bash", "/bin/dash",
                                     "/bin/ksh", "/bin/zsh",  "/bin/busybox-sh"};

/* Half of the bytes are such as shells know: they meet each other more often that way. */
static const char *random_word(unsigned *seed)
{
    static const char known[] = "'\"\\$`!*?[]{}()<>|&;#~=%^- \t\n\r/.:,@+aZ0\x7f\x80\xff\xc3\xa9";
    size_t size = (size_t)rand_r(seed) % WORD_BYTES;
    char *word = arena_alloc(&arena, size + 1);
    assert_non_null(word);
    for (size_t i = 0; i < size; i++) {
        unsigned number = (unsigned)rand_r(seed);
        word[i] = number % 2 == 0 ? known[(number >> 8) % (sizeof known - 1)]
                                  : (char)(1 + (number >> 8) % 255);
    }
    return word;
}

static void random_words_come_back(void **state)
{
    (void)state;
    const char *fixed = getenv("DBSWEEP_TEST_SEED");
    unsigned seed = fixed != NULL ? (unsigned)strtoul(fixed, NULL, 10) : (unsigned)clock_now_ns();
    print_message("DBSWEEP_TEST_SEED=%u\n", seed);
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        for (int round = 0; access(shells[i], X_OK) == 0 && round < 10; round++) {
            const char *words[WORDS_AT_ONCE];
            for (size_t j = 0; j < WORDS_AT_ONCE; j++)
                words[j] = random_word(&seed);
            assert_same(shells[i], words, WORDS_AT_ONCE);
        }
    }
}

static void every_byte_and_pair_comes_back(void **state)
{
    (void)state;
    static char single[255][2];
    const char *words[WORDS_AT_ONCE];
    for (size_t i = 0; i < COUNT_OF(single); i++)
        single[i][0] = (char)(i + 1);
    for (size_t at = 0; at < COUNT_OF(single); at += WORDS_AT_ONCE) {
        size_t count = 0;
        for (; count < WORDS_AT_ONCE && at + count < COUNT_OF(single); count++)
            words[count] = single[at + count];
        assert_same("/bin/sh", words, count);
    }
    static const char *const odd[] = {"",     "''", "'",     "\\'",    "'\\''", "\\",
                                      "$'x'", "!!", "\n",    "a\nb\n", "=ls",   "~root",
                                      "-",    "--", "a'b'c", "{a,b}"};
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        if (access(shells[i], X_OK) == 0)
            assert_same(shells[i], odd, COUNT_OF(odd));
    }
}

/* In the first place a keyword or an assignment would be taken for what it is not. */
static void the_first_word_is_a_command(void **state)
{
    (void)state;
    static const char *const first[] = {
        "if",   "then", "fi",     "for",      "while",  "until", "case", "esac", "do",
        "done", "else", "elif",   "in",       "!",      "{",     "}",    "A=b",  "time",
        "[[",   "]]",   "select", "function", "coproc", "#x",    "~"};
    for (size_t i = 0; i < COUNT_OF(shells); i++) {
        for (size_t j = 0; access(shells[i], X_OK) == 0 && j < COUNT_OF(first); j++) {
            const char *name = first[j];
            if (strcmp(name, "in") == 0 || strcmp(name, "time") == 0)
                continue; /* may exist as commands */
            const char *const argv[] = {name, "x", NULL};
            struct host_result result = shell(shells[i], quoted(argv));
            if (result.exit_status != 127)
                fail_msg("%s took '%s' for something else", shells[i], name);
        }
    }
}

static void harmless_words_stay_readable(void **state)
{
    (void)state;
    const char *const argv[] = {"pg_ctl",      "-D",      "/var/lib/postgresql/15/main",
                                "--mode=fast", "restart", "if",
                                "it's",        "",        NULL};
    assert_string_equal(quoted(argv),
                        "pg_ctl -D /var/lib/postgresql/15/main --mode=fast restart if "
                        "'it'\\''s' ''");
    const char *const keyword[] = {"if", NULL};
    assert_string_equal(quoted(keyword), "'if'");
    const char *const none[] = {NULL};
    assert_string_equal(quoted(none), "");
}

static void memory_ends_quietly(void **state)
{
    (void)state;
    struct arena small;
    char word[4096];
    memset(word, '\'', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *const argv[] = {"x", word, NULL};
    arena_open(&small, 2048);
    assert_null(host_quote(&small, argv));
    arena_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_words_come_back, open_all, close_all),
        cmocka_unit_test_setup_teardown(every_byte_and_pair_comes_back, open_all, close_all),
        cmocka_unit_test_setup_teardown(the_first_word_is_a_command, open_all, close_all),
        cmocka_unit_test_setup_teardown(harmless_words_stay_readable, open_all, close_all),
        cmocka_unit_test_setup_teardown(memory_ends_quietly, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
