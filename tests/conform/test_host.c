/*
 * What every host promises of its processes: exit statuses and signals, streams of any size and
 * any bytes, deadlines that end a whole group, daemons that keep nobody waiting. Processes one
 * talks with, and files, have their own tests.
 */
#include <fcntl.h>
#include <signal.h>

#include "sweeper/base/stop.h"
#include "tests/support/host_subjects.h"

/* --- run -------------------------------------------------------------------------------------- */

static void gives_status_and_both_streams(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, COMMAND("sh", "-c", "echo out; echo err >&2; exit 7"));
    assert_int_equal(result.exit_status, 7);
    assert_int_equal(result.signal_number, 0);
    assert_false(result.timed_out);
    assert_false(result.truncated);
    assert_string_equal(result.output, "out\n");
    assert_int_equal(result.output_size, 4);
    assert_string_equal(result.error_text, "err\n");
    assert_true(result.elapsed_ns > 0);
}

static void gives_signal(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, COMMAND("sh", "-c", "kill -KILL $$"));
    if (!subject->spec.sudo) { /* sudo ends itself by the same signal, or says 128 + n */
        assert_int_equal(result.exit_status, -1);
        assert_int_equal(result.signal_number, SIGKILL);
    }
    assert_int_not_equal(result.exit_status, 0);
    assert_false(result.timed_out);
}

static void says_that_a_program_is_missing(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    const struct host_command command = {COMMAND("/nonexistent/program", "x")};
    assert_false(host_run_ok(subject->host, &command, &subject->arena, &result, &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_command_failed);
    assert_non_null(strstr(subject->err.text, "/nonexistent/program"));
}

static void passes_words_as_they_are(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, COMMAND("printf", "%s|", "", "a b", "'", "\"$(id)\" `id` \\", "*\n\t;&", "-n",
                         "\xff\xfe\x80", "~", "$HOME", "!x", "a=b"));
    assert_string_equal(result.output,
                        "|a b|'|\"$(id)\" `id` \\|*\n\t;&|-n|\xff\xfe\x80|~|$HOME|!x|a=b|");
}

static void gives_no_input_where_there_is_none(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, COMMAND("cat"));
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(result.output_size, 0);
    assert_string_equal(result.output, "");
}

static void passes_any_bytes_both_ways(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    struct bytes input = subject_pattern(&subject->arena, 5 * MIB);
    RUN(&result, COMMAND("cat"), .input = input, .output_limit_bytes = 6 * MIB);
    assert_int_equal(result.exit_status, 0);
    assert_false(result.truncated);
    assert_int_equal(result.output_size, input.size);
    assert_memory_equal(result.output, input.data, input.size);
    assert_int_equal(result.output[input.size], '\0');
}

static void passes_large_input(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    struct bytes input = subject_pattern(&subject->arena, 5 * MIB + 17);
    char sha256[65];
    host_sha256(input, sha256);
    RUN(&result, COMMAND("sha256sum"), .input = input);
    assert_memory_equal(result.output, sha256, 64);
}

static void needs_no_reader_for_its_input(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, COMMAND("true"), .input = subject_pattern(&subject->arena, 5 * MIB));
    assert_int_equal(result.exit_status, 0);
}

static void drains_both_streams(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result,
        .argv = (const char *const[]){"sh", "-c",
                                      "head -c 8388608 /dev/zero >&2; echo said >&2;"
                                      "head -c 8388608 /dev/zero; echo end",
                                      NULL},
        .deadline = clock_deadline_ms(60000));
    assert_int_equal(result.exit_status, 0);
    assert_true(result.truncated);
    assert_in_range(result.output_size, MIB, MIB + 64);
    assert_in_range(result.error_size, MIB, MIB + 64);
    assert_string_equal(result.output + result.output_size - 4, "end\n");
    assert_string_equal(result.error_text + result.error_size - 5, "said\n");
}

static void keeps_head_and_tail(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, COMMAND("seq", "1", "200000"), .output_limit_bytes = 1000);
    assert_true(result.truncated);
    assert_in_range(result.output_size, 1000, 1064);
    assert_int_equal(strlen(result.output), result.output_size);
    assert_memory_equal(result.output, "1\n2\n3\n", 6);
    assert_non_null(strstr(result.output, "\n[... 1287895 bytes left out ...]\n"));
    assert_string_equal(result.output + result.output_size - 7, "200000\n");
}

static void waits_for_the_end_not_for_silence(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, COMMAND("sh", "-c", "echo x; exec >&- 2>&-; sleep 0.5; exit 3"));
    assert_int_equal(result.exit_status, 3);
    assert_string_equal(result.output, "x\n");
}

static void does_not_wait_for_a_daemon(void **state)
{
    struct subject *subject = *state;
    for (int daemon = 0; daemon < 2; daemon++) {
        struct host_result result;
        int64_t began_ns = clock_now_ns();
        RUN(&result, COMMAND("sh", "-c", "sleep 30 & echo $!; echo said >&2; exit 0"),
            .daemon = daemon == 1);
        assert_true(clock_now_ns() - began_ns < SOON_NS);
        assert_int_equal(result.exit_status, 0);
        assert_false(result.timed_out);
        assert_string_equal(result.error_text, "said\n");
        char pid[32];
        snprintf(pid, sizeof pid, "%.*s", (int)strcspn(result.output, "\n"), result.output);
        RUN(&result, COMMAND("kill", pid)); /* it lives, and is ours */
        assert_int_equal(result.exit_status, 0);
    }
}

static void stop_does_not_interrupt(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    stop_ask(SIGINT);
    RUN(&result, COMMAND("sh", "-c", "sleep 0.3; echo done"));
    stop_clear();
    assert_int_equal(result.exit_status, 0);
    assert_string_equal(result.output, "done\n");
}

static void stop_ends_what_says_so(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    const struct host_command command = {.argv = (const char *const[]){"sleep", "60", NULL},
                                         .deadline = clock_deadline_ms(60000),
                                         .until_stop = true};
    int64_t began_ns = clock_now_ns();
    stop_ask(SIGINT);
    assert_false(host_run(subject->host, &command, &subject->arena, &result, &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_stopped);
    assert_true(clock_now_ns() - began_ns < SOON_NS);
    stop_hold(); /* a restore */
    RUN(&result, COMMAND("sh", "-c", "sleep 0.3; echo done"), .until_stop = true);
    stop_release();
    stop_clear();
    assert_string_equal(result.output, "done\n");
}

/* --- deadlines -------------------------------------------------------------------------------- */

static void ends_an_obedient_process(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, .argv = (const char *const[]){"sleep", "60", NULL},
        .deadline = clock_deadline_ms(300));
    assert_true(result.timed_out);
    assert_int_not_equal(result.exit_status, 0);
    assert_true(result.elapsed_ns >= 300 * NS_PER_MS && result.elapsed_ns < SOON_NS);
}

static void ends_a_group_that_ignores_term(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result,
        .argv =
            (const char *const[]){
                "sh", "-c",
                "trap '' TERM; cut -d' ' -f5 /proc/$$/stat; (while :; do sleep 0.2; done) & "
                "while :; do sleep 0.2; done",
                NULL},
        .deadline = clock_deadline_ms(300));
    assert_true(result.timed_out);
    assert_int_not_equal(result.exit_status, 0);
    assert_true(result.elapsed_ns >= 2 * NS_PER_S && result.elapsed_ns < 2 * SOON_NS);
    char group[32];
    snprintf(group, sizeof group, "-%.*s", (int)strcspn(result.output, "\n"), result.output);
    /* its orphans are waited for by another process: give that one a moment */
    RUN(&result, COMMAND("sh", "-c",
                         "for i in 1 2 3 4 5 6 7 8 9; do kill -0 -- \"$1\" 2>/dev/null || exit 0; "
                         "sleep 0.2; done; exit 1",
                         "test", group));
    assert_int_equal(result.exit_status, 0);
}

/* The first process obeys at once, but a member of its group has something to put in order. */
static void gives_the_whole_group_its_grace(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    const char *path = path_in(subject, "in-order");
    RUN(&result,
        .argv = (const char *const[]){"sh", "-c",
                                      "(trap 'sleep 0.7; echo x >\"$1\"; exit 0' TERM; "
                                      "while :; do sleep 0.1; done) & wait",
                                      "test", path, NULL},
        .deadline = clock_deadline_ms(300), .daemon = true);
    assert_true(result.timed_out);
    assert_string_equal(subject_says(subject, "cat \"$1/in-order\""), "x\n");
}

static void ends_a_stopped_process(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, .argv = (const char *const[]){"sh", "-c", "kill -STOP $$; sleep 60", NULL},
        .deadline = clock_deadline_ms(300));
    assert_true(result.timed_out);
    assert_true(result.elapsed_ns < SOON_NS);
}

static void ends_what_does_not_read(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    RUN(&result, .argv = (const char *const[]){"sleep", "60", NULL},
        .input = subject_pattern(&subject->arena, 5 * MIB), .deadline = clock_deadline_ms(300));
    assert_true(result.timed_out);
}

static void says_what_came_before_the_deadline(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    const struct host_command command = {
        .argv = (const char *const[]){"sh", "-c", "echo half; echo why >&2; exec sleep 60", NULL},
        .deadline = clock_deadline_ms(700)};
    assert_false(host_run_ok(subject->host, &command, &subject->arena, &result, &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    assert_non_null(strstr(subject->err.text, "did not end in time: why"));
    assert_string_equal(result.output, "half\n");
}

/* --- run_ok ----------------------------------------------------------------------------------- */

static void run_ok_tells_the_tail(void **state)
{
    struct subject *subject = *state;
    const struct host_command command = {
        COMMAND("sh", "-c", "seq 1 100000 >&2; echo 'last\tword' >&2; exit 3")};
    assert_false(host_run_ok(subject->host, &command, &subject->arena, NULL, &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_command_failed);
    assert_int_equal(subject->err.native, 3);
    assert_string_equal(subject->err.native_text, "exit");
    assert_string_equal(subject->err.origin, subject->host->label);
    assert_non_null(strstr(subject->err.text, "exited with status 3: "));
    assert_non_null(strstr(subject->err.text, "99999 100000 last word"));
}

static void run_ok_passes_success(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    const struct host_command command = {COMMAND("echo", "fine")};
    MUST(host_run_ok(subject->host, &command, &subject->arena, &result, &subject->err));
    assert_string_equal(result.output, "fine\n");
    MUST(host_run_ok(subject->host, &command, &subject->arena, NULL, &subject->err));
}

/* --- ask -------------------------------------------------------------------------------------- */

static bool ask(struct subject *subject, const char *script, int64_t deadline, const char **out)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    return host_ask(subject->host, argv, deadline, &subject->arena, out, &subject->err);
}

static void asks_and_hears(void **state)
{
    struct subject *subject = *state;
    const char *said = NULL;
    MUST(ask(subject, "echo ' two'; echo 'lines '; echo", clock_deadline_ms(10000), &said));
    assert_string_equal(said, " two\nlines ");
    MUST(ask(subject, "echo words; exit 1", clock_deadline_ms(10000), &said));
    assert_null(said);
}

/* Whoever asks whether a process is there must not take silence for "no". */
static void takes_no_answer_for_no_answer(void **state)
{
    struct subject *subject = *state;
    const char *said = NULL;
    assert_false(ask(subject, "echo there; sleep 60", clock_deadline_ms(300), &said));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    assert_null(said);
    assert_false(ask(subject, "echo there", clock_now_ns() - 1, &said));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    assert_false(ask(subject, "kill -9 $$", clock_deadline_ms(10000), &said));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
}

/* --- this machine only ------------------------------------------------------------------------ */

static void only_here(const struct subject *subject)
{
    if (subject->host->is_local && !subject->spec.sudo)
        return;
    print_message("only a process of this machine inherits from this one\n");
    skip();
}

static void passes_on_no_signal_state(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    sigset_t blocked;
    sigset_t before;
    only_here(subject);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGUSR2, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    RUN(&result, COMMAND("grep", "-E", "^Sig(Blk|Ign):", "/proc/self/status"));
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGUSR2, SIG_DFL);
    unsigned long mask[2] = {1, 1};
    assert_int_equal(sscanf(result.output, "SigBlk: %lx SigIgn: %lx", &mask[0], &mask[1]), 2);
    assert_int_equal(mask[0], 0);
    /* glibc's posix_spawn itself ignores its two internal signals, 32 and 33 */
    assert_int_equal(mask[1] & ~0x180000000ul, 0);
}

static void passes_on_no_descriptor(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    only_here(subject);
    int inherited = fcntl(STDERR_FILENO, F_DUPFD, 50); /* as a careless library would */
    RUN(&result, COMMAND("ls", "/proc/self/fd"));
    close(inherited);
    assert_string_equal(result.output, "0\n1\n2\n3\n"); /* 3 is the listing itself */
}

static void speaks_one_language_in_its_own_group(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    only_here(subject);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setenv("LANGUAGE", "de", 1);
    RUN(&result,
        COMMAND("sh", "-c", "echo $LC_ALL-$LANGUAGE; cut -d' ' -f5 /proc/$$/stat; echo $$"));
    unsetenv("LC_ALL");
    unsetenv("LANGUAGE");
    char language[16];
    long group = 0;
    long pid = 1;
    assert_int_equal(sscanf(result.output, "%15s %ld %ld", language, &group, &pid), 3);
    assert_string_equal(language, "C-");
    assert_int_equal(group, pid);
}

static void leaves_nothing_open(void **state)
{
    struct subject *subject = *state;
    struct host_result result;
    only_here(subject);
    int before = dup(STDIN_FILENO);
    close(before);
    for (int i = 0; i < 30; i++)
        RUN(&result, COMMAND("true"), .daemon = i % 2 == 0, .input = bytes_of("x"));
    const struct host_command absent = {COMMAND("/nonexistent/program")};
    assert_false(host_run_ok(subject->host, &absent, &subject->arena, NULL, &subject->err));
    int after = dup(STDIN_FILENO);
    close(after);
    assert_int_equal(after, before);
}

static void sudo_runs_as_root_unless_as_is(void **state)
{
    struct subject *subject = *state;
    struct host_result plain;
    struct host_result as_is;
    RUN(&plain, COMMAND("id", "-u"));
    RUN(&as_is, COMMAND("id", "-u"), .as_is = true);
    if (subject->spec.sudo) {
        assert_string_equal(plain.output, "0\n");
        assert_string_not_equal(as_is.output, "0\n");
    } else {
        assert_string_equal(plain.output, as_is.output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_status_and_both_streams),
        cmocka_unit_test(gives_signal),
        cmocka_unit_test(says_that_a_program_is_missing),
        cmocka_unit_test(passes_words_as_they_are),
        cmocka_unit_test(gives_no_input_where_there_is_none),
        cmocka_unit_test(passes_any_bytes_both_ways),
        cmocka_unit_test(passes_large_input),
        cmocka_unit_test(needs_no_reader_for_its_input),
        cmocka_unit_test(drains_both_streams),
        cmocka_unit_test(keeps_head_and_tail),
        cmocka_unit_test(waits_for_the_end_not_for_silence),
        cmocka_unit_test(does_not_wait_for_a_daemon),
        cmocka_unit_test(stop_does_not_interrupt),
        cmocka_unit_test(stop_ends_what_says_so),
        cmocka_unit_test(ends_an_obedient_process),
        cmocka_unit_test(ends_a_group_that_ignores_term),
        cmocka_unit_test(gives_the_whole_group_its_grace),
        cmocka_unit_test(ends_a_stopped_process),
        cmocka_unit_test(ends_what_does_not_read),
        cmocka_unit_test(says_what_came_before_the_deadline),
        cmocka_unit_test(run_ok_tells_the_tail),
        cmocka_unit_test(run_ok_passes_success),
        cmocka_unit_test(asks_and_hears),
        cmocka_unit_test(takes_no_answer_for_no_answer),
        cmocka_unit_test(passes_on_no_signal_state),
        cmocka_unit_test(passes_on_no_descriptor),
        cmocka_unit_test(speaks_one_language_in_its_own_group),
        cmocka_unit_test(leaves_nothing_open),
        cmocka_unit_test(sudo_runs_as_root_unless_as_is),
    };
    stop_install();
    return subjects_run(tests, COUNT_OF(tests), false);
}
