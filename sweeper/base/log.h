/*
 * One log stream on standard error, as text or as one JSON object per line. Never called from a
 * signal handler. Every text is made printable first. The level is one of the two writable
 * globals of the program.
 */
#ifndef SWEEPER_BASE_LOG_H
#define SWEEPER_BASE_LOG_H

#include "sweeper/base/err.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

void log_configure(enum log_level level, enum log_format format);
enum log_format log_current_format(void);
/* Called before and after each line, so that the console can take its progress bar away and
 * draw it again. NULL: none. */
void log_set_hooks(void (*before)(void), void (*after)(void));

void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);
/* The whole record: text, hint on its own line, contexts, native code. */
void log_err(enum log_level level, const struct err *err);

#endif
