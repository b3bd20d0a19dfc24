/*
 * Which file is edited. The sweep file may name the server's own by another path, or one that it
 * includes; a file that the server does not read would be edited for nothing. pg_file_settings
 * lists the files that set something; where the load user may not see it, an existing file is
 * taken on trust.
 */
#include <string.h>

#include "backends/postgresql/server.h"
#include "sweeper/base/text.h"

static const char files_statement[] =
    "select distinct sourcefile from pg_catalog.pg_file_settings where sourcefile is not null";

enum { FILE_LIMIT = 256 };
struct file_list {
    struct arena *arena;
    const char *paths[FILE_LIMIT];
    size_t count;
    bool failed;
};

static bool keep_file(void *context, const struct row *row)
{
    struct file_list *list = context;
    const char *path = arena_strndup(list->arena, row->columns[0].data, row->columns[0].size);
    list->failed = path == NULL;
    if (list->count < FILE_LIMIT && !list->failed) {
        list->paths[list->count++] = path;
    }
    return !list->failed;
}

/* Without its links; NULL where there is no such file. */
static bool real_path(struct server *server, const char *path, int64_t deadline, const char **out,
                      struct err *err)
{
    const char *const argv[] = {"readlink", "-e", "--", path, NULL};
    return host_ask(server->host, argv, deadline, server->arena, out, err);
}

static bool fail_missing(const char *asked, const char *config, struct err *err)
{
    err_set(err, ERR_CODE_not_found, "target.config: %s does not exist; the server reads %s", asked,
            config != NULL ? config : "another file");
    return err_hint(err, "leave config out: the server tells its own file");
}

static bool fail_unread(const char *asked, const char *config, struct err *err)
{
    err_set(err, ERR_CODE_unsupported,
            "target.config: the server does not read %s; its configuration begins in %s", asked,
            config);
    return err_hint(err, "leave config out; or include that file there and let it set something, "
                         "then reload the server");
}

/* The server's spelling of the file, because pg_settings.sourcefile shows that; NULL where it
 * is none of the files; asked itself where the list is hidden. */
static bool find_included(struct server *server, struct session *session, const char *asked,
                          const char *real, int64_t deadline, const char **out, struct err *err)
{
    struct file_list *list = ARENA_NEW(server->arena, struct file_list);
    if (list == NULL) {
        return err_memory(err);
    }
    list->arena = server->arena;
    *out = NULL;
    if (!session_execute(session, files_statement, keep_file, list, deadline, err)) {
        bool is_hidden = strcmp(err->native_text, "SQLSTATE 42501") == 0;
        if (!is_hidden) {
            return err_while(err, "reading pg_file_settings");
        }
        err_clear(err);
        *out = asked;
        return true;
    }
    if (list->failed) {
        return err_memory(err);
    }
    for (size_t i = 0; i < list->count && *out == NULL; i++) {
        const char *other = NULL;
        if (!real_path(server, list->paths[i], deadline, &other, err)) {
            return false;
        }
        *out = other != NULL && strcmp(other, real) == 0 ? list->paths[i] : NULL;
    }
    return true;
}

bool pg_config_take(struct server *server, struct session *session, const char *config,
                    int64_t deadline, struct err *err)
{
    const char *asked = server->spec->config;
    const char *real = NULL;
    const char *main = NULL;
    const char *included = NULL;
    pg_state_of(server)->edits_include = false;
    server->facts.config_path = config;
    if (asked == NULL || (config != NULL && strcmp(asked, config) == 0)) {
        return true;
    }
    if (!real_path(server, asked, deadline, &real, err) ||
        (config != NULL && !real_path(server, config, deadline, &main, err))) {
        return false;
    }
    if (real == NULL) {
        return fail_missing(asked, config, err);
    }
    if (main != NULL && strcmp(real, main) == 0) {
        return true;
    }
    pg_state_of(server)->edits_include = true;
    if (!find_included(server, session, asked, real, deadline, &included, err)) {
        return false;
    }
    server->facts.config_path = included;
    return included != NULL || fail_unread(asked, config != NULL ? config : "another file", err);
}
