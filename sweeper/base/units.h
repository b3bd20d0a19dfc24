/*
 * Exact numbers with units. Independent of the locale; overflow is an error, never a wrap.
 *
 * Canonical units: sizes in bytes, durations in microseconds, percentages in percent.
 * Size suffixes: B, K/KB/kB/KiB, M…, G…, T… (any case), all powers of 1024.
 * Duration suffixes: us, ms, s, min (or m), h, d (case-sensitive, as the field writes them).
 */
#ifndef SWEEPER_BASE_UNITS_H
#define SWEEPER_BASE_UNITS_H

#include "sweeper/base/arena.h"
#include "sweeper/base/err.h"

enum unit { UNIT_NONE, UNIT_BYTES, UNIT_US, UNIT_PERCENT };

/* "bytes", "us", "percent", "" */
const char *unit_name(enum unit unit);

/* A decimal integer with optional sign, exact in 64 bits; nothing else may follow. */
bool units_parse_int(const char *text, int64_t *out, struct err *err) MUST_USE;
/* A decimal number with optional fraction and exponent, decimal point always '.', finite. */
bool units_parse_real(const char *text, double *out, struct err *err) MUST_USE;
/* "8G", "1.5G", "512", "64 MB". A bare number counts `bare` canonical units each (8192 for a
 * knob counted in 8 kB pages). A fraction must come out whole ("1.5G" is 1610612736; "0.3B" is
 * an error). has_unit (may be NULL) says whether a suffix stood there. */
bool units_parse_size(const char *text, int64_t bare, int64_t *out_bytes, bool *has_unit,
                      struct err *err) MUST_USE;
/* "90s", "1.5 h", "250us". As units_parse_size, in microseconds. */
bool units_parse_duration(const char *text, int64_t bare, int64_t *out_us, bool *has_unit,
                          struct err *err) MUST_USE;
/* "25%" or "25": percent. */
bool units_parse_percent(const char *text, double *out_pct, struct err *err) MUST_USE;

/* Shortest exact form with a unit: 8589934592 -> "8G", 1500 -> "1500B"; 90000000 -> "90s".
 * In the arena; NULL where memory ends. */
const char *units_format_size(struct arena *arena, int64_t size_bytes) MUST_USE;
const char *units_format_duration(struct arena *arena, int64_t duration_us) MUST_USE;
/* Shortest decimal that reads back as the same double, whole numbers below 1e15 without an
 * exponent; always '.'; "NaN"/"Infinity" never:
 * a non-finite value asserts. Buffer of at least 32 bytes. */
void units_format_real(double value, char *buffer, size_t size);

#endif
