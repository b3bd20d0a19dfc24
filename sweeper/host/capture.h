/*
 * What is kept of a stream: its head and its tail, whatever its length. A process that says too
 * much is read on, so that it never stalls, and loses only its middle.
 */
#ifndef SWEEPER_HOST_CAPTURE_H
#define SWEEPER_HOST_CAPTURE_H

#include "sweeper/base/arena.h"

#define CAPTURE_DEFAULT_BYTES ((size_t)1024 * 1024)
#define CAPTURE_LIMIT_BYTES ((size_t)256 * 1024 * 1024)

struct capture {
    struct arena *arena;
    char *data; /* grows to limit; from the middle on a ring */
    size_t capacity;
    size_t limit;
    uint64_t total; /* bytes seen */
    bool failed;    /* memory ended: what followed is lost */
};

/* limit_bytes 0: 1 MiB. Takes up to twice the limit from the arena. */
void capture_open(struct capture *capture, struct arena *arena, size_t limit_bytes);
void capture_add(struct capture *capture, const char *data, size_t size);
/* A NUL-terminated copy. Where the middle is missing, a line "[... N bytes left out ...]" stands
 * in its place and *truncated is set (else it is left alone). False where memory ended. */
bool capture_done(const struct capture *capture, struct arena *arena, const char **out,
                  size_t *out_size, bool *truncated) MUST_USE;

#endif
