/*
 * Inside the replay backend: the table that stands for the server's truth, and its state.
 */
#ifndef BACKENDS_REPLAY_SERVER_H
#define BACKENDS_REPLAY_SERVER_H

#include "backends/replay/state.h"

enum { REPLAY_PARTS = 200 };

struct replay {
    const struct replay_spec *spec;
    const char *source; /* for messages */
    struct table table;
    struct state state; /* as last read */
    char why[200];
    double latency_parts[REPLAY_PARTS]; /* of equal shares of all transactions, in their mean */
    double latency_p99;
};

static inline struct replay *replay_of(const struct server *server)
{
    return server->state;
}

/* How a point fails, from the source's column. */
enum failure_kind {
    FAILURE_NONE,
    FAILURE_START,   /* "start": the server refuses it */
    FAILURE_READY,   /* "ready": it starts and never answers */
    FAILURE_MEASURE, /* "measure": the workload breaks off */
    FAILURE_ADJUST   /* "NAME=VALUE": the server takes another value */
};
struct failure {
    enum failure_kind kind;
    size_t column; /* of FAILURE_ADJUST */
    size_t choice;
};
/* Errors: config_syntax. */
bool replay_failure_parse(const struct replay *replay, const char *text, struct failure *out,
                          struct err *err) MUST_USE;
/* That of a point: its row's, or the lot's; none where there is no such row. */
struct failure replay_failure(const struct replay *replay, const struct table_row *row);

/* The row that settings lead to from the state's running choices; NULL: none. `in_state` false:
 * from the baseline's. *out_unknown the setting whose value no row has, SIZE_MAX: none. */
const struct table_row *replay_find(const struct replay *replay, const struct setting *settings,
                                    size_t count, bool in_state, size_t *out_unknown,
                                    struct arena *arena);

/* What all measurements share. */
void replay_prepare(struct replay *replay);
bool replay_measure(struct server *server, const struct measure_spec *spec, struct arena *arena,
                    struct measured *out, struct err *err) MUST_USE;

#endif
