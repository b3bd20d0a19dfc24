/*
 * Option files as people leave them: refused, or rendered so that nothing asked changes nothing,
 * and rendering twice equals once.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/options.h"
#include "knobs/catalogue.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct option_groups groups;

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
    if (!option_render(baseline, "my.cnf", &groups, settings, count, arena, &once, &err))
        return;
    if (count == 0 && !same(baseline, once))
        abort();
    if (!option_render(once, "my.cnf", &groups, settings, count, arena, &twice, &err) ||
        !same(once, twice))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    size_t knob_count = 0;
    const struct knob *knobs = catalogue_knobs("mysql", &knob_count);
    const struct setting settings[] = {
        {knob_find(knobs, knob_count, "max_connections"),
         {.kind = VALUE_INTEGER, .integer = 50, .asked = "50"}},
        {knob_find(knobs, knob_count, "skip_name_resolve"),
         {.kind = VALUE_INTEGER, .integer = 0, .asked = "off"}},
        {knob_find(knobs, knob_count, "sql_mode"),
         {.kind = VALUE_TEXT, .text = "a 'b' #\\", .asked = "a 'b' #\\"}},
        {knob_find(knobs, knob_count, "port"), {.kind = VALUE_UNSET, .asked = "unset"}}};
    struct bytes baseline = {.data = (const char *)data, .size = size};
    option_groups_of("MariaDB", "10.11.19", NULL, &groups);
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
