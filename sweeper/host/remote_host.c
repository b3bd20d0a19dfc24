/*
 * What a host over SSH is called, whether commands run on it, and what it is.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sweeper/base/text.h"
#include "sweeper/host/local.h"
#include "sweeper/host/remote.h"

/* --- names ------------------------------------------------------------------------------------ */

static bool address_error(const char *text, const char *why, struct err *err)
{
    err_set(err, ERR_CODE_usage, "'%s' is no SSH address: %s", text, why);
    return err_hint(err, "write user@name, user@name:port or user@[address]:port");
}

static bool port_parse(const char *text, int *out)
{
    char *end = NULL;
    if (text[0] < '1' || text[0] > '9') {
        return false;
    }
    long port = strtol(text, &end, 10);
    *out = (int)port;
    return *end == '\0' && port <= 65535;
}

/* A name goes into argument lists and known_hosts: nothing in it may have a meaning there. */
static bool is_name(const char *text, const char *more)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool is_plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                        (*at >= '0' && *at <= '9') || strchr(more, *at) != NULL;
        if (!is_plain) {
            return false;
        }
    }
    return text[0] != '\0' && text[0] != '-';
}

bool remote_address_parse(const char *text, struct arena *arena, struct remote_address *out,
                          struct err *err)
{
    char *copy = arena_strdup(arena, text);
    if (copy == NULL) {
        return err_memory(err);
    }
    *out = (struct remote_address){.name = copy};
    char *at = strrchr(copy, '@');
    if (at != NULL) {
        *at = '\0';
        out->user = copy;
        out->name = copy = at + 1;
    }
    char *port = strrchr(copy, ':');
    bool is_bracketed = copy[0] == '[';
    if (is_bracketed) {
        char *bracket = strchr(copy, ']');
        if (bracket == NULL || (bracket[1] != '\0' && bracket[1] != ':')) {
            return address_error(text, "its brackets are wrong", err);
        }
        *bracket = '\0';
        out->name = copy + 1;
        port = bracket[1] == ':' ? bracket + 1 : NULL;
    } else if (port != NULL && strchr(copy, ':') != port) {
        port = NULL; /* an IPv6 address without brackets */
        is_bracketed = true;
    }
    if (port != NULL) {
        *port = '\0';
        if (!port_parse(port + 1, &out->port)) {
            return address_error(text, "the port is a number from 1 to 65535", err);
        }
    }
    if (!is_name(out->name, is_bracketed ? ".-_:%" : ".-_")) {
        return address_error(text, "the host's name is missing or has odd characters", err);
    }
    return out->user == NULL || is_name(out->user, ".-_$\\@+") ||
           address_error(text, "the user's name is missing or has odd characters", err);
}

const char *remote_path(const char *path, struct arena *arena)
{
    const char *home = getenv("HOME");
    if (path[0] != '~' || path[1] != '/' || home == NULL) {
        return arena_strdup(arena, path);
    }
    return arena_printf(arena, "%s%s", home, path + 1);
}

/* --- keys of users ---------------------------------------------------------------------------- */

static bool identity_mode_check(const char *file, struct err *err)
{
    struct stat facts;
    if (stat(file, &facts) != 0) {
        err_set_errno(err, ERR_CODE_host_login, "the key file '%s' cannot be read", file);
        return err_hint(err, "name the right one: host = { identity = \"FILE\"; }");
    }
    if (!S_ISREG(facts.st_mode)) {
        err_set(err, ERR_CODE_host_login, "'%s' is no file", file);
        return err_hint(err, "name the private key's file: host = { identity = \"FILE\"; }");
    }
    if ((facts.st_mode & 077) != 0 && facts.st_uid == geteuid()) { /* as ssh judges it */
        err_set(err, ERR_CODE_host_login, "the key file '%s' can be read by others (mode %04o)",
                file, (unsigned)(facts.st_mode & 07777));
        return err_hint(err, "chmod 600 '%s'", file);
    }
    return true;
}

/* What ssh-keygen makes of the private key without a passphrase. */
static bool identity_content_check(const char *file, const struct host_result *result,
                                   struct err *err)
{
    char words[200];
    if (result->exit_status == 0) {
        return true;
    }
    if (strstr(result->error_text, "incorrect passphrase") != NULL) {
        err_set(err, ERR_CODE_host_login, "the key '%s' has a passphrase, and nobody can be asked",
                file);
        return err_hint(err, "add it to ssh-agent (ssh-add) and leave identity out");
    }
    host_last_words(result->error_text, result->error_size, words, sizeof words);
    err_set(err, ERR_CODE_host_login, "'%s' cannot be read as a private key: %s", file,
            result->timed_out ? "ssh-keygen took too long" : words);
    return err_hint(err, "see what ssh-keygen -y -f '%s' says, or name another key", file);
}

bool remote_identity_check(const char *file, int64_t deadline, struct arena *arena,
                           bool *out_is_rsa, struct err *err)
{
    struct host *here = NULL;
    struct host_result result;
    const char *const argv[] = {"ssh-keygen", "-y", "-P", "", "-f", file, NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    if (!identity_mode_check(file, err) || !host_open(NULL, deadline, &here, err)) {
        return false;
    }
    bool ok = host_run(here, &command, arena, &result, err);
    host_close(here);
    if (!ok) {
        return err_hint(err, "OpenSSH's ssh-keygen examines keys: install openssh-client");
    }
    if (out_is_rsa != NULL) {
        *out_is_rsa = text_starts_with(result.output, "ssh-rsa ");
    }
    return identity_content_check(file, &result, err);
}

static bool take_path(const char *path, struct arena *arena, const char **out)
{
    *out = path != NULL ? remote_path(path, arena) : NULL;
    return path == NULL || *out != NULL;
}

bool remote_take_spec(struct remote_host *remote, const struct host_spec *spec, struct err *err)
{
    struct arena *arena = &remote->arena;
    remote->sudo = spec->sudo;
    remote->host.label = arena_strdup(arena, spec->ssh);
    return remote_address_parse(spec->ssh, arena, &remote->address, err) &&
           ((remote->host.label != NULL && take_path(spec->identity, arena, &remote->identity) &&
             take_path(spec->known_hosts, arena, &remote->known_hosts)) ||
            err_memory(err));
}

/* --- whether it works ------------------------------------------------------------------------- */

static bool check_sudo(struct remote_host *remote, int64_t deadline, struct arena *arena,
                       struct err *err)
{
    struct host_result result;
    const char *const argv[] = {"true", NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    char words[300];
    if (!remote_run(&remote->host, &command, arena, &result, err)) {
        return false;
    }
    if (result.exit_status == 0 && !result.timed_out) {
        return true;
    }
    host_last_words(result.error_text, result.error_size, words, sizeof words);
    err_set(err, ERR_CODE_unsupported, "sudo -n does not work there: %s",
            words[0] != '\0' ? words : "no reason given");
    err_origin(err, "%s", remote->host.label);
    return err_hint(err, "let that user run commands through sudo without a password or a terminal"
                         " (NOPASSWD and !requiretty in a file of /etc/sudoers.d), or connect as"
                         " one who need not");
}

bool remote_check(struct remote_host *remote, int64_t deadline, struct err *err)
{
    struct host_result result;
    struct arena arena CLEANUP(arena_close) = {.block = NULL};
    const char *const argv[] = {"id", "-u", NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline, .as_is = true};
    arena_open(&arena, (size_t)16 * 1024 * 1024);
    if (!host_run_ok(&remote->host, &command, &arena, &result, err)) {
        return err_reclass(err, ERR_TARGET);
    }
    if (strcmp(result.output, "0\n") == 0) {
        remote->sudo = false; /* root needs none, and may not even have it */
    }
    return !remote->sudo || check_sudo(remote, deadline, &arena, err);
}

/* --- what it is ------------------------------------------------------------------------------- */

/* One "key value" a line, then the mounts. $1: a path, of which the nearest parent that exists is
 * resolved. A fact that is not there stays empty. */
static const char facts_script[] =
    "p=$1; while [ -n \"$p\" ] && [ ! -e \"$p\" ]; do case $p in */*) p=${p%/*};; *) p=.;; esac; "
    "done\n"
    "one() { printf '%s ' \"$1\"; shift; { \"$@\" 2>/dev/null || echo; } | head -n 1; }\n"
    "one memory_kib sed -n 's/^MemTotal: *\\([0-9]*\\) .*/\\1/p' /proc/meminfo\n"
    "one limit cat /sys/fs/cgroup/memory.max\n"
    "one limit_1 cat /sys/fs/cgroup/memory/memory.limit_in_bytes\n"
    "one cpus getconf _NPROCESSORS_ONLN\n"
    "one name uname -n\n"
    "one kernel uname -s -r -m\n"
    "one model sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo\n"
    "one virtualisation systemd-detect-virt\n"
    "one governor cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor\n"
    "one boot cat /proc/sys/kernel/random/boot_id\n"
    "one path readlink -f -- \"${p:-/}\"\n"
    "echo; cat /proc/self/mountinfo\n";

/* The value of a key, "" where it is missing. */
static const char *fact(const char *text, const char *key, struct arena *arena)
{
    size_t size = strlen(key);
    for (const char *line = text; *line != '\0' && *line != '\n';) {
        size_t length = strcspn(line, "\n");
        if (length > size && strncmp(line, key, size) == 0 && line[size] == ' ') {
            const char *value = arena_strndup(arena, line + size + 1, length - size - 1);
            return value != NULL ? value : "";
        }
        line += length + (line[length] == '\n');
    }
    return "";
}

static int64_t number_fact(const char *text, const char *key, struct arena *arena)
{
    long long number = strtoll(fact(text, key, arena), NULL, 10);
    return number > 0 ? (int64_t)number : 0;
}

static int64_t memory_fact(const char *text, struct arena *arena)
{
    static const char *const limits[] = {"limit", "limit_1"};
    int64_t kib = number_fact(text, "memory_kib", arena);
    int64_t memory = kib < INT64_MAX / 1024 ? kib * 1024 : 0;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        int64_t limit = number_fact(text, limits[i], arena);
        if (limit > 0 && (memory == 0 || limit < memory)) {
            memory = limit;
        }
    }
    return memory;
}

bool remote_facts(struct host *host, const char *path, int64_t deadline, struct arena *arena,
                  struct host_facts *out, struct err *err)
{
    struct host_result result;
    const char *const argv[] = {"/bin/sh", "-c", facts_script, "dbsweep", path != NULL ? path : "",
                                NULL};
    const struct host_command command = {
        .argv = argv, .deadline = deadline, .output_limit_bytes = (size_t)4 * 1024 * 1024};
    if (!host_run_ok(host, &command, arena, &result, err)) {
        return err_reclass(err, ERR_TARGET);
    }
    const char *text = result.output;
    *out = (struct host_facts){.memory_bytes = memory_fact(text, arena),
                               .cpu_count = number_fact(text, "cpus", arena),
                               .name = fact(text, "name", arena),
                               .kernel = fact(text, "kernel", arena),
                               .cpu_model = fact(text, "model", arena),
                               .virtualisation = fact(text, "virtualisation", arena),
                               .governor = fact(text, "governor", arena),
                               .boot_id = fact(text, "boot", arena),
                               .filesystem = "",
                               .device = ""};
    const char *mounts = strstr(text, "\n\n");
    return path == NULL || mounts == NULL ||
           local_mount_of(mounts + 2, fact(text, "path", arena), arena, &out->filesystem,
                          &out->device) ||
           err_memory(err);
}
