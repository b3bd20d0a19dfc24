/*
 * The state file: a line each for what there is, words separated by tabs. It is written beside and
 * renamed, so that whoever is killed leaves the one or the other whole.
 */
#include "backends/replay/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/text.h"

static const char head[] = "dbsweep replay\t1";

enum { LINE_WORDS = 3, LOG_KEPT_BYTES = 64 << 10 };

/* ---- reading ---- */

static size_t split(char *line, char *words[LINE_WORDS])
{
    size_t count = 0;
    char *kept = NULL;
    for (char *word = strtok_r(line, "\t", &kept); word != NULL && count < LINE_WORDS;
         word = strtok_r(NULL, count + 1 == LINE_WORDS ? "" : "\t", &kept)) {
        words[count++] = word;
    }
    return count;
}

static size_t choice_of(const struct state *state, size_t column, const char *text)
{
    const struct table_column *known = &state->table->columns[column];
    for (size_t i = 0; i < known->count; i++) {
        if (strcmp(known->texts[i], text) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static bool take_setting(struct state *state, char *const words[LINE_WORDS])
{
    size_t column = table_column_find(state->table, words[1]);
    size_t choice = column != SIZE_MAX ? choice_of(state, column, words[2]) : SIZE_MAX;
    if (choice == SIZE_MAX) {
        return false;
    }
    struct state_setting *setting = &state->settings[column];
    if (strcmp(words[0], "set") == 0) {
        setting->configured = choice;
    } else {
        setting->running = choice;
        setting->is_adjusted = strcmp(words[0], "adjusted") == 0;
    }
    return true;
}

static bool take_line(struct state *state, char *line)
{
    char *words[LINE_WORDS];
    size_t count = split(line, words);
    if (count == 2 && strcmp(words[0], "starts") == 0) {
        struct err ignored;
        return units_parse_int(words[1], &state->start_count, &ignored);
    }
    if (count == 2 && strcmp(words[0], "server") == 0) {
        state->is_up = strcmp(words[1], "up") == 0;
        return state->is_up || strcmp(words[1], "down") == 0;
    }
    if (count == 2 && strcmp(words[0], "log") == 0) {
        text_addf(state->log, "%s\n", words[1]);
        return true;
    }
    bool is_setting = count == 3 && (strcmp(words[0], "set") == 0 || strcmp(words[0], "run") == 0 ||
                                     strcmp(words[0], "adjusted") == 0);
    return is_setting && take_setting(state, words);
}

static void as_found(struct state *state)
{
    for (size_t i = 0; i < state->table->column_count; i++) {
        state->settings[i] = (struct state_setting){.configured = SIZE_MAX, .running = SIZE_MAX};
    }
    state->start_count = 1;
    state->is_up = true;
}

static bool fail_file(const struct state *state, struct err *err)
{
    err_set(err, ERR_CODE_config_syntax, "%.300s is not the state of this replay", state->path);
    return err_hint(err, "it belongs to another source, or is no state at all: move it away, or "
                         "name another in target.data_directory");
}

static bool read_lines(struct state *state, char *text, struct err *err)
{
    char *kept = NULL;
    char *line = strtok_r(text, "\n", &kept);
    if (line == NULL || strcmp(line, head) != 0) {
        return fail_file(state, err);
    }
    for (line = strtok_r(NULL, "\n", &kept); line != NULL; line = strtok_r(NULL, "\n", &kept)) {
        if (!take_line(state, line)) {
            return fail_file(state, err);
        }
    }
    return true;
}

bool state_read(struct state *state, struct arena *arena, struct err *err)
{
    enum { PIECE = 4096 };
    char piece[PIECE];
    struct text text;
    size_t got = 0;
    as_found(state);
    state->log = ARENA_NEW(arena, struct text);
    if (state->log == NULL) {
        return err_memory(err);
    }
    text_open(state->log, arena);
    text_open(&text, arena);
    FILE *file = fopen(state->path, "re");
    if (file == NULL) {
        return errno == ENOENT ||
               err_set_errno(err, ERR_CODE_host_file, "reading %.300s", state->path);
    }
    while ((got = fread(piece, 1, sizeof piece, file)) > 0) {
        text_add_bytes(&text, piece, got);
    }
    bool is_whole = ferror(file) == 0;
    (void)fclose(file); /* read to its end: nothing is lost */
    if (!is_whole) {
        return err_set_errno(err, ERR_CODE_host_file, "reading %.300s", state->path);
    }
    if (text_done(&text) == NULL) {
        return err_memory(err);
    }
    return text.size > 0 ? read_lines(state, text.data, err) : fail_file(state, err);
}

/* ---- writing ---- */

static void add_settings(const struct state *state, struct text *out)
{
    for (size_t i = 0; i < state->table->column_count; i++) {
        const struct table_column *column = &state->table->columns[i];
        const struct state_setting *setting = &state->settings[i];
        if (setting->configured != SIZE_MAX) {
            text_addf(out, "set\t%s\t%s\n", column->knob.name, column->texts[setting->configured]);
        }
        if (setting->running != SIZE_MAX) {
            text_addf(out, "%s\t%s\t%s\n", setting->is_adjusted ? "adjusted" : "run",
                      column->knob.name, column->texts[setting->running]);
        }
    }
}

static void add_log(const struct state *state, struct text *out)
{
    const char *at = text_done(state->log);
    size_t size = at != NULL ? strlen(at) : 0;
    if (size == 0) {
        return;
    }
    at += size > LOG_KEPT_BYTES ? size - LOG_KEPT_BYTES : 0;
    while (*at != '\0') {
        int length = (int)strcspn(at, "\n");
        text_addf(out, "log\t%.*s\n", length, at);
        at += length + (at[length] == '\n');
    }
}

static bool put(const char *path, const char *text, struct err *err)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return err_set_errno(err, ERR_CODE_host_file, "writing %.300s", path);
    }
    bool ok = fputs(text, file) >= 0;
    ok = fclose(file) == 0 && ok;
    return ok || err_set_errno(err, ERR_CODE_host_file, "writing %.300s", path);
}

bool state_write(const struct state *state, struct arena *arena, struct err *err)
{
    struct text text;
    text_open(&text, arena);
    text_addf(&text, "%s\nstarts\t%lld\nserver\t%s\n", head, (long long)state->start_count,
              state->is_up ? "up" : "down");
    add_settings(state, &text);
    add_log(state, &text);
    const char *content = text_done(&text);
    const char *beside = arena_printf(arena, "%s.new", state->path);
    if (content == NULL || beside == NULL) {
        return err_memory(err);
    }
    return put(beside, content, err) &&
           (rename(beside, state->path) == 0 ||
            err_set_errno(err, ERR_CODE_host_file, "writing %.300s", state->path));
}

static uint32_t or_baseline(const struct state *state, size_t column, size_t choice)
{
    return choice != SIZE_MAX ? (uint32_t)choice
                              : state->table->rows[state->table->baseline].choices[column];
}

uint32_t state_running(const struct state *state, size_t column)
{
    return or_baseline(state, column, state->settings[column].running);
}

uint32_t state_configured(const struct state *state, size_t column)
{
    return or_baseline(state, column, state->settings[column].configured);
}
