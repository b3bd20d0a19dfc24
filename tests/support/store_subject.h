/*
 * A store in a folder of its own, a sweep to put into it, and what a second connection reads there:
 * what is not seen from outside is not stored.
 */
#ifndef TESTS_SUPPORT_STORE_SUBJECT_H
#define TESTS_SUPPORT_STORE_SUBJECT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/sql.h"
#include "sweeper/base/text.h"

static struct arena arena;
static struct err err;
static struct store *store; /* open for writing in most tests */
static char folder[64];

static bool is_child; /* ends where it fails: the other tests are its parent's */

static inline void subject_fail(int line, const char *what, const char *text)
{
    if (is_child) {
        fprintf(stderr, "line %d: %s: %s\n", line, what, text);
        _exit(99);
    }
    fail_msg("line %d: %s: %s", line, what, text);
}

#define must(ok) must_at((ok), #ok, __LINE__)
static inline void must_at(bool ok, const char *what, int line)
{
    char text[1500];
    if (ok)
        return;
    err_format(&err, text, sizeof text);
    subject_fail(line, what, text);
}

/* Fails as it should: with this code, and then begins a new record. */
#define must_fail(ok, wanted) must_fail_at((ok), ERR_CODE_##wanted, #ok, __LINE__)
static inline void must_fail_at(bool ok, enum err_code wanted, const char *what, int line)
{
    if (ok)
        subject_fail(line, what, "went well");
    if (err.code != wanted)
        subject_fail(line, what, err.text);
}

static inline const char *in_folder(const char *name)
{
    const char *path = arena_printf(&arena, "%s/%s", folder, name);
    assert_non_null(path);
    return path;
}

static inline int subject_open(void **state)
{
    (void)state;
    arena_open(&arena, 1u << 30);
    err_clear(&err);
    store = NULL;
    snprintf(folder, sizeof folder, "/tmp/dbsweep-store.XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

/* No statement may be left in the middle: it would hold its snapshot, and the log would grow. */
static inline void assert_idle(void)
{
    sqlite3_stmt *at = NULL;
    while ((at = sqlite3_next_stmt(store->database, at)) != NULL) {
        if (sqlite3_stmt_busy(at))
            fail_msg("left in the middle: %s", sqlite3_sql(at));
    }
    assert_int_equal(sqlite3_get_autocommit(store->database), 1);
}

static inline int subject_close(void **state)
{
    (void)state;
    char command[128];
    if (store != NULL)
        assert_idle();
    store_close(store);
    arena_close(&arena);
    snprintf(command, sizeof command, "rm -rf '%s'", folder); /* a name of mkdtemp's */
    return system(command);
}

static inline int subject_open_store(void **state)
{
    return subject_open(state) != 0 || !store_open(in_folder("s.db"), STORE_CREATE, &store, &err);
}

/* ---- a second connection ---- */

static inline void add_cell(struct text *out, sqlite3_stmt *row, int at)
{
    const unsigned char *blob = NULL;
    switch (sqlite3_column_type(row, at)) {
    case SQLITE_NULL:
        text_add(out, "NULL");
        return;
    case SQLITE_FLOAT:
        text_addf(out, "%.17g", sqlite3_column_double(row, at));
        return;
    case SQLITE_BLOB:
        blob = sqlite3_column_blob(row, at);
        for (int i = 0; i < sqlite3_column_bytes(row, at); i++)
            text_addf(out, "%02x", blob[i]);
        return;
    default:
        text_add(out, (const char *)sqlite3_column_text(row, at));
    }
}

/* The rows of a query, in full: cells parted by "|", rows by a line's end. */
static inline const char *ask_file(const char *path, const char *sql)
{
    sqlite3 *other = NULL;
    sqlite3_stmt *row = NULL;
    struct text out;
    int result = SQLITE_OK;
    text_open(&out, &arena);
    assert_int_equal(sqlite3_open_v2(path, &other, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(other, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(other));
    while ((result = sqlite3_step(row)) == SQLITE_ROW) {
        text_add(&out, out.size > 0 ? "\n" : "");
        for (int i = 0; i < sqlite3_column_count(row); i++) {
            text_add(&out, i > 0 ? "|" : "");
            add_cell(&out, row, i);
        }
    }
    if (result != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(other));
    sqlite3_finalize(row);
    sqlite3_close(other);
    return text_done(&out);
}

static inline const char *ask(const char *sql)
{
    return ask_file(in_folder("s.db"), sql);
}

#define assert_stored(sql, wanted) assert_string_equal(ask(sql), wanted)

/* ---- what is put into it ---- */

static const struct store_swept example_swept[] = {
    {.name = "shared_buffers",
     .kind = "knob",
     .type = "size",
     .unit = "bytes",
     .apply = "restart",
     .sentence = "memory for pages"},
    {.name = "fsync",
     .kind = "knob",
     .type = "boolean",
     .unit = "",
     .apply = "reload",
     .durability = "on off",
     .sentence = "flushes at commit"},
    {.name = "clients", .kind = "workload", .type = "integer", .unit = "", .apply = "session"}};

static inline struct store_sweep example_sweep(void)
{
    return (struct store_sweep){.name = "nightly",
                                .file_text = "name = \"nightly\"; # caf\xe9\n",
                                .plan_hash = "0123abcd",
                                .plan_text = "target=db1\nwindow=60",
                                .backend = "postgresql",
                                .product = "PostgreSQL",
                                .version = "15.6",
                                .target_label = "local:/etc/postgresql.conf",
                                .data_directory = "/var/lib/pg",
                                .log_path = "/var/log/pg.log",
                                .facts_json = "{\"cpus\":2}",
                                .labels_json = "{\"kernel\":\"6.1\"}",
                                .workload_json = "{\"kind\":\"oltp\"}",
                                .rank_by = "throughput_per_s",
                                .rank_better = "higher",
                                .rank_under = "p99_ms < 50",
                                .rank_durability = "baseline",
                                .rank_across = "each",
                                .rank_confidence = 0.95,
                                .planned_trials = 42,
                                .swept = example_swept,
                                .swept_count = COUNT_OF(example_swept)};
}

struct example {
    int64_t sweep_id;
    int64_t call_id;
    int64_t point_id;
    int64_t condition_id;
    int64_t trial_id;
};

static inline void begin_example_trial(struct example *at)
{
    struct store_trial_begin row = {.sweep_id = at->sweep_id,
                                    .call_id = at->call_id,
                                    .point_id = at->point_id,
                                    .condition_id = at->condition_id,
                                    .purpose = "explore"};
    must(store_trial_begin(store, &row, &at->trial_id, &err));
}

/* A sweep as far as its first trial, which has begun. */
static inline struct example begin_example(void)
{
    struct example at = {0};
    struct store_sweep sweep = example_sweep();
    const struct store_value values[] = {{.name = "shared_buffers",
                                          .asked = "1GB",
                                          .canonical = "1073741824",
                                          .display = "1GB",
                                          .has_number = true,
                                          .number = 1073741824},
                                         {.name = "fsync", .canonical = "on", .display = "on"}};
    const struct store_value clients = {.name = "clients",
                                        .asked = "8",
                                        .canonical = "8",
                                        .display = "8",
                                        .has_number = true,
                                        .number = 8};
    must(store_sweep_begin(store, &sweep, &at.sweep_id, &err));
    must(store_call_begin(store, at.sweep_id, &at.call_id, &err));
    must(store_point_put(store, at.sweep_id, "shared_buffers=1GB", false, true, values,
                         COUNT_OF(values), &at.point_id, &err));
    must(store_condition_put(store, at.sweep_id, "clients=8", &clients, 1, &at.condition_id, &err));
    begin_example_trial(&at);
    return at;
}

static inline void make_and_close(int trials)
{
    must(store_open(in_folder("s.db"), STORE_CREATE, &store, &err));
    struct example at = begin_example();
    for (int i = 1; i < trials; i++)
        begin_example_trial(&at);
    store_close(store);
    store = NULL;
}

/* ---- files and processes ---- */

static inline void put_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline struct bytes get_file(const char *name)
{
    struct stat now;
    assert_int_equal(stat(in_folder(name), &now), 0);
    char *data = arena_alloc(&arena, (size_t)now.st_size + 1);
    FILE *file = fopen(in_folder(name), "rb");
    assert_non_null(data);
    assert_non_null(file);
    assert_int_equal(fread(data, 1, (size_t)now.st_size, file), (size_t)now.st_size);
    assert_int_equal(fclose(file), 0);
    return (struct bytes){.data = data, .size = (size_t)now.st_size};
}

static inline void run_sql(const char *name, const char *sql)
{
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(in_folder(name), &other), SQLITE_OK);
    if (sqlite3_exec(other, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(other));
    sqlite3_close(other);
}

/* Runs `body` in a process of its own; its exit status, or minus the signal that ended it. */
static inline int in_child(int (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        is_child = true;
        _exit(body());
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
