/*
 * Opening a libpq connection against a deadline. libpq tells no SQLSTATE of a refused connection,
 * so its verbose message is asked for and the code read from there: waiting mends "the database
 * system is starting up", but not a wrong password, and words are translated.
 */
#include "backends/postgresql/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "sweeper/base/text.h"

enum { MESSAGE_BYTES = 480, SQLSTATE_BYTES = 5 };
static const char native_prefix[] = "SQLSTATE ";

static void ignore_notice(void *context UNUSED, const char *message UNUSED)
{
}

const char *connection_sqlstate(const struct err *err)
{
    size_t prefix = sizeof native_prefix - 1;
    return strncmp(err->native_text, native_prefix, prefix) == 0 ? err->native_text + prefix : "";
}

static bool keep_sqlstate(struct err *err, const char *sqlstate)
{
    char native[16];
    snprintf(native, sizeof native, "%s%.*s", native_prefix, SQLSTATE_BYTES, sqlstate);
    return err_native(err, 0, native);
}

/* The server's messages may have lines; a record's text is one. */
static void join_lines(const char *message, char *out, size_t size)
{
    snprintf(out, size, "%s", message);
    for (char *at = strpbrk(out, "\n\t"); at != NULL; at = strpbrk(at, "\n\t")) {
        *at = ' ';
    }
}

static bool is_sqlstate(const char *text)
{
    return strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == SQLSTATE_BYTES &&
           text[SQLSTATE_BYTES] == ':';
}

/* Of "FATAL:  28P01: password authentication failed": the code; NULL where there is none. */
static const char *find_sqlstate(const char *message)
{
    const char *at = strstr(message, ":  ");
    while (at != NULL && !is_sqlstate(at + 3)) {
        at = strstr(at + 3, ":  ");
    }
    return at != NULL ? at + 3 : NULL;
}

bool connection_error(const PGconn *conn, struct err *err)
{
    const char *message = PQerrorMessage(conn);
    if (message[0] == '\0') {
        message = "the connection is lost";
    }
    const char *sqlstate = find_sqlstate(message);
    if (sqlstate == NULL) {
        /* The lines behind the first are advice, or more of the same for other addresses. */
        return err_set(err, ERR_CODE_connection, "%.*s", (int)strcspn(message, "\n"), message);
    }
    /* Behind the code stand the server's own words, up to the end of their line. */
    const char *said = sqlstate + SQLSTATE_BYTES + 1;
    said += strspn(said, " ");
    err_set(err, ERR_CODE_connection, "the server refused the connection: %.*s",
            (int)strcspn(said, "\n"), said);
    return keep_sqlstate(err, sqlstate);
}

/* ---- what a refusal means ---- */

enum verdict { MAY_PASS, FINAL, MISTAKE };

/* By the SQLSTATE, or else by libpq's words, which are not translated, because dbsweep sets no
 * locale for messages. */
struct refusal {
    const char *sqlstate; /* how it begins; NULL: libpq itself gave up */
    const char *words;
    enum verdict verdict;
    const char *hint;
};

static const char hint_password[] = "the password comes from target.password_env, password_file, "
                                    "PGPASSWORD or ~/.pgpass";
static const char hint_connect[] = "mend target.connect: \"host=... port=... dbname=... user=...\"";
static const char hint_tls[] = "target.connect may name sslmode, sslrootcert, sslcert and sslkey; "
                               "the server needs ssl = on and a certificate";
static const char hint_down[] = "does the server run there, and does it listen on that address "
                                "and port? target.connect names them";

static const struct refusal refusals[] = {
    {"28P01", NULL, FINAL, hint_password},
    {"28", NULL, FINAL,
     "name a role that may log in from here in target.connect (user=...), or let it in with a line "
     "in the server's pg_hba.conf and a reload"},
    {"3D000", NULL, FINAL, "name a database that exists in target.connect (dbname=...)"},
    {"42501", NULL, FINAL, "grant connect on the database to the role of target.connect"},
    {"55000", NULL, FINAL, "name a database that takes connections in target.connect (dbname=...)"},
    {"53300", NULL, MAY_PASS, "end other sessions, or raise the server's max_connections"},
    {"57P03", NULL, MAY_PASS, "wait until the server has started"},
    {NULL, "no password supplied", FINAL, hint_password},
    {NULL, "fe_sendauth", FINAL, hint_password},
    {NULL, "invalid port number", MISTAKE, hint_connect},
    {NULL, "invalid integer value", MISTAKE, hint_connect},
    {NULL, "could not match", MISTAKE, hint_connect},
    {NULL, "definition of service", MISTAKE, hint_connect},
    {NULL, "service file", MISTAKE, hint_connect},
    {NULL, " value: \"", MISTAKE, hint_connect}, /* "invalid sslmode value: \"x\"" */
    {NULL, "does not support SSL", FINAL, hint_tls},
    {NULL, "ertificate", FINAL, hint_tls},
    {NULL, "SSL", MAY_PASS, hint_tls}, /* cut off in the middle, perhaps */
    {NULL, "could not translate host name", MAY_PASS, "does target.connect name the right host?"},
    {NULL, "Connection refused", MAY_PASS, hint_down},
    {NULL, "No such file or directory", MAY_PASS, hint_down},
    {NULL, "No route to host", MAY_PASS, hint_down},
};

static const struct refusal *find_refusal(const struct err *err)
{
    const char *sqlstate = connection_sqlstate(err);
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        const struct refusal *row = &refusals[i];
        bool is_it = row->sqlstate != NULL ? text_starts_with(sqlstate, row->sqlstate)
                                           : sqlstate[0] == '\0' && strstr(err->text, row->words);
        if (is_it) {
            return row;
        }
    }
    return NULL;
}

bool connection_is_final(const struct err *err)
{
    const struct refusal *refusal = find_refusal(err);
    return err->code == ERR_CODE_sweep_file ||
           ((err->code == ERR_CODE_connection || err->code == ERR_CODE_statement) &&
            refusal != NULL && refusal->verdict != MAY_PASS);
}

/* Of a connection that never was: with advice, and as a mistake of the sweep file where it is. */
static bool refuse(const PGconn *conn, struct err *err)
{
    connection_error(conn, err);
    const struct refusal *refusal = find_refusal(err);
    if (refusal == NULL) {
        return false;
    }
    if (refusal->verdict == MISTAKE) {
        struct err said = *err;
        err_set(err, ERR_CODE_sweep_file, "connect: %.600s", said.text);
    }
    return err_hint(err, "%s", refusal->hint);
}

/* As libpq decides whether a text is more than the name of a database. */
static bool has_options(const char *connect)
{
    return strchr(connect, '=') != NULL || text_starts_with(connect, "postgresql://") ||
           text_starts_with(connect, "postgres://");
}

/* libpq's complaint quotes the word that it stumbled over, which may be half a password. */
static bool may_hold_password(const char *connect)
{
    const char *user = strstr(connect, "://");
    const char *at = strchr(connect, '@');
    const char *colon = user != NULL ? strchr(user + 3, ':') : NULL;
    return strcasestr(connect, "pass") != NULL || (at != NULL && colon != NULL && colon < at);
}

bool connection_check(const char *connect, struct err *err)
{
    char *said = NULL;
    if (!has_options(connect)) {
        return true;
    }
    PQconninfoOption *options = PQconninfoParse(connect, &said);
    if (options != NULL) {
        PQconninfoFree(options);
        return true;
    }
    if (said == NULL) {
        return err_memory(err);
    }
    if (may_hold_password(connect)) {
        err_set(err, ERR_CODE_sweep_file, "connect is no connection string");
    } else {
        err_set(err, ERR_CODE_sweep_file, "connect: %.*s", (int)strcspn(said, "\n"), said);
    }
    PQfreemem(said);
    return err_hint(err, "%s", hint_connect);
}

bool connection_words_error(const struct connection_words *words, enum err_code code,
                            struct err *err)
{
    char text[MESSAGE_BYTES];
    join_lines(words->message, text, sizeof text);
    err_set(err, code, "%s", text);
    const char *advice = words->hint != NULL ? words->hint : words->detail;
    if (advice != NULL) {
        join_lines(advice, text, sizeof text);
        err_hint(err, "%s", text);
    }
    return words->sqlstate != NULL ? keep_sqlstate(err, words->sqlstate) : false;
}

bool connection_result_error(const PGresult *result, enum err_code code, struct err *err)
{
    const char *said = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const struct connection_words words = {
        .message = said != NULL ? said : PQresultErrorMessage(result),
        .detail = PQresultErrorField(result, PG_DIAG_MESSAGE_DETAIL),
        .hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT),
        .sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE)};
    return connection_words_error(&words, code, err);
}

bool connection_refuse_copy(int socket, struct err *err)
{
    shutdown(socket, SHUT_RDWR);
    err_set(err, ERR_CODE_statement, "COPY cannot be driven through a session");
    return err_hint(err, "use INSERT with several rows");
}

/* The connect string first, so that what stands behind it wins. */
static PGconn *start(const struct session_spec *spec)
{
    const char *keywords[] = {"dbname", "application_name", "client_encoding",
                              spec->password != NULL ? "password" : NULL, NULL};
    const char *values[] = {spec->connect, spec->application, "UTF8", spec->password, NULL};
    return PQconnectStartParams(keywords, values, 1);
}

static bool wait_for(const PGconn *conn, PostgresPollingStatusType wanted, int64_t deadline,
                     struct err *err)
{
    struct pollfd descriptor = {.fd = PQsocket(conn),
                                .events = wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT};
    while (true) {
        int ready = poll(&descriptor, 1, clock_left_ms(deadline));
        if (ready > 0) {
            return true;
        }
        if (ready < 0 && errno != EINTR) {
            return err_set_errno(err, ERR_CODE_connection, "waiting for a connection failed");
        }
        if (clock_passed(deadline)) {
            return err_set(err, ERR_CODE_timeout, "no connection to the server in time");
        }
    }
}

static bool finish(PGconn *conn, int64_t deadline, struct err *err)
{
    PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
    if (PQstatus(conn) == CONNECTION_BAD) {
        return refuse(conn, err);
    }
    while (wanted != PGRES_POLLING_OK) {
        if (wanted == PGRES_POLLING_FAILED) {
            return refuse(conn, err);
        }
        if (!wait_for(conn, wanted, deadline, err)) {
            return false;
        }
        wanted = PQconnectPoll(conn);
    }
    PQsetErrorVerbosity(conn, PQERRORS_DEFAULT);
    return PQsetnonblocking(conn, 1) == 0 || connection_error(conn, err);
}

bool connection_open(const struct session_spec *spec, int64_t deadline, PGconn **out,
                     struct err *err)
{
    if (!connection_check(spec->connect, err)) {
        return false;
    }
    PGconn *conn = start(spec);
    if (conn == NULL) {
        return err_memory(err);
    }
    PQsetErrorVerbosity(conn, PQERRORS_VERBOSE);
    PQsetNoticeProcessor(conn, ignore_notice, NULL);
    if (!finish(conn, deadline, err)) {
        PQfinish(conn);
        return false;
    }
    *out = conn;
    return true;
}

const char *connection_library(void)
{
    static char name[32];
    int version = PQlibVersion();
    snprintf(name, sizeof name, "libpq %d.%d", version / 10000, version % 10000);
    return name;
}
