/*
 * Growing text in an arena, and small string helpers. A builder that ran out of memory stays
 * failed: test text_failed (or text_done's NULL) once, at the end.
 */
#ifndef SWEEPER_BASE_TEXT_H
#define SWEEPER_BASE_TEXT_H

#include <stdarg.h>

#include "sweeper/base/arena.h"
#include "sweeper/base/base.h"

struct text {
    struct arena *arena;
    char *data; /* always NUL-terminated once something was added */
    size_t size;
    size_t capacity;
    bool failed;
};

void text_open(struct text *text, struct arena *arena);
void text_add(struct text *text, const char *piece);
void text_add_bytes(struct text *text, const void *data, size_t size);
void text_add_char(struct text *text, char byte);
void text_addf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);
void text_vaddf(struct text *text, const char *format, va_list args) PRINTF_LIKE(2, 0);
/* The finished text ("" if nothing was added), or NULL when memory ended. */
const char *text_done(struct text *text);

/* Copies bytes (NULL where there are none) as a text of at most size - 1 of them; false where they
 * did not all fit. */
bool bytes_text(struct bytes bytes, char *out, size_t size);
bool bytes_are(struct bytes bytes, const char *text);
bool bytes_are_nocase(struct bytes bytes, const char *text); /* ASCII */

/* Length of the character that starts here, 0 where it is none (RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF). The text is terminated. */
size_t text_character_length(const char *at);
bool text_equal_nocase(const char *a, const char *b); /* ASCII */
bool text_starts_with(const char *text, const char *prefix);
bool text_ends_with(const char *text, const char *suffix);
/* Levenshtein distance over bytes, case-insensitive, at most 64 bytes each (longer: 64). */
unsigned text_distance(const char *a, const char *b);
/* Of names[count], the one nearest to `name`, or NULL when none is near enough to propose
 * (distance > 1 + length / 3). */
const char *text_nearest(const char *name, const char *const *names, size_t count);
/* Copies `in` replacing control characters (below 0x20 save tab and newline, 0x7f, and C1 as
 * UTF-8) by \xNN, so that a hostile server cannot steer a terminal. NULL where memory ends. */
const char *text_printable(struct arena *arena, const char *in);

#endif
