/*
 * The oltp workload: sysbench's schema and transactions. Shared between its loader and its clients.
 */
#ifndef SWEEPER_LOAD_OLTP_OLTP_H
#define SWEEPER_LOAD_OLTP_OLTP_H

#include "sweeper/load/distribution.h"
#include "sweeper/load/workload.h"

#define OLTP_C_BYTES 119 /* ten groups of eleven digits, joined by dashes */
#define OLTP_PAD_BYTES 59

enum oltp_statement {
    OLTP_POINT_SELECT,
    OLTP_SIMPLE_RANGE,
    OLTP_SUM_RANGE,
    OLTP_ORDER_RANGE,
    OLTP_DISTINCT_RANGE,
    OLTP_INDEX_UPDATE,
    OLTP_NON_INDEX_UPDATE,
    OLTP_DELETE,
    OLTP_INSERT,
    OLTP_INSERT_SERIAL, /* mix insert: the key numbers itself */
    OLTP_STATEMENTS
};

struct oltp_mix {
    const char *name;
    const enum oltp_statement *steps;
    size_t step_count;
    bool is_transaction; /* between begin and commit */
};

struct oltp_plan {
    const struct workload_spec *spec;
    const struct oltp_mix *mix;
    struct distribution distribution;
    struct workload_statement *statements; /* kind by kind, within each table by table */
    size_t statement_count;
    unsigned first_slot[OLTP_STATEMENTS]; /* of table 1; UINT_MAX: not in this mix */
    bool use_transaction;
};

void oltp_digits(struct random *random, size_t groups, char *out);

bool oltp_prepare(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err);
bool oltp_check(const struct load_job *job, const void *plan, struct session *session,
                int64_t deadline, void (*note)(void *, const char *), void *context,
                struct err *err);
bool oltp_cleanup(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, struct err *err);
/* Before clients that write: the data will no longer be as loaded. */
bool oltp_spoil(const struct load_job *job, const void *plan, struct session *session,
                int64_t deadline, struct err *err);

#endif
