/*
 * Pieces of text tables for people: numbers that read the same under every locale, and cells
 * padded by what is seen instead of by bytes. Scripts read JSON and CSV, which have their own.
 */
#ifndef STORE_LAYOUT_H
#define STORE_LAYOUT_H

#include "sweeper/base/text.h"

#define LAYOUT_NUMBER_SIZE 48 /* bytes that any number fits in */

/* With that many decimals and '.', "-" where the value is not finite; `signed` puts a + too. */
void layout_fixed(double value, int decimals, char buffer[LAYOUT_NUMBER_SIZE]);
void layout_signed(double value, int decimals, char buffer[LAYOUT_NUMBER_SIZE]);
/* To four figures, whole above a thousand: "12346", "123.5", "1.235", "0.001235", "-". */
void layout_figure(double value, char buffer[LAYOUT_NUMBER_SIZE]);

/* Characters of UTF-8 (an accent of its own and a wide character count as one). */
size_t layout_width(const char *text);
/* The text filled up with blanks to that many characters; longer texts are kept whole. */
void layout_left(struct text *out, const char *text, size_t width);
void layout_right(struct text *out, const char *text, size_t width);
/* One printable line of it: control characters as \xNN, line ends as blanks, at most that many
 * characters, "..." behind what was cut. NULL where memory ends. */
const char *layout_line(struct arena *arena, const char *text, size_t width);

#endif
