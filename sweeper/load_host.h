/*
 * Where the workload is driven from: this machine, or the load host of the sweep file.
 */
#ifndef SWEEPER_LOAD_HOST_H
#define SWEEPER_LOAD_HOST_H

#include "sweeper/sweepfile.h"

/* Opens it and, where it is another machine, proves that dbsweep of this version is there. Errors:
 * those of hosts; unsupported. */
bool load_host_open(const struct sweep *sweep, struct arena *arena, struct host **out,
                    struct err *err) MUST_USE;

#endif
