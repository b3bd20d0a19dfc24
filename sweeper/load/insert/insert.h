/*
 * The insert workload: iiBench. Rows go into one table whose secondary indexes take them in no
 * order, many rows a statement, until so many are in or the time is over. Shared between its
 * loader and its clients.
 */
#ifndef SWEEPER_LOAD_INSERT_INSERT_H
#define SWEEPER_LOAD_INSERT_INSERT_H

#include <pthread.h>

#include "sweeper/load/insert/insert_rates.h"
#include "sweeper/load/workload.h"

#define INSERT_TABLE "purchases_index"
#define INSERT_INDEXES 3
#define INSERT_ROW_BYTES 64 /* of a row in a statement, at most */
#define INSERT_QUERY_IDS 10 /* rows that a query asks for */

enum insert_transaction { INSERT_ROWS, INSERT_QUERY };

enum insert_statement {
    INSERT_SQL_INSERT,
    INSERT_SQL_DELETE,
    INSERT_SQL_BY_KEY,
    INSERT_SQL_BY_INDEX, /* the first of as many as there are secondary indexes */
    INSERT_STATEMENTS = INSERT_SQL_BY_INDEX + INSERT_INDEXES
};

/* One of the two forms of the table. */
struct insert_form {
    const char *name;
    const char *price_type;
    bool price_has_cents;
    struct {
        const char *name;
        const char *columns;
        const char *first; /* of the columns */
        uint32_t range;    /* its values are below */
    } indexes[INSERT_INDEXES];
};

/* What is known of the table's rows. */
struct insert_counts {
    int64_t inserted; /* ever, those of the load among them */
    int64_t deleted;
};

/* What the clients share, under the mutex. */
struct insert_shared {
    pthread_mutex_t mutex;
    int64_t left;      /* rows that no client has taken yet; by time: more than there can be */
    int64_t under_way; /* rows that were taken and are not in yet */
    int64_t next_row;  /* number of the next row that is taken, from 0 over the table's life */
    int64_t next_delete_id;
    int64_t owed; /* rows that are still to be deleted, for ids that tries which failed used up */
    int64_t first_id; /* of the table, about: what queries by key choose between */
    int64_t last_id;
    struct insert_counts counts;
    int64_t begin_ns; /* of the window */
    int64_t end_ns;
    uint64_t query_count; /* in the window */
    struct insert_curve curve;
};

struct insert_plan {
    const struct workload_spec *spec;
    enum dialect dialect;
    const struct insert_form *form;
    struct insert_shared *shared;
    struct workload_statement statements[INSERT_STATEMENTS];
    size_t statement_count;
    char *texts; /* a statement of text for each client */
    size_t text_bytes;
};

/* The rows `first` to `first + count - 1` of the table's life as one statement, which follows from
 * the seed and the numbers alone. `room` is at least insert_text_bytes(count). */
void insert_make_text(const struct insert_plan *plan, int64_t first, int64_t count, char *out,
                      size_t room);
size_t insert_text_bytes(int64_t row_count);

enum insert_data {
    INSERT_DATA_NONE, /* or another load, or one that was not finished */
    INSERT_DATA_FRESH,
    INSERT_DATA_DRIVEN, /* a run began and did not end: nobody counted its rows */
    INSERT_DATA_USED
};

/* What the note in the database says of the table, and of its rows where it knows (else zeros). */
bool insert_data_look_up(const struct insert_plan *plan, struct session *session, int64_t deadline,
                         enum insert_data *out, struct insert_counts *out_counts,
                         struct err *err) MUST_USE;
bool insert_data_note(const struct insert_plan *plan, struct session *session,
                      enum insert_data data, const struct insert_counts *counts, int64_t deadline,
                      struct err *err) MUST_USE;

bool insert_prepare(const struct load_job *job, const void *plan, struct session *session,
                    int64_t deadline, void (*note)(void *, const char *), void *context,
                    struct err *err);
bool insert_check(const struct load_job *job, const void *plan, struct session *session,
                  int64_t deadline, void (*note)(void *, const char *), void *context,
                  struct err *err);
bool insert_cleanup(const struct load_job *job, const void *plan, struct session *session,
                    int64_t deadline, struct err *err);

/* A number that the statement answers with; none_value where the answer is null. */
bool insert_read_number(struct session *session, const char *sql, int64_t none_value,
                        int64_t deadline, int64_t *out, struct err *err) MUST_USE;

#endif
