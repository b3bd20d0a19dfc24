/*
 * The store when it is not as it should be: killed, locked, taken away, full, damaged. What was
 * committed stays, and each error says what to do. Real file systems and limits; SQLite's system
 * calls are replaced only to be killed or refused in them.
 * not under valgrind: some 500 stores are made, one for each call; that takes five minutes there.
 */
#include "tests/support/store_subject.h"

#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ---- killed ---- */

static int told; /* by the child, a byte for each committed stage */

static int stages_without_end(void)
{
    struct example at = {0};
    if (!store_open(in_folder("s.db"), STORE_CREATE, &store, &err))
        return 1;
    at = begin_example();
    for (;;) {
        if (!store_stage_begin(store, at.trial_id, "apply", &err) || write(told, "s", 1) != 1 ||
            !store_stage_end(store, at.trial_id, "done", &err))
            return 1;
    }
}

/* Kills the child after so many stages; says how many it had told of when it was dead. */
static int kill_after(int stages)
{
    int ends[2];
    int seen = 0;
    int status = 0;
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    told = ends[1];
    pid_t child = fork();
    if (child == 0) {
        is_child = true;
        _exit(stages_without_end());
    }
    close(ends[1]);
    while (seen < stages && read(ends[0], &byte, 1) == 1)
        seen++;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    while (read(ends[0], &byte, 1) == 1)
        seen++;
    close(ends[0]);
    return seen;
}

static void a_killed_writer_loses_nothing_that_it_had_committed(void **state)
{
    (void)state;
    for (int round = 1; round <= 8; round++) {
        int seen = kill_after(round * round);
        must(store_open(in_folder("s.db"), STORE_WRITE, &store, &err));
        const char *kept = ask(arena_printf(
            &arena,
            "SELECT count(*) FROM stage WHERE trial_id = (SELECT max(trial_id) FROM trial)"));
        assert_true(atoi(kept) >= seen && seen >= round * round);
        assert_string_equal(ask("SELECT DISTINCT status FROM trial"), "interrupted");
        assert_string_equal(ask("SELECT DISTINCT status FROM call"), "interrupted");
        assert_string_equal(ask("PRAGMA integrity_check"), "ok");
        assert_string_equal(ask("SELECT count(*) FROM trial"), arena_printf(&arena, "%d", round));
        store_close(store);
        store = NULL;
    }
}

/* ---- killed or refused in the middle ---- */

static int calls_left = -1; /* reads, writes and syncs let through before the end; -1: all */
static int refused_errno;   /* the end: calls fail so; 0: it dies */
static bool is_refused_once;
static bool are_calls_mine;

static bool is_refused(void)
{
    if (calls_left != 0) {
        calls_left -= calls_left > 0 ? 1 : 0;
        return false;
    }
    if (refused_errno == 0)
        raise(SIGKILL);
    calls_left = is_refused_once ? -1 : 0;
    errno = refused_errno;
    return true;
}

/* Once calls are counted the disk is not waited for: no power is cut here. */
int fdatasync(int file)
{
    return is_refused() ? -1 : are_calls_mine ? 0 : (int)syscall(SYS_fdatasync, file);
}

static ssize_t my_pwrite(int file, const void *data, size_t size, off_t offset)
{
    return is_refused() ? -1 : pwrite(file, data, size, offset);
}

static ssize_t my_pread(int file, void *data, size_t size, off_t offset)
{
    return is_refused() ? -1 : pread(file, data, size, offset);
}

/* SQLite has one of each pair, by how it was built. */
static void take_calls(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    are_calls_mine = true;
    sqlite3_syscall_ptr write_call = (sqlite3_syscall_ptr)my_pwrite;
    sqlite3_syscall_ptr read_call = (sqlite3_syscall_ptr)my_pread;
    const char *write_name = vfs->xGetSystemCall(vfs, "pwrite64") != NULL ? "pwrite64" : "pwrite";
    const char *read_name = vfs->xGetSystemCall(vfs, "pread64") != NULL ? "pread64" : "pread";
    assert_int_equal(vfs->xSetSystemCall(vfs, write_name, write_call), SQLITE_OK);
    assert_int_equal(vfs->xSetSystemCall(vfs, read_name, read_call), SQLITE_OK);
}

static void remove_store(void)
{
    static const char *const names[] = {"s.db", "s.db-wal", "s.db-shm", "s.db-lock",
                                        "s.db-journal"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        (void)unlink(in_folder(names[i]));
}

static int make_store_and_die(void)
{
    if (!store_open(in_folder("s.db"), STORE_CREATE, &store, &err))
        return 2;
    calls_left = -1;
    return 0;
}

/* Whatever lies there then: it opens as what it was, an empty store, in the mode that the next
 * `run` opens it in first. */
static void a_store_whose_making_was_killed_is_made_again(void **state)
{
    (void)state;
    int result = -SIGKILL;
    int rounds = 0;
    take_calls();
    refused_errno = 0;
    for (; result == -SIGKILL; rounds++) {
        calls_left = rounds;
        result = in_child(make_store_and_die);
        calls_left = -1;
        if (access(in_folder("s.db"), F_OK) == 0) {
            must(store_open(in_folder("s.db"), STORE_WRITE, &store, &err));
            begin_example();
            assert_string_equal(ask("SELECT count(*) FROM trial"), "1");
            store_close(store);
            store = NULL;
        }
        remove_store();
    }
    assert_int_equal(result, 0);
    assert_true(rounds > 20);
}

enum { STAGES = 4 };

/* Two trials' worth of calls, to the first that fails; how many stages were said to be kept. */
static bool use_store(int *out_kept)
{
    struct store_sweep sweep = example_sweep();
    struct store_trial_begin trial = {.purpose = "explore"};
    struct store_history *rows = NULL;
    size_t count = 0;
    int64_t id = 0;
    const double samples[2000] = {1, 2, 3};
    const struct store_series series = {"throughput", "load", 1, samples, COUNT_OF(samples)};
    const struct store_result result = {.series = &series, .series_count = 1};
    *out_kept = 0;
    if (!store_open(in_folder("s.db"), STORE_CREATE, &store, &err) ||
        !store_sweep_begin(store, &sweep, &trial.sweep_id, &err) ||
        !store_call_begin(store, trial.sweep_id, &trial.call_id, &err) ||
        !store_point_put(store, trial.sweep_id, "p", false, true, NULL, 0, &trial.point_id, &err) ||
        !store_condition_put(store, trial.sweep_id, "", NULL, 0, &trial.condition_id, &err) ||
        !store_trial_begin(store, &trial, &id, &err))
        return false;
    for (; *out_kept < STAGES; ++*out_kept) {
        if (!store_stage_begin(store, id, "apply", &err))
            return false;
        if (!store_stage_end(store, id, "done", &err)) {
            ++*out_kept;
            return false;
        }
    }
    return store_trial_result(store, id, &result, &err) &&
           store_trial_end(store, id, "done", NULL, NULL, NULL, NULL, &err) &&
           store_history_load(store, trial.sweep_id, &arena, &rows, &count, &err);
}

/* How many rounds it took until nothing was refused any more. A round may go well: SQLite lets the
 * sync of a folder fail, and a checkpoint is for another time. */
static int refuse_each(int with_errno, bool once)
{
    bool is_over = false;
    int rounds = 0;
    refused_errno = with_errno;
    is_refused_once = once;
    for (; !is_over; rounds++) {
        int kept = 0;
        err_clear(&err);
        calls_left = rounds;
        bool ok = use_store(&kept);
        if (!ok && (err.class != ERR_STORE || err.native == 0 || err.text[0] == '\0'))
            fail_msg("call %d: %s (%s, %d)", rounds, err.text, err_class_name(err.class),
                     err.native);
        if (store != NULL)
            assert_idle();
        store_close(store); /* where it may be refused as well */
        is_over = calls_left > 0;
        calls_left = -1;
        must(store_open(in_folder("s.db"), STORE_CREATE, &store, &err));
        if (atoi(ask("SELECT count(*) FROM stage")) < kept)
            fail_msg("call %d: %s of %d stages", rounds, ask("SELECT count(*) FROM stage"), kept);
        assert_string_equal(ask("PRAGMA integrity_check"), "ok");
        store_close(store);
        store = NULL;
        remove_store();
    }
    return rounds;
}

static void a_refused_call_is_an_error_and_loses_nothing(void **state)
{
    (void)state;
    take_calls();
    assert_true(refuse_each(EIO, false) > 60);
    assert_true(refuse_each(ENOSPC, true) > 60);
}

static void an_empty_file_becomes_a_store(void **state)
{
    (void)state;
    put_file("s.db", "", 0);
    must_fail(store_open(in_folder("s.db"), STORE_READ, &store, &err), not_found);
    assert_non_null(strstr(err.text, "is empty"));
    must(store_open(in_folder("s.db"), STORE_CREATE, &store, &err));
    begin_example();
    assert_string_equal(ask("SELECT count(*) FROM trial"), "1");
}

/* ---- who may write ---- */

static int open_to_write(void)
{
    struct store *other = NULL;
    char wanted[80];
    snprintf(wanted, sizeof wanted, "process %d is writing to the store ", (int)getppid());
    if (store_open(in_folder("s.db"), STORE_WRITE, &other, &err))
        return 1;
    return err.code == ERR_CODE_locked && strstr(err.text, wanted) == err.text &&
                   err.hint[0] != '\0' && err.class == ERR_PLAN
               ? 0
               : 2;
}

static int open_link_to_write(void)
{
    struct store *other = NULL;
    return !store_open(in_folder("link.db"), STORE_CREATE, &other, &err) &&
                   err.code == ERR_CODE_locked
               ? 0
               : 1;
}

static int read_history(void)
{
    struct store *other = NULL;
    struct store_history *rows = NULL;
    size_t count = 0;
    bool ok = store_open(in_folder("link.db"), STORE_READ, &other, &err) &&
              store_history_load(other, 1, &arena, &rows, &count, &err);
    store_close(other);
    return ok ? (int)count : 200;
}

static void a_second_writer_is_refused_while_readers_work(void **state)
{
    (void)state;
    struct example at = begin_example();
    struct store *reader = NULL;
    struct store_sweep sweep;
    assert_int_equal(symlink("s.db", in_folder("link.db")), 0);
    assert_int_equal(in_child(open_to_write), 0);
    assert_int_equal(in_child(open_link_to_write), 0);
    must(store_open(in_folder("s.db"), STORE_READ, &reader, &err));
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(in_child(read_history), i);
        must(store_sweep_latest(reader, &arena, &sweep, &err));
        begin_example_trial(&at);
    }
    must_fail(store_touched_set(reader, at.sweep_id, true, &err), store);
    store_close(reader);
    assert_int_equal(in_child(open_to_write), 0);
    must(store_touched_set(store, at.sweep_id, true, &err));
}

static int write_much(void)
{
    if (!store_open(in_folder("s.db"), STORE_CREATE, &store, &err))
        return 1;
    struct example at = begin_example();
    char *data = arena_alloc(&arena, 1 << 20);
    struct store_baseline_file file = {.sha256 = "", .content = {.data = data, .size = 1 << 20}};
    for (int i = 0; i < 1000; i++) {
        char path[16];
        snprintf(path, sizeof path, "/%d", i % 16);
        file.path = path;
        if (!store_baseline_put(store, at.sweep_id, &file, 1, NULL, 0, &err) ||
            (i == 0 && write(told, "b", 1) != 1))
            return 2;
    }
    return 0;
}

/* Checkpoints are under way all the time: what lies in the file alone makes no sense then. */
static void a_store_can_be_opened_at_every_moment_of_its_writing(void **state)
{
    (void)state;
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    told = ends[1];
    pid_t child = fork();
    if (child == 0) {
        is_child = true;
        _exit(write_much());
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    for (int i = 0; i < 300; i++) {
        struct store *reader = NULL;
        struct store_sweep sweep;
        must(store_open(in_folder("s.db"), STORE_READ, &reader, &err));
        must(store_sweep_latest(reader, &arena, &sweep, &err));
        store_close(reader);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(ends[0]);
    close(ends[1]);
    must(store_open(in_folder("s.db"), STORE_WRITE, &store, &err));
}

/* The lock belongs to the process: a dead one holds nothing, though its number stands there. */
static void a_lock_left_behind_holds_nobody_up(void **state)
{
    (void)state;
    put_file("s.db-lock", "1\n", 2);
    must(store_open(in_folder("s.db"), STORE_CREATE, &store, &err));
    assert_memory_equal(get_file("s.db-lock").data, arena_printf(&arena, "%d\n", (int)getpid()),
                        get_file("s.db-lock").size);
}

/* ---- taken away ---- */

static void lose_and_begin(const char *name, bool replaced)
{
    struct example at = begin_example();
    int64_t id = 0;
    if (replaced) {
        put_file("other", "x", 1);
        assert_int_equal(rename(in_folder("other"), in_folder(name)), 0);
    } else {
        assert_int_equal(unlink(in_folder(name)), 0);
    }
    must_fail(store_stage_begin(store, at.trial_id, "apply", &err), store);
    assert_int_equal(err.class, ERR_STORE);
    if (strstr(err.text, arena_printf(&arena, "%s was removed or replaced", in_folder(name))) ==
        NULL)
        fail_msg("%s", err.text);
    assert_string_not_equal(err.hint, "");
    must_fail(store_call_begin(store, at.sweep_id, &id, &err), store);
    assert_idle();
}

static void a_store_taken_away_is_noticed_before_the_next_stage(void **state)
{
    (void)state;
    static const char *const names[] = {"s.db", "s.db-wal", "s.db-shm", "s.db-lock"};
    for (size_t i = 0; i < 2 * COUNT_OF(names); i++) {
        must(store_open(in_folder("s.db"), STORE_CREATE, &store, &err));
        lose_and_begin(names[i / 2], i % 2 == 1);
        store_close(store);
        store = NULL;
        for (size_t j = 0; j < COUNT_OF(names); j++)
            (void)unlink(in_folder(names[j]));
    }
}

/* What lies under the old name now is somebody else's. */
static void what_replaced_the_store_is_left_as_it_is(void **state)
{
    (void)state;
    struct example at = begin_example();
    run_sql("other.db", "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
    const struct bytes before = get_file("other.db");
    assert_int_equal(rename(in_folder("other.db"), in_folder("s.db")), 0);
    must_fail(store_stage_begin(store, at.trial_id, "apply", &err), store);
    store_close(store);
    store = NULL;
    assert_int_equal(get_file("s.db").size, before.size);
    assert_memory_equal(get_file("s.db").data, before.data, before.size);
}

/* ---- full ---- */

enum { FULL_LIMIT = 1 << 20 };

/* Writes baselines until one is refused; how many were kept. */
static int fill_up(void)
{
    struct example at = begin_example();
    char *data = arena_alloc(&arena, 65536);
    int kept = 0;
    for (bool ok = data != NULL; ok && kept < 1000; kept += ok ? 1 : 0) {
        const struct store_baseline_file file = {.path = arena_printf(&arena, "/%d", kept),
                                                 .sha256 = "",
                                                 .content = {.data = data, .size = 65536}};
        ok = store_baseline_put(store, at.sweep_id, &file, 1, NULL, 0, &err);
    }
    return kept;
}

/* Refused with all that helps, and what was committed before is there. */
static bool is_full_as_it_should_be(const char *name, int kept, int native)
{
    const char *stored = ask_file(in_folder(name), "SELECT count(*) FROM baseline_file");
    bool ok = err.code == ERR_CODE_store && err.class == ERR_STORE && err.hint[0] != '\0' &&
              (err.native & 0xff) == native && sqlite3_get_autocommit(store->database) == 1 &&
              kept > 0 && kept < 1000 && atoi(stored) == kept;
    if (!ok)
        fprintf(stderr, "%s (%d); %s; %s of %d\n", err.text, err.native, err.hint, stored, kept);
    return ok;
}

static int fill_limit(void)
{
    const struct rlimit limit = {.rlim_cur = FULL_LIMIT, .rlim_max = FULL_LIMIT};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        !store_open(in_folder("s.db"), STORE_CREATE, &store, &err))
        return 1;
    int kept = fill_up();
    bool ok = is_full_as_it_should_be("s.db", kept, SQLITE_IOERR) &&
              strstr(err.text, "File too large") != NULL;
    store_close(store);
    return ok ? 0 : 2;
}

static void assert_readable(const char *name)
{
    struct store *reader = NULL;
    struct store_sweep sweep;
    must(store_open(in_folder(name), STORE_READ, &reader, &err));
    must(store_sweep_latest(reader, &arena, &sweep, &err));
    assert_string_equal(sweep.name, "nightly");
    store_close(reader);
    assert_string_equal(ask_file(in_folder(name), "PRAGMA integrity_check"), "ok");
}

static void a_file_that_may_not_grow_stays_readable(void **state)
{
    (void)state;
    assert_int_equal(in_child(fill_limit), 0);
    assert_readable("s.db");
    must(store_open(in_folder("s.db"), STORE_WRITE, &store, &err));
    begin_example();
}

static const char *mounted;

static void a_full_disk_is_said_and_leaves_the_store_readable(void **state)
{
    (void)state;
    mounted = in_folder("disk");
    assert_int_equal(mkdir(mounted, 0700), 0);
    if (mount("none", mounted, "tmpfs", 0, "size=1m") != 0) {
        print_message("# no file system of 1 MB can be mounted: %s\n", strerror(errno));
        mounted = NULL;
        skip();
    }
    must(store_open(in_folder("disk/s.db"), STORE_CREATE, &store, &err));
    int kept = fill_up();
    assert_true(is_full_as_it_should_be("disk/s.db", kept, SQLITE_FULL));
    assert_non_null(strstr(err.hint, "full"));
    assert_idle();
    store_close(store);
    store = NULL;
    assert_readable("disk/s.db");
}

static int close_and_unmount(void **state)
{
    store_close(store);
    store = NULL;
    if (mounted != NULL)
        assert_int_equal(umount(mounted), 0);
    mounted = NULL;
    return subject_close(state);
}

/* ---- damaged ---- */

/* A reader goes without the check of the whole; it may give an error, but nothing that is wrong. */
static void read_damaged(size_t page)
{
    struct store *reader = NULL;
    struct store_history *rows = NULL;
    size_t count = 0;
    if (store_open(in_folder("s.db"), STORE_READ, &reader, &err) &&
        store_history_load(reader, 1, &arena, &rows, &count, &err)) {
        if (count != 50)
            fail_msg("page %zu: %zu trials", page, count);
    }
    store_close(reader);
}

static void a_damaged_page_is_found_before_anything_is_written(void **state)
{
    (void)state;
    make_and_close(50);
    const struct bytes good = get_file("s.db");
    size_t page_size = 4096;
    assert_int_equal(good.size % page_size, 0);
    for (size_t page = 0; page < good.size / page_size; page++) {
        char *bad = arena_strndup(&arena, good.data, good.size);
        assert_non_null(bad);
        memset(bad + page * page_size, 0xa5, page_size);
        put_file("s.db", bad, good.size);
        must_fail_at(store_open(in_folder("s.db"), STORE_WRITE, &store, &err),
                     page == 0 ? ERR_CODE_store_foreign : ERR_CODE_store,
                     arena_printf(&arena, "page %zu", page), __LINE__);
        assert_string_not_equal(err.hint, "");
        assert_memory_equal(get_file("s.db").data, bad, good.size);
        read_damaged(page);
    }
}

static void a_file_cut_short_is_damaged(void **state)
{
    (void)state;
    make_and_close(50);
    const struct bytes good = get_file("s.db");
    const size_t sizes[] = {good.size - 4096, good.size / 2, 5000, 4096, 1000, 200};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        put_file("s.db", good.data, sizes[i]);
        must_fail(store_open(in_folder("s.db"), STORE_CREATE, &store, &err), store);
        assert_int_equal(err.class, ERR_STORE);
        assert_non_null(strstr(err.hint, "a copy"));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, subject_open, subject_close)
#define TEST_OPEN(name) cmocka_unit_test_setup_teardown(name, subject_open_store, subject_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_killed_writer_loses_nothing_that_it_had_committed),
        TEST(a_store_whose_making_was_killed_is_made_again),
        TEST(a_refused_call_is_an_error_and_loses_nothing),
        TEST(an_empty_file_becomes_a_store),
        TEST_OPEN(a_second_writer_is_refused_while_readers_work),
        TEST(a_store_can_be_opened_at_every_moment_of_its_writing),
        TEST(a_lock_left_behind_holds_nobody_up),
        TEST(a_store_taken_away_is_noticed_before_the_next_stage),
        TEST_OPEN(what_replaced_the_store_is_left_as_it_is),
        TEST(a_file_that_may_not_grow_stays_readable),
        cmocka_unit_test_setup_teardown(a_full_disk_is_said_and_leaves_the_store_readable,
                                        subject_open, close_and_unmount),
        TEST(a_damaged_page_is_found_before_anything_is_written),
        TEST(a_file_cut_short_is_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
