/*
 * What several keys of the sweep file decide together: names and folders, backend, passwords,
 * workload, labels, strategy, what is ranked by and how.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/sweepfile_node.h"

/* The line of a group's key, or of the group, for errors about their value. */
static int line_of(const struct node *group, const char *key)
{
    const struct node *node = node_find(group, key);
    return node != NULL ? node->line : group != NULL ? group->line : 1;
}

/* A name that no array holds: one of a part to come, or a typing error. */
static bool fail_name(const struct reader *reader, int line, const char *what, const char *name,
                      const char *const *later, const char *near)
{
    for (; *later != NULL; later++) {
        if (strcmp(*later, name) == 0) {
            reader_fail(reader, line, "%s \"%s\" is not available in this version", what, name);
            reader->err->code = ERR_CODE_unsupported;
            return err_hint(reader->err, "README.md lists what is not done yet");
        }
    }
    reader_fail(reader, line, "there is no %s \"%.60s\"", what, name);
    return reader_suggest(reader, near);
}

/* ---- the sweep itself ---- */

/* A file's name may have 255 bytes, and the store's gets endings. */
enum { NAME_LIMIT_BYTES = 200 };

static bool is_file_name(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        if (*at == '/' || iscntrl((unsigned char)*at)) {
            return false;
        }
    }
    return name[0] != '\0' && strlen(name) <= NAME_LIMIT_BYTES;
}

/* Results never go over the sweep file, or into what is no file; a store need not exist yet. */
static bool check_store(const struct reader *reader, int line)
{
    struct stat store;
    struct stat file;
    const char *path = reader->sweep->store_path;
    if (!reader->is_file || stat(path, &store) != 0) {
        return true;
    }
    bool is_itself = stat(reader->path, &file) == 0 && file.st_dev == store.st_dev &&
                     file.st_ino == store.st_ino;
    if (S_ISREG(store.st_mode) && !is_itself) {
        return true;
    }
    reader_fail(reader, line, "the store %.200s is %s", path,
                is_itself ? "the sweep file itself" : "not a file");
    return err_hint(reader->err, "name another: store = \"results.db\"");
}

static bool set_names(const struct reader *reader, const struct node *root)
{
    struct sweep *sweep = reader->sweep;
    const char *slash = strrchr(reader->path, '/');
    const char *base = slash != NULL ? slash + 1 : reader->path;
    const char *dot = strrchr(base, '.');
    if (sweep->name == NULL) {
        sweep->name = arena_strndup(
            reader->arena, base, dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base));
    }
    if (sweep->name == NULL) {
        return err_memory(reader->err);
    }
    if (!is_file_name(sweep->name)) {
        reader_fail(reader, line_of(root, "name"), "a sweep cannot be named \"%.60s\"",
                    sweep->name);
        return err_hint(reader->err,
                        "its store is named after it: up to %d bytes, without / and "
                        "control characters",
                        NAME_LIMIT_BYTES);
    }
    if (sweep->store_path == NULL) {
        sweep->store_path = arena_printf(reader->arena, "%s/%s.db", reader->folder, sweep->name);
    }
    return sweep->store_path != NULL ? check_store(reader, line_of(root, "store"))
                                     : err_memory(reader->err);
}

static bool read_labels(const struct reader *reader, const struct node *group)
{
    struct sweep *sweep = reader->sweep;
    if (group == NULL) {
        return true;
    }
    if (!node_is_group(reader, group)) {
        return false;
    }
    sweep->labels = ARENA_ARRAY(reader->arena, struct label, group->child_count);
    if (sweep->labels == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < group->child_count; i++) {
        const struct node *label = &group->children[i];
        if (!node_is_text(reader, label)) {
            return false;
        }
        sweep->labels[sweep->label_count++] =
            (struct label){.name = label->name, .value = label->text};
    }
    return true;
}

/* ---- target ---- */

static bool set_backend(const struct reader *reader, const struct node *target)
{
    static const char *const later[] = {"informix", "domino", "maxdb", "command", NULL};
    struct sweep *sweep = reader->sweep;
    int line = line_of(target, "backend");
    if (sweep->target.backend == NULL) {
        reader_fail(reader, line, "target.backend is missing");
        return err_hint(reader->err, "it is the kind of server: backend = \"postgresql\";");
    }
    sweep->backend = backend_find(sweep->target.backend);
    if (sweep->backend == NULL) {
        return fail_name(reader, line, "backend", sweep->target.backend, later,
                         backend_nearest(sweep->target.backend));
    }
    if (strcmp(sweep->target.apply, "drop-in") == 0) {
        reader_fail(reader, line_of(target, "apply"),
                    "apply = \"drop-in\" is not available in this version");
        reader->err->code = ERR_CODE_unsupported;
        return err_hint(reader->err, "use \"edit\"");
    }
    /* The connection of an embedded database is the path of its file. */
    static const struct key_row path = {.key = "connect", .type = KEY_PATH};
    return !sweep->backend->embedded || sweep->target.connect == NULL ||
           key_set(&path, reader->folder, sweep->target.connect, &sweep->target.connect,
                   reader->arena, reader->err) ||
           reader_at(reader, line_of(target, "connect"));
}

static bool check_commands(const struct reader *reader, const struct node *target)
{
    const struct target_spec *spec = &reader->sweep->target;
    if ((spec->stop == NULL) == (spec->start == NULL)) {
        return true;
    }
    reader_fail(reader, line_of(target, spec->stop != NULL ? "stop" : "start"),
                "target.%s without target.%s", spec->stop != NULL ? "stop" : "start",
                spec->stop != NULL ? "start" : "stop");
    return err_hint(reader->err, "give both, or target.restart alone");
}

/* "password = x", in any case, after anything: sslpassword is one too. */
static bool names_password(const char *connect)
{
    static const char *const words[] = {"password", "passwd", "pwd"};
    for (const char *at = connect; *at != '\0'; at++) {
        for (size_t i = 0; i < COUNT_OF(words); i++) {
            const char *behind = at + strlen(words[i]);
            if (strncasecmp(at, words[i], strlen(words[i])) == 0 &&
                behind[strspn(behind, " \t")] == '=') {
                return true;
            }
        }
    }
    return false;
}

/* "scheme://user:x@host" */
static bool has_url_password(const char *connect)
{
    const char *user = strstr(connect, "://");
    if (user == NULL) {
        return false;
    }
    user += 3;
    size_t size = strcspn(user, "/?#");
    const char *colon = memchr(user, ':', size);
    return colon != NULL && memchr(colon, '@', size - (size_t)(colon - user)) != NULL;
}

static bool refuse_password(const struct reader *reader, const struct node *target, const char *key,
                            const char *connect)
{
    if (connect == NULL || (!names_password(connect) && !has_url_password(connect))) {
        return true;
    }
    reader_fail(reader, line_of(target, key), "a password never stands in the sweep file");
    return err_hint(reader->err,
                    "take it out of %s; use password_env, password_file or "
                    "the client library's own file",
                    key);
}

static bool check_session(const struct reader *reader, const struct node *target)
{
    const struct sweep *sweep = reader->sweep;
    bool is_odbc = strcmp(sweep->target.session, "odbc") == 0;
    if (is_odbc && sweep->backend->embedded) {
        reader_fail(reader, line_of(target, "session"),
                    "%s is set up by its own connection, not through ODBC", sweep->backend->title);
        return err_hint(reader->err, "leave session out");
    }
    if (is_odbc && sweep->target.session_connect == NULL) {
        reader_fail(reader, line_of(target, "session"),
                    "session = \"odbc\" without session_connect");
        return err_hint(reader->err, "session_connect = \"Driver=...;Server=...\"; or \"DSN=...\"");
    }
    return is_odbc || sweep->target.session_connect == NULL ||
           reader_fail(reader, line_of(target, "session_connect"),
                       "session_connect without session = \"odbc\"");
}

const char *sweepfile_session_connect(const struct sweep *sweep)
{
    const struct target_spec *target = &sweep->target;
    return target->session_connect != NULL ? target->session_connect : target->connect;
}

static bool set_password(const struct reader *reader, const struct node *target)
{
    struct sweep *sweep = reader->sweep;
    if ((!sweep->backend->embedded &&
         !refuse_password(reader, target, "connect", sweep->target.connect)) ||
        !refuse_password(reader, target, "session_connect", sweep->target.session_connect)) {
        return false;
    }
    if (sweep->password_env != NULL && sweep->password_file != NULL) {
        return reader_fail(reader, line_of(target, "password_file"),
                           "both password_env and password_file are given");
    }
    return sweepfile_password(sweep->password_env, sweep->password_file, reader->arena,
                              &sweep->target.password, reader->err) ||
           reader_at(reader, line_of(target, sweep->password_env != NULL ? "password_env"
                                                                         : "password_file"));
}

/* What stands there is of another machine: neither this folder nor this home has a meaning. */
static bool check_remote(const struct reader *reader, const struct node *target)
{
    static const char *const paths[] = {"config", "data_directory", "log"};
    const struct sweep *sweep = reader->sweep;
    if (sweep->host.ssh == NULL) {
        return true;
    }
    if (sweep->backend->embedded) {
        reader_fail(reader, line_of(target, "host"),
                    "%s works in this program, on files of this machine: it has no host",
                    sweep->backend->title);
        return err_hint(reader->err, "run dbsweep on that machine");
    }
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const struct node *path = node_find(target, paths[i]);
        if (path != NULL && path->text[0] != '/') {
            reader_fail(reader, path->line,
                        "target.%s is on another machine: \"%.120s\" has no "
                        "folder to start from",
                        paths[i], path->text);
            return err_hint(reader->err, "write the whole path, from / on");
        }
    }
    return true;
}

static bool read_target(const struct reader *reader, const struct node *root)
{
    const struct node *target = node_find(root, "target");
    if (target == NULL) {
        reader_fail(reader, 1, "target is missing");
        return err_hint(reader->err, "target = { backend = \"postgresql\"; connect = \"...\"; };");
    }
    if (!read_section(reader, "target", target) ||
        !read_section(reader, "target.host", node_find(target, "host"))) {
        return false;
    }
    reader->sweep->has_host = node_find(target, "host") != NULL;
    return set_backend(reader, target) && read_replay(reader, target) &&
           check_remote(reader, target) && check_commands(reader, target) &&
           check_session(reader, target) && set_password(reader, target);
}

/* ---- workload ---- */

static bool read_workload(const struct reader *reader, const struct node *root)
{
    static const char *const later[] = {NULL};
    const struct sweep *sweep = reader->sweep;
    const struct node *group = node_find(root, "workload");
    if (sweep->backend->measure != NULL) {
        return read_replay_workload(reader, group);
    }
    if (group == NULL) {
        reader_fail(reader, 1, "workload is missing");
        return err_hint(reader->err, "workload = { kind = \"oltp\"; };");
    }
    if (!read_section(reader, "workload", group) ||
        !read_load_hosts(reader, node_find(group, "load_hosts")) ||
        !read_metrics(reader, node_find(group, "metrics")) ||
        !check_expect(reader, node_find(group, "expect"))) {
        return false;
    }
    const char *kind = sweep->workload.kind;
    if (kind == NULL) {
        reader_fail(reader, group->line, "workload.kind is missing");
        return err_hint(reader->err,
                        "kind = \"oltp\"; or \"tpcc\", \"insert\", \"script\" or \"command\"");
    }
    if (!workload_kind_exists(kind)) {
        return fail_name(reader, line_of(group, "kind"), "workload", kind, later,
                         workload_nearest_kind(kind));
    }
    if (strcmp(kind, "command") != 0 && sweep->backend->session == NULL) {
        reader_fail(reader, line_of(group, "kind"), "%s has no SQL session for the workload %s",
                    sweep->backend->title, kind);
        return err_hint(reader->err, "use kind = \"command\"");
    }
    bool is_right =
        strcmp(kind, "script") == 0
            ? read_script_workload(reader, group)
            : workload_check_spec(&sweep->workload, reader->err) || reader_at(reader, group->line);
    return is_right && check_load_hosts(reader, node_find(group, "load_hosts"));
}

/* ---- strategy ---- */

static bool read_strategy(const struct reader *reader, const struct node *root)
{
    static const char *const none[] = {NULL};
    struct strategy_spec *spec = &reader->sweep->strategy;
    const struct node *node = node_find(root, "strategy");
    bool is_short = node != NULL && node->kind == NODE_TEXT;
    if (!read_section(reader, "strategy", is_short ? NULL : node)) {
        return false;
    }
    if (is_short) {
        spec->kind = node->text;
    }
    /* A backend that measures by itself has a time of its own. */
    if (reader->sweep->backend->measure == NULL) {
        spec->planned_ms = load_warm_up_limit_ms(&reader->sweep->workload) +
                           load_window_ms(&reader->sweep->workload) +
                           reader->sweep->between.settle_ms + SWEEP_RESTART_GUESS_MS;
    }
    return strategy_find(spec->kind) != NULL ||
           fail_name(reader, line_of(node, "kind"), "strategy", spec->kind, none,
                     strategy_nearest(spec->kind));
}

/* ---- rank and guard ---- */

struct metric_check {
    const struct reader *reader;
    int line;
};

/* A command gives what is searched for in its output. */
static bool check_metric(void *context, const char *name, struct err *err)
{
    const struct metric_check *check = context;
    const struct reader *reader = check->reader;
    const char *kind = reader->sweep->workload.kind;
    const char *near = NULL;
    const char *replayed = reader->sweep->target.replay.metric;
    if (strcmp(kind, "command") == 0 || workload_gives_metric(kind, name, &near) ||
        (replayed != NULL && strcmp(replayed, name) == 0)) {
        return true;
    }
    reader_fail(reader, check->line, "the workload %s gives no metric %.60s", kind, name);
    return near != NULL ? reader_suggest(reader, near)
                        : err_hint(err, "it gives throughput_per_s, p99_ms and others");
}

/* Any metric: each is a number. */
static bool some_number(void *context, const char *name, struct rule_value *out, struct err *err)
{
    (void)context;
    (void)name;
    (void)err;
    *out = (struct rule_value){.kind = RULE_NUMBER, .number = 1.0625};
    return true;
}

/* A limit must be a truth over metrics that will be there, found out before the night. */
static bool check_under(const struct reader *reader, const struct node *rank)
{
    struct metric_check check = {.reader = reader, .line = line_of(rank, "under")};
    struct rule *rule = NULL;
    int truth = -1;
    if (reader->sweep->rank.under[0] == '\0') {
        return true;
    }
    if (!rule_parse(reader->sweep->rank.under, reader->arena, &rule, reader->err) ||
        !rule_names(rule, check_metric, &check, reader->err) ||
        !rule_truth(rule, some_number, NULL, &truth, reader->err)) {
        return reader_at(reader, check.line);
    }
    if (rule_has_unit(rule)) {
        reader_fail(reader, check.line, "a number in rank.under has a unit");
        return err_hint(reader->err, "metrics are plain numbers in the unit that their name tells: "
                                     "p99_ms < 50");
    }
    return true;
}

/* By what its user thought of first; a command that is only timed has nothing else, and HammerDB
 * counts New-Orders. */
static void set_rank_of_command(struct sweep *sweep)
{
    const struct workload_spec *workload = &sweep->workload;
    if (workload->metric_count > 0) {
        sweep->rank.by = workload->metrics[0].name;
    } else if (strcmp(workload->preset, "time") == 0) {
        sweep->rank.by = "elapsed_s";
    } else if (strcmp(workload->preset, "hammerdb") == 0) {
        sweep->rank.by = "notpm";
    }
}

/* Of a named metric as it says itself, of others by their name. */
const char *metric_better(const struct sweep *sweep, const char *by)
{
    const struct replay_spec *replay = &sweep->target.replay;
    if (replay->better != NULL && replay->metric != NULL && strcmp(replay->metric, by) == 0) {
        return replay->better;
    }
    for (size_t i = 0; i < sweep->workload.metric_count; i++) {
        if (strcmp(sweep->workload.metrics[i].name, by) == 0) {
            return sweep->workload.metrics[i].better;
        }
    }
    bool is_cost = text_ends_with(by, "_ms") || text_ends_with(by, "error_pct") ||
                   (text_ends_with(by, "_s") && !text_ends_with(by, "per_s"));
    return is_cost ? "lower" : "higher";
}

static bool read_rank(const struct reader *reader, const struct node *root)
{
    struct sweep *sweep = reader->sweep;
    const struct node *rank = node_find(root, "rank");
    struct metric_check check = {.reader = reader, .line = line_of(rank, "by")};
    if (!read_section(reader, "rank", rank)) {
        return false;
    }
    if (strcmp(sweep->workload.kind, "command") == 0 && node_find(rank, "by") == NULL) {
        set_rank_of_command(sweep);
    }
    if (strcmp(sweep->workload.kind, "insert") == 0 && node_find(rank, "by") == NULL) {
        sweep->rank.by = "rows_per_s";
    }
    if (sweep->target.replay.metric != NULL && node_find(rank, "by") == NULL) {
        sweep->rank.by = sweep->target.replay.metric;
    }
    if (sweep->rank.better == NULL) {
        sweep->rank.better = metric_better(sweep, sweep->rank.by);
    }
    sweep->strategy.is_geomean = strcmp(sweep->rank.across, "geomean") == 0;
    return check_metric(&check, sweep->rank.by, reader->err) && check_under(reader, rank);
}

static bool check_guard_name(void *context, const char *name, struct err *err)
{
    (void)context;
    if (text_equal_nocase(name, "host.memory") || text_equal_nocase(name, "host.cpus")) {
        return true;
    }
    err_set(err, ERR_CODE_sweep_file, "\"%.60s\" has no meaning in guard.memory", name);
    return err_hint(err, "a size, a share such as \"0.9 * host.memory\", or \"off\"");
}

static bool read_guard(const struct reader *reader, const struct node *root)
{
    struct guard_spec *spec = &reader->sweep->guard;
    const struct node *guard = node_find(root, "guard");
    struct rule *rule = NULL;
    bool truth = true;
    if (!read_section(reader, "guard", guard)) {
        return false;
    }
    if (value_truth_word(spec->memory, &truth) && !truth) {
        spec->memory = "off";
        return true;
    }
    return (rule_parse(spec->memory, reader->arena, &rule, reader->err) &&
            rule_names(rule, check_guard_name, NULL, reader->err)) ||
           reader_at(reader, line_of(guard, "memory"));
}

bool read_parts(const struct reader *reader, const struct node *root)
{
    return read_section(reader, "", root) && set_names(reader, root) &&
           read_labels(reader, node_find(root, "labels")) && read_target(reader, root) &&
           read_workload(reader, root) &&
           read_section(reader, "between", node_find(root, "between")) &&
           read_strategy(reader, root) && read_rank(reader, root) && read_guard(reader, root);
}
