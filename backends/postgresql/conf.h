/*
 * postgresql.conf as bytes: what stands in it, and the same file with some settings changed.
 * Pure: nothing here touches a server or a file.
 */
#ifndef BACKENDS_POSTGRESQL_CONF_H
#define BACKENDS_POSTGRESQL_CONF_H

#include "knobs/value.h"

/* As backend.render. The last line of a name is the one that counts; only its value's bytes
 * change, quoted where they were or where they must be. A name that is not there is appended;
 * UNSET deletes every line of it. Errors: config_syntax with FILE:LINE, knob_value. */
bool conf_render(struct bytes baseline, const char *path, const struct setting *settings,
                 size_t count, struct arena *arena, struct bytes *out, struct err *err) MUST_USE;

/* The value as PostgreSQL reads it, not quoted yet: "64MB", "90s", "on", "0.9". Exact; errors:
 * knob_value where the value has no such form. */
bool conf_value(const struct knob *knob, const struct value *value, struct arena *arena,
                const char **out, struct err *err) MUST_USE;

/* Whether the text may stand without quotes. */
bool conf_is_plain(const char *text);
/* In single quotes, with quotes and backslashes doubled. NULL where memory ends. */
const char *conf_quote(const char *text, struct arena *arena);

#endif
