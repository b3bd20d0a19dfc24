/*
 * Opening a connection of MariaDB Connector/C against a deadline. Its option files are read for
 * what the connect string does not say ([client] in ~/.my.cnf, where passwords stand), but not for
 * what a server could abuse or a trial must not have: files of this machine are never sent, and a
 * lost connection stays lost.
 */
#include "backends/mysql/connection.h"

#include <errmsg.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/base/text.h"

enum { WORDS_BYTES = 64 * 1024, MESSAGE_BYTES = 480, PORT_MAX = 65535 };

/* Of the server (mysqld_error.h): going down, and connections that it ended. */
enum { SERVER_SHUTDOWN = 1053, SERVER_KILLED = 1927, SERVER_ENDED = 3168, SERVER_IDLE = 4031 };

bool my_error_is_lost(int number)
{
    switch (number) {
    case CR_SERVER_GONE_ERROR:
    case CR_SERVER_LOST:
    case CR_SERVER_LOST_EXTENDED:
    case CR_CONNECTION_ERROR:
    case CR_CONN_HOST_ERROR:
    case SERVER_SHUTDOWN:
    case SERVER_KILLED:
    case SERVER_ENDED:
    case SERVER_IDLE:
        return true;
    default:
        return false;
    }
}

/* A record's text is one line. */
static bool fail(int number, const char *sqlstate, const char *message, enum err_code code,
                 struct err *err)
{
    char words[MESSAGE_BYTES];
    char native[16];
    snprintf(words, sizeof words, "%s",
             message[0] != '\0' ? message : "the connection is lost without a word");
    for (char *at = strpbrk(words, "\n\t"); at != NULL; at = strpbrk(at, "\n\t")) {
        *at = ' ';
    }
    err_set(err, my_error_is_lost(number) ? ERR_CODE_connection : code, "%s", words);
    snprintf(native, sizeof native, "SQLSTATE %.5s", sqlstate);
    return err_native(err, number, native);
}

bool my_error_of(MYSQL *mysql, enum err_code code, struct err *err)
{
    return fail((int)mysql_errno(mysql), mysql_sqlstate(mysql), mysql_error(mysql), code, err);
}

bool my_statement_error(MYSQL_STMT *statement, enum err_code code, struct err *err)
{
    return fail((int)mysql_stmt_errno(statement), mysql_stmt_sqlstate(statement),
                mysql_stmt_error(statement), code, err);
}

/* ---- what a refusal means ---- */

struct refusal {
    int number;
    bool is_final;
    const char *hint;
};

static const char hint_password[] = "the password comes from target.password_env, password_file "
                                    "or ~/.my.cnf; target.connect names the user";
static const char hint_down[] = "does the server run there, and does it listen on that address, "
                                "port or socket? target.connect names them";

static const char hint_locked[] = "ALTER USER ... ACCOUNT UNLOCK, or name another user";

/* Of the server (mysqld_error.h) and of the library (errmsg.h). */
static const struct refusal refusals[] = {
    {1044, true, "grant the user of target.connect rights on the database"},
    {1045, true, hint_password},
    {1698, true, hint_password},
    {1862, true, "the user's password has expired: give it a new one"},
    {3118, true, hint_locked},
    {4151, true, hint_locked},
    {1049, true, "name a database that exists in target.connect (dbname=...)"},
    {1129, true, "the server blocks this host after failed connections: FLUSH HOSTS there"},
    {1130, true, "let the user in from this host: create user ...@'host'"},
    {2059, true, "the user's authentication plugin is not here: give it another one"},
    {1040, false, "end other sessions, or raise the server's max_connections"},
    {CR_CONNECTION_ERROR, false, hint_down},
    {CR_CONN_HOST_ERROR, false, hint_down},
    {CR_UNKNOWN_HOST, false, "does target.connect name the right host?"},
};

static const struct refusal *find_refusal(const struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (refusals[i].number == err->native) {
            return &refusals[i];
        }
    }
    return NULL;
}

bool my_error_is_final(const struct err *err)
{
    const struct refusal *refusal = find_refusal(err);
    return err->code == ERR_CODE_usage ||
           (err->code == ERR_CODE_connection && refusal != NULL && refusal->is_final);
}

/* Of a connection that never was: with advice. */
static bool refuse(MYSQL *mysql, struct err *err)
{
    my_error_of(mysql, ERR_CODE_connection, err);
    const struct refusal *refusal = find_refusal(err);
    return refusal != NULL ? err_hint(err, "%s", refusal->hint) : false;
}

/* ---- the connect string ---- */

struct word {
    const char *name;
    const char **value;
};

/* One value from *at on, unquoted; NULL where its quote has no end or memory ends. */
static const char *take_value(const char **at, struct arena *arena)
{
    struct text text;
    const char *from = *at;
    bool is_quoted = *from == '\'';
    text_open(&text, arena);
    from += is_quoted;
    while (*from != '\0' && (is_quoted ? *from != '\'' : strchr(" \t\n", *from) == NULL)) {
        from += *from == '\\' && from[1] != '\0';
        text_add_char(&text, *from++);
    }
    if (is_quoted && *from++ != '\'') {
        return NULL;
    }
    *at = from;
    return text_done(&text);
}

static bool fail_word(const struct word *words, size_t count, const char *name, struct err *err)
{
    const char *names[16];
    if (text_equal_nocase(name, "password") || text_equal_nocase(name, "passwd")) {
        err_set(err, ERR_CODE_usage, "a password has no place in the connect string");
        return err_hint(err, "use password_env, password_file or ~/.my.cnf");
    }
    err_set(err, ERR_CODE_usage, "the connect string has an unknown word \"%.60s\"", name);
    assert(count <= COUNT_OF(names));
    for (size_t i = 0; i < count; i++) {
        names[i] = words[i].name;
    }
    const char *near = text_nearest(name, names, count);
    return near != NULL ? err_hint(err, "did you mean \"%s\"?", near)
                        : err_hint(err, "host, port, user, dbname, socket, ssl_ca, defaults_file");
}

static bool take_word(const char **at, const struct word *words, size_t count, struct arena *arena,
                      struct err *err)
{
    size_t size = strcspn(*at, "= \t\n");
    const char *name = arena_strndup(arena, *at, size);
    if (name == NULL) {
        return err_memory(err);
    }
    *at += size;
    *at += strspn(*at, " \t\n");
    if (**at != '=') {
        return err_set(err, ERR_CODE_usage, "the connect string has no \"=\" after \"%.60s\"",
                       name);
    }
    *at += 1;
    *at += strspn(*at, " \t\n");
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].name, name) == 0) {
            *words[i].value = take_value(at, arena);
            return *words[i].value != NULL ||
                   err_set(err, ERR_CODE_usage, "the connect string has a quote without an end");
        }
    }
    return fail_word(words, count, name, err);
}

bool connect_words_parse(const char *connect, struct arena *arena, struct connect_words *out,
                         struct err *err)
{
    *out = (struct connect_words){0};
    const struct word words[] = {
        {"host", &out->host},       {"port", &out->port},
        {"user", &out->user},       {"dbname", &out->dbname},
        {"database", &out->dbname}, {"socket", &out->socket},
        {"ssl_ca", &out->ssl_ca},   {"defaults_file", &out->defaults_file}};
    const char *at = connect != NULL ? connect : "";
    while (true) {
        at += strspn(at, " \t\n");
        if (*at == '\0') {
            break;
        }
        if (!take_word(&at, words, COUNT_OF(words), arena, err)) {
            return false;
        }
    }
    if (out->port != NULL) {
        int64_t port = 0;
        if (!units_parse_int(out->port, &port, err) || port < 1 || port > PORT_MAX) {
            return err_set(err, ERR_CODE_usage, "the connect string's port is no port: \"%.40s\"",
                           out->port);
        }
        out->port_number = (unsigned)port;
    }
    return true;
}

/* ---- opening ---- */

static void set_options(MYSQL *mysql, const struct connect_words *words,
                        const struct session_spec *spec)
{
    mysql_options(mysql, MYSQL_OPT_NONBLOCK, NULL);
    mysql_options(mysql, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    if (words->defaults_file == NULL) {
        mysql_options(mysql, MYSQL_READ_DEFAULT_GROUP, "dbsweep");
    } else if (words->defaults_file[0] != '\0') {
        mysql_options(mysql, MYSQL_READ_DEFAULT_FILE, words->defaults_file);
        mysql_options(mysql, MYSQL_READ_DEFAULT_GROUP, "dbsweep");
    }
    if (words->ssl_ca != NULL) {
        const my_bool yes = 1;
        mysql_options(mysql, MYSQL_OPT_SSL_CA, words->ssl_ca);
        mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    }
    if (spec->application != NULL) {
        mysql_options4(mysql, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", spec->application);
    }
}

/* After connecting, because option files are read while it connects. */
static void harden(MYSQL *mysql)
{
    const my_bool no = 0;
    const unsigned off = 0;
    mysql_options(mysql, MYSQL_OPT_RECONNECT, &no);
    mysql_options(mysql, MYSQL_OPT_LOCAL_INFILE, &off);
}

static short events_of(int status)
{
    return (short)(((status & MYSQL_WAIT_READ) != 0 ? POLLIN : 0) |
                   ((status & MYSQL_WAIT_WRITE) != 0 ? POLLOUT : 0) |
                   ((status & MYSQL_WAIT_EXCEPT) != 0 ? POLLPRI : 0));
}

/* Waits for what the library waits for; what came, as its _cont functions take it. */
static bool wait_for(MYSQL *mysql, int status, int64_t deadline, int *out, struct err *err)
{
    struct pollfd descriptor = {.fd = mysql_get_socket(mysql), .events = events_of(status)};
    while (true) {
        int left_ms = clock_left_ms(deadline);
        bool has_timeout = (status & MYSQL_WAIT_TIMEOUT) != 0;
        int library_ms = has_timeout ? (int)mysql_get_timeout_value_ms(mysql) : -1;
        bool is_library = library_ms >= 0 && (left_ms < 0 || library_ms < left_ms);
        int ready = poll(&descriptor, 1, is_library ? library_ms : left_ms);
        if (ready > 0) {
            *out =
                ((descriptor.revents & (POLLIN | POLLHUP | POLLERR)) != 0 ? MYSQL_WAIT_READ : 0) |
                ((descriptor.revents & POLLOUT) != 0 ? MYSQL_WAIT_WRITE : 0) |
                ((descriptor.revents & POLLPRI) != 0 ? MYSQL_WAIT_EXCEPT : 0);
            return true;
        }
        if (ready == 0 && is_library) {
            *out = MYSQL_WAIT_TIMEOUT;
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

static bool finish(MYSQL *mysql, const struct connect_words *words, const char *password,
                   int64_t deadline, struct err *err)
{
    MYSQL *connected = NULL;
    int status = mysql_real_connect_start(&connected, mysql, words->host, words->user, password,
                                          words->dbname, words->port_number, words->socket,
                                          CLIENT_FOUND_ROWS);
    while (status != 0) {
        int came = 0;
        if (!wait_for(mysql, status, deadline, &came, err)) {
            return false;
        }
        status = mysql_real_connect_cont(&connected, mysql, came);
    }
    return connected != NULL || refuse(mysql, err);
}

/* Before any two threads need it at once. */
static void start_library(void)
{
    mysql_library_init(0, NULL, NULL);
}

bool my_connect(const struct session_spec *spec, int64_t deadline, MYSQL **out, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    CLEANUP(arena_close) struct arena scratch;
    struct connect_words words;
    arena_open(&scratch, WORDS_BYTES);
    if (!connect_words_parse(spec->connect, &scratch, &words, err)) {
        return false;
    }
    pthread_once(&once, start_library);
    MYSQL *mysql = mysql_init(NULL);
    if (mysql == NULL) {
        return err_memory(err);
    }
    set_options(mysql, &words, spec);
    if (!finish(mysql, &words, spec->password, deadline, err)) {
        mysql_close(mysql);
        return false;
    }
    harden(mysql);
    *out = mysql;
    return true;
}

const char *my_library(void)
{
    static char name[48];
    snprintf(name, sizeof name, "MariaDB Connector/C %s", mysql_get_client_info());
    return name;
}
