/*
 * Bounded arenas: a chain of blocks, never given back singly. The only caller of malloc.
 */
#include "sweeper/base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct arena_block {
    struct arena_block *older;
    size_t size;
    size_t used;
    _Alignas(max_align_t) unsigned char data[];
};

void arena_open(struct arena *arena, size_t limit_bytes)
{
    *arena = (struct arena){.limit_bytes = limit_bytes};
}

void arena_reset(struct arena *arena)
{
    while (arena->block != NULL) {
        struct arena_block *older = arena->block->older;
        free(arena->block);
        arena->block = older;
    }
    arena->used_bytes = 0;
}

void arena_close(struct arena *arena)
{
    arena_reset(arena);
}

static struct arena_block *add_block(struct arena *arena, size_t least)
{
    size_t size = least > BLOCK_BYTES ? least : BLOCK_BYTES;
    if (size > SIZE_MAX - sizeof(struct arena_block)) {
        return NULL;
    }
    struct arena_block *block = malloc(sizeof *block + size);
    if (block == NULL) {
        return NULL;
    }
    block->older = arena->block;
    block->size = size;
    block->used = 0;
    arena->block = block;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size_bytes)
{
    const size_t align = _Alignof(max_align_t);
    if (size_bytes > SIZE_MAX - align) {
        return NULL;
    }
    size_t rounded = (size_bytes + align - 1) / align * align;
    rounded = rounded > 0 ? rounded : align;
    if (arena->used_bytes > arena->limit_bytes ||
        rounded > arena->limit_bytes - arena->used_bytes) {
        return NULL;
    }
    struct arena_block *block = arena->block;
    if (block == NULL || block->size - block->used < rounded) {
        block = add_block(arena, rounded);
    }
    if (block == NULL) {
        return NULL;
    }
    void *memory = block->data + block->used;
    block->used += rounded;
    arena->used_bytes += rounded;
    memset(memory, 0, rounded);
    return memory;
}

void *arena_alloc_array(struct arena *arena, size_t count, size_t size_bytes)
{
    size_t total = 0;
    if (__builtin_mul_overflow(count, size_bytes, &total)) {
        return NULL;
    }
    return arena_alloc(arena, total);
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_strndup(struct arena *arena, const char *text, size_t size)
{
    char *copy = size < SIZE_MAX ? arena_alloc(arena, size + 1) : NULL;
    if (copy != NULL && size > 0) {
        memcpy(copy, text, size);
    }
    return copy;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = length >= 0 ? arena_alloc(arena, (size_t)length + 1) : NULL;
    if (text != NULL) {
        va_start(args, format);
        vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text;
}
