/*
 * Variables: those that are given (the driver's own and the workload's, which all files share) and
 * those that a file sets, which are its own. Each has one type for ever, so that a statement's
 * parameters have theirs when it is prepared. And statements with values in their places, for
 * connections on which nothing is prepared.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/base/units.h"
#include "sweeper/load/script/script.h"

enum { NAME_LIMIT_BYTES = 63, NUMBER_BYTES = 40 };

static bool is_name(const char *name, size_t size)
{
    static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (size == 0 || size > NAME_LIMIT_BYTES ||
        memchr(letters, name[0], sizeof letters - 1) == NULL) {
        return false;
    }
    for (size_t i = 1; i < size; i++) {
        bool is_digit = name[i] >= '0' && name[i] <= '9';
        if (!is_digit && memchr(letters, name[i], sizeof letters - 1) == NULL) {
            return false;
        }
    }
    return true;
}

unsigned script_variable_find(const struct script_variables *variables, const char *path,
                              const char *name, size_t size)
{
    for (size_t i = 0; i < variables->count; i++) {
        const struct script_variable *row = &variables->rows[i];
        bool is_seen = row->path == NULL || (path != NULL && strcmp(row->path, path) == 0);
        if (is_seen && strlen(row->name) == size && memcmp(row->name, name, size) == 0) {
            return (unsigned)i;
        }
    }
    return SCRIPT_NONE;
}

bool script_variable_add(struct script_variables *variables, const char *path, int line,
                         const char *name, enum param_type type, unsigned *out, struct err *err)
{
    if (!is_name(name, strlen(name))) {
        err_set(err, ERR_CODE_sweep_file, "a variable cannot be named \"%.70s\"", name);
        return err_hint(err, "letters, digits and _, no digit first, at most %d bytes",
                        NAME_LIMIT_BYTES);
    }
    if (variables->count == SCRIPT_VARIABLE_LIMIT) {
        return err_set(err, ERR_CODE_sweep_file, "the scripts have more than %d variables",
                       SCRIPT_VARIABLE_LIMIT);
    }
    *out = (unsigned)variables->count;
    variables->rows[variables->count++] =
        (struct script_variable){.name = name, .type = type, .path = path, .line = line};
    return true;
}

/* ---- given ones ---- */

/* A number is what reads as one and is written as one: 01234 and 0x10 are texts. */
static bool read_value(const char *text, enum dialect dialect, struct arena *arena,
                       struct script_variable *out, struct err *err)
{
    struct err ignored;
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%.39s", text);
    err_clear(&ignored);
    if (units_parse_int(text, &out->initial.integer, &ignored)) {
        snprintf(number, sizeof number, "%lld", (long long)out->initial.integer);
        out->type = strcmp(number, text) == 0 ? PARAM_INT : PARAM_TEXT;
    } else if (strpbrk(text, ".eE") != NULL && text[0] != '.' && text[0] != '+' &&
               units_parse_real(text, &out->initial.real, &ignored)) {
        out->type = PARAM_REAL;
    }
    if (out->type == PARAM_TEXT) {
        out->text = (struct bytes){.data = text, .size = strlen(text)};
        out->literal = script_literal(out->text, dialect, arena);
        return out->literal != NULL || err_memory(err);
    }
    return true;
}

static bool add_given(struct script_variables *variables, const char *word, enum dialect dialect,
                      struct arena *arena, struct err *err)
{
    const char *equals = strchr(word, '=');
    unsigned added = 0;
    if (equals == NULL) {
        err_set(err, ERR_CODE_sweep_file, "the variable \"%.60s\" has no value", word);
        return err_hint(err, "variables = [ \"scale=10\", \"region=north\" ];");
    }
    const char *name = arena_strndup(arena, word, (size_t)(equals - word));
    if (name == NULL) {
        return err_memory(err);
    }
    unsigned earlier = script_variable_find(variables, NULL, name, strlen(name));
    if (earlier != SCRIPT_NONE) {
        bool is_own = earlier == variables->clients || earlier == variables->client_id;
        return err_set(err, ERR_CODE_sweep_file,
                       is_own ? "the variable %s is given by dbsweep itself"
                              : "the variable %s is given twice",
                       name);
    }
    return script_variable_add(variables, NULL, 0, name, PARAM_TEXT, &added, err) &&
           read_value(equals + 1, dialect, arena, &variables->rows[added], err);
}

bool script_variables_open(const struct workload_spec *spec, enum dialect dialect,
                           struct arena *arena, struct script_variables *out, struct err *err)
{
    out->count = 0;
    if (!script_variable_add(out, NULL, 0, "clients", PARAM_INT, &out->clients, err) ||
        !script_variable_add(out, NULL, 0, "client_id", PARAM_INT, &out->client_id, err)) {
        return false;
    }
    out->rows[out->clients].initial.integer = spec->clients;
    for (const char *const *word = spec->variables; word != NULL && *word != NULL; word++) {
        if (!add_given(out, *word, dialect, arena, err)) {
            return false;
        }
    }
    return true;
}

void script_variables_fill(const struct script_variables *variables, uint32_t client,
                           struct script_value *out)
{
    for (size_t i = 0; i < variables->count; i++) {
        out[i] = variables->rows[i].initial;
    }
    out[variables->client_id].integer = client;
}

/* ---- statements as text ---- */

size_t script_text_bytes(const struct script_item *item, const struct script_variables *variables)
{
    size_t size = 1;
    for (size_t i = 0; i < item->piece_count; i++) {
        const struct script_piece *piece = &item->pieces[i];
        size += piece->text.size + 1;
        if (piece->variable != SCRIPT_NONE) {
            const char *literal = variables->rows[piece->variable].literal;
            size += literal != NULL ? strlen(literal) : NUMBER_BYTES;
        }
    }
    return size;
}

/* Brackets keep a minus from becoming the second dash of a comment. A double has a point or an
 * exponent, so that systems do not take it for a whole number. */
static size_t put_value(const struct script_variable *variable, struct script_value value,
                        char *out)
{
    char number[32];
    if (variable->type == PARAM_TEXT) {
        size_t size = strlen(variable->literal);
        memcpy(out, variable->literal, size);
        return size;
    }
    if (variable->type == PARAM_INT) {
        snprintf(number, sizeof number, "%lld", (long long)value.integer);
    } else {
        units_format_real(value.real, number, sizeof number);
    }
    bool is_negative = number[0] == '-';
    bool is_whole = variable->type == PARAM_REAL && strpbrk(number, ".eE") == NULL;
    return (size_t)snprintf(out, NUMBER_BYTES, "%s%s%s%s", is_negative ? "(" : "", number,
                            is_whole ? ".0" : "", is_negative ? ")" : "");
}

void script_text_fill(const struct script_item *item, const struct script_variables *variables,
                      const struct script_value *values, char *out)
{
    for (size_t i = 0; i < item->piece_count; i++) {
        const struct script_piece *piece = &item->pieces[i];
        memcpy(out, piece->text.data, piece->text.size);
        out += piece->text.size;
        if (piece->is_mark) {
            *out++ = '?';
        } else if (piece->variable != SCRIPT_NONE) {
            out += put_value(&variables->rows[piece->variable], values[piece->variable], out);
        }
    }
    *out = '\0';
}
