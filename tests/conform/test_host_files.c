/*
 * What every host promises of files: replaced whole or not at all, dressed as before, refused where
 * replacing would do harm. All that a test looks at, it looks at through the
 * host, so that it holds for a machine elsewhere too.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include "tests/support/host_subjects.h"

#define ALL_BYTES_SIZE 1024

static bool put(struct subject *subject, const char *path, const char *text)
{
    return host_put(subject->host, path, bytes_of(text), NULL, true, soon(), &subject->err);
}

/* --- get -------------------------------------------------------------------------------------- */

static void get_tells_that_a_file_is_missing(void **state)
{
    struct subject *subject = *state;
    struct bytes content;
    assert_false(get(subject, path_in(subject, "none"), &content, NULL));
    assert_int_equal(subject->err.code, ERR_CODE_not_found);
    assert_false(get(subject, path_in(subject, "none/none"), &content, NULL));
    assert_int_equal(subject->err.code, ERR_CODE_not_found);
    assert_non_null(strstr(subject->err.origin, subject->host->label));
}

static void get_refuses_what_is_no_file(void **state)
{
    struct subject *subject = *state;
    struct bytes content;
    subject_says(subject, "mkfifo \"$1/fifo\"; truncate -s 67108865 \"$1/large\"");
    assert_false(get(subject, subject->directory, &content, NULL));
    assert_int_equal(subject->err.code, ERR_CODE_host_file);
    assert_non_null(strstr(subject->err.text, "is not a regular file"));
    assert_false(get(subject, path_in(subject, "fifo"), &content, NULL));
    assert_non_null(strstr(subject->err.text, "is not a regular file"));
    assert_false(get(subject, path_in(subject, "large"), &content, NULL));
    assert_non_null(strstr(subject->err.text, "is larger than 64 MiB"));
}

static void get_tells_the_facts(void **state)
{
    struct subject *subject = *state;
    struct bytes content;
    struct host_file file;
    const char *real = path_in(subject, "a/file");
    subject_says(subject,
                 "mkdir \"$1/a\"; printf 'x = 1\\n' >\"$1/a/file\"; chmod 2640 \"$1/a/file\";"
                 "ln \"$1/a/file\" \"$1/a/other\"; ln -s a/file \"$1/link\"");
    MUST(get(subject, path_in(subject, "link"), &content, &file));
    assert_string_equal(content.data, "x = 1\n"); /* ends in a NUL that is not counted */
    assert_string_equal(file.real_path, real);
    assert_int_equal(file.mode, 02640);
    assert_int_equal(file.link_count, 2);
    assert_int_equal(file.size_bytes, 6);
    assert_non_null(file.selinux);
    char owner[64];
    snprintf(owner, sizeof owner, "%u %u\n", (unsigned)file.uid, (unsigned)file.gid);
    assert_string_equal(subject_says(subject, "stat -c '%u %g' \"$1/a/file\""), owner);
}

static void get_reads_files_of_unknown_size(void **state)
{
    struct subject *subject = *state;
    struct bytes content;
    struct host_file file;
    MUST(get(subject, "/proc/cpuinfo", &content, &file));
    assert_true(content.size > 0);
    assert_int_equal(file.size_bytes, (int64_t)content.size);
}

static void get_is_bound_by_its_deadline(void **state)
{
    struct subject *subject = *state;
    struct bytes content;
    MUST(put(subject, path_in(subject, "file"), "x"));
    assert_false(host_get(subject->host, path_in(subject, "file"), clock_now_ns() - 1,
                          &subject->arena, &content, NULL, &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
}

/* --- put -------------------------------------------------------------------------------------- */

static void put_and_get_any_bytes(void **state)
{
    struct subject *subject = *state;
    char all[ALL_BYTES_SIZE];
    for (size_t i = 0; i < sizeof all; i++)
        all[i] = (char)(i * 7 + i / 256);
    const struct bytes contents[] = {
        {all, sizeof all}, {"", 0}, {"\0\n\xff\0", 4}, {"no newline", 10}};
    const char *path = path_in(subject, "file");
    for (size_t i = 0; i < COUNT_OF(contents); i++) {
        MUST(host_put(subject->host, path, contents[i], NULL, true, soon(), &subject->err));
        assert_holds(subject, path, contents[i]);
    }
    assert_directory_lists(subject, "file\n");
}

static void put_and_get_a_large_file(void **state)
{
    struct subject *subject = *state;
    const size_t size = (size_t)9 * 1024 * 1024 + 1;
    char *data = arena_alloc(&subject->arena, size);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    const struct bytes content = {.data = data, .size = size};
    const char *path = path_in(subject, "file");
    MUST(host_put(subject->host, path, content, NULL, true, soon(), &subject->err));
    assert_holds(subject, path, content);
}

static void put_takes_any_name(void **state)
{
    static const char *const names[] = {
        "with blank", "-n", "it's",     "\"$(id)\"", "back\\slash", "new\nline",
        "ends\n",     "*",  "\xff\xfe", ".dot",      "~",           "%s",
    };
    struct subject *subject = *state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        bool created = true;
        struct bytes content;
        struct host_file file;
        const char *path = path_in(subject, names[i]);
        MUST(put(subject, path, names[i]));
        MUST(get(subject, path, &content, &file));
        assert_string_equal(content.data, names[i]);
        assert_string_equal(file.real_path, path);
        MUST(subject->host->driver->claim(subject->host, path, bytes_of("x"), soon(), &created,
                                          &subject->err));
        assert_false(created);
        MUST(subject->host->driver->remove(subject->host, path, soon(), &subject->err));
    }
    assert_directory_lists(subject, "");
}

static void put_creates_for_its_user_alone(void **state)
{
    struct subject *subject = *state;
    mode_t before = umask(0);
    bool done = put(subject, path_in(subject, "file"), "secret");
    umask(before);
    MUST(done);
    assert_string_equal(subject_says(subject, "stat -c %a \"$1/file\""), "600\n");
}

static void put_creates_only_when_asked(void **state)
{
    struct subject *subject = *state;
    assert_false(host_put(subject->host, path_in(subject, "none"), bytes_of("x"), NULL, false,
                          soon(), &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_not_found);
    assert_false(put(subject, path_in(subject, "none/none"), "x"));
    assert_int_equal(subject->err.code, ERR_CODE_not_found);
    assert_directory_lists(subject, "");
}

static void put_keeps_mode_and_owner(void **state)
{
    static const char *const modes[] = {"644", "600", "751", "4755", "2640", "666"};
    struct subject *subject = *state;
    const char *path = path_in(subject, "file");
    subject_says(subject, "echo old >\"$1/file\"");
    if (is_root(subject))
        subject_says(subject, "chown 12345:23456 \"$1/file\"");
    const char *owner = subject_says(subject, "stat -c %u:%g \"$1/file\"");
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        const char *set = arena_printf(&subject->arena, "chmod %s \"$1/file\"", modes[i]);
        assert_non_null(set);
        subject_says(subject, set);
        mode_t before = umask(i % 2 == 0 ? 0 : 077);
        bool done =
            host_put(subject->host, path, bytes_of(modes[i]), NULL, false, soon(), &subject->err);
        umask(before);
        MUST(done);
        assert_holds(subject, path, bytes_of(modes[i]));
        const char *mode = subject_says(subject, "stat -c %a \"$1/file\"");
        assert_memory_equal(mode, modes[i], strlen(modes[i]));
        assert_string_equal(subject_says(subject, "stat -c %u:%g \"$1/file\""), owner);
    }
}

static void put_replaces_the_real_file(void **state)
{
    struct subject *subject = *state;
    subject_says(subject, "mkdir \"$1/a\"; echo old >\"$1/a/real\"; ln -s a/real \"$1/link\";"
                          "ln -s nowhere \"$1/dangling\"");
    MUST(put(subject, path_in(subject, "link"), "new\n"));
    assert_string_equal(
        subject_says(subject, "readlink \"$1/link\"; cat \"$1/a/real\"; ls -A \"$1/a\""),
        "a/real\nnew\nreal\n");
    assert_false(put(subject, path_in(subject, "dangling"), "x"));
    assert_int_equal(subject->err.code, ERR_CODE_host_file);
    assert_non_null(strstr(subject->err.text, "is a symbolic link to nothing"));
    assert_directory_lists(subject, "a\ndangling\nlink\n");
}

static void put_is_a_new_file(void **state)
{
    struct subject *subject = *state;
    MUST(put(subject, path_in(subject, "file"), "old"));
    const char *script = "stat -c %i \"$1/file\"";
    const char *before = subject_says(subject, script);
    MUST(put(subject, path_in(subject, "file"), "new"));
    assert_string_not_equal(subject_says(subject, script), before);
}

static void put_dresses_as_told(void **state)
{
    struct subject *subject = *state;
    struct host_file as = {.mode = 0604, .selinux = ""};
    bool root = is_root(subject);
    const char *path = path_in(subject, "file");
    char wanted[64];
    /* without root the only owner to give is the present one */
    MUST(put(subject, path, "x"));
    struct bytes content;
    struct host_file present;
    MUST(get(subject, path, &content, &present));
    as.uid = root ? 1234 : present.uid;
    as.gid = root ? 2345 : present.gid;
    MUST(host_put(subject->host, path, bytes_of("y"), &as, false, soon(), &subject->err));
    MUST(host_put(subject->host, path_in(subject, "fresh"), bytes_of("z"), &as, true, soon(),
                  &subject->err));
    snprintf(wanted, sizeof wanted, "604 %u %u\n604 %u %u\n", (unsigned)as.uid, (unsigned)as.gid,
             (unsigned)as.uid, (unsigned)as.gid);
    assert_string_equal(subject_says(subject, "stat -c '%a %u %g' \"$1/file\" \"$1/fresh\""),
                        wanted);
    if (!root) {
        as.uid = 0;
        assert_false(
            host_put(subject->host, path, bytes_of("z"), &as, false, soon(), &subject->err));
        assert_int_equal(subject->err.code, ERR_CODE_host_file);
        assert_holds(subject, path, bytes_of("y"));
        assert_directory_lists(subject, "file\nfresh\n");
    }
}

static void put_keeps_the_access_list(void **state)
{
    struct subject *subject = *state;
    if (!subject_can(subject, "command -v setfacl && cd \"$1\" && echo old >file && "
                              "setfacl -m u:12345:rw file"))
        absent_here("setfacl is missing, or the file system has no access lists");
    const char *script = "cd \"$1\" && getfacl -n file && ls -A";
    const char *before = subject_says(subject, script);
    assert_non_null(strstr(before, "user:12345:rw-"));
    MUST(put(subject, path_in(subject, "file"), "new"));
    assert_string_equal(subject_says(subject, script), before);
}

static void put_gives_no_access_by_default_lists(void **state)
{
    struct subject *subject = *state;
    if (!subject_can(subject,
                     "command -v setfacl && cd \"$1\" && echo old >file && chmod 640 file && "
                     "setfacl -d -m u:12345:rw ."))
        absent_here("setfacl is missing, or the file system has no access lists");
    MUST(put(subject, path_in(subject, "file"), "new"));
    assert_string_equal(subject_says(subject, "cd \"$1\" && getfacl -cn file && stat -c %a file"),
                        "user::rw-\ngroup::r--\nother::---\n\n640\n");
}

static void put_keeps_the_label(void **state)
{
    static const char label[] = "system_u:object_r:etc_t:s0";
    struct subject *subject = *state;
    const char *path = path_in(subject, "file");
    if (!subject->host->is_local || geteuid() != 0)
        absent_here("setting a label needs root on this machine");
    MUST(put(subject, path, "old"));
    if (lsetxattr(path, "security.selinux", label, sizeof label, 0) != 0)
        absent_here("the file system keeps no labels");
    MUST(put(subject, path, "new"));
    struct bytes content;
    struct host_file file;
    MUST(get(subject, path, &content, &file));
    assert_string_equal(content.data, "new");
    if (subject->by_commands && !subject_can(subject, "selinuxenabled"))
        absent_here("commands do not see labels where SELinux is off");
    assert_string_equal(file.selinux, label);
    MUST(host_put(subject->host, path_in(subject, "other"), bytes_of("x"), &file, true, soon(),
                  &subject->err));
    MUST(get(subject, path_in(subject, "other"), &content, &file));
    assert_string_equal(file.selinux, label);
}

static void put_refuses_hard_links(void **state)
{
    struct subject *subject = *state;
    subject_says(subject, "echo old >\"$1/one\"; ln \"$1/one\" \"$1/two\"");
    assert_false(put(subject, path_in(subject, "one"), "new"));
    assert_int_equal(subject->err.code, ERR_CODE_host_file);
    assert_non_null(strstr(subject->err.text, "hard links"));
    assert_true(subject->err.hint[0] != '\0');
    assert_string_equal(subject_says(subject, "cd \"$1\"; cat one two; stat -c %h one; ls -A"),
                        "old\nold\n2\none\ntwo\n");
}

static void put_refuses_what_is_no_file(void **state)
{
    struct subject *subject = *state;
    subject_says(subject, "mkdir \"$1/directory\"; mkfifo \"$1/fifo\"");
    assert_false(put(subject, path_in(subject, "directory"), "x"));
    assert_non_null(strstr(subject->err.text, "is not a regular file"));
    assert_false(put(subject, path_in(subject, "fifo"), "x"));
    assert_non_null(strstr(subject->err.text, "is not a regular file"));
    assert_directory_lists(subject, "directory\nfifo\n");
}

static void put_refuses_immutable_files(void **state)
{
    struct subject *subject = *state;
    if (!subject_can(subject, "echo old >\"$1/file\" && chattr +i \"$1/file\""))
        absent_here("marking a file immutable needs root and a file system with marks");
    bool done = put(subject, path_in(subject, "file"), "new");
    subject_says(subject, "chattr -i \"$1/file\"");
    assert_false(done);
    assert_int_equal(subject->err.code, ERR_CODE_host_file);
    assert_non_null(strstr(subject->err.text, "immutable"));
    assert_non_null(strstr(subject->err.hint, "chattr -i"));
    assert_string_equal(subject_says(subject, "cat \"$1/file\"; ls -A \"$1\""), "old\nfile\n");
}

static void put_survives_a_full_disk(void **state)
{
    struct subject *subject = *state;
    const size_t size = (size_t)1024 * 1024;
    char *data = arena_alloc(&subject->arena, size);
    assert_non_null(data);
    memset(data, 'x', size);
    if (!subject_can(subject, "mkdir \"$1/disk\" && "
                              "mount -t tmpfs -o size=256k dbsweep-test \"$1/disk\""))
        absent_here("mounting a small file system needs root");
    const char *path = path_in(subject, "disk/file");
    bool first = put(subject, path, "old\n");
    bool second = host_put(subject->host, path, (struct bytes){.data = data, .size = size}, NULL,
                           true, soon(), &subject->err);
    struct err full = subject->err;
    bool created = false;
    bool third = subject->host->driver->claim(subject->host, path_in(subject, "disk/claim"),
                                              (struct bytes){.data = data, .size = size}, soon(),
                                              &created, &subject->err);
    struct host_result left;
    RUN(&left,
        COMMAND("sh", "-c", "cat \"$1\"; ls -A \"${1%/*}\"; umount \"${1%/*}\"", "test", path));
    assert_true(first);
    assert_false(second);
    assert_false(third);
    assert_false(created);
    assert_int_equal(full.code, ERR_CODE_host_file);
    assert_non_null(strstr(full.text, "No space left on device"));
    assert_string_equal(left.output, "old\nfile\n");
}

static void put_is_bound_by_its_deadline(void **state)
{
    struct subject *subject = *state;
    const char *path = path_in(subject, "file");
    MUST(put(subject, path, "old"));
    assert_false(host_put(subject->host, path, bytes_of("new"), NULL, true, clock_now_ns() - 1,
                          &subject->err));
    assert_int_equal(subject->err.code, ERR_CODE_timeout);
    assert_holds(subject, path, bytes_of("old"));
    assert_directory_lists(subject, "file\n");
}

static void put_needs_the_right_to(void **state)
{
    struct subject *subject = *state;
    subject_says(subject, "echo old >\"$1/file\"");
    if (!subject_can(subject, is_root(subject) ? "chattr +i \"$1\"" : "chmod 555 \"$1\""))
        absent_here("root may write everywhere, and the file system has no marks");
    bool done = put(subject, path_in(subject, "file"), "new");
    subject_says(subject, is_root(subject) ? "chattr -i \"$1\"" : "chmod 755 \"$1\"");
    assert_false(done);
    assert_int_equal(subject->err.code, ERR_CODE_host_file);
    assert_true(strstr(subject->err.text, "ermission denied") != NULL ||
                strstr(subject->err.text, "not permitted") != NULL);
    assert_string_equal(subject_says(subject, "cat \"$1/file\"; ls -A \"$1\""), "old\nfile\n");
}

/* A reader sees the old bytes or the new ones, whenever it looks. */
static void put_is_atomic_for_readers(void **state)
{
    enum { PUTS = 40, SIZE = 300 * 1024 };
    struct subject *subject = *state;
    char *data = arena_alloc(&subject->arena, SIZE);
    assert_non_null(data);
    const struct bytes content = {.data = data, .size = SIZE};
    memset(data, 'a', SIZE);
    MUST(host_put(subject->host, path_in(subject, "file"), content, NULL, true, soon(),
                  &subject->err));
    const char *script =
        "cd \"$1\"; while [ ! -e stop ]; do n=$(tr -d 'a' <file | wc -c); "
        "case $n in 0|307200) ;; *) echo mixed $n; exit 1;; esac; done; echo whole";
    struct host_process *reader = NULL;
    struct host_result result;
    MUST(subject->host->driver->spawn(
        subject->host,
        &(const struct host_command){COMMAND("/bin/sh", "-c", script, "test", subject->directory)},
        &reader, &subject->err));
    for (int i = 0; i < PUTS; i++) {
        memset(data, i % 2 == 0 ? 'b' : 'a', SIZE);
        MUST(host_put(subject->host, path_in(subject, "file"), content, NULL, false, soon(),
                      &subject->err));
    }
    MUST(put(subject, path_in(subject, "stop"), ""));
    MUST(subject->host->driver->finish(reader, soon(), &subject->arena, &result, &subject->err));
    assert_string_equal(result.output, "whole\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(get_tells_that_a_file_is_missing),
        cmocka_unit_test(get_refuses_what_is_no_file),
        cmocka_unit_test(get_tells_the_facts),
        cmocka_unit_test(get_reads_files_of_unknown_size),
        cmocka_unit_test(get_is_bound_by_its_deadline),
        cmocka_unit_test(put_and_get_any_bytes),
        cmocka_unit_test(put_and_get_a_large_file),
        cmocka_unit_test(put_takes_any_name),
        cmocka_unit_test(put_creates_for_its_user_alone),
        cmocka_unit_test(put_creates_only_when_asked),
        cmocka_unit_test(put_keeps_mode_and_owner),
        cmocka_unit_test(put_replaces_the_real_file),
        cmocka_unit_test(put_is_a_new_file),
        cmocka_unit_test(put_dresses_as_told),
        cmocka_unit_test(put_keeps_the_access_list),
        cmocka_unit_test(put_gives_no_access_by_default_lists),
        cmocka_unit_test(put_keeps_the_label),
        cmocka_unit_test(put_refuses_hard_links),
        cmocka_unit_test(put_refuses_what_is_no_file),
        cmocka_unit_test(put_refuses_immutable_files),
        cmocka_unit_test(put_survives_a_full_disk),
        cmocka_unit_test(put_is_bound_by_its_deadline),
        cmocka_unit_test(put_needs_the_right_to),
        cmocka_unit_test(put_is_atomic_for_readers),
    };
    return subjects_run(tests, COUNT_OF(tests), true);
}
