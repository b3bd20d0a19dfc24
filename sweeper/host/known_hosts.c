/*
 * See the header. A line is "[@marker] names type key [comment]" (sshd(8), SSH_KNOWN_HOSTS FILE
 * FORMAT).
 */
#include "sweeper/host/known_hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sweeper/base/text.h"
#include "sweeper/host/local.h"

enum { SSH_PORT = 22 };

/* --- finding ---------------------------------------------------------------------------------- */

static char *next_word(char **at)
{
    char *word = *at + strspn(*at, " \t");
    char *end = word + strcspn(word, " \t\r");
    *at = *end == '\0' ? end : end + 1;
    *end = '\0';
    return word;
}

static bool line_parse(char *line, struct known_hosts *out, struct err *err)
{
    struct known_key key = {0};
    char *at = line;
    char *word = next_word(&at);
    if (word[0] == '@') {
        key.is_revoked = strcmp(word, "@revoked") == 0;
        key.is_authority = strcmp(word, "@cert-authority") == 0;
        if (!key.is_revoked && !key.is_authority) {
            return true; /* ssh does not know it either */
        }
        word = next_word(&at);
    }
    key.type = next_word(&at);
    key.key = next_word(&at);
    if (word[0] == '\0' || key.key[0] == '\0') {
        return true; /* a line that ssh leaves out too */
    }
    if (out->key_count == KNOWN_KEY_LIMIT) {
        return err_set(err, ERR_CODE_host_key, "more than %d keys are on file for %s",
                       KNOWN_KEY_LIMIT, out->name);
    }
    out->keys[out->key_count++] = key;
    return true;
}

bool known_hosts_parse(const char *text, struct arena *arena, struct known_hosts *out,
                       struct err *err)
{
    char *rest = NULL;
    char *copy = arena_strdup(arena, text);
    if (copy == NULL) {
        return err_memory(err);
    }
    for (char *line = strtok_r(copy, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] != '#' && !line_parse(line, out, err)) {
            return false;
        }
    }
    return true;
}

static bool ask_file(const char *file, int64_t deadline, struct arena *arena,
                     struct known_hosts *out, struct err *err)
{
    struct host *host = NULL;
    struct host_result result;
    if (access(file, R_OK) != 0) {
        return true;
    }
    const char *const argv[] = {"ssh-keygen", "-F", out->name, "-f", file, NULL};
    const struct host_command command = {.argv = argv, .deadline = deadline};
    if (!host_open(NULL, deadline, &host, err)) {
        return false;
    }
    bool ok = host_run(host, &command, arena, &result, err);
    host_close(host);
    if (!ok) {
        return err_hint(err, "OpenSSH's ssh-keygen reads known_hosts: install openssh-client");
    }
    /* status 1: the name is not in the file; a part of an answer could lack what is revoked */
    if (result.exit_status < 0 || result.exit_status > 1 || result.truncated) {
        char words[200];
        host_last_words(result.error_text, result.error_size, words, sizeof words);
        return err_set(err, ERR_CODE_host_key, "ssh-keygen cannot say what is on file in %s: %s",
                       file, result.timed_out ? "it took too long" : words);
    }
    return known_hosts_parse(result.output, arena, out, err);
}

/* In lower case, as ssh writes it: a hashed name is compared byte by byte. */
static const char *file_name(const char *name, int port, struct arena *arena)
{
    char *lower = arena_strdup(arena, name);
    for (char *at = lower; at != NULL && *at != '\0'; at++) {
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    }
    return lower == NULL || port == SSH_PORT ? lower : arena_printf(arena, "[%s]:%d", lower, port);
}

bool known_hosts_find(const struct remote_address *address, const char *file, int64_t deadline,
                      struct arena *arena, struct known_hosts *out, struct err *err)
{
    const char *files[2] = {remote_path(file != NULL ? file : "~/.ssh/known_hosts", arena),
                            file != NULL ? NULL : "/etc/ssh/ssh_known_hosts"};
    int port = address->port != 0 ? address->port : SSH_PORT;
    *out = (struct known_hosts){.file = files[0]};
    out->name = file_name(address->name, port, arena);
    if (out->name == NULL || files[0] == NULL) {
        return err_memory(err);
    }
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        if (files[i] != NULL && !ask_file(files[i], deadline, arena, out, err)) {
            return false;
        }
    }
    if (out->key_count > 0) {
        return true;
    }
    bool is_readable = access(files[0], R_OK) == 0;
    err_set(err, ERR_CODE_host_key, "the key of %s is not on file in %s%s%s", out->name, files[0],
            is_readable ? "" : ", which cannot be read: ", is_readable ? "" : strerror(errno));
    return err_hint(err, "compare its fingerprint by another way, then: ssh-keyscan -p %d %s >> %s",
                    port, address->name, files[0]);
}

/* --- judging ---------------------------------------------------------------------------------- */

/* As ssh-keygen -l shows it. */
static const char *fingerprint(struct bytes blob, struct arena *arena)
{
    char hex[65];
    char digest[32];
    host_sha256(blob, hex);
    for (size_t i = 0; i < sizeof digest; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        digest[i] = (char)strtol(digits, NULL, 16);
    }
    const char *text = host_base64((struct bytes){.data = digest, .size = sizeof digest}, arena);
    const char *line =
        text == NULL ? NULL : arena_printf(arena, "SHA256:%.*s", (int)strcspn(text, "="), text);
    return line != NULL ? line : "unknown";
}

/* The type stands at the blob's beginning, after its length (RFC 4253 6.6). */
static bool blob_type(struct bytes blob, char *out, size_t size)
{
    const unsigned char *data = (const unsigned char *)blob.data;
    if (blob.size < 4) {
        return false;
    }
    size_t length = (size_t)data[0] << 24 | (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3];
    return length <= blob.size - 4 &&
           bytes_text((struct bytes){.data = blob.data + 4, .size = length}, out, size);
}

bool known_hosts_judge(const struct known_hosts *known, struct bytes blob, struct arena *arena,
                       struct err *err)
{
    char type[64];
    bool is_known = false;
    bool is_revoked = false;
    const char *text = host_base64(blob, arena);
    if (text == NULL) {
        return err_memory(err);
    }
    if (!blob_type(blob, type, sizeof type)) {
        return err_set(err, ERR_CODE_host_key, "%s sent a key of no known form", known->name);
    }
    for (size_t i = 0; i < known->key_count; i++) {
        const struct known_key *key = &known->keys[i];
        bool is_equal = strcmp(key->key, text) == 0;
        is_known = is_known || (is_equal && !key->is_revoked && !key->is_authority);
        is_revoked = is_revoked || (is_equal && key->is_revoked);
    }
    if (is_revoked) {
        err_set(err, ERR_CODE_host_key, "the key of %s (%s) is marked @revoked in %s", known->name,
                fingerprint(blob, arena), known->file);
        return err_hint(err, "do not trust that machine until it has a new key");
    }
    if (is_known) {
        return true;
    }
    err_set(err, ERR_CODE_host_key,
            "the key of %s is not the one on file in %s: it now has the %s key %s", known->name,
            known->file, type, fingerprint(blob, arena));
    return err_hint(err,
                    "either the machine was set up anew or somebody stands between: find out "
                    "which; then ssh-keygen -R '%s' and record the new key",
                    known->name);
}
