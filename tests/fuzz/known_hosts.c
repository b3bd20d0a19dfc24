/*
 * What ssh-keygen -F could print, and an address before its first newline: a key is taken only
 * where its base64 stands in the text and no @revoked line names it.
 */
#include <stdlib.h>
#include <string.h>

#include "sweeper/host/known_hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An ed25519 key's blob, of zeros. */
static const char blob[51] = "\0\0\0\x0bssh-ed25519\0\0\0\x20";
static const char blob_text[] =
    "AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

static void judge(const char *text, struct arena *arena)
{
    static struct known_hosts known;
    struct err err;
    known = (struct known_hosts){.name = "db1", .file = "known_hosts"};
    err_clear(&err);
    if (!known_hosts_parse(text, arena, &known, &err))
        return;
    struct bytes shown = {.data = blob, .size = sizeof blob};
    bool is_known = false;
    bool is_revoked = false;
    for (size_t i = 0; i < known.key_count; i++) {
        bool is_it = strcmp(known.keys[i].key, blob_text) == 0;
        is_revoked = is_revoked || (is_it && known.keys[i].is_revoked);
        is_known = is_known || (is_it && !known.keys[i].is_revoked && !known.keys[i].is_authority);
    }
    if (known_hosts_judge(&known, shown, arena, &err) != (is_known && !is_revoked))
        abort();
    if (is_known && strstr(text, blob_text) == NULL)
        abort();
}

static void address(const char *text, struct arena *arena)
{
    struct remote_address parsed;
    struct err err;
    err_clear(&err);
    if (!remote_address_parse(text, arena, &parsed, &err))
        return;
    if (parsed.name[0] == '\0' || parsed.name[0] == '-' || strpbrk(parsed.name, " \n;*,/[]") ||
        parsed.port < 0 || parsed.port > 65535 || (parsed.user != NULL && parsed.user[0] == '-'))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_open(&arena, 4u << 20);
    const char *text = arena_strndup(&arena, (const char *)data, size);
    if (text == NULL)
        abort();
    size_t first = strcspn(text, "\n");
    const char *name = arena_strndup(&arena, text, first);
    if (name == NULL)
        abort();
    address(name, &arena);
    judge(text + first, &arena);
    arena_close(&arena);
    return 0;
}
