/*
 * One warehouse of TPC-C in every session there is. A load takes seconds: the tests of one database
 * follow each other on the same tables.
 */
#ifndef TESTS_SUPPORT_TPCC_SUBJECT_H
#define TESTS_SUPPORT_TPCC_SUBJECT_H

#include "tests/support/load_suite.h"

enum { MINUTES_10_MS = 600000 };
#define LONG_DEADLINE clock_deadline_ms(MINUTES_10_MS)

static inline bool tpcc_run(struct subject *subject, enum load_operation operation)
{
    const struct load_progress progress = {
        .context = subject, .note = subject_note, .second = subject_second};
    subject->job.operation = operation;
    subject->note_count = 0;
    return load_run(subject->host, NULL, &subject->job, LONG_DEADLINE, &progress, &subject->arena,
                    operation == LOAD_DRIVE ? &subject->result : NULL, &subject->err);
}

static inline void tpcc_begin(struct subject *subject)
{
    subject_begin(subject);
    struct workload_spec *workload = &subject->job.workload;
    workload->kind = "tpcc";
    workload->warehouses = 1;
    workload->rollback_pct = 1;
    workload->payment_by_name_pct = 60;
    workload->measure_ms = 3000;
    workload->drain_ms = 20000;
    workload->prepare_timeout_ms = MINUTES_10_MS;
}

static inline const char *tpcc_note(struct subject *subject)
{
    const char *note = NULL;
    MUST(mark_get(subject->session, "tpcc", DEADLINE, &subject->arena, &note, &subject->err));
    return note != NULL ? note : "";
}

/* As loaded, or changed by a test before; a test that was chosen alone loads for itself. */
static inline void tpcc_need_data(struct subject *subject)
{
    const char *note = tpcc_note(subject);
    if (!text_starts_with(note, "used: tpcc") && !text_starts_with(note, "tpcc")) {
        MUST(tpcc_run(subject, LOAD_PREPARE));
    }
}

/* Tables stay from test to test. */
static inline void tpcc_end(struct subject *subject)
{
    subject_close_session(subject);
}

static inline void tpcc_leave(struct subject *subject)
{
    (void)!tpcc_run(subject, LOAD_CLEANUP);
}

#endif
