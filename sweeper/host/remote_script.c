/*
 * The script that carries one command, and the filter that finds its marks again.
 */
#include <stdio.h>
#include <string.h>

#include "sweeper/base/text.h"
#include "sweeper/host/remote.h"

/* The number of bytes has a fixed width, so that the line's form never changes. No newline, no "!"
 * and no backslash: csh and fish read it as POSIX shells do. dd, because the head of busybox reads
 * ahead and takes the command's input with it; byte by byte where dd knows no full blocks. */
#define LINE                                                                                       \
    "exec /bin/sh -c 'eval \"$(dd bs=%09zu count=1 iflag=fullblock 2>/dev/null ||"                 \
    " dd bs=1 count=%09zu 2>/dev/null)\"'"

/* Braces around all of it: a script that was cut off is a syntax error and does nothing. The
 * group's number is in /proc because a login shell need not have made way for /bin/sh. Signals that
 * end the group leave this shell alive to say how the command ended. */
#define HEAD                                                                                       \
    "{ LC_ALL=C; export LC_ALL; unset LANGUAGE\n"                                                  \
    "PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export PATH\n"                                    \
    "read -r s </proc/$$/stat; set -- ${s##*) }; g=$3\n"                                           \
    "say() { printf 'DBSWEEP %%s %%s %%s\\n' %s \"$1\" \"$2\"; }\n"                                \
    "set -- %s\n"                                                                                  \
    "trap : HUP INT TERM\n"                                                                        \
    "say begin \"$g\"; say begin \"$g\" >&2\n"
#define TAIL "say end $r; say end $r >&2; }\n"

/* A daemon keeps what it inherits: not our streams, then, but files without a name. */
#define DAEMON_HEAD                                                                                \
    "t=$(mktemp \"${TMPDIR:-/tmp}/dbsweep-XXXXXXXXXX\") && exec 5>\"$t\" 6<\"$t\" && rm \"$t\" "   \
    "&&\n"                                                                                         \
    "t=$(mktemp \"${TMPDIR:-/tmp}/dbsweep-XXXXXXXXXX\") && exec 7>\"$t\" 8<\"$t\" && rm \"$t\" "   \
    "||\n"                                                                                         \
    "{ say end 126; say end 126 >&2; exit; }\n"
#define DAEMON_TAIL "cat <&6; cat <&8 >&2\n"

bool remote_script(const struct host_command *command, bool sudo, bool has_input, const char *nonce,
                   struct arena *arena, const char **out_line, struct bytes *out_script,
                   struct err *err)
{
    const char *words = host_quote(arena, command->argv);
    const char *through = sudo && !command->as_is ? "sudo -n -- " : "";
    const char *input = has_input ? "" : " </dev/null";
    struct text text;
    if (words == NULL) {
        return err_memory(err);
    }
    text_open(&text, arena);
    text_addf(&text, HEAD, nonce, words);
    if (command->daemon) {
        text_addf(&text, DAEMON_HEAD "%s\"$@\"%s >&5 2>&7 5>&- 6<&- 7>&- 8<&-; r=$?\n" DAEMON_TAIL,
                  through, input);
    } else {
        text_addf(&text, "%s\"$@\"%s; r=$?\n", through, input);
    }
    text_add(&text, TAIL);
    const char *script = text_done(&text);
    const char *line = arena_printf(arena, LINE, text.size, text.size);
    if (script == NULL || line == NULL) {
        return err_memory(err);
    }
    *out_line = line;
    *out_script = (struct bytes){.data = script, .size = text.size};
    return true;
}

/* --- the filter ------------------------------------------------------------------------------- */

void remote_filter_open(struct remote_filter *filter, const char *nonce)
{
    *filter = (struct remote_filter){.stage = FILTER_NOISE};
    snprintf(filter->begin_mark, sizeof filter->begin_mark, "DBSWEEP %s begin ", nonce);
    snprintf(filter->end_mark, sizeof filter->end_mark, "DBSWEEP %s end ", nonce);
}

static void keep_noise(struct remote_filter *filter, const char *data, size_t size)
{
    size_t room = sizeof filter->noise;
    if (size > room) {
        data += size - room;
        size = room;
    }
    if (filter->noise_size + size > room) {
        size_t drop = filter->noise_size + size - room;
        memmove(filter->noise, filter->noise + drop, filter->noise_size - drop);
        filter->noise_size -= drop;
    }
    memcpy(filter->noise + filter->noise_size, data, size);
    filter->noise_size += size;
}

struct sink {
    struct remote_filter *filter;
    void (*take)(void *context, const char *data, size_t size);
    void *context;
};

static void pass(const struct sink *sink, const char *data, size_t size)
{
    size_t passed = sink->filter->passed_size < size ? sink->filter->passed_size : size;
    sink->filter->passed_size -= passed;
    data += passed;
    size -= passed;
    if (size == 0) {
        return;
    }
    if (sink->filter->stage == FILTER_NOISE) {
        keep_noise(sink->filter, data, size);
    } else {
        sink->take(sink->context, data, size);
    }
}

/* How many bytes at the end may be the beginning of the mark. */
static size_t partial_mark(const char *data, size_t size, const char *mark)
{
    size_t longest = strlen(mark) - 1;
    for (size_t length = size < longest ? size : longest; length > 0; length--) {
        if (memcmp(data + size - length, mark, length) == 0) {
            return length;
        }
    }
    return 0;
}

/* Looks for the mark; what is surely no part of it is passed on. Returns how much was used. */
static size_t look_for_mark(const struct sink *sink, const char *data, size_t size)
{
    struct remote_filter *filter = sink->filter;
    const char *mark = filter->stage == FILTER_NOISE ? filter->begin_mark : filter->end_mark;
    const char *found = memmem(data, size, mark, strlen(mark));
    if (found != NULL) {
        pass(sink, data, (size_t)(found - data));
        filter->stage = filter->stage == FILTER_NOISE ? FILTER_BEGIN : FILTER_END;
        filter->passed_size = 0;
        return (size_t)(found - data) + strlen(mark);
    }
    size_t sure = size - partial_mark(data, size, mark);
    pass(sink, data, sure);
    return sure;
}

/* -1 where it is anything but a few digits: what is no number must not read as success. */
static long number_parse(const char *digits, size_t size)
{
    long number = 0;
    if (size == 0 || size > 9) {
        return -1;
    }
    for (size_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9') {
            return -1;
        }
        number = number * 10 + (digits[i] - '0');
    }
    return number;
}

/* The number after a mark, once its newline is there. */
static size_t look_for_number(struct remote_filter *filter, const char *data, size_t size)
{
    /* a line longer than any number is none, wherever the stream was cut */
    size_t longest = sizeof filter->held / 2;
    size_t length = size < longest ? size : longest;
    const char *newline = memchr(data, '\n', length);
    if (newline == NULL && length < longest) {
        return 0;
    }
    length = newline != NULL ? (size_t)(newline - data) : length;
    long number = number_parse(data, length);
    if (filter->stage == FILTER_BEGIN) {
        filter->begin_number = number;
        filter->stage = FILTER_BODY;
    } else {
        filter->end_number = number;
        filter->stage = FILTER_DONE;
    }
    return length + (newline != NULL ? 1 : 0);
}

static size_t step(const struct sink *sink, const char *data, size_t size)
{
    switch (sink->filter->stage) {
    case FILTER_NOISE:
    case FILTER_BODY:
        return look_for_mark(sink, data, size);
    case FILTER_BEGIN:
    case FILTER_END:
        return look_for_number(sink->filter, data, size);
    case FILTER_DONE:
        break;
    }
    return size; /* whoever holds the stream after the end is not the command */
}

static void run_steps(const struct sink *sink, const char *data, size_t size)
{
    struct remote_filter *filter = sink->filter;
    while (size > 0) {
        int stage = (int)filter->stage;
        size_t used = step(sink, data, size);
        data += used;
        size -= used;
        if (used == 0 && (int)filter->stage == stage) {
            break;
        }
    }
    assert(size <= sizeof filter->held);
    memmove(filter->held, data, size);
    filter->held_size = size;
}

void remote_filter_add(struct remote_filter *filter, const char *data, size_t size,
                       void (*take)(void *context, const char *data, size_t size), void *context)
{
    const struct sink sink = {.filter = filter, .take = take, .context = context};
    /* What was held is looked at again with the beginning of the new bytes, at most the rest of the
     * buffer at a time, so that each byte is copied a bounded number of times. */
    while (filter->held_size > 0 && size > 0) {
        char joined[sizeof filter->held];
        size_t held = filter->held_size;
        size_t more = sizeof joined - held < size ? sizeof joined - held : size;
        memcpy(joined, filter->held, held);
        memcpy(joined + held, data, more);
        data += more;
        size -= more;
        run_steps(&sink, joined, held + more);
    }
    if (size > 0) {
        run_steps(&sink, data, size);
    }
}

/* "DBSWEEP ": a longer one holds digits of the nonce, and nothing else does. */
enum { RELEASED_BYTES = 8 };

bool remote_filter_holds(const struct remote_filter *filter)
{
    return filter->stage == FILTER_BODY && filter->held_size > filter->passed_size &&
           filter->held_size <= RELEASED_BYTES;
}

void remote_filter_release(struct remote_filter *filter,
                           void (*take)(void *context, const char *data, size_t size),
                           void *context)
{
    if (remote_filter_holds(filter)) {
        take(context, filter->held + filter->passed_size, filter->held_size - filter->passed_size);
        filter->passed_size = filter->held_size;
    }
}
