/*
 * A session: one database connection. It belongs to one thread, is fresh for every trial and is
 * never reused over a restart. After `open` and `prepare` it never blocks, so that one event loop
 * drives thousands; a session without a socket (SQLite, ODBC) completes inside `send` and gets a
 * thread of its own from the driver.
 *
 * One call is under way at a time: send (or send_text, begin, commit, rollback), then pump until
 * DONE or FAILED. `rows` may be called once after DONE.
 */
#ifndef BACKENDS_SESSION_H
#define BACKENDS_SESSION_H

#include "knobs/value.h"
#include "sweeper/base/clock.h"
#include "sweeper/base/err.h"

enum dialect { DIALECT_POSTGRESQL, DIALECT_MYSQL, DIALECT_SQLITE, DIALECT_OTHER };

enum param_type { PARAM_INT, PARAM_REAL, PARAM_TEXT };
struct param {
    enum param_type type;
    int64_t integer;
    double real;
    struct bytes text; /* stays valid until the call is done; data NULL: SQL null */
};

/* While a session wants to write, what can be read counts too: a server that cannot get rid of its
 * answer does not read. */
enum session_state { SESSION_DONE, SESSION_WANT_READ, SESSION_WANT_WRITE, SESSION_FAILED };

/* What an error means for the client that sent the call. */
enum session_failure {
    SESSION_RETRY, /* deadlock, serialization failure, lock time-out, busy: roll back, try again */
    SESSION_LOST,  /* the connection is gone, or the server is */
    SESSION_WRONG  /* the statement or the data are wrong */
};

struct session_spec {
    const char *connect;  /* the backend's own syntax */
    const char *password; /* NULL: none beyond what the client library finds; never logged */
    const struct setting *settings; /* of the point: what is set per connection */
    size_t setting_count;
    const char *application; /* name shown by the server: "dbsweep" */
    bool must_exist; /* a database that is a file and not there yet is not_found, not made */
};

struct session;

struct row {
    size_t column_count;
    const struct bytes *columns; /* text form; data NULL: SQL null */
};
/* False ends the reading. */
typedef bool (*row_visitor)(void *context, const struct row *row);

/* Where the rows of a bulk load go. */
struct bulk_spec {
    const char *table;
    const char *columns; /* "id, k, c"; NULL: all, in the table's own order */
    size_t column_count; /* 1 … SESSION_BULK_COLUMNS */
};
#define SESSION_BULK_COLUMNS 32
struct bulk;

struct session_driver {
    enum dialect dialect;
    /* required */
    bool (*open)(const struct session_spec *spec, int64_t deadline, struct session **out,
                 struct err *err);
    void (*close)(struct session *session); /* NULL is fine; never waits */
    /* Makes `sql` ready in `slot` (0 … 255), with `?` for parameters. Waits for the server until
     * the deadline: called before the barrier. */
    bool (*prepare)(struct session *session, unsigned slot, const char *sql,
                    const enum param_type *types, size_t type_count, int64_t deadline,
                    struct err *err);
    bool (*send)(struct session *session, unsigned slot, const struct param *params,
                 size_t param_count, struct err *err);
    bool (*send_text)(struct session *session, const char *sql, struct err *err);
    bool (*begin)(struct session *session, struct err *err);
    bool (*commit)(struct session *session, struct err *err);
    bool (*rollback)(struct session *session, struct err *err);
    /* Goes on with the call as far as it can without waiting. FAILED fills err: a statement that
     * the server refused leaves the session usable (after rollback), a lost one does not. */
    enum session_state (*pump)(struct session *session, struct err *err);
    /* NULL, or: what the call that was just sent waits for, without a look at the network, where an
     * answer is hardly there yet; DONE: pump must look. */
    enum session_state (*sent)(const struct session *session);
    /* NULL, or: of a session that completes inside send, when the next call must end, as far as its
     * system can be asked to. For set-up work: it costs a thread. */
    void (*bound)(struct session *session, int64_t deadline);
    /* The result of the finished call. */
    bool (*rows)(struct session *session, row_visitor visit, void *context, struct err *err);
    int64_t (*affected)(struct session *session); /* rows changed by the finished call */
    enum session_failure (*classify)(const struct session *session, const struct err *err);
    int (*socket)(struct session *session); /* -1: completes inside send */
    /* Asks the server to end the call under way; never waits. */
    void (*cancel)(struct session *session);
    /* Many rows into one table, in the fastest way that the system has. Set-up work: unlike a call
     * these wait for the server, until the deadline of the opening. Several may be open at once,
     * and calls may come between. Rows belong to the transaction that is open when they are sent;
     * all of them are there, in the order of the calls, once bulk_close has succeeded. */
    bool (*bulk_open)(struct session *session, const struct bulk_spec *spec, int64_t deadline,
                      struct bulk **out, struct err *err);
    /* One row of column_count values, which are read before it returns. An error may be that of a
     * row before it; after one, the bulk is good for nothing but its end. */
    bool (*bulk_row)(struct bulk *bulk, const struct param *values, struct err *err);
    /* Sends what was gathered if the rows are whole, and frees the bulk in any case. False: an
     * error, or they were not whole. */
    bool (*bulk_close)(struct bulk *bulk, bool is_whole, struct err *err);
};

/* First member of every driver's session. */
struct session {
    const struct session_driver *driver;
};

/* First member of every driver's bulk. */
struct bulk {
    struct session *session;
};

/* Runs one text statement and waits for its end. Rows go to `visit` unless NULL. For set-up work
 * and probes, not for the measured loop. */
bool session_execute(struct session *session, const char *sql, row_visitor visit, void *context,
                     int64_t deadline, struct err *err) MUST_USE;
/* Waits until the call under way ends. */
bool session_wait(struct session *session, int64_t deadline, struct err *err) MUST_USE;
/* The first column of the first row, copied; NULL in *out where there is no row or it is null. */
bool session_value(struct session *session, const char *sql, int64_t deadline, struct arena *arena,
                   const char **out, struct err *err) MUST_USE;

#endif
