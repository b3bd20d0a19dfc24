/*
 * Length-prefixed frames between dbsweep and its load workers, and the plain encoding of what
 * stands in them (little-endian fixed width; strings with a 32-bit length). Both ends are the same
 * version of the same program: the hello frame checks that. A reader treats every byte as hostile:
 * reading past the end sets `failed` and gives zeros.
 */
#ifndef SWEEPER_BASE_WIRE_H
#define SWEEPER_BASE_WIRE_H

#include "sweeper/base/err.h"
#include "sweeper/base/text.h"

#define WIRE_FRAME_LIMIT_BYTES (64u << 20)

void wire_put_u8(struct text *out, uint8_t value);
void wire_put_u32(struct text *out, uint32_t value);
void wire_put_u64(struct text *out, uint64_t value);
void wire_put_i64(struct text *out, int64_t value);
void wire_put_f64(struct text *out, double value);
void wire_put_string(struct text *out, const char *value); /* NULL as "" */
void wire_put_bytes(struct text *out, struct bytes value);

struct wire {
    const char *data;
    size_t size;
    size_t at;
    bool failed;
};

void wire_open(struct wire *wire, struct bytes frame);
uint8_t wire_u8(struct wire *wire);
uint32_t wire_u32(struct wire *wire);
uint64_t wire_u64(struct wire *wire);
int64_t wire_i64(struct wire *wire);
double wire_f64(struct wire *wire);
/* Copies into the arena, NUL-terminated; "" when failed. */
const char *wire_string(struct wire *wire, struct arena *arena);
/* Points into the frame. */
struct bytes wire_bytes(struct wire *wire);

/* An error record both ways. */
void wire_put_err(struct text *out, const struct err *err);
void wire_err(struct wire *wire, struct err *out);

/* Frames: 32-bit length, 8-bit kind, payload. Collects what arrives in pieces. */
struct wire_inbox {
    char *data;
    size_t size;
    size_t capacity;
};
void wire_inbox_close(struct wire_inbox *inbox);
/* Appends bytes that were read. False: memory, or a frame over the limit. */
bool wire_inbox_add(struct wire_inbox *inbox, const void *data, size_t size,
                    struct err *err) MUST_USE;
/* The first whole frame, if there is one: payload points into the inbox and stays valid until
 * wire_inbox_drop. */
bool wire_inbox_peek(const struct wire_inbox *inbox, uint8_t *out_kind, struct bytes *out_payload);
void wire_inbox_drop(struct wire_inbox *inbox);
/* Writes one frame to a descriptor, whole or failed. */
bool wire_send(int descriptor, uint8_t kind, struct bytes payload, int64_t deadline,
               struct err *err) MUST_USE;

#endif
