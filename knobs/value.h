/*
 * A knob's value: as asked (text) and in canonical form (what is compared).
 */
#ifndef KNOBS_VALUE_H
#define KNOBS_VALUE_H

#include "knobs/knob.h"
#include "sweeper/base/arena.h"
#include "sweeper/base/err.h"

enum value_kind {
    VALUE_BASELINE, /* the value as found; nothing is written. Zero-initialised values are this */
    VALUE_UNSET,    /* the line is removed: the server's default */
    VALUE_INTEGER,  /* KNOB_INTEGER in canonical units; KNOB_BOOL as 0 or 1 */
    VALUE_REAL,
    VALUE_TEXT /* enums (in the catalogue's spelling) and text */
};

struct value {
    enum value_kind kind;
    int64_t integer;
    double real;
    const char *text;  /* canonical text of VALUE_TEXT, else NULL */
    const char *asked; /* as the sweep file wrote it ("8G", "25% of host.memory"); never NULL once
                          parsed */
};

/* One knob with one value: what a point consists of and what backends apply. */
struct setting {
    const struct knob *knob;
    struct value value;
};

/* Facts that "25% of host.memory" and rules refer to. */
struct value_facts {
    int64_t host_memory_bytes; /* 0: not known */
    int64_t host_cpu_count;    /* 0: not known */
};

/* Parses `text` as a value of the knob: "unset", "baseline", "N% of host.memory",
 * "N% of host.cpus", or a literal of the knob's type with units; checks range, specials and
 * choices. Rounds "N% of" down to a whole canonical unit of the knob (to a multiple of knob->bare
 * where |bare| > 1). Blanks around anything but text are ignored. Enums take the catalogue's
 * spelling in any case and, where they have on or off, the words of value_truth_word. Errors:
 * number, knob_value. Text values may hold no control characters, and neither "unset" nor
 * "baseline" can be a text. facts may be NULL: nothing known. */
bool value_parse(const struct knob *knob, const char *text, const struct value_facts *facts,
                 struct arena *arena, struct value *out, struct err *err) MUST_USE;

/* Compares canonical forms; reals within 1e-9 relative. BASELINE and UNSET equal only their
 * kind. Text without case for enums, exact for text. */
bool value_equal(const struct knob *knob, const struct value *a, const struct value *b);

/* Canonical number of an INTEGER or REAL value; false for other kinds. */
bool value_number(const struct value *value, double *out);

/* Canonical text, the same for equal values: "8589934592", "0.5", "on", "unset", "baseline".
 * Reals are written with at most 12 significant digits, so that 0.1 + 0.2 is "0.3". Used in keys
 * and in the store's `canonical` columns. NULL where memory ends. */
const char *value_canonical(const struct knob *knob, const struct value *value,
                            struct arena *arena);
/* For people: with units ("8G", "90s"), "unset", "baseline". NULL where memory ends. */
const char *value_display(const struct knob *knob, const struct value *value, struct arena *arena);

/* Rank of the value in knob->durability, 0 = most durable; 0 too where the knob has none and for
 * BASELINE. What the order does not name, UNSET among it (the server's default is not known
 * here), ranks as its "*", or behind everything where it has none. */
int value_durability(const struct knob *knob, const struct value *value);

/* To the 12 significant digits of the canonical text. */
double value_round_real(double real);
/* "on", "true", "yes", "1" and "off", "false", "no", "0" in any case; false for other words. */
bool value_truth_word(const char *word, bool *out);

#endif
