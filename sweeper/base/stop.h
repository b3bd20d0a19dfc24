/*
 * The stop flag, raised by SIGINT, SIGTERM and SIGHUP: the other writable global. The first
 * signal asks the sweep to drop the trial, restore and end; further ones change nothing.
 */
#ifndef SWEEPER_BASE_STOP_H
#define SWEEPER_BASE_STOP_H

#include "sweeper/base/base.h"

/* Installs the handlers (and ignores SIGPIPE). */
void stop_install(void);
/* The signal that asked, 0 when none did. */
int stop_asked(void);
/* A descriptor that becomes readable when a stop is asked (a pipe's end), for poll(). -1 before
 * stop_install. */
int stop_descriptor(void);
/* As a signal would; for the program itself and for tests. */
void stop_ask(int signal_number);
/* Between the two nobody is told of a request, old or new: a restore must not be interrupted. They
 * nest, and belong to the main thread. */
void stop_hold(void);
void stop_release(void);
/* Forgets the request: the restore after a stop must not be interrupted. */
void stop_clear(void);

#endif
