/*
 * The baseline and the way back to it. Before the first change, the configuration's bytes, mode,
 * owner and hash and every swept knob's effective value are kept in the store and beside the
 * original; from then on a restore is possible from memory, from the store, or by hand.
 */
#include <errno.h>
#include <string.h>

#include "sweeper/base/log.h"
#include "sweeper/base/stop.h"
#include "sweeper/target.h"

enum {
    FILE_TIMEOUT_MS = 30000,
    RESTORE_TRIES = 2,
    RESTORE_PAUSE_MS = 2000,
    COPY_TIMEOUT_MS = 600000
};

static int64_t file_deadline(void)
{
    return clock_deadline_ms(FILE_TIMEOUT_MS);
}

static bool name_copy(struct target *target, struct err *err)
{
    target->copy_path =
        arena_printf(target->arena, "%s.dbsweep-baseline", target->baseline_file.real_path);
    return target->copy_path != NULL || err_memory(err);
}

/* ---- capture ---- */

static bool read_config(struct target *target, struct err *err)
{
    const char *path = target->server.facts.config_path;
    if (path == NULL) {
        err_set(err, ERR_CODE_unsupported, "the server's configuration file is not known");
        return err_hint(err, "name it: target = { config = \"/path\"; }");
    }
    if (!host_get(target->host, path, file_deadline(), target->arena, &target->baseline_bytes,
                  &target->baseline_file, err)) {
        return err_while(err, "reading the baseline configuration");
    }
    if (target->baseline_file.link_count > 1) {
        err_set(err, ERR_CODE_unsupported, "%s has %u hard links: replacing it would part them",
                target->baseline_file.real_path, target->baseline_file.link_count);
        return err_hint(err, "make it a file of its own first");
    }
    memcpy(target->last_sha256, target->baseline_file.sha256, sizeof target->last_sha256);
    return name_copy(target, err);
}

static bool keep_values(struct target *target, struct err *err)
{
    target->baseline = ARENA_ARRAY(target->arena, struct baseline_value, target->row_count + 1);
    if (target->baseline == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < target->row_count; i++) {
        const struct knob *knob = target->rows[i].knob;
        struct baseline_value *kept = &target->baseline[i];
        kept->name = knob->name;
        kept->canonical = value_canonical(knob, &target->found[i].value, target->arena);
        kept->display = value_display(knob, &target->found[i].value, target->arena);
        if (kept->canonical == NULL || kept->display == NULL) {
            return err_memory(err);
        }
    }
    target->baseline_count = target->row_count;
    return true;
}

static bool keep_in_store(struct target *target, struct err *err)
{
    struct store_baseline_value *values =
        ARENA_ARRAY(target->arena, struct store_baseline_value, target->row_count + 1);
    if (values == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < target->row_count; i++) {
        values[i] =
            (struct store_baseline_value){.name = target->baseline[i].name,
                                          .canonical = target->baseline[i].canonical,
                                          .display = target->baseline[i].display,
                                          .source = source_kind_name(target->found[i].source),
                                          .detail = target->found[i].detail};
    }
    const struct host_file *file = &target->baseline_file;
    struct store_baseline_file kept = {.path = target->server.facts.config_path,
                                       .mode = file->mode,
                                       .uid = file->uid,
                                       .gid = file->gid,
                                       .selinux = file->selinux,
                                       .sha256 = file->sha256,
                                       .content = target->baseline_bytes};
    return store_baseline_put(target->store, target->sweep_id, &kept, target->has_file ? 1 : 0,
                              values, target->row_count, err);
}

bool target_capture(struct target *target, struct store *store, int64_t sweep_id, struct err *err)
{
    target->store = store;
    target->sweep_id = sweep_id;
    if (!keep_values(target, err) || (target->has_file && !read_config(target, err)) ||
        !keep_in_store(target, err)) {
        return false;
    }
    if (target->has_file && !host_put(target->host, target->copy_path, target->baseline_bytes,
                                      &target->baseline_file, true, file_deadline(), err)) {
        return err_while(err, "keeping a copy of the baseline beside it");
    }
    target->has_baseline = true;
    return true;
}

/* ---- the file as it is now ---- */

/* One that somebody removed holds no edit that could be lost: *out_missing. */
static bool look_at_file(struct target *target, struct arena *arena, struct host_file *out,
                         bool *out_missing, struct err *err)
{
    struct bytes bytes = {0};
    *out_missing = false;
    if (host_get(target->host, target->server.facts.config_path, file_deadline(), arena, &bytes,
                 out, err)) {
        return true;
    }
    *out = (struct host_file){.real_path = target->server.facts.config_path};
    *out_missing = err->code == ERR_CODE_not_found;
    if (*out_missing) {
        log_err(LOG_WARN, err);
        err_clear(err);
    }
    return *out_missing;
}

/* ---- recall ---- */

/* The file as it is now must be the baseline or one of ours: never over a fresh edit. */
static bool judge_file(struct target *target, struct err *err)
{
    const char *path = target->server.facts.config_path;
    struct host_file file = {0};
    bool is_known = false; /* also where there is none */
    if (!look_at_file(target, target->arena, &file, &is_known, err)) {
        return err_while(err, "looking at the configuration as it is now");
    }
    target->baseline_file.real_path = file.real_path;
    memcpy(target->last_sha256, file.sha256, sizeof target->last_sha256);
    is_known = is_known || strcmp(file.sha256, target->baseline_file.sha256) == 0;
    if (!is_known &&
        !store_intent_known(target->store, target->sweep_id, path, file.sha256, &is_known, err)) {
        return false;
    }
    if (!name_copy(target, err)) {
        return false;
    }
    if (!is_known) {
        err_set(err, ERR_CODE_foreign_edit,
                "%s is neither the baseline nor a file that this sweep wrote", path);
        return err_hint(err,
                        "somebody edited it meanwhile; the bytes found before the sweep "
                        "are in %s: merge by hand, copy the result there and over %s",
                        target->copy_path, path);
    }
    return true;
}

/* Somebody's edit is never overwritten, but their server is not left down for it either: it is
 * started with the file as it is. Always false: `err` has the edit. */
static bool leave_running(struct target *target, struct err *err)
{
    const char *why = NULL;
    struct err down;
    err_clear(&down);
    bool is_up = false;
    if (target->sweep->backend->ready(&target->server, file_deadline(), &is_up, &why, &down) &&
        is_up) {
        return false;
    }
    err_clear(&down);
    if (target_start(target, &down) && target_ready(target, &down)) {
        log_line(LOG_WARN, "the server was down: it is started with the file as it was edited");
    } else {
        log_err(LOG_ERROR, &down);
        err_while(err, "the server is down, and does not start with that file: %.80s", down.text);
    }
    return false;
}

/* The same where the edit is found before anything is put back: under the lock, which stays, as
 * the sweep remains interrupted until the edit is merged. */
static bool leave_edited(struct target *target, struct err *err)
{
    struct err other;
    err_clear(&other);
    if (err->code != ERR_CODE_foreign_edit || !target->is_touched) {
        return false;
    }
    target->has_baseline = true;
    if (target_lock(target, store_path(target->store), &other)) {
        stop_hold();
        leave_running(target, err);
        stop_release();
        target->is_locked = false;
    } else {
        log_err(LOG_WARN, &other);
    }
    target->has_baseline = false;
    return false;
}

static const char *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

static void take_file(struct target *target, const struct store_baseline_file *kept)
{
    target->has_file = true;
    target->server.facts.config_path = kept->path;
    target->baseline_bytes = kept->content;
    target->baseline_file = (struct host_file){.mode = kept->mode,
                                               .uid = kept->uid,
                                               .gid = kept->gid,
                                               .selinux = kept->selinux,
                                               .size_bytes = (int64_t)kept->content.size,
                                               .link_count = 1};
    memcpy(target->baseline_file.sha256, kept->sha256, sizeof target->baseline_file.sha256);
}

bool target_recall(struct target *target, struct store *store, const struct store_sweep *kept,
                   bool *out_found, struct err *err)
{
    struct store_baseline_file *files = NULL;
    struct store_baseline_value *values = NULL;
    size_t file_count = 0;
    size_t value_count = 0;
    target->store = store;
    target->sweep_id = kept->sweep_id;
    *out_found = false;
    if (!store_baseline_get(store, kept->sweep_id, target->arena, &files, &file_count, &values,
                            &value_count, err) ||
        !store_touched_get(store, kept->sweep_id, &target->is_touched, err)) {
        return false;
    }
    if (file_count == 0 && value_count == 0) {
        return true;
    }
    target->baseline = ARENA_ARRAY(target->arena, struct baseline_value, value_count + 1);
    if (target->baseline == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < value_count; i++) {
        target->baseline[i] = (struct baseline_value){
            .name = values[i].name, .canonical = values[i].canonical, .display = values[i].display};
    }
    target->baseline_count = value_count;
    target->server.facts.product = kept->product;
    target->server.facts.version = kept->version;
    target->server.facts.data_directory = text_or_null(kept->data_directory);
    target->server.facts.log_path = text_or_null(kept->log_path);
    const struct backend *backend = target->sweep->backend;
    if (target->is_touched && backend->mend != NULL &&
        !backend->mend(&target->server, clock_deadline_ms(COPY_TIMEOUT_MS), err)) {
        return false;
    }
    if (file_count > 0) {
        take_file(target, &files[0]);
        if (!judge_file(target, err)) {
            return leave_edited(target, err);
        }
    }
    target->has_baseline = true;
    *out_found = true;
    return target_judge_data(target, err);
}

/* ---- restore ---- */

/* Where the disk is full the copy beside the file gives way to it: the same bytes, and the store
 * has them too. */
static bool write_baseline(struct target *target, struct err *err)
{
    const char *path = target->server.facts.config_path;
    const struct host_driver *driver = target->host->driver;
    struct err full;
    err_clear(&full);
    if (host_put(target->host, path, target->baseline_bytes, &target->baseline_file, true,
                 file_deadline(), err)) {
        return true;
    }
    bool is_full = err->native == ENOSPC || err->native == EDQUOT;
    if (!is_full || target->copy_path == NULL || target->store == NULL ||
        !driver->remove(target->host, target->copy_path, file_deadline(), &full)) {
        return false;
    }
    log_err(LOG_WARN, err);
    err_clear(err);
    return host_put(target->host, path, target->baseline_bytes, &target->baseline_file, true,
                    file_deadline(), err);
}

bool target_put_baseline(struct target *target, struct err *err)
{
    const char *path = target->server.facts.config_path;
    struct arena scratch;
    arena_open(&scratch, 256u << 20);
    struct host_file file = {0};
    bool is_missing = false;
    bool ok = look_at_file(target, &scratch, &file, &is_missing, err);
    bool is_baseline = ok && strcmp(file.sha256, target->baseline_file.sha256) == 0 &&
                       file.mode == target->baseline_file.mode &&
                       file.uid == target->baseline_file.uid &&
                       file.gid == target->baseline_file.gid;
    if (ok && !is_missing && !is_baseline && strcmp(file.sha256, target->last_sha256) != 0) {
        err_set(err, ERR_CODE_foreign_edit, "%s was changed by somebody else", path);
        ok = err_hint(err, "the bytes found before the sweep are in %s", target->copy_path);
    }
    arena_close(&scratch);
    if (!ok) {
        return false;
    }
    if (!is_baseline && !write_baseline(target, err)) {
        return false;
    }
    memcpy(target->last_sha256, target->baseline_file.sha256, sizeof target->last_sha256);
    return true;
}

static const struct baseline_value *baseline_of(const struct target *target, const char *name)
{
    for (size_t i = 0; i < target->baseline_count; i++) {
        if (text_equal_nocase(target->baseline[i].name, name)) {
            return &target->baseline[i];
        }
    }
    return NULL;
}

/* Servers without a file are put back value by value. The rows are needed: an embedded server can
 * always be probed. */
static bool put_values(struct target *target, struct err *err)
{
    struct setting *settings = ARENA_ARRAY(target->arena, struct setting, target->row_count + 1);
    struct value *values = ARENA_ARRAY(target->arena, struct value, target->row_count + 1);
    if (settings == NULL || values == NULL) {
        return err_memory(err);
    }
    size_t count = 0;
    for (size_t i = 0; i < target->row_count; i++) {
        const struct knob *knob = target->rows[i].knob;
        const struct baseline_value *kept = baseline_of(target, knob->name);
        if (kept == NULL) {
            continue;
        }
        settings[count] = (struct setting){.knob = knob};
        if (!value_parse(knob, kept->display, &target->facts, target->arena, &values[count], err)) {
            return err_while(err, "reading the kept value of %s", knob->name);
        }
        count++;
    }
    return target->sweep->backend->apply(&target->server, settings, values, count, file_deadline(),
                                         err);
}

static bool prove_values(struct target *target, struct err *err)
{
    for (size_t i = 0; i < target->row_count; i++) {
        const struct knob *knob = target->rows[i].knob;
        const struct baseline_value *kept = baseline_of(target, knob->name);
        if (kept == NULL) {
            continue;
        }
        const char *now = value_canonical(knob, &target->found[i].value, target->arena);
        if (now == NULL) {
            return err_memory(err);
        }
        if (strcmp(now, kept->canonical) != 0) {
            return err_set(err, ERR_CODE_restore_failed, "%s is %s, its baseline value was %s",
                           knob->name, now, kept->canonical);
        }
    }
    return true;
}

static bool prove_file(struct target *target, struct err *err)
{
    struct arena scratch;
    arena_open(&scratch, 256u << 20);
    struct bytes now = {0};
    struct host_file file = {0};
    const struct host_file *was = &target->baseline_file;
    bool ok = host_get(target->host, target->server.facts.config_path, file_deadline(), &scratch,
                       &now, &file, err);
    if (ok && (strcmp(file.sha256, was->sha256) != 0 || file.mode != was->mode ||
               file.uid != was->uid || file.gid != was->gid)) {
        ok = err_set(err, ERR_CODE_restore_failed,
                     "%s does not have its original bytes, mode and owner",
                     target->server.facts.config_path);
    }
    arena_close(&scratch);
    return ok;
}

/* The server answers and every swept knob and the file are as found. */
static bool prove(struct target *target, struct err *err)
{
    return (!target->has_file || prove_file(target, err)) && target_probe(target, err) &&
           prove_values(target, err);
}

static bool put_back(struct target *target, struct err *err)
{
    if (!target->has_file) {
        if (!target_stop(target, err)) {
            return false;
        }
        target_put_data(target);
        return target_probe(target, err) && put_values(target, err) && target_start(target, err) &&
               target_ready(target, err);
    }
    /* The file first, so that whoever starts the server starts it right; and again after the
     * stop, because some servers write their file when they end. */
    return target_put_baseline(target, err) && target_stop(target, err) &&
           target_put_baseline(target, err) && target_start(target, err) &&
           target_ready(target, err);
}

static bool restore_once(struct target *target, struct err *err)
{
    struct err quiet;
    err_clear(&quiet);
    bool has_data = !target->has_file && target->has_snapshot;
    /* A server that started with another file does not run on this one, whatever its values. */
    bool has_read_it =
        !target->is_set_live &&
        (!target->has_file || strcmp(target->last_sha256, target->baseline_file.sha256) == 0);
    if (!has_data && (!target->has_file || target_put_baseline(target, &quiet)) && has_read_it &&
        prove(target, &quiet)) {
        return true;
    }
    if (quiet.code == ERR_CODE_foreign_edit) {
        *err = quiet;
        return leave_running(target, err);
    }
    return put_back(target, err) && prove(target, err);
}

bool target_restore(struct target *target, struct err *err)
{
    if (!target->is_touched) {
        return true;
    }
    bool ok = false;
    stop_hold();
    for (int try = 0; try < RESTORE_TRIES && !ok; try++) {
        if (try > 0) {
            log_err(LOG_WARN, err);
            clock_pause_until(clock_deadline_ms(RESTORE_PAUSE_MS));
        }
        err_clear(err);
        ok = restore_once(target, err);
        if (!ok && err->code == ERR_CODE_foreign_edit) {
            break;
        }
    }
    stop_release();
    if (!ok) {
        err_while(err, "putting the baseline back");
        return err_reclass(err, ERR_TARGET);
    }
    target->is_touched = false;
    struct err lost;
    err_clear(&lost);
    if (target->store != NULL &&
        !store_touched_set(target->store, target->sweep_id, false, &lost)) {
        log_err(LOG_WARN, &lost); /* a lost store must not hide that the server is well */
    }
    return true;
}
