/*
 * Rules over settings: parsed and evaluated, or refused; names have made-up values.
 */
#include <stdlib.h>
#include <string.h>

#include "knobs/rule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool value_of(void *context, const char *name, struct rule_value *out, struct err *err)
{
    (void)context;
    (void)err;
    static const enum rule_kind kinds[] = {RULE_NUMBER, RULE_BOOL, RULE_TEXT, RULE_UNKNOWN};
    *out = (struct rule_value){.kind = kinds[strlen(name) % COUNT_OF(kinds)],
                               .number = (double)name[0],
                               .truth = name[0] % 2 == 0,
                               .text = name};
    return true;
}

static bool see(void *context, const char *name, struct err *err)
{
    (void)err;
    *(size_t *)context += strlen(name);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err;
    struct rule *rule = NULL;
    int truth = 0;
    double number = 0;
    size_t seen = 0;
    err_clear(&err);
    arena_open(&arena, 4u << 20);
    const char *text = arena_strndup(&arena, (const char *)data, size);
    if (text != NULL && rule_parse(text, &arena, &rule, &err)) {
        if (rule_text(rule) == NULL || !rule_names(rule, see, &seen, &err))
            abort();
        if (rule_truth(rule, value_of, NULL, &truth, &err) && (truth < -1 || truth > 1))
            abort();
        (void)!rule_number(rule, value_of, NULL, &number, &err);
    }
    arena_close(&arena);
    return 0;
}
