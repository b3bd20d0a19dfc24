/*
 * The rows of sweepfile.def and how a key's text becomes its member of struct sweep. What is true
 * of all keys of one kind is here once: units, bounds, choices, folders, unknown names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/sweepfile_node.h"

/* ---- the rows ---- */

/* NONE stands at no member: `path` is not a key. */
#define NONE path
#define KEY(section_, key_, type_, member_, fallback_, range_, low_, high_, sentence_)             \
    {.section = (section_),                                                                        \
     .key = (key_),                                                                                \
     .type = KEY_##type_,                                                                          \
     .offset = offsetof(struct sweep, member_),                                                    \
     .fallback = (fallback_),                                                                      \
     .range = (range_),                                                                            \
     .low = (low_),                                                                                \
     .high = (high_)},
const struct key_row key_rows[] = {
#include "sweeper/sweepfile.def"
};
const size_t key_row_count = COUNT_OF(key_rows);

const struct sweepfile_key *sweepfile_keys(size_t *out_count)
{
#define WORD_TEXT "text"
#define WORD_PATH "path"
#define WORD_CHOICE "choice"
#define WORD_INTEGER "integer"
#define WORD_REAL "real"
#define WORD_PERCENT "percent"
#define WORD_DURATION "duration"
#define WORD_BOOL "bool"
#define WORD_ARGV "argv"
#define WORD_WORDS "words"
#define WORD_SHAPE "special"
    static const struct sweepfile_key keys[] = {
#define KEY(section_, key_, type_, member_, fallback_, range_, low_, high_, sentence_)             \
    {.section = (section_),                                                                        \
     .key = (key_),                                                                                \
     .type = WORD_##type_,                                                                         \
     .fallback = (fallback_),                                                                      \
     .range = (range_),                                                                            \
     .sentence = (sentence_)},
#include "sweeper/sweepfile.def"
    };
    *out_count = COUNT_OF(keys);
    return keys;
}

const struct key_row *key_find(const char *section, const char *key)
{
    for (size_t i = 0; i < key_row_count; i++) {
        if (strcmp(key_rows[i].section, section) == 0 && strcmp(key_rows[i].key, key) == 0) {
            return &key_rows[i];
        }
    }
    return NULL;
}

const char *key_nearest(const char *section, const char *key)
{
    const char *names[COUNT_OF(key_rows)];
    size_t count = 0;
    for (size_t i = 0; i < key_row_count; i++) {
        if (strcmp(key_rows[i].section, section) == 0) {
            names[count++] = key_rows[i].key;
        }
    }
    return text_nearest(key, names, count);
}

bool key_is_word(const struct key_row *row)
{
    return row->type != KEY_ARGV && row->type != KEY_WORDS && row->type != KEY_SHAPE;
}

/* ---- values from text ---- */

/* What units.h says of a number does not say whose number it was. */
static bool fail_value(const struct key_row *row, const struct err *inner, struct err *err)
{
    err_set(err, inner->code, "%s: %.400s", row->key, inner->text);
    return inner->hint[0] != '\0' ? err_hint(err, "%s", inner->hint) : false;
}

static bool check_range(const struct key_row *row, const char *text, double value, struct err *err)
{
    return (value >= row->low && value <= row->high) ||
           err_set(err, ERR_CODE_number, "%s = %.60s is out of its range %s", row->key, text,
                   row->range);
}

static bool set_integer(const struct key_row *row, const char *text, int64_t *out, struct err *err)
{
    struct err inner;
    err_clear(&inner);
    return units_parse_int(text, out, &inner) ? check_range(row, text, (double)*out, err)
                                              : fail_value(row, &inner, err);
}

static bool set_real(const struct key_row *row, const char *text, double *out, struct err *err)
{
    struct err inner;
    err_clear(&inner);
    bool is_read = row->type == KEY_PERCENT ? units_parse_percent(text, out, &inner)
                                            : units_parse_real(text, out, &inner);
    return is_read ? check_range(row, text, *out, err) : fail_value(row, &inner, err);
}

static bool set_duration(const struct key_row *row, const char *text, int64_t *out_ms,
                         struct err *err)
{
    int64_t duration_us = 0;
    bool has_unit = false;
    struct err inner;
    err_clear(&inner);
    if (!units_parse_duration(text, 1, &duration_us, &has_unit, &inner)) {
        fail_value(row, &inner, err);
        return err_hint(err, "a duration has a unit: \"90s\", \"5min\", \"1.5h\"");
    }
    if (!has_unit && duration_us != 0) {
        err_set(err, ERR_CODE_number, "%s = %.60s lacks a unit", row->key, text);
        return err_hint(err, "write \"%.40ss\" for seconds, \"%.40smin\" for minutes", text, text);
    }
    if (duration_us % 1000 != 0) {
        return err_set(err, ERR_CODE_number, "%s = %.60s is not a whole number of milliseconds",
                       row->key, text);
    }
    *out_ms = duration_us / 1000;
    return check_range(row, text, (double)duration_us, err);
}

static bool set_bool(const struct key_row *row, const char *text, bool *out, struct err *err)
{
    return value_truth_word(text, out) ||
           err_set(err, ERR_CODE_sweep_file, "%s is true or false, not \"%.60s\"", row->key, text);
}

static bool set_choice(const struct key_row *row, const char *text, struct arena *arena,
                       const char **out, struct err *err)
{
    struct bytes rest = knob_list(row->range);
    struct bytes choice;
    const char *names[16];
    size_t count = 0;
    while (knob_list_next(&rest, '|', &choice)) {
        assert(count < COUNT_OF(names));
        names[count] = arena_strndup(arena, choice.data, choice.size);
        if (names[count] == NULL) {
            return err_memory(err);
        }
        if (strcmp(names[count], text) == 0) {
            *out = names[count];
            return true;
        }
        count++;
    }
    const char *near = text_nearest(text, names, count);
    err_set(err, ERR_CODE_sweep_file, "%s = \"%.60s\" is not one of %s", row->key, text,
            row->range);
    return near != NULL ? err_hint(err, "did you mean \"%s\"?", near) : false;
}

/* "~/x" starts at home, other relative paths at the sweep file's folder. */
static bool set_path(const struct key_row *row, const char *folder, const char *text,
                     struct arena *arena, const char **out, struct err *err)
{
    const char *home = getenv("HOME");
    if (text[0] == '\0') {
        return err_set(err, ERR_CODE_sweep_file, "%s is an empty path", row->key);
    }
    if (text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
        if (home == NULL) {
            return err_set(err, ERR_CODE_sweep_file, "%s = \"%.60s\": HOME is not set", row->key,
                           text);
        }
        *out = arena_printf(arena, "%s%s", home, text + 1);
    } else if (text[0] == '/' || folder[0] == '\0') {
        *out = arena_strdup(arena, text);
    } else {
        *out = arena_printf(arena, "%s%s%s", folder, text_ends_with(folder, "/") ? "" : "/", text);
    }
    return *out != NULL || err_memory(err);
}

bool key_set(const struct key_row *row, const char *folder, const char *text, void *member,
             struct arena *arena, struct err *err)
{
    switch (row->type) {
    case KEY_TEXT:
        *(const char **)member = arena_strdup(arena, text);
        return *(const char **)member != NULL || err_memory(err);
    case KEY_PATH:
        return set_path(row, folder, text, arena, member, err);
    case KEY_CHOICE:
        return set_choice(row, text, arena, member, err);
    case KEY_INTEGER:
        return set_integer(row, text, member, err);
    case KEY_REAL:
    case KEY_PERCENT:
        return set_real(row, text, member, err);
    case KEY_DURATION:
        return set_duration(row, text, member, err);
    case KEY_BOOL:
        return set_bool(row, text, member, err);
    case KEY_ARGV:
    case KEY_WORDS:
    case KEY_SHAPE:
        break;
    }
    return err_set(err, ERR_CODE_sweep_file, "%s is not a single value", row->key);
}

/* ---- sections ---- */

/* What the design of the file knows and this version does not. */
static bool is_later(const char *section, const char *key)
{
    static const char *const later[][2] = {{"", "monitor"}, {"axes", "host"}, {"guard", "restore"}};
    for (size_t i = 0; i < COUNT_OF(later); i++) {
        if (strcmp(later[i][0], section) == 0 && strcmp(later[i][1], key) == 0) {
            return true;
        }
    }
    return false;
}

static bool fail_unknown(const struct reader *reader, const char *section, const struct node *node)
{
    if (is_later(section, node->name)) {
        reader_fail(reader, node->line, "%s is not available in this version", node->where);
        reader->err->code = ERR_CODE_unsupported;
        return err_hint(reader->err, "leave it out; README.md lists what is not done yet");
    }
    if (strcmp(section, "target") == 0 && strcmp(node->name, "password") == 0) {
        reader_fail(reader, node->line, "a password never stands in the sweep file");
        return err_hint(reader->err, "name its environment variable in password_env, or a file "
                                     "that only you can read in password_file");
    }
    reader_fail(reader, node->line, "unknown key %.120s", node->where);
    const char *near = key_nearest(section, node->name);
    return near != NULL ? reader_suggest(reader, near)
                        : err_hint(reader->err, "dbsweep help --man lists the keys");
}

bool check_keys(const struct reader *reader, const char *section, const struct node *group)
{
    for (size_t i = 0; i < group->child_count; i++) {
        if (key_find(section, group->children[i].name) == NULL) {
            return fail_unknown(reader, section, &group->children[i]);
        }
    }
    return true;
}

static bool read_argv(const struct reader *reader, const struct node *node, const char *const **out)
{
    if (node->kind == NODE_TEXT) {
        reader_fail(reader, node->line, "%s is a list of words, not a shell line", node->where);
        return err_hint(reader->err,
                        "[ \"program\", \"argument\" ], or [ \"sh\", \"-c\", \"%.60s\" ]",
                        node->text);
    }
    if (!node_words(reader, node, out)) {
        return false;
    }
    return (*out)[0][0] != '\0' ||
           reader_fail(reader, node->line, "%s has no program: its first word is empty",
                       node->where);
}

int sweepfile_line(const struct sweep *sweep, const char *section, const char *key)
{
    const struct key_row *row = key_find(section, key);
    assert(row != NULL);
    return sweep->key_lines[row - key_rows];
}

static bool read_text(const struct reader *reader, const struct key_row *row,
                      const struct node *node)
{
    void *member = (char *)reader->sweep + row->offset;
    return node_is_text(reader, node) &&
           (key_set(row, reader->folder, node->text, member, reader->arena, reader->err) ||
            reader_at(reader, node->line));
}

/* { min; max; }: until it is steady, within these bounds. */
static bool read_warm_up(const struct reader *reader, const struct node *group)
{
    const struct node *least = node_find(group, "min");
    const struct node *most = node_find(group, "max");
    if (least == NULL || most == NULL || group->child_count != 2) {
        reader_fail(reader, group->line, "%s until steady has two keys, min and max", group->where);
        return err_hint(reader->err, "warm_up = { min = \"1m\"; max = \"10m\"; };");
    }
    return read_text(reader, key_find("workload", "warm_up"), least) &&
           read_text(reader, key_find("workload", "warm_up_max"), most);
}

static bool read_key(const struct reader *reader, const struct key_row *row,
                     const struct node *node)
{
    void *member = (char *)reader->sweep + row->offset;
    reader->sweep->key_lines[row - key_rows] = node->line;
    if (row->type == KEY_SHAPE) {
        return true;
    }
    if (row->type == KEY_ARGV) {
        return read_argv(reader, node, member);
    }
    if (row->type == KEY_WORDS) {
        return node_words(reader, node, member);
    }
    if (node->kind == NODE_GROUP && strcmp(row->key, "warm_up") == 0) {
        return read_warm_up(reader, node);
    }
    return read_text(reader, row, node);
}

static bool read_defaults(const struct reader *reader, const char *section)
{
    for (size_t i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (strcmp(row->section, section) == 0 && row->fallback != NULL &&
            !key_set(row, "", row->fallback, (char *)reader->sweep + row->offset, reader->arena,
                     reader->err)) {
            return false;
        }
    }
    return true;
}

bool read_section(const struct reader *reader, const char *section, const struct node *group)
{
    if (!read_defaults(reader, section)) {
        return false;
    }
    if (group == NULL) {
        return true;
    }
    if (!node_is_group(reader, group) || !check_keys(reader, section, group)) {
        return false;
    }
    for (size_t i = 0; i < group->child_count; i++) {
        const struct node *node = &group->children[i];
        if (!read_key(reader, key_find(section, node->name), node)) {
            return false;
        }
    }
    return true;
}
