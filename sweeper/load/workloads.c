/*
 * The one array of workloads.
 */
#include <string.h>

#include "sweeper/load/workload.h"

extern const struct workload workload_command;
extern const struct workload workload_insert;
extern const struct workload workload_oltp;
extern const struct workload workload_script;
extern const struct workload workload_tpcc;

const struct workload *const workloads[] = {&workload_oltp, &workload_tpcc, &workload_insert,
                                            &workload_script, &workload_command};
const size_t workload_count = COUNT_OF(workloads);

const struct workload *workload_find(const char *kind)
{
    for (size_t i = 0; i < workload_count; i++) {
        if (strcmp(workloads[i]->kind, kind) == 0) {
            return workloads[i];
        }
    }
    return NULL;
}
