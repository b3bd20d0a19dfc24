/*
 * What a rule says of given values: numbers, texts, and truths of which one is "unknown".
 *
 * Unknown spreads through arithmetic and comparisons, and `and`, `or` and `not` treat it as a truth
 * that may turn out either way. A left operand that decides spares the right one, so that
 * "x != 0 and y / x > 2" never divides by zero.
 */
#include <math.h>
#include <string.h>

#include "knobs/rule_tree.h"
#include "knobs/value.h"
#include "sweeper/base/text.h"

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
    return rule_fail_at(evaluation->err, evaluation->rule, node->column, what);
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
