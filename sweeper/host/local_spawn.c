/*
 * How a process of this machine begins. posix_spawn, not fork: nothing of ours may run in a child
 * of a program with threads, and a failure to execute comes back as an error here and now.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "sweeper/host/local_process.h"

/* The child's ends. */
struct child_ends {
    int input;
    int streams[STREAM_COUNT];
};

static void child_ends_close(struct child_ends *ends)
{
    local_descriptor_close(&ends->input);
    for (size_t i = 0; i < STREAM_COUNT; i++)
        local_descriptor_close(&ends->streams[i]);
}

/* --- streams ---------------------------------------------------------------------- */

static bool pipe_open(int *ours, int *childs, bool child_reads, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set_errno(err, ERR_CODE_host, "cannot open a pipe");
    *ours = ends[child_reads ? 1 : 0];
    *childs = ends[child_reads ? 0 : 1];
    if (fcntl(*ours, F_SETFL, O_NONBLOCK) != 0)
        return err_set_errno(err, ERR_CODE_host, "cannot set up a pipe");
    return true;
}

/* A file nobody else can open, for the output of a command that leaves a daemon behind. */
static bool unlinked_open(int *ours, int *childs, struct err *err)
{
    const char *directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] != '/')
        directory = "/tmp";
    char path[4096];
    int size = snprintf(path, sizeof path, "%s/dbsweep-XXXXXX", directory);
    if (size < 0 || (size_t)size >= sizeof path)
        return err_set(err, ERR_CODE_host, "TMPDIR is too long");
    *ours = mkostemp(path, O_CLOEXEC | O_APPEND);
    if (*ours < 0)
        return err_set_errno(err, ERR_CODE_host, "cannot open a temporary file in '%s'", directory);
    unlink(path);
    *childs = fcntl(*ours, F_DUPFD_CLOEXEC, 3);
    if (*childs < 0)
        return err_set_errno(err, ERR_CODE_host, "cannot open a temporary file");
    return true;
}

static bool input_open(struct host_process *process, bool has_input, struct child_ends *ends,
                       struct err *err)
{
    if (has_input)
        return pipe_open(&process->input, &ends->input, true, err);
    ends->input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (ends->input < 0)
        return err_set_errno(err, ERR_CODE_host, "cannot open /dev/null");
    return true;
}

static bool streams_open(struct host_process *process, const struct host_command *command,
                         struct child_ends *ends, struct err *err)
{
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        struct stream *stream = &process->streams[i];
        capture_open(&stream->capture, &process->arena, command->output_limit_bytes);
        bool opened = command->daemon ? unlinked_open(&stream->file, &ends->streams[i], err)
                                      : pipe_open(&stream->pipe, &ends->streams[i], false, err);
        if (!opened)
            return false;
    }
    return true;
}

/* --- starting --------------------------------------------------------------------------------- */

/* The words, after `sudo -n --` where asked for; NULL where memory ended. */
static char **argv_build(struct arena *arena, const char *const *argv, bool sudo)
{
    static const char *const through[] = {"sudo", "-n", "--"};
    size_t count = 0;
    while (argv[count] != NULL)
        count++;
    size_t before = sudo ? COUNT_OF(through) : 0;
    char **words = ARENA_ARRAY(arena, char *, before + count + 1);
    for (size_t i = 0; words != NULL && i < before + count; i++) {
        words[i] = arena_strdup(arena, i < before ? through[i] : argv[i - before]);
        if (words[i] == NULL)
            return NULL;
    }
    return words;
}

/* Ours, but messages in one language: they are parsed, and stored for others to read. */
static char **environment_build(struct arena *arena)
{
    size_t count = 0;
    while (environ != NULL && environ[count] != NULL)
        count++;
    char **variables = ARENA_ARRAY(arena, char *, count + 2);
    char *locale = arena_strdup(arena, "LC_ALL=C");
    if (variables == NULL || locale == NULL)
        return NULL;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "LC_ALL=", 7) != 0 && strncmp(environ[i], "LANGUAGE=", 9) != 0)
            variables[kept++] = environ[i];
    }
    variables[kept] = locale;
    return variables;
}

static void attributes_destroy(posix_spawnattr_t *attributes)
{
    posix_spawnattr_destroy(attributes);
}

static void actions_destroy(posix_spawn_file_actions_t *actions)
{
    posix_spawn_file_actions_destroy(actions);
}

/* Own group, no signal blocked, none ignored (SIGPIPE is, in this program). */
static int attributes_fill(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    int failed = posix_spawnattr_setflags(
        attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    failed = failed != 0 ? failed : posix_spawnattr_setpgroup(attributes, 0);
    failed = failed != 0 ? failed : posix_spawnattr_setsigdefault(attributes, &all);
    return failed != 0 ? failed : posix_spawnattr_setsigmask(attributes, &none);
}

static int actions_fill(posix_spawn_file_actions_t *actions, const struct child_ends *ends)
{
    int failed = posix_spawn_file_actions_adddup2(actions, ends->input, STDIN_FILENO);
    if (failed == 0)
        failed =
            posix_spawn_file_actions_adddup2(actions, ends->streams[STREAM_OUTPUT], STDOUT_FILENO);
    if (failed == 0)
        failed =
            posix_spawn_file_actions_adddup2(actions, ends->streams[STREAM_ERROR], STDERR_FILENO);
#if defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 34)
    /* a library may have opened something without close-on-exec */
    if (failed == 0)
        failed = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
#endif
    return failed;
}

static bool process_start(struct host_process *process, const struct host_command *command,
                          const struct child_ends *ends, struct err *err)
{
    char **words = argv_build(&process->arena, command->argv, process->is_root);
    char **variables = environment_build(&process->arena);
    if (words == NULL || variables == NULL)
        return err_memory(err);
    posix_spawnattr_t attributes CLEANUP(attributes_destroy);
    posix_spawn_file_actions_t actions CLEANUP(actions_destroy);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&actions);
    int failed = attributes_fill(&attributes);
    if (failed == 0)
        failed = actions_fill(&actions, ends);
    process->started_ns = clock_now_ns();
    if (failed == 0)
        failed = posix_spawnp(&process->pid, words[0], &actions, &attributes, words, variables);
    if (failed != 0) {
        process->pid = 0;
        errno = failed;
        err_set_errno(err, ERR_CODE_command_failed, "cannot run '%s'", words[0]);
        return err_origin(err, "local");
    }
    process->end = (int)syscall(SYS_pidfd_open, process->pid, 0); /* Linux 5.3; else we ask */
    return true;
}

bool process_begin(struct host_process *process, const struct host_command *command, bool has_input,
                   struct err *err)
{
    struct child_ends ends CLEANUP(child_ends_close) = {.input = -1, .streams = {-1, -1}};
    return input_open(process, has_input, &ends, err) &&
           streams_open(process, command, &ends, err) &&
           process_start(process, command, &ends, err);
}
