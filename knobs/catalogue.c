/*
 * The catalogues, put together from one .def file per system.
 *
 * KNOB(name, type, unit, bare, min, max, specials, choices, apply, memory, durability, versions,
 *      sentence, source, danger): the fields of struct knob (knobs/knob.h) in their order, the
 * enumerations without their prefixes. min and max are canonical: bytes, microseconds.
 */
#include "knobs/catalogue.h"

#include <math.h>
#include <string.h>

#define KNOB(name_, type_, unit_, bare_, min_, max_, specials_, choices_, apply_, memory_,         \
             durability_, versions_, sentence_, source_, danger_)                                  \
    {.name = (name_),                                                                              \
     .type = KNOB_##type_,                                                                         \
     .unit = UNIT_##unit_,                                                                         \
     .bare = (bare_),                                                                              \
     .min = (min_),                                                                                \
     .max = (max_),                                                                                \
     .specials = (specials_),                                                                      \
     .choices = (choices_),                                                                        \
     .apply = KNOB_##apply_,                                                                       \
     .memory = KNOB_MEMORY_##memory_,                                                              \
     .durability = (durability_),                                                                  \
     .versions = (versions_),                                                                      \
     .sentence = (sentence_),                                                                      \
     .source = (source_),                                                                          \
     .danger = (danger_)},

static const struct knob mysql_knobs[] = {
#include "knobs/mysql.def"
};

static const struct knob postgresql_knobs[] = {
#include "knobs/postgresql.def"
};

static const struct knob sqlite_knobs[] = {
#include "knobs/sqlite.def"
};

struct catalogue {
    const char *system;
    const struct knob *knobs;
    size_t count;
};

static const struct catalogue catalogues[] = {
    {"mysql", mysql_knobs, COUNT_OF(mysql_knobs)},
    {"postgresql", postgresql_knobs, COUNT_OF(postgresql_knobs)},
    {"sqlite", sqlite_knobs, COUNT_OF(sqlite_knobs)},
};

const struct knob *catalogue_knobs(const char *system, size_t *count)
{
    for (size_t i = 0; i < COUNT_OF(catalogues); i++) {
        if (strcmp(catalogues[i].system, system) == 0) {
            *count = catalogues[i].count;
            return catalogues[i].knobs;
        }
    }
    *count = 0;
    return NULL;
}

const char *catalogue_system(size_t index)
{
    return index < COUNT_OF(catalogues) ? catalogues[index].system : NULL;
}
