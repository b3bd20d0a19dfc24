/*
 * Frames and the plain encoding inside them. Readers treat every byte as hostile. An inbox has
 * memory of its own and not an arena's, because it grows and shrinks for as long as a worker lives.
 */
#include "sweeper/base/wire.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/text.h"

#include "sweeper/base/clock.h"

enum { HEAD_BYTES = 5 };

static void put_fixed(struct text *out, uint64_t value, size_t size)
{
    unsigned char bytes[8];
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(value >> (8 * i));
    }
    text_add_bytes(out, bytes, size);
}

void wire_put_u8(struct text *out, uint8_t value)
{
    put_fixed(out, value, 1);
}

void wire_put_u32(struct text *out, uint32_t value)
{
    put_fixed(out, value, 4);
}

void wire_put_u64(struct text *out, uint64_t value)
{
    put_fixed(out, value, 8);
}

void wire_put_i64(struct text *out, int64_t value)
{
    put_fixed(out, (uint64_t)value, 8);
}

void wire_put_f64(struct text *out, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_fixed(out, bits, 8);
}

void wire_put_bytes(struct text *out, struct bytes value)
{
    if (value.size > WIRE_FRAME_LIMIT_BYTES) {
        out->failed = true;
        return;
    }
    wire_put_u32(out, (uint32_t)value.size);
    text_add_bytes(out, value.data, value.size);
}

void wire_put_string(struct text *out, const char *value)
{
    const char *text = value != NULL ? value : "";
    wire_put_bytes(out, (struct bytes){.data = text, .size = strlen(text)});
}

void wire_open(struct wire *wire, struct bytes frame)
{
    *wire = (struct wire){.data = frame.data, .size = frame.size};
}

static uint64_t get_fixed(struct wire *wire, size_t size)
{
    if (wire->failed || wire->size - wire->at < size) {
        wire->failed = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)(unsigned char)wire->data[wire->at + i] << (8 * i);
    }
    wire->at += size;
    return value;
}

uint8_t wire_u8(struct wire *wire)
{
    return (uint8_t)get_fixed(wire, 1);
}

uint32_t wire_u32(struct wire *wire)
{
    return (uint32_t)get_fixed(wire, 4);
}

uint64_t wire_u64(struct wire *wire)
{
    return get_fixed(wire, 8);
}

int64_t wire_i64(struct wire *wire)
{
    return (int64_t)get_fixed(wire, 8);
}

double wire_f64(struct wire *wire)
{
    uint64_t bits = get_fixed(wire, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct bytes wire_bytes(struct wire *wire)
{
    uint32_t size = wire_u32(wire);
    if (wire->failed || wire->size - wire->at < size) {
        wire->failed = true;
        return (struct bytes){.data = "", .size = 0};
    }
    struct bytes bytes = {.data = wire->data + wire->at, .size = size};
    wire->at += size;
    return bytes;
}

const char *wire_string(struct wire *wire, struct arena *arena)
{
    struct bytes bytes = wire_bytes(wire);
    const char *copy = arena_strndup(arena, bytes.data, bytes.size);
    if (copy == NULL) {
        wire->failed = true;
        return "";
    }
    return copy;
}

/* ---- the error record ---- */

void wire_put_err(struct text *out, const struct err *err)
{
    wire_put_u32(out, (uint32_t)err->code);
    wire_put_u32(out, (uint32_t)err->class);
    wire_put_i64(out, err->native);
    wire_put_string(out, err->native_text);
    wire_put_string(out, err->text);
    wire_put_string(out, err->hint);
    wire_put_string(out, err->origin);
    wire_put_u32(out, (uint32_t)err->context_count);
    for (int i = 0; i < err->context_count; i++) {
        wire_put_string(out, err->context[i]);
    }
}

static void copy_field(struct wire *wire, char *field, size_t size)
{
    bytes_text(wire_bytes(wire), field, size);
}

void wire_err(struct wire *wire, struct err *out)
{
    err_clear(out);
    uint32_t code = wire_u32(wire);
    uint32_t class = wire_u32(wire);
    out->code = code <= ERR_CODE_bug ? (enum err_code)code : ERR_CODE_bug;
    out->class = class <= ERR_BUG ? (enum err_class) class : ERR_BUG;
    out->native = (int)wire_i64(wire);
    copy_field(wire, out->native_text, sizeof out->native_text);
    copy_field(wire, out->text, sizeof out->text);
    copy_field(wire, out->hint, sizeof out->hint);
    copy_field(wire, out->origin, sizeof out->origin);
    uint32_t contexts = wire_u32(wire);
    for (uint32_t i = 0; i < contexts && i < COUNT_OF(out->context); i++) {
        copy_field(wire, out->context[i], sizeof out->context[i]);
        out->context_count++;
    }
    wire->failed = wire->failed || contexts > COUNT_OF(out->context);
    if (wire->failed) {
        err_set(out, ERR_CODE_connection, "an error arrived that cannot be read");
    }
}

/* ---- frames ---- */

void wire_inbox_close(struct wire_inbox *inbox)
{
    free(inbox->data);
    *inbox = (struct wire_inbox){0};
}

bool wire_inbox_add(struct wire_inbox *inbox, const void *data, size_t size, struct err *err)
{
    if (size > 2 * (size_t)WIRE_FRAME_LIMIT_BYTES - inbox->size) {
        return err_set(err, ERR_CODE_connection, "more than %u bytes wait in a frame",
                       WIRE_FRAME_LIMIT_BYTES);
    }
    if (inbox->size + size > inbox->capacity) {
        size_t capacity = inbox->capacity * 2 + size + 4096;
        char *grown = realloc(inbox->data, capacity);
        if (grown == NULL) {
            return err_memory(err);
        }
        inbox->data = grown;
        inbox->capacity = capacity;
    }
    if (size > 0) {
        memcpy(inbox->data + inbox->size, data, size);
        inbox->size += size;
    }
    struct wire head;
    wire_open(&head, (struct bytes){.data = inbox->data, .size = inbox->size});
    uint32_t length = wire_u32(&head);
    if (!head.failed && length > WIRE_FRAME_LIMIT_BYTES) {
        return err_set(err, ERR_CODE_connection, "a frame of %u bytes is over the limit", length);
    }
    return true;
}

bool wire_inbox_peek(const struct wire_inbox *inbox, uint8_t *out_kind, struct bytes *out_payload)
{
    struct wire head;
    wire_open(&head, (struct bytes){.data = inbox->data, .size = inbox->size});
    uint32_t length = wire_u32(&head);
    *out_kind = wire_u8(&head);
    if (head.failed || inbox->size - HEAD_BYTES < length) {
        return false;
    }
    *out_payload = (struct bytes){.data = inbox->data + HEAD_BYTES, .size = length};
    return true;
}

void wire_inbox_drop(struct wire_inbox *inbox)
{
    uint8_t kind = 0;
    struct bytes payload = {0};
    if (!wire_inbox_peek(inbox, &kind, &payload)) {
        return;
    }
    size_t whole = HEAD_BYTES + payload.size;
    memmove(inbox->data, inbox->data + whole, inbox->size - whole);
    inbox->size -= whole;
}

static bool write_all(int descriptor, const char *data, size_t size, int64_t deadline,
                      struct err *err)
{
    while (size > 0) {
        ssize_t written = write(descriptor, data, size);
        if (written > 0) {
            data += written;
            size -= (size_t)written;
            continue;
        }
        if (written < 0 && errno != EAGAIN && errno != EINTR) {
            return err_set_errno(err, ERR_CODE_connection, "cannot send a frame");
        }
        struct pollfd room = {.fd = descriptor, .events = POLLOUT};
        if (clock_passed(deadline)) {
            return err_set(err, ERR_CODE_timeout, "a frame could not be sent in time");
        }
        (void)poll(&room, 1, clock_left_ms(deadline));
    }
    return true;
}

bool wire_send(int descriptor, uint8_t kind, struct bytes payload, int64_t deadline,
               struct err *err)
{
    if (payload.size > WIRE_FRAME_LIMIT_BYTES) {
        return err_set(err, ERR_CODE_bug, "a frame of %zu bytes is over the limit", payload.size);
    }
    char head[HEAD_BYTES];
    for (size_t i = 0; i < 4; i++) {
        head[i] = (char)(unsigned char)(payload.size >> (8 * i));
    }
    head[4] = (char)kind;
    return write_all(descriptor, head, sizeof head, deadline, err) &&
           write_all(descriptor, payload.data, payload.size, deadline, err);
}
