/*
 * Where SQL ends and variables begin: strings, quoted names and comments as the scanners of the
 * systems take them. PostgreSQL 15, 4.1 Lexical Structure; MySQL 8.0, 9.1 and 9.7; SQLite, "SQL As
 * Understood", tokenize. MySQL's NO_BACKSLASH_ESCAPES and PostgreSQL without
 * standard_conforming_strings are not thought of.
 */
#include <string.h>

#include "sweeper/load/script/script.h"

static bool is_letter(char byte)
{
    unsigned char c = (unsigned char)byte;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_word(char byte)
{
    return is_letter(byte) || is_digit(byte) || byte == '$';
}

/* Up to the closing quote, it included; a doubled one counts as two pieces. */
static size_t quoted_size(const char *at, char quote, bool has_backslash, bool *out_is_closed)
{
    size_t size = 1;
    while (at[size] != '\0' && at[size] != quote) {
        size += has_backslash && at[size] == '\\' && at[size + 1] != '\0' ? 2 : 1;
    }
    *out_is_closed = at[size] != '\0';
    return *out_is_closed ? size + 1 : size;
}

static size_t comment_size(const char *at, bool nests, bool *out_is_closed)
{
    size_t size = 2;
    unsigned depth = 1;
    while (depth > 0 && at[size] != '\0') {
        if (at[size] == '*' && at[size + 1] == '/') {
            depth--;
            size += 2;
        } else if (nests && at[size] == '/' && at[size + 1] == '*') {
            depth++;
            size += 2;
        } else {
            size++;
        }
    }
    *out_is_closed = depth == 0;
    return size;
}

/* $$...$$ or $tag$...$tag$; 0 where the dollar opens no quote. */
static size_t dollar_size(const char *at, bool *out_is_closed)
{
    size_t tag = 1;
    while (is_letter(at[tag]) || (tag > 1 && is_digit(at[tag]))) {
        tag++;
    }
    if (at[tag] != '$') {
        return 0;
    }
    tag++;
    for (size_t size = tag; at[size] != '\0'; size++) {
        if (strncmp(at + size, at, tag) == 0) {
            *out_is_closed = true;
            return size + tag;
        }
    }
    *out_is_closed = false;
    return strlen(at);
}

/* An E that belongs to the string and does not end a word before it. */
static bool is_escape_string(const char *sql, size_t at)
{
    return at > 0 && (sql[at - 1] == 'e' || sql[at - 1] == 'E') &&
           (at == 1 || !is_word(sql[at - 2]));
}

/* The size of a string or a quoted name; 0: none begins here. */
static size_t quote_size(const char *sql, size_t offset, enum dialect dialect, bool *out_is_closed)
{
    const char *at = sql + offset;
    bool is_mysql = dialect == DIALECT_MYSQL;
    bool is_postgresql = dialect == DIALECT_POSTGRESQL;
    switch (at[0]) {
    case '\'':
        return quoted_size(at, '\'', is_mysql || (is_postgresql && is_escape_string(sql, offset)),
                           out_is_closed);
    case '"':
        return quoted_size(at, '"', is_mysql, out_is_closed);
    case '`':
        return is_postgresql ? 0 : quoted_size(at, '`', false, out_is_closed);
    case '[':
        return dialect == DIALECT_SQLITE ? quoted_size(at, ']', false, out_is_closed) : 0;
    case '$':
        return is_postgresql ? dollar_size(at, out_is_closed) : 0;
    default:
        return 0;
    }
}

/* The size of a comment; 0: none begins here. MySQL wants a blank behind two dashes. */
static size_t remark_size(const char *at, enum dialect dialect, bool *out_is_closed)
{
    bool is_mysql = dialect == DIALECT_MYSQL;
    bool is_dashes =
        at[0] == '-' && at[1] == '-' && (!is_mysql || at[2] == '\0' || (unsigned char)at[2] <= ' ');
    if (is_dashes || (is_mysql && at[0] == '#')) {
        return strcspn(at, "\n");
    }
    return at[0] == '/' && at[1] == '*'
               ? comment_size(at, dialect == DIALECT_POSTGRESQL, out_is_closed)
               : 0;
}

static size_t word_size(const char *at)
{
    size_t size = 0;
    while (is_word(at[size])) {
        size++;
    }
    return size;
}

enum script_token script_token(const char *sql, size_t offset, enum dialect dialect,
                               size_t *out_size, bool *out_is_closed)
{
    const char *at = sql + offset;
    *out_is_closed = true;
    if ((*out_size = remark_size(at, dialect, out_is_closed)) > 0) {
        bool is_hint = at[0] == '/' && (at[2] == '+' || at[2] == '!');
        return is_hint ? SCRIPT_TOKEN_HINT : SCRIPT_TOKEN_COMMENT;
    }
    if ((*out_size = quote_size(sql, offset, dialect, out_is_closed)) > 0) {
        return SCRIPT_TOKEN_QUOTED;
    }
    if (is_letter(at[0]) || is_digit(at[0])) {
        *out_size = word_size(at);
        return SCRIPT_TOKEN_WORD;
    }
    *out_size = at[0] != '\0';
    if (at[0] != ':') {
        return SCRIPT_TOKEN_BYTE;
    }
    if (at[1] == ':' || at[1] == '=') { /* a cast, an assignment */
        *out_size = 2;
        return SCRIPT_TOKEN_BYTE;
    }
    if (!is_letter(at[1])) {
        return SCRIPT_TOKEN_BYTE;
    }
    while (is_letter(at[*out_size]) || is_digit(at[*out_size])) {
        (*out_size)++;
    }
    return SCRIPT_TOKEN_VARIABLE;
}

const char *script_literal(struct bytes text, enum dialect dialect, struct arena *arena)
{
    struct text out;
    text_open(&out, arena);
    text_add_char(&out, '\'');
    for (size_t i = 0; i < text.size; i++) {
        bool is_special =
            text.data[i] == '\'' || (text.data[i] == '\\' && dialect == DIALECT_MYSQL);
        if (is_special) {
            text_add_char(&out, text.data[i]);
        }
        text_add_char(&out, text.data[i]);
    }
    text_add_char(&out, '\'');
    return text_done(&out);
}
