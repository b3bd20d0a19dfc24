/*
 * Reads a sweep file through libconfig and hands the rest of the parser a plain tree. The only
 * includer of libconfig.h. Numbers never reach libconfig (sweepfile_lex.c); keys are declared in
 * sweepfile.def and read in sweepfile_keys.c; axes, points and rules in sweepfile_axes.c.
 */
#include "sweeper/sweepfile.h"

#include <fcntl.h>
#include <libconfig.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/sweepfile_node.h"

enum { FILE_LIMIT_BYTES = 4 << 20, DEPTH_LIMIT = 16 };

const char *sweepfile_library_version(void)
{
    static char name[32];
    snprintf(name, sizeof name, "libconfig %d.%d.%d", LIBCONFIG_VER_MAJOR, LIBCONFIG_VER_MINOR,
             LIBCONFIG_VER_REVISION);
    return name;
}

bool node_err(const char *path, const struct node *node, struct err *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    err_set(err, ERR_CODE_sweep_file, "%s", text);
    return err_origin(err, "%s:%d", path, node->line);
}

const struct node *node_find(const struct node *group, const char *name)
{
    for (size_t i = 0; group != NULL && i < group->child_count; i++) {
        if (strcmp(group->children[i].name, name) == 0) {
            return &group->children[i];
        }
    }
    return NULL;
}

bool node_is_group(const char *path, const struct node *node, struct err *err)
{
    return node->kind == NODE_GROUP ||
           node_err(path, node, err, "%s must be a group: %s = { … };", node->name, node->name);
}

bool node_is_list(const char *path, const struct node *node, struct err *err)
{
    return node->kind == NODE_LIST ||
           node_err(path, node, err, "%s must be a list: %s = ( … ); or [ … ]", node->name,
                    node->name);
}

bool node_is_scalar(const char *path, const struct node *node, struct err *err)
{
    return node->kind == NODE_SCALAR || node->kind == NODE_BOOL ||
           node_err(path, node, err, "%s must be a single value",
                    node->name[0] != '\0' ? node->name : "this");
}

/* ---- libconfig's tree ---- */

static bool convert(const char *path, config_setting_t *setting, unsigned depth,
                    struct arena *arena, struct node *out, struct err *err)
{
    const char *name = config_setting_name(setting);
    out->name = arena_strdup(arena, name != NULL ? name : "");
    out->line = (int)config_setting_source_line(setting);
    if (out->name == NULL) {
        return err_memory(err);
    }
    if (depth > DEPTH_LIMIT) {
        return node_err(path, out, err, "the file is nested too deeply");
    }
    int type = config_setting_type(setting);
    if (type == CONFIG_TYPE_STRING) {
        out->kind = NODE_SCALAR;
        out->text = arena_strdup(arena, config_setting_get_string(setting));
        return out->text != NULL || err_memory(err);
    }
    if (type == CONFIG_TYPE_BOOL) {
        out->kind = NODE_BOOL;
        out->text = config_setting_get_bool(setting) ? "true" : "false";
        return true;
    }
    if (config_setting_is_aggregate(setting) == CONFIG_FALSE) {
        return node_err(path, out, err, "this kind of value is not understood");
    }
    out->kind = config_setting_is_group(setting) != CONFIG_FALSE ? NODE_GROUP : NODE_LIST;
    out->child_count = (size_t)config_setting_length(setting);
    out->children = ARENA_ARRAY(arena, struct node, out->child_count + 1);
    if (out->children == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < out->child_count; i++) {
        config_setting_t *child = config_setting_get_elem(setting, (unsigned)i);
        if (!convert(path, child, depth + 1, arena, &out->children[i], err)) {
            return false;
        }
    }
    return true;
}

static bool read_tree(const char *path, const char *text, struct arena *arena, struct node *root,
                      struct err *err)
{
    const char *safe = NULL;
    if (!sweepfile_lex(path, text, arena, &safe, err)) {
        return false;
    }
    config_t config;
    config_init(&config);
    bool ok = config_read_string(&config, safe) == CONFIG_TRUE;
    if (ok) {
        ok = convert(path, config_root_setting(&config), 0, arena, root, err);
    } else {
        err_set(err, ERR_CODE_sweep_file, "%s", config_error_text(&config));
        err_origin(err, "%s:%d", path, config_error_line(&config));
        err_hint(err, "see dbsweep(1) for the form of a sweep file");
    }
    config_destroy(&config);
    return ok;
}

/* ---- sections ---- */

static bool read_group(const char *path, const struct node *parent, const char *name,
                       const char *section, struct sweep *sweep, struct arena *arena,
                       struct err *err)
{
    const struct node *group = node_find(parent, name);
    return (group == NULL || node_is_group(path, group, err)) &&
           sweepfile_section(path, section, group, sweep, arena, err);
}

/* `strategy = "grid"` is short for `strategy = { kind = "grid"; }`. */
static bool read_strategy(const char *path, const struct node *root, struct sweep *sweep,
                          struct arena *arena, struct err *err)
{
    const struct node *node = node_find(root, "strategy");
    if (node != NULL && node->kind == NODE_SCALAR) {
        if (!sweepfile_section(path, "strategy", NULL, sweep, arena, err)) {
            return false;
        }
        sweep->strategy.kind = node->text;
    } else if (!read_group(path, root, "strategy", "strategy", sweep, arena, err)) {
        return false;
    }
    if (strategy_find(sweep->strategy.kind) != NULL) {
        return true;
    }
    const char *near = strategy_nearest(sweep->strategy.kind);
    node_err(path, node, err, "there is no strategy \"%s\"", sweep->strategy.kind);
    return err_hint(err, near != NULL ? "did you mean \"%s\"?" : "%s",
                    near != NULL ? near
                                 : "use auto, grid or "
                                   "random");
}

static bool read_labels(const char *path, const struct node *root, struct sweep *sweep,
                        struct arena *arena, struct err *err)
{
    const struct node *group = node_find(root, "labels");
    if (group == NULL) {
        return true;
    }
    if (!node_is_group(path, group, err)) {
        return false;
    }
    sweep->labels = ARENA_ARRAY(arena, struct label, group->child_count + 1);
    if (sweep->labels == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < group->child_count; i++) {
        const struct node *label = &group->children[i];
        if (!node_is_scalar(path, label, err)) {
            return false;
        }
        sweep->labels[sweep->label_count++] =
            (struct label){.name = label->name, .value = label->text};
    }
    return true;
}

static bool read_metrics(const char *path, const struct node *workload, struct sweep *sweep,
                         struct arena *arena, struct err *err)
{
    const struct node *list = node_find(workload, "metrics");
    if (list == NULL) {
        return true;
    }
    if (!node_is_list(path, list, err)) {
        return false;
    }
    sweep->workload.metrics = ARENA_ARRAY(arena, struct load_metric_spec, list->child_count + 1);
    if (sweep->workload.metrics == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < list->child_count; i++) {
        const struct node *group = &list->children[i];
        const struct node *name = node_find(group, "name");
        const struct node *regex = node_find(group, "regex");
        const struct node *better = node_find(group, "better");
        if (group->kind != NODE_GROUP || name == NULL || regex == NULL || better == NULL ||
            group->child_count != 3) {
            return node_err(path, group, err,
                            "a metric is { name = \"…\"; regex = \"…\"; better = \"higher\"; }");
        }
        if (strcmp(better->text, "higher") != 0 && strcmp(better->text, "lower") != 0) {
            return node_err(path, better, err, "better is \"higher\" or \"lower\"");
        }
        sweep->workload.metrics[sweep->workload.metric_count++] = (struct load_metric_spec){
            .name = name->text, .regex = regex->text, .better = better->text};
    }
    return true;
}

/* ---- what depends on several keys ---- */

static bool set_names(const char *path, struct sweep *sweep, struct arena *arena, struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    if (sweep->name == NULL) {
        sweep->name = arena_strndup(
            arena, base, dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base));
    }
    if (sweep->name != NULL && sweep->store_path == NULL) {
        sweep->store_path = arena_printf(
            arena, "%.*s%s.db", slash != NULL ? (int)(slash - path) + 1 : 0, path, sweep->name);
    }
    return (sweep->name != NULL && sweep->store_path != NULL) || err_memory(err);
}

static bool set_backend(const char *path, const struct node *target, struct sweep *sweep,
                        struct err *err)
{
    const struct node *node = node_find(target, "backend");
    if (node == NULL) {
        err_set(err, ERR_CODE_sweep_file, "target.backend is missing");
        err_origin(err, "%s:%d", path, target->line);
        return err_hint(err, "name the kind of server: backend = \"postgresql\";");
    }
    sweep->backend = backend_find(sweep->target.backend);
    if (sweep->backend != NULL) {
        return true;
    }
    const char *near = backend_nearest(sweep->target.backend);
    node_err(path, node, err, "there is no backend \"%s\"", sweep->target.backend);
    return near == NULL ? false : err_hint(err, "did you mean \"%s\"?", near);
}

/* The metric that is ranked by, and which way is better. */
static void set_rank(const struct node *rank, struct sweep *sweep)
{
    const struct workload_spec *workload = &sweep->workload;
    if (node_find(rank, "by") == NULL && strcmp(workload->kind, "command") == 0) {
        sweep->rank.by =
            workload->metric_count > 0 ? workload->metrics[0].name
            : strcmp(workload->preset, "none") == 0 || strcmp(workload->preset, "time") == 0
                ? "elapsed_s"
                : sweep->rank.by;
    }
    if (sweep->rank.better != NULL) {
        return;
    }
    for (size_t i = 0; i < workload->metric_count; i++) {
        if (strcmp(workload->metrics[i].name, sweep->rank.by) == 0) {
            sweep->rank.better = workload->metrics[i].better;
            return;
        }
    }
    const char *by = sweep->rank.by;
    bool is_cost = (text_ends_with(by, "_ms") || text_ends_with(by, "_s") ||
                    text_ends_with(by, "error_pct")) &&
                   !text_ends_with(by, "per_s");
    sweep->rank.better = is_cost ? "lower" : "higher";
}

static bool set_password(const char *path, const struct node *target, struct sweep *sweep,
                         struct arena *arena, struct err *err)
{
    const struct node *connect = node_find(target, "connect");
    if (connect != NULL && connect->text != NULL && strstr(connect->text, "password") != NULL) {
        node_err(path, connect, err, "a password does not belong into the sweep file");
        return err_hint(err, "use password_env or password_file, or the client's own file");
    }
    return sweepfile_password(sweep->password_env, sweep->password_file, arena,
                              &sweep->target.password, err);
}

static bool check_workload(const char *path, const struct node *workload, struct sweep *sweep,
                           struct err *err)
{
    if (sweep->workload.kind == NULL) {
        err_set(err, ERR_CODE_sweep_file, "workload.kind is missing");
        err_origin(err, "%s:%d", path, workload->line);
        return err_hint(err, "kind = \"oltp\"; or kind = \"command\";");
    }
    if (!workload_kind_exists(sweep->workload.kind)) {
        const char *near = workload_nearest_kind(sweep->workload.kind);
        node_err(path, node_find(workload, "kind"), err, "there is no workload \"%s\"",
                 sweep->workload.kind);
        return near == NULL ? false : err_hint(err, "did you mean \"%s\"?", near);
    }
    if (!workload_check_spec(&sweep->workload, err)) {
        return err_origin(err, "%s:%d", path, workload->line);
    }
    bool is_command = strcmp(sweep->workload.kind, "command") == 0;
    if (!is_command && sweep->backend->session == NULL) {
        return node_err(path, workload, err, "backend %s has no SQL session for workload %s",
                        sweep->backend->name, sweep->workload.kind);
    }
    return true;
}

static bool need_group(const char *path, const struct node *root, const char *name,
                       const struct node **out, struct err *err)
{
    *out = node_find(root, name);
    if (*out == NULL) {
        err_set(err, ERR_CODE_sweep_file, "%s is missing", name);
        err_origin(err, "%s", path);
        return err_hint(err, "add %s = { … };", name);
    }
    return node_is_group(path, *out, err);
}

bool sweepfile_parse(const char *path, const char *text, struct arena *arena, struct sweep *out,
                     struct err *err)
{
    struct node root = {.kind = NODE_GROUP, .name = "", .line = 1};
    const struct node *target = NULL;
    const struct node *workload = NULL;
    *out =
        (struct sweep){.path = arena_strdup(arena, path), .file_text = arena_strdup(arena, text)};
    if (out->path == NULL || out->file_text == NULL) {
        return err_memory(err);
    }
    if (!read_tree(path, text, arena, &root, err) ||
        !sweepfile_section(path, "", &root, out, arena, err) ||
        !need_group(path, &root, "target", &target, err) ||
        !need_group(path, &root, "workload", &workload, err) ||
        !sweepfile_section(path, "target", target, out, arena, err) ||
        !read_group(path, target, "host", "host", out, arena, err) ||
        !sweepfile_section(path, "workload", workload, out, arena, err) ||
        !read_group(path, &root, "between", "between", out, arena, err) ||
        !read_group(path, &root, "rank", "rank", out, arena, err) ||
        !read_group(path, &root, "guard", "guard", out, arena, err) ||
        !read_strategy(path, &root, out, arena, err)) {
        return false;
    }
    out->has_host = node_find(target, "host") != NULL;
    if (!read_labels(path, &root, out, arena, err) ||
        !read_metrics(path, workload, out, arena, err) || !set_names(path, out, arena, err) ||
        !set_backend(path, target, out, err) || !check_workload(path, workload, out, err) ||
        !set_password(path, target, out, arena, err)) {
        return false;
    }
    set_rank(node_find(&root, "rank"), out);
    return sweepfile_axes(path, &root, out, arena, err);
}

/* ---- files ---- */

static bool slurp(const char *path, int file, size_t limit, struct arena *arena, char **out,
                  size_t *out_size, struct err *err)
{
    struct stat stat;
    if (fstat(file, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        err_set(err, ERR_CODE_not_found, "%s is not a regular file", path);
        return false;
    }
    if ((size_t)stat.st_size > limit) {
        return err_set(err, ERR_CODE_sweep_file, "%s is larger than %zu bytes", path, limit);
    }
    size_t size = (size_t)stat.st_size;
    char *text = arena_alloc(arena, size + 1);
    if (text == NULL) {
        return err_memory(err);
    }
    ssize_t got = read(file, text, size);
    if (got < 0) {
        return err_set_errno(err, ERR_CODE_not_found, "cannot read %s", path);
    }
    *out = text;
    *out_size = (size_t)got;
    return true;
}

bool sweepfile_read(const char *path, struct arena *arena, struct sweep *out, struct err *err)
{
    char *text = NULL;
    size_t size = 0;
    char *real = realpath(path, NULL);
    int file = real != NULL ? open(real, O_RDONLY | O_CLOEXEC | O_NOCTTY) : -1;
    if (file < 0) {
        err_set_errno(err, ERR_CODE_not_found, "cannot read the sweep file %s", path);
        free(real);
        return err_hint(err, "give the path of a sweep file; examples/ has some");
    }
    bool ok = slurp(path, file, FILE_LIMIT_BYTES, arena, &text, &size, err);
    close(file);
    const char *nul = ok ? memchr(text, '\0', size) : NULL;
    if (ok && nul != NULL) {
        ok = err_set(err, ERR_CODE_sweep_file, "%s holds a NUL byte: it is not text", path);
    }
    ok = ok && sweepfile_parse(real, text, arena, out, err);
    free(real);
    return ok;
}
