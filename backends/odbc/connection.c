/*
 * Opening an ODBC connection, and what a driver says when something fails. The environment is made
 * once and lives as long as the program.
 */
#include <stdio.h>
#include <string.h>

#include "backends/odbc/client.h"
#include "sweeper/base/text.h"

enum { MESSAGE_BYTES = 600, CONNECT_BYTES = 16 * 1024, SQLSTATE_BYTES = 5 };
static const char native_prefix[] = "SQLSTATE ";
static SQLHENV environment = SQL_NULL_HENV;

static void make_environment(void)
{
    SQLHENV made = SQL_NULL_HENV;
    if (!SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_ENV, SQL_NULL_HANDLE, &made))) {
        return;
    }
    if (SQL_SUCCEEDED(SQLSetEnvAttr(made, SQL_ATTR_ODBC_VERSION, (SQLPOINTER)SQL_OV_ODBC3, 0))) {
        environment = made;
    } else {
        SQLFreeHandle(SQL_HANDLE_ENV, made);
    }
}

/* ---- errors ---- */

const char *odbc_sqlstate(const struct err *err)
{
    size_t prefix = sizeof native_prefix - 1;
    return strncmp(err->native_text, native_prefix, prefix) == 0 ? err->native_text + prefix : "";
}

/* "[unixODBC][Driver][Server-10.11]ERROR: no such table;\nError while ..." -> "no such table" */
static void tidy(char *message)
{
    const char *from = message;
    while (from[0] == '[' && strchr(from, ']') != NULL) {
        from = strchr(from, ']') + 1;
        from += strspn(from, " ");
    }
    from += text_starts_with(from, "ERROR:") ? strlen("ERROR:") : 0;
    from += strspn(from, " ");
    size_t size = strcspn(from, "\r\n");
    while (size > 0 && (from[size - 1] == ';' || from[size - 1] == ' ')) {
        size--;
    }
    memmove(message, from, size);
    message[size] = '\0';
}

bool odbc_error(SQLSMALLINT type, SQLHANDLE handle, enum err_code code, struct err *err)
{
    SQLCHAR state[SQLSTATE_BYTES + 1] = "";
    SQLCHAR message[MESSAGE_BYTES] = "";
    SQLINTEGER native = 0;
    SQLSMALLINT size = 0;
    char kind[16];
    if (!SQL_SUCCEEDED(
            SQLGetDiagRec(type, handle, 1, state, &native, message, sizeof message, &size))) {
        return err_set(err, code, "the ODBC driver failed and does not say why");
    }
    tidy((char *)message);
    err_set(err, code, "%s", (const char *)message);
    snprintf(kind, sizeof kind, "%s%.5s", native_prefix, (const char *)state);
    return err_native(err, (int)native, kind);
}

/* ---- the connect string ---- */

/* "Key =" at the start or behind a semicolon. */
static bool names_key(const char *connect, const char *key)
{
    for (const char *at = connect; at != NULL; at = strchr(at, ';')) {
        at += strspn(at, "; \t");
        const char *behind = at + strlen(key);
        if (strncasecmp(at, key, strlen(key)) == 0 && behind[strspn(behind, " \t")] == '=') {
            return true;
        }
    }
    return false;
}

/* Braces keep a value whole that holds what has a meaning; a closing one is written twice. */
static void add_password(struct text *out, const char *password)
{
    bool is_plain = password[strcspn(password, "[]{}(),;?*=!@ ")] == '\0';
    text_add(out, is_plain ? ";PWD=" : ";PWD={");
    for (const char *at = password; *at != '\0'; at++) {
        text_add_char(out, *at);
        if (*at == '}') {
            text_add_char(out, '}');
        }
    }
    text_add(out, is_plain ? "" : "}");
}

static SQLULEN seconds_left(int64_t deadline)
{
    int left_ms = clock_left_ms(deadline);
    return left_ms < 0 ? 0 : (SQLULEN)(left_ms / 1000 + (left_ms % 1000 != 0 || left_ms == 0));
}

static void add_unless_named(struct text *out, const char *connect, const char *key,
                             const char *value)
{
    if (!names_key(connect, key)) {
        text_addf(out, ";%s=%s", key, value);
    }
}

/* What the known drivers of a dialect do on their own is no part of the workload: a savepoint
 * before each statement (psqlodbc), texts in another encoding (MySQL and MariaDB), 100 seconds of
 * waiting for a lock that cannot come free (SQLite). MariaDB's waits for the greeting of a server
 * without end, whatever the login timeout, but for this key. */
static const char *write_connect(const struct session_spec *spec, enum dialect dialect,
                                 int64_t deadline, struct arena *arena)
{
    struct text out;
    char limit_s[24];
    snprintf(limit_s, sizeof limit_s, "%lu", (unsigned long)seconds_left(deadline));
    text_open(&out, arena);
    text_add(&out, spec->connect);
    switch (dialect) {
    case DIALECT_POSTGRESQL:
        add_unless_named(&out, spec->connect, "Protocol", "7.4-0");
        break;
    case DIALECT_MYSQL:
        add_unless_named(&out, spec->connect, "CHARSET", "utf8mb4");
        add_unless_named(&out, spec->connect, "CONN_TIMEOUT", limit_s);
        break;
    case DIALECT_SQLITE:
        add_unless_named(&out, spec->connect, "Timeout", "1000");
        if (spec->must_exist) {
            add_unless_named(&out, spec->connect, "NoCreat", "1");
        }
        break;
    case DIALECT_OTHER:
        break;
    }
    if (spec->password != NULL) {
        add_password(&out, spec->password);
    }
    return text_done(&out);
}

/* ---- connecting ---- */

static bool refuse(SQLHDBC connection, int64_t deadline, struct err *err)
{
    odbc_error(SQL_HANDLE_DBC, connection, ERR_CODE_connection, err);
    const char *state = odbc_sqlstate(err);
    struct err said = *err;
    if (text_starts_with(state, "HYT") || clock_passed(deadline)) {
        err_set(err, ERR_CODE_timeout, "no connection through ODBC in time: %.500s", said.text);
        return err_native(err, said.native, said.native_text);
    }
    if (text_starts_with(state, "IM") || strstr(said.text, "Can't open lib") != NULL) {
        err_set(err, ERR_CODE_unsupported, "%s", said.text);
        err_native(err, said.native, said.native_text);
        return err_hint(err, "name a driver that is installed (odbcinst -q -d) or a DSN: "
                             "\"Driver=...;Server=...;Database=...\"");
    }
    return err_hint(err, "see the keys of the ODBC driver for its connection string; a password "
                         "comes from password_env or password_file");
}

static bool refuse_password(const char *connect, struct err *err)
{
    if (!names_key(connect, "PWD") && !names_key(connect, "PASSWORD")) {
        return true;
    }
    err_set(err, ERR_CODE_usage, "a password has no place in the connection string");
    return err_hint(err, "use password_env or password_file");
}

static bool start(SQLHDBC connection, const char *connect, int64_t deadline, struct err *err)
{
    uintptr_t limit_s = seconds_left(deadline);
    union {
        const char *in;
        SQLCHAR *out;
    } text = {.in = connect}; /* ODBC does not know const */
    if (strlen(connect) >= CONNECT_BYTES) {
        return err_set(err, ERR_CODE_usage, "the connection string is too long");
    }
    (void)SQLSetConnectAttr(connection, SQL_ATTR_LOGIN_TIMEOUT, (SQLPOINTER)limit_s,
                            SQL_IS_UINTEGER);
    return SQL_SUCCEEDED(SQLDriverConnect(connection, NULL, text.out, SQL_NTS, NULL, 0, NULL,
                                          SQL_DRIVER_NOPROMPT)) ||
           refuse(connection, deadline, err);
}

bool odbc_connect(const struct session_spec *spec, enum dialect dialect, int64_t deadline,
                  SQLHDBC *out, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct arena arena;
    SQLHDBC connection = SQL_NULL_HDBC;
    if (!refuse_password(spec->connect, err)) {
        return false;
    }
    (void)pthread_once(&once, make_environment);
    if (environment == SQL_NULL_HENV ||
        !SQL_SUCCEEDED(SQLAllocHandle(SQL_HANDLE_DBC, environment, &connection))) {
        return err_set(err, ERR_CODE_unsupported, "the ODBC driver manager does not start");
    }
    arena_open(&arena, 2 * (size_t)CONNECT_BYTES);
    const char *connect = write_connect(spec, dialect, deadline, &arena);
    bool ok = connect != NULL ? start(connection, connect, deadline, err) : err_memory(err);
    arena_close(&arena);
    if (!ok) {
        SQLFreeHandle(SQL_HANDLE_DBC, connection);
        return false;
    }
    *out = connection;
    return true;
}

void odbc_disconnect(SQLHDBC connection)
{
    (void)SQLDisconnect(connection);
    (void)SQLFreeHandle(SQL_HANDLE_DBC, connection);
}
