/*
 * Parts of the local driver, for each other: processes (local.c), files (local_file.c) and facts
 * (local_facts.c) of this machine.
 */
#ifndef SWEEPER_HOST_LOCAL_H
#define SWEEPER_HOST_LOCAL_H

#include <unistd.h>

#include "sweeper/host/host.h"

extern const struct host_driver host_local;

struct local_host {
    struct host host;
    struct arena arena; /* holds this struct */
    bool sudo;          /* asked for, and this user is not root already */
};

/* For CLEANUP: a descriptor that is a local; negative: none. */
static inline void local_descriptor_close(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* Files with the rights of this process; the contract is host_driver's. */
bool local_get(const char *path, int64_t deadline, struct arena *arena, struct bytes *out,
               struct host_file *out_file, struct err *err) MUST_USE;
bool local_put(const char *path, struct bytes content, const struct host_file *as, bool create,
               int64_t deadline, struct err *err) MUST_USE;
bool local_claim(const char *path, struct bytes content, int64_t deadline, bool *out_created,
                 struct err *err) MUST_USE;
bool local_remove(const char *path, struct err *err) MUST_USE;

bool local_facts(const char *path, struct arena *arena, struct host_facts *out,
                 struct err *err) MUST_USE;
/* Memory of the machine under `root` ("" for this one), or the limit of this process's control
 * group where that is lower; 0: unknown. */
int64_t local_memory_bytes(const char *root);
/* File system ("ext4 rw,relatime") and device of an absolute path, from text in the form of
 * /proc/self/mountinfo; "" where none matches. False where memory ended. */
bool local_mount_of(const char *mountinfo, const char *path, struct arena *arena,
                    const char **out_filesystem, const char **out_device) MUST_USE;

#endif
