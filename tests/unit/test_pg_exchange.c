/*
 * Calls that are spoken by hand, against a server made of bytes: what is sent, answers cut at every
 * byte, words that come at any time, errors, last words of a server that goes, and what no server
 * should send.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/postgresql/connection.h"
#include "backends/postgresql/exchange.h"
#include "sweeper/base/text.h"

/* Messages of a server. A length counts itself. */
#define BOUND "2\0\0\0\4"
#define ROW_7_NULL                                                                                 \
    "D\0\0\0\17\0\2\0\0\0\1"                                                                       \
    "7\377\377\377\377"
#define ROW_ABC_EMPTY                                                                              \
    "D\0\0\0\21\0\2\0\0\0\3"                                                                       \
    "abc\0\0\0\0"
#define SELECTED "C\0\0\0\15SELECT 2\0"
#define UPDATED "C\0\0\0\16UPDATE 12\0"
#define READY "Z\0\0\0\5I"
#define NOTICE "N\0\0\0\13SNOTE\0\0"
#define PARAMETER "S\0\0\0\10a\0b\0"
#define REFUSED "E\0\0\0\51SERROR\0C23505\0Mdoubled\0Dkey 1\0Hmend\0\0"
#define GOODBYE "E\0\0\0\33SFATAL\0C57P01\0Mending\0\0"

struct server {
    struct exchange exchange;
    int far; /* the server's end */
    struct err err;
};

static void open_server(struct server *server)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    *server = (struct server){.far = ends[1]};
    exchange_open(&server->exchange, ends[0]);
    err_clear(&server->err);
}

static void close_server(struct server *server)
{
    close(server->exchange.socket);
    if (server->far >= 0) {
        close(server->far);
    }
    exchange_close(&server->exchange);
}

static void say_bytes(struct server *server, const char *data, size_t size)
{
    assert_int_equal(write(server->far, data, size), (ssize_t)size);
}
#define SAY(server, words) say_bytes((server), (words), sizeof(words) - 1)

static void hang_up(struct server *server)
{
    char heard[256];
    while (read(server->far, heard, sizeof heard) > 0) {
    }
    close(server->far);
    server->far = -1;
}

static enum session_state pump(struct server *server)
{
    return exchange_pump(&server->exchange, &server->err);
}

static void call(struct server *server)
{
    assert_true(exchange_send(&server->exchange, "s1", NULL, 0, &server->err));
}

static bool note_row(void *context, const struct row *row)
{
    struct text *seen = context;
    for (size_t i = 0; i < row->column_count; i++) {
        text_add(seen, i > 0 ? "," : "");
        if (row->columns[i].data == NULL) {
            text_add(seen, "null");
        } else {
            text_add_bytes(seen, row->columns[i].data, row->columns[i].size);
        }
    }
    text_add(seen, ";");
    return true;
}

static void assert_rows(struct server *server, const char *wanted)
{
    struct arena arena;
    struct text seen;
    arena_open(&arena, 1 << 20);
    text_open(&seen, &arena);
    assert_true(exchange_rows(&server->exchange, note_row, &seen, &server->err));
    assert_string_equal(text_done(&seen), wanted);
    arena_close(&arena);
}

/* ---- what is sent ---- */

static void a_call_is_three_messages(void **state)
{
    (void)state;
    struct server server;
    char heard[256];
    static const char wanted[] = "B\0\0\0\70\0s9\0"     /* 56 bytes, no portal, the statement */
                                 "\0\4\0\1\0\1\0\0\0\0" /* formats */
                                 "\0\4\0\0\0\10\0\0\0\0\0\0\1\2"
                                 "\0\0\0\10\77\370\0\0\0\0\0\0" /* 1.5 */
                                 "\0\0\0\2ab\377\377\377\377"
                                 "\0\0" /* columns as text */
                                 "E\0\0\0\11\0\0\0\0\0S\0\0\0\4";
    const struct param params[] = {
        {.type = PARAM_INT, .integer = 258},
        {.type = PARAM_REAL, .real = 1.5},
        {.type = PARAM_TEXT, .text = {.data = "ab", .size = 2}},
        {.type = PARAM_TEXT},
    };
    open_server(&server);
    assert_true(exchange_send(&server.exchange, "s9", params, COUNT_OF(params), &server.err));
    assert_true(exchange_is_sent(&server.exchange));
    ssize_t size = read(server.far, heard, sizeof heard);
    assert_int_equal(size, sizeof wanted - 1);
    assert_memory_equal(heard, wanted, sizeof wanted - 1);
    assert_true(exchange_send_text(&server.exchange, "begin", &server.err));
    size = read(server.far, heard, sizeof heard);
    assert_int_equal(size, 11);
    assert_memory_equal(heard, "Q\0\0\0\12begin\0", 11);
    close_server(&server);
}

/* More than the socket takes at once. */
static void a_long_call_is_sent_as_it_can_be(void **state)
{
    (void)state;
    enum { SIZE = 4 << 20 };
    static char text[SIZE];
    static char heard[1 << 16];
    struct server server;
    const struct param param = {.type = PARAM_TEXT, .text = {.data = text, .size = SIZE}};
    memset(text, 'x', sizeof text);
    open_server(&server);
    assert_true(exchange_send(&server.exchange, "s1", &param, 1, &server.err));
    assert_false(exchange_is_sent(&server.exchange));
    size_t total = 0;
    for (int i = 0; i < 1000 && !exchange_is_sent(&server.exchange); i++) {
        ssize_t size = 0;
        while ((size = read(server.far, heard, sizeof heard)) > 0) {
            total += (size_t)size;
        }
        enum session_state expected = pump(&server);
        assert_true(expected == SESSION_WANT_WRITE || expected == SESSION_WANT_READ);
    }
    assert_true(exchange_is_sent(&server.exchange));
    assert_true(total > SIZE / 2);
    close_server(&server);
}

/* ---- answers ---- */

static const char answer[] = BOUND NOTICE ROW_7_NULL PARAMETER ROW_ABC_EMPTY NOTICE SELECTED READY;

static void answers_may_come_in_pieces(void **state)
{
    (void)state;
    size_t size = sizeof answer - 1;
    struct server server;
    open_server(&server);
    for (size_t cut = 0; cut <= size; cut++) {
        call(&server);
        say_bytes(&server, answer, cut);
        if (cut < size) {
            assert_int_equal(pump(&server), SESSION_WANT_READ);
            say_bytes(&server, answer + cut, size - cut);
        }
        assert_int_equal(pump(&server), SESSION_DONE);
        assert_rows(&server, "7,null;abc,;");
        assert_int_equal(server.exchange.affected, 0);
        assert_true(exchange_settle(&server.exchange, &server.err));
    }
    close_server(&server);
}

static void rows_changed_are_told(void **state)
{
    (void)state;
    struct server server;
    open_server(&server);
    call(&server);
    SAY(&server, BOUND UPDATED READY);
    assert_int_equal(pump(&server), SESSION_DONE);
    assert_int_equal(server.exchange.affected, 12);
    assert_rows(&server, "");
    close_server(&server);
}

/* A row far beyond the first room for answers, and a whole result of such. */
static void long_rows_have_room(void **state)
{
    (void)state;
    enum { SIZE = 70000, ROWS = 3 };
    static char row[SIZE + 11];
    struct server server;
    struct arena arena;
    struct text seen;
    open_server(&server);
    memset(row, 'y', sizeof row);
    memcpy(row, "D\0\1\21\172\0\1\0\1\21\160", 11); /* 70010 of 70000 */
    call(&server);
    for (int i = 0; i < ROWS; i++) {
        for (size_t at = 0; at < sizeof row; at += 10001) {
            size_t left = sizeof row - at;
            say_bytes(&server, row + at, left < 10001 ? left : 10001);
            assert_int_equal(pump(&server), SESSION_WANT_READ);
        }
    }
    SAY(&server, SELECTED READY);
    assert_int_equal(pump(&server), SESSION_DONE);
    arena_open(&arena, 1 << 24);
    text_open(&seen, &arena);
    assert_true(exchange_rows(&server.exchange, note_row, &seen, &server.err));
    assert_int_equal(seen.size, ROWS * (SIZE + 1));
    arena_close(&arena);
    close_server(&server);
}

/* ---- errors ---- */

static void an_error_leaves_the_session_usable(void **state)
{
    (void)state;
    struct server server;
    open_server(&server);
    call(&server);
    SAY(&server, REFUSED);
    assert_int_equal(pump(&server), SESSION_WANT_READ);
    SAY(&server, READY);
    assert_int_equal(pump(&server), SESSION_FAILED);
    assert_int_equal(server.err.code, ERR_CODE_statement);
    assert_string_equal(server.err.text, "doubled");
    assert_string_equal(server.err.hint, "mend");
    assert_string_equal(connection_sqlstate(&server.err), "23505");
    call(&server);
    SAY(&server, BOUND UPDATED READY);
    assert_int_equal(pump(&server), SESSION_DONE);
    close_server(&server);
}

/* Whenever it says them: with the last answer, before a call is sent, or instead of an answer. */
static void last_words_are_heard(void **state)
{
    (void)state;
    for (int when = 0; when < 3; when++) {
        struct server server;
        open_server(&server);
        call(&server);
        SAY(&server, BOUND UPDATED READY);
        if (when == 0) {
            SAY(&server, GOODBYE);
        }
        assert_int_equal(pump(&server), SESSION_DONE);
        if (when == 1) {
            SAY(&server, GOODBYE);
        }
        if (when < 2) {
            hang_up(&server);
        }
        call(&server);
        if (when == 2) {
            SAY(&server, GOODBYE);
            hang_up(&server);
        }
        enum session_state got = SESSION_WANT_READ;
        for (int i = 0; i < 4 && got == SESSION_WANT_READ; i++) {
            got = pump(&server);
        }
        assert_int_equal(got, SESSION_FAILED);
        assert_int_equal(server.err.code, ERR_CODE_connection);
        assert_string_equal(server.err.text, "ending");
        assert_string_equal(connection_sqlstate(&server.err), "57P01");
        close_server(&server);
    }
}

static void a_server_that_goes_without_a_word(void **state)
{
    (void)state;
    struct server server;
    open_server(&server);
    call(&server);
    SAY(&server, BOUND);
    hang_up(&server);
    enum session_state got = SESSION_WANT_READ;
    for (int i = 0; i < 4 && got == SESSION_WANT_READ; i++) {
        got = pump(&server);
    }
    assert_int_equal(got, SESSION_FAILED);
    assert_int_equal(server.err.code, ERR_CODE_connection);
    assert_string_equal(server.err.text, "server closed the connection unexpectedly");
    close_server(&server);
}

static void what_no_server_sends_ends_it(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        size_t size;
    } wrong[] = {{"?\0\0\0\4", 5}, {"D\0\0\0\3", 5}, {"D\377\377\377\377", 5}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct server server;
        open_server(&server);
        call(&server);
        say_bytes(&server, wrong[i].words, wrong[i].size);
        assert_int_equal(pump(&server), SESSION_FAILED);
        assert_int_equal(server.err.code, ERR_CODE_connection);
        assert_non_null(strstr(server.err.text, "does not belong here"));
        close_server(&server);
    }
}

static void rows_that_are_cut_short_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        size_t size;
    } wrong[] = {{"D\0\0\0\5\0", 6}, {"D\0\0\0\10\0\1\0\0", 9}, {"D\0\0\0\13\0\1\0\0\0\2a", 12}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct arena arena;
        struct text seen;
        struct server server;
        open_server(&server);
        arena_open(&arena, 1 << 16);
        text_open(&seen, &arena);
        call(&server);
        say_bytes(&server, wrong[i].words, wrong[i].size);
        SAY(&server, SELECTED READY);
        assert_int_equal(pump(&server), SESSION_DONE);
        assert_false(exchange_rows(&server.exchange, note_row, &seen, &server.err));
        assert_non_null(strstr(server.err.text, "cut short"));
        arena_close(&arena);
        close_server(&server);
    }
}

static void copy_is_refused(void **state)
{
    (void)state;
    struct server server;
    open_server(&server);
    call(&server);
    SAY(&server, BOUND "G\0\0\0\7\0\0\0");
    assert_int_equal(pump(&server), SESSION_FAILED);
    assert_int_equal(server.err.code, ERR_CODE_statement);
    assert_non_null(strstr(server.err.text, "COPY"));
    close_server(&server);
}

/* ---- libpq again ---- */

static void nothing_half_read_is_left_to_libpq(void **state)
{
    (void)state;
    struct server server;
    open_server(&server);
    call(&server);
    SAY(&server, BOUND UPDATED READY NOTICE PARAMETER);
    assert_int_equal(pump(&server), SESSION_DONE);
    assert_true(exchange_settle(&server.exchange, &server.err));
    call(&server);
    SAY(&server, BOUND UPDATED READY "N\0\0\0\13S");
    assert_int_equal(pump(&server), SESSION_DONE);
    assert_false(exchange_settle(&server.exchange, &server.err));
    assert_int_equal(server.err.code, ERR_CODE_connection);
    close_server(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_three_messages),
        cmocka_unit_test(a_long_call_is_sent_as_it_can_be),
        cmocka_unit_test(answers_may_come_in_pieces),
        cmocka_unit_test(rows_changed_are_told),
        cmocka_unit_test(long_rows_have_room),
        cmocka_unit_test(an_error_leaves_the_session_usable),
        cmocka_unit_test(last_words_are_heard),
        cmocka_unit_test(a_server_that_goes_without_a_word),
        cmocka_unit_test(what_no_server_sends_ends_it),
        cmocka_unit_test(rows_that_are_cut_short_are_none),
        cmocka_unit_test(copy_is_refused),
        cmocka_unit_test(nothing_half_read_is_left_to_libpq),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
