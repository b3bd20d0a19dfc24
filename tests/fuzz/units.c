/*
 * Numbers with units as a user or a server writes them. What was read must be written and read
 * back as the same; nothing may wrap.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/base/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void size_returns(struct arena *arena, const char *text)
{
    struct err err;
    int64_t once = 0;
    int64_t twice = 0;
    if (!units_parse_size(text, 8192, &once, NULL, &err))
        return;
    const char *written = units_format_size(arena, once);
    if (written == NULL || !units_parse_size(written, 1, &twice, NULL, &err) || once != twice)
        abort();
}

static void duration_returns(struct arena *arena, const char *text)
{
    struct err err;
    int64_t once = 0;
    int64_t twice = 0;
    if (!units_parse_duration(text, 1000, &once, NULL, &err))
        return;
    const char *written = units_format_duration(arena, once);
    if (written == NULL || !units_parse_duration(written, 1, &twice, NULL, &err) || once != twice)
        abort();
}

static void real_returns(const char *text)
{
    struct err err;
    double once = 0;
    double twice = 0;
    char buffer[32];
    if (!units_parse_real(text, &once, &err))
        return;
    if (!isfinite(once))
        abort();
    units_format_real(once, buffer, sizeof(buffer));
    if (!units_parse_real(buffer, &twice, &err) || memcmp(&once, &twice, sizeof(once)) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err;
    int64_t integer = 0;
    double percent = 0;
    err_clear(&err);
    arena_open(&arena, 1u << 20);
    const char *text = arena_strndup(&arena, (const char *)data, size);
    if (text != NULL) {
        size_returns(&arena, text);
        duration_returns(&arena, text);
        real_returns(text);
        (void)!units_parse_int(text, &integer, &err);
        if (units_parse_percent(text, &percent, &err) && !isfinite(percent))
            abort();
    }
    arena_close(&arena);
    return 0;
}
