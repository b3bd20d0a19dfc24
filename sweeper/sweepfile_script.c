/*
 * The files of a script workload: read here, once, so that their bytes are what every trial drives
 * and what the store keeps, wherever the load comes from.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/sweepfile_node.h"

/* All of them travel in one frame. */
enum {
    FILE_LIMIT_BYTES = 4 << 20,
    TOTAL_LIMIT_BYTES = 32 << 20,
    SCRIPT_LIMIT = 64,
    WEIGHT_LIMIT = 1000000
};

/* ---- bytes ---- */

static bool check_text(const char *path, const char *text, size_t size, struct err *err)
{
    int line = 1;
    for (size_t at = 0; at < size;) {
        size_t length = text[at] == '\0' ? 0 : text_character_length(text + at);
        if (length == 0) {
            err_set(err, ERR_CODE_sweep_file, "the byte 0x%02x is not UTF-8",
                    (unsigned char)text[at]);
            err_origin(err, "%s:%d", path, line);
            return err_hint(err, "save the file as UTF-8");
        }
        line += text[at] == '\n';
        at += length;
    }
    return true;
}

static bool slurp(int file, const char *path, struct arena *arena, const char **out,
                  struct err *err)
{
    struct stat stat;
    size_t size = 0;
    if (fstat(file, &stat) != 0 || !S_ISREG(stat.st_mode)) {
        return err_set(err, ERR_CODE_sweep_file, "the script %.300s is not a file", path);
    }
    if (stat.st_size > FILE_LIMIT_BYTES) {
        return err_set(err, ERR_CODE_sweep_file, "the script %.300s is larger than %d bytes", path,
                       FILE_LIMIT_BYTES);
    }
    char *text = arena_alloc(arena, (size_t)stat.st_size + 1);
    if (text == NULL) {
        return err_memory(err);
    }
    for (ssize_t got = 1; got > 0 && size < (size_t)stat.st_size; size += (size_t)got) {
        got = read(file, text + size, (size_t)stat.st_size - size);
        if (got < 0) {
            return err_set_errno(err, ERR_CODE_not_found, "cannot read the script %.300s", path);
        }
    }
    *out = text;
    return check_text(path, text, size, err);
}

static bool read_file(const char *path, struct arena *arena, struct load_script *out,
                      struct err *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) {
        err_set_errno(err, ERR_CODE_not_found, "cannot read the script %.300s", path);
        return err_hint(err, "paths of scripts start at the sweep file's folder");
    }
    out->path = path;
    bool ok = slurp(file, path, arena, &out->text, err);
    close(file);
    return ok;
}

/* ---- names ---- */

/* "sql/transfer.sql" -> "transfer" */
static const char *name_of(const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return arena_strndup(arena, base,
                         dot != NULL && dot > base ? (size_t)(dot - base) : strlen(base));
}

static bool check_names(const struct workload_spec *workload, const struct load_script *script,
                        struct err *err)
{
    for (size_t i = 0; i < workload->script_count; i++) {
        if (strcmp(workload->scripts[i].name, script->name) == 0) {
            err_set(err, ERR_CODE_sweep_file, "two scripts are named %.60s: %.200s and %.200s",
                    script->name, workload->scripts[i].path, script->path);
            return err_hint(err, "a script's file without its ending names it in every table");
        }
    }
    return true;
}

/* "transfer.sql@9": the digits behind the last @ are the weight. */
static bool split_weight(const char *word, struct arena *arena, const char **out_path,
                         int64_t *out_weight, struct err *err)
{
    const char *at = strrchr(word, '@');
    struct err ignored;
    *out_path = word;
    *out_weight = 1;
    if (at == NULL || at[1] == '\0' || at[1 + strspn(at + 1, "0123456789")] != '\0') {
        return true;
    }
    err_clear(&ignored);
    if (!units_parse_int(at + 1, out_weight, &ignored) || *out_weight < 1 ||
        *out_weight > WEIGHT_LIMIT) {
        err_set(err, ERR_CODE_sweep_file, "the weight of %.200s is out of its range 1..%d", word,
                WEIGHT_LIMIT);
        return err_hint(err, "leave out a script that is never to run");
    }
    *out_path = arena_strndup(arena, word, (size_t)(at - word));
    return *out_path != NULL || err_memory(err);
}

static bool add_script(struct workload_spec *workload, const char *word, const char *folder,
                       struct arena *arena, struct err *err)
{
    static const struct key_row key = {.key = "scripts", .type = KEY_PATH};
    struct load_script *script = &workload->scripts[workload->script_count];
    const char *written = NULL;
    const char *path = NULL;
    if (!split_weight(word, arena, &written, &script->weight, err) ||
        !key_set(&key, folder, written, &path, arena, err)) {
        return false;
    }
    script->name = name_of(path, arena);
    if (script->name == NULL) {
        return err_memory(err);
    }
    if (!read_file(path, arena, script, err) || !check_names(workload, script, err)) {
        return false;
    }
    workload->script_count++;
    return true;
}

/* Its path is whole already. */
static bool read_other(const char *path, const char *name, struct arena *arena,
                       struct load_script *out, struct err *err)
{
    *out = (struct load_script){.name = name, .weight = 1};
    return path == NULL || read_file(path, arena, out, err);
}

static bool check_total(const struct workload_spec *workload, struct err *err)
{
    const struct load_script *others[] = {&workload->setup_script, &workload->teardown_script};
    size_t total = 0;
    for (size_t i = 0; i < workload->script_count + COUNT_OF(others); i++) {
        const struct load_script *script =
            i < workload->script_count ? &workload->scripts[i] : others[i - workload->script_count];
        total += script->text != NULL ? strlen(script->text) : 0;
    }
    return total <= TOTAL_LIMIT_BYTES ||
           err_set(err, ERR_CODE_sweep_file, "the scripts are larger than %d bytes together",
                   TOTAL_LIMIT_BYTES);
}

bool workload_read_scripts(struct workload_spec *workload, const char *folder, struct arena *arena,
                           struct err *err)
{
    size_t count = 0;
    while (workload->script_files != NULL && workload->script_files[count] != NULL) {
        count++;
    }
    if (count > SCRIPT_LIMIT) {
        return err_set(err, ERR_CODE_sweep_file, "%zu scripts are more than %d", count,
                       SCRIPT_LIMIT);
    }
    workload->script_count = 0;
    workload->scripts = ARENA_ARRAY(arena, struct load_script, count + 1);
    if (workload->scripts == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        if (!add_script(workload, workload->script_files[i], folder, arena, err)) {
            return false;
        }
    }
    return read_other(workload->setup, "setup", arena, &workload->setup_script, err) &&
           read_other(workload->teardown, "teardown", arena, &workload->teardown_script, err) &&
           check_total(workload, err);
}

/* ---- in the sweep file ---- */

/* Without a reset, later trials would find other data than earlier ones. */
static bool check_reset(const struct reader *reader, const struct node *group)
{
    const struct workload_spec *workload = &reader->sweep->workload;
    if (workload->setup != NULL || !workload->scripts_write || reader->sweep->backend->embedded ||
        strcmp(workload->reset, "default") != 0) {
        return true;
    }
    reader_fail(reader, group->line, "the scripts change data, and nothing puts them back");
    return err_hint(reader->err, "give a setup, a reset = \"command\" with its reset_command, or "
                                 "reset = \"none\"");
}

bool read_script_workload(const struct reader *reader, const struct node *group)
{
    struct workload_spec *workload = &reader->sweep->workload;
    enum dialect dialect = reader->sweep->backend->session->dialect;
    if (!reader->is_file) {
        return true;
    }
    if (!workload_read_scripts(workload, reader->folder, reader->arena, reader->err) ||
        !workload_check_spec(workload, reader->err) ||
        !workload_examine(workload, dialect, reader->err)) {
        return reader->err->origin[0] != '\0' ? false : reader_at(reader, group->line);
    }
    return check_reset(reader, group);
}
