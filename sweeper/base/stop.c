/*
 * The stop flag and the pipe that wakes poll(). The flag is a lock-free atomic: handlers may set
 * it, and any thread may look.
 */
#include "sweeper/base/stop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int asked_signal;
static atomic_int hold_count;
static int wake_pipe[2] = {-1, -1};

static void wake(void)
{
    if (wake_pipe[1] >= 0 && atomic_load(&hold_count) == 0) {
        ssize_t written = write(wake_pipe[1], "s", 1);
        (void)written; /* a full pipe is awake already */
    }
}

void stop_ask(int signal_number)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&asked_signal, &none, signal_number)) {
        wake();
    }
}

static void on_signal(int signal_number)
{
    int saved = errno;
    stop_ask(signal_number);
    errno = saved;
}

void stop_install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&action.sa_mask);
    sigemptyset(&ignore.sa_mask);
    if (wake_pipe[0] < 0 && pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
        wake_pipe[0] = wake_pipe[1] = -1;
    }
    if (stop_asked() != 0) {
        wake();
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
}

int stop_asked(void)
{
    return atomic_load(&hold_count) == 0 ? atomic_load(&asked_signal) : 0;
}

int stop_descriptor(void)
{
    return wake_pipe[0];
}

static void empty_pipe(void)
{
    char byte[16];
    while (wake_pipe[0] >= 0 && read(wake_pipe[0], byte, sizeof byte) > 0) {
    }
}

void stop_hold(void)
{
    atomic_fetch_add(&hold_count, 1);
    empty_pipe();
}

void stop_release(void)
{
    assert(atomic_load(&hold_count) > 0);
    /* A signal that comes in between wakes twice, which is once. */
    if (atomic_fetch_sub(&hold_count, 1) == 1 && atomic_load(&asked_signal) != 0) {
        wake();
    }
}

void stop_clear(void)
{
    empty_pipe();
    /* Last: a signal that comes after it finds an empty pipe and fills it again. */
    atomic_store(&asked_signal, 0);
}
