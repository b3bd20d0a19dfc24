/*
 * Whether the server runs on its files as they are now. A line that was changed since they were
 * read, or that the server would refuse, shows at the first restart only, and that would be ours:
 * what we took for the baseline would not be what ran, or the server would not come back at all.
 */
#include <string.h>

#include "backends/postgresql/server.h"
#include "sweeper/base/text.h"

/* The last line first. Of what the command line or the server itself decides, pg_file_settings
 * tells that the file's value "could not be applied", and that is well. */
static const char broken_statement[] =
    "select coalesce(f.sourcefile || ':' || f.sourceline || ': ', '')"
    " || coalesce(f.name || ' = ' || f.setting || ': ', '') || f.error"
    " from pg_catalog.pg_file_settings f"
    " left join pg_catalog.pg_settings s on lower(s.name) = lower(f.name)"
    " where f.error is not null"
    " and (s.name is null or s.source in ('default', 'configuration file'))"
    " order by f.seqno desc limit 1";

enum { READ_NAME, READ_SETTING, READ_PLACE, READ_COLUMN_COUNT };
/* What a reload would change; what needs a restart is told by the statement above. */
static const char applied_statement[] =
    "select f.name, f.setting, f.sourcefile || ':' || f.sourceline"
    " from pg_catalog.pg_file_settings f"
    " join pg_catalog.pg_settings s on lower(s.name) = lower(f.name)"
    " where f.applied and s.context <> 'postmaster'"
    " and s.source in ('default', 'configuration file') order by f.seqno";

struct reload {
    const struct setting *settings;
    const struct reading *readings; /* of the settings, as they are now */
    size_t count;
    struct arena *arena;
    struct err *err;
};

static bool is_hidden(struct err *err)
{
    bool hidden = strcmp(err->native_text, "SQLSTATE 42501") == 0;
    if (hidden) {
        err_clear(err);
    }
    return hidden;
}

static const char *copy(struct arena *arena, struct bytes bytes)
{
    return arena_strndup(arena, bytes.data != NULL ? bytes.data : "", bytes.size);
}

/* Spellings that we do not read (an enum's hidden words) are no proof of a change. */
static bool compare(struct reload *reload, const struct knob *knob, const struct value *is,
                    const char *text, const char *place)
{
    struct value written;
    struct err unread;
    err_clear(&unread);
    if (!value_parse(knob, text, NULL, reload->arena, &written, &unread) ||
        value_equal(knob, &written, is)) {
        return true;
    }
    const char *now = value_display(knob, is, reload->arena);
    err_set(reload->err, ERR_CODE_foreign_edit, "%s is %s, but %s says %s", knob->name,
            now != NULL ? now : "?", place, text);
    return err_hint(reload->err, "the file was edited and not read since: reload the server with "
                                 "pg_reload_conf(), or undo the edit");
}

static bool compare_row(void *context, const struct row *row)
{
    struct reload *reload = context;
    const char *name = copy(reload->arena, row->columns[READ_NAME]);
    const char *text = copy(reload->arena, row->columns[READ_SETTING]);
    const char *place = copy(reload->arena, row->columns[READ_PLACE]);
    if (name == NULL || text == NULL || place == NULL) {
        return err_memory(reload->err);
    }
    for (size_t i = 0; i < reload->count; i++) {
        if (text_equal_nocase(name, reload->settings[i].knob->name)) {
            return compare(reload, reload->settings[i].knob, &reload->readings[i].value, text,
                           place);
        }
    }
    return true;
}

bool pg_pending_refuse(struct session *session, const struct setting *settings,
                       const struct reading *readings, size_t count, int64_t deadline,
                       struct arena *arena, struct err *err)
{
    const char *broken = NULL;
    struct err found;
    struct reload reload = {
        .settings = settings, .readings = readings, .count = count, .arena = arena, .err = &found};
    err_clear(&found);
    if (!session_value(session, broken_statement, deadline, arena, &broken, err)) {
        return is_hidden(err) || err_while(err, "reading pg_file_settings");
    }
    if (broken != NULL) {
        err_set(err, ERR_CODE_foreign_edit, "the server does not run on its configuration: %s",
                broken);
        return err_hint(err, "its next start would fail or change it: mend the line, or restart "
                             "the server on it first");
    }
    bool is_read = session_execute(session, applied_statement, compare_row, &reload, deadline, err);
    if (found.code != ERR_CODE_none) { /* it ended the reading */
        *err = found;
        return false;
    }
    return is_read || err_while(err, "reading pg_file_settings");
}
