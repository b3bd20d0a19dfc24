/*
 * Time. Durations and deadlines are monotonic; the wall clock is only a label. The source can be
 * replaced in tests; there is no other way to the clock in this program.
 *
 * A deadline is an absolute monotonic time in nanoseconds; CLOCK_NEVER means none.
 */
#ifndef SWEEPER_BASE_CLOCK_H
#define SWEEPER_BASE_CLOCK_H

#include "sweeper/base/base.h"

#define CLOCK_NEVER INT64_MAX
#define NS_PER_US INT64_C(1000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

int64_t clock_now_ns(void);                  /* CLOCK_MONOTONIC */
int64_t clock_boot_ns(void);                 /* CLOCK_BOOTTIME: goes on while suspended */
int64_t clock_wall_us(void);                 /* since 1970-01-01 UTC */
void clock_sleep_until(int64_t deadline_ns); /* returns early when a stop was asked (stop.h) */
void clock_pause_until(int64_t deadline_ns); /* to the end: for work that no stop interrupts */

/* now + ms, saturating at CLOCK_NEVER; ms < 0 means never. */
int64_t clock_deadline_ms(int64_t ms);
/* Milliseconds left, rounded up, 0 when past, at most INT_MAX: fit for poll(). -1 for never. */
int clock_left_ms(int64_t deadline_ns);
bool clock_passed(int64_t deadline_ns);

/* "2026-12-01T01:24:07.123Z" (RFC 3339, UTC, milliseconds); buffer of at least 32 bytes. */
void clock_format_wall(int64_t wall_us, char *buffer, size_t size);

/* A length of time for people: "45s", "12min", "3h04min", "2d03h"; ms >= 0. */
#define CLOCK_SPAN_BYTES 32
void clock_format_span(int64_t ms, char *buffer, size_t size);

/* For tests: replaces every source above; NULL puts the real one back. */
struct clock_source {
    int64_t (*now_ns)(void);
    int64_t (*boot_ns)(void);
    int64_t (*wall_us)(void);
    void (*sleep_until)(int64_t deadline_ns);
    void (*pause_until)(int64_t deadline_ns);
};
void clock_replace(const struct clock_source *source);

#endif
