/*
 * A JSON writer. Strings are escaped, invalid UTF-8 becomes U+FFFD. Control characters are
 * escaped even where JSON allows them, because people read this on terminals.
 */
#include "sweeper/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "sweeper/base/units.h"

void json_open(struct json *json, struct text *out)
{
    *json = (struct json){.out = out};
}

/* The comma before the next item of a container. */
static void separate(struct json *json)
{
    uint32_t bit = UINT32_C(1) << json->depth;
    if (json->after_key) {
        json->after_key = false;
        return;
    }
    if ((json->has_item & bit) != 0) {
        text_add_char(json->out, ',');
    }
    json->has_item |= bit;
}

static void begin(struct json *json, char bracket)
{
    separate(json);
    text_add_char(json->out, bracket);
    assert(json->depth < 31);
    json->depth++;
    json->has_item &= ~(UINT32_C(1) << json->depth);
}

static void end(struct json *json, char bracket)
{
    assert(json->depth > 0 && !json->after_key);
    json->depth--;
    text_add_char(json->out, bracket);
}

void json_object_begin(struct json *json)
{
    begin(json, '{');
}

void json_object_end(struct json *json)
{
    end(json, '}');
}

void json_array_begin(struct json *json)
{
    begin(json, '[');
}

void json_array_end(struct json *json)
{
    end(json, ']');
}

static void add_escaped(struct text *out, unsigned char byte)
{
    static const char letters[] = "\"\\\b\f\n\r\t";
    static const char escapes[] = "\"\\bfnrt";
    const char *found = byte != '\0' ? strchr(letters, byte) : NULL;
    if (found != NULL) {
        text_add_char(out, '\\');
        text_add_char(out, escapes[found - letters]);
    } else if (byte < 0x20 || byte == 0x7f) {
        text_addf(out, "\\u%04x", byte);
    } else {
        text_add_char(out, (char)byte);
    }
}

static bool is_c1(const unsigned char *at)
{
    return at[0] == 0xc2 && at[1] < 0xa0;
}

static void add_string(struct text *out, const char *value)
{
    text_add_char(out, '"');
    const unsigned char *at = (const unsigned char *)value;
    while (*at != '\0') {
        size_t length = text_character_length((const char *)at);
        if (length == 1) {
            add_escaped(out, *at);
        } else if (length == 0) {
            text_add(out, "\xef\xbf\xbd");
            length = 1;
        } else if (is_c1(at)) {
            text_addf(out, "\\u%04x", at[1]);
        } else {
            text_add_bytes(out, at, length);
        }
        at += length;
    }
    text_add_char(out, '"');
}

void json_key(struct json *json, const char *key)
{
    separate(json);
    add_string(json->out, key);
    text_add_char(json->out, ':');
    json->after_key = true;
}

void json_string(struct json *json, const char *value)
{
    if (value == NULL) {
        json_null(json);
        return;
    }
    separate(json);
    add_string(json->out, value);
}

void json_int(struct json *json, int64_t value)
{
    separate(json);
    text_addf(json->out, "%" PRId64, value);
}

void json_real(struct json *json, double value)
{
    char number[40];
    if (!isfinite(value)) {
        json_null(json);
        return;
    }
    separate(json);
    units_format_real(value, number, sizeof number);
    text_add(json->out, number);
}

void json_bool(struct json *json, bool value)
{
    separate(json);
    text_add(json->out, value ? "true" : "false");
}

void json_null(struct json *json)
{
    separate(json);
    text_add(json->out, "null");
}

void json_raw(struct json *json, const char *text)
{
    separate(json);
    text_add(json->out, text);
}
