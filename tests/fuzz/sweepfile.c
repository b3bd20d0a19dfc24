/*
 * Sweep files: read, or refused as a mistake of the person who wrote it; never anything else.
 */
#include <stdlib.h>

#include "sweeper/sweepfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sweep sweep;
    struct arena arena;
    struct err err;
    struct grid grid;
    struct value_facts facts = {.host_memory_bytes = INT64_C(8) << 30, .host_cpu_count = 4};
    err_clear(&err);
    arena_open(&arena, 64u << 20);
    const char *text = arena_strndup(&arena, (const char *)data, size);
    bool ok = text != NULL && sweepfile_parse("fuzz.cfg", text, &arena, &sweep, &err) &&
              sweepfile_grid(&sweep, NULL, 0, &facts, &arena, &grid, &err);
    if (!ok && err.code != ERR_CODE_memory && err.class != ERR_PLAN)
        abort();
    arena_close(&arena);
    return 0;
}
