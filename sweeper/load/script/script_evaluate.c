/*
 * Runs the code of an expression. No result is ever wrapped or cut: what does not fit is an error.
 */
#include <math.h>

#include "sweeper/load/script/script.h"

#define LEAST_GAUSSIAN 2.0
#define LARGEST_PARAMETER 1e9
#define TWO_TO_63 9223372036854775808.0

struct machine {
    const struct script_value *variables;
    struct random *random;
    enum err_code code;
    struct err *err;
    struct script_value stack[SCRIPT_STACK_LIMIT];
    size_t count;
};

static bool fail_overflow(const struct machine *machine)
{
    return err_set(machine->err, machine->code, "the expression overflows");
}

static bool fail_zero(const struct machine *machine)
{
    return err_set(machine->err, machine->code, "the expression divides by zero");
}

static bool run_whole(const struct machine *machine, enum script_op_kind kind, int64_t left,
                      int64_t right, int64_t *out)
{
    bool has_overflown = false;
    switch (kind) {
    case SCRIPT_OP_ADD:
        has_overflown = __builtin_add_overflow(left, right, out);
        break;
    case SCRIPT_OP_SUBTRACT:
        has_overflown = __builtin_sub_overflow(left, right, out);
        break;
    case SCRIPT_OP_MULTIPLY:
        has_overflown = __builtin_mul_overflow(left, right, out);
        break;
    case SCRIPT_OP_LEAST:
        *out = left < right ? left : right;
        break;
    case SCRIPT_OP_GREATEST:
        *out = left > right ? left : right;
        break;
    default:
        if (right == 0) {
            return fail_zero(machine);
        }
        if (kind == SCRIPT_OP_REMAINDER) {
            *out = right == -1 ? 0 : left % right;
        } else if (right == -1) {
            has_overflown = __builtin_sub_overflow(INT64_C(0), left, out);
        } else {
            *out = left / right;
        }
        break;
    }
    return !has_overflown || fail_overflow(machine);
}

static bool run_real(const struct machine *machine, enum script_op_kind kind, double left,
                     double right, double *out)
{
    switch (kind) {
    case SCRIPT_OP_ADD:
        *out = left + right;
        break;
    case SCRIPT_OP_SUBTRACT:
        *out = left - right;
        break;
    case SCRIPT_OP_MULTIPLY:
        *out = left * right;
        break;
    case SCRIPT_OP_LEAST:
        *out = fmin(left, right);
        break;
    case SCRIPT_OP_GREATEST:
        *out = fmax(left, right);
        break;
    default:
        if (fpclassify(right) == FP_ZERO) {
            return fail_zero(machine);
        }
        *out = left / right;
        break;
    }
    return isfinite(*out) || fail_overflow(machine);
}

static struct script_value *top(struct machine *machine)
{
    assert(machine->count > 0 && machine->count <= SCRIPT_STACK_LIMIT);
    return &machine->stack[machine->count - 1];
}

static void push(struct machine *machine, struct script_value value)
{
    machine->count++;
    *top(machine) = value;
}

static struct script_value pop(struct machine *machine)
{
    struct script_value value = *top(machine);
    machine->count--;
    return value;
}

static bool run_pair(struct machine *machine, const struct script_op *op)
{
    struct script_value right = pop(machine);
    struct script_value *left = top(machine);
    if (op->converts_left) {
        left->real = (double)left->integer;
    }
    return op->is_real ? run_real(machine, op->kind, left->real, right.real, &left->real)
                       : run_whole(machine, op->kind, left->integer, right.integer, &left->integer);
}

static bool run_single(struct machine *machine, const struct script_op *op)
{
    struct script_value *value = top(machine);
    bool is_negate = op->kind == SCRIPT_OP_NEGATE;
    if (op->kind == SCRIPT_OP_TO_REAL) {
        value->real = (double)value->integer;
        return true;
    }
    if (op->kind == SCRIPT_OP_TO_INT) {
        double whole = rint(value->real);
        if (!(whole >= -TWO_TO_63 && whole < TWO_TO_63)) {
            return fail_overflow(machine);
        }
        value->integer = (int64_t)whole;
        return true;
    }
    if (op->is_real) {
        value->real = is_negate ? -value->real : fabs(value->real);
        return true;
    }
    return (!is_negate && value->integer >= 0) ||
           !__builtin_sub_overflow(INT64_C(0), value->integer, &value->integer) ||
           fail_overflow(machine);
}

static bool check_parameter(const struct machine *machine, const char *name, double parameter,
                            double least, bool is_open, double most)
{
    if ((is_open ? parameter > least : parameter >= least) && parameter <= most) {
        return true;
    }
    err_set(machine->err, machine->code, "the parameter of %s is %g", name, parameter);
    return err_hint(machine->err, "it is %s %g and at most %g", is_open ? "above" : "at least",
                    least, most);
}

static bool draw(const struct machine *machine, enum script_op_kind kind, int64_t low, int64_t high,
                 double parameter, int64_t *out)
{
    switch (kind) {
    case SCRIPT_OP_GAUSSIAN:
        if (!check_parameter(machine, "random_gaussian", parameter, LEAST_GAUSSIAN, false,
                             LARGEST_PARAMETER)) {
            return false;
        }
        *out = script_draw_gaussian(machine->random, low, high, parameter);
        return true;
    case SCRIPT_OP_EXPONENTIAL:
        if (!check_parameter(machine, "random_exponential", parameter, 0, true,
                             LARGEST_PARAMETER)) {
            return false;
        }
        *out = script_draw_exponential(machine->random, low, high, parameter);
        return true;
    case SCRIPT_OP_ZIPFIAN:
        if (!check_parameter(machine, "random_zipfian", parameter, 0, true, SCRIPT_ZIPF_LIMIT)) {
            return false;
        }
        *out = script_draw_zipfian(machine->random, low, high, parameter);
        return true;
    default:
        *out = random_between(machine->random, low, high);
        return true;
    }
}

static bool run_draw(struct machine *machine, const struct script_op *op)
{
    double parameter = op->kind == SCRIPT_OP_RANDOM ? 0 : pop(machine).real;
    int64_t high = pop(machine).integer;
    int64_t low = top(machine)->integer;
    if (low > high) {
        err_set(machine->err, machine->code, "a random number cannot be from %lld to %lld",
                (long long)low, (long long)high);
        return err_hint(machine->err, "the lower bound stands first");
    }
    return draw(machine, op->kind, low, high, parameter, &top(machine)->integer);
}

static bool run_op(struct machine *machine, const struct script_op *op)
{
    switch (op->kind) {
    case SCRIPT_OP_CONSTANT:
        push(machine, op->value);
        return true;
    case SCRIPT_OP_VARIABLE:
        push(machine, machine->variables[op->variable]);
        return true;
    case SCRIPT_OP_TO_REAL:
    case SCRIPT_OP_TO_INT:
    case SCRIPT_OP_NEGATE:
    case SCRIPT_OP_ABS:
        return run_single(machine, op);
    case SCRIPT_OP_RANDOM:
    case SCRIPT_OP_GAUSSIAN:
    case SCRIPT_OP_EXPONENTIAL:
    case SCRIPT_OP_ZIPFIAN:
        return run_draw(machine, op);
    default:
        return run_pair(machine, op);
    }
}

bool script_evaluate(const struct script_expression *expression, const struct script_value *values,
                     struct random *random, enum err_code code, struct script_value *out,
                     struct err *err)
{
    struct machine machine = {.variables = values, .random = random, .code = code, .err = err};
    for (size_t i = 0; i < expression->op_count; i++) {
        if (!run_op(&machine, &expression->ops[i])) {
            return false;
        }
    }
    *out = pop(&machine);
    assert(machine.count == 0);
    return true;
}
