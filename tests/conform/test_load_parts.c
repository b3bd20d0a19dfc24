/*
 * Loads in parts: the same data whatever the number of sessions, and loads that are cut off in the
 * middle, by the worker's death and by the end of its connections, and go on where they were.
 */
#include "tests/support/tpcc_subject.h"

#include <dirent.h>
#include <signal.h>

#define CLIENTS "application_name = 'dbsweep-test-load'"

/* One warehouse has 10 parts of items and 31 others; of oltp each table has 8 of 10,000 rows. What
 * happens in the middle of a load must be over before its end: it happens early. */
enum { TPCC_PIECES = 41, OLTP_ROWS = 80000, OLTP_PIECES = 16, EARLY = 2 };

/* ---- what is in the tables ---- */

struct table {
    const char *name;
    const char *key;
};
static const struct table tpcc_tables[] = {
    {"warehouse", "w_id"},
    {"district", "d_w_id, d_id"},
    {"customer", "c_w_id, c_d_id, c_id"},
    {"history", "h_c_w_id, h_c_d_id, h_c_id"},
    {"new_order", "no_w_id, no_d_id, no_o_id"},
    {"orders", "o_w_id, o_d_id, o_id"},
    {"order_line", "ol_w_id, ol_d_id, ol_o_id, ol_number"},
    {"item", "i_id"},
    {"stock", "s_w_id, s_i_id"},
};
static const struct table oltp_tables[] = {{"sbtest1", "id"}, {"sbtest2", "id"}};

struct checksum {
    uint64_t hash;
    int64_t rows;
};

/* FNV-1a, eight bytes at a time where that many are left. */
static void add_bytes(struct checksum *sum, struct bytes bytes)
{
    size_t at = 0;
    for (; at + 8 <= bytes.size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes.data + at, sizeof word);
        sum->hash = (sum->hash ^ word) * UINT64_C(0x100000001b3);
        sum->hash ^= sum->hash >> 29;
    }
    for (; at < bytes.size; at++) {
        sum->hash = (sum->hash ^ (unsigned char)bytes.data[at]) * UINT64_C(0x100000001b3);
    }
    sum->hash = (sum->hash ^ bytes.size) * UINT64_C(0x100000001b3);
}

static bool add_row(void *context, const struct row *row)
{
    struct checksum *sum = context;
    for (size_t i = 0; i < row->column_count; i++) {
        add_bytes(sum, row->columns[i].data != NULL ? row->columns[i]
                                                    : (struct bytes){.data = "null", .size = 4});
    }
    sum->rows++;
    return true;
}

/* Of every value of every row, each table's by itself. `out` has room for each table. */
static void hash_tables(struct subject *subject, struct checksum *out)
{
    bool is_tpcc = strcmp(subject->job.workload.kind, "tpcc") == 0;
    const struct table *tables = is_tpcc ? tpcc_tables : oltp_tables;
    size_t count = is_tpcc ? COUNT_OF(tpcc_tables) : COUNT_OF(oltp_tables);
    memset(out, 0, COUNT_OF(tpcc_tables) * sizeof *out);
    subject_close_session(subject); /* its memory with it: results are large */
    for (size_t i = 0; i < count; i++) {
        char sql[160];
        subject_open_session(subject);
        snprintf(sql, sizeof sql, "select * from %s order by %s", tables[i].name, tables[i].key);
        MUST(
            session_execute(subject->session, sql, add_row, &out[i], LONG_DEADLINE, &subject->err));
        subject_close_session(subject);
        assert_true(out[i].rows > 0);
    }
    subject_open_session(subject);
}

static void assert_same(const struct checksum *a, const struct checksum *b)
{
    for (size_t i = 0; i < COUNT_OF(tpcc_tables); i++) {
        if (a[i].hash != b[i].hash || a[i].rows != b[i].rows) {
            fail_msg("table %zu has other rows: %lld and %lld", i, (long long)a[i].rows,
                     (long long)b[i].rows);
        }
    }
}

/* ---- loads and what they say ---- */

struct listener {
    struct subject *subject;
    size_t rows;  /* pieces of rows that were loaded */
    size_t other; /* indexes and statistics */
    char first[160];
    char last[160];
    size_t cut_at; /* pieces after which it happens; 0: never */
    void (*cut)(struct subject *subject);
    bool counts_sessions;
    int64_t most_sessions;
};

static int64_t count_sessions(struct subject *subject)
{
    bool is_mysql = strcmp(subject->backend, "mysql") == 0;
    return subject_number(subject, is_mysql
                                       ? "select count(*) from information_schema.processlist"
                                         " where db = database() and id <> connection_id()"
                                       : "select count(*) from pg_stat_activity where " CLIENTS);
}

static void hear(void *context, const char *text)
{
    struct listener *listener = context;
    bool is_of_rows = text_starts_with(text, "loading ");
    listener->rows += is_of_rows ? 1 : 0;
    listener->other += is_of_rows ? 0 : 1;
    if (listener->rows == 1 && is_of_rows) {
        snprintf(listener->first, sizeof listener->first, "%s", text);
    }
    if (is_of_rows) {
        snprintf(listener->last, sizeof listener->last, "%s", text);
    }
    if (listener->counts_sessions) {
        int64_t sessions = count_sessions(listener->subject);
        listener->most_sessions =
            sessions > listener->most_sessions ? sessions : listener->most_sessions;
    }
    if (listener->rows == listener->cut_at && is_of_rows) {
        listener->cut(listener->subject);
    }
}

static bool load(struct listener *listener)
{
    struct subject *subject = listener->subject;
    const struct load_progress progress = {.context = listener, .note = hear};
    subject->job.operation = LOAD_PREPARE;
    return load_run(subject->host, NULL, &subject->job, LONG_DEADLINE, &progress, &subject->arena,
                    NULL, &subject->err);
}

static struct listener load_whole(struct subject *subject, int64_t threads)
{
    struct listener listener = {.subject = subject};
    subject->job.workload.threads = threads;
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    MUST(load(&listener));
    return listener;
}

static void begin_oltp(struct subject *subject)
{
    subject->job.workload.kind = "oltp";
    subject->job.workload.rows = OLTP_ROWS;
}

/* ---- the same data ---- */

/* What one session loads into this database with the first seed; the load stays. */
static const struct checksum *by_one(struct subject *subject)
{
    static struct {
        const struct subject *subject;
        struct checksum sums[COUNT_OF(tpcc_tables)];
    } known[2];
    size_t kind = strcmp(subject->job.workload.kind, "tpcc") == 0 ? 0 : 1;
    if (known[kind].subject != subject) {
        struct listener listener = load_whole(subject, 1);
        assert_int_equal(listener.rows, kind == 0 ? TPCC_PIECES : OLTP_PIECES);
        hash_tables(subject, known[kind].sums);
        known[kind].subject = subject;
    }
    return known[kind].sums;
}

static void is_the_same_by_one_and_by_four(struct subject *subject, size_t pieces)
{
    struct checksum by_four[COUNT_OF(tpcc_tables)];
    const struct checksum *wanted = by_one(subject);
    struct listener listener = load_whole(subject, 4);
    assert_int_equal(listener.rows, pieces);
    hash_tables(subject, by_four);
    assert_same(wanted, by_four);
}

static void tpcc_is_the_same_by_one_and_by_four(struct subject *subject)
{
    is_the_same_by_one_and_by_four(subject, TPCC_PIECES);
    MUST(tpcc_run(subject, LOAD_CLEANUP));
}

static void oltp_is_the_same_by_one_and_by_four(struct subject *subject)
{
    struct checksum other[COUNT_OF(tpcc_tables)];
    begin_oltp(subject);
    is_the_same_by_one_and_by_four(subject, OLTP_PIECES);
    subject->job.workload.seed = 2;
    load_whole(subject, 4);
    hash_tables(subject, other);
    assert_true(by_one(subject)[0].hash != other[0].hash);
    MUST(tpcc_run(subject, LOAD_CLEANUP));
}

/* The data do not tell: the server is asked after each part. */
static void loads_by_as_many_sessions_as_asked(struct subject *subject)
{
    struct listener listener = {.subject = subject, .counts_sessions = true};
    if (subject->session->driver->socket(subject->session) < 0) {
        return; /* an embedded database has one writer */
    }
    begin_oltp(subject);
    subject->job.workload.threads = 3;
    MUST(load(&listener));
    assert_int_equal(listener.most_sessions, 3);
    MUST(tpcc_run(subject, LOAD_CLEANUP));
}

/* Two that load the same tables would spoil each other: the second one waits, says so, and finds
 * the data there, or says what it waited for. */
static void waits_for_another_session_that_loads(struct subject *subject)
{
    struct listener listener = {.subject = subject};
    if (subject->session->driver->socket(subject->session) < 0) {
        return; /* an embedded database has no such locks */
    }
    begin_oltp(subject);
    MUST(mark_claim(subject->session, LONG_DEADLINE, NULL, NULL, &subject->err));
    subject->job.workload.prepare_timeout_ms = 1500;
    assert_false(load(&listener));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    HOLDS(subject->err.text, "another session of dbsweep");
    assert_int_equal(listener.rows, 0);
    assert_int_equal(listener.other, 1); /* the note of the wait */
    subject->job.workload.prepare_timeout_ms = MINUTES_10_MS;
    subject_close_session(subject);
    subject_open_session(subject);
    MUST(tpcc_run(subject, LOAD_PREPARE));
    MUST(tpcc_run(subject, LOAD_CLEANUP));
}

/* ---- what is said ---- */

static void says_how_far_it_is(struct subject *subject)
{
    begin_oltp(subject);
    struct listener listener = load_whole(subject, 1);
    assert_true(text_starts_with(listener.first, "loading oltp, 2 tables: 6 %, "));
    assert_true(text_ends_with(listener.first, "s left"));
    assert_string_equal(listener.last, "loading oltp, 2 tables: 100 %");
    assert_int_equal(listener.other, 4); /* an index and the statistics of each table */
    MUST(tpcc_run(subject, LOAD_CLEANUP));
}

/* ---- cut off ---- */

static pid_t parent_of(const char *name)
{
    char path[300];
    char line[512] = "";
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    size_t size = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[size] = '\0';
    const char *behind = strrchr(line, ')');
    return behind != NULL && sscanf(behind, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

/* The worker is the only child of this process. */
static void kill_worker(struct subject *subject)
{
    (void)subject;
    size_t killed = 0;
    DIR *processes = opendir("/proc");
    assert_non_null(processes);
    for (const struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        if (parent_of(entry->d_name) == getpid()) {
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
            killed++;
        }
    }
    closedir(processes);
    assert_int_equal(killed, 1);
}

struct connections {
    int64_t ids[16];
    size_t count;
};

static bool see_connection(void *context, const struct row *row)
{
    struct connections *found = context;
    assert_true(found->count < COUNT_OF(found->ids));
    found->ids[found->count++] = strtoll(row->columns[0].data, NULL, 10);
    return true;
}

static void cut_connections(struct subject *subject)
{
    struct connections found = {.count = 0};
    if (strcmp(subject->backend, "postgresql") == 0) {
        subject_sql(subject,
                    "select pg_terminate_backend(pid) from pg_stat_activity where " CLIENTS);
        return;
    }
    MUST(session_execute(subject->session,
                         "select id from information_schema.processlist where db = database()"
                         " and id <> connection_id()",
                         see_connection, &found, DEADLINE, &subject->err));
    for (size_t i = 0; i < found.count; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "kill %lld", (long long)found.ids[i]);
        subject_sql(subject, sql);
    }
}

/* A part that was said to be there is not loaded again; each of two sessions may have one part
 * whose end was not heard any more. */
static void goes_on(struct subject *subject, size_t pieces, void (*cut)(struct subject *))
{
    struct checksum mended[COUNT_OF(tpcc_tables)];
    const struct checksum *whole = by_one(subject);
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    subject->job.workload.threads = 2;
    struct listener cut_off = {.subject = subject, .cut_at = EARLY, .cut = cut};
    assert_false(load(&cut_off));
    assert_int_equal(cut_off.other, 0);
    subject->job.operation = LOAD_DRIVE;
    MUST_FAIL(tpcc_run(subject, LOAD_DRIVE), ERR_CODE_workload);
    HOLDS(subject->err.text, "not loaded");
    struct listener mending = {.subject = subject};
    MUST(load(&mending));
    assert_in_range(mending.rows, 1, pieces - EARLY);
    assert_in_range(cut_off.rows + mending.rows, pieces - 2, pieces);
    assert_true(mending.other > 0);
    hash_tables(subject, mended);
    assert_same(whole, mended);
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
    MUST(tpcc_run(subject, LOAD_PREPARE));
    assert_int_equal(subject->note_count, 0);
    MUST(tpcc_run(subject, LOAD_CLEANUP));
    assert_int_equal(subject_state(subject, "dbsweep_meta"), MARK_ABSENT);
}

static void tpcc_goes_on_after_a_kill(struct subject *subject)
{
    goes_on(subject, TPCC_PIECES, kill_worker);
}

static void oltp_goes_on_after_a_kill(struct subject *subject)
{
    begin_oltp(subject);
    goes_on(subject, OLTP_PIECES, kill_worker);
}

static void oltp_goes_on_after_lost_connections(struct subject *subject)
{
    if (subject->session->driver->socket(subject->session) < 0) {
        return; /* there are none */
    }
    begin_oltp(subject);
    goes_on(subject, OLTP_PIECES, cut_connections);
}

/* Half a load of other data is not gone on with. */
static void half_of_other_data_is_loaded_anew(struct subject *subject)
{
    begin_oltp(subject);
    subject->job.workload.threads = 1;
    struct listener cut_off = {.subject = subject, .cut_at = EARLY, .cut = kill_worker};
    assert_false(load(&cut_off));
    subject->job.workload.seed = 7;
    struct listener anew = {.subject = subject};
    MUST(load(&anew));
    assert_int_equal(anew.rows, OLTP_PIECES);
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
    MUST(tpcc_run(subject, LOAD_CLEANUP));
}

/* A reset is a load by the same way. */
static void resets_by_the_same_way(struct subject *subject)
{
    struct checksum after[COUNT_OF(tpcc_tables)];
    begin_oltp(subject);
    const struct checksum *before = by_one(subject);
    subject->job.workload.threads = 4;
    MUST(tpcc_run(subject, LOAD_PREPARE));
    MUST(tpcc_run(subject, LOAD_DRIVE));
    MUST(tpcc_run(subject, LOAD_RESET));
    assert_true(subject->note_count >= OLTP_PIECES);
    hash_tables(subject, after);
    assert_same(before, after);
    MUST(tpcc_run(subject, LOAD_CLEANUP));
}

static const struct load_test tests[] = {
    LOAD_TEST(tpcc_is_the_same_by_one_and_by_four),
    LOAD_TEST(oltp_is_the_same_by_one_and_by_four),
    LOAD_TEST(loads_by_as_many_sessions_as_asked),
    LOAD_TEST(waits_for_another_session_that_loads),
    LOAD_TEST(says_how_far_it_is),
    LOAD_TEST(tpcc_goes_on_after_a_kill),
    LOAD_TEST(oltp_goes_on_after_a_kill),
    LOAD_TEST(oltp_goes_on_after_lost_connections),
    LOAD_TEST(half_of_other_data_is_loaded_anew),
    LOAD_TEST(resets_by_the_same_way),
};

/* A test that failed leaves its tables to nobody. */
static void leave(struct subject *subject)
{
    (void)!tpcc_run(subject, LOAD_CLEANUP);
    begin_oltp(subject);
    (void)!tpcc_run(subject, LOAD_CLEANUP);
}

int main(int argc, char **argv)
{
    const struct load_suite suite = {.tests = tests,
                                     .test_count = COUNT_OF(tests),
                                     .begin = tpcc_begin,
                                     .end = tpcc_end,
                                     .leave = leave};
    return suite_main(&suite, argc, argv);
}
