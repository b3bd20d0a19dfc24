/*
 * Rules over settings: "innodb_buffer_pool_size <= 0.75 * host.memory and clients < 200".
 *
 * Grammar (also used for `--where` and `under`):
 *   or     = and { "or" and }            and    = not { "and" not }
 *   not    = "not" not | compare         compare = sum [ ("<" "<=" ">" ">=" "==" "=" "!=") sum ]
 *   sum    = product { ("+" | "-") product }
 *   product = unary { ("*" | "/") unary }  unary = "-" unary | primary
 *   primary = number [unit] | name | "string" | 'string' | "(" or ")" | "true" | "false"
 * Names hold letters, digits, _ . $ and, inside brackets, anything but ]:
 * BUFFERPOOL[size=2k].lrus. Numbers carry the suffixes of units.h (a size is in bytes, a duration
 * in microseconds, % divides by 100); a lone "m" is refused, as it could be mebibytes or minutes.
 * `||` `&&` `!` are accepted for or, and, not. Depth at most 64, length at most 4096 bytes.
 *
 * Numbers compare with numbers, texts with texts (== and != only, ASCII case ignored), truths with
 * truths, 0 and 1, and words such as "on". A left operand that decides `and` or `or` spares the
 * right one. A cell whose rule is unknown is kept: a rule prunes only what it knows to be wrong.
 */
#ifndef KNOBS_RULE_H
#define KNOBS_RULE_H

#include "sweeper/base/arena.h"
#include "sweeper/base/err.h"
#include "sweeper/base/units.h"

#define RULE_LIMIT_DEPTH 64
#define RULE_LIMIT_BYTES 4096

struct rule; /* parsed, immutable, in an arena */

enum rule_kind { RULE_NUMBER, RULE_BOOL, RULE_TEXT, RULE_UNKNOWN };
struct rule_value {
    enum rule_kind kind; /* UNKNOWN: the name exists but has no value now ("unset", not known) */
    double number;       /* canonical units */
    bool truth;
    const char *text;
};

/* Gives a name its value. False: there is no such name (err filled by the caller's function with
 * the nearest one). */
typedef bool (*rule_lookup)(void *context, const char *name, struct rule_value *out,
                            struct err *err);

/* Errors: rule, with the column in the text. */
bool rule_parse(const char *text, struct arena *arena, struct rule **out, struct err *err) MUST_USE;
const char *rule_text(const struct rule *rule);
/* Whether a number in it was written with a unit or a %. */
bool rule_has_unit(const struct rule *rule);
/* Calls `visit` once per name in the rule, so that unknown names are found before the night. */
bool rule_names(const struct rule *rule,
                bool (*visit)(void *context, const char *name, struct err *err), void *context,
                struct err *err) MUST_USE;
/* Evaluates to a truth. An UNKNOWN operand makes its comparison UNKNOWN; or/and/not follow
 * three-valued logic. out: 1 true, 0 false, -1 unknown. Errors: rule (text compared with a
 * number, division by zero, not a truth). */
bool rule_truth(const struct rule *rule, rule_lookup lookup, void *context, int *out,
                struct err *err) MUST_USE;
/* Evaluates to a number ("0.9 * host.memory"). Errors: rule (also where the number is unknown). */
bool rule_number(const struct rule *rule, rule_lookup lookup, void *context, double *out,
                 struct err *err) MUST_USE;

#endif
