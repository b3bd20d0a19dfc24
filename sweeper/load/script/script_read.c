/*
 * A script file, read into items: \set lines, and statements between semicolons with the labels
 * that stand above them. What of pgbench's language is not here is refused by its name, with what
 * to do instead.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/load/script/script.h"

enum { LABEL_LIMIT_BYTES = 60 };

bool script_fail(const struct script_reader *reader, int line, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(reader->err, ERR_CODE_sweep_file, "%s", text);
    return err_origin(reader->err, "%s:%d", reader->file->path, line);
}

/* The items of a file as they are found. */
struct item_node {
    struct item_node *next;
    struct script_item item;
};

struct item_list {
    struct item_node *first;
    struct item_node **last;
    size_t count;
};

static bool add_item(struct script_reader *reader, struct item_list *list)
{
    struct item_node *node = ARENA_NEW(reader->arena, struct item_node);
    if (node == NULL) {
        return err_memory(reader->err);
    }
    node->item = reader->item;
    *list->last = node;
    list->last = &node->next;
    list->count++;
    return true;
}

/* ---- \ commands ---- */

static const struct {
    const char *name;
    const char *hint;
} refused[] = {
    {"sleep", "think_time is the rest between two transactions; within one there is none"},
    {"if", "write several scripts and give each its weight: \"a.sql@9\", \"b.sql@1\""},
    {"elif", "write several scripts and give each its weight"},
    {"else", "write several scripts and give each its weight"},
    {"endif", "write several scripts and give each its weight"},
    {"gset", "results are read and thrown away; let SQL use them: insert ... select, returning"},
    {"aset", "results are read and thrown away; let SQL use them: insert ... select, returning"},
    {"setrandom", "\\set name random(1, 100)"},
    {"setshell", "give the value to the workload: variables = [ \"name=1\" ];"},
    {"shell", "a script runs SQL alone"},
    {"startpipeline", "each statement waits for its answer, so that each is timed"},
    {"endpipeline", "each statement waits for its answer, so that each is timed"},
    {"syncpipeline", "each statement waits for its answer, so that each is timed"},
};

static bool refuse_command(struct script_reader *reader, int line, const char *name)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        if (strcmp(refused[i].name, name) == 0) {
            script_fail(reader, line, "\\%s is not possible in a script", name);
            return err_hint(reader->err, "%s", refused[i].hint);
        }
    }
    script_fail(reader, line, "\\%s is no command of a script", name);
    return err_hint(reader->err, text_distance(name, "set") <= 1 ? "did you mean \\set?"
                                                                 : "there is \\set alone");
}

/* The line without its end; a backslash at the end goes on with the next line. */
static bool read_line(struct script_reader *reader, const char **out)
{
    struct text line;
    bool goes_on = true;
    text_open(&line, reader->arena);
    while (goes_on) {
        size_t size = strcspn(reader->at, "\n");
        size_t kept = size;
        while (kept > 0 && (unsigned char)reader->at[kept - 1] <= ' ') {
            kept--;
        }
        goes_on = kept > 0 && reader->at[kept - 1] == '\\' && reader->at[size] == '\n';
        text_add_bytes(&line, reader->at, goes_on ? kept - 1 : kept);
        text_add_char(&line, ' ');
        reader->line += reader->at[size] == '\n';
        reader->at += size + (reader->at[size] == '\n');
    }
    *out = text_done(&line);
    return *out != NULL || err_memory(reader->err);
}

static unsigned find_name(const void *context, const char *name, size_t size)
{
    const struct script_reader *reader = context;
    return script_variable_find(reader->variables, reader->file->path, name, size);
}

/* The variable that is set: one that is there, which keeps its type, or a new one. */
static bool take_variable(struct script_reader *reader, int line, const char *name)
{
    struct script_expression *expression = &reader->item.expression;
    struct script_variables *variables = reader->variables;
    unsigned *variable = &reader->item.variable;
    *variable = script_variable_find(variables, reader->file->path, name, strlen(name));
    if (*variable == SCRIPT_NONE) {
        return script_variable_add(variables, reader->file->path, line, name, expression->type,
                                   variable, reader->err) ||
               err_origin(reader->err, "%s:%d", reader->file->path, line);
    }
    const struct script_variable *row = &variables->rows[*variable];
    if (*variable == variables->clients || *variable == variables->client_id) {
        script_fail(reader, line, ":%s is given by dbsweep itself", name);
        return err_hint(reader->err, "set another: \\set my_%s ...", name);
    }
    if (row->type == PARAM_TEXT) {
        return script_fail(reader, line, ":%s is a text, which \\set cannot change", name);
    }
    if (row->type == PARAM_INT && expression->type == PARAM_REAL) {
        script_fail(reader, line, ":%s is a whole number, and this is one with a fraction", name);
        return err_hint(reader->err, "a variable has one type: int(...) rounds this, double(...) "
                                     "changes it where it is set first");
    }
    return true;
}

/* A whole number for a variable with a fraction becomes one. */
static bool fit_type(struct script_reader *reader)
{
    struct script_expression *expression = &reader->item.expression;
    enum param_type wanted = reader->variables->rows[reader->item.variable].type;
    if (expression->type == wanted) {
        return true;
    }
    struct script_op *ops = ARENA_ARRAY(reader->arena, struct script_op, expression->op_count + 1);
    if (ops == NULL) {
        return err_memory(reader->err);
    }
    memcpy(ops, expression->ops, expression->op_count * sizeof *ops);
    ops[expression->op_count++] = (struct script_op){.kind = SCRIPT_OP_TO_REAL};
    expression->ops = ops;
    expression->type = wanted;
    return true;
}

static bool read_set(struct script_reader *reader, int line, const char *rest)
{
    const struct script_names names = {
        .context = reader, .find = find_name, .rows = reader->variables->rows};
    size_t blanks = strspn(rest, " \t");
    size_t size = strcspn(rest + blanks, " \t");
    const char *name = arena_strndup(reader->arena, rest + blanks, size);
    if (name == NULL) {
        return err_memory(reader->err);
    }
    if (size == 0) {
        script_fail(reader, line, "\\set has no name");
        return err_hint(reader->err, "\\set id random(1, 100000)");
    }
    reader->item = (struct script_item){.kind = SCRIPT_SET, .line = line};
    return (script_expression_read(rest + blanks + size, &names, reader->arena,
                                   &reader->item.expression, reader->err) ||
            err_origin(reader->err, "%s:%d", reader->file->path, line)) &&
           take_variable(reader, line, name) && fit_type(reader);
}

static bool read_command(struct script_reader *reader, struct item_list *list)
{
    char name[24];
    const char *text = NULL;
    int line = reader->line;
    if (!read_line(reader, &text)) {
        return false;
    }
    size_t size = strcspn(text + 1, " \t");
    snprintf(name, sizeof name, "%.*s", size < 23 ? (int)size : 23, text + 1);
    return strcmp(name, "set") == 0
               ? read_set(reader, line, text + 1 + size) && add_item(reader, list)
               : refuse_command(reader, line, name);
}

/* ---- labels ---- */

/* "-- name: transfer" names the next statement. NULL in *out: the comment is no label. */
static bool read_label(struct script_reader *reader, size_t size, const char **out)
{
    static const char *const own[] = {"begin", "commit", "rollback"};
    const char *at = reader->at + 2;
    const char *end = reader->at + size;
    at += strspn(at, " \t");
    *out = NULL;
    if (reader->at[0] != '-' || strncmp(at, "name:", 5) != 0) {
        return true;
    }
    at += 5;
    at += strspn(at, " \t");
    while (end > at && (unsigned char)end[-1] <= ' ') {
        end--;
    }
    if (at >= end || (size_t)(end - at) > LABEL_LIMIT_BYTES) {
        script_fail(reader, reader->line, "the label is empty or longer than %d bytes",
                    LABEL_LIMIT_BYTES);
        return err_hint(reader->err, "-- name: transfer");
    }
    *out = arena_strndup(reader->arena, at, (size_t)(end - at));
    for (size_t i = 0; *out != NULL && i < COUNT_OF(own); i++) {
        if (strcmp(*out, own[i]) == 0) {
            script_fail(reader, reader->line, "%s is the name of a call of the driver's own", *out);
            return err_hint(reader->err, "give the statement another name");
        }
    }
    return *out != NULL || err_memory(reader->err);
}

/* ---- the file ---- */

struct progress {
    struct item_list list;
    const char *label; /* of the statement that comes */
    int label_line;
    int begin_line; /* of the transaction that is open; 0: none */
    bool writes;
};

/* What the driver must know of a transaction is known from the file alone. */
static bool follow_transaction(struct script_reader *reader, struct progress *progress)
{
    int line = reader->item.line;
    switch (reader->item.kind) {
    case SCRIPT_BEGIN:
        if (progress->begin_line > 0) {
            return script_fail(reader, line, "the transaction of line %d is still open",
                               progress->begin_line);
        }
        progress->begin_line = line;
        return true;
    case SCRIPT_COMMIT:
    case SCRIPT_ROLLBACK:
        if (progress->begin_line == 0) {
            return script_fail(reader, line, "no transaction is open here");
        }
        progress->begin_line = 0;
        return true;
    case SCRIPT_SET:
    case SCRIPT_STATEMENT:
        break;
    }
    return true;
}

static bool read_statement(struct script_reader *reader, struct progress *progress)
{
    bool writes = false;
    if (!script_statement_read(reader, progress->label, &writes)) {
        return false;
    }
    bool is_own = reader->item.kind != SCRIPT_STATEMENT;
    if (is_own && progress->label != NULL) {
        script_fail(reader, progress->label_line, "the label %s names a call of the driver's own",
                    progress->label);
        return err_hint(reader->err, "begin, commit and rollback have names; label a statement");
    }
    progress->label = NULL;
    progress->writes = progress->writes || (writes && !is_own);
    return follow_transaction(reader, progress) && add_item(reader, &progress->list);
}

static bool read_comment(struct script_reader *reader, size_t size, struct progress *progress)
{
    const char *label = NULL;
    if (!read_label(reader, size, &label)) {
        return false;
    }
    if (label != NULL) {
        progress->label = label;
        progress->label_line = reader->line;
    }
    for (size_t i = 0; i < size; i++) {
        reader->line += reader->at[i] == '\n';
    }
    reader->at += size;
    return true;
}

static bool read_next(struct script_reader *reader, struct progress *progress, bool *is_line_start)
{
    size_t size = 0;
    bool is_closed = true;
    size_t offset = (size_t)(reader->at - reader->file->text);
    if ((unsigned char)*reader->at <= ' ' || *reader->at == ';') {
        *is_line_start = *reader->at == '\n' || (*is_line_start && *reader->at != ';');
        reader->line += *reader->at == '\n';
        reader->at++;
        return true;
    }
    if (*reader->at == '\\' && !*is_line_start) {
        script_fail(reader, reader->line, "a \\ command in the middle of a line");
        return err_hint(reader->err, "it has a line of its own");
    }
    if (*reader->at == '\\') {
        return read_command(reader, &progress->list);
    }
    enum script_token token =
        script_token(reader->file->text, offset, reader->dialect, &size, &is_closed);
    *is_line_start = false;
    if (token == SCRIPT_TOKEN_COMMENT && !is_closed) {
        return script_fail(reader, reader->line, "the comment that begins here is not closed");
    }
    return token == SCRIPT_TOKEN_COMMENT ? read_comment(reader, size, progress)
                                         : read_statement(reader, progress);
}

static bool finish(struct script_reader *reader, const struct progress *progress,
                   struct script_file *out)
{
    size_t statement_count = 0;
    struct script_item *items =
        ARENA_ARRAY(reader->arena, struct script_item, progress->list.count + 1);
    if (items == NULL) {
        return err_memory(reader->err);
    }
    if (progress->begin_line > 0) {
        script_fail(reader, progress->begin_line, "the transaction that begins here has no end");
        return err_hint(reader->err, "commit; or rollback;");
    }
    if (progress->label != NULL) {
        script_fail(reader, progress->label_line, "the label %s names no statement",
                    progress->label);
        return err_hint(reader->err, "it stands above its statement");
    }
    for (const struct item_node *node = progress->list.first; node != NULL; node = node->next) {
        statement_count += node->item.kind == SCRIPT_STATEMENT;
        items[out->item_count++] = node->item;
    }
    out->items = items;
    out->writes = progress->writes;
    if (statement_count == 0) {
        script_fail(reader, reader->line, "the script has no statement");
        return err_hint(reader->err, "a statement of SQL ends with a semicolon");
    }
    return true;
}

bool script_read(const struct load_script *file, enum dialect dialect,
                 struct script_variables *variables, struct arena *arena, struct script_file *out,
                 struct err *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* that some editors put before UTF-8 */
    struct script_reader reader = {.file = file,
                                   .dialect = dialect,
                                   .variables = variables,
                                   .arena = arena,
                                   .err = err,
                                   .at = file->text,
                                   .line = 1};
    struct progress progress = {.label = NULL};
    bool is_line_start = true;
    progress.list.last = &progress.list.first;
    *out = (struct script_file){.name = file->name, .path = file->path, .weight = file->weight};
    reader.at += text_starts_with(file->text, mark) ? sizeof mark - 1 : 0;
    while (*reader.at != '\0') {
        if (!read_next(&reader, &progress, &is_line_start)) {
            return false;
        }
    }
    return finish(&reader, &progress, out);
}
