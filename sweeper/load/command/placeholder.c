/*
 * Words in braces in a command: the workload's own settings, so that one command serves every
 * condition. Whatever is not a small-letter word between braces is the command's own business
 * (JSON, awk, a shell's ${NAME}).
 */
#include <string.h>

#include "sweeper/load/command/command.h"

enum { WORD_BYTES = 32 };
enum word_kind { WORD_INT, WORD_REAL, WORD_BOOL, WORD_TEXT, WORD_MS, WORD_SECONDS, WORD_MINUTES };

static const struct {
    const char *name;
    enum word_kind kind;
    size_t offset;
} words[] = {
#define WORD(name, kind, member)                                                                   \
    {                                                                                              \
        name, WORD_##kind, offsetof(struct workload_spec, member)                                  \
    }
    WORD("clients", INT, clients),
    WORD("threads", INT, threads),
    WORD("rate", REAL, rate_per_s),
    WORD("warm_up_s", SECONDS, warm_up_ms),
    WORD("warm_up_ms", INT, warm_up_ms),
    WORD("warm_up_min", MINUTES, warm_up_ms),
    WORD("warm_up", MS, warm_up_ms),
    WORD("measure_s", SECONDS, measure_ms),
    WORD("measure_ms", INT, measure_ms),
    WORD("measure_min", MINUTES, measure_ms),
    WORD("measure", MS, measure_ms),
    WORD("drain_s", SECONDS, drain_ms),
    WORD("drain", MS, drain_ms),
    WORD("seed", INT, seed),
    WORD("error_budget", REAL, error_budget_pct),
    WORD("mix", TEXT, mix),
    WORD("tables", INT, tables),
    WORD("rows", INT, rows),
    WORD("range_size", INT, range_size),
    WORD("distribution", TEXT, distribution),
    WORD("skip_trx", BOOL, skip_trx),
    WORD("prepared", BOOL, prepared),
    WORD("warehouses", INT, warehouses),
    WORD("terminals", INT, terminals),
    WORD("rollback_pct", REAL, rollback_pct),
    WORD("payment_by_name_pct", REAL, payment_by_name_pct),
    WORD("keying", REAL, keying),
    WORD("think", REAL, think),
#undef WORD
};

/* The number of words that name settings, for a proposal. */
static const char *nearest_word(const char *name)
{
    const char *names[COUNT_OF(words)];
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        names[i] = words[i].name;
    }
    return text_nearest(name, names, COUNT_OF(words));
}

static void add_real(struct text *out, double value)
{
    char number[32];
    units_format_real(value, number, sizeof number);
    text_add(out, number);
}

static void add_value(struct text *out, const struct workload_spec *spec, size_t word)
{
    const void *member = (const char *)spec + words[word].offset;
    int64_t integer = 0;
    switch (words[word].kind) {
    case WORD_INT:
        text_addf(out, "%lld", (long long)*(const int64_t *)member);
        break;
    case WORD_REAL:
        add_real(out, *(const double *)member);
        break;
    case WORD_BOOL:
        text_add(out, *(const bool *)member ? "true" : "false");
        break;
    case WORD_TEXT:
        text_add(out, *(const char *const *)member != NULL ? *(const char *const *)member : "");
        break;
    case WORD_MS:
        integer = *(const int64_t *)member;
        text_add(out, units_format_duration(out->arena, integer * 1000));
        break;
    case WORD_SECONDS:
        integer = *(const int64_t *)member;
        add_real(out, (double)integer / 1000);
        break;
    case WORD_MINUTES:
        integer = *(const int64_t *)member;
        add_real(out, (double)integer / 60000);
        break;
    }
}

/* The length of "{word}" or "{{word}}" at `at`, and the word; 0: it is neither. */
static size_t read_word(const char *at, char word[WORD_BYTES], bool *out_is_literal)
{
    *out_is_literal = at[0] == '{' && at[1] == '{';
    size_t braces = *out_is_literal ? 2 : 1;
    size_t length = strspn(at + braces, "abcdefghijklmnopqrstuvwxyz_");
    if (at[0] != '{' || length == 0 || length >= WORD_BYTES || at[braces + length] != '}' ||
        (*out_is_literal && at[braces + length + 1] != '}')) {
        return 0;
    }
    memcpy(word, at + braces, length);
    word[length] = '\0';
    return length + 2 * braces;
}

static bool add_word(struct text *out, const struct workload_spec *spec, const char *word,
                     struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i].name, word) == 0) {
            add_value(out, spec, i);
            return true;
        }
    }
    const char *near = nearest_word(word);
    err_set(err, ERR_CODE_sweep_file, "{%s} in the command is no setting of the workload", word);
    return near != NULL ? err_hint(err, "did you mean {%s}? {{%s}} stands for braces", near, word)
                        : err_hint(err, "{{%s}} stands for the word with its braces", word);
}

static bool fill_one(const struct workload_spec *spec, const char *pattern, struct arena *arena,
                     const char **out, struct err *err)
{
    struct text text;
    text_open(&text, arena);
    while (*pattern != '\0') {
        char word[WORD_BYTES];
        bool is_literal = false;
        size_t length = read_word(pattern, word, &is_literal);
        if (length == 0) {
            text_add_char(&text, *pattern++);
            continue;
        }
        pattern += length;
        if (is_literal) {
            text_addf(&text, "{%s}", word);
        } else if (!add_word(&text, spec, word, err)) {
            return false;
        }
    }
    *out = text_done(&text);
    return *out != NULL || err_memory(err);
}

bool command_fill(const struct workload_spec *spec, struct arena *arena,
                  const char *const **out_argv, struct err *err)
{
    size_t count = 0;
    while (spec->command != NULL && spec->command[count] != NULL) {
        count++;
    }
    const char **argv = ARENA_ARRAY(arena, const char *, count + 1);
    if (argv == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!fill_one(spec, spec->command[i], arena, &argv[i], err)) {
            return false;
        }
    }
    *out_argv = argv;
    return true;
}
