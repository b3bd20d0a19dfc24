/*
 * Points of the source: how settings lead to one, and how it fails.
 */
#include <string.h>

#include "backends/replay/noise.h"
#include "backends/replay/server.h"
#include "sweeper/base/text.h"

static bool fail(const struct replay *replay, const char *text, struct err *err)
{
    err_set(err, ERR_CODE_config_syntax, "%s: \"%.80s\" is no failure", replay->source, text);
    return err_hint(err,
                    "it is start, ready, measure, or NAME=VALUE where the server takes another "
                    "value of a column");
}

static bool parse_adjusted(const struct replay *replay, const char *text, struct failure *out)
{
    char name[128];
    const char *equals = strchr(text, '=');
    struct bytes left = {.data = text, .size = equals != NULL ? (size_t)(equals - text) : 0};
    if (equals == NULL || !bytes_text(left, name, sizeof name)) {
        return false;
    }
    out->kind = FAILURE_ADJUST;
    out->column = table_column_find(&replay->table, name);
    if (out->column == SIZE_MAX) {
        return false;
    }
    const struct table_column *column = &replay->table.columns[out->column];
    for (size_t i = 0; i < column->count; i++) {
        if (strcmp(column->texts[i], equals + 1) == 0) {
            out->choice = i;
            return true;
        }
    }
    return false;
}

bool replay_failure_parse(const struct replay *replay, const char *text, struct failure *out,
                          struct err *err)
{
    static const struct {
        const char *word;
        enum failure_kind kind;
    } words[] = {{"", FAILURE_NONE},
                 {"start", FAILURE_START},
                 {"ready", FAILURE_READY},
                 {"measure", FAILURE_MEASURE}};
    *out = (struct failure){.kind = FAILURE_NONE};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcmp(words[i].word, text) == 0) {
            out->kind = words[i].kind;
            return true;
        }
    }
    return parse_adjusted(replay, text, out) || fail(replay, text, err);
}

struct failure replay_failure(const struct replay *replay, const struct table_row *row)
{
    struct failure failure = {.kind = FAILURE_NONE};
    struct err ignored;
    if (row == NULL) {
        return failure;
    }
    size_t at = (size_t)(row - replay->table.rows);
    struct noise lot = noise_open(replay->spec->seed, NOISE_REFUSED, at);
    if (at != replay->table.baseline && 100 * noise_unit(lot, 0) < replay->spec->refused_pct) {
        failure.kind = FAILURE_START;
    } else if (!replay_failure_parse(replay, row->failure, &failure, &ignored)) {
        failure.kind = FAILURE_NONE; /* all were read when the source was opened */
    }
    return failure;
}

const struct table_row *replay_find(const struct replay *replay, const struct setting *settings,
                                    size_t count, bool in_state, size_t *out_unknown,
                                    struct arena *arena)
{
    const struct table *table = &replay->table;
    uint32_t *choices = ARENA_ARRAY(arena, uint32_t, table->column_count);
    *out_unknown = SIZE_MAX;
    for (size_t i = 0; choices != NULL && i < table->column_count; i++) {
        choices[i] =
            in_state ? state_running(&replay->state, i) : table->rows[table->baseline].choices[i];
    }
    for (size_t i = 0; choices != NULL && i < count; i++) {
        size_t column = table_column_find(table, settings[i].knob->name);
        if (settings[i].value.kind == VALUE_BASELINE) {
            continue;
        }
        size_t choice = column != SIZE_MAX
                            ? table_choice_find(&table->columns[column], &settings[i].value)
                            : SIZE_MAX;
        /* What is unset is as found, unless the source knows it to be unset. */
        bool is_as_found = column != SIZE_MAX && settings[i].value.kind == VALUE_UNSET;
        if (choice == SIZE_MAX && !is_as_found) {
            *out_unknown = i;
            return NULL;
        }
        choices[column] =
            choice != SIZE_MAX ? (uint32_t)choice : table->rows[table->baseline].choices[column];
    }
    return choices != NULL ? table_row_find(table, choices) : NULL;
}
