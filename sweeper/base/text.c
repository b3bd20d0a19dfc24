/*
 * Growing text in an arena, and small string helpers.
 */
#include "sweeper/base/text.h"

#include <stdio.h>
#include <string.h>

enum { DISTANCE_LIMIT = 64 };

void text_open(struct text *text, struct arena *arena)
{
    *text = (struct text){.arena = arena};
}

/* Room for `more` bytes and the NUL. */
static bool reserve(struct text *text, size_t more)
{
    if (text->failed || more >= SIZE_MAX / 4 - text->size) {
        text->failed = true;
        return false;
    }
    size_t needed = text->size + more + 1;
    if (needed <= text->capacity) {
        return true;
    }
    size_t capacity = text->capacity < 128 ? 256 : text->capacity * 2;
    capacity = capacity < needed ? needed : capacity;
    char *data = arena_alloc(text->arena, capacity);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    if (text->size > 0) {
        memcpy(data, text->data, text->size);
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void text_add_bytes(struct text *text, const void *data, size_t size)
{
    if (size > 0 && reserve(text, size)) {
        memcpy(text->data + text->size, data, size);
        text->size += size;
        text->data[text->size] = '\0';
    }
}

void text_add(struct text *text, const char *piece)
{
    text_add_bytes(text, piece, strlen(piece));
}

void text_add_char(struct text *text, char byte)
{
    text_add_bytes(text, &byte, 1);
}

void text_vaddf(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        text->failed = true;
    } else if (reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->size, (size_t)length + 1, format, again);
        text->size += (size_t)length;
    }
    va_end(again);
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vaddf(text, format, args);
    va_end(args);
}

const char *text_done(struct text *text)
{
    if (text->failed) {
        return NULL;
    }
    return text->data != NULL ? text->data : "";
}

/* tolower() would ask the locale, and a Turkish one has another 'I'. */
static int lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

bool bytes_text(struct bytes bytes, char *out, size_t size)
{
    size_t length = bytes.size < size ? bytes.size : size - 1;
    if (length > 0) {
        memcpy(out, bytes.data, length);
    }
    out[length] = '\0';
    return length == bytes.size;
}

bool bytes_are(struct bytes bytes, const char *text)
{
    return bytes.size == strlen(text) &&
           (bytes.size == 0 || memcmp(bytes.data, text, bytes.size) == 0);
}

bool bytes_are_nocase(struct bytes bytes, const char *text)
{
    char copy[256];
    return bytes_text(bytes, copy, sizeof copy) && text_equal_nocase(copy, text);
}

size_t text_character_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    if (at[0] < 0x80) {
        return 1;
    }
    if (at[0] < 0xc2 || at[0] > 0xf4) {
        return 0;
    }
    size_t size = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    low = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : low;
    high = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : high;
    if (at[1] < low || at[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < size; i++) {
        if (at[i] < 0x80 || at[i] > 0xbf) {
            return 0;
        }
    }
    return size;
}

bool text_equal_nocase(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return lower(*a) == lower(*b);
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t tail = strlen(suffix);
    return tail <= length && strcmp(text + length - tail, suffix) == 0;
}

unsigned text_distance(const char *a, const char *b)
{
    size_t a_size = strnlen(a, DISTANCE_LIMIT + 1);
    size_t b_size = strnlen(b, DISTANCE_LIMIT + 1);
    unsigned row[DISTANCE_LIMIT + 1];
    if (a_size > DISTANCE_LIMIT || b_size > DISTANCE_LIMIT) {
        return DISTANCE_LIMIT;
    }
    for (size_t j = 0; j <= b_size; j++) {
        row[j] = (unsigned)j;
    }
    for (size_t i = 1; i <= a_size; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= b_size; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            unsigned best = corner + (same ? 0 : 1);
            best = row[j] + 1 < best ? row[j] + 1 : best;
            best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[b_size];
}

const char *text_nearest(const char *name, const char *const *names, size_t count)
{
    const char *nearest = NULL;
    unsigned least = 1 + (unsigned)strnlen(name, DISTANCE_LIMIT) / 3 + 1;
    for (size_t i = 0; i < count; i++) {
        unsigned distance = text_distance(name, names[i]);
        if (distance < least) {
            least = distance;
            nearest = names[i];
        }
    }
    return nearest;
}

const char *text_printable(struct arena *arena, const char *in)
{
    struct text out;
    text_open(&out, arena);
    for (const unsigned char *at = (const unsigned char *)in; *at != '\0'; at++) {
        bool is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f;
        bool is_control = (*at < 0x20 && *at != '\t' && *at != '\n') || *at == 0x7f;
        if (is_c1) {
            text_addf(&out, "\\x%02x\\x%02x", at[0], at[1]);
            at++;
        } else if (is_control) {
            text_addf(&out, "\\x%02x", *at);
        } else {
            text_add_char(&out, (char)*at);
        }
    }
    return text_done(&out);
}
