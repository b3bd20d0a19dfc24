/*
 * One sweep per target. The lock is a file beside the configuration (or the database file) that
 * names the process holding it and its store, so that a second sweep, from any machine, is
 * refused in words, and the lock of a process that died is told from one that lives.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/log.h"
#include "sweeper/base/text.h"
#include "sweeper/target.h"

enum { LOCK_TIMEOUT_MS = 30000 };

struct holder {
    char boot_id[64];
    char host[128];
    char store[512];
    long pid;
    unsigned long long start_ticks;
};

static bool read_small_file(const char *path, char *buffer, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    size_t got = fread(buffer, 1, size - 1, file);
    buffer[got] = '\0';
    return fclose(file) == 0;
}

/* Start time in clock ticks since boot, field 22: with the pid it names a process for good. */
static unsigned long long start_ticks_of(long pid)
{
    char path[64];
    char stat[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (!read_small_file(path, stat, sizeof stat)) {
        return 0;
    }
    const char *after = strrchr(stat, ')');
    unsigned long long ticks = 0;
    if (after == NULL ||
        sscanf(after + 1,
               " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%*s %*s %llu",
               &ticks) != 1) {
        return 0;
    }
    return ticks;
}

/* One spelling for one store, whether or not it exists yet: its folder is resolved. */
static void name_store(const char *store_path, char *buffer, size_t size)
{
    const char *slash = strrchr(store_path, '/');
    char *folder = slash != NULL ? strndup(store_path, (size_t)(slash - store_path) + 1) : NULL;
    char *real = realpath(folder != NULL ? folder : ".", NULL);
    if (real != NULL) {
        snprintf(buffer, size, "%s/%s", strcmp(real, "/") == 0 ? "" : real,
                 slash != NULL ? slash + 1 : store_path);
    } else {
        snprintf(buffer, size, "%s", store_path);
    }
    free(real);
    free(folder);
}

static void identify_self(struct holder *holder, const char *store_path)
{
    memset(holder, 0, sizeof *holder);
    if (!read_small_file("/proc/sys/kernel/random/boot_id", holder->boot_id,
                         sizeof holder->boot_id)) {
        snprintf(holder->boot_id, sizeof holder->boot_id, "unknown");
    }
    holder->boot_id[strcspn(holder->boot_id, "\n")] = '\0';
    if (gethostname(holder->host, sizeof holder->host - 1) != 0) {
        snprintf(holder->host, sizeof holder->host, "unknown");
    }
    holder->pid = (long)getpid();
    holder->start_ticks = start_ticks_of(holder->pid);
    name_store(store_path, holder->store, sizeof holder->store);
}

static const char *format_holder(const struct holder *holder, struct arena *arena)
{
    return arena_printf(arena, "dbsweep lock\npid %ld\nstart %llu\nboot %s\nhost %s\nstore %s\n",
                        holder->pid, holder->start_ticks, holder->boot_id, holder->host,
                        holder->store);
}

static bool parse_holder(struct bytes bytes, struct holder *out)
{
    memset(out, 0, sizeof *out);
    char text[1024];
    bytes_text(bytes, text, sizeof text);
    return sscanf(text,
                  "dbsweep lock\npid %ld\nstart %llu\nboot %63[^\n]\nhost %127[^\n]\nstore "
                  "%511[^\n]",
                  &out->pid, &out->start_ticks, out->boot_id, out->host, out->store) == 5;
}

/* 1 lives, 0 is dead, -1 cannot be told from here. */
static int holder_lives(const struct holder *holder, const struct holder *self)
{
    if (strcmp(holder->boot_id, self->boot_id) == 0) {
        return start_ticks_of(holder->pid) == holder->start_ticks && holder->start_ticks != 0;
    }
    return strcmp(holder->host, self->host) == 0 ? 0 : -1; /* the machine was booted since */
}

static bool refuse(const char *lock_path, const struct holder *holder, int lives, struct err *err)
{
    if (lives == 1) {
        err_set(err, ERR_CODE_locked,
                "another sweep holds this target: process %ld on %s, store "
                "%s",
                holder->pid, holder->host, holder->store);
        return err_hint(err, "wait for it, or stop it with SIGTERM: it restores the baseline");
    }
    if (lives == 0) {
        err_set(err, ERR_CODE_locked,
                "an interrupted sweep left this target locked: its store is %s", holder->store);
        if (access(holder->store, F_OK) != 0) {
            return err_hint(err,
                            "restore from where that store is now; if it is lost, put the "
                            "configuration back by hand and remove %s",
                            lock_path);
        }
        return err_hint(err, "run `dbsweep restore %s` first", holder->store);
    }
    err_set(err, ERR_CODE_locked, "a sweep from %s holds this target: store %s there", holder->host,
            holder->store);
    return err_hint(err, "if it is dead, run `dbsweep restore %s` there, or remove %s",
                    holder->store, lock_path);
}

/* What the locks and copies stand beside; NULL where that is not known. */
static const char *place_of(const struct target *target)
{
    return target->server.facts.config_path != NULL ? target->server.facts.config_path
                                                    : target->server.facts.data_directory;
}

/* The copy that a sweep keeps beside the configuration, if one is there. */
static bool read_copy(struct target *target, bool *out_exists, struct host_file *out_copy,
                      struct host_file *out_config, struct err *err)
{
    struct bytes bytes = {0};
    const char *path = target->server.facts.config_path;
    *out_exists = false;
    if (!target->has_file) {
        return true;
    }
    if (!host_get(target->host, path, clock_deadline_ms(LOCK_TIMEOUT_MS), target->arena, &bytes,
                  out_config, err)) {
        return err_while(err, "looking for a sweep that did not end");
    }
    const char *copy = arena_printf(target->arena, "%s.dbsweep-baseline", out_config->real_path);
    if (copy == NULL) {
        return err_memory(err);
    }
    *out_exists = host_get(target->host, copy, clock_deadline_ms(LOCK_TIMEOUT_MS), target->arena,
                           &bytes, out_copy, err);
    if (!*out_exists && err->code != ERR_CODE_not_found) {
        return err_while(err, "looking for a sweep that did not end");
    }
    err_clear(err);
    return true;
}

bool target_find_traces(struct target *target, struct target_traces *out, struct err *err)
{
    const char *beside = place_of(target);
    struct bytes bytes = {0};
    struct host_file copy;
    struct host_file config;
    *out = (struct target_traces){.store = NULL};
    if (beside == NULL) {
        return true;
    }
    const char *path = arena_printf(target->arena, "%s.dbsweep-lock", beside);
    struct holder *holder = ARENA_NEW(target->arena, struct holder);
    if (path == NULL || holder == NULL) {
        return err_memory(err);
    }
    if (host_get(target->host, path, clock_deadline_ms(LOCK_TIMEOUT_MS), target->arena, &bytes,
                 &copy, err)) {
        out->store = parse_holder(bytes, holder) ? holder->store : "";
    } else if (err->code != ERR_CODE_not_found) {
        return err_while(err, "looking for a lock");
    }
    err_clear(err);
    bool exists = false;
    if (!read_copy(target, &exists, &copy, &config, err)) {
        return false;
    }
    out->copy_path = exists ? copy.real_path : NULL;
    out->is_known = true;
    return true;
}

/* The configuration must not be what an interrupted sweep left of it, or its point would be taken
 * for the baseline and the copy, the last trace of the original, be overwritten. A store that
 * holds the baseline knows better and need not ask. */
static bool refuse_leftover(struct target *target, struct err *err)
{
    bool exists = false;
    struct host_file copy;
    struct host_file config;
    if (target->has_baseline) {
        return true;
    }
    if (!read_copy(target, &exists, &copy, &config, err)) {
        return false;
    }
    if (!exists || strcmp(copy.sha256, config.sha256) == 0) {
        return true;
    }
    err_set(err, ERR_CODE_locked,
            "an interrupted sweep left %s changed, and its store is not the one of this sweep",
            config.real_path);
    return err_hint(err,
                    "restore from its store; without it, copy %s over the configuration and "
                    "restart the server, or remove the copy if it is out of date",
                    copy.real_path);
}

/* Whether a dead holder's lock may be taken with another store: its own is gone, and either it
 * changed nothing yet, or this is its store under another name, which holds the same baseline. */
static bool is_abandoned(struct target *target, const struct holder *holder, bool *out,
                         struct err *err)
{
    bool exists = false;
    struct host_file copy;
    struct host_file config;
    *out = false;
    if (target->is_other_config || access(holder->store, F_OK) == 0) {
        return true;
    }
    if (!read_copy(target, &exists, &copy, &config, err)) {
        return false;
    }
    *out =
        !exists || (target->has_baseline && strcmp(copy.sha256, target->baseline_file.sha256) == 0);
    return true;
}

/* Whoever backs the data directory up must be able to read the file, whoever runs the sweep. */
static bool write_lock(struct target *target, const char *path, struct bytes content,
                       struct err *err)
{
    const struct host_file as = {
        .mode = 0644, .uid = (uint32_t)geteuid(), .gid = (uint32_t)getegid(), .selinux = ""};
    return host_put(target->host, path, content, &as, true, clock_deadline_ms(LOCK_TIMEOUT_MS),
                    err);
}

/* A lock is there: ours from before a crash is taken over, any other refused. */
static bool take_over(struct target *target, const char *path, const struct holder *self,
                      struct bytes content, struct err *err)
{
    struct bytes bytes = {0};
    struct host_file file = {0};
    struct holder holder;
    if (!host_get(target->host, path, clock_deadline_ms(LOCK_TIMEOUT_MS), target->arena, &bytes,
                  &file, err)) {
        return err_while(err, "reading the target's lock");
    }
    if (!parse_holder(bytes, &holder)) {
        err_set(err, ERR_CODE_locked, "%s is not a lock of this program", path);
        return err_hint(err, "remove it if no sweep is running");
    }
    int lives = holder_lives(&holder, self);
    bool is_ours = strcmp(holder.store, self->store) == 0;
    if (lives == 0 && !is_ours && !is_abandoned(target, &holder, &is_ours, err)) {
        return false;
    }
    if (lives == 1 || !is_ours) {
        return refuse(path, &holder, lives, err);
    }
    if (!refuse_leftover(target, err)) {
        return false;
    }
    log_line(LOG_INFO, "taking over the target from an interrupted run of the same store");
    return write_lock(target, path, content, err);
}

static void remove_lock(struct target *target, const char *path)
{
    struct err err;
    err_clear(&err);
    if (path != NULL && !target->host->driver->remove(target->host, path,
                                                      clock_deadline_ms(LOCK_TIMEOUT_MS), &err)) {
        log_err(LOG_WARN, &err);
    }
}

/* What another's lock left as it was is not ours to remove. */
static bool lock_path(struct target *target, const char *path, const struct holder *self,
                      bool *out_created, struct err *err)
{
    const char *content = format_holder(self, target->arena);
    if (path == NULL || content == NULL) {
        return err_memory(err);
    }
    struct bytes bytes = {.data = content, .size = strlen(content)};
    if (!target->host->driver->claim(target->host, path, bytes, clock_deadline_ms(LOCK_TIMEOUT_MS),
                                     out_created, err)) {
        return err_while(err, "locking the target");
    }
    if (!*out_created) {
        return take_over(target, path, self, bytes, err);
    }
    if (refuse_leftover(target, err) && write_lock(target, path, bytes, err)) {
        return true;
    }
    remove_lock(target, path);
    *out_created = false;
    return false;
}

/* Two sweeps of one server may edit two files of it: its data directory is locked as well, where
 * this user may write there. */
static bool lock_data(struct target *target, const struct holder *self, bool is_config_free,
                      struct err *err)
{
    const char *data = target->server.facts.data_directory;
    bool is_created = false;
    target->data_lock_path = NULL;
    if (!target->has_file || data == NULL) {
        return true;
    }
    const char *path = arena_printf(target->arena, "%s/dbsweep.lock", data);
    target->is_other_config = is_config_free;
    if (lock_path(target, path, self, &is_created, err)) {
        target->data_lock_path = path;
        return true;
    }
    bool is_closed = err->class == ERR_TARGET || err->code == ERR_CODE_not_found;
    if (is_closed) {
        log_err(LOG_INFO, err);
        err_clear(err);
    }
    return is_closed;
}

bool target_lock(struct target *target, const char *store_path, struct err *err)
{
    const char *beside = place_of(target);
    bool is_created = false;
    target->is_other_config = false;
    if (target->is_locked) {
        return true;
    }
    if (beside == NULL) {
        return err_set(err, ERR_CODE_unsupported,
                       "neither configuration file nor data of the target are known");
    }
    struct holder self;
    identify_self(&self, store_path);
    target->lock_path = arena_printf(target->arena, "%s.dbsweep-lock", beside);
    if (!lock_path(target, target->lock_path, &self, &is_created, err)) {
        return false;
    }
    target->is_locked = lock_data(target, &self, is_created, err);
    if (!target->is_locked && is_created) {
        remove_lock(target, target->lock_path);
    }
    return target->is_locked;
}

void target_unlock(struct target *target)
{
    if (!target->is_locked) {
        return;
    }
    remove_lock(target, target->data_lock_path);
    remove_lock(target, target->lock_path);
    target->is_locked = false;
}
