/*
 * Who would beat an edit of the configuration file: another file read after it (an include further
 * down, postgresql.auto.conf), the command line, the environment, ALTER DATABASE and ALTER ROLE
 * (manual 15, 20.1.2 to 20.1.4). pg_file_settings lists every line in the order of reading; where
 * the load user may not see it, only what pg_settings tells is judged.
 */
#include <stdio.h>
#include <string.h>

#include "backends/postgresql/server.h"
#include "sweeper/base/text.h"

enum { FILE_NAME, FILE_PATH, FILE_LINE, FILE_COLUMN_COUNT };
static const char file_statement[] =
    "select name, sourcefile, sourceline from pg_catalog.pg_file_settings order by seqno";

/* For one knob: the last line in our file, and the last line elsewhere that comes later. */
struct last_line {
    bool is_in_config;
    const char *later; /* "FILE:LINE"; NULL none */
    bool is_auto_conf;
};

struct collector {
    const struct server *server;
    const struct setting *settings;
    size_t count;
    struct last_line *lines;
    struct arena *arena;
    bool failed;
};

static bool keep_line(struct collector *collector, struct last_line *line, const struct row *row)
{
    struct bytes path = row->columns[FILE_PATH];
    struct bytes number = row->columns[FILE_LINE];
    const char *main_file = collector->server->facts.config_path;
    if (main_file != NULL && bytes_are(path, main_file)) {
        *line = (struct last_line){.is_in_config = true};
        return true;
    }
    line->later = arena_printf(collector->arena, "%.*s:%.*s", (int)path.size, path.data,
                               (int)number.size, number.data);
    const char *file = arena_strndup(collector->arena, path.data, path.size);
    collector->failed = line->later == NULL || file == NULL;
    line->is_auto_conf = file != NULL && text_ends_with(file, "/postgresql.auto.conf");
    return !collector->failed;
}

static bool collect(void *context, const struct row *row)
{
    struct collector *collector = context;
    struct bytes name = row->columns[FILE_NAME];
    if (name.data == NULL || row->columns[FILE_PATH].data == NULL ||
        row->columns[FILE_LINE].data == NULL) {
        return true; /* a line that could not be read at all */
    }
    const char *text = arena_strndup(collector->arena, name.data, name.size);
    collector->failed = text == NULL;
    for (size_t i = 0; i < collector->count && !collector->failed; i++) {
        if (text_equal_nocase(text, collector->settings[i].knob->name) &&
            !keep_line(collector, &collector->lines[i], row)) {
            return false;
        }
    }
    return !collector->failed;
}

static bool read_lines(struct collector *collector, struct session *session, int64_t deadline,
                       struct err *err)
{
    if (!session_execute(session, file_statement, collect, collector, deadline, err)) {
        bool is_hidden = strcmp(err->native_text, "SQLSTATE 42501") == 0;
        if (is_hidden) {
            err_clear(err);
        }
        return is_hidden || err_while(err, "reading pg_file_settings");
    }
    return !collector->failed || err_memory(err);
}

/* A name that our file does not hold is appended to it: behind every include, if it is the main
 * one. */
static bool beats(const struct server *server, const struct last_line *line)
{
    return line->later != NULL &&
           (line->is_in_config || line->is_auto_conf || pg_state_of(server)->edits_include);
}

static void describe_line(struct text *text, const struct last_line *line, const char *name,
                          struct err *hint)
{
    text_addf(text, "%s%s is set in %s", text->size > 0 ? "; " : "", name, line->later);
    if (line->is_auto_conf) {
        err_hint(hint, "ALTER SYSTEM RESET %s, and write its value into the configuration file",
                 name);
    } else {
        err_hint(hint, "take it out of %s, which is read later", line->later);
    }
}

/* Empty where an edit of the file would show. */
static const char *layer_of(const struct reading *reading)
{
    switch (reading->source) {
    case SOURCE_COMMAND_LINE:
        return "the command line";
    case SOURCE_ENVIRONMENT:
        return "the server's environment";
    case SOURCE_SESSION:
        return "the connection's own options";
    case SOURCE_SQL:
        /* Of postgresql.auto.conf the file list has told, where it may be read. */
        return text_starts_with(reading->detail, "ALTER ") ? reading->detail : "";
    default:
        return "";
    }
}

static const char *remedy_of(const struct reading *reading)
{
    switch (reading->source) {
    case SOURCE_COMMAND_LINE:
        return "start the server without that option";
    case SOURCE_ENVIRONMENT:
        return "start the server without that variable";
    case SOURCE_SESSION:
        return "take it out of target.connect and PGOPTIONS";
    default:
        return "reset it there, or sweep as a user and database that have no settings of their "
               "own";
    }
}

static bool judge(const struct collector *collector, const struct reading *readings,
                  struct err *err)
{
    struct text text;
    struct err hint;
    text_open(&text, collector->arena);
    err_clear(&hint);
    for (size_t i = 0; i < collector->count; i++) {
        const char *name = collector->settings[i].knob->name;
        const char *layer = layer_of(&readings[i]);
        if (layer[0] != '\0') {
            text_addf(&text, "%s%s is set by %s", text.size > 0 ? "; " : "", name, layer);
            err_hint(&hint, "%s", remedy_of(&readings[i]));
        } else if (beats(collector->server, &collector->lines[i])) {
            describe_line(&text, &collector->lines[i], name, &hint);
        }
    }
    const char *all = text_done(&text);
    if (all == NULL) {
        return err_memory(err);
    }
    if (all[0] == '\0') {
        return true;
    }
    const char *config = collector->server->facts.config_path;
    err_set(err, ERR_CODE_overridden, "%s; an edit of %s would not show", all,
            config != NULL ? config : "the configuration file");
    return err_hint(err, "%s", hint.hint);
}

bool pg_overrides(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    CLEANUP(pg_control_close) struct session *session = NULL;
    arena_open(&scratch, PG_SCRATCH_BYTES);
    struct collector collector = {
        .server = server, .settings = settings, .count = setting_count, .arena = &scratch};
    struct reading *readings = ARENA_ARRAY(&scratch, struct reading, setting_count + 1);
    collector.lines = ARENA_ARRAY(&scratch, struct last_line, setting_count + 1);
    if (readings == NULL || collector.lines == NULL) {
        return err_memory(err);
    }
    return pg_read_back(server, settings, setting_count, deadline, &scratch, readings, err) &&
           pg_control_open(server, deadline, &session, err) &&
           pg_role_refuse(server, session, deadline, &scratch, err) &&
           read_lines(&collector, session, deadline, err) && judge(&collector, readings, err) &&
           pg_pending_refuse(session, settings, readings, setting_count, deadline, &scratch, err);
}
