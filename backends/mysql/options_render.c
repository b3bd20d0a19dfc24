/*
 * Changing option files, byte for byte: the effective line's value is replaced, lines of a name
 * are deleted, and what is missing is added to a group of the server.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/options.h"
#include "sweeper/base/text.h"

struct edit {
    size_t start;
    size_t end;
    const char *text; /* what stands there instead */
};

struct rendering {
    struct option_file file;
    const char *path;
    const struct option_groups *groups;
    struct edit *edits;
    size_t edit_count;
    struct text added;
    struct arena *arena;
};

/* The file's own line ending. */
static const char *newline_of(struct bytes file)
{
    const char *first = memchr(file.data, '\n', file.size);
    return first != NULL && first > file.data && first[-1] == '\r' ? "\r\n" : "\n";
}

static bool is_read(const struct option_line *line, const struct option_groups *groups)
{
    return line->kind == OPTION_SETTING && option_groups_hold(groups, line->group);
}

/* ---- where ---- */

static bool is_named(struct bytes group, const char *name)
{
    struct option_groups one = {.count = 1};
    memcpy(one.names[0], name, strlen(name) + 1);
    return option_groups_hold(&one, group);
}

/* The last line of the group to which options are added: the last [mysqld], else the last group
 * that servers alone read, else none. */
static const struct option_line *last_of_group(const struct option_file *file,
                                               const struct option_groups *groups)
{
    const struct option_line *best = NULL;
    bool is_best_mysqld = false;
    for (size_t i = 0; i < file->count; i++) {
        const struct option_line *line = &file->lines[i];
        bool is_mysqld = is_named(line->group, "mysqld");
        bool is_shared = is_named(line->group, "client-server") || is_named(line->group, "galera");
        bool is_usable =
            line->group.data != NULL && !is_shared && option_groups_hold(groups, line->group);
        if (is_usable && (is_mysqld || !is_best_mysqld)) {
            best = line;
            is_best_mysqld = is_mysqld;
        }
    }
    return best;
}

static const struct option_line *effective_line(const struct option_file *file,
                                                const struct option_groups *groups,
                                                const char *variable)
{
    for (size_t i = file->count; i > 0; i--) {
        const struct option_line *line = &file->lines[i - 1];
        if (is_read(line, groups) && option_match(line->name, variable) != OPTION_OTHER) {
            return line;
        }
    }
    return NULL;
}

size_t option_place(const struct option_file *file, const struct option_groups *groups,
                    const char *variable, bool *out_is_set)
{
    const struct option_line *line = effective_line(file, groups, variable);
    *out_is_set = line != NULL;
    line = line != NULL ? line : last_of_group(file, groups);
    if (line != NULL) {
        return line->number;
    }
    return file->count > 0 ? file->lines[file->count - 1].number : 0;
}

/* ---- edits ---- */

static void add_edit(struct rendering *rendering, size_t start, size_t end, const char *text)
{
    rendering->edits[rendering->edit_count++] =
        (struct edit){.start = start, .end = end, .text = text};
}

static bool check_clear(const struct rendering *rendering, const char *variable, struct err *err)
{
    for (size_t i = 0; i < rendering->file.count; i++) {
        const struct option_line *line = &rendering->file.lines[i];
        if (!is_read(line, rendering->groups) ||
            option_match(line->name, variable) != OPTION_UNCLEAR) {
            continue;
        }
        err_set(err, ERR_CODE_config_syntax, "\"%.*s\" may stand for %s",
                (int)(line->name.size < 100 ? line->name.size : 100), line->name.data, variable);
        err_origin(err, "%s:%zu", rendering->path != NULL ? rendering->path : "my.cnf",
                   line->number);
        return err_hint(err, "write the option's whole name there, without a prefix");
    }
    return true;
}

static void delete_lines(struct rendering *rendering, const char *variable)
{
    for (size_t i = 0; i < rendering->file.count; i++) {
        const struct option_line *line = &rendering->file.lines[i];
        if (is_read(line, rendering->groups) &&
            option_match(line->name, variable) != OPTION_OTHER) {
            add_edit(rendering, line->start, line->end, "");
        }
    }
}

/* The quote that the value stands in, or NUL. */
static char quote_of(const struct rendering *rendering, const struct option_line *line)
{
    const char *data = rendering->file.bytes.data;
    if (!line->has_value || line->value_end - line->value_start < 2) {
        return '\0';
    }
    char first = data[line->value_start];
    bool is_quoted = (first == '\'' || first == '"') && data[line->value_end - 1] == first;
    return (char)(is_quoted ? first : '\0');
}

static bool replace(struct rendering *rendering, const struct option_line *line,
                    const struct setting *setting, const char *text, struct err *err)
{
    const char *variable = setting->knob->name;
    bool is_same = option_match(line->name, variable) == OPTION_SAME;
    char quote = quote_of(rendering, line);
    if (quote != '\0' || !option_is_plain(text)) {
        text = option_quote(text, (char)(quote != '\0' ? quote : '"'), rendering->arena);
    }
    if (text == NULL) {
        return err_memory(err);
    }
    if (is_same && line->has_value) {
        add_edit(rendering, line->value_start, line->value_end, text);
        return true;
    }
    /* skip-x, or x alone: the whole option gives way. */
    const char *option = is_same ? arena_printf(rendering->arena, "%.*s = %s", (int)line->name.size,
                                                line->name.data, text)
                                 : arena_printf(rendering->arena, "%s = %s", variable, text);
    if (option == NULL) {
        return err_memory(err);
    }
    add_edit(rendering, line->text_start, line->text_end, option);
    return true;
}

static bool set_value(struct rendering *rendering, const struct setting *setting, struct err *err)
{
    const char *variable = setting->knob->name;
    const struct option_line *line = effective_line(&rendering->file, rendering->groups, variable);
    const char *text = NULL;
    if (!option_value(setting->knob, &setting->value, rendering->arena, &text, err)) {
        return false;
    }
    if (line != NULL) {
        return replace(rendering, line, setting, text, err);
    }
    if (!option_is_plain(text)) {
        text = option_quote(text, '"', rendering->arena);
    }
    if (text == NULL) {
        return err_memory(err);
    }
    text_addf(&rendering->added, "%s = %s%s", variable, text, newline_of(rendering->file.bytes));
    return true;
}

static bool is_name(const char *name)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789_-.";
    return name[0] != '\0' && name[0] != '-' && name[strspn(name, inside)] == '\0';
}

static bool apply_setting(struct rendering *rendering, const struct setting *setting,
                          struct err *err)
{
    const char *name = setting->knob->name;
    if (!is_name(name)) {
        return err_set(err, ERR_CODE_knob_value, "\"%.100s\" cannot be a setting's name", name);
    }
    if (setting->value.kind == VALUE_BASELINE) {
        return true;
    }
    if (!check_clear(rendering, name, err)) {
        return false;
    }
    if (setting->value.kind == VALUE_UNSET) {
        delete_lines(rendering, name);
        return true;
    }
    return set_value(rendering, setting, err);
}

/* ---- the new file ---- */

static int compare_edits(const void *a, const void *b)
{
    const struct edit *first = a;
    const struct edit *second = b;
    if (first->start != second->start) {
        return first->start < second->start ? -1 : 1;
    }
    return first->end < second->end ? -1 : first->end > second->end;
}

/* What is added becomes one more edit: behind the group's last line, or in a new group. */
static bool place_added(struct rendering *rendering, struct err *err)
{
    struct bytes bytes = rendering->file.bytes;
    const struct option_line *line = last_of_group(&rendering->file, rendering->groups);
    const char *newline = newline_of(bytes);
    struct text text;
    const char *added = text_done(&rendering->added);
    if (added == NULL) {
        return err_memory(err);
    }
    if (added[0] == '\0') {
        return true;
    }
    size_t at = line != NULL ? line->end : bytes.size;
    text_open(&text, rendering->arena);
    if (at > 0 && bytes.data[at - 1] != '\n') {
        text_add(&text, newline);
    }
    if (line == NULL) {
        text_addf(&text, "%s[mysqld]%s", at > 0 ? newline : "", newline);
    }
    text_add(&text, added);
    const char *all = text_done(&text);
    if (all == NULL) {
        return err_memory(err);
    }
    add_edit(rendering, at, at, all);
    return true;
}

static bool join(struct rendering *rendering, struct bytes *out, struct err *err)
{
    struct bytes file = rendering->file.bytes;
    struct text text;
    size_t at = 0;
    text_open(&text, rendering->arena);
    qsort(rendering->edits, rendering->edit_count, sizeof *rendering->edits, compare_edits);
    for (size_t i = 0; i < rendering->edit_count; i++) {
        const struct edit *edit = &rendering->edits[i];
        assert(edit->start >= at);
        text_add_bytes(&text, file.data + at, edit->start - at);
        text_add(&text, edit->text);
        at = edit->end;
    }
    text_add_bytes(&text, file.data + at, file.size - at);
    const char *data = text_done(&text);
    if (data == NULL) {
        return err_memory(err);
    }
    *out = (struct bytes){.data = data, .size = text.size};
    return true;
}

bool option_render(struct bytes baseline, const char *path, const struct option_groups *groups,
                   const struct setting *settings, size_t count, struct arena *arena,
                   struct bytes *out, struct err *err)
{
    struct rendering rendering = {.path = path, .groups = groups, .arena = arena};
    if (count == 0) {
        *out = baseline;
        return true;
    }
    if (baseline.data == NULL) {
        baseline = (struct bytes){.data = "", .size = 0};
    }
    text_open(&rendering.added, arena);
    if (!option_file_parse(baseline, path, arena, &rendering.file, err)) {
        return false;
    }
    rendering.edits = ARENA_ARRAY(arena, struct edit, rendering.file.count + count + 1);
    if (rendering.edits == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!apply_setting(&rendering, &settings[i], err)) {
            return false;
        }
    }
    return place_added(&rendering, err) && join(&rendering, out, err);
}
