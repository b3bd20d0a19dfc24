/*
 * The password of the database: from a file that only its owner can read, or from the environment.
 * It goes into the memory of this process and to the server, and nowhere else.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/sweepfile.h"

enum { SECRET_LIMIT_BYTES = 4096 };

/* The permissions are those of the open file: a path could be exchanged in between. */
static bool check_private(int file, const char *path, struct err *err)
{
    struct stat stat;
    if (fstat(file, &stat) != 0) {
        return err_set_errno(err, ERR_CODE_sweep_file, "cannot read the password file %.300s",
                             path);
    }
    if (!S_ISREG(stat.st_mode)) {
        return err_set(err, ERR_CODE_sweep_file, "the password file %.300s is not a file", path);
    }
    if ((stat.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        err_set(err, ERR_CODE_sweep_file, "the password file %.300s is open to others", path);
        return err_hint(err, "chmod 600 %.280s", path);
    }
    return true;
}

static bool read_line(int file, const char *path, struct arena *arena, const char **out,
                      struct err *err)
{
    char buffer[SECRET_LIMIT_BYTES];
    ssize_t size = read(file, buffer, sizeof buffer - 1);
    if (size < 0) {
        return err_set_errno(err, ERR_CODE_sweep_file, "cannot read the password file %.300s",
                             path);
    }
    buffer[size] = '\0';
    size_t length = strcspn(buffer, "\r\n");
    bool is_whole = length > 0 && length < sizeof buffer - 1;
    *out = arena_strndup(arena, buffer, length);
    explicit_bzero(buffer, sizeof buffer);
    if (!is_whole) {
        return err_set(err, ERR_CODE_sweep_file, "the first line of the password file %.300s is %s",
                       path, length == 0 ? "empty" : "too long");
    }
    return *out != NULL || err_memory(err);
}

static bool read_secret(const char *path, struct arena *arena, const char **out, struct err *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) {
        return err_set_errno(err, ERR_CODE_sweep_file, "cannot read the password file %.300s",
                             path);
    }
    bool ok = check_private(file, path, err) && read_line(file, path, arena, out, err);
    close(file);
    return ok;
}

bool sweepfile_password(const char *env_name, const char *file_path, struct arena *arena,
                        const char **out, struct err *err)
{
    *out = NULL;
    if (file_path != NULL) {
        return read_secret(file_path, arena, out, err);
    }
    if (env_name == NULL) {
        return true;
    }
    const char *found = getenv(env_name);
    if (found == NULL) {
        err_set(err, ERR_CODE_sweep_file, "the environment has no variable %.200s", env_name);
        return err_hint(err, "export the password in it, or use password_file");
    }
    *out = arena_strdup(arena, found);
    return *out != NULL || err_memory(err);
}
