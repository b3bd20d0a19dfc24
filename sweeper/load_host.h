/*
 * Where the workload is driven from: this machine, or the load hosts of the sweep file.
 */
#ifndef SWEEPER_LOAD_HOST_H
#define SWEEPER_LOAD_HOST_H

#include "sweeper/load/load.h"
#include "sweeper/sweepfile.h"

struct load_hosts {
    struct load_place *places; /* the first one also prepares and checks the data */
    size_t count;
};

/* Opens them and, where they are other machines, proves that dbsweep of this version is there;
 * where that fails none is open. Errors: those of hosts; unsupported. */
bool load_hosts_open(const struct sweep *sweep, struct arena *arena, struct load_hosts *out,
                     struct err *err) MUST_USE;
void load_hosts_close(struct load_hosts *hosts); /* zeroed is fine */

#endif
