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
    enum unit unit;     /* canonical unit of its values */
    int64_t bare;       /* canonical units that a bare number counts: 8192 for 8 kB pages, 1 */
    double min;         /* canonical; -INFINITY none */
    double max;         /* canonical; INFINITY none */
    const char *specials; /* values outside min..max that mean something: "-1|0"; "" none */
    const char *choices; /* enums: "a|b|c"; "" otherwise */
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

const char *knob_type_name(enum knob_type type);   /* "integer", "real", "bool", "enum", "text" */
const char *knob_apply_name(enum knob_apply apply); /* "reload", "restart", "session", "rebuild" */

/* The row of that name (ASCII case ignored), or NULL. */
const struct knob *knob_find(const struct knob *knobs, size_t count, const char *name);
/* The nearest known name, or NULL. */
const char *knob_nearest(const struct knob *knobs, size_t count, const char *name);

#endif
