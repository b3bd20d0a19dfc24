/*
 * What kind of setting a column is, from its values alone: whole numbers, sizes (8M), times (90s),
 * numbers with a fraction, else words. Only the values that are there can be asked for.
 */
#include <math.h>
#include <string.h>

#include "backends/replay/table.h"
#include "sweeper/base/text.h"

static bool is_kept_word(const char *text)
{
    return text_equal_nocase(text, "unset") || text_equal_nocase(text, "baseline");
}

static bool is_integer(const char *text, bool *has_unit)
{
    int64_t number = 0;
    struct err ignored;
    *has_unit = false;
    return units_parse_int(text, &number, &ignored);
}

static bool is_size(const char *text, bool *has_unit)
{
    int64_t number = 0;
    struct err ignored;
    return units_parse_size(text, 1, &number, has_unit, &ignored);
}

static bool is_duration(const char *text, bool *has_unit)
{
    int64_t number = 0;
    struct err ignored;
    return units_parse_duration(text, 1, &number, has_unit, &ignored);
}

static bool is_real(const char *text, bool *has_unit)
{
    double number = 0;
    struct err ignored;
    *has_unit = false;
    return units_parse_real(text, &number, &ignored);
}

static const struct {
    bool (*reads)(const char *text, bool *has_unit);
    enum knob_type type;
    enum unit unit;
    bool needs_unit; /* of one value at least */
} kinds[] = {
    {is_integer, KNOB_INTEGER, UNIT_NONE, false},
    {is_size, KNOB_INTEGER, UNIT_BYTES, true},
    {is_duration, KNOB_INTEGER, UNIT_US, true},
    {is_real, KNOB_REAL, UNIT_NONE, false},
};

static bool all_are(const struct table_column *column, size_t kind)
{
    bool has_any = false;
    bool is_seen = false;
    for (size_t i = 0; i < column->count; i++) {
        bool has_unit = false;
        if (is_kept_word(column->texts[i])) {
            continue;
        }
        if (!kinds[kind].reads(column->texts[i], &has_unit)) {
            return false;
        }
        has_any = has_any || has_unit;
        is_seen = true;
    }
    return is_seen && (has_any || !kinds[kind].needs_unit);
}

static void set_type(struct table_column *column)
{
    struct knob *knob = &column->knob;
    knob->type = KNOB_ENUM;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (all_are(column, i)) {
            knob->type = kinds[i].type;
            knob->unit = kinds[i].unit;
            return;
        }
    }
}

/* Numbers in their canonical form, words as they are. */
static bool set_choices(struct table_column *column, struct arena *arena, struct err *err)
{
    struct text text;
    text_open(&text, arena);
    for (size_t i = 0; i < column->count; i++) {
        if (is_kept_word(column->texts[i])) {
            continue;
        }
        const char *choice = column->knob.type == KNOB_ENUM
                                 ? column->texts[i]
                                 : value_canonical(&column->knob, &column->values[i], arena);
        if (choice == NULL) {
            return err_memory(err);
        }
        if (choice[0] == '\0' || strpbrk(choice, "|,\t\r\n") != NULL) {
            return err_set(
                err, ERR_CODE_config_syntax,
                "column %.80s: \"%.80s\" cannot be a value: it is empty or holds | or , or is "
                "longer than a line",
                column->knob.name, choice);
        }
        text_addf(&text, "%s%s", text.size > 0 ? "|" : "", choice);
    }
    column->knob.choices = text_done(&text);
    return column->knob.choices != NULL || err_memory(err);
}

static bool parse_values(struct table_column *column, struct arena *arena, struct err *err)
{
    for (size_t i = 0; i < column->count; i++) {
        if (!value_parse(&column->knob, column->texts[i], NULL, arena, &column->values[i], err)) {
            err->code = ERR_CODE_config_syntax;
            return err_while(err, "reading column %s", column->knob.name);
        }
    }
    return true;
}

bool table_type_column(struct table_column *column, struct arena *arena, struct err *err)
{
    column->knob.bare = 1;
    column->knob.min = -INFINITY;
    column->knob.max = INFINITY;
    column->knob.specials = "";
    column->knob.choices = "";
    column->knob.apply = KNOB_RESTART;
    column->knob.durability = "";
    column->knob.versions = "";
    column->knob.sentence = "a column of the replayed source";
    column->knob.source = "the replayed source";
    column->knob.danger = "";
    column->values = ARENA_ARRAY(arena, struct value, column->count + 1);
    if (column->values == NULL) {
        return err_memory(err);
    }
    set_type(column);
    /* Words are checked against the choices, and the choices of numbers are made of the values. */
    return column->knob.type == KNOB_ENUM
               ? set_choices(column, arena, err) && parse_values(column, arena, err)
               : parse_values(column, arena, err) && set_choices(column, arena, err);
}
