/*
 * The source of a replay as anybody wrote it. What is read must be whole: every row is found again
 * by its choices, and every choice by its value.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/replay/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct table *table, size_t at)
{
    const struct table_row *row = &table->rows[at];
    if (table_row_find(table, row->choices) != row)
        abort();
    for (size_t i = 0; i < table->column_count; i++) {
        const struct table_column *column = &table->columns[i];
        if (row->choices[i] >= column->count ||
            table_choice_find(column, &column->values[row->choices[i]]) != row->choices[i])
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const ignored[] = {"i", NULL};
    const struct replay_spec spec = {
        .metric = "m", .failure = "f", .ignore = ignored, .baseline_row = 1};
    struct arena arena;
    struct err err;
    struct table table;
    err_clear(&err);
    arena_open(&arena, (size_t)256 << 20);
    char *text = malloc(size + 1);
    if (text == NULL)
        abort();
    memcpy(text, data, size);
    if (table_read(&spec, "fuzz", (struct bytes){.data = text, .size = size}, &arena, &table,
                   &err)) {
        for (size_t i = 0; i < table.row_count; i++)
            check_row(&table, i);
    } else if (err.text[0] == '\0') {
        abort();
    }
    free(text);
    arena_close(&arena);
    return 0;
}
