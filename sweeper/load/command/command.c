/*
 * Runs somebody else's load driver in a process group of its own, with a deadline, and reads what
 * it says. It is ended when a stop is asked, which is how the worker hears that its parent is gone.
 */
#include "sweeper/load/command/command.h"

#include <sys/resource.h>

#include "sweeper/base/stop.h"
#include "sweeper/host/capture.h"

enum {
    MARGIN_MS = 30000, /* for the program's own set-up and end */
    LOOK_MS = 100,
    END_MS = 5000,
    KEPT_BYTES = 4 << 20, /* of its output */
    TAIL_BYTES = 16 << 10 /* of its output, for the record */
};

/* The program reads no input of ours. The text of the shell is constant; exec keeps the process. */
static const char *const *wrap(const char *const *argv, struct arena *arena)
{
    static const char *const lead[] = {"sh", "-c", "exec \"$@\" </dev/null", "dbsweep"};
    size_t count = 0;
    while (argv[count] != NULL) {
        count++;
    }
    const char **wrapped = ARENA_ARRAY(arena, const char *, COUNT_OF(lead) + count + 1);
    for (size_t i = 0; wrapped != NULL && i < COUNT_OF(lead) + count; i++) {
        wrapped[i] = i < COUNT_OF(lead) ? lead[i] : argv[i - COUNT_OF(lead)];
    }
    return wrapped;
}

/* Takes in what the program says until its output ends, the deadline passes or a stop is asked. */
static bool follow(struct host *host, struct host_process *process, int64_t deadline,
                   struct capture *capture, struct err *err)
{
    char buffer[65536];
    int64_t got = 0;
    while (got >= 0 && !clock_passed(deadline)) {
        int64_t look = clock_deadline_ms(LOOK_MS);
        if (stop_asked() != 0) {
            return err_set(err, ERR_CODE_stopped, "a stop was asked while the command ran");
        }
        if (!host->driver->read(process, buffer, sizeof buffer, look < deadline ? look : deadline,
                                &got, err)) {
            return false;
        }
        if (got > 0) {
            capture_add(capture, buffer, (size_t)got);
        }
    }
    return true;
}

/* Standard output, then standard error, as one text. */
static bool join(const struct capture *capture, const struct host_result *ended,
                 struct arena *arena, struct command_end *out, struct err *err)
{
    const char *said = NULL;
    size_t said_size = 0;
    bool is_cut = false;
    struct text text;
    text_open(&text, arena);
    if (!capture_done(capture, arena, &said, &said_size, &is_cut)) {
        return err_memory(err);
    }
    text_add_bytes(&text, said, said_size);
    text_add_bytes(&text, ended->output, ended->output_size);
    text_add_char(&text, '\n');
    text_add_bytes(&text, ended->error_text, ended->error_size);
    const char *all = text_done(&text);
    if (all == NULL) {
        return err_memory(err);
    }
    *out = (struct command_end){.output = all,
                                .output_size = text.size,
                                .exit_status = ended->exit_status,
                                .signal_number = ended->signal_number,
                                .timed_out = ended->timed_out,
                                .elapsed_ns = ended->elapsed_ns};
    return true;
}

/* The program is gone when this returns, whatever happened. */
static bool run(struct host *host, const char *const *argv, int64_t deadline, struct arena *arena,
                struct command_end *out, struct err *err)
{
    struct host_process *process = NULL;
    struct host_result ended = {0};
    struct capture capture;
    struct err late;
    const struct host_command command = {
        .argv = wrap(argv, arena), .output_limit_bytes = KEPT_BYTES, .as_is = true};
    err_clear(&late);
    capture_open(&capture, arena, KEPT_BYTES);
    if (command.argv == NULL) {
        return err_memory(err);
    }
    if (!host->driver->spawn(host, &command, &process, err)) {
        return false;
    }
    bool ok = follow(host, process, deadline, &capture, err);
    bool has_ended = host->driver->finish(process, ok ? deadline : clock_deadline_ms(0), arena,
                                          &ended, ok ? err : &late);
    return ok && has_ended && join(&capture, &ended, arena, out, err);
}

static double children_cpu_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static bool command_drive(const struct load_job *job, struct arena *arena, struct load_result *out,
                          struct err *err)
{
    const struct workload_spec *spec = &job->workload;
    const char *const *argv = NULL;
    struct host *host = NULL;
    struct command_end end = {.output = ""};
    int64_t deadline =
        clock_deadline_ms(spec->warm_up_ms + spec->measure_ms + spec->drain_ms + MARGIN_MS);
    if (!command_fill(spec, arena, &argv, err) ||
        !host_open(NULL, clock_deadline_ms(END_MS), &host, err)) {
        return false;
    }
    bool ok = run(host, argv, deadline, arena, &end, err) &&
              command_believe(spec, argv, &end, arena, out, err);
    host_close(host);
    size_t tail = end.output_size < TAIL_BYTES ? end.output_size : TAIL_BYTES;
    out->output = text_printable(arena, end.output + end.output_size - tail);
    out->driver_cpu_s = children_cpu_s();
    out->distribution = "";
    return (ok && (out->output != NULL || err_memory(err))) ||
           err_while(err, "running the command");
}

const struct workload workload_command = {.kind = "command", .drive = command_drive};
