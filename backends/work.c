/*
 * Looking counters up.
 */
#include "backends/work.h"

#include <math.h>

#include "sweeper/base/text.h"

double counter_value(const struct counter *counters, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal_nocase(counters[i].name, name)) {
            return counters[i].value;
        }
    }
    return NAN;
}

struct server_work server_work_unknown(void)
{
    return (struct server_work){.log_bytes = NAN,
                                .written_bytes = NAN,
                                .checkpoint_count = NAN,
                                .log_capacity_bytes = NAN,
                                .checkpoint_age_bytes = NAN,
                                .dirty_bytes = NAN,
                                .purge_backlog = NAN};
}
