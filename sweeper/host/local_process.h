/*
 * A process of the local driver: begun in local_spawn.c, moved on and ended in local.c.
 */
#ifndef SWEEPER_HOST_LOCAL_PROCESS_H
#define SWEEPER_HOST_LOCAL_PROCESS_H

#include "sweeper/host/capture.h"
#include "sweeper/host/local.h"

enum stream_name { STREAM_OUTPUT, STREAM_ERROR, STREAM_COUNT };

struct stream {
    int pipe; /* our end; -1 at its end, or where a file takes the stream */
    int file; /* unlinked; -1: none */
    struct capture capture;
};

struct host_process {
    struct arena arena; /* holds this struct */
    pid_t pid;          /* also the number of its group */
    bool is_root;       /* started through sudo: signals go the same way */
    int end;            /* becomes readable at its end (pidfd); -1: not available */
    int events;         /* what `descriptor` gives; -1: not asked for */
    int input;          /* our end; -1: closed */
    struct bytes unsent;
    bool closes_input; /* once all is sent */
    bool keeps_output; /* in the capture; else it waits in the pipe for `read` */
    struct stream streams[STREAM_COUNT];
    bool has_ended; /* not yet waited for: its number, and its group's, stay taken */
    bool is_reaped;
    bool timed_out;
    bool until_stop; /* as the command says */
    int64_t started_ns;
    int64_t ended_ns;
    int status; /* of waitpid */
};

/* Opens the streams of a fresh process and starts it: in its own group, with no signal blocked or
 * ignored and no descriptor of ours but its three streams. Its input is a pipe, or /dev/null. */
bool process_begin(struct host_process *process, const struct host_command *command, bool has_input,
                   struct err *err) MUST_USE;

#endif
