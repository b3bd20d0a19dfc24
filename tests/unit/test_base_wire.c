/*
 * Frames and what stands in them: round trips, every cut of a valid frame, and hostile bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/clock.h"
#include "sweeper/base/wire.h"

static struct arena arena;
static struct text out;
static struct err err;
static struct wire_inbox inbox;

static int open_all(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    arena_open(&arena, 8 << 20);
    text_open(&out, &arena);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    wire_inbox_close(&inbox);
    arena_close(&arena);
    return 0;
}

static struct bytes written(void)
{
    assert_non_null(text_done(&out));
    return (struct bytes){.data = out.data, .size = out.size};
}

/* ---- values ---- */

static void put_each_kind(void)
{
    wire_put_u8(&out, 200);
    wire_put_u32(&out, UINT32_MAX);
    wire_put_u64(&out, UINT64_MAX - 1);
    wire_put_i64(&out, INT64_MIN);
    wire_put_f64(&out, -0.1);
    wire_put_f64(&out, INFINITY);
    wire_put_string(&out, "shared_buffers");
    wire_put_string(&out, NULL);
    wire_put_bytes(&out, (struct bytes){.data = "a\0b", .size = 3});
}

static void each_kind_comes_back(void **state)
{
    (void)state;
    struct wire wire;
    put_each_kind();
    wire_open(&wire, written());
    assert_int_equal(wire_u8(&wire), 200);
    assert_int_equal(wire_u32(&wire), UINT32_MAX);
    assert_true(wire_u64(&wire) == UINT64_MAX - 1);
    assert_true(wire_i64(&wire) == INT64_MIN);
    assert_true(wire_f64(&wire) == -0.1);
    assert_true(isinf(wire_f64(&wire)));
    assert_string_equal(wire_string(&wire, &arena), "shared_buffers");
    assert_string_equal(wire_string(&wire, &arena), "");
    struct bytes bytes = wire_bytes(&wire);
    assert_int_equal(bytes.size, 3);
    assert_memory_equal(bytes.data, "a\0b", 3);
    assert_false(wire.failed);
    assert_int_equal(wire.at, wire.size);
    assert_int_equal(wire_u8(&wire), 0);
    assert_true(wire.failed);
}

static void the_encoding_is_little_endian(void **state)
{
    (void)state;
    wire_put_u32(&out, 0x01020304);
    wire_put_u64(&out, UINT64_C(0x0102030405060708));
    wire_put_string(&out, "x");
    static const char expected[] = "\4\3\2\1\x8\7\6\5\4\3\2\1\1\0\0\0x";
    assert_int_equal(out.size, sizeof expected - 1);
    assert_memory_equal(out.data, expected, sizeof expected - 1);
}

/* A copy that ends where the heap's does, so that a sanitizer sees one byte too far. */
static char *exact_copy(struct bytes bytes)
{
    char *copy = malloc(bytes.size > 0 ? bytes.size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes.data, bytes.size);
    return copy;
}

static void every_cut_fails_and_gives_zeros(void **state)
{
    (void)state;
    put_each_kind();
    struct bytes whole = written();
    for (size_t size = 0; size < whole.size; size++) {
        struct wire wire;
        char *copy = exact_copy((struct bytes){.data = whole.data, .size = size});
        wire_open(&wire, (struct bytes){.data = copy, .size = size});
        wire_u8(&wire);
        wire_u32(&wire);
        wire_u64(&wire);
        wire_i64(&wire);
        wire_f64(&wire);
        wire_f64(&wire);
        assert_non_null(wire_string(&wire, &arena));
        assert_non_null(wire_string(&wire, &arena));
        assert_int_equal(wire_bytes(&wire).size, 0);
        assert_true(wire.failed);
        assert_true(wire.at <= size);
        assert_int_equal(wire_u64(&wire), 0);
        assert_true(wire_f64(&wire) == 0);
        assert_string_equal(wire_string(&wire, &arena), "");
        free(copy);
    }
}

static void lengths_are_not_believed(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {2, 3, 1000, INT32_MAX, UINT32_MAX - 3, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct wire wire;
        text_open(&out, &arena);
        wire_put_u32(&out, lengths[i]);
        wire_put_u8(&out, 'x');
        wire_open(&wire, written());
        assert_int_equal(wire_bytes(&wire).size, 0);
        assert_true(wire.failed);
        wire_open(&wire, written());
        assert_string_equal(wire_string(&wire, &arena), "");
        assert_true(wire.failed);
    }
}

static void a_string_may_not_fit_the_arena(void **state)
{
    (void)state;
    struct arena small;
    struct wire wire;
    arena_open(&small, 16);
    wire_put_string(&out, "more than sixteen bytes");
    wire_open(&wire, written());
    assert_string_equal(wire_string(&wire, &small), "");
    assert_true(wire.failed);
    arena_close(&small);
}

static void too_many_bytes_fail_the_writer(void **state)
{
    (void)state;
    wire_put_bytes(&out, (struct bytes){.data = "", .size = (size_t)WIRE_FRAME_LIMIT_BYTES + 1});
    assert_null(text_done(&out));
}

/* ---- the error record ---- */

static void put_record(void)
{
    struct err sent;
    err_set(&sent, ERR_CODE_statement, "relation does not exist");
    err_hint(&sent, "create it");
    err_origin(&sent, "db1");
    err_native(&sent, -3, "SQLSTATE 42P01");
    err_reclass(&sent, ERR_TARGET);
    for (int i = 0; i < 4; i++)
        err_while(&sent, "step %d", i);
    wire_put_err(&out, &sent);
}

static void a_record_comes_back(void **state)
{
    (void)state;
    struct wire wire;
    put_record();
    wire_open(&wire, written());
    wire_err(&wire, &err);
    assert_false(wire.failed);
    assert_int_equal(wire.at, wire.size);
    assert_int_equal(err.code, ERR_CODE_statement);
    assert_int_equal(err.class, ERR_TARGET);
    assert_int_equal(err.native, -3);
    assert_string_equal(err.native_text, "SQLSTATE 42P01");
    assert_string_equal(err.text, "relation does not exist");
    assert_string_equal(err.hint, "create it");
    assert_string_equal(err.origin, "db1");
    assert_int_equal(err.context_count, 4);
    assert_string_equal(err.context[3], "step 3");
}

static void a_cut_record_is_an_error_of_its_own(void **state)
{
    (void)state;
    put_record();
    struct bytes whole = written();
    for (size_t size = 0; size < whole.size; size++) {
        struct wire wire;
        char *copy = exact_copy((struct bytes){.data = whole.data, .size = size});
        wire_open(&wire, (struct bytes){.data = copy, .size = size});
        wire_err(&wire, &err);
        free(copy);
        assert_true(wire.failed);
        assert_int_equal(err.code, ERR_CODE_connection);
        assert_int_equal(err.context_count, 0);
    }
}

static void a_hostile_record_is_bounded(void **state)
{
    (void)state;
    struct wire wire;
    char *text = arena_alloc(&arena, 5000);
    memset(text, 'x', 4999);
    wire_put_u32(&out, UINT32_MAX);
    wire_put_u32(&out, UINT32_MAX);
    wire_put_i64(&out, INT64_MAX);
    for (int i = 0; i < 4; i++)
        wire_put_string(&out, text);
    size_t head = out.size;
    wire_put_u32(&out, 1);
    wire_put_string(&out, text);
    wire_open(&wire, written());
    wire_err(&wire, &err);
    assert_false(wire.failed);
    assert_int_equal(err.code, ERR_CODE_bug);
    assert_int_equal(err.class, ERR_BUG);
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(strlen(err.context[0]), sizeof err.context[0] - 1);
    out.size = head;
    wire_put_u32(&out, 5);
    for (int i = 0; i < 5; i++)
        wire_put_string(&out, "context");
    wire_open(&wire, written());
    wire_err(&wire, &err);
    assert_true(wire.failed);
    assert_int_equal(err.code, ERR_CODE_connection);
}

/* ---- frames ---- */

static void put_frame(uint8_t kind, const char *payload, size_t size)
{
    wire_put_u32(&out, (uint32_t)size);
    wire_put_u8(&out, kind);
    text_add_bytes(&out, payload, size);
}

static void assert_frame(uint8_t kind, const char *payload, size_t size)
{
    uint8_t got_kind = 0;
    struct bytes got = {0};
    assert_true(wire_inbox_peek(&inbox, &got_kind, &got));
    assert_int_equal(got_kind, kind);
    assert_int_equal(got.size, size);
    assert_memory_equal(got.data, payload, size);
    wire_inbox_drop(&inbox);
}

static bool has_frame(void)
{
    uint8_t kind = 0;
    struct bytes payload = {0};
    return wire_inbox_peek(&inbox, &kind, &payload);
}

static void frames_come_in_pieces(void **state)
{
    (void)state;
    put_frame(3, "payload", 7);
    for (size_t i = 0; i < out.size; i++) {
        assert_false(has_frame());
        assert_true(wire_inbox_add(&inbox, out.data + i, 1, &err));
    }
    assert_frame(3, "payload", 7);
    assert_false(has_frame());
    assert_int_equal(inbox.size, 0);
    wire_inbox_drop(&inbox);
    assert_true(wire_inbox_add(&inbox, NULL, 0, &err));
    assert_false(has_frame());
}

static void frames_come_together(void **state)
{
    (void)state;
    char *large = arena_alloc(&arena, 100000);
    memset(large, 7, 100000);
    put_frame(1, "", 0);
    put_frame(255, large, 100000);
    put_frame(0, "a\0b", 3);
    put_frame(9, "cut", 3);
    assert_true(wire_inbox_add(&inbox, out.data, out.size - 1, &err));
    assert_frame(1, "", 0);
    assert_frame(255, large, 100000);
    assert_frame(0, "a\0b", 3);
    assert_false(has_frame());
    wire_inbox_drop(&inbox);
    assert_true(wire_inbox_add(&inbox, "t", 1, &err));
    assert_frame(9, "cut", 3);
}

static void a_frame_over_the_limit_is_refused(void **state)
{
    (void)state;
    wire_put_u32(&out, WIRE_FRAME_LIMIT_BYTES);
    assert_true(wire_inbox_add(&inbox, out.data, out.size, &err));
    assert_false(has_frame());
    wire_inbox_close(&inbox);
    text_open(&out, &arena);
    wire_put_u32(&out, WIRE_FRAME_LIMIT_BYTES + 1);
    assert_true(wire_inbox_add(&inbox, out.data, 3, &err));
    assert_false(wire_inbox_add(&inbox, out.data + 3, 1, &err));
    assert_int_equal(err.code, ERR_CODE_connection);
    wire_inbox_close(&inbox);
    assert_false(wire_inbox_add(&inbox, NULL, 2 * (size_t)WIRE_FRAME_LIMIT_BYTES + 1, &err));
    assert_int_equal(err.code, ERR_CODE_connection);
}

static void hostile_bytes_do_no_harm(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 500; round++) {
        char noise[64];
        for (size_t i = 0; i < sizeof noise; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            noise[i] = (char)(random % 5 == 0 ? random >> 32 : 0);
        }
        struct wire wire;
        wire_open(&wire, (struct bytes){.data = noise, .size = (size_t)round % sizeof noise});
        wire_err(&wire, &err);
        wire_string(&wire, &arena);
        assert_true(wire.at <= wire.size);
        if (wire_inbox_add(&inbox, noise, sizeof noise, &err)) {
            for (int i = 0; i < 20 && has_frame(); i++)
                wire_inbox_drop(&inbox);
        }
        wire_inbox_close(&inbox);
        arena_reset(&arena);
    }
}

/* ---- sending ---- */

struct receiver {
    int descriptor;
    size_t frame_count;
    size_t byte_count;
};

static void *receive(void *argument)
{
    struct receiver *receiver = argument;
    struct wire_inbox own = {0};
    struct err own_err;
    char buffer[5000];
    ssize_t got;
    while ((got = read(receiver->descriptor, buffer, sizeof buffer)) > 0 &&
           wire_inbox_add(&own, buffer, (size_t)got, &own_err)) {
        uint8_t kind;
        struct bytes payload;
        while (wire_inbox_peek(&own, &kind, &payload)) {
            receiver->frame_count++;
            receiver->byte_count += payload.size;
            wire_inbox_drop(&own);
        }
    }
    wire_inbox_close(&own);
    return NULL;
}

static void open_pipe(int *ends)
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
}

static void sent_frames_arrive(void **state)
{
    (void)state;
    int ends[2];
    pthread_t thread;
    const size_t size = 1 << 20;
    char *payload = arena_alloc(&arena, size);
    open_pipe(ends);
    struct receiver receiver = {.descriptor = ends[0]};
    assert_int_equal(pthread_create(&thread, NULL, receive, &receiver), 0);
    int64_t deadline = clock_deadline_ms(60000);
    bool sent =
        wire_send(ends[1], 1, (struct bytes){.data = payload, .size = size}, deadline, &err) &&
        wire_send(ends[1], 2, (struct bytes){.data = "", .size = 0}, deadline, &err) &&
        wire_send(ends[1], 3, (struct bytes){.data = "end", .size = 3}, CLOCK_NEVER, &err);
    close(ends[1]);
    assert_int_equal(pthread_join(thread, NULL), 0);
    close(ends[0]);
    assert_true(sent);
    assert_int_equal(receiver.frame_count, 3);
    assert_int_equal(receiver.byte_count, size + 3);
}

static void who_does_not_read_is_given_up(void **state)
{
    (void)state;
    int ends[2];
    const size_t size = 1 << 20;
    char *payload = arena_alloc(&arena, size);
    open_pipe(ends);
    int64_t began = clock_now_ns();
    assert_false(wire_send(ends[1], 1, (struct bytes){.data = payload, .size = size},
                           clock_deadline_ms(50), &err));
    assert_int_equal(err.code, ERR_CODE_timeout);
    assert_true(clock_now_ns() >= began + 50 * NS_PER_MS);
    close(ends[0]);
    close(ends[1]);
}

static void who_is_gone_is_a_lost_connection(void **state)
{
    (void)state;
    int ends[2];
    open_pipe(ends);
    close(ends[0]);
    assert_false(wire_send(ends[1], 1, (struct bytes){.data = "x", .size = 1},
                           clock_deadline_ms(60000), &err));
    assert_int_equal(err.code, ERR_CODE_connection);
    assert_int_equal(err.native, EPIPE);
    close(ends[1]);
    assert_false(wire_send(-1, 1, (struct bytes){.data = "x", .size = 1}, CLOCK_NEVER, &err));
    assert_int_equal(err.native, EBADF);
}

static void a_payload_over_the_limit_is_not_sent(void **state)
{
    (void)state;
    struct bytes payload = {.data = "", .size = (size_t)WIRE_FRAME_LIMIT_BYTES + 1};
    assert_false(wire_send(-1, 1, payload, CLOCK_NEVER, &err));
    assert_int_equal(err.code, ERR_CODE_bug);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(each_kind_comes_back),
        EACH(the_encoding_is_little_endian),
        EACH(every_cut_fails_and_gives_zeros),
        EACH(lengths_are_not_believed),
        EACH(a_string_may_not_fit_the_arena),
        EACH(too_many_bytes_fail_the_writer),
        EACH(a_record_comes_back),
        EACH(a_cut_record_is_an_error_of_its_own),
        EACH(a_hostile_record_is_bounded),
        EACH(frames_come_in_pieces),
        EACH(frames_come_together),
        EACH(a_frame_over_the_limit_is_refused),
        EACH(hostile_bytes_do_no_harm),
        EACH(sent_frames_arrive),
        EACH(who_does_not_read_is_given_up),
        EACH(who_is_gone_is_a_lost_connection),
        EACH(a_payload_over_the_limit_is_not_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
