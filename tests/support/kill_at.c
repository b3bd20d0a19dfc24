/*
 * A preloaded library that ends the process with SIGKILL at a chosen stage, the way a power cut
 * would: right after the store committed that the stage begins, and before the target is touched,
 * or a while into it.
 *
 *   KILL_AT=apply:3     the third time that a stage named "apply" is begun
 *   KILL_AFTER_MS=20    that much later (0: at once)
 *
 * It watches SQLite: a bound text that equals the stage arms it, the next commit fires.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef int (*bind_text_function)(sqlite3_stmt *, int, const char *, int, void (*)(void *));
typedef int (*step_function)(sqlite3_stmt *);

static atomic_int armed;
static atomic_int seen;

static void wait_and_die(void)
{
    const char *after = getenv("KILL_AFTER_MS");
    long ms = after != NULL ? atol(after) : 0;
    struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
    kill(getpid(), SIGKILL);
}

static void *die_later(void *unused)
{
    (void)unused;
    wait_and_die();
    return NULL;
}

static void fire(void)
{
    const char *after = getenv("KILL_AFTER_MS");
    pthread_t thread;
    if (after == NULL || atol(after) == 0) {
        wait_and_die();
    } else if (pthread_create(&thread, NULL, die_later, NULL) == 0) {
        pthread_detach(thread);
    }
}

int sqlite3_bind_text(sqlite3_stmt *statement, int at, const char *text, int size,
                      void (*destroy)(void *))
{
    static bind_text_function real;
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "sqlite3_bind_text");
        memcpy(&real, &found, sizeof real);
    }
    const char *wanted = getenv("KILL_AT");
    const char *colon = wanted != NULL ? strchr(wanted, ':') : NULL;
    const char *sql = sqlite3_sql(statement);
    if (colon != NULL && text != NULL && sql != NULL && strstr(sql, "INSERT INTO stage") != NULL &&
        strlen(text) == (size_t)(colon - wanted) &&
        strncmp(text, wanted, (size_t)(colon - wanted)) == 0 &&
        atomic_fetch_add(&seen, 1) + 1 == atoi(colon + 1)) {
        atomic_store(&armed, 1);
    }
    return real(statement, at, text, size, destroy);
}

int sqlite3_step(sqlite3_stmt *statement)
{
    static step_function real;
    if (real == NULL) {
        void *found = dlsym(RTLD_NEXT, "sqlite3_step");
        memcpy(&real, &found, sizeof real);
    }
    int result = real(statement);
    sqlite3 *database = sqlite3_db_handle(statement);
    if (atomic_load(&armed) != 0 && sqlite3_get_autocommit(database) != 0) {
        atomic_store(&armed, 0);
        fire();
    }
    return result;
}
