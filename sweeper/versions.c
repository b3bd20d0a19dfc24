/*
 * Versions of the linked libraries, each asked of the one module that includes it.
 */
#include "sweeper/versions.h"

#include <string.h>

#include "backends/backend.h"
#include "store/store.h"
#include "sweeper/host/host.h"
#include "sweeper/stats/summary.h"
#include "sweeper/sweepfile.h"

void versions_add(struct text *out)
{
    text_addf(out, "%s\n%s\n%s\n%s\n", store_library_version(), sweepfile_library_version(),
              summary_library_version(), host_library_version());
    for (size_t i = 0; i < backend_count; i++) {
        const char *library = backends[i]->library != NULL ? backends[i]->library() : NULL;
        if (library != NULL && strcmp(library, store_library_version()) != 0) {
            text_addf(out, "%s\n", library);
        }
    }
}
