/*
 * A knob: one setting of the server, of its host, or of the workload, with the type and unit in
 * which its values are compared. Each system's catalogue is a .def file, one row per knob with
 * its source; a live server's own catalogue completes and overrules the row.
 */
#ifndef KNOBS_KNOB_H
#define KNOBS_KNOB_H

#include "sweeper/base/base.h"
#include "sweeper/base/units.h"

enum knob_type { KNOB_INTEGER, KNOB_REAL, KNOB_BOOL, KNOB_ENUM, KNOB_TEXT };

/* What it takes to make a value effective. */
enum knob_apply {
    KNOB_RELOAD,  /* a reload is enough */
    KNOB_RESTART, /* a restart */
    KNOB_SESSION, /* set in each connection after it opened */
    KNOB_REBUILD  /* the data must be rewritten (SQLite page_size) */
};

/* How the knob's value adds to the server's memory: for the memory guard. */
enum knob_memory { KNOB_MEMORY_NONE, KNOB_MEMORY_ONCE };

struct knob {
    const char *name;
    enum knob_type type;
    enum unit unit; /* canonical unit of its values */
    /* Canonical units that a bare number counts: 8192 for 8 kB pages, 1 for none. Negative where
     * only negative bare numbers have a size: -1024 for SQLite's cache_size, whose -2000 is
     * 2000 KiB. Rendering is canonical / bare either way. */
    int64_t bare;
    double min;           /* canonical; -INFINITY none */
    double max;           /* canonical; INFINITY none */
    const char *specials; /* values outside min..max that mean something: "-1|0", never scaled
                             by bare; "" none */
    /* Enums: "a|b|c"; further spellings of one choice follow it after commas, "OFF,0|FULL,2".
     * Numbers: the only canonical values allowed, "512|1024", where not every value between
     * min and max is. "" otherwise. */
    const char *choices;
    enum knob_apply apply;
    enum knob_memory memory;
    /* From the most durable value to the least, "on,remote_apply|local|off"; values between bars
     * are equally durable, "*" is any other; "" where durability does not depend on it. */
    const char *durability;
    const char *versions; /* "9.6-18", "" = all that the adapter knows */
    const char *sentence; /* what it does, one sentence */
    const char *source;   /* manual page and version */
    /* "" or why it is never swept without an explicit opt-in. */
    const char *danger;
};

/* The row of a knob that no catalogue knows: any value, effective after a restart, no memory,
 * durability or danger of its own. source: who says so. The names are kept by reference. */
struct knob knob_unlisted(const char *name, enum knob_type type, enum unit unit,
                          const char *sentence, const char *source);

const char *knob_type_name(enum knob_type type);    /* "integer", "real", "bool", "enum", "text" */
const char *knob_apply_name(enum knob_apply apply); /* "reload", "restart", "session", "rebuild" */

/* The row of that name (ASCII case ignored), or NULL. */
const struct knob *knob_find(const struct knob *knobs, size_t count, const char *name);
/* The nearest known name, or NULL where none is near enough to propose (as text_nearest). */
const char *knob_nearest(const struct knob *knobs, size_t count, const char *name);

/* The next piece of a row's list ("a|b|c" by '|', "a,b" by ','); *rest starts as the list and
 * moves behind the piece. False at the end; an empty list has no piece. */
bool knob_list_next(struct bytes *rest, char separator, struct bytes *out);
/* The whole list, to start knob_list_next with. */
struct bytes knob_list(const char *list);

#endif
