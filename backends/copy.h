/*
 * A copy of a data directory beside it, for servers whose data are a directory: made and put back
 * while the server is stopped.
 */
#ifndef BACKENDS_COPY_H
#define BACKENDS_COPY_H

#include "sweeper/host/host.h"

struct data_copy {
    struct host *host;
    const char *directory;
    /* Shell lines, run before the first copy: `refuse WORDS` where data lie outside of "$data". */
    const char *checks;
    /* Shell patterns of what is no data: kept as it is when the copy is put back. */
    const char *kept;
};

bool data_copy_make(const struct data_copy *copy, int64_t deadline, struct err *err) MUST_USE;
/* `paths`: files that are kept too, where they lie below the directory; entries may be NULL. */
bool data_copy_put_back(const struct data_copy *copy, const char *const *paths, size_t count,
                        int64_t deadline, struct err *err) MUST_USE;
/* A swap that died between its two renames leaves no data directory: puts it back. One that goes
 * on without us is waited for. */
bool data_copy_mend(const struct data_copy *copy, int64_t deadline, struct err *err) MUST_USE;
bool data_copy_drop(const struct data_copy *copy, int64_t deadline, struct err *err) MUST_USE;

#endif
