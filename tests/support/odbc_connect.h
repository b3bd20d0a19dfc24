/*
 * How Debian's ODBC drivers log in where a backend's own connect string does.
 */
#ifndef TESTS_SUPPORT_ODBC_CONNECT_H
#define TESTS_SUPPORT_ODBC_CONNECT_H

#include <string.h>

#include "sweeper/base/arena.h"

/* "host=/run port=5432 dbname=x" -> "/run" for host; "" where it is not there. */
static inline const char *connect_word(struct arena *arena, const char *connect, const char *name)
{
    char *kept = NULL;
    char *words = arena_strdup(arena, connect);
    char *word = words != NULL ? strtok_r(words, " ", &kept) : NULL;
    for (; word != NULL; word = strtok_r(NULL, " ", &kept))
        if (strncmp(word, name, strlen(name)) == 0 && word[strlen(name)] == '=')
            return word + strlen(name) + 1;
    return "";
}

static inline const char *odbc_connect_of(struct arena *arena, const char *backend,
                                          const char *connect)
{
#define WORD(name) connect_word(arena, connect, name)
    if (strcmp(backend, "sqlite") == 0)
        return arena_printf(arena, "Driver=SQLite3;Database=%s", connect);
    if (strcmp(backend, "postgresql") == 0)
        return arena_printf(arena,
                            "Driver=PostgreSQL ANSI;Servername=%s;Port=%s;Database=%s;UID=%s"
                            ";SSLmode=%s",
                            WORD("host"), WORD("port"), WORD("dbname"), WORD("user"),
                            WORD("sslmode")[0] != '\0' ? WORD("sslmode") : "disable");
    return arena_printf(arena, "Driver=MariaDB Unicode;SOCKET=%s;DATABASE=%s;UID=%s",
                        WORD("socket"), WORD("dbname"), WORD("user"));
#undef WORD
}

#endif
