/*
 * pg_settings (manual 15, 54.24): a complete catalogue with type, unit, range and choices, and for
 * every setting its value in this very session and where that came from. It completes our rows and
 * reads knobs back.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/postgresql/server.h"
#include "knobs/catalogue.h"
#include "sweeper/base/text.h"

/* In the order of the statement's columns. */
enum column {
    COLUMN_NAME,
    COLUMN_SETTING,
    COLUMN_UNIT,
    COLUMN_CONTEXT,
    COLUMN_TYPE,
    COLUMN_MIN,
    COLUMN_MAX,
    COLUMN_CHOICES,
    COLUMN_BOOT,
    COLUMN_SOURCE,
    COLUMN_FILE,
    COLUMN_LINE,
    COLUMN_PENDING,
    COLUMN_SENTENCE,
    COLUMN_DATABASE,
    COLUMN_USER,
    COLUMN_COUNT
};
static const char statement[] =
    "select name, setting, unit, context, vartype, min_val, max_val,"
    " array_to_string(enumvals, '|'), boot_val, source, sourcefile, sourceline, pending_restart,"
    " short_desc, current_database(), current_user from pg_catalog.pg_settings";

struct found_setting {
    bool is_found;
    const char *columns[COLUMN_COUNT]; /* "" where null */
    bool has_file;
};

struct collector {
    const struct knob *const *knobs;
    size_t count;
    struct found_setting *found;
    struct arena *arena;
    bool failed;
};

static bool keep_row(struct collector *collector, struct found_setting *found,
                     const struct row *row)
{
    found->is_found = true;
    found->has_file = row->columns[COLUMN_FILE].data != NULL;
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        struct bytes column = row->columns[i];
        found->columns[i] =
            column.data == NULL ? "" : arena_strndup(collector->arena, column.data, column.size);
        if (found->columns[i] == NULL) {
            collector->failed = true;
            return false;
        }
    }
    return true;
}

static bool collect(void *context, const struct row *row)
{
    struct collector *collector = context;
    for (size_t i = 0; i < collector->count; i++) {
        if (bytes_are_nocase(row->columns[COLUMN_NAME], collector->knobs[i]->name) &&
            !keep_row(collector, &collector->found[i], row)) {
            return false;
        }
    }
    return true;
}

/* ---- the row ---- */

static enum knob_type type_of(const char *vartype)
{
    static const struct {
        const char *name;
        enum knob_type type;
    } types[] = {
        {"bool", KNOB_BOOL}, {"integer", KNOB_INTEGER}, {"real", KNOB_REAL}, {"enum", KNOB_ENUM}};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strcmp(vartype, types[i].name) == 0) {
            return types[i].type;
        }
    }
    return KNOB_TEXT;
}

/* "8kB", "MB", "ms", "min": how many canonical units a bare number counts. */
static void take_unit(const char *unit, struct knob *knob)
{
    struct err ignored;
    char text[32];
    err_clear(&ignored);
    knob->unit = UNIT_NONE;
    knob->bare = 1;
    snprintf(text, sizeof text, "%s%s", unit[0] >= '0' && unit[0] <= '9' ? "" : "1", unit);
    if (unit[0] == '\0') {
        return;
    }
    if (units_parse_size(text, 1, &knob->bare, NULL, &ignored)) {
        knob->unit = UNIT_BYTES;
    } else if (units_parse_duration(text, 1, &knob->bare, NULL, &ignored)) {
        knob->unit = UNIT_US;
    } else {
        knob->bare = 1;
    }
}

static double bound(const char *text, const struct knob *knob, double fallback)
{
    struct err ignored;
    double number = 0;
    err_clear(&ignored);
    return units_parse_real(text, &number, &ignored) ? number * (double)knob->bare : fallback;
}

/* Of a knob with a unit, a lower bound of -1 is no size but a word: "off" or "as another knob". */
static void take_range(const struct found_setting *found, const struct knob *known,
                       struct knob *knob)
{
    knob->min = bound(found->columns[COLUMN_MIN], knob, -INFINITY);
    knob->max = bound(found->columns[COLUMN_MAX], knob, INFINITY);
    if (knob->unit == UNIT_NONE || !(knob->min < 0) || isinf(knob->min)) {
        return;
    }
    if (knob->specials[0] == '\0') {
        knob->specials = "-1";
    }
    knob->min = known->min >= 0 && !isinf(known->min) ? known->min : 0;
}

/* The server's type, unit, range and choices; our row's durability, danger and sentence. */
static const struct knob *complete(const struct knob *known, const struct found_setting *found,
                                   struct arena *arena)
{
    struct knob *knob = ARENA_NEW(arena, struct knob);
    if (knob == NULL) {
        return NULL;
    }
    size_t count = 0;
    const struct knob *rows = catalogue_knobs("postgresql", &count);
    *knob = *known;
    knob->name = found->columns[COLUMN_NAME];
    knob->type = type_of(found->columns[COLUMN_TYPE]);
    take_unit(found->columns[COLUMN_UNIT], knob);
    take_range(found, known, knob);
    knob->choices = found->columns[COLUMN_CHOICES];
    bool needs_restart = strcmp(found->columns[COLUMN_CONTEXT], "postmaster") == 0;
    knob->apply = needs_restart ? KNOB_RESTART : KNOB_RELOAD;
    if (knob_find(rows, count, known->name) == NULL) {
        knob->sentence = found->columns[COLUMN_SENTENCE];
    }
    return knob;
}

/* ---- the reading ---- */

static const char *file_detail(const struct found_setting *found, struct arena *arena)
{
    return arena_printf(arena, "%s:%s", found->columns[COLUMN_FILE], found->columns[COLUMN_LINE]);
}

static bool take_file_source(const struct server *server, const struct found_setting *found,
                             struct arena *arena, struct reading *out)
{
    const char *file = found->columns[COLUMN_FILE];
    const char *config = server->facts.config_path;
    if (!found->has_file) {
        out->source = SOURCE_UNKNOWN; /* hidden from users without pg_read_all_settings */
        return true;
    }
    out->source = config != NULL && strcmp(file, config) == 0     ? SOURCE_CONFIG
                  : text_ends_with(file, "/postgresql.auto.conf") ? SOURCE_SQL
                                                                  : SOURCE_OTHER_FILE;
    out->detail = file_detail(found, arena);
    return out->detail != NULL;
}

static bool take_sql_source(const char *source, const struct found_setting *found,
                            struct arena *arena, struct reading *out)
{
    const char *database = found->columns[COLUMN_DATABASE];
    const char *user = found->columns[COLUMN_USER];
    out->source = SOURCE_SQL;
    if (strcmp(source, "database") == 0) {
        out->detail = arena_printf(arena, "ALTER DATABASE %s", database);
    } else if (strcmp(source, "user") == 0) {
        out->detail = arena_printf(arena, "ALTER ROLE %s", user);
    } else if (strcmp(source, "database user") == 0) {
        out->detail = arena_printf(arena, "ALTER ROLE %s IN DATABASE %s", user, database);
    } else {
        out->detail = "ALTER ROLE ALL";
    }
    return out->detail != NULL;
}

/* pg_settings.source (src/backend/utils/misc/guc_tables.c, GucSource_Names, 15). */
static bool take_source(const struct server *server, const struct found_setting *found,
                        struct arena *arena, struct reading *out)
{
    static const struct {
        const char *name;
        enum source_kind kind;
    } kinds[] = {{"dynamic default", SOURCE_AUTO},
                 {"override", SOURCE_AUTO},
                 {"environment variable", SOURCE_ENVIRONMENT},
                 {"command line", SOURCE_COMMAND_LINE},
                 {"client", SOURCE_SESSION},
                 {"session", SOURCE_SESSION}};
    static const char *const from_sql[] = {"global", "database", "user", "database user"};
    const char *source = found->columns[COLUMN_SOURCE];
    out->detail = "";
    if (strcmp(source, "configuration file") == 0) {
        return take_file_source(server, found, arena, out);
    }
    for (size_t i = 0; i < COUNT_OF(from_sql); i++) {
        if (strcmp(source, from_sql[i]) == 0) {
            return take_sql_source(source, found, arena, out);
        }
    }
    out->source = SOURCE_UNKNOWN;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (strcmp(source, kinds[i].name) == 0) {
            out->source = kinds[i].kind;
        }
    }
    if (strcmp(source, "default") == 0) {
        /* Nobody set it, yet it is not what it was compiled with: the server computed it. */
        bool is_boot = strcmp(found->columns[COLUMN_SETTING], found->columns[COLUMN_BOOT]) == 0;
        out->source = is_boot ? SOURCE_DEFAULT : SOURCE_AUTO;
    }
    return true;
}

static bool take_reading(const struct server *server, const struct knob *knob,
                         const struct found_setting *found, struct arena *arena,
                         struct reading *out, struct err *err)
{
    struct err ignored;
    const char *text = found->columns[COLUMN_SETTING];
    *out = (struct reading){
        .known = found->is_found, .value = {.kind = VALUE_UNSET, .asked = "unset"}, .detail = ""};
    if (!found->is_found) {
        return true;
    }
    err_clear(&ignored);
    if (!value_parse(knob, text, NULL, arena, &out->value, &ignored)) {
        /* Outside the range that may be asked for, such as a computed one: still what it is. */
        out->value = (struct value){.kind = VALUE_TEXT, .text = text, .asked = text};
    }
    out->pending_restart = strcmp(found->columns[COLUMN_PENDING], "t") == 0;
    return take_source(server, found, arena, out) || err_memory(err);
}

/* ---- both ---- */

static bool fail_internal(const struct found_setting *found, struct err *err)
{
    err_set(err, ERR_CODE_unsupported, "%s cannot be set: the server reports it and nothing else",
            found->columns[COLUMN_NAME]);
    err_origin(err, "%s", found->columns[COLUMN_NAME]);
    return err_hint(err, "take it out of the sweep file");
}

bool pg_settings_read(const struct server *server, struct session *session,
                      const struct knob *const *knobs, size_t count, int64_t deadline,
                      struct arena *arena, const struct knob **out_knobs, struct reading *out,
                      struct err *err)
{
    struct collector collector = {.knobs = knobs,
                                  .count = count,
                                  .found = ARENA_ARRAY(arena, struct found_setting, count + 1),
                                  .arena = arena};
    if (collector.found == NULL) {
        return err_memory(err);
    }
    if (!session_execute(session, statement, collect, &collector, deadline, err)) {
        return err_while(err, "reading pg_settings");
    }
    if (collector.failed) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct found_setting *found = &collector.found[i];
        const struct knob *knob = knobs[i];
        if (out_knobs != NULL && found->is_found) {
            if (strcmp(found->columns[COLUMN_CONTEXT], "internal") == 0) {
                return fail_internal(found, err);
            }
            knob = complete(knobs[i], found, arena);
            if (knob == NULL) {
                return err_memory(err);
            }
        }
        if (out_knobs != NULL) {
            out_knobs[i] = knob;
        }
        if (!take_reading(server, knob, found, arena, &out[i], err)) {
            return false;
        }
    }
    return true;
}

bool pg_read_back(struct server *server, const struct setting *settings, size_t setting_count,
                  int64_t deadline, struct arena *arena, struct reading *out, struct err *err)
{
    CLEANUP(pg_control_close) struct session *session = NULL;
    const struct knob **knobs = ARENA_ARRAY(arena, const struct knob *, setting_count + 1);
    if (knobs == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < setting_count; i++) {
        knobs[i] = settings[i].knob;
    }
    return pg_control_open(server, deadline, &session, err) &&
           pg_settings_read(server, session, knobs, setting_count, deadline, arena, NULL, out, err);
}
