/*
 * Host keys on file. Matching names is left to OpenSSH's ssh-keygen -F, because libssh2's own
 * matching differs from OpenSSH's (@revoked, wildcards, letter case, lines it cannot parse); the
 * lines that it prints are judged here. What is not on file is refused; nothing turns that off.
 */
#ifndef SWEEPER_HOST_KNOWN_HOSTS_H
#define SWEEPER_HOST_KNOWN_HOSTS_H

#include "sweeper/host/remote.h"

#define KNOWN_KEY_LIMIT 64

struct known_key {
    bool is_revoked;
    bool is_authority;
    const char *type; /* "ssh-ed25519" */
    const char *key;  /* base64 */
};

struct known_hosts {
    const char *name; /* as it stands on file: "name" or "[name]:port" */
    const char *file; /* for messages */
    struct known_key keys[KNOWN_KEY_LIMIT];
    size_t key_count;
};

/* Reads what is on file for an address: in `file`, or where it is NULL in the user's and the
 * system's known_hosts. Errors: host_key where nothing is there. */
bool known_hosts_find(const struct remote_address *address, const char *file, int64_t deadline,
                      struct arena *arena, struct known_hosts *out, struct err *err) MUST_USE;
/* What ssh-keygen -F printed, appended to `out`. */
bool known_hosts_parse(const char *text, struct arena *arena, struct known_hosts *out,
                       struct err *err) MUST_USE;
/* Whether a key that the server proved to hold (RFC 4253 6.6, the blob) is the one on file. */
bool known_hosts_judge(const struct known_hosts *known, struct bytes blob, struct arena *arena,
                       struct err *err) MUST_USE;

#endif
