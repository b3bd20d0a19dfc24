/*
 * The program's only way to the clock.
 */
#include "sweeper/base/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "sweeper/base/stop.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t real_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

static int64_t real_boot(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

static int64_t real_wall(void)
{
    return read_clock(CLOCK_REALTIME) / NS_PER_US;
}

static void real_sleep(int64_t deadline_ns)
{
    struct pollfd wake = {.fd = stop_descriptor(), .events = POLLIN};
    while (stop_asked() == 0) {
        int64_t now = real_now();
        if (deadline_ns <= now) {
            return;
        }
        int64_t left = deadline_ns - now;
        struct timespec wait = {.tv_sec = (time_t)(left / NS_PER_S),
                                .tv_nsec = (long)(left % NS_PER_S)};
        if (ppoll(&wake, wake.fd >= 0 ? 1 : 0, &wait, NULL) < 0 && errno != EINTR) {
            return;
        }
    }
}

static void real_pause(int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = (time_t)(deadline_ns / NS_PER_S),
                             .tv_nsec = (long)(deadline_ns % NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

static const struct clock_source real_source = {real_now, real_boot, real_wall, real_sleep,
                                                real_pause};
static const struct clock_source *source = &real_source;

void clock_replace(const struct clock_source *replacement)
{
    source = replacement != NULL ? replacement : &real_source;
}

int64_t clock_now_ns(void)
{
    return source->now_ns();
}

int64_t clock_boot_ns(void)
{
    return source->boot_ns();
}

int64_t clock_wall_us(void)
{
    return source->wall_us();
}

void clock_sleep_until(int64_t deadline_ns)
{
    source->sleep_until(deadline_ns);
}

void clock_pause_until(int64_t deadline_ns)
{
    source->pause_until(deadline_ns);
}

int64_t clock_deadline_ms(int64_t ms)
{
    int64_t now = clock_now_ns();
    if (ms < 0 || ms > (CLOCK_NEVER - now) / NS_PER_MS) {
        return CLOCK_NEVER;
    }
    return now + ms * NS_PER_MS;
}

int clock_left_ms(int64_t deadline_ns)
{
    if (deadline_ns == CLOCK_NEVER) {
        return -1;
    }
    int64_t now = clock_now_ns();
    if (deadline_ns <= now) {
        return 0;
    }
    int64_t left = deadline_ns - now;
    int64_t left_ms = left / NS_PER_MS + (left % NS_PER_MS != 0);
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

bool clock_passed(int64_t deadline_ns)
{
    return deadline_ns != CLOCK_NEVER && clock_now_ns() >= deadline_ns;
}

void clock_format_wall(int64_t wall_us, char *buffer, size_t size)
{
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    snprintf(buffer, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
             utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
             (int)(wall_us / 1000 % 1000));
}

void clock_format_span(int64_t ms, char *buffer, size_t size)
{
    long long s = (long long)(ms / 1000);
    if (s < 90) {
        snprintf(buffer, size, "%llds", s);
    } else if (s < 90LL * 60) {
        snprintf(buffer, size, "%lldmin", (s + 30) / 60);
    } else if (s < 48LL * 3600) {
        snprintf(buffer, size, "%lldh%02lldmin", s / 3600, s % 3600 / 60);
    } else {
        snprintf(buffer, size, "%lldd%02lldh", s / 86400, s % 86400 / 3600);
    }
}
