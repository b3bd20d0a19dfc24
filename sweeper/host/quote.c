/*
 * argv as one POSIX shell word list. A word of harmless characters stands as it is, so that
 * messages stay readable; anything else goes between single quotes, where only the single quote
 * itself has a meaning. The first word is also quoted where a shell would take it for a keyword
 * or an assignment. Bytes are bytes: no character set is assumed.
 */
#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/host/host.h"

/* Reserved words of POSIX.1-2008 XCU 2.4 and of bash, ksh and zsh; those with other characters
 * than letters are quoted anyway. */
static bool is_keyword(const char *word)
{
    static const char *const keywords[] = {
        "case",   "do",      "done", "elif",   "else",      "esac",      "fi",     "for",
        "if",     "in",      "then", "until",  "while",     "function",  "select", "time",
        "coproc", "foreach", "end",  "repeat", "nocorrect", "namespace",
    };
    for (size_t i = 0; i < COUNT_OF(keywords); i++) {
        if (strcmp(word, keywords[i]) == 0)
            return true;
    }
    return false;
}

static bool is_harmless(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("_@%+:,./-=", byte) != NULL);
}

static bool stands_as_is(const char *word, bool is_first)
{
    if (word[0] == '\0' || (is_first && (is_keyword(word) || strchr(word, '=') != NULL)))
        return false;
    /* zsh expands "=name"; "~" is not harmless at all */
    if (word[0] == '=')
        return false;
    for (const char *at = word; *at != '\0'; at++) {
        if (!is_harmless(*at))
            return false;
    }
    return true;
}

static void add_quoted(struct text *text, const char *word)
{
    text_add_char(text, '\'');
    for (;;) {
        size_t plain = strcspn(word, "'");
        text_add_bytes(text, word, plain);
        word += plain;
        if (*word == '\0')
            break;
        text_add(text, "'\\''");
        word++;
    }
    text_add_char(text, '\'');
}

const char *host_quote(struct arena *arena, const char *const *argv)
{
    struct text text;
    text_open(&text, arena);
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (i > 0)
            text_add_char(&text, ' ');
        if (stands_as_is(argv[i], i == 0))
            text_add(&text, argv[i]);
        else
            add_quoted(&text, argv[i]);
    }
    return text_done(&text);
}
