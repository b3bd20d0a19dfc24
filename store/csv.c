/*
 * CSV that is safe to open in a spreadsheet.
 */
#include "store/csv.h"

#include <math.h>
#include <string.h>

#include "sweeper/base/units.h"

void csv_text(struct text *out, const char *value, char end)
{
    bool is_formula = value[0] != '\0' && strchr("=+-@\t\r", value[0]) != NULL;
    bool is_quoted = strpbrk(value, ",\"\r\n") != NULL;
    if (is_quoted) {
        text_add_char(out, '"');
    }
    if (is_formula) {
        text_add_char(out, '\'');
    }
    for (; *value != '\0'; value++) {
        if (*value == '"') {
            text_add_char(out, '"');
        }
        bool is_control = (unsigned char)*value < 0x20 && *value != '\n' && *value != '\t';
        if (is_control) {
            text_addf(out, "\\x%02x", (unsigned char)*value);
        } else {
            text_add_char(out, *value);
        }
    }
    if (is_quoted) {
        text_add_char(out, '"');
    }
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
