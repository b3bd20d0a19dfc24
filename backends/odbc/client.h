/*
 * What the parts of the ODBC session share. The ANSI functions are called, with UTF-8 texts.
 */
#ifndef BACKENDS_ODBC_CLIENT_H
#define BACKENDS_ODBC_CLIENT_H

#include <pthread.h>
#include <sql.h>
#include <sqlext.h>

#include "backends/kept.h"
#include "backends/session.h"

enum { ODBC_SLOTS = 256, ODBC_SLOT_PARAMS = 64, ODBC_MEMORY_MIB = 128 };

union odbc_number {
    int64_t integer;
    double real;
};

/* A statement and the memory that its parameters are bound to. */
struct odbc_statement {
    SQLHSTMT handle;
    union odbc_number *numbers;
    SQLLEN *lengths;
};

struct odbc_client {
    struct session base;
    struct arena arena; /* holds this struct */
    SQLHDBC connection;
    SQLHSTMT text; /* runs texts, and stands for the connection where it is cancelled */
    struct odbc_statement *slots[ODBC_SLOTS];
    bool in_transaction; /* of begin */
    bool writes;         /* a prepared statement does */
    bool is_manual;      /* autocommit is off */
    int64_t deadline;    /* of the next call, or the one under way; 0: none */
    struct kept_rows rows;
    int64_t affected;
    bool has_failed;
    struct err failure;
    pthread_t watch; /* over the deadline of the call under way */
    /* What the thread that cancels shares. */
    pthread_mutex_t mutex;
    pthread_cond_t has_ended; /* the call */
    SQLHSTMT running;         /* NULL: no call is under way */
    int user_count;           /* of this struct: its owner and that thread */
    bool is_cancelled;
};

static inline struct odbc_client *odbc_client_of(struct session *session)
{
    return (struct odbc_client *)session;
}

/* Connects against the deadline. */
bool odbc_connect(const struct session_spec *spec, enum dialect dialect, int64_t deadline,
                  SQLHDBC *out, struct err *err) MUST_USE;
void odbc_disconnect(SQLHDBC connection);
/* The driver's first record of a handle, as an error: its words without the names of who passed
 * them on, SQLSTATE and native code. Returns false. */
bool odbc_error(SQLSMALLINT type, SQLHANDLE handle, enum err_code code, struct err *err);
/* "08S01", of a record that odbc_error filled; else "". */
const char *odbc_sqlstate(const struct err *err);

/* Keeps the error of a handle as that of the call under way: they come out of pump, as they do
 * where the answer comes later. Returns false. */
bool odbc_keep_failure(struct odbc_client *client, SQLSMALLINT type, SQLHANDLE handle);
enum session_failure odbc_classify(const struct session *session, const struct err *err);
/* A call of this statement begins, until the client's deadline; false with a failure kept where
 * the session was cancelled. Then it ends. */
bool odbc_call_begin(struct odbc_client *client, SQLHSTMT handle) MUST_USE;
void odbc_call_end(struct odbc_client *client);
/* Asks the driver to end the call that is under way, for some seconds at most. The mutex is held on
 * entry and on return, not while it asks. */
void odbc_keep_asking(struct odbc_client *client);
/* Autocommit off or on, within a call. */
bool odbc_set_manual(struct odbc_client *client, bool is_manual) MUST_USE;
/* Runs a text, or what the handle was prepared with where `sql` is NULL, and keeps its result or
 * its failure. */
void odbc_run(struct odbc_client *client, SQLHSTMT handle, const char *sql);

/* A statement with room for so many parameters. */
bool odbc_statement_open(struct odbc_client *client, struct arena *arena, size_t param_count,
                         struct odbc_statement **out, struct err *err) MUST_USE;
void odbc_statement_close(struct odbc_statement *statement);
bool odbc_statement_prepare(struct odbc_client *client, struct odbc_statement *statement,
                            const char *sql, const enum param_type *types, size_t type_count,
                            struct err *err) MUST_USE;
/* Binds parameter `index`; its text stays where it is. */
bool odbc_bind(struct odbc_statement *statement, size_t index, const struct param *param) MUST_USE;

bool odbc_bulk_open(struct session *session, const struct bulk_spec *spec, int64_t deadline,
                    struct bulk **out, struct err *err);
bool odbc_bulk_row(struct bulk *bulk, const struct param *values, struct err *err);
bool odbc_bulk_close(struct bulk *bulk, bool is_whole, struct err *err);

#endif
