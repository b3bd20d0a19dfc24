/*
 * Files that are no store, or not one for us: other programs' databases, other schemas, no files
 * at all, files that may only be read. What is foreign is left as it is, with nothing beside it.
 */
#include "tests/support/store_subject.h"

#include <pwd.h>

/* No mode opens it, nothing comes to lie beside it, and its bytes stay. */
static void assert_refused(const char *name, enum err_code wanted, const char *text)
{
    static const char *const beside[] = {"-lock", "-wal", "-shm", "-journal"};
    const struct bytes before = get_file(name);
    bool was_beside[COUNT_OF(beside)];
    struct store *other = NULL;
    for (size_t i = 0; i < COUNT_OF(beside); i++)
        was_beside[i] = access(arena_printf(&arena, "%s%s", in_folder(name), beside[i]), F_OK) == 0;
    for (int mode = STORE_CREATE; mode <= STORE_READ; mode++) {
        err_clear(&err);
        must_fail_at(store_open(in_folder(name), (enum store_mode)mode, &other, &err), wanted, name,
                     __LINE__);
        assert_null(other);
        assert_int_equal(err.class, ERR_PLAN);
        if (strstr(err.text, text) == NULL)
            fail_msg("%s: not \"%s\"", err.text, text);
        assert_string_not_equal(err.hint, "");
        const struct bytes after = get_file(name);
        assert_int_equal(after.size, before.size);
        assert_memory_equal(after.data, before.data, before.size);
    }
    for (size_t i = 0; i < COUNT_OF(beside); i++)
        assert_int_equal(access(arena_printf(&arena, "%s%s", in_folder(name), beside[i]), F_OK) ==
                             0,
                         was_beside[i]);
}

/* ---- somebody else's ---- */

static void what_is_not_sqlite_is_refused(void **state)
{
    (void)state;
    char zeros[8192] = {0};
    put_file("text", "name = \"nightly\";\n", 18);
    assert_refused("text", ERR_CODE_store_foreign, "is not a store of dbsweep");
    put_file("zeros", zeros, sizeof zeros);
    assert_refused("zeros", ERR_CODE_store_foreign, "is not a store of dbsweep");
    put_file("one", "S", 1);
    assert_refused("one", ERR_CODE_store_foreign, "is not a store of dbsweep");
    put_file("a%41?#b", "text", 4);
    assert_refused("a%41?#b", ERR_CODE_store_foreign, "is not a store of dbsweep");
}

static void another_programs_database_is_refused(void **state)
{
    (void)state;
    run_sql("plain.db", "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    assert_refused("plain.db", ERR_CODE_store_foreign, "is not a store of dbsweep");
    run_sql("named.db", "PRAGMA application_id = 1; CREATE TABLE t (a)");
    assert_refused("named.db", ERR_CODE_store_foreign, "is not a store of dbsweep");
    run_sql("versioned.db", "PRAGMA user_version = 1");
    assert_refused("versioned.db", ERR_CODE_store_foreign, "is not a store of dbsweep");
    run_sql("rested.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
    assert_refused("rested.db", ERR_CODE_store_foreign, "is not a store of dbsweep");
}

static int leave_log(void)
{
    static sqlite3 *other; /* not closed: as by a crash */
    if (sqlite3_open(in_folder("log.db"), &other) != SQLITE_OK)
        return 1;
    if (sqlite3_exec(other, "PRAGMA journal_mode = WAL; CREATE TABLE t (a)", NULL, NULL, NULL) !=
        SQLITE_OK)
        return 2;
    return 0;
}

/* Its tables stand in its log alone, which closing a connection would tidy away. */
static void another_programs_log_is_left_where_it_is(void **state)
{
    (void)state;
    assert_int_equal(in_child(leave_log), 0);
    const struct bytes file = get_file("log.db");
    const struct bytes log = get_file("log.db-wal");
    struct store *other = NULL;
    assert_true(log.size > 0);
    must_fail(store_open(in_folder("log.db"), STORE_CREATE, &other, &err), store_foreign);
    must_fail(store_open(in_folder("log.db"), STORE_READ, &other, &err), store_foreign);
    assert_int_equal(get_file("log.db").size, file.size);
    assert_memory_equal(get_file("log.db").data, file.data, file.size);
    assert_int_equal(get_file("log.db-wal").size, log.size);
    assert_memory_equal(get_file("log.db-wal").data, log.data, log.size);
}

static void other_schemas_are_refused(void **state)
{
    (void)state;
    make_and_close(1);
    assert_int_equal(unlink(in_folder("s.db-lock")), 0);
    run_sql("s.db", "PRAGMA user_version = 2");
    assert_refused("s.db", ERR_CODE_store_foreign, "a newer version (schema 2, this knows 1)");
    assert_non_null(strstr(err.hint, "use that version"));
    run_sql("s.db", "PRAGMA user_version = 0");
    assert_refused("s.db", ERR_CODE_store_foreign, "an unknown version (schema 0, this knows 1)");
    run_sql("s.db", "PRAGMA user_version = 1");
    must(store_open(in_folder("s.db"), STORE_WRITE, &store, &err));
}

/* ---- no file at all ---- */

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct store *other = NULL;
    assert_int_equal(mkdir(in_folder("d"), 0700), 0);
    assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
    assert_int_equal(symlink("nowhere", in_folder("link.db")), 0);
    for (int mode = STORE_CREATE; mode <= STORE_READ; mode++) {
        enum store_mode as = (enum store_mode)mode;
        must_fail(store_open(in_folder("d"), as, &other, &err), store_foreign);
        assert_non_null(strstr(err.text, "is not a file"));
        must_fail(store_open(in_folder("fifo"), as, &other, &err), store_foreign);
        must_fail(store_open(in_folder("none/s.db"), as, &other, &err), not_found);
        assert_string_not_equal(err.hint, "");
        if (as == STORE_CREATE) {
            must_fail(store_open(in_folder("link.db"), as, &other, &err), store);
            must_fail(store_open(in_folder("new/"), as, &other, &err), not_found);
        } else {
            must_fail(store_open(in_folder("link.db"), as, &other, &err), not_found);
            must_fail(store_open(in_folder("s.db"), as, &other, &err), not_found);
            assert_non_null(strstr(err.hint, "dbsweep run"));
        }
    }
    assert_int_equal(access(in_folder("d-lock"), F_OK), -1);
    assert_int_equal(access(in_folder("s.db-lock"), F_OK), -1);
}

/* ---- read-only ---- */

static bool become_nobody(void)
{
    const struct passwd *nobody = geteuid() == 0 ? getpwnam("nobody") : NULL;
    return geteuid() != 0 ||
           (nobody != NULL && setgid(nobody->pw_gid) == 0 && setuid(nobody->pw_uid) == 0);
}

/* 0 where reading works and writing is refused, and nothing was left beside the store. */
static int use_as_nobody(void)
{
    struct store *other = NULL;
    struct store_sweep sweep;
    if (!become_nobody())
        return 77;
    if (!store_open(in_folder("s.db"), STORE_READ, &other, &err) ||
        !store_sweep_latest(other, &arena, &sweep, &err)) {
        print_message("# %s\n", err.text);
        return 1;
    }
    store_close(other);
    for (int mode = STORE_CREATE; mode <= STORE_WRITE; mode++) {
        if (store_open(in_folder("s.db"), (enum store_mode)mode, &other, &err))
            return 2;
        if (err.code != ERR_CODE_store || err.class != ERR_STORE)
            return 3;
    }
    return 0;
}

static void a_store_that_may_only_be_read_can_be_read(void **state)
{
    (void)state;
    make_and_close(1);
    assert_int_equal(chmod(in_folder("s.db"), 0444), 0);
    assert_int_equal(chmod(in_folder("s.db-lock"), 0666), 0);
    assert_int_equal(chmod(folder, 0555), 0); /* SQLite's two other files cannot be made */
    assert_int_equal(in_child(use_as_nobody), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(in_child(use_as_nobody), 0);
    assert_int_equal(chmod(folder, 0555), 0); /* they are there now */
    assert_int_equal(in_child(use_as_nobody), 0);
    assert_int_equal(chmod(folder, 0700), 0);
}

static int write_as_nobody(void)
{
    struct store *other = NULL;
    if (!become_nobody() || store_open(in_folder("s.db"), STORE_WRITE, &other, &err))
        return 1;
    return (err.native & 0xff) == SQLITE_READONLY && strstr(err.hint, "read-only") != NULL ? 0 : 2;
}

static void a_writer_says_that_its_store_is_read_only(void **state)
{
    (void)state;
    make_and_close(1);
    assert_int_equal(chmod(in_folder("s.db"), 0444), 0);
    assert_int_equal(chmod(in_folder("s.db-lock"), 0666), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(in_child(write_as_nobody), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, subject_open, subject_close)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(what_is_not_sqlite_is_refused),
                                       TEST(another_programs_database_is_refused),
                                       TEST(another_programs_log_is_left_where_it_is),
                                       TEST(other_schemas_are_refused),
                                       TEST(what_is_no_file_is_refused),
                                       TEST(a_store_that_may_only_be_read_can_be_read),
                                       TEST(a_writer_says_that_its_store_is_read_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
