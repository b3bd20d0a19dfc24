/*
 * postgresql.conf as people leave it: refused, or rendered so that nothing asked changes nothing,
 * and rendering twice equals once.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/postgresql/conf.h"
#include "knobs/catalogue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void render_twice(struct bytes baseline, const struct setting *settings, size_t count,
                         struct arena *arena)
{
    struct err err;
    struct bytes once;
    struct bytes twice;
    err_clear(&err);
    if (!conf_render(baseline, "postgresql.conf", settings, count, arena, &once, &err))
        return;
    if (count == 0 && !same(baseline, once))
        abort();
    if (!conf_render(once, "postgresql.conf", settings, count, arena, &twice, &err) ||
        !same(once, twice))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    size_t knob_count = 0;
    const struct knob *knobs = catalogue_knobs("postgresql", &knob_count);
    const struct setting settings[] = {
        {knob_find(knobs, knob_count, "shared_buffers"),
         {.kind = VALUE_INTEGER, .integer = 64 << 20, .asked = "64MB"}},
        {knob_find(knobs, knob_count, "random_page_cost"),
         {.kind = VALUE_REAL, .real = 1.1, .asked = "1.1"}},
        {knob_find(knobs, knob_count, "work_mem"), {.kind = VALUE_UNSET, .asked = "unset"}}};
    struct bytes baseline = {.data = (const char *)data, .size = size};
    arena_open(&arena, 16u << 20);
    render_twice(baseline, settings, 0, &arena);
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (settings[i].knob == NULL)
            abort();
        render_twice(baseline, &settings[i], 1, &arena);
    }
    render_twice(baseline, settings, COUNT_OF(settings), &arena);
    arena_close(&arena);
    return 0;
}
