/*
 * The workload's keys by name: from text (workload axes, options of `dbsweep load`), as the rows of
 * knobs that axes are checked against, and as JSON. And the text of what may not change between
 * two runs, which is made of the same rows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/base/json.h"
#include "sweeper/sweepfile_node.h"

/* Dashes as in options are the underscores of the file. NULL: no such key. */
static const struct key_row *find_row(const char *key)
{
    char name[64];
    if (snprintf(name, sizeof name, "%s", key) >= (int)sizeof name) {
        return NULL;
    }
    for (char *dash = strchr(name, '-'); dash != NULL; dash = strchr(dash, '-')) {
        *dash = '_';
    }
    return key_find("workload", name);
}

static void *member_of(struct workload_spec *workload, const struct key_row *row)
{
    return (char *)workload + (row->offset - offsetof(struct sweep, workload));
}

/* ---- from text ---- */

/* The next word of a command line: split at blanks, kept together by quotes of either kind. False:
 * none is left, or a quote is not closed, on which *at then stands. */
static bool next_word(const char **at, struct text *word)
{
    *at += strspn(*at, " \t\n");
    const char *begin = *at;
    while (**at != '\0' && strchr(" \t\n", **at) == NULL) {
        const char *end = **at == '"' || **at == '\'' ? strchr(*at + 1, **at) : NULL;
        if (end != NULL) {
            text_add_bytes(word, *at + 1, (size_t)(end - *at - 1));
            *at = end + 1;
        } else if (**at == '"' || **at == '\'') {
            return false;
        } else {
            text_add_char(word, *(*at)++);
        }
    }
    return *at > begin;
}

/* A whole command in one text, as an option gives it. */
static bool split_words(const struct key_row *row, const char *text, struct arena *arena,
                        const char *const **out, struct err *err)
{
    const char *at = text;
    size_t count = 0;
    struct text word;
    const char **words = ARENA_ARRAY(arena, const char *, strlen(text) / 2 + 2);
    if (words == NULL) {
        return err_memory(err);
    }
    text_open(&word, arena);
    while (next_word(&at, &word)) {
        words[count] = text_done(&word);
        if (words[count++] == NULL) {
            return err_memory(err);
        }
        text_open(&word, arena);
    }
    if (*at != '\0') {
        err_set(err, ERR_CODE_usage, "%s: the quote at '%.40s' is not closed", row->key, at);
        return err_hint(err, "words are split at blanks, outside of quotes");
    }
    if (count == 0) {
        err_set(err, ERR_CODE_usage, "%s is empty", row->key);
        return err_hint(err, "give a program and its arguments in one argument: 'sleep 1'");
    }
    *out = words;
    return true;
}

/* An option gives one word, and may be given again for each further one. */
static bool add_one_word(const char *text, struct arena *arena, const char *const **out,
                         struct err *err)
{
    size_t count = 0;
    while (*out != NULL && (*out)[count] != NULL) {
        count++;
    }
    const char **words = ARENA_ARRAY(arena, const char *, count + 2);
    if (words == NULL || (words[count] = arena_strdup(arena, text)) == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = (*out)[i];
    }
    *out = words;
    return true;
}

bool workload_set(struct workload_spec *workload, const char *key, const char *text,
                  struct arena *arena, struct err *err)
{
    const struct key_row *row = find_row(key);
    if (row == NULL || row->type == KEY_SHAPE) {
        const char *near = key_nearest("workload", key);
        err_set(err, ERR_CODE_usage, "%.60s is no setting of the workload%s", key,
                row == NULL ? "" : " that one word can say");
        return row == NULL && near != NULL ? err_hint(err, "did you mean \"%s\"?", near) : false;
    }
    if (row->type == KEY_ARGV) {
        return split_words(row, text, arena, member_of(workload, row), err);
    }
    return row->type == KEY_WORDS ? add_one_word(text, arena, member_of(workload, row), err)
                                  : key_set(row, "", text, member_of(workload, row), arena, err);
}

bool workload_defaults(struct workload_spec *workload, struct arena *arena, struct err *err)
{
    *workload = (struct workload_spec){.kind = NULL};
    for (size_t i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (strcmp(row->section, "workload") == 0 && row->fallback != NULL &&
            !key_set(row, "", row->fallback, member_of(workload, row), arena, err)) {
            return false;
        }
    }
    return true;
}

/* ---- as knobs ---- */

#define KNOB_TYPE_TEXT KNOB_TEXT
#define KNOB_TYPE_PATH KNOB_TEXT
#define KNOB_TYPE_CHOICE KNOB_ENUM
#define KNOB_TYPE_INTEGER KNOB_INTEGER
#define KNOB_TYPE_REAL KNOB_REAL
#define KNOB_TYPE_PERCENT KNOB_REAL
#define KNOB_TYPE_DURATION KNOB_INTEGER
#define KNOB_TYPE_BOOL KNOB_BOOL
#define KNOB_TYPE_ARGV KNOB_TEXT
#define KNOB_TYPE_WORDS KNOB_TEXT
#define KNOB_TYPE_SHAPE KNOB_TEXT
#define KNOB_UNIT(type)                                                                            \
    ((type) == KEY_DURATION ? UNIT_US : (type) == KEY_PERCENT ? UNIT_PERCENT : UNIT_NONE)

/* One for each row of sweepfile.def, in its order; those of other sections stand here unused. */
static const struct knob knobs[] = {
#define KEY(section_, key_, type_, member_, fallback_, range_, low_, high_, sentence_)             \
    {.name = (key_),                                                                               \
     .type = KNOB_TYPE_##type_,                                                                    \
     .unit = KNOB_UNIT(KEY_##type_),                                                               \
     .bare = 1,                                                                                    \
     .min =                                                                                        \
         KNOB_TYPE_##type_ == KNOB_INTEGER || KNOB_TYPE_##type_ == KNOB_REAL ? (low_) : -INFINITY, \
     .max =                                                                                        \
         KNOB_TYPE_##type_ == KNOB_INTEGER || KNOB_TYPE_##type_ == KNOB_REAL ? (high_) : INFINITY, \
     .specials = "",                                                                               \
     .choices = KNOB_TYPE_##type_ == KNOB_ENUM ? (range_) : "",                                    \
     .apply = KNOB_SESSION,                                                                        \
     .durability = "",                                                                             \
     .versions = "",                                                                               \
     .sentence = (sentence_),                                                                      \
     .source = "dbsweep(1)",                                                                       \
     .danger = ""},
#include "sweeper/sweepfile.def"
};

/* What belongs to the sweep as a whole: it says what work is done, or decides once how. */
static bool is_fixed(const struct key_row *row)
{
    static const char *const fixed[] = {"kind",  "reset",   "preset", "prepare_timeout",
                                        "setup", "teardown"};
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        if (strcmp(row->key, fixed[i]) == 0) {
            return true;
        }
    }
    return !key_is_word(row);
}

const struct knob *workload_knob(const char *key)
{
    const struct key_row *row = find_row(key);
    return row == NULL || is_fixed(row) ? NULL : &knobs[row - key_rows];
}

/* ---- as text ---- */

static void add_words(struct json *json, const char *const *words)
{
    json_array_begin(json);
    for (; words != NULL && *words != NULL; words++) {
        json_string(json, *words);
    }
    json_array_end(json);
}

static void add_member(struct json *json, const struct key_row *row, const void *member)
{
    switch (row->type) {
    case KEY_INTEGER:
    case KEY_DURATION:
        json_int(json, *(const int64_t *)member);
        return;
    case KEY_REAL:
    case KEY_PERCENT:
        json_real(json, *(const double *)member);
        return;
    case KEY_BOOL:
        json_bool(json, *(const bool *)member);
        return;
    case KEY_ARGV:
    case KEY_WORDS:
        add_words(json, *(const char *const *const *)member);
        return;
    case KEY_TEXT:
    case KEY_PATH:
    case KEY_CHOICE:
        json_string(json, *(const char *const *)member);
        return;
    case KEY_SHAPE:
        break;
    }
    json_null(json);
}

static void add_metrics(struct json *json, const struct workload_spec *workload)
{
    json_array_begin(json);
    for (size_t i = 0; i < workload->metric_count; i++) {
        const struct load_metric_spec *metric = &workload->metrics[i];
        json_object_begin(json);
        json_key(json, "name");
        json_string(json, metric->name);
        json_key(json, "regex");
        json_string(json, metric->regex);
        json_key(json, "better");
        json_string(json, metric->better);
        json_object_end(json);
    }
    json_array_end(json);
}

static void add_script(struct json *json, const struct load_script *script)
{
    if (script->text == NULL) {
        json_null(json);
        return;
    }
    json_object_begin(json);
    json_key(json, "name");
    json_string(json, script->name);
    json_key(json, "weight");
    json_int(json, script->weight);
    json_key(json, "text");
    json_string(json, script->text);
    json_object_end(json);
}

static void add_scripts(struct json *json, const struct workload_spec *workload)
{
    json_key(json, "script_texts");
    json_array_begin(json);
    for (size_t i = 0; i < workload->script_count; i++) {
        add_script(json, &workload->scripts[i]);
    }
    json_array_end(json);
    json_key(json, "setup_text");
    add_script(json, &workload->setup_script);
    json_key(json, "teardown_text");
    add_script(json, &workload->teardown_script);
}

/* The unit, where the key of the file leaves it to the value. */
static const char *unit_suffix(const struct key_row *row)
{
    return row->type == KEY_DURATION ? "_ms" : row->type == KEY_PERCENT ? "_pct" : "";
}

bool workload_json(const struct workload_spec *workload, struct text *out)
{
    struct json json;
    json_open(&json, out);
    json_object_begin(&json);
    for (size_t i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        if (strcmp(row->section, "workload") != 0 || row->type == KEY_SHAPE) {
            continue;
        }
        char name[72];
        snprintf(name, sizeof name, "%s%s", row->key, unit_suffix(row));
        json_key(&json, name);
        add_member(&json, row,
                   (const char *)workload + (row->offset - offsetof(struct sweep, workload)));
    }
    json_key(&json, "metrics");
    add_metrics(&json, workload);
    if (workload->script_count > 0) {
        add_scripts(&json, workload);
    }
    json_object_end(&json);
    return !out->failed;
}

/* ---- what may not change ---- */

static bool is_swept(const struct sweep *sweep, const struct key_row *row)
{
    for (size_t i = 0; i < sweep->axis_count; i++) {
        const struct sweep_axis *axis = &sweep->axes[i];
        if (axis->kind != SWEPT_WORKLOAD) {
            continue;
        }
        if (axis->name != NULL && find_row(axis->name) == row) {
            return true;
        }
        for (size_t j = 0; j < axis->choice_count; j++) {
            for (size_t k = 0; k < axis->choices[j].count; k++) {
                if (find_row(axis->choices[j].assignments[k].name) == row) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Timeouts and commands that start and stop the server change no result. */
static bool is_kept(const struct sweep *sweep, const struct key_row *row)
{
    static const char *const of_target[] = {
        "backend", "connect", "config", "data_directory", "apply", "session", "session_connect"};
    if (strcmp(row->section, "between") == 0) {
        return true;
    }
    if (strcmp(row->section, "target.replay") == 0 || strcmp(row->key, "source") == 0) {
        return sweep->backend->measure != NULL && row->type != KEY_SHAPE;
    }
    if (strcmp(row->section, "target.host") == 0 ||
        strcmp(row->section, "workload.load_hosts") == 0) {
        return strcmp(row->key, "ssh") == 0;
    }
    if (strcmp(row->section, "workload") == 0) {
        return row->type != KEY_SHAPE && strcmp(row->key, "prepare_timeout") != 0 &&
               !is_swept(sweep, row);
    }
    for (size_t i = 0; strcmp(row->section, "target") == 0 && i < COUNT_OF(of_target); i++) {
        if (strcmp(row->key, of_target[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What a script says belongs to the work, not only where it lies. */
static void add_script_line(struct text *text, const char *what, const struct load_script *script)
{
    struct json json;
    if (script->text != NULL) {
        text_addf(text, "workload.%s = ", what);
        json_open(&json, text);
        add_script(&json, script);
        text_add_char(text, '\n');
    }
}

bool sweepfile_plan_text(const struct sweep *sweep, struct arena *arena, const char **out,
                         struct err *err)
{
    struct text text;
    text_open(&text, arena);
    for (size_t i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        struct json json;
        if (is_kept(sweep, row)) {
            text_addf(&text, "%s.%s%s = ", row->section, row->key, unit_suffix(row));
            json_open(&json, &text);
            add_member(&json, row, (const char *)sweep + row->offset);
            text_add_char(&text, '\n');
        }
    }
    struct json json;
    text_add(&text, "workload.metrics = ");
    json_open(&json, &text);
    add_metrics(&json, &sweep->workload);
    text_add_char(&text, '\n');
    for (size_t i = 0; i < sweep->workload.script_count; i++) {
        add_script_line(&text, "script", &sweep->workload.scripts[i]);
    }
    add_script_line(&text, "setup", &sweep->workload.setup_script);
    *out = text_done(&text);
    return *out != NULL || err_memory(err);
}
