/*
 * The parts of the local host that need no process: the capture that keeps head and tail, memory
 * limits of control groups (from a tree of files of our own), and mounts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sweeper/host/capture.h"
#include "sweeper/host/local.h"

static struct arena arena;

static int open_arena(void **state)
{
    (void)state;
    arena_open(&arena, (size_t)64 * 1024 * 1024);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

/* --- capture ---------------------------------------------------------------------------------- */

static char byte_at(uint64_t index)
{
    return (char)('a' + index % 26);
}

/* Adds `total` known bytes in pieces of changing size and compares with what must be kept. */
static void capture_of(size_t limit, size_t total, unsigned seed)
{
    struct capture capture;
    char piece[3000];
    const char *out = NULL;
    size_t size = 0;
    bool truncated = false;
    capture_open(&capture, &arena, limit);
    for (size_t at = 0; at < total;) {
        size_t count = (size_t)rand_r(&seed) % sizeof piece;
        count = count > total - at ? total - at : count;
        for (size_t i = 0; i < count; i++)
            piece[i] = byte_at(at + i);
        capture_add(&capture, piece, count);
        at += count;
    }
    assert_true(capture_done(&capture, &arena, &out, &size, &truncated));
    assert_int_equal(truncated, total > limit);
    assert_int_equal(out[size], '\0');
    size_t head = truncated ? limit / 2 : total;
    size_t tail = truncated ? limit - limit / 2 : 0;
    for (size_t i = 0; i < head; i++)
        assert_int_equal(out[i], byte_at(i));
    for (size_t i = 0; i < tail; i++)
        assert_int_equal(out[size - tail + i], byte_at(total - tail + i));
    if (truncated) {
        char mark[64];
        snprintf(mark, sizeof mark, "\n[... %zu bytes left out ...]\n", total - limit);
        assert_int_equal(size, limit + strlen(mark));
        assert_memory_equal(out + head, mark, strlen(mark));
    } else {
        assert_int_equal(size, total);
    }
}

static void capture_keeps_head_and_tail(void **state)
{
    (void)state;
    static const size_t limits[] = {1, 2, 3, 100, 4095, 4096, 4097, 10000};
    unsigned seed = 1;
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        size_t limit = limits[i];
        const size_t totals[] = {0,         1,         limit - 1,     limit,         limit + 1,
                                 2 * limit, 3 * limit, 3 * limit + 1, 50 * limit + 7};
        for (size_t j = 0; j < COUNT_OF(totals); j++)
            capture_of(limit, totals[j], seed++);
    }
}

static void capture_without_memory_says_so(void **state)
{
    (void)state;
    struct arena small;
    struct capture capture;
    const char *out = NULL;
    size_t size = 0;
    bool truncated = false;
    char piece[2048] = "";
    arena_open(&small, 8192);
    capture_open(&capture, &small, 100000);
    for (int i = 0; i < 50; i++)
        capture_add(&capture, piece, sizeof piece);
    assert_true(capture.failed);
    assert_false(capture_done(&capture, &arena, &out, &size, &truncated));
    arena_close(&small);
}

/* --- memory ----------------------------------------------------------------------------------- */

static char root[] = "/tmp/dbsweep-root.XXXXXX";

static void file_write(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int root_open(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/dbsweep-root.XXXXXX");
    if (mkdtemp(root) == NULL)
        return -1;
    file_write("/proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");
    return 0;
}

static int root_close(void **state)
{
    (void)state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command); /* NOLINT(cert-env33-c) */
}

static void memory_is_the_machines(void **state)
{
    (void)state;
    assert_int_equal(local_memory_bytes(root), INT64_C(8589934592));
    file_write("/proc/self/cgroup", "0::/system.slice/x.service\n");
    assert_int_equal(local_memory_bytes(root), INT64_C(8589934592));
    file_write("/sys/fs/cgroup/system.slice/x.service/memory.max", "max\n");
    assert_int_equal(local_memory_bytes(root), INT64_C(8589934592));
    assert_int_equal(local_memory_bytes("/nonexistent"), 0);
}

static void memory_is_limited_by_version_2(void **state)
{
    (void)state;
    file_write("/proc/self/cgroup", "0::/system.slice/x.service\n");
    file_write("/sys/fs/cgroup/system.slice/x.service/memory.max", "max\n");
    file_write("/sys/fs/cgroup/system.slice/memory.max", "1073741824\n");
    assert_int_equal(local_memory_bytes(root), 1073741824);
    file_write("/sys/fs/cgroup/system.slice/x.service/memory.max", "536870912\n");
    assert_int_equal(local_memory_bytes(root), 536870912);
    file_write("/sys/fs/cgroup/memory.max", "268435456\n"); /* as a container sees its own */
    assert_int_equal(local_memory_bytes(root), 268435456);
    file_write("/sys/fs/cgroup/memory.max", "99999999999999\n");
    assert_int_equal(local_memory_bytes(root), 536870912);
}

static void memory_is_limited_by_version_1(void **state)
{
    (void)state;
    file_write("/proc/self/cgroup",
               "3:cpu,cpuacct:/a\n2:hugetlb,memory:/docker/b\n1:name=systemd:/\n0::/\n");
    file_write("/sys/fs/cgroup/memory/docker/b/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(local_memory_bytes(root), INT64_C(8589934592));
    file_write("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "2147483648\n");
    assert_int_equal(local_memory_bytes(root), INT64_C(2147483648));
    file_write("/sys/fs/cgroup/memory/docker/b/memory.limit_in_bytes", "1073741824\n");
    assert_int_equal(local_memory_bytes(root), 1073741824);
}

/* --- mounts ----------------------------------------------------------------------------------- */

static const char mounts[] =
    "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    "30 21 0:25 / /data rw,noatime - xfs /dev/sdb1 rw,attr2\n"
    "31 30 0:26 /sub /data/db rw shared:3 master:1 - btrfs /dev/sdc rw,subvol=/sub\n"
    "32 21 0:27 / /with\\040blank\\134 ro,nosuid - tmpfs none\\040at\\040all rw\n"
    "33 21 0:28 / /twice rw - ext3 /dev/old rw\n"
    "34 33 0:29 / /twice rw - ext4 /dev/new rw\n"
    "malformed\n"
    "35 21 0:30 / /data/db/cut rw\n"
    "\n";

static void assert_mount(const char *path, const char *filesystem, const char *device)
{
    const char *got_filesystem = NULL;
    const char *got_device = NULL;
    assert_true(local_mount_of(mounts, path, &arena, &got_filesystem, &got_device));
    assert_string_equal(got_filesystem, filesystem);
    assert_string_equal(got_device, device);
}

static void mounts_are_found(void **state)
{
    (void)state;
    assert_mount("/", "ext4 rw,relatime", "/dev/vda");
    assert_mount("/var/lib", "ext4 rw,relatime", "/dev/vda");
    assert_mount("/database", "ext4 rw,relatime", "/dev/vda");
    assert_mount("/data", "xfs rw,noatime", "/dev/sdb1");
    assert_mount("/data/dbx", "xfs rw,noatime", "/dev/sdb1");
    assert_mount("/data/db/cut/x", "btrfs rw", "/dev/sdc");
    assert_mount("/with blank\\/x", "tmpfs ro,nosuid", "none at all");
    assert_mount("/twice", "ext4 rw", "/dev/new");
    const char *filesystem = NULL;
    const char *device = NULL;
    assert_true(local_mount_of("", "/", &arena, &filesystem, &device));
    assert_string_equal(filesystem, "");
    assert_string_equal(device, "");
}

static void assert_last_words(const char *text, size_t capacity, const char *wanted)
{
    char buffer[64];
    memset(buffer, '#', sizeof buffer);
    host_last_words(text, strlen(text), buffer, capacity);
    assert_string_equal(buffer, wanted);
    assert_int_equal(buffer[capacity], '#');
}

static void last_words_fit_a_line(void **state)
{
    (void)state;
    assert_last_words("", 10, "");
    assert_last_words(" \r\n\n", 10, "");
    assert_last_words("one\ntwo\t\x1b[1m\n", 20, "one two  [1m");
    assert_last_words("0123456789", 5, "6789");
    assert_last_words("a\xc3\xa9\xc3\xa9", 4, "\xc3\xa9"); /* never half a character */
    assert_last_words("x", 1, "");
}

static void hashes_as_published(void **state)
{
    (void)state;
    char sha256[65];
    host_sha256((struct bytes){.data = NULL, .size = 0}, sha256);
    assert_string_equal(sha256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    host_sha256((struct bytes){.data = "abc", .size = 3}, sha256); /* FIPS 180-4's example */
    assert_string_equal(sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void unknown_transports_are_refused(void **state)
{
    (void)state;
    struct host *host = NULL;
    struct err err;
    const struct host_spec spec = {.ssh = "a@b", .transport = "pigeon"};
    assert_false(host_open(&spec, CLOCK_NEVER, &host, &err));
    assert_int_equal(err.code, ERR_CODE_unsupported);
    assert_non_null(strstr(err.text, "pigeon"));
    host_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(capture_keeps_head_and_tail, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(capture_without_memory_says_so, open_arena, close_arena),
        cmocka_unit_test_setup_teardown(memory_is_the_machines, root_open, root_close),
        cmocka_unit_test_setup_teardown(memory_is_limited_by_version_2, root_open, root_close),
        cmocka_unit_test_setup_teardown(memory_is_limited_by_version_1, root_open, root_close),
        cmocka_unit_test_setup_teardown(mounts_are_found, open_arena, close_arena),
        cmocka_unit_test(last_words_fit_a_line),
        cmocka_unit_test(hashes_as_published),
        cmocka_unit_test(unknown_transports_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
