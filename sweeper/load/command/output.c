/*
 * Searching a program's output, line by line: a pattern never sees more than one line, so that its
 * anchors mean the line's ends and hostile output cannot make a match expensive.
 */
#include <regex.h>
#include <string.h>

#include "sweeper/load/command/command.h"

enum { LINE_BYTES = 4096, GROUPS = 2 };

struct search {
    regex_t regex;
    const char *at;
    const char *end;
    char line[LINE_BYTES]; /* longer ones are cut */
};

static bool search_open(struct search *search, const char *output, size_t size, const char *pattern)
{
    search->at = output;
    search->end = output + size;
    return regcomp(&search->regex, pattern, REG_EXTENDED) == 0;
}

/* Copies the next line without its end; bytes that no text holds end a line, too. */
static bool search_line(struct search *search)
{
    size_t length = 0;
    if (search->at >= search->end) {
        return false;
    }
    while (search->at < search->end && *search->at != '\n' && *search->at != '\r' &&
           *search->at != '\0') {
        if (length < LINE_BYTES - 1) {
            search->line[length++] = *search->at;
        }
        search->at++;
    }
    search->at++;
    search->line[length] = '\0';
    return true;
}

/* A number of the usual forms, whole; a leading plus is fine. */
static bool read_number(const char *text, double *out)
{
    struct err ignored;
    err_clear(&ignored);
    return units_parse_real(text[0] == '+' ? text + 1 : text, out, &ignored);
}

enum command_found command_find(const char *output, size_t size, const char *regex, double *out,
                                char text[COMMAND_TEXT_BYTES])
{
    struct search search;
    enum command_found found = COMMAND_ABSENT;
    regmatch_t groups[GROUPS];
    text[0] = '\0';
    if (!search_open(&search, output, size, regex)) {
        return COMMAND_ABSENT;
    }
    while (search_line(&search)) {
        if (regexec(&search.regex, search.line, GROUPS, groups, 0) != 0) {
            continue;
        }
        const regmatch_t *group = search.regex.re_nsub > 0 ? &groups[1] : &groups[0];
        size_t length = group->rm_so >= 0 ? (size_t)(group->rm_eo - group->rm_so) : 0;
        bool fits = length < COMMAND_TEXT_BYTES;
        length = fits ? length : COMMAND_TEXT_BYTES - 1;
        memcpy(text, search.line + (group->rm_so >= 0 ? group->rm_so : 0), length);
        text[length] = '\0';
        found = fits && read_number(text, out) ? COMMAND_FOUND : COMMAND_NO_NUMBER;
    }
    regfree(&search.regex);
    return found;
}

/* "ReadRecord/01   [ 362] ****" */
static double bracketed(const char *line)
{
    const char *open = strrchr(line, '[');
    struct err ignored;
    int64_t number = 0;
    char digits[32];
    size_t length = 0;
    if (open == NULL) {
        return 0;
    }
    open += 1 + strspn(open + 1, " ");
    length = strspn(open, "0123456789");
    if (length == 0 || length >= sizeof digits || open[length] != ']') {
        return 0;
    }
    memcpy(digits, open, length);
    digits[length] = '\0';
    err_clear(&ignored);
    return units_parse_int(digits, &number, &ignored) ? (double)number : 0;
}

bool command_sum(const char *output, size_t size, const char *regex, double *out)
{
    struct search search;
    bool is_found = false;
    bool is_within = false;
    *out = 0;
    if (!search_open(&search, output, size, regex)) {
        return false;
    }
    while (search_line(&search)) {
        if (regexec(&search.regex, search.line, 0, NULL, 0) == 0) {
            is_found = is_within = true;
            *out = 0;
        } else if (is_within) {
            is_within = search.line[strspn(search.line, " \t")] != '\0';
            *out += bracketed(search.line);
        }
    }
    regfree(&search.regex);
    return is_found;
}

bool command_has_line(const char *output, size_t size, const char *regex)
{
    struct search search;
    bool has_line = false;
    if (!search_open(&search, output, size, regex)) {
        return false;
    }
    while (!has_line && search_line(&search)) {
        has_line = regexec(&search.regex, search.line, 0, NULL, 0) == 0;
    }
    regfree(&search.regex);
    return has_line;
}
