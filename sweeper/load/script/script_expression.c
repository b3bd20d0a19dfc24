/*
 * Expressions of \set: read into code for a small stack machine (script_evaluate.c). Types are
 * decided while reading: an operation with a double on either side works on doubles.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/base/units.h"
#include "sweeper/load/script/script.h"

enum { NESTING_LIMIT = 64, OP_LIMIT = 4096, NUMBER_BYTES = 64 };

/* ---- reading ---- */

struct expression_reader {
    const char *at;
    const struct script_names *names;
    struct arena *arena;
    struct err *err;
    struct script_op *ops;
    size_t op_count;
    size_t op_room;
    size_t stack;
    size_t nesting;
};

static const struct {
    const char *name;
    enum script_op_kind kind;
    size_t least; /* arguments */
    size_t most;
} functions[] = {
    {"random", SCRIPT_OP_RANDOM, 2, 2},
    {"random_gaussian", SCRIPT_OP_GAUSSIAN, 3, 3},
    {"random_exponential", SCRIPT_OP_EXPONENTIAL, 3, 3},
    {"random_zipfian", SCRIPT_OP_ZIPFIAN, 3, 3},
    {"abs", SCRIPT_OP_ABS, 1, 1},
    {"int", SCRIPT_OP_TO_INT, 1, 1},
    {"double", SCRIPT_OP_TO_REAL, 1, 1},
    {"least", SCRIPT_OP_LEAST, 1, SIZE_MAX},
    {"min", SCRIPT_OP_LEAST, 1, SIZE_MAX},
    {"greatest", SCRIPT_OP_GREATEST, 1, SIZE_MAX},
    {"max", SCRIPT_OP_GREATEST, 1, SIZE_MAX},
};

static bool fail(struct expression_reader *reader, const char *text)
{
    return err_set(reader->err, ERR_CODE_sweep_file, "%s", text);
}

/* `pops` values go, one comes. */
static bool emit(struct expression_reader *reader, struct script_op op, size_t pops)
{
    if (reader->op_count == OP_LIMIT || reader->stack - pops + 1 > SCRIPT_STACK_LIMIT) {
        return fail(reader, "the expression is too long");
    }
    if (reader->op_count == reader->op_room) {
        size_t room = reader->op_room * 2 + 8;
        struct script_op *ops = ARENA_ARRAY(reader->arena, struct script_op, room);
        if (ops == NULL) {
            return err_memory(reader->err);
        }
        if (reader->op_count > 0) {
            memcpy(ops, reader->ops, reader->op_count * sizeof *ops);
        }
        reader->ops = ops;
        reader->op_room = room;
    }
    reader->ops[reader->op_count++] = op;
    reader->stack = reader->stack - pops + 1;
    return true;
}

static bool emit_constant(struct expression_reader *reader, enum param_type type,
                          struct script_value value)
{
    return emit(reader,
                (struct script_op){
                    .kind = SCRIPT_OP_CONSTANT, .is_real = type == PARAM_REAL, .value = value},
                0);
}

static bool emit_conversion(struct expression_reader *reader, enum param_type from,
                            enum param_type to)
{
    enum script_op_kind kind = to == PARAM_REAL ? SCRIPT_OP_TO_REAL : SCRIPT_OP_TO_INT;
    return from == to || emit(reader, (struct script_op){.kind = kind}, 1);
}

/* With a double on either side, both are. */
static bool emit_pair(struct expression_reader *reader, enum script_op_kind kind,
                      enum param_type *left, enum param_type right)
{
    bool is_real = *left == PARAM_REAL || right == PARAM_REAL;
    if (kind == SCRIPT_OP_REMAINDER && is_real) {
        fail(reader, "% is for whole numbers");
        return err_hint(reader->err, "int(...) rounds a number");
    }
    if (is_real && !emit_conversion(reader, right, PARAM_REAL)) {
        return false;
    }
    bool converts_left = is_real && *left == PARAM_INT;
    *left = is_real ? PARAM_REAL : PARAM_INT;
    return emit(
        reader,
        (struct script_op){.kind = kind, .is_real = is_real, .converts_left = converts_left}, 2);
}

static void skip_blanks(struct expression_reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

static bool fail_here(struct expression_reader *reader)
{
    size_t size = strcspn(reader->at, " \t\r\n");
    if (size == 0) {
        return fail(reader, "the expression ends too early");
    }
    err_set(reader->err, ERR_CODE_sweep_file, "\"%.*s\" is not understood in the expression",
            size < 40 ? (int)size : 40, reader->at);
    return err_hint(reader->err, "numbers, :name, + - * / %% ( ), random(1, :n) and its kin");
}

static bool read_sum(struct expression_reader *reader, enum param_type *out);

static size_t number_size(const char *at)
{
    size_t size = 0;
    while ((at[size] >= '0' && at[size] <= '9') || at[size] == '.' ||
           ((at[size] | 0x20) >= 'a' && (at[size] | 0x20) <= 'z') || at[size] == '_' ||
           ((at[size] == '+' || at[size] == '-') && size > 0 && (at[size - 1] | 0x20) == 'e')) {
        size++;
    }
    return size;
}

/* `sign` belongs to the number, so that the least of all whole numbers can be written. */
static bool read_number(struct expression_reader *reader, const char *sign, enum param_type *out)
{
    char text[NUMBER_BYTES];
    struct script_value value = {.integer = 0};
    size_t size = number_size(reader->at);
    const char *zero = reader->at[0] == '.' ? "0" : "";
    if (size + 3 > sizeof text) {
        return fail(reader, "a number in the expression is too long");
    }
    snprintf(text, sizeof text, "%s%s%.*s", sign, zero, (int)size, reader->at);
    *out = strpbrk(text, ".eE") != NULL ? PARAM_REAL : PARAM_INT;
    bool is_read = *out == PARAM_REAL ? units_parse_real(text, &value.real, reader->err)
                                      : units_parse_int(text, &value.integer, reader->err);
    if (!is_read) {
        reader->err->code = ERR_CODE_sweep_file;
        return false;
    }
    reader->at += size;
    return emit_constant(reader, *out, value);
}

static bool read_variable(struct expression_reader *reader, enum param_type *out)
{
    const char *name = reader->at + 1;
    size_t size = strspn(name, "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    unsigned variable = reader->names->find(reader->names->context, name, size);
    if (variable == SCRIPT_NONE) {
        err_set(reader->err, ERR_CODE_sweep_file, "there is no variable :%.*s here",
                size < 60 ? (int)size : 60, name);
        return err_hint(reader->err, "\\set it before, or give it: variables = [ \"%.*s=1\" ];",
                        size < 60 ? (int)size : 60, name);
    }
    *out = reader->names->rows[variable].type;
    if (*out == PARAM_TEXT) {
        return err_set(reader->err, ERR_CODE_sweep_file, ":%s is a text: it has no value",
                       reader->names->rows[variable].name);
    }
    reader->at = name + size;
    return emit(reader,
                (struct script_op){.kind = SCRIPT_OP_VARIABLE,
                                   .is_real = *out == PARAM_REAL,
                                   .variable = variable},
                0);
}

/* ---- functions ---- */

/* What an argument is made of, beyond itself; `type` becomes that of the result so far. */
static bool emit_argument(struct expression_reader *reader, size_t function, size_t index,
                          enum param_type argument, enum param_type *type)
{
    enum script_op_kind kind = functions[function].kind;
    switch (kind) {
    case SCRIPT_OP_LEAST:
    case SCRIPT_OP_GREATEST:
        if (index > 0) {
            return emit_pair(reader, kind, type, argument);
        }
        *type = argument;
        return true;
    case SCRIPT_OP_ABS:
        *type = argument;
        return true;
    case SCRIPT_OP_TO_INT:
    case SCRIPT_OP_TO_REAL:
        *type = kind == SCRIPT_OP_TO_INT ? PARAM_INT : PARAM_REAL;
        return emit_conversion(reader, argument, *type);
    default:
        *type = PARAM_INT;
        if (index < 2 && argument != PARAM_INT) {
            fail(reader, "the bounds of a random number are whole numbers");
            return err_hint(reader->err, "int(...) rounds a number");
        }
        return emit_conversion(reader, argument, index < 2 ? PARAM_INT : PARAM_REAL);
    }
}

static bool emit_call(struct expression_reader *reader, size_t function, size_t count,
                      enum param_type type)
{
    enum script_op_kind kind = functions[function].kind;
    if (count < functions[function].least || count > functions[function].most) {
        err_set(reader->err, ERR_CODE_sweep_file, "%s has %zu argument%s, not %zu",
                functions[function].name, functions[function].least,
                functions[function].least == 1 ? "" : "s", count);
        return kind == SCRIPT_OP_RANDOM ? err_hint(reader->err, "random(lowest, highest)") : false;
    }
    bool is_random = kind >= SCRIPT_OP_RANDOM;
    return (kind != SCRIPT_OP_ABS && !is_random) ||
           emit(reader, (struct script_op){.kind = kind, .is_real = type == PARAM_REAL},
                is_random ? count : 1);
}

static bool find_function(struct expression_reader *reader, size_t *out)
{
    const char *names[COUNT_OF(functions)];
    char name[32];
    size_t size = strspn(reader->at, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    snprintf(name, sizeof name, "%.*s", size < 31 ? (int)size : 31, reader->at);
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        names[i] = functions[i].name;
        if (text_equal_nocase(names[i], name)) {
            *out = i;
            reader->at += size;
            return true;
        }
    }
    bool is_call = reader->at[size + strspn(reader->at + size, " \t")] == '(';
    const char *near = is_call ? text_nearest(name, names, COUNT_OF(names)) : NULL;
    if (!is_call) {
        err_set(reader->err, ERR_CODE_sweep_file, "\"%s\" is not understood in the expression",
                name);
        return err_hint(reader->err, "a variable has a colon: :%s", name);
    }
    err_set(reader->err, ERR_CODE_sweep_file, "there is no function %s", name);
    return near != NULL ? err_hint(reader->err, "did you mean %s?", near)
                        : err_hint(reader->err, "random, random_gaussian, random_exponential, "
                                                "random_zipfian, abs, min, max, int, double");
}

static bool read_call(struct expression_reader *reader, enum param_type *out)
{
    size_t function = 0;
    size_t count = 0;
    enum param_type argument = PARAM_INT;
    if (!find_function(reader, &function)) {
        return false;
    }
    skip_blanks(reader);
    if (*reader->at != '(') {
        return fail_here(reader);
    }
    do {
        reader->at++;
        skip_blanks(reader);
        if (count == 0 && *reader->at == ')') {
            break;
        }
        if (!read_sum(reader, &argument) ||
            !emit_argument(reader, function, count, argument, out)) {
            return false;
        }
        count++;
        skip_blanks(reader);
    } while (*reader->at == ',');
    if (*reader->at != ')') {
        return fail_here(reader);
    }
    reader->at++;
    return emit_call(reader, function, count, *out);
}

/* ---- operators ---- */

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool read_atom(struct expression_reader *reader, enum param_type *out)
{
    char byte = *reader->at;
    if (is_digit(byte) || (byte == '.' && is_digit(reader->at[1]))) {
        return read_number(reader, "", out);
    }
    if (byte == ':') {
        return read_variable(reader, out);
    }
    if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') {
        return read_call(reader, out);
    }
    if (byte != '(') {
        return fail_here(reader);
    }
    reader->at++;
    if (!read_sum(reader, out)) {
        return false;
    }
    skip_blanks(reader);
    if (*reader->at != ')') {
        return fail_here(reader);
    }
    reader->at++;
    return true;
}

static bool read_signed(struct expression_reader *reader, enum param_type *out)
{
    bool is_negative = false;
    skip_blanks(reader);
    while (*reader->at == '-' || *reader->at == '+') {
        bool is_minus = *reader->at == '-';
        reader->at++;
        skip_blanks(reader);
        if (is_minus && !is_negative && is_digit(*reader->at)) {
            return read_number(reader, "-", out);
        }
        is_negative = is_negative != is_minus;
    }
    return read_atom(reader, out) &&
           (!is_negative ||
            emit(reader,
                 (struct script_op){.kind = SCRIPT_OP_NEGATE, .is_real = *out == PARAM_REAL}, 1));
}

static bool read_product(struct expression_reader *reader, enum param_type *out)
{
    if (!read_signed(reader, out)) {
        return false;
    }
    skip_blanks(reader);
    while (*reader->at == '*' || *reader->at == '/' || *reader->at == '%') {
        enum script_op_kind kind = *reader->at == '*'   ? SCRIPT_OP_MULTIPLY
                                   : *reader->at == '/' ? SCRIPT_OP_DIVIDE
                                                        : SCRIPT_OP_REMAINDER;
        enum param_type right = PARAM_INT;
        reader->at++;
        if (!read_signed(reader, &right) || !emit_pair(reader, kind, out, right)) {
            return false;
        }
        skip_blanks(reader);
    }
    return true;
}

static bool read_terms(struct expression_reader *reader, enum param_type *out)
{
    if (!read_product(reader, out)) {
        return false;
    }
    skip_blanks(reader);
    while (*reader->at == '+' || *reader->at == '-') {
        enum script_op_kind kind = *reader->at == '+' ? SCRIPT_OP_ADD : SCRIPT_OP_SUBTRACT;
        enum param_type right = PARAM_INT;
        reader->at++;
        if (!read_product(reader, &right) || !emit_pair(reader, kind, out, right)) {
            return false;
        }
        skip_blanks(reader);
    }
    return true;
}

static bool read_sum(struct expression_reader *reader, enum param_type *out)
{
    if (reader->nesting == NESTING_LIMIT) {
        return fail(reader, "the expression is nested too deep");
    }
    reader->nesting++;
    bool ok = read_terms(reader, out);
    reader->nesting--;
    return ok;
}

bool script_expression_read(const char *text, const struct script_names *names, struct arena *arena,
                            struct script_expression *out, struct err *err)
{
    struct expression_reader reader = {.at = text, .names = names, .arena = arena, .err = err};
    if (!read_sum(&reader, &out->type)) {
        return false;
    }
    skip_blanks(&reader);
    if (*reader.at != '\0') {
        return fail_here(&reader);
    }
    out->ops = reader.ops;
    out->op_count = reader.op_count;
    return true;
}
