/*
 * The one array of backends. A new kind of server is a folder and a line here; the conformance
 * suite in tests/conform then runs over it.
 */
#include "backends/backend.h"

#include <string.h>

#include "backends/mysql/mysql.h"
#include "backends/odbc/odbc.h"
#include "backends/postgresql/postgresql.h"
#include "backends/replay/replay.h"
#include "backends/sqlite/sqlite.h"
#include "sweeper/base/text.h"

const struct backend *const backends[] = {
    &sqlite_backend,
    &postgresql_backend,
    &mysql_backend,
    &replay_backend,
};
const size_t backend_count = COUNT_OF(backends);

const struct backend *backend_find(const char *name)
{
    for (size_t i = 0; i < backend_count; i++) {
        if (strcmp(backends[i]->name, name) == 0) {
            return backends[i];
        }
    }
    return NULL;
}

const char *backend_nearest(const char *name)
{
    const char *names[COUNT_OF(backends)];
    for (size_t i = 0; i < backend_count; i++) {
        names[i] = backends[i]->name;
    }
    return text_nearest(name, names, backend_count);
}

const struct session_driver *backend_session(const struct backend *backend, const char *name)
{
    const struct session_driver *own = backend->session;
    bool is_odbc = name != NULL && strcmp(name, "odbc") == 0;
    return is_odbc ? odbc_session(own != NULL ? own->dialect : DIALECT_OTHER) : own;
}

const char *source_kind_name(enum source_kind kind)
{
    static const char *const names[] = {
        [SOURCE_UNKNOWN] = "unknown",
        [SOURCE_DEFAULT] = "default",
        [SOURCE_CONFIG] = "config",
        [SOURCE_OTHER_FILE] = "other-file",
        [SOURCE_SQL] = "sql",
        [SOURCE_COMMAND_LINE] = "command-line",
        [SOURCE_ENVIRONMENT] = "environment",
        [SOURCE_AUTO] = "auto",
        [SOURCE_SESSION] = "session",
        [SOURCE_DATA] = "data",
    };
    assert((size_t)kind < COUNT_OF(names));
    return names[kind];
}

static void check_session(const struct session_driver *driver UNUSED)
{
    assert(driver->open != NULL && driver->close != NULL);
    assert(driver->prepare != NULL && driver->send != NULL && driver->send_text != NULL);
    assert(driver->begin != NULL && driver->commit != NULL && driver->rollback != NULL);
    assert(driver->pump != NULL && driver->rows != NULL && driver->affected != NULL);
    assert(driver->classify != NULL && driver->socket != NULL && driver->cancel != NULL);
    assert(driver->bulk_open != NULL && driver->bulk_row != NULL && driver->bulk_close != NULL);
}

void backends_check(void)
{
    for (size_t i = 0; i < backend_count; i++) {
        const struct backend *backend = backends[i];
        assert(backend->name != NULL && backend->title != NULL && backend->system != NULL);
        assert(backend->open != NULL && backend->close != NULL && backend->probe != NULL);
        assert(backend->stop != NULL && backend->start != NULL && backend->ready != NULL);
        assert(backend->read_back != NULL);
        assert((backend->render != NULL) != (backend->apply != NULL));
        assert((backend->snapshot != NULL) == (backend->rollback != NULL));
        assert((backend->snapshot != NULL) == (backend->snapshot_drop != NULL));
        assert((backend->log_mark != NULL) == (backend->log_tail != NULL));
        if (backend->session != NULL) {
            check_session(backend->session);
            check_session(odbc_session(backend->session->dialect));
        }
    }
}
