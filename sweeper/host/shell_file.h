/*
 * Files of a host through commands only: for a host that reaches its files with `sudo -n`, and for
 * transports without a file protocol. Each function runs one constant /bin/sh script, given as an
 * argument, with paths as further arguments and the content alone on standard input. The contract
 * of each is host_driver's function of that name.
 */
#ifndef SWEEPER_HOST_SHELL_FILE_H
#define SWEEPER_HOST_SHELL_FILE_H

#include "sweeper/host/host.h"

/* Most bytes of a file that `get` takes, in every driver. */
#define HOST_FILE_LIMIT_BYTES ((size_t)64 * 1024 * 1024)

bool shell_file_get(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                    struct bytes *out, struct host_file *out_file, struct err *err) MUST_USE;
bool shell_file_put(struct host *host, const char *path, struct bytes content,
                    const struct host_file *as, bool create, int64_t deadline,
                    struct err *err) MUST_USE;
bool shell_file_claim(struct host *host, const char *path, struct bytes content, int64_t deadline,
                      bool *out_created, struct err *err) MUST_USE;
bool shell_file_remove(struct host *host, const char *path, int64_t deadline,
                       struct err *err) MUST_USE;

#endif
