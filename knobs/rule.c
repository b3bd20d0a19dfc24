/*
 * Rules: a recursive descent parser over one line of text.
 *
 * Names are not resolved here; the look-up given to the evaluator does that, so that the same
 * rules serve grids, `--where` and `under`. Recursion is bounded: by RULE_LIMIT_DEPTH where the
 * text nests, by RULE_LIMIT_BYTES where a chain such as a + b + c leans to the left.
 */
#include "knobs/rule.h"

#include <stdio.h>
#include <string.h>

#include "knobs/rule_tree.h"
#include "sweeper/base/text.h"

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

bool rule_fail_at(struct err *err, const struct rule *rule, int column, const char *what)
{
    err_set(err, ERR_CODE_rule, "column %d of rule '%.200s': %s", column, rule->text, what);
    return err_hint(err, "a rule is like \"work_mem * clients <= 0.25 * host.memory\"");
}

static bool fail_token(struct parser *parser, const char *what)
{
    return rule_fail_at(parser->err, parser->rule, parser->column, what);
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
    if (unit != UNIT_NONE) {
        parser->number = (double)whole;
        parser->rule->has_unit = true;
    }
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
        parser->rule->has_unit = true;
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
            return rule_fail_at(err, rule, (int)i + 1, "control characters are not allowed");
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

bool rule_has_unit(const struct rule *rule)
{
    return rule->has_unit;
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
