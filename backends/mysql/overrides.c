/*
 * Who else has a say: replicas, clusters and sources; and who would beat an edit of the option
 * file: a line further down in another file, mysqld-auto.cnf, the command line, a value set by
 * SET GLOBAL that no file holds.
 */
#include <stdio.h>
#include <string.h>

#include "backends/mysql/mysql.h"
#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

/* For one knob: where it stands or would stand in our file, and who sets it behind that. */
struct place {
    size_t line_number;
    bool is_known;
    const char *later; /* "FILE:LINE"; NULL none */
};

struct collector {
    const struct server *server;
    const struct setting *settings;
    size_t count;
    struct place *places;
    struct arena *arena;
    bool has_config; /* the server reads our file */
    bool is_config_ignored;
    bool failed;
    bool is_refused; /* our file cannot be edited: err says why */
    struct err *err;
};

/* What an edit of our file would stumble over, before anything is touched. */
static bool try_edit(struct collector *collector, const struct my_file_line *seen)
{
    struct bytes ignored = {0};
    struct setting *settings = ARENA_ARRAY(collector->arena, struct setting, collector->count + 1);
    if (settings == NULL) {
        collector->failed = true;
        return false;
    }
    for (size_t i = 0; i < collector->count; i++) {
        settings[i] =
            (struct setting){.knob = collector->settings[i].knob, .value = {.kind = VALUE_UNSET}};
    }
    collector->is_refused =
        !option_render(seen->file->bytes, seen->path, &my_state_of(collector->server)->groups,
                       settings, collector->count, collector->arena, &ignored, collector->err);
    return !collector->is_refused;
}

static void see_config(struct collector *collector, const struct my_file_line *seen)
{
    const struct option_groups *groups = &my_state_of(collector->server)->groups;
    collector->has_config = true;
    collector->is_config_ignored = seen->is_ignored;
    for (size_t i = 0; i < collector->count; i++) {
        struct place *place = &collector->places[i];
        bool is_set = false;
        if (!place->is_known) {
            place->line_number =
                option_place(seen->file, groups, collector->settings[i].knob->name, &is_set);
            place->is_known = true;
        }
        bool is_there =
            seen->line != NULL ? seen->line->number == place->line_number : place->line_number == 0;
        if (is_there) {
            place->later = NULL;
        }
    }
}

static void see_other(struct collector *collector, const struct my_file_line *seen)
{
    const struct option_line *line = seen->line;
    if (seen->is_ignored || line == NULL || line->kind != OPTION_SETTING ||
        !option_groups_hold(&my_state_of(collector->server)->groups, line->group)) {
        return;
    }
    for (size_t i = 0; i < collector->count; i++) {
        if (option_match(line->name, collector->settings[i].knob->name) != OPTION_OTHER) {
            collector->places[i].later =
                arena_printf(collector->arena, "%s:%zu", seen->path, line->number);
            collector->failed = collector->failed || collector->places[i].later == NULL;
        }
    }
}

static bool collect(void *context, const struct my_file_line *seen)
{
    struct collector *collector = context;
    if (seen->is_config) {
        see_config(collector, seen);
        return seen->line != NULL || try_edit(collector, seen);
    }
    see_other(collector, seen);
    return !collector->failed;
}

static bool judge_config(const struct collector *collector, struct err *err)
{
    const char *config = collector->server->facts.config_path;
    if (!collector->has_config && my_state_of(collector->server)->has_words) {
        err_set(err, ERR_CODE_overridden, "the server does not read %s", config);
        return err_hint(err, "name the file that it reads: target = { config = \"/path\"; }");
    }
    if (collector->is_config_ignored) {
        err_set(err, ERR_CODE_overridden, "the server ignores %s, because anybody may write it",
                config);
        return err_hint(err, "chmod o-w %s", config);
    }
    return true;
}

/* Empty where an edit of the file would show. */
static const char *layer_of(const struct reading *reading)
{
    bool is_layer = reading->source == SOURCE_COMMAND_LINE ||
                    reading->source == SOURCE_ENVIRONMENT || reading->source == SOURCE_SQL;
    return is_layer ? reading->detail : "";
}

static const char *remedy_of(const struct reading *reading, const char *name, struct arena *arena)
{
    switch (reading->source) {
    case SOURCE_COMMAND_LINE:
        return "start the server without that option";
    case SOURCE_ENVIRONMENT:
        return "start the server without that variable";
    default:
        if (text_starts_with(reading->detail, "init_connect")) {
            return "sessions of the load user would not see the swept values: take it out of"
                   " init_connect, or name a user that it does not apply to";
        }
        return text_starts_with(reading->detail, "mysqld-auto.cnf")
                   ? arena_printf(arena,
                                  "RESET PERSIST %s, and write its value into the option"
                                  " file",
                                  name)
                   : "that value ends with the next restart: write it into the option file if it"
                     " is to stay, and restart the server";
    }
}

static bool judge(const struct collector *collector, const struct reading *readings,
                  struct err *err)
{
    struct text text;
    const char *hint = NULL;
    const char *config = collector->server->facts.config_path;
    text_open(&text, collector->arena);
    for (size_t i = 0; i < collector->count; i++) {
        const char *name = collector->settings[i].knob->name;
        const char *layer = layer_of(&readings[i]);
        const char *later = collector->places[i].later;
        if (layer[0] != '\0') {
            text_addf(&text, "%s%s is set by %s", text.size > 0 ? "; " : "", name, layer);
            hint = remedy_of(&readings[i], name, collector->arena);
        } else if (later != NULL) {
            text_addf(&text, "%s%s is set in %s", text.size > 0 ? "; " : "", name, later);
            hint = arena_printf(collector->arena, "take it out of %s, which is read later", later);
        }
    }
    const char *all = text_done(&text);
    if (all == NULL) {
        return err_memory(err);
    }
    if (all[0] == '\0') {
        return true;
    }
    err_set(err, ERR_CODE_overridden, "%s; an edit of %s would not show", all, config);
    return hint != NULL ? err_hint(err, "%s", hint) : false;
}

/* ---- whose server it is ---- */

/* A sweep restarts its server again and again and changes its settings. */
static const struct {
    const char *statement;
    const char *finding;
} roles[] = {
    {"show all slaves status", "the server is a replica"}, /* MariaDB: of every name */
    {"show replica status", "the server is a replica"},    /* MySQL 8.0.22 and later */
    {"show slave status", "the server is a replica"},      /* MySQL before 8.4 */
    {"select 1 from information_schema.processlist where command like 'Binlog Dump%' limit 1",
     "replicas follow this server"},
    {"select 1 from performance_schema.processlist where command like 'Binlog Dump%' limit 1",
     "replicas follow this server"}, /* information_schema's goes away */
    {"select 1 from performance_schema.replication_group_members where member_state <> 'OFFLINE'"
     " limit 1",
     "the server is a member of a replication group"},
    {"show global status where variable_name = 'wsrep_cluster_size' and value > 0",
     "the server is a node of a Galera cluster"},
    /* MariaDB: what a user who may see neither of the above is told */
    {"show global status where variable_name = 'slaves_running' and value > 0",
     "the server is a replica"},
    {"show global status where variable_name = 'slaves_connected' and value > 0",
     "replicas follow this server"},
    {"select 1 from dual where @@global.read_only", "the server is read-only"},
};

static bool note_row(void *context, const struct row *row UNUSED)
{
    bool *has_rows = context;
    *has_rows = true;
    return false;
}

static bool judge_role(struct session *session, int64_t deadline, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(roles); i++) {
        bool has_rows = false;
        if (!session_execute(session, roles[i].statement, note_row, &has_rows, deadline, err)) {
            if (mysql_session.classify(session, err) != SESSION_WRONG) {
                return err_while(err, "asking for the server's role");
            }
            err_clear(err); /* not this user's to know */
        }
        if (has_rows) {
            err_set(err, ERR_CODE_unsupported, "%s", roles[i].finding);
            return err_hint(err, "sweep a server of its own, made from a copy of the data");
        }
    }
    return true;
}

bool my_overrides(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    CLEANUP(my_control_close) struct session *session = NULL;
    arena_open(&scratch, MY_SCRATCH_BYTES);
    struct collector collector = {.server = server,
                                  .settings = settings,
                                  .count = setting_count,
                                  .arena = &scratch,
                                  .err = err};
    struct reading *readings = ARENA_ARRAY(&scratch, struct reading, setting_count + 1);
    collector.places = ARENA_ARRAY(&scratch, struct place, setting_count + 1);
    if (readings == NULL || collector.places == NULL) {
        return err_memory(err);
    }
    if (!my_control_open(server, deadline, &session, err) || !judge_role(session, deadline, err) ||
        !my_read_back(server, settings, setting_count, deadline, &scratch, readings, err) ||
        !my_files_walk(server, deadline, &scratch, collect, &collector, err)) {
        return false;
    }
    if (collector.failed) {
        return err_memory(err);
    }
    return !collector.is_refused && judge_config(&collector, err) &&
           judge(&collector, readings, err) &&
           my_pending_refuse(server, session, settings, readings, setting_count, deadline, &scratch,
                             err);
}
