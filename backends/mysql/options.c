/*
 * Reading option files: lines, groups and names. A file that the server would not read either is
 * an error, because what stands behind the fault cannot be known.
 */
#include "backends/mysql/options.h"

#include <stdio.h>
#include <string.h>

#include "sweeper/base/text.h"

/* The server reads lines into a buffer of 4096 bytes, and takes the rest of a longer one for a
 * line of its own. */
enum { LINE_LIMIT = 4094 };

/* my_isspace of latin1: the no-break space is one too. */
static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r') || (unsigned char)byte == 0xa0;
}

static size_t skip_blanks(struct bytes text, size_t at)
{
    while (at < text.size && is_blank(text.data[at])) {
        at++;
    }
    return at;
}

/* Where the text ends without the blanks at its end; not before `from`. */
static size_t drop_blanks(struct bytes text, size_t from, size_t end)
{
    while (end > from && is_blank(text.data[end - 1])) {
        end--;
    }
    return end;
}

static struct bytes piece(struct bytes text, size_t from, size_t end)
{
    return (struct bytes){.data = text.data + from, .size = end - from};
}

/* ---- lines ---- */

/* Where a comment begins, or the text's end. A quote is one anywhere, also in the middle. */
static size_t find_comment(struct bytes text, size_t from)
{
    char quote = '\0';
    bool is_escaped = false;
    for (size_t at = from; at < text.size; at++) {
        char byte = text.data[at];
        if ((byte == '\'' || byte == '"') && !is_escaped) {
            quote = (char)(quote == '\0' ? byte : quote == byte ? '\0' : quote);
        }
        if (quote == '\0' && byte == '#') {
            return at;
        }
        is_escaped = quote != '\0' && byte == '\\' && !is_escaped;
    }
    return text.size;
}

static bool fail_line(const char *path, size_t number, const char *what, struct err *err)
{
    err_set(err, ERR_CODE_config_syntax, "%s", what);
    err_origin(err, "%s:%zu", path != NULL ? path : "my.cnf", number);
    return err_hint(err, "the server would not start with this file; mend the line");
}

/* The word and a blank, which the line's end is too. */
static bool begins_with(struct bytes text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return text.size - at >= size && memcmp(text.data + at, word, size) == 0 &&
           (text.size - at == size || is_blank(text.data[at + size]));
}

/* "!include PATH", "!includedir PATH"; false where the line is no such thing, which is ignored. */
static bool read_directive(struct bytes text, size_t at, struct option_line *line)
{
    at = skip_blanks(text, at + 1);
    bool is_folder = begins_with(text, at, "includedir");
    if (!is_folder && !begins_with(text, at, "include")) {
        return false;
    }
    line->kind = is_folder ? OPTION_INCLUDEDIR : OPTION_INCLUDE;
    at = skip_blanks(text, at + (is_folder ? strlen("includedir") : strlen("include")));
    line->name = piece(text, at, drop_blanks(text, at, text.size));
    return true;
}

static void read_setting(struct bytes text, size_t at, struct option_line *line)
{
    size_t end = find_comment(text, at);
    const char *equals = memchr(text.data + at, '=', end - at);
    size_t name_end = equals != NULL ? (size_t)(equals - text.data) : end;
    line->kind = OPTION_SETTING;
    line->name = piece(text, at, drop_blanks(text, at, name_end));
    line->text_start = line->start + at;
    line->text_end = line->start + drop_blanks(text, at, end);
    line->has_value = equals != NULL;
    if (equals != NULL) {
        struct bytes rest = {.data = text.data, .size = end};
        size_t from = skip_blanks(rest, name_end + 1);
        line->value_start = line->start + from;
        line->value_end = line->start + drop_blanks(text, from, end > from ? end : from);
    }
}

/* False with err filled, or true; *out_is_line says whether the line says something. */
static bool read_line(struct bytes text, const char *path, bool has_group, struct option_line *line,
                      bool *out_is_line, struct err *err)
{
    size_t at = skip_blanks(text, 0);
    *out_is_line = false;
    if (at == text.size || text.data[at] == '#' || text.data[at] == ';') {
        return true;
    }
    if (text.data[at] == '!') {
        *out_is_line = read_directive(text, at, line);
        return !*out_is_line || line->name.size > 0 ||
               fail_line(path, line->number, "an include names no path", err);
    }
    *out_is_line = true;
    if (text.data[at] == '[') {
        const char *close = memchr(text.data + at, ']', text.size - at);
        if (close == NULL) {
            return fail_line(path, line->number, "a group's name has no end", err);
        }
        line->kind = OPTION_GROUP;
        line->group = piece(text, at + 1, drop_blanks(text, at + 1, (size_t)(close - text.data)));
        return true;
    }
    if (!has_group) {
        return fail_line(path, line->number, "an option stands before any group", err);
    }
    read_setting(text, at, line);
    /* The server's parser reads before the line here. */
    return line->name.size > 0 || fail_line(path, line->number, "an option has no name", err);
}

static size_t count_newlines(struct bytes file)
{
    size_t count = 0;
    for (size_t i = 0; i < file.size; i++) {
        count += file.data[i] == '\n';
    }
    return count;
}

static bool check_bytes(struct bytes text, const char *path, size_t number, struct err *err)
{
    if (memchr(text.data, '\0', text.size) != NULL) {
        return fail_line(path, number, "the line holds a NUL", err);
    }
    return text.size <= LINE_LIMIT ||
           fail_line(path, number, "the line is longer than 4094 bytes", err);
}

bool option_file_parse(struct bytes bytes, const char *path, struct arena *arena,
                       struct option_file *out, struct err *err)
{
    struct bytes group = {0};
    size_t number = 0;
    *out = (struct option_file){.bytes = bytes};
    out->lines = ARENA_ARRAY(arena, struct option_line, count_newlines(bytes) + 1);
    if (out->lines == NULL) {
        return err_memory(err);
    }
    for (size_t start = 0; start < bytes.size;) {
        const char *newline = memchr(bytes.data + start, '\n', bytes.size - start);
        size_t stop = newline != NULL ? (size_t)(newline - bytes.data) : bytes.size;
        number++;
        struct option_line line = {
            .number = number, .start = start, .end = newline != NULL ? stop + 1 : stop};
        struct bytes text = piece(bytes, start, stop);
        bool is_line = false;
        line.group = group;
        if (!check_bytes(text, path, number, err) ||
            !read_line(text, path, group.data != NULL, &line, &is_line, err)) {
            return false;
        }
        group = line.group;
        if (is_line) {
            out->lines[out->count++] = line;
        }
        start = line.end;
    }
    return true;
}

/* ---- groups ---- */

static void add_group(struct option_groups *groups, const char *name, const char *version,
                      const char *suffix)
{
    bool has_version = version != NULL && version[0] != '\0';
    for (int i = 0; i < (suffix != NULL && suffix[0] != '\0' ? 2 : 1); i++) {
        assert(groups->count < OPTION_GROUP_LIMIT);
        snprintf(groups->names[groups->count++], sizeof groups->names[0], "%.24s%s%.12s%.24s", name,
                 has_version ? "-" : "", has_version ? version : "", i == 1 ? suffix : "");
    }
}

void option_groups_of(const char *product, const char *version, const char *suffix,
                      struct option_groups *out)
{
    char series[12] = "";
    *out = (struct option_groups){0};
    const char *dot = version != NULL ? strchr(version, '.') : NULL;
    if (dot != NULL) {
        size_t size = (size_t)(dot - version) + 1 + strspn(dot + 1, "0123456789");
        snprintf(series, sizeof series, "%.*s", (int)(size < sizeof series ? size : 0), version);
    }
    add_group(out, "mysqld", NULL, suffix);
    add_group(out, "server", NULL, suffix);
    if (series[0] != '\0') {
        add_group(out, "mysqld", series, suffix);
    }
    if (product == NULL || !text_equal_nocase(product, "MariaDB")) {
        return;
    }
    add_group(out, "mariadb", NULL, suffix);
    add_group(out, "mariadbd", NULL, suffix);
    add_group(out, "client-server", NULL, suffix);
    add_group(out, "galera", NULL, suffix);
    if (series[0] != '\0') {
        add_group(out, "mariadb", series, suffix);
        add_group(out, "mariadbd", series, suffix);
    }
}

static char lower(char byte)
{
    return (char)(byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte);
}

bool option_groups_hold(const struct option_groups *groups, struct bytes name)
{
    char text[64];
    if (!bytes_text(name, text, sizeof text)) {
        return false;
    }
    for (size_t i = 0; i < groups->count; i++) {
        if (text_equal_nocase(groups->names[i], text)) {
            return true;
        }
    }
    return false;
}

/* ---- names ---- */

enum { NAME_BYTES = 128 };

/* Other names of one option: what the documentation of 10.11 and 8.4 calls synonyms. */
static const char *const synonyms[][2] = {
    {"long_query_time", "log_slow_query_time"},
    {"slow_query_log", "log_slow_query"},
    {"slow_query_log", "log_slow_queries"},
    {"min_examined_row_limit", "log_slow_min_examined_row_limit"},
    {"transaction_isolation", "tx_isolation"},
    {"tmp_table_size", "tmp_memory_table_size"},
    {"slave_parallel_threads", "slave_parallel_workers"},
    {"table_open_cache", "table_cache"},
    {"sync_binlog", "sync_bin_log"},
};

/* Options, and not shortened ones, with which names of variables begin. */
static const char *const whole_names[] = {
    "innodb", "log_bin", "slow_query_log", "general_log",
    "aria",   "myisam",  "rocksdb",        "binlog_format",
    "log",    "port",    "innodb_status",  "performance_schema",
};

/* Lower case, dashes as underscores; false where it is too long to be a name. */
static bool plain_name(struct bytes name, char out[NAME_BYTES])
{
    if (name.size == 0 || name.size >= NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        out[i] = (char)(name.data[i] == '-' ? '_' : lower(name.data[i]));
    }
    out[name.size] = '\0';
    return true;
}

bool option_is_synonym(const char *name, const char *variable)
{
    for (size_t i = 0; i < COUNT_OF(synonyms); i++) {
        if ((strcmp(synonyms[i][0], variable) == 0 && strcmp(synonyms[i][1], name) == 0) ||
            (strcmp(synonyms[i][1], variable) == 0 && strcmp(synonyms[i][0], name) == 0)) {
            return true;
        }
    }
    return false;
}

/* The server takes any beginning of a name that no other name has. Which names there are is known
 * to the server alone, so that such a line is not touched but shown. */
static bool is_shortened(const char *name, const char *variable)
{
    enum { SHORTEST = 3 };
    if (strlen(name) < SHORTEST || !text_starts_with(variable, name)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(whole_names); i++) {
        if (strcmp(whole_names[i], name) == 0) {
            return false;
        }
    }
    return true;
}

static enum option_match match_bare(const char *name, const char *variable)
{
    if (strcmp(name, variable) == 0 || option_is_synonym(name, variable)) {
        return OPTION_SAME;
    }
    return is_shortened(name, variable) ? OPTION_UNCLEAR : OPTION_OTHER;
}

enum option_match option_match(struct bytes name, const char *variable)
{
    static const struct {
        const char *prefix;
        enum option_match match;
    } prefixes[] = {{"loose_", OPTION_SAME},
                    {"enable_", OPTION_ON},
                    {"skip_", OPTION_OFF},
                    {"disable_", OPTION_OFF},
                    {"maximum_", OPTION_UNCLEAR}};
    char plain[NAME_BYTES];
    char wanted[NAME_BYTES];
    struct bytes whole = {.data = variable, .size = strlen(variable)};
    if (!plain_name(name, plain) || !plain_name(whole, wanted)) {
        return OPTION_OTHER;
    }
    enum option_match match = match_bare(plain, wanted);
    const char *rest = plain;
    for (int depth = 1; match == OPTION_OTHER; depth++) {
        size_t i = 0;
        while (i < COUNT_OF(prefixes) && !text_starts_with(rest, prefixes[i].prefix)) {
            i++;
        }
        if (i == COUNT_OF(prefixes)) {
            return OPTION_OTHER;
        }
        rest += strlen(prefixes[i].prefix);
        match = match_bare(rest, wanted);
        if (match == OPTION_SAME) {
            match = depth == 1 ? prefixes[i].match : OPTION_UNCLEAR;
        }
    }
    return match;
}
