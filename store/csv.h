/*
 * Fields of a CSV line. Text that a spreadsheet would run as a formula (it begins with = + - @, a
 * tab or a line end) is prefixed with '; numbers stay raw, as text such as "-1" too. Control
 * characters save tab and newline become \xNN. Inside store/ only.
 */
#ifndef STORE_CSV_H
#define STORE_CSV_H

#include "sweeper/base/text.h"

/* Each adds its field and what ends it: ',' or a newline. */
void csv_text(struct text *out, const char *value, char end);
void csv_number(struct text *out, double value, char end); /* NAN: empty */

#endif
