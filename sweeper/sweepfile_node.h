/*
 * The sweep file as a plain tree: what sweepfile.c makes of libconfig's, with every scalar as its
 * exact text and the line it stands on.
 */
#ifndef SWEEPER_SWEEPFILE_NODE_H
#define SWEEPER_SWEEPFILE_NODE_H

#include "sweeper/sweepfile.h"

enum node_kind { NODE_SCALAR, NODE_BOOL, NODE_LIST, NODE_GROUP };

struct node {
    enum node_kind kind;
    const char *name; /* "" in lists */
    const char *text; /* of scalars and bools ("true", "false") */
    int line;
    struct node *children;
    size_t child_count;
};

/* err `sweep_file` at FILE:LINE. Returns false. */
bool node_err(const char *path, const struct node *node, struct err *err, const char *format, ...)
    PRINTF_LIKE(4, 5);
const struct node *node_find(const struct node *group, const char *name); /* NULL: none */
/* Checks that the node is what the caller wants to read. */
bool node_is_group(const char *path, const struct node *node, struct err *err) MUST_USE;
bool node_is_list(const char *path, const struct node *node, struct err *err) MUST_USE;
bool node_is_scalar(const char *path, const struct node *node, struct err *err) MUST_USE;

/* Replaces every number by a quoted string of its exact text, so that libconfig never reads one;
 * lines stay where they are. Errors at FILE:LINE: number that is malformed or does not fit,
 * @include, NUL. (sweepfile_lex.c) */
bool sweepfile_lex(const char *path, const char *text, struct arena *arena, const char **out,
                   struct err *err) MUST_USE;

/* Defaults of a section, then the keys that stand in the group; unknown ones are errors with the
 * nearest name. Special keys are left to the caller. (sweepfile_keys.c) */
bool sweepfile_section(const char *path, const char *section, const struct node *group,
                       struct sweep *sweep, struct arena *arena, struct err *err) MUST_USE;
/* A list of words; one scalar counts as a list of one. */
bool sweepfile_words(const char *path, const struct node *node, struct arena *arena,
                     const char *const **out, struct err *err) MUST_USE;

/* axes, points and rules. (sweepfile_axes.c) */
bool sweepfile_axes(const char *path, const struct node *root, struct sweep *sweep,
                    struct arena *arena, struct err *err) MUST_USE;

#endif
