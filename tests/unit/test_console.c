/*
 * What a person sees, read from the other end of a pseudo-terminal: the bar within the width,
 * gone around log lines, and neither bar nor escape codes where there is no terminal. The child
 * process owns the console; this process only reads.
 */
#include "sweeper/console.h"

#include <math.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/base/clock.h"
#include "sweeper/base/log.h"

#define OUTPUT_SIZE 65536
#define WIDTH 100

static char output[OUTPUT_SIZE];

/* ---- the child's side ---- */

static int64_t fake_now_ns = 1000 * NS_PER_S;

static int64_t now_ns(void)
{
    return fake_now_ns;
}

static int64_t wall_us(void)
{
    return 0;
}

static void sleep_until(int64_t deadline_ns)
{
    fake_now_ns = deadline_ns;
}

static const struct clock_source fake_clock = {
    .now_ns = now_ns, .boot_ns = now_ns, .wall_us = wall_us, .sleep_until = sleep_until};

static void a_sweep(void)
{
    struct console console;
    console_open(&console);
    console_trial(&console, 7, 24, "shared_buffers=1G work_mem=4M", 3720000);
    console_stage(&console, "measure", "drives the workload", 60000);
    fake_now_ns += 12 * NS_PER_S;
    console_second(&console, 1234.5, 4.25);
    log_line(LOG_INFO, "a line of the log");
    console_best(&console, "shared_buffers=2G: 1300.0 throughput_per_s");
    console_close(&console);
}

static void hostile_names(void)
{
    struct console console;
    console_open(&console);
    console_trial(&console, 1, 2,
                  "a=\033]0;owned\007 b=\x9b"
                  "31m c=\xc2\x9b\n\r\xe2\x80\xae",
                  -1);
    console_stage(&console, "load\033[2Jing", "a\033[31msentence", 0);
    console_note(&console, "\033[5mloading\b\b sbtest1: 40 %");
    console_best(&console, "\033cbest");
    console_close(&console);
}

static void long_names(void)
{
    struct console console;
    char name[400];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    console_open(&console);
    console_trial(&console, INT64_MAX, INT64_MAX, "p=1", INT64_MAX / 1000000);
    console_stage(&console, name, "long", INT64_MAX / 2000000);
    console_second(&console, 1e300, 1e300);
    console_note(&console, name);
    console_best(&console, name);
    console_close(&console);
}

static void a_log_of_notes(void)
{
    struct console console;
    console_open(&console);
    console_trial(&console, 1, 0, "p=1", -1);
    console_stage(&console, "prepare", "loads the data", 0);
    for (int i = 0; i < 100; i++) {
        console_note(&console, i == 0 ? "loading: first" : "loading: more");
        fake_now_ns += NS_PER_S;
    }
    console_close(&console);
}

/* As `load` shows it, without a sweep around it. */
static void a_load(void)
{
    struct console console;
    console_open(&console);
    for (int i = 1; i <= 20; i++) {
        char note[64];
        snprintf(note, sizeof(note), "loading oltp, 4 tables: %d %%, %ds left", 2 * i, 30 - i);
        console_note(&console, note);
    }
    log_line(LOG_INFO, "a line of the log");
    console_note(&console, "loading oltp, 4 tables: 100 %");
    console_note(&console, "indexing oltp, 4 tables: 100 %");
    console_close(&console);
}

/* ---- the reader's side ---- */

static void read_all(int descriptor)
{
    size_t used = 0;
    ssize_t got = 0;
    while (used + 1 < sizeof(output) &&
           (got = read(descriptor, output + used, sizeof(output) - used - 1)) > 0)
        used += (size_t)got;
    output[used] = '\0';
    close(descriptor);
}

static void run_child(void (*play)(void), const char *term, enum log_format format)
{
    clock_replace(&fake_clock);
    log_configure(LOG_INFO, format);
    setenv("TERM", term, 1);
    play();
    _exit(0);
}

static void wait_for(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void on_terminal(void (*play)(void), unsigned short width, const char *term,
                        enum log_format format)
{
    struct winsize size = {.ws_row = 24, .ws_col = width};
    int descriptor = -1;
    pid_t child = forkpty(&descriptor, NULL, NULL, &size);
    assert_true(child >= 0);
    if (child == 0)
        run_child(play, term, format);
    read_all(descriptor);
    wait_for(child);
}

static void in_log(void (*play)(void))
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        run_child(play, "xterm", LOG_TEXT);
    }
    close(ends[1]);
    read_all(ends[0]);
    wait_for(child);
}

/* Plays the output on a screen of one line: what stands on it when a newline comes is kept,
 * the rest must have been erased. Only "\r", "\n" and "\033[K" may steer. Returns the widest
 * frame that was drawn over by "\r". */
static size_t play_screen(char *kept, size_t kept_size)
{
    size_t column = 0;
    size_t used = 0;
    size_t widest = 0;
    size_t line_start = 0;
    kept[0] = '\0';
    for (const char *at = output; *at != '\0'; at++) {
        if (*at == '\r' && at[1] != '\n') {
            widest = column > widest ? column : widest;
            column = 0;
            used = line_start;
        } else if (strncmp(at, "\033[K", 3) == 0) {
            at += 2;
            kept[used] = '\0';
        } else if (*at == '\n') {
            kept[used++] = '\n';
            line_start = used;
            column = 0;
        } else if (*at != '\r') {
            if (*at < 0x20 || *at > 0x7e)
                fail_msg("byte 0x%02x reached the terminal", (unsigned)(unsigned char)*at);
            kept[used++] = *at;
            column++;
        }
        assert_true(used + 1 < kept_size);
        kept[used] = '\0';
    }
    return widest;
}

static void assert_holds(const char *text, const char *piece)
{
    if (strstr(text, piece) == NULL)
        fail_msg("'%s' is missing in: %s", piece, text);
}

static void the_bar_tells_trial_stage_rate_eta_and_best(void **state)
{
    (void)state;
    on_terminal(a_sweep, 160, "xterm", LOG_TEXT);
    assert_holds(output, "trial 7/24");
    assert_holds(output, "measure 12/60s");
    assert_holds(output, "1234.5/s");
    assert_holds(output, "p99 4.25 ms");
    assert_holds(output, "ETA 62min");
    assert_holds(output, "best shared_buffers=2G");
    assert_holds(output, "[#####---------------]");
}

static void the_bar_is_gone_around_log_lines_and_at_the_end(void **state)
{
    (void)state;
    char kept[OUTPUT_SIZE];
    on_terminal(a_sweep, WIDTH, "xterm", LOG_TEXT);
    size_t widest = play_screen(kept, sizeof(kept));
    assert_in_range(widest, 20, WIDTH - 1);
    assert_holds(kept, "a line of the log\n");
    assert_null(strstr(kept, "[###"));
    assert_int_equal(kept[strlen(kept) - 1], '\n');
}

static void the_bar_keeps_within_any_width(void **state)
{
    (void)state;
    char kept[OUTPUT_SIZE];
    for (unsigned short width = 1; width <= 240; width = (unsigned short)(width + 17)) {
        on_terminal(a_sweep, width, "xterm", LOG_TEXT);
        assert_true(play_screen(kept, sizeof(kept)) < width);
        on_terminal(long_names, width, "xterm", LOG_TEXT);
        assert_true(play_screen(kept, sizeof(kept)) < width);
    }
}

static void hostile_text_cannot_steer_the_terminal(void **state)
{
    (void)state;
    on_terminal(hostile_names, 200, "xterm", LOG_TEXT);
    for (const char *at = strchr(output, '\033'); at != NULL; at = strchr(at + 1, '\033'))
        assert_int_equal(strncmp(at, "\033[K", 3), 0);
    assert_null(strchr(output, '\007'));
    assert_null(strchr(output, '\b'));
    assert_holds(output, "loading");
}

static void no_terminal_gets_no_escape_codes(void **state)
{
    (void)state;
    in_log(a_sweep);
    assert_null(strchr(output, '\033'));
    assert_null(strchr(output, '\r'));
    assert_holds(output, "trial 7 of 24: shared_buffers=1G work_mem=4M");
    assert_holds(output, "measure");
    assert_holds(output, "drives the workload");
    assert_holds(output, "best so far: shared_buffers=2G");
    in_log(hostile_names);
    assert_null(strchr(output, '\033'));
}

static void a_dumb_terminal_and_a_json_log_get_no_bar(void **state)
{
    (void)state;
    on_terminal(a_sweep, WIDTH, "dumb", LOG_TEXT);
    assert_null(strchr(output, '\033'));
    on_terminal(a_sweep, WIDTH, "", LOG_TEXT);
    assert_null(strchr(output, '\033'));
    on_terminal(a_sweep, WIDTH, "xterm", LOG_JSON);
    assert_null(strchr(output, '\033'));
    assert_null(strchr(output, '['));
}

static void notes_do_not_flood_a_log(void **state)
{
    (void)state;
    size_t lines = 0;
    in_log(a_log_of_notes);
    assert_holds(output, "loading: first");
    for (const char *at = strstr(output, "loading:"); at != NULL; at = strstr(at + 1, "loading:"))
        lines++;
    assert_int_equal(lines, 10);
}

static void a_load_has_a_bar_of_its_own(void **state)
{
    (void)state;
    char kept[OUTPUT_SIZE];
    on_terminal(a_load, 120, "xterm", LOG_TEXT);
    assert_holds(output, "[--------------------]   loading oltp, 4 tables: 2 %, 29s left\033[K");
    assert_holds(output, "[########------------]   loading oltp, 4 tables: 40 %, 10s left\033[K");
    assert_holds(output, "[####################]   indexing oltp, 4 tables: 100 %\033[K");
    const char *after = strstr(output, "a line of the log");
    assert_non_null(after);
    assert_holds(after, "loading oltp, 4 tables: 40 %, 10s left"); /* drawn again behind it */
    play_screen(kept, sizeof(kept));
    assert_holds(kept, "a line of the log\n");
    assert_null(strstr(kept, "oltp"));
}

static void a_log_of_a_load_is_sparse(void **state)
{
    (void)state;
    in_log(a_load);
    assert_holds(output, "loading oltp, 4 tables: 2 %, 29s left\n");
    assert_null(strstr(output, " 4 %"));
    assert_holds(output, "loading oltp, 4 tables: 100 %\n");
    assert_holds(output, "indexing oltp, 4 tables: 100 %\n");
    assert_null(strchr(output, '\r'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bar_tells_trial_stage_rate_eta_and_best),
        cmocka_unit_test(the_bar_is_gone_around_log_lines_and_at_the_end),
        cmocka_unit_test(the_bar_keeps_within_any_width),
        cmocka_unit_test(hostile_text_cannot_steer_the_terminal),
        cmocka_unit_test(no_terminal_gets_no_escape_codes),
        cmocka_unit_test(a_dumb_terminal_and_a_json_log_get_no_bar),
        cmocka_unit_test(notes_do_not_flood_a_log),
        cmocka_unit_test(a_load_has_a_bar_of_its_own),
        cmocka_unit_test(a_log_of_a_load_is_sparse),
    };
    return cmocka_run_group_tests_name("console", tests, NULL, NULL);
}
