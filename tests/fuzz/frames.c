/*
 * What arrives from a load worker: frames, jobs, results and errors. Every byte is hostile; a
 * reader may refuse it, and does nothing else.
 */
#include <stdlib.h>
#include <string.h>

#include "sweeper/load/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_payload(struct bytes payload, struct arena *arena)
{
    struct err err;
    struct load_job job;
    struct load_result result;
    struct load_second second;
    struct wire wire;
    err_clear(&err);
    (void)!load_job_decode(payload, arena, &job, &err);
    (void)!load_result_decode(payload, arena, &result, &err);
    (void)!load_second_decode(payload, &second);
    wire_open(&wire, payload);
    wire_err(&wire, &err);
    if (memchr(err.text, '\0', sizeof(err.text)) == NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct err err;
    struct wire_inbox inbox = {.data = NULL};
    struct bytes payload;
    uint8_t kind = 0;
    err_clear(&err);
    arena_open(&arena, 64u << 20);
    read_payload((struct bytes){.data = (const char *)data, .size = size}, &arena);
    for (size_t at = 0, step = 0; at < size; at += step) {
        step = size - at > 7 ? 7 : size - at;
        if (!wire_inbox_add(&inbox, data + at, step, &err))
            break;
        while (wire_inbox_peek(&inbox, &kind, &payload)) {
            read_payload(payload, &arena);
            wire_inbox_drop(&inbox);
        }
    }
    wire_inbox_close(&inbox);
    arena_close(&arena);
    return 0;
}
