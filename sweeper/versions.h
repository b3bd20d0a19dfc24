/*
 * Versions of the linked libraries, each told by the one place that includes it.
 */
#ifndef SWEEPER_VERSIONS_H
#define SWEEPER_VERSIONS_H

#include "sweeper/base/text.h"

/* One line "name version" each. */
void versions_add(struct text *out);

#endif
