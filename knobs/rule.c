/*
 * Rules: a recursive descent parser over one line of text, and an evaluator with three truths.
 *
 * One enumeration serves tokens and tree nodes: an operator keeps its sign. Names are not resolved
 * here; the caller's look-up does, so that the same rules serve grids, `--where` and `under`.
 * Recursion is bounded: by RULE_LIMIT_DEPTH where the text nests, by RULE_LIMIT_BYTES where a chain
 * such as a + b + c leans to the left.
 */
#include "knobs/rule.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "knobs/value.h"
#include "sweeper/base/text.h"

enum sign {
    SIGN_END,
    SIGN_NUMBER,
    SIGN_NAME,
    SIGN_TEXT,
    SIGN_TRUE,
    SIGN_FALSE,
    SIGN_OPEN,
    SIGN_CLOSE,
    SIGN_OR,
    SIGN_AND,
    SIGN_NOT,
    SIGN_LESS,
    SIGN_LESS_EQUAL,
    SIGN_GREATER,
    SIGN_GREATER_EQUAL,
    SIGN_EQUAL,
    SIGN_NOT_EQUAL,
    SIGN_PLUS,
    SIGN_MINUS,
    SIGN_TIMES,
    SIGN_DIVIDE
};

struct node {
    enum sign sign; /* SIGN_MINUS without left is the negation */
    int column;
    double number;
    const char *text; /* of SIGN_NAME and SIGN_TEXT */
    const struct node *left;
    const struct node *right;
};

struct name {
    const char *text;
    struct name *next;
};

struct rule {
    const char *text;
    const struct node *root;
    struct name *names; /* in order of appearance, each once */
};

struct parser {
    struct rule *rule;
    struct arena *arena;
    struct err *err;
    size_t at;
    int depth;
    /* the token before `at` */
    enum sign sign;
    int column;
    double number;
    const char *text;
};

static bool fail_at(struct err *err, const struct rule *rule, int column, const char *what)
{
    return err_set(err, ERR_CODE_rule, "column %d of rule '%.200s': %s", column, rule->text, what);
}

static bool fail_token(struct parser *parser, const char *what)
{
    return fail_at(parser->err, parser->rule, parser->column, what);
}

/* --- tokens --- */

static bool is_name_start(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           byte == '$';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static size_t digits_size(const char *text)
{
    return strspn(text, "0123456789");
}

/* 0 where a bracket stays open. */
static size_t name_size(const char *text)
{
    size_t size = 0;
    while (is_name_start(text[size]) || is_digit(text[size]) || text[size] == '.' ||
           text[size] == '[') {
        if (text[size] != '[') {
            size++;
            continue;
        }
        size_t inside = strcspn(text + size, "]");
        if (text[size + inside] == '\0')
            return 0;
        size += inside + 1;
    }
    return size;
}

static size_t number_size(const char *text)
{
    size_t size = digits_size(text);
    if (text[size] == '.')
        size += 1 + digits_size(text + size + 1);
    if (text[size] == 'e' || text[size] == 'E') {
        size_t sign = text[size + 1] == '+' || text[size + 1] == '-' ? 1 : 0;
        size_t exponent = digits_size(text + size + 1 + sign);
        size += exponent > 0 ? 1 + sign + exponent : 0;
    }
    return size;
}

static enum unit unit_of(const char *word, size_t size)
{
    static const char *const durations[] = {"us", "ms", "s", "min", "h", "d"};
    static const char *const sizes[] = {"b", "k",  "kb",  "kib", "M",  "mb", "mib",
                                        "g", "gb", "gib", "t",   "tb", "tib"};
    char copy[4];
    if (size == 0 || size >= sizeof(copy))
        return UNIT_NONE;
    memcpy(copy, word, size);
    copy[size] = '\0';
    for (size_t i = 0; i < COUNT_OF(durations); i++) {
        if (strcmp(copy, durations[i]) == 0)
            return UNIT_US;
    }
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        if (text_equal_nocase(copy, sizes[i]))
            return UNIT_BYTES;
    }
    return UNIT_NONE;
}

static bool read_number(struct parser *parser, struct bytes digits, struct bytes suffix)
{
    char copy[64];
    int64_t whole = 0;
    struct err inner;
    err_clear(&inner);
    if (digits.size + suffix.size >= sizeof(copy))
        return fail_token(parser, "the number is too long");
    snprintf(copy, sizeof(copy), "%.*s%.*s", (int)digits.size, digits.data, (int)suffix.size,
             suffix.data);
    enum unit unit = unit_of(suffix.data, suffix.size);
    bool read = unit == UNIT_BYTES ? units_parse_size(copy, 1, &whole, NULL, &inner)
                : unit == UNIT_US  ? units_parse_duration(copy, 1, &whole, NULL, &inner)
                                   : units_parse_real(copy, &parser->number, &inner);
    if (!read)
        return fail_token(parser, inner.text);
    if (unit != UNIT_NONE)
        parser->number = (double)whole;
    return true;
}

/* "64M", "64 MB", "90s", "25%", "0.75". A word that stands apart and is no unit is the next
 * token's business. */
static bool lex_number(struct parser *parser)
{
    const char *start = parser->rule->text + parser->at;
    struct bytes digits = {.data = start, .size = number_size(start)};
    const char *after = start + digits.size;
    const char *word = after + strspn(after, " \t\r\n");
    struct bytes suffix = {.data = word, .size = name_size(word)};
    parser->sign = SIGN_NUMBER;
    if (*word == '%') {
        parser->at += (size_t)(word - start) + 1;
        suffix.size = 0;
        bool read = read_number(parser, digits, suffix);
        parser->number /= 100;
        return read;
    }
    if (suffix.size == 1 && *word == 'm') {
        fail_token(parser, "'m' could be mebibytes or minutes");
        return err_hint(parser->err, "write M or min");
    }
    if (unit_of(suffix.data, suffix.size) == UNIT_NONE) {
        if (word == after && suffix.size > 0)
            return fail_token(parser, "the number has an unknown unit");
        suffix.size = 0;
        word = after;
    }
    parser->at += (size_t)(word - start) + suffix.size;
    return read_number(parser, digits, suffix);
}

static bool note_name(struct parser *parser, const char *text)
{
    struct name **last = &parser->rule->names;
    for (; *last != NULL; last = &(*last)->next) {
        if (strcmp((*last)->text, text) == 0)
            return true;
    }
    *last = ARENA_NEW(parser->arena, struct name);
    if (*last == NULL)
        return err_memory(parser->err);
    (*last)->text = text;
    return true;
}

static bool lex_word(struct parser *parser)
{
    static const struct {
        const char *word;
        enum sign sign;
    } words[] = {{"or", SIGN_OR},
                 {"and", SIGN_AND},
                 {"not", SIGN_NOT},
                 {"true", SIGN_TRUE},
                 {"false", SIGN_FALSE}};
    const char *start = parser->rule->text + parser->at;
    size_t size = name_size(start);
    if (size == 0)
        return fail_token(parser, "the bracket is not closed");
    parser->at += size;
    parser->text = arena_strndup(parser->arena, start, size);
    if (parser->text == NULL)
        return err_memory(parser->err);
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (text_equal_nocase(parser->text, words[i].word)) {
            parser->sign = words[i].sign;
            return true;
        }
    }
    parser->sign = SIGN_NAME;
    return note_name(parser, parser->text);
}

static bool lex_text(struct parser *parser)
{
    const char *start = parser->rule->text + parser->at + 1;
    const char *end = strchr(start, start[-1]);
    if (end == NULL)
        return fail_token(parser, "the quoted text is not closed");
    parser->sign = SIGN_TEXT;
    parser->at += (size_t)(end - start) + 2;
    parser->text = arena_strndup(parser->arena, start, (size_t)(end - start));
    return parser->text != NULL || err_memory(parser->err);
}

static bool lex_sign(struct parser *parser)
{
    /* longer signs before their own beginnings */
    static const struct {
        const char *text;
        enum sign sign;
    } signs[] = {{"||", SIGN_OR},         {"&&", SIGN_AND},
                 {"<=", SIGN_LESS_EQUAL}, {">=", SIGN_GREATER_EQUAL},
                 {"==", SIGN_EQUAL},      {"!=", SIGN_NOT_EQUAL},
                 {"<", SIGN_LESS},        {">", SIGN_GREATER},
                 {"=", SIGN_EQUAL},       {"!", SIGN_NOT},
                 {"+", SIGN_PLUS},        {"-", SIGN_MINUS},
                 {"*", SIGN_TIMES},       {"/", SIGN_DIVIDE},
                 {"(", SIGN_OPEN},        {")", SIGN_CLOSE}};
    const char *start = parser->rule->text + parser->at;
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        if (text_starts_with(start, signs[i].text)) {
            parser->sign = signs[i].sign;
            parser->at += strlen(signs[i].text);
            return true;
        }
    }
    return fail_token(parser, "this character has no meaning here");
}

/* Reads the next token. */
static bool advance(struct parser *parser)
{
    const char *text = parser->rule->text;
    parser->at += strspn(text + parser->at, " \t\r\n");
    parser->column = (int)parser->at + 1;
    char byte = text[parser->at];
    if (byte == '\0') {
        parser->sign = SIGN_END;
        return true;
    }
    if (is_digit(byte) || (byte == '.' && is_digit(text[parser->at + 1])))
        return lex_number(parser);
    if (is_name_start(byte))
        return lex_word(parser);
    if (byte == '"' || byte == '\'')
        return lex_text(parser);
    return lex_sign(parser);
}

/* --- grammar: each function returns its tree, or NULL with the error filled --- */

static struct node *parse_or(struct parser *parser);

static struct node *make_node(struct parser *parser, enum sign sign, int column)
{
    struct node *node = ARENA_NEW(parser->arena, struct node);
    if (node == NULL) {
        err_memory(parser->err);
        return NULL;
    }
    node->sign = sign;
    node->column = column;
    return node;
}

static struct node *make_operation(struct parser *parser, enum sign sign, int column,
                                   const struct node *left, const struct node *right)
{
    struct node *node = left == NULL && right == NULL ? NULL : make_node(parser, sign, column);
    if (node != NULL) {
        node->left = left;
        node->right = right;
    }
    return node;
}

static bool enter(struct parser *parser)
{
    if (++parser->depth > RULE_LIMIT_DEPTH)
        return fail_token(parser, "the rule nests too deep");
    return advance(parser);
}

static struct node *parse_parentheses(struct parser *parser)
{
    if (!enter(parser))
        return NULL;
    struct node *node = parse_or(parser);
    if (node == NULL)
        return NULL;
    if (parser->sign != SIGN_CLOSE) {
        fail_token(parser, "a ')' is missing");
        return NULL;
    }
    parser->depth--;
    return advance(parser) ? node : NULL;
}

static struct node *parse_primary(struct parser *parser)
{
    if (parser->sign == SIGN_OPEN)
        return parse_parentheses(parser);
    if (parser->sign < SIGN_NUMBER || parser->sign > SIGN_FALSE) {
        fail_token(parser, "a name, a number or a quoted text is missing");
        return NULL;
    }
    struct node *node = make_node(parser, parser->sign, parser->column);
    if (node == NULL)
        return NULL;
    node->number = parser->number;
    node->text = parser->text;
    return advance(parser) ? node : NULL;
}

/* "-" and "not" differ only in what may follow. */
static struct node *parse_prefix(struct parser *parser, struct node *(*operand)(struct parser *))
{
    enum sign sign = parser->sign;
    int column = parser->column;
    if (!enter(parser))
        return NULL;
    struct node *right = operand(parser);
    parser->depth--;
    return right == NULL ? NULL : make_operation(parser, sign, column, NULL, right);
}

static struct node *parse_unary(struct parser *parser)
{
    return parser->sign == SIGN_MINUS ? parse_prefix(parser, parse_unary) : parse_primary(parser);
}

/* operand { (sign_a | sign_b) operand }, leaning to the left. */
static struct node *parse_chain(struct parser *parser, struct node *(*operand)(struct parser *),
                                enum sign sign_a, enum sign sign_b)
{
    struct node *node = operand(parser);
    while (node != NULL && (parser->sign == sign_a || parser->sign == sign_b)) {
        enum sign sign = parser->sign;
        int column = parser->column;
        struct node *right = advance(parser) ? operand(parser) : NULL;
        node = right == NULL ? NULL : make_operation(parser, sign, column, node, right);
    }
    return node;
}

static struct node *parse_product(struct parser *parser)
{
    return parse_chain(parser, parse_unary, SIGN_TIMES, SIGN_DIVIDE);
}

static struct node *parse_sum(struct parser *parser)
{
    return parse_chain(parser, parse_product, SIGN_PLUS, SIGN_MINUS);
}

static struct node *parse_compare(struct parser *parser)
{
    struct node *left = parse_sum(parser);
    enum sign sign = parser->sign;
    int column = parser->column;
    if (left == NULL || sign < SIGN_LESS || sign > SIGN_NOT_EQUAL)
        return left;
    struct node *right = advance(parser) ? parse_sum(parser) : NULL;
    return right == NULL ? NULL : make_operation(parser, sign, column, left, right);
}

static struct node *parse_not(struct parser *parser)
{
    return parser->sign == SIGN_NOT ? parse_prefix(parser, parse_not) : parse_compare(parser);
}

static struct node *parse_and(struct parser *parser)
{
    return parse_chain(parser, parse_not, SIGN_AND, SIGN_AND);
}

static struct node *parse_or(struct parser *parser)
{
    return parse_chain(parser, parse_and, SIGN_OR, SIGN_OR);
}

static bool check_text(const struct rule *rule, struct err *err)
{
    size_t size = strlen(rule->text);
    if (size > RULE_LIMIT_BYTES)
        return err_set(err, ERR_CODE_rule, "the rule is longer than %d bytes", RULE_LIMIT_BYTES);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)rule->text[i];
        if ((byte < 0x20 && strchr("\t\r\n", byte) == NULL) || byte == 0x7f)
            return fail_at(err, rule, (int)i + 1, "control characters are not allowed");
    }
    return true;
}

bool rule_parse(const char *text, struct arena *arena, struct rule **out, struct err *err)
{
    struct rule *rule = ARENA_NEW(arena, struct rule);
    if (rule == NULL)
        return err_memory(err);
    rule->text = text;
    if (!check_text(rule, err))
        return false;
    rule->text = arena_strdup(arena, text);
    if (rule->text == NULL)
        return err_memory(err);
    struct parser parser = {.rule = rule, .arena = arena, .err = err};
    rule->root = advance(&parser) ? parse_or(&parser) : NULL;
    if (rule->root == NULL)
        return false;
    if (parser.sign != SIGN_END)
        return fail_token(&parser, "the rule should end here");
    *out = rule;
    return true;
}

const char *rule_text(const struct rule *rule)
{
    return rule->text;
}

bool rule_names(const struct rule *rule,
                bool (*visit)(void *context, const char *name, struct err *err), void *context,
                struct err *err)
{
    for (const struct name *name = rule->names; name != NULL; name = name->next) {
        if (!visit(context, name->text, err))
            return err_while(err, "reading rule '%.90s'", rule->text);
    }
    return true;
}

/* --- evaluation --- */

struct evaluation {
    const struct rule *rule;
    rule_lookup lookup;
    void *context;
    struct err *err;
};

static bool evaluate(const struct evaluation *evaluation, const struct node *node,
                     struct rule_value *out);

static bool fail_node(const struct evaluation *evaluation, const struct node *node,
                      const char *what)
{
    return fail_at(evaluation->err, evaluation->rule, node->column, what);
}

static bool evaluate_name(const struct evaluation *evaluation, const struct node *node,
                          struct rule_value *out)
{
    if (!evaluation->lookup(evaluation->context, node->text, out, evaluation->err))
        return err_while(evaluation->err, "evaluating rule '%.90s'", evaluation->rule->text);
    if (out->kind == RULE_TEXT && out->text == NULL)
        out->kind = RULE_UNKNOWN;
    return true;
}

/* 1 true, 0 false, -1 unknown. */
static bool evaluate_truth(const struct evaluation *evaluation, const struct node *node, int *out)
{
    struct rule_value value = {.kind = RULE_UNKNOWN};
    if (!evaluate(evaluation, node, &value))
        return false;
    if (value.kind != RULE_BOOL && value.kind != RULE_UNKNOWN)
        return fail_node(evaluation, node, "this is neither true nor false");
    *out = value.kind == RULE_UNKNOWN ? -1 : value.truth ? 1 : 0;
    return true;
}

static void set_truth(struct rule_value *out, int truth)
{
    *out = (struct rule_value){.kind = truth < 0 ? RULE_UNKNOWN : RULE_BOOL, .truth = truth > 0};
}

/* False decides an `and`, true an `or`, whatever the other side is, unknown included. */
static bool evaluate_logic(const struct evaluation *evaluation, const struct node *node,
                           struct rule_value *out)
{
    int decisive = node->sign == SIGN_OR ? 1 : 0;
    int left = -1;
    int right = -1;
    if (!evaluate_truth(evaluation, node->left, &left))
        return false;
    if (left != decisive && !evaluate_truth(evaluation, node->right, &right))
        return false;
    if (left == decisive || right == decisive)
        set_truth(out, decisive);
    else
        set_truth(out, left < 0 || right < 0 ? -1 : !decisive);
    return true;
}

static bool ordered(enum sign sign, double left, double right)
{
    switch (sign) {
    case SIGN_LESS:
        return left < right;
    case SIGN_LESS_EQUAL:
        return left <= right;
    case SIGN_GREATER:
        return left > right;
    case SIGN_GREATER_EQUAL:
        return left >= right;
    case SIGN_EQUAL:
        return left == right;
    default:
        return left != right;
    }
}

/* "fsync == 'on'" and "fsync = 1": a user need not know which settings are truths. */
static bool as_truth(const struct rule_value *value, bool *out)
{
    *out = value->kind == RULE_NUMBER ? value->number != 0 : value->truth;
    if (value->kind == RULE_TEXT)
        return value_truth_word(value->text, out);
    return value->kind == RULE_BOOL || value->number == 0 || value->number == 1;
}

static bool same_kind(const struct evaluation *evaluation, const struct node *node,
                      const struct rule_value *left, const struct rule_value *right, bool *out)
{
    bool left_truth = false;
    bool right_truth = false;
    if (left->kind == RULE_TEXT && right->kind == RULE_TEXT) {
        *out = text_equal_nocase(left->text, right->text);
        return true;
    }
    if (left->kind != RULE_BOOL && right->kind != RULE_BOOL)
        return fail_node(evaluation, node, "a text is compared with a number");
    if (!as_truth(left, &left_truth) || !as_truth(right, &right_truth))
        return fail_node(evaluation, node, "a truth compares only with on, off, 1 and 0");
    *out = left_truth == right_truth;
    return true;
}

static bool evaluate_compare(const struct evaluation *evaluation, const struct node *node,
                             struct rule_value *out)
{
    struct rule_value left = {.kind = RULE_UNKNOWN};
    struct rule_value right = {.kind = RULE_UNKNOWN};
    bool same = false;
    if (!evaluate(evaluation, node->left, &left) || !evaluate(evaluation, node->right, &right))
        return false;
    if (left.kind == RULE_UNKNOWN || right.kind == RULE_UNKNOWN) {
        set_truth(out, -1);
        return true;
    }
    if (left.kind == RULE_NUMBER && right.kind == RULE_NUMBER) {
        set_truth(out, ordered(node->sign, left.number, right.number));
        return true;
    }
    if (!same_kind(evaluation, node, &left, &right, &same))
        return false;
    if (node->sign != SIGN_EQUAL && node->sign != SIGN_NOT_EQUAL)
        return fail_node(evaluation, node, "only numbers have an order");
    set_truth(out, same == (node->sign == SIGN_EQUAL));
    return true;
}

/* A number, or RULE_UNKNOWN. */
static bool evaluate_operand(const struct evaluation *evaluation, const struct node *node,
                             struct rule_value *out)
{
    if (!evaluate(evaluation, node, out))
        return false;
    if (out->kind != RULE_NUMBER && out->kind != RULE_UNKNOWN)
        return fail_node(evaluation, node, "this is not a number");
    return true;
}

static double calculate(enum sign sign, double left, double right)
{
    switch (sign) {
    case SIGN_PLUS:
        return left + right;
    case SIGN_MINUS:
        return left - right;
    case SIGN_TIMES:
        return left * right;
    default:
        return left / right;
    }
}

static bool evaluate_arithmetic(const struct evaluation *evaluation, const struct node *node,
                                struct rule_value *out)
{
    struct rule_value left = {.kind = RULE_NUMBER}; /* the 0 that a negation subtracts from */
    struct rule_value right = {.kind = RULE_UNKNOWN};
    if (node->left != NULL && !evaluate_operand(evaluation, node->left, &left))
        return false;
    if (!evaluate_operand(evaluation, node->right, &right))
        return false;
    if (node->sign == SIGN_DIVIDE && right.kind == RULE_NUMBER && right.number == 0)
        return fail_node(evaluation, node, "division by zero");
    *out = (struct rule_value){.kind = RULE_UNKNOWN};
    if (left.kind == RULE_UNKNOWN || right.kind == RULE_UNKNOWN)
        return true;
    out->kind = RULE_NUMBER;
    out->number = calculate(node->sign, left.number, right.number);
    return isfinite(out->number) || fail_node(evaluation, node, "the result is too large");
}

static bool evaluate_not(const struct evaluation *evaluation, const struct node *node,
                         struct rule_value *out)
{
    int truth = -1;
    if (!evaluate_truth(evaluation, node->right, &truth))
        return false;
    set_truth(out, truth < 0 ? -1 : !truth);
    return true;
}

static bool evaluate(const struct evaluation *evaluation, const struct node *node,
                     struct rule_value *out)
{
    *out = (struct rule_value){.kind = RULE_UNKNOWN, .number = node->number, .text = node->text};
    switch (node->sign) {
    case SIGN_NUMBER:
        out->kind = RULE_NUMBER;
        return true;
    case SIGN_TEXT:
        out->kind = RULE_TEXT;
        return true;
    case SIGN_TRUE:
    case SIGN_FALSE:
        set_truth(out, node->sign == SIGN_TRUE);
        return true;
    case SIGN_NAME:
        return evaluate_name(evaluation, node, out);
    case SIGN_OR:
    case SIGN_AND:
        return evaluate_logic(evaluation, node, out);
    case SIGN_NOT:
        return evaluate_not(evaluation, node, out);
    case SIGN_PLUS:
    case SIGN_MINUS:
    case SIGN_TIMES:
    case SIGN_DIVIDE:
        return evaluate_arithmetic(evaluation, node, out);
    default:
        return evaluate_compare(evaluation, node, out);
    }
}

bool rule_truth(const struct rule *rule, rule_lookup lookup, void *context, int *out,
                struct err *err)
{
    struct evaluation evaluation = {rule, lookup, context, err};
    return evaluate_truth(&evaluation, rule->root, out);
}

bool rule_number(const struct rule *rule, rule_lookup lookup, void *context, double *out,
                 struct err *err)
{
    struct evaluation evaluation = {rule, lookup, context, err};
    struct rule_value value = {.kind = RULE_UNKNOWN};
    if (!evaluate_operand(&evaluation, rule->root, &value))
        return false;
    if (value.kind == RULE_UNKNOWN)
        return fail_node(&evaluation, rule->root, "the number is not known");
    *out = value.number;
    return true;
}
