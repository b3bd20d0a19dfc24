/*
 * The lexical pass before libconfig: libconfig reads 4294967296 as 0 and saturates silently, so no
 * number reaches it. Each one is checked here and becomes a quoted string of its exact text.
 */
#include <ctype.h>
#include <string.h>

#include "sweeper/sweepfile_node.h"

struct lexer {
    const char *path;
    const char *at;
    int line;
    struct text out;
    struct err *err;
};

static bool lex_err(struct lexer *lexer, const char *what, const char *token, size_t size)
{
    err_set(lexer->err, ERR_CODE_number, "%s: %.*s", what, (int)(size > 60 ? 60 : size), token);
    return err_origin(lexer->err, "%s:%d", lexer->path, lexer->line);
}

static void copy(struct lexer *lexer, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        lexer->line += lexer->at[i] == '\n';
    }
    text_add_bytes(&lexer->out, lexer->at, size);
    lexer->at += size;
}

/* Length of a comment or string that starts here, 0 where none does. */
static size_t skipped_length(const char *at)
{
    if (at[0] == '#' || (at[0] == '/' && at[1] == '/')) {
        return strcspn(at, "\n");
    }
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end != NULL ? (size_t)(end - at) + 2 : strlen(at);
    }
    if (at[0] == '"') {
        size_t size = 1;
        while (at[size] != '\0' && at[size] != '"') {
            size += at[size] == '\\' && at[size + 1] != '\0' ? 2 : 1;
        }
        return size + (at[size] == '"');
    }
    return 0;
}

static bool starts_number(const char *at)
{
    if (*at == '-' || *at == '+') {
        at++;
    }
    return isdigit((unsigned char)at[0]) || (at[0] == '.' && isdigit((unsigned char)at[1]));
}

static size_t number_length(const char *at)
{
    size_t size = *at == '-' || *at == '+' ? 1 : 0;
    while (isalnum((unsigned char)at[size]) || at[size] == '_' || at[size] == '.' ||
           ((at[size] == '-' || at[size] == '+') && (at[size - 1] == 'e' || at[size - 1] == 'E'))) {
        size++;
    }
    return size;
}

/* Hexadecimal as decimal text; false: malformed or over 63 bits. */
static bool read_hex(const char *digits, int64_t *out)
{
    uint64_t value = 0;
    size_t count = strlen(digits);
    if (count == 0 || count > 16 || strspn(digits, "0123456789abcdefABCDEF") != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        int digit = tolower((unsigned char)digits[i]);
        value = value * 16 + (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    *out = (int64_t)value;
    return value <= INT64_MAX;
}

static bool lex_number(struct lexer *lexer)
{
    size_t size = number_length(lexer->at);
    char token[64];
    if (size >= sizeof token) {
        return lex_err(lexer, "this number is too long", lexer->at, size);
    }
    memcpy(token, lexer->at, size);
    token[size] = '\0';
    char *end = token + size;
    while (end > token && end[-1] == 'L') {
        *--end = '\0';
    }
    const char *digits = token + (*token == '-' || *token == '+');
    int64_t whole = 0;
    double real = 0;
    bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    bool is_whole = digits[strspn(digits, "0123456789")] == '\0';
    bool ok = is_hex     ? digits == token && read_hex(digits + 2, &whole)
              : is_whole ? units_parse_int(token, &whole, lexer->err)
                         : units_parse_real(token, &real, lexer->err);
    if (!ok) {
        lex_err(lexer,
                is_hex || is_whole ? "this number does not fit into 64 bits"
                                   : "this is not a number",
                lexer->at, size);
        return err_hint(lexer->err, "write values with units as text: \"4G\"");
    }
    if (is_hex) {
        text_addf(&lexer->out, "\"%lld\"", (long long)whole);
    } else {
        text_addf(&lexer->out, "\"%s\"", token + (*token == '+'));
    }
    lexer->at += size;
    return true;
}

static size_t name_length(const char *at)
{
    size_t size = 0;
    while (isalnum((unsigned char)at[size]) || at[size] == '_' || at[size] == '*' ||
           at[size] == '-') {
        size++;
    }
    return size;
}

bool sweepfile_lex(const char *path, const char *text, struct arena *arena, const char **out,
                   struct err *err)
{
    struct lexer lexer = {.path = path, .at = text, .line = 1, .err = err};
    text_open(&lexer.out, arena);
    while (*lexer.at != '\0') {
        size_t skipped = skipped_length(lexer.at);
        if (skipped > 0) {
            copy(&lexer, skipped);
        } else if (*lexer.at == '@') {
            lex_err(&lexer, "directives are not allowed", lexer.at, strcspn(lexer.at, "\n"));
            return err_hint(err, "put everything into one file: it is kept with the results");
        } else if (starts_number(lexer.at)) {
            if (!lex_number(&lexer)) {
                return false;
            }
        } else if (isalpha((unsigned char)*lexer.at) || *lexer.at == '*') {
            copy(&lexer, name_length(lexer.at));
        } else {
            copy(&lexer, 1);
        }
    }
    *out = text_done(&lexer.out);
    return *out != NULL || err_memory(err);
}
