/*
 * Files of this machine, with the rights of this process. A file is replaced by a draft written
 * beside it, dressed as the old one (owner, mode, access list, label), synced, compared and renamed
 * over it: whatever fails on the way, the old file stays whole and the draft is removed. A draft's
 * name begins with a dot and ends in ".tmp", so that no server reads it as configuration. No
 * retries, no merging: whether the file is still the one that was read is for the caller to know.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "sweeper/host/local.h"
#include "sweeper/host/shell_file.h"

#define PIECE_BYTES ((size_t)256 * 1024)
#define FIRST_READ_BYTES ((size_t)4096) /* where the size says nothing, as in /proc */
#define LABEL_BYTES 256
#define ACL_BYTES 4096
#define LABEL_NAME "security.selinux"
#define ACL_NAME "system.posix_acl_access"

/* Where a path leads. */
struct place {
    char real[PATH_MAX];
    const char *name; /* last part of real */
    int directory;    /* its directory, open */
    bool exists;
    struct stat old; /* where it exists */
};

/* A file in the making; removed unless `name` was emptied. */
struct draft {
    int directory; /* the place's, not owned */
    int descriptor;
    char name[48];
};

static void place_close(struct place *place)
{
    local_descriptor_close(&place->directory);
}

static void draft_close(struct draft *draft)
{
    local_descriptor_close(&draft->descriptor);
    if (draft->name[0] != '\0')
        unlinkat(draft->directory, draft->name, 0);
    draft->name[0] = '\0';
}

/* A failed system call, from errno. */
static bool file_error(struct err *err, const char *path, const char *what)
{
    const int number = errno;
    bool is_missing = number == ENOENT || number == ENOTDIR;
    err_set_errno(err, is_missing ? ERR_CODE_not_found : ERR_CODE_host_file, "cannot %s '%s'", what,
                  path);
    if ((number == EACCES || number == EPERM) && geteuid() != 0)
        err_hint(err, "set sudo = true for this host, or run as a user who may");
    return err_origin(err, "local");
}

static bool file_refused(struct err *err, enum err_code code, const char *path, const char *why)
{
    err_set(err, code, "'%s' %s", path, why);
    return err_origin(err, "local");
}

static bool deadline_error(struct err *err, const char *path)
{
    return file_refused(err, ERR_CODE_timeout, path, "was not done in time");
}

/* --- reading ---------------------------------------------------------------------------------- */

static ssize_t read_again(int descriptor, void *buffer, size_t size)
{
    ssize_t got;
    do {
        got = read(descriptor, buffer, size);
    } while (got < 0 && errno == EINTR);
    return got;
}

static char *grown(struct arena *arena, const char *data, size_t used, size_t capacity)
{
    char *larger = arena_alloc(arena, capacity + 1);
    if (larger != NULL && used > 0)
        memcpy(larger, data, used);
    return larger;
}

/* All bytes until the end; `expected` is what the size says, and may be wrong. */
static bool read_all(int descriptor, const char *path, size_t expected, int64_t deadline,
                     struct arena *arena, struct bytes *out, struct err *err)
{
    size_t capacity = expected < FIRST_READ_BYTES ? FIRST_READ_BYTES : expected + 1;
    size_t used = 0;
    char *data = grown(arena, NULL, 0, capacity);
    while (data != NULL) {
        if (clock_passed(deadline))
            return deadline_error(err, path);
        size_t room = capacity - used;
        ssize_t got = read_again(descriptor, data + used, room < PIECE_BYTES ? room : PIECE_BYTES);
        if (got < 0)
            return file_error(err, path, "read");
        if (got == 0) {
            *out = (struct bytes){.data = data, .size = used};
            return true;
        }
        used += (size_t)got;
        if (used > HOST_FILE_LIMIT_BYTES)
            return file_refused(err, ERR_CODE_host_file, path, "is larger than 64 MiB");
        if (used == capacity) {
            capacity *= 2;
            data = grown(arena, data, used, capacity);
        }
    }
    return err_memory(err);
}

static const char *label_of(const char *real, struct arena *arena)
{
    char label[LABEL_BYTES];
    ssize_t size = lgetxattr(real, LABEL_NAME, label, sizeof label - 1);
    label[size > 0 ? size : 0] = '\0';
    return arena_strdup(arena, label);
}

static bool open_regular(const char *real, int *out, struct stat *out_facts, struct err *err)
{
    /* not blocking: a fifo must be refused, not waited for */
    *out = open(real, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (*out < 0 || fstat(*out, out_facts) != 0)
        return file_error(err, real, "open");
    if (!S_ISREG(out_facts->st_mode))
        return file_refused(err, ERR_CODE_host_file, real, "is not a regular file");
    if (out_facts->st_size > (off_t)HOST_FILE_LIMIT_BYTES)
        return file_refused(err, ERR_CODE_host_file, real, "is larger than 64 MiB");
    return true;
}

bool local_get(const char *path, int64_t deadline, struct arena *arena, struct bytes *out,
               struct host_file *out_file, struct err *err)
{
    char real[PATH_MAX];
    int descriptor CLEANUP(local_descriptor_close) = -1;
    struct stat facts = {.st_size = 0};
    if (realpath(path, real) == NULL)
        return file_error(err, path, "find");
    if (!open_regular(real, &descriptor, &facts, err) ||
        !read_all(descriptor, real, (size_t)facts.st_size, deadline, arena, out, err))
        return false;
    if (out_file == NULL)
        return true;
    *out_file = (struct host_file){
        .mode = facts.st_mode & 07777,
        .uid = facts.st_uid,
        .gid = facts.st_gid,
        .size_bytes = (int64_t)out->size,
        .real_path = arena_strdup(arena, real),
        .selinux = label_of(real, arena),
        .link_count = (unsigned)facts.st_nlink,
    };
    host_sha256(*out, out_file->sha256);
    return out_file->real_path != NULL && out_file->selinux != NULL ? true : err_memory(err);
}

/* --- the place -------------------------------------------------------------------------------- */

/* The real directory of a path that leads to nothing yet, and its last part. */
static bool resolve_missing(struct place *place, const char *path, struct err *err)
{
    struct stat facts;
    if (lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode))
        return file_refused(err, ERR_CODE_host_file, path, "is a symbolic link to nothing");
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    char parent[PATH_MAX] = ".";
    if (slash != NULL) {
        size_t size = slash == path ? 1 : (size_t)(slash - path);
        if (size >= sizeof parent)
            return file_refused(err, ERR_CODE_host_file, path, "is too long a path");
        memcpy(parent, path, size);
        parent[size] = '\0';
    }
    char real[PATH_MAX];
    if (realpath(parent, real) == NULL)
        return file_error(err, parent, "find the directory");
    int size = snprintf(place->real, sizeof place->real, "%s/%s",
                        strcmp(real, "/") == 0 ? "" : real, name);
    if (name[0] == '\0' || size < 0 || (size_t)size >= sizeof place->real)
        return file_refused(err, ERR_CODE_host_file, path, "is no name for a file");
    return true;
}

static bool place_open(struct place *place, const char *path, struct err *err)
{
    place->exists = realpath(path, place->real) != NULL;
    if (!place->exists && errno != ENOENT)
        return file_error(err, path, "find");
    if (!place->exists && !resolve_missing(place, path, err))
        return false;
    char directory[PATH_MAX];
    char *slash = strrchr(place->real, '/');
    size_t size = (size_t)(slash - place->real);
    memcpy(directory, place->real, size);
    directory[size] = '\0';
    place->name = slash + 1;
    if (place->name[0] == '\0')
        return file_refused(err, ERR_CODE_host_file, path, "is not a regular file");
    place->directory =
        open(size == 0 ? "/" : directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (place->directory < 0)
        return file_error(err, size == 0 ? "/" : directory, "open the directory");
    if (place->exists &&
        fstatat(place->directory, place->name, &place->old, AT_SYMLINK_NOFOLLOW) != 0)
        return file_error(err, place->real, "examine");
    return true;
}

/* A flag that lets nobody change the file, root included; file systems without flags have none. */
static bool is_immutable(const struct place *place)
{
    struct statx facts;
    if (statx(place->directory, place->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &facts) != 0)
        return false;
    return (facts.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
}

static bool place_may_be_replaced(const struct place *place, bool create, struct err *err)
{
    const char *path = place->real;
    if (!place->exists)
        return create || file_refused(err, ERR_CODE_not_found, path, "does not exist");
    if (!S_ISREG(place->old.st_mode))
        return file_refused(err, ERR_CODE_host_file, path, "is not a regular file");
    if (place->old.st_nlink > 1) {
        file_refused(err, ERR_CODE_host_file, path,
                     "has several names (hard links), and replacing one would part them");
        return err_hint(err, "give each name its own copy of the file");
    }
    if (is_immutable(place)) {
        file_refused(err, ERR_CODE_host_file, path,
                     "is marked immutable or append-only by its file system");
        return err_hint(err, "chattr -i -a '%s' takes the mark away", path);
    }
    return true;
}

/* --- the draft -------------------------------------------------------------------------------- */

static bool draft_open(struct draft *draft, const struct place *place, struct err *err)
{
    uint64_t number;
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return file_error(err, place->real, "name a temporary file beside");
    char name[sizeof draft->name];
    snprintf(name, sizeof name, ".dbsweep-%016" PRIx64 ".tmp", number);
    draft->directory = place->directory;
    draft->descriptor =
        openat(place->directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (draft->descriptor < 0)
        return file_error(err, place->real, "create a temporary file beside");
    memcpy(draft->name, name, sizeof name);
    return true;
}

static bool draft_fill(const struct draft *draft, const char *path, struct bytes content,
                       int64_t deadline, struct err *err)
{
    while (content.size > 0) {
        if (clock_passed(deadline))
            return deadline_error(err, path);
        size_t piece = content.size < PIECE_BYTES ? content.size : PIECE_BYTES;
        ssize_t written = write(draft->descriptor, content.data, piece);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return file_error(err, path, "write a new version of");
        content.data += written;
        content.size -= (size_t)written;
    }
    return true;
}

/* The old file's access list, or none, whatever the directory's default list gave the draft. */
static bool dress_access_list(const struct draft *draft, const struct place *place)
{
    char list[ACL_BYTES];
    ssize_t size = -1;
    if (place->exists)
        size = lgetxattr(place->real, ACL_NAME, list, sizeof list);
    if (size >= 0)
        return fsetxattr(draft->descriptor, ACL_NAME, list, (size_t)size, 0) == 0;
    if (place->exists && errno == ERANGE)
        return false;
    return fremovexattr(draft->descriptor, ACL_NAME) == 0 || errno == ENODATA ||
           errno == EOPNOTSUPP;
}

static bool dress_label(const struct draft *draft, const char *label)
{
    char present[LABEL_BYTES];
    if (label == NULL || label[0] == '\0')
        return true;
    ssize_t size = fgetxattr(draft->descriptor, LABEL_NAME, present, sizeof present - 1);
    present[size > 0 ? size : 0] = '\0';
    return strcmp(present, label) == 0 ||
           fsetxattr(draft->descriptor, LABEL_NAME, label, strlen(label) + 1, 0) == 0;
}

/* Owner first: changing it clears bits of the mode; the mode last but the label: it also sets the
 * access list's mask. */
static bool draft_dress(const struct draft *draft, const struct place *place,
                        const struct host_file *as, struct err *err)
{
    char label[LABEL_BYTES] = "";
    mode_t mode = 0600;
    struct stat now;
    if (fstat(draft->descriptor, &now) != 0)
        return file_error(err, place->real, "examine the new version of");
    uid_t uid = as != NULL ? as->uid : place->exists ? place->old.st_uid : now.st_uid;
    gid_t gid = as != NULL ? as->gid : place->exists ? place->old.st_gid : now.st_gid;
    if (as != NULL || place->exists)
        mode = (as != NULL ? as->mode : place->old.st_mode) & 07777;
    if (as == NULL && place->exists) {
        ssize_t size = lgetxattr(place->real, LABEL_NAME, label, sizeof label - 1);
        label[size > 0 ? size : 0] = '\0';
    }
    if ((uid != now.st_uid || gid != now.st_gid) && fchown(draft->descriptor, uid, gid) != 0)
        return file_error(err, place->real, "give its owner to the new version of");
    if (!dress_access_list(draft, place))
        return file_error(err, place->real, "give its access list to the new version of");
    if (fchmod(draft->descriptor, mode) != 0)
        return file_error(err, place->real, "give its mode to the new version of");
    if (!dress_label(draft, as != NULL ? as->selinux : label))
        return file_error(err, place->real, "give its label to the new version of");
    return true;
}

/* Reads all of it and compares. */
static bool holds(int descriptor, const char *path, struct bytes content, struct err *err)
{
    char buffer[16 * 1024];
    size_t at = 0;
    for (;;) {
        ssize_t got = pread(descriptor, buffer, sizeof buffer, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return file_error(err, path, "read again");
        if (got == 0)
            break;
        if ((size_t)got > content.size - at || memcmp(buffer, content.data + at, (size_t)got) != 0)
            return file_refused(err, ERR_CODE_host_file, path, "does not hold what was written");
        at += (size_t)got;
    }
    if (at != content.size)
        return file_refused(err, ERR_CODE_host_file, path, "holds less than was written");
    return true;
}

static bool draft_finish(const struct draft *draft, const char *path, struct bytes content,
                         struct err *err)
{
    if (fsync(draft->descriptor) != 0)
        return file_error(err, path, "sync the new version of");
    return holds(draft->descriptor, path, content, err);
}

static bool directory_sync(int directory, const char *path, struct err *err)
{
    /* some file systems cannot, and say so by EINVAL */
    if (fsync(directory) != 0 && errno != EINVAL)
        return file_error(err, path, "sync the directory of");
    return true;
}

static bool draft_swap(struct draft *draft, const struct place *place, struct err *err)
{
    if (renameat(draft->directory, draft->name, place->directory, place->name) != 0)
        return file_error(err, place->real, "replace");
    draft->name[0] = '\0';
    return directory_sync(place->directory, place->real, err);
}

/* By its name: what others will read. */
static bool place_holds(const struct place *place, struct bytes content, struct err *err)
{
    int descriptor CLEANUP(local_descriptor_close) =
        openat(place->directory, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0 && errno == EACCES)
        return true; /* a mode that its owner may not read; the draft was compared */
    if (descriptor < 0)
        return file_error(err, place->real, "open again");
    return holds(descriptor, place->real, content, err);
}

bool local_put(const char *path, struct bytes content, const struct host_file *as, bool create,
               int64_t deadline, struct err *err)
{
    struct place place CLEANUP(place_close) = {.directory = -1};
    struct draft draft CLEANUP(draft_close) = {.directory = -1, .descriptor = -1};
    return place_open(&place, path, err) && place_may_be_replaced(&place, create, err) &&
           draft_open(&draft, &place, err) &&
           draft_fill(&draft, place.real, content, deadline, err) &&
           draft_dress(&draft, &place, as, err) && draft_finish(&draft, place.real, content, err) &&
           draft_swap(&draft, &place, err) && place_holds(&place, content, err);
}

/* --- claim and remove ------------------------------------------------------------------------- */

bool local_claim(const char *path, struct bytes content, int64_t deadline, bool *out_created,
                 struct err *err)
{
    struct stat facts;
    struct place place CLEANUP(place_close) = {.directory = -1};
    struct draft draft CLEANUP(draft_close) = {.directory = -1, .descriptor = -1};
    *out_created = false;
    if (lstat(path, &facts) == 0)
        return true;
    if (!place_open(&place, path, err))
        return false;
    if (place.exists) /* since the line above */
        return true;
    if (!draft_open(&draft, &place, err) ||
        !draft_fill(&draft, place.real, content, deadline, err) ||
        !draft_dress(&draft, &place, NULL, err) || !draft_finish(&draft, place.real, content, err))
        return false;
    if (linkat(place.directory, draft.name, place.directory, place.name, 0) != 0)
        return errno == EEXIST ? true : file_error(err, place.real, "create");
    draft_close(&draft);
    *out_created = directory_sync(place.directory, place.real, err);
    if (!*out_created)
        unlinkat(place.directory, place.name, 0); /* ours, and nobody would know */
    return *out_created;
}

bool local_remove(const char *path, struct err *err)
{
    if (unlink(path) != 0)
        return errno == ENOENT || errno == ENOTDIR ? true : file_error(err, path, "remove");
    struct place place CLEANUP(place_close) = {.directory = -1};
    struct err unwanted;
    if (!resolve_missing(&place, path, &unwanted))
        return true; /* somebody made it anew, or took the directory away: it was removed */
    *strrchr(place.real, '/') = '\0';
    place.directory =
        open(place.real[0] == '\0' ? "/" : place.real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place.directory < 0 || directory_sync(place.directory, path, err);
}
