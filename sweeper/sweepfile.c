/*
 * Reads a sweep file: the text through the lexical pass and libconfig into a plain tree, which the
 * parts of the reader then turn into struct sweep. The only includer of libconfig.h.
 *
 * sweepfile_lex.c prepares the text, sweepfile_keys.c reads keys, sweepfile_parts.c what several
 * of them decide together, sweepfile_axes.c axes, points and rules. sweepfile_grid.c makes a grid
 * of those; sweepfile_workload.c serves workload keys by name.
 */
#include "sweeper/sweepfile.h"

#include <fcntl.h>
#include <libconfig.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/sweepfile_node.h"

enum { FILE_LIMIT_BYTES = 4 << 20 };

/* ---- errors with their place ---- */

/* Of a path that is too long for a message. */
enum { PATH_KEPT = 72 };

bool reader_at(const struct reader *reader, int line)
{
    return err_origin(reader->err, "%s:%d", reader->path, line);
}

const char *reader_file(const struct reader *reader)
{
    size_t size = strlen(reader->path);
    return size > PATH_KEPT ? arena_printf(reader->arena, "...%s", reader->path + size - PATH_KEPT)
                            : arena_strdup(reader->arena, reader->path);
}

bool reader_fail(const struct reader *reader, int line, const char *format, ...)
{
    char text[sizeof reader->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(reader->err, ERR_CODE_sweep_file, "%s", text);
    return reader_at(reader, line);
}

bool reader_suggest(const struct reader *reader, const char *near)
{
    return near != NULL ? err_hint(reader->err, "did you mean \"%s\"?", near) : false;
}

/* ---- the tree ---- */

const struct node *node_find(const struct node *group, const char *name)
{
    for (size_t i = 0; group != NULL && i < group->child_count; i++) {
        if (strcmp(group->children[i].name, name) == 0) {
            return &group->children[i];
        }
    }
    return NULL;
}

static bool fail_kind(const struct reader *reader, const struct node *node, const char *wanted)
{
    static const char *const kinds[] = {"a single value", "true or false", "a list", "a group"};
    return reader_fail(reader, node->line, "%.120s takes %s, not %s", node->where, wanted,
                       kinds[node->kind]);
}

bool node_is_group(const struct reader *reader, const struct node *node)
{
    return node->kind == NODE_GROUP || fail_kind(reader, node, "a group { ... }");
}

bool node_is_list(const struct reader *reader, const struct node *node)
{
    return node->kind == NODE_LIST || fail_kind(reader, node, "a list ( ... ) or [ ... ]");
}

bool node_is_text(const struct reader *reader, const struct node *node)
{
    return node->text != NULL || fail_kind(reader, node, "a single value");
}

bool node_words(const struct reader *reader, const struct node *list, const char *const **out)
{
    if (!node_is_list(reader, list)) {
        return false;
    }
    if (list->child_count == 0) {
        return reader_fail(reader, list->line, "%.120s is empty", list->where);
    }
    const char **words = ARENA_ARRAY(reader->arena, const char *, list->child_count + 1);
    if (words == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < list->child_count; i++) {
        if (!node_is_text(reader, &list->children[i])) {
            return false;
        }
        words[i] = list->children[i].text;
    }
    *out = words;
    return true;
}

/* ---- libconfig's tree ---- */

static bool name_node(const struct reader *reader, const char *name, const struct node *parent,
                      struct node *out)
{
    out->name = arena_strdup(reader->arena, name != NULL ? name : "");
    if (name == NULL || parent == NULL) {
        out->where = parent != NULL ? parent->where : "";
    } else if (parent->where[0] == '\0') {
        out->where = out->name;
    } else {
        out->where = arena_printf(reader->arena, "%s.%s", parent->where, name);
    }
    return (out->name != NULL && out->where != NULL) || err_memory(reader->err);
}

static bool convert_value(const struct reader *reader, const config_setting_t *setting,
                          const struct lexed *values, struct node *out)
{
    if (config_setting_type(setting) == CONFIG_TYPE_BOOL) {
        out->kind = NODE_BOOL;
        out->text = config_setting_get_bool(setting) ? "true" : "false";
        return true;
    }
    if (config_setting_type(setting) != CONFIG_TYPE_INT) {
        return reader_fail(reader, out->line, "%.120s has no value", out->where);
    }
    size_t index = (size_t)config_setting_get_int(setting);
    assert(index < values->count);
    out->kind = NODE_TEXT;
    out->text = values->texts[index];
    return true;
}

/* The depth is limited by the lexical pass. */
static bool convert(const struct reader *reader, const config_setting_t *setting,
                    const struct lexed *values, const struct node *parent, struct node *out)
{
    out->line = (int)config_setting_source_line(setting);
    if (!name_node(reader, config_setting_name(setting), parent, out)) {
        return false;
    }
    if (config_setting_is_aggregate(setting) == CONFIG_FALSE) {
        return convert_value(reader, setting, values, out);
    }
    out->kind = config_setting_is_group(setting) != CONFIG_FALSE ? NODE_GROUP : NODE_LIST;
    out->child_count = (size_t)config_setting_length(setting);
    out->children = ARENA_ARRAY(reader->arena, struct node, out->child_count);
    if (out->children == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < out->child_count; i++) {
        if (!convert(reader, config_setting_get_elem(setting, (unsigned)i), values, out,
                     &out->children[i])) {
            return false;
        }
    }
    return true;
}

static bool fail_grammar(const struct reader *reader, const config_t *config)
{
    const char *text = config_error_text(config);
    bool is_mixed = text != NULL && strstr(text, "array") != NULL;
    reader_fail(reader, config_error_line(config), "%s", text != NULL ? text : "syntax error");
    return err_hint(reader->err, "%s",
                    is_mixed ? "only a list ( ... ) holds values of several kinds"
                             : "here, or just before; a setting is name = value;");
}

static bool read_tree(const struct reader *reader, const char *text, struct node *root)
{
    const char *safe = NULL;
    struct lexed values;
    config_t config;
    if (!sweepfile_lex(reader, text, &safe, &values)) {
        return false;
    }
    config_init(&config);
    bool ok = config_read_string(&config, safe) == CONFIG_TRUE
                  ? convert(reader, config_root_setting(&config), &values, NULL, root)
                  : fail_grammar(reader, &config);
    config_destroy(&config);
    return ok;
}

/* ---- the whole ---- */

/* Absolute, so that a sweep means the same files whatever folder it is started from. */
static bool find_folder(const struct reader *reader, const char **out)
{
    char real[PATH_MAX];
    const char *slash = strrchr(reader->path, '/');
    size_t size = slash == NULL ? 0 : (size_t)(slash - reader->path);
    const char *folder = slash == NULL ? "."
                         : size == 0   ? "/"
                                       : arena_strndup(reader->arena, reader->path, size);
    if (folder == NULL) {
        return err_memory(reader->err);
    }
    *out = arena_strdup(reader->arena, realpath(folder, real) != NULL ? real : folder);
    return *out != NULL || err_memory(reader->err);
}

static bool parse(struct reader *reader, const char *text, struct sweep *out)
{
    struct node root = {.kind = NODE_GROUP};
    reader->sweep = out;
    *out = (struct sweep){.path = arena_strdup(reader->arena, reader->path),
                          .file_text = arena_strdup(reader->arena, text),
                          .key_lines = ARENA_ARRAY(reader->arena, int, key_row_count)};
    if (out->path == NULL || out->file_text == NULL || out->key_lines == NULL) {
        return err_memory(reader->err);
    }
    return find_folder(reader, &reader->folder) && read_tree(reader, text, &root) &&
           read_parts(reader, &root) && read_axes(reader, &root);
}

bool sweepfile_parse(const char *path, const char *text, struct arena *arena, struct sweep *out,
                     struct err *err)
{
    struct reader reader = {.path = path, .arena = arena, .err = err};
    return parse(&reader, text, out);
}

static bool slurp(const struct reader *reader, int file, char **out)
{
    struct stat stat;
    size_t size = 0;
    char *text = NULL;
    if (fstat(file, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        err_set(reader->err, ERR_CODE_sweep_file, "%.400s is not a file", reader->path);
        return err_hint(reader->err, "give the path of a sweep file; examples/ has some");
    }
    if (stat.st_size > FILE_LIMIT_BYTES) {
        return err_set(reader->err, ERR_CODE_sweep_file, "%.400s is larger than %d bytes",
                       reader->path, FILE_LIMIT_BYTES);
    }
    text = arena_alloc(reader->arena, (size_t)stat.st_size + 1);
    if (text == NULL) {
        return err_memory(reader->err);
    }
    for (ssize_t got = 1; got > 0 && size < (size_t)stat.st_size; size += (size_t)got) {
        got = read(file, text + size, (size_t)stat.st_size - size);
        if (got < 0) {
            return err_set_errno(reader->err, ERR_CODE_not_found, "cannot read %.400s",
                                 reader->path);
        }
    }
    *out = text;
    const char *nul = memchr(text, '\0', size);
    int line = 1;
    for (const char *at = text; nul != NULL && at < nul; at++) {
        line += *at == '\n';
    }
    return nul == NULL || reader_fail(reader, line, "a NUL byte: this is not a text file");
}

bool sweepfile_read(const char *path, struct arena *arena, struct sweep *out, struct err *err)
{
    struct reader reader = {.path = path, .is_file = true, .arena = arena, .err = err};
    char *text = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) {
        err_set_errno(err, ERR_CODE_not_found, "cannot read the sweep file %.400s", path);
        return err_hint(err, "give the path of a sweep file; examples/ has some");
    }
    bool ok = slurp(&reader, file, &text);
    close(file);
    return ok && parse(&reader, text, out);
}

const char *sweepfile_library_version(void)
{
    static char name[32];
    snprintf(name, sizeof name, "libconfig %d.%d.%d", LIBCONFIG_VER_MAJOR, LIBCONFIG_VER_MINOR,
             LIBCONFIG_VER_REVISION);
    return name;
}
