/*
 * Locales that this machine may not have installed: compiled into a temporary folder where
 * localedef and its sources are here. Numbers and names must read the same under all of them.
 */
#ifndef TESTS_SUPPORT_OTHER_LOCALE_H
#define TESTS_SUPPORT_OTHER_LOCALE_H

#include <locale.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

static inline bool other_locale_run(const char *const *argv)
{
    pid_t child = 0;
    int status = -1;
    union {
        const char *const *given;
        char *const *taken;
    } words = {.given = argv};
    return posix_spawnp(&child, argv[0], NULL, NULL, words.taken, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

/* Sets a locale of "de_DE", "UTF-8" for the whole program; false where that cannot be had. */
static inline bool other_locale_set(const char *language, const char *charset)
{
    char folder[] = "/tmp/dbsweep-locale-XXXXXX";
    char path[128];
    char name[64];
    if (mkdtemp(folder) == NULL)
        return false;
    snprintf(name, sizeof name, "%s.%s", language, charset);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const char *const make[] = {"localedef", "--quiet", "-c", "-i", language,
                                "-f",        charset,   path, NULL};
    const char *const drop[] = {"rm", "-r", folder, NULL};
    setenv("LOCPATH", folder, 1);
    bool is_set = other_locale_run(make) && setlocale(LC_ALL, name) != NULL;
    unsetenv("LOCPATH");
    return other_locale_run(drop) && is_set;
}

#endif
