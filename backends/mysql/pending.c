/*
 * Whether the server runs on its option files as they are now. A line that was changed since the
 * start shows at the next one only, and that would be ours: what we took for the baseline would
 * not be what ran. A number in a file may differ from the running one because the server clamped
 * it; only a file that is younger than the start proves a change.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

/* The last line that sets a knob, over all files. */
struct written {
    const char *path; /* NULL: no file sets it */
    size_t line_number;
    const char *text; /* NULL: not a value that we can read */
};

struct collector {
    const struct option_groups *groups;
    const struct setting *settings;
    size_t count;
    struct written *written;
    struct arena *arena;
    bool failed;
};

/* As the server reads it, but for escapes, which no value that we compare has. */
static const char *text_of(const struct my_file_line *seen, enum option_match match,
                           struct arena *arena)
{
    const struct option_line *line = seen->line;
    if (!line->has_value) {
        return match == OPTION_OFF ? "0" : match == OPTION_UNCLEAR ? NULL : "1";
    }
    if (match != OPTION_SAME) {
        return NULL;
    }
    const char *value = seen->file->bytes.data + line->value_start;
    size_t size = line->value_end - line->value_start;
    bool is_quoted =
        size > 1 && (value[0] == '\'' || value[0] == '"') && value[size - 1] == value[0];
    return arena_strndup(arena, value + is_quoted, size - 2 * (size_t)is_quoted);
}

static bool collect(void *context, const struct my_file_line *seen)
{
    struct collector *collector = context;
    const struct option_line *line = seen->line;
    if (seen->is_ignored || line == NULL || line->kind != OPTION_SETTING ||
        !option_groups_hold(collector->groups, line->group)) {
        return true;
    }
    for (size_t i = 0; i < collector->count; i++) {
        enum option_match match = option_match(line->name, collector->settings[i].knob->name);
        if (match != OPTION_OTHER) {
            collector->written[i] =
                (struct written){.path = arena_strdup(collector->arena, seen->path),
                                 .line_number = line->number,
                                 .text = text_of(seen, match, collector->arena)};
            collector->failed = collector->failed || collector->written[i].path == NULL;
        }
    }
    return !collector->failed;
}

static bool is_from_files(const struct reading *reading)
{
    return reading->source == SOURCE_CONFIG || reading->source == SOURCE_OTHER_FILE;
}

static bool fail_gone(const struct knob *knob, const struct reading *reading, struct arena *arena,
                      struct err *err)
{
    const char *now = value_display(knob, &reading->value, arena);
    err_set(err, ERR_CODE_foreign_edit, "%s is %s from %s, where it no longer stands", knob->name,
            now != NULL ? now : "?", reading->detail);
    return err_hint(err, "the file was edited and not read since: restart the server on it, or "
                         "undo the edit");
}

static bool differs(const struct knob *knob, const struct reading *reading,
                    const struct written *written, struct arena *arena)
{
    struct value value;
    struct err unread;
    err_clear(&unread);
    bool is_comparable = reading->known && reading->value.kind != VALUE_UNSET &&
                         (is_from_files(reading) || reading->source == SOURCE_DEFAULT);
    return is_comparable && written->text != NULL &&
           value_parse(knob, written->text, NULL, arena, &value, &unread) &&
           !value_equal(knob, &value, &reading->value);
}

/* Both times are the clock's of the server's machine, in whole seconds. */
static bool is_younger(const struct server *server, const char *path, const char *started,
                       int64_t deadline, struct arena *arena, bool *out, struct err *err)
{
    const char *const argv[] = {"stat", "-L", "-c", "%Y", "--", path, NULL};
    const char *changed = NULL;
    if (!host_ask(server->host, argv, deadline, arena, &changed, err)) {
        return false;
    }
    *out = changed != NULL && started != NULL &&
           strtoll(changed, NULL, 10) > strtoll(started, NULL, 10);
    return true;
}

static bool judge(const struct server *server, const struct collector *collector,
                  const struct reading *readings, const char *started, int64_t deadline,
                  struct err *err)
{
    for (size_t i = 0; i < collector->count; i++) {
        const struct knob *knob = collector->settings[i].knob;
        const struct written *written = &collector->written[i];
        bool is_young = false;
        /* Which files there are is known of a process that can be looked at. */
        if (written->path == NULL && is_from_files(&readings[i]) &&
            my_state_of(server)->has_words) {
            return fail_gone(knob, &readings[i], collector->arena, err);
        }
        if (written->path == NULL || !differs(knob, &readings[i], written, collector->arena)) {
            continue;
        }
        if (!is_younger(server, written->path, started, deadline, collector->arena, &is_young,
                        err)) {
            return false;
        }
        if (is_young) {
            const char *now = value_display(knob, &readings[i].value, collector->arena);
            err_set(err, ERR_CODE_foreign_edit, "%s is %s, but %s:%zu says %s", knob->name,
                    now != NULL ? now : "?", written->path, written->line_number, written->text);
            return err_hint(err, "the file was edited and not read since: restart the server on "
                                 "it, or undo the edit");
        }
    }
    return true;
}

bool my_pending_refuse(struct server *server, struct session *session,
                       const struct setting *settings, const struct reading *readings, size_t count,
                       int64_t deadline, struct arena *arena, struct err *err)
{
    struct collector collector = {.groups = &my_state_of(server)->groups,
                                  .settings = settings,
                                  .count = count,
                                  .written = ARENA_ARRAY(arena, struct written, count + 1),
                                  .arena = arena};
    const char *started = NULL;
    if (collector.written == NULL) {
        return err_memory(err);
    }
    if (!my_files_walk(server, deadline, arena, collect, &collector, err)) {
        return false;
    }
    if (collector.failed) {
        return err_memory(err);
    }
    return my_started(server, session, deadline, arena, &started, err) &&
           judge(server, &collector, readings, started, deadline, err);
}
