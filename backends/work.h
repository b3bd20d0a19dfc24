/*
 * What a server has put off, from its counters: how far it is in its cycles, and what is left to do
 * once the load is over. A setting can win by putting off what others do at once.
 */
#ifndef BACKENDS_WORK_H
#define BACKENDS_WORK_H

#include "backends/backend.h"

/* The counter of that name, whatever its case; NAN where there is none. */
double counter_value(const struct counter *counters, size_t count, const char *name);

/* NAN everywhere: nothing is known. */
struct server_work server_work_unknown(void);

#endif
