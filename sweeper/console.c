/*
 * The progress bar of a terminal and the stage lines of a log. One line of the terminal is ours:
 * it is erased before each log line and drawn again behind it. What stands in the bar is plain
 * ASCII: whatever a server or a file put into a name cannot steer the terminal, and a byte is a
 * column. The log lines are made printable by the log.
 */
#include "sweeper/console.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sweeper/base/clock.h"
#include "sweeper/base/log.h"

#define LINE_SIZE 512
#define DEFAULT_WIDTH 80
#define BAR_MOST 20
#define BAR_LEAST 8
#define NOTE_EVERY_MS 10000 /* in a log; a terminal shows each */

/* The log's hooks have no context: there is one console at a time. */
static struct console *shown;

/* ---- text ---- */

/* Copies, cut to the buffer; every character that is not printable ASCII becomes one '?'. */
static void copy_plain(char *buffer, size_t size, const char *text)
{
    size_t used = 0;
    for (; *text != '\0' && used + 1 < size; text++) {
        unsigned char byte = (unsigned char)*text;
        bool continues = (byte & 0xc0u) == 0x80u; /* of a UTF-8 sequence, or a stray C1 byte */
        if (byte >= 0x20 && byte < 0x7f)
            buffer[used++] = *text;
        else if (!continues || used == 0 || buffer[used - 1] != '?')
            buffer[used++] = '?';
    }
    buffer[used] = '\0';
}

/* ---- the line ---- */

struct line {
    char text[LINE_SIZE];
    size_t used;
    size_t limit; /* columns */
};

/* Adds the piece whole, or nothing: less important pieces come later and find less room. */
static bool PRINTF_LIKE(2, 3) line_add(struct line *line, const char *format, ...)
{
    char piece[LINE_SIZE];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(piece, sizeof(piece), format, args);
    va_end(args);
    if (size < 0 || line->used + (size_t)size > line->limit)
        return false;
    memcpy(line->text + line->used, piece, (size_t)size + 1);
    line->used += (size_t)size;
    return true;
}

/* Adds as much as fits, if enough of it fits to say something. */
static void line_add_cut(struct line *line, const char *label, const char *text)
{
    size_t room = line->limit - line->used;
    size_t taken = strlen(label) + 2;
    if (text[0] == '\0' || room < taken + 12)
        return;
    room -= taken;
    if (strlen(text) <= room)
        (void)line_add(line, "  %s%s", label, text);
    else
        (void)line_add(line, "  %s%.*s...", label, (int)(room - 3), text);
}

static double stage_share(const struct console *console)
{
    if (console->stage_length_ns <= 0)
        return 0;
    double gone = (double)(clock_now_ns() - console->stage_started_ns);
    return fmin(1, fmax(0, gone / (double)console->stage_length_ns));
}

/* What a note says of how far its work is, "40 %"; 0 where it says nothing. */
static double note_share(const char *note)
{
    const char *end = strstr(note, " %");
    const char *start = end;
    while (start != NULL && start > note && start[-1] >= '0' && start[-1] <= '9')
        start--;
    return start == end ? 0 : strtod(start, NULL) / 100;
}

/* The bar shows the sweep; where its length is unknown, the stage, or what the stage notes. */
static void line_add_bar(struct line *line, const struct console *console)
{
    double share = console->stage_length_ns > 0 ? stage_share(console) : note_share(console->note);
    if (console->trial_count > 0)
        share = ((double)console->trial_number - 1) / (double)console->trial_count;
    share = fmin(1, fmax(0, share));
    size_t room = line->limit > line->used + 40 ? BAR_MOST : BAR_LEAST;
    char bar[BAR_MOST + 1];
    size_t full = (size_t)(share * (double)room);
    memset(bar, '#', full);
    memset(bar + full, '-', room - full);
    bar[room] = '\0';
    (void)line_add(line, "[%s] ", bar);
}

static void line_add_stage(struct line *line, const struct console *console)
{
    long long gone_s = (long long)((clock_now_ns() - console->stage_started_ns) / NS_PER_S);
    long long length_s = (long long)(console->stage_length_ns / NS_PER_S);
    if (console->stage[0] == '\0')
        return;
    if (length_s > 0)
        (void)line_add(line, "  %s %lld/%llds", console->stage, gone_s, length_s);
    else
        (void)line_add(line, "  %s %llds", console->stage, gone_s);
}

static void line_fill(struct line *line, const struct console *console)
{
    char left[32];
    long long number = (long long)console->trial_number;
    line_add_bar(line, console);
    if (console->trial_count > 0)
        (void)line_add(line, "trial %lld/%lld", number, (long long)console->trial_count);
    else if (number > 0)
        (void)line_add(line, "trial %lld", number);
    line_add_stage(line, console);
    if (!isnan(console->throughput_per_s))
        (void)line_add(line, "  %.1f/s", console->throughput_per_s);
    if (console->eta_ms >= 0) {
        clock_format_span(console->eta_ms, left, sizeof(left));
        (void)line_add(line, "  ETA %s", left);
    }
    if (!isnan(console->p99_ms))
        (void)line_add(line, "  p99 %.2f ms", console->p99_ms);
    line_add_cut(line, "", console->note);
    line_add_cut(line, "best ", console->best);
    line_add_cut(line, "", console->point);
}

static int terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return DEFAULT_WIDTH;
}

static void erase(struct console *console)
{
    if (!console->is_terminal || !console->drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    console->drawn = false;
}

/* One column stays free: a full line makes some terminals wrap. */
static void draw(struct console *console)
{
    if (!console->is_terminal)
        return;
    console->width = terminal_width();
    struct line line = {.limit = (size_t)console->width - 1};
    if (line.limit > LINE_SIZE - 1)
        line.limit = LINE_SIZE - 1;
    line_fill(&line, console);
    fprintf(stderr, "\r%s\033[K", line.text);
    fflush(stderr);
    console->drawn = true;
}

static void before_log_line(void)
{
    if (shown != NULL)
        erase(shown);
}

static void after_log_line(void)
{
    if (shown != NULL && (shown->stage[0] != '\0' || shown->note[0] != '\0'))
        draw(shown);
}

/* ---- what the loop says ---- */

void console_open(struct console *console)
{
    const char *term = getenv("TERM");
    assert(shown == NULL);
    *console = (struct console){.throughput_per_s = NAN, .p99_ms = NAN, .eta_ms = -1};
    console->is_terminal = isatty(STDERR_FILENO) == 1 && term != NULL && term[0] != '\0' &&
                           strcmp(term, "dumb") != 0 && log_current_format() == LOG_TEXT;
    console->width = console->is_terminal ? terminal_width() : DEFAULT_WIDTH;
    shown = console;
    log_set_hooks(before_log_line, after_log_line);
}

void console_close(struct console *console)
{
    erase(console);
    log_set_hooks(NULL, NULL);
    shown = NULL;
}

void console_trial(struct console *console, int64_t number, int64_t count, const char *point,
                   int64_t eta_ms)
{
    char left[32] = "";
    console->trial_number = number;
    console->trial_count = count;
    console->eta_ms = eta_ms;
    console->stage[0] = '\0';
    console->note[0] = '\0';
    console->throughput_per_s = NAN;
    console->p99_ms = NAN;
    copy_plain(console->point, sizeof(console->point), point);
    if (eta_ms >= 0)
        clock_format_span(eta_ms, left, sizeof(left));
    char of[32] = "";
    if (count > 0)
        snprintf(of, sizeof(of), " of %lld", (long long)count);
    log_line(LOG_INFO, "trial %lld%s: %s%s%s", (long long)number, of, point,
             left[0] != '\0' ? "; ETA " : "", left);
}

void console_stage(struct console *console, const char *stage, const char *sentence,
                   int64_t expected_ms)
{
    copy_plain(console->stage, sizeof(console->stage), stage);
    console->note[0] = '\0';
    console->throughput_per_s = NAN;
    console->p99_ms = NAN;
    console->stage_started_ns = clock_now_ns();
    console->stage_length_ns = expected_ms > 0 ? expected_ms * NS_PER_MS : 0;
    console->noted_ns = 0;
    if (console->is_terminal)
        draw(console);
    else
        log_line(LOG_INFO, "trial %lld, %s: %s", (long long)console->trial_number, stage, sentence);
}

void console_second(struct console *console, double throughput_per_s, double p99_ms)
{
    console->throughput_per_s = throughput_per_s;
    console->p99_ms = p99_ms;
    if (console->eta_ms > 1000)
        console->eta_ms -= 1000;
    draw(console);
}

void console_note(struct console *console, const char *text)
{
    copy_plain(console->note, sizeof(console->note), text);
    if (console->is_terminal) {
        draw(console);
        return;
    }
    int64_t now_ns = clock_now_ns();
    if (note_share(console->note) < 1 && console->noted_ns != 0 &&
        now_ns - console->noted_ns < NOTE_EVERY_MS * NS_PER_MS)
        return;
    console->noted_ns = now_ns;
    log_line(LOG_INFO, "%s", text);
}

void console_best(struct console *console, const char *text)
{
    copy_plain(console->best, sizeof(console->best), text);
    if (console->is_terminal)
        draw(console);
    else
        log_line(LOG_INFO, "best so far: %s", text);
}
