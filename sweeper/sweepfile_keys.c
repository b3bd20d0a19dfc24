/*
 * Reads the keys that sweepfile.def declares into struct sweep: defaults first, then what stands
 * in the file. Workload keys are also set from text by name, for workload axes and for the
 * options of `dbsweep load`.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/base/json.h"
#include "sweeper/sweepfile_node.h"

enum key_type {
    TYPE_TEXT,
    TYPE_PATH,
    TYPE_CHOICE,
    TYPE_INTEGER,
    TYPE_REAL,
    TYPE_PERCENT,
    TYPE_DURATION,
    TYPE_BOOL,
    TYPE_ARGV,
    TYPE_SPECIAL
};

/* The same in words, for help and the manual. */
#define NAME_TEXT "text"
#define NAME_PATH "path"
#define NAME_CHOICE "choice"
#define NAME_INTEGER "integer"
#define NAME_REAL "real"
#define NAME_PERCENT "percent"
#define NAME_DURATION "duration"
#define NAME_BOOL "bool"
#define NAME_ARGV "argv"
#define NAME_SPECIAL "special"

struct key_row {
    const char *section;
    const char *key;
    enum key_type type;
    size_t offset;
    const char *fallback;
    const char *range;
    const char *sentence;
};

static const struct key_row rows[] = {
#define KEY(section, key, type, member, fallback, range, sentence)                                 \
    {section, key, TYPE_##type, offsetof(struct sweep, member), fallback, range, sentence},
#include "sweeper/sweepfile.def"
#undef KEY
};

const struct sweepfile_key *sweepfile_keys(size_t *out_count)
{
    static const struct sweepfile_key keys[] = {
#define KEY(section, key, type, member, fallback, range, sentence)                                 \
    {section, key, NAME_##type, fallback, range, sentence},
#include "sweeper/sweepfile.def"
#undef KEY
    };
    *out_count = COUNT_OF(keys);
    return keys;
}

static const struct key_row *find_row(const char *section, const char *key)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].section, section) == 0 && strcmp(rows[i].key, key) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static const char *nearest_key(const char *section, const char *key)
{
    const char *names[COUNT_OF(rows)];
    size_t count = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].section, section) == 0) {
            names[count++] = rows[i].key;
        }
    }
    return text_nearest(key, names, count);
}

/* ---- values from text ---- */

static bool in_range(const struct key_row *row, double value, double low, double high,
                     struct err *err)
{
    return (value >= low && value <= high) ||
           err_set(err, ERR_CODE_number, "%s must be within %s", row->key, row->range);
}

/* Splits "low..high" and reads both ends with the row's own reader. */
static bool read_bounds(const struct key_row *row, bool is_duration, double *low, double *high,
                        struct err *err)
{
    *low = -INFINITY;
    *high = INFINITY;
    const char *dots = strstr(row->range, "..");
    if (dots == NULL) {
        return true;
    }
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)(dots - row->range), row->range);
    if (!is_duration) {
        return units_parse_real(text, low, err) && units_parse_real(dots + 2, high, err);
    }
    int64_t low_us = 0;
    int64_t high_us = 0;
    if (!units_parse_duration(text, 1, &low_us, NULL, err) ||
        !units_parse_duration(dots + 2, 1, &high_us, NULL, err)) {
        return false;
    }
    *low = (double)low_us;
    *high = (double)high_us;
    return true;
}

static bool set_integer(const struct key_row *row, const char *text, int64_t *out, struct err *err)
{
    double low = 0;
    double high = 0;
    return units_parse_int(text, out, err) && read_bounds(row, false, &low, &high, err) &&
           in_range(row, (double)*out, low, high, err);
}

static bool set_real(const struct key_row *row, const char *text, double *out, struct err *err)
{
    double low = 0;
    double high = 0;
    bool ok = row->type == TYPE_PERCENT ? units_parse_percent(text, out, err)
                                        : units_parse_real(text, out, err);
    return ok && read_bounds(row, false, &low, &high, err) && in_range(row, *out, low, high, err);
}

static bool set_duration(const struct key_row *row, const char *text, int64_t *out_ms,
                         struct err *err)
{
    int64_t duration_us = 0;
    double low = 0;
    double high = 0;
    bool has_unit = false;
    if (!units_parse_duration(text, 1, &duration_us, &has_unit, err)) {
        return err_hint(err, "durations look like \"90s\", \"5m\", \"1.5h\"");
    }
    if (!has_unit && duration_us != 0) {
        err_set(err, ERR_CODE_number, "%s = %s lacks a unit", row->key, text);
        return err_hint(err, "write \"%ss\" or \"%sm\"", text, text);
    }
    if (duration_us % 1000 != 0) {
        return err_set(err, ERR_CODE_number, "%s must be a whole number of milliseconds", row->key);
    }
    *out_ms = duration_us / 1000;
    return read_bounds(row, true, &low, &high, err) &&
           in_range(row, (double)duration_us, low, high, err);
}

static bool set_bool(const struct key_row *row, const char *text, bool *out, struct err *err)
{
    static const char *const yes[] = {"true", "on", "yes", "1"};
    static const char *const no[] = {"false", "off", "no", "0"};
    for (size_t i = 0; i < COUNT_OF(yes); i++) {
        if (text_equal_nocase(text, yes[i]) || text_equal_nocase(text, no[i])) {
            *out = text_equal_nocase(text, yes[i]);
            return true;
        }
    }
    return err_set(err, ERR_CODE_sweep_file, "%s is true or false, not \"%s\"", row->key, text);
}

static bool set_choice(const struct key_row *row, const char *text, const char **out,
                       struct err *err)
{
    const char *at = row->range;
    size_t length = strlen(text);
    while (length > 0 && *at != '\0') {
        size_t word = strcspn(at, "|");
        if (word == length && strncmp(at, text, word) == 0) {
            *out = text;
            return true;
        }
        at += word + (at[word] == '|');
    }
    err_set(err, ERR_CODE_sweep_file, "%s = \"%s\" is not known", row->key, text);
    return err_hint(err, "it is one of %s", row->range);
}

/* "~/x" and paths relative to the sweep file become absolute. */
static bool set_path(const char *base, const char *text, struct arena *arena, const char **out,
                     struct err *err)
{
    const char *home = getenv("HOME");
    const char *slash = base != NULL ? strrchr(base, '/') : NULL;
    if (text[0] == '~' && text[1] == '/' && home != NULL) {
        *out = arena_printf(arena, "%s%s", home, text + 1);
    } else if (text[0] == '/' || slash == NULL) {
        *out = arena_strdup(arena, text);
    } else {
        *out = arena_printf(arena, "%.*s/%s", (int)(slash - base), base, text);
    }
    return *out != NULL || err_memory(err);
}

static bool set_from_text(const struct key_row *row, const char *base, const char *text,
                          void *member, struct arena *arena, struct err *err)
{
    switch (row->type) {
    case TYPE_TEXT:
        *(const char **)member = arena_strdup(arena, text);
        return *(const char **)member != NULL || err_memory(err);
    case TYPE_PATH:
        return set_path(base, text, arena, member, err);
    case TYPE_CHOICE:
        text = arena_strdup(arena, text);
        return text == NULL ? err_memory(err) : set_choice(row, text, member, err);
    case TYPE_INTEGER:
        return set_integer(row, text, member, err);
    case TYPE_REAL:
    case TYPE_PERCENT:
        return set_real(row, text, member, err);
    case TYPE_DURATION:
        return set_duration(row, text, member, err);
    case TYPE_BOOL:
        return set_bool(row, text, member, err);
    case TYPE_ARGV:
    case TYPE_SPECIAL:
        break;
    }
    return err_set(err, ERR_CODE_sweep_file, "%s cannot be set from one word", row->key);
}

/* ---- sections ---- */

bool sweepfile_words(const char *path, const struct node *node, struct arena *arena,
                     const char *const **out, struct err *err)
{
    bool is_one = node->kind == NODE_SCALAR || node->kind == NODE_BOOL;
    size_t count = is_one ? 1 : node->child_count;
    if (!is_one && !node_is_list(path, node, err)) {
        return false;
    }
    if (count == 0) {
        return node_err(path, node, err, "%s is empty", node->name);
    }
    const char **words = ARENA_ARRAY(arena, const char *, count + 1);
    if (words == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct node *word = is_one ? node : &node->children[i];
        if (!node_is_scalar(path, word, err)) {
            return false;
        }
        words[i] = word->text;
    }
    *out = words;
    return true;
}

static bool read_key(const char *path, const struct key_row *row, const struct node *node,
                     struct sweep *sweep, struct arena *arena, struct err *err)
{
    void *member = (char *)sweep + row->offset;
    if (row->type == TYPE_SPECIAL) {
        return true;
    }
    if (row->type == TYPE_ARGV) {
        return sweepfile_words(path, node, arena, member, err);
    }
    if (!node_is_scalar(path, node, err)) {
        return strcmp(row->key, "warm_up") != 0
                   ? false
                   : err_hint(err, "a warm-up until steady is not available in this version");
    }
    return set_from_text(row, path, node->text, member, arena, err) ||
           err_origin(err, "%s:%d", path, node->line);
}

static bool unknown_key(const char *path, const char *section, const struct node *node,
                        struct err *err)
{
    const char *near = nearest_key(section, node->name);
    node_err(path, node, err, "%s%sunknown key \"%s\"", section, section[0] != '\0' ? ": " : "",
             node->name);
    return near == NULL ? false : err_hint(err, "did you mean \"%s\"?", near);
}

/* Parts of the design that later versions bring are told apart from typing errors. */
static bool refuse_later(const char *path, const char *section, const struct node *node,
                         struct err *err)
{
    static const char *const later[][2] = {
        {"", "monitor"},       {"workload", "load_hosts"}, {"guard", "restore"},
        {"target", "session"}, {"workload", "warehouses"}, {"strategy", "workers"}};
    for (size_t i = 0; i < COUNT_OF(later); i++) {
        if (strcmp(later[i][0], section) == 0 && strcmp(later[i][1], node->name) == 0) {
            node_err(path, node, err, "%s is not available in this version", node->name);
            return err_hint(err, "remove it; README.md lists what is not done yet");
        }
    }
    return unknown_key(path, section, node, err);
}

bool sweepfile_section(const char *path, const char *section, const struct node *group,
                       struct sweep *sweep, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].section, section) == 0 && rows[i].fallback != NULL &&
            !set_from_text(&rows[i], path, rows[i].fallback, (char *)sweep + rows[i].offset, arena,
                           err)) {
            return false;
        }
    }
    for (size_t i = 0; group != NULL && i < group->child_count; i++) {
        const struct node *node = &group->children[i];
        const struct key_row *row = find_row(section, node->name);
        if (row == NULL && strcmp(section, "target") == 0 && strcmp(node->name, "password") == 0) {
            node_err(path, node, err, "a password does not belong into the sweep file");
            return err_hint(err, "use password_env or password_file");
        }
        if (row == NULL) {
            return refuse_later(path, section, node, err);
        }
        if (!read_key(path, row, node, sweep, arena, err)) {
            return false;
        }
    }
    return true;
}

/* ---- workload keys by name ---- */

/* Dashes as in options are underscores as in the file. */
static const struct key_row *workload_row(const char *key)
{
    char name[64];
    snprintf(name, sizeof name, "%s", key);
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == '-' ? '_' : *at;
    }
    return find_row("workload", name);
}

bool workload_set(struct workload_spec *workload, const char *key, const char *text,
                  struct arena *arena, struct err *err)
{
    const struct key_row *row = workload_row(key);
    if (row == NULL || row->type == TYPE_SPECIAL || row->type == TYPE_ARGV) {
        const char *near = nearest_key("workload", key);
        err_set(err, ERR_CODE_usage, "the workload has no setting \"%s\"", key);
        return near == NULL ? false : err_hint(err, "did you mean \"%s\"?", near);
    }
    size_t offset = row->offset - offsetof(struct sweep, workload);
    return set_from_text(row, NULL, text, (char *)workload + offset, arena, err);
}

bool workload_defaults(struct workload_spec *workload, struct arena *arena, struct err *err)
{
    *workload = (struct workload_spec){0};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].section, "workload") == 0 && rows[i].fallback != NULL &&
            !workload_set(workload, rows[i].key, rows[i].fallback, arena, err)) {
            return false;
        }
    }
    return true;
}

static enum knob_type knob_type_of(enum key_type type)
{
    switch (type) {
    case TYPE_INTEGER:
    case TYPE_DURATION:
        return KNOB_INTEGER;
    case TYPE_REAL:
    case TYPE_PERCENT:
        return KNOB_REAL;
    case TYPE_BOOL:
        return KNOB_BOOL;
    case TYPE_CHOICE:
        return KNOB_ENUM;
    case TYPE_TEXT:
    case TYPE_PATH:
    case TYPE_ARGV:
    case TYPE_SPECIAL:
        break;
    }
    return KNOB_TEXT;
}

const struct knob *workload_knob(const char *key)
{
    static struct knob knobs[COUNT_OF(rows)];
    const struct key_row *row = workload_row(key);
    if (row == NULL || row->type == TYPE_SPECIAL || row->type == TYPE_ARGV ||
        strcmp(row->key, "kind") == 0) {
        return NULL;
    }
    struct knob *knob = &knobs[row - rows];
    struct err err;
    double low = -INFINITY;
    double high = INFINITY;
    err_clear(&err);
    bool is_duration = row->type == TYPE_DURATION;
    if (row->type != TYPE_CHOICE && !read_bounds(row, is_duration, &low, &high, &err)) {
        return NULL; /* a row of ours that is malformed: the unit tests find it */
    }
    *knob = (struct knob){.name = row->key,
                          .type = knob_type_of(row->type),
                          .unit = is_duration                 ? UNIT_US
                                  : row->type == TYPE_PERCENT ? UNIT_PERCENT
                                                              : UNIT_NONE,
                          .bare = is_duration ? 1000000 : 1,
                          .min = low,
                          .max = high,
                          .specials = "",
                          .choices = row->type == TYPE_CHOICE ? row->range : "",
                          .apply = KNOB_SESSION,
                          .durability = "",
                          .versions = "",
                          .sentence = row->sentence,
                          .source = "dbsweep(1)",
                          .danger = ""};
    return knob;
}

/* ---- texts ---- */

static void add_member(struct json *json, const struct key_row *row, const void *member)
{
    switch (row->type) {
    case TYPE_INTEGER:
    case TYPE_DURATION:
        json_int(json, *(const int64_t *)member);
        return;
    case TYPE_REAL:
    case TYPE_PERCENT:
        json_real(json, *(const double *)member);
        return;
    case TYPE_BOOL:
        json_bool(json, *(const bool *)member);
        return;
    case TYPE_ARGV:
        json_array_begin(json);
        for (const char *const *word = *(const char *const *const *)member;
             word != NULL && *word != NULL; word++) {
            json_string(json, *word);
        }
        json_array_end(json);
        return;
    case TYPE_TEXT:
    case TYPE_PATH:
    case TYPE_CHOICE:
        json_string(json, *(const char *const *)member);
        return;
    case TYPE_SPECIAL:
        break;
    }
    json_null(json);
}

bool workload_json(const struct workload_spec *workload, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_object_begin(&json);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (strcmp(rows[i].section, "workload") != 0 || rows[i].type == TYPE_SPECIAL) {
            continue;
        }
        char name[72];
        snprintf(name, sizeof name, "%s%s", rows[i].key,
                 rows[i].type == TYPE_DURATION ? "_ms" : "");
        json_key(&json, name);
        add_member(&json, &rows[i],
                   (const char *)workload + rows[i].offset - offsetof(struct sweep, workload));
    }
    json_object_end(&json);
    return !out->failed;
}

static bool is_swept(const struct sweep *sweep, const char *key)
{
    for (size_t i = 0; i < sweep->axis_count; i++) {
        const struct sweep_axis *axis = &sweep->axes[i];
        if (axis->kind == SWEPT_WORKLOAD && axis->name != NULL && strcmp(axis->name, key) == 0) {
            return true;
        }
        for (size_t j = 0; axis->kind == SWEPT_WORKLOAD && j < axis->choice_count; j++) {
            for (size_t k = 0; k < axis->choices[j].count; k++) {
                if (strcmp(axis->choices[j].assignments[k].name, key) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void add_plan_line(struct text *text, const struct key_row *row, const void *member)
{
    struct json json;
    text_addf(text, "%s.%s = ", row->section, row->key);
    json_open(&json, text);
    add_member(&json, row, member);
    text_add_char(text, '\n');
}

bool sweepfile_plan_text(const struct sweep *sweep, struct arena *arena, const char **out,
                         struct err *err)
{
    static const char *const fixed[] = {"backend", "connect", "config", "data_directory"};
    struct text text;
    text_open(&text, arena);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct key_row *row = &rows[i];
        bool is_target = false;
        for (size_t j = 0; j < COUNT_OF(fixed); j++) {
            is_target = is_target ||
                        (strcmp(row->section, "target") == 0 && strcmp(row->key, fixed[j]) == 0);
        }
        bool is_workload = strcmp(row->section, "workload") == 0 && row->type != TYPE_SPECIAL &&
                           strcmp(row->key, "prepare_timeout") != 0 && !is_swept(sweep, row->key);
        if (is_target || is_workload || strcmp(row->section, "between") == 0 ||
            strcmp(row->key, "ssh") == 0) {
            add_plan_line(&text, row, (const char *)sweep + row->offset);
        }
    }
    for (size_t i = 0; i < sweep->workload.metric_count; i++) {
        text_addf(&text, "workload.metrics = %s %s\n", sweep->workload.metrics[i].name,
                  sweep->workload.metrics[i].regex);
    }
    *out = text_done(&text);
    return *out != NULL || err_memory(err);
}

/* ---- secrets ---- */

static bool read_password_file(const char *path, struct arena *arena, const char **out,
                               struct err *err)
{
    char buffer[1024];
    struct stat stat;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &stat) != 0) {
        err_set_errno(err, ERR_CODE_not_found, "cannot read the password file %s", path);
        if (file >= 0) {
            close(file);
        }
        return false;
    }
    if ((stat.st_mode & 077) != 0) {
        close(file);
        err_set(err, ERR_CODE_usage, "the password file %s is open to others", path);
        return err_hint(err, "chmod 600 %s", path);
    }
    ssize_t size = read(file, buffer, sizeof buffer - 1);
    close(file);
    if (size < 0) {
        return err_set_errno(err, ERR_CODE_not_found, "cannot read the password file %s", path);
    }
    buffer[size] = '\0';
    buffer[strcspn(buffer, "\r\n")] = '\0';
    *out = arena_strdup(arena, buffer);
    memset(buffer, 0, sizeof buffer);
    return *out != NULL || err_memory(err);
}

bool sweepfile_password(const char *env_name, const char *file_path, struct arena *arena,
                        const char **out, struct err *err)
{
    *out = NULL;
    if (file_path != NULL) {
        return read_password_file(file_path, arena, out, err);
    }
    if (env_name == NULL) {
        return true;
    }
    *out = getenv(env_name);
    if (*out == NULL) {
        err_set(err, ERR_CODE_not_found, "the environment has no variable %s", env_name);
        return err_hint(err, "export the password in it, or use password_file");
    }
    return true;
}
