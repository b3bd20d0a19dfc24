/*
 * CSV that is safe to open in a spreadsheet.
 */
#include "store/csv.h"

#include <math.h>
#include <string.h>

#include "sweeper/base/units.h"

/* "-1" is a number and no formula; "-1+2" and "+cmd" are none. */
static bool is_formula(const char *value)
{
    double ignored = 0;
    struct err err;
    err_clear(&err);
    return value[0] != '\0' && strchr("=+-@\t\r\n", value[0]) != NULL &&
           !units_parse_real(value, &ignored, &err);
}

void csv_text(struct text *out, const char *value, char end)
{
    const char *printable = text_printable(out->arena, value);
    if (printable == NULL) {
        out->failed = true;
        return;
    }
    bool is_quoted = strpbrk(printable, ",\"\n") != NULL;
    text_add(out, is_quoted ? "\"" : "");
    text_add(out, is_formula(value) ? "'" : "");
    for (; *printable != '\0'; printable++) {
        text_add(out, *printable == '"' ? "\"" : "");
        text_add_char(out, *printable);
    }
    text_add(out, is_quoted ? "\"" : "");
    text_add_char(out, end);
}

void csv_number(struct text *out, double value, char end)
{
    char number[40];
    if (isfinite(value)) {
        units_format_real(value, number, sizeof number);
        text_add(out, number);
    }
    text_add_char(out, end);
}
