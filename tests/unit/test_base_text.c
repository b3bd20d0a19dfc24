/*
 * Arenas and the text in them: limits that are never exceeded, alignment, builders that stay
 * failed, names that are nearly right, and control characters that never reach a terminal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sweeper/base/text.h"
#include "tests/support/other_locale.h"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, 4 << 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

/* ---- arenas ---- */

static void memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    for (size_t size = 0; size < 300; size++) {
        unsigned char *memory = arena_alloc(&arena, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[i], 0);
        if (size > 0)
            memset(memory, 0xff, size);
    }
}

static void pieces_do_not_overlap(void **state)
{
    (void)state;
    unsigned char *pieces[200];
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        pieces[i] = arena_alloc(&arena, 1000 + i);
        assert_non_null(pieces[i]);
        memset(pieces[i], (int)i, 1000 + i);
    }
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        assert_int_equal(pieces[i][0], i);
        assert_int_equal(pieces[i][999 + i], i);
    }
}

static void the_limit_is_never_exceeded(void **state)
{
    (void)state;
    struct arena small;
    arena_open(&small, 1024);
    assert_null(arena_alloc(&small, 1025));
    assert_int_equal(small.used_bytes, 0);
    assert_non_null(arena_alloc(&small, 1024));
    assert_int_equal(small.used_bytes, 1024);
    assert_null(arena_alloc(&small, 1));
    assert_null(arena_alloc(&small, 0));
    arena_reset(&small);
    assert_int_equal(small.used_bytes, 0);
    size_t count = 0;
    while (arena_alloc(&small, 1) != NULL)
        count++;
    assert_int_equal(count, 1024 / _Alignof(max_align_t));
    assert_true(small.used_bytes <= small.limit_bytes);
    arena_close(&small);
}

static void large_blocks_have_their_own_room(void **state)
{
    (void)state;
    char *large = arena_alloc(&arena, 1 << 20);
    char *small = arena_alloc(&arena, 16);
    assert_non_null(large);
    assert_non_null(small);
    memset(large, 1, 1 << 20);
    assert_int_equal(small[0], 0);
    assert_null(arena_alloc(&arena, 4 << 20));
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    struct arena endless;
    arena_open(&endless, SIZE_MAX);
    assert_null(arena_alloc(&endless, SIZE_MAX));
    assert_null(arena_alloc(&endless, SIZE_MAX - 32));
    assert_null(arena_alloc_array(&endless, SIZE_MAX / 2, 3));
    assert_null(arena_alloc_array(&endless, (SIZE_MAX >> 4) + 1, 16));
    assert_null(arena_strndup(&endless, "", SIZE_MAX));
    arena_close(&endless);
}

static void arrays_and_structs_come_typed(void **state)
{
    (void)state;
    struct bytes *one = ARENA_NEW(&arena, struct bytes);
    int64_t *many = ARENA_ARRAY(&arena, int64_t, 100);
    assert_non_null(one);
    assert_null(one->data);
    assert_non_null(many);
    assert_int_equal(many[99], 0);
    assert_non_null(ARENA_ARRAY(&arena, int64_t, 0));
}

static void copies_end_with_nul(void **state)
{
    (void)state;
    assert_string_equal(arena_strdup(&arena, ""), "");
    assert_string_equal(arena_strdup(&arena, "buffer"), "buffer");
    char *part = arena_strndup(&arena, "a\0bc", 3);
    assert_memory_equal(part, "a\0b", 4);
    assert_string_equal(arena_strndup(&arena, NULL, 0), "");
    assert_string_equal(arena_printf(&arena, "%s=%d", "work_mem", 4), "work_mem=4");
    assert_string_equal(arena_printf(&arena, "%s", ""), "");
}

static void copies_end_quietly_with_memory(void **state)
{
    (void)state;
    struct arena small;
    arena_open(&small, 16);
    assert_null(arena_strdup(&small, "sixteen bytes ..."));
    assert_null(arena_printf(&small, "%0100d", 1));
    assert_non_null(arena_strdup(&small, "fifteen bytes.."));
    arena_close(&small);
}

static void a_zeroed_arena_can_be_closed(void **state)
{
    (void)state;
    struct arena zeroed = {0};
    arena_reset(&zeroed);
    arena_close(&zeroed);
    assert_null(arena_alloc(&zeroed, 1));
    arena_open(&zeroed, 64);
    assert_non_null(arena_alloc(&zeroed, 1));
    arena_close(&zeroed);
    arena_close(&zeroed);
}

/* ---- building ---- */

static void text_grows(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, &arena);
    assert_string_equal(text_done(&text), "");
    for (int i = 0; i < 2000; i++) {
        text_add(&text, "ab");
        text_add_char(&text, 'c');
        text_addf(&text, "%d", i % 10);
        text_add_bytes(&text, "", 0);
    }
    const char *done = text_done(&text);
    assert_non_null(done);
    assert_int_equal(strlen(done), 8000);
    assert_memory_equal(done + 7996, "abc9", 5);
}

static void text_may_hold_nul(void **state)
{
    (void)state;
    struct text text;
    text_open(&text, &arena);
    text_add_bytes(&text, "a\0b", 3);
    text_addf(&text, "%s", "");
    assert_int_equal(text.size, 3);
    assert_memory_equal(text_done(&text), "a\0b", 4);
}

static void failed_text_stays_failed(void **state)
{
    (void)state;
    struct arena small;
    struct text text;
    arena_open(&small, 300);
    text_open(&text, &small);
    text_add(&text, "fits");
    assert_string_equal(text_done(&text), "fits");
    text_addf(&text, "%0400d", 1);
    assert_null(text_done(&text));
    text_add(&text, "x");
    text_add_char(&text, 'x');
    text_addf(&text, "x");
    assert_null(text_done(&text));
    assert_int_equal(text.size, 4);
    text_open(&text, &small);
    text_add_bytes(&text, "x", SIZE_MAX);
    assert_null(text_done(&text));
    arena_close(&small);
}

/* ---- helpers ---- */

static void ends_and_cases_are_compared(void **state)
{
    (void)state;
    assert_true(text_starts_with("work_mem", "work"));
    assert_true(text_starts_with("work", ""));
    assert_false(text_starts_with("wor", "work"));
    assert_true(text_ends_with("a.cfg", ".cfg"));
    assert_true(text_ends_with("a", ""));
    assert_false(text_ends_with("cfg", ".cfg"));
    assert_true(text_equal_nocase("INNODB_Flush", "innodb_flush"));
    assert_true(text_equal_nocase("", ""));
    assert_false(text_equal_nocase("a", "ab"));
    assert_false(text_equal_nocase("ab", "a"));
    assert_false(text_equal_nocase("[", "{"));
    assert_false(text_equal_nocase("@", "`"));
    assert_false(text_equal_nocase("\xc4", "\xe4"));
}

static void cases_are_those_of_ascii_in_turkish(void **state)
{
    (void)state;
    if (!other_locale_set("tr_TR", "ISO-8859-9"))
        skip();
    assert_true(text_equal_nocase("GIB", "gib"));
    assert_int_equal(text_distance("IO_SIZE", "io_size"), 0);
    assert_false(text_equal_nocase("\xdd", "i"));
    setlocale(LC_ALL, "C");
}

static void distances_are_levenshteins(void **state)
{
    (void)state;
    char sixty_four[65];
    char sixty_five[66];
    memset(sixty_four, 'a', 64);
    memset(sixty_five, 'a', 65);
    sixty_four[64] = sixty_five[65] = '\0';
    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("", "abc"), 3);
    assert_int_equal(text_distance("abc", ""), 3);
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    assert_int_equal(text_distance("sitting", "kitten"), 3);
    assert_int_equal(text_distance("WORK_MEM", "work_mem"), 0);
    assert_int_equal(text_distance("flaw", "lawn"), 2);
    assert_int_equal(text_distance("ab", "ba"), 2);
    assert_int_equal(text_distance(sixty_four, sixty_four), 0);
    assert_int_equal(text_distance(sixty_four, ""), 64);
    assert_int_equal(text_distance(sixty_five, "a"), 64);
    assert_int_equal(text_distance("a", sixty_five), 64);
}

static void the_nearest_name_is_proposed(void **state)
{
    (void)state;
    static const char *const names[] = {"shared_buffers", "work_mem", "wal_buffers", "fsync"};
    assert_string_equal(text_nearest("shared_bufers", names, 4), "shared_buffers");
    assert_string_equal(text_nearest("Work-Mem", names, 4), "work_mem");
    assert_string_equal(text_nearest("fsnyc", names, 4), "fsync");
    assert_null(text_nearest("innodb_buffer_pool_size", names, 4));
    assert_null(text_nearest("", names, 4));
    assert_null(text_nearest("fsync", names, 0));
    /* Two thirds of "abc" wrong is as far as a proposal goes. */
    static const char *const far[] = {"xyc"};
    static const char *const too_far[] = {"xyz"};
    assert_string_equal(text_nearest("abc", far, 1), "xyc");
    assert_null(text_nearest("abc", too_far, 1));
}

static void control_characters_are_shown(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *out;
    } rows[] = {
        {"", ""},
        {"plain text", "plain text"},
        {"a\tb\nc", "a\tb\nc"},
        {"\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"},
        {"\r\b\x7f\x01\x1f", "\\x0d\\x08\\x7f\\x01\\x1f"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"},
        {"\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0"},
        {"Gr\xc3\xb6\xc3\x9f"
         "e \xe2\x82\xac",
         "Gr\xc3\xb6\xc3\x9f"
         "e \xe2\x82\xac"},
        {"cut \xc2", "cut \xc2"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(text_printable(&arena, rows[i].in), rows[i].out);
    struct arena small;
    arena_open(&small, 64);
    assert_null(text_printable(&small, "\x1b"));
    arena_close(&small);
}

static void bytes_become_text(void **state)
{
    (void)state;
    char out[4];
    assert_true(bytes_text((struct bytes){0}, out, sizeof out));
    assert_string_equal(out, "");
    assert_true(bytes_text((struct bytes){.data = "abcd", .size = 3}, out, sizeof out));
    assert_string_equal(out, "abc");
    assert_false(bytes_text((struct bytes){.data = "abcd", .size = 4}, out, sizeof out));
    assert_string_equal(out, "abc");
    assert_true(bytes_are((struct bytes){0}, ""));
    assert_false(bytes_are((struct bytes){0}, "a"));
    assert_true(bytes_are((struct bytes){.data = "abc", .size = 2}, "ab"));
    assert_false(bytes_are((struct bytes){.data = "abc", .size = 2}, "AB"));
    assert_true(bytes_are_nocase((struct bytes){.data = "abc", .size = 2}, "AB"));
    assert_false(bytes_are_nocase((struct bytes){.data = "ab", .size = 2}, "abc"));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, open_arena, close_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(memory_is_zeroed_and_aligned),
        EACH(pieces_do_not_overlap),
        EACH(the_limit_is_never_exceeded),
        EACH(large_blocks_have_their_own_room),
        EACH(absurd_sizes_are_refused),
        EACH(arrays_and_structs_come_typed),
        EACH(copies_end_with_nul),
        EACH(copies_end_quietly_with_memory),
        EACH(a_zeroed_arena_can_be_closed),
        EACH(text_grows),
        EACH(text_may_hold_nul),
        EACH(failed_text_stays_failed),
        EACH(ends_and_cases_are_compared),
        EACH(cases_are_those_of_ascii_in_turkish),
        EACH(distances_are_levenshteins),
        EACH(the_nearest_name_is_proposed),
        EACH(control_characters_are_shown),
        EACH(bytes_become_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
