/*
 * Rows of the catalogues: names of their enumerations, look-up and lists within a row.
 *
 * Catalogues hold at most a few hundred rows, so a look-up walks them.
 */
#include "knobs/knob.h"

#include <math.h>
#include <string.h>

#include "sweeper/base/text.h"

struct knob knob_unlisted(const char *name, enum knob_type type, enum unit unit,
                          const char *sentence, const char *source)
{
    return (struct knob){.name = name,
                         .type = type,
                         .unit = unit,
                         .bare = 1,
                         .min = -INFINITY,
                         .max = INFINITY,
                         .specials = "",
                         .choices = "",
                         .apply = KNOB_RESTART,
                         .durability = "",
                         .versions = "",
                         .sentence = sentence,
                         .source = source,
                         .danger = ""};
}

const char *knob_type_name(enum knob_type type)
{
    static const char *const names[] = {
        [KNOB_INTEGER] = "integer", [KNOB_REAL] = "real", [KNOB_BOOL] = "bool",
        [KNOB_ENUM] = "enum",       [KNOB_TEXT] = "text",
    };
    assert((size_t)type < COUNT_OF(names));
    return names[type];
}

const char *knob_apply_name(enum knob_apply apply)
{
    static const char *const names[] = {
        [KNOB_RELOAD] = "reload",
        [KNOB_RESTART] = "restart",
        [KNOB_SESSION] = "session",
        [KNOB_REBUILD] = "rebuild",
    };
    assert((size_t)apply < COUNT_OF(names));
    return names[apply];
}

const struct knob *knob_find(const struct knob *knobs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal_nocase(knobs[i].name, name))
            return &knobs[i];
    }
    return NULL;
}

/* As text_nearest, without an array of names that would have to be allocated. */
const char *knob_nearest(const struct knob *knobs, size_t count, const char *name)
{
    const char *nearest = NULL;
    size_t best = 1 + strlen(name) / 3;
    for (size_t i = 0; i < count; i++) {
        size_t distance = text_distance(name, knobs[i].name);
        if (distance < best || (distance == best && nearest == NULL)) {
            best = distance;
            nearest = knobs[i].name;
        }
    }
    return nearest;
}

struct bytes knob_list(const char *list)
{
    return (struct bytes){.data = list, .size = strlen(list)};
}

bool knob_list_next(struct bytes *rest, char separator, struct bytes *out)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, separator, rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    size_t taken = end == NULL ? size : size + 1;
    *out = (struct bytes){.data = rest->data, .size = size};
    rest->data += taken;
    rest->size -= taken;
    return true;
}
