/*
 * A workload: what its clients do. One const table per kind, one folder per kind, all in the
 * array of workloads.c. A transaction is a step function, written once and served by event
 * loops and by thread-per-client loops alike.
 */
#ifndef SWEEPER_LOAD_WORKLOAD_H
#define SWEEPER_LOAD_WORKLOAD_H

#include "sweeper/load/load.h"

#define LOAD_PARAM_LIMIT 64
#define LOAD_STATEMENT_LIMIT 256

enum call_kind {
    CALL_STATEMENT, /* slot + params, prepared */
    CALL_TEXT,      /* sql, not prepared */
    CALL_BEGIN,
    CALL_COMMIT,
    CALL_ROLLBACK,
    CALL_END,        /* the transaction is complete */
    CALL_END_ABORTED /* it ended as it should, by rollback (TPC-C's 1 %) */
};

struct call {
    enum call_kind kind;
    unsigned slot; /* of the statement: index into the workload's statements */
    struct param params[LOAD_PARAM_LIMIT];
    size_t param_count;
    const char *sql;
};

struct random { /* small fast generator, one per client, seeded by seed and client number */
    uint64_t state[4];
};
void random_seed(struct random *random, uint64_t seed, uint64_t stream);
uint64_t random_next(struct random *random);
/* Uniform in low…high, both ends in. */
int64_t random_between(struct random *random, int64_t low, int64_t high);
double random_unit(struct random *random); /* [0, 1) */

struct client {
    const void *plan; /* the workload's own constant data, made by plan() */
    struct session *session;
    struct random random;
    uint32_t number;      /* 0 … client_count - 1 */
    unsigned transaction; /* index of the transaction under way */
    unsigned step;        /* counts calls of this try, from 0 */
    void *state;          /* the workload's own, client_size bytes, zeroed */
};

struct workload_statement {
    unsigned transaction;
    const char *name; /* unique within its transaction */
    const char *sql;  /* with ? for parameters; NULL: its text is sent as it is (CALL_TEXT) */
    enum param_type types[LOAD_PARAM_LIMIT];
    size_t type_count;
};

struct workload {
    const char *kind;
    /* Builds what all clients share: texts of statements in the dialect, distribution tables. */
    bool (*plan)(const struct workload_spec *spec, enum dialect dialect, struct arena *arena,
                 const void **out, struct err *err);
    size_t client_size;
    size_t (*transactions)(const void *plan, const char *const **out_names);
    size_t (*statements)(const void *plan, const struct workload_statement **out);
    /* NULL, or: whether its transactions change data; for kinds of which the settings alone do not
     * tell. */
    bool (*writes)(const void *plan);
    /* Chooses the next transaction of this client. */
    unsigned (*choose)(struct client *client);
    /* The next call of the transaction. `client->step` is 0 at the start of a try; the previous
     * call's rows can be read from client->session. A retry starts again at 0 with the same
     * inputs: inputs are drawn at step 0 of the first try and kept in state. */
    bool (*step)(struct client *client, bool is_retry, struct call *out, struct err *err);

    /* NULL, or: true when the workload knows that the failed transaction may simply be tried again,
     * beyond what the session says. */
    bool (*retries)(const struct err *err);
    /* NULL, or: called once with a session of its own before clients connect: are the data there,
     * and they will no longer be as loaded. */
    bool (*begin_drive)(const struct load_job *job, const void *plan, struct session *session,
                        int64_t deadline, struct err *err);
    /* NULL, or: called once with a session of its own when a drive has succeeded and every client
     * is at rest: is on the server what the clients did. */
    bool (*end_drive)(const struct load_job *job, const void *plan, struct session *session,
                      int64_t deadline, struct err *err);
    /* NULL, or: how long a client of a closed loop rests before its next transaction, which then is
     * timed from when it was due; called before `choose`. 0: it starts at once. */
    int64_t (*pause_ns)(struct client *client);
    /* NULL, or: true when the client has nothing more to start, for good. When that is so of all
     * clients the drive ends before its time; called before `choose`. */
    bool (*is_done)(struct client *client);
    /* NULL, or: called once when the edges of the window are known, before any client starts: what
     * completes from begin_ns until end_ns counts. Called again, by the same thread and before
     * begin_ns, where the warm-up ends early. */
    void (*open_window)(const void *plan, int64_t begin_ns, int64_t end_ns);
    /* NULL, or: called once when every client is at rest: named metrics of the window, in the
     * arena. Puts *end_ns earlier where the work was complete earlier; fails where work that must
     * be complete is not. */
    bool (*close_window)(const void *plan, struct arena *arena, int64_t *end_ns,
                         struct load_metric **out, size_t *out_count, struct err *err);
    const char *distribution; /* of the rows that are drawn; NULL: the one of the settings */

    /* Set-up, in the worker, with one session. All touch only marked objects. */
    bool (*prepare)(const struct load_job *job, const void *plan, struct session *session,
                    int64_t deadline, void (*note)(void *, const char *), void *context,
                    struct err *err);
    bool (*reset)(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err);
    /* note: what was found right, where all is asked for (LOAD_CHECK_ALL). */
    bool (*check)(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err);
    bool (*cleanup)(const struct load_job *job, const void *plan, struct session *session,
                    int64_t deadline, struct err *err);
    /* NULL, or: drives by itself (command). */
    bool (*drive)(const struct load_job *job, struct arena *arena, struct load_result *out,
                  struct err *err);
};

extern const struct workload *const workloads[];
extern const size_t workload_count;
const struct workload *workload_find(const char *kind);

#endif
