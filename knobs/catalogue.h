/*
 * The catalogues: for every system that dbsweep configures, the knobs it knows by heart.
 *
 * One row per knob in knobs/SYSTEM.def, one line per system in catalogue.c. A row says what is
 * true of every version named in it; the live server's own catalogue overrules it.
 */
#ifndef KNOBS_CATALOGUE_H
#define KNOBS_CATALOGUE_H

#include "knobs/knob.h"

/* The system's knobs in the order of the manual, or NULL and 0 where there is no such catalogue. */
const struct knob *catalogue_knobs(const char *system, size_t *count);

/* The name of the index-th system with a catalogue; NULL behind the last. */
const char *catalogue_system(size_t index);

#endif
