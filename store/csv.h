/*
 * Fields of a CSV line. Text that a spreadsheet would run as a formula is prefixed with '; numbers
 * stay raw. Inside store/ only.
 */
#ifndef STORE_CSV_H
#define STORE_CSV_H

#include "store/rank.h"

/* Each adds its field and what ends it: ',' or a newline. */
void csv_text(struct text *out, const char *value, char end);
void csv_number(struct text *out, double value, char end); /* NAN: empty */

#endif
