/*
 * A stream from another machine, in any slices: the same body, numbers and stage as in one piece,
 * and nothing is lost or made up. The first byte says how long the slices are; a letter N at the
 * beginning of a mark stands for the number that a real stream would have there.
 */
#include <stdlib.h>
#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/host/remote.h"

#define NONCE "00112233445566778899aabbccddeeff"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct taken {
    struct remote_filter filter;
    struct text body;
};

static void take(void *context, const char *data, size_t size)
{
    struct taken *taken = context;
    if (size == 0)
        abort();
    text_add_bytes(&taken->body, data, size);
}

static void filter(struct taken *taken, struct bytes stream, size_t piece, struct arena *arena)
{
    remote_filter_open(&taken->filter, NONCE);
    text_open(&taken->body, arena);
    for (size_t at = 0; at < stream.size; at += piece) {
        size_t left = stream.size - at;
        remote_filter_add(&taken->filter, stream.data + at, left < piece ? left : piece, take,
                          taken);
    }
}

/* "DBSWEEP N " with the nonce in the place of N. */
static struct bytes with_nonce(const uint8_t *data, size_t size, struct arena *arena)
{
    static const char short_mark[] = "DBSWEEP N ";
    struct text text;
    text_open(&text, arena);
    for (size_t at = 0; at < size;) {
        size_t length = strlen(short_mark);
        if (size - at >= length && memcmp(data + at, short_mark, length) == 0) {
            text_add(&text, "DBSWEEP " NONCE " ");
            at += length;
        } else {
            text_add_char(&text, (char)data[at++]);
        }
    }
    const char *done = text_done(&text);
    if (done == NULL)
        abort();
    return (struct bytes){.data = done, .size = text.size};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct taken whole;
    struct taken sliced;
    if (size < 2)
        return 0;
    arena_open(&arena, 64u << 20);
    struct bytes stream = with_nonce(data + 1, size - 1, &arena);
    filter(&whole, stream, stream.size, &arena);
    filter(&sliced, stream, 1u + data[0], &arena);
    const char *body = text_done(&whole.body);
    const char *other = text_done(&sliced.body);
    if (body == NULL || other == NULL || whole.body.size > stream.size)
        abort();
    if (whole.filter.stage != sliced.filter.stage || whole.body.size != sliced.body.size ||
        memcmp(body, other, whole.body.size) != 0 ||
        whole.filter.begin_number != sliced.filter.begin_number ||
        whole.filter.end_number != sliced.filter.end_number)
        abort();
    if (whole.body.size > 0 && memmem(stream.data, stream.size, body, whole.body.size) == NULL)
        abort();
    arena_close(&arena);
    return 0;
}
