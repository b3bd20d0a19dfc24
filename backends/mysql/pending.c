/*
 * Whether the server runs on its option files as they are now. A line that was changed since the
 * start shows at the next one only, and that would be ours: what we took for the baseline would
 * not be what ran, or no longer start at all. A number in a file may differ from the running one
 * because the server clamped it; only a file that is younger than the start proves a change. What
 * SET GLOBAL changed would be gone with the first restart, whether it is swept or not.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/mysql/server.h"
#include "sweeper/base/text.h"

/* The last line that sets a knob, over all files. */
struct written {
    size_t file; /* of the collector's, from 1; 0: no file sets it */
    size_t line_number;
    const char *text; /* NULL: not a value that we can read */
};

enum { FILE_LIMIT = 64 };

struct collector {
    const struct option_groups *groups;
    const struct my_unswept *all;
    struct written *written;
    struct arena *arena;
    const char *files[FILE_LIMIT]; /* in the order of reading */
    bool is_young[FILE_LIMIT];     /* changed since the server's start */
    size_t file_count;
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

/* The file's place among the collector's, from 1; 0 where there are too many. */
static size_t note_file(struct collector *collector, const char *path)
{
    for (size_t i = 0; i < collector->file_count; i++) {
        if (strcmp(collector->files[i], path) == 0) {
            return i + 1;
        }
    }
    const char *copy = arena_strdup(collector->arena, path);
    if (copy == NULL || collector->file_count == FILE_LIMIT) {
        collector->failed = copy == NULL;
        return 0;
    }
    collector->files[collector->file_count] = copy;
    return ++collector->file_count;
}

static bool collect(void *context, const struct my_file_line *seen)
{
    struct collector *collector = context;
    const struct option_line *line = seen->line;
    size_t file = note_file(collector, seen->path);
    if (seen->is_ignored || line == NULL || line->kind != OPTION_SETTING ||
        !option_groups_hold(collector->groups, line->group)) {
        return !collector->failed;
    }
    for (size_t i = 0; i < collector->all->count; i++) {
        enum option_match match = option_match(line->name, collector->all->items[i].knob->name);
        if (match != OPTION_OTHER) {
            collector->written[i] =
                (struct written){.file = file,
                                 .line_number = line->number,
                                 .text = text_of(seen, match, collector->arena)};
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

/* Words, paths and lists have many spellings: of what is not swept, only numbers and choices are
 * compared. */
static bool is_comparable(const struct my_unswept_item *item, const struct written *written)
{
    const struct reading *reading = &item->reading;
    return reading->known && reading->value.kind != VALUE_UNSET &&
           (is_from_files(reading) || reading->source == SOURCE_DEFAULT || item->is_set_since) &&
           written->text != NULL && (item->is_swept || item->knob->type != KNOB_TEXT);
}

static bool differs(const struct my_unswept_item *item, const struct written *written,
                    struct arena *arena)
{
    struct value value;
    struct err unread;
    err_clear(&unread);
    return is_comparable(item, written) &&
           value_parse(item->knob, written->text, NULL, arena, &value, &unread) &&
           !value_equal(item->knob, &value, &item->reading.value);
}

/* Both times are the clock's of the server's machine, in whole seconds: one command for all. */
static bool find_young(const struct server *server, struct collector *collector,
                       const char *started, int64_t deadline, struct err *err)
{
    const char *argv[FILE_LIMIT + 6] = {"stat", "-L", "-c", "%Y", "--"};
    const char *changed = NULL;
    char *rest = NULL;
    memcpy(argv + 5, collector->files, collector->file_count * sizeof *argv);
    if (collector->file_count == 0) {
        return true;
    }
    if (!host_ask(server->host, argv, deadline, collector->arena, &changed, err)) {
        return false;
    }
    for (size_t i = 0; i < collector->file_count && changed != NULL && started != NULL; i++) {
        long long changed_s = strtoll(changed, &rest, 10);
        collector->is_young[i] = changed_s > strtoll(started, NULL, 10);
        changed = rest;
    }
    return true;
}

static bool is_any_young(const struct collector *collector)
{
    for (size_t i = 0; i < collector->file_count; i++) {
        if (collector->is_young[i]) {
            return true;
        }
    }
    return false;
}

/* ---- what differs ---- */

static bool fail_edited(const struct collector *collector, size_t at, struct err *err)
{
    const struct my_unswept_item *item = &collector->all->items[at];
    const struct written *written = &collector->written[at];
    const char *now = value_display(item->knob, &item->reading.value, collector->arena);
    err_set(err, ERR_CODE_foreign_edit, "%s is %s, but %s:%zu says %s", item->knob->name,
            now != NULL ? now : "?", collector->files[written->file - 1], written->line_number,
            written->text);
    return err_hint(err, "the file was edited and not read since: restart the server on "
                         "it, or undo the edit");
}

static bool fail_set(const struct collector *collector, const struct my_unswept_item *item,
                     struct err *err)
{
    const char *now = value_display(item->knob, &item->reading.value, collector->arena);
    err_set(err, ERR_CODE_overridden,
            "%s is %s by SET GLOBAL, which ends with the restarts of a "
            "sweep",
            item->knob->name, now != NULL ? now : "?");
    return err_hint(err, "write it into the option file if it is to stay, and restart the server; "
                         "else set it back");
}

/* Which files there are is known of a process that can be looked at. A name that we do not know may
 * set what is not swept; then its file was read by the server that runs, unless it is younger. */
static bool is_gone(const struct server *server, const struct collector *collector, size_t at)
{
    const struct my_unswept_item *item = &collector->all->items[at];
    return collector->written[at].file == 0 && is_from_files(&item->reading) &&
           my_state_of(server)->has_words && (item->is_swept || is_any_young(collector));
}

static bool judge(const struct server *server, const struct collector *collector, struct err *err)
{
    for (size_t i = 0; i < collector->all->count; i++) {
        const struct my_unswept_item *item = &collector->all->items[i];
        const struct written *written = &collector->written[i];
        bool is_other = differs(item, written, collector->arena);
        if (is_gone(server, collector, i)) {
            return fail_gone(item->knob, &item->reading, collector->arena, err);
        }
        if (item->is_set_since && (written->file == 0 || is_other)) {
            return fail_set(collector, item, err);
        }
        if (is_other && written->file != 0 && collector->is_young[written->file - 1]) {
            return fail_edited(collector, i, err);
        }
    }
    return true;
}

bool my_pending_refuse(struct server *server, struct session *session,
                       const struct setting *settings, const struct reading *readings, size_t count,
                       int64_t deadline, struct arena *arena, struct err *err)
{
    struct my_unswept all = {0};
    const char *started = NULL;
    if (!my_unswept_read(server, session, settings, readings, count, deadline, arena, &all, err)) {
        return false;
    }
    struct collector collector = {.groups = &my_state_of(server)->groups,
                                  .all = &all,
                                  .written = ARENA_ARRAY(arena, struct written, all.count + 1),
                                  .arena = arena};
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
           find_young(server, &collector, started, deadline, err) &&
           judge(server, &collector, err) &&
           (!is_any_young(&collector) || my_start_rehearse(server, deadline, err));
}
