/*
 * Skips what PostgreSQL's scanner takes as one piece: strings (with backslashes where E stands
 * before them), quoted names, dollar quotes and comments, which nest. Manual 15, 4.1 Lexical
 * Structure.
 */
#include "backends/postgresql/placeholder.h"

#include <string.h>

static bool is_word(char byte)
{
    unsigned char c = (unsigned char)byte;
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c >= 0x80;
}

/* Bytes up to the closing quote, it included; a doubled one counts as two pieces. */
static size_t quoted_size(const char *at, char quote, bool has_backslash)
{
    size_t size = 1;
    while (at[size] != '\0' && at[size] != quote) {
        size += has_backslash && at[size] == '\\' && at[size + 1] != '\0' ? 2 : 1;
    }
    return at[size] == '\0' ? size : size + 1;
}

static size_t comment_size(const char *at)
{
    size_t size = 2;
    for (unsigned depth = 1; depth > 0 && at[size] != '\0';) {
        if (strncmp(at + size, "/*", 2) == 0) {
            depth++;
            size += 2;
        } else if (strncmp(at + size, "*/", 2) == 0) {
            depth--;
            size += 2;
        } else {
            size++;
        }
    }
    return size;
}

/* $$...$$ or $tag$...$tag$; 1 where the dollar opens no quote. */
static size_t dollar_size(const char *at)
{
    size_t tag = 1;
    while (is_word(at[tag])) {
        tag++;
    }
    bool is_number = at[1] >= '0' && at[1] <= '9';
    if (at[tag] != '$' || is_number) {
        return 1;
    }
    tag++;
    for (size_t size = tag; at[size] != '\0'; size++) {
        if (strncmp(at + size, at, tag) == 0) {
            return size + tag;
        }
    }
    return strlen(at);
}

/* An E that belongs to the string and does not end a word before it. */
static bool is_escape_string(const char *sql, size_t at)
{
    return at > 0 && (sql[at - 1] == 'e' || sql[at - 1] == 'E') &&
           (at == 1 || !is_word(sql[at - 2]));
}

/* Size of the piece at sql[at] that holds no placeholder. */
static size_t piece_size(const char *sql, size_t offset)
{
    const char *at = sql + offset;
    switch (at[0]) {
    case '\'':
        return quoted_size(at, '\'', is_escape_string(sql, offset));
    case '"':
        return quoted_size(at, '"', false);
    case '$':
        return offset > 0 && is_word(at[-1]) ? 1 : dollar_size(at);
    case '-':
        return at[1] == '-' ? strcspn(at, "\n") : 1;
    case '/':
        return at[1] == '*' ? comment_size(at) : 1;
    default:
        return 1;
    }
}

size_t placeholder_number(const char *sql, struct text *out)
{
    size_t count = 0;
    for (size_t at = 0; sql[at] != '\0';) {
        if (sql[at] != '?') {
            size_t size = piece_size(sql, at);
            text_add_bytes(out, sql + at, size);
            at += size;
        } else if (sql[at + 1] == '?') {
            text_add_char(out, '?');
            at += 2;
        } else {
            text_addf(out, "$%zu", ++count);
            at++;
        }
    }
    return count;
}
