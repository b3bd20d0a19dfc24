/*
 * Bounded arenas, passed explicitly: sweep, trial (reset by the loop), scratch. The only place
 * that calls malloc, with the wrappers that a library's contract demands.
 */
#ifndef SWEEPER_BASE_ARENA_H
#define SWEEPER_BASE_ARENA_H

#include "sweeper/base/base.h"

struct arena_block;

struct arena {
    struct arena_block *block; /* newest */
    size_t used_bytes;         /* over all blocks */
    size_t limit_bytes;        /* never exceeded */
};

/* An empty arena; allocates nothing yet. limit_bytes > 0. */
void arena_open(struct arena *arena, size_t limit_bytes);
/* Frees everything; the arena may be used again. Safe on a zeroed arena. */
void arena_reset(struct arena *arena);
/* As arena_reset; for symmetry of open/close. */
void arena_close(struct arena *arena);

/* Zeroed memory aligned for any type, or NULL where the limit or memory ends.
 * size 0 gives a valid pointer. */
void *arena_alloc(struct arena *arena, size_t size_bytes) MUST_USE;
/* Zeroed array; NULL also where count * size overflows. */
void *arena_alloc_array(struct arena *arena, size_t count, size_t size_bytes) MUST_USE;
#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc_array((arena), (count), sizeof(type)))

/* Copies; each adds a NUL that is not counted. NULL where memory ends. */
char *arena_strdup(struct arena *arena, const char *text) MUST_USE;
char *arena_strndup(struct arena *arena, const char *text, size_t size) MUST_USE;
char *arena_printf(struct arena *arena, const char *format, ...) PRINTF_LIKE(2, 3) MUST_USE;

#endif
