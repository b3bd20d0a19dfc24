/*
 * What the running server has: MariaDB's information_schema.SYSTEM_VARIABLES (type, choices, value,
 * origin and file of every variable), MySQL's performance_schema.variables_info (source and file),
 * and SHOW GLOBAL VARIABLES where neither is there. The server clamps what is out of range without
 * a word, so that its bounds are not taken over: what it made of a value is read back.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backends/mysql/mysql.h"
#include "backends/mysql/server.h"
#include "knobs/catalogue.h"
#include "sweeper/base/text.h"

/* In the order of the statements' columns. */
enum column {
    COLUMN_NAME,
    COLUMN_VALUE,
    COLUMN_ORIGIN,
    COLUMN_PATH,
    COLUMN_SESSION, /* of the connection that asks, which is the load user's */
    COLUMN_TYPE,
    COLUMN_CHOICES,
    COLUMN_ARGUMENT,
    COLUMN_SENTENCE,
    COLUMN_COUNT
};
static const char mariadb_statement[] =
    "select lower(variable_name), global_value, global_value_origin, global_value_path,"
    " session_value, variable_type, enum_value_list, command_line_argument, variable_comment"
    " from information_schema.system_variables where global_value_origin is not null";
/* The source is of the running value: what SET PERSIST or PERSIST_ONLY wrote since the start, and
 * will be there with the next one, shows in persisted_variables alone. */
static const char mysql_statement[] =
    "select lower(i.variable_name), g.variable_value,"
    " if(p.variable_name is not null and @@persisted_globals_load, 'PERSISTED', i.variable_source),"
    " i.variable_path, s.variable_value"
    " from performance_schema.variables_info i join performance_schema.global_variables g"
    " on g.variable_name = i.variable_name left join performance_schema.session_variables s"
    " on s.variable_name = i.variable_name left join performance_schema.persisted_variables p"
    " on p.variable_name = i.variable_name";
static const char plain_statement[] = "show global variables";

/* Options that MariaDB 10.6 and later accept and ignore ("was removed. It does nothing now").
 * Read off mariadbd 10.11.19, option by option. */
static const char *const ignored_options[] = {"innodb_adaptive_max_sleep_delay",
                                              "innodb_background_scrub_data_compressed",
                                              "innodb_buffer_pool_instances",
                                              "innodb_commit_concurrency",
                                              "innodb_concurrency_tickets",
                                              "innodb_file_format",
                                              "innodb_force_load_corrupted",
                                              "innodb_idle_flush_pct",
                                              "innodb_large_prefix",
                                              "innodb_locks_unsafe_for_binlog",
                                              "innodb_log_checksums",
                                              "innodb_log_compressed_pages",
                                              "innodb_log_files_in_group",
                                              "innodb_log_optimize_ddl",
                                              "innodb_page_cleaners",
                                              "innodb_replication_delay",
                                              "innodb_rollback_segments",
                                              "innodb_scrub_log",
                                              "innodb_stats_sample_pages",
                                              "innodb_sync_array_size",
                                              "innodb_thread_concurrency",
                                              "innodb_thread_sleep_delay",
                                              "innodb_undo_logs",
                                              "multi_range_count",
                                              "thread_concurrency",
                                              "timed_mutexes"};

struct found_variable {
    bool is_found;
    bool has_path;
    const char *columns[COLUMN_COUNT]; /* "" where null or not asked for */
};

struct collector {
    const struct knob *const *knobs;
    size_t count;
    struct found_variable *found;
    struct arena *arena;
    bool failed;
};

static bool is_synonym_of(struct bytes name, const char *knob)
{
    char copy[128];
    return bytes_text(name, copy, sizeof copy) && option_is_synonym(copy, knob);
}

static bool keep_row(struct collector *collector, struct found_variable *found,
                     const struct row *row)
{
    found->is_found = true;
    found->has_path = row->column_count > COLUMN_PATH && row->columns[COLUMN_PATH].data != NULL &&
                      row->columns[COLUMN_PATH].size > 0;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        bool is_there = i < row->column_count && row->columns[i].data != NULL;
        found->columns[i] =
            is_there ? arena_strndup(collector->arena, row->columns[i].data, row->columns[i].size)
                     : "";
        if (found->columns[i] == NULL) {
            collector->failed = true;
            return false;
        }
    }
    return true;
}

/* A variable by its own name goes before one by a synonym. */
static bool collect(void *context, const struct row *row)
{
    struct collector *collector = context;
    struct bytes name = row->columns[COLUMN_NAME];
    for (size_t i = 0; i < collector->count; i++) {
        struct found_variable *found = &collector->found[i];
        const char *knob = collector->knobs[i]->name;
        bool is_it =
            bytes_are_nocase(name, knob) || (!found->is_found && is_synonym_of(name, knob));
        if (is_it && !keep_row(collector, found, row)) {
            return false;
        }
    }
    return true;
}

/* ---- the row ---- */

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789-.")] == '\0';
}

/* "A,B" as "A|B": both servers part the words of an enum by commas. */
static const char *choices_of(const char *list, struct arena *arena)
{
    char *choices = arena_strdup(arena, list);
    for (char *at = choices; at != NULL && *at != '\0'; at++) {
        *at = (char)(*at == ',' ? '|' : *at);
    }
    return choices;
}

/* Of a knob that no catalogue knows: what the server says, or what its value looks like. */
static void guess_type(const struct found_variable *found, struct knob *knob)
{
    const char *type = found->columns[COLUMN_TYPE];
    bool truth = false;
    if (text_ends_with(type, "INT") || text_ends_with(type, "INT UNSIGNED")) {
        knob->type = KNOB_INTEGER;
    } else if (strcmp(type, "DOUBLE") == 0) {
        knob->type = KNOB_REAL;
    } else if (type[0] == '\0' && is_number(found->columns[COLUMN_VALUE])) {
        bool has_point = strchr(found->columns[COLUMN_VALUE], '.') != NULL;
        knob->type = has_point ? KNOB_REAL : KNOB_INTEGER;
    } else if (type[0] == '\0' && !is_number(found->columns[COLUMN_VALUE]) &&
               value_truth_word(found->columns[COLUMN_VALUE], &truth)) {
        knob->type = KNOB_BOOL;
    }
}

/* Only words are the server's to say: they differ between versions (innodb_doublewrite). */
static const struct knob *complete(const struct knob *known, const struct found_variable *found,
                                   struct arena *arena)
{
    size_t count = 0;
    const struct knob *rows = catalogue_knobs("mysql", &count);
    const char *type = found->columns[COLUMN_TYPE];
    bool is_bool = strcmp(type, "BOOLEAN") == 0;
    bool is_enum = strcmp(type, "ENUM") == 0;
    bool is_ours = knob_find(rows, count, known->name) != NULL;
    if (is_ours && !is_bool && !is_enum) {
        return known;
    }
    struct knob *knob = ARENA_NEW(arena, struct knob);
    if (knob == NULL) {
        return NULL;
    }
    *knob = *known;
    if (is_bool || is_enum) {
        knob->type = is_bool ? KNOB_BOOL : KNOB_ENUM;
        knob->unit = UNIT_NONE;
        knob->bare = 1;
        knob->min = -INFINITY;
        knob->max = INFINITY;
        knob->specials = "";
        knob->choices = is_bool ? "" : choices_of(found->columns[COLUMN_CHOICES], arena);
        if (knob->choices == NULL) {
            return NULL;
        }
    } else {
        guess_type(found, knob);
    }
    if (!is_ours && found->columns[COLUMN_SENTENCE][0] != '\0') {
        knob->sentence = found->columns[COLUMN_SENTENCE];
    }
    return knob;
}

/* Reported by the server and no option of it; our own rows are options whatever it reports. */
static bool check_settable(const struct server *server, const struct knob *knob,
                           const struct found_variable *found, struct err *err)
{
    size_t count = 0;
    const struct knob *rows = catalogue_knobs("mysql", &count);
    if (!my_state_of(server)->is_mariadb || found->columns[COLUMN_ARGUMENT][0] != '\0' ||
        knob_find(rows, count, knob->name) != NULL) {
        return true;
    }
    err_set(err, ERR_CODE_unsupported, "%s cannot be set in an option file", knob->name);
    err_origin(err, "%s", knob->name);
    return err_hint(err, "take it out of the sweep file");
}

/* ---- the reading ---- */

static bool take_file_source(struct server *server, const struct found_variable *found,
                             int64_t deadline, struct reading *out, struct err *err)
{
    const char *path = found->columns[COLUMN_PATH];
    bool is_config = false;
    out->source = SOURCE_UNKNOWN;
    if (!found->has_path) {
        return true;
    }
    if (!my_is_config(server, path, deadline, &is_config, err)) {
        return false;
    }
    out->source = is_config ? SOURCE_CONFIG : SOURCE_OTHER_FILE;
    out->detail = path;
    return true;
}

/* GLOBAL_VALUE_ORIGIN of MariaDB, VARIABLE_SOURCE of MySQL: no word means two things. */
static bool take_source(struct server *server, const struct found_variable *found, int64_t deadline,
                        struct reading *out, struct err *err)
{
    static const struct {
        const char *origin;
        enum source_kind kind;
        const char *detail;
    } kinds[] = {{"COMPILE-TIME", SOURCE_DEFAULT, ""},
                 {"COMPILED", SOURCE_DEFAULT, ""},
                 {"AUTO", SOURCE_AUTO, ""},
                 {"COMMAND-LINE", SOURCE_COMMAND_LINE, "the command line"},
                 {"COMMAND_LINE", SOURCE_COMMAND_LINE, "the command line"},
                 {"ENVIRONMENT", SOURCE_ENVIRONMENT, "the server's environment"},
                 {"SQL", SOURCE_SQL, "SET GLOBAL"},
                 {"DYNAMIC", SOURCE_SQL, "SET GLOBAL"},
                 {"PERSISTED", SOURCE_SQL, "mysqld-auto.cnf (SET PERSIST)"}};
    const char *origin = found->columns[COLUMN_ORIGIN];
    out->detail = "";
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(origin, kinds[i].origin) == 0) {
            out->source = kinds[i].kind;
            out->detail = kinds[i].detail;
            return true;
        }
    }
    return take_file_source(server, found, deadline, out, err);
}

/* Asked for and accepted, but without any effect. */
static bool take_ignored(const struct server *server, const struct knob *knob, struct arena *arena,
                         struct reading *out)
{
    for (size_t i = 0; i < COUNT_OF(ignored_options) && my_state_of(server)->is_mariadb; i++) {
        if (text_equal_nocase(ignored_options[i], knob->name)) {
            out->known = true;
            out->source = SOURCE_DEFAULT;
            out->detail = arena_printf(arena, "%s %s ignores this option, it was removed",
                                       server->facts.product, server->facts.version);
            return out->detail != NULL;
        }
    }
    return true;
}

/* What a session of the load has is what counts: init_connect may give it another value than the
 * server's own. Whatever a user's account limits shows here too. */
static bool is_overridden(const struct found_variable *found)
{
    return found->columns[COLUMN_SESSION][0] != '\0' &&
           strcmp(found->columns[COLUMN_SESSION], found->columns[COLUMN_VALUE]) != 0;
}

static bool take_reading(struct server *server, const struct knob *knob,
                         const struct found_variable *found, int64_t deadline, struct arena *arena,
                         struct reading *out, struct err *err)
{
    struct err ignored;
    *out = (struct reading){
        .known = found->is_found, .value = {.kind = VALUE_UNSET, .asked = "unset"}, .detail = ""};
    if (!found->is_found) {
        return take_ignored(server, knob, arena, out) || err_memory(err);
    }
    bool is_session = is_overridden(found);
    const char *text = found->columns[is_session ? COLUMN_SESSION : COLUMN_VALUE];
    err_clear(&ignored);
    if (!value_parse(knob, text, NULL, arena, &out->value, &ignored)) {
        /* Outside the range that may be asked for, such as a computed one: still what it is. */
        out->value = (struct value){.kind = VALUE_TEXT, .text = text, .asked = text};
    }
    if (is_session) {
        out->source = SOURCE_SQL;
        out->detail = "init_connect or the user's account";
        return true;
    }
    return take_source(server, found, deadline, out, err);
}

/* ---- both ---- */

static bool read_variables(const struct server *server, struct session *session,
                           struct collector *collector, int64_t deadline, struct err *err)
{
    bool is_mariadb = my_state_of(server)->is_mariadb;
    const char *first = is_mariadb ? mariadb_statement : mysql_statement;
    bool done = session_execute(session, first, collect, collector, deadline, err);
    if (!done && mysql_session.classify(session, err) == SESSION_WRONG && !collector->failed) {
        err_clear(err); /* too old for it, or not allowed to see it */
        done = session_execute(session, plain_statement, collect, collector, deadline, err);
    }
    if (!done) {
        return err_while(err, "reading the server's variables");
    }
    return !collector->failed || err_memory(err);
}

bool my_settings_read(struct server *server, struct session *session,
                      const struct knob *const *knobs, size_t count, int64_t deadline,
                      struct arena *arena, const struct knob **out_knobs, struct reading *out,
                      struct err *err)
{
    struct collector collector = {.knobs = knobs,
                                  .count = count,
                                  .found = ARENA_ARRAY(arena, struct found_variable, count + 1),
                                  .arena = arena};
    if (collector.found == NULL) {
        return err_memory(err);
    }
    if (!read_variables(server, session, &collector, deadline, err)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct found_variable *found = &collector.found[i];
        const struct knob *knob = knobs[i];
        if (out_knobs != NULL && found->is_found) {
            if (!check_settable(server, knob, found, err)) {
                return false;
            }
            knob = complete(knobs[i], found, arena);
            if (knob == NULL) {
                return err_memory(err);
            }
        }
        if (out_knobs != NULL) {
            out_knobs[i] = knob;
        }
        if (!take_reading(server, knob, found, deadline, arena, &out[i], err)) {
            return false;
        }
    }
    return true;
}

bool my_read_back(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct arena *arena, struct reading *out, struct err *err)
{
    CLEANUP(my_control_close) struct session *session = NULL;
    const struct knob **knobs = ARENA_ARRAY(arena, const struct knob *, setting_count + 1);
    if (knobs == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < setting_count; i++) {
        knobs[i] = settings[i].knob;
    }
    return my_control_open(server, deadline, &session, err) &&
           my_settings_read(server, session, knobs, setting_count, deadline, arena, NULL, out, err);
}
