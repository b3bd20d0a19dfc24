/*
 * A script file, in the dialect that its first byte names: read whole or refused with a line of the
 * file, its expressions run, its statements written as text that fits its room.
 */
#include <stdlib.h>
#include <string.h>

#include "sweeper/load/script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUNS = 3 };

static void run_items(const struct script_file *file, const struct script_variables *variables,
                      struct arena *arena)
{
    struct script_value values[SCRIPT_VARIABLE_LIMIT];
    struct random random;
    struct err err;
    random_seed(&random, 1, 1);
    script_variables_fill(variables, 1, values);
    for (size_t i = 0; i < file->item_count; i++) {
        const struct script_item *item = &file->items[i];
        err_clear(&err);
        if (item->kind == SCRIPT_SET) {
            if (!script_evaluate(&item->expression, values, &random, ERR_CODE_workload,
                                 &values[item->variable], &err) &&
                err.text[0] == '\0')
                abort();
            continue;
        }
        size_t room = script_text_bytes(item, variables);
        char *text = arena_alloc(arena, room);
        if (text == NULL)
            return;
        memset(text, 1, room);
        script_text_fill(item, variables, values, text);
        if (memchr(text, '\0', room) == NULL)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const given[] = {"scale=10", "share=0.5", "who=O'Hara", NULL};
    static const struct workload_spec spec = {.clients = 2, .variables = given};
    struct script_variables variables;
    struct script_file file;
    struct arena arena;
    struct err err;
    if (size == 0)
        return 0;
    enum dialect dialect = (enum dialect)(data[0] % (DIALECT_OTHER + 1));
    err_clear(&err);
    arena_open(&arena, 32u << 20);
    const char *text = arena_strndup(&arena, (const char *)data + 1, size - 1);
    const struct load_script script = {.name = "f", .path = "f", .weight = 1, .text = text};
    if (text == NULL || !script_variables_open(&spec, dialect, &arena, &variables, &err))
        abort();
    if (script_read(&script, dialect, &variables, &arena, &file, &err)) {
        for (int i = 0; i < RUNS; i++)
            run_items(&file, &variables, &arena);
    } else if (err.code != ERR_CODE_memory && strncmp(err.origin, "f:", 2) != 0) {
        abort();
    }
    arena_close(&arena);
    return 0;
}
