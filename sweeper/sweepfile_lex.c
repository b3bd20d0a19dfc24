/*
 * The pass over a sweep file before libconfig. libconfig 1.5 reads 4294967296 as 0 and saturates
 * without a word, and it loses the memory of a text in front of a syntax error. So neither numbers
 * nor texts reach it: each becomes the index of its exact text in a list, on the same line.
 *
 * What libconfig notices but reports badly is found here too: a setting that stands twice, texts
 * and comments that never end. As it would join adjacent texts, values without a separator are
 * refused. Nothing else is judged: the grammar is libconfig's.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/sweepfile_node.h"

/* libconfig's time grows with the square of what a group or a list holds. */
enum { DEPTH_LIMIT = 32, GROUP_LIMIT = 4096, LIST_LIMIT = 65536, NUMBER_LIMIT = 64 };

enum token { TOKEN_OTHER, TOKEN_NAME, TOKEN_STRING, TOKEN_NUMBER };

/* A setting's name in its group. */
struct seen {
    const struct seen *older;
    struct bytes name;
    int line;
};

/* One pair of brackets that is open. Groups count their names, lists their commas. */
struct scope {
    const struct seen *newest;
    size_t name_count;
    size_t comma_count;
};

struct lexer {
    const struct reader *reader;
    const char *at;
    int line;
    struct text out;
    enum token before; /* the token before this one */
    struct bytes name; /* the last name, and its line */
    int name_line;
    struct scope scopes[DEPTH_LIMIT];
    size_t depth;
    struct lexed *values;
    size_t capacity;
};

/* ASCII only, whatever the locale says. */
static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool is_name_byte(char byte)
{
    return byte != '\0' && (is_letter(byte) || is_digit(byte) || strchr("_*-", byte) != NULL);
}

static void skip(struct lexer *lexer, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        lexer->line += lexer->at[i] == '\n';
    }
    lexer->at += size;
}

static void copy(struct lexer *lexer, size_t size)
{
    text_add_bytes(&lexer->out, lexer->at, size);
    skip(lexer, size);
}

/* ---- what is passed over ---- */

/* Length of the comment that starts here: 0 none, SIZE_MAX it never ends. */
static size_t comment_length(const char *at)
{
    if (at[0] == '#' || (at[0] == '/' && at[1] == '/')) {
        return strcspn(at, "\n");
    }
    if (at[0] != '/' || at[1] != '*') {
        return 0;
    }
    const char *end = strstr(at + 2, "*/");
    return end != NULL ? (size_t)(end - at) + 2 : SIZE_MAX;
}

/* Length of the string that starts here with its quotes; SIZE_MAX: it never ends. */
static size_t string_length(const char *at)
{
    size_t size = 1;
    while (at[size] != '\0' && at[size] != '"') {
        size += at[size] == '\\' && at[size + 1] != '\0' ? 2 : 1;
    }
    return at[size] == '"' ? size + 1 : SIZE_MAX;
}

static bool lex_comment(struct lexer *lexer, size_t size)
{
    if (size == SIZE_MAX) {
        return reader_fail(lexer->reader, lexer->line, "this comment is never closed");
    }
    copy(lexer, size);
    return true;
}

static bool fail_separator(const struct lexer *lexer)
{
    reader_fail(lexer->reader, lexer->line, "there is no separator between two values");
    return err_hint(lexer->reader->err, "put a comma between them, or one pair of quotes around");
}

/* ---- values ---- */

/* The value's index takes its place. */
static bool add_value(struct lexer *lexer, const char *text)
{
    struct lexed *values = lexer->values;
    if (text == NULL) {
        return err_memory(lexer->reader->err);
    }
    if (values->count == lexer->capacity) {
        size_t larger = lexer->capacity == 0 ? 64 : 2 * lexer->capacity;
        const char **grown = ARENA_ARRAY(lexer->reader->arena, const char *, larger);
        if (grown == NULL) {
            return err_memory(lexer->reader->err);
        }
        if (values->count > 0) {
            memcpy(grown, values->texts, values->count * sizeof *grown);
        }
        values->texts = grown;
        lexer->capacity = larger;
    }
    text_addf(&lexer->out, " %zu ", values->count);
    values->texts[values->count++] = text;
    return true;
}

/* ---- texts ---- */

static int hex_digit(char byte)
{
    const char *digits = "0123456789abcdef";
    const char *found = byte != '\0' ? strchr(digits, byte | 0x20) : NULL;
    return found != NULL && (is_digit(byte) || is_letter(byte)) ? (int)(found - digits) : -1;
}

/* The escapes of libconfig 1.5; a backslash before anything else stands for itself. Returns how
 * many bytes were read. */
static size_t add_escape(const char *at, struct text *out)
{
    static const char names[] = "nrtf\\\"";
    static const char bytes[] = "\n\r\t\f\\\"";
    const char *found = at[1] != '\0' ? strchr(names, at[1]) : NULL;
    if (found != NULL) {
        text_add_char(out, bytes[found - names]);
        return 2;
    }
    if ((at[1] == 'x' || at[1] == 'X') && hex_digit(at[2]) >= 0 && hex_digit(at[3]) >= 0) {
        text_add_char(out, (char)(hex_digit(at[2]) * 16 + hex_digit(at[3])));
        return 4;
    }
    text_add_char(out, '\\');
    return 1;
}

/* What stands between the quotes. */
static void add_text(const char *at, size_t size, struct text *out)
{
    const char *end = at + size;
    while (at < end) {
        if (*at == '\\') {
            at += add_escape(at, out);
        } else {
            text_add_char(out, *at++);
        }
    }
}

/* Adjacent texts are one, as in C and in libconfig. */
static bool keep_text(struct lexer *lexer, const char *at, size_t size)
{
    struct lexed *values = lexer->values;
    bool is_joined = lexer->before == TOKEN_STRING;
    struct text text;
    text_open(&text, lexer->reader->arena);
    if (is_joined) {
        text_add(&text, values->texts[values->count - 1]);
    }
    add_text(at, size, &text);
    const char *done = text_done(&text);
    if (done != NULL && strlen(done) != text.size) {
        return reader_fail(lexer->reader, lexer->line, "a text cannot hold a NUL byte");
    }
    if (!is_joined || done == NULL) {
        return add_value(lexer, done);
    }
    values->texts[values->count - 1] = done;
    return true;
}

static bool lex_string(struct lexer *lexer)
{
    size_t size = string_length(lexer->at);
    if (size == SIZE_MAX) {
        return reader_fail(lexer->reader, lexer->line, "this text is never closed");
    }
    if (lexer->before == TOKEN_NUMBER) {
        return fail_separator(lexer);
    }
    if (!keep_text(lexer, lexer->at + 1, size - 2)) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (lexer->at[i] == '\n') {
            text_add_char(&lexer->out, '\n');
        }
    }
    skip(lexer, size);
    lexer->before = TOKEN_STRING;
    return true;
}

/* ---- numbers ---- */

static bool starts_number(const char *at)
{
    at += *at == '-' || *at == '+';
    return is_digit(at[0]) || (at[0] == '.' && is_digit(at[1]));
}

/* All that is stuck to the number, so that "10MB" and "1_000" are seen whole. */
static size_t number_length(const char *at)
{
    size_t size = *at == '-' || *at == '+' ? 1 : 0;
    while (is_digit(at[size]) || is_letter(at[size]) || at[size] == '_' || at[size] == '.' ||
           at[size] == '%' ||
           ((at[size] == '-' || at[size] == '+') && (at[size - 1] == 'e' || at[size - 1] == 'E'))) {
        size++;
    }
    return size;
}

/* Sixteen digits at most, in 63 bits. */
static bool read_hex(const char *digits, int64_t *out)
{
    uint64_t value = 0;
    size_t count = strlen(digits);
    if (count == 0 || count > 16) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (hex_digit(digits[i]) < 0) {
            return false;
        }
        value = value * 16 + (uint64_t)hex_digit(digits[i]);
    }
    *out = (int64_t)value;
    return value <= INT64_MAX;
}

/* libconfig's suffix for 64 bits says nothing here, where all have 64. */
static void cut_suffix(char *token)
{
    char *end = token + strlen(token);
    for (int i = 0; i < 2 && end > token && end[-1] == 'L'; i++) {
        *--end = '\0';
    }
}

static bool fail_number(const struct lexer *lexer, const char *token, const char *what)
{
    reader_fail(lexer->reader, lexer->line, "%.40s %s", token, what);
    lexer->reader->err->code = ERR_CODE_number;
    return false;
}

static bool fail_real(const struct lexer *lexer, const char *token)
{
    const char *unit = token + strspn(token, "+-0123456789.");
    fail_number(lexer, token, "is not a number");
    return *unit != '\0' && *unit != '_' && strpbrk(unit, "0123456789") == NULL
               ? err_hint(lexer->reader->err, "write what has a unit as a text: \"%.40s\"", token)
               : false;
}

/* A whole number, as libconfig writes them; else a real one. */
static bool add_number(struct lexer *lexer, const char *token)
{
    char whole[NUMBER_LIMIT];
    int64_t integer = 0;
    double real = 0;
    struct err ignored;
    struct arena *arena = lexer->reader->arena;
    bool has_sign = token[0] == '-' || token[0] == '+';
    snprintf(whole, sizeof whole, "%s", token);
    cut_suffix(whole);
    const char *digits = whole + has_sign;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        return !has_sign && read_hex(digits + 2, &integer)
                   ? add_value(lexer, arena_printf(arena, "%lld", (long long)integer))
                   : fail_number(lexer, token, "is no hexadecimal number of 63 bits");
    }
    if (digits[strspn(digits, "0123456789")] == '\0') {
        return units_parse_int(whole, &integer, &ignored)
                   ? add_value(lexer, arena_strdup(arena, whole + (whole[0] == '+')))
                   : fail_number(lexer, token, "does not fit into 64 bits");
    }
    return units_parse_real(token, &real, &ignored)
               ? add_value(lexer, arena_strdup(arena, token + (token[0] == '+')))
               : fail_real(lexer, token);
}

static bool lex_number(struct lexer *lexer)
{
    size_t size = number_length(lexer->at);
    char token[NUMBER_LIMIT];
    snprintf(token, sizeof token, "%.*s", (int)(size < sizeof token ? size : sizeof token),
             lexer->at);
    if (size >= sizeof token) {
        return fail_number(lexer, token, "... is too long for a number");
    }
    if (lexer->before == TOKEN_NUMBER || lexer->before == TOKEN_STRING) {
        return fail_separator(lexer);
    }
    if (!add_number(lexer, token)) {
        return false;
    }
    skip(lexer, size);
    lexer->before = TOKEN_NUMBER;
    return true;
}

/* ---- settings and brackets ---- */

static void lex_name(struct lexer *lexer)
{
    size_t size = 0;
    while (is_name_byte(lexer->at[size])) {
        size++;
    }
    lexer->name = (struct bytes){.data = lexer->at, .size = size};
    lexer->name_line = lexer->line;
    copy(lexer, size);
    lexer->before = TOKEN_NAME;
}

/* A name before "=": the setting's line is the line of its name. */
static bool keep_setting(struct lexer *lexer)
{
    struct scope *scope = &lexer->scopes[lexer->depth];
    for (const struct seen *seen = scope->newest; seen != NULL; seen = seen->older) {
        if (seen->name.size == lexer->name.size &&
            memcmp(seen->name.data, lexer->name.data, seen->name.size) == 0) {
            return reader_fail(
                lexer->reader, lexer->name_line, "%.*s is set twice, first in line %d",
                (int)(seen->name.size < 60 ? seen->name.size : 60), seen->name.data, seen->line);
        }
    }
    if (scope->name_count == GROUP_LIMIT) {
        return reader_fail(lexer->reader, lexer->name_line, "a group has more than %d settings",
                           GROUP_LIMIT);
    }
    struct seen *seen = ARENA_NEW(lexer->reader->arena, struct seen);
    if (seen == NULL) {
        return err_memory(lexer->reader->err);
    }
    *seen = (struct seen){.older = scope->newest, .name = lexer->name, .line = lexer->name_line};
    scope->newest = seen;
    scope->name_count++;
    return true;
}

static bool lex_mark(struct lexer *lexer)
{
    char mark = *lexer->at;
    if ((mark == '=' || mark == ':') && lexer->before == TOKEN_NAME && !keep_setting(lexer)) {
        return false;
    }
    if (mark == ',' && ++lexer->scopes[lexer->depth].comma_count >= LIST_LIMIT) {
        return reader_fail(lexer->reader, lexer->line, "a list has more than %d values",
                           LIST_LIMIT);
    }
    if (strchr("{[(", mark) != NULL) {
        if (lexer->depth + 1 == DEPTH_LIMIT) {
            return reader_fail(lexer->reader, lexer->line, "the file is nested too deeply");
        }
        lexer->scopes[++lexer->depth] = (struct scope){.newest = NULL};
    }
    if (strchr("}])", mark) != NULL && lexer->depth > 0) {
        lexer->depth--;
    }
    copy(lexer, 1);
    lexer->before = TOKEN_OTHER;
    return true;
}

static bool lex_token(struct lexer *lexer)
{
    size_t comment = comment_length(lexer->at);
    if (comment > 0) {
        return lex_comment(lexer, comment);
    }
    if (strchr(" \t\r\n\f", *lexer->at) != NULL) {
        copy(lexer, 1);
        return true;
    }
    if (*lexer->at == '"') {
        return lex_string(lexer);
    }
    if (*lexer->at == '@') {
        reader_fail(lexer->reader, lexer->line, "directives such as @include are not allowed");
        return err_hint(lexer->reader->err,
                        "a sweep file is one file, which is kept with the results");
    }
    if (starts_number(lexer->at)) {
        return lex_number(lexer);
    }
    if (is_letter(*lexer->at) || *lexer->at == '*') {
        lex_name(lexer);
        return true;
    }
    return lex_mark(lexer);
}

/* ---- UTF-8 ---- */

static bool check_utf8(const struct reader *reader, const char *text)
{
    int line = 1;
    for (const char *at = text; *at != '\0';) {
        size_t size = text_character_length(at);
        if (size == 0) {
            reader_fail(reader, line, "the byte 0x%02x is not UTF-8", (unsigned char)*at);
            return err_hint(reader->err, "save the file as UTF-8");
        }
        line += *at == '\n';
        at += size;
    }
    return true;
}

bool sweepfile_lex(const struct reader *reader, const char *text, const char **out,
                   struct lexed *out_values)
{
    struct lexer lexer = {.reader = reader, .at = text, .line = 1, .values = out_values};
    *out_values = (struct lexed){.texts = NULL};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) {
        lexer.at += 3; /* the mark that some editors put before UTF-8 */
    }
    text_open(&lexer.out, reader->arena);
    if (!check_utf8(reader, text)) {
        return false;
    }
    while (*lexer.at != '\0') {
        if (!lex_token(&lexer)) {
            return false;
        }
    }
    *out = text_done(&lexer.out);
    return *out != NULL || err_memory(reader->err);
}
