/*
 * A buffer whose first half is written once and whose second half is a ring over what follows.
 */
#include "sweeper/host/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAPACITY_BYTES ((size_t)4096)

void capture_open(struct capture *capture, struct arena *arena, size_t limit_bytes)
{
    if (limit_bytes == 0)
        limit_bytes = CAPTURE_DEFAULT_BYTES;
    if (limit_bytes > CAPTURE_LIMIT_BYTES)
        limit_bytes = CAPTURE_LIMIT_BYTES;
    *capture = (struct capture){.arena = arena, .limit = limit_bytes};
}

static size_t head_size(const struct capture *capture)
{
    return capture->limit / 2;
}

/* Where the byte number `total` goes once the buffer has its full size. */
static size_t position(const struct capture *capture)
{
    if (capture->total < capture->limit)
        return (size_t)capture->total;
    size_t head = head_size(capture);
    return head + (size_t)((capture->total - head) % (capture->limit - head));
}

static bool grow(struct capture *capture, size_t wanted)
{
    size_t capacity = capture->capacity == 0 ? FIRST_CAPACITY_BYTES : capture->capacity;
    while (capacity < wanted && capacity < capture->limit)
        capacity *= 2;
    if (capacity > capture->limit)
        capacity = capture->limit;
    if (capacity <= capture->capacity)
        return true;
    char *data = arena_alloc(capture->arena, capacity);
    if (data == NULL) {
        capture->failed = true;
        return false;
    }
    if (capture->total > 0) /* not yet a ring: it was never full */
        memcpy(data, capture->data, (size_t)capture->total);
    capture->data = data;
    capture->capacity = capacity;
    return true;
}

void capture_add(struct capture *capture, const char *data, size_t size)
{
    if (capture->failed || size == 0)
        return;
    uint64_t wanted = capture->total + size;
    if (capture->capacity < capture->limit &&
        !grow(capture, wanted > capture->limit ? capture->limit : (size_t)wanted))
        return;
    while (size > 0) {
        size_t at = position(capture);
        size_t piece = capture->limit - at < size ? capture->limit - at : size;
        memcpy(capture->data + at, data, piece);
        capture->total += piece;
        data += piece;
        size -= piece;
    }
}

static bool copy_whole(const struct capture *capture, struct arena *arena, const char **out,
                       size_t *out_size)
{
    size_t size = (size_t)capture->total;
    char *copy = arena_alloc(arena, size + 1);
    if (copy == NULL)
        return false;
    if (size > 0)
        memcpy(copy, capture->data, size);
    *out = copy;
    *out_size = size;
    return true;
}

bool capture_done(const struct capture *capture, struct arena *arena, const char **out,
                  size_t *out_size, bool *truncated)
{
    if (capture->failed)
        return false;
    if (capture->total <= capture->limit)
        return copy_whole(capture, arena, out, out_size);
    char mark[64];
    const uint64_t missing = capture->total - capture->limit;
    const size_t mark_size =
        (size_t)snprintf(mark, sizeof mark, "\n[... %" PRIu64 " bytes left out ...]\n", missing);
    size_t head = head_size(capture);
    size_t oldest = position(capture);
    char *copy = arena_alloc(arena, capture->limit + mark_size + 1);
    if (copy == NULL)
        return false;
    size_t first = capture->limit - oldest;
    memcpy(copy, capture->data, head);
    memcpy(copy + head, mark, mark_size);
    memcpy(copy + head + mark_size, capture->data + oldest, first);
    memcpy(copy + head + mark_size + first, capture->data + head, oldest - head);
    *out = copy;
    *out_size = capture->limit + mark_size;
    *truncated = true;
    return true;
}
