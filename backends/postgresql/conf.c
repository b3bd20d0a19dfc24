/*
 * Finding lines in postgresql.conf and changing them, byte for byte (manual 15, 20.1.2, and the
 * scanner guc-file.l): `name [=] value`, one to a line, `#` comments anywhere outside quotes,
 * names without case, the last one wins. A line that the server would not read either is an
 * error, because what stands behind it cannot be known.
 */
#include "backends/postgresql/conf.h"

#include <stdlib.h>
#include <string.h>

#include "sweeper/base/text.h"

/* A line that sets something: offsets into the file. */
struct line {
    size_t start;
    size_t end; /* behind its newline */
    struct bytes name;
    size_t value_start;
    size_t value_end; /* quotes included */
};

struct lines {
    struct line *items;
    size_t count;
};

struct edit {
    size_t start;
    size_t end;
    const char *text; /* what stands there instead */
};

/* ---- reading ---- */

static bool is_letter(char byte)
{
    unsigned char c = (unsigned char)byte;
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c >= 0x80;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t skip_blanks(struct bytes line, size_t at)
{
    while (at < line.size &&
           (line.data[at] == ' ' || line.data[at] == '\t' || line.data[at] == '\r')) {
        at++;
    }
    return at;
}

static bool at_end(struct bytes line, size_t at)
{
    return at == line.size || line.data[at] == '#';
}

/* ID or ID.ID; 0 where there is none. */
static size_t name_size(struct bytes text)
{
    size_t at = 0;
    bool may_begin = true;
    for (; at < text.size; at++) {
        char byte = text.data[at];
        if (!is_letter(byte) && (may_begin || !is_digit(byte)) && (may_begin || byte != '.')) {
            break;
        }
        may_begin = byte == '.';
    }
    return may_begin ? 0 : at;
}

/* Behind the value that begins at `at`; `at` itself where there is none. */
static size_t value_end(struct bytes line, size_t at)
{
    size_t start = at;
    if (at < line.size && line.data[at] == '\'') {
        for (at++; at < line.size; at++) {
            if (line.data[at] == '\\') {
                at++;
            } else if (line.data[at] == '\'') {
                if (at + 1 == line.size || line.data[at + 1] != '\'') {
                    return at + 1;
                }
                at++;
            }
        }
        return start;
    }
    while (!at_end(line, at) && skip_blanks(line, at) == at && line.data[at] != '\'') {
        at++;
    }
    return at;
}

/* A blank or a comment leaves the name empty. False: not a line that the server reads. */
static bool parse_line(struct bytes text, struct line *out)
{
    size_t at = skip_blanks(text, 0);
    if (at_end(text, at)) {
        return true;
    }
    struct bytes rest = {.data = text.data + at, .size = text.size - at};
    size_t size = name_size(rest);
    if (size == 0) {
        return false;
    }
    out->name = (struct bytes){.data = rest.data, .size = size};
    size_t name_end = at + size;
    at = skip_blanks(text, name_end);
    if (at < text.size && text.data[at] == '=') {
        at = skip_blanks(text, at + 1);
    }
    /* "port-5" is a setting for the server, but a new value in its place would join the name. */
    if (at == name_end && at < text.size && text.data[at] != '\'') {
        return false;
    }
    size_t end = value_end(text, at);
    out->value_start = out->start + at;
    out->value_end = out->start + end;
    return end > at && at_end(text, skip_blanks(text, end));
}

static size_t count_newlines(struct bytes file)
{
    size_t count = 0;
    for (size_t i = 0; i < file.size; i++) {
        count += file.data[i] == '\n';
    }
    return count;
}

static bool fail_syntax(const char *path, size_t number, const char *what, struct err *err)
{
    err_set(err, ERR_CODE_config_syntax, "%s", what);
    err_origin(err, "%s:%zu", path != NULL ? path : "postgresql.conf", number);
    return err_hint(err, "PostgreSQL would refuse this file at its next start; mend the line");
}

static bool parse_lines(struct bytes file, const char *path, struct arena *arena, struct lines *out,
                        struct err *err)
{
    out->items = ARENA_ARRAY(arena, struct line, count_newlines(file) + 1);
    if (out->items == NULL) {
        return err_memory(err);
    }
    if (file.size >= 3 && memcmp(file.data, "\xef\xbb\xbf", 3) == 0) {
        return fail_syntax(path, 1, "the file begins with a byte order mark", err);
    }
    size_t number = 0;
    for (size_t start = 0; start < file.size;) {
        const char *newline = memchr(file.data + start, '\n', file.size - start);
        size_t stop = newline != NULL ? (size_t)(newline - file.data) : file.size;
        struct line line = {.start = start, .end = newline != NULL ? stop + 1 : stop};
        struct bytes text = {.data = file.data + start, .size = stop - start};
        number++;
        if (memchr(text.data, '\0', text.size) != NULL || !parse_line(text, &line)) {
            return fail_syntax(path, number, "this is no line of a PostgreSQL configuration", err);
        }
        if (line.name.size > 0) {
            out->items[out->count++] = line;
        }
        start = line.end;
    }
    return true;
}

static bool is_named(const struct line *line, const char *name)
{
    if (line->name.size != strlen(name)) {
        return false;
    }
    for (size_t i = 0; i < line->name.size; i++) {
        char a = line->name.data[i];
        char b = name[i];
        a = (char)(a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a);
        b = (char)(b >= 'A' && b <= 'Z' ? b + ('a' - 'A') : b);
        if (a != b) {
            return false;
        }
    }
    return true;
}

/* ---- writing ---- */

/* The file's own line ending. */
static const char *newline_of(struct bytes file)
{
    const char *first = memchr(file.data, '\n', file.size);
    return first != NULL && first > file.data && first[-1] == '\r' ? "\r\n" : "\n";
}

static int compare_edits(const void *a, const void *b)
{
    const struct edit *first = a;
    const struct edit *second = b;
    return first->start < second->start ? -1 : first->start > second->start;
}

struct rendering {
    struct bytes file;
    struct lines lines;
    struct edit *edits;
    size_t edit_count;
    struct text appended;
    struct arena *arena;
};

static void delete_lines(struct rendering *rendering, const char *name)
{
    for (size_t i = 0; i < rendering->lines.count; i++) {
        const struct line *line = &rendering->lines.items[i];
        if (is_named(line, name)) {
            rendering->edits[rendering->edit_count++] =
                (struct edit){.start = line->start, .end = line->end, .text = ""};
        }
    }
}

static const struct line *effective_line(const struct rendering *rendering, const char *name)
{
    for (size_t i = rendering->lines.count; i > 0; i--) {
        if (is_named(&rendering->lines.items[i - 1], name)) {
            return &rendering->lines.items[i - 1];
        }
    }
    return NULL;
}

static bool set_value(struct rendering *rendering, const struct setting *setting, struct err *err)
{
    const char *name = setting->knob->name;
    const struct line *line = effective_line(rendering, name);
    const char *text = NULL;
    if (!conf_value(setting->knob, &setting->value, rendering->arena, &text, err)) {
        return false;
    }
    bool was_quoted = line != NULL && rendering->file.data[line->value_start] == '\'';
    if (was_quoted || !conf_is_plain(text)) {
        text = conf_quote(text, rendering->arena);
    }
    if (text == NULL) {
        return err_memory(err);
    }
    if (line != NULL) {
        rendering->edits[rendering->edit_count++] =
            (struct edit){.start = line->value_start, .end = line->value_end, .text = text};
    } else {
        text_addf(&rendering->appended, "%s = %s%s", name, text, newline_of(rendering->file));
    }
    return true;
}

static bool apply_setting(struct rendering *rendering, const struct setting *setting,
                          struct err *err)
{
    const char *name = setting->knob->name;
    struct bytes text = {.data = name, .size = strlen(name)};
    if (text.size == 0 || name_size(text) != text.size) {
        return err_set(err, ERR_CODE_knob_value, "\"%.100s\" cannot be a setting's name", name);
    }
    if (setting->value.kind == VALUE_UNSET) {
        delete_lines(rendering, name);
        return true;
    }
    return setting->value.kind == VALUE_BASELINE || set_value(rendering, setting, err);
}

static bool join(struct rendering *rendering, struct bytes *out, struct err *err)
{
    struct bytes file = rendering->file;
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
    if (rendering->appended.size > 0) {
        if (text.size > 0 && text.data[text.size - 1] != '\n') {
            text_add(&text, newline_of(file));
        }
        text_add_bytes(&text, rendering->appended.data, rendering->appended.size);
    }
    const char *data = text_done(&text);
    if (data == NULL || rendering->appended.failed) {
        return err_memory(err);
    }
    *out = (struct bytes){.data = data, .size = text.size};
    return true;
}

bool conf_render(struct bytes baseline, const char *path, const struct setting *settings,
                 size_t count, struct arena *arena, struct bytes *out, struct err *err)
{
    struct rendering rendering = {.file = baseline, .arena = arena};
    if (count == 0) {
        *out = baseline;
        return true;
    }
    if (baseline.data == NULL) {
        rendering.file = (struct bytes){.data = "", .size = 0};
    }
    text_open(&rendering.appended, arena);
    if (!parse_lines(rendering.file, path, arena, &rendering.lines, err)) {
        return false;
    }
    rendering.edits = ARENA_ARRAY(arena, struct edit, rendering.lines.count + count);
    if (rendering.edits == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!apply_setting(&rendering, &settings[i], err)) {
            return false;
        }
    }
    return join(&rendering, out, err);
}
