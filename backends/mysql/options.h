/*
 * Option files (my.cnf) as bytes: what stands in one, and the same file with some settings changed.
 * Pure: nothing here touches a server or a file. The grammar is that of mysys/my_default.c of
 * MariaDB 10.11, which `my_print_defaults` runs: tests compare.
 */
#ifndef BACKENDS_MYSQL_OPTIONS_H
#define BACKENDS_MYSQL_OPTIONS_H

#include "knobs/value.h"

enum option_kind { OPTION_GROUP, OPTION_SETTING, OPTION_INCLUDE, OPTION_INCLUDEDIR };

/* One line that says something; offsets are into the file. */
struct option_line {
    enum option_kind kind;
    size_t number;      /* from 1 */
    size_t start;       /* of the line */
    size_t end;         /* behind its newline */
    struct bytes group; /* in which it stands, or that it opens */
    struct bytes name;  /* of the option as written, or the path of an include */
    size_t text_start;  /* of the name */
    size_t text_end;    /* behind the last byte that is neither blank nor comment */
    bool has_value;     /* there is a "=" */
    size_t value_start;
    size_t value_end; /* quotes included */
};

struct option_file {
    struct bytes bytes;
    struct option_line *lines;
    size_t count;
};

/* Errors: config_syntax with FILE:LINE where the server would not start with the file either. */
bool option_file_parse(struct bytes bytes, const char *path, struct arena *arena,
                       struct option_file *out, struct err *err) MUST_USE;

/* The groups that a server reads. */
enum { OPTION_GROUP_LIMIT = 24 };
struct option_groups {
    char names[OPTION_GROUP_LIMIT][64];
    size_t count;
};
/* Of this product ("MariaDB", else MySQL) and version ("10.11.19"); `suffix` as
 * --defaults-group-suffix, NULL none. */
void option_groups_of(const char *product, const char *version, const char *suffix,
                      struct option_groups *out);
bool option_groups_hold(const struct option_groups *groups, struct bytes name);

/* How an option's name relates to a variable. */
enum option_match {
    OPTION_OTHER,
    OPTION_SAME,    /* the name, or loose_ before it; - and _ are the same, case has no meaning */
    OPTION_ON,      /* enable_ before it */
    OPTION_OFF,     /* skip_ or disable_ before it */
    OPTION_UNCLEAR, /* a shortened name, maximum_, or several prefixes */
};
enum option_match option_match(struct bytes name, const char *variable);

/* Whether both are names of one variable: tx_isolation, transaction_isolation. */
bool option_is_synonym(const char *name, const char *variable);

/* As backend.render. The last line of a name, over all groups that are read, is the one that
 * counts; only its value's bytes change. A name that is not there is added to the last [mysqld],
 * else to the last group of servers; UNSET deletes every line of it. Errors: config_syntax,
 * knob_value. */
bool option_render(struct bytes baseline, const char *path, const struct option_groups *groups,
                   const struct setting *settings, size_t count, struct arena *arena,
                   struct bytes *out, struct err *err) MUST_USE;
/* The number of the line that sets the variable in this file, or behind which it would be added. */
size_t option_place(const struct option_file *file, const struct option_groups *groups,
                    const char *variable, bool *out_is_set);

/* The value as the server reads it, not quoted yet: "8G", "90", "ON". Exact; errors: knob_value
 * where the value has no such form. */
bool option_value(const struct knob *knob, const struct value *value, struct arena *arena,
                  const char **out, struct err *err) MUST_USE;
/* Whether the text may stand without quotes. */
bool option_is_plain(const char *text);
/* Between these quotes, what must be escaped escaped. NULL where memory ends. */
const char *option_quote(const char *text, char quote, struct arena *arena);

#endif
