/*
 * The option files that the server reads, in its order: the default ones or those of its command
 * line, and what they include, folders by name. MySQL promises no order within a folder; it is
 * read the same way here.
 */
#include <stdio.h>
#include <string.h>

#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

enum { DEPTH_LIMIT = 10, DEFAULT_LIMIT = 10, WORLD_WRITABLE = 0002 };

struct walk {
    struct server *server;
    int64_t deadline;
    struct arena *arena;
    my_file_visitor visit;
    void *context;
    bool has_ended;
};

static bool walk_file(struct walk *walk, const char *path, bool must_exist, int depth,
                      struct err *err);

/* ---- which file is ours ---- */

static bool real_path(const struct server *server, const char *path, int64_t deadline,
                      struct arena *arena, const char **out, struct err *err)
{
    const char *const argv[] = {"readlink", "-f", "--", path, NULL};
    return host_ask(server->host, argv, deadline, arena, out, err);
}

static void remember_path(struct server *server, const char *path, bool is_config)
{
    struct my_state *state = my_state_of(server);
    const char *copy = arena_strdup(server->arena, path);
    if (copy != NULL && state->path_count < MY_PATH_LIMIT) {
        state->paths[state->path_count++] = (struct my_path){.path = copy, .is_config = is_config};
    }
}

bool my_is_config(struct server *server, const char *path, int64_t deadline, bool *out,
                  struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    const struct my_state *state = my_state_of(server);
    const char *config = server->facts.config_path;
    const char *first = NULL;
    const char *second = NULL;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    *out = config != NULL && strcmp(config, path) == 0;
    if (*out || config == NULL) {
        return true;
    }
    for (size_t i = 0; i < state->path_count; i++) {
        if (strcmp(state->paths[i].path, path) == 0) {
            *out = state->paths[i].is_config;
            return true;
        }
    }
    if (!real_path(server, config, deadline, &scratch, &first, err) ||
        !real_path(server, path, deadline, &scratch, &second, err)) {
        return false;
    }
    *out = first != NULL && second != NULL && strcmp(first, second) == 0;
    remember_path(server, path, *out);
    return true;
}

/* ---- the walk ---- */

/* What an includedir takes, each name with a newline. */
static bool list_folder(const struct walk *walk, const char *folder, const char **out,
                        struct err *err)
{
    static const char script[] = "LC_ALL=C; export LC_ALL; cd -- \"$1\" && ls -1a | "
                                 "while IFS= read -r name; do case $name in *.cnf)"
                                 " if [ -f \"$name\" ]; then printf '%s\\n' \"$name\"; fi ;;"
                                 " esac; done";
    const char *const argv[] = {"/bin/sh", "-c", script, "dbsweep", folder, NULL};
    return host_ask(walk->server->host, argv, walk->deadline, walk->arena, out, err);
}

static bool walk_folder(struct walk *walk, const char *folder, int depth, struct err *err)
{
    const char *names = NULL;
    if (!list_folder(walk, folder, &names, err)) {
        return false;
    }
    for (const char *name = names != NULL ? names : ""; *name != '\0' && !walk->has_ended;) {
        size_t size = strcspn(name, "\n");
        bool has_slash = folder[0] != '\0' && folder[strlen(folder) - 1] == '/';
        const char *path =
            arena_printf(walk->arena, "%s%s%.*s", folder, has_slash ? "" : "/", (int)size, name);
        if (path == NULL) {
            return err_memory(err);
        }
        if (!walk_file(walk, path, true, depth + 1, err)) {
            return false;
        }
        name += size + (name[size] == '\n');
    }
    return true;
}

static bool follow(struct walk *walk, const struct option_line *line, int depth, struct err *err)
{
    if (line->kind != OPTION_INCLUDE && line->kind != OPTION_INCLUDEDIR) {
        return true;
    }
    const char *path = arena_strndup(walk->arena, line->name.data, line->name.size);
    if (path == NULL) {
        return err_memory(err);
    }
    return line->kind == OPTION_INCLUDE ? walk_file(walk, path, false, depth + 1, err)
                                        : walk_folder(walk, path, depth, err);
}

static bool walk_lines(struct walk *walk, struct my_file_line *seen, int depth, struct err *err)
{
    for (size_t i = 0; i < seen->file->count && !walk->has_ended; i++) {
        seen->line = &seen->file->lines[i];
        if (!seen->is_ignored && !follow(walk, seen->line, depth, err)) {
            return false;
        }
        walk->has_ended = walk->has_ended || !walk->visit(walk->context, seen);
    }
    seen->line = NULL;
    walk->has_ended = walk->has_ended || !walk->visit(walk->context, seen);
    return true;
}

static bool walk_file(struct walk *walk, const char *path, bool must_exist, int depth,
                      struct err *err)
{
    struct bytes bytes = {0};
    struct host_file found = {0};
    struct option_file file;
    struct my_file_line seen = {.path = path, .file = &file};
    if (depth > DEPTH_LIMIT) {
        return true; /* the server goes no deeper either */
    }
    if (!host_get(walk->server->host, path, walk->deadline, walk->arena, &bytes, &found, err)) {
        if (err->code == ERR_CODE_not_found && !must_exist) {
            err_clear(err);
            return true;
        }
        return err_while(err, "reading the server's option files");
    }
    seen.is_ignored = (found.mode & WORLD_WRITABLE) != 0;
    return my_is_config(walk->server, path, walk->deadline, &seen.is_config, err) &&
           option_file_parse(bytes, path, walk->arena, &file, err) &&
           walk_lines(walk, &seen, depth, err);
}

/* ---- where it begins ---- */

static size_t default_files(const struct my_state *state, struct arena *arena,
                            const char *out[DEFAULT_LIMIT])
{
    size_t count = 0;
    if (state->has_no_defaults) {
        return 0;
    }
    if (state->defaults_file != NULL) {
        out[count++] = state->defaults_file;
        return count;
    }
    out[count++] = "/etc/my.cnf";
    out[count++] = "/etc/mysql/my.cnf";
    out[count++] = "/usr/etc/my.cnf";
    out[count++] = "/usr/local/mysql/etc/my.cnf";
    if (state->mysql_home != NULL) {
        out[count++] = arena_printf(arena, "%s/my.cnf", state->mysql_home);
    }
    if (state->defaults_extra_file != NULL) {
        out[count++] = state->defaults_extra_file;
    }
    if (state->home != NULL) {
        out[count++] = arena_printf(arena, "%s/.my.cnf", state->home);
    }
    return count;
}

bool my_files_walk(struct server *server, int64_t deadline, struct arena *arena,
                   my_file_visitor visit, void *context, struct err *err)
{
    struct walk walk = {
        .server = server, .deadline = deadline, .arena = arena, .visit = visit, .context = context};
    const char *paths[DEFAULT_LIMIT] = {0};
    size_t count = default_files(my_state_of(server), arena, paths);
    for (size_t i = 0; i < count && !walk.has_ended; i++) {
        if (paths[i] == NULL) {
            return err_memory(err);
        }
        if (!walk_file(&walk, paths[i], false, 0, err)) {
            return false;
        }
    }
    return true;
}

/* ---- the file to edit ---- */

struct last_file {
    const struct option_groups *groups;
    char path[1024];
};

static bool is_shared(struct bytes group)
{
    static const struct option_groups shared = {.names = {"client-server", "galera"}, .count = 2};
    return option_groups_hold(&shared, group);
}

static bool note_file(void *context, const struct my_file_line *seen)
{
    struct last_file *last = context;
    const struct option_line *line = seen->line;
    if (line != NULL && line->kind == OPTION_GROUP && !seen->is_ignored &&
        option_groups_hold(last->groups, line->group) && !is_shared(line->group)) {
        snprintf(last->path, sizeof last->path, "%s", seen->path);
    }
    return true;
}

bool my_find_config(struct server *server, int64_t deadline, const char **out, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct last_file last = {.groups = &my_state_of(server)->groups};
    arena_open(&scratch, MY_SCRATCH_BYTES);
    if (!my_files_walk(server, deadline, &scratch, note_file, &last, err)) {
        return false;
    }
    *out = last.path[0] != '\0' ? arena_strdup(server->arena, last.path)
                                : my_state_of(server)->defaults_file;
    return *out != NULL || last.path[0] == '\0' || err_memory(err);
}
