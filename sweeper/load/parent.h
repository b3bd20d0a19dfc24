/*
 * A worker as its parent sees it. Between parent.c, which follows one, and team.c, which follows
 * several.
 */
#ifndef SWEEPER_LOAD_PARENT_H
#define SWEEPER_LOAD_PARENT_H

#include "sweeper/load/load.h"

struct load_worker {
    struct host *host;
    struct host_process *process;
    struct arena arena;
    struct wire_inbox inbox;
    uint32_t client_count; /* that a drive must have; 0 for other operations */
    bool is_drive;
    bool is_up; /* it has said hello */
    bool is_ready;
    bool is_go;
    bool is_measure; /* it was told that its warm-up may end */
};

enum frame_answer {
    FRAME_NONE, /* no frame is there yet */
    FRAME_WENT_BY,
    FRAME_READY,
    FRAME_MEASURE,
    FRAME_RESULT,
    FRAME_FAILED
};

/* Handles one frame if there is one, without waiting: progress goes to the caller's functions. The
 * payload stays in the inbox for FRAME_RESULT. */
enum frame_answer worker_look(struct load_worker *worker, const struct load_progress *progress,
                              struct err *err);
/* False: stopped, or the time is up. */
bool worker_may_wait(int64_t deadline, struct err *err);
bool worker_say_go(struct load_worker *worker, struct err *err);
/* The warm-up may end; once is enough. */
bool worker_say_measure(struct load_worker *worker, struct err *err);
/* After FRAME_RESULT. `out` may be NULL. */
bool worker_take_result(struct load_worker *worker, struct arena *arena, struct load_result *out,
                        struct err *err);

#endif
