/*
 * A JSON writer into a struct text. Commas and colons are put by the writer; keys come from code,
 * strings are escaped (invalid UTF-8 becomes U+FFFD). Non-finite numbers are written as null.
 */
#ifndef SWEEPER_BASE_JSON_H
#define SWEEPER_BASE_JSON_H

#include "sweeper/base/text.h"

struct json {
    struct text *out;
    unsigned depth;    /* at most 31 */
    uint32_t has_item; /* one bit a level: something was written, so a comma is due */
    bool after_key;
};

void json_open(struct json *json, struct text *out);
void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);
void json_key(struct json *json, const char *key);
void json_string(struct json *json, const char *value); /* NULL writes null */
void json_int(struct json *json, int64_t value);
void json_real(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
void json_raw(struct json *json, const char *text); /* already JSON */

#endif
