/*
 * The script that carries a command over SSH, run by every POSIX shell of this machine, and the
 * filter that finds its marks in a stream that may be cut anywhere and may hold anything.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/text.h"
#include "sweeper/host/remote.h"

#define NONCE "0123456789abcdef0123456789abcdef"
#define BEGIN "DBSWEEP " NONCE " begin "
#define END "DBSWEEP " NONCE " end "

static struct arena arena;
static struct host *host;
static struct err err;

static int open_all(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)512 * 1024 * 1024);
    err_clear(&err);
    return host_open(NULL, clock_deadline_ms(1000), &host, &err) ? 0 : -1;
}

static int close_all(void **state)
{
    (void)state;
    host_close(host);
    arena_close(&arena);
    return 0;
}

/* --- the filter ------------------------------------------------------------------------------- */

struct taken {
    struct remote_filter filter;
    struct text body;
};

static void take(void *context, const char *data, size_t size)
{
    struct taken *taken = context;
    assert_true(size > 0);
    text_add_bytes(&taken->body, data, size);
}

static void taken_open(struct taken *taken)
{
    remote_filter_open(&taken->filter, NONCE);
    text_open(&taken->body, &arena);
}

static void add(struct taken *taken, const char *data, size_t size)
{
    remote_filter_add(&taken->filter, data, size, take, taken);
}

/* What must come of a stream. */
struct wanted {
    const char *stream;
    size_t stream_size;
    const char *body;
    size_t body_size;
    int stage;
    long begin_number;
    long end_number;
};
#define STREAM(text) .stream = (text), .stream_size = sizeof(text) - 1
#define BODY(text) .body = (text), .body_size = sizeof(text) - 1

static void assert_taken(struct taken *taken, const struct wanted *wanted)
{
    const char *body = text_done(&taken->body);
    assert_non_null(body);
    assert_int_equal(taken->filter.stage, wanted->stage);
    assert_int_equal(taken->body.size, wanted->body_size);
    assert_memory_equal(body, wanted->body, wanted->body_size);
    assert_int_equal(taken->filter.begin_number, wanted->begin_number);
    assert_int_equal(taken->filter.end_number, wanted->end_number);
}

/* In pieces of every size, and cut at every two places. */
static void assert_filtered(const struct wanted *wanted)
{
    size_t size = wanted->stream_size;
    struct taken taken;
    for (size_t piece = 1; piece <= size; piece++) {
        taken_open(&taken);
        for (size_t at = 0; at < size; at += piece) {
            add(&taken, wanted->stream + at, size - at < piece ? size - at : piece);
        }
        assert_taken(&taken, wanted);
    }
    for (size_t first = 0; first <= size; first++) {
        for (size_t second = first; second <= size; second += 1 + size / 64) {
            taken_open(&taken);
            add(&taken, wanted->stream, first);
            add(&taken, wanted->stream + first, second - first);
            add(&taken, wanted->stream + second, size - second);
            assert_taken(&taken, wanted);
        }
    }
}

static void finds_the_body(void **state)
{
    (void)state;
    static const struct wanted cases[] = {
        {STREAM(BEGIN "77\nbody\n" END "3\n"), BODY("body\n"), FILTER_DONE, 77, 3},
        {STREAM(BEGIN "77\n" END "0\n"), BODY(""), FILTER_DONE, 77, 0},
        {STREAM("noise\n" BEGIN "1\n\n\n" END "255\n"), BODY("\n\n"), FILTER_DONE, 1, 255},
        {STREAM("no newline" BEGIN "999999999\nnone" END "12\nafter"), BODY("none"), FILTER_DONE,
         999999999, 12},
        {STREAM(BEGIN "5\nx" END "0\n" END "9\n" BEGIN "8\n"), BODY("x"), FILTER_DONE, 5, 0},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_filtered(&cases[i]);
    }
}

static void passes_on_what_looks_like_a_mark(void **state)
{
    (void)state;
    static const struct wanted cases[] = {
        {STREAM(BEGIN "2\nDBSWEEP " END "0\n"), BODY("DBSWEEP "), FILTER_DONE, 2, 0},
        {STREAM(BEGIN "2\nDBSWEEP " NONCE " en" END "0\n"), BODY("DBSWEEP " NONCE " en"),
         FILTER_DONE, 2, 0},
        {STREAM(BEGIN "2\n" BEGIN "3\n" END "4\n"), BODY(BEGIN "3\n"), FILTER_DONE, 2, 4},
        {STREAM(BEGIN "2\nDBSWEEP 1123456789abcdef0123456789abcdef end 0\n" END "7\n"),
         BODY("DBSWEEP 1123456789abcdef0123456789abcdef end 0\n"), FILTER_DONE, 2, 7},
        {STREAM(BEGIN "2\nDDBSDBSWEEDBSWEEP DBSWEEP 0" END "7\n"),
         BODY("DDBSDBSWEEDBSWEEP DBSWEEP 0"), FILTER_DONE, 2, 7},
        {STREAM(END "0\nDBSWEEP " NONCE " begiDBSWEEP" BEGIN "4\nz" END "1\n"), BODY("z"),
         FILTER_DONE, 4, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_filtered(&cases[i]);
    }
}

static void passes_on_any_bytes(void **state)
{
    (void)state;
    static const struct wanted cases[] = {
        {STREAM("\0\0\xff" BEGIN "6\n\0a\0\xff\xfe\0" END "0\n\0"), BODY("\0a\0\xff\xfe\0"),
         FILTER_DONE, 6, 0},
        {STREAM(BEGIN "6\nDBSWEEP\0" NONCE " end 0\n" END "1\n"),
         BODY("DBSWEEP\0" NONCE " end 0\n"), FILTER_DONE, 6, 1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_filtered(&cases[i]);
    }
}

/* Never success: what has no end has not ended, and what is no number is not 0. */
static void takes_nothing_else_for_success(void **state)
{
    (void)state;
    static const struct wanted cases[] = {
        {STREAM("only noise\n"), BODY(""), FILTER_NOISE, 0, 0},
        {STREAM(BEGIN "12"), BODY(""), FILTER_BEGIN, 0, 0},
        {STREAM(BEGIN "12\nbody"), BODY("body"), FILTER_BODY, 12, 0},
        {STREAM(BEGIN "12\nbody" END), BODY("body"), FILTER_END, 12, 0},
        {STREAM(BEGIN "12\nbody" END "0"), BODY("body"), FILTER_END, 12, 0},
        {STREAM(BEGIN "12\n" END "\n"), BODY(""), FILTER_DONE, 12, -1},
        {STREAM(BEGIN "12\n" END " 0\n"), BODY(""), FILTER_DONE, 12, -1},
        {STREAM(BEGIN "12\n" END "-0\n"), BODY(""), FILTER_DONE, 12, -1},
        {STREAM(BEGIN "12\n" END "0x0\n"), BODY(""), FILTER_DONE, 12, -1},
        {STREAM(BEGIN "12\n" END "0\r\n"), BODY(""), FILTER_DONE, 12, -1},
        {STREAM(BEGIN "12\n" END "0\0\n"), BODY(""), FILTER_DONE, 12, -1},
        {STREAM(BEGIN "\n" END "18446744073709551616\n"), BODY(""), FILTER_DONE, -1, -1},
        {STREAM(BEGIN "-1\n" END "4294967296\n"), BODY(""), FILTER_DONE, -1, -1},
        {STREAM(BEGIN "1\n" END
                      "0 and so much text behind it that no number is ever so long, by far"),
         BODY(""), FILTER_DONE, 1, -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_filtered(&cases[i]);
    }
}

static void keeps_the_last_noise(void **state)
{
    (void)state;
    struct taken taken;
    taken_open(&taken);
    for (int i = 0; i < 1000; i++) {
        char line[32];
        int size = snprintf(line, sizeof line, "noise %d\n", i);
        add(&taken, line, (size_t)size);
    }
    assert_int_equal(taken.filter.stage, FILTER_NOISE);
    assert_in_range(taken.filter.noise_size, 100, sizeof taken.filter.noise);
    assert_memory_equal(taken.filter.noise + taken.filter.noise_size - 10, "noise 999\n", 10);
    assert_int_equal(taken.body.size, 0);
}

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state >> 8;
}

/* Full of beginnings of marks. */
static struct bytes long_body(size_t size)
{
    static const char mark[] = END "0";
    char *data = arena_alloc(&arena, size);
    assert_non_null(data);
    for (size_t i = 0; i < size;) {
        size_t some = next_random() % (sizeof END - 6);
        for (size_t j = 0; j < some && i < size; j++) {
            data[i++] = mark[j];
        }
        if (i < size) {
            data[i++] = (char)next_random();
        }
    }
    return (struct bytes){.data = data, .size = size};
}

static void passes_on_a_long_body(void **state)
{
    (void)state;
    struct bytes body = long_body((size_t)5 * 1024 * 1024);
    const size_t largest[] = {1, 7, 100, 5000, 100000, body.size};
    for (size_t i = 0; i < COUNT_OF(largest); i++) {
        struct taken taken;
        taken_open(&taken);
        add(&taken, BEGIN "1\n", strlen(BEGIN "1\n"));
        for (size_t at = 0; at < body.size;) {
            size_t piece = 1 + next_random() % largest[i];
            piece = piece < body.size - at ? piece : body.size - at;
            add(&taken, body.data + at, piece);
            at += piece;
        }
        add(&taken, END "9\n", strlen(END "9\n"));
        const struct wanted wanted = {.body = body.data,
                                      .body_size = body.size,
                                      .stage = FILTER_DONE,
                                      .begin_number = 1,
                                      .end_number = 9};
        assert_taken(&taken, &wanted);
    }
}

/* A reader that waits gets what only looks like a mark; what is one is found all the same. */
static void releases_what_is_held(void **state)
{
    (void)state;
    static const char mark[] = END;
    for (size_t held = 1; held < sizeof END - 1; held++) {
        struct taken taken;
        taken_open(&taken);
        add(&taken, BEGIN "2\nx", strlen(BEGIN "2\nx"));
        add(&taken, mark, held);
        assert_int_equal(taken.body.size, 1);
        assert_int_equal(remote_filter_holds(&taken.filter), held <= 8);
        remote_filter_release(&taken.filter, take, &taken);
        assert_false(remote_filter_holds(&taken.filter));
        size_t released = held <= 8 ? held : 0;
        assert_int_equal(taken.body.size, 1 + released);
        struct taken other = taken;
        add(&taken, mark + held, sizeof mark - 1 - held);
        add(&taken, "5\n", 2);
        assert_int_equal(taken.filter.stage, FILTER_DONE);
        assert_int_equal(taken.filter.end_number, 5);
        assert_int_equal(taken.body.size, 1 + released);
        add(&other, "Dy" END "6\n", strlen("Dy" END "6\n"));
        assert_int_equal(other.filter.end_number, 6);
        assert_int_equal(other.body.size, 1 + held + 2);
        assert_memory_equal(text_done(&other.body) + 1, mark, held);
        assert_memory_equal(text_done(&other.body) + 1 + held, "Dy", 2);
    }
}

static void releases_bytes_one_by_one(void **state)
{
    (void)state;
    static const char body[] = "DDBDBSDBSWEEP DBSWEEDBSWEEP 0";
    struct taken taken;
    taken_open(&taken);
    add(&taken, BEGIN "2\n", strlen(BEGIN "2\n"));
    for (size_t i = 0; i < sizeof body - 1; i++) {
        add(&taken, body + i, 1);
        remote_filter_release(&taken.filter, take, &taken);
        assert_true(taken.body.size + 1 >= i); /* all but what may hold the nonce */
    }
    add(&taken, END "0\n", strlen(END "0\n"));
    const struct wanted wanted = {BODY(body), .stage = FILTER_DONE, .begin_number = 2,
                                  .end_number = 0};
    assert_taken(&taken, &wanted);
}

/* --- the script, through real shells ---------------------------------------------------------- */

/* What stands where a login shell is: it gets the line, and the rest on its standard input. */
static const char *const login_shells[][3] = {
    {"/bin/sh"},   {"/bin/dash"}, {"/bin/bash"},          {"/usr/bin/zsh"},
    {"/bin/tcsh"}, {"/bin/csh"},  {"/bin/busybox", "sh"}, {"/usr/bin/fish"},
};

struct outcome {
    struct taken streams[REMOTE_STREAMS];
    struct host_result result;
};

static void send(const char *const *shell, const char *line, struct bytes stream,
                 struct outcome *out)
{
    const char *argv[6] = {NULL};
    size_t count = 0;
    argv[count++] = shell[0];
    if (shell[1] != NULL) {
        argv[count++] = shell[1];
    }
    argv[count++] = "-c";
    argv[count++] = line;
    const struct host_command command = {.argv = argv,
                                         .input = stream,
                                         .deadline = clock_deadline_ms(30000),
                                         .output_limit_bytes = (size_t)8 * 1024 * 1024};
    if (!host_run(host, &command, &arena, &out->result, &err)) {
        fail_msg("%s: %s", shell[0], err.text);
    }
    assert_false(out->result.timed_out);
    for (size_t i = 0; i < REMOTE_STREAMS; i++) {
        taken_open(&out->streams[i]);
    }
    add(&out->streams[REMOTE_OUTPUT], out->result.output, out->result.output_size);
    add(&out->streams[REMOTE_ERROR], out->result.error_text, out->result.error_size);
}

static struct bytes join(struct bytes first, struct bytes second)
{
    char *data = arena_alloc(&arena, first.size + second.size + 1);
    assert_non_null(data);
    memcpy(data, first.data, first.size);
    if (second.size > 0) {
        memcpy(data + first.size, second.data, second.size);
    }
    return (struct bytes){.data = data, .size = first.size + second.size};
}

static void run(const char *const *shell, const struct host_command *command, struct outcome *out)
{
    const char *line = NULL;
    struct bytes script;
    if (!remote_script(command, false, command->input.size > 0, NONCE, &arena, &line, &script,
                       &err)) {
        fail_msg("%s", err.text);
    }
    send(shell, line, join(script, command->input), out);
    for (size_t i = 0; i < REMOTE_STREAMS; i++) {
        assert_int_equal(out->streams[i].filter.stage, FILTER_DONE);
        assert_true(out->streams[i].filter.begin_number > 1);
    }
}

static void assert_said(struct outcome *outcome, enum remote_stream stream, const char *wanted)
{
    assert_string_equal(text_done(&outcome->streams[stream].body), wanted);
}

#define EACH_SHELL(shell)                                                                          \
    const char *const *shell = login_shells[0];                                                    \
    shell < login_shells[0] + 3 * COUNT_OF(login_shells);                                          \
    shell += 3

static bool is_here(const char *const *shell)
{
    return access(shell[0], X_OK) == 0;
}

static void says_how_it_ended(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        long end;
    } cases[] = {{"echo out; echo err >&2; exit 7", 7},
                 {"echo out; echo err >&2", 0},
                 {"echo out; echo err >&2; kill -KILL $$", 128 + 9},
                 {"echo out; echo err >&2; kill -TERM $$", 128 + 15},
                 {"echo out; echo err >&2; exit 255", 255}};
    for (EACH_SHELL(shell)) {
        for (size_t i = 0; i < COUNT_OF(cases) && is_here(shell); i++) {
            struct outcome outcome;
            const char *const argv[] = {"sh", "-c", cases[i].script, NULL};
            run(shell, &(const struct host_command){.argv = argv}, &outcome);
            assert_said(&outcome, REMOTE_OUTPUT, "out\n");
            assert_true(strstr(text_done(&outcome.streams[REMOTE_ERROR].body), "err\n") != NULL);
            assert_int_equal(outcome.streams[REMOTE_OUTPUT].filter.end_number, cases[i].end);
            assert_int_equal(outcome.streams[REMOTE_ERROR].filter.end_number, cases[i].end);
        }
    }
}

static void says_that_a_program_is_missing(void **state)
{
    (void)state;
    for (EACH_SHELL(shell)) {
        struct outcome outcome;
        const char *const argv[] = {"/nonexistent/program", NULL};
        if (is_here(shell)) {
            run(shell, &(const struct host_command){.argv = argv}, &outcome);
            assert_int_equal(outcome.streams[REMOTE_OUTPUT].filter.end_number, 127);
        }
    }
}

static void passes_words_and_input_as_they_are(void **state)
{
    (void)state;
    struct bytes input = long_body((size_t)1024 * 1024 + 13);
    for (EACH_SHELL(shell)) {
        struct outcome outcome;
        const char *const argv[] = {"sh",
                                    "-c",
                                    "printf '%s|' \"$@\"; cat",
                                    "x",
                                    "",
                                    "a b",
                                    "'",
                                    "$(id)`id`\\",
                                    "*\n\t;&!x",
                                    "-n",
                                    "\xff\xfe",
                                    "}",
                                    "{",
                                    "~",
                                    NULL};
        static const char words[] = "|a b|'|$(id)`id`\\|*\n\t;&!x|-n|\xff\xfe|}|{|~|";
        if (!is_here(shell)) {
            continue;
        }
        run(shell, &(const struct host_command){.argv = argv, .input = input}, &outcome);
        struct text *body = &outcome.streams[REMOTE_OUTPUT].body;
        assert_int_equal(body->size, strlen(words) + input.size);
        assert_memory_equal(text_done(body), words, strlen(words));
        assert_memory_equal(text_done(body) + strlen(words), input.data, input.size);
        assert_int_equal(outcome.streams[REMOTE_OUTPUT].filter.end_number, 0);
    }
}

static void gives_no_input_where_there_is_none(void **state)
{
    (void)state;
    for (EACH_SHELL(shell)) {
        struct outcome outcome;
        const char *const argv[] = {"cat", NULL};
        if (is_here(shell)) {
            run(shell, &(const struct host_command){.argv = argv}, &outcome);
            assert_said(&outcome, REMOTE_OUTPUT, "");
        }
    }
}

static void leaves_a_daemon_alone(void **state)
{
    (void)state;
    for (EACH_SHELL(shell)) {
        struct outcome outcome;
        const char *const argv[] = {
            "sh", "-c",
            /* not before it has become sleep: until then the shell still arranges what it has */
            "sleep 20 & echo $!; echo why >&2; tries=0; "
            "until tr '\\0' ' ' </proc/$!/cmdline | grep -q '^[^ ]*sleep 20 '; do "
            "tries=$((tries + 1)); [ $tries -lt 500 ] || exit 6; sleep 0.01; done; "
            "ls /proc/$!/fd; exit 5",
            NULL};
        if (!is_here(shell)) {
            continue;
        }
        int64_t began_ns = clock_now_ns();
        run(shell, &(const struct host_command){.argv = argv, .daemon = true}, &outcome);
        assert_true(clock_now_ns() - began_ns < 10 * NS_PER_S);
        char *rest = NULL;
        long child = strtol(text_done(&outcome.streams[REMOTE_OUTPUT].body), &rest, 10);
        assert_true(child > 1);
        assert_string_equal(rest, "\n0\n1\n2\n"); /* none of ours but the three */
        assert_said(&outcome, REMOTE_ERROR, "why\n");
        assert_int_equal(outcome.streams[REMOTE_OUTPUT].filter.end_number, 5);
        assert_int_equal(kill((pid_t)child, SIGKILL), 0);
    }
}

static void goes_through_sudo_unless_as_is(void **state)
{
    (void)state;
    const char *line = NULL;
    struct bytes script;
    const char *const argv[] = {"true", NULL};
    assert_true(remote_script(&(const struct host_command){.argv = argv}, true, false, NONCE,
                              &arena, &line, &script, &err));
    assert_non_null(strstr(script.data, "sudo -n -- \"$@\" </dev/null"));
    assert_true(remote_script(&(const struct host_command){.argv = argv, .as_is = true}, true, true,
                              NONCE, &arena, &line, &script, &err));
    assert_null(strstr(script.data, "sudo"));
    assert_null(strstr(script.data, "/dev/null"));
}

/* A connection that is lost while the script is sent must not run a part of it. */
static void runs_nothing_of_a_script_that_was_cut_off(void **state)
{
    (void)state;
    static const char *const shells[] = {"/bin/dash", "/bin/bash", "/bin/busybox"};
    char made[] = "/tmp/dbsweep-script.XXXXXX";
    assert_non_null(mkdtemp(made));
    const char *file = arena_printf(&arena, "%s/ran", made);
    const char *const argv[] = {"touch", file, NULL};
    for (int daemon = 0; daemon < 2; daemon++) {
        const char *line = NULL;
        struct bytes script;
        const struct host_command command = {.argv = argv, .daemon = daemon == 1};
        assert_true(remote_script(&command, false, true, NONCE, &arena, &line, &script, &err));
        for (size_t size = 0; size + 2 < script.size; size++) {
            struct outcome outcome;
            const char *const shell[] = {shells[size % COUNT_OF(shells)],
                                         size % COUNT_OF(shells) == 2 ? "sh" : NULL};
            if (access(shell[0], X_OK) != 0) {
                continue;
            }
            send(shell, line, (struct bytes){.data = script.data, .size = size}, &outcome);
            assert_int_equal(outcome.streams[REMOTE_OUTPUT].filter.stage, FILTER_NOISE);
            assert_int_equal(outcome.result.output_size, 0);
            assert_int_not_equal(access(file, F_OK), 0);
        }
    }
    assert_int_equal(rmdir(made), 0);
}

/* In every place of the search path, should /bin/sh or its programs be busybox's. */
static void runs_with_programs_of_busybox(void **state)
{
    (void)state;
    static const char setup[] = "mkdir \"$1\" && for name in dd cat sh mktemp rm sleep; do "
                                "ln -s /bin/busybox \"$1/$name\" || exit 1; done";
    char made[] = "/tmp/dbsweep-script.XXXXXX";
    if (access("/bin/busybox", X_OK) != 0) {
        print_message("no busybox is here\n");
        skip();
    }
    assert_non_null(mkdtemp(made));
    const char *bin = arena_printf(&arena, "%s/bin", made);
    const char *const argv[] = {"sh", "-c", setup, "sh", bin, NULL};
    const struct host_command prepare = {.argv = argv, .deadline = clock_deadline_ms(10000)};
    assert_true(host_run_ok(host, &prepare, &arena, NULL, &err));
    struct outcome outcome;
    const char *line = NULL;
    struct bytes script;
    const char *const cat[] = {"cat", NULL};
    const struct host_command command = {.argv = cat};
    assert_true(remote_script(&command, false, true, NONCE, &arena, &line, &script, &err));
    static const char input[] = "first line\nsecond\n";
    const char *there = arena_printf(&arena, "PATH=%s; export PATH; %s", bin, line);
    const char *const shell[] = {"/bin/busybox", "sh"};
    send(shell, there, join(script, (struct bytes){.data = input, .size = strlen(input)}),
         &outcome);
    assert_said(&outcome, REMOTE_OUTPUT, input);
    const char *const clean[] = {"rm", "-rf", made, NULL};
    const struct host_command remove = {.argv = clean, .deadline = clock_deadline_ms(10000)};
    assert_true(host_run_ok(host, &remove, &arena, NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_the_body, open_all, close_all),
        cmocka_unit_test_setup_teardown(passes_on_what_looks_like_a_mark, open_all, close_all),
        cmocka_unit_test_setup_teardown(passes_on_any_bytes, open_all, close_all),
        cmocka_unit_test_setup_teardown(takes_nothing_else_for_success, open_all, close_all),
        cmocka_unit_test_setup_teardown(keeps_the_last_noise, open_all, close_all),
        cmocka_unit_test_setup_teardown(passes_on_a_long_body, open_all, close_all),
        cmocka_unit_test_setup_teardown(releases_what_is_held, open_all, close_all),
        cmocka_unit_test_setup_teardown(releases_bytes_one_by_one, open_all, close_all),
        cmocka_unit_test_setup_teardown(says_how_it_ended, open_all, close_all),
        cmocka_unit_test_setup_teardown(says_that_a_program_is_missing, open_all, close_all),
        cmocka_unit_test_setup_teardown(passes_words_and_input_as_they_are, open_all, close_all),
        cmocka_unit_test_setup_teardown(gives_no_input_where_there_is_none, open_all, close_all),
        cmocka_unit_test_setup_teardown(leaves_a_daemon_alone, open_all, close_all),
        cmocka_unit_test_setup_teardown(goes_through_sudo_unless_as_is, open_all, close_all),
        cmocka_unit_test_setup_teardown(runs_nothing_of_a_script_that_was_cut_off, open_all,
                                        close_all),
        cmocka_unit_test_setup_teardown(runs_with_programs_of_busybox, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
