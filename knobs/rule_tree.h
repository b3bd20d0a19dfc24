/*
 * A parsed rule, as the parser (rule.c) leaves it and the evaluator (rule_evaluate.c) walks it.
 *
 * One enumeration serves tokens and tree nodes: an operator keeps its sign.
 */
#ifndef KNOBS_RULE_TREE_H
#define KNOBS_RULE_TREE_H

#include "knobs/rule.h"

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
    bool has_unit;
};

/* "column N of rule '…': what". Returns false. */
bool rule_fail_at(struct err *err, const struct rule *rule, int column, const char *what);

#endif
