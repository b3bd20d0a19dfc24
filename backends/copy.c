/*
 * A copy of the data directory beside it, DATA.dbsweep-snapshot, made and put back while the
 * server is stopped. A marker beside the copy is written last, so that half a copy is never put
 * back. Putting back builds DATA.dbsweep-new (the copy, with the configuration, logs and our own
 * files as they are now), then swaps by rename; each step may be repeated after it died. A script
 * outlives a dbsweep that is killed: each holds DATA.dbsweep-busy locked (flock(1)), so that the
 * next one waits for its end instead of starting a server whose data are swapped a minute later.
 * Scripts are constant; what varies is passed as arguments.
 */
#include "backends/copy.h"

#include <string.h>

#include "sweeper/base/text.h"

/* $1 is the data directory in all of them; $2 of the first copy are the checks. */
#define LOCK_COPY "exec 9>>\"$data.dbsweep-busy\"; flock 9\n"

/* Where no copy was ever made, nothing can be locked, and beside the data perhaps not written. */
static const char mend_script[] = "set -eu\n"
                                  "data=$(readlink -m -- \"$1\")\n"
                                  "busy=$data.dbsweep-busy\n"
                                  "if [ -e \"$busy\" ]; then exec 9<\"$busy\"; flock 9; fi\n"
                                  "if [ ! -e \"$data\" ] && [ -d \"$data.dbsweep-old\" ]; then\n"
                                  "  mv -T -- \"$data.dbsweep-old\" \"$data\"\n"
                                  "fi\n";

static const char snapshot_script[] =
    "set -eu\n"
    "refuse() { echo \"$1\"; exit 9; }\n"
    "data=$(readlink -f -- \"$1\")\n"
    "copy=$data.dbsweep-snapshot\n"
    "if mountpoint -q -- \"$data\"; then refuse \"$data is a mount point\"; fi\n"
    "eval \"$2\"\n" LOCK_COPY "rm -f -- \"$copy.complete\"\n"
    "rm -rf -- \"$copy\"\n"
    "cp -a --reflink=auto -- \"$data\" \"$copy\"\n"
    "sync -f -- \"$copy\"\n"
    ": >\"$copy.complete\"\n"
    "sync -- \"$copy.complete\"\n";

/* $2: patterns, $3 and further: files to keep as they are, relative to the data directory. What the
 * server or its administrator wrote about itself is no data. */
static const char rollback_script[] =
    "set -eu\n"
    "data=$(readlink -f -- \"$1\")\n"
    "kept=$2\n"
    "shift 2\n"
    "copy=$data.dbsweep-snapshot\n"
    "new=$data.dbsweep-new\n"
    "old=$data.dbsweep-old\n" LOCK_COPY
    "[ -e \"$copy.complete\" ] || { echo \"$copy is not complete\" >&2; exit 1; }\n"
    "rm -rf -- \"$new\" \"$old\"\n"
    "cp -a --reflink=auto -- \"$copy\" \"$new\"\n"
    "cd -- \"$data\"\n"
    "for name in $kept \"$@\"; do\n"
    "  if [ -e \"$new/$name\" ] || [ -L \"$new/$name\" ]; then rm -rf -- \"${new:?}/$name\"; fi\n"
    "  if [ -e \"$name\" ] || [ -L \"$name\" ]; then cp -a --reflink=auto -- \"$name\" "
    "\"$new/$name\"; fi\n"
    "done\n"
    "cd /\n"
    "sync -f -- \"$new\"\n"
    /* One step where mv can (coreutils 9.5), else two with the mend above between them. */
    "if mv --exchange -T -- \"$new\" \"$data\" 2>/dev/null; then\n"
    "  rm -rf -- \"$new\"\n"
    "else\n"
    "  mv -T -- \"$data\" \"$old\"\n"
    "  mv -T -- \"$new\" \"$data\"\n"
    "  rm -rf -- \"$old\"\n"
    "fi\n";

static const char drop_script[] = "set -eu\n"
                                  "data=$(readlink -f -- \"$1\")\n"
                                  "rm -f -- \"$data.dbsweep-snapshot.complete\"\n"
                                  "rm -rf -- \"$data.dbsweep-snapshot\" \"$data.dbsweep-new\"\n"
                                  "if [ -e \"$data\" ]; then rm -rf -- \"$data.dbsweep-old\"; fi\n"
                                  "rm -f -- \"$data.dbsweep-busy\"\n";

enum { ARGUMENT_LIMIT = 8, STATUS_REFUSED = 9, SCRATCH_BYTES = 4 << 20 };

/* The script as it stands in an error would hide what went wrong: its last words are told. */
static bool judge(const struct host_result *result, const char *what, struct err *err)
{
    if (result->exit_status == 0) {
        return true;
    }
    if (result->timed_out) {
        return err_set(err, ERR_CODE_timeout, "%s did not end in time", what);
    }
    if (result->exit_status == STATUS_REFUSED) {
        err_set(err, ERR_CODE_unsupported, "no copy of the data is possible: %.*s",
                (int)strcspn(result->output, "\n"), result->output);
        return err_hint(err, "workload.reset = \"reload\" or \"command\"");
    }
    err_set(err, ERR_CODE_command_failed, "%s failed: %.400s", what,
            result->error_size > 0 ? result->error_text : "no reason given");
    return err_native(err, result->exit_status, "exit");
}

static bool run(const struct data_copy *copy, const char *script, const char *const *arguments,
                size_t count, int64_t deadline, const char *what, struct err *err)
{
    CLEANUP(arena_close) struct arena scratch;
    struct host_result result;
    const char *argv[ARGUMENT_LIMIT + 6] = {"/bin/sh", "-c", script, "dbsweep"};
    size_t used = 4;
    arena_open(&scratch, SCRATCH_BYTES);
    assert(count <= ARGUMENT_LIMIT);
    argv[used++] = copy->directory;
    for (size_t i = 0; i < count; i++) {
        argv[used++] = arguments[i];
    }
    argv[used] = NULL;
    const struct host_command command = {.argv = argv, .deadline = deadline, .until_stop = true};
    return host_run(copy->host, &command, &scratch, &result, err) && judge(&result, what, err);
}

bool data_copy_mend(const struct data_copy *copy, int64_t deadline, struct err *err)
{
    return run(copy, mend_script, NULL, 0, deadline, "looking for the data directory", err);
}

bool data_copy_make(const struct data_copy *copy, int64_t deadline, struct err *err)
{
    return run(copy, snapshot_script, &copy->checks, 1, deadline, "copying the data directory",
               err);
}

/* Below the data directory, or NULL. */
static const char *relative_to(const char *directory, const char *path)
{
    size_t size = strlen(directory);
    bool is_below = path != NULL && text_starts_with(path, directory) && path[size] == '/';
    return is_below ? path + size + 1 : NULL;
}

bool data_copy_put_back(const struct data_copy *copy, const char *const *paths, size_t count,
                        int64_t deadline, struct err *err)
{
    const char *arguments[ARGUMENT_LIMIT] = {copy->kept};
    size_t used = 1;
    for (size_t i = 0; i < count && used < ARGUMENT_LIMIT; i++) {
        const char *name = relative_to(copy->directory, paths[i]);
        if (name != NULL) {
            arguments[used++] = name;
        }
    }
    return data_copy_mend(copy, deadline, err) &&
           run(copy, rollback_script, arguments, used, deadline,
               "putting the copy of the data directory back", err);
}

bool data_copy_drop(const struct data_copy *copy, int64_t deadline, struct err *err)
{
    return data_copy_mend(copy, deadline, err) &&
           run(copy, drop_script, NULL, 0, deadline, "removing the copy of the data directory",
               err);
}
