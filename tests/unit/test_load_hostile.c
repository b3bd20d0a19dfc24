/*
 * Frames that are cut short, longer than they should be, damaged or forged: a plain refusal, and
 * no more memory than an honest frame takes.
 */
#include "tests/support/load_frames.h"

enum { SMALL_ARENA_BYTES = 1 << 20, DAMAGES = 4000 };

enum frame_kind { FRAME_JOB, FRAME_RESULT, FRAME_SECOND, FRAME_KINDS };

/* From memory of exactly that size, into an arena that only honest counts fit into. */
static bool decodes(enum frame_kind kind, const void *data, size_t size)
{
    struct arena small;
    struct load_job job;
    struct load_result result;
    struct load_second second;
    char *copy = malloc(size + (size == 0));
    assert_non_null(copy);
    memcpy(copy, data, size);
    struct bytes frame = {.data = copy, .size = size};
    arena_open(&small, SMALL_ARENA_BYTES);
    err_clear(&err);
    bool ok = kind == FRAME_JOB      ? load_job_decode(frame, &small, &job, &err)
              : kind == FRAME_RESULT ? load_result_decode(frame, &small, &result, &err)
                                     : load_second_decode(frame, &second);
    arena_close(&small);
    free(copy);
    assert_true(ok || kind == FRAME_SECOND || err.code == ERR_CODE_workload);
    assert_true(ok || kind == FRAME_SECOND || err.text[0] != '\0');
    return ok;
}

static struct bytes whole_frame(enum frame_kind kind)
{
    struct load_result result = full_result();
    return kind == FRAME_JOB      ? job_bytes(&full_job)
           : kind == FRAME_RESULT ? result_bytes(&result)
                                  : second_bytes(&seconds[0]);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < FRAME_KINDS; kind++) {
        struct bytes frame = whole_frame((enum frame_kind)kind);
        for (size_t size = 0; size < frame.size; size++) {
            if (decodes((enum frame_kind)kind, frame.data, size)) {
                fail_msg("frame %d of %zu bytes is taken at %zu", kind, frame.size, size);
            }
        }
        assert_true(decodes((enum frame_kind)kind, frame.data, frame.size));
    }
}

static void trailing_bytes_are_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < FRAME_KINDS; kind++) {
        struct bytes frame = whole_frame((enum frame_kind)kind);
        char *longer = arena_strndup(&arena, frame.data, frame.size);
        assert_non_null(longer);
        assert_false(decodes((enum frame_kind)kind, longer, frame.size + 1));
    }
}

/* A count of four thousand million anywhere: refused before anything is allocated for it. */
static void counts_are_bounded_by_the_frame(void **state)
{
    (void)state;
    for (int kind = 0; kind < FRAME_KINDS; kind++) {
        struct bytes frame = whole_frame((enum frame_kind)kind);
        for (size_t at = 0; at + 4 <= frame.size; at++) {
            char *copy = malloc(frame.size);
            assert_non_null(copy);
            memcpy(copy, frame.data, frame.size);
            memset(copy + at, 0xff, 4);
            (void)decodes((enum frame_kind)kind, copy, frame.size);
            free(copy);
        }
    }
}

/* A histogram takes 10 KB; the first that is none ends the reading. */
static void many_rows_of_nothing_are_refused(void **state)
{
    (void)state;
    static char zeros[1 << 20];
    struct text text;
    text_open(&text, &arena);
    struct load_result result = {.measured_ns = 1};
    struct bytes head = result_bytes(&result);
    text_add_bytes(&text, head.data, head.size - 5 * 4);
    wire_put_u32(&text, sizeof zeros / 28);
    text_add_bytes(&text, zeros, sizeof zeros);
    assert_non_null(text_done(&text));
    size_t before = arena.used_bytes;
    assert_false(load_result_decode((struct bytes){.data = text.data, .size = text.size}, &arena,
                                    &result, &err));
    assert_true(arena.used_bytes - before < 4 * sizeof zeros);
}

static void damage_does_no_harm(void **state)
{
    (void)state;
    uint32_t random = 1;
    for (int kind = 0; kind < FRAME_KINDS; kind++) {
        struct bytes frame = whole_frame((enum frame_kind)kind);
        for (int i = 0; i < DAMAGES; i++) {
            char *copy = malloc(frame.size);
            assert_non_null(copy);
            memcpy(copy, frame.data, frame.size);
            for (int hits = 1 + i % 3; hits > 0; hits--) {
                random = random * 1664525u + 1013904223u;
                copy[(random >> 8) % frame.size] = (char)(random & 0xff);
            }
            (void)decodes((enum frame_kind)kind, copy, frame.size);
            free(copy);
        }
    }
}

static void what_is_unknown_is_refused(void **state)
{
    (void)state;
    struct load_job job = full_job;
    struct load_second second = seconds[0];
    job.operation = (enum load_operation)(LOAD_CHECK_ALL + 1);
    struct bytes frame = job_bytes(&job);
    assert_false(decodes(FRAME_JOB, frame.data, frame.size));
    job = full_job;
    job.workload.kind = NULL;
    frame = job_bytes(&job);
    assert_false(decodes(FRAME_JOB, frame.data, frame.size));
    second.phase = (enum load_phase)(LOAD_PHASE_DRAIN + 1);
    frame = second_bytes(&second);
    assert_false(decodes(FRAME_SECOND, frame.data, frame.size));
}

static bool takes_setting(const struct knob *knob, enum value_kind kind)
{
    struct setting setting = {.knob = knob, .value = settings[0].value};
    struct load_job job = full_job;
    setting.value.kind = kind;
    job.session.settings = &setting;
    job.session.setting_count = 1;
    struct bytes frame = job_bytes(&job);
    return decodes(FRAME_JOB, frame.data, frame.size);
}

static void unknown_knobs_are_refused(void **state)
{
    (void)state;
    struct knob odd[] = {work_mem, work_mem, work_mem};
    odd[0].type = (enum knob_type)(KNOB_TEXT + 1);
    odd[1].unit = (enum unit)(UNIT_PERCENT + 1);
    odd[2].apply = (enum knob_apply)(KNOB_REBUILD + 1);
    assert_true(takes_setting(&work_mem, VALUE_INTEGER));
    assert_false(takes_setting(&work_mem, (enum value_kind)(VALUE_TEXT + 1)));
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        assert_false(takes_setting(&odd[i], VALUE_INTEGER));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_cut_is_refused),
        TEST(trailing_bytes_are_refused),
        TEST(counts_are_bounded_by_the_frame),
        TEST(many_rows_of_nothing_are_refused),
        TEST(damage_does_no_harm),
        TEST(what_is_unknown_is_refused),
        TEST(unknown_knobs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
