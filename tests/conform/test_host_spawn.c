/*
 * What every host promises of a process one talks with: reading and writing in turn, waiting on its
 * descriptor, its end, and its end by a deadline.
 */
#include <poll.h>

#include "sweeper/base/stop.h"
#include "tests/support/host_subjects.h"

#define SPAWN(process, ...)                                                                        \
    MUST(subject->host->driver->spawn(subject->host, &(const struct host_command){__VA_ARGS__},    \
                                      &(process), &subject->err))
#define WRITE(process, bytes)                                                                      \
    MUST(subject->host->driver->write((process), (bytes), clock_deadline_ms(10000), &subject->err))
#define FINISH(process, wait_ms, result)                                                           \
    MUST(subject->host->driver->finish((process), clock_deadline_ms(wait_ms), &subject->arena,     \
                                       (result), &subject->err))

static int64_t read_within(struct subject *subject, struct host_process *process, void *buffer,
                           size_t size, int64_t wait_ms)
{
    int64_t got = -2;
    MUST(subject->host->driver->read(process, buffer, size, clock_deadline_ms(wait_ms), &got,
                                     &subject->err));
    return got;
}

static void read_exactly(struct subject *subject, struct host_process *process, char *buffer,
                         size_t size)
{
    for (size_t used = 0; used < size;) {
        int64_t got = read_within(subject, process, buffer + used, size - used, 10000);
        assert_true(got > 0);
        used += (size_t)got;
    }
}

static void talks_with_a_process(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    char buffer[64];
    SPAWN(process, COMMAND("cat"));
    assert_int_equal(read_within(subject, process, buffer, sizeof buffer, 50), 0);
    for (int i = 0; i < 200; i++) {
        char line[32];
        snprintf(line, sizeof line, "line %d\n", i);
        WRITE(process, bytes_of(line));
        read_exactly(subject, process, buffer, strlen(line));
        assert_memory_equal(buffer, line, strlen(line));
    }
    FINISH(process, 10000, &result);
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(result.output_size, 0);
    assert_false(result.timed_out);
}

/* Over SSH, marks end a command's output: what looks like the beginning of one is no mark. */
static void answers_whatever_it_says(void **state)
{
    struct subject *subject = *state;
    static const char *const words[] = {"D", "xD", "DB", "DBSWEEP ", "\nDBSWEEP"};
    struct host_process *process = NULL;
    struct host_result result;
    char buffer[64];
    SPAWN(process, COMMAND("cat"));
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        WRITE(process, bytes_of(words[i]));
        read_exactly(subject, process, buffer, strlen(words[i]));
        assert_memory_equal(buffer, words[i], strlen(words[i]));
    }
    FINISH(process, 10000, &result);
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(result.output_size, 0);
}

static void writes_more_than_a_pipe_holds(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    struct bytes data = subject_pattern(&subject->arena, 3 * MIB);
    char sha256[65];
    host_sha256(data, sha256);
    SPAWN(process, COMMAND("sha256sum"));
    WRITE(process, data);
    FINISH(process, 10000, &result);
    assert_memory_equal(result.output, sha256, 64);
}

static void reads_until_the_end(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    char buffer[64];
    SPAWN(process, COMMAND("sh", "-c", "echo one; echo why >&2; exit 4"));
    read_exactly(subject, process, buffer, 4);
    assert_memory_equal(buffer, "one\n", 4);
    assert_int_equal(read_within(subject, process, buffer, sizeof buffer, 10000), -1);
    assert_int_equal(read_within(subject, process, buffer, sizeof buffer, 10000), -1);
    FINISH(process, 10000, &result);
    assert_int_equal(result.exit_status, 4);
    assert_string_equal(result.error_text, "why\n");
}

static void sends_the_commands_input_first(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    SPAWN(process, COMMAND("cat"), .input = bytes_of("first "));
    WRITE(process, bytes_of("then"));
    FINISH(process, 10000, &result); /* what was not read comes back from here */
    assert_string_equal(result.output, "first then");
}

static void finish_ends_what_does_not_end(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    SPAWN(process, COMMAND("sleep", "60"));
    FINISH(process, 200, &result);
    assert_true(result.timed_out);
    assert_int_not_equal(result.exit_status, 0);
}

static void write_tells_that_nobody_reads(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    /* more than pipes hold, and the windows of a connection */
    struct bytes data = subject_pattern(&subject->arena, 16 * MIB);
    SPAWN(process, COMMAND("true"));
    assert_false(
        subject->host->driver->write(process, data, clock_deadline_ms(10000), &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_command_failed);
    FINISH(process, 10000, &result);
    assert_int_equal(result.exit_status, 0);
    SPAWN(process, COMMAND("sleep", "60"));
    assert_false(
        subject->host->driver->write(process, data, clock_deadline_ms(200), &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    FINISH(process, 100, &result);
    assert_true(result.timed_out);
}

static void read_does_not_wait_for_a_daemon(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    char line[64] = "";
    char rest[8];
    int64_t began_ns = clock_now_ns();
    SPAWN(process, COMMAND("sh", "-c", "sleep 30 & echo $!"));
    assert_true(read_within(subject, process, line, sizeof line - 1, 10000) > 1);
    assert_int_equal(read_within(subject, process, rest, sizeof rest, 20000), -1);
    FINISH(process, 10000, &result);
    assert_int_equal(result.exit_status, 0);
    assert_true(clock_now_ns() - began_ns < SOON_NS);
    line[strcspn(line, "\n")] = '\0';
    RUN(&result, COMMAND("kill", line));
    assert_int_equal(result.exit_status, 0);
}

/* One who waits on the descriptor alone is also woken to take away the error text. */
static void descriptor_wakes_the_reader(void **state)
{
    struct subject *subject = *state;
    struct host_process *process = NULL;
    struct host_result result;
    char said[16] = "";
    SPAWN(process, COMMAND("sh", "-c", "read line; head -c 1000000 /dev/zero >&2; echo $line"));
    struct pollfd wake = {.fd = subject->host->driver->descriptor(process), .events = POLLIN};
    if (wake.fd < 0) {
        FINISH(process, 100, &result);
        print_message("this driver has no descriptor\n");
        skip();
    }
    /* it may wake for what is not the command's: a transport's own words at the beginning */
    for (int i = 0; i < 20; i++) { /* which a slow login shell may keep for long */
        assert_int_equal(read_within(subject, process, said, sizeof said - 1, 500), 0);
        if (poll(&wake, 1, 500) == 0)
            break;
    }
    assert_int_equal(poll(&wake, 1, 100), 0);
    WRITE(process, bytes_of("hello\n"));
    for (int64_t got = 0; got == 0;) {
        assert_int_equal(poll(&wake, 1, 10000), 1);
        got = read_within(subject, process, said, sizeof said - 1, 0);
    }
    assert_string_equal(said, "hello\n");
    FINISH(process, 10000, &result);
    assert_int_equal(result.exit_status, 0);
    assert_int_equal(result.error_size, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(talks_with_a_process),
        cmocka_unit_test(answers_whatever_it_says),
        cmocka_unit_test(writes_more_than_a_pipe_holds),
        cmocka_unit_test(reads_until_the_end),
        cmocka_unit_test(sends_the_commands_input_first),
        cmocka_unit_test(finish_ends_what_does_not_end),
        cmocka_unit_test(write_tells_that_nobody_reads),
        cmocka_unit_test(read_does_not_wait_for_a_daemon),
        cmocka_unit_test(descriptor_wakes_the_reader),
    };
    stop_install();
    return subjects_run(tests, COUNT_OF(tests), false);
}
