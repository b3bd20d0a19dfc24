/*
 * Pieces of text tables for people.
 */
#include "store/layout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Whatever a locale puts between the digits becomes one point. */
static void set_point(char *number)
{
    char *point = number + strspn(number, "+-0123456789");
    size_t length = strcspn(point, "0123456789e");
    if (length > 0) {
        memmove(point + 1, point + length, strlen(point + length) + 1);
        *point = '.';
    }
}

static void write_number(const char *format, int digits, double value,
                         char buffer[LAYOUT_NUMBER_SIZE])
{
    bool fits = fabs(value) < 1e30;
    if (!isfinite(value)) {
        snprintf(buffer, LAYOUT_NUMBER_SIZE, "-");
    } else if (!fits) {
        snprintf(buffer, LAYOUT_NUMBER_SIZE, "%.3e", value);
    } else if (strcmp(format, "+f") == 0) {
        snprintf(buffer, LAYOUT_NUMBER_SIZE, "%+.*f", digits, value);
    } else if (strcmp(format, "f") == 0) {
        snprintf(buffer, LAYOUT_NUMBER_SIZE, "%.*f", digits, value);
    } else {
        snprintf(buffer, LAYOUT_NUMBER_SIZE, "%.*g", digits, value);
    }
    if (isfinite(value)) {
        set_point(buffer);
    }
}

void layout_fixed(double value, int decimals, char buffer[LAYOUT_NUMBER_SIZE])
{
    write_number("f", decimals, value, buffer);
}

void layout_signed(double value, int decimals, char buffer[LAYOUT_NUMBER_SIZE])
{
    write_number("+f", decimals, value, buffer);
}

void layout_figure(double value, char buffer[LAYOUT_NUMBER_SIZE])
{
    double size = fabs(value);
    if (size < 1) {
        write_number("g", 4, value, buffer);
        return;
    }
    write_number("f",
                 size >= 999.95   ? 0
                 : size >= 99.995 ? 1
                 : size >= 9.9995 ? 2
                                  : 3,
                 value, buffer);
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t layout_width(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++) {
        width += !continues(*text);
    }
    return width;
}

static void fill(struct text *out, size_t used, size_t width)
{
    for (; used < width; used++) {
        text_add_char(out, ' ');
    }
}

void layout_left(struct text *out, const char *text, size_t width)
{
    text_add(out, text);
    fill(out, layout_width(text), width);
}

void layout_right(struct text *out, const char *text, size_t width)
{
    fill(out, layout_width(text), width);
    text_add(out, text);
}

const char *layout_line(struct arena *arena, const char *text, size_t width)
{
    char *line = NULL;
    const char *printable = text_printable(arena, text);
    if (printable == NULL || (line = arena_strdup(arena, printable)) == NULL) {
        return NULL;
    }
    for (char *at = line; *at != '\0'; at++) {
        *at = *at == '\n' || *at == '\t' ? ' ' : *at;
    }
    if (layout_width(line) <= width) {
        return line;
    }
    char *end = line;
    for (size_t seen = 0; *end != '\0' && (seen + 3 < width || continues(*end)); end++) {
        seen += !continues(end[1]);
    }
    *end = '\0';
    return arena_printf(arena, "%s...", line);
}
